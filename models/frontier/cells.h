/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of Catamount's loops are made of, in TensorFlow's ops.
 *
 * Each adds ops to the network's list and returns what they give, of x's type. Results belong to the
 * network; trouble, as shapes that do not fit, is kept there, and what is returned then is of rank 0 (nn.h).
 * One thread at a time. */
#ifndef LL_FRONTIER_CELLS_H
#define LL_FRONTIER_CELLS_H

#include "models/nn/chance.h"
#include "models/nn/recurrent.h"

/* tf.nn.dropout, of x's shape, which leaves a share `keep` of the elements, above 0 and at most 1: x over
 * keep, times what is rounded down of keep and a number from 0 to 1. */
struct ll_value *ll_tf_dropout(struct ll_nn *nn, struct ll_chance *chance, struct ll_value *x, double keep);

/* A step of dynamic_rnn for sentences of several lengths, x [batch, inputs]: where `counts` [batch] holds, a
 * step of the cell, elsewhere zeros as output and the state as it was. Zeros are the loop's own, [batch,
 * units]. Replaces the state, returns the output. */
struct ll_value *ll_tf_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                 struct ll_value *counts, struct ll_value *zeros,
                                 struct ll_lstm_state *state);

/* A step of a cell whose state is one tensor [batch, 2 units], c and h side by side; x [batch, inputs].
 * Replaces the state, returns h [batch, units]. */
struct ll_value *ll_tf_packed_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value **state);

/* The same in a loop over sentences of several lengths: counts and zeros as of ll_tf_lstm_step. Replaces the
 * state, returns the output [batch, units]. */
struct ll_value *ll_tf_packed_lstm_stop(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value *counts, struct ll_value *zeros,
                                        struct ll_value **state);

/* tf.tensordot: x [batch, steps, inputs] times a matrix [inputs, units], both transposed first although they
 * stay as they are. [batch, steps, units]. */
struct ll_value *ll_tf_tensordot(struct ll_nn *nn, struct ll_value *x, struct ll_value *matrix);

#endif
