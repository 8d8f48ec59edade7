/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions that give each channel a filter of its own: nothing is summed over channels, so there is no
 * product of matrices in them. They are computed where they stand, a strip of channels at a time, whose sums
 * stay in registers while the taps go by. All three passes gather; none scatters:
 *
 *       y[p] = sum_k x[s p + k] w[k]        dx[p] = sum_k dy[(p - k) / s] w[k], where s divides p - k
 *       dw[k] = sum_p x[s p + k] dy[p]                                                     */
#include "models/nn/kernel.h"
#include "models/nn/kernel_conv.h"

#include <string.h>

enum { STRIP = 32, BLOCKS = 16 };

#ifndef LL_DOUBLE
bool ll_conv_is_depthwise(const struct ll_shape *image, const struct ll_shape *filter)
{
    return filter->dim[2] == 1 && filter->dim[3] == image->dim[3];
}

/* A filter's gradient for each block of lines. */
uint64_t ll_depthwise_filter_workspace(const struct ll_op_view *op)
{
    return ll_mul(BLOCKS, ll_size_bytes(&op->out[0]));
}
#endif

struct depthwise {
    const real *in, *filter, *dy; /* in: the image, or dy where the image's gradient is wanted */
    real *out, *partial;
    uint64_t in_h, in_w, out_h, out_w, channels, kernel_h, kernel_w, block_lines;
    int64_t stride_h, stride_w, pad_top, pad_left;
};

static struct depthwise depthwise_of(const struct ll_kernel_call *call, const struct ll_shape *image,
                                     const struct ll_shape *filter, const struct ll_shape *result)
{
    return (struct depthwise){
        .in = call->in[0],
        .out = call->out[0],
        .in_h = image->dim[1],
        .in_w = image->dim[2],
        .out_h = result->dim[1],
        .out_w = result->dim[2],
        .channels = image->dim[3],
        .kernel_h = filter->dim[0],
        .kernel_w = filter->dim[1],
        .stride_h = ll_attr_count(call->op, LL_ATTR_STRIDE_H, 1),
        .stride_w = ll_attr_count(call->op, LL_ATTR_STRIDE_W, 1),
        .pad_top = ll_attr_count(call->op, LL_ATTR_PAD_TOP, 0),
        .pad_left = ll_attr_count(call->op, LL_ATTR_PAD_LEFT, 0),
    };
}

/* The taps of one axis that meet something: tap `first` meets `at`, and every tap `step` further meets the
 * one `move` further on. */
struct meeting {
    uint64_t first, end, step;
    int64_t at, move;
};

/* Of result number i, in an image of so many. */
LL_INLINE struct meeting meet_image(uint64_t i, int64_t stride, int64_t pad, uint64_t kernel, uint64_t size)
{
    int64_t start = (int64_t)i * stride - pad, over = start + (int64_t)kernel - (int64_t)size;
    struct meeting m = {start < 0 ? (uint64_t)-start : 0, kernel, 1, start < 0 ? 0 : start, 1};
    if (over > 0)
        m.end = (uint64_t)over < kernel ? kernel - (uint64_t)over : 0;
    return m;
}

/* Of pixel number i, among so many results. */
LL_INLINE struct meeting meet_results(uint64_t i, int64_t stride, int64_t pad, uint64_t kernel, uint64_t size)
{
    int64_t place = (int64_t)i + pad, tap = place % stride, at = place / stride;
    while (at >= (int64_t)size) {
        at--;
        tap += stride;
    }
    int64_t end = place < (int64_t)kernel ? place + 1 : (int64_t)kernel;
    return (struct meeting){(uint64_t)tap, end > 0 ? (uint64_t)end : 0, (uint64_t)stride, at, -1};
}

/* A strip of one pixel: the sum over the taps that meet something. */
LL_INLINE void sum_taps(const struct depthwise *d, const real *image, uint64_t line, struct meeting y,
                        struct meeting x, uint64_t first, uint64_t count, real *restrict out)
{
    real sum[STRIP] = {0};
    int64_t at_y = y.at;
    for (uint64_t ky = y.first; ky < y.end; ky += y.step, at_y += y.move) {
        int64_t at_x = x.at;
        for (uint64_t kx = x.first; kx < x.end; kx += x.step, at_x += x.move) {
            const real *in = image + ((uint64_t)at_y * line + (uint64_t)at_x) * d->channels + first;
            const real *tap = d->filter + (ky * d->kernel_w + kx) * d->channels + first;
            for (uint64_t c = 0; c < count; c++)
                sum[c] += in[c] * tap[c];
        }
    }
    memcpy(out, sum, count * sizeof *out);
}

LL_INLINE void sum_pixel(const struct depthwise *d, const real *image, uint64_t line, struct meeting y,
                         struct meeting x, real *out)
{
    uint64_t first = 0;
    for (; first + STRIP <= d->channels; first += STRIP)
        sum_taps(d, image, line, y, x, first, STRIP, out + first);
    if (first < d->channels)
        sum_taps(d, image, line, y, x, first, d->channels - first, out + first);
}

/* Chunk: lines of the result. */
LL_FAST static void forward_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct depthwise *d = context;
    for (uint64_t line = begin; line < end; line++) {
        const real *image = d->in + line / d->out_h * d->in_h * d->in_w * d->channels;
        struct meeting y = meet_image(line % d->out_h, d->stride_h, d->pad_top, d->kernel_h, d->in_h);
        for (uint64_t i = 0; i < d->out_w; i++)
            sum_pixel(d, image, d->in_w, y, meet_image(i, d->stride_w, d->pad_left, d->kernel_w, d->in_w),
                      d->out + (line * d->out_w + i) * d->channels);
    }
}

