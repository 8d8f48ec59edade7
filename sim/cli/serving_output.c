/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/serving_output.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "sim/cli/html.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"

enum { WHOLE = LL_POOL_WHOLE, PREFILL = LL_POOL_PREFILL, DECODE = LL_POOL_DECODE, POOLS = LL_SERVING_POOLS };
static const char *const pool_names[POOLS] = {"instance", "prefill", "decode"};

static const struct {
    const char *key, *label;
    size_t offset;
} distributions[] = {{"ttft_s", "TTFT", offsetof(struct ll_serving, ttft)},
                     {"tpot_s", "TPOT", offsetof(struct ll_serving, tpot)},
                     {"itl_s", "ITL", offsetof(struct ll_serving, itl)},
                     {"e2e_s", "end to end", offsetof(struct ll_serving, e2e)},
                     {"queued_s", "queued", offsetof(struct ll_serving, queued)}};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

static struct ll_quantiles *distribution(const struct ll_serving *r, size_t i)
{
    struct ll_quantiles *const *at =
        (struct ll_quantiles *const *)(const void *)((const char *)r + distributions[i].offset);
    return *at;
}

/* --- sums --- */

static double total_of(const double by_pool[POOLS])
{
    return by_pool[WHOLE] + by_pool[PREFILL] + by_pool[DECODE];
}

static uint64_t instances_of(const struct ll_serving_setup *setup)
{
    uint64_t count = 0;
    for (int i = 0; i < POOLS; i++)
        count += setup->groups[i].pool ? setup->groups[i].instances : 0;
    return count;
}

/* The share of time in which an instance computes, in the mean. */
static double utilization_of(const struct ll_serving_shown *s)
{
    return total_of(s->serving->busy_s) / s->serving->duration_s / (double)instances_of(s->setup);
}

static double prefill_share(const struct ll_serving *r)
{
    double busy_s = total_of(r->busy_s);
    return busy_s > 0 ? total_of(r->prompt_busy_s) / busy_s : 0;
}

/* The price of the electricity that the devices of a pool draw, where they were bought: the pool's part of
 * all energy is that of its devices' busy time. */
static double electricity_usd(const struct ll_serving_setup *setup, const struct ll_serving *r, double pue,
                              int pool)
{
    double busy_s[POOLS] = {0};
    for (int i = 0; i < POOLS; i++)
        if (setup->groups[i].pool)
            busy_s[i] = r->busy_s[i] * (double)setup->groups[i].pool->devices;
    const double all_s = total_of(busy_s);
    const struct ll_machine *machine = setup->groups[pool].machine;
    if (busy_s[pool] == 0 || !(machine->pricing.purchase_usd > 0) || machine->pricing.usd_per_kwh == 0)
        return 0;
    return r->energy_j * busy_s[pool] / all_s * pue / 3.6e6 * machine->pricing.usd_per_kwh;
}

/* The price of the devices' time, shared between tokens of prompts and those that are made as the time of
 * steps is, pool by pool; idle time likewise. */
struct ll_serving_costs ll_serving_costs_of(const struct ll_serving_setup *setup, const struct ll_serving *r,
                                            double carbon, double pue)
{
    struct ll_serving_costs costs = {0};
    double input = 0, output = 0;
    for (int i = 0; i < POOLS; i++) {
        const struct ll_serving_group *g = &setup->groups[i];
        double usd = ll_serving_usd_per_hour(g) * r->duration_s / 3600 + electricity_usd(setup, r, pue, i),
               prompts = r->busy_s[i] > 0 ? r->prompt_busy_s[i] / r->busy_s[i] : 0;
        costs.usd_per_hour += usd / r->duration_s * 3600;
        input += usd * prompts;
        output += usd * (1 - prompts);
    }
    costs.usd_per_m_input = input / (double)r->input_tokens * 1e6;
    costs.usd_per_m_output = output / (double)r->output_tokens * 1e6;
    costs.j_per_output = r->energy_j / (double)r->output_tokens;
    costs.gco2_per_output = costs.j_per_output * pue / 3.6e6 * carbon;
    costs.tokens_per_s_per_w = (double)r->output_tokens / r->energy_j;
    return costs;
}

