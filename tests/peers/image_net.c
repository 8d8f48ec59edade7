/* SPDX-License-Identifier: Apache-2.0 */
/* image_net FOLDER THREADS MODEL: a training step of an image network at its full size. Leaves its images,
 * labels and weights, the logits and the gradients in the folder for torch_image_net.py, all in double
 * precision: in floats the rounding of a hundred layers moves enough of what a ReLU reads over its kink to
 * change gradients by percents. Prints the median time of a step in floats, in seconds. Status 77 without
 * OpenBLAS. */
#include "npy.h"

#include "models/model.h"
#include "tracer/base/map.h"

#include <stdlib.h>

enum { BATCH = 4, RUNS = 3, MOST_PARAMS = 16 };

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

static struct ll_nn *build(const struct ll_model *model, enum ll_dtype real)
{
    struct ll_nn *nn = ll_nn_new(real);
    struct ll_diags diags = {0};
    int64_t values[MOST_PARAMS];
    if (!nn || !ll_model_settings(model, NULL, 0, values, &diags))
        return NULL;
    model->build(nn, &(struct ll_build){.train = true, .batch = BATCH, .seed = 3, .params = values});
    if (ll_nn_trouble(nn)) {
        fprintf(stderr, "%s\n", ll_nn_trouble(nn));
        return NULL;
    }
    keep(nn, LL_OP_HOST_INPUT);
    ll_nn_keep(logits_of(nn));
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (nn->values[i]->gradient)
            ll_nn_keep(nn->values[i]->gradient->root);
    return nn;
}

/* Before the first step: weights as they are when its gradients are taken. */
static bool leave_weights(const struct ll_nn *nn, struct ll_runner *runner, const char *folder)
{
    bool good = true;
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (nn->values[i]->gradient)
            good &= npy_write_value(folder, "", runner, nn->values[i], nn->values[i]->name);
    return good;
}

/* Labels are small numbers: floats hold them. */
static bool leave_labels(struct ll_runner *runner, const struct ll_value *labels, const char *folder)
{
    float numbers[BATCH];
    struct ll_shape shape = labels->shape;
    shape.dtype = LL_F32;
    for (int i = 0; i < BATCH; i++)
        numbers[i] = (float)((const int32_t *)ll_runner_data(runner, labels))[i];
    return npy_write(folder, "labels", &shape, numbers);
}

static bool leave_results(const struct ll_nn *nn, struct ll_runner *runner, const char *folder)
{
    bool good = npy_write_value(folder, "", runner, logits_of(nn), "logits");
    for (uint64_t i = 0; i < nn->op_count; i++) {
        const struct ll_value *value = nn->ops[i]->outputs[0];
        if (nn->ops[i]->view.kind == LL_OP_HOST_INPUT)
            good &= value->shape.dtype == LL_I32 ? leave_labels(runner, value, folder)
                                                 : npy_write_value(folder, "", runner, value, "images");
    }
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (nn->values[i]->gradient)
            good &= npy_write_value(folder, "gradient.", runner, nn->values[i]->gradient->root,
                                    nn->values[i]->name);
    return good;
}

/* One step in double precision, looked at. */
static enum ll_status look(const struct ll_model *model, struct ll_pool *pool, const char *folder)
{
    enum ll_status status = LL_NO_MEMORY;
    struct ll_nn *nn = build(model, LL_F64);
    struct ll_runner *runner =
        nn ? ll_runner_new(nn, &(struct ll_runner_options){.pool = pool, .seed = 7}, &status) : NULL;
    if (runner) {
        bool good = leave_weights(nn, runner, folder);
        ll_runner_step(runner, 0);
        status = leave_results(nn, runner, folder) && good ? LL_OK : LL_CANNOT_WRITE;
        ll_runner_free(runner);
    }
    if (nn)
        ll_nn_free(nn);
    return status;
}

/* The median time of several steps in floats. */
static enum ll_status measure(const struct ll_model *model, struct ll_pool *pool, double *median_s)
{
    enum ll_status status = LL_NO_MEMORY;
    double times[RUNS];
    struct ll_nn *nn = build(model, LL_F32);
    struct ll_runner *runner =
        nn ? ll_runner_new(nn, &(struct ll_runner_options){.pool = pool, .seed = 7}, &status) : NULL;
    for (int i = 0; runner && i < RUNS; i++)
        times[i] = ll_runner_step(runner, 0);
    if (runner) {
        *median_s = ll_median(times, RUNS);
        ll_runner_free(runner);
    }
    if (nn)
        ll_nn_free(nn);
    return status;
}

int main(int count, char **words)
{
    const struct ll_model *model = count == 4 ? ll_model_find(words[3]) : NULL;
    double median_s = 0;
    if (!model)
        return 2;
    struct ll_pool *pool = ll_pool_new((unsigned)atoi(words[2]));
    enum ll_status status = look(model, pool, words[1]);
    if (status == LL_OK)
        status = measure(model, pool, &median_s);
    ll_pool_free(pool);
    printf("%.9f\n", median_s);
    return status == LL_OK ? 0 : status == LL_NO_LIBRARY ? 77 : 1;
}