void LL_REAL(ll_depthwise_forward)(const struct ll_kernel_call *call)
{
    const struct ll_op_view *op = call->op;
    struct depthwise d = depthwise_of(call, &op->in[0], &op->in[1], &op->out[0]);
    d.filter = call->in[1];
    ll_pool_run(call->pool, op->out[0].dim[0] * d.out_h, 1, forward_lines, &d);
}

/* Chunk: lines of the image. */
LL_FAST static void data_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct depthwise *d = context;
    for (uint64_t line = begin; line < end; line++) {
        const real *dy = d->in + line / d->in_h * d->out_h * d->out_w * d->channels;
        struct meeting y = meet_results(line % d->in_h, d->stride_h, d->pad_top, d->kernel_h, d->out_h);
        for (uint64_t i = 0; i < d->in_w; i++)
            sum_pixel(d, dy, d->out_w, y, meet_results(i, d->stride_w, d->pad_left, d->kernel_w, d->out_w),
                      d->out + (line * d->in_w + i) * d->channels);
    }
}

void LL_REAL(ll_depthwise_data)(const struct ll_kernel_call *call)
{
    const struct ll_op_view *op = call->op;
    struct depthwise d = depthwise_of(call, &op->out[0], &op->in[1], &op->in[0]);
    d.filter = call->in[1];
    ll_pool_run(call->pool, op->out[0].dim[0] * d.in_h, 1, data_lines, &d);
}

/* What a line of dy adds to a strip of one tap: x moves on by the stride. */
LL_INLINE void add_line(const real *x, uint64_t x_step, const real *dy, uint64_t dy_step, uint64_t pixels,
                        uint64_t count, real *restrict dw)
{
    real sum[STRIP] = {0};
    for (uint64_t i = 0; i < pixels; i++, x += x_step, dy += dy_step)
        for (uint64_t c = 0; c < count; c++)
            sum[c] += x[c] * dy[c];
    for (uint64_t c = 0; c < count; c++)
        dw[c] += sum[c];
}

/* The results of a line that a tap of column kx reaches: first and past the last. */
LL_INLINE void reached(const struct depthwise *d, uint64_t kx, uint64_t *first, uint64_t *end)
{
    int64_t before = d->pad_left - (int64_t)kx, room = (int64_t)d->in_w + before;
    *first = before > 0 ? (uint64_t)((before + d->stride_w - 1) / d->stride_w) : 0;
    *end = room > 0 ? ll_min(d->out_w, (uint64_t)((room + d->stride_w - 1) / d->stride_w)) : 0;
}

LL_INLINE void line_of_filter(const struct depthwise *d, uint64_t line, real *dw)
{
    const real *image = d->in + line / d->out_h * d->in_h * d->in_w * d->channels;
    const real *dy = d->dy + line * d->out_w * d->channels;
    struct meeting y = meet_image(line % d->out_h, d->stride_h, d->pad_top, d->kernel_h, d->in_h);
    uint64_t step = (uint64_t)d->stride_w * d->channels;
    for (uint64_t ky = y.first; ky < y.end; ky++)
        for (uint64_t kx = 0; kx < d->kernel_w; kx++) {
            uint64_t first, end, c = 0, at_y = (uint64_t)y.at + ky - y.first;
            reached(d, kx, &first, &end);
            if (first >= end)
                continue;
            uint64_t at_x = first * (uint64_t)d->stride_w + kx - (uint64_t)d->pad_left;
            const real *x = image + (at_y * d->in_w + at_x) * d->channels, *from = dy + first * d->channels;
            real *tap = dw + (ky * d->kernel_w + kx) * d->channels;
            for (; c + STRIP <= d->channels; c += STRIP)
                add_line(x + c, step, from + c, d->channels, end - first, STRIP, tap + c);
            if (c < d->channels)
                add_line(x + c, step, from + c, d->channels, end - first, d->channels - c, tap + c);
        }
}

/* Chunk: a block of lines of dy, with a gradient of its own. */
LL_FAST static void filter_block(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct depthwise *d = context;
    uint64_t elements = d->kernel_h * d->kernel_w * d->channels;
    real *dw = d->partial + chunk * elements;
    memset(dw, 0, elements * sizeof *dw);
    for (uint64_t line = begin; line < end; line++)
        line_of_filter(d, line, dw);
}

void LL_REAL(ll_depthwise_filter)(const struct ll_kernel_call *call)
{
    const struct ll_op_view *op = call->op;
    struct depthwise d = depthwise_of(call, &op->in[0], &op->out[0], &op->in[1]);
    uint64_t lines = op->in[1].dim[0] * d.out_h, elements = ll_elements(&op->out[0]);
    d.dy = call->in[1];
    d.partial = call->workspace;
    d.block_lines = ll_max(1, ll_ceil_div(lines, BLOCKS));
    ll_pool_run(call->pool, lines, d.block_lines, filter_block, &d);
    memset(d.out, 0, elements * sizeof *d.out);
    for (uint64_t block = 0; block * d.block_lines < lines; block++)
        for (uint64_t i = 0; i < elements; i++)
            d.out[i] += d.partial[block * elements + i];
}
