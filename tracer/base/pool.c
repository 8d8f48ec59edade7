/* SPDX-License-Identifier: Apache-2.0 */
/* The caller works too, so a pool of n has n - 1 threads of its own. A job is one number, of which all take
 * chunks: its high half says which job it is, its low half how many chunks are left. So the caller waits for
 * chunks, not for workers: one that wakes up late finds nothing left, or the next job. A worker first spins
 * for some microseconds, because the next op of a training step follows at once, and then sleeps. */
#define _GNU_SOURCE
#include "tracer/base/pool.h"

#include "tracer/base/denormals.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SPINS = 2000 };

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

struct ll_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    unsigned worker_count;
    pthread_t *workers;
    atomic_uint_fast64_t job;        /* number << 32 | chunks left to take */
    atomic_uint_fast64_t unfinished; /* chunks of this job */
    atomic_uint started;             /* workers that know their index */
    bool stopping;
    /* Of the job; read only by who has taken a chunk of it. */
    uint64_t count, grain, chunk_count;
    ll_pool_body *body;
    void *context;
    enum ll_denormals denormals; /* of the caller: whoever computes, the bits are the same */
};

static _Thread_local unsigned worker_index; /* 0 in the thread that owns the pool */

static uint_fast64_t number_of(uint_fast64_t job)
{
    return job >> 32;
}

/* How many chunks are left with this one, or 0 when there is none. */
static uint64_t take_chunk(struct ll_pool *pool)
{
    uint_fast64_t job = atomic_load(&pool->job);
    while ((uint32_t)job > 0)
        if (atomic_compare_exchange_weak(&pool->job, &job, job - 1))
            return (uint32_t)job;
    return 0;
}

static void take_chunks(struct ll_pool *pool)
{
    for (uint64_t left; (left = take_chunk(pool)) > 0;) {
        uint64_t chunk = pool->chunk_count - left, begin = chunk * pool->grain;
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
}

static bool wait_for_job(struct ll_pool *pool, uint_fast64_t seen)
{
    for (int i = 0; i < SPINS && number_of(atomic_load_explicit(&pool->job, memory_order_relaxed)) == seen;
         i++)
        relax();
    pthread_mutex_lock(&pool->lock);
    while (number_of(atomic_load(&pool->job)) == seen && !pool->stopping)
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
        seen = number_of(atomic_load(&pool->job));
        take_chunks(pool);
    }
    return NULL;
}

unsigned ll_pool_usable_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
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
    while (pool->workers && pool->worker_count + 1 < threads) {
        if (pthread_create(&pool->workers[pool->worker_count], NULL, work, pool) != 0)
            break;
        pool->worker_count++;
    }
    if (!pool->workers || pool->worker_count + 1 < threads) {
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
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    free(pool->workers);
    free(pool);
}

unsigned ll_pool_threads(const struct ll_pool *pool)
{
    return pool ? pool->worker_count + 1 : 1;
}

/* Without other threads. */
static void run_alone(uint64_t count, uint64_t grain, ll_pool_body *body, void *context)
{
    for (uint64_t begin = 0, chunk = 0; begin < count; chunk++) {
        uint64_t end = count - begin < grain ? count : begin + grain;
        body(context, begin, end, chunk);
        begin = end;
    }
}

void ll_pool_run(struct ll_pool *pool, uint64_t count, uint64_t grain, ll_pool_body *body, void *context)
{
    assert(grain > 0);
    uint64_t chunk_count = count / grain + (count % grain != 0);
    if (!pool || pool->worker_count == 0 || chunk_count < 2 || chunk_count > UINT32_MAX) {
        run_alone(count, grain, body, context);
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
    uint_fast64_t number = (number_of(atomic_load(&pool->job)) + 1) & UINT32_MAX;
    atomic_store(&pool->job, number << 32 | chunk_count);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_chunks(pool);
    for (int i = 0; i < SPINS && atomic_load(&pool->unfinished) > 0; i++)
        relax();
    if (atomic_load(&pool->unfinished) == 0)
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
