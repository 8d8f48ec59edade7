/* SPDX-License-Identifier: Apache-2.0 */
/* A library of one routine, and a function of its own that calls it: bound as the compiler and linker are
 * told. With TINY_WEAK it would call another one as well, if some library had it. */
#include "tiny.h"

#ifdef TINY_WEAK
extern void cblas_dscal(int n, double alpha, double *x, int incx) __attribute__((weak));
#endif

LL_TINY void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy)
{
    for (int i = 0; i < n; i++)
        y[i * incy] += alpha * x[i * incx];
}

LL_TINY void tiny_add(double *sum)
{
    const double one = 1;
    cblas_daxpy(1, 1, &one, 1, sum, 1);
#ifdef TINY_WEAK
    if (cblas_dscal)
        *sum = 0;
#endif
}
