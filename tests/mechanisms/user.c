/* SPDX-License-Identifier: Apache-2.0 */
/* A library that calls the tiny one; with TINY_NEXT by a pointer to what comes after itself. */
#define _GNU_SOURCE
#include "tiny.h"

#ifdef TINY_NEXT
#include <dlfcn.h>
#endif

void user_add(double *sum)
{
    const double one = 1;
#ifdef TINY_NEXT
    void (*cblas_daxpy)(int, double, const double *, int, double *, int) =
        (void (*)(int, double, const double *, int, double *, int))dlsym(RTLD_NEXT, "cblas_daxpy");
    if (!cblas_daxpy)
        return;
#endif
    cblas_daxpy(1, 1, &one, 1, sum, 1);
}
