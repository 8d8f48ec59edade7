/* SPDX-License-Identifier: Apache-2.0 */
/* The best plans for a step on so many devices.
 *
 * All ways to write the devices as data x context x tensor x pipeline are considered, with all
 * micro-batches, chunks, stages of ZeRO (also within a node, or a group of nodes, alone) and kinds of
 * recomputation that go with them, where one does not fit also with the optimizer's state on the host, and
 * other sizes of buckets. Numbers of devices that share sequences grow until two in a row are no better than
 * smaller ones; products are shared within the innermost level of the network. A program of one device is
 * made and replayed once for each way to share products and sequences and each micro-batch; what its layers
 * take (sim/parallel/estimate.h) gives the time and the memory of every plan built on it
 * (sim/parallel/estimate.h). What cannot fit is left out, whole branches of it at a time. The best by this
 * estimate are then simulated in full, as many as take a second or two, in a small space all, and at least
 * those that are wanted and the best of each stage of ZeRO, of which other sizes of buckets are tried.
 * Deterministic; one thread. */
#ifndef LL_SIM_PARALLEL_SEARCH_H
#define LL_SIM_PARALLEL_SEARCH_H

#include "sim/parallel/step.h"

struct ll_search_result;

struct ll_plan_search {
    uint64_t devices; /* all of them are used */
    uint64_t batch;   /* samples a step */
    /* So many of the best come out as simulated; at least as many, and half as many of each stage of ZeRO,
     * are. */
    uint64_t simulated;
    /* Called now and then with what there is so far, for who watches; NULL: never. */
    void (*progress)(void *context, const struct ll_search_result *so_far);
    void *context;
};

struct ll_found_plan {
    struct ll_parallel plan;
    double estimate_s;        /* of a step */
    double estimate_bytes;    /* of the fullest device; NaN where the trace does not tell its memory */
    double step_s;            /* as simulated; 0: was not */
    double bubble, exposed_s; /* of it, as simulated; of all kinds of traffic together */
    uint64_t memory_bytes;    /* as simulated */
    double samples_Hz;        /* by the best knowledge */
};

struct ll_search_result {
    uint64_t considered;               /* plans, each of which came out as one of these by its estimate, */
    uint64_t too_large, estimated;     /* however many are simulated: */
    double least_bytes;                /* of a device, of what is too large; INFINITY: nothing is */
    uint64_t programs, simulated;      /* that were made for it; plans that were simulated in full */
    const struct ll_found_plan *found; /* those that fit, best first: simulated ones before the others */
    uint64_t found_count;              /* at most LL_MOST_FOUND */
    bool lacks_gradients;              /* that replicas would exchange: plans with any are not tried */
};

enum { LL_MOST_FOUND = 1000 };

/* NULL after complaints, or without any when memory ran out. Lives in the arena. */
const struct ll_search_result *ll_search_plans(const struct ll_trace *trace, const struct ll_machine *machine,
                                               const struct ll_plan_search *search, struct ll_arena *arena,
                                               struct ll_diags *diags);

#endif
