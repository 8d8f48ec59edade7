/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are slower than others: which of a plan's they are, and who waits for them. Private to
 * sim/parallel.
 *
 * Those that exchange something in each pass of a stage do the stage together: devices that share GEMMs or
 * sequences, that hold experts for one another, and, where gradients or weights go with each micro-batch
 * (ZeRO 2 and 3), all replicas. Such a crew takes as long as its slowest device. A crew of each stage, with
 * the same replicas, is a pipeline; pipelines that do not exchange anything in passes meet at the exchange of
 * gradients, which begins when the last has come. */
#ifndef LL_SIM_PARALLEL_STRAGGLERS_H
#define LL_SIM_PARALLEL_STRAGGLERS_H

#include "sim/parallel/plan.h"
#include "sim/replay/communication.h"

/* What a crew has on a stage; bits. */
enum { LL_SLOW_DEVICE = 1, LL_SLOW_LINKS = 2 };

struct ll_crews {
    uint64_t devices, links; /* drawn devices: that compute more slowly, whose links are slow */
    uint64_t replicas;       /* of a crew */
    uint64_t stages;
    uint64_t count; /* different pipelines, at least 1: those that have no slow one but what another has, too,
                       are left out, for they are done no later */
    uint8_t *slow;  /* `stages` of each pipeline: what its crew there has */
    bool *links_of; /* by stage: some crew has slow links there */
};

/* Draws the devices and finds the crews. At least one device is drawn where a share is not 0, else as many as
 * the share of all, rounded; a larger share draws the same ones and more. A factor of 1 slows none. Lists
 * live in the arena. False when memory ran out. Deterministic. */
bool ll_crews_draw(const struct ll_parallel *plan, struct ll_arena *arena, struct ll_crews *crews);

/* The numbers of the devices that compute more slowly, of so many: those of ll_crews_draw; *count of them,
 * none where a factor of 1 slows none. NULL when memory ran out. */
const uint64_t *ll_slow_devices(const struct ll_parallel *plan, uint64_t devices, struct ll_arena *arena,
                                uint64_t *count);

/* Whether messages of an exchange of the crew of `pipeline` (which begins in crews->slow) on a stage go over
 * slow links: of any device of its group, or of one that the group waits for all the same. Pure. */
bool ll_goes_over_slow_links(const struct ll_parallel *plan, const struct ll_crews *crews,
                             const uint8_t *pipeline, uint64_t stage, const struct ll_asked *asked);

#endif
