/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces become a trace: a file a rank, an op a node.
 *
 * Nodes of our own say which op they are, and everything about it. Nodes of others say how large they are: a
 * computation is num_ops FLOPs on tensor_size bytes; one that only tells how long it took waits as long; a
 * communication moves comm_size bytes. What waits for what stays. Ranks are threads of the trace; a process
 * group has the ranks that name it, what names none all. The other end of a message is told from here: which
 * rank a file is follows from its place, of a single one from its name (trace.3.et). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/convert/chakra/chakra.h"
#include "tracer/convert/convert.h"

struct rank {
    struct chakra_file file;
    uint64_t next;               /* in the order of its nodes */
    uint32_t *ops;               /* by node: the op that it has become */
    struct ll_map numbers;       /* of tensors, as our own nodes call them */
    struct ll_imported *tensors; /* by the map's ids */
    uint64_t tensor_capacity;
};

/* Ranks that exchange with each other alone; the stride is 1 where they are not evenly apart. */
struct group {
    uint64_t number; /* 0: all ranks */
    uint64_t devices, stride;
    uint64_t last; /* rank that joined */
    bool uneven;
};

struct reader {
    struct ll_import *import;
    struct rank *ranks;
    uint64_t rank_count, op_count;
    const struct rank *rank;        /* at work */
    const struct chakra_node *node; /* of that rank, at work */
    uint8_t dtype;                  /* of computations of others */
    struct ll_map buffers;          /* sizes of what ranks exchange */
    struct ll_imported *buffer;     /* by the map's ids */
    uint64_t buffer_capacity;
    struct ll_map group_ids; /* names of process groups */
    struct group *groups;    /* by the map's ids */
    uint64_t group_capacity;
};

static bool refuse(struct reader *r, const char *what)
{
    const char *name = ll_wire_text(r->node->name, &r->import->arena);
    return ll_complain(r->import->diags, (struct ll_place){.file = r->rank->file.input->path},
                       "node %" PRIu64 " `%.100s`: %s", r->node->id, name ? name : "", what);
}

/* The text of an attribute of the node at work, NULL when there is none. */
static const char *text_of(struct reader *r, const char *name)
{
    struct chakra_attr attr;
    if (!chakra_attr_find(r->node->body, NODE_ATTR, name, &attr) || !attr.text.at)
        return NULL;
    return ll_copy_text(&r->import->arena, (const char *)attr.text.at,
                        (size_t)(attr.text.end - attr.text.at));
}

/* The nodes that the one at work waits for, as ops. */
static bool find_controls(struct reader *r, uint64_t at, struct ll_import_op *op)
{
    const struct chakra_file *file = &r->rank->file;
    uint64_t count = file->first[at + 1] - file->first[at];
    if (count > LL_MAX_OP_REFS)
        return refuse(r, "it waits for too many nodes");
    uint32_t *controls = ll_alloc(&r->import->arena, count, sizeof *controls);
    for (uint64_t i = 0; controls && i < count; i++)
        controls[i] = r->rank->ops[file->deps[file->first[at] + i]];
    op->controls = controls;
    op->control_count = (uint32_t)count;
    return controls || ll_import_no_memory(r->import);
}

/* A node of others. */
static bool record_foreign(struct reader *r, uint64_t at, struct ll_import_op *op)
{
    op->scope = ll_wire_text(r->node->name, &r->import->arena);
    if (!op->scope)
        return ll_import_no_memory(r->import);
    if (!find_controls(r, at, op))
        return false;
    op->thread = (uint32_t)(r->rank - r->ranks);
    op->memory = LL_WORKSPACE;
    op->start_ns = ll_mul(r->node->start_us, 1000);
    op->duration_ns = ll_mul(r->node->duration_us, 1000);
    const char *trouble = ll_import_record(r->import, op, NULL);
    return trouble ? refuse(r, trouble) : true;
}

/* What ranks exchange has to be somewhere: one tensor for each size. */
static bool find_buffer(struct reader *r, uint64_t bytes, struct ll_imported *held)
{
    const struct ll_shape shape = {.rank = 1, .dtype = LL_U8, .dim = {bytes}};
    bool is_new;
    uint32_t id = ll_map_intern(&r->buffers, &bytes, sizeof bytes, &is_new);
    if (id == LL_NO_ID || !ll_grow(&r->buffer, &r->buffer_capacity, (uint64_t)id + 1, sizeof *r->buffer))
        return ll_import_no_memory(r->import);
    if (is_new)
        r->buffer[id] = ll_import_tensor(r->import, "exchanged", &shape, LL_WORKSPACE);
    *held = r->buffer[id];
    return true;
}

