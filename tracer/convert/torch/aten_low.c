/* SPDX-License-Identifier: Apache-2.0 */
/* GEMMs of few bits and in groups, and optimizers that go over lists of tensors: what servers and training
 * loops call by one operator. */
#include "tracer/base/num.h"
#include "tracer/convert/torch/torch.h"

/* The dtype of the result, where the call tells it; else bfloat16, in which such products come out. */
static enum ll_dtype result_dtype(const struct ll_aten *call)
{
    const struct ll_torch_tensor *result = ll_aten_result(call, 0);
    return result ? (enum ll_dtype)result->shape.dtype : LL_BF16;
}

/* A product of a and b, whatever their types, in that of the result. */
static const char *product(struct ll_aten *call, enum ll_op_kind kind, struct ll_imported a,
                           struct ll_imported b)
{
    const struct ll_imported in[] = {a, b};
    const enum ll_dtype dtype = result_dtype(call);
    struct ll_imported out = {0};
    const char *trouble = ll_aten_do(
        call, &(struct ll_import_op){.kind = kind, .in = in, .in_count = 2, .dtype = &dtype}, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* _scaled_mm(a, b, scales, ...), _int_mm(a, b): the types of a and b are those that they are stored in. */
const char *ll_aten_SCALED_MM(struct ll_aten *call)
{
    const struct ll_torch_tensor *a = ll_aten_tensor(call, 0), *b = ll_aten_tensor(call, 1);
    if (!a || !b)
        return LL_ATEN_WANTS_TENSORS;
    return product(call, LL_OP_MATMUL, ll_aten_hold(call, a, NULL), ll_aten_hold(call, b, NULL));
}

/* _weight_int4pack_mm(x[m, k], packed, group, scales[k / group, n, 2]): packed has k n weights of 4 bits,
 * two in a byte or eight in an int32. _weight_int8pack_mm(x[m, k], w[n, k], scales[n]). */
const char *ll_aten_PACKED_MM(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *packed = ll_aten_tensor(call, 1);
    if (!x || !packed || x->shape.rank != 2)
        return LL_ATEN_WANTS_TENSORS;
    const uint64_t k = x->shape.dim[1], bits = packed->shape.dtype == LL_INT8 ? 8 : 4;
    const uint64_t weights = ll_mul(ll_size_bytes(&packed->shape), 8 / bits);
    if (k == 0 || !ll_fits(weights) || weights % k)
        return "its weights are not of so many rows as its argument has columns";
    const struct ll_shape matrix = {
        .dtype = bits == 8 ? LL_INT8 : LL_INT4, .rank = 2, .dim = {weights / k, k}};
    const struct ll_imported in[] = {ll_aten_hold(call, x, NULL), ll_aten_hold(call, packed, &matrix)};
    const struct ll_attr transposed = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = LL_OP_MATMUL, .in = in, .in_count = 2, .attrs = &transposed, .attr_count = 1});
}

/* _grouped_mm(a[rows, k], b[groups, k, n], ends of the groups): each row is multiplied by the matrix of
 * its group. The file does not say which: groups of equal sizes are a batched GEMM; where the rows cannot
 * be divided so, it is as many FLOPs on as many bytes. Of three dimensions both: a batched GEMM. a[k,
 * rows], b[rows, n]: a product for each group of rows, whose FLOPs are those of the whole. */
