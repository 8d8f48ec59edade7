/* SPDX-License-Identifier: Apache-2.0 */
/* The families of workloads of ParaDnn (Wang, Wei, Brooks, MLSys 2020): their ranges
 * stand in paradnn_families.def. The sweep files examples/paradnn_*.yaml say the same. */
#ifndef LL_SIM_STUDY_PARADNN_H
#define LL_SIM_STUDY_PARADNN_H

#include "sim/report/figure/figure.h"
#include "sim/study/study.h"

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

/* What the studies of ParaDnn share (Wang, Wei, Brooks, "A Systematic Methodology for Analysis of Deep
 * Learning Hardware and Software Platforms", MLSys 2020): its families of workloads, its platforms, and what
 * it measured. */

/* Table 3, and what is asked of them beside it. */
enum ll_paradnn_platform {
    LL_PARADNN_TPU2, /* a board of eight cores */
    LL_PARADNN_V100,
    LL_PARADNN_CPU,
    LL_PARADNN_TPU3,       /* a board */
    LL_PARADNN_TPU3_TWICE, /* with twice the batch, for which it has the memory */
    LL_PARADNN_TPU2_F32,
    LL_PARADNN_TPU2_CORE, /* one of the eight alone, with the whole batch */
    LL_PARADNN_PLATFORMS
};
extern const struct ll_platform ll_paradnn_platforms[LL_PARADNN_PLATFORMS];

/* Plans the experiment of a family on all platforms: all its points when the plan is for the whole, else
 * those of its part. */
void ll_paradnn_plan(struct ll_study_plan *plan, enum ll_paradnn_family family);

/* The same for the families that are trained most: fc, bottleneck, rnn. */
void ll_paradnn_plan_main(struct ll_study_plan *plan);

/* The result of it, NULL when there is none. */
const struct ll_experiment_result *ll_paradnn_experiment(const struct ll_runs *runs,
                                                         enum ll_paradnn_family family);

/* A number of each point of an experiment, in the arena; NULL when memory ran out. What is not simulated is
 * NaN. */
typedef double ll_experiment_number(const struct ll_experiment_result *experiment, uint64_t i,
                                    size_t platform);
double *ll_paradnn_column(const struct ll_experiment_result *experiment, size_t platform,
                          ll_experiment_number *number, struct ll_arena *arena);

/* Such numbers: the share of the platform's peak that a step reaches, samples a second. */
double ll_paradnn_utilization(const struct ll_experiment_result *experiment, uint64_t i, size_t platform);

/* The paper's weights: by how many standard deviations a number moves with each axis, of the first order
 * (ordinary least squares), and how much of its variance that explains. */
struct ll_paradnn_weights {
    double of[LL_MOST_FAMILY_AXES]; /* by axis: standardized regression weight */
    double r2;                      /* share of the variance that the weights explain, 0 to 1 */
};
struct ll_paradnn_weights ll_paradnn_weigh(const struct ll_experiment_result *experiment,
                                           const double *numbers, struct ll_arena *arena);

/* The same of what was measured, which has the axes of LL_PARADNN_FC. */
struct ll_paradnn_measured;
struct ll_paradnn_weights ll_paradnn_weigh_measured(const struct ll_paradnn_measured *rows, size_t count,
                                                    const double *numbers, struct ll_arena *arena);

/* Tables of weights: opened, a row each; the paper's sign of an axis, where it says one, is a criterion. */
struct ll_study_table *ll_paradnn_weights_table(struct ll_study_result *result, const char *name,
                                                const char *caption);
void ll_paradnn_put_weights(struct ll_study_table *table, const char *what, const struct ll_family *family,
                            const struct ll_paradnn_weights *weights);
void ll_paradnn_draw_weights(struct ll_svg *svg, struct ll_rect box, const char *title,
                             const struct ll_family *family, const struct ll_paradnn_weights *weights);

/* The mean of a number over all points of a cell: rows and columns are values of two axes. NaN where none is
 * simulated. In the arena, row after row; NULL when memory ran out. */
double *ll_paradnn_cells(const struct ll_experiment_result *experiment, const double *numbers,
                         size_t row_axis, size_t column_axis, struct ll_arena *arena);

/* Such cells as a heat map; `full` is the value of the darkest. NULL cells draw nothing. */
struct ll_paradnn_heat {
    const char *title, *unit;
    const char *grey;               /* what cells without a value are, for the legend; NULL: there are none */
    const struct ll_family *family; /* whose axes are rows and columns */
    size_t row_axis, column_axis;   /* indices of its axes */
    const double *cells;            /* row after row (ll_paradnn_cells); NULL: nothing is drawn */
    double full;                    /* the value of the darkest color */
    double middle;                  /* of ratios, what is equal, as of ll_heat; 0: shades begin at zero */
};
void ll_paradnn_draw_cells(struct ll_svg *svg, struct ll_rect box, const struct ll_paradnn_heat *heat);

/* Steps of fully connected networks that ParaDnn's authors measured and published. */
struct ll_paradnn_measured {
    uint64_t layers, nodes, input, output, batch;
    double time_s;
};

/* Those on a platform, which are rows that the user brought or, of a TPU v2, else half of the published ones;
 * *count, perhaps none. In the arena, or static. */
const struct ll_paradnn_measured *ll_paradnn_rows(const struct ll_runs *runs,
                                                  enum ll_paradnn_platform platform, size_t *count);

/* Which of the runs that ParaDnn's authors tried on a TPU v2 found room: 1,944 of them, 1,724 ran. */

extern const struct ll_family ll_paradnn_tried;

/* What is simulated of a measured row; NULL where it was not among those tried, or did not come out. */
const struct ll_experiment_point *ll_paradnn_simulated(const struct ll_experiment_result *experiment,
                                                       enum ll_paradnn_platform platform,
                                                       const struct ll_paradnn_measured *row);

#endif