static enum ll_op_kind collective_kind(uint64_t type)
{
    static const enum ll_op_kind kinds[] = {
#define X(word) LL_OP_##word,
        CHAKRA_COLLECTIVES(X)
#undef X
    };
    return type < sizeof kinds / sizeof *kinds ? kinds[type] : LL_OP_NONE;
}

/* The rank has a collective of the group; ranks come in order, each as often as it has one. */
static void join(struct group *group, uint64_t rank)
{
    if (group->number == 0 || (group->devices > 0 && group->last == rank))
        return;
    if (group->devices == 1)
        group->stride = rank - group->last;
    group->uneven |= group->devices > 1 && rank - group->last != group->stride;
    group->stride = group->uneven ? 1 : group->stride;
    group->devices++;
    group->last = rank;
}

/* The number of the group that a node's pg_name names. It is text in the schema, which older writers take for
 * a number; decimal text is that number, other text its hash, so that ranks that are read apart have one
 * number for one name. No name, and the number 0, are all ranks; the name "0" is one as any other. */
static uint64_t group_number(const struct chakra_node *node)
{
    enum { MOST_DIGITS = 18 };
    static const uint64_t hashes = 1000000000000000000; /* what is below has no more digits */
    struct chakra_attr name;
    uint64_t number = 0;
    if (!chakra_attr_find(node->body, NODE_ATTR, "pg_name", &name) || !name.text.at)
        return name.number;
    bool decimal = name.text.end - name.text.at <= MOST_DIGITS;
    for (const uint8_t *at = name.text.at; decimal && at < name.text.end; at++) {
        decimal = *at >= '0' && *at <= '9';
        number = number * 10 + (uint64_t)(*at - '0');
    }
    if (name.text.at == name.text.end || (decimal && number > 0))
        return number;
    return 1 +
           ll_hash_bytes(LL_HASH_START, name.text.at, (size_t)(name.text.end - name.text.at)) % (hashes - 1);
}

/* The group of this number; NULL when memory ran out. */
static struct group *find_group(struct reader *r, uint64_t number)
{
    bool is_new;
    uint32_t id = ll_map_intern(&r->group_ids, &number, sizeof number, &is_new);
    if (id == LL_NO_ID || !ll_grow(&r->groups, &r->group_capacity, (uint64_t)id + 1, sizeof *r->groups))
        return NULL;
    if (is_new)
        r->groups[id] = (struct group){.number = number, .devices = number ? 0 : r->rank_count, .stride = 1};
    return &r->groups[id];
}

/* The groups of all collectives, with their members. */
static bool find_groups(struct reader *r)
{
    for (uint64_t i = 0; i < r->rank_count; i++) {
        const struct chakra_file *file = &r->ranks[i].file;
        for (uint64_t n = 0; n < file->count; n++) {
            if (file->nodes[n].type != CHAKRA_COLLECTIVE)
                continue;
            struct group *group = find_group(r, group_number(&file->nodes[n]));
            if (!group)
                return ll_import_no_memory(r->import);
            join(group, i);
        }
    }
    return true;
}

/* The rank that a file is: its place, or of a single file the number before its ending. */
static uint64_t rank_number(const struct reader *r)
{
    const char *path = r->rank->file.input->path, *dot = strrchr(path, '.');
    uint64_t number = 0, digit = 1;
    if (r->rank_count > 1)
        return (uint64_t)(r->rank - r->ranks);
    for (; dot && dot > path && dot[-1] >= '0' && dot[-1] <= '9' && digit < 1000000000; dot--, digit *= 10)
        number += (uint64_t)(dot[-1] - '0') * digit;
    return dot && dot > path && dot[-1] == '.' ? number : 0;
}

