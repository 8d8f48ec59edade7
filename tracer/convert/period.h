/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a file that marks none: what it repeats from its beginning to its end. */
#ifndef LL_CONVERT_PERIOD_H
#define LL_CONVERT_PERIOD_H

#include "tracer/convert/convert.h"

/* The shortest stretch that the others repeat, as looks compare (equal numbers look the same); the last one
 * may be cut off. count when not even two fit, or memory ran out. Linear in the count (Knuth, Morris and
 * Pratt, 1977). Pure. */
uint64_t ll_period(const uint64_t *looks, uint64_t count);

/* As long as the choice `steps` says, which gives their number, or as ll_period finds; *chosen: the choice
 * was given. False after a complaint that it is no number, or that nothing repeats itself so often. */
bool ll_period_of_steps(struct ll_import *import, const uint64_t *looks, uint64_t count, uint64_t *period,
                        bool *chosen);

#endif
