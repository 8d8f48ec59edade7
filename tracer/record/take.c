/* SPDX-License-Identifier: Apache-2.0 */
/* A trace from the tables of a recorder into memory: what a reader would make of its file, without the file.
 * The tables' keys hold lists as a trace has them, so that most of it is pointing at them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/record/encode.h"

static bool take_strings(struct ll_trace *trace, const struct ll_map *strings)
{
    trace->strings = malloc((strings->count + 1u) * sizeof *trace->strings);
    for (uint32_t i = 0; trace->strings && i < strings->count; i++)
        trace->strings[i] = strings->entries[i].bytes;
    trace->string_count = strings->count;
    return trace->strings;
}

/* Dimensions that a shape does not have are zero in a trace, whatever the caller passed. */
static bool take_descs(struct ll_trace *trace, const struct ll_map *descs)
{
    trace->descs = malloc((descs->count + 1u) * sizeof *trace->descs);
    for (uint32_t i = 0; trace->descs && i < descs->count; i++) {
        struct ll_tensor_desc *desc = &trace->descs[i];
        memcpy(desc, descs->entries[i].bytes, sizeof *desc);
        for (unsigned k = desc->shape.rank; k < LL_MAX_RANK; k++)
            desc->shape.dim[k] = desc->shape.role[k] = 0;
    }
    trace->desc_count = descs->count;
    return trace->descs;
}

/* Room of all signatures for what is not in their keys. */
struct room {
    struct ll_shape *shapes;
    uint32_t *aliases;
};

static struct ll_shape *take_shapes(const struct ll_trace *trace, const uint32_t *descs, uint32_t count,
                                    struct room *room)
{
    struct ll_shape *shapes = room->shapes;
    room->shapes += count;
    for (uint32_t i = 0; i < count; i++)
        shapes[i] = trace->descs[descs[i]].shape;
    return shapes;
}

static struct ll_op_signature take_signature(const struct ll_trace *trace, const struct ll_signature_key *key,
                                             const struct ll_signature_counts *counts, struct room *room)
{
    const uint32_t *outputs = ll_signature_key_outputs(key), *inputs = ll_signature_key_inputs(key);
    const struct ll_op_view view = {.kind = (enum ll_op_kind)key->kind,
                                    .input_count = key->input_count,
                                    .output_count = key->output_count,
                                    .attr_count = key->attr_count,
                                    .in = take_shapes(trace, inputs, key->input_count, room),
                                    .out = take_shapes(trace, outputs, key->output_count, room),
                                    .attrs = ll_signature_key_attrs(key)};
    uint32_t *aliases = room->aliases;
    room->aliases += key->output_count;
    for (uint32_t i = 0; i < key->output_count; i++)
        aliases[i] = ll_op_alias(&view, i);
    return (struct ll_op_signature){.view = view,
                                    .phase = (enum ll_phase)key->phase,
                                    .scope = key->scope,
                                    .inputs = inputs,
                                    .outputs = outputs,
                                    .aliases = aliases,
                                    .flops = counts->flops,
                                    .bytes_read = counts->bytes_read,
                                    .bytes_written = counts->bytes_written};
}

static bool take_signatures(struct ll_trace *trace, const struct ll_tables *tables)
{
    const struct ll_map *signatures = &tables->signatures;
    uint64_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < signatures->count; i++) {
        const struct ll_signature_key *key = signatures->entries[i].bytes;
        inputs += key->input_count;
        outputs += key->output_count;
    }
    struct room room = {.shapes = ll_alloc(&trace->arena, inputs + outputs, sizeof *room.shapes),
                        .aliases = ll_alloc(&trace->arena, outputs, sizeof *room.aliases)};
    trace->signatures = malloc((signatures->count + 1u) * sizeof *trace->signatures);
    if (!trace->signatures || !room.shapes || !room.aliases)
        return false;
    for (uint32_t i = 0; i < signatures->count; i++)
        trace->signatures[i] = take_signature(trace, signatures->entries[i].bytes, &tables->counts[i], &room);
    trace->signature_count = signatures->count;
    return true;
}

