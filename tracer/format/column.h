/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers as few bytes: varints, differences, runs. Pure, no I/O.
 *
 * A column stands in a block as
 *     tag (varint)   encoding (1 byte)   number of values (varint)   size (4 bytes, low first)   bytes
 * so that a reader can skip what it does not know. The encodings:
 *     plain   each value a varint: seven bits a byte, low ones first, top bit set on all but the last
 *     delta   the difference to the value before (to 0 at first), as zigzag (0, -1, 1, -2 are 0, 1, 2, 3)
 *     runs    pairs of a value and how often it comes; with delta, runs of differences
 *     raw     the bytes as they are
 * A decoder never reads past the end that it is given and refuses what does not fit exactly. */
#ifndef LL_TRACER_FORMAT_COLUMN_H
#define LL_TRACER_FORMAT_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

enum ll_encoding { LL_PLAIN = 0, LL_DELTA = 1, LL_RUNS = 2, LL_RAW = 4 };

/* Bytes that grow; {0} to begin with. When memory runs out `failed` is set and nothing more is added: check
 * once at the end. Freed with ll_bytes_release. */
struct ll_bytes {
    uint8_t *data;
    uint64_t size, capacity;
    bool failed;
};

/* Frees the bytes; it is {0} again. */
void ll_bytes_release(struct ll_bytes *bytes);

/* As they are; as a varint. */
void ll_put_bytes(struct ll_bytes *out, const void *bytes, uint64_t size);
void ll_put_varint(struct ll_bytes *out, uint64_t value);

/* Little-endian, whatever the machine. */
void ll_put_u16(struct ll_bytes *out, uint16_t value);
void ll_put_u32(struct ll_bytes *out, uint32_t value);

/* Adds a column; with `encoding` plain or delta, and runs of it where they are much fewer than the values.
 * Nothing is added for no values: an absent column is an empty one. */
void ll_put_column(struct ll_bytes *out, uint64_t tag, enum ll_encoding encoding, const uint64_t *values,
                   uint64_t count);
void ll_put_raw(struct ll_bytes *out, uint64_t tag, const void *bytes, uint64_t size);

/* What is still to be read; `at` moves up to `end`. Taking returns false where the bytes end too early. */
struct ll_view {
    const uint8_t *at, *end;
};

/* A varint of more than 64 bits is refused as well. */
bool ll_take_varint(struct ll_view *in, uint64_t *value);
bool ll_take_u16(struct ll_view *in, uint16_t *value);
bool ll_take_u32(struct ll_view *in, uint32_t *value);

/* A column as it lies in the block. count is not more than the bytes allow, except for runs: there it is
 * only claimed, and whoever allocates for it bounds it first. For raw columns it is the size. */
struct ll_column {
    uint64_t tag, count;
    unsigned encoding; /* enum ll_encoding, combined */
    struct ll_view bytes;
};

/* The next column; false where its frame or its size is not whole. */
bool ll_take_column(struct ll_view *in, struct ll_column *column);

/* Writes column->count values. False when the bytes are not exactly that many values; then `values` holds
 * anything. Not for raw columns. */
bool ll_column_values(const struct ll_column *column, uint64_t *values);

/* Small differences of either sign become small numbers, and back. */
static inline uint64_t ll_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

/* What ll_zigzag made this number from. */
static inline uint64_t ll_unzigzag(uint64_t coded)
{
    return coded >> 1 ^ (0 - (coded & 1));
}

/* The columns of one frame, found by tag and decoded on demand. One thread at a time; {0} to begin with. */

enum { LL_BLOCK_TAGS = 32 }; /* tags from 1 to 31; columns of others are skipped */

struct ll_block {
    struct ll_column columns[LL_BLOCK_TAGS]; /* all zero where absent */
    uint64_t *values[LL_BLOCK_TAGS];         /* decoded; kept from frame to frame */
    uint64_t capacity[LL_BLOCK_TAGS];
};

/* Takes the columns that `in` consists of; they stay in its bytes. False when they do not fill it exactly or
 * a tag comes twice. */
bool ll_block_open(struct ll_block *block, struct ll_view in);

/* How many values a column claims. The caller has charged for them before it decodes. */
uint64_t ll_block_count(const struct ll_block *block, unsigned tag);

/* The values of a column, valid until the block is opened again. NULL when it has not exactly `count` values,
 * or when memory ran out. */
const uint64_t *ll_block_numbers(struct ll_block *block, unsigned tag, uint64_t count);

/* The bytes of a raw column; empty when absent. False when it is of another encoding. */
bool ll_block_bytes(const struct ll_block *block, unsigned tag, struct ll_view *bytes);

/* Frees what was decoded; the bytes are the caller's. It is {0} again. */
void ll_block_release(struct ll_block *block);

#endif
