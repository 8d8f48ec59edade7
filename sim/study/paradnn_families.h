/* SPDX-License-Identifier: Apache-2.0 */
/* The families of workloads of ParaDnn (Wang, Wei, Brooks, MLSys 2020): their ranges
 * stand in paradnn_families.def. The sweep files examples/paradnn_*.yaml say the same. */
#ifndef LL_SIM_STUDY_PARADNN_FAMILIES_H
#define LL_SIM_STUDY_PARADNN_FAMILIES_H

#include "sim/study/survey.h"

/* Table 2: the ranges of each family, its last axis the batch. */
enum ll_paradnn_family {
#define LL_FAMILY(word, ...) LL_PARADNN_##word,
#include "sim/study/paradnn_families.def"
#undef LL_FAMILY
    LL_PARADNN_FAMILIES
};
extern const struct ll_family ll_paradnn_families[LL_PARADNN_FAMILIES];

/* A part of each: fewer values of some parameters, the same first and last ones where time allows. */
extern const struct ll_family ll_paradnn_parts[LL_PARADNN_FAMILIES];

#endif
