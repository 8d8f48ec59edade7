/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim --compat: the files of another simulator, read and written as it does, and our own account of
 * the same hardware beside it. */
#ifndef LL_SIM_CLI_COMPAT_H
#define LL_SIM_CLI_COMPAT_H

#include "sim/cli/command.h"

/* Runs what the arguments of `leadline sim` ask for, when --compat is among them; an exit status. */
int ll_run_compat(const struct ll_args *args);

#endif
