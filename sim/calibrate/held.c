/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/calibrate/held.h"

#include "sim/memory/residency.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 32, PARTS = 64, SHARES = 16 };

struct round {
    double bytes, Bps;
};

static size_t read_rounds(const char *text, struct round *rounds)
{
    static const double least = 1, most = 1e15;
    size_t count = 0;
    char *end;
    while (text && count < MOST_ROUNDS) {
        struct round round = {.bytes = strtod(text, &end)};
        if (end == text || *end != '=')
            break;
        round.Bps = strtod(end + 1, &end);
        if (!(round.bytes >= least && round.bytes <= most && round.Bps >= least && round.Bps <= most))
            break;
        rounds[count++] = round;
        text = end;
    }
    return count;
}

struct measured {
    struct round rounds[MOST_ROUNDS], times[MOST_ROUNDS];
    size_t round_count, time_count;
    double fastest_Bps;
};

/* How far the share that is found is from a rate: what is there comes at the fastest, the rest as when
 * nothing is there. Not in squares: one of the rates may be that of a moment in which somebody else was at
 * work. */
static double off_by(const struct measured *measured, double share, double nothing_Bps, double Bps)
{
    return fabs((share / measured->fastest_Bps + (1 - share) / nothing_Bps) * Bps - 1);
}

static double error_of(const struct ll_level *level, const struct measured *measured)
{
    const struct round *longest = &measured->rounds[measured->round_count - 1], *first = &measured->times[0];
    struct ll_cache_found found = ll_cache_finds(level, 0, NULL);
    double error = 0;
    for (const struct round *round = measured->rounds; round < longest; round++) {
        uint64_t array = (uint64_t)(round->bytes / 3);
        double share = ll_level_keeps(level, array, 2 * array) / fmax(1, (double)array);
        error += off_by(measured, share, longest->Bps, round->Bps);
    }
    for (size_t i = 1; i < measured->time_count; i++) {
        found = ll_cache_finds(level, (uint64_t)first->bytes, &found);
        error += off_by(measured, found.share, first->Bps, measured->times[i].Bps);
    }
    return error;
}

static void come_nearest(const struct measured *measured, uint64_t size_bytes, enum ll_cache_policy policy,
                         double admission, double *least, struct ll_cache_share *held)
{
    for (uint64_t part = 1; part <= PARTS; part++) {
        uint64_t bytes = ll_max(1, (uint64_t)((double)size_bytes / PARTS * (double)part));
        struct ll_level level = {
            .size_bytes = bytes, .cache_given = true, .cache = {.policy = policy, .admission = admission}};
        double error = error_of(&level, measured);
        if (error <= *least)
            *held = (struct ll_cache_share){bytes, policy, admission, held->Bps};
        *least = fmin(*least, error);
    }
}

struct ll_cache_share ll_held_of(uint64_t size_bytes, const char *rounds, const char *times)
{
    struct measured measured;
    measured.round_count = read_rounds(rounds, measured.rounds);
    measured.time_count = read_rounds(times, measured.times);
    struct ll_cache_share held = {size_bytes, LL_CACHE_LRU, 1, 0};
    double least = INFINITY;
    size_t last = measured.round_count - 1;
    for (size_t i = 0; i < measured.round_count; i++)
        held.Bps = fmax(held.Bps, measured.rounds[i].Bps);
    measured.fastest_Bps = held.Bps;
    if (measured.round_count < 2 || measured.rounds[last].Bps >= measured.rounds[0].Bps)
        return held;
    for (int share = measured.time_count > 1 ? 1 : SHARES; share <= SHARES; share++) {
        come_nearest(&measured, size_bytes, LL_CACHE_LRU, (double)share / SHARES, &least, &held);
        come_nearest(&measured, size_bytes, LL_CACHE_RANDOM, (double)share / SHARES, &least, &held);
    }
    return held;
}
