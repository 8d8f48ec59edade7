/* SPDX-License-Identifier: Apache-2.0 */
/* What recurrent networks repeat at every step of a sequence: weights are made once, applied often.
 *
 * A layer belongs to the program in which it was made. Activations are [batch, features]. */
#ifndef LL_NN_RECURRENT_H
#define LL_NN_RECURRENT_H

#include "models/nn/nn.h"

/* The products of several inputs with one matrix, and a bias: [x1 x2 ...] W + b, concatenated first, as
 * TensorFlow's `linear` of 2016. */
struct ll_linear {
    struct ll_value *weights, *biases;
};

/* Makes "NAME/weights" [inputs, units] and "NAME/biases", which start at zero. */
struct ll_linear ll_linear_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                 struct ll_init init);

/* Adds the ops to the current scope: concat (of more than one input), matmul, bias_add. */
struct ll_value *ll_linear_apply(struct ll_nn *nn, const struct ll_linear *linear, uint32_t count,
                                 struct ll_value *const *inputs);

/* A long short-term memory (Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000) as
 * TensorFlow's BasicLSTMCell: no peepholes, gates in the order input, candidate, forget, output,
 *
 *     c' = c sigmoid(f + 1) + sigmoid(i) tanh(j)          h' = tanh(c') sigmoid(o)                     */
struct ll_lstm {
    const char *name;
    struct ll_linear gates; /* [inputs + units, 4 units] */
    bool unbiased;          /* nothing is added to the forget gate: sigmoid(f) */
};
struct ll_lstm_state {
    struct ll_value *c, *h;
};

/* Makes the weights "NAME/weights" and "NAME/biases". */
struct ll_lstm ll_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                             struct ll_init init);

/* One step, 14 ops, or 13 of an unbiased one, under the layer's name: x is the layer's input, the result the
 * state after it, of which h is the output. */
struct ll_lstm_state ll_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                  struct ll_lstm_state state);

/* A long short-term memory as MXNet's LSTMCell: input and state have products and biases of their own, gates
 * in the order input, forget, candidate, output; the forget gate's one more is its input bias' first value.
 */
struct ll_split_lstm {
    const char *name;
    struct ll_linear input, state; /* [inputs, 4 units], [units, 4 units] */
};

/* Makes the weights "NAME/i2h/..." and "NAME/h2h/...". */
struct ll_split_lstm ll_split_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                         struct ll_init init);

/* One step, 15 ops. */
struct ll_lstm_state ll_split_lstm_step(struct ll_nn *nn, const struct ll_split_lstm *lstm,
                                        struct ll_value *x, struct ll_lstm_state state);

/* A gated recurrent unit (Cho et al., 2014) as MXNet's GRUCell, without the products of its input, which can
 * be taken of a whole sequence at once:
 *
 *     [r u] = sigmoid(input_gates + h G + b)       c = tanh(input_candidate + (r h) C + b)
 *     h' = h + u (c - h)                                                                               */
struct ll_gru {
    const char *name;
    struct ll_linear gates, candidate; /* of the state: [units, 2 units], [units, units] */
};

/* Makes the weights "NAME/gates_h2h/..." and "NAME/candidate_h2h/...". */
struct ll_gru ll_gru_begin(struct ll_nn *nn, const char *name, uint64_t units, struct ll_init init);

/* One step, 13 ops: the state after it. Inputs are [batch, 2 units] and [batch, units], biases included. */
struct ll_value *ll_gru_step(struct ll_nn *nn, const struct ll_gru *gru, struct ll_value *input_gates,
                             struct ll_value *input_candidate, struct ll_value *h);

#endif
