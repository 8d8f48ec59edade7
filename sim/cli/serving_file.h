/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `leadline serve` as a YAML file: a key for each option, with _ or - between words.
 *
 *       machine: h100_sxm+vllm
 *       model: qwen3-32b
 *       prefill: {instances: 2, tp: 2}          as --prefill '2 x tp=2'
 *       decode: {instances: 1, tp: 4}
 *       rate: 10
 *       ttft: 300ms
 *       set: {hbm3.bandwidth: 4TB/s}            as --set, each
 *
 * One thread. */
#ifndef LL_SIM_CLI_SERVING_FILE_H
#define LL_SIM_CLI_SERVING_FILE_H

#include "sim/cli/command.h"
#include "tracer/base/json.h"

/* The arguments, and before them what the file of --settings says, if there is one. An option of the command
 * line replaces that of the file, but for --set, of which both count. What is later said to be wrong with an
 * option of the file begins with its place, until ll_cli_origins is called again. False after complaints. In
 * args->arena. */
bool ll_serving_settings(const struct ll_args *args, struct ll_args *all);

/* Adds what the JSON Schema of such a file has for each key. */
void ll_serving_file_schema(struct ll_json *json);

#endif
