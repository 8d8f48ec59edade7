/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's element-wise functions (dnnl.def) by number and by name, and stacks of matrices as its matmul sees
 * them. */
#include "tracer/ir/dnnl.h"

#include <string.h>

#define LL_OP_UNKNOWN LL_OP_NONE
static const struct ll_dnnl_function functions[] = {
#define LL_DNNL_FUNCTION(name, number, kind, gradient) {name, number, LL_OP_##kind, LL_OP_##gradient},
#include "tracer/ir/dnnl.def"
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

const struct ll_dnnl_function *ll_dnnl_function_numbered(int64_t number)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (functions[i].number == number)
            return &functions[i];
    return NULL;
}

const struct ll_dnnl_function *ll_dnnl_function_named(const char *name, size_t length)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, name, length) == 0)
            return &functions[i];
    return NULL;
}

static void see_as_matrices(struct ll_shape *shape, uint64_t stack, uint64_t rows, uint64_t columns)
{
    *shape = (struct ll_shape){.dtype = shape->dtype, .rank = stack == 1 ? 2 : 3};
    uint64_t *dim = shape->dim;
    if (stack != 1)
        *dim++ = stack;
    dim[0] = rows;
    dim[1] = columns;
}

enum ll_op_kind ll_dnnl_stack(struct ll_shape *a, struct ll_shape *b, struct ll_shape *c)
{
    unsigned rank = a->rank, last = rank - 1;
    uint64_t stack = 1, rows = 1, columns = 1;
    if (rank != b->rank || rank != c->rank || rank < 2)
        return LL_OP_NONE;
    for (unsigned i = 0; i + 2 < rank; i++) {
        bool alike = a->dim[i] == b->dim[i];
        stack = ll_mul(stack, alike ? a->dim[i] : 1);
        rows = ll_mul(rows, alike ? 1 : a->dim[i]);
        columns = ll_mul(columns, alike ? 1 : b->dim[i]);
    }
    if (rows == 1 && columns == 1 && stack != 1)
        return LL_OP_BATCH_MATMUL;
    rows = ll_mul(rows, a->dim[last - 1]);
    columns = ll_mul(columns, b->dim[last]);
    const uint64_t depth = a->dim[last];
    see_as_matrices(a, stack, rows, depth);
    see_as_matrices(b, stack, depth, columns);
    see_as_matrices(c, stack, rows, columns);
    return stack == 1 ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL;
}
