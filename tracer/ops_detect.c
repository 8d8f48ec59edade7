/* SPDX-License-Identifier: Apache-2.0 */
/* Shape and count rules of what detectors do beside convolving: boxes are four numbers, left, top, right and
 * bottom, in pixels. */
#include "tracer/ops_rules.h"

static const char wants_inputs[] = "the number of inputs is not what this op takes";
static const char wants_image[] = "an image must have the four dimensions batch, height, width, channel";
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
        return wants_inputs;
    if (!(ll_attr_real(op, LL_ATTR_LIMIT, 0) > 0))
        return "there must be a limit above 0 where the parabola ends";
    return ll_give(op, 1, op->in);
}

/* Every pixel becomes kernel_h x kernel_w of its kind. */
const char *ll_shape_UPSAMPLE(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    if (op->in[0].rank != 4)
        return wants_image;
    struct ll_shape out = op->in[0];
    out.dim[1] = ll_mul(out.dim[1], count_attr(op, LL_ATTR_KERNEL_H));
    out.dim[2] = ll_mul(out.dim[2], count_attr(op, LL_ATTR_KERNEL_W));
    return ll_give(op, 1, &out);
}

/* The way back: sums over the kernel_h x kernel_w pixels that one has become. */
const char *ll_shape_SHRUNK(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    if (op->in[0].rank != 4)
        return wants_image;
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
        return wants_inputs;
    const struct ll_shape *x = &op->in[0], *boxes = &op->in[1];
    uint64_t size = count_attr(op, LL_ATTR_SIZE);
    if (x->rank != 4)
        return wants_image;
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
        return wants_inputs;
    const struct ll_shape *dy = &op->in[0], *winners = &op->in[1], *dx = &op->out[0];
    if (dy->rank != 4 || dx->rank != 4)
        return wants_image;
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
        return wants_inputs;
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
        return wants_inputs;
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
        return wants_inputs;
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
