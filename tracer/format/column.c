/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers as bytes and back, and the block of columns in a frame.
 *
 * The encoder makes room for the worst case once and then writes unchecked; the decoder runs unchecked while
 * a whole varint certainly fits into what is left, eight values at a time where all are of one byte, and
 * checks each byte of the rest. Differences wrap around in 64 bits, hence nothing is out of range. */
#include "tracer/format/column.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"

enum { VARINT_MAX = 10 };

void ll_bytes_release(struct ll_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct ll_bytes){0};
}

static bool make_room(struct ll_bytes *out, uint64_t more)
{
    uint64_t needed;
    if (out->failed || __builtin_add_overflow(out->size, more, &needed) ||
        !ll_grow(&out->data, &out->capacity, needed, 1))
        out->failed = true;
    return !out->failed;
}

void ll_put_bytes(struct ll_bytes *out, const void *bytes, uint64_t size)
{
    if (size == 0 || !make_room(out, size))
        return;
    memcpy(out->data + out->size, bytes, size);
    out->size += size;
}

static inline uint8_t *write_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

void ll_put_varint(struct ll_bytes *out, uint64_t value)
{
    if (make_room(out, VARINT_MAX))
        out->size = (uint64_t)(write_varint(out->data + out->size, value) - out->data);
}

void ll_put_u16(struct ll_bytes *out, uint16_t value)
{
    ll_put_bytes(out, (const uint8_t[]){(uint8_t)value, (uint8_t)(value >> 8)}, 2);
}

static void write_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

void ll_put_u32(struct ll_bytes *out, uint32_t value)
{
    uint8_t bytes[4];
    write_u32(bytes, value);
    ll_put_bytes(out, bytes, sizeof bytes);
}

/* Value i as it is coded: itself, or its difference to the one before. */
static inline uint64_t coded(const uint64_t *values, uint64_t i, bool delta)
{
    if (!delta)
        return values[i];
    return ll_zigzag(values[i] - (i ? values[i - 1] : 0));
}

static uint64_t count_runs(const uint64_t *values, uint64_t count, bool delta)
{
    uint64_t runs = 0, before = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = coded(values, i, delta);
        runs += i == 0 || value != before;
        before = value;
    }
    return runs;
}

static uint8_t *write_runs(uint8_t *at, const uint64_t *values, uint64_t count, bool delta)
{
    for (uint64_t i = 0, end; i < count; i = end) {
        uint64_t value = coded(values, i, delta);
        for (end = i + 1; end < count && coded(values, end, delta) == value;)
            end++;
        at = write_varint(write_varint(at, value), end - i);
    }
    return at;
}

static uint8_t *write_each(uint8_t *at, const uint64_t *values, uint64_t count, bool delta)
{
    if (!delta)
        for (uint64_t i = 0; i < count; i++)
            at = write_varint(at, values[i]);
    else
        for (uint64_t i = 0; i < count; i++)
            at = write_varint(at, coded(values, i, true));
    return at;
}

/* Tag, encoding and count; returns where the size is to be put once it is known. */
static uint64_t put_column_head(struct ll_bytes *out, uint64_t tag, unsigned encoding, uint64_t count)
{
    uint8_t encoding_byte = (uint8_t)encoding;
    ll_put_varint(out, tag);
    ll_put_bytes(out, &encoding_byte, 1);
    ll_put_varint(out, count);
    ll_put_u32(out, 0);
    return out->size - 4;
}

static void finish_column(struct ll_bytes *out, uint64_t size_at)
{
    uint64_t size = out->size - size_at - 4;
    if (size > UINT32_MAX)
        out->failed = true;
    if (!out->failed)
        write_u32(out->data + size_at, (uint32_t)size);
}

void ll_put_column(struct ll_bytes *out, uint64_t tag, enum ll_encoding encoding, const uint64_t *values,
                   uint64_t count)
{
    assert(encoding == LL_PLAIN || encoding == LL_DELTA);
    if (count == 0)
        return;
    bool delta = encoding == LL_DELTA, runs = count_runs(values, count, delta) <= count / 4;
    uint64_t size_at = put_column_head(out, tag, encoding | (runs ? LL_RUNS : 0u), count), most;
    if (__builtin_mul_overflow(count, VARINT_MAX, &most) || !make_room(out, most)) {
        out->failed = true;
        return;
    }
    uint8_t *at = out->data + out->size;
    at = runs ? write_runs(at, values, count, delta) : write_each(at, values, count, delta);
    out->size = (uint64_t)(at - out->data);
    finish_column(out, size_at);
}

void ll_put_raw(struct ll_bytes *out, uint64_t tag, const void *bytes, uint64_t size)
{
    if (size == 0)
        return;
    uint64_t size_at = put_column_head(out, tag, LL_RAW, size);
    ll_put_bytes(out, bytes, size);
    finish_column(out, size_at);
}

