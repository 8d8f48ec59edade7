/* SPDX-License-Identifier: Apache-2.0 */
/* The replay: every op starts when its inputs are ready, its stream is free and the host has launched it.
 *
 * The first section is the time of a single op, alone and beside communication. The second walks the ops in
 * recorded order. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "sim/memory/footprint.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_parts.h"

/* How long an op takes on the device's stream: alone, and while exchanges keep some of the units busy.
 *
 * The levels of the network fall still one after the other, so the share u that is taken goes down in steps.
 * Of an op that takes T alone, and S(u) with the units that are left, V seconds do what takes V T / S(u)
 * alone:
 *
 *       u  |u1------+                    V1 (1 - T / S(u1)) + V2 (1 - T / S(u2))  is added to T
 *          |        |u2-------+
 *          +--------+---------+------
 *           V1       V2        the rest at full speed
 *
 * Calculon slows the computing that goes on beside messages by 1 / (1 - u) likewise, its `processor_usage`
 * (Isaev et al., "Calculon: a Methodology and Tool for High-Level Codesign of Systems and Large Language
 * Models", SC 2023). Of exchanges over different levels that go on at once the largest share counts, not the
 * sum: one that passes several levels is one kernel for all of them, and that is what is common. */

void ll_find_saved(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                   struct ll_so_far so_far, struct ll_warm_bytes *found)
{
    struct ll_fused fused = ll_fused_as(prepared, machine->software.fusion, seq);
    ll_residency_saved(prepared->residency, machine, seq, fused.held, so_far, found);
    ll_pipeline_moves(prepared, machine, seq, found);
}

/* The machine is asked what holds the op back, not how long it takes. */
static void take_recorded(const struct ll_prepared *prepared, uint32_t seq, struct ll_timing *timing)
{
    double recorded_s = (double)prepared->trace->ops[seq].duration_ns * 1e-9;
    timing->exposed_s = fmin(timing->exposed_s, recorded_s);
    timing->time_s = recorded_s;
    timing->origin = LL_TIME_MEASURED;
    timing->overhead_s = timing->behind_s = timing->more_s = 0;
}

/* Input and copies to the host are no matter of the device's speed. */
static bool runs_on_device(const struct ll_prepared *prepared, uint32_t seq)
{
    const struct ll_work *work = &prepared->works[prepared->trace->ops[seq].signature];
    return work->kind != LL_WORK_SWAP && work->kind != LL_WORK_HOST;
}

void ll_time_op(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                const struct ll_cost *cost, const struct ll_warm_bytes *found, double slowed,
                struct ll_timing *timing)
{
    bool follows = ll_fused_as(prepared, machine->software.fusion, seq).follows;
    struct ll_cost room;
    ll_cost_time(machine, ll_pipeline_cost(prepared, machine, seq, cost, &room), found, timing);
    if (follows)
        timing->overhead_s = timing->behind_s = timing->more_s = 0;
    if (ll_takes_recorded(prepared, seq))
        take_recorded(prepared, seq, timing);
    if (runs_on_device(prepared, seq)) {
        timing->time_s *= slowed;
        timing->exposed_s *= slowed;
    }
}

/* --- beside exchanges --- */

/* The level that keeps most of the units busy at this time, of those that keep any, the first of equals. */
static bool most_taken(const struct ll_machine *machine, const double *level_end_s, double at_s,
                       uint32_t *level)
{
    double most = 0;
    for (uint32_t l = 0; l < machine->network_count; l++)
        if (level_end_s[l] > at_s && machine->networks[l].units_taken > most) {
            most = machine->networks[l].units_taken;
            *level = l;
        }
    return most > 0;
}

struct ll_cost ll_cost_without_units(const struct ll_slowed *slowed, const struct ll_network *level)
{
    bool follows = ll_fused_as(slowed->prepared, slowed->machine->software.fusion, slowed->seq).follows;
    struct ll_cost less = *slowed->cost;
    double left = 1 - level->units_taken;
    less.gap_s = follows ? 0 : less.gap_s;
    less.compute_s /= left;
    less.compute_first_s /= left;
    return less;
}

bool ll_next_stretch(const struct ll_slowed *slowed, const double *level_end_s,
                     struct ll_slow_stretch *stretch)
{
    uint32_t now;
    stretch->before_s += stretch->added_s;
    stretch->left_s -= stretch->time_s - stretch->added_s;
    if (ll_takes_recorded(slowed->prepared, slowed->seq) || stretch->left_s <= 0 ||
        !most_taken(slowed->machine, level_end_s, stretch->at_s, &now))
        return false;
    const struct ll_cost less = ll_cost_without_units(slowed, &slowed->machine->networks[now]);
    struct ll_timing timing;
    ll_cost_time(slowed->machine, &less, slowed->found, &timing);
    double alone_s = slowed->alone_s, less_s = fmax(alone_s, timing.time_s * slowed->slowed);
    double for_s = level_end_s[now] - stretch->at_s;
    stretch->level = now;
    stretch->less_s = less_s;
    stretch->time_s = fmin(for_s, stretch->left_s * (less_s / alone_s));
    stretch->added_s = stretch->time_s * (1 - alone_s / less_s);
    stretch->at_s = level_end_s[now];
    return true;
}

