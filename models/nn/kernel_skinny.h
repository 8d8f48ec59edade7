/* SPDX-License-Identifier: Apache-2.0 */
/* Products with few rows on the left. */
#ifndef LL_NN_KERNEL_SKINNY_H
#define LL_NN_KERNEL_SKINNY_H

#include "models/nn/blas.h"
#include "tracer/base/pool.h"

/* Up to this many rows the right matrix is only read once and hardly worked on: memory sets the pace. */
enum { LL_SKINNY_ROWS = 16 };

/* For so many FLOPs, or bytes of the right matrix if more, a thread is woken. */
enum { LL_SKINNY_GRAIN = 1 << 19 };

/* C = A B or C = A B^T for such an A, which is not transposed; beta is 0. Same bits at any number of threads.
 */
void ll_skinny_product_f32(const struct ll_blas_product *product, struct ll_pool *pool);
void ll_skinny_product_f64(const struct ll_blas_product *product, struct ll_pool *pool);

#endif
