/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor parallelism: the walk that divides each op of a trace among ranks. The first section repeats key
 * heads for grouped queries on more ranks than there are key heads. */
#include "sim/parallel/shard.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

/* One walk over the signatures, as tracer/transform/rescale.c: what no op makes goes by the roles of its
 * dimensions, what an op makes follows from what it reads. A view of queries has so many heads more, and
 * leaves so many of the group that one of them answers. What copies of a head add to the gradient of a weight
 * is summed before the update. */

struct copying {
    struct ll_trace *trace; /* the copy; its descs and forms are new as far as `known` and the walk are */
    const struct ll_tensor_desc *was;
    bool *known;                           /* by desc */
    uint64_t kv_heads, group, head, times; /* so often each key head is there */
};

/* Attention in which several rows of scores, or of queries, belong to a position: [..., key heads, rows, n].
 */
static bool find_group(const struct ll_op_signature *signature, struct copying *c)
{
    const struct ll_op_view *view = &signature->view;
    const struct ll_shape *rows = view->input_count ? &view->in[0] : NULL;
    int64_t group = ll_attr_count(view, LL_ATTR_GROUPS, 1);
    if (!rows || rows->rank < 3 || rows->role[rows->rank - 3] != LL_ROLE_HEADS || group < 2)
        return false;
    c->kv_heads = rows->dim[rows->rank - 3];
    c->group = (uint64_t)group;
    return c->kv_heads > 0;
}

/* A view of one head after the other says how long they are. */
static bool find_head(const struct ll_op_signature *signature, struct copying *c)
{
    const struct ll_shape *shape = signature->view.output_count ? &signature->view.out[0] : NULL;
    for (unsigned i = 0; signature->view.kind == LL_OP_RESHAPE && i + 1 < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_HEADS && shape->dim[i] == c->kv_heads)
            c->head = shape->dim[shape->rank - 1];
    return c->head > 0;
}

/* How queries are grouped; false where they are not, or ranks have heads enough, or ones that come out
 * uneven.
 */
static bool find_groups(const struct ll_trace *trace, uint64_t ranks, struct copying *c)
{
    bool found = false;
    for (uint64_t i = 0; i < trace->signature_count && !found; i++)
        found = find_group(&trace->signatures[i], c);
    if (!found || ranks <= c->kv_heads || ranks % c->kv_heads != 0)
        return false;
    c->times = ranks / c->kv_heads;
    found = false;
    for (uint64_t i = 0; i < trace->signature_count && !found; i++)
        found = find_head(&trace->signatures[i], c);
    return found && c->group % c->times == 0;
}

/* Heads, and what they hold side by side. */
static void repeat_heads(const struct copying *c, struct ll_shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++) {
        bool last =
            i + 1 == shape->rank; /* what heads hold lies side by side there, one head does elsewhere */
        bool heads = shape->dim[i] == (last ? ll_mul(c->kv_heads, c->head) : c->kv_heads);
        if (shape->role[i] == LL_ROLE_HEADS && heads)
            shape->dim[i] = ll_mul(shape->dim[i], c->times);
    }
}

/* More heads leave each fewer of the group, which stands by itself or beside the words. */
static void divide_group(const struct copying *c, const struct ll_shape *in, struct ll_shape *out)
{
    if (ll_elements(out) != ll_mul(ll_elements(in), c->times))
        return;
    for (unsigned i = 0; i + 1 < out->rank; i++)
        if (out->role[i] == LL_ROLE_PLAIN && out->dim[i] == c->group) {
            out->dim[i] /= c->times;
            return;
        }
    for (unsigned i = 0; i + 1 < out->rank; i++)
        if (out->role[i] == LL_ROLE_SEQUENCE && out->dim[i] % c->group == 0) {
            out->dim[i] /= c->times;
            return;
        }
}

static bool settle_inputs(struct copying *c, struct ll_op_signature *signature, bool *grown)
{
    struct ll_shape *in = ll_alloc(&c->trace->arena, signature->view.input_count, sizeof *in);
    for (uint32_t i = 0; in && i < signature->view.input_count; i++) {
        struct ll_shape *shape = &c->trace->descs[signature->inputs[i]].shape;
        if (!c->known[signature->inputs[i]])
            repeat_heads(c, shape);
        c->known[signature->inputs[i]] = true;
        in[i] = *shape;
        *grown |= memcmp(shape->dim, c->was[signature->inputs[i]].shape.dim, sizeof shape->dim) != 0;
    }
    signature->view.in = in;
    return in != NULL;
}

/* Rows that belong to one position. */
static bool settle_attributes(struct copying *c, struct ll_op_signature *signature)
{
    struct ll_attr *attrs =
        ll_copy(&c->trace->arena, signature->view.attrs, signature->view.attr_count * sizeof *attrs);
    for (uint32_t i = 0; attrs && i < signature->view.attr_count; i++)
        if (attrs[i].key == LL_ATTR_GROUPS && attrs[i].count == (int64_t)c->group)
            attrs[i].count /= (int64_t)c->times;
    signature->view.attrs = attrs;
    return attrs != NULL;
}

/* A look that other ops have made as well stays one look. */
static bool settle_result(struct copying *c, uint32_t desc, struct ll_shape *result)
{
    struct ll_shape *look = &c->trace->descs[desc].shape;
    memcpy(result->role, look->role, sizeof result->role);
    result->dtype = look->dtype; /* which need not be that of what a GEMM reads */
    if (c->known[desc] && memcmp(result->dim, look->dim, sizeof result->dim) != 0)
        return false;
    *look = *result;
    c->known[desc] = true;
    return true;
}