/* Seconds that exchanges under way add to an op that begins at begin_s; level_end_s[l]: when the exchanges
 * over level l of the network are over. *level is the one that takes most units at first, set where the sum
 * is more than 0. With later ends, larger shares or a later begin the op never ends sooner. */
static double ll_taken_s(const struct ll_slowed *slowed, const double *level_end_s, double begin_s,
                         uint32_t *level)
{
    struct ll_slow_stretch stretch = {.left_s = slowed->alone_s, .at_s = begin_s};
    while (ll_next_stretch(slowed, level_end_s, &stretch))
        *level = stretch.before_s == 0 ? stretch.level : *level;
    return stretch.before_s;
}

/* Replay: ops in recorded order, each on the stream of its resource.
 *
 *       start = max(end of what it depends on, end of the op before it on its stream)
 *
 * There are these streams: the device, which runs one op at a time in order; the path from the host, which
 * loads the input of later steps while the device computes, `host.buffered_steps` ahead at most; the ways to
 * the host and back of what waits there meanwhile; and one for each level of the network. An exchange between
 * devices is on the streams of all levels whose links it uses, so that no link is used twice at once. What a
 * recorded program did between its calls takes as long as it took there, beside all streams: it waits for
 * what was before it, and what came behind it waits for it. The software starts ops one after the other too;
 * with a queue it does so ahead of the device, and only what it is late counts:
 *
 *       started[k] = max(started[k - 1], end[k - queue]) + overhead[k]
 *       late[k] = max(0, started[k] - behind[k] + more[k] - start[k])
 *
 * where `behind` is what the software still does once the device has begun, and `more` what a way of several
 * kernels takes until it begins (sim/cost/cost_parts.h); all is over when both have done. Before each further
 * turn of a loop the host waits for the device: end[k - 1] + loop_overhead then stands in place of end[k -
 * queue]. Without a queue an op ends when both have done with it:
 *
 *       late[k] = overhead[k] + more[k] - min(behind[k], more[k] + time[k])
 *
 * An exchange keeps the share u of the device's units busy (`units_taken` of its network's levels, the
 * largest of those under way). While it goes on an op makes do with the others:
 *
 *       S(u) = the op's time with compute / (1 - u) in place of compute
 *       time = T + sum of V (1 - T / S(u)),   T = S(0)
 *
 * where V is how much of the op's time goes by while u is taken (sim/replay/engine.c). So what memory holds
 * back waits for units only where these become the slower ones. Ops are placed in recorded order: an op knows
 * the exchanges before it in that order alone, and a level counts as busy from where the op begins until the
 * last of these is over. All that they waited for on the device has ended by then; what one of them still
 * waits for from the host, or from another level, counts as if it were busy. That is why nothing gets slower
 * when a network gets faster: an exchange that begins sooner takes from no op that it would have missed. Of
 * several ways to do an op (algorithms of a convolution) it goes the one by which it ends first, here and
 * now, with what earlier ops left on chip and what the software hides.
 *
 * Costs depend on the op's signature only and are asked once (forms.h); what earlier ops left on chip is
 * taken off. */

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* An op by itself, whenever it starts. */
struct alone {
    struct ll_warm_bytes found;      /* of the ops before it */
    const struct ll_cost *ways;      /* `ways` of the first of them */
    struct ll_timing *timings;       /* by way: on an empty stream */
    const struct ll_tally **tallies; /* by way; NULL until one is asked for */
    /* How long the software takes at most, and at least, until the device may begin: by any of the ways with
     * all that it does, and with what it does while the device works taken off. */
    double most_before_s, least_before_s;
};

struct run {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    const struct ll_among *among;
    double slowed; /* as of ll_among, at least 1 */
    struct ll_signatures signatures;
    struct ll_arena *arena, *scratch;
    struct alone **repeats; /* by prepared->repeats, NULL before the first; NULL: ops do not repeat here */
    struct alone once;      /* of an op that does not repeat; room for all of its ways */
    struct ll_tally tally;
    struct ll_placed placed;
    struct ll_history *history;
    struct ll_so_far so_far;              /* of both */
    double accessed_bytes[LL_MAX_LEVELS]; /* of all that has been placed */
    const bool *turns; /* by op: it begins a further turn of a loop; NULL where that costs nothing */
};

/* When the op's inputs are there, and which op that was waited for. */
static double ready_s(const struct run *run, uint32_t seq, uint32_t *last)
{
    const struct ll_deps *deps = run->prepared->deps;
    double ready = 0;
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++) {
        uint32_t dep = deps->ops[i];
        if (dep < run->prepared->first_op)
            continue;
        const struct ll_op_result *op = &run->placed.ops[dep - run->prepared->first_op];
        if (op->start_s + op->time_s > ready) {
            ready = op->start_s + op->time_s;
            *last = dep;
        }
    }
    return ready;
}

