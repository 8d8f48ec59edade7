/* SPDX-License-Identifier: Apache-2.0 */
/* What the plan of a study asks for. The first section simulates families of workloads on platforms, the
 * second records workloads and reads machines. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/model.h"
#include "sim/cli/commands.h"
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/quiet.h"
#include "sim/cli/study_recordings.h"
#include "sim/cost/cost_parts.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "sim/study/study.h"
#include "tracer/base/pool.h"
#include "tracer/transform/dtype.h"

/* Running an experiment (sim/study/study.h): every point is recorded dry, once for platforms that ask for the
 * same, and replayed on each platform, by all CPUs at hand. */

/* Points are independent of each other: a thread takes one, records what its platforms ask for, replays,
 * writes the numbers where they belong, and forgets the rest. */

enum { MOST_SETTINGS = LL_MOST_FAMILY_AXES + LL_MOST_FIXED + 1, CHUNK = 8 };

struct experiment_run {
    const struct ll_experiment *experiment;
    const struct ll_model *model;
    struct ll_machine *machines[LL_MOST_PLATFORMS];
    struct ll_experiment_point *at;
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

static void describe(const struct ll_experiment *experiment, const struct ll_model *model, uint64_t point,
                     const struct ll_platform *platform, struct replica *replica)
{
    const struct ll_family *family = experiment->family;
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
    if (!replica->retyped || ll_trace_change_dtype(trace, ll_dtype_find(replica->dtype), &trouble))
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
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
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

/* What is no GEMM and waits for the outermost memory. Batch normalisation counts with the convolutions, of
 * which compilers make it a part. */
static double memory_s(const struct ll_result *result)
{
    uint32_t outermost = LL_BOUND_LEVEL + (uint32_t)result->machine->level_count - 1;
    double time_s = 0;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        bool product = ll_class_is_gemm(kind->op_class);
        bool joins = strncmp(kind->kind, "batch_norm", strlen("batch_norm")) == 0;
        time_s += !product && !joins && kind->bound == outermost ? kind->time_s : 0;
    }
    return time_s;
}

/* What a prepared replica makes of a platform. */
static void simulate(const struct ll_prepared *prepared, const struct ll_machine *machine,
                     const struct ll_platform *platform, struct ll_experiment_point *at,
                     struct ll_diags *diags)
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
static void take_recording(const struct experiment_run *run, uint64_t i, size_t first,
                           const struct replica *replica, struct ll_diags *diags)
{
    const struct ll_experiment *experiment = run->experiment;
    struct ll_experiment_point *at = &run->at[i * experiment->platform_count];
    struct ll_run_report report;
    struct ll_arena arena = {0};
    struct ll_trace *trace = record(run->model, replica, &report, diags);
    const struct ll_prepared *prepared = trace ? ll_prepare(trace, &arena, diags) : NULL;
    for (size_t p = first; prepared && p < experiment->platform_count; p++) {
        const struct ll_platform *platform = &experiment->platforms[p];
        struct replica same;
        describe(experiment, run->model, i, platform, &same);
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
    const struct experiment_run *run = context;
    (void)chunk;
    for (uint64_t i = begin; i < end; i++)
        for (size_t p = 0; p < run->experiment->platform_count; p++) {
            struct replica replica;
            if (run->at[i * run->experiment->platform_count + p].simulated)
                continue;
            describe(run->experiment, run->model, i, &run->experiment->platforms[p], &replica);
            take_recording(run, i, p, &replica, &run->diags[ll_pool_worker()]);
        }
}

static bool load_machines(struct experiment_run *run)
{
    struct ll_arena arena = {0};
    const char *const *folders = ll_machine_folders(&arena);
    bool all = folders != NULL;
    for (size_t p = 0; all && p < run->experiment->platform_count; p++) {
        const struct ll_platform *platform = &run->experiment->platforms[p];
        size_t count = 0;
        while (count < LL_MOST_PLATFORM_OVERRIDES && platform->overrides[count].path)
            count++;
        run->machines[p] = ll_load_machine(platform->machine, folders, platform->overrides, count);
        all = run->machines[p] != NULL;
    }
    ll_arena_release(&arena);
    return all;
}

static int finish(const struct experiment_run *run, unsigned workers)
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
static int run_points(struct experiment_run *run, uint64_t count)
{
    struct ll_pool *pool = ll_pool_new(0);
    unsigned workers = pool ? ll_pool_threads(pool) : 1;
    int status = LL_FAILED;
    run->diags = calloc(workers, sizeof *run->diags);
    if (!run->diags)
        ll_cli_fail("memory ran out");
    else if (load_machines(run)) {
        ll_cli_tell("simulating %s: %" PRIu64 " point%s on %zu platform%s\n", run->experiment->family->name,
                    count, ll_plural(count), run->experiment->platform_count,
                    ll_plural(run->experiment->platform_count));
        ll_pool_run(pool, count, CHUNK, take_points, run);
        status = finish(run, workers);
    }
    for (size_t p = 0; p < run->experiment->platform_count; p++)
        ll_machine_free(run->machines[p]);
    free(run->diags);
    ll_pool_free(pool);
    return status;
}

static void experiment_result_free(struct ll_experiment_result *result);

/* An exit status, after saying what is wrong. *result is NULL where there is no such workload, which is said;
 * else to be freed. Tells on standard error how far it is. */
static int ll_experiment_run(const struct ll_experiment *experiment, struct ll_experiment_result **result)
{
    struct experiment_run run = {.experiment = experiment, .model = ll_model_find(experiment->family->model)};
    uint64_t size = ll_family_size(experiment->family);
    *result = NULL;
    if (!run.model) {
        ll_cli_tell("there is no workload `%s`; what is made of it is left out\n", experiment->family->model);
        return LL_DONE;
    }
    struct ll_experiment_result *made = calloc(1, sizeof *made);
    run.at = calloc(size * experiment->platform_count, sizeof *run.at);
    if (made)
        *made = (struct ll_experiment_result){*experiment, size, run.at};
    int status = made && run.at ? LL_DONE : ll_cli_fail("memory ran out");
    if (status == LL_DONE)
        status = run_points(&run, size);
    if (status != LL_DONE) {
        experiment_result_free(made);
        return status;
    }
    *result = made;
    return LL_DONE;
}

static void experiment_result_free(struct ll_experiment_result *result)
{
    if (!result)
        return;
    free(result->at);
    free(result);
}

void ll_library_release(struct ll_library *library)
{
    for (uint64_t i = 0; i < library->entry_count; i++) {
        ll_trace_free(library->entries[i].trace);
        free(library->entries[i].losses);
        free(library->entries[i].scores);
    }
    for (uint64_t i = 0; i < library->experiment_count; i++)
        experiment_result_free(library->experiments[i].result);
    free(library->entries);
    free(library->experiments);
    *library = (struct ll_library){0};
}

static void tell(const struct ll_recording *recording, uint64_t number, uint64_t count)
{
    ll_cli_tell("recording %" PRIu64 " of %" PRIu64 ": %s, %s%s, %" PRIu64 " step%s\n", number, count,
                recording->model, recording->train ? "training" : "inference",
                recording->dry_run ? ", dry" : "", recording->steps, ll_plural(recording->steps));
}

/* With GEMMs in the type that the recording wants. */
static int narrow(const struct ll_recording *recording, struct ll_trace **trace)
{
    const char *trouble, *name = recording->products;
    return ll_narrow_gemms(trace, name ? ll_numeric_find(name) : LL_NUMERIC_NONE, &trouble)
               ? LL_DONE
               : ll_cli_fail("%s: no GEMM can be computed in %s: %s", recording->model, name, trouble);
}

/* What is noted between the steps of a recording: losses, where there is room for them, and times of fixed
 * work, as many as there is room for, evenly apart. */
struct listener {
    double *losses;
    struct ll_steady steady;
};

static void listen(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    struct listener *listener = context;
    (void)step_s;
    if (listener->losses)
        listener->losses[step - 1] = loss;
    if (step * LL_STEADY_LOOKS / steps > (step - 1) * LL_STEADY_LOOKS / steps)
        ll_steady_look(&listener->steady);
}

static void take_recipe(const struct ll_training_recipe *recipe, struct ll_run_options *options)
{
    options->batch = recipe->batch;
    options->settings = recipe->settings;
    while (options->setting_count < LL_MOST_RECIPE_SETTINGS && recipe->settings[options->setting_count].key)
        options->setting_count++;
}

/* What the model said of itself before and after training. False when memory ran out. */
static bool keep_scores(const struct ll_run_report *report, struct ll_library_entry *entry)
{
    const size_t count = report->after.count;
    if (count == 0 || report->before.count != count)
        return true;
    entry->scores = calloc(count, sizeof *entry->scores);
    for (size_t i = 0; entry->scores && i < count; i++)
        entry->scores[i] = (struct ll_study_score){report->after.at[i].name, report->after.at[i].doc,
                                                   report->before.at[i].value, report->after.at[i].value};
    entry->score_count = entry->scores ? count : 0;
    return entry->scores != NULL;
}

static int record_workload(const struct ll_model *model, struct listener *listener,
                           struct ll_library_entry *entry)
{
    const struct ll_recording *recording = &entry->recording;
    struct ll_setting settings[LL_MOST_STUDY_SETTINGS];
    struct ll_run_options options = {.train = recording->train,
                                     .evaluate = recording->scored && model->evaluate,
                                     .dry_run = recording->dry_run,
                                     .batch = recording->batch,
                                     .steps = recording->steps,
                                     .seed = 1,
                                     .threads = recording->threads,
                                     .settings = settings,
                                     .progress = listen,
                                     .context = listener,
                                     .trace = &entry->trace};
    while (options.setting_count < LL_MOST_STUDY_SETTINGS && recording->settings[options.setting_count].key) {
        const struct ll_study_setting *setting = &recording->settings[options.setting_count];
        settings[options.setting_count++] = (struct ll_setting){setting->key, setting->value};
    }
    if (recording->recipe)
        take_recipe(&model->recipe, &options);
    struct ll_run_report report;
    int status = ll_run_workload(model, &options, &report);
    if (status == LL_DONE && !keep_scores(&report, entry))
        status = ll_cli_fail("memory ran out");
    return status == LL_DONE ? narrow(recording, &entry->trace) : status;
}

static struct ll_library_entry *find(const struct ll_library *library, const struct ll_recording *recording)
{
    for (uint64_t i = 0; i < library->entry_count; i++)
        if (ll_same_recording(&library->entries[i].recording, recording))
            return &library->entries[i];
    return NULL;
}

/* Of a recording in the library. */
static struct ll_losses losses_of(const struct ll_library *library, const struct ll_recording *recording)
{
    const struct ll_library_entry *entry = find(library, recording);
    return entry && entry->losses
               ? (struct ll_losses){entry->losses, recording->steps, entry->scores, entry->score_count}
               : (struct ll_losses){.at = NULL};
}

/* How much fixed work varied: the larger of deviation and drift, of all kinds of it. 0 when it was not
 * timed, or memory ran out. */
static double noise_of(const struct ll_steady *steady)
{
    struct ll_arena scratch = {0};
    double noise = 0;
    for (int work = 0; work < LL_STEADY_WORKS && steady->count > 0; work++) {
        noise = fmax(noise, ll_robust_variation(steady->time_s[work], steady->count, &scratch));
        noise = fmax(noise, fabs(ll_drift(steady->time_s[work], steady->count, &scratch)));
    }
    ll_arena_release(&scratch);
    return noise;
}

/* Records, and what runs natively only after other programs have stopped, as long as there is patience. Fixed
 * work is timed between its steps. */
static int record_quietly(struct ll_library *library, const struct ll_model *model,
                          struct ll_library_entry *entry)
{
    const bool native = !entry->recording.dry_run;
    const struct ll_quiet_mark before = ll_quiet_mark();
    bool quiet = !native || ll_quiet_wait(library->patience_s);
    const struct ll_quiet_mark mark = ll_quiet_mark();
    struct listener listener = {.losses = entry->losses};
    library->patience_s = fmax(0, library->patience_s - (mark.at_s - before.at_s));
    if (native)
        ll_steady_init(&listener.steady);
    int status = record_workload(model, &listener, entry);
    entry->quiet = !native || (quiet && ll_quiet_others(&mark) < LL_QUIET_CPUS);
    entry->noise = noise_of(&listener.steady);
    ll_steady_release(&listener.steady);
    return status;
}

int ll_bring_one(struct ll_library *library, const struct ll_recording *recording,
                 const struct ll_trace **trace)
{
    assert(recording->model);
    struct ll_library_entry *entry = find(library, recording);
    if (entry) {
        *trace = entry->trace;
        return LL_DONE;
    }
    if (!ll_grow(&library->entries, &library->capacity, library->entry_count + 1, sizeof *entry))
        return ll_cli_fail("memory ran out");
    entry = &library->entries[library->entry_count];
    *entry = (struct ll_library_entry){.recording = *recording};
    const struct ll_model *model = ll_model_find(recording->model);
    int status = LL_DONE;
    if (model && !recording->dry_run && !(entry->losses = calloc(recording->steps, sizeof *entry->losses)))
        return ll_cli_fail("memory ran out");
    if (model)
        status = record_quietly(library, model, entry);
    else
        ll_cli_tell("there is no workload `%s`; what is made of it is left out\n", recording->model);
    library->entry_count += status == LL_DONE;
    if (status != LL_DONE) {
        free(entry->losses);
        free(entry->scores);
    }
    *trace = entry->trace;
    return status;
}

/* The result of an experiment, made when it is new. */
static int obtain_experiment(struct ll_library *library, const struct ll_experiment *experiment,
                             const struct ll_experiment_result **result)
{
    for (uint64_t i = 0; i < library->experiment_count; i++)
        if (ll_same_experiment(&library->experiments[i].experiment, experiment)) {
            *result = library->experiments[i].result;
            return LL_DONE;
        }
    if (!ll_grow(&library->experiments, &library->experiment_capacity, library->experiment_count + 1,
                 sizeof *library->experiments))
        return ll_cli_fail("memory ran out");
    struct ll_experiment_entry *entry = &library->experiments[library->experiment_count];
    *entry = (struct ll_experiment_entry){.experiment = *experiment};
    int status = ll_experiment_run(&entry->experiment, &entry->result);
    library->experiment_count += status == LL_DONE;
    *result = entry->result;
    return status;
}

int ll_bring_plan(struct ll_library *library, const struct ll_study_plan *plan, struct ll_arena *arena,
                  struct ll_brought *brought)
{
    const char *const *folders = ll_machine_folders(arena);
    brought->quiet = true;
    brought->traces = ll_alloc(arena, plan->recording_count, sizeof *brought->traces);
    brought->losses = ll_alloc(arena, plan->recording_count, sizeof *brought->losses);
    brought->noise = ll_alloc(arena, plan->recording_count, sizeof *brought->noise);
    brought->machines = ll_alloc(arena, plan->target_count, sizeof *brought->machines);
    brought->experiments = ll_alloc(arena, plan->experiment_count, sizeof *brought->experiments);
    if (!folders || !brought->traces || !brought->losses || !brought->noise || !brought->machines ||
        !brought->experiments)
        return ll_cli_fail("memory ran out");
    for (uint64_t i = 0; i < plan->target_count; i++) {
        const struct ll_study_machine *target = &plan->targets[i];
        size_t count = 0;
        while (count < LL_MOST_STUDY_OVERRIDES && target->overrides[count].path)
            count++;
        brought->machines[i] = ll_load_machine(target->machine, folders, target->overrides, count);
        if (!brought->machines[i])
            return LL_WRONG;
        brought->machine_count = i + 1;
    }
    for (uint64_t i = 0; i < plan->recording_count; i++) {
        const struct ll_recording *recording = &plan->recordings[i];
        if (ll_model_find(recording->model) && !find(library, recording))
            tell(recording, i + 1, plan->recording_count);
        int status = ll_bring_one(library, recording, &brought->traces[i]);
        if (status != LL_DONE)
            return status;
        brought->losses[i] = losses_of(library, recording);
        const struct ll_library_entry *entry = find(library, recording);
        brought->quiet &= !entry || !entry->trace || entry->quiet;
        brought->noise[i] = entry ? entry->noise : 0;
    }
    for (uint64_t i = 0; i < plan->experiment_count; i++) {
        int status = obtain_experiment(library, &plan->experiments[i], &brought->experiments[i]);
        if (status != LL_DONE)
            return status;
    }
    return LL_DONE;
}

void ll_brought_release(struct ll_brought *brought)
{
    for (uint64_t i = 0; i < brought->machine_count; i++)
        ll_machine_free(brought->machines[i]);
    *brought = (struct ll_brought){0};
}
