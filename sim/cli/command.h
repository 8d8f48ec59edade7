/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcommand is: rows of options, a help page, and a function.
 *
 * Parsing, checking, --help and the nearest right option all walk the rows. Every command also takes
 * --json and --help. Functions of this room run on one thread. */
#ifndef LL_SIM_CLI_COMMAND_H
#define LL_SIM_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cli/output.h"
#include "tracer/base/arena.h"

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
    /* Other spellings of options, those of other programs: pairs of spelling and option, ended by a pair of NULL;
     * NULL for none. */
    const char *const (*aliases)[2];
    /* Of these several values count, and NULL ends them; of all others a second is refused. NULL for none. */
    const char *const *repeated;
    /* Options that name files to write, and files to read beside the words; likewise. Folders to write into
     * count as well. */
    const char *const *writes, *const *reads;
    size_t least_words, most_words;
    /* Which lists of its JSON document are rows of CSV (ll_document_csv); NULL: the document is one row. */
    const char *rows;
    bool cuts_tables; /* --top is an option: tables have as many rows as the user wants */
    bool reads_input; /* words are files to read, "-" among them standard input */
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

/* A command line, taken apart by the rows of its command. */

/* Runs the command, or says what is wrong with the command line, or prints the command's page. argv[0] is the
 * command's name. An exit status. */
int ll_command_run(const struct ll_command *command, int argc, char **argv);

/* The same for another program (sim/api): options as "name=value" or "name", and words, each ended by NULL or
 * NULL itself. What is printed is a JSON document unless `format` is among the options. */
int ll_command_ask(const struct ll_command *command, const char *const *options, const char *const *words);

/* Takes such options and words apart. An exit status, other than LL_DONE after saying what is wrong. All
 * lives as long as the texts and the arena. */
int ll_args_of(const struct ll_command *command, const char *const *options, const char *const *words,
               struct ll_arena *arena, struct ll_args *args);

/* The command of this name; NULL after saying that there is none. */
const struct ll_command *ll_command_find(const char *name);

/* The commands in the order of commands.def; NULL behind the last. */
const struct ll_command *ll_command_at(size_t i);

/* The options of a command, its own and then the common ones; NULL behind the last. */
const struct ll_option *ll_option_at(const struct ll_command *command, size_t i);

/* The whole program, from its command line to its exit status. Once in a process. */
int ll_program(int argc, char **argv);

/* Names of version 0.1 that have successors: commands, options, JSON keys (old_names.def). */

/* The name that a command of version 0.1 has now; NULL where this is no old name. */
const char *ll_new_command(const char *old);

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
