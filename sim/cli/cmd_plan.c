/* SPDX-License-Identifier: Apache-2.0 */
/* leadline plan: how to spread a step over devices. */
#include "sim/cli/load.h"
#include "sim/cli/command.h"
#include "sim/cli/commands.h"
#include "sim/cli/goodput.h"
#include "sim/cli/html.h"
#include "sim/cli/serving.h"
#include "sim/cli/training_commands.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/given.h"
#include "sim/replay/communication.h"
#include "sim/report/table.h"
#include "sim/report/sim_report.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"
#include "tracer/transform/rescale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 1 << 20, MOST_SAMPLES = 1 << 30, SHOWN = 5, MOST_SIMULATED = 100 };

/* A training of so many steps, or samples, and what its devices cost. */
struct training {
    double steps, samples;            /* of the run; both 0: nobody asks for it */
    const struct ll_machine *machine; /* whose devices have a price for an hour, or none that is known */
    double usd_per_kwh;               /* of electricity that is paid for beside */
    double carbon, pue;               /* gCO2e a kWh; power of the site over that of the devices */
};

/* What is asked for, and what was found. */
struct asked {
    const struct ll_machine *machine;
    const struct ll_plan_search *search;
    const struct ll_search_result *result;
    const char *framework; /* whose command lines are printed; NULL: nobody's */
    const struct training *training;
};

/* The command line of a plan, and what of the plan it does not say. */
static void command_of(const struct asked *asked, const struct ll_parallel *plan, struct ll_str *command,
                       struct ll_str *lacks)
{
    const struct ll_machine *machine = asked->machine;
    const struct ll_trained trained = {.plan = plan,
                                       .devices = asked->search->devices,
                                       .devices_per_node =
                                           machine->network_count ? machine->networks[0].devices : 1,
                                       .layers = asked->result->layers,
                                       .gradients = asked->result->gradients};
    ll_training_command(asked->framework, &trained, command, lacks);
}

static void command_json(const struct asked *asked, const struct ll_parallel *plan, struct ll_json *json)
{
    struct ll_str command = {0}, lacks = {0};
    command_of(asked, plan, &command, &lacks);
    ll_json_put_text(json, "command", command.failed || !command.text ? "" : command.text);
    ll_json_put_text(json, "command_lacks", lacks.failed || !lacks.text ? "" : lacks.text);
    ll_str_release(&command);
    ll_str_release(&lacks);
}

/* What the devices of a plan cost for an hour; NaN: not known. */
static double hour_usd(const struct ll_machine *machine, const struct ll_parallel *plan)
{
    const double of_stage = (double)(plan->tensor * ll_replicas(plan));
    const uint64_t pools = ll_min(LL_MOST_POOLS, 1 + machine->pool_count);
    double usd = 0;
    if (pools == 1)
        return of_stage * (double)plan->pipeline * ll_machine_usd_per_hour(machine);
    for (uint64_t stage = 0; stage < plan->pipeline; stage++) {
        const uint64_t pool = ll_pool_of(plan, pools, stage);
        usd += of_stage * ll_machine_usd_per_hour(pool ? machine->pools[pool - 1] : machine);
    }
    return usd;
}

/* What a run takes by a plan; NaN where it is not known, or the plan was not simulated. */
struct run_costs {
    double time_s, energy_kwh, usd, kgco2;
};

static struct run_costs costs_of(const struct ll_found_plan *found, const struct training *training)
{
    enum { HOUR_S = 3600 };
    const double J_per_kWh = 3.6e6,
                 step_s = found->step_s > 0 && training->steps + training->samples > 0 ? found->step_s : NAN,
                 steps =
                     training->steps > 0 ? training->steps : training->samples / (found->samples_Hz * step_s);
    struct run_costs run = {.time_s = steps * step_s / found->time_share,
                            .energy_kwh = steps * found->energy_j * training->pue / J_per_kWh};
    const double electricity_usd = training->usd_per_kwh > 0 ? run.energy_kwh * training->usd_per_kwh : 0;
    run.usd = run.time_s / HOUR_S * hour_usd(training->machine, &found->plan) + electricity_usd;
    run.kgco2 = run.energy_kwh * training->carbon / 1000;
    return run;
}

/* The length of a run and prices. False after saying what is wrong. */
static bool read_training(const struct ll_args *args, const struct ll_machine *machine,
                          const struct ll_trace *trace, struct training *training)
{
    const struct ll_pricing *pricing = &machine->pricing;
    const double tokens_each = ll_report_tokens(trace);
    double tokens;
    *training = (struct training){.machine = machine,
                                  .usd_per_kwh = pricing->purchase_usd > 0 ? pricing->usd_per_kwh : 0};
    if (!ll_serving_number(args, "train-tokens", 1, 1e18, 0, &tokens) ||
        !ll_serving_number(args, "train-steps", 1, 1e12, 0, &training->steps) ||
        !ll_serving_number(args, "carbon", 0, 1e6, 473, &training->carbon) ||
        !ll_serving_number(args, "pue", 1, 10, 1.2, &training->pue))
        return false;
    if (tokens > 0 && training->steps > 0)
        return ll_cli_reject("--train-tokens and --train-steps are two lengths of a run; expected one") ==
               LL_DONE;
    if (tokens > 0 && !(tokens_each > 0))
        return ll_cli_reject("--train-tokens: the trace does not say how many tokens a sample has; expected "
                             "--train-steps") == LL_DONE;
    training->samples = tokens > 0 ? tokens / tokens_each : 0;
    return true;
}

