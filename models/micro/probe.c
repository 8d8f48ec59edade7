/* SPDX-License-Identifier: Apache-2.0 */
/* A cache is asked with a part of it in use: of the last one with no more than inner caches can do nothing
 * for, since it may be large and only partly ours. Memory is asked with many times what the largest cache
 * holds, since that may keep a part of what streams through it. */
#include "models/micro/probe.h"

#include "tracer/base/num.h"
#include "tracer/record/host.h"

#include <inttypes.h>
#include <stdio.h>

static void add_figure(struct ll_facts *facts, const char *level, const char *what, struct ll_figure figure)
{
    char key[64];
    snprintf(key, sizeof key, "probe.%s%s%s", level, *level ? "." : "", what);
    ll_facts_add(facts, key, "%.6g", figure.value);
    ll_facts_add(facts, ll_format(facts->arena, "%s.spread", key), "%.3f", figure.spread);
}

static struct ll_figure faster(struct ll_figure a, struct ll_figure b)
{
    return a.value > b.value ? a : b;
}

struct rates {
    struct ll_figure fastest, read;
};

static struct rates rates_of(struct ll_pool *pool, unsigned threads, uint64_t bytes)
{
    struct ll_streams streams = ll_probe_streams(pool, threads, bytes);
    return (struct rates){faster(streams.update, faster(streams.triad, streams.read)), streams.read};
}

/* `bytes` in use by all threads, `alone` by one. What all threads share is asked twice, some seconds apart:
 * others may share it, too. */
static void add_level(struct ll_facts *facts, struct ll_pool *pool, const char *level, uint64_t size,
                      uint64_t bytes, uint64_t alone)
{
    ll_facts_add(facts, ll_format(facts->arena, "probe.%s.size_bytes", level), "%" PRIu64, size);
    struct rates before = rates_of(pool, ll_pool_threads(pool), bytes), one = rates_of(pool, 1, alone);
    add_figure(facts, level, "alone_Bps", one.fastest);
    add_figure(facts, level, "alone_read_Bps", one.read);
    add_figure(facts, level, "latency_s", ll_probe_latency(alone));
    struct rates after = rates_of(pool, ll_pool_threads(pool), bytes);
    add_figure(facts, level, "bandwidth_Bps", faster(before.fastest, after.fastest));
    add_figure(facts, level, "read_Bps", faster(before.read, after.read));
}

/* Blocks that the caches of a core hold, still there or displaced. */
static void add_invalidation(struct ll_facts *facts, struct ll_pool *pool, uint64_t l2, uint64_t l3)
{
    if (l2 == 0 || ll_pool_threads(pool) < 2)
        return;
    ll_facts_add(facts, "probe.l2.invalidation_s", "%.4g", ll_probe_invalidation(pool, l2 / 4, 0));
    if (l3 > 0)
        ll_facts_add(facts, "probe.l3.invalidation_s", "%.4g", ll_probe_invalidation(pool, l2 / 4, 2 * l2));
}

static void add_rates(struct ll_facts *facts)
{
    add_figure(facts, "", "clock_hz", ll_probe_clock());
    add_figure(facts, "vector", "f32", ll_probe_vector_f32());
    add_figure(facts, "vector", "f64", ll_probe_vector_f64());
    add_figure(facts, "product", "f32", ll_probe_product_f32());
    add_figure(facts, "product", "f64", ll_probe_product_f64());
}

uint64_t ll_probe_past_l2(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { TIMES_OVER = 4 };
    uint64_t l2 = ll_facts_number(facts, "host.cache.l2"), l3 = ll_facts_number(facts, "host.cache.l3");
    uint64_t past = TIMES_OVER * ll_pool_threads(pool) * l2;
    return past > 0 ? ll_min(past, l3 / 4) : l3 / 4;
}

uint64_t ll_probe_beyond(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { LEAST_MEMORY = 1 << 27 };
    uint64_t l2 = ll_facts_number(facts, "host.cache.l2"), l3 = ll_facts_number(facts, "host.cache.l3");
    uint64_t caches = ll_max(l3, ll_pool_threads(pool) * l2);
    return ll_max(LEAST_MEMORY, ll_min(16 * caches, ll_facts_number(facts, "host.memory_bytes") / 8));
}

void ll_probe_facts(struct ll_pool *pool, struct ll_facts *facts, const struct ll_listener *listener)
{
    static const char what[] = "cores and memory";
    uint64_t threads = ll_pool_threads(pool), l1 = ll_facts_number(facts, "host.cache.l1d");
    uint64_t l2 = ll_facts_number(facts, "host.cache.l2"), l3 = ll_facts_number(facts, "host.cache.l3");
    uint64_t all = ll_facts_number(facts, "host.memory_bytes"), largest = ll_probe_beyond(pool, facts);
    uint64_t past_l2 = ll_probe_past_l2(pool, facts);
    bool goes_on = ll_tell(listener, what, 0);
    add_rates(facts);
    goes_on = goes_on && ll_tell(listener, what, 0.1);
    if (goes_on && l1)
        add_level(facts, pool, "l1", l1, threads * l1 / 2, l1 / 2);
    if (goes_on && l2)
        add_level(facts, pool, "l2", l2, threads * l2 / 2, l2 / 2);
    if (goes_on)
        add_invalidation(facts, pool, l2, l3);
    goes_on = goes_on && ll_tell(listener, what, 0.3);
    if (goes_on && l3)
        add_level(facts, pool, "l3", l3, past_l2, past_l2);
    if (goes_on && ll_tell(listener, what, 0.6))
        add_level(facts, pool, "dram", all, largest, largest);
    ll_tell(listener, what, 1);
}
