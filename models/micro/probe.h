/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best, below any op: how fast its memories stream, how long one access takes,
 * how fast its cores add and multiply.
 *
 * Each figure comes from repeated runs; whatever else the machine does only makes a run longer, so the figure
 * is that of the best. One thread at a time. */
#ifndef LL_MICRO_PROBE_H
#define LL_MICRO_PROBE_H

#include "tracer/base/pool.h"
#include "tracer/facts.h"

#include <stdbool.h>
#include <stdint.h>

struct ll_figure {
    double value;
    double spread; /* between the quartiles of the runs, over their median */
};

/* Streaming through `bytes` of memory in all, a part of its own for each of the first `threads` threads of
 * the pool: bytes read and written a second, all threads together. Zeros when memory ran out. */
struct ll_streams {
    struct ll_figure read, copy, triad; /* B/s of s += a; a = b; a = b + x c */
};
struct ll_streams ll_probe_streams(struct ll_pool *pool, unsigned threads, uint64_t bytes);

/* Seconds of one access that waits for the one before, in no order over so many bytes. Zeros when memory ran
 * out. */
struct ll_figure ll_probe_latency(uint64_t bytes);

/* Additions that wait for each other a second, one to a cycle on ordinary cores: the clock, in Hz. */
struct ll_figure ll_probe_clock(void);

/* FLOP/s of multiply-adds in vector registers, all threads of the pool together. */
struct ll_figure ll_probe_vector_f32(struct ll_pool *pool);
struct ll_figure ll_probe_vector_f64(struct ll_pool *pool);

/* FLOP/s of large products by OpenBLAS, one for each thread of the pool at the same time; ll_blas_open has
 * succeeded. Zeros when memory ran out. */
struct ll_figure ll_probe_product_f32(struct ll_pool *pool);
struct ll_figure ll_probe_product_f64(struct ll_pool *pool);

/* All of it as facts, and each one's spread beside it as KEY.spread:
 *   probe.clock_hz, probe.vector.f32, probe.vector.f64, probe.product.f32, probe.product.f64 (FLOP/s)
 *   probe.LEVEL.size_bytes, .bandwidth_Bps (the fastest stream of all threads), .alone_Bps (of one),
 *   .latency_s
 * for the levels l1, l2, l3 as far as the host has them, and dram. */
void ll_probe_facts(struct ll_pool *pool, struct ll_facts *facts);

#endif
