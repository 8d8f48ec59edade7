/* SPDX-License-Identifier: Apache-2.0 */
/* leadline study. The first section simulates families of workloads on platforms, the second records
 * workloads and reads machines for a study's plan, the third is the command. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/model.h"
#include "sim/cli/commands.h"
#include "sim/cli/command.h"
#include "sim/cli/figure_file.h"
#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/cli/quiet.h"
#include "sim/cli/study_page.h"
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
        fprintf(stderr, "simulating %s: %" PRIu64 " points on %zu platforms\n", run->experiment->family->name,
                count, run->experiment->platform_count);
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
        fprintf(stderr, "there is no workload `%s`; what is made of it is left out\n",
                experiment->family->model);
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
    fprintf(stderr, "recording %" PRIu64 " of %" PRIu64 ": %s, %s%s, %" PRIu64 " step%s\n", number, count,
            recording->model, recording->train ? "training" : "inference", recording->dry_run ? ", dry" : "",
            recording->steps, ll_plural(recording->steps));
}

/* With GEMMs in the type that the recording wants. */
static int narrow(const struct ll_recording *recording, struct ll_trace **trace)
{
    const char *trouble, *name = recording->products;
    return ll_narrow_gemms(trace, name ? ll_numeric_find(name) : LL_NUMERIC_NONE, &trouble)
               ? LL_DONE
               : ll_cli_fail("%s: no GEMM can be computed in %s: %s", recording->model, name, trouble);
}

