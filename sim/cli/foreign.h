/* SPDX-License-Identifier: Apache-2.0 */
/* leadline record -- PROGRAM: a program that we did not write runs as it would alone, and its calls of BLAS,
 * LAPACK and oneDNN are recorded while it runs. */
#ifndef LL_SIM_CLI_FOREIGN_H
#define LL_SIM_CLI_FOREIGN_H

#include "sim/cli/command.h"

/* Runs the command line that the words are. The program's exit status; LL_FAILED or LL_WRONG after saying why
 * it was not started. What cannot be recorded is said and does not concern the program. */
int ll_record_foreign(const struct ll_args *args);

#endif
