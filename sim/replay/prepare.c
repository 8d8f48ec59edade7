/* SPDX-License-Identifier: Apache-2.0 */
/* What is found out once: ll_prepare derives from a trace its dependencies, liveness, reuse distances and the
 * work of each signature, which hold for every machine; ll_forms_cost asks a machine for the cost of each
 * signature.
 *
 * The section between them is the fusion of element-wise ops. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/cost/memo.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_parts.h"
#include "tracer/base/map.h"
#include "tracer/ir/profile.h"

/* Before its first op the device has nothing to compute: what ops of the input phase do, the host does. */
static bool is_computed(uint64_t kind)
{
    return kind != LL_WORK_NOTHING && kind != LL_WORK_WAIT;
}

static bool lower_signatures(struct ll_prepared *prepared, struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_work *works = ll_alloc(arena, trace->signature_count + 1, sizeof *works);
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    bool all = works != NULL;
    for (uint64_t i = 0; works && i < trace->signature_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[i];
        if (signature->view.kind == LL_OP_NONE)
            all = ll_complain(diags, place, "op kind `%s` is not known here, so nobody can say what it costs",
                              trace->strings[signature->kind_name]);
        else if (!ll_op_lower(&signature->view, &works[i]))
            all = ll_complain(diags, place, "an op `%s` is so large that its size does not fit in 64 bits",
                              trace->strings[signature->kind_name]);
        else if (signature->phase == LL_PHASE_INPUT && is_computed((enum ll_work_kind)works[i].kind))
            works[i].kind = LL_WORK_HOST;
    }
    prepared->works = works;
    return all;
}

/* The first op of each signature. False when memory ran out. */
static bool find_firsts(struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    uint32_t *firsts = ll_alloc(arena, trace->signature_count + 1, sizeof *firsts);
    bool *known = calloc(trace->signature_count + 1, sizeof *known);
    for (uint32_t seq = prepared->first_op; firsts && known && seq < prepared->end_op; seq++) {
        const uint32_t signature = trace->ops[seq].signature;
        if (!known[signature])
            firsts[prepared->first_count++] = seq;
        known[signature] = true;
    }
    prepared->firsts = firsts;
    free(known);
    return firsts && known;
}

/* Forms that differ by their place or names alone. False when memory ran out. */
static bool find_same(struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_map works = {0};
    uint32_t *same = ll_alloc(arena, trace->signature_count + 1, sizeof *same);
    uint32_t *first = ll_alloc(arena, trace->signature_count + 1, sizeof *first); /* by id */
    bool right = same && first;
    for (uint32_t i = 0; right && i < trace->signature_count; i++) {
        struct {
            uint64_t kind;
            struct ll_work work;
        } key = {trace->signatures[i].view.kind, prepared->works[i]}; /* as in sim/cost/memo.c: no padding */
        bool is_new;
        uint32_t id = ll_map_intern(&works, &key, sizeof key, &is_new);
        right = id != LL_NO_ID;
        if (right && is_new)
            first[id] = i;
        same[i] = right ? first[id] : 0;
    }
    ll_map_release(&works);
    prepared->same = same;
    return right;
}

/* Totals a step, and the element type in which most FLOPs are done (the first of equals). */
static void count(struct ll_prepared *prepared)
{
    double by_dtype[LL_DTYPE_COUNT] = {0}, bytes = 0, flops = 0;
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++) {
        const struct ll_op_signature *signature =
            &prepared->trace->signatures[prepared->trace->ops[i].signature];
        flops += (double)signature->flops;
        bytes += (double)signature->bytes_read + (double)signature->bytes_written;
        by_dtype[prepared->works[prepared->trace->ops[i].signature].dtype] += (double)signature->flops;
    }
    prepared->flops = flops / (double)prepared->steps;
    prepared->bytes = bytes / (double)prepared->steps;
    prepared->dtype = LL_F32;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        if (by_dtype[i] > by_dtype[prepared->dtype])
            prepared->dtype = (enum ll_dtype)i;
}

/* What of an op is the same on every machine whose caches keep no history: its work, fusion and reuse of
 * bytes, and in a pipeline of layers those of the op behind it, whose hash is `next`. */
