/* SPDX-License-Identifier: Apache-2.0 */
/* The rules behind the words of onnx_operators.def, and what only they share. A rule looks at the node at
 * work, tells the shapes of its outputs and records the ops that it becomes; false after a complaint. Private
 * to tracer/convert/onnx*.c. */
#ifndef LL_TRACER_CONVERT_ONNX_RULES_H
#define LL_TRACER_CONVERT_ONNX_RULES_H

#include "tracer/convert/onnx.h"

/* Element by element, and many to few: onnx_math.c. */
onnx_rule onnx_rule_UNARY, onnx_rule_MISH, onnx_rule_SWISH, onnx_rule_DROPOUT, onnx_rule_DYNAMIC_QUANTIZE,
    onnx_rule_BINARY, onnx_rule_QLINEAR_BINARY, onnx_rule_BIAS_GELU, onnx_rule_MANY, onnx_rule_WHERE,
    onnx_rule_CAST, onnx_rule_QUANTIZE, onnx_rule_DEQUANTIZE, onnx_rule_CAST_LIKE, onnx_rule_REDUCE,
    onnx_rule_REDUCE_OF, onnx_rule_ARG_MAX, onnx_rule_SOFTMAX, onnx_rule_TOP_K;

/* Seen otherwise, and constants: onnx_move.c. */
onnx_rule onnx_rule_IDENTITY, onnx_rule_RESHAPE, onnx_rule_FLATTEN, onnx_rule_SQUEEZE, onnx_rule_UNSQUEEZE,
    onnx_rule_CONSTANT, onnx_rule_CONSTANT_OF_SHAPE, onnx_rule_SHAPE, onnx_rule_SIZE, onnx_rule_RANGE;

/* Moved: onnx_move.c. */
onnx_rule onnx_rule_TRANSPOSE, onnx_rule_CONCAT, onnx_rule_QLINEAR_CONCAT, onnx_rule_SPLIT, onnx_rule_SLICE,
    onnx_rule_GATHER, onnx_rule_GATHER_ELEMENTS, onnx_rule_GATHER_ND, onnx_rule_SCATTER, onnx_rule_EXPAND,
    onnx_rule_TILE, onnx_rule_PAD, onnx_rule_DEPTH_TO_SPACE, onnx_rule_SPACE_TO_DEPTH, onnx_rule_ONE_HOT;

/* Windows over images, and norms: onnx_image.c. */
onnx_rule onnx_rule_CONV, onnx_rule_QLINEAR_CONV, onnx_rule_CONV_INTEGER, onnx_rule_CONV_TRANSPOSE,
    onnx_rule_POOL, onnx_rule_GLOBAL_POOL, onnx_rule_RESIZE, onnx_rule_BATCH_NORM, onnx_rule_LAYER_NORM,
    onnx_rule_SKIP_NORM, onnx_rule_GROUP_NORM, onnx_rule_GROUP_NORM_LAST, onnx_rule_LRN;

/* GEMMs: onnx_product.c. */
onnx_rule onnx_rule_GEMM, onnx_rule_MATMUL, onnx_rule_QLINEAR_MATMUL, onnx_rule_MATMUL_INTEGER,
    onnx_rule_QGEMM, onnx_rule_MATMUL_TO_FLOAT, onnx_rule_EINSUM, onnx_rule_RECURRENT;

/* Branches, and what nobody has a rule for, kept as moving its bytes: onnx_import.c. */
onnx_rule onnx_rule_IF, onnx_rule_OPAQUE;

/* Dimension i comes from dimension from[i]. False after a complaint. */
bool onnx_transpose(struct onnx *o, struct ll_imported in, const int64_t *from, struct ll_imported *out);

/* x times the sigmoid of x. False after a complaint. */
bool onnx_swish(struct onnx *o, struct ll_imported x, struct ll_imported *out);

/* Sums along the last dimension of a matrix. False after a complaint. */
bool onnx_sum_rows(struct onnx *o, struct ll_imported x, struct ll_imported *out);

/* What a slice takes of each dimension. */
struct onnx_cuts {
    uint64_t begin[LL_MAX_RANK], size[LL_MAX_RANK];
    int64_t step[LL_MAX_RANK];
};

/* The cuts of the node at work, a Slice, out of a shape; *cuts is zeroed. False after a complaint. */
bool onnx_read_cuts(struct onnx *o, const struct ll_shape *shape, struct onnx_cuts *cuts);

/* The axes of the node at work, by attribute or (newer) by input 1: none where it says nothing. False after a
 * complaint. */
struct onnx_axes {
    int64_t list[LL_MAX_RANK];
    uint64_t count;
};
bool onnx_read_axes(struct onnx *o, struct onnx_axes *axes);

/* The same as bits, of so many dimensions. False after a complaint. */
bool onnx_axis_bits(struct onnx *o, const struct onnx_axes *axes, unsigned rank, unsigned *bits);

/* Output 0 is x in these dimensions. False after a complaint that the elements are not as many. */
bool onnx_put_reshaped(struct onnx *o, struct onnx_value *x, const struct ll_shape *shape);

/* Appends the sizes that an input holds to a shape. False after a complaint. */
bool onnx_dims_from(struct onnx *o, uint32_t input, struct ll_shape *shape);

#endif
