/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as if the products of its weights had been computed in a narrower type and nothing else: what
 * recipes of mixed precision do with FP8 (Micikevicius et al., FP8 formats for deep learning, 2022; NVIDIA's
 * Transformer Engine), autocasting with bf16 or f16, and quantisation with int8 (Xiao et al., SmoothQuant,
 * 2023).
 *
 * Products of weights are `matmul`, `batch_matmul` and convolutions that read a weight, or what was only
 * moved, seen otherwise or cast since it was one; and products of the backward phase that give the gradient
 * of such a weight: they read what a product of weights reads and write as many elements as the weight has.
 * Products among activations stay, as attention's. So does what reads a dimension of the vocabulary: the
 * projection onto words and its gradients, where the roles of dimensions are known; where they are not,
 * these are cast, too.
 *
 * What such a product reads is cast by an op `cast` before the first that reads it, once in a step; its
 * output keeps its type. Another look (a reshape) at what was cast is a look at the cast. Weights of a trace
 * that only infers are held in the type and not cast.
 *
 * What is cast of weights is of the memory class workspace, and serves all micro-batches of a step where
 * there are several; what is exchanged between a cast and its product is exchanged in the narrow type.
 *
 * Left out: the arithmetic of scales, which goes with a cast; and the turned copy that a unit wants whose
 * operands must lie along the dimension that is summed over (Hopper's in FP8), which a cast may write beside
 * the other. */
#ifndef LL_TRACER_PRODUCTS_H
#define LL_TRACER_PRODUCTS_H

#include "tracer/trace.h"

/* A new trace with the products of weights in this type (ll_dtype_is_multiplied), freed by the caller with
 * ll_trace_free; its header says so, its ops have no times, but for those that only wait (ll_op_waits).
 * *products is how many ops are such products; with none the trace is a copy. NULL when memory ran out
 * (*trouble is NULL then) or *trouble, a static sentence, says what does not work out. Thread-safe on
 * different or shared traces. */
struct ll_trace *ll_trace_products_as(const struct ll_trace *trace, enum ll_dtype dtype, uint64_t *products,
                                      const char **trouble);

#endif
