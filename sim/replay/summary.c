/* SPDX-License-Identifier: Apache-2.0 */
/* The replay of a trace on one device without exchanges, op after op as engine.c does it, with all taken out
 * that machines with the same outlines share.
 *
 *       made once    works -> outlines;  ops -> what they find, whom they wait for, on which stream
 *       a machine    works -> costs -> ops alone -> starts and ends -> sums
 *
 * Sums of bytes follow from which configurations are taken; they are summed up anew only when one of these
 * is another. */
#include "sim/replay/summary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/outline.h"
#include "sim/memory/footprint.h"
#include "sim/replay/replay_parts.h"

enum { MOST_SUMMARIES = 16 };
enum stream { DEVICE, HOST, TO_HOST, FROM_HOST, STREAMS };

/* Work of some ops, done in one way on each machine. */
struct summed_work {
    uint32_t signature; /* of the first */
    uint32_t taken;     /* candidate of its outline */
    uint32_t accessed;  /* 1 + that whose reads and writes its ops have; 0: none */
    struct ll_outline outline;
    bool sensitive;              /* what some op of it finds may decide how that is done */
    uint32_t first;              /* of its ops alone, the latest; LL_NONE: none */
    struct ll_cost *cost;        /* of what has no outline; else NULL */
    struct ll_timing timings[2]; /* of ops alone that find nothing, and of such that follow others */
    bool timed[2];
    double compute_j;
};

/* Ops that are alike but for when they run. */
struct alone {
    uint32_t work, next;               /* of the same work, LL_NONE behind the last */
    bool follows;                      /* it is part of the kernel of an op before it */
    const struct ll_warm_bytes *found; /* NULL: nothing */
    struct accesses **by_candidate;    /* NULL until they are asked for */
    const struct accesses *accesses;   /* of the candidate that is taken */
    const struct ll_timing *timing;    /* its own, or its work's */
    struct ll_timing own;
};

/* What an op reads and writes: as of ll_tally. */
struct accesses {
    uint32_t count;
    struct ll_access at[];
};

struct step {
    uint32_t alone;
    enum stream stream;
    uint32_t first_dep, end_dep; /* in `deps` */
    uint32_t buffer;             /* of input: the op whose end frees its buffer; LL_NONE: none */
};

struct ll_summary {
    const struct ll_prepared *prepared;
    struct ll_outline_key key;
    bool fills_caches, energy_given;
    uint64_t buffered_steps;
    bool serves;    /* false: such machines are replayed in full */
    bool asks_memo; /* of work on units that has no outline */
    struct ll_arena arena;
    struct summed_work *works;
    uint32_t work_count;
    struct alone *alones;
    uint32_t alone_count;
    struct step *steps;
    uint32_t step_count, *deps, *queued;
    struct ll_cost cost; /* of the outline at hand; the rest stays zero */
    /* Of the latest machine: */
    struct ll_op_result *ops;
    struct ll_op_parts *parts;
    double *ends_s; /* by op */
    bool summed;    /* bytes are, of the candidates that are taken */
    bool computed;  /* what computing takes is, with these energies */
    struct ll_energy energies;
    uint64_t turn; /* another one for other energies */
    double accessed_bytes[LL_MAX_LEVELS], compute_j, host_bytes;
};

/* --- which machines --- */

/* Whether a summary tells all of such a replay. */
static bool serves(const struct ll_prepared *prepared, const struct ll_machine *machine)
{
    return ll_outline_serves(machine) && machine->software.fusion != LL_FUSION_LAYERS &&
           machine->software.loop_overhead_s == 0 && !machine->software.early_updates &&
           !prepared->as_recorded && prepared->repeat_count > 0 && ll_trace_ranks(prepared->trace) < 2;
}

static bool is_of(const struct ll_summary *summary, const struct ll_prepared *prepared,
                  const struct ll_machine *machine)
{
    return summary->prepared == prepared && summary->fills_caches == machine->host.fills_caches &&
           summary->energy_given == machine->energy_given &&
           summary->buffered_steps == machine->host.buffered_steps &&
           ll_outline_is_same(&summary->key, machine);
}

