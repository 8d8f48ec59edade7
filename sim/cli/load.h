/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what a command line names: where shipped files lie, and reading rows of data, traces, models and
 * machines. */
#ifndef LL_SIM_CLI_LOAD_H
#define LL_SIM_CLI_LOAD_H

#include "models/model.h"
#include "sim/cli/command.h"
#include "sim/machine/machine.h"
#include "sim/validate/row.h"
#include "tracer/base/arena.h"
#include "tracer/ir/trace.h"

/* Folders in which a machine may be named by its stem, the first that has it wins:
 *   1. those of LEADLINE_PATH, separated by colons;
 *   2. share/leadline/hwconfigs beside the bin/ in which this program lies;
 *   3. hwconfigs/ of the source tree, when this program lies where the build puts it.
 * They need not exist. A NULL-terminated list in the arena; NULL when memory ran out. */
const char *const *ll_machine_folders(struct ll_arena *arena);

/* The same for a program at this path and a LEADLINE_PATH of this text; either may be NULL. */
const char *const *ll_machine_folders_of(struct ll_arena *arena, const char *program, const char *path);

/* The folders, with one more before them. In the arena; NULL when memory ran out. */
const char *const *ll_folders_before(struct ll_arena *arena, const char *folder, const char *const *folders);

/* The library that a recorded program is given: lib/leadline/ beside the bin/ in which this program lies, or
 * where the build puts it. In the arena; NULL when it is in neither place. */
const char *ll_preload_library(struct ll_arena *arena);

/* Measured data that a command line names. */

/* The rows of all files, one file behind the other; texts live in the arena of the arguments. Starts zeroed.
 */
struct ll_measured_rows {
    struct ll_measured *at; /* to be freed */
    uint64_t count, capacity;
};

/* Adds files; false after printing all that is wrong with them. */
bool ll_read_rows(const char *const *paths, size_t path_count, struct ll_arena *arena,
                  struct ll_measured_rows *rows);

/* Opening what a command line names, with everything wrong printed to standard error. */

/* Reads a trace; of a damaged one, as much as can be used, after saying what is wrong. NULL after saying why
 * nothing can; *status is then the exit status. Free with ll_trace_free. */
struct ll_trace *ll_read_trace(const char *path, int *status);

/* The same, and says how much of a trace that is not whole can be used. */
struct ll_trace *ll_load_trace(const char *path, int *status);

/* Events of a recorded program for which there was no room while it ran: calls are missing. */
uint64_t ll_dropped_events(const struct ll_trace *trace);

/* Adds one sentence, without a final dot: "complete", or what is missing, and how much can be used. Whether
 * the trace is whole, which it is with a call at its end that had not returned. */
bool ll_add_condition(const struct ll_trace *trace, struct ll_str *out);

/* How many steps have all their ops. */
uint64_t ll_complete_steps(const struct ll_trace *trace);

/* Takes the products of weights of a trace to a type (tracer/transform/dtype.h), in its place;
 * LL_DTYPE_COUNT: to none. False and *trouble, a part of a sentence: why not, as when no GEMM is known to
 * read a weight. */
bool ll_narrow_gemms(struct ll_trace **trace, enum ll_dtype dtype, const char **trouble);

/* Stores the weights of a trace in a type (tracer/transform/dtype.h); LL_DTYPE_COUNT: as they are. False and
 * *trouble, a part of a sentence: why not, as when no weight is for GEMMs alone; NULL when memory ran
 * out. The trace is of no use then. */
bool ll_store_weights(struct ll_trace *trace, enum ll_dtype dtype, const char **trouble);

/* Prunes the weights of a trace (tracer/transform/scale.h); 0 of 0: none. False and *trouble, a part of a
 * sentence: why not, as when no weight is what the pattern wants; NULL when memory ran out. The trace is of
 * no use then. */
bool ll_prune_weights(struct ll_trace *trace, const struct ll_pattern *pattern, const char **trouble);

/* The model of this name; NULL after saying that there is none, and which is near. */
const struct ll_model *ll_find_model(const char *name);

/* The tables of names in data of these folders, or NULL after printing what is wrong with one. Free with
 * ll_aliases_free; the texts lie in the arena. */
struct ll_aliases *ll_load_aliases(const char *const *folders, struct ll_arena *arena);

/* Several of a device: where it has no network and its file names the system that several of it make, that
 * system under the same stacks instead, after saying so; the device is freed then. Else the device. */
struct ll_machine *ll_load_system(struct ll_machine *device, const char *const *folders,
                                  const struct ll_override *overrides, size_t override_count);

/* Reads a machine with overrides, or prints all that is wrong with it and returns NULL. Free with
 * ll_machine_free. */
struct ll_machine *ll_load_machine(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count);

/* The values of --set, taken apart at the first `=`; NULL after saying which has none. Lives as long as
 * the arguments. */
const struct ll_override *ll_read_overrides(const struct ll_args *args, size_t *count);

/* Says that no machine is in any of these folders, and what may be done. Returns LL_WRONG. */
int ll_no_machines(const char *const *folders);

#endif
