/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of ops where each device has some positions of a sequence and knows which (sim/parallel/context.h). A
 * query may then be compared with keys, and turned by its position, wherever it is; experts are chosen by
 * each device for its own words. */
#include "sim/parallel/axes_rules.h"

/* All tensors look alike: an axis for each of the first so many dimensions. */
static void alike(const struct ll_op_view *op, struct ll_axes *axes, int dims)
{
    for (int i = 0; i < dims; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            ll_set_axis_in(axes, k, i, axis);
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
    ll_set_axis_in(axes, 0, rows, axis);
    ll_set_axis_in(axes, 1, rows, axis);
    ll_set_axis_in(axes, 4, rows, axis);
    ll_set_axis_in(axes, 5, rows, axis);
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
    ll_set_axis_in(axes, 1, places, ll_axis_in(axes, 0, 0));
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
    ll_set_axis_in(axes, 1, places, ll_axis_in(axes, 0, (unsigned)places));
}

/* experts[words, choices] -> [experts, places], of what and how much of it: a share of the places is for a
 * share of the words. */
static void route(const struct ll_op_view *op, struct ll_axes *axes)
{
    ll_tie(axes, 0, 0, 0, 1);
    for (uint32_t k = 1; k < op->output_count; k++)
        ll_set_axis_out(axes, k, 1, ll_axis_in(axes, 0, 0));
}

/* A share of its own that a device of a product cuts out is one of all that it has; of other parts each
 * device would have to know where they lie. */
static void slice(const struct ll_op_view *op, struct ll_axes *axes)
{
    if (ll_attr_count(op, LL_ATTR_DEVICES, 1) > 1)
        alike(op, axes, op->in[0].rank);
    else
        ll_axes_SLICE(op, axes);
}

/* What devices of a product tell one another is in their dimensions, and of all that each has. */
static void exchanged(const struct ll_op_view *op, struct ll_axes *axes)
{
    if (op->input_count == 1 && op->output_count == 1 && op->in[0].rank == op->out[0].rank)
        alike(op, axes, op->in[0].rank);
}

ll_axes_rule *ll_axes_by_position(enum ll_op_kind kind)
{
    static ll_axes_rule *const rules[LL_OP_COUNT] = {
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
    return kind < LL_OP_COUNT ? rules[kind] : NULL;
}