/* The attributes of a message or a collective; how many, 0 when memory ran out. */
static uint32_t describe_exchange(struct reader *r, struct ll_attr attrs[4])
{
    uint64_t type = r->node->type;
    uint64_t other = chakra_number(r->node, type == CHAKRA_SEND ? "comm_dst" : "comm_src");
    if (type != CHAKRA_COLLECTIVE) {
        attrs[0] = (struct ll_attr){.key = LL_ATTR_PEER, .count = (int64_t)(other - rank_number(r))};
        attrs[1] = (struct ll_attr){.key = LL_ATTR_TAG, .count = (int64_t)chakra_number(r->node, "comm_tag")};
        return 2;
    }
    const struct group *group = find_group(r, group_number(r->node));
    if (!group)
        return 0;
    attrs[0] = (struct ll_attr){.key = LL_ATTR_GROUP, .count = (int64_t)group->number};
    attrs[1] = (struct ll_attr){.key = LL_ATTR_DEVICES, .count = (int64_t)group->devices};
    attrs[2] = (struct ll_attr){.key = LL_ATTR_STRIDE, .count = (int64_t)group->stride};
    return r->rank_count > 1 ? 3 : 1; /* of one rank alone nobody knows who else is in a group */
}

/* A collective or message of others: its kind by comm_type, its size by comm_size, its group by the ranks
 * that name it. */
static bool record_communication(struct reader *r, uint64_t at)
{
    uint64_t type = r->node->type;
    struct ll_import_op op = {.phase = LL_PHASE_COMM, .in_count = 1};
    struct ll_attr attrs[4];
    struct ll_imported buffer;
    op.kind = type == CHAKRA_SEND      ? LL_OP_SEND
              : type == CHAKRA_RECEIVE ? LL_OP_RECEIVE
                                       : collective_kind(chakra_number(r->node, "comm_type"));
    if (op.kind == LL_OP_NONE)
        return refuse(r, "its comm_type is none of Chakra's");
    op.attrs = attrs;
    op.attr_count = describe_exchange(r, attrs);
    if (op.attr_count == 0)
        return ll_import_no_memory(r->import);
    op.in = &buffer;
    return find_buffer(r, chakra_number(r->node, "comm_size"), &buffer) && record_foreign(r, at, &op);
}

/* A computation, or a movement where there are no FLOPs. */
static bool record_sized(struct reader *r, uint64_t at, enum ll_op_kind kind, uint64_t flops, uint64_t bytes)
{
    const struct ll_attr attr = {.key = LL_ATTR_FLOPS, .count = (int64_t)flops};
    const struct ll_shape given = {
        .rank = 1, .dtype = r->dtype, .dim = {ll_dtype_count((enum ll_dtype)r->dtype, bytes)}};
    struct ll_import_op op = {
        .kind = kind, .attrs = &attr, .attr_count = flops > 0, .given = &given, .given_count = 1};
    return record_foreign(r, at, &op);
}

/* A node without leadline.* attributes: communication, computation by FLOPs and bytes, or a gap that only
 * takes its time. */
static bool record_node_of_others(struct reader *r, uint64_t at)
{
    uint64_t flops = chakra_number(r->node, "num_ops"), bytes = chakra_number(r->node, "tensor_size");
    uint64_t type = r->node->type;
    if (ll_max(ll_max(flops, bytes), chakra_number(r->node, "comm_size")) > INT64_MAX)
        return refuse(r, "num_ops, tensor_size and comm_size must be below 2^63");
    struct chakra_attr told;
    bool sized =
        type != CHAKRA_COLLECTIVE || /* the host's part of a collective tells how long it took alone */
        chakra_attr_find(r->node->body, NODE_ATTR, "comm_type", &told) ||
        chakra_attr_find(r->node->body, NODE_ATTR, "comm_size", &told);
    if (sized && (type == CHAKRA_SEND || type == CHAKRA_RECEIVE || type == CHAKRA_COLLECTIVE))
        return record_communication(r, at);
    if ((type == CHAKRA_LOAD || type == CHAKRA_STORE) && bytes > 0)
        return record_sized(r, at, LL_OP_FOREIGN, 0, bytes);
    if (type == CHAKRA_COMPUTE && (flops > 0 || bytes > 0))
        return record_sized(r, at, LL_OP_COMPUTATION, flops, bytes);
    struct ll_import_op op = {.kind = LL_OP_GAP, .phase = LL_PHASE_FORWARD};
    return record_foreign(r, at, &op);
}

/* Ops of our own. */

static bool find_phase(const char *name, enum ll_phase *phase)
{
    unsigned i = 0;
    while (name && i < LL_PHASE_COUNT && strcmp(name, ll_phase_name((enum ll_phase)i)) != 0)
        i++;
    *phase = (enum ll_phase)i;
    return name && i < LL_PHASE_COUNT;
}

