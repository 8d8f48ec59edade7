/* SPDX-License-Identifier: Apache-2.0 */
/* y = x * w, images in batch, height, width, channel order, filters [height, width, in, out].
 *
 * A block of result pixels at a time: their windows are gathered as the rows of a matrix, which is then
 * multiplied with the filter seen as a matrix of [height width in, out]. In this order of dimensions a row of
 * a window is one run of memory. A 1x1 filter of stride 1 needs no gathering. */
#include "models/nn/kernel_parts.h"

#include <assert.h>
#include <string.h>

#include "models/nn/blas.h"
#include "models/nn/kernel.h"

/* Elements begin..end of a line of the image, of `line` elements; those before it and past it are zero. */
static LL_INLINE void copy_run(const real *image_line, int64_t line, int64_t begin, int64_t end, bool outside,
                               real *row)
{
    int64_t from = outside ? end : begin < 0 ? 0 : begin, to = outside || end < line ? end : line;
    if (from > begin)
        memset(row, 0, (size_t)(from - begin) * sizeof *row);
    if (from < to)
        memcpy(row + (from - begin), image_line + from, (size_t)(to - from) * sizeof *row);
    if (to < end)
        memset(row + (to - begin), 0, (size_t)(end - to) * sizeof *row);
}

void LL_REAL(ll_gather)(const struct ll_window *window, const real *image, int64_t y, int64_t x,
                        uint64_t first_column, uint64_t end_column, real *row)
{
    bool whole_pixels = window->used == window->channels;
    uint64_t run =
        whole_pixels ? window->taps_w * window->channels : window->used; /* contiguous in the image */
    uint64_t runs_per_row = whole_pixels ? 1 : window->taps_w;
    int64_t line = (int64_t)(window->width * window->channels), channels = (int64_t)window->channels;
    /* Of the first run a part may be left out; a run of part of the channels lies in one pixel. */
    uint64_t index = first_column / run, skipped = first_column % run, tap_x = index % runs_per_row;
    int64_t tap_y = y + (int64_t)(index / runs_per_row);
    for (uint64_t column = first_column; column < end_column;) {
        uint64_t count = ll_min(run - skipped, end_column - column);
        int64_t begin = (x + (int64_t)tap_x) * channels + (int64_t)(window->first + skipped);
        int64_t end = begin + (int64_t)count;
        bool outside = tap_y < 0 || tap_y >= (int64_t)window->height || end <= 0 || begin >= line;
        copy_run(outside ? image : image + tap_y * line, line, begin, end, outside, row);
        row += count;
        column += count;
        skipped = 0;
        if (++tap_x == runs_per_row) {
            tap_x = 0;
            tap_y++;
        }
    }
}

/* How many rows of so many columns are gathered and multiplied at a time: about what a second-level cache
 * holds (LL_CONV_ELEMENTS), and enough to pay for the packing of the other operand. Pure. */
static uint64_t conv_rows(uint64_t columns)
{
    uint64_t rows = LL_CONV_ELEMENTS / ll_max(columns, 1) / LL_CONV_ROW_STEP * LL_CONV_ROW_STEP;
    return ll_min(ll_max(rows, LL_CONV_LEAST_ROWS), LL_CONV_MOST_ROWS);
}

/* Whether every channel has one filter of its own: images [batch, height, width, channels], filters [height,
 * width, in of a group, out]. Such convolutions have kernels
 * that gather nothing. */
static bool is_depthwise(const struct ll_shape *image, const struct ll_shape *filter)
{
    return filter->dim[2] == 1 && filter->dim[3] == image->dim[3];
}

#ifndef LL_DOUBLE
static uint64_t columns_of(const struct ll_shape *filter)
{
    return filter->dim[0] * filter->dim[1] * filter->dim[2];
}

uint64_t ll_conv_workspace(const struct ll_op_view *op, unsigned threads)
{
    uint64_t columns = columns_of(&op->in[1]);
    return ll_mul(threads,
                  ll_mul(conv_rows(columns) * columns, ll_dtype_bytes((enum ll_dtype)op->in[0].dtype)));
}
#endif

