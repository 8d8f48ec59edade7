/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as `leadline sweep` runs it, alone or with other processes. */
#ifndef LL_SIM_CLI_CMD_SWEEP_H
#define LL_SIM_CLI_CMD_SWEEP_H

#include "sim/cli/command.h"
#include "sim/explore/sweep.h"
#include "tracer/base/json.h"

/* Everything from the command line to the exit status. With a crew every process keeps what it finds in a
 * database beside the output (parts.h), and the first of them joins these at the end and tells. crew NULL:
 * alone. */
int ll_run_sweep(const struct ll_args *args, const struct ll_sweep_crew *crew);

/* Its page and options. */
extern const struct ll_command ll_command_sweep;

/* What the commands that explore have in common: bringing traces, shards. */

/* Why points of a database are not valid: a line for each of the commonest reasons. */
void ll_add_troubles(const char *path, struct ll_arena *arena, struct ll_str *out);

/* What ll_evaluator_warn says, as a line, and as the list `warnings`; NULL: nothing, an empty list. */
void ll_add_warning(const char *warning, struct ll_str *out);
void ll_put_warning(const char *warning, struct ll_json *json);

#endif