static bool read_attr(const char *text, struct ll_attr *attr)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    unsigned key = 0;
    while (equals && key < LL_ATTR_COUNT &&
           (strlen(ll_attr_name((enum ll_attr_key)key)) != length ||
            memcmp(text, ll_attr_name((enum ll_attr_key)key), length) != 0))
        key++;
    if (!equals || key == LL_ATTR_COUNT)
        return false;
    char *end;
    *attr = (struct ll_attr){.key = key};
    errno = 0;
    if (ll_attr_is_real((enum ll_attr_key)key))
        attr->real = ll_strtod(equals + 1, &end);
    else
        attr->count = strtoll(equals + 1, &end, 10);
    return end != equals + 1 && *end == '\0' && (errno == 0 || ll_attr_is_real((enum ll_attr_key)key));
}

/* The next text of a list, in the arena; NULL at the end or when memory ran out. */
static const char *next_text(struct reader *r, struct ll_wire *list)
{
    struct ll_wire_field field;
    while (ll_wire_next(list, &field) == LL_WIRE_FIELD)
        if (field.number == LIST_VALUES && field.type == LL_WIRE_BYTES)
            return ll_copy_text(&r->import->arena, (const char *)field.bytes.at,
                                (size_t)(field.bytes.end - field.bytes.at));
    return NULL;
}

static struct ll_wire list_of(struct reader *r, const char *name)
{
    struct chakra_attr attr;
    return chakra_attr_find(r->node->body, NODE_ATTR, name, &attr) ? attr.list : (struct ll_wire){0};
}

/* Keeps a tensor under the number that its trace gave it. */
static bool keep_tensor(struct reader *r, struct rank *rank, uint64_t number, const struct ll_imported *held)
{
    uint32_t id = ll_map_intern(&rank->numbers, &number, sizeof number, NULL);
    if (id == LL_NO_ID ||
        !ll_grow(&rank->tensors, &rank->tensor_capacity, (uint64_t)id + 1, sizeof *rank->tensors))
        return ll_import_no_memory(r->import);
    rank->tensors[id] = *held;
    return true;
}

static bool bring_tensors(struct reader *r, struct rank *rank)
{
    struct ll_wire list = list_of(r, "leadline.brought");
    for (const char *line; (line = next_text(r, &list));) {
        struct chakra_tensor tensor;
        if (!chakra_read_tensor(line, &tensor))
            return refuse(r, "a tensor that it reads is not described as expected");
        const struct ll_imported held =
            ll_import_tensor(r->import, tensor.name, &tensor.shape, tensor.memory);
        if (!keep_tensor(r, rank, tensor.number, &held))
            return false;
    }
    return true;
}

/* One of our ops in the making. */
struct own {
    struct ll_import_op op;
    struct ll_imported *in, *out;
    struct ll_attr attrs[LL_MAX_ATTRS];
    struct chakra_tensor *made;
    uint32_t storage_count, gap_count; /* of the controls */
    uint32_t *numbers, *descs;
};

/* How many integers a list of them has. */
static uint64_t count_list(struct ll_wire list)
{
    struct ll_wire_field field;
    uint64_t total = 0, count;
    while (ll_wire_next(&list, &field) == LL_WIRE_FIELD)
        total += ll_wire_count(&field, &count) ? count : 0;
    return total;
}

/* The tensors that a node of ours reads, by their numbers in the exported trace: a packed list of varints.
 * Each must have been brought or made by a node before. */
static bool read_inputs(struct reader *r, const struct rank *rank, struct own *own)
{
    struct ll_wire list = list_of(r, "leadline.inputs");
    struct ll_wire_field field;
    uint64_t count = count_list(list);
    if (count > LL_MAX_OP_REFS)
        return refuse(r, "it reads too many tensors");
    own->in = ll_alloc(&r->import->arena, count, sizeof *own->in);
    own->numbers = ll_alloc(&r->import->arena, count, sizeof *own->numbers);
    if (!own->in || !own->numbers)
        return ll_import_no_memory(r->import);
    while (ll_wire_next(&list, &field) == LL_WIRE_FIELD) {
        struct ll_wire packed = field.bytes;
        uint64_t number;
        while (field.type == LL_WIRE_BYTES && ll_wire_varint(&packed, &number)) {
            uint32_t id = ll_map_find(&rank->numbers, &number, sizeof number);
            if (id == LL_NO_ID || own->op.in_count == count)
                return refuse(r, "it reads a tensor that is not there");
            own->numbers[own->op.in_count] = rank->tensors[id].tensor;
            own->in[own->op.in_count++] = rank->tensors[id];
        }
    }
    own->op.in = own->in;
    return true;
}

