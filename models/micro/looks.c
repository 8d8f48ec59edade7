/* SPDX-License-Identifier: Apache-2.0 */
#include "models/micro/looks.h"

#include "tracer/base/num.h"
#include "tracer/base/order.h"

#include <inttypes.h>

/* From what fits for certain to twice the cache; behind them, what lies beyond. */
static const uint64_t eighths[LL_LOOK_ROUNDS - 1] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 16};
static const double rests_s[LL_LOOK_RESTS] = {0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128};

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
        looks->rounds[i][looks->count] =
            ll_probe_triads(pool, ll_pool_threads(pool), round_bytes(looks, i)).value;
    looks->count++;
}

void ll_look_at_shared(struct ll_looks *looks, struct ll_pool *pool)
{
    double times[LL_PROBE_TIMES], rests[LL_LOOK_RESTS];
    uint64_t bytes = timed_bytes(looks), others = ll_min(looks->beyond, 4 * looks->size);
    if (looks->size == 0 || looks->count == LL_LOOKS)
        return;
    unsigned look = looks->count;
    looks->timed[look] = ll_probe_times(pool, bytes, others, times) &&
                         ll_probe_rests(pool, bytes, others, LL_LOOK_RESTS, rests_s, rests);
    for (int i = 0; i < LL_PROBE_TIMES && looks->timed[look]; i++)
        looks->times[i][look] = times[i];
    for (int i = 0; i < LL_LOOK_RESTS && looks->timed[look]; i++)
        looks->rests[i][look] = rests[i];
    ll_look_at_rounds(looks, pool);
}

/* Of the looks that count: all, or those that were timed. 0 when there are none. */
static double median_of(const struct ll_looks *looks, const double rates[LL_LOOKS], bool timed)
{
    double counted[LL_LOOKS];
    size_t count = 0;
    for (unsigned i = 0; i < looks->count; i++)
        if (looks->timed[i] || !timed)
            counted[count++] = rates[i];
    return count > 0 ? ll_median(counted, count) : 0;
}

static void add_text(const struct ll_looks *looks, struct ll_facts *facts, const char *what, const char *text)
{
    ll_facts_add(facts, ll_format(facts->arena, "probe.%s.%s", looks->level, what), "%s", text);
}

void ll_looks_facts(const struct ll_looks *looks, struct ll_facts *facts)
{
    const char *rounds = "", *times = "", *rests = "";
    bool timed = false;
    if (looks->count == 0)
        return;
    for (unsigned i = 0; i < looks->count; i++)
        timed |= looks->timed[i];
    for (int i = 0; i < LL_LOOK_ROUNDS; i++)
        rounds = ll_format(facts->arena, "%s%s%" PRIu64 "=%.4g", rounds, i ? " " : "", round_bytes(looks, i),
                           median_of(looks, looks->rounds[i], false));
    for (int i = 0; i < LL_PROBE_TIMES; i++)
        times = ll_format(facts->arena, "%s%s%" PRIu64 "=%.4g", times, i ? " " : "", timed_bytes(looks),
                          median_of(looks, looks->times[i], true));
    for (int i = 0; i < LL_LOOK_RESTS; i++)
        rests = ll_format(facts->arena, "%s%s%g=%.4g", rests, i ? " " : "", rests_s[i],
                          median_of(looks, looks->rests[i], true));
    add_text(looks, facts, "rounds", rounds);
    if (!timed)
        return;
    add_text(looks, facts, "times", times);
    add_text(looks, facts, "rests", rests);
}
