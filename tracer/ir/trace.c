/* SPDX-License-Identifier: Apache-2.0 */
/* A trace in memory: its facts, the inputs and outputs of an op, dependencies between ops, liveness of
 * storages, and forms whose counts are computed anew after a change. */
#include "tracer/ir/timeline.h"
#include "tracer/ir/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/str.h"

void ll_trace_free(struct ll_trace *trace)
{
    if (!trace)
        return;
    free(trace->facts);
    free(trace->strings);
    free(trace->descs);
    free(trace->signatures);
    free(trace->edges);
    free(trace->ops);
    free(trace->tensors);
    free(trace->steps);
    if (trace->timeline)
        ll_timeline_release(trace->timeline);
    free(trace->timeline);
    ll_arena_release(&trace->arena);
    free(trace);
}

const char *ll_trace_fact(const struct ll_trace *trace, const char *key)
{
    for (uint64_t i = 0; i < trace->fact_count; i++)
        if (strcmp(trace->facts[i].key, key) == 0)
            return trace->facts[i].value;
    return NULL;
}

bool ll_trace_is_of_program(const struct ll_trace *trace)
{
    const char *mode = ll_trace_fact(trace, "mode");
    return mode && strcmp(mode, "program") == 0;
}

uint32_t ll_trace_ranks(const struct ll_trace *trace)
{
    const char *fact = ll_trace_fact(trace, "ranks");
    unsigned long ranks = fact ? strtoul(fact, NULL, 10) : 1;
    if (ranks < 2 || ranks > UINT32_MAX / 2)
        return 1;
    for (uint64_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].thread >= ranks)
            return 1;
    return (uint32_t)ranks;
}

bool ll_trace_note(struct ll_trace *trace, const char *key, const char *value)
{
    struct ll_fact *facts = realloc(trace->facts, (trace->fact_count + 1) * sizeof *facts);
    const char *copy = ll_copy_text(&trace->arena, value, strlen(value));
    uint64_t i = 0;
    if (facts)
        trace->facts = facts;
    if (!facts || !copy)
        return false;
    while (i < trace->fact_count && strcmp(facts[i].key, key) != 0)
        i++;
    trace->fact_count += i == trace->fact_count;
    facts[i] = (struct ll_fact){key, copy};
    return true;
}

double ll_trace_number(const struct ll_trace *trace, const char *key, double otherwise)
{
    const char *text = ll_trace_fact(trace, key);
    double number = text ? ll_strtod(text, NULL) : 0;
    return number > 0 && isfinite(number) ? number : otherwise;
}

/* Dependencies. A storage remembers its last writer and who has read it since: whoever overwrites it waits
 * for them all. A view takes over a storage without writing it. Of a recorded program more is known: which
 * bytes of a storage its ops touch. There the controls tell whom an overwriting op waits for, and two ops
 * that update different parts of a storage do not wait for each other. */

struct reader {
    uint32_t op;
    uint32_t next; /* the reader before this one, LL_NONE for none */
};

struct hazards {
    uint32_t *last_writer, *last_reader; /* by storage; a reader is a place in `readers` */
    struct reader *readers;
    uint32_t reader_count;
    bool told; /* controls know better */
};

/* Most dependencies and readings that there can be. */
static void count_most(const struct ll_trace *trace, uint64_t *deps, uint64_t *readings)
{
    *deps = *readings = 0;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        *readings += signature->view.input_count;
        *deps += signature->view.input_count + trace->edges[trace->ops[i].edges].control_count +
                 signature->view.output_count;
    }
    *deps += *readings; /* a reading is waited for once at most: the overwriting ends it */
}

static bool overwrites(const struct ll_op_signature *signature, uint32_t output)
{
    return signature->aliases[output] != LL_NONE && signature->bytes_written > 0;
}

static uint32_t add_dep(uint32_t *deps, uint32_t count, uint32_t op)
{
    if (op != LL_NONE)
        deps[count++] = op;
    return count;
}

static uint32_t *fill(struct ll_arena *arena, uint64_t count)
{
    uint32_t *values = ll_alloc(arena, count, sizeof *values);
    if (values && count)
        memset(values, 0xFF, count * sizeof *values);
    return values;
}

