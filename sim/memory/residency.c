/* SPDX-License-Identifier: Apache-2.0 */
/* Reuse distances in one walk over the operands (Bennett and Kruskal, IBM J. Res. Dev. 19, 1975). Each
 * access has a place on a line; a storage's bytes stand at the place of its latest access, so the distinct
 * bytes touched since then are the sum to the right of that place:
 *
 *       place    1   2   3   4   5          access 6 touches y again:
 *       storage  x   y   x   z   z          distance = bytes of x + bytes of z
 *       bytes    -   y   x   -   z          then y's bytes move from 2 to 6
 *
 * A Fenwick tree holds the line, so each access costs the logarithm of their number.
 *
 * An op that moves less than the tensors it is given (a gather) counts with what it moves. Nobody knows which
 * part that is, so it finds nothing, and its bytes take a place of their own that is never met again. What
 * comes from the host lands in the outermost memory. */
#include "sim/memory/residency.h"

#include <stdlib.h>

/* What a walk knows about a storage. */
struct track {
    uint64_t size_bytes; /* of the largest tensor on it */
    uint64_t place;      /* of its latest access; 0 when none of its bytes can be on chip */
    uint64_t write;      /* 1 + index of the reuse of its latest write; 0 when that is settled */
    uint64_t farthest;   /* largest distance since that write */
    bool read_since;
};

struct walk {
    const struct ll_trace *trace;
    struct track *tracks; /* by storage */
    uint64_t *line;       /* Fenwick tree over places 1..count */
    uint64_t count, place;
    uint64_t total_bytes; /* standing on the line */
    uint64_t limit_bytes; /* an access counts with at most this, so that no sum passes 64 bits */
    uint64_t *first;
    struct ll_reuse *reuses;
};

static void put(struct walk *walk, uint64_t place, uint64_t bytes)
{
    for (; place <= walk->count; place += place & -place)
        walk->line[place] += bytes; /* wraps for a removal; every sum is right again */
    walk->total_bytes += bytes;
}

static uint64_t bytes_after(const struct walk *walk, uint64_t place)
{
    uint64_t until = 0;
    for (; place; place -= place & -place)
        until += walk->line[place];
    return walk->total_bytes - until;
}

static uint64_t weight(const struct walk *walk, uint64_t bytes)
{
    return ll_min(bytes, walk->limit_bytes);
}

static void forget(struct walk *walk, struct track *track)
{
    if (track->place)
        put(walk, track->place, -weight(walk, track->size_bytes));
    track->place = 0;
}

/* Takes the next place for a storage; the distance to its previous one. */
static uint64_t touch(struct walk *walk, struct track *track)
{
    uint64_t distance = track->place ? bytes_after(walk, track->place) : LL_NO_FIT;
    forget(walk, track);
    track->place = ++walk->place;
    put(walk, track->place, weight(walk, track->size_bytes));
    track->farthest = ll_max(track->farthest, distance);
    return distance;
}

/* How an op touches a tensor when all its tensors on that side have `moved` bytes: whole, or a part. */
static bool touches_whole(struct walk *walk, uint32_t tensor, uint64_t moved, struct ll_reuse *reuse)
{
    const struct ll_trace *trace = walk->trace;
    uint64_t bytes = ll_size_bytes(&trace->descs[trace->tensors[tensor].desc].shape);
    *reuse = (struct ll_reuse){ll_min(bytes, moved), LL_NO_FIT};
    if (bytes > moved)
        put(walk, ++walk->place, weight(walk, moved));
    return bytes <= moved;
}

static void read_operand(struct walk *walk, uint32_t tensor, uint64_t moved, struct ll_reuse *reuse)
{
    struct track *track = &walk->tracks[walk->trace->tensors[tensor].storage];
    track->read_since = true;
    if (touches_whole(walk, tensor, moved, reuse))
        reuse->distance = touch(walk, track);
    else
        track->farthest = LL_NO_FIT; /* what finds nothing on chip needs it to have gone out */
}

/* The latest write of a storage is settled: its bytes end here after having been at most that far. */
static void settle(struct walk *walk, struct track *track, bool stayed)
{
    if (track->write)
        walk->reuses[track->write - 1].distance = stayed ? track->farthest : LL_NO_FIT;
    track->write = 0;
}

static void write_operand(struct walk *walk, uint32_t tensor, uint64_t moved, struct ll_reuse *reuse)
{
    struct track *track = &walk->tracks[walk->trace->tensors[tensor].storage];
    if (!touches_whole(walk, tensor, moved, reuse))
        return;
    touch(walk, track);
    settle(walk, track, track->write && walk->reuses[track->write - 1].bytes <= reuse->bytes);
    track->write = (uint64_t)(reuse - walk->reuses) + 1;
    track->farthest = 0;
    track->read_since = false;
}

static bool from_host(const struct ll_form *form)
{
    return form->phase == LL_PHASE_INPUT ||
           (form->view.kind < LL_OP_COUNT && ll_op_class(form->view.kind) == LL_CLASS_INPUT);
}

