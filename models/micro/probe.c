/* SPDX-License-Identifier: Apache-2.0 */
/* A cache is asked with a part of it in use, memory with several times what the largest cache holds. */
#include "models/micro/probe.h"

#include "tracer/base/num.h"
#include "tracer/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_figure(struct ll_facts *facts, const char *level, const char *what, struct ll_figure figure)
{
    char key[64];
    snprintf(key, sizeof key, "probe.%s%s%s", level, *level ? "." : "", what);
    ll_facts_add(facts, key, "%.6g", figure.value);
    ll_facts_add(facts, ll_format(facts->arena, "%s.spread", key), "%.3f", figure.spread);
}

static uint64_t fact_of(const struct ll_facts *facts, const char *key)
{
    for (uint64_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return strtoull(facts->items[i].value, NULL, 10);
    return 0;
}

static struct ll_figure fastest(struct ll_streams streams)
{
    return streams.triad.value > streams.read.value ? streams.triad : streams.read;
}

/* `bytes` in use by all threads, `alone` by one. */
static void add_level(struct ll_facts *facts, struct ll_pool *pool, const char *level, uint64_t size,
                      uint64_t bytes, uint64_t alone)
{
    ll_facts_add(facts, ll_format(facts->arena, "probe.%s.size_bytes", level), "%" PRIu64, size);
    add_figure(facts, level, "bandwidth_Bps", fastest(ll_probe_streams(pool, ll_pool_threads(pool), bytes)));
    add_figure(facts, level, "alone_Bps", fastest(ll_probe_streams(pool, 1, alone)));
    add_figure(facts, level, "latency_s", ll_probe_latency(alone));
}

/* How much of a cache that others use, too, keeps what streams through it: the most bytes, in eighths of its
 * size, that are read faster than halfway between a quarter of it and memory. */
static void add_held(struct ll_facts *facts, struct ll_pool *pool, uint64_t size, uint64_t far)
{
    enum { PARTS = 8 };
    unsigned threads = ll_pool_threads(pool);
    double near = ll_probe_streams(pool, threads, size / 4).read.value;
    double middle = (near + ll_probe_streams(pool, threads, far).read.value) / 2;
    uint64_t part = PARTS / 4;
    while (part < PARTS && ll_probe_streams(pool, threads, size / PARTS * (part + 1)).read.value > middle)
        part++;
    ll_facts_add(facts, "probe.l3.held_bytes", "%" PRIu64, size / PARTS * part);
}

void ll_probe_facts(struct ll_pool *pool, struct ll_facts *facts)
{
    enum { LEAST_MEMORY = 1 << 27 };
    uint64_t threads = ll_pool_threads(pool), l1 = fact_of(facts, "host.cache.l1d");
    uint64_t l2 = fact_of(facts, "host.cache.l2"), l3 = fact_of(facts, "host.cache.l3");
    uint64_t largest = ll_max(LEAST_MEMORY, 4 * ll_max(l3, threads * l2));
    add_figure(facts, "", "clock_hz", ll_probe_clock());
    add_figure(facts, "vector", "f32", ll_probe_vector_f32());
    add_figure(facts, "vector", "f64", ll_probe_vector_f64());
    add_figure(facts, "product", "f32", ll_probe_product_f32());
    add_figure(facts, "product", "f64", ll_probe_product_f64());
    if (l1)
        add_level(facts, pool, "l1", l1, threads * l1 / 2, l1 / 2);
    if (l2)
        add_level(facts, pool, "l2", l2, threads * l2 / 2, l2 / 2);
    if (l3) {
        add_level(facts, pool, "l3", l3, l3 / 4, l3 / 4);
        add_held(facts, pool, l3, largest);
    }
    add_level(facts, pool, "dram", fact_of(facts, "host.memory_bytes"), largest, largest);
}
