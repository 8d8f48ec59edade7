/* SPDX-License-Identifier: Apache-2.0 */
/* The cache state between ops: what each level of a machine keeps from one use of bytes to the next, by the
 * laws in residency.h. Reuse distances come from residency.c and are the same for all machines; whether a
 * unit's ops leave anything in a cache (`fills_caches`) depends on the machine. */
#include "sim/memory/residency.h"

#include <assert.h>
#include <math.h>

/* A memory serves the next op only where there is but one of it, and a cache where nothing passes by it. */
static bool shared(const struct ll_machine *machine, uint64_t level)
{
    const struct ll_level *it = &machine->levels[level];
    return ll_machine_instances(machine, level) == 1 && (ll_level_holds_all(it) || !it->cache_given);
}

/* What is found, f, of what was there when it began to come, the share `was` of it, while the rest, of which
 * the share q is let in, displaces it: f = g(f) = was exp(-x (1 - f) q / 2), for x times as many bytes as the
 * cache holds. The root below 1 counts: g is convex, so Newton's steps from 0 come up to it and never pass
 * it, but for rounding where it is near 1. */
static struct ll_cache_found at_random(double q, double x, double was)
{
    double share = 0, first = was * exp(-x * q / 2), next = first;
    while (next > share) {
        share = next;
        double found = first * exp(share * q / 2 * x);
        next = share + (found - share) / (1 - q * x / 2 * found);
    }
    share = fmin(share, 1);
    assert(q > 0 && q <= 1 && x >= 0 && share >= 0);
    double admitted = (1 - share) * q;
    return (struct ll_cache_found){.share = share, .has = share + admitted, .admitted = admitted};
}

/* The share of its lines that a cache which keeps what was used last has still. */
static double young(const struct ll_level *level, struct ll_round round)
{
    return ll_cache_left(&level->cache, level->size_bytes,
                         ((double)round.bytes + round.corunners) / (double)level->size_bytes);
}

static struct ll_cache_found by_age(const struct ll_level *level, struct ll_round round, double was)
{
    double share = young(level, round) * was, admitted = (1 - share) * ll_cache_admission(&level->cache);
    assert(was >= 0 && was <= 1 && share >= 0 && share <= was);
    return (struct ll_cache_found){.share = share, .has = share + admitted, .admitted = admitted};
}

struct ll_cache_found ll_cache_finds(const struct ll_level *level, struct ll_round round,
                                     const struct ll_cache_found *before)
{
    assert(level->cache_given && level->size_bytes > 0);
    double q = ll_cache_admission(&level->cache), size = (double)level->size_bytes;
    if (!before || !ll_fits(round.bytes))
        return (struct ll_cache_found){.has = q, .admitted = q};
    if (level->cache.policy != LL_CACHE_RANDOM)
        return by_age(level, round, before->has);
    double came = (double)round.bytes / size * before->admitted / 2;
    return at_random(q, (double)round.bytes / size, before->has * exp(-came - round.corunners / size));
}

double ll_level_keeps(const struct ll_level *level, uint64_t bytes, struct ll_round round)
{
    enum { MOST_TIMES = 200 };
    static const double SETTLED = 1e-5;
    uint64_t size = level->size_bytes, distance = round.bytes - ll_min(bytes, round.bytes);
    if (!level->cache_given)
        return distance < size && ll_fits(round.bytes) ? (double)ll_min(bytes, size - distance) : 0;
    double admission = ll_cache_admission(&level->cache), share = young(level, round);
    if (level->cache.policy != LL_CACHE_RANDOM)
        return (double)bytes * share * admission / (1 - share * (1 - admission));
    if ((double)round.bytes + round.corunners <= (double)size)
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
    struct ll_so_far so_far;
    uint32_t shared; /* levels, a bit each, that serve the next op, too */
};

static uint32_t shared_levels(const struct ll_machine *machine)
{
    uint32_t levels = 0;
    for (uint64_t l = 0; l < machine->level_count; l++)
        levels |= (uint32_t)shared(machine, l) << l;
    return levels;
}

