/* SPDX-License-Identifier: Apache-2.0 */
/* What the language models of Catamount (Hestness et al., 2019) have in common: words in, the words that
 * follow out, and between them layers whose steps are loops of a TensorFlow graph.
 *
 * Their graphs are TensorFlow's, op for op where anything of size is moved or computed (nn.h, as_tensorflow):
 * what Catamount counts of them follows from what is recorded (tracer/accounting.h). */
#ifndef LL_FRONTIER_LANGUAGE_H
#define LL_FRONTIER_LANGUAGE_H

#include "models/model.h"
#include "models/nn/nn.h"

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

/* Begins a network: the inputs, and embeddings of the words, [batch, steps, hidden]. */
struct ll_value *ll_language_begin(struct ll_language *language, struct ll_nn *nn,
                                   struct ll_language_sizes sizes);

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

/* What comes out of layers, x [batch, steps, hidden], times a matrix [hidden, width]: [batch, steps, width].
 * Its gradient is not clipped. */
struct ll_value *ll_language_project(struct ll_language *language, struct ll_value *x, uint64_t width);

/* The scores of all words at each step, [batch x steps, vocabulary]: x [batch, steps, width] times a matrix
 * [vocabulary, width], and a bias. */
struct ll_value *ll_language_scores(struct ll_language *language, struct ll_value *x);

/* The cross entropy of a word, and SGD with gradients clipped to a common norm: the loss. */
struct ll_value *ll_language_learn(struct ll_language *language, struct ll_value *scores, double rate);

#endif
