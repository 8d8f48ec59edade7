/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the ops in their order. Of each op: along which of its axes (sim/parallel/axes.h) is it
 * divided, if any? A product whose weight nobody has divided yet decides for it; any other op takes the axis
 * that costs the fewest bytes over links, given what its inputs are already. Then its inputs are brought into
 * the states that this wants, and the op is written with the shapes that follow. */
#include "sim/parallel/shard.h"

#include "sim/parallel/axes.h"
#include "sim/parallel/holding.h"
#include "tracer/copy.h"

#include <inttypes.h>
#include <stdio.h>

static const double impossible = 1e60;

struct sharding {
    struct ll_holding holding;
    const struct ll_trace *trace;
    struct ll_diags *diags;
    struct ll_arena scratch; /* of the op at work */
    uint32_t op;
    const struct ll_form *form;
    struct ll_axes axes;
    uint32_t *inputs; /* tensors of the new trace */
    bool right;
};

static uint32_t old_input(const struct sharding *s, uint32_t i)
{
    return ll_op_input(s->trace, s->op, i);
}

static struct ll_state state_of_input(const struct sharding *s, uint32_t i)
{
    return s->holding.states[old_input(s, i)];
}

/* So many of what are too many, or do not come out even. */
static void complain(struct sharding *s, uint64_t extent, const char *what)
{
    s->right =
        ll_complain(s->diags, (struct ll_place){0},
                    "op %" PRIu32 ", %s in %s: %" PRIu64 " %s cannot be divided among %" PRIu64 " ranks",
                    s->op, s->trace->strings[s->form->kind_name], s->trace->strings[s->form->scope], extent,
                    what, s->holding.ranks);
}

/* Choosing an axis. */

/* What an input must be if the op is divided along an axis (0: nowhere). */
static struct ll_state wanted_of(const struct sharding *s, uint32_t i, uint8_t axis)
{
    int dim = axis ? ll_dim_in(&s->axes, i, axis) : -1;
    if (dim < 0)
        return (struct ll_state){.held = LL_HELD_WHOLE};
    return (struct ll_state){LL_HELD_SHARE, (uint8_t)dim, s->form->view.in[i].role[dim], false};
}

/* Attributes that count along a divided axis must come out even, too. */
static bool attributes_divide(const struct sharding *s, int axis_dim)
{
    const struct ll_op_view *op = &s->form->view;
    bool cuts = op->kind == LL_OP_SLICE || op->kind == LL_OP_PAD;
    if (!cuts || axis_dim != ll_attr_count(op, LL_ATTR_AXIS, 0))
        return true;
    static const enum ll_attr_key keys[] = {LL_ATTR_BEGIN, LL_ATTR_SIZE, LL_ATTR_BEFORE, LL_ATTR_AFTER};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((uint64_t)ll_attr_count(op, keys[i], 0) % s->holding.ranks != 0)
            return false;
    return true;
}

/* Whether every dimension of the axis comes in equal shares. */
static bool axis_divides(const struct sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    for (uint32_t i = 0; i < op->input_count; i++) {
        int dim = ll_dim_in(&s->axes, i, axis);
        if (dim >= 0 && (!ll_divides(&s->holding, &op->in[i], (unsigned)dim) || !attributes_divide(s, dim)))
            return false;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        int dim = ll_dim_out(&s->axes, i, axis);
        if (dim >= 0 && !ll_divides(&s->holding, &op->out[i], (unsigned)dim))
            return false;
    }
    return true;
}

/* What is overwritten stays as it is. */
static bool may_overwrite(const struct sharding *s, uint32_t output, uint8_t axis)
{
    uint32_t alias = s->form->aliases[output];
    if (alias == LL_NONE || s->form->bytes_written == 0)
        return true;
    struct ll_state now = state_of_input(s, alias), wanted = wanted_of(s, alias, axis);
    return now.free || (now.held == wanted.held && (now.held != LL_HELD_SHARE || now.dim == wanted.dim));
}

/* Results that lie not along the axis are terms of sums, which somebody has to sum up. */
static double cost_of_results(const struct sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    double cost = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (!may_overwrite(s, i, axis))
            return impossible;
        if (axis == 0 || ll_dim_out(&s->axes, i, axis) >= 0)
            continue;
        if (!s->axes.summed[axis])
            return impossible;
        bool scattered = ll_time_dim(&s->holding, &op->out[i]) >= 0;
        cost += (scattered ? 1 : 2) * (double)ll_size_bytes(&op->out[i]);
    }
    return cost;
}

