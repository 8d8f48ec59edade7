/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of ParaDnn share (Wang, Wei, Brooks, "A Systematic Methodology for Analysis of Deep
 * Learning Hardware and Software Platforms", MLSys 2020): its families of workloads, its platforms, and what
 * it measured. */
#ifndef LL_SIM_STUDY_PARADNN_H
#define LL_SIM_STUDY_PARADNN_H

#include "sim/study/study.h"

/* Table 2: the ranges of each family, its last axis the batch. */
enum ll_paradnn_family {
    LL_PARADNN_FC,
    LL_PARADNN_BOTTLENECK,
    LL_PARADNN_RESIDUAL,
    LL_PARADNN_RNN,
    LL_PARADNN_LSTM,
    LL_PARADNN_GRU,
    LL_PARADNN_FAMILIES
};
extern const struct ll_family ll_paradnn_families[LL_PARADNN_FAMILIES];

/* A part of each: fewer values of some parameters, the same first and last ones where time allows. */
extern const struct ll_family ll_paradnn_parts[LL_PARADNN_FAMILIES];

/* Table 3, and what is asked of them beside it. */
enum ll_paradnn_platform {
    LL_PARADNN_TPU2, /* a board of eight cores */
    LL_PARADNN_V100,
    LL_PARADNN_CPU,
    LL_PARADNN_TPU3,       /* a board */
    LL_PARADNN_TPU3_TWICE, /* with twice the batch, for which it has the memory */
    LL_PARADNN_TPU2_CORE,  /* one core, as large a batch for itself as one of eight has */
    LL_PARADNN_TPU2_F32,
    LL_PARADNN_PLATFORMS
};
extern const struct ll_platform ll_paradnn_platforms[LL_PARADNN_PLATFORMS];

/* Plans the survey of a family on all platforms: all its points when the plan is for the whole, else those of
 * its part. */
void ll_paradnn_plan(struct ll_plan *plan, enum ll_paradnn_family family);

/* The same for the families that are trained most: fc, bottleneck, rnn. */
void ll_paradnn_plan_main(struct ll_plan *plan);

/* The result of it, NULL when there is none. */
const struct ll_survey_result *ll_paradnn_survey(const struct ll_evidence *evidence,
                                                 enum ll_paradnn_family family);

/* Steps of fully connected networks on a TPU v2 that ParaDnn's authors measured and published: half of them.
 */
struct ll_paradnn_measured {
    uint64_t layers, nodes, input, output, batch;
    double time_s;
};
extern const struct ll_paradnn_measured ll_paradnn_measured[];
extern const size_t ll_paradnn_measured_count;

#endif