static bool read_attrs(struct reader *r, struct own *own)
{
    struct ll_wire list = list_of(r, "leadline.attrs");
    for (const char *text; (text = next_text(r, &list));)
        if (own->op.attr_count == LL_MAX_ATTRS || !read_attr(text, &own->attrs[own->op.attr_count++]))
            return refuse(r, "an attribute of it is not known here, or not as expected");
    return true;
}

static bool read_outputs(struct reader *r, struct own *own)
{
    struct ll_wire list = list_of(r, "leadline.outputs"), again = list;
    uint32_t count = 0, read = 0;
    while (next_text(r, &list))
        count++;
    uint64_t room = (uint64_t)count + LL_MAX_OUTPUTS;
    own->made = ll_alloc(&r->import->arena, room, sizeof *own->made);
    own->out = ll_alloc(&r->import->arena, room, sizeof *own->out);
    own->descs = ll_alloc(&r->import->arena, room, sizeof *own->descs);
    struct ll_shape *given = ll_alloc(&r->import->arena, room, sizeof *given);
    if (!own->made || !own->out || !own->descs || !given)
        return ll_import_no_memory(r->import);
    for (const char *line; count <= LL_MAX_OP_REFS && read < count && (line = next_text(r, &again)); read++) {
        if (!chakra_read_tensor(line, &own->made[read]))
            return refuse(r, "a tensor that it makes is not described as expected");
        given[read] = own->made[read].shape;
    }
    own->op.given = given;
    own->op.given_count = read;
    return read == count || refuse(r, "it makes too many tensors");
}

/* What the op table makes of the inputs has to be what was written down. */
static bool check_outputs(struct reader *r, struct own *own)
{
    uint32_t count = own->op.given_count;
    for (uint32_t i = 0; i < count + LL_MAX_OUTPUTS; i++)
        own->out[i] = (struct ll_imported){LL_NONE, {.rank = LL_MAX_RANK + 1}};
    const char *trouble = ll_import_look(r->import, &own->op, own->out);
    if (trouble)
        return refuse(r, trouble);
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_shape *a = &own->out[i].shape, *b = &own->made[i].shape;
        if (a->rank != b->rank || a->dtype != b->dtype || memcmp(a->dim, b->dim, sizeof a->dim) != 0)
            return refuse(r, "its outputs do not look as the op table here says");
    }
    bool more = own->out[count].shape.rank != LL_MAX_RANK + 1;
    return !more || refuse(r, "it has fewer outputs than such an op");
}

/* Ops that it waits for although no data passes, by the ids of their nodes in this file. */
static bool find_own_controls(struct reader *r, uint64_t at, struct ll_import_op *op)
{
    const struct chakra_file *file = &r->rank->file;
    struct ll_wire list = list_of(r, "leadline.controls");
    struct ll_wire_field field;
    uint32_t kept = 0;
    uint64_t id;
    if (!find_controls(r, at, op))
        return false;
    uint32_t *controls = ll_alloc(&r->import->arena, op->control_count, sizeof *controls);
    while (controls && ll_wire_next(&list, &field) == LL_WIRE_FIELD) {
        struct ll_wire packed = field.bytes;
        while (field.type == LL_WIRE_BYTES && ll_wire_varint(&packed, &id))
            for (uint32_t i = 0; i < op->control_count && kept < op->control_count; i++)
                if (file->nodes[file->deps[file->first[at] + i]].id == id) {
                    controls[kept++] = op->controls[i];
                    break;
                }
    }
    op->controls = controls;
    op->control_count = kept;
    return controls || ll_import_no_memory(r->import);
}

/* Records an op exactly as it was exported. This passes by ll_import_record, whose rules would infer the
 * outputs anew: here classes, names and controls are those of the file. */
