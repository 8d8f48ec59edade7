/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of graphs within graphs (branches, loops, scans) and of what is no tensor (lists of them, and what
 * may be there or not).
 *
 * A trace has neither: a branch that is taken and each trip of a loop are nodes of the network around them,
 * and a list is known as its elements. So how often a loop runs has to be known: by constants, by what the
 * file tells of what it stacks, or by the user. The values of a trip are forgotten before the next; those
 * that it hands on are kept as values of their own. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* A value by itself, which needs nothing of where it came from: a tensor of the trace, a constant, a list. */
static struct onnx_value kept(struct onnx *o, uint32_t id)
{
    struct onnx_value value = o->values[id];
    if (value.known && !value.list && !value.absent && !(value.constant && value.base == id)) {
        const struct ll_imported held = onnx_take(o, &o->values[id], ONNX_PLAIN);
        const double *numbers = value.constant ? onnx_numbers(o, &o->values[id]) : NULL;
        value = (struct onnx_value){.known = true,
                                    .made = true,
                                    .constant = value.constant,
                                    .numbers = numbers,
                                    .shape = value.shape,
                                    .memory = value.memory,
                                    .has = {[ONNX_PLAIN] = !o->folding},
                                    .held = {[ONNX_PLAIN] = held}};
    }
    value.base = id;
    return value;
}

static void place(struct onnx *o, uint32_t id, struct onnx_value value)
{
    value.base = id;
    o->values[id] = value;
}

/* Output i of the node is such a value. */
static void put(struct onnx *o, uint32_t i, const struct onnx_value *value)
{
    if (i < o->node->output_count && o->node->outputs[i] != LL_NO_ID)
        place(o, o->node->outputs[i], *value);
}

/* Follows a graph within the node at work, which is at work again behind it. */
static bool follow_within(struct onnx *o, const struct onnx_graph *graph)
{
    const struct onnx_node *node = o->node;
    const struct onnx_operator *row = o->row;
    bool folding = o->folding;
    if (o->depth == ONNX_MOST_DEPTH)
        return onnx_refuse(o, "it lies too deep");
    if (graph->node_count > o->nodes_left)
        return onnx_refuse(o, "the loops of the model become too many nodes");
    o->nodes_left -= graph->node_count;
    o->depth++;
    bool right = onnx_follow_graph(o, graph);
    o->depth--;
    o->node = node;
    o->row = row;
    o->folding = folding;
    return right;
}

static bool read_within(struct onnx *o, const char *name, struct onnx_graph *graph)
{
    struct onnx_attr attr;
    if (!onnx_attr_find(o->node, name, &attr) || !attr.graph.at)
        return onnx_refuse(o, "there is no graph `%s` in it", name);
    o->file.call = o->node->call; /* in whose body it is */
    bool read = onnx_graph_read(&o->file, attr.graph, graph);
    o->file.call = NULL;
    return read && onnx_number_values(o, graph);
}

static bool known_output(struct onnx *o, const struct onnx_graph *graph, uint64_t i)
{
    uint32_t id = i < graph->output_count ? graph->outputs[i].value : LL_NO_ID;
    return (id != LL_NO_ID && o->values[id].known) ||
           onnx_refuse(o, "nothing in it makes its output %u", (unsigned)i);
}

/* What the user calls the node in -p WHAT.NAME=N; NULL when memory ran out. */
static const char *choice_of(struct onnx *o, const char *what)
{
    const char *name = o->node->name;
    if (!*name && o->node->output_count > 0 && o->node->outputs[0] != LL_NO_ID) {
        const struct ll_map_entry *entry = &o->file.names.entries[o->node->outputs[0]];
        const uint8_t *bytes = entry->bytes;
        name = ll_wire_text((struct ll_wire){bytes, bytes + entry->length}, &o->import->arena);
    }
    return name ? ll_format(&o->import->arena, "%s.%.200s", what, name) : NULL;
}

