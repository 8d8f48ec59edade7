/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers are constants, those of floating point weights. Inputs that no initializer backs are data,
 * whatever they are called, unless the user says otherwise: -p inputs=a,b names the data, -p weights=a,b the
 * weights. In a file that has no initializers at all, for it was exported without its weights, an input that
 * goes where no network computes what goes there (the filter of a convolution) is a weight, too. */
#include "tracer/convert/onnx_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(struct onnx *o, uint32_t id)
{
    const struct ll_map_entry *entry = &o->file.names.entries[id];
    const uint8_t *bytes = entry->bytes;
    const char *name = ll_wire_text((struct ll_wire){bytes, bytes + entry->length}, &o->import->arena);
    return name ? name : "";
}

static bool is_number(uint8_t dtype)
{
    return dtype < LL_I64 || dtype == LL_INT8 || dtype == LL_INT4 || dtype == LL_U8;
}

static bool take_initializer(struct onnx *o, const struct onnx_tensor *tensor)
{
    if (tensor->value == LL_NO_ID || !tensor->supported)
        return ll_complain(
            o->import->diags, (struct ll_place){.file = o->file.path},
            "initializer `%.100s` has no name, or elements of a type or dimensions that are not "
            "supported",
            tensor->value == LL_NO_ID ? "" : name_of(o, tensor->value));
    struct onnx_value *value = &o->values[tensor->value];
    if (value->made)
        return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                           "there are two initializers `%.100s`", name_of(o, tensor->value));
    bool weight = is_number(tensor->shape.dtype);
    *value = (struct onnx_value){.known = true,
                                 .constant = true,
                                 .made = true,
                                 .shape = tensor->shape,
                                 .tensor = tensor,
                                 .base = tensor->value,
                                 .memory = weight ? LL_WEIGHT : LL_WORKSPACE};
    return true;
}

bool onnx_take_initializers(struct onnx *o, const struct onnx_graph *graph)
{
    bool right = true;
    for (uint64_t i = 0; i < graph->tensor_count; i++)
        right = take_initializer(o, &graph->tensors[i]) && right;
    return right;
}

static uint64_t count_weights(const struct onnx_graph *graph)
{
    uint64_t elements = 0;
    for (uint64_t i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].supported && is_number(graph->tensors[i].shape.dtype))
            elements = ll_add(elements, ll_elements(&graph->tensors[i].shape));
    return elements;
}

static bool is_one_of(const char *type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* Whether input i of a node is one that no network computes: filters, weights, factors of norms. */
static bool is_weights_place(const char *type, uint32_t i)
{
    static const struct {
        const char *type;
        uint32_t first, end;
    } places[] = {{"Conv", 1, 3},
                  {"ConvTranspose", 1, 3},
                  {"Gemm", 1, 3},
                  {"LSTM", 1, 4},
                  {"GRU", 1, 4},
                  {"RNN", 1, 4},
                  {"BatchNormalization", 1, 5},
                  {"LayerNormalization", 1, 3}};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        if (strcmp(type, places[p].type) == 0)
            return i >= places[p].first && i < places[p].end;
    return false;
}

/* Values that go to such places and nowhere else, perhaps moved on the way; nodes stand behind those that
 * they read. */
static void mark_weights(struct onnx *o)
{
    static const char *const moves[] = {"Identity",  "Cast",  "Transpose", "Reshape", "Squeeze",
                                        "Unsqueeze", "Slice", "Concat",    "Split",   "Flatten"};
    const struct onnx_graph *graph = &o->file.graph;
    for (uint64_t i = 0; i < graph->output_count; i++)
        if (graph->outputs[i].value != LL_NO_ID)
            o->values[graph->outputs[i].value].read = true;
    for (uint64_t n = graph->node_count; n-- > 0;) {
        const struct onnx_node *node = &graph->nodes[n];
        bool passes = is_one_of(node->type, moves, sizeof moves / sizeof *moves);
        for (uint32_t i = 0; i < node->output_count && passes; i++)
            passes = node->outputs[i] == LL_NO_ID ||
                     (o->values[node->outputs[i]].weight && !o->values[node->outputs[i]].read);
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != LL_NO_ID) {
                bool weight = passes || is_weights_place(node->type, i);
                o->values[node->inputs[i]].weight |= weight;
                o->values[node->inputs[i]].read |= !weight;
            }
    }
    for (uint64_t i = 0; i < o->value_count; i++) {
        o->values[i].weight &= !o->values[i].read;
        o->values[i].read = false;
    }
}

