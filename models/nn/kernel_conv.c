/* SPDX-License-Identifier: Apache-2.0 */
/* y = x * w, images in batch, height, width, channel order, filters [height, width, in, out].
 *
 * A block of result pixels at a time: their windows are gathered as the rows of a matrix, which is then
 * multiplied with the filter seen as a matrix of [height width in, out]. In this order of dimensions a row of
 * a window is one run of memory. A 1x1 filter of stride 1 needs no gathering. */
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_conv.h"

#include <string.h>

/* Elements begin..end of a line of the image, of `line` elements; those before it and past it are zero. */
LL_INLINE void copy_run(const real *image_line, int64_t line, int64_t begin, int64_t end, bool outside,
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

#ifndef LL_DOUBLE
uint64_t ll_conv_rows(uint64_t columns)
{
    uint64_t rows = LL_CONV_ELEMENTS / ll_max(columns, 1) / LL_CONV_ROW_STEP * LL_CONV_ROW_STEP;
    return ll_min(ll_max(rows, LL_CONV_LEAST_ROWS), LL_CONV_MOST_ROWS);
}

static uint64_t columns_of(const struct ll_shape *filter)
{
    return filter->dim[0] * filter->dim[1] * filter->dim[2];
}

uint64_t ll_conv_workspace(const struct ll_op_view *op, unsigned threads)
{
    uint64_t columns = columns_of(&op->in[1]);
    return ll_mul(threads,
                  ll_mul(ll_conv_rows(columns) * columns, ll_dtype_bytes((enum ll_dtype)op->in[0].dtype)));
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
    real *block = f->blocks + ll_pool_worker() * ll_conv_rows(f->columns) * f->columns;
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

LL_KERNEL(CONV2D)
{
    const struct ll_op_view *op = call->op;
    const struct ll_shape *image = &op->in[0], *filter = &op->in[1], *out = &op->out[0];
    if (ll_conv_is_depthwise(image, filter)) {
        LL_REAL(ll_depthwise_forward)(call);
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
    ll_pool_run(call->pool, pixels, ll_conv_rows(f.columns), forward_rows, &f);
}
