/* SPDX-License-Identifier: Apache-2.0 */
/* Measured training steps of Megatron-LM, predicted: files that say of each run its model, its parallelism,
 * how long a step took and how much memory its fullest device had allocated.
 *
 * Columns: model, layers, tp, cp, pp, dp, ep, seq, micro_batches, step_s, peak_allocated_GiB are needed;
 * micro_batch, seq_parallel, cp_comm, virtual_stages, dense_layers, vocab_padded, recompute, optimizer,
 * grad_accum, overlap and loss say how the step was run, and are as Megatron-LM's defaults where they are
 * left out or empty. A row whose run cannot be simulated as it says is not scored, with the reason. */
#ifndef LL_SIM_VALIDATE_TRAINING_H
#define LL_SIM_VALIDATE_TRAINING_H

#include "sim/validate/validate.h"
#include "tracer/base/diag.h"

/* Whether a line names the columns of such a file. Pure. */
bool ll_is_training_header(const char *line);

/* Two predictions a row: family training_time, in seconds, and training_memory, in bytes. Their rooflines:
 * all FLOPs and bytes at the datasheet's rates; weights, gradients and states alone. NULL after
 * complaints, or without any when memory ran out. The text need not outlive it, the machine and the
 * recordings have to. */
const struct ll_validation *ll_validate_training(const char *text, size_t length, const char *file,
                                                 const struct ll_machine *machine,
                                                 const struct ll_recordings *recordings,
                                                 struct ll_arena *arena, struct ll_diags *diags);

#endif
