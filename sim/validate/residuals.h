/* SPDX-License-Identifier: Apache-2.0 */
/* What validation left unexplained, and the 80 % prediction intervals that follow.
 *
 * A residual is the logarithm of measured over predicted time. A table keeps its quantiles of 10, 50 and 90 %
 * by machine, family of ops and size: CSV with the header machine,family,size,points,p10,p50,p90. Sizes are
 * classes of the predicted time of one op: small below 20 us, medium below 200 us, large; `all` is all of
 * them. Of n residuals the quantile p is the one at place p (n + 1), so that a further row lies below it with
 * probability p however few there are (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World",
 * 2005, section 2.2).
 *
 * A machine that nobody measured takes `any KIND`, as `any gpu`: all machines of its kind pooled, each with
 * the same weight however many rows it has, so that the spread between devices is part of the interval.
 *
 * The interval of a step, whose ops take shares s_f of its time in families f:
 *
 *       log low  = sum of s_f p50_f - sqrt(sum of (s_f (p50_f - p10_f))^2)
 *       log high = sum of s_f p50_f + sqrt(sum of (s_f (p90_f - p50_f))^2)
 *
 * Within a family all errors are taken to be one: ops of a family share a machine's figures. Families share
 * none, and their errors are independent. What ops do not show (the host, overlap, what software does
 * beyond its kernels) all ops of a step share; the residuals of whole steps (family end_to_end or
 * end_to_end_training) have it. A machine whose steps were measured takes their quantiles; elsewhere the
 * interval is the wider, at either end, of that of the ops and that of the steps of other machines. Ops of
 * families without rows err as the widest of the others. Where families with rows make less than
 * LL_LEAST_COVERED of the time and no steps were measured, there is no interval. */
#ifndef LL_SIM_VALIDATE_RESIDUALS_H
#define LL_SIM_VALIDATE_RESIDUALS_H

#include "sim/replay/replay.h"
#include "sim/validate/table.h"
#include "sim/validate/validate.h"

#define LL_LEAST_COVERED 0.8

enum ll_residual_size {
    LL_RESIDUAL_ALL,
    LL_RESIDUAL_SMALL,
    LL_RESIDUAL_MEDIUM,
    LL_RESIDUAL_LARGE,
    LL_RESIDUAL_SIZES
};

struct ll_residual {
    const char *machine, *family; /* the machine's stem, or `any KIND` */
    enum ll_residual_size size;
    uint64_t points;
    double p10, p50, p90;
};

struct ll_residuals {
    const struct ll_residual *at;
    size_t count;
};

/* Adds the table of a validation: rows of at least LL_LEAST_RESIDUALS points, pools of at least two machines.
 * False when memory ran out. */
enum { LL_LEAST_RESIDUALS = 20 };
bool ll_residuals_csv(const struct ll_validation *validation, struct ll_str *out);

/* Reads such a table; `file` stands for it in complaints. False after complaints. Lives in the arena. */
bool ll_residuals_read(const char *text, size_t length, const char *file, struct ll_arena *arena,
                       struct ll_diags *diags, struct ll_residuals *residuals);

/* The interval of a result; false when there is none. Pure. */
bool ll_residuals_bar(const struct ll_residuals *residuals, const struct ll_result *result, double *low_s,
                      double *high_s);

/* Of some rows how many had an interval, and of these the share whose measured time lies within. */
struct ll_interval_hits {
    uint64_t points;
    double within; /* NaN of no points */
};

/* How often intervals hold, by machine and family. Every residual is judged by intervals that it has no part
 * in, but for `table`, which is as it was written. */
struct ll_interval_cell {
    const struct ll_machine *machine; /* NULL: all of the family */
    const char *family;               /* NULL: all */
    uint64_t points;
    struct ll_interval_hits table; /* by the table given */
    struct ll_interval_hits
        shapes; /* by the machine's rows of other shapes (blocks of LL_INTERVAL_FOLDS folds) */
    struct ll_interval_hits devices; /* by the family's rows on other devices of this kind */
    double width;                    /* mean of log(high / low) of the intervals of `shapes`; NaN of none */
};

enum { LL_INTERVAL_FOLDS = LL_MEASURED_FOLDS };

struct ll_intervals {
    const struct ll_interval_cell *cells, *families; /* in the order of their first rows */
    size_t cell_count, family_count;
    struct ll_interval_cell overall;
};

/* Folds of shapes are those of ll_measured_fold. NULL when memory ran out. Lives in the arena; thread-safe.
 * */
const struct ll_intervals *ll_intervals_of(const struct ll_validation *validation,
                                           const struct ll_residuals *residuals, struct ll_arena *arena);

#endif
