/* SPDX-License-Identifier: Apache-2.0 */
/* Speech to recognise, utterance after utterance without end: spoken (utterances.h) or made of tones
 * (tones.h). Utterance i of a part and a seed is always the same one. One thread at a time. */
#ifndef LL_DATA_SPEECH_H
#define LL_DATA_SPEECH_H

#include "models/data/part.h"
#include "models/data/tones.h"
#include "models/data/utterances.h"

struct ll_speech {
    uint64_t seed, most_labels;         /* the latter of an utterance */
    const struct ll_utterances *spoken; /* NULL: nobody spoke, it is tones */
    struct ll_tones tones[LL_PART_COUNT];
    struct ll_cepstra *cepstra; /* for tones */
    float *sound;               /* of the tone that is heard: why one thread at a time */
};

/* Makes it of spoken utterances, a set that outlives it; what a part holds follows from the seed. */
void ll_speech_of_utterances(struct ll_speech *speech, const struct ll_utterances *spoken, uint64_t seed);

/* Of so many kinds of tones, from 2 to LL_MOST_TONES, at most so many labels in an utterance, one at least;
 * memory is the arena's. False when it ran out. */
bool ll_speech_of_tones(struct ll_speech *speech, uint64_t kinds, uint64_t most_labels, uint64_t seed,
                        struct ll_arena *arena);

/* Writes what utterance i of a part says, labels[most_labels] counted from 0, and returns how many there are,
 * at least one of tones. */
uint64_t ll_speech_labels(const struct ll_speech *speech, enum ll_data_part part, uint64_t i,
                          int32_t *labels);

/* How many frames of 5 ms it takes, and features[frames, LL_FEATURES] of cepstra.h, which the second writes.
 */
uint64_t ll_speech_frames(const struct ll_speech *speech, enum ll_data_part part, uint64_t i);
void ll_speech_features(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, float *features);

#endif
