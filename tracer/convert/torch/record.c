/* SPDX-License-Identifier: Apache-2.0 */
/* From PyTorch's nodes to a trace.
 *
 * Of operators within each other the outermost that has a row in aten.def is recorded, and what it calls is
 * passed over; where its rule cannot make sense of the arguments, or there is no row, what it calls is
 * looked at instead, if that computes all that comes out. Before that, one pass finds which memory is a
 * weight or a gradient, how often the run repeats itself, and which operators nobody knows. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/convert.h"
#include "tracer/convert/torch/torch.h"

#define NO_PARENT UINT64_MAX
enum { MOST_WARNINGS = 16 };
static const double covered_well = 0.9; /* of the device's time; what covers less is no good model of it */

static const char nobody_knows[] = "nobody knows this operator; --allow-opaque keeps it as moving its bytes";

/* What is known of a node beside itself. */
struct state {
    const char *scope;
    enum ll_phase phase;
    bool covered;             /* an operator around it was recorded */
    bool leads;               /* what it calls is all that it does */
    bool begins;              /* a step begins with it */
    bool left_out;            /* it is part of no step */
    uint64_t end;             /* of the nodes below it */
    enum ll_torch_work below; /* the most that one of these does */
    bool products;            /* one of these computes a product or a convolution */
    const struct ll_aten_row *row;
    const char *untold; /* why its arguments are not known; NULL: they are */
};

struct record {
    struct ll_import *import;
    bool bare; /* exchanges have the names of the library alone */
    struct ll_torch_nodes *nodes;
    enum ll_torch_file file;     /* an execution graph, which knows storages, or a profile, which does not */
    struct state *states;        /* by node */
    struct ll_storages storages; /* what each storage holds */
    struct ll_map sequences;     /* of forward operators, to their scopes */
    const char **sequence_scopes;
    uint64_t sequence_capacity;
    struct ll_map refused;            /* what was complained about */
    uint64_t covered_ns, opaque_ns;   /* of nodes that became ops, and of those that nobody knows */
    uint64_t kernel_count, kernel_ns; /* of those that are kept with their recorded time alone */
    struct ll_map kept;               /* names of their operators, or their own */
    struct ll_map opaque;             /* their names */
    uint64_t opaque_count;
    struct ll_map sizeless; /* names of unknown calls whose sizes are not in the file */
    uint64_t sizeless_count;
    const char *warned[MOST_WARNINGS]; /* keys and sentences, in turns */
    uint32_t warned_count;
};

