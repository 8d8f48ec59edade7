/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that split a range of work.
 *
 * A pool is made once and used from one thread at a time. Results must not depend on who computes
 * what: ranges are cut only by their length and the grain, so a body that writes disjoint results
 * gives the same bits at any thread count; a body that sums must sum per chunk and add the chunks in
 * order. */
#ifndef LL_TRACER_BASE_POOL_H
#define LL_TRACER_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct ll_pool;

/* threads 0 means one for each CPU that this process may use. NULL when memory or threads ran out. */
struct ll_pool *ll_pool_new(unsigned threads);
void ll_pool_free(struct ll_pool *pool);
unsigned ll_pool_threads(const struct ll_pool *pool);

/* From now on until the pool is freed each of its threads, the caller among them, keeps to an equal part of
 * the CPUs that the caller may use: what is timed should not depend on where the system puts threads. The
 * caller made the pool and frees it, and counts its CPUs by ll_pool_usable_cpus no more meanwhile. Nothing
 * happens with fewer CPUs than threads, or where the system forbids it. */
void ll_pool_spread(struct ll_pool *pool);

/* Between two pieces of work that are timed, of a pool that is spread (else nothing happens): looks whether
 * this is a good moment, and on a virtual machine waits for one. Where the host has put the threads'
 * processors behind different caches it makes the host put them together, in half a second or some seconds;
 * where neighbours share their cores it waits until they do not, for some milliseconds. Either takes two
 * seconds at most, and a seventh of the time since the pool was spread where it has ever helped (together)
 * or three fifths of it as far as work that was waited for also ended so (alone). Looks once a millisecond at
 * most, for some microseconds. now_ns is by ll_now_ns, of just now; returns how long all this took, in
 * nanoseconds, 0 without a look. */
uint64_t ll_pool_settle(struct ll_pool *pool, uint64_t now_ns);

/* For measurements that will stand for the machine: from now on ll_pool_settle takes a quarter of a minute
 * and half of the time to bring threads together, or an eighth of it where that has never helped. */
void ll_pool_insist(struct ll_pool *pool);

/* How long ll_pool_settle has waited so far, in nanoseconds. */
uint64_t ll_pool_waited_ns(const struct ll_pool *pool);

/* The longest round trip, in seconds, of a line of memory between the caches of two threads with which
 * ll_pool_settle has returned so far; 0 when it has not looked, or did not get an answer. */
double ll_pool_round_trip_s(const struct ll_pool *pool);

/* The clock in Hz at these looks, in the mean, of the slowest thread's core at each; 0 when it has not
 * looked, or the processor is not one whose additions in a row tell it. */
double ll_pool_clock_hz(const struct ll_pool *pool);

/* Of the pieces of work that ll_pool_settle has looked before, the share that began with threads behind
 * different caches; of its looks before and after these pieces, the share that saw somebody on the other
 * hyperthread of a thread's core. Both though it may have waited; 0 when it has not looked. */
double ll_pool_apart_share(const struct ll_pool *pool);
double ll_pool_crowded_share(const struct ll_pool *pool);

/* CPUs that the calling thread may use, at least 1. */
unsigned ll_pool_usable_cpus(void);

/* Calls body(context, begin, end, chunk) for [0, count) cut into chunks of `grain` (the last may be
 * shorter; grain is at least 1) and returns when all are done. Chunks run in any order, on any thread, which
 * treats denormals as the caller does.
 * A NULL pool runs them here, in order. */
typedef void ll_pool_body(void *context, uint64_t begin, uint64_t end, uint64_t chunk);
void ll_pool_run(struct ll_pool *pool, uint64_t count, uint64_t grain, ll_pool_body *body, void *context);

/* From now on ll_pool_run calls told(context, done, count) on its caller's thread, each time that this thread
 * has done a chunk: `done` of the run's `count` chunks are done, by all threads. NULL ends this. */
typedef void ll_pool_told(void *context, uint64_t done, uint64_t count);
void ll_pool_watch(struct ll_pool *pool, ll_pool_told *told, void *context);

/* Inside a body: which of the pool's threads runs it, from 0 to ll_pool_threads - 1; picks scratch memory. */
unsigned ll_pool_worker(void);

/* Numbers below the smallest normal one (denormals). Most processors take many cycles more for an operation
 * on them; frameworks therefore have them count as zero, in operands and results. Pure but for the calling
 * thread's state. */

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum ll_denormals { LL_DENORMALS_EXACT, LL_DENORMALS_ZERO };
enum { LL_DENORMALS_MXCSR = 0x8040 }; /* flush to zero, denormals are zero */

/* What the calling thread does with them; on other processors than x86-64: exact. */
static inline enum ll_denormals ll_denormals(void)
{
#ifdef __x86_64__
    return _mm_getcsr() & LL_DENORMALS_MXCSR ? LL_DENORMALS_ZERO : LL_DENORMALS_EXACT;
#else
    return LL_DENORMALS_EXACT;
#endif
}

/* What the calling thread does with them from now on; no effect on other processors than x86-64. */
static inline void ll_set_denormals(enum ll_denormals denormals)
{
#ifdef __x86_64__
    unsigned others = _mm_getcsr() & ~(unsigned)LL_DENORMALS_MXCSR;
    _mm_setcsr(others | (denormals == LL_DENORMALS_ZERO ? LL_DENORMALS_MXCSR : 0u));
#else
    (void)denormals;
#endif
}

#endif