static void release(struct ll_summary *summary)
{
    ll_arena_release(&summary->arena);
    free(summary);
}

void ll_summaries_release(struct ll_summaries *summaries)
{
    for (uint64_t i = 0; i < summaries->count; i++)
        release(summaries->at[i]);
    free(summaries->at);
    *summaries = (struct ll_summaries){0};
}

/* --- making --- */

static enum stream stream_of(const struct ll_work *work)
{
    if (work->kind == LL_WORK_SWAP)
        return work->a_bytes > work->c_bytes ? TO_HOST : FROM_HOST;
    return work->kind == LL_WORK_HOST ? HOST : DEVICE;
}

/* The last op of the step so many before as there are buffers; LL_NONE: it is before all of them. */
static uint32_t buffer_of(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq)
{
    const struct ll_op *ops = prepared->trace->ops;
    uint64_t step = ops[seq].step, buffered = ll_max(1, machine->host.buffered_steps);
    uint32_t i = seq;
    while (i > prepared->first_op && ops[i - 1].step + buffered > step)
        i--;
    return i == prepared->first_op ? LL_NONE : i - 1 - prepared->first_op;
}

static bool is_anything(const struct ll_warm_bytes *found)
{
    static const struct ll_warm_bytes nothing;
    return memcmp(found, &nothing, sizeof nothing) != 0;
}

/* What the op finds; in the summary's arena. False when memory ran out. */
static bool make_alone(struct ll_summary *summary, const struct ll_machine *machine,
                       const struct ll_history *history, uint32_t seq, uint32_t work)
{
    const struct ll_prepared *prepared = summary->prepared;
    const struct ll_fused fused = ll_fused_as(prepared, machine->software.fusion, seq);
    const struct ll_so_far so_far = {NULL, prepared->first_op, history};
    struct alone *alone = &summary->alones[summary->alone_count++];
    struct ll_warm_bytes found;
    *alone = (struct alone){.work = work, .next = summary->works[work].first, .follows = fused.follows};
    summary->works[work].first = summary->alone_count - 1;
    ll_residency_saved(prepared->residency, machine, seq, fused.held, so_far, &found);
    if (!is_anything(&found))
        return true;
    summary->works[work].sensitive |=
        !summary->works[work].outline.served || summary->works[work].outline.ways > 1;
    return (alone->found = ll_copy(&summary->arena, &found, sizeof found));
}

static bool runs_on_unit(const struct ll_work *work)
{
    return work->kind != LL_WORK_NOTHING && work->kind != LL_WORK_HOST && work->kind != LL_WORK_SWAP;
}

/* The work of a signature; LL_NONE when memory ran out. */
static uint32_t work_of(struct ll_summary *summary, const struct ll_machine *machine, uint32_t signature,
                        uint32_t *numbers)
{
    const struct ll_prepared *prepared = summary->prepared;
    uint32_t same = prepared->same[signature];
    if (numbers[same] != LL_NONE)
        return numbers[same];
    struct summed_work *work = &summary->works[summary->work_count];
    work->signature = same;
    work->first = LL_NONE;
    if (!ll_outline_new(machine, prepared->trace->signatures[same].view.kind, &prepared->works[same],
                        &summary->arena, &work->outline))
        return LL_NONE;
    summary->asks_memo |= !work->outline.served && runs_on_unit(&prepared->works[same]);
    return numbers[same] = summary->work_count++;
}

