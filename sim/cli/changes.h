/* SPDX-License-Identifier: Apache-2.0 */
/* What options of a command change of a trace before it is simulated: types of numbers, weights that are
 * zero, and recorded time outside of ops. */
#ifndef LL_SIM_CLI_CHANGES_H
#define LL_SIM_CLI_CHANGES_H

#include "sim/cli/command.h"
#include "tracer/transform/scale.h"
#include "tracer/ir/trace.h"

struct ll_changes {
    enum ll_dtype dtype, products, weights; /* LL_DTYPE_COUNT: as they are */
    struct ll_pattern pattern;              /* of: 0: none */
    double gaps;                            /* by which their recorded time is multiplied */
};

/* The options, for a command's list. */
#define LL_CHANGE_OPTIONS                                                                                    \
    {"as", 0, "DTYPE", "simulate with all floating-point tensors in this type, such as bf16 or int8"},       \
        {"products-as", 0, "DTYPE",                                                                          \
         "simulate with products of weights alone in this type, such as f8, and the casts that takes"},      \
        {"weights-as", 0, "DTYPE",                                                                           \
         "simulate with weights that products read stored in this type, such as int4"},                      \
        {"gaps", 0, "keep|drop|FACTOR",                                                                      \
         "what becomes of a recorded program's time outside of its recorded calls: kept as it was on that "  \
         "CPU (default), left out, or multiplied"},                                                          \
    {                                                                                                        \
        "prune", 0, "N:M|P%",                                                                                \
            "simulate as if of each M neighbours of the weights all but N were zero, as in 2:4, or P "       \
            "percent of them, wherever, as in 90%"                                                           \
    }

/* What the options say; false after saying what is wrong with them. */
bool ll_read_changes(const struct ll_args *args, struct ll_changes *changes);

/* Changes the trace, or takes another in its place; path names it in complaints. The exit status, other than
 * LL_DONE after a complaint; the trace is to be freed in any case. */
int ll_change(struct ll_trace **trace, const struct ll_changes *changes, const char *path);

#endif
