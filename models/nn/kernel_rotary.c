/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions (Su et al., 2021; the halves of a head are the pairs, as in Llama): at position p the
 * features i and i + d / 2 of a head are turned by the angle scale p base^(-2 i / d). */
#include "models/nn/kernel.h"

#include <math.h>

enum { GRAIN = 1 << 12 };

struct turned {
    const real *x;
    real *y;
    uint64_t positions, heads, features, begin; /* heads: of a position */
    double base, scale;
};

/* Chunk: positions of all samples. */
static void turn(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct turned *t = context;
    const uint64_t half = t->features / 2;
    for (uint64_t n = begin; n < end; n++) {
        const double position = t->scale * (double)(t->begin + n % t->positions);
        const real *x = t->x + n * t->heads * t->features;
        real *y = t->y + n * t->heads * t->features;
        for (uint64_t i = 0; i < half; i++) {
            const double angle = position * pow(t->base, -2 * (double)i / (double)t->features);
            const real c = (real)cos(angle), s = (real)sin(angle);
            for (uint64_t at = i; at < t->heads * t->features; at += t->features) {
                y[at] = x[at] * c - x[at + half] * s;
                y[at + half] = x[at + half] * c + x[at] * s;
            }
        }
    }
}

LL_KERNEL(ROTARY)
{
    const struct ll_shape *x = &call->op->in[0];
    const uint64_t axis = (uint64_t)ll_attr_count(call->op, LL_ATTR_AXIS, 0);
    uint64_t outer = 1, heads = 1;
    for (uint64_t i = 0; i + 1 < x->rank; i++)
        *(i <= axis ? &outer : &heads) *= x->dim[i];
    struct turned t = {
        .x = call->in[0],
        .y = call->out[0],
        .positions = x->dim[axis],
        .heads = heads,
        .features = x->dim[x->rank - 1],
        .begin = (uint64_t)ll_attr_count(call->op, LL_ATTR_BEGIN, 0),
        .base = ll_attr_real(call->op, LL_ATTR_BASE, 10000),
        .scale = ll_attr_real(call->op, LL_ATTR_SCALE, 1),
    };
    ll_pool_run(call->pool, outer, ll_max(1, GRAIN / ll_max(1, heads * t.features)), turn, &t);
}
