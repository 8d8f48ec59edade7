/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LL_TESTS_MANY_H
#define LL_TESTS_MANY_H

#include <stddef.h>
#include <stdint.h>

/* Routines with arguments of each kind: many, on the stack, real and complex, by value and by reference, with
 * whole numbers of 32 and 64 bits. What they compute does not matter here, so they compute nothing. */
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_cherk(int order, int uplo, int trans, int n, int k, float alpha, const void *a, int lda,
                 float beta, void *c, int ldc);
void cblas_dscal64_(int64_t n, double alpha, double *x, int64_t incx);
void zgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t transa_length, size_t transb_length);
void sgemv_64_(const char *trans, const int64_t *m, const int64_t *n, const float *alpha, const float *a,
               const int64_t *lda, const float *x, const int64_t *incx, const float *beta, float *y,
               const int64_t *incy, size_t trans_length);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);

#endif
