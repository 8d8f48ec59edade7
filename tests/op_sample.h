/* SPDX-License-Identifier: Apache-2.0 */
/* A random op in the making; see op_samples.h. */
#ifndef LL_TESTS_OP_SAMPLE_H
#define LL_TESTS_OP_SAMPLE_H

#include "random.h"

#include "tracer/ir/ops.h"

#include <assert.h>
#include <string.h>

enum { SAMPLE_INPUTS = 8 };

struct op_sample {
    struct ll_shape in[SAMPLE_INPUTS], out[LL_MAX_OUTPUTS];
    struct ll_attr attrs[LL_MAX_ATTRS];
    struct ll_op_view view; /* points into the above */
};

static inline uint64_t draw(uint64_t *state, uint64_t low, uint64_t high)
{
    return low + ll_random_below(state, high - low + 1);
}

static inline struct ll_shape shape_of(enum ll_dtype dtype, unsigned rank, const uint64_t *dims)
{
    struct ll_shape shape = {.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
    memcpy(shape.dim, dims, rank * sizeof *dims);
    return shape;
}

static inline void add_attr(struct op_sample *s, enum ll_attr_key key, int64_t count)
{
    s->attrs[s->view.attr_count++] = (struct ll_attr){.key = key, .count = count};
}

static inline void add_real(struct op_sample *s, enum ll_attr_key key, double value)
{
    s->attrs[s->view.attr_count++] = (struct ll_attr){.key = key, .real = value};
}

static inline void add_input(struct op_sample *s, struct ll_shape shape)
{
    s->in[s->view.input_count++] = shape;
}

/* Whether the kind's row has this word for its shape rule. */
static inline bool shape_word(enum ll_op_kind kind, const char *word)
{
    return strcmp(ll_op_words(kind).shape, word) == 0;
}

/* Three dimensions, odd sizes, now and then large; an axis of them. */
static inline struct ll_shape draw_box(uint64_t *state, enum ll_dtype dtype)
{
    uint64_t most = draw(state, 0, 3) ? 9 : 70;
    return shape_of(dtype, 3, (uint64_t[]){draw(state, 1, most), draw(state, 1, most), draw(state, 1, most)});
}

#endif
