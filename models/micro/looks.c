/* SPDX-License-Identifier: Apache-2.0 */
#include "models/micro/looks.h"

#include "tracer/base/num.h"
#include "tracer/base/order.h"

/* From what fits for certain to twice the cache; behind them, what lies beyond. */
static const uint64_t eighths[LL_LOOK_ROUNDS - 1] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 16};
static const double rests_s[LL_LOOK_RESTS] = {0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128};

struct ll_looks ll_looks_at_l2(const struct ll_pool *pool, const struct ll_facts *facts)
{
    enum { TIMES_OVER = 8 };
    uint64_t size = ll_pool_threads(pool) * ll_facts_number(facts, "host.cache.l2");
    return (struct ll_looks){.level = "l2", .size = size, .beyond = TIMES_OVER * size};
}

struct ll_looks ll_looks_at_l3(const struct ll_pool *pool, const struct ll_facts *facts)
{
    return (struct ll_looks){.level = "l3",
                             .size = ll_facts_number(facts, "host.cache.l3"),
                             .beyond = ll_probe_beyond(pool, facts)};
}

static uint64_t round_bytes(const struct ll_looks *looks, int round)
{
    return round < LL_LOOK_ROUNDS - 1 ? looks->size / 8 * eighths[round] : looks->beyond;
}

static uint64_t timed_bytes(const struct ll_looks *looks)
{
    return looks->size / 8;
}

void ll_look_at_rounds(struct ll_looks *looks, struct ll_pool *pool)
{
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    for (int i = 0; i < LL_LOOK_ROUNDS; i++)
        looks->rounds[looks->count][i] = ll_probe_rounds(pool, round_bytes(looks, i));
    looks->count++;
}

void ll_look_at_shared(struct ll_looks *looks, struct ll_pool *pool)
{
    uint64_t bytes = timed_bytes(looks), others = ll_min(looks->beyond, 4 * looks->size);
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    looks->timed += ll_probe_times(pool, bytes, others, looks->times[looks->timed]) &&
                    ll_probe_rests(pool, bytes, others, LL_LOOK_RESTS, rests_s, looks->rests[looks->timed]);
    ll_look_at_rounds(looks, pool);
}

/* X=RATE for each x: the rates of a look stand in a row, of which there are `looks`. */
static void add_medians(struct ll_facts *facts, const char *key, unsigned looks, size_t points,
                        const double *x, const double *rates)
{
    const char *text = "";
    for (size_t i = 0; looks > 0 && i < points; i++) {
        double column[LL_LOOKS];
        for (unsigned look = 0; look < looks; look++)
            column[look] = rates[look * points + i];
        text = ll_format(facts->arena, "%s%s%.15g=%.4g", text, i ? " " : "", x[i], ll_median(column, looks));
    }
    if (looks > 0)
        ll_facts_add(facts, key, "%s", text);
}

static const char *key_of(const struct ll_looks *looks, const char *what, struct ll_facts *facts)
{
    return ll_format(facts->arena, "probe.%s.%s", looks->level, what);
}

void ll_looks_facts(const struct ll_looks *looks, struct ll_facts *facts)
{
    double rounds[LL_LOOK_ROUNDS], times[LL_PROBE_TIMES];
    if (looks->count == 0)
        return;
    for (int i = 0; i < LL_LOOK_ROUNDS; i++)
        rounds[i] = (double)round_bytes(looks, i);
    for (int i = 0; i < LL_PROBE_TIMES; i++)
        times[i] = (double)timed_bytes(looks);
    add_medians(facts, key_of(looks, "rounds", facts), looks->count, LL_LOOK_ROUNDS, rounds, *looks->rounds);
    add_medians(facts, key_of(looks, "times", facts), looks->timed, LL_PROBE_TIMES, times, *looks->times);
    add_medians(facts, key_of(looks, "rests", facts), looks->timed, LL_LOOK_RESTS, rests_s, *looks->rests);
}