/* What op waits for, unsorted and with repetitions; returns how many. */
static uint32_t collect(const struct ll_trace *trace, struct hazards *hazards, uint32_t op, uint32_t *deps)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    const struct ll_op_edges *edges = &trace->edges[trace->ops[op].edges];
    uint32_t count = 0;
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        count = add_dep(deps, count, trace->tensors[ll_op_input(trace, op, i)].producer);
    for (uint32_t i = 0; i < edges->control_count; i++)
        count = add_dep(deps, count, op - (uint32_t)edges->controls[i]);
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        if (hazards->told || !overwrites(signature, i))
            continue;
        uint32_t storage = trace->tensors[ll_op_output(trace, op, i)].storage;
        count = add_dep(deps, count, hazards->last_writer[storage]);
        for (uint32_t at = hazards->last_reader[storage]; at != LL_NONE; at = hazards->readers[at].next)
            count = add_dep(deps, count, hazards->readers[at].op);
        hazards->last_reader[storage] = LL_NONE;
    }
    return count;
}

/* What op reads and writes, for those that come later. */
static void enter(const struct ll_trace *trace, struct hazards *hazards, uint32_t op)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t storage = trace->tensors[ll_op_input(trace, op, i)].storage;
        uint32_t last = hazards->last_reader[storage];
        if (last != LL_NONE && hazards->readers[last].op == op)
            continue;
        hazards->readers[hazards->reader_count] = (struct reader){op, last};
        hazards->last_reader[storage] = hazards->reader_count++;
    }
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        if (signature->aliases[i] == LL_NONE || overwrites(signature, i)) {
            uint32_t storage = trace->tensors[ll_op_output(trace, op, i)].storage;
            hazards->last_writer[storage] = op;
            hazards->last_reader[storage] = LL_NONE;
        }
}

enum ll_edge_kind ll_edge_of(const struct ll_trace *trace, uint32_t op, uint32_t dep)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    const struct ll_op_edges *edges = &trace->edges[trace->ops[op].edges];
    uint32_t ordered = edges->control_count - edges->storage_count - edges->gap_count;
    enum ll_edge_kind edge = LL_EDGE_STORAGE; /* unless a reason is found, it is that of an overwriting op */
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        if (trace->tensors[ll_op_input(trace, op, i)].producer == dep)
            return LL_EDGE_DATA;
    for (uint32_t i = edges->control_count; i-- > 0;)
        if (op - edges->controls[i] == dep)
            edge = i < ordered                          ? LL_EDGE_ORDER
                   : i < ordered + edges->storage_count ? LL_EDGE_STORAGE
                                                        : LL_EDGE_GAP;
    return edge;
}

const char *ll_edge_name(enum ll_edge_kind edge)
{
    static const char *const names[] = {
#define X(word, name, doc) name,
        LL_EDGE_LIST(X)
#undef X
    };
    return names[edge];
}

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* Most ops wait for very few: there insertion is quicker than any call. */
enum { FEW = 16 };

static void sort_few(uint32_t *deps, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t moved = deps[i], at = i;
        for (; at > 0 && deps[at - 1] > moved; at--)
            deps[at] = deps[at - 1];
        deps[at] = moved;
    }
}

static uint32_t sort_once(uint32_t *deps, uint32_t count)
{
    uint32_t kept = 0;
    if (count <= FEW)
        sort_few(deps, count);
    else
        qsort(deps, count, sizeof *deps, compare);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || deps[i] != deps[kept - 1])
            deps[kept++] = deps[i];
    return kept;
}

const struct ll_deps *ll_trace_deps(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint64_t most, readings;
    count_most(trace, &most, &readings);
    if (readings >= LL_NONE)
        return NULL;
    struct ll_arena scratch = {0};
    struct hazards hazards = {.told = ll_trace_is_of_program(trace),
                              .last_writer = fill(&scratch, trace->storage_count),
                              .last_reader = fill(&scratch, trace->storage_count),
                              .readers = ll_alloc(&scratch, readings, sizeof *hazards.readers)};
    struct ll_deps *deps = ll_alloc(arena, 1, sizeof *deps);
    uint64_t *first = ll_alloc(arena, trace->op_count + 1, sizeof *first), count = 0;
    uint32_t *ops = ll_alloc(arena, most, sizeof *ops);
    bool room = hazards.last_writer && hazards.last_reader && hazards.readers && deps && first && ops;
    for (uint32_t op = 0; room && op < trace->op_count; op++) {
        first[op] = count;
        count += sort_once(ops + count, collect(trace, &hazards, op, ops + count));
        enter(trace, &hazards, op);
    }
    if (room) {
        first[trace->op_count] = count;
        *deps = (struct ll_deps){first, ops};
    }
    ll_arena_release(&scratch);
    return room ? deps : NULL;
}

