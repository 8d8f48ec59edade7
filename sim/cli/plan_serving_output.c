/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/plan_serving.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/cli/output.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/num.h"

/* Whether a variant stores weights as the model's configuration has them: the first of a machine does, unless
 * formats are given. */
static bool is_own_format(const struct ll_plan_served *plans, const struct ll_plan_variant *variant)
{
    return !ll_value(plans->args, "quantization", NULL) &&
           (variant == plans->variants || variant[-1].machine != variant->machine);
}

static struct ll_workers workers(uint64_t count, const struct ll_plan_layout *l)
{
    return (struct ll_workers){count, l->tp, l->pp, l->dp, l->ep, l->sequences, l->tokens};
}

struct ll_deployed ll_plan_deployed(const struct ll_plan_served *plans, const struct ll_plan_found *f)
{
    return (struct ll_deployed){.args = plans->args,
                                .machine = f->variant->machine,
                                .format = f->variant->format,
                                .own_format = is_own_format(plans, f->variant),
                                .first = workers(f->replicas, &f->layout),
                                .decode = workers(f->decodes, &f->decode)};
}

/* Whether it is on the Pareto front of tokens a second and device over tokens a second and user. */
static bool is_on_front(const struct ll_plan_served *plans, const struct ll_plan_found *f)
{
    for (size_t i = 0; i < plans->count; i++) {
        const struct ll_plan_found *g = &plans->found[i];
        if (g->per_device_Hz >= f->per_device_Hz && g->per_user_Hz >= f->per_user_Hz &&
            (g->per_device_Hz > f->per_device_Hz || g->per_user_Hz > f->per_user_Hz))
            return false;
    }
    return true;
}

/* --- JSON --- */

/* The limits of a step: those of the layout, those that were given, or the server's. */
static uint64_t limit_of(const struct ll_plan_served *plans, uint64_t own, const char *option, uint64_t usual)
{
    const char *given = ll_value(plans->args, option, NULL);
    return own > 0 ? own : given ? (uint64_t)ll_strtod(given, NULL) : usual;
}

static void put_variant(const struct ll_plan_variant *variant, struct ll_json *json)
{
    ll_json_put_text(json, "machine", variant->machine);
    ll_json_put_text(json, "quantization", variant->format);
}

static void put_layout(const struct ll_plan_served *plans, const struct ll_plan_variant *variant,
                       const struct ll_plan_layout *l, struct ll_json *json)
{
    ll_json_put_count(json, "tp", l->tp);
    ll_json_put_count(json, "pp", l->pp);
    ll_json_put_count(json, "dp", l->dp);
    ll_json_put_count(json, "cp", 1);
    ll_json_put_count(json, "ep", l->ep);
    ll_json_put_count(json, "max_num_seqs",
                      limit_of(plans, l->sequences, "max-num-seqs", variant->usual.sequences));
    ll_json_put_count(json, "max_num_batched_tokens",
                      limit_of(plans, l->tokens, "max-num-batched-tokens", variant->usual.tokens));
}

static void put_found(const struct ll_plan_served *plans, const struct ll_plan_found *f, struct ll_json *json)
{
    const bool apart = ll_plan_devices(&f->decode) > 0;
    const struct ll_deployed deployed = ll_plan_deployed(plans, f);
    struct ll_str graph = {0};
    ll_json_open_object(json);
    put_variant(f->variant, json);
    put_layout(plans, f->variant, &f->layout, json);
    ll_json_put_count(json, "replicas", f->replicas);
    ll_json_put_text(json, "prefill", apart ? ll_plan_workers(plans->args, f->replicas, &f->layout) : NULL);
    ll_json_put_text(json, "decode", apart ? ll_plan_workers(plans->args, f->decodes, &f->decode) : NULL);
    ll_json_put_count(json, "devices", f->devices);
    ll_json_put_number(json, "usd_per_hour", (double)f->devices * f->variant->usd_per_hour);
    ll_json_put_number(json, "rate_per_instance", f->rate_Hz);
    ll_json_put_number(json, "tokens_per_s_per_device", f->per_device_Hz);
    ll_json_put_number(json, "tokens_per_s_per_user", f->per_user_Hz);
    ll_json_put_number(json, "ttft_s", f->ttft_s);
    ll_json_put_number(json, "tpot_s", f->tpot_s);
    ll_json_put_number(json, "usd_per_m_input_tokens", f->usd_per_m_input);
    ll_json_put_number(json, "usd_per_m_output_tokens", f->usd_per_m_output);
    ll_json_put_bool(json, "simulated", true);
    ll_json_put_bool(json, "on_front", is_on_front(plans, f));
    ll_json_put_text(json, "command", ll_serving_command(&deployed));
    ll_serving_dynamo(&deployed, &graph);
    ll_json_put_text(json, "dynamo", graph.failed ? NULL : graph.text);
    ll_str_release(&graph);
    ll_json_close_object(json);
}

