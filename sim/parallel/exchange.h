/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of gradients: all-reduces of an update joined into one (ll_bundle_sums), and what replicas
 * exchange (ll_exchange_gradients). */
#ifndef LL_SIM_PARALLEL_EXCHANGE_H
#define LL_SIM_PARALLEL_EXCHANGE_H

#include "sim/parallel/plan.h"
#include "tracer/ir/trace.h"

/* Sums that an update waits for, made by one exchange: gradients of weights that each rank has whole and of
 * which each has made a part, norms' and biases' above all where sequences are divided (Megatron-core,
 * _allreduce_non_tensor_model_parallel_grads, flattens them into one buffer). */

/* A program in which the all_reduces of a step's update among the same devices are one op, where the first of
 * them was, as far as their inputs are there by then; others are left for a later one. Free with
 * ll_trace_free. NULL with *trouble, a static sentence; without where nothing could be put together. Pure
 * otherwise. */
struct ll_trace *ll_bundle_sums(const struct ll_trace *program, const char **trouble);

/* What replicas of a model exchange: gradients, and with sharded states the weights (Rajbhandari et al.,
 * ZeRO: memory optimizations toward training trillion parameter models, 2020).
 *
 * With N = plan->context x plan->data replicas, plan->tensor devices apart, S bytes of gradients or weights:
 *
 *     zero 0   all_reduce of the gradients                              each device sends 2 (N-1)/N S
 *     zero 1   reduce_scatter of the gradients, 1/N of the optimizer's state and work on each, all_gather of
 *              the new weights                                          the same
 *     zero 2   as 1; a gradient is freed as soon as it is exchanged, and of several micro-batches the parts
 *              are added up                                             the same, gradients of every one
 *     zero 3   as 2, but weights lie in N parts too: all_gather of a layer's before it goes forward, once
 *              more before it goes backward, none after the update      3 (N-1)/N S
 *
 * With plan->within replicas sharing, W of them next to each other share with one another only, and parts of
 * gradients are then added up among the N / W that have the same (HSDP; Zhao et al., PyTorch FSDP, 2023):
 * that crosses the slower links with S / W. With zero 2 and 3 this, too, comes with every micro-batch.
 *
 * Gradients go in buckets, in the order in which they are made: a bucket when it has plan->bucket_bytes, or
 * with plan->overlap false and zero below 2 all of them when the first is used. New weights go in such
 * buckets too. Rows of a table that an update picks (sgd_rows) are gathered from all with their indices, and
 * that update does all of them. With overlap the weights of the next layer are gathered while one computes
 * (zero 3), without it when they are needed.
 *
 * A trace that learns but updates nothing, as a profile of the passes alone, exchanges its gradients;
 * sharing out what it does not have (zero 1 to 3) is refused. One that only infers has weights to share out
 * (zero 3), each gathered once before it is used.
 *
 * With plan->expert replicas dividing experts among them, experts are exchanged by themselves, among the N /
 * expert replicas that have the same ones.
 *
 * Exchanges of gradients and of new weights have the phase comm: they happen once a step, with the backward
 * pass of the last micro-batch and after the update. Those of gradients that are freed (zero 2 and 3) have
 * the phase backward, those of weights with zero 3 the phase of the layer's ops. Parts are of ceil(elements /
 * N), or / W. */

/* The program of a replica; free with ll_trace_free. Without replicas it is the trace as it was.
 * NULL and *trouble, a static sentence. Thread-safe. */
struct ll_trace *ll_exchange_gradients(const struct ll_trace *trace, const struct ll_parallel *plan,
                                       const char **trouble);

#endif