struct forward {
    const real *x, *filter;
    real *y, *blocks;
    struct ll_window window;
    uint64_t out_h, out_w, out_c, groups, stride_h, stride_w, columns;
    int64_t pad_top, pad_left;
    bool direct; /* the image is the matrix already */
};

/* Gathers result pixels begin..end, all of them with their windows moved by the strides. */
static void gather_rows(const struct forward *f, const struct ll_window *window, uint64_t begin, uint64_t end,
                        real *block)
{
    uint64_t image_elements = window->height * window->width * window->channels;
    for (uint64_t pixel = begin; pixel < end; pixel++, block += f->columns) {
        uint64_t x = pixel % f->out_w, y = pixel / f->out_w % f->out_h, image = pixel / f->out_w / f->out_h;
        LL_REAL(ll_gather)
        (window, f->x + image * image_elements, (int64_t)(y * f->stride_h) - f->pad_top,
         (int64_t)(x * f->stride_w) - f->pad_left, 0, f->columns, block);
    }
}

static void forward_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct forward *f = context;
    uint64_t filters = f->out_c / f->groups;
    real *block = f->blocks + ll_pool_worker() * conv_rows(f->columns) * f->columns;
    for (uint64_t group = 0; group < f->groups; group++) {
        struct ll_window window = f->window;
        window.first = group * window.used;
        if (!f->direct)
            gather_rows(f, &window, begin, end, block);
        LL_REAL(ll_blas_gemm)
        (&(struct ll_blas_product){
            .m = end - begin,
            .n = filters,
            .k = f->columns,
            .a = f->direct ? f->x + begin * window.channels + window.first : block,
            .lda = f->direct ? window.channels : f->columns,
            .b = f->filter + group * filters,
            .ldb = f->out_c,
            .c = f->y + begin * f->out_c + group * filters,
            .ldc = f->out_c,
        });
    }
}

static void run_depthwise_forward(const struct ll_kernel_call *call),
    run_depthwise_data(const struct ll_kernel_call *call),
    run_depthwise_filter(const struct ll_kernel_call *call);

LL_KERNEL(CONV2D)
{
    const struct ll_op_view *op = call->op;
    const struct ll_shape *image = &op->in[0], *filter = &op->in[1], *out = &op->out[0];
    assert(image->rank == 4 && filter->rank == 4 && out->rank == 4);
    if (is_depthwise(image, filter)) {
        run_depthwise_forward(call);
        return;
    }
    struct forward f = {
        .x = call->in[0],
        .filter = call->in[1],
        .y = call->out[0],
        .blocks = call->workspace,
        .window = {image->dim[1], image->dim[2], image->dim[3], filter->dim[0], filter->dim[1], 0,
                   filter->dim[2]},
        .out_h = out->dim[1],
        .out_w = out->dim[2],
        .out_c = out->dim[3],
        .groups = image->dim[3] / filter->dim[2],
        .stride_h = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
        .stride_w = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_W, 1),
        .columns = filter->dim[0] * filter->dim[1] * filter->dim[2],
        .pad_top = ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
        .pad_left = ll_attr_count(op, LL_ATTR_PAD_LEFT, 0),
    };
    bool same_pixels = image->dim[1] == out->dim[1] && image->dim[2] == out->dim[2];
    f.direct = same_pixels && filter->dim[0] == 1 && filter->dim[1] == 1 && f.pad_top == 0 && f.pad_left == 0;
    uint64_t pixels = out->dim[0] * out->dim[1] * out->dim[2];
    ll_pool_run(call->pool, pixels, conv_rows(f.columns), forward_rows, &f);
}

/* dx from dy, as convolutions of dy. For stride s an input pixel p (counted with the padding) is touched by
 * the taps k = p mod s, p mod s + s, ... of the results p / s, p / s - 1, ...:
 *
 *       dx[p] = sum_t dy[p / s - t] w[p mod s + s t]
 *
 * So the pixels fall into s x s phases by their remainder, and each phase is a convolution of stride 1 over
 * dy with its own taps in reverse order. Windows at the border reach past dy more often than the forward
 * windows past the image: without padding (k - 1) / size more is multiplied than the algorithm needs. */