static bool find_bounds(struct ll_serving_group *group, const struct ll_form *form,
                        struct ll_serving_bounds *bounds)
{
    bounds->group = group;
    return ll_served_bounds(group->model, form, bounds->shares);
}

bool ll_serving_sum_up(struct ll_serving_shown *s)
{
    const struct ll_serving *r = s->serving;
    struct ll_serving_group *groups = s->setup->groups;
    struct ll_serving_group *prefill = &groups[groups[WHOLE].pool ? WHOLE : PREFILL],
                            *decode = &groups[groups[WHOLE].pool ? WHOLE : DECODE];
    bool done = true;
    s->costs = ll_serving_costs_of(s->setup, r, s->carbon, s->pue);
    if (r->decode_steps > 0) /* of a rank, the mean */
        done = find_bounds(
            decode,
            &(struct ll_form){true, ll_max(1, r->decode_sequences / r->decode_steps / decode->pool->ranks),
                              1 + decode->pool->engine.speculated, r->decode_context / r->decode_sequences},
            &s->decode);
    if (done && r->prompt_steps > 0)
        done = find_bounds(
            prefill,
            &(struct ll_form){false, 1,
                              ll_max(1, r->step_prompt_tokens / r->prompt_steps / prefill->pool->ranks), 0},
            &s->prompts);
    ll_print_diags(&s->setup->diags);
    return done;
}

static double output_rate(const struct ll_serving *r)
{
    return (double)r->output_tokens / r->duration_s;
}

static const struct ll_server_pool *prompts_pool(const struct ll_serving_setup *setup)
{
    return setup->groups[setup->groups[WHOLE].pool ? WHOLE : PREFILL].pool;
}

static double tier_share(const struct ll_serving *r, uint64_t tier)
{
    return r->prompt_tokens > 0 ? (double)r->tier_tokens[tier] / (double)r->prompt_tokens : 0;
}

/* --- JSON --- */

static void put_bounds(struct ll_json *json, const char *key, const struct ll_serving_bounds *bounds)
{
    if (!bounds->group)
        return;
    ll_json_key(json, key);
    ll_json_open_object(json);
    for (uint32_t i = 0; i < LL_BOUND_COUNT; i++)
        if (bounds->shares[i] > 0)
            ll_json_put_number(json, ll_bound_name(bounds->group->machine, i), bounds->shares[i]);
    ll_json_close_object(json);
}

static void put_tiers(struct ll_json *json, const struct ll_serving_shown *s)
{
    const struct ll_server_pool *pool = prompts_pool(s->setup);
    ll_json_key(json, "tiers");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < pool->tier_count; i++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "name", pool->tiers[i].name);
        ll_json_put_count(json, "capacity_tokens", pool->tiers[i].tokens);
        ll_json_put_number(json, "hit_share", tier_share(s->serving, i));
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

