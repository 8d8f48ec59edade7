/* SPDX-License-Identifier: Apache-2.0 */
/* What oneDNN's calls and its logs say alike: a recorded program and the import of its log come to the same
 * ops. Pure; thread-safe. */
#ifndef LL_TRACER_IR_DNNL_H
#define LL_TRACER_IR_DNNL_H

#include "tracer/ir/ops.h"

/* A function of elements; `backward` is LL_OP_NONE for one of two operands. Static. */
struct ll_dnnl_function {
    const char *name;
    int64_t number;
    enum ll_op_kind forward, backward;
};

/* By its number in version 2, and by the name that logs have; NULL when nobody knows it. */
const struct ll_dnnl_function *ll_dnnl_function_numbered(int64_t number);
const struct ll_dnnl_function *ll_dnnl_function_named(const char *name, size_t length);

/* c = a b of stacks of matrices [..., m, k], [..., k, n], [..., m, n] of equal ranks, at least 2, of which
 * dimensions that are 1 repeat: the kind of op that this is, with the shapes as the op takes them. Where many
 * matrices meet the same one they are one of more rows, or of more columns; only where both have as many is
 * there a stack of products. LL_OP_NONE, and nothing changed, when ranks differ. */
enum ll_op_kind ll_dnnl_stack(struct ll_shape *a, struct ll_shape *b, struct ll_shape *c);

#endif
