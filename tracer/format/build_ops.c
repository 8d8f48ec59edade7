/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a frame, one after the other: each is checked against the tensors that are there before it is
 * believed. An op whose definitions are lost leaves its tensors behind as if the model had brought them; the
 * frame says how many they are, so that all later numbers stay right. */
#include <inttypes.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/format/build.h"

/* The columns of the frame, and what was lost of it. */
struct ops {
    const uint64_t *form, *links, *step, *thread, *outputs, *gap, *duration, *brought_before, *brought_desc;
    uint64_t first_op, first_tensor, base_ns, count, brought;
    uint64_t without_definitions, contradicting, beyond; /* of the ops of more steps than a file may hold */
    uint64_t end_ns[LL_TRACKS];
};

/* Appends a tensor; room was made before. */
static void add_tensor(struct ll_trace_build *build, uint32_t desc, uint32_t storage, uint32_t producer)
{
    struct ll_trace *trace = build->trace;
    if (storage == LL_NONE)
        storage = (uint32_t)trace->storage_count++;
    trace->tensors[trace->tensor_count++] = (struct ll_tensor){desc, storage, producer};
}

static void add_brought(struct ll_trace_build *build, const struct ops *ops, uint64_t *brought,
                        uint64_t ops_before)
{
    for (; *brought < ops->brought && ops->brought_before[*brought] == ops_before; ++*brought)
        add_tensor(build, ll_build_place(&build->descs, ops->brought_desc[*brought]), LL_NONE, LL_NONE);
}

/* Outputs of an op that is lost; their descs, where its form is known. */
static void add_orphans(struct ll_trace_build *build, const struct ll_form *form, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        add_tensor(build, form ? form->outputs[i] : LL_NONE, LL_NONE, LL_NONE);
}

/* The tensor that a link means; LL_NONE when it is not one that exists before the op. */
static uint32_t resolve(const struct ll_trace *trace, uint64_t link)
{
    uint64_t first_output = trace->tensor_count, tensor = link >> 1;
    if (!(link & 1)) {
        if (tensor == 0 || tensor > first_output)
            return LL_NONE;
        tensor = first_output - tensor;
    }
    return tensor < first_output ? (uint32_t)tensor : LL_NONE;
}

/* Whether the inputs are there and look as the form says. One that a lost op made, of unknown looks, gets
 * them now. */
static bool inputs_agree(const struct ll_trace *trace, const struct ll_form *form,
                         const struct ll_links *links)
{
    if (links->input_count != form->view.input_count)
        return false;
    for (uint32_t i = 0; i < links->input_count; i++) {
        uint32_t number = resolve(trace, links->inputs[i]);
        if (number == LL_NONE)
            return false;
        struct ll_tensor *tensor = &trace->tensors[number];
        if (tensor->desc == LL_NONE)
            tensor->desc = form->inputs[i];
        if (tensor->desc != form->inputs[i])
            return false;
    }
    return true;
}

