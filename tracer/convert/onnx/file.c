/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an ONNX file.
 *
 * The messages of onnx.proto that matter here, and their fields by number. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/convert/convert.h"
#include "tracer/convert/onnx/onnx.h"

enum { MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_FUNCTION = 25 };
enum {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTR = 11,
    FUNCTION_OVERLOAD = 13
};
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_TENSOR = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_INFO = 13
};
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_TYPE = 4,
    NODE_ATTR = 5,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8
};
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INT32S = 5, TENSOR_INT64S = 7 };
enum { TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_DOUBLES = 10, TENSOR_UINT64S = 11 };
enum { TENSOR_EXTERNAL = 13, EXTERNAL_KEY = 1, EXTERNAL_VALUE = 2 };
enum { INFO_NAME = 1, INFO_TYPE = 2, TYPE_TENSOR = 1, TENSOR_TYPE_ELEMENT = 1, TENSOR_TYPE_SHAPE = 2 };
enum { TYPE_LIST = 4, TYPE_OPTIONAL = 9, MOST_TYPES = 4 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_NAME = 2 };
enum {
    ATTR_NAME = 1,
    ATTR_F = 2,
    ATTR_I = 3,
    ATTR_S = 4,
    ATTR_T = 5,
    ATTR_G = 6,
    ATTR_FLOATS = 7,
    ATTR_INTS = 8,
    ATTR_REFERS = 21
};

uint8_t onnx_dtype(int64_t type)
{
    static const uint8_t dtypes[] = {
        [0] = LL_DTYPE_COUNT, [1] = LL_F32,   [2] = LL_U8,    [3] = LL_INT8,        [4] = LL_I16,
        [5] = LL_I16,         [6] = LL_I32,   [7] = LL_I64,   [8] = LL_DTYPE_COUNT, [9] = LL_BOOL,
        [10] = LL_F16,        [11] = LL_F64,  [12] = LL_I32,  [13] = LL_I64,        [14] = LL_C64,
        [15] = LL_C128,       [16] = LL_BF16, [17] = LL_F8,   [18] = LL_F8,         [19] = LL_F8,
        [20] = LL_F8,         [21] = LL_INT4, [22] = LL_INT4, [23] = LL_F4,         [24] = LL_F8,
        [25] = LL_INT2,       [26] = LL_INT2};
    return type >= 0 && type < (int64_t)sizeof dtypes ? dtypes[type] : LL_DTYPE_COUNT;
}

static bool broken(struct onnx_file *file, const char *what)
{
    return ll_complain(file->diags, (struct ll_place){.file = file->path}, "%s", what);
}

static bool no_memory(struct onnx_file *file)
{
    return broken(file, "memory ran out");
}

static bool is_same(struct ll_wire a, struct ll_wire b)
{
    return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

/* What a function calls a value: its inputs and outputs are the caller's; others are named by the call. */
static uint32_t name_within(struct onnx_file *file, struct ll_wire name)
{
    const struct onnx_function *function = file->call->function;
    const struct onnx_node *node = file->call->node;
    size_t size = (size_t)(name.end - name.at);
    for (uint64_t i = 0; i < function->input_count; i++)
        if (is_same(function->inputs[i], name))
            return i < node->input_count ? node->inputs[i] : LL_NO_ID;
    for (uint64_t i = 0; i < function->output_count && i < node->output_count; i++)
        if (is_same(function->outputs[i], name) && node->outputs[i] != LL_NO_ID)
            return node->outputs[i];
    char *text = ll_alloc(file->arena, size + 32, 1);
    if (!text)
        return LL_NO_ID;
    int prefix = snprintf(text, 32, "#%" PRIu64 "/", file->call->number);
    memcpy(text + prefix, name.at, size);
    return ll_map_intern(&file->names, text, size + (size_t)prefix, NULL);
}

static uint32_t name_value(struct onnx_file *file, struct ll_wire name)
{
    size_t size = (size_t)(name.end - name.at);
    if (size > 0 && file->call)
        return name_within(file, name);
    return size ? ll_map_intern(&file->names, name.at, size, NULL) : LL_NO_ID;
}

/* How many fields of this number a message has, so that there is room for them before they are read. False
 * when the message is broken. */
static bool count_fields(struct ll_wire wire, uint64_t number, uint64_t *count)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    *count = 0;
    while ((step = ll_wire_next(&wire, &field)) == LL_WIRE_FIELD)
        *count += field.number == number && field.type == LL_WIRE_BYTES;
    return step == LL_WIRE_END;
}