void ll_serving_json(const struct ll_serving_shown *s, struct ll_str *out)
{
    const struct ll_serving *r = s->serving;
    const struct ll_serving_costs *costs = &s->costs;
    static const struct {
        const char *key;
        double share;
    } shares[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "serve", 1);
    ll_json_put_text(&json, "machine",
                     s->setup->groups[s->setup->groups[WHOLE].pool ? WHOLE : PREFILL].machine->stem);
    ll_json_put_text(&json, "model", s->setup->name);
    ll_json_put_count(&json, "devices", r->devices);
    ll_json_put_count(&json, "requests", r->requests);
    ll_json_put_number(&json, "duration_s", r->duration_s);
    for (size_t i = 0; i < DISTRIBUTIONS; i++) {
        ll_json_key(&json, distributions[i].key);
        ll_json_open_object(&json);
        ll_json_put_number(&json, "mean", ll_quantiles_mean(distribution(r, i)));
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j++)
            ll_json_put_number(&json, shares[j].key, ll_quantiles_at(distribution(r, i), shares[j].share));
        ll_json_close_object(&json);
    }
    ll_json_put_number(&json, "output_tokens_per_s", output_rate(r));
    ll_json_put_number(&json, "total_tokens_per_s",
                       (double)(r->input_tokens + r->output_tokens) / r->duration_s);
    ll_json_put_number(&json, "tokens_per_s_per_device", output_rate(r) / (double)r->devices);
    ll_json_put_number(&json, "slo_attainment", (double)r->within_limits / (double)r->requests);
    ll_json_put_number(&json, "goodput_requests_per_s", (double)r->within_limits / r->duration_s);
    if (s->found_rate_Hz > 0)
        ll_json_put_number(&json, "found_rate", s->found_rate_Hz);
    ll_json_key(&json, "kv");
    ll_json_open_object(&json);
    ll_json_put_count(&json, "capacity_tokens",
                      s->setup->groups[s->setup->groups[WHOLE].pool ? WHOLE : DECODE].pool->kv_tokens);
    ll_json_put_number(&json, "peak_share", r->peak_kv_share);
    ll_json_put_count(&json, "preemptions", r->preemptions);
    ll_json_put_number(&json, "prefix_hit_share",
                       r->prompt_tokens > 0 ? (double)r->hit_tokens / (double)r->prompt_tokens : 0);
    put_tiers(&json, s);
    ll_json_close_object(&json);
    ll_json_put_number(&json, "energy_j", r->energy_j);
    ll_json_put_count(&json, "steps", r->steps);
    ll_json_put_number(&json, "utilization", utilization_of(s));
    ll_json_put_number(&json, "prefill_share", prefill_share(r));
    ll_json_key(&json, "bottlenecks");
    ll_json_open_object(&json);
    put_bounds(&json, "prefill", &s->prompts);
    put_bounds(&json, "decode", &s->decode);
    ll_json_close_object(&json);
    ll_json_put_number(&json, "mean_running", r->mean_running);
    ll_json_put_number(&json, "mean_waiting", r->mean_waiting);
    ll_json_put_number(&json, "usd_per_hour", costs->usd_per_hour);
    ll_json_put_number(&json, "usd_per_m_input_tokens", costs->usd_per_m_input);
    ll_json_put_number(&json, "usd_per_m_output_tokens", costs->usd_per_m_output);
    ll_json_put_number(&json, "j_per_output_token", costs->j_per_output);
    ll_json_put_number(&json, "gco2_per_output_token", costs->gco2_per_output);
    ll_json_put_number(&json, "tokens_per_s_per_w", costs->tokens_per_s_per_w);
    ll_json_close_object(&json);
}

/* --- text --- */

static void add_words(const struct ll_serving_setup *setup, int which, struct ll_str *out)
{
    const struct ll_serving_group *g = &setup->groups[which];
    struct ll_human weights, kv, tokens;
    ll_str_addf(out, "%" PRIu64 " %s%s%s of %" PRIu64 " %s", g->instances,
                which == WHOLE ? "" : pool_names[which], which == WHOLE ? "instance" : " instance",
                ll_plural(g->instances), g->pool->devices, g->machine->stem);
    ll_str_addf(out, " (tp %" PRIu64 ", pp %" PRIu64 ", dp %" PRIu64 ", ep %" PRIu64 ")", g->tensor,
                g->pipeline, g->data, g->expert);
    ll_str_addf(out, ": weights %s a device, KV cache of %s tokens a rank (%s)",
                ll_format_binary(&weights, g->memory.weights), ll_format_grouped(&tokens, g->pool->kv_tokens),
                ll_format_binary(&kv, (double)g->pool->kv_tokens * g->memory.kv_token));
    ll_str_addf(out, ", at most %" PRIu64 " sequence%s and %" PRIu64 " token%s per step",
                g->pool->engine.most_sequences, ll_plural(g->pool->engine.most_sequences),
                g->pool->engine.most_tokens, ll_plural(g->pool->engine.most_tokens));
}

static void add_deployment(const struct ll_serving_shown *s, struct ll_str *out)
{
    for (int i = 0; i < POOLS; i++) {
        struct ll_str line = {0};
        if (!s->setup->groups[i].pool)
            continue;
        ll_str_add(&line, "  ");
        add_words(s->setup, i, &line);
        ll_end_line(&line, ll_screen_width(), out);
    }
}

