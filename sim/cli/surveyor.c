/* SPDX-License-Identifier: Apache-2.0 */
/* Points are independent of each other: a thread takes one, records what its platforms ask for, replays,
 * writes the numbers where they belong, and forgets the rest. */
#include "sim/cli/surveyor.h"

#include "models/model.h"
#include "sim/cli/load.h"
#include "sim/cli/paths.h"
#include "sim/cost/cost_parts.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/pool.h"
#include "tracer/transform/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETTINGS = LL_MOST_FAMILY_AXES + LL_MOST_FIXED + 1, CHUNK = 8 };

struct survey_run {
    const struct ll_survey *survey;
    const struct ll_model *model;
    struct ll_machine *machines[LL_MOST_PLATFORMS];
    struct ll_surveyed *at;
    struct ll_diags *diags; /* of each worker */
};

/* What a replica runs, as settings of the model; platforms that are alike in it share a recording. */
struct replica {
    char texts[LL_MOST_FAMILY_AXES][24];
    struct ll_setting settings[MOST_SETTINGS];
    size_t setting_count;
    uint64_t batch;
    const char *dtype;
    bool retyped; /* the model knows no type: what was recorded becomes it */
};

static void add_setting(struct replica *replica, const char *key, const char *value)
{
    replica->settings[replica->setting_count++] = (struct ll_setting){key, value};
}

/* Whether the model has a parameter `dtype` that may be this word. */
static bool takes_dtype(const struct ll_model *model, const char *dtype)
{
    for (size_t i = 0; i < model->param_count; i++) {
        const struct ll_model_param *param = &model->params[i];
        for (int64_t value = param->min; strcmp(param->name, "dtype") == 0 && value <= param->max; value++) {
            const char *word = ll_model_word(model, i, value);
            if (word && strcmp(word, dtype) == 0)
                return true;
        }
    }
    return false;
}

static void describe(const struct ll_survey *survey, const struct ll_model *model, uint64_t point,
                     const struct ll_platform *platform, struct replica *replica)
{
    const struct ll_family *family = survey->family;
    uint64_t values[LL_MOST_FAMILY_AXES];
    ll_family_point(family, point, values);
    *replica = (struct replica){.dtype = platform->dtype};
    for (size_t i = 0; i < ll_family_axes(family); i++) {
        if (strcmp(family->axes[i].key, "batch") == 0) {
            replica->batch = ll_max(1, values[i] * platform->batches / platform->devices);
            continue;
        }
        snprintf(replica->texts[i], sizeof replica->texts[i], "%" PRIu64, values[i]);
        add_setting(replica, family->axes[i].key, replica->texts[i]);
    }
    for (size_t i = 0; i < LL_MOST_FIXED && family->fixed[i].key; i++)
        add_setting(replica, family->fixed[i].key, family->fixed[i].value);
    replica->retyped = !takes_dtype(model, platform->dtype);
    if (!replica->retyped)
        add_setting(replica, "dtype", platform->dtype);
}

/* One step of it, training; NULL after a complaint. */
static struct ll_trace *record(const struct ll_model *model, const struct replica *replica,
                               struct ll_run_report *report, struct ll_diags *diags)
{
    struct ll_trace *trace = NULL;
    const struct ll_run_options options = {.train = true,
                                           .dry_run = true,
                                           .batch = replica->batch,
                                           .steps = 1,
                                           .seed = 1,
                                           .settings = replica->settings,
                                           .setting_count = replica->setting_count,
                                           .trace = &trace};
    const char *trouble = NULL;
    if (!ll_model_run(model, &options, report, diags))
        return NULL;
    if (!replica->retyped || ll_trace_retype(trace, ll_dtype_find(replica->dtype), &trouble))
        return trace;
    ll_complain(diags, (struct ll_place){0}, "%s in %s: %s", model->name, replica->dtype,
                trouble ? trouble : "memory ran out");
    ll_trace_free(trace);
    return NULL;
}

/* Adding up the gradients of all weights, one after the other. */
static double exchange_s(const struct ll_trace *trace, const struct ll_machine *machine, uint64_t devices)
{
    struct ll_prices prices = {0};
    struct ll_exchanges *exchanges = devices > 1 ? ll_exchanges_new(machine, devices, &prices) : NULL;
    double time_s = 0;
    for (uint64_t i = 0; exchanges && i < trace->tensor_count; i++) {
        const struct ll_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer != LL_NONE || desc->memory != LL_WEIGHT)
            continue;
        const struct ll_asked asked = {
            .kind = LL_OP_ALL_REDUCE, .bytes = ll_size_bytes(&desc->shape), .devices = devices, .stride = 1};
        const struct ll_price *price = ll_exchanges_price(exchanges, &asked);
        time_s += price && !price->trouble ? price->exchanged.time_s : 0;
    }
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    return time_s;
}

/* What is no product and waits for the outermost memory. Batch normalisation counts with the convolutions, of
 * which compilers make it a part. */
static double memory_s(const struct ll_result *result)
{
    uint32_t outermost = LL_BOUND_LEVEL + (uint32_t)result->machine->level_count - 1;
    double time_s = 0;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        bool product = ll_class_is_product(kind->op_class);
        bool joins = strncmp(kind->kind, "batch_norm", strlen("batch_norm")) == 0;
        time_s += !product && !joins && kind->bound == outermost ? kind->time_s : 0;
    }
    return time_s;
}

