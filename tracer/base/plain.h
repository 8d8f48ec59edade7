/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as texts that mean the same everywhere: with a decimal point, whatever the locale of the program
 * that we are part of.
 *
 * Used in place of the functions of the C library wherever a text may have a fraction. The program's and the
 * thread's locale are left as they were. Any thread may call. */
#ifndef LL_BASE_PLAIN_H
#define LL_BASE_PLAIN_H

#include <stdarg.h>
#include <stddef.h>

/* strtod in the locale "C". */
double ll_strtod(const char *text, char **end);

/* snprintf in the locale "C". */
int ll_snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* vsnprintf in the locale "C". */
int ll_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
