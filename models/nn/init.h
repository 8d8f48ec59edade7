/* SPDX-License-Identifier: Apache-2.0 */
/* First contents of variables. */
#ifndef LL_NN_INIT_H
#define LL_NN_INIT_H

#include "models/nn/nn.h"
#include "tracer/base/pool.h"

/* Normal weights that keep the size of what passes a product over so many inputs; gain 2 makes up for the
 * half that a ReLU behind it cuts off (He et al., 2015). */
struct ll_init ll_init_keeping_size(uint64_t inputs, double gain);

/* Fills `data` with the variable's first contents: elements of its type, each a pure function of the seed,
 * the variable's name and the element's number, so the same for any number of threads. */
void ll_init_fill(const struct ll_value *variable, uint64_t seed, struct ll_pool *pool, void *data);

#endif