/* The buffer for this step's input is free when the step so many before as there are buffers has ended: its
 * last recorded op, on whatever stream. Zero for the first steps. */
static double buffer_free_s(const struct run *run, uint32_t seq, uint32_t *last)
{
    const struct ll_trace *trace = run->prepared->trace;
    uint64_t step = trace->ops[seq].step, buffered = ll_max(1, run->machine->host.buffered_steps);
    const uint32_t i = step + 1 > buffered ? trace->steps[step + 1 - buffered].first_op : 0;
    if (i <= run->prepared->first_op)
        return 0;
    *last = i - 1;
    const struct ll_op_result *op = &run->placed.ops[i - 1 - run->prepared->first_op];
    return op->start_s + op->time_s;
}

static double end_of(const struct run *run, uint32_t queued)
{
    const struct ll_op_result *op = &run->placed.ops[run->placed.queued[queued]];
    return op->start_s + op->time_s;
}

/* The op goes through the software's queue, which may have to wait for room in it, or before a turn of a loop
 * for the device to have done all that was queued before. */
static void queue_op(struct run *run, uint32_t seq)
{
    const struct ll_software *software = &run->machine->software;
    const uint32_t before = run->placed.queued_count, i = seq - run->prepared->first_op;
    run->placed.queued[run->placed.queued_count++] = i;
    if (software->queue == 0 || before == 0)
        return;
    if (before >= software->queue)
        run->placed.started_s = fmax(run->placed.started_s, end_of(run, before - (uint32_t)software->queue));
    if (run->turns && run->turns[i])
        run->placed.started_s =
            fmax(run->placed.started_s, end_of(run, before - 1)) + software->loop_overhead_s;
}

/* How long the device waits for the software to start this op, which it could begin at start_s. */
static double late_s(const struct run *run, double start_s, const struct ll_timing *timing)
{
    double before_s = timing->overhead_s + timing->more_s;
    if (run->machine->software.queue == 0 || timing->overhead_s == 0)
        return before_s - fmin(timing->behind_s, timing->more_s + timing->time_s);
    return fmax(0, run->placed.started_s + before_s - timing->behind_s - start_s);
}

/* The latest end on these streams (bits) and the op that it was; what has no stream waits for none. */
static double streams_free_s(const struct run *run, uint32_t streams, uint32_t *last)
{
    double free_s = 0;
    for (unsigned i = 0; streams >> i; i++)
        if (streams >> i & 1 && run->placed.stream_last[i] != LL_NONE &&
            run->placed.stream_end_s[i] >= free_s) {
            free_s = run->placed.stream_end_s[i];
            *last = run->placed.stream_last[i];
        }
    return free_s;
}

/* When the op can start on its streams (bits), and which op it has waited for. */
static double start_s(struct run *run, uint32_t seq, uint32_t streams)
{
    uint32_t *waited_for = &run->placed.parts[seq - run->prepared->first_op].waited_for, dep = LL_NONE,
             last = LL_NONE;
    *waited_for = LL_NONE;
    double start = streams == 1u << LL_STREAM_HOST ? buffer_free_s(run, seq, waited_for) : 0;
    double ready = ready_s(run, seq, &dep), free_s = streams_free_s(run, streams, &last);
    if (ready > start) {
        start = ready;
        *waited_for = dep;
    }
    if (last != LL_NONE && free_s >= start) {
        start = free_s;
        *waited_for = last;
    }
    return start;
}

/* How an op goes, or would go another way. */
struct tried {
    const struct ll_cost *cost;
    uint32_t taken_level;
    struct ll_timing timing;
    double late_s, taken_s;
};

/* What exchanges take from an op that starts at start_s and waits for the software; with that, how long it
 * waits. */
static void slow_down(struct run *run, const struct ll_slowed *slowed, double start_s, struct tried *tried)
{
    const struct ll_timing *timing = &tried->timing;
    double begin_s = ll_work_begins_s(run->machine, start_s, tried->late_s, timing);
    tried->taken_s = ll_taken_s(slowed, run->placed.taken_end_s, begin_s, &tried->taken_level);
    double time_s = timing->more_s + timing->time_s;
    if (run->machine->software.queue == 0)
        tried->late_s -= fmin(timing->behind_s, time_s + tried->taken_s) - fmin(timing->behind_s, time_s);
}

/* Notes the times that late_s and slow_down look at in any of the op's ways, beside those of ops. */
static void note_times(struct run *run, double start_s, const struct alone *alone)
{
    const double started_s = run->placed.started_s;
    const double latest_s = (start_s > started_s ? start_s : started_s) + alone->most_before_s;
    run->placed.reach_s = latest_s > run->placed.reach_s ? latest_s : run->placed.reach_s;
    if (run->machine->software.queue > 0)
        run->placed.low_s = least(run->placed.low_s, least(started_s, started_s + alone->least_before_s));
}

