/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of ops that move, index or stack: slices and concatenations, gathers, sorting, batched GEMM;
 * then shape and count rules of detectors. */
#include <string.h>

#include "tracer/ir/ops_rules.h"

/* Shape rules of what goes elsewhere, is picked by index, or is multiplied in stacks. An axis counts from 0.
 */

static const char wants_inputs[] = "the number of inputs is not what this op takes";
static const char no_axis[] = "there is no such dimension";

static uint64_t axis_of(const struct ll_op_view *op, const struct ll_shape *shape)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0);
    return axis >= 0 && axis < shape->rank ? (uint64_t)axis : UINT64_MAX;
}

/* Dimension i of the result is the one that digit i of the permutation names: 021 exchanges the last two. */
const char *ll_shape_TRANSPOSE(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    const struct ll_shape *in = &op->in[0];
    struct ll_shape out = {.rank = in->rank, .dtype = in->dtype};
    int64_t digits = ll_attr_count(op, LL_ATTR_PERMUTATION, 0);
    unsigned seen = 0;
    for (unsigned i = in->rank; i-- > 0; digits /= 10) {
        uint64_t from = digits < 0 ? UINT64_MAX : (uint64_t)digits % 10;
        if (from >= in->rank)
            return "the permutation must name each dimension once";
        seen |= 1u << from;
        out.dim[i] = in->dim[from];
        out.role[i] = in->role[from];
    }
    if (digits != 0 || seen != (1u << in->rank) - 1)
        return "the permutation must name each dimension once";
    return ll_give(op, 1, &out);
}

/* Whether two shapes agree but for one dimension. */
static bool fit_together(const struct ll_shape *a, const struct ll_shape *b, uint64_t axis)
{
    struct ll_shape other = *b;
    if (a->rank != b->rank || a->dtype != b->dtype)
        return false;
    other.dim[axis] = a->dim[axis];
    return ll_same_dims(a, &other);
}

const char *ll_shape_CONCAT(struct ll_op_view *op)
{
    if (op->input_count == 0)
        return wants_inputs;
    struct ll_shape out = op->in[0];
    uint64_t axis = axis_of(op, &out);
    if (axis == UINT64_MAX)
        return no_axis;
    for (uint32_t i = 1; i < op->input_count; i++) {
        if (!fit_together(&out, &op->in[i], axis))
            return "all dimensions but the one that is joined must be equal";
        out.dim[axis] = ll_add(out.dim[axis], op->in[i].dim[axis]);
    }
    return ll_give(op, 1, &out);
}

/* parts pieces of the same size */
const char *ll_shape_SPLIT(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    uint64_t axis = axis_of(op, &op->in[0]);
    int64_t parts = ll_attr_count(op, LL_ATTR_PARTS, 1);
    if (axis == UINT64_MAX)
        return no_axis;
    if (parts < 1 || parts > LL_MAX_OUTPUTS || op->in[0].dim[axis] % (uint64_t)parts)
        return "a split gives one to four pieces of the same size";
    struct ll_shape pieces[LL_MAX_OUTPUTS];
    for (int64_t i = 0; i < parts; i++) {
        pieces[i] = op->in[0];
        pieces[i].dim[axis] /= (uint64_t)parts;
    }
    return ll_give(op, (uint32_t)parts, pieces);
}

const char *ll_shape_SLICE(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    uint64_t axis = axis_of(op, &op->in[0]);
    int64_t begin = ll_attr_count(op, LL_ATTR_BEGIN, 0), size = ll_attr_count(op, LL_ATTR_SIZE, 0);
    if (axis == UINT64_MAX)
        return no_axis;
    if (begin < 0 || size < 0 || ll_add((uint64_t)begin, (uint64_t)size) > op->in[0].dim[axis])
        return "a slice must lie within its dimension";
    struct ll_shape out = op->in[0];
    out.dim[axis] = (uint64_t)size;
    return ll_give(op, 1, &out);
}

