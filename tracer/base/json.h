/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: the one way a number becomes text.
 *
 * A writer streams into an ll_str: keys in the order given, numbers in the shortest form that reads
 * back to the same double, null for what is not finite. Nesting is checked by assertions. It starts as
 * {.out = str}; with .indent it breaks lines, without it stays on one line. One thread at a time. */
#ifndef LL_TRACER_BASE_JSON_H
#define LL_TRACER_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

enum { LL_JSON_DEPTH = 32 };

struct ll_json {
    struct ll_str *out;
    bool indent;
    unsigned depth;
    bool has_items[LL_JSON_DEPTH];
    bool after_key;
};

/* At most LL_JSON_DEPTH objects and lists within each other; each is closed by its own kind. */
void ll_json_open_object(struct ll_json *json);
void ll_json_close_object(struct ll_json *json);
void ll_json_open_list(struct ll_json *json);
void ll_json_close_list(struct ll_json *json);

/* Opens the object that is a whole document: its first keys are `schema`, the name under which what may be in
 * it is written down, and `version`, which grows when a reader of the one before would misread it. */
void ll_json_open_document(struct ll_json *json, const char *schema, uint64_t version);

/* The key of the next value; only inside an object. */
void ll_json_key(struct ll_json *json, const char *key);

/* text NULL writes null. Bytes that are not UTF-8 are written as U+FFFD. */
void ll_json_text(struct ll_json *json, const char *text);
void ll_json_number(struct ll_json *json, double value);
void ll_json_count(struct ll_json *json, uint64_t value);
void ll_json_integer(struct ll_json *json, int64_t value);
void ll_json_bool(struct ll_json *json, bool value);
void ll_json_null(struct ll_json *json);

/* A key and its value at once. */
void ll_json_put_text(struct ll_json *json, const char *key, const char *text);
void ll_json_put_number(struct ll_json *json, const char *key, double value);
void ll_json_put_count(struct ll_json *json, const char *key, uint64_t value);
void ll_json_put_integer(struct ll_json *json, const char *key, int64_t value);
void ll_json_put_bool(struct ll_json *json, const char *key, bool value);

/* The fewest digits that read back to the same double, whole numbers below 10^15 without exponent; "null"
 * when not finite. */
void ll_number_text(double value, char text[static 32]);

/* Reading JSON (RFC 8259), token by token: memory does not grow with the document.
 *
 * The document is the caller's, outlives the reading and need not be ended by a NUL. A reader starts as
 * {.file, .begin, .at = begin, .end, .diags} and belongs to one thread. The first mistake is complained about
 * with its line and column and ends the reading: every later token is LL_JSON_END. Beyond the standard, NaN,
 * Infinity and -Infinity are numbers, as Python writes them; short of it, numbers have an end
 * (LL_JSON_LONGEST_NUMBER characters). */

enum ll_json_token {
    LL_JSON_END, /* of the document, or nothing more is read */
    LL_JSON_OBJECT,
    LL_JSON_OBJECT_END,
    LL_JSON_LIST,
    LL_JSON_LIST_END,
    LL_JSON_KEY, /* its value is the next token */
    LL_JSON_TEXT,
    LL_JSON_NUMBER,
    LL_JSON_TRUE,
    LL_JSON_FALSE,
    LL_JSON_NULL
};

enum { LL_JSON_MOST_DEPTH = 64, LL_JSON_LONGEST_NUMBER = 63 };

struct ll_json_reader {
    const char *file; /* for complaints */
    const char *begin, *at, *end;
    struct ll_diags *diags;
    enum ll_json_token token; /* read last */
    const char *text;         /* of a key or text, between its quotes, escapes and all; of a number */
    size_t length;            /* of it, in bytes */
    unsigned depth;           /* of objects and lists around what comes */
    uint64_t objects;         /* bit i: what is open at depth i is an object */
    bool filled, failed;      /* filled: what is open has an item; failed: a complaint was made */
};

/* The next token. Keys come before their values, and only in objects. */
enum ll_json_token ll_json_read(struct ll_json_reader *reader);

/* Passes the value that the token read last begins, or, after a key, its whole value. */
void ll_json_pass(struct ll_json_reader *reader);

/* Whether the key or text read last is this one, written without escapes. */
bool ll_json_says(const struct ll_json_reader *reader, const char *text);

/* The key, text or number read last, escapes resolved, in the arena; NULL when memory ran out. */
const char *ll_json_copy(const struct ll_json_reader *reader, struct ll_arena *arena);

/* The number read last as an integer, cut off towards zero and held at the ends of the range; 0 when the
 * token is no number. */
int64_t ll_json_as_integer(const struct ll_json_reader *reader);

/* The same as a double. */
double ll_json_as_real(const struct ll_json_reader *reader);

/* Where the token read last begins. */
struct ll_place ll_json_place(const struct ll_json_reader *reader);

/* Complains about the token read last, "expected ...", and ends the reading. Always false. */
bool ll_json_expected(struct ll_json_reader *reader, const char *what);

#endif
