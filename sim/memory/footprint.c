/* SPDX-License-Identifier: Apache-2.0 */
/* The memory footprint of a trace, from the births and deaths of its storages: the peak and its classes, live
 * bytes over time, the footprint with fused updates, and Catamount's minimal footprint. */
#include "sim/memory/footprint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/ir/profile.h"
#include "tracer/ir/trace.h"

bool ll_chain(const struct ll_trace *trace, const struct ll_liveness *lives, bool deaths,
              struct ll_chains *chains, struct ll_arena *arena)
{
    chains->first = ll_alloc(arena, trace->op_count + 1, sizeof *chains->first);
    chains->next = ll_alloc(arena, trace->storage_count + 1, sizeof *chains->next);
    if (!chains->first || !chains->next)
        return false;
    memset(chains->first, 0xff, trace->op_count * sizeof *chains->first);
    for (uint64_t s = trace->storage_count; s-- > 0;) {
        if (lives[s].first == LL_NONE)
            continue;
        uint32_t op = deaths ? lives[s].last : lives[s].first;
        chains->next[s] = chains->first[op];
        chains->first[op] = (uint32_t)s;
    }
    return true;
}

enum ll_training_memory ll_training_memory_of(const struct ll_liveness *life)
{
    assert(life->memory < LL_MEMORY_COUNT);
    static const enum ll_training_memory of[LL_MEMORY_COUNT] = {
        [LL_WEIGHT] = LL_HOLDS_WEIGHTS,          [LL_GRADIENT] = LL_HOLDS_FEATURE_MAPS,
        [LL_ACTIVATION] = LL_HOLDS_FEATURE_MAPS, [LL_OPTIMIZER] = LL_HOLDS_DYNAMIC,
        [LL_WORKSPACE] = LL_HOLDS_WORKSPACE,     [LL_INPUT] = LL_HOLDS_DYNAMIC,
    };
    return life->memory == LL_GRADIENT && life->updates ? LL_HOLDS_WEIGHT_GRADIENTS : of[life->memory];
}

const char *ll_training_memory_name(enum ll_training_memory memory)
{
    assert(memory < LL_HOLDS_COUNT);
    static const char *const names[LL_HOLDS_COUNT] = {
#define X(word, name) [LL_HOLDS_##word] = name,
        LL_TRAINING_MEMORY_LIST(X)
#undef X
    };
    return names[memory];
}

static void sum_classes(const struct ll_trace *trace, const struct ll_liveness *lives,
                        struct ll_footprint *footprint)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        const struct ll_liveness *life = &lives[s];
        if (life->first != LL_NONE && life->first <= footprint->peak_op && life->last >= footprint->peak_op)
            footprint->class_bytes[life->memory] = ll_add(footprint->class_bytes[life->memory], life->bytes);
    }
}

bool ll_memory_is_known(const struct ll_trace *trace)
{
    return !ll_trace_fact(trace, "memory.unknown");
}

/* What lives on the way, in all and of each kind. */
struct living {
    const struct ll_liveness *lives;
    uint64_t bytes, of[LL_HOLDS_COUNT];
};

/* All that is born with an op. */
static void add_born(struct living *living, const struct ll_chains *births, uint32_t op,
                     struct ll_footprint *footprint)
{
    for (uint32_t s = births->first[op]; s != LL_NONE; s = births->next[s]) {
        const struct ll_liveness *life = &living->lives[s];
        const enum ll_training_memory kind = ll_training_memory_of(life);
        living->bytes = ll_add(living->bytes, life->bytes);
        living->of[kind] = ll_add(living->of[kind], life->bytes);
        footprint->most_bytes[kind] = ll_max(footprint->most_bytes[kind], living->of[kind]);
    }
}

static void take_dead(struct living *living, const struct ll_chains *deaths, uint32_t op)
{
    for (uint32_t s = deaths->first[op]; s != LL_NONE; s = deaths->next[s]) {
        const struct ll_liveness *life = &living->lives[s];
        uint64_t *of = &living->of[ll_training_memory_of(life)];
        living->bytes = ll_sub(living->bytes, life->bytes);
        *of = ll_sub(*of, life->bytes);
    }
}

void ll_footprint_of_chains(const struct ll_trace *trace, const struct ll_liveness *lives,
                            const struct ll_chains *births, const struct ll_chains *deaths,
                            struct ll_footprint *footprint)
{
    struct living living = {.lives = lives};
    *footprint = (struct ll_footprint){.peak_op = LL_NONE, .unknown = !ll_memory_is_known(trace)};
    for (uint32_t op = 0; op < trace->op_count; op++) {
        add_born(&living, births, op, footprint);
        if (footprint->peak_op == LL_NONE || living.bytes > footprint->peak_bytes) {
            footprint->peak_op = op;
            footprint->peak_bytes = living.bytes;
        }
        take_dead(&living, deaths, op);
    }
    sum_classes(trace, lives, footprint);
}

