/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a page for people that are there with a plan, or with a trace of several ranks: how the step is
 * spread, what waits for what, the stages of the pipeline. */
#include <inttypes.h>
#include <math.h>

#include "sim/report/sim_report.h"
#include "sim/report/table.h"
#include "tracer/base/str.h"

/* Stages in the middle of a long pipeline do the same: a table shows the first and the last few. */
enum { MOST_STAGES = 12 };

#define LEAST_TOLD 0.001 /* share of the FLOPs */

void ll_parallel_headline_text(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    const struct ll_plan_sizes *sizes = &p->spread->sizes;
    struct ll_str line = {0}, words = {0};
    ll_plan_words(&p->spread->plan, &words);
    ll_str_addf(&line, "on %" PRIu64 " device%s%s%s", sizes->devices, ll_plural(sizes->devices),
                words.length ? ": " : "", words.length ? words.text : "");
    line.failed |= words.failed;
    ll_str_release(&words);
    if (sizes->batch > 0)
        ll_str_addf(&line, "; %" PRIu64 " sample%s, %" PRIu64 " micro-batch%s of %" PRIu64 " per replica",
                    sizes->batch, ll_plural(sizes->batch), sizes->micro_batches,
                    sizes->micro_batches == 1 ? "" : "es", sizes->micro_batch);
    ll_end_line(&line, width, out);
}

static void waits(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    struct ll_human human;
    unsigned some = 0;
    for (int i = 0; i < LL_TRAFFIC_COUNT; i++)
        if (p->exposed_s[i] > 0)
            ll_str_addf(&line, "%s %s %s",
                        some++ ? "," : "exposed communication:", ll_format_si(&human, p->exposed_s[i], "s"),
                        ll_traffic_name((enum ll_traffic_kind)i));
    if (some == 0 && p->result->network.count == 0 && p->spread->plan.data > 1)
        ll_str_add(&line, "no communication: the trace has no weight gradients");
    else if (some == 0)
        ll_str_add(&line, "no communication is exposed");
    if (p->spread->plan.pipeline > 1)
        ll_str_addf(&line, "; pipeline bubble %s", ll_format_percent(&human, p->bubble));
    ll_end_line(&line, width, out);
}

/* What devices that are slower than the others cost, where the plan has some. */
static void stragglers(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    const struct ll_parallel *plan = &p->spread->plan;
    struct ll_str line = {0};
    struct ll_human lost, share;
    const double lost_s = p->step_s - p->even_s;
    if (p->slow_devices + p->slow_links == 0)
        return;
    ll_str_add(&line, "stragglers:");
    if (p->slow_devices > 0)
        ll_str_addf(&line, " %" PRIu64 " of %" PRIu64 " device%s take%s %.10gx as long to compute",
                    p->slow_devices, p->spread->sizes.devices, ll_plural(p->spread->sizes.devices),
                    p->slow_devices == 1 ? "s" : "", plan->stragglers.factor);
    if (p->slow_links > 0)
        ll_str_addf(&line, "%s messages of %" PRIu64 " of %" PRIu64 " devices take %.10gx as long",
                    p->slow_devices > 0 ? "," : "", p->slow_links, p->spread->sizes.devices,
                    plan->slow_links.factor);
    ll_str_addf(&line, "; the step loses %s (%s)", ll_format_si(&lost, lost_s, "s"),
                ll_format_percent(&share, p->step_s > 0 ? lost_s / p->step_s : 0));
    ll_end_line(&line, width, out);
}

/* What is done as often as there are devices of a GEMM, unless it is next to nothing. */
static void undivided(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    const struct ll_spread *spread = p->spread;
    struct ll_str line = {0};
    struct ll_human flops, whole, share;
    if (spread->undivided_flops < LEAST_TOLD * spread->whole_flops || spread->undivided_flops == 0)
        return;
    ll_str_addf(&line,
                "%s of the %s of a micro-batch (%s) are not divided: each of the %" PRIu64
                " tensor-parallel devices computes them",
                ll_format_si(&flops, spread->undivided_flops, "FLOP"),
                ll_format_si(&whole, spread->whole_flops, "FLOP"),
                ll_format_percent(&share, spread->undivided_flops / spread->whole_flops),
                spread->plan.tensor);
    ll_end_line(&line, width, out);
}

/* Where a plan says more of layers than how many stages they are divided into. */
static bool says_layers(const struct ll_parallel_result *p)
{
    const struct ll_layer_split *split = &p->spread->plan.split;
    return split->embedding || split->loss || split->first > 0 || split->last > 0 || *split->layout;
}

