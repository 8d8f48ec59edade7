/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element, of one input or of two that match: a line a kind says what happens to an element. Where
 * there are two, x is what flows in and y what the forward op gave (a GELU's gradient: what it was given). */
#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

#include <math.h>

enum { GRAIN = 1 << 16 };

struct operands {
    const real *x, *y;
    real *out;
    real limit;
};

static void over_elements(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct operands operands = {.x = call->in[0],
                                .y = call->op->input_count > 1 ? call->in[1] : call->in[0],
                                .out = call->out[0],
                                .limit = (real)ll_attr_real(call->op, LL_ATTR_LIMIT, INFINITY)};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, body, &operands);
}

/* y is read in any case: a loop that reads it only sometimes has a branch. */
#define LL_ELEMENTWISE(WORD, result)                                                                         \
    LL_FAST static void loop_##WORD(void *context, uint64_t begin, uint64_t end, uint64_t chunk)             \
    {                                                                                                        \
        const struct operands *o = context;                                                                  \
        const real limit = o->limit, *xs = o->x, *ys = o->y;                                                 \
        real *restrict out = o->out;                                                                         \
        (void)chunk, (void)limit;                                                                            \
        for (uint64_t i = begin; i < end; i++) {                                                             \
            const real x = xs[i], y = ys[i];                                                                 \
            (void)x, (void)y;                                                                                \
            out[i] = result;                                                                                 \
        }                                                                                                    \
    }                                                                                                        \
    LL_KERNEL(WORD)                                                                                          \
    {                                                                                                        \
        over_elements(call, loop_##WORD);                                                                    \
    }

LL_ELEMENTWISE(NEG, -x)
LL_ELEMENTWISE(ABS, x < 0 ? -x : x)
LL_ELEMENTWISE(SIGN, x > 0 ? (real)1 : x < 0 ? (real)-1 : (real)0)
LL_ELEMENTWISE(FLOOR, (real)floor((double)x))
LL_ELEMENTWISE(SQUARE, x *x)
LL_ELEMENTWISE(SQRT, LL_SQRT(x))
LL_ELEMENTWISE(SQRT_GRAD, x / (2 * y))
LL_ELEMENTWISE(EXP, ll_exp(x))
LL_ELEMENTWISE(LOG, ll_log(x))
LL_ELEMENTWISE(SIGMOID, ll_sigmoid(x))
LL_ELEMENTWISE(SIGMOID_GRAD, x *y *(1 - y))
LL_ELEMENTWISE(TANH, ll_tanh(x))
LL_ELEMENTWISE(TANH_GRAD, x *(1 - y * y))
LL_ELEMENTWISE(GELU, x *ll_normal_below(x))
LL_ELEMENTWISE(GELU_GRAD, x *(ll_normal_below(y) + y * ll_normal_density(y)))
LL_ELEMENTWISE(RELU, x > 0 ? x : 0)
LL_ELEMENTWISE(RELU_GRAD, y > 0 ? x : 0)
LL_ELEMENTWISE(RELU_CLIPPED, x > 0 ? x < limit ? x : limit : 0)
LL_ELEMENTWISE(RELU_CLIPPED_GRAD, ((y > 0) & (y < limit)) ? x : 0)
LL_ELEMENTWISE(SMOOTH_L1, ((x < 0 ? -x : x) < limit) ? x *x / (2 * limit) : (x < 0 ? -x : x) - limit / 2)
LL_ELEMENTWISE(SMOOTH_L1_GRAD, x *((y < -limit) ? (real)-1 : (y > limit) ? (real)1 : y / limit))
