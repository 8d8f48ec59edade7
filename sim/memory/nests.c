/* SPDX-License-Identifier: Apache-2.0 */
/* The loops and operands of op-like work. A dimension that a loop would walk in a single trip gets no loop:
 * what does not move is then held further out. */
#include "sim/memory/streams.h"

#include "tracer/base/num.h"

#include <assert.h>

enum { BATCH, M, N, K };                                             /* of a product */
enum { GROUP, IMAGE, ROW, COLUMN, OUT_C, IN_C, KERNEL_H, KERNEL_W }; /* of a convolution */

/* Any coordinate from zero on. */
#define NO_LIMIT INT64_MAX

static void add_loop(struct ll_nest *nest, uint32_t dim, uint64_t by, uint64_t span)
{
    assert(nest->loop_count < LL_NEST_LOOPS && by > 0);
    span = ll_min(span, nest->size[dim]);
    if (by < span)
        nest->loops[nest->loop_count++] = (struct ll_nest_loop){dim, by, span};
}

/* A nest has one loop at least. */
static void finish(struct ll_nest *nest)
{
    if (nest->loop_count == 0)
        nest->loops[nest->loop_count++] = (struct ll_nest_loop){0, 1, 1};
}

/* Where the next operand begins. */
static uint64_t take_room(uint64_t *top, uint64_t bytes)
{
    uint64_t base = *top;
    *top = ll_mul(ll_ceil_div(ll_add(base, bytes), LL_NEST_PAGE), LL_NEST_PAGE);
    return base;
}

static struct ll_nest_ref *add_ref(struct ll_nest *nest, uint64_t base, bool write)
{
    assert(nest->ref_count < LL_NEST_REFS);
    struct ll_nest_ref *ref = &nest->refs[nest->ref_count++];
    *ref = (struct ll_nest_ref){.base = base, .write = write};
    return ref;
}

static void add_guard(struct ll_nest_ref *ref, struct ll_nest_guard guard)
{
    assert(ref->guard_count < LL_NEST_GUARDS);
    ref->guards[ref->guard_count++] = guard;
}

/* The result is read, unless its sum begins here, and written. `sums` are the dimensions summed over. */
static void add_sum(struct ll_nest *nest, const struct ll_nest_ref *result, const uint32_t *sums,
                    size_t count)
{
    struct ll_nest_guard begun = {.offset = -1, .limit = NO_LIMIT};
    for (size_t i = 0; i < count; i++)
        begun.slope[sums[i]] = 1;
    struct ll_nest_ref *read = add_ref(nest, 0, false);
    *read = *result;
    add_guard(read, begun);
    struct ll_nest_ref *write = add_ref(nest, 0, true);
    *write = *result;
    write->write = true;
}

static const uint32_t orders[LL_ORDER_COUNT][3] = {
    [LL_ORDER_MNK] = {0, 1, 2}, [LL_ORDER_MKN] = {0, 2, 1}, [LL_ORDER_NMK] = {1, 0, 2},
    [LL_ORDER_NKM] = {1, 2, 0}, [LL_ORDER_KMN] = {2, 0, 1}, [LL_ORDER_KNM] = {2, 1, 0},
};

static void add_product_loops(struct ll_nest *nest, const struct ll_product *product)
{
    uint64_t span[3] = {product->dims.m, product->dims.n, product->dims.k};
    add_loop(nest, BATCH, 1, product->dims.batch);
    for (size_t b = 0; b <= product->block_count; b++) {
        const struct ll_nest_block *block = &product->blocks[b];
        bool last = b == product->block_count;
        enum ll_nest_order order = last ? product->order : block->order;
        uint64_t sizes[3] = {last ? 1 : block->m, last ? 1 : block->n, last ? 1 : block->k};
        for (size_t i = 0; i < 3; i++) {
            uint32_t d = orders[order][i];
            uint64_t size = ll_min(sizes[d], span[d]);
            add_loop(nest, M + d, size, span[d]);
            span[d] = size;
        }
    }
    finish(nest);
}

