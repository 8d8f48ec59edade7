/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of what a sweep found, as SVG. A kind of figure is a row in charts.def and one file chart_*.c.
 */
#ifndef LL_SIM_EXPLORE_CHART_H
#define LL_SIM_EXPLORE_CHART_H

#include "sim/explore/findings.h"

/* What a figure shows, by names of the frame's columns; NULL: chosen. */
struct ll_chart_wish {
    const char *x, *y;     /* two objectives of a front; two parameters of a heat map */
    const char *objective; /* of a heat map */
};

/* What may be wished of a figure, by kind of figure. */
enum {
    LL_WISH_AXES = 1,      /* x and y */
    LL_WISH_OBJECTIVE = 2, /* objective */
    LL_WISH_LOGS = 4,      /* findings on logarithms */
};

enum ll_chart {
#define LL_CHART(word, ...) LL_CHART_##word,
#include "sim/explore/charts.def"
#undef LL_CHART
    LL_CHART_COUNT
};

/* Names in the order of the rows; the chart is in range. */
const char *ll_chart_name(enum ll_chart chart);

/* The LL_WISH_ that it heeds. */
unsigned ll_chart_heeds(enum ll_chart chart);

/* Appends the figure to out. False after a complaint: a name that is no column, too few objectives, or memory
 * ran out. Pure but for that. */
bool ll_chart_draw(enum ll_chart chart, const struct ll_findings *findings, const struct ll_chart_wish *wish,
                   struct ll_str *out, struct ll_diags *diags);

#endif