static void add_dims(struct onnx_tensor *tensor, const struct ll_wire_field *field)
{
    int64_t dims[LL_MAX_RANK];
    uint64_t count;
    if (!ll_wire_count(field, &count) || count > (uint64_t)(LL_MAX_RANK - tensor->shape.rank)) {
        tensor->supported = false;
        return;
    }
    ll_wire_integers(field, dims, count);
    for (uint64_t i = 0; i < count; i++) {
        tensor->shape.dim[tensor->shape.rank++] = (uint64_t)dims[i];
        tensor->supported &= dims[i] >= 0;
    }
}

/* Floats and doubles may also come one by one; a tensor that is written so is small, and its last element is
 * not worth more than the others: such elements are not known. */
static void add_elements(struct onnx_tensor *tensor, const struct ll_wire_field *field)
{
    static const uint64_t lists[] = {TENSOR_FLOATS, TENSOR_INT32S,  TENSOR_INT64S,
                                     TENSOR_RAW,    TENSOR_DOUBLES, TENSOR_UINT64S};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (field->number == lists[i] && field->type == LL_WIRE_BYTES) {
            tensor->raw = field->bytes;
            tensor->data_field = field->number;
        }
}

static bool says(struct ll_wire wire, const char *text)
{
    return (size_t)(wire.end - wire.at) == strlen(text) && memcmp(wire.at, text, strlen(text)) == 0;
}

/* A decimal number; LL_NO_FIT for anything else. */
static uint64_t number_in(struct ll_wire text)
{
    uint64_t number = text.at < text.end ? 0 : LL_NO_FIT;
    for (const uint8_t *at = text.at; at < text.end; at++)
        number = *at >= '0' && *at <= '9' ? ll_add(ll_mul(number, 10), (uint64_t)(*at - '0')) : LL_NO_FIT;
    return number;
}

/* A key and its value: which file has the elements, and from where on. */
static void add_external(struct onnx_tensor *tensor, struct ll_wire entry)
{
    struct ll_wire key = {NULL, NULL}, value = {NULL, NULL};
    struct ll_wire_field field;
    while (ll_wire_next(&entry, &field) == LL_WIRE_FIELD)
        if (field.type == LL_WIRE_BYTES && field.number == EXTERNAL_KEY)
            key = field.bytes;
        else if (field.type == LL_WIRE_BYTES && field.number == EXTERNAL_VALUE)
            value = field.bytes;
    if (says(key, "location"))
        tensor->location = value;
    else if (says(key, "offset"))
        tensor->offset = number_in(value);
}

/* TensorProto: dimensions, type, and where the elements are. They are not copied; packed lists and raw bytes
 * are kept as stretches of the file. */
bool onnx_tensor_read(struct onnx_file *file, struct ll_wire bytes, struct onnx_tensor *tensor)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    *tensor = (struct onnx_tensor){.value = LL_NO_ID, .supported = true, .shape.dtype = LL_DTYPE_COUNT};
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.number == TENSOR_DIMS)
            add_dims(tensor, &field);
        else if (field.number == TENSOR_TYPE)
            tensor->shape.dtype = onnx_dtype((int64_t)field.value);
        else if (field.number == TENSOR_NAME && field.type == LL_WIRE_BYTES && file)
            tensor->value = name_value(file, field.bytes);
        else if (field.number == TENSOR_EXTERNAL && field.type == LL_WIRE_BYTES)
            add_external(tensor, field.bytes);
        else
            add_elements(tensor, &field);
    }
    tensor->supported &= tensor->shape.dtype != LL_DTYPE_COUNT && ll_fits(ll_size_bytes(&tensor->shape));
    if (!tensor->supported)
        tensor->shape = (struct ll_shape){.dtype = LL_F32};
    return step == LL_WIRE_END;
}

/* A dimension is a size, or the name of a size that is open. */
static bool read_dim(struct onnx_file *file, struct ll_wire bytes, struct onnx_info *info)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    unsigned at = info->shape.rank;
    if (at == LL_MAX_RANK) {
        info->known = false;
        return true;
    }
    info->shape.rank++;
    info->open[at] = "";
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.number == DIM_VALUE && field.type == LL_WIRE_VARINT && (int64_t)field.value >= 0) {
            info->shape.dim[at] = field.value;
            info->open[at] = NULL;
        } else if (field.number == DIM_NAME && field.type == LL_WIRE_BYTES) {
            info->open[at] = ll_wire_text(field.bytes, file->arena);
            if (!info->open[at])
                return no_memory(file);
        }
    }
    return step == LL_WIRE_END;
}

static bool read_dims(struct onnx_file *file, struct ll_wire bytes, struct onnx_info *info)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    info->known = true;
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD)
        if (field.number == SHAPE_DIM && field.type == LL_WIRE_BYTES && !read_dim(file, field.bytes, info))
            return false;
    return step == LL_WIRE_END;
}

