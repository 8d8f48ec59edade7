/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the runs that ParaDnn's authors tried on a TPU v2 found room: 1,944 of them, 1,724 ran. */
#ifndef LL_SIM_STUDY_PARADNN_MEMORY_H
#define LL_SIM_STUDY_PARADNN_MEMORY_H

#include "sim/study/paradnn.h"

extern const struct ll_family ll_paradnn_tried;

/* Whether point i of this family ran; else memory ran out. The outcomes are known as a rule that says all of
 * them right: 12 bytes for each parameter and 4 for each number of a layer's and a sample of an eighth of the
 * batch, in 8 GiB. It stands for the list, and nothing is simulated with it. */
bool ll_paradnn_ran(const struct ll_survey_result *survey, uint64_t i);

/* What is simulated of a measured row; NULL where it was not among those tried, or did not come out. */
const struct ll_surveyed *ll_paradnn_simulated(const struct ll_survey_result *survey,
                                               enum ll_paradnn_platform platform,
                                               const struct ll_paradnn_measured *row);

#endif
