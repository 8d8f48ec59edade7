/* SPDX-License-Identifier: Apache-2.0 */
/* A trace on a machine, as the exporters want it. */
#ifndef LL_SIM_CLI_SIMULATED_H
#define LL_SIM_CLI_SIMULATED_H

#include "sim/cli/command.h"
#include "sim/machine/machine.h"
#include "tracer/convert/convert.h"

/* Starts zeroed; what it holds lives until it is released, and needs the trace. */
struct ll_simulated {
    struct ll_machine *machine;
    const struct ll_op_schedule *schedule;
    struct ll_arena arena;
};

/* Replays the trace on the machine of this name, changed as --set says. An exit status, after printing what
 * is wrong. */
int ll_simulate(const struct ll_args *args, const char *machine, const struct ll_trace *trace,
                struct ll_simulated *simulated);
void ll_simulated_release(struct ll_simulated *simulated);

#endif