static void record_own(struct reader *r, struct own *own)
{
    struct ll_recorder *recorder = r->import->recorder;
    for (uint32_t i = 0; i < own->op.given_count; i++)
        own->descs[i] =
            ll_recorder_desc(recorder, own->made[i].name, &own->made[i].shape, own->made[i].memory);
    const struct ll_record record = {
        .kind = own->op.kind,
        .phase = own->op.phase,
        .scope = ll_recorder_string(recorder, own->op.scope),
        .thread = own->op.thread,
        .inputs = own->numbers,
        .input_count = own->op.in_count,
        .outputs = own->descs,
        .output_count = own->op.given_count,
        .attrs = own->attrs,
        .attr_count = own->op.attr_count,
        .controls = own->op.controls,
        .control_count = own->op.control_count,
        .storage_count = own->storage_count,
        .gap_count = own->gap_count,
        .start_ns = own->op.start_ns,
        .duration_ns = own->op.duration_ns,
    };
    uint32_t first = ll_recorder_op(recorder, &record);
    r->import->op_count++;
    for (uint32_t i = 0; i < own->op.given_count; i++)
        own->out[i] = (struct ll_imported){first == LL_NONE ? LL_NONE : first + i, own->made[i].shape};
}

/* A node of a trace that was exported from here: all that leadline.* attributes say, each part judged before
 * anything is recorded. With several ranks the rank takes the place of the thread. */
static bool record_own_node(struct reader *r, struct rank *rank, uint64_t at, const char *kind,
                            struct own *own)
{
    const char *scope = text_of(r, "leadline.scope");
    own->op = (struct ll_import_op){.kind = ll_op_find(kind),
                                    .scope = scope ? scope : "",
                                    .attrs = own->attrs,
                                    .thread = r->rank_count > 1
                                                  ? (uint32_t)(r->rank - r->ranks)
                                                  : (uint32_t)chakra_number(r->node, "leadline.thread"),
                                    .start_ns = chakra_number(r->node, "leadline.start_ns"),
                                    .duration_ns = chakra_number(r->node, "leadline.duration_ns")};
    if (own->op.kind == LL_OP_NONE)
        return refuse(r, "an op of this kind is not known here");
    if (!find_phase(text_of(r, "leadline.phase"), &own->op.phase))
        return refuse(r, "its phase is not known here");
    if (!bring_tensors(r, rank) || !read_inputs(r, rank, own) || !read_attrs(r, own) ||
        !read_outputs(r, own) || !check_outputs(r, own) || !find_own_controls(r, at, &own->op))
        return false;
    uint64_t count = own->op.control_count; /* of which the last are of these kinds */
    own->gap_count = (uint32_t)ll_min(count, chakra_number(r->node, "leadline.gap_controls"));
    own->storage_count =
        (uint32_t)ll_min(count - own->gap_count, chakra_number(r->node, "leadline.storage_controls"));
    record_own(r, own);
    for (uint32_t i = 0; i < own->op.given_count; i++)
        if (!keep_tensor(r, rank, own->made[i].number, &own->out[i]))
            return false;
    return true;
}

/* All together. */

/* A node of ours as it was, one of others by what it says. */
static bool record_node(struct reader *r, struct rank *rank, struct own *own)
{
    ll_import_progress(r->import, "recording", rank->next, rank->file.count);
    uint64_t at = rank->file.order[rank->next++];
    r->rank = rank;
    r->node = &rank->file.nodes[at];
    const char *kind = text_of(r, "leadline.kind");
    bool done = kind ? record_own_node(r, rank, at, kind, own) : record_node_of_others(r, at);
    rank->ops[at] = (uint32_t)r->op_count++;
    return done;
}

static uint64_t step_of(const struct rank *rank)
{
    if (rank->next == rank->file.count)
        return UINT64_MAX;
    return chakra_number(&rank->file.nodes[rank->file.order[rank->next]], "leadline.step");
}

/* Rank after rank, step after step. The first node that is wrong ends it, for others may build on it. */
static bool record_all(struct reader *r, struct own *own)
{
    uint64_t step = 0, next = 0;
    for (bool begun = false; next != UINT64_MAX; step = next) {
        next = UINT64_MAX;
        for (uint64_t i = 0; i < r->rank_count; i++) {
            for (struct rank *rank = &r->ranks[i]; step_of(rank) <= step && rank->next < rank->file.count;) {
                if (!begun)
                    ll_recorder_step_begin(r->import->recorder);
                begun = true;
                if (!record_node(r, rank, own))
                    return false;
            }
            next = step_of(&r->ranks[i]) < next ? step_of(&r->ranks[i]) : next;
        }
        begun = false;
    }
    return true;
}

