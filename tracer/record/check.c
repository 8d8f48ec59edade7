/* SPDX-License-Identifier: Apache-2.0 */
/* ll_trace_check: whether a trace is sound, that is, whether everything that trace.h promises holds. */
#include <inttypes.h>
#include <string.h>

#include "tracer/ir/trace.h"

/* A sentence in the arena that begins with what and which: "op 12: ...". */
static const char *wrong(struct ll_arena *arena, const char *what, uint64_t number, const char *sentence)
{
    const char *text = ll_format(arena, "%s %" PRIu64 ": %s", what, number, sentence);
    return text ? text : sentence;
}

static const char *check_shape(const struct ll_shape *shape)
{
    if (shape->dtype >= LL_DTYPE_COUNT || shape->rank > LL_MAX_RANK)
        return "its shape is none";
    for (unsigned i = 0; i < LL_MAX_RANK; i++)
        if (shape->role[i] >= LL_ROLE_COUNT || (i >= shape->rank && (shape->dim[i] || shape->role[i])))
            return "its dimensions are wrong";
    if (!ll_zeros_fit(shape))
        return "its zeros lie nowhere";
    if (!ll_scales_fit(shape))
        return "its elements share no such scales";
    return ll_fits(ll_size_bytes(shape)) ? NULL : "its size does not fit";
}

static const char *check_descs(const struct ll_trace *trace, struct ll_arena *arena)
{
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[i];
        const char *trouble = check_shape(&desc->shape);
        if (trouble || desc->name >= trace->string_count || desc->memory >= LL_MEMORY_COUNT)
            return wrong(arena, "desc", i, trouble ? trouble : "its name or memory class is none");
    }
    return NULL;
}

static bool looks_like(const struct ll_trace *trace, const uint32_t *descs, const struct ll_shape *shapes,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (descs[i] >= trace->desc_count ||
            memcmp(&trace->descs[descs[i]].shape, &shapes[i], sizeof shapes[i]) != 0)
            return false;
    return true;
}

static const char *check_known_signature(const struct ll_trace *trace,
                                         const struct ll_op_signature *signature)
{
    struct ll_signature_counts counts;
    if (ll_op_find(trace->strings[signature->kind_name]) !=
        signature->view.kind) /* today's name or an old one */
        return "its kind has another name";
    const char *trouble = ll_signature_count(&signature->view, &counts);
    if (trouble)
        return trouble;
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        if (signature->aliases[i] != ll_op_alias(&signature->view, i))
            return "its outputs take over other storages than the op table says";
    return counts.flops == signature->flops && counts.bytes_read == signature->bytes_read &&
                   counts.bytes_written == signature->bytes_written
               ? NULL
               : "its counts are not those of the op table";
}

static const char *check_signature(const struct ll_trace *trace, const struct ll_op_signature *signature)
{
    const struct ll_op_view *view = &signature->view;
    if (signature->kind_name >= trace->string_count || signature->scope >= trace->string_count ||
        signature->phase >= LL_PHASE_COUNT || view->kind > LL_OP_NONE || view->output_count > LL_MAX_OP_REFS)
        return "it refers to nothing";
    if (!looks_like(trace, signature->inputs, view->in, view->input_count) ||
        !looks_like(trace, signature->outputs, view->out, view->output_count))
        return "its shapes are not those of its descs";
    for (uint32_t i = 0; i < view->output_count; i++)
        if (signature->aliases[i] != LL_NONE && signature->aliases[i] >= view->input_count)
            return "an output takes over the storage of an input that is none";
    if (!ll_fits(signature->flops) || !ll_fits(signature->bytes_read) || !ll_fits(signature->bytes_written))
        return "a count does not fit";
    return view->kind == LL_OP_NONE ? NULL : check_known_signature(trace, signature);
}

static const char *check_signatures(const struct ll_trace *trace, struct ll_arena *arena)
{
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        const char *trouble = check_signature(trace, &trace->signatures[i]);
        if (trouble)
            return wrong(arena, "form", i, trouble);
    }
    return NULL;
}

static const char *check_inputs(const struct ll_trace *trace, const struct ll_op *op,
                                const struct ll_op_signature *signature, const struct ll_op_edges *edges)
{
    for (uint32_t i = 0; i < edges->input_count; i++) {
        uint64_t number = edges->inputs[i] >> 1;
        if (!(edges->inputs[i] & 1) && (number == 0 || number > op->first_output))
            return "an input does not exist before it is read";
        uint64_t tensor = edges->inputs[i] & 1 ? number : op->first_output - number;
        if (tensor >= op->first_output)
            return "an input does not exist before it is read";
        if (trace->tensors[tensor].desc != signature->inputs[i])
            return "an input does not look as the form says";
    }
    return NULL;
}

