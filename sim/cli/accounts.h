/* SPDX-License-Identifier: Apache-2.0 */
/* --accounting: a step of a trace as others count it. */
#ifndef LL_SIM_CLI_ACCOUNTS_H
#define LL_SIM_CLI_ACCOUNTS_H

#include "sim/cli/command.h"
#include "tracer/ir/trace.h"

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

#endif
