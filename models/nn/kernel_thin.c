/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a dense layer's weights at a small batch, A^T B of as many terms as samples: the result is
 * large, and all that matters is that it is written once, one line behind the other. OpenBLAS writes tiles,
 * for which it takes up to four times as long.
 *
 * Rows of C are computed one after the other, in strips for which the rows of B stay in the first-level
 * cache. */
#include "models/nn/kernel_thin.h"
#include "models/nn/kernel.h"

#include <assert.h>

/* A strip of a row of B, and of all that are added. */
enum { STRIP_BYTES = 1 << 14, LEAST_STRIP_BYTES = 1 << 13, MOST_BYTES = 1 << 15, LINE = 64 };

/* One row of C: c = sum of a[i] b[i], of `depth` rows of b, which is known when this is compiled. */
LL_INLINE void row(const real *a, uint64_t lda, const real *restrict b, uint64_t ldb, real *restrict c,
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

LL_INLINE void strip(const struct ll_blas_product *p, uint64_t begin, uint64_t end, uint64_t first,
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
    return bytes / LINE * LINE / sizeof(real);
}

LL_FAST static void rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
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

void LL_REAL(ll_thin_product)(const struct ll_blas_product *product, struct ll_pool *pool)
{
    struct ll_blas_product job = *product;
    uint64_t elements = job.m * job.n, bytes = (elements + job.k * (job.m + job.n)) * sizeof(real);
    uint64_t work = ll_max(2 * elements * job.k, bytes);
    uint64_t threads = ll_min(ll_pool_threads(pool), ll_max(1, work / LL_THIN_GRAIN));
    ll_pool_run(threads > 1 ? pool : NULL, job.m, ll_ceil_div(job.m, threads), rows, &job);
}
