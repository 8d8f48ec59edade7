/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at each of b rows of h elements whole: softmax, and layer normalisation (Ba et al., 2016) with a
 * gain and an offset for each column. */
#include "models/single/single.h"

enum { B, H, DTYPE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [B] = {"b", 4096, 1, 1 << 30, "rows"},
    [H] = {"h", 1024, 1, 1 << 30, "elements of a row"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_single_dtypes};

static struct ll_value *rows(struct ll_single *single)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    return ll_single_operand(single, "x", LL_INPUT, 2,
                             (uint64_t[]){single->build->batch, ll_single_count(single, H)}, roles);
}

static struct ll_value *build_softmax(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    return ll_single_end(&single, ll_nn_do1(nn, LL_OP_SOFTMAX, rows(&single)));
}

static struct ll_value *build_layernorm(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    uint64_t columns = ll_single_count(&single, H);
    struct ll_value *inputs[] = {
        rows(&single),
        ll_single_operand(&single, "gamma", LL_WEIGHT, 1, &columns, NULL),
        ll_single_operand(&single, "beta", LL_WEIGHT, 1, &columns, NULL),
    };
    struct ll_nn_call call = {.kind = LL_OP_LAYER_NORM, .input_count = 3, .inputs = inputs};
    return ll_single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_softmax = {
    .name = "softmax",
    .suite = "micro",
    .doc = "softmax of rows; a sample is a row",
    .default_batch = 4096,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "b",
    .infers = true,
    .counts_every_op = true,
    .build = build_softmax,
};

const struct ll_model ll_model_layernorm = {
    .name = "layernorm",
    .suite = "micro",
    .doc = "layer normalisation of rows; a sample is a row",
    .default_batch = 4096,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "b",
    .infers = true,
    .counts_every_op = true,
    .build = build_layernorm,
};
