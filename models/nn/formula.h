/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas: the ops of arithmetic by name. Inputs that do not match repeat, as op kind `add` has it.
 *
 * Each adds ops to the network's list and returns what they give, of x's type where nothing else is said.
 * Results belong to the network; trouble, as shapes that do not fit, is kept there, and what is returned then
 * is of rank 0 (nn.h). One thread at a time. */
#ifndef LL_NN_FORMULA_H
#define LL_NN_FORMULA_H

#include "models/nn/nn.h"

/* A scalar that no step changes. One a name and scope and value: asked for again, it is the same variable. */
struct ll_value *ll_constant(struct ll_nn *nn, const char *name, double value);

/* The same value everywhere, or zeros, of this shape: variables that no step changes. */
struct ll_value *ll_filled(struct ll_nn *nn, const char *name, const struct ll_shape *shape, double value);
struct ll_value *ll_zeros(struct ll_nn *nn, const struct ll_shape *shape);

/* Zeros of this shape that an op makes whenever it runs. */
struct ll_value *ll_made_zeros(struct ll_nn *nn, const struct ll_shape *shape);

/* a + b */
static inline struct ll_value *ll_add_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_ADD, a, b);
}

/* a - b */
static inline struct ll_value *ll_sub_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_SUB, a, b);
}

/* a b, element by element */
static inline struct ll_value *ll_mul_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_MUL, a, b);
}

/* a / b */
static inline struct ll_value *ll_div_of(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    return ll_nn_do2(nn, LL_OP_DIV, a, b);
}

/* -x */
static inline struct ll_value *ll_neg(struct ll_nn *nn, struct ll_value *x)
{
    return ll_nn_do1(nn, LL_OP_NEG, x);
}

/* min(max(x, 0), limit) */
struct ll_value *ll_relu_clipped(struct ll_nn *nn, struct ll_value *x, double limit);

/* x times ll_constant(nn, name, factor). */
struct ll_value *ll_nn_mul_scalar(struct ll_nn *nn, struct ll_value *x, const char *name, double factor);

/* a where the condition (bool) holds, b elsewhere: all of one shape, or the condition of a's first dimensions
 * alone, one for each row. */
struct ll_value *ll_select(struct ll_nn *nn, struct ll_value *condition, struct ll_value *a,
                           struct ll_value *b);

/* The sum over `axes` dimensions from `axis` on, which the result has not: of [2, 3, 4] over one from 1 on
 * [2, 4]. */
struct ll_value *ll_sum_over(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned axes);

/* Broadcast: x over and over along dimensions in front of its own, `shape` being that of the result: [3] as
 * [2, 3]. */
struct ll_value *ll_nn_broadcast(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape);

/* Reshape: the same elements in another shape, a view; its type is x's. */
struct ll_value *ll_nn_reshape(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape);

/* Unstack: the layers along the first dimension; in the network's arena. NULL after trouble. */
struct ll_value **ll_nn_unstack(struct ll_nn *nn, struct ll_value *stack);

/* Stack: layers of one shape along a new first dimension. */
struct ll_value *ll_nn_stack(struct ll_nn *nn, struct ll_value *const *layers, uint32_t count);

/* Split into equal parts along dimension `axis`, at most four; the list lives in the network's arena. */
struct ll_value *const *ll_nn_split(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned parts);

/* Slice: elements begin to begin + size - 1 of dimension `axis`, all of the others. */
struct ll_value *ll_nn_slice(struct ll_nn *nn, struct ll_value *x, unsigned axis, uint64_t begin,
                             uint64_t size);

/* Gather: rows of a table [rows, ...] by their indices, i32 or i64: the dimensions of the indices, then those
 * of a row. */
struct ll_value *ll_nn_gather(struct ll_nn *nn, struct ll_value *table, struct ll_value *indices);

/* a b^T of matrices, or of each two of stacks of them: [m, k] and [n, k] give [m, n]. */
struct ll_value *ll_matmul_transposed(struct ll_nn *nn, struct ll_value *a, struct ll_value *b);

/* Concat along dimension `axis`, all others being equal. */
struct ll_value *ll_nn_concat(struct ll_nn *nn, struct ll_value *const *parts, uint32_t count, unsigned axis);

/* Upsample by nearest neighbour: every pixel of [batch, height, width, channels] becomes factor x factor. */
struct ll_value *ll_nn_upsample(struct ll_nn *nn, struct ll_value *image, uint64_t factor);

/* Transpose: result dimension i is input dimension digit i of the permutation; 021
 * exchanges the last two of three (in decimal: write 21). */
struct ll_value *ll_nn_transpose(struct ll_nn *nn, struct ll_value *x, int64_t permutation);

/* Indices or truth values as numbers of the network's real type. */
struct ll_value *ll_as_real(struct ll_nn *nn, struct ll_value *x);

/* Numbers in another type. */
struct ll_value *ll_cast_to(struct ll_nn *nn, struct ll_value *x, enum ll_dtype dtype);

/* The call of a product of x and weights, a matmul or a batch_matmul, or of one that gives a gradient of
 * theirs; narrow: it reads 8 bits, as casts or weights that are held so, and writes the network's real type
 * (tracer/transform/dtype.h makes the same of a trace). */
struct ll_value *ll_weight_gemm(struct ll_nn *nn, const struct ll_nn_call *product, bool narrow);

#endif
