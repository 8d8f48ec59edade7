/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/calibrate/held.h"

#include "sim/memory/residency.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 32, PARTS = 64, SHARES = 16, CORUNNERS = 20 };

struct pair {
    double x, Bps;
};

struct pairs {
    struct pair at[MOST_ROUNDS];
    size_t count;
};

static void read_pairs(const char *text, struct pairs *pairs)
{
    static const double least = 1, most = 1e15;
    char *end;
    pairs->count = 0;
    while (text && pairs->count < MOST_ROUNDS) {
        struct pair pair = {.x = ll_strtod(text, &end)};
        if (end == text || *end != '=')
            break;
        pair.Bps = ll_strtod(end + 1, &end);
        if (!(pair.x > 0 && pair.x <= most && pair.Bps >= least && pair.Bps <= most))
            break;
        pairs->at[pairs->count++] = pair;
        text = end;
    }
}

struct measured {
    struct pairs rounds, times, rests;
    double fastest_Bps;
};

/* How far the share that is found is from a rate: what is there comes at the fastest, the rest as when
 * nothing is there. Not in squares: one of the rates may be that of a moment in which somebody else was at
 * work. */
static double off_by(const struct measured *measured, double share, double nothing_Bps, double Bps)
{
    return fabs((share / measured->fastest_Bps + (1 - share) / nothing_Bps) * Bps - 1);
}

/* What others bring into the level while so many bytes are read. */
static double brought(const struct ll_level *level, const struct pair *stream)
{
    return level->cache.corunners_Bps * stream->x / stream->Bps;
}

static double error_of_rounds(const struct ll_level *level, const struct measured *measured)
{
    const struct pair *longest = &measured->rounds.at[measured->rounds.count - 1];
    double error = 0;
    for (const struct pair *round = measured->rounds.at; round < longest; round++) {
        uint64_t bytes = (uint64_t)round->x;
        double kept = ll_level_keeps(level, bytes, (struct ll_round){bytes, brought(level, round)});
        error += off_by(measured, kept / fmax(1, (double)bytes), longest->Bps, round->Bps);
    }
    return error;
}

static double error_of_times(const struct ll_level *level, const struct measured *measured)
{
    const struct pair *first = &measured->times.at[0];
    if (measured->times.count == 0)
        return 0;
    struct ll_round round = {(uint64_t)first->x, 0};
    struct ll_cache_found found = ll_cache_finds(level, round, NULL);
    double error = 0;
    for (size_t i = 1; i < measured->times.count; i++) {
        round.corunners = brought(level, &measured->times.at[i]);
        found = ll_cache_finds(level, round, &found);
        error += off_by(measured, found.share, first->Bps, measured->times.at[i].Bps);
    }
    for (size_t i = 0; i < measured->rests.count; i++) {
        round.corunners = level->cache.corunners_Bps * measured->rests.at[i].x;
        struct ll_cache_found then = ll_cache_finds(level, round, &found);
        error += off_by(measured, then.share, first->Bps, measured->rests.at[i].Bps);
    }
    return error;
}

static void come_nearest(const struct measured *measured, uint64_t size_bytes, struct ll_level *level,
                         double *least, struct ll_cache_share *held)
{
    for (uint64_t part = 1; part <= PARTS; part++) {
        level->size_bytes = ll_max(1, (uint64_t)((double)size_bytes / PARTS * (double)part));
        double error = error_of_times(level, measured);
        if (error <= *least)
            error += error_of_rounds(level, measured);
        if (error <= *least)
            *held = (struct ll_cache_share){level->size_bytes, level->cache.policy, level->cache.admission,
                                            level->cache.corunners_Bps, held->Bps};
        *least = fmin(*least, error);
    }
}

/* None, then from an eighth of a GB/s on in steps of the root of two. */
static double corunners_Bps(int step)
{
    return step > 0 ? 125e6 * exp2((step - 1) / 2.0) : 0;
}

struct ll_cache_share ll_held_of(uint64_t size_bytes, const struct ll_cache_rates *rates)
{
    struct measured measured;
    read_pairs(rates->rounds, &measured.rounds);
    read_pairs(rates->times, &measured.times);
    read_pairs(rates->rests, &measured.rests);
    struct ll_cache_share held = {size_bytes, LL_CACHE_LRU, 1, 0, 0};
    double least = INFINITY;
    size_t last = measured.rounds.count - 1;
    for (size_t i = 0; i < measured.rounds.count; i++)
        held.Bps = fmax(held.Bps, measured.rounds.at[i].Bps);
    measured.fastest_Bps = held.Bps;
    if (measured.rounds.count < 2 || measured.rounds.at[last].Bps >= measured.rounds.at[0].Bps)
        return held;
    bool timed = measured.times.count > 1, rested = timed && measured.rests.count > 0;
    for (int share = timed ? 1 : SHARES; share <= SHARES; share++)
        for (int corunners = 0; corunners <= (rested ? CORUNNERS : 0); corunners++) {
            struct ll_level level = {.cache_given = true,
                                     .cache.admission = (double)share / SHARES,
                                     .cache.corunners_Bps = corunners_Bps(corunners)};
            level.cache.policy = LL_CACHE_LRU;
            come_nearest(&measured, size_bytes, &level, &least, &held);
            level.cache.policy = LL_CACHE_RANDOM;
            come_nearest(&measured, size_bytes, &level, &least, &held);
        }
    return held;
}
