/* SPDX-License-Identifier: Apache-2.0 */
/* Peak memory of a pipeline stage with several micro-batches in flight. The first section finds the rank that
 * needs most in a trace of several ranks. */
#include "sim/parallel/stage_memory.h"

#include <string.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/spread.h"

/* The fullest of several ranks. One walk over the ops keeps the sum of live bytes of each rank; then follows
 * the footprint of the rank with the largest sum, as if no other rank had any storage. */

struct ranks {
    const struct ll_trace *trace;
    struct ll_life *lives;
    uint32_t *rank_of; /* by storage; LL_NONE where no op touches it */
    struct ll_chains births, deaths;
    uint64_t *live_bytes, *most_bytes; /* by rank */
};

static void claim(struct ranks *r, uint32_t tensor, uint32_t rank)
{
    uint32_t *owner = &r->rank_of[r->trace->tensors[tensor].storage];
    *owner = *owner == LL_NONE ? rank : *owner;
}

static void find_owners(struct ranks *r)
{
    const struct ll_trace *trace = r->trace;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
        for (uint32_t i = 0; i < view->input_count; i++)
            claim(r, ll_op_input(trace, op, i), trace->ops[op].thread);
        for (uint32_t i = 0; i < view->output_count; i++)
            claim(r, ll_op_output(trace, op, i), trace->ops[op].thread);
    }
}

static void sum_lives(struct ranks *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        for (uint32_t s = r->births.first[op]; s != LL_NONE; s = r->births.next[s]) {
            uint32_t rank = r->rank_of[s];
            if (rank == LL_NONE)
                continue;
            r->live_bytes[rank] = ll_add(r->live_bytes[rank], r->lives[s].bytes);
            r->most_bytes[rank] = ll_max(r->most_bytes[rank], r->live_bytes[rank]);
        }
        for (uint32_t s = r->deaths.first[op]; s != LL_NONE; s = r->deaths.next[s]) {
            uint32_t rank = r->rank_of[s];
            if (rank != LL_NONE)
                r->live_bytes[rank] = ll_sub(r->live_bytes[rank], r->lives[s].bytes);
        }
    }
}

static bool make_room(struct ranks *r, uint32_t ranks, struct ll_arena *arena)
{
    const struct ll_trace *trace = r->trace;
    r->lives = ll_lives(trace, arena);
    r->rank_of = ll_alloc(arena, trace->storage_count + 1, sizeof *r->rank_of);
    r->live_bytes = ll_alloc(arena, ranks, sizeof *r->live_bytes);
    r->most_bytes = ll_alloc(arena, ranks, sizeof *r->most_bytes);
    if (!r->lives || !r->rank_of || !r->live_bytes || !r->most_bytes)
        return false;
    memset(r->rank_of, 0xff, trace->storage_count * sizeof *r->rank_of);
    return ll_chain(trace, r->lives, false, &r->births, arena) &&
           ll_chain(trace, r->lives, true, &r->deaths, arena);
}

bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    struct ranks r = {.trace = trace};
    uint32_t fullest = 0;
    bool done = make_room(&r, ranks, &arena);
    if (done) {
        find_owners(&r);
        sum_lives(&r);
        for (uint32_t rank = 1; rank < ranks; rank++)
            fullest = r.most_bytes[rank] > r.most_bytes[fullest] ? rank : fullest;
        for (uint64_t s = 0; s < trace->storage_count; s++)
            r.lives[s].first = r.rank_of[s] == fullest ? r.lives[s].first : LL_NONE;
        done = ll_footprint_of_lives(trace, r.lives, footprint);
    }
    ll_arena_release(&arena);
    return done;
}

bool ll_added_gradients(const struct ll_trace *program, uint64_t *bytes)
{
    struct ll_arena scratch = {0};
    bool *added = ll_alloc(&scratch, program->storage_count + 1, sizeof *added);
    *bytes = 0;
    for (uint32_t op = 0; added && op < program->op_count; op++) {
        const struct ll_form *form = &program->forms[program->ops[op].form];
        for (uint32_t i = 0; ll_is_once(program, form) && i < form->view.input_count; i++) {
            const struct ll_tensor *tensor = &program->tensors[ll_op_input(program, op, i)];
            const struct ll_desc *desc = &program->descs[tensor->desc];
            bool made = tensor->producer != LL_NONE &&
                        !ll_is_once(program, &program->forms[program->ops[tensor->producer].form]);
            if (!made || desc->memory != LL_GRADIENT || added[tensor->storage])
                continue;
            added[tensor->storage] = true;
            *bytes = ll_add(*bytes, ll_size_bytes(&desc->shape));
        }
    }
    ll_arena_release(&scratch);
    return added;
}

