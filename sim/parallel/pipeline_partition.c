/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline partition: the layers are divided among virtual stages by their FLOPs, each op follows its layer,
 * and weights that several virtual stages read are tied. ll_pipeline_partition then writes one virtual stage
 * as a program of its own, with sends and receives where tensors cross between virtual stages. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/pipeline.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

static bool all_equal(const uint64_t *loads, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (loads[i] != loads[0])
            return false;
    return true;
}

/* How many parts it takes if none may exceed the limit, leaving at least one load for each part to come. */
static uint32_t fill(const uint64_t *totals, uint32_t count, uint32_t parts, uint64_t limit,
                     uint32_t *part_of)
{
    uint32_t part = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool must = count - i < parts - part && i > 0; /* one part for each that is left */
        if (i > 0 && (must || ll_add(sum, totals[i]) > limit)) {
            part++;
            sum = 0;
        }
        sum = ll_add(sum, totals[i]);
        part_of[i] = part;
    }
    return part + 1;
}

void ll_balance_loads(const uint64_t *loads, const uint64_t *totals, uint32_t count, uint32_t parts,
                      uint32_t *part_of)
{
    assert(parts > 0 && parts <= count);
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        low = ll_max(low, totals[i]);
        high = ll_add(high, totals[i]);
    }
    if (all_equal(loads, count)) {
        uint32_t each = count / parts, longer = count % parts, in_longer = longer * (each + 1);
        for (uint32_t i = 0; i < count; i++)
            part_of[i] = i < in_longer ? i / (each + 1) : longer + (i - in_longer) / each;
        return;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fill(totals, count, parts, middle, part_of) <= parts)
            high = middle;
        else
            low = middle + 1;
    }
    fill(totals, count, parts, low, part_of);
}

struct finding {
    const struct ll_trace *trace;
    struct ll_arena *arena;
    struct ll_virtual_stages *vstages;
    uint32_t *only;   /* by storage: the first virtual stage that reads it as a weight */
    uint32_t *tie_at; /* by storage */
};

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

static uint32_t *none(struct ll_arena *arena, uint64_t count)
{
    uint32_t *list = ll_alloc(arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    return list;
}

/* As a layout says. */
static bool divide_as_laid_out(const char *text, uint32_t count, uint32_t parts, uint32_t *part_of)
{
    struct ll_layout layout;
    bool right = ll_layout_read(text, &layout, part_of, count) && layout.parts == parts &&
                 layout.layers + layout.embedding + layout.loss == count;
    if (!right)
        return false;
    for (uint32_t part = parts, layer = count; part-- > 0;) { /* from behind: counts make room for parts */
        const uint32_t first = layer - part_of[part];
        while (layer > first)
            part_of[--layer] = part;
    }
    return true;
}

bool ll_divide_layers(const struct ll_layer_split *split, const uint64_t *loads, const uint64_t *totals,
                      uint32_t count, uint32_t parts, uint32_t *part_of)
{
    assert(parts > 0 && parts <= count);
    if (*split->layout)
        return divide_as_laid_out(split->layout, count, parts, part_of);
    if (!split->evenly && !split->embedding && !split->loss && split->first == 0 && split->last == 0) {
        ll_balance_loads(loads, totals, count, parts, part_of);
        return true;
    }
    const uint64_t last = parts > 1 ? split->last : 0, ends = (split->first > 0) + (last > 0),
                   fixed = ll_add(split->first, last);
    const uint64_t between = parts - ends, left = fixed <= count ? count - fixed : 0;
    if (fixed > count || left < between || (between == 0 && left > 0))
        return false;
    for (uint32_t part = 0, layer = 0; part < parts; part++) {
        const uint64_t middle = part - (split->first > 0);
        uint64_t layers = part == 0 && split->first > 0   ? split->first
                          : part == parts - 1 && last > 0 ? last
                                                          : left / between + (middle < left % between);
        for (uint64_t i = 0; i < layers; i++)
            part_of[layer++] = part;
    }
    return true;
}

static const char *divide_layers(struct finding *f, const struct ll_pipeline_partition *partition)
{
    struct ll_layers layers;
    struct ll_virtual_stages *vstages = f->vstages;
    const char *trouble = ll_layers_of_split(f->trace, &partition->split, f->arena, &layers);
    if (trouble)
        return trouble;
    if (!partition->part_of && layers.count < vstages->count)
        return "there are fewer layers than stages";
    uint32_t *divided = partition->part_of ? NULL : ll_alloc(f->arena, layers.count, sizeof *divided);
    const uint32_t *part_of = partition->part_of ? partition->part_of : divided;
    assert(!partition->part_of || partition->layers == layers.count);
    if (!part_of)
        return "memory ran out";
    if (divided && !ll_divide_layers(&partition->split, layers.named_flops, layers.flops, layers.count,
                                     vstages->count, divided))
        return *partition->split.layout
                   ? "the layout does not have as many layers as the model"
                   : "the layers of the first and the last stage do not leave as many as the others need";
    for (uint32_t op = 0; op < f->trace->op_count; op++)
        vstages->vstage_of[op] = layers.owner[op] == LL_NONE ? LL_NONE : part_of[layers.owner[op]];
    return NULL;
}

static bool is_update(const struct ll_trace *trace, uint32_t op)
{
    return signature_of(trace, op)->phase == LL_PHASE_UPDATE;
}

static bool is_gradient(const struct ll_trace *trace, uint32_t tensor)
{
    const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[tensor].desc];
    return desc->memory == LL_GRADIENT && desc->shape.rank > 0 && trace->tensors[tensor].producer != LL_NONE;
}

