/* SPDX-License-Identifier: Apache-2.0 */
/* The axes of every op: rules by shape word (tracer/ir/op_table.def) for which dimensions of inputs and
 * results are one index.
 *
 * The first section has the rules of ops that move, regroup or pick elements, the second those of sequence
 * positions (context parallelism), the third all others and the table that binds words to rules. */
#define LL_ALL_OP_KINDS /* op_table.def is bound here */
#include <assert.h>
#include <string.h>

#include "sim/parallel/shard.h"

/* Axes of what goes elsewhere, is regrouped, or is picked by index. */

/* The stretch of dimensions around `dim` of one shape that is as long as a stretch of the other's. */
struct stretch {
    int first, end; /* of the other shape */
};

/* Elements from the first dimension up to, without, `dim`. */
static uint64_t before(const struct ll_shape *shape, int dim)
{
    uint64_t elements = 1;
    for (int i = 0; i < dim; i++)
        elements = ll_mul(elements, shape->dim[i]);
    return elements;
}

/* Both shapes have a border between dimensions wherever this many elements lie before it. */
static int border(const struct ll_shape *shape, uint64_t elements)
{
    for (int i = 0; i <= shape->rank; i++)
        if (before(shape, i) == elements)
            return i;
    return -1;
}

/* What of the result the stretch around a dimension of the input has become. */
static struct stretch regrouped(const struct ll_shape *in, int dim, const struct ll_shape *out)
{
    int first = dim, end = dim + 1;
    while (first > 0 && border(out, before(in, first)) < 0)
        first--;
    while (end < in->rank && border(out, before(in, end)) < 0)
        end++;
    struct stretch stretch = {border(out, before(in, first)), border(out, before(in, end))};
    while (stretch.end < out->rank && before(out, stretch.end + 1) == before(out, stretch.end))
        stretch.end++;
    return stretch;
}

/* Of a stretch the first dimension of this role that is longer than 1, with LL_ROLE_COUNT of any; -1 for
 * none. */
static int first_of_role(const struct ll_shape *shape, struct stretch stretch, uint8_t role)
{
    for (int i = stretch.first; i < stretch.end; i++)
        if (shape->dim[i] > 1 && (role == LL_ROLE_COUNT || shape->role[i] == role))
            return i;
    return -1;
}

/* What a divided dimension is among those that it becomes: itself (files of others turn matrices by views),
 * steps of time, else heads, else the first. */
static int part_of(const struct ll_shape *shape, struct stretch stretch, uint64_t extent, uint8_t role)
{
    for (int i = stretch.first; i < stretch.end; i++)
        if (shape->dim[i] == extent)
            return i;
    int found = first_of_role(shape, stretch, role == LL_ROLE_SEQUENCE ? LL_ROLE_SEQUENCE : LL_ROLE_HEADS);
    return found >= 0 ? found : first_of_role(shape, stretch, LL_ROLE_COUNT);
}

/* A divided dimension stays divided if what it becomes can be; the others are not asked for. */
void ll_axes_RESHAPE(const struct ll_op_view *op, struct ll_axes *axes)
{
    const struct ll_shape *in = &op->in[0], *out = &op->out[0];
    if (op->input_count != 1 || axes->held.dim < 0 || ll_elements(in) != ll_elements(out))
        return;
    struct stretch stretch = regrouped(in, axes->held.dim, out);
    if (stretch.first < 0 || stretch.end < 0)
        return;
    int to = part_of(out, stretch, in->dim[axes->held.dim], axes->held.role);
    if (to >= 0)
        ll_tie(axes, 0, axes->held.dim, 0, to);
}

void ll_axes_TRANSPOSE(const struct ll_op_view *op, struct ll_axes *axes)
{
    int64_t digits = ll_attr_count(op, LL_ATTR_PERMUTATION, 0);
    for (int i = op->in[0].rank; i-- > 0; digits /= 10)
        ll_tie(axes, 0, (int)(digits % 10), 0, i);
}

static void set_axis_in(struct ll_axes *axes, uint32_t input, int dim, uint8_t axis);

/* Each device joins or parts what it has. */
static void joined(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            set_axis_in(axes, k, i, axis);
        for (uint32_t k = 0; k < op->output_count; k++)
            ll_set_axis_out(axes, k, i, axis);
    }
}

void ll_axes_CONCAT(const struct ll_op_view *op, struct ll_axes *axes)
{
    joined(op, axes);
}

