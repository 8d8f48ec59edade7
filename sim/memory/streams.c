/* SPDX-License-Identifier: Apache-2.0 */
/* The address streams of ops: builders make loop nests of work, and a stream walks them.
 *
 * A dimension that a loop would walk in a single trip gets no loop: an operand that does not move is then
 * held by a loop further out. */
#include "sim/memory/streams.h"

#include <assert.h>

#include "sim/memory/cache.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

enum { BATCH, M, N, K };                                             /* of a GEMM */
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

/* The loops stand like the wheels of a counter. A run is one turn of the innermost loop, the only place where
 * speed matters: there addresses advance by constants, and guards, being affine, hold for one interval of its
 * trips. After a run the wheels turn: outer loops write what they held, step on, and read what comes next.
 * A turn of the wheels touches each reference once at most, hence the room that ll_stream_fill wants. */

/* Loops around and including the last one that moves the reference. */
static uint32_t depth_of(const struct ll_nest *nest, const struct ll_nest_ref *ref)
{
    for (uint32_t depth = nest->loop_count; depth > 0; depth--) {
        const struct ll_nest_loop *loop = &nest->loops[depth - 1];
        if (ref->stride[loop->dim] && nest->size[loop->dim] > 1)
            return depth;
    }
    return 0;
}

void ll_stream_begin(struct ll_stream *stream, const struct ll_nest *nest)
{
    assert(nest->loop_count > 0);
    *stream = (struct ll_stream){.nest = nest};
    for (uint32_t d = 0; d < LL_NEST_DIMS; d++)
        stream->stop[d] = nest->size[d];
    for (uint32_t r = 0; r < nest->ref_count; r++)
        stream->depth[r] = depth_of(nest, &nest->refs[r]);
}

/* Added, not put in: before a guard holds an address may lie below zero. */
static uint64_t address_of(const struct ll_nest_ref *ref, const uint64_t *x)
{
    uint64_t address = ref->base + (ref->write ? LL_CACHE_WRITE : 0);
    for (uint32_t d = 0; d < LL_NEST_DIMS; d++) {
        bool picked = ref->rows && d == ref->picked;
        address += ref->stride[d] * (picked ? ll_random_bits(ref->rows, x[d]) % ref->rows : x[d]);
    }
    return address;
}

static int64_t guarded(const struct ll_nest_guard *guard, const uint64_t *x)
{
    uint64_t value = (uint64_t)guard->offset;
    for (uint32_t d = 0; d < LL_NEST_DIMS; d++)
        value += guard->slope[d] * x[d];
    return (int64_t)value;
}

static bool holds(const struct ll_nest_ref *ref, const uint64_t *x)
{
    for (uint32_t g = 0; g < ref->guard_count; g++)
        if ((uint64_t)guarded(&ref->guards[g], x) >= ref->guards[g].limit)
            return false;
    return true;
}

/* The references of one depth that are read, or those that are written. */
static size_t touch(const struct ll_stream *stream, uint32_t depth, bool write, uint64_t *accesses, size_t n)
{
    for (uint32_t r = 0; r < stream->nest->ref_count; r++) {
        const struct ll_nest_ref *ref = &stream->nest->refs[r];
        if (stream->depth[r] == depth && ref->write == write && holds(ref, stream->x))
            accesses[n++] = address_of(ref, stream->x);
    }
    return n;
}

/* Sets loops from `loop` inward to their beginning. */
static size_t enter(struct ll_stream *stream, uint32_t loop, uint64_t *accesses, size_t n)
{
    const struct ll_nest *nest = stream->nest;
    for (; loop < nest->loop_count; loop++) {
        const struct ll_nest_loop *is = &nest->loops[loop];
        stream->start[loop] = stream->x[is->dim];
        stream->end[loop] = ll_min(ll_add(stream->start[loop], is->span), stream->stop[is->dim]);
        stream->outer_stop[loop] = stream->stop[is->dim];
        stream->stop[is->dim] = stream->end[loop];
        if (loop + 1 < nest->loop_count)
            n = touch(stream, loop + 1, false, accesses, n);
    }
    return n;
}

static void leave(struct ll_stream *stream, uint32_t loop)
{
    uint32_t dim = stream->nest->loops[loop].dim;
    stream->x[dim] = stream->start[loop];
    stream->stop[dim] = stream->outer_stop[loop];
}

