/* SPDX-License-Identifier: Apache-2.0 */
/* Most ops are of few kinds: what works element by element has an axis for each dimension; what looks at rows
 * whole has one for each dimension but the last; products sum over the one that both factors have. */
#include "sim/parallel/axes_rules.h"

#include <string.h>

uint8_t ll_new_axis(struct ll_axes *axes, bool summed)
{
    if (axes->count == LL_MOST_AXES)
        return 0;
    axes->summed[++axes->count] = summed;
    return (uint8_t)axes->count;
}

void ll_set_axis_in(struct ll_axes *axes, uint32_t input, int dim, uint8_t axis)
{
    axes->in[input * LL_MAX_RANK + (uint32_t)dim] = axis;
}

void ll_set_axis_out(struct ll_axes *axes, uint32_t output, int dim, uint8_t axis)
{
    axes->out[output * LL_MAX_RANK + (uint32_t)dim] = axis;
}

void ll_tie(struct ll_axes *axes, uint32_t input, int in_dim, uint32_t output, int out_dim)
{
    uint8_t axis = ll_new_axis(axes, false);
    ll_set_axis_in(axes, input, in_dim, axis);
    ll_set_axis_out(axes, output, out_dim, axis);
}

static int find(const uint8_t *axes, uint8_t axis)
{
    const uint8_t *at = memchr(axes, axis, LL_MAX_RANK);
    return at ? (int)(at - axes) : -1;
}

int ll_dim_in(const struct ll_axes *axes, uint32_t input, uint8_t axis)
{
    return find(axes->in + input * LL_MAX_RANK, axis);
}

int ll_dim_out(const struct ll_axes *axes, uint32_t output, uint8_t axis)
{
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
static void alike(const struct ll_op_view *op, struct ll_axes *axes, unsigned dims)
{
    for (unsigned i = 0; i < dims && op->input_count > 0; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            if (same_dims(&op->in[0], &op->in[k]))
                ll_set_axis_in(axes, k, (int)i, axis);
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
        alike(op, axes, rank > 2 ? rank - 2 : 0);
    else
        alike(op, axes, ll_op_class(op->kind) == LL_CLASS_REDUCTION && rank ? rank - 1 : rank);
}

/* Which rows see which keys depends on both. */
static void causal(const struct ll_op_view *op, struct ll_axes *axes)
{
    unsigned rank = rank_of_first(op);
    alike(op, axes, rank > 2 ? rank - 2 : 0);
}

/* Stacks of matrices, of which each is by itself: their dimensions are the first ones of all tensors. */
static void stacks(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (unsigned i = 0; i + 2 < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            ll_set_axis_in(axes, k, (int)i, axis);
        for (uint32_t k = 0; k < op->output_count; k++)
            ll_set_axis_out(axes, k, (int)i, axis);
    }
}

/* Positions are counted along an axis, features turned in pairs. */
static void rotary(const struct ll_op_view *op, struct ll_axes *axes)
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
                ll_set_axis_in(axes, k, at, axis);
        }
    }
}

/* x[rows..., features] and vectors of the features: each row by itself; results that are vectors are sums
 * over rows. */
static void rows(const struct ll_op_view *op, struct ll_axes *axes)
{
    unsigned rank = rank_of_first(op), most = op->kind == LL_OP_GROUP_NORM ? 1 : rank ? rank - 1 : 0;
    alike(op, axes, most);
    memset(axes->summed, true, sizeof axes->summed);
}

/* x[..., channels] and vectors of the channels: each channel by itself. */
static void channels(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t axis = ll_new_axis(axes, false);
    for (uint32_t k = 0; k < op->input_count; k++)
        ll_set_axis_in(axes, k, op->in[k].rank - 1, axis);
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
        ll_set_axis_in(axes, 1, i, ll_axis_in(axes, 0, (unsigned)i));
    }
    uint8_t k = ll_new_axis(axes, true);
    ll_set_axis_in(axes, 0, first + !ta, k);
    ll_set_axis_in(axes, 1, first + tb, k);
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
    ll_set_axis_in(axes, 0, 3, summed);
    ll_set_axis_in(axes, 1, 2, summed);
    ll_tie(axes, 1, 3, 0, 3);
}

