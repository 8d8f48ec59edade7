/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings: what makes an answer doubtful, though nothing is wrong with the input. They stand in the first
 * lines of standard output, "warning: ...", and with --json in the list `warnings`. */
#ifndef LL_SIM_REPORT_WARNINGS_H
#define LL_SIM_REPORT_WARNINGS_H

#include "sim/report/sim_report.h"

/* Sentences in the order in which they were added, each once. Starts as {.arena = arena}; the texts live
 * there. When memory runs out `failed` is set: check once at the end. One thread at a time. */
struct ll_warnings {
    struct ll_arena *arena;
    const char **texts;
    size_t count, capacity;
    bool failed;
};

/* Adds a sentence, printf style, without full stop; nothing where it is there already. */
void ll_warn(struct ll_warnings *warnings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The share of the device time that whoever recorded had measured, and that the trace covers; NaN where no
 * device time was recorded. */
double ll_coverage_of(const struct ll_trace *trace);

/* "the trace covers 98.1 % of the recorded device time"; nothing where none was recorded. */
void ll_covered_text(const struct ll_trace *trace, struct ll_str *out);

/* What whoever made a trace says of it: the facts whose keys begin with "warning.". `whose` begins each
 * sentence, "" where there is one trace. */
void ll_warn_of_trace(struct ll_warnings *warnings, const struct ll_trace *trace, const char *whose);

/* What there is to say of simulated steps: of each, then of their traces. Where there are several
 * traces or machines, a sentence begins with the one that it is of. */
void ll_warn_of_reports(struct ll_warnings *warnings, const struct ll_report *reports, size_t count);

/* A line each; they are not broken. Where there is none, nothing. */
void ll_warnings_text(const struct ll_warnings *warnings, struct ll_str *out);

/* The key `warnings` into the object that is open; an empty list where there is none. */
void ll_warnings_json(const struct ll_warnings *warnings, struct ll_json *json);

#endif