static bool read_tensor_type(struct onnx_file *file, struct ll_wire bytes, struct onnx_info *info)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    info->shape.dtype = LL_DTYPE_COUNT;
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.number == TENSOR_TYPE_ELEMENT)
            info->shape.dtype = onnx_dtype((int64_t)field.value), info->text = field.value == 8;
        else if (field.number == TENSOR_TYPE_SHAPE && field.type == LL_WIRE_BYTES &&
                 !read_dims(file, field.bytes, info))
            return false;
    }
    info->known &= info->shape.dtype != LL_DTYPE_COUNT && ll_fits(ll_size_bytes(&info->shape));
    return step == LL_WIRE_END;
}

/* A tensor's type, a list of such, or what may be of such a type or not there. */
static bool read_type(struct onnx_file *file, struct ll_wire bytes, unsigned depth, struct onnx_info *info)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.number == TYPE_TENSOR && field.type == LL_WIRE_BYTES &&
            !read_tensor_type(file, field.bytes, info))
            return false;
        if ((field.number != TYPE_LIST && field.number != TYPE_OPTIONAL) || field.type != LL_WIRE_BYTES)
            continue;
        info->list |= field.number == TYPE_LIST;
        struct ll_wire inner = field.bytes; /* whose field 1 is a type again */
        if (depth < MOST_TYPES && ll_wire_next(&inner, &field) == LL_WIRE_FIELD &&
            field.type == LL_WIRE_BYTES && !read_type(file, field.bytes, depth + 1, info))
            return false;
    }
    return step == LL_WIRE_END;
}

static bool read_info(struct onnx_file *file, struct ll_wire bytes, struct onnx_info *info)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    info->value = LL_NO_ID;
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.number == INFO_NAME && field.type == LL_WIRE_BYTES)
            info->value = name_value(file, field.bytes);
        else if (field.number == INFO_TYPE && field.type == LL_WIRE_BYTES &&
                 !read_type(file, field.bytes, 0, info))
            return false;
    }
    return step == LL_WIRE_END;
}

static bool read_node_field(struct onnx_file *file, const struct ll_wire_field *field, struct onnx_node *node,
                            uint32_t *inputs, uint32_t *outputs)
{
    const char **text = field->number == NODE_NAME       ? &node->name
                        : field->number == NODE_TYPE     ? &node->type
                        : field->number == NODE_DOMAIN   ? &node->domain
                        : field->number == NODE_OVERLOAD ? &node->overload
                                                         : NULL;
    if (field->type != LL_WIRE_BYTES)
        return true;
    if (text && !(*text = ll_wire_text(field->bytes, file->arena)))
        return no_memory(file);
    if (field->number == NODE_INPUT)
        inputs[node->input_count++] = name_value(file, field->bytes);
    if (field->number == NODE_OUTPUT)
        outputs[node->output_count++] = name_value(file, field->bytes);
    return true;
}

/* A node: its texts, and the values that it reads and makes by number. The keys are walked over twice, at
 * first to count, so that each list is allocated once. In the body of a function the name begins with that
 * of the caller. */
static bool read_node(struct onnx_file *file, struct ll_wire bytes, uint64_t number, struct onnx_node *node)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    uint64_t input_count, output_count;
    *node = (struct onnx_node){.type = "",
                               .domain = "",
                               .name = "",
                               .overload = "",
                               .number = number,
                               .call = file->call,
                               .body = bytes};
    if (!count_fields(bytes, NODE_INPUT, &input_count) || !count_fields(bytes, NODE_OUTPUT, &output_count))
        return broken(file, "a node is broken");
    uint32_t *inputs = ll_alloc(file->arena, input_count + 1, sizeof *inputs);
    uint32_t *outputs = ll_alloc(file->arena, output_count + 1, sizeof *outputs);
    if (!inputs || !outputs)
        return no_memory(file);
    node->inputs = inputs;
    node->outputs = outputs;
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD)
        if (!read_node_field(file, &field, node, inputs, outputs))
            return false;
    const char *caller = file->call ? file->call->node->name : "";
    if (*caller)
        node->name = ll_format(file->arena, "%.200s%s%.200s", caller, *node->name ? "/" : "", node->name);
    return node->name || no_memory(file);
}

