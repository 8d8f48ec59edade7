/* SPDX-License-Identifier: Apache-2.0 */
/* C = op(A) op(B), cut into slices of rows or columns of C, whichever are more. A slice's size depends on the
 * shapes alone, so does then every bit of the result. Few rows go another way (kernel_skinny.c). */
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_skinny.h"

enum { MOST_SLICE = 512, SLICES = 32, SLICE_STEP = 32 };

static uint64_t slice_size(uint64_t count)
{
    uint64_t size = ll_ceil_div(ll_ceil_div(count, SLICES), SLICE_STEP) * SLICE_STEP;
    return ll_min(ll_max(size, LL_PRODUCT_SLICE), MOST_SLICE);
}

static const real *moved(const void *matrix, uint64_t elements)
{
    return (const real *)matrix + elements;
}

static void rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    struct ll_blas_product part = *(const struct ll_blas_product *)context;
    part.m = end - begin;
    part.a = moved(part.a, part.transpose_a ? begin : begin * part.lda);
    part.c = (real *)part.c + begin * part.ldc;
    LL_REAL(ll_blas_gemm)(&part);
}

static void columns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    struct ll_blas_product part = *(const struct ll_blas_product *)context;
    part.n = end - begin;
    part.b = moved(part.b, part.transpose_b ? begin * part.ldb : begin);
    part.c = (real *)part.c + begin;
    LL_REAL(ll_blas_gemm)(&part);
}

LL_KERNEL(MATMUL)
{
    const struct ll_op_view *op = call->op;
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    struct ll_blas_product product = {
        .transpose_a = ta,
        .transpose_b = tb,
        .m = op->out[0].dim[0],
        .n = op->out[0].dim[1],
        .k = op->in[0].dim[!ta],
        .a = call->in[0],
        .lda = op->in[0].dim[1],
        .b = call->in[1],
        .ldb = op->in[1].dim[1],
        .c = call->out[0],
        .ldc = op->out[0].dim[1],
    };
    if (product.m <= LL_SKINNY_ROWS && !ta)
        LL_REAL(ll_skinny_product)(&product, call->pool);
    else if (product.m >= product.n)
        ll_pool_run(call->pool, product.m, slice_size(product.m), rows, &product);
    else
        ll_pool_run(call->pool, product.n, slice_size(product.n), columns, &product);
}

/* Stacks of matrices: each product by one thread. */
struct stack {
    struct ll_blas_product first;
    uint64_t a_elements, b_elements, c_elements; /* of one matrix */
};

static void matrices(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct stack *stack = context;
    for (uint64_t i = begin; i < end; i++) {
        struct ll_blas_product product = stack->first;
        product.a = moved(product.a, i * stack->a_elements);
        product.b = moved(product.b, i * stack->b_elements);
        product.c = (real *)product.c + i * stack->c_elements;
        LL_REAL(ll_blas_gemm)(&product);
    }
}

LL_KERNEL(BATCH_MATMUL)
{
    enum { GRAIN_FLOPS = 1 << 17 };
    const struct ll_shape *a = &call->op->in[0], *b = &call->op->in[1], *c = &call->op->out[0];
    unsigned rows = a->rank - 2u, columns = a->rank - 1u;
    struct stack stack = {
        .first = {.transpose_a = ll_attr_count(call->op, LL_ATTR_TRANSPOSE_A, 0) != 0,
                  .transpose_b = ll_attr_count(call->op, LL_ATTR_TRANSPOSE_B, 0) != 0,
                  .m = c->dim[rows],
                  .n = c->dim[columns],
                  .a = call->in[0],
                  .lda = a->dim[columns],
                  .b = call->in[1],
                  .ldb = b->dim[columns],
                  .c = call->out[0],
                  .ldc = c->dim[columns]},
        .a_elements = a->dim[rows] * a->dim[columns],
        .b_elements = b->dim[rows] * b->dim[columns],
        .c_elements = c->dim[rows] * c->dim[columns],
    };
    stack.first.k = stack.first.transpose_a ? a->dim[rows] : a->dim[columns];
    uint64_t count = stack.c_elements ? ll_elements(c) / stack.c_elements : 0;
    uint64_t flops = 2 * stack.c_elements * stack.first.k;
    ll_pool_run(call->pool, count, ll_max(1, GRAIN_FLOPS / ll_max(1, flops)), matrices, &stack);
}
