/* SPDX-License-Identifier: Apache-2.0 */
/* A product whose weight nobody has divided yet decides for it; one that makes the gradient of a divided
 * weight makes the share of it. Any other op takes the axis that costs the fewest bytes over links, given
 * what its inputs are already; of equals one along which something is divided, so that less is left to do. */
#include "sim/parallel/shard_axis.h"

#include <inttypes.h>

static bool was_told(struct ll_sharding *s, uint64_t extent)
{
    for (unsigned i = 0; i < s->told_count; i++)
        if (s->told[i] == extent)
            return true;
    if (s->told_count < LL_TOLD_EXTENTS)
        s->told[s->told_count++] = extent;
    return false;
}

/* So many of what are too many, or do not come out even. */
static void complain(struct ll_sharding *s, uint64_t extent, const char *what)
{
    s->right = false;
    if (!was_told(s, extent))
        ll_complain(s->diags, (struct ll_place){0},
                    "op %" PRIu32 ", %s in %s: %" PRIu64 " %s cannot be divided among %" PRIu64 " ranks",
                    s->op, s->trace->strings[s->form->kind_name], s->trace->strings[s->form->scope], extent,
                    what, s->holding.ranks);
}

struct ll_state ll_wanted_of(const struct ll_sharding *s, uint32_t i, uint8_t axis)
{
    int dim = axis ? ll_dim_in(&s->axes, i, axis) : -1;
    if (dim < 0)
        return (struct ll_state){.held = LL_HELD_WHOLE};
    return (struct ll_state){LL_HELD_SHARE, (uint8_t)dim, s->form->view.in[i].role[dim], false};
}

/* Attributes that count along a divided axis must come out even, too. */
static bool attributes_divide(const struct ll_sharding *s, int axis_dim)
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

/* What dimensions of an axis have in common. */
struct extents {
    uint64_t first;
    bool differ, uneven;
};

/* False where the dimension has no shares. */
static bool add_extent(const struct ll_sharding *s, struct extents *extents, const struct ll_shape *shape,
                       int dim)
{
    uint64_t extent = shape->dim[dim];
    extents->first = extents->first ? extents->first : extent;
    extents->differ |= extent != extents->first;
    extents->uneven |= extent % s->holding.ranks != 0;
    return ll_divides(&s->holding, shape, (unsigned)dim);
}

bool ll_axis_divides(const struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    struct extents extents = {0};
    for (uint32_t i = 0; i < op->input_count; i++) {
        int dim = ll_dim_in(&s->axes, i, axis);
        if (dim >= 0 && (!add_extent(s, &extents, &op->in[i], dim) || !attributes_divide(s, dim)))
            return false;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        int dim = ll_dim_out(&s->axes, i, axis);
        if (dim >= 0 && !add_extent(s, &extents, &op->out[i], dim))
            return false;
    }
    return !(extents.uneven && extents.differ);
}

/* What is overwritten stays as it is. */
static bool may_overwrite(const struct ll_sharding *s, uint32_t output, uint8_t axis)
{
    uint32_t alias = s->form->aliases[output];
    if (alias == LL_NONE || s->form->bytes_written == 0)
        return true;
    struct ll_state now = ll_state_of_input(s, alias), wanted = ll_wanted_of(s, alias, axis);
    return now.free || (now.held == wanted.held && (now.held != LL_HELD_SHARE || now.dim == wanted.dim));
}

/* Results that lie not along the axis are terms of sums, which somebody has to sum up. */
static double cost_of_results(const struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    double cost = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (!may_overwrite(s, i, axis))
            return LL_IMPOSSIBLE_BYTES;
        if (axis == 0 || ll_dim_out(&s->axes, i, axis) >= 0)
            continue;
        if (!s->axes.summed[axis])
            return LL_IMPOSSIBLE_BYTES;
        bool scattered = ll_time_dim(&s->holding, &op->out[i]) >= 0;
        cost += (scattered ? 1 : 2) * (double)ll_size_bytes(&op->out[i]);
    }
    return cost;
}

static double cost_of_axis(const struct ll_sharding *s, uint8_t axis)
{
    double cost = axis && !ll_axis_divides(s, axis) ? LL_IMPOSSIBLE_BYTES : cost_of_results(s, axis);
    for (uint32_t i = 0; i < s->form->view.input_count && cost < LL_IMPOSSIBLE_BYTES; i++)
        cost += ll_cost_of_state(&s->holding, ll_old_input(s, i), ll_wanted_of(s, i, axis), s->form->phase);
    return cost;
}

/* Whether an input suggests the axis: it is divided along it, or is a term that may be scattered along it. */
static bool is_suggested(const struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    bool inside = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        int dim = ll_dim_in(&s->axes, i, axis);
        struct ll_state now = ll_state_of_input(s, i);
        inside |= dim >= 0;
        if (dim >= 0 && !now.free && now.held == LL_HELD_SHARE && now.dim == dim)
            return true;
        if (dim >= 0 && now.held == LL_HELD_TERM && ll_time_dim(&s->holding, &op->in[i]) == dim)
            return true;
    }
    int made = op->output_count ? ll_dim_out(&s->axes, 0, axis) : -1;
    return !inside && made >= 0 && op->out[0].role[made] == LL_ROLE_VOCABULARY;
}

