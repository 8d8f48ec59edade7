/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a Chakra execution trace of one rank: a node for each op. Ranks of a trace are its threads, and
 * -p rank=N says which goes into the file; nodes keep the numbers of their ops, and metadata tells no steps,
 * which are those of all ranks together. */
#include "tracer/convert/chakra.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    struct ll_export *export;
    const struct ll_trace *trace;
    const struct ll_deps *deps;
    bool *told;               /* by tensor: somebody has said what it looks like */
    bool of_ranks;            /* the trace has several */
    uint32_t rank;            /* then the one that goes into the file */
    struct ll_str node, part; /* a node in the making, and what is part of it */
    struct ll_str line;
};

static void put_attr(struct writer *w, uint64_t field)
{
    ll_wire_put_bytes(&w->node, field, w->part.text, w->part.length);
    w->part.length = 0;
}

static void begin_attr(struct writer *w, const char *name)
{
    w->part.length = 0;
    ll_wire_put_text(&w->part, ATTR_NAME, name);
}

static void put_number(struct writer *w, const char *name, uint64_t type, uint64_t value)
{
    begin_attr(w, name);
    ll_wire_put_integer(&w->part, type, value);
    put_attr(w, NODE_ATTR);
}

static void put_text(struct writer *w, uint64_t field, const char *name, const char *text)
{
    begin_attr(w, name);
    ll_wire_put_text(&w->part, ATTR_TEXT, text);
    put_attr(w, field);
}

/* The text that was made in w->line, as an item of a list of texts. */
static void add_line(struct writer *w, struct ll_str *list)
{
    ll_wire_put_bytes(list, LIST_VALUES, w->line.text, w->line.length);
    w->line.length = 0;
}

static void put_list(struct writer *w, const char *name, uint64_t type, struct ll_str *list)
{
    if (list->length > 0) {
        begin_attr(w, name);
        ll_wire_put_bytes(&w->part, type, list->text, list->length);
        put_attr(w, NODE_ATTR);
    }
    ll_str_release(list);
}

static struct chakra_tensor describe(const struct ll_trace *trace, uint32_t tensor)
{
    const struct ll_desc *desc = &trace->descs[trace->tensors[tensor].desc];
    return (struct chakra_tensor){tensor, (enum ll_memory_class)desc->memory, desc->shape,
                                  trace->strings[desc->name]};
}

/* The tensors that an op reads, by number; what nobody has described yet is. */
static void put_inputs(struct writer *w, uint32_t op)
{
    const struct ll_op_view *view = &w->trace->forms[w->trace->ops[op].form].view;
    struct ll_str numbers = {0}, packed = {0}, brought = {0};
    for (uint32_t i = 0; i < view->input_count; i++) {
        uint32_t tensor = ll_op_input(w->trace, op, i);
        const struct chakra_tensor seen = describe(w->trace, tensor);
        ll_wire_put_varint(&packed, tensor);
        if (w->told[tensor])
            continue;
        w->told[tensor] = true;
        chakra_add_tensor(&w->line, &seen);
        add_line(w, &brought);
    }
    if (packed.length > 0)
        ll_wire_put_bytes(&numbers, LIST_VALUES, packed.text, packed.length);
    put_list(w, "leadline.brought", ATTR_TEXTS, &brought);
    put_list(w, "leadline.inputs", ATTR_UINT64S, &numbers);
    ll_str_release(&packed);
}

static void put_outputs(struct writer *w, uint32_t op)
{
    const struct ll_op_view *view = &w->trace->forms[w->trace->ops[op].form].view;
    struct ll_str list = {0};
    for (uint32_t i = 0; i < view->output_count; i++) {
        uint32_t tensor = ll_op_output(w->trace, op, i);
        const struct chakra_tensor made = describe(w->trace, tensor);
        w->told[tensor] = true;
        chakra_add_tensor(&w->line, &made);
        add_line(w, &list);
    }
    put_list(w, "leadline.outputs", ATTR_TEXTS, &list);
}

static void put_op_attrs(struct writer *w, const struct ll_op_view *view)
{
    struct ll_str list = {0};
    for (uint32_t i = 0; i < view->attr_count; i++) {
        enum ll_attr_key key = (enum ll_attr_key)view->attrs[i].key;
        ll_str_addf(&w->line, "%s=", ll_attr_name(key));
        if (ll_attr_is_real(key))
            ll_str_addf(&w->line, "%.17g", view->attrs[i].real);
        else
            ll_str_addf(&w->line, "%" PRId64, view->attrs[i].count);
        add_line(w, &list);
    }
    put_list(w, "leadline.attrs", ATTR_TEXTS, &list);
}