static void note_loss(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    (void)steps, (void)step_s;
    ((double *)context)[step - 1] = loss;
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

/* The entry's losses have room for all steps, or are NULL. */
static int record_workload(const struct ll_model *model, struct ll_library_entry *entry)
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
                                     .progress = entry->losses ? note_loss : NULL,
                                     .context = entry->losses,
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

/* Records, and what runs natively only after other programs have stopped, as long as there is patience. */
static int record_quietly(struct ll_library *library, const struct ll_model *model,
                          struct ll_library_entry *entry)
{
    const bool native = !entry->recording.dry_run;
    const struct ll_quiet_mark before = ll_quiet_mark();
    bool quiet = !native || ll_quiet_wait(library->patience_s);
    const struct ll_quiet_mark mark = ll_quiet_mark();
    library->patience_s = fmax(0, library->patience_s - (mark.at_s - before.at_s));
    int status = record_workload(model, entry);
    entry->quiet = !native || (quiet && ll_quiet_others(&mark) < LL_QUIET_CPUS);
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
        fprintf(stderr, "there is no workload `%s`; what is made of it is left out\n", recording->model);
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

/* What a plan was answered with; {0} to begin with. */
struct brought {
    const struct ll_trace **traces;
    struct ll_losses *losses;
    struct ll_machine **machines;
    uint64_t machine_count;
    const struct ll_experiment_result **experiments;
    bool quiet; /* nothing else ran while any of the traces was recorded */
};

/* Records what is missing, says so on standard error, and reads the machines. An exit status, after saying
 * what is wrong. The arrays live in the arena, traces and losses in the library; machines are freed by
 * brought_release. */
static int bring_plan(struct ll_library *library, const struct ll_study_plan *plan, struct ll_arena *arena,
                      struct brought *brought)
{
    const char *const *folders = ll_machine_folders(arena);
    brought->quiet = true;
    brought->traces = ll_alloc(arena, plan->recording_count, sizeof *brought->traces);
    brought->losses = ll_alloc(arena, plan->recording_count, sizeof *brought->losses);
    brought->machines = ll_alloc(arena, plan->target_count, sizeof *brought->machines);
    brought->experiments = ll_alloc(arena, plan->experiment_count, sizeof *brought->experiments);
    if (!folders || !brought->traces || !brought->losses || !brought->machines || !brought->experiments)
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
    }
    for (uint64_t i = 0; i < plan->experiment_count; i++) {
        int status = obtain_experiment(library, &plan->experiments[i], &brought->experiments[i]);
        if (status != LL_DONE)
            return status;
    }
    return LL_DONE;
}

static void brought_release(struct brought *brought)
{
    for (uint64_t i = 0; i < brought->machine_count; i++)
        ll_machine_free(brought->machines[i]);
    *brought = (struct brought){0};
}

/* leadline study [ID...]: regenerates figures and tables of papers, and judges them. */

enum { MOST_STUDIES = 256 };

static int list_studies(bool as_json)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("study|of|what it shows");
    ll_json_open_document(&json, "studies", 1);
    ll_json_key(&json, "studies");
    ll_json_open_list(&json);
    for (size_t i = 0; i < ll_study_count(); i++) {
        const struct ll_study *study = ll_study_at(i);
        ll_json_open_object(&json);
        ll_json_put_text(&json, "id", study->id);
        ll_json_put_text(&json, "paper", study->paper);
        ll_json_put_text(&json, "title", study->title);
        ll_json_close_object(&json);
        ll_table_row(table, "%s|%s|%s", study->id, study->paper, study->title);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    if (!as_json) {
        ll_str_release(&out);
        ll_table_top(table, ll_output_top());
        ll_table_print(table, ll_screen_width(), &out);
    }
    ll_table_free(table);
    return ll_print(&out);
}

/* The studies named, or all; their number, 0 after saying what is wrong. */
static size_t choose(const struct ll_args *args, const struct ll_study *chosen[MOST_STUDIES])
{
    const char *ids[MOST_STUDIES];
    size_t known = ll_study_count(), count = 0;
    for (size_t i = 0; i < known; i++) {
        ids[i] = ll_study_at(i)->id;
        if (ll_flag(args, "all"))
            chosen[count++] = ll_study_at(i);
    }
    if (count && args->word_count) {
        ll_cli_reject("--all runs every study; leave it out to name some");
        return 0;
    }
    for (size_t i = 0; i < args->word_count && i < MOST_STUDIES; i++) {
        chosen[count] = ll_study_find(args->words[i]);
        if (!chosen[count]) {
            ll_cli_reject_unknown("study", args->words[i], ids, known, "leadline study");
            return 0;
        }
        count++;
    }
    return count;
}

/* Whether what is asked for is for one of the studies at least. */
static bool is_of_use(const struct ll_args *args, const struct ll_study *const *chosen, size_t count)
{
    static const char *const of_compared[] = {"data", NULL}, *const of_surveys[] = {"whole", NULL};
    bool compares = false, experiments = false;
    for (size_t i = 0; i < count; i++) {
        struct ll_study_plan plan = {0};
        chosen[i]->plan(&plan);
        compares |= chosen[i]->compares;
        experiments |= plan.failed || plan.experiment_count > 0;
        ll_study_plan_release(&plan);
    }
    return (compares || ll_without(args, of_compared, "is for studies that compare with measured steps")) &&
           (experiments || ll_without(args, of_surveys, "is for studies of many points"));
}

/* FOLDER/ID.csv, or FOLDER/ID-NAME.csv for what has a name; a slash in the id becomes a dash. NULL when
 * memory ran out. */
static const char *path_of(struct ll_arena *arena, const char *folder, const struct ll_study *study,
                           const char *name, const char *ending)
{
    char *id = ll_copy_text(arena, study->id, strlen(study->id));
    for (char *slash = id; slash && (slash = strchr(slash, '/'));)
        *slash = '-';
    return id ? ll_format(arena, "%s/%s%s%s.%s", folder, id, name ? "-" : "", name ? name : "", ending)
              : NULL;
}

static bool write_text(struct ll_arena *arena, const char *folder, const struct ll_study *study,
                       const char *name, const char *ending, struct ll_str *text)
{
    const char *path = path_of(arena, folder, study, name, ending);
    if (path)
        return ll_write_file(path, text);
    ll_str_release(text);
    ll_cli_fail("memory ran out");
    return false;
}

static bool write_files(const struct ll_args *args, const char *folder, const struct ll_study *study,
                        const struct ll_study_plan *plan, const struct ll_study_result *result)
{
    struct ll_str text = {0};
    struct ll_json json = {.out = &text, .indent = true};
    bool written = true;
    for (size_t i = 0; i < result->table_count && written; i++) {
        ll_present_csv(&result->tables[i], &text);
        written = write_text(args->arena, folder, study, result->tables[i].name, "csv", &text);
    }
    for (size_t i = 0; i < result->figure_count && written; i++) {
        ll_str_add(&text, result->figures[i].svg.text ? result->figures[i].svg.text : "");
        written = write_text(args->arena, folder, study, result->figures[i].name, "svg", &text);
    }
    if (written) {
        struct ll_study_pages one = {.path = path_of(args->arena, folder, study, NULL, "html")};
        ll_study_pages_add(&one, study, plan, result, NULL);
        written = ll_study_pages_write(args, &one, study->title);
    }
    if (written) {
        ll_present_json(study, plan, result, &json);
        written = write_text(args->arena, folder, study, NULL, "json", &text);
    }
    return written;
}

/* How often what failed is recorded anew, before it is said to fail: once at least, and not again when the
 * command has run so long, so that all studies end within a quarter of an hour. */
enum { REPETITIONS = 2 };
static const double repeating_s = 480;

/* What the studies have in common while they run one after the other. */
struct session {
    const struct ll_args *args;
    const char *folder;
    struct ll_library library;
    struct ll_library again[REPETITIONS]; /* what was recorded anew */
    double begin_s;                       /* when the first study began */
    struct ll_str text;                   /* for standard output */
    struct ll_json json;
    size_t verdicts[LL_SKIPPED + 1]; /* number of criteria by verdict */
    struct ll_str failing;           /* the studies with some that failed, ", " between them */
    struct ll_study_pages index;     /* of --all, and of --html: the page with all of them */
    struct ll_measured_rows rows;    /* of --data */
    const char *const *ids;          /* of the chosen studies */
    struct ll_figure_wishes figures; /* a kind is the number of an ID */
};

/* The figure of a study, as far as --figure asks for it. */
static bool write_figures(const struct session *session, const struct ll_study *study,
                          const struct ll_study_result *result)
{
    bool written = true;
    for (size_t f = 0; f < session->figures.count && written; f++) {
        const struct ll_figure_wish *wish = &session->figures.at[f];
        struct ll_str svg = {0};
        if (strcmp(session->ids[wish->kind], study->id) != 0)
            continue;
        if (result->figure_count == 0) {
            ll_cli_fail("%s: %s came to no figure", wish->path, study->id);
            return false;
        }
        ll_str_add(&svg, result->figures[0].svg.text ? result->figures[0].svg.text : "");
        written = ll_figure_write(wish->path, &svg);
    }
    return written;
}

/* The study's own page, as one beside it links to it; NULL where the page lies elsewhere. */
static const char *page_beside(const struct session *session, const struct ll_study *study)
{
    const char *page = ll_value(session->args, "html", NULL)
                           ? NULL
                           : path_of(session->args->arena, session->folder, study, NULL, "html");
    return page ? page + strlen(session->folder) + 1 : NULL;
}

static int show(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                const struct ll_study_result *result)
{
    size_t failed = ll_count_verdicts(result, LL_FAIL);
    if (failed)
        ll_str_addf(&session->failing, "%s%s", session->verdicts[LL_FAIL] ? ", " : "", study->id);
    for (enum ll_verdict v = LL_PASS; v <= LL_SKIPPED; v++)
        session->verdicts[v] += ll_count_verdicts(result, v);
    if (session->index.path)
        ll_study_pages_add(&session->index, study, plan, result, page_beside(session, study));
    if (ll_flag(session->args, "json")) {
        ll_present_json(study, plan, result, &session->json);
        return LL_DONE;
    }
    ll_present_text(study, plan, result, ll_screen_width(), &session->text);
    ll_str_addf(&session->text, "\n%s\n\n",
                path_of(session->args->arena, session->folder, study, NULL, "html"));
    return ll_print(&session->text);
}

/* Judges what was brought. An exit status, after saying what is wrong. The result is to be released. */
static int judge(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                 const struct brought *brought, struct ll_study_result *result)
{
    struct ll_arena arena = {0};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags)
        return ll_cli_fail("memory ran out");
    const struct ll_runs runs = {plan,
                                 brought->traces,
                                 (const struct ll_machine *const *)brought->machines,
                                 session->rows.at,
                                 session->rows.count,
                                 brought->experiments,
                                 &arena,
                                 diags,
                                 brought->losses};
    int status = LL_DONE;
    if (!ll_study_judge(study, &runs, result))
        status = diags->count ? LL_WRONG : ll_cli_fail("%s: memory ran out", study->id);
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    ll_arena_release(&arena);
    return status;
}

