/* SPDX-License-Identifier: Apache-2.0 */
/* The derivation of one op's time in a replay, and what-if: how much faster the step is with one knob
 * turned.
 *
 * Why an op took its time in a replay: what its work takes, what exchanges beside it add, what it waited for
 * the software. */
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_parts.h"

/* How long the op waited for the software, which takes `before_s` until the device may begin, from when
 * earlier ops are started and there is room in its queue. */
static void explain_wait(double before_s, double lead_s, double late_s, struct ll_explain *why)
{
    if (fabs(lead_s) <= 1e-9 * before_s) /* what rounding leaves of times in a step */
        return;
    if (lead_s > 0)
        ll_say(why,
               "waits for the software, which turned to it before the device could begin: "
               "max(0, %.10g - %.10g) = %.10g s",
               before_s, lead_s, late_s);
    else
        ll_say(why, "waits for the software, which still has earlier ops to start: %.10g + %.10g = %.10g s",
               before_s, -lead_s, late_s);
}

/* What of the op's time in this replay the software took to start it. */
static void explain_start(const struct ll_result *result, uint32_t seq, const struct ll_timing *timing,
                          struct ll_explain *why)
{
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    double active_s = timing->time_s + op->taken_s, late_s = op->time_s - active_s;
    bool queues = result->machine->software.queue > 0;
    double more_s = timing->more_s, before_s = timing->overhead_s + more_s;
    double behind_s = queues ? timing->behind_s : fmin(timing->behind_s, more_s + active_s);
    if (timing->overhead_s == 0)
        return;
    if (more_s > 0)
        ll_say(why, "to start the op, and all kernels of its way: %.10g + %.10g = %.10g s",
               timing->overhead_s, more_s, before_s);
    if (behind_s > 0)
        ll_say(why, "to start the op, less what the software does while it runs: %.10g - %.10g = %.10g s",
               before_s, behind_s, before_s - behind_s);
    if (queues)
        explain_wait(before_s - behind_s, op->lead_s, late_s, why);
    ll_say(why, "with starting the op: %.10g + %.10g = %.10g s", active_s, late_s, op->time_s);
}

/* By level of the network: the end of the last exchange over it before op seq. */
static void find_ends(const struct ll_result *result, uint32_t seq, double level_end_s[LL_MAX_LINKS])
{
    const struct ll_prepared *prepared = result->prepared;
    for (uint32_t i = prepared->first_op; i < seq; i++) {
        const struct ll_op_result *op = &result->ops[i - prepared->first_op];
        uint32_t signature = prepared->trace->ops[i].signature;
        if (prepared->works[signature].kind != LL_WORK_COLLECTIVE)
            continue;
        for (unsigned l = 0; result->prices[signature].levels >> l; l++)
            if (result->prices[signature].levels >> l & 1)
                level_end_s[l] = fmax(level_end_s[l], op->start_s + op->time_s);
    }
}

/* What the op takes while exchanges over a level keep some of the units busy, and what that adds. */
static void explain_stretch(const struct ll_slowed *slowed, const struct ll_slow_stretch *stretch,
                            struct ll_explain *why)
{
    const struct ll_network *level = &slowed->machine->networks[stretch->level];
    const struct ll_cost less = ll_cost_without_units(slowed, level);
    ll_explain_group(why, "beside communication");
    ll_say(why,
           "compute, while exchanges over %s keep %.10g of the units busy: %.10g / (1 - %.10g) = %.10g s",
           level->name, level->units_taken, slowed->cost->compute_s, level->units_taken, less.compute_s);
    if (less.compute_first_s > 0)
        ll_say(why, "compute, first piece: %.10g / (1 - %.10g) = %.10g s", slowed->cost->compute_first_s,
               level->units_taken, less.compute_first_s);
    ll_time_explain(slowed->machine, &less, slowed->found, why);
    ll_say(why, "time, some of it beside exchanges over %s: %.10g + %.10g * (1 - %.10g / %.10g) = %.10g s",
           level->name, slowed->alone_s + stretch->before_s, stretch->time_s, slowed->alone_s,
           stretch->less_s, slowed->alone_s + (stretch->before_s + stretch->added_s));
}

/* What exchanges beside the op add to its time; its work begins when the software lets it. */
static void explain_taken(const struct ll_result *result, struct ll_slowed slowed,
                          const struct ll_timing *timing, struct ll_explain *why)
{
    const struct ll_op_result *op = &result->ops[slowed.seq - result->prepared->first_op];
    double level_end_s[LL_MAX_LINKS] = {0}, late_s = op->time_s - timing->time_s - op->taken_s;
    double begin_s = ll_work_begins_s(result->machine, op->start_s, late_s, timing);
    struct ll_slow_stretch stretch = {.left_s = slowed.alone_s, .at_s = begin_s};
    if (op->taken_s == 0)
        return;
    find_ends(result, slowed.seq, level_end_s);
    while (ll_next_stretch(&slowed, level_end_s, &stretch))
        explain_stretch(&slowed, &stretch, why);
}

