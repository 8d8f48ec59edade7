/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a dense layer's weights at a small batch, A^T B of as many terms as samples: the result is
 * large, and all that matters is that it is written once, one line behind the other. OpenBLAS writes tiles,
 * for which it takes up to four times as long.
 *
 * Rows of C are computed one after the other, in strips for which the rows of B stay in the first-level
 * cache. */
#include "models/nn/kernel_thin.h"
#include "models/nn/kernel.h"

enum { STRIP_BYTES = 1 << 14, LEAST_STRIP_BYTES = 1 << 13 };

/* One row of C: c = sum of a[i] b[i], of `depth` rows of b, which is known when this is compiled. */
LL_INLINE void row(const real *a, uint64_t lda, const real *restrict b, uint64_t ldb, real *restrict c,
                   uint64_t count, unsigned depth)
{
    real a0 = a[0], a1 = depth > 1 ? a[lda] : 0, a2 = depth > 2 ? a[2 * lda] : 0,
         a3 = depth > 3 ? a[3 * lda] : 0;
    const real *b1 = depth > 1 ? b + ldb : b, *b2 = depth > 2 ? b1 + ldb : b, *b3 = depth > 3 ? b2 + ldb : b;
#pragma omp simd
    for (uint64_t j = 0; j < count; j++) {
        real sum = a0 * b[j];
        if (depth > 1)
            sum += a1 * b1[j];
        if (depth > 2)
            sum += a2 * b2[j];
        if (depth > 3)
            sum += a3 * b3[j];
        c[j] = sum;
    }
}

LL_INLINE void strip(const struct ll_blas_product *p, uint64_t begin, uint64_t end, uint64_t first,
                     uint64_t count, unsigned depth)
{
    for (uint64_t i = begin; i < end; i++)
        row((const real *)p->a + i, p->lda, (const real *)p->b + first, p->ldb,
            (real *)p->c + i * p->ldc + first, count, depth);
}

LL_FAST static void rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_blas_product *p = context;
    uint64_t width = ll_max(STRIP_BYTES / p->k, LEAST_STRIP_BYTES) / sizeof(real);
    for (uint64_t first = 0; first < p->n; first += width) {
        uint64_t count = ll_min(width, p->n - first);
        if (p->k == 1)
            strip(p, begin, end, first, count, 1);
        else if (p->k == 2)
            strip(p, begin, end, first, count, 2);
        else if (p->k == 3)
            strip(p, begin, end, first, count, 3);
        else
            strip(p, begin, end, first, count, 4);
    }
}

void LL_REAL(ll_thin_product)(const struct ll_blas_product *product, struct ll_pool *pool)
{
    struct ll_blas_product job = *product;
    uint64_t elements = job.m * job.n, bytes = (elements + job.k * (job.m + job.n)) * sizeof(real);
    uint64_t work = ll_max(2 * elements * job.k, bytes);
    uint64_t threads = ll_min(ll_pool_threads(pool), ll_max(1, work / LL_THIN_GRAIN));
    ll_pool_run(threads > 1 ? pool : NULL, job.m, ll_ceil_div(job.m, threads), rows, &job);
}