/* What a prepared replica makes of a platform. */
static void simulate(const struct ll_prepared *prepared, const struct ll_machine *machine,
                     const struct ll_platform *platform, struct ll_surveyed *at, struct ll_diags *diags)
{
    struct ll_machine with_input = ll_machine_with_input(machine);
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    double devices = (double)platform->devices;
    struct ll_arena scratch = {0};
    struct ll_infeed infeed = {0};
    enum ll_dtype computed;
    const struct ll_result *result = ll_replay(prepared, &with_input, &scratch, diags);
    if (result) {
        at->exchange_s = exchange_s(prepared->trace, machine, platform->devices);
        at->device_s = infeed.device_s = result->time_s + at->exchange_s;
        at->memory_s = memory_s(result) + at->exchange_s;
        ll_infeed_host(prepared, machine, &infeed);
        ll_infeed_share(machine, &infeed);
        at->host_s = infeed.prepare_s + infeed.transfer_s;
        at->step_s = infeed.step_s;
        at->flops = prepared->flops * devices;
        at->bytes = prepared->bytes * devices;
        at->peak_flops = ll_computed_peak_flops(machine, prepared->dtype, &computed) * devices;
        at->memory_Bps = memory->bandwidth_Bps * devices;
        at->peak_bytes = (double)result->footprint->peak_bytes;
        at->fits = at->peak_bytes <= (double)memory->size_bytes;
        at->simulated = true;
    }
    ll_arena_release(&scratch);
}

/* All platforms from this one on that ask for the same recording. */
static void take_recording(const struct survey_run *run, uint64_t i, size_t first,
                           const struct replica *replica, struct ll_diags *diags)
{
    const struct ll_survey *survey = run->survey;
    struct ll_surveyed *at = &run->at[i * survey->platform_count];
    struct ll_run_report report;
    struct ll_arena arena = {0};
    struct ll_trace *trace = record(run->model, replica, &report, diags);
    const struct ll_prepared *prepared = trace ? ll_prepare(trace, &arena, diags) : NULL;
    for (size_t p = first; prepared && p < survey->platform_count; p++) {
        const struct ll_platform *platform = &survey->platforms[p];
        struct replica same;
        describe(survey, run->model, i, platform, &same);
        if (same.batch != replica->batch || strcmp(same.dtype, replica->dtype) != 0)
            continue;
        at[p].parameters = (double)report.parameters;
        at[p].samples = (double)(replica->batch * platform->devices);
        simulate(prepared, run->machines[p], platform, &at[p], diags);
    }
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void take_points(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct survey_run *run = context;
    (void)chunk;
    for (uint64_t i = begin; i < end; i++)
        for (size_t p = 0; p < run->survey->platform_count; p++) {
            struct replica replica;
            if (run->at[i * run->survey->platform_count + p].simulated)
                continue;
            describe(run->survey, run->model, i, &run->survey->platforms[p], &replica);
            take_recording(run, i, p, &replica, &run->diags[ll_pool_worker()]);
        }
}

static bool load_machines(struct survey_run *run)
{
    struct ll_arena arena = {0};
    const char *const *folders = ll_machine_folders(&arena);
    bool all = folders != NULL;
    for (size_t p = 0; all && p < run->survey->platform_count; p++) {
        const struct ll_platform *platform = &run->survey->platforms[p];
        size_t count = 0;
        while (count < LL_MOST_PLATFORM_OVERRIDES && platform->overrides[count].path)
            count++;
        run->machines[p] = ll_load_machine(platform->machine, folders, platform->overrides, count);
        all = run->machines[p] != NULL;
    }
    ll_arena_release(&arena);
    return all;
}

static int finish(const struct survey_run *run, unsigned workers)
{
    uint64_t complaints = 0;
    for (unsigned i = 0; i < workers; i++) {
        ll_print_diags(&run->diags[i]);
        complaints += run->diags[i].count;
        ll_diags_release(&run->diags[i]);
    }
    return complaints ? LL_FAILED : LL_DONE;
}

/* All points, by a pool; the result has room for them. */
static int run_points(struct survey_run *run, uint64_t count)
{
    struct ll_pool *pool = ll_pool_new(0);
    unsigned workers = pool ? ll_pool_threads(pool) : 1;
    int status = LL_FAILED;
    run->diags = calloc(workers, sizeof *run->diags);
    if (!run->diags)
        ll_failed("memory ran out");
    else if (load_machines(run)) {
        fprintf(stderr, "surveying %s: %" PRIu64 " points on %zu platforms\n", run->survey->family->name,
                count, run->survey->platform_count);
        ll_pool_run(pool, count, CHUNK, take_points, run);
        status = finish(run, workers);
    }
    for (size_t p = 0; p < run->survey->platform_count; p++)
        ll_machine_free(run->machines[p]);
    free(run->diags);
    ll_pool_free(pool);
    return status;
}

int ll_survey_run(const struct ll_survey *survey, struct ll_survey_result **result)
{
    struct survey_run run = {.survey = survey, .model = ll_model_find(survey->family->model)};
    uint64_t size = ll_family_size(survey->family);
    *result = NULL;
    if (!run.model) {
        fprintf(stderr, "there is no workload `%s`; what is made of it is left out\n", survey->family->model);
        return LL_DONE;
    }
    struct ll_survey_result *made = calloc(1, sizeof *made);
    run.at = calloc(size * survey->platform_count, sizeof *run.at);
    if (made)
        *made = (struct ll_survey_result){*survey, size, run.at};
    int status = made && run.at ? LL_DONE : ll_failed("memory ran out");
    if (status == LL_DONE)
        status = run_points(&run, size);
    if (status != LL_DONE) {
        ll_survey_result_free(made);
        return status;
    }
    *result = made;
    return LL_DONE;
}

void ll_survey_result_free(struct ll_survey_result *result)
{
    if (!result)
        return;
    free(result->at);
    free(result);
}
