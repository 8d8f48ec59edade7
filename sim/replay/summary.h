/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of many machines that differ little, of which no more is asked than what a sweep keeps.
 *
 * What machines with the same outlines (sim/cost/outline.h) share of a trace is worked out once: which op
 * finds what, what each kernel configuration moves, in which order ops wait for one another. A machine then
 * takes its seconds from there. Results are those of ll_replay, to the last bit; where a machine or a trace
 * has more to it than that, they are ll_replay's. */
#ifndef LL_SIM_REPLAY_SUMMARY_H
#define LL_SIM_REPLAY_SUMMARY_H

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

/* Starts as {0}; one thread at a time. The prepared traces outlive it. */
struct ll_summaries {
    struct ll_summary **at; /* the latest first */
    uint64_t count, capacity;
};
void ll_summaries_release(struct ll_summaries *summaries);

/* ll_replay_remembering, of which no more need be there than time_s, device_active_s, starting_s,
 * flop_utilization, shares, gap_share, footprint, fits, energy_j, energy, host_bytes and area_m2. Without
 * summaries (NULL) all of it is. */
const struct ll_result *ll_replay_summary(const struct ll_prepared *prepared,
                                          const struct ll_machine *machine, struct ll_summaries *summaries,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          struct ll_diags *diags);

#endif