static void plan_json(const struct asked *asked, const struct ll_found_plan *found, struct ll_json *json)
{
    const struct run_costs run = costs_of(found, asked->training);
    struct ll_str words = {0};
    ll_plan_words(&found->plan, &words);
    ll_json_open_object(json);
    ll_json_key(json, "plan");
    ll_plan_json(&found->plan, json);
    ll_json_put_text(json, "options", words.failed || !words.text ? "" : words.text);
    ll_json_put_number(json, "step_s", found->step_s > 0 ? found->step_s : NAN);
    ll_json_put_number(json, "estimate_s", found->estimate_s);
    ll_json_put_number(json, "samples_per_s", found->samples_Hz);
    ll_json_put_number(json, "memory_bytes",
                       found->step_s > 0 && !isnan(found->estimate_bytes) ? (double)found->memory_bytes
                                                                          : found->estimate_bytes);
    ll_json_put_number(json, "bubble", found->step_s > 0 ? found->bubble : NAN);
    ll_json_put_number(json, "exposed_s", found->step_s > 0 ? found->exposed_s : NAN);
    ll_json_put_number(json, "checkpoint_bytes", found->checkpoint.all);
    if (asked->search->time_share)
        ll_json_put_number(json, "effective_time_share", found->time_share);
    if (asked->framework)
        command_json(asked, &found->plan, json);
    ll_json_put_number(json, "energy_j", found->step_s > 0 ? found->energy_j : NAN);
    ll_json_put_number(json, "run_s", run.time_s);
    ll_json_put_number(json, "usd_per_run", run.usd);
    ll_json_put_number(json, "kwh_per_run", run.energy_kwh);
    ll_json_put_number(json, "kgco2_per_run", run.kgco2);
    ll_json_close_object(json);
    ll_str_release(&words);
}

static void add_json(const struct asked *asked, const struct ll_warnings *warnings, struct ll_str *out)
{
    const struct ll_plan_search *search = asked->search;
    const struct ll_search_result *result = asked->result;
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "plan", 1);
    ll_warnings_json(warnings, &json);
    ll_json_put_count(&json, "devices", search->devices);
    ll_json_put_count(&json, "batch", search->batch);
    ll_json_put_count(&json, "considered", result->considered);
    ll_json_put_count(&json, "do_not_fit", result->too_large);
    ll_json_put_count(&json, "bounded", result->bounded);
    ll_json_put_number(&json, "least_bytes", result->least_bytes);
    ll_json_put_count(&json, "programs", result->programs);
    ll_json_key(&json, "plans");
    ll_json_open_list(&json);
    for (uint64_t i = 0; i < result->found_count; i++)
        plan_json(asked, &result->found[i], &json);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

static void plan_row(const struct asked *asked, const struct ll_found_plan *found, struct ll_table *table)
{
    struct ll_human step, rate, memory, bubble, exposed, share, days, usd;
    const struct run_costs run = costs_of(found, asked->training);
    const double day_s = 86400;
    struct ll_str words = {0};
    const double best_s = asked->result->found[0].step_s;
    const char *bytes =
        isnan(found->estimate_bytes) ? "unknown" : ll_format_binary(&memory, (double)found->memory_bytes);
    ll_plan_words(&found->plan, &words);
    ll_format_si(&step, found->step_s, "s");
    ll_format_percent(&bubble, found->bubble);
    ll_format_si(&exposed, found->exposed_s, "s");
    const char *days_text = isfinite(run.time_s) ? ll_format_count(&days, run.time_s / day_s, "") : "";
    const char *usd_text = isfinite(run.usd) ? ll_format_count(&usd, run.usd, "") : "";
    if (asked->search->time_share)
        ll_table_row(table, "  %s|%s|%s|%s|%s|%s|%s|%s|%s", step.text,
                     ll_format_percent(&share, found->time_share),
                     ll_format_count(&rate, found->samples_Hz * found->time_share, ""), bytes, bubble.text,
                     exposed.text, days_text, usd_text, words.text ? words.text : "");
    else
        ll_table_row(table, "  %s|%.2fx|%s|%s|%s|%s|%s|%s|%s", step.text, found->step_s / best_s,
                     ll_format_count(&rate, found->samples_Hz, ""), bytes, bubble.text, exposed.text,
                     days_text, usd_text, words.text ? words.text : "");
    ll_str_release(&words);
}

