/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, pooling, other sizes, and what is normalised by channel. */
#include "tracer/convert/torch/torch.h"

/* A convolution: image, filter and what it makes of the image, by their shapes here. A transposed one is the
 * gradient of another, whose result is its image. */
struct conv {
    const struct ll_torch_tensor *image, *filter, *result;
    struct ll_shape image_shape, filter_shape, result_shape;
    struct ll_attr attrs[9];
};

static struct ll_attr count_attr(enum ll_attr_key key, int64_t count)
{
    return (struct ll_attr){.key = key, .count = count};
}

/* [filters, channels / groups, h, w] -> [h, w, channels / groups, filters] */
static const char *filter_shape(const struct ll_shape *torch, struct ll_shape *filter)
{
    if (torch->rank != 3 && torch->rank != 4)
        return "convolutions of one or two dimensions are known alone";
    bool flat = torch->rank == 3;
    *filter = (struct ll_shape){.rank = 4, .dtype = torch->dtype};
    filter->dim[0] = flat ? 1 : torch->dim[2];
    filter->dim[1] = torch->dim[flat ? 2 : 3];
    filter->dim[2] = torch->dim[1];
    filter->dim[3] = torch->dim[0];
    return NULL;
}

/* Numbers of two dimensions, or of one, which is the second here. */
static void set_pair(const struct ll_aten *call, uint32_t argument, bool flat, int64_t otherwise,
                     int64_t pair[2])
{
    pair[0] = flat ? otherwise : ll_aten_integer(call, argument, 0, otherwise);
    pair[1] = ll_aten_integer(call, argument, flat ? 0 : 1, otherwise);
}

/* What the arguments from `first` on say: stride, padding, dilation, transposed, output padding, groups. */
static const char *read_conv(const struct ll_aten *call, uint32_t first, struct conv *conv)
{
    int64_t stride[2], pad[2], dilation[2];
    const char *trouble = ll_image_shape(&conv->image->shape, &conv->image_shape);
    if (!trouble)
        trouble = filter_shape(&conv->filter->shape, &conv->filter_shape);
    bool flat = conv->image->shape.rank == 3;
    set_pair(call, first, flat, 1, stride);
    set_pair(call, first + 1, flat, 0, pad);
    set_pair(call, first + 2, flat, 1, dilation);
    const struct ll_attr attrs[] = {count_attr(LL_ATTR_STRIDE_H, stride[0]),
                                    count_attr(LL_ATTR_STRIDE_W, stride[1]),
                                    count_attr(LL_ATTR_PAD_TOP, pad[0]),
                                    count_attr(LL_ATTR_PAD_LEFT, pad[1]),
                                    count_attr(LL_ATTR_PAD_BOTTOM, pad[0]),
                                    count_attr(LL_ATTR_PAD_RIGHT, pad[1]),
                                    count_attr(LL_ATTR_GROUPS, ll_aten_integer(call, first + 5, 0, 1)),
                                    count_attr(LL_ATTR_DILATION_H, dilation[0]),
                                    count_attr(LL_ATTR_DILATION_W, dilation[1])};
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        conv->attrs[i] = attrs[i];
    return trouble;
}

/* One pass: kind, what it reads, and what it gives where inputs do not tell. */
static const char *convolve(struct ll_aten *call, const struct conv *conv, enum ll_op_kind kind,
                            const struct ll_imported in[2], const struct ll_shape *given,
                            struct ll_imported *out)
{
    return ll_aten_do(call,
                      &(struct ll_import_op){.kind = kind,
                                             .in = in,
                                             .in_count = 2,
                                             .attrs = conv->attrs,
                                             .attr_count = 9,
                                             .given = given,
                                             .given_count = given != NULL},
                      out);
}

/* How large the image is that a transposed convolution makes, in one dimension. */
static uint64_t grown(uint64_t in, int64_t stride, uint64_t kernel, int64_t pad, int64_t more)
{
    int64_t size =
        ((int64_t)ll_min(in, 1 << 30) - 1) * stride + (int64_t)ll_min(kernel, 1 << 30) - 2 * pad + more;
    return size > 0 ? (uint64_t)size : 0;
}

