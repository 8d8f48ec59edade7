/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that run a reference workload have in common: options, progress, complaints. */
#ifndef LL_SIM_CLI_CMD_RECORD_H
#define LL_SIM_CLI_CMD_RECORD_H

#include "models/model.h"
#include "sim/cli/command.h"

/* Reads --batch, --seed, --threads and every --param. False after printing what is wrong. */
bool ll_read_run_options(const struct ll_args *args, struct ll_run_options *options);

/* The context of ll_show_step. */
struct ll_progress {
    bool terminal; /* standard error is one: steps overwrite each other in one line */
};

/* Checks the settings, makes the folder for samples, runs, prints complaints and what there is to say about
 * OpenBLAS; an exit status. */
int ll_run_workload(const struct ll_model *model, const struct ll_run_options *options,
                    struct ll_run_report *report);

#endif