/* zeros before and after */
const char *ll_shape_PAD(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    struct ll_shape out = op->in[0];
    uint64_t axis = axis_of(op, &out);
    int64_t before = ll_attr_count(op, LL_ATTR_BEFORE, 0), after = ll_attr_count(op, LL_ATTR_AFTER, 0);
    if (axis == UINT64_MAX)
        return no_axis;
    if (before < 0 || after < 0)
        return "padding cannot be negative";
    out.dim[axis] = ll_add(out.dim[axis], ll_add((uint64_t)before, (uint64_t)after));
    return ll_fits(out.dim[axis]) ? ll_give(op, 1, &out) : "the padded size does not fit in 64 bits";
}

/* The shape without its first dimension. */
static struct ll_shape layer_of(const struct ll_shape *stack)
{
    struct ll_shape layer = {.dtype = stack->dtype};
    for (unsigned i = 1; i < stack->rank; i++) {
        layer.dim[layer.rank] = stack->dim[i];
        layer.role[layer.rank++] = stack->role[i];
    }
    return layer;
}

/* k[...] -> [k, ...] */
const char *ll_shape_STACK(struct ll_op_view *op)
{
    if (op->input_count == 0)
        return wants_inputs;
    const struct ll_shape *in = &op->in[0];
    if (in->rank == LL_MAX_RANK)
        return "a stack would have too many dimensions";
    struct ll_shape out = {.dtype = in->dtype, .rank = (uint8_t)(in->rank + 1), .dim = {op->input_count}};
    for (unsigned i = 0; i < in->rank; i++) {
        out.dim[i + 1] = in->dim[i];
        out.role[i + 1] = in->role[i];
    }
    for (uint32_t i = 1; i < op->input_count; i++)
        if (!ll_same_dims(in, &op->in[i]) || in->dtype != op->in[i].dtype)
            return "what is stacked must have the same dimensions";
    return ll_give(op, 1, &out);
}

/* [k, ...] -> k[...], which are given */
const char *ll_shape_UNSTACK(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->in[0].rank == 0)
        return wants_inputs;
    struct ll_shape layer = layer_of(&op->in[0]);
    if (op->output_count != op->in[0].dim[0])
        return "a stack is taken apart into as many layers as it has";
    for (uint32_t i = 0; i < op->output_count; i++)
        if (!ll_same_dims(&layer, &op->out[i]) || layer.dtype != op->out[i].dtype)
            return "each layer must have the dimensions of the stack without the first";
    for (uint32_t i = 0; i < op->output_count; i++)
        ll_take_roles(&op->out[i], &layer);
    return NULL;
}

/* Every index becomes `depth` numbers, one of them 1; their type is what the caller has given. */
const char *ll_shape_ONE_HOT(struct ll_op_view *op)
{
    int64_t depth = ll_attr_count(op, LL_ATTR_DEPTH, 0);
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    const struct ll_shape *in = &op->in[0], *out = &op->out[0];
    if (in->dtype != LL_I32 || in->rank == LL_MAX_RANK || depth < 1)
        return "indices must be i32, and there must be something to index";
    if (out->rank != in->rank + 1 || memcmp(out->dim, in->dim, in->rank * sizeof *in->dim) != 0 ||
        out->dim[in->rank] != (uint64_t)depth)
        return "the result must have the dimensions of the indices, and the depth behind them";
    for (unsigned i = 0; i < in->rank; i++)
        ll_take_role(&op->out[0], i, in, i);
    return NULL;
}

/* Where along the last dimension the largest value is. */
const char *ll_shape_ARGMAX(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    struct ll_shape out = op->in[0];
    if (out.rank == 0 || out.dim[out.rank - 1] == 0)
        return "argmax takes a tensor whose last dimension has elements";
    out.rank--;
    out.dim[out.rank] = 0;
    out.role[out.rank] = LL_ROLE_PLAIN;
    out.dtype = LL_I32;
    return ll_give(op, 1, &out);
}

