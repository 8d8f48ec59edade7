/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/stage_memory.h"

#include "sim/parallel/once.h"

#include <string.h>

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

uint64_t ll_passing_bytes(const struct ll_piece_memory *piece)
{
    uint64_t peak = all_of(&piece->peak), all_along = ll_add(all_of(&piece->lasting), all_of(&piece->kept));
    return ll_sub(peak, ll_min(peak, all_along));
}

/* `times` as much of each class. */
static void add_times(struct ll_footprint *footprint, const struct ll_class_bytes *bytes, uint64_t times)
{
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        footprint->class_bytes[c] = ll_add(footprint->class_bytes[c], ll_mul(times, bytes->of[c]));
}

/* Passes in flight are shared out among the pieces. */
static uint64_t passes_of(uint64_t piece, uint64_t count, uint64_t in_flight)
{
    return in_flight / count + (piece < in_flight % count);
}

static uint64_t kind_passing(const struct ll_piece_memory *piece, int kind)
{
    const struct ll_kind_bytes *bytes = &piece->kinds[kind];
    return ll_sub(bytes->peak, ll_min(bytes->peak, ll_add(bytes->lasting, bytes->kept)));
}

/* As the whole is summed, for one kind. */
static uint64_t most_of_kind(const struct ll_piece_memory *const *pieces, uint64_t count, uint64_t in_flight,
                             int kind)
{
    uint64_t worst = 0, bytes;
    for (uint64_t i = 1; i < count; i++)
        if (kind_passing(pieces[i], kind) > kind_passing(pieces[worst], kind))
            worst = i;
    bytes = pieces[worst]->kinds[kind].peak;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t passes = passes_of(i, count, in_flight), counted = i == worst && passes > 0;
        bytes = ll_add(bytes, ll_mul(passes - counted, pieces[i]->kinds[kind].kept));
        bytes = ll_add(bytes, i == worst ? 0 : pieces[i]->kinds[kind].lasting);
    }
    return bytes;
}

void ll_stage_memory(const struct ll_piece_memory *const *pieces, uint64_t count, uint64_t in_flight,
                     struct ll_footprint *footprint)
{
    uint64_t worst = 0;
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    for (uint64_t i = 1; i < count; i++)
        if (ll_passing_bytes(pieces[i]) > ll_passing_bytes(pieces[worst]))
            worst = i;
    add_times(footprint, &pieces[worst]->peak, 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t passes = passes_of(i, count, in_flight);
        bool counted = i == worst && passes > 0;
        add_times(footprint, &pieces[i]->kept, passes - counted);
        add_times(footprint, &pieces[i]->lasting, i != worst);
    }
    for (int c = 0; c < LL_MEMORY_COUNT; c++)
        footprint->peak_bytes = ll_add(footprint->peak_bytes, footprint->class_bytes[c]);
    for (int kind = 0; kind < LL_HOLDS_COUNT; kind++)
        footprint->most_bytes[kind] = most_of_kind(pieces, count, in_flight, kind);
}
