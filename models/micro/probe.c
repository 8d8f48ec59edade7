/* SPDX-License-Identifier: Apache-2.0 */
/* A cache is asked with a part of it in use, memory with many times what the largest cache holds, since that
 * may keep a part of what streams through it. */
#include "models/micro/probe.h"

#include "tracer/base/num.h"
#include "tracer/host.h"

#include <inttypes.h>
#include <math.h>
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

static double triad_Bps(struct ll_pool *pool, uint64_t bytes)
{
    return ll_probe_streams(pool, ll_pool_threads(pool), bytes).triad.value;
}

/* The most bytes, in eighths of its size, that stream faster than halfway between near and far. */
static uint64_t held_whole(struct ll_pool *pool, uint64_t size, double near, double far)
{
    enum { PARTS = 8 };
    uint64_t part = PARTS / 4;
    while (part < PARTS && triad_Bps(pool, size / PARTS * (part + 1)) > (near + far) / 2)
        part++;
    return size / PARTS * part;
}

/* How much of a cache that others use, too, keeps what streams through it. Of a round half as long again
 * as it, one that replaces by age keeps nothing. One that keeps a share h replaces as if at random, so that h
 * tells how large it is for us: h = exp(-(1 - h) round / held) (sim/memory/residency.h). */
static void add_held(struct ll_facts *facts, struct ll_pool *pool, uint64_t size, uint64_t memory)
{
    uint64_t round = size + size / 2;
    double near = triad_Bps(pool, size / 4), far = triad_Bps(pool, memory);
    double share = (1 / far - 1 / triad_Bps(pool, round)) / (1 / far - 1 / near);
    bool random = far < near && share > 0.1 && share < 1;
    uint64_t held =
        random ? (uint64_t)((share - 1) * (double)round / log(share)) : held_whole(pool, size, near, far);
    ll_facts_add(facts, "probe.l3.policy", "%s", random ? "random" : "lru");
    ll_facts_add(facts, "probe.l3.held_bytes", "%" PRIu64, ll_min(held, size));
}

void ll_probe_facts(struct ll_pool *pool, struct ll_facts *facts)
{
    enum { LEAST_MEMORY = 1 << 27 };
    uint64_t threads = ll_pool_threads(pool), l1 = fact_of(facts, "host.cache.l1d");
    uint64_t l2 = fact_of(facts, "host.cache.l2"), l3 = fact_of(facts, "host.cache.l3");
    uint64_t all = fact_of(facts, "host.memory_bytes"), caches = ll_max(l3, threads * l2);
    uint64_t largest = ll_max(LEAST_MEMORY, ll_min(16 * caches, all / 8));
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
    add_level(facts, pool, "dram", all, largest, largest);
}