double ll_parallel_area_m2(const struct ll_parallel_result *p)
{
    double area_m2 = p->result->area_m2 * (double)p->spread->sizes.devices;
    for (uint64_t i = 0; p->pool_count > 1 && i < p->pool_count; i++)
        area_m2 = (i ? area_m2 : 0) + ll_machine_area_m2(p->pools[i].machine) * (double)p->pools[i].devices;
    return area_m2;
}

/* The devices of each pool, and how far its memory and its share of the energy go. */
static void pools(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    struct ll_human energy;
    for (uint64_t i = 0; p->pool_count > 1 && i < p->pool_count; i++) {
        const struct ll_pool_use *pool = &p->pools[i];
        ll_str_addf(&line, "%s%" PRIu64 " device%s of %s (stage%s %" PRIu64,
                    i ? ", " : "pools: ", pool->devices, ll_plural(pool->devices), pool->machine->stem,
                    ll_plural(pool->stages), pool->first_stage);
        if (pool->stages > 1)
            ll_str_addf(&line, " to %" PRIu64, pool->first_stage + pool->stages - 1);
        if (isfinite(pool->energy_j))
            ll_str_addf(&line, ", %s", ll_format_si(&energy, pool->energy_j, "J"));
        ll_str_add(&line, ")");
    }
    if (p->pool_count > 1) {
        ll_str_add(&line, "; stages of different pools exchange over the slower of their networks");
        ll_end_line(&line, width, out);
    }
}

static void stage_row(const struct ll_parallel_result *p, uint64_t s, struct ll_table *table)
{
    const struct ll_stage_use *use = &p->stages[s];
    const bool unknown = p->result->footprint->unknown;
    struct ll_human forward, backward, tail, busy, memory;
    const char *bytes = unknown ? "unknown" : ll_format_binary(&memory, (double)use->memory_bytes);
    const char *remark = s == p->slowest               ? "bottleneck stage"
                         : s == p->fullest && !unknown ? "peak memory"
                                                       : "";
    struct ll_str layers = {0};
    ll_format_si(&forward, use->forward_s, "s");
    ll_format_si(&backward, use->backward_s, "s");
    ll_format_si(&tail, use->tail_s, "s");
    ll_format_percent(&busy, p->step_s > 0 ? use->busy_s / p->step_s : 0);
    ll_stage_layers(p->spread, s, &layers);
    if (says_layers(p))
        ll_table_row(table, "  %" PRIu64 "|%s|%s|%s|%s|%s|%" PRIu64 "|%s|%s", s,
                     layers.text ? layers.text : "", forward.text, backward.text, tail.text, busy.text,
                     use->in_flight, bytes, remark);
    else
        ll_table_row(table, "  %" PRIu64 "|%s|%s|%s|%s|%" PRIu64 "|%s|%s", s, forward.text, backward.text,
                     tail.text, busy.text, use->in_flight, bytes, remark);
    ll_str_release(&layers);
}

static void stage_table(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    uint64_t stages = p->spread->plan.pipeline;
    struct ll_table *table =
        ll_table_new(says_layers(p) ? ">  stage|layers|>forward|>backward|>per step|>busy|>in flight|>memory|"
                                    : ">  stage|>forward|>backward|>per step|>busy|>in flight|>memory|");
    for (uint64_t s = 0; s < stages; s++)
        if (stages <= MOST_STAGES || s < MOST_STAGES / 2 || s >= stages - MOST_STAGES / 2 ||
            s == p->slowest || s == p->fullest)
            stage_row(p, s, table);
    ll_table_print(table, width, out);
    ll_table_free(table);
}

void ll_parallel_text(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    waits(p, width, out);
    pools(p, width, out);
    stragglers(p, width, out);
    undivided(p, width, out);
    if (p->spread->plan.pipeline > 1) {
        ll_str_add(out, "\n");
        stage_table(p, width, out);
    }
}

void ll_ranks_text(const struct ll_multi_rank_result *t, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    struct ll_human first, last, busy;
    double earliest_s = t->ranks[t->last].end_s, busy_s = 0;
    for (uint32_t i = 0; i < t->rank_count; i++) {
        earliest_s = t->ranks[i].end_s < earliest_s ? t->ranks[i].end_s : earliest_s;
        busy_s += t->ranks[i].busy_s / t->rank_count;
    }
    ll_str_addf(&line,
                "%" PRIu32 " ranks: the first ends after %s, the last, rank %" PRIu32
                ", after %s; a device is busy %s of that time",
                t->rank_count, ll_format_si(&first, earliest_s, "s"), t->last,
                ll_format_si(&last, t->ranks[t->last].end_s, "s"),
                ll_format_percent(&busy, t->ranks[t->last].end_s > 0 ? busy_s / t->ranks[t->last].end_s : 0));
    ll_end_line(&line, width, out);
}
