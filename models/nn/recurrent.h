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
};
struct ll_lstm_state {
    struct ll_value *c, *h;
};

/* Makes the weights "NAME/weights" and "NAME/biases". */
struct ll_lstm ll_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                             struct ll_init init);

/* One step, 14 ops under the layer's name: x is the layer's input, the result the state after it, of which h
 * is the output. */
struct ll_lstm_state ll_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                  struct ll_lstm_state state);

#endif
