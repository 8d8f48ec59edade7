/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of protocol buffers, field by field, without copies.
 *
 * A message is a run of fields: a number and a value, which is an integer, eight or four bytes, or a run of
 * bytes (a text, a message, a packed list). What a field means is the schema's business, and the caller's.
 * Nothing is read behind the end. Plain data over bytes that the caller keeps. */
#ifndef LL_TRACER_CONVERT_WIRE_H
#define LL_TRACER_CONVERT_WIRE_H

#include "tracer/base/arena.h"
#include "tracer/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are still to be read. */
struct ll_wire {
    const uint8_t *at, *end;
};

enum ll_wire_type { LL_WIRE_VARINT = 0, LL_WIRE_FIXED64 = 1, LL_WIRE_BYTES = 2, LL_WIRE_FIXED32 = 5 };

struct ll_wire_field {
    uint64_t number;
    enum ll_wire_type type;
    uint64_t value;       /* unless type is LL_WIRE_BYTES; little-endian bytes as a number */
    struct ll_wire bytes; /* if it is */
};

enum ll_wire_step { LL_WIRE_END, LL_WIRE_FIELD, LL_WIRE_BROKEN };

/* The next field, the end, or that what follows is no field; then nothing more can be read. */
enum ll_wire_step ll_wire_next(struct ll_wire *wire, struct ll_wire_field *field);

/* An integer of seven bits a byte; false when there is none. */
bool ll_wire_varint(struct ll_wire *wire, uint64_t *value);

/* How many integers a field of a repeated integer holds, packed or alone; false when it is broken. */
bool ll_wire_count(const struct ll_wire_field *field, uint64_t *count);

/* The integers of such a field, at most `most` of them; how many there were. */
uint64_t ll_wire_integers(const struct ll_wire_field *field, int64_t *values, uint64_t most);

/* The bytes as a text, in the arena; what would do something to a terminal becomes `?`. NULL when memory ran
 * out. */
const char *ll_wire_text(struct ll_wire bytes, struct ll_arena *arena);

/* The float of a field of four bytes, the double of one of eight. */
float ll_wire_float(const struct ll_wire_field *field);
double ll_wire_double(const struct ll_wire_field *field);

/* Writing: each appends a field, or a bare integer. */
void ll_wire_put_varint(struct ll_str *out, uint64_t value);
void ll_wire_put_integer(struct ll_str *out, uint64_t number, uint64_t value);
void ll_wire_put_fixed64(struct ll_str *out, uint64_t number, uint64_t value);
void ll_wire_put_bytes(struct ll_str *out, uint64_t number, const void *bytes, size_t size);
void ll_wire_put_text(struct ll_str *out, uint64_t number, const char *text);

#endif
