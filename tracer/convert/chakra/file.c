/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra files as they stand (chakra.h), and a trace written as one. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/convert/chakra/chakra.h"

static bool complain(struct ll_import *import, const struct chakra_file *file, const char *what, uint64_t id)
{
    return ll_complain(import->diags, (struct ll_place){.file = file->input->path}, "node %" PRIu64 ": %s",
                       id, what);
}

static bool read_node(struct ll_wire body, struct chakra_node *node)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    *node = (struct chakra_node){.body = body};
    while ((step = ll_wire_next(&body, &field)) == LL_WIRE_FIELD) {
        if (field.number == NODE_ID)
            node->id = field.value;
        else if (field.number == NODE_NAME)
            node->name = field.bytes;
        else if (field.number == NODE_TYPE)
            node->type = field.value;
        else if (field.number == NODE_START)
            node->start_us = field.value;
        else if (field.number == NODE_DURATION)
            node->duration_us = field.value;
    }
    return step == LL_WIRE_END;
}

static bool broken(struct ll_import *import, const struct chakra_file *file)
{
    return ll_complain(import->diags, (struct ll_place){.file = file->input->path},
                       "this is not a Chakra trace, or it ends too early: message %" PRIu64 " cannot be read",
                       file->count + (file->metadata.at != NULL));
}

static bool read_nodes(struct ll_import *import, struct chakra_file *file)
{
    struct ll_wire wire = {file->input->bytes, file->input->bytes + file->input->size};
    while (wire.at < wire.end) {
        uint64_t size;
        if (!ll_wire_varint(&wire, &size) || size > (uint64_t)(wire.end - wire.at))
            return broken(import, file);
        struct ll_wire message = {wire.at, wire.at + size};
        wire.at += size;
        if (!file->metadata.at) {
            file->metadata = message;
            continue;
        }
        if (!ll_grow(&file->nodes, &file->capacity, file->count + 1, sizeof *file->nodes))
            return ll_import_no_memory(import);
        if (!read_node(message, &file->nodes[file->count]))
            return broken(import, file);
        file->count++;
    }
    return file->count > 0 ||
           ll_complain(import->diags, (struct ll_place){.file = file->input->path}, "there is no node in it");
}

/* Numbers of nodes by their ids; false when one comes twice. */
static bool name_nodes(struct ll_import *import, const struct chakra_file *file, struct ll_map *ids)
{
    bool right = true, is_new;
    for (uint64_t i = 0; i < file->count; i++) {
        if (ll_map_intern(ids, &file->nodes[i].id, sizeof file->nodes[i].id, &is_new) == LL_NO_ID)
            return ll_import_no_memory(import);
        if (!is_new)
            right = complain(import, file, "there is another one with this id", file->nodes[i].id);
    }
    return right;
}

/* How many nodes a node waits for, and which, if `deps` is not NULL. Data that no node makes is an error. An
 * order may name nodes that whoever wrote the file left out (Chakra's own traces of PyTorch do): it is
 * dropped. */
static bool find_deps(struct ll_import *import, struct chakra_file *file, const struct ll_map *ids,
                      uint64_t i, uint32_t *deps, uint64_t *count)
{
    struct ll_wire body = file->nodes[i].body;
    struct ll_wire_field field;
    bool right = true;
    *count = 0;
    while (ll_wire_next(&body, &field) == LL_WIRE_FIELD) {
        uint64_t several, id;
        bool order = field.number == NODE_CTRL_DEPS;
        if ((!order && field.number != NODE_DATA_DEPS) || !ll_wire_count(&field, &several))
            continue;
        struct ll_wire packed = field.bytes;
        for (uint64_t k = 0; k < several && deps; k++) {
            id = field.value;
            if (field.type == LL_WIRE_BYTES && !ll_wire_varint(&packed, &id))
                return broken(import, file);
            uint32_t found = ll_map_find(ids, &id, sizeof id);
            if (found != LL_NO_ID && !(order && file->data_only))
                deps[(*count)++] = found;
            else if (order)
                file->dropped++;
            else
                right = ll_complain(import->diags, (struct ll_place){.file = file->input->path},
                                    "node %" PRIu64 ": it takes data of node %" PRIu64
                                    ", which is not in the file",
                                    file->nodes[i].id, id);
        }
        *count += deps ? 0 : several;
    }
    return right;
}