/* What recurrent layers read has the batch behind the steps, unless their layout says so; so has what
 * becomes that element by element, or row by row of a table. */
static void mark_steps(struct onnx *o)
{
    static const char *const layers[] = {"LSTM", "GRU", "RNN"}, *const same[] = {"Identity", "Cast",
                                                                                 "Dropout"};
    for (uint64_t n = o->file.graph.node_count; n-- > 0;) {
        const struct onnx_node *node = &o->file.graph.nodes[n];
        uint32_t data = strcmp(node->type, "Gather") == 0; /* whose rows are numbered by its second input */
        struct onnx_attr layout = {0};
        bool layer = is_one_of(node->type, layers, sizeof layers / sizeof *layers);
        bool passes = data || is_one_of(node->type, same, sizeof same / sizeof *same);
        bool wanted = passes && node->output_count > 0 && node->outputs[0] != LL_NO_ID &&
                      o->values[node->outputs[0]].steps_first;
        if (layer)
            wanted = !onnx_attr_find(node, "layout", &layout) || layout.integer == 0;
        if (wanted && data < node->input_count && node->inputs[data] != LL_NO_ID)
            o->values[node->inputs[data]].steps_first = true;
    }
}

/* Whether a list of names, between commas, has this one. */
static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Names that the user gives have to be those of inputs that nothing backs. */
static bool check_names(struct onnx *o, const char *key, const char *list)
{
    bool right = true;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        const struct onnx_graph *graph = &o->file.graph;
        bool found = false;
        for (uint64_t i = 0; i < graph->input_count && !found; i++) {
            uint32_t value = graph->inputs[i].value;
            found = value != LL_NO_ID && !o->values[value].made && strlen(name_of(o, value)) == length &&
                    strncmp(name_of(o, value), at, length) == 0;
        }
        if (!found)
            right = ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                                "-p %s=%s: there is no input `%.*s` that the file leaves open", key, list,
                                (int)ll_min(length, 100), at);
    }
    return right;
}

static bool is_weight(struct onnx *o, const struct onnx_info *info, const char *data, const char *weights)
{
    const char *name = name_of(o, info->value);
    if (data || weights)
        return weights ? listed(weights, name) : !listed(data, name);
    for (unsigned i = 0; i < info->shape.rank; i++)
        if (info->open[i])
            return false;
    return o->file.graph.tensor_count == 0 && is_number(info->shape.dtype) && o->values[info->value].weight;
}

/* Which dimension of an input is the batch. */
static unsigned batch_dim(const struct onnx *o, const struct onnx_info *info)
{
    return o->values[info->value].steps_first && info->shape.rank > 1 ? 1 : 0;
}

/* The size that the user gives to an open dimension: by its name, or by its place (`x.1`). */
static bool close_dim(struct onnx *o, struct onnx_info *info, unsigned i)
{
    char place[160];
    const char *name = name_of(o, info->value), *open = info->open[i];
    uint64_t by_name = 0, by_place = 0;
    snprintf(place, sizeof place, "%.120s.%u", name, i);
    if ((*open && !ll_import_count(o->import, open, 1, UINT32_MAX, 0, &by_name)) ||
        !ll_import_count(o->import, place, 1, UINT32_MAX, 0, &by_place))
        return false;
    info->shape.dim[i] = by_place ? by_place : by_name ? by_name : info->shape.dim[i];
    return info->shape.dim[i] ||
           ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                       "dimension %u of input `%.100s` is open; say -p %.100s=SIZE%s", i, name,
                       *open ? open : place, i == batch_dim(o, info) ? ", or --batch N" : "");
}