void ll_axes_SPLIT(const struct ll_op_view *op, struct ll_axes *axes)
{
    joined(op, axes);
}

/* Along the axis that is cut, features may be divided in each part; steps of time are not the same then. */
static void cut(const struct ll_op_view *op, struct ll_axes *axes)
{
    int at = (int)ll_attr_count(op, LL_ATTR_AXIS, 0);
    bool time = axes->held.role == LL_ROLE_SEQUENCE || axes->held.role == LL_ROLE_BATCH;
    for (int i = 0; i < op->in[0].rank; i++)
        if (i != at || !time)
            ll_tie(axes, 0, i, 0, i);
}

void ll_axes_SLICE(const struct ll_op_view *op, struct ll_axes *axes)
{
    cut(op, axes);
}

void ll_axes_PAD(const struct ll_op_view *op, struct ll_axes *axes)
{
    cut(op, axes);
}

void ll_axes_STACK(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++) {
        ll_tie(axes, 0, i, 0, i + 1);
        for (uint32_t k = 1; k < op->input_count; k++)
            set_axis_in(axes, k, i, ll_axis_in(axes, 0, (unsigned)i));
    }
}

void ll_axes_UNSTACK(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 1; i < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        set_axis_in(axes, 0, i, axis);
        for (uint32_t k = 0; k < op->output_count; k++)
            ll_set_axis_out(axes, k, i - 1, axis);
    }
}

void ll_axes_ONE_HOT(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++)
        ll_tie(axes, 0, i, 0, i);
}

/* table[rows, ...], indices -> [indices..., ...]: whoever has not the row gives zeros. */
void ll_axes_GATHER(const struct ll_op_view *op, struct ll_axes *axes)
{
    int places = op->in[1].rank;
    set_axis_in(axes, 0, 0, ll_new_axis(axes, true));
    for (int i = 0; i < places; i++)
        ll_tie(axes, 1, i, 0, i);
    for (int i = 1; i < op->in[0].rank; i++)
        ll_tie(axes, 0, i, 0, places + i - 1);
}

/* rows[n, ...], indices[n] -> [table, ...]: each device may sum for its part of the table alone. */
void ll_axes_SEGMENT_SUM(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t summed = ll_new_axis(axes, true);
    set_axis_in(axes, 0, 0, summed);
    set_axis_in(axes, 1, 0, summed);
    ll_set_axis_out(axes, 0, 0, ll_new_axis(axes, false));
    for (int i = 1; i < op->in[0].rank; i++)
        ll_tie(axes, 0, i, 0, i);
}

/* table, rows[n, ...], indices[n] -> the table, in place */
void ll_axes_PICKED(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++) {
        ll_tie(axes, 0, i, 0, i);
        if (i > 0)
            set_axis_in(axes, 1, i, ll_axis_in(axes, 0, (unsigned)i));
    }
}

void ll_axes_REPEATED(const struct ll_op_view *op, struct ll_axes *axes)
{
    const struct ll_shape *in = &op->in[0], *out = &op->out[0];
    for (int i = 0; i < in->rank; i++)
        if (in->dim[i] == out->dim[out->rank - in->rank + i])
            ll_tie(axes, 0, i, 0, out->rank - in->rank + i);
}

/* A tensor and what comes into it along an axis. */
void ll_axes_CACHE_UPDATE(const struct ll_op_view *op, struct ll_axes *axes)
{
    int at = (int)ll_attr_count(op, LL_ATTR_AXIS, 0);
    for (int i = 0; i < op->in[0].rank; i++)
        if (i != at) {
            ll_tie(axes, 0, i, 0, i);
            set_axis_in(axes, 1, i, ll_axis_in(axes, 0, (unsigned)i));
        }
}

/* Axes of ops where each device has some positions of a sequence and knows which (sim/parallel/shard.h). A
 * query may then be compared with keys, and turned by its position, wherever it is; experts are chosen by
 * each device for its own words. */

/* All tensors look alike: an axis for each of the first so many dimensions. */
static void alike(const struct ll_op_view *op, struct ll_axes *axes, int dims)
{
    for (int i = 0; i < dims; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            set_axis_in(axes, k, i, axis);
        for (uint32_t k = 0; k < op->output_count; k++)
            ll_set_axis_out(axes, k, i, axis);
    }
}

/* Rows of scores are divided, and looked at whole. */
static void scores(const struct ll_op_view *op, struct ll_axes *axes)
{
    alike(op, axes, op->in[0].rank - 1);
}

