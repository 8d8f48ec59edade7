/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a workload's trace: what ran, how, where. */
#ifndef LL_MODELS_FACTS_H
#define LL_MODELS_FACTS_H

#include "models/model.h"
#include "tracer/base/arena.h"
#include "tracer/base/status.h"
#include "tracer/trace.h"

struct ll_workload {
    const struct ll_model *model;
    const struct ll_run_options *options;
    const int64_t *params; /* values, in the order of the model's params */
    uint64_t batch, parameters;
};

/* Lives in its own arena, released by the owner. */
struct ll_facts {
    struct ll_arena arena;
    struct ll_fact *list;
    uint64_t count, capacity;
};

/* Lists the facts of a workload; those about libraries are asked of the libraries, which a native run loads
 * here. False when memory ran out or OpenBLAS is missing; then *status says which. */
bool ll_facts_of(const struct ll_workload *workload, struct ll_facts *facts, enum ll_status *status);
void ll_facts_release(struct ll_facts *facts);

#endif
