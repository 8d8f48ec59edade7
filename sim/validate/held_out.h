/* SPDX-License-Identifier: Apache-2.0 */
/* How far off predictions are on shapes that a machine's figures have not seen.
 *
 * The figures of a machine that was measured were fitted on rows, perhaps on those that are scored. So for
 * each of five folds of blocks of shapes (tune.h) the figures that a fit may change (ll_fit_kernels) are
 * fitted anew to the machine's rows of the other folds, and the fold is predicted. A sample of few rows pays
 * for every figure that it fits, so this is what to expect at worst. Steps of whole networks and models, on
 * which no figure is fitted here, are left out, as are machines with fewer blocks than folds. A machine with
 * a table of measured kernels keeps its figures, and its rows are as they were predicted: leave their folds
 * out of the table (LL_LEAVE_OWN_FOLD). */
#ifndef LL_SIM_VALIDATE_HELD_OUT_H
#define LL_SIM_VALIDATE_HELD_OUT_H

#include "sim/validate/validate.h"

/* Over the same rows: as they were predicted, and by figures that have not seen their fold. */
struct ll_held_out_family {
    const char *family; /* NULL: all */
    struct ll_errors seen, unseen;
};

struct ll_held_out {
    const struct ll_held_out_family *families; /* in the order of their first rows */
    size_t family_count;
    struct ll_held_out_family overall;
    uint64_t left_out; /* scored rows of no step, of machines that have too few blocks */
};

/* Lives in the arena; NULL when memory ran out. The pool may be NULL; the same bits at any number of threads.
 * */
const struct ll_held_out *ll_held_out_shapes(const struct ll_validation *validation, struct ll_pool *pool,
                                             struct ll_arena *arena);

#endif