static void place_op(struct run *run, uint32_t seq, uint32_t streams, double start_s,
                     const struct tried *tried)
{
    struct ll_op_result *op = &run->placed.ops[seq - run->prepared->first_op];
    struct ll_op_parts *parts = &run->placed.parts[seq - run->prepared->first_op];
    const struct ll_timing *timing = &tried->timing;
    assert(start_s >= 0 && isfinite(start_s) && timing->time_s >= 0 && tried->taken_s >= 0);
    assert(tried->late_s >= 0 && timing->exposed_s <= timing->time_s * (1 + 1e-9));
    run->placed.costs[seq - run->prepared->first_op] = tried->cost;
    op->start_s = start_s;
    op->taken_s = tried->taken_s;
    op->active_s = timing->time_s + op->taken_s;
    op->time_s = op->active_s + tried->late_s;
    parts->overhead_s = tried->late_s;
    parts->exposed_s = timing->exposed_s;
    parts->taken_level = tried->taken_level;
    run->placed.low_s = least(run->placed.low_s, start_s);
    run->placed.active_s += streams == 1u << LL_STREAM_DEVICE ? op->active_s : 0;
    run->placed.starting_s += timing->overhead_s;
    run->placed.end_s = fmax(run->placed.end_s, op->start_s + op->time_s);
    for (unsigned i = 0; streams >> i; i++)
        if (streams >> i & 1) {
            run->placed.stream_end_s[i] = fmax(run->placed.stream_end_s[i], op->start_s + op->time_s);
            run->placed.stream_last[i] = seq;
        }
}

/* What does not run on the device takes its time from when it can start. */
static void pass_by(struct run *run, uint32_t seq, uint32_t streams, uint32_t bound, double time_s)
{
    struct ll_op_result *result = &run->placed.ops[seq - run->prepared->first_op];
    result->unit = LL_NO_UNIT;
    result->bound = bound;
    place_op(run, seq, streams, start_s(run, seq, streams & ~(1u << LL_STREAM_PROGRAM)),
             &(struct tried){.cost = run->signatures.ways[run->prepared->trace->ops[seq].signature],
                             .timing.time_s = time_s});
}

/* Time of the program itself, or of a kernel that nobody knows: as it was recorded, but for what holds the
 * kernel back, which is faster or slower here. */
static void run_wait(struct run *run, uint32_t seq)
{
    uint32_t bound;
    const bool kernel = ll_is_kernel(run->prepared, run->prepared->trace->ops[seq].signature);
    double time_s = ll_wait_s(run->prepared, run->machine, seq, &bound) * (kernel ? run->slowed : 1);
    pass_by(run, seq, 1u << (kernel ? LL_STREAM_DEVICE : LL_STREAM_PROGRAM), bound, time_s);
    run->placed.ops[seq - run->prepared->first_op].origin = kernel ? LL_TIME_MEASURED : LL_TIME_MODELLED;
}

/* With other devices, on the streams of all levels whose links are used. */
static void run_exchange(struct run *run, uint32_t seq)
{
    const struct ll_price *price = &run->signatures.prices[run->prepared->trace->ops[seq].signature];
    pass_by(run, seq, price->levels << LL_STREAM_NETWORK, LL_BOUND_NETWORK, price->exchanged.time_s);
    for (unsigned l = 0; price->levels >> l && !price->copied; l++)
        if (price->levels >> l & 1) /* which its end is the last of */
            run->placed.taken_end_s[l] = run->placed.stream_end_s[LL_STREAM_NETWORK + l];
}

void ll_fill_detail(const struct ll_machine *machine, const struct ll_cost *cost,
                    const struct ll_warm_bytes *found, double time_s, struct ll_op_detail *detail)
{
    detail->compute_cycles = cost->compute_cycles;
    detail->stall_cycles = fmax(0, time_s * cost->clock_hz - cost->compute_cycles);
    detail->utilization = cost->utilization;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double left = fmax(0, cost->level_bytes[l] - found->saved_bytes[l]);
        detail->traffic_bytes[l] = left;
        double share = left > 0 ? left / cost->level_bytes[l] : 0;
        detail->written_bytes[l] = share * cost->level_written[l];
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            detail->operand_bytes[l][i] = share * cost->level_of[l][i];
    }
    detail->traffic_bytes[machine->level_count - 1] += cost->apart_bytes;
    detail->price = NULL;
}

/* Room for all ways; false when memory ran out. */
static bool make_alone(struct alone *alone, uint32_t ways, struct ll_arena *arena)
{
    alone->timings = ll_alloc(arena, ways, sizeof *alone->timings);
    alone->tallies = ll_alloc(arena, ways, sizeof *alone->tallies);
    return alone->timings && alone->tallies;
}