static bool settle_results(struct copying *c, struct ll_op_signature *signature)
{
    struct ll_op_view *view = &signature->view;
    uint32_t count = view->output_count;
    view->out =
        ll_alloc(&c->trace->arena, count > LL_MAX_OUTPUTS ? count : LL_MAX_OUTPUTS, sizeof *view->out);
    for (uint32_t i = 0; view->out && i < count; i++) {
        view->out[i] = c->was[signature->outputs[i]].shape;
        repeat_heads(c, &view->out[i]);
    }
    if (view->out && view->kind == LL_OP_RESHAPE)
        divide_group(c, &view->in[0], &view->out[0]);
    if (!view->out || view->kind == LL_OP_NONE || ll_op_infer(view) || view->output_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!settle_result(c, signature->outputs[i], &view->out[i]))
            return false;
    return true;
}

static bool settle(struct copying *c, struct ll_op_signature *signature)
{
    struct ll_signature_counts counts;
    bool grown = false;
    if (!settle_inputs(c, signature, &grown) || (grown && !settle_attributes(c, signature)) ||
        !settle_results(c, signature) || ll_signature_count(&signature->view, &counts))
        return false;
    signature->flops = counts.flops;
    signature->bytes_read = counts.bytes_read;
    signature->bytes_written = counts.bytes_written;
    return true;
}

/* Whether an update reads, of a backward pass, the gradient of heads that several devices hold. */
static bool is_of_copies(const struct copying *c, uint32_t op, uint32_t tensor)
{
    const struct ll_trace *trace = c->trace;
    uint32_t desc = trace->tensors[tensor].desc, from = trace->tensors[tensor].producer;
    return trace->signatures[trace->ops[op].signature].phase == LL_PHASE_UPDATE && from != LL_NONE &&
           trace->signatures[trace->ops[from].signature].phase != LL_PHASE_UPDATE &&
           trace->descs[desc].memory == LL_GRADIENT &&
           memcmp(trace->descs[desc].shape.dim, c->was[desc].shape.dim, sizeof c->was[desc].shape.dim) != 0;
}

/* Devices with the same head are neighbours. */
static void sum_copies(const struct copying *c, struct ll_rewrite *rewrite, uint32_t op, uint32_t tensor)
{
    const struct ll_op_signature *signature = &c->trace->signatures[c->trace->ops[op].signature];
    const struct ll_exchange_place place = {.scope = ll_rewrite_string(rewrite, signature->scope),
                                            .phase = LL_PHASE_UPDATE,
                                            .devices = c->times,
                                            .stride = 1};
    uint32_t desc = ll_rewrite_desc(rewrite, c->trace->tensors[tensor].desc);
    ll_rewrite_step(rewrite, op);
    uint32_t sum =
        ll_rewrite_exchange(rewrite, LL_OP_ALL_REDUCE, ll_rewrite_tensor(rewrite, tensor), desc, &place);
    ll_rewrite_redirect(rewrite, tensor, sum);
}

/* The copy with these sums; NULL when that cannot be. */
static struct ll_trace *with_sums(const struct copying *c)
{
    struct ll_rewrite rewrite;
    const char *trouble;
    ll_rewrite_begin(&rewrite, c->trace, NULL, 0);
    bool *summed = ll_alloc(&rewrite.arena, c->trace->tensor_count + 1, sizeof *summed);
    if (!summed)
        ll_rewrite_trouble(&rewrite, "memory ran out");
    for (uint32_t op = 0; op < c->trace->op_count && !rewrite.trouble; op++) {
        for (uint32_t i = 0; i < c->trace->signatures[c->trace->ops[op].signature].view.input_count; i++) {
            uint32_t tensor = ll_op_input(c->trace, op, i);
            if (!summed[tensor] && is_of_copies(c, op, tensor))
                sum_copies(c, &rewrite, op, tensor);
            summed[tensor] |= is_of_copies(c, op, tensor);
        }
        ll_rewrite_keep(&rewrite, op);
    }
    return ll_rewrite_end(&rewrite, &trouble);
}

struct ll_trace *ll_replicate_kv_heads(const struct ll_trace *trace, uint64_t ranks)
{
    assert(ranks > 0);
    struct copying c = {.was = trace->descs};
    if (!find_groups(trace, ranks, &c))
        return NULL;
    c.trace = ll_trace_copy(trace);
    c.known = calloc(trace->desc_count + 1, sizeof *c.known);
    bool right = c.trace && c.known;
    for (uint64_t i = 0; right && i < trace->signature_count; i++)
        right = settle(&c, &c.trace->signatures[i]);
    free(c.known);
    struct ll_trace *made = right ? with_sums(&c) : NULL;
    ll_trace_free(c.trace);
    return made;
}

/* Tensor and sequence parallelism: op by op, the axis along which a rank's share is cut, and the shares and
 * collectives that follow.
 *
 * A GEMM whose weight is not divided yet decides how to divide it. A GEMM that makes the gradient of a
 * divided weight makes the matching share of the gradient. Any other op takes the axis that costs the fewest
 * bytes over links, given the states of its inputs; among equal axes it prefers one along which something is
 * already divided, which leaves less work per rank. */

