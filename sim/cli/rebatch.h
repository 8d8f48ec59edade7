/* SPDX-License-Identifier: Apache-2.0 */
/* --batch and --batch-was: a trace as if its workload had run at another batch. */
#ifndef LL_SIM_CLI_REBATCH_H
#define LL_SIM_CLI_REBATCH_H

#include "sim/cli/command.h"
#include "tracer/trace.h"

/* The rows of a command's options. */
#define LL_REBATCH_OPTIONS                                                                                   \
    {"batch", 0, "N", "as if a step took N samples; the trace's own when not given"},                        \
    {                                                                                                        \
        "batch-was", 0, "N", "the samples a step of the trace takes, of one that does not say"               \
    }

/* The trace at the batch that the arguments ask for: itself when they ask for none, else a new one in its
 * place, the old one freed. NULL, the trace freed, after saying why not; *status is then the exit status. */
struct ll_trace *ll_rebatch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                            int *status);

#endif
