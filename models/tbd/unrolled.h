/* SPDX-License-Identifier: Apache-2.0 */
/* What translators of recurrent layers share, one step after the other.
 *
 * Each function adds ops to the network, and weights that start anew unless the network shares them
 * (ll_nn_share). What is returned belongs to it, and trouble is kept there (nn.h). */
#ifndef LL_TBD_UNROLLED_H
#define LL_TBD_UNROLLED_H

#include "models/nn/nn.h"
#include "models/nn/optim.h"
#include "models/nn/layers.h"
#include "models/tbd/translation.h"

/* What a decoder of LSTM layers carries from word to word: their states, and what is read beside the next
 * word. */
enum { LL_MOST_DECODER_LAYERS = 16 };
struct ll_decoder_state {
    struct ll_lstm_state layers[LL_MOST_DECODER_LAYERS];
    struct ll_value *beside;
};

/* Settings of such a translator, in this order: words of each language; units of every layer, and how many
 * layers; steps read and written; percent of padding; hypotheses; Adam's rate in millionths; letters. */
enum { SOURCE_WORDS, TARGET_WORDS, HIDDEN, LAYERS, SOURCE, TARGET, PADDING, BEAM, RATE, LETTERS };

/* The model's build function: a translation of such sentences, time first. */
struct ll_value *ll_unrolled_build(struct ll_nn *nn, const struct ll_build *build,
                                   const struct ll_translator *translator);

/* Adds the update of all weights by Adam (Kingma and Ba, 2015) at the rate that is set, gradients clipped to
 * one, as `clip` has it. */
void ll_unrolled_minimise(struct ll_nn *nn, const struct ll_build *build, struct ll_value *loss,
                          enum ll_clip clip);

/* First contents of weights behind so many inputs: uniform, of variance one over them, so that a product
 * keeps the variance of what it reads (LeCun et al., Efficient BackProp, 1998, equation 16). Pure. */
struct ll_init ll_uniform_init(uint64_t inputs);

/* The weight "NAME" [words, features], first contents uniform between -1 and 1. */
struct ll_value *ll_word_embedding(struct ll_nn *nn, const char *name, uint64_t words, uint64_t features);

/* Word numbers [steps, batch] embedded: a matrix [batch, features] a step, as many as steps, in the network's
 * arena; NULL after trouble. */
struct ll_value **ll_embedded_steps(struct ll_nn *nn, struct ll_value *table, struct ll_value *words);

/* Steps [batch, features], `steps` of them, as [batch, steps, features]. */
struct ll_value *ll_as_memory(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps);

/* The same steps one below the other: rows [steps batch, features], those of the first step on top. */
struct ll_value *ll_as_rows(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps);

/* The state of the first so many layers, [batch, features] each, once for each hypothesis of a beam:
 * [batch width, features]; and in later steps that of the step before as its heirs have it. */
void ll_decoder_spread(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state,
                       uint64_t layers);
void ll_decoder_follow(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state,
                       uint64_t layers);

/* x[rows, inputs] times "NAME/weights" [inputs, units], without a bias: [rows, units]. */
struct ll_value *ll_product_with(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units);

/* Cross entropies of logits[steps batch, words] and the words that are to be written, time first, summed up
 * over those that count: a scalar. *counted says of each whether it does, 1 or 0, [steps batch]. */
struct ll_value *ll_counted_losses(struct ll_nn *nn, struct ll_translation *t, struct ll_value *logits,
                                   struct ll_value **counted);

#endif
