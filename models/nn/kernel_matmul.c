/* SPDX-License-Identifier: Apache-2.0 */
/* A dense layer at a small batch: the weights are many and each is used a few times only, so all that matters
 * is that they stream through once. OpenBLAS copies them into blocks first, which takes longer than the
 * product.
 *
 *   A B     eight rows of B at a time, each a stream of its own, are added to strips of two rows of C. The
 *           longer a strip, the faster they come from memory
 *   A B^T   a piece of four rows of B at a time against a piece of two rows of A, so that eight sums grow
 *           side by side and the pieces of A stay in the first-level cache; where all of A stays there, one
 *           row of B after the other: a single stream comes from memory faster than four
 *
 * No sum's order depends on where chunks begin. */
#include "models/nn/kernel_parts.h"

#include <assert.h>
#include <string.h>

#include "models/nn/blas.h"
#include "models/nn/kernel.h"

enum { DEPTH = 8, STRIP = 1024, PIECE = 512, ROWS = 64, FEW = 4, FEW_BYTES = 1 << 14 };

/* c + sum_i a[i] b[i][j], eight rows of b. */
static LL_INLINE real plus_eight(real c, const real *restrict a, const real *restrict b, uint64_t ldb,
                                 uint64_t j)
{
    const real *b4 = b + 4 * ldb;
    return c + a[0] * b[j] + a[1] * b[ldb + j] + a[2] * b[2 * ldb + j] + a[3] * b[3 * ldb + j] +
           a[4] * b4[j] + a[5] * b4[ldb + j] + a[6] * b4[2 * ldb + j] + a[7] * b4[3 * ldb + j];
}

/* Adds the products of a row of A to one of C, */
static LL_INLINE void add_eight(const real *restrict a, const real *restrict b, uint64_t ldb,
                                real *restrict c, uint64_t count)
{
    for (uint64_t j = 0; j < count; j++)
        c[j] = plus_eight(c[j], a, b, ldb, j);
}

/* and those of two rows to two. */
static LL_INLINE void add_twice_eight(const real *restrict a, const real *restrict a_next,
                                      const real *restrict b, uint64_t ldb, real *restrict c,
                                      real *restrict c_next, uint64_t count)
{
    for (uint64_t j = 0; j < count; j++) {
        c[j] = plus_eight(c[j], a, b, ldb, j);
        c_next[j] = plus_eight(c_next[j], a_next, b, ldb, j);
    }
}

static LL_INLINE void add_one(real a, const real *restrict b, real *restrict c, uint64_t count)
{
    for (uint64_t j = 0; j < count; j++)
        c[j] += a * b[j];
}

/* Adds the products of A's columns i..i + DEPTH with eight rows of B to a strip of C. */
static LL_INLINE void add_rows(const struct ll_blas_product *p, uint64_t i, const real *b, real *c,
                               uint64_t ldc, uint64_t count)
{
    const real *a = (const real *)p->a + i;
    uint64_t pairs = p->m / 2 * 2;
    for (uint64_t row = 0; row < pairs; row += 2)
        add_twice_eight(a + row * p->lda, a + (row + 1) * p->lda, b, p->ldb, c + row * ldc,
                        c + (row + 1) * ldc, count);
    if (pairs < p->m)
        add_eight(a + pairs * p->lda, b, p->ldb, c + pairs * ldc, count);
}

/* The strip of C grows in a buffer of its own. A load waits for a store before it whose address ends in the
 * same 12 bits, as if it read what was stored. Rows of B are often a multiple of half a page apart; beside
 * each other at the same place of half a page, B and C take up to half as long again. So C's rows begin a
 * quarter and three quarters of half a page behind B's, by turns. */
enum { HALF_PAGE = 2048 / sizeof(real), QUARTER = HALF_PAGE / 4, MOST_APART = STRIP + HALF_PAGE / 2 };

static uint64_t rows_apart(uint64_t count)
{
    return ll_ceil_div(count + HALF_PAGE / 2, HALF_PAGE) * HALF_PAGE - HALF_PAGE / 2;
}

static real *behind(const real *b, real *buffer)
{
    uint64_t place = (uintptr_t)b / sizeof(real) + QUARTER - (uintptr_t)buffer / sizeof(real);
    return buffer + place % HALF_PAGE;
}