static double begun_s(const struct asking *asking, uint32_t op)
{
    const struct ll_so_far *so_far = &asking->so_far;
    return so_far->begun_s && op >= so_far->first ? so_far->begun_s[op - so_far->first] : 0;
}

/* Whether the host wrote these bytes last, through the caches. */
static bool just_came(const struct asking *asking, const struct ll_reuse *reuse)
{
    return reuse->arrived > 0 && asking->machine->host.fills_caches;
}

/* Who used these bytes last and may have left them in a cache; NULL: nobody has. */
static const struct ll_reuse *before(const struct asking *asking, const struct ll_reuse *reuse)
{
    uint64_t index = just_came(asking, reuse) ? reuse->arrived : reuse->before;
    const struct ll_reuse *last = index > 0 ? &asking->residency->reuses[index - 1] : NULL;
    return last;
}

/* Bytes touched since `last` used these, LL_NO_FIT when nobody has left them. */
static uint64_t since(const struct asking *asking, const struct ll_reuse *reuse, const struct ll_reuse *last)
{
    return !last ? LL_NO_FIT : just_came(asking, reuse) ? reuse->since_arrival : reuse->since;
}

static struct ll_round round_of(const struct asking *asking, const struct ll_reuse *reuse,
                                const struct ll_level *level)
{
    const struct ll_reuse *last = before(asking, reuse);
    struct ll_round round = {ll_add(since(asking, reuse, last), reuse->bytes), 0};
    if (last && level->cache.corunners_Bps > 0)
        round.corunners =
            level->cache.corunners_Bps * fmax(0, begun_s(asking, reuse->op) - begun_s(asking, last->op));
    return round;
}

/* Whether who used these bytes last left them where this op finds them. */
static bool is_near(const struct asking *asking, const struct ll_reuse *reuse, const struct ll_level *level)
{
    const struct ll_reuse *last = before(asking, reuse);
    return !level->cache.affinity || (last && ll_kind_is_gemm(last->kind) == ll_kind_is_gemm(reuse->kind));
}

/* --- what caches have let in --- */

/* Of a use, the share that it found, and the share that was there when it was over; how many bytes the cache
 * had let in by the middle of it. */
struct met {
    double found, has, let_in;
};

struct ll_history {
    const struct ll_residency *residency;
    const struct ll_machine *machine;
    uint32_t shared;                /* shared_levels of the machine */
    bool matters;                   /* what an op finds depends on more than reuse distances */
    struct met *met[LL_MAX_LEVELS]; /* by reuse; NULL: of this level there is no need to know */
    double let_in[LL_MAX_LEVELS];   /* bytes so far */
};

/* What a cache finds that replaces by age and lets everything in follows from distances alone. */
static bool has_history(const struct ll_level *level)
{
    return level->cache_given &&
           (level->cache.policy == LL_CACHE_RANDOM || ll_cache_admission(&level->cache) < 1);
}

/* A use comes to the level. */
static void meet(const struct asking *asking, const struct ll_reuse *reuse, uint64_t l,
                 struct ll_history *history)
{
    const struct ll_level *level = &asking->machine->levels[l];
    const struct ll_reuse *reuses = asking->residency->reuses, *last = before(asking, reuse);
    double size = (double)level->size_bytes, bytes = (double)reuse->bytes;
    double was = last && is_near(asking, reuse, level) ? history->met[l][last - reuses].has : 0;
    struct ll_round round = round_of(asking, reuse, level);
    struct ll_cache_found found;
    if (level->cache.policy == LL_CACHE_RANDOM) {
        double came = last ? history->let_in[l] - history->met[l][last - reuses].let_in : 0;
        found = at_random(ll_cache_admission(&level->cache), bytes / size,
                          was * exp(-(came + round.corunners) / size));
    } else {
        found = by_age(level, round, was);
    }
    double let_in = found.admitted * bytes;
    history->met[l][reuse - reuses] = (struct met){found.share, found.has, history->let_in[l] + let_in / 2};
    history->let_in[l] += let_in;
}