/* The innermost loop has ended; the next one around it that has not takes a step. */
static size_t step(struct ll_stream *stream, uint64_t *accesses, size_t n)
{
    const struct ll_nest *nest = stream->nest;
    uint32_t loop = nest->loop_count - 1;
    leave(stream, loop);
    while (loop-- > 0) {
        const struct ll_nest_loop *is = &nest->loops[loop];
        n = touch(stream, loop + 1, true, accesses, n);
        stream->x[is->dim] += is->step;
        if (stream->x[is->dim] < stream->end[loop]) {
            n = touch(stream, loop + 1, false, accesses, n);
            return enter(stream, loop + 1, accesses, n);
        }
        leave(stream, loop);
    }
    stream->done = true;
    return touch(stream, 0, true, accesses, n);
}

/* A reference of the innermost loop: made in the trips from first to end. */
struct runner {
    uint64_t address, advance;
    uint64_t first, count;
};

/* Trips until offset + slope trip reaches a bound. */
static uint64_t trips_until(int64_t offset, uint64_t slope, uint64_t bound, uint64_t trips)
{
    if (offset >= 0 && (uint64_t)offset >= bound)
        return 0;
    uint64_t missing = bound - (uint64_t)offset;
    return slope == 0 ? trips : ll_min(trips, ll_ceil_div(missing, slope));
}

static struct runner runner_of(const struct ll_stream *stream, const struct ll_nest_ref *ref, uint64_t trips)
{
    const struct ll_nest_loop *inner = &stream->nest->loops[stream->nest->loop_count - 1];
    struct runner runner = {.address = address_of(ref, stream->x),
                            .advance = ref->stride[inner->dim] * inner->step};
    uint64_t end = trips;
    for (uint32_t g = 0; g < ref->guard_count; g++) {
        const struct ll_nest_guard *guard = &ref->guards[g];
        int64_t offset = guarded(guard, stream->x);
        uint64_t slope = guard->slope[inner->dim] * inner->step;
        runner.first = ll_max(runner.first, trips_until(offset, slope, 0, trips));
        end = ll_min(end, trips_until(offset, slope, guard->limit, trips));
    }
    runner.count = end > runner.first ? end - runner.first : 0;
    return runner;
}

/* As many trips of the innermost loop as there is room for; it has ended when x has come to its end. */
static size_t run(struct ll_stream *stream, uint64_t *accesses, size_t n, size_t room)
{
    const struct ll_nest *nest = stream->nest;
    uint32_t innermost = nest->loop_count - 1, count = 0;
    uint64_t *x = &stream->x[nest->loops[innermost].dim], by = nest->loops[innermost].step;
    uint64_t trips = ll_ceil_div(stream->end[innermost] - *x, by);
    struct runner runners[LL_NEST_REFS];
    for (int write = 0; write < 2; write++)
        for (uint32_t r = 0; r < nest->ref_count; r++)
            if (stream->depth[r] == innermost + 1 && nest->refs[r].write == write)
                runners[count++] = runner_of(stream, &nest->refs[r], trips);
    trips = ll_min(trips, (room - n) / (count ? count : 1));
    for (uint64_t trip = 0; trip < trips; trip++)
        for (uint32_t r = 0; r < count; r++) {
            accesses[n] = runners[r].address;
            n += trip - runners[r].first < runners[r].count;
            runners[r].address += runners[r].advance;
        }
    *x += trips * by;
    return n;
}

size_t ll_stream_fill(struct ll_stream *stream, uint64_t *accesses, size_t room)
{
    uint32_t innermost = stream->nest->loop_count - 1;
    const uint64_t *x = &stream->x[stream->nest->loops[innermost].dim];
    size_t n = 0;
    assert(room >= 4 * LL_NEST_REFS);
    if (!stream->begun) {
        stream->begun = true;
        n = touch(stream, 0, false, accesses, n);
        n = enter(stream, 0, accesses, n);
    }
    while (!stream->done && room - n >= 3 * LL_NEST_REFS) {
        n = run(stream, accesses, n, room - LL_NEST_REFS);
        if (*x >= stream->end[innermost])
            n = step(stream, accesses, n);
    }
    return n;
}
