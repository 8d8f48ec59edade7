/* SPDX-License-Identifier: Apache-2.0 */
/* Costs by outlines: which candidate is the fastest on a machine. The choice is that of kernel_model.c, in
 * its order, with the bytes of a candidate found only once its computing alone does not rule it out. */
#include "sim/cost/outline.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/machine/dram.h"

/* Without what outlines do not depend on, and without addresses, behind which others may lie later. */
static struct ll_unit unit_of(const struct ll_unit *unit)
{
    struct ll_unit kept;
    memcpy(&kept, unit, sizeof kept);
    kept.name = NULL;
    kept.clock_hz = 0;
    return kept;
}

static struct ll_level level_of(const struct ll_level *level)
{
    struct ll_level kept;
    memcpy(&kept, level, sizeof kept);
    kept.name = kept.dram = kept.loops = NULL;
    kept.bandwidth_Bps = kept.unit_Bps = kept.latency_s = 0;
    return kept;
}

static const struct ll_dram *dram_of(const struct ll_level *level)
{
    return level->dram ? ll_dram_find(level->dram) : NULL;
}

bool ll_outline_key(const struct ll_machine *machine, struct ll_arena *arena, struct ll_outline_key *key)
{
    *key = (struct ll_outline_key){
        .units = ll_alloc(arena, machine->unit_count, sizeof *key->units),
        .levels = ll_alloc(arena, machine->level_count, sizeof *key->levels),
        .software = ll_copy(arena, &machine->software, sizeof machine->software),
        .unit_count = machine->unit_count,
        .level_count = machine->level_count,
        .dram = ll_alloc(arena, machine->level_count, sizeof *key->dram),
    };
    bool kept = key->units && key->levels && key->software && key->dram;
    for (uint64_t u = 0; kept && u < machine->unit_count; u++) {
        const struct ll_unit unit = unit_of(&machine->units[u]);
        memcpy(&key->units[u], &unit, sizeof unit);
    }
    for (uint64_t l = 0; kept && l < machine->level_count; l++) {
        const struct ll_level level = level_of(&machine->levels[l]);
        memcpy(&key->levels[l], &level, sizeof level);
        key->dram[l] = dram_of(&machine->levels[l]);
    }
    return kept;
}

/* What the software has a list of: as many, and the same. */
#define SAME_LIST(a, b, list, count)                                                                         \
    ((a)->count == (b)->count && memcmp((a)->list, (b)->list, (a)->count * sizeof *(a)->list) == 0)

/* But for what starting an op takes. */
static bool is_same_software(const struct ll_software *a, const struct ll_software *b)
{
    static const size_t begins[] = {0, offsetof(struct ll_software, queue),
                                    offsetof(struct ll_software, step_overhead_s)};
    static const size_t ends[] = {offsetof(struct ll_software, op_overhead_s),
                                  offsetof(struct ll_software, gap_s),
                                  offsetof(struct ll_software, collective_kernels)};
    bool same = SAME_LIST(a, b, kernels, kernel_count) && SAME_LIST(a, b, transforms, transform_count) &&
                SAME_LIST(a, b, attention, attention_count) && SAME_LIST(a, b, experts, expert_count) &&
                SAME_LIST(a, b, linear, linear_count);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        same = same &&
               memcmp((const char *)a + begins[i], (const char *)b + begins[i], ends[i] - begins[i]) == 0;
    return same;
}

bool ll_outline_is_same(const struct ll_outline_key *key, const struct ll_machine *machine)
{
    bool same = key->unit_count == machine->unit_count && key->level_count == machine->level_count &&
                is_same_software(key->software, &machine->software);
    for (uint64_t u = 0; same && u < machine->unit_count; u++) {
        const struct ll_unit unit = unit_of(&machine->units[u]);
        same = memcmp(&key->units[u], &unit, sizeof unit) == 0;
    }
    for (uint64_t l = 0; same && l < machine->level_count; l++) {
        const struct ll_level level = level_of(&machine->levels[l]);
        same = memcmp(&key->levels[l], &level, sizeof level) == 0 &&
               key->dram[l] == dram_of(&machine->levels[l]);
    }
    return same;
}

bool ll_outline_serves(const struct ll_machine *machine)
{
    const struct ll_software *software = &machine->software;
    bool serves = software->mapping == LL_MAPPED_CLOSED_FORM && software->objective == LL_OBJECTIVE_TIME &&
                  machine->energy.limit_w == 0 && machine->overlay_count == 0 && !machine->table &&
                  machine->core_type_count == 0;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        serves = serves && level->buffering != LL_BUFFER_SINGLE && !level->numa_given &&
                 !ll_level_waits(machine, l) && level->read_Bps == 0 && level->write_Bps == 0;
    }
    return serves;
}