static uint8_t cheapest_axis(const struct ll_sharding *s)
{
    uint8_t best = 0;
    double least = cost_of_axis(s, 0);
    for (uint8_t axis = 1; axis <= s->axes.count; axis++) {
        double cost = is_suggested(s, axis) ? cost_of_axis(s, axis) : LL_IMPOSSIBLE_BYTES;
        if (cost < least || (cost == least && best == 0 && cost < LL_IMPOSSIBLE_BYTES)) {
            least = cost;
            best = axis;
        }
    }
    return best;
}

/* Weights. */

bool ll_is_undecided(const struct ll_sharding *s, uint32_t tensor)
{
    bool is_free = s->holding.states[tensor].free;
    while (is_free && s->trace->tensors[tensor].producer != LL_NONE)
        tensor = ll_op_input(s->trace, s->trace->tensors[tensor].producer, 0);
    return is_free && s->trace->descs[s->trace->tensors[tensor].desc].memory == LL_WEIGHT;
}

/* The weight that an op decides about: of a product, or a table of words; LL_NONE for none. */
static uint32_t undecided_weight(const struct ll_sharding *s)
{
    const struct ll_op_view *op = &s->form->view;
    bool takes = op->kind == LL_OP_MATMUL || op->kind == LL_OP_BATCH_MATMUL || op->kind == LL_OP_CONV2D ||
                 op->kind == LL_OP_GATHER;
    for (uint32_t i = 0; takes && i < op->input_count; i++)
        if (ll_is_undecided(s, ll_old_input(s, i)))
            return i;
    return LL_NONE;
}

static bool must_divide(uint8_t role)
{
    return role == LL_ROLE_HEADS || role == LL_ROLE_INNER;
}

/* By rows where the other input is divided along the sum, else by columns. A table by its rows, if these are
 * words. */
static uint8_t axis_of_weight(struct ll_sharding *s, uint32_t weight)
{
    const struct ll_shape *shape = &s->form->view.in[weight];
    uint32_t other = weight ? 0 : 1;
    uint8_t columns = 0;
    for (unsigned dim = 0; dim < shape->rank; dim++) {
        uint8_t axis = ll_axis_in(&s->axes, weight, dim);
        int there = axis ? ll_dim_in(&s->axes, other, axis) : -1;
        struct ll_state state = ll_state_of_input(s, other);
        if (axis && s->axes.summed[axis] && there >= 0 && !state.free && state.held == LL_HELD_SHARE &&
            state.dim == there && ll_axis_divides(s, axis))
            return axis;
        if (s->form->view.kind == LL_OP_GATHER)
            columns = dim == 0 && shape->role[0] == LL_ROLE_VOCABULARY ? axis : columns;
        else if (axis && there < 0 && !s->axes.summed[axis] && shape->role[dim] != LL_ROLE_EXPERTS)
            columns = axis;
    }
    if (columns && ll_axis_divides(s, columns))
        return columns;
    int dim = columns ? ll_dim_in(&s->axes, weight, columns) : -1;
    if (dim >= 0 && must_divide(shape->role[dim]))
        complain(s, shape->dim[dim], "features");
    return cheapest_axis(s);
}

/* Of a product that makes the gradient of a divided weight: that of the weight, 0 for none. What it reads
 * whole for that, activations gathered from shares of time, is read by the products beside it as well; a term
 * would have to be scattered with each pass. */
static uint8_t axis_of_gradient(const struct ll_sharding *s)
{
    const struct ll_op_view *op = &s->form->view;
    bool multiplies = op->kind == LL_OP_MATMUL || op->kind == LL_OP_BATCH_MATMUL;
    uint32_t weight =
        multiplies && op->output_count == 1 ? s->updated[ll_op_output(s->trace, s->op, 0)] : LL_NONE;
    if (weight == LL_NONE || s->form->phase != LL_PHASE_BACKWARD)
        return 0;
    struct ll_state held = s->holding.states[weight];
    uint8_t axis = held.free || held.held != LL_HELD_SHARE ? 0 : ll_axis_out(&s->axes, 0, held.dim);
    return axis && ll_axis_divides(s, axis) ? axis : 0;
}

/* Regrouping what is divided: heads come whole. */
static void check_heads(struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->form->view;
    if (op->kind != LL_OP_RESHAPE || axis != 0 || s->axes.count == 0)
        return;
    int dim = ll_dim_out(&s->axes, 0, 1);
    if (dim >= 0 && op->out[0].role[dim] == LL_ROLE_HEADS &&
        !ll_divides(&s->holding, &op->out[0], (unsigned)dim))
        complain(s, op->out[0].dim[dim], "heads");
}

uint8_t ll_axis_of_op(struct ll_sharding *s)
{
    uint32_t weight = undecided_weight(s);
    if (weight != LL_NONE)
        return axis_of_weight(s, weight);
    uint8_t axis = axis_of_gradient(s);
    axis = axis ? axis : cheapest_axis(s);
    check_heads(s, axis);
    return axis;
}
