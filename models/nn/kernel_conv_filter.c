/* SPDX-License-Identifier: Apache-2.0 */
/* dw = windows(x)^T dy. Threads share the rows of dw: each gathers its own columns of the windows, block of
 * pixels after block, and adds the products in this order. */
#include "models/nn/blas.h"
#include "models/nn/kernel.h"
#include "models/nn/kernel_conv.h"

enum { BLOCK_ROWS = 1024 };

#ifndef LL_DOUBLE
uint64_t ll_conv_filter_workspace(const struct ll_op_view *op, unsigned threads)
{
    if (ll_conv_is_depthwise(&op->in[0], &op->out[0]))
        return ll_depthwise_filter_workspace(op);
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
    if (ll_conv_is_depthwise(image, filter)) {
        LL_REAL(ll_depthwise_filter)(call);
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
