/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by OpenBLAS, which is loaded when the first native run asks for it.
 *
 * Results must not depend on the number of threads, and OpenBLAS blocks a product differently for each.
 * So it runs with one thread, and whoever wants more cuts a product into slices of a size that depends on
 * the shapes alone and calls from several threads at once (kernel_matmul.c). All functions are
 * thread-safe. */
#ifndef LL_NN_BLAS_H
#define LL_NN_BLAS_H

#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stdint.h>

/* Loads the library once; LL_NO_LIBRARY when there is none. Where the user has not set OPENBLAS_CORETYPE
 * and the CPU has AVX-512, asks for the SkylakeX kernels: OpenBLAS 0.3.21 takes a CPU newer than itself
 * for a Haswell and then runs at half its speed. */
enum ll_status ll_blas_open(void);

/* Which kernels OpenBLAS chose, the better ones that this CPU could run (NULL unless the user has asked for
 * lesser ones), how it was built, how many threads it runs by itself. Static storage;
 * only after ll_blas_open. */
struct ll_blas_facts {
    const char *core, *better_core, *config;
    unsigned threads;
    unsigned small; /* the most multiply-adds of a product that is not copied first, B as it is; 0: all are */
};
struct ll_blas_facts ll_blas_facts(void);

/* So many rows or columns of a result, whichever are more, are one piece of work where a product is shared by
 * threads; more for results of more than 32 such pieces. */
enum { LL_PRODUCT_SLICE = 96 };

/* C[m,n] = A[m,k] B[k,n] + beta C, row-major, the leading dimensions in elements. A transposed operand
 * lies in memory as A[k,m] or B[n,k]. No size is zero or, OpenBLAS counting in int, above
 * LL_PRODUCT_MOST. */
#define LL_PRODUCT_MOST INT32_MAX
struct ll_blas_product {
    bool transpose_a, transpose_b;
    uint64_t m, n, k;
    const void *a, *b;
    uint64_t lda, ldb;
    void *c;
    uint64_t ldc;
    double beta;
};
void ll_blas_gemm_f32(const struct ll_blas_product *product);
void ll_blas_gemm_f64(const struct ll_blas_product *product);

/* How many threads OpenBLAS may use inside one product; 1 until somebody says otherwise. For comparisons. */
void ll_blas_set_threads(unsigned threads);

#endif
