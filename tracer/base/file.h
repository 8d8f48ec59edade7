/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values (RFC 4180): rows of fields, a field in quotes where it holds commas or quotes, in
 * which a quote is written twice; a row is a line. Lines end in a line feed, a carriage return or both; empty
 * ones are skipped.
 *
 * The text is the caller's and outlives the reading; so do the fields, which live in the caller's arena. A
 * reader belongs to one thread. */
#ifndef LL_TRACER_BASE_FILE_H
#define LL_TRACER_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

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

/* Whole files, read and written at once. */

struct ll_contents {
    const char *bytes; /* a NUL behind the last one */
    size_t length;
};

/* Reads a file of at most so many bytes, as long as it is when it is opened, into the arena; what gzip has
 * compressed is unpacked there (gzip.h), to at most so many, too. LL_FILE_TOO_LONG when there are more,
 * LL_SHORTENED when it loses some on the way, LL_NO_MEMORY, or what the system says; *text is then of no
 * use. */
enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text);

/* One rule for all files that are written, of whatever kind:
 *
 * - a symbolic link stays one: what it points to is written, and made where it is not there;
 * - an ordinary file is replaced at once, when the new one is whole: on trouble what was there stays;
 * - what is no ordinary file (a pipe, a device), what standard output or error goes to, a file that may not
 *   be written (the opening says why) or that nothing may be put beside is written in place. */

/* Writes a finished text as a file. LL_NO_MEMORY when the text has failed, or may lack
 * something since memory ran out. */
enum ll_status ll_write_whole(const char *path, const struct ll_str *text);

/* The file that a path names, at the end of its symbolic links, whether it is there or not; the path itself
 * when it is no link or the links go in a circle. In the arena, NULL when memory ran out. */
const char *ll_path_target(struct ll_arena *arena, const char *path);

/* Where to write an output: a file of its own beside its target, or, in place, the very path that was given.
 * In the arena, NULL when memory ran out. */
const char *ll_path_beside(struct ll_arena *arena, const char *output);

/* Puts the closed part in the place of the output's target, with the permissions of what was there, or
 * removes it when it is not done. LL_OK, or why it could not be put there. */
enum ll_status ll_path_keep(const char *part, const char *output, bool done);

/* gzip (RFC 1952), both ways. Same bytes, same result. */

/* Whether the bytes begin as gzip's do; no format read here begins so. */
bool ll_is_gzipped(const char *bytes, size_t length);

/* Unpacks all members of a gzip file into the arena, a NUL behind them; zeros behind the last member are
 * padding. The bytes are counted before any memory is taken for them: LL_GZIP_TOO_LONG where there are more
 * than most_bytes, or more than such a length of compressed text can honestly hold. LL_GZIP_DAMAGED where
 * they are cut off, altered or followed by something else, LL_NO_MEMORY; *text is then untouched. */
enum ll_status ll_gunzip(const char *bytes, size_t length, uint64_t most_bytes, struct ll_arena *arena,
                         struct ll_contents *text);

/* Appends the packed bytes to out. False when memory ran out. */
bool ll_gzip(const void *bytes, size_t length, struct ll_str *out);

#endif
