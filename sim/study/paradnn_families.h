/* SPDX-License-Identifier: Apache-2.0 */
/* The families of workloads of ParaDnn (Wang, Wei, Brooks, MLSys 2020): the one table of their ranges. The
 * sweep files examples/paradnn_*.yaml say the same. */
#ifndef LL_SIM_STUDY_PARADNN_FAMILIES_H
#define LL_SIM_STUDY_PARADNN_FAMILIES_H

#include "sim/study/survey.h"

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

#endif