/* The largest `size` (default: 1) of the last dimension in falling order, and where they are. */
const char *ll_shape_TOP_K(struct ll_op_view *op)
{
    int64_t size = ll_attr_count(op, LL_ATTR_SIZE, 1);
    if (op->input_count != 1)
        return wants_inputs;
    struct ll_shape values = op->in[0];
    if (values.rank == 0 || size < 1 || (uint64_t)size > values.dim[values.rank - 1])
        return "there must be as many elements along the last dimension as are looked for, and at least one";
    values.dim[values.rank - 1] = (uint64_t)size;
    struct ll_shape places = values;
    places.dtype = LL_I32;
    return ll_give(op, 2, (const struct ll_shape[]){values, places});
}

/* Indices below `range` of each line -> which piece of `size` elements, all lines' pieces counted on; where
 * in it. */
const char *ll_shape_UNRAVEL(struct ll_op_view *op)
{
    int64_t size = ll_attr_count(op, LL_ATTR_SIZE, 0), range = ll_attr_count(op, LL_ATTR_RANGE, 0);
    if (op->input_count != 1)
        return wants_inputs;
    if (op->in[0].rank == 0 || op->in[0].dtype != LL_I32)
        return "indices must be lines of i32";
    if (size < 1 || range < 1 || range > INT32_MAX || range % size != 0)
        return "lines of at most 2^31 - 1 elements must consist of whole pieces";
    return ll_give(op, 2, (const struct ll_shape[]){op->in[0], op->in[0]});
}

/* table[rows, ...], indices[...] -> [indices..., ...] */
const char *ll_shape_GATHER(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    const struct ll_shape *table = &op->in[0], *indices = &op->in[1];
    if (table->rank == 0 || (indices->dtype != LL_I32 && indices->dtype != LL_I64) ||
        indices->rank + table->rank - 1 > LL_MAX_RANK)
        return "rows of a table are picked by i32 or i64 indices";
    struct ll_shape row = layer_of(table), out = *indices;
    out.dtype = table->dtype;
    for (unsigned i = 0; i < row.rank; i++) {
        out.dim[out.rank] = row.dim[i];
        out.role[out.rank++] = row.role[i];
    }
    return ll_give(op, 1, &out);
}

/* One input; what comes out is given. */
const char *ll_shape_GIVEN_1(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    ll_give_batch(op);
    return NULL;
}

/* target, indices, updates -> what the target becomes, in memory of its own */
const char *ll_shape_SCATTER(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return wants_inputs;
    if (op->in[0].dtype != op->in[2].dtype)
        return "what is written must have the type of elements of what it replaces";
    return ll_give(op, 1, op->in);
}

/* rows[indices' dimensions, ...] that belong to rows of the result by their indices */
static const char *check_rows(const struct ll_shape *rows, const struct ll_shape *indices,
                              const struct ll_shape *table)
{
    if (rows->rank == 0 || table->rank == 0 || indices->rank == 0 || indices->dtype != LL_I32 ||
        indices->rank > rows->rank ||
        memcmp(rows->dim, indices->dim, indices->rank * sizeof *indices->dim) != 0)
        return "there must be one i32 index for each row";
    unsigned row_rank = rows->rank - (unsigned)indices->rank;
    if (row_rank != table->rank - 1u || rows->dtype != table->dtype ||
        memcmp(rows->dim + indices->rank, table->dim + 1, row_rank * sizeof *rows->dim) != 0)
        return "rows must look like those of the table";
    return NULL;
}

const char *ll_shape_SEGMENT_SUM(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->output_count != 1)
        return wants_inputs;
    const char *trouble = check_rows(&op->in[0], &op->in[1], &op->out[0]);
    for (unsigned i = 1; !trouble && i < op->out[0].rank; i++)
        ll_take_role(&op->out[0], i, &op->in[0], i);
    return trouble;
}

