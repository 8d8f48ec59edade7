/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that torch.export has written: the JSON of an archive's models/NAME.json, or the archive (.pt2), a
 * ZIP that stores it as it is (pytorch, torch/_export/serde/schema.yaml, version 8).
 *
 *   {"graph_module": {"graph": {"inputs": [arg], "nodes": [{"target", "inputs": [{"name", "arg", "kind"}],
 *    "outputs": [arg]}], "tensor_values": {NAME: {"dtype", "sizes": [{"as_int"} or {"as_expr": {"expr_str",
 *    "hint": {"as_int"}}}], ...}}}, "signature": {...}}, "schema_version": {"major", "minor"}, ...}
 *
 * where an arg is an object of one key that says what it is: as_tensor, as_ints, as_float, ... Nodes become
 * those of an execution graph, with a storage for each tensor, but one for a tensor and its views. Operators
 * that others are made of have rows in aten.def; those that stand for one of them are renamed here. */
#define _GNU_SOURCE /* memmem */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/torch/torch.h"

enum { MAJOR = 8, MOST_ARGS = 64, MOST_NAME = 256 };

/* What a tensor's name means. */
struct named {
    struct ll_torch_tensor tensor;
    bool known;  /* its shape */
    uint64_t of; /* 1 + the tensor that it is a view of; 0: none */
};

struct program {
    struct ll_import *import;
    struct ll_torch_nodes *nodes;
    struct ll_map names; /* of tensors */
    struct named *tensors;
    uint64_t tensor_room;
};

static struct ll_json_reader reader_of(struct program *p, const char *begin, const char *end)
{
    return (struct ll_json_reader){.file = p->import->inputs[0].path,
                                   .begin = begin,
                                   .at = begin,
                                   .end = end,
                                   .diags = p->import->diags};
}

/* The tensor of the name that was read last; NULL when memory ran out. */
static struct named *find(struct program *p, const struct ll_json_reader *json)
{
    bool is_new = false;
    uint32_t id = ll_map_intern(&p->names, json->text, json->length, &is_new);
    if (id == LL_NO_ID || !ll_grow(&p->tensors, &p->tensor_room, (uint64_t)id + 1, sizeof *p->tensors)) {
        ll_import_no_memory(p->import);
        return NULL;
    }
    if (is_new)
        p->tensors[id] = (struct named){0};
    struct named *named = &p->tensors[id];
    named->tensor.id = (uint64_t)id + 1;
    named->tensor.storage = named->of ? named->of : (uint64_t)id + 1;
    return named;
}

/* The type of elements with this number (ScalarType of the schema); 64-bit integers count as i32. */
static uint8_t dtype_of(int64_t number)
{
    static const uint8_t dtypes[] = {LL_DTYPE_COUNT, LL_U8,  LL_INT8, LL_I16, LL_I32,  LL_I32,  LL_F16,
                                     LL_F32,         LL_F64, LL_C64,  LL_C64, LL_C128, LL_BOOL, LL_BF16};
    if (number >= 29 && number <= 32)
        return LL_F8;
    if (number == 28)
        return LL_I16;
    return number > 0 && number < (int64_t)sizeof dtypes ? dtypes[number] : LL_DTYPE_COUNT;
}

/* A size: a number, or a symbol that the user gives a value or the file a hint. The reader stands at the
 * beginning of the object. */
static bool read_size(struct program *p, struct ll_json_reader *json, uint64_t *size)
{
    const char *symbol = NULL;
    int64_t hint = -1;
    unsigned inside = json->depth;
    while (ll_json_read(json) != LL_JSON_END && json->depth >= inside) {
        if (json->token != LL_JSON_KEY)
            continue;
        if (ll_json_says(json, "expr_str") && ll_json_read(json) == LL_JSON_TEXT)
            symbol = ll_json_copy(json, &p->import->arena);
        else if (ll_json_says(json, "as_int") && ll_json_read(json) == LL_JSON_NUMBER)
            hint = ll_json_as_integer(json);
    }
    uint64_t given = 0;
    if (json->failed || (symbol && *symbol && !ll_import_count(p->import, symbol, 1, UINT32_MAX, 0, &given)))
        return false;
    *size = given ? given : hint >= 0 ? (uint64_t)hint : 0;
    return given || hint >= 0 ||
           ll_complain(json->diags, ll_json_place(json), "a size is open; say -p %.100s=SIZE",
                       symbol ? symbol : "?");
}

