/* SPDX-License-Identifier: Apache-2.0 */
/* What the levels of a machine keep from one use of bytes to the next, by the laws at the head of
 * residency.h. Distances come from residency.c and are the same for all machines; who leaves something in a
 * cache at all (`fills_caches`, `past`) is the machine's. */
#include "sim/memory/residency.h"

#include <math.h>

/* A memory serves the next op only where there is but one of it, and where nothing passes by it. */
static bool shared(const struct ll_machine *machine, uint64_t level)
{
    return ll_level_holds_all(&machine->levels[level]) && ll_machine_instances(machine, level) == 1;
}

/* Of what was there, what is left when x times as many bytes as the cache holds have come around: f = g(f) =
 * stay has exp(-x (admitted before + (1 - f) q) / 2). The root below 1 counts: g is convex, so Newton's steps
 * from 0 come up to it and never pass it, but for rounding where it is near 1. */
static struct ll_cache_found at_random(double q, double x, double stay, const struct ll_cache_found *before)
{
    double share = 0, first = stay * before->has * exp(-x * (before->admitted + q) / 2), next = first;
    while (next > share) {
        share = next;
        double found = first * exp(share * q / 2 * x);
        next = share + (found - share) / (1 - q * x / 2 * found);
    }
    share = fmin(share, 1);
    double admitted = (1 - share) * q;
    return (struct ll_cache_found){.share = share, .has = share + admitted, .admitted = admitted};
}

/* Whether a memory that keeps what was used last has it still. */
static bool young(const struct ll_level *level, struct ll_round round)
{
    return (double)round.bytes + round.corunners <= (double)level->size_bytes;
}

struct ll_cache_found ll_cache_finds(const struct ll_level *level, struct ll_round round,
                                     const struct ll_cache_found *before)
{
    double q = ll_cache_admission(&level->cache), size = (double)level->size_bytes;
    if (!before || !ll_fits(round.bytes))
        return (struct ll_cache_found){.has = q, .admitted = q};
    if (level->cache.policy == LL_CACHE_RANDOM)
        return at_random(q, (double)round.bytes / size, exp(-round.corunners / size), before);
    double share = young(level, round) ? before->has : 0, admitted = (1 - share) * q;
    return (struct ll_cache_found){.share = share, .has = share + admitted, .admitted = admitted};
}

double ll_level_keeps(const struct ll_level *level, uint64_t bytes, struct ll_round round)
{
    enum { MOST_TIMES = 200 };
    static const double SETTLED = 1e-5;
    uint64_t size = level->size_bytes, distance = round.bytes - ll_min(bytes, round.bytes);
    if (!level->cache_given)
        return distance < size && ll_fits(round.bytes) ? (double)ll_min(bytes, size - distance) : 0;
    if (young(level, round))
        return (double)bytes;
    struct ll_cache_found found = ll_cache_finds(level, round, NULL);
    for (int time = 0; time < MOST_TIMES; time++) {
        double last = found.share;
        found = ll_cache_finds(level, round, &found);
        if (fabs(found.share - last) < SETTLED)
            break;
    }
    return (double)bytes * found.share;
}

/* What an op is asked about: what was left where, by when. */
struct asking {
    const struct ll_residency *residency;
    const struct ll_machine *machine;
    struct ll_clock clock;
};

static double begun_s(const struct asking *asking, uint32_t op)
{
    const struct ll_clock *clock = &asking->clock;
    return clock->begun_s && op >= clock->first ? clock->begun_s[op - clock->first] : 0;
}

/* Whether the host wrote these bytes last, through the caches. */
static bool just_came(const struct asking *asking, const struct ll_reuse *reuse)
{
    return reuse->arrived > 0 && asking->machine->host.fills_caches;
}

static bool writes_past(const struct asking *asking, const struct ll_reuse *reuse)
{
    const struct ll_software *software = &asking->machine->software;
    return software->past_bytes > 0 && reuse->written && reuse->bytes >= software->past_bytes &&
           reuse->kind < LL_OP_COUNT && software->past_ops[reuse->kind];
}

/* Who used these bytes last and may have left them in a cache; NULL: nobody has. */
static const struct ll_reuse *before(const struct asking *asking, const struct ll_reuse *reuse)
{
    uint64_t index = just_came(asking, reuse) ? reuse->arrived : reuse->before;
    const struct ll_reuse *last = index > 0 ? &asking->residency->reuses[index - 1] : NULL;
    return last && !writes_past(asking, last) && !writes_past(asking, reuse) ? last : NULL;
}

/* Bytes touched since then, LL_NO_FIT when nobody has left them. */
static uint64_t since(const struct asking *asking, const struct ll_reuse *reuse)
{
    return !before(asking, reuse)     ? LL_NO_FIT
           : just_came(asking, reuse) ? reuse->since_arrival
                                      : reuse->since;
}

static struct ll_round round_of(const struct asking *asking, const struct ll_reuse *reuse,
                                const struct ll_level *level)
{
    const struct ll_reuse *last = before(asking, reuse);
    struct ll_round round = {ll_add(since(asking, reuse), reuse->bytes), 0};
    if (last && level->cache.corunners_Bps > 0)
        round.corunners =
            level->cache.corunners_Bps * fmax(0, begun_s(asking, reuse->op) - begun_s(asking, last->op));
    return round;
}

static bool is_product(enum ll_op_kind kind)
{
    return kind < LL_OP_COUNT && ll_class_is_product(ll_op_class(kind));
}

