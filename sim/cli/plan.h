/* SPDX-License-Identifier: Apache-2.0 */
/* --dp, --tp, --pp, ... and --plan: how a step is spread over devices. */
#ifndef LL_SIM_CLI_PLAN_H
#define LL_SIM_CLI_PLAN_H

#include "sim/cli/command.h"
#include "sim/parallel/plan_file.h"

/* The plan that the arguments give, from a file first, options counting more; *given when there is one. False
 * after saying what is wrong. */
bool ll_read_plan(const struct ll_args *args, struct ll_parallel *plan, bool *given);

#endif