/* The nodes that each node waits for, as places instead of ids. Control dependencies on nodes that are not
 * there are dropped and counted; data must be there. */
static bool read_deps(struct ll_import *import, struct chakra_file *file, const struct ll_map *ids)
{
    uint64_t total = 0, count;
    bool right = true;
    free(file->first);
    free(file->deps);
    file->deps = NULL;
    file->dropped = 0;
    file->first = calloc(file->count + 1, sizeof *file->first);
    for (uint64_t i = 0; file->first && i < file->count; i++) {
        find_deps(import, file, ids, i, NULL, &count);
        total += count;
    }
    file->deps = calloc(total + 1, sizeof *file->deps);
    if (!file->first || !file->deps)
        return ll_import_no_memory(import);
    for (uint64_t i = 0; i < file->count; i++) {
        right = find_deps(import, file, ids, i, file->deps + file->first[i], &count) && right;
        file->first[i + 1] = file->first[i] + count;
    }
    return right;
}

/* Nodes that nobody before them waits for come as they stand in the file. Else (Kahn, 1962) those that wait
 * for nothing any more, first come, first served. */
static bool in_order(const struct chakra_file *file)
{
    for (uint64_t i = 0; i < file->count; i++)
        for (uint64_t k = file->first[i]; k < file->first[i + 1]; k++)
            if (file->deps[k] >= i)
                return false;
    return true;
}

/* Who waits for a node: the dependencies turned round. */
struct waiters {
    uint64_t *first;
    uint32_t *nodes;
    uint64_t *left; /* how many nodes a node still waits for */
};

/* Turns the dependencies round: who waits for each node (first, nodes), and for how many each node still
 * waits (left). */
static bool turn_round(const struct chakra_file *file, struct waiters *w)
{
    uint64_t total = file->first[file->count];
    w->first = calloc(file->count + 2, sizeof *w->first);
    w->nodes = calloc(total + 1, sizeof *w->nodes);
    w->left = calloc(file->count, sizeof *w->left);
    if (!w->first || !w->nodes || !w->left)
        return false;
    for (uint64_t k = 0; k < total; k++)
        w->first[file->deps[k] + 2]++;
    for (uint64_t i = 1; i <= file->count; i++)
        w->first[i + 1] += w->first[i];
    for (uint64_t i = 0; i < file->count; i++) {
        w->left[i] = file->first[i + 1] - file->first[i];
        for (uint64_t k = file->first[i]; k < file->first[i + 1]; k++)
            w->nodes[w->first[file->deps[k] + 1]++] = (uint32_t)i;
    }
    return true;
}

/* Kahn's algorithm (1962): first the nodes that wait for nothing, in the order of the file, then each one
 * when the last that it waits for is served. Fewer than all are served where some wait for each other. */
static uint64_t serve(struct chakra_file *file, struct waiters *w)
{
    uint64_t ready = 0;
    for (uint64_t i = 0; i < file->count; i++)
        if (w->left[i] == 0)
            file->order[ready++] = (uint32_t)i;
    for (uint64_t i = 0; i < ready; i++)
        for (uint64_t k = w->first[file->order[i]]; k < w->first[file->order[i] + 1]; k++)
            if (--w->left[w->nodes[k]] == 0)
                file->order[ready++] = w->nodes[k];
    return ready;
}

/* How many nodes have a place in the order then; false when memory ran out. */
static bool order_nodes(struct ll_import *import, struct chakra_file *file, uint64_t *ready)
{
    struct waiters w = {0};
    *ready = file->count;
    free(file->order);
    file->order = calloc(file->count, sizeof *file->order);
    bool room = file->order != NULL;
    for (uint64_t i = 0; room && i < file->count; i++)
        file->order[i] = (uint32_t)i;
    if (room && !in_order(file)) {
        room = turn_round(file, &w);
        *ready = room ? serve(file, &w) : 0;
    }
    free(w.first);
    free(w.nodes);
    free(w.left);
    return room || ll_import_no_memory(import);
}

/* An order among nodes whose data goes the other way holds nothing back: then data alone counts. */
static bool read_order(struct ll_import *import, struct chakra_file *file, const struct ll_map *ids)
{
    uint64_t ready = 0;
    for (int data_only = 0; data_only < 2 && ready < file->count; data_only++) {
        file->data_only = data_only != 0;
        if (!read_deps(import, file, ids) || !order_nodes(import, file, &ready))
            return false;
    }
    return ready == file->count ||
           ll_complain(import->diags, (struct ll_place){.file = file->input->path},
                       "%" PRIu64 " nodes wait for each other, or for such", file->count - ready);
}

