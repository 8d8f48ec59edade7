/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/memory.h"

#include "tracer/base/random.h"

#include <stdlib.h>
#include <string.h>

enum {
    VIEWS = 4096,          /* entries of the cache of views */
    VIEW_INPUTS = 6,       /* views of more tensors are made anew each time */
    MOST_PIECES = 64,      /* what is read of more becomes one, .. */
    MOST_PIECES_COARSE = 8 /* .. and where memory is told coarsely of more than these */
};

/* A view that was made: of these tensors, in this shape, at this place. Tensors are written once, so it never
 * grows stale; another one may take its entry. */
struct ll_view_entry {
    struct ll_stretch_of_memory at;
    uint32_t desc, count;
    uint32_t of[VIEW_INPUTS];
    uint32_t tensor;
    uint32_t unused; /* zero */
};

void ll_memory_release(struct ll_memory *memory)
{
    ll_regions_release(&memory->regions);
    ll_regions_release(&memory->allocations);
    ll_regions_release(&memory->holes);
    ll_region_list_release(&memory->parts);
    free(memory->views);
    free(memory->tensors);
    memory->views = NULL;
    memory->tensors = NULL;
}

/* Pieces. */

/* Regions that lie in the stretch, as pieces of it, until the map changes. */
static void reach(struct ll_memory *memory, const struct ll_stretch_of_memory *at)
{
    ll_regions_reach(&memory->regions, at);
}

static uint64_t piece_count(const struct ll_memory *memory)
{
    return memory->regions.reached_count;
}

static struct ll_region *piece_of(const struct ll_memory *memory, uint64_t i)
{
    return ll_regions_reached(&memory->regions, i);
}

static uint64_t bytes_of(const struct ll_stretch_of_memory *at)
{
    return at->rows * at->row_bytes;
}

static bool covered(const struct ll_memory *memory, const struct ll_stretch_of_memory *at)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < piece_count(memory); i++)
        bytes += bytes_of(&piece_of(memory, i)->at);
    return bytes == bytes_of(at);
}