bool ll_footprint_of_lives(const struct ll_trace *trace, const struct ll_liveness *lives,
                           struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    struct ll_chains births, deaths;
    *footprint = (struct ll_footprint){.peak_op = LL_NONE, .unknown = !ll_memory_is_known(trace)};
    bool done = trace->op_count == 0 || (ll_chain(trace, lives, false, &births, &arena) &&
                                         ll_chain(trace, lives, true, &deaths, &arena));
    if (done && trace->op_count > 0)
        ll_footprint_of_chains(trace, lives, &births, &deaths, footprint);
    ll_arena_release(&arena);
    return done;
}

bool ll_footprint(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    const struct ll_liveness *lives = trace->op_count ? ll_trace_liveness(trace, &arena) : NULL;
    *footprint = (struct ll_footprint){.peak_op = LL_NONE, .unknown = !ll_memory_is_known(trace)};
    bool done = trace->op_count == 0 || (lives && ll_footprint_of_lives(trace, lives, footprint));
    ll_arena_release(&arena);
    return done;
}

static void follow(const struct ll_chains *chains, const struct ll_liveness *lives, uint32_t op, bool deaths,
                   struct ll_memory_held *held)
{
    for (uint32_t s = chains->first[op]; s != LL_NONE; s = chains->next[s]) {
        uint64_t *of_class = &held->class_bytes[lives[s].memory];
        held->bytes = deaths ? ll_sub(held->bytes, lives[s].bytes) : ll_add(held->bytes, lives[s].bytes);
        *of_class = deaths ? ll_sub(*of_class, lives[s].bytes) : ll_add(*of_class, lives[s].bytes);
    }
}

/* Of ops first to last of `spans` equal spans the fullest. */
static void walk(const struct ll_trace *trace, const struct ll_liveness *lives,
                 const struct ll_chains *births, const struct ll_chains *deaths,
                 struct ll_memory_held *points, uint32_t count)
{
    struct ll_memory_held held = {0};
    for (uint32_t op = 0; op < trace->op_count; op++) {
        struct ll_memory_held *point = &points[(uint64_t)op * count / trace->op_count];
        follow(births, lives, op, false, &held);
        held.op = op;
        if (held.bytes > point->bytes || point->op == LL_NONE)
            *point = held;
        follow(deaths, lives, op, true, &held);
    }
}

const struct ll_over_time *ll_over_time(const struct ll_trace *trace, uint32_t most, struct ll_arena *arena)
{
    uint32_t count = (uint32_t)ll_min(most, trace->op_count);
    struct ll_over_time *over_time = ll_alloc(arena, 1, sizeof *over_time);
    struct ll_memory_held *points = ll_alloc(arena, count + 1u, sizeof *points);
    struct ll_arena scratch = {0};
    const struct ll_liveness *lives = trace->op_count ? ll_trace_liveness(trace, &scratch) : NULL;
    struct ll_chains births, deaths;
    bool done = over_time && points &&
                (!trace->op_count || (lives && ll_chain(trace, lives, false, &births, &scratch) &&
                                      ll_chain(trace, lives, true, &deaths, &scratch)));
    for (uint32_t i = 0; done && i < count; i++)
        points[i].op = LL_NONE;
    if (done && count)
        walk(trace, lives, &births, &deaths, points, count);
    if (done)
        *over_time = (struct ll_over_time){points, count};
    ll_arena_release(&scratch);
    return done ? over_time : NULL;
}

static int by_size(const void *left, const void *right)
{
    const struct ll_alive *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->storage < b->storage ? -1 : a->storage > b->storage;
}

/* Names come from the first tensor of each storage; tensors are numbered in the order of recording. */
static void name(const struct ll_trace *trace, struct ll_alive *alive, uint64_t count, uint32_t *place)
{
    for (uint64_t i = 0; i < count; i++)
        place[alive[i].storage] = (uint32_t)i;
    for (uint64_t t = trace->tensor_count; t-- > 0;) {
        const struct ll_tensor *tensor = &trace->tensors[t];
        if (place[tensor->storage] == LL_NONE)
            continue;
        struct ll_alive *named = &alive[place[tensor->storage]];
        named->name = trace->strings[trace->descs[tensor->desc].name];
        named->scope = tensor->producer == LL_NONE
                           ? ""
                           : trace->strings[trace->signatures[trace->ops[tensor->producer].signature].scope];
    }
}