/* Features are turned in pairs. */
static void rotary(const struct ll_op_view *op, struct ll_axes *axes)
{
    alike(op, axes, op->in[0].rank - 1);
}

/* q[..., rows, d], k, v -> y[..., rows, d], logs[..., rows] */
static void attention(const struct ll_op_view *op, struct ll_axes *axes)
{
    int rows = op->in[0].rank - 2;
    alike(op, axes, rows);
    ll_tie(axes, 0, rows, 0, rows);
    ll_set_axis_out(axes, 1, rows, ll_axis_in(axes, 0, (unsigned)rows));
}

/* dy, q, k, v, y, logs -> dq, and of dk and dv what comes of these rows */
static void attention_grad(const struct ll_op_view *op, struct ll_axes *axes)
{
    int rows = op->in[0].rank - 2;
    alike(op, axes, rows);
    uint8_t axis = ll_new_axis(axes, true);
    set_axis_in(axes, 0, rows, axis);
    set_axis_in(axes, 1, rows, axis);
    set_axis_in(axes, 4, rows, axis);
    set_axis_in(axes, 5, rows, axis);
    ll_set_axis_out(axes, 0, rows, axis);
}

/* rows[n, ...], indices[..., places] -> [..., places, ...]: of rows that a device has it picks. */
static void gather(const struct ll_op_view *op, struct ll_axes *axes)
{
    int places = op->in[1].rank - 1;
    if (axes->held.dim != 0 || places < 0) {
        ll_axes_GATHER(op, axes);
        return;
    }
    ll_tie(axes, 0, 0, 0, places);
    set_axis_in(axes, 1, places, ll_axis_in(axes, 0, 0));
}

/* rows[n, ...], indices[n] -> [table, ...]: into rows that a device has, where these are no words. */
static void segment_sum(const struct ll_op_view *op, struct ll_axes *axes)
{
    int places = op->in[1].rank - 1;
    if (op->out[0].role[0] != LL_ROLE_BATCH || places < 0) {
        ll_axes_SEGMENT_SUM(op, axes);
        return;
    }
    ll_tie(axes, 0, places, 0, 0);
    set_axis_in(axes, 1, places, ll_axis_in(axes, 0, (unsigned)places));
}

/* experts[words, choices] -> [experts, places], of what and how much of it: a share of the places is for a
 * share of the words. */
static void route(const struct ll_op_view *op, struct ll_axes *axes)
{
    ll_tie(axes, 0, 0, 0, 1);
    for (uint32_t k = 1; k < op->output_count; k++)
        ll_set_axis_out(axes, k, 1, ll_axis_in(axes, 0, 0));
}

/* A share of its own that a device of a GEMM cuts out is one of all that it has; of other parts each
 * device would have to know where they lie. */
static void slice(const struct ll_op_view *op, struct ll_axes *axes)
{
    if (ll_attr_count(op, LL_ATTR_DEVICES, 1) > 1)
        alike(op, axes, op->in[0].rank);
    else
        ll_axes_SLICE(op, axes);
}

/* What devices of a GEMM tell one another is in their dimensions, and of all that each has. */
static void exchanged(const struct ll_op_view *op, struct ll_axes *axes)
{
    if (op->input_count == 1 && op->output_count == 1 && op->in[0].rank == op->out[0].rank)
        alike(op, axes, op->in[0].rank);
}

/* The rule of a kind that may be divided otherwise where devices have positions each; NULL: it may not. */
static ll_axes_rule *axes_by_position(enum ll_op_kind kind)
{
    static ll_axes_rule *const rules[LL_OP_NONE] = {
        [LL_OP_CAUSAL_SOFTMAX] = scores,
        [LL_OP_CAUSAL_SOFTMAX_GRAD] = scores,
        [LL_OP_CAUSAL_ATTENTION] = attention,
        [LL_OP_CAUSAL_ATTENTION_GRAD] = attention_grad,
        [LL_OP_ROTARY] = rotary,
        [LL_OP_GATHER] = gather,
        [LL_OP_SEGMENT_SUM] = segment_sum,
        [LL_OP_ROUTE] = route,
        [LL_OP_SLICE] = slice,
        [LL_OP_ALL_REDUCE] = exchanged,
        [LL_OP_REDUCE_SCATTER] = exchanged,
        [LL_OP_ALL_GATHER] = exchanged,
        [LL_OP_ALL_TO_ALL] = exchanged,
    };
    return kind < LL_OP_NONE ? rules[kind] : NULL;
}

