/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as `leadline sweep` runs it, alone or with other processes. */
#ifndef LL_SIM_CLI_SWEEPING_H
#define LL_SIM_CLI_SWEEPING_H

#include "sim/cli/command.h"
#include "sim/explore/sweep.h"

/* Everything from the command line to the exit status. With a crew every process keeps what it finds in a
 * database beside the output (parts.h), and the first of them joins these at the end and tells. crew NULL:
 * alone. */
int ll_run_sweep(const struct ll_args *args, const struct ll_sweep_crew *crew);

/* Its page and options. */
extern const struct ll_command ll_command_sweep;

#endif