/* The fastest plan as a command line of its framework. */
static void command_text(const struct asked *asked, unsigned width, struct ll_str *out)
{
    struct ll_str command = {0}, lacks = {0}, line = {0};
    command_of(asked, &asked->result->found[0].plan, &command, &lacks);
    ll_str_add(out, "\n");
    ll_command_lines(command.text ? command.text : "", width, out);
    if (lacks.length > 0) {
        ll_str_addf(&line, "%s has no option for: %s", asked->framework, lacks.text);
        ll_end_line(&line, width, out);
    }
    out->failed |= command.failed || lacks.failed;
    ll_str_release(&command);
    ll_str_release(&lacks);
}

static void none_found(const struct ll_machine *machine, const struct ll_plan_search *search,
                       const struct ll_search_result *result, unsigned width, struct ll_str *out)
{
    struct ll_human least, capacity;
    struct ll_str line = {0};
    if (result->refusal)
        ll_str_addf(&line, "no plan can be simulated: %s", result->refusal);
    else if (result->too_large == 0 && !isfinite(result->least_bytes) && search->given)
        ll_str_addf(&line,
                    "no plan divides the step among %" PRIu64 " device%s and holds what is given of its keys",
                    search->devices, ll_plural(search->devices));
    else if (result->too_large == 0 && !isfinite(result->least_bytes))
        ll_str_addf(&line,
                    "no plan divides the step among %" PRIu64 " device%s: replicas must divide its %" PRIu64
                    " sample%s, tp, cp and pp the model; --devices and --batch name other numbers",
                    search->devices, ll_plural(search->devices), search->batch, ll_plural(search->batch));
    else if (!isfinite(result->least_bytes))
        ll_str_add(&line, "no plan fits into the devices' memory");
    else
        ll_str_addf(
            &line, "no plan fits into the devices' memory: the smallest needs about %s of %s",
            ll_format_binary(&least, result->least_bytes),
            ll_format_binary(&capacity, (double)machine->levels[machine->level_count - 1].size_bytes));
    ll_end_line(&line, width, out);
}

static void add_text(const struct asked *asked, const struct ll_warnings *warnings, struct ll_str *out)
{
    const struct ll_machine *machine = asked->machine;
    const struct ll_plan_search *search = asked->search;
    const struct ll_search_result *result = asked->result;
    unsigned width = ll_screen_width();
    const bool runs = asked->training->steps + asked->training->samples > 0;
    static const char *const headings[2][2] = {
        {"  step|>vs. fastest|>samples/s|>memory|>bubble|>exposed|>?days/run|>?$/run|plan",
         "  step|>vs. fastest|>?samples/s|>?memory|>?bubble|>?exposed|>days/run|>$/run|plan"},
        {"  step|>effective time|>effective samples/s|>memory|>bubble|>exposed|>?days/run|>?$/run|plan",
         "  step|>effective time|>?effective samples/s|>?memory|>?bubble|>?exposed|>days/run|>$/run|plan"}};
    struct ll_table *table = ll_table_new(headings[search->time_share != NULL][runs]);
    ll_table_mark(table, LL_MARK_VALUE);
    for (uint64_t i = 0; i < result->found_count && result->found[i].step_s > 0; i++)
        plan_row(asked, &result->found[i], table);
    ll_warnings_text(warnings, out);
    ll_str_addf(out, "%" PRIu64 " sample%s per step on %" PRIu64 " device%s of %s", search->batch,
                ll_plural(search->batch), search->devices, ll_plural(search->devices),
                ll_machine_title(machine));
    ll_str_add(out, "\n\n");
    if (result->found_count > 0) {
        ll_table_top(table, ll_output_top());
        ll_table_print(table, width, out);
    } else {
        none_found(machine, search, result, width, out);
    }
    ll_str_addf(out,
                "\n%" PRIu64 " plan%s considered: %" PRIu64 " do not fit, %" PRIu64 " estimated; %" PRIu64
                " program%s\n",
                result->considered, ll_plural(result->considered), result->too_large, result->estimated,
                result->programs, ll_plural(result->programs));
    if (asked->framework && result->found_count > 0)
        command_text(asked, width, out);
    ll_table_free(table);
}

/* The page: beside the document, each simulated plan's stages and passes. */

enum { MOST_PASSES = 400000 }; /* of all plans of a page */

/* 8 bytes for each pass: its start as a float; micro-batch, chunk and what it is as a number: forward, a
 * whole backward pass, its half for inputs or that for weights. */
static uint32_t kind_of(const struct ll_pass *pass)
{
    return pass->backward ? 1 + (uint32_t)pass->half : 0;
}

static void add_pass(const struct ll_pass *pass, struct ll_str *columns)
{
    float start = (float)pass->start_s;
    uint32_t words[2] = {0, (uint32_t)(pass->micro_batch << 10 | pass->chunk << 2 | kind_of(pass))};
    char bytes[8];
    memcpy(&words[0], &start, sizeof start);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(words[i / 4] >> 8 * (i % 4) & 0xFF);
    ll_str_add_bytes(columns, bytes, sizeof bytes);
}