/* Most ops are of few kinds: what works element by element has an axis for each dimension; what looks at rows
 * whole has one for each dimension but the last; GEMMs sum over the one that both factors have. */

uint8_t ll_new_axis(struct ll_axes *axes, bool summed)
{
    if (axes->count == LL_MOST_AXES)
        return 0;
    axes->summed[++axes->count] = summed;
    return (uint8_t)axes->count;
}

/* A dimension of an input, or of a result, is of this axis. */
static void set_axis_in(struct ll_axes *axes, uint32_t input, int dim, uint8_t axis)
{
    axes->in[input * LL_MAX_RANK + (uint32_t)dim] = axis;
}

void ll_set_axis_out(struct ll_axes *axes, uint32_t output, int dim, uint8_t axis)
{
    assert(dim >= 0 && dim < LL_MAX_RANK && axis <= axes->count);
    axes->out[output * LL_MAX_RANK + (uint32_t)dim] = axis;
}

void ll_tie(struct ll_axes *axes, uint32_t input, int in_dim, uint32_t output, int out_dim)
{
    uint8_t axis = ll_new_axis(axes, false);
    set_axis_in(axes, input, in_dim, axis);
    ll_set_axis_out(axes, output, out_dim, axis);
}

static int find(const uint8_t *axes, uint8_t axis)
{
    const uint8_t *at = memchr(axes, axis, LL_MAX_RANK);
    return at ? (int)(at - axes) : -1;
}

int ll_dim_in(const struct ll_axes *axes, uint32_t input, uint8_t axis)
{
    assert(axis <= axes->count);
    return find(axes->in + input * LL_MAX_RANK, axis);
}

int ll_dim_out(const struct ll_axes *axes, uint32_t output, uint8_t axis)
{
    assert(axis <= axes->count);
    return find(axes->out + output * LL_MAX_RANK, axis);
}