static double cost_of_axis(const struct sharding *s, uint8_t axis)
{
    double cost = axis && !axis_divides(s, axis) ? impossible : cost_of_results(s, axis);
    for (uint32_t i = 0; i < s->form->view.input_count && cost < impossible; i++)
        cost += ll_cost_of_state(&s->holding, old_input(s, i), wanted_of(s, i, axis), s->form->phase);
    return cost;
}

/* Whether an input suggests the axis: it is divided along it, or is a term that may be scattered along it. */
static bool is_suggested(const struct sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    bool inside = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        int dim = ll_dim_in(&s->axes, i, axis);
        struct ll_state now = state_of_input(s, i);
        inside |= dim >= 0;
        if (dim >= 0 && !now.free && now.held == LL_HELD_SHARE && now.dim == dim)
            return true;
        if (dim >= 0 && now.held == LL_HELD_TERM && ll_time_dim(&s->holding, &op->in[i]) == dim)
            return true;
    }
    int made = op->output_count ? ll_dim_out(&s->axes, 0, axis) : -1;
    return !inside && made >= 0 && op->out[0].role[made] == LL_ROLE_VOCABULARY;
}

static uint8_t cheapest_axis(const struct sharding *s)
{
    uint8_t best = 0;
    double least = cost_of_axis(s, 0);
    for (uint8_t axis = 1; axis <= s->axes.count; axis++) {
        double cost = is_suggested(s, axis) ? cost_of_axis(s, axis) : impossible;
        if (cost < least || (cost == least && best == 0 && cost < impossible)) {
            least = cost;
            best = axis;
        }
    }
    return best;
}

/* Weights. */

/* The weight that an op decides about: of a product, or a table of words; LL_NONE for none. */
static uint32_t undecided_weight(const struct sharding *s)
{
    const struct ll_op_view *op = &s->form->view;
    bool takes = op->kind == LL_OP_MATMUL || op->kind == LL_OP_BATCH_MATMUL || op->kind == LL_OP_CONV2D ||
                 op->kind == LL_OP_GATHER;
    for (uint32_t i = 0; takes && i < op->input_count; i++) {
        const struct ll_desc *desc = &s->trace->descs[s->form->inputs[i]];
        if (desc->memory == LL_WEIGHT && state_of_input(s, i).free)
            return i;
    }
    return LL_NONE;
}

static bool must_divide(uint8_t role)
{
    return role == LL_ROLE_HEADS || role == LL_ROLE_INNER;
}

/* By rows where the other input is divided along the sum, else by columns. A table by its rows, if these are
 * words. */
static uint8_t axis_of_weight(struct sharding *s, uint32_t weight)
{
    const struct ll_shape *shape = &s->form->view.in[weight];
    uint32_t other = weight ? 0 : 1;
    uint8_t columns = 0;
    for (unsigned dim = 0; dim < shape->rank; dim++) {
        uint8_t axis = ll_axis_in(&s->axes, weight, dim);
        int there = axis ? ll_dim_in(&s->axes, other, axis) : -1;
        struct ll_state state = state_of_input(s, other);
        if (axis && s->axes.summed[axis] && there >= 0 && !state.free && state.held == LL_HELD_SHARE &&
            state.dim == there && axis_divides(s, axis))
            return axis;
        if (s->form->view.kind == LL_OP_GATHER)
            columns = dim == 0 && shape->role[0] == LL_ROLE_VOCABULARY ? axis : columns;
        else if (axis && there < 0 && !s->axes.summed[axis] && shape->role[dim] != LL_ROLE_EXPERTS)
            columns = axis;
    }
    if (columns && axis_divides(s, columns))
        return columns;
    int dim = columns ? ll_dim_in(&s->axes, weight, columns) : -1;
    if (dim >= 0 && must_divide(shape->role[dim]))
        complain(s, shape->dim[dim], "features");
    return cheapest_axis(s);
}

/* Regrouping what is divided: heads come whole. */
static void check_heads(struct sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    if (op->kind != LL_OP_RESHAPE || axis != 0 || s->axes.count == 0)
        return;
    int dim = ll_dim_out(&s->axes, 0, 1);
    if (dim >= 0 && op->out[0].role[dim] == LL_ROLE_HEADS &&
        !ll_divides(&s->holding, &op->out[0], (unsigned)dim))
        complain(s, op->out[0].dim[dim], "heads");
}

static uint8_t axis_of_op(struct sharding *s)
{
    uint32_t weight = undecided_weight(s);
    if (weight != LL_NONE)
        return axis_of_weight(s, weight);
    uint8_t axis = cheapest_axis(s);
    check_heads(s, axis);
    return axis;
}

/* Terms of sums. */