static void page_stage(const struct ll_parallel_result *step, uint64_t s, struct ll_json *json)
{
    const struct ll_stage_use *stage = &step->stages[s];
    struct ll_str layers = {0};
    ll_json_open_object(json);
    ll_stage_layers(step->spread, s, &layers);
    if (step->spread->plan.pipeline > 1 && layers.text)
        ll_json_put_text(json, "layers", layers.text);
    ll_str_release(&layers);
    if (step->pool_count > 1)
        ll_json_put_text(json, "machine",
                         step->pools[ll_pool_of(&step->spread->plan, step->pool_count, s)].machine->stem);
    ll_json_put_count(json, "capacity_bytes", stage->capacity_bytes);
    ll_json_put_number(json, "forward_s", stage->forward_s);
    ll_json_put_number(json, "backward_s", stage->backward_s);
    ll_json_put_number(json, "exposed_s", stage->exposed_s);
    ll_json_put_number(json, "tail_s", stage->tail_s);
    ll_json_put_number(json, "update_s", stage->update_s);
    ll_json_put_number(json, "busy_s", stage->busy_s);
    ll_json_put_count(json, "in_flight", stage->in_flight);
    ll_json_put_count(json, "memory_bytes", stage->memory_bytes);
    ll_json_key(json, "by_class");
    ll_json_open_object(json);
    for (unsigned c = 0; c < LL_MEMORY_COUNT; c++)
        ll_json_put_count(json, ll_memory_name(c), stage->class_bytes[c]);
    ll_json_close_object(json);
    ll_json_close_object(json);
}

/* By chunk and kind of pass: how long it takes on a stage; 0 of kinds that there are not. */
static void page_lengths(const struct ll_pass *passes, uint64_t count, uint64_t chunks, struct ll_json *json)
{
    ll_json_open_list(json);
    for (uint64_t wanted = 0; wanted < 4 * chunks; wanted++) {
        double time_s = 0;
        for (uint64_t i = 0; i < count && time_s == 0; i++)
            if (4 * passes[i].chunk + kind_of(&passes[i]) == wanted)
                time_s = passes[i].end_s - passes[i].start_s;
        ll_json_number(json, time_s);
    }
    ll_json_close_list(json);
}

/* Whether there was room for the passes; those of a plan are there as a whole or not at all. */
static bool page_passes(const struct ll_parallel_result *step, struct ll_arena *arena, struct ll_json *json,
                        struct ll_str *columns)
{
    uint64_t count = 0, stages = step->spread->plan.pipeline;
    bool room = ll_mul(3 * step->spread->sizes.micro_batches, step->spread->vstage_count) <=
                MOST_PASSES - columns->length / 8;
    const struct ll_pass *passes = room ? ll_parallel_passes(step, arena, &count) : NULL;
    ll_json_put_count(json, "passes_at", columns->length);
    ll_json_put_count(json, "passes_each", passes ? count : 0);
    for (uint64_t i = 0; passes && i < stages * count; i++)
        add_pass(&passes[i], columns);
    ll_json_key(json, "pass_s");
    ll_json_open_list(json);
    for (uint64_t s = 0; passes && s < stages; s++)
        page_lengths(passes + s * count, count, step->spread->plan.chunks, json);
    ll_json_close_list(json);
    return passes || !room;
}

static bool page_plan(const struct ll_parallel_result *step, struct ll_arena *arena, struct ll_json *json,
                      struct ll_str *columns)
{
    const struct ll_result *slowest = step->result;
    ll_json_put_count(json, "micro_batches", step->spread->sizes.micro_batches);
    ll_json_put_count(json, "slowest", step->slowest);
    ll_json_put_count(json, "fullest", step->fullest);
    ll_json_put_number(json, "energy_j", step->energy_j);
    ll_json_put_number(json, "flops", step->flops);
    ll_json_key(json, "exposed");
    ll_json_open_object(json);
    for (unsigned t = 0; t < LL_TRAFFIC_COUNT; t++)
        ll_json_put_number(json, ll_traffic_name(t), step->exposed_s[t]);
    ll_json_close_object(json);
    ll_json_key(json, "bottlenecks");
    ll_json_open_object(json);
    for (uint32_t b = 0; b < LL_BOUND_COUNT; b++)
        if (slowest->shares[b] > 0)
            ll_json_put_number(json, ll_bound_name(slowest->machine, b), slowest->shares[b]);
    ll_json_close_object(json);
    ll_json_key(json, "stages");
    ll_json_open_list(json);
    for (uint64_t s = 0; s < step->spread->plan.pipeline; s++)
        page_stage(step, s, json);
    ll_json_close_list(json);
    return page_passes(step, arena, json, columns);
}