static bool was_reported(struct ll_sharding *s, uint64_t extent)
{
    for (unsigned i = 0; i < s->reported_count; i++)
        if (s->reported[i] == extent)
            return true;
    if (s->reported_count < LL_REPORTED_EXTENTS)
        s->reported[s->reported_count++] = extent;
    return false;
}

/* So many of what are too many, or do not come out even. */
static void complain(struct ll_sharding *s, uint64_t extent, const char *what)
{
    s->right = false;
    if (!was_reported(s, extent))
        ll_complain(s->diags, (struct ll_place){0},
                    "op %" PRIu32 ", %s in %s: %" PRIu64 " %s cannot be divided among %" PRIu64 " ranks",
                    s->op, s->trace->strings[s->signature->kind_name], s->trace->strings[s->signature->scope],
                    extent, what, s->placement.ranks);
}

struct ll_shard_state ll_wanted_state(const struct ll_sharding *s, uint32_t i, uint8_t axis)
{
    assert(i < s->signature->view.input_count && axis <= s->axes.count);
    int dim = axis ? ll_dim_in(&s->axes, i, axis) : -1;
    if (dim < 0)
        return (struct ll_shard_state){.held = LL_REPLICATED};
    return (struct ll_shard_state){LL_SHARDED, (uint8_t)dim, s->signature->view.in[i].role[dim], false};
}

/* Attributes that count along a divided axis must come out even, too. */
static bool attributes_divide(const struct ll_sharding *s, int axis_dim)
{
    const struct ll_op_view *op = &s->signature->view;
    bool cuts = op->kind == LL_OP_SLICE || op->kind == LL_OP_PAD;
    if (!cuts || axis_dim != ll_attr_count(op, LL_ATTR_AXIS, 0))
        return true;
    static const enum ll_attr_key keys[] = {LL_ATTR_BEGIN, LL_ATTR_SIZE, LL_ATTR_BEFORE, LL_ATTR_AFTER};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((uint64_t)ll_attr_count(op, keys[i], 0) % s->placement.ranks != 0)
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
    extents->uneven |= extent % s->placement.ranks != 0;
    return ll_can_shard(&s->placement, shape, (unsigned)dim);
}

bool ll_axis_divides(const struct ll_sharding *s, uint8_t axis)
{
    assert(axis > 0 && axis <= s->axes.count);
    const struct ll_op_view *op = &s->signature->view;
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
    uint32_t alias = s->signature->aliases[output];
    if (alias == LL_NONE || s->signature->bytes_written == 0)
        return true;
    struct ll_shard_state now = ll_state_of_input(s, alias), wanted = ll_wanted_state(s, alias, axis);
    return now.free || (now.held == wanted.held && (now.held != LL_SHARDED || now.dim == wanted.dim));
}

/* Results that lie not along the axis are terms of sums, which somebody has to sum up. */
static double cost_of_results(const struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->signature->view;
    double cost = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (!may_overwrite(s, i, axis))
            return LL_INFEASIBLE_BYTES;
        if (axis == 0 || ll_dim_out(&s->axes, i, axis) >= 0)
            continue;
        if (!s->axes.summed[axis])
            return LL_INFEASIBLE_BYTES;
        bool scattered = ll_sequence_dim(&s->placement, &op->out[i]) >= 0;
        cost += (scattered ? 1 : 2) * (double)ll_size_bytes(&op->out[i]);
    }
    return cost;
}

static double cost_of_axis(const struct ll_sharding *s, uint8_t axis)
{
    double cost = axis && !ll_axis_divides(s, axis) ? LL_INFEASIBLE_BYTES : cost_of_results(s, axis);
    for (uint32_t i = 0; i < s->signature->view.input_count && cost < LL_INFEASIBLE_BYTES; i++)
        cost += ll_placement_cost_bytes(&s->placement, ll_old_input(s, i), ll_wanted_state(s, i, axis),
                                        s->signature->phase);
    return cost;
}

/* Whether an input suggests the axis: it is divided along it, or is a term that may be scattered along it. */
static bool is_suggested(const struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->signature->view;
    bool inside = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        int dim = ll_dim_in(&s->axes, i, axis);
        struct ll_shard_state now = ll_state_of_input(s, i);
        inside |= dim >= 0;
        if (dim >= 0 && !now.free && now.held == LL_SHARDED && now.dim == dim)
            return true;
        if (dim >= 0 && now.held == LL_PARTIAL_SUM && ll_sequence_dim(&s->placement, &op->in[i]) == dim)
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
        double cost = is_suggested(s, axis) ? cost_of_axis(s, axis) : LL_INFEASIBLE_BYTES;
        if (cost < least || (cost == least && best == 0 && cost < LL_INFEASIBLE_BYTES)) {
            least = cost;
            best = axis;
        }
    }
    return best;
}

/* Weights. */

/* Whether an old tensor is a weight that nobody has divided yet, or a look at one. */
static bool is_undecided(const struct ll_sharding *s, uint32_t tensor)
{
    bool is_free = s->placement.states[tensor].free;
    while (is_free && s->trace->tensors[tensor].producer != LL_NONE)
        tensor = ll_op_input(s->trace, s->trace->tensors[tensor].producer, 0);
    return is_free && s->trace->descs[s->trace->tensors[tensor].desc].memory == LL_WEIGHT;
}

