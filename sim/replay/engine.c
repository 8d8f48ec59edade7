/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: ops in recorded order, each on the stream of its resource.
 *
 *       start = max(end of what it depends on, end of the op before it on its stream)
 *
 * There are two streams: the device, which runs one op at a time in order, and the path from the host,
 * which loads the input of the next step while the device computes, two steps ahead at most (a double
 * buffer). What a recorded program did between its calls takes as long as it took there, beside both
 * streams: it waits for what was before it, and what came behind it waits for it. The software starts ops one
 * after the other too; with a queue it does so ahead of the device, and only what it is late counts:
 *
 *       started[k] = max(started[k - 1], end[k - queue]) + overhead[k]
 *       late[k] = max(0, started[k] - start[k])          without a queue: overhead[k]
 *
 * Costs depend on the op's form only and are asked once for each; what earlier ops left on chip
 * differs from op to op and is taken off each time. */
#include "sim/replay/replay.h"

#include "sim/cost/memo.h"
#include "sim/replay/replay_parts.h"

#include <math.h>
#include <stdlib.h>

enum stream { STREAM_DEVICE, STREAM_HOST, STREAM_PROGRAM, STREAM_COUNT };
enum { BUFFERED_STEPS = 2 };

struct run {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    struct ll_cost *costs; /* by form */
    bool *known;
    struct ll_op_result *ops;
    struct ll_op_parts *parts;
    double stream_end_s[STREAM_COUNT];
    double active_s, starting_s;        /* all that the device works, all that the software takes to start */
    double started_s;                   /* when the software has started the last op */
    uint32_t stream_last[STREAM_COUNT]; /* the op that ended last on the stream, LL_NONE before the first */
};

/* Says once for each kind that the machine cannot run it; false. */
static bool refuse(const struct run *run, enum ll_op_kind kind, const struct ll_work *work,
                   const char *trouble, bool refused[LL_OP_COUNT], struct ll_diags *diags)
{
    struct ll_place place = {.file = run->machine->path};
    if (!refused[kind])
        ll_complain(diags, place, "%s in %s: %s", ll_op_name(kind), ll_dtype_name((enum ll_dtype)work->dtype),
                    trouble);
    refused[kind] = true;
    return false;
}

/* Costs of all forms that the replayed ops use; forms that differ by their place alone share one. */
static bool cost_forms(struct run *run, struct ll_diags *diags)
{
    const struct ll_trace *trace = run->prepared->trace;
    struct ll_memo memo = {.machine = run->machine};
    bool refused[LL_OP_COUNT] = {false}, all = true;
    for (uint32_t i = run->prepared->first_op; i < run->prepared->end_op; i++) {
        uint32_t form = trace->ops[i].form;
        if (run->known[form])
            continue;
        run->known[form] = true;
        enum ll_op_kind kind = trace->forms[form].view.kind;
        const char *trouble = NULL;
        const struct ll_cost *cost = ll_memo_cost(&memo, kind, &run->prepared->works[form], &trouble);
        if (cost)
            run->costs[form] = *cost;
        else
            all = refuse(run, kind, &run->prepared->works[form], trouble ? trouble : "memory ran out",
                         refused, diags);
    }
    ll_memo_release(&memo);
    return all;
}

/* When the op's inputs are there, and which op that was waited for. */
static double ready_s(const struct run *run, uint32_t seq, uint32_t *last)
{
    const struct ll_deps *deps = run->prepared->deps;
    double ready = 0;
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++) {
        uint32_t dep = deps->ops[i];
        if (dep < run->prepared->first_op)
            continue;
        const struct ll_op_result *op = &run->ops[dep - run->prepared->first_op];
        if (op->start_s + op->time_s > ready) {
            ready = op->start_s + op->time_s;
            *last = dep;
        }
    }
    return ready;
}

/* The buffer for this step's input is free when the step BUFFERED_STEPS before has ended: its last op on the
 * device. Zero for the first steps. */
static double buffer_free_s(const struct run *run, uint32_t seq, uint32_t *last)
{
    const struct ll_trace *trace = run->prepared->trace;
    uint32_t step = trace->ops[seq].step, i = seq;
    while (i > run->prepared->first_op && trace->ops[i - 1].step + BUFFERED_STEPS > step)
        i--;
    if (i == run->prepared->first_op)
        return 0;
    *last = i - 1;
    const struct ll_op_result *op = &run->ops[i - 1 - run->prepared->first_op];
    return op->start_s + op->time_s;
}

