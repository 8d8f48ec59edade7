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

/* A trace in which no op of a pass begins while an exchange of the pass is under way, nor an exchange
 * before all ops that came before have ended; messages between stages are left alone. Ownership and
 * trouble as above. */
struct ll_trace *ll_wait_for_exchanges(const struct ll_trace *trace, const char **trouble);

/* What the framework has on the device beside the tensors of a program (enum ll_framework_part). */
struct ll_framework_memory {
    uint64_t part_bytes[LL_FRAMEWORK_PARTS];
    uint64_t *passing_bytes; /* by op: while it runs */
};

/* Fills *memory for a program whose device runs such software; the list lives in the arena. False when
 * memory ran out. Pure otherwise. */
bool ll_framework_memory(const struct ll_trace *program, const struct ll_training *training,
                         struct ll_arena *arena, struct ll_framework_memory *memory);

/* Tensors that are gathered for the projection onto tokens lie in one buffer that stays: changes lives, by
 * storage, where the software says so (gather_buffer). */
void ll_framework_gathers(const struct ll_trace *program, const struct ll_training *training,
                          struct ll_liveness *lives);

#endif
