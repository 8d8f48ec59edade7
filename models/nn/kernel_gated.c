/* SPDX-License-Identifier: Apache-2.0 */
/* Gated activations (Shazeer, 2020) with the SiLU, s(g) being the logistic function:
 *
 *     y = g s(g) x        dx = dy g s(g)        dg = dy x s(g) (1 + g (1 - s(g)))                          */
#include "models/nn/elementary.h"

enum { GRAIN = 1 << 15 };

struct gated {
    const real *dy, *gate, *x;
    real *out, *dx; /* out: y, or what flows into the gate */
};

LL_FAST static void forward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct gated *o = context;
    const real *gate = o->gate, *x = o->x;
    real *restrict y = o->out;
    for (uint64_t i = begin; i < end; i++)
        y[i] = gate[i] * ll_sigmoid(gate[i]) * x[i];
}

LL_KERNEL(SILU_MUL)
{
    struct gated operands = {.gate = call->in[0], .x = call->in[1], .out = call->out[0]};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, forward, &operands);
}

LL_FAST static void backward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct gated *o = context;
    const real *dy = o->dy, *gate = o->gate, *x = o->x;
    real *restrict dgate = o->out, *restrict dx = o->dx;
    for (uint64_t i = begin; i < end; i++) {
        const real g = gate[i], s = ll_sigmoid(g);
        dx[i] = dy[i] * (g * s);
        dgate[i] = dy[i] * x[i] * s * (1 + g * (1 - s));
    }
}

LL_KERNEL(SILU_MUL_GRAD)
{
    struct gated operands = {
        .dy = call->in[0], .gate = call->in[1], .x = call->in[2], .out = call->out[0], .dx = call->out[1]};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, backward, &operands);
}
