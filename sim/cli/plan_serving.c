/* SPDX-License-Identifier: Apache-2.0 */
/* leadline plan --serve: which deployment serves a model at a rate within limits, with the fewest devices.
 *
 * Considered are instances of 1, 2, 4, ... devices that share GEMMs, follow one another as stages of a
 * pipeline, or both; for models with experts also such whose attention works on requests of their own, with
 * experts spread over them; and prefill and decode apart, each in any of these ways. Each is first judged in
 * closed form (sim/serve/steady.h). The best of them are simulated: the largest rate of one instance, from it
 * how many are needed, then these under the rate that is asked for. */
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
#include "sim/serve/steady.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"

/* Of those that are simulated, so many are the ones with the fewest devices, some of these without prefill
 * and decode apart; the others are from the front of fewest devices over fastest tokens. */
enum {
    MOST_TOGETHER = 16,
    MOST_TENSOR = 8,
    MOST_STAGES = 4,
    MOST_LAYOUTS = 32,
    MOST_SIMULATED = 12,
    FEWEST = 6,
    FEWEST_WHOLE = 3
};
enum { PROMPTS = 400 };

/* How the devices of an instance are used. */
struct layout {
    uint64_t tp, pp, dp, ep;
};

static uint64_t devices_of(const struct layout *l)
{
    return l->tp * l->pp * l->dp;
}

/* A way to use devices, and what it does in closed form in each role. */
struct judged {
    struct layout layout;
    struct ll_steady_state of[LL_SERVING_POOLS]; /* by enum ll_steady_role; all 0: it cannot serve */
    const char *why;                             /* it serves nothing as a whole; NULL: it does */
};

struct found {
    struct layout layout,
        decode;                 /* decode: of the instances that make tokens; of no devices: none are apart */
    uint64_t replicas, decodes; /* instances; of those for decoding */
    uint64_t devices;
    double rate_Hz;               /* the largest of one instance (of the slower pool, where two are) */
    double prefill_Hz, decode_Hz; /* in closed form: of an instance for prompts, or whole; for decoding */
    double ttft_s, tpot_s;        /* at the percentile, at the rate that is asked for */
    double per_device_Hz, per_user_Hz; /* tokens made a second */
    double usd_per_m_input, usd_per_m_output;
    unsigned front; /* while choosing: how many fronts lie before its own */
};

struct planning {
    const struct ll_args *args;
    double rate_Hz, percentile;
    uint64_t most_devices;
    struct judged judged[MOST_LAYOUTS];
    size_t judged_count;
    struct found *possible; /* in closed form; room for MOST_LAYOUTS (MOST_LAYOUTS + 1) */
    size_t possible_count, considered;
    struct found found[MOST_SIMULATED];
    size_t count, simulated;
    const char *why; /* none of the simulated ones holds the limits: of the first; NULL: nothing is known */
    struct ll_serving_shared shared;
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
    return ll_format(p->args->arena, "%" PRIu64 " x tp=%" PRIu64 ",pp=%" PRIu64 ",dp=%" PRIu64 ",ep=%" PRIu64,
                     instances, l->tp, l->pp, l->dp, l->ep);
}

/* Gives the options of a deployment; decode of no devices: nothing is apart. */
static void give_deployment(const struct planning *p, struct ll_serving_options *o, const struct layout *l,
                            const struct layout *decode, uint64_t instances, uint64_t decodes)
{
    begin(o, p->args);
    if (devices_of(decode) > 0) {
        ll_serving_give(o, "prefill", workers(p, instances, l));
        ll_serving_give(o, "decode", workers(p, decodes, decode));
    } else {
        ll_serving_give_count(o, "tp", l->tp);
        ll_serving_give_count(o, "pp", l->pp);
        ll_serving_give_count(o, "dp", l->dp);
        ll_serving_give_count(o, "ep", l->ep);
        ll_serving_give_count(o, "instances", instances);
    }
}