/* Lists were allocated by a count of these very fields (onnx_graph_read), so no index is checked here. */
static bool read_graph_field(struct onnx_file *file, const struct ll_wire_field *field,
                             struct onnx_graph *graph)
{
    switch (field->number) {
    case GRAPH_NODE:
        graph->node_count++;
        return read_node(file, field->bytes, graph->node_count - 1, &graph->nodes[graph->node_count - 1]);
    case GRAPH_NAME:
        graph->name = ll_wire_text(field->bytes, file->arena);
        return graph->name || no_memory(file);
    case GRAPH_TENSOR:
        return onnx_tensor_read(file, field->bytes, &graph->tensors[graph->tensor_count++]) ||
               broken(file, "an initializer is broken");
    case GRAPH_INPUT:
        return read_info(file, field->bytes, &graph->inputs[graph->input_count++]) ||
               broken(file, "an input is broken");
    case GRAPH_OUTPUT:
        return read_info(file, field->bytes, &graph->outputs[graph->output_count++]) ||
               broken(file, "an output is broken");
    case GRAPH_INFO:
        return read_info(file, field->bytes, &graph->infos[graph->info_count++]) ||
               broken(file, "what is said about a value is broken");
    default:
        return true;
    }
}

/* Room for so many of them as the graph has. */
static bool make_room(struct onnx_file *file, struct ll_wire bytes, struct onnx_graph *graph)
{
    uint64_t nodes, tensors, inputs, outputs, infos;
    if (!count_fields(bytes, GRAPH_NODE, &nodes) || !count_fields(bytes, GRAPH_TENSOR, &tensors) ||
        !count_fields(bytes, GRAPH_INPUT, &inputs) || !count_fields(bytes, GRAPH_OUTPUT, &outputs) ||
        !count_fields(bytes, GRAPH_INFO, &infos))
        return broken(file, "the graph is broken");
    graph->nodes = ll_alloc(file->arena, nodes, sizeof *graph->nodes);
    graph->tensors = ll_alloc(file->arena, tensors, sizeof *graph->tensors);
    graph->inputs = ll_alloc(file->arena, inputs, sizeof *graph->inputs);
    graph->outputs = ll_alloc(file->arena, outputs, sizeof *graph->outputs);
    graph->infos = ll_alloc(file->arena, infos, sizeof *graph->infos);
    return (graph->nodes && graph->tensors && graph->inputs && graph->outputs && graph->infos) ||
           no_memory(file);
}

/* The order of nodes. Files should have each behind those whose values it reads; where one has not, nodes are
 * put in order, each as early as it may stand and otherwise as they stood. */

/* What is read of other nodes: of the node itself and of graphs within it. */
struct order {
    struct onnx_file *file;
    const struct onnx_graph *graph;
    uint32_t *maker; /* by value: 1 + the node that makes it; 0: none */
    uint64_t value_count;
    uint8_t *state; /* by node: 0 not yet, 1 at work, 2 placed */
    struct onnx_node *placed;
    uint64_t placed_count;
};

enum { MOST_GRAPHS = 16 }; /* within each other */

static bool place_node(struct order *order, uint64_t number, unsigned depth);

static bool place_maker(struct order *order, uint32_t value, unsigned depth)
{
    uint32_t maker = value < order->value_count ? order->maker[value] : 0;
    return maker == 0 || place_node(order, maker - 1, depth);
}

/* Nodes of a graph within a node may read values of the graph around it. */
static bool place_makers_within(struct order *order, struct ll_wire graph, unsigned graphs, unsigned depth)
{
    struct ll_wire_field node, field;
    while (ll_wire_next(&graph, &node) == LL_WIRE_FIELD) {
        struct ll_wire body = node.bytes;
        if (node.number != GRAPH_NODE || node.type != LL_WIRE_BYTES)
            continue;
        while (ll_wire_next(&body, &field) == LL_WIRE_FIELD) {
            struct ll_wire attr = field.bytes;
            if (field.type != LL_WIRE_BYTES)
                continue;
            if (field.number == NODE_INPUT) {
                size_t size = (size_t)(field.bytes.end - field.bytes.at);
                uint32_t value = ll_map_find(&order->file->names, field.bytes.at, size);
                if (value != LL_NO_ID && !place_maker(order, value, depth))
                    return false;
            }
            struct ll_wire_field part;
            while (field.number == NODE_ATTR && graphs < MOST_GRAPHS &&
                   ll_wire_next(&attr, &part) == LL_WIRE_FIELD)
                if (part.number == ATTR_G && part.type == LL_WIRE_BYTES &&
                    !place_makers_within(order, part.bytes, graphs + 1, depth))
                    return false;
        }
    }
    return true;
}

/* Those that it reads first; false when it reads what it makes, or the chain of unsorted nodes is too long.
 */
