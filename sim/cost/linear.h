/* SPDX-License-Identifier: Apache-2.0 */
/* Quantized linear layers on a stack that describes kernels for them (software.linear): which kernel runs
 * one, and quantizing its activations, within the layer as measured ones do, or as an op of its own, a move
 * with `linear`. All functions are pure and thread-safe. */
#ifndef LL_SIM_COST_LINEAR_H
#define LL_SIM_COST_LINEAR_H

#include "sim/cost/cost_parts.h"

/* A quantized linear layer's kernel of the machine's software: the first for the work's format, of the
 * backend that is asked for where there is one. Software without a kernel for the format, or on a unit that
 * computes in another type, runs that of another format whose arithmetic has as many bits as what the unit
 * computes in. NULL where it is none, or the software has none. */
const struct ll_linear_kernel *ll_linear_kernel_of(const struct ll_machine *machine,
                                                   const struct ll_work *work, enum ll_dtype computed);

/* What goes before its GEMM. */
struct ll_quantizing ll_quantize(const struct ll_machine *machine, const struct ll_unit *unit,
                                 const struct ll_task *task);
void ll_quantize_explain(const struct ll_machine *machine, const struct ll_unit *unit,
                         const struct ll_task *task, struct ll_explain *why);

/* Fills the cost of a move with `linear`. False, and *cost untouched, where the software has no kernel that
 * quantizes to such a format: then it is a cast like any other. */
bool ll_quantize_cost(const struct ll_machine *machine, const struct ll_work *work, struct ll_cost *cost);

/* Prints how that cost comes about; nothing where it is false. */
void ll_quantize_cost_explain(const struct ll_machine *machine, const struct ll_work *work,
                              struct ll_explain *why);

#endif