/* Gradients that an op of the phases comm or update reads are there when the next micro-batch comes. Those of
 * a later step take the place of the first one's. */
static void keep_gradients(const struct ll_trace *program, struct ll_life *lives)
{
    for (uint32_t op = 0; op < program->op_count; op++) {
        const struct ll_form *form = &program->forms[program->ops[op].form];
        if (!ll_is_once(program, form))
            continue;
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            struct ll_life *life = &lives[program->tensors[ll_op_input(program, op, i)].storage];
            if (life->memory != LL_GRADIENT || life->first == LL_NONE)
                continue;
            bool later = program->ops[life->first].step != program->ops[0].step;
            life->first = later ? LL_NONE : 0;
            life->last = (uint32_t)(program->op_count - 1);
        }
    }
}

/* Casts that several micro-batches read are there all along; those of a later step take the place of the
 * first one's. */
static void keep_casts(const struct ll_trace *program, struct ll_life *lives)
{
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (!ll_is_lasting_cast(program, &program->forms[program->ops[op].form]))
            continue;
        struct ll_life *life = &lives[program->tensors[ll_op_output(program, op, 0)].storage];
        life->first = program->ops[op].step != program->ops[0].step ? LL_NONE : 0;
        life->last = (uint32_t)(program->op_count - 1);
    }
}

uint32_t ll_end_of_forward(const struct ll_trace *program)
{
    uint32_t last = LL_NONE;
    for (uint32_t op = 0; op < program->op_count && program->ops[op].step == program->ops[0].step; op++)
        if (program->forms[program->ops[op].form].phase == LL_PHASE_FORWARD)
            last = op;
    return last;
}

static bool lasts(const struct ll_trace *program, const struct ll_life *life)
{
    return life->first == 0 && life->last == program->op_count - 1 && life->memory != LL_ACTIVATION;
}

static void add(struct ll_class_bytes *sum, uint32_t memory, uint64_t bytes)
{
    sum->of[memory] = ll_add(sum->of[memory], bytes);
}

static uint64_t all_of(const struct ll_class_bytes *bytes)
{
    uint64_t all = 0;
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        all = ll_add(all, bytes->of[c]);
    return all;
}

static void sum_kept(const struct ll_trace *program, const struct ll_life *lives,
                     struct ll_piece_memory *memory)
{
    uint32_t boundary = ll_end_of_forward(program);
    for (uint64_t s = 0; s < program->storage_count; s++) {
        const struct ll_life *life = &lives[s];
        if (life->first == LL_NONE)
            continue;
        struct ll_kind_bytes *kind = &memory->kinds[ll_training_memory_of(life)];
        if (lasts(program, life)) {
            add(&memory->lasting, life->memory, life->bytes);
            kind->lasting = ll_add(kind->lasting, life->bytes);
        } else if (boundary != LL_NONE && life->first <= boundary && life->last > boundary) {
            add(&memory->kept, life->memory, life->bytes);
            kind->kept = ll_add(kind->kept, life->bytes);
        }
    }
}

/* Births and deaths of a kind of memory, of all with LL_HOLDS_COUNT: [2 op] is born with an op, [2 op + 1]
 * dies after it. */
static void find_changes(const struct ll_trace *program, const struct ll_life *lives, unsigned kind,
                         uint64_t *changes)
{
    memset(changes, 0, 2 * program->op_count * sizeof *changes);
    for (uint64_t s = 0; s < program->storage_count; s++) {
        if (lives[s].first == LL_NONE || (kind < LL_HOLDS_COUNT && ll_training_memory_of(&lives[s]) != kind))
            continue;
        uint64_t born = 2 * (uint64_t)lives[s].first, dead = 2 * (uint64_t)lives[s].last + 1;
        changes[born] = ll_add(changes[born], lives[s].bytes);
        changes[dead] = ll_add(changes[dead], lives[s].bytes);
    }
}