/* One tensor of tensor_values; the reader stands at the beginning of its object. */
static bool read_tensor(struct program *p, struct ll_json_reader *json, struct named *named)
{
    struct ll_shape shape = {.dtype = LL_DTYPE_COUNT};
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (ll_json_says(json, "dtype")) {
            ll_json_read(json);
            shape.dtype = dtype_of(ll_json_as_integer(json));
            ll_json_pass(json);
        } else if (ll_json_says(json, "sizes")) {
            if (ll_json_read(json) != LL_JSON_LIST)
                return ll_json_expected(json, "a list of sizes");
            while (ll_json_read(json) == LL_JSON_OBJECT) {
                if (shape.rank == LL_MAX_RANK)
                    return ll_json_expected(json, "at most eight dimensions");
                if (!read_size(p, json, &shape.dim[shape.rank++]))
                    return false;
            }
        } else {
            ll_json_pass(json);
        }
    }
    if (json->failed)
        return false;
    if (shape.dtype == LL_DTYPE_COUNT || !ll_fits(ll_size_bytes(&shape)))
        return ll_json_expected(json, "a tensor of a type that is known here, whose size fits in 64 bits");
    named->tensor.shape = shape;
    named->known = true;
    return true;
}

/* All of tensor_values; pointers to tensors change on the way. */
static bool read_tensors(struct program *p, struct ll_json_reader *json)
{
    if (ll_json_read(json) != LL_JSON_OBJECT)
        return ll_json_expected(json, "an object of tensors");
    while (ll_json_read(json) == LL_JSON_KEY) {
        struct named *named = find(p, json);
        if (!named)
            return false;
        if (ll_json_read(json) != LL_JSON_OBJECT)
            return ll_json_expected(json, "a tensor");
        if (!read_tensor(p, json, named))
            return false;
    }
    return !json->failed;
}

/* Arguments of a node as they are read. */
struct arguments {
    struct ll_torch_value at[MOST_ARGS];
    uint32_t count;
};

/* A tensor by the object of its name, {"name": NAME}. */
static bool read_name(struct program *p, struct ll_json_reader *json, struct ll_torch_tensor *tensor)
{
    *tensor = (struct ll_torch_tensor){.absent = true};
    if (json->token != LL_JSON_OBJECT) {
        ll_json_pass(json);
        return !json->failed;
    }
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (!ll_json_says(json, "name")) {
            ll_json_pass(json);
            continue;
        }
        if (ll_json_read(json) != LL_JSON_TEXT)
            return ll_json_expected(json, "a name in quotes");
        struct named *named = find(p, json);
        if (!named)
            return false;
        if (!named->known)
            return ll_json_expected(json, "a tensor that tensor_values describes");
        *tensor = named->tensor;
    }
    return !json->failed;
}

static bool tensors_in(struct program *p, struct ll_json_reader *json, bool list,
                       struct ll_torch_value *value)
{
    struct ll_torch_tensor *tensors = ll_alloc(&p->import->arena, MOST_ARGS, sizeof *tensors);
    if (!tensors)
        return ll_import_no_memory(p->import);
    *value = (struct ll_torch_value){.kind = LL_TORCH_TENSORS, .list = list, .tensors = tensors};
    ll_json_read(json);
    if (!list) {
        value->count = 1;
        return read_name(p, json, tensors);
    }
    if (json->token != LL_JSON_LIST)
        return ll_json_expected(json, "a list of tensors");
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        if (value->count == MOST_ARGS) /* room grows by copies: lists of weights are short */
            return ll_json_expected(json, "a list of at most 64 tensors");
        struct ll_torch_tensor *to = &tensors[value->count++];
        /* an optional one is {"as_tensor": {"name"}} or {"as_none": true} */
        struct ll_json_reader before = *json;
        if (ll_json_read(json) == LL_JSON_KEY && ll_json_says(json, "as_tensor")) {
            ll_json_read(json);
            if (!read_name(p, json, to) || ll_json_read(json) != LL_JSON_OBJECT_END)
                return false;
        } else if (ll_json_says(json, "as_none")) {
            *to = (struct ll_torch_tensor){.absent = true};
            ll_json_pass(json);
            ll_json_read(json);
        } else {
            *json = before;
            if (!read_name(p, json, to))
                return false;
        }
    }
    return !json->failed;
}

