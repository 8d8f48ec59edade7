/* SPDX-License-Identifier: Apache-2.0 */
/* Importing an ONNX network: what it is given (first section), checking its operators, arithmetic on
 * constants, and the walk over its nodes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* Initializers are constants, those of floating point weights. Inputs that no initializer backs are data,
 * whatever they are called, unless the user says otherwise: -p inputs=a,b names the data, -p weights=a,b the
 * weights. In a file that has no initializers at all, for it was exported without its weights, an input that
 * goes where no network computes what goes there (the filter of a convolution) is a weight, too. */

static const char *name_of(struct onnx *o, uint32_t id)
{
    const struct ll_map_entry *entry = &o->file.names.entries[id];
    const uint8_t *bytes = entry->bytes;
    const char *name = ll_wire_text((struct ll_wire){bytes, bytes + entry->length}, &o->import->arena);
    return name ? name : "";
}

static bool is_number(uint8_t dtype)
{
    return dtype < LL_I64 || dtype == LL_INT8 || dtype == LL_INT4 || dtype == LL_INT2 || dtype == LL_U8;
}

/* A constant of the file becomes a value: a weight, whose elements are read only where shapes depend on
 * them. */
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

/* The constants that a graph within brings. False after complaints. */
static bool onnx_take_initializers(struct onnx *o, const struct onnx_graph *graph)
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
    uint64_t before = *batch;
    if (info->shape.rank > 0 && !ll_import_count(o->import, "batch", 1, UINT32_MAX, before, batch))
        return false;
    o->resized |= info->shape.rank > 0 && !info->open[batch_dim(o, info)] && *batch != before;
    for (unsigned i = 0; i < info->shape.rank; i++)
        if (info->open[i])
            right = close_dim(o, info, i) && right;
    return right;
}

/* The elements that the user gives to an input by its name, as -p size=3,4: numbers, true or false. A list's
 * open dimension is as long as they are many. *numbers stays NULL where nothing is given. */
static bool take_elements(struct onnx *o, struct onnx_info *info, double **numbers)
{
    const char *name = name_of(o, info->value);
    bool other = strcmp(name, "batch") == 0 || strcmp(name, "inputs") == 0 || strcmp(name, "weights") == 0;
    const char *text = other || !*name ? NULL : ll_import_choice(o->import, name);
    double *list = text ? onnx_room(o, strlen(text) / 2 + 1) : NULL;
    uint64_t count = 0;
    bool right = !text || list;
    for (const char *at = text; at && right; at = *at == ',' ? at + 1 : NULL) {
        char *end = (char *)at;
        bool is_true = strncmp(at, "true", 4) == 0;
        list[count++] = is_true || strncmp(at, "false", 5) == 0 ? is_true : ll_strtod(at, &end);
        right = end != at || is_true || strncmp(at, "false", 5) == 0;
        at = end != at ? end : at + strcspn(at, ",");
        right = right && (*at == ',' || *at == '\0');
    }
    if (right && text && info->shape.rank == 1 && info->open[0]) {
        info->shape.dim[0] = count;
        info->open[0] = NULL;
    }
    for (unsigned i = 0; i < info->shape.rank; i++)
        if (text && info->open[i])
            return true; /* a size: it is no list of elements but that of a dimension with this name */
    *numbers = list;
    return (right && (!text || count == ll_elements(&info->shape))) ||
           ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                       "-p %.100s=%.100s: expected the %" PRIu64 " elements of this input, as 3,4", name,
                       text, ll_elements(&info->shape));
}

uint32_t onnx_new_value(struct onnx *o, const struct onnx_value *value)
{
    const struct onnx_graph none = {.name = ""};
    char name[40];
    snprintf(name, sizeof name, "#value/%" PRIu32, o->file.names.count);
    uint32_t id = ll_map_intern(&o->file.names, name, strlen(name), NULL);
    if (id == LL_NO_ID || !onnx_number_values(o, &none))
        return LL_NO_ID;
    o->values[id] = *value;
    o->values[id].base = id;
    return id;
}

