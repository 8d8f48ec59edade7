/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as people write them: keys with values, in YAML or on a command line. plan_keys.def has the rows. */
#ifndef LL_SIM_PARALLEL_PLAN_FILE_H
#define LL_SIM_PARALLEL_PLAN_FILE_H

#include "sim/parallel/plan.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"

#include <stddef.h>

/* One device by itself, with gradients in buckets of 25 MiB (as PyTorch's) that overlap, once there are more.
 */
struct ll_parallel ll_plan_of_one(void);

/* A row of plan_keys.def; `value` is what stands behind the option in a usage, NULL for a flag, which
 * it turns round. Static storage. */
struct ll_plan_key {
    const char *key, *option, *value, *help;
};
size_t ll_plan_key_count(void);
struct ll_plan_key ll_plan_key_at(size_t i);

/* Whether there is such a key; complains if not. */
bool ll_plan_key_is_known(const char *key, struct ll_place place, struct ll_diags *diags);

/* Sets what a key says; flags are set by "true" and "false". False after complaining about the value, or
 * about a key that there is not. */
bool ll_plan_set(struct ll_parallel *plan, const char *key, const char *text, struct ll_place place,
                 struct ll_diags *diags);

/* Sets what a YAML text says, a map of keys; `name` stands for the file. False after complaints about
 * all mistakes; what is right is set all the same. */
bool ll_plan_parse(struct ll_parallel *plan, const char *text, size_t length, const char *name,
                   struct ll_diags *diags);

/* What follows from a plan for a trace of so many samples a step (0: it does not say). */
struct ll_plan_sizes {
    uint64_t devices;       /* data x context x tensor x pipeline */
    uint64_t batch;         /* samples a step, over all devices; 0: not known */
    uint64_t micro_batch;   /* samples; 0: not known, and there is one micro-batch */
    uint64_t micro_batches; /* that a replica takes up in a step */
};

/* Checks a plan by itself and against the devices that there are. False after complaints about all numbers
 * that do not go together; *sizes then means nothing. */
bool ll_plan_resolve(const struct ll_parallel *plan, uint64_t trace_batch, uint64_t devices,
                     struct ll_diags *diags, struct ll_plan_sizes *sizes);

/* Whether two plans say the same, whatever their batches. */
bool ll_plan_differs_in_batch_alone(const struct ll_parallel *a, const struct ll_parallel *b);

/* The plan as one JSON object, with the keys of the rows. */
void ll_plan_json(const struct ll_parallel *plan, struct ll_json *json);

/* The plan in words that --plan and the command line understand: "--dp 16 --tp 8 --zero 1", what is as
 * without left out. */
void ll_plan_words(const struct ll_parallel *plan, struct ll_str *out);

#endif