/* How many stretches begin at this op of the file or before it. */
static uint64_t stretches_upto(const struct ll_trace_build *build, uint64_t file_op)
{
    uint64_t low = 0, high = build->stretch_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (build->stretches[middle].file_op <= file_op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where in the trace the first `count` stretches (not none) end. */
static uint64_t end_of(const struct ll_trace_build *build, uint64_t count)
{
    return count < build->stretch_count ? build->stretches[count].op : build->trace->op_count;
}

uint32_t ll_build_ops_before(const struct ll_trace_build *build, uint64_t file_op)
{
    uint64_t count = file_op ? stretches_upto(build, file_op - 1) : 0;
    if (count == 0)
        return 0;
    const struct ll_stretch *stretch = &build->stretches[count - 1];
    return (uint32_t)ll_min(end_of(build, count), stretch->op + (file_op - stretch->file_op));
}

/* The op of this number in the file, as it is numbered in the trace; LL_NONE when it is lost. */
static uint32_t find_op(const struct ll_trace_build *build, uint64_t file_op)
{
    uint64_t count = stretches_upto(build, file_op);
    if (count == 0)
        return LL_NONE;
    const struct ll_stretch *stretch = &build->stretches[count - 1];
    uint64_t op = stretch->op + (file_op - stretch->file_op);
    return op < end_of(build, count) ? (uint32_t)op : LL_NONE;
}

/* Controls are distances between ops, and a hole changes those that reach across it: such an op gets links of
 * its own, without the controls that are lost. */
static bool renumber_controls(struct ll_trace_build *build, uint64_t file_op, uint32_t *number)
{
    struct ll_trace *trace = build->trace;
    const struct ll_links old = trace->links[*number];
    uint64_t refs = (uint64_t)old.input_count + old.control_count;
    if (!ll_build_afford(build, 1, LL_WEIGHT_LINKS) || !ll_build_afford(build, refs, LL_WEIGHT_LINKS_REF))
        return false;
    uint64_t *controls = ll_alloc(&trace->arena, old.control_count, sizeof *controls);
    if (!controls ||
        !ll_grow(&trace->links, &build->links_capacity, trace->links_count + 1, sizeof *trace->links))
        return ll_build_no_memory(build);
    uint32_t ordered = old.control_count - old.storage_count - old.gap_count;
    struct ll_links new = {.inputs = old.inputs, .controls = controls, .input_count = old.input_count};
    for (uint32_t i = 0; i < old.control_count; i++) {
        uint32_t op = old.controls[i] <= file_op ? find_op(build, file_op - old.controls[i]) : LL_NONE;
        if (op == LL_NONE)
            continue;
        controls[new.control_count++] = trace->op_count - op;
        new.storage_count += i >= ordered &&i < ordered + old.storage_count;
        new.gap_count += i >= ordered + old.storage_count;
    }
    *number = (uint32_t)trace->links_count;
    trace->links[trace->links_count++] = new;
    return true;
}

static bool controls_agree(const struct ll_trace *trace, const struct ll_links *links)
{
    for (uint32_t i = 0; i < links->control_count; i++)
        if (links->controls[i] == 0 || links->controls[i] > trace->op_count)
            return false;
    return true;
}

/* Remembers where numbering begins anew: at the first op, and after each hole. */
static bool note_stretch(struct ll_trace_build *build, uint64_t file_op)
{
    const struct ll_trace *trace = build->trace;
    const struct ll_stretch *last = build->stretch_count ? &build->stretches[build->stretch_count - 1] : NULL;
    if (last && file_op - last->file_op == trace->op_count - last->op)
        return true;
    if (!ll_grow(&build->stretches, &build->stretch_capacity, build->stretch_count + 1,
                 sizeof *build->stretches))
        return ll_build_no_memory(build);
    build->stretches[build->stretch_count++] = (struct ll_stretch){file_op, (uint32_t)trace->op_count};
    return true;
}

/* The op without its outputs; false when something about it cannot be. */
static bool take_op(struct ll_trace_build *build, struct ops *ops, uint64_t i, uint32_t form_number,
                    uint32_t links, struct ll_op *op)
{
    struct ll_trace *trace = build->trace;
    const struct ll_form *form = &trace->forms[form_number];
    uint64_t file_op = ops->first_op + i, *end_ns = &ops->end_ns[ops->thread[i] % LL_TRACKS];
    uint64_t start_ns = *end_ns + ll_unzigzag(ops->gap[i]);
    *end_ns = start_ns + ops->duration[i];
    uint32_t last_step = trace->op_count ? trace->ops[trace->op_count - 1].step : 0;
    if (ops->outputs[i] != form->view.output_count || ops->step[i] < last_step || ops->thread[i] >= LL_NONE ||
        !ll_fits(ll_add(start_ns, ops->duration[i])) || !inputs_agree(trace, form, &trace->links[links]))
        return false;
    if (!ll_build_reach_step(build, ops->step[i])) {
        ops->beyond++;
        return false;
    }
    if (!note_stretch(build, file_op))
        return false;
    if (file_op != trace->op_count && trace->links[links].control_count > 0 &&
        !renumber_controls(build, file_op, &links))
        return false;
    if (!controls_agree(trace, &trace->links[links]))
        return false;
    *op = (struct ll_op){.form = form_number,
                         .links = links,
                         .step = (uint32_t)ops->step[i],
                         .thread = (uint32_t)ops->thread[i],
                         .first_output = (uint32_t)trace->tensor_count,
                         .start_ns = start_ns,
                         .duration_ns = ops->duration[i]};
    return true;
}

static void add_outputs(struct ll_trace_build *build, const struct ll_form *form,
                        const struct ll_links *links)
{
    struct ll_trace *trace = build->trace;
    uint32_t producer = (uint32_t)trace->op_count;
    if (form->view.output_count == 0)
        return;
    struct ll_tensor *outputs = &trace->tensors[trace->tensor_count];
    for (uint32_t i = 0; i < form->view.output_count; i++) { /* resolved before the first output is there */
        uint32_t alias = form->aliases[i];
        outputs[i].storage =
            alias == LL_NONE ? LL_NONE : trace->tensors[resolve(trace, links->inputs[alias])].storage;
    }
    for (uint32_t i = 0; i < form->view.output_count; i++)
        add_tensor(build, form->outputs[i], outputs[i].storage, producer);
}

static void add_op(struct ll_trace_build *build, struct ops *ops, uint64_t i)
{
    struct ll_trace *trace = build->trace;
    uint32_t form_number = ll_build_place(&build->forms, ops->form[i]),
             links = ll_build_place(&build->links, ops->links[i]);
    const struct ll_form *form = form_number == LL_NONE ? NULL : &trace->forms[form_number];
    struct ll_op op;
    if (form_number == LL_NONE || links == LL_NONE) {
        ops->without_definitions++;
        ops->end_ns[ops->thread[i] % LL_TRACKS] += ll_unzigzag(ops->gap[i]) + ops->duration[i];
    } else if (take_op(build, ops, i, form_number, links, &op)) {
        add_outputs(build, form, &trace->links[op.links]);
        trace->ops[trace->op_count++] = op;
        return;
    } else {
        ops->contradicting++;
    }
    bool known = form && form->view.output_count == ops->outputs[i];
    add_orphans(build, known ? form : NULL, ops->outputs[i]);
}

/* Inputs, outputs and controls of all ops: what following them will cost. */
static uint64_t count_refs(const struct ll_trace_build *build, const struct ops *ops)
{
    uint64_t refs = 0;
    for (uint64_t i = 0; i < ops->count; i++) {
        uint32_t links = ll_build_place(&build->links, ops->links[i]);
        refs += ops->outputs[i];
        if (links != LL_NONE)
            refs +=
                (uint64_t)build->trace->links[links].input_count + build->trace->links[links].control_count;
    }
    return refs;
}

static bool decode(struct ll_trace_build *build, struct ops *ops)
{
    struct ll_block *block = &build->block;
    const uint64_t *first = ll_block_numbers(block, LL_OPS_FIRST, 3);
    if (!first)
        return ll_build_refuse(build, "it does not say where it belongs");
    ops->first_op = first[0];
    ops->first_tensor = first[1];
    ops->base_ns = first[2];
    ops->count = ll_block_count(block, LL_OPS_FORM);
    ops->brought = ll_block_count(block, LL_OPS_BROUGHT_BEFORE);
    if (ops->count > LL_MAX_FRAME_OPS)
        return ll_build_refuse(build, "it holds too many ops");
    if (!ll_build_charge(build, ops->count, LL_WEIGHT_OP) ||
        !ll_build_charge(build, ops->brought, LL_WEIGHT_TENSOR))
        return false;
    ops->form = ll_block_numbers(block, LL_OPS_FORM, ops->count);
    ops->links = ll_block_numbers(block, LL_OPS_LINKS, ops->count);
    ops->step = ll_block_numbers(block, LL_OPS_STEP, ops->count);
    ops->thread = ll_block_numbers(block, LL_OPS_THREAD, ops->count);
    ops->outputs = ll_block_numbers(block, LL_OPS_OUTPUTS, ops->count);
    ops->gap = ll_block_numbers(block, LL_OPS_GAP, ops->count);
    ops->duration = ll_block_numbers(block, LL_OPS_DURATION, ops->count);
    ops->brought_before = ll_block_numbers(block, LL_OPS_BROUGHT_BEFORE, ops->brought);
    ops->brought_desc = ll_block_numbers(block, LL_OPS_BROUGHT_DESC, ops->brought);
    if (!ops->form || !ops->links || !ops->step || !ops->thread || !ops->outputs || !ops->gap ||
        !ops->duration || !ops->brought_before || !ops->brought_desc)
        return ll_build_refuse(build, "its columns do not fit together");
    for (uint64_t i = 0; i < ops->count; i++)
        if (ops->outputs[i] > LL_MAX_OP_REFS)
            return ll_build_refuse(build, "an op has too many outputs");
    for (uint64_t i = 0; i < ops->brought; i++)
        if (ops->brought_before[i] > ops->count || (i && ops->brought_before[i] < ops->brought_before[i - 1]))
            return ll_build_refuse(build, "its tensors are out of order");
    return true;
}

/* Room for all that the frame holds, and for the tensors that are missing before it. */
static bool make_room(struct ll_trace_build *build, const struct ops *ops)
{
    struct ll_trace *trace = build->trace;
    if (ops->first_op < build->next_op || ops->first_tensor < trace->tensor_count)
        return ll_build_refuse(build, "its ops or tensors were there before");
    uint64_t outputs = 0, refs = count_refs(build, ops);
    for (uint64_t i = 0; i < ops->count; i++)
        outputs += ops->outputs[i];
    uint64_t missing = ops->first_tensor - trace->tensor_count;
    uint64_t tensors = ll_add(ops->first_tensor, ops->brought + outputs);
    if (tensors >= LL_NONE || ll_add(ops->first_op, ops->count) >= LL_NONE)
        return ll_build_refuse(build, "it holds more than there can be");
    if (!ll_build_charge(build, missing + outputs, LL_WEIGHT_TENSOR) ||
        !ll_build_charge(build, refs, LL_WEIGHT_OP_REF))
        return false;
    if (!ll_grow(&trace->tensors, &build->tensor_capacity, tensors, sizeof *trace->tensors) ||
        !ll_grow(&trace->ops, &build->op_capacity, trace->op_count + ops->count, sizeof *trace->ops))
        return ll_build_no_memory(build);
    add_orphans(build, NULL, missing);
    return true;
}

static void report(const struct ll_trace_build *build, const struct ops *ops)
{
    const struct ll_frame *frame = build->frame;
    const struct {
        uint64_t count;
        const char *why;
    } lost[] = {{ops->without_definitions, "definitions that they need are"},
                {ops->contradicting - ops->beyond, "they contradict what stands before them"},
                {ops->beyond, "they are of more steps than a file of this size may hold"}};
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        if (lost[i].count)
            ll_walk_complain(build->walk,
                             "frame %" PRIu32 " at byte %" PRIu64 ": %" PRIu64 " of its %" PRIu64
                             " ops are lost: %s",
                             frame->number, frame->offset, lost[i].count, ops->count, lost[i].why);
}

bool ll_build_ops(struct ll_trace_build *build)
{
    struct ops ops = {0};
    if (!decode(build, &ops) || !make_room(build, &ops))
        return false;
    for (int i = 0; i < LL_TRACKS; i++)
        ops.end_ns[i] = ops.base_ns;
    uint64_t brought = 0;
    for (uint64_t i = 0; i < ops.count && build->status == LL_OK; i++) {
        add_brought(build, &ops, &brought, i);
        add_op(build, &ops, i);
    }
    add_brought(build, &ops, &brought, ops.count);
    build->next_op = ops.first_op + ops.count;
    report(build, &ops);
    return build->status == LL_OK;
}
