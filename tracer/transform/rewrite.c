/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting traces: the first section copies a trace or writes it as a file, the second follows tensors and
 * ops from an old trace to a new one. */
#include "tracer/transform/rewrite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/ir/trace.h"
#include "tracer/record/encode.h"
#include "tracer/record/recorder.h"

/* The big tables are blocks of their own, as the reader makes them; what they point to goes into the arena.
 */

/* A copy of a table on the heap: *to is NULL only when memory ran out. */
static bool copy_table(void *to, const void *from, uint64_t count, size_t size)
{
    void *copy = calloc(count + 1, size);
    if (copy && count > 0)
        memcpy(copy, from, count * size);
    memcpy(to, &copy, sizeof copy);
    return copy != NULL;
}

static bool copy_tables(struct ll_trace *to, const struct ll_trace *from)
{
    return copy_table(&to->facts, from->facts, from->fact_count, sizeof *from->facts) &&
           copy_table(&to->strings, from->strings, from->string_count, sizeof *from->strings) &&
           copy_table(&to->descs, from->descs, from->desc_count, sizeof *from->descs) &&
           copy_table(&to->signatures, from->signatures, from->signature_count, sizeof *from->signatures) &&
           copy_table(&to->edges, from->edges, from->edges_count, sizeof *from->edges) &&
           copy_table(&to->ops, from->ops, from->op_count, sizeof *from->ops) &&
           copy_table(&to->tensors, from->tensors, from->tensor_count, sizeof *from->tensors) &&
           copy_table(&to->steps, from->steps, from->step_count, sizeof *from->steps);
}

/* Whether the copies are there, and the tables' pointers lead to them. */
static bool copy_texts(struct ll_trace *trace)
{
    bool whole = true;
    for (uint64_t i = 0; i < trace->string_count && whole; i++)
        whole = (trace->strings[i] =
                     ll_copy_text(&trace->arena, trace->strings[i], strlen(trace->strings[i]))) != NULL;
    for (uint64_t i = 0; i < trace->fact_count && whole; i++) {
        struct ll_fact *fact = &trace->facts[i];
        fact->key = ll_copy_text(&trace->arena, fact->key, strlen(fact->key));
        fact->value = ll_copy_text(&trace->arena, fact->value, strlen(fact->value));
        whole = fact->key && fact->value;
    }
    return whole;
}

static bool copy_signature(struct ll_arena *arena, struct ll_op_signature *signature)
{
    struct ll_op_view *view = &signature->view;
    signature->inputs = ll_copy(arena, signature->inputs, view->input_count * sizeof *signature->inputs);
    signature->outputs = ll_copy(arena, signature->outputs, view->output_count * sizeof *signature->outputs);
    signature->aliases = ll_copy(arena, signature->aliases, view->output_count * sizeof *signature->aliases);
    view->in = ll_copy(arena, view->in, view->input_count * sizeof *view->in);
    view->out = ll_copy(arena, view->out, view->output_count * sizeof *view->out);
    view->attrs = ll_copy(arena, view->attrs, view->attr_count * sizeof *view->attrs);
    return signature->inputs && signature->outputs && signature->aliases && view->in && view->out &&
           view->attrs;
}

static bool copy_links(struct ll_arena *arena, struct ll_op_edges *edges)
{
    edges->inputs = ll_copy(arena, edges->inputs, edges->input_count * sizeof *edges->inputs);
    edges->controls = ll_copy(arena, edges->controls, edges->control_count * sizeof *edges->controls);
    return edges->inputs && edges->controls;
}

static bool copy_lists(struct ll_trace *trace)
{
    bool whole = true;
    for (uint64_t i = 0; i < trace->signature_count && whole; i++)
        whole = copy_signature(&trace->arena, &trace->signatures[i]);
    for (uint64_t i = 0; i < trace->edges_count && whole; i++)
        whole = copy_links(&trace->arena, &trace->edges[i]);
    return whole;
}