void ll_plan_served_json(const struct ll_plan_served *plans, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "plan_serve", 1);
    ll_json_put_count(&json, "considered", plans->considered);
    ll_json_put_count(&json, "simulated", plans->simulated);
    ll_json_put_number(&json, "rate", plans->rate_Hz);
    ll_json_key(&json, "plans");
    ll_json_open_list(&json);
    for (size_t i = 0; i < plans->count; i++)
        put_found(plans, &plans->found[i], &json);
    ll_json_close_list(&json);
    ll_json_key(&json, "refused");
    ll_json_open_list(&json);
    for (size_t i = 0; i < plans->judged_count; i++) {
        const struct ll_plan_judged *j = &plans->judged[i];
        if (!j->why)
            continue;
        ll_json_open_object(&json);
        put_variant(j->variant, &json);
        put_layout(plans, j->variant, &j->layout, &json);
        ll_json_put_text(&json, "reason", j->why);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

/* --- the screen --- */

/* "2x tp4 pp2": degrees where they are not 1, but for experts that are spread over all that share layers. */
static const char *words_of(const struct ll_plan_served *plans, uint64_t instances,
                            const struct ll_plan_layout *l)
{
    struct ll_arena *arena = plans->args->arena;
    const char *words = ll_format(arena, "%" PRIu64 "x", instances);
    const struct {
        const char *name;
        uint64_t degree;
    } all[] = {{"tp", l->tp}, {"pp", l->pp}, {"dp", l->dp}};
    for (size_t i = 0; i < sizeof all / sizeof *all && words; i++)
        if (all[i].degree > 1 || (i == 0 && ll_plan_devices(l) == 1))
            words = ll_format(arena, "%s %s%" PRIu64, words, all[i].name, all[i].degree);
    return words ? words : "";
}

/* "64 x 2048": the sequences and tokens of a step at most, "-" where the server's own limit holds; nothing
 * where both do. */
static const char *limits_of(const struct ll_plan_served *plans, const struct ll_plan_layout *l)
{
    struct ll_arena *arena = plans->args->arena;
    const char *sequences = l->sequences > 0 ? ll_format(arena, "%" PRIu64, l->sequences) : "-",
               *tokens = l->tokens > 0 ? ll_format(arena, "%" PRIu64, l->tokens) : "-";
    const bool none = l->sequences == 0 && l->tokens == 0;
    const char *words = none ? "" : ll_format(arena, "%s x %s", sequences, tokens);
    return words ? words : "";
}

/* Cells that say the same in all rows stay empty: nobody needs the column. */
static void add_row(const struct ll_plan_served *plans, const struct ll_plan_found *f, struct ll_table *table)
{
    struct ll_human human;
    struct ll_arena *arena = plans->args->arena;
    const bool apart = ll_plan_devices(&f->decode) > 0, several = plans->machine_count > 1,
               formats = plans->variant_count > plans->machine_count;
    const char *words = words_of(plans, f->replicas, &f->layout), *limits = limits_of(plans, &f->layout);
    if (apart) {
        const char *behind = limits_of(plans, &f->decode);
        words = ll_format(arena, "%s + %s", words, words_of(plans, f->decodes, &f->decode));
        if (*limits || *behind)
            limits = ll_format(arena, "%s + %s", *limits ? limits : "-", *behind ? behind : "-");
    }
    ll_table_cell(table, "  %s%s", words ? words : "", is_on_front(plans, f) ? " *" : "");
    ll_table_cell(table, "%s", several ? f->variant->machine : "");
    ll_table_cell(table, "%s", formats ? f->variant->format : "");
    ll_table_cell(table, "%s", limits ? limits : "");
    ll_table_cell(table, "%" PRIu64, f->devices);
    ll_table_cell(table, "%s", ll_format_si(&human, f->ttft_s, "s"));
    ll_table_cell(table, "%s", ll_format_si(&human, f->tpot_s, "s"));
    ll_table_cell(table, "%s", ll_format_count(&human, f->per_device_Hz, ""));
    ll_table_cell(table, "%s", ll_format_count(&human, f->per_user_Hz, ""));
    ll_table_cell(table, "%s",
                  isfinite(f->usd_per_m_output) ? ll_format_count(&human, f->usd_per_m_output, "") : "");
    ll_table_end_row(table);
}

static bool same_degrees(const struct ll_plan_layout *a, const struct ll_plan_layout *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp;
}

/* Whether a row before it has the same deployment with other limits of a step, under which it does better. */
static bool is_shown(const struct ll_plan_served *plans, size_t i)
{
    const struct ll_plan_found *f = &plans->found[i];
    for (size_t j = 0; j < i; j++) {
        const struct ll_plan_found *g = &plans->found[j];
        if (g->variant == f->variant && g->replicas == f->replicas && g->decodes == f->decodes &&
            same_degrees(&g->layout, &f->layout) && same_degrees(&g->decode, &f->decode))
            return true;
    }
    return false;
}

static void add_table(const struct ll_plan_served *plans, struct ll_str *out)
{
    struct ll_table *table = ll_table_new(
        "  deployment|?machine|?weights|???limits|>devices|>TTFT|>TPOT|>/device|>/user|>??$/M made");
    bool limited = false;
    size_t left = 0;
    for (size_t i = 0; i < plans->count; i++) {
        const struct ll_plan_found *f = &plans->found[i];
        if (is_shown(plans, i)) {
            left++;
            continue;
        }
        limited |= *limits_of(plans, &f->layout) || *limits_of(plans, &f->decode);
        add_row(plans, f, table);
    }
    ll_table_print(table, ll_screen_width(), out);
    ll_table_free(table);
    const struct ll_deployed first = ll_plan_deployed(plans, &plans->found[0]);
    struct ll_str notes = {0};
    ll_str_add(&notes, "A + B: prefill and decode apart. /device, /user: tokens made a second; *: on the "
                       "front of one over the other.");
    if (plans->variant_count > plans->machine_count)
        ll_str_add(&notes,
                   " A narrower format changes what the model makes: --quantization says which may be.");
    if (limited)
        ll_str_add(&notes, " Limits: sequences x tokens of a step, -: the server's own.");
    if (left > 0)
        ll_str_addf(&notes, " --json has %zu more, with other limits.", left);
    ll_str_add(out, "\n");
    ll_wrap(out, notes.failed || !notes.text ? "" : notes.text, ll_screen_width());
    ll_str_release(&notes);
    ll_str_add(out, "  A server of the first:\n");
    for (const char *at = ll_serving_command(&first); at && *at;) {
        const size_t length = strcspn(at, "\n");
        const char *line = ll_copy_text(plans->args->arena, at, length);
        ll_command_lines(line ? line : "", ll_screen_width(), out);
        at += length + (at[length] == '\n');
    }
}

/* Why nothing was found: of each layout, as far as a screen has room. */
static void add_reasons(const struct ll_plan_served *plans, struct ll_str *out)
{
    enum { MOST_REASONS = 24 };
    size_t left = 0, shown = 0;
    ll_str_addf(out, "no deployment of at most %" PRIu64 " devices holds the limits at this rate\n",
                plans->most_devices);
    for (size_t i = 0; i < plans->judged_count; i++) {
        const struct ll_plan_judged *j = &plans->judged[i];
        const bool usual = j->layout.tokens == 0;
        if (!j->why || !usual || shown == MOST_REASONS) {
            left += j->why && usual;
            continue;
        }
        shown++;
        ll_str_addf(out, "  %s", words_of(plans, 1, &j->layout));
        if (plans->machine_count > 1)
            ll_str_addf(out, " %s", j->variant->machine);
        if (plans->variant_count > plans->machine_count)
            ll_str_addf(out, " %s", j->variant->format);
        ll_str_addf(out, ": %s\n", j->why);
    }
    if (left > 0)
        ll_str_addf(out, "  and %zu more layout%s, which --json has\n", left, ll_plural(left));
    if (plans->why)
        ll_str_addf(out, "  of those simulated: %s\n", plans->why);
}

void ll_plan_served_text(const struct ll_plan_served *plans, struct ll_str *out)
{
    struct ll_human rate;
    struct ll_str machines = {0};
    for (size_t i = 0; i < plans->machine_count; i++)
        ll_str_addf(&machines, "%s%s", i > 0 ? ", " : "", ll_value_at(plans->args, "machine", i));
    ll_str_addf(out,
                "%s requests/s of %s on %s, limits at p%g: %zu deployment%s considered in closed form, %zu "
                "simulated\n\n",
                ll_format_count(&rate, plans->rate_Hz, ""), ll_value(plans->args, "model", ""),
                machines.failed ? "" : machines.text, plans->percentile, plans->considered,
                ll_plural(plans->considered), plans->simulated);
    ll_str_release(&machines);
    (plans->count > 0 ? add_table : add_reasons)(plans, out);
}