/* Asks the machine what an op finds and takes. False when memory ran out. */
static bool find_alone(struct run *run, uint32_t seq, struct alone *alone)
{
    const struct ll_prepared *prepared = run->prepared;
    ll_find_saved(prepared, run->machine, seq, run->so_far, &alone->found);
    alone->ways = ll_signatures_algorithms(&run->signatures, prepared->trace->ops[seq].signature,
                                           &alone->found, run->arena);
    if (!alone->ways || (!alone->timings && !make_alone(alone, alone->ways->ways, run->scratch)))
        return false;
    alone->most_before_s = 0;
    alone->least_before_s = INFINITY;
    for (uint32_t i = 0; i < alone->ways->ways; i++) {
        ll_time_op(prepared, run->machine, seq, &alone->ways[i], &alone->found, run->slowed,
                   &alone->timings[i]);
        const struct ll_timing *timing = &alone->timings[i];
        const double before_s = timing->overhead_s + timing->more_s;
        alone->most_before_s = -least(-alone->most_before_s, -before_s);
        alone->least_before_s = least(alone->least_before_s, before_s - timing->behind_s);
        alone->tallies[i] = NULL;
    }
    return true;
}

/* The op by itself, remembered where it repeats. NULL when memory ran out. */
static struct alone *alone_of(struct run *run, uint32_t seq)
{
    uint32_t repeat = run->repeats ? run->prepared->repeats[seq - run->prepared->first_op] : LL_NONE;
    if (repeat == LL_NONE)
        return find_alone(run, seq, &run->once) ? &run->once : NULL;
    if (!run->repeats[repeat]) {
        struct alone *alone = ll_alloc(run->scratch, 1, sizeof *alone);
        if (!alone || !find_alone(run, seq, alone))
            return NULL;
        run->repeats[repeat] = alone;
    }
    return run->repeats[repeat];
}

/* What the op adds to sums, done this way. NULL when memory ran out. */
static const struct ll_tally *tally_of(struct run *run, uint32_t seq, struct alone *alone, uint32_t way)
{
    const struct ll_work *work = &run->prepared->works[run->prepared->trace->ops[seq].signature];
    struct ll_op_detail detail;
    assert(way < alone->ways->ways);
    if (alone->tallies[way])
        return alone->tallies[way];
    ll_fill_detail(run->machine, &alone->ways[way], &alone->found, 0, &detail);
    ll_tally_op(run->machine, work, &alone->ways[way], &detail, &run->tally);
    if (alone == &run->once)
        return &run->tally;
    size_t bytes = offsetof(struct ll_tally, accesses) + run->tally.access_count * sizeof(struct ll_access);
    void *kept = ll_alloc(run->scratch, 1, bytes);
    if (kept)
        alone->tallies[way] = memcpy(kept, &run->tally, bytes);
    return kept;
}

static enum ll_replay_stream stream_of(const struct ll_work *work)
{
    if (work->kind == LL_WORK_SWAP)
        return work->a_bytes > work->c_bytes ? LL_STREAM_TO_HOST : LL_STREAM_FROM_HOST;
    return work->kind == LL_WORK_HOST ? LL_STREAM_HOST : LL_STREAM_DEVICE;
}

/* Done as soon as what it waits for is. */
static void run_idle(struct run *run, uint32_t seq)
{
    pass_by(run, seq, 0, LL_BOUND_DEPENDENCY, 0);
}

/* An op on the device's stream that could begin at start_s, in one of its ways. */
static struct tried try_way(struct run *run, uint32_t seq, const struct alone *alone, uint32_t way,
                            double start_s)
{
    struct tried tried = {.cost = &alone->ways[way], .timing = alone->timings[way]};
    tried.late_s = late_s(run, start_s, &tried.timing);
    const struct ll_slowed slowed = {run->prepared, run->machine,        seq,        tried.cost,
                                     &alone->found, tried.timing.time_s, run->slowed};
    if (!run->among->apart && run->machine->network_count > 0)
        slow_down(run, &slowed, start_s, &tried);
    return tried;
}

/* Of equals that which leaves the device first is better, then what is better alone. */
static bool is_better(const struct run *run, uint32_t seq, const struct ll_warm_bytes *found,
                      const struct tried *a, const struct tried *b)
{
    const struct ll_work *work = &run->prepared->works[run->prepared->trace->ops[seq].signature];
    double a_s = a->timing.time_s + a->taken_s, b_s = b->timing.time_s + b->taken_s;
    struct ll_merit of_a = ll_cost_merit(run->machine, work, a->cost, found, a_s + a->late_s);
    struct ll_merit of_b = ll_cost_merit(run->machine, work, b->cost, found, b_s + b->late_s);
    bool equal = of_a.first == of_b.first && a_s != b_s;
    return equal ? a_s < b_s : ll_is_better(of_a, of_b);
}

/* The best way, here and now: that which ends first, or what else the software wants. */
static struct tried best_way(struct run *run, uint32_t seq, const struct alone *alone, double start_s)
{
    struct tried best = try_way(run, seq, alone, 0, start_s);
    for (uint32_t i = 1; i < alone->ways->ways; i++) {
        struct tried other = try_way(run, seq, alone, i, start_s);
        best = is_better(run, seq, &alone->found, &other, &best) ? other : best;
    }
    return best;
}

