/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in a sound, as TIMIT has it (Garofolo et al., 1993): a phoneme a line, the sample that it
 * begins with, the one that it ends before, its name.
 *
 *     0 3050 h#
 *     3050 4559 sh
 *
 * Phonemes are numbered as they first come, from 0. What is read was written by anybody. */
#ifndef LL_MODELS_DATA_SPEECH_H
#define LL_MODELS_DATA_SPEECH_H

#include <stdint.h>

#include "models/data/part.h"
#include "models/data/spectra.h"
#include "models/data/text.h"
#include "tracer/base/map.h"

struct ll_phonemes {
    const int32_t *labels; /* [count], in the arena */
    uint64_t count;        /* at least 1 */
};

/* Reads phonemes into the arena; their numbers are those of the map, which grows, also where this fails.
 * Blank lines do not count. False after complaints: what is no text, all lines that are no phoneme, phonemes
 * that do not come one after the other, none at all. One thread at a time, of the map and the arena. */
bool ll_phonemes_parse(const struct ll_text *text, struct ll_map *names, struct ll_arena *arena,
                       struct ll_phonemes *phonemes, struct ll_diags *diags);

/* How many frames it takes to say them: one each, and one between two that are alike, since CTC tells these
 * apart by a blank (Graves et al., 2006, section 3.1). Pure. */
uint64_t ll_phonemes_frames(const struct ll_phonemes *phonemes);

/* Speech that somebody spoke, as TIMIT lays it out (Garofolo et al., 1993): a folder, and folders in it, of
 * sounds X.wav (spectra.h) and what is said in them, X.phn beside (above). Endings may be in capitals, a
 * sound without phonemes is left alone, a link to a folder is not followed.
 *
 * Utterances come in the order of their names, in two parts (part.h), whatever order the file system has. A
 * set is made by one thread; then any may read it. */

struct ll_utterance {
    const char *name;      /* of the sound's file */
    uint64_t frames;       /* of 5 ms, at least as many as it takes to say the phonemes */
    const float *features; /* [frames, LL_FEATURES] of spectra.h */
    struct ll_phonemes said;
};

struct ll_utterances {
    const struct ll_utterance *at;
    uint64_t count;                 /* at least sixteen */
    uint64_t phonemes, most_labels; /* different ones; of an utterance */
    const struct ll_utterance *longest;
};

/* Reads them into the arena. False after complaints about everything that is wrong: files that cannot be
 * read or are none, phonemes without a sound or more than fit into it, less than sixteen utterances. */
bool ll_utterances_read(struct ll_utterances *set, const char *folder, struct ll_arena *arena,
                        struct ll_diags *diags);

/* Speech to recognise, utterance after utterance without end: spoken (above) or made of tones
 * (spectra.h). Utterance i of a part and a seed is always the same one. One thread at a time. */

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

/* How many frames of 5 ms it takes, and features[frames, LL_FEATURES] of spectra.h, which the second writes.
 */
uint64_t ll_speech_frames(const struct ll_speech *speech, enum ll_data_part part, uint64_t i);
void ll_speech_features(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, float *features);

/* From what a network says of each frame to labels, and how wrong they are. Pure and thread-safe. */

/* The class of the largest logit of each frame, repeated ones merged, blanks (the last class) dropped: best
 * path decoding (Graves et al., 2006, section 3.2). Frames are `stride` floats apart, logits of `classes`
 * classes with the blank; labels has room for one a frame. Returns how many there are. */
uint64_t ll_decode_greedily(const float *logits, uint64_t frames, uint64_t stride, uint64_t classes,
                            int32_t *labels);

/* How many labels must be inserted, deleted or replaced to make one list of the other (Levenshtein, 1966),
 * by the recurrence of Wagner and Fischer (1974). `row` is scratch memory of b_count + 1 numbers. */
uint64_t ll_edit_distance(const int32_t *a, uint64_t a_count, const int32_t *b, uint64_t b_count,
                          uint64_t *row);

#endif
