/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating a run until its time is known, in memory like that of a runner. One thread at a time. */
#ifndef LL_MODELS_MICRO_MICRO_H
#define LL_MODELS_MICRO_MICRO_H

#include <stdbool.h>
#include <stdint.h>

#include "models/micro/probe.h"
#include "tracer/base/diag.h"
#include "tracer/base/listener.h"

/* Runs body(context) a hundred times or so, or a few times where that takes a second, after once to warm up:
 * `amount`, what a run does, a second of the best run, of the median one, and how far the runs lie apart
 * (struct ll_figure). The pool that the body runs on is settled before each; NULL: this thread alone. */
struct ll_figure ll_rate_of(struct ll_pool *pool, void (*body)(void *context), void *context, double amount);

/* So many bytes, zeroed, in huge pages where there are any, as kernels find them (models/nn/runner.c). NULL
 * when there are none. The caller's, to be released with the same number of bytes. */
void *ll_probe_memory(uint64_t bytes);
void ll_probe_release(void *memory, uint64_t bytes);

/* The sum of x[count], in one order whatever the CPU, as fast as the numbers can be read: what is measured by
 * it is the reading. Pure. */
float ll_probe_sum(const float *x, uint64_t count);

/* What a cache keeps, looked at again and again.
 *
 * Neighbours of a virtual machine share its last cache, and where a processor has several the host moves its
 * cores from one to another within seconds, so that one look may see what is rare. Looks are spread over a
 * calibration; what counts is their median, rate by rate. One thread at a time. */

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

/* A workload that tries every kind of op at several sizes, recorded like any other.
 *
 * Each op stands in the list a few times in a row: at first its operands have been displaced from the caches
 * by the ops before, then it finds them there. Steps repeat the whole list, so each op is measured at times
 * far apart, and what disturbs one step does not disturb all. The scope of an op tells why it is there:
 * "cold/KIND", "warm/KIND" or "handed/KIND", of operands that another op has just written; ops in scopes
 * below that, or of other kinds, only prepare. */

struct ll_micro_options {
    unsigned threads;            /* 0: one for each CPU */
    double seconds;              /* about how long to repeat steps; there are three at least */
    uint64_t steps;              /* 0: as many as fit the time */
    bool quick;                  /* the smallest sizes alone and no probes: to see that it works */
    const char *path;            /* the trace to write */
    struct ll_listener listener; /* who ends it early gets what was measured until then */
};

/* Records the workload. LL_NO_MEMORY, LL_NO_LIBRARY without OpenBLAS, or a trouble with the file. */
enum ll_status ll_micro_record(const struct ll_micro_options *options);

#endif
