/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls the tiny library's routine so often: itself, through a table of addresses
 * (TINY_TABLE), or by way of the library (TINY_INNER). Its exit status is 3 when the sum is right: a recorder
 * must change neither. */
#include "tiny.h"

#ifdef TINY_INNER
#define ADD tiny_add
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
    for (int i = 0; i < TINY_CALLS; i++)
        ADD(&sum);
    return sum == TINY_CALLS ? 3 : 1;
}