/* The plan is simulated once more, for what the search does not keep. */
static bool page_found(const struct ll_trace *trace, const struct ll_machine *machine,
                       const struct ll_found_plan *found, struct ll_json *json, struct ll_str *columns,
                       struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct ll_remembered remembered = {0};
    struct ll_spread *spread = ll_spread_trace(trace, &found->plan, ll_machine_devices(machine), diags);
    const struct ll_parallel_result *step =
        spread ? ll_parallel_run(spread, machine, &remembered, &scratch, diags) : NULL;
    ll_json_open_object(json);
    bool done = step && page_plan(step, &scratch, json, columns);
    ll_json_close_object(json);
    ll_spread_free(spread);
    ll_remembered_release(&remembered);
    ll_arena_release(&scratch);
    return done;
}

static bool page_more(const struct ll_args *args, const struct ll_trace *trace,
                      const struct ll_machine *machine, const struct ll_search_result *result,
                      struct ll_str *more, struct ll_str *columns, struct ll_diags *diags)
{
    struct ll_json json = {.out = more};
    bool done = true;
    ll_json_open_object(&json);
    ll_json_put_text(&json, "machine", ll_machine_title(machine));
    ll_json_put_text(&json, "c", ll_value(args, "machine", ""));
    ll_json_put_text(&json, "trace", args->words[0]);
    ll_json_put_count(&json, "capacity_bytes", machine->levels[machine->level_count - 1].size_bytes);
    ll_json_key(&json, "levels");
    ll_json_open_list(&json);
    for (uint64_t level = 0; level < machine->level_count; level++)
        ll_json_text(&json, machine->levels[level].name);
    ll_json_close_list(&json);
    ll_json_key(&json, "plans");
    ll_json_open_list(&json);
    for (uint64_t i = 0; done && i < result->found_count && result->found[i].step_s > 0; i++)
        done = page_found(trace, machine, &result->found[i], &json, columns, diags);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    return done;
}

static int write_page(const struct ll_args *args, const struct ll_trace *trace, const struct asked *asked,
                      const struct ll_warnings *warnings)
{
    static const char *const searched[] = {"machine", "devices", "batch", "simulate", NULL};
    struct ll_page_content content = {.again = ll_typed(args, searched, false)};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    bool done = diags && content.again &&
                page_more(args, trace, asked->machine, asked->result, &content.more, &content.columns, diags);
    if (done) {
        add_json(asked, warnings, &content.document);
        ll_page_plain_begin();
        add_text(asked, warnings, &content.plain);
    }
    int status = done ? ll_write_page(args, "plan", ll_base_name(args->words[0]), &content)
                      : ll_cli_fail("memory ran out");
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    ll_page_content_release(&content);
    return status;
}

/* On standard output, and as a page where that is asked for. */
static int show(const struct ll_args *args, const struct ll_trace *trace, const struct asked *asked,
                const struct ll_warnings *warnings)
{
    struct ll_str out = {0};
    int status = ll_value(args, "html", NULL) ? write_page(args, trace, asked, warnings) : LL_DONE;
    if (status != LL_DONE)
        return status;
    if (ll_flag(args, "json"))
        add_json(asked, warnings, &out);
    else
        add_text(asked, warnings, &out);
    return ll_print(&out);
}

static void show_progress(void *context, const struct ll_search_result *so_far)
{
    struct ll_human considered, simulated;
    double done = so_far->branches > 0 ? (double)so_far->branches_done / (double)so_far->branches : 0;
    if (so_far->simulated > 0)
        ll_ticker_tell(context, "plan", NAN, NAN, "%s plans considered, %s of the best simulated",
                       ll_format_grouped(&considered, so_far->considered),
                       ll_format_grouped(&simulated, so_far->simulated));
    else
        ll_ticker_tell(context, "plan", done, NAN, "%s plans considered, %s do not fit",
                       ll_format_grouped(&considered, so_far->considered),
                       ll_format_grouped(&simulated, so_far->too_large));
}

enum { MOST_PLAN_BYTES = 1 << 20 };

/* Keys of plans that are given, as options or in a file: all plans hold them; *given is NULL without any.
 * The batch is the search's. */
static bool read_plan_keys(const struct ll_args *args, const struct ll_plan_given **given, uint64_t *batch)
{
    const char *path = ll_value(args, "plan", NULL);
    struct ll_plan_given *read = ll_alloc(args->arena, 1, sizeof *read);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_contents text = {0};
    if (!read || !diags) {
        free(diags);
        return ll_cli_fail("memory ran out") == LL_DONE;
    }
    enum ll_status status = path ? ll_read_whole(path, MOST_PLAN_BYTES, args->arena, &text) : LL_OK;
    bool some = path, right = true;
    if (status != LL_OK)
        right = ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    else if (path)
        right = ll_given_parse(read, (const char *)text.bytes, text.length, path, args->arena, diags);
    for (size_t i = 0; i < ll_plan_key_count(); i++) {
        const struct ll_plan_key key = ll_plan_key_at(i);
        const bool is_there =
            key.value ? ll_value(args, key.option, NULL) != NULL : ll_flag(args, key.option);
        if (!is_there || ll_plan_member_of(i) == offsetof(struct ll_parallel, batch))
            continue;
        const char *option = ll_format(args->arena, "--%s", key.option);
        const char *value = key.value                            ? ll_value(args, key.option, NULL)
                            : strncmp(key.option, "no-", 3) != 0 ? "true"
                                                                 : "false";
        read->of[i].count = 0; /* an option overrides the file */
        right = ll_given_add(read, key.key, value, (struct ll_place){.file = option}, args->arena, diags) &&
                right;
        some = true;
    }
    for (size_t i = 0; i < ll_plan_key_count(); i++) {
        if (ll_plan_member_of(i) != offsetof(struct ll_parallel, batch) || read->of[i].count == 0)
            continue;
        if (read->of[i].count > 1)
            right = ll_complain(diags, (struct ll_place){.file = path}, "`batch`: expected one number");
        *batch = *batch ? *batch : read->of[i].values[0].batch;
    }
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    *given = some ? read : NULL;
    return right;
}