/* What is linear in all its inputs: a sum of terms is the term of a sum. */
static bool is_linear(enum ll_op_kind kind)
{
    static const bool linear[LL_OP_COUNT] = {
        [LL_OP_ADD] = true,   [LL_OP_SUB] = true,   [LL_OP_ADD_N] = true,     [LL_OP_NEG] = true,
        [LL_OP_SPLIT] = true, [LL_OP_SLICE] = true, [LL_OP_PAD] = true,       [LL_OP_CONCAT] = true,
        [LL_OP_STACK] = true, [LL_OP_CAST] = true,  [LL_OP_TRANSPOSE] = true, [LL_OP_RESHAPE] = true,
    };
    return kind < LL_OP_COUNT && linear[kind];
}

/* Whether the op makes terms of terms, so that they are summed up later, once. A single number that is whole
 * may be a term, too: of one rank, with zeros of the others. */
static bool passes_terms(const struct sharding *s)
{
    const struct ll_op_view *op = &s->form->view;
    bool any = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        bool term = state_of_input(s, i).held == LL_HELD_TERM;
        if (term ? s->holding.readers[old_input(s, i)] != 1 : op->in[i].rank > 0)
            return false;
        any |= term;
    }
    return any && is_linear(op->kind);
}

/* Writing. */

static bool convert_inputs(struct sharding *s, uint8_t axis, bool terms)
{
    struct ll_rewrite *rewrite = &s->holding.rewrite;
    uint32_t count = s->form->view.input_count, scope = ll_rewrite_string(rewrite, s->form->scope);
    s->inputs = ll_alloc(&s->scratch, count, sizeof *s->inputs);
    for (uint32_t i = 0; s->inputs && i < count; i++) {
        struct ll_state wanted = wanted_of(s, i, axis);
        if (terms && state_of_input(s, i).held == LL_HELD_TERM)
            wanted.held = LL_HELD_TERM;
        s->inputs[i] = ll_have_state(&s->holding, old_input(s, i), wanted, s->form->phase, scope);
    }
    return s->inputs != NULL;
}

/* The largest of each row's share, and then of each row. */
static void settle_maxima(struct sharding *s)
{
    struct ll_rewrite *rewrite = &s->holding.rewrite;
    const struct ll_shape *logits = ll_rewrite_shape(rewrite, s->inputs[0]);
    struct ll_shape largest = {.rank = 1, .dtype = logits->dtype};
    largest.dim[0] = logits->dim[0];
    largest.role[0] = logits->role[0];
    const struct ll_attr axis = {.key = LL_ATTR_AXIS, .count = 1};
    uint32_t scope = ll_rewrite_string(rewrite, s->form->scope);
    uint32_t desc = ll_rewrite_new_desc(rewrite, "largest", &largest, LL_ACTIVATION);
    uint32_t tensor = ll_rewrite_add(rewrite, &(struct ll_record){.kind = LL_OP_MAX,
                                                                  .phase = s->form->phase,
                                                                  .scope = scope,
                                                                  .inputs = &s->inputs[0],
                                                                  .input_count = 1,
                                                                  .outputs = &desc,
                                                                  .output_count = 1,
                                                                  .attrs = &axis,
                                                                  .attr_count = 1});
    const struct ll_exchange_place place = {scope, s->form->phase, s->holding.ranks, s->holding.stride};
    ll_rewrite_exchange(rewrite, LL_OP_ALL_REDUCE, tensor, desc, &place);
}

/* What a divided axis means: what it does where it is divided already, else what the result says. */
static uint8_t role_of_axis(const struct sharding *s, uint8_t axis, uint8_t otherwise)
{
    for (uint32_t i = 0; i < s->form->view.input_count; i++) {
        struct ll_state state = state_of_input(s, i);
        if (state.held == LL_HELD_SHARE && ll_dim_in(&s->axes, i, axis) == state.dim &&
            state.role == LL_ROLE_SEQUENCE)
            return LL_ROLE_SEQUENCE;
    }
    return otherwise;
}

static struct ll_state state_of_result(const struct sharding *s, uint32_t i, uint8_t axis, bool terms)
{
    int dim = axis ? ll_dim_out(&s->axes, i, axis) : -1;
    if (terms || (axis && dim < 0))
        return (struct ll_state){.held = LL_HELD_TERM};
    if (dim < 0)
        return (struct ll_state){.held = LL_HELD_WHOLE};
    return (struct ll_state){LL_HELD_SHARE, (uint8_t)dim,
                             role_of_axis(s, axis, s->form->view.out[i].role[dim]), false};
}