static const struct ll_tally nothing;

/* NULL when memory ran out. */
static const struct ll_tally *run_on_device(struct run *run, uint32_t seq)
{
    const struct ll_prepared *prepared = run->prepared;
    uint32_t signature = prepared->trace->ops[seq].signature, i = seq - prepared->first_op;
    enum ll_replay_stream stream = stream_of(&prepared->works[signature]);
    struct alone *alone = alone_of(run, seq);
    if (!alone)
        return NULL;
    struct tried tried = {.cost = alone->ways};
    double begin_s = start_s(run, seq, 1u << stream);
    if (stream == LL_STREAM_DEVICE) {
        queue_op(run, seq);
        run->placed.ops[i].lead_s = begin_s - run->placed.started_s;
        note_times(run, begin_s, alone);
        tried = best_way(run, seq, alone, begin_s);
        run->placed.started_s += run->machine->software.queue > 0 ? tried.timing.overhead_s : 0;
    } else {
        tried.timing = alone->timings[0];
        tried.timing.overhead_s = tried.timing.behind_s = 0;
    }
    run->placed.ops[i].launch_s = tried.timing.overhead_s;
    run->placed.ops[i].unit = tried.cost->unit;
    run->placed.ops[i].bound = tried.timing.bound;
    run->placed.ops[i].origin = tried.timing.origin;
    place_op(run, seq, 1u << stream, begin_s, &tried);
    return run->among->time_alone ? &nothing
                                  : tally_of(run, seq, alone, (uint32_t)(tried.cost - alone->ways));
}

struct ll_op_detail ll_replay_detail(const struct ll_result *result, uint32_t seq)
{
    assert(seq >= result->prepared->first_op && seq < result->prepared->end_op);
    const struct ll_prepared *prepared = result->prepared;
    uint32_t signature = prepared->trace->ops[seq].signature;
    struct ll_op_detail detail = {0};
    struct ll_warm_bytes found;
    if (prepared->works[signature].kind == LL_WORK_COLLECTIVE)
        detail.price = &result->prices[signature];
    else if (prepared->works[signature].kind != LL_WORK_WAIT) {
        ll_find_saved(prepared, result->machine, seq, result->so_far, &found);
        ll_fill_detail(result->machine, ll_replay_cost(result, seq), &found,
                       result->ops[seq - prepared->first_op].time_s, &detail);
        const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
        if (prepared->as_recorded && op->unit != LL_NO_UNIT && op->time_s > 0)
            detail.utilization *=
                detail.compute_cycles / result->machine->units[op->unit].clock_hz / op->time_s;
    }
    return detail;
}

struct ll_bounds ll_replay_bounds(const struct ll_result *result, uint32_t signature)
{
    assert(signature < result->prepared->trace->signature_count);
    const struct ll_prepared *prepared = result->prepared;
    if (prepared->works[signature].kind == LL_WORK_WAIT ||
        prepared->works[signature].kind == LL_WORK_COLLECTIVE)
        return (struct ll_bounds){0};
    return ll_cost_bounds(result->machine, prepared->trace->signatures[signature].view.kind,
                          &prepared->works[signature]);
}

/* Ops repeat where nothing but reuse distances tells what they find, and how long they take. */
static bool ops_repeat(const struct run *run)
{
    return run->prepared->repeat_count > 0 && !run->prepared->as_recorded &&
           !ll_history_matters(run->history);
}

/* The costs of all signatures are there. False when memory ran out. */
static bool make_room(struct run *run)
{
    run->placed.low_s = INFINITY;
    const struct ll_prepared *prepared = run->prepared;
    uint64_t ops = prepared->end_op - prepared->first_op;
    uint32_t most_ways = 1;
    for (uint64_t signature = 0; signature < prepared->trace->signature_count; signature++)
        if (run->signatures.ways[signature] && run->signatures.ways[signature]->ways > most_ways)
            most_ways = run->signatures.ways[signature]->ways;
    run->placed.ops = ll_alloc(run->arena, ops, sizeof *run->placed.ops);
    run->placed.costs = ll_alloc(run->arena, ops, sizeof *run->placed.costs);
    run->placed.begun_s = ll_alloc(run->arena, ops, sizeof *run->placed.begun_s);
    run->history =
        ll_history_new(prepared->residency, run->machine, prepared->first_op, prepared->end_op, run->arena);
    run->so_far = (struct ll_so_far){run->placed.begun_s, prepared->first_op, run->history};
    run->placed.parts = ll_alloc(run->scratch, ops, sizeof *run->placed.parts);
    run->placed.queued = ll_alloc(run->scratch, ops, sizeof *run->placed.queued);
    if (run->machine->software.loop_overhead_s > 0 && !(run->turns = ll_loop_turns(prepared, run->scratch)))
        return false;
    for (unsigned i = 0; i < LL_STREAM_COUNT; i++)
        run->placed.stream_last[i] = LL_NONE;
    if (!run->placed.ops || !run->placed.costs || !run->placed.begun_s || !run->history ||
        !run->placed.parts || !run->placed.queued || !make_alone(&run->once, most_ways, run->scratch))
        return false;
    if (!ops_repeat(run))
        return true;
    run->repeats = ll_alloc(run->scratch, prepared->repeat_count, sizeof(struct alone *));
    return run->repeats != NULL;
}

