/* SPDX-License-Identifier: Apache-2.0 */
/* Studies: figures and tables of papers, regenerated and judged. The sections: the result of a study (tables,
 * figures, criteria), experiments, studies with their plans and runs, presentation, similarity, statistics.
 *
 * The result of a study is plain data; the screens and files made of it are in the section on presentation.
 *
 * A study fills a result by the functions below; all it holds lives in its arena, figures apart. When
 * memory runs out `failed` is set and further additions do nothing: check once at the end. One thread at a
 * time. */
#ifndef LL_SIM_STUDY_STUDY_H
#define LL_SIM_STUDY_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/machine/machine.h"
#include "sim/replay/replay.h"
#include "sim/report/figure/figure.h"
#include "tracer/base/arena.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"
#include "tracer/convert/csv/csv.h"
#include "tracer/ir/trace.h"

/* A column holds texts (decimals LL_TEXT_COLUMN) or numbers, which people see with so many decimals. The name
 * says quantity and unit: "time (ms)". */
enum { LL_TEXT_COLUMN = -1 };
struct ll_study_column {
    const char *name;
    int decimals;
};

struct ll_cell {
    const char *text; /* in a text column; else NULL */
    double number;    /* in a number column; NaN: there is no number, or it is a text column */
};

struct ll_study_table {
    const char *name;    /* part of the file's name; NULL: the study's main table */
    const char *caption; /* one sentence above the table */
    const struct ll_study_column *columns;
    size_t column_count;            /* length of `columns`, at least 1 */
    struct ll_cell *cells;          /* row after row */
    uint64_t cell_count, capacity;  /* length of `cells` and room in it */
    struct ll_study_result *result; /* to which the table belongs */
};

struct ll_study_figure {
    const char *name, *caption; /* as of a table */
    struct ll_str svg;
};

/* Verdicts: word, as printed. FAIL alone makes the program's exit status 1. */
#define LL_VERDICT_LIST(X)                                                                                   \
    X(PASS)                                                                                                  \
    X(FAIL)         /* what was found is not what was wanted, and nothing explains it */                     \
    X(EXPLAINED)    /* not what was wanted, and the study computes what gives the paper's figure */          \
    X(INCONCLUSIVE) /* repetitions of a measurement differ by more than a judgement allows */                \
    X(INFO)         /* shown beside what is published; why it is not judged is said */                       \
    X(SKIPPED)      /* not run */
enum ll_verdict {
#define X(word) LL_##word,
    LL_VERDICT_LIST(X)
#undef X
};

/* Why a figure differs from the paper's: identifier, word of JSON, words for people. */
#define LL_CAUSE_LIST(X)                                                                                     \
    X(PAPER_CONTRADICTS_ITSELF, "paper_contradicts_itself", "the paper contradicts itself")                  \
    X(PAPER_CONTRADICTS_ITS_CODE, "paper_contradicts_its_code", "the paper contradicts its code")            \
    X(ASSUMPTION, "assumption", "the paper's figure rests on another assumption")
enum ll_cause {
#define X(id, word, text) LL_##id,
    LL_CAUSE_LIST(X)
#undef X
};

struct ll_criterion {
    const char *claim;    /* the sentence that is to hold */
    const char *measured; /* what was found, with its unit */
    const char *bound;    /* what was wanted, as ">= 3 %" */
    double value;         /* the measured number in the unit of the claim; NaN: it is no number */
    double least, most; /* the bounds of `value`, in its unit; infinite where there is none, NaN: no number */
    enum ll_verdict verdict;
    enum ll_cause cause;    /* of EXPLAINED */
    const char *arithmetic; /* EXPLAINED: how the difference comes about, in computed numbers; else NULL */
    const char *needed; /* EXPLAINED: what gives the paper's figure, and which figure it gives; else NULL */
    double spread;      /* INCONCLUSIVE: highest less lowest repetition, in the unit of `value`; else NaN */
    const char *why;    /* INFO: why there is no criterion; SKIPPED: why it was not run; else NULL */
};

enum { LL_MOST_STUDY_TABLES = 8, LL_MOST_STUDY_FIGURES = 4, LL_MOST_NOTES = 16 };

