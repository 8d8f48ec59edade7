/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that grow, parts of names, and the nearest word for "did you mean". */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/str.h"

#include <ctype.h>
#include <float.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct ll_str *str, size_t more)
{
    size_t needed;
    if (str->failed || __builtin_add_overflow(str->length, more, &needed) || needed == SIZE_MAX)
        return !(str->failed = true);
    needed++;
    if (needed <= str->capacity)
        return true;
    size_t capacity = str->capacity ? str->capacity : 64;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    char *text = realloc(str->text, capacity);
    if (!text)
        return !(str->failed = true);
    str->text = text;
    str->capacity = capacity;
    return true;
}

void ll_str_add_bytes(struct ll_str *str, const char *bytes, size_t length)
{
    if (!make_room(str, length))
        return;
    if (length)
        memcpy(str->text + str->length, bytes, length);
    str->length += length;
    str->text[str->length] = '\0';
}

void ll_str_add(struct ll_str *str, const char *text)
{
    ll_str_add_bytes(str, text, strlen(text));
}

void ll_str_addv(struct ll_str *str, const char *format, va_list arguments)
{
    if (str->failed)
        return;
    va_list measured;
    va_copy(measured, arguments);
    int length = ll_vsnprintf(NULL, 0, format, measured);
    va_end(measured);
    if (length < 0)
        str->failed = true;
    else if (make_room(str, (size_t)length)) {
        ll_vsnprintf(str->text + str->length, (size_t)length + 1, format, arguments);
        str->length += (size_t)length;
    }
}

void ll_str_addf(struct ll_str *str, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ll_str_addv(str, format, arguments);
    va_end(arguments);
}

size_t ll_utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t length = first < 0x80                    ? 1
                    : first >= 0xC2 && first < 0xE0 ? 2
                    : first >= 0xE0 && first < 0xF0 ? 3
                    : first >= 0xF0 && first < 0xF5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (first == 0xE0 && text[1] < 0xA0) || (first == 0xF0 && text[1] < 0x90);
    bool beyond = (first == 0xED && text[1] > 0x9F) || (first == 0xF4 && text[1] > 0x8F);
    return overlong || beyond ? 0 : length;
}

void ll_str_release(struct ll_str *str)
{
    free(str->text);
    *str = (struct ll_str){0};
}

const char *ll_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t ll_stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

/* Optimal string alignment: table[i][j] is the distance of the first i letters of a from the first j of
 * b. Words longer than the table are never "near": nobody mistypes a key of 64 letters. */
enum { LONGEST = 63 };

size_t ll_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), cols = strlen(b);
    if (rows > LONGEST || cols > LONGEST)
        return SIZE_MAX;
    size_t table[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++)
        table[i][0] = i;
    for (size_t j = 0; j <= cols; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= cols; j++) {
            size_t best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (table[i - 1][j] + 1 < best)
                best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best)
                best = table[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && table[i - 2][j - 2] + 1 < best)
                best = table[i - 2][j - 2] + 1;
            table[i][j] = best;
        }
    return table[rows][cols];
}

bool ll_same_but_case(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

const char *ll_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word), allowed = length / 3 > 0 ? length / 3 : length > 1, best = allowed + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        if (ll_same_but_case(word, candidates[i]))
            return candidates[i];
        size_t d = ll_distance(word, candidates[i]);
        if (d < best) {
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}

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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Adds digits to a whole number, as long as a double holds it, and counts those behind the point. */
static const char *take_digits(const char *at, uint64_t *number, int *behind, bool fraction, bool *exact)
{
    for (; is_digit(*at); at++) {
        *exact = *exact && *number < (UINT64_C(1) << 53) / 10 - 1;
        *number = *exact ? *number * 10 + (uint64_t)(*at - '0') : 0;
        *behind += fraction;
    }
    return at;
}

/* A short plain decimal: both its digits as a whole number and the power of ten are doubles, so that one
 * multiplication or division rounds once (Clinger, "How to read floating point numbers accurately", PLDI
 * 1990). What follows it; NULL: strtod has to look. */
static const char *take_decimal(const char *text, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MOST_TEN = sizeof tens / sizeof *tens - 1 };
    const bool negative = *text == '-';
    const char *at = text + negative;
    uint64_t number = 0;
    int behind = 0, ten = 0;
    bool exact = FLT_EVAL_METHOD == 0;
    if (!is_digit(*at) || (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')))
        return NULL;
    at = take_digits(at, &number, &behind, false, &exact);
    if (*at == '.')
        at = take_digits(at + 1, &number, &behind, true, &exact);
    if (*at == 'e' || *at == 'E') {
        const char *digits = at + 1 + (at[1] == '-' || at[1] == '+');
        const bool down = at[1] == '-';
        if (!is_digit(*digits))
            return NULL;
        for (at = digits; is_digit(*at); at++)
            ten = ten < 1000 ? ten * 10 + (*at - '0') : ten;
        ten = down ? -ten : ten;
    }
    ten -= behind;
    if (!exact || ten > MOST_TEN || ten < -MOST_TEN)
        return NULL;
    *value = ten < 0 ? (double)number / tens[-ten] : (double)number * tens[ten];
    *value = negative ? -*value : *value;
    return at;
}

double ll_strtod(const char *text, char **end)
{
    double value;
    const char *behind = take_decimal(text, &value);
    if (behind) {
        if (end)
            *end = (char *)(uintptr_t)behind;
        return value;
    }
    locale_t before = turn_plain();
    value = strtod(text, end);
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
