/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of a training step means to frameworks: the command lines of Megatron-LM, DeepSpeed and
 * torchtitan. */
#ifndef LL_SIM_CLI_TRAINING_COMMANDS_H
#define LL_SIM_CLI_TRAINING_COMMANDS_H

#include "sim/parallel/plan.h"
#include "tracer/base/str.h"
#include "tracer/ir/trace.h"

/* A plan, and what its words depend on. */
struct ll_trained {
    const struct ll_parallel *plan;
    uint64_t devices;          /* of the plan */
    uint64_t devices_per_node; /* of the machine's innermost network */
    uint64_t layers;           /* of the model; 0: not known */
    enum ll_dtype gradients;   /* of the trace's gradients of weights, which the plan may widen */
};

/* The frameworks that are known, with commas between. */
const char *ll_training_frameworks(void);
bool ll_training_framework_is_known(const char *framework);

/* Appends the command line of a framework that is known, and what of the plan it has no flag for, each with a
 * comma between; `lacks` stays empty where it says all. */
void ll_training_command(const char *framework, const struct ll_trained *trained, struct ll_str *command,
                         struct ll_str *lacks);

#endif
