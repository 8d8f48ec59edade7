/* SPDX-License-Identifier: Apache-2.0 */
/* dx from dy, as convolutions of dy. For stride s an input pixel p (counted with the padding) is touched by
 * the taps k = p mod s, p mod s + s, ... of the results p / s, p / s - 1, ...:
 *
 *       dx[p] = sum_t dy[p / s - t] w[p mod s + s t]
 *
 * So the pixels fall into s x s phases by their remainder, and each phase is a convolution of stride 1 over
 * dy with its own taps in reverse order. Windows at the border reach past dy more often than the forward
 * windows past the image: without padding (k - 1) / size more is multiplied than the algorithm needs. */
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_conv.h"

#include <string.h>

#ifndef LL_DOUBLE
/* For each thread the gathered windows and their product, and once the filter of a phase. */
uint64_t ll_conv_data_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *filter = &op->in[1];
    uint64_t columns = filter->dim[0] * filter->dim[1] * filter->dim[3], rows = ll_conv_rows(columns);
    uint64_t each = ll_add(ll_mul(rows, columns), ll_mul(rows, filter->dim[2]));
    uint64_t elements = ll_add(ll_mul(threads, each), ll_elements(filter));
    return ll_mul(elements, ll_dtype_bytes((enum ll_dtype)op->in[0].dtype));
}
#endif

/* One axis of a phase: which pixels belong to it and which taps they have. */
struct axis {
    uint64_t stride, kernel, pad, size; /* of the convolution and the image */
    uint64_t phase, first, count, taps; /* pixels first, first + stride, ... */
};

static struct axis axis_of(uint64_t stride, uint64_t kernel, uint64_t pad, uint64_t size, uint64_t phase)
{
    struct axis axis = {stride, kernel, pad, size, phase, 0, 0, 0};
    axis.first = (phase + stride - pad % stride) % stride; /* the least p with (p + pad) mod stride = phase */
    axis.count = size > axis.first ? ll_ceil_div(size - axis.first, stride) : 0;
    axis.taps = kernel > phase ? ll_ceil_div(kernel - phase, stride) : 0;
    return axis;
}

/* Where in dy the window of the phase's pixel i begins: at its last tap. */
static int64_t window_start(const struct axis *axis, uint64_t i)
{
    return (int64_t)((axis->first + i * axis->stride + axis->pad) / axis->stride) - (int64_t)axis->taps + 1;
}

struct data_grad {
    const real *dy, *filter;
    real *dx, *turned, *scratch;
    struct axis h, w;
    struct ll_window window; /* over dy */
    uint64_t in_c, out_c, groups, group, columns, rows;
};

/* The phase's taps in reverse order, as a matrix [channels in, taps channels out]. */
static void turn_filter(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct data_grad *d = context;
    uint64_t used = d->window.used;
    for (uint64_t channel = begin; channel < end; channel++) {
        real *to = d->turned + channel * d->columns;
        for (uint64_t t = 0; t < d->h.taps * d->w.taps; t++, to += used) {
            uint64_t y = d->h.phase + d->h.stride * (d->h.taps - 1 - t / d->w.taps);
            uint64_t x = d->w.phase + d->w.stride * (d->w.taps - 1 - t % d->w.taps);
            const real *tap =
                d->filter + ((y * d->w.kernel + x) * (d->in_c / d->groups) + channel) * d->out_c;
            memcpy(to, tap + d->window.first, used * sizeof(real));
        }
    }
}

static real *pixel_of(const struct data_grad *d, uint64_t row)
{
    uint64_t x = row % d->w.count, y = row / d->w.count % d->h.count, image = row / d->w.count / d->h.count;
    uint64_t pixel =
        (image * d->h.size + d->h.first + y * d->h.stride) * d->w.size + d->w.first + x * d->w.stride;
    return d->dx + pixel * d->in_c + d->group * (d->in_c / d->groups);
}

