/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled dot-product attention (Vaswani et al., 2017), all heads of all samples as one batch of products:
 *
 *     softmax(Q K^T / sqrt(d)) V     Q[b heads, seq, d], K and V[b heads, keys, d]
 *
 * 4 b heads seq keys d FLOPs in its two products. */
#include "models/nn/formula.h"
#include "models/single/single.h"

#include <math.h>

enum { B, HEADS, SEQ, KEYS, D, DTYPE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [B] = {"b", 8, 1, 1 << 30, "samples"},
    [HEADS] = {"heads", 16, 1, 1 << 20, "heads of attention"},
    [SEQ] = {"seq", 512, 1, 1 << 24, "positions that ask"},
    [KEYS] = {"keys", 512, 1, 1 << 24, "positions that are asked"},
    [D] = {"d", 64, 1, 1 << 20, "features of a head"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_single_dtypes};

static struct ll_value *operand(struct ll_single *single, const char *name, uint64_t positions)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    uint64_t stacks = ll_mul(single->build->batch, ll_single_count(single, HEADS));
    return ll_single_operand(single, name, LL_INPUT, 3,
                             (uint64_t[]){stacks, positions, ll_single_count(single, D)}, roles);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    uint64_t keys = ll_single_count(&single, KEYS);
    struct ll_value *q = operand(&single, "q", ll_single_count(&single, SEQ));
    struct ll_value *k = operand(&single, "k", keys), *v = operand(&single, "v", keys);
    struct ll_value *scores =
        ll_scaled(nn, ll_matmul_transposed(nn, q, k), "scale", 1 / sqrt((double)build->params[D]));
    struct ll_value *shares = ll_nn_do1(nn, LL_OP_SOFTMAX, scores);
    return ll_single_end(&single, ll_nn_do2(nn, LL_OP_BATCH_MATMUL, shares, v));
}

const struct ll_model ll_model_attention = {
    .name = "attention",
    .suite = "micro",
    .doc = "multi-head scaled dot-product attention",
    .default_batch = 8,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "b",
    .infers = true,
    .build = build,
};