/* table, rows, indices -> table */
const char *ll_shape_ROWS_IN_PLACE(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return wants_inputs;
    const char *trouble = check_rows(&op->in[1], &op->in[2], &op->in[0]);
    return trouble ? trouble : ll_give(op, 1, op->in);
}

/* target, source -> target, which may be of another type */
const char *ll_shape_ASSIGN(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (!ll_same_dims(&op->in[0], &op->in[1]))
        return "what is assigned must look like what it replaces";
    return ll_give(op, 1, op->in);
}

/* a[..., m, k], b[..., k, n] -> [..., m, n]. `filled`: so many came and each put something into a matrix of
 * a, no two into the same where they can avoid it; with `chance`, each into any of them with this
 * probability. The others are zeros, and products of them are not computed. */
const char *ll_shape_BATCH_MATMUL(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    const struct ll_shape *a = &op->in[0], *b = &op->in[1];
    const double chance = ll_attr_real(op, LL_ATTR_CHANCE, 1);
    if (a->rank < 3 || a->rank != b->rank || memcmp(a->dim, b->dim, (a->rank - 2u) * sizeof *a->dim) != 0)
        return "stacks of matrices must have the same dimensions but for the last two";
    if (ll_attr_count(op, LL_ATTR_FILLED, 1) < 1)
        return "of a stack one matrix at least is filled";
    if (!(chance > 0 && chance <= 1))
        return "a matrix is filled with a probability above 0, of 1 at most";
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    unsigned first = a->rank - 2u, m = first + ta, n = first + !tb;
    if (a->dim[first + !ta] != b->dim[first + tb])
        return "the columns of the left matrix must be as many as the rows of the right one";
    struct ll_shape out = *a;
    out.dim[first] = a->dim[m];
    out.role[first] = a->role[m];
    out.dim[first + 1] = b->dim[n];
    out.role[first + 1] = b->role[n];
    return ll_give(op, 1, &out);
}

/* As many numbers as there may be: how many there are nobody knows beforehand. */
const char *ll_shape_TRUE_INDICES(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return "the number of inputs is not what this op takes";
    if (op->in[0].dtype != LL_BOOL || op->in[0].rank != 1)
        return "a list of conditions must be of type bool";
    struct ll_shape indices = op->in[0];
    indices.dtype = LL_I32;
    return ll_give(op, 1, &indices);
}

/* Shape rules of ops that slide a window over images: convolutions, their gradients, pools. */

static const char ops_shape_window_wants_inputs[] = "the number of inputs is not what this op takes";
static const char wants_image[] = "an image must have the four dimensions batch, height, width, channel";

/* floor((in + before + after - kernel) / stride) + 1, or LL_NO_FIT where the window does not fit. */
static uint64_t window_count(uint64_t in, int64_t before, int64_t after, uint64_t kernel, int64_t stride)
{
    if (before < 0 || after < 0 || stride < 1 || kernel < 1)
        return LL_NO_FIT;
    uint64_t span = ll_sub(ll_add(ll_add(in, (uint64_t)before), (uint64_t)after), kernel);
    return ll_fits(span) ? ll_add(span / (uint64_t)stride, 1) : LL_NO_FIT;
}

/* How far a window reaches whose elements lie `dilation` (1) apart; LL_NO_FIT when they cannot. */
static uint64_t reach(uint64_t kernel, int64_t dilation)
{
    return kernel < 1 || dilation < 1 ? LL_NO_FIT : ll_window_reach(kernel, (uint64_t)dilation);
}