/* convolution(x, weight, bias, stride, padding, dilation, transposed, output padding, groups) */
const char *ll_aten_CONVOLUTION(struct ll_aten *call)
{
    struct conv conv = {.image = ll_aten_tensor(call, 0), .filter = ll_aten_tensor(call, 1)};
    struct ll_imported out = {0};
    if (!conv.image || !conv.filter)
        return LL_ATEN_WANTS_TENSORS;
    const char *trouble = read_conv(call, 3, &conv);
    if (trouble)
        return trouble;
    const struct ll_imported in[] = {ll_aten_hold(call, conv.image, &conv.image_shape),
                                     ll_aten_hold(call, conv.filter, &conv.filter_shape)};
    bool transposed = ll_aten_integer(call, 6, 0, 0) != 0;
    struct ll_shape large = conv.image_shape;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t reach = (ll_min(conv.filter_shape.dim[i], 1 << 16) - 1) *
                             ll_min((uint64_t)conv.attrs[7 + i].count, 1 << 16) +
                         1;
        int64_t more = conv.image->shape.rank == 4 || i ? ll_aten_integer(call, 7, i, 0) : 0;
        large.dim[1 + i] =
            grown(conv.image_shape.dim[1 + i], conv.attrs[i].count, reach, conv.attrs[2 + i].count, more);
    }
    large.dim[3] = ll_mul(conv.filter_shape.dim[2], (uint64_t)conv.attrs[6].count);
    trouble = convolve(call, &conv, transposed ? LL_OP_CONV2D_DATA : LL_OP_CONV2D, in,
                       transposed ? &large : NULL, &out);
    if (!trouble && ll_aten_tensor(call, 2)) {
        const struct ll_imported both[] = {out, ll_aten_hold(call, ll_aten_tensor(call, 2), NULL)};
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_BIAS_ADD, .in = both, .in_count = 2}, &out);
    }
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* convolution_backward(dy, x, weight, bias sizes, stride, padding, dilation, transposed, output padding,
 * groups, [wants dx, wants dweight, wants dbias]) */
const char *ll_aten_CONV_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *gradient = ll_aten_tensor(call, 0);
    struct conv conv = {.image = ll_aten_tensor(call, 1), .filter = ll_aten_tensor(call, 2)};
    struct ll_shape dy_shape;
    struct ll_imported out = {0};
    if (!gradient || !conv.image || !conv.filter)
        return LL_ATEN_WANTS_TENSORS;
    const char *trouble = read_conv(call, 4, &conv);
    if (!trouble)
        trouble = ll_image_shape(&gradient->shape, &dy_shape);
    if (trouble)
        return trouble;
    bool transposed = ll_aten_integer(call, 7, 0, 0) != 0;
    struct ll_imported dy = ll_aten_hold(call, gradient, &dy_shape),
                       w = ll_aten_hold(call, conv.filter, &conv.filter_shape);
    struct ll_imported x = ll_aten_hold(call, conv.image, &conv.image_shape);
    if (ll_aten_integer(call, 10, 0, 1)) {
        trouble = convolve(call, &conv, transposed ? LL_OP_CONV2D : LL_OP_CONV2D_DATA,
                           (struct ll_imported[]){dy, w}, transposed ? NULL : &conv.image_shape, &out);
        if (!trouble)
            ll_aten_give(call, ll_aten_result(call, 0), out);
    }
    if (!trouble && ll_aten_integer(call, 10, 1, 1)) {
        trouble = convolve(call, &conv, LL_OP_CONV2D_FILTER,
                           transposed ? (struct ll_imported[]){dy, x} : (struct ll_imported[]){x, dy},
                           &conv.filter_shape, &out);
        if (!trouble)
            ll_aten_give(call, ll_aten_result(call, 1), out);
    }
    if (!trouble && ll_aten_integer(call, 10, 2, 0)) {
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_BIAS_GRAD, .in = &dy, .in_count = 1}, &out);
        if (!trouble)
            ll_aten_give(call, ll_aten_result(call, 2), out);
    }
    return trouble;
}