/* Adds what an op moves to the sums of all. */
static void count(struct run *run, const struct ll_tally *tally, struct ll_result *result)
{
    for (uint64_t l = 0; l < run->machine->level_count; l++)
        result->level_bytes[l] += tally->traffic_bytes[l];
    for (uint32_t i = 0; i < tally->access_count; i++)
        run->accessed_bytes[tally->accesses[i].level] += tally->accesses[i].bytes;
}

/* Whether the op runs on the device's stream. */
static bool is_on_device(const struct run *run, uint32_t seq)
{
    const uint32_t signature = run->prepared->trace->ops[seq].signature;
    const struct ll_work *work = &run->prepared->works[signature];
    if (ll_signature_is_idle(run->among, signature) || work->kind == LL_WORK_COLLECTIVE)
        return false;
    return work->kind == LL_WORK_WAIT ? ll_is_kernel(run->prepared, signature)
                                      : stream_of(work) == LL_STREAM_DEVICE;
}

/* The terms that an op which has been replayed has added to sums. False when memory ran out. */
static bool add_terms(struct run *run, uint32_t seq, struct ll_kind_sums *kinds, struct ll_result *result,
                      struct ll_terms *terms)
{
    const uint32_t i = seq - run->prepared->first_op, signature = run->prepared->trace->ops[seq].signature;
    const uint64_t kind = run->prepared->works[signature].kind;
    const struct ll_tally *tally = &nothing;
    ll_terms_add(terms, &run->placed.starting_s, run->placed.ops[i].launch_s);
    if (run->among->time_alone)
        ll_terms_add(terms, &run->placed.active_s, is_on_device(run, seq) ? run->placed.ops[i].active_s : 0);
    if (run->among->time_alone || ll_signature_is_idle(run->among, signature))
        return !terms->failed;
    if (kind != LL_WORK_WAIT && kind != LL_WORK_COLLECTIVE) {
        struct alone *alone = alone_of(run, seq);
        if (!alone || !(tally = tally_of(run, seq, alone, (uint32_t)(run->placed.costs[i] - alone->ways))))
            return false;
    }
    for (uint64_t l = 0; l < run->machine->level_count; l++)
        ll_terms_add(terms, &result->level_bytes[l], tally->traffic_bytes[l]);
    for (uint32_t k = 0; k < tally->access_count; k++)
        ll_terms_add(terms, &run->accessed_bytes[tally->accesses[k].level], tally->accesses[k].bytes);
    ll_kind_sums_terms(kinds, result, seq, tally, terms);
    return !terms->failed;
}

/* Leaves out so many periods of the steps that end with op last: *skipped ops. False when memory ran out. */
static bool skip_steps(struct run *run, struct ll_turnover *turnover, uint32_t periods, uint32_t last,
                       struct ll_kind_sums *kinds, struct ll_result *result, uint32_t *skipped)
{
    const struct ll_trace *trace = run->prepared->trace;
    const uint32_t ops = 2 * trace->steps[trace->ops[last].step].op_count;
    struct ll_terms terms = {0};
    bool *on_device = malloc(ops * sizeof *on_device), right = on_device != NULL;
    for (uint32_t i = 0; right && i < ops; i++) {
        const uint32_t seq = last + 1 - ops + i;
        on_device[i] = is_on_device(run, seq);
        right = add_terms(run, seq, kinds, result, &terms);
    }
    terms.failed |= !right;
    if (right)
        ll_turnover_skip(turnover, &run->placed, periods, !run->among->time_alone, on_device);
    *skipped = periods * ops;
    free(on_device);
    return ll_terms_sum(&terms, periods);
}

/* An op, and what it adds to sums. False when memory ran out. */
static bool run_op(struct run *run, uint32_t seq, struct ll_kind_sums *kinds, struct ll_result *result)
{
    const struct ll_prepared *prepared = run->prepared;
    const uint32_t signature = prepared->trace->ops[seq].signature;
    const uint64_t kind = prepared->works[signature].kind;
    const struct ll_tally *tally = &nothing;
    run->placed.begun_s[seq - prepared->first_op] = run->placed.active_s;
    ll_history_add(run->history, seq, run->so_far);
    if (ll_signature_is_idle(run->among, signature)) {
        run_idle(run, seq);
        return true;
    }
    if (kind == LL_WORK_WAIT)
        run_wait(run, seq);
    else if (kind == LL_WORK_COLLECTIVE)
        run_exchange(run, seq);
    else if (!(tally = run_on_device(run, seq)))
        return false;
    if (run->among->time_alone)
        return true;
    count(run, tally, result);
    ll_kind_sums_add(kinds, result, seq, tally);
    return true;
}