static const char *kept_reason(const struct planning *p)
{
    const char *why = ll_cli_hushed();
    return *why ? ll_copy_text(p->args->arena, why, strlen(why)) : "it holds the limits at no rate";
}

/* --- in closed form --- */

/* Why an instance serves nothing, by what it does with one sequence at a time. In the arena of args. */
static const char *missed_limit(const struct planning *p, const struct ll_serving_setup *setup,
                                const struct ll_steady_state *one)
{
    struct ll_human is, wanted;
    struct ll_arena *arena = p->args->arena;
    const bool late = one->ttft_s > setup->limits.ttft_s, slow = one->tpot_s > setup->limits.tpot_s;
    if (one->ttft_s == 0)
        return ll_format(arena,
                         "the KV cache, %" PRIu64 " tokens a rank, holds no request, or a step no prompt",
                         setup->deployment.whole.kv_tokens);
    return !late && !slow
               ? ll_format(arena, "a request alone takes longer than --e2e %s", ll_value(p->args, "e2e", ""))
               : ll_format(arena, "a request alone has a %s of %s, above %s", late ? "TTFT" : "TPOT",
                           ll_format_si(&is, late ? one->ttft_s : one->tpot_s, "s"),
                           ll_format_si(&wanted, late ? setup->limits.ttft_s : setup->limits.tpot_s, "s"));
}

/* A layout by itself, as a whole or in both roles of prefill and decode apart. */
static void judge(struct planning *p, struct judged *j, bool apart)
{
    static const struct layout none = {0};
    struct ll_serving_options o;
    struct ll_arena arena = {0};
    struct ll_serving_setup setup = {.args = &o.args, .shared = &p->shared};
    ll_cli_hush(true);
    give_deployment(p, &o, &j->layout, apart ? &j->layout : &none, 1, 1);
    ll_serving_give(&o, "rate", "1");
    const bool read = ll_serving_read(&setup);
    for (int role = 0; role < LL_SERVING_POOLS && read; role++)
        if (setup.groups[role].pool && !ll_serve_steady(setup.groups[role].pool, &setup.load, &setup.limits,
                                                        (enum ll_steady_role)role, &arena, &j->of[role]))
            j->of[role] = (struct ll_steady_state){0};
    ll_print_diags(&setup.diags);
    if (!apart && !(j->of[LL_STEADY_WHOLE].rate_Hz > 0))
        j->why = *ll_cli_hushed() ? kept_reason(p) : missed_limit(p, &setup, &j->of[LL_STEADY_WHOLE]);
    ll_serving_release(&setup);
    ll_arena_release(&arena);
}

/* Instances that a rate takes; far too many where one serves nearly nothing. */
static uint64_t instances_for(double all_Hz, double one_Hz)
{
    return (uint64_t)fmax(1, fmin(1 << 16, ceil(all_Hz / one_Hz)));
}

static void add_possible(struct planning *p, const struct judged *first, const struct judged *decode)
{
    const struct ll_steady_state *a = &first->of[decode ? LL_STEADY_PREFILL : LL_STEADY_WHOLE],
                                 *b = decode ? &decode->of[LL_STEADY_DECODE] : a;
    if (!(a->rate_Hz > 0) || !(b->rate_Hz > 0))
        return;
    struct found *f = &p->possible[p->possible_count++];
    *f = (struct found){.layout = first->layout,
                        .replicas = instances_for(p->rate_Hz, a->rate_Hz),
                        .prefill_Hz = a->rate_Hz,
                        .decode_Hz = b->rate_Hz,
                        .tpot_s = b->tpot_s};
    f->devices = f->replicas * devices_of(&f->layout);
    if (decode) {
        f->decode = decode->layout;
        f->decodes = instances_for(p->rate_Hz, b->rate_Hz);
        f->devices += f->decodes * devices_of(&f->decode);
    }
}

