/* SPDX-License-Identifier: Apache-2.0 */
/* A step on many devices, for people and for programs: how it is spread, what waits, and for what. */
#include "sim/report/table.h"
#include "sim/report/sim_report.h"

#include <assert.h>
#include <inttypes.h>

/* Stages in the middle of a long pipeline do the same: a table shows the first and the last few. */
enum { MOST_STAGES = 12 };

#define LEAST_TOLD 0.001 /* share of the FLOPs */

static void exposed_json(const struct ll_parallel_result *p, struct ll_json *json)
{
    ll_json_key(json, "exposed_s");
    ll_json_open_object(json);
    for (int i = 0; i < LL_TRAFFIC_COUNT; i++)
        ll_json_put_number(json, ll_traffic_name((enum ll_traffic_kind)i), p->exposed_s[i]);
    ll_json_close_object(json);
}

static void stage_json(const struct ll_parallel_result *p, uint64_t stage, struct ll_json *json)
{
    const struct ll_stage_use *use = &p->stages[stage];
    ll_json_open_object(json);
    ll_json_put_count(json, "stage", stage);
    ll_json_put_number(json, "forward_s", use->forward_s);
    ll_json_put_number(json, "backward_s", use->backward_s);
    ll_json_put_number(json, "per_step_s", use->tail_s);
    ll_json_put_number(json, "busy_s", use->busy_s);
    ll_json_put_number(json, "flops", use->flops);
    ll_json_put_count(json, "in_flight", use->in_flight);
    if (p->result->footprint->unknown)
        ll_json_put_text(json, "memory_bytes", NULL);
    else
        ll_json_put_count(json, "memory_bytes", use->memory_bytes);
    ll_json_close_object(json);
}

void ll_report_parallel_json(const struct ll_parallel_result *p, struct ll_json *json)
{
    const struct ll_plan_sizes *sizes = &p->spread->sizes;
    assert(p->bubble >= 0 && p->bubble <= 1);
    assert(p->slowest < p->spread->plan.pipeline && p->fullest < p->spread->plan.pipeline);
    ll_json_key(json, "parallel");
    ll_json_open_object(json);
    ll_json_put_count(json, "devices", sizes->devices);
    ll_json_key(json, "plan");
    ll_plan_json(&p->spread->plan, json);
    ll_json_put_count(json, "batch", sizes->batch);
    ll_json_put_count(json, "micro_batch", sizes->micro_batch);
    ll_json_put_count(json, "micro_batches", sizes->micro_batches);
    ll_json_put_number(json, "step_s", p->step_s);
    ll_json_put_number(json, "samples_per_s", p->samples_Hz);
    ll_json_put_number(json, "flops", p->flops);
    ll_json_put_number(json, "undivided_flops", p->spread->undivided_flops);
    ll_report_energy_json(p->result->machine, p->energy_j, &p->energy, json);
    ll_json_put_number(json, "area_mm2", p->result->area_m2 * 1e6 * (double)sizes->devices);
    ll_json_put_number(json, "bubble", p->bubble);
    exposed_json(p, json);
    ll_json_put_count(json, "bottleneck_stage", p->slowest);
    ll_json_put_count(json, "fullest_stage", p->fullest);
    if (p->result->footprint->unknown) {
        ll_json_put_text(json, "memory_bytes", NULL);
        ll_json_put_text(json, "fits", NULL);
    } else {
        ll_json_put_count(json, "memory_bytes", p->stages[p->fullest].memory_bytes);
        ll_json_put_bool(json, "fits", p->result->fits);
    }
    ll_json_key(json, "stages");
    ll_json_open_list(json);
    for (uint64_t s = 0; s < p->spread->plan.pipeline; s++)
        stage_json(p, s, json);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* "on 64 devices: --dp 8 --tp 8, 512 samples, 16 micro-batches of 4 per replica". */
void ll_report_parallel_headline(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
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

static void stage_row(const struct ll_parallel_result *p, uint64_t s, struct ll_table *table)
{
    const struct ll_stage_use *use = &p->stages[s];
    const bool unknown = p->result->footprint->unknown;
    struct ll_human forward, backward, tail, busy, memory;
    ll_table_row(table, "  %" PRIu64 "|%s|%s|%s|%s|%" PRIu64 "|%s|%s", s,
                 ll_format_si(&forward, use->forward_s, "s"), ll_format_si(&backward, use->backward_s, "s"),
                 ll_format_si(&tail, use->tail_s, "s"),
                 ll_format_percent(&busy, p->step_s > 0 ? use->busy_s / p->step_s : 0), use->in_flight,
                 unknown ? "unknown" : ll_format_binary(&memory, (double)use->memory_bytes),
                 s == p->slowest               ? "bottleneck stage"
                 : s == p->fullest && !unknown ? "peak memory"
                                               : "");
}

static void stage_table(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    uint64_t stages = p->spread->plan.pipeline;
    struct ll_table *table = ll_table_new(">  stage|>forward|>backward|>per step|>busy|>in flight|>memory|");
    for (uint64_t s = 0; s < stages; s++)
        if (stages <= MOST_STAGES || s < MOST_STAGES / 2 || s >= stages - MOST_STAGES / 2 ||
            s == p->slowest || s == p->fullest)
            stage_row(p, s, table);
    ll_table_print(table, width, out);
    ll_table_free(table);
}

void ll_report_parallel(const struct ll_parallel_result *p, unsigned width, struct ll_str *out)
{
    waits(p, width, out);
    undivided(p, width, out);
    if (p->spread->plan.pipeline > 1) {
        ll_str_add(out, "\n");
        stage_table(p, width, out);
    }
}

void ll_report_together(const struct ll_multi_rank_result *t, unsigned width, struct ll_str *out)
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

void ll_report_together_json(const struct ll_multi_rank_result *t, struct ll_json *json)
{
    ll_json_key(json, "ranks");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < t->rank_count; i++) {
        ll_json_open_object(json);
        ll_json_put_count(json, "rank", i);
        ll_json_put_number(json, "end_s", t->ranks[i].end_s);
        ll_json_put_number(json, "busy_s", t->ranks[i].busy_s);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}