/* A list of tensors that look alike, as many as the user says. */
static bool take_list(struct onnx *o, struct onnx_info *info, struct onnx_summary *summary)
{
    const char *name = name_of(o, info->value), *key = ll_format(&o->import->arena, "%.120s.length", name);
    uint64_t count = 0;
    if (!key)
        return ll_import_no_memory(o->import);
    if (!ll_import_count(o->import, key, 0, ONNX_MOST_NUMBERS, 0, &count) || !close_dims(o, info))
        return false;
    if (!ll_import_choice(o->import, key))
        return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                           "input `%.100s` is a list of tensors; say -p %.130s=N", name, key);
    uint32_t *items = ll_alloc(&o->import->arena, (size_t)count + 1, sizeof *items);
    for (uint64_t i = 0; items && i < count; i++) {
        const struct onnx_value value = {
            .known = true, .made = true, .lasting = true, .shape = info->shape, .memory = LL_INPUT};
        items[i] = onnx_new_value(o, &value);
    }
    o->values[info->value] =
        (struct onnx_value){.known = true, .made = true, .list = true, .items = items, .item_count = count};
    summary->data++;
    return items || ll_import_no_memory(o->import);
}

/* Makes an input of the graph a value: a weight where the user or the network says so, else data whose open
 * dimensions must get sizes. An initializer of the same name has made it already and only gives a default. */
static bool take_input(struct onnx *o, struct onnx_info *info, const char *data, const char *weights,
                       struct onnx_summary *summary)
{
    if (info->value == LL_NO_ID || o->values[info->value].made)
        return true; /* an initializer that may be replaced */
    const char *name = name_of(o, info->value);
    if (!info->known)
        return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                           info->text
                               ? "input `%.100s` holds strings, which are not supported"
                               : "input `%.100s` is no tensor of a type and of dimensions that are supported",
                           name);
    if (info->list)
        return take_list(o, info, summary);
    double *numbers = NULL;
    if (!take_elements(o, info, &numbers))
        return false;
    bool weight = is_weight(o, info, data, weights), right = weight || numbers || close_dims(o, info);
    if (right && !ll_fits(ll_size_bytes(&info->shape)))
        return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                           "the size of input `%.100s` does not fit in 64 bits", name);
    unsigned batch = batch_dim(o, info);
    o->values[info->value] = (struct onnx_value){.known = right,
                                                 .constant = weight || numbers,
                                                 .made = true,
                                                 .shape = info->shape,
                                                 .numbers = numbers,
                                                 .base = info->value,
                                                 .memory = weight ? LL_WEIGHT : LL_INPUT};
    summary->parameters += weight ? ll_elements(&info->shape) : 0;
    summary->data += !weight && !numbers;
    if (!weight && !numbers && summary->batch == 0 && info->shape.rank > 0)
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

/* Fills o->values from the file's initializers and inputs. Open dimensions get the sizes that the user
 * gives by name. False after complaints, one for each that lacks a size. Initializers first, then inputs,
 * since an input that has an initializer of its name is no data. */
static bool onnx_read_inputs(struct onnx *o, struct onnx_summary *summary)
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

/* An ONNX file becomes a trace: operators are looked up, inputs get their sizes, then node after node follows
 * its rule (onnx_operators.def). What a complaint leaves unknown is not complained about again further on. */

#define onnx_fold_NONE NULL
static const struct onnx_operator operators[] = {
#define LL_ONNX(type, rule, kind, fold) {type, onnx_rule_##rule, LL_OP_##kind, onnx_fold_##fold},
#include "tracer/convert/onnx/operators.def"
#undef LL_ONNX
};
enum { OPERATOR_COUNT = sizeof operators / sizeof *operators };