/* The most that lives at once, and the first op at which it does. */
static uint64_t find_peak(uint64_t op_count, const uint64_t *changes, uint32_t *peak)
{
    uint64_t live_bytes = 0, most_bytes = 0;
    *peak = 0;
    for (uint32_t op = 0; op < op_count; op++) {
        live_bytes = ll_add(live_bytes, changes[2 * (uint64_t)op]);
        if (live_bytes > most_bytes) {
            most_bytes = live_bytes;
            *peak = op;
        }
        live_bytes = ll_sub(live_bytes, changes[2 * (uint64_t)op + 1]);
    }
    return most_bytes;
}

static void sum_peak(const struct ll_trace *program, const struct ll_life *lives, uint32_t peak,
                     struct ll_piece_memory *memory)
{
    for (uint64_t s = 0; s < program->storage_count; s++)
        if (lives[s].first != LL_NONE && lives[s].first <= peak && lives[s].last >= peak)
            add(&memory->peak, lives[s].memory, lives[s].bytes);
}

static bool is_of_samples(const struct ll_shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_BATCH)
            return true;
    return false;
}

bool *ll_find_carried(const struct ll_trace *program, struct ll_arena *arena)
{
    bool *brought = ll_alloc(arena, program->storage_count + 1, sizeof *brought);
    bool *carried = ll_alloc(arena, program->storage_count + 1, sizeof *carried);
    for (uint64_t i = 0; brought && carried && i < program->tensor_count; i++) {
        const struct ll_tensor *tensor = &program->tensors[i];
        const struct ll_desc *desc = &program->descs[tensor->desc];
        if (tensor->producer == LL_NONE)
            brought[tensor->storage] |= desc->memory == LL_ACTIVATION && is_of_samples(&desc->shape);
        else if (program->forms[program->ops[tensor->producer].form].bytes_written > 0)
            carried[tensor->storage] |= brought[tensor->storage];
    }
    return brought ? carried : NULL;
}

/* What all micro-batches carry is there all along, of which a pass alone has that of one. */
static bool add_carried(const struct ll_trace *program, const struct ll_life *lives, uint64_t micro_batches,
                        struct ll_arena *arena, struct ll_piece_memory *memory)
{
    const bool *carried = ll_find_carried(program, arena);
    struct ll_kind_bytes *kind = &memory->kinds[LL_HOLDS_FEATURE_MAPS];
    uint64_t bytes = 0;
    for (uint64_t s = 0; carried && s < program->storage_count; s++)
        bytes = carried[s] ? ll_add(bytes, lives[s].bytes) : bytes;
    uint64_t all = ll_mul(bytes, micro_batches), others = ll_sub(all, bytes);
    add(&memory->peak, LL_ACTIVATION, others);
    add(&memory->lasting, LL_ACTIVATION, all);
    kind->peak = ll_add(kind->peak, others);
    kind->lasting = ll_add(kind->lasting, all);
    return carried;
}

bool ll_piece_memory(const struct ll_trace *program, uint64_t micro_batches, struct ll_piece_memory *memory)
{
    struct ll_arena arena = {0};
    struct ll_life *lives = ll_lives(program, &arena);
    uint64_t *changes = ll_alloc(&arena, 2 * program->op_count, sizeof *changes);
    bool done = lives && changes;
    uint32_t peak;
    *memory = (struct ll_piece_memory){0};
    if (done && micro_batches > 1) {
        keep_gradients(program, lives);
        keep_casts(program, lives);
    }
    for (unsigned kind = 0; done && kind <= LL_HOLDS_COUNT; kind++) {
        find_changes(program, lives, kind, changes);
        uint64_t most_bytes = find_peak(program->op_count, changes, &peak);
        if (kind < LL_HOLDS_COUNT)
            memory->kinds[kind].peak = most_bytes;
        else
            sum_peak(program, lives, peak, memory);
    }
    if (done)
        sum_kept(program, lives, memory);
    done = done && add_carried(program, lives, micro_batches, &arena, memory);
    ll_arena_release(&arena);
    return done;
}

