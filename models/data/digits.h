/* SPDX-License-Identifier: Apache-2.0 */
/* Handwritten digits that nobody wrote: strokes with a shaky hand, drawn on the fly. Digit i of a seed is
 * always the same one. Thread-safe. */
#ifndef LL_DATA_DIGITS_H
#define LL_DATA_DIGITS_H

#include <stdint.h>

/* Which digit number `sample` is, from 0 to 9. */
int32_t ll_digit_label(uint64_t seed, uint64_t sample);

/* Writes its picture: pixels[size, size], from 0 (paper) to 1 (ink). */
void ll_digit_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels);

#endif