const struct ll_all_alive *ll_alive_at(const struct ll_trace *trace, uint32_t op, struct ll_arena *arena)
{
    assert(!trace->op_count || op < trace->op_count);
    struct ll_arena scratch = {0};
    struct ll_all_alive *all = ll_alloc(arena, 1, sizeof *all);
    struct ll_alive *alive = ll_alloc(arena, trace->storage_count + 1, sizeof *alive);
    uint32_t *place = ll_alloc(&scratch, trace->storage_count + 1, sizeof *place);
    const struct ll_liveness *lives = trace->op_count ? ll_trace_liveness(trace, &scratch) : NULL;
    bool done = all && alive && place && (lives || !trace->op_count);
    uint64_t count = 0;
    for (uint64_t s = 0; done && lives && s < trace->storage_count; s++)
        if (lives[s].first != LL_NONE && lives[s].first <= op && lives[s].last >= op && lives[s].bytes > 0)
            alive[count++] = (struct ll_alive){.storage = (uint32_t)s,
                                               .memory = (enum ll_memory_class)lives[s].memory,
                                               .bytes = lives[s].bytes,
                                               .first = lives[s].first,
                                               .last = lives[s].last};
    if (done) {
        memset(place, 0xff, trace->storage_count * sizeof *place);
        name(trace, alive, count, place);
        qsort(alive, count, sizeof *alive, by_size);
        *all = (struct ll_all_alive){alive, count};
    }
    ll_arena_release(&scratch);
    return done ? all : NULL;
}

/* When a storage is touched first and last, ops being where they have moved to. */
struct span {
    uint32_t first, last;
    bool touched;
};

static void touch(struct span *span, uint32_t at)
{
    span->first = span->touched && span->first < at ? span->first : at;
    span->last = span->touched && span->last > at ? span->last : at;
    span->touched = true;
}

/* Where an op runs: updates as early as what they read allows. */
static uint32_t place_of(const struct ll_trace *trace, uint32_t op, const struct span *spans)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    uint32_t at = 0;
    if (signature->phase != LL_PHASE_UPDATE)
        return op;
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        const struct span *span = &spans[trace->tensors[ll_op_input(trace, op, i)].storage];
        at = span->touched && span->last > at ? span->last : at;
    }
    return at;
}

static void find_spans(const struct ll_trace *trace, struct span *spans)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
        uint32_t at = place_of(trace, op, spans);
        for (uint32_t i = 0; i < view->input_count; i++)
            touch(&spans[trace->tensors[ll_op_input(trace, op, i)].storage], at);
        for (uint32_t i = 0; i < view->output_count; i++)
            touch(&spans[trace->tensors[ll_op_output(trace, op, i)].storage], at);
    }
}

/* When it lives: what the model brought from the start on, what is kept throughout. */
static void move_life(struct ll_liveness *life, const struct span *span)
{
    if (life->first == LL_NONE || life->memory == LL_WEIGHT || life->memory == LL_OPTIMIZER || !span->touched)
        return;
    life->first = life->first == 0 ? 0 : span->first;
    life->last = span->last;
}

static bool footprint_moved(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    if (trace->op_count == 0)
        return true;
    const struct ll_liveness *recorded = ll_trace_liveness(trace, &arena);
    struct ll_liveness *lives =
        recorded ? ll_copy(&arena, recorded, trace->storage_count * sizeof *lives) : NULL;
    struct span *spans = ll_alloc(&arena, trace->storage_count, sizeof *spans);
    bool done = lives && spans;
    if (done) {
        find_spans(trace, spans);
        for (uint64_t s = 0; s < trace->storage_count; s++)
            move_life(&lives[s], &spans[s]);
        done = ll_footprint_of_lives(trace, lives, footprint);
    }
    ll_arena_release(&arena);
    return done;
}

bool ll_footprint_early(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    struct ll_footprint recorded;
    if (!ll_footprint(trace, &recorded) || !footprint_moved(trace, footprint))
        return false;
    if (recorded.peak_bytes < footprint->peak_bytes)
        *footprint = recorded;
    return true;
}

/* What the walk knows. A size of zero: the tensor takes no memory, or is gone. */
struct minimal_walk {
    const struct ll_trace *trace;
    struct ll_step step;
    const struct ll_account *signatures;
    const uint32_t *loops; /* by string: which loop such a scope is in, LL_NONE for none */
    const bool *part;      /* by string: whether what has such a scope or name counts; NULL: all does */
    uint64_t *size_bytes;  /* by tensor */
    uint32_t *near_reads;  /* by tensor: how many inputs it is of ops of its producer's phase */
    uint32_t *reads;       /* by tensor: how many inputs it is of ops that take memory and count */
    uint32_t *readers;     /* of these, the ones still to come */
    uint64_t live_bytes, most_bytes;
};

/* The length of a scope up to the body of its innermost loop, 0 outside of loops. */
static size_t loop_length(const char *scope)
{
    static const char body[] = "while";
    size_t length = 0;
    for (const char *part = scope; *part;) {
        size_t size = strcspn(part, "/");
        if (size == sizeof body - 1 && memcmp(part, body, size) == 0)
            length = (size_t)(part - scope) + size;
        part += size + (part[size] == '/');
    }
    return length;
}

