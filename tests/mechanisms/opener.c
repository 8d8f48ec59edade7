/* SPDX-License-Identifier: Apache-2.0 */
/* opener local|deep|again|often|version FILE FUNCTION: opens a library and calls its function of one sum,
 * or, when the function is the routine itself, the routine through the pointer. version: of the version
 * that is named as the file is. again: deep, and the library was opened, used and closed before. often: it
 * was opened and closed some thousand times. With TINY_CALLS_TOO, no arguments are a call as a linked
 * library is called. */
#define _GNU_SOURCE
#include "tiny.h"

#include <dlfcn.h>
#include <string.h>

enum { OFTEN = 4200 };

typedef void add(double *sum);
typedef void daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);

union function {
    void *address;
    add *add;
    daxpy *daxpy;
};

static double call(void *address, const char *name)
{
    union function function = {address};
    double sum = 0, one = 1;
    if (strcmp(name, "cblas_daxpy") == 0)
        function.daxpy(1, 1, &one, 1, &sum, 1);
    else
        function.add(&sum);
    return sum;
}

int main(int argc, char **argv)
{
#ifdef TINY_CALLS_TOO
    double one = 1, twice = 1;
    if (argc == 1)
        cblas_daxpy(1, 1, &one, 1, &twice, 1);
#endif
    if (argc != 4)
        return 2;
    int flags = RTLD_NOW | RTLD_LOCAL |
                (strcmp(argv[1], "local") == 0 || strcmp(argv[1], "version") == 0 ? 0 : RTLD_DEEPBIND);
    int calls = TINY_CALLS;
    double sum = 0;
    if (strcmp(argv[1], "again") == 0) {
        void *library = dlopen(argv[2], flags);
        sum += call(dlsym(library, argv[3]), argv[3]);
        calls--;
        dlclose(library);
    }
    for (int i = 0; strcmp(argv[1], "often") == 0 && i < OFTEN; i++)
        dlclose(dlopen(argv[2], flags));
    void *library = dlopen(argv[2], flags), *address = library ? dlsym(library, argv[3]) : NULL;
    if (library && strcmp(argv[1], "version") == 0)
        address = dlvsym(library, argv[3], strrchr(argv[2], '/') + 1);
    if (!address)
        return 2;
    for (int i = 0; i < calls; i++)
        sum += call(address, argv[3]);
    return sum == TINY_CALLS ? 3 : 1;
}