/* The two spatial extents of windows of kh x kw over the image. */
static bool slide(const struct ll_op_view *op, const struct ll_shape *image, uint64_t kh, uint64_t kw,
                  uint64_t out[2])
{
    kh = reach(kh, ll_attr_count(op, LL_ATTR_DILATION_H, 1));
    kw = reach(kw, ll_attr_count(op, LL_ATTR_DILATION_W, 1));
    out[0] =
        window_count(image->dim[1], ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
                     ll_attr_count(op, LL_ATTR_PAD_BOTTOM, 0), kh, ll_attr_count(op, LL_ATTR_STRIDE_H, 1));
    out[1] =
        window_count(image->dim[2], ll_attr_count(op, LL_ATTR_PAD_LEFT, 0),
                     ll_attr_count(op, LL_ATTR_PAD_RIGHT, 0), kw, ll_attr_count(op, LL_ATTR_STRIDE_W, 1));
    return ll_fits(out[0]) && ll_fits(out[1]);
}

static const char *convolve(const struct ll_op_view *op, const struct ll_shape *image,
                            const struct ll_shape *filter, struct ll_shape *result)
{
    if (image->rank != 4)
        return wants_image;
    if (filter->rank != 4)
        return "a filter must have the four dimensions height, width, channels in, channels out";
    int64_t groups = ll_attr_count(op, LL_ATTR_GROUPS, 1);
    if (groups < 1 || ll_mul(filter->dim[2], (uint64_t)groups) != image->dim[3] ||
        filter->dim[3] % (uint64_t)groups != 0)
        return "the channels of the image must be those of the filter times the groups";
    uint64_t out[2];
    if (!slide(op, image, filter->dim[0], filter->dim[1], out))
        return "the filter does not fit into the padded image, or the stride is not positive";
    *result = *image;
    result->dim[1] = out[0];
    result->dim[2] = out[1];
    result->dim[3] = filter->dim[3];
    return NULL;
}

const char *ll_shape_CONV2D(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return ops_shape_window_wants_inputs;
    op->output_count = 1;
    return convolve(op, &op->in[0], &op->in[1], &op->out[0]);
}

static const char *check_gradient(const struct ll_op_view *op, const struct ll_shape *image,
                                  const struct ll_shape *filter, const struct ll_shape *dy)
{
    struct ll_shape result;
    const char *trouble = convolve(op, image, filter, &result);
    if (!trouble && !ll_same_dims(&result, dy))
        trouble = "dy does not have the shape that this image and filter give";
    return trouble;
}

const char *ll_shape_CONV_DATA(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->output_count != 1)
        return ops_shape_window_wants_inputs;
    const char *trouble = check_gradient(op, &op->out[0], &op->in[1], &op->in[0]);
    if (!trouble)
        ll_take_role(&op->out[0], 0, &op->in[0], 0);
    return trouble;
}

const char *ll_shape_CONV_FILTER(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->output_count != 1)
        return ops_shape_window_wants_inputs;
    const char *trouble = check_gradient(op, &op->in[0], &op->out[0], &op->in[1]);
    if (!trouble)
        ll_take_role(&op->out[0], 3, &op->in[1], 3);
    return trouble;
}

static const char *pool(const struct ll_op_view *op, const struct ll_shape *image, struct ll_shape *result)
{
    if (image->rank != 4)
        return wants_image;
    int64_t kh = ll_attr_count(op, LL_ATTR_KERNEL_H, 1), kw = ll_attr_count(op, LL_ATTR_KERNEL_W, 1);
    uint64_t out[2];
    if (kh < 1 || kw < 1 || !slide(op, image, (uint64_t)kh, (uint64_t)kw, out))
        return "the window does not fit into the padded image, or the stride is not positive";
    *result = *image;
    result->dim[1] = out[0];
    result->dim[2] = out[1];
    return NULL;
}

const char *ll_shape_POOL(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return ops_shape_window_wants_inputs;
    op->output_count = 1;
    return pool(op, &op->in[0], &op->out[0]);
}

const char *ll_shape_POOL_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return ops_shape_window_wants_inputs;
    struct ll_shape pooled;
    const char *trouble = pool(op, &op->in[1], &pooled);
    if (trouble)
        return trouble;
    if (!ll_same_dims(&pooled, &op->in[0]) || !ll_same_dims(&pooled, &op->in[2]))
        return "dy and y must have the shape of the pooled image";
    return ll_give(op, 1, &op->in[1]);
}