bool chakra_file_read(struct ll_import *import, const struct ll_input_file *input, struct chakra_file *file)
{
    struct ll_map ids = {0};
    *file = (struct chakra_file){.input = input};
    bool right = read_nodes(import, file) && name_nodes(import, file, &ids) && read_order(import, file, &ids);
    ll_map_release(&ids);
    return right;
}

void chakra_file_release(struct chakra_file *file)
{
    free(file->nodes);
    free(file->order);
    free(file->first);
    free(file->deps);
}

/* A real number as a count; what is none becomes one that nobody takes. */
static uint64_t counted(double real)
{
    return real >= 0 && real < 0x1p63 ? (uint64_t)real : UINT64_MAX;
}

static void read_attr(struct ll_wire bytes, struct ll_wire *name, struct chakra_attr *attr)
{
    struct ll_wire_field field;
    *attr = (struct chakra_attr){0};
    *name = (struct ll_wire){0};
    while (ll_wire_next(&bytes, &field) == LL_WIRE_FIELD) {
        if (field.number == ATTR_NAME)
            *name = field.bytes;
        else if (field.number == ATTR_TEXT)
            attr->text = field.bytes;
        else if (field.type == LL_WIRE_BYTES)
            attr->list = field.bytes;
        else if (field.number == ATTR_DOUBLE && field.type == LL_WIRE_FIXED64)
            attr->number = counted(ll_wire_double(&field));
        else if (field.number == ATTR_FLOAT && field.type == LL_WIRE_FIXED32)
            attr->number = counted((double)ll_wire_float(&field));
        else /* sint32 and sint64 are zigzag */
            attr->number = field.number == 15 || field.number == 17 ? (field.value >> 1) ^ -(field.value & 1)
                                                                    : field.value;
    }
}

bool chakra_attr_next(struct ll_wire *body, uint64_t number, struct ll_wire *name, struct chakra_attr *attr)
{
    assert(body->at <= body->end);
    struct ll_wire_field field;
    while (ll_wire_next(body, &field) == LL_WIRE_FIELD)
        if (field.number == number && field.type == LL_WIRE_BYTES) {
            read_attr(field.bytes, name, attr);
            return true;
        }
    return false;
}

bool chakra_attr_find(struct ll_wire body, uint64_t field, const char *wanted, struct chakra_attr *attr)
{
    assert(wanted && *wanted);
    struct ll_wire name;
    while (chakra_attr_next(&body, field, &name, attr))
        if ((size_t)(name.end - name.at) == strlen(wanted) && name.at &&
            memcmp(name.at, wanted, strlen(wanted)) == 0)
            return true;
    return false;
}

uint64_t chakra_number(const struct chakra_node *node, const char *name)
{
    struct chakra_attr attr;
    return chakra_attr_find(node->body, NODE_ATTR, name, &attr) ? attr.number : 0;
}

/* Appends `number class dtype dims roles name`; dims as 64x3 or `-`, roles as batch,,channel or `-`. */
static void chakra_add_tensor(struct ll_str *out, const struct chakra_tensor *tensor)
{
    assert(tensor->memory < LL_MEMORY_COUNT && tensor->shape.rank <= LL_MAX_RANK);
    const struct ll_shape *shape = &tensor->shape;
    bool plain = true;
    ll_str_addf(out, "%" PRIu64 " %s %s ", tensor->number, ll_memory_name(tensor->memory),
                ll_dtype_name((enum ll_dtype)shape->dtype));
    for (unsigned i = 0; i < shape->rank; i++) {
        ll_str_addf(out, "%s%" PRIu64, i ? "x" : "", shape->dim[i]);
        plain &= shape->role[i] == LL_ROLE_PLAIN;
    }
    ll_str_add(out, shape->rank == 0 ? "- " : " ");
    for (unsigned i = 0; !plain && i < shape->rank; i++)
        ll_str_addf(out, "%s%s", i ? "," : "", ll_role_name((enum ll_role)shape->role[i]));
    ll_str_addf(out, "%s %s", plain ? "-" : "", tensor->name);
}

