/* SPDX-License-Identifier: Apache-2.0 */
/* Speech that somebody spoke, as TIMIT lays it out (Garofolo et al., 1993): a folder, and folders in it, of
 * sounds X.wav (sound.h) and what is said in them, X.phn beside (phonemes.h). Endings may be in capitals, a
 * sound without phonemes is left alone, a link to a folder is not followed.
 *
 * Utterances come in the order of their names, in two parts (part.h), whatever order the file system has. A
 * set is made by one thread; then any may read it. */
#ifndef LL_DATA_UTTERANCES_H
#define LL_DATA_UTTERANCES_H

#include "models/data/phonemes.h"

struct ll_utterance {
    const char *name;      /* of the sound's file */
    uint64_t frames;       /* of 5 ms, at least as many as it takes to say the phonemes */
    const float *features; /* [frames, LL_FEATURES] of cepstra.h */
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

#endif