/* dy of a pool whose image is given */
const char *ll_shape_SPREAD(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return ops_shape_window_wants_inputs;
    struct ll_shape pooled;
    const char *trouble = pool(op, &op->out[0], &pooled);
    if (trouble)
        return trouble;
    if (!ll_same_dims(&pooled, &op->in[0]))
        return "dy must have the shape of the pooled image";
    ll_take_role(&op->out[0], 0, &op->in[0], 0);
    ll_take_role(&op->out[0], 3, &op->in[0], 3);
    return NULL;
}

/* Shape and count rules of what detectors do beside convolving: boxes are four numbers, left, top, right and
 * bottom, in pixels. */

static const char ops_detect_wants_inputs[] = "the number of inputs is not what this op takes";
static const char ops_detect_wants_image[] =
    "an image must have the four dimensions batch, height, width, channel";
static const char wants_boxes[] = "boxes must have the dimensions batch, number, 4";

static bool are_boxes(const struct ll_shape *shape)
{
    return shape->rank == 3 && shape->dim[2] == 4;
}

static uint64_t count_attr(const struct ll_op_view *op, enum ll_attr_key key)
{
    int64_t value = ll_attr_count(op, key, 0);
    return value > 0 ? (uint64_t)value : 0;
}

static struct ll_shape indices_like(const struct ll_shape *shape)
{
    struct ll_shape indices = *shape;
    indices.dtype = LL_I32;
    return indices;
}

/* x^2 / 2 limit near zero, |x| - limit / 2 from the limit on. */
const char *ll_shape_BENT(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return ops_detect_wants_inputs;
    if (!(ll_attr_real(op, LL_ATTR_LIMIT, 0) > 0))
        return "there must be a limit above 0 where the parabola ends";
    return ll_give(op, 1, op->in);
}

/* Every pixel becomes kernel_h x kernel_w of its kind. */
const char *ll_shape_UPSAMPLE(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return ops_detect_wants_inputs;
    if (op->in[0].rank != 4)
        return ops_detect_wants_image;
    struct ll_shape out = op->in[0];
    out.dim[1] = ll_mul(out.dim[1], count_attr(op, LL_ATTR_KERNEL_H));
    out.dim[2] = ll_mul(out.dim[2], count_attr(op, LL_ATTR_KERNEL_W));
    return ll_give(op, 1, &out);
}

/* The way back: sums over the kernel_h x kernel_w pixels that one has become. */
const char *ll_shape_SHRUNK(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return ops_detect_wants_inputs;
    if (op->in[0].rank != 4)
        return ops_detect_wants_image;
    uint64_t high = count_attr(op, LL_ATTR_KERNEL_H), wide = count_attr(op, LL_ATTR_KERNEL_W);
    struct ll_shape out = op->in[0];
    if (high == 0 || wide == 0 || out.dim[1] % high != 0 || out.dim[2] % wide != 0)
        return "the image must be a multiple of what a pixel has become";
    out.dim[1] /= high;
    out.dim[2] /= wide;
    return ll_give(op, 1, &out);
}

/* x[batch, h, w, c], boxes[batch, n, 4] -> y[batch n, size, size, c], where in its image each came from */
const char *ll_shape_ROI_POOL(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return ops_detect_wants_inputs;
    const struct ll_shape *x = &op->in[0], *boxes = &op->in[1];
    uint64_t size = count_attr(op, LL_ATTR_SIZE);
    if (x->rank != 4)
        return ops_detect_wants_image;
    if (!are_boxes(boxes) || boxes->dim[0] != x->dim[0])
        return "there must be boxes[batch, number, 4] for each image";
    if (size == 0 || !(ll_attr_real(op, LL_ATTR_SCALE, 1) > 0))
        return "the size and the scale of pooled regions must be above 0";
    if (ll_mul(x->dim[1], x->dim[2]) > INT32_MAX)
        return "an image may have 2^31 - 1 pixels";
    struct ll_shape y = *x;
    y.dim[0] = ll_mul(boxes->dim[0], boxes->dim[1]);
    y.dim[1] = y.dim[2] = size;
    return ll_give(op, 2, (const struct ll_shape[]){y, indices_like(&y)});
}

