/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/calibrate/held.h"

#include "sim/memory/residency.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 32, PARTS = 64 };

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

static double error_of(const struct ll_level *level, const struct round *rounds, size_t count)
{
    double near = 1 / rounds[0].Bps, far = 1 / rounds[count - 1].Bps, error = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t array = (uint64_t)(rounds[i].bytes / 3);
        double share = ll_level_keeps(level, array, 2 * array) / fmax(1, (double)array);
        double off = (share * near + (1 - share) * far) * rounds[i].Bps - 1;
        error += off * off;
    }
    return error;
}

struct ll_cache_share ll_held_of(uint64_t size_bytes, const char *text)
{
    static const enum ll_cache_policy policies[] = {LL_CACHE_LRU, LL_CACHE_RANDOM};
    struct round rounds[MOST_ROUNDS];
    size_t count = read_rounds(text, rounds);
    struct ll_cache_share held = {size_bytes, LL_CACHE_LRU, 0};
    double least = INFINITY;
    for (size_t i = 0; i < count; i++)
        held.Bps = fmax(held.Bps, rounds[i].Bps);
    if (count < 2 || rounds[count - 1].Bps >= rounds[0].Bps)
        return held;
    for (uint64_t part = 1; part <= PARTS; part++)
        for (size_t i = 0; i < 2; i++) {
            uint64_t bytes = ll_max(1, (uint64_t)((double)size_bytes / PARTS * (double)part));
            struct ll_level level = {
                .size_bytes = bytes, .cache_given = true, .cache = {.policy = policies[i]}};
            double error = error_of(&level, rounds, count);
            if (error <= least)
                held = (struct ll_cache_share){bytes, policies[i], held.Bps};
            least = fmin(least, error);
        }
    return held;
}
