/* SPDX-License-Identifier: Apache-2.0 */
/* The derivation of one op's time in a replay: what its work takes, what exchanges beside it add, what it
 * waited for the software. */
#include <assert.h>
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
        ll_say(why, "waits for the software, which turns to it only later: %.10g + %.10g = %.10g s", before_s,
               -lead_s, late_s);
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
        if (prepared->works[signature].kind != LL_WORK_COLLECTIVE || result->prices[signature].copied)
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
    if (slowed->slowed > 1)
        ll_say(why, "by a device that computes more slowly: %.10g * %.10g = %.10g s",
               stretch->less_s / slowed->slowed, slowed->slowed, stretch->less_s);
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

/* The op's time on an empty stream, as of time_op. */
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
               follows ? 0 : model.overhead_s, timing->time_s / slowed->slowed);
    if (slowed->slowed > 1)
        ll_say(why, "by a device that computes more slowly: %.10g * %.10g = %.10g s",
               timing->time_s / slowed->slowed, slowed->slowed, timing->time_s);
}

static void explain_algorithm(const struct ll_machine *machine, const struct ll_price *price,
                              struct ll_explain *why)
{
    const struct ll_exchanged *e = &price->exchanged;
    const char *busiest = e->busiest < LL_NO_LEVEL ? machine->networks[e->busiest].name : NULL;
    double sent_bytes = e->sent_bytes / (double)price->devices;
    if (e->algorithm == LL_ALGORITHM_COUNT)
        ll_say(why, "as the samples of %s tell of so many devices, each of which sends %.10g B", busiest,
               sent_bytes);
    else
        ll_say(why, "%s: %.10g messages one behind the other, of which each device sends %.10g B%s%s",
               ll_algorithm_name(e->algorithm), e->rounds, sent_bytes,
               busiest ? "; held back by the links of " : "", busiest ? busiest : "");
}

/* Prints an exchange's derivation, the last line of which ends in its time. */
static void price_explain(const struct ll_machine *machine, const struct ll_asked *asked,
                          const struct ll_price *price, struct ll_explain *why)
{
    const struct ll_exchanged *e = &price->exchanged;
    const char *name = ll_op_name((enum ll_op_kind)asked->kind);
    ll_explain_group(why, "communication");
    if (asked->peer && price->groups == 0) {
        ll_say(why, "%s of %" PRIu64 " B to a device %" PRId64 " away", name, asked->bytes, asked->peer);
        ll_say(why, "time among the ops, beside which stages hand on what they have made: 0 = 0 s");
        return;
    }
    if (asked->peer)
        ll_say(why,
               "%s of %" PRIu64 " B to a device %" PRId64 " away, while %" PRIu64 " pairs of devices do so",
               name, asked->bytes, asked->peer, price->groups);
    else
        ll_say(why,
               "%s of %" PRIu64 " B among %" PRIu64 " devices, %" PRIu64 " apart; %" PRIu64
               " such group%s the links",
               name, asked->bytes, price->devices, asked->stride, price->groups,
               price->groups == 1 ? " uses" : "s use");
    if (price->devices < 2) {
        ll_say(why, "time, of one device by itself: 0 = 0 s");
        return;
    }
    explain_algorithm(machine, price, why);
    if (price->slowed > 1)
        ll_say(why, "messages, over a slow link among the links: %.10g * %.10g = %.10g s",
               (e->time_s - e->overhead_s) / price->slowed, price->slowed, e->time_s - e->overhead_s);
    ll_say(why, "time, what starting it costs and the messages: %.10g + %.10g = %.10g s", e->overhead_s,
           e->time_s - e->overhead_s, e->time_s);
}

/* Of the program itself, or of a kernel that nobody knows. */
static bool explain_wait_op(const struct ll_result *result, uint32_t seq, struct ll_explain *why)
{
    const struct ll_prepared *prepared = result->prepared;
    const double time_s = result->ops[seq - prepared->first_op].time_s;
    bool explained = ll_explain_wait(prepared, result->machine, seq, why);
    if (result->slowed > 1 && ll_is_kernel(prepared, prepared->trace->ops[seq].signature))
        ll_say(why, "by a device that computes more slowly: %.10g * %.10g = %.10g s", time_s / result->slowed,
               result->slowed, time_s);
    return explained;
}

bool ll_replay_explain(const struct ll_result *result, uint32_t seq, struct ll_explain *why)
{
    const struct ll_prepared *prepared = result->prepared;
    if (seq < prepared->first_op || seq >= prepared->end_op)
        return false;
    uint32_t signature = prepared->trace->ops[seq].signature;
    if (prepared->works[signature].kind == LL_WORK_WAIT)
        return explain_wait_op(result, seq, why);
    if (prepared->works[signature].kind == LL_WORK_COLLECTIVE) {
        struct ll_asked asked = ll_asked_by(&prepared->trace->signatures[signature].view);
        asked.first = result->prices[signature].first;
        asked.span = result->prices[signature].span;
        price_explain(result->machine, &asked, &result->prices[signature], why);
        return true;
    }
    struct ll_cost cost;
    struct ll_timing timing;
    struct ll_warm_bytes found;
    ll_find_saved(prepared, result->machine, seq, result->so_far, &found);
    const struct ll_work *work = &prepared->works[signature];
    const struct ll_cost *taken = ll_replay_cost(result, seq);
    const enum ll_op_kind kind = prepared->trace->signatures[signature].view.kind;
    const struct ll_cache_context beside = {.found = &found};
    const struct ll_cache_context *next_to = taken->next_to_found ? &beside : NULL;
    ll_cost_algorithm(result->machine, kind, work, taken->way, next_to, &cost);
    ll_time_op(prepared, result->machine, seq, &cost, &found, result->slowed, &timing);
    const struct ll_slowed slowed = {prepared, result->machine, seq,           &cost,
                                     &found,   timing.time_s,   result->slowed};
    ll_cost_explain(result->machine, kind, work, taken->way, next_to, why);
    explain_alone(&slowed, &timing, why);
    explain_taken(result, slowed, &timing, why);
    explain_start(result, seq, &timing, why);
    return true;
}
