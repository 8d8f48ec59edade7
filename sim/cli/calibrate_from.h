/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LL_SIM_CLI_CALIBRATE_FROM_H
#define LL_SIM_CLI_CALIBRATE_FROM_H

#include "sim/cli/command.h"

/* leadline calibrate --from DATA.csv --machine MACHINE: numbers of a machine fitted on measured times. */
int ll_run_tuning(const struct ll_args *args);

#endif
