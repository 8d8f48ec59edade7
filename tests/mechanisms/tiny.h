/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LL_TESTS_TINY_H
#define LL_TESTS_TINY_H

/* A function that stays a function: not inlined, nor copied for certain arguments, as gcc likes to. */
#ifdef __clang__
#define LL_WHOLE __attribute__((noinline))
#else
#define LL_WHOLE __attribute__((noinline, noclone))
#endif

/* Of the tiny library, hidden where a program links it in and keeps it to itself. */
#ifdef LL_TINY_HIDDEN
#define LL_TINY LL_WHOLE __attribute__((visibility("hidden")))
#else
#define LL_TINY LL_WHOLE
#endif

/* y += alpha x, as in any BLAS. */
LL_TINY void cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);

/* Adds 1 by a call within the tiny library. */
LL_TINY void tiny_add(double *sum);

/* Adds 1 by a call from another library into the tiny one. */
void user_add(double *sum);

enum { TINY_CALLS = 500 };

#endif