static void hash_of(const struct ll_prepared *prepared, uint32_t seq, const struct ll_reuse_hash *next,
                    struct ll_reuse_hash *hash)
{
    uint64_t follows = 0;
    *hash = (struct ll_reuse_hash){{prepared->same[prepared->trace->ops[seq].signature], 0}};
    for (enum ll_fusion f = LL_FUSION_NONE + 1; f < LL_FUSION_COUNT; f++) {
        if (!prepared->fused[f].packed[seq])
            continue;
        const struct ll_fused fused = ll_fused_of(&prepared->fused[f], seq);
        follows |= (uint64_t)fused.follows << f;
        ll_reuse_mix(hash, fused.held, f);
    }
    ll_reuse_mix(hash, follows, next != NULL);
    if (next)
        ll_reuse_mix(hash, next->half[0], next->half[1]);
    ll_residency_hash(prepared->residency, seq, hash);
}

/* Hashes and their numbers. */
struct numbers {
    struct number {
        struct ll_reuse_hash hash;
        uint32_t id; /* 1 + it; 0: nothing is here */
    } * at;
    uint64_t mask; /* places but one, a power of two */
    uint32_t count;
};

static struct number *place_of(const struct numbers *numbers, const struct ll_reuse_hash *hash)
{
    uint64_t i = hash->half[0] & numbers->mask;
    while (numbers->at[i].id > 0 &&
           (numbers->at[i].hash.half[0] != hash->half[0] || numbers->at[i].hash.half[1] != hash->half[1]))
        i = (i + 1) & numbers->mask;
    return &numbers->at[i];
}

/* Keeps a half of the places free. */
static bool make_place(struct numbers *numbers)
{
    const uint64_t places = numbers->mask + 1;
    if (numbers->at && numbers->count < places / 2)
        return true;
    struct numbers more = {.mask = numbers->at ? 2 * places - 1 : 1023, .count = numbers->count};
    more.at = calloc(more.mask + 1, sizeof *more.at);
    for (uint64_t i = 0; more.at && numbers->at && i < places; i++)
        if (numbers->at[i].id > 0)
            *place_of(&more, &numbers->at[i].hash) = numbers->at[i];
    if (!more.at)
        return false;
    free(numbers->at);
    *numbers = more;
    return true;
}

/* The number of a hash; LL_NONE when memory ran out. */
static uint32_t number_of(struct numbers *numbers, const struct ll_reuse_hash *hash)
{
    if (!make_place(numbers))
        return LL_NONE;
    struct number *number = place_of(numbers, hash);
    if (number->id == 0)
        *number = (struct number){*hash, ++numbers->count};
    return number->id - 1;
}

enum { AT_ONCE = 32 }; /* ops whose hashes are found before their numbers, while memory fetches these */

/* By op the number of its hash; *count of them. False when memory ran out. */
static bool number_ops(const struct ll_prepared *prepared, uint32_t *repeats, uint32_t *count)
{
    struct numbers numbers = {0};
    struct ll_reuse_hash hashes[2 * AT_ONCE]; /* by op modulo their number */
    bool right = make_place(&numbers);
    for (uint32_t end = prepared->end_op - prepared->first_op; right && end > 0;) {
        const uint32_t begin = end > AT_ONCE ? end - AT_ONCE : 0;
        for (uint32_t i = end; i-- > begin;) {
            const uint32_t seq = prepared->first_op + i,
                           next = ll_fused_as(prepared, LL_FUSION_LAYERS, seq).next;
            struct ll_reuse_hash *hash = &hashes[seq % (2 * AT_ONCE)];
            hash_of(prepared, seq, next > 0 ? &hashes[next % (2 * AT_ONCE)] : NULL, hash);
            __builtin_prefetch(&numbers.at[hash->half[0] & numbers.mask]);
        }
        for (uint32_t i = end; right && i-- > begin;) {
            repeats[i] = number_of(&numbers, &hashes[(prepared->first_op + i) % (2 * AT_ONCE)]);
            right = repeats[i] != LL_NONE;
        }
        end = begin;
    }
    *count = numbers.count;
    free(numbers.at);
    return right;
}