/* By string the first one that is in the same loop. Scopes are few. */
static uint32_t *find_loops(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint32_t *loops = ll_alloc(arena, trace->string_count, sizeof *loops);
    for (uint32_t i = 0; loops && i < trace->string_count; i++) {
        size_t length = loop_length(trace->strings[i]);
        loops[i] = length ? i : LL_NONE;
        for (uint32_t j = 0; length && j < i; j++)
            if (loops[j] == j && loop_length(trace->strings[j]) == length &&
                memcmp(trace->strings[i], trace->strings[j], length) == 0)
                loops[i] = j;
    }
    return loops;
}

/* Whether what has this scope or name takes memory. */
static bool is_of_part(const struct minimal_walk *walk, uint32_t string)
{
    return !walk->part || walk->part[string];
}

static const struct ll_op_signature *signature_of(const struct minimal_walk *walk, uint32_t op)
{
    return &walk->trace->signatures[walk->trace->ops[op].signature];
}

static bool takes_memory(const struct minimal_walk *walk, const struct ll_op_signature *signature)
{
    return signature->view.kind != LL_OP_STACK &&
           walk->signatures[signature - walk->trace->signatures].footprint_bytes > 0;
}

static uint32_t producer_of(const struct minimal_walk *walk, uint32_t tensor)
{
    return walk->trace->tensors[tensor].producer;
}

static bool is_near(const struct minimal_walk *walk, const struct ll_op_signature *signature, uint32_t tensor)
{
    uint32_t producer = producer_of(walk, tensor);
    return producer != LL_NONE && signature_of(walk, producer)->phase == signature->phase;
}

/* Whether this op is a GEMM with something that repeats: what does not is kept as if read twice. */
static bool keeps(const struct ll_op_signature *signature, uint32_t input)
{
    if (signature->view.kind != LL_OP_MUL)
        return false;
    const struct ll_shape *other = &signature->view.in[1 - input];
    return other->rank > 0 && ll_elements(other) < ll_elements(&signature->view.in[input]);
}

/* Whether this op is a sum in a forward step: its backward step asks for the shape of what it has read. */
static bool is_asked_for(const struct minimal_walk *walk, const struct ll_op_signature *signature)
{
    return signature->view.kind == LL_OP_SUM && signature->phase != LL_PHASE_BACKWARD &&
           walk->loops[signature->scope] != LL_NONE;
}

/* Whether a reader is one for whom a forward step does not keep what it leaves. */
static bool is_left_behind(const struct minimal_walk *walk, const struct ll_op_signature *signature,
                           uint32_t tensor)
{
    uint32_t producer = producer_of(walk, tensor);
    return producer != LL_NONE && walk->loops[signature_of(walk, producer)->scope] != LL_NONE &&
           walk->near_reads[tensor] == 1 && !is_near(walk, signature, tensor);
}

/* Whether an op overwrites this input: then it does not count as a reader. A view writes nothing. */
static bool overwrites(const struct ll_op_signature *signature, uint32_t input)
{
    for (uint32_t i = 0; signature->bytes_written > 0 && i < signature->view.output_count; i++)
        if (signature->aliases[i] == input)
            return true;
    return false;
}

/* Whether the walk waits for this input of an op before the tensor goes. */
static bool counts(const struct minimal_walk *walk, const struct ll_op_signature *signature, uint32_t op,
                   uint32_t input)
{
    return takes_memory(walk, signature) && !overwrites(signature, input) && !is_asked_for(walk, signature) &&
           !is_left_behind(walk, signature, ll_op_input(walk->trace, op, input));
}

static void count_readers(struct minimal_walk *walk)
{
    for (uint32_t op = walk->step.first_op; op < walk->step.first_op + walk->step.op_count; op++) {
        const struct ll_op_signature *signature = signature_of(walk, op);
        for (uint32_t j = 0; j < signature->view.input_count; j++) {
            uint32_t tensor = ll_op_input(walk->trace, op, j);
            walk->near_reads[tensor] += is_near(walk, signature, tensor) ? 1 + keeps(signature, j) : 0;
        }
    }
    for (uint32_t op = walk->step.first_op; op < walk->step.first_op + walk->step.op_count; op++) {
        const struct ll_op_signature *signature = signature_of(walk, op);
        for (uint32_t j = 0; j < signature->view.input_count; j++)
            walk->reads[ll_op_input(walk->trace, op, j)] += counts(walk, signature, op, j);
    }
    memcpy(walk->readers, walk->reads, walk->trace->tensor_count * sizeof *walk->reads);
}

