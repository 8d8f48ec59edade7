/* SPDX-License-Identifier: Apache-2.0 */
/* leadline plan --serve: which deployment serves a model at a rate within limits, with the fewest devices, or
 * where there are several machines with prices, for the least money.
 *
 * Considered are, on each machine with each format of weights, instances of 1, 2, 4, ... devices that share
 * GEMMs, follow one another as stages of a pipeline, or both; for models with experts also such whose
 * attention works on requests of their own, with experts spread over them; each with several budgets of
 * tokens a step; and prefill and decode apart, each in any of these ways. Layouts that cannot hold a limit
 * on any kernels go first: a device computes no faster than its peak, and reads weights no faster than its
 * memory gives them. Each of the others is judged in closed form (sim/serve/steady.h). The best of them are
 * simulated: the largest rate of one instance, from it how many are needed, then these under the rate that is
 * asked for.
 *
 * How many sequences a step has at most matters only in simulation: in closed form as many decode as the
 * limits allow. There, fewer than the server's default are tried where TPOT has a limit. */
#include "sim/cli/plan_serving.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/load.h"
#include "sim/cli/serving_output.h"
#include "sim/report/table.h"
#include "sim/serve/steady.h"
#include "tracer/base/num.h"

/* Of those that are simulated, some are the ones with the least expense, of these some without prefill and
 * decode apart, one of them of each variant; the others are from the front of least expense over fastest
 * tokens. */
enum {
    MOST_TOGETHER = 16,
    MOST_TENSOR = 8,
    MOST_STAGES = 4,
    MOST_LAYOUTS = 32,
    MOST_BUDGETS = 4,
    MOST_MACHINES = 8,
    MOST_VARIANTS = MOST_MACHINES * LL_MOST_SERVED_FORMATS,
    MOST_SIMULATED = 12,
    FEWEST = 6,
    FEWEST_WHOLE = 3
};
enum { PROMPTS = 400 };

/* A layout and what it does in closed form. */
struct judged {
    struct ll_plan_judged it;
    struct ll_steady_state of[LL_SERVING_POOLS]; /* by enum ll_steady_role; all 0: it cannot serve */
    const struct judged
        *usual; /* the same layout with the server's budget of tokens, or the one that was given */
};

struct planning {
    struct ll_plan_served shown;
    const char *config;
    struct ll_plan_variant variants[MOST_VARIANTS];
    struct judged *judged;
    size_t judged_count;
    struct ll_plan_found *possible; /* in closed form */
    size_t possible_count;
    struct ll_plan_found found[MOST_SIMULATED + MOST_VARIANTS];
    struct ll_serve_limits limits;
    double input, prefix, output; /* tokens of a request in the mean, of which prompts begin alike */
    struct ll_serving_shared shared;
    const volatile sig_atomic_t *stop;
    struct ll_ticker ticker;
};

/* Without a limit a queue may grow for ever. Then a deployment serves a rate where requests wait no longer
 * than this for their first token, the delay by which Vidur (Agrawal et al., MLSys 2024, section 6) tells
 * that it keeps up. */
static const char keeps_up_ttft[] = "5s";

static bool has_limit(const struct ll_args *args)
{
    return ll_value(args, "ttft", NULL) || ll_value(args, "tpot", NULL) || ll_value(args, "e2e", NULL);
}

/* Options of `leadline serve`: those that were given, but for what a plan decides. */
static void begin(struct ll_serving_options *o, const struct ll_args *args)
{
    static const char *const own[] = {"machine", "rate", "percentile", "quantization", "json", NULL};
    ll_serving_begin(o, args->arena);
    if (!has_limit(args))
        ll_serving_give(o, "ttft", keeps_up_ttft);
    for (size_t i = 0; i < args->given_count; i++) {
        bool is_own = false;
        for (const char *const *name = own; *name; name++)
            is_own |= strcmp(*name, args->given[i].option->name) == 0;
        if (!is_own)
            ll_serving_give(o, args->given[i].option->name, args->given[i].value ? args->given[i].value : "");
    }
}

