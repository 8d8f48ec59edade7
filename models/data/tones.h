/* SPDX-License-Identifier: Apache-2.0 */
/* Speech that nobody spoke: a phoneme is a pair of tones, held for 50 to 95 ms, its pitch and loudness never
 * quite the same, with noise around it; what it sounds like goes through cepstra.h as speech would. Utterance
 * i of a seed is always the same one. Thread-safe. */
#ifndef LL_DATA_TONES_H
#define LL_DATA_TONES_H

#include "models/data/cepstra.h"

#include <stdint.h>

/* Frames of 5 ms for each phoneme that an utterance may have, so that all of them fit; different pairs of
 * tones; samples a second. */
enum { LL_FRAMES_A_TONE = 20, LL_MOST_TONES = 64, LL_TONES_RATE_HZ = 16000 };

struct ll_tones {
    uint64_t seed;
    uint64_t kinds;       /* of phonemes: from 2 to LL_MOST_TONES */
    uint64_t most_labels; /* of an utterance, at least 1 */
};

/* Writes the phonemes of an utterance, each from 0 to kinds - 1, and returns how many they are: at least
 * half as many as there may be. No two alike follow each other. */
uint64_t ll_tones_labels(const struct ll_tones *tones, uint64_t sample, int32_t *labels);

/* How many these are; and what phoneme i is, by the one before it (the first one follows nothing). */
uint64_t ll_tones_count(const struct ll_tones *tones, uint64_t sample);
uint64_t ll_tones_after(const struct ll_tones *tones, uint64_t sample, uint64_t i, uint64_t kind);

/* How many frames it has: at most LL_FRAMES_A_TONE for each of most_labels. */
uint64_t ll_tones_frames(const struct ll_tones *tones, uint64_t sample);

/* Writes features[frames, LL_FEATURES]; cepstra at LL_TONES_RATE_HZ. `sound` has room for the samples of
 * these frames (ll_cepstra_samples), and then holds them, about -0.6 to 0.6. */
void ll_tones_speak(const struct ll_tones *tones, uint64_t sample, const struct ll_cepstra *cepstra,
                    float *sound, float *features);

#endif
