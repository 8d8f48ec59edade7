/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's execution graphs: what its storages hold (first section), and the JSON of nodes, tensors and
 * arguments. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/torch/torch.h"

/* What PyTorch's storages hold. */

const char *ll_image_shape(const struct ll_shape *shape, struct ll_shape *image)
{
    assert(shape->rank <= LL_MAX_RANK);
    *image = *shape;
    if (shape->rank == 4) {
        image->dim[1] = shape->dim[2];
        image->dim[2] = shape->dim[3];
        image->dim[3] = shape->dim[1];
        return NULL;
    }
    if (shape->rank != 3)
        return "an image of other than one or two dimensions";
    image->rank = 4;
    image->dim[1] = 1;
    image->dim[2] = shape->dim[2];
    image->dim[3] = shape->dim[1];
    return NULL;
}

struct ll_storage *ll_storage_of(struct ll_aten *call, const struct ll_torch_tensor *tensor)
{
    struct ll_storages *storages = call->storages;
    bool is_new = false;
    uint32_t at = ll_map_intern(&storages->numbers, &tensor->storage, sizeof tensor->storage, &is_new);
    if (at == LL_NO_ID ||
        !ll_grow(&storages->at, &storages->capacity, (uint64_t)at + 1, sizeof *storages->at)) {
        ll_import_no_memory(call->import);
        return NULL;
    }
    struct ll_storage *slot = &storages->at[at];
    if (is_new)
        *slot = (struct ll_storage){.brought = LL_INPUT, .memory = LL_INPUT};
    return slot;
}

