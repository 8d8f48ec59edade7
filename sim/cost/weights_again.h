/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that every step of a sequence uses, as those of a recurrent layer: how many of them come again.
 *
 * A memory that software fills keeps all of them, if they fit beside one line of what a step takes in and
 * puts out; else each step brings them again. A cache that says its ways and replaces by age needs no room
 * for a next block, and loses them bit by bit: in one step they themselves and the step's other operands
 * come (ll_cache_left). */
#ifndef LL_SIM_COST_WEIGHTS_AGAIN_H
#define LL_SIM_COST_WEIGHTS_AGAIN_H

#include "sim/cost/explain.h"
#include "sim/cost/task.h"
#include "sim/machine/machine.h"

/* The share of its right operand that each step but the first brings into a memory; 1 where nothing stays.
 * Pure. */
double ll_weights_again(const struct ll_task *task, const struct ll_problem *problem,
                        const struct ll_level *memory);

/* Says of b bytes of weights, of which such a share comes again, how many come in all. */
void ll_tell_weights_again(double again, double b, uint64_t steps, double weights, struct ll_explain *why);

#endif
