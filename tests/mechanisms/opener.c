/* SPDX-License-Identifier: Apache-2.0 */
/* opener local|deep FILE FUNCTION: opens a library and calls its function of one sum, or, when the function
 * is the routine itself, the routine through the pointer. */
#define _GNU_SOURCE
#include "tiny.h"

#include <dlfcn.h>
#include <string.h>

typedef void add(double *sum);
typedef void daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);

int main(int argc, char **argv)
{
    int deep = argc == 4 && strcmp(argv[1], "deep") == 0 ? RTLD_DEEPBIND : 0;
    void *library = argc == 4 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | deep) : NULL;
    union {
        void *address;
        add *add;
        daxpy *daxpy;
    } function = {library ? dlsym(library, argv[3]) : NULL};
    double sum = 0, one = 1;
    if (!function.address)
        return 2;
    for (int i = 0; i < TINY_CALLS; i++)
        if (strcmp(argv[3], "cblas_daxpy") == 0)
            function.daxpy(1, 1, &one, 1, &sum, 1);
        else
            function.add(&sum);
    return sum == TINY_CALLS ? 3 : 1;
}