static bool same_dims(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Nothing can be divided. */
static void whole(const struct ll_op_view *op, struct ll_axes *axes)
{
    (void)op, (void)axes;
}

/* The axes of the first so many dimensions for all inputs and results that look like the first input. */
static void set_axes_alike(const struct ll_op_view *op, struct ll_axes *axes, unsigned dims)
{
    for (unsigned i = 0; i < dims && op->input_count > 0; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            if (same_dims(&op->in[0], &op->in[k]))
                set_axis_in(axes, k, (int)i, axis);
        for (uint32_t k = 0; k < op->output_count; k++)
            if (same_dims(&op->in[0], &op->out[k]))
                ll_set_axis_out(axes, k, (int)i, axis);
    }
}

static unsigned rank_of_first(const struct ll_op_view *op)
{
    return op->input_count ? op->in[0].rank : 0;
}

/* Element by element; reductions that keep the shape look at the last dimension whole. What goes along a
 * line, turns it round or chooses rows is not divided. */
static void same(const struct ll_op_view *op, struct ll_axes *axes)
{
    unsigned rank = rank_of_first(op);
    bool by_rows = op->kind == LL_OP_SELECT && op->in[0].rank != op->in[1].rank;
    if (op->kind == LL_OP_TRIANGLE || op->kind == LL_OP_CUMULATIVE_SUM || op->kind == LL_OP_REVERSE ||
        by_rows)
        return;
    if (op->kind == LL_OP_CAUSAL_SOFTMAX_GRAD)
        set_axes_alike(op, axes, rank > 2 ? rank - 2 : 0);
    else
        set_axes_alike(op, axes, ll_op_class(op->kind) == LL_CLASS_REDUCTION && rank ? rank - 1 : rank);
}

/* Which rows see which keys depends on both. */
static void causal(const struct ll_op_view *op, struct ll_axes *axes)
{
    unsigned rank = rank_of_first(op);
    set_axes_alike(op, axes, rank > 2 ? rank - 2 : 0);
}

/* Positions are counted along an axis, features turned in pairs. */
static void set_axes_rotary(const struct ll_op_view *op, struct ll_axes *axes)
{
    int positions = (int)ll_attr_count(op, LL_ATTR_AXIS, 0);
    for (int i = 0; i + 1 < op->in[0].rank; i++)
        if (i != positions)
            ll_tie(axes, 0, i, 0, i);
}

/* Inputs are matched from the last dimension on, as NumPy does; where one repeats it has no part of the axis.
 */
static void spread(const struct ll_op_view *op, struct ll_axes *axes)
{
    const struct ll_shape *out = &op->out[0];
    for (unsigned i = 0; i < out->rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        ll_set_axis_out(axes, 0, (int)i, axis);
        for (uint32_t k = 0; k < op->input_count; k++) {
            int at = (int)(i + op->in[k].rank) - out->rank;
            if (at >= 0 && op->in[k].dim[at] == out->dim[i])
                set_axis_in(axes, k, at, axis);
        }
    }
}

/* x[rows..., features] and vectors of the features: each row by itself; results that are vectors are sums
 * over rows. */
static void rows(const struct ll_op_view *op, struct ll_axes *axes)
{
    const bool grouped = op->kind == LL_OP_GROUP_NORM || op->kind == LL_OP_GROUP_NORM_GRAD;
    unsigned rank = rank_of_first(op), most = grouped ? 1 : rank ? rank - 1 : 0;
    set_axes_alike(op, axes, most);
    memset(axes->summed, true, sizeof axes->summed);
}

/* x[..., channels] and vectors of the channels: each channel by itself. */
static void channels(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t axis = ll_new_axis(axes, false);
    for (uint32_t k = 0; k < op->input_count; k++)
        set_axis_in(axes, k, op->in[k].rank - 1, axis);
    for (uint32_t k = 0; k < op->output_count; k++)
        ll_set_axis_out(axes, k, op->out[k].rank - 1, axis);
}

/* The last two dimensions of a and b, turned or not; leading ones alike. */
static void product(const struct ll_op_view *op, struct ll_axes *axes)
{
    int first = op->in[0].rank - 2, ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
        tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    for (int i = 0; i < first; i++) {
        ll_tie(axes, 0, i, 0, i);
        set_axis_in(axes, 1, i, ll_axis_in(axes, 0, (unsigned)i));
    }
    uint8_t k = ll_new_axis(axes, true);
    set_axis_in(axes, 0, first + !ta, k);
    set_axis_in(axes, 1, first + tb, k);
    ll_tie(axes, 0, first + ta, 0, first);
    ll_tie(axes, 1, first + !tb, 0, first + 1);
}

/* Images [batch, height, width, channels] and filters [height, width, channels in, channels out]: with groups
 * of channels the batch alone is an axis. */
static void conv2d(const struct ll_op_view *op, struct ll_axes *axes)
{
    ll_tie(axes, 0, 0, 0, 0);
    if (ll_attr_count(op, LL_ATTR_GROUPS, 1) != 1)
        return;
    uint8_t summed = ll_new_axis(axes, true);
    set_axis_in(axes, 0, 3, summed);
    set_axis_in(axes, 1, 2, summed);
    ll_tie(axes, 1, 3, 0, 3);
}

/* dy, filter -> dx */
static void conv_data(const struct ll_op_view *op, struct ll_axes *axes)
{
    ll_tie(axes, 0, 0, 0, 0);
    if (ll_attr_count(op, LL_ATTR_GROUPS, 1) != 1)
        return;
    uint8_t summed = ll_new_axis(axes, true);
    set_axis_in(axes, 0, 3, summed);
    set_axis_in(axes, 1, 3, summed);
    ll_tie(axes, 1, 2, 0, 3);
}

/* x, dy -> the filter's gradient */
static void conv_filter(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t batch = ll_new_axis(axes, true);
    set_axis_in(axes, 0, 0, batch);
    set_axis_in(axes, 1, 0, batch);
    if (ll_attr_count(op, LL_ATTR_GROUPS, 1) != 1)
        return;
    ll_tie(axes, 0, 3, 0, 2);
    ll_tie(axes, 1, 3, 0, 3);
}

/* Images each by itself, and each channel: pools and what leads back through them. */
static void windows(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int dim = 0; dim < 4; dim += 3) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            set_axis_in(axes, k, dim, axis);
        ll_set_axis_out(axes, 0, dim, axis);
    }
}

/* Sums over dimensions; of a maximum these must be whole. */
static void reduced(const struct ll_op_view *op, struct ll_axes *axes)
{
    int rank = op->in[0].rank, axis = (int)ll_attr_count(op, LL_ATTR_AXIS, 0);
    int count = (int)ll_attr_count(op, LL_ATTR_AXES, rank - axis), kept = 0;
    for (int i = 0; i < rank; i++)
        if (i < axis || i >= axis + count)
            ll_tie(axes, 0, i, 0, kept++);
        else if (op->kind != LL_OP_MAX)
            set_axis_in(axes, 0, i, ll_new_axis(axes, true));
}