/* The names of the kinds are strings of the trace, too. */
static bool name_kinds(struct ll_trace *trace, struct ll_map *strings)
{
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        struct ll_op_signature *signature = &trace->signatures[i];
        const char *name = ll_op_name(signature->view.kind);
        signature->kind_name = ll_map_intern(strings, name, strlen(name), NULL);
        if (signature->kind_name == LL_NO_ID)
            return false;
    }
    return true;
}

static bool take_links(struct ll_trace *trace, const struct ll_map *edges)
{
    trace->edges = malloc((edges->count + 1u) * sizeof *trace->edges);
    for (uint32_t i = 0; trace->edges && i < edges->count; i++) {
        const struct ll_links_key *key = edges->entries[i].bytes;
        trace->edges[i] = (struct ll_op_edges){.inputs = ll_links_key_inputs(key),
                                               .controls = ll_links_key_controls(key),
                                               .input_count = key->input_count,
                                               .control_count = key->control_count,
                                               .storage_count = key->storage_count,
                                               .gap_count = key->gap_count};
    }
    trace->edges_count = edges->count;
    return trace->edges;
}

static void add_tensor(struct ll_trace *trace, uint32_t desc, uint32_t storage, uint32_t producer)
{
    if (storage == LL_NONE)
        storage = (uint32_t)trace->storage_count++;
    trace->tensors[trace->tensor_count++] = (struct ll_tensor){desc, storage, producer};
}

/* The op and its outputs, on new storages or on those that they take over. */
static void add_op(struct ll_trace *trace, const struct ll_waiting_op *row)
{
    const struct ll_op_signature *signature = &trace->signatures[row->signature];
    const uint32_t number = (uint32_t)trace->op_count++;
    trace->ops[number] = (struct ll_op){.signature = row->signature,
                                        .edges = row->edges,
                                        .step = row->step,
                                        .thread = row->thread,
                                        .first_output = (uint32_t)trace->tensor_count,
                                        .start_ns = row->start_ns,
                                        .duration_ns = row->duration_ns};
    for (uint32_t i = 0; i < signature->view.output_count; i++) {
        const uint32_t alias = signature->aliases[i];
        const uint32_t storage =
            alias == LL_NONE ? LL_NONE : trace->tensors[ll_op_input(trace, number, alias)].storage;
        add_tensor(trace, signature->outputs[i], storage, number);
    }
}

static bool take_ops(struct ll_trace *trace, const struct ll_tables *tables,
                     const struct ll_waiting_ops *rows)
{
    uint64_t brought = 0;
    assert(rows->first_op == 0 && rows->first_tensor == 0);
    trace->ops = malloc((rows->count + 1) * sizeof *trace->ops);
    trace->tensors = malloc((tables->tensor_count + 1) * sizeof *trace->tensors);
    if (!trace->ops || !trace->tensors)
        return false;
    for (uint64_t i = 0; i <= rows->count; i++) {
        for (; brought < rows->brought_desc.count && rows->brought_before.values[brought] == i; brought++)
            add_tensor(trace, (uint32_t)rows->brought_desc.values[brought], LL_NONE, LL_NONE);
        if (i < rows->count)
            add_op(trace, &rows->ops[i]);
    }
    assert(trace->tensor_count == tables->tensor_count);
    return true;
}

bool ll_tables_take(struct ll_tables *tables, const struct ll_waiting_ops *rows, struct ll_trace *trace)
{
    bool done = take_descs(trace, &tables->descs) && take_signatures(trace, tables) &&
                name_kinds(trace, &tables->strings) && take_strings(trace, &tables->strings) &&
                take_links(trace, &tables->edges) && take_ops(trace, tables, rows);
    ll_arena_join(&trace->arena, &tables->strings.arena);
    ll_arena_join(&trace->arena, &tables->signatures.arena);
    ll_arena_join(&trace->arena, &tables->edges.arena);
    ll_tables_release(tables);
    return done;
}