static bool make_steps(struct ll_summary *summary, const struct ll_machine *machine,
                       const struct ll_history *history, uint32_t *numbers, uint32_t *repeats)
{
    const struct ll_prepared *prepared = summary->prepared;
    const struct ll_deps *deps = prepared->deps;
    uint32_t dep_count = 0, device_count = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        uint32_t signature = prepared->trace->ops[seq].signature, i = seq - prepared->first_op;
        struct step *step = &summary->steps[i];
        uint32_t work = work_of(summary, machine, signature, numbers), repeat = prepared->repeats[i];
        if (work == LL_NONE)
            return false;
        bool again = repeat != LL_NONE && repeats[repeat] != LL_NONE;
        step->alone = again ? repeats[repeat] : summary->alone_count;
        if (!again && !make_alone(summary, machine, history, seq, work))
            return false;
        if (repeat != LL_NONE)
            repeats[repeat] = step->alone;
        step->stream = stream_of(&prepared->works[signature]);
        step->buffer = step->stream == HOST ? buffer_of(prepared, machine, seq) : LL_NONE;
        step->first_dep = dep_count;
        for (uint64_t d = deps->first[seq]; d < deps->first[seq + 1]; d++)
            if (deps->ops[d] >= prepared->first_op)
                summary->deps[dep_count++] = deps->ops[d] - prepared->first_op;
        step->end_dep = dep_count;
        if (step->stream == DEVICE)
            summary->queued[device_count++] = i;
    }
    return true;
}

static uint32_t *nones(struct ll_arena *arena, uint64_t count)
{
    uint32_t *numbers = ll_alloc(arena, count + 1, sizeof *numbers);
    for (uint64_t i = 0; numbers && i < count; i++)
        numbers[i] = LL_NONE;
    return numbers;
}

static bool is_simple(const struct ll_work *work)
{
    return work->kind != LL_WORK_WAIT && work->kind != LL_WORK_COLLECTIVE;
}

/* At most so many works are among the ops. */
static uint64_t work_count(const struct ll_prepared *prepared, struct ll_arena *scratch)
{
    const uint64_t signatures = prepared->trace->signature_count;
    bool *seen = ll_alloc(scratch, signatures, sizeof *seen);
    uint64_t count = 0;
    if (!seen)
        return signatures;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const uint32_t same = prepared->same[prepared->trace->ops[seq].signature];
        count += !seen[same];
        seen[same] = true;
    }
    return count;
}

/* False when memory ran out. */
static bool fill(struct ll_summary *summary, const struct ll_machine *machine, struct ll_arena *scratch)
{
    const struct ll_prepared *prepared = summary->prepared;
    const uint32_t first = prepared->first_op, end = prepared->end_op, count = end - first;
    const uint64_t deps = prepared->deps->first[end] - prepared->deps->first[first];
    const uint64_t signatures = prepared->trace->signature_count;
    struct ll_history *history = ll_history_new(prepared->residency, machine, first, end, scratch);
    uint32_t *numbers = nones(scratch, signatures), *repeats = nones(scratch, prepared->repeat_count);
    summary->works = ll_alloc(&summary->arena, work_count(prepared, scratch), sizeof *summary->works);
    summary->alones = ll_alloc(&summary->arena, count, sizeof *summary->alones);
    summary->steps = ll_alloc(&summary->arena, count, sizeof *summary->steps);
    summary->deps = ll_alloc(&summary->arena, deps, sizeof *summary->deps);
    summary->queued = ll_alloc(&summary->arena, count, sizeof *summary->queued);
    summary->ops = ll_alloc(&summary->arena, count, sizeof *summary->ops);
    summary->parts = ll_alloc(&summary->arena, count, sizeof *summary->parts);
    summary->ends_s = ll_alloc(&summary->arena, count, sizeof *summary->ends_s);
    summary->step_count = count;
    if (!history || !numbers || !repeats || !summary->works || !summary->alones || !summary->steps ||
        !summary->deps || !summary->queued || !summary->ops || !summary->parts || !summary->ends_s)
        return false;
    summary->serves = !ll_history_matters(history);
    for (uint32_t seq = first; seq < end; seq++)
        summary->serves &= is_simple(&prepared->works[prepared->trace->ops[seq].signature]);
    return !summary->serves || make_steps(summary, machine, history, numbers, repeats);
}

