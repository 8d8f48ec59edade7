/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that explore have in common: bringing traces, shards. */
#ifndef LL_SIM_CLI_DESIGNS_H
#define LL_SIM_CLI_DESIGNS_H

#include "sim/cli/command.h"
#include "sim/explore/evaluate.h"
#include "tracer/base/json.h"

/* Reads a trace, or records a model dry: the ll_bring of the evaluator. The context is not used. */
struct ll_trace *ll_bring_workload(void *context, const struct ll_space_workload *workload,
                                   const struct ll_space_setting *settings, size_t count,
                                   struct ll_diags *diags);

/* Whether the models take all values that a space has for their parameters, each by itself; a complaint
 * stands where the value does. What values may not be together is for the points to tell. */
bool ll_check_values(const struct ll_space *space, struct ll_diags *diags);

/* Which part of a sweep is asked for: `3/8`, or `auto` and `auto/8`, which ask the environment of a job array
 * or of MPI. One of one without it. The shard counts from 0. False after saying what is wrong. */
bool ll_read_shard(const char *text, uint64_t *shard, uint64_t *shards);

/* Why points of a database are not valid: a line for each of the commonest reasons. */
void ll_add_troubles(const char *path, struct ll_arena *arena, struct ll_str *out);

/* The same as a list, `not_valid`, of `points` and `why`, with rarer reasons, too. */
void ll_put_troubles(const char *path, struct ll_arena *arena, struct ll_json *json);

/* What ll_evaluator_warn says, as a line, and as the list `warnings`; NULL: nothing, an empty list. */
void ll_add_warning(const char *warning, struct ll_str *out);
void ll_put_warning(const char *warning, struct ll_json *json);

#endif
