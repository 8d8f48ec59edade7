/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcommand is: rows of options, a help page, and a function.
 *
 * Parsing, checking, --help and the nearest right option all walk the rows. Every command also takes
 * --json and --help. Functions of this room run on one thread. */
#ifndef LL_SIM_CLI_COMMAND_H
#define LL_SIM_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

/* Exit statuses of the program. */
enum { LL_DONE = 0, LL_FAILED = 1, LL_WRONG = 2, LL_INTERRUPTED = 130 };

struct ll_option {
    const char *name;  /* long form, without dashes */
    char letter;       /* short form, 0 for none */
    const char *value; /* what stands behind it in the help; NULL for a flag */
    const char *help;
};

struct ll_given {
    const struct ll_option *option;
    const char *value;
};

struct ll_command;

/* A command line, taken apart. Owned by the caller of the command. */
struct ll_args {
    const struct ll_command *command;
    const struct ll_given *given; /* in the order of the command line */
    size_t given_count;
    const char *const *words; /* what is no option */
    size_t word_count;
    bool dashes;            /* `--` stood before the words */
    struct ll_arena *arena; /* lives until the command has returned */
};

struct ll_command {
    const char *name;
    const char *synopsis;            /* behind the name */
    const char *summary;             /* one line */
    const char *examples;            /* two lines or more, each a whole command */
    const char *details;             /* what else to know: a paragraph a line; NULL for nothing */
    const struct ll_option *options; /* ended by a row without name; NULL for none */
    /* Of these several values count, and NULL ends them; of all others a second is refused. NULL for none. */
    const char *const *repeated;
    /* Options that name files to write, and files to read beside the words; likewise. Folders to write into
     * count as well. */
    const char *const *writes, *const *reads;
    size_t least_words, most_words;
    bool reads_input;                       /* words are files to read, "-" among them standard input */
    int (*run)(const struct ll_args *args); /* an exit status */
};

/* Was the flag given; the last value given, or otherwise; the i-th value given, or NULL. */
bool ll_flag(const struct ll_args *args, const char *name);
const char *ll_value(const struct ll_args *args, const char *name, const char *otherwise);
const char *ll_value_at(const struct ll_args *args, const char *name, size_t i);

/* Whether none of these options (ended by NULL) was given. False after printing which of them was, and why
 * not here: the rest of a sentence that begins with it. */
bool ll_without(const struct ll_args *args, const char *const *names, const char *why);

/* A count from least to most; otherwise when not given. False after printing what is wrong. */
bool ll_value_count(const struct ll_args *args, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *count);

/* The first thing that a program does: whichever of its three streams its caller has closed goes to
 * /dev/null, so that no file it opens takes the stream's descriptor and with it what is said. False when that
 * fails. */
bool ll_hold_streams(void);

/* Prints complaints to standard error, each with its place, the line it stands in and a caret. */
void ll_print_diags(const struct ll_diags *diags);

/* One line to standard error: "leadline: ...". Always LL_WRONG or LL_FAILED as named. */
int ll_cli_reject(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ll_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same of what does not stop the command. */
void ll_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The status that the program ends with: LL_FAILED once memory ran out, after saying so unless that was done,
 * else the one given. Until then complaints are replaced by that sentence, said once. */
int ll_end(int status);

/* Says that there is no such thing, which of the candidates was probably meant, and which command lists
 * them all. Always LL_WRONG. */
int ll_cli_reject_unknown(const char *thing, const char *word, const char *const *candidates, size_t count,
                          const char *lister);

/* Writes a finished text to standard output and releases it; LL_DONE, or LL_FAILED after saying why not. Its
 * control characters become question marks, but for tabs and ends of lines; JSON has none. Lines for people
 * that are longer than the screen is wide are broken; those of JSON are not, nor is what else programs read:
 * YAML, CSV, a page of Markdown. */
int ll_print(struct ll_str *text);
int ll_print_data(struct ll_str *text);

/* Makes a folder unless it is there; false after saying why not. */
bool ll_make_folder(const char *path);

/* Whether a file can be written, before work begins that takes long; what is there stays. False after saying
 * why not. */
bool ll_can_write(const char *path);

/* Whether a file is neither a recorded trace nor a database of results, either of which may have taken
 * hours. False after saying so. */
bool ll_may_replace(const char *path);

/* Writes a finished text to a file and releases it; false after saying why not, and what was there stays. So
 * does a trace or a database, named where a page or a figure was meant. */
bool ll_write_file(const char *path, struct ll_str *text);

/* COLUMNS, or the width of the terminal, also of one that a pager writes to; 80 when neither is known. */
unsigned ll_screen_width(void);

/* A command line, taken apart by the rows of its command. */

/* Runs the command, or says what is wrong with the command line, or prints the command's page. argv[0] is the
 * command's name. An exit status. */
int ll_command_run(const struct ll_command *command, int argc, char **argv);

/* Names of version 0.1 that have successors: commands, options, JSON keys (old_names.def). */

/* The name that a command of version 0.1 has now; NULL where this is no old name. */
const char *ll_new_command(const char *old);

/* What long commands share: interrupts, progress, and checks on output files. */

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
 * started it several times, as the environment says: T.3.llt for rank 3, lest all write T.llt. Else, and for
 * what is no ordinary file (/dev/null), the path as it is. NULL when memory ran out, or of NULL. */
const char *ll_output_of_rank(const char *path, struct ll_arena *arena);

/* Whether no word of the command line, and no option that names a file to read (ll_command.reads), names
 * the file at this path. False after saying so of `what`, as which the path was given. */
bool ll_spares_inputs(const struct ll_args *args, const char *what, const char *path);

#endif
