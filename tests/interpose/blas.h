/* SPDX-License-Identifier: Apache-2.0 */
/* The few routines of the test's libraries. They compute nothing; dgemm_ writes BLAS_NUMBER into its result.
 */
#ifndef LL_TESTS_INTERPOSE_BLAS_H
#define LL_TESTS_INTERPOSE_BLAS_H

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);
void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);
/* The same as libraries with integers of 64 bits have it; returns nothing, writes m + n + k. */
void scipy_cblas_dgemm64_(int order, int transa, int transb, long m, long n, long k, double alpha,
                          const double *a, long lda, const double *b, long ldb, double beta, double *c,
                          long ldc);
double ddot_64_(const long *n, const double *x, const long *incx, const double *y, const long *incy);
double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);

/* As some compilers of Fortran have functions that are real or complex: a double, and memory for the result.
 */
double snrm2_(const int *n, const float *x, const int *incx);
void zdotc_(double *result, const int *n, const double *x, const int *incx, const double *y, const int *incy);

/* Calls dgemm_ twice, from within its library. */
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b, const int *ldb,
            int *info);

/* Returns at once; a lwork of -1 asks for a size. */
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);

/* Calls what `blas_error` points to, which may not return. */
void dscal_(const int *n, const double *alpha, double *x, const int *incx);
extern void (*blas_error)(void);

/* Which routines are there of those that the library asks for weakly: 1 for daxpy_, which no library has, and
 * 2 for cblas_dscal, which this one has. */
int blas_has_more(void);

/* Fills the arguments of a product of 3 x 5 and 5 x 4 matrices; the number that the callee wrote. */
static inline int blas_product(void)
{
    const int m = 3, n = 4, k = 5;
    const double one = 1, zero = 0;
    static double a[15], b[20];
    double c[12];
    dgemm_("N", "T", &m, &n, &k, &one, a, &m, b, &n, &zero, c, &m);
    return (int)c[0];
}

#endif
