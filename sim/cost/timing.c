/* SPDX-License-Identifier: Apache-2.0 */
/* Stages to seconds: the first piece passes alone, then the slowest stage sets the pace (see cost.h). What
 * earlier ops saved shortens a level's stage in proportion (stage.h). */
#include "sim/cost/cost.h"
#include "sim/cost/stage.h"
#include "sim/cost/turns.h"
#include "tracer/base/plain.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COMPUTE, FIRST_LEVEL, MAX_STAGES = FIRST_LEVEL + LL_MAX_LEVELS };

const char *ll_bound_name(const struct ll_machine *machine, uint32_t bound)
{
    static const char *const names[] = {"compute", "network", "host", "overhead", "dependency"};
    assert(bound < LL_BOUND_LEVEL + machine->level_count);
    return bound < LL_BOUND_LEVEL ? names[bound] : machine->levels[bound - LL_BOUND_LEVEL].name;
}

static uint32_t bound_of(uint64_t stage)
{
    return stage == COMPUTE ? LL_BOUND_COMPUTE : LL_BOUND_LEVEL + (uint32_t)(stage - FIRST_LEVEL);
}

/* Of a level: until other units have dropped their copies of what is overwritten. */
static double drop_s(const struct ll_level *level, double units, double shared_bytes, struct ll_explain *why)
{
    double line = (double)level->cache.line_bytes, line_s = level->cache.invalidation_s;
    if (shared_bytes == 0)
        return 0;
    double time_s = shared_bytes / line * line_s / units;
    ll_say(why, "%s, lines that other units have as well: %.10g / %.10g * %.10g / %.10g = %.10g s",
           level->name, shared_bytes, line, line_s, units, time_s);
    return time_s;
}

double ll_dropping_s(const struct ll_machine *machine, uint64_t units, const struct ll_leftovers *found,
                     struct ll_explain *why)
{
    double all_s = 0;
    for (uint64_t l = 0; found && l < machine->level_count; l++)
        all_s += drop_s(&machine->levels[l], (double)ll_max(units, 1), found->shared_bytes[l], why);
    return all_s;
}

static void tell_level(const struct ll_level *level, const struct ll_intake *intake, double bytes,
                       double level_s, const struct ll_stage *stage, struct ll_explain *why)
{
    double left = bytes - intake->saved_bytes;
    if (left <= 0)
        ll_say(why, "%s: nothing is left to move", level->name);
    else if (left < 0.01 * bytes) /* of which their difference would not tell all digits */
        ll_say(why, "%s, but for what earlier ops left further in, %.10g B: %.10g * %.10g / %.10g = %.10g s",
               level->name, intake->saved_bytes, level_s, left, bytes, stage->whole_s);
    else if (intake->saved_bytes > 0)
        ll_say(why, "%s, but for what earlier ops left further in: %.10g * (%.10g - %.10g) / %.10g = %.10g s",
               level->name, level_s, bytes, intake->saved_bytes, bytes, stage->whole_s);
    if (left > 0 && intake->wait_s > 0 && left < intake->line_bytes)
        ll_say(why,
               "%s, latency, of a line of which hardly anything is left: %.10g * %.10g / %.10g = %.10g s",
               level->name, intake->wait_s, left, intake->line_bytes, stage->wait_s);
}

static struct ll_stage level_stage(const struct ll_machine *machine, const struct ll_cost *cost, uint64_t l,
                                   const struct ll_leftovers *found, struct ll_explain *why)
{
    const struct ll_intake intake = {.first_s = cost->level_first_s[l],
                                     .pieces = cost->level_pieces[l],
                                     .wait_s = cost->level_wait_s[l],
                                     .line_bytes = ll_line_inside(machine, l),
                                     .saved_bytes = found ? found->saved_bytes[l] : 0};
    struct ll_stage stage = ll_stage_of(&intake, cost->level_bytes[l], cost->level_s[l]);
    if (why)
        tell_level(&machine->levels[l], &intake, cost->level_bytes[l], cost->level_s[l], &stage, why);
    return stage;
}

/* --- which stages overlap --- */

/* Behind this stage nothing overlaps: its level holds one block at a time. */
static bool parts_stages(const struct ll_machine *machine, uint64_t stage)
{
    return stage >= FIRST_LEVEL && machine->levels[stage - FIRST_LEVEL].buffering == LL_BUFFER_SINGLE;
}

/* Marks the stage of each group that takes longest once the first piece has passed, the first of equals;
 * returns the longest of these. */
