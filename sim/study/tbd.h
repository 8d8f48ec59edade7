/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of TBD share (Zhu et al., "Benchmarking and Analyzing Deep Neural Network Training", IISWC
 * 2018): its workloads and the mini-batches they are trained with, its two GPUs under its three frameworks,
 * and sweeps over these. */
#ifndef LL_SIM_STUDY_TBD_H
#define LL_SIM_STUDY_TBD_H

#include "sim/replay/replay.h"
#include "sim/study/study.h"

/* In the order of table II; the translators are two implementations of one row. */
enum ll_tbd_row {
    LL_TBD_RESNET,
    LL_TBD_INCEPTION,
    LL_TBD_NMT,
    LL_TBD_SOCKEYE,
    LL_TBD_TRANSFORMER,
    LL_TBD_FASTER_RCNN,
    LL_TBD_DEEP_SPEECH,
    LL_TBD_WGAN,
    LL_TBD_A3C,
    LL_TBD_COUNT
};

/* What its layers mostly are, which decides what the paper says of it. */
enum ll_tbd_style { LL_TBD_CONVOLUTIONAL, LL_TBD_RECURRENT, LL_TBD_ATTENTION };

/* Its frameworks, each a stack of hwconfigs/stacks. */
enum ll_tbd_framework { LL_TBD_TENSORFLOW, LL_TBD_MXNET, LL_TBD_CNTK, LL_TBD_FRAMEWORKS };

enum { LL_TBD_MOST_BATCHES = 6 };
struct ll_tbd_workload {
    const char *name, *model;
    enum ll_tbd_style style;
    bool under[LL_TBD_FRAMEWORKS]; /* implemented in it, as table II prints */
    enum ll_tbd_framework first;   /* one of these: whose implementation the studies of one framework take */
    const char *panel;             /* whose panel of figures 4 to 6 it shares; NULL: it has none */
    uint64_t batches[LL_TBD_MOST_BATCHES]; /* of a sweep, rising; ended by 0, if not full */
    struct ll_study_setting settings[LL_MOST_STUDY_SETTINGS];
};
extern const struct ll_tbd_workload ll_tbd[LL_TBD_COUNT];

/* How many batches a workload's sweep has. */
size_t ll_tbd_batch_count(enum ll_tbd_row row);

/* Targets of a plan: a GPU of the paper under a framework, in a host with 28 cores. */
enum { LL_TBD_CORES = 28 }; /* of the host */
enum ll_tbd_card { LL_TBD_P4000, LL_TBD_TITAN, LL_TBD_CARDS };
const char *ll_tbd_card_name(enum ll_tbd_card card);
const char *ll_tbd_framework_name(enum ll_tbd_framework framework);

/* The name of the target; static storage. */
const char *ll_tbd_target(enum ll_tbd_card card, enum ll_tbd_framework framework);
void ll_tbd_plan_machine(struct ll_study_plan *plan, enum ll_tbd_card card, enum ll_tbd_framework framework);

/* The card under the frameworks that come first for some workload. */
void ll_tbd_plan_card(struct ll_study_plan *plan, enum ll_tbd_card card);

/* Plans all training steps of a workload's sweep, or that of one batch. */
void ll_tbd_plan_sweep(struct ll_study_plan *plan, enum ll_tbd_row row);
void ll_tbd_plan_batch(struct ll_study_plan *plan, enum ll_tbd_row row, uint64_t batch);

/* The same with one more setting. */
void ll_tbd_plan_batch_with(struct ll_study_plan *plan, enum ll_tbd_row row, uint64_t batch,
                            struct ll_study_setting setting);

/* A workload under a framework on a Quadro P4000: by batch, as far as it could be recorded. */
struct ll_tbd_sweep {
    enum ll_tbd_row row;
    enum ll_tbd_framework framework;
    size_t count;                                   /* mini-batches, at least 1 */
    double batches[LL_TBD_MOST_BATCHES];            /* samples in a step, rising */
    struct ll_metrics metrics[LL_TBD_MOST_BATCHES]; /* by mini-batch */
    bool fits[LL_TBD_MOST_BATCHES];                 /* by mini-batch: the step fits the machine's memory */
};