/* How long the device waits for the software to start this op, which it could begin at start_s. */
static double late_s(struct run *run, uint32_t seq, double start_s, double overhead_s)
{
    uint64_t queue = run->machine->software.queue, i = seq - run->prepared->first_op;
    if (queue == 0 || overhead_s == 0)
        return overhead_s;
    if (i >= queue) {
        const struct ll_op_result *op = &run->ops[i - queue];
        run->started_s = fmax(run->started_s, op->start_s + op->time_s);
    }
    run->started_s += overhead_s;
    return fmax(0, run->started_s - start_s);
}

static void place_op(struct run *run, uint32_t seq, enum stream stream, double time_s, double overhead_s)
{
    struct ll_op_result *op = &run->ops[seq - run->prepared->first_op];
    struct ll_op_parts *parts = &run->parts[seq - run->prepared->first_op];
    uint32_t waited_for = LL_NONE;
    double start = stream == STREAM_HOST ? buffer_free_s(run, seq, &waited_for) : 0;
    uint32_t dep = LL_NONE;
    double ready = ready_s(run, seq, &dep);
    if (ready > start) {
        start = ready;
        waited_for = dep;
    }
    if (stream != STREAM_PROGRAM && run->stream_end_s[stream] >= start &&
        run->stream_last[stream] != LL_NONE) {
        start = run->stream_end_s[stream];
        waited_for = run->stream_last[stream];
    }
    parts->overhead_s = late_s(run, seq, start, overhead_s);
    parts->waited_for = waited_for;
    op->start_s = start;
    op->time_s = time_s + parts->overhead_s;
    op->active_s = time_s;
    run->active_s += stream == STREAM_DEVICE ? time_s : 0;
    run->starting_s += overhead_s;
    run->stream_end_s[stream] = fmax(run->stream_end_s[stream], start + op->time_s);
    run->stream_last[stream] = seq;
}

/* The op's time on an empty stream: residency and fusion take traffic off its cost. */
static void time_op(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                    const struct ll_cost *cost, double saved[LL_MAX_LEVELS], struct ll_timing *timing,
                    struct ll_explain *why)
{
    bool fuses = machine->software.fusion == LL_FUSION_ELEMENTWISE;
    const struct ll_fused *fused = &prepared->fused[seq];
    ll_residency_saved(prepared->residency, machine, seq, fuses ? fused->held : 0, saved);
    ll_cost_time(machine, cost, saved, timing, why);
    if (fuses && fused->follows) {
        timing->overhead_s = 0;
        ll_say(why, "fused with the op before it, its start costs nothing: %.10g + 0 = %.10g s",
               timing->time_s, timing->time_s);
    }
}

/* Time of the program itself: as recorded, whatever the machine. */
static void run_wait(struct run *run, uint32_t seq)
{
    struct ll_op_result *result = &run->ops[seq - run->prepared->first_op];
    result->unit = LL_NO_UNIT;
    result->bound = LL_BOUND_HOST;
    place_op(run, seq, STREAM_PROGRAM, (double)run->prepared->trace->ops[seq].duration_ns * 1e-9, 0);
}

static void run_op(struct run *run, uint32_t seq)
{
    const struct ll_machine *machine = run->machine;
    uint32_t form = run->prepared->trace->ops[seq].form, i = seq - run->prepared->first_op;
    const struct ll_cost *cost = &run->costs[form];
    double saved[LL_MAX_LEVELS];
    struct ll_timing timing;
    time_op(run->prepared, machine, seq, cost, saved, &timing, NULL);
    run->ops[i].unit = cost->unit;
    run->ops[i].bound = timing.bound;
    run->ops[i].compute_cycles = cost->compute_cycles;
    run->ops[i].utilization = cost->utilization;
    run->ops[i].bound_s = cost->bound_s;
    run->ops[i].pipelined_s = cost->pipelined_s;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double left = fmax(0, cost->level_bytes[l] - saved[l]);
        run->ops[i].traffic_bytes[l] = left;
        run->ops[i].written_bytes[l] = left > 0 ? cost->level_written[l] * (left / cost->level_bytes[l]) : 0;
    }
    run->ops[i].traffic_bytes[run->machine->level_count - 1] += cost->apart_bytes;
    bool from_host = run->prepared->works[form].kind == LL_WORK_HOST;
    run->parts[i].exposed_s = timing.exposed_s;
    place_op(run, seq, from_host ? STREAM_HOST : STREAM_DEVICE, timing.time_s,
             from_host ? 0 : timing.overhead_s);
    double busy_cycles = cost->compute_cycles, all_cycles = run->ops[i].time_s * cost->clock_hz;
    run->ops[i].stall_cycles = all_cycles > busy_cycles ? all_cycles - busy_cycles : 0;
}

