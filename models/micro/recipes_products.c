/* SPDX-License-Identifier: Apache-2.0 */
/* Products and convolutions. */
#include "models/micro/products.h"

void ll_bench_product(struct ll_bench *bench, const struct ll_micro_product *p, bool handed)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_TRANSPOSE_A, p->transpose_a),
                              ll_attr_of_count(LL_ATTR_TRANSPOSE_B, p->transpose_b)};
    uint64_t a[] = {p->batch, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k};
    uint64_t b[] = {p->batch, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n};
    unsigned single = p->batch == 0;
    struct ll_value *inputs[] = {ll_bench_noise(bench, "a", 3 - single, a + single),
                                 ll_bench_noise(bench, "b", 3 - single, b + single)};
    for (int i = 0; i < 2 && handed; i++)
        inputs[i] = ll_bench_rewritten(bench, inputs[i]);
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = single ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .attr_count = 2,
                                             .attrs = attrs});
}

void ll_bench_convolution(struct ll_bench *bench, enum ll_op_kind kind, const struct ll_micro_convolution *c)
{
    int64_t pad = (int64_t)(c->kernel - 1) / 2, stride = (int64_t)c->stride;
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_STRIDE_H, stride), ll_attr_of_count(LL_ATTR_STRIDE_W, stride),
        ll_attr_of_count(LL_ATTR_PAD_TOP, pad),     ll_attr_of_count(LL_ATTR_PAD_LEFT, pad),
        ll_attr_of_count(LL_ATTR_PAD_BOTTOM, pad),  ll_attr_of_count(LL_ATTR_PAD_RIGHT, pad)};
    uint64_t side = (c->side + 2 * (uint64_t)pad - c->kernel) / c->stride + 1;
    struct ll_value *x = ll_bench_noise(bench, "image", 4, (uint64_t[]){c->batch, c->side, c->side, c->in});
    struct ll_value *w =
        ll_bench_noise(bench, "filter", 4, (uint64_t[]){c->kernel, c->kernel, c->in, c->out});
    struct ll_value *y = ll_bench_noise(bench, "dy", 4, (uint64_t[]){c->batch, side, side, c->out});
    struct ll_value *inputs[] = {kind == LL_OP_CONV2D_DATA ? y : x, kind == LL_OP_CONV2D_FILTER ? y : w};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .attr_count = 6,
                                             .attrs = attrs,
                                             .given_count = kind != LL_OP_CONV2D,
                                             .given = kind == LL_OP_CONV2D_DATA ? &x->shape : &w->shape});
}