/* All of them, by workload and framework; none of workloads that there are not. */
enum { LL_TBD_MOST_SWEEPS = LL_TBD_COUNT * LL_TBD_FRAMEWORKS };
struct ll_tbd_sweeps {
    struct ll_tbd_sweep at[LL_TBD_MOST_SWEEPS];
    size_t count;
};
void ll_tbd_plan_sweeps(struct ll_study_plan *plan);
void ll_tbd_replay_sweeps(const struct ll_runs *runs, struct ll_tbd_sweeps *sweeps);

/* The sweep of a workload under a framework; NULL when there is none. */
const struct ll_tbd_sweep *ll_tbd_sweep_of(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_row row,
                                           enum ll_tbd_framework framework);

/* The metrics at the largest batch. */
const struct ll_metrics *ll_tbd_last(const struct ll_tbd_sweep *sweep);

/* The workload, and its framework where it has several. At most LL_TBD_LABEL bytes, the 0 included. */
enum { LL_TBD_LABEL = 48 };
const char *ll_tbd_label(const struct ll_tbd_sweep *sweep, char label[LL_TBD_LABEL]);

/* The trace of one batch; NULL when there is no such workload. */
const struct ll_trace *ll_tbd_trace(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch);

/* One batch of it on a target; NULL when there is no such workload. */
const struct ll_result *ll_tbd_replay(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch,
                                      const char *target);

/* The three numbers that a figure shows by batch. */
enum ll_tbd_metric { LL_TBD_THROUGHPUT, LL_TBD_DEVICE, LL_TBD_FP32 };

/* The number itself; utilizations in percent. */
double ll_tbd_value(const struct ll_metrics *metrics, enum ll_tbd_metric metric);

/* What throughput gains from one batch to another, as a share; NaN unless the sweep has both. */
double ll_tbd_gain(const struct ll_tbd_sweep *sweep, double from, double to);

/* How throughput grows with the batch, as its power: 1 is linear, 0 not at all. The least between two batches
 * that follow each other; NaN of fewer than two. */
double ll_tbd_exponent(const struct ll_tbd_sweep *sweep);

/* The table of all sweeps. */
void ll_tbd_tabulate(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result);

/* The figure of a metric: a panel for each workload of figures 4 to 6, a curve for each framework. */
void ll_tbd_draw(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric,
                 struct ll_study_result *result);

/* A criterion for each sweep of several batches: the metric does not fall as they grow. */
void ll_tbd_judge_rising(const struct ll_tbd_sweeps *sweeps, enum ll_tbd_metric metric,
                         struct ll_study_result *result);

/* What holds for every study of a sweep: how it was simulated. */
void ll_tbd_note(const struct ll_tbd_sweeps *sweeps, struct ll_study_result *result);

/* What would explain a published number of a translator, the same in all studies that ask:
 *
 *     NMT       sentences as long as the longest of a bucket, not as the mean
 *     Sockeye   ops that the engine starts more slowly than those of smaller networks
 */
struct ll_tbd_assumption {
    enum ll_tbd_row row;
    double published_Hz; /* samples/s at its largest batch */
    const char *needed;  /* in words, with its value */
    const char *variant; /* of the recording that it needs; NULL: that of the largest batch */
    const char *words;   /* of its sentences; NULL with variant */
    const char *launch;  /* what starting an op takes; NULL: what the stack says */
};
enum { LL_TBD_OF_NMT, LL_TBD_OF_SOCKEYE, LL_TBD_TRANSLATORS };
extern const struct ll_tbd_assumption ll_tbd_assumptions[LL_TBD_TRANSLATORS];

/* Plans what an assumption needs on a card; the metrics that it gives there, of NaN where the workload is
 * missing. */
void ll_tbd_plan_assumption(struct ll_study_plan *plan, const struct ll_tbd_assumption *assumption,
                            enum ll_tbd_card card);
struct ll_metrics ll_tbd_assumed(const struct ll_runs *runs, const struct ll_tbd_assumption *assumption,
                                 enum ll_tbd_card card);

#endif