/* NULL when memory ran out. */
static struct ll_summary *summary_new(const struct ll_prepared *prepared, const struct ll_machine *machine)
{
    struct ll_arena scratch = {0};
    struct ll_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return NULL;
    summary->prepared = prepared;
    summary->fills_caches = machine->host.fills_caches;
    summary->energy_given = machine->energy_given;
    summary->buffered_steps = machine->host.buffered_steps;
    bool filled = ll_outline_key(machine, &summary->arena, &summary->key) && fill(summary, machine, &scratch);
    ll_arena_release(&scratch);
    if (filled)
        return summary;
    release(summary);
    return NULL;
}

/* That of the machine, made when there is none; NULL when memory ran out. */
static struct ll_summary *summary_of(struct ll_summaries *all, const struct ll_prepared *prepared,
                                     const struct ll_machine *machine)
{
    struct ll_summary *summary = NULL;
    uint64_t i = 0;
    for (; i < all->count && !summary; i++)
        summary = is_of(all->at[i], prepared, machine) ? all->at[i] : NULL;
    if (!summary) {
        if (!ll_grow(&all->at, &all->capacity, all->count + 1, sizeof(struct ll_summary *)) ||
            !(summary = summary_new(prepared, machine)))
            return NULL;
        if (all->count == MOST_SUMMARIES)
            release(all->at[--all->count]);
        i = ++all->count;
    }
    memmove(all->at + 1, all->at, (i - 1) * sizeof(struct ll_summary *));
    return all->at[0] = summary;
}

/* --- a machine --- */

/* Whether what was found may decide how such work, which has no outline, is done. */
static bool may_change(const struct ll_summary *summary, const struct ll_machine *machine,
                       const struct summed_work *work)
{
    for (uint32_t i = work->first; i != LL_NONE; i = summary->alones[i].next)
        if (summary->alones[i].found &&
            ll_cost_is_reuse_sensitive(machine, work->cost, summary->alones[i].found))
            return true;
    return false;
}

/* What finding the costs of a machine comes to. */
enum costed { COSTED, NOT_SERVED, NO_MEMORY };

/* Of work without outline. */
static enum costed cost_whole(struct ll_summary *summary, const struct ll_machine *machine,
                              struct ll_memo *memo, struct summed_work *work)
{
    const struct ll_prepared *prepared = summary->prepared;
    const struct ll_work *asked = &prepared->works[work->signature];
    const enum ll_op_kind kind = prepared->trace->signatures[work->signature].view.kind;
    const char *trouble = NULL;
    struct ll_cost own;
    const struct ll_cost *cost = &own;
    if (runs_on_unit(asked))
        cost = ll_memo_cost(memo, kind, asked, &trouble);
    else
        ll_cost_op(machine, kind, asked, &own, &trouble);
    if (!cost)
        return trouble ? NOT_SERVED : NO_MEMORY;
    if (!work->cost && !(work->cost = ll_alloc(&summary->arena, 1, sizeof *work->cost)))
        return NO_MEMORY;
    if (memcmp(cost, work->cost, sizeof *cost) != 0)
        summary->summed = summary->computed = false;
    memcpy(work->cost, cost, sizeof *cost);
    return cost->ways == 1 && cost->array_j == 0 && !may_change(summary, machine, work) ? COSTED : NOT_SERVED;
}

/* What the op reads and writes, done so. */
static void find_accesses(const struct ll_summary *summary, const struct ll_machine *machine,
                          const struct ll_cost *cost, const struct alone *alone, struct ll_tally *tally)
{
    static const struct ll_warm_bytes nothing;
    struct ll_op_detail detail;
    ll_fill_detail(machine, cost, alone->found ? alone->found : &nothing, 0, &detail);
    ll_tally_op(machine, &summary->prepared->works[summary->works[alone->work].signature], cost, &detail,
                tally);
}

