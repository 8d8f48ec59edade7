/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a cache is there for one who shares it, and how it replaces. */
#ifndef LL_SIM_CALIBRATE_HELD_H
#define LL_SIM_CALIBRATE_HELD_H

#include "sim/machine/machine.h"

struct ll_cache_share {
    uint64_t bytes;
    enum ll_cache_policy policy; /* LL_CACHE_LRU or LL_CACHE_RANDOM */
    double admission;            /* share of new lines that it lets in, in 16ths */
    double corunners_Bps;        /* what others bring into it */
    double Bps;                  /* of the fastest round; 0 without rounds */
};

/* Rates at which bytes are read through a cache, in bytes a second; each a text of "X=RATE X=RATE ...", NULL:
 * not measured. Of more than 32 pairs, and from the first one that is none on, the rest is not looked at. */
struct ll_cache_rates {
    /* X: so many bytes over and over, from rounds that fit for certain to rounds of which nothing stays */
    const char *rounds;
    /* X: the first, second and further times that so many bytes come around of which nothing was there */
    const char *times;
    /* X: one time more, after so many seconds of rest */
    const char *rests;
};

/* Of a cache of size_bytes: the size, in parts of a 64th, the policy and, with times, the admission and, with
 * rests, what others bring into it, under which ll_level_keeps and ll_cache_finds come nearest to these
 * rates, by the sum of relative errors. The whole, by age, with all let in and nobody else there, when there
 * are no rounds or when the longest is not the slower. Pure. */
struct ll_cache_share ll_held_of(uint64_t size_bytes, const struct ll_cache_rates *rates);

#endif
