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
#include "models/nn/training.h"
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
    struct ll_reversals sentences; /* the synthetic language: a translation is the sentence backwards */
    enum ll_translation_layout layout;
    uint64_t batch, source_steps, target_steps; /* sentences; the longest that are read and written */
    int32_t *lengths, *words;                   /* scratch: of a batch, of a sentence */
    uint32_t program;                           /* that translates what was held back, if there is one */
    struct ll_beam beam;                        /* of that program */
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

#endif