/* What passes by all caches comes to none. */
static bool comes(const struct asking *asking, const struct ll_reuse *reuse)
{
    return (!reuse->by_host || asking->machine->host.fills_caches);
}

static void meet_all(struct ll_history *history, struct ll_so_far so_far, uint64_t begin, uint64_t end)
{
    const struct asking asking = {history->residency, history->machine, so_far, history->shared};
    for (uint64_t l = 0; l + 1 < history->machine->level_count; l++)
        for (uint64_t i = begin; history->met[l] && i < end; i++)
            if (comes(&asking, &history->residency->reuses[i]))
                meet(&asking, &history->residency->reuses[i], l, history);
}

struct ll_history *ll_history_new(const struct ll_residency *residency, const struct ll_machine *machine,
                                  uint32_t first, uint32_t end, struct ll_arena *arena)
{
    assert(machine->level_count > 0);
    struct ll_history *history = ll_alloc(arena, 1, sizeof *history);
    if (!history)
        return NULL;
    *history =
        (struct ll_history){.residency = residency, .machine = machine, .shared = shared_levels(machine)};
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        history->matters |= machine->levels[l].cache.corunners_Bps > 0;
        if (!(history->shared >> l & 1) || !has_history(&machine->levels[l]))
            continue;
        history->matters = true;
        history->met[l] = ll_alloc(arena, residency->first[end], sizeof *history->met[l]);
        if (!history->met[l])
            return NULL;
    }
    meet_all(history, (struct ll_so_far){0}, 0, residency->first[first]);
    return history;
}

bool ll_history_matters(const struct ll_history *history)
{
    return history->matters;
}

void ll_history_add(struct ll_history *history, uint32_t op, struct ll_so_far so_far)
{
    assert(op >= so_far.first);
    if (history->matters)
        meet_all(history, so_far, history->residency->first[op], history->residency->first[op + 1]);
}

/* --- what ops find --- */

/* Bytes of this use that the level has. */
static double kept_of(const struct asking *asking, const struct ll_reuse *reuse, uint64_t l)
{
    const struct ll_level *level = &asking->machine->levels[l];
    const struct ll_history *history = asking->so_far.history;
    double room = fmax(0, (double)level->size_bytes - asking->residency->most_bytes);
    if (level->keeps_weights && reuse->stays)
        return (double)reuse->bytes * fmin(1, room / asking->residency->staying_bytes);
    if (!is_near(asking, reuse, level))
        return 0;
    if (has_history(level))
        return history ? (double)reuse->bytes * history->met[l][reuse - asking->residency->reuses].found : 0;
    struct ll_round round = level->cache_given ? round_of(asking, reuse, level)
                                               : (struct ll_round){ll_add(reuse->distance, reuse->bytes), 0};
    return ll_level_keeps(level, reuse->bytes, round);
}

/* Whether the level holds these bytes as what they are used as now, and were, or will be. */
static bool is_held(const struct asking *asking, const struct ll_reuse *reuse, const struct ll_level *level)
{
    if (ll_level_holds_all(level))
        return true;
    bool held = ll_level_holds(level, reuse->operand);
    if (!reuse->written && reuse->before > 0)
        held &= ll_level_holds(level, asking->residency->reuses[reuse->before - 1].operand);
    for (enum ll_operand i = 0; reuse->written && i < LL_OPERAND_COUNT; i++)
        held &= !(reuse->readers >> i & 1) || ll_level_holds(level, i);
    return held;
}

/* Adds what of a use need not pass between each level and those further in: what passes through registers
 * (`fused`), or what one of those levels keeps. */
static void add_kept(const struct asking *asking, const struct ll_reuse *reuse, bool fused,
                     double saved_bytes[LL_MAX_LEVELS])
{
    double bytes = (double)reuse->bytes, most = fused ? bytes : 0;
    uint64_t count = asking->machine->level_count;
    for (uint64_t l = 0; l < count; l++) {
        const struct ll_level *level = &asking->machine->levels[l];
        if (ll_level_holds(level, reuse->operand))
            saved_bytes[l] += most;
        if (l + 1 < count && !reuse->by_host && most < bytes && (asking->shared >> l & 1) &&
            is_held(asking, reuse, level))
            most = fmax(most, kept_of(asking, reuse, l));
        assert(most <= bytes * (1 + 1e-9));
    }
}