/* The weight that an op decides about: of a GEMM, or a table of words; LL_NONE for none. */
static uint32_t undecided_weight(const struct ll_sharding *s)
{
    const struct ll_op_view *op = &s->signature->view;
    bool takes = op->kind == LL_OP_MATMUL || op->kind == LL_OP_BATCH_MATMUL || op->kind == LL_OP_CONV2D ||
                 op->kind == LL_OP_GATHER || op->kind == LL_OP_EXPERTS;
    for (uint32_t i = 0; takes && i < op->input_count; i++)
        if (is_undecided(s, ll_old_input(s, i)))
            return i;
    return LL_NONE;
}

static bool must_divide(uint8_t role)
{
    return role == LL_ROLE_HEADS || role == LL_ROLE_FFN_HIDDEN;
}

static bool is_labelled(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        for (unsigned dim = 0; desc->memory == LL_WEIGHT && dim < desc->shape.rank; dim++)
            if (must_divide(desc->shape.role[dim]))
                return true;
    }
    return false;
}

/* By rows, or matrices of a stack, where the other input is divided along these, else by columns. A table by
 * its rows, if these are words. Where weights of the trace say what their dimensions are, one whose columns
 * are nothing that is divided stays whole, as latent vectors do: each rank computes them. */
static uint8_t axis_of_weight(struct ll_sharding *s, uint32_t weight)
{
    const struct ll_shape *shape = &s->signature->view.in[weight];
    uint32_t other = weight ? 0 : 1;
    uint8_t columns = 0;
    if (s->signature->view.kind == LL_OP_EXPERTS) { /* by experts, or the features inside of them */
        uint8_t inner = ll_axis_in(&s->axes, 4, 1), whole = ll_axis_in(&s->axes, 4, 0);
        if (s->whole_experts && ll_axis_divides(s, whole))
            return whole;
        if (!ll_axis_divides(s, inner))
            complain(s, s->signature->view.in[4].dim[1], "features of an expert");
        return inner;
    }
    for (unsigned dim = 0; dim < shape->rank; dim++) {
        uint8_t axis = ll_axis_in(&s->axes, weight, dim);
        int there = axis ? ll_dim_in(&s->axes, other, axis) : -1;
        struct ll_shard_state state = ll_state_of_input(s, other);
        if (axis && there >= 0 && !state.free && state.held == LL_SHARDED && state.dim == there &&
            ll_axis_divides(s, axis))
            return axis;
        if (s->signature->view.kind == LL_OP_GATHER)
            columns = dim == 0 && shape->role[0] == LL_ROLE_VOCABULARY ? axis : columns;
        else if (axis && there < 0 && !s->axes.summed[axis] && shape->role[dim] != LL_ROLE_EXPERTS)
            columns = axis;
    }
    int plain = columns && s->labelled ? ll_dim_in(&s->axes, weight, columns) : -1;
    if (plain >= 0 && shape->role[plain] == LL_ROLE_PLAIN)
        return 0;
    if (columns && ll_axis_divides(s, columns))
        return columns;
    int dim = columns ? ll_dim_in(&s->axes, weight, columns) : -1;
    if (dim >= 0 && must_divide(shape->role[dim]))
        complain(s, shape->dim[dim], "features");
    return cheapest_axis(s);
}

/* Of a GEMM that makes the gradient of a divided weight: that of the weight, 0 for none. What it reads
 * whole for that, activations gathered from shares of time, is read by the GEMMs beside it as well; a term
 * would have to be scattered with each pass. */
static uint8_t axis_of_gradient(const struct ll_sharding *s)
{
    const struct ll_op_view *op = &s->signature->view;
    bool multiplies = op->kind == LL_OP_MATMUL || op->kind == LL_OP_BATCH_MATMUL;
    uint32_t weight =
        multiplies && op->output_count == 1 ? s->updated[ll_op_output(s->trace, s->op, 0)] : LL_NONE;
    if (weight == LL_NONE || s->signature->phase != LL_PHASE_BACKWARD)
        return 0;
    struct ll_shard_state held = s->placement.states[weight];
    uint8_t axis = held.free || held.held != LL_SHARDED ? 0 : ll_axis_out(&s->axes, 0, held.dim);
    return axis && ll_axis_divides(s, axis) ? axis : 0;
}

/* Regrouping what is divided: heads come whole. */
static void check_heads(struct ll_sharding *s, uint8_t axis)
{
    const struct ll_op_view *op = &s->signature->view;
    if (op->kind != LL_OP_RESHAPE || axis != 0 || s->axes.count == 0)
        return;
    int dim = ll_dim_out(&s->axes, 0, 1);
    if (dim >= 0 && op->out[0].role[dim] == LL_ROLE_HEADS &&
        !ll_can_shard(&s->placement, &op->out[0], (unsigned)dim))
        complain(s, op->out[0].dim[dim], "heads");
}

/* The axis along which the op at work is divided, 0: nowhere. Complains of what cannot be divided and must.
 */
static uint8_t axis_of_op(struct ll_sharding *s)
{
    uint32_t weight = undecided_weight(s);
    if (weight != LL_NONE)
        return axis_of_weight(s, weight);
    uint8_t axis = axis_of_gradient(s);
    axis = axis ? axis : cheapest_axis(s);
    check_heads(s, axis);
    return axis;
}

/* One walk over the ops in their order. Of each op: along which of its axes (sim/parallel/shard.h) is it
 * divided, if any (sim/parallel/shard.h)? Then its inputs are brought into the states that this wants,
 * and the op is written with the shapes that follow. */

/* Terms of sums. */

/* Of a sum of terms an op may make a sum of terms: of all its inputs together, or of one of them, by which it
 * is then no larger, while the others are whole. */
