/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sweep. The first section brings the traces of a sweep and its shards, the second runs a sweep,
 * alone or with other processes (sim/cli/mpi). */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/commands.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/command.h"
#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/explore/database.h"
#include "sim/explore/sweep.h"
#include "sim/machine/node.h"
#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "tracer/base/clock.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rescale.h"

/* --- traces --- */

static bool read_settings(const struct ll_space_workload *workload, const struct ll_space_setting *settings,
                          size_t count, struct ll_setting *own, struct ll_run_options *options,
                          struct ll_diags *diags)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(settings[i].key, "batch")) {
            own[options->setting_count++] = (struct ll_setting){settings[i].key, settings[i].value};
            continue;
        }
        if (!ll_count_parse(settings[i].value, &options->batch) || options->batch == 0)
            return ll_complain(diags, workload->place, "`batch: %.40s`: expected a whole number from 1",
                               settings[i].value);
    }
    return true;
}

/* Complaints of a model are of what the sweep file says of it. */
static bool pass_on(const struct ll_diags *from, struct ll_place place, struct ll_diags *diags)
{
    for (size_t i = 0; i < from->kept_count; i++)
        ll_complain(diags, place, "%s", from->kept[i].message);
    return from->count == 0 && ll_complain(diags, place, "the model could not be recorded");
}

static struct ll_trace *record(const struct ll_space_workload *workload, const struct ll_model *model,
                               struct ll_run_options *options, struct ll_diags *diags)
{
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    struct ll_diags *own = calloc(1, sizeof *own);
    options->trace = &trace;
    if (own && !ll_model_run(model, options, &report, own))
        pass_on(own, workload->place, diags);
    if (own)
        ll_diags_release(own);
    free(own);
    return trace;
}

/* One value, by itself. */
static bool check_value(const struct ll_model *model, const char *key, const struct ll_axis_value *value,
                        struct ll_place place, struct ll_diags *diags)
{
    uint64_t batch;
    int64_t *values = calloc(model->param_count + 1, sizeof *values);
    struct ll_diags *own = calloc(1, sizeof *own);
    const struct ll_setting setting = {key, value->text};
    bool right = values && own;
    if (!right)
        ll_complain(diags, place, "memory ran out");
    else if (!strcmp(key, "batch"))
        right = (ll_count_parse(value->text, &batch) && batch > 0) ||
                ll_complain(diags, place, "`%.40s`: a batch is a whole number from 1", value->text);
    else if (!ll_model_settings(model, &setting, 1, values, own))
        right = pass_on(own, place, diags);
    if (own)
        ll_diags_release(own);
    free(own);
    free(values);
    return right;
}

/* By all models; what several do not take is said once. */
static bool check_by_all(const struct ll_space *space, const struct ll_space_axis *axis,
                         const struct ll_axis_value *value, struct ll_diags *diags)
{
    bool right = true;
    for (size_t i = 0; right && i < space->workload_count; i++) {
        const char *name = space->workloads[i].served ? NULL : space->workloads[i].model;
        const struct ll_model *model = name ? ll_model_find(name) : NULL;
        right = !model || check_value(model, strchr(axis->path, '.') + 1, value,
                                      value->node ? value->node->place : axis->place, diags);
    }
    return right;
}

bool ll_sweep_check_values(const struct ll_space *space, struct ll_diags *diags)
{
    bool right = true;
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        const bool model = axis->target == LL_AXIS_MODEL && strncmp(axis->path, "serve.", 6) != 0;
        for (uint32_t i = 0; model && i < axis->value_count; i++)
            right &= check_by_all(space, axis, &axis->values[i], diags);
    }
    return ll_sweep_check_servings(space, diags) && right;
}

static struct ll_trace *bring_model(const struct ll_space_workload *workload,
                                    const struct ll_space_setting *settings, size_t count,
                                    struct ll_diags *diags)
{
    const struct ll_model *model = ll_model_find(workload->model);
    struct ll_run_options options = {.train = !workload->infer, .steps = 1, .seed = 1, .dry_run = true};
    struct ll_trace *trace = NULL;
    if (!model) {
        const char *nearest = ll_model_nearest(workload->model);
        ll_complain(diags, workload->place, "there is no model `%.40s`%s%s%s", workload->model,
                    nearest ? "; did you mean `" : "; leadline models lists them", nearest ? nearest : "",
                    nearest ? "`?" : "");
        return NULL;
    }
    if (ll_model_renamed(workload->model))
        ll_remark(diags, workload->place, "the model `%s` is called `%s` now", workload->model, model->name);
    struct ll_setting *own = calloc(count + 1, sizeof *own);
    options.settings = own;
    if (own && read_settings(workload, settings, count, own, &options, diags))
        trace = record(workload, model, &options, diags);
    if (!own)
        ll_complain(diags, workload->place, "memory ran out");
    free(own);
    return trace;
}

