/* SPDX-License-Identifier: Apache-2.0 */
/* A recurrent layer, as many features in as out, over a sequence. What the input brings to the gates is one
 * product over all steps; then, step after step, the state's part is added:
 *
 *   rnn    h' = tanh(x W + b + h R)
 *   lstm   i, j, f, o = x W + b + h R     c' = c s(f) + s(i) tanh(j)     h' = tanh(c') s(o)
 *   gru    z, r, n = x W + b              z = s(z + h Rz)    r = s(r + h Rr)    n = tanh(n + r (h Rn))
 *          h' = n + z (h - n)
 *
 * with s the sigmoid (Cho et al., 2014, the reset gate behind the product, as cuDNN has it). FLOPs of the
 * products: 2 steps batch hidden (gates hidden) times two, or once with skip_input, where the input is taken
 * as it comes, the same for each gate. */
#include "models/nn/formula.h"
#include "models/single/single.h"

enum { HIDDEN, BATCH, STEPS, SKIP_INPUT, DTYPE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [HIDDEN] = {"hidden", 512, 1, 1 << 24, "features of the input and of the state"},
    [BATCH] = {"batch", 32, 1, 1 << 30, "sequences"},
    [STEPS] = {"steps", 25, 1, 1 << 15, "length of a sequence"},
    [SKIP_INPUT] = {"skip_input", 0, 0, 1, "1: no product of the input; it is added as it comes"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_single_dtypes};

struct cell {
    struct ll_nn *nn;
    struct ll_value *h, *c, *recurrent;
};

typedef void advance_rule(struct cell *cell, struct ll_value *x);

static struct ll_value *sigmoid(const struct cell *cell, struct ll_value *x)
{
    return ll_nn_do1(cell->nn, LL_OP_SIGMOID, x);
}

static struct ll_value *tanh_of(const struct cell *cell, struct ll_value *x)
{
    return ll_nn_do1(cell->nn, LL_OP_TANH, x);
}

static struct ll_value *from_state(const struct cell *cell)
{
    return ll_nn_do2(cell->nn, LL_OP_MATMUL, cell->h, cell->recurrent);
}

static void advance_rnn(struct cell *cell, struct ll_value *x)
{
    cell->h = tanh_of(cell, ll_add_of(cell->nn, x, from_state(cell)));
}

static void advance_lstm(struct cell *cell, struct ll_value *x)
{
    struct ll_nn *nn = cell->nn;
    struct ll_value *const *gates = ll_parted(nn, ll_add_of(nn, x, from_state(cell)), 1, 4);
    struct ll_value *content = tanh_of(cell, gates[1]);
    struct ll_value *new = ll_mul_of(nn, sigmoid(cell, gates[0]), content);
    cell->c = ll_add_of(nn, ll_mul_of(nn, cell->c, sigmoid(cell, gates[2])), new);
    struct ll_value *shown = sigmoid(cell, gates[3]);
    cell->h = ll_mul_of(nn, tanh_of(cell, cell->c), shown);
}

static void advance_gru(struct cell *cell, struct ll_value *x)
{
    struct ll_nn *nn = cell->nn;
    struct ll_value *const *in = ll_parted(nn, x, 1, 3);
    struct ll_value *const *of = ll_parted(nn, from_state(cell), 1, 3);
    struct ll_value *z = sigmoid(cell, ll_add_of(nn, in[0], of[0]));
    struct ll_value *r = sigmoid(cell, ll_add_of(nn, in[1], of[1]));
    struct ll_value *n = tanh_of(cell, ll_add_of(nn, in[2], ll_mul_of(nn, r, of[2])));
    cell->h = ll_add_of(nn, n, ll_mul_of(nn, z, ll_sub_of(nn, cell->h, n)));
}

/* What the input brings to the gates of each step: [steps, batch, gates hidden]. */
static struct ll_value *from_input(struct ll_single *single, uint64_t gates)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_nn *nn = single->nn;
    uint64_t hidden = ll_single_count(single, HIDDEN), steps = ll_single_count(single, STEPS);
    uint64_t batch = single->build->batch, all = ll_mul(gates, hidden);
    bool skip = single->build->params[SKIP_INPUT] != 0;
    struct ll_value *x =
        ll_single_operand(single, "input", LL_INPUT, 2, (uint64_t[]){ll_mul(steps, batch), hidden}, roles);
    struct ll_value *parts[] = {x, x, x, x};
    if (skip)
        x = gates == 1 ? x : ll_joined(nn, parts, (uint32_t)gates, 1);
    else
        x = ll_nn_do2(nn, LL_OP_MATMUL, x,
                      ll_single_operand(single, "weights", LL_WEIGHT, 2, (uint64_t[]){hidden, all}, NULL));
    struct ll_value *biases = ll_single_operand(single, "biases", LL_WEIGHT, 1, &all, NULL);
    struct ll_shape sequence = ll_nn_shape(nn, 3, (uint64_t[]){steps, batch, all},
                                           (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    return ll_seen_as(nn, ll_nn_do2(nn, LL_OP_BIAS_ADD, x, biases), &sequence);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build, uint64_t gates,
                              advance_rule *advance)
{
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    uint64_t hidden = (uint64_t)build->params[HIDDEN], steps = (uint64_t)build->params[STEPS];
    struct ll_value **x = ll_unstacked(nn, from_input(&single, gates));
    struct ll_shape state = ll_nn_shape(nn, 2, (uint64_t[]){build->batch, hidden},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct cell cell = {.nn = nn, .h = ll_zeros(nn, &state), .c = ll_zeros(nn, &state)};
    cell.recurrent = ll_single_operand(&single, "recurrent", LL_WEIGHT, 2,
                                       (uint64_t[]){hidden, ll_mul(gates, hidden)}, NULL);
    struct ll_value **states = ll_alloc(&nn->arena, steps, sizeof(struct ll_value *));
    if (!x || !states) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < steps; i++) {
        advance(&cell, x[i]);
        states[i] = cell.h;
    }
    return ll_single_end(&single, ll_stacked(nn, states, (uint32_t)steps));
}

static struct ll_value *build_rnn(struct ll_nn *nn, const struct ll_build *b)
{
    return build(nn, b, 1, advance_rnn);
}

static struct ll_value *build_lstm(struct ll_nn *nn, const struct ll_build *b)
{
    return build(nn, b, 4, advance_lstm);
}

static struct ll_value *build_gru(struct ll_nn *nn, const struct ll_build *b)
{
    return build(nn, b, 3, advance_gru);
}

const struct ll_model ll_model_rnn = {
    .name = "rnn",
    .suite = "micro",
    .doc = "one plain recurrent layer",
    .default_batch = 32,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "batch",
    .infers = true,
    .build = build_rnn,
};

const struct ll_model ll_model_lstm = {
    .name = "lstm",
    .suite = "micro",
    .doc = "one LSTM layer",
    .default_batch = 32,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "batch",
    .infers = true,
    .build = build_lstm,
};

const struct ll_model ll_model_gru = {
    .name = "gru",
    .suite = "micro",
    .doc = "one GRU layer",
    .default_batch = 32,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "batch",
    .infers = true,
    .build = build_gru,
};
