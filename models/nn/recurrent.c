/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/recurrent.h"

#include "models/nn/formula.h"

struct ll_linear ll_linear_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                 struct ll_init init)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};
    struct ll_shape weights = ll_nn_shape(nn, 2, (uint64_t[]){inputs, units}, roles);
    struct ll_shape biases = ll_nn_shape(nn, 1, &units, roles);
    ll_nn_push(nn, name);
    struct ll_linear linear = {ll_nn_weight(nn, "weights", &weights, init),
                               ll_nn_weight(nn, "biases", &biases, zero)};
    ll_nn_pop(nn);
    return linear;
}

struct ll_value *ll_linear_apply(struct ll_nn *nn, const struct ll_linear *linear, uint32_t count,
                                 struct ll_value *const *inputs)
{
    struct ll_value *x = count == 1 ? inputs[0] : ll_joined(nn, inputs, count, 1);
    return ll_nn_do2(nn, LL_OP_BIAS_ADD, ll_nn_do2(nn, LL_OP_MATMUL, x, linear->weights), linear->biases);
}

struct ll_lstm ll_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                             struct ll_init init)
{
    return (struct ll_lstm){name, ll_linear_begin(nn, name, inputs + units, 4 * units, init), false};
}

/* What a step's gates and content are made of. */
struct gates {
    struct ll_value *in, *forget, *content, *out;
};

/* c = c sigmoid(forget) + sigmoid(in) tanh(content) and h = tanh(c) sigmoid(out). */
static struct ll_lstm_state passed(struct ll_nn *nn, struct ll_lstm_state state, struct gates gates)
{
    struct ll_value *kept = ll_mul_of(nn, state.c, ll_nn_do1(nn, LL_OP_SIGMOID, gates.forget));
    struct ll_value *content = ll_nn_do1(nn, LL_OP_TANH, gates.content);
    struct ll_value *new = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_SIGMOID, gates.in), content);
    state.c = ll_add_of(nn, kept, new);
    struct ll_value *shown = ll_nn_do1(nn, LL_OP_SIGMOID, gates.out);
    state.h = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_TANH, state.c), shown);
    return state;
}

struct ll_lstm_state ll_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                  struct ll_lstm_state state)
{
    ll_nn_push(nn, lstm->name);
    struct ll_value *all = ll_linear_apply(nn, &lstm->gates, 2, (struct ll_value *[]){x, state.h});
    struct ll_value *const *part = ll_parted(nn, all, 1, 4);
    struct ll_value *forget = lstm->unbiased ? part[2] : ll_add_of(nn, part[2], ll_constant(nn, "one", 1));
    state = passed(nn, state,
                   (struct gates){.in = part[0], .content = part[1], .forget = forget, .out = part[3]});
    ll_nn_pop(nn);
    return state;
}

struct ll_split_lstm ll_split_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                         struct ll_init init)
{
    ll_nn_push(nn, name);
    struct ll_split_lstm lstm = {name, ll_linear_begin(nn, "i2h", inputs, 4 * units, init),
                                 ll_linear_begin(nn, "h2h", units, 4 * units, init)};
    ll_nn_pop(nn);
    return lstm;
}

struct ll_lstm_state ll_split_lstm_step(struct ll_nn *nn, const struct ll_split_lstm *lstm,
                                        struct ll_value *x, struct ll_lstm_state state)
{
    ll_nn_push(nn, lstm->name);
    struct ll_value *from_state = ll_linear_apply(nn, &lstm->state, 1, &state.h);
    struct ll_value *all = ll_add_of(nn, ll_linear_apply(nn, &lstm->input, 1, &x), from_state);
    struct ll_value *const *part = ll_parted(nn, all, 1, 4);
    state = passed(nn, state,
                   (struct gates){.in = part[0], .forget = part[1], .content = part[2], .out = part[3]});
    ll_nn_pop(nn);
    return state;
}

struct ll_gru ll_gru_begin(struct ll_nn *nn, const char *name, uint64_t units, struct ll_init init)
{
    ll_nn_push(nn, name);
    struct ll_gru gru = {name, ll_linear_begin(nn, "gates_h2h", units, 2 * units, init),
                         ll_linear_begin(nn, "candidate_h2h", units, units, init)};
    ll_nn_pop(nn);
    return gru;
}

struct ll_value *ll_gru_step(struct ll_nn *nn, const struct ll_gru *gru, struct ll_value *input_gates,
                             struct ll_value *input_candidate, struct ll_value *h)
{
    ll_nn_push(nn, gru->name);
    struct ll_value *both = ll_add_of(nn, input_gates, ll_linear_apply(nn, &gru->gates, 1, &h));
    struct ll_value *const *gates = ll_parted(nn, ll_nn_do1(nn, LL_OP_SIGMOID, both), 1, 2);
    struct ll_value *reset = ll_mul_of(nn, gates[0], h);
    struct ll_value *candidate = ll_nn_do1(
        nn, LL_OP_TANH, ll_add_of(nn, input_candidate, ll_linear_apply(nn, &gru->candidate, 1, &reset)));
    h = ll_add_of(nn, h, ll_mul_of(nn, gates[1], ll_sub_of(nn, candidate, h)));
    ll_nn_pop(nn);
    return h;
}
