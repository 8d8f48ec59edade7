/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: the one way a number becomes text.
 *
 * A writer streams into an ll_str: keys in the order given, numbers in the shortest form that reads
 * back to the same double, null for what is not finite. Nesting is checked by assertions. It starts as
 * {.out = str}; with .indent it breaks lines, without it stays on one line. One thread at a time. */
#ifndef LL_BASE_JSON_H
#define LL_BASE_JSON_H

#include "tracer/base/str.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
