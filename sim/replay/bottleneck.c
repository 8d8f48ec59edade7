/* SPDX-License-Identifier: Apache-2.0 */
/* Who held it back: from the op that ended last we walk back along the ops that were waited for. Each op on
 * this chain began the moment the one before it ended, so their times add up to the whole, and what each
 * was spent on is a share of it. Ops off the chain held nobody back. */
#include "sim/replay/metrics.h"
#include "sim/replay/replay_parts.h"

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

/* The level of the network that an exchange on the chain reached, or that took units from an op on it. */
static void spend_on_network(struct ll_result *result, uint32_t seq, const struct ll_op_parts *part)
{
    const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
    if (op->bound == LL_BOUND_NETWORK)
        result->network.levels[result->prices[result->prepared->trace->ops[seq].form].outermost].share +=
            op->time_s;
    else if (op->taken_s > 0)
        result->network.levels[part->taken_level].share += op->taken_s;
}

static void share_out(struct ll_result *result, const struct ll_op_parts *parts, double behind_s)
{
    double spent_s[LL_BOUND_COUNT] = {[LL_BOUND_OVERHEAD] = behind_s}, total_s = 0;
    for (uint32_t seq = last_to_end(result); seq != LL_NONE;) {
        const struct ll_op_result *op = &result->ops[seq - result->prepared->first_op];
        const struct ll_op_parts *part = &parts[seq - result->prepared->first_op];
        spent_s[LL_BOUND_OVERHEAD] += part->overhead_s;
        spent_s[LL_BOUND_DEPENDENCY] += part->exposed_s;
        spent_s[LL_BOUND_NETWORK] += op->taken_s;
        spent_s[op->bound] += op->time_s - part->overhead_s - part->exposed_s - op->taken_s;
        spend_on_network(result, seq, part);
        if (result->prepared->works[result->prepared->trace->ops[seq].form].kind == LL_WORK_WAIT)
            result->gap_share += op->time_s;
        seq = part->waited_for;
    }
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        total_s += spent_s[i];
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        result->shares[i] = total_s > 0 ? spent_s[i] / total_s : 0;
    result->gap_share /= total_s > 0 ? total_s : 1;
    for (unsigned i = 0; i < LL_MAX_LINKS && total_s > 0; i++)
        result->network.levels[i].share /= total_s;
    if (total_s <= 0)
        result->shares[LL_BOUND_COMPUTE] = 1; /* nothing took any time: views only */
}

void ll_find_bottlenecks(struct ll_result *result, const struct ll_op_parts *parts, double behind_s)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    share_out(result, parts, behind_s);
    for (uint64_t l = 0; l < machine->level_count && result->time_s > 0; l++)
        result->level_share[l] = result->level_bytes[l] / (ll_level_Bps(machine, l) * result->time_s);
    result->flop_utilization = ll_flop_utilization(machine, prepared->dtype, prepared->flops, result->time_s);
    result->fits = ll_footprint_fits(result->footprint, machine->levels[machine->level_count - 1].size_bytes);
}
