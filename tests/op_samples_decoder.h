/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops of networks that write one word after the other; see op_samples.h. */
#ifndef LL_TESTS_OP_SAMPLES_DECODER_H
#define LL_TESTS_OP_SAMPLES_DECODER_H

#include "op_sample.h"

/* Scores of a few positions, no more than there are keys, each of as many rows as there are groups. */
static inline void draw_causal(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    uint64_t keys = draw(state, 1, draw(state, 0, 3) ? 9 : 100), groups = draw(state, 1, 3);
    add_input(s, shape_of(dtype, 3, (uint64_t[]){draw(state, 1, 9), draw(state, 1, keys) * groups, keys}));
    add_attr(s, LL_ATTR_GROUPS, (int64_t)groups);
    add_real(s, LL_ATTR_SCALE, 0.75);
    if (draw(state, 0, 1))
        add_attr(s, LL_ATTR_AFTER, (int64_t)draw(state, 0, keys));
}

/* A box and a part of it. */
static inline void draw_put(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape all = draw_box(state, dtype), part = all;
    uint64_t axis = draw(state, 0, 2), begin = draw(state, 0, all.dim[axis]);
    part.dim[axis] = draw(state, 0, all.dim[axis] - begin);
    add_input(s, all);
    add_input(s, part);
    add_attr(s, LL_ATTR_AXIS, (int64_t)axis);
    add_attr(s, LL_ATTR_BEGIN, (int64_t)begin);
}

/* What dy, gate and x are; heads at positions; which of a few experts tokens choose. */
static inline void draw_decoder(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    struct ll_shape x = draw_box(state, dtype);
    if (s->view.kind == LL_OP_ROTARY) {
        x.dim[2] *= 2;
        add_attr(s, LL_ATTR_AXIS, (int64_t)draw(state, 0, 1));
        add_attr(s, LL_ATTR_BEGIN, (int64_t)draw(state, 0, 9));
        add_real(s, LL_ATTR_BASE, 100);
        add_real(s, LL_ATTR_SCALE, draw(state, 0, 1) ? -1 : 0.5);
    }
    if (s->view.kind == LL_OP_ROUTE) {
        x = shape_of(LL_I32, 2, (uint64_t[]){draw(state, 1, 40), draw(state, 1, 3)});
        add_attr(s, LL_ATTR_CLASSES, (int64_t)draw(state, 2, 5));
        add_attr(s, LL_ATTR_SIZE, (int64_t)draw(state, 1, 30));
    }
    for (int i = s->view.kind == LL_OP_SILU_MUL_GRAD ? 0 : 2; i < 3; i++)
        add_input(s, x);
}

/* Queries of a few positions, keys and values; their gradient's inputs go on with y and the sums. */
static inline void draw_attention(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    bool gradient = s->view.kind == LL_OP_CAUSAL_ATTENTION_GRAD;
    uint64_t keys = draw(state, 1, draw(state, 0, 3) ? 6 : 30), groups = draw(state, 1, 3);
    uint64_t rows = draw(state, 1, keys) * groups;
    struct ll_shape k = shape_of(dtype, 3, (uint64_t[]){draw(state, 1, 5), keys, draw(state, 1, 9)}), q = k,
                    v = k;
    v.dim[2] = draw(state, 1, 9);
    struct ll_shape y = v;
    q.dim[1] = y.dim[1] = rows;
    if (gradient)
        add_input(s, y);
    add_input(s, q);
    add_input(s, k);
    add_input(s, v);
    if (gradient) {
        add_input(s, y);
        add_input(s, shape_of(dtype, 2, q.dim));
    }
    add_attr(s, LL_ATTR_GROUPS, (int64_t)groups);
    add_real(s, LL_ATTR_SCALE, 0.25);
    if (draw(state, 0, 1))
        add_attr(s, LL_ATTR_WINDOW, (int64_t)draw(state, 0, 4));
}

/* Queries of a few heads and positions, and vectors of which a part is values. */
static inline void draw_latent(uint64_t *state, struct op_sample *s, enum ll_dtype dtype)
{
    const uint64_t batch = draw(state, 1, 2), tokens = draw(state, 1, 6), width = draw(state, 1, 9);
    add_input(s, shape_of(dtype, 4, (uint64_t[]){batch, draw(state, 1, 3), draw(state, 1, tokens), width}));
    add_input(s, shape_of(dtype, 3, (uint64_t[]){batch, tokens, width}));
    add_attr(s, LL_ATTR_SIZE, (int64_t)draw(state, 1, width));
    add_real(s, LL_ATTR_SCALE, 0.25);
}

/* Few sequences, positions, heads; heads of keys are a divisor of them. A gradient's inputs begin with dy. */
static inline void draw_scan(uint64_t *state, struct op_sample *s, enum ll_dtype dtype, bool gradient)
{
    const uint64_t batch = draw(state, 1, 2), rows = batch * draw(state, 1, 4), keys = draw(state, 1, 2),
                   heads = keys * draw(state, 1, 2), d = draw(state, 1, 3), e = draw(state, 1, 3);
    const uint64_t widths[] = {heads, 2 * heads, heads * (d + 1)};
    if (gradient)
        add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, heads * e}));
    add_input(s, shape_of(dtype, 4, (uint64_t[]){batch, heads, d, e}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, keys * d}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, keys * d}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, heads * e}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, widths[draw(state, 0, 2)]}));
}

static inline void draw_causal_conv(uint64_t *state, struct op_sample *s, enum ll_dtype dtype, bool gradient)
{
    const uint64_t batch = draw(state, 1, 3), rows = batch * draw(state, 1, 5), taps = draw(state, 2, 4),
                   channels = draw(state, 1, 4);
    if (gradient)
        add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, channels}));
    add_input(s, shape_of(dtype, 3, (uint64_t[]){batch, taps - 1, channels}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){rows, channels}));
    add_input(s, shape_of(dtype, 2, (uint64_t[]){taps, channels}));
    if (draw(state, 0, 1))
        add_input(s, shape_of(dtype, 1, &channels));
}

#endif
