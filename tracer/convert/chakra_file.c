/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/convert/chakra.h"

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

void chakra_add_tensor(struct ll_str *out, const struct chakra_tensor *tensor)
{
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

void chakra_pack_steps(struct ll_str *packed, const struct ll_step *steps, uint64_t count)
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