/* dy, winners; the image is given */
const char *ll_shape_ROI_POOL_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->output_count != 1)
        return ops_detect_wants_inputs;
    const struct ll_shape *dy = &op->in[0], *winners = &op->in[1], *dx = &op->out[0];
    if (dy->rank != 4 || dx->rank != 4)
        return ops_detect_wants_image;
    if (!ll_same_dims(dy, winners) || winners->dtype != LL_I32)
        return "there must be an i32 for each element of dy that says where it came from";
    if (dx->dim[3] != dy->dim[3] || dx->dim[0] == 0 || dy->dim[0] % dx->dim[0] != 0)
        return "the regions must be as many for each image, and have its channels";
    return NULL;
}

/* anchors[n, 4], deltas[batch, n, 4] -> boxes[batch, n, 4], whether they are large enough [batch, n] */
const char *ll_shape_BOX_DECODE(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return ops_detect_wants_inputs;
    const struct ll_shape *anchors = &op->in[0], *deltas = &op->in[1];
    if (!are_boxes(deltas))
        return wants_boxes;
    if (anchors->rank != 2 || anchors->dim[0] != deltas->dim[1] || anchors->dim[1] != 4)
        return "there must be anchors[number, 4], one for each box of an image";
    struct ll_shape large = {.rank = 2, .dtype = LL_BOOL, .dim = {deltas->dim[0], deltas->dim[1]}};
    large.role[0] = deltas->role[0];
    return ll_give(op, 2, (const struct ll_shape[]){*deltas, large});
}

/* boxes[batch, n, 4], the best first -> where among all boxes the `size` best are that do not overlap */
const char *ll_shape_NMS(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return ops_detect_wants_inputs;
    if (!are_boxes(&op->in[0]))
        return wants_boxes;
    uint64_t size = count_attr(op, LL_ATTR_SIZE);
    if (size == 0 || op->in[0].dim[1] == 0)
        return "there must be a box, and one to be kept";
    if (ll_mul(op->in[0].dim[0], op->in[0].dim[1]) > INT32_MAX)
        return "there may be 2^31 - 1 boxes";
    struct ll_shape kept = {.rank = 2, .dtype = LL_I32, .dim = {op->in[0].dim[0], size}};
    kept.role[0] = op->in[0].role[0];
    return ll_give(op, 1, &kept);
}

/* boxes[batch, n, 4], truth[batch, g, 5], step -> boxes[batch, size, 4], their classes [batch, size], what
 * they should become and which of it counts, each [batch, size, 4 classes] */
const char *ll_shape_BOX_SAMPLE(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return ops_detect_wants_inputs;
    const struct ll_shape *boxes = &op->in[0], *truth = &op->in[1];
    if (!are_boxes(boxes))
        return wants_boxes;
    if (boxes->dim[1] == 0)
        return "there must be a box";
    if (truth->rank != 3 || truth->dim[0] != boxes->dim[0] || truth->dim[2] != 5 || truth->dim[1] == 0)
        return "the truth must be boxes and classes [batch, number, 5], one at least";
    if (op->in[2].rank != 0)
        return "the number of the step must be a scalar";
    uint64_t size = count_attr(op, LL_ATTR_SIZE), classes = count_attr(op, LL_ATTR_CLASSES);
    if (size == 0 || classes < 2)
        return "there must be a sample, and a class beside the background";
    struct ll_shape out = *boxes, labels = {.rank = 2, .dtype = LL_I32, .dim = {boxes->dim[0], size}};
    out.dim[1] = size;
    labels.role[0] = boxes->role[0];
    struct ll_shape targets = out;
    targets.dim[2] = ll_mul(4, classes);
    return ll_give(op, 4, (const struct ll_shape[]){out, labels, targets, targets});
}