bool onnx_asks_trips(struct onnx *o, struct ll_wire body, unsigned depth)
{
    enum { NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTR = 5, ATTR_GRAPH = 6, GRAPH_NODE = 1 };
    struct ll_wire all = body, name = {NULL, NULL}, output = {NULL, NULL};
    struct ll_wire_field field, part, node;
    bool loop = false;
    while (ll_wire_next(&all, &field) == LL_WIRE_FIELD) {
        struct ll_wire attr = field.bytes;
        if (field.type != LL_WIRE_BYTES)
            continue;
        name = field.number == NODE_NAME ? field.bytes : name;
        output = field.number == NODE_OUTPUT && !output.at ? field.bytes : output;
        loop |= field.number == NODE_TYPE && attr.end - attr.at == 4 && memcmp(attr.at, "Loop", 4) == 0;
        while (field.number == NODE_ATTR && depth < ONNX_MOST_DEPTH &&
               ll_wire_next(&attr, &part) == LL_WIRE_FIELD)
            while (part.number == ATTR_GRAPH && part.type == LL_WIRE_BYTES &&
                   ll_wire_next(&part.bytes, &node) == LL_WIRE_FIELD)
                if (node.number == GRAPH_NODE && node.type == LL_WIRE_BYTES &&
                    !onnx_asks_trips(o, node.bytes, depth + 1))
                    return false;
    }
    if (!loop)
        return true;
    const char *text = ll_wire_text(name.at && name.at < name.end ? name : output, &o->import->arena);
    const char *key = text ? ll_format(&o->import->arena, "trips.%.200s", text) : NULL;
    if (key)
        ll_import_choice(o->import, key);
    return key || ll_import_no_memory(o->import);
}

/* Which branch: the one that a constant names, else the longer one, for nobody knows. */
static bool choose_branch(struct onnx *o, struct onnx_graph *branch)
{
    struct onnx_value *condition = onnx_need(o, 0);
    struct onnx_graph other;
    if (!condition)
        return false;
    const double *number = onnx_numbers(o, condition);
    if (number)
        return read_within(o, *number != 0 ? "then_branch" : "else_branch", branch);
    if (!read_within(o, "then_branch", branch) || !read_within(o, "else_branch", &other))
        return false;
    bool second = other.node_count > branch->node_count;
    onnx_note(o, second
                     ? "which way it goes is not known before it runs; the longer branch is taken, `else`"
                     : "which way it goes is not known before it runs; the longer branch is taken, `then`");
    *branch = second ? other : *branch;
    return true;
}

/* A branch is part of the graph around it; exporters leave such behind where they did not know a size. */
bool onnx_rule_IF(struct onnx *o)
{
    struct onnx_graph branch;
    if (!choose_branch(o, &branch) || !follow_within(o, &branch))
        return false;
    o->folding = false;
    for (uint32_t i = 0; i < o->node->output_count && i < branch.output_count; i++) {
        if (!known_output(o, &branch, i))
            return false;
        const struct onnx_value value = kept(o, branch.outputs[i].value);
        if (o->node->outputs[i] != LL_NO_ID && o->values[o->node->outputs[i]].made)
            return onnx_refuse(o, "its output %u is there already", i);
        put(o, i, &value);
    }
    return true;
}

/* A loop: the body, the values that it hands from trip to trip, and pieces that it stacks. */
struct loop {
    struct onnx_graph body;
    uint64_t first,
        room; /* values of the body are those from `first` on, and there is room for so many trips */
    uint64_t carried, stacked; /* how many values of either kind */
    struct onnx_value
        *hidden; /* values around it whose names nodes of the body use anew, by place; NULL: none */
    struct onnx_value *now;     /* what is handed on, by number */
    struct ll_imported *pieces; /* [stacked][trips] */
    uint64_t trips;
};

/* Values around a loop whose names its nodes use for values of their own: what they are is put aside, and is
 * there again behind the loop. */