static bool same_look(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static const char *name_of(enum ll_memory_class memory)
{
    return memory == LL_INPUT ? "input" : ll_memory_name(memory);
}

struct ll_imported ll_aten_see(struct ll_aten *call, struct ll_imported held, const struct ll_shape *as)
{
    assert(as->rank <= LL_MAX_RANK);
    struct ll_imported seen = {LL_NONE, *as};
    if (same_look(&held.shape, as))
        return held;
    const struct ll_import_op view = {
        .kind = LL_OP_SEEN_AS,
        .in = &held,
        .in_count = 1,
        .given = as,
        .given_count = 1,
    };
    bool timed = call->timed;
    call->timed = true;
    ll_aten_do(call, &view, &seen);
    call->timed = timed;
    return seen;
}

struct ll_imported ll_aten_hold(struct ll_aten *call, const struct ll_torch_tensor *tensor,
                                const struct ll_shape *as)
{
    struct ll_storage *slot = ll_storage_of(call, tensor);
    const struct ll_shape *shape = as ? as : &tensor->shape;
    if (!slot)
        return (struct ll_imported){LL_NONE, *shape};
    if (!slot->live) {
        slot->held = ll_import_tensor(call->import, name_of(slot->brought), shape, slot->brought);
        slot->memory = slot->brought;
        slot->live = true;
        slot->seen_count = 0;
        call->reads_of = slot->got_by ? slot->got_by : call->reads_of;
        slot->got_by = 0;
    }
    if (same_look(&slot->held.shape, shape))
        return slot->held;
    for (uint32_t i = 0; i < slot->seen_count && i < LL_SEEN_KEPT; i++)
        if (same_look(&slot->seen[i].shape, shape))
            return slot->seen[i];
    struct ll_imported seen = ll_aten_see(call, slot->held, shape);
    slot->seen[slot->seen_count++ % LL_SEEN_KEPT] = seen;
    return seen;
}

void ll_aten_give(struct ll_aten *call, const struct ll_torch_tensor *tensor, struct ll_imported held)
{
    struct ll_storage *slot = tensor ? ll_storage_of(call, tensor) : NULL;
    if (!slot)
        return;
    slot->held = held;
    slot->memory = call->memory;
    slot->live = true;
    slot->got_by = 0;
    slot->seen_count = 0;
}

void ll_storages_release(struct ll_storages *storages)
{
    ll_map_release(&storages->numbers);
    free(storages->at);
    *storages = (struct ll_storages){0};
}

/* PyTorch's execution graphs.
 *
 *   1.0.1   {"nodes": [{"name", "id", "parent", "seq_id", "scope", "tid", "inputs", "input_shapes",
 *           "input_types", "outputs", ...}]}
 *   later   {"nodes": [{"name", "id", "ctrl_deps", "inputs": {"values", "shapes", "types"}, "outputs": {...},
 *           "attrs": [{"name": "seq_id", "type", "value"}, ...]}]}
 *
 * A tensor is a list [tensor, storage, offset, elements, bytes of one, device]. Values come before the types
 * that tell what they are, so their places are noted, and read side by side when the node is complete. */

enum { MOST_TYPE = 64 };

/* Names of C++ types as the profiler and the graph observer print them. 64-bit integers count as i32: they
 * are indices, whose values fit. */
enum ll_dtype ll_torch_dtype(const char *name, size_t length)
{
    assert(name || length == 0);
    static const struct {
        const char *name;
        enum ll_dtype dtype;
    } types[] = {{"float", LL_F32},
                 {"double", LL_F64},
                 {"long int", LL_I32},
                 {"long", LL_I32},
                 {"int", LL_I32},
                 {"short int", LL_I16},
                 {"short", LL_I16},
                 {"signed char", LL_INT8},
                 {"unsigned char", LL_U8},
                 {"bool", LL_BOOL},
                 {"c10::Half", LL_F16},
                 {"c10::BFloat16", LL_BF16},
                 {"c10::Float8_e4m3fn", LL_F8},
                 {"c10::Float8_e5m2", LL_F8},
                 {"c10::qint8", LL_INT8},
                 {"c10::quint8", LL_U8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return types[i].dtype;
    return LL_DTYPE_COUNT;
}

/* Where values, shapes and types of a node's arguments or results stand; NULL: nowhere. */
struct places {
    const char *values, *shapes, *types;
};

struct reading {
    struct ll_import *import;
    struct ll_json_reader json;
    struct ll_torch_nodes *nodes;
    struct places inputs, outputs; /* where values, shapes and types of the node at work begin */
    uint64_t nameless;             /* tensors without a storage */
};

/* Another reader that begins with the value at a place that was read already. */
static struct ll_json_reader again(const struct reading *r, const char *at)
{
    return (struct ll_json_reader){
        .file = r->json.file, .begin = r->json.begin, .at = at, .end = r->json.end, .diags = r->json.diags};
}

/* What a type says between its brackets: Tensor(float) -> float. */
static enum ll_dtype dtype_of(const struct ll_json_reader *type, size_t from)
{
    const char *text = type->text + from, *end = type->text + type->length;
    const char *begin = memchr(text, '(', (size_t)(end - text));
    const char *close = begin ? memchr(begin, ')', (size_t)(end - begin)) : NULL;
    return close ? ll_torch_dtype(begin + 1, (size_t)(close - begin - 1)) : LL_DTYPE_COUNT;
}

/* A list of integers; at most `most` are kept. The reader stands at its beginning. */
static unsigned read_integers(struct ll_json_reader *json, int64_t *numbers, unsigned most)
{
    unsigned count = 0;
    if (json->token != LL_JSON_LIST)
        return 0;
    unsigned inside = json->depth;
    while (ll_json_read(json) != LL_JSON_LIST_END && !json->failed) {
        if (json->depth == inside && json->token == LL_JSON_NUMBER && count < most)
            numbers[count] = ll_json_as_integer(json);
        count += json->depth == inside;
        ll_json_pass(json);
    }
    return count;
}

/* A tensor from its list and its shape; both readers stand at their beginnings. */
static bool read_tensor(struct reading *r, struct ll_json_reader *values, struct ll_json_reader *shapes,
                        enum ll_dtype dtype, struct ll_torch_tensor *tensor)
{
    int64_t numbers[2] = {0, 0}, dims[LL_MAX_RANK];
    if (values->token != LL_JSON_LIST || shapes->token != LL_JSON_LIST)
        return ll_json_expected(values,
                                "a tensor: a list of its number, its storage's and so on, and its shape");
    read_integers(values, numbers, 2);
    unsigned rank = read_integers(shapes, dims, LL_MAX_RANK);
    if (rank > LL_MAX_RANK)
        return ll_json_expected(shapes, "a shape of at most eight dimensions");
    *tensor = (struct ll_torch_tensor){.id = (uint64_t)numbers[0], .storage = (uint64_t)numbers[1]};
    if (tensor->storage == 0)
        tensor->storage = UINT64_MAX - r->nameless++;
    tensor->shape.rank = (uint8_t)rank;
    tensor->shape.dtype = (uint8_t)(dtype == LL_DTYPE_COUNT ? LL_F32 : dtype);
    for (unsigned i = 0; i < rank; i++) {
        tensor->shape.dim[i] = dims[i] < 0 ? LL_NO_FIT : (uint64_t)dims[i];
        if (dims[i] < 0)
            return ll_json_expected(shapes, "dimensions that are not negative");
    }
    if (!ll_fits(ll_size_bytes(&tensor->shape)))
        return ll_json_expected(shapes, "a shape whose size fits in 64 bits");
    if (dtype == LL_DTYPE_COUNT)
        return ll_complain(r->json.diags, ll_json_place(values), "a tensor of a type that is not known here");
    return true;
}

/* Things of one size, one after the other on the heap. */
struct pile {
    void *at;
    uint64_t count, capacity;
};

static void *add(struct reading *r, struct pile *pile, size_t size)
{
    if (!ll_grow(&pile->at, &pile->capacity, pile->count + 1, size)) {
        ll_import_no_memory(r->import);
        return NULL;
    }
    return (char *)pile->at + size * pile->count++;
}

/* The pile becomes part of the import's arena. */
static void *settle(struct reading *r, struct pile *pile, size_t size)
{
    void *copy = ll_copy(&r->import->arena, pile->at ? pile->at : "", pile->count * size);
    if (!copy)
        ll_import_no_memory(r->import);
    free(pile->at);
    return copy;
}

/* The type of the next tensor of `GenericList[Tensor(a),Tensor(b)]`; *at is where the one before it stands.
 * The last one counts for all that follow. *nothing: there could have been a tensor, and is none. */
static enum ll_dtype next_type(const struct ll_json_reader *types, size_t *at, bool *nothing)
{
    static const char word[] = "Tensor(", none[] = "nullptr";
    const size_t length = sizeof word - 1;
    for (size_t next = *at + 1; next + length <= types->length; next++)
        if (memcmp(types->text + next, word, length) == 0) {
            *at = next;
            break;
        }
    const char *inside = types->text + *at + length;
    size_t left = types->length - *at - length;
    *nothing = left >= sizeof none - 1 && memcmp(inside, none, sizeof none - 1) == 0;
    return dtype_of(types, *at);
}

/* One tensor, or a list of them, whose types a text names in order. */
static bool read_tensors(struct reading *r, struct ll_json_reader readers[3], bool list, struct pile *pile)
{
    struct ll_json_reader *values = &readers[0], *shapes = &readers[1], *types = &readers[2];
    struct ll_torch_tensor *tensor;
    if (!list)
        return (tensor = add(r, pile, sizeof *tensor)) &&
               read_tensor(r, values, shapes, dtype_of(types, 0), tensor);
    if (values->token != LL_JSON_LIST || shapes->token != LL_JSON_LIST)
        return ll_json_expected(values, "a list of tensors, and one of their shapes");
    size_t at = 0;
    while (ll_json_read(values) != LL_JSON_LIST_END && !values->failed) {
        bool nothing = false;
        enum ll_dtype dtype = next_type(types, &at, &nothing);
        if (ll_json_read(shapes) == LL_JSON_LIST_END)
            return ll_json_expected(shapes, "as many shapes as tensors");
        if (!(tensor = add(r, pile, sizeof *tensor)))
            return false;
        if (nothing) {
            *tensor = (struct ll_torch_tensor){.absent = true};
            ll_json_pass(values);
            ll_json_pass(shapes);
        } else if (!read_tensor(r, values, shapes, dtype, tensor)) {
            return false;
        }
    }
    return ll_json_read(shapes) == LL_JSON_LIST_END || ll_json_expected(shapes, "as many tensors as shapes");
}

static double number_of(const struct ll_json_reader *json)
{
    return json->token == LL_JSON_TRUE ? 1 : ll_json_as_real(json);
}

static bool is_number(enum ll_json_token token)
{
    return token == LL_JSON_NUMBER || token == LL_JSON_TRUE || token == LL_JSON_FALSE;
}

/* Numbers as they stand; a list that holds anything else is something else. */
static bool read_plain(struct reading *r, struct ll_json_reader *values, struct ll_torch_value *value)
{
    struct pile pile = {NULL, 0, 0};
    double *number;
    value->kind =
        is_number(values->token) || values->token == LL_JSON_LIST ? LL_TORCH_NUMBERS : LL_TORCH_OTHER;
    value->list = values->token == LL_JSON_LIST;
    if (is_number(values->token) && (number = add(r, &pile, sizeof *number)))
        *number = number_of(values);
    unsigned inside = values->depth;
    while (value->list && values->depth == inside && ll_json_read(values) != LL_JSON_LIST_END &&
           !values->failed) {
        if (!is_number(values->token))
            value->kind = LL_TORCH_OTHER;
        else if ((number = add(r, &pile, sizeof *number)))
            *number = number_of(values);
        ll_json_pass(values);
    }
    if (!value->list)
        ll_json_pass(values);
    value->count = (uint32_t)pile.count;
    value->numbers = settle(r, &pile, sizeof *number);
    return value->numbers && !values->failed;
}

static bool begins(const struct ll_json_reader *type, const char *text)
{
    return type->length >= strlen(text) && memcmp(type->text, text, strlen(text)) == 0;
}

/* The next argument: value, shape, type. All readers stand before it. */
static bool read_value(struct reading *r, struct ll_json_reader readers[3], struct ll_torch_value *value,
                       struct pile *tensors)
{
    struct ll_json_reader *values = &readers[0], *shapes = &readers[1], *types = &readers[2];
    bool several = begins(types, "GenericList[Tensor("), one = begins(types, "Tensor(");
    bool nothing = begins(types, "Tensor(nullptr");
    *value = (struct ll_torch_value){.kind = LL_TORCH_NONE};
    if (values->token == LL_JSON_LIST_END || ll_json_read(shapes) == LL_JSON_LIST_END)
        return ll_json_expected(values, "as many values and shapes as types");
    if ((!one && !several) || nothing) {
        ll_json_pass(shapes);
        if (!nothing)
            return read_plain(r, values, value) && !shapes->failed;
        ll_json_pass(values);
        struct ll_torch_tensor *missing = add(r, tensors, sizeof *missing);
        if (missing)
            *missing = (struct ll_torch_tensor){.absent = true};
        *value = (struct ll_torch_value){.kind = LL_TORCH_TENSORS, .count = 1};
        return missing && !values->failed && !shapes->failed;
    }
    uint64_t before = tensors->count;
    value->kind = LL_TORCH_TENSORS;
    value->list = several;
    bool read = read_tensors(r, readers, several, tensors);
    value->count = (uint32_t)(tensors->count - before);
    return read;
}

/* All arguments or results at these places: values, and the tensors of all of them. */
static bool read_values(struct reading *r, const struct places *places, struct pile *values,
                        struct pile *tensors)
{
    struct ll_json_reader readers[3] = {again(r, places->values), again(r, places->shapes),
                                        again(r, places->types)};
    for (int i = 0; i < 3; i++)
        if (ll_json_read(&readers[i]) != LL_JSON_LIST)
            return ll_json_expected(&readers[i], "a list");
    while (ll_json_read(&readers[2]) == LL_JSON_TEXT) {
        ll_json_read(&readers[0]);
        struct ll_torch_value *value = add(r, values, sizeof *value);
        if (!value || !read_value(r, readers, value, tensors))
            return false;
    }
    return !readers[2].failed;
}

/* The tensors of all values lie one after the other; each value gets its own. */
static void deal(struct ll_torch_value *values, uint64_t count, struct ll_torch_tensor *tensors)
{
    for (uint64_t i = 0; i < count; i++)
        if (values[i].kind == LL_TORCH_TENSORS) {
            values[i].tensors = tensors;
            tensors += values[i].count;
        }
}

static bool read_arguments(struct reading *r, struct ll_torch_node *node)
{
    struct pile values = {NULL, 0, 0}, tensors = {NULL, 0, 0}, ignored = {NULL, 0, 0}, results = {NULL, 0, 0};
    bool right = (!r->inputs.types || !r->inputs.values || !r->inputs.shapes ||
                  read_values(r, &r->inputs, &values, &tensors)) &&
                 (!r->outputs.types || !r->outputs.values || !r->outputs.shapes ||
                  read_values(r, &r->outputs, &ignored, &results));
    node->input_count = (uint32_t)values.count;
    node->output_count = (uint32_t)results.count;
    node->outputs_known = true;
    struct ll_torch_tensor *all = settle(r, &tensors, sizeof *all);
    node->outputs = settle(r, &results, sizeof *node->outputs);
    if (all)
        deal(values.at, values.count, all);
    node->inputs = settle(r, &values, sizeof *node->inputs);
    free(ignored.at);
    return right && r->import->status == LL_OK;
}

/* What a communicator says of its group. */
static void read_group(struct reading *r, struct ll_torch_node *node, const char *name)
{
    const int64_t number = ll_json_as_integer(&r->json);
    bool size = strcmp(name, "pg_size") == 0, stride = strcmp(name, "global_rank_stride") == 0;
    if ((!size && !stride) || number < 1 || strcmp(node->name, "record_param_comms") != 0)
        return;
    struct ll_torch_exchange *exchange = ll_alloc(&r->import->arena, 1, sizeof *exchange);
    if (!exchange) {
        ll_import_no_memory(r->import);
        return;
    }
    *exchange = node->exchange ? *node->exchange : (struct ll_torch_exchange){.dtype = LL_DTYPE_COUNT};
    *(size ? &exchange->devices : &exchange->stride) = (uint64_t)number;
    node->exchange = exchange;
}

/* An attribute of the later schema: {"name": ..., "type": ..., "value": ...}. */
static void read_attr(struct reading *r, struct ll_torch_node *node)
{
    struct ll_json_reader *json = &r->json;
    char name[MOST_TYPE] = "";
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool is_name = ll_json_says(json, "name"), is_value = ll_json_says(json, "value");
        ll_json_read(json);
        if (is_name && json->token == LL_JSON_TEXT && json->length < sizeof name) {
            memcpy(name, json->text, json->length);
            name[json->length] = '\0';
        } else if (is_value && strcmp(name, "seq_id") == 0) {
            node->sequence = ll_json_as_integer(json);
        } else if (is_value && strcmp(name, "scope") == 0) {
            node->scope = ll_json_as_integer(json);
        } else if (is_value && strcmp(name, "tid") == 0) {
            node->thread = (uint32_t)ll_json_as_integer(json);
        } else if (is_value) {
            read_group(r, node, name);
        }
        ll_json_pass(json);
    }
}

/* Notes where a part of the arguments stands, and passes it. */
static void note_place(struct reading *r, const char **place)
{
    *place = r->json.at;
    ll_json_pass(&r->json);
}

/* Arguments or results: the list of values, or an object of all three lists. The reader stands at the key. */
static void note_values(struct reading *r, struct places *places)
{
    struct ll_json_reader *json = &r->json;
    const char *at = json->at;
    if (ll_json_read(json) != LL_JSON_OBJECT) {
        places->values = at;
        ll_json_pass(json);
        return;
    }
    while (ll_json_read(json) == LL_JSON_KEY)
        if (ll_json_says(json, "values"))
            note_place(r, &places->values);
        else if (ll_json_says(json, "shapes"))
            note_place(r, &places->shapes);
        else if (ll_json_says(json, "types"))
            note_place(r, &places->types);
        else
            ll_json_pass(json);
}

/* The keys of a node that name a place. False when this is none. */
static bool note_key(struct reading *r)
{
    const struct {
        const char *key;
        const char **place;
    } keys[] = {{"input_shapes", &r->inputs.shapes},
                {"input_types", &r->inputs.types},
                {"output_shapes", &r->outputs.shapes},
                {"output_types", &r->outputs.types}};
    if (ll_json_says(&r->json, "inputs") || ll_json_says(&r->json, "outputs")) {
        note_values(r, ll_json_says(&r->json, "inputs") ? &r->inputs : &r->outputs);
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (ll_json_says(&r->json, keys[i].key)) {
            note_place(r, keys[i].place);
            return true;
        }
    return false;
}

static void read_number_key(struct reading *r, struct ll_torch_node *node)
{
    struct ll_json_reader *json = &r->json;
    bool id = ll_json_says(json, "id"), sequence = ll_json_says(json, "seq_id"),
         scope = ll_json_says(json, "scope"), thread = ll_json_says(json, "tid"),
         parent = ll_json_says(json, "parent") || ll_json_says(json, "ctrl_deps");
    ll_json_read(json);
    int64_t value = ll_json_as_integer(json);
    if (id)
        node->id = (uint64_t)value;
    else if (parent)
        node->parent = (uint64_t)value;
    else if (sequence)
        node->sequence = value;
    else if (scope)
        node->scope = value;
    else if (thread)
        node->thread = (uint32_t)value;
    ll_json_pass(json);
}

/* One node of the graph. Arguments are only noted while keys are read, since their values, shapes and types
 * stand in lists of their own that belong together, and are read at the end of the node. */
static bool read_node(struct reading *r)
{
    struct ll_json_reader *json = &r->json;
    struct ll_torch_node node = {.name = "", .sequence = -1};
    r->inputs = r->outputs = (struct places){NULL, NULL, NULL};
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (ll_json_says(json, "name")) {
            if (ll_json_read(json) != LL_JSON_TEXT)
                return ll_json_expected(json, "a name in quotes");
            node.name = ll_json_copy(json, &r->import->arena);
        } else if (ll_json_says(json, "attrs")) {
            if (ll_json_read(json) != LL_JSON_LIST)
                return ll_json_expected(json, "a list of attributes");
            while (ll_json_read(json) == LL_JSON_OBJECT)
                read_attr(r, &node);
        } else if (!note_key(r)) {
            read_number_key(r, &node);
        }
    }
    if (json->failed || !node.name || !read_arguments(r, &node))
        return false;
    if (!ll_grow(&r->nodes->at, &r->nodes->capacity, r->nodes->count + 1, sizeof node))
        return ll_import_no_memory(r->import);
    r->nodes->at[r->nodes->count++] = node;
    return true;
}

/* Goes on after a wrong node as long as the JSON itself can be read, so that several mistakes are reported
 * at once. */
bool ll_torch_read_graph(struct ll_import *import, struct ll_torch_nodes *nodes)
{
    assert(import->input_count == 1);
    const struct ll_input_file *input = &import->inputs[0];
    const char *text = (const char *)input->bytes;
    struct reading r = {.import = import, .nodes = nodes};
    r.json = (struct ll_json_reader){
        .file = input->path, .begin = text, .at = text, .end = text + input->size, .diags = import->diags};
    struct ll_json_reader *json = &r.json;
    size_t before = import->diags->count;
    if (ll_json_read(json) != LL_JSON_OBJECT)
        return ll_json_expected(json, "an object with a list of nodes");
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (!ll_json_says(json, "nodes")) {
            ll_json_pass(json);
            continue;
        }
        if (ll_json_read(json) != LL_JSON_LIST)
            return ll_json_expected(json, "a list of nodes");
        while (ll_json_read(json) == LL_JSON_OBJECT) {
            ll_import_progress(import, "reading", (uint64_t)(json->at - text), input->size);
            if (!read_node(&r) &&
                (json->failed || import->status != LL_OK || import->diags->count >= LL_DIAG_LIMIT))
                return false;
        }
        if (!json->failed && json->token != LL_JSON_LIST_END)
            return ll_json_expected(json, "a node, which is an object");
    }
    ll_json_read(json);
    if (json->failed || import->diags->count > before)
        return false;
    if (nodes->count == 0)
        return ll_complain(import->diags, (struct ll_place){.file = input->path}, "there are no nodes in it");
    return true;
}