/* Weights as the step finds them: those that no op made, or the last ones left by a step before. */
static void begin(struct minimal_walk *walk)
{
    for (uint32_t i = 0; i < walk->trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &walk->trace->tensors[i];
        const struct ll_tensor_desc *desc = &walk->trace->descs[tensor->desc];
        bool before = tensor->producer == LL_NONE || tensor->producer < walk->step.first_op;
        if (!before || desc->memory != LL_WEIGHT || !is_of_part(walk, desc->name))
            continue;
        bool left = walk->readers[i] > 0 || tensor->producer == LL_NONE;
        walk->size_bytes[i] = left ? ll_size_bytes(&desc->shape) : 0;
        walk->live_bytes = ll_add(walk->live_bytes, walk->size_bytes[i]);
    }
}

/* Whether the op is in a loop that reads the tensor, which comes from outside, again and again. */
static bool stays(const struct minimal_walk *walk, const struct ll_op_signature *signature, uint32_t tensor)
{
    uint32_t loop = walk->loops[signature->scope], producer = producer_of(walk, tensor);
    return loop != LL_NONE && walk->reads[tensor] > 1 &&
           (producer == LL_NONE || walk->loops[signature_of(walk, producer)->scope] != loop);
}

static void visit(struct minimal_walk *walk, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(walk, op);
    if (!takes_memory(walk, signature))
        return;
    if (is_of_part(walk, signature->scope))
        walk->live_bytes =
            ll_add(walk->live_bytes, walk->signatures[signature - walk->trace->signatures].footprint_bytes);
    walk->most_bytes = ll_max(walk->most_bytes, walk->live_bytes);
    for (uint32_t i = 0; i < signature->view.output_count && is_of_part(walk, signature->scope); i++)
        if (signature->aliases[i] == LL_NONE || signature->bytes_written == 0)
            walk->size_bytes[ll_op_output(walk->trace, op, i)] = ll_size_bytes(&signature->view.out[i]);
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(walk->trace, op, i);
        if (!counts(walk, signature, op, i) || --walk->readers[tensor] > 0 || stays(walk, signature, tensor))
            continue;
        walk->live_bytes = ll_sub(walk->live_bytes, walk->size_bytes[tensor]);
        walk->size_bytes[tensor] = 0;
    }
}

/* Whether an op outside of loops waits for nothing: it reads constants alone. */
static bool is_first(const struct minimal_walk *walk, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(walk, op);
    bool waits = walk->loops[signature->scope] != LL_NONE;
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(walk->trace, op, i);
        waits |= walk->trace->descs[walk->trace->tensors[tensor].desc].memory != LL_WORKSPACE ||
                 producer_of(walk, tensor) != LL_NONE;
    }
    return !waits;
}

/* What waits for nothing first, then all others, in the order of recording. */
static void visit_all(struct minimal_walk *walk)
{
    for (uint32_t i = 0; i < walk->step.op_count; i++)
        if (is_first(walk, walk->step.first_op + i))
            visit(walk, walk->step.first_op + i);
    for (uint32_t i = 0; i < walk->step.op_count; i++)
        if (!is_first(walk, walk->step.first_op + i))
            visit(walk, walk->step.first_op + i);
}

bool ll_minimal_footprint(const struct ll_trace *trace, uint64_t *bytes)
{
    return ll_minimal_footprint_of(trace, NULL, bytes);
}

bool ll_minimal_footprint_of(const struct ll_trace *trace, const bool *part, uint64_t *bytes)
{
    struct ll_arena arena = {0};
    struct ll_account *signatures = ll_alloc(&arena, trace->signature_count, sizeof *signatures);
    struct minimal_walk walk = {.trace = trace,
                                .step = ll_trace_typical_step(trace),
                                .signatures = signatures,
                                .loops = find_loops(trace, &arena),
                                .part = part,
                                .size_bytes = ll_alloc(&arena, trace->tensor_count, sizeof(uint64_t)),
                                .near_reads = ll_alloc(&arena, trace->tensor_count, sizeof(uint32_t)),
                                .reads = ll_alloc(&arena, trace->tensor_count, sizeof(uint32_t)),
                                .readers = ll_alloc(&arena, trace->tensor_count, sizeof(uint32_t))};
    bool enough =
        signatures && walk.loops && walk.size_bytes && walk.near_reads && walk.reads && walk.readers;
    for (uint64_t i = 0; enough && i < trace->signature_count; i++)
        signatures[i] = ll_catamount_op(&trace->signatures[i].view, trace->signatures[i].phase);
    if (enough) {
        count_readers(&walk);
        begin(&walk);
        visit_all(&walk);
    }
    *bytes = ll_max(walk.most_bytes, walk.live_bytes);
    ll_arena_release(&arena);
    return enough;
}

/* Memory allocators on the storages of a trace: ideal, a best-fit arena, and PyTorch's caching allocator.
 *
 * The first section is a heap of blocks that are taken, given back, split and joined. Each allocator
 * then is a function that places every storage and reports its peak. */

