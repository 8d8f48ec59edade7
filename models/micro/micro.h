/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating a run until its time is known, in memory like that of a runner. One thread at a time. */
#ifndef LL_MODELS_MICRO_MICRO_H
#define LL_MODELS_MICRO_MICRO_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/diag.h"
#include "tracer/base/clock.h"
#include "tracer/base/pool.h"
#include "tracer/record/host.h"

/* What this machine can do at best, below any op: how fast its memories stream, how long one access takes,
 * how fast its cores add and multiply.
 *
 * Each figure comes from repeated runs; whatever else the machine does only makes a run longer, so the figure
 * is that of the best. One thread at a time. */

struct ll_figure {
    double value;
    double typical; /* of the median run */
    double spread;  /* between the quartiles of the runs, over their median */
};

/* Streaming through `bytes` of memory in all, a part of its own for each of the first `threads` threads of
 * the pool: bytes that cross a second, all threads together. What is written crosses twice, since caches
 * fetch a line before it is written to. Zeros when memory ran out. */
struct ll_streams {
    struct ll_figure read;   /* B/s of s += a */
    struct ll_figure triad;  /* of a = b + x c */
    struct ll_figure update; /* of three arrays in place, out of a fourth */
};
struct ll_streams ll_probe_streams(struct ll_pool *pool, unsigned threads, uint64_t bytes);

/* Bytes of a stream, all threads' together, for which the second-level caches of the host that these facts
 * describe do nothing, and which are a quarter of its last one at most. Pure. */
uint64_t ll_probe_past_l2(const struct ll_pool *pool, const struct ll_facts *facts);

/* Bytes of a stream of which no cache of the host that these facts describe keeps anything. Pure. */
uint64_t ll_probe_beyond(const struct ll_pool *pool, const struct ll_facts *facts);

/* So many bytes are read over and over, by all threads: the rate of the median run, in B/s, since a cache
 * that others share keeps most in the best. 0 when memory ran out. */
double ll_probe_rounds(struct ll_pool *pool, uint64_t bytes);

/* `bytes` of which no cache has anything, since `others` were read before, are read some times: the rate of
 * each time, in B/s, the median of a few tries. False when memory ran out. */
enum { LL_PROBE_TIMES = 8 };
bool ll_probe_times(struct ll_pool *pool, uint64_t bytes, uint64_t others, double Bps[LL_PROBE_TIMES]);

/* They are read once more, after as many times of which nothing is measured and rests_s[i] seconds of rest:
 * the rate Bps[i] in B/s, the median of a few tries. `others` as above. False when memory ran out. */
bool ll_probe_rests(struct ll_pool *pool, uint64_t bytes, uint64_t others, size_t count,
                    const double *rests_s, double *Bps);

/* Seconds that it takes a thread longer to write a line when another one has read it, too, in a block of so
 * many bytes of which each thread of the pool writes a part; each has read `away` bytes of its own in between
 * (0: none). 0 when it takes no longer, with one thread, or when memory ran out. */
double ll_probe_invalidation(struct ll_pool *pool, uint64_t bytes, uint64_t away);

/* Seconds of one access that waits for the one before, in no order over so many bytes. Zeros when memory ran
 * out. */
struct ll_figure ll_probe_latency(uint64_t bytes);

/* Additions that wait for each other a second, one to a cycle on ordinary cores: the clock, in Hz. */
struct ll_figure ll_probe_clock(void);

/* FLOP/s of multiplications and additions in vector registers, on one core. */
struct ll_figure ll_probe_vector_f32(void);
struct ll_figure ll_probe_vector_f64(void);

/* All of it as facts, and each one's spread beside it as KEY.spread:
 *   probe.clock_hz
 *   probe.vector.f32, probe.vector.f64, probe.product.f32, probe.product.f64: FLOP/s of one core
 *   probe.LEVEL.size_bytes, .latency_s, .bandwidth_Bps (the fastest stream, all threads), .alone_Bps (one),
 *   and .read_Bps, .alone_read_Bps of reading alone,
 * for the levels l1, l2, l3 as far as the host has them, and dram; and where several threads have an l2 each
 *   probe.l2.invalidation_s, probe.l3.invalidation_s: of a line that is there, or no further in than there
 * Whoever ends it early gets the first of
 * these. */
void ll_probe_facts(struct ll_pool *pool, struct ll_facts *facts, const struct ll_listener *listener);

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
    const char *level; /* name of the cache in facts, "l3" */
    uint64_t size;     /* bytes of the cache; 0: there is none */
    /* bytes that all threads together read over and over in each round */
    uint64_t round_bytes[LL_LOOK_ROUNDS];
    size_t round_count;
    unsigned count,
        timed; /* looks so far, LL_LOOKS at most; those for whose times and rests there was memory */
    double rounds[LL_LOOKS][LL_LOOK_ROUNDS]; /* B/s, each row a look */
    /* B/s of the first, second and further times that the same bytes come around */
    double times[LL_LOOKS][LL_PROBE_TIMES];
    double rests[LL_LOOKS][LL_LOOK_RESTS]; /* B/s of the same bytes after rests of growing length */
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