static void gather_rows(const struct data_grad *d, uint64_t begin, uint64_t end, real *block)
{
    uint64_t image_elements = d->window.height * d->window.width * d->window.channels;
    for (uint64_t row = begin; row < end; row++, block += d->columns) {
        uint64_t x = row % d->w.count, y = row / d->w.count % d->h.count,
                 image = row / d->w.count / d->h.count;
        LL_REAL(ll_gather)
        (&d->window, d->dy + image * image_elements, window_start(&d->h, y), window_start(&d->w, x), 0,
         d->columns, block);
    }
}

static void data_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct data_grad *d = context;
    uint64_t channels = d->in_c / d->groups;
    bool in_place = d->h.stride == 1 && d->w.stride == 1; /* the pixels lie one after the other */
    real *block = d->scratch + ll_pool_worker() * d->rows * (d->columns + channels);
    real *product = block + d->rows * d->columns;
    gather_rows(d, begin, end, block);
    LL_REAL(ll_blas_gemm)
    (&(struct ll_blas_product){
        .transpose_b = true,
        .m = end - begin,
        .n = channels,
        .k = d->columns,
        .a = block,
        .lda = d->columns,
        .b = d->turned,
        .ldb = d->columns,
        .c = in_place ? pixel_of(d, begin) : product,
        .ldc = in_place ? d->in_c : channels,
    });
    for (uint64_t row = begin; !in_place && row < end; row++)
        memcpy(pixel_of(d, row), product + (row - begin) * channels, channels * sizeof(real));
}

static void clear_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct data_grad *d = context;
    for (uint64_t row = begin; row < end; row++)
        memset(pixel_of(d, row), 0, d->in_c / d->groups * sizeof(real));
}

static void one_phase(const struct ll_kernel_call *call, struct data_grad *d)
{
    d->window.taps_h = d->h.taps;
    d->window.taps_w = d->w.taps;
    d->columns = d->h.taps * d->w.taps * d->window.used;
    d->rows = ll_conv_rows(d->columns);
    uint64_t pixels = call->op->out[0].dim[0] * d->h.count * d->w.count;
    for (d->group = 0; d->group < d->groups; d->group++) {
        d->window.first = d->group * d->window.used;
        if (d->columns == 0) {
            ll_pool_run(call->pool, pixels, d->rows, clear_rows, d);
            continue;
        }
        ll_pool_run(call->pool, d->in_c / d->groups, 8, turn_filter, d);
        ll_pool_run(call->pool, pixels, d->rows, data_rows, d);
    }
}

LL_KERNEL(CONV2D_DATA)
{
    const struct ll_op_view *op = call->op;
    const struct ll_shape *dy = &op->in[0], *filter = &op->in[1], *dx = &op->out[0];
    if (ll_conv_is_depthwise(dx, filter)) {
        LL_REAL(ll_depthwise_data)(call);
        return;
    }
    uint64_t stride_h = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
             stride_w = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_W, 1);
    uint64_t pad_top = (uint64_t)ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
             pad_left = (uint64_t)ll_attr_count(op, LL_ATTR_PAD_LEFT, 0);
    uint64_t groups = dx->dim[3] / filter->dim[2];
    struct data_grad d = {
        .dy = call->in[0],
        .filter = call->in[1],
        .dx = call->out[0],
        .turned = call->workspace,
        .scratch = (real *)call->workspace + ll_elements(filter),
        .window = {dy->dim[1], dy->dim[2], dy->dim[3], 0, 0, 0, dy->dim[3] / groups},
        .in_c = dx->dim[3],
        .out_c = dy->dim[3],
        .groups = groups,
    };
    for (uint64_t y = 0; y < stride_h; y++)
        for (uint64_t x = 0; x < stride_w; x++) {
            d.h = axis_of(stride_h, filter->dim[0], pad_top, dx->dim[1], y);
            d.w = axis_of(stride_w, filter->dim[1], pad_left, dx->dim[2], x);
            one_phase(call, &d);
        }
}
