/* SPDX-License-Identifier: Apache-2.0 */
#include "models/frontier/cells.h"

#include "models/nn/formula.h"

struct ll_value *ll_tf_dropout(struct ll_nn *nn, struct ll_chance *chance, struct ll_value *x, double keep)
{
    struct ll_value *drawn = ll_random_uniform(nn, chance, &x->shape), *share = ll_constant(nn, "keep", keep);
    struct ll_value *least = ll_constant(nn, "least", 0), *range = ll_constant(nn, "range", 1);
    struct ll_value *in_range = ll_add_of(nn, ll_mul_of(nn, drawn, range), least);
    struct ll_value *mask = ll_nn_do1(nn, LL_OP_FLOOR, ll_add_of(nn, share, in_range));
    return ll_mul_of(nn, ll_div_of(nn, x, share), mask);
}

struct ll_value *ll_tf_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                 struct ll_value *counts, struct ll_value *zeros, struct ll_lstm_state *state)
{
    struct ll_lstm_state after = ll_lstm_step(nn, lstm, x, *state);
    struct ll_value *output = ll_select(nn, counts, after.h, zeros);
    state->c = ll_select(nn, counts, after.c, state->c);
    state->h = ll_select(nn, counts, after.h, state->h);
    return output;
}

struct ll_value *ll_tf_packed_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value **state)
{
    struct ll_value *const *parts = ll_parted(nn, *state, 1, 2);
    struct ll_lstm_state after = ll_lstm_step(nn, lstm, x, (struct ll_lstm_state){parts[0], parts[1]});
    *state = ll_joined(nn, (struct ll_value *[]){after.c, after.h}, 2, 1);
    return after.h;
}

struct ll_value *ll_tf_packed_lstm_stop(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value *counts, struct ll_value *zeros,
                                        struct ll_value **state)
{
    struct ll_value *after = *state, *h = ll_tf_packed_lstm_step(nn, lstm, x, &after);
    *state = ll_select(nn, counts, after, *state);
    return ll_select(nn, counts, h, zeros);
}

struct ll_value *ll_tf_tensordot(struct ll_nn *nn, struct ll_value *x, struct ll_value *matrix)
{
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape whole = x->shape, rows = {.rank = 2, .dtype = x->shape.dtype};
    const unsigned last = x->shape.rank - 1u;
    rows.dim[1] = x->shape.dim[last];
    rows.role[1] = x->shape.role[last];
    rows.dim[0] = ll_elements(&x->shape) / rows.dim[1];
    whole.dim[last] = matrix->shape.dim[1];
    whole.role[last] = matrix->shape.role[1];
    x = ll_seen_as(nn, ll_transposed(nn, x, 12), &rows);
    matrix = ll_seen_as(nn, ll_transposed(nn, matrix, 1), &matrix->shape);
    struct ll_value *product = ll_nn_do2(nn, LL_OP_MATMUL, x, matrix);
    return ll_seen_as(nn, product, &whole);
}