struct ll_trace *ll_trace_copy(const struct ll_trace *trace)
{
    struct ll_trace *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *trace;
    copy->arena = (struct ll_arena){0};
    copy->facts = NULL, copy->strings = NULL, copy->descs = NULL, copy->signatures = NULL;
    copy->edges = NULL, copy->ops = NULL, copy->tensors = NULL, copy->steps = NULL;
    if (copy_tables(copy, trace) && copy_texts(copy) && copy_lists(copy))
        return copy;
    ll_trace_free(copy);
    return NULL;
}

/* Numbers of descs and tensors are what they were, for they are handed out in this order. */
static void tell_tensors(const struct ll_trace *trace, uint64_t *next, uint64_t end,
                         struct ll_recorder *recorder)
{
    for (; *next < end; ++*next)
        ll_recorder_tensor(recorder, trace->tensors[*next].desc);
}

/* Tells a recorder an op of the trace as it is: inputs, outputs, and controls in the order of their
 * reasons. */
static void tell_op(const struct ll_trace *trace, uint32_t seq, uint32_t *refs, struct ll_recorder *recorder)
{
    const struct ll_op *op = &trace->ops[seq];
    const struct ll_op_signature *signature = &trace->signatures[op->signature];
    const struct ll_op_edges *edges = &trace->edges[op->edges];
    uint32_t *controls = refs + edges->input_count;
    for (uint32_t i = 0; i < edges->input_count; i++)
        refs[i] = ll_op_input(trace, seq, i);
    for (uint32_t i = 0; i < edges->control_count; i++)
        controls[i] = seq - (uint32_t)edges->controls[i];
    if (seq > 0 && op->step != trace->ops[seq - 1].step)
        ll_recorder_step_begin(recorder);
    ll_recorder_op(
        recorder, &(struct ll_record){.kind = signature->view.kind,
                                      .phase = signature->phase,
                                      .scope = ll_recorder_string(recorder, trace->strings[signature->scope]),
                                      .thread = op->thread,
                                      .inputs = refs,
                                      .input_count = edges->input_count,
                                      .outputs = signature->outputs,
                                      .output_count = signature->view.output_count,
                                      .attrs = signature->view.attrs,
                                      .attr_count = signature->view.attr_count,
                                      .controls = controls,
                                      .control_count = edges->control_count,
                                      .storage_count = edges->storage_count,
                                      .gap_count = edges->gap_count,
                                      .start_ns = op->start_ns,
                                      .duration_ns = op->duration_ns});
}

static uint64_t most_refs(const struct ll_trace *trace)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < trace->edges_count; i++)
        most = ll_max(most, (uint64_t)trace->edges[i].input_count + trace->edges[i].control_count);
    return most;
}

/* Replays the trace into a recorder that writes the file: tensors that no op made are brought before the
 * first op that follows them, steps begin and end where they did. */
enum ll_status ll_trace_write(const struct ll_trace *trace, const struct ll_fact *facts, size_t fact_count,
                              const char *path)
{
    struct ll_arena arena = {0};
    const char *part = ll_path_beside(&arena, path);
    uint32_t *refs = ll_alloc(&arena, most_refs(trace) + 1, sizeof *refs);
    enum ll_status status = LL_NO_MEMORY;
    struct ll_recorder *recorder = part && refs ? ll_recorder_open(part, facts, fact_count, &status) : NULL;
    if (!recorder) {
        ll_arena_release(&arena);
        return status;
    }
    ll_recorder_afterwards(recorder, 0);
    for (uint64_t i = 0; i < trace->desc_count; i++)
        ll_recorder_desc(recorder, trace->strings[trace->descs[i].name], &trace->descs[i].shape,
                         (enum ll_memory_class)trace->descs[i].memory);
    uint64_t tensors = 0;
    for (uint32_t seq = 0; seq < trace->op_count; seq++) {
        tell_tensors(trace, &tensors, trace->ops[seq].first_output, recorder);
        tell_op(trace, seq, refs, recorder);
        tensors += trace->signatures[trace->ops[seq].signature].view.output_count;
    }
    tell_tensors(trace, &tensors, trace->tensor_count, recorder);
    ll_recorder_cut(recorder, trace->steps, trace->step_count);
    status = ll_recorder_close(recorder);
    enum ll_status kept = ll_path_keep(part, path, status == LL_OK);
    ll_arena_release(&arena);
    return status == LL_OK ? kept : status;
}

