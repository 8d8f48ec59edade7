/* SPDX-License-Identifier: Apache-2.0 */
/* Running a survey (sim/study/survey.h): every point is recorded dry, once for platforms that ask for the
 * same, and replayed on each platform, by all CPUs at hand. */
#ifndef LL_SIM_CLI_SURVEYOR_H
#define LL_SIM_CLI_SURVEYOR_H

#include "sim/study/study.h"

/* An exit status, after saying what is wrong. *result is NULL where there is no such workload, which is said;
 * else to be freed. Tells on standard error how far it is. */
int ll_survey_run(const struct ll_survey *survey, struct ll_survey_result **result);
void ll_survey_result_free(struct ll_survey_result *result);

#endif