/* Images, or rows of channels. */
static const char *channels_last(const struct ll_shape *shape, struct ll_shape *last)
{
    *last = *shape;
    return shape->rank == 2 ? NULL : ll_image_shape(shape, last);
}

/* Averages that follow those of the batch; they are no weights. */
static struct ll_imported averages(struct ll_aten *call, uint32_t i, uint64_t length)
{
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, i);
    struct ll_storage *slot = tensor ? ll_storage_of(call, tensor) : NULL;
    if (slot && !slot->live)
        slot->brought = LL_OPTIMIZER;
    return ll_aten_vector(call, i, length, tensor ? (enum ll_dtype)tensor->shape.dtype : LL_F32);
}

static const char *follow(struct ll_aten *call, uint32_t argument, struct ll_imported now)
{
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, argument);
    if (!tensor || tensor->shape.dtype != now.shape.dtype)
        return NULL;
    enum ll_memory_class memory = call->memory;
    const struct ll_imported in[] = {averages(call, argument, now.shape.dim[0]), now};
    struct ll_imported out = {0};
    call->memory = LL_OPTIMIZER;
    const char *trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_MOVING_AVERAGE, .in = in, .in_count = 2}, &out);
    if (!trouble)
        ll_aten_give(call, tensor, out);
    call->memory = memory;
    return trouble;
}

/* native_batch_norm(x, weight, bias, running mean, running variance, training, momentum, epsilon) */
const char *ll_aten_BATCH_NORM(struct ll_aten *call)
{
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, 0);
    struct ll_shape shape;
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    if (!tensor)
        return LL_ATEN_WANTS_TENSORS;
    const char *trouble = channels_last(&tensor->shape, &shape);
    if (trouble)
        return trouble;
    uint64_t channels = shape.dim[shape.rank - 1u];
    enum ll_dtype dtype = (enum ll_dtype)shape.dtype;
    bool training = ll_aten_integer(call, 5, 0, 1) != 0;
    struct ll_imported in[5] = {ll_aten_hold(call, tensor, &shape), ll_aten_vector(call, 1, channels, dtype),
                                ll_aten_vector(call, 2, channels, dtype)};
    if (!training) {
        in[3] = averages(call, 3, channels);
        in[4] = averages(call, 4, channels);
        return ll_aten_do_to(call,
                             &(struct ll_import_op){.kind = LL_OP_BATCH_NORM_FIXED, .in = in, .in_count = 5});
    }
    trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_BATCH_NORM, .in = in, .in_count = 3}, out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[i]);
    if (!trouble)
        trouble = follow(call, 3, out[1]);
    return trouble ? trouble : follow(call, 4, out[2]);
}

/* Gradients from dy, x, gamma, mean and variance, which are these arguments. */
static const char *norm_backward(struct ll_aten *call, const uint32_t arguments[5])
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, arguments[0]),
                                 *x = ll_aten_tensor(call, arguments[1]);
    struct ll_shape shape;
    struct ll_imported in[5], out[LL_MAX_OUTPUTS] = {{0}};
    if (!dy || !x)
        return LL_ATEN_WANTS_TENSORS;
    const char *trouble = channels_last(&x->shape, &shape);
    if (trouble)
        return trouble;
    in[0] = ll_aten_hold(call, dy, &shape);
    in[1] = ll_aten_hold(call, x, &shape);
    for (uint32_t i = 2; i < 5; i++)
        in[i] = ll_aten_vector(call, arguments[i], shape.dim[shape.rank - 1u], (enum ll_dtype)shape.dtype);
    trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_BATCH_NORM_GRAD, .in = in, .in_count = 5}, out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[i]);
    return trouble;
}

/* native_batch_norm_backward(dy, x, weight, running mean, running variance, mean, 1 / deviation, training,
 * ...) */
const char *ll_aten_NORM_BACKWARD(struct ll_aten *call)
{
    bool training = ll_aten_integer(call, 7, 0, 1) != 0;
    return norm_backward(call,
                         training ? (const uint32_t[]){0, 1, 2, 5, 6} : (const uint32_t[]){0, 1, 2, 3, 4});
}