/* A kind of memory of a piece; of all kinds with LL_HOLDS_COUNT. */
static struct ll_kind_bytes bytes_of(const struct ll_piece_memory *piece, int kind)
{
    if (kind < LL_HOLDS_COUNT)
        return piece->kinds[kind];
    return (struct ll_kind_bytes){all_of(&piece->peak), all_of(&piece->lasting), all_of(&piece->kept)};
}

/* The worst one of a kind of memory on a stage. */
struct moment {
    uint64_t bytes, at_work; /* at_work: a piece */
    uint64_t *waiting;       /* by piece: passes in flight but for the one at work */
};

/* Either pass of a piece is taken to have its worst moment. */
static void walk(const struct ll_kind_bytes *pieces, const struct ll_pipeline_shape *shape, uint64_t stage,
                 uint64_t *flying, struct moment *worst)
{
    uint64_t slots = ll_schedule_slot_count(shape), held_bytes = 0;
    for (uint64_t c = 0; c < shape->chunks; c++)
        held_bytes = ll_add(held_bytes, pieces[c].lasting);
    for (uint64_t i = 0; i < slots; i++) {
        struct ll_schedule_slot slot = ll_schedule_slot_at(shape, stage, i);
        const struct ll_kind_bytes *piece = &pieces[slot.chunk];
        flying[slot.chunk] += !slot.backward;
        held_bytes = ll_add(held_bytes, slot.backward ? 0 : piece->kept);
        uint64_t here = ll_add(piece->lasting, piece->kept);
        uint64_t bytes = ll_add(held_bytes, ll_sub(piece->peak, ll_min(piece->peak, here)));
        if (bytes > worst->bytes) {
            worst->bytes = bytes;
            worst->at_work = slot.chunk;
            memcpy(worst->waiting, flying, shape->chunks * sizeof *flying);
            worst->waiting[slot.chunk]--;
        }
        flying[slot.chunk] -= slot.backward;
        held_bytes = ll_sub(held_bytes, slot.backward ? piece->kept : 0);
    }
}

/* A piece alone has most in flight whenever it goes back. */
static bool find_worst(const struct ll_piece_memory *memory, const struct ll_pipeline_shape *shape,
                       uint64_t stage, int kind, struct ll_arena *arena, struct moment *worst)
{
    struct ll_kind_bytes *pieces = ll_alloc(arena, shape->chunks, sizeof *pieces);
    uint64_t *flying = ll_alloc(arena, shape->chunks, sizeof *flying);
    *worst = (struct moment){.waiting = ll_alloc(arena, shape->chunks, sizeof *worst->waiting)};
    if (!pieces || !flying || !worst->waiting)
        return false;
    for (uint64_t c = 0; c < shape->chunks; c++)
        pieces[c] = bytes_of(&memory[c], kind);
    if (shape->chunks > 1) {
        walk(pieces, shape, stage, flying, worst);
        return true;
    }
    worst->waiting[0] = ll_stage_in_flight(shape, stage) - 1;
    worst->bytes = ll_add(pieces[0].peak, ll_mul(worst->waiting[0], pieces[0].kept));
    return true;
}

/* `times` as much of each class. */
static void add_times(struct ll_footprint *footprint, const struct ll_class_bytes *bytes, uint64_t times)
{
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        footprint->class_bytes[c] = ll_add(footprint->class_bytes[c], ll_mul(times, bytes->of[c]));
}

uint64_t ll_stage_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage)
{
    return shape->stages == 1 ? 1 : ll_slots_in_flight(shape, stage);
}

bool ll_stage_memory(const struct ll_piece_memory *pieces, const struct ll_pipeline_shape *shape,
                     uint64_t stage, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    struct moment worst;
    bool done = find_worst(pieces, shape, stage, LL_HOLDS_COUNT, &arena, &worst);
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    for (uint64_t c = 0; done && c < shape->chunks; c++) {
        add_times(footprint, c == worst.at_work ? &pieces[c].peak : &pieces[c].lasting, 1);
        add_times(footprint, &pieces[c].kept, worst.waiting[c]);
    }
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        footprint->peak_bytes = ll_add(footprint->peak_bytes, footprint->class_bytes[c]);
    for (int kind = 0; done && kind < LL_HOLDS_COUNT; kind++) {
        done = find_worst(pieces, shape, stage, kind, &arena, &worst);
        footprint->most_bytes[kind] = worst.bytes;
    }
    ll_arena_release(&arena);
    return done;
}