LL_FAST static void columns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_blas_product *p = context;
    const real *a = p->a, *b = (const real *)p->b + begin;
    uint64_t whole = p->k / DEPTH * DEPTH, count = end - begin, ldc = rows_apart(count);
    real buffer[HALF_PAGE + LL_SKINNY_ROWS * MOST_APART], *c = behind(b, buffer);
    for (uint64_t row = 0; row < p->m; row++)
        memset(c + row * ldc, 0, count * sizeof(real));
    for (uint64_t i = 0; i < whole; i += DEPTH)
        add_rows(p, i, b + i * p->ldb, c, ldc, count);
    for (uint64_t i = whole; i < p->k; i++)
        for (uint64_t row = 0; row < p->m; row++)
            add_one(a[row * p->lda + i], b + i * p->ldb, c + row * ldc, count);
    for (uint64_t row = 0; row < p->m; row++)
        memcpy((real *)p->c + row * p->ldc + begin, c + row * ldc, count * sizeof(real));
}

/* The products of two rows of A with four rows of B. At an edge a row stands there twice. */
static LL_INLINE void eight_dots(const real *a0, const real *a1, const real *const b[4], uint64_t count,
                                 real dots[2][4])
{
    const real *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
    real s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
#pragma omp simd reduction(+ : s00, s01, s02, s03, s10, s11, s12, s13)
    for (uint64_t i = 0; i < count; i++) {
        s00 += a0[i] * b0[i];
        s01 += a0[i] * b1[i];
        s02 += a0[i] * b2[i];
        s03 += a0[i] * b3[i];
        s10 += a1[i] * b0[i];
        s11 += a1[i] * b1[i];
        s12 += a1[i] * b2[i];
        s13 += a1[i] * b3[i];
    }
    memcpy(dots, (real[2][4]){{s00, s01, s02, s03}, {s10, s11, s12, s13}}, 8 * sizeof(real));
}

/* Adds the products of A's columns first..first + count, packed, with four rows of B to four columns of C. */
static LL_INLINE void add_dots(const struct ll_blas_product *p, const real (*a)[PIECE], uint64_t first,
                               uint64_t count, uint64_t j, uint64_t end, real (*c)[ROWS])
{
    const real *b[4];
    for (uint64_t column = 0; column < 4; column++)
        b[column] = (const real *)p->b + ll_min(j + column, end - 1) * p->ldb + first;
    for (uint64_t i = 0; i < p->m; i += 2) {
        real dots[2][4];
        eight_dots(a[i], a[ll_min(i + 1, p->m - 1)], b, count, dots);
        for (uint64_t row = i; row < ll_min(i + 2, p->m); row++)
            for (uint64_t column = 0; column < 4; column++)
                c[row][column] += dots[row - i][column];
    }
}

LL_FAST static void rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_blas_product *p = context;
    real a[LL_SKINNY_ROWS][PIECE], c[LL_SKINNY_ROWS][ROWS] = {0};
    for (uint64_t first = 0; first < p->k; first += PIECE) {
        uint64_t count = ll_min(PIECE, p->k - first);
        for (uint64_t row = 0; row < p->m; row++)
            memcpy(a[row], (const real *)p->a + row * p->lda + first, count * sizeof(real));
        for (uint64_t j = begin; j < end; j += 4)
            add_dots(p, a, first, count, j, end, (real(*)[ROWS]) & c[0][j - begin]);
    }
    for (uint64_t row = 0; row < p->m; row++)
        memcpy((real *)p->c + row * p->ldc + begin, c[row], (end - begin) * sizeof(real));
}

/* The products of two rows of A with one of B. */
static LL_INLINE void two_dots(const real *a0, const real *a1, const real *b, uint64_t count, real dots[2])
{
    real s0 = 0, s1 = 0;
#pragma omp simd reduction(+ : s0, s1)
    for (uint64_t i = 0; i < count; i++) {
        s0 += a0[i] * b[i];
        s1 += a1[i] * b[i];
    }
    memcpy(dots, (real[2]){s0, s1}, 2 * sizeof(real));
}

LL_FAST static void single_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_blas_product *p = context;
    const real *a = p->a, *b = p->b;
    for (uint64_t j = begin; j < end; j++)
        for (uint64_t i = 0; i < p->m; i += 2) {
            real dots[2], *c = (real *)p->c + i * p->ldc + j;
            two_dots(a + i * p->lda, a + ll_min(i + 1, p->m - 1) * p->lda, b + j * p->ldb, p->k, dots);
            c[0] = dots[0];
            if (i + 1 < p->m)
                c[p->ldc] = dots[1];
        }
}