/* Whether the rows tell of this domain's operators. In others the same name may mean anything. */
static bool is_known_domain(const char *domain)
{
    static const char *const domains[] = {
        "", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft"};
    return is_one_of(domain, domains, sizeof domains / sizeof *domains);
}

static const struct onnx_operator *find_row(const char *type)
{
    for (size_t i = 0; i < OPERATOR_COUNT; i++)
        if (strcmp(operators[i].type, type) == 0)
            return &operators[i];
    return NULL;
}

/* The row of a type of operators of a domain ("": the standard one); NULL when there is none. A row may say
 * of which domain it is, where another has an operator of its name. */
static const struct onnx_operator *onnx_find_operator(const char *domain, const char *type)
{
    char whole[128];
    if (!is_known_domain(domain))
        return NULL;
    snprintf(whole, sizeof whole, "%s.%s", domain, type);
    const struct onnx_operator *row = *domain ? find_row(whole) : NULL;
    return row ? row : find_row(type);
}

static const struct onnx_operator opaque = {"", onnx_rule_OPAQUE, LL_OP_FOREIGN, NULL};

/* Outputs look as the file says, or as the first input. */
bool onnx_rule_OPAQUE(struct onnx *o)
{
    const struct onnx_node *node = o->node;
    uint32_t room = node->input_count + 2 * node->output_count, count = 0;
    struct ll_imported *held = ll_alloc(&o->import->arena, (size_t)room + LL_MAX_OUTPUTS, sizeof *held);
    struct ll_shape *given = ll_alloc(&o->import->arena, (size_t)node->output_count + 1, sizeof *given);
    if (!held || !given)
        return ll_import_no_memory(o->import);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (onnx_input(o, i))
            held[count++] = onnx_take(o, onnx_input(o, i), ONNX_PLAIN);
    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct onnx_info *info = node->outputs[i] == LL_NO_ID ? NULL : o->told[node->outputs[i]];
        if (!info && count == 0)
            return onnx_refuse(o, "nothing tells what its outputs look like");
        given[i] = info ? info->shape : held[0].shape;
        for (unsigned d = 0; info && d < given[i].rank; d++)
            given[i].dim[d] = info->open[d]
                                  ? (d == 0 && count && held[0].shape.rank ? held[0].shape.dim[0] : 1)
                                  : given[i].dim[d];
    }
    const struct ll_import_op op = {.kind = LL_OP_FOREIGN,
                                    .in = held,
                                    .in_count = count,
                                    .given = given,
                                    .given_count = node->output_count};
    struct ll_imported *out = held + node->input_count;
    if (node->output_count == 0 || !onnx_emit(o, &op, out))
        return node->output_count == 0;
    for (uint32_t i = 0; i < node->output_count; i++)
        onnx_put(o, i, out[i], ONNX_PLAIN, &given[i]);
    return true;
}

/* All operators without a rule at once, each once. */
static bool complain_about(struct onnx *o, const struct onnx_graph *graph, const struct ll_map *types,
                           const uint64_t *counts, const uint64_t *first)
{
    for (uint32_t i = 0; i < types->count; i++) {
        const struct onnx_node *node = &graph->nodes[first[i]];
        ll_complain(o->import->diags, (struct ll_place){.file = o->file.path},
                    "operator `%.60s%s%.60s` has no rule here; %" PRIu64
                    " of them, the first is `%.100s` (%s); --allow-opaque keeps it as moving its bytes",
                    node->domain, *node->domain ? "." : "", node->type, counts[i], node->name,
                    onnx_place(o, node));
    }
    return types->count == 0;
}

/* Looks for operators without a row before anything is recorded, so that all of them are named at once. */
static bool check_operators(struct onnx *o, const struct onnx_graph *graph)
{
    struct ll_map types = {0};
    uint64_t *counts = ll_alloc(&o->import->arena, graph->node_count, sizeof *counts);
    uint64_t *first = ll_alloc(&o->import->arena, graph->node_count, sizeof *first);
    bool known = counts && first ? true : ll_import_no_memory(o->import), is_new;
    for (uint64_t i = 0; known && i < graph->node_count && !o->import->allow_opaque; i++) {
        const struct onnx_node *node = &graph->nodes[i];
        if (onnx_function_of(&o->file, node) || onnx_find_operator(node->domain, node->type))
            continue;
        const char *type = ll_format(&o->import->arena, "%s.%s", node->domain, node->type);
        uint32_t id = type ? ll_map_intern(&types, type, strlen(type), &is_new) : LL_NO_ID;
        if (id == LL_NO_ID)
            continue;
        counts[id]++;
        first[id] = is_new ? i : first[id];
    }
    known = known && complain_about(o, graph, &types, counts, first);
    ll_map_release(&types);
    return known;
}