/* cudnn_batch_norm_backward(x, dy, weight, running mean, running variance, mean, variance, ...) */
const char *ll_aten_NORM_BACKWARD_CUDNN(struct ll_aten *call)
{
    return norm_backward(call, (const uint32_t[]){1, 0, 2, 5, 6});
}

/* native_group_norm(x, weight, bias, ...) -> y, mean, 1 / deviation. Who asks for the latter two asks for
 * y. */
const char *ll_aten_GROUP_NORM(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    struct ll_shape shape;
    struct ll_imported out = {0};
    const char *trouble = x ? channels_last(&x->shape, &shape) : LL_ATEN_WANTS_TENSORS;
    if (trouble)
        return trouble;
    uint64_t channels = shape.dim[shape.rank - 1u];
    enum ll_dtype dtype = (enum ll_dtype)shape.dtype;
    const struct ll_imported in[] = {ll_aten_hold(call, x, &shape), ll_aten_vector(call, 1, channels, dtype),
                                     ll_aten_vector(call, 2, channels, dtype)};
    trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_GROUP_NORM, .in = in, .in_count = 3}, &out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out);
    return trouble;
}

/* native_group_norm_backward(dy, x, mean, 1 / deviation, weight, ...) */
const char *ll_aten_GROUP_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, 0), *x = ll_aten_tensor(call, 1);
    struct ll_shape shape;
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    const char *trouble = dy && x ? channels_last(&x->shape, &shape) : LL_ATEN_WANTS_TENSORS;
    if (trouble)
        return trouble;
    const struct ll_imported in[] = {
        ll_aten_hold(call, dy, &shape), ll_aten_hold(call, x, &shape),
        ll_aten_vector(call, 4, shape.dim[shape.rank - 1u], (enum ll_dtype)shape.dtype)};
    const struct ll_shape given[] = {shape, in[2].shape, in[2].shape};
    trouble = ll_aten_do(
        call,
        &(struct ll_import_op){
            .kind = LL_OP_NORMALIZE_GRAD, .in = in, .in_count = 3, .given = given, .given_count = 3},
        out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[i]);
    return trouble;
}

/* How many windows a side has where the last one may reach beyond it, as PyTorch counts: it begins within the
 * side or the padding before. */
static int64_t cut_windows(int64_t in, int64_t kernel, int64_t stride, int64_t pad)
{
    if (stride < 1)
        return 0;
    int64_t count = (in + 2 * pad - kernel + stride - 1) / stride + 1;
    return (count - 1) * stride >= in + pad ? count - 1 : count;
}

/* Windows of the arguments from `first` on: kernel, stride (that of the kernel when it is empty), padding;
 * with the last window complete or not, as the result says, or, where that is NULL, as PyTorch counts. */
static void set_windows(const struct ll_aten *call, uint32_t first, const struct ll_shape *image,
                        const struct ll_shape *result, bool whole, struct ll_attr attrs[8])
{
    int64_t kernel[2], stride[2], pad[2], behind[2];
    set_pair(call, first, false, 1, kernel);
    set_pair(call, first + 1, false, -1, stride);
    set_pair(call, first + 2, false, 0, pad);
    for (int i = 0; i < 2; i++) {
        stride[i] = stride[i] < 1 ? kernel[i] : stride[i];
        int64_t in = (int64_t)ll_min(image->dim[1 + i], 1 << 30);
        int64_t out = result ? (int64_t)ll_min(result->dim[1 + i], 1 << 30)
                             : cut_windows(in, kernel[i], stride[i], pad[i]);
        behind[i] = pad[i];
        if (!whole && stride[i] < 1 << 30 && kernel[i] < 1 << 30)
            behind[i] = (out - 1) * stride[i] + kernel[i] - in - pad[i];
        behind[i] = behind[i] < 0 ? 0 : behind[i];
    }
    const struct ll_attr all[8] = {
        count_attr(LL_ATTR_KERNEL_H, kernel[0]),   count_attr(LL_ATTR_KERNEL_W, kernel[1]),
        count_attr(LL_ATTR_STRIDE_H, stride[0]),   count_attr(LL_ATTR_STRIDE_W, stride[1]),
        count_attr(LL_ATTR_PAD_TOP, pad[0]),       count_attr(LL_ATTR_PAD_LEFT, pad[1]),
        count_attr(LL_ATTR_PAD_BOTTOM, behind[0]), count_attr(LL_ATTR_PAD_RIGHT, behind[1])};
    for (int i = 0; i < 8; i++)
        attrs[i] = all[i];
}

