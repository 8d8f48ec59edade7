/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best, below any op: how fast its memories stream, how long one access takes,
 * how fast its cores add and multiply.
 *
 * Each figure comes from repeated runs; whatever else the machine does only makes a run longer, so the figure
 * is that of the best. One thread at a time. */
#ifndef LL_MICRO_PROBE_H
#define LL_MICRO_PROBE_H

#include "tracer/base/pool.h"
#include "tracer/base/listener.h"
#include "tracer/record/host.h"

#include <stdbool.h>
#include <stdint.h>

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

/* FLOP/s of a large product by OpenBLAS, on one core; ll_blas_open has succeeded. Zeros when memory ran out.
 */
struct ll_figure ll_probe_product_f32(void);
struct ll_figure ll_probe_product_f64(void);

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

#endif