#define NONE UINT32_MAX

void ll_heap_release(struct ll_heap *heap)
{
    free(heap->chunks);
    free(heap->spare);
    ll_sorted_release(&heap->sorted);
    *heap = (struct ll_heap){0};
}

struct looking {
    const struct ll_heap *heap;
    uint32_t pool;
    uint64_t bytes, address;
};

static bool stands_before(const void *context, uint32_t number)
{
    const struct looking *looking = context;
    const struct ll_chunk *c = &looking->heap->chunks[number];
    return c->pool != looking->pool     ? c->pool < looking->pool
           : c->bytes != looking->bytes ? c->bytes < looking->bytes
                                        : c->address < looking->address;
}

/* Where a free chunk of this pool, size and address is, or would be. */
static struct ll_sorted_place sorted_place(const struct ll_heap *heap, uint32_t pool, uint64_t bytes,
                                           uint64_t address)
{
    const struct looking looking = {heap, pool, bytes, address};
    return ll_sorted_find(&heap->sorted, stands_before, &looking);
}

static bool list(struct ll_heap *heap, uint32_t chunk)
{
    struct ll_chunk *c = &heap->chunks[chunk];
    c->free = ll_sorted_put(&heap->sorted, sorted_place(heap, c->pool, c->bytes, c->address), chunk);
    return c->free;
}

static void unlist(struct ll_heap *heap, uint32_t chunk)
{
    struct ll_chunk *c = &heap->chunks[chunk];
    struct ll_sorted_place place = sorted_place(heap, c->pool, c->bytes, c->address);
    assert(ll_sorted_at(&heap->sorted, place) == chunk);
    ll_sorted_take(&heap->sorted, place);
    c->free = false;
}

static uint32_t new_chunk(struct ll_heap *heap, struct ll_chunk chunk)
{
    if (heap->spare_count > 0) {
        uint32_t number = heap->spare[--heap->spare_count];
        heap->chunks[number] = chunk;
        return number;
    }
    if (!ll_grow(&heap->chunks, &heap->capacity, heap->count + 1u, sizeof *heap->chunks))
        return NONE;
    heap->chunks[heap->count] = chunk;
    return heap->count++;
}

/* A new segment of these bytes as one free chunk behind all others. False when memory ran out or addresses
 * do. */
static bool heap_grow(struct ll_heap *heap, uint64_t bytes, uint32_t pool)
{
    struct ll_chunk chunk = {heap->end, bytes, NONE, NONE, pool, false};
    uint64_t end = ll_add(heap->end, bytes);
    uint32_t number = ll_fits(end) ? new_chunk(heap, chunk) : NONE;
    if (number == NONE || !list(heap, number))
        return false;
    heap->end = end;
    heap->last = number;
    return true;
}

uint32_t ll_heap_find(const struct ll_heap *heap, uint64_t bytes, uint32_t pool)
{
    uint32_t chunk = ll_sorted_at(&heap->sorted, sorted_place(heap, pool, bytes, 0));
    return chunk != LL_NO_NUMBER && heap->chunks[chunk].pool == pool ? chunk : NONE;
}

bool ll_heap_take(struct ll_heap *heap, uint32_t chunk, uint64_t bytes, uint64_t least)
{
    assert(chunk < heap->count && heap->chunks[chunk].free && heap->chunks[chunk].bytes >= bytes);
    unlist(heap, chunk);
    struct ll_chunk *c = &heap->chunks[chunk];
    uint64_t left = c->bytes - bytes;
    if (left == 0 || left <= least)
        return true;
    struct ll_chunk rest = {c->address + bytes, left, chunk, c->after, c->pool, false};
    uint32_t number = new_chunk(heap, rest);
    if (number == NONE)
        return false;
    c = &heap->chunks[chunk];
    if (c->after != NONE)
        heap->chunks[c->after].before = number;
    heap->last = heap->last == chunk ? number : heap->last;
    c->after = number;
    c->bytes = bytes;
    return list(heap, number);
}

static bool spare(struct ll_heap *heap, uint32_t chunk)
{
    if (!ll_grow(&heap->spare, &heap->spare_capacity, heap->spare_count + 1u, sizeof *heap->spare))
        return false;
    heap->spare[heap->spare_count++] = chunk;
    return true;
}

/* The second of two neighbours, neither of which is listed, becomes part of the first. */
static bool join(struct ll_heap *heap, uint32_t first, uint32_t second)
{
    struct ll_chunk *a = &heap->chunks[first], *b = &heap->chunks[second];
    a->bytes += b->bytes;
    a->after = b->after;
    if (b->after != NONE)
        heap->chunks[b->after].before = first;
    heap->last = heap->last == second ? first : heap->last;
    return spare(heap, second);
}