static bool hide(struct onnx *o, struct loop *loop)
{
    uint64_t count = 0, at = 0;
    for (uint64_t n = 0; n < loop->body.node_count; n++)
        count += loop->body.nodes[n].output_count;
    loop->hidden = ll_alloc(&o->import->arena, (size_t)count + 1, sizeof *loop->hidden);
    for (uint64_t n = 0; loop->hidden && n < loop->body.node_count; n++)
        for (uint32_t i = 0; i < loop->body.nodes[n].output_count; i++, at++)
            if (loop->body.nodes[n].outputs[i] != LL_NO_ID)
                loop->hidden[at] = o->values[loop->body.nodes[n].outputs[i]];
    return loop->hidden || ll_import_no_memory(o->import);
}

static void show(struct onnx *o, const struct loop *loop)
{
    uint64_t at = 0;
    for (uint64_t n = 0; n < loop->body.node_count; n++)
        for (uint32_t i = 0; i < loop->body.nodes[n].output_count; i++, at++)
            if (loop->body.nodes[n].outputs[i] != LL_NO_ID && loop->hidden[at].made)
                o->values[loop->body.nodes[n].outputs[i]] = loop->hidden[at];
}

static bool open_loop(struct onnx *o, uint64_t trips, struct loop *loop)
{
    loop->trips = trips;
    loop->now = ll_alloc(&o->import->arena, loop->carried + 1, sizeof *loop->now);
    uint64_t nodes = ll_mul(trips, ll_max(1, loop->body.node_count));
    if (nodes > o->nodes_left)
        return onnx_refuse(o, "%" PRIu64 " trips become too many nodes", trips);
    loop->pieces =
        ll_alloc(&o->import->arena, (size_t)(loop->stacked * trips) + LL_MAX_OUTPUTS, sizeof *loop->pieces);
    return loop->now && loop->pieces ? hide(o, loop) : ll_import_no_memory(o->import);
}

/* Forgets all that the trip before has made, and makes constants of the body anew. */
static void begin_trip(struct onnx *o, const struct loop *loop)
{
    for (uint64_t n = 0; n < loop->body.node_count; n++)
        for (uint32_t i = 0; i < loop->body.nodes[n].output_count; i++)
            if (loop->body.nodes[n].outputs[i] != LL_NO_ID)
                o->values[loop->body.nodes[n].outputs[i]] = (struct onnx_value){0};
    for (uint64_t id = loop->first; id < o->value_count; id++)
        if (!o->values[id].lasting)
            o->values[id] = (struct onnx_value){0};
}

/* Behind a trip: carried values are those of outputs from `at` on, pieces those behind them. */
static bool end_trip(struct onnx *o, struct loop *loop, uint64_t at, uint64_t trip)
{
    for (uint64_t i = 0; i < loop->carried + loop->stacked; i++) {
        if (!known_output(o, &loop->body, at + i))
            return false;
        uint32_t id = loop->body.outputs[at + i].value;
        if (i < loop->carried)
            loop->now[i] = kept(o, id);
        else if (o->values[id].list)
            return onnx_refuse(o, "lists cannot be stacked");
        else
            loop->pieces[(i - loop->carried) * loop->trips + trip] = onnx_take(o, &o->values[id], ONNX_PLAIN);
    }
    return true;
}

/* Pieces one behind the other along a new axis; of them as many as there were trips. */
static bool stack(struct onnx *o, struct ll_imported *pieces, uint64_t count, int64_t axis, uint32_t output)
{
    struct ll_imported out[LL_MAX_OUTPUTS];
    struct ll_shape shape = pieces[0].shape, each = shape;
    unsigned at;
    if (shape.rank == LL_MAX_RANK)
        return onnx_refuse(o, "there would be too many dimensions");
    if (count == 0 || !onnx_axis(o, axis, shape.rank + 1u, &at))
        return count == 0 && onnx_refuse(o, "nothing is stacked");
    each.rank++;
    for (unsigned d = each.rank - 1u; d > at; d--)
        each.dim[d] = shape.dim[d - 1];
    each.dim[at] = 1;
    memset(each.role, 0, sizeof each.role);
    for (uint64_t i = 0; i < count; i++)
        pieces[i] = onnx_view(o, pieces[i], &each);
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = at};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = pieces, .in_count = (uint32_t)count, .attrs = &attr, .attr_count = 1};
    if (count > 1 && !onnx_emit(o, &op, out))
        return false;
    each.dim[at] = count;
    onnx_put(o, output, count > 1 ? out[0] : pieces[0], ONNX_PLAIN, &each);
    return true;
}