/* The batch that the user asks for is that of what is no weight, whatever the file says; where other sizes
 * depend on it and are fixed, their nodes will not fit. */
static bool close_dims(struct onnx *o, struct onnx_info *info)
{
    bool right = true;
    uint64_t *batch = &info->shape.dim[batch_dim(o, info)];
    if (info->shape.rank > 0 && !ll_import_count(o->import, "batch", 1, UINT32_MAX, *batch, batch))
        return false;
    for (unsigned i = 0; i < info->shape.rank; i++)
        if (info->open[i])
            right = close_dim(o, info, i) && right;
    return right;
}

static bool take_input(struct onnx *o, struct onnx_info *info, const char *data, const char *weights,
                       struct onnx_summary *summary)
{
    if (info->value == LL_NO_ID || o->values[info->value].made)
        return true; /* an initializer that may be replaced */
    const char *name = name_of(o, info->value);
    if (!info->known)
        return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                           "input `%.100s` is no tensor of a type and of dimensions that are supported",
                           name);
    bool weight = is_weight(o, info, data, weights), right = weight || close_dims(o, info);
    if (right && !ll_fits(ll_size_bytes(&info->shape)))
        return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                           "the size of input `%.100s` does not fit in 64 bits", name);
    unsigned batch = batch_dim(o, info);
    o->values[info->value] = (struct onnx_value){.known = right,
                                                 .constant = weight,
                                                 .made = true,
                                                 .shape = info->shape,
                                                 .base = info->value,
                                                 .memory = weight ? LL_WEIGHT : LL_INPUT};
    summary->parameters += weight ? ll_elements(&info->shape) : 0;
    summary->data += !weight;
    if (!weight && summary->batch == 0 && info->shape.rank > 0)
        summary->batch = info->shape.dim[batch];
    return right;
}

/* Exporters give equal weights one name and an Identity for each other one. */
static void count_copies(struct onnx *o, struct onnx_summary *summary)
{
    for (uint64_t n = 0; n < o->file.graph.node_count; n++) {
        const struct onnx_node *node = &o->file.graph.nodes[n];
        if (strcmp(node->type, "Identity") != 0 || node->input_count != 1 || node->inputs[0] == LL_NO_ID)
            continue;
        const struct onnx_value *value = &o->values[node->inputs[0]];
        if (value->constant && value->memory == LL_WEIGHT)
            summary->copies = ll_add(summary->copies, ll_elements(&value->shape));
    }
}

bool onnx_read_inputs(struct onnx *o, struct onnx_summary *summary)
{
    const char *data = ll_import_choice(o->import, "inputs"),
               *weights = ll_import_choice(o->import, "weights");
    *summary = (struct onnx_summary){.parameters = count_weights(&o->file.graph)};
    mark_weights(o);
    mark_steps(o);
    bool right = onnx_take_initializers(o, &o->file.graph);
    right = check_names(o, "inputs", data) && right;
    right = check_names(o, "weights", weights) && right;
    for (uint64_t i = 0; i < o->file.graph.input_count; i++)
        right = take_input(o, &o->file.graph.inputs[i], data, weights, summary) && right;
    if (right && summary->data > 1 && o->file.graph.tensor_count == 0 && !data && !weights &&
        o->import->notes)
        ll_complain(o->import->notes, (struct ll_place){.file = o->file.path},
                    "the file has no initializers, so its inputs are data, %" PRIu64
                    " of them; where some are weights, say -p inputs=A,B to name the data",
                    summary->data);
    count_copies(o, summary);
    return right;
}
