/* SPDX-License-Identifier: Apache-2.0 */
/* Stories with questions, in the form of the bAbI tasks (Weston et al., 2015): numbered lines, a new story
 * where the number is 1, a question with its one-word answer behind a tab.
 *
 *     1 Mary moved to the bathroom.
 *     2 John went back to the hallway.
 *     3 Where is Mary? <tab>bathroom<tab>1
 *
 * For a network each question stands with the sentences before it: the latest `memory` of them, each of
 * `sentence` words, all filled up with word 0. Words are numbered from 1 as they first come, in small
 * letters. What is read was written by anybody; made-up stories pass through the same reader. */
#ifndef LL_DATA_STORIES_H
#define LL_DATA_STORIES_H

#include "models/data/text.h"
#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

struct ll_story_sizes {
    uint64_t vocabulary;       /* words, with the one that fills up */
    uint64_t memory, sentence; /* sentences; words of each */
};

struct ll_stories {
    struct ll_story_sizes sizes;
    uint64_t count;           /* questions */
    const int32_t *sentences; /* [count, memory, sentence] */
    const int32_t *questions; /* [count, sentence] */
    const int32_t *answers;   /* [count] */
};

/* Reads stories into the arena; words are those of the map, which grows, also where this fails. False after
 * complaints: what is no text, all lines that are no part of a story, a sentence that is too long, more words
 * than the vocabulary may have, no question at all. One thread at a time, of the map and the arena. */
bool ll_stories_read(const struct ll_text *text, struct ll_story_sizes sizes, struct ll_map *words,
                     struct ll_arena *arena, struct ll_stories *stories, struct ll_diags *diags);

/* Adds so many made-up stories of task 1 (where is somebody who has moved?), ten statements and five
 * questions each: a pure function of seed and count. Trouble is the text's (str.h). */
void ll_stories_write(uint64_t seed, uint64_t count, struct ll_str *text);

#endif
