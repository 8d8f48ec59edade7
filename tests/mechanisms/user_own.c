/* SPDX-License-Identifier: Apache-2.0 */
/* A library that chooses its functions when it is loaded: one of its own for the tiny one's, and none. */
#include "tiny.h"

#include <stddef.h>

typedef void daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);

static daxpy *volatile functions[] = {cblas_daxpy, cblas_daxpy};

static void own_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy)
{
    (void)n, (void)incx, (void)incy;
    *y += alpha * *x;
}

__attribute__((constructor)) static void choose(void)
{
    functions[0] = own_daxpy;
    functions[1] = NULL;
}

void user_add(double *sum)
{
    const double one = 1;
    for (int i = 0; i < 2; i++)
        if (functions[i])
            functions[i](1, 1, &one, 1, sum, 1);
}
