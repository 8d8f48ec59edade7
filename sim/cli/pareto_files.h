/* SPDX-License-Identifier: Apache-2.0 */
/* What `leadline pareto` draws: figures and the page. */
#ifndef LL_SIM_CLI_PARETO_FILES_H
#define LL_SIM_CLI_PARETO_FILES_H

#include "sim/cli/command.h"
#include "sim/explore/findings.h"

/* Whether --figure or --html ask for files. */
bool ll_pareto_draws(const struct ll_args *args);

/* Writes the figure and the page that the options ask for. An exit status; complaints go to diags. */
int ll_pareto_draw(const struct ll_args *args, const struct ll_findings *findings, struct ll_diags *diags);

#endif
