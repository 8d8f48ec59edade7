/* SPDX-License-Identifier: Apache-2.0 */
/* What a pool consists of. Internal to the pool: its jobs and where its threads are (pool.c),
 * what is seen from these places (pool_look.c), and making the best of it (pool_settle.c). */
#ifndef LL_BASE_POOL_PARTS_H
#define LL_BASE_POOL_PARTS_H

#include "tracer/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Chunks of a thread's share that nobody has taken; on a line of its own. */
struct ll_pool_share {
    _Alignas(64) atomic_uint_fast64_t left;
};

/* Some of the CPUs that there may be; `set` NULL: not known. */
struct ll_cpus {
    cpu_set_t *set;
    size_t bytes;
};

/* Times by ll_now_ns. */
struct ll_pool_quiet {
    uint64_t spread_ns;     /* when the threads were spread */
    uint64_t looked_ns;     /* the last look; 0: none */
    uint64_t together_ns;   /* spent on bringing threads together, */
    uint64_t alone_ns;      /* on waiting for cores that nobody shares */
    bool was_together;      /* whether that has ever helped */
    bool insists;           /* on threads being together */
    bool waited;            /* for cores that nobody shares, before this piece of work, */
    double lasts;           /* and the share of such pieces that ended alone, too: of late */
    double width, widest;   /* additions at a time: by the last look, and the most so far */
    double longest_s;       /* round trip with which a piece of work began */
    uint64_t looks, apart;  /* pieces of work before which it looked, and those that began so */
    uint64_t ends, crowded; /* those after which it looked, and crowded looks before and after */
    double clocks_hz;       /* the sum over looks before */
};

struct ll_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    unsigned worker_count;
    pthread_t *workers;
    struct ll_pool_share *shares;    /* worker_count + 1 */
    atomic_uint_fast64_t job;        /* how many there have been */
    atomic_uint_fast64_t unfinished; /* chunks of this job */
    atomic_uint started;             /* workers that know their index */
    atomic_bool stopping;
    /* Of the job; read only by who has taken a chunk of it. */
    uint64_t count, grain, chunk_count;
    ll_pool_body *body;
    void *context;
    enum ll_denormals denormals; /* of the caller: whoever computes, the bits are the same */
    ll_pool_told *told;          /* NULL: nobody watches */
    void *told_context;
    struct ll_cpus before; /* the caller's CPUs before it was spread; of no set: it was not */
    struct ll_pool_quiet quiet;
};

/* The caller gets its CPUs back, if the pool was spread. */
void ll_pool_restore_caller(struct ll_pool *pool);

/* Whether this is a virtual machine whose host may move its CPUs about; false where that is not known. */
bool ll_cpus_are_virtual(void);

struct ll_pool_look {
    /* Of a line of memory from one thread's cache to another's and back, the longest among those of one
     * thread and each of the others; 0 when they did not meet. */
    double trip_s;
    double width;    /* additions at a time of the core that makes fewest; 0: not known */
    double clock_hz; /* of the slowest core, by additions in a row; 0: not known */
};

/* Some microseconds. By the owner. */
struct ll_pool_look ll_pool_look(struct ll_pool *pool);

/* What one does while one waits for another thread's word. */
static inline void ll_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

#endif
