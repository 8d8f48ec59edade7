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
#include "models/nn/kernel_skinny.h"
#include "models/nn/kernel.h"

#include <string.h>

enum { DEPTH = 8, STRIP = 1024, PIECE = 512, ROWS = 64, FEW = 4, FEW_BYTES = 1 << 14 };

/* c + sum_i a[i] b[i][j], eight rows of b. */
LL_INLINE real plus_eight(real c, const real *restrict a, const real *restrict b, uint64_t ldb, uint64_t j)
{
    const real *b4 = b + 4 * ldb;
    return c + a[0] * b[j] + a[1] * b[ldb + j] + a[2] * b[2 * ldb + j] + a[3] * b[3 * ldb + j] +
           a[4] * b4[j] + a[5] * b4[ldb + j] + a[6] * b4[2 * ldb + j] + a[7] * b4[3 * ldb + j];
}

/* Adds the products of a row of A to one of C, */
LL_INLINE void add_eight(const real *restrict a, const real *restrict b, uint64_t ldb, real *restrict c,
                         uint64_t count)
{
    for (uint64_t j = 0; j < count; j++)
        c[j] = plus_eight(c[j], a, b, ldb, j);
}

/* and those of two rows to two. */
LL_INLINE void add_twice_eight(const real *restrict a, const real *restrict a_next, const real *restrict b,
                               uint64_t ldb, real *restrict c, real *restrict c_next, uint64_t count)
{
    for (uint64_t j = 0; j < count; j++) {
        c[j] = plus_eight(c[j], a, b, ldb, j);
        c_next[j] = plus_eight(c_next[j], a_next, b, ldb, j);
    }
}

LL_INLINE void add_one(real a, const real *restrict b, real *restrict c, uint64_t count)
{
    for (uint64_t j = 0; j < count; j++)
        c[j] += a * b[j];
}

/* Adds the products of A's columns i..i + DEPTH with eight rows of B to a strip of C. */
LL_INLINE void add_rows(const struct ll_blas_product *p, uint64_t i, const real *b, real *c, uint64_t ldc,
                        uint64_t count)
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
LL_INLINE void eight_dots(const real *a0, const real *a1, const real *const b[4], uint64_t count,
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
LL_INLINE void add_dots(const struct ll_blas_product *p, const real (*a)[PIECE], uint64_t first,
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
LL_INLINE void two_dots(const real *a0, const real *a1, const real *b, uint64_t count, real dots[2])
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

void LL_REAL(ll_skinny_product)(const struct ll_blas_product *product, struct ll_pool *pool)
{
    struct ll_blas_product job = *product;
    uint64_t work = job.n * job.k * ll_max(2 * job.m, sizeof(real));
    unsigned threads = (unsigned)ll_min(ll_pool_threads(pool), ll_max(1, work / LL_SKINNY_GRAIN));
    uint64_t chunk = even_chunk(job.n, job.transpose_b ? ROWS : STRIP, threads);
    bool few = job.m <= FEW && job.m * job.k <= FEW_BYTES / sizeof(real);
    ll_pool_body *by_rows = few ? single_rows : rows;
    ll_pool_run(threads > 1 ? pool : NULL, job.n, chunk, job.transpose_b ? by_rows : columns, &job);
}