/* --- from an outline to a cost --- */

void ll_outline_fill(const struct ll_machine *machine, const struct ll_outline *outline, uint32_t candidate,
                     struct ll_cost *cost)
{
    const struct ll_candidate *c = &outline->candidates[candidate];
    const struct ll_unit *unit = &machine->units[outline->unit];
    double rate = unit->clock_hz * outline->efficiency;
    assert(c->levels);
    cost->unit = outline->unit;
    cost->ways = 1;
    cost->clock_hz = unit->clock_hz;
    cost->serial = outline->serial;
    cost->made = outline->made;
    cost->zeros = outline->zeros;
    cost->units_used = c->units_used;
    cost->compute_cycles = c->cycles;
    cost->compute_s = c->cycles / rate;
    cost->compute_first_s = c->first_cycles / rate;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        const struct ll_outline_level *o = &c->levels[l];
        double one_Bps = level->bandwidth_Bps * o->share, all_Bps = one_Bps * o->instances;
        if (level->unit_Bps > 0)
            all_Bps = fmin(all_Bps, level->unit_Bps * o->share * outline->unit_count);
        cost->level_bytes[l] = o->bytes;
        cost->level_written[l] = o->written;
        memcpy(cost->level_of[l], o->of, sizeof o->of);
        cost->level_price[l] = o->crossing_bytes;
        cost->level_s[l] = o->crossing_bytes / all_Bps;
        cost->level_pieces[l] = o->pieces;
        cost->level_first_s[l] = fmin(o->first_bytes / one_Bps, cost->level_s[l]);
        cost->level_wait_s[l] = o->bytes > 0 ? o->waits * level->latency_s : 0;
    }
}

/* What starting the op takes, in a cost that has none of it. */
static void fill_start(const struct ll_machine *machine, const struct ll_outline *outline,
                       struct ll_cost *cost)
{
    double launch_s = outline->launch_overhead_s;
    cost->overhead_s = launch_s > 0 ? launch_s : machine->software.op_overhead_s;
    cost->behind_s = outline->launch_overlap * cost->overhead_s;
    cost->more_s = fmax(0, 0 - (cost->overhead_s - cost->behind_s));
    cost->gap_s = machine->software.gap_s;
}

static double computing_s(const struct ll_machine *machine, const struct ll_outline *outline, uint32_t i)
{
    double rate = machine->units[outline->unit].clock_hz * outline->efficiency;
    return outline->candidates[i].cycles / rate;
}

/* A candidate that was timed; what is only asked among equals is found when it is. */
struct timed {
    uint32_t candidate;
    double time_s;
};

/* What a search for the fastest candidate goes by. */
struct choice {
    const struct ll_machine *machine;
    enum ll_op_kind kind;
    const struct ll_work *work;
    struct ll_outline *outline;
    uint64_t turn;
    struct ll_arena *arena;
    struct ll_cost *cost;                  /* room, without what starting takes */
    const struct ll_kernel_timing *timing; /* of the work; NULL: nobody has asked */
    bool asks;                             /* it is needed */
};

/* False, too, where they are found only with the timing. */
static bool has_levels(struct choice *c, uint32_t candidate)
{
    if (c->outline->candidates[candidate].levels)
        return true;
    c->asks = !c->timing;
    return c->timing && ll_kernel_outline_levels(c->timing, c->arena, c->outline, candidate);
}

static double energy_j(const struct choice *c, uint32_t candidate)
{
    struct ll_candidate *asked = &c->outline->candidates[candidate];
    if (asked->turn != c->turn) {
        ll_outline_fill(c->machine, c->outline, candidate, c->cost);
        asked->energy_j = ll_cost_merit(c->machine, c->work, c->cost, NULL, 0).second;
        asked->turn = c->turn;
    }
    return asked->energy_j;
}

/* The longest of what depends on the way, behind first pieces. */
static double longest_s(const struct choice *c, uint32_t candidate)
{
    double near_s = 0;
    ll_outline_fill(c->machine, c->outline, candidate, c->cost);
    for (uint64_t l = 0; l < c->outline->near_levels; l++)
        near_s = fmax(near_s, c->cost->level_s[l] - c->cost->level_first_s[l]);
    return fmax(c->cost->compute_s - c->cost->compute_first_s, near_s);
}

