/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what a command line names: where shipped files lie; reading rows of data, traces, models and
 * machines; options that several commands share, and what they change of a trace. */
#ifndef LL_SIM_CLI_LOAD_H
#define LL_SIM_CLI_LOAD_H

#include "models/model.h"
#include "sim/cli/command.h"
#include "sim/machine/machine.h"
#include "sim/parallel/plan.h"
#include "sim/validate/residuals.h"
#include "sim/validate/row.h"
#include "tracer/base/arena.h"
#include "tracer/convert/convert.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rescale.h"
#include "tracer/transform/sparsity.h"

/* Folders in which a machine may be named by its stem, the first that has it wins:
 *   1. those of LEADLINE_PATH, separated by colons;
 *   2. those that come with the library that this code is in: share/leadline/hwconfigs beside the lib/ in
 * which
 *      it lies, or beside itself; hwconfigs/ of the source tree where the build puts it;
 *   3. share/leadline/hwconfigs beside the bin/ in which this program lies;
 *   4. hwconfigs/ of the source tree, when this program lies where the build puts it.
 * They need not exist. A NULL-terminated list in the arena; NULL when memory ran out. */
const char *const *ll_machine_folders(struct ll_arena *arena);

/* The same for a program at this path and a LEADLINE_PATH of this text; either may be NULL. */
const char *const *ll_machine_folders_of(struct ll_arena *arena, const char *program, const char *path);

/* The folders, with one more before them. In the arena; NULL when memory ran out. */
const char *const *ll_folders_before(struct ll_arena *arena, const char *folder, const char *const *folders);

/* The library that a recorded program is given: lib/leadline/ beside the bin/ in which this program lies, or
 * where the build puts it. In the arena; NULL when it is in neither place. */
const char *ll_preload_library(struct ll_arena *arena);

/* Reads the first residuals.csv of the folders (a NULL-terminated list, which may be NULL) into the arena;
 * *folder is the one that has it, NULL when none does. False after complaints. */
bool ll_load_residuals(const char *const *folders, struct ll_arena *arena, struct ll_diags *diags,
                       struct ll_residuals *residuals, const char **folder);

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
 * LL_NUMERIC_NONE: to none. False and *trouble, a part of a sentence: why not, as when no GEMM is known to
 * read a weight. */
bool ll_narrow_gemms(struct ll_trace **trace, enum ll_numeric numeric, const char **trouble);

/* Stores the weights of a trace in a type (tracer/transform/dtype.h); LL_NUMERIC_NONE: as they are. False and
 * *trouble, a part of a sentence: why not, as when no weight is for GEMMs alone; NULL when memory ran
 * out. The trace is of no use then. */
bool ll_store_weights(struct ll_trace *trace, enum ll_numeric numeric, const char **trouble);

/* Prunes the weights of a trace (tracer/transform/scale.h); 0 of 0: none. False and *trouble, a part of a
 * sentence: why not, as when no weight is what the pattern wants; NULL when memory ran out. The trace is of
 * no use then. */
bool ll_prune_weights(struct ll_trace *trace, const struct ll_pattern *pattern, const char **trouble);

/* The model of this name; NULL after saying that there is none, and which is near. */
const struct ll_model *ll_find_model(const char *name);

/* The tables of names in data of these folders, or NULL after printing what is wrong with one. Free with
 * ll_aliases_free; the texts lie in the arena. */
struct ll_aliases *ll_load_aliases(const char *const *folders, struct ll_arena *arena);

/* What -c calls the machine of a device by its vendor's name: as the table of names knows it, or else the
 * name in small letters without its brand ("NVIDIA GeForce RTX 4090" is rtx_4090); NULL: none is known. In
 * the arena, or as long as the table. */
const char *ll_machine_of_device(const char *device, const struct ll_aliases *aliases,
                                 const char *const *folders, struct ll_arena *arena);

/* Several of a device: where it has no network and its file names the system that several of it make, that
 * system under the same stacks instead, after saying so; the device is freed then. Else the device. */
struct ll_machine *ll_load_system(struct ll_machine *device, const char *const *folders,
                                  const struct ll_override *overrides, size_t override_count);

/* Machines with commas between: the first one, with the others as further pools, on which later stages of a
 * pipeline lie, each as the system of its device (ll_load_system). NULL after saying what is wrong. */
struct ll_machine *ll_load_pools(const char *which, const char *const *folders,
                                 const struct ll_override *overrides, size_t override_count);

/* Makes the table of measured kernels of a machine whose file names one (key `measured`): formed on the
 * machine that names it, without the overrides, which a machine was read with; `which` and folders as of
 * ll_machine_read. False after complaints; true, too, where there is no table. */
bool ll_load_table(struct ll_machine *machine, const char *which, const char *const *folders,
                   size_t override_count, struct ll_diags *diags);

/* Reads a machine with overrides, and its table, or prints all that is wrong with it and returns NULL. Free
 * with ll_machine_free. */
struct ll_machine *ll_load_machine(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count);

