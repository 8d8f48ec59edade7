/* SPDX-License-Identifier: Apache-2.0 */
/* leadline plan --serve: which deployment serves a model at a rate within limits, with the fewest devices.
 *
 * Considered are instances of 1, 2, 4, ... devices that share GEMMs, and, for models with experts, whose
 * attention works on requests of their own with experts spread over them; and prefill and decode apart, with
 * the ways to divide each that are best by themselves. A single request by itself says at once what can never
 * hold the limits. Of the others the largest rate of one instance is found by simulation, and from it how
 * many are needed. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/cli/serving_commands.h"
#include "sim/cli/serving_output.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"

enum { MOST_FOUND = 64, PROMPTS = 400 };

/* How the devices of an instance are used. */
struct layout {
    uint64_t tp, dp, ep;
};

static uint64_t devices_of(const struct layout *l)
{
    return l->tp * l->dp;
}

struct found {
    struct layout layout,
        decode;                 /* decode: of the instances that make tokens; of no devices: none are apart */
    uint64_t replicas, decodes; /* instances; of those for decoding */
    uint64_t devices;
    double rate_Hz;                    /* the largest of one instance (of the slower pool, where two are) */
    double ttft_s, tpot_s;             /* at the percentile, at the rate that is asked for */
    double per_device_Hz, per_user_Hz; /* tokens made a second */
    double usd_per_m_input, usd_per_m_output;
};

struct planning {
    const struct ll_args *args;
    double rate_Hz, percentile;
    uint64_t most_devices;
    struct found found[MOST_FOUND];
    size_t count, considered;
    const volatile sig_atomic_t *stop;
    struct ll_ticker ticker;
};

/* Options of `leadline serve`: those that were given, but for what a plan decides. */
static void begin(struct ll_serving_options *o, const struct ll_args *args)
{
    static const char *const own[] = {"rate", "percentile", "json", NULL};
    ll_serving_begin(o, args->arena);
    for (size_t i = 0; i < args->given_count; i++) {
        bool is_own = false;
        for (const char *const *name = own; *name; name++)
            is_own |= strcmp(*name, args->given[i].option->name) == 0;
        if (!is_own)
            ll_serving_give(o, args->given[i].option->name, args->given[i].value ? args->given[i].value : "");
    }
}

static const char *workers(const struct planning *p, uint64_t instances, const struct layout *l)
{
    return ll_format(p->args->arena, "%" PRIu64 " x tp=%" PRIu64 ",dp=%" PRIu64 ",ep=%" PRIu64, instances,
                     l->tp, l->dp, l->ep);
}

/* A deployment under a rate, or, with rate 0, the largest rate that holds the limits, which then is *rate_Hz.
 * False where it cannot serve, or holds them at no rate. */
static bool try_deployment(struct planning *p, const struct layout *l, const struct layout *decode,
                           uint64_t instances, uint64_t decodes, double rate_Hz, double *found_Hz,
                           struct found *f)
{
    struct ll_serving_options o;
    struct ll_arena arena = {0};
    struct ll_serving_setup setup = {.args = &o.args};
    const struct ll_serve_watch watch = {.stop = p->stop};
    const struct ll_serving *r = NULL;
    begin(&o, p->args);
    if (devices_of(decode) > 0) {
        ll_serving_give(&o, "prefill", workers(p, instances, l));
        ll_serving_give(&o, "decode", workers(p, decodes, decode));
    } else {
        ll_serving_give_count(&o, "tp", l->tp);
        ll_serving_give_count(&o, "dp", l->dp);
        ll_serving_give_count(&o, "ep", l->ep);
        ll_serving_give_count(&o, "instances", instances);
    }
    ll_serving_give(&o, "rate", ll_format(o.args.arena, "%.9g", rate_Hz > 0 ? rate_Hz : 1));
    ll_serving_give_count(&o, "num-prompts", PROMPTS * (rate_Hz > 0 ? ll_min(instances + decodes, 8) : 1));
    bool done = ll_serving_read(&setup);
    if (done && rate_Hz == 0)
        done = ll_serving_find_rate(&setup, p->percentile, &watch, found_Hz) && *found_Hz > 0;
    if (done)
        r = ll_serving_run(&setup, &watch, &arena);
    if (r) {
        const double share = p->percentile / 100, output = (double)r->output_tokens;
        f->ttft_s = ll_quantiles_at(r->ttft, share);
        f->tpot_s = ll_quantiles_at(r->tpot, share);
        f->per_device_Hz = output / r->duration_s / (double)r->devices;
        f->per_user_Hz = 1 / ll_quantiles_mean(r->tpot);
        f->devices = r->devices;
        const struct ll_serving_costs costs = ll_serving_costs_of(&setup, r, 0, 1);
        f->usd_per_m_input = costs.usd_per_m_input;
        f->usd_per_m_output = costs.usd_per_m_output;
    }
    ll_serving_release(&setup);
    ll_arena_release(&arena);
    return r != NULL;
}