/* As many columns at a time, at most, that all threads get about as many: whole lines of the cache. */
static uint64_t even_chunk(uint64_t columns, uint64_t most, unsigned threads)
{
    enum { LINE = 16 };
    uint64_t rounds = ll_ceil_div(columns, most * threads);
    uint64_t chunk = ll_ceil_div(ll_ceil_div(columns, rounds * threads), LINE) * LINE;
    return ll_min(chunk, most);
}

void LL_REAL(ll_skinny_gemm)(const struct ll_blas_product *product, struct ll_pool *pool)
{
    struct ll_blas_product job = *product;
    uint64_t work = job.n * job.k * ll_max(2 * job.m, sizeof(real));
    unsigned threads = (unsigned)ll_min(ll_pool_threads(pool), ll_max(1, work / LL_SKINNY_GRAIN));
    uint64_t chunk = even_chunk(job.n, job.transpose_b ? ROWS : STRIP, threads);
    bool few = job.m <= FEW && job.m * job.k <= FEW_BYTES / sizeof(real);
    ll_pool_body *by_rows = few ? single_rows : rows;
    ll_pool_run(threads > 1 ? pool : NULL, job.n, chunk, job.transpose_b ? by_rows : columns, &job);
}

/* The gradient of a dense layer's weights at a small batch, A^T B of as many terms as samples: the result is
 * large, and all that matters is that it is written once, one line behind the other. OpenBLAS writes tiles,
 * for which it takes up to four times as long.
 *
 * Rows of C are computed one after the other, in strips for which the rows of B stay in the first-level
 * cache. */

/* A strip of a row of B, and of all that are added. */
enum { STRIP_BYTES = 1 << 14, LEAST_STRIP_BYTES = 1 << 13, MOST_BYTES = 1 << 15, THIN_LINE = 64 };

/* One row of C: c = sum of a[i] b[i], of `depth` rows of b, which is known when this is compiled. */
static LL_INLINE void row(const real *a, uint64_t lda, const real *restrict b, uint64_t ldb, real *restrict c,
                          uint64_t count, unsigned depth)
{
    real scale[LL_THIN_DEPTH];
    for (unsigned i = 0; i < depth; i++)
        scale[i] = a[i * lda];
#pragma omp simd
    for (uint64_t j = 0; j < count; j++) {
        real sum = scale[0] * b[j];
#pragma GCC unroll 8
        for (unsigned i = 1; i < depth; i++)
            sum += scale[i] * b[i * ldb + j];
        c[j] = sum;
    }
}

static LL_INLINE void strip(const struct ll_blas_product *p, uint64_t begin, uint64_t end, uint64_t first,
                            uint64_t count, unsigned depth)
{
    for (uint64_t i = begin; i < end; i++)
        row((const real *)p->a + i, p->lda, (const real *)p->b + first, p->ldb,
            (real *)p->c + i * p->ldc + first, count, depth);
}

_Static_assert(LL_THIN_DEPTH == 8, "rows() has a case for each");

/* Elements of a strip: whole lines. */
static uint64_t strip_width(uint64_t depth)
{
    uint64_t bytes = ll_max(STRIP_BYTES / depth, ll_min(LEAST_STRIP_BYTES, MOST_BYTES / depth));
    return bytes / THIN_LINE * THIN_LINE / sizeof(real);
}

LL_FAST static void thin_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_blas_product *p = context;
    uint64_t width = strip_width(p->k);
    for (uint64_t first = 0; first < p->n; first += width) {
        uint64_t count = ll_min(width, p->n - first);
        switch (p->k) {
#define OF_DEPTH(depth)                                                                                      \
    case depth:                                                                                              \
        strip(p, begin, end, first, count, depth);                                                           \
        break
            OF_DEPTH(1);
            OF_DEPTH(2);
            OF_DEPTH(3);
            OF_DEPTH(4);
            OF_DEPTH(5);
            OF_DEPTH(6);
            OF_DEPTH(7);
            OF_DEPTH(8);
#undef OF_DEPTH
        default:
            assert(false); /* ll_is_thin */
        }
    }
}