/* The same of a candidate, remembered. False when memory ran out. */
static bool take_accesses(struct ll_summary *summary, const struct ll_machine *machine,
                          const struct ll_cost *cost, struct alone *alone)
{
    const struct summed_work *work = &summary->works[alone->work];
    const size_t count = work->outline.served ? work->outline.count : 1;
    if (!alone->by_candidate &&
        !(alone->by_candidate = ll_alloc(&summary->arena, count, sizeof(struct accesses *))))
        return false;
    struct accesses **of = &alone->by_candidate[work->taken];
    if (alone->accesses == *of && *of && (work->outline.served || summary->summed))
        return true;
    if (!*of || (!work->outline.served && !summary->summed)) {
        struct ll_tally tally;
        find_accesses(summary, machine, cost, alone, &tally);
        const size_t room =
            work->outline.served ? tally.access_count : sizeof tally.accesses / sizeof *tally.accesses;
        if (!*of && !(*of = ll_alloc(&summary->arena, 1, sizeof **of + room * sizeof *tally.accesses)))
            return false;
        (*of)->count = tally.access_count;
        memcpy((*of)->at, tally.accesses, tally.access_count * sizeof *tally.accesses);
        summary->summed = false;
    }
    summary->summed &= alone->accesses == *of;
    alone->accesses = *of;
    return true;
}

/* As time_op of engine.c has it; of ops that find nothing once for all of a work. */
static void time_alone(const struct ll_machine *machine, struct summed_work *work, struct ll_cost *cost,
                       struct alone *alone)
{
    struct ll_timing *timing = alone->found ? &alone->own : &work->timings[alone->follows];
    const double gap_s = cost->gap_s;
    alone->timing = timing;
    if (!alone->found && work->timed[alone->follows])
        return;
    work->timed[alone->follows] |= !alone->found;
    cost->gap_s = alone->follows ? 0 : gap_s;
    ll_cost_time(machine, cost, alone->found, timing);
    cost->gap_s = gap_s;
    if (alone->follows)
        timing->overhead_s = timing->behind_s = timing->more_s = 0;
}

/* A cost by outline was not to be had: because memory ran out, or for good. */
static enum costed lose_outline(struct ll_summary *summary, struct summed_work *work)
{
    if (work->outline.served)
        return NO_MEMORY;
    summary->asks_memo = true;
    work->taken = work->accessed = 0;
    return NOT_SERVED;
}

static enum costed cost_work(struct ll_summary *summary, const struct ll_machine *machine,
                             struct ll_memo *memo, struct summed_work *work)
{
    const struct ll_prepared *prepared = summary->prepared;
    struct ll_cost *cost = &summary->cost;
    work->timed[false] = work->timed[true] = false;
    if (work->outline.served) {
        struct ll_outline_choice taken;
        if (work->sensitive)
            return NOT_SERVED;
        if (!ll_outline_cost(machine, prepared->trace->signatures[work->signature].view.kind,
                             &prepared->works[work->signature], &work->outline, summary->turn,
                             &summary->arena, cost, &taken))
            return lose_outline(summary, work);
        work->timings[false] = taken.timing;
        work->timed[false] = true;
        work->taken = taken.candidate;
    } else {
        enum costed costed = cost_whole(summary, machine, memo, work);
        if (costed != COSTED)
            return costed;
        cost = work->cost;
    }
    const bool accesses =
        machine->energy_given && (!work->outline.served || work->accessed != work->taken + 1);
    for (uint32_t i = work->first; i != LL_NONE; i = summary->alones[i].next) {
        struct alone *alone = &summary->alones[i];
        time_alone(machine, work, cost, alone);
        if (accesses && !take_accesses(summary, machine, cost, alone))
            return NO_MEMORY;
    }
    work->accessed = accesses ? work->taken + 1 : work->accessed;
    return COSTED;
}