static void keep(struct planning *p, const struct found *f)
{
    if (p->count < MOST_FOUND && f->devices <= p->most_devices)
        p->found[p->count++] = *f;
}

/* Ways to use up to so many devices. */
static size_t list_layouts(uint64_t most, bool has_experts, struct layout *layouts, size_t room)
{
    size_t count = 0;
    for (uint64_t devices = 1; devices <= most && count < room; devices *= 2) {
        layouts[count++] = (struct layout){devices, 1, has_experts ? devices : 1};
        if (has_experts && devices > 1 && count < room)
            layouts[count++] = (struct layout){1, devices, devices};
    }
    return count;
}

static void consider(struct planning *p, const struct layout *l, double *rate_Hz)
{
    static const struct layout none = {0};
    struct found f = {.layout = *l};
    p->considered++;
    ll_ticker_tell(&p->ticker, "plan", NAN, NAN, "tp %" PRIu64 " dp %" PRIu64, l->tp, l->dp);
    *rate_Hz = 0;
    if (!try_deployment(p, l, &none, 1, 0, 0, rate_Hz, &f))
        return;
    f.rate_Hz = *rate_Hz;
    f.replicas = ll_max(1, (uint64_t)ceil(p->rate_Hz / *rate_Hz));
    if (f.replicas * devices_of(l) <= p->most_devices &&
        try_deployment(p, l, &none, f.replicas, 0, p->rate_Hz, NULL, &f))
        keep(p, &f);
}

/* Prefill and decode apart: pools that are wide enough for the rate, grown until limits hold. */
static void consider_apart(struct planning *p, const struct layout *l, const struct layout *decode)
{
    enum { WIDE = 8 };
    struct found f = {.layout = *l, .decode = *decode};
    double of_prefill = 0, of_decode = 0;
    p->considered++;
    ll_ticker_tell(&p->ticker, "plan", NAN, NAN, "prefill tp %" PRIu64 ", decode tp %" PRIu64, l->tp,
                   decode->tp);
    if (!try_deployment(p, l, decode, 1, WIDE, 0, &of_prefill, &f) ||
        !try_deployment(p, l, decode, WIDE, 1, 0, &of_decode, &f))
        return;
    f.rate_Hz = fmin(of_prefill, of_decode);
    f.replicas = ll_max(1, (uint64_t)ceil(p->rate_Hz / of_prefill));
    f.decodes = ll_max(1, (uint64_t)ceil(p->rate_Hz / of_decode));
    if (f.replicas * devices_of(l) + f.decodes * devices_of(decode) <= p->most_devices &&
        try_deployment(p, l, decode, f.replicas, f.decodes, p->rate_Hz, NULL, &f))
        keep(p, &f);
}

static int by_devices(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->devices != y->devices)
        return x->devices < y->devices ? -1 : 1;
    return (x->tpot_s > y->tpot_s) - (x->tpot_s < y->tpot_s);
}

/* A deployment as its servers are started. */
static struct ll_deployed deployed_of(const struct planning *p, const struct found *f)
{
    const struct layout *l = &f->layout, *d = &f->decode;
    return (struct ll_deployed){.args = p->args,
                                .first = {f->replicas, l->tp, 1, l->dp, l->ep},
                                .decode = {devices_of(d) > 0 ? f->decodes : 0, d->tp, 1, d->dp, d->ep}};
}