/* Gives the machine's array the mappings of the file that --mapping names, if any. False after saying what
 * is wrong. */
bool ll_load_mappings(const struct ll_args *args, struct ll_machine *machine);

/* The values of --set, taken apart at the first `=`; NULL after saying which has none. Lives as long as
 * the arguments. */
const struct ll_override *ll_read_overrides(const struct ll_args *args, size_t *count);

/* Says that no machine is in any of these folders, and what may be done. Returns LL_WRONG. */
int ll_no_machines(const char *const *folders);

/* The format of this name that can be read, or written; NULL after saying that there is none. */
const struct ll_format *ll_find_format(const char *name, bool read);

/* All -p KEY=VALUE and, where it is `batched`, --batch as the choice of that name; in the arguments' arena.
 * False after saying which has no key. */
bool ll_read_choices(const struct ll_args *args, bool batched, struct ll_choice **choices, uint64_t *count);

/* The plan that --plan and the options of sim/parallel/plan_keys.def give; options count more than the file.
 * *given: there is one. False after saying what is wrong. */
bool ll_read_plan(const struct ll_args *args, struct ll_parallel *plan, bool *given);

/* Options that several commands share, and what they do to a trace. */

/* --accounting: a step of a trace as others count it. */

/* The row of the option. */
#define LL_ACCOUNTING_OPTION                                                                                 \
    {                                                                                                        \
        "accounting", 0, "WAY",                                                                              \
            "count a step's totals as another tool does: catamount (Hestness et al., 2019)"                  \
    }

/* Whether the option is given, and names a way that there is; LL_WRONG, after saying so, when it does not. */
int ll_read_accounting(const struct ll_args *args, bool *given);

/* Prints the totals of the trace's typical step; an exit status. */
int ll_show_accounts(const struct ll_args *args, const struct ll_trace *trace);

/* What options of a command change of a trace before it is simulated: types of numbers, weights that are
 * zero, and recorded time outside of ops. */

struct ll_changes {
    enum ll_dtype dtype;             /* LL_DTYPE_COUNT: as it is */
    enum ll_numeric gemms, weights;  /* LL_NUMERIC_NONE: as they are */
    struct ll_pattern pattern;       /* of: 0: none */
    const struct ll_sparsity *zeros; /* what else is known of zeros, layer by layer */
    size_t zero_count;
    double gaps; /* by which their recorded time is multiplied */
};

/* The options, for a command's list. */
#define LL_CHANGE_OPTIONS                                                                                    \
    {"as", 0, "DTYPE", "simulate with all floating-point tensors in this type, such as bf16 or int8"},       \
        {"gemm-dtype", 0, "DTYPE",                                                                           \
         "simulate GEMMs and convolutions with weights in this type or format, such as f8 or nvfp4, and "    \
         "the casts around them"},                                                                           \
        {"weights-as", 0, "DTYPE",                                                                           \
         "simulate with the weights of GEMMs and convolutions quantized to this type or format, such as "    \
         "int4"},                                                                                            \
        {"gaps", 0, "keep|drop|FACTOR",                                                                      \
         "time of a recorded program outside of its recorded calls: keep it as it was on that CPU "          \
         "(default), "                                                                                       \
         "drop it, or multiply it"},                                                                         \
        {"prune", 0, "N:M|P%",                                                                               \
         "simulate sparse weights: of each M neighbours all but N are zero, as in 2:4, or P percent of "     \
         "them anywhere, as in 90%"},                                                                        \
        {"activation-sparsity", 0, "P%",                                                                     \
         "simulate with P percent of what GEMMs and convolutions read beside weights zero, as in 45%"},      \
    {                                                                                                        \
        "sparsity", 0, "FILE",                                                                               \
            "simulate with the zeros of weights and activations that this CSV tells, layer by layer"         \
    }

/* What the options say; false after saying what is wrong with them. */
bool ll_read_changes(const struct ll_args *args, struct ll_changes *changes);

/* Changes the trace, or takes another in its place; path names it in complaints. The exit status, other than
 * LL_DONE after a complaint; the trace is to be freed in any case. */
int ll_change(struct ll_trace **trace, const struct ll_changes *changes, const char *path);

/* --batch and --batch-was: a trace as if its workload had run at another batch. */

/* The rows of a command's options. */
#define LL_BATCH_WAS_OPTION                                                                                  \
    {                                                                                                        \
        "batch-was", 0, "N", "samples per step of a trace that does not say it itself"                       \
    }
#define LL_REBATCH_OPTIONS                                                                                   \
    {"batch", 0, "N", "samples per step in all (default: the trace's own, on each replica of a plan)"},      \
        LL_BATCH_WAS_OPTION

/* The trace at the batch that the arguments ask for: itself when they ask for none, else a new one in its
 * place, the old one freed. NULL, the trace freed, after saying why not; *status is then the exit status. */
struct ll_trace *ll_rebatch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                            int *status);

/* The same of --batch-was alone, for a command that must know the batch: NULL, too, where nobody says it. */
struct ll_trace *ll_know_batch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                               int *status);

#endif
