/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in a sound, as TIMIT has it (Garofolo et al., 1993): a phoneme a line, the sample that it
 * begins with, the one that it ends before, its name.
 *
 *     0 3050 h#
 *     3050 4559 sh
 *
 * Phonemes are numbered as they first come, from 0. What is read was written by anybody. */
#ifndef LL_DATA_PHONEMES_H
#define LL_DATA_PHONEMES_H

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

#endif