/* Whatever is done to a gradient when updating is done where its weight is: from the update backward through
 * what makes its gradient, and then what else reads that (its norm). */
static bool bring_gradients_home(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    uint32_t *vstage_of = f->vstages->vstage_of, *home = none(f->arena, trace->tensor_count);
    for (uint64_t at = home ? trace->op_count : 0; at-- > 0;) {
        uint32_t op = (uint32_t)at;
        const struct ll_op_signature *signature = signature_of(trace, op);
        bool updates =
            is_update(trace, op) && signature->view.output_count > 0 && signature->view.out[0].rank > 0;
        for (uint32_t i = 0; updates && vstage_of[op] != LL_NONE && i < signature->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i);
            if (!is_gradient(trace, tensor))
                continue;
            home[tensor] = vstage_of[op];
            if (is_update(trace, trace->tensors[tensor].producer))
                vstage_of[trace->tensors[tensor].producer] = vstage_of[op];
        }
    }
    for (uint32_t op = 0; home && op < trace->op_count; op++)
        for (uint32_t i = 0; is_update(trace, op) && i < signature_of(trace, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i);
            bool sums = signature_of(trace, op)->view.output_count > 0 &&
                        signature_of(trace, op)->view.out[0].rank == 0;
            if (sums && home[tensor] != LL_NONE)
                vstage_of[op] = home[tensor];
        }
    return home;
}

static bool find_views(struct finding *f)
{
    f->vstages->is_view = ll_views(f->trace, f->arena);
    return f->vstages->is_view;
}

/* A virtual stage reads a weight: the second one to do so makes it a tie. */
static bool note_reader(struct finding *f, uint32_t storage, uint32_t vstage)
{
    struct ll_virtual_stages *vstages = f->vstages;
    if (f->only[storage] == LL_NONE)
        f->only[storage] = vstage;
    if (f->tie_at[storage] == LL_NONE && f->only[storage] != vstage) {
        struct ll_tie *tie = &vstages->ties[vstages->tie_count];
        *tie = (struct ll_tie){ll_alloc(f->arena, vstages->count, sizeof *tie->has), LL_NONE, LL_NONE};
        if (!tie->has)
            return false;
        tie->has[f->only[storage]] = true;
        f->tie_at[storage] = vstages->tie_count++;
    }
    if (f->tie_at[storage] != LL_NONE)
        vstages->ties[f->tie_at[storage]].has[vstage] = true;
    return true;
}

static bool find_ties(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    f->only = none(f->arena, trace->storage_count);
    f->tie_at = none(f->arena, trace->storage_count);
    f->vstages->tie_of = none(f->arena, trace->op_count);
    f->vstages->ties = ll_alloc(f->arena, trace->storage_count + 1, sizeof *f->vstages->ties);
    if (!f->only || !f->tie_at || !f->vstages->tie_of || !f->vstages->ties)
        return false;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(trace, op);
        uint32_t vstage = f->vstages->vstage_of[op];
        bool computes = signature->phase == LL_PHASE_FORWARD || signature->phase == LL_PHASE_BACKWARD;
        for (uint32_t i = 0; computes && vstage != LL_NONE && i < signature->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
            if (trace->descs[tensor->desc].memory == LL_WEIGHT && !note_reader(f, tensor->storage, vstage))
                return false;
        }
    }
    return true;
}

