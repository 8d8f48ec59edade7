/* SPDX-License-Identifier: Apache-2.0 */
/* How the tokens of a layer of experts spread over experts and devices. Pure. */
#ifndef LL_TRACER_IR_EXPERTS_H
#define LL_TRACER_IR_EXPERTS_H

#include "tracer/ir/work.h"

enum { LL_MOST_EXPERTS = 4096 };

/* Fills rows, touched, local_tokens and tiles of a device whose `count` experts have so many rows each;
 * tokens, top_k and local are there. */
void ll_experts_of_counts(const uint64_t *rows, uint64_t count, struct ll_experts *experts);

/* The same of the device that has most rows, of so many devices that share all experts evenly. skew 0:
 * balanced; else experts have loads that follow x^-skew (power law). tokens, top_k and experts are there,
 * `local` is filled. False where there are more than LL_MOST_EXPERTS, or fewer than devices. */
bool ll_experts_spread(double skew, uint64_t devices, struct ll_experts *experts);

/* FLOPs of its GEMMs; bytes of the weights of experts that have rows. LL_NO_FIT past 64 bits. */
uint64_t ll_experts_flops(const struct ll_experts *experts);
uint64_t ll_experts_weight_bytes(const struct ll_experts *experts);

/* Bytes of a weight and of an activation, with their scales; dtype of the arithmetic. The format is in
 * range. */
double ll_expert_weight_bytes(enum ll_expert_format format);
double ll_expert_activation_bytes(enum ll_expert_format format);
enum ll_dtype ll_expert_dtype(enum ll_expert_format format);
const char *ll_expert_format_name(enum ll_expert_format format);

/* Fills one grouped GEMM of a trace: so many experts, of which `touched` have so many rows each. */
void ll_experts_of_gemm(uint64_t experts, uint64_t touched, uint64_t rows_each, struct ll_experts *e);

/* For machines without a kernel for it: a batch of as many GEMMs as experts that have rows, each of the
 * mean number of rows, up and down together. FLOPs and bytes stay as they are. */
struct ll_work ll_experts_as_gemm(const struct ll_work *work);

#endif
