/* SPDX-License-Identifier: Apache-2.0 */
/* model_step FOLDER THREADS MODEL BATCH RUNS [KEY=VALUE...]: a training step of a model. Leaves what it
 * reads, its weights, its loss, the logits where it has them, and the gradients in the folder for
 * torch_step.py, all in double precision: in floats the rounding of a hundred layers moves enough of what a
 * ReLU reads over its kink to change gradients by percents. Prints the median time of a step in floats, in
 * seconds. Status 77 without OpenBLAS. */
#include "npy.h"

#include "models/model.h"
#include "tracer/base/map.h"

#include <stdlib.h>

enum { MOST_RUNS = 99, MOST_PARAMS = 16 };

/* What the command line asks for. */
struct asked {
    const struct ll_model *model;
    uint64_t batch;
    size_t runs, setting_count;
    struct ll_setting settings[MOST_PARAMS];
};

/* The first results of ops of this kind. */
static void keep(struct ll_nn *nn, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < nn->op_count; i++)
        if (nn->ops[i]->view.kind == kind)
            ll_nn_keep(nn->ops[i]->outputs[0]);
}

static struct ll_value *logits_of(const struct ll_nn *nn)
{
    for (uint64_t i = 0; i < nn->op_count; i++)
        if (nn->ops[i]->view.kind == LL_OP_SOFTMAX_XENT)
            return nn->ops[i]->inputs[0];
    return NULL;
}

/* The loss goes to *loss. */
static struct ll_nn *build(const struct asked *asked, enum ll_dtype real, struct ll_value **loss)
{
    struct ll_nn *nn = ll_nn_new(real);
    struct ll_diags diags = {0};
    int64_t values[MOST_PARAMS];
    if (!nn || !ll_model_settings(asked->model, asked->settings, asked->setting_count, values, &diags))
        return NULL;
    *loss = asked->model->build(
        nn, &(struct ll_build){.train = true, .batch = asked->batch, .seed = 3, .params = values});
    if (ll_nn_trouble(nn)) {
        fprintf(stderr, "%s\n", ll_nn_trouble(nn));
        return NULL;
    }
    ll_nn_keep(*loss);
    keep(nn, LL_OP_HOST_INPUT);
    if (logits_of(nn))
        ll_nn_keep(logits_of(nn));
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (nn->values[i]->gradient)
            ll_nn_keep(nn->values[i]->gradient->root);
    return nn;
}

/* Before the first step: weights as they are when its gradients are taken, and inputs. */
static bool leave_variables(const struct ll_nn *nn, struct ll_runner *runner, const char *folder)
{
    bool good = true;
    for (uint64_t i = 0; i < nn->variable_count; i++) {
        const struct ll_value *v = nn->variables[i];
        if (v->gradient || v->memory == LL_INPUT)
            good &= npy_write_value(folder, "", runner, v, v->name);
    }
    return good;
}

/* Labels and tokens are small numbers: floats hold them. */
static bool leave_indices(struct ll_runner *runner, const struct ll_value *value, const char *folder)
{
    struct ll_shape shape = value->shape;
    uint64_t count = ll_elements(&shape);
    float *numbers = malloc(count * sizeof *numbers);
    shape.dtype = LL_F32;
    for (uint64_t i = 0; numbers && i < count; i++)
        numbers[i] = (float)((const int32_t *)ll_runner_data(runner, value))[i];
    bool good = numbers && npy_write(folder, value->name, &shape, numbers);
    free(numbers);
    return good;
}

static bool leave_results(const struct ll_nn *nn, const struct ll_value *loss, struct ll_runner *runner,
                          const char *folder)
{
    bool good = npy_write_value(folder, "", runner, loss, "loss");
    if (logits_of(nn))
        good &= npy_write_value(folder, "", runner, logits_of(nn), "logits");
    for (uint64_t i = 0; i < nn->op_count; i++) {
        const struct ll_value *value = nn->ops[i]->outputs[0];
        if (nn->ops[i]->view.kind == LL_OP_HOST_INPUT)
            good &= value->shape.dtype == LL_I32 ? leave_indices(runner, value, folder)
                                                 : npy_write_value(folder, "", runner, value, value->name);
    }
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (nn->values[i]->gradient)
            good &= npy_write_value(folder, "gradient.", runner, nn->values[i]->gradient->root,
                                    nn->values[i]->name);
    return good;
}

/* One step in double precision, looked at. */
static enum ll_status look(const struct asked *asked, struct ll_pool *pool, const char *folder)
{
    enum ll_status status = LL_NO_MEMORY;
    struct ll_value *loss;
    struct ll_nn *nn = build(asked, LL_F64, &loss);
    struct ll_runner *runner =
        nn ? ll_runner_new(nn, &(struct ll_runner_options){.pool = pool, .seed = 7}, &status) : NULL;
    if (runner) {
        bool good = leave_variables(nn, runner, folder);
        ll_runner_step(runner, 0);
        status = leave_results(nn, loss, runner, folder) && good ? LL_OK : LL_CANNOT_WRITE;
        ll_runner_free(runner);
    }
    if (nn)
        ll_nn_free(nn);
    return status;
}

/* The median time of several steps in floats. */
static enum ll_status measure(const struct asked *asked, struct ll_pool *pool, double *median_s)
{
    enum ll_status status = LL_NO_MEMORY;
    double times[MOST_RUNS];
    struct ll_value *loss;
    struct ll_nn *nn = build(asked, LL_F32, &loss);
    struct ll_runner *runner =
        nn ? ll_runner_new(nn, &(struct ll_runner_options){.pool = pool, .seed = 7}, &status) : NULL;
    for (size_t i = 0; runner && i < asked->runs; i++)
        times[i] = ll_runner_step(runner, 0);
    if (runner) {
        *median_s = ll_median(times, asked->runs);
        ll_runner_free(runner);
    }
    if (nn)
        ll_nn_free(nn);
    return status;
}

/* MODEL BATCH RUNS [KEY=VALUE...] */
static bool read_asked(int count, char **words, struct asked *asked)
{
    if (count < 3 || count > 3 + MOST_PARAMS)
        return false;
    *asked = (struct asked){ll_model_find(words[0]),
                            strtoull(words[1], NULL, 10),
                            (size_t)strtoul(words[2], NULL, 10),
                            0,
                            {{NULL, NULL}}};
    for (int i = 3; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            return false;
        *value = '\0';
        asked->settings[asked->setting_count++] = (struct ll_setting){words[i], value + 1};
    }
    return asked->model && asked->runs > 0 && asked->runs <= MOST_RUNS;
}

int main(int count, char **words)
{
    struct asked asked;
    double median_s = 0;
    if (count < 4 || !read_asked(count - 3, words + 3, &asked))
        return 2;
    struct ll_pool *pool = ll_pool_new((unsigned)atoi(words[2]));
    enum ll_status status = look(&asked, pool, words[1]);
    if (status == LL_OK)
        status = measure(&asked, pool, &median_s);
    ll_pool_free(pool);
    printf("%.9f\n", median_s);
    return status == LL_OK ? 0 : status == LL_NO_LIBRARY ? 77 : 1;
}