/* Ops that are the same on most machines. False when memory ran out. */
static bool find_repeats(struct ll_prepared *prepared, struct ll_arena *arena)
{
    const uint32_t count = prepared->end_op - prepared->first_op;
    uint32_t *repeats = ll_alloc(arena, count, sizeof *repeats), numbers = 0;
    bool right = repeats && number_ops(prepared, repeats, &numbers);
    uint32_t *seen = right ? calloc((size_t)numbers + 1, sizeof *seen) : NULL; /* by number: how often, then
                                                                                  the repeat's number */
    for (uint32_t i = 0; seen && i < count; i++)
        seen[repeats[i]]++;
    for (uint32_t i = 0; seen && i < numbers; i++)
        seen[i] = seen[i] > 1 ? prepared->repeat_count++ : LL_NONE;
    assert(prepared->repeat_count <= count / 2);
    for (uint32_t i = 0; seen && i < count; i++)
        repeats[i] = seen[repeats[i]];
    prepared->repeats = repeats;
    right = seen != NULL;
    free(seen);
    return right;
}

/* What has read a weight last, and how many times in a row. */
struct reads {
    enum ll_op_kind kind;
    enum ll_phase phase;
    uint32_t step, count;
};

const bool *ll_loop_turns(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct reads *reads = ll_alloc(arena, trace->storage_count + 1, sizeof *reads);
    bool *turns = ll_alloc(arena, prepared->end_op - prepared->first_op, sizeof *turns);
    uint32_t turn = 1;
    if (!reads || !turns)
        return NULL;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_signature *op = &trace->signatures[trace->ops[seq].signature];
        const uint32_t step = trace->ops[seq].step;
        uint32_t most = 0; /* times that its like have read one of its weights */
        for (uint32_t i = 0; i < op->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, seq, i)];
            if (trace->descs[tensor->desc].memory != LL_WEIGHT)
                continue;
            struct reads *read = &reads[tensor->storage];
            const bool again = read->count > 0 && read->step == step && read->kind == op->view.kind &&
                               read->phase == op->phase;
            *read = (struct reads){op->view.kind, op->phase, step, again ? read->count + 1 : 1};
            most = read->count > most ? read->count : most;
        }
        turns[seq - prepared->first_op] = most > 1 && most > turn;
        turn = most > 0 && (most == 1 || most > turn) ? most : turn;
    }
    return turns;
}

static bool find_fusions(struct ll_prepared *prepared, struct ll_arena *arena);

/* All that does not depend on a machine, in the order in which one needs the other. NULL after a complaint
 * or when memory ran out. */
static struct ll_prepared *prepare(const struct ll_trace *trace, struct ll_arena *arena,
                                   struct ll_diags *diags)
{
    struct ll_prepared *prepared = ll_alloc(arena, 1, sizeof *prepared);
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    if (!prepared)
        return NULL;
    prepared->trace = trace;
    ll_trace_range(trace, &prepared->first_op, &prepared->end_op, &prepared->steps);
    if (prepared->first_op == prepared->end_op) {
        ll_complain(diags, place, "the trace holds no op that could be replayed");
        return NULL;
    }
    prepared->steps = prepared->steps ? prepared->steps : 1;
    assert(prepared->first_op < prepared->end_op && prepared->end_op <= trace->op_count);
    if (!lower_signatures(prepared, arena, diags) || !find_same(prepared, arena))
        return NULL;
    count(prepared);
    prepared->deps = ll_trace_deps(trace, arena);
    prepared->residency = ll_residency_and_footprint(trace, arena, &prepared->footprint);
    bool whole = prepared->deps && prepared->residency;
    return whole && find_fusions(prepared, arena) && find_repeats(prepared, arena) &&
                   find_firsts(prepared, arena) && ll_find_equal_steps(prepared, arena)
               ? prepared
               : NULL;
}

const struct ll_prepared *ll_prepare(const struct ll_trace *trace, struct ll_arena *arena,
                                     struct ll_diags *diags)
{
    return prepare(trace, arena, diags);
}

static bool has_times(const struct ll_prepared *prepared)
{
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++)
        if (prepared->trace->ops[i].duration_ns > 0 &&
            prepared->works[prepared->trace->ops[i].signature].kind != LL_WORK_COLLECTIVE)
            return true;
    return false;
}

const struct ll_prepared *ll_prepare_as_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                 struct ll_diags *diags)
{
    struct ll_prepared *prepared = prepare(trace, arena, diags);
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    if (prepared && !has_times(prepared)) {
        ll_complain(diags, place, "no op has a recorded time: expected a recording, not a dry run");
        return NULL;
    }
    if (prepared)
        prepared->as_recorded = true;
    return prepared;
}

