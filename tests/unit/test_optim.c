/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers against the formulas of their papers, written out by hand for a loss whose gradient is known:
 * loss = mean(w w factors), dloss/dw_i = 2 w_i factor_i / n. */
#include "check.h"

#include "models/nn/training.h"
#include "models/nn/runner.h"

enum { N = 5, STEPS = 6 };
static const double start[N] = {1, -2, 0.5, 3, -0.25}, factors[N] = {1, 2, -1, 0.5, 4};

static double gradient(const double *w, int i)
{
    return 2 * w[i] * factors[i] / N;
}

static void run(const struct ll_optimizer *optimizer, double *w)
{
    enum ll_status status;
    struct ll_nn *nn = ll_nn_new(LL_F64);
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){N}, NULL);
    struct ll_value *weight =
        ll_nn_variable(nn, "layer/w", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, start});
    struct ll_value *scale =
        ll_nn_variable(nn, "f", &shape, LL_INPUT, (struct ll_init){LL_INIT_LIST, 0, factors});
    struct ll_value *square = ll_nn_do2(nn, LL_OP_MUL, weight, weight);
    ll_minimise(nn, ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do2(nn, LL_OP_MUL, square, scale)), optimizer);
    assert_null(ll_nn_trouble(nn));
    const struct ll_nn_op *last = nn->ops[nn->op_count - 1];
    assert_int_equal(last->phase, LL_PHASE_UPDATE);
    assert_string_equal(last->scope, "layer");
    struct ll_runner *runner = ll_runner_new(nn, &(struct ll_runner_options){0}, &status);
    for (uint64_t step = 0; step < STEPS; step++)
        ll_runner_step(runner, step);
    for (int i = 0; i < N; i++)
        assert_near(((double *)ll_runner_data(runner, weight))[i], w[i], 1e-12);
    ll_runner_free(runner);
    ll_nn_free(nn);
}

static void sgd_goes_down_the_gradient(void **state)
{
    (void)state;
    double w[N];
    for (int i = 0; i < N; i++) {
        w[i] = start[i];
        for (int step = 0; step < STEPS; step++)
            w[i] -= 0.1 * gradient(w, i);
    }
    run(&(struct ll_optimizer){.kind = LL_SGD, .rate = 0.1}, w);
}

static void momentum_keeps_a_share_of_its_speed(void **state)
{
    (void)state;
    double w[N];
    for (int i = 0; i < N; i++) {
        double v = 0;
        w[i] = start[i];
        for (int step = 0; step < STEPS; step++) {
            v = 0.9 * v + gradient(w, i);
            w[i] -= 0.1 * v;
        }
    }
    run(&(struct ll_optimizer){.kind = LL_MOMENTUM, .rate = 0.1, .momentum = 0.9}, w);
}

/* Algorithm 1 of Kingma and Ba, 2015, in the order of computation that ends their section 2. */
static void adam_follows_its_paper(void **state)
{
    (void)state;
    double w[N];
    for (int i = 0; i < N; i++) {
        double m = 0, v = 0;
        w[i] = start[i];
        for (int t = 1; t <= STEPS; t++) {
            double g = gradient(w, i), rate = 0.1 * sqrt(1 - pow(0.99, t)) / (1 - pow(0.8, t));
            m = 0.8 * m + 0.2 * g;
            v = 0.99 * v + 0.01 * g * g;
            w[i] -= rate * m / (sqrt(v) + 1e-3);
        }
    }
    run(&(struct ll_optimizer){.kind = LL_ADAM, .rate = 0.1, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3},
        w);
}

/* Vaswani et al., 2017, section 5.3, without the factor for the model's width. */
static void adams_rate_rises_while_it_warms_up(void **state)
{
    (void)state;
    double w[N];
    for (int i = 0; i < N; i++) {
        double m = 0, v = 0;
        w[i] = start[i];
        for (int t = 1; t <= STEPS; t++) {
            double g = gradient(w, i), rate = 0.1 * sqrt(1 - pow(0.99, t)) / (1 - pow(0.8, t));
            m = 0.8 * m + 0.2 * g;
            v = 0.99 * v + 0.01 * g * g;
            w[i] -= rate * fmin(t * pow(3, -1.5), pow(t, -0.5)) * m / (sqrt(v) + 1e-3);
        }
    }
    run(
        &(struct ll_optimizer){
            .kind = LL_ADAM, .rate = 0.1, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3, .warmup = 3},
        w);
}

static void each_element_of_a_gradient_can_be_clipped(void **state)
{
    const double most = 0.05;
    (void)state;
    double w[N];
    bool clipped = false;
    for (int i = 0; i < N; i++) {
        w[i] = start[i];
        for (int step = 0; step < STEPS; step++) {
            double g = gradient(w, i);
            clipped |= fabs(g) > most;
            w[i] -= 0.1 * fmin(fmax(g, -most), most);
        }
    }
    assert_true(clipped);
    run(&(struct ll_optimizer){.kind = LL_SGD, .rate = 0.1, .clip = LL_CLIP_VALUE, .clip_norm = most}, w);
}

static void a_loss_that_depends_on_no_weight_is_refused(void **state)
{
    static const struct ll_optimizer optimizers[] = {
        {.kind = LL_SGD, .rate = 0.1},
        {.kind = LL_SGD, .rate = 0.1, .clip = LL_CLIP_GLOBAL_NORM, .clip_norm = 5},
        {.kind = LL_ADAM, .rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        struct ll_nn *nn = ll_nn_new(LL_F64);
        struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){N}, NULL);
        struct ll_init list = {LL_INIT_LIST, 0, start};
        ll_nn_variable(nn, "layer/w", &shape, LL_WEIGHT, list);
        struct ll_value *input = ll_nn_variable(nn, "x", &shape, LL_INPUT, list);
        ll_minimise(nn, ll_nn_do1(nn, LL_OP_MEAN, input), &optimizers[i]);
        assert_non_null(ll_nn_trouble(nn));
        assert_non_null(strstr(ll_nn_trouble(nn), "the loss depends on no weight"));
        ll_nn_free(nn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_goes_down_the_gradient),
        cmocka_unit_test(momentum_keeps_a_share_of_its_speed),
        cmocka_unit_test(adam_follows_its_paper),
        cmocka_unit_test(adams_rate_rises_while_it_warms_up),
        cmocka_unit_test(each_element_of_a_gradient_can_be_clipped),
        cmocka_unit_test(a_loss_that_depends_on_no_weight_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