/* The one tensor that the pieces are, whole and in this shape; LL_NONE when they are not. */
static uint32_t whole_tensor(const struct ll_memory *memory, const struct ll_stretch_of_memory *at,
                             uint32_t desc)
{
    const struct ll_region *first = piece_count(memory) ? piece_of(memory, 0) : NULL;
    for (uint64_t i = 0; i < piece_count(memory); i++)
        if (piece_of(memory, i)->tensor != first->tensor)
            return LL_NONE;
    bool whole = first && first->desc == desc && ll_stretch_is(&first->whole, at);
    return whole && covered(memory, at) ? first->tensor : LL_NONE;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* The distinct tensors of the pieces, in order; how many, 0 when memory ran out. Bytes that nobody made have
 * none. */
static uint32_t distinct_tensors(struct ll_memory *memory)
{
    uint64_t count = piece_count(memory);
    if (!ll_grow(&memory->tensors, &memory->tensor_capacity, count, sizeof *memory->tensors))
        return 0;
    for (uint64_t i = 0; i < count; i++)
        memory->tensors[i] = piece_of(memory, i)->tensor;
    qsort(memory->tensors, count, sizeof *memory->tensors, by_number);
    uint32_t kept = 0;
    for (uint64_t i = 0; i < count && memory->tensors[i] != LL_NONE; i++)
        if (kept == 0 || memory->tensors[i] != memory->tensors[kept - 1])
            memory->tensors[kept++] = memory->tensors[i];
    return kept < LL_MAX_OP_REFS ? kept : LL_MAX_OP_REFS;
}

/* Whether nobody made any of the pieces: what is known of them is who has read them. */
static bool made_by_nobody(const struct ll_memory *memory)
{
    for (uint64_t i = 0; i < piece_count(memory); i++)
        if (piece_of(memory, i)->tensor != LL_NONE)
            return false;
    return true;
}

/* Views. */

static uint32_t make_view(struct ll_memory *memory, uint32_t desc, uint32_t count, uint32_t thread)
{
    uint32_t view = ll_recorder_op(memory->recorder, &(struct ll_record){.kind = LL_OP_SEEN_AS,
                                                                         .scope = memory->scope,
                                                                         .thread = thread,
                                                                         .inputs = memory->tensors,
                                                                         .input_count = count,
                                                                         .outputs = &desc,
                                                                         .output_count = 1});
    memory->op_count++;
    memory->views_made++;
    return view;
}

static uint64_t hash_of(const struct ll_view_entry *entry)
{
    const unsigned char *bytes = (const unsigned char *)entry;
    uint64_t hash = 0, word;
    for (size_t i = 0; i + sizeof word <= sizeof *entry; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = ll_random_mix(hash ^ word);
    }
    return hash;
}

/* The pieces at hand as one tensor. */
static uint32_t view_pieces(struct ll_memory *memory, const struct ll_stretch_of_memory *at, uint32_t desc,
                            uint32_t thread)
{
    uint32_t count = distinct_tensors(memory);
    if (!memory->views)
        memory->views = calloc(VIEWS, sizeof *memory->views);
    if (count == 0 || !memory->views)
        return LL_NONE;
    if (count > VIEW_INPUTS)
        return make_view(memory, desc, count, thread);
    struct ll_view_entry wanted = {.at = *at, .desc = desc, .count = count};
    memcpy(wanted.of, memory->tensors, count * sizeof *wanted.of);
    struct ll_view_entry *entry = &memory->views[hash_of(&wanted) % VIEWS];
    wanted.tensor = entry->tensor;
    if (memcmp(entry, &wanted, sizeof wanted) != 0) {
        wanted.tensor = make_view(memory, desc, count, thread);
        *entry = wanted;
    }
    return entry->tensor;
}

/* Reading. */

static struct ll_region region_of(const struct ll_stretch_of_memory *at,
                                  const struct ll_stretch_of_memory *whole, uint32_t tensor, uint32_t desc,
                                  uint32_t writer)
{
    return (struct ll_region){
        .at = *at, .whole = *whole, .tensor = tensor, .desc = desc, .writer = writer, .brought = LL_NONE};
}

/* Bytes of the stretch that no piece holds become regions like this one: somebody may overwrite them. */
static void fill_holes(struct ll_memory *memory, const struct ll_stretch_of_memory *at,
                       struct ll_region region)
{
    struct ll_stretch_of_memory all = ll_stretch(at->address, 1, ll_stretch_end(at) - at->address, 0);
    region.at = *at;
    region.readers = 0;
    ll_regions_put(&memory->holes, &region);
    for (uint64_t i = 0; i < piece_count(memory); i++) {
        memory->parts.count = 0;
        ll_regions_take(&memory->holes, &piece_of(memory, i)->at, &memory->parts);
    }
    memory->parts.count = 0;
    ll_regions_take(&memory->holes, &all, &memory->parts);
    for (uint64_t i = 0; i < memory->parts.count; i++)
        ll_regions_put(&memory->regions, &memory->parts.items[i]);
    memory->regions.failed |= memory->holes.failed;
}

/* What all the pieces were brought as. */
static uint32_t brought_pieces(const struct ll_memory *memory)
{
    const struct ll_region *first = piece_count(memory) ? piece_of(memory, 0) : NULL;
    for (uint64_t i = 1; i < piece_count(memory); i++)
        if (piece_of(memory, i)->brought != first->brought)
            return LL_NONE;
    return first ? first->brought : LL_NONE;
}

/* The last op that wrote or read one of the pieces. */
static uint32_t last_op_of(const struct ll_memory *memory)
{
    uint64_t last = 0; /* its number and one */
    for (uint64_t i = 0; i < piece_count(memory); i++) {
        const struct ll_region *piece = piece_of(memory, i);
        last = piece->writer == LL_NONE ? last : ll_max(last, piece->writer + UINT64_C(1));
        for (uint32_t reader = piece->readers; reader; reader = memory->regions.readers[reader].next)
            last = ll_max(last, memory->regions.readers[reader].op + UINT64_C(1));
    }
    return last ? (uint32_t)(last - 1) : LL_NONE;
}

/* The pieces at hand become one, of the tensor that they are seen as. Whoever overwrites a part of it waits
 * for the readers of all parts; the op that reads it now waits for all who wrote them. */
static void merge_pieces(struct ll_memory *memory, const struct ll_stretch_of_memory *at, uint32_t tensor,
                         uint32_t desc)
{
    struct ll_region region = region_of(at, at, tensor, desc, last_op_of(memory));
    region.brought = brought_pieces(memory);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        ll_readers_move(&memory->regions, &piece_of(memory, i)->readers, &region.readers);
    ll_regions_drop_reached(&memory->regions);
    ll_regions_put(&memory->regions, &region);
}

/* The stretch, which nobody wrote, becomes a tensor; the pieces at hand keep their readers. */
static uint32_t bring(struct ll_memory *memory, const struct ll_stretch_of_memory *at, uint32_t desc)
{
    uint32_t tensor = ll_recorder_tensor(memory->recorder, desc);
    struct ll_region region = region_of(at, at, tensor, desc, LL_NONE);
    if (tensor == LL_NONE)
        return LL_NONE;
    region.brought = tensor;
    if (piece_count(memory) == 0) {
        ll_regions_put(&memory->regions, &region);
        return tensor;
    }
    bool whole = covered(memory, at);
    for (uint64_t i = 0; i < piece_count(memory); i++) {
        struct ll_region *piece = piece_of(memory, i);
        region.at = piece->at;
        region.readers = piece->readers;
        *piece = region;
    }
    if (!whole)
        fill_holes(memory, at, region);
    return tensor;
}

uint32_t ll_memory_brought(struct ll_memory *memory, struct ll_touch *touch, bool *updated)
{
    const struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    *updated = exact && exact->tensor != exact->brought;
    if (exact)
        return exact->brought;
    reach(memory, &touch->at);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        *updated |= piece_of(memory, i)->tensor != piece_of(memory, i)->brought;
    return brought_pieces(memory);
}

uint32_t ll_memory_read(struct ll_memory *memory, struct ll_touch *touch, uint32_t desc, uint32_t thread)
{
    const struct ll_stretch_of_memory *at = &touch->at;
    const struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact && exact->desc == desc && ll_stretch_is(&exact->whole, at))
        return exact->tensor;
    reach(memory, at);
    if (made_by_nobody(memory))
        return bring(memory, at, desc);
    uint32_t tensor = whole_tensor(memory, at, desc);
    if (tensor == LL_NONE)
        tensor = view_pieces(memory, at, desc, thread);
    if (tensor != LL_NONE && piece_count(memory) > (memory->coarse ? MOST_PIECES_COARSE : MOST_PIECES)) {
        merge_pieces(memory, at, tensor, desc);
        return memory->regions.failed ? LL_NONE : tensor;
    }
    if (tensor != LL_NONE && !covered(memory, at))
        fill_holes(memory, at, region_of(at, at, LL_NONE, LL_NONE, LL_NONE));
    return memory->regions.failed ? LL_NONE : tensor;
}