/* The word here, moved behind it and the blank that follows; its length. */
static size_t take_word(const char **at, const char **word)
{
    size_t length = strcspn(*at, " ");
    *word = *at;
    *at += length + ((*at)[length] == ' ');
    return length;
}

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool read_number(const char **at, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = **at >= '0' && **at <= '9' ? strtoull(*at, &end, 10) : 0;
    if (**at < '0' || **at > '9' || errno)
        return false;
    *at = end;
    return true;
}

static bool read_dims(const char *word, size_t length, struct ll_shape *shape)
{
    const char *end = word + length;
    if (is_word(word, length, "-"))
        return true;
    for (; shape->rank < LL_MAX_RANK; word++) {
        if (!read_number(&word, &shape->dim[shape->rank++]))
            return false;
        if (*word != 'x')
            return word == end;
    }
    return false;
}

static bool read_roles(const char *word, size_t length, struct ll_shape *shape)
{
    if (is_word(word, length, "-"))
        return true;
    for (unsigned i = 0; i < shape->rank; i++) {
        size_t part = strcspn(word, ", ");
        unsigned role = 0;
        while (role < LL_ROLE_COUNT && !is_word(word, part, ll_role_name((enum ll_role)role)))
            role++;
        if (role == LL_ROLE_COUNT && is_word(word, part, "inner")) /* as version 0.1 called it */
            role = LL_ROLE_FFN_HIDDEN;
        if (role == LL_ROLE_COUNT || (word[part] == ',') != (i + 1u < shape->rank))
            return false;
        shape->role[i] = (uint8_t)role;
        word += part + 1;
    }
    return shape->rank > 0;
}

static bool read_class(const char *word, size_t length, enum ll_memory_class *memory)
{
    unsigned i = 0;
    while (i < LL_MEMORY_COUNT && !is_word(word, length, ll_memory_name((enum ll_memory_class)i)))
        i++;
    *memory = (enum ll_memory_class)i;
    return i < LL_MEMORY_COUNT;
}

static bool read_dtype(const char *word, size_t length, struct ll_shape *shape)
{
    while (shape->dtype < LL_DTYPE_COUNT &&
           !is_word(word, length, ll_dtype_name((enum ll_dtype)shape->dtype)))
        shape->dtype++;
    return shape->dtype < LL_DTYPE_COUNT;
}

bool chakra_read_tensor(const char *line, struct chakra_tensor *tensor)
{
    const char *word;
    *tensor = (struct chakra_tensor){0};
    if (!read_number(&line, &tensor->number) || *line++ != ' ')
        return false;
    size_t length = take_word(&line, &word);
    if (!read_class(word, length, &tensor->memory))
        return false;
    length = take_word(&line, &word);
    if (!read_dtype(word, length, &tensor->shape))
        return false;
    length = take_word(&line, &word);
    if (!read_dims(word, length, &tensor->shape))
        return false;
    length = take_word(&line, &word);
    tensor->name = line;
    return read_roles(word, length, &tensor->shape) && ll_fits(ll_size_bytes(&tensor->shape));
}

/* Steps of our traces as numbers: of each its ops, its times, whether it is whole. */

enum { FIRST_OP, OPS, START, WALL, RECORDING, WHOLE, NUMBERS };

static void chakra_pack_steps(struct ll_str *packed, const struct ll_step *steps, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t numbers[NUMBERS] = {
            [FIRST_OP] = steps[i].first_op, [OPS] = steps[i].op_count,           [START] = steps[i].start_ns,
            [WALL] = steps[i].wall_ns,      [RECORDING] = steps[i].recording_ns, [WHOLE] = steps[i].complete};
        for (unsigned k = 0; k < NUMBERS; k++)
            ll_wire_put_varint(packed, numbers[k]);
    }
}

/* One behind the other from the first op to the last. */
static bool add_up(const struct ll_step *steps, uint64_t count, uint64_t op_count)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (steps[i].first_op != next || steps[i].op_count > op_count - next)
            return false;
        next += steps[i].op_count;
    }
    return next == op_count;
}

/* Whether ops stand where they stood in the trace, which numbered the nodes. */
static bool chakra_steps_in_order(const struct chakra_file *file, const uint32_t *ops)
{
    for (uint64_t i = 0; i < file->count; i++)
        if (ops[i] != file->nodes[i].id)
            return false;
    return true;
}

