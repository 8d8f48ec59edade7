/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/nn/runner.h"
#include "models/nn/layers.h"

enum { BATCH = 5, FEATURES = 3, CLASSES = 12, SAMPLES = 7, STEPS = 20 };

static struct ll_value *numbers(struct ll_nn *nn, const char *name, unsigned rank, uint64_t rows,
                                uint64_t columns)
{
    struct ll_shape shape = ll_nn_shape(nn, rank, (uint64_t[]){rows, columns}, NULL);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
}

/* 0, 1, 3, 6, 10: frequent classes and rare ones. */
static int32_t label_of(uint64_t row)
{
    return (int32_t)(row * (row + 1) / 2);
}

static void fill_labels(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)feed, (void)step;
    for (uint64_t i = 0; i < shape->dim[0]; i++)
        ((int32_t *)data)[i] = label_of(i);
}

struct sampled {
    struct ll_nn *nn;
    struct ll_value *x, *weights, *biases, *loss, *const *drawn; /* classes, expected of labels, of classes */
};

static struct sampled build(void)
{
    struct sampled s = {.nn = ll_nn_new(LL_F64)};
    struct ll_shape shape = ll_nn_shape(s.nn, 1, (uint64_t[]){BATCH}, NULL);
    shape.dtype = LL_I32;
    struct ll_value *labels = ll_nn_do(s.nn, &(struct ll_nn_call){.kind = LL_OP_HOST_INPUT,
                                                                  .given_count = 1,
                                                                  .given = &shape,
                                                                  .feed = {.fill = fill_labels}});
    struct ll_rng rng = ll_rng_begin(s.nn, 9);
    s.x = numbers(s.nn, "x", 2, BATCH, FEATURES);
    s.weights = numbers(s.nn, "weights", 2, CLASSES, FEATURES);
    s.biases = numbers(s.nn, "biases", 1, CLASSES, 0);
    s.loss = ll_sampled_softmax_loss(s.nn, &(struct ll_sampled_softmax){s.weights, s.biases, SAMPLES, &rng},
                                     s.x, labels);
    assert_null(ll_nn_trouble(s.nn));
    ll_nn_keep(s.loss);
    for (uint64_t i = 0; i < s.nn->op_count; i++)
        if (s.nn->ops[i]->view.kind == LL_OP_LOG_UNIFORM_SAMPLE)
            s.drawn = s.nn->ops[i]->outputs;
    for (int i = 0; i < 3; i++)
        ll_nn_keep(s.drawn[i]);
    return s;
}

/* How well a class fits a row, less the logarithm of how often it was to be expected. */
static double logit(const struct sampled *s, struct ll_runner *runner, uint64_t row, int32_t of,
                    double expected)
{
    const double *x = (double *)ll_runner_data(runner, s->x) + row * FEATURES;
    const double *weights = (double *)ll_runner_data(runner, s->weights) + (uint64_t)of * FEATURES;
    double sum = ((double *)ll_runner_data(runner, s->biases))[of] - log(expected);
    for (int i = 0; i < FEATURES; i++)
        sum += x[i] * weights[i];
    return sum;
}

/* -log of the right class's share among itself and the samples that are other classes. Returns how many
 * samples were not. */
static int check_row(const struct sampled *s, struct ll_runner *runner, uint64_t row)
{
    const int32_t *classes = ll_runner_data(runner, s->drawn[0]);
    const double *of_labels = ll_runner_data(runner, s->drawn[1]),
                 *of_classes = ll_runner_data(runner, s->drawn[2]);
    double right = exp(logit(s, runner, row, label_of(row), of_labels[row])), all = right;
    int hits = 0;
    for (int i = 0; i < SAMPLES; i++)
        if (classes[i] == label_of(row))
            hits++;
        else
            all += exp(logit(s, runner, row, classes[i], of_classes[i]));
    assert_near(((double *)ll_runner_data(runner, s->loss))[row], -log(right / all), 1e-9);
    return hits;
}

static void the_right_class_is_told_from_the_samples_that_are_not_it(void **state)
{
    (void)state;
    enum ll_status status;
    struct sampled s = build();
    struct ll_runner *runner = ll_runner_new(s.nn, &(struct ll_runner_options){.seed = 3}, &status);
    int hits = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        ll_runner_step(runner, step);
        for (uint64_t row = 0; row < BATCH; row++)
            hits += check_row(&s, runner, row);
    }
    assert_in_range(hits, 1, STEPS * BATCH - 1); /* some were drawn, some were not */
    ll_runner_free(runner);
    ll_nn_free(s.nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_class_is_told_from_the_samples_that_are_not_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
