/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars that TensorFlow keeps among its variables, and Catamount counts as parameters: one counts
 * steps, the other is the learning rate, which only the update reads. */
#ifndef LL_FRONTIER_COUNTER_H
#define LL_FRONTIER_COUNTER_H

#include "models/nn/nn.h"

/* Makes the first and, where the rate is a variable, the second; returns the first. */
struct ll_value *ll_begin_counter(struct ll_nn *nn, bool rate);

/* The op that counts a step, in the update phase. */
void ll_count_step(struct ll_nn *nn, struct ll_value *counter);

#endif
