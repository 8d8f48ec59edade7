/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a machine fitted on measured times, and what the fit is worth.
 *
 * What is made small is the mean over the rows of |log(predicted / measured)|: a prediction half as long is
 * as wrong as one twice as long, and rows that nothing explains weigh no more than others. One number after
 * the other is moved along a logarithmic scale, round after round, so that the result follows from the rows
 * alone: no derivatives, no chance, the same bits at any number of threads.
 *
 * The rows are dealt into folds, as many to each as it goes, and all whose shapes differ in no side by a
 * factor of two (blocks between powers of two), be it in another type, into the same one: a row whose
 * neighbour was fitted is hardly one that was not seen. For each fold the numbers are fitted on the others,
 * from the same start, and the fold is predicted: those errors are what to expect of rows that the fit has
 * not seen. How far the folds' numbers lie apart says how much hangs on a part of the rows; what is known of
 * them is less sure than that: the fits share most of their rows. */
#ifndef LL_SIM_VALIDATE_TUNE_H
#define LL_SIM_VALIDATE_TUNE_H

#include "sim/machine/path.h"
#include "sim/validate/validate.h"

/* Patterns of paths, by commas, of what a fit may change where nobody says: overheads and shares; and with
 * them the figures of a library's GEMMs, of fused kernels and of collectives. `*` stands for any part. */
extern const char ll_fit_usual[], ll_fit_kernels[];

/* Whether a pattern means a path, in which the name of the list that it begins with may be left out; whether
 * any of several does. Pure. */
bool ll_fit_means(const char *pattern, const char *path);
bool ll_fit_lists(const char *patterns, const char *path);

/* A fitted number: its values before and after, the least and largest over the folds. */
struct ll_tuned {
    const struct ll_machine_number *number;
    double before, after, low, high;
    bool matters; /* else no row depends on it, and it stays as it was */
    int bound;    /* -1: it ended at the least that it may be, 1: at the most, 0: between */
};

/* Whether a table of measured kernels is worth its rows, for those of a family and type: the MAPE of rows in
 * folds that the table and the fit have not seen, without and with the table. */
struct ll_tabled_family {
    const char *family, *dtype;
    size_t rows;
    double without, with;
    bool better; /* with it the error is less, over at least LL_LEAST_TABLED rows */
};

enum { LL_LEAST_TABLED = 10 };

/* A row of the table: the first of those that repeat a kernel, and the geometric mean of their times. */
struct ll_tabled_row {
    const struct ll_measured *row;
    double time_s;
};

struct ll_tuning {
    const struct ll_machine *machine; /* the task's */
    size_t rows, folds;               /* rows that were used */
    size_t different;                 /* blocks of shapes that they are in */
    size_t unscored;                  /* rows of this hardware that could not be predicted */
    const char *why;                  /* the first of them could not; static storage */
    size_t untimed;                   /* rows of this hardware that were not measured: nan for a time */
    struct ll_errors before, held_out, fitted;
    struct ll_tuned *tuned; /* in the order of the numbers given */
    size_t count;
    const double
        *held_out_s; /* by row of the task, of those that were used: by a fit to the other folds; else NaN */
    /* Where a table was asked for: whether it helps, on the machine as fitted, where the fit is better, else as it
     * was; and the rows of families for which it does. */
    struct ll_tabled_family *families;
    size_t family_count;
    const struct ll_tabled_row *table;
    size_t table_count;
};

struct ll_tuning_task {
    const struct ll_measured *rows; /* those that the machine answers to are used */
    size_t row_count;
    const struct ll_machine *machine;
    const struct ll_aliases *aliases; /* says which rows are the machine's; NULL: its own names do */
    const struct ll_machine_number *const *numbers; /* each above zero on this machine */
    size_t number_count, folds;                     /* folds: at least 2 */
    bool table;                                     /* asks for a table, too */
    /* All rows are the machine's, whatever their hardware is called; and only what the folds find is wanted. */
    bool folds_only;
};

/* False when memory ran out, or when there are fewer different usable rows than folds (then
 * tuning->different says how many there are). The pool may be NULL. Lives in the arena. */
bool ll_tune(const struct ll_tuning_task *task, struct ll_pool *pool, struct ll_arena *arena,
             struct ll_tuning *tuning);

/* Whether rows that the fit has not seen are predicted better for it. What it makes small is not what it is
 * judged by, which counts a time twice as long as heavy as four halves; and rows may want what no number
 * stands for. */
bool ll_tuning_is_better(const struct ll_tuning *tuning);

/* The machine that inherits `base`, for which it stands in data where it lies without it, and has the numbers
 * that moved, where the fit is better, as a file; `data` names the rows for `sources`, `table` the file of
 * measured kernels (NULL: none). */
void ll_tuning_yaml(const struct ll_tuning *tuning, const char *base, const char *name, const char *data,
                    const char *table, struct ll_str *out);

/* The table's rows as a file that `measured` of a machine may name. */
void ll_tuning_table_csv(const struct ll_tuning *tuning, struct ll_str *out);

#endif