/* Fusion of element-wise ops, as compilers and hand-written epilogues do it: an element-wise op that reads
 * what the op right before it has just made takes it from registers and needs no start of its own; when
 * nobody else reads it, the result in between never goes to memory, but for what outlives the trace: an
 * updated weight is stored, whoever reads it next. What computes is counted as before. In chains the op
 * before is no GEMM, which a library does alone.
 *
 * A few ops that move next to nothing may stand between the two, as the running averages of a normalisation
 * do between it and its activation. */

enum {
    MOST_OPERANDS = 64,   /* bits of ll_fused.held */
    MOST_BETWEEN = 4,     /* ops: two moving averages, each written as one op or as two */
    NEXT_TO_NOTHING = 16, /* that often the bytes of each go into those that are passed on: assumed; what
                             belongs to channels is smaller than images by far more */
};

/* How many ops read each tensor; saturates at 255. NULL when memory ran out. */
static uint8_t *count_readers(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint8_t *readers = ll_alloc(arena, trace->tensor_count, sizeof *readers);
    for (uint32_t seq = 0; readers && seq < trace->op_count; seq++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[seq].signature].view;
        for (uint32_t i = 0; i < view->input_count; i++) {
            uint32_t tensor = ll_op_input(trace, seq, i);
            readers[tensor] = (uint8_t)(readers[tensor] + (readers[tensor] < UINT8_MAX));
        }
    }
    return readers;
}

bool ll_fusion_joins(enum ll_fusion fusion, enum ll_op_kind kind)
{
    bool layer = kind == LL_OP_MAX_POOL || kind == LL_OP_AVG_POOL || kind == LL_OP_LRN;
    return fusion != LL_FUSION_NONE &&
           (ll_op_class(kind) == LL_CLASS_ELEMENTWISE || (fusion == LL_FUSION_LAYERS && layer));
}

bool ll_fusion_leads(enum ll_fusion fusion, const struct ll_work *work)
{
    uint64_t kind = work->kind;
    if (fusion == LL_FUSION_NONE || (fusion == LL_FUSION_CHAINS && ll_is_gemm(work)))
        return false;
    return kind != LL_WORK_NOTHING && kind != LL_WORK_HOST && kind != LL_WORK_SWAP && kind != LL_WORK_WAIT &&
           kind != LL_WORK_COLLECTIVE;
}

/* Whether all ops between the leader and seq, which it would start with, move little beside its bytes. */
static bool stands_near(const struct ll_prepared *prepared, uint32_t leader, uint32_t seq,
                        double passed_bytes)
{
    bool near = seq - leader <= MOST_BETWEEN + 1;
    for (uint32_t between = leader + 1; near && between < seq; between++) {
        const struct ll_work *work = &prepared->works[prepared->trace->ops[between].signature];
        near = ll_work_bytes(work) * NEXT_TO_NOTHING <= passed_bytes;
    }
    return near;
}

/* By signature, a bit for each fusion: whether it joins, or leads. */
struct fusible {
    uint8_t joins, leads;
};

static struct fusible *find_fusible(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct fusible *fusible = ll_alloc(arena, trace->signature_count + 1, sizeof *fusible);
    for (uint64_t i = 0; fusible && i < trace->signature_count; i++)
        for (enum ll_fusion f = LL_FUSION_NONE + 1; f < LL_FUSION_COUNT; f++) {
            fusible[i].joins |= (uint8_t)(ll_fusion_joins(f, trace->signatures[i].view.kind) << f);
            fusible[i].leads |= (uint8_t)(ll_fusion_leads(f, &prepared->works[i]) << f);
        }
    return fusible;
}

/* The operand of op seq that was made last, and the op that made it, where the two may be fused: *fusions, a
 * bit for each. */
static uint32_t fused_operand(const struct ll_prepared *prepared, const struct fusible *fusible, uint32_t seq,
                              uint8_t *fusions)
{
    const struct ll_trace *trace = prepared->trace;
    const struct ll_op_view *view = &trace->signatures[trace->ops[seq].signature].view;
    uint32_t last = LL_NONE, leader = 0;
    *fusions = fusible[trace->ops[seq].signature].joins;
    for (uint32_t i = 0; *fusions && i < view->input_count && i < MOST_OPERANDS; i++) {
        uint32_t producer = trace->tensors[ll_op_input(trace, seq, i)].producer;
        if (producer == LL_NONE || producer < prepared->first_op || (last != LL_NONE && producer <= leader))
            continue;
        last = i;
        leader = producer;
    }
    *fusions &= last == LL_NONE ? 0 : fusible[trace->ops[leader].signature].leads;
    if (*fusions && !stands_near(prepared, leader, seq, (double)ll_size_bytes(&view->in[last])))
        *fusions = 0;
    return last;
}