#ifndef LL_DOUBLE
/* For each thread the gathered windows and their product, and once the filter of a phase. */
uint64_t ll_conv_data_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *filter = &op->in[1];
    uint64_t columns = filter->dim[0] * filter->dim[1] * filter->dim[3], rows = conv_rows(columns);
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

static void gather_gradient_rows(const struct data_grad *d, uint64_t begin, uint64_t end, real *block)
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
    gather_gradient_rows(d, begin, end, block);
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
    d->rows = conv_rows(d->columns);
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
    assert(dy->rank == 4 && filter->rank == 4 && dx->rank == 4);
    if (is_depthwise(dx, filter)) {
        run_depthwise_data(call);
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

/* dw = windows(x)^T dy. Threads share the rows of dw: each gathers its own columns of the windows, block of
 * pixels after block, and adds the products in this order. */

enum { BLOCK_ROWS = 1024 };

#ifndef LL_DOUBLE
static uint64_t depthwise_filter_workspace(const struct ll_op_view *op);

uint64_t ll_conv_filter_workspace(const struct ll_op_view *op, unsigned threads)
{
    if (is_depthwise(&op->in[0], &op->out[0]))
        return depthwise_filter_workspace(op);
    return ll_mul(threads,
                  LL_CONV_FILTER_SLICE * BLOCK_ROWS * ll_dtype_bytes((enum ll_dtype)op->in[0].dtype));
}
#endif

struct filter_grad {
    const real *x, *dy;
    real *dw, *blocks;
    struct ll_window window;
    uint64_t pixels, out_h, out_w, out_c, filters, stride_h, stride_w;
    int64_t pad_top, pad_left;
    uint64_t group;
};

static void gather_block(const struct filter_grad *f, uint64_t first, uint64_t rows, uint64_t begin,
                         uint64_t end, real *block)
{
    uint64_t image_elements = f->window.height * f->window.width * f->window.channels;
    for (uint64_t pixel = first; pixel < first + rows; pixel++, block += end - begin) {
        uint64_t x = pixel % f->out_w, y = pixel / f->out_w % f->out_h, image = pixel / f->out_w / f->out_h;
        LL_REAL(ll_gather)
        (&f->window, f->x + image * image_elements, (int64_t)(y * f->stride_h) - f->pad_top,
         (int64_t)(x * f->stride_w) - f->pad_left, begin, end, block);
    }
}

static void filter_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct filter_grad *f = context;
    real *block = f->blocks + (uint64_t)ll_pool_worker() * LL_CONV_FILTER_SLICE * BLOCK_ROWS;
    for (uint64_t first = 0; first < f->pixels; first += BLOCK_ROWS) {
        uint64_t rows = ll_min(BLOCK_ROWS, f->pixels - first);
        gather_block(f, first, rows, begin, end, block);
        LL_REAL(ll_blas_gemm)
        (&(struct ll_blas_product){
            .transpose_a = true,
            .m = end - begin,
            .n = f->filters,
            .k = rows,
            .a = block,
            .lda = end - begin,
            .b = f->dy + first * f->out_c + f->group * f->filters,
            .ldb = f->out_c,
            .c = f->dw + begin * f->out_c + f->group * f->filters,
            .ldc = f->out_c,
            .beta = first > 0,
        });
    }
}

LL_KERNEL(CONV2D_FILTER)
{
    const struct ll_op_view *op = call->op;
    const struct ll_shape *image = &op->in[0], *filter = &op->out[0], *dy = &op->in[1];
    assert(image->rank == 4 && filter->rank == 4 && dy->rank == 4);
    if (is_depthwise(image, filter)) {
        run_depthwise_filter(call);
        return;
    }
    uint64_t groups = image->dim[3] / filter->dim[2];
    struct filter_grad f = {
        .x = call->in[0],
        .dy = call->in[1],
        .dw = call->out[0],
        .blocks = call->workspace,
        .window = {image->dim[1], image->dim[2], image->dim[3], filter->dim[0], filter->dim[1], 0,
                   filter->dim[2]},
        .pixels = dy->dim[0] * dy->dim[1] * dy->dim[2],
        .out_h = dy->dim[1],
        .out_w = dy->dim[2],
        .out_c = dy->dim[3],
        .filters = dy->dim[3] / groups,
        .stride_h = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
        .stride_w = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_W, 1),
        .pad_top = ll_attr_count(op, LL_ATTR_PAD_TOP, 0),
        .pad_left = ll_attr_count(op, LL_ATTR_PAD_LEFT, 0),
    };
    for (f.group = 0; f.group < groups; f.group++) {
        f.window.first = f.group * filter->dim[2];
        ll_pool_run(call->pool, filter->dim[0] * filter->dim[1] * filter->dim[2], LL_CONV_FILTER_SLICE,
                    filter_rows, &f);
    }
}