/* The largest three shares: "HBM 81 %, overhead 10 %, compute 9 %". */
static void add_bounds(const char *what, const struct ll_serving_bounds *bounds, struct ll_str *out)
{
    double below = INFINITY;
    if (!bounds->group)
        return;
    ll_str_addf(out, "%s ", what);
    for (int n = 0; n < 3; n++) {
        uint32_t best = LL_BOUND_COUNT;
        struct ll_human share;
        for (uint32_t i = 0; i < LL_BOUND_COUNT; i++)
            if (bounds->shares[i] < below &&
                (best == LL_BOUND_COUNT || bounds->shares[i] > bounds->shares[best]))
                best = i;
        if (best == LL_BOUND_COUNT || bounds->shares[best] < 0.01)
            return;
        below = bounds->shares[best];
        ll_str_addf(out, "%s%s %s", n > 0 ? ", " : "", ll_bound_name(bounds->group->machine, best),
                    ll_format_percent(&share, below));
    }
}

void ll_serving_text(const struct ll_serving_shown *s, struct ll_str *out)
{
    const struct ll_serving *r = s->serving;
    const struct ll_serving_costs *costs = &s->costs;
    struct ll_human a, b, c, d, e, f;
    struct ll_table *table = ll_table_new("  |>mean|>p50|>p90|>p95|>p99");
    ll_str_addf(out, "%s, %" PRIu64 " request%s in %s\n", s->setup->name, r->requests, ll_plural(r->requests),
                ll_format_si(&a, r->duration_s, "s"));
    add_deployment(s, out);
    ll_str_add(out, "\n");
    for (size_t i = 0; i < DISTRIBUTIONS; i++) {
        struct ll_quantiles *q = distribution(r, i);
        if (ll_quantiles_count(q) > 0)
            ll_table_row(table, "  %s|%s|%s|%s|%s|%s", distributions[i].label,
                         ll_format_si(&a, ll_quantiles_mean(q), "s"),
                         ll_format_si(&b, ll_quantiles_at(q, 0.5), "s"),
                         ll_format_si(&c, ll_quantiles_at(q, 0.9), "s"),
                         ll_format_si(&d, ll_quantiles_at(q, 0.95), "s"),
                         ll_format_si(&e, ll_quantiles_at(q, 0.99), "s"));
    }
    ll_table_print(table, ll_screen_width(), out);
    ll_table_free(table);
    ll_str_addf(out, "\n  output      %s, %s a device\n", ll_format_count(&a, output_rate(r), "tokens/s"),
                ll_format_count(&b, output_rate(r) / (double)r->devices, "tokens/s"));
    ll_str_addf(out, "  devices     busy %s of the time, %s of it with prompts\n",
                ll_format_percent(&a, utilization_of(s)), ll_format_percent(&b, prefill_share(r)));
    ll_str_add(out, "  bound by    ");
    add_bounds("prefill", &s->prompts, out);
    ll_str_add(out, s->prompts.group && s->decode.group ? "; " : "");
    add_bounds("decode", &s->decode, out);
    ll_str_add(out, "\n");
    ll_str_addf(out, "  sequences   %.1f running, %.1f waiting in the mean of %s step%s\n", r->mean_running,
                r->mean_waiting, ll_format_grouped(&a, r->steps), ll_plural(r->steps));
    ll_str_addf(
        out, "  KV cache    %s full in the mean, %s at most; %s preemption%s; %s of prompts found in it\n",
        ll_format_percent(&a, r->mean_kv_share), ll_format_percent(&b, r->peak_kv_share),
        ll_format_grouped(&c, r->preemptions), ll_plural(r->preemptions),
        ll_format_percent(&d, r->prompt_tokens > 0 ? (double)r->hit_tokens / (double)r->prompt_tokens : 0));
    for (uint64_t i = 0; i < prompts_pool(s->setup)->tier_count; i++)
        ll_str_addf(out, "  KV tier     %s: %s of prompts found in it, room for %s tokens\n",
                    prompts_pool(s->setup)->tiers[i].name, ll_format_percent(&a, tier_share(r, i)),
                    ll_format_grouped(&b, prompts_pool(s->setup)->tiers[i].tokens));
    if (isfinite(costs->j_per_output))
        ll_str_addf(out, "  energy      %s a token made, %.3g tokens/s/W\n",
                    ll_format_si(&a, costs->j_per_output, "J"), costs->tokens_per_s_per_w);
    if (isfinite(costs->usd_per_hour))
        ll_str_addf(out, "  price       $%.2f an hour: $%.3f a million tokens read, $%.3f made\n",
                    costs->usd_per_hour, costs->usd_per_m_input, costs->usd_per_m_output);
    if (isfinite(s->setup->limits.ttft_s) || isfinite(s->setup->limits.tpot_s) ||
        isfinite(s->setup->limits.e2e_s))
        ll_str_addf(out, "  limits      %s of requests within, %s\n",
                    ll_format_percent(&e, (double)r->within_limits / (double)r->requests),
                    ll_format_count(&f, (double)r->within_limits / r->duration_s, "good requests/s"));
    if (s->found_rate_Hz > 0)
        ll_str_addf(out, "  rate        %.4g requests/s is the largest that holds the limits at p%g\n",
                    s->found_rate_Hz, s->percentile);
}

