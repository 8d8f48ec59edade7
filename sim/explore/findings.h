/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of the results of a sweep: Pareto front, sensitivities, data frame, figures, page.
 *
 * Points that no other point beats.
 *
 * A point has `objectives` values, all to be as small as possible (whoever wants much of something gives its
 * negative); the values of point i stand at values[i * objectives]. Point a dominates point b when no value
 * of a is greater and one is smaller; so equal points dominate each other in neither direction and stay
 * together. A point with a NaN among its values has none: it dominates nothing and is never on a front.
 *
 * All functions are pure: the answer depends on the values and their order alone. */
#ifndef LL_SIM_EXPLORE_FINDINGS_H
#define LL_SIM_EXPLORE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/explore/sweep.h"
#include "sim/page/page.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

/* Whether a dominates b; neither has a NaN. */
bool ll_dominates(const double *a, const double *b, size_t objectives);

/* The points that no other dominates: their indices, ascending, in front, which has room for count of them.
 * n log n for one and two objectives, n log^(k-1) n for k (Kung, Luccio and Preparata: On finding the maxima
 * of a set of vectors, 1975). LL_NO_MEMORY, or LL_OK. */
enum ll_status ll_pareto_front(const double *values, uint64_t count, size_t objectives, uint64_t *front,
                               uint64_t *front_count);

/* The front that a point belongs to: 0 for those that none dominates, 1 for those that only points of front 0
 * dominate, and so on (the non-dominated sorting of Deb, Pratap, Agarwal and Meyarivan: A fast and elitist
 * multiobjective genetic algorithm, 2002). violations[i] says by how much point i breaks the constraints, 0:
 * not at all; NULL: none does. A point that breaks fewer dominates, whatever its values; among equals of them
 * the values decide, and NaN counts as infinite. Takes count^2 comparisons. LL_NO_MEMORY, or LL_OK. */
enum ll_status ll_pareto_ranks(const double *values, const double *violations, uint64_t count,
                               size_t objectives, uint32_t *ranks);

/* How alone each of these members of one front is (same paper): the sum over objectives of the distance of
 * its neighbours, in parts of the front's extent; infinite at the ends. distances[m] belongs to members[m].
 * LL_NO_MEMORY, or LL_OK. */
enum ll_status ll_pareto_crowding(const double *values, size_t objectives, const uint64_t *members,
                                  uint64_t count, double *distances);

/* Puts count indices in the order of their points: by objective `first`, at equality by the next, and so on;
 * equal ones stay as they were. scratch has room for count / 2. NaN may not occur. */
void ll_pareto_sort(const double *values, size_t objectives, size_t first, uint64_t *order, uint64_t *scratch,
                    uint64_t count);

/* The front of what is known so far, and what it proves about points that were not tried.
 *
 * A bound of a point gives for each objective a value that the point cannot get below. When a known point
 * dominates the bound, it dominates the point, whatever its values are: at least as good as the bound in all
 * objectives and better in one, so it is than the point. Such a point is on no front, and trying it is a
 * waste; leaving it out never changes a front.
 *
 * An archive starts as {.objectives = k} and belongs to one thread at a time; asking changes nothing, so many
 * may ask while nobody adds. */

struct ll_archive {
    size_t objectives; /* values of each point, at least 1 */
    double *values;    /* the points of the front one after the other, sorted by their first objective */
    uint64_t count;    /* points of the front */
    uint64_t capacity; /* room in `values`, in numbers */
};

/* Adds a point unless a point of the front is as good in all objectives, and removes the points that it
 * dominates. A point with a NaN is never added. False when memory ran out: the archive is then unchanged. */
bool ll_archive_add(struct ll_archive *archive, const double *values);

/* Whether a point of the front dominates every point with these lower bounds. -INFINITY bounds nothing. */
bool ll_archive_dominates(const struct ll_archive *archive, const double *bound);

/* Frees the points; the archive is empty and usable afterwards. */
void ll_archive_release(struct ll_archive *archive);

/* Which parameter moved what: a linear regression over points, as ParaDnn does it (Wang, Wei and Brooks: A
 * systematic methodology for analysis of deep learning hardware and software platforms, MLSys 2020).
 *
 * Parameters and target are brought to zero mean and unit variance; ordinary least squares then gives each
 * parameter a weight that can be compared with the others': by how many standard deviations the target moves
 * when the parameter moves by one. A parameter whose values are no numbers has one variable for each of its
 * values. Of two, its weight is as if they were numbers, the second the larger one; of more, it is the
 * standard deviation of what they say together, and has no sign. */