/* Whether all inputs of the node at work are known; whether they are constants. An unknown one was complained
 * about where it should have been made, or is made nowhere. */
static bool look_at_inputs(struct onnx *o, bool *unknown)
{
    *unknown = false;
    o->folding = true;
    for (uint32_t i = 0; i < o->node->input_count; i++) {
        const struct onnx_value *in = onnx_input(o, i);
        if (in && !in->made)
            return onnx_refuse(o, "nothing before it makes its input %u", i);
        if (in && in->untold)
            return onnx_refuse(o, "its input %u is an output that has no rule here", i);
        *unknown |= in && !in->known;
        o->folding &= !in || in->constant;
    }
    return true;
}

/* Outputs that the rule did not make are made, but not known: who reads them is passed over in silence where
 * that was complained about, and refused where it was not. */
static bool settle_outputs(struct onnx *o, bool done)
{
    for (uint32_t i = 0; i < o->node->output_count; i++) {
        uint32_t id = o->node->outputs[i];
        if (id != LL_NO_ID && (!done || !o->values[id].made))
            o->values[id] = (struct onnx_value){.made = true, .base = id, .untold = done};
    }
    return done;
}

static void mark_read(struct onnx *o)
{
    for (uint32_t i = 0; i < o->node->input_count; i++)
        if (onnx_input(o, i))
            o->values[onnx_input(o, i)->base].read = true;
}

/* A folded node brings the elements of its first output, where they can be computed. */
static void fold(struct onnx *o)
{
    uint32_t id = o->node->output_count > 0 ? o->node->outputs[0] : LL_NO_ID;
    if (id == LL_NO_ID || !o->row->fold || o->values[id].numbers)
        return;
    uint64_t count = ll_elements(&o->values[id].shape);
    double *numbers = onnx_room(o, count);
    if (numbers && o->row->fold(o, numbers, count))
        o->values[id].numbers = numbers;
}

static bool outputs_are_new(struct onnx *o)
{
    for (uint32_t i = 0; i < o->node->output_count; i++)
        if (o->node->outputs[i] != LL_NO_ID && o->values[o->node->outputs[i]].made)
            return onnx_refuse(o, "its output %u is there already", i);
    return true;
}

static bool call_function(struct onnx *o, struct onnx_function *function);

static bool follow(struct onnx *o, const struct onnx_node *node)
{
    bool unknown;
    struct onnx_function *function = onnx_function_of(&o->file, node);
    o->node = node;
    o->row = onnx_find_operator(node->domain, node->type);
    o->row = o->row ? o->row : &opaque;
    o->file.opset = onnx_version(&o->file, node, "");
    if (!outputs_are_new(o))
        return false;
    if (!look_at_inputs(o, &unknown))
        return settle_outputs(o, false);
    if (unknown) {
        settle_outputs(o, false);
        return true;
    }
    bool done = function ? call_function(o, function) : o->row->rule(o);
    if (done && o->folding && !function) {
        fold(o);
        mark_read(o);
    }
    return settle_outputs(o, done);
}

/* Weights that nothing reads are there all the same. */
static void bring_rest(struct onnx *o)
{
    for (uint32_t id = 0; id < o->value_count; id++) {
        const struct onnx_value *value = &o->values[id];
        bool had = value->has[ONNX_PLAIN] || value->has[ONNX_IMAGE] || value->has[ONNX_FILTER];
        if (value->constant && value->base == id && value->memory == LL_WEIGHT && !value->read && !had &&
            (value->tensor || !value->numbers))
            ll_import_tensor(o->import, "", &value->shape, LL_WEIGHT);
    }
}

