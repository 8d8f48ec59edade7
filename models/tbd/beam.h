/* SPDX-License-Identifier: Apache-2.0 */
/* Beam search: of each sentence the best beginnings of a translation grow word by word, all together.
 *
 * In each step every hypothesis could go on with every word; of all these the best by the sum of their words'
 * log probabilities are kept, and the states they grew from are gathered behind them. One that has ended
 * stays as it is. What was chosen is kept by the network; reading it backwards gives the translation. A beam
 * belongs to the program in which it was begun. */
#ifndef LL_TBD_BEAM_H
#define LL_TBD_BEAM_H

#include "models/nn/nn.h"
#include "models/nn/runner.h"

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

#endif