const char *ll_plan_workers(const struct ll_args *args, uint64_t instances, const struct ll_plan_layout *l)
{
    const char *text =
        ll_format(args->arena, "%" PRIu64 " x tp=%" PRIu64 ",pp=%" PRIu64 ",dp=%" PRIu64 ",ep=%" PRIu64,
                  instances, l->tp, l->pp, l->dp, l->ep);
    if (text && l->sequences > 0)
        text = ll_format(args->arena, "%s,seqs=%" PRIu64, text, l->sequences);
    if (text && l->tokens > 0)
        text = ll_format(args->arena, "%s,tokens=%" PRIu64, text, l->tokens);
    return text;
}

/* Gives the options of a deployment; decode of no devices: nothing is apart. */
static void give_deployment(const struct planning *p, struct ll_serving_options *o,
                            const struct ll_plan_variant *variant, const struct ll_plan_layout *l,
                            const struct ll_plan_layout *decode, uint64_t instances, uint64_t decodes)
{
    const struct ll_args *args = p->shown.args;
    begin(o, args);
    ll_serving_give(o, "machine", variant->machine);
    ll_serving_give(o, "quantization", variant->format);
    if (ll_plan_devices(decode) > 0) {
        ll_serving_give(o, "prefill", ll_plan_workers(args, instances, l));
        ll_serving_give(o, "decode", ll_plan_workers(args, decodes, decode));
        return;
    }
    ll_serving_give_count(o, "tp", l->tp);
    ll_serving_give_count(o, "pp", l->pp);
    ll_serving_give_count(o, "dp", l->dp);
    ll_serving_give_count(o, "ep", l->ep);
    ll_serving_give_count(o, "instances", instances);
    if (l->sequences > 0)
        ll_serving_give_count(o, "max-num-seqs", l->sequences);
    if (l->tokens > 0)
        ll_serving_give_count(o, "max-num-batched-tokens", l->tokens);
}

static const char *kept_reason(const struct planning *p)
{
    const char *why = ll_cli_hushed();
    return *why ? ll_copy_text(p->shown.args->arena, why, strlen(why)) : "it holds the limits at no rate";
}

/* --- what no kernels can hold --- */

/* Why a layout cannot hold the limits, or the weights, whatever its kernels; NULL: it may. In the arena of
 * args. */
static const char *beyond_limits(const struct planning *p, const struct ll_plan_variant *v,
                                 const struct ll_plan_layout *l)
{
    struct ll_human is, wanted;
    struct ll_arena *arena = p->shown.args->arena;
    const struct ll_served_floor *least = &v->least;
    const double devices = (double)ll_plan_devices(l), sharing = (double)(l->tp * l->dp),
                 read_bytes = fmax(0, least->read_bytes - devices * least->kept_bytes),
                 tpot_s = p->output > 1 ? fmax(least->token_s, read_bytes / least->read_Bps) / sharing : 0,
                 ttft_s = (p->input - p->prefix) * least->prompt_token_s / devices;
    if (tpot_s > p->limits.tpot_s)
        return ll_format(arena, "a token takes %s at the least, above a TPOT of %s",
                         ll_format_si(&is, tpot_s, "s"), ll_format_si(&wanted, p->limits.tpot_s, "s"));
    if (ttft_s > p->limits.ttft_s)
        return ll_format(arena, "a prompt takes %s at the least, above a TTFT of %s",
                         ll_format_si(&is, ttft_s, "s"), ll_format_si(&wanted, p->limits.ttft_s, "s"));
    if (ttft_s + (p->output - 1) * tpot_s > p->limits.e2e_s)
        return ll_format(arena, "a request takes %s at the least, above --e2e %s",
                         ll_format_si(&is, ttft_s + (p->output - 1) * tpot_s, "s"),
                         ll_format_si(&wanted, p->limits.e2e_s, "s"));
    return NULL;
}

/* --- in closed form --- */

