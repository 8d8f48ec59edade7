/* SPDX-License-Identifier: Apache-2.0 */
/* Results of simulation for people and for programs. Both are pure functions of the results. */
#ifndef LL_SIM_REPORT_SIM_REPORT_H
#define LL_SIM_REPORT_SIM_REPORT_H

#include "sim/parallel/parallel.h"
#include "sim/report/memory_report.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

/* One trace on one machine, with what is known about it. */
struct ll_report {
    const char *trace_name; /* the file as the user named it */
    const struct ll_result *result;
    const struct ll_gain *gains; /* best first; NULL when they were not asked for */
    size_t gain_count;
    bool all_gains;                        /* a page lists every gain, else the largest few */
    const struct ll_memory_report *memory; /* NULL when nobody asked */
    /* Between these the time of a step lies for eight in ten, as far as validation says; 0: it does not. */
    double time_low_s, time_high_s;
    const struct ll_parallel_result *parallel;   /* that `result` is of; NULL: one device, no plan */
    const struct ll_multi_rank_result *together; /* the same, of a trace of several ranks; else NULL */
    double tokens_per_sample;                    /* of the trace, as ll_report_tokens has it */
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

/* A page of rooflines as SVG, a panel for each report: sim_roofline.c says what is a point. False when memory
 * ran out. */
bool ll_report_rooflines(const struct ll_report *reports, size_t count, struct ll_str *out);

/* How the time of one op comes about: a headline and the lines of sim/cost/cost.h for each report. seq is
 * an op of every report: from result->prepared->first_op up to, not including, end_op. out->failed when
 * memory ran out. */
void ll_report_explanations(const struct ll_report *reports, size_t count, uint32_t seq, struct ll_str *out);
void ll_report_explanations_json(const struct ll_report *reports, size_t count, uint32_t seq,
                                 struct ll_json *json);

/* Parts of a page and of the document that are there with a plan: a line on how it is spread, what waits for
 * what; the key `parallel` into the object that is open. The same for a trace of several ranks; its key is
 * `ranks`. */
void ll_report_parallel_headline(const struct ll_parallel_result *p, unsigned width, struct ll_str *out);
void ll_report_parallel(const struct ll_parallel_result *p, unsigned width, struct ll_str *out);
void ll_report_together(const struct ll_multi_rank_result *t, unsigned width, struct ll_str *out);
void ll_report_together_json(const struct ll_multi_rank_result *t, struct ll_json *json);
void ll_report_parallel_json(const struct ll_parallel_result *p, struct ll_json *json);

/* The keys `energy_j` and, where the machine describes it, `energy_parts_j`, into the object that is open. */
void ll_report_energy_json(const struct ll_machine *machine, double energy_j,
                           const struct ll_energy_parts *parts, struct ll_json *json);

/* The key `by_class` with the bytes of each memory class at the peak, into the object that is open. */
void ll_report_by_class(const struct ll_footprint *footprint, struct ll_json *json);

/* {"schema": 1, "results": [...]} as documented in sim/report/README.md; the ops list only when per_op. */
void ll_report_json(const struct ll_report *reports, size_t count, bool per_op, struct ll_json *json);

/* What a page says beside its numbers, where there is something to say: waiting for input, GEMMs that no
 * unit for GEMMs takes, because of their kind or of their type, a step that loads what further ones find
 * on the chip. */

/* The sentence that the line below has, without end; false, and nothing, where there is none to say. */
bool ll_say_lanes_for_type(const struct ll_result *result, struct ll_str *out);

#endif