/* Reads up to ten bytes; the tenth holds only the 64th bit. */
static inline bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            return false;
        sum |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *at = p;
            *value = sum;
            return true;
        }
    }
    return false;
}

bool ll_take_varint(struct ll_view *in, uint64_t *value)
{
    return read_varint(&in->at, in->end, value);
}

bool ll_take_u16(struct ll_view *in, uint16_t *value)
{
    if (in->end - in->at < 2)
        return false;
    *value = (uint16_t)(in->at[0] | in->at[1] << 8);
    in->at += 2;
    return true;
}

bool ll_take_u32(struct ll_view *in, uint32_t *value)
{
    if (in->end - in->at < 4)
        return false;
    *value = (uint32_t)in->at[0] | (uint32_t)in->at[1] << 8 | (uint32_t)in->at[2] << 16 |
             (uint32_t)in->at[3] << 24;
    in->at += 4;
    return true;
}

bool ll_take_column(struct ll_view *in, struct ll_column *column)
{
    uint32_t size;
    if (!ll_take_varint(in, &column->tag) || in->at == in->end)
        return false;
    column->encoding = *in->at++;
    if (!ll_take_varint(in, &column->count) || !ll_take_u32(in, &size) || size > in->end - in->at)
        return false;
    column->bytes = (struct ll_view){in->at, in->at + size};
    in->at += size;
    if (column->encoding == LL_RAW)
        return column->count == size;
    return column->encoding & LL_RUNS || column->count <= size;
}

static bool read_runs(struct ll_view in, uint64_t *values, uint64_t count)
{
    while (count > 0) {
        uint64_t value, length;
        if (!ll_take_varint(&in, &value) || !ll_take_varint(&in, &length) || length == 0 || length > count)
            return false;
        for (uint64_t i = 0; i < length; i++)
            *values++ = value;
        count -= length;
    }
    return in.at == in.end;
}

/* True when the eight bytes at p are varints of one byte each. */
static inline bool eight_short(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return (word & 0x8080808080808080u) == 0;
}

static bool read_each(struct ll_view in, uint64_t *values, uint64_t count)
{
    uint64_t i = 0;
    while (i < count) {
        while (count - i >= 8 && in.end - in.at >= 8 && eight_short(in.at)) {
            for (int k = 0; k < 8; k++)
                values[i++] = *in.at++;
        }
        if (i < count && !read_varint(&in.at, in.end, &values[i++]))
            return false;
    }
    return in.at == in.end;
}

bool ll_column_values(const struct ll_column *column, uint64_t *values)
{
    if (column->encoding > (LL_DELTA | LL_RUNS))
        return false;
    bool runs = column->encoding & LL_RUNS;
    if (!(runs ? read_runs : read_each)(column->bytes, values, column->count))
        return false;
    if (column->encoding & LL_DELTA) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < column->count; i++)
            values[i] = sum += ll_unzigzag(values[i]);
    }
    return true;
}

enum { KEEP_VALUES = 65536 }; /* a larger buffer is not kept for the next frame */

bool ll_block_open(struct ll_block *block, struct ll_view in)
{
    memset(block->columns, 0, sizeof block->columns);
    while (in.at < in.end) {
        struct ll_column column;
        if (!ll_take_column(&in, &column))
            return false;
        if (column.tag >= LL_BLOCK_TAGS)
            continue;
        if (block->columns[column.tag].bytes.at)
            return false;
        block->columns[column.tag] = column;
    }
    return true;
}

uint64_t ll_block_count(const struct ll_block *block, unsigned tag)
{
    return block->columns[tag].count;
}

const uint64_t *ll_block_numbers(struct ll_block *block, unsigned tag, uint64_t count)
{
    const struct ll_column *column = &block->columns[tag];
    if (column->count != count)
        return NULL;
    if (block->capacity[tag] > KEEP_VALUES && count <= KEEP_VALUES) {
        free(block->values[tag]);
        block->values[tag] = NULL;
        block->capacity[tag] = 0;
    }
    if (!ll_grow(&block->values[tag], &block->capacity[tag], count ? count : 1, sizeof(uint64_t)))
        return NULL;
    if (!count)
        return block->values[tag];
    return ll_column_values(column, block->values[tag]) ? block->values[tag] : NULL;
}

bool ll_block_bytes(const struct ll_block *block, unsigned tag, struct ll_view *bytes)
{
    *bytes = block->columns[tag].bytes;
    return !bytes->at || block->columns[tag].encoding == LL_RAW;
}

void ll_block_release(struct ll_block *block)
{
    for (int tag = 0; tag < LL_BLOCK_TAGS; tag++)
        free(block->values[tag]);
    *block = (struct ll_block){0};
}
