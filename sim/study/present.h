/* SPDX-License-Identifier: Apache-2.0 */
/* An outcome for people and for programs: screens, pages and files as text. All pure. */
#ifndef LL_SIM_STUDY_PRESENT_H
#define LL_SIM_STUDY_PRESENT_H

#include "sim/study/study.h"
#include "tracer/base/json.h"

/* What stands on the screen: title, tables, notes, what was run to be measured, criteria with their verdicts.
 * width in characters. */
void ll_present_text(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_outcome *outcome, unsigned width, struct ll_str *out);

/* A table as comma-separated values with a line of column names: numbers in full, nothing for those that are
 * not there. */
void ll_present_csv(const struct ll_sheet *sheet, struct ll_str *out);

/* A page: figures, tables, criteria, notes, and what was recorded. It stands alone and holds no script. */
void ll_present_html(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_outcome *outcome, struct ll_str *out);

/* One object, as sim/study/README.md says. */
void ll_present_json(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_outcome *outcome, struct ll_json *json);

#endif
