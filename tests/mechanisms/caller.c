/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls the tiny library's routine so often: itself, through a table of addresses
 * (TINY_TABLE), by way of the library (TINY_INNER) or of another one (TINY_USER); before these calls one
 * that a signal handler jumps out of (TINY_JUMPS). Its exit status is 3 when the sum is right: a recorder
 * must change neither. */
#ifdef TINY_JUMPS
#define _POSIX_C_SOURCE 200809L
#endif
#include "tiny.h"

#ifdef TINY_JUMPS
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf before;

static void jump(int number)
{
    (void)number;
    siglongjmp(before, 1);
}
#endif

#if defined(TINY_INNER)
#define ADD tiny_add
#elif defined(TINY_USER)
#define ADD user_add
#else
#ifdef TINY_TABLE
void (*const volatile table[])(int, double, const double *, int, double *, int) = {cblas_daxpy};
#define CALL table[0]
#else
#define CALL cblas_daxpy
#endif

static void add(double *sum)
{
    const double one = 1;
    CALL(1, 1, &one, 1, sum, 1);
}
#define ADD add
#endif

int main(void)
{
    double sum = 0;
#ifdef TINY_JUMPS
    signal(SIGSEGV, jump);
    if (sigsetjmp(before, 1) == 0)
        ADD(NULL);
#endif
    for (int i = 0; i < TINY_CALLS; i++)
        ADD(&sum);
    return sum == TINY_CALLS ? 3 : 1;
}