/* A number that a symbol stands for ({"as_int"}, {"as_name"}), or plain; others are none. */
static double number_in(struct ll_json_reader *json)
{
    double number = json->token == LL_JSON_TRUE ? 1 : ll_json_as_real(json);
    if (json->token != LL_JSON_OBJECT) {
        ll_json_pass(json);
        return number;
    }
    unsigned inside = json->depth;
    while (ll_json_read(json) != LL_JSON_END && json->depth >= inside)
        if (json->token == LL_JSON_NUMBER)
            number = ll_json_as_real(json);
    return number;
}

static bool numbers_in(struct program *p, struct ll_json_reader *json, struct ll_torch_value *value)
{
    double *numbers = ll_alloc(&p->import->arena, MOST_ARGS, sizeof *numbers);
    if (!numbers)
        return ll_import_no_memory(p->import);
    *value = (struct ll_torch_value){.kind = LL_TORCH_NUMBERS, .numbers = numbers};
    if (ll_json_read(json) != LL_JSON_LIST) {
        numbers[value->count++] = number_in(json);
        return !json->failed;
    }
    value->list = true;
    while (ll_json_read(json) != LL_JSON_LIST_END && !json->failed)
        if (value->count < MOST_ARGS)
            numbers[value->count++] = number_in(json);
        else
            ll_json_pass(json);
    return !json->failed;
}

/* One argument: the object of one key. The reader stands at its beginning. */
static bool read_arg(struct program *p, struct ll_json_reader *json, struct ll_torch_value *value)
{
    static const char *const numbers[] = {"as_int",       "as_ints",     "as_float",      "as_floats",
                                          "as_bool",      "as_bools",    "as_sym_int",    "as_sym_ints",
                                          "as_sym_float", "as_sym_bool", "as_sym_floats", "as_sym_bools"};
    bool right = true;
    *value = (struct ll_torch_value){.kind = LL_TORCH_NONE};
    if (json->token != LL_JSON_OBJECT)
        return ll_json_expected(json, "an argument: an object whose key says what it is");
    while (right && ll_json_read(json) == LL_JSON_KEY) {
        bool is_number = false;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            is_number |= ll_json_says(json, numbers[i]);
        if (ll_json_says(json, "as_tensor") || ll_json_says(json, "as_optional_tensor"))
            right = tensors_in(p, json, false, value);
        else if (ll_json_says(json, "as_tensors") || ll_json_says(json, "as_optional_tensors"))
            right = tensors_in(p, json, true, value);
        else if (is_number)
            right = numbers_in(p, json, value);
        else if (ll_json_says(json, "as_graph"))
            return ll_json_expected(json, "a node without control flow");
        else
            ll_json_pass(json);
    }
    return right && !json->failed;
}

/* Arguments that are given by name, where the place that an operator has for them is another than the next.
 */
static uint32_t place_of(const char *operator, const struct ll_json_reader * name, uint32_t next)
{
    static const struct {
        const char *operator, * name;
        uint32_t place;
    } places[] = {{"aten::scaled_dot_product_attention", "attn_mask", 3},
                  {"aten::scaled_dot_product_attention", "dropout_p", 4},
                  {"aten::scaled_dot_product_attention", "is_causal", 5},
                  {"aten::scaled_dot_product_attention", "scale", 6}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(operator, places[i].operator) == 0 && ll_json_says(name, places[i].name))
            return places[i].place;
    return next;
}

