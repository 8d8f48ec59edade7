/* SPDX-License-Identifier: Apache-2.0 */
/* Results of simulation for people and for programs: the memory of a step, pages and comparisons, the JSON
 * document (README.md of this room), explanations, rooflines, warnings. All are pure functions of the
 * results. */
#ifndef LL_SIM_REPORT_SIM_REPORT_H
#define LL_SIM_REPORT_SIM_REPORT_H

#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "sim/report/fusion_report.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

/* The memory of a step: its course, what is alive at the peak, what allocators make of it, and what would
 * make it fit. */
struct ll_memory_report {
    const char *name; /* of the trace, as the user named it */
    const struct ll_trace *trace;
    struct ll_footprint footprint;
    const struct ll_over_time *course;
    const struct ll_all_alive *alive; /* at the peak */
    struct ll_allocated allocated[LL_ALLOCATOR_COUNT];
    uint64_t capacity_bytes;           /* of the machine; 0: none was asked about */
    const struct ll_mitigation *cures; /* NULL when they were not tried */
    size_t cure_count;
    const struct ll_parallel_result *parallel; /* whose fullest stage this is; NULL: one device, no plan */
    uint64_t beside_bytes;  /* what that holds beside the one micro-batch whose trace this is */
    uint64_t staying_bytes; /* at its peak: gradients and casts that micro-batches leave to one another */
};

/* Of a trace alone; of what was replayed on a machine, with cures; of the fullest stage of a plan that
 * `trace` was spread for, with cures. Live in the arena; NULL when memory ran out. */
const struct ll_memory_report *ll_memory_report_of(const char *name, const struct ll_trace *trace,
                                                   struct ll_arena *arena);
const struct ll_memory_report *ll_memory_report(const char *name, const struct ll_result *result,
                                                struct ll_arena *arena);
const struct ll_memory_report *ll_memory_report_of_plan(const char *name, const struct ll_trace *trace,
                                                        const struct ll_parallel_result *parallel,
                                                        struct ll_arena *arena);

/* Keys `alive`, `over_time`, `allocators` and, with a machine, `over_bytes` and `cures`, into the open
 * object; with a plan also `stage`, `in_flight` and `beside_bytes`. */
void ll_memory_json(const struct ll_memory_report *report, struct ll_json *json);

/* Tables of the same: of what is alive the `top` largest, 0 for a dozen. width in characters. */
void ll_memory_text(const struct ll_memory_report *report, unsigned width, uint64_t top, struct ll_str *out);

/* One trace on one machine, with what is known about it. */
struct ll_report {
    const char *trace_name; /* the file as the user named it */
    const struct ll_result *result;
    const struct ll_gain *gains; /* best first; NULL when they were not asked for */
    size_t gain_count;
    bool all_gains;                        /* a page lists every gain, else the largest few */
    uint64_t top;                          /* rows of each table; 0: as many as are worth a look */
    enum ll_bar_cells bars;                /* of its text */
    const struct ll_memory_report *memory; /* NULL when nobody asked */
    /* Between these the time of a step lies for eight in ten, as far as validation says; 0: it does not. */
    double time_low_s, time_high_s;
    const struct ll_parallel_result
        *parallel; /* the plan's result, whose bottleneck stage `result` is; NULL: no plan */
    const struct ll_multi_rank_result
        *together;                      /* all ranks of a trace of several, of which `result` is; else NULL */
    const struct ll_fused_step *fusion; /* on cores, of which `result` is; NULL: the machine has none */
    double tokens_per_sample;           /* of the trace, as ll_report_tokens has it */
};

/* Tokens of a sample, where the trace is of a language model: those that one embedding looks up in a table
 * of a vocabulary. 0 where there is no such op, where a step has several (a translator has two languages),
 * or where the trace does not say its batch. */
double ll_report_tokens(const struct ll_trace *trace);

/* Samples per step, of all devices together; 0 where the trace does not say its batch. */
double ll_report_samples(const struct ll_report *report);

/* What one of the reports calls its machine: its stem, or the path of its file where another report is of
 * another file with that stem. */
const char *ll_report_machine(const struct ll_report *reports, size_t count, const struct ll_report *one);

/* Appends whose ops the result of one of the reports has: "dgx_a100", with a pipeline "stage 1 of dgx_a100".
 * Stages are programs of their own, so an op's number means the same op only where these are the same. */
void ll_report_whose_ops(const struct ll_report *reports, size_t count, const struct ll_report *one,
                         struct ll_str *out);