/* All that a loop gives: the last values that it handed on, and its stacks. */
static bool close_loop(struct onnx *o, struct loop *loop, uint64_t trips)
{
    o->folding = false;
    show(o, loop);
    for (uint64_t i = 0; i < loop->carried; i++)
        put(o, (uint32_t)i, &loop->now[i]);
    for (uint64_t i = 0; i < loop->stacked; i++) {
        int64_t axes[64];
        uint64_t given = onnx_attr_list(o, "scan_output_axes", axes, 64);
        uint32_t output = (uint32_t)(loop->carried + i);
        struct ll_shape told;
        if (output >= o->node->output_count || o->node->outputs[output] == LL_NO_ID)
            continue;
        if (trips > 0 &&
            !stack(o, loop->pieces + i * loop->trips, trips, i < given && i < 64 ? axes[i] : 0, output))
            return false;
        if (trips == 0) {
            if (!onnx_told(o, output, &told))
                return onnx_refuse(o, "nothing is stacked, and nothing tells what it would look like");
            onnx_put_constant(o, output, &told, NULL);
        }
    }
    return true;
}

/* How often a loop runs: as the user says, as a constant says, or as often as the file tells that it stacks.
 */
static bool count_trips(struct onnx *o, const struct loop *loop, uint64_t *trips, bool *fixed)
{
    const char *key = choice_of(o, "trips");
    struct ll_shape told;
    struct onnx_value *most = onnx_input(o, 0);
    const double *number = most ? onnx_numbers(o, most) : NULL;
    if (!key)
        return ll_import_no_memory(o->import);
    *fixed = ll_import_choice(o->import, key) != NULL;
    if (!ll_import_count(o->import, key, 0, UINT32_MAX, 0, trips))
        return false;
    if (*fixed)
        return true;
    for (uint64_t i = 0; i < loop->stacked && !number; i++)
        if (onnx_told(o, (uint32_t)(loop->carried + i), &told) && told.rank > 0) {
            *trips = told.dim[0];
            *fixed = true;
            return true;
        }
    if (!number || !(*number <= (double)UINT32_MAX))
        return onnx_refuse(o, "how often it runs is not known before it runs; say -p %.100s=N", key);
    *trips = *number > 0 ? (uint64_t)*number : 0;
    return true;
}

/* Whether a condition says to go on: true or false where it is known, which it need not be where the number
 * of trips is fixed otherwise. */
static bool goes_on(struct onnx *o, struct onnx_value *condition, bool fixed, bool *on)
{
    const double *number = condition ? onnx_numbers(o, condition) : NULL;
    *on = !number || *number != 0;
    const char *key = number || fixed || !condition ? NULL : choice_of(o, "trips");
    return !key || onnx_refuse(o, "when it ends is not known before it runs; say -p %.100s=N", key);
}

/* A number that a body reads. */
static struct onnx_value number_value(struct onnx *o, uint8_t dtype, double number)
{
    double *numbers = onnx_room(o, 1);
    if (numbers)
        *numbers = number;
    return (struct onnx_value){.known = true,
                               .made = true,
                               .constant = true,
                               .shape = {.dtype = dtype},
                               .numbers = numbers,
                               .memory = LL_WORKSPACE};
}

/* A body may read a number as a list of one. */
static void look_like(const struct loop *loop, uint64_t i, struct onnx_value *number)
{
    const struct onnx_info *info = i < loop->body.input_count ? &loop->body.inputs[i] : NULL;
    if (info && info->known && info->shape.rank == 1) {
        number->shape.rank = 1;
        number->shape.dim[0] = 1;
    }
}

