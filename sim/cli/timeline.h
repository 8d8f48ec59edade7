/* SPDX-License-Identifier: Apache-2.0 */
/* Simulations as timelines (tracer/convert/timeline/timeline.h): a replay, as exporters want it, and a step
 * on many devices. */
#ifndef LL_SIM_CLI_TIMELINE_H
#define LL_SIM_CLI_TIMELINE_H

#include "sim/fusion/fusion.h"
#include "sim/parallel/parallel.h"
#include "tracer/convert/convert.h"

/* Exports to a file of this name, "-" being standard output; an exit status, after saying what is wrong, and
 * then what was there stays. Sets the export's file, path and diags. */
int ll_export_to(ll_exporter *exporter, struct ll_export *request, const char *path, struct ll_arena *arena);

/* When the ops of a replay run and on which track, and what they move out of each level. Lives in the arena,
 * and needs the result. NULL when memory ran out. */
const struct ll_op_schedule *ll_schedule_of(const struct ll_result *result, struct ll_arena *arena);

/* A step on many devices to export. */
struct ll_step_export {
    struct ll_export export; /* its trace is the recorded one */
    const struct ll_parallel_result *step;
};

/* An exporter: `export` is that of a struct ll_step_export. Each stage is a process, or each device with the
 * choice devices=all; ops stand for those of each pass of each micro-batch. */
bool ll_export_step(struct ll_export *export);

/* A step on the cores of one chip to export. */
struct ll_cores_export {
    struct ll_export export;
    const struct ll_fused_step *fusion;
};

/* An exporter: `export` is that of a struct ll_cores_export. Tiles by core, transfers by where they go, and
 * how full each memory is. */
bool ll_export_cores(struct ll_export *export);

#endif
