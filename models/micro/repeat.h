/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating a run until its time is known, in memory like that of a runner. */
#ifndef LL_MICRO_REPEAT_H
#define LL_MICRO_REPEAT_H

#include "models/micro/probe.h"

/* Runs body(context) a hundred times or so, or a few times where that takes a second, after once to warm up:
 * `amount` over the time of the best run. The pool that the body runs on is settled before each; NULL: this
 * thread alone. */
struct ll_figure ll_rate_of(struct ll_pool *pool, void (*body)(void *context), void *context, double amount);

/* Zeroed memory in huge pages where there are any, as kernels find it (models/nn/runner.c). NULL when there
 * is none. */
void *ll_probe_memory(uint64_t bytes);
void ll_probe_release(void *memory, uint64_t bytes);

/* The sum of x[count], as fast as the numbers can be read: what is measured by it is the reading. Pure. */
float ll_probe_sum(const float *x, uint64_t count);

#endif