/* Updates of a tied weight happen on all that have it. */
static void tie_updates(struct finding *f)
{
    for (uint32_t op = 0; op < f->trace->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(f->trace, op);
        for (uint32_t i = 0; signature->phase == LL_PHASE_UPDATE && i < signature->view.input_count; i++) {
            uint32_t tie = f->tie_at[f->trace->tensors[ll_op_input(f->trace, op, i)].storage];
            if (tie != LL_NONE)
                f->vstages->tie_of[op] = tie;
        }
    }
}

/* So does what is done to the gradient itself before, such as clipping. */
static void tie_what_updates_read(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    for (uint64_t at = trace->op_count; at-- > 0;) {
        uint32_t op = (uint32_t)at, tie = f->vstages->tie_of[op];
        const struct ll_op_signature *signature = signature_of(trace, op);
        for (uint32_t i = 0; tie != LL_NONE && i < signature->view.input_count; i++) {
            const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
            const struct ll_tensor_desc *desc = &trace->descs[tensor->desc];
            if (tensor->producer != LL_NONE && desc->memory == LL_GRADIENT && desc->shape.rank > 0 &&
                signature_of(trace, tensor->producer)->phase == LL_PHASE_UPDATE)
                f->vstages->tie_of[tensor->producer] = tie;
        }
    }
}

static bool is_sum(const struct ll_op_signature *signature)
{
    if (signature->phase != LL_PHASE_BACKWARD ||
        (signature->view.kind != LL_OP_ADD && signature->view.kind != LL_OP_ADD_N))
        return false;
    for (uint32_t i = 1; i < signature->view.input_count; i++)
        if (memcmp(signature->view.in[i].dim, signature->view.in[0].dim, sizeof signature->view.in[0].dim) !=
            0)
            return false;
    return signature->view.input_count > 1;
}

static bool piece_adds(const struct ll_trace *trace, const struct ll_virtual_stages *vstages,
                       const struct ll_tie *tie, uint32_t vstage);

static struct ll_apart tie_apart(const struct ll_trace *trace, const struct ll_virtual_stages *vstages,
                                 const struct ll_tie *tie)
{
    struct ll_apart apart = {0};
    uint32_t last = LL_NONE;
    bool even = true;
    for (uint32_t stage = 0; stage < vstages->stages; stage++)
        for (uint32_t chunk = 0; chunk < vstages->count / vstages->stages; chunk++) {
            uint32_t vstage = (uint32_t)ll_vstage_at(vstages->schedule, vstages->stages, stage, chunk);
            if (!piece_adds(trace, vstages, tie, vstage))
                continue;
            uint32_t gap = last == LL_NONE ? 0 : stage - last;
            even &= apart.stages == 0 || (gap > 0 && (apart.stages == 1 || gap == apart.stride));
            apart.stride = gap;
            apart.stages++;
            last = stage;
        }
    if (!even)
        apart.stride = 0;
    return apart;
}

/* Whether all virtual stages that make terms have the weight, and an all_reduce could add them. */
static bool spans(const struct ll_trace *trace, const struct ll_virtual_stages *vstages,
                  const struct ll_tie *tie)
{
    for (uint32_t i = 0; i < signature_of(trace, tie->sum)->view.input_count; i++) {
        uint32_t from = trace->tensors[ll_op_input(trace, tie->sum, i)].producer;
        uint32_t vstage = from == LL_NONE ? LL_NONE : vstages->vstage_of[from];
        if (vstage == LL_NONE || !tie->has[vstage])
            return false;
    }
    struct ll_apart apart = tie_apart(trace, vstages, tie);
    return apart.stages > 1 && apart.stride > 0;
}

/* By op the tie whose updates read what it makes. */
static uint32_t *ties_fed(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    uint32_t *fed = none(f->arena, trace->op_count);
    for (uint32_t op = 0; fed && op < trace->op_count; op++)
        for (uint32_t i = 0;
             f->vstages->tie_of[op] != LL_NONE && i < signature_of(trace, op)->view.input_count; i++) {
            uint32_t from = trace->tensors[ll_op_input(trace, op, i)].producer;
            if (from != LL_NONE)
                fed[from] = f->vstages->tie_of[op];
        }
    return fed;
}

/* Readers that must have a tie's sum where it is made: they only update, and lie on virtual stages that have
 * it. */