/* Why an instance serves nothing, by what it does with one sequence at a time. In the arena of args. */
static const char *missed_limit(const struct planning *p, const struct ll_serving_setup *setup,
                                const struct ll_steady_state *one)
{
    struct ll_human is, wanted;
    struct ll_arena *arena = p->shown.args->arena;
    const bool late = one->ttft_s > setup->limits.ttft_s, slow = one->tpot_s > setup->limits.tpot_s;
    if (one->ttft_s == 0)
        return ll_format(arena,
                         "the KV cache, %" PRIu64 " tokens a rank, holds no request, or a step no prompt",
                         setup->deployment.whole.kv_tokens);
    return !late && !slow
               ? ll_format(arena, "a request alone takes longer than --e2e %s",
                           ll_value(p->shown.args, "e2e", ""))
               : ll_format(arena, "a request alone has a %s of %s, above %s", late ? "TTFT" : "TPOT",
                           ll_format_si(&is, late ? one->ttft_s : one->tpot_s, "s"),
                           ll_format_si(&wanted, late ? setup->limits.ttft_s : setup->limits.tpot_s, "s"));
}

/* A layout by itself, as a whole or in both roles of prefill and decode apart. */
static void judge(struct planning *p, struct judged *j, bool apart)
{
    static const struct ll_plan_layout none = {0};
    struct ll_serving_options o;
    struct ll_arena arena = {0};
    struct ll_serving_setup setup = {.args = &o.args, .shared = &p->shared};
    ll_cli_hush(true);
    give_deployment(p, &o, j->it.variant, &j->it.layout, apart ? &j->it.layout : &none, 1, 1);
    ll_serving_give(&o, "rate", "1");
    const bool read = ll_serving_read(&setup);
    for (int role = 0; role < LL_SERVING_POOLS && read; role++)
        if (setup.groups[role].pool && !ll_serve_steady(setup.groups[role].pool, &setup.load, &setup.limits,
                                                        (enum ll_steady_role)role, &arena, &j->of[role]))
            j->of[role] = (struct ll_steady_state){0};
    ll_print_diags(&setup.diags);
    if (!apart && !(j->of[LL_STEADY_WHOLE].rate_Hz > 0))
        j->it.why = *ll_cli_hushed() ? kept_reason(p) : missed_limit(p, &setup, &j->of[LL_STEADY_WHOLE]);
    ll_serving_release(&setup);
    ll_arena_release(&arena);
}

/* Instances that a rate takes; far too many where one serves nearly nothing. */
static uint64_t instances_for(double all_Hz, double one_Hz)
{
    return (uint64_t)fmax(1, fmin(1 << 16, ceil(all_Hz / one_Hz)));
}

/* Counts the devices of a deployment, and what they cost. */
static void add_up(const struct planning *p, struct ll_plan_found *f)
{
    f->devices = f->replicas * ll_plan_devices(&f->layout) + f->decodes * ll_plan_devices(&f->decode);
    f->expense = (double)f->devices * (p->shown.by_usd ? f->variant->usd_per_hour : 1);
}

/* Whether a budget of its own makes a layout better at something than the usual one. */
static bool gains(const struct judged *j, enum ll_steady_role role)
{
    const struct ll_steady_state *own = &j->of[role], *usual = &j->usual->of[role];
    return j == j->usual || own->rate_Hz > usual->rate_Hz ||
           (own->rate_Hz > 0 && own->tpot_s < usual->tpot_s);
}

static void add_possible(struct planning *p, const struct judged *first, const struct judged *decode)
{
    const struct ll_steady_state *a = &first->of[decode ? LL_STEADY_PREFILL : LL_STEADY_WHOLE],
                                 *b = decode ? &decode->of[LL_STEADY_DECODE] : a;
    p->shown.considered++;
    if (!(a->rate_Hz > 0) || !(b->rate_Hz > 0) || !gains(first, decode ? LL_STEADY_PREFILL : LL_STEADY_WHOLE))
        return;
    struct ll_plan_found *f = &p->possible[p->possible_count];
    *f = (struct ll_plan_found){.variant = first->it.variant,
                                .layout = first->it.layout,
                                .replicas = instances_for(p->shown.rate_Hz, a->rate_Hz),
                                .prefill_Hz = a->rate_Hz,
                                .decode_Hz = b->rate_Hz,
                                .decoding = b->sequences,
                                .tpot_s = b->tpot_s,
                                .number = p->possible_count++};
    if (decode) {
        f->decode = decode->it.layout;
        f->decodes = instances_for(p->shown.rate_Hz, b->rate_Hz);
    }
    add_up(p, f);
}

