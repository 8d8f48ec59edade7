/* SPDX-License-Identifier: Apache-2.0 */
/* How long each op takes by itself a plain replay says; when it starts, the ranks. */
#include "sim/parallel/together.h"

#include "sim/parallel/stage_memory.h"
#include "sim/parallel/ranks.h"
#include "sim/replay/communication.h"
#include "sim/replay/remembered.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Streams of a rank; those of the network follow, one for each level. */
enum { STREAM_DEVICE, STREAM_HOST, STREAM_NETWORK };

struct building {
    const struct ll_result *plain;
    const struct ll_prepared *prepared;
    struct ll_ranks *ranks;
    uint32_t *after;
    uint64_t after_capacity;
    uint32_t rank_count;
};

bool ll_is_of_one_rank(const struct ll_trace *trace, struct ll_diags *diags)
{
    uint32_t ranks = ll_trace_ranks(trace);
    return ranks == 1 ||
           ll_complain(diags, (struct ll_place){.file = ll_trace_fact(trace, "model")},
                       "the trace is of %" PRIu32
                       " ranks, a device each, which cannot be spread over others; a trace of one rank can",
                       ranks);
}

static const struct ll_form *form_of(const struct building *b, uint32_t seq)
{
    return &b->prepared->trace->forms[b->prepared->trace->ops[seq].form];
}

static uint32_t stream_of(const struct building *b, uint32_t seq)
{
    uint32_t form = b->prepared->trace->ops[seq].form;
    switch (b->prepared->works[form].kind) {
    case LL_WORK_WAIT:
        return LL_NO_STREAM;
    case LL_WORK_HOST:
    case LL_WORK_SWAP:
        return STREAM_HOST;
    case LL_WORK_COLLECTIVE:
        if (form_of(b, seq)->view.kind == LL_OP_RECEIVE)
            return LL_NO_STREAM; /* it holds nothing back until its message is there, as in ASTRA-sim */
        return STREAM_NETWORK + b->plain->prices[form].outermost;
    default:
        return STREAM_DEVICE;
    }
}

/* What an exchange waits for beside its own rank. */
static void meet_others(const struct building *b, uint32_t seq, struct ll_rank_task *task)
{
    const struct ll_op_view *view = &form_of(b, seq)->view;
    uint32_t form = b->prepared->trace->ops[seq].form;
    int64_t other = (int64_t)task->rank + ll_attr_count(view, LL_ATTR_PEER, 0);
    if (view->kind == LL_OP_SEND || view->kind == LL_OP_RECEIVE) {
        task->kind = view->kind == LL_OP_SEND ? LL_TASK_SEND : LL_TASK_RECEIVE;
        task->other = other >= 0 && other < (int64_t)UINT32_MAX ? (uint32_t)other : UINT32_MAX;
        task->tag = (uint64_t)ll_attr_count(view, LL_ATTR_TAG, 0);
    } else if (b->prepared->works[form].kind == LL_WORK_COLLECTIVE) {
        int64_t devices = ll_attr_count(view, LL_ATTR_DEVICES, b->rank_count);
        task->kind = LL_TASK_JOIN;
        task->tag = (uint64_t)ll_attr_count(view, LL_ATTR_GROUP, 0);
        task->other = (uint32_t)(devices > 0 && devices <= b->rank_count ? devices : b->rank_count);
    }
}

static bool add_op(struct building *b, uint32_t seq)
{
    const struct ll_deps *deps = b->prepared->deps;
    const struct ll_trace *trace = b->prepared->trace;
    uint32_t first = b->prepared->first_op, count = 0;
    struct ll_rank_task task = {.kind = LL_TASK_WORK,
                                .rank = trace->ops[seq].thread,
                                .stream = stream_of(b, seq),
                                .time_s = b->plain->ops[seq - first].time_s,
                                .name = trace->strings[form_of(b, seq)->scope]};
    if (!ll_grow(&b->after, &b->after_capacity, deps->first[seq + 1] - deps->first[seq] + 1,
                 sizeof *b->after))
        return false;
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++)
        if (deps->ops[i] >= first)
            b->after[count++] = deps->ops[i] - first;
    meet_others(b, seq, &task);
    return ll_ranks_add(b->ranks, &task, b->after, count) != LL_NO_TASK;
}

/* What an exchange of the chain took held back the level that it reached. */
static void spend_on_network(const struct building *b, uint32_t task, double spent_s,
                             struct ll_result *result)
{
    uint32_t form = b->prepared->trace->ops[b->prepared->first_op + task].form;
    if (result->ops[task].bound == LL_BOUND_NETWORK)
        result->network.levels[result->prices[form].outermost].share += spent_s;
}

