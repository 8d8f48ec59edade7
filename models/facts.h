/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a workload's trace: what ran, how, where. */
#ifndef LL_MODELS_FACTS_H
#define LL_MODELS_FACTS_H

#include "models/model.h"
#include "tracer/base/diag.h"
#include "tracer/record/host.h"

struct ll_workload {
    const struct ll_model *model;
    const struct ll_run_options *options;
    const int64_t *params; /* values, in the order of the model's params */
    uint64_t batch, parameters;
};

/* Adds the facts of a workload; of a native run also those of this machine and of its libraries, for which
 * OpenBLAS is loaded. A dry run knows no machine: the same wherever it is made. LL_NO_MEMORY or LL_NO_LIBRARY
 * else. */
enum ll_status ll_workload_facts(const struct ll_workload *workload, struct ll_facts *facts);

#endif