static bool writes_over(const struct ll_trace *trace, uint32_t seq, uint32_t storage)
{
    bool writes = false;
    for (uint32_t i = 0; i < trace->signatures[trace->ops[seq].signature].view.output_count; i++)
        writes |= trace->tensors[ll_op_output(trace, seq, i)].storage == storage;
    return writes;
}

/* Whether the tensor is of no use once op seq, which alone reads it, is done. */
static bool ends_with(const struct ll_trace *trace, uint32_t tensor, uint32_t seq)
{
    const struct ll_tensor *made = &trace->tensors[tensor];
    enum ll_memory_class memory = (enum ll_memory_class)trace->descs[made->desc].memory;
    bool lasts = memory == LL_WEIGHT || memory == LL_OPTIMIZER;
    return !lasts || writes_over(trace, seq, made->storage);
}

enum { LEADER_BIT = 1, NEXT_BIT = 4, DISTANCE_BITS = 3, HELD_BIT = 7, HELD_BITS = 24 };
#define WIDE (UINT32_C(1) << 31)
#define DISTANCE ((UINT32_C(1) << DISTANCE_BITS) - 1)
_Static_assert(MOST_BETWEEN + 1 < 1 << DISTANCE_BITS, "distances fit");

/* A fusion in the making. */
struct fusing {
    uint32_t *packed;
    struct ll_fused_wide *wide;
    uint64_t wide_count, wide_capacity;
};

struct ll_fused ll_fused_of(const struct ll_fused_ops *ops, uint32_t op)
{
    const uint32_t packed = ops->packed[op], back = packed >> LEADER_BIT & DISTANCE,
                   on = packed >> NEXT_BIT & DISTANCE;
    struct ll_fused fused = {.held = packed >> HELD_BIT,
                             .follows = packed & 1,
                             .leader = packed & 1 ? op - back : 0,
                             .next = on > 0 ? op + on : 0};
    if (packed & WIDE) {
        uint64_t low = 0, high = ops->wide_count;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            if (ops->wide[middle].op < op)
                low = middle + 1;
            else
                high = middle;
        }
        fused.held = ops->wide[low].held;
    }
    return fused;
}

/* That the op holds this operand: among the bits, or where there are too many, beside them. */
static bool hold(struct fusing *fusing, uint32_t op, uint32_t operand)
{
    uint32_t *packed = &fusing->packed[op];
    if (!(*packed & WIDE) && operand < HELD_BITS) {
        *packed |= UINT32_C(1) << (HELD_BIT + operand);
        return true;
    }
    uint64_t at = fusing->wide_count;
    while (at > 0 && fusing->wide[at - 1].op > op)
        at--;
    if (!(*packed & WIDE)) {
        if (!ll_grow(&fusing->wide, &fusing->wide_capacity, fusing->wide_count + 1, sizeof *fusing->wide))
            return false;
        memmove(fusing->wide + at + 1, fusing->wide + at, (fusing->wide_count - at) * sizeof *fusing->wide);
        fusing->wide[at++] = (struct ll_fused_wide){op, *packed >> HELD_BIT};
        fusing->wide_count++;
        *packed |= WIDE;
    }
    assert(fusing->wide[at - 1].op == op);
    fusing->wide[at - 1].held |= (uint64_t)1 << operand;
    return true;
}

/* What a fusion does to an op that starts with what made its operand; false when memory ran out. */
static bool fuse(const struct ll_trace *trace, uint32_t seq, uint32_t operand, bool held,
                 struct fusing *fusing)
{
    const uint32_t tensor = ll_op_input(trace, seq, operand), leader = trace->tensors[tensor].producer;
    const uint32_t output = trace->signatures[trace->ops[leader].signature].view.input_count +
                            (tensor - trace->ops[leader].first_output);
    fusing->packed[seq] |= 1 | (seq - leader) << LEADER_BIT;
    if (!hold(fusing, seq, operand))
        return false;
    if (!held || output >= MOST_OPERANDS)
        return true;
    fusing->packed[leader] = (fusing->packed[leader] & ~(DISTANCE << NEXT_BIT)) | (seq - leader) << NEXT_BIT;
    return hold(fusing, leader, output);
}