static struct ll_trace *bring_file(const struct ll_space_workload *workload, struct ll_diags *diags)
{
    int status;
    struct ll_trace *trace = ll_load_trace(workload->file, &status);
    if (!trace)
        ll_complain(diags, workload->place, "`%s` is no trace that can be used", workload->file);
    return trace;
}

static bool store(const struct ll_space_workload *workload, struct ll_trace *trace, struct ll_diags *diags)
{
    const char *trouble;
    return ll_store_weights(trace, workload->weights, &trouble) ||
           ll_complain(diags, workload->place, "`%s`: no weight can be quantized to %s: %s", workload->name,
                       ll_numeric_name(workload->weights), trouble ? trouble : "memory ran out");
}

static bool prune(const struct ll_space_workload *workload, struct ll_trace *trace, struct ll_diags *diags)
{
    const char *trouble;
    char text[LL_PATTERN_TEXT];
    if (ll_prune_weights(trace, &workload->pruned, &trouble))
        return true;
    ll_pattern_print(&workload->pruned, text);
    return ll_complain(diags, workload->place, "`%s`: no weight can be pruned to %s: %s", workload->name,
                       text, trouble ? trouble : "memory ran out");
}

/* The trace in the types that the sweep wants, and with its zeros, in the place of the one given. */
static bool change(const struct ll_space_workload *workload, struct ll_trace **trace, struct ll_diags *diags)
{
    const char *trouble = NULL;
    if (workload->dtype != LL_DTYPE_COUNT && !ll_trace_change_dtype(*trace, workload->dtype, &trouble))
        return ll_complain(diags, workload->place, "`%s` as %s: %s", workload->name,
                           ll_dtype_name(workload->dtype), trouble ? trouble : "memory ran out");
    if (!prune(workload, *trace, diags))
        return false;
    if (!ll_narrow_gemms(trace, workload->products, &trouble))
        return ll_complain(diags, workload->place, "`%s`: no GEMM can be computed in %s: %s", workload->name,
                           ll_numeric_name(workload->products), trouble);
    return store(workload, *trace, diags) &&
           (ll_gaps_scale(*trace, workload->gaps) || ll_complain(diags, workload->place, "memory ran out"));
}

struct ll_trace *ll_sweep_bring(void *context, const struct ll_space_workload *workload,
                                const struct ll_space_setting *settings, size_t count, struct ll_diags *diags)
{
    (void)context;
    struct ll_trace *trace =
        workload->model ? bring_model(workload, settings, count, diags) : bring_file(workload, diags);
    if (!trace || change(workload, &trace, diags))
        return trace;
    ll_trace_free(trace);
    return NULL;
}

/* --- shards --- */

/* Which task of how many this is, as launchers of jobs say; the first that is set counts. `first`: the number
 * of the first task, 0 where the launcher counts from 0. */
static const struct launcher {
    const char *index, *count, *first;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"PMI_RANK", "PMI_SIZE", NULL},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
    {"PBS_ARRAY_INDEX", "PBS_ARRAY_COUNT", "PBS_ARRAY_FIRST"},
    {"SLURM_PROCID", "SLURM_NTASKS", NULL},
};

static bool read_count(const char *text, uint64_t *count)
{
    return text && ll_count_parse(text, count);
}

/* given: how many the command line says there are; 0: the environment must. */
static bool ask_environment(uint64_t given, uint64_t *shard, uint64_t *shards)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *launcher = &launchers[i];
        uint64_t first = 0;
        if (!read_count(getenv(launcher->index), shard))
            continue;
        if (given)
            *shards = given;
        else if (!read_count(getenv(launcher->count), shards))
            continue;
        if (launcher->first)
            read_count(getenv(launcher->first), &first);
        if (*shard < first || *shard - first >= *shards) {
            ll_cli_reject("--shard auto: task %" PRIu64 " (%s) is none of %" PRIu64 " from %" PRIu64, *shard,
                          launcher->index, *shards, first);
            return false;
        }
        *shard -= first;
        return true;
    }
    ll_cli_reject(
        "--shard auto: no job array or MPI launcher says which task this is (%s and the like are not "
        "set)%s",
        launchers[2].index, given ? "" : "; where it does not say of how many, give auto/N");
    return false;
}

/* Which part of a sweep is asked for: `3/8`, or `auto` and `auto/8`, which ask the environment of a job array
 * or of MPI. One of one without it. The shard counts from 0. False after saying what is wrong. */
