/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache keeps, looked at again and again.
 *
 * Neighbours of a virtual machine share its last cache, and where a processor has several the host moves its
 * cores from one to another within seconds, so that one look may see what is rare. Looks are spread over a
 * calibration; what counts is their median, rate by rate. One thread at a time. */
#ifndef LL_MICRO_LOOKS_H
#define LL_MICRO_LOOKS_H

#include "models/micro/probe.h"

enum { LL_LOOKS = 5, LL_LOOK_ROUNDS = 13, LL_LOOK_RESTS = 7 };

struct ll_looks {
    const char *level;
    uint64_t size; /* bytes of the cache; 0: there is none */
    uint64_t round_bytes[LL_LOOK_ROUNDS];
    size_t round_count;
    unsigned count,
        timed; /* looks so far, LL_LOOKS at most; those for whose times and rests there was memory */
    double rounds[LL_LOOKS][LL_LOOK_ROUNDS]; /* B/s, each row a look */
    double times[LL_LOOKS][LL_PROBE_TIMES];
    double rests[LL_LOOKS][LL_LOOK_RESTS];
};

/* None yet, at a cache of `size` bytes: rounds of `least` bytes to twice the cache, and one of `beyond`
 * bytes, of which it keeps nothing. Pure. */
struct ll_looks ll_looks_at(const char *level, uint64_t size, uint64_t least, uint64_t beyond);

/* The same at the second-level caches of all threads' cores together, or at the last cache of the host that
 * these facts describe. Pure. */
struct ll_looks ll_looks_at_l2(const struct ll_pool *pool, const struct ll_facts *facts);
struct ll_looks ll_looks_at_l3(const struct ll_pool *pool, const struct ll_facts *facts);

/* Looks once more: how fast all threads read through parts of the cache, through more than it holds and
 * through bytes of which it keeps nothing. A look at what others share, too: some seconds. */
void ll_look_at_rounds(struct ll_looks *looks, struct ll_pool *pool);
void ll_look_at_shared(struct ll_looks *looks, struct ll_pool *pool);

/* The medians as facts, none without looks:
 *   probe.LEVEL.rounds: BYTES=RATE ..., of so many bytes in all that all threads read over and over
 * and of those who looked at what is shared
 *   probe.LEVEL.times: the same, of the first, second and further times that some bytes come around
 *   probe.LEVEL.rests: SECONDS=RATE ..., of the same bytes after that long a rest */
void ll_looks_facts(const struct ll_looks *looks, struct ll_facts *facts);

#endif