static bool read_arguments(struct program *p, struct ll_json_reader *json, const char *operator,
                           struct arguments * arguments)
{
    if (ll_json_read(json) != LL_JSON_LIST)
        return ll_json_expected(json, "a list of arguments");
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        uint32_t at = arguments->count;
        while (ll_json_read(json) == LL_JSON_KEY) {
            if (ll_json_says(json, "name") && ll_json_read(json) == LL_JSON_TEXT) {
                at = place_of(operator, json, arguments->count);
            } else if (ll_json_says(json, "arg")) {
                ll_json_read(json);
                if (at >= MOST_ARGS)
                    return ll_json_expected(json, "at most 64 arguments");
                if (!read_arg(p, json, &arguments->at[at]))
                    return false;
            } else {
                ll_json_pass(json);
            }
        }
        arguments->count = at + 1 > arguments->count ? at + 1 : arguments->count;
    }
    return !json->failed;
}

/* "torch.ops.aten.add.Tensor" as "aten::add.Tensor"; others as they are. NULL when memory ran out. */
static const char *operator_of(struct program *p, const char *target)
{
    static const char aten[] = "torch.ops.aten.";
    if (strncmp(target, aten, sizeof aten - 1) != 0)
        return target;
    const char *name = target + sizeof aten - 1, *overload = strrchr(name, '.');
    return ll_format(&p->import->arena, "aten::%.*s", (int)(overload ? overload - name : (long)strlen(name)),
                     name);
}

/* A number as an argument. */
static struct ll_torch_value number_value(struct program *p, double number)
{
    double *numbers = ll_alloc(&p->import->arena, 1, sizeof *numbers);
    if (numbers)
        *numbers = number;
    return (struct ll_torch_value){.kind = LL_TORCH_NUMBERS, .count = numbers != NULL, .numbers = numbers};
}

/* Operators that call others when they run are whole here: each is the one that does its work, with arguments
 * in that one's order. */
