/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of one frame, found by tag and decoded on demand. One thread at a time; {0} to begin with. */
#ifndef LL_TRACER_BLOCK_H
#define LL_TRACER_BLOCK_H

#include "tracer/column.h"

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
