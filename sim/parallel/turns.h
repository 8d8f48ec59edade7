/* SPDX-License-Identifier: Apache-2.0 */
/* How long a pipeline's step takes, for the many plans of a search: what sim/parallel/pipeline.h computes of
 * pieces that hand what they make to the next one alone, without a task for each slot.
 *
 * From so many micro-batches on that the pipeline has long been full, further ones are taken to take what the
 * ones before them took. */
#ifndef LL_SIM_PARALLEL_TURNS_H
#define LL_SIM_PARALLEL_TURNS_H

#include "sim/parallel/pipeline.h"

struct ll_turns {
    struct ll_pipeline_shape shape;
    const struct ll_piece_times *pieces; /* stages x chunks; piece i on stage i modulo stages */
    const double *message_s;             /* by piece: of what it hands to the next, and gets back */
};

/* False when memory ran out. Pure. */
bool ll_turns_s(const struct ll_turns *turns, double *time_s);

#endif
