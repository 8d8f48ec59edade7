/* SPDX-License-Identifier: Apache-2.0 */
/* A study regenerates a figure or table of a paper and judges it.
 *
 * A study is a row of studies.def and a `const struct ll_study ll_study_ID`. It says in two functions what it
 * needs and what it makes of that:
 *
 *       plan   which recordings of which workloads, and which machines: a list, nothing is run
 *       judge  from the traces and machines to tables, figures and criteria: a pure function
 *
 * Between the two stands whoever can run workloads and read machine files (sim/cli): it brings what the plan
 * lists, once however many studies list it. Studies know no workload but by name. */
#ifndef LL_SIM_STUDY_STUDY_H
#define LL_SIM_STUDY_STUDY_H

#include "sim/machine/machine.h"
#include "sim/replay/replay.h"
#include "sim/study/outcome.h"
#include "sim/study/survey.h"
#include "tracer/convert/measured.h"
#include "tracer/ir/trace.h"

/* A recording that a study wants. It is called by row, what the paper calls the workload, and variant, a word
 * of the study's own; the rest says how to make it. */
enum { LL_MOST_STUDY_SETTINGS = 6, LL_MOST_STUDY_OVERRIDES = 8 };
struct ll_study_setting {
    const char *key, *value;
};
struct ll_recording {
    const char *row, *variant;
    const char *model;                                        /* the workload's name in models/ */
    struct ll_study_setting settings[LL_MOST_STUDY_SETTINGS]; /* ended by one without key, if not full */
    bool train, dry_run;
    bool lesson; /* in the small version in which it learns (leadline train), its batch and settings, too */
    const char *products; /* the type that products of weights read (tracer/products.h); NULL: their own */
    uint64_t batch;       /* 0: the model's own */
    uint64_t steps;
    unsigned threads; /* 0: one for each CPU; of no meaning in a dry run */
};

/* A machine that a study wants: a name that sim -c would take, and overrides as of --set. */
struct ll_target {
    const char *name, *machine;                            /* the name is the study's own */
    struct ll_override overrides[LL_MOST_STUDY_OVERRIDES]; /* ended by one without path, if not full */
};

/* The losses of a recording's steps, in order; none of a dry run. */
struct ll_losses {
    const double *at;
    uint64_t count;
};

struct ll_study_plan {
    bool whole; /* set by who asks: surveys are to take all points that the paper has, not a part of them */
    struct ll_arena arena;
    struct ll_recording *recordings;
    uint64_t recording_count, recording_capacity;
    struct ll_target *targets;
    uint64_t target_count, target_capacity;
    struct ll_survey *surveys;
    uint64_t survey_count, survey_capacity;
    bool failed; /* memory ran out */
};

/* Adds to a plan; the texts must outlive it (those made for it go into its arena). */
void ll_study_plan_recording(struct ll_study_plan *plan, const struct ll_recording *recording);
void ll_study_plan_target(struct ll_study_plan *plan, const struct ll_target *target);
void ll_study_plan_survey(struct ll_study_plan *plan, const struct ll_survey *survey);
void ll_study_plan_release(struct ll_study_plan *plan);

/* The plan of a study that needs nothing but what is printed. */
void ll_study_plan_nothing(struct ll_study_plan *plan);

/* Whether two recordings are made the same way, whatever they are called. */
bool ll_same_recording(const struct ll_recording *a, const struct ll_recording *b);

/* Whether two surveys ask the same. */
bool ll_same_survey(const struct ll_survey *a, const struct ll_survey *b);

/* What a plan was answered with. Traces are by recording, NULL for a workload that there is not; machines by
 * target, none of them NULL; surveys in the plan's order. All belong to whoever brought them. */
struct ll_evidence {
    const struct ll_study_plan *plan;
    const struct ll_trace *const *traces;
    const struct ll_machine *const *machines;
    /* Rows that the user brought instead of those of a study; may be none. */
    const struct ll_measured *measured;
    uint64_t measured_count;
    const struct ll_survey_result *const *surveys; /* NULL for those of a workload that there is not */
    struct ll_arena *arena;                        /* for what a study computes on its way */
    struct ll_diags *diags; /* for traces that a machine cannot run; the study then comes to nothing */
    const struct ll_losses *losses; /* by recording; may be NULL */
};

/* The trace of this name, NULL when there is none. */
const struct ll_trace *ll_evidence_trace(const struct ll_evidence *evidence, const char *row,
                                         const char *variant);

/* The losses of that recording; none where there is no such trace. */
struct ll_losses ll_evidence_losses(const struct ll_evidence *evidence, const char *row, const char *variant);

/* The trace replayed on a machine of the plan; NULL when there is no such trace, or after a complaint. */
const struct ll_result *ll_evidence_replay(const struct ll_evidence *evidence, const char *row,
                                           const char *variant, const char *target);

/* The survey of the family of this name; NULL when there is none. */
const struct ll_survey_result *ll_evidence_survey(const struct ll_evidence *evidence, const char *family);

struct ll_study {
    const char *id;    /* as on the command line and in file names */
    const char *paper; /* whose figure or table it is, as in "Fathom, figure 3" */
    const char *title;
    const char *doc; /* what the paper shows there and what it claims, in a few sentences */
    bool compares;   /* with measured rows, which the user may bring in place of its own */
    void (*plan)(struct ll_study_plan *plan);
    void (*judge)(const struct ll_evidence *evidence, struct ll_outcome *outcome);
};

/* The studies in the order of studies.def; i is below the count. */
size_t ll_study_count(void);
const struct ll_study *ll_study_at(size_t i);

/* NULL when there is none of that name. */
const struct ll_study *ll_study_find(const char *id);

/* Judges, and adds what is true of every study: each workload of the plan must have been there. False when
 * memory ran out or after a complaint. */
bool ll_study_judge(const struct ll_study *study, const struct ll_evidence *evidence,
                    struct ll_outcome *outcome);

#endif