/* The way back: the input repeats along some dimensions of the result. */
static void expand(const struct ll_op_view *op, struct ll_axes *axes)
{
    int axis = (int)ll_attr_count(op, LL_ATTR_AXIS, 0), count = op->out[0].rank - op->in[0].rank;
    for (int i = 0; i < op->in[0].rank; i++)
        ll_tie(axes, 0, i, 0, i < axis ? i : i + count);
}

/* Sums over all dimensions but the last. */
static void last_dim(const struct ll_op_view *op, struct ll_axes *axes)
{
    int last = op->in[0].rank - 1;
    for (int i = 0; i < last; i++)
        set_axis_in(axes, 0, i, ll_new_axis(axes, true));
    ll_tie(axes, 0, last, 0, 0);
}

static void scalar(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++)
        set_axis_in(axes, 0, i, ll_new_axis(axes, true));
}

/* What is found along the last dimension of each line. */
static void lines(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i + 1 < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        set_axis_in(axes, 0, i, axis);
        for (uint32_t k = 0; k < op->output_count; k++)
            ll_set_axis_out(axes, k, i, axis);
    }
}

/* logits[rows, classes], labels -> loss[rows], dlogits: classes may be divided once the largest logit of each
 * row is known to all; a focal loss looks at each class by itself. */
static void entropy(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t row = ll_new_axis(axes, false), classes = ll_new_axis(axes, true);
    for (uint32_t k = 0; k < 2; k++)
        set_axis_in(axes, k, 0, row);
    for (uint32_t k = 0; k < op->output_count; k++)
        ll_set_axis_out(axes, k, 0, row);
    set_axis_in(axes, 0, 1, classes);
    if (op->in[1].rank == 2)
        set_axis_in(axes, 1, 1, classes);
    if (op->output_count > 1)
        ll_set_axis_out(axes, 1, 1, classes);
    axes->settled[classes] = op->kind != LL_OP_FOCAL_LOSS;
}

static void row_scale(const struct ll_op_view *op, struct ll_axes *axes)
{
    set_axes_alike(op, axes, op->in[0].rank);
    set_axis_in(axes, 1, 0, ll_axis_in(axes, 0, 0));
}

/* q, k, v, perhaps sinks [key heads, ...] -> y, logs: stacks of matrices are divided, and with them heads'
 * sinks. */
static void attention_stacks(const struct ll_op_view *op, struct ll_axes *axes)
{
    unsigned last = op->input_count;
    bool backward = op->kind == LL_OP_CAUSAL_ATTENTION_GRAD, sinks = op->input_count == (backward ? 7u : 4u);
    for (unsigned i = 0; i + 2 < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < last - sinks; k++)
            set_axis_in(axes, k, (int)i, axis);
        for (uint32_t k = 0; k < op->output_count - (backward && sinks); k++)
            ll_set_axis_out(axes, k, (int)i, axis);
        if (sinks && i + 3 == op->in[0].rank && !backward)
            set_axis_in(axes, last - 1, 0, axis);
    }
}

/* q[batch, heads, positions, key], latents[batch, tokens, key] -> y: heads share the latents. */
static void latent(const struct ll_op_view *op, struct ll_axes *axes)
{
    (void)op;
    ll_tie(axes, 0, 0, 0, 0);
    set_axis_in(axes, 1, 0, ll_axis_in(axes, 0, 0));
    ll_tie(axes, 0, 1, 0, 1);
}

/* x, shares, chosen, up[experts, hidden, inner], down[experts, inner, hidden] -> y: the features inside of
 * the experts are divided, or the experts, and with them the choices of each token, as many for each device;
 * each then has a term of the sum. */
static void experts(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t inner = ll_new_axis(axes, true), whole = ll_new_axis(axes, true);
    set_axis_in(axes, 1, 1, whole);
    set_axis_in(axes, 2, 1, whole);
    for (uint32_t i = 3; i < op->input_count; i++)
        set_axis_in(axes, i, 0, whole);
    set_axis_in(axes, 3, 2, inner);
    set_axis_in(axes, 4, 1, inner);
    if (op->input_count > 5)
        set_axis_in(axes, 5, 1, inner);
}

/* state[batch, heads, ...], keys, queries, values, gates [rows, heads ...] -> state, y: heads are divided. */
static void scan(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t heads = ll_new_axis(axes, false);
    set_axis_in(axes, 0, 1, heads);
    for (uint32_t i = 1; i < op->input_count; i++)
        set_axis_in(axes, i, 1, heads);
    ll_set_axis_out(axes, 0, 1, heads);
    ll_set_axis_out(axes, 1, 1, heads);
}