static bool fuse_ops(const struct ll_prepared *prepared, const uint8_t *readers,
                     const struct fusible *fusible, struct fusing fusings[LL_FUSION_COUNT])
{
    const struct ll_trace *trace = prepared->trace;
    bool whole = true;
    for (uint32_t seq = prepared->first_op + 1; whole && seq < prepared->end_op; seq++) {
        uint8_t fusions;
        const uint32_t operand = fused_operand(prepared, fusible, seq, &fusions);
        if (!fusions)
            continue;
        const uint32_t tensor = ll_op_input(trace, seq, operand);
        const bool held = readers[tensor] == 1 && ends_with(trace, tensor, seq);
        for (enum ll_fusion f = LL_FUSION_NONE + 1; whole && f < LL_FUSION_COUNT; f++)
            whole = !(fusions >> f & 1) || fuse(trace, seq, operand, held, &fusings[f]);
    }
    return whole;
}

/* What element-wise fusion would do to each op of the trace; works and range are there. In the arena, false
 * when memory ran out. */
static bool find_fusions(struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_arena scratch = {0};
    struct fusing fusings[LL_FUSION_COUNT] = {{0}};
    const uint8_t *readers = count_readers(trace, &scratch);
    const struct fusible *fusible = find_fusible(prepared, &scratch);
    bool whole = readers && fusible;
    for (enum ll_fusion f = LL_FUSION_NONE + 1; f < LL_FUSION_COUNT; f++) {
        fusings[f].packed = ll_alloc(arena, trace->op_count, sizeof *fusings[f].packed);
        whole = whole && fusings[f].packed;
    }
    whole = whole && fuse_ops(prepared, readers, fusible, fusings);
    for (enum ll_fusion f = LL_FUSION_NONE + 1; f < LL_FUSION_COUNT; f++) {
        const void *wide = ll_copy(arena, fusings[f].wide, fusings[f].wide_count * sizeof *fusings[f].wide);
        whole = whole && wide;
        prepared->fused[f] = (struct ll_fused_ops){fusings[f].packed, wide, fusings[f].wide_count};
        free(fusings[f].wide);
    }
    ll_arena_release(&scratch);
    return whole;
}

/* A type in which the machine computes, the one with the highest rate. */
static enum ll_dtype fastest_type(const struct ll_machine *machine)
{
    enum ll_dtype fastest = (enum ll_dtype)0;
    for (unsigned i = 1; i < LL_DTYPE_COUNT; i++)
        if (ll_machine_peak_flops(machine, (enum ll_dtype)i) > ll_machine_peak_flops(machine, fastest))
            fastest = (enum ll_dtype)i;
    return fastest;
}

/* Says once for each kind that the machine cannot run it, or once for all that it does not compute in such
 * a type; false. */
static bool refuse(const struct ll_signatures *signatures, enum ll_op_kind kind, const struct ll_work *work,
                   const char *trouble, bool refused[LL_OP_NONE], struct ll_diags *diags)
{
    struct ll_place place = {.file = signatures->machine->path};
    enum ll_dtype dtype = (enum ll_dtype)work->dtype, computed;
    if (!refused[kind] && ll_computed_peak_flops(signatures->machine, dtype, &computed) == 0) {
        const char *model = ll_trace_fact(signatures->prepared->trace, "model");
        ll_complain(diags, place,
                    "nothing of this machine computes in %s, as %s does, or a wider type; as %s it could be "
                    "simulated (--as; dtype in a sweep file)",
                    ll_dtype_name(dtype), model ? model : "the trace",
                    ll_dtype_name(fastest_type(signatures->machine)));
        memset(refused, true, LL_OP_NONE * sizeof *refused);
    }
    if (!refused[kind])
        ll_complain(diags, place, "%s in %s: %s", ll_op_name(kind), ll_dtype_name((enum ll_dtype)work->dtype),
                    trouble);
    refused[kind] = true;
    return false;
}