/* --- the page --- */

enum { CURVE_POINTS = 240 };

/* Latencies at even shares, and closer ones towards the slowest. */
static void put_curves(struct ll_json *json, const struct ll_serving *r)
{
    ll_json_key(json, "shares");
    ll_json_open_list(json);
    for (int p = 0; p <= CURVE_POINTS; p++)
        ll_json_number(json, 1 - pow(1 - (double)p / CURVE_POINTS, 2));
    ll_json_close_list(json);
    ll_json_key(json, "curves");
    ll_json_open_object(json);
    for (size_t i = 0; i < DISTRIBUTIONS; i++) {
        ll_json_key(json, distributions[i].label);
        ll_json_open_list(json);
        for (int p = 0; p <= CURVE_POINTS && ll_quantiles_count(distribution(r, i)) > 0; p++)
            ll_json_number(json,
                           ll_quantiles_at(distribution(r, i), 1 - pow(1 - (double)p / CURVE_POINTS, 2)));
        ll_json_close_list(json);
    }
    ll_json_close_object(json);
}

static void put_column(struct ll_json *json, const char *key, const struct ll_interval *intervals,
                       size_t count, size_t offset, double scale)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        ll_json_number(json, *(const double *)(const void *)((const char *)&intervals[i] + offset) * scale);
    ll_json_close_list(json);
}

/* Rates and means of a pool by interval. */
static void put_intervals(struct ll_json *json, const struct ll_pool_history *pool, size_t count,
                          double width_s, uint64_t instances)
{
    const double each = 1 / width_s, mean = each / (double)instances;
    const struct ll_interval *at = pool->intervals;
    put_column(json, "made", at, count, offsetof(struct ll_interval, made), each);
    put_column(json, "prompt_tokens", at, count, offsetof(struct ll_interval, prompt_tokens), each);
    put_column(json, "running", at, count, offsetof(struct ll_interval, running_s), each);
    put_column(json, "waiting", at, count, offsetof(struct ll_interval, waiting_s), each);
    put_column(json, "kv", at, count, offsetof(struct ll_interval, kv_s), mean);
    put_column(json, "peak_kv", at, count, offsetof(struct ll_interval, peak_kv), 1);
    put_column(json, "busy", at, count, offsetof(struct ll_interval, busy_s), mean);
}