/* state[batch, taps, channels], x[rows, channels], filter[taps, channels], perhaps biases -> state, y */
static void causal_conv(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t channels = ll_new_axis(axes, false);
    set_axis_in(axes, 0, 2, channels);
    set_axis_in(axes, 1, 1, channels);
    set_axis_in(axes, 2, 1, channels);
    if (op->input_count > 3)
        set_axis_in(axes, 3, 0, channels);
    ll_set_axis_out(axes, 0, 2, channels);
    ll_set_axis_out(axes, 1, 1, channels);
}

/* The dimension of positions: that of a sequence, or rows that are positions of samples; -1 for none. */
static int position_dim(const struct ll_shape *shape)
{
    for (int i = 0; i < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_SEQUENCE)
            return i;
    return shape->rank > 1 && shape->role[0] == LL_ROLE_BATCH ? 0 : -1;
}

/* Rows of positions stay rows of the same, whatever they are seen as. */
static void seen_positions(const struct ll_op_view *op, struct ll_axes *axes)
{
    int to = position_dim(&op->out[0]);
    uint8_t axis = to >= 0 ? ll_new_axis(axes, false) : 0;
    for (uint32_t k = 0; axis && k < op->input_count; k++)
        if (position_dim(&op->in[k]) < 0)
            return;
    for (uint32_t k = 0; axis && k < op->input_count; k++)
        set_axis_in(axes, k, position_dim(&op->in[k]), axis);
    if (axis)
        ll_set_axis_out(axes, 0, to, axis);
}

/* Memory seen otherwise: what is one dimension of one meaning before and after may be divided, also where
 * less of it is seen: columns that belong to heads may lie in any order, so those of a device together. */
static void seen_as(const struct ll_op_view *op, struct ll_axes *axes)
{
    static const uint8_t roles[] = {LL_ROLE_HEADS, LL_ROLE_FFN_HIDDEN};
    if (op->output_count != 1)
        return;
    if (axes->by_position)
        seen_positions(op, axes);
    for (size_t r = 0; r < sizeof roles; r++) {
        const struct ll_shape *out = &op->out[0];
        int to = -1;
        for (int i = 0; i < out->rank; i++)
            to = out->role[i] == roles[r] ? i : to;
        uint8_t axis = to >= 0 ? ll_new_axis(axes, false) : 0;
        bool found = false;
        for (uint32_t k = 0; axis && k < op->input_count; k++)
            for (int i = 0; i < op->in[k].rank; i++)
                if (op->in[k].role[i] == roles[r]) {
                    set_axis_in(axes, k, i, axis);
                    found = true;
                }
        if (found)
            ll_set_axis_out(axes, 0, to, axis);
    }
}

/* The rule of each shape word. */
#define ll_axes_SAME_1 same
#define ll_axes_SAME_2 same
#define ll_axes_SAME_N same
#define ll_axes_SELECT same
#define ll_axes_CAST same
#define ll_axes_CAST_BOTH same
#define ll_axes_BENT same
#define ll_axes_DROPOUT same
#define ll_axes_DROPOUT_GRAD same
#define ll_axes_GATED_GRAD same
#define ll_axes_ASSIGN same
#define ll_axes_IN_PLACE_1 same
#define ll_axes_IN_PLACE_2 same
#define ll_axes_IN_PLACE_3 same
#define ll_axes_ADAM_MIXED same
#define ll_axes_ALIKE same
#define ll_axes_CAUSAL causal
#define ll_axes_ATTENTION attention_stacks
#define ll_axes_ATTENTION_GRAD attention_stacks
#define ll_axes_LATENT latent
#define ll_axes_EXPERTS experts
#define ll_axes_SCAN scan
#define ll_axes_CAUSAL_CONV causal_conv
#define ll_axes_ROTARY set_axes_rotary
#define ll_axes_BROADCAST spread
#define ll_axes_COMPARE spread
#define ll_axes_WHERE spread
#define ll_axes_BIAS spread
#define ll_axes_LAYER_NORM rows
#define ll_axes_LAYER_NORM_GRAD rows
#define ll_axes_RMS_NORM rows
#define ll_axes_RMS_NORM_GRAD rows
#define ll_axes_BATCH_NORM channels
#define ll_axes_NORM_GRAD channels
#define ll_axes_NORM_FIXED channels
#define ll_axes_MATMUL product
#define ll_axes_BATCH_MATMUL product
#define ll_axes_CONV2D conv2d
#define ll_axes_CONV_DATA conv_data
#define ll_axes_CONV_FILTER conv_filter
#define ll_axes_POOL windows
#define ll_axes_POOL_GRAD windows
#define ll_axes_SPREAD windows
#define ll_axes_UPSAMPLE windows
#define ll_axes_SHRUNK windows
#define ll_axes_REDUCED reduced
#define ll_axes_EXPAND expand
#define ll_axes_LAST_DIM last_dim
#define ll_axes_SCALAR scalar
#define ll_axes_ARGMAX lines
#define ll_axes_TOP_K lines
#define ll_axes_XENT entropy
#define ll_axes_XENT_DENSE entropy
#define ll_axes_XENT_SMOOTH entropy
#define ll_axes_ROW_SCALE row_scale
#define ll_axes_SEEN_AS seen_as
#define ll_axes_ROWS_IN_PLACE ll_axes_PICKED

