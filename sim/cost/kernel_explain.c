/* SPDX-License-Identifier: Apache-2.0 */
/* How the cycles, traffic and times of a chosen kernel configuration come about, line by line. */
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"
#include "sim/cost/gemm_kernels.h"
#include "sim/cost/kernel_parts.h"
#include "sim/cost/linear.h"

void ll_kernel_time_explain(const struct ll_kernel_timing *s, struct ll_explain *why)
{
    const struct ll_kernel *k = s->kernel;
    const struct ll_employed e = ll_kernel_employ(s);
    double rows = ll_rows_compute(k, s->task.work), share = s->unit.efficiency;
    if (s->by_library)
        share = s->unit.matrix.gemm.efficiency;
    if (k->name)
        ll_say(why, "kernel %s, share of the peak rate: %.10g * %.10g = %.10g", k->name, share / rows, rows,
               share);
    if (k->name && k->bandwidth_efficiency < 1)
        ll_say(why, "kernel %s, share of every bandwidth: %.10g", k->name, k->bandwidth_efficiency);
    if (e.worth < (double)e.most)
        ll_say(why,
               "%s: max(%" PRIu64 " FLOP, %.10g B) / %" PRIu64 " / grain of %.10g: %" PRIu64 " of %" PRIu64,
               s->unit.name, s->op->flops, e.bytes, s->task.steps, e.grain, e.count, e.most);
}

static void explain_cycles(const struct ll_kernel_timing *s, const char *what, double lanes_s, double cycles,
                           struct ll_explain *why)
{
    if (cycles > 0)
        ll_say(why, "%s, of the clock of %s: %.10g * (%.10g * %.10g) = %.10g cycles", what, s->unit.name,
               lanes_s, s->unit.clock_hz, s->unit.efficiency, cycles);
}

static void explain_partition(const struct ll_partitioned *p, const struct ll_kernel_config *way,
                              struct ll_explain *why)
{
    if (p->length == 0)
        return;
    ll_say(why,
           "the busiest unit's share of %" PRIu64 " lines: (%" PRIu64 " + min(%" PRIu64 " - %" PRIu64
           " * %" PRIu64 ", %" PRIu64 ")) / %" PRIu64 " = %.10g",
           p->length, p->dealt, p->length, p->dealt, way->units_used, p->lines, p->length, p->busiest);
    ll_say(why, "over an even share: max(1, %.10g * %.10g) = %.10g", p->busiest, way->at_work, p->imbalance);
}

static void explain_compute(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                            const struct ll_cost *cost, double full_s, struct ll_explain *why)
{
    const struct ll_computing c = ll_compute(s, way);
    double clock_hz = s->unit.clock_hz, efficiency = s->unit.efficiency;
    ll_epilogue_explain(&s->lanes, &s->task, &s->unit, s->machine->units[s->unit_index].efficiency, why);
    explain_cycles(s, "between GEMMs", s->lanes.after_s, c.after, why);
    ll_cast_explain(s->machine, s->kernel, &s->task, why);
    explain_cycles(s, "casting", s->cast_s, c.casting, why);
    ll_rows_imbalance_explain(s->kernel, s->task.work, &s->unit, why);
    explain_partition(&c.parts, way, why);
    if (c.begin_s > 0)
        ll_say(why, "rows begun: %" PRIu64 " * %.10g / %" PRIu64 " = %.10g s", s->task.work->lines,
               s->kernel->row_overhead_s, c.parts.units, c.begin_s);
    if (c.busiest != way->cycles)
        ll_say(why, "the busiest unit: %.10g * (%.10g * %.10g) + %.10g * (%.10g * %.10g) = %.10g cycles",
               way->cycles, c.parts.imbalance, s->rows, c.begin_s, clock_hz, efficiency, c.busiest);
    explain_cycles(s, "meanwhile", s->lanes.meanwhile_s, c.meanwhile, why);
    if (c.meanwhile > c.busiest)
        ll_say(why, "which is waited for: max(%.10g, %.10g) = %.10g cycles", c.busiest, c.meanwhile,
               c.cycles);
    ll_say(why, "compute: (%" PRIu64 " * %.10g + %.10g) / (%.10g * %.10g) = %.10g s", s->task.steps, c.cycles,
           c.after + c.casting, clock_hz, efficiency, full_s);
    ll_say(why, "compute, first piece: min(%" PRIu64 " * %.10g, %.10g) / (%.10g * %.10g) = %.10g s",
           s->task.steps, way->first.cycles, cost->compute_cycles, clock_hz, efficiency,
           cost->compute_first_s);
    ll_power_explain(s->machine, &s->task, way, full_s, why);
}

static void explain_pieces(const struct ll_level *level, const struct ll_kernel_config *way,
                           struct ll_explain *why)
{
    double of[LL_OPERAND_COUNT], bytes = ll_finest_bytes(level, way);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        of[i] = ll_level_holds(level, i) ? way->first.bytes[i] : 0;
    if (bytes > 0 && !ll_level_holds_all(level))
        ll_say(why, "%s, of a unit's first piece: %.10g + %.10g + %.10g = %.10g B", level->name,
               of[LL_OPERAND_A], of[LL_OPERAND_B], of[LL_OPERAND_C], bytes);
}

