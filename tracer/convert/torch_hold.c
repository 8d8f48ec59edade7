/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's storages hold. */
#include "tracer/convert/aten.h"

#include <stdlib.h>
#include <string.h>

const char *ll_image_shape(const struct ll_shape *shape, struct ll_shape *image)
{
    *image = *shape;
    if (shape->rank == 4) {
        image->dim[1] = shape->dim[2];
        image->dim[2] = shape->dim[3];
        image->dim[3] = shape->dim[1];
        return NULL;
    }
    if (shape->rank != 3)
        return "an image of other than one or two dimensions";
    image->rank = 4;
    image->dim[1] = 1;
    image->dim[2] = shape->dim[2];
    image->dim[3] = shape->dim[1];
    return NULL;
}

struct ll_storage *ll_storage_of(struct ll_aten *call, const struct ll_torch_tensor *tensor)
{
    struct ll_storages *storages = call->storages;
    bool is_new = false;
    uint32_t at = ll_map_intern(&storages->numbers, &tensor->storage, sizeof tensor->storage, &is_new);
    if (at == LL_NO_ID ||
        !ll_grow(&storages->at, &storages->capacity, (uint64_t)at + 1, sizeof *storages->at)) {
        ll_import_no_memory(call->import);
        return NULL;
    }
    struct ll_storage *slot = &storages->at[at];
    if (is_new)
        *slot = (struct ll_storage){.brought = LL_INPUT, .memory = LL_INPUT};
    return slot;
}

static bool same_look(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static const char *name_of(enum ll_memory_class memory)
{
    return memory == LL_INPUT ? "input" : ll_memory_name(memory);
}

struct ll_imported ll_aten_see(struct ll_aten *call, struct ll_imported held, const struct ll_shape *as)
{
    struct ll_imported seen = {LL_NONE, *as};
    if (same_look(&held.shape, as))
        return held;
    const struct ll_import_op view = {
        .kind = LL_OP_SEEN_AS,
        .in = &held,
        .in_count = 1,
        .given = as,
        .given_count = 1,
    };
    bool timed = call->timed;
    call->timed = true;
    ll_aten_do(call, &view, &seen);
    call->timed = timed;
    return seen;
}

struct ll_imported ll_aten_hold(struct ll_aten *call, const struct ll_torch_tensor *tensor,
                                const struct ll_shape *as)
{
    struct ll_storage *slot = ll_storage_of(call, tensor);
    const struct ll_shape *shape = as ? as : &tensor->shape;
    if (!slot)
        return (struct ll_imported){LL_NONE, *shape};
    if (!slot->live) {
        slot->held = ll_import_tensor(call->import, name_of(slot->brought), shape, slot->brought);
        slot->memory = slot->brought;
        slot->live = true;
        slot->seen_count = 0;
        call->reads_of = slot->got_by ? slot->got_by : call->reads_of;
        slot->got_by = 0;
    }
    if (same_look(&slot->held.shape, shape))
        return slot->held;
    for (uint32_t i = 0; i < slot->seen_count && i < LL_SEEN_KEPT; i++)
        if (same_look(&slot->seen[i].shape, shape))
            return slot->seen[i];
    struct ll_imported seen = ll_aten_see(call, slot->held, shape);
    slot->seen[slot->seen_count++ % LL_SEEN_KEPT] = seen;
    return seen;
}

void ll_aten_give(struct ll_aten *call, const struct ll_torch_tensor *tensor, struct ll_imported held)
{
    struct ll_storage *slot = tensor ? ll_storage_of(call, tensor) : NULL;
    if (!slot)
        return;
    slot->held = held;
    slot->memory = call->memory;
    slot->live = true;
    slot->got_by = 0;
    slot->seen_count = 0;
}

void ll_storages_release(struct ll_storages *storages)
{
    ll_map_release(&storages->numbers);
    free(storages->at);
    *storages = (struct ll_storages){0};
}