/* What constrains and ranks plans. False after saying what is wrong. */
static bool read_constraints(const struct ll_args *args, const struct ll_machine *machine,
                             struct ll_plan_search *search, struct ll_goodput_ranking *ranking)
{
    static const char *const of_goodput[] = {"device-mtbf", "node-mtbf", "link-mtbf", "mtbf",
                                             "restart",     "repair",    "spares",    "checkpoint-bandwidth",
                                             NULL};
    const char *by = ll_value(args, "rank-by", "step"), *framework = ll_value(args, "command", NULL);
    const bool goodput = strcmp(by, "goodput") == 0;
    search->whole_nodes = ll_flag(args, "whole-nodes");
    search->divisible = ll_flag(args, "divisible");
    if (!ll_goodput_number(args, "memory-margin", 0, 0.99, 0, &search->margin))
        return false;
    if (framework && !ll_training_framework_is_known(framework)) {
        ll_cli_reject("--command %s: expected one of %s", framework, ll_training_frameworks());
        return false;
    }
    if (!goodput && strcmp(by, "step") != 0) {
        ll_cli_reject("--rank-by %s: expected step or goodput", by);
        return false;
    }
    if (!goodput)
        return ll_without(args, of_goodput, "is of --rank-by goodput");
    search->time_share = ll_goodput_share;
    search->time_share_context = ranking;
    return ll_goodput_read_ranking(args, machine, search->devices, ranking);
}

static int search_plans(const struct ll_args *args, const struct ll_machine *machine,
                        const struct ll_trace *trace)
{
    struct ll_ticker ticker = ll_ticker_new(true);
    struct ll_goodput_ranking ranking;
    struct ll_plan_search search = {
        .progress = show_progress, .context = &ticker, .stop = ll_catch_interrupts()};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags)
        return ll_cli_fail("memory ran out");
    bool right = ll_value_count(args, "devices", 1, MOST_DEVICES,
                                ll_min(ll_machine_devices(machine), MOST_DEVICES), &search.devices) &&
                 ll_value_count(args, "batch", 1, MOST_SAMPLES, 0, &search.batch) &&
                 ll_value_count(args, "simulate", 1, MOST_SIMULATED, SHOWN, &search.simulated) &&
                 read_constraints(args, machine, &search, &ranking) &&
                 read_plan_keys(args, &search.given, &search.batch);
    if (right && search.batch == 0)
        search.batch = ll_mul(ll_trace_batch(trace), search.devices);
    struct training training;
    right = right && read_training(args, machine, trace, &training);
    const struct ll_search_result *result =
        right ? ll_search_plans(trace, machine, &search, args->arena, diags) : NULL;
    ll_ticker_clear(&ticker);
    size_t complaints = diags->count;
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    if (!result)
        return right && complaints == 0 ? ll_cli_fail("memory ran out") : LL_WRONG;
    struct ll_warnings warnings = {.arena = args->arena};
    ll_warn_of_trace(&warnings, trace, "");
    if (result->lacks_gradients)
        ll_warn(&warnings,
                "no plan with replicas is tried: the trace has no gradient of a weight that they could "
                "exchange");
    if (result->stopped)
        ll_warn(&warnings,
                "interrupted: the best plan of those that were considered until then is shown; the same "
                "command starts again");
    const struct asked asked = {machine, &search, result, ll_value(args, "command", NULL), &training};
    int status = show(args, trace, &asked, &warnings);
    return status == LL_DONE && result->stopped ? LL_INTERRUPTED : status;
}

int ll_plan_in_memory(const struct ll_args *args, const struct ll_machine *machine, struct ll_trace **trace)
{
    static const char *const elsewhere[] = {"machine", "set", "serve", "html", "plan", NULL};
    struct ll_changes changes;
    int status;
    if (!ll_without(args, elsewhere, "is not for a trace and a machine that are in memory") ||
        !ll_read_changes(args, &changes))
        return LL_WRONG;
    *trace = ll_know_batch(args, *trace, args->words[0], &status);
    if (*trace)
        status = ll_change(trace, &changes, args->words[0]);
    return *trace && status == LL_DONE ? search_plans(args, machine, *trace) : status;
}