/* Nobody has said how these could be divided, or they cannot. */
#define ll_axes_ANY whole
#define ll_axes_BOTH_SOLVED whole
#define ll_axes_BOX_DECODE whole
#define ll_axes_BOX_SAMPLE whole
#define ll_axes_CAUSAL_CONV_GRAD whole
#define ll_axes_CTC whole
#define ll_axes_DOT whole
#define ll_axes_DRAWN whole
#define ll_axes_DRIVEN whole
#define ll_axes_EXCHANGED whole
#define ll_axes_EXPERTS_GRAD whole
#define ll_axes_FACTORED whole
#define ll_axes_GATHERED whole
#define ll_axes_GBMV whole
#define ll_axes_GBMV_ADD whole
#define ll_axes_GEMMT whole
#define ll_axes_GEMMT_ADD whole
#define ll_axes_GEMV whole
#define ll_axes_GEMV_ADD whole
#define ll_axes_GER whole
#define ll_axes_FFT whole
#define ll_axes_GIVEN whole
#define ll_axes_GIVEN_1 whole
#define ll_axes_GRID_SAMPLE whole
#define ll_axes_LRN whole
#define ll_axes_LRN_GRAD whole
#define ll_axes_MATMUL_ADD whole
#define ll_axes_NMS whole
#define ll_axes_NORM whole
#define ll_axes_NOTHING whole
#define ll_axes_PART_MV whole
#define ll_axes_PART_MV_ADD whole
#define ll_axes_PART_TRIANGLE whole
#define ll_axes_PART_UPDATE whole
#define ll_axes_RECEIVED whole
#define ll_axes_RECURRENT whole
#define ll_axes_ROI_POOL whole
#define ll_axes_ROI_POOL_GRAD whole
#define ll_axes_ROUTE whole
#define ll_axes_SAMPLE whole
#define ll_axes_SCAN_GRAD whole
#define ll_axes_SCATTER whole
#define ll_axes_SCATTERED whole
#define ll_axes_SOLVED whole
#define ll_axes_SPARSE_INDEX whole
#define ll_axes_STEPS whole
#define ll_axes_SYR2K whole
#define ll_axes_SYR2K_ADD whole
#define ll_axes_SYRK whole
#define ll_axes_SYRK_ADD whole
#define ll_axes_TOKEN whole
#define ll_axes_TRUE_INDICES whole
#define ll_axes_UNRAVEL whole

static ll_axes_rule *const rules[LL_OP_NONE] = {
#define LL_OP(word, name, op_class, shape, ...) [LL_OP_##word] = ll_axes_##shape,
#include "tracer/ir/op_table.def"
#undef LL_OP
};

bool ll_axes_of(const struct ll_op_view *op, struct ll_arena *arena, struct ll_axes *axes)
{
    axes->count = 0;
    memset(axes->summed, 0, sizeof axes->summed);
    memset(axes->settled, 0, sizeof axes->settled);
    axes->in = ll_alloc(arena, op->input_count, LL_MAX_RANK);
    axes->out = ll_alloc(arena, op->output_count, LL_MAX_RANK);
    if (!axes->in || !axes->out)
        return false;
    ll_axes_rule *by_position = axes->by_position ? axes_by_position(op->kind) : NULL;
    if (by_position)
        by_position(op, axes);
    else if (op->kind < LL_OP_NONE)
        rules[op->kind](op, axes);
    assert(axes->count <= LL_MOST_AXES);
    return true;
}