static enum costed cost_works(struct ll_summary *summary, const struct ll_machine *machine,
                              struct ll_memo *memo)
{
    enum costed costed = COSTED;
    if (summary->turn == 0 || memcmp(&summary->energies, &machine->energy, sizeof machine->energy) != 0) {
        summary->energies = machine->energy;
        summary->turn++;
        summary->computed = false;
    }
    if (summary->asks_memo)
        ll_memo_turn(memo, machine);
    for (uint32_t w = 0; w < summary->work_count && costed == COSTED; w++)
        costed = cost_work(summary, machine, memo, &summary->works[w]);
    return costed;
}

/* --- when ops run --- */

/* Where the walk over the ops stands. */
struct walk {
    double stream_end_s[STREAMS], end_s, active_s, starting_s, started_s;
    uint32_t stream_last[STREAMS], queued;
};

static double end_of(const struct ll_summary *summary, uint32_t i)
{
    return summary->ends_s[i];
}

static double later(double one_s, double other_s)
{
    return one_s > other_s ? one_s : other_s;
}

/* When the op can start, and which op it has waited for. */
static double start_s(const struct ll_summary *summary, const struct step *step, const struct walk *walk,
                      uint32_t *waited_for)
{
    const uint32_t last = walk->stream_last[step->stream];
    double start = 0, ready = 0;
    uint32_t dep = LL_NONE;
    *waited_for = LL_NONE;
    if (step->buffer != LL_NONE) {
        start = end_of(summary, step->buffer);
        *waited_for = step->buffer;
    }
    for (uint32_t d = step->first_dep; d < step->end_dep; d++) {
        double end_s = end_of(summary, summary->deps[d]);
        dep = end_s > ready ? summary->deps[d] : dep;
        ready = end_s > ready ? end_s : ready;
    }
    if (ready > start) {
        start = ready;
        *waited_for = dep;
    }
    if (last != LL_NONE && walk->stream_end_s[step->stream] >= start) {
        start = walk->stream_end_s[step->stream];
        *waited_for = last;
    }
    return start;
}

/* How long the device waits for the software to start an op that it could begin at begin_s. */
static double late_s(const struct ll_summary *summary, uint64_t queue, double begin_s,
                     const struct ll_timing *timing, struct walk *walk)
{
    const double before_s = timing->overhead_s + timing->more_s;
    const uint32_t before = walk->queued++;
    if (queue > 0 && before >= queue)
        walk->started_s = later(walk->started_s, end_of(summary, summary->queued[before - (uint32_t)queue]));
    if (queue == 0 || timing->overhead_s == 0) {
        const double busy_s = timing->more_s + timing->time_s;
        return before_s - (timing->behind_s < busy_s ? timing->behind_s : busy_s);
    }
    return later(0, walk->started_s + before_s - timing->behind_s - begin_s);
}

static void run_steps(struct ll_summary *summary, const struct ll_machine *machine, struct walk *walk)
{
    const uint64_t queue = machine->software.queue;
    *walk = (struct walk){.stream_last = {LL_NONE, LL_NONE, LL_NONE, LL_NONE}};
    for (uint32_t i = 0; i < summary->step_count; i++) {
        const struct step *step = &summary->steps[i];
        const struct ll_timing *timing = summary->alones[step->alone].timing;
        struct ll_op_result *op = &summary->ops[i];
        struct ll_op_parts *parts = &summary->parts[i];
        double late = 0;
        op->start_s = start_s(summary, step, walk, &parts->waited_for);
        if (step->stream == DEVICE) {
            late = late_s(summary, queue, op->start_s, timing, walk);
            walk->started_s += queue > 0 ? timing->overhead_s : 0;
            walk->active_s += timing->time_s;
            walk->starting_s += timing->overhead_s;
        }
        assert(op->start_s >= 0 && isfinite(op->start_s) && timing->time_s >= 0 && late >= 0);
        op->bound = timing->bound;
        op->origin = timing->origin;
        op->time_s = timing->time_s + late;
        parts->overhead_s = late;
        parts->exposed_s = timing->exposed_s;
        const double end_s = op->start_s + op->time_s;
        summary->ends_s[i] = end_s;
        walk->end_s = later(walk->end_s, end_s);
        walk->stream_end_s[step->stream] = later(walk->stream_end_s[step->stream], end_s);
        walk->stream_last[step->stream] = i;
    }
}

