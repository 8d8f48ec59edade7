/* SPDX-License-Identifier: Apache-2.0 */
/* Who is woken up on a virtual machine often finds itself on the processor of whoever woke it, since an idle
 * one looks as if it had been taken away; it takes the system up to a tenth of a second to part them. So
 * threads that are timed are spread. */
#define _GNU_SOURCE
#include "tracer/base/pool.h"

#include <assert.h>
#include <stdlib.h>

#include "tracer/base/clock.h"
#include "tracer/base/pool_parts.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

enum { MOST_CPUS = 1 << 20 };

/* Those that the calling thread may use, to be freed with CPU_FREE. The system has nothing to say into a set
 * of fewer than it could have. */
static struct ll_cpus usable_cpus(void)
{
    for (size_t most = CPU_SETSIZE; most <= MOST_CPUS; most *= 2) {
        struct ll_cpus cpus = {CPU_ALLOC(most), CPU_ALLOC_SIZE(most)};
        if (!cpus.set || sched_getaffinity(0, cpus.bytes, cpus.set) == 0)
            return cpus;
        CPU_FREE(cpus.set);
    }
    return (struct ll_cpus){NULL, 0};
}

static unsigned count_cpus(const struct ll_cpus *cpus)
{
    return cpus->set ? (unsigned)CPU_COUNT_S(cpus->bytes, cpus->set) : 0;
}

unsigned ll_pool_usable_cpus(void)
{
    struct ll_cpus cpus = usable_cpus();
    unsigned count = count_cpus(&cpus);
    CPU_FREE(cpus.set);
    return count > 0 ? count : 1;
}

/* The part of these CPUs that is one thread's, by their numbers; into `mine`, a set of the same size. */
static void take_part(const struct ll_cpus *all, unsigned part, unsigned parts, struct ll_cpus *mine)
{
    unsigned count = count_cpus(all), seen = 0;
    CPU_ZERO_S(mine->bytes, mine->set);
    for (size_t cpu = 0; seen < count; cpu++)
        if (CPU_ISSET_S(cpu, all->bytes, all->set) && seen++ * parts / count == part)
            CPU_SET_S(cpu, mine->bytes, mine->set);
}

/* The caller stays where it is: of several programs each has its callers on processors of their own. */
static unsigned part_at_hand(const struct ll_cpus *all, unsigned parts, struct ll_cpus *scratch)
{
    int cpu = sched_getcpu();
    for (unsigned part = 0; part < parts && cpu >= 0; part++) {
        take_part(all, part, parts, scratch);
        if (CPU_ISSET_S((size_t)cpu, scratch->bytes, scratch->set))
            return part;
    }
    return 0;
}

/* False when the system forbids it. */
static bool spread(const struct ll_pool *pool, const struct ll_cpus *all, struct ll_cpus *scratch)
{
    unsigned threads = ll_pool_threads(pool), first = part_at_hand(all, threads, scratch);
    take_part(all, first, threads, scratch);
    if (sched_setaffinity(0, scratch->bytes, scratch->set) != 0)
        return false;
    for (unsigned i = 0; i < pool->worker_count; i++) {
        take_part(all, (first + 1 + i) % threads, threads, scratch);
        pthread_setaffinity_np(pool->workers[i], scratch->bytes, scratch->set);
    }
    return true;
}

void ll_pool_spread(struct ll_pool *pool)
{
    unsigned threads = ll_pool_threads(pool);
    if (threads < 2 || pool->before.set)
        return;
    struct ll_cpus all = usable_cpus(), scratch = {CPU_ALLOC(8 * all.bytes), all.bytes};
    if (count_cpus(&all) >= threads && scratch.set && spread(pool, &all, &scratch)) {
        pool->before = all;
        pool->quiet.spread_ns = ll_now_ns();
    } else
        CPU_FREE(all.set);
    CPU_FREE(scratch.set);
}

void ll_pool_restore_caller(struct ll_pool *pool)
{
    if (pool->before.set)
        sched_setaffinity(0, pool->before.bytes, pool->before.set);
    CPU_FREE(pool->before.set);
}

bool ll_cpus_are_virtual(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) && c >> 31 & 1; /* the hypervisor's bit */
#else
    return false;
#endif
}

/* The caller works too, so a pool of n has n - 1 threads of its own. Each has a share of a job's chunks, the
 * same part of every job, since what it wrote for one op is in its cache for the next; when it is done with
 * its own it helps the others. The caller waits for chunks, not for workers: one that wakes up late finds
 * nothing left, or the next job.
 *
 * Who waits spins before it sleeps, for longer than the largest chunk of an op usually takes: the next op of
 * a training step follows as soon as the slowest thread is done, and to wake a processor that has gone idle
 * takes as long as a small op, on a virtual machine some tens of microseconds. Where somebody else wants the
 * processor, who spins gives it away. */

enum { SPINS = 256, PATIENCE_NS = 10000000 };

static _Thread_local unsigned worker_index; /* 0 in the thread that owns the pool */

static uint64_t share_begin(const struct ll_pool *pool, unsigned share)
{
    return pool->chunk_count * share / (pool->worker_count + 1);
}

/* Whoever takes a chunk takes it of the job at hand, which is published before its shares are. */
static bool take_chunk(struct ll_pool *pool, unsigned share, uint64_t *chunk)
{
    uint_fast64_t left = atomic_load(&pool->shares[share].left);
    while (left > 0)
        if (atomic_compare_exchange_weak(&pool->shares[share].left, &left, left - 1)) {
            *chunk = share_begin(pool, share + 1) - left;
            return true;
        }
    return false;
}