const char *ll_aten_GROUPED_MM(struct ll_aten *call)
{
    const struct ll_torch_tensor *a = ll_aten_tensor(call, 0), *b = ll_aten_tensor(call, 1);
    if (!a || !b || a->shape.rank < 2 || b->shape.rank < 2 || a->shape.rank > b->shape.rank ||
        b->shape.rank > 3)
        return LL_ATEN_WANTS_TENSORS;
    const struct ll_imported right = ll_aten_hold(call, b, NULL);
    if (a->shape.rank == b->shape.rank)
        return product(call, a->shape.rank == 3 ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL,
                       ll_aten_hold(call, a, NULL), right);
    const uint64_t groups = b->shape.dim[0], rows = a->shape.dim[0], k = a->shape.dim[1], n = b->shape.dim[2];
    if (groups > 0 && rows % groups == 0) {
        const struct ll_shape grouped = {
            .dtype = a->shape.dtype, .rank = 3, .dim = {groups, rows / groups, k}};
        return product(call, LL_OP_BATCH_MATMUL, ll_aten_hold(call, a, &grouped), right);
    }
    const uint64_t flops = ll_mul(2, ll_mul(ll_mul(rows, k), n));
    const struct ll_imported in[] = {ll_aten_hold(call, a, NULL), right};
    const struct ll_shape made = {.dtype = (uint8_t)result_dtype(call), .rank = 2, .dim = {rows, n}};
    const struct ll_attr count = {.key = LL_ATTR_FLOPS, .count = (int64_t)flops};
    if (flops > INT64_MAX || k != b->shape.dim[1])
        return "its shapes are those of no product";
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_COMPUTATION,
                                                      .in = in,
                                                      .in_count = 2,
                                                      .attrs = &count,
                                                      .attr_count = 1,
                                                      .given = &made,
                                                      .given_count = 1});
}

/* The tensor at place i of argument a, a list; NULL where there is none. */
static const struct ll_torch_tensor *listed(const struct ll_aten *call, uint32_t a, uint32_t i)
{
    const struct ll_torch_node *node = call->node;
    bool there = a < node->input_count && node->inputs[a].kind == LL_TORCH_TENSORS &&
                 i < node->inputs[a].count && !node->inputs[a].tensors[i].absent;
    return there ? &node->inputs[a].tensors[i] : NULL;
}

/* One tensor of an optimizer's lists: w and its states are written, in the order of the op's outputs. */
static const char *update(struct ll_aten *call, enum ll_op_kind kind,
                          const struct ll_torch_tensor *const *tensors, uint32_t count, uint32_t written)
{
    struct ll_imported in[5], out[LL_MAX_OUTPUTS] = {{0}};
    for (uint32_t i = 0; i < count; i++)
        in[i] = tensors[i] ? ll_aten_hold(call, tensors[i], NULL) : ll_aten_constant(call, LL_F32);
    const char *trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = kind, .in = in, .in_count = count}, out);
    for (uint32_t i = 0; !trouble && i < written; i++)
        ll_aten_give(call, tensors[i], out[i]);
    return trouble;
}

/* _fused_adam_(weights, gradients, averages, averages of squares, ...), and AdamW alike. */
const char *ll_aten_FUSED_ADAM(struct ll_aten *call)
{
    const char *trouble = listed(call, 0, 0) && listed(call, 3, 0) ? NULL : LL_ATEN_WANTS_TENSORS;
    for (uint32_t i = 0; !trouble && listed(call, 0, i); i++) {
        const struct ll_torch_tensor *const tensors[] = {listed(call, 0, i), listed(call, 2, i),
                                                         listed(call, 3, i), listed(call, 1, i), NULL};
        trouble = update(call, LL_OP_ADAM, tensors, 5, 3);
    }
    return trouble;
}

/* _fused_sgd_(weights, gradients, momentum buffers, ...), which may have none of these. */
const char *ll_aten_FUSED_SGD(struct ll_aten *call)
{
    const char *trouble = listed(call, 0, 0) && listed(call, 1, 0) ? NULL : LL_ATEN_WANTS_TENSORS;
    for (uint32_t i = 0; !trouble && listed(call, 0, i); i++) {
        const struct ll_torch_tensor *const with[] = {listed(call, 0, i), listed(call, 2, i),
                                                      listed(call, 1, i)},
                                            *const without[] = {listed(call, 0, i), listed(call, 1, i)};
        trouble = with[1] ? update(call, LL_OP_MOMENTUM, with, 3, 2) : update(call, LL_OP_SGD, without, 2, 1);
    }
    return trouble;
}
