/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules: the order of a stage's passes and how long a step in that order takes.
 *
 * In which order a stage of a pipeline takes up micro-batches.
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

#include "sim/parallel/estimate.h"
#include "sim/parallel/plan.h"
#include "sim/replay/communication.h"
#include "tracer/base/diag.h"

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

/* A pipeline's step: pieces of a model that hand micro-batches to one another.
 *
 * A piece waits for what it needs, takes its time, and sends on; messages go while their stage computes, one
 * after the other in either direction. The last backward pass of a stage takes longer by what follows it:
 * gradients that are exchanged, weights that are updated. */

/* What a piece does with a micro-batch. */
struct ll_piece_times {
    double forward_s, backward_s;
    double tail_s; /* after its last backward pass, on the first chunk of a stage: exchange and update */
};

/* What one piece sends another for each micro-batch. */
struct ll_piece_message {
    uint32_t from, to; /* pieces; in the backward pass `from` lies behind `to` */
    bool backward;
    double time_s;
};

struct ll_pipeline {
    struct ll_pipeline_shape shape;
    const struct ll_piece_times *pieces; /* stages x chunks; piece i on stage i modulo stages */
    const struct ll_piece_message *messages;
    uint64_t message_count;
};

struct ll_pipeline_result {
    double time_s;
    double busy_s;    /* of the stage that works longest */
    double idle_s;    /* of all stages together: time_s each less what they work */
    uint64_t slowest; /* that stage */
};

/* False when memory ran out. Deterministic. */
bool ll_pipeline_run(const struct ll_pipeline *pipeline, struct ll_pipeline_result *result);

/* How long a pipeline's step takes, for the many plans of a search: what sim/parallel/schedule.h computes of
 * pieces that hand what they make to the next one alone, without a task for each slot.
 *
 * From so many micro-batches on that the pipeline has long been full, further ones are taken to take what the
 * ones before them took. */

struct ll_turns {
    struct ll_pipeline_shape shape;
    const struct ll_piece_times *pieces; /* stages x chunks; piece i on stage i modulo stages */
    const double *message_s;             /* by piece: of what it hands to the next, and gets back */
};

/* False when memory ran out. Pure. */
bool ll_turns_s(const struct ll_turns *turns, double *time_s);

/* What replicas exchange beside the passes of a stage, layer by layer: the network takes one exchange after
 * the other, in the order in which layers come to ask (sim/parallel/exchange.h), and shows where a layer
 * waits for its weights, or where it is busy still when all layers are done.
 *
 * While the network is busy, what units hold back of a layer is slowed by the largest share of them that an
 * exchange so far keeps busy (`units_taken`).
 *
 * Assumed: devices that share a product do not use the same links meanwhile. */

struct ll_beside {
    const struct ll_layer_costs *costs; /* of one replica, at the plan's micro-batch */
    const uint32_t *part_of;            /* by layer: its piece, of pipeline x chunks; a stage has every
                                           pipeline-th */
    const struct ll_parallel *plan;
    struct ll_exchanges *exchanges;
    bool gathers;                     /* weights lie in parts */
    bool sums;                        /* gradients are exchanged */
    const struct ll_machine *machine; /* of the exchanges */
};

/* What a micro-batch takes the stage both ways, until the network is done as well. False when memory ran out.
 */
bool ll_beside_s(const struct ll_beside *beside, uint64_t stage, double *time_s);

/* An exchange of so many bytes among the replicas of a stage, of parts among those that share; sums that come
 * out in parts are added up with those of the others. 0 without other replicas. False when memory ran out. */
bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s);

#endif