static bool may_read(const struct finding *f, uint32_t reader, uint32_t tie)
{
    uint32_t vstage = f->vstages->vstage_of[reader];
    if (signature_of(f->trace, reader)->phase != LL_PHASE_UPDATE)
        return false;
    return f->vstages->tie_of[reader] == tie || (vstage != LL_NONE && f->vstages->ties[tie].has[vstage]);
}

/* The ops that add gradients of tied weights, read by nothing but what updates. */
static bool find_sums(struct finding *f)
{
    const struct ll_trace *trace = f->trace;
    struct ll_virtual_stages *vstages = f->vstages;
    uint32_t *fed = ties_fed(f);
    for (uint32_t op = 0; fed && op < trace->op_count; op++)
        for (uint32_t i = 0; i < signature_of(trace, op)->view.input_count; i++) {
            uint32_t from = trace->tensors[ll_op_input(trace, op, i)].producer;
            if (from != LL_NONE && fed[from] != LL_NONE && !may_read(f, op, fed[from]))
                fed[from] = LL_NONE;
        }
    for (uint32_t op = 0; fed && op < trace->op_count; op++) {
        if (fed[op] == LL_NONE || !is_sum(signature_of(trace, op)))
            continue;
        struct ll_tie *tie = &vstages->ties[fed[op]], summed = {tie->has, op, ll_op_output(trace, op, 0)};
        if (tie->sum == LL_NONE && spans(trace, vstages, &summed))
            *tie = summed;
    }
    return fed;
}

const char *ll_virtual_stages_find(const struct ll_trace *trace,
                                   const struct ll_pipeline_partition *partition, struct ll_arena *arena,
                                   struct ll_virtual_stages *vstages)
{
    assert(partition->stages > 0 && partition->chunks > 0);
    if (ll_mul(partition->stages, partition->chunks) > UINT32_MAX / 2)
        return "there are fewer layers than stages";
    struct finding finding = {.trace = trace, .arena = arena, .vstages = vstages};
    *vstages = (struct ll_virtual_stages){.count = (uint32_t)(partition->stages * partition->chunks),
                                          .stages = (uint32_t)partition->stages,
                                          .schedule = partition->schedule};
    vstages->vstage_of = none(arena, trace->op_count);
    if (!vstages->vstage_of)
        return "memory ran out";
    const char *trouble = divide_layers(&finding, partition);
    if (trouble)
        return trouble;
    if (!bring_gradients_home(&finding) || !find_views(&finding) || !find_ties(&finding))
        return "memory ran out";
    tie_updates(&finding);
    tie_what_updates_read(&finding);
    return find_sums(&finding) ? NULL : "memory ran out";
}

/* Whether a virtual stage runs an op because it is the op's, or has the weight that it updates. */
static bool piece_runs(const struct ll_virtual_stages *vstages, uint32_t vstage, uint32_t op)
{
    uint32_t tie = vstages->tie_of[op];
    return tie != LL_NONE ? vstages->ties[tie].has[vstage] : vstages->vstage_of[op] == vstage;
}

/* Whether a virtual stage made some of the terms of a tie's sum. */
static bool piece_adds(const struct ll_trace *trace, const struct ll_virtual_stages *vstages,
                       const struct ll_tie *tie, uint32_t vstage)
{
    for (uint32_t i = 0; i < signature_of(trace, tie->sum)->view.input_count; i++) {
        uint32_t from = trace->tensors[ll_op_input(trace, tie->sum, i)].producer;
        if (from != LL_NONE && vstages->vstage_of[from] == vstage)
            return true;
    }
    return false;
}

/* The tensor behind views that a virtual stage has not. */
static uint32_t piece_source(const struct ll_trace *trace, const struct ll_virtual_stages *vstages,
                             uint32_t vstage, uint32_t tensor)
{
    uint32_t from = trace->tensors[tensor].producer;
    while (from != LL_NONE && vstages->is_view[trace->ops[from].signature] &&
           vstages->vstage_of[from] != LL_NONE && !piece_runs(vstages, vstage, from)) {
        tensor = ll_op_input(trace, from, 0);
        from = trace->tensors[tensor].producer;
    }
    return tensor;
}

/* The virtual stage from which one that does not make a tensor gets it; LL_NONE when it is there or each
 * makes it. */
