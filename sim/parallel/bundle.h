/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that an update waits for, made by one exchange: gradients of weights that each rank has whole and of
 * which each has made a part, norms' and biases' above all where sequences are divided (Megatron-core,
 * _allreduce_non_tensor_model_parallel_grads, flattens them into one buffer). */
#ifndef LL_SIM_PARALLEL_BUNDLE_H
#define LL_SIM_PARALLEL_BUNDLE_H

#include "tracer/ir/trace.h"

/* A program in which the all_reduces of a step's update among the same devices are one op, where the first of
 * them was, as far as their inputs are there by then; others are left for a later one. Free with
 * ll_trace_free. NULL with *trouble, a static sentence; without where nothing could be put together. Pure
 * otherwise. */
struct ll_trace *ll_bundle_sums(const struct ll_trace *program, const char **trouble);

#endif
