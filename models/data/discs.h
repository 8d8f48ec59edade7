/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures for those who learn to draw: a disc of one colour on a dark ground, its place, size and colour
 * drawn anew for each. Picture i of a seed is always the same one. Thread-safe. */
#ifndef LL_DATA_DISCS_H
#define LL_DATA_DISCS_H

#include <stdint.h>

enum { LL_DISC_CHANNELS = 3 };

/* Writes picture number `sample`: pixels[size, size, LL_DISC_CHANNELS], from -1 to 1. */
void ll_disc_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels);

#endif