static uint32_t piece_sender(const struct ll_trace *trace, const struct ll_virtual_stages *vstages,
                             uint32_t vstage, uint32_t tensor)
{
    uint32_t from = trace->tensors[tensor].producer;
    if (from == LL_NONE || vstages->vstage_of[from] == LL_NONE)
        return LL_NONE;
    uint32_t owner = vstages->vstage_of[from];
    for (uint32_t i = 0; i < vstages->tie_count; i++)
        if (vstages->ties[i].sum == from) {
            if (piece_adds(trace, vstages, &vstages->ties[i], vstage))
                return LL_NONE;
            for (owner = 0; !piece_adds(trace, vstages, &vstages->ties[i], owner);)
                owner++;
            return owner;
        }
    if (piece_runs(vstages, vstage, from))
        return LL_NONE;
    while (!piece_runs(vstages, owner, from))
        owner = (owner + 1) % vstages->count;
    return owner;
}

/* First what crosses to and from the virtual stage is listed, each tensor once for each virtual stage that
 * reads it: by early readers at once when it is made, where only updates read it when updating begins. Then
 * the trace is written anew: ops of the virtual stage, before each of them what it reads. What comes from
 * another virtual stage is received in the order in which that one made it, so both programs agree on the
 * order. */

struct transfer {
    uint32_t tensor, from, to; /* virtual stages */
    uint32_t made;             /* op */
    enum ll_phase phase;       /* in which it is sent and received */
    bool sent;
};

struct list {
    struct transfer *at;
    uint64_t count, capacity;
};

/* What one virtual stage sends in one phase: neighbours in the list of what comes in. */
struct row {
    uint64_t next, end; /* the next to be received; behind the last */
};

struct partitioning {
    const struct ll_trace *trace;
    const struct ll_pipeline_partition *partition;
    const struct ll_virtual_stages *vstages;
    struct ll_rewrite rewrite;
    struct list in, out; /* by sender, phase and tensor; by tensor and receiver */
    uint32_t *in_at;     /* by tensor: its place in `in` */
    struct row *rows;    /* of `in` */
    uint32_t *row_of;    /* by place in `in` */
    uint32_t row_count;
    bool *is_read; /* by tensor */
    uint32_t step;
    bool backward, updating; /* in this step backward ops have been; after them updates, too */
};

static const struct ll_op_signature *signature_in_cut(const struct partitioning *c, uint32_t op)
{
    return &c->trace->signatures[c->trace->ops[op].signature];
}

/* What crosses. */

static bool add_transfer(struct list *list, const struct transfer *transfer)
{
    if (!ll_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at))
        return false;
    list->at[list->count++] = *transfer;
    return true;
}

static const struct ll_tie *tie_summed_by(const struct partitioning *c, uint32_t op)
{
    for (uint32_t i = 0; i < c->vstages->tie_count; i++)
        if (c->vstages->ties[i].sum == op)
            return &c->vstages->ties[i];
    return NULL;
}

/* What is made for others soon goes when it is made. What only an update reads goes once a step: as it is,
 * before replicas exchange it, or as an update has made it. */
static enum ll_phase phase_of(const struct partitioning *c, uint32_t made, uint32_t read)
{
    enum ll_phase making = signature_in_cut(c, made)->phase;
    if (signature_in_cut(c, read)->phase != LL_PHASE_UPDATE)
        return making;
    return making == LL_PHASE_UPDATE || tie_summed_by(c, made) ? LL_PHASE_UPDATE : LL_PHASE_COMM;
}

/* A virtual stage's op reads a tensor: listed if it crosses and we send or receive it. */
static bool list_reading(struct partitioning *c, uint32_t vstage, uint32_t op, uint32_t tensor)
{
    uint32_t self = (uint32_t)c->partition->vstage;
    tensor = piece_source(c->trace, c->vstages, vstage, tensor);
    uint32_t from = piece_sender(c->trace, c->vstages, vstage, tensor);
    if (from == LL_NONE || (from != self && vstage != self))
        return true;
    uint32_t made = c->trace->tensors[tensor].producer;
    const struct transfer transfer = {tensor, from, vstage, made, phase_of(c, made, op), false};
    return add_transfer(vstage == self ? &c->in : &c->out, &transfer);
}

