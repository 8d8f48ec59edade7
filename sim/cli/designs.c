/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/designs.h"

#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/explore/store.h"
#include "sim/machine/node.h"
#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "tracer/transform/scale.h"
#include "tracer/transform/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        const char *name = space->workloads[i].model;
        const struct ll_model *model = name ? ll_model_find(name) : NULL;
        right = !model || check_value(model, strchr(axis->path, '.') + 1, value,
                                      value->node ? value->node->place : axis->place, diags);
    }
    return right;
}

bool ll_check_values(const struct ll_space *space, struct ll_diags *diags)
{
    bool right = true;
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        for (uint32_t i = 0; axis->target == LL_AXIS_MODEL && i < axis->value_count; i++)
            right &= check_by_all(space, axis, &axis->values[i], diags);
    }
    return right;
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
           ll_complain(diags, workload->place, "`%s`: no weight can be stored as %s: %s", workload->name,
                       ll_dtype_name(workload->weights), trouble ? trouble : "memory ran out");
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
    if (workload->dtype != LL_DTYPE_COUNT && !ll_trace_retype(*trace, workload->dtype, &trouble))
        return ll_complain(diags, workload->place, "`%s` as %s: %s", workload->name,
                           ll_dtype_name(workload->dtype), trouble ? trouble : "memory ran out");
    if (!prune(workload, *trace, diags))
        return false;
    if (!ll_narrow_products(trace, workload->products, &trouble))
        return ll_complain(diags, workload->place, "`%s`: no product can be taken as %s: %s", workload->name,
                           ll_dtype_name(workload->products), trouble);
    return store(workload, *trace, diags) &&
           (ll_gaps_scale(*trace, workload->gaps) || ll_complain(diags, workload->place, "memory ran out"));
}

struct ll_trace *ll_bring_workload(void *context, const struct ll_space_workload *workload,
                                   const struct ll_space_setting *settings, size_t count,
                                   struct ll_diags *diags)
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
            ll_wrong("--shard auto: task %" PRIu64 " (%s) is none of %" PRIu64 " from %" PRIu64, *shard,
                     launcher->index, *shards, first);
            return false;
        }
        *shard -= first;
        return true;
    }
    ll_wrong("--shard auto: no job array or MPI launcher says which task this is (%s and the like are not "
             "set)%s",
             launchers[2].index, given ? "" : "; where it does not say of how many, give auto/N");
    return false;
}

bool ll_read_shard(const char *text, uint64_t *shard, uint64_t *shards)
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
    ll_wrong("--shard %s: expected which of how many, as 1/8, or auto", text);
    return false;
}

/* Reasons that are told: people want the few that matter. */
enum { MOST_TOLD = 3, MOST_IN_JSON = 100 };

void ll_add_troubles(const char *path, struct ll_arena *arena, struct ll_str *out)
{
    struct ll_store_trouble troubles[MOST_TOLD];
    size_t count = ll_store_troubles(path, arena, MOST_TOLD, troubles);
    struct ll_human text;
    for (size_t i = 0; i < count; i++)
        ll_str_addf(out, "  %s point%s: %s\n", ll_grouped(&text, troubles[i].count),
                    ll_plural(troubles[i].count), troubles[i].why ? troubles[i].why : "");
}

void ll_put_troubles(const char *path, struct ll_arena *arena, struct ll_json *json)
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
