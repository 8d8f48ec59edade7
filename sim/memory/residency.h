/* SPDX-License-Identifier: Apache-2.0 */
/* What earlier ops left on chip.
 *
 * For each operand of each op: the number of distinct bytes that were touched since its storage was touched
 * last, its reuse distance. A memory of C bytes that keeps what was used most recently still holds
 *
 *       min(size, max(0, C - distance))
 *
 * bytes of it (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9, 1970,
 * counted in bytes). Distances belong to the trace alone: they are found once, and each machine only
 * clamps them. Hence a larger memory never saves less.
 *
 * Of what comes around in rounds of T = distance + size bytes, a cache keeps all when T <= C. When T > C,
 * one that replaces by age keeps nothing, since each line goes just before it is asked for again. One that
 * replaces at random keeps a part h: each line that misses pushes out any of its C bytes, and (1 - h) T do so
 * until a line is asked for again:
 *
 *       h = exp(-(1 - h) T / C)
 *
 * Bytes are counted by address, as a best-fit arena gives them out (allocators.h): a storage that is born
 * takes the addresses of the dead, whose bytes need no room of their own any more.
 *
 * What is written saves traffic in one of two ways. A memory that software fills keeps it from going out: its
 * distance is the largest one that its bytes meet from this write to their end, be it the last use
 * (activations, gradients, workspace) or the next overwriting. Bytes that stay on chip to their end never go
 * further out. Results that nobody reads, and the last state of weights, optimizer and inputs, must go out:
 * LL_NO_FIT. A cache knows no end: it has to fetch the lines that are written, and sends out those of before,
 * unless it holds them, so that what counts is the distance `since` these addresses were touched last, by
 * whomever.
 *
 * Views share the storage they show; an op that moves no byte touches nothing. Inputs are touched in their
 * order, then outputs. */
#ifndef LL_SIM_MEMORY_RESIDENCY_H
#define LL_SIM_MEMORY_RESIDENCY_H

#include "sim/machine/machine.h"
#include "tracer/trace.h"

struct ll_reuse {
    uint64_t bytes;
    uint64_t distance; /* bytes; LL_NO_FIT when never touched before, or when it must go out */
    uint64_t since;    /* the same for what is read; for what is written, since its addresses were touched */
};

struct ll_residency {
    const uint64_t *first; /* op_count + 1 offsets: op's operands are reuses[first[op]..first[op + 1]) */
    const struct ll_reuse *reuses; /* inputs, then outputs */
};

/* All distances of a trace, in time n log n for n operands. NULL when memory ran out. Lives in the arena;
 * immutable, may be shared by threads. */
const struct ll_residency *ll_residency_new(const struct ll_trace *trace, struct ll_arena *arena);

/* Fills saved_bytes[l] (LL_MAX_LEVELS of them) with the bytes of this op's operands, each counted once, that
 * need not pass between level l and the levels further in, which are caches if they say so (`cache`).
 * Memories of which there are several, and those that some operand passes by, keep nothing for the next op,
 * and the innermost level saves nothing of its own traffic. Operands whose bit is set in `held` pass through
 * registers (fusion) and save all of their bytes at every level; bit i is operand i, inputs first, up to 64
 * of them. Pure, thread-safe. */
void ll_residency_saved(const struct ll_residency *residency, const struct ll_machine *machine, uint32_t op,
                        uint64_t held, double saved_bytes[LL_MAX_LEVELS]);

/* Of so many bytes, touched again after `distance` others, those that the level still has, by the laws above.
 * Pure. */
double ll_level_keeps(const struct ll_level *level, uint64_t bytes, uint64_t distance);

#endif