static const char *check_outputs(const struct ll_trace *trace, uint32_t number,
                                 const struct ll_op_signature *signature)
{
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[ll_op_output(trace, number, i)];
        if (tensor->producer != number || tensor->desc != signature->outputs[i])
            return "an output is not its own";
        if (signature->aliases[i] != LL_NONE &&
            tensor->storage != trace->tensors[ll_op_input(trace, number, signature->aliases[i])].storage)
            return "an output is not on the storage that it takes over";
    }
    return NULL;
}

/* The laws of one op: its signature and links exist, its tensors are those of the signature, no control or
 * input lies in the future, steps do not go backwards. NULL, or the sentence that says which is broken. */
static const char *check_op(const struct ll_trace *trace, uint32_t number, uint64_t next_tensor)
{
    const struct ll_op *op = &trace->ops[number];
    if (op->signature >= trace->signature_count || op->edges >= trace->edges_count ||
        op->step >= trace->step_count)
        return "it refers to nothing";
    const struct ll_op_signature *signature = &trace->signatures[op->signature];
    const struct ll_op_edges *edges = &trace->edges[op->edges];
    const struct ll_step *step = &trace->steps[op->step];
    if (edges->input_count != signature->view.input_count)
        return "its links are not for its form";
    if (op->first_output < next_tensor ||
        (uint64_t)op->first_output + signature->view.output_count > trace->tensor_count)
        return "its outputs are out of order";
    if (number < step->first_op || number - step->first_op >= step->op_count)
        return "it is not among the ops of its step";
    if ((uint64_t)edges->storage_count + edges->gap_count > edges->control_count)
        return "it gives reasons for more controls than it has";
    for (uint32_t i = 0; i < edges->control_count; i++)
        if (edges->controls[i] == 0 || edges->controls[i] > number)
            return "it waits for an op that is not before it";
    if (!ll_fits(ll_add(op->start_ns, op->duration_ns)))
        return "its time does not fit";
    const char *trouble = check_inputs(trace, op, signature, edges);
    return trouble ? trouble : check_outputs(trace, number, signature);
}

static const char *check_ops(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint64_t next_tensor = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const char *trouble = check_op(trace, i, next_tensor);
        if (trouble)
            return wrong(arena, "op", i, trouble);
        next_tensor =
            trace->ops[i].first_output + trace->signatures[trace->ops[i].signature].view.output_count;
    }
    return NULL;
}

/* A tensor says who made it; the op said the same of the tensor above. */
static const char *check_tensors(const struct ll_trace *trace, struct ll_arena *arena)
{
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        if (tensor->desc >= trace->desc_count || tensor->storage >= trace->storage_count)
            return wrong(arena, "tensor", i, "it refers to nothing");
        if (tensor->producer == LL_NONE)
            continue;
        if (tensor->producer >= trace->op_count)
            return wrong(arena, "tensor", i, "no op made it");
        const struct ll_op *op = &trace->ops[tensor->producer];
        if (i < op->first_output ||
            i - op->first_output >= trace->signatures[op->signature].view.output_count)
            return wrong(arena, "tensor", i, "the op that made it does not know it");
    }
    return NULL;
}

static const char *check_steps(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint64_t next_op = 0;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        const struct ll_step *step = &trace->steps[i];
        if (step->first_op != next_op)
            return wrong(arena, "step", i, "it does not begin where the one before ends");
        if (!ll_fits(ll_add(step->start_ns, step->wall_ns)))
            return wrong(arena, "step", i, "its time does not fit");
        next_op += step->op_count;
    }
    return next_op == trace->op_count ? NULL : "the steps do not hold all ops";
}

const char *ll_trace_check(const struct ll_trace *trace, struct ll_arena *arena)
{
    static const char *(*const checks[])(const struct ll_trace *, struct ll_arena *) = {
        check_descs, check_signatures, check_steps, check_ops, check_tensors};
    if (trace->op_count >= LL_NONE || trace->tensor_count >= LL_NONE ||
        trace->storage_count > trace->tensor_count)
        return "there is more than can be numbered";
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const char *trouble = checks[i](trace, arena);
        if (trouble)
            return trouble;
    }
    return NULL;
}
