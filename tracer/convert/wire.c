/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers on the wire (protobuf.dev, "Encoding"): the key of a field is a varint, its number times
 * eight plus the type of its value. */
#include "tracer/convert/wire.h"

#include <assert.h>
#include <string.h>

bool ll_wire_varint(struct ll_wire *wire, uint64_t *value)
{
    assert(wire->at <= wire->end);
    *value = 0;
    for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
        uint8_t byte = *wire->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool read_fixed(struct ll_wire *wire, unsigned bytes, uint64_t *value)
{
    if ((size_t)(wire->end - wire->at) < bytes)
        return false;
    *value = 0;
    for (unsigned i = 0; i < bytes; i++)
        *value |= (uint64_t)*wire->at++ << 8 * i;
    return true;
}

static bool read_bytes(struct ll_wire *wire, struct ll_wire *bytes)
{
    uint64_t size;
    if (!ll_wire_varint(wire, &size) || size > (uint64_t)(wire->end - wire->at))
        return false;
    *bytes = (struct ll_wire){wire->at, wire->at + size};
    wire->at += size;
    return true;
}

static bool read_value(struct ll_wire *wire, struct ll_wire_field *field)
{
    switch (field->type) {
    case LL_WIRE_VARINT:
        return ll_wire_varint(wire, &field->value);
    case LL_WIRE_FIXED64:
        return read_fixed(wire, 8, &field->value);
    case LL_WIRE_BYTES:
        return read_bytes(wire, &field->bytes);
    case LL_WIRE_FIXED32:
        return read_fixed(wire, 4, &field->value);
    }
    return false; /* a group, which nobody writes any more, or no type at all */
}

enum ll_wire_step ll_wire_next(struct ll_wire *wire, struct ll_wire_field *field)
{
    assert(wire->at <= wire->end);
    uint64_t key;
    *field = (struct ll_wire_field){0};
    if (wire->at >= wire->end)
        return LL_WIRE_END;
    if (!ll_wire_varint(wire, &key))
        return LL_WIRE_BROKEN;
    field->number = key >> 3;
    field->type = (enum ll_wire_type)(key & 7);
    return field->number > 0 && read_value(wire, field) ? LL_WIRE_FIELD : LL_WIRE_BROKEN;
}

bool ll_wire_count(const struct ll_wire_field *field, uint64_t *count)
{
    *count = 1;
    if (field->type == LL_WIRE_VARINT)
        return true;
    *count = 0;
    for (const uint8_t *at = field->bytes.at; at < field->bytes.end; at++)
        *count += *at < 0x80;
    return field->type == LL_WIRE_BYTES &&
           (field->bytes.at == field->bytes.end || field->bytes.end[-1] < 0x80);
}

uint64_t ll_wire_integers(const struct ll_wire_field *field, int64_t *values, uint64_t most)
{
    assert(values || most == 0);
    uint64_t count = 0, value;
    if (field->type == LL_WIRE_VARINT && most > 0)
        values[count++] = (int64_t)field->value;
    struct ll_wire packed = field->bytes;
    while (field->type == LL_WIRE_BYTES && count < most && ll_wire_varint(&packed, &value))
        values[count++] = (int64_t)value;
    return count;
}

const char *ll_wire_text(struct ll_wire bytes, struct ll_arena *arena)
{
    assert(!bytes.at || bytes.at <= bytes.end);
    char *text = ll_copy_text(arena, bytes.at ? (const char *)bytes.at : "", (size_t)(bytes.end - bytes.at));
    for (size_t i = 0; text && i < (size_t)(bytes.end - bytes.at); i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F)
            text[i] = '?';
    return text;
}

float ll_wire_float(const struct ll_wire_field *field)
{
    uint32_t bits = (uint32_t)field->value;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double ll_wire_double(const struct ll_wire_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}

/* Seven bits a byte, from the last ones on; how many bytes. */
static size_t encode(char *bytes, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (char)(value | 0x80);
    bytes[size++] = (char)value;
    return size;
}

enum { LONGEST = 10 }; /* bytes of an integer */

void ll_wire_put_varint(struct ll_str *out, uint64_t value)
{
    char bytes[LONGEST];
    ll_str_add_bytes(out, bytes, encode(bytes, value));
}

/* A key and an integer behind it: the value, or how many bytes follow. */
static void put_pair(struct ll_str *out, uint64_t number, enum ll_wire_type type, uint64_t value)
{
    assert(number > 0); /* fields count from 1 */
    char bytes[2 * LONGEST];
    size_t size = encode(bytes, number << 3 | type);
    ll_str_add_bytes(out, bytes, size + encode(bytes + size, value));
}

void ll_wire_put_integer(struct ll_str *out, uint64_t number, uint64_t value)
{
    put_pair(out, number, LL_WIRE_VARINT, value);
}

void ll_wire_put_fixed64(struct ll_str *out, uint64_t number, uint64_t value)
{
    assert(number > 0);
    char bytes[LONGEST + 8];
    size_t size = encode(bytes, number << 3 | LL_WIRE_FIXED64);
    for (unsigned i = 0; i < 8; i++)
        bytes[size++] = (char)(value >> 8 * i);
    ll_str_add_bytes(out, bytes, size);
}

void ll_wire_put_bytes(struct ll_str *out, uint64_t number, const void *bytes, size_t size)
{
    assert(bytes || size == 0);
    put_pair(out, number, LL_WIRE_BYTES, size);
    if (size > 0)
        ll_str_add_bytes(out, bytes, size);
}

void ll_wire_put_text(struct ll_str *out, uint64_t number, const char *text)
{
    if (text)
        ll_wire_put_bytes(out, number, text, strlen(text));
    else
        out->failed = true;
}
