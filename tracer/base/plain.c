/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/plain.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* 0 when memory ran out: then the program's locale it is */

static void make(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The thread's locale until now; uselocale of 0 changes nothing. */
static locale_t turn_plain(void)
{
    pthread_once(&once, make);
    return uselocale(plain);
}

double ll_strtod(const char *text, char **end)
{
    locale_t before = turn_plain();
    double value = strtod(text, end);
    uselocale(before);
    return value;
}

int ll_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
{
    locale_t before = turn_plain();
    int length = vsnprintf(text, size, format, arguments);
    uselocale(before);
    return length;
}

int ll_snprintf(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = ll_vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}
