/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/memo.h"

#include <stdlib.h>

/* Compared as bytes: no padding, unused fields of the work are zero. */
struct key {
    uint64_t kind;
    struct ll_work work;
};

/* Room first, then the key: a key without an entry must never exist. */
static struct ll_memo_entry *entry_of(struct ll_memo *memo, const struct key *key, bool *is_new)
{
    uint64_t needed = (uint64_t)memo->keys.count + 1;
    if (!ll_grow((void **)&memo->entries, &memo->capacity, needed, sizeof *memo->entries))
        return NULL;
    uint32_t id = ll_map_intern(&memo->keys, key, sizeof *key, is_new);
    return id == LL_NO_ID ? NULL : &memo->entries[id];
}

const struct ll_cost *ll_memo_cost(struct ll_memo *memo, enum ll_op_kind kind, const struct ll_work *work,
                                   const char **trouble)
{
    bool is_new = false;
    struct ll_memo_entry *entry = entry_of(memo, &(struct key){kind, *work}, &is_new);
    *trouble = NULL;
    if (!entry)
        return NULL;
    if (is_new)
        ll_cost_op(memo->machine, kind, work, &entry->cost, NULL, &entry->trouble);
    *trouble = entry->trouble;
    return entry->trouble ? NULL : &entry->cost;
}

void ll_memo_release(struct ll_memo *memo)
{
    ll_map_release(&memo->keys);
    free(memo->entries);
    *memo = (struct ll_memo){.machine = memo->machine};
}
