/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of ops that slide a window over images: convolutions, their gradients, pools. */
#include "tracer/ops_rules.h"

static const char wants_inputs[] = "the number of inputs is not what this op takes";
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
        return wants_inputs;
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
        return wants_inputs;
    const char *trouble = check_gradient(op, &op->out[0], &op->in[1], &op->in[0]);
    if (!trouble)
        ll_take_role(&op->out[0], 0, &op->in[0], 0);
    return trouble;
}

const char *ll_shape_CONV_FILTER(struct ll_op_view *op)
{
    if (op->input_count != 2 || op->output_count != 1)
        return wants_inputs;
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
        return wants_inputs;
    op->output_count = 1;
    return pool(op, &op->in[0], &op->out[0]);
}

const char *ll_shape_POOL_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return wants_inputs;
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
        return wants_inputs;
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
