/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a file that marks none: what it repeats from its beginning to its end. */
#ifndef LL_CONVERT_PERIOD_H
#define LL_CONVERT_PERIOD_H

#include <stdint.h>

/* The shortest stretch that the others repeat, as looks compare (equal numbers look the same); the last one
 * may be cut off. count when not even two fit, or memory ran out. Linear in the count (Knuth, Morris and
 * Pratt, 1977). Pure. */
uint64_t ll_period(const uint64_t *looks, uint64_t count);

#endif
