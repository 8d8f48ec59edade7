/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a plan makes of a recorded step, and how programs are compared. */
#ifndef LL_SIM_PARALLEL_SPREAD_H
#define LL_SIM_PARALLEL_SPREAD_H

#include "sim/parallel/plan_file.h"
#include "sim/replay/replay.h"
#include "tracer/ir/trace.h"

/* Same ops on tensors of the same looks, with the same dependencies. Programs that do may be found to differ
 * where names made the recorder number things otherwise. Pure. */
bool ll_same_program(const struct ll_trace *a, const struct ll_trace *b);

/* Whether two forms of ops say the same but for their scopes and the names of tensors. Pure. */
bool ll_same_form(const struct ll_trace *a, const struct ll_form *x, const struct ll_trace *b,
                  const struct ll_form *y);

/* What a program does once a step, not with every micro-batch. Private to sim/parallel. */

/* Ops of the phases comm and update, and casts that serve a whole step. Pure. */
bool ll_is_once(const struct ll_trace *program, const struct ll_form *form);

/* Whether it casts a weight to memory of the class workspace, where the cast lies until the weight changes,
 * as casts to the type of products do (tracer/transform/dtype.h): several micro-batches read the same. Pure.
 */
bool ll_is_lasting_cast(const struct ll_trace *program, const struct ll_form *form);

/* What each device does: the programs that a plan makes of a recorded step.
 *
 * The step is taken to another batch, shared between the devices of a product and then between those of a
 * sequence, told what to compute again, cut into pieces and given the exchanges of replicas, in this order. A
 * program is what one device does with one micro-batch of one piece of the model, and what it does once a
 * step besides: ops of the phases comm and update. Devices that do the same have one program. */

struct ll_device_program {
    const struct ll_trace *trace;
    const struct ll_prepared *prepared;
};

/* Owns all it points to but the recorded trace, which outlives it. Immutable once made, to be shared by
 * threads. */
struct ll_spread {
    struct ll_arena arena;
    struct ll_parallel plan;
    struct ll_plan_sizes sizes;
    /* Of a step with one micro-batch: FLOPs before products are shared, and of these what could not be shared
     * and is done on each of plan.tensor devices. */
    double whole_flops, undivided_flops;
    struct ll_device_program *programs; /* that differ */
    uint32_t program_count;
    uint32_t *program_of; /* by piece: piece i is on stage i modulo plan.pipeline */
    uint32_t piece_count;
    struct ll_trace **owned; /* traces that were made on the way */
    uint32_t owned_count;
};

/* NULL after complaints about plan or trace, as where plan.tensor divides nothing, or without any when memory
 * ran out; `devices` are those that there are. Free with ll_spread_free. */
struct ll_spread *ll_spread_trace(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  uint64_t devices, struct ll_diags *diags);

/* Makes a spread one for this plan, which may differ in its batch alone: programs do not depend on it where
 * the micro-batch is given. False, and nothing is changed, when it needs a spread of its own, or is wrong. */
bool ll_spread_take_batch(struct ll_spread *spread, const struct ll_parallel *plan, uint64_t devices);

/* With all traces that were derived for it; those it was given stay. NULL is fine. */
void ll_spread_free(struct ll_spread *spread);

#endif