/* The op's time on an empty stream, as of ll_time_op. */
static void explain_alone(const struct ll_slowed *slowed, const struct ll_timing *timing,
                          struct ll_explain *why)
{
    const struct ll_prepared *prepared = slowed->prepared;
    bool follows = ll_fused_as(prepared, slowed->machine->software.fusion, slowed->seq).follows;
    struct ll_cost here = *slowed->cost;
    struct ll_timing model;
    here.gap_s = follows ? 0 : here.gap_s;
    ll_cost_time(slowed->machine, &here, slowed->found, &model);
    ll_time_explain(slowed->machine, &here, slowed->found, why);
    if (follows)
        ll_say(why, "fused with the op before it, its start costs nothing: %.10g + 0 = %.10g s", model.time_s,
               model.time_s);
    if (ll_takes_recorded(prepared, slowed->seq))
        ll_say(why, "as recorded, its start included, in place of %.10g + %.10g s: %.10g s", model.time_s,
               follows ? 0 : model.overhead_s, timing->time_s);
}

bool ll_replay_explain(const struct ll_result *result, uint32_t seq, struct ll_explain *why)
{
    const struct ll_prepared *prepared = result->prepared;
    if (seq < prepared->first_op || seq >= prepared->end_op)
        return false;
    uint32_t signature = prepared->trace->ops[seq].signature;
    if (prepared->works[signature].kind == LL_WORK_WAIT) {
        double time_s = (double)prepared->trace->ops[seq].duration_ns * 1e-9;
        ll_say(why,
               "what the program did here was not seen; it takes as long as when it was recorded: %.10g s",
               time_s);
        return true;
    }
    if (prepared->works[signature].kind == LL_WORK_COLLECTIVE) {
        struct ll_asked asked = ll_asked_by(&prepared->trace->signatures[signature].view);
        asked.first = result->prices[signature].first;
        asked.span = result->prices[signature].span;
        ll_price_explain(result->machine, &asked, &result->prices[signature], why);
        return true;
    }
    struct ll_cost cost;
    struct ll_timing timing;
    struct ll_warm_bytes found;
    ll_save_traffic(prepared, result->machine, seq, result->so_far, &found);
    const struct ll_work *work = &prepared->works[signature];
    const struct ll_cost *taken = ll_replay_cost(result, seq);
    const enum ll_op_kind kind = prepared->trace->signatures[signature].view.kind;
    const struct ll_cache_context beside = {.found = &found};
    const struct ll_cache_context *next_to = taken->next_to_found ? &beside : NULL;
    ll_cost_algorithm(result->machine, kind, work, taken->way, next_to, &cost);
    ll_time_op(prepared, result->machine, seq, &cost, &found, &timing);
    const struct ll_slowed slowed = {prepared, result->machine, seq, &cost, &found, timing.time_s};
    ll_cost_explain(result->machine, kind, work, taken->way, next_to, why);
    explain_alone(&slowed, &timing, why);
    explain_taken(result, slowed, &timing, why);
    explain_start(result, seq, &timing, why);
    return true;
}

/* What if: turn one knob of the machine, replay, compare. */

/* Insertion sort: stable, so that equal gains stay in the order of the machine's knobs. */
static void sort_gains(struct ll_gain *gains, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && gains[j - 1].speedup < gains[j].speedup; j--) {
            struct ll_gain moved = gains[j];
            gains[j] = gains[j - 1];
            gains[j - 1] = moved;
        }
}

static bool turn(const struct ll_machine *machine, double time_s, size_t knob, ll_timed timed, void *context,
                 struct ll_gain *gain)
{
    struct ll_machine *turned = ll_machine_turn(machine, knob);
    double other_s = turned ? timed(turned, context) : -1;
    gain->time_s = other_s;
    gain->speedup = other_s > 0 ? time_s / other_s : 1;
    ll_machine_free(turned);
    return other_s >= 0;
}

const struct ll_gain *ll_turn_knobs(const struct ll_machine *machine, double time_s, ll_timed timed,
                                    void *context, struct ll_arena *arena, size_t *count)
{
    const struct ll_knob *knobs = ll_machine_knobs(machine, arena, count);
    struct ll_gain *gains = knobs ? ll_alloc(arena, *count + 1, sizeof *gains) : NULL;
    for (size_t i = 0; gains && i < *count; i++) {
        gains[i].knob = knobs[i];
        if (!turn(machine, time_s, i, timed, context, &gains[i]))
            return NULL;
    }
    if (gains)
        sort_gains(gains, *count);
    return gains;
}

struct again {
    const struct ll_prepared *prepared;
    struct ll_remembered *remembered;
};

static double replay_s(const struct ll_machine *machine, void *context)
{
    const struct again *again = context;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    const struct ll_result *result =
        ll_replay_remembering(again->prepared, machine, again->remembered, &scratch, &diags);
    double time_s = result ? result->time_s : -1;
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return time_s;
}

const struct ll_gain *ll_what_if(const struct ll_result *result, struct ll_remembered *remembered,
                                 struct ll_arena *arena, size_t *count)
{
    struct again again = {result->prepared, remembered};
    return ll_turn_knobs(result->machine, result->time_s, replay_s, &again, arena, count);
}