enum linearity { NOT_LINEAR, TOGETHER, BY_ITSELF };

static enum linearity linearity_of(enum ll_op_kind kind)
{
    static const uint8_t linear[LL_OP_NONE] = {
        [LL_OP_ADD] = TOGETHER,          [LL_OP_SUB] = TOGETHER,       [LL_OP_ADD_N] = TOGETHER,
        [LL_OP_NEG] = TOGETHER,          [LL_OP_SPLIT] = TOGETHER,     [LL_OP_SLICE] = TOGETHER,
        [LL_OP_PAD] = TOGETHER,          [LL_OP_CONCAT] = TOGETHER,    [LL_OP_STACK] = TOGETHER,
        [LL_OP_CAST] = TOGETHER,         [LL_OP_TRANSPOSE] = TOGETHER, [LL_OP_RESHAPE] = TOGETHER,
        [LL_OP_MUL] = BY_ITSELF,         [LL_OP_SUM] = BY_ITSELF,      [LL_OP_MEAN] = BY_ITSELF,
        [LL_OP_SEGMENT_SUM] = BY_ITSELF,
    };
    return kind < LL_OP_NONE ? (enum linearity)linear[kind] : NOT_LINEAR;
}

/* Whether a term need not be summed up for the op at work: nobody else reads it, or all make terms of it
 * alone. */
static bool stays_term(const struct ll_sharding *s, uint32_t tensor)
{
    return s->placement.readers[tensor] == 1 || !s->summed[tensor];
}

/* A single number that is whole may be a term, too: of one rank, with zeros of the others. */
static bool passes_together(const struct ll_sharding *s)
{
    const struct ll_op_view *op = &s->signature->view;
    bool any = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        bool term = ll_state_of_input(s, i).held == LL_PARTIAL_SUM;
        if (term ? !stays_term(s, ll_old_input(s, i)) : op->in[i].rank > 0)
            return false;
        any |= term;
    }
    return any;
}

static bool passes_by_itself(const struct ll_sharding *s)
{
    const struct ll_op_view *op = &s->signature->view;
    uint32_t terms = 0, shares = 0, at = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        struct ll_shard_state state = ll_state_of_input(s, i);
        shares += !state.free && state.held == LL_SHARDED;
        terms += state.held == LL_PARTIAL_SUM;
        at = state.held == LL_PARTIAL_SUM ? i : at;
    }
    return terms == 1 && shares == 0 && (at == 0 || op->kind == LL_OP_MUL) &&
           stays_term(s, ll_old_input(s, at)) && ll_elements(&op->out[0]) <= ll_elements(&op->in[at]);
}

/* Whether the op makes terms of terms, so that they are summed up later, once. */
bool ll_shard_passes_terms(const struct ll_sharding *s)
{
    enum linearity linearity = linearity_of(s->signature->view.kind);
    return (linearity == TOGETHER && passes_together(s)) || (linearity == BY_ITSELF && passes_by_itself(s));
}

/* Which tensors somebody reads who wants them summed up, were they terms. */
bool ll_shard_find_summed(struct ll_sharding *s)
{
    const struct ll_trace *trace = s->trace;
    s->summed = ll_alloc(&s->placement.rewrite.arena, trace->tensor_count + 1, sizeof *s->summed);
    for (uint32_t op = 0; s->summed && op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
        for (uint32_t i = 0; i < view->input_count; i++)
            s->summed[ll_op_input(trace, op, i)] |= linearity_of(view->kind) != BY_ITSELF;
    }
    return s->summed != NULL;
}

/* Writing. */

static bool take_view(struct ll_sharding *s, uint32_t tensor, struct ll_shard_state wanted);

static bool convert_inputs(struct ll_sharding *s, uint8_t axis, bool terms)
{
    struct ll_rewrite *rewrite = &s->placement.rewrite;
    uint32_t count = s->signature->view.input_count, scope = ll_rewrite_string(rewrite, s->signature->scope);
    s->inputs = ll_alloc(&s->scratch, count, sizeof *s->inputs);
    for (uint32_t i = 0; s->inputs && i < count; i++) {
        struct ll_shard_state wanted = ll_wanted_state(s, i, axis);
        if (terms && ll_state_of_input(s, i).held == LL_PARTIAL_SUM)
            wanted.held = LL_PARTIAL_SUM;
        if (!take_view(s, ll_old_input(s, i), wanted))
            return false;
        s->inputs[i] =
            ll_placement_convert(&s->placement, ll_old_input(s, i), wanted, s->signature->phase, scope);
    }
    return s->inputs != NULL;
}

/* The largest of each row's share, and then of each row. */
static void settle_maxima(struct ll_sharding *s)
{
    struct ll_rewrite *rewrite = &s->placement.rewrite;
    const struct ll_shape *logits = ll_rewrite_shape(rewrite, s->inputs[0]);
    struct ll_shape largest = {.rank = 1, .dtype = logits->dtype};
    largest.dim[0] = logits->dim[0];
    largest.role[0] = logits->role[0];
    const struct ll_attr axis = {.key = LL_ATTR_AXIS, .count = 1};
    uint32_t scope = ll_rewrite_string(rewrite, s->signature->scope);
    uint32_t desc = ll_rewrite_new_desc(rewrite, "largest", &largest, LL_ACTIVATION);
    uint32_t tensor = ll_rewrite_add(rewrite, &(struct ll_record){.kind = LL_OP_MAX,
                                                                  .phase = s->signature->phase,
                                                                  .scope = scope,
                                                                  .inputs = &s->inputs[0],
                                                                  .input_count = 1,
                                                                  .outputs = &desc,
                                                                  .output_count = 1,
                                                                  .attrs = &axis,
                                                                  .attr_count = 1});
    const struct ll_exchange_place place = {scope, s->signature->phase, s->placement.ranks,
                                            s->placement.stride};
    ll_rewrite_exchange(rewrite, LL_OP_ALL_REDUCE, tensor, desc, &place);
}

