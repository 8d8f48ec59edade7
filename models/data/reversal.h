/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up language without end, whose translation is the sentence read backwards: batches of sentences that
 * have a fixed number of words together, so that what is computed of them does not depend on the draw.
 *
 * Part, step and number tell everything of a sentence. One in sixteen, whichever it is, is held back from
 * learning wherever it stands; where a language has so few sentences of a length that none of a part is
 * found, one of the other part stands for it. Pure and thread-safe. */
#ifndef LL_DATA_REVERSAL_H
#define LL_DATA_REVERSAL_H

#include "models/data/part.h"

#include <stdint.h>

struct ll_reversals {
    uint64_t seed;
    uint64_t letters; /* how many words there are, from number LL_SPECIAL_WORDS on */
    uint64_t batch;   /* sentences */
    uint64_t longest; /* words of a sentence; the shortest has one */
    uint64_t missing; /* words that a batch has less than if all its sentences were the longest */
};

/* Writes how many words each sentence of a step's batch has, 1 to longest: lengths[batch]. Together they
 * are batch * longest - missing; missing is at most batch * (longest - 1). */
void ll_reversals_lengths(const struct ll_reversals *reversals, enum ll_data_part part, uint64_t step,
                          int32_t *lengths);

/* Writes the words of sentence i, which has so many: words[length], from LL_SPECIAL_WORDS on. */
void ll_reversals_words(const struct ll_reversals *reversals, enum ll_data_part part, uint64_t step,
                        uint64_t i, uint64_t length, int32_t *words);

#endif
