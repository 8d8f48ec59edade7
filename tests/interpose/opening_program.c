/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows no BLAS and opens plugins which do, each for itself: opening_program FOLDER WHAT. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int calls(void);
typedef double jumps(const int *n, const double *x, const int *incx, const double *y, const int *incy);

static void *open_user(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lib%s.so", folder, name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int call(void *library, const char *name)
{
    union {
        void *address;
        calls *call;
    } function = {.address = library ? dlsym(library, name) : NULL};
    return function.address ? function.call() : -1;
}

static int opens(const char *folder)
{
    return call(open_user(folder, "first_user"), "user_calls") != 1;
}

static int opens_two(const char *folder)
{
    void *first = open_user(folder, "first_user"), *second = open_user(folder, "second_user");
    int bad = 0;
    for (int i = 0; i < 3; i++)
        bad |= call(first, "user_calls") != 1 || call(second, "user_calls") != 2;
    return bad;
}

static int opens_early(const char *folder)
{
    return call(open_user(folder, "early_user"), "user_early") != 1;
}

static int jumps_on(const char *folder)
{
    void *library = open_user(folder, "first_user");
    union {
        void *address;
        jumps *call;
    } function = {.address = library ? dlsym(library, "user_jumps") : NULL};
    const int n = 3, one = 1;
    const double x = 1, y = 2;
    return !function.address || function.call(&n, &x, &one, &y, &one) != 6;
}

/* The same plugin at perhaps the same place, opened again after it was gone; the other one in between. */
static int reopens(const char *folder)
{
    int bad = 0;
    for (int i = 0; i < 3; i++) {
        void *first = open_user(folder, "first_user");
        bad |= call(first, "user_calls") != 1;
        dlclose(first);
        void *second = open_user(folder, "second_user");
        bad |= call(second, "user_calls") != 2;
        dlclose(second);
    }
    return bad;
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*run)(const char *folder);
    } things[] = {
        {"opens", opens},    {"two", opens_two},   {"early", opens_early},
        {"jumps", jumps_on}, {"reopens", reopens},
    };
    for (size_t i = 0; count == 3 && i < sizeof things / sizeof *things; i++)
        if (strcmp(arguments[2], things[i].name) == 0)
            return things[i].run(arguments[1]);
    return 2;
}