/* What a divided axis means: what it does where it is divided already, else what the result says. */
static uint8_t role_of_axis(const struct ll_sharding *s, uint8_t axis, uint8_t otherwise)
{
    for (uint32_t i = 0; i < s->signature->view.input_count; i++) {
        struct ll_shard_state state = ll_state_of_input(s, i);
        if (state.held == LL_SHARDED && ll_dim_in(&s->axes, i, axis) == state.dim &&
            state.role == LL_ROLE_SEQUENCE)
            return LL_ROLE_SEQUENCE;
    }
    return otherwise;
}

static struct ll_shard_state state_of_result(const struct ll_sharding *s, uint32_t i, uint8_t axis,
                                             bool terms)
{
    int dim = axis ? ll_dim_out(&s->axes, i, axis) : -1;
    if (terms || (axis && dim < 0))
        return (struct ll_shard_state){.held = LL_PARTIAL_SUM};
    if (dim < 0)
        return (struct ll_shard_state){.held = LL_REPLICATED};
    return (struct ll_shard_state){LL_SHARDED, (uint8_t)dim,
                                   role_of_axis(s, axis, s->signature->view.out[i].role[dim]), false};
}

/* Rows of attention are so many shares of all. */
static void add_parts(struct ll_sharding *s, struct ll_record *record)
{
    uint64_t parts =
        ll_mul((uint64_t)ll_attr_count(&s->signature->view, LL_ATTR_PARTS, 1), s->placement.ranks);
    struct ll_attr *attrs = s->placement.rewrite.attrs;
    for (uint32_t i = 0; i < record->attr_count; i++)
        if (attrs[i].key == LL_ATTR_PARTS) {
            attrs[i].count = (int64_t)parts;
            return;
        }
    if (record->attr_count < LL_MAX_ATTRS)
        attrs[record->attr_count++] = (struct ll_attr){.key = LL_ATTR_PARTS, .count = (int64_t)parts};
}

static void share_attributes(struct ll_sharding *s, uint8_t axis, struct ll_record *record)
{
    const struct ll_op_view *op = &s->signature->view;
    struct ll_attr *attrs = s->placement.rewrite.attrs;
    bool attends = op->kind == LL_OP_CAUSAL_ATTENTION || op->kind == LL_OP_CAUSAL_ATTENTION_GRAD;
    if (attends && axis && ll_dim_in(&s->axes, 0, axis) == op->in[0].rank - 2)
        add_parts(s, record);
    bool cuts = op->kind == LL_OP_SLICE || op->kind == LL_OP_PAD,
         routes = op->kind == LL_OP_ROUTE && axis && ll_dim_out(&s->axes, 0, axis) == 1;
    if (!routes && (!cuts || !axis || ll_dim_in(&s->axes, 0, axis) != ll_attr_count(op, LL_ATTR_AXIS, 0)))
        return;
    for (uint32_t i = 0; i < record->attr_count; i++)
        if (attrs[i].key == LL_ATTR_BEGIN || attrs[i].key == LL_ATTR_SIZE || attrs[i].key == LL_ATTR_BEFORE ||
            attrs[i].key == LL_ATTR_AFTER)
            attrs[i].count /= (int64_t)s->placement.ranks;
}

bool ll_shard_write_op(struct ll_sharding *s, uint8_t axis, bool terms)
{
    assert(axis <= s->axes.count);
    struct ll_rewrite *rewrite = &s->placement.rewrite;
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
        struct ll_shard_state state = state_of_result(s, i, axis, terms);
        struct ll_shape shape = ll_shard_shape(&s->placement, s->signature->view.out[i], state);
        outputs[i] = ll_rewrite_reshaped(rewrite, s->signature->outputs[i], &shape);
        s->placement.states[ll_op_output(s->trace, s->op, i)] = state;
    }
    share_attributes(s, axis, &record);
    record.inputs = s->inputs;
    record.outputs = outputs;
    return ll_rewrite_put(rewrite, s->op, &record) != LL_NONE || record.output_count == 0;
}

/* Looks at weights wait until it is known how these are divided: the first reader says how it wants them. */

bool ll_shard_begin_op(struct ll_sharding *s, uint32_t op, struct ll_divided held)
{
    assert(op < s->trace->op_count);
    s->op = op;
    s->signature = &s->trace->signatures[s->trace->ops[op].signature];
    s->axes.held = held;
    return ll_axes_of(&s->signature->view, &s->scratch, &s->axes) ||
           ll_rewrite_trouble(&s->placement.rewrite, "memory ran out");
}

/* The axis of the look at work along which its result is divided as wanted, with the dimension of its input;
 * 0 when there is none. */