void LL_REAL(ll_thin_gemm)(const struct ll_blas_product *product, struct ll_pool *pool)
{
    struct ll_blas_product job = *product;
    uint64_t elements = job.m * job.n, bytes = (elements + job.k * (job.m + job.n)) * sizeof(real);
    uint64_t work = ll_max(2 * elements * job.k, bytes);
    uint64_t threads = ll_min(ll_pool_threads(pool), ll_max(1, work / LL_THIN_GRAIN));
    ll_pool_run(threads > 1 ? pool : NULL, job.m, ll_ceil_div(job.m, threads), thin_rows, &job);
}

/* C = op(A) op(B), cut into slices of rows or columns of C, whichever are more. A slice's size depends on the
 * shapes alone, so does then every bit of the result. Few rows go another way (see below), and so do
 * sums of few terms (see below).
 *
 * A transposed B is packed by OpenBLAS a few columns at a time out of many rows side by side. Where these lie
 * a page apart they all meet in one set of the first-level cache, which holds fewer, and a product of 32 rows
 * takes half as long again. Such a B is copied first, its rows a little further apart. */

enum { MOST_SLICE = 512, SLICES = 32, SLICE_STEP = 32, PAGE = 4096, MATMUL_LINE = 64 };

static uint64_t slice_size(uint64_t count)
{
    uint64_t size = ll_ceil_div(ll_ceil_div(count, SLICES), SLICE_STEP) * SLICE_STEP;
    return ll_min(ll_max(size, LL_PRODUCT_SLICE), MOST_SLICE);
}

/* Elements from one row of B's copy to the next. */
static uint64_t apart(uint64_t k, uint64_t element_bytes)
{
    return k + MATMUL_LINE / element_bytes;
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
    uint64_t k = op->in[0].dim[!ta], matmul_rows = m >= n ? n : ll_mul(threads, slice_size(n));
    return is_copied(tb, k, bytes) && !is_skinny(m, ta) ? ll_mul(matmul_rows, ll_mul(apart(k, bytes), bytes))
                                                        : 0;
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

static void matmul_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    struct ll_blas_product part = ((const struct product *)context)->whole;
    part.m = end - begin;
    part.a = moved(part.a, part.transpose_a ? begin : begin * part.lda);
    part.c = (real *)part.c + begin * part.ldc;
    LL_REAL(ll_blas_gemm)(&part);
}

static void matmul_columns(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
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
    ll_pool_run(pool, whole->m, slice_size(whole->m), matmul_rows, product);
}

LL_KERNEL(MATMUL)
{
    const struct ll_op_view *op = call->op;
    assert(op->in[0].rank == 2 && op->in[1].rank == 2 && op->out[0].rank == 2);
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
        LL_REAL(ll_skinny_gemm)(&whole, call->pool);
    else if (ll_is_thin(ta, tb, whole.k))
        LL_REAL(ll_thin_gemm)(&whole, call->pool);
    else if (whole.m >= whole.n)
        by_rows(&product, call->pool);
    else
        ll_pool_run(call->pool, whole.n, slice_size(whole.n), matmul_columns, &product);
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
    assert(a->rank >= 3 && a->rank == b->rank && a->rank == c->rank);
    unsigned matmul_rows = a->rank - 2u, matmul_columns = a->rank - 1u;
    struct stack stack = {
        .first = {.transpose_a = ll_attr_count(call->op, LL_ATTR_TRANSPOSE_A, 0) != 0,
                  .transpose_b = ll_attr_count(call->op, LL_ATTR_TRANSPOSE_B, 0) != 0,
                  .m = c->dim[matmul_rows],
                  .n = c->dim[matmul_columns],
                  .a = call->in[0],
                  .lda = a->dim[matmul_columns],
                  .b = call->in[1],
                  .ldb = b->dim[matmul_columns],
                  .c = call->out[0],
                  .ldc = c->dim[matmul_columns]},
        .a_elements = a->dim[matmul_rows] * a->dim[matmul_columns],
        .b_elements = b->dim[matmul_rows] * b->dim[matmul_columns],
        .c_elements = c->dim[matmul_rows] * c->dim[matmul_columns],
        .some = ll_attr_count(call->op, LL_ATTR_FILLED, -1) >= 0,
    };
    stack.first.k = stack.first.transpose_a ? a->dim[matmul_rows] : a->dim[matmul_columns];
    uint64_t count = stack.c_elements ? ll_elements(c) / stack.c_elements : 0;
    uint64_t flops = 2 * stack.c_elements * stack.first.k;
    ll_pool_run(call->pool, count, ll_max(1, GRAIN_FLOPS / ll_max(1, flops)), matrices, &stack);
}
