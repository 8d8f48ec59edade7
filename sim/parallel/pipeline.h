/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline's step: pieces of a model that hand micro-batches to one another.
 *
 * A piece waits for what it needs, takes its time, and sends on; messages go while their stage computes, one
 * after the other in either direction. The last backward pass of a stage takes longer by what follows it:
 * gradients that are exchanged, weights that are updated. */
#ifndef LL_SIM_PARALLEL_PIPELINE_H
#define LL_SIM_PARALLEL_PIPELINE_H

#include "sim/parallel/schedule.h"
#include "tracer/base/diag.h"

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

#endif