static uint8_t axis_of_view(struct ll_sharding *s, struct ll_shard_state wanted)
{
    const struct ll_shape *in = &s->signature->view.in[0];
    for (unsigned i = 0; wanted.held == LL_SHARDED && i < in->rank; i++) {
        ll_shard_begin_op(s, s->op, (struct ll_divided){(int)i, in->role[i]});
        uint8_t axis = s->axes.in ? ll_axis_in(&s->axes, 0, i) : 0;
        if (axis && ll_dim_out(&s->axes, 0, axis) == wanted.dim && ll_axis_divides(s, axis))
            return axis;
    }
    return 0;
}

static bool take_view(struct ll_sharding *s, uint32_t tensor, struct ll_shard_state wanted)
{
    if (!s->placement.states[tensor].free || s->trace->tensors[tensor].producer == LL_NONE)
        return true;
    struct ll_sharding outer = *s;
    bool written = ll_shard_begin_op(s, s->trace->tensors[tensor].producer, (struct ll_divided){.dim = -1}) &&
                   ll_shard_write_op(s, axis_of_view(s, wanted), false);
    s->op = outer.op;
    s->signature = outer.signature;
    s->axes = outer.axes;
    s->inputs = outer.inputs;
    return written;
}

/* Gradients, before weights are changed by them: as the weight is, and not divided by time. From then on
 * nobody reads what they were before. */
static void settle_gradients(struct ll_sharding *s)
{
    struct ll_rewrite *rewrite = &s->placement.rewrite;
    for (uint32_t i = 0; i < s->signature->view.input_count; i++) {
        uint32_t tensor = ll_old_input(s, i), weight = s->updated[tensor];
        struct ll_shard_state now = s->placement.states[tensor], wanted = now;
        if (now.free)
            continue;
        if (weight != LL_NONE && !s->placement.states[weight].free)
            wanted = s->placement.states[weight];
        else if (now.held == LL_SHARDED && now.role == LL_ROLE_SEQUENCE)
            wanted = (struct ll_shard_state){.held = LL_REPLICATED};
        uint32_t scope = ll_rewrite_string(rewrite, s->signature->scope);
        uint32_t settled = ll_placement_convert(&s->placement, tensor, wanted, LL_PHASE_UPDATE, scope);
        ll_rewrite_redirect(rewrite, tensor, settled);
        s->placement.states[tensor] = wanted;
        s->placement.copies_of[tensor] = LL_NONE;
    }
}

/* What no op reads is for the user: sums are made, and what a step ends with (the scores of an inference) is
 * had whole. Where maxima were settled the terms are of a sum that the loss is the logarithm of: it is made
 * at once. */
static void finish_results(struct ll_sharding *s, bool settled)
{
    const struct ll_op *next = s->op + 1 < s->trace->op_count ? &s->trace->ops[s->op + 1] : NULL;
    bool last = !next || next->step != s->trace->ops[s->op].step;
    for (uint32_t i = 0; s->signature->phase == LL_PHASE_FORWARD && i < s->signature->view.output_count;
         i++) {
        uint32_t tensor = ll_op_output(s->trace, s->op, i);
        bool term = s->placement.states[tensor].held == LL_PARTIAL_SUM;
        bool unread = s->placement.readers[tensor] == 0;
        if ((term && (settled || unread)) || (last && unread))
            ll_placement_convert(&s->placement, tensor, (struct ll_shard_state){.held = LL_REPLICATED},
                                 s->signature->phase,
                                 ll_rewrite_string(&s->placement.rewrite, s->signature->scope));
    }
}

/* Whether an op chooses experts for the rank's own words, or picks and places rows of these. */
static bool is_of_own_words(const struct ll_sharding *s, uint32_t op)
{
    const struct ll_op_view *view = &s->trace->signatures[s->trace->ops[op].signature].view;
    bool picks = view->kind == LL_OP_GATHER && view->in[0].role[0] == LL_ROLE_BATCH;
    bool routes = view->kind == LL_OP_ROUTE, places = view->kind == LL_OP_SEGMENT_SUM;
    if (!s->placement.routes_own || !(picks || routes || places))
        return false;
    struct ll_shard_state words = s->placement.states[ll_op_input(s->trace, op, routes ? 0 : 1)];
    return !words.free && words.held == LL_SHARDED && words.role == LL_ROLE_SEQUENCE;
}

/* What is a sum at the places of experts is scattered among these before it is seen as rows: it then goes
 * back to where its words are by shares. */
static void scatter_places(struct ll_sharding *s, uint32_t op)
{
    const struct ll_op_signature *signature = &s->trace->signatures[s->trace->ops[op].signature];
    const struct ll_shape *shape = signature->view.input_count ? &signature->view.in[0] : NULL;
    if (!s->placement.routes_own || signature->view.kind != LL_OP_RESHAPE ||
        shape->role[0] != LL_ROLE_EXPERTS)
        return;
    uint32_t tensor = ll_op_input(s->trace, op, 0);
    int dim = ll_sequence_dim(&s->placement, shape);
    if (s->placement.states[tensor].held == LL_PARTIAL_SUM && dim >= 0)
        ll_placement_convert(&s->placement, tensor,
                             (struct ll_shard_state){LL_SHARDED, (uint8_t)dim, LL_ROLE_SEQUENCE, false},
                             signature->phase, ll_rewrite_string(&s->placement.rewrite, signature->scope));
}

/* Writes one op as one tensor-parallel device does it: picks the axis along which it is divided by how its
 * inputs are held and what moving them would cost, brings the inputs into that state, and notes the state
 * of its results. */