/* What the op reads, on each virtual stage that runs it. */
static bool list_op(struct partitioning *c, uint32_t op)
{
    uint32_t tie = c->vstages->tie_of[op], first = tie == LL_NONE ? c->vstages->vstage_of[op] : 0;
    uint32_t end = tie == LL_NONE ? first + 1 : c->vstages->count;
    if (first == LL_NONE || tie_summed_by(c, op))
        return true;
    for (uint32_t i = 0; i < signature_in_cut(c, op)->view.input_count; i++)
        for (uint32_t vstage = first; vstage < end; vstage++)
            if (piece_runs(c->vstages, vstage, op) &&
                !list_reading(c, vstage, op, ll_op_input(c->trace, op, i)))
                return false;
    return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of equals those read early come first: theirs is the phase that counts. */
static int by_tensor(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    int order = compare_numbers(a->tensor, b->tensor);
    order = order ? order : compare_numbers(a->to, b->to);
    return order ? order : compare_numbers(a->phase, b->phase);
}

static int by_sender(const void *left, const void *right)
{
    const struct transfer *a = left, *b = right;
    int order = compare_numbers(a->from, b->from);
    order = order ? order : compare_numbers(a->phase, b->phase);
    return order ? order : compare_numbers(a->tensor, b->tensor);
}

/* Each tensor once for each reader. */
static void settle(struct list *list)
{
    uint64_t kept = 0;
    if (list->count == 0)
        return;
    qsort(list->at, list->count, sizeof *list->at, by_tensor);
    for (uint64_t i = 0; i < list->count; i++)
        if (i == 0 || list->at[i].tensor != list->at[kept - 1].tensor ||
            list->at[i].to != list->at[kept - 1].to)
            list->at[kept++] = list->at[i];
    list->count = kept;
}

static bool same_row(const struct transfer *a, const struct transfer *b)
{
    return a->from == b->from && a->phase == b->phase;
}

/* Finds what crosses the borders of stages, in both directions, and groups what comes from one stage with
 * the same sender and step into rows, which become one message. False when memory ran out. */
static bool list_transfers(struct partitioning *c)
{
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        if (!list_op(c, op))
            return false;
    settle(&c->in);
    settle(&c->out);
    if (c->in.count)
        qsort(c->in.at, c->in.count, sizeof *c->in.at, by_sender);
    c->in_at = ll_alloc(&c->rewrite.arena, c->trace->tensor_count + 1, sizeof *c->in_at);
    c->rows = ll_alloc(&c->rewrite.arena, c->in.count + 1, sizeof *c->rows);
    c->row_of = ll_alloc(&c->rewrite.arena, c->in.count + 1, sizeof *c->row_of);
    c->is_read = ll_alloc(&c->rewrite.arena, c->trace->tensor_count + 1, sizeof *c->is_read);
    if (!c->in_at || !c->rows || !c->row_of || !c->is_read)
        return false;
    memset(c->in_at, 0xff, c->trace->tensor_count * sizeof *c->in_at);
    for (uint64_t i = 0; i < c->in.count; i++) {
        c->in_at[c->in.at[i].tensor] = (uint32_t)i;
        if (i == 0 || !same_row(&c->in.at[i - 1], &c->in.at[i]))
            c->rows[c->row_count++].next = i;
        c->row_of[i] = c->row_count - 1;
        c->rows[c->row_count - 1].end = i + 1;
    }
    for (uint32_t op = 0; op < c->trace->op_count; op++)
        for (uint32_t i = 0; i < signature_in_cut(c, op)->view.input_count; i++)
            c->is_read[ll_op_input(c->trace, op, i)] = true;
    return true;
}

/* Writing. */

static int64_t distance_to(const struct partitioning *c, uint32_t vstage)
{
    const enum ll_schedule schedule = c->partition->schedule;
    int64_t here = (int64_t)ll_vstage_lies_on(schedule, c->partition->stages, c->partition->vstage),
            there = (int64_t)ll_vstage_lies_on(schedule, c->partition->stages, vstage);
    return (there - here) * (int64_t)c->partition->distance;
}

static void receive(struct partitioning *c, const struct transfer *transfer)
{
    const struct ll_attr peer = {.key = LL_ATTR_PEER, .count = distance_to(c, transfer->from)};
    uint32_t desc = ll_rewrite_desc(&c->rewrite, c->trace->tensors[transfer->tensor].desc);
    const struct ll_record record = {
        .kind = LL_OP_RECEIVE,
        .phase = transfer->phase,
        .scope = ll_rewrite_string(&c->rewrite, signature_in_cut(c, transfer->made)->scope),
        .outputs = &desc,
        .output_count = 1,
        .attrs = &peer,
        .attr_count = 1};
    ll_rewrite_redirect(&c->rewrite, transfer->tensor, ll_rewrite_add(&c->rewrite, &record));
}

/* All of a sender and phase up to this one. */
static void receive_up_to(struct partitioning *c, uint64_t place)
{
    for (struct row *row = &c->rows[c->row_of[place]]; row->next <= place; row->next++)
        receive(c, &c->in.at[row->next]);
}

/* Everything that was made going forward in this step, before the virtual stage goes backward; of a row, what
 * comes earlier was made earlier. */
static void receive_forward(struct partitioning *c, uint32_t before_op)
{
    for (struct row *row = c->rows; row < c->rows + c->row_count; row++)
        for (; row->next < row->end; row->next++) {
            const struct transfer *transfer = &c->in.at[row->next];
            if (transfer->phase != LL_PHASE_FORWARD || transfer->made >= before_op)
                break;
            receive(c, transfer);
        }
}

static uint32_t here(struct partitioning *c, uint32_t tensor);

/* The virtual stage's own terms of a gradient, and then all virtual stages' by an exchange. */
static void add_tied(struct partitioning *c, const struct ll_tie *tie)
{
    const struct ll_op_signature *signature = signature_in_cut(c, tie->sum);
    uint32_t count = 0, *terms = ll_alloc(&c->rewrite.arena, signature->view.input_count, sizeof *terms);
    uint32_t desc = ll_rewrite_desc(&c->rewrite, signature->outputs[0]);
    uint32_t scope = ll_rewrite_string(&c->rewrite, signature->scope);
    if (!terms) {
        ll_rewrite_trouble(&c->rewrite, "memory ran out");
        return;
    }
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        uint32_t tensor = ll_op_input(c->trace, tie->sum, i);
        if (c->vstages->vstage_of[c->trace->tensors[tensor].producer] == c->partition->vstage)
            terms[count++] = here(c, tensor);
    }
    if (count > 1)
        terms[0] = ll_rewrite_add(&c->rewrite, &(struct ll_record){.kind = LL_OP_ADD_N,
                                                                   .phase = LL_PHASE_UPDATE,
                                                                   .scope = scope,
                                                                   .inputs = terms,
                                                                   .input_count = count,
                                                                   .outputs = &desc,
                                                                   .output_count = 1});
    struct ll_apart apart = tie_apart(c->trace, c->vstages, tie);
    const struct ll_exchange_place place = {scope, LL_PHASE_UPDATE, apart.stages,
                                            apart.stride * c->partition->distance};
    uint32_t sum = ll_rewrite_exchange(&c->rewrite, LL_OP_ALL_REDUCE, terms[0], desc, &place);
    ll_rewrite_redirect(&c->rewrite, tie->first_output, sum);
}

