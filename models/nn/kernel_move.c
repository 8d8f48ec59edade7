/* SPDX-License-Identifier: Apache-2.0 */
/* Joining, cutting and padding along one dimension. Seen as [outer, axis, inner], all of it is copying runs
 * of `axis x inner` elements between places that are a whole row apart. Elements may be of any type. */
#include "models/nn/kernel.h"

#include <assert.h>
#include <string.h>

enum { GRAIN_BYTES = 1 << 18 };

/* One run for each outer index; NULL as source: zeros. */
struct runs {
    const char *from;
    char *to;
    uint64_t from_step, to_step, bytes;
};

static void copy_runs(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct runs *r = context;
    for (uint64_t i = begin; i < end; i++)
        if (r->from)
            memcpy(r->to + i * r->to_step, r->from + i * r->from_step, r->bytes);
        else
            memset(r->to + i * r->to_step, 0, r->bytes);
}

static void move(const struct ll_kernel_call *call, uint64_t outer, struct runs runs)
{
    if (runs.bytes > 0)
        ll_pool_run(call->pool, outer, ll_max(1, GRAIN_BYTES / runs.bytes), copy_runs, &runs);
}

/* The dimensions before the axis, and the bytes of one step along it and of a whole row. */
struct layout {
    uint64_t outer, step, row;
};

static struct layout layout_of(const struct ll_shape *shape, uint64_t axis)
{
    struct layout layout = {1, ll_dtype_bytes((enum ll_dtype)shape->dtype), 0};
    for (uint64_t i = 0; i < shape->rank; i++)
        *(i < axis ? &layout.outer : &layout.step) *= i == axis ? 1 : shape->dim[i];
    layout.row = layout.step * shape->dim[axis];
    return layout;
}

static uint64_t axis_of(const struct ll_op_view *op)
{
    return (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0);
}

LL_KERNEL(CONCAT)
{
    const struct ll_op_view *op = call->op;
    struct layout to = layout_of(&op->out[0], axis_of(op));
    char *at = call->out[0];
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint64_t bytes = layout_of(&op->in[i], axis_of(op)).row;
        move(call, to.outer, (struct runs){call->in[i], at, bytes, to.row, bytes});
        at += bytes;
    }
}

/* Chunk: rows of the result. */
static void copy_backward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const uint64_t rows = call->op->in[0].dim[0], bytes = ll_size_bytes(&call->op->in[0]) / rows;
    for (uint64_t i = begin; i < end; i++)
        memcpy((char *)call->out[0] + i * bytes, (const char *)call->in[0] + (rows - 1 - i) * bytes, bytes);
}

LL_KERNEL(REVERSE)
{
    struct ll_kernel_call job = *call;
    if (call->op->in[0].rank > 0)
        ll_pool_run(call->pool, call->op->in[0].dim[0], 1, copy_backward, &job);
}

LL_KERNEL(SPLIT)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[0], axis_of(op));
    uint64_t bytes = from.row / op->output_count;
    for (uint32_t i = 0; i < op->output_count; i++)
        move(call, from.outer,
             (struct runs){(const char *)call->in[0] + i * bytes, call->out[i], from.row, bytes, bytes});
}

LL_KERNEL(SLICE)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[0], axis_of(op)), to = layout_of(&op->out[0], axis_of(op));
    uint64_t begin = (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0) * from.step;
    move(call, to.outer,
         (struct runs){(const char *)call->in[0] + begin, call->out[0], from.row, to.row, to.row});
}

LL_KERNEL(PUT)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[1], axis_of(op)), to = layout_of(&op->in[0], axis_of(op));
    uint64_t begin = (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0) * to.step;
    move(call, to.outer,
         (struct runs){call->in[1], (char *)call->out[0] + begin, from.row, to.row, from.row});
}

LL_KERNEL(PAD)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[0], axis_of(op)), to = layout_of(&op->out[0], axis_of(op));
    uint64_t before = (uint64_t)ll_attr_count(op, LL_ATTR_BEFORE, 0) * to.step;
    char *out = call->out[0];
    move(call, to.outer, (struct runs){NULL, out, 0, to.row, before});
    move(call, to.outer, (struct runs){call->in[0], out + before, from.row, to.row, from.row});
    move(call, to.outer, (struct runs){NULL, out + before + from.row, 0, to.row, to.row - before - from.row});
}

/* Chunk: layers. */
static void put_layers(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t bytes = ll_size_bytes(&call->op->in[0]);
    for (uint64_t i = begin; i < end; i++)
        memcpy((char *)call->out[0] + i * bytes, call->in[i], bytes);
}

static void take_layers(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t bytes = ll_size_bytes(&call->op->out[0]);
    for (uint64_t i = begin; i < end; i++)
        memcpy(call->out[i], (const char *)call->in[0] + i * bytes, bytes);
}

LL_KERNEL(STACK)
{
    struct ll_kernel_call job = *call;
    uint64_t bytes = ll_size_bytes(&call->op->in[0]);
    ll_pool_run(call->pool, call->op->input_count, ll_max(1, GRAIN_BYTES / ll_max(1, bytes)), put_layers,
                &job);
}

LL_KERNEL(UNSTACK)
{
    struct ll_kernel_call job = *call;
    uint64_t bytes = call->op->output_count ? ll_size_bytes(&call->op->out[0]) : 1;
    ll_pool_run(call->pool, call->op->output_count, ll_max(1, GRAIN_BYTES / ll_max(1, bytes)), take_layers,
                &job);
}

LL_KERNEL(ASSIGN)
{
    move(call, 1, (struct runs){call->in[1], call->out[0], 0, 0, ll_size_bytes(&call->op->out[0])});
}
