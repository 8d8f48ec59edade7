/* SPDX-License-Identifier: Apache-2.0 */
/* Who held it back: from the op that ended last we walk back along the ops that were waited for. Each op on
 * this chain began the moment the one before it ended, so their times add up to the whole, and what each
 * was spent on is a share of it. Ops off the chain held nobody back. */
#include "sim/replay/replay_parts.h"

#include <math.h>
#include <stdlib.h>

static uint32_t last_to_end(const struct ll_result *result)
{
    uint32_t first = result->prepared->first_op, end = result->prepared->end_op, last = first;
    double latest_s = -1;
    for (uint32_t seq = first; seq < end; seq++) {
        const struct ll_op_result *op = &result->ops[seq - first];
        if (op->start_s + op->time_s > latest_s) {
            latest_s = op->start_s + op->time_s;
            last = seq;
        }
    }
    return last;
}

static void share_out(struct ll_result *result, const struct ll_op_parts *parts)
{
    double spent_s[LL_BOUND_COUNT] = {0}, total_s = 0;
    for (uint32_t seq = last_to_end(result); seq != LL_NONE;) {
        const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
        const struct ll_op_parts *part = &parts[seq - result->prepared->first_op];
        spent_s[LL_BOUND_OVERHEAD] += part->overhead_s;
        spent_s[LL_BOUND_DEPENDENCY] += part->exposed_s;
        spent_s[op->bound] += op->time_s - part->overhead_s - part->exposed_s;
        seq = part->waited_for;
    }
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        total_s += spent_s[i];
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        result->shares[i] = total_s > 0 ? spent_s[i] / total_s : 0;
    if (total_s <= 0)
        result->shares[LL_BOUND_COMPUTE] = 1; /* nothing took any time: views only */
}

static double level_Bps(const struct ll_machine *machine, uint64_t l)
{
    const struct ll_level *level = &machine->levels[l];
    return level->bandwidth_Bps * level->efficiency * (double)ll_machine_instances(machine, l);
}

void ll_find_bottlenecks(struct ll_result *result, const struct ll_op_parts *parts)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    share_out(result, parts);
    for (uint64_t l = 0; l < machine->level_count && result->time_s > 0; l++) {
        double bytes = 0;
        for (uint32_t i = 0; i < prepared->end_op - prepared->first_op; i++)
            bytes += result->ops[i].traffic_bytes[l];
        result->level_share[l] = bytes / (double)prepared->steps / (level_Bps(machine, l) * result->time_s);
    }
    double peak = ll_machine_peak_flops(machine, prepared->dtype);
    result->flop_utilization = peak > 0 && result->time_s > 0 ? prepared->flops / (peak * result->time_s) : 0;
    result->fits = prepared->footprint.peak_bytes <= machine->levels[machine->level_count - 1].size_bytes;
}

static double op_peak_share(const struct ll_result *result, const struct ll_op_result *op)
{
    if (op->bound == LL_BOUND_COMPUTE)
        return op->utilization;
    if (op->bound < LL_BOUND_LEVEL || op->time_s <= 0)
        return 0;
    uint32_t l = op->bound - LL_BOUND_LEVEL;
    return op->traffic_bytes[l] / (level_Bps(result->machine, l) * op->time_s);
}

static int by_time(const void *left, const void *right)
{
    const struct ll_kind_result *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

struct kind_sum {
    double bound_s[LL_BOUND_COUNT], peak_s[LL_BOUND_COUNT];
};

static void add_op(const struct ll_result *result, uint32_t seq, struct ll_kind_result *kind,
                   struct kind_sum *sum)
{
    const struct ll_trace *trace = result->prepared->trace;
    const struct ll_form *form = &trace->forms[trace->ops[seq].form];
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    kind->kind = trace->strings[form->kind_name];
    kind->op_class = ll_op_class(form->view.kind);
    kind->count += 1;
    kind->time_s += op->time_s;
    kind->flops += (double)form->flops;
    kind->bytes += (double)form->bytes_read + (double)form->bytes_written;
    sum->bound_s[op->bound] += op->time_s;
    sum->peak_s[op->bound] += op->time_s * op_peak_share(result, op);
}

static void finish_kind(struct ll_kind_result *kind, const struct kind_sum *sum, double per_step)
{
    kind->count *= per_step;
    kind->time_s *= per_step;
    kind->flops *= per_step;
    kind->bytes *= per_step;
    for (uint32_t i = 1; i < LL_BOUND_COUNT; i++)
        if (sum->bound_s[i] > sum->bound_s[kind->bound])
            kind->bound = i;
    kind->peak_share =
        sum->bound_s[kind->bound] > 0 ? sum->peak_s[kind->bound] / sum->bound_s[kind->bound] : 0;
}

/* Ops on different streams overlap, so it is their own time, not the step's, that shares are of. */
static void share_time(struct ll_kind_result *kinds, uint32_t count)
{
    double all_s = 0;
    for (uint32_t i = 0; i < count; i++)
        all_s += kinds[i].time_s;
    for (uint32_t i = 0; i < count; i++)
        kinds[i].share = all_s > 0 ? kinds[i].time_s / all_s : 0;
}

bool ll_sum_kinds(struct ll_result *result, struct ll_arena *arena)
{
    const struct ll_prepared *prepared = result->prepared;
    struct ll_kind_result *kinds = ll_alloc(arena, LL_OP_COUNT, sizeof *kinds);
    struct kind_sum *sums = ll_alloc(arena, LL_OP_COUNT, sizeof *sums);
    if (!kinds || !sums)
        return false;
    uint32_t rows[LL_OP_COUNT], count = 0;
    for (unsigned i = 0; i < LL_OP_COUNT; i++)
        rows[i] = LL_NONE;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        enum ll_op_kind kind = prepared->trace->forms[prepared->trace->ops[seq].form].view.kind;
        if (rows[kind] == LL_NONE)
            rows[kind] = count++;
        kinds[rows[kind]].order = rows[kind];
        add_op(result, seq, &kinds[rows[kind]], &sums[rows[kind]]);
    }
    for (uint32_t i = 0; i < count; i++)
        finish_kind(&kinds[i], &sums[i], 1 / (double)prepared->steps);
    qsort(kinds, count, sizeof *kinds, by_time);
    share_time(kinds, count);
    result->kinds = kinds;
    result->kind_count = count;
    return true;
}
