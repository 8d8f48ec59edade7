/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of transformer.c: its layers, and the two ways through them. */
#ifndef LL_TBD_TRANSFORMER_H
#define LL_TBD_TRANSFORMER_H

#include "models/nn/nn.h"
#include "models/tbd/translation.h"

struct ll_transformer_sizes {
    uint64_t vocabulary, hidden, filter, layers, heads;
    double dropout;
    bool paper; /* no biases in attention, nothing that tells the target language */
};

struct ll_transformer_call {
    struct ll_transformer_sizes sizes;
    struct ll_translation *translation;
    enum ll_data_part part; /* sentences that are learned from, or held back */
    struct ll_rng *rng;     /* NULL: nothing is dropped */
};

/* Adds the forward pass on whole sentences, each word of the translation knowing the right ones before it:
 * the logits [batch target_steps, vocabulary]. */
struct ll_value *ll_transformer_teach(struct ll_nn *nn, const struct ll_transformer_call *call);

/* Adds the translation by beam search: the beam has its width and everything after that. The result is the
 * score of the best. */
struct ll_value *ll_transformer_search(struct ll_nn *nn, const struct ll_transformer_call *call,
                                       struct ll_beam *beam);

/* One layer that reads, for tests: x[batch, steps, hidden] to the same, a bias to hide steps or NULL. */
struct ll_value *ll_transformer_encoder_layer(struct ll_nn *nn, const char *name,
                                              const struct ll_transformer_sizes *sizes, struct ll_value *x,
                                              struct ll_value *bias);

#endif