/* As kernel_model.c compares ways. */
static bool is_less(const struct choice *c, const struct timed *a, const struct timed *b)
{
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s;
    double a_j = energy_j(c, a->candidate), b_j = energy_j(c, b->candidate);
    if (a_j != b_j)
        return a_j < b_j;
    double a_s = longest_s(c, a->candidate), b_s = longest_s(c, b->candidate);
    const struct ll_candidate *all = c->outline->candidates;
    return a_s != b_s ? a_s < b_s : all[a->candidate].unit_bytes < all[b->candidate].unit_bytes;
}

/* Candidates are tried some at a time, of these that which computes the shortest first: it rules out most of
 * the others. False when memory ran out. */
static bool choose(struct choice *c, struct ll_outline_choice *taken)
{
    enum { AT_ONCE = 16 };
    const struct ll_outline *outline = c->outline;
    struct timed best = {0, INFINITY};
    for (uint32_t begin = 0; begin < outline->count; begin += AT_ONCE) {
        uint32_t ready = (uint32_t)ll_min(AT_ONCE, outline->count - begin), first = 0;
        for (uint32_t i = 1; i < ready; i++)
            if (outline->candidates[begin + i].cycles < outline->candidates[begin + first].cycles &&
                computing_s(c->machine, outline, begin + i) < computing_s(c->machine, outline, begin + first))
                first = i;
        for (uint32_t i = 0; i < ready; i++) {
            struct timed tried = {begin + (i == 0 ? first : i <= first ? i - 1 : i), 0};
            struct ll_timing alone;
            if (computing_s(c->machine, outline, tried.candidate) > best.time_s)
                continue;
            if (!has_levels(c, tried.candidate))
                return false;
            ll_outline_fill(c->machine, outline, tried.candidate, c->cost);
            ll_cost_time(c->machine, c->cost, NULL, &alone);
            tried.time_s = alone.time_s;
            bool less = isinf(best.time_s) || is_less(c, &tried, &best);
            if (less || (tried.candidate < best.candidate && !is_less(c, &best, &tried))) {
                best = tried;
                taken->timing = alone;
            }
        }
    }
    taken->candidate = best.candidate;
    return true;
}

struct chosen {
    struct choice *choice;
    struct ll_outline_choice *taken;
};

static bool take(struct choice *c, struct ll_outline_choice *taken)
{
    return c->outline->count > 1 ? choose(c, taken) : has_levels(c, 0);
}

static bool take_with_timing(const struct ll_kernel_timing *timing, void *context)
{
    struct chosen *chosen = context;
    chosen->choice->timing = timing;
    return take(chosen->choice, chosen->taken);
}

bool ll_outline_cost(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_outline *outline, uint64_t turn, struct ll_arena *arena, struct ll_cost *cost,
                     struct ll_outline_choice *taken)
{
    struct choice choice = {machine, kind, work, outline, turn, arena, cost, NULL, false};
    struct chosen chosen = {&choice, taken};
    assert(outline->served && outline->count > 0);
    *taken = (struct ll_outline_choice){0};
    cost->overhead_s = cost->behind_s = cost->more_s = cost->gap_s = 0;
    if (!take(&choice, taken) &&
        !(choice.asks && ll_cost_ask_timing(machine, kind, work, take_with_timing, &chosen)))
        return false;
    ll_outline_fill(machine, outline, taken->candidate, cost);
    fill_start(machine, outline, cost);
    if (outline->count == 1) {
        ll_cost_time(machine, cost, NULL, &taken->timing);
        return true;
    }
    taken->timing.overhead_s = cost->overhead_s;
    taken->timing.behind_s = cost->behind_s;
    taken->timing.more_s = cost->more_s;
    if (cost->gap_s > 0)
        ll_cost_time(machine, cost, NULL, &taken->timing);
    return true;
}

/* --- making --- */

struct making {
    struct ll_arena *arena;
    struct ll_outline *outline;
    bool failed;
};

static bool make(const struct ll_kernel_timing *timing, void *context)
{
    struct making *making = context;
    if (!ll_kernel_has_outline(timing))
        return false;
    making->outline->served = true;
    making->failed = !ll_kernel_outline(timing, making->arena, making->outline);
    return !making->failed;
}

bool ll_outline_new(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                    struct ll_arena *arena, struct ll_outline *outline)
{
    struct making making = {arena, outline, false};
    *outline = (struct ll_outline){.served = false};
    ll_cost_ask_timing(machine, kind, work, make, &making);
    return !making.failed;
}