/* Ways to use up to so many devices, of a model of so many layers. */
static void list_layouts(struct planning *p, uint64_t most, uint64_t layers, bool has_experts)
{
    for (uint64_t devices = 1; devices <= most; devices *= 2)
        for (uint64_t tp = 1; tp <= ll_min(devices, MOST_TENSOR); tp *= 2)
            for (uint64_t pp = 1; pp <= ll_min(ll_min(devices / tp, MOST_STAGES), layers); pp *= 2) {
                const uint64_t dp = devices / tp / pp;
                const bool fits = dp == 1 || (has_experts && pp == 1);
                assert(p->judged_count < MOST_LAYOUTS);
                if (fits)
                    p->judged[p->judged_count++].layout =
                        (struct layout){tp, pp, dp, has_experts ? tp * dp : 1};
            }
}

/* --- which of them are simulated --- */

static int by_devices(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->devices != y->devices)
        return x->devices < y->devices ? -1 : 1;
    return (x->tpot_s > y->tpot_s) - (x->tpot_s < y->tpot_s);
}

/* Numbers the fronts of fewest devices over fastest tokens; they are in order of devices. */
static void number_fronts(struct planning *p)
{
    for (size_t i = 0; i < p->possible_count; i++) {
        struct found *f = &p->possible[i];
        for (size_t j = 0; j < i; j++) /* those before it have no more devices */
            if (p->possible[j].tpot_s <= f->tpot_s && p->possible[j].front >= f->front)
                f->front = p->possible[j].front + 1;
    }
}

/* Moves the i-th of the possible ones behind those that are chosen. */
static void take(struct planning *p, size_t i, size_t *chosen)
{
    const struct found f = p->possible[i];
    memmove(p->possible + *chosen + 1, p->possible + *chosen, (i - *chosen) * sizeof f);
    p->possible[(*chosen)++] = f;
}

/* Puts those that are to be simulated first; how many. Simulation may find that fewer instances do: up to
 * twice the devices that there are may be asked for. */
static size_t choose(struct planning *p)
{
    size_t count = 0, chosen = 0;
    qsort(p->possible, p->possible_count, sizeof *p->possible, by_devices);
    while (count < p->possible_count && p->possible[count].devices <= 2 * p->most_devices)
        count++;
    number_fronts(p);
    for (size_t i = 0; i < count && chosen < FEWEST_WHOLE; i++)
        if (devices_of(&p->possible[i].decode) == 0)
            take(p, i, &chosen);
    for (size_t i = chosen; i < count && chosen < FEWEST; i++)
        take(p, i, &chosen);
    for (unsigned front = 0; front < MOST_SIMULATED; front++)
        for (size_t i = chosen; i < count && chosen < MOST_SIMULATED; i++)
            if (p->possible[i].front == front)
                take(p, i, &chosen);
    return chosen;
}

/* --- by simulation --- */

/* A deployment under a rate, or, with rate 0, the largest rate that holds the limits, looked for from
 * *found_Hz on. False where it cannot serve, or holds them at no rate. */
static bool try_deployment(struct planning *p, struct found *f, uint64_t instances, uint64_t decodes,
                           double rate_Hz, double *found_Hz)
{
    struct ll_serving_options o;
    struct ll_arena arena = {0};
    struct ll_serving_setup setup = {.args = &o.args, .shared = &p->shared};
    const struct ll_serve_watch watch = {.stop = p->stop};
    const struct ll_serving *r = NULL;
    give_deployment(p, &o, &f->layout, &f->decode, instances, decodes);
    ll_serving_give(&o, "rate", ll_format(o.args.arena, "%.9g", rate_Hz > 0 ? rate_Hz : *found_Hz));
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
    ll_print_diags(&setup.diags);
    ll_serving_release(&setup);
    ll_arena_release(&arena);
    return r != NULL;
}