/* Shapes and types as lists in text, as others have them. */
static void put_shapes(struct writer *w, uint64_t field, const struct ll_shape *shapes, uint32_t count)
{
    ll_str_add(&w->line, "[");
    for (uint32_t i = 0; i < count; i++) {
        ll_str_add(&w->line, i ? ", [" : "[");
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(&w->line, "%s%" PRIu64, d ? ", " : "", shapes[i].dim[d]);
        ll_str_add(&w->line, "]");
    }
    ll_str_add(&w->line, "]");
    w->part.length = 0;
    ll_wire_put_bytes(&w->part, IO_SHAPES, w->line.text, w->line.length);
    w->line.length = 0;
    ll_str_add(&w->line, "[");
    for (uint32_t i = 0; i < count; i++)
        ll_str_addf(&w->line, "%s\"%s\"", i ? ", " : "", ll_dtype_name((enum ll_dtype)shapes[i].dtype));
    ll_str_add(&w->line, "]");
    ll_wire_put_bytes(&w->part, IO_TYPES, w->line.text, w->line.length);
    w->line.length = 0;
    put_attr(w, field);
}

/* CollectiveCommType of an op; the last of the list when it is none. */
static uint64_t collective_of(enum ll_op_kind kind)
{
    static const enum ll_op_kind kinds[] = {
#define X(word) LL_OP_##word,
        CHAKRA_COLLECTIVES(X)
#undef X
    };
    uint64_t i = 0;
    while (i + 1 < sizeof kinds / sizeof *kinds && kinds[i] != kind)
        i++;
    return i;
}

static uint64_t type_of(enum ll_op_kind kind)
{
    if (kind == LL_OP_SEND)
        return CHAKRA_SEND;
    if (kind == LL_OP_RECEIVE)
        return CHAKRA_RECEIVE;
    return kind < LL_OP_COUNT && ll_op_class(kind) == LL_CLASS_COMMUNICATION ? CHAKRA_COLLECTIVE
                                                                             : CHAKRA_COMPUTE;
}

/* What simulators of others read. A rank by itself counts from 0. */
static void put_exchange(struct writer *w, const struct ll_form *form, uint64_t type)
{
    int64_t rank = (int64_t)w->rank;
    int64_t peer = ll_attr_count(&form->view, LL_ATTR_PEER, 0);
    put_number(w, "comm_size", ATTR_INT64, form->bytes_read);
    if (type == CHAKRA_COLLECTIVE) {
        int64_t group = ll_attr_count(&form->view, LL_ATTR_GROUP, 0);
        put_number(w, "comm_type", ATTR_INT64, collective_of(form->view.kind));
        ll_str_addf(&w->line, "%" PRId64, group);
        if (group != 0)
            put_text(w, NODE_ATTR, "pg_name", w->line.text);
        w->line.length = 0;
        return;
    }
    put_number(w, type == CHAKRA_SEND ? "comm_dst" : "comm_src", ATTR_INT32, (uint64_t)(rank + peer));
    put_number(w, "comm_tag", ATTR_INT32, (uint64_t)ll_attr_count(&form->view, LL_ATTR_TAG, 0));
}

static void put_costs(struct writer *w, const struct ll_form *form)
{
    uint64_t type = type_of(form->view.kind);
    uint64_t bytes = ll_add(form->bytes_read, form->bytes_written);
    put_number(w, "is_cpu_op", ATTR_BOOL, 0);
    if (type == CHAKRA_COMPUTE) {
        put_number(w, "num_ops", ATTR_INT64, form->flops);
        put_number(w, "tensor_size", ATTR_UINT64, bytes);
        return;
    }
    put_exchange(w, form, type);
}

/* Whether an op is of the rank that goes into the file. */
static bool is_told(const struct writer *w, uint32_t seq)
{
    return !w->of_ranks || w->trace->ops[seq].thread == w->rank;
}

/* Which nodes an op waits for: those that make what it reads, and the others. */
static void put_deps(struct writer *w, uint32_t op)
{
    const struct ll_links *links = &w->trace->links[w->trace->ops[op].links];
    struct ll_str numbers = {0}, packed = {0};
    for (uint64_t i = w->deps->first[op]; i < w->deps->first[op + 1]; i++) {
        bool data = false;
        if (!is_told(w, w->deps->ops[i]))
            continue;
        for (uint32_t k = 0; k < links->input_count && !data; k++)
            data = w->trace->tensors[ll_op_input(w->trace, op, k)].producer == w->deps->ops[i];
        ll_wire_put_integer(&w->node, data ? NODE_DATA_DEPS : NODE_CTRL_DEPS, w->deps->ops[i]);
    }
    for (uint32_t i = 0; i < links->control_count; i++)
        ll_wire_put_varint(&packed, op - links->controls[i]);
    if (packed.length > 0)
        ll_wire_put_bytes(&numbers, LIST_VALUES, packed.text, packed.length);
    put_list(w, "leadline.controls", ATTR_UINT64S, &numbers);
    if (links->storage_count > 0)
        put_number(w, "leadline.storage_controls", ATTR_UINT64, links->storage_count);
    if (links->gap_count > 0)
        put_number(w, "leadline.gap_controls", ATTR_UINT64, links->gap_count);
    ll_str_release(&packed);
}