/* Tensors are numbered in the order of recording, so the first of a storage comes first. */
static void meet_tensors(const struct ll_trace *trace, const uint64_t *desc_bytes, struct ll_liveness *lives)
{
    uint32_t start = ll_trace_has_holes(trace) ? LL_NONE : 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        const struct ll_tensor_desc *desc = &trace->descs[tensor->desc];
        struct ll_liveness *life = &lives[tensor->storage];
        bool brought = tensor->producer == LL_NONE;
        if (life->first == LL_NONE) {
            life->first = brought ? start : tensor->producer;
            life->memory = desc->memory;
        }
        life->last = brought ? 0 : tensor->producer;
        life->bytes = ll_max(life->bytes, desc_bytes[tensor->desc]);
    }
}

static void meet_readers(const struct ll_trace *trace, struct ll_liveness *lives)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
            struct ll_liveness *life = &lives[trace->tensors[ll_op_input(trace, op, i)].storage];
            life->updates |= signature->phase == LL_PHASE_UPDATE;
            if (life->first > op)
                life->first = op;
            if (life->last < op)
                life->last = op;
        }
    }
}

static bool is_joined(const struct ll_op_signature *signature)
{
    return signature->view.kind == LL_OP_SEEN_AS && signature->view.input_count > 1;
}

/* Pieces of memory that are seen as one tensor live as long as that is read, itself or another look at it:
 * those behind the first, whose memory is the tensor's. False when memory ran out. */
static bool meet_pieces(const struct ll_trace *trace, struct ll_liveness *lives, struct ll_arena *arena)
{
    bool any = false;
    for (uint64_t i = 0; i < trace->signature_count; i++)
        any |= is_joined(&trace->signatures[i]);
    uint32_t *read = any ? ll_alloc(arena, trace->tensor_count + 1, sizeof *read) : NULL;
    for (uint32_t op = (uint32_t)trace->op_count; read && op-- > 0;) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        const bool joined = is_joined(signature);
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
            const uint32_t tensor = ll_op_input(trace, op, i);
            read[tensor] = read[tensor] > op ? read[tensor] : op;
            for (uint32_t o = 0; o < signature->view.output_count; o++) {
                const uint32_t last = read[ll_op_output(trace, op, o)];
                if ((joined || signature->aliases[o] == i) && read[tensor] < last)
                    read[tensor] = last;
            }
            struct ll_liveness *life = &lives[trace->tensors[tensor].storage];
            if (joined && life->last < read[tensor])
                life->last = read[tensor];
        }
    }
    return !any || read;
}

/* Weights and optimizer state outlive the trace on both sides. */
static void keep_model(const struct ll_trace *trace, struct ll_liveness *lives)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        bool kept = lives[s].memory == LL_WEIGHT || lives[s].memory == LL_OPTIMIZER;
        if (kept && lives[s].first != LL_NONE) {
            lives[s].first = 0;
            lives[s].last = (uint32_t)(trace->op_count - 1);
        }
    }
}

struct ll_liveness *ll_trace_liveness(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct ll_liveness *lives = ll_alloc(arena, trace->storage_count, sizeof *lives);
    for (uint64_t s = 0; lives && s < trace->storage_count; s++)
        lives[s].first = LL_NONE;
    uint64_t *desc_bytes = lives ? malloc((trace->desc_count + 1) * sizeof *desc_bytes) : NULL;
    if (!desc_bytes)
        return NULL;
    for (uint64_t i = 0; i < trace->desc_count; i++)
        desc_bytes[i] = ll_size_bytes(&trace->descs[i].shape);
    meet_tensors(trace, desc_bytes, lives);
    free(desc_bytes);
    meet_readers(trace, lives);
    if (!meet_pieces(trace, lives, arena))
        return NULL;
    if (!ll_trace_has_holes(trace))
        keep_model(trace, lives);
    return lives;
}