/* Numbers are followed by tables as long as the old trace; what repeats in the old trace is interned once and
 * then only looked up, so that keeping an op costs little more than recording it. */

bool ll_rewrite_trouble(struct ll_rewrite *rewrite, const char *trouble)
{
    assert(trouble);
    if (!rewrite->trouble)
        rewrite->trouble = trouble;
    return false;
}

static bool no_memory(struct ll_rewrite *rewrite)
{
    return ll_rewrite_trouble(rewrite, ll_status_text(LL_NO_MEMORY));
}

/* What stopped the recorder is the trouble. */
static uint32_t checked(struct ll_rewrite *rewrite, uint32_t number)
{
    if (number == LL_NONE && !rewrite->trouble)
        ll_rewrite_trouble(rewrite, ll_status_text(ll_recorder_status(rewrite->recorder)));
    return number;
}

/* Facts. */

static bool of_host(const char *key)
{
    static const char *const prefixes[] = {"host.", "library.", "program.", "blas.", "clock."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static const struct ll_fact *find_fact(const struct ll_fact *facts, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].key, key) == 0)
            return &facts[i];
    return NULL;
}

/* The old ones in their order, replaced where they are given anew, then those that are new. */
static size_t merge_facts(const struct ll_trace *old, const struct ll_fact *facts, size_t count,
                          struct ll_fact *merged)
{
    static const struct ll_fact dry = {"native", "no"};
    size_t merged_count = 0;
    for (uint64_t i = 0; i < old->fact_count; i++) {
        const struct ll_fact *given = find_fact(facts, count, old->facts[i].key);
        if (!given && strcmp(old->facts[i].key, dry.key) == 0)
            given = &dry;
        if (given || !of_host(old->facts[i].key))
            merged[merged_count++] = given ? *given : old->facts[i];
    }
    for (size_t i = 0; i < count; i++)
        if (!find_fact(old->facts, old->fact_count, facts[i].key))
            merged[merged_count++] = facts[i];
    return merged_count;
}

static uint32_t *numbers(struct ll_rewrite *rewrite, uint64_t count)
{
    uint32_t *list = ll_alloc(&rewrite->arena, count + 1, sizeof *list);
    if (list)
        memset(list, 0xff, (count + 1) * sizeof *list);
    else
        no_memory(rewrite);
    return list;
}

void ll_rewrite_begin(struct ll_rewrite *rewrite, const struct ll_trace *old, const struct ll_fact *facts,
                      size_t fact_count)
{
    *rewrite = (struct ll_rewrite){.old = old, .step = LL_NONE};
    struct ll_fact *merged = ll_alloc(&rewrite->arena, old->fact_count + fact_count + 1, sizeof *merged);
    rewrite->tensors = numbers(rewrite, old->tensor_count);
    rewrite->ops = numbers(rewrite, old->op_count);
    rewrite->descs = numbers(rewrite, old->desc_count);
    rewrite->strings = numbers(rewrite, old->string_count);
    rewrite->steps = numbers(rewrite, old->step_count);
    if (!merged)
        no_memory(rewrite);
    if (rewrite->trouble)
        return;
    enum ll_status status;
    size_t count = merge_facts(old, facts, fact_count, merged);
    rewrite->recorder = ll_recorder_open_memory(merged, count, &status);
    if (rewrite->recorder)
        ll_recorder_afterwards(rewrite->recorder, 0); /* no op waits for its note to be made sense of */
    else
        ll_rewrite_trouble(rewrite, ll_status_text(status));
}