struct ll_study_result {
    struct ll_arena arena;
    struct ll_study_table tables[LL_MOST_STUDY_TABLES];
    size_t table_count;
    struct ll_study_figure figures[LL_MOST_STUDY_FIGURES];
    size_t figure_count;
    const char *notes[LL_MOST_NOTES]; /* how it was measured, what to keep in mind; a sentence or more each */
    size_t note_count;
    struct ll_criterion *criteria;
    uint64_t criterion_count, criterion_capacity;
    bool failed;
};

/* Frees all; the result, {0} to begin with, is empty afterwards. */
void ll_study_result_release(struct ll_study_result *result);

/* A table; columns are copied, their names must outlive the result. Cells are then put row after row. Never
 * NULL: when there is no room `failed` is set and the last one is overwritten. */
struct ll_study_table *ll_study_table_new(struct ll_study_result *result, const char *name,
                                          const char *caption, const struct ll_study_column *columns,
                                          size_t column_count);

/* The next cell of its row, of the kind that its column is; texts are copied. */
void ll_table_put_text(struct ll_study_table *table, const char *text);
void ll_table_put_number(struct ll_study_table *table, double number);

/* A figure to be drawn into the text returned, which stays the result's; never NULL. A name of NULL is the
 * study's own. */
struct ll_str *ll_study_figure_new(struct ll_study_result *result, const char *name, const char *caption);