static void give(struct onnx *o, const struct loop *loop, uint64_t i, const struct onnx_value *value)
{
    if (i < loop->body.input_count && loop->body.inputs[i].value != LL_NO_ID)
        place(o, loop->body.inputs[i].value, *value);
}

/* Loop(most trips, condition, values ...): the body gets the number of the trip, the condition and the
 * values, and gives a condition, the values and what is stacked. */
bool onnx_rule_LOOP(struct onnx *o)
{
    struct loop loop = {.first = o->value_count, .carried = ll_max(2, o->node->input_count) - 2};
    uint64_t trips = 0, done = 0;
    bool fixed = false, on = true;
    if (!read_within(o, "body", &loop.body))
        return false;
    if (loop.body.output_count < 1 + loop.carried)
        return onnx_refuse(o, "its body must give a condition and all that it is given");
    loop.stacked = loop.body.output_count - 1 - loop.carried;
    if (!count_trips(o, &loop, &trips, &fixed) || !open_loop(o, trips, &loop) ||
        !goes_on(o, onnx_input(o, 1), true, &on))
        return false;
    for (uint64_t i = 0; i < loop.carried; i++) {
        if (!onnx_input(o, (uint32_t)(2 + i)))
            return onnx_refuse(o, "input %u is missing", (unsigned)(2 + i));
        loop.now[i] = kept(o, o->node->inputs[2 + i]);
    }
    o->folding = false;
    for (; done < trips && on; done++) {
        begin_trip(o, &loop);
        struct onnx_value trip = number_value(o, LL_I64, (double)done), goes = number_value(o, LL_BOOL, 1);
        look_like(&loop, 0, &trip);
        look_like(&loop, 1, &goes);
        give(o, &loop, 0, &trip);
        give(o, &loop, 1, &goes);
        for (uint64_t i = 0; i < loop.carried; i++)
            give(o, &loop, 2 + i, &loop.now[i]);
        if (!follow_within(o, &loop.body) || !end_trip(o, &loop, 1, done) ||
            !known_output(o, &loop.body, 0) ||
            !goes_on(o, &o->values[loop.body.outputs[0].value], fixed, &on))
            return false;
    }
    return close_loop(o, &loop, done);
}

/* Piece `trip` of what is scanned. */
static bool take_piece(struct onnx *o, uint32_t input, unsigned axis, uint64_t trip, struct onnx_value *piece)
{
    struct onnx_value *x = onnx_need(o, input);
    struct ll_imported held;
    if (!x)
        return false;
    struct ll_shape shape = x->shape;
    for (unsigned d = axis; d + 1u < shape.rank; d++)
        shape.dim[d] = shape.dim[d + 1];
    shape.dim[--shape.rank] = 0;
    if (!onnx_cut(o, onnx_take(o, x, ONNX_PLAIN), axis, trip, 1, &held))
        return false;
    *piece = (struct onnx_value){.known = true,
                                 .made = true,
                                 .shape = shape,
                                 .memory = LL_WORKSPACE,
                                 .has = {[ONNX_PLAIN] = true},
                                 .held = {[ONNX_PLAIN] = onnx_view(o, held, &shape)}};
    return true;
}

/* Scan(states ..., scanned ...): as many trips as the scanned values are long along their axes. Up to
 * version 8 lengths come first, and a batch is the first dimension of all, of which one at a time is looked
 * at. */
