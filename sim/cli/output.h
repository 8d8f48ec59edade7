/* SPDX-License-Identifier: Apache-2.0 */
/* What reaches the streams of the program: tables and documents on standard output, complaints and progress
 * on standard error, files. What is set here holds for the thread that sets it, and so does what is captured:
 * a process may run a command on each of its threads, and a command prints from the one that runs it. */
#ifndef LL_SIM_CLI_OUTPUT_H
#define LL_SIM_CLI_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/report/table.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

/* Exit statuses of the program. */
enum { LL_DONE = 0, LL_FAILED = 1, LL_WRONG = 2, LL_INTERRUPTED = 130 };

/* When pages have colours: AUTO where standard output is a terminal that has them. */
enum ll_colour { LL_COLOUR_AUTO, LL_COLOUR_ALWAYS, LL_COLOUR_NEVER };

/* What pages and documents are printed as. */
enum ll_page_format { LL_FORMAT_TEXT, LL_FORMAT_CSV, LL_FORMAT_JSON, LL_FORMAT_MARKDOWN };

/* How what is printed from now on looks. */
struct ll_output {
    enum ll_colour colour;
    enum ll_page_format format;
    const char
        *old_keys;    /* the command whose JSON has keys of version 0.1 beside those of today; NULL: none */
    const char *rows; /* of CSV: what are rows of the command's document, as ll_document_csv takes it */
    uint64_t top;     /* rows of a table; 0: as many as the command thinks right */
};
void ll_output_set(const struct ll_output *output);

/* What a command of this thread prints when it runs for another program (sim/api). {0} to begin with, but for
 * `stop`; the texts are the caller's to release. */
struct ll_kept_output {
    struct ll_str printed, said;       /* in place of standard output, of standard error */
    const volatile sig_atomic_t *stop; /* what ll_catch_interrupts returns; not NULL */
};

/* From now on this thread's commands print there, tell no progress, and leave signals alone. Not nested; what
 * was set of the output before is forgotten. */
void ll_keep_output(struct ll_kept_output *capture);
void ll_keep_no_output(void);

/* Whether this thread's output is kept. */
bool ll_keeps_output(void);

/* Rows of each table, as the user wants them; 0: nobody said. */
uint64_t ll_output_top(void);

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

/* To standard error, as it is: what is no complaint, as what was done. At most 4095 bytes. */
void ll_cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* While hushed, complaints are not printed, but for want of memory: of things that are tried out, whose
 * failures are no mistakes of the user. */
void ll_cli_hush(bool hush);

/* The first complaint since ll_cli_hush(true), without its place; "": there was none. Good until the next
 * such call in this thread. */
const char *ll_cli_hushed(void);

/* The status that the program ends with: LL_FAILED once memory ran out, after saying so unless that was done,
 * else the one given. Until then complaints are replaced by that sentence, said once. */
int ll_end(int status);

/* Says that there is no such thing, which of the candidates was probably meant, and which command lists
 * them all. Always LL_WRONG. */
int ll_cli_reject_unknown(const char *thing, const char *word, const char *const *candidates, size_t count,
                          const char *lister);

/* Adds a table as the user wants it, and releases it. */
void ll_show_table(struct ll_table *table, struct ll_str *out);

/* Writes a finished text to standard output and releases it; LL_DONE, or LL_FAILED after saying why not. A
 * JSON document becomes CSV where that was asked for. Its control characters become question marks, but for
 * tabs and ends of lines; JSON has none. Lines for people that are longer than the screen is wide are broken;
 * those of JSON are not, nor is what else programs read: YAML, CSV, a page of Markdown. */
int ll_print(struct ll_str *text);
int ll_print_data(struct ll_str *text);

/* Makes a folder unless it is there; false after saying why not. */
bool ll_make_folder(const char *path);

/* Where options come from that were read from a file: what is said to be wrong with `--NAME` then begins with
 * that place. The list stays the caller's; count 0: no option is from a file. */
struct ll_option_place {
    const char *name, *place; /* "serve.yaml:3:7" */
};
void ll_cli_origins(const struct ll_option_place *origins, size_t count);

/* Whether a file can be written, before work begins that takes long; what is there stays. False after saying
 * why not. */
bool ll_can_write(const char *path);

/* Whether a file is neither a recorded trace nor a database of results, either of which may have taken
 * hours. False after saying so. */
bool ll_may_replace(const char *path);

/* Writes a finished text to a file and releases it; false after saying why not, and what was there stays. So
 * does a trace or a database, named where a page or a figure was meant. */
bool ll_write_file(const char *path, struct ll_str *text);

/* What bars of a page are made of: of blocks on a terminal whose locale is UTF-8. */
enum ll_bar_cells ll_output_bars(void);

/* The width of the screen in any format, for what is no page. */
unsigned ll_terminal_width(void);

/* For pages: LL_MARKDOWN_WIDTH where they are to be Markdown, else COLUMNS, or the width of the terminal,
 * also of one that a pager writes to; 80 when neither is known. */
unsigned ll_screen_width(void);

/* From now on the screen counts as so wide, for text that goes into a file, which no terminal may change. 0:
 * as it is. */
void ll_hold_screen_width(unsigned columns);

/* What long commands share: interrupts and progress. */

/* Being stopped by the user, for commands that end what they are at first. */

/* From now on SIGINT and SIGTERM set what is returned, which is 0 until then; the second time either ends
 * the program as ever. Static storage. */
const volatile sig_atomic_t *ll_catch_interrupts(void);

/* For work of which nothing can be kept half done: from now on SIGINT and SIGTERM write this line, printf
 * style, "leadline: interrupted: ...", on standard error, remove the file at `part` (NULL: none), and end the
 * program by the signal. A later call changes what is written; both are copied, and cut off where they are
 * long. */
void ll_on_interrupt(const char *part, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How far long work is: on a terminal one line that overwrites itself, in a log a line now and then. */

struct ll_ticker {
    bool terminal, log; /* where standard error goes; neither: nothing is reported */
    uint64_t began_ns, reported_ns;
};

/* One that reports if `reports`; its clock starts now. */
struct ll_ticker ll_ticker_new(bool reports);

/* Tells, where it is time to: on a terminal five times a second and at the end, in a log every ten seconds.
 * `done` is the share of the work that is done, NAN where nobody knows; left_s the time that is left, NAN: as
 * the time until now and the share say. What the format says stands between. */
void ll_ticker_tell(struct ll_ticker *ticker, const char *what, double done, double left_s,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Takes the line away. */
void ll_ticker_clear(const struct ll_ticker *ticker);

/* Appends a command line, broken into lines of at most so many columns where they can be, that a shell reads
 * as one: before an option with a backslash, within single quotes at a space. */
void ll_command_lines(const char *command, unsigned width, struct ll_str *out);

#endif