static void add_json(const struct planning *p, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "plan_serve", 1);
    ll_json_put_count(&json, "considered", p->considered);
    ll_json_put_number(&json, "rate", p->rate_Hz);
    ll_json_key(&json, "plans");
    ll_json_open_list(&json);
    for (size_t i = 0; i < p->count; i++) {
        const struct found *f = &p->found[i];
        const bool apart = devices_of(&f->decode) > 0;
        ll_json_open_object(&json);
        ll_json_put_count(&json, "tp", f->layout.tp);
        ll_json_put_count(&json, "pp", 1);
        ll_json_put_count(&json, "dp", f->layout.dp);
        ll_json_put_count(&json, "cp", 1);
        ll_json_put_count(&json, "ep", f->layout.ep);
        ll_json_put_count(&json, "replicas", f->replicas);
        ll_json_put_text(&json, "prefill", apart ? workers(p, f->replicas, &f->layout) : NULL);
        ll_json_put_text(&json, "decode", apart ? workers(p, f->decodes, &f->decode) : NULL);
        ll_json_put_count(&json, "devices", f->devices);
        ll_json_put_number(&json, "rate_per_instance", f->rate_Hz);
        ll_json_put_number(&json, "tokens_per_s_per_device", f->per_device_Hz);
        ll_json_put_number(&json, "tokens_per_s_per_user", f->per_user_Hz);
        ll_json_put_number(&json, "ttft_s", f->ttft_s);
        ll_json_put_number(&json, "tpot_s", f->tpot_s);
        ll_json_put_number(&json, "usd_per_m_input_tokens", f->usd_per_m_input);
        ll_json_put_number(&json, "usd_per_m_output_tokens", f->usd_per_m_output);
        ll_json_put_bool(&json, "simulated", true);
        const struct ll_deployed deployed = deployed_of(p, f);
        struct ll_str graph = {0};
        ll_serving_dynamo(&deployed, &graph);
        ll_json_put_text(&json, "command", ll_serving_command(&deployed));
        ll_json_put_text(&json, "dynamo", graph.failed ? NULL : graph.text);
        ll_str_release(&graph);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

/* "2 x tp 4", with its other degrees where they are not 1. */
static const char *words_of(const struct planning *p, uint64_t instances, const struct layout *l)
{
    return l->dp > 1 ? ll_format(p->args->arena, "%" PRIu64 " x dp %" PRIu64 " ep %" PRIu64, instances, l->dp,
                                 l->ep)
           : l->ep > 1 ? ll_format(p->args->arena, "%" PRIu64 " x tp %" PRIu64 " ep %" PRIu64, instances,
                                   l->tp, l->ep)
                       : ll_format(p->args->arena, "%" PRIu64 " x tp %" PRIu64, instances, l->tp);
}

static void add_text(const struct planning *p, struct ll_str *out)
{
    struct ll_human a, b, c, d, e;
    struct ll_table *table =
        ll_table_new("  deployment|>devices|>TTFT|>TPOT|>tokens/s/device|>/user|>$/M made");
    ll_str_addf(out, "%s requests/s of %s on %s, limits at p%g: %zu deployment%s considered\n\n",
                ll_format_count(&a, p->rate_Hz, ""), ll_value(p->args, "model", ""),
                ll_value(p->args, "machine", ""), p->percentile, p->considered, ll_plural(p->considered));
    for (size_t i = 0; i < p->count; i++) {
        const struct found *f = &p->found[i];
        const bool apart = devices_of(&f->decode) > 0;
        const char *own = words_of(p, f->replicas, &f->layout);
        const char *words =
            apart ? ll_format(p->args->arena, "%s + %s", own, words_of(p, f->decodes, &f->decode)) : own;
        ll_table_row(table, "  %s|%" PRIu64 "|%s|%s|%s|%s|%s", words ? words : "", f->devices,
                     ll_format_si(&a, f->ttft_s, "s"), ll_format_si(&b, f->tpot_s, "s"),
                     ll_format_count(&c, f->per_device_Hz, ""), ll_format_count(&d, f->per_user_Hz, ""),
                     isfinite(f->usd_per_m_output) ? ll_format_count(&e, f->usd_per_m_output, "") : "");
    }
    if (p->count > 0) {
        ll_table_print(table, ll_screen_width(), out);
        const struct ll_deployed first = deployed_of(p, &p->found[0]);
        ll_str_addf(out, "\n  A + B: prefill and decode apart. A server of the first:\n");
        for (const char *at = ll_serving_command(&first); at && *at;) {
            int length = (int)strcspn(at, "\n");
            ll_str_addf(out, "  %.*s\n", length, at);
            at += length + (at[length] == '\n');
        }
    } else {
        ll_str_addf(out, "no deployment of at most %" PRIu64 " devices holds the limits at this rate\n",
                    p->most_devices);
    }
    ll_table_free(table);
}

int ll_plan_serving(const struct ll_args *args)
{
    struct planning p = {.args = args, .stop = ll_catch_interrupts(), .ticker = ll_ticker_new(true)};
    const char *rate = ll_value(args, "rate", NULL), *percentile = ll_value(args, "percentile", "90");
    struct layout layouts[16];
    double rates[16] = {0};
    if (!rate || !ll_value(args, "model", NULL) || !ll_value(args, "machine", NULL))
        return ll_cli_reject("plan --serve: expected -c MACHINE, --model MODEL and --rate R");
    p.rate_Hz = ll_strtod(rate, NULL);
    p.percentile = ll_strtod(percentile, NULL);
    if (!(p.rate_Hz > 0) || !(p.percentile >= 0 && p.percentile <= 100))
        return ll_cli_reject("--rate and --percentile: expected numbers above 0, and from 0 to 100");
    static const char *const of_training[] = {"html",       "batch",      "batch-was", "simulate", "as",
                                              "gemm-dtype", "weights-as", "prune",     "gaps",     NULL};
    if (!ll_value_count(args, "devices", 1, 1 << 16, 256, &p.most_devices) ||
        !ll_without(args, of_training, "is of plans of a trace; expected no --serve with it"))
        return LL_WRONG;
    const char *config = ll_served_config(ll_value(args, "model", ""));
    if (!config)
        return ll_cli_reject(
            "--model %s: no configuration of this name comes along; expected a model's config.json",
            ll_value(args, "model", ""));
    enum { MOST_TOGETHER = 8 };
    size_t count =
        list_layouts(ll_min(MOST_TOGETHER, p.most_devices), ll_served_has_experts(config), layouts, 16);
    ll_cli_hush(true);
    for (size_t i = 0; i < count && !*p.stop; i++)
        consider(&p, &layouts[i], &rates[i]);
    /* Apart: by the ways that serve most a device by themselves, and those that are fastest. */
    for (size_t i = 0;
         i < count && !*p.stop && (ll_value(args, "ttft", NULL) || ll_value(args, "tpot", NULL)); i++)
        for (size_t j = 0; j < count && !*p.stop; j++)
            if (layouts[i].dp == 1 && layouts[j].dp == 1 && layouts[i].tp <= layouts[j].tp)
                consider_apart(&p, &layouts[i], &layouts[j]);
    ll_cli_hush(false);
    ll_ticker_clear(&p.ticker);
    if (*p.stop)
        return LL_INTERRUPTED;
    qsort(p.found, p.count, sizeof *p.found, by_devices);
    struct ll_str out = {0}, graph = {0};
    const char *dynamo = ll_value(args, "dynamo", NULL);
    const struct ll_deployed first = deployed_of(&p, &p.found[0]);
    (ll_flag(args, "json") ? add_json : add_text)(&p, &out);
    if (dynamo && p.count == 0) {
        ll_str_release(&out);
        return ll_cli_reject("--dynamo %s: no deployment holds the limits, so there is none to write",
                             dynamo);
    }
    if (dynamo) {
        ll_serving_dynamo(&first, &graph);
        if (!ll_write_file(dynamo, &graph)) {
            ll_str_release(&out);
            return LL_FAILED;
        }
    }
    return ll_print(&out);
}
