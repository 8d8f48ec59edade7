/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/study.h"

#include <stdlib.h>
#include <string.h>

#define LL_STUDY(id) extern const struct ll_study ll_study_##id;
#include "sim/study/studies.def"
#undef LL_STUDY

static const struct ll_study *const studies[] = {
#define LL_STUDY(id) &ll_study_##id,
#include "sim/study/studies.def"
#undef LL_STUDY
};

size_t ll_study_count(void)
{
    return sizeof studies / sizeof *studies;
}

const struct ll_study *ll_study_at(size_t i)
{
    return studies[i];
}

const struct ll_study *ll_study_find(const char *id)
{
    for (size_t i = 0; i < ll_study_count(); i++)
        if (strcmp(studies[i]->id, id) == 0)
            return studies[i];
    return NULL;
}

void ll_study_plan_recording(struct ll_study_plan *plan, const struct ll_recording *recording)
{
    if (ll_grow(&plan->recordings, &plan->recording_capacity, plan->recording_count + 1, sizeof *recording))
        plan->recordings[plan->recording_count++] = *recording;
    else
        plan->failed = true;
}

void ll_study_plan_target(struct ll_study_plan *plan, const struct ll_target *target)
{
    if (ll_grow(&plan->targets, &plan->target_capacity, plan->target_count + 1, sizeof *target))
        plan->targets[plan->target_count++] = *target;
    else
        plan->failed = true;
}

void ll_study_plan_survey(struct ll_study_plan *plan, const struct ll_survey *survey)
{
    if (ll_grow(&plan->surveys, &plan->survey_capacity, plan->survey_count + 1, sizeof *survey))
        plan->surveys[plan->survey_count++] = *survey;
    else
        plan->failed = true;
}

void ll_study_plan_nothing(struct ll_study_plan *plan)
{
    (void)plan;
}

void ll_study_plan_release(struct ll_study_plan *plan)
{
    free(plan->surveys);
    free(plan->recordings);
    free(plan->targets);
    ll_arena_release(&plan->arena);
    *plan = (struct ll_study_plan){0};
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool ll_same_recording(const struct ll_recording *a, const struct ll_recording *b)
{
    bool same = strcmp(a->model, b->model) == 0 && a->train == b->train && a->dry_run == b->dry_run &&
                a->lesson == b->lesson && a->batch == b->batch && a->steps == b->steps &&
                (a->dry_run || a->threads == b->threads) && same_text(a->products, b->products);
    for (size_t i = 0; same && i < LL_MOST_STUDY_SETTINGS; i++)
        same = same_text(a->settings[i].key, b->settings[i].key) &&
               same_text(a->settings[i].value, b->settings[i].value);
    return same;
}

bool ll_same_survey(const struct ll_survey *a, const struct ll_survey *b)
{
    return a->family == b->family && a->platforms == b->platforms && a->platform_count == b->platform_count;
}

const struct ll_survey_result *ll_evidence_survey(const struct ll_evidence *evidence, const char *family)
{
    for (uint64_t i = 0; evidence->surveys && i < evidence->plan->survey_count; i++)
        if (strcmp(evidence->plan->surveys[i].family->name, family) == 0)
            return evidence->surveys[i];
    return NULL;
}

/* The recording of this name; the plan's count where there is none. */
static uint64_t recording_of(const struct ll_study_plan *plan, const char *row, const char *variant)
{
    uint64_t i = 0;
    while (i < plan->recording_count &&
           (strcmp(plan->recordings[i].row, row) != 0 || strcmp(plan->recordings[i].variant, variant) != 0))
        i++;
    return i;
}

const struct ll_trace *ll_evidence_trace(const struct ll_evidence *evidence, const char *row,
                                         const char *variant)
{
    uint64_t i = recording_of(evidence->plan, row, variant);
    return i < evidence->plan->recording_count ? evidence->traces[i] : NULL;
}

struct ll_losses ll_evidence_losses(const struct ll_evidence *evidence, const char *row, const char *variant)
{
    uint64_t i = recording_of(evidence->plan, row, variant);
    return evidence->losses && i < evidence->plan->recording_count ? evidence->losses[i]
                                                                   : (struct ll_losses){NULL, 0};
}

static const struct ll_machine *machine_of(const struct ll_evidence *evidence, const char *target)
{
    for (uint64_t i = 0; i < evidence->plan->target_count; i++)
        if (strcmp(evidence->plan->targets[i].name, target) == 0)
            return evidence->machines[i];
    return NULL;
}

const struct ll_result *ll_evidence_replay(const struct ll_evidence *evidence, const char *row,
                                           const char *variant, const char *target)
{
    const struct ll_trace *trace = ll_evidence_trace(evidence, row, variant);
    const struct ll_machine *machine = machine_of(evidence, target);
    if (!trace || !machine)
        return NULL;
    const struct ll_prepared *prepared = ll_prepare(trace, evidence->arena, evidence->diags);
    return prepared ? ll_replay(prepared, machine, evidence->arena, evidence->diags) : NULL;
}

/* Says once for each workload that is missing. */
static void miss_workloads(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_study_plan *plan = evidence->plan;
    for (uint64_t i = 0; i < plan->recording_count; i++) {
        bool said = false;
        for (uint64_t j = 0; j < i && !said; j++)
            said = strcmp(plan->recordings[i].model, plan->recordings[j].model) == 0;
        if (!evidence->traces[i] && !said)
            ll_holds(outcome, false, "there is none", "there is one", "a workload `%s` can be recorded",
                     plan->recordings[i].model);
    }
}

static void miss_surveys(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_study_plan *plan = evidence->plan;
    for (uint64_t i = 0; i < plan->survey_count; i++)
        if (!ll_evidence_survey(evidence, plan->surveys[i].family->name))
            ll_holds(outcome, false, "there is none", "there is one", "a workload `%s` can be surveyed",
                     plan->surveys[i].family->model);
}

bool ll_study_judge(const struct ll_study *study, const struct ll_evidence *evidence,
                    struct ll_outcome *outcome)
{
    miss_workloads(evidence, outcome);
    miss_surveys(evidence, outcome);
    study->judge(evidence, outcome);
    return !outcome->failed && evidence->diags->count == 0;
}