struct ll_nest ll_nest_product(const struct ll_product *product)
{
    const struct ll_gemm *d = &product->dims;
    struct ll_nest nest = {.size = {d->batch, d->m, d->n, d->k, 1, 1, 1, 1}};
    uint64_t ea = product->element_bytes[0], eb = product->element_bytes[1], ec = product->element_bytes[2];
    uint64_t top = 0;
    assert(product->block_count <= 8);
    add_product_loops(&nest, product);
    struct ll_nest_ref *a = add_ref(&nest, take_room(&top, d->batch * d->m * d->k * ea), false);
    a->stride[BATCH] = d->m * d->k * ea;
    a->stride[M] = product->transpose_a ? ea : d->k * ea;
    a->stride[K] = product->transpose_a ? d->m * ea : ea;
    struct ll_nest_ref *b = add_ref(&nest, take_room(&top, d->batch * d->k * d->n * eb), false);
    b->stride[BATCH] = d->k * d->n * eb;
    b->stride[K] = product->transpose_b ? eb : d->n * eb;
    b->stride[N] = product->transpose_b ? d->k * eb : eb;
    struct ll_nest_ref c = {.base = take_room(&top, d->batch * d->m * d->n * ec)};
    c.stride[BATCH] = d->m * d->n * ec;
    c.stride[M] = d->n * ec;
    c.stride[N] = ec;
    add_sum(&nest, &c, (const uint32_t[]){K}, 1);
    return nest;
}

static void add_pixel_blocks(struct ll_nest *nest, const struct ll_nest_conv *conv)
{
    add_loop(nest, IMAGE, conv->images, conv->dims.batch);
    add_loop(nest, ROW, conv->rows, conv->dims.out_h);
    add_loop(nest, COLUMN, conv->columns, conv->dims.out_w);
}

static void add_conv_loops(struct ll_nest *nest, const struct ll_nest_conv *conv)
{
    const struct ll_conv *d = &conv->dims;
    add_loop(nest, GROUP, 1, d->groups);
    for (size_t i = 0; i < 3; i++) {
        uint32_t which = orders[conv->order][i];
        if (which == 0)
            add_pixel_blocks(nest, conv);
        else if (which == 1)
            add_loop(nest, OUT_C, conv->out_c, d->out_c / d->groups);
        else
            add_loop(nest, IN_C, conv->in_c, d->in_c / d->groups);
    }
    add_loop(nest, IMAGE, 1, conv->images);
    add_loop(nest, ROW, 1, conv->rows);
    add_loop(nest, COLUMN, 1, conv->columns);
    add_loop(nest, OUT_C, 1, conv->out_c);
    add_loop(nest, KERNEL_H, 1, d->kernel_h);
    add_loop(nest, KERNEL_W, 1, d->kernel_w);
    add_loop(nest, IN_C, 1, conv->in_c);
    finish(nest);
}

/* What stands before the image along an axis. */
static uint64_t padding(uint64_t in, uint64_t out, uint64_t kernel, uint64_t stride, uint64_t dilation)
{
    uint64_t covered = (out - 1) * stride + ll_window_reach(kernel, dilation);
    return covered > in ? (covered - in) / 2 : 0;
}

/* Image element: row = out row * stride + kernel row * dilation - padding, if there is one. */
static struct ll_nest_ref image_of(const struct ll_conv *d, uint64_t element, uint64_t base)
{
    uint64_t down = ll_max(1, d->dilation_h), along = ll_max(1, d->dilation_w);
    uint64_t top = padding(d->in_h, d->out_h, d->kernel_h, d->stride_h, down);
    uint64_t left = padding(d->in_w, d->out_w, d->kernel_w, d->stride_w, along);
    uint64_t pixel = d->in_c * element, line = d->in_w * pixel;
    struct ll_nest_ref image = {.base = base - top * line - left * pixel,
                                .stride = {[GROUP] = d->in_c / d->groups * element,
                                           [IMAGE] = d->in_h * line,
                                           [ROW] = d->stride_h * line,
                                           [COLUMN] = d->stride_w * pixel,
                                           [IN_C] = element,
                                           [KERNEL_H] = down * line,
                                           [KERNEL_W] = along * pixel}};
    add_guard(&image, (struct ll_nest_guard){.offset = -(int64_t)top,
                                             .slope = {[ROW] = d->stride_h, [KERNEL_H] = down},
                                             .limit = d->in_h});
    add_guard(&image, (struct ll_nest_guard){.offset = -(int64_t)left,
                                             .slope = {[COLUMN] = d->stride_w, [KERNEL_W] = along},
                                             .limit = d->in_w});
    return image;
}

