/* SPDX-License-Identifier: Apache-2.0 */
#include "models/micro/looks.h"

#include "tracer/base/num.h"
#include "tracer/base/map.h"

/* From what fits for certain, even where a small part of a large cache is ours, to twice the cache; behind
 * them, what lies beyond. */
static const uint64_t sixteenths[LL_LOOK_ROUNDS - 1] = {1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32};
static const double rests_s[LL_LOOK_RESTS] = {0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128};

struct ll_looks ll_looks_at(const char *level, uint64_t size, uint64_t least, uint64_t beyond)
{
    struct ll_looks looks = {.level = level, .size = size};
    for (int i = 0; i < LL_LOOK_ROUNDS - 1; i++)
        if (size / 16 * sixteenths[i] >= least)
            looks.round_bytes[looks.round_count++] = size / 16 * sixteenths[i];
    looks.round_bytes[looks.round_count++] = beyond;
    return looks;
}

struct ll_looks ll_looks_at_l2(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { TIMES_OVER = 8 };
    uint64_t size = ll_pool_threads(pool) * ll_facts_number(facts, "host.cache.l2");
    return ll_looks_at("l2", size, size / 4, TIMES_OVER * size);
}

struct ll_looks ll_looks_at_l3(const struct ll_pool *pool, const struct ll_facts *facts)
{
    return ll_looks_at("l3", ll_facts_number(facts, "host.cache.l3"), ll_probe_past_l2(pool, facts),
                       ll_probe_beyond(pool, facts));
}

static uint64_t timed_bytes(const struct ll_looks *looks)
{
    return looks->size / 8;
}

void ll_look_at_rounds(struct ll_looks *looks, struct ll_pool *pool)
{
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    for (size_t i = 0; i < looks->round_count; i++)
        looks->rounds[looks->count][i] = ll_probe_rounds(pool, looks->round_bytes[i]);
    looks->count++;
}

void ll_look_at_shared(struct ll_looks *looks, struct ll_pool *pool)
{
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    uint64_t bytes = timed_bytes(looks), beyond = looks->round_bytes[looks->round_count - 1];
    uint64_t others = ll_min(beyond, 4 * looks->size);
    looks->timed += ll_probe_times(pool, bytes, others, looks->times[looks->timed]) &&
                    ll_probe_rests(pool, bytes, others, LL_LOOK_RESTS, rests_s, looks->rests[looks->timed]);
    ll_look_at_rounds(looks, pool);
}

/* Rates of a few points, each row a look. */
struct rows {
    const double *rates;
    size_t width, points;
    unsigned looks;
};

/* X=RATE for each x. */
static void add_medians(struct ll_facts *facts, const char *key, const struct rows *rows, const double *x)
{
    const char *text = "";
    for (size_t i = 0; rows->looks > 0 && i < rows->points; i++) {
        double column[LL_LOOKS];
        for (unsigned look = 0; look < rows->looks; look++)
            column[look] = rows->rates[look * rows->width + i];
        text = ll_format(facts->arena, "%s%s%.15g=%.4g", text, i ? " " : "", x[i],
                         ll_median(column, rows->looks));
    }
    if (rows->looks > 0)
        ll_facts_add(facts, key, "%s", text);
}

static const char *key_of(const struct ll_looks *looks, const char *what, struct ll_facts *facts)
{
    return ll_format(facts->arena, "probe.%s.%s", looks->level, what);
}

void ll_looks_facts(const struct ll_looks *looks, struct ll_facts *facts)
{
    double round_bytes[LL_LOOK_ROUNDS], times[LL_PROBE_TIMES];
    const struct rows rows[] = {{*looks->rounds, LL_LOOK_ROUNDS, looks->round_count, looks->count},
                                {*looks->times, LL_PROBE_TIMES, LL_PROBE_TIMES, looks->timed},
                                {*looks->rests, LL_LOOK_RESTS, LL_LOOK_RESTS, looks->timed}};
    for (size_t i = 0; i < looks->round_count; i++)
        round_bytes[i] = (double)looks->round_bytes[i];
    for (int i = 0; i < LL_PROBE_TIMES; i++)
        times[i] = (double)timed_bytes(looks);
    add_medians(facts, key_of(looks, "rounds", facts), &rows[0], round_bytes);
    add_medians(facts, key_of(looks, "times", facts), &rows[1], times);
    add_medians(facts, key_of(looks, "rests", facts), &rows[2], rests_s);
}
