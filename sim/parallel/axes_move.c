/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of what goes elsewhere, is regrouped, or is picked by index. */
#include "sim/parallel/axes_rules.h"

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

/* Each device joins or parts what it has. */
static void joined(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 0; i < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        for (uint32_t k = 0; k < op->input_count; k++)
            ll_set_axis_in(axes, k, i, axis);
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
            ll_set_axis_in(axes, k, i, ll_axis_in(axes, 0, (unsigned)i));
    }
}

void ll_axes_UNSTACK(const struct ll_op_view *op, struct ll_axes *axes)
{
    for (int i = 1; i < op->in[0].rank; i++) {
        uint8_t axis = ll_new_axis(axes, false);
        ll_set_axis_in(axes, 0, i, axis);
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
    ll_set_axis_in(axes, 0, 0, ll_new_axis(axes, true));
    for (int i = 0; i < places; i++)
        ll_tie(axes, 1, i, 0, i);
    for (int i = 1; i < op->in[0].rank; i++)
        ll_tie(axes, 0, i, 0, places + i - 1);
}

/* rows[n, ...], indices[n] -> [table, ...]: each device may sum for its part of the table alone. */
void ll_axes_SEGMENT_SUM(const struct ll_op_view *op, struct ll_axes *axes)
{
    uint8_t summed = ll_new_axis(axes, true);
    ll_set_axis_in(axes, 0, 0, summed);
    ll_set_axis_in(axes, 1, 0, summed);
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
            ll_set_axis_in(axes, 1, i, ll_axis_in(axes, 0, (unsigned)i));
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
void ll_axes_PUT(const struct ll_op_view *op, struct ll_axes *axes)
{
    int at = (int)ll_attr_count(op, LL_ATTR_AXIS, 0);
    for (int i = 0; i < op->in[0].rank; i++)
        if (i != at) {
            ll_tie(axes, 0, i, 0, i);
            ll_set_axis_in(axes, 1, i, ll_axis_in(axes, 0, (unsigned)i));
        }
}