/* dy, filter -> dx */
static void conv_data(const struct ll_op_view *op, struct ll_axes *axes)
{
    ll_tie(axes, 0, 0, 0, 0);
    if (ll_attr_count(op, LL_ATTR_GROUPS, 1) != 1)
        return;
    uint8_t summed = ll_new_axis(axes, true);
    ll_set_axis_in(axes, 0, 3, summed);
    ll_set_axis_in(axes, 1, 3, summed);
    ll_tie(axes, 1, 2, 0, 3);
}

/* x, dy -> the filter's gradient */
static void conv_filter(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t batch = ll_new_axis(axes, true);
    ll_set_axis_in(axes, 0, 0, batch);
    ll_set_axis_in(axes, 1, 0, batch);
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
            ll_set_axis_in(axes, k, dim, axis);
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
            ll_set_axis_in(axes, 0, i, ll_new_axis(axes, true));
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
        ll_set_axis_in(axes, 0, i, ll_new_axis(axes, true));
    ll_tie(axes, 0, last, 0, 0);
}

static void scalar(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++)
        ll_set_axis_in(axes, 0, i, ll_new_axis(axes, true));
}

/* What is found along the last dimension of each line. */
static void lines(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i + 1 < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        ll_set_axis_in(axes, 0, i, axis);
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
        ll_set_axis_in(axes, k, 0, row);
    for (uint32_t k = 0; k < op->output_count; k++)
        ll_set_axis_out(axes, k, 0, row);
    ll_set_axis_in(axes, 0, 1, classes);
    if (op->in[1].rank == 2)
        ll_set_axis_in(axes, 1, 1, classes);
    if (op->output_count > 1)
        ll_set_axis_out(axes, 1, 1, classes);
    axes->settled[classes] = op->kind != LL_OP_FOCAL_LOSS;
}

static void row_scale(const struct ll_op_view *op, struct ll_axes *axes)
{
    alike(op, axes, op->in[0].rank);
    ll_set_axis_in(axes, 1, 0, ll_axis_in(axes, 0, 0));
}

/* The rule of each shape word. */
#define ll_axes_SAME_1 same
#define ll_axes_SAME_2 same
#define ll_axes_SAME_N same
#define ll_axes_SELECT same
#define ll_axes_CAST same
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
#define ll_axes_ATTENTION stacks
#define ll_axes_ATTENTION_GRAD stacks
#define ll_axes_ROTARY rotary
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
#define ll_axes_SEEN_AS ll_axes_RESHAPE
#define ll_axes_ROWS_IN_PLACE ll_axes_PICKED

/* Nobody has said how these could be divided, or they cannot. */
#define ll_axes_ANY whole
#define ll_axes_BOTH_SOLVED whole
#define ll_axes_BOX_DECODE whole
#define ll_axes_BOX_SAMPLE whole
#define ll_axes_CTC whole
#define ll_axes_DOT whole
#define ll_axes_DRAWN whole
#define ll_axes_DRIVEN whole
#define ll_axes_EXCHANGED whole
#define ll_axes_FACTORED whole
#define ll_axes_GATHERED whole
#define ll_axes_GBMV whole
#define ll_axes_GBMV_ADD whole
#define ll_axes_GEMMT whole
#define ll_axes_GEMMT_ADD whole
#define ll_axes_GEMV whole
#define ll_axes_GEMV_ADD whole
#define ll_axes_GER whole
#define ll_axes_GIVEN whole
#define ll_axes_GIVEN_1 whole
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
#define ll_axes_SCATTER whole
#define ll_axes_SCATTERED whole
#define ll_axes_SOLVED whole
#define ll_axes_STEPS whole
#define ll_axes_SYR2K whole
#define ll_axes_SYR2K_ADD whole
#define ll_axes_SYRK whole
#define ll_axes_SYRK_ADD whole
#define ll_axes_TOKEN whole
#define ll_axes_TRUE_INDICES whole
#define ll_axes_UNRAVEL whole

static ll_axes_rule *const rules[LL_OP_COUNT] = {
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
    ll_axes_rule *by_position = axes->by_position ? ll_axes_by_position(op->kind) : NULL;
    if (by_position)
        by_position(op, axes);
    else if (op->kind < LL_OP_COUNT)
        rules[op->kind](op, axes);
    return true;
}
