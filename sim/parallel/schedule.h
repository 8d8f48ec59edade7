/* SPDX-License-Identifier: Apache-2.0 */
/* In which order a stage of a pipeline takes up micro-batches.
 *
 * A slot is one pass of one micro-batch through one piece of the model. With p stages of v chunks each, piece
 * c p + s lies on stage s. GPipe (Huang et al., 2019) has all forward slots before all backward ones; 1F1B
 * (Narayanan et al., PipeDream, 2019) begins with p - 1 - s forward ones and then takes one of each in turn;
 * interleaved (Narayanan et al., 2021) the same with (p - 1 - s) 2 + (v - 1) p at the beginning, chunk after
 * chunk in groups of p micro-batches. With equal stages and messages that take no time a step takes
 *
 *       (m + (p - 1) / v) (forward + backward)        v = 1 for the first two
 *
 * All functions are pure. */
#ifndef LL_SIM_PARALLEL_SCHEDULE_H
#define LL_SIM_PARALLEL_SCHEDULE_H

#include "sim/parallel/plan.h"

struct ll_pipeline_shape {
    enum ll_schedule schedule;
    uint64_t stages, chunks; /* at least 1; chunks is 1 but for interleaved */
    uint64_t micro_batches;  /* at least 1; interleaved: a multiple of the stages */
};

struct ll_schedule_slot {
    bool backward;
    uint64_t chunk, micro_batch;
};

/* How many slots each stage has, and the i-th of them on a stage. */
uint64_t ll_schedule_slot_count(const struct ll_pipeline_shape *shape);
struct ll_schedule_slot ll_schedule_slot_at(const struct ll_pipeline_shape *shape, uint64_t stage,
                                            uint64_t i);

/* How many micro-batches of a chunk are on a stage at once at most: they have gone forward and not back. Sum
 * over the chunks. */
uint64_t ll_slots_in_flight(const struct ll_pipeline_shape *shape, uint64_t stage);

/* Its name as files and options spell it; static. */
const char *ll_schedule_name(enum ll_schedule schedule);

#endif
