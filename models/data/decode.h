/* SPDX-License-Identifier: Apache-2.0 */
/* From what a network says of each frame to labels, and how wrong they are. Pure and thread-safe. */
#ifndef LL_DATA_DECODE_H
#define LL_DATA_DECODE_H

#include <stdint.h>

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