static uint64_t find_slowest(const struct ll_machine *machine, const struct ll_stage *stages, uint64_t count,
                             bool sets_pace[MAX_STAGES])
{
    uint64_t slowest = COMPUTE, of_group = COMPUTE;
    for (uint64_t i = 0; i < count; i++) {
        sets_pace[i] = false;
        if (i > 0 && parts_stages(machine, i - 1))
            of_group = i;
        if (ll_stage_rest_s(&stages[i]) > ll_stage_rest_s(&stages[of_group]))
            of_group = i;
        if (ll_stage_rest_s(&stages[i]) > ll_stage_rest_s(&stages[slowest]))
            slowest = i;
        if (i + 1 == count || parts_stages(machine, i))
            sets_pace[of_group] = true;
    }
    return slowest;
}

/* " + term" behind a sum; what is zero is left out. */
static void add_term(char *sum, size_t size, double term_s)
{
    size_t length = strlen(sum);
    if (term_s > 0)
        ll_snprintf(sum + length, size - length, "%.10g + ", term_s);
}

/* " + whole - first" of a stage behind a sum. */
static void add_rest(char *sum, size_t size, const struct ll_stage *stage)
{
    size_t length = strlen(sum);
    if (ll_stage_rest_s(stage) > 0)
        ll_snprintf(sum + length, size - length, "%s%.10g - %.10g", length ? " + " : "", stage->whole_s,
                    stage->first_s);
}

/* The stages of an op; those that set the pace follow one another, one of them is the slowest of all. */
struct paced {
    const struct ll_stage *stages;
    const bool *sets_pace;
    uint64_t count, slowest;
};

static void tell_time(const struct ll_machine *machine, const struct paced *p, double apart_s, double time_s,
                      struct ll_explain *why)
{
    char sum[(2 * MAX_STAGES + 1) * 24] = "";
    add_term(sum, sizeof sum, apart_s);
    for (uint64_t i = 0; i < p->count; i++)
        add_term(sum, sizeof sum, p->stages[i].wait_s);
    for (uint64_t i = 0; i < p->count; i++)
        if (i != p->slowest)
            add_term(sum, sizeof sum, p->sets_pace[i] ? p->stages[i].whole_s : p->stages[i].first_s);
    ll_say(why, "time, %s%s: %s%.10g = %.10g s",
           apart_s > 0 ? "passes and steps apart, latencies and first pieces, then the slowest, "
           : *sum      ? "latencies and first pieces, then the slowest, "
                       : "the slowest, ",
           ll_bound_name(machine, bound_of(p->slowest)), sum, p->stages[p->slowest].whole_s, time_s);
}

/* What the stages beside those that set the pace take and do not hide behind them. Of a level's time, that
 * of first pieces of other units is in the time of computing already. */
static double serial_s(const struct ll_cost *cost, const struct ll_stage *stages, uint64_t count,
                       const bool sets_pace[MAX_STAGES], struct ll_explain *why)
{
    double all_s = 0, fed_s = stages[COMPUTE].others_s;
    char terms[(2 * MAX_STAGES + 2) * 24] = "";
    for (uint64_t i = 0; i < count; i++) {
        all_s += sets_pace[i] ? 0 : ll_stage_rest_s(&stages[i]);
        if (why && !sets_pace[i])
            add_rest(terms, sizeof terms, &stages[i]);
    }
    if (why && fed_s > 0)
        ll_snprintf(terms + strlen(terms), sizeof terms - strlen(terms), " - %.10g", fed_s);
    if (cost->serial > 0)
        ll_say(
            why,
            "what the others take behind their first pieces does not overlap in full: %.10g * (%s) = %.10g s",
            cost->serial, *terms ? terms : "0", cost->serial * (all_s - fed_s));
    return cost->serial * (all_s - fed_s);
}

/* Computing is over when the last unit is done, which gets its first piece behind those of the others: of
 * levels that overlap with computing, the one by which that takes longest counts. Returns it. */
static uint64_t feed_all(const struct ll_machine *machine, const struct ll_cost *cost,
                         struct ll_stage *stages, struct ll_explain *why)
{
    uint64_t last = 0;
    for (uint64_t l = 1; l < machine->level_count && ll_stage_group(machine, l) == 0; l++)
        if (stages[FIRST_LEVEL + l].others_s > stages[FIRST_LEVEL + last].others_s)
            last = l;
    const struct ll_stage *from = &stages[FIRST_LEVEL + last];
    stages[COMPUTE].others_s = from->others_s;
    stages[COMPUTE].whole_s += from->others_s;
    if (from->others_s > 0) {
        ll_say(
            why,
            "%s, the other units' first pieces, of %.10g: min((%.10g - 1) * %.10g, %.10g - %.10g) = %.10g s",
            machine->levels[last].name, cost->level_pieces[last], cost->level_pieces[last], from->first_s,
            from->whole_s, from->first_s, from->others_s);
        ll_say(why, "compute, until these are there, and the last unit is done: %.10g + %.10g = %.10g s",
               cost->compute_s, from->others_s, stages[COMPUTE].whole_s);
    }
    return last;
}

