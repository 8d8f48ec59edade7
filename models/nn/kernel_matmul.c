/* SPDX-License-Identifier: Apache-2.0 */
/* C = op(A) op(B), cut into slices of rows or columns of C, whichever are more. A slice's size depends on the
 * shapes alone, so does then every bit of the result. Few rows go another way (kernel_skinny.c). */
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_skinny.h"

enum { LEAST_SLICE = 96, MOST_SLICE = 512, SLICES = 32, SLICE_STEP = 32 };

static uint64_t slice_size(uint64_t count)
{
    uint64_t size = ll_ceil_div(ll_ceil_div(count, SLICES), SLICE_STEP) * SLICE_STEP;
    return ll_min(ll_max(size, LEAST_SLICE), MOST_SLICE);
}

static const real *moved(const void *matrix, uint64_t elements)
{
    return (const real *)matrix + elements;
}

static void rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    struct ll_product part = *(const struct ll_product *)context;
    part.m = end - begin;
    part.a = moved(part.a, part.transpose_a ? begin : begin * part.lda);
    part.c = (real *)part.c + begin * part.ldc;
    LL_REAL(ll_blas_gemm)(&part);
}

static void columns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    struct ll_product part = *(const struct ll_product *)context;
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
    struct ll_product product = {
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
