/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/block.h"

#include "tracer/base/arena.h"

#include <stdlib.h>
#include <string.h>

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