static bool place_node(struct order *order, uint64_t number, unsigned depth)
{
    enum { LONGEST = 5000 };
    const struct onnx_node *node = &order->graph->nodes[number];
    struct ll_wire body = node->body, attr;
    struct ll_wire_field field, part;
    if (order->state[number] != 0)
        return order->state[number] == 2;
    if (depth == LONGEST)
        return false;
    order->state[number] = 1;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != LL_NO_ID && !place_maker(order, node->inputs[i], depth + 1))
            return false;
    while (!order->file->call &&
           ll_wire_next(&body, &field) == LL_WIRE_FIELD) { /* names of calls are others */
        attr = field.bytes;
        while (field.number == NODE_ATTR && field.type == LL_WIRE_BYTES &&
               ll_wire_next(&attr, &part) == LL_WIRE_FIELD)
            if (part.number == ATTR_G && part.type == LL_WIRE_BYTES &&
                !place_makers_within(order, part.bytes, 0, depth + 1))
                return false;
    }
    order->state[number] = 2;
    order->placed[order->placed_count++] = *node;
    return true;
}

/* Whether each node stands behind those that it reads, as far as its own inputs tell. */
static bool in_order(const struct onnx_graph *graph, uint32_t *maker)
{
    bool sorted = true;
    for (uint64_t n = graph->node_count; n-- > 0;) {
        const struct onnx_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++)
            sorted &= node->inputs[i] == LL_NO_ID || maker[node->inputs[i]] <= n;
    }
    return sorted;
}

/* Nodes that lead in a circle stay as they are: who follows them says so. */
static bool sort_nodes(struct onnx_file *file, struct onnx_graph *graph)
{
    struct order order = {.file = file, .graph = graph, .value_count = file->names.count};
    order.maker = ll_alloc(file->arena, (size_t)order.value_count + 1, sizeof *order.maker);
    if (!order.maker)
        return no_memory(file);
    for (uint64_t n = 0; n < graph->node_count; n++)
        for (uint32_t i = 0; i < graph->nodes[n].output_count; i++)
            if (graph->nodes[n].outputs[i] != LL_NO_ID)
                order.maker[graph->nodes[n].outputs[i]] = (uint32_t)n + 1;
    if (in_order(graph, order.maker))
        return true;
    order.state = ll_alloc(file->arena, graph->node_count, sizeof *order.state);
    order.placed = ll_alloc(file->arena, graph->node_count, sizeof *order.placed);
    if (!order.state || !order.placed)
        return no_memory(file);
    for (uint64_t n = 0; n < graph->node_count; n++)
        if (!place_node(&order, n, 0))
            return true;
    graph->nodes = order.placed;
    return true;
}

/* Counts the fields first, so that each list is allocated once and for all. */
bool onnx_graph_read(struct onnx_file *file, struct ll_wire bytes, struct onnx_graph *graph)
{
    struct ll_wire_field field;
    *graph = (struct onnx_graph){.name = ""};
    if (!make_room(file, bytes, graph))
        return false;
    while (ll_wire_next(&bytes, &field) == LL_WIRE_FIELD)
        if (field.type == LL_WIRE_BYTES && !read_graph_field(file, &field, graph))
            return false;
    return sort_nodes(file, graph);
}

static const char *domain_name(const char *domain)
{
    return *domain ? domain : "ai.onnx";
}

/* One more of a list that has room. */
static bool read_opset(struct onnx_file *file, struct ll_wire bytes, struct onnx_opsets *opsets)
{
    struct onnx_opset *opset = &opsets->items[opsets->count++];
    struct ll_wire_field field;
    enum ll_wire_step step;
    *opset = (struct onnx_opset){.domain = domain_name("")};
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.number == OPSET_DOMAIN && field.type == LL_WIRE_BYTES) {
            const char *domain = ll_wire_text(field.bytes, file->arena);
            if (!domain)
                return no_memory(file);
            opset->domain = domain_name(domain);
        } else if (field.number == OPSET_VERSION) {
            opset->version = field.value < 1000 ? (int64_t)field.value : 1000;
        }
    }
    return step == LL_WIRE_END || broken(file, "the version of the operators is broken");
}

/* Room for as many versions as a message has fields of this number. */
static bool room_for_opsets(struct onnx_file *file, struct ll_wire bytes, uint64_t number,
                            struct onnx_opsets *opsets)
{
    uint64_t count;
    if (!count_fields(bytes, number, &count))
        return true; /* said where the message is read */
    opsets->items = ll_alloc(file->arena, count + 1, sizeof *opsets->items);
    return opsets->items || no_memory(file);
}

/* A function of the model: the names of its inputs and outputs and its versions. Its body is read anew for
 * each call, because its values have other names in each. */