/* The largest rates of one instance, and how many of them are needed: where prefill and decode are apart, of
 * each beside a pool of the other that is wide enough. */
static bool find_instances(struct planning *p, struct found *f)
{
    enum { WIDE = 8 };
    const bool apart = devices_of(&f->decode) > 0;
    double first_Hz = f->prefill_Hz, decode_Hz = f->decode_Hz;
    if (!try_deployment(p, f, 1, apart ? WIDE : 0, 0, &first_Hz) ||
        (apart && !try_deployment(p, f, WIDE, 1, 0, &decode_Hz)))
        return false;
    f->rate_Hz = apart ? fmin(first_Hz, decode_Hz) : first_Hz;
    f->replicas = instances_for(p->rate_Hz, first_Hz);
    f->decodes = apart ? instances_for(p->rate_Hz, decode_Hz) : 0;
    f->devices = f->replicas * devices_of(&f->layout) + f->decodes * devices_of(&f->decode);
    return true;
}

static void simulate(struct planning *p, struct found f)
{
    ll_ticker_tell(&p->ticker, "plan", NAN, NAN, "tp %" PRIu64 " pp %" PRIu64 " dp %" PRIu64, f.layout.tp,
                   f.layout.pp, f.layout.dp);
    p->simulated++;
    ll_cli_hush(true);
    if (!find_instances(p, &f))
        p->why = p->why ? p->why : kept_reason(p);
    else if (f.devices <= p->most_devices && try_deployment(p, &f, f.replicas, f.decodes, p->rate_Hz, NULL))
        p->found[p->count++] = f;
}

/* --- what is printed --- */

/* A deployment as its servers are started. */
static struct ll_deployed deployed_of(const struct planning *p, const struct found *f)
{
    const struct layout *l = &f->layout, *d = &f->decode;
    return (struct ll_deployed){.args = p->args,
                                .first = {f->replicas, l->tp, l->pp, l->dp, l->ep},
                                .decode = {devices_of(d) > 0 ? f->decodes : 0, d->tp, d->pp, d->dp, d->ep}};
}

/* Whether it is on the Pareto front of tokens a second and device over tokens a second and user. */
static bool is_on_front(const struct planning *p, const struct found *f)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct found *g = &p->found[i];
        if (g->per_device_Hz >= f->per_device_Hz && g->per_user_Hz >= f->per_user_Hz &&
            (g->per_device_Hz > f->per_device_Hz || g->per_user_Hz > f->per_user_Hz))
            return false;
    }
    return true;
}

