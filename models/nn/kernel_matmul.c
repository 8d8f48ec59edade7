/* SPDX-License-Identifier: Apache-2.0 */
/* C = op(A) op(B), cut into slices of rows or columns of C, whichever are more. A slice's size depends on the
 * shapes alone, so does then every bit of the result. Few rows go another way (kernel_skinny.c), and so do
 * sums of few terms (kernel_thin.c).
 *
 * A transposed B is packed by OpenBLAS a few columns at a time out of many rows side by side. Where these lie
 * a page apart they all meet in one set of the first-level cache, which holds fewer, and a product of 32 rows
 * takes half as long again. Such a B is copied first, its rows a little further apart. */
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_skinny.h"
#include "models/nn/kernel_thin.h"

#include <string.h>

enum { MOST_SLICE = 512, SLICES = 32, SLICE_STEP = 32, PAGE = 4096, LINE = 64 };

static uint64_t slice_size(uint64_t count)
{
    uint64_t size = ll_ceil_div(ll_ceil_div(count, SLICES), SLICE_STEP) * SLICE_STEP;
    return ll_min(ll_max(size, LL_PRODUCT_SLICE), MOST_SLICE);
}

/* Elements from one row of B's copy to the next. */
static uint64_t apart(uint64_t k, uint64_t element_bytes)
{
    return k + LINE / element_bytes;
}

static bool is_skinny(uint64_t m, bool transpose_a)
{
    return m <= LL_SKINNY_ROWS && !transpose_a;
}

static bool is_copied(bool transpose_b, uint64_t k, uint64_t element_bytes)
{
    return transpose_b && k * element_bytes % PAGE == 0;
}

#ifndef LL_DOUBLE
/* A copy of all of B where C is cut into rows, each of which needs it; else of each thread's slice. */
uint64_t ll_matmul_workspace(const struct ll_op_view *op, unsigned threads)
{
    uint64_t bytes = ll_dtype_bytes((enum ll_dtype)op->in[0].dtype), m = op->out[0].dim[0],
             n = op->out[0].dim[1];
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    uint64_t k = op->in[0].dim[!ta], rows = m >= n ? n : ll_mul(threads, slice_size(n));
    return is_copied(tb, k, bytes) && !is_skinny(m, ta) ? ll_mul(rows, ll_mul(apart(k, bytes), bytes)) : 0;
}
#endif

struct product {
    struct ll_blas_product whole;
    real *copy; /* NULL: B stays where it is */
};

static const real *moved(const void *matrix, uint64_t elements)
{
    return (const real *)matrix + elements;
}

static void copy_rows(const struct ll_blas_product *from, uint64_t begin, uint64_t end, real *to)
{
    for (uint64_t row = begin; row < end; row++, to += apart(from->k, sizeof(real)))
        memcpy(to, moved(from->b, row * from->ldb), from->k * sizeof(real));
}

static void copy_part(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct product *product = context;
    copy_rows(&product->whole, begin, end, product->copy + begin * apart(product->whole.k, sizeof(real)));
}

static void rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    struct ll_blas_product part = ((const struct product *)context)->whole;
    part.m = end - begin;
    part.a = moved(part.a, part.transpose_a ? begin : begin * part.lda);
    part.c = (real *)part.c + begin * part.ldc;
    LL_REAL(ll_blas_gemm)(&part);
}

static void columns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct product *product = context;
    struct ll_blas_product part = product->whole;
    part.n = end - begin;
    part.c = (real *)part.c + begin;
    if (product->copy) {
        uint64_t ldb = apart(part.k, sizeof(real));
        real *copy = product->copy + ll_pool_worker() * slice_size(product->whole.n) * ldb;
        copy_rows(&product->whole, begin, end, copy);
        part.b = copy;
        part.ldb = ldb;
    } else {
        part.b = moved(part.b, part.transpose_b ? begin * part.ldb : begin);
    }
    LL_REAL(ll_blas_gemm)(&part);
}

static void by_rows(struct product *product, struct ll_pool *pool)
{
    struct ll_blas_product *whole = &product->whole;
    if (product->copy) {
        ll_pool_run(pool, whole->n, slice_size(whole->n), copy_part, product);
        whole->b = product->copy;
        whole->ldb = apart(whole->k, sizeof(real));
    }
    ll_pool_run(pool, whole->m, slice_size(whole->m), rows, product);
}

LL_KERNEL(MATMUL)
{
    const struct ll_op_view *op = call->op;
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    struct ll_blas_product whole = {
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
    struct product product = {whole, is_copied(tb, whole.k, sizeof(real)) ? call->workspace : NULL};
    if (is_skinny(whole.m, ta))
        LL_REAL(ll_skinny_product)(&whole, call->pool);
    else if (ll_is_thin(ta, tb, whole.k))
        LL_REAL(ll_thin_product)(&whole, call->pool);
    else if (whole.m >= whole.n)
        by_rows(&product, call->pool);
    else
        ll_pool_run(call->pool, whole.n, slice_size(whole.n), columns, &product);
}

/* Stacks of matrices: each product by one thread. */
struct stack {
    struct ll_blas_product first;
    uint64_t a_elements, b_elements, c_elements; /* of one matrix */
    bool some;                                   /* of the left ones may be zeros, as the op says */
};

static bool is_zeros(const real *x, uint64_t count)
{
    uint64_t i = 0;
    while (i < count && x[i] == 0)
        i++;
    return i == count;
}

static void matrices(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct stack *stack = context;
    for (uint64_t i = begin; i < end; i++) {
        struct ll_blas_product product = stack->first;
        product.a = moved(product.a, i * stack->a_elements);
        product.b = moved(product.b, i * stack->b_elements);
        product.c = (real *)product.c + i * stack->c_elements;
        if (stack->some && is_zeros(product.a, stack->a_elements))
            memset(product.c, 0, stack->c_elements * sizeof(real));
        else
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
        .some = ll_attr_count(call->op, LL_ATTR_FILLED, -1) >= 0,
    };
    stack.first.k = stack.first.transpose_a ? a->dim[rows] : a->dim[columns];
    uint64_t count = stack.c_elements ? ll_elements(c) / stack.c_elements : 0;
    uint64_t flops = 2 * stack.c_elements * stack.first.k;
    ll_pool_run(call->pool, count, ll_max(1, GRAIN_FLOPS / ll_max(1, flops)), matrices, &stack);
}