/* What repeats. */

uint32_t ll_rewrite_string(struct ll_rewrite *rewrite, uint32_t string)
{
    assert(string < rewrite->old->string_count);
    if (rewrite->trouble)
        return LL_NONE;
    uint32_t *number = &rewrite->strings[string];
    if (*number == LL_NONE)
        *number = checked(rewrite, ll_recorder_string(rewrite->recorder, rewrite->old->strings[string]));
    return *number;
}

/* The desc that the recorder made, with its shape at hand. */
static uint32_t note_shape(struct ll_rewrite *rewrite, uint32_t made, const struct ll_shape *shape)
{
    uint32_t desc = checked(rewrite, made);
    if (desc == LL_NONE)
        return LL_NONE;
    if (!ll_grow(&rewrite->shapes, &rewrite->shape_capacity, desc + 1u, sizeof *rewrite->shapes)) {
        no_memory(rewrite);
        return LL_NONE;
    }
    rewrite->shapes[desc] = *shape;
    return desc;
}

uint32_t ll_rewrite_new_desc(struct ll_rewrite *rewrite, const char *name, const struct ll_shape *shape,
                             enum ll_memory_class memory)
{
    if (rewrite->trouble)
        return LL_NONE;
    return note_shape(rewrite, ll_recorder_desc(rewrite->recorder, name, shape, memory), shape);
}

/* An old desc's name with a shape whose size fits. */
static uint32_t named_desc(struct ll_rewrite *rewrite, uint32_t desc, const struct ll_shape *shape)
{
    const struct ll_tensor_desc *old = &rewrite->old->descs[desc];
    const uint32_t name = ll_rewrite_string(rewrite, old->name);
    if (name == LL_NONE)
        return LL_NONE;
    return note_shape(
        rewrite, ll_recorder_named_desc(rewrite->recorder, name, shape, (enum ll_memory_class)old->memory),
        shape);
}

uint32_t ll_rewrite_reshaped(struct ll_rewrite *rewrite, uint32_t desc, const struct ll_shape *shape)
{
    const struct ll_tensor_desc *old = &rewrite->old->descs[desc];
    if (ll_fits(ll_size_bytes(shape)))
        return rewrite->trouble ? LL_NONE : named_desc(rewrite, desc, shape);
    return ll_rewrite_new_desc(rewrite, rewrite->old->strings[old->name], shape,
                               (enum ll_memory_class)old->memory);
}

uint32_t ll_rewrite_desc(struct ll_rewrite *rewrite, uint32_t desc)
{
    assert(desc < rewrite->old->desc_count);
    if (!rewrite->trouble && rewrite->descs[desc] == LL_NONE)
        rewrite->descs[desc] = named_desc(rewrite, desc, &rewrite->old->descs[desc].shape);
    return rewrite->trouble ? LL_NONE : rewrite->descs[desc];
}

/* Tensors. */

static bool note_tensors(struct ll_rewrite *rewrite, uint32_t first, const uint32_t *descs, uint32_t count)
{
    assert(first == rewrite->new_tensor_count);
    if (!ll_grow(&rewrite->new_descs, &rewrite->new_desc_capacity, (uint64_t)first + count + 1,
                 sizeof *rewrite->new_descs))
        return no_memory(rewrite);
    for (uint32_t i = 0; i < count; i++)
        rewrite->new_descs[first + i] = descs[i];
    rewrite->new_tensor_count += count;
    return true;
}

uint32_t ll_rewrite_bring(struct ll_rewrite *rewrite, uint32_t desc)
{
    if (rewrite->trouble)
        return LL_NONE;
    uint32_t tensor = checked(rewrite, ll_recorder_tensor(rewrite->recorder, desc));
    return tensor != LL_NONE && note_tensors(rewrite, tensor, &desc, 1) ? tensor : LL_NONE;
}