/* A page on one report: speed-of-light bars, where the time goes, what each doubling gains, and the sentence
 * that names the bottleneck. width in characters. */
void ll_report_page(const struct ll_report *report, unsigned width, struct ll_str *out);

/* Reports of the same trace on several machines, a row each, with ratios to the fastest and a sentence each.
 */
void ll_report_comparison(const struct ll_report *reports, size_t count, unsigned width, struct ll_str *out);

/* A line for each op: when it starts, how long it takes, on which unit and what holds it back. */
void ll_report_ops(const struct ll_report *report, unsigned width, struct ll_str *out);

/* The course of memory by class as SVG, a panel for each report, all of which have `memory`; of a plan its
 * fullest stage, with what other passes hold. False when memory ran out. */
bool ll_report_memory_figure(const struct ll_report *reports, size_t count, struct ll_str *out);

/* Where the time of steps goes as SVG: a bar for each report, stacked by what bound its time. False when
 * memory ran out. */
bool ll_report_breakdown(const struct ll_report *reports, size_t count, struct ll_str *out);

/* A page of rooflines as SVG, a panel for each report: explanation.c says what is a point. False when memory
 * ran out. */
bool ll_report_rooflines(const struct ll_report *reports, size_t count, struct ll_str *out);

/* How the time of one op comes about: a headline and the lines of sim/cost/cost.h for each report. seq is
 * an op of every report: from result->prepared->first_op up to, not including, end_op. out->failed when
 * memory ran out. */
void ll_report_explanations(const struct ll_report *reports, size_t count, uint32_t seq, struct ll_str *out);
void ll_report_explanations_json(const struct ll_report *reports, size_t count, uint32_t seq,
                                 struct ll_json *json);

/* Parts of these, for pages. The shapes of an op: "reads f32 8x4, f32 4x2; writes f32 8x2"; the keys `lines`
 * and `groups` of a derivation, into the object that is open. */
void ll_report_shapes(const struct ll_op_signature *signature, struct ll_str *out);
void ll_report_derivation_json(const struct ll_report *report, uint32_t seq, struct ll_json *json);

/* The key `roofline` into the open object: `memories` (height in B/s) and `units` (height in FLOP/s), each
 * with its name, and `points`: [signature, FLOP, bytes, seconds] of all replayed steps, the longest first. */
void ll_report_roofline_json(const struct ll_report *report, struct ll_json *json);

/* The key `by_class` with the bytes of each memory class at the peak, into the object that is open. */
void ll_report_by_class(const struct ll_footprint *footprint, struct ll_json *json);

/* {"schema": "sim", "version": 1, "results": [...]} as documented in sim/report/README.md; the ops list only
 * when per_op. */
void ll_report_json(const struct ll_report *reports, size_t count, bool per_op, struct ll_json *json);

/* What a page says beside its numbers, where there is something to say: waiting for input, GEMMs that no
 * unit for GEMMs takes, because of their kind or of their type, a step that loads what further ones find
 * on the chip. */

/* The sentence that the line below has, without end; false, and nothing, where there is none to say. */
bool ll_say_lanes_for_type(const struct ll_result *result, struct ll_str *out);

/* Warnings: what makes an answer doubtful, though nothing is wrong with the input. They stand in the first
 * lines of standard output, "warning: ...", and with --json in the list `warnings`. */

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

/* What searches for mappings on arrays looked at (sim_json.c): a line, only where they left some out; the
 * keys mappings_... of the open object, only of a result with such searches. Per step. */
void ll_searched_text(const struct ll_result *result, unsigned width, struct ll_str *out);
void ll_searched_json(const struct ll_result *result, struct ll_json *json);

/* The area of all devices; NAN where it is not described. Pure. */
double ll_parallel_area_m2(const struct ll_parallel_result *p);

/* Parts of the page with a plan (parallel_text.c): a line on how the step is spread, as in "on 64 devices:
 * --dp 8 --tp 8; 512 samples, 16 micro-batches of 4 per replica"; what waits for what, and the stages. The
 * same with a trace of several ranks. */
void ll_parallel_headline_text(const struct ll_parallel_result *p, unsigned width, struct ll_str *out);
void ll_parallel_text(const struct ll_parallel_result *p, unsigned width, struct ll_str *out);
void ll_ranks_text(const struct ll_multi_rank_result *t, unsigned width, struct ll_str *out);

#endif