bool onnx_rule_SCAN(struct onnx *o)
{
    struct loop loop = {.first = o->value_count};
    uint64_t scanned = (uint64_t)onnx_attr_integer(o, "num_scan_inputs", 0), trips = 0;
    bool old = o->file.opset > 0 && o->file.opset < 9;
    uint32_t first = old, count = o->node->input_count;
    int64_t axes[64] = {0}, backwards[64] = {0};
    if (!read_within(o, "body", &loop.body))
        return false;
    if (scanned == 0 || scanned > 64 || count < first + scanned ||
        loop.body.output_count < count - first - scanned)
        return onnx_refuse(o, "its states and what it scans cannot be told apart");
    loop.carried = count - first - scanned;
    loop.stacked = loop.body.output_count - loop.carried;
    onnx_attr_list(o, "scan_input_axes", axes, 64);
    onnx_attr_list(o, old ? "directions" : "scan_input_directions", backwards, 64);
    for (uint64_t i = 0; i < scanned; i++) {
        struct onnx_value *x = onnx_need(o, (uint32_t)(first + loop.carried + i));
        unsigned axis;
        if (!x || !onnx_axis(o, old ? 1 : axes[i], x->shape.rank, &axis))
            return false;
        axes[i] = axis;
        if (old && x->shape.dim[0] != 1)
            return onnx_refuse(o, "a batch is scanned since version 9 only");
        trips = x->shape.dim[axis];
    }
    if (!open_loop(o, trips, &loop))
        return false;
    for (uint64_t i = 0; i < loop.carried; i++) {
        if (!onnx_need(o, (uint32_t)(first + i)))
            return false;
        loop.now[i] = kept(o, o->node->inputs[first + i]);
    }
    o->folding = false;
    for (uint64_t trip = 0; trip < trips; trip++) {
        begin_trip(o, &loop);
        for (uint64_t i = 0; i < loop.carried; i++)
            give(o, &loop, i, &loop.now[i]);
        for (uint64_t i = 0; i < scanned; i++) {
            struct onnx_value piece;
            uint64_t at = backwards[i] ? trips - 1 - trip : trip;
            if (!take_piece(o, (uint32_t)(first + loop.carried + i), (unsigned)axes[i], at, &piece))
                return false;
            give(o, &loop, loop.carried + i, &piece);
        }
        if (!follow_within(o, &loop.body) || !end_trip(o, &loop, 0, trip))
            return false;
    }
    return close_loop(o, &loop, trips);
}

/* Lists of tensors, whose elements are values of their own. */

/* Input i as a list; NULL after a complaint. */
static struct onnx_value *need_list(struct onnx *o, uint32_t i)
{
    struct onnx_value *value = onnx_input(o, i);
    if (value && value->list)
        return value;
    onnx_refuse(o, value ? "input %u is no list" : "input %u is missing", i);
    return NULL;
}

/* Output 0 is a list of so many values. */
static bool put_list(struct onnx *o, const uint32_t *items, uint64_t count)
{
    const struct onnx_value value = {
        .known = true, .made = true, .list = true, .items = items, .item_count = count};
    put(o, 0, &value);
    return true;
}

/* Room for so many elements and one more. */
static uint32_t *new_items(struct onnx *o, uint64_t count)
{
    uint32_t *items = ll_alloc(&o->import->arena, (size_t)count + 1, sizeof *items);
    if (!items)
        ll_import_no_memory(o->import);
    return items;
}

/* Input i as an element that lasts; LL_NO_ID after a complaint. */
static uint32_t new_item(struct onnx *o, uint32_t i)
{
    if (!onnx_need(o, i))
        return LL_NO_ID;
    struct onnx_value value = kept(o, o->node->inputs[i]);
    value.lasting = true;
    return onnx_new_value(o, &value);
}

bool onnx_rule_LIST(struct onnx *o)
{
    uint32_t count = o->node->input_count, *items = new_items(o, count);
    for (uint32_t i = 0; items && i < count; i++)
        if ((items[i] = new_item(o, i)) == LL_NO_ID)
            return false;
    return items && put_list(o, items, count);
}

bool onnx_rule_LIST_EMPTY(struct onnx *o)
{
    return put_list(o, NULL, 0);
}

/* A place in a list, by input i; the last one, or behind it, where nothing is said. */
static bool read_place(struct onnx *o, uint32_t i, uint64_t count, bool behind, uint64_t *at)
{
    int64_t place = behind ? (int64_t)count : (int64_t)count - 1;
    uint64_t one;
    if (onnx_input(o, i) && !onnx_need_integers(o, i, &place, 1, &one))
        return false;
    place = place < 0 ? place + (int64_t)count : place;
    *at = (uint64_t)place;
    return (place >= 0 && (uint64_t)place < count + behind) ||
           onnx_refuse(o, "there is no such place in the list");
}

