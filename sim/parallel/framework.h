/* SPDX-License-Identifier: Apache-2.0 */
/* What a training framework makes of a recorded step, beside dividing it: gradients of weights in buffers of
 * 32 bits, a loss that needs no copies of its logits, memory that no op of the trace has. Private to
 * sim/parallel and its tests. */
#ifndef LL_SIM_PARALLEL_FRAMEWORK_H
#define LL_SIM_PARALLEL_FRAMEWORK_H

#include "sim/machine/machine.h"
#include "sim/parallel/parallel.h"
#include "tracer/ir/trace.h"

/* A trace whose gradients of weights, where they have 16 bits, have 32: GEMMs write them so, exchanges send
 * them and updates read them so (Megatron-core's main_grad, param_and_grad_buffer.py). All else is as before.
 * Free with ll_trace_free. NULL and *trouble, a static sentence. Thread-safe. */
struct ll_trace *ll_main_gradients(const struct ll_trace *trace, const char **trouble);

/* A trace whose cross entropies read logits of 16 bits where a cast widened these, and write their gradient
 * over them; the cast of the gradient is gone too (Transformer Engine's cross_entropy.py). Logits that others
 * read stay as they are. A copy where there is no such loss. Ownership and trouble as above. */
struct ll_trace *ll_fuse_loss(const struct ll_trace *trace, const char **trouble);

/* A trace of a tensor-parallel device whose exchanges of a pass go on beside GEMMs (Transformer Engine's user
 * buffers, Megatron-LM's --tp-comm-overlap):
 *
 *     all_gather before a GEMM        in plan->tensor pieces around a ring, copied by copy engines while the
 *                                     GEMM of the piece before goes on: t - 1 times the longer of both,
 *                                     and the last GEMM
 *     GEMM before a reduce_scatter    of the forward pass, in four pieces: each is scattered while the next
 *                                     is computed, so that the last one shows
 *     others of the backward pass     as a whole beside the GEMM that gives the gradient of the weight
 *
 * Such exchanges have the attribute `piece`. Rows that do not come out even stay whole. Ownership and trouble
 * as above. */
struct ll_trace *ll_cut_exchanges(const struct ll_trace *trace, const struct ll_parallel *plan,
                                  const char **trouble);

/* A trace in which no op of a pass begins while an exchange of the pass is under way, nor an exchange
 * before all ops that came before have ended; messages between stages, and exchanges that go on beside GEMMs
 * (ll_cut_exchanges), are left alone. Ownership and
 * trouble as above. */
struct ll_trace *ll_wait_for_exchanges(const struct ll_trace *trace, const char **trouble);

/* A trace whose GEMMs of weights are narrow as the recipe, low->gemms and the layers that stay say; of the
 * projection onto tokens and the choice of experts none are (tracer/transform/dtype.h). To be done before
 * tensors are divided, so that what is gathered for a GEMM is gathered narrow. Ownership and trouble as
 * above. */
struct ll_trace *ll_narrow_training(const struct ll_trace *trace, const struct ll_low_precision *low,
                                    const char **trouble);

/* The same trace, divided since, with what the recipe's casts have beside them:
 *
 *     tensorwise, nvfp4    a pass over the tensor for its largest element; where tensor-parallel devices have
 *                          shares of what is gathered, an all_reduce of it
 *     delayed              once in each pass one all_reduce of as many numbers as casts, among all devices
 *                          that have the same layers; nobody waits for it
 *     blockwise, mxfp8,    two copies by one kernel (cast_both), one for each direction in which GEMMs sum,
 *     nvfp4                where both are read; others with low_precision.turned_copies alone
 *
 * Layers of experts multiply in the recipe's format; tokens are cast once, before they are sorted into
 * rows. */
struct ll_trace *ll_complete_casts(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   const char **trouble);

/* What the framework has on the device beside the tensors of a program (enum ll_framework_part). */
struct ll_framework_memory {
    uint64_t part_bytes[LL_FRAMEWORK_PARTS];
    uint64_t *passing_bytes; /* by op: while it runs */
};

/* Fills *memory for a program whose device runs such software; the list lives in the arena. False when
 * memory ran out. Pure otherwise. */
bool ll_framework_memory(const struct ll_trace *program, const struct ll_training *training,
                         struct ll_arena *arena, struct ll_framework_memory *memory);

/* What a device has beside what its framework's allocator gives out. */
struct ll_outside {
    uint64_t communicators; /* groups of devices, and pairs, with which it exchanges by the library */
    uint64_t communicator_bytes, context_bytes;
};

/* Fills *outside for a device that runs `count` programs, whose neighbours of `near` devices are on the
 * innermost level of the network: a communicator for each group of devices that differ in size or distance,
 * with the channels of a ring; where it sends to each other (all_to_all), with channels to each near one, as
 * to the other stages of a pipeline. Far ones share buffers. Exchanges that go on beside GEMMs
 * in buffers of their own (LL_ATTR_PIECE) have none. False when memory ran out. Pure otherwise. */
bool ll_framework_outside(const struct ll_trace *const *programs, uint64_t count,
                          const struct ll_training *training, uint64_t near, struct ll_outside *outside);

/* Tensors that are gathered for the projection onto tokens lie in one buffer that stays: changes lives, by
 * storage, where the software says so (gather_buffer). */
void ll_framework_gathers(const struct ll_trace *program, const struct ll_training *training,
                          struct ll_liveness *lives);

#endif
