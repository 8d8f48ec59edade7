/* SPDX-License-Identifier: Apache-2.0 */
/* What figures of sweeps share. Private to sim/explore/chart*.c. */
#ifndef LL_SIM_EXPLORE_CHART_PARTS_H
#define LL_SIM_EXPLORE_CHART_PARTS_H

#include "sim/explore/chart.h"
#include "sim/report/figure/figure.h"

struct ll_chart_job {
    const struct ll_findings *findings;
    const struct ll_chart_wish *wish;
    struct ll_arena *arena; /* scratch */
    struct ll_str *out;
    struct ll_diags *diags;
};

/* Each draws one figure; false after a complaint or without memory. */
#define LL_CHART(word, ...) bool ll_chart_##word(const struct ll_chart_job *job);
#include "sim/explore/charts.def"
#undef LL_CHART

/* The axis or the objective of this name, its number in *index; false after a complaint that names the
 * nearest. */
bool ll_chart_axis(const struct ll_chart_job *job, const char *name, size_t *index);
bool ll_chart_objective(const struct ll_chart_job *job, const char *name, size_t *index);

/* Whether the finite values span so much that logarithms show more: all positive, more than 20 to 1. */
bool ll_chart_is_wide(const double *values, uint64_t count);

/* "12,345 designs tried, 9,876 valid, 12 on the front", in the arena. */
const char *ll_chart_about(const struct ll_chart_job *job);

#endif