void ll_memory_was_read(struct ll_memory *memory, struct ll_touch *touch, uint32_t op, uint32_t thread)
{
    struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact) {
        ll_readers_add(&memory->regions, &exact->readers, op, thread);
        return;
    }
    reach(memory, &touch->at);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        ll_readers_add(&memory->regions, &piece_of(memory, i)->readers, op, thread);
}

/* Writing. */

static void wait_for(struct ll_memory *memory, struct ll_waits *waits, uint32_t op)
{
    for (uint64_t i = 0; i < waits->count; i++)
        if (waits->ops[i] == op)
            return;
    if (op == LL_NONE || waits->count >= LL_MAX_OP_REFS)
        return;
    if (ll_grow(&waits->ops, &waits->capacity, waits->count + 1, sizeof *waits->ops))
        waits->ops[waits->count++] = op;
    else
        memory->regions.failed = true;
}

static void wait_for_region(struct ll_memory *memory, const struct ll_region *region, bool updated,
                            struct ll_waits *waits)
{
    for (uint32_t reader = region->readers; reader; reader = memory->regions.readers[reader].next)
        wait_for(memory, waits, memory->regions.readers[reader].op);
    if (!region->readers && !updated)
        wait_for(memory, waits, region->writer);
}

void ll_memory_overwrite(struct ll_memory *memory, struct ll_touch *touch, bool updated,
                         struct ll_waits *waits)
{
    const struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact) {
        wait_for_region(memory, exact, updated, waits);
        return;
    }
    reach(memory, &touch->at);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        wait_for_region(memory, piece_of(memory, i), updated, waits);
}

static void forget(struct ll_memory *memory, const struct ll_stretch_of_memory *at)
{
    reach(memory, at);
    ll_regions_drop_reached(&memory->regions);
}

void ll_memory_was_written(struct ll_memory *memory, struct ll_touch *touch, uint32_t op, uint32_t tensor,
                           uint32_t desc, bool updated)
{
    struct ll_region region = region_of(&touch->at, &touch->at, tensor, desc, op);
    struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact) {
        region.brought = updated ? exact->brought : LL_NONE;
        ll_readers_clear(&memory->regions, &exact->readers);
        *exact = region;
        return;
    }
    reach(memory, &touch->at);
    region.brought = updated ? brought_pieces(memory) : LL_NONE;
    ll_regions_drop_reached(&memory->regions);
    ll_regions_put(&memory->regions, &region);
}

/* Allocations are regions of a map of their own. */

void ll_memory_allocated(struct ll_memory *memory, uint64_t address, uint64_t size_bytes)
{
    struct ll_stretch_of_memory at = ll_stretch(address, 1, size_bytes, size_bytes);
    if (at.rows == 0 || ll_add(address, size_bytes) >= INT64_MAX)
        return;
    memory->parts.count = 0;
    ll_regions_take(&memory->allocations, &at, &memory->parts);
    struct ll_region region = region_of(&at, &at, LL_NONE, LL_NONE, LL_NONE);
    ll_regions_put(&memory->allocations, &region);
    forget(memory, &at);
}

void ll_memory_freed(struct ll_memory *memory, uint64_t address)
{
    const struct ll_region *found = ll_regions_from(&memory->allocations, address);
    if (!found)
        return;
    struct ll_stretch_of_memory at = found->at;
    memory->parts.count = 0;
    ll_regions_take(&memory->allocations, &at, &memory->parts);
    forget(memory, &at);
}