static bool read_function(struct onnx_file *file, struct ll_wire bytes, struct onnx_function *f)
{
    struct ll_wire_field field;
    uint64_t inputs, outputs;
    *f = (struct onnx_function){.domain = "", .name = "", .overload = "", .body = bytes};
    if (!count_fields(bytes, FUNCTION_INPUT, &inputs) || !count_fields(bytes, FUNCTION_OUTPUT, &outputs))
        return broken(file, "a function is broken");
    f->inputs = ll_alloc(file->arena, inputs + 1, sizeof *f->inputs);
    f->outputs = ll_alloc(file->arena, outputs + 1, sizeof *f->outputs);
    if (!f->inputs || !f->outputs)
        return no_memory(file);
    if (!room_for_opsets(file, bytes, FUNCTION_OPSET, &f->opsets))
        return false;
    while (ll_wire_next(&bytes, &field) == LL_WIRE_FIELD) {
        const char **text = field.number == FUNCTION_NAME       ? &f->name
                            : field.number == FUNCTION_DOMAIN   ? &f->domain
                            : field.number == FUNCTION_OVERLOAD ? &f->overload
                                                                : NULL;
        if (field.type != LL_WIRE_BYTES)
            continue;
        if (text && !(*text = ll_wire_text(field.bytes, file->arena)))
            return no_memory(file);
        if (field.number == FUNCTION_INPUT)
            f->inputs[f->input_count++] = field.bytes;
        if (field.number == FUNCTION_OUTPUT)
            f->outputs[f->output_count++] = field.bytes;
        if (field.number == FUNCTION_OPSET && !read_opset(file, field.bytes, &f->opsets))
            return false;
    }
    return true;
}

/* Reads the body with the caller's values in place of the function's inputs and outputs; all other names get
 * the number of the call before them, so that two calls share nothing. */
bool onnx_function_read(struct onnx_file *file, const struct onnx_call *call, struct onnx_graph *graph)
{
    const struct onnx_call *before = file->call;
    struct ll_wire bytes = call->function->body;
    struct ll_wire_field field;
    uint64_t nodes;
    *graph = (struct onnx_graph){.name = call->function->name};
    if (!count_fields(bytes, FUNCTION_NODE, &nodes))
        return broken(file, "a function is broken");
    graph->nodes = ll_alloc(file->arena, nodes + 1, sizeof *graph->nodes);
    bool right = graph->nodes || no_memory(file);
    file->call = call;
    while (right && ll_wire_next(&bytes, &field) == LL_WIRE_FIELD)
        if (field.number == FUNCTION_NODE && field.type == LL_WIRE_BYTES) {
            right = read_node(file, field.bytes, graph->node_count, &graph->nodes[graph->node_count]);
            graph->node_count++;
        }
    right = right && sort_nodes(file, graph);
    file->call = before;
    return right;
}

struct onnx_function *onnx_function_of(const struct onnx_file *file, const struct onnx_node *node)
{
    for (uint64_t i = 0; i < file->function_count; i++) {
        struct onnx_function *f = &file->functions[i];
        if (strcmp(f->name, node->type) == 0 &&
            strcmp(domain_name(f->domain), domain_name(node->domain)) == 0 &&
            strcmp(f->overload, node->overload) == 0)
            return f;
    }
    return NULL;
}

bool onnx_is_passed_on(const struct onnx_function *function, uint64_t output, uint64_t input)
{
    return is_same(function->outputs[output], function->inputs[input]);
}

static int64_t version_in(const struct onnx_opsets *opsets, const char *domain)
{
    for (uint64_t i = 0; i < opsets->count; i++)
        if (strcmp(opsets->items[i].domain, domain) == 0)
            return opsets->items[i].version;
    return 0;
}

int64_t onnx_version(const struct onnx_file *file, const struct onnx_node *node, const char *domain)
{
    int64_t version = node->call ? version_in(&node->call->function->opsets, domain_name(domain)) : 0;
    return version ? version : version_in(&file->opsets, domain_name(domain));
}

/* The fields of a ModelProto that matter here. Fields of unknown numbers are passed over, as protocol
 * buffers ask for; a second graph is refused. */
