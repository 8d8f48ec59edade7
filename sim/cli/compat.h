/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim --compat: the files of another simulator, read and written as it does, and our own account of
 * the same hardware beside it. */
#ifndef LL_SIM_CLI_COMPAT_H
#define LL_SIM_CLI_COMPAT_H

#include "sim/cli/command.h"
#include "sim/machine/machine.h"

/* Runs what the arguments of `leadline sim` ask for, when --compat is among them; an exit status. */
int ll_run_compat(const struct ll_args *args);

/* Whether -c names a configuration of SCALE-Sim (FILE.cfg); and that as a machine, or NULL after complaints.
 */
bool ll_is_scalesim(const char *which);
struct ll_machine *ll_read_scalesim(const char *path, const char *const *folders,
                                    const struct ll_override *overrides, size_t override_count,
                                    struct ll_diags *diags);

#endif
