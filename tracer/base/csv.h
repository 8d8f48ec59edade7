/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values (RFC 4180): rows of fields, a field in quotes where it holds commas or quotes, in
 * which a quote is written twice; a row is a line. Lines end in a line feed, a carriage return or both; empty
 * ones are skipped.
 *
 * The text is the caller's and outlives the reading; so do the fields, which live in the caller's arena. A
 * reader belongs to one thread. */
#ifndef LL_BASE_CSV_H
#define LL_BASE_CSV_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_csv {
    const char *file; /* for complaints */
    const char *at, *end;
    struct ll_arena *arena;
    struct ll_diags *diags;
    uint64_t line;  /* of the row read last, from 1 */
    uint64_t lines; /* behind us */
    bool failed;    /* memory ran out, or a complaint was made; nothing more is read */
};

struct ll_csv_field {
    const char *text; /* NUL-terminated */
    uint64_t column;  /* in bytes, from 1, of its line */
};

/* The next row's fields; *count of them, at least one. NULL at the end, and when csv->failed. */
const struct ll_csv_field *ll_csv_next(struct ll_csv *csv, size_t *count);

/* Where the row read last stands, or one of its fields (NULL: the row). */
struct ll_place ll_csv_place(const struct ll_csv *csv, const struct ll_csv_field *field);

/* Writes a field so that it reads back: in quotes where it holds what would end it. Ends of lines, which a
 * row cannot hold, become blanks. A spreadsheet takes a text that begins with = + - @ (a tab, an end of line)
 * for a formula: unless it is a number, such a text gets an apostrophe before it, in quotes, which reading
 * takes off. */
void ll_csv_put(struct ll_str *out, const char *text);

#endif