bool onnx_rule_LIST_INSERT(struct onnx *o)
{
    struct onnx_value *list = need_list(o, 0);
    uint64_t at;
    if (!list)
        return false;
    uint64_t count = list->item_count;
    const uint32_t *before = list->items;
    uint32_t *items = new_items(o, count);
    if (!items || !read_place(o, 2, count, true, &at))
        return false;
    for (uint64_t i = 0; i < count; i++)
        items[i + (i >= at)] = before[i];
    items[at] = new_item(o, 1);
    return items[at] != LL_NO_ID && put_list(o, items, count + 1);
}

bool onnx_rule_LIST_ERASE(struct onnx *o)
{
    struct onnx_value *list = need_list(o, 0);
    uint32_t *items = list ? new_items(o, list->item_count) : NULL;
    uint64_t at, count = 0;
    if (!items || !read_place(o, 1, list->item_count, false, &at))
        return false;
    for (uint64_t i = 0; i < list->item_count; i++)
        if (i != at)
            items[count++] = list->items[i];
    return put_list(o, items, count);
}

bool onnx_rule_LIST_AT(struct onnx *o)
{
    struct onnx_value *list = need_list(o, 0);
    uint64_t at;
    if (!list || !read_place(o, 1, list->item_count, false, &at))
        return false;
    const struct ll_shape shape = o->values[list->items[at]].shape;
    onnx_put_view(o, 0, &o->values[list->items[at]], &shape);
    return true;
}

bool onnx_rule_LIST_LENGTH(struct onnx *o)
{
    struct onnx_value *list = need_list(o, 0);
    if (!list)
        return false;
    struct onnx_value value = number_value(o, LL_I64, (double)list->item_count);
    put(o, 0, &value);
    return true;
}

/* SplitToSequence: parts along an axis, as large as input 1 says, or single ones. */
bool onnx_rule_LIST_SPLIT(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *sizes = onnx_input(o, 1);
    const double *numbers = sizes ? onnx_numbers(o, sizes) : NULL;
    unsigned axis;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", 0), x->shape.rank, &axis))
        return false;
    if (sizes && !numbers)
        return onnx_refuse(o, "how large the parts are is not known before it runs");
    uint64_t whole = x->shape.dim[axis], count = sizes ? ll_elements(&sizes->shape) : whole, begin = 0;
    bool equal = !sizes || sizes->shape.rank == 0, flat = !sizes && onnx_attr_integer(o, "keepdims", 1) == 0;
    uint64_t each = equal && sizes ? (uint64_t)ll_max(1, (uint64_t)*numbers) : 1;
    count = equal ? ll_ceil_div(whole, each) : count;
    uint32_t *items = new_items(o, count);
    const struct ll_imported held = onnx_take(o, x, ONNX_PLAIN);
    const struct ll_shape before = x->shape;
    for (uint64_t i = 0; items && i < count; i++) {
        uint64_t size = equal ? ll_min(each, whole - begin) : (uint64_t)ll_max(0, (uint64_t)numbers[i]);
        struct onnx_value part = {.known = true, .made = true, .lasting = true, .memory = LL_WORKSPACE};
        struct ll_imported piece;
        if (size > whole - begin)
            return onnx_refuse(o, "the parts are not the whole");
        if (!onnx_cut(o, held, axis, begin, size, &piece))
            return false;
        part.shape = before;
        part.shape.dim[axis] = size;
        if (flat) {
            for (unsigned d = axis; d + 1u < before.rank; d++)
                part.shape.dim[d] = before.dim[d + 1];
            part.shape.dim[--part.shape.rank] = 0;
            piece = onnx_view(o, piece, &part.shape);
        }
        part.has[ONNX_PLAIN] = true;
        part.held[ONNX_PLAIN] = piece;
        if ((items[i] = onnx_new_value(o, &part)) == LL_NO_ID)
            return ll_import_no_memory(o->import);
        begin += size;
    }
    return items && put_list(o, items, count);
}