static struct ll_step step_of(const int64_t *number)
{
    return (struct ll_step){.first_op = (uint32_t)number[FIRST_OP],
                            .op_count = (uint32_t)number[OPS],
                            .start_ns = (uint64_t)number[START],
                            .wall_ns = (uint64_t)number[WALL],
                            .recording_ns = (uint64_t)number[RECORDING],
                            .complete = number[WHOLE] != 0};
}

/* Steps were exported by nodes; here they become stretches of the ops that were recorded of those. */
bool chakra_cut_steps(struct ll_import *import, const struct chakra_file *file, const uint32_t *ops)
{
    struct chakra_attr told;
    struct ll_wire_field field;
    uint64_t held = 0;
    if (!chakra_steps_in_order(file, ops) ||
        !chakra_attr_find(file->metadata, METADATA_ATTR, CHAKRA_STEPS, &told) ||
        ll_wire_next(&told.list, &field) != LL_WIRE_FIELD || !ll_wire_count(&field, &held))
        return true;
    struct ll_step *steps = ll_alloc(&import->arena, held / NUMBERS, sizeof *steps);
    int64_t *numbers = ll_alloc(&import->arena, held, sizeof *numbers);
    if (!steps || !numbers)
        return ll_import_no_memory(import);
    uint64_t count = ll_wire_integers(&field, numbers, held) / NUMBERS;
    for (uint64_t i = 0; i < count; i++)
        steps[i] = step_of(numbers + i * NUMBERS);
    if (add_up(steps, count, file->count))
        ll_recorder_cut(import->recorder, steps, count);
    return true;
}

/* A trace as a Chakra execution trace of one rank: a node for each op. Ranks of a trace are its threads, and
 * -p rank=N says which goes into the file; nodes keep the numbers of their ops, and metadata tells no steps,
 * which are those of all ranks together. */

struct writer {
    struct ll_export *export;
    const struct ll_trace *trace;
    const struct ll_deps *deps; /* what each op waits for */
    bool *told;                 /* by tensor: somebody has said what it looks like */
    bool of_ranks;              /* the trace has several */
    uint32_t rank;              /* then the one that goes into the file */
    struct ll_str node, part;   /* a node in the making, and what is part of it */
    struct ll_str line;         /* scratch: a text attribute */
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
    const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[tensor].desc];
    return (struct chakra_tensor){tensor, (enum ll_memory_class)desc->memory, desc->shape,
                                  trace->strings[desc->name]};
}

/* The tensors that an op reads, by number; what nobody has described yet is. */
static void put_inputs(struct writer *w, uint32_t op)
{
    const struct ll_op_view *view = &w->trace->signatures[w->trace->ops[op].signature].view;
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
    const struct ll_op_view *view = &w->trace->signatures[w->trace->ops[op].signature].view;
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
    return kind < LL_OP_NONE && ll_op_class(kind) == LL_CLASS_COMMUNICATION ? CHAKRA_COLLECTIVE
                                                                            : CHAKRA_COMPUTE;
}

/* What simulators of others read. A rank by itself counts from 0. */
static void put_exchange(struct writer *w, const struct ll_op_signature *signature, uint64_t type)
{
    int64_t rank = (int64_t)w->rank;
    int64_t peer = ll_attr_count(&signature->view, LL_ATTR_PEER, 0);
    put_number(w, "comm_size", ATTR_INT64, signature->bytes_read);
    if (type == CHAKRA_COLLECTIVE) {
        int64_t group = ll_attr_count(&signature->view, LL_ATTR_GROUP, 0);
        put_number(w, "comm_type", ATTR_INT64, collective_of(signature->view.kind));
        ll_str_addf(&w->line, "%" PRId64, group);
        if (group != 0)
            put_text(w, NODE_ATTR, "pg_name", w->line.text);
        w->line.length = 0;
        return;
    }
    put_number(w, type == CHAKRA_SEND ? "comm_dst" : "comm_src", ATTR_INT32, (uint64_t)(rank + peer));
    put_number(w, "comm_tag", ATTR_INT32, (uint64_t)ll_attr_count(&signature->view, LL_ATTR_TAG, 0));
}

