/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a builder that grows, the nearest word for "did you mean", the name of a file without its folders. */
#ifndef LL_TRACER_BASE_STR_H
#define LL_TRACER_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing text, {0} to begin with. `text` is NUL-terminated once something was added; NULL before.
 * When memory runs out, `failed` is set, the text stays what it was, and further additions do nothing:
 * check once at the end. Owned by its user, freed with ll_str_release. One thread at a time. */
struct ll_str {
    char *text;
    size_t length, capacity;
    bool failed;
};

/* Each appends; text is NUL-terminated, bytes need not be, and neither may lie inside str itself. */
void ll_str_add(struct ll_str *str, const char *text);
void ll_str_add_bytes(struct ll_str *str, const char *bytes, size_t length);
void ll_str_addf(struct ll_str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ll_str_addv(struct ll_str *str, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Frees the text; str is empty and usable afterwards. */
void ll_str_release(struct ll_str *str);

/* Length in bytes of the UTF-8 sequence at text, which ends in a NUL; 0 when it is none (RFC 3629: no
 * overlong form, no surrogate). Pure. */
size_t ll_utf8_length(const unsigned char *text);

/* What stands behind the last slash of a path, all of it where there is none; part of the path. Pure. */
const char *ll_base_name(const char *path);

/* The length of a file's name without folder up to its last dot; all of it where there is none but at the
 * beginning. Pure. */
size_t ll_stem_length(const char *name);

/* How many mistakes make one word of another: letters inserted, dropped, replaced, neighbours swapped.
 * SIZE_MAX where one is longer than 63 bytes. Pure. */
size_t ll_distance(const char *one, const char *other);

/* Whether two words differ in capital letters at most. Pure. */
bool ll_same_but_case(const char *one, const char *other);

/* The candidate that `word` was probably meant to be, or NULL when none is near: the same but for capital
 * letters, or the smallest distance, at most a third of the word's length, though one mistake is forgiven
 * from two letters on; the first of equals. */
const char *ll_nearest(const char *word, const char *const *candidates, size_t count);

/* Numbers as texts that mean the same everywhere: with a decimal point, whatever the locale of the program
 * that we are part of.
 *
 * Used in place of the functions of the C library wherever a text may have a fraction. The program's and the
 * thread's locale are left as they were. Any thread may call. */

/* strtod in the locale "C". */
double ll_strtod(const char *text, char **end);

/* snprintf in the locale "C". */
int ll_snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* vsnprintf in the locale "C". */
int ll_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
