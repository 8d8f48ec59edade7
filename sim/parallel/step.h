/* SPDX-License-Identifier: Apache-2.0 */
/* A step on many devices: its time, what it exposes of communication, its pipeline bubble, its memory; and
 * the sums of replays that its result consists of. The sums are private to sim/parallel. */
#ifndef LL_SIM_PARALLEL_STEP_H
#define LL_SIM_PARALLEL_STEP_H

#include "sim/parallel/spread.h"
#include "sim/replay/replay.h"

/* A replay that comes so many times, each time with so many bytes more to and from the outermost memory,
 * which take so long. */
struct ll_term {
    const struct ll_result *result;
    double times, more_bytes, more_s;
    const struct ll_exposure *handed; /* exchanges that come each time besides; NULL: none */
};

/* Sums the terms, of one machine, over a step of time_s, of which they do not take wait_s. Ops and prepared
 * are those of the first term, the footprint is given; shares are of the step, waiting counts as dependency.
 * NULL when memory ran out. */
const struct ll_result *ll_combine(const struct ll_term *terms, size_t count, double time_s, double wait_s,
                                   const struct ll_footprint *footprint, struct ll_arena *arena);

/* A step on many devices: how long, how much of it devices wait for one another, and what to change.
 *
 * Each program of a plan is replayed once (sim/replay), whatever number of devices has it. Of a stage with m
 * micro-batches
 *
 *       m - 1 times  its forward and backward pass, and its gradients added to those of the pass before,
 *       once         the same with what a step has besides: gradients that are exchanged, weights that are
 *                    updated,
 *
 * and stages hand micro-batches to one another in the order of the schedule (sim/parallel/schedule.h). A plan
 * of one device and one micro-batch is the replay itself, to the last bit. Deterministic; spreads and
 * machines are only read and may be shared by threads. */

/* What devices tell one another for. Word, name, what it is. */
#define LL_TRAFFIC_LIST(X)                                                                                   \
    X(TENSOR, "tensor", "shares of a product are put together")                                              \
    X(CONTEXT, "context", "keys and values of a sequence are put together, and their gradients")             \
    X(PIPELINE, "pipeline",                                                                                  \
      "stages hand on what they have made, and add up gradients of weights they share")                      \
    X(DATA, "data", "replicas exchange gradients and weights")                                               \
    X(EXPERT, "expert", "samples go to their experts and back")

enum ll_traffic_kind {
#define X(word, name, help) LL_TRAFFIC_##word,
    LL_TRAFFIC_LIST(X)
#undef X
        LL_TRAFFIC_COUNT
};

/* As in the list; static storage. */
const char *ll_traffic_name(enum ll_traffic_kind traffic);

/* A device of a stage. */
struct ll_stage_use {
    double forward_s, backward_s; /* a micro-batch through all its pieces */
    double tail_s;                /* once a step, behind the last backward pass: exchange and update */
    double busy_s;                /* in a step */
    double flops;                 /* in a step, of one device */
    uint64_t in_flight;           /* passes whose activations it keeps at once, at most */
    uint64_t memory_bytes;        /* at the worst moment */
};

struct ll_parallel_result {
    const struct ll_spread *spread;
    double step_s;
    double samples_Hz; /* of all devices; 0 where the trace does not say its batch */
    double flops;      /* of all devices, a step */
    double bubble;     /* share of the devices' time in which their stage waits for others */
    /* A device of the slowest stage waits so long for exchanges while it computes nothing: they sum to
     * result->network.exposed_s, but that this has no more of messages between stages than these take.
     * Pipeline: the step would be so much shorter, took such messages no time; besides, what a device waits
     * for gradients of weights that stages share. */
    double exposed_s[LL_TRAFFIC_COUNT];
    double energy_j;                   /* of all devices, a step; NaN when the machine does not say */
    struct ll_energy_parts energy;     /* its parts */
    const struct ll_stage_use *stages; /* spread->plan.pipeline of them */
    uint64_t slowest, fullest;         /* stages: that work longest, that need most memory */
    /* Of a device of the slowest stage over the whole step: its time_s is step_s. */
    const struct ll_result *result;
};

/* NULL after complaints, or without any when memory ran out. Lives in the arena, but for the spread and the
 * machine. What is remembered (sim/replay/remembered.h) may come from other machines and spreads. */
const struct ll_parallel_result *ll_parallel_run(const struct ll_spread *spread,
                                                 const struct ll_machine *machine,
                                                 struct ll_remembered *remembered, struct ll_arena *arena,
                                                 struct ll_diags *diags);

/* The step's time alone, as a function of the machine. Negative where ll_parallel_run gives NULL. */
double ll_parallel_time_s(const struct ll_spread *spread, const struct ll_machine *machine,
                          struct ll_remembered *remembered, struct ll_diags *diags);

/* What turning each knob of the machine gains, as ll_what_if. */
const struct ll_gain *ll_parallel_what_if(const struct ll_parallel_result *result,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          size_t *count);

#endif