/* --- sums --- */

/* Of each op in turn; ops of a work take as much, whichever candidate. */
static void sum_compute(struct ll_summary *summary, const struct ll_machine *machine)
{
    summary->compute_j = summary->host_bytes = 0;
    for (uint32_t w = 0; w < summary->work_count; w++) {
        struct summed_work *work = &summary->works[w];
        const struct ll_cost made = {
            .unit = work->outline.unit, .made = work->outline.made, .zeros = work->outline.zeros};
        work->compute_j = ll_cost_compute_j(machine, &summary->prepared->works[work->signature],
                                            work->outline.served ? &made : work->cost);
    }
    for (uint32_t i = 0; i < summary->step_count; i++) {
        const struct summed_work *work = &summary->works[summary->alones[summary->steps[i].alone].work];
        summary->compute_j += work->compute_j;
        summary->host_bytes += ll_host_bytes(&summary->prepared->works[work->signature]);
    }
}

static void sum_accesses(struct ll_summary *summary)
{
    memset(summary->accessed_bytes, 0, sizeof summary->accessed_bytes);
    for (uint32_t i = 0; i < summary->step_count; i++) {
        const struct accesses *accesses = summary->alones[summary->steps[i].alone].accesses;
        for (uint32_t a = 0; a < accesses->count; a++)
            summary->accessed_bytes[accesses->at[a].level] += accesses->at[a].bytes;
    }
}

/* Energy but for what the network takes. */
static void sum_energies(struct ll_summary *summary, struct ll_result *result)
{
    const struct ll_machine *machine = result->machine;
    result->area_m2 = ll_machine_area_m2(machine);
    result->energy_j = NAN;
    if (!machine->energy_given)
        return;
    if (!summary->summed)
        sum_accesses(summary);
    if (!summary->computed)
        sum_compute(summary, machine);
    summary->summed = summary->computed = true;
    result->energy.compute_j = summary->compute_j;
    result->host_bytes = summary->host_bytes;
    ll_end_energy(result, summary->accessed_bytes);
}

static const struct ll_result *sum_up(struct ll_summary *summary, const struct ll_machine *machine,
                                      const struct walk *walk, struct ll_arena *arena)
{
    const double steps = (double)summary->prepared->steps, behind_s = fmax(0, walk->started_s - walk->end_s);
    struct ll_result *result = ll_alloc(arena, 1, sizeof *result);
    if (!result)
        return NULL;
    *result = (struct ll_result){.prepared = summary->prepared,
                                 .machine = machine,
                                 .footprint = &summary->prepared->footprint,
                                 .ops = summary->ops,
                                 .slowed = 1,
                                 .time_s = (walk->end_s + behind_s) / steps,
                                 .device_active_s = walk->active_s / steps,
                                 .starting_s = walk->starting_s / steps};
    ll_find_bottlenecks(result, summary->parts, behind_s);
    sum_energies(summary, result);
    return result;
}

const struct ll_result *ll_replay_summary(const struct ll_prepared *prepared,
                                          const struct ll_machine *machine, struct ll_summaries *summaries,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          struct ll_diags *diags)
{
    struct walk walk;
    enum costed costed = NOT_SERVED;
    if (summaries && serves(prepared, machine)) {
        struct ll_summary *summary = summary_of(summaries, prepared, machine);
        if (!summary)
            return NULL;
        if (summary->serves)
            costed = cost_works(summary, machine, &remembered->costs);
        if (costed == COSTED) {
            run_steps(summary, machine, &walk);
            return sum_up(summary, machine, &walk, arena);
        }
        summary->summed = summary->computed = false;
    }
    return costed == NO_MEMORY ? NULL : ll_replay_remembering(prepared, machine, remembered, arena, diags);
}