/* The bandwidth that a level offers and the time that its bytes take. */
static void explain_bandwidth(const struct ll_kernel_timing *s, uint64_t l, const struct ll_level_feed *feed,
                              double bytes, const struct ll_cost *cost, struct ll_explain *why)
{
    const struct ll_level *level = &s->machine->levels[l];
    uint64_t working = ll_numa_working(level, cost->units_used);
    if (feed->share != level->efficiency)
        ll_say(why, "%s, efficiency: %.10g * %.10g / %.10g = %.10g", level->name, level->efficiency,
               ll_share_of_level(s, l), feed->slowdown, feed->share);
    if (feed->all_Bps == feed->nodes_Bps)
        ll_say(why,
               "%s, between its nodes, %" PRIu64 " of which work: %.10g / (%.10g * %" PRIu64 " * %" PRIu64
               " * %.10g) = %.10g s",
               level->name, working, bytes, level->numa.link_Bps, level->numa.nodes, working,
               ll_share_of_level(s, l), cost->level_s[l]);
    else if (feed->all_Bps < feed->one_Bps * (double)feed->instances)
        ll_say(why, "%s, what units draw: %.10g / (%.10g * %.10g * %" PRIu64 ") = %.10g s", level->name,
               bytes, level->unit_Bps, feed->share, s->unit.count, cost->level_s[l]);
    else
        ll_say(why, "%s: %.10g / (%.10g * %.10g * %" PRIu64 ") = %.10g s", level->name, bytes,
               level->bandwidth_Bps, feed->share, feed->instances, cost->level_s[l]);
}

static void explain_level(const struct ll_kernel_timing *s, const struct ll_kernel_config *way, uint64_t l,
                          const struct ll_cost *cost, struct ll_explain *why)
{
    const struct ll_level *level = &s->machine->levels[l];
    const struct ll_level_feed feed = ll_feed_of(s, way, l, cost);
    double bytes = cost->level_bytes[l], written = cost->level_written[l],
           price = ll_crossing_bytes(s, l, cost);
    double first_s = feed.first_bytes / feed.one_Bps, each_s = ll_numa_latency_s(level);
    ll_gather_explain(s->machine, s->task.work, l, why);
    explain_pieces(level, way, why);
    if (price > bytes)
        ll_say(why,
               "%s reads %.10g B and writes %.10g B, which through its ports takes as long as %.10g B "
               "would through both",
               level->name, bytes - written, written, price);
    if (bytes > 0 && each_s > level->latency_s)
        ll_say(why, "%s, latency with that of other nodes: %.10g + %.10g * %.10g = %.10g s", level->name,
               level->latency_s, ll_numa_remote(level), level->numa.latency_s, each_s);
    explain_bandwidth(s, l, &feed, price, cost, why);
    if (first_s > 0)
        ll_say(why, "%s, first piece: min(%.10g, %.10g / %" PRIu64 ") / (%.10g * %.10g) = %.10g s",
               level->name, feed.finest_bytes, feed.least_bytes, cost->units_used, level->bandwidth_Bps,
               feed.share, first_s);
    if (first_s > cost->level_s[l])
        ll_say(why, "%s, which is no more than all: min(%.10g, %.10g) = %.10g s", level->name, first_s,
               cost->level_s[l], cost->level_first_s[l]);
}

/* What a library's GEMM takes around its rounds. */
static void explain_around(const struct ll_kernel_timing *s, const struct ll_chosen *chosen,
                           const struct ll_cost *cost, struct ll_explain *why)
{
    double near = ll_near_Bps(s, cost), start_s = s->unit.matrix.gemm.start_s;
    if (s->task.linear)
        ll_quantize_explain(s->machine, &s->unit, &s->task, why);
    ll_gemm_reduce_explain(&s->unit, &s->task, chosen->index, near, why);
    ll_say(why, "starting and ending the kernel, and these: %" PRIu64 " * (%.10g + %.10g) + %.10g = %.10g s",
           s->task.steps, start_s, ll_gemm_reduce_s(&s->unit, &s->task, chosen->index, near),
           s->quantizing.time_s, cost->around_s);
}

void ll_chosen_explain(const struct ll_kernel_timing *s, const struct ll_chosen *chosen,
                       const struct ll_cost *cost, struct ll_explain *why)
{
    const struct ll_kernel_config *way = &chosen->way;
    ll_explain_group(why, "compute");
    if (s->by_library)
        ll_gemm_explain(&s->unit, &s->task, chosen->index, way, why);
    else if (!ll_is_gemm(s->task.work) || s->task.is_gemm)
        ll_unit_model(s->unit.model)->explain(&s->unit, &s->task, chosen->index, way, why);
    else
        ll_say(why, "an empty product: nothing is computed");
    if (s->by_library)
        explain_around(s, chosen, cost, why);
    explain_compute(s, way, cost, chosen->full_s, why);
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        ll_explain_group(why, s->machine->levels[l].name);
        const struct ll_nested *nested = l < s->near_levels ? &chosen->near : &chosen->far;
        ll_traffic_explain(s->machine, &s->task, way, &chosen->paces, nested, &chosen->traffic, l, why);
        ll_rows_reread_explain(s->machine, s->kernel, s->task.work, s->unit.count, &chosen->traffic, l, why);
        explain_level(s, way, l, cost, why);
    }
}