static void do_chunk(struct ll_pool *pool, uint64_t chunk)
{
    uint64_t begin = chunk * pool->grain;
    uint64_t end = pool->count - begin < pool->grain ? pool->count : begin + pool->grain;
    if (ll_denormals() != pool->denormals)
        ll_set_denormals(pool->denormals);
    pool->body(pool->context, begin, end, chunk);
    if (atomic_fetch_sub(&pool->unfinished, 1) == 1) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void take_chunks(struct ll_pool *pool)
{
    unsigned threads = pool->worker_count + 1;
    for (unsigned i = 0; i < threads; i++)
        for (uint64_t chunk; take_chunk(pool, (worker_index + i) % threads, &chunk);) {
            do_chunk(pool, chunk);
            if (worker_index == 0 && pool->told)
                pool->told(pool->told_context, pool->chunk_count - atomic_load(&pool->unfinished),
                           pool->chunk_count);
        }
}

static bool is_called(struct ll_pool *pool, uint_fast64_t seen)
{
    return atomic_load_explicit(&pool->job, memory_order_relaxed) != seen || atomic_load(&pool->stopping);
}

static bool has_finished(struct ll_pool *pool, uint_fast64_t job)
{
    (void)job;
    return atomic_load(&pool->unfinished) == 0;
}

static bool spin_until(bool (*holds)(struct ll_pool *, uint_fast64_t), struct ll_pool *pool,
                       uint_fast64_t job)
{
    uint64_t end_ns = 0;
    do {
        for (int i = 0; i < SPINS; i++) {
            if (holds(pool, job))
                return true;
            ll_relax();
        }
        sched_yield();
        end_ns = end_ns ? end_ns : ll_now_ns() + PATIENCE_NS;
    } while (ll_now_ns() < end_ns);
    return false;
}

static bool wait_for_job(struct ll_pool *pool, uint_fast64_t seen)
{
    spin_until(is_called, pool, seen);
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->job) == seen && !pool->stopping)
        pthread_cond_wait(&pool->wake, &pool->lock);
    bool stopping = pool->stopping;
    pthread_mutex_unlock(&pool->lock);
    return !stopping;
}

static void *work(void *argument)
{
    struct ll_pool *pool = argument;
    worker_index = atomic_fetch_add(&pool->started, 1) + 1;
    for (uint_fast64_t seen = 0; wait_for_job(pool, seen);) {
        seen = atomic_load(&pool->job);
        take_chunks(pool);
    }
    return NULL;
}

struct ll_pool *ll_pool_new(unsigned threads)
{
    if (threads == 0)
        threads = ll_pool_usable_cpus();
    struct ll_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->workers = calloc(threads, sizeof *pool->workers);
    pool->shares = aligned_alloc(_Alignof(struct ll_pool_share), threads * sizeof *pool->shares);
    for (unsigned i = 0; pool->shares && i < threads; i++)
        atomic_init(&pool->shares[i].left, 0);
    while (pool->workers && pool->shares && pool->worker_count + 1 < threads) {
        if (pthread_create(&pool->workers[pool->worker_count], NULL, work, pool) != 0)
            break;
        pool->worker_count++;
    }
    if (!pool->workers || !pool->shares || pool->worker_count + 1 < threads) {
        ll_pool_free(pool);
        return NULL;
    }
    return pool;
}

void ll_pool_free(struct ll_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i], NULL);
    ll_pool_restore_caller(pool);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    free(pool->shares);
    free(pool->workers);
    free(pool);
}

unsigned ll_pool_threads(const struct ll_pool *pool)
{
    return pool ? pool->worker_count + 1 : 1;
}

void ll_pool_watch(struct ll_pool *pool, ll_pool_told *told, void *context)
{
    pool->told = told;
    pool->told_context = context;
}

/* Without other threads, and perhaps without a pool. */
static void run_alone(const struct ll_pool *pool, uint64_t count, uint64_t grain, ll_pool_body *body,
                      void *context)
{
    const uint64_t chunk_count = count / grain + (count % grain != 0);
    for (uint64_t begin = 0, chunk = 0; begin < count; chunk++) {
        uint64_t end = count - begin < grain ? count : begin + grain;
        body(context, begin, end, chunk);
        begin = end;
        if (pool && pool->told)
            pool->told(pool->told_context, chunk + 1, chunk_count);
    }
}

void ll_pool_run(struct ll_pool *pool, uint64_t count, uint64_t grain, ll_pool_body *body, void *context)
{
    assert(grain > 0);
    uint64_t chunk_count = count / grain + (count % grain != 0);
    if (!pool || pool->worker_count == 0 || chunk_count < 2 || chunk_count > UINT32_MAX) {
        run_alone(pool, count, grain, body, context);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->count = count;
    pool->grain = grain;
    pool->chunk_count = chunk_count;
    pool->body = body;
    pool->context = context;
    pool->denormals = ll_denormals();
    atomic_store(&pool->unfinished, chunk_count);
    for (unsigned i = 0; i <= pool->worker_count; i++)
        atomic_store(&pool->shares[i].left, share_begin(pool, i + 1) - share_begin(pool, i));
    atomic_fetch_add(&pool->job, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_chunks(pool);
    if (spin_until(has_finished, pool, 0))
        return;
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->unfinished) > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

unsigned ll_pool_worker(void)
{
    return worker_index;
}