static void put_costs(struct writer *w, const struct ll_op_signature *signature)
{
    uint64_t type = type_of(signature->view.kind);
    uint64_t bytes = ll_add(signature->bytes_read, signature->bytes_written);
    put_number(w, "is_cpu_op", ATTR_BOOL, 0);
    if (type == CHAKRA_COMPUTE) {
        put_number(w, "num_ops", ATTR_INT64, signature->flops);
        put_number(w, "tensor_size", ATTR_UINT64, bytes);
        return;
    }
    put_exchange(w, signature, type);
}

/* Whether an op is of the rank that goes into the file. */
static bool is_told(const struct writer *w, uint32_t seq)
{
    return !w->of_ranks || w->trace->ops[seq].thread == w->rank;
}

/* Which nodes an op waits for: those that make what it reads, and the others. */
static void put_deps(struct writer *w, uint32_t op)
{
    const struct ll_op_edges *edges = &w->trace->edges[w->trace->ops[op].edges];
    struct ll_str numbers = {0}, packed = {0};
    for (uint64_t i = w->deps->first[op]; i < w->deps->first[op + 1]; i++) {
        bool data = false;
        if (!is_told(w, w->deps->ops[i]))
            continue;
        for (uint32_t k = 0; k < edges->input_count && !data; k++)
            data = w->trace->tensors[ll_op_input(w->trace, op, k)].producer == w->deps->ops[i];
        ll_wire_put_integer(&w->node, data ? NODE_DATA_DEPS : NODE_CTRL_DEPS, w->deps->ops[i]);
    }
    for (uint32_t i = 0; i < edges->control_count; i++)
        ll_wire_put_varint(&packed, op - edges->controls[i]);
    if (packed.length > 0)
        ll_wire_put_bytes(&numbers, LIST_VALUES, packed.text, packed.length);
    put_list(w, "leadline.controls", ATTR_UINT64S, &numbers);
    if (edges->storage_count > 0)
        put_number(w, "leadline.storage_controls", ATTR_UINT64, edges->storage_count);
    if (edges->gap_count > 0)
        put_number(w, "leadline.gap_controls", ATTR_UINT64, edges->gap_count);
    ll_str_release(&packed);
}

static void put_message(struct writer *w)
{
    ll_wire_put_varint(&w->export->out, w->node.length);
    if (w->node.length > 0)
        ll_str_add_bytes(&w->export->out, w->node.text, w->node.length);
    w->node.length = 0;
}

/* One op as a node: first what simulators read (times in microseconds, shapes, costs, dependencies), then
 * attributes leadline.*, from which an import restores the op exactly, nanoseconds and edges included. */
static void put_node(struct writer *w, uint32_t seq)
{
    const struct ll_op *op = &w->trace->ops[seq];
    const struct ll_op_signature *signature = &w->trace->signatures[op->signature];
    const char *kind = w->trace->strings[signature->kind_name], *scope = w->trace->strings[signature->scope];
    ll_wire_put_integer(&w->node, NODE_ID, seq);
    ll_wire_put_text(&w->node, NODE_NAME, *scope ? scope : kind);
    ll_wire_put_integer(&w->node, NODE_TYPE, type_of(signature->view.kind));
    put_deps(w, seq);
    ll_wire_put_integer(&w->node, NODE_START, op->start_ns / 1000);
    ll_wire_put_integer(&w->node, NODE_DURATION, op->duration_ns / 1000);
    put_shapes(w, NODE_INPUTS, signature->view.in, signature->view.input_count);
    put_shapes(w, NODE_OUTPUTS, signature->view.out, signature->view.output_count);
    put_costs(w, signature);
    put_text(w, NODE_ATTR, "leadline.kind", kind);
    put_text(w, NODE_ATTR, "leadline.phase", ll_phase_name(signature->phase));
    put_text(w, NODE_ATTR, "leadline.scope", scope);
    put_number(w, "leadline.step", ATTR_UINT64, op->step);
    put_number(w, "leadline.thread", ATTR_UINT64, op->thread);
    if (op->start_ns || op->duration_ns) {
        put_number(w, "leadline.start_ns", ATTR_UINT64, op->start_ns);
        put_number(w, "leadline.duration_ns", ATTR_UINT64, op->duration_ns);
    }
    put_op_attrs(w, &signature->view);
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

/* GlobalMetadata: the version of the format, the facts of our header as attributes, and the steps unless
 * ranks are exported one by one. */
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

/* Length-delimited messages: metadata, then a node for each op of the rank. */
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