/* What every virtual stage makes for itself, views included: with what it reads. */
static void make_here(struct partitioning *c, uint32_t op)
{
    for (uint32_t i = 0; i < signature_in_cut(c, op)->view.input_count; i++)
        here(c, ll_op_input(c->trace, op, i));
    ll_rewrite_keep(&c->rewrite, op);
}

/* Sees to it that a tensor is in the virtual stage. Its new number. */
static uint32_t here(struct partitioning *c, uint32_t tensor)
{
    uint32_t made = c->trace->tensors[tensor].producer, now = ll_rewrite_tensor(&c->rewrite, tensor);
    if (c->rewrite.trouble || now != LL_NONE)
        return now;
    const struct ll_tie *tie = tie_summed_by(c, made);
    if (c->in_at[tensor] != LL_NONE)
        receive_up_to(c, c->in_at[tensor]);
    else if (tie)
        add_tied(c, tie);
    else
        make_here(c, made);
    return ll_rewrite_tensor(&c->rewrite, tensor);
}

static void send(struct partitioning *c, struct transfer *transfer)
{
    const struct ll_attr attrs[] = {{.key = LL_ATTR_PEER, .count = distance_to(c, transfer->to)},
                                    {.key = LL_ATTR_IN_PLACE, .count = 0}};
    if (transfer->sent)
        return;
    transfer->sent = true;
    uint32_t tensor = here(c, transfer->tensor);
    uint32_t desc = ll_rewrite_desc(&c->rewrite, c->trace->tensors[transfer->tensor].desc);
    ll_rewrite_add(&c->rewrite,
                   &(struct ll_record){
                       .kind = LL_OP_SEND,
                       .phase = transfer->phase,
                       .scope = ll_rewrite_string(&c->rewrite, signature_in_cut(c, transfer->made)->scope),
                       .inputs = &tensor,
                       .input_count = 1,
                       .outputs = &desc,
                       .output_count = 1,
                       .attrs = attrs,
                       .attr_count = 2});
}