/* A sentence for readers, printf style. */
void ll_study_note(struct ll_study_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Criteria. The claim, printf style, is a sentence that is to hold. Numbers are shown with so many decimals,
 * and the unit behind them ("", " %", " s"). Not a number never passes. */
struct ll_measured_value {
    double value;
    int decimals;
    const char *unit;
};
void ll_criterion_at_least(struct ll_study_result *result, struct ll_measured_value measure, double bound,
                           const char *claim, ...) __attribute__((format(printf, 4, 5)));
void ll_criterion_at_most(struct ll_study_result *result, struct ll_measured_value measure, double bound,
                          const char *claim, ...) __attribute__((format(printf, 4, 5)));
void ll_criterion_between(struct ll_study_result *result, struct ll_measured_value measure, double low,
                          double high, const char *claim, ...) __attribute__((format(printf, 5, 6)));

/* A claim that is no comparison with a number: what was found and what was to be found, as texts. */
void ll_criterion_holds(struct ll_study_result *result, bool holds, const char *measured, const char *bound,
                        const char *claim, ...) __attribute__((format(printf, 5, 6)));

/* Explains the last criterion where it is not met: the study itself computes what would give the paper's
 * figure. The criterion becomes EXPLAINED only while `reached`, what comes out with `needed`, lies between
 * low and high, the paper's figure and its rounding or tolerance; otherwise it stays FAIL, as one without a
 * number does. A criterion that is met stays as it is. The arithmetic is printf style, its numbers are
 * computed. Texts are copied. */
struct ll_explanation {
    enum ll_cause cause;
    const char *needed; /* what is to be assumed instead of what was simulated, with its value */
    struct ll_measured_value reached; /* what this gives */
    double low, high;                 /* between which the paper's figure lies */
};
void ll_criterion_explain(struct ll_study_result *result, const struct ll_explanation *explanation,
                          const char *arithmetic, ...) __attribute__((format(printf, 3, 4)));

/* Says that the last criterion's value was measured more than once: the repetitions lie between low and high.
 * A verdict stands where it is that of all repetitions, and a failure only where the machine was quiet
 * besides; otherwise the criterion becomes INCONCLUSIVE. A criterion without a number stays as it is. */
void ll_criterion_repeated(struct ll_study_result *result, double low, double high, bool quiet);

/* Joins results of the same study, recorded and judged anew, into the first of them, by criterion. A
 * criterion that came out the same to the last digit in all rests on no clock and stays as it is; else what
 * ll_criterion_repeated says holds of its values, where a repetition that is INCONCLUSIVE is no failure; one
 * in words must come out alike, or the share of repetitions in which it did not hold is its spread. */
void ll_study_join(struct ll_study_result *result, const struct ll_study_result *repetitions, size_t count,
                   bool quiet);

/* What is shown beside what is published and not judged; `why` says what a judgement lacks. */
void ll_criterion_info(struct ll_study_result *result, const char *why, const char *measured,
                       const char *published, const char *claim, ...) __attribute__((format(printf, 5, 6)));

/* What was not run, and why. */
void ll_criterion_skipped(struct ll_study_result *result, const char *why, const char *claim, ...)
    __attribute__((format(printf, 3, 4)));

/* How many criteria came out so. */
size_t ll_count_verdicts(const struct ll_study_result *result, enum ll_verdict verdict);

/* "PASS", "FAIL" and so on; the word of a cause in JSON, and for people; static storage. */
const char *ll_verdict_name(enum ll_verdict verdict);
const char *ll_cause_name(enum ll_cause cause);
const char *ll_cause_text(enum ll_cause cause);

/* An experiment: a family of workloads, simulated all over on several platforms.
 *
 * Its axes say which workloads: values of a model's parameters and of the batch, in all combinations. A
 * platform is one or several devices that share a batch: each computes its part
 * on a copy of the weights, then all add up their gradients, one after the other, and nobody goes on
 * meanwhile. So
 *
 *     device = replay of a replica's step + exchange of each weight's gradient
 *     step   = max(device, host)                    of many steps (sim/replay/replay.h)
 *
 * Plain data. Who can record workloads runs it (sim/cli/cmd_study.c). */

enum {
    LL_MOST_FAMILY_AXES = 5,
    LL_MOST_FAMILY_VALUES = 9,
    LL_MOST_PLATFORMS = 10,
    LL_MOST_FIXED = 2,
    LL_MOST_PLATFORM_OVERRIDES = 3
};

/* A parameter of the model, or "batch". */
struct ll_family_axis {
    const char *key;
    uint64_t values[LL_MOST_FAMILY_VALUES]; /* rising; ended by 0, if not full */
};

struct ll_family {
    const char *name, *doc; /* a word, and for people */
    const char *model;
    struct {
        const char *key, *value;
    } fixed[LL_MOST_FIXED]; /* what all points share; ended by one without key, if not full */
    struct ll_family_axis axes[LL_MOST_FAMILY_AXES]; /* ended by one without key, if not full */
};

/* How many axes, values of one of them, and points. */
size_t ll_family_axes(const struct ll_family *family);
size_t ll_family_axis_values(const struct ll_family_axis *axis);
uint64_t ll_family_size(const struct ll_family *family);

/* Values of point i, by axis; the last axis changes fastest. */
void ll_family_point(const struct ll_family *family, uint64_t i, uint64_t values[LL_MOST_FAMILY_AXES]);

/* The axis of this key, which there is. */
size_t ll_family_axis(const struct ll_family *family, const char *key);

struct ll_platform {
    const char *name;    /* for people; its own among those of an experiment */
    const char *machine; /* one of the devices, as sim -c takes it */
    struct ll_override overrides[LL_MOST_PLATFORM_OVERRIDES]; /* ended by one without path, if not full */
    const char *dtype; /* as the model's parameter has it; without one, all of the recording becomes it */
    uint64_t devices;  /* how many devices share the batch */
    uint64_t batches;  /* how many times the batch of the point */
};

struct ll_experiment {
    const struct ll_family *family;
    const struct ll_platform *platforms;
    size_t platform_count;
};

/* What comes of a point on a platform; of a step, all devices together where it is an amount. */
struct ll_experiment_point {
    bool simulated;    /* else the other fields are 0 */
    bool fits;         /* a replica fits the memory of its device */
    double step_s;     /* time of a step: the larger of device_s and host_s */
    double device_s;   /* time of a replica's step and its gradient exchange */
    double host_s;     /* time of the host's input pipeline for a step */
    double exchange_s; /* time of the gradient exchange, a part of device_s */
    double flops;      /* algorithmic FLOPs of a step */
    double bytes;      /* algorithmic bytes of a step */
    double peak_flops; /* peak FLOP/s of all devices */
    double memory_Bps; /* memory bandwidth of all devices, from the data sheet */
    double peak_bytes; /* peak memory of a replica */
    double parameters; /* of the model */
    double samples;    /* in a step */
    double memory_s;   /* memory-bound part of device_s outside GEMMs, exchange included */
};

struct ll_experiment_result {
    struct ll_experiment experiment;
    uint64_t count;                 /* number of points */
    struct ll_experiment_point *at; /* by point, then by platform: count x platform_count entries */
};

/* Point i of the family on a platform. */
static inline const struct ll_experiment_point *ll_experiment_at(const struct ll_experiment_result *result,
                                                                 uint64_t i, size_t platform)
{
    return &result->at[i * result->experiment.platform_count + platform];
}

/* The value of an axis at point i of the result. */
uint64_t ll_experiment_value(const struct ll_experiment_result *result, uint64_t i, size_t axis);

/* FLOPs over what the devices could have done in the step, and samples a second. */
double ll_experiment_utilization(const struct ll_experiment_point *point);
double ll_experiment_rate(const struct ll_experiment_point *point);

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
    bool scored; /* with scores before the first and after the last step; not of a dry run */
    bool recipe; /* in the small version in which it learns (leadline train), its batch and settings, too */
    const char
        *products;  /* the type that products of weights read (tracer/transform/dtype.h); NULL: their own */
    uint64_t batch; /* 0: the model's own */
    uint64_t steps;
    unsigned threads; /* 0: one for each CPU; of no meaning in a dry run */
};

