/* SPDX-License-Identifier: Apache-2.0 */
/* What validation left unexplained, and the error bar that follows for a prediction.
 *
 * A residual is the logarithm of measured over predicted time. For each machine and family of ops a table
 * keeps the quantiles of 10, 50 and 90 % of its rows: CSV with the header machine,family,points,p10,p50,p90.
 *
 * The bar of a step on machine m is, over the families f of its ops with shares s_f of the ops' time,
 *
 *       low = time * sum of s_f exp(p10 of m and f)        high = time * sum of s_f exp(p90 of m and f)
 *
 * as if all ops of all families erred together: they share the machine's figures, and a bar that takes them
 * for independent would be too short. Ops of families without rows err as the widest of the others. When
 * families with rows make less than LL_LEAST_COVERED of the time, there is no bar. */
#ifndef LL_SIM_VALIDATE_RESIDUALS_H
#define LL_SIM_VALIDATE_RESIDUALS_H

#include "sim/replay/replay.h"
#include "sim/validate/validate.h"

#define LL_LEAST_COVERED 0.8

struct ll_residual {
    const char *machine, *family; /* the machine's stem */
    uint64_t points;
    double p10, p50, p90;
};

struct ll_residuals {
    const struct ll_residual *at;
    size_t count;
};

/* Adds the table of a validation, by machine and family, of those with at least LL_LEAST_RESIDUALS rows.
 * False when memory ran out. */
enum { LL_LEAST_RESIDUALS = 20 };
bool ll_residuals_csv(const struct ll_validation *validation, struct ll_str *out);

/* Reads such a table; `file` stands for it in complaints. False after complaints. Lives in the arena. */
bool ll_residuals_read(const char *text, size_t length, const char *file, struct ll_arena *arena,
                       struct ll_diags *diags, struct ll_residuals *residuals);

/* The bar of a result; false when there is none. */
bool ll_residuals_bar(const struct ll_residuals *residuals, const struct ll_result *result, double *low_s,
                      double *high_s);

#endif