uint32_t ll_rewrite_tensor(struct ll_rewrite *rewrite, uint32_t tensor)
{
    assert(tensor < rewrite->old->tensor_count);
    const struct ll_tensor *old = &rewrite->old->tensors[tensor];
    if (rewrite->trouble)
        return LL_NONE;
    if (rewrite->tensors[tensor] == LL_NONE && old->producer == LL_NONE)
        rewrite->tensors[tensor] = ll_rewrite_bring(rewrite, ll_rewrite_desc(rewrite, old->desc));
    return rewrite->tensors[tensor];
}

void ll_rewrite_redirect(struct ll_rewrite *rewrite, uint32_t tensor, uint32_t new_tensor)
{
    assert(tensor < rewrite->old->tensor_count);
    assert(new_tensor == LL_NONE || new_tensor < rewrite->new_tensor_count);
    if (!rewrite->trouble)
        rewrite->tensors[tensor] = new_tensor;
}

const struct ll_shape *ll_rewrite_shape(const struct ll_rewrite *rewrite, uint32_t new_tensor)
{
    assert(new_tensor == LL_NONE || new_tensor < rewrite->new_tensor_count);
    static const struct ll_shape scalar = {0};
    return rewrite->trouble ? &scalar : &rewrite->shapes[rewrite->new_descs[new_tensor]];
}

/* Ops. */

static bool map_inputs(struct ll_rewrite *rewrite, uint32_t op, uint32_t *inputs, uint32_t count)
{
    for (uint32_t i = 0; i < count && !rewrite->trouble; i++) {
        inputs[i] = ll_rewrite_tensor(rewrite, ll_op_input(rewrite->old, op, i));
        if (inputs[i] == LL_NONE)
            ll_rewrite_trouble(rewrite, "an op reads what an op wrote that was left out");
    }
    return !rewrite->trouble;
}

/* Controls keep their order: order, storage, gap; those that lead nowhere go. */
static void map_controls(struct ll_rewrite *rewrite, uint32_t op, uint32_t *controls,
                         struct ll_record *record)
{
    const struct ll_op_edges *edges = &rewrite->old->edges[rewrite->old->ops[op].edges];
    uint32_t gaps_from = edges->control_count - edges->gap_count, kept = 0;
    uint32_t storages_from = gaps_from - edges->storage_count;
    for (uint32_t i = 0; i < edges->control_count; i++) {
        uint32_t to = rewrite->ops[op - (uint32_t)edges->controls[i]];
        if (to == LL_NONE)
            continue;
        controls[kept++] = to;
        record->gap_count += i >= gaps_from;
        record->storage_count += i >= storages_from && i < gaps_from;
    }
    record->controls = controls;
    record->control_count = kept;
}

/* The old op with its inputs and controls in the numbers of the new trace. Controls that led to ops which
 * were left out are dropped; those that remain keep their reason. */
