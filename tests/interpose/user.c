/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that uses one of the libraries. */
#include "tests/interpose/blas.h"

#include <stddef.h>

int user_calls(void);
double user_jumps(const int *n, const double *x, const int *incx, const double *y, const int *incy);
int user_early(void);

static int early;

int user_calls(void)
{
    return blas_product();
}

/* The last thing done: compiled to a jump, which leaves the caller's caller as return address. */
double user_jumps(const int *n, const double *x, const int *incx, const double *y, const int *incy)
{
    return ddot_(n, x, incx, y, incy);
}

int user_early(void)
{
    return early;
}

#ifdef CALLS_WHEN_LOADED
__attribute__((constructor)) static void call(void)
{
    early = blas_product();
}
#endif