static bool shard_op(struct ll_sharding *s, uint32_t op)
{
    const struct ll_op_signature *signature = &s->trace->signatures[s->trace->ops[op].signature];
    struct ll_divided held = {.dim = -1};
    struct ll_shard_state *first =
        signature->view.input_count ? &s->placement.states[ll_op_input(s->trace, op, 0)] : NULL;
    if (first && first->free && ll_is_view(&signature->view) &&
        is_undecided(s, ll_op_input(s->trace, op, 0))) {
        s->placement.states[ll_op_output(s->trace, op, 0)].free = true;
        return true;
    }
    scatter_places(s, op);
    if (first && first->held == LL_SHARDED)
        held = (struct ll_divided){first->dim, first->role};
    s->axes.by_position = is_of_own_words(s, op);
    if (s->axes.by_position)
        held = (struct ll_divided){0, LL_ROLE_SEQUENCE};
    if (!ll_shard_begin_op(s, op, held))
        return false;
    if (signature->phase == LL_PHASE_UPDATE)
        settle_gradients(s);
    bool terms = ll_shard_passes_terms(s);
    uint8_t axis = terms ? 0 : axis_of_op(s);
    bool written = ll_shard_write_op(s, axis, terms);
    if (written)
        finish_results(s, axis && s->axes.settled[axis]);
    ll_arena_reset(&s->scratch);
    return written;
}

/* Backwards from the ops that change weights, through what is done with gradients before. */
bool ll_shard_find_updated(struct ll_sharding *s)
{
    const struct ll_trace *trace = s->trace;
    s->updated = ll_alloc(&s->placement.rewrite.arena, trace->tensor_count + 1, sizeof *s->updated);
    for (uint64_t i = 0; s->updated && i < trace->tensor_count; i++)
        s->updated[i] = LL_NONE;
    for (uint32_t op = (uint32_t)trace->op_count; s->updated && op-- > 0;) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        uint32_t first = signature->view.output_count ? ll_op_output(trace, op, 0) : LL_NONE;
        if (signature->phase != LL_PHASE_UPDATE || first == LL_NONE)
            continue;
        bool changes =
            signature->aliases[0] != LL_NONE && trace->descs[signature->outputs[0]].memory == LL_WEIGHT;
        uint32_t weight = changes ? ll_op_input(trace, op, signature->aliases[0]) : s->updated[first];
        for (uint32_t i = 0; i < signature->view.input_count; i++)
            if (memcmp(signature->view.in[i].dim, signature->view.out[0].dim,
                       sizeof signature->view.out[0].dim) == 0)
                s->updated[ll_op_input(trace, op, i)] = weight;
    }
    return s->updated != NULL;
}

struct ll_trace *ll_shard_end(struct ll_sharding *s)
{
    const char *trouble = NULL;
    struct ll_trace *shard = ll_rewrite_end(&s->placement.rewrite, &trouble);
    if (!shard && s->signature && s->op < s->trace->op_count)
        ll_complain(s->diags, (struct ll_place){0},
                    "op %" PRIu32 ", %s in %s: it cannot be divided among %" PRIu64 " ranks: %s", s->op,
                    s->trace->strings[s->signature->kind_name], s->trace->strings[s->signature->scope],
                    s->placement.ranks, trouble);
    else if (!shard)
        ll_complain(s->diags, (struct ll_place){0}, "%s", trouble);
    ll_arena_release(&s->scratch);
    ll_placement_release(&s->placement);
    if (shard && !s->right) {
        ll_trace_free(shard);
        return NULL;
    }
    return shard;
}

/* A key that nothing would come of is a mistake. */
static bool check_time(const struct ll_sharding *s)
{
    uint64_t uneven = ll_uneven_sequence(&s->placement, s->trace);
    return uneven == 0 ||
           ll_complain(s->diags, (struct ll_place){.file = ll_trace_fact(s->trace, "model")},
                       "sequence parallel: a sequence of %" PRIu64
                       " positions cannot be divided among %" PRIu64 " tensor-parallel devices",
                       uneven, s->placement.ranks);
}

static struct ll_trace *shard(const struct ll_trace *trace, const struct ll_parallel *plan,
                              struct ll_diags *diags)
{
    struct ll_sharding s = {.trace = trace,
                            .diags = diags,
                            .labelled = is_labelled(trace),
                            .whole_experts = plan->whole_experts,
                            .right = true};
    char ranks[24];
    snprintf(ranks, sizeof ranks, "%" PRIu64, plan->tensor);
    const struct ll_fact fact = {"parallel.tensor", ranks};
    s.placement.ranks = plan->tensor;
    s.placement.stride = 1;
    s.placement.by_time = plan->sequence;
    s.placement.routes_own = plan->sequence && plan->expert > 1;
    if (!check_time(&s))
        return NULL;
    ll_rewrite_begin(&s.placement.rewrite, trace, &fact, 1);
    if (!ll_placement_begin(&s.placement, trace) || !ll_shard_find_updated(&s) || !ll_shard_find_summed(&s))
        ll_rewrite_trouble(&s.placement.rewrite, "memory ran out");
    bool going = !s.placement.rewrite.trouble;
    for (uint32_t op = 0; op < trace->op_count && going; op++)
        going = shard_op(&s, op);
    s.op = going ? LL_NONE : s.op;
    return ll_shard_end(&s);
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
    struct ll_trace *copied = ll_replicate_kv_heads(trace, plan->tensor);
    struct ll_trace *rank = shard(copied ? copied : trace, plan, diags);
    ll_trace_free(copied);
    return rank;
}