/* False when memory ran out. */
static bool run_ops(struct run *run, struct ll_kind_sums *kinds, struct ll_result *result)
{
    const struct ll_prepared *prepared = run->prepared;
    const struct ll_trace *trace = prepared->trace;
    const bool steps_turn = run->repeats && !run->turns && prepared->equal_step_count > 0;
    struct ll_turnover turnover = {0};
    if (steps_turn)
        ll_turnover_begin(&turnover, prepared, run->machine);
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        if (!run_op(run, seq, kinds, result))
            return false;
        const struct ll_step *step = steps_turn ? &trace->steps[trace->ops[seq].step] : NULL;
        if (!step || step->first_op + step->op_count - 1 != seq)
            continue;
        turnover.step = trace->ops[seq].step;
        uint32_t periods = ll_turnover_end_step(&turnover, &run->placed), skipped = 0;
        if (periods > 0 && !skip_steps(run, &turnover, periods, seq, kinds, result, &skipped))
            return false;
        seq += skipped;
    }
    return true;
}

static bool sum_up(const struct run *run, struct ll_kind_sums *kinds, struct ll_result *result)
{
    double steps = (double)run->prepared->steps,
           behind_s = fmax(0, run->placed.started_s - run->placed.end_s);
    assert(steps >= 1 && run->placed.end_s >= 0);
    /* The device runs one op at a time. */
    assert(run->placed.active_s <= run->placed.end_s * (1 + 1e-9));
    result->time_s = (run->placed.end_s + behind_s) / steps;
    if (run->among->time_alone)
        return true;
    result->device_active_s = run->placed.active_s / steps;
    result->starting_s = run->placed.starting_s / steps;
    for (uint64_t l = 0; l < run->machine->level_count; l++)
        result->level_bytes[l] /= steps;
    ll_find_bottlenecks(result, run->placed.parts, behind_s);
    ll_kind_sums_end(kinds, result);
    return ll_find_exposure(result) && ll_sum_energy(result, run->among->idle, run->accessed_bytes);
}

/* NULL when memory ran out. */
static const struct ll_footprint *footprint_of(const struct run *run, struct ll_arena *arena)
{
    if (!run->machine->software.early_updates)
        return &run->prepared->footprint;
    struct ll_footprint *early = ll_alloc(arena, 1, sizeof *early);
    return early && ll_footprint_early(run->prepared->trace, early) ? early : NULL;
}

static const struct ll_result *replay(struct run *run, struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct ll_result *result = ll_alloc(arena, 1, sizeof *result);
    struct ll_kind_sums *kinds = run->among->time_alone ? NULL : ll_kind_sums_new(arena);
    const struct ll_footprint *footprint = run->among->time_alone ? NULL : footprint_of(run, arena);
    run->scratch = &scratch;
    bool done = result && ((kinds && footprint) || run->among->time_alone) &&
                ll_signatures_cost(&run->signatures, arena, diags) && make_room(run);
    if (done) {
        *result = (struct ll_result){.prepared = run->prepared,
                                     .machine = run->machine,
                                     .footprint = footprint,
                                     .ops = run->placed.ops,
                                     .costs = run->placed.costs,
                                     .ways = run->signatures.ways,
                                     .so_far = run->so_far,
                                     .prices = run->signatures.prices,
                                     .slowed = run->slowed};
        done = run_ops(run, kinds, result) && sum_up(run, kinds, result);
    }
    ll_signatures_release(&run->signatures);
    ll_arena_release(&scratch);
    return done ? result : NULL;
}

const struct ll_result *ll_replay_among(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                        const struct ll_among *among, struct ll_arena *arena,
                                        struct ll_diags *diags)
{
    assert(!(among->slowed > 0) || among->slowed >= 1);
    struct run run = {.prepared = prepared,
                      .machine = machine,
                      .among = among,
                      .slowed = among->slowed > 0 ? among->slowed : 1,
                      .signatures = {.prepared = prepared, .machine = machine, .among = among},
                      .arena = arena};
    return replay(&run, arena, diags);
}

const struct ll_result *ll_replay_remembering(const struct ll_prepared *prepared,
                                              const struct ll_machine *machine,
                                              struct ll_remembered *remembered, struct ll_arena *arena,
                                              struct ll_diags *diags)
{
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &remembered->prices);
    const struct ll_among among = {.exchanges = exchanges, .memo = &remembered->costs};
    ll_memo_turn(&remembered->costs, machine);
    const struct ll_result *result =
        exchanges ? ll_replay_among(prepared, machine, &among, arena, diags) : NULL;
    ll_exchanges_free(exchanges);
    return result;
}

const struct ll_result *ll_replay(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                  struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_remembered remembered = {0};
    const struct ll_result *result = ll_replay_remembering(prepared, machine, &remembered, arena, diags);
    ll_remembered_release(&remembered);
    return result;
}