struct ll_predictor {
    const double *numbers;   /* by point; NULL: the parameter has choices instead */
    const uint32_t *choices; /* by point, below choice_count, which is then at least 1 */
    uint32_t choice_count;
};

/* Regresses target on the parameters over those of count points where the target is finite. weights has room
 * for each parameter; one that never changes, or that follows from those before it, has 0. *r2 is the part of
 * the target's variance that the line explains, 0 where the target never changes. Time grows with count times
 * the square of the number of variables. LL_NO_MEMORY, or LL_OK. Pure. */
enum ll_status ll_regress(const struct ll_predictor *parameters, size_t parameter_count, const double *target,
                          uint64_t count, double *weights, double *r2);

/* What a sweep found: the Pareto front, the winner of each objective, and the sensitivity of objectives to
 * parameters. */

#define LL_NO_ROW UINT64_MAX

struct ll_findings {
    const struct ll_data_frame *frame;
    const struct ll_data_column
        *objectives[LL_MOST_OBJECTIVES]; /* columns of the frame, values as measured */
    uint64_t valid_count;                /* rows whose point is valid */
    const uint64_t *valid;               /* their numbers, ascending */
    const double *values;  /* of valid row v and objective k at v * objective_count + k; less is better */
    uint64_t front_count;  /* points of the Pareto front */
    const uint64_t *front; /* their rows, the best in the first objective first */
    uint64_t
        winners[LL_MOST_OBJECTIVES]; /* by objective: the best row of the front; LL_NO_ROW: none is valid */
    const double *weights;         /* sensitivity of objective k to axis a at k * axis_count + a: standardized
                                      weights over all points with results, valid or not (ll_regress) */
    bool logs;                     /* weights are between logarithms wherever all values are positive */
    double r2[LL_MOST_OBJECTIVES]; /* by objective: the share of its variance that the weights explain */
};

/* Every objective of the frame has a column. Lives in the arena like all it points to except the frame. NULL
 * when memory ran out. */
const struct ll_findings *ll_findings_new(const struct ll_data_frame *frame, bool logs,
                                          struct ll_arena *arena);

/* The axes in the order of the heaviest weight that they have for any objective; those with one value last.
 * In the arena; NULL when memory ran out. */
const size_t *ll_findings_axes(const struct ll_findings *findings, struct ll_arena *arena);

/* Figures of a sweep, as SVG. A kind of figure is a row in charts.def and a function in figures.c. */

/* What a figure shows, by names of the frame's columns; NULL: chosen. */
struct ll_chart_options {
    const char *x, *y;     /* two objectives of a front; two parameters of a heat map */
    const char *objective; /* of a heat map */
};

/* Which options a figure takes, by kind of figure. */
enum {
    LL_CHART_TAKES_AXES = 1,      /* x and y */
    LL_CHART_TAKES_OBJECTIVE = 2, /* objective */
    LL_CHART_TAKES_LOGS = 4,      /* findings on logarithms */
};

enum ll_chart {
#define LL_CHART(word, ...) LL_CHART_##word,
#include "sim/explore/charts.def"
#undef LL_CHART
    LL_CHART_COUNT
};

/* Names in the order of the rows; the chart is in range. */
const char *ll_chart_name(enum ll_chart chart);

/* The LL_CHART_TAKES_ flags that apply to a figure. */
unsigned ll_chart_takes(enum ll_chart chart);

/* Appends the figure to out. False after a complaint: a name that is no column, too few objectives, or memory
 * ran out. Pure but for that. */
bool ll_chart_draw(enum ll_chart chart, const struct ll_findings *findings,
                   const struct ll_chart_options *options, struct ll_str *out, struct ll_diags *diags);

/* Appends a sweep as one page of HTML (sim/page): designs as points with filters, brushes, zoom and the front
 * of what they leave, parallel coordinates, heat maps, one design with what bounds it, the weights of
 * parameters, the designs as a table. False when memory ran out. Pure but for that. */
bool ll_sweep_page(const struct ll_findings *findings, const struct ll_page_origin *origin,
                   struct ll_str *out);

#endif