static bool read_shard(const char *text, uint64_t *shard, uint64_t *shards)
{
    char first[32];
    uint64_t of = 0;
    const char *slash = text ? strchr(text, '/') : NULL;
    size_t length = slash ? (size_t)(slash - text) : text ? strlen(text) : 0;
    *shard = 0;
    *shards = 1;
    if (!text)
        return true;
    snprintf(first, sizeof first, "%.*s", (int)(length < 31 ? length : 31), text);
    bool right = !slash || (ll_count_parse(slash + 1, &of) && of > 0);
    if (right && !strcmp(first, "auto"))
        return ask_environment(of, shard, shards);
    if (right && slash && ll_count_parse(first, shard) && *shard >= 1 && *shard <= of) {
        *shard -= 1;
        *shards = of;
        return true;
    }
    ll_cli_reject("--shard %s: expected which of how many, as 1/8, or auto", text);
    return false;
}

/* Reasons that are printed: people want the few that matter. */
enum { MOST_TOLD = 3, MOST_IN_JSON = 100 };

void ll_add_troubles(const char *path, struct ll_arena *arena, struct ll_str *out)
{
    struct ll_store_trouble troubles[MOST_TOLD];
    size_t count = ll_store_troubles(path, arena, MOST_TOLD, troubles);
    struct ll_human text;
    for (size_t i = 0; i < count; i++)
        ll_str_addf(out, "  %s point%s: %s\n", ll_format_grouped(&text, troubles[i].count),
                    ll_plural(troubles[i].count), troubles[i].why ? troubles[i].why : "");
}

/* The same as a list, `not_valid`, of `points` and `why`, with rarer reasons, too. */
static void put_troubles(const char *path, struct ll_arena *arena, struct ll_json *json)
{
    struct ll_store_trouble troubles[MOST_IN_JSON];
    size_t count = ll_store_troubles(path, arena, MOST_IN_JSON, troubles);
    ll_json_key(json, "not_valid");
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++) {
        ll_json_open_object(json);
        ll_json_put_count(json, "points", troubles[i].count);
        ll_json_put_text(json, "why", troubles[i].why);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

void ll_add_warning(const char *warning, struct ll_str *out)
{
    struct ll_str line = {0};
    if (warning) {
        ll_str_addf(&line, "warning: %s", warning);
        ll_end_line(&line, ll_screen_width(), out);
    }
}

void ll_put_warning(const char *warning, struct ll_json *json)
{
    ll_json_key(json, "warnings");
    ll_json_open_list(json);
    if (warning)
        ll_json_text(json, warning);
    ll_json_close_list(json);
}

/* leadline sweep: evaluates the designs of a sweep file into a database. */

enum { SAMPLE = 256 };

/* Everything of one run. */
struct exploration {
    const struct ll_args *args;
    struct ll_space *space;
    struct ll_pool *pool;
    struct ll_evaluator *evaluator;
    struct ll_sweep_servings servings;
    struct ll_diags diags;
    const struct ll_sweep_crew *crew; /* NULL: alone */
    const char *output;
    const char *warning; /* NULL: there is none */
    uint64_t shard, shards;
    uint64_t start_ns;
    struct ll_ticker ticker;
    const volatile sig_atomic_t *interrupted;
};

/* --- setting up --- */

/* R.db, and of a shard R.3of8.db. NULL when memory ran out. */
static const char *output_path(const struct exploration *e)
{
    const char *given = ll_value(e->args, "output", NULL), *file = e->args->words[0];
    const char *name = given ? given : ll_base_name(file);
    const char *base = ll_base_name(name);
    size_t length = (size_t)(base - name) + ll_stem_length(base);
    const char *ending = given ? name + length : ".db";
    if (e->shards == 1)
        return ll_format(e->args->arena, "%.*s%s", (int)length, name, ending);
    return ll_format(e->args->arena, "%.*s.%" PRIu64 "of%" PRIu64 "%s", (int)length, name, e->shard + 1,
                     e->shards, ending);
}

/* The sweep file and what goes with it: shard, threads, output, evaluator, and what to warn of. */
static int read_space(struct exploration *e)
{
    const char *const *folders = ll_machine_folders(e->args->arena);
    uint64_t threads;
    if (!ll_value_count(e->args, "jobs", 1, 4096, 0, &threads) ||
        !read_shard(ll_value(e->args, "shard", NULL), &e->shard, &e->shards))
        return LL_WRONG;
    if (!folders)
        return ll_cli_fail("memory ran out");
    e->space = ll_space_read(e->args->words[0], folders, &e->diags);
    if (!e->space || !ll_sweep_check_values(e->space, &e->diags) ||
        !ll_load_table(e->space->machine, e->space->base, e->space->folders, 0, &e->diags))
        return LL_WRONG;
    if (e->shards > 1 && !ll_search_divides(e->space->search.kind))
        return ll_cli_reject("--shard: this search learns from all results; it cannot be cut into shards");
    if (e->crew && e->shards > 1)
        return ll_cli_reject("--shard: processes that work together share one sweep; it has no shards");
    e->pool = ll_pool_new((unsigned)threads);
    const char *named = output_path(e);
    e->output = named ? ll_path_target(e->args->arena, named) : NULL; /* files stand beside it */
    if (!e->pool || !e->output)
        return ll_cli_fail("memory or threads ran out");
    if (ll_flag(e->args, "resume") && access(e->output, F_OK))
        return ll_cli_reject("--resume: there is no %s to go on with", e->output);
    e->evaluator = ll_evaluator_new(e->space, ll_sweep_bring, NULL, e->pool, &e->diags);
    if (e->evaluator)
        ll_evaluator_serve(e->evaluator, ll_sweep_serve, &e->servings);
    struct ll_str warning = {0};
    if (e->evaluator && ll_evaluator_warn(e->evaluator, &warning))
        e->warning = ll_copy_text(e->args->arena, warning.text, warning.length);
    ll_str_release(&warning);
    return e->evaluator ? LL_DONE : LL_WRONG;
}

/* --- a trial --- */

/* Points of the search, evenly from the whole space; evaluated, not kept. */
static bool try_some(struct exploration *e, struct ll_evaluation *evaluations, uint64_t count, double *each_s)
{
    struct ll_readings *measured = calloc(count * e->space->workload_count, sizeof *measured);
    if (!measured)
        return ll_complain(&e->diags, (struct ll_place){0}, "memory ran out");
    for (uint64_t i = 0; i < count; i++) {
        double share = ((double)i + 0.5) / (double)count;
        evaluations[i].number = (uint64_t)(share * (double)e->space->point_count);
        evaluations[i].measured = measured + i * e->space->workload_count;
    }
    uint64_t start_ns = ll_now_ns();
    bool right = ll_evaluate(e->evaluator, evaluations, count, &e->diags);
    *each_s = (double)(ll_now_ns() - start_ns) * 1e-9 / (double)count;
    free(measured);
    return right;
}

/* What is wrong with most of those that are not valid. */
static const char *commonest_trouble(const struct ll_evaluation *evaluations, uint64_t count)
{
    const char *commonest = NULL;
    uint64_t most = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t same = 0;
        for (uint64_t j = 0; j < count && evaluations[i].why; j++)
            same += evaluations[j].why && !strcmp(evaluations[i].why, evaluations[j].why);
        if (same > most) {
            most = same;
            commonest = evaluations[i].why;
        }
    }
    return commonest;
}