/* Whether who used these bytes last left them where this op finds them. */
static bool is_near(const struct asking *asking, const struct ll_reuse *reuse, const struct ll_level *level)
{
    const struct ll_reuse *last = before(asking, reuse);
    return !level->cache.affinity || (last && is_product(last->kind) == is_product(reuse->kind));
}

/* What the cache further in, if one serves the next op as well, keeps when it is used so for ever. */
static double kept_inside(const struct asking *asking, const struct ll_reuse *reuse,
                          const struct ll_level *inside)
{
    bool serves = inside && is_near(asking, reuse, inside);
    return serves ? ll_level_keeps(inside, reuse->bytes, round_of(asking, reuse, inside)) : 0;
}

/* The share of its bytes that a reuse finds in a cache, by the last times that it was asked for them; when
 * there were more, these are taken to have been like the first that is looked at. */
static double found_share(const struct asking *asking, const struct ll_reuse *reuse,
                          const struct ll_level *level, const struct ll_level *inside)
{
    enum { MOST_TIMES = 5, MOST_USES = 20 };
    struct ll_round rounds[MOST_TIMES] = {round_of(asking, reuse, level)};
    size_t count = 1;
    for (int use = 0; use < MOST_USES && count < MOST_TIMES && ll_fits(since(asking, reuse)); use++) {
        reuse = before(asking, reuse);
        if (2 * kept_inside(asking, reuse, inside) < (double)reuse->bytes)
            rounds[count++] = round_of(asking, reuse, level);
    }
    for (; count < MOST_TIMES && ll_fits(since(asking, reuse)); count++)
        rounds[count] = rounds[count - 1];
    struct ll_cache_found found = ll_cache_finds(level, (struct ll_round){LL_NO_FIT, 0}, NULL);
    while (count-- > 0)
        found = ll_cache_finds(level, rounds[count], &found);
    return found.share;
}

static double kept_of(const struct asking *asking, const struct ll_reuse *reuse, const struct ll_level *level,
                      const struct ll_level *inside)
{
    if (kept_inside(asking, reuse, inside) >= (double)reuse->bytes)
        return (double)reuse->bytes;
    if (!is_near(asking, reuse, level))
        return 0;
    if (level->cache_given)
        return (double)reuse->bytes * found_share(asking, reuse, level, inside);
    return ll_level_keeps(level, reuse->bytes, (struct ll_round){ll_add(reuse->distance, reuse->bytes), 0});
}

/* What this level keeps (none: NULL), behind a cache (none: NULL), and what passes through registers. */
static double kept_bytes(const struct asking *asking, uint32_t op, uint64_t held,
                         const struct ll_level *level, const struct ll_level *inside)
{
    double kept = 0;
    uint64_t first = asking->residency->first[op];
    for (uint64_t i = first; i < asking->residency->first[op + 1]; i++) {
        const struct ll_reuse *reuse = &asking->residency->reuses[i];
        if (i - first < 64 && (held >> (i - first) & 1))
            kept += (double)reuse->bytes;
        else if (level && !reuse->by_host)
            kept += kept_of(asking, reuse, level, inside);
    }
    return kept;
}

/* Of the bytes that a use overwrites, those that the level has and that every unit has read since they were
 * written last. */
static double shared_by_all(const struct asking *asking, const struct ll_reuse *reuse,
                            const struct ll_level *level)
{
    enum { MOST_USES = 8 };
    uint64_t bytes = reuse->bytes;
    struct ll_round round = {bytes, 0};
    double shared = 0;
    for (int use = 0; use < MOST_USES; use++) {
        const struct ll_reuse *last = before(asking, reuse);
        round.bytes = ll_add(round.bytes, since(asking, reuse));
        if (!last || !ll_fits(round.bytes) || last->written)
            break;
        if (last->everywhere)
            shared = fmax(shared, ll_level_keeps(level, ll_min(bytes, last->bytes), round));
        reuse = last;
    }
    return shared;
}

static double shared_bytes(const struct asking *asking, uint32_t op, const struct ll_level *level)
{
    double bytes = 0;
    if (!level->cache_given || level->cache.invalidation_s == 0)
        return 0;
    for (uint64_t i = asking->residency->first[op]; i < asking->residency->first[op + 1]; i++) {
        const struct ll_reuse *reuse = &asking->residency->reuses[i];
        if (reuse->written && !reuse->by_host)
            bytes += shared_by_all(asking, reuse, level);
    }
    return bytes;
}

void ll_residency_saved(const struct ll_residency *residency, const struct ll_machine *machine, uint32_t op,
                        uint64_t held, struct ll_clock clock, struct ll_leftovers *found)
{
    const struct asking asking = {residency, machine, clock};
    double in_registers = kept_bytes(&asking, op, held, NULL, NULL), saved = in_registers, shared_inside = 0;
    const struct ll_level *inside = NULL;
    for (uint64_t l = 0; l < LL_MAX_LEVELS; l++) {
        found->saved_bytes[l] = saved;
        found->shared_bytes[l] = 0;
        if (l + 1 >= machine->level_count) {
            saved = in_registers;
        } else if (shared(machine, l)) {
            const struct ll_level *level = &machine->levels[l];
            double shared_here = fmax(shared_inside, shared_bytes(&asking, op, level));
            saved = fmax(saved, kept_bytes(&asking, op, held, level, inside));
            found->shared_bytes[l] = shared_here - shared_inside;
            shared_inside = shared_here;
            inside = level->cache_given ? level : inside;
        }
    }
}