/* Brings and judges once; what was brought is kept by the library alone. */
static int measure(struct session *session, struct ll_library *library, const struct ll_study *study,
                   const struct ll_study_plan *plan, bool *quiet, struct ll_study_result *result)
{
    struct brought brought = {0};
    int status = bring_plan(library, plan, session->args->arena, &brought);
    *quiet = brought.quiet;
    if (status == LL_DONE)
        status = judge(session, study, plan, &brought, result);
    brought_release(&brought);
    return status;
}

/* Records and judges again, and joins what was found into the result. */
static int repeat(struct session *session, const struct ll_study *study, const struct ll_study_plan *plan,
                  bool quiet, struct ll_study_result *result)
{
    struct ll_study_result repetitions[REPETITIONS] = {{.failed = false}};
    size_t count = 0;
    int status = LL_DONE;
    while (count < REPETITIONS && status == LL_DONE &&
           (count == 0 || ll_quiet_mark().at_s - session->begin_s < repeating_s)) {
        bool quiet_too;
        fprintf(stderr, "%s: once more, for some criteria do not hold\n", study->id);
        session->again[count].patience_s = session->library.patience_s;
        status = measure(session, &session->again[count], study, plan, &quiet_too, &repetitions[count]);
        quiet &= quiet_too;
        count++;
    }
    if (status == LL_DONE)
        ll_study_join(result, repetitions, count, quiet);
    for (size_t i = 0; i < count; i++)
        ll_study_result_release(&repetitions[i]);
    return status;
}