static void rename_operator(struct program *p, struct ll_torch_node *node, struct arguments *a)
{
    static const char *const names[][2] = {
        {"aten::linear", "aten::mkldnn_linear"},
        {"aten::layer_norm", "aten::native_layer_norm"},
        {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention"},
        {"aten::batch_norm", "aten::native_batch_norm"},
        {"aten::_native_batch_norm_legit_no_training", "aten::native_batch_norm"},
        {"aten::max_pool2d", "aten::max_pool2d_with_indices"},
        {"aten::adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d"},
        {"aten::softmax", "aten::_softmax"},
        {"aten::log_softmax", "aten::_log_softmax"},
        {"aten::_unsafe_view", "aten::view"},
        {"aten::flatten", "aten::view"},
        {"aten::contiguous", "aten::clone"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(node->name, names[i][0]) == 0) {
            node->name = names[i][1];
            return;
        }
    if (strncmp(node->name, "aten::conv", 10) == 0 && strlen(node->name) == 12 && a->count <= 7) {
        node->name = "aten::convolution"; /* conv1d, conv2d, conv3d */
        struct ll_torch_value groups = a->count > 6 ? a->at[6] : number_value(p, 1);
        for (uint32_t i = a->count; i < 6; i++)
            a->at[i] = number_value(p, i == 4 ? 0 : 1);
        a->at[6] = number_value(p, 0);
        a->at[7] = number_value(p, 0);
        a->at[8] = groups;
        a->count = 9;
    } else if (strcmp(node->name, "aten::matmul") == 0 && a->count >= 2 &&
               a->at[0].kind == LL_TORCH_TENSORS && a->at[1].kind == LL_TORCH_TENSORS) {
        unsigned left = a->at[0].tensors->shape.rank, right = a->at[1].tensors->shape.rank;
        node->name = left == 2 && right == 2 ? "aten::mm" : right == 1 ? "aten::mv" : "aten::bmm";
    } else if (strcmp(node->name, "aten::group_norm") == 0 && a->count >= 2) {
        const struct arguments before = *a; /* x, groups, w, b -> x, w, b, n, channels, pixels, groups */
        const struct ll_shape *x = before.at[0].tensors ? &before.at[0].tensors->shape : NULL;
        node->name = "aten::native_group_norm";
        a->at[1] = before.count > 2 ? before.at[2] : (struct ll_torch_value){0};
        a->at[2] = before.count > 3 ? before.at[3] : (struct ll_torch_value){0};
        a->at[3] = number_value(p, x && x->rank > 0 ? (double)x->dim[0] : 0);
        a->at[4] = number_value(p, x && x->rank > 1 ? (double)x->dim[1] : 0);
        a->at[5] = number_value(
            p, x && x->rank > 1 ? (double)(ll_elements(x) / ll_max(1, ll_mul(x->dim[0], x->dim[1]))) : 0);
        a->at[6] = before.at[1];
        a->count = 7;
    }
}

/* Results: tensors of one arg each, or of one with several. A view's result is in its argument's storage. */
static bool read_results(struct program *p, struct ll_json_reader *json, struct ll_torch_value *all)
{
    struct ll_torch_tensor *tensors = ll_alloc(&p->import->arena, MOST_ARGS, sizeof *tensors);
    if (!tensors)
        return ll_import_no_memory(p->import);
    *all = (struct ll_torch_value){.kind = LL_TORCH_TENSORS, .tensors = tensors};
    if (ll_json_read(json) != LL_JSON_LIST)
        return ll_json_expected(json, "a list of results");
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        struct ll_torch_value one;
        if (!read_arg(p, json, &one))
            return false;
        for (uint32_t i = 0; one.kind == LL_TORCH_TENSORS && i < one.count; i++) {
            if (all->count == MOST_ARGS)
                return ll_json_expected(json, "at most 64 results");
            tensors[all->count++] = one.tensors[i];
        }
    }
    return !json->failed;
}

/* Makes a view's results parts of what they see. */
static void share(struct program *p, const struct ll_torch_node *node, const struct arguments *a,
                  struct ll_torch_value *results)
{
    const struct ll_aten_row *row = ll_aten_find(node->name);
    if (!row || row->word != LL_ATEN_VIEW || a->count == 0 || a->at[0].kind != LL_TORCH_TENSORS ||
        a->at[0].count == 0)
        return;
    for (uint32_t i = 0; i < results->count; i++) {
        struct ll_torch_tensor *result = &results->tensors[i];
        if (result->absent || result->id == 0)
            continue;
        struct named *named = &p->tensors[result->id - 1];
        named->of = result->storage = named->tensor.storage = a->at[0].tensors[0].storage;
    }
}

static bool read_node(struct program *p, struct ll_json_reader *json)
{
    struct ll_torch_node node = {.sequence = -1, .outputs_known = true};
    struct arguments *a = ll_alloc(&p->import->arena, 1, sizeof *a);
    struct ll_torch_value results = {0};
    const char *target = NULL;
    struct ll_json_reader inputs = {0}, outputs = {0};
    if (!a)
        return ll_import_no_memory(p->import);
    while (ll_json_read(json) == LL_JSON_KEY) { /* in any order: arguments need the operator */
        if (ll_json_says(json, "target") && ll_json_read(json) == LL_JSON_TEXT)
            target = ll_json_copy(json, &p->import->arena);
        else if (ll_json_says(json, "inputs"))
            inputs = *json, ll_json_pass(json);
        else if (ll_json_says(json, "outputs"))
            outputs = *json, ll_json_pass(json);
        else
            ll_json_pass(json);
    }
    if (json->failed)
        return false;
    if (!target || !inputs.begin || !outputs.begin)
        return ll_json_expected(json, "a node with target, inputs and outputs");
    node.name = operator_of(p, target);
    if (!node.name)
        return ll_import_no_memory(p->import);
    if (!read_arguments(p, &inputs, node.name, a) || !read_results(p, &outputs, &results))
        return false;
    rename_operator(p, &node, a);
    share(p, &node, a, &results);
    node.id = p->nodes->count + 1;
    node.inputs = a->at;
    node.input_count = a->count;
    node.outputs = results.tensors;
    node.output_count = results.count;
    if (!ll_grow(&p->nodes->at, &p->nodes->capacity, p->nodes->count + 1, sizeof node))
        return ll_import_no_memory(p->import);
    p->nodes->at[p->nodes->count++] = node;
    return true;
}

/* The value of a key anywhere below what the reader stands before; false when there is none. */
static bool look_for(struct ll_json_reader *json, const char *key)
{
    while (ll_json_read(json) != LL_JSON_END)
        if (json->token == LL_JSON_KEY && ll_json_says(json, key))
            return true;
    return false;
}

/* The version of the schema, of which only the major number must be ours. */
static bool check_version(struct program *p, const char *text, const char *end)
{
    struct ll_json_reader json = reader_of(p, text, end);
    int64_t major = 0;
    if (look_for(&json, "schema_version") && look_for(&json, "major")) {
        ll_json_read(&json);
        major = ll_json_as_integer(&json);
    }
    if (json.failed)
        return false;
    return major == MAJOR ||
           ll_complain(p->import->diags, (struct ll_place){.file = p->import->inputs[0].path},
                       "a program of torch.export whose schema is of version %" PRId64
                       "; version %d is read here",
                       major, (int)MAJOR);
}

/* Tensors come behind the nodes that name them, so they are read first. */
static bool read_program(struct program *p, const char *text, const char *end)
{
    struct ll_json_reader tensors = reader_of(p, text, end), nodes = reader_of(p, text, end);
    if (!check_version(p, text, end))
        return false;
    if (!look_for(&tensors, "tensor_values") || !look_for(&nodes, "nodes"))
        return !tensors.failed && !nodes.failed &&
               ll_complain(p->import->diags, (struct ll_place){.file = p->import->inputs[0].path},
                           "expected a program of torch.export: a graph with nodes and tensor_values");
    if (!read_tensors(p, &tensors))
        return false;
    if (ll_json_read(&nodes) != LL_JSON_LIST)
        return ll_json_expected(&nodes, "a list of nodes");
    while (ll_json_read(&nodes) == LL_JSON_OBJECT)
        if (!read_node(p, &nodes))
            return false;
    return !nodes.failed;
}

static uint64_t little(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* The program within an archive: the first entry models/NAME.json that is stored as it is (APPNOTE.TXT of
 * PKWARE, 4.3.7: a local header is 30 bytes, then a name and an extra field). */
static bool find_in_archive(struct program *p, const struct ll_input_file *file, const char **begin,
                            const char **end)
{
    enum { HEADER = 30, SIGNATURE = 0x04034B50 };
    uint64_t at = 0;
    while (file->size - at >= HEADER && little(file->bytes + at, 4) == SIGNATURE) {
        const uint8_t *header = file->bytes + at;
        uint64_t name = little(header + 26, 2), extra = little(header + 28, 2), size = little(header + 18, 4),
                 data = at + HEADER + name + extra;
        bool streamed = little(header + 6, 2) & 8, stored = little(header + 8, 2) == 0;
        if (data > file->size || size > file->size - data || (streamed && size == 0))
            break;
        const char *text = (const char *)header + HEADER;
        bool program =
            name > 5 && memcmp(text + name - 5, ".json", 5) == 0 &&
            (memmem(text, name, "models/", 7) || memmem(text, name, "serialized_exported_program", 27));
        if (program && stored) {
            *begin = (const char *)file->bytes + data;
            *end = *begin + size;
            return true;
        }
        at = data + size;
    }
    return ll_complain(p->import->diags, (struct ll_place){.file = file->path},
                       "an archive without a program models/NAME.json that is stored as it is");
}

bool ll_import_TORCH_EXPORT(struct ll_import *import)
{
    const struct ll_input_file *file = &import->inputs[0];
    struct ll_torch_nodes nodes = {.at = NULL};
    struct program p = {.import = import, .nodes = &nodes};
    const char *begin = (const char *)file->bytes, *end = begin + file->size;
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one program of torch.export");
    bool archive = file->size > 4 && memcmp(file->bytes, "PK\3\4", 4) == 0;
    bool done = (!archive || find_in_archive(&p, file, &begin, &end)) && read_program(&p, begin, end) &&
                ll_torch_sort(import, &nodes) && ll_torch_record(import, &nodes, LL_TORCH_GRAPH);
    ll_map_release(&p.names);
    free(p.tensors);
    free(nodes.at);
    return done;
}