/* Ways to use up to so many devices of a variant, of a model of so many layers. */
static void list_layouts(struct planning *p, const struct ll_plan_variant *variant, uint64_t most,
                         uint64_t layers, bool has_experts)
{
    /* The server's own tokens of a step, and what servers default to elsewhere. */
    static const uint64_t budgets[MOST_BUDGETS] = {0, 2048, 8192, 16384};
    const bool given = ll_value(p->shown.args, "max-num-batched-tokens", NULL);
    for (uint64_t devices = 1; devices <= most; devices *= 2)
        for (uint64_t tp = 1; tp <= ll_min(devices, MOST_TENSOR); tp *= 2)
            for (uint64_t pp = 1; pp <= ll_min(ll_min(devices / tp, MOST_STAGES), layers); pp *= 2) {
                const uint64_t dp = devices / tp / pp;
                const bool fits = dp == 1 || (has_experts && pp == 1);
                const struct judged *usual = &p->judged[p->judged_count];
                for (int b = 0; b < (given ? 1 : MOST_BUDGETS) && fits; b++)
                    if (budgets[b] != variant->usual.tokens)
                        p->judged[p->judged_count++] = (struct judged){
                            .it = {variant, {tp, pp, dp, has_experts ? tp * dp : 1, 0, budgets[b]}, NULL},
                            .usual = usual};
            }
}

/* --- which of them are simulated --- */

static int by_expense(const void *a, const void *b)
{
    const struct ll_plan_found *x = a, *y = b;
    if (x->expense != y->expense)
        return x->expense < y->expense ? -1 : 1;
    if (x->tpot_s != y->tpot_s)
        return x->tpot_s < y->tpot_s ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Numbers the fronts of least expense over fastest tokens; they are in order of expense. */
static void number_fronts(struct planning *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ll_plan_found *f = &p->possible[i];
        for (size_t j = 0; j < i && f->front < MOST_SIMULATED; j++) /* those before it cost no more */
            if (p->possible[j].tpot_s <= f->tpot_s && p->possible[j].front >= f->front)
                f->front = p->possible[j].front + 1;
    }
}

/* Moves the i-th of the possible ones behind those that are chosen. */
static void take(struct planning *p, size_t i, size_t *chosen)
{
    const struct ll_plan_found f = p->possible[i];
    memmove(p->possible + *chosen + 1, p->possible + *chosen, (i - *chosen) * sizeof f);
    p->possible[(*chosen)++] = f;
}

/* Puts those that are to be simulated first; how many. Simulation may find that fewer instances do: up to
 * twice the devices that there are may be asked for. */
static size_t choose(struct planning *p)
{
    size_t count = 0, chosen = 0;
    for (size_t i = 0; i < p->possible_count; i++)
        if (p->possible[i].devices <= 2 * p->shown.most_devices)
            p->possible[count++] = p->possible[i];
    qsort(p->possible, count, sizeof *p->possible, by_expense);
    number_fronts(p, count);
    for (size_t v = 0; v < p->shown.variant_count && p->shown.variant_count > 1; v++)
        for (size_t i = chosen; i < count; i++)
            if (p->possible[i].variant == &p->variants[v] && ll_plan_devices(&p->possible[i].decode) == 0) {
                take(p, i, &chosen);
                break;
            }
    const size_t most = chosen + MOST_SIMULATED;
    for (size_t i = chosen, whole = 0; i < count && whole < FEWEST_WHOLE; i++)
        if (ll_plan_devices(&p->possible[i].decode) == 0) {
            take(p, i, &chosen);
            whole++;
        }
    for (size_t i = chosen, fewest = FEWEST_WHOLE; i < count && fewest < FEWEST; i++, fewest++)
        take(p, i, &chosen);
    for (unsigned front = 0; front < MOST_SIMULATED; front++)
        for (size_t i = chosen; i < count && chosen < most; i++)
            if (p->possible[i].front == front)
                take(p, i, &chosen);
    return chosen;
}

/* --- by simulation --- */

/* A deployment under a rate, or, with rate 0, the largest rate that holds the limits, looked for from
 * *found_Hz on. False where it cannot serve, or holds them at no rate. */