/* Of a study that --quick leaves out: its page and the rest say so, and that nothing was recorded. */
static int skip(struct session *session, const struct ll_study *study)
{
    const struct ll_study_plan nothing = {0};
    struct ll_study_result result = {.failed = false};
    int status = LL_FAILED;
    ll_criterion_skipped(&result, "it records workloads on this computer, which --quick leaves out",
                         "the study as a whole");
    if (result.failed)
        ll_cli_fail("memory ran out");
    else if (write_files(session->args, session->folder, study, &nothing, &result) &&
             write_figures(session, study, &result))
        status = show(session, study, &nothing, &result);
    ll_study_result_release(&result);
    return status;
}

static int run_planned(struct session *session, const struct ll_study *study,
                       const struct ll_study_plan *plan)
{
    struct ll_study_result result = {.failed = false};
    bool quiet = true;
    int status = measure(session, &session->library, study, plan, &quiet, &result);
    if (status == LL_DONE && ll_study_records(plan) && ll_count_verdicts(&result, LL_FAIL))
        status = repeat(session, study, plan, quiet, &result);
    if (status == LL_DONE && (!write_files(session->args, session->folder, study, plan, &result) ||
                              !write_figures(session, study, &result)))
        status = LL_FAILED;
    if (status == LL_DONE)
        status = show(session, study, plan, &result);
    ll_study_result_release(&result);
    return status;
}