/* max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceiling) -> y, where it was. Who asks where
 * it was asks for y. */
const char *ll_aten_MAX_POOL(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *y = ll_aten_result(call, 0);
    struct ll_shape image, pooled;
    struct ll_attr attrs[8];
    struct ll_imported out = {0};
    const char *trouble = x ? ll_image_shape(&x->shape, &image) : LL_ATEN_WANTS_TENSORS;
    if (trouble || ll_image_shape(y ? &y->shape : &x->shape, &pooled))
        return trouble ? trouble : LL_ATEN_WANTS_TENSORS;
    set_windows(call, 1, &image, y ? &pooled : NULL, ll_aten_integer(call, 5, 0, 0) == 0, attrs);
    const struct ll_imported in = ll_aten_hold(call, x, &image);
    trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = LL_OP_MAX_POOL, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 8},
                   &out);
    if (!trouble) {
        ll_aten_give(call, y, out);
        ll_aten_give(call, ll_aten_result(call, 1), out);
    }
    return trouble;
}

/* max_pool2d_with_indices_backward(dy, x, kernel, stride, padding, dilation, ceiling, where it was) */
const char *ll_aten_MAX_POOL_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, 0), *x = ll_aten_tensor(call, 1),
                                 *places = ll_aten_tensor(call, 7);
    struct ll_shape image, pooled;
    struct ll_attr attrs[8];
    if (!dy || !x || !places || ll_image_shape(&dy->shape, &pooled))
        return LL_ATEN_WANTS_TENSORS;
    const char *trouble = ll_image_shape(&x->shape, &image);
    if (trouble)
        return trouble;
    set_windows(call, 2, &image, &pooled, ll_aten_integer(call, 6, 0, 0) == 0, attrs);
    const struct ll_imported in[] = {ll_aten_hold(call, dy, &pooled), ll_aten_hold(call, x, &image),
                                     ll_aten_hold(call, places, &pooled)};
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = LL_OP_MAX_POOL_GRAD, .in = in, .in_count = 3, .attrs = attrs, .attr_count = 8});
}

/* The mean of windows of an image, or the image's gradient from theirs. */
static const char *average(struct ll_aten *call, const struct ll_torch_tensor *read,
                           const struct ll_shape *image, const struct ll_attr attrs[8], bool backward)
{
    struct ll_shape shape;
    const char *trouble = ll_image_shape(&read->shape, &shape);
    if (trouble)
        return trouble;
    const struct ll_imported in = ll_aten_hold(call, read, &shape);
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = backward ? LL_OP_AVG_POOL_GRAD : LL_OP_AVG_POOL,
                                                      .in = &in,
                                                      .in_count = 1,
                                                      .attrs = attrs,
                                                      .attr_count = 8,
                                                      .given = image,
                                                      .given_count = backward});
}

/* avg_pool2d(x, kernel, stride, padding, ceiling, ...) */
const char *ll_aten_AVERAGE_POOL(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *y = ll_aten_result(call, 0);
    struct ll_shape image, pooled;
    struct ll_attr attrs[8];
    const char *trouble = x ? ll_image_shape(&x->shape, &image) : LL_ATEN_WANTS_TENSORS;
    if (trouble || ll_image_shape(y ? &y->shape : &x->shape, &pooled))
        return trouble ? trouble : LL_ATEN_WANTS_TENSORS;
    set_windows(call, 1, &image, y ? &pooled : NULL, ll_aten_integer(call, 4, 0, 0) == 0, attrs);
    return average(call, x, &image, attrs, false);
}