/* Walks back along what was waited for; each link of the chain is spent on what bound the op. Members of an
 * exchange that waited for the last of them spend nothing. */
static void share_out(const struct building *b, struct ll_result *result, uint32_t last)
{
    double total_s = 0, gaps_s = 0, spent_s[LL_BOUND_COUNT] = {0};
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        result->network.levels[l].share = 0;
    for (uint32_t task = last; task != LL_NO_TASK;) {
        uint32_t before = ll_ranks_waited_for(b->ranks, task);
        double since_s = before == LL_NO_TASK ? 0 : ll_ranks_end_s(b->ranks, before);
        double here_s = fmax(0, ll_ranks_end_s(b->ranks, task) - since_s);
        spent_s[result->ops[task].bound] += here_s;
        if (b->prepared->works[b->prepared->trace->ops[b->prepared->first_op + task].form].kind ==
            LL_WORK_WAIT)
            gaps_s += here_s;
        spend_on_network(b, task, here_s, result);
        task = before;
    }
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        total_s += spent_s[i];
    for (unsigned i = 0; i < LL_BOUND_COUNT && total_s > 0; i++)
        result->shares[i] = spent_s[i] / total_s;
    result->gap_share = total_s > 0 ? gaps_s / total_s : 0;
    for (unsigned l = 0; l < LL_MAX_LINKS && total_s > 0; l++)
        result->network.levels[l].share /= total_s;
}

/* Every op where it runs, its waiting for others left out. */
static void place_ops(const struct building *b, struct ll_op_result *ops)
{
    for (uint32_t i = 0; i < b->prepared->end_op - b->prepared->first_op; i++) {
        ops[i] = b->plain->ops[i];
        ops[i].start_s = ll_ranks_end_s(b->ranks, i) - ops[i].time_s;
    }
}

/* Times as the ranks have them, of which rank, and which op was the last. */
static uint32_t take_times(const struct building *b, struct ll_op_result *ops, struct ll_rank_use *uses)
{
    uint32_t count = b->prepared->end_op - b->prepared->first_op, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ll_rank_use *use = &uses[b->prepared->trace->ops[b->prepared->first_op + i].thread];
        double end_s = ll_ranks_end_s(b->ranks, i);
        ops[i] = b->plain->ops[i];
        ops[i].start_s = ll_ranks_start_s(b->ranks, i);
        if (stream_of(b, b->prepared->first_op + i) == STREAM_DEVICE)
            use->busy_s += ops[i].active_s;
        else
            ops[i].time_s = end_s - ops[i].start_s; /* with what it waits for others */
        use->end_s = fmax(use->end_s, end_s);
        last = end_s > ll_ranks_end_s(b->ranks, last) ? i : last;
    }
    return last;
}

/* What flows all the time does so in each device until the last is done. */
static void average_energy(double ranks, struct ll_result *result)
{
    struct ll_energy_parts all = result->energy;
    result->energy = (struct ll_energy_parts){0};
    ll_energy_add(&result->energy, &all, 1 / ranks);
    result->energy.static_j = ll_machine_static_w(result->machine) * result->time_s;
    result->energy_j = isnan(result->energy_j) ? NAN : ll_energy_sum(&result->energy);
}

/* What was summed over the ranks becomes that of a rank, on average; memory that of the fullest. False when
 * memory ran out. */
static bool average(double ranks, struct ll_arena *arena, struct ll_result *result)
{
    struct ll_prepared *prepared = ll_alloc(arena, 1, sizeof *prepared);
    struct ll_kind_result *kinds = ll_alloc(arena, result->kind_count, sizeof *kinds);
    struct ll_footprint footprint;
    if (!prepared || !kinds || !ll_fullest_rank(result->prepared->trace, (uint32_t)ranks, &footprint))
        return false;
    *prepared = *result->prepared;
    prepared->footprint = footprint;
    prepared->flops /= ranks;
    prepared->bytes /= ranks;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        kinds[i] = result->kinds[i];
        kinds[i].count /= ranks;
        kinds[i].time_s /= ranks;
        kinds[i].bound_s /= ranks;
        kinds[i].flops /= ranks;
        kinds[i].bytes /= ranks;
    }
    result->prepared = prepared;
    result->footprint = &prepared->footprint;
    result->fits =
        ll_footprint_fits(&footprint, result->machine->levels[result->machine->level_count - 1].size_bytes);
    result->kinds = kinds;
    result->device_active_s /= ranks;
    result->starting_s /= ranks;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        result->level_bytes[l] /= ranks;
    result->network.links_j /= ranks;
    result->network.busy_s /= ranks;
    result->network.exposed_s /= ranks;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++) {
        result->network.levels[l].busy_s /= ranks;
        result->network.levels[l].exposed_s /= ranks;
        result->network.levels[l].sent_bytes /= ranks;
    }
    return true;
}

