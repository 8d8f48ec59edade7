/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element. */
#include "models/nn/kernel.h"

#include <assert.h>
#include <string.h>

enum { GRAIN = 1 << 14 };

/* What a loop over elements needs; `period` is the length of y, of a bias or of a row. */
struct operands {
    const real *x, *y;
    real *out;
    uint64_t period;
};

static struct operands operands_of(const struct ll_kernel_call *call)
{
    bool two = call->op->input_count > 1;
    return (struct operands){.x = call->in[0],
                             .y = two ? call->in[1] : NULL,
                             .out = call->out[0],
                             .period = two ? ll_max(1, ll_elements(&call->op->in[1])) : 1};
}

/* Runs a loop over all elements of the first output. */
static void over_elements(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct operands operands = operands_of(call);
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, body, &operands);
}

/* Runs a loop over the rows of the first input, each `period` long. */
static void over_rows(const struct ll_kernel_call *call, uint64_t period, ll_pool_body *body)
{
    struct operands operands = operands_of(call);
    operands.period = period;
    uint64_t rows = period ? ll_elements(&call->op->in[0]) / period : 0;
    ll_pool_run(call->pool, rows, ll_max(1, GRAIN / ll_max(1, period)), body, &operands);
}

LL_INLINE real sum_of(real x, real y)
{
    return x + y;
}

LL_INLINE real product_of(real x, real y)
{
    return x * y;
}

/* out = x op y, y starting anew after `period` elements. */
LL_INLINE void combine(const struct operands *o, uint64_t begin, uint64_t end, real (*op)(real, real))
{
    for (uint64_t i = begin, count; i < end; i += count) {
        uint64_t first = i % o->period;
        const real *x = o->x + i, *y = o->y + first;
        real *restrict out = o->out + i;
        count = o->period == 1 ? end - i : ll_min(end - i, o->period - first);
        if (o->period == 1)
            for (uint64_t j = 0; j < count; j++)
                out[j] = op(x[j], *y);
        else
            for (uint64_t j = 0; j < count; j++)
                out[j] = op(x[j], y[j]);
    }
}

LL_FAST static void add(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    combine(context, begin, end, sum_of);
}

LL_FAST static void mul(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    combine(context, begin, end, product_of);
}

LL_FAST static void relu(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct operands *o = context;
    const real *x = o->x;
    real *restrict out = o->out;
    for (uint64_t i = begin; i < end; i++)
        out[i] = x[i] > 0 ? x[i] : 0;
}

/* x is dy, y what relu gave. */
LL_FAST static void relu_grad(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct operands *o = context;
    const real *x = o->x, *y = o->y;
    real *restrict out = o->out;
    for (uint64_t i = begin; i < end; i++) {
        real flows = x[i]; /* read in any case, or the loop has a branch */
        out[i] = y[i] > 0 ? flows : 0;
    }
}

LL_FAST static void row_scale(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct operands *o = context;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = o->x + row * o->period, scale = o->y[row];
        real *restrict out = o->out + row * o->period;
        for (uint64_t i = 0; i < o->period; i++)
            out[i] = x[i] * scale;
    }
}

LL_KERNEL(ADD)
{
    over_elements(call, add);
}

LL_KERNEL(MUL)
{
    over_elements(call, mul);
}

LL_KERNEL(RELU)
{
    over_elements(call, relu);
}

LL_KERNEL(RELU_GRAD)
{
    over_elements(call, relu_grad);
}

LL_KERNEL(BIAS_ADD)
{
    over_elements(call, add);
}

LL_KERNEL(SOFTMAX_XENT_GRAD)
{
    over_rows(call, ll_elements(&call->op->in[0]) / call->op->in[0].dim[0], row_scale);
}

/* Element i of an index or of a real. */
static double element(const void *data, enum ll_dtype dtype, uint64_t i)
{
    switch (dtype) {
    case LL_I32:
        return ((const int32_t *)data)[i];
    case LL_BOOL:
        return ((const uint8_t *)data)[i];
    default:
        assert(dtype == (sizeof(real) == 4 ? LL_F32 : LL_F64));
        return (double)((const real *)data)[i];
    }
}

LL_KERNEL(EQUAL)
{
    const struct ll_shape *in = call->op->in;
    uint8_t *out = call->out[0];
    for (uint64_t i = 0; i < ll_elements(in); i++)
        out[i] = element(call->in[0], (enum ll_dtype)in[0].dtype, i) ==
                 element(call->in[1], (enum ll_dtype)in[1].dtype, i);
}

LL_KERNEL(CAST)
{
    const struct ll_shape *in = call->op->in;
    real *out = call->out[0];
    assert(ll_size_bytes(&call->op->out[0]) == ll_elements(in) * sizeof(real));
    for (uint64_t i = 0; i < ll_elements(in); i++)
        out[i] = (real)element(call->in[0], (enum ll_dtype)in[0].dtype, i);
}

LL_KERNEL(RESHAPE)
{
    assert(call->out[0] == call->in[0]);
    (void)call;
}
