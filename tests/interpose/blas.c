/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/interpose/blas.h"

#include <stddef.h>

void (*blas_error)(void);

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc)
{
    (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b,
        (void)ldb, (void)beta, (void)ldc;
    *c = BLAS_NUMBER;
}

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)order, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)b,
        (void)ldb, (void)ldc;
    *c = alpha + 10 * beta;
}

void scipy_cblas_dgemm64_(int order, int transa, int transb, long m, long n, long k, double alpha,
                          const double *a, long lda, const double *b, long ldb, double beta, double *c,
                          long ldc)
{
    (void)order, (void)transa, (void)transb, (void)alpha, (void)a, (void)lda, (void)b, (void)ldb, (void)beta,
        (void)ldc;
    *c = (double)(m + n + k);
}

double ddot_64_(const long *n, const double *x, const long *incx, const double *y, const long *incy)
{
    (void)incx, (void)incy;
    return (double)*n + *x + *y;
}

double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy)
{
    (void)incx, (void)incy;
    return *n + *x + *y;
}

double snrm2_(const int *n, const float *x, const int *incx)
{
    return *n * *incx * 0.1 + *x;
}

void zdotc_(double *result, const int *n, const double *x, const int *incx, const double *y, const int *incy)
{
    result[0] = *n + *x * *incx;
    result[1] = *y * *incy;
}

void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b, const int *ldb,
            int *info)
{
    (void)n, (void)nrhs, (void)a, (void)lda, (void)ipiv, (void)b, (void)ldb;
    *info = blas_product() + blas_product();
}

void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info)
{
    (void)m, (void)n, (void)a, (void)lda, (void)tau;
    *info = 0;
    if (*lwork == -1)
        *work = 64;
}

extern void daxpy_(const int *n, const double *alpha, const double *x, const int *incx, double *y,
                   const int *incy) __attribute__((weak));
extern void cblas_dscal(int n, double alpha, double *x, int incx) __attribute__((weak));

int blas_has_more(void)
{
    return (daxpy_ != NULL) + 2 * (cblas_dscal != NULL);
}

void cblas_dscal(int n, double alpha, double *x, int incx)
{
    (void)n, (void)alpha, (void)x, (void)incx;
}

void dscal_(const int *n, const double *alpha, double *x, const int *incx)
{
    (void)n, (void)alpha, (void)x, (void)incx;
    if (blas_error)
        blas_error();
}
