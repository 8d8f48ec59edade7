/* SPDX-License-Identifier: Apache-2.0 */
/* What some kernel files have inside, for their tests and for the benchmarks of single kernels
 * (models/micro): GEMMs of few rows or few terms, gathering the windows of a convolution, sizes at which
 * transposition changes. */
#ifndef LL_MODELS_NN_KERNEL_PARTS_H
#define LL_MODELS_NN_KERNEL_PARTS_H

#include "models/nn/blas.h"
#include "models/nn/kernel.h"
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

/* What the three passes of a convolution share: the geometry, and gathering windows of an image as the rows
 * of a matrix. */

/* A window of `taps_h` x `taps_w` pixels of an image [height, width, channels], of which `used` channels from
 * `first` on are taken. As a row it has taps_h * taps_w * used columns. */
struct ll_window {
    uint64_t height, width, channels; /* of the image */
    uint64_t taps_h, taps_w, first, used;
};

/* Columns first_column..end_column - 1 of the row that a window gives whose top left pixel is (y, x), into
 * row[0] and on: its pixels line by line, the channels of each side by side, zero where it reaches outside of
 * the image. Of kernels in float, and in double. Pure. */
void ll_gather_f32(const struct ll_window *window, const float *image, int64_t y, int64_t x,
                   uint64_t first_column, uint64_t end_column, float *row);
void ll_gather_f64(const struct ll_window *window, const double *image, int64_t y, int64_t x,
                   uint64_t first_column, uint64_t end_column, double *row);

/* A block of gathered rows, in elements and in rows; rows of a filter's gradient that are one piece. */
enum { LL_CONV_ELEMENTS = 1 << 18, LL_CONV_LEAST_ROWS = 96, LL_CONV_MOST_ROWS = 384, LL_CONV_ROW_STEP = 32 };
enum { LL_CONV_FILTER_SLICE = 96 };

/* What others have to know of how dimensions are exchanged. */

/* Results of at least so many bytes are written past the caches, where processors know how. */
enum { LL_TRANSPOSE_PAST_BYTES = 1 << 24 };

/* Elements in a chunk, at least: from how many more on a second thread helps. */
enum { LL_TRANSPOSE_GRAIN = 1 << 16 };

#ifdef __SSE2__
#define LL_WRITES_PAST 1
#else
#define LL_WRITES_PAST 0
#endif

#endif