/* What was just made and others read soon. */
static void send_made(struct partitioning *c, uint32_t op)
{
    uint64_t low = 0, high = c->out.count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (c->out.at[middle].made < op)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->out.count && c->out.at[low].made == op; low++)
        if (c->out.at[low].phase == signature_in_cut(c, op)->phase)
            send(c, &c->out.at[low]);
}

/* What only updates read is sent, and gradients of tied weights are added: nothing of it waits for others'
 * updates. */
static void begin_updates(struct partitioning *c, uint32_t before_op)
{
    for (uint64_t i = 0; i < c->out.count && c->out.at[i].made < before_op; i++)
        if (c->out.at[i].phase == LL_PHASE_COMM)
            send(c, &c->out.at[i]);
    for (uint64_t i = 0; i < c->out.count && c->out.at[i].made < before_op; i++)
        if (c->out.at[i].phase == LL_PHASE_UPDATE)
            send(c, &c->out.at[i]);
    for (uint32_t i = 0; i < c->vstages->tie_count; i++) {
        const struct ll_tie *tie = &c->vstages->ties[i];
        if (tie->sum < before_op && piece_adds(c->trace, c->vstages, tie, (uint32_t)c->partition->vstage))
            here(c, tie->first_output);
    }
    c->updating = true;
}

static void follow_phase(struct partitioning *c, uint32_t op)
{
    enum ll_phase phase = signature_in_cut(c, op)->phase;
    ll_rewrite_step(&c->rewrite, op);
    if (c->trace->ops[op].step != c->step)
        c->backward = c->updating = false;
    c->step = c->trace->ops[op].step;
    if (phase == LL_PHASE_BACKWARD && !c->backward) {
        receive_forward(c, op);
        c->backward = true;
    }
    if (phase == LL_PHASE_UPDATE && c->backward && !c->updating)
        begin_updates(c, op);
}

/* What nobody reads and nobody owns is done once: by the first virtual stage. */
static bool is_left_over(const struct partitioning *c, uint32_t op)
{
    bool read = c->vstages->vstage_of[op] != LL_NONE || c->vstages->tie_of[op] != LL_NONE ||
                c->partition->vstage != 0;
    for (uint32_t i = 0; i < signature_in_cut(c, op)->view.output_count; i++)
        read |= c->is_read[ll_op_output(c->trace, op, i)];
    return !read;
}

static void write_op(struct partitioning *c, uint32_t op)
{
    bool left_over = is_left_over(c, op);
    if (tie_summed_by(c, op) || (!left_over && !piece_runs(c->vstages, (uint32_t)c->partition->vstage, op)))
        return;
    if (!left_over)
        follow_phase(c, op);
    make_here(c, op);
    send_made(c, op);
}

struct ll_trace *ll_vstage_program(const struct ll_trace *trace,
                                   const struct ll_pipeline_partition *partition,
                                   const struct ll_virtual_stages *vstages, const char **trouble)
{
    assert(partition->vstage < partition->stages * partition->chunks);
    struct partitioning c = {.trace = trace, .partition = partition, .vstages = vstages, .step = LL_NONE};
    char vstage[48];
    snprintf(vstage, sizeof vstage, "%" PRIu64 " of %" PRIu64, partition->vstage + 1,
             partition->stages * partition->chunks);
    ll_rewrite_begin(&c.rewrite, trace, &(struct ll_fact){"piece", vstage}, 1);
    if (!list_transfers(&c))
        ll_rewrite_trouble(&c.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !c.rewrite.trouble; op++)
        write_op(&c, op);
    if (!c.rewrite.trouble)
        begin_updates(&c, (uint32_t)trace->op_count);
    struct ll_trace *new = ll_rewrite_end(&c.rewrite, trouble);
    free(c.in.at);
    free(c.out.at);
    return new;
}

struct ll_trace *ll_pipeline_partition(const struct ll_trace *trace,
                                       const struct ll_pipeline_partition *partition, const char **trouble)
{
    struct ll_arena arena = {0};
    struct ll_virtual_stages vstages;
    *trouble = ll_virtual_stages_find(trace, partition, &arena, &vstages);
    struct ll_trace *made = *trouble ? NULL : ll_vstage_program(trace, partition, &vstages, trouble);
    ll_arena_release(&arena);
    return made;
}