/* At most: each region compared with the whole image. */
uint64_t ll_flops_ROI_POOL(const struct ll_op_view *op)
{
    return ll_mul(op->in[1].dim[1], ll_elements(&op->in[0]));
}

/* Points between pixels: x, points -> given; each element is a sum of `samples` neighbours (default 4, the
 * corners around), times their shares. */
const char *ll_shape_GRID_SAMPLE(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->output_count != 1)
        return ops_detect_wants_inputs;
    if (ll_attr_count(op, LL_ATTR_SAMPLES, 4) < 1 || op->in[0].dtype != op->out[0].dtype)
        return "a point has a neighbour or more, and elements keep their type";
    ll_give_batch(op);
    return NULL;
}

/* Each neighbour is a multiplication and an addition; each coordinate of a point 10: scaled, rounded down,
 * the shares of both sides, and where in memory. */
uint64_t ll_flops_GRID_SAMPLE(const struct ll_op_view *op)
{
    uint64_t each = ll_mul(2, count_attr(op, LL_ATTR_SAMPLES) ? count_attr(op, LL_ATTR_SAMPLES) : 4);
    return ll_add(ll_mul(each, ll_elements(&op->out[0])), ll_mul(10, ll_elements(&op->in[1])));
}

/* Fourier transforms of `samples` lines of `size` elements each; with `parts` 2 of real numbers, or to such.
 */
const char *ll_shape_FFT(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return ops_detect_wants_inputs;
    if (ll_attr_count(op, LL_ATTR_SIZE, 0) < 1 || ll_attr_count(op, LL_ATTR_SAMPLES, 0) < 1)
        return "a transform is of lines that have elements";
    ll_give_batch(op);
    return NULL;
}

/* 5 n log2 n of a line of n complex numbers (Cooley and Tukey, 1965: n/2 log2 n butterflies of ten real
 * operations), half as many of real ones; the logarithm is rounded up. */
uint64_t ll_flops_FFT(const struct ll_op_view *op)
{
    uint64_t n = count_attr(op, LL_ATTR_SIZE), steps = 0;
    while (steps < 63 && (UINT64_C(1) << steps) < n)
        steps++;
    uint64_t flops = ll_mul(ll_mul(5, n), ll_mul(steps, count_attr(op, LL_ATTR_SAMPLES)));
    return ll_fits(flops) && ll_attr_count(op, LL_ATTR_PARTS, 1) == 2 ? flops / 2 : flops;
}

/* Size 2 and centre 4 of the anchor; the new centre 4 and size 4, the corners 6; each cut at two sides and
 * rounded, 12; as wide and as high as it must be, 4. */
uint64_t ll_flops_BOX_DECODE(const struct ll_op_view *op)
{
    return ll_mul(36 / 4, ll_elements(&op->in[1]));
}

/* The intersection of two boxes over their union: 4 comparisons, 2 differences cut at zero 4, areas 5, the
 * union and the quotient: 14 with areas that are there, at most for every pair. */
uint64_t ll_flops_NMS(const struct ll_op_view *op)
{
    uint64_t n = op->in[0].dim[1], pairs = n % 2 ? ll_mul(n, (n - 1) / 2) : ll_mul(n / 2, n - 1);
    return ll_mul(14, ll_mul(op->in[0].dim[0], pairs));
}

/* Every box, those of the truth among them, against every one of the truth. */
uint64_t ll_flops_BOX_SAMPLE(const struct ll_op_view *op)
{
    uint64_t truth = op->in[1].dim[1], boxes = ll_add(op->in[0].dim[1], truth);
    return ll_mul(14, ll_mul(op->in[0].dim[0], ll_mul(boxes, truth)));
}
