/* SPDX-License-Identifier: Apache-2.0 */
/* What a deployment means to those who run it: command lines of vLLM, SGLang and TensorRT-LLM, and a graph
 * for NVIDIA Dynamo. Pure functions; one thread. */
#ifndef LL_SIM_CLI_SERVING_COMMANDS_H
#define LL_SIM_CLI_SERVING_COMMANDS_H

#include "sim/cli/command.h"
#include "tracer/base/str.h"

/* Workers that are alike; count 0: there are none. */
struct ll_workers {
    uint64_t count, tensor, pipeline, data, expert;
    uint64_t sequences, tokens; /* of a step at most; 0: as args say */
};

/* decode.count above 0: `first` are those that compute prompts; else they do everything. */
struct ll_deployed {
    const struct ll_args *args;   /* model, batch limits, keys and values: as serve takes them */
    const char *machine, *format; /* as -c and --quantization take them */
    bool own_format;              /* the model's configuration has it so */
    struct ll_workers first, decode;
};

/* The commands that start one worker of each kind, a line each. In args->arena; NULL when memory ran out. */
const char *ll_serving_command(const struct ll_deployed *deployed);

/* Appends a DynamoGraphDeployment (nvidia.com/v1alpha1) with all workers. */
void ll_serving_dynamo(const struct ll_deployed *deployed, struct ll_str *out);

#endif
