/* SPDX-License-Identifier: Apache-2.0 */
/* What the translators share: the made-up language they learn, its batches as input ops, and how well unseen
 * sentences come out of a beam search. A struct ll_translation is the network's driver's context; it lies in
 * the network's arena. */
#ifndef LL_MODELS_TBD_TRANSLATION_H
#define LL_MODELS_TBD_TRANSLATION_H

#include "models/data/text.h"
#include "models/model.h"
#include "models/nn/layers.h"
#include "models/nn/nn.h"
#include "models/nn/optim.h"
#include "models/nn/runner.h"

/* Beam search: of each sentence the best beginnings of a translation grow word by word, all together.
 *
 * In each step every hypothesis could go on with every word; of all these the best by the sum of their words'
 * log probabilities are kept, and the states they grew from are gathered behind them. One that has ended
 * stays as it is. What was chosen is kept by the network; reading it backwards gives the translation. A beam
 * belongs to the program in which it was begun. */

struct ll_beam {
    uint64_t batch, width, vocabulary;
    uint64_t steps, done;             /* how many there may be, and were so far */
    struct ll_value *words;           /* the last ones, i32[batch width]; LL_WORD_GO at first */
    struct ll_value *parents;         /* which hypotheses they go on from, rows of the step before */
    struct ll_value *scores;          /* [batch width, 1] */
    struct ll_value *ended;           /* [batch width, 1]: 1 of those that have */
    struct ll_value *only_end;        /* [1, vocabulary]: nothing but an end can follow an end */
    struct ll_value **chosen, **from; /* words and parents of each step, kept; in the network's arena */
};

/* At most so many steps. The words that are read first are an input op's. */
void ll_beam_begin(struct ll_nn *nn, struct ll_beam *beam);

/* One step by the logits [batch width, vocabulary] of the next word. */
void ll_beam_grow(struct ll_nn *nn, struct ll_beam *beam, struct ll_value *logits);

/* A state [batch width, ...] of the step before, as its heirs have it. */
struct ll_value *ll_beam_follow(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *state);

/* The best translation of sentence i after a run: `steps` words. */
void ll_beam_read(const struct ll_beam *beam, struct ll_runner *runner, uint64_t i, int32_t *words);

/* How a batch lies in memory. TIME_FIRST, for recurrent layers: [steps, batch], what is read reversed and
 * behind its padding. SENTENCE_FIRST: [batch, steps], what is read ends with LL_WORD_EOS before its padding.
 */
enum ll_translation_layout { LL_TIME_FIRST, LL_SENTENCE_FIRST };

struct ll_translation {
    struct ll_reversals sentences;
    enum ll_translation_layout layout;
    uint64_t batch, source_steps, target_steps;
    int32_t *lengths, *words; /* scratch: of a batch, of a sentence */
    uint32_t program;         /* that translates what was held back, if there is one */
    struct ll_beam beam;      /* of that program */
};

/* The settings that are those of all translators, in the model's params. */
struct ll_translation_sizes {
    uint64_t letters, vocabulary; /* of the smaller of both languages */
    uint64_t source, target;      /* steps */
    uint64_t padding;             /* percent of the steps of what is read that have no word */
};

/* The context, which becomes the network's; NULL after it has failed. */
struct ll_translation *ll_translation_begin(struct ll_nn *nn, const struct ll_build *build,
                                            enum ll_translation_layout layout,
                                            const struct ll_translation_sizes *sizes);

/* A translator: what it scores words with when it is told the words before (a network's forward pass), what
 * it translates with by itself, and what it learns with. */
struct ll_translator {
    struct ll_value *(*teach)(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t);
    struct ll_value *(*search)(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t,
                               enum ll_data_part part);
    struct ll_value *(*train)(struct ll_nn *nn, const struct ll_build *build, struct ll_translation *t);
};

/* The network that is asked for: what it returns is the model's. `t` is the context, NULL after trouble. */
struct ll_value *ll_translation_build(struct ll_nn *nn, const struct ll_build *build,
                                      struct ll_translation *t, const struct ll_translator *translator);

/* Prepares the beam: so many hypotheses of a sentence, out of so many words. */
void ll_translation_beam(struct ll_translation *t, uint64_t width, uint64_t vocabulary);

/* Input ops, of sentences to learn or of those held back. Word numbers are i32, the rest is of the network's
 * real type. */
struct ll_value *ll_translation_source(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part);
/* 0 where there is a word, ll_hidden_score where there is padding: [batch, source steps]. */
struct ll_value *ll_translation_source_bias(struct ll_nn *nn, struct ll_translation *t,
                                            enum ll_data_part part);
/* Where the words are, i32[tokens]: numbers of the rows of [batch source steps], in their order. */
struct ll_value *ll_translation_source_rows(struct ll_nn *nn, struct ll_translation *t,
                                            enum ll_data_part part);
/* What the decoder reads, LL_WORD_GO in front; what it is to write, LL_WORD_EOS behind, and which of that
 * counts: 1 or 0. */
struct ll_value *ll_translation_read(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part);
struct ll_value *ll_translation_written(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part);
struct ll_value *ll_translation_weights(struct ll_nn *nn, struct ll_translation *t, enum ll_data_part part);

/* The models' evaluate function: which share of unseen sentences comes out exactly right, and which share of
 * their words. */
bool ll_translation_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores);

/* Attention by a small network (Bahdanau et al., 2015): a query meets each step of a memory,
 *
 *     share = softmax over steps of (v . tanh(memory K + query Q) + bias)      context = sum share memory
 *
 * Hypotheses of one sentence ask the same memory. Belongs to the program in which it was begun. */

struct ll_mlp_attention {
    const char *name;
    struct ll_value *memory;         /* [batch, steps, features] */
    struct ll_value *keys;           /* [batch, 1, steps, units] */
    struct ll_value *bias;           /* [batch, 1, steps] */
    struct ll_value *query, *vector; /* weights [queries' features, units], [units] */
};

/* Makes the weights "NAME/key", "NAME/query" and "NAME/vector", as many units as the memory has features, and
 * the keys. The bias is [batch, steps]. */
struct ll_mlp_attention ll_mlp_attention_begin(struct ll_nn *nn, const char *name, struct ll_value *memory,
                                               struct ll_value *bias, uint64_t query_features);

/* The contexts [batch width, features] of queries[batch width, query_features]. */
struct ll_value *ll_mlp_attend(struct ll_nn *nn, const struct ll_mlp_attention *attention,
                               struct ll_value *queries);

/* What translators of recurrent layers share, one step after the other.
 *
 * Each function adds ops to the network, and weights that start anew unless the network shares them
 * (ll_nn_share). What is returned belongs to it, and trouble is kept there (nn.h). */

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