/* What becomes something else element by element looks like it: what the file tells of the one holds for the
 * other, where it tells nothing. */
static void pass_on(struct onnx *o, const struct onnx_graph *graph)
{
    for (uint64_t n = graph->node_count; n-- > 0;) {
        const struct onnx_node *node = &graph->nodes[n];
        const struct onnx_operator *row = onnx_find_operator(node->domain, node->type);
        bool keeps = row && (row->rule == onnx_rule_UNARY || row->rule == onnx_rule_CAST ||
                             row->rule == onnx_rule_CAST_LIKE || row->rule == onnx_rule_IDENTITY);
        uint32_t from = node->input_count > 0 ? node->inputs[0] : LL_NO_ID,
                 to = node->output_count > 0 ? node->outputs[0] : LL_NO_ID;
        if (keeps && from != LL_NO_ID && to != LL_NO_ID && !o->told[from])
            o->told[from] = o->told[to];
    }
}

bool onnx_number_values(struct onnx *o, const struct onnx_graph *graph)
{
    uint64_t count = o->file.names.count;
    if (count >= o->value_room) {
        uint64_t room = 2 * count + 1;
        struct onnx_value *values = ll_alloc(&o->import->arena, room, sizeof *values);
        const struct onnx_info **told = ll_alloc(&o->import->arena, room, sizeof *told);
        if (!values || !told)
            return ll_import_no_memory(o->import);
        if (o->value_count > 0) {
            memcpy(values, o->values, o->value_count * sizeof *values);
            memcpy(told, o->told, o->value_count * sizeof *told);
        }
        o->values = values;
        o->told = told;
        o->value_room = room;
    }
    o->value_count = count;
    for (uint64_t i = 0; i < graph->info_count + graph->output_count; i++) {
        const struct onnx_info *info =
            i < graph->info_count ? &graph->infos[i] : &graph->outputs[i - graph->info_count];
        if (info->value != LL_NO_ID && info->known)
            o->told[info->value] = info;
    }
    pass_on(o, graph);
    return true;
}

static bool follow_all(struct onnx *o, const struct onnx_graph *graph)
{
    bool right = true;
    for (uint64_t i = 0; i < graph->node_count; i++) {
        if (graph == &o->file.graph)
            ll_import_progress(o->import, "recording", i, graph->node_count);
        right = follow(o, &graph->nodes[i]) && right;
    }
    return right;
}

/* Whether a function may be called here: neither within itself nor too deep. */
static bool may_call(struct onnx *o, const struct onnx_function *function)
{
    unsigned depth = 0;
    for (const struct onnx_call *call = o->node->call; call; call = call->node->call, depth++)
        if (call->function == function)
            return onnx_refuse(o, "the function calls itself");
    return depth < ONNX_MOST_DEPTH || onnx_refuse(o, "it lies too deep");
}

/* A call is the nodes of the function in its place; what the function calls its inputs and outputs are those
 * of the node at work. */
static bool call_function(struct onnx *o, struct onnx_function *function)
{
    const struct onnx_node *node = o->node;
    struct onnx_call *call = ll_alloc(&o->import->arena, 1, sizeof *call);
    struct onnx_graph body;
    if (!call)
        return ll_import_no_memory(o->import);
    if (function->refused || !may_call(o, function))
        return false;
    *call = (struct onnx_call){.function = function, .node = node, .number = o->calls++};
    if (!onnx_function_read(&o->file, call, &body) || !onnx_number_values(o, &body))
        return false;
    if (body.node_count > o->nodes_left)
        return onnx_refuse(o, "the functions of the model become too many nodes");
    o->nodes_left -= body.node_count;
    function->refused = !check_operators(o, &body);
    bool right = !function->refused && follow_all(o, &body);
    o->node = node;
    for (uint64_t i = 0; right && i < node->output_count; i++) {
        if (node->outputs[i] == LL_NO_ID || o->values[node->outputs[i]].made)
            continue;
        for (uint64_t k = 0; i < function->output_count && k < function->input_count && k < node->input_count;
             k++)
            if (onnx_input(o, (uint32_t)k) && onnx_is_passed_on(function, i, k)) {
                const struct ll_shape shape = onnx_input(o, (uint32_t)k)->shape;
                onnx_put_view(o, (uint32_t)i, onnx_input(o, (uint32_t)k), &shape);
            }
        if (!o->values[node->outputs[i]].made)
            right = onnx_refuse(o, "nothing in it makes its output %u", (unsigned)i);
    }
    return right;
}