/* Says once for each kind that its exchange cannot be; false. */
static bool refuse_exchange(const struct ll_signatures *signatures, uint32_t seq, uint64_t devices,
                            const char *trouble, bool refused[LL_OP_NONE], struct ll_diags *diags)
{
    const struct ll_trace *trace = signatures->prepared->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
    const char *scope = trace->strings[signature->scope];
    struct ll_place place = {.file = signatures->machine->path};
    if (!refused[signature->view.kind] && devices > 0)
        ll_complain(diags, place, "op %" PRIu32 ", %s%s%s among %" PRIu64 " devices: %s", seq,
                    trace->strings[signature->kind_name], *scope ? " in " : "", scope, devices, trouble);
    else if (!refused[signature->view.kind])
        ll_complain(diags, place, "op %" PRIu32 ", %s%s%s: %s", seq, trace->strings[signature->kind_name],
                    *scope ? " in " : "", scope, trouble);
    refused[signature->view.kind] = true;
    return false;
}

/* False when memory ran out. */
static bool find_ranks(struct ll_signatures *signatures, struct ll_arena *arena)
{
    const struct ll_trace *trace = signatures->prepared->trace;
    if (ll_trace_ranks(trace) < 2)
        return true;
    signatures->ranks = ll_alloc(arena, trace->signature_count, sizeof *signatures->ranks);
    for (uint32_t i = signatures->prepared->first_op; signatures->ranks && i < signatures->prepared->end_op;
         i++) {
        struct ll_signature_ranks *ranks = &signatures->ranks[trace->ops[i].signature];
        uint32_t rank = trace->ops[i].thread;
        ranks->first = ranks->end == 0 || rank < ranks->first ? rank : ranks->first;
        ranks->end = rank >= ranks->end ? rank + 1 : ranks->end;
    }
    return signatures->ranks;
}

/* Of several ranks those send or receive at once that have such an op. */
static struct ll_asked asked_by(const struct ll_signatures *signatures, uint32_t signature)
{
    struct ll_asked asked = ll_asked_by(&signatures->prepared->trace->signatures[signature].view);
    if (signatures->ranks && asked.peer) {
        asked.first = signatures->ranks[signature].first;
        asked.span = signatures->ranks[signature].end - asked.first;
    }
    return asked;
}

/* The price of the exchange that this op, the first of its signature, asks for. */
static bool price_signature(struct ll_signatures *signatures, uint32_t seq, bool refused[LL_OP_NONE],
                            struct ll_diags *diags)
{
    static const struct ll_cost no_unit = {.unit = LL_NO_UNIT, .ways = 1};
    uint32_t signature = signatures->prepared->trace->ops[seq].signature;
    struct ll_asked asked = asked_by(signatures, signature);
    const struct ll_price *price = signatures->among->prices
                                       ? &signatures->among->prices[signature]
                                       : ll_exchanges_price(signatures->among->exchanges, &asked);
    const char *trouble = price ? price->trouble : "memory ran out";
    if (trouble)
        return refuse_exchange(signatures, seq, asked.peer ? 0 : asked.devices, trouble, refused, diags);
    signatures->prices[signature] = *price;
    if (!signatures->among->prices && signatures->among->over_slow_links &&
        signatures->among->over_slow_links[signature])
        ll_price_over_slow_links(&signatures->prices[signature], signatures->among->slow_links);
    signatures->ways[signature] = &no_unit;
    return true;
}

/* The costs of a signature, which are those of the first signature with the same work. They lie in the arena
 * unless the replay ends before the memo is turned. */
static bool cost_signature(struct ll_signatures *signatures, uint32_t signature, bool refused[LL_OP_NONE],
                           struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_among *among = signatures->among;
    const struct ll_work *work = &signatures->prepared->works[signature];
    enum ll_op_kind kind = signatures->prepared->trace->signatures[signature].view.kind;
    uint32_t same = signatures->prepared->same[signature];
    const struct ll_cost **ways = &signatures->ways[signature];
    const char *trouble = NULL;
    if (same != signature && signatures->known[same]) {
        *ways = signatures->ways[same];
        return true; /* of a refused one the complaint was made */
    }
    *ways = among->ways && among->ways[signature] ? among->ways[signature]
                                                  : ll_memo_cost(among->memo, kind, work, &trouble);
    if (*ways && !among->ways && !among->time_alone)
        *ways = ll_copy(arena, *ways, (*ways)->ways * sizeof **ways);
    return *ways || refuse(signatures, kind, work, trouble ? trouble : "memory ran out", refused, diags);
}

