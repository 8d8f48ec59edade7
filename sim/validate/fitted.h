/* SPDX-License-Identifier: Apache-2.0 */
/* How well does a roofline do that was fitted to the measured times themselves? A prediction by datasheets is
 * worth something where it is no worse.
 *
 *       time = start + max(FLOPs / rate, bytes / bandwidth)
 *
 * The three figures are those that make the mean error, |predicted - measured| / measured, of every second
 * row of a group least; a group has source, hardware, op and dtype in common. The other rows are predicted by
 * them. So the fit has seen, of the same device, software and op, what is nearest to what it is asked for. */
#ifndef LL_SIM_VALIDATE_FITTED_H
#define LL_SIM_VALIDATE_FITTED_H

#include "sim/validate/validate.h"

enum { LL_LEAST_FITTED = 8 }; /* rows of a group: four for three figures, four to be predicted */

/* Over the same rows. */
struct ll_compared {
    const char *hardware; /* NULL: all */
    const char *family;   /* NULL: all */
    const struct ll_machine *machine;
    struct ll_errors ours, fitted;
};

struct ll_fitted_rooflines {
    const struct ll_compared
        *machines; /* by hardware, machine and family, in the order of their first rows */
    size_t machine_count;
    const struct ll_compared *families; /* by family */
    size_t family_count;
    struct ll_compared overall;
    uint64_t left_out; /* scored rows of groups that have too few for a fit */
};

/* Lives in the arena, as does what it refers to; NULL when memory ran out. Thread-safe. */
const struct ll_fitted_rooflines *ll_fit_rooflines(const struct ll_validation *validation,
                                                   struct ll_arena *arena);

#endif