static int run_study(struct session *session, const struct ll_study *study)
{
    struct ll_study_plan plan = {.whole = ll_flag(session->args, "whole")};
    const double begin_s = ll_quiet_mark().at_s;
    int status;
    study->plan(&plan);
    fprintf(stderr, "%s: %s\n", study->id, study->title);
    if (plan.failed)
        status = ll_cli_fail("memory ran out");
    else if (ll_flag(session->args, "quick") && ll_study_records(&plan))
        status = skip(session, study);
    else
        status = run_planned(session, study, &plan);
    ll_study_plan_release(&plan);
    if (status == LL_DONE && ll_flag(session->args, "all"))
        fprintf(stderr, "%s: %.1f s\n", study->id, ll_quiet_mark().at_s - begin_s);
    return status;
}

/* Of several, whose verdicts stand far apart; in words that nobody looks for verdicts by. */
static int sum_up(struct session *session, size_t count)
{
    static const struct {
        enum ll_verdict verdict;
        const char *words;
    } rest[] = {{LL_EXPLAINED, "explained"},
                {LL_INCONCLUSIVE, "inconclusive"},
                {LL_INFO, "for information"},
                {LL_SKIPPED, "skipped"}};
    const size_t failed = session->verdicts[LL_FAIL];
    ll_str_addf(&session->text, "%zu studies: %zu criteria hold", count, session->verdicts[LL_PASS]);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (session->verdicts[rest[i].verdict])
            ll_str_addf(&session->text, ", %zu %s", session->verdicts[rest[i].verdict], rest[i].words);
    if (failed)
        ll_str_addf(&session->text, ", %zu do%s not hold: %s", failed, failed == 1 ? "es" : "",
                    session->failing.text ? session->failing.text : "");
    ll_str_add(&session->text, "\n");
    return ll_print(&session->text);
}

/* Says how far a run of several studies is, and what an interrupt leaves. */
static void tell_progress(const struct session *session, const struct ll_study *const *chosen, size_t done,
                          size_t count)
{
    static const double long_s = 120; /* the first studies say little of the others */
    struct ll_str rest = {0};
    struct ll_human left;
    const double passed_s = ll_quiet_mark().at_s - session->begin_s;
    for (size_t i = done; i < count; i++)
        ll_str_addf(&rest, " %s", chosen[i]->id);
    ll_on_interrupt(
        NULL, "%zu of %zu studies are done, with their files in %s; leadline study -o %s%.300s does the rest",
        done, count, session->folder, session->folder, rest.text ? rest.text : "");
    if (count > 1 && done < count && done > 0 && passed_s > long_s)
        fprintf(stderr, "study %zu of %zu  about %s left\n", done + 1, count,
                ll_format_si(&left, passed_s / (double)done * (double)(count - done), "s"));
    else if (count > 1 && done < count)
        fprintf(stderr, "study %zu of %zu\n", done + 1, count);
    ll_str_release(&rest);
}

static int run_all(struct session *session, const struct ll_study *const *chosen, size_t count)
{
    int status = LL_DONE;
    bool as_json = ll_flag(session->args, "json");
    if (as_json) {
        ll_json_open_document(&session->json, "study", 1);
        ll_json_key(&session->json, "studies");
        ll_json_open_list(&session->json);
    }
    session->index.path = ll_value(session->args, "html", NULL);
    if (ll_flag(session->args, "all") && !session->index.path)
        session->index.path = ll_format(session->args->arena, "%s/index.html", session->folder);
    session->begin_s = ll_quiet_mark().at_s;
    for (size_t i = 0; i < count && status == LL_DONE; i++) {
        tell_progress(session, chosen, i, count);
        status = run_study(session, chosen[i]);
    }
    if (ll_flag(session->args, "all") && status == LL_DONE)
        fprintf(stderr, "all: %.1f s\n", ll_quiet_mark().at_s - session->begin_s);
    if (session->index.path && status == LL_DONE &&
        !ll_study_pages_write(session->args, &session->index, "Figures and tables of papers"))
        status = LL_FAILED;
    if (!as_json && status == LL_DONE && count > 1)
        status = sum_up(session, count);
    if (!as_json || status != LL_DONE) {
        ll_str_release(&session->text);
        return status;
    }
    ll_json_close_list(&session->json);
    ll_json_close_object(&session->json);
    return ll_print(&session->text);
}

