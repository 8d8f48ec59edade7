/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim --as-recorded of traces that hold a recorded timeline. */
#ifndef LL_SIM_CLI_SIM_TIMELINE_H
#define LL_SIM_CLI_SIM_TIMELINE_H

#include "sim/cli/command.h"

/* Whether the arguments of `leadline sim` ask for the replay of timelines: --as-recorded, and the first trace
 * has one; or --scale or --drop, which mean nothing else. Reads that trace; its faults are said later. */
bool ll_wants_timeline(const struct ll_args *args);

/* Replays the timelines of all traces; an exit status. */
int ll_run_timeline(const struct ll_args *args);

#endif
