/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution: b images h x w of c channels, k filters r x s; 2 b oh ow k r s c / groups FLOPs. A training
 * step has both its gradients, for the images and for the filters. */
#include "models/single/single.h"

enum { B, C, H, W, K, R, S, STRIDE_H, STRIDE_W, PAD_H, PAD_W, GROUPS, DTYPE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [B] = {"b", 16, 1, 1 << 30, "images"},
    [C] = {"c", 64, 1, 1 << 24, "channels of an image"},
    [H] = {"h", 56, 1, 1 << 20, "height of an image"},
    [W] = {"w", 56, 1, 1 << 20, "width of an image"},
    [K] = {"k", 64, 1, 1 << 24, "filters"},
    [R] = {"r", 3, 1, 1 << 20, "height of a filter"},
    [S] = {"s", 3, 1, 1 << 20, "width of a filter"},
    [STRIDE_H] = {"stride_h", 1, 1, 1 << 20, "rows from one position of a filter to the next"},
    [STRIDE_W] = {"stride_w", 1, 1, 1 << 20, "columns from one position of a filter to the next"},
    [PAD_H] = {"pad_h", 1, 0, 1 << 20, "rows of zeros above and below an image"},
    [PAD_W] = {"pad_w", 1, 0, 1 << 20, "columns of zeros on both sides of an image"},
    [GROUPS] = {"groups", 1, 1, 1 << 24, "parts that channels and filters fall into; a multiple of each"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_single_dtypes};

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    static const enum ll_role filter_roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL,
                                                LL_ROLE_CHANNEL};
    const int64_t *p = build->params;
    struct ll_single single = ll_single_begin(nn, build, p[DTYPE]);
    if (p[C] % p[GROUPS] || p[K] % p[GROUPS])
        ll_nn_fail(nn, "channels and filters must be multiples of the groups");
    const uint64_t image[] = {build->batch, (uint64_t)p[H], (uint64_t)p[W], (uint64_t)p[C]};
    const uint64_t filter[] = {(uint64_t)p[R], (uint64_t)p[S], (uint64_t)(p[C] / p[GROUPS]), (uint64_t)p[K]};
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_STRIDE_H, p[STRIDE_H]), ll_attr_of_count(LL_ATTR_STRIDE_W, p[STRIDE_W]),
        ll_attr_of_count(LL_ATTR_PAD_TOP, p[PAD_H]),     ll_attr_of_count(LL_ATTR_PAD_LEFT, p[PAD_W]),
        ll_attr_of_count(LL_ATTR_PAD_BOTTOM, p[PAD_H]),  ll_attr_of_count(LL_ATTR_PAD_RIGHT, p[PAD_W]),
        ll_attr_of_count(LL_ATTR_GROUPS, p[GROUPS])};
    struct ll_value *inputs[] = {
        ll_single_operand(&single, "images", LL_INPUT, 4, image, roles),
        ll_single_operand(&single, "filters", LL_WEIGHT, 4, filter, filter_roles),
    };
    struct ll_nn_call call = {
        .kind = LL_OP_CONV2D, .input_count = 2, .inputs = inputs, .attr_count = 7, .attrs = attrs};
    return ll_single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_conv2d = {
    .name = "conv2d",
    .suite = "micro",
    .doc = "one convolution of images",
    .default_batch = 16,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "b",
    .infers = true,
    .build = build,
};
