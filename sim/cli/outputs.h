/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command writes: none of them may be one that it reads, or be written twice. */
#ifndef LL_SIM_CLI_OUTPUTS_H
#define LL_SIM_CLI_OUTPUTS_H

#include "sim/cli/command.h"

/* Whether two paths are of one ordinary file, one that is there or one that both would make. What is no such
 * file, a pipe or /dev/null, can be named as often as one likes. */
bool ll_is_same_file(const char *a, const char *b);

/* The trace that this process is to write where a launcher of parallel programs (mpirun, srun, torchrun) has
 * started it several times, told by the environment: T.3.llt for rank 3, lest all write T.llt. Else, and for
 * what is no ordinary file (/dev/null), the path as it is. NULL when memory ran out, or of NULL. */
const char *ll_output_of_rank(const char *path, struct ll_arena *arena);

/* Whether no word of the command line, and no option that names a file to read (ll_command.reads), names
 * the file at this path. False after saying so of `what`, as which the path was given. */
bool ll_spares_inputs(const struct ll_args *args, const char *what, const char *path);

/* Whether every option that names a file to write (ll_command.writes) names one, none that is read, and no
 * two of them the same. False after saying what is wrong. */
bool ll_outputs_are_sound(const struct ll_args *args);

#endif
