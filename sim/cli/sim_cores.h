/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim on a machine with cores (sim_cores.c). */
#ifndef LL_SIM_CLI_SIM_CORES_H
#define LL_SIM_CLI_SIM_CORES_H

#include "sim/cli/command.h"
#include "sim/report/sim_report.h"

/* Schedules a prepared trace on the cores of a machine and fills fusion, result and, where --what-if asks,
 * gains of the report; writes the file of --tiles. False after complaints or on no memory. */
bool ll_sim_cores(const struct ll_args *args, const struct ll_prepared *prepared,
                  const struct ll_machine *machine, struct ll_report *report, struct ll_diags *diags);

/* Whether the options that are given go with these machines; rejects those that do not. */
bool ll_sim_cores_options(const struct ll_args *args, struct ll_machine *const *machines, size_t count,
                          bool planned);

#endif