bool ll_heap_give(struct ll_heap *heap, uint32_t chunk)
{
    assert(chunk < heap->count && !heap->chunks[chunk].free);
    uint32_t before = heap->chunks[chunk].before, after = heap->chunks[chunk].after;
    if (after != NONE && heap->chunks[after].free) {
        unlist(heap, after);
        if (!join(heap, chunk, after))
            return false;
    }
    if (before != NONE && heap->chunks[before].free) {
        unlist(heap, before);
        if (!join(heap, before, chunk))
            return false;
        chunk = before;
    }
    return list(heap, chunk);
}

bool ll_heap_stretch(struct ll_heap *heap, uint64_t bytes)
{
    uint32_t last = heap->last;
    bool empty = heap->end == 0; /* as at first, or when all was trimmed away: there is no last chunk */
    if (empty || !heap->chunks[last].free) {
        if (!heap_grow(heap, bytes, 0))
            return false;
        if (!empty) {
            heap->chunks[heap->last].before = last;
            heap->chunks[last].after = heap->last;
        }
        return true;
    }
    uint64_t end = ll_add(heap->chunks[last].address, bytes);
    if (!ll_fits(end))
        return false;
    unlist(heap, last);
    heap->chunks[last].bytes = bytes;
    heap->end = end;
    return list(heap, last);
}

bool ll_heap_trim(struct ll_heap *heap)
{
    uint32_t last = heap->last;
    if (heap->end == 0 || !heap->chunks[last].free)
        return true;
    unlist(heap, last);
    heap->end = heap->chunks[last].address;
    heap->last = heap->chunks[last].before;
    if (heap->last != NONE)
        heap->chunks[heap->last].after = NONE;
    return spare(heap, last);
}

/* The caching allocator follows c10/cuda/CUDACachingAllocator.cpp of PyTorch as its documentation and
 * comments describe it: sizes are rounded up to 512 bytes; up to 1 MiB come out of segments of 2 MiB; larger
 * ones below 10 MiB out of segments of 20 MiB; the rest have segments of their own, rounded up to 2 MiB.
 * Small pieces are split when more than 512 bytes are left, others when more than 1 MiB is. Segments are
 * kept. */

enum { ARENA_GRAIN = 256 };
enum {
    GRAIN = 512,
    SMALL_MOST = 1 << 20,
    SMALL_SEGMENT = 2 << 20,
    MIDDLE_LESS = 10 << 20,
    MIDDLE_SEGMENT = 20 << 20,
    LARGE_GRAIN = 2 << 20,
    SMALL_LEFT = GRAIN - 1, /* one grain is worth keeping apart */
    LARGE_LEFT = 1 << 20
};
enum { POOL_SMALL, POOL_LARGE };

static uint64_t rounded(uint64_t bytes, uint64_t grain)
{
    return ll_mul(ll_ceil_div(ll_max(bytes, 1), grain), grain);
}

/* Each finds memory of so many bytes: its chunk, UINT32_MAX when there is no more. */

static uint32_t take_IDEAL(struct ll_heap *heap, uint64_t bytes)
{
    (void)heap;
    (void)bytes;
    return 0;
}

/* The best hole, or the end: a hole there only has to grow. */
static uint32_t take_ARENA(struct ll_heap *heap, uint64_t bytes)
{
    uint64_t size = rounded(bytes, ARENA_GRAIN);
    uint32_t chunk = ll_heap_find(heap, size, 0);
    if (chunk == UINT32_MAX && ll_heap_stretch(heap, size))
        chunk = ll_heap_find(heap, size, 0);
    return chunk != UINT32_MAX && ll_heap_take(heap, chunk, size, 0) ? chunk : UINT32_MAX;
}

static uint64_t segment_bytes(uint64_t size)
{
    if (size <= SMALL_MOST)
        return SMALL_SEGMENT;
    return size < MIDDLE_LESS ? MIDDLE_SEGMENT : rounded(size, LARGE_GRAIN);
}

static uint32_t take_CACHING(struct ll_heap *heap, uint64_t bytes)
{
    uint64_t size = rounded(bytes, GRAIN);
    uint32_t pool = size <= SMALL_MOST ? POOL_SMALL : POOL_LARGE, chunk = ll_heap_find(heap, size, pool);
    if (chunk == UINT32_MAX && heap_grow(heap, segment_bytes(size), pool))
        chunk = ll_heap_find(heap, size, pool);
    uint64_t least = pool == POOL_SMALL ? SMALL_LEFT : LARGE_LEFT;
    return chunk != UINT32_MAX && ll_heap_take(heap, chunk, size, least) ? chunk : UINT32_MAX;
}

static const struct {
    const char *name, *help;
    uint32_t (*take)(struct ll_heap *heap, uint64_t bytes);
} allocators[] = {
#define LL_ALLOCATOR(word, name, help) {name, help, take_##word},
#include "sim/memory/allocators.def"
#undef LL_ALLOCATOR
};