enum { MOST_USES = 8 }; /* that are looked at to find who has copies of bytes */

/* Of the bytes that a use overwrites, those that the level has and that every unit has read since they were
 * written last. */
static double shared_by_all(const struct asking *asking, const struct ll_reuse *reuse,
                            const struct ll_level *level)
{
    uint64_t bytes = reuse->bytes;
    struct ll_round round = {bytes, 0};
    double shared = 0;
    for (int use = 0; use < MOST_USES; use++) {
        const struct ll_reuse *last = before(asking, reuse);
        round.bytes = ll_add(round.bytes, since(asking, reuse, last));
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
                        uint64_t held, struct ll_so_far so_far, struct ll_warm_bytes *found)
{
    enum { HELD_BITS = 64 };
    uint32_t shared = so_far.history ? so_far.history->shared : shared_levels(machine);
    const struct asking asking = {residency, machine, so_far, shared};
    double shared_inside = 0;
    uint64_t first = residency->first[op];
    *found = (struct ll_warm_bytes){0};
    for (uint64_t i = first; i < residency->first[op + 1]; i++)
        add_kept(&asking, &residency->reuses[i], i - first < HELD_BITS && (held >> (i - first) & 1),
                 found->saved_bytes);
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        if (!(shared >> l & 1))
            continue;
        double shared_here = fmax(shared_inside, shared_bytes(&asking, op, &machine->levels[l]));
        found->shared_bytes[l] = shared_here - shared_inside;
        shared_inside = shared_here;
    }
}

/* --- ops that find the same --- */

/* All of a use but where it lies in the trace, and what of others follows. */
static void mix_use(struct ll_reuse_hash *hash, const struct ll_reuse *reuse, uint64_t follows)
{
    ll_reuse_mix(hash, reuse->bytes,
                 (uint64_t)reuse->kind << 32 | (uint64_t)reuse->operand << 16 |
                     (uint64_t)reuse->readers << 8 | follows << 4 | (uint64_t)reuse->stays << 3 |
                     (uint64_t)reuse->everywhere << 2 | (uint64_t)reuse->by_host << 1 | reuse->written);
}

/* Those that read the bytes since they were written, as far as shared_by_all looks. Where the host wrote
 * them in between, machines differ in whether they look further. */
static void mix_readers(struct ll_reuse_hash *hash, const struct ll_reuse *reuses,
                        const struct ll_reuse *reuse)
{
    int use = 0;
    for (bool written = false; !written && use < MOST_USES && reuse->before > 0; use++) {
        reuse = &reuses[reuse->before - 1];
        mix_use(hash, reuse, reuse->arrived > 0);
        ll_reuse_mix(hash, reuse->since, (uint64_t)use);
        written = reuse->written;
    }
    ll_reuse_mix(hash, (uint64_t)use, UINT64_MAX);
}

void ll_residency_hash(const struct ll_residency *residency, uint32_t op, struct ll_reuse_hash *hash)
{
    for (uint64_t i = residency->first[op]; i < residency->first[op + 1]; i++) {
        const struct ll_reuse *reuse = &residency->reuses[i];
        mix_use(hash, reuse, (uint64_t)(reuse->arrived > 0) << 1 | (reuse->before > 0));
        ll_reuse_mix(hash, reuse->distance, reuse->since);
        if (reuse->arrived > 0) {
            ll_reuse_mix(hash, reuse->since_arrival, 1);
            mix_use(hash, &residency->reuses[reuse->arrived - 1], 0);
        }
        if (reuse->before > 0)
            mix_use(hash, &residency->reuses[reuse->before - 1], 0);
        if (reuse->written && !reuse->by_host)
            mix_readers(hash, residency->reuses, reuse);
    }
}
