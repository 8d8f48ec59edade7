/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of TBD share (Zhu et al., "Benchmarking and Analyzing Deep Neural Network Training", IISWC
 * 2018): its workloads and the mini-batches they are trained with, its two GPUs, and a sweep over both. */
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

enum { LL_TBD_MOST_BATCHES = 6 };
struct ll_tbd_workload {
    const char *name, *model;
    enum ll_tbd_style style;
    uint64_t batches[LL_TBD_MOST_BATCHES]; /* of a sweep, rising; ended by 0, if not full */
    struct ll_study_setting settings[LL_MOST_STUDY_SETTINGS];
};
extern const struct ll_tbd_workload ll_tbd[LL_TBD_COUNT];

/* How many batches a workload's sweep has. */
size_t ll_tbd_batch_count(enum ll_tbd_row row);

/* Targets of a plan: the paper's GPUs under a framework, in a host with 28 cores. */
#define LL_TBD_P4000 "Quadro P4000"
#define LL_TBD_TITAN "TITAN Xp"
void ll_tbd_plan_machine(struct ll_study_plan *plan, const char *target);

/* Plans all training steps of a workload's sweep, or that of one batch. */
void ll_tbd_plan_sweep(struct ll_study_plan *plan, enum ll_tbd_row row);
void ll_tbd_plan_batch(struct ll_study_plan *plan, enum ll_tbd_row row, uint64_t batch);

/* The same with one more setting. */
void ll_tbd_plan_batch_with(struct ll_study_plan *plan, enum ll_tbd_row row, uint64_t batch,
                            struct ll_study_setting setting);

/* A workload on a machine: by batch, as far as it could be recorded. */
struct ll_tbd_sweep {
    enum ll_tbd_row row;
    size_t count;                                   /* mini-batches; 0: there is no such workload */
    double batches[LL_TBD_MOST_BATCHES];            /* samples in a step, rising */
    struct ll_metrics metrics[LL_TBD_MOST_BATCHES]; /* by mini-batch */
    bool fits[LL_TBD_MOST_BATCHES];                 /* by mini-batch: the step fits the machine's memory */
};

/* The trace of one batch; NULL when there is no such workload. */
const struct ll_trace *ll_tbd_trace(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch);

/* One batch of it; NULL when there is no such workload. */
const struct ll_result *ll_tbd_replay(const struct ll_runs *runs, enum ll_tbd_row row, uint64_t batch,
                                      const char *target);

/* The three numbers that a figure shows by batch. */
enum ll_tbd_metric { LL_TBD_THROUGHPUT, LL_TBD_DEVICE, LL_TBD_FP32 };

/* What throughput gains from one batch to another, as a share; NaN unless the sweep has both. */
double ll_tbd_gain(const struct ll_tbd_sweep *sweep, double from, double to);

/* How throughput grows with the batch, as its power: 1 is linear, 0 not at all. The least between two batches
 * that follow each other; NaN of fewer than two. */
double ll_tbd_exponent(const struct ll_tbd_sweep *sweep);

/* A criterion for each workload with several batches: the metric does not fall as they grow. */
void ll_tbd_judge_rising(const struct ll_tbd_sweep *sweeps, enum ll_tbd_metric metric,
                         struct ll_study_result *result);

#endif
