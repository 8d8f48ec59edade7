/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of Catamount's loops are made of, in TensorFlow's ops.
 *
 * Each adds ops to the network's list and returns what they give, of x's type. Results belong to the
 * network; trouble, as shapes that do not fit, is kept there, and what is returned then is of rank 0 (nn.h).
 * One thread at a time. */
#ifndef LL_MODELS_FRONTIER_CATAMOUNT_H
#define LL_MODELS_FRONTIER_CATAMOUNT_H

#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"

/* A step of a cell whose state is one tensor [batch, 2 units], c and h side by side; x [batch, inputs].
 * Replaces the state, returns h [batch, units]. */
struct ll_value *ll_tf_packed_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value **state);

/* The same in a loop over sentences of several lengths: counts and zeros as of ll_tf_lstm_step. Replaces the
 * state, returns the output [batch, units]. */
struct ll_value *ll_tf_packed_lstm_stop(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                        struct ll_value *counts, struct ll_value *zeros,
                                        struct ll_value **state);

/* Scalars that TensorFlow keeps among its variables, and Catamount counts as parameters: one counts
 * steps, the other is the learning rate, which only the update reads. */

/* Makes the first and, where the rate is a variable, the second; returns the first. */
struct ll_value *ll_begin_counter(struct ll_nn *nn, bool rate);

/* The op that counts a step, in the update phase. */
void ll_count_step(struct ll_nn *nn, struct ll_value *counter);

#endif