/* Whether a trace of ours was exported, whose nodes stand in the order in which its ops ran. */
static bool has_own_nodes(const struct reader *r)
{
    struct chakra_attr attr;
    return r->ranks[0].file.count > 0 &&
           chakra_attr_find(r->ranks[0].file.nodes[0].body, NODE_ATTR, "leadline.kind", &attr);
}

/* The facts of the trace that it was, or its name. */
static bool add_facts(struct reader *r)
{
    static const char prefix[] = "leadline.fact.";
    struct ll_wire body = r->ranks[0].file.metadata, name;
    struct ll_facts *facts = &r->import->facts;
    struct chakra_attr attr;
    bool named = false;
    while (chakra_attr_next(&body, METADATA_ATTR, &name, &attr)) {
        size_t length = (size_t)(name.end - name.at), skipped = sizeof prefix - 1;
        if (length <= skipped || memcmp(name.at, prefix, skipped) != 0)
            continue;
        const char *key = ll_wire_text((struct ll_wire){name.at + skipped, name.end}, facts->arena);
        const char *value = ll_wire_text(attr.text, facts->arena);
        if (!key || !value)
            return ll_import_no_memory(r->import);
        named |= strcmp(key, "model") == 0;
        if (strcmp(key, "native") != 0 && strcmp(key, "leadline") != 0)
            ll_facts_add(facts, key, "%s", value);
    }
    const char *base = ll_base_name(r->import->inputs[0].path);
    if (!named)
        ll_facts_add(facts, "model", "%.*s", (int)strcspn(base, "."), base);
    if (r->rank_count > 1)
        ll_facts_add(facts, "ranks", "%" PRIu64, r->rank_count);
    if (r->rank_count > 1 && !has_own_nodes(r))
        ll_facts_add(facts, "ranks.order", "readiness");
    return true;
}

/* Reads the files of all ranks, mistakes of all of them reported at once. Control dependencies that lead
 * nowhere, or against the data, are dropped and counted, for many writers emit such. */
static bool read_ranks(struct reader *r)
{
    enum ll_dtype dtype;
    uint64_t dropped = 0;
    bool right = ll_series_dtype(r->import, LL_F32, &dtype);
    r->dtype = (uint8_t)dtype;
    for (uint64_t i = 0; i < r->rank_count; i++) {
        struct rank *rank = &r->ranks[i];
        right = chakra_file_read(r->import, &r->import->inputs[i], &rank->file) && right;
        dropped += rank->file.dropped;
        rank->ops = ll_alloc(&r->import->arena, rank->file.count, sizeof *rank->ops);
        if (!rank->ops)
            return ll_import_no_memory(r->import);
    }
    if (right && dropped > 0)
        ll_facts_add(&r->import->facts, "imported.dropped", "%" PRIu64, dropped);
    if (right && dropped > 0 && r->import->notes)
        ll_complain(r->import->notes, (struct ll_place){.file = r->import->inputs[0].path},
                    "%" PRIu64 " control dependencies are dropped: %s; what passes data stays", dropped,
                    r->rank_count > 1 ? "they wait for nodes that are not there, or against the data"
                    : r->ranks[0].file.data_only ? "they and the data wait for each other"
                                                 : "they wait for nodes that are not in the file");
    return right;
}

bool ll_import_CHAKRA(struct ll_import *import)
{
    struct reader r = {.import = import, .rank_count = import->input_count};
    struct own own;
    r.ranks = ll_alloc(&import->arena, r.rank_count, sizeof *r.ranks);
    bool done = r.ranks ? true : ll_import_no_memory(import);
    done = done && read_ranks(&r) && find_groups(&r) && add_facts(&r) && ll_import_begin(import) &&
           record_all(&r, &own) &&
           (r.rank_count > 1 || chakra_cut_steps(import, &r.ranks[0].file, r.ranks[0].ops));
    for (uint64_t i = 0; r.ranks && i < r.rank_count; i++) {
        chakra_file_release(&r.ranks[i].file);
        ll_map_release(&r.ranks[i].numbers);
        free(r.ranks[i].tensors);
    }
    ll_map_release(&r.buffers);
    ll_map_release(&r.group_ids);
    free(r.buffer);
    free(r.groups);
    return done;
}