static int run(const struct ll_args *args)
{
    size_t count;
    int status = LL_WRONG;
    for (size_t i = 0; ll_flag(args, "serve") && i < ll_plan_key_count(); i++) {
        const char *const of_training[] = {ll_plan_key_at(i).option, NULL};
        const bool batch = ll_plan_member_of(i) == offsetof(struct ll_parallel, batch);
        if (!batch && !ll_without(args, of_training, "is a key of plans of a TRACE"))
            return LL_WRONG;
    }
    if (ll_flag(args, "serve"))
        return args->word_count == 0 ? ll_plan_serving(args)
                                     : ll_cli_reject("plan --serve: expected no trace, but --model");
    if (args->word_count == 0)
        return ll_cli_reject("plan: expected a TRACE, or --serve");
    static const char *const of_serving[] = {"model",
                                             "rate",
                                             "input-tokens",
                                             "output-tokens",
                                             "prefix-tokens",
                                             "quantization",
                                             "kv-cache-dtype",
                                             "expert-load",
                                             "max-num-seqs",
                                             "max-num-batched-tokens",
                                             "gpu-memory-utilization",
                                             "ttft",
                                             "tpot",
                                             "e2e",
                                             "percentile",
                                             "dynamo",
                                             NULL};
    if (!ll_without(args, of_serving, "is of deployments; expected --serve with it, and no TRACE"))
        return LL_WRONG;
    const char *const *folders = ll_machine_folders(args->arena);
    const struct ll_override *overrides = ll_read_overrides(args, &count);
    const char *which = ll_value(args, "machine", NULL);
    if (!which)
        return ll_cli_reject("no machine: name one with -c; leadline machines lists them");
    if (ll_value_at(args, "machine", 1))
        return ll_cli_reject("-c %s: a plan of a trace is for one machine; expected --serve with several",
                             which);
    if (!folders || !overrides)
        return LL_WRONG;
    struct ll_changes changes;
    if (!ll_read_changes(args, &changes))
        return LL_WRONG;
    struct ll_machine *machine = ll_load_pools(which, folders, overrides, count);
    if (machine && strcmp(ll_value(args, "devices", "1"), "1") != 0)
        machine = ll_load_system(machine, folders, overrides, count);
    struct ll_trace *trace = machine ? ll_load_trace(args->words[0], &status) : NULL;
    if (trace)
        trace = ll_know_batch(args, trace, args->words[0], &status);
    if (trace)
        status = ll_change(&trace, &changes, args->words[0]);
    if (trace && status == LL_DONE)
        status = search_plans(args, machine, trace);
    ll_trace_free(trace);
    ll_machine_free(machine);
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE",
     "a machine with a network: a YAML file or a name that leadline machines lists; of --serve also several; "
     "A,B: stages of a pipeline lie on devices of both"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as in --set network.cards.devices=16"},
    LL_CHANGE_OPTIONS,
    {"devices", 0, "N", "devices to use (default: all that the network joins)"},
    {"batch", 0, "B", "samples per step, over all devices (default: the trace's batch per device)"},
    LL_BATCH_WAS_OPTION,
#define LL_PLAN_WITHOUT_BATCH
#define LL_PLAN_KEY(key, option, value, type, member, least, most, help) {option, 0, value, help},
#include "sim/parallel/plan_keys.def"
#undef LL_PLAN_KEY
    {"plan", 0, "PLAN.yaml",
     "read these keys from a file: all plans hold them; a key with several values, as in tp: [4, 8] or --tp "
     "4,8, is searched among these"},
    {"simulate", 0, "K", "how many of the best to show, and to simulate at least (default: 5)"},
    {"memory-margin", 0, "SHARE", "of each device's memory that stays free (default: 0)"},
    {"whole-nodes", 0, NULL, "a pipeline stage has whole nodes, or a node whole stages"},
    {"divisible", 0, NULL,
     "as Megatron-LM wants it: heads and features divide by tp, layers by stages and "
     "chunks, positions by 2 cp and, with sequence parallelism, tp, experts by ep"},
    {"command", 0, "FRAMEWORK",
     "also print the fastest plan as a command line: megatron, deepspeed, torchtitan"},
    {"rank-by", 0, "WHAT",
     "step, the step time (default), or goodput, that over the effective time share of a "
     "training of weeks"},
    {"device-mtbf", 0, "TIME", "of goodput: mean time between failures of a device (default: the machine's)"},
    {"node-mtbf", 0, "TIME", "of goodput: of a node, beside its devices"},
    {"link-mtbf", 0, "TIME", "of goodput: of a device's link beyond its node"},
    {"mtbf", 0, "TIME", "of goodput: of the job as a whole, as by its software"},
    {"restart", 0, "TIME",
     "of goodput: from a failure until steps go on, but for reading the checkpoint (5min)"},
    {"repair", 0, "TIME", "of goodput: until what failed is back, for which a job without a spare waits"},
    {"spares", 0, "N", "of goodput: that take the place of what failed (0)"},
    {"checkpoint-bandwidth", 0, "GB/s", "of goodput: of the storage, from all devices together"},
    {"train-tokens", 0, "N", "tokens of the whole training: how long it takes, what it costs, as 15e12"},
    {"train-steps", 0, "N", "the same by its steps"},
    {"carbon", 0, "G", "gCO2e a kWh, of the training (473)"},
    {"pue", 0, "X", "power of the site over that of the devices (1.2)"},
    LL_HTML_OPTION("ranking, schedules, stages, memory"),
    {"serve", 0, NULL, "deployments that serve a model within limits"},
    {"model", 'm', "MODEL", "of --serve, as leadline serve takes it"},
    {"rate", 0, "R", "of --serve: requests a second"},
    {"input-tokens", 0, "N", "of --serve: of a prompt (1024)"},
    {"output-tokens", 0, "N", "of --serve: that a request makes (128)"},
    {"prefix-tokens", 0, "N", "of --serve: that all prompts begin with"},
    {"quantization", 'q', "FORMAT[,...]",
     "of --serve: how weights may be stored (default: as the model has them, and narrower ones that the "
     "device "
     "multiplies by)"},
    {"kv-cache-dtype", 0, "TYPE", "of --serve: of keys and values"},
    {"expert-load", 0, "LOAD", "of --serve: of experts, as leadline serve takes it"},
    {"max-num-seqs", 0, "N", "of --serve: sequences in a step (default: several limits are tried)"},
    {"max-num-batched-tokens", 0, "N",
     "of --serve: new tokens in a step (default: several limits are tried)"},
    {"gpu-memory-utilization", 0, "SHARE", "of --serve: of a device's memory"},
    {"ttft", 0, "TIME", "of --serve: limit of the time to the first token"},
    {"tpot", 0, "TIME", "of --serve: limit of the time for a token"},
    {"e2e", 0, "TIME", "of --serve: limit from arrival to last token"},
    {"percentile", 0, "P", "of --serve: at which limits hold (90)"},
    {"dynamo", 0, "FILE", "of --serve: writes the first deployment as a graph for NVIDIA Dynamo"},
    {0},
};

