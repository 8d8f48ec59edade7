/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep found: the Pareto front, the winner of each objective, and the sensitivity of objectives to
 * parameters. */
#ifndef LL_SIM_EXPLORE_FINDINGS_H
#define LL_SIM_EXPLORE_FINDINGS_H

#include "sim/explore/store.h"

#define LL_NO_ROW UINT64_MAX

struct ll_findings {
    const struct ll_data_frame *frame;
    /* Of the frame; values as they were measured. */
    const struct ll_data_column *objectives[LL_MOST_OBJECTIVES];
    uint64_t valid_count;
    const uint64_t *valid; /* rows of the frame, ascending */
    const double *values;  /* of valid row v and objective k at v * objective_count + k; less is better */
    uint64_t front_count;
    const uint64_t *front;                /* rows, the best in the first objective first */
    uint64_t winners[LL_MOST_OBJECTIVES]; /* row by objective, of the front; LL_NO_ROW: none is valid */
    /* How much axis a moved objective k, at k * axis_count + a: standardised weights over all points that
     * have a result, valid or not, and the part of the variance that they explain (sensitivity.h). */
    const double *weights;
    bool logs; /* wanted: weights between logarithms, wherever all values are positive */
    double r2[LL_MOST_OBJECTIVES];
};

/* Every objective of the frame has a column. Lives in the arena like all it points to except the frame. NULL
 * when memory ran out. */
const struct ll_findings *ll_findings_new(const struct ll_data_frame *frame, bool logs,
                                          struct ll_arena *arena);

/* The axes in the order of the heaviest weight that they have for any objective; those with one value last.
 * In the arena; NULL when memory ran out. */
const size_t *ll_findings_axes(const struct ll_findings *findings, struct ll_arena *arena);

#endif
