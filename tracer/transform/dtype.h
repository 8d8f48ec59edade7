/* SPDX-License-Identifier: Apache-2.0 */
/* Dtype change: a trace as if its workload had run in another dtype, as a whole, in its weights alone (weight
 * quantization), or in its GEMMs (GEMM dtype change). */
#ifndef LL_TRACER_TRANSFORM_DTYPE_H
#define LL_TRACER_TRANSFORM_DTYPE_H

#include "tracer/ir/trace.h"

/* A trace as if its workload had run in another type of number: what a network of f32 would ask of a machine
 * in bf16, or quantised to int8. */

/* Makes all tensors of a floating type tensors of this type, and counts flops and bytes of all signatures
 * anew. Integers stay what they are, and so do counts of kinds that this program does not know. To be called
 * before the trace is shared. False when memory ran out or *trouble, a static sentence, says what does not
 * work out; the trace is then of no use. */
bool ll_trace_change_dtype(struct ll_trace *trace, enum ll_dtype dtype, const char **trouble);

/* Whether it is a real number with an exponent. Pure. */
bool ll_dtype_is_floating(enum ll_dtype dtype);

/* Whether networks multiply numbers of this type: floating ones, and int8 and int4, which they are quantised
 * to. Pure. */
bool ll_dtype_is_multiplied(enum ll_dtype dtype);

/* The type of this name, ours or one that frameworks and data sheets use, LL_DTYPE_COUNT for none. Pure. */
enum ll_dtype ll_dtype_find(const char *name);

/* Our name of the type that others call so, as f16 of fp16 or float16; NULL where nobody does. Pure. */
const char *ll_dtype_meant(const char *name);

/* Weight quantization: a trace as if its weights were stored in another dtype and computed with in their own,
 * which is what quantization of weights alone does to a network that only infers (Frantar et al., GPTQ, 2023;
 * Lin et al., AWQ, 2024). They take less memory and fewer bytes to read; GEMMs compute in the dtype of their
 * other operand.
 *
 * A format with scales (int4_g128, nvfp4, ...) counts what is stored of them, a plain dtype does not. What
 * expands a weight to what is multiplied is the business of kernels (software.linear of a machine). */

/* Changes every weight that GEMMs and convolutions have as their right operand, or see through a view, to
 * this dtype or format, where nothing else reads or writes it (an optimizer does; a look-up of tokens whose
 * table is also the last layer's weight does); all others stay as they are. Counts bytes of all signatures
 * anew. *weights is how many descs were taken. To be called before the trace is shared. False when memory ran
 * out (*trouble is NULL) or *trouble, a static sentence, says what does not work out; the trace is then of no
 * use. */
bool ll_trace_quantize_weights(struct ll_trace *trace, enum ll_numeric numeric, uint64_t *weights,
                               const char **trouble);

/* GEMM dtype change: a trace as if the GEMMs of its weights had been computed in a narrower dtype and nothing
 * else, which is what
 * recipes of mixed precision do with FP8 (Micikevicius et al., FP8 formats for deep learning, 2022; NVIDIA's
 * Transformer Engine), autocasting with bf16 or f16, and quantization with int8 (Xiao et al., SmoothQuant,
 * 2023).
 *
 * GEMMs of weights are `matmul`, `batch_matmul` and convolutions that read a weight, or what was only moved,
 * reshaped or cast since it was one; and GEMMs of the backward phase that give the gradient of such a weight:
 * they read what a GEMM of weights reads and write as many elements as the weight has. GEMMs among
 * activations stay, as attention's. So does what reads a dimension of the vocabulary: the projection onto
 * tokens and its gradients, where the roles of dimensions are known; where they are not, these are cast, too.
 *
 * What such a GEMM reads is cast by an op `cast` before the first that reads it, once in a step; its
 * output keeps its dtype. A reshape of what was cast is a reshape of the cast. Weights of a trace
 * that only infers are held in the type and not cast.
 *
 * What is cast of weights is of the memory class workspace, and serves all micro-batches of a step where
 * there are several; what is communicated between a cast and its GEMM is communicated in the narrow dtype.
 *
 * A cast to a format with scales writes them, too. Stacks with kernels for linear layers quantize by their
 * own (struct ll_work, `linear`).
 *
 * Left out: the turned copy that a unit wants whose
 * operands must lie along the dimension that is summed over (Hopper's in FP8), which a cast may write beside
 * the other. */

/* A new trace with the GEMMs of weights in this dtype or format (ll_dtype_is_multiplied), freed by the caller
 * with ll_trace_free; its header says so, its ops have no times, but for those that only wait (ll_op_waits).
 * *products is how many ops are such GEMMs; with none the trace is a copy. NULL when memory ran out (*trouble
 * is NULL then) or *trouble, a static sentence, says what does not work out. Thread-safe on different or
 * shared traces. */
struct ll_trace *ll_trace_change_gemm_dtype(const struct ll_trace *trace, enum ll_numeric numeric,
                                            uint64_t *products, const char **trouble);

/* Which of the GEMMs of weights: those of the forward pass (x w), those that give the gradient of what they
 * read (dy w), those that give the gradient of the weight (x dy). */
struct ll_gemms {
    bool forward, data, weight;
};

/* The same of some of them, and of none that `kept` (by op; NULL: none) says. Where no GEMM is taken the
 * trace is a copy. */
struct ll_trace *ll_trace_change_some_gemms(const struct ll_trace *trace, enum ll_numeric numeric,
                                            struct ll_gemms gemms, const bool *kept, uint64_t *products,
                                            const char **trouble);

#endif