/* What that takes beyond computing: a unit goes on while its writes wait, which come in turn with all else
 * that is moved. So no more hides than computing takes longer than that. */
static double invalidation_s(const struct ll_machine *machine, const struct ll_cost *cost,
                             const struct ll_leftovers *found, const struct ll_stage *stages,
                             struct ll_explain *why)
{
    double all_s = ll_dropping_s(machine, cost->units_used, found, why), moving_s = 0;
    for (uint64_t l = 0; l < machine->level_count && ll_stage_group(machine, l) == 0; l++)
        moving_s = fmax(moving_s, ll_stage_rest_s(&stages[FIRST_LEVEL + l]));
    double computing_s = ll_stage_rest_s(&stages[COMPUTE]);
    double beyond_s = fmax(0, all_s - fmax(0, computing_s - moving_s));
    if (all_s > 0)
        ll_say(
            why,
            "behind what computing takes longer than moving: max(0, %.10g - max(0, %.10g - %.10g)) = %.10g s",
            all_s, computing_s, moving_s, beyond_s);
    return beyond_s;
}

/* Steps and passes, a gap, invalidations, what does not overlap: together, where there are several. */
static void tell_apart(const double apart[4], double apart_s, struct ll_explain *why)
{
    char sum[4 * 24] = "";
    unsigned terms = 0;
    for (unsigned i = 0; why && i < 4; i++) {
        size_t length = strlen(sum);
        if (apart[i] > 0)
            ll_snprintf(sum + length, sizeof sum - length, "%s%.10g", terms++ ? " + " : "", apart[i]);
    }
    if (terms > 1)
        ll_say(why, "all that is apart: %s = %.10g s", sum, apart_s);
}

void ll_cost_time(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_leftovers *found, struct ll_timing *timing, struct ll_explain *why)
{
    struct ll_stage stages[MAX_STAGES] = {{.whole_s = cost->compute_s, .first_s = cost->compute_first_s}};
    uint64_t count = FIRST_LEVEL + machine->level_count;
    double first_s = cost->compute_first_s, waits_s = 0;
    if (cost->unit == LL_NO_UNIT) {
        uint32_t bound = cost->host_s > 0       ? LL_BOUND_HOST
                         : cost->overhead_s > 0 ? LL_BOUND_OVERHEAD
                                                : LL_BOUND_DEPENDENCY;
        *timing = (struct ll_timing){.time_s = cost->host_s, .overhead_s = cost->overhead_s, .bound = bound};
        return;
    }
    for (uint64_t l = 0; l < machine->level_count; l++) {
        struct ll_stage *stage = &stages[FIRST_LEVEL + l];
        *stage = level_stage(machine, cost, l, found, why);
        first_s += stage->first_s;
        waits_s += stage->wait_s;
    }
    uint64_t most_of[LL_MAX_LEVELS];
    bool sets_pace[MAX_STAGES];
    uint64_t feeding = feed_all(machine, cost, stages, why);
    ll_take_turns(machine, cost, found, stages + FIRST_LEVEL, most_of, why);
    uint64_t slowest = find_slowest(machine, stages, count, sets_pace);
    if (cost->gap_s > 0)
        ll_say(why, "the device leaves a gap before it: %.10g s", cost->gap_s);
    double dropping_s = invalidation_s(machine, cost, found, stages, why),
           waiting_s = serial_s(cost, stages, count, sets_pace, why);
    const double apart[] = {cost->apart_s, cost->gap_s, dropping_s, waiting_s};
    double apart_s = apart[0] + apart[1] + apart[2] + apart[3];
    tell_apart(apart, apart_s, why);
    timing->exposed_s = waits_s + (first_s - stages[slowest].first_s) + apart_s;
    for (uint64_t i = 0; i < count; i++)
        if (sets_pace[i] && i != slowest)
            timing->exposed_s += ll_stage_rest_s(&stages[i]);
    timing->time_s = timing->exposed_s + stages[slowest].whole_s;
    timing->overhead_s = cost->overhead_s;
    timing->behind_s = cost->behind_s;
    timing->more_s = cost->more_s;
    uint64_t most = slowest >= FIRST_LEVEL ? FIRST_LEVEL + most_of[slowest - FIRST_LEVEL] : slowest;
    bool fed_late = slowest == COMPUTE && stages[COMPUTE].whole_s > 2 * cost->compute_s;
    timing->bound = waits_s > stages[slowest].whole_s ? LL_BOUND_DEPENDENCY
                    : fed_late                        ? LL_BOUND_LEVEL + (uint32_t)feeding
                                                      : bound_of(most);
    if (why)
        tell_time(machine, &(struct paced){stages, sets_pace, count, slowest}, apart_s, timing->time_s, why);
}
