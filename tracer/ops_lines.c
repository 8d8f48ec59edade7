/* SPDX-License-Identifier: Apache-2.0 */
/* Lines: unbroken runs of elements that a loop goes along without looking where it stands.
 *
 * Of the tensors of an op the widest is gone through in its order. Each other one either runs with it along
 * a dimension, or stands still there (it has length 1, lies before the tensor's first dimension, or the
 * dimension is one that it lacks from AXIS on). A line goes on, from the last dimension outwards, while each
 * tensor does what it did before:
 *
 *       x[8,50,20] * y[8,1,20]    x runs, y runs along 20, then stands still: 8 * 50 lines of 20
 *
 * Where a part is shorter than the whole (concat, slice), the line is the shorter of both, and what moves
 * goes part by part. */
#include "tracer/ops_rules.h"

/* What a tensor does along a dimension of the widest. */
enum stride { RUNS, STANDS, BREAKS };

struct reader {
    const struct ll_shape *wide;
    int64_t axis; /* where narrower tensors lack dimensions; < 0: before their first */
};

/* The dimension of `shape` that meets dimension i of the widest, 1 where it has none. */
static uint64_t met(const struct reader *r, const struct ll_shape *shape, int64_t i)
{
    int64_t missing = r->wide->rank - shape->rank, axis = r->axis < 0 ? 0 : r->axis;
    if (i >= axis && i < axis + missing)
        return 1;
    return shape->dim[i < axis ? i : i - missing];
}

static enum stride stride_of(const struct reader *r, const struct ll_shape *shape, int64_t i)
{
    uint64_t dim = met(r, shape, i);
    return dim == r->wide->dim[i] ? RUNS : dim == 1 ? STANDS : BREAKS;
}

/* How long a line is, as far as this tensor is concerned. */
static uint64_t line_with(const struct reader *r, const struct ll_shape *shape)
{
    uint64_t line = 1;
    enum stride first = BREAKS;
    for (int64_t i = r->wide->rank; i-- > 0;) {
        if (r->wide->dim[i] == 1)
            continue;
        enum stride now = stride_of(r, shape, i);
        if (now == BREAKS)
            return line * ll_min(met(r, shape, i), r->wide->dim[i]);
        if (first != BREAKS && now != first)
            return line;
        first = now;
        line *= r->wide->dim[i];
    }
    return line;
}

/* A window of pixels: what lies together of it are the channels. */
static bool looks_through_windows(const struct ll_op_view *op)
{
    return ll_attr_count(op, LL_ATTR_KERNEL_H, 0) > 0;
}

/* What lies together before and after: trailing dimensions that stay where they are, not counting those of
 * length 1; a permutation is written as decimal digits. */
static uint64_t unmoved(const struct ll_shape *x, int64_t permutation)
{
    uint64_t line = 1;
    int64_t next = (int64_t)x->rank - 1;
    for (unsigned left = x->rank; left > 0; left--, permutation /= 10) {
        int64_t moved = permutation % 10;
        if (x->dim[moved] == 1)
            continue;
        while (next > 0 && x->dim[next] == 1)
            next--;
        if (moved != next--)
            return line;
        line *= x->dim[moved];
    }
    return line;
}

static const struct ll_shape *widest(const struct ll_op_view *op)
{
    const struct ll_shape *wide = &op->in[0];
    for (uint32_t i = 0; i < op->output_count; i++)
        if (ll_elements(&op->out[i]) > ll_elements(wide))
            wide = &op->out[i];
    return wide;
}

/* The longest line along which both the tensor and the widest go; the widest is not empty. */
static uint64_t line_of(const struct ll_op_view *op, const struct ll_shape *wide,
                        const struct ll_shape *shape)
{
    struct reader r = {wide, ll_attr_count(op, LL_ATTR_AXIS, -1)};
    int64_t permutation = ll_attr_count(op, LL_ATTR_PERMUTATION, 0);
    if (permutation > 0)
        return ll_max(1, unmoved(wide, permutation));
    if (looks_through_windows(op))
        return ll_max(1, wide->dim[wide->rank - 1]);
    bool told = shape->rank <= wide->rank && !ll_is_index(shape);
    return told ? ll_max(1, line_with(&r, shape)) : ll_elements(wide);
}

static bool is_one_line(const struct ll_shape *wide)
{
    return wide->rank == 0 || ll_elements(wide) == 0 || !ll_fits(ll_elements(wide));
}

uint64_t ll_op_lines(const struct ll_op_view *op, uint64_t elements)
{
    if (op->input_count == 0 || is_one_line(widest(op)))
        return 1;
    const struct ll_shape *wide = widest(op);
    uint64_t line = ll_elements(wide);
    for (uint32_t i = 0; i < op->input_count; i++)
        line = ll_min(line, line_of(op, wide, &op->in[i]));
    for (uint32_t i = 0; i < op->output_count; i++)
        line = ll_min(line, line_of(op, wide, &op->out[i]));
    return ll_ceil_div(elements, line);
}

bool ll_op_folds(const struct ll_op_view *op)
{
    const struct ll_shape *wide = widest(op), *out = &op->out[0];
    struct reader r = {wide, ll_attr_count(op, LL_ATTR_AXIS, -1)};
    if (out->rank > wide->rank || ll_elements(out) == ll_elements(wide))
        return false;
    for (int64_t i = wide->rank; i-- > 0;)
        if (wide->dim[i] > 1)
            return stride_of(&r, out, i) == STANDS;
    return false;
}

uint64_t ll_op_lines_moved(const struct ll_op_view *op)
{
    if (op->input_count == 0 || is_one_line(widest(op)))
        return 1;
    bool joins = op->input_count > 1;
    const struct ll_shape *wide = widest(op), *parts = joins ? op->in : op->out;
    uint64_t lines = 0, count = joins ? op->input_count : op->output_count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t line = line_of(op, wide, &parts[i]);
        if (!joins)
            line = ll_min(line, line_of(op, wide, &op->in[0]));
        lines = ll_add(lines, ll_ceil_div(ll_elements(&parts[i]), line));
    }
    return lines;
}
