/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table picked by number, all over the table; a training step adds what comes back to the rows. */
#include "models/nn/formula.h"
#include "models/single/single.h"

enum { B, ROWS, H, DTYPE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [B] = {"b", 4096, 1, 1 << 30, "rows that are picked"},
    [ROWS] = {"rows", 50000, 1, INT32_MAX, "rows of the table"},
    [H] = {"h", 1024, 1, 1 << 30, "elements of a row"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_single_dtypes};

/* Neighbours are far apart: the multiplier is a prime near 2^32 over the golden ratio (Knuth, volume 3). */
static void fill_numbers(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    for (uint64_t i = 0, count = ll_elements(shape); i < count; i++)
        ((int32_t *)data)[i] = (int32_t)((step + i) * UINT64_C(2654435761) % feed->classes);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    uint64_t rows = (uint64_t)build->params[ROWS];
    struct ll_shape shape = ll_nn_shape(nn, 1, &build->batch, (enum ll_role[]){LL_ROLE_BATCH});
    shape.dtype = LL_I32;
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_INPUT;
    struct ll_value *numbers =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_HOST_INPUT,
                                          .given_count = 1,
                                          .given = &shape,
                                          .feed = {.fill = fill_numbers, .classes = rows}});
    nn->phase = phase;
    struct ll_value *table = ll_single_operand(&single, "table", LL_WEIGHT, 2,
                                               (uint64_t[]){rows, (uint64_t)build->params[H]}, roles);
    return ll_single_end(&single, ll_gathered(nn, table, numbers));
}

const struct ll_model ll_model_embedding = {
    .name = "embedding",
    .suite = "micro",
    .doc = "embedding lookup, rows of a table by index; a sample is a row",
    .default_batch = 4096,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "b",
    .infers = true,
    .build = build,
};