static int by_id(const void *a, const void *b)
{
    const struct ll_torch_node *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* The place of a number among sorted nodes; NO_PARENT when it is none of theirs. */
static uint64_t place_of(const struct ll_torch_nodes *nodes, uint64_t id)
{
    const struct ll_torch_node key = {.id = id};
    const struct ll_torch_node *found = bsearch(&key, nodes->at, nodes->count, sizeof key, by_id);
    return found ? (uint64_t)(found - nodes->at) : NO_PARENT;
}

bool ll_torch_sort(struct ll_import *import, struct ll_torch_nodes *nodes)
{
    assert(nodes->at || nodes->count == 0);
    qsort(nodes->at, nodes->count, sizeof *nodes->at, by_id);
    for (uint64_t i = 1; i < nodes->count; i++)
        if (nodes->at[i].id == nodes->at[i - 1].id)
            return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                               "two nodes have the number %" PRIu64, nodes->at[i].id);
    for (uint64_t i = 0; i < nodes->count; i++) {
        uint64_t parent = place_of(nodes, nodes->at[i].parent);
        nodes->at[i].parent = parent < i ? parent : NO_PARENT;
    }
    return true;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What has two colons in its name is an operator; other nodes are backward nodes and what users have marked.
 */
static bool is_operator(const char *name)
{
    return strstr(name, "::") && !starts(name, "autograd::") && !starts(name, "torch::autograd::") &&
           !starts(name, "ProfilerStep");
}

/* Names that say nothing about where in the model this is. */
static bool says_nothing(const char *name)
{
    return name[0] == '[' || name[0] == '\0' || starts(name, "autograd::engine") ||
           starts(name, "ProfilerStep") || starts(name, "detach");
}

/* The scope of the forward operator that this backward node belongs to. */
static const char *forward_scope(const struct record *r, const struct ll_torch_node *node)
{
    uint32_t at = ll_map_find(&r->sequences, &node->sequence, sizeof node->sequence);
    return at == LL_NO_ID ? "" : r->sequence_scopes[at];
}

static bool keep_scope(struct record *r, const struct ll_torch_node *node, const char *scope)
{
    uint32_t at = ll_map_intern(&r->sequences, &node->sequence, sizeof node->sequence, NULL);
    if (at == LL_NO_ID ||
        !ll_grow(&r->sequence_scopes, &r->sequence_capacity, (uint64_t)at + 1, sizeof *r->sequence_scopes))
        return ll_import_no_memory(r->import);
    r->sequence_scopes[at] = scope;
    return true;
}

/* A name behind that of what is around it; scopes that have become long stay as they are. */
static const char *within(struct record *r, const char *outer, const char *name)
{
    enum { LONGEST_SCOPE = 1000 };
    if (strlen(outer) + strlen(name) > LONGEST_SCOPE)
        return outer;
    const char *scope = outer[0] ? ll_format(&r->import->arena, "%s/%s", outer, name)
                                 : ll_format(&r->import->arena, "%s", name);
    if (!scope)
        ll_import_no_memory(r->import);
    return scope ? scope : "";
}

/* A sentence for whoever reads the trace. */
static void remark(struct record *r, const char *key, const char *sentence)
{
    if (!sentence)
        ll_import_no_memory(r->import);
    else if (r->warned_count + 2 <= MOST_WARNINGS) {
        r->warned[r->warned_count++] = key;
        r->warned[r->warned_count++] = sentence;
    }
}

/* What a library for communication calls its exchanges: "nccl:all_reduce". */
static bool is_communicator(const char *name)
{
    return starts(name, "nccl:") || starts(name, "gloo:") || starts(name, "mpi:") || starts(name, "ucc:");
}

/* PyTorch before 1.13 has no operators for exchanges, and no notes of communicators: the libraries' names are
 * all there is. Later they stand beside these. */
static bool has_bare_exchanges(const struct ll_torch_nodes *nodes)
{
    for (uint64_t i = 0; i < nodes->count; i++)
        if (starts(nodes->at[i].name, "c10d::") || starts(nodes->at[i].name, "record_param_comms"))
            return false;
    return true;
}

/* Phase and scope: those of the node around it, unless its name or kind says more. */
static bool place_node(struct record *r, uint64_t i)
{
    enum { BACKWARD_NODE = 1 };
    const struct ll_torch_node *node = &r->nodes->at[i];
    const struct state *outer = node->parent == NO_PARENT ? NULL : &r->states[node->parent];
    struct state *state = &r->states[i];
    state->scope = outer ? outer->scope : "";
    state->phase = outer ? outer->phase : LL_PHASE_FORWARD;
    state->row = ll_aten_find(node->name);
    if (r->bare && is_communicator(node->name))
        state->row = ll_aten_find("record_param_comms");
    if (starts(node->name, "Optimizer."))
        state->phase = LL_PHASE_UPDATE;
    if (starts(node->name, "autograd::engine::evaluate_function") || node->scope == BACKWARD_NODE ||
        strstr(node->name, "_backward"))
        state->phase = LL_PHASE_BACKWARD;
    if (node->scope == BACKWARD_NODE && node->sequence >= 0)
        state->scope = within(r, forward_scope(r, node), node->name);
    else if (!is_operator(node->name) && !says_nothing(node->name))
        state->scope = within(r, state->scope, node->name);
    else if (node->sequence >= 0 && state->phase == LL_PHASE_FORWARD && !keep_scope(r, node, state->scope))
        return false;
    return r->import->status == LL_OK;
}

static bool allocates(const struct ll_aten_row *row)
{
    return row->word == LL_ATEN_ALLOCATE || row->word == LL_ATEN_NOTHING;
}

/* What operators call before they do what nobody sees: memory is got, seen otherwise, filled and copied. */
static bool prepares(const struct ll_aten_row *row)
{
    return allocates(row) || row->word == LL_ATEN_VIEW || row->word == LL_ATEN_COPY ||
           row->word == LL_ATEN_REPEAT || row->word == LL_ATEN_PADDED || row->word == LL_ATEN_ASSIGN ||
           row->word == LL_ATEN_FILL;
}

/* Whether a node got memory of this storage. */
static bool got(const struct ll_torch_node *node, uint64_t storage)
{
    for (uint32_t a = 0; a < node->input_count; a++)
        for (uint32_t t = 0; node->inputs[a].kind == LL_TORCH_TENSORS && t < node->inputs[a].count; t++)
            if (!node->inputs[a].tensors[t].absent && node->inputs[a].tensors[t].storage == storage)
                return true;
    return false;
}

enum { MOST_RESULTS = 1000 }; /* of a node that is looked into: each is looked for among what went in */

/* Whether all that comes out is memory of what went in: nothing was done, whatever it is called. */
static bool gives_back(const struct ll_torch_node *node)
{
    size_t length = strlen(node->name);
    bool all = node->outputs_known && length > 0 && node->name[length - 1] != '_' &&
               node->output_count <= MOST_RESULTS;
    for (uint32_t o = 0; all && o < node->output_count; o++)
        all = node->outputs[o].absent || got(node, node->outputs[o].storage);
    return all;
}

/* A kernel that torch.compile had Triton write, or that a program brought along. */
static bool is_compiled(const struct ll_torch_node *node)
{
    return starts(node->name, "triton_") || node->compiled;
}

static bool takes_tensors(const struct ll_torch_node *node)
{
    for (uint32_t a = 0; a < node->input_count; a++)
        if (node->inputs[a].kind == LL_TORCH_TENSORS && node->inputs[a].count > 0)
            return true;
    return false;
}

/* An operator without a row that does something; where nobody knows what comes out, one that takes tensors or
 * was measured. Compiled kernels always do something. */
static bool is_foreign(const struct record *r, uint64_t i)
{
    const struct ll_torch_node *node = &r->nodes->at[i];
    bool operates = is_operator(node->name) && node->input_count > 0;
    return !r->states[i].row && (operates || is_compiled(node)) && !gives_back(node) &&
           (node->outputs_known || takes_tensors(node) || node->duration_ns > 0);
}

static struct ll_aten call_of(struct record *r, uint64_t i)
{
    enum ll_phase phase = r->states[i].phase;
    return (struct ll_aten){
        .import = r->import,
        .storages = &r->storages,
        .node = &r->nodes->at[i],
        .row = r->states[i].row,
        .phase = phase,
        .memory = phase == LL_PHASE_FORWARD    ? LL_ACTIVATION
                  : phase == LL_PHASE_BACKWARD ? LL_GRADIENT
                                               : LL_WORKSPACE,
        .scope = r->states[i].scope,
        .below_count = r->states[i].end > i ? r->states[i].end - i - 1 : 0,
    };
}

static bool is_gemm(const struct ll_aten_row *row)
{
    return row && row->kind < LL_OP_NONE && ll_class_is_gemm(ll_op_class(row->kind));
}

/* Whether what lies below a node computes all that comes out of it: each result is memory that one of these
 * wrote, or, unless the name says that it changes, memory that went in. Where nobody knows what comes out,
 * anything that computes will do, but for a product, of which what is below may be no more than the bias. An
 * operator that has a row is left for such as have one alone. */
static bool find_lead(struct record *r, uint64_t i)
{
    struct ll_aten call = call_of(r, i);
    const struct ll_torch_node *node = call.node;
    const struct state *state = &r->states[i];
    enum ll_torch_work work = state->row ? LL_TORCH_KNOWN : LL_TORCH_SOMETHING;
    size_t length = strlen(node->name);
    bool lacks = !node->outputs_known && is_gemm(state->row) && !state->products;
    bool changes = length > 0 && node->name[length - 1] == '_',
         all = state->below >= work && node->output_count <= MOST_RESULTS && !lacks;
    for (uint32_t o = 0; all && o < node->output_count; o++) {
        const struct ll_torch_tensor *out = &node->outputs[o];
        if (out->absent || ll_elements(&out->shape) == 0 || (!changes && got(node, out->storage)))
            continue;
        const struct ll_storage *slot = ll_storage_of(&call, out);
        all = slot && slot->next_write[work] > i && slot->next_write[work] <= state->end;
    }
    return all;
}

/* Seen from the nodes before it, node i is the next that writes its results. */
static void note_results(struct record *r, uint64_t i, enum ll_torch_work work)
{
    struct ll_aten call = call_of(r, i);
    for (uint32_t o = 0; o < call.node->output_count; o++) {
        const struct ll_torch_tensor *out = &call.node->outputs[o];
        struct ll_storage *slot = out->absent ? NULL : ll_storage_of(&call, out);
        for (unsigned done = 1; slot && done <= (unsigned)work; done++)
            slot->next_write[done] = i + 1;
    }
}

/* From the last node to the first: what is done below it, and whether that is all that it does. */
static void find_leads(struct record *r)
{
    for (uint64_t i = r->nodes->count; i-- > 0;) {
        uint64_t parent = r->nodes->at[i].parent;
        struct state *state = &r->states[i];
        state->end = ll_max(state->end, i + 1);
        state->leads = find_lead(r, i);
        enum ll_torch_work work = LL_TORCH_NOTHING;
        if (state->row && !prepares(state->row))
            work = LL_TORCH_KNOWN;
        else if (!state->leads && is_foreign(r, i))
            work = LL_TORCH_SOMETHING;
        note_results(r, i, work);
        if (parent == NO_PARENT)
            continue;
        struct state *outer = &r->states[parent];
        outer->end = ll_max(outer->end, state->end);
        outer->products = outer->products || state->products || is_gemm(state->row);
        outer->below = work > outer->below ? work : outer->below;
        outer->below = state->below > outer->below ? state->below : outer->below;
    }
}

/* What memory is for, where no op writes it first: gradients are added up in it, or else the first operator
 * that reads it tells. */
static void note_classes(struct record *r, uint64_t i)
{
    struct ll_aten call = call_of(r, i);
    uint64_t parent = call.node->parent;
    bool accumulates = parent != NO_PARENT && strstr(r->nodes->at[parent].name, "AccumulateGrad");
    bool decides = call.row->kind != LL_OP_SEEN_AS && call.row->kind != LL_OP_FILL;
    bool known =
        r->file == LL_TORCH_GRAPH || call.phase != LL_PHASE_BACKWARD; /* else those found are weights */
    for (uint32_t a = 0; a < call.node->input_count; a++) {
        const struct ll_torch_tensor *tensor = ll_aten_tensor(&call, a);
        struct ll_storage *slot = tensor ? ll_storage_of(&call, tensor) : NULL;
        if (slot && accumulates && a == 0)
            slot->brought = LL_GRADIENT;
        else if (slot && decides && known && !slot->decided && a < 32 && call.row->weights >> a & 1)
            slot->brought = LL_WEIGHT;
        else if (slot && decides && !slot->decided && call.phase == LL_PHASE_UPDATE)
            slot->brought = LL_OPTIMIZER;
        if (slot && decides)
            slot->decided = true;
    }
}

/* The calls that are recorded, in order: the outermost with a row, and those that nobody knows. *count: how
 * many. */
static void find_leaves(struct record *r, struct ll_torch_leaf *leaves, uint64_t *count)
{
    *count = 0;
    for (uint64_t i = 0; i < r->nodes->count; i++) {
        uint64_t parent = r->nodes->at[i].parent;
        const struct state *outer = parent == NO_PARENT ? NULL : &r->states[parent];
        struct state *state = &r->states[i];
        bool known = state->row && !allocates(state->row);
        bool leaf = (known || (!state->leads && is_foreign(r, i))) && !(outer && outer->covered);
        state->covered = leaf || (outer && outer->covered);
        if (leaf)
            leaves[(*count)++] = (struct ll_torch_leaf){&r->nodes->at[i], state->row, state->phase, i};
    }
    for (uint64_t i = 0; i < r->nodes->count; i++)
        r->states[i].covered = false;
}

/* Marks where steps begin: at PyTorch's own marks, or with each repetition. */
static bool mark_steps(struct record *r, struct ll_torch_leaf *leaves, uint64_t *count)
{
    struct ll_torch_marks marks = {0};
    bool fine = ll_torch_find_marks(r->import, r->nodes, leaves, *count, &marks);
    for (uint64_t i = 0; fine && marks.step_count > 0 && i < r->nodes->count; i++)
        r->states[i].left_out = ll_torch_step_of(&marks, &r->nodes->at[i], i) == LL_TORCH_NO_STEP;
    uint64_t kept = 0, period = 0, step = LL_TORCH_NO_STEP;
    for (uint64_t i = 0; fine && i < *count; i++) {
        uint64_t now = marks.step_count ? ll_torch_step_of(&marks, leaves[i].node, leaves[i].place) : 0;
        if (now == LL_TORCH_NO_STEP)
            continue;
        r->states[leaves[i].place].begins = marks.step_count > 0 && now != step;
        step = now;
        if (leaves[i].row)
            leaves[kept++] = leaves[i];
    }
    *count = kept;
    if (fine && marks.warning)
        remark(r, "steps", marks.warning);
    if (fine && marks.step_count == 0 &&
        (fine = ll_torch_period(r->import, leaves, *count, r->file, &period)))
        for (uint64_t i = period; i < *count; i += period)
            r->states[leaves[i].place].begins = true;
    ll_torch_marks_release(&marks);
    return fine;
}

/* What memory is for; of a profile, which tensors are the same in all steps. */
static bool look_at_memory(struct record *r, const struct ll_torch_leaf *leaves, uint64_t count)
{
    struct ll_torch_kept kept = {0};
    bool fine = true;
    for (uint64_t i = 0, leaf = 0; fine && i < r->nodes->count && leaf < count; i++) {
        if (r->states[i].begins)
            ll_torch_keep_step(&kept);
        if (leaves[leaf].place != i)
            continue;
        fine = r->file == LL_TORCH_GRAPH || ll_torch_keep(&kept, &leaves[leaf]);
        note_classes(r, i);
        leaf++;
    }
    ll_torch_keep_release(&kept);
    return fine || ll_import_no_memory(r->import);
}

static bool train(const struct record *r)
{
    for (uint64_t i = 0; i < r->nodes->count; i++)
        if (r->states[i].phase == LL_PHASE_BACKWARD && !r->states[i].left_out)
            return true;
    return false;
}

/* Finds the numbers that a profile does not tell, and says what was assumed. */
static bool tell_numbers(struct record *r, struct ll_torch_leaf *leaves, uint64_t count)
{
    const bool training = train(r);
    struct ll_map all = {0};
    struct ll_str line = {0};
    for (uint64_t i = 0; r->file == LL_TORCH_PROFILE && i < count; i++) {
        const char *assumed = NULL;
        bool is_new = false;
        r->states[leaves[i].place].untold =
            ll_torch_tell(r->import, r->nodes, leaves, count, i, training, &assumed);
        if (assumed && ll_map_intern(&all, &assumed, sizeof assumed, &is_new) == LL_NO_ID)
            ll_import_no_memory(r->import);
        if (is_new)
            ll_str_addf(&line, "%s%s", line.length ? ", " : "assumed, for the file does not say: ", assumed);
    }
    if (line.length > 0)
        remark(r, "assumed", line.failed ? NULL : ll_copy_text(&r->import->arena, line.text, line.length));
    ll_str_release(&line);
    ll_map_release(&all);
    return r->import->status == LL_OK;
}

/* The first look at all nodes. */
static bool look_around(struct record *r)
{
    uint64_t count = 0;
    struct ll_torch_leaf *leaves = calloc(r->nodes->count + 1, sizeof *leaves);
    if (!leaves)
        return ll_import_no_memory(r->import);
    bool fine = true;
    r->bare = has_bare_exchanges(r->nodes);
    for (uint64_t i = 0; fine && i < r->nodes->count; i++)
        fine = place_node(r, i);
    find_leads(r);
    find_leaves(r, leaves, &count);
    fine = fine && mark_steps(r, leaves, &count) && tell_numbers(r, leaves, count) &&
           look_at_memory(r, leaves, count);
    free(leaves);
    return fine && r->import->status == LL_OK;
}

/* The first dimension of what the first operator with weights reads. */
static uint64_t batch_of(const struct record *r)
{
    for (uint64_t i = 0; i < r->nodes->count; i++) {
        const struct ll_torch_node *node = &r->nodes->at[i];
        const struct ll_aten_row *row = r->states[i].row;
        uint32_t x = row ? (uint32_t)__builtin_ctz(~row->weights) : 0;
        if (!row || r->states[i].left_out || !row->weights || x >= node->input_count ||
            node->inputs[x].kind != LL_TORCH_TENSORS || node->inputs[x].count == 0 ||
            node->inputs[x].tensors->shape.rank == 0)
            continue;
        return ll_max(1, node->inputs[x].tensors->shape.dim[0]);
    }
    return 1;
}

static bool begin(struct record *r)
{
    struct ll_import *import = r->import;
    const char *model = ll_import_choice(import, "model");
    uint64_t batch;
    if (!ll_import_count(import, "batch", 1, UINT64_C(1) << 30, batch_of(r), &batch))
        return false;
    ll_facts_add(&import->facts, "model", "%s", model ? model : ll_import_stem(import, "pytorch"));
    ll_facts_add(&import->facts, "mode", "%s", train(r) ? "train" : "infer");
    ll_facts_add(&import->facts, "batch", "%" PRIu64, batch);
    ll_facts_add(&import->facts, "source", "PyTorch %s",
                 r->file == LL_TORCH_GRAPH ? "execution graph" : "profile");
    return ll_import_begin(import);
}

/* Once for each name and reason. */
static void refuse(struct record *r, const char *name, const char *why)
{
    bool is_new = false;
    const char *both = ll_format(&r->import->arena, "%s: %s", name, why);
    if (!both || ll_map_intern(&r->refused, both, strlen(both), &is_new) == LL_NO_ID)
        ll_import_no_memory(r->import);
    else if (is_new)
        ll_complain(r->import->diags, (struct ll_place){.file = r->import->inputs[0].path}, "%s", both);
}

/* 1 + the operator without a row that gets memory by this call; 0 where it is none. */
static uint64_t getter(const struct record *r, uint64_t i)
{
    uint64_t parent = r->nodes->at[i].parent;
    while (parent != NO_PARENT && r->states[parent].row && allocates(r->states[parent].row))
        parent = r->nodes->at[parent].parent;
    bool unknown = parent != NO_PARENT && !r->states[parent].row && is_operator(r->nodes->at[parent].name);
    return unknown ? parent + 1 : 0;
}

/* Storages that come new out of an allocation hold nothing any more. */
static void forget(struct record *r, uint64_t i)
{
    struct ll_aten call = call_of(r, i);
    const struct ll_torch_tensor *result = ll_aten_result(&call, 0), *from = ll_aten_tensor(&call, 0);
    if (!call.row || call.row->word != LL_ATEN_ALLOCATE || !result)
        return;
    struct ll_storage *slot = from && from->storage == result->storage ? NULL : ll_storage_of(&call, result);
    if (slot) {
        slot->live = false;
        slot->brought = LL_INPUT;
        slot->got_by = getter(r, i);
    }
}

/* Records a call of an operator that has a row. What is allocated below it was allocated before it was
 * written, but after its arguments were; none of these can be allocated anew. What it reads of memory that
 * the operator around it got and no op wrote, that one wrote itself. */
static const char *record_call(struct record *r, uint64_t i)
{
    struct ll_aten call = call_of(r, i);
    for (uint64_t below = i + 1; below < r->states[i].end; below++)
        if (r->nodes->at[below].thread == call.node->thread)
            forget(r, below);
    const char *trouble = call.row->rule(&call);
    if (call.reads_of && !r->import->allow_opaque)
        refuse(r, r->nodes->at[call.reads_of - 1].name, nobody_knows);
    return trouble;
}

/* What a call moves where nobody knows what it does: all that it takes, and what the file says that it makes.
 * Where it does not say: as much as the first tensor that it takes; compiled kernels, which are given what
 * they read and then what they write, write the last one. False when memory ran out. */
struct moved {
    struct ll_imported *in;
    struct ll_shape *out;
    const struct ll_torch_tensor **written;
    uint32_t in_count, out_count;
};

/* What an operator without a rule moves: each of its tensor arguments once. Where its results are not known
 * it is taken to write its first argument, a compiled kernel its last one. */
static bool find_moved(struct record *r, struct ll_aten *call, struct moved *moved)
{
    const struct ll_torch_node *node = call->node;
    uint64_t count = 1, made = ll_max(1, node->output_count);
    for (uint32_t a = 0; a < node->input_count; a++)
        count += node->inputs[a].kind == LL_TORCH_TENSORS ? node->inputs[a].count : 0;
    const struct ll_torch_tensor **read = ll_alloc(&r->import->arena, count, sizeof *read);
    *moved = (struct moved){.in = ll_alloc(&r->import->arena, count, sizeof *moved->in),
                            .out = ll_alloc(&r->import->arena, made, sizeof *moved->out),
                            .written = ll_alloc(&r->import->arena, made, sizeof *moved->written)};
    if (!read || !moved->in || !moved->out || !moved->written)
        return false;
    uint32_t reads = 0;
    for (uint32_t a = 0; a < node->input_count; a++)
        for (uint32_t t = 0; node->inputs[a].kind == LL_TORCH_TENSORS && t < node->inputs[a].count; t++)
            if (!node->inputs[a].tensors[t].absent)
                read[reads++] = &node->inputs[a].tensors[t];
    bool compiled = is_compiled(node);
    for (uint32_t o = 0; o < node->output_count; o++)
        if (!node->outputs[o].absent)
            moved->written[moved->out_count++] = &node->outputs[o];
    if (!node->outputs_known && reads > 0)
        moved->written[moved->out_count++] = read[compiled ? reads - 1 : 0];
    reads -= compiled && !node->outputs_known && reads > 1;
    for (uint32_t i = 0; i < moved->out_count; i++)
        moved->out[i] = moved->written[i]->shape;
    for (uint32_t i = 0; i < reads; i++)
        moved->in[moved->in_count++] = ll_aten_hold(call, read[i], NULL);
    return true;
}

static bool multiply_to(const struct ll_shape *a, const struct ll_shape *b, const struct ll_shape *y)
{
    const unsigned rank = y->rank;
    return (rank == 2 || rank == 3) && a->rank == rank && b->rank == rank &&
           a->dim[rank - 2] == y->dim[rank - 2] && b->dim[rank - 1] == y->dim[rank - 1] &&
           a->dim[rank - 1] == b->dim[rank - 2] &&
           (rank == 2 || (a->dim[0] == y->dim[0] && b->dim[0] == y->dim[0]));
}

/* The shapes tell which product a template of torch.compile computes: of a and b; what else there is, a bias
 * before them or others behind, goes into the result element by element. Whether it is one. */
static bool record_template(struct ll_aten *call, const struct moved *moved)
{
    uint32_t a = 0;
    if (!starts(call->node->name, "triton_tem_") || moved->out_count != 1)
        return false;
    while (a + 1 < moved->in_count &&
           !multiply_to(&moved->in[a].shape, &moved->in[a + 1].shape, &moved->out[0]))
        a++;
    return a + 1 < moved->in_count &&
           !ll_aten_do(
               call,
               &(struct ll_import_op){.kind = moved->out[0].rank == 2 ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL,
                                      .in = moved->in + a,
                                      .in_count = 2},
               NULL);
}

/* Keeps a call of an operator that nobody knows, as moving its bytes; its name is the last part of its scope.
 */
static const char *record_foreign(struct record *r, uint64_t i)
{
    struct ll_aten call = call_of(r, i);
    struct moved moved;
    if (!find_moved(r, &call, &moved))
        return ll_status_text(LL_NO_MEMORY);
    struct ll_imported *out = ll_alloc(&r->import->arena, moved.out_count + 1u, sizeof *out);
    if (!out)
        return ll_status_text(LL_NO_MEMORY);
    const char *name = call.node->name;
    if (moved.out_count == 0) {
        r->sizeless_count++;
        bool kept = ll_map_intern(&r->sizeless, name, strlen(name), NULL) != LL_NO_ID;
        return kept ? NULL : ll_status_text(LL_NO_MEMORY);
    }
    if (record_template(&call, &moved))
        return NULL;
    call.scope = within(r, call.scope, name);
    const char *trouble = ll_aten_do(&call,
                                     &(struct ll_import_op){.kind = LL_OP_FOREIGN,
                                                            .in = moved.in,
                                                            .in_count = moved.in_count,
                                                            .given = moved.out,
                                                            .given_count = moved.out_count},
                                     out);
    for (uint32_t o = 0; !trouble && o < moved.out_count; o++)
        ll_aten_give(&call, moved.written[o], out[o]);
    if (!trouble && ll_map_intern(&r->opaque, name, strlen(name), NULL) == LL_NO_ID)
        return ll_status_text(LL_NO_MEMORY);
    r->opaque_count += !trouble;
    r->opaque_ns = ll_add(r->opaque_ns, trouble ? 0 : call.node->duration_ns);
    return trouble;
}

/* A kernel of which nothing is known but its name and time. False with import->status, or after refusing. */
static bool record_kernel(struct record *r, uint64_t i, const struct ll_torch_kernel *kernel)
{
    struct ll_aten call = call_of(r, i);
    struct ll_torch_node one = *call.node;
    const char *name = one.name[0] ? one.name : kernel->name;
    const struct ll_attr bound = {
        LL_ATTR_BOUND_BY,
        {.count = (int64_t)ll_recorded_bound(kernel->name, kernel->kind, kernel->duration_ns)}};
    one.start_ns = kernel->start_ns;
    one.duration_ns = kernel->duration_ns;
    call.node = &one;
    call.scope = within(r, call.scope, kernel->name);
    const char *trouble = ll_aten_do(
        &call, &(struct ll_import_op){.kind = LL_OP_KERNEL, .attrs = &bound, .attr_count = 1}, NULL);
    if (trouble)
        refuse(r, kernel->name, trouble);
    else if (ll_map_intern(&r->kept, name, strlen(name), NULL) == LL_NO_ID)
        return ll_import_no_memory(r->import);
    r->kernel_count++;
    r->kernel_ns = ll_add(r->kernel_ns, kernel->duration_ns);
    return !trouble;
}

/* The kernels that a node started itself, or also those that the nodes below it did. */
static void record_kernels(struct record *r, uint64_t i, bool below)
{
    const uint64_t end = below ? ll_max(r->states[i].end, i + 1) : i + 1;
    const uint32_t thread = r->nodes->at[i].thread;
    bool fine = true;
    for (uint64_t n = i; fine && n < end; n++) {
        const struct ll_torch_node *node = &r->nodes->at[n];
        for (uint64_t k = 0; fine && node->thread == thread && k < node->kernel_count; k++)
            fine = record_kernel(r, i, &r->nodes->kernels[node->kernel_first + k]);
    }
}

/* What cannot be recorded for this reason keeps the recorded time of its kernels, where these were recorded.
 * Otherwise it is kept as moving its bytes, where the user wants that, or refused. */
static void keep_or_refuse(struct record *r, uint64_t i, const char *why)
{
    if (r->nodes->measured && !r->import->allow_opaque && !starts(r->nodes->at[i].name, "triton_")) {
        record_kernels(r, i, true);
        return;
    }
    /* Kernels of torch.compile put together what goes element by element, or sums it up: moving their
     * bytes is what they take. */
    if (!r->import->allow_opaque && !starts(r->nodes->at[i].name, "triton_"))
        refuse(r, r->nodes->at[i].name, why);
    else if ((why = record_foreign(r, i)) && r->nodes->measured)
        record_kernels(r, i, true);
    else if (why)
        refuse(r, r->nodes->at[i].name, why);
}

/* One node in order. It begins a step where it should; what a recorded operator calls is covered and passed
 * over; an operator whose rule refuses the arguments, or that has none, is kept or refused unless what it
 * calls stands for it. */
static void record_node(struct record *r, uint64_t i)
{
    const struct ll_torch_node *node = &r->nodes->at[i];
    struct state *state = &r->states[i];
    if (state->begins && r->storages.ops > 0)
        ll_recorder_step_begin(r->import->recorder);
    state->covered = node->parent != NO_PARENT && r->states[node->parent].covered;
    if (state->covered || state->left_out)
        return;
    const uint32_t before = r->storages.ops;
    if (state->row && allocates(state->row)) {
        forget(r, i);
        return;
    }
    const char *trouble = state->untold;
    if (state->row && !trouble)
        trouble = record_call(r, i);
    bool foreign = !state->leads && is_foreign(r, i);
    bool leads = state->leads && !state->untold; /* helpers of a call whose numbers lack are not the call */
    state->covered = foreign || (state->row && (!trouble || !leads));
    if (trouble && !leads)
        keep_or_refuse(r, i, trouble);
    if (foreign)
        keep_or_refuse(r, i, nobody_knows);
    if (r->storages.ops == before && r->nodes->measured)
        record_kernels(r, i, state->covered);
    if (r->storages.ops > before)
        r->covered_ns = ll_add(r->covered_ns, state->covered ? node->duration_ns : node->device_ns);
}

static void add_names(struct ll_str *line, const struct ll_map *names)
{
    enum { NAMED = 4 };
    for (uint32_t i = 0; i < names->count && i < NAMED; i++)
        ll_str_addf(line, "%s%.*s", i ? ", " : "", (int)names->entries[i].length,
                    (const char *)names->entries[i].bytes);
    if (names->count > NAMED)
        ll_str_addf(line, " and %" PRIu32 " more", names->count - NAMED);
}

/* What the trace says of what is in it and what is not: the share of the device's time first. */
static void conclude(struct record *r)
{
    struct ll_facts facts = {.arena = &r->import->arena};
    uint64_t all_ns = 0;
    for (uint64_t i = 0; i < r->nodes->count; i++)
        all_ns = ll_add(all_ns, r->states[i].left_out ? 0 : r->nodes->at[i].device_ns);
    double coverage = all_ns > 0 ? fmin(1, (double)r->covered_ns / (double)all_ns) : 1;
    if (all_ns > 0)
        ll_facts_add(&facts, "coverage", "%.6f", coverage);
    if (coverage < covered_well)
        ll_facts_add(
            &facts, "warning.coverage",
            "%.3g %% of the recorded device time is in the trace: the rest was started by no operator "
            "of the profile that could be read, and is not simulated",
            100 * coverage);
    if (r->file == LL_TORCH_PROFILE)
        ll_facts_add(&facts, "memory.unknown", "yes");
    if (r->opaque_count > 0) {
        struct ll_str line = {0};
        ll_str_addf(&line,
                    "%" PRIu64 " call%s of %" PRIu32
                    " operator%s whose meaning is unknown only move%s %s bytes: ",
                    r->opaque_count, r->opaque_count == 1 ? "" : "s", r->opaque.count,
                    r->opaque.count == 1 ? "" : "s", r->opaque_count == 1 ? "s" : "",
                    r->opaque_count == 1 ? "its" : "their");
        add_names(&line, &r->opaque);
        if (all_ns > 0)
            ll_str_addf(&line, " (%.3g %% of the recorded device time)",
                        100 * (double)r->opaque_ns / (double)all_ns);
        facts.failed = facts.failed || line.failed;
        ll_facts_add(&facts, "warning.opaque", "%s", line.failed ? "" : line.text);
        ll_str_release(&line);
    }
    if (r->kernel_count > 0) {
        struct ll_str line = {0};
        ll_str_addf(&line,
                    "%" PRIu64 " kernel%s of unknown meaning (%.3g %% of the recorded device time) keep%s %s "
                    "recorded time: of ",
                    r->kernel_count, r->kernel_count == 1 ? "" : "s",
                    all_ns > 0 ? 100 * (double)r->kernel_ns / (double)all_ns : 0,
                    r->kernel_count == 1 ? "s" : "", r->kernel_count == 1 ? "its" : "their");
        add_names(&line, &r->kept);
        facts.failed = facts.failed || line.failed;
        ll_facts_add(&facts, "warning.kernels", "%s", line.failed ? "" : line.text);
        ll_str_release(&line);
    }
    if (r->sizeless_count > 0) {
        struct ll_str line = {0};
        ll_str_addf(&line,
                    "%" PRIu64 " call%s left out, whose sizes are not in the file: ", r->sizeless_count,
                    r->sizeless_count == 1 ? " is" : "s are");
        add_names(&line, &r->sizeless);
        facts.failed = facts.failed || line.failed;
        ll_facts_add(&facts, "warning.sizeless", "%s", line.failed ? "" : line.text);
        ll_str_release(&line);
    }
    for (uint32_t i = 0; i + 1 < r->warned_count; i += 2)
        ll_facts_add(&facts, ll_format(&r->import->arena, "warning.%s", r->warned[i]), "%s",
                     r->warned[i + 1]);
    if (facts.failed)
        ll_import_no_memory(r->import);
    else if (facts.count > 0)
        ll_recorder_facts(r->import->recorder, facts.items, facts.count);
}

static void record_all(struct record *r)
{
    for (uint64_t i = 0; i < r->nodes->count && r->import->status == LL_OK; i++) {
        ll_import_progress(r->import, "recording", i, r->nodes->count);
        record_node(r, i);
    }
    if (r->import->status == LL_OK)
        conclude(r);
}

bool ll_torch_record(struct ll_import *import, struct ll_torch_nodes *nodes, enum ll_torch_file file)
{
    assert(file == LL_TORCH_PROFILE || file == LL_TORCH_GRAPH);
    struct record r = {
        .import = import, .nodes = nodes, .file = file, .storages.in_order = file == LL_TORCH_PROFILE};
    size_t before = import->diags->count;
    r.states = calloc(nodes->count + 1, sizeof *r.states);
    bool done = r.states ? look_around(&r) && begin(&r) : ll_import_no_memory(import);
    if (done)
        record_all(&r);
    nodes->left_out = r.storages.ops == 0 && nodes->measured;
    if (done && r.storages.ops == 0 && !nodes->measured && import->diags->count == before)
        ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                    "no node of it is an operator that does something");
    ll_storages_release(&r.storages);
    ll_map_release(&r.sequences);
    ll_map_release(&r.refused);
    ll_map_release(&r.opaque);
    ll_map_release(&r.kept);
    ll_map_release(&r.sizeless);
    free(r.sequence_scopes);
    free(r.states);
    return done && import->status == LL_OK && import->diags->count == before;
}

bool ll_import_TORCH_GRAPH(struct ll_import *import)
{
    struct ll_torch_nodes nodes = {.at = NULL};
    bool done = import->input_count == 1
                    ? ll_torch_read_graph(import, &nodes) && ll_torch_sort(import, &nodes) &&
                          ll_torch_record(import, &nodes, LL_TORCH_GRAPH)
                    : ll_complain(import->diags, (struct ll_place){0}, "expected one execution graph");
    free(nodes.at);
    return done;
}