/* How long a run of the program waits for others to stop, all recordings together. */
static const double longest_wait_s = 60;

/* The rows of all files that --data names. False after printing what is wrong with them. */
static bool read_data(const struct ll_args *args, struct ll_measured_rows *rows)
{
    const char *path;
    for (size_t i = 0; (path = ll_value_at(args, "data", i)); i++)
        if (!ll_read_rows(&path, 1, args->arena, rows))
            return false;
    return true;
}

static int run(const struct ll_args *args)
{
    const struct ll_study *chosen[2 * MOST_STUDIES];
    static const char *const of_running[] = {"output", "data",   "whole", "quick",
                                             "html",   "figure", "kind",  NULL};
    if (args->word_count == 0 && !ll_flag(args, "all"))
        return ll_without(args, of_running, "is for a study: name one, or --all")
                   ? list_studies(ll_flag(args, "json"))
                   : LL_WRONG;
    if (ll_flag(args, "quick") && ll_flag(args, "whole"))
        return ll_cli_reject("--quick takes samples, --whole all points: one of them");
    size_t count = choose(args, chosen);
    const char *ids[2 * MOST_STUDIES];
    struct ll_figure_wishes figures;
    for (size_t i = 0; i < count; i++)
        ids[i] = chosen[i]->id;
    if (count == 0 || !is_of_use(args, chosen, count) || !ll_figure_read(args, ids, count, &figures))
        return LL_WRONG;
    struct session session = {
        .args = args, .folder = ll_value(args, "output", "study"), .ids = ids, .figures = figures};
    session.json = (struct ll_json){.out = &session.text, .indent = true};
    session.library.patience_s = longest_wait_s;
    int status = LL_WRONG;
    if (read_data(args, &session.rows))
        status = ll_make_folder(session.folder) ? run_all(&session, chosen, count) : LL_FAILED;
    ll_str_release(&session.failing);
    ll_page_content_release(&session.index.content);
    ll_library_release(&session.library);
    for (size_t i = 0; i < REPETITIONS; i++)
        ll_library_release(&session.again[i]);
    free(session.rows.at);
    return status == LL_DONE && session.verdicts[LL_FAIL] ? LL_FAILED : status;
}

static const struct ll_option options[] = {
    {"output", 'o', "FOLDER", "folder for the files, created if missing (default: study)"},
    LL_FIGURE_OPTIONS("ID, the study whose figure it is (default: the first that is named)"),
    {"all", 0, NULL, "run every study"},
    LL_HTML_OPTION("figures beside the published ones, criteria"),
    {"data", 0, "DATA.csv", "measured steps in place of the installed ones (P2, P7, P8); may be repeated"},
    {"quick", 0, NULL, "leave out studies that record workloads on this computer; they are SKIPPED"},
    {"whole", 0, NULL, "simulate all points of a study, not only a sample; takes minutes"},
    {0},
};

const struct ll_command ll_command_study = {
    .name = "study",
    .rows = "studies/tables/rows|studies",
    .synopsis = "[ID...]",
    .summary = "regenerate figures and tables of papers, and judge them",
    .examples = "  leadline study\n"
                "  leadline study F3 F4 -o figures\n"
                "  leadline study P8 --figure P8.pdf\n",
    .details = "Without an ID, lists the studies. A study writes ID.csv, ID.html, ID.json, one of a figure "
               "ID.svg; further tables are in ID-NAME.csv. --all writes index.html, all figures beside their "
               "criteria. It prints its tables and whether each criterion holds: PASS, FAIL, EXPLAINED (not "
               "what the paper prints, with arithmetic that shows why), INCONCLUSIVE (a measurement differs "
               "too much), INFO (beside what is published, with the reason why it is not judged) or SKIPPED. "
               "FAIL makes the status 1.\n",
    .options = options,
    .repeated = (const char *const[]){"data", "figure", "kind", NULL},
    .writes = (const char *const[]){"output", "html", "figure", NULL},
    .reads = (const char *const[]){"data", NULL},
    .most_words = MOST_STUDIES,
    .run = run,
};