static bool try_deployment(struct planning *p, struct ll_plan_found *f, uint64_t instances, uint64_t decodes,
                           double rate_Hz, double *found_Hz)
{
    struct ll_serving_options o;
    struct ll_arena arena = {0};
    struct ll_serving_setup setup = {.args = &o.args, .shared = &p->shared};
    const struct ll_serve_watch watch = {.stop = p->stop};
    const struct ll_serving *r = NULL;
    give_deployment(p, &o, f->variant, &f->layout, &f->decode, instances, decodes);
    ll_serving_give(&o, "rate", ll_format(o.args.arena, "%.9g", rate_Hz > 0 ? rate_Hz : *found_Hz));
    ll_serving_give_count(&o, "num-prompts", PROMPTS * (rate_Hz > 0 ? ll_min(instances + decodes, 8) : 1));
    bool done = ll_serving_read(&setup);
    if (done && rate_Hz == 0)
        done = ll_serving_find_rate(&setup, p->shown.percentile, &watch, found_Hz) && *found_Hz > 0;
    if (done)
        r = ll_serving_run(&setup, &watch, &arena);
    if (r) {
        const double share = p->shown.percentile / 100, output = (double)r->output_tokens;
        f->ttft_s = ll_quantiles_at(r->ttft, share);
        f->tpot_s = ll_quantiles_at(r->tpot, share);
        f->per_device_Hz = output / r->duration_s / (double)r->devices;
        f->per_user_Hz = 1 / ll_quantiles_mean(r->tpot);
        f->holds = f->ttft_s <= p->limits.ttft_s && !(f->tpot_s > p->limits.tpot_s) &&
                   ll_quantiles_at(r->e2e, share) <= p->limits.e2e_s;
        const struct ll_serving_costs costs = ll_serving_costs_of(&setup, r, 0, 1);
        f->usd_per_m_input = costs.usd_per_m_input;
        f->usd_per_m_output = costs.usd_per_m_output;
    }
    ll_print_diags(&setup.diags);
    ll_serving_release(&setup);
    ll_arena_release(&arena);
    return r != NULL;
}

/* The largest rates of one instance: where prefill and decode are apart, of each beside a pool of the other
 * that is wide enough. */
static bool find_rates(struct planning *p, struct ll_plan_found *f, double *first_Hz, double *decode_Hz)
{
    enum { WIDE = 8 };
    const bool apart = ll_plan_devices(&f->decode) > 0;
    return try_deployment(p, f, 1, apart ? WIDE : 0, 0, first_Hz) &&
           (!apart || try_deployment(p, f, WIDE, 1, 0, decode_Hz));
}

/* The sizes of captured graphs that a step of so many sequences may have. */
static uint64_t captured_size(uint64_t sequences)
{
    return sequences <= 2 ? sequences : sequences <= 4 ? 4 : ll_ceil_div(sequences, 8) * 8;
}

/* With a step of no more sequences than decode in closed form: adopted where an instance then holds the
 * limits at a larger rate. */
static void limit_sequences(struct planning *p, struct ll_plan_found *f, double *first_Hz, double *decode_Hz)
{
    static const double gain = 1.02; /* that is worth a limit */
    const bool apart = ll_plan_devices(&f->decode) > 0;
    struct ll_plan_found limited = *f;
    double Hz[2] = {*first_Hz * gain, *decode_Hz * gain}, *found_Hz = &Hz[apart],
           *best_Hz = apart ? decode_Hz : first_Hz;
    if (ll_value(p->shown.args, "max-num-seqs", NULL) || isinf(p->limits.tpot_s) || f->decoding == 0 ||
        captured_size(f->decoding) >= f->variant->usual.sequences)
        return;
    *(apart ? &limited.decode.sequences : &limited.layout.sequences) = captured_size(f->decoding);
    ll_cli_hush(true);
    if (try_deployment(p, &limited, apart ? 8 : 1, apart, 0, found_Hz) && *found_Hz >= *best_Hz * gain) {
        *f = limited;
        *best_Hz = *found_Hz;
    }
}

