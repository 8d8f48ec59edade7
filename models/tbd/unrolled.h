/* SPDX-License-Identifier: Apache-2.0 */
/* What translators of recurrent layers share, one step after the other. */
#ifndef LL_TBD_UNROLLED_H
#define LL_TBD_UNROLLED_H

#include "models/nn/nn.h"
#include "models/nn/recurrent.h"
#include "models/tbd/translation.h"

/* What a decoder of LSTM layers carries from word to word: their states, and what is read beside the next
 * word. */
enum { LL_MOST_DECODER_LAYERS = 16 };
struct ll_decoder_state {
    struct ll_lstm_state layers[LL_MOST_DECODER_LAYERS];
    struct ll_value *beside;
};

/* First contents of weights behind so many inputs: a product keeps the variance of what it reads. */
struct ll_init ll_uniform_init(uint64_t inputs);

/* "NAME" [words, features], first contents of variance one over 3. */
struct ll_value *ll_word_embedding(struct ll_nn *nn, const char *name, uint64_t words, uint64_t features);

/* Word numbers [steps, batch] embedded: a matrix [batch, features] a step; NULL after trouble. */
struct ll_value **ll_embedded_steps(struct ll_nn *nn, struct ll_value *table, struct ll_value *words);

/* Steps [batch, features], `steps` of them, as [batch, steps, features]. */
struct ll_value *ll_as_memory(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps);

/* The same steps one below the other: rows [steps batch, features]. */
struct ll_value *ll_as_rows(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps);

/* The state of the first so many layers, [batch, features] each, once for each hypothesis of a beam:
 * [batch width, features]; and in later steps that of the step before as its heirs have it. */
void ll_decoder_spread(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state,
                       uint64_t layers);
void ll_decoder_follow(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state,
                       uint64_t layers);

/* "NAME/weights" [inputs, units] without a bias. */
struct ll_value *ll_product_with(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units);

/* Cross entropies of logits[steps batch, words] that count, summed up; and how many count. */
struct ll_value *ll_counted_losses(struct ll_nn *nn, struct ll_translation *t, struct ll_value *logits,
                                   struct ll_value **counted);

#endif
