/* SPDX-License-Identifier: Apache-2.0 */
/* Spectrograms of speech that nobody spoke: utterances of tones.h as loudness over frequency bins, a frame
 * every 10 ms. A label is two bumps among the bins, one in each half, held for 100 to 160 ms, never quite in
 * place, with noise around; silence goes before and behind. Utterance i of a part is always the same one.
 * Thread-safe. */
#ifndef LL_DATA_SPECTRA_H
#define LL_DATA_SPECTRA_H

#include "models/data/part.h"
#include "models/data/tones.h"

/* Frames of silence on each side; the most that a label is held. */
enum { LL_SILENT_FRAMES = 12, LL_SPECTRUM_FRAMES_A_TONE = 16 };

struct ll_spectra {
    struct ll_tones tones[LL_PART_COUNT];
    uint64_t bins;
};

/* Of so many kinds of tones, from 2 to LL_MOST_TONES, and as many labels as fit into so many frames, one at
 * least. */
struct ll_spectra ll_spectra_of(uint64_t kinds, uint64_t frames, uint64_t bins, uint64_t seed);

/* How many labels an utterance of so many frames has at most; 0 when not even one fits. */
uint64_t ll_spectra_most_labels(uint64_t frames);

/* Writes what an utterance says, at most ll_spectra_most_labels of its frames, and returns how many labels
 * that is. */
uint64_t ll_spectra_labels(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                           int32_t *labels);

/* Its frames of 10 ms, and features[frames, bins], which the second writes: silence about 0, a label about
 * 1. */
uint64_t ll_spectra_frames(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i);
void ll_spectra_features(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                         float *features);

#endif
