/* SPDX-License-Identifier: Apache-2.0 */
/* Ops summed by their kind. */
#include "sim/replay/replay_parts.h"

#include <stdlib.h>

struct kind_sum {
    double bound_s[LL_BOUND_COUNT], amount[LL_BOUND_COUNT], peak_s[LL_BOUND_COUNT];
};

struct ll_kind_sums {
    struct ll_kind_result kinds[LL_OP_COUNT];
    struct kind_sum sums[LL_OP_COUNT];
    uint32_t rows[LL_OP_COUNT]; /* by op kind: its place in the others, LL_NONE before it comes */
    uint32_t count;
};

struct ll_kind_sums *ll_kind_sums_new(struct ll_arena *arena)
{
    struct ll_kind_sums *sums = ll_alloc(arena, 1, sizeof *sums);
    for (unsigned i = 0; sums && i < LL_OP_COUNT; i++)
        sums->rows[i] = LL_NONE;
    return sums;
}

double ll_level_Bps(const struct ll_machine *machine, uint64_t l)
{
    const struct ll_level *level = &machine->levels[l];
    return level->bandwidth_Bps * level->efficiency * (double)ll_machine_instances(machine, l);
}

/* What an op got of the resource that bound it: bytes, or operations. */
static double amount_of(const struct ll_form *form, const struct ll_op_result *op,
                        const struct ll_op_detail *detail)
{
    if (op->bound >= LL_BOUND_LEVEL)
        return detail->traffic_bytes[op->bound - LL_BOUND_LEVEL];
    bool moves = op->bound == LL_BOUND_HOST || op->bound == LL_BOUND_NETWORK;
    return moves ? (double)form->bytes_read + (double)form->bytes_written : (double)form->flops;
}

/* How long that would have taken at the resource's peak, 0 where it has none. */
static double at_peak_s(const struct ll_machine *machine, const struct ll_op_result *op,
                        const struct ll_op_detail *detail)
{
    if (op->bound == LL_BOUND_COMPUTE && op->unit != LL_NO_UNIT)
        return detail->utilization * detail->compute_cycles / machine->units[op->unit].clock_hz;
    if (op->bound < LL_BOUND_LEVEL)
        return 0;
    uint32_t l = op->bound - LL_BOUND_LEVEL;
    return detail->traffic_bytes[l] / ll_level_Bps(machine, l);
}

static int by_time(const void *left, const void *right)
{
    const struct ll_kind_result *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

void ll_kind_sums_add(struct ll_kind_sums *sums, const struct ll_result *result, uint32_t seq,
                      const struct ll_op_detail *detail)
{
    const struct ll_trace *trace = result->prepared->trace;
    const struct ll_form *form = &trace->forms[trace->ops[seq].form];
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    uint32_t *row = &sums->rows[form->view.kind];
    if (*row == LL_NONE) {
        *row = sums->count++;
        sums->kinds[*row] = (struct ll_kind_result){.kind = trace->strings[form->kind_name],
                                                    .op_kind = form->view.kind,
                                                    .op_class = ll_op_class(form->view.kind),
                                                    .order = *row};
    }
    struct ll_kind_result *kind = &sums->kinds[*row];
    struct kind_sum *sum = &sums->sums[*row];
    kind->count += 1;
    kind->time_s += op->time_s;
    kind->flops += (double)form->flops;
    kind->bytes += (double)form->bytes_read + (double)form->bytes_written;
    sum->bound_s[op->bound] += op->time_s;
    sum->amount[op->bound] += amount_of(form, op, detail);
    sum->peak_s[op->bound] += at_peak_s(result->machine, op, detail);
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
    double bound_s = sum->bound_s[kind->bound];
    kind->rate = bound_s > 0 ? sum->amount[kind->bound] / bound_s : 0;
    kind->peak_share = bound_s > 0 ? sum->peak_s[kind->bound] / bound_s : 0;
    kind->bound_s = bound_s * per_step;
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

void ll_kind_sums_end(struct ll_kind_sums *sums, struct ll_result *result)
{
    for (uint32_t i = 0; i < sums->count; i++)
        finish_kind(&sums->kinds[i], &sums->sums[i], 1 / (double)result->prepared->steps);
    qsort(sums->kinds, sums->count, sizeof *sums->kinds, by_time);
    share_time(sums->kinds, sums->count);
    result->kinds = sums->kinds;
    result->kind_count = sums->count;
}
