/* SPDX-License-Identifier: Apache-2.0 */
/* transformer_layer FOLDER THREADS: one layer of the Transformer that reads, of the base size, forward and
 * backward. Leaves its input, weights, result and gradients in the folder for torch_transformer.py and prints
 * the median time of a step in seconds. Status 77 without OpenBLAS. */
#include "npy.h"

#include "models/nn/layers.h"
#include "models/nn/nn.h"
#include "models/nn/training.h"
#include "models/tbd/transformer.h"
#include "tracer/base/map.h"

#include <stdlib.h>

enum { BATCH = 16, STEPS = 32, HIDDEN = 512, FILTER = 2048, HEADS = 8, RUNS = 9, MOST_WEIGHTS = 32 };

static const struct ll_transformer_sizes sizes = {.hidden = HIDDEN, .filter = FILTER, .heads = HEADS};

struct scene {
    struct ll_nn *nn;
    struct ll_value *loss, *x, *y, *factors, *bias;
    struct ll_value *inputs[MOST_WEIGHTS], *gradients[MOST_WEIGHTS]; /* x and all weights */
    size_t count;
};

static struct ll_value *normal(struct ll_nn *nn, const char *name)
{
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){BATCH, STEPS, HIDDEN}, NULL);
    return ll_nn_variable(nn, name, &shape, LL_INPUT, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
}

/* Sentence i has i words less than there are steps. */
static struct ll_value *padding(struct ll_nn *nn)
{
    static double list[BATCH * STEPS];
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){BATCH, 1, 1, STEPS}, NULL);
    for (int i = 0; i < BATCH * STEPS; i++)
        list[i] = i % STEPS < STEPS - i / STEPS ? 0 : ll_hidden_score;
    return ll_nn_variable(nn, "bias", &shape, LL_INPUT, (struct ll_init){LL_INIT_LIST, 0, list});
}

/* The loss is the sum of all results, each times a number of its own. */
static void build(struct scene *s, enum ll_dtype real)
{
    struct ll_nn *nn = s->nn = ll_nn_new(real);
    s->inputs[s->count++] = s->x = normal(nn, "x");
    s->factors = normal(nn, "factors");
    s->bias = padding(nn);
    s->y = ll_transformer_encoder_layer(nn, "layer", &sizes, s->x, s->bias);
    s->loss = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, s->y, s->factors));
    for (uint64_t i = 0; i < nn->variable_count && s->count < MOST_WEIGHTS; i++)
        if (nn->variables[i]->memory == LL_WEIGHT)
            s->inputs[s->count++] = nn->variables[i];
    nn->phase = LL_PHASE_BACKWARD;
    ll_nn_gradients(nn, s->loss, s->inputs, s->count, s->gradients);
    ll_nn_keep(s->loss);
    ll_nn_keep(s->y->root);
    for (size_t i = 0; i < s->count; i++)
        ll_nn_keep(s->gradients[i]->root);
}

/* What a view shows is the memory of what it is a view of. */
static bool leave(const struct scene *s, struct ll_runner *runner, const char *folder)
{
    bool good = npy_write(folder, "y", &s->y->shape, ll_runner_data(runner, s->y->root)) &&
                npy_write_value(folder, "", runner, s->factors, "factors") &&
                npy_write_value(folder, "", runner, s->bias, "bias");
    for (size_t i = 0; i < s->count; i++) {
        char name[256];
        const struct ll_value *gradient = s->gradients[i];
        snprintf(name, sizeof name, "gradient.%s", s->inputs[i]->name);
        good &= npy_write_value(folder, "", runner, s->inputs[i], s->inputs[i]->name) &&
                npy_write(folder, name, &gradient->shape, ll_runner_data(runner, gradient->root));
    }
    return good;
}

/* One step in double precision, where no rounding pushes a value over the kink of a ReLU, left in the folder.
 */
static enum ll_status compute(struct ll_pool *pool, const char *folder)
{
    struct scene scene = {.count = 0};
    enum ll_status status = LL_NO_MEMORY;
    build(&scene, LL_F64);
    struct ll_runner *runner =
        ll_nn_trouble(scene.nn)
            ? NULL
            : ll_runner_new(scene.nn, &(struct ll_runner_options){.pool = pool, .seed = 7}, &status);
    if (runner) {
        ll_runner_step(runner, 0);
        status = leave(&scene, runner, folder) ? LL_OK : LL_CANNOT_WRITE;
    }
    ll_runner_free(runner);
    ll_nn_free(scene.nn);
    return status;
}

/* The median of steps in floats. */
static enum ll_status measure(struct ll_pool *pool, double *median_s)
{
    struct scene scene = {.count = 0};
    enum ll_status status = LL_NO_MEMORY;
    double times[RUNS];
    build(&scene, LL_F32);
    struct ll_runner *runner =
        ll_runner_new(scene.nn, &(struct ll_runner_options){.pool = pool, .seed = 7}, &status);
    for (int i = 0; runner && i < RUNS; i++)
        times[i] = ll_runner_step(runner, 0);
    if (runner)
        *median_s = ll_median(times, RUNS);
    ll_runner_free(runner);
    ll_nn_free(scene.nn);
    return runner ? LL_OK : status;
}

int main(int count, char **words)
{
    double median_s = 0;
    if (count != 3)
        return 2;
    struct ll_pool *pool = ll_pool_new((unsigned)atoi(words[2]));
    enum ll_status status = compute(pool, words[1]);
    if (status == LL_OK)
        status = measure(pool, &median_s);
    ll_pool_free(pool);
    printf("%.9f\n", median_s);
    return status == LL_OK ? 0 : status == LL_NO_LIBRARY ? 77 : 1;
}