/* The shape rule is the guard of the count rules, so it goes first, on a copy. More outputs than
 * LL_MAX_OUTPUTS need none: a rule that takes them only checks them, any other is found out by how many it
 * gives. */

static const char *compare_signatures(const struct ll_op_view *view, const struct ll_op_view *inferred)
{
    if (inferred->output_count != view->output_count)
        return "the number of outputs is not what this op gives";
    for (uint32_t i = 0; i < view->output_count; i++)
        if (inferred->out[i].rank != view->out[i].rank ||
            memcmp(inferred->out[i].dim, view->out[i].dim, sizeof view->out[i].dim))
            return "the outputs do not have the shapes that this op gives";
    return NULL;
}

const char *ll_signature_count(const struct ll_op_view *view, struct ll_signature_counts *counts)
{
    struct ll_shape copy[LL_MAX_OUTPUTS] = {0};
    struct ll_op_view inferred = *view;
    if (view->output_count > LL_MAX_OP_REFS || view->attr_count > LL_MAX_ATTRS)
        return "an op has more outputs or attributes than there may be";
    if (view->output_count <= LL_MAX_OUTPUTS) {
        if (view->output_count)
            memcpy(copy, view->out, view->output_count * sizeof *copy);
        inferred.out = copy;
    }
    const char *trouble = ll_op_infer(&inferred);
    if (!trouble)
        trouble = compare_signatures(view, &inferred);
    if (!trouble)
        *counts = (struct ll_signature_counts){ll_op_flops(view), ll_op_bytes_read(view),
                                               ll_op_bytes_written(view)};
    return trouble;
}

/* A copy of the shapes of these descs. */
static struct ll_shape *shapes_of(struct ll_trace *trace, const uint32_t *descs, uint32_t count)
{
    struct ll_shape *shapes = ll_alloc(&trace->arena, count, sizeof *shapes);
    for (uint32_t i = 0; shapes && i < count; i++)
        shapes[i] = trace->descs[descs[i]].shape;
    return shapes;
}

bool ll_signature_renew(struct ll_trace *trace, struct ll_op_signature *signature, const char **trouble)
{
    struct ll_signature_counts counts;
    signature->view.in = shapes_of(trace, signature->inputs, signature->view.input_count);
    signature->view.out = shapes_of(trace, signature->outputs, signature->view.output_count);
    if (!signature->view.in || !signature->view.out)
        return false;
    if (signature->view.kind == LL_OP_NONE)
        return true;
    *trouble = ll_signature_count(&signature->view, &counts);
    if (*trouble)
        return false;
    if (!ll_fits(counts.bytes_read) || !ll_fits(counts.bytes_written))
        *trouble = "a size does not fit in 64 bits";
    signature->flops = counts.flops;
    signature->bytes_read = counts.bytes_read;
    signature->bytes_written = counts.bytes_written;
    return !*trouble;
}

void ll_shapes_text(const struct ll_shape *shapes, uint32_t count, struct ll_str *out)
{
    for (uint32_t i = 0; i < count; i++) {
        ll_str_addf(out, "%s%s[", i ? " " : "", ll_dtype_name((enum ll_dtype)shapes[i].dtype));
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(out, "%s%llu", d ? "," : "", (unsigned long long)shapes[i].dim[d]);
        ll_str_add(out, "]");
    }
}

void ll_signature_text(const struct ll_op_view *view, struct ll_str *out)
{
    ll_shapes_text(view->in, view->input_count, out);
    ll_str_add(out, view->input_count ? " -> " : "-> ");
    ll_shapes_text(view->out, view->output_count, out);
}

bool *ll_views(const struct ll_trace *trace, struct ll_arena *arena)
{
    bool *views = ll_alloc(arena, trace->signature_count + 1, sizeof *views);
    for (uint64_t i = 0; views && i < trace->signature_count; i++) {
        const struct ll_op_view *view = &trace->signatures[i].view;
        struct ll_work work;
        views[i] = view->kind != LL_OP_NONE && view->input_count == 1 && view->output_count == 1 &&
                   ll_op_lower(view, &work) && work.kind == LL_WORK_NOTHING;
    }
    return views;
}