static void share_attributes(const struct sharding *s, uint8_t axis, struct ll_attr *attrs)
{
    const struct ll_op_view *op = &s->form->view;
    bool cuts = op->kind == LL_OP_SLICE || op->kind == LL_OP_PAD;
    if (!cuts || !axis || ll_dim_in(&s->axes, 0, axis) != ll_attr_count(op, LL_ATTR_AXIS, 0))
        return;
    for (uint32_t i = 0; i < op->attr_count; i++)
        if (attrs[i].key == LL_ATTR_BEGIN || attrs[i].key == LL_ATTR_SIZE || attrs[i].key == LL_ATTR_BEFORE ||
            attrs[i].key == LL_ATTR_AFTER)
            attrs[i].count /= (int64_t)s->holding.ranks;
}

static bool write_op(struct sharding *s, uint8_t axis, bool terms)
{
    struct ll_rewrite *rewrite = &s->holding.rewrite;
    struct ll_record record;
    if (!convert_inputs(s, axis, terms))
        return ll_rewrite_trouble(rewrite, "memory ran out");
    if (axis && s->axes.settled[axis])
        settle_maxima(s);
    if (!ll_rewrite_record(rewrite, s->op, &record))
        return false;
    uint32_t *outputs = ll_alloc(&s->scratch, record.output_count, sizeof *outputs);
    if (!outputs)
        return ll_rewrite_trouble(rewrite, "memory ran out");
    for (uint32_t i = 0; i < record.output_count; i++) {
        struct ll_state state = state_of_result(s, i, axis, terms);
        struct ll_shape shape = ll_share_of(&s->holding, s->form->view.out[i], state);
        outputs[i] = ll_rewrite_reshaped(rewrite, s->form->outputs[i], &shape);
        s->holding.states[ll_op_output(s->trace, s->op, i)] = state;
    }
    share_attributes(s, axis, rewrite->attrs);
    record.inputs = s->inputs;
    record.outputs = outputs;
    return ll_rewrite_put(rewrite, s->op, &record) != LL_NONE || record.output_count == 0;
}

static bool shard_op(struct sharding *s, uint32_t op)
{
    s->op = op;
    s->form = &s->trace->forms[s->trace->ops[op].form];
    s->axes.held = (struct ll_divided){.dim = -1};
    if (s->form->view.input_count > 0 && state_of_input(s, 0).held == LL_HELD_SHARE)
        s->axes.held = (struct ll_divided){state_of_input(s, 0).dim, state_of_input(s, 0).role};
    if (!ll_axes_of(&s->form->view, &s->scratch, &s->axes))
        return ll_rewrite_trouble(&s->holding.rewrite, "memory ran out");
    bool terms = passes_terms(s);
    bool written = write_op(s, terms ? 0 : axis_of_op(s), terms);
    ll_arena_release(&s->scratch);
    return written;
}

static struct ll_trace *end(struct sharding *s)
{
    const char *trouble = NULL;
    struct ll_trace *shard = ll_rewrite_end(&s->holding.rewrite, &trouble);
    if (!shard && s->op < s->trace->op_count)
        ll_complain(s->diags, (struct ll_place){0}, "op %" PRIu32 ", %s in %s: %s", s->op,
                    s->trace->strings[s->form->kind_name], s->trace->strings[s->form->scope], trouble);
    else if (!shard)
        ll_complain(s->diags, (struct ll_place){0}, "%s", trouble);
    if (shard && !s->right) {
        ll_trace_free(shard);
        return NULL;
    }
    return shard;
}

struct ll_trace *ll_shard(const struct ll_trace *trace, const struct ll_parallel *plan,
                          struct ll_diags *diags)
{
    if (plan->tensor <= 1) {
        struct ll_trace *copy = ll_trace_copy(trace);
        if (!copy)
            ll_complain(diags, (struct ll_place){0}, "memory ran out");
        return copy;
    }
    struct sharding s = {.trace = trace, .diags = diags, .right = true};
    char ranks[24];
    snprintf(ranks, sizeof ranks, "%" PRIu64, plan->tensor);
    const struct ll_fact fact = {"parallel.tensor", ranks};
    s.holding.ranks = plan->tensor;
    s.holding.stride = 1;
    s.holding.by_time = plan->sequence;
    ll_rewrite_begin(&s.holding.rewrite, trace, &fact, 1);
    if (!ll_holding_begin(&s.holding, trace))
        ll_rewrite_trouble(&s.holding.rewrite, "memory ran out");
    bool going = !s.holding.rewrite.trouble;
    for (uint32_t op = 0; op < trace->op_count && going; op++)
        going = shard_op(&s, op);
    s.op = going ? LL_NONE : s.op;
    struct ll_trace *shard = end(&s);
    ll_holding_release(&s.holding);
    return shard;
}
