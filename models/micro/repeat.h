/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating a run until its time is known, in memory like that of a runner. One thread at a time. */
#ifndef LL_MICRO_REPEAT_H
#define LL_MICRO_REPEAT_H

#include "models/micro/probe.h"

/* Runs body(context) a hundred times or so, or a few times where that takes a second, after once to warm up:
 * `amount`, what a run does, a second of the best run, of the median one, and how far the runs lie apart
 * (struct ll_figure). The pool that the body runs on is settled before each; NULL: this thread alone. */
struct ll_figure ll_rate_of(struct ll_pool *pool, void (*body)(void *context), void *context, double amount);

/* So many bytes, zeroed, in huge pages where there are any, as kernels find them (models/nn/runner.c). NULL
 * when there are none. The caller's, to be released with the same number of bytes. */
void *ll_probe_memory(uint64_t bytes);
void ll_probe_release(void *memory, uint64_t bytes);

/* The sum of x[count], in one order whatever the CPU, as fast as the numbers can be read: what is measured by
 * it is the reading. Pure. */
float ll_probe_sum(const float *x, uint64_t count);

#endif