static bool make_room(struct run *run, struct ll_arena *arena)
{
    uint64_t forms = run->prepared->trace->form_count, ops = run->prepared->end_op - run->prepared->first_op;
    run->costs = ll_alloc(arena, forms, sizeof *run->costs);
    run->known = ll_alloc(arena, forms, sizeof *run->known);
    run->ops = ll_alloc(arena, ops, sizeof *run->ops);
    run->parts = ll_alloc(arena, ops, sizeof *run->parts);
    for (unsigned i = 0; i < STREAM_COUNT; i++)
        run->stream_last[i] = LL_NONE;
    return run->costs && run->known && run->ops && run->parts;
}

const struct ll_result *ll_replay(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                  struct ll_arena *arena, struct ll_diags *diags)
{
    struct run run = {.prepared = prepared, .machine = machine};
    const struct ll_trace *trace = prepared->trace;
    struct ll_result *result = ll_alloc(arena, 1, sizeof *result);
    if (!result || !make_room(&run, arena) || !cost_forms(&run, diags))
        return NULL;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++)
        (prepared->works[trace->ops[seq].form].kind == LL_WORK_WAIT ? run_wait : run_op)(&run, seq);
    *result = (struct ll_result){.prepared = prepared, .machine = machine, .ops = run.ops};
    double end_s = 0;
    for (unsigned i = 0; i < STREAM_COUNT; i++)
        end_s = fmax(end_s, run.stream_end_s[i]);
    result->time_s = end_s / (double)prepared->steps;
    result->device_active_s = run.active_s / (double)prepared->steps;
    result->starting_s = run.starting_s / (double)prepared->steps;
    ll_find_bottlenecks(result, run.parts);
    ll_sum_energy(result);
    return ll_sum_kinds(result, arena) ? result : NULL;
}

/* What of the op's time in this replay the software took to start it. */
static void tell_start(const struct ll_result *result, uint32_t seq, const struct ll_timing *timing,
                       struct ll_explain *why)
{
    double all_s = result->ops[seq - result->prepared->first_op].time_s, late_s = all_s - timing->time_s;
    if (timing->overhead_s == 0)
        return;
    if (result->machine->software.queue > 0)
        ll_say(why, "to start the op takes the software %.10g s, of which earlier ops hide %.10g s",
               timing->overhead_s, fmax(0, timing->overhead_s - late_s));
    ll_say(why, "with starting the op: %.10g + %.10g = %.10g s", timing->time_s, late_s, all_s);
}

bool ll_replay_explain(const struct ll_result *result, uint32_t seq, struct ll_explain *why)
{
    const struct ll_prepared *prepared = result->prepared;
    if (seq < prepared->first_op || seq >= prepared->end_op)
        return false;
    uint32_t form = prepared->trace->ops[seq].form;
    if (prepared->works[form].kind == LL_WORK_WAIT) {
        double time_s = (double)prepared->trace->ops[seq].duration_ns * 1e-9;
        ll_say(why,
               "what the program did here was not seen; it takes as long as when it was recorded: %.10g s",
               time_s);
        return true;
    }
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    double saved[LL_MAX_LEVELS];
    if (!ll_cost_op(result->machine, prepared->trace->forms[form].view.kind, &prepared->works[form], &cost,
                    why, &trouble))
        return false;
    time_op(prepared, result->machine, seq, &cost, saved, &timing, why);
    tell_start(result, seq, &timing, why);
    return true;
}