bool onnx_follow_graph(struct onnx *o, const struct onnx_graph *graph)
{
    return check_operators(o, graph) && onnx_take_initializers(o, graph) && follow_all(o, graph);
}

/* A network that computes nothing still hands over its outputs: its inputs seen otherwise, or constants, that
 * it writes. */
static bool bring_outputs(struct onnx *o)
{
    const struct onnx_graph *graph = &o->file.graph;
    o->folding = false;
    for (uint64_t i = 0; o->node && i < graph->output_count; i++) {
        struct onnx_value *value =
            graph->outputs[i].value == LL_NO_ID ? NULL : &o->values[graph->outputs[i].value];
        struct ll_imported out;
        if (!value || !value->known)
            continue;
        if (!value->constant)
            onnx_take(o, value, ONNX_PLAIN);
        else if (!onnx_emit_simple(o, LL_OP_CONSTANT, NULL, 0, &value->shape, &out))
            return false;
    }
    return true;
}

static void add_facts(struct onnx *o, const struct onnx_summary *summary)
{
    struct ll_facts *facts = &o->import->facts;
    const char *base = ll_base_name(o->file.path);
    ll_facts_add(facts, "model", "%.*s", (int)ll_stem_length(base), base);
    ll_facts_add(facts, "mode", "infer");
    if (summary->batch)
        ll_facts_add(facts, "batch", "%" PRIu64, summary->batch);
    ll_facts_add(facts, "parameters", "%" PRIu64, summary->parameters);
    if (summary->copies)
        ll_facts_add(facts, "parameters.with_copies", "%" PRIu64,
                     ll_add(summary->parameters, summary->copies));
    ll_facts_add(facts, "imported.format", "onnx");
    ll_facts_add(facts, "imported.producer", "%.100s", o->file.producer);
    ll_facts_add(facts, "imported.graph", "%.100s", o->file.graph.name);
    ll_facts_add(facts, "imported.opset", "%" PRId64, o->file.opset);
}

/* All that can be said before anything is recorded comes first (operators without a row, inputs without a
 * size); then the nodes in the order of the file, which ONNX guarantees to be topological. */
static bool import_graph(struct onnx *o, struct ll_wire bytes)
{
    struct onnx_summary summary;
    if (!onnx_file_read(&o->file, bytes))
        return false;
    if (!onnx_number_values(o, &o->file.graph))
        return false;
    bool known = check_operators(o, &o->file.graph), right = onnx_read_inputs(o, &summary);
    if (!known || !right)
        return false;
    add_facts(o, &summary);
    for (uint64_t n = 0; n < o->file.graph.node_count; n++)
        if (!onnx_asks_trips(o, o->file.graph.nodes[n].body, 0))
            return false;
    if (!ll_import_begin(o->import))
        return false;
    right = follow_all(o, &o->file.graph);
    if (right && o->import->op_count == 0)
        right = bring_outputs(o);
    bring_rest(o);
    return right && o->import->status == LL_OK;
}

bool ll_import_ONNX(struct ll_import *import)
{
    const struct ll_input_file *input = import->inputs;
    struct onnx o = {.import = import,
                     .file = {.arena = &import->arena, .diags = import->diags, .path = input->path},
                     .numbers_left = 1 << 22,
                     .nodes_left = 200000};
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0},
                           "expected one file: a network is never spread over several");
    bool done = import_graph(&o, (struct ll_wire){input->bytes, input->bytes + input->size});
    onnx_file_release(&o.file);
    return done;
}