bool ll_rewrite_record(struct ll_rewrite *rewrite, uint32_t op, struct ll_record *record)
{
    assert(op < rewrite->old->op_count);
    const struct ll_op *old = &rewrite->old->ops[op];
    const struct ll_op_signature *signature = &rewrite->old->signatures[old->signature];
    const struct ll_op_view *view = &signature->view;
    uint32_t controls = rewrite->old->edges[old->edges].control_count;
    uint64_t refs = (uint64_t)view->input_count + view->output_count + controls;
    if (view->kind == LL_OP_NONE)
        return ll_rewrite_trouble(rewrite, "the trace has an op of a kind that this program does not know");
    if (!rewrite->trouble &&
        !ll_grow(&rewrite->refs, &rewrite->ref_capacity, refs + 1, sizeof *rewrite->refs))
        return no_memory(rewrite);
    if (rewrite->trouble || !map_inputs(rewrite, op, rewrite->refs, view->input_count))
        return false;
    uint32_t *outputs = rewrite->refs + view->input_count;
    for (uint32_t i = 0; i < view->output_count; i++)
        outputs[i] = ll_rewrite_desc(rewrite, signature->outputs[i]);
    for (uint32_t i = 0; i < view->attr_count; i++)
        rewrite->attrs[i] = view->attrs[i];
    *record = (struct ll_record){.kind = view->kind,
                                 .phase = signature->phase,
                                 .scope = ll_rewrite_string(rewrite, signature->scope),
                                 .thread = old->thread,
                                 .inputs = rewrite->refs,
                                 .input_count = view->input_count,
                                 .outputs = outputs,
                                 .output_count = view->output_count,
                                 .attrs = rewrite->attrs,
                                 .attr_count = view->attr_count,
                                 .duration_ns = ll_op_waits(view->kind) ? old->duration_ns : 0};
    map_controls(rewrite, op, outputs + view->output_count, record);
    return !rewrite->trouble;
}

/* The recorder takes our word for it that the op table accepts an op, so the table is asked before. */
static bool accepted(struct ll_rewrite *rewrite, const struct ll_record *record,
                     struct ll_signature_counts *counts)
{
    uint32_t inputs = record->input_count, outputs = record->output_count;
    if (!ll_grow(&rewrite->looks, &rewrite->look_capacity, (uint64_t)inputs + outputs + 1,
                 sizeof *rewrite->looks))
        return no_memory(rewrite);
    struct ll_shape *looks = rewrite->looks;
    for (uint32_t i = 0; i < inputs; i++)
        looks[i] = *ll_rewrite_shape(rewrite, record->inputs[i]);
    for (uint32_t i = 0; i < outputs; i++)
        looks[inputs + i] = rewrite->shapes[record->outputs[i]];
    const struct ll_op_view view = {record->kind, inputs,         outputs,      record->attr_count,
                                    looks,        looks + inputs, record->attrs};
    const char *trouble = ll_signature_count(&view, counts);
    return !trouble || ll_rewrite_trouble(rewrite, trouble);
}

/* An op that the table accepts, with these counts. */
static uint32_t add_accepted(struct ll_rewrite *rewrite, const struct ll_record *record,
                             const struct ll_signature_counts *counts)
{
    uint32_t first = checked(rewrite, ll_recorder_counted_op(rewrite->recorder, record, counts));
    if (first == LL_NONE || !note_tensors(rewrite, first, record->outputs, record->output_count))
        return LL_NONE;
    rewrite->op_count++;
    return first;
}

uint32_t ll_rewrite_add(struct ll_rewrite *rewrite, const struct ll_record *record)
{
    struct ll_signature_counts counts;
    return rewrite->trouble || !accepted(rewrite, record, &counts) ? LL_NONE
                                                                   : add_accepted(rewrite, record, &counts);
}

void ll_rewrite_step(struct ll_rewrite *rewrite, uint32_t op)
{
    assert(op < rewrite->old->op_count);
    uint32_t step = rewrite->old->ops[op].step;
    if (rewrite->trouble || (rewrite->step != LL_NONE && step <= rewrite->step))
        return;
    ll_recorder_step_begin(rewrite->recorder);
    rewrite->step = step;
    rewrite->steps[rewrite->step_count++] = step;
}

/* The op that was added last, whose first output this is, is what the old one has become. */
static void follow(struct ll_rewrite *rewrite, uint32_t op, uint32_t first, uint32_t output_count)
{
    uint32_t outputs = rewrite->old->signatures[rewrite->old->ops[op].signature].view.output_count;
    for (uint32_t i = 0; i < outputs && i < output_count; i++)
        rewrite->tensors[ll_op_output(rewrite->old, op, i)] = first + i;
    rewrite->ops[op] = rewrite->op_count - 1;
}