const char *ll_allocator_name(enum ll_allocator allocator)
{
    assert(allocator < LL_ALLOCATOR_COUNT);
    return allocators[allocator].name;
}

const char *ll_allocator_help(enum ll_allocator allocator)
{
    assert(allocator < LL_ALLOCATOR_COUNT);
    return allocators[allocator].help;
}

struct allocating {
    const struct ll_trace *trace;
    const struct ll_liveness *lives;
    enum ll_allocator allocator;
    struct ll_heap heap;
    uint32_t *chunk;   /* by storage */
    uint64_t *address; /* likewise; NULL: nobody asks */
    struct ll_allocated *allocated;
};

static bool is_born(struct allocating *a, uint32_t storage, uint64_t *live_bytes)
{
    uint64_t bytes = a->lives[storage].bytes;
    *live_bytes = ll_add(*live_bytes, bytes);
    a->chunk[storage] = bytes ? allocators[a->allocator].take(&a->heap, bytes) : UINT32_MAX;
    if (a->address && a->chunk[storage] != UINT32_MAX)
        a->address[storage] = a->heap.chunks[a->chunk[storage]].address;
    return ll_fits(*live_bytes) && (bytes == 0 || a->chunk[storage] != UINT32_MAX);
}

static bool dies(struct allocating *a, uint32_t storage, uint64_t *live_bytes)
{
    uint64_t bytes = a->lives[storage].bytes;
    *live_bytes -= bytes;
    return bytes == 0 || a->allocator == LL_ALLOCATOR_IDEAL || ll_heap_give(&a->heap, a->chunk[storage]);
}

/* Programs that plan their memory plan one step, and each step is laid out so: it does not see how far the
 * one before it has come. */
static bool begin_steps(struct allocating *a, uint32_t op, uint64_t *step)
{
    uint64_t before = *step;
    while (*step < a->trace->step_count && a->trace->steps[*step].first_op <= op)
        ++*step;
    return *step == before || a->allocator != LL_ALLOCATOR_ARENA || ll_heap_trim(&a->heap);
}

static bool play(struct allocating *a, const struct ll_chains *births, const struct ll_chains *deaths)
{
    uint64_t live_bytes = 0;
    uint64_t step = 0;
    bool right = true;
    for (uint32_t op = 0; right && op < a->trace->op_count; op++) {
        right = begin_steps(a, op, &step);
        for (uint32_t s = births->first[op]; right && s != LL_NONE; s = births->next[s])
            right = is_born(a, s, &live_bytes);
        a->allocated->live_bytes = ll_max(a->allocated->live_bytes, live_bytes);
        for (uint32_t s = deaths->first[op]; right && s != LL_NONE; s = deaths->next[s])
            right = dies(a, s, &live_bytes);
    }
    return right;
}

const uint64_t *ll_arena_addresses(const struct ll_trace *trace, const struct ll_liveness *lives,
                                   const struct ll_chains *births, const struct ll_chains *deaths,
                                   struct ll_arena *arena)
{
    struct ll_allocated allocated = {.fragmentation = 1};
    struct allocating a = {.trace = trace,
                           .lives = lives,
                           .allocator = LL_ALLOCATOR_ARENA,
                           .chunk = ll_alloc(arena, trace->storage_count + 1, sizeof *a.chunk),
                           .address = ll_alloc(arena, trace->storage_count + 1, sizeof *a.address),
                           .allocated = &allocated};
    bool done = a.chunk && a.address && play(&a, births, deaths);
    ll_heap_release(&a.heap);
    return done ? a.address : NULL;
}

bool ll_allocate(const struct ll_trace *trace, enum ll_allocator allocator, struct ll_allocated *allocated)
{
    assert(allocator < LL_ALLOCATOR_COUNT);
    struct ll_arena arena = {0};
    struct allocating a = {.trace = trace, .allocator = allocator, .allocated = allocated};
    struct ll_chains births, deaths;
    *allocated = (struct ll_allocated){.fragmentation = 1};
    if (trace->op_count == 0)
        return true;
    a.lives = ll_trace_liveness(trace, &arena);
    a.chunk = ll_alloc(&arena, trace->storage_count + 1, sizeof *a.chunk);
    bool done = a.lives && a.chunk && ll_chain(trace, a.lives, false, &births, &arena) &&
                ll_chain(trace, a.lives, true, &deaths, &arena) && play(&a, &births, &deaths);
    allocated->taken_bytes = allocator == LL_ALLOCATOR_IDEAL ? allocated->live_bytes : a.heap.end;
    if (allocated->live_bytes > 0)
        allocated->fragmentation = (double)allocated->taken_bytes / (double)allocated->live_bytes;
    ll_heap_release(&a.heap);
    ll_arena_release(&arena);
    return done;
}
