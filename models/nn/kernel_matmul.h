/* SPDX-License-Identifier: Apache-2.0 */
/* Products with few rows on the left. */
#ifndef LL_MODELS_NN_KERNEL_MATMUL_H
#define LL_MODELS_NN_KERNEL_MATMUL_H

#include "models/nn/blas.h"
#include "tracer/base/pool.h"

/* Up to this many rows the right matrix is only read once and hardly worked on: memory sets the pace. */
enum { LL_SKINNY_ROWS = 16 };

/* For so many FLOPs, or bytes of the right matrix if more, a thread is woken. */
enum { LL_SKINNY_GRAIN = 1 << 19 };

/* C = A B or C = A B^T for such an A, which is not transposed; beta is 0. Same bits at any number of threads.
 */
void ll_skinny_gemm_f32(const struct ll_blas_product *product, struct ll_pool *pool);
void ll_skinny_gemm_f64(const struct ll_blas_product *product, struct ll_pool *pool);

/* Products that sum few terms. */

/* Up to so many terms an element of the result takes less to compute than to write. */
enum { LL_THIN_DEPTH = 8 };

/* For so many FLOPs, or bytes of the operands and the result if more, a thread is woken. */
enum { LL_THIN_GRAIN = 1 << 19 };

/* Whether that is such a product. */
static inline bool ll_is_thin(bool transpose_a, bool transpose_b, uint64_t k)
{
    return transpose_a && !transpose_b && k > 0 && k <= LL_THIN_DEPTH;
}

/* C = A^T B for k up to LL_THIN_DEPTH; beta is 0. Same bits at any number of threads. */
void ll_thin_gemm_f32(const struct ll_blas_product *product, struct ll_pool *pool);
void ll_thin_gemm_f64(const struct ll_blas_product *product, struct ll_pool *pool);

#endif