const struct ll_command ll_command_plan = {
    .name = "plan",
    .rows = "plans",
    .cuts_tables = true,
    .synopsis = "-c MACHINE [--devices N] [--batch B] TRACE\n  leadline plan --serve -c MACHINE --model "
                "MODEL --rate R [--ttft T] [--tpot T]",
    .summary = "find the fastest parallel plan for a step on many devices",
    .examples =
        "  leadline plan -c dgx_a100 --batch 1024 gpt.llt\n"
        "  leadline plan -c dgx_a100 --set network.infiniband.devices=64 --devices 512 --batch 1536 "
        "--json gpt.llt\n"
        "  leadline plan -c dgx_h100 --devices 256 --batch 256 --gemm-dtype f8 gpt.llt\n"
        "  leadline plan -c dgx_h100 --devices 64 --batch 256 --low-precision none,mxfp8 --grads-in-fp32 "
        "gpt.llt\n"
        "  leadline plan -c dgx_h100,dgx_a100 --devices 32 --batch 128 gpt.llt\n"
        "  leadline plan --serve -c h100_sxm+vllm --model qwen3-32b --rate 20 --ttft 1s --tpot 50ms\n",
    .details =
        "Considers every way to write the number of devices as data-parallel replicas (dp) times "
        "tensor-parallel (tp) times context-parallel devices (cp) times pipeline stages (pp), with all "
        "micro-batches, chunks, stages of ZeRO (also within a node alone) and kinds of recomputation; cp "
        "grows until two numbers in a row are no better than smaller ones. What does not fit into memory is "
        "tried again with the optimizer's state on the host. The best by estimate are simulated in full, as "
        "leadline sim does with the options in the last column: as many as take a second or two, in a small "
        "space all that are near the best; the best of each stage of ZeRO also with other bucket sizes.\n"
        "\n"
        "Keys of a plan that are given, as options or in a --plan file, hold in every plan; where several "
        "values "
        "are given (--low-precision none,mxfp8) one of them does. The batch apart, keys that no search "
        "varies "
        "are as without otherwise. Layers are assigned to stages by their FLOPs, where that is faster by "
        "their "
        "times, with --pipeline-model-parallel-layout auto and on several machines with the embedding and "
        "the "
        "loss as layers of their own. Slow links are drawn for the plans that are simulated.\n"
        "\n"
        "A checkpoint has what the plan's devices hold of weights and of the optimizer's state; devices that "
        "hold "
        "the same share the writing. It stops the step while it is copied to the hosts.\n"
        "\n"
        "A trace of an external program does not say its batch; --batch-was does.\n",
    .options = options,
    .repeated = (const char *const[]){"set", "machine", NULL},
    .writes = (const char *const[]){"html", "dynamo", NULL},
    .reads = (const char *const[]){"machine", "plan", NULL},
    .least_words = 0,
    .most_words = 1,
    .reads_input = true,
    .run = run,
};
