/* SPDX-License-Identifier: Apache-2.0 */
/* The least memory in which a step can run, as Catamount (Hestness et al., 2019) has it: go over the ops in
 * an order in which each comes after those that it waits for, count what an op writes from then on, and take
 * it off after its last reader.
 *
 * Catamount takes any such order and so gives another number each time; here it is that of recording. What
 * else is particular to it is kept, so that numbers can be compared:
 *   - what changes in place, and what loops read and write step by step, takes no memory and is no reader;
 *     what only such ops read stays to the end;
 *   - what a loop reads in each of its steps stays, for a loop is an op of its own, whose body runs many
 *     times; so weights that loops read stay to the end, and others, there from the start, go after their
 *     last reader.
 *     A loop is what lies in a scope `while`. What its steps hand on from one to the next goes as it
 *     is read, and so does what its forward steps leave for its backward steps. */
#ifndef LL_SIM_MEMORY_MINIMAL_H
#define LL_SIM_MEMORY_MINIMAL_H

#include "tracer/ir/trace.h"

#include <stdbool.h>

/* Of the typical step (tracer/profile.h); LL_NO_FIT past 64 bits. False when memory ran out. Pure otherwise,
 * thread-safe. */
bool ll_minimal_footprint(const struct ll_trace *trace, uint64_t *bytes);

/* The same of a device with a part of the network: ops whose scope, and weights whose name, `part` has true,
 * which is by string of the trace. What it reads of others it does not keep. NULL: all. */
bool ll_minimal_footprint_of(const struct ll_trace *trace, const bool *part, uint64_t *bytes);

#endif
