/* SPDX-License-Identifier: Apache-2.0 */
/* Where each value lies in memory.
 *
 * Variables and kept values have a place of their own. Other values share: a value's place is free again
 * after the last op that reads it, and the next value that fits takes it over, so that a step needs little
 * memory and finds it warm. Planned once, before the first step. */
#ifndef LL_MODELS_NN_RUNNER_H
#define LL_MODELS_NN_RUNNER_H

#include "models/nn/nn.h"
#include "tracer/base/diag.h"
#include "tracer/base/pool.h"
#include "tracer/record/recorder.h"

enum { LL_MEMORY_PLAN_ALIGN = 64 };

struct ll_memory_plan {
    uint64_t *offset; /* by value index, in bytes; views and in-place results have their root's */
    uint64_t total_bytes;
    uint64_t shared_bytes; /* of them, what values take turns in */
};

/* False when memory ran out or a size does not fit in 64 bits. The arrays live in the arena. */
bool ll_memory_plan_make(const struct ll_nn *nn, struct ll_arena *arena, struct ll_memory_plan *plan);

/* Carrying a network out: step after step, each op timed and recorded, or only recorded (a dry run).
 *
 * All memory is taken and touched before the first step; during a step nothing but kernels and the recorder
 * runs. One thread uses a runner; kernels use its pool. */

struct ll_runner_options {
    struct ll_pool *pool; /* NULL: this thread alone */
    uint64_t seed;        /* of the variables' first contents */
    bool dry_run;         /* compute nothing; no memory for values */
    bool rehearse;        /* run a small network's ops for a while before its first step, without effect */
};

struct ll_runner;

/* The network is complete, without trouble, and outlives the runner. NULL with *status when memory ran out or
 * OpenBLAS is missing. */
struct ll_runner *ll_runner_new(struct ll_nn *nn, const struct ll_runner_options *options,
                                enum ll_status *status);

/* Records all steps from now on: before the first step, at most once. The recorder outlives the last step.
 * LL_NO_MEMORY when memory ran out. */
enum ll_status ll_runner_record(struct ll_runner *runner, struct ll_recorder *recorder);
void ll_runner_free(struct ll_runner *runner);

/* One step: the network's driver chooses the program; its feeds are filled, then its ops run in order.
 * Returns how long the ops took, all together, from the first one's start to the last one's end; 0 in a dry
 * run. Denormals count as zero meanwhile, as frameworks have it. */
double ll_runner_step(struct ll_runner *runner, uint64_t step);

/* Runs a program outside of the steps: never recorded, not at all in a dry run. `step` is for its feeds. */
void ll_runner_run(struct ll_runner *runner, uint32_t program, uint64_t step);

/* LL_STRAY_INDEX when in a step or program run so far an index lay outside of what it indexes: a row was
 * then read as zeros, or left out, and no result can be trusted. LL_NO_MEMORY when memory ran out anywhere,
 * since a feed may have made no data. Else LL_OK. */
enum ll_status ll_runner_status(const struct ll_runner *runner);

/* Whether the ops of the first step had all run when it began. */
bool ll_runner_rehearsed(const struct ll_runner *runner);

/* How many ops the steps had so far, and the result of the last one's program: NaN when it has none, and in a
 * dry run. */
uint64_t ll_runner_ops(const struct ll_runner *runner);
double ll_runner_result(const struct ll_runner *runner);

/* The contents of a variable or a kept value, of its shape; NULL in a dry run. Variables may be changed
 * between steps. */
void *ll_runner_data(const struct ll_runner *runner, const struct ll_value *value);

/* A scalar's value, or that of one element; NaN in a dry run. */
double ll_runner_scalar(const struct ll_runner *runner, const struct ll_value *value);
double ll_runner_element(const struct ll_runner *runner, const struct ll_value *value, uint64_t i);

#endif
