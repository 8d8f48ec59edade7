/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share, and what they do to a trace. */
#ifndef LL_SIM_CLI_OPTIONS_H
#define LL_SIM_CLI_OPTIONS_H

#include "sim/cli/command.h"
#include "sim/machine/machine.h"
#include "sim/parallel/plan.h"
#include "tracer/convert/convert.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rescale.h"

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
    enum ll_dtype dtype, gemms, weights; /* LL_DTYPE_COUNT: as they are */
    struct ll_pattern pattern;           /* of: 0: none */
    double gaps;                         /* by which their recorded time is multiplied */
};

/* The options, for a command's list. */
#define LL_CHANGE_OPTIONS                                                                                    \
    {"as", 0, "DTYPE", "simulate with all floating-point tensors in this type, such as bf16 or int8"},       \
        {"gemm-dtype", 0, "DTYPE",                                                                           \
         "simulate GEMMs and convolutions with weights in this type, such as f8, and the casts around "      \
         "them"},                                                                                            \
        {"weights-as", 0, "DTYPE",                                                                           \
         "simulate with the weights of GEMMs and convolutions quantized to this type, such as int4"},        \
        {"gaps", 0, "keep|drop|FACTOR",                                                                      \
         "time of a recorded program outside of its recorded calls: keep it as it was on that CPU "          \
         "(default), "                                                                                       \
         "drop it, or multiply it"},                                                                         \
    {                                                                                                        \
        "prune", 0, "N:M|P%",                                                                                \
            "simulate sparse weights: of each M neighbours all but N are zero, as in 2:4, or P percent of "  \
            "them anywhere, as in 90%"                                                                       \
    }

/* What the options say; false after saying what is wrong with them. */
bool ll_read_changes(const struct ll_args *args, struct ll_changes *changes);

/* Changes the trace, or takes another in its place; path names it in complaints. The exit status, other than
 * LL_DONE after a complaint; the trace is to be freed in any case. */
int ll_change(struct ll_trace **trace, const struct ll_changes *changes, const char *path);

/* --dp, --tp, --pp, ... and --plan: how a step is spread over devices. */

/* The plan that the arguments give, from a file first, options counting more; *given when there is one. False
 * after saying what is wrong. */
bool ll_read_plan(const struct ll_args *args, struct ll_parallel *plan, bool *given);

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

/* What the commands import and export share: the format that is named, and what is chosen about it. */

/* The format of this name that can be read, or written; NULL after saying that there is none. */
const struct ll_format *ll_find_format(const char *name, bool read);

/* All -p KEY=VALUE, and --batch as the choice `batch`; in the arguments' arena. False after saying which has
 * no key. */
bool ll_read_choices(const struct ll_args *args, struct ll_choice **choices, uint64_t *count);

/* Exports, prints complaints, and tells a trouble of the world about what `path` names; an exit status. */
int ll_run_export(const struct ll_format *format, struct ll_export *export, const char *path);

/* A trace on a machine, as the exporters want it. */

/* Starts zeroed; what it holds lives until it is released, and needs the trace. */
struct ll_simulated {
    struct ll_machine *machine;
    const struct ll_op_schedule *schedule;
    struct ll_arena arena;
};

/* Replays the trace on the machine of this name, changed as --set says. An exit status, after printing what
 * is wrong. */
int ll_simulate(const struct ll_args *args, const char *machine, const struct ll_trace *trace,
                struct ll_simulated *simulated);
void ll_simulated_release(struct ll_simulated *simulated);

#endif