static void add_json(const struct planning *p, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "plan_serve", 1);
    ll_json_put_count(&json, "considered", p->considered);
    ll_json_put_count(&json, "simulated", p->simulated);
    ll_json_put_number(&json, "rate", p->rate_Hz);
    ll_json_key(&json, "plans");
    ll_json_open_list(&json);
    for (size_t i = 0; i < p->count; i++) {
        const struct found *f = &p->found[i];
        const bool apart = devices_of(&f->decode) > 0;
        ll_json_open_object(&json);
        ll_json_put_count(&json, "tp", f->layout.tp);
        ll_json_put_count(&json, "pp", f->layout.pp);
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
        ll_json_put_bool(&json, "on_front", is_on_front(p, f));
        const struct ll_deployed deployed = deployed_of(p, f);
        struct ll_str graph = {0};
        ll_serving_dynamo(&deployed, &graph);
        ll_json_put_text(&json, "command", ll_serving_command(&deployed));
        ll_json_put_text(&json, "dynamo", graph.failed ? NULL : graph.text);
        ll_str_release(&graph);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_key(&json, "refused");
    ll_json_open_list(&json);
    for (size_t i = 0; i < p->judged_count; i++) {
        const struct judged *j = &p->judged[i];
        if (!j->why)
            continue;
        ll_json_open_object(&json);
        ll_json_put_count(&json, "tp", j->layout.tp);
        ll_json_put_count(&json, "pp", j->layout.pp);
        ll_json_put_count(&json, "dp", j->layout.dp);
        ll_json_put_count(&json, "ep", j->layout.ep);
        ll_json_put_text(&json, "reason", j->why);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

/* "2x tp4 pp2": degrees where they are not 1, but for experts that are spread over all that share layers. */
static const char *words_of(const struct planning *p, uint64_t instances, const struct layout *l)
{
    struct ll_arena *arena = p->args->arena;
    const char *words = ll_format(arena, "%" PRIu64 "x", instances);
    const struct {
        const char *name;
        uint64_t degree;
    } all[] = {{"tp", l->tp}, {"pp", l->pp}, {"dp", l->dp}};
    for (size_t i = 0; i < sizeof all / sizeof *all && words; i++)
        if (all[i].degree > 1 || (i == 0 && devices_of(l) == 1))
            words = ll_format(arena, "%s %s%" PRIu64, words, all[i].name, all[i].degree);
    return words ? words : "";
}

static void add_text(const struct planning *p, struct ll_str *out)
{
    struct ll_human a, b, c, d, e;
    struct ll_table *table =
        ll_table_new("  deployment|>devices|>TTFT|>TPOT|>tokens/s/device|>/user|>$/M made");
    ll_str_addf(out,
                "%s requests/s of %s on %s, limits at p%g: %zu deployment%s considered in closed form, %zu "
                "simulated\n\n",
                ll_format_count(&a, p->rate_Hz, ""), ll_value(p->args, "model", ""),
                ll_value(p->args, "machine", ""), p->percentile, p->considered, ll_plural(p->considered),
                p->simulated);
    for (size_t i = 0; i < p->count; i++) {
        const struct found *f = &p->found[i];
        const bool apart = devices_of(&f->decode) > 0;
        const char *own = words_of(p, f->replicas, &f->layout);
        const char *words =
            apart ? ll_format(p->args->arena, "%s + %s", own, words_of(p, f->decodes, &f->decode)) : own;
        ll_table_row(table, "  %s%s|%" PRIu64 "|%s|%s|%s|%s|%s", words ? words : "",
                     is_on_front(p, f) ? " *" : "", f->devices, ll_format_si(&a, f->ttft_s, "s"),
                     ll_format_si(&b, f->tpot_s, "s"), ll_format_count(&c, f->per_device_Hz, ""),
                     ll_format_count(&d, f->per_user_Hz, ""),
                     isfinite(f->usd_per_m_output) ? ll_format_count(&e, f->usd_per_m_output, "") : "");
    }
    if (p->count > 0) {
        ll_table_print(table, ll_screen_width(), out);
        const struct ll_deployed first = deployed_of(p, &p->found[0]);
        ll_str_addf(
            out,
            "\n  A + B: prefill and decode apart. *: on the front of tokens/s/device over tokens/s/user.\n  "
            "A server of the first:\n");
        for (const char *at = ll_serving_command(&first); at && *at;) {
            int length = (int)strcspn(at, "\n");
            ll_str_addf(out, "  %.*s\n", length, at);
            at += length + (at[length] == '\n');
        }
    } else {
        ll_str_addf(out, "no deployment of at most %" PRIu64 " devices holds the limits at this rate\n",
                    p->most_devices);
        for (size_t i = 0; i < p->judged_count; i++)
            if (p->judged[i].why)
                ll_str_addf(out, "  %s: %s\n", words_of(p, 1, &p->judged[i].layout), p->judged[i].why);
        if (p->why)
            ll_str_addf(out, "  of those simulated: %s\n", p->why);
    }
    ll_table_free(table);
}

/* All layouts in closed form, and deployments of them. */
static void consider_all(struct planning *p, bool apart)
{
    for (size_t i = 0; i < p->judged_count && !*p->stop; i++) {
        ll_ticker_tell(&p->ticker, "plan", NAN, NAN, "%zu of %zu layouts", i + 1, p->judged_count);
        judge(p, &p->judged[i], false);
        add_possible(p, &p->judged[i], NULL);
        if (apart)
            judge(p, &p->judged[i], true);
    }
    p->considered = p->judged_count + (apart ? p->judged_count * p->judged_count : 0);
    for (size_t i = 0; apart && i < p->judged_count; i++)
        for (size_t j = 0; j < p->judged_count; j++)
            add_possible(p, &p->judged[i], &p->judged[j]);
}

/* What is asked for. False after saying what is wrong. */
static bool read_question(struct planning *p, const char **config)
{
    static const char *const of_training[] = {"html",       "batch",      "batch-was", "simulate", "as",
                                              "gemm-dtype", "weights-as", "prune",     "gaps",     NULL};
    const struct ll_args *args = p->args;
    const char *rate = ll_value(args, "rate", NULL), *percentile = ll_value(args, "percentile", "90"),
               *model = ll_value(args, "model", NULL);
    if (!rate || !model || !ll_value(args, "machine", NULL)) {
        ll_cli_reject("plan --serve: expected -c MACHINE, --model MODEL and --rate R");
        return false;
    }
    p->rate_Hz = ll_strtod(rate, NULL);
    p->percentile = ll_strtod(percentile, NULL);
    if (!(p->rate_Hz > 0) || !(p->percentile >= 0 && p->percentile <= 100)) {
        ll_cli_reject("--rate and --percentile: expected numbers above 0, and from 0 to 100");
        return false;
    }
    if (!ll_value_count(args, "devices", 1, 1 << 16, 256, &p->most_devices) ||
        !ll_without(args, of_training, "is of plans of a trace; expected no --serve with it"))
        return false;
    if (!(*config = ll_served_config(model)))
        ll_cli_reject("--model %s: no configuration of this name comes along; expected a model's config.json",
                      model);
    return *config;
}

/* Prints what was found, and writes the graph that is asked for; an exit status. */
static int show(const struct planning *p)
{
    struct ll_str out = {0}, graph = {0};
    const char *dynamo = ll_value(p->args, "dynamo", NULL);
    (ll_flag(p->args, "json") ? add_json : add_text)(p, &out);
    if (dynamo && p->count == 0) {
        ll_str_release(&out);
        return ll_cli_reject("--dynamo %s: no deployment holds the limits, so there is none to write",
                             dynamo);
    }
    if (dynamo) {
        const struct ll_deployed first = deployed_of(p, &p->found[0]);
        ll_serving_dynamo(&first, &graph);
        if (!ll_write_file(dynamo, &graph)) {
            ll_str_release(&out);
            return LL_FAILED;
        }
    }
    return ll_print(&out);
}

int ll_plan_serving(const struct ll_args *args)
{
    struct planning p = {.args = args, .stop = ll_catch_interrupts(), .ticker = ll_ticker_new(true)};
    const char *config;
    if (!read_question(&p, &config))
        return LL_WRONG;
    if (!(p.possible = ll_alloc(args->arena, MOST_LAYOUTS * (MOST_LAYOUTS + 1), sizeof *p.possible)))
        return ll_cli_fail("memory ran out");
    list_layouts(&p, ll_min(MOST_TOGETHER, p.most_devices), ll_served_layers(config),
                 ll_served_has_experts(config));
    consider_all(&p, ll_value(args, "ttft", NULL) || ll_value(args, "tpot", NULL));
    const size_t chosen = choose(&p);
    for (size_t i = 0; i < chosen && !*p.stop; i++)
        simulate(&p, p.possible[i]);
    ll_cli_hush(false);
    ll_ticker_clear(&p.ticker);
    ll_serving_shared_release(&p.shared);
    if (*p.stop)
        return LL_INTERRUPTED;
    qsort(p.found, p.count, sizeof *p.found, by_devices);
    return show(&p);
}