/* How many instances are needed, by the largest rates of one. */
static bool find_instances(struct planning *p, struct ll_plan_found *f)
{
    const bool apart = ll_plan_devices(&f->decode) > 0;
    double first_Hz = f->prefill_Hz, decode_Hz = f->decode_Hz;
    if (!find_rates(p, f, &first_Hz, &decode_Hz))
        return false;
    limit_sequences(p, f, &first_Hz, &decode_Hz);
    f->rate_Hz = apart ? fmin(first_Hz, decode_Hz) : first_Hz;
    f->replicas = instances_for(p->shown.rate_Hz, first_Hz);
    f->decodes = apart ? instances_for(p->shown.rate_Hz, decode_Hz) : 0;
    add_up(p, f);
    return true;
}

/* The deployment at the rate that is asked for. What one instance holds by itself, so many do not always
 * hold together, since the load is not even between them: then a few more are added. False where there are
 * too many devices, or it does not help. */
static bool add_instances(struct planning *p, struct ll_plan_found *f)
{
    enum { MOST_ADDED = 4 };
    const bool apart = ll_plan_devices(&f->decode) > 0;
    for (int i = 0; i < MOST_ADDED && f->devices <= p->shown.most_devices && !*p->stop; i++) {
        if (!try_deployment(p, f, f->replicas, f->decodes, p->shown.rate_Hz, NULL))
            return false;
        if (f->holds)
            return true;
        *(apart && f->tpot_s > p->limits.tpot_s ? &f->decodes : &f->replicas) += 1;
        add_up(p, f);
    }
    return false;
}

static void simulate(struct planning *p, struct ll_plan_found f)
{
    struct ll_plan_served *shown = &p->shown;
    ll_ticker_tell(&p->ticker, "plan", NAN, NAN, "%s %s tp %" PRIu64 " pp %" PRIu64 " dp %" PRIu64,
                   f.variant->machine, f.variant->format, f.layout.tp, f.layout.pp, f.layout.dp);
    shown->simulated++;
    ll_cli_hush(true);
    if (!find_instances(p, &f))
        shown->why = shown->why ? shown->why : kept_reason(p);
    else if (add_instances(p, &f))
        p->found[shown->count++] = f;
}

/* --- the whole --- */

/* All layouts in closed form, and deployments of them: instances for prompts and for decoding are of one
 * machine and store weights alike. How many tokens a step may have is nothing to those that decode alone. */
static void consider_all(struct planning *p, bool apart)
{
    for (size_t i = 0; i < p->judged_count && !*p->stop; i++) {
        struct judged *j = &p->judged[i];
        ll_ticker_tell(&p->ticker, "plan", NAN, NAN, "%zu of %zu layouts", i + 1, p->judged_count);
        if ((j->it.why = beyond_limits(p, j->it.variant, &j->it.layout)))
            continue;
        judge(p, j, false);
        if (apart)
            judge(p, j, true);
    }
    for (size_t i = 0; i < p->judged_count; i++) {
        add_possible(p, &p->judged[i], NULL);
        for (size_t j = 0; apart && j < p->judged_count; j++)
            if (p->judged[j].it.variant == p->judged[i].it.variant && p->judged[j].usual == &p->judged[j])
                add_possible(p, &p->judged[i], &p->judged[j]);
    }
}