/* Convolutions that give each channel a filter of its own: nothing is summed over channels, so there is no
 * product of matrices in them. They are computed where they stand, a strip of channels at a time, whose sums
 * stay in registers while the taps go by. All three passes gather; none scatters:
 *
 *       y[p] = sum_k x[s p + k] w[k]        dx[p] = sum_k dy[(p - k) / s] w[k], where s divides p - k
 *       dw[k] = sum_p x[s p + k] dy[p]                                                     */

enum { STRIP = 32, BLOCKS = 16 };

#ifndef LL_DOUBLE
/* A filter's gradient for each block of lines. */
static uint64_t depthwise_filter_workspace(const struct ll_op_view *op)
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
static LL_INLINE struct meeting meet_image(uint64_t i, int64_t stride, int64_t pad, uint64_t kernel,
                                           uint64_t size)
{
    int64_t start = (int64_t)i * stride - pad, over = start + (int64_t)kernel - (int64_t)size;
    struct meeting m = {start < 0 ? (uint64_t)-start : 0, kernel, 1, start < 0 ? 0 : start, 1};
    if (over > 0)
        m.end = (uint64_t)over < kernel ? kernel - (uint64_t)over : 0;
    return m;
}

/* Of pixel number i, among so many results. */
static LL_INLINE struct meeting meet_results(uint64_t i, int64_t stride, int64_t pad, uint64_t kernel,
                                             uint64_t size)
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
static LL_INLINE void sum_taps(const struct depthwise *d, const real *image, uint64_t line, struct meeting y,
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

static LL_INLINE void sum_pixel(const struct depthwise *d, const real *image, uint64_t line, struct meeting y,
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

static void run_depthwise_forward(const struct ll_kernel_call *call)
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

static void run_depthwise_data(const struct ll_kernel_call *call)
{
    const struct ll_op_view *op = call->op;
    struct depthwise d = depthwise_of(call, &op->out[0], &op->in[1], &op->in[0]);
    d.filter = call->in[1];
    ll_pool_run(call->pool, op->out[0].dim[0] * d.in_h, 1, data_lines, &d);
}

/* What a line of dy adds to a strip of one tap: x moves on by the stride. */
static LL_INLINE void add_line(const real *x, uint64_t x_step, const real *dy, uint64_t dy_step,
                               uint64_t pixels, uint64_t count, real *restrict dw)
{
    real sum[STRIP] = {0};
    for (uint64_t i = 0; i < pixels; i++, x += x_step, dy += dy_step)
        for (uint64_t c = 0; c < count; c++)
            sum[c] += x[c] * dy[c];
    for (uint64_t c = 0; c < count; c++)
        dw[c] += sum[c];
}

/* The results of a line that a tap of column kx reaches: first and past the last. */
static LL_INLINE void reached(const struct depthwise *d, uint64_t kx, uint64_t *first, uint64_t *end)
{
    int64_t before = d->pad_left - (int64_t)kx, room = (int64_t)d->in_w + before;
    *first = before > 0 ? (uint64_t)((before + d->stride_w - 1) / d->stride_w) : 0;
    *end = room > 0 ? ll_min(d->out_w, (uint64_t)((room + d->stride_w - 1) / d->stride_w)) : 0;
}

static LL_INLINE void line_of_filter(const struct depthwise *d, uint64_t line, real *dw)
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

static void run_depthwise_filter(const struct ll_kernel_call *call)
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
