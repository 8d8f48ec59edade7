/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/evidence.h"

#include "sim/cli/load.h"
#include "sim/cli/paths.h"
#include "sim/cli/surveyor.h"
#include "sim/cli/workload.h"
#include "sim/report/table.h"
#include "tracer/transform/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ll_library_release(struct ll_library *library)
{
    for (uint64_t i = 0; i < library->entry_count; i++) {
        ll_trace_free(library->entries[i].trace);
        free(library->entries[i].losses);
    }
    for (uint64_t i = 0; i < library->survey_count; i++)
        ll_survey_result_free(library->surveys[i].result);
    free(library->entries);
    free(library->surveys);
    *library = (struct ll_library){0};
}

static void tell(const struct ll_recording *recording, uint64_t number, uint64_t count)
{
    fprintf(stderr, "recording %" PRIu64 " of %" PRIu64 ": %s, %s%s, %" PRIu64 " step%s\n", number, count,
            recording->model, recording->train ? "training" : "inference", recording->dry_run ? ", dry" : "",
            recording->steps, ll_plural(recording->steps));
}

/* With products in the type that the recording wants. */
static int narrow(const struct ll_recording *recording, struct ll_trace **trace)
{
    const char *trouble, *name = recording->products;
    return ll_narrow_products(trace, name ? ll_dtype_find(name) : LL_DTYPE_COUNT, &trouble)
               ? LL_DONE
               : ll_failed("%s: no product can be taken as %s: %s", recording->model, name, trouble);
}

static void note_loss(void *context, uint64_t step, uint64_t steps, double loss, double step_s)
{
    (void)steps, (void)step_s;
    ((double *)context)[step - 1] = loss;
}

static void take_lesson(const struct ll_lesson *lesson, struct ll_run_options *options)
{
    options->batch = lesson->batch;
    options->settings = lesson->settings;
    while (options->setting_count < LL_MOST_LESSON_SETTINGS && lesson->settings[options->setting_count].key)
        options->setting_count++;
}

/* Losses have room for all steps, or are NULL. */
static int record(const struct ll_model *model, const struct ll_recording *recording, double *losses,
                  struct ll_trace **trace)
{
    struct ll_setting settings[LL_MOST_STUDY_SETTINGS];
    struct ll_run_options options = {.train = recording->train,
                                     .dry_run = recording->dry_run,
                                     .batch = recording->batch,
                                     .steps = recording->steps,
                                     .seed = 1,
                                     .threads = recording->threads,
                                     .settings = settings,
                                     .progress = losses ? note_loss : NULL,
                                     .context = losses,
                                     .trace = trace};
    while (options.setting_count < LL_MOST_STUDY_SETTINGS && recording->settings[options.setting_count].key) {
        const struct ll_study_setting *setting = &recording->settings[options.setting_count];
        settings[options.setting_count++] = (struct ll_setting){setting->key, setting->value};
    }
    if (recording->lesson)
        take_lesson(&model->lesson, &options);
    struct ll_run_report report;
    int status = ll_run_workload(model, &options, &report);
    return status == LL_DONE ? narrow(recording, trace) : status;
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
    return entry && entry->losses ? (struct ll_losses){entry->losses, recording->steps}
                                  : (struct ll_losses){NULL, 0};
}

int ll_bring_one(struct ll_library *library, const struct ll_recording *recording,
                 const struct ll_trace **trace)
{
    struct ll_library_entry *entry = find(library, recording);
    if (entry) {
        *trace = entry->trace;
        return LL_DONE;
    }
    if (!ll_grow(&library->entries, &library->capacity, library->entry_count + 1, sizeof *entry))
        return ll_failed("memory ran out");
    entry = &library->entries[library->entry_count];
    *entry = (struct ll_library_entry){.recording = *recording};
    const struct ll_model *model = ll_model_find(recording->model);
    int status = LL_DONE;
    if (model && !recording->dry_run && !(entry->losses = calloc(recording->steps, sizeof *entry->losses)))
        return ll_failed("memory ran out");
    if (model)
        status = record(model, recording, entry->losses, &entry->trace);
    else
        fprintf(stderr, "there is no workload `%s`; what is made of it is left out\n", recording->model);
    library->entry_count += status == LL_DONE;
    if (status != LL_DONE)
        free(entry->losses);
    *trace = entry->trace;
    return status;
}

/* The result of a survey, made when it is new. */
static int obtain_survey(struct ll_library *library, const struct ll_survey *survey,
                         const struct ll_survey_result **result)
{
    for (uint64_t i = 0; i < library->survey_count; i++)
        if (ll_same_survey(&library->surveys[i].survey, survey)) {
            *result = library->surveys[i].result;
            return LL_DONE;
        }
    if (!ll_grow(&library->surveys, &library->survey_capacity, library->survey_count + 1,
                 sizeof *library->surveys))
        return ll_failed("memory ran out");
    struct ll_surveyed_entry *entry = &library->surveys[library->survey_count];
    *entry = (struct ll_surveyed_entry){.survey = *survey};
    int status = ll_survey_run(&entry->survey, &entry->result);
    library->survey_count += status == LL_DONE;
    *result = entry->result;
    return status;
}

int ll_bring(struct ll_library *library, const struct ll_study_plan *plan, struct ll_arena *arena,
             struct ll_brought *brought)
{
    const char *const *folders = ll_machine_folders(arena);
    brought->traces = ll_alloc(arena, plan->recording_count, sizeof *brought->traces);
    brought->losses = ll_alloc(arena, plan->recording_count, sizeof *brought->losses);
    brought->machines = ll_alloc(arena, plan->target_count, sizeof *brought->machines);
    brought->surveys = ll_alloc(arena, plan->survey_count, sizeof *brought->surveys);
    if (!folders || !brought->traces || !brought->losses || !brought->machines || !brought->surveys)
        return ll_failed("memory ran out");
    for (uint64_t i = 0; i < plan->target_count; i++) {
        const struct ll_target *target = &plan->targets[i];
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
    }
    for (uint64_t i = 0; i < plan->survey_count; i++) {
        int status = obtain_survey(library, &plan->surveys[i], &brought->surveys[i]);
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
