/* SPDX-License-Identifier: Apache-2.0 */
/* --batch and --batch-was: a trace as if its workload had run at another batch. */
#ifndef LL_SIM_CLI_REBATCH_H
#define LL_SIM_CLI_REBATCH_H

#include "sim/cli/command.h"
#include "tracer/ir/trace.h"

/* The rows of a command's options. */
#define LL_BATCH_WAS_OPTION                                                                                  \
    {                                                                                                        \
        "batch-was", 0, "N", "samples per step of a trace that does not say it itself"                       \
    }
#define LL_REBATCH_OPTIONS                                                                                   \
    {"batch", 0, "N",                                                                                        \
     "treat a step as if it took N samples in all (default: the trace's own, on each replica of a plan)"},   \
        LL_BATCH_WAS_OPTION

/* The trace at the batch that the arguments ask for: itself when they ask for none, else a new one in its
 * place, the old one freed. NULL, the trace freed, after saying why not; *status is then the exit status. */
struct ll_trace *ll_rebatch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                            int *status);

/* The same of --batch-was alone, for a command that must know the batch: NULL, too, where nobody says it. */
struct ll_trace *ll_know_batch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                               int *status);

#endif