static const struct ll_together *sum_up(const struct building *b, struct ll_arena *arena)
{
    const struct ll_prepared *prepared = b->prepared;
    struct ll_together *together = ll_alloc(arena, 1, sizeof *together);
    struct ll_result *result = ll_alloc(arena, 1, sizeof *result);
    struct ll_op_result *ops = ll_alloc(arena, prepared->end_op - prepared->first_op, sizeof *ops);
    struct ll_rank_use *uses = ll_alloc(arena, b->rank_count, sizeof *uses);
    if (!together || !result || !ops || !uses)
        return NULL;
    *result = *b->plain;
    result->ops = ops;
    place_ops(b, ops);
    if (!ll_find_exposure_of_ranks(result, b->rank_count))
        return NULL;
    uint32_t last = take_times(b, ops, uses);
    double ranks = b->rank_count, plain_s = result->time_s;
    if (!average(ranks, arena, result))
        return NULL;
    result->time_s = ll_ranks_time_s(b->ranks) / (double)prepared->steps;
    average_energy(ranks, result);
    result->flop_utilization *= result->time_s > 0 ? plain_s / ranks / result->time_s : 0;
    for (unsigned l = 0; l < LL_MAX_LEVELS; l++)
        result->level_share[l] *= result->time_s > 0 ? plain_s / ranks / result->time_s : 0;
    share_out(b, result, last);
    *together = (struct ll_together){.result = result,
                                     .ranks = uses,
                                     .rank_count = b->rank_count,
                                     .last = prepared->trace->ops[prepared->first_op + last].thread};
    return together;
}

/* All ranks' ops one behind the other: how long each takes by itself. They are on the machine's first
 * devices, and no others exchange beside them. */
static const struct ll_result *replay_apart(const struct ll_prepared *prepared,
                                            const struct ll_machine *machine,
                                            struct ll_remembered *remembered, struct ll_arena *arena,
                                            struct ll_diags *diags)
{
    const uint32_t ranks = ll_trace_ranks(prepared->trace);
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, ranks > 1 ? ranks : 0, &remembered->prices);
    const struct ll_among among = {.exchanges = exchanges, .memo = &remembered->costs, .apart = true};
    ll_memo_turn(&remembered->costs, machine);
    const struct ll_result *result =
        exchanges ? ll_replay_among(prepared, machine, &among, arena, diags) : NULL;
    ll_exchanges_free(exchanges);
    return result;
}

const struct ll_together *ll_replay_together(const struct ll_prepared *prepared,
                                             const struct ll_machine *machine,
                                             struct ll_remembered *remembered, struct ll_arena *arena,
                                             struct ll_diags *diags)
{
    struct building b = {.prepared = prepared,
                         .plain = replay_apart(prepared, machine, remembered, arena, diags),
                         .ranks = ll_ranks_new(),
                         .rank_count = ll_trace_ranks(prepared->trace)};
    bool done = b.plain && b.ranks;
    if (done && ll_trace_fact(prepared->trace, "ranks.order"))
        ll_ranks_by_readiness(b.ranks);
    for (uint32_t seq = prepared->first_op; done && seq < prepared->end_op; seq++)
        done = add_op(&b, seq);
    done = done && ll_ranks_run(b.ranks, diags);
    const struct ll_together *together = done ? sum_up(&b, arena) : NULL;
    ll_ranks_free(b.ranks);
    free(b.after);
    return together;
}

struct again {
    const struct ll_prepared *prepared;
    struct ll_remembered *remembered;
};

static double together_s(const struct ll_machine *machine, void *context)
{
    const struct again *again = context;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    const struct ll_together *together =
        ll_replay_together(again->prepared, machine, again->remembered, &scratch, &diags);
    double time_s = together ? together->result->time_s : -1;
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return time_s;
}

const struct ll_gain *ll_together_what_if(const struct ll_together *together,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          size_t *count)
{
    const struct ll_result *result = together->result;
    struct again again = {result->prepared, remembered};
    return ll_turn_knobs(result->machine, result->time_s, together_s, &again, arena, count);
}