static void put_sizes(struct ll_json *json, const struct ll_pool_history *pool)
{
    ll_json_key(json, "sizes");
    ll_json_open_list(json);
    for (int i = 0; i < LL_HISTORY_SIZES; i++) {
        if (pool->sizes[i].steps == 0)
            continue;
        ll_json_open_object(json);
        ll_json_put_count(json, "least", i == 0 ? 1 : (UINT64_C(1) << (i - 1)) + 1);
        ll_json_put_count(json, "most", UINT64_C(1) << i);
        ll_json_put_count(json, "steps", pool->sizes[i].steps);
        ll_json_put_number(json, "alone_s", pool->sizes[i].alone_s);
        ll_json_put_number(json, "mixed_s", pool->sizes[i].mixed_s);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_instances(struct ll_json *json, const struct ll_pool_history *pool, uint64_t count,
                          double duration_s)
{
    static const struct ll_instance_history idle = {0};
    ll_json_key(json, "instances");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_instance_history *at = i < pool->instance_count ? &pool->instances[i] : &idle;
        ll_json_open_object(json);
        ll_json_put_count(json, "steps", at->steps);
        ll_json_put_count(json, "made", at->made);
        ll_json_put_count(json, "prompt_tokens", at->prompt_tokens);
        ll_json_put_number(json, "busy", at->busy_s / duration_s);
        ll_json_put_number(json, "running", at->running_s / duration_s);
        ll_json_put_number(json, "waiting", at->waiting_s / duration_s);
        ll_json_put_number(json, "peak_kv", at->peak_kv);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_requests(struct ll_json *json, const struct ll_serve_history *history)
{
    ll_json_put_count(json, "stride", history->stride);
    ll_json_key(json, "requests");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < history->request_count; i++) {
        const struct ll_served *q = &history->requests[i];
        const double tokens = (double)q->request.output - 1;
        const double row[] = {(double)q->number,
                              q->request.arrival_s,
                              (double)q->request.input,
                              (double)q->request.output,
                              q->scheduled_s - q->request.arrival_s,
                              q->first_token_s - q->request.arrival_s,
                              tokens > 0 ? (q->last_token_s - q->first_token_s) / tokens : NAN,
                              q->last_token_s - q->request.arrival_s,
                              (double)q->preemptions,
                              (double)q->hit_tokens,
                              (double)q->instance};
        ll_json_open_list(json);
        for (size_t c = 0; c < sizeof row / sizeof *row; c++)
            ll_json_number(json, row[c]);
        ll_json_close_list(json);
    }
    ll_json_close_list(json);
}

static void put_limits(struct ll_json *json, const struct ll_serve_limits *limits)
{
    ll_json_key(json, "limits");
    ll_json_open_object(json);
    ll_json_put_number(json, "TTFT", limits->ttft_s); /* null: none */
    ll_json_put_number(json, "TPOT", limits->tpot_s);
    ll_json_put_number(json, "end to end", limits->e2e_s);
    ll_json_close_object(json);
}

/* What the page needs beyond the document. */
static void add_more(const struct ll_serving_shown *s, struct ll_str *out)
{
    const struct ll_serve_history *history = s->history;
    const size_t count = (size_t)fmin(LL_HISTORY_INTERVALS, ceil(s->serving->end_s / history->width_s));
    struct ll_json json = {.out = out};
    ll_json_open_object(&json);
    put_limits(&json, &s->setup->limits);
    put_curves(&json, s->serving);
    ll_json_put_number(&json, "width_s", history->width_s);
    ll_json_put_number(&json, "end_s", s->serving->end_s);
    ll_json_put_number(&json, "mean_kv", s->serving->mean_kv_share);
    ll_json_key(&json, "pools");
    ll_json_open_list(&json);
    for (int i = 0; i < POOLS; i++) {
        static const struct ll_pool_history idle = {0};
        const struct ll_serving_group *g = &s->setup->groups[i];
        const struct ll_pool_history *pool = history->pools[i] ? history->pools[i] : &idle;
        if (!g->pool)
            continue;
        ll_json_open_object(&json);
        struct ll_str words = {0};
        add_words(s->setup, i, &words);
        ll_json_put_text(&json, "name", pool_names[i]);
        ll_json_put_text(&json, "words", words.failed ? NULL : words.text);
        ll_str_release(&words);
        put_intervals(&json, pool, count, history->width_s, g->instances);
        put_sizes(&json, pool);
        put_instances(&json, pool, g->instances, s->serving->end_s);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    put_requests(&json, history);
    ll_json_close_object(&json);
}

int ll_serving_page(const struct ll_serving_shown *s)
{
    struct ll_page_content content = {.again = NULL};
    const struct ll_args *args = s->setup->args;
    const char *title = ll_format(args->arena, "%s on %s", s->setup->name, ll_value(args, "machine", ""));
    assert(s->history);
    ll_page_plain_begin();
    ll_serving_text(s, &content.plain);
    ll_serving_json(s, &content.document);
    add_more(s, &content.more);
    content.more.failed |= s->history->failed;
    int status = title ? ll_write_page(args, "serve", title, &content) : ll_cli_fail("memory ran out");
    ll_page_content_release(&content);
    return status;
}
