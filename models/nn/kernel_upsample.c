/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels that become blocks of their kind, and blocks that become their sum. */
#include "models/nn/kernel.h"

#include <string.h>

struct blocks {
    const real *x;
    real *out;
    uint64_t small_w, channels, high, wide;
};

static struct blocks blocks_of(const struct ll_kernel_call *call, const struct ll_shape *small)
{
    return (struct blocks){
        .x = call->in[0],
        .out = call->out[0],
        .small_w = small->dim[2],
        .channels = small->dim[3],
        .high = (uint64_t)ll_attr_count(call->op, LL_ATTR_KERNEL_H, 1),
        .wide = (uint64_t)ll_attr_count(call->op, LL_ATTR_KERNEL_W, 1),
    };
}

/* Chunk: lines of the small images. */
static void enlarge_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct blocks *b = context;
    const size_t pixel = b->channels * sizeof(real), line = b->small_w * b->wide * b->channels;
    for (uint64_t y = begin; y < end; y++) {
        real *first = b->out + y * b->high * line;
        for (uint64_t x = 0; x < b->small_w * b->wide; x++)
            memcpy(first + x * b->channels, b->x + (y * b->small_w + x / b->wide) * b->channels, pixel);
        for (uint64_t more = 1; more < b->high; more++)
            memcpy(first + more * line, first, line * sizeof(real));
    }
}

LL_KERNEL(UPSAMPLE)
{
    struct blocks b = blocks_of(call, &call->op->in[0]);
    ll_pool_run(call->pool, call->op->in[0].dim[0] * call->op->in[0].dim[1], 1, enlarge_lines, &b);
}

LL_INLINE void add_pixel(const real *restrict x, real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += x[c];
}

/* Chunk: lines of the small images. */
LL_FAST static void sum_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct blocks *b = context;
    const uint64_t large_w = b->small_w * b->wide;
    for (uint64_t y = begin; y < end; y++) {
        real *sums = b->out + y * b->small_w * b->channels;
        memset(sums, 0, b->small_w * b->channels * sizeof *sums);
        for (uint64_t line = y * b->high; line < (y + 1) * b->high; line++)
            for (uint64_t x = 0; x < large_w; x++)
                add_pixel(b->x + (line * large_w + x) * b->channels, sums + x / b->wide * b->channels,
                          b->channels);
    }
}

LL_KERNEL(UPSAMPLE_GRAD)
{
    struct blocks b = blocks_of(call, &call->op->out[0]);
    ll_pool_run(call->pool, call->op->out[0].dim[0] * call->op->out[0].dim[1], 1, sum_lines, &b);
}
