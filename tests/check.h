/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with its headers in their order, a comparison of doubles that shows both values, and the
 * random numbers of tests/random.h. */
#ifndef LL_TESTS_CHECK_H
#define LL_TESTS_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

/* Under a sanitizer each case takes many times as long: tests of many cases take one in so many. */
#ifdef LL_SANITIZED
enum { ONE_IN = 4 };
#else
enum { ONE_IN = 1 };
#endif

/* For what takes many steps of one kind: a sanitizer has seen all that it can see after the first ones. */
static inline void skip_under_sanitizer(void)
{
#ifdef LL_ASAN
    skip();
#endif
}

static inline void ll_check_near(double value, double expected, double relative, const char *text,
                                 const char *file, int line)
{
    double scale = fmax(fabs(value), fabs(expected));
    if (fabs(value - expected) <= relative * scale)
        return;
    print_error("%s: %.17g, expected %.17g within %g\n", text, value, expected, relative);
    _fail(file, line);
}
#define assert_near(value, expected, relative)                                                               \
    ll_check_near((value), (expected), (relative), #value, __FILE__, __LINE__)

/* Says which seed it was when a claim fails. */
static inline void claim(bool holds, uint64_t seed, const char *text)
{
    if (!holds)
        fail_msg("seed %llu: %s", (unsigned long long)seed, text);
}

#endif
