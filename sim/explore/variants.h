/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the workloads of a space as they are replayed. A model whose parameters vary has a variant
 * for each combination of them, recorded when a batch needs it. */
#ifndef LL_SIM_EXPLORE_VARIANTS_H
#define LL_SIM_EXPLORE_VARIANTS_H

#include "sim/explore/evaluate.h"
#include "sim/replay/replay.h"

struct ll_variants;

/* Brings the traces that are files. NULL after complaints. */
struct ll_variants *ll_variants_new(const struct ll_space *space, ll_bring *bring, void *context,
                                    struct ll_diags *diags);
void ll_variants_free(struct ll_variants *variants);

/* Brings what these points need, and may forget what they do not. False after complaints. */
bool ll_variants_bring(struct ll_variants *variants, const struct ll_evaluation *evaluations, size_t count,
                       struct ll_diags *diags);

/* The workload as a point has it, which was brought. Thread-safe. */
const struct ll_prepared *ll_variants_get(const struct ll_variants *variants, size_t workload,
                                          const uint32_t *point);

/* A hash of what each workload is, but for parameters that vary. */
const uint64_t *ll_variants_hashes(const struct ll_variants *variants);

#endif