static void put_message(struct writer *w)
{
    ll_wire_put_varint(&w->export->out, w->node.length);
    if (w->node.length > 0)
        ll_str_add_bytes(&w->export->out, w->node.text, w->node.length);
    w->node.length = 0;
}

static void put_node(struct writer *w, uint32_t seq)
{
    const struct ll_op *op = &w->trace->ops[seq];
    const struct ll_form *form = &w->trace->forms[op->form];
    const char *kind = w->trace->strings[form->kind_name], *scope = w->trace->strings[form->scope];
    ll_wire_put_integer(&w->node, NODE_ID, seq);
    ll_wire_put_text(&w->node, NODE_NAME, *scope ? scope : kind);
    ll_wire_put_integer(&w->node, NODE_TYPE, type_of(form->view.kind));
    put_deps(w, seq);
    ll_wire_put_integer(&w->node, NODE_START, op->start_ns / 1000);
    ll_wire_put_integer(&w->node, NODE_DURATION, op->duration_ns / 1000);
    put_shapes(w, NODE_INPUTS, form->view.in, form->view.input_count);
    put_shapes(w, NODE_OUTPUTS, form->view.out, form->view.output_count);
    put_costs(w, form);
    put_text(w, NODE_ATTR, "leadline.kind", kind);
    put_text(w, NODE_ATTR, "leadline.phase", ll_phase_name(form->phase));
    put_text(w, NODE_ATTR, "leadline.scope", scope);
    put_number(w, "leadline.step", ATTR_UINT64, op->step);
    put_number(w, "leadline.thread", ATTR_UINT64, op->thread);
    if (op->start_ns || op->duration_ns) {
        put_number(w, "leadline.start_ns", ATTR_UINT64, op->start_ns);
        put_number(w, "leadline.duration_ns", ATTR_UINT64, op->duration_ns);
    }
    put_op_attrs(w, &form->view);
    put_inputs(w, seq);
    put_outputs(w, seq);
    put_message(w);
}

static void put_steps(struct writer *w)
{
    struct ll_str list = {0}, packed = {0};
    chakra_pack_steps(&packed, w->trace->steps, w->trace->step_count);
    if (packed.length > 0) {
        ll_wire_put_bytes(&list, LIST_VALUES, packed.text, packed.length);
        begin_attr(w, CHAKRA_STEPS);
        ll_wire_put_bytes(&w->part, ATTR_UINT64S, list.text, list.length);
        put_attr(w, METADATA_ATTR);
    }
    w->part.failed |= packed.failed || list.failed;
    ll_str_release(&list);
    ll_str_release(&packed);
}

static void put_metadata(struct writer *w)
{
    ll_wire_put_text(&w->node, METADATA_VERSION, "0.0.4");
    for (uint64_t i = 0; i < w->trace->fact_count; i++) {
        if (w->of_ranks && strcmp(w->trace->facts[i].key, "ranks") == 0)
            continue;
        ll_str_addf(&w->line, "leadline.fact.%s", w->trace->facts[i].key);
        put_text(w, METADATA_ATTR, w->line.text, w->trace->facts[i].value);
        w->line.length = 0;
    }
    if (!w->of_ranks)
        put_steps(w);
    put_message(w);
}

/* Which rank goes into the file: one file holds one, and others who read it would take several for one. */
static bool choose_rank(struct writer *w)
{
    const char *given = ll_export_choice(w->export, "rank");
    uint32_t ranks = ll_trace_ranks(w->trace);
    w->of_ranks = ranks > 1;
    if (!given && w->of_ranks)
        return ll_complain(w->export->diags, (struct ll_place){0},
                           "the trace has %" PRIu32 " ranks, and a file of Chakra is of one: -p rank=0 "
                           "writes the first, and so on",
                           ranks);
    char *end = NULL;
    unsigned long rank = given && *given >= '0' && *given <= '9' ? strtoul(given, &end, 10) : 0;
    if (given && (!end || *end || rank >= ranks))
        return ll_complain(w->export->diags, (struct ll_place){0},
                           "-p rank=%s: expected a whole number from 0 to %" PRIu32, given, ranks - 1);
    w->rank = (uint32_t)rank;
    return true;
}

bool ll_export_CHAKRA(struct ll_export *export)
{
    struct writer w = {.export = export, .trace = export->trace};
    bool chosen = choose_rank(&w);
    if (!ll_export_ready(export) || !chosen)
        return false;
    w.deps = ll_trace_deps(export->trace, &export->arena);
    w.told = ll_alloc(&export->arena, export->trace->tensor_count, sizeof *w.told);
    bool going = w.deps && w.told;
    if (going)
        put_metadata(&w);
    for (uint32_t seq = 0; going && seq < export->trace->op_count; seq++) {
        if (is_told(&w, seq))
            put_node(&w, seq);
        going = !w.node.failed && !w.part.failed && !w.line.failed && ll_export_spill(export);
    }
    if (!going && export->status == LL_OK)
        export->status = LL_NO_MEMORY;
    ll_str_release(&w.node);
    ll_str_release(&w.part);
    ll_str_release(&w.line);
    return going;
}