/* A machine that a study wants: a name that sim -c would take, and overrides as of --set. */
struct ll_study_machine {
    const char *name, *machine;                            /* the name is the study's own */
    struct ll_override overrides[LL_MOST_STUDY_OVERRIDES]; /* ended by one without path, if not full */
};

/* How well a workload does on what it has not learned, as its model judges itself. */
struct ll_study_score {
    const char *name, *doc; /* static storage */
    double before, after;   /* the first step and the last one */
};

/* The losses of a recording's steps, in order, none of a dry run; and its scores, where it is scored. */
struct ll_losses {
    const double *at;
    uint64_t count;
    const struct ll_study_score *scores;
    size_t score_count;
};

struct ll_study_plan {
    bool whole; /* set by the caller: experiments take all points that the paper has, not a part */
    struct ll_arena arena;
    struct ll_recording *recordings;
    uint64_t recording_count, recording_capacity;
    struct ll_study_machine *targets;
    uint64_t target_count, target_capacity;
    struct ll_experiment *experiments;
    uint64_t experiment_count, experiment_capacity;
    bool failed; /* memory ran out */
};

/* Whether a plan records what really runs, and so depends on the machine and on what else runs there. */
bool ll_study_records(const struct ll_study_plan *plan);

/* Adds to a plan; the texts must outlive it (those made for it go into its arena). */
void ll_study_plan_recording(struct ll_study_plan *plan, const struct ll_recording *recording);
void ll_study_plan_machine(struct ll_study_plan *plan, const struct ll_study_machine *target);
void ll_study_plan_experiment(struct ll_study_plan *plan, const struct ll_experiment *experiment);
void ll_study_plan_release(struct ll_study_plan *plan);

/* Whether two recordings are made the same way, whatever they are called. */
bool ll_same_recording(const struct ll_recording *a, const struct ll_recording *b);

/* Whether two experiments ask the same. */
bool ll_same_experiment(const struct ll_experiment *a, const struct ll_experiment *b);

/* What a plan was answered with. Traces are by recording, NULL for a workload that there is not; machines by
 * target, none of them NULL; experiments in the plan's order. All belong to whoever brought them. */
struct ll_runs {
    const struct ll_study_plan *plan;
    const struct ll_trace *const *traces;
    const struct ll_machine *const *machines;
    /* Rows that the user brought instead of those of a study; may be none. */
    const struct ll_measured *measured;
    uint64_t measured_count;
    const struct ll_experiment_result *const
        *experiments;       /* NULL for those of a workload that there is not */
    struct ll_arena *arena; /* for what a study computes on its way */
    struct ll_diags *diags; /* for traces that a machine cannot run; the study then comes to nothing */
    const struct ll_losses *losses; /* by recording; may be NULL */
    const double *noise;            /* by recording, as ll_runs_noise gives it; may be NULL */
};

/* The trace of this name, NULL when there is none. */
const struct ll_trace *ll_runs_trace(const struct ll_runs *runs, const char *row, const char *variant);

/* The losses of that recording; none where there is no such trace. */
struct ll_losses ll_runs_losses(const struct ll_runs *runs, const char *row, const char *variant);

/* How much the time of fixed work varied during that recording, as a part of it: the larger of
 * deviation (ll_robust_variation) and drift (ll_drift). What varies by less in the recording is the
 * machine. 0 where nothing is known. */
double ll_runs_noise(const struct ll_runs *runs, const char *row, const char *variant);

/* The trace replayed on a machine of the plan; NULL when there is no such trace, or after a complaint. */
const struct ll_result *ll_runs_replay(const struct ll_runs *runs, const char *row, const char *variant,
                                       const char *target);