static struct ll_nest_ref filter_of(const struct ll_conv *d, uint64_t element, uint64_t base)
{
    uint64_t tap = d->in_c / d->groups * d->out_c * element;
    return (struct ll_nest_ref){.base = base,
                                .stride = {[GROUP] = d->out_c / d->groups * element,
                                           [OUT_C] = element,
                                           [IN_C] = d->out_c * element,
                                           [KERNEL_H] = d->kernel_w * tap,
                                           [KERNEL_W] = tap}};
}

static struct ll_nest_ref result_of(const struct ll_conv *d, uint64_t element, uint64_t base)
{
    uint64_t pixel = d->out_c * element;
    return (struct ll_nest_ref){.base = base,
                                .stride = {[GROUP] = d->out_c / d->groups * element,
                                           [IMAGE] = d->out_h * d->out_w * pixel,
                                           [ROW] = d->out_w * pixel,
                                           [COLUMN] = pixel,
                                           [OUT_C] = element}};
}

struct ll_nest ll_nest_convolution(const struct ll_nest_conv *conv)
{
    const struct ll_conv *d = &conv->dims;
    const uint64_t *e = conv->element_bytes;
    struct ll_nest nest = {.size = {d->groups, d->batch, d->out_h, d->out_w, d->out_c / d->groups,
                                    d->in_c / d->groups, d->kernel_h, d->kernel_w}};
    add_conv_loops(&nest, conv);
    uint64_t top = 0;
    struct ll_nest_ref image =
        image_of(d, e[0], take_room(&top, d->batch * d->in_h * d->in_w * d->in_c * e[0]));
    uint64_t taps = d->kernel_h * d->kernel_w * (d->in_c / d->groups);
    struct ll_nest_ref filter = filter_of(d, e[1], take_room(&top, taps * d->out_c * e[1]));
    struct ll_nest_ref result =
        result_of(d, e[2], take_room(&top, d->batch * d->out_h * d->out_w * d->out_c * e[2]));
    if (d->pass != LL_CONV_DATA)
        *add_ref(&nest, 0, false) = image;
    if (d->pass != LL_CONV_FILTER)
        *add_ref(&nest, 0, false) = filter;
    if (d->pass != LL_CONV_FORWARD)
        *add_ref(&nest, 0, false) = result;
    if (d->pass == LL_CONV_FORWARD)
        add_sum(&nest, &result, (const uint32_t[]){IN_C, KERNEL_H, KERNEL_W}, 3);
    else if (d->pass == LL_CONV_FILTER)
        add_sum(&nest, &filter, (const uint32_t[]){IMAGE, ROW, COLUMN}, 3);
    else {
        *add_ref(&nest, 0, false) = image;
        image.write = true;
        *add_ref(&nest, 0, true) = image;
    }
    return nest;
}

struct ll_nest ll_nest_sweep(const struct ll_nest_operand *operands, uint32_t count)
{
    struct ll_nest nest = {.size = {1, 1, 1, 1, 1, 1, 1, 1}};
    uint64_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_nest_operand *is = &operands[i];
        struct ll_nest_ref *ref =
            add_ref(&nest, take_room(&top, is->elements * is->element_bytes), is->write);
        ref->stride[0] = is->element_bytes;
        add_guard(ref, (struct ll_nest_guard){.slope = {1}, .limit = is->elements});
        nest.size[0] = ll_max(nest.size[0], is->elements);
    }
    add_loop(&nest, 0, 1, nest.size[0]);
    finish(&nest);
    return nest;
}

struct ll_nest ll_nest_gather(uint64_t table_rows, uint64_t row_elements, uint64_t element_bytes,
                              uint64_t index_bytes, uint64_t count)
{
    struct ll_nest nest = {.size = {count, row_elements, 1, 1, 1, 1, 1, 1},
                           .loops = {{0, 1, count}, {1, 1, row_elements}},
                           .loop_count = 2};
    uint64_t top = 0, row = row_elements * element_bytes;
    struct ll_nest_ref *index = add_ref(&nest, take_room(&top, count * index_bytes), false);
    index->stride[0] = index_bytes;
    struct ll_nest_ref *table = add_ref(&nest, take_room(&top, table_rows * row), false);
    table->stride[0] = row;
    table->stride[1] = element_bytes;
    table->rows = table_rows;
    struct ll_nest_ref *out = add_ref(&nest, take_room(&top, count * row), true);
    out->stride[0] = row;
    out->stride[1] = element_bytes;
    return nest;
}