static bool has_exchanges(const struct ll_prepared *prepared)
{
    uint64_t signature = 0;
    while (signature < prepared->trace->signature_count &&
           prepared->works[signature].kind != LL_WORK_COLLECTIVE)
        signature++;
    return signature < prepared->trace->signature_count;
}

bool ll_signatures_cost(struct ll_signatures *signatures, struct ll_arena *arena, struct ll_diags *diags)
{
    assert(signatures->prepared && signatures->machine && signatures->among);
    const struct ll_prepared *prepared = signatures->prepared;
    const struct ll_trace *trace = prepared->trace;
    if (signatures->machine->core_type_count > 0)
        return ll_complain(diags, (struct ll_place){.file = signatures->machine->path},
                           "this machine has `cores`, whose tiles only leadline sim of one device schedules");
    bool refused[LL_OP_NONE] = {false}, all = true, exchanges = has_exchanges(prepared);
    signatures->ways = ll_alloc(arena, trace->signature_count, sizeof *signatures->ways);
    signatures->prices =
        exchanges ? ll_alloc(arena, trace->signature_count, sizeof *signatures->prices) : NULL;
    signatures->known = ll_alloc(arena, trace->signature_count, sizeof *signatures->known);
    if (!signatures->ways || !signatures->known ||
        (exchanges && (!signatures->prices || !find_ranks(signatures, arena))))
        return false;
    for (uint32_t i = 0; i < prepared->first_count; i++) {
        const uint32_t seq = prepared->firsts[i], signature = trace->ops[seq].signature;
        if (ll_signature_is_idle(signatures->among, signature))
            continue;
        all &= prepared->works[signature].kind == LL_WORK_COLLECTIVE
                   ? price_signature(signatures, seq, refused, diags)
                   : cost_signature(signatures, signature, refused, arena, diags);
        signatures->known[signature] = true;
    }
    return all;
}

/* Whether what was found may decide how it is done, by one of the ways. */
static bool is_reuse_sensitive(const struct ll_signatures *signatures, uint32_t signature,
                               const struct ll_warm_bytes *found)
{
    const struct ll_cost *ways = signatures->ways[signature];
    bool any = false;
    for (uint32_t i = 0; i < ways->ways; i++)
        any = any || ll_cost_is_reuse_sensitive(signatures->machine, &ways[i], found);
    return any;
}

/* The same ways once more; NULL when memory ran out. */
static const struct ll_cost *next_to(const struct ll_signatures *signatures, uint32_t signature,
                                     const struct ll_warm_bytes *found, struct ll_arena *arena)
{
    const struct ll_cost *alone = signatures->ways[signature];
    enum ll_op_kind kind = signatures->prepared->trace->signatures[signature].view.kind;
    struct ll_cost *ways = ll_alloc(arena, alone->ways, sizeof *ways);
    for (uint32_t i = 0; ways && i < alone->ways; i++)
        ll_cost_algorithm(signatures->machine, kind, &signatures->prepared->works[signature], alone[i].way,
                          &(struct ll_cache_context){found, &alone[i]}, &ways[i]);
    return ways;
}

const struct ll_cost *ll_signatures_algorithms(struct ll_signatures *signatures, uint32_t signature,
                                               const struct ll_warm_bytes *found, struct ll_arena *arena)
{
    assert(signature < signatures->prepared->trace->signature_count);
    struct { /* without gaps */
        uint64_t signature;
        struct ll_warm_bytes found;
    } key = {.signature = signatures->prepared->same[signature], .found = *found};
    bool is_new;
    if (!is_reuse_sensitive(signatures, signature, found))
        return signatures->ways[signature];
    uint32_t id = ll_map_intern(&signatures->keys, &key, sizeof key, &is_new);
    if (id == LL_NO_ID ||
        !ll_grow(&signatures->next_to, &signatures->capacity, (uint64_t)id + 1, sizeof *signatures->next_to))
        return NULL;
    if (is_new)
        signatures->next_to[id] = next_to(signatures, signature, found, arena);
    return signatures->next_to[id];
}

void ll_signatures_release(struct ll_signatures *signatures)
{
    ll_map_release(&signatures->keys);
    free(signatures->next_to);
}
