/* SPDX-License-Identifier: Apache-2.0 */
/* Peak memory where a trace is not all of what a device holds: the fullest of several ranks, and a stage with
 * several micro-batches in flight. */
#ifndef LL_SIM_PARALLEL_STAGE_MEMORY_H
#define LL_SIM_PARALLEL_STAGE_MEMORY_H

#include "sim/memory/footprint.h"
#include "sim/parallel/schedule.h"

/* Fills *footprint with that of the rank that needs most, the first of equals; ops of a thread are those of
 * the rank of its number, below `ranks`, and a storage is of the rank whose op touches it first. Updates
 * stand where they were recorded. In time linear in the trace. False when memory ran out. Pure otherwise,
 * thread-safe. */
bool ll_fullest_rank(const struct ll_trace *trace, uint32_t ranks, struct ll_footprint *footprint);

/* What the memory of a stage holds while several micro-batches are under way.
 *
 *     weights, the optimizer's state and, with several micro-batches, the gradients that they add up
 *   + what each micro-batch has from the step before and leaves to the next: keys and values of its sentences
 *   + as often as passes are in flight, what a forward pass keeps for its backward pass
 *   + what there is besides at the worst moment of one pass
 *
 * Pieces of a stage differ in all of these, and not as many passes through each are in flight: the worst
 * moment is looked for along the slots of the schedule (sim/parallel/schedule.h). */

/* Bytes by memory class. */
struct ll_class_bytes {
    uint64_t of[LL_MEMORY_COUNT];
};

struct ll_piece_memory {
    struct ll_class_bytes peak;    /* at the worst moment of one micro-batch */
    struct ll_class_bytes lasting; /* of it: all the time */
    struct ll_class_bytes kept;    /* between the two passes, beside what lasts */
    /* The same of each kind of memory alone, wherever it has its own worst moment. */
    struct ll_kind_bytes {
        uint64_t peak, lasting, kept;
    } kinds[LL_HOLDS_COUNT];
};

/* Of a program with ops, for so many micro-batches a step. With several, gradients that are exchanged or used
 * once a step last all the time, and so does what the others carry from step to step. False when memory ran
 * out. Pure otherwise. */
bool ll_piece_memory(const struct ll_trace *program, uint64_t micro_batches, struct ll_piece_memory *memory);

/* By storage, whether it is brought of the samples and an op writes it: the step after begins with it, so
 * that each micro-batch has one of its own all the time. In the arena; NULL when memory ran out. */
bool *ll_find_carried(const struct ll_trace *program, struct ll_arena *arena);

/* Bytes of the gradients that a program's backward pass makes and that are used once a step, for which those
 * of several micro-batches are added up. False when memory ran out. */
bool ll_added_gradients(const struct ll_trace *program, uint64_t *bytes);

/* The last op of the first step's forward pass; LL_NONE without any. */
uint32_t ll_end_of_forward(const struct ll_trace *program);

/* How many passes through pieces of a stage are in flight at most; a stage alone waits for nobody. */
uint64_t ll_stage_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage);

/* Of a stage with shape->chunks pieces, which is alone only with one of them. The footprint has no peak_op.
 * False when memory ran out. */
bool ll_stage_memory(const struct ll_piece_memory *pieces, const struct ll_pipeline_shape *shape,
                     uint64_t stage, struct ll_footprint *footprint);

#endif
