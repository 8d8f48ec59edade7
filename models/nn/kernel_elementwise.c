/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element, where the inputs are neither one nor two of a kind. */
#include "models/nn/kernel.h"

#include <assert.h>
#include <string.h>

enum { GRAIN = 1 << 16, BLOCK = 1 << 10 };

/* Chunk: rows of the first input, each times its factor. */
LL_FAST static void scale_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t length = ll_elements(&call->op->in[0]) / call->op->in[0].dim[0];
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * length, scale = ((const real *)call->in[1])[row];
        real *restrict out = (real *)call->out[0] + row * length;
        for (uint64_t i = 0; i < length; i++)
            out[i] = x[i] * scale;
    }
}

LL_KERNEL(SOFTMAX_XENT_GRAD)
{
    struct ll_kernel_call job = *call;
    uint64_t rows = call->op->in[0].dim[0], length = rows ? ll_elements(&call->op->in[0]) / rows : 0;
    ll_pool_run(call->pool, rows, ll_max(1, GRAIN / ll_max(1, length)), scale_rows, &job);
}

/* A block at a time, so that the sum stays near. */
LL_FAST static void add_all(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    for (uint64_t at = begin, count; at < end; at += count) {
        real *restrict out = (real *)call->out[0] + at;
        count = ll_min(end - at, BLOCK);
        memcpy(out, (const real *)call->in[0] + at, count * sizeof *out);
        for (uint32_t k = 1; k < call->op->input_count; k++) {
            const real *x = (const real *)call->in[k] + at;
            for (uint64_t i = 0; i < count; i++)
                out[i] += x[i];
        }
    }
}

LL_KERNEL(ADD_N)
{
    struct ll_kernel_call job = *call;
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, add_all, &job);
}

LL_FAST static void choose(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const uint8_t *condition = call->in[0];
    const real *a = call->in[1], *b = call->in[2];
    real *restrict out = call->out[0];
    for (uint64_t i = begin; i < end; i++) {
        const real x = a[i], y = b[i];
        out[i] = condition[i] ? x : y;
    }
}

/* Chunk: elements of rows, each of which has one condition. */
static void choose_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const uint64_t row = ll_elements(&call->op->out[0]) / ll_elements(&call->op->in[0]);
    const uint8_t *condition = call->in[0];
    real *out = call->out[0];
    for (uint64_t i = begin, count; i < end; i += count) {
        count = ll_min(end - i, row - i % row);
        memcpy(out + i, (const real *)call->in[condition[i / row] ? 1 : 2] + i, count * sizeof *out);
    }
}

LL_KERNEL(SELECT)
{
    struct ll_kernel_call job = *call;
    bool by_rows = call->op->in[0].rank < call->op->in[1].rank;
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, by_rows ? choose_rows : choose, &job);
}

/* Chunk: elements that become real. */
LL_FAST static void cast(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    real *restrict out = call->out[0];
    if (call->op->in[0].dtype == call->op->out[0].dtype) {
        memcpy(&out[begin], (const real *)call->in[0] + begin, (end - begin) * sizeof *out);
        return;
    }
    for (uint64_t i = begin; i < end; i++)
        out[i] = call->op->in[0].dtype == LL_I32 ? (real)((const int32_t *)call->in[0])[i]
                                                 : (real)((const uint8_t *)call->in[0])[i];
}

LL_KERNEL(CAST)
{
    struct ll_kernel_call job = *call;
    assert(call->op->in[0].dtype == LL_I32 || call->op->in[0].dtype == LL_BOOL ||
           call->op->in[0].dtype == LL_U8 || call->op->in[0].dtype == call->op->out[0].dtype);
    assert(ll_size_bytes(&call->op->out[0]) == ll_elements(&call->op->in[0]) * sizeof(real));
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, cast, &job);
}

LL_KERNEL(RESHAPE)
{
    assert(call->out[0] == call->in[0]);
    (void)call;
}
