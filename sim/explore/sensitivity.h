/* SPDX-License-Identifier: Apache-2.0 */
/* Which parameter moved what: a linear regression over points, as ParaDnn does it (Wang, Wei and Brooks: A
 * systematic methodology for analysis of deep learning hardware and software platforms, MLSys 2020).
 *
 * Parameters and target are brought to zero mean and unit variance; ordinary least squares then gives each
 * parameter a weight that can be compared with the others': by how many standard deviations the target moves
 * when the parameter moves by one. A parameter whose values are no numbers has one variable for each of its
 * values. Of two, its weight is as if they were numbers, the second the larger one; of more, it is the
 * standard deviation of what they say together, and has no sign. */
#ifndef LL_SIM_EXPLORE_SENSITIVITY_H
#define LL_SIM_EXPLORE_SENSITIVITY_H

#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