/* The formats that are given, or those of the model on its machine. False after saying what is wrong. */
static bool list_formats(struct planning *p, const struct ll_machine *machine,
                         const char *names[static LL_MOST_SERVED_FORMATS], size_t *count)
{
    const char *given = ll_value(p->shown.args, "quantization", NULL);
    struct ll_diags diags = {0};
    *count = 0;
    if (!given)
        *count = ll_served_formats(p->config, machine, names, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    for (const char *at = given; at && *at;) {
        const size_t length = strcspn(at, ",");
        const char *name = ll_copy_text(p->shown.args->arena, at, length);
        if (!name || !ll_serving_weights(name) || *count == LL_MOST_SERVED_FORMATS) {
            ll_cli_reject(
                "--quantization %s: expected up to %d of fp8, fp8_block, nvfp4, mxfp4, int8, int4 or "
                "none, with commas between them",
                given, LL_MOST_SERVED_FORMATS);
            return false;
        }
        for (size_t i = 0; i < *count; i++)
            if (strcmp(names[i], name) == 0)
                return ll_cli_reject("--quantization %s: %s is there twice", given, name) == LL_DONE;
        names[(*count)++] = name;
        at += length + (at[length] == ',');
    }
    return *count > 0;
}

/* A machine with each format. False after saying what is wrong. */
static bool add_machine(struct planning *p, const char *which)
{
    const struct ll_args *args = p->shown.args;
    size_t override_count, format_count;
    const char *const *folders = ll_machine_folders(args->arena);
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    struct ll_machine *machine =
        folders && overrides ? ll_load_machine(which, folders, overrides, override_count) : NULL;
    const char *names[LL_MOST_SERVED_FORMATS];
    bool good = machine && list_formats(p, machine, names, &format_count);
    for (size_t i = 0; good && i < format_count; i++) {
        struct ll_plan_variant *v = &p->variants[p->shown.variant_count++];
        struct ll_diags diags = {0};
        struct ll_arena arena = {0};
        struct ll_served_model model = {.config = p->config,
                                        .weights = ll_serving_weights(names[i]),
                                        .machine = machine,
                                        .plan = ll_plan_of_one(),
                                        .diags = &diags};
        *v = (struct ll_plan_variant){.machine = which,
                                      .format = names[i],
                                      .usd_per_hour = ll_machine_usd_per_hour(machine),
                                      .usual = ll_serving_batch(machine)};
        good = ll_served_look(&model, &arena) && ll_served_floor(&model, &v->least);
        ll_print_diags(&diags);
        ll_served_release(&model);
        ll_diags_release(&diags);
        ll_arena_release(&arena);
    }
    ll_machine_free(machine);
    return good;
}

/* Machines with their formats. False after saying what is wrong. */
static bool add_machines(struct planning *p)
{
    struct ll_plan_served *shown = &p->shown;
    const char *which;
    bool good = true;
    shown->by_usd = true;
    for (size_t i = 0; good && (which = ll_value_at(shown->args, "machine", i)); i++) {
        if (i == MOST_MACHINES)
            return ll_cli_reject("-c %s: expected at most %d machines", which, MOST_MACHINES) == LL_DONE;
        for (size_t k = 0; k < i; k++)
            if (strcmp(ll_value_at(shown->args, "machine", k), which) == 0)
                return ll_cli_reject("-c %s: this machine is there twice", which) == LL_DONE;
        good = add_machine(p, which);
        shown->machine_count = i + 1;
        if (good && !isfinite(p->variants[shown->variant_count - 1].usd_per_hour))
            shown->by_usd = false;
    }
    if (shown->machine_count > 1 && !shown->by_usd && good)
        ll_cli_warn("not all of these machines say what they cost an hour (price.usd_per_hour): the fewest "
                    "devices come first");
    shown->by_usd &= shown->machine_count > 1;
    shown->variants = p->variants;
    return good;
}

/* Limits and lengths of requests. False after saying what is wrong. */
static bool read_load(struct planning *p)
{
    struct ll_serving_options o;
    struct ll_serving_setup setup = {.args = &o.args};
    begin(&o, p->shown.args);
    ll_serving_give(&o, "rate", "1");
    if (!ll_serving_time(&o.args, "ttft", &p->limits.ttft_s) ||
        !ll_serving_time(&o.args, "tpot", &p->limits.tpot_s) ||
        !ll_serving_time(&o.args, "e2e", &p->limits.e2e_s) || !ll_serving_load(&setup))
        return false;
    p->input = fmax(1, ll_lengths_mean(&setup.load.input, false));
    p->output = fmax(1, ll_lengths_mean(&setup.load.output, true));
    p->prefix = fmin((double)setup.load.prefix_tokens, p->input - 1);
    return true;
}

/* What is asked for. False after saying what is wrong. */
static bool read_question(struct planning *p)
{
    static const char *const of_training[] = {
        "html",  "batch", "batch-was", "simulate", "as",           "gemm-dtype",  "weights-as",
        "prune", "gaps",  "carbon",    "pue",      "train-tokens", "train-steps", NULL};
    const struct ll_args *args = p->shown.args;
    const char *rate = ll_value(args, "rate", NULL), *percentile = ll_value(args, "percentile", "90"),
               *model = ll_value(args, "model", NULL);
    if (!rate || !model || !ll_value(args, "machine", NULL)) {
        ll_cli_reject("plan --serve: expected -c MACHINE, --model MODEL and --rate R");
        return false;
    }
    p->shown.rate_Hz = ll_strtod(rate, NULL);
    p->shown.percentile = ll_strtod(percentile, NULL);
    if (!(p->shown.rate_Hz > 0) || isinf(p->shown.rate_Hz) ||
        !(p->shown.percentile >= 0 && p->shown.percentile <= 100)) {
        ll_cli_reject("--rate and --percentile: expected a finite number above 0, and one from 0 to 100");
        return false;
    }
    if (!ll_value_count(args, "devices", 1, 1 << 16, 256, &p->shown.most_devices) ||
        !ll_without(args, of_training, "is of plans of a trace; expected no --serve with it"))
        return false;
    if (!(p->config = ll_served_config(model))) {
        ll_cli_reject("--model %s: no configuration of this name comes along; expected a model's config.json",
                      model);
        return false;
    }
    if (!has_limit(args))
        ll_cli_warn(
            "no limit is given (--ttft, --tpot, --e2e): a deployment keeps up where TTFT is at most %s",
            keeps_up_ttft);
    return read_load(p) && add_machines(p);
}

/* Prints what was found, and writes the graph that is asked for; an exit status. */
static int show(const struct ll_plan_served *plans)
{
    struct ll_str out = {0}, graph = {0};
    const char *dynamo = ll_value(plans->args, "dynamo", NULL);
    (ll_flag(plans->args, "json") ? ll_plan_served_json : ll_plan_served_text)(plans, &out);
    if (dynamo && plans->count == 0) {
        ll_str_release(&out);
        return ll_cli_reject("--dynamo %s: no deployment holds the limits, so there is none to write",
                             dynamo);
    }
    if (dynamo) {
        const struct ll_deployed first = ll_plan_deployed(plans, &plans->found[0]);
        ll_serving_dynamo(&first, &graph);
        if (!ll_write_file(dynamo, &graph)) {
            ll_str_release(&out);
            return LL_FAILED;
        }
    }
    return ll_print(&out);
}

/* Makes room for all that may be judged, and lists it. False when memory ran out. */
static bool list_all(struct planning *p)
{
    const struct ll_args *args = p->shown.args;
    const uint64_t most = ll_min(MOST_TOGETHER, p->shown.most_devices), layers = ll_served_layers(p->config);
    const bool has_experts = ll_served_has_experts(p->config);
    p->judged =
        ll_alloc(args->arena, p->shown.variant_count * MOST_LAYOUTS * MOST_BUDGETS, sizeof *p->judged);
    for (size_t v = 0; p->judged && v < p->shown.variant_count; v++) {
        list_layouts(p, &p->variants[v], most, layers, has_experts);
        assert(p->judged_count <= (v + 1) * MOST_LAYOUTS * MOST_BUDGETS);
    }
    p->possible = ll_alloc(args->arena, p->judged_count * (1 + MOST_LAYOUTS), sizeof *p->possible);
    return p->judged && p->possible;
}

int ll_plan_serving(const struct ll_args *args)
{
    struct planning p = {
        .shown = {.args = args}, .stop = ll_catch_interrupts(), .ticker = ll_ticker_new(true)};
    if (!read_question(&p))
        return LL_WRONG;
    if (!list_all(&p))
        return ll_cli_fail("memory ran out");
    consider_all(&p, isfinite(p.limits.ttft_s) || isfinite(p.limits.tpot_s));
    const size_t chosen = choose(&p);
    for (size_t i = 0; i < chosen && !*p.stop; i++)
        simulate(&p, p.possible[i]);
    ll_cli_hush(false);
    ll_ticker_clear(&p.ticker);
    ll_serving_shared_release(&p.shared);
    if (*p.stop)
        return LL_INTERRUPTED;
    struct ll_plan_judged *judged = ll_alloc(args->arena, p.judged_count, sizeof *judged);
    if (!judged)
        return ll_cli_fail("memory ran out");
    for (size_t i = 0; i < p.judged_count; i++)
        judged[i] = p.judged[i].it;
    p.shown.judged = judged;
    p.shown.judged_count = p.judged_count;
    qsort(p.found, p.shown.count, sizeof *p.found, by_expense);
    p.shown.found = p.found;
    return show(&p.shown);
}