bool onnx_file_read(struct onnx_file *file, struct ll_wire bytes)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    file->producer = "";
    uint64_t functions = 0;
    if (count_fields(bytes, MODEL_FUNCTION, &functions))
        file->functions = ll_alloc(file->arena, functions + 1, sizeof *file->functions);
    if (!room_for_opsets(file, bytes, MODEL_OPSET, &file->opsets) || (functions > 0 && !file->functions))
        return no_memory(file);
    while ((step = ll_wire_next(&bytes, &field)) == LL_WIRE_FIELD) {
        if (field.type != LL_WIRE_BYTES)
            continue;
        if (field.number == MODEL_PRODUCER && !(file->producer = ll_wire_text(field.bytes, file->arena)))
            return no_memory(file);
        if (field.number == MODEL_OPSET && file->opsets.items &&
            !read_opset(file, field.bytes, &file->opsets))
            return false;
        if (field.number == MODEL_FUNCTION && functions > 0 &&
            !read_function(file, field.bytes, &file->functions[file->function_count++]))
            return false;
        if (field.number == MODEL_GRAPH && file->graph.nodes)
            return broken(file, "the model has more than one graph");
        if (field.number == MODEL_GRAPH && !onnx_graph_read(file, field.bytes, &file->graph))
            return false;
    }
    if (step == LL_WIRE_BROKEN)
        return broken(file, "this is not an ONNX model, or it ends too early");
    file->opset = version_in(&file->opsets, domain_name(""));
    return file->graph.nodes || broken(file, "this is not an ONNX model: there is no graph in it");
}

void onnx_file_release(struct onnx_file *file)
{
    ll_map_release(&file->names);
}

/* One AttributeProto, if it has this name. The fields may come in any order, so all are taken before the
 * name decides. */
static bool read_attr(struct ll_wire bytes, struct ll_wire name, struct onnx_attr *attr)
{
    struct ll_wire_field field;
    bool named = false;
    *attr = (struct onnx_attr){.body = bytes};
    while (ll_wire_next(&bytes, &field) == LL_WIRE_FIELD) {
        if (field.number == ATTR_NAME)
            named =
                field.type == LL_WIRE_BYTES && field.bytes.at < field.bytes.end && is_same(field.bytes, name);
        else if (field.number == ATTR_F)
            attr->real = (double)ll_wire_float(&field);
        else if (field.number == ATTR_I)
            attr->integer = (int64_t)field.value;
        else if (field.number == ATTR_S)
            attr->text = field.bytes;
        else if (field.number == ATTR_T)
            attr->tensor = field.bytes;
        else if (field.number == ATTR_G)
            attr->graph = field.bytes;
        else if (field.number == ATTR_REFERS && field.type == LL_WIRE_BYTES)
            attr->refers = field.bytes;
    }
    return named;
}

static bool find_among(struct ll_wire body, uint64_t number, struct ll_wire name, struct onnx_attr *attr)
{
    struct ll_wire_field field;
    while (ll_wire_next(&body, &field) == LL_WIRE_FIELD)
        if (field.number == number && field.type == LL_WIRE_BYTES && read_attr(field.bytes, name, attr))
            return true;
    return false;
}

bool onnx_attr_find(const struct onnx_node *node, const char *name, struct onnx_attr *attr)
{
    struct ll_wire wanted = {(const uint8_t *)name, (const uint8_t *)name + strlen(name)};
    while (find_among(node->body, NODE_ATTR, wanted, attr)) {
        if (!attr->refers.at)
            return true;
        if (!node->call)
            return false;
        wanted = attr->refers;
        const struct onnx_function *function = node->call->function;
        node = node->call->node;
        struct onnx_attr given;
        if (!find_among(node->body, NODE_ATTR, wanted, &given))
            return find_among(function->body, FUNCTION_ATTR, wanted, attr);
    }
    return false;
}

uint64_t onnx_attr_integers(const struct onnx_attr *attr, int64_t *values, uint64_t most)
{
    struct ll_wire body = attr->body;
    struct ll_wire_field field;
    uint64_t total = 0, count;
    while (ll_wire_next(&body, &field) == LL_WIRE_FIELD)
        if (field.number == ATTR_INTS && ll_wire_count(&field, &count)) {
            if (total < most)
                ll_wire_integers(&field, values + total, most - total);
            total += count;
        }
    return total;
}

/* Four bytes each, packed or alone. */
uint64_t onnx_attr_reals(const struct onnx_attr *attr, double *values, uint64_t most)
{
    struct ll_wire body = attr->body;
    struct ll_wire_field field;
    uint64_t total = 0;
    while (ll_wire_next(&body, &field) == LL_WIRE_FIELD) {
        if (field.number != ATTR_FLOATS)
            continue;
        struct ll_wire_field one = field;
        if (field.type == LL_WIRE_FIXED32 && total++ < most)
            values[total - 1] = (double)ll_wire_float(&field);
        for (const uint8_t *at = field.bytes.at; field.type == LL_WIRE_BYTES && field.bytes.end - at >= 4;
             at += 4) {
            one.value = at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
            if (total++ < most)
                values[total - 1] = (double)ll_wire_float(&one);
        }
    }
    return total;
}

/* The half and the short float whose bits these are. */
static double half(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023);
    double value = exponent == 31  ? (fraction > 0 ? (double)NAN : (double)INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 & 1 ? -value : value;
}

