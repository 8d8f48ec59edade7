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

/* What the language models of Catamount (Hestness et al., 2019) have in common: words in, the words that
 * follow out, and between them layers whose steps are loops of a TensorFlow graph.
 *
 * Their graphs are TensorFlow's, op for op where anything of size is moved or computed (nn.h, as_tensorflow):
 * what Catamount counts of them follows from what is recorded (tracer/ir/profile.h). */

enum { LL_LANGUAGE_MOST_STATES = 32 };
struct ll_language_sizes {
    uint64_t batch, steps, vocabulary, hidden;
    uint32_t states; /* of all loops together */
};

/* What is made at the beginning and read at the end. */
struct ll_language {
    struct ll_nn *nn;
    struct ll_language_sizes sizes;
    struct ll_value *counter;
    struct ll_value *labels; /* [batch, steps] */
    struct ll_value *mask;   /* [batch x steps]: which labels count; NULL before it is asked for */
    struct ll_value *states[LL_LANGUAGE_MOST_STATES];
    uint32_t states_taken; /* by loops so far */
};

/* A loop over the steps of x [batch, steps, hidden]: its body, under the scope NAME/while, turns the step's
 * input [batch, hidden] and the states [batch, hidden] into the states after it, of which the last is its
 * output. States are fed from the host, as those of TensorFlow are. Result [batch, steps, hidden]. */
struct ll_language_loop {
    const char *name;
    uint32_t states;
    void (*body)(struct ll_nn *nn, const void *layer, struct ll_value *x, struct ll_value **states);
    const void *layer;
};
struct ll_value *ll_language_loop(struct ll_language *language, const struct ll_language_loop *loop,
                                  struct ll_value *x);

#endif