/* avg_pool2d_backward(dy, x, kernel, stride, padding, ceiling, ...) */
const char *ll_aten_AVERAGE_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, 0), *x = ll_aten_tensor(call, 1);
    struct ll_shape image, pooled;
    struct ll_attr attrs[8];
    const char *trouble = dy && x ? ll_image_shape(&x->shape, &image) : LL_ATEN_WANTS_TENSORS;
    if (trouble || ll_image_shape(&dy->shape, &pooled))
        return trouble ? trouble : LL_ATEN_WANTS_TENSORS;
    set_windows(call, 2, &image, &pooled, ll_aten_integer(call, 5, 0, 0) == 0, attrs);
    return average(call, dy, &image, attrs, true);
}

/* Windows that make so many of an image, side by side. */
static const char *adapt(const struct ll_shape *image, const uint64_t size[2], struct ll_attr attrs[8])
{
    for (int i = 0; i < 2; i++) {
        if (size[i] == 0 || image->dim[1 + i] % size[i] != 0 || image->dim[1 + i] > LL_ATEN_MOST)
            return "pooling to a size that does not divide the image's";
        int64_t window = (int64_t)(image->dim[1 + i] / size[i]);
        attrs[i] = count_attr(i ? LL_ATTR_KERNEL_W : LL_ATTR_KERNEL_H, window);
        attrs[2 + i] = count_attr(i ? LL_ATTR_STRIDE_W : LL_ATTR_STRIDE_H, window);
        attrs[4 + i] = count_attr(i ? LL_ATTR_PAD_LEFT : LL_ATTR_PAD_TOP, 0);
        attrs[6 + i] = count_attr(i ? LL_ATTR_PAD_RIGHT : LL_ATTR_PAD_BOTTOM, 0);
    }
    return NULL;
}

/* _adaptive_avg_pool2d(x, size) */
const char *ll_aten_ADAPTIVE_POOL(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    struct ll_shape image;
    struct ll_attr attrs[8];
    const char *trouble = x ? ll_image_shape(&x->shape, &image) : LL_ATEN_WANTS_TENSORS;
    const uint64_t size[] = {(uint64_t)ll_aten_integer(call, 1, 0, 0),
                             (uint64_t)ll_aten_integer(call, 1, 1, 0)};
    if (!trouble)
        trouble = adapt(&image, size, attrs);
    return trouble ? trouble : average(call, x, &image, attrs, false);
}

/* _adaptive_avg_pool2d_backward(dy, x) */
const char *ll_aten_ADAPTIVE_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, 0), *x = ll_aten_tensor(call, 1);
    struct ll_shape image, pooled;
    struct ll_attr attrs[8];
    const char *trouble = dy && x ? ll_image_shape(&x->shape, &image) : LL_ATEN_WANTS_TENSORS;
    if (trouble || ll_image_shape(&dy->shape, &pooled))
        return trouble ? trouble : LL_ATEN_WANTS_TENSORS;
    trouble = adapt(&image, &pooled.dim[1], attrs);
    return trouble ? trouble : average(call, dy, &image, attrs, true);
}

/* upsample_nearest2d(x, size, ...) and the like, and their ways back, whose third argument is the shape
 * that they lead to. */
const char *ll_aten_RESIZE(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *y = ll_aten_result(call, 0);
    struct ll_shape image, resized;
    const char *trouble = x ? ll_image_shape(&x->shape, &image) : LL_ATEN_WANTS_TENSORS;
    bool backward =
        call->row->kind == LL_OP_RESIZE_NEAREST_GRAD || call->row->kind == LL_OP_RESIZE_LINEAR_GRAD;
    if (trouble)
        return trouble;
    resized = image;
    for (uint32_t i = 0; i < 2; i++)
        resized.dim[1 + i] = (uint64_t)ll_aten_integer(call, backward ? 2 : 1, backward ? 2 + i : i, 0);
    if (y)
        trouble = ll_image_shape(&y->shape, &resized);
    if (trouble || (int64_t)resized.dim[1] < 1 || (int64_t)resized.dim[2] < 1)
        return trouble ? trouble : "nobody knows to what size";
    const struct ll_imported in = ll_aten_hold(call, x, &image);
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = call->row->kind, .in = &in, .in_count = 1, .given = &resized, .given_count = 1});
}
