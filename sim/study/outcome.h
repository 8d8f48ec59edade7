/* SPDX-License-Identifier: Apache-2.0 */
/* What a study finds: tables, figures, and criteria that hold or do not. Plain data; the files and screens
 * made of it are in present.h.
 *
 * A study fills an outcome by the functions below; all it holds lives in its arena, figures apart. When
 * memory runs out `failed` is set and further additions do nothing: check once at the end. One thread at a
 * time. */
#ifndef LL_SIM_STUDY_OUTCOME_H
#define LL_SIM_STUDY_OUTCOME_H

#include "tracer/base/arena.h"
#include "tracer/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A column holds texts (decimals LL_TEXT_COLUMN) or numbers, which people see with so many decimals. The name
 * says quantity and unit: "time (ms)". */
enum { LL_TEXT_COLUMN = -1 };
struct ll_outcome_column {
    const char *name;
    int decimals;
};

struct ll_cell {
    const char *text; /* of a text column */
    double number;    /* of a number column; NaN: there is none */
};

struct ll_sheet {
    const char *name, *caption; /* the name is part of a file's name; NULL: the study's main table */
    const struct ll_outcome_column *columns;
    size_t column_count;
    struct ll_cell *cells; /* row after row */
    uint64_t cell_count, capacity;
    struct ll_outcome *outcome;
};

struct ll_drawing {
    const char *name, *caption; /* as of a sheet */
    struct ll_str svg;
};

/* Verdicts: word, as printed. */
#define LL_VERDICT_LIST(X)                                                                                   \
    X(PASS)                                                                                                  \
    X(FAIL)                                                                                                  \
    X(INFO)
enum ll_verdict {
#define X(word) LL_##word,
    LL_VERDICT_LIST(X)
#undef X
};

struct ll_criterion {
    const char *claim, *measured, *bound; /* measured and bound as people read them */
    double value;                         /* what was measured, where it is a number; else NaN */
    enum ll_verdict verdict;
};

enum { LL_MOST_SHEETS = 8, LL_MOST_DRAWINGS = 4, LL_MOST_NOTES = 16 };

struct ll_outcome {
    struct ll_arena arena;
    struct ll_sheet sheets[LL_MOST_SHEETS];
    size_t sheet_count;
    struct ll_drawing drawings[LL_MOST_DRAWINGS];
    size_t drawing_count;
    const char *notes[LL_MOST_NOTES]; /* how it was measured, what to keep in mind; a sentence or more each */
    size_t note_count;
    struct ll_criterion *criteria;
    uint64_t criterion_count, criterion_capacity;
    bool failed;
};

/* Frees all; the outcome, {0} to begin with, is empty afterwards. */
void ll_outcome_release(struct ll_outcome *outcome);

/* A table; columns are copied, their names must outlive the outcome. Cells are then put row after row. Never
 * NULL: when there is no room `failed` is set and the last one is overwritten. */
struct ll_sheet *ll_sheet_new(struct ll_outcome *outcome, const char *name, const char *caption,
                              const struct ll_outcome_column *columns, size_t column_count);

/* The next cell of its row, of the kind that its column is; texts are copied. */
void ll_put_text(struct ll_sheet *sheet, const char *text);
void ll_put_number(struct ll_sheet *sheet, double number);

/* A figure to be drawn into the text returned, which stays the outcome's; never NULL. A name of NULL is the
 * study's own. */
struct ll_str *ll_drawing_new(struct ll_outcome *outcome, const char *name, const char *caption);

/* A sentence for readers, printf style. */
void ll_note(struct ll_outcome *outcome, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Criteria. The claim, printf style, is a sentence that is to hold. Numbers are shown with so many decimals,
 * and the unit behind them ("", " %", " s"). Not a number never passes. */
struct ll_measured_value {
    double value;
    int decimals;
    const char *unit;
};
void ll_at_least(struct ll_outcome *outcome, struct ll_measured_value measure, double bound,
                 const char *claim, ...) __attribute__((format(printf, 4, 5)));
void ll_at_most(struct ll_outcome *outcome, struct ll_measured_value measure, double bound, const char *claim,
                ...) __attribute__((format(printf, 4, 5)));
void ll_between(struct ll_outcome *outcome, struct ll_measured_value measure, double low, double high,
                const char *claim, ...) __attribute__((format(printf, 5, 6)));

/* A claim that is no comparison with a number: what was found and what was to be found, as texts. */
void ll_holds(struct ll_outcome *outcome, bool holds, const char *measured, const char *bound,
              const char *claim, ...) __attribute__((format(printf, 5, 6)));

/* What cannot be judged: shown beside what is published. */
void ll_inform(struct ll_outcome *outcome, const char *measured, const char *published, const char *claim,
               ...) __attribute__((format(printf, 4, 5)));

/* How many criteria came out so. */
size_t ll_count_verdicts(const struct ll_outcome *outcome, enum ll_verdict verdict);

/* "PASS", "FAIL", "INFO"; static storage. */
const char *ll_verdict_name(enum ll_verdict verdict);

#endif
