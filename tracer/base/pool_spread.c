/* SPDX-License-Identifier: Apache-2.0 */
/* Who is woken up on a virtual machine often finds itself on the processor of whoever woke it, since an idle
 * one looks as if it had been taken away; it takes the system up to a tenth of a second to part them. So
 * threads that are timed are spread. */
#define _GNU_SOURCE
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