static void visit_op(struct walk *walk, uint32_t op)
{
    const struct ll_trace *trace = walk->trace;
    const struct ll_form *form = &trace->forms[trace->ops[op].form];
    struct ll_reuse *reuse = &walk->reuses[walk->first[op]];
    bool idle = form->bytes_read == 0 && form->bytes_written == 0, host = from_host(form);
    for (uint32_t i = 0; i < form->view.input_count; i++, reuse++)
        if (idle)
            *reuse = (struct ll_reuse){0, LL_NO_FIT};
        else
            read_operand(walk, ll_op_input(trace, op, i), form->bytes_read, reuse);
    for (uint32_t i = 0; i < form->view.output_count; i++, reuse++) {
        uint32_t tensor = ll_op_output(trace, op, i);
        *reuse = (struct ll_reuse){0, LL_NO_FIT};
        if (host)
            forget(walk, &walk->tracks[trace->tensors[tensor].storage]);
        else if (!idle)
            write_operand(walk, tensor, form->bytes_written, reuse);
    }
}

static bool dies(enum ll_memory_class memory)
{
    return memory == LL_ACTIVATION || memory == LL_GRADIENT || memory == LL_WORKSPACE;
}

/* What was written last is over with its last use, unless it outlives the trace or nobody used it. */
static void settle_all(struct walk *walk)
{
    const struct ll_trace *trace = walk->trace;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        struct track *track = &walk->tracks[trace->tensors[i].storage];
        enum ll_memory_class memory = (enum ll_memory_class)trace->descs[trace->tensors[i].desc].memory;
        settle(walk, track, dies(memory) && track->read_since);
    }
}

static void measure_storages(struct walk *walk)
{
    const struct ll_trace *trace = walk->trace;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        struct track *track = &walk->tracks[trace->tensors[i].storage];
        uint64_t bytes = ll_size_bytes(&trace->descs[trace->tensors[i].desc].shape);
        track->size_bytes = ll_max(track->size_bytes, bytes);
    }
    walk->limit_bytes = LL_NO_FIT / (walk->count + 1);
}

/* Offsets of the ops' operands; how many there are in all, LL_NO_FIT when memory ran out. */
static uint64_t lay_out(const struct ll_trace *trace, struct ll_arena *arena, uint64_t **first)
{
    uint64_t count = 0;
    *first = ll_alloc(arena, trace->op_count + 1, sizeof **first);
    if (!*first)
        return LL_NO_FIT;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
        (*first)[op] = count;
        count += (uint64_t)view->input_count + view->output_count;
    }
    (*first)[trace->op_count] = count;
    return count;
}

const struct ll_residency *ll_residency_new(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct walk walk = {.trace = trace};
    walk.count = lay_out(trace, arena, &walk.first);
    if (!ll_fits(walk.count))
        return NULL;
    struct ll_residency *residency = ll_alloc(arena, 1, sizeof *residency);
    walk.reuses = ll_alloc(arena, walk.count, sizeof *walk.reuses);
    walk.tracks = calloc(trace->storage_count + 1, sizeof *walk.tracks);
    walk.line = calloc(walk.count + 1, sizeof *walk.line);
    bool ready = residency && walk.reuses && walk.tracks && walk.line;
    if (ready) {
        measure_storages(&walk);
        for (uint64_t op = 0; op < trace->op_count; op++)
            visit_op(&walk, (uint32_t)op);
        settle_all(&walk);
        *residency = (struct ll_residency){walk.first, walk.reuses};
    }
    free(walk.tracks);
    free(walk.line);
    return ready ? residency : NULL;
}

/* A memory serves the next op only where there is but one of it, and where nothing passes by it. */
static bool shared(const struct ll_machine *machine, uint64_t level)
{
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        if (!ll_level_holds(&machine->levels[level], i))
            return false;
    return ll_machine_instances(machine, level) == 1;
}

static double kept_bytes(const struct ll_residency *residency, uint32_t op, uint64_t held,
                         uint64_t capacity_bytes)
{
    double kept = 0;
    uint64_t first = residency->first[op];
    for (uint64_t i = first; i < residency->first[op + 1]; i++) {
        const struct ll_reuse *reuse = &residency->reuses[i];
        if (i - first < 64 && (held >> (i - first) & 1))
            kept += (double)reuse->bytes;
        else if (reuse->distance < capacity_bytes)
            kept += (double)ll_min(reuse->bytes, capacity_bytes - reuse->distance);
    }
    return kept;
}

void ll_residency_saved(const struct ll_residency *residency, const struct ll_machine *machine, uint32_t op,
                        uint64_t held, double saved_bytes[LL_MAX_LEVELS])
{
    uint64_t inside = 0; /* capacity of the largest shared level further in */
    for (uint64_t l = 0; l < LL_MAX_LEVELS; l++) {
        saved_bytes[l] = kept_bytes(residency, op, held, inside);
        if (l < machine->level_count && shared(machine, l))
            inside = ll_max(inside, machine->levels[l].size_bytes);
        if (l + 1 >= machine->level_count)
            inside = 0;
    }
}
