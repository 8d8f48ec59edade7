/* SPDX-License-Identifier: Apache-2.0 */
/* What long commands share: interrupts, progress, and checks on output files. */
#ifndef LL_SIM_CLI_OUTPUTS_H
#define LL_SIM_CLI_OUTPUTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/cli/command.h"

/* Being stopped by the user, for commands that end what they are at first. */

/* From now on SIGINT and SIGTERM set what is returned, which is 0 until then; the second time either ends
 * the program as ever. Static storage. */
const volatile sig_atomic_t *ll_catch_interrupts(void);

/* How far long work is: one line on standard error that overwrites itself, where that is a terminal. A log
 * gets nothing. */

struct ll_ticker {
    bool terminal;
    uint64_t told_ns;
};

/* One that tells if `tells` and standard error is a terminal. */
struct ll_ticker ll_ticker_new(bool tells);

/* Whether it is time for another line, five times a second or when the work is at its end: then the line is
 * empty, and whoever asks writes it on standard error. */
bool ll_ticker_due(struct ll_ticker *ticker, bool at_end);

/* Takes the line away. */
void ll_ticker_clear(const struct ll_ticker *ticker);

/* Files that a command writes: none of them may be one that it reads, or be written twice. */

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