/* What a figure of recordings says below its title: on which processor they were made. */
const char *ll_runs_recorded_on(const struct ll_runs *runs);

/* The experiment of the family of this name; NULL when there is none. */
const struct ll_experiment_result *ll_runs_experiment(const struct ll_runs *runs, const char *family);

struct ll_study {
    const char *id;    /* as on the command line and in file names */
    const char *paper; /* whose figure or table it is, as in "Fathom, figure 3" */
    const char *title;
    const char *doc; /* what the paper shows there and what it claims, in a few sentences */
    bool compares;   /* with measured rows, which the user may bring in place of its own */
    void (*plan)(struct ll_study_plan *plan);
    void (*judge)(const struct ll_runs *runs, struct ll_study_result *result);
};

/* The studies in the order of studies.def; i is below the count. */
size_t ll_study_count(void);
const struct ll_study *ll_study_at(size_t i);

/* NULL when there is none of that name. */
const struct ll_study *ll_study_find(const char *id);

/* Judges, and adds what is true of every study: each workload of the plan must have been there. False when
 * memory ran out or after a complaint. */
bool ll_study_judge(const struct ll_study *study, const struct ll_runs *runs, struct ll_study_result *result);

/* A result for people and for programs: screens, pages and files as text. All pure. */

/* What stands on the screen: title, tables, notes, what was run to be measured, criteria with their verdicts.
 * width in characters. */
void ll_present_text(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_study_result *result, unsigned width, struct ll_str *out);

/* A table as comma-separated values with a line of column names: numbers in full, nothing for those that are
 * not there. */
void ll_present_csv(const struct ll_study_table *table, struct ll_str *out);

/* One object, as sim/study/README.md says. */
void ll_present_json(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_study_result *result, struct ll_json *json);

/* One object with what the page of a study (sim/page) shows beyond that: what it is about, figures as SVG,
 * the decimals of columns, and the file of the study's own page, beside this one (NULL: this is it). */
void ll_present_more_json(const struct ll_study *study, const struct ll_study_result *result,
                          const char *page, struct ll_json *json);

/* How alike profiles are, as Fathom measures it (Adolf et al., 2016, section V.B): a profile is a vector, two
 * of them are as far apart as 1 - A.B / (|A| |B|), and clusters grow by merging the two nearest and putting
 * their centroid in their place. */

/* A.B / (|A| |B|) of vectors of `size` numbers; 0 when either is all zero. Pure. */
double ll_cosine(const double *a, const double *b, size_t size);

enum { LL_MOST_PROFILES = 32, LL_MOST_PROFILE_SIZE = 512 };

/* Clusters `count` profiles of `size` numbers each, one after the other in `profiles`; 2 to LL_MOST_PROFILES
 * and 1 to LL_MOST_PROFILE_SIZE. A centroid is the mean of all profiles of its cluster. Fills merges[count -
 * 1] as struct ll_tree wants them: merge i makes cluster count + i. Of equal distances the first pair is
 * taken. */
void ll_cluster(const double *profiles, size_t count, size_t size, struct ll_merge *merges);

/* Which profiles are in cluster `node` (below count: a profile itself), as bits. Pure. */
unsigned long ll_members(const struct ll_merge *merges, size_t count, size_t node);

/* The few statistics that studies need. All pure; values are finite. */

/* The standard deviation (divided by count) of count values over their mean. 0 of none. */
double ll_variation(const double *values, size_t count);

/* The value below which `part` (0 to 1) of the values lie, between two of them in proportion. The scratch
 * arena holds a sorted copy. NaN of none, or when memory ran out. */
double ll_quantile(const double *values, size_t count, double part, struct ll_arena *scratch);

/* The same for values of which a few are far off for reasons of their own: the distance of the quartiles,
 * which is 1.349 standard deviations of a normal distribution, over the median. */
double ll_robust_variation(const double *values, size_t count, struct ll_arena *scratch);

/* How much a line through values at 0, 1, 2 ... gains from the first to the last, over their median. The
 * line's slope is the median of those of all pairs (Theil, 1950; Sen, 1968), which outliers hardly move. 0 of
 * fewer than two. */
double ll_drift(const double *values, size_t count, struct ll_arena *scratch);

/* Spearman's rank correlation of count pairs, ties having the mean of their ranks. 0 where either side is
 * constant; NaN when memory ran out. */
double ll_spearman(const double *x, const double *y, size_t count, struct ll_arena *scratch);

#endif