static double short_float(uint64_t bits)
{
    const struct ll_wire_field field = {.value = bits << 16};
    return (double)ll_wire_float(&field);
}

/* What an element of this type is worth, by its bits. */
static double number_of(enum ll_dtype dtype, uint64_t bits)
{
    const struct ll_wire_field field = {.value = bits};
    switch (dtype) {
    case LL_F64:
        return ll_wire_double(&field);
    case LL_F32:
        return (double)ll_wire_float(&field);
    case LL_F16:
        return half(bits);
    case LL_BF16:
        return short_float(bits);
    case LL_I64:
        return (double)(int64_t)bits;
    case LL_I32:
        return (double)(int32_t)bits;
    case LL_I16:
        return (double)(int16_t)bits;
    case LL_INT8:
        return (double)(int8_t)bits;
    default:
        return (double)(uint8_t)bits;
    }
}

static bool read_fixed_elements(const struct onnx_tensor *tensor, double *numbers, uint64_t count)
{
    enum ll_dtype dtype = (enum ll_dtype)tensor->shape.dtype;
    uint64_t width = ll_dtype_bytes(dtype);
    const uint8_t *at = tensor->raw.at;
    if ((uint64_t)(tensor->raw.end - at) / width < count)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        for (uint64_t byte = 0; byte < width; byte++)
            bits |= (uint64_t)*at++ << 8 * byte;
        numbers[i] = number_of(dtype, bits);
    }
    return true;
}

static bool read_varint_elements(const struct onnx_tensor *tensor, double *numbers, uint64_t count)
{
    struct ll_wire packed = tensor->raw;
    uint64_t bits;
    for (uint64_t i = 0; i < count; i++) {
        if (!ll_wire_varint(&packed, &bits))
            return false;
        numbers[i] = number_of((enum ll_dtype)tensor->shape.dtype, bits);
    }
    return true;
}

bool onnx_tensor_numbers(const struct onnx_tensor *tensor, double *numbers, uint64_t most)
{
    uint64_t count = ll_elements(&tensor->shape);
    uint64_t field = tensor->data_field;
    bool packed = ll_dtype_bits((enum ll_dtype)tensor->shape.dtype) < 8; /* several in a byte: nobody asks */
    if (!tensor->supported || field == 0 || count > most || packed)
        return false;
    if (field == TENSOR_RAW || field == TENSOR_FLOATS || field == TENSOR_DOUBLES)
        return read_fixed_elements(tensor, numbers, count);
    return read_varint_elements(tensor, numbers, count);
}

static bool read_all(int file, uint64_t offset, uint64_t size, uint8_t *bytes)
{
    struct stat stat;
    bool there = fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && (uint64_t)stat.st_size >= offset &&
                 (uint64_t)stat.st_size - offset >= size;
    for (uint64_t done = 0; there && done < size;) {
        ssize_t got = pread(file, bytes + done, size - done, (off_t)(offset + done));
        there = got > 0;
        done += there ? (uint64_t)got : 0;
    }
    return there;
}

/* Reads so many bytes, from there on, of the regular file of this name that lies in the folder of `beside`;
 * a name that leads elsewhere is no such file. False when not all of them can be read. */
static bool input_part(const char *beside, const char *name, uint64_t offset, uint64_t size, uint8_t *bytes)
{
    char path[4096];
    size_t folder = (size_t)(ll_base_name(beside) - beside), length = strlen(name);
    if (length == 0 || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        folder >= sizeof path || length >= sizeof path - folder)
        return false;
    memcpy(path, beside, folder);
    memcpy(path + folder, name, length + 1);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    bool read = read_all(file, offset, size, bytes);
    close(file);
    return read;
}

/* Only a file beside the model is opened, never a path that leads elsewhere: models come from anybody. */
bool onnx_external_numbers(const struct onnx_file *file, const struct onnx_tensor *tensor, double *numbers,
                           uint64_t most)
{
    struct onnx_tensor here = *tensor;
    uint64_t size = ll_size_bytes(&tensor->shape);
    if (!tensor->location.at || !tensor->supported || ll_elements(&tensor->shape) > most ||
        !ll_fits(tensor->offset))
        return false;
    const char *name = ll_wire_text(tensor->location, file->arena);
    uint8_t *bytes = ll_alloc(file->arena, size + 1, 1);
    if (!name || !bytes || !input_part(file->path, name, tensor->offset, size, bytes))
        return false;
    here.raw = (struct ll_wire){bytes, bytes + size};
    here.data_field = TENSOR_RAW;
    return onnx_tensor_numbers(&here, numbers, most);
}