/* ConcatFromSequence: along an axis, or stacked along a new one. */
bool onnx_rule_LIST_CONCAT(struct onnx *o)
{
    struct onnx_value *list = need_list(o, 0);
    int64_t at = onnx_attr_integer(o, "axis", 0);
    unsigned axis;
    if (!list || list->item_count == 0)
        return list && onnx_refuse(o, "there is nothing to join");
    uint64_t count = list->item_count;
    struct ll_imported *in = ll_alloc(&o->import->arena, (size_t)count + LL_MAX_OUTPUTS, sizeof *in);
    if (!in)
        return ll_import_no_memory(o->import);
    struct ll_shape shape = o->values[list->items[0]].shape;
    for (uint64_t i = 0; i < count; i++)
        in[i] = onnx_take(o, &o->values[list->items[i]], ONNX_PLAIN);
    if (onnx_attr_integer(o, "new_axis", 0) != 0)
        return stack(o, in, count, at, 0);
    if (!onnx_axis(o, at, shape.rank, &axis))
        return false;
    shape.dim[axis] = 0;
    for (uint64_t i = 0; i < count; i++)
        shape.dim[axis] = ll_add(shape.dim[axis], axis < in[i].shape.rank ? in[i].shape.dim[axis] : 0);
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = axis};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = in, .in_count = (uint32_t)count, .attrs = &attr, .attr_count = 1};
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], ONNX_PLAIN, &shape);
    return true;
}

/* SequenceMap: the body once for each element of input 0; of other inputs that are lists the same element. */
bool onnx_rule_LIST_MAP(struct onnx *o)
{
    struct onnx_value *list = need_list(o, 0);
    struct loop loop = {.first = o->value_count};
    if (!list)
        return false;
    uint64_t count = list->item_count;
    if (!read_within(o, "body", &loop.body) || !open_loop(o, count, &loop))
        return false;
    uint32_t outputs = (uint32_t)ll_min(o->node->output_count, loop.body.output_count);
    uint32_t *items = new_items(o, ll_mul(count, outputs));
    for (uint64_t k = 0; items && k < count; k++) {
        begin_trip(o, &loop);
        for (uint32_t i = 0; i < o->node->input_count; i++) {
            struct onnx_value *in = onnx_input(o, i);
            if (!in || (in->list && k >= in->item_count))
                return onnx_refuse(o, "input %u is missing, or shorter than the first", i);
            const struct onnx_value value = kept(o, in->list ? in->items[k] : o->node->inputs[i]);
            give(o, &loop, i, &value);
        }
        if (!follow_within(o, &loop.body))
            return false;
        for (uint32_t i = 0; i < outputs; i++) {
            if (!known_output(o, &loop.body, i))
                return false;
            struct onnx_value value = kept(o, loop.body.outputs[i].value);
            value.lasting = true;
            if ((items[i * count + k] = onnx_new_value(o, &value)) == LL_NO_ID)
                return ll_import_no_memory(o->import);
        }
    }
    show(o, &loop);
    for (uint32_t i = 0; items && i < outputs; i++) {
        const struct onnx_value value = {
            .known = true, .made = true, .list = true, .items = items + i * count, .item_count = count};
        put(o, i, &value);
    }
    return items != NULL;
}

/* What may be there or not. */

bool onnx_rule_OPTIONAL(struct onnx *o)
{
    struct onnx_value value = {.known = true, .made = true, .absent = true};
    if (onnx_input(o, 0))
        value = kept(o, o->node->inputs[0]);
    put(o, 0, &value);
    return true;
}

bool onnx_rule_OPTIONAL_HAS(struct onnx *o)
{
    struct onnx_value *x = onnx_input(o, 0);
    struct onnx_value value = number_value(o, LL_BOOL, x && !x->absent);
    put(o, 0, &value);
    return true;
}

bool onnx_rule_OPTIONAL_GET(struct onnx *o)
{
    struct onnx_value *x = onnx_input(o, 0);
    if (!x || x->absent)
        return onnx_refuse(o, "there is nothing in it");
    return onnx_rule_IDENTITY(o);
}
