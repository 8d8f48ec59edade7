/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the workloads of a space as they are replayed. A workload has a variant for each
 * combination of the model's parameters and of the plan; it is recorded and spread when a batch needs it. */
#ifndef LL_SIM_EXPLORE_VARIANTS_H
#define LL_SIM_EXPLORE_VARIANTS_H

#include "sim/explore/evaluate.h"
#include "sim/explore/bound.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/replay.h"

/* One of prepared, spread and trouble. */
struct ll_workload_variant {
    const struct ll_prepared *prepared; /* of one device, or of ranks that wait for one another */
    const struct ll_least *least;       /* what one device takes at least; NULL of several, and of ranks */
    const struct ll_spread *spread;     /* of several */
    const char *trouble;                /* such a model, or such a plan for it, cannot be */
};

struct ll_variants;

/* Brings the first variant of each workload. NULL after complaints. */
struct ll_variants *ll_variants_new(const struct ll_space *space, ll_bring *bring, void *context,
                                    struct ll_diags *diags);
void ll_variants_free(struct ll_variants *variants);

/* Brings what these points need, and may forget what they do not. False when memory ran out. */
bool ll_variants_bring(struct ll_variants *variants, const struct ll_evaluation *evaluations, size_t count,
                       struct ll_diags *diags);

/* The workload as a point has it, which was brought. Thread-safe. */
const struct ll_workload_variant *ll_variants_get(const struct ll_variants *variants, size_t workload,
                                                  const uint32_t *point);

/* A hash of what each workload is, but for parameters that vary. */
const uint64_t *ll_variants_hashes(const struct ll_variants *variants);

#endif