/* Whether a record is what the old op was, on tensors that look as those did: then the table accepts it as it
 * was, and counts the same. */
static bool is_as_before(const struct ll_rewrite *rewrite, uint32_t op, const struct ll_record *record,
                         struct ll_signature_counts *counts)
{
    const struct ll_op_signature *old = &rewrite->old->signatures[rewrite->old->ops[op].signature];
    const struct ll_op_view *view = &old->view;
    if (record->kind != view->kind || record->input_count != view->input_count ||
        record->output_count != view->output_count || record->attr_count != view->attr_count ||
        (view->attr_count && memcmp(record->attrs, view->attrs, view->attr_count * sizeof *view->attrs) != 0))
        return false;
    for (uint32_t i = 0; i < record->output_count; i++)
        if (record->outputs[i] != rewrite->descs[old->outputs[i]])
            return false;
    for (uint32_t i = 0; i < record->input_count; i++)
        if (memcmp(ll_rewrite_shape(rewrite, record->inputs[i]), &view->in[i], sizeof view->in[i]) != 0)
            return false;
    *counts = (struct ll_signature_counts){old->flops, old->bytes_read, old->bytes_written};
    return true;
}

uint32_t ll_rewrite_put(struct ll_rewrite *rewrite, uint32_t op, const struct ll_record *record)
{
    assert(op < rewrite->old->op_count);
    struct ll_signature_counts counts;
    ll_rewrite_step(rewrite, op);
    if (rewrite->trouble ||
        (!is_as_before(rewrite, op, record, &counts) && !accepted(rewrite, record, &counts)))
        return LL_NONE;
    uint32_t first = add_accepted(rewrite, record, &counts);
    if (first != LL_NONE)
        follow(rewrite, op, first, record->output_count);
    return first;
}

void ll_rewrite_keep(struct ll_rewrite *rewrite, uint32_t op)
{
    struct ll_record record;
    if (ll_rewrite_record(rewrite, op, &record))
        ll_rewrite_put(rewrite, op, &record);
}

uint32_t ll_rewrite_exchange(struct ll_rewrite *rewrite, enum ll_op_kind kind, uint32_t new_tensor,
                             uint32_t new_desc, const struct ll_exchange_place *place)
{
    assert(place->devices > 0 && place->stride > 0);
    const struct ll_attr attrs[] = {{.key = LL_ATTR_DEVICES, .count = (int64_t)place->devices},
                                    {.key = LL_ATTR_STRIDE, .count = (int64_t)place->stride}};
    return ll_rewrite_add(rewrite, &(struct ll_record){.kind = kind,
                                                       .phase = place->phase,
                                                       .scope = place->scope,
                                                       .inputs = &new_tensor,
                                                       .input_count = 1,
                                                       .outputs = &new_desc,
                                                       .output_count = 1,
                                                       .attrs = attrs,
                                                       .attr_count = 2});
}

/* What a program did before its first step, or what was cut off, has not become a step. */
static void take_completeness(const struct ll_rewrite *rewrite, struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->step_count && i < rewrite->step_count; i++)
        trace->steps[i].complete = rewrite->old->steps[rewrite->steps[i]].complete;
}

struct ll_trace *ll_rewrite_end(struct ll_rewrite *rewrite, const char **trouble)
{
    enum ll_status status = LL_OK;
    struct ll_trace *trace = NULL;
    if (rewrite->recorder && rewrite->trouble)
        ll_recorder_close(rewrite->recorder);
    else if (rewrite->recorder)
        trace = ll_recorder_take(rewrite->recorder, &status);
    if (trace)
        take_completeness(rewrite, trace);
    *trouble = rewrite->trouble ? rewrite->trouble : trace ? NULL : ll_status_text(status);
    ll_arena_release(&rewrite->arena);
    free(rewrite->new_descs);
    free(rewrite->shapes);
    free(rewrite->refs);
    free(rewrite->looks);
    return trace;
}
