/* SPDX-License-Identifier: Apache-2.0 */
/* How a program that we did not write will be recorded, decided before it starts. */
#ifndef LL_SIM_CLI_FOREIGN_PLAN_H
#define LL_SIM_CLI_FOREIGN_PLAN_H

#include "sim/cli/command.h"
#include "tracer/binary/coverage.h"

struct ll_foreign_plan {
    struct ll_closure closure; /* of no binaries when there is no such program: who starts it will say so */
    struct ll_coverage coverage;
    enum ll_mechanism mechanism; /* of --mech, or what the coverage chooses */
};

/* Reads the program that the words name and what it loads. LL_DONE, or LL_WRONG or LL_FAILED after saying
 * what is wrong with --mech or why such a program cannot be recorded. */
int ll_plan_foreign(const struct ll_args *args, struct ll_foreign_plan *plan);

/* --coverage: prints what would be seen, runs nothing. An exit status. */
int ll_show_coverage(const struct ll_args *args);

/* One line to standard error where recording is not as plain as can be: another mechanism than preloading, or
 * calls that will not be seen. */
void ll_tell_plan(const struct ll_foreign_plan *plan);

#endif
