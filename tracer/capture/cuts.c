/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/cuts.h"

#include "tracer/base/map.h"

#include <stdlib.h>

struct ll_cut_call {
    struct ll_repeat_call call;
    uint64_t start_ns;
};

bool ll_cuts_prepare(struct ll_cuts *cuts)
{
    return ll_grow((void **)&cuts->calls, &cuts->call_capacity, LL_REPEAT_WINDOW, sizeof *cuts->calls);
}

void ll_cuts_release(struct ll_cuts *cuts)
{
    free(cuts->marks);
    free(cuts->calls);
    *cuts = (struct ll_cuts){0};
}

void ll_cuts_call(struct ll_cuts *cuts, const struct ll_repeat_call *call, uint64_t start_ns)
{
    cuts->calls[cuts->call_count++ % LL_REPEAT_WINDOW] =
        (struct ll_cut_call){.call = *call, .start_ns = start_ns};
}

bool ll_cuts_mark(struct ll_cuts *cuts, uint32_t op, uint64_t ns)
{
    if (!ll_grow((void **)&cuts->marks, &cuts->mark_capacity, cuts->mark_count + 2, sizeof *cuts->marks))
        return false;
    if (cuts->mark_count == 0)
        cuts->marks[cuts->mark_count++] = (struct ll_step){.complete = false};
    if (cuts->mark_count == 1 || cuts->calls_marked < cuts->call_count)
        cuts->mark_count++;
    cuts->marks[cuts->mark_count - 1] = (struct ll_step){.first_op = op, .start_ns = ns, .complete = true};
    cuts->calls_marked = cuts->call_count;
    return true;
}

/* Each step ends where the next one begins. */
static void cut_at(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end,
                   struct ll_step *made, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        uint64_t end_ns = last ? end->ns : made[i + 1].start_ns;
        uint32_t end_op = last ? end->op : made[i + 1].first_op;
        made[i].op_count = end_op - made[i].first_op;
        made[i].wall_ns = end_ns > made[i].start_ns ? end_ns - made[i].start_ns : 0;
        cuts->whole += made[i].complete;
    }
    ll_recorder_cut(recorder, made, count);
}

static void cut_at_marks(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end)
{
    uint64_t first = cuts->marks[1].first_op > 0 ? 0 : 1;
    cuts->marks[cuts->mark_count - 1].complete = false;
    cut_at(cuts, recorder, end, cuts->marks + first, cuts->mark_count - first);
}

/* The last calls in their order, and what comes behind them. */
static void unroll(const struct ll_cuts *cuts, const struct ll_cuts_end *end, uint64_t count,
                   struct ll_repeat_call *calls, uint64_t *starts)
{
    uint64_t first = cuts->call_count - count;
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_cut_call *from = &cuts->calls[(first + i) % LL_REPEAT_WINDOW];
        calls[i] = from->call;
        starts[i] = from->start_ns;
    }
    calls[count].op = end->calls_op;
    starts[count] = end->calls_ns;
}

static void cut_at_repetitions(struct ll_cuts *cuts, struct ll_recorder *recorder,
                               const struct ll_cuts_end *end, const struct ll_repetition *found,
                               const struct ll_repeat_call *calls, const uint64_t *starts)
{
    struct ll_step *made = calloc(found->count + 2, sizeof *made);
    uint64_t count = 0;
    if (!made)
        return;
    if (calls[found->first].op > 0)
        made[count++] = (struct ll_step){.complete = false};
    for (uint64_t i = 0; i <= found->count; i++) {
        uint64_t at = found->first + i * found->period;
        if (calls[at].op < end->op)
            made[count++] = (struct ll_step){
                .first_op = calls[at].op, .start_ns = starts[at], .complete = i < found->count};
    }
    cut_at(cuts, recorder, end, made, count);
    cuts->period = found->period;
    free(made);
}

static void find_repetitions(struct ll_cuts *cuts, struct ll_recorder *recorder,
                             const struct ll_cuts_end *end)
{
    uint64_t count = ll_min(cuts->call_count, LL_REPEAT_WINDOW);
    struct ll_repeat_call *calls = calloc(count + 1, sizeof *calls);
    uint64_t *starts = calloc(count + 1, sizeof *starts);
    struct ll_repetition found;
    if (calls && starts) {
        unroll(cuts, end, count, calls, starts);
        if (ll_find_repetition(calls, count, &found))
            cut_at_repetitions(cuts, recorder, end, &found, calls, starts);
    }
    free(calls);
    free(starts);
}

void ll_cuts_cut(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end)
{
    if (cuts->mark_count > 0)
        cut_at_marks(cuts, recorder, end);
    else if (cuts->call_count > 0)
        find_repetitions(cuts, recorder, end);
}