static int report_trial(const struct exploration *e, const struct ll_evaluation *evaluations, uint64_t tried,
                        double each_s)
{
    uint64_t valid = 0, total = ll_sweep_search_total(e->space);
    for (uint64_t i = 0; i < tried; i++)
        valid += evaluations[i].verdict == LL_VERDICT_VALID;
    double all_s = each_s * (double)total / (double)e->shards;
    const char *trouble = commonest_trouble(evaluations, tried);
    struct ll_str out = {0};
    struct ll_human points, space, time, share;
    if (ll_flag(e->args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_json_open_document(&json, "sweep_dry_run", 1);
        ll_json_put_count(&json, "points", total);
        ll_json_put_count(&json, "space", e->space->point_count);
        ll_json_put_count(&json, "tried", tried);
        ll_json_put_count(&json, "valid", valid);
        ll_json_put_text(&json, "commonest_trouble", trouble);
        ll_put_warning(e->warning, &json);
        ll_json_put_number(&json, "time_s", all_s);
        ll_json_close_object(&json);
        return ll_print(&out);
    }
    ll_str_addf(&out, "%s: %s point%s", e->space->name, ll_format_grouped(&points, total), ll_plural(total));
    if (total < e->space->point_count)
        ll_str_addf(&out, " of a space of %s", ll_format_grouped(&space, e->space->point_count));
    ll_str_addf(&out, ", %zu %s, %zu workload%s\n", e->space->axis_count,
                e->space->axis_count == 1 ? "axis" : "axes", e->space->workload_count,
                ll_plural(e->space->workload_count));
    ll_str_addf(&out, "valid: %" PRIu64 " of %" PRIu64 " that were tried (%s)\n", valid, tried,
                ll_format_percent(&share, (double)valid / (double)tried));
    if (trouble)
        ll_str_addf(&out, "most of the others: %s\n", trouble);
    ll_str_addf(&out, "about %s on %u thread%s\n", ll_format_si(&time, all_s, "s"), ll_pool_threads(e->pool),
                ll_plural(ll_pool_threads(e->pool)));
    ll_add_warning(e->warning, &out);
    return ll_print(&out);
}

static int run_trial(struct exploration *e)
{
    uint64_t tried = ll_min(e->space->point_count, SAMPLE);
    double each_s = 0;
    struct ll_evaluation *evaluations = calloc(tried, sizeof *evaluations);
    if (!evaluations)
        return ll_cli_fail("memory ran out");
    int status =
        try_some(e, evaluations, tried, &each_s) ? report_trial(e, evaluations, tried, each_s) : LL_WRONG;
    free(evaluations);
    return status;
}

/* --- one point --- */

static void point_text(const struct exploration *e, const struct ll_evaluation *point, const uint32_t *values,
                       struct ll_str *out)
{
    const struct ll_space *space = e->space;
    ll_str_addf(out, "%s, point %" PRIu64 "%s%s\n\n", space->name, point->number,
                point->why ? ": not valid: " : "", point->why ? point->why : "");
    for (size_t a = 0; a < space->axis_count; a++)
        ll_str_addf(out, "  %s  %s\n", space->axes[a].path, space->axes[a].values[values[a]].text);
    for (size_t w = 0; w < space->workload_count && point->verdict != LL_VERDICT_INVALID; w++) {
        ll_str_addf(out, "\n%s\n", space->workloads[w].name);
        for (enum ll_measure m = 0; m < LL_MEASURE_COUNT; m++)
            if (isfinite(point->measured[w].of[m]))
                ll_str_addf(out, "  %s  %.6g\n", ll_measure_name(m), point->measured[w].of[m]);
    }
    ll_add_warning(e->warning, out);
}

/* Evaluates the point of --point and prints it; no database is read or written. */
static int run_point(struct exploration *e)
{
    uint64_t number;
    struct ll_str out = {0};
    if (!ll_value_count(e->args, "point", 0, UINT64_MAX, 0, &number))
        return LL_WRONG;
    if (number >= e->space->point_count)
        return ll_cli_reject("--point %" PRIu64 ": the last point of %s is %" PRIu64, number, e->space->name,
                             e->space->point_count - 1);
    uint32_t *values = ll_alloc(e->args->arena, e->space->axis_count + 1, sizeof *values);
    struct ll_evaluation point = {
        .number = number,
        .measured = ll_alloc(e->args->arena, e->space->workload_count, sizeof *point.measured)};
    if (!values || !point.measured)
        return ll_cli_fail("memory ran out");
    ll_space_point(e->space, number, values);
    if (!ll_evaluate(e->evaluator, &point, 1, &e->diags))
        return LL_WRONG;
    if (ll_flag(e->args, "json"))
        ll_sweep_point_json(e->space, &point, e->warning, &(struct ll_json){.out = &out, .indent = true});
    else
        point_text(e, &point, values, &out);
    return ll_print(&out);
}

/* Options of a whole sweep alone. */
static bool is_one_task(const struct ll_args *args)
{
    static const char *const of_sweeps[] = {"dry-run", "resume", "fresh", "shard", "output", NULL};
    return !ll_value(args, "point", NULL) ||
           ll_without(args, of_sweeps, "is for a whole sweep, not for --point");
}

/* --- the sweep --- */

static void show_progress(void *context, const struct ll_sweep_state *state)
{
    struct exploration *e = context;
    struct ll_human done, total, rate;
    double passed_s = (double)(ll_now_ns() - e->start_ns) * 1e-9;
    /* Of all processes, which are as fast as this one. */
    double per_s = (double)state->evaluated * (e->crew ? e->crew->size : 1) / passed_s;
    uint64_t so_far = ll_min(ll_max(state->proposed, state->known + state->evaluated), state->total);
    double rest = (double)(state->total - so_far) / (double)e->shards;
    ll_ticker_tell(&e->ticker, "sweep", (double)so_far / fmax(1, (double)state->total),
                   per_s > 0 ? rest / per_s : NAN, "%s of %s points  %s", ll_format_grouped(&done, so_far),
                   ll_format_grouped(&total, state->total), ll_format_count(&rate, per_s, "points/s"));
}

/* How well processes, or this shard, shared the work. */
struct sharing {
    double cpu_s;     /* of all processes, from their start to their end */
    double imbalance; /* the most points that one of them, or a shard, has, over the mean, less 1 */
};

/* Of the CPU time, the part that evaluated points. */
static double evaluating_share(const struct ll_sweep_state *state, const struct sharing *sharing)
{
    return sharing->cpu_s > 0 ? fmin(1, state->evaluating_cpu_s / sharing->cpu_s) : 0;
}

static void put_sharing(const struct exploration *e, const struct ll_sweep_state *state,
                        const struct sharing *sharing, struct ll_json *json)
{
    if (!e->crew && e->shards <= 1)
        return;
    if (e->crew)
        ll_json_put_count(json, "ranks", e->crew->size);
    ll_json_put_number(json, "cpu_s", sharing->cpu_s);
    ll_json_put_number(json, "evaluating_share", evaluating_share(state, sharing));
    ll_json_put_number(json, "load_imbalance", sharing->imbalance);
}

static void add_sharing(const struct exploration *e, const struct ll_sweep_state *state,
                        const struct sharing *sharing, struct ll_str *out)
{
    struct ll_human share, above;
    ll_format_percent(&share, evaluating_share(state, sharing));
    ll_format_percent(&above, sharing->imbalance);
    if (e->crew)
        ll_str_addf(
            out,
            "  %u ranks: %s of their CPU time evaluated points, none evaluated more than %s above the "
            "mean of points\n",
            e->crew->size, share.text, above.text);
    else if (e->shards > 1)
        ll_str_addf(
            out,
            "  %s of the CPU time evaluated points; no shard has more than %s above the mean of points\n",
            share.text, above.text);
}

static int report_end(const struct exploration *e, const struct ll_sweep_state *state,
                      const struct sharing *sharing, double passed_s)
{
    struct ll_str out = {0};
    struct ll_human points, known, valid, left_out, rate;
    uint64_t all = state->known + state->evaluated;
    if (ll_flag(e->args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_json_open_document(&json, "sweep", 1);
        ll_json_put_text(&json, "database", e->output);
        ll_json_put_bool(&json, "finished", !state->stopped);
        ll_json_put_count(&json, "points", all);
        ll_json_put_count(&json, "known", state->known);
        ll_json_put_count(&json, "evaluated", state->evaluated);
        ll_json_put_count(&json, "valid", state->valid);
        ll_json_put_count(&json, "left_out", state->left_out);
        put_troubles(e->output, e->args->arena, &json);
        ll_put_warning(e->warning, &json);
        ll_json_put_number(&json, "time_s", passed_s);
        put_sharing(e, state, sharing, &json);
        ll_json_close_object(&json);
        return ll_print(&out);
    }
    ll_str_addf(&out, "%s%s: %s point%s, %s of them valid", state->stopped ? "interrupted, " : "",
                e->space->name, ll_format_grouped(&points, all), ll_plural(all),
                ll_format_grouped(&valid, state->valid));
    if (state->left_out)
        ll_str_addf(&out, ", %s pruned, dominated by known ones",
                    ll_format_grouped(&left_out, state->left_out));
    if (state->known)
        ll_str_addf(&out, ", %s already in the database", ll_format_grouped(&known, state->known));
    if (state->evaluated)
        ll_str_addf(&out, ", %s", ll_format_count(&rate, (double)state->evaluated / passed_s, "points/s"));
    ll_str_addf(&out, " -> %s\n", e->output);
    if (state->stopped)
        ll_str_add(&out, "  what was evaluated is kept; the same command goes on from there\n");
    if (state->valid < all)
        ll_add_troubles(e->output, e->args->arena, &out);
    add_sharing(e, state, sharing, &out);
    ll_add_warning(e->warning, &out);
    return ll_print(&out);
}

/* The command as it was typed, but for what no result depends on. */
static const char *command_line(const struct exploration *e)
{
    static const char *const running[] = {"output", "jobs",  "dry-run", "resume",
                                          "fresh",  "shard", "json",    NULL};
    return ll_typed(e->args, running, true);
}

static struct ll_store *open_store(struct exploration *e, const char *path, enum ll_status *status)
{
    char file_hash[20], seed[24];
    snprintf(file_hash, sizeof file_hash, "%016" PRIx64, e->space->text_hash);
    snprintf(seed, sizeof seed, "%" PRIu64, e->space->search.seed);
    struct ll_fact facts[] = {
        {"sweep", e->space->name},     {"file.hash", file_hash},
        {"base", e->space->base},      {"base.name", e->space->machine->name},
        {"search.seed", seed},         {"command", command_line(e)},
        {LL_FACT_WARNING, e->warning},
    };
    struct ll_evaluation base = {0};
    base.measured = ll_alloc(e->args->arena, e->space->workload_count, sizeof *base.measured);
    if (!base.measured) {
        *status = LL_NO_MEMORY;
        ll_cli_fail("memory ran out");
        return NULL;
    }
    ll_evaluator_base(e->evaluator, &base);
    struct ll_store_facts all = {facts, sizeof facts / sizeof *facts - !e->warning, /* the last, if any */
                                 ll_evaluator_workload_hashes(e->evaluator), &base};
    return ll_store_open(path, e->space, &all, ll_flag(e->args, "fresh") && !e->crew, status, &e->diags);
}

/* Into one database; *state is what came of it. */
static int sweep_into(struct exploration *e, const char *path, struct ll_sweep_state *state)
{
    enum ll_status status;
    struct ll_store *store = open_store(e, path, &status);
    if (!store)
        return status == LL_OK ? LL_WRONG : LL_FAILED;
    struct ll_sweep sweep = {.space = e->space,
                             .evaluator = e->evaluator,
                             .store = store,
                             .shard = e->shard,
                             .shards = e->shards,
                             .crew = e->crew,
                             .stop = e->interrupted,
                             .progress = show_progress,
                             .context = e};
    bool done = ll_sweep_run(&sweep, &e->diags);
    ll_ticker_clear(&e->ticker);
    bool closed = ll_store_close(store, &e->diags);
    *state = sweep.state;
    return (done || sweep.state.stopped) && closed ? LL_DONE : LL_FAILED;
}

/* The sum of what all did, and how they shared it; of each rank its points. False when memory ran out. */
static bool add_up_states(const struct ll_sweep_crew *crew, struct ll_sweep_state *state,
                          struct sharing *sharing)
{
    enum { KNOWN, EVALUATED, VALID, STOPPED, LEFT_OUT, EVALUATING, CPU, SUMS };
    double *sums = calloc(SUMS + (size_t)crew->size, sizeof *sums), most = 0;
    if (!sums)
        return false;
    sums[KNOWN] = (double)state->known;
    sums[EVALUATED] = sums[SUMS + crew->rank] = (double)state->evaluated;
    sums[VALID] = (double)state->valid;
    sums[STOPPED] = state->stopped;
    sums[LEFT_OUT] = (double)state->left_out;
    sums[EVALUATING] = state->evaluating_cpu_s;
    sums[CPU] = ll_cpu_s();
    crew->add_up(crew->context, sums, SUMS + (size_t)crew->size);
    state->known = (uint64_t)sums[KNOWN];
    state->evaluated = (uint64_t)sums[EVALUATED];
    state->valid = (uint64_t)sums[VALID];
    state->stopped = sums[STOPPED] > 0;
    state->left_out = (uint64_t)sums[LEFT_OUT];
    state->evaluating_cpu_s = sums[EVALUATING];
    sharing->cpu_s = sums[CPU];
    for (unsigned rank = 0; rank < crew->size; rank++)
        most = fmax(most, sums[SUMS + rank]);
    sharing->imbalance = state->evaluated ? most * crew->size / (double)state->evaluated - 1 : 0;
    free(sums);
    return true;
}

/* Each process into a part of its own, which begins as a copy of what is known; the parts become one. */
static int sweep_parts(struct exploration *e, struct ll_sweep_state *state, struct sharing *sharing)
{
    struct ll_arena *arena = e->args->arena;
    const struct ll_sweep_crew *crew = e->crew;
    const char *part = ll_part_path(e->output, crew->rank, arena);
    bool right = part != NULL, first = crew->rank == 0;
    if (right && first)
        right = ll_parts_join(e->output, ll_flag(e->args, "fresh"), arena, &e->diags);
    int status = crew->agree(crew->context, right ? LL_DONE : LL_FAILED);
    if (status == LL_DONE && !ll_part_begin(e->output, part, &e->diags))
        status = LL_FAILED;
    status = crew->agree(crew->context, status);
    if (status == LL_DONE)
        status = sweep_into(e, part, state);
    if (status != LL_DONE)
        return LL_FAILED;
    if (!add_up_states(crew, state, sharing))
        return ll_cli_fail("memory ran out");
    const double before_s = ll_cpu_s();
    const bool joined = !first || ll_parts_join(e->output, false, arena, &e->diags);
    sharing->cpu_s += ll_cpu_s() - before_s;
    return joined ? LL_DONE : LL_FAILED;
}

/* What is there already has to be of this sweep: reported once, before there are parts of it. */
static int check_output(struct exploration *e)
{
    enum ll_status status;
    if (ll_flag(e->args, "fresh") || access(e->output, F_OK) != 0)
        return LL_DONE;
    struct ll_store *store = open_store(e, e->output, &status);
    if (!store)
        return status == LL_OK ? LL_WRONG : LL_FAILED;
    return ll_store_close(store, &e->diags) ? LL_DONE : LL_FAILED;
}

static int hold_output(struct exploration *e, struct ll_lock **lock)
{
    enum ll_status trouble = LL_OK;
    int status = check_output(e);
    if (status != LL_DONE)
        return status;
    *lock = ll_lock_take(e->output, &trouble, &e->diags);
    return trouble != LL_OK ? LL_FAILED : *lock ? LL_DONE : LL_WRONG;
}

/* The first process holds the output, which none has open all the while. */
static int sweep_together(struct exploration *e, struct ll_sweep_state *state, struct sharing *sharing)
{
    struct ll_lock *lock = NULL;
    int status = e->crew->rank == 0 ? hold_output(e, &lock) : LL_DONE;
    status = e->crew->agree(e->crew->context, status);
    if (status == LL_DONE)
        status = sweep_parts(e, state, sharing);
    ll_lock_release(lock);
    return status;
}

static int sweep_alone(struct exploration *e, struct ll_sweep_state *state, struct sharing *sharing)
{
    const int status = sweep_into(e, e->output, state);
    const struct ll_deal deal = ll_deal_of(ll_sweep_search_total(e->space), e->shards);
    sharing->cpu_s = ll_cpu_s();
    sharing->imbalance = (double)ll_deal_most(&deal) * (double)e->shards / (double)deal.count - 1;
    return status;
}

static int run_sweep(struct exploration *e)
{
    struct ll_sweep_state state = {0};
    struct sharing sharing = {0};
    bool reports = !e->crew || e->crew->rank == 0;
    e->interrupted = ll_catch_interrupts();
    e->ticker = ll_ticker_new(reports);
    e->start_ns = ll_now_ns();
    int status = e->crew ? sweep_together(e, &state, &sharing) : sweep_alone(e, &state, &sharing);
    double passed_s = (double)(ll_now_ns() - e->start_ns) * 1e-9;
    if (status == LL_DONE && reports)
        status = report_end(e, &state, &sharing, passed_s);
    return state.stopped && status == LL_DONE ? LL_INTERRUPTED : status;
}

int ll_run_sweep(const struct ll_args *args, const struct ll_sweep_crew *crew)
{
    assert(!crew || crew->rank < crew->size);
    struct exploration *e = calloc(1, sizeof *e);
    if (!e)
        return ll_cli_fail("memory ran out");
    e->args = args;
    e->crew = crew;
    ll_sweep_servings_begin(&e->servings);
    int status = ll_flag(args, "resume") && ll_flag(args, "fresh")
                     ? ll_cli_reject("--resume and --fresh exclude each other")
                 : is_one_task(args) ? read_space(e)
                                     : LL_WRONG;
    if (crew)
        status = crew->agree(crew->context, status);
    if (status == LL_DONE && ll_value(args, "point", NULL))
        status = !crew || crew->rank == 0 ? run_point(e) : LL_DONE;
    else if (status == LL_DONE && ll_flag(args, "dry-run"))
        status = !crew || crew->rank == 0 ? run_trial(e) : LL_DONE;
    else if (status == LL_DONE)
        status = run_sweep(e);
    ll_print_diags(&e->diags);
    ll_diags_release(&e->diags);
    ll_evaluator_free(e->evaluator);
    ll_sweep_servings_end(&e->servings);
    ll_pool_free(e->pool);
    ll_space_free(e->space);
    free(e);
    return status;
}

static int run(const struct ll_args *args)
{
    return ll_run_sweep(args, NULL);
}

static const struct ll_option options[] = {
    {"output", 'o', "R.db", "the database (default: SWEEP.db in this folder); a shard writes R.1of8.db"},
    {"jobs", 'j', "N", "threads (default: one per CPU)"},
    {"dry-run", 0, NULL, "try a few points and estimate how many are valid and how long the sweep will take"},
    {"resume", 0, NULL, "continue an existing database; fail if there is none"},
    {"fresh", 0, NULL, "discard what the database holds and start again"},
    {"point", 0, "N", "evaluate point N alone, as pareto numbers it, and print its values and results"},
    {"shard", 0, "I/N",
     "evaluate part I of N, into R.IofN.db; auto: take both from the environment of a job array or MPI"},
    {0},
};

const struct ll_command ll_command_sweep = {
    .name = "sweep",
    .synopsis = "SWEEP.yaml",
    .summary = "evaluate many designs from one file into a database",
    .examples = "  leadline sweep arrays.yaml --dry-run\n"
                "  leadline sweep arrays.yaml -o arrays.db -j 2\n"
                "  leadline sweep arrays.yaml --shard auto        in a job array; then leadline merge\n",
    .details = "Points that are in the database already are not evaluated again, so an interrupted sweep "
               "goes on where it stopped. sim/explore/README.md describes the sweep file.\n",
    .options = options,
    .writes = (const char *const[]){"output", NULL},
    .least_words = 1,
    .most_words = 1,
    .run = run,
};
