/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of `leadline sim` for people: remarks that only some pages need (first section), the page of one
 * result, the comparison of several machines, and lists of ops. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/replay/replay.h"
#include "sim/report/sim_report.h"
#include "sim/report/table.h"
#include "tracer/base/str.h"
#include "tracer/transform/rescale.h"

/* Of the time of a step. */
static const double WORTH_A_LINE = 0.05;

/* Where many steps would wait for their input; or where only the first of those that are here does. */
static void infeed_line(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    struct ll_infeed infeed = {0};
    struct ll_human host, device, step;
    struct ll_str line = {0};
    if (!ll_infeed_of(result, &infeed))
        return;
    bool at_first = !report->parallel && infeed.step_s < result->time_s * (1 - WORTH_A_LINE);
    if (infeed.share >= WORTH_A_LINE)
        ll_str_addf(&line,
                    "infeed-bound %.0f %% of the time: per step the host takes %s for the input, the device "
                    "%s for the rest",
                    100 * infeed.share, ll_format_si(&host, infeed.prepare_s + infeed.transfer_s, "s"),
                    ll_format_si(&device, infeed.device_s, "s"));
    else if (at_first)
        ll_str_addf(
            &line,
            "the first step waits %s for its input, which no earlier step hides; in a longer run a step "
            "takes %s",
            ll_format_si(&host, infeed.prepare_s + infeed.transfer_s, "s"),
            ll_format_si(&step, infeed.step_s, "s"));
    if (line.length > 0)
        ll_end_line(&line, width, out);
}

/* A unit that computes GEMMs and nothing else. */
static const struct ll_unit *unit_for_gemms(const struct ll_machine *machine)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].model != LL_UNIT_VECTOR)
            return &machine->units[i];
    return NULL;
}

/* Whether some unit that is made for GEMMs takes an op of this kind. */
static bool is_taken(const struct ll_machine *machine, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if (unit->model != LL_UNIT_VECTOR && (!unit->runs_listed || unit->runs[kind]))
            return true;
    }
    return false;
}

/* GEMMs on lanes, beside units that were made for them: a list of `runs` that forgets the gradients. */
static void stray_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    const struct ll_unit *unit = unit_for_gemms(result->machine);
    struct ll_str line = {0};
    double share = 0;
    for (size_t i = 0; unit && i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (!ll_class_is_gemm(kind->op_class) || is_taken(result->machine, kind->op_kind))
            continue;
        ll_str_addf(&line, "%s%s", share > 0 ? ", " : "", kind->kind);
        share += kind->share;
    }
    if (share >= WORTH_A_LINE && !line.failed) {
        struct ll_str all = {0};
        ll_str_addf(&all,
                    "%.0f %% of the time: %s, which %s does not list in its `runs`, so that vector lanes "
                    "compute them",
                    100 * share, line.text, unit->name);
        ll_end_line(&all, width, out);
    }
    ll_str_release(&line);
}

/* Whether some unit that is made for GEMMs computes in this type, or in a wider one for it. */
static bool is_multiplied(const struct ll_machine *machine, enum ll_dtype dtype)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if (unit->model != LL_UNIT_VECTOR && ll_unit_flops_per_cycle(unit, ll_computed_on(unit, dtype)) > 0)
            return true;
    }
    return false;
}

bool ll_say_lanes_for_type(const struct ll_result *result, struct ll_str *out)
{
    const struct ll_unit *unit = unit_for_gemms(result->machine);
    enum ll_dtype dtype = result->prepared->dtype, computed;
    double share = 0;
    for (size_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (ll_class_is_gemm(kind->op_class) && is_taken(result->machine, kind->op_kind))
            share += kind->share;
    }
    if (!unit || is_multiplied(result->machine, dtype) || share < WORTH_A_LINE)
        return false;
    ll_computed_peak_flops(result->machine, dtype, &computed);
    ll_str_addf(out,
                "%.0f %% of the time: GEMMs in %s, for which %s has no rate (`macs`), so that vector lanes "
                "compute them in %s",
                100 * share, ll_dtype_name(dtype), unit->name, ll_dtype_name(computed));
    return true;
}

/* A line where units for GEMMs compute in no type that serves the one of most FLOPs, so that lanes do. It
 * begins with the machine, unless NULL. */
static void report_lanes_for_type(const struct ll_result *result, const char *machine, unsigned width,
                                  struct ll_str *out)
{
    struct ll_str line = {0};
    ll_str_addf(&line, "%s%s", machine ? machine : "", machine ? ", " : "");
    if (ll_say_lanes_for_type(result, &line))
        ll_end_line(&line, width, out);
    ll_str_release(&line);
}

/* The innermost memory of the whole device, before the outermost, that all data of the trace fit into. */
static const struct ll_level *holds_all_data(const struct ll_result *result)
{
    const struct ll_machine *machine = result->machine;
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        if (level->scope == LL_SCOPE_DEVICE && ll_level_holds_all(level) &&
            result->footprint->peak_bytes <= level->size_bytes)
            return level;
    }
    return NULL;
}

/* One step that waits for what any further one would find on the chip. */
static void cold_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    const struct ll_machine *machine = result->machine;
    const struct ll_level *inside = holds_all_data(result),
                          *outermost = &machine->levels[machine->level_count - 1];
    struct ll_str line = {0};
    double share = result->shares[LL_BOUND_LEVEL + machine->level_count - 1];
    if (!inside || result->prepared->steps > 1 || share < WORTH_A_LINE)
        return;
    ll_str_addf(&line,
                "all data fit into %s, and this first step loads them from %s: further steps (record with "
                "--steps) find them "
                "there",
                inside->name, outermost->name);
    ll_end_line(&line, width, out);
}

/* A line for each, of so many characters at most. */
static void report_remarks(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    infeed_line(report, width, out);
    stray_line(report->result, width, out);
    ll_searched_text(report->result, width, out);
    report_lanes_for_type(report->result, NULL, width, out);
    if (!report->parallel)
        cold_line(report->result, width, out);
}

/* Results for people. The eye should meet, in this order: how long, what binds, how far from the speed of
 * light, where the time goes, and what to change. */

enum { TOP_KINDS = 9, TOP_GAINS = 6, BAR_WIDTH = 20, SHORT_BAR = 10, NARROW = 70 };

static const char *fact(const struct ll_result *result, const char *key, const char *otherwise)
{
    const char *value = ll_trace_fact(result->prepared->trace, key);
    return value ? value : otherwise;
}

double ll_report_samples(const struct ll_report *report)
{
    if (report->parallel)
        return (double)report->parallel->spread->sizes.batch;
    return (double)ll_trace_batch(report->result->prepared->trace);
}

double ll_report_tokens(const struct ll_trace *trace)
{
    double tokens = 0;
    uint64_t lookups = 0, batch = ll_trace_batch(trace);
    for (uint64_t i = 0; batch > 0 && i < trace->op_count && trace->ops[i].step == trace->ops[0].step; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->phase != LL_PHASE_FORWARD || signature->view.kind != LL_OP_GATHER ||
            signature->view.input_count < 2 || signature->view.in[0].role[0] != LL_ROLE_VOCABULARY)
            continue;
        lookups++;
        tokens = (double)ll_elements(&signature->view.in[1]);
    }
    return lookups == 1 ? tokens / (double)batch : 0;
}

/* The time of a step as the page has it, "42.4" under a heading or before "ms/step". */
static const char *format_ms(struct ll_human *human, double time_s, const char *unit)
{
    const double ms = 1e3 * time_s;
    if (!(ms >= 1e-6 && ms < 0.9995))
        return ll_format_count(human, ms, unit);
    ll_snprintf(human->text, sizeof human->text, "%.*f%s%s", 2 - (int)floor(log10(ms)), ms, *unit ? " " : "",
                unit);
    return human->text;
}

/* Integers compute operations, not floating-point ones. */
static const char *operation_rate(enum ll_dtype dtype)
{
    switch (dtype) {
    case LL_I64:
    case LL_I32:
    case LL_I16:
    case LL_INT8:
    case LL_INT4:
    case LL_INT2:
    case LL_U8:
    case LL_BOOL:
        return "OP/s";
    default:
        return "FLOP/s";
    }
}

/* A row of facts: what they are of, and the facts, as many lines as they need. */
static void fact_row(const char *label, struct ll_str *facts, unsigned width, struct ll_str *out)
{
    enum { LABEL = 9 };
    ll_str_addf(out, "  " LL_MARK_KEY "%-*s" LL_MARK_END, LABEL, label);
    ll_wrap_behind(out, 2 + LABEL, facts->text ? facts->text : "", 2 + LABEL + 1, width);
    out->failed |= facts->failed;
    ll_str_release(facts);
}

/* "388 samples/s", of a language model "54.1 samples/s, 110,797 tokens/s"; nothing where the batch is
 * unknown. */
static void add_rate(const struct ll_report *report, struct ll_str *out)
{
    struct ll_human samples, tokens;
    double rate = ll_report_samples(report) / report->result->time_s;
    if (ll_report_samples(report) <= 0)
        return;
    ll_str_addf(out, "    %s", ll_format_count(&samples, rate, "samples/s"));
    if (report->tokens_per_sample > 0)
        ll_str_addf(out, ", %s", ll_format_count(&tokens, rate * report->tokens_per_sample, "tokens/s"));
}

/* As the table of kinds has them: with a plan, the trace holds those of one micro-batch. */
static double ops_per_step(const struct ll_result *result)
{
    double ops = 0;
    for (uint64_t k = 0; k < result->kind_count; k++)
        ops += result->kinds[k].count;
    return ops;
}

/* The cause with the largest share; the first of equals. */
static unsigned main_cause(const struct ll_result *result)
{
    unsigned best = 0;
    for (unsigned cause = 1; cause < LL_BOUND_COUNT; cause++)
        if (result->shares[cause] > result->shares[best])
            best = cause;
    return best;
}

static void headline(const struct ll_result *result, struct ll_str *out)
{
    struct ll_human flops, bytes;
    const char *mode = fact(result, "mode", "");
    if (ll_trace_is_of_program(result->prepared->trace)) /* of others: it says nothing of itself */
        ll_str_addf(out, "%s  ", fact(result, "model", "a program"));
    else
        ll_str_addf(out, "%s  %s, batch %s, ", fact(result, "model", "trace"),
                    strcmp(mode, "train") == 0 ? "training" : "inference", fact(result, "batch", "?"));
    ll_str_addf(out, "%.0f op%s, %s, %s per step", ops_per_step(result), ops_per_step(result) == 1 ? "" : "s",
                ll_format_si(&flops, result->prepared->flops, "FLOP"),
                ll_format_si(&bytes, result->prepared->bytes, "B"));
    const char *pruned = fact(result, "pruned", ""), *stored = fact(result, "weights", "");
    const char *gaps = fact(result, "gaps", "");
    if (*stored)
        ll_str_addf(out, ", weights quantized to %s", stored);
    if (*pruned)
        ll_str_addf(out, ", weights pruned to %s%s", pruned, strchr(pruned, '%') ? " zeros" : "");
    if (strcmp(gaps, "0") == 0)
        ll_str_add(out, ", gaps left out");
    else if (*gaps)
        ll_str_addf(out, ", gaps times %s", gaps);
}

static void coverage_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    ll_covered_text(result->prepared->trace, &line);
    if (line.length > 0)
        ll_end_line(&line, width, out);
}

static const struct ll_level *outermost(const struct ll_machine *machine)
{
    return &machine->levels[machine->level_count - 1];
}

/* A speed-of-light bar: so much of so much. */
static void light_bar(const char *name, const char *reached, const char *limit, double fraction,
                      const char *of_what, unsigned width, enum ll_bar_cells bars, struct ll_str *out)
{
    ll_str_addf(out, "  " LL_MARK_KEY "%-9s" LL_MARK_END " ", name);
    ll_bar(out, fraction, width < NARROW ? SHORT_BAR : BAR_WIDTH, bars);
    ll_str_addf(out, " %4.0f %%   %s of %s %s\n", 100 * fraction, reached, limit, of_what);
}

/* Whether FLOPs are computed again: their share of the peak is then the hardware's (HFU). */
static bool recomputes(const struct ll_report *report)
{
    return report->parallel && report->parallel->spread->plan.recompute != LL_RECOMPUTE_NONE;
}

static void compute_bar(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    struct ll_human reached, peak;
    const struct ll_metrics metrics = ll_metrics_of(result);
    const char *unit = operation_rate(metrics.computed);
    light_bar(recomputes(report) ? "HFU" : "MFU",
              ll_format_si(&reached, result->prepared->flops / result->time_s, unit),
              ll_format_si(&peak, metrics.peak_flops, unit), result->flop_utilization,
              ll_dtype_name(metrics.computed), width, report->bars, out);
}

static void memory_bar(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    const struct ll_machine *machine = result->machine;
    double share = result->level_share[machine->level_count - 1], peak = ll_machine_memory_Bps(machine);
    struct ll_human reached, limit;
    light_bar("MBU", ll_format_si(&reached, share * peak, "B/s"), ll_format_si(&limit, peak, "B/s"), share,
              outermost(machine)->name, width, report->bars, out);
}

/* Arithmetic intensity, beside that from which on a machine computes at its peak. */
static void intensity_row(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    ll_str_addf(&line, "%.1f FLOP/B, ridge point %.1f FLOP/B",
                result->prepared->flops / result->prepared->bytes,
                ll_metrics_of(result).peak_flops / ll_machine_memory_Bps(result->machine));
    fact_row("intensity", &line, width, out);
}

static void peak_memory_bar(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    double peak = (double)result->footprint->peak_bytes,
           size = (double)outermost(result->machine)->size_bytes;
    struct ll_human used, capacity;
    struct ll_str line = {0};
    if (result->footprint->unknown) {
        ll_str_addf(&line, "unknown, of %s: the trace does not say which tensors are the same",
                    ll_format_binary(&capacity, size));
        fact_row("memory", &line, width, out);
        return;
    }
    light_bar("memory", ll_format_binary(&used, peak), ll_format_binary(&capacity, size), peak / size, "peak",
              width, report->bars, out);
    if (result->fits)
        return;
    ll_str_addf(&line,
                LL_MARK_BAD "DOES NOT FIT" LL_MARK_END
                            " into %s: the times assume that it did; --memory lists mitigations",
                outermost(result->machine)->name);
    fact_row("", &line, width, out);
}

static int by_share(const void *left, const void *right, const double *shares)
{
    double a = shares[*(const unsigned *)left], b = shares[*(const unsigned *)right];
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Insertion sort: stable, and there are a dozen of them. */
static void sort_causes(unsigned causes[LL_BOUND_COUNT], const double *shares)
{
    for (unsigned i = 1; i < LL_BOUND_COUNT; i++)
        for (unsigned j = i; j > 0 && by_share(&causes[j - 1], &causes[j], shares) > 0; j--) {
            unsigned moved = causes[j];
            causes[j] = causes[j - 1];
            causes[j - 1] = moved;
        }
}

static void cause_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    unsigned causes[LL_BOUND_COUNT];
    struct ll_str line = {0};
    double sum = 0;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++) {
        causes[i] = i;
        sum += result->shares[i];
    }
    assert(result->time_s == 0 || fabs(sum - 1) < 1e-6); /* every second on the critical path has one cause */
    sort_causes(causes, result->shares);
    for (unsigned i = 0; i < LL_BOUND_COUNT && result->shares[causes[i]] >= 0.0005; i++)
        ll_str_addf(&line, "%s%s %.1f %%%s", i ? ", " : LL_MARK_FIND,
                    ll_bound_name(result->machine, causes[i]), 100 * result->shares[causes[i]],
                    i ? "" : LL_MARK_END);
    fact_row("bound by", &line, width, out);
}

/* "communication takes 30 ms, of which 12 ms are exposed (nvlink 12 ms, nics 10 ms)": a collective counts
 * at each level of the network that it uses. */
static void network_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    struct ll_human exposed, all;
    if (result->network.count == 0)
        return;
    ll_str_addf(&line, "communication takes %s, of which %s are exposed",
                ll_format_si(&all, result->network.busy_s, "s"),
                ll_format_si(&exposed, result->network.exposed_s, "s"));
    uint64_t some = 0;
    for (uint64_t l = 0; l < result->machine->network_count; l++) {
        if (result->network.levels[l].busy_s == 0)
            continue;
        ll_str_addf(&line, "%s%s %s", some ? ", " : " (", result->machine->networks[l].name,
                    ll_format_si(&exposed, result->network.levels[l].exposed_s, "s"));
        some++;
    }
    ll_str_add(&line, some ? ")" : "");
    ll_end_line(&line, width, out);
}

/* Gaps and other ops without bytes and FLOPs have none. */
static const char *kind_rate(struct ll_human *human, const struct ll_kind_result *kind, const char *unit)
{
    bool moves =
        kind->bound >= LL_BOUND_LEVEL || kind->bound == LL_BOUND_HOST || kind->bound == LL_BOUND_NETWORK;
    return kind->rate > 0 ? ll_format_si(human, kind->rate, moves ? "B/s" : unit) : "";
}

static void kind_row(const struct ll_result *result, const struct ll_kind_result *kind,
                     struct ll_table *table)
{
    struct ll_human time, rate;
    char peak[24] = "", intensity[24] = "";
    if (kind->peak_share > 0)
        ll_snprintf(peak, sizeof peak, "%.0f %%", 100 * kind->peak_share);
    if (kind->bytes > 0)
        ll_snprintf(intensity, sizeof intensity, "%.1f", kind->flops / kind->bytes);
    ll_table_row(table, "  %s|%.0f|%s|%.1f|%s|%s|%s|%s", kind->kind, kind->count,
                 format_ms(&time, kind->time_s, ""), 100 * kind->share, intensity,
                 ll_bound_name(result->machine, kind->bound),
                 kind_rate(&rate, kind, operation_rate(ll_metrics_of(result).computed)), peak);
}

static void kind_table(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    const uint64_t most = report->top ? report->top : TOP_KINDS;
    struct ll_table *table = ll_table_new("  kind|>ops|>ms/step|>%|>?FLOP/B|bound by|>??rate|>?of peak");
    double rest_time = 0, rest_share = 0, rest_count = 0;
    uint64_t shown = 0;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (kind->time_s <= 0)
            continue;
        if (shown++ < most) {
            kind_row(result, kind, table);
        } else {
            rest_time += kind->time_s;
            rest_share += kind->share;
            rest_count += kind->count;
        }
    }
    struct ll_human time;
    if (rest_count > 0)
        ll_table_row(table, "  ... %" PRIu64 " more|%.0f|%s|%.1f", shown - most, rest_count,
                     format_ms(&time, rest_time, ""), 100 * rest_share);
    ll_table_print(table, width, out);
    ll_table_free(table);
}

static void gain_table(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("  what-if 2x|>ms/step|>speedup|");
    const uint64_t most = report->top ? report->top : report->all_gains ? report->gain_count : TOP_GAINS;
    for (size_t i = 0; i < report->gain_count && i < most; i++) {
        const struct ll_gain *gain = &report->gains[i];
        struct ll_str bar = {0};
        ll_bar(&bar, gain->speedup - 1, width < NARROW ? SHORT_BAR : BAR_WIDTH, report->bars);
        struct ll_human time, times;
        if (i == 0 && gain->speedup >= 1.005)
            ll_table_mark(table, LL_MARK_FIND);
        ll_table_row(table, "  %s|%s|%s|%s", gain->knob.label, format_ms(&time, gain->time_s, ""),
                     ll_format_times(&times, gain->speedup), bar.text ? bar.text : "");
        ll_str_release(&bar);
    }
    ll_table_print(table, width, out);
    ll_table_free(table);
}

/* "v100 is bound by hbm2 (52 % of the time); with twice the hbm2 bandwidth the step would be 1.36x faster."
 */
static void sentence(const struct ll_report *report, const char *machine, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    unsigned cause = main_cause(result);
    struct ll_str line = {0};
    ll_str_addf(&line, "%s is bound by " LL_MARK_FIND "%s" LL_MARK_END " (%.0f %% of the time)", machine,
                ll_bound_name(result->machine, cause), 100 * result->shares[cause]);
    if (report->gain_count && report->gains[0].speedup >= 1.005) {
        const struct ll_gain *best = &report->gains[0];
        ll_str_addf(&line, best->knob.factor > 0 ? "; with twice the %s" : "; with %s", best->knob.label);
        ll_str_addf(&line, " the step would be " LL_MARK_FIND "%.2fx" LL_MARK_END " faster", best->speedup);
    }
    ll_str_add(&line, ".");
    ll_end_line(&line, width, out);
}

static void energy_part(const char *name, double part_j, double all_j, bool *some, struct ll_str *line)
{
    double percent = 100 * part_j / all_j;
    if (percent < 0.5)
        return;
    ll_str_addf(line, "%s%s %.0f %%", *some ? ", " : ": ", name, percent);
    *some = true;
}

/* The type whose figures of arithmetic are taken: the trace's own, or one that stands for it. */
static enum ll_dtype type_of_figure(const struct ll_machine *machine, enum ll_dtype dtype)
{
    const double *figures = machine->energy.mac_j, taken = ll_machine_mac_j(machine, dtype);
    for (unsigned i = 0; i < LL_DTYPE_COUNT && figures[dtype] == 0; i++)
        if (figures[i] > 0 && ll_machine_mac_j(machine, (enum ll_dtype)i) == taken)
            return (enum ll_dtype)i;
    return dtype;
}

static void gap(const char *name, uint64_t *gaps, struct ll_str *line)
{
    ll_str_addf(line, "%s%s", *gaps ? ", " : "; not described: ", name);
    (*gaps)++;
}

/* What has no figure counts nothing, what has that of another type may count too little: who reads the sum
 * should know. */
static void energy_gaps(const struct ll_result *result, struct ll_str *line)
{
    const struct ll_machine *machine = result->machine;
    enum ll_dtype dtype = result->prepared->dtype;
    uint64_t gaps = 0;
    if (result->prepared->flops > 0 && result->energy.compute_j == 0)
        gap("arithmetic", &gaps, line);
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (ll_machine_level_j(machine, l) == 0 && result->energy.level_j[l] == 0)
            gap(machine->levels[l].name, &gaps, line);
    for (uint64_t l = 0; l < machine->network_count; l++)
        if (machine->networks[l].j_per_byte == 0 && result->network.levels[l].busy_s > 0)
            gap(machine->networks[l].name, &gaps, line);
    if (result->host_bytes > 0 && machine->host.bandwidth_Bps > 0 && machine->energy.host_j_per_byte == 0)
        gap("host transfers", &gaps, line);
    if (ll_machine_static_w(machine) == 0)
        gap("static power", &gaps, line);
    enum ll_dtype taken = type_of_figure(machine, dtype);
    if (taken != dtype)
        ll_str_addf(line, "; arithmetic in %s with the figure of %s", ll_dtype_name(dtype),
                    ll_dtype_name(taken));
}

/* "330 mJ/step: compute 12 %, hbm 60 %, static 28 %"; parts below half a per cent are left out. */
static void energy_words(const struct ll_result *result, double energy_j, const struct ll_energy_parts *parts,
                         const char *of_whom, struct ll_str *line)
{
    const struct ll_machine *machine = result->machine;
    struct ll_human energy;
    bool some = false;
    if (!isfinite(energy_j)) {
        ll_str_add(line, "not described");
        return;
    }
    ll_str_addf(line, "%s%s", ll_format_si(&energy, energy_j, "J/step"), of_whom);
    energy_part("compute", parts->compute_j, energy_j, &some, line);
    energy_part("registers", parts->registers_j, energy_j, &some, line);
    energy_part("hops", parts->hops_j, energy_j, &some, line);
    for (uint64_t l = 0; l < machine->level_count; l++)
        energy_part(machine->levels[l].name, parts->level_j[l], energy_j, &some, line);
    energy_part("host", parts->host_j, energy_j, &some, line);
    energy_part("network", parts->network_j, energy_j, &some, line);
    energy_part("static", parts->static_j, energy_j, &some, line);
    energy_gaps(result, line);
}

static bool has_area(const struct ll_unit *unit, const double pe_m2[LL_DTYPE_COUNT])
{
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        if (pe_m2[i] > 0 && ll_unit_flops_per_cycle(unit, (enum ll_dtype)i) > 0)
            return true;
    return unit->model == LL_UNIT_IN_MEMORY && unit->in_memory.adc_bits > 0;
}

/* Where parts have figures, units none of whose types has one, and memories on the chip; a memory that may be
 * on the chip and is the only one. */
static void area_gaps(const struct ll_machine *machine, struct ll_str *line)
{
    const double *pe_m2 = machine->area.pe_m2;
    uint64_t gaps = 0, levels = 0, any = 0;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        any |= pe_m2[i] > 0;
    for (uint64_t u = 0; any && u < machine->unit_count; u++)
        if (!has_area(&machine->units[u], pe_m2))
            ll_str_addf(line, "%s%s", gaps++ ? ", " : " without the arithmetic of ", machine->units[u].name);
    if (gaps)
        ll_str_add(line, ", of whose types `pe_um2` has none");
    for (uint64_t l = 0; any && machine->area.sram_m2_per_byte == 0 && l < machine->level_count; l++)
        if (ll_level_is_on_chip(machine, l))
            ll_str_addf(line, "%s%s", levels++ ? ", " : ", without ", machine->levels[l].name);
    if (levels)
        ll_str_add(line, ", of which `sram_mm2_per_MiB` says nothing");
    if (machine->level_count == 1 && !machine->levels[0].on_chip_given)
        ll_str_addf(line,
                    ", without %s: the outermost memory lies on the chip only where it says `on_chip: true`",
                    machine->levels[0].name);
}

static void area_words(const struct ll_result *result, const struct ll_parallel_result *p, uint64_t devices,
                       struct ll_str *line)
{
    const double area_m2 = p && p->pool_count > 1 ? ll_parallel_area_m2(p) : result->area_m2;
    if (!isfinite(area_m2))
        ll_str_add(line, "not described");
    else if (p && p->pool_count > 1)
        ll_str_addf(line, "%.1f mm2 in total", area_m2 * 1e6);
    else if (devices > 1)
        ll_str_addf(line, "%.1f mm2 per device, %.1f mm2 in total", area_m2 * 1e6,
                    area_m2 * 1e6 * (double)devices);
    else
        ll_str_addf(line, "%.1f mm2", area_m2 * 1e6);
    if (isfinite(area_m2))
        area_gaps(result->machine, line);
}

static void price_words(const struct ll_machine *machine, uint64_t devices, struct ll_str *line)
{
    struct ll_priced priced;
    struct ll_human dies, yield, memory;
    if (!ll_machine_price(machine, &priced)) {
        ll_str_add(line, "not described");
        return;
    }
    ll_str_addf(line, "%.0f USD%s", priced.all_usd, devices > 1 ? " per device" : "");
    if (priced.dies_usd > 0)
        ll_str_addf(line, " (dies %s at %s yield", ll_format_percent(&dies, priced.dies_usd / priced.all_usd),
                    ll_format_percent(&yield, priced.yield));
    if (priced.memory_usd > 0)
        ll_str_addf(line, "%smemory %s", priced.dies_usd > 0 ? ", " : " (",
                    ll_format_percent(&memory, priced.memory_usd / priced.all_usd));
    if (priced.dies_usd > 0 || priced.memory_usd > 0)
        ll_str_add(line, ")");
}

/* How much of the step's time was measured, interpolated, modelled. */
static void origin_words(const struct ll_result *result, struct ll_str *line)
{
    const char *separator = "";
    for (int i = LL_TIME_ORIGIN_COUNT - 1; i >= 0; i--) {
        struct ll_human share;
        if (result->origin_shares[i] <= 0)
            continue;
        ll_str_addf(line, "%s%s %s", separator, ll_format_percent(&share, result->origin_shares[i]),
                    ll_time_origin_name((enum ll_time_origin)i));
        separator = ", ";
    }
}

/* With a plan energy is that of all devices; of several ranks that of one, on average. */
static void footer(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    const struct ll_parallel_result *p = report->parallel;
    uint64_t devices = p ? p->spread->sizes.devices : report->together ? report->together->rank_count : 1;
    struct ll_str energy = {0}, area = {0}, price = {0}, origin = {0}, config = {0};
    char of_whom[48] = "";
    if (devices > 1 && !p)
        snprintf(of_whom, sizeof of_whom, " and device, on average");
    else if (devices > 1)
        snprintf(of_whom, sizeof of_whom, " of all %" PRIu64 " devices", devices);
    energy_words(result, p ? p->energy_j : result->energy_j, p ? &p->energy : &result->energy, of_whom,
                 &energy);
    fact_row("energy", &energy, width, out);
    area_words(result, p, devices, &area);
    fact_row("area", &area, width, out);
    price_words(result->machine, devices, &price);
    fact_row("price", &price, width, out);
    origin_words(result, &origin);
    fact_row("times", &origin, width, out);
    ll_str_addf(&config, "%08x", result->machine->config_hash);
    if (result->prepared->as_recorded)
        ll_str_add(&config, "; ops take their recorded times: only communication is simulated");
    if (result->network.count == 0 && devices == 1)
        ll_str_add(&config, "; network not used: one device");
    fact_row("config", &config, width, out);
}

void ll_report_page(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    struct ll_human time, low, high;
    assert(result->time_s >= 0 && report->time_low_s <= report->time_high_s);
    assert(!report->parallel || !report->together); /* a plan is of a trace of one rank */
    headline(result, out);
    ll_str_add(out, "\n");
    coverage_line(result, width, out);
    ll_str_addf(out, "on %s (%s", ll_machine_title(result->machine), result->machine->name);
    for (uint64_t i = 0; i < result->machine->pool_count; i++)
        ll_str_addf(out, ", %s", result->machine->pools[i]->name);
    ll_str_add(out, ")\n");
    if (report->parallel)
        ll_parallel_headline_text(report->parallel, width, out);
    ll_str_addf(out, "\n  " LL_MARK_VALUE "%s" LL_MARK_END, format_ms(&time, result->time_s, "ms/step"));
    add_rate(report, out);
    ll_str_add(out, "\n");
    if (report->time_high_s > 0)
        ll_str_addf(out, "  80 %% prediction interval %s to %s\n", format_ms(&low, report->time_low_s, ""),
                    format_ms(&high, report->time_high_s, "ms/step"));
    ll_str_add(out, "\n");
    compute_bar(report, width, out);
    memory_bar(report, width, out);
    peak_memory_bar(report, width, out);
    intensity_row(result, width, out);
    cause_line(result, width, out);
    report_remarks(report, width, out);
    network_line(result, width, out);
    if (report->parallel)
        ll_parallel_text(report->parallel, width, out);
    if (report->together)
        ll_ranks_text(report->together, width, out);
    ll_fusion_text(report->fusion, width, report->top, out);
    ll_str_add(out, "\n");
    kind_table(report, width, out);
    if (report->gain_count) {
        ll_str_add(out, "\n");
        gain_table(report, width, out);
    }
    ll_str_add(out, "\n");
    sentence(report, ll_machine_title(report->result->machine), width, out);
    ll_str_add(out, "\n");
    footer(report, width, out);
}

const char *ll_report_machine(const struct ll_report *reports, size_t count, const struct ll_report *one)
{
    const struct ll_machine *machine = one->result->machine;
    for (size_t i = 0; i < count; i++) {
        const struct ll_machine *other = reports[i].result->machine;
        if (strcmp(other->stem, machine->stem) == 0 && strcmp(other->path, machine->path) != 0)
            return machine->path;
    }
    return ll_machine_title(machine);
}

/* Of the machines into which the step fits, or of all. */
static double fastest_of(const struct ll_report *reports, size_t count, bool fits)
{
    double fastest_s = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (reports[i].result->fits || !fits)
            fastest_s = fmin(fastest_s, reports[i].result->time_s);
    return fastest_s;
}

static void comparison_row(const struct ll_report *report, const char *machine, double fastest_s,
                           struct ll_table *table)
{
    const struct ll_result *result = report->result;
    unsigned cause = main_cause(result);
    const double samples = ll_report_samples(report), tokens = report->tokens_per_sample;
    struct ll_human time, rate, token_rate, compute, memory;
    char bound[48], best[64] = "";
    ll_snprintf(bound, sizeof bound, "%s %.0f %%", ll_bound_name(result->machine, cause),
                100 * result->shares[cause]);
    if (report->gain_count && report->gains[0].speedup >= 1.005)
        ll_snprintf(best, sizeof best, "%s %.2fx", report->gains[0].knob.label, report->gains[0].speedup);
    assert(fastest_s > 0 || result->time_s == 0);
    if (result->time_s == fastest_s)
        ll_table_mark(table, LL_MARK_VALUE);
    char ratio[32] = "-";
    if (result->time_s >= fastest_s)
        ll_snprintf(ratio, sizeof ratio, "%.2fx", result->time_s / fastest_s);
    ll_table_row(
        table, "  %s%s|%s|%s|%s|%s|%s|%s|%s|%s", machine, result->fits ? "" : " (does not fit)",
        format_ms(&time, result->time_s, ""), ratio, bound, best,
        samples > 0 ? ll_format_count(&rate, samples / result->time_s, "") : "",
        samples > 0 && tokens > 0 ? ll_format_count(&token_rate, samples * tokens / result->time_s, "") : "",
        ll_format_percent(&compute, result->flop_utilization),
        ll_format_percent(&memory, result->level_share[result->machine->level_count - 1]));
}

static double start_s(const struct ll_report *report)
{
    return report->result->machine->software.op_overhead_s;
}

/* Files of like devices may describe unlike software. Where that is what the comparison shows, it says so:
 * starting ops holds a machine back, and another starts them in half the time or less. */
static void software_line(const struct ll_report *reports, size_t count, unsigned width, struct ll_str *out)
{
    size_t slow = count, quick = 0;
    for (size_t i = 0; i < count; i++) {
        bool held = main_cause(reports[i].result) == LL_BOUND_OVERHEAD;
        slow = held && (slow == count || start_s(&reports[i]) > start_s(&reports[slow])) ? i : slow;
        quick = start_s(&reports[i]) < start_s(&reports[quick]) ? i : quick;
    }
    if (slow == count || start_s(&reports[slow]) < 2 * start_s(&reports[quick]))
        return;
    struct ll_human slow_s, quick_s;
    struct ll_str line = {0};
    ll_str_addf(
        &line,
        "%s describes software with a launch overhead of %s, %s software with %s: the difference is not "
        "hardware alone (leadline explain software).",
        ll_report_machine(reports, count, &reports[slow]),
        ll_format_si(&slow_s, start_s(&reports[slow]), "s"),
        ll_report_machine(reports, count, &reports[quick]),
        ll_format_si(&quick_s, start_s(&reports[quick]), "s"));
    ll_end_line(&line, width, out);
}

void ll_report_comparison(const struct ll_report *reports, size_t count, unsigned width, struct ll_str *out)
{
    double fastest_s = fastest_of(reports, count, true);
    if (isinf(fastest_s))
        fastest_s = fastest_of(reports, count, false);
    headline(reports[0].result, out);
    ll_str_add(out, "\n");
    coverage_line(reports[0].result, width, out);
    ll_str_add(out, "\n");
    struct ll_table *table = ll_table_new(
        "  machine|>ms/step|>??vs. fastest|bound by|?what-if 2x|>???samples/s|>???tokens/s|>????MFU|"
        ">?????MBU");
    for (size_t i = 0; i < count; i++)
        comparison_row(&reports[i], ll_report_machine(reports, count, &reports[i]), fastest_s, table);
    ll_table_top(table, reports[0].top);
    ll_table_print(table, width, out);
    ll_table_free(table);
    ll_str_add(out, "\n");
    for (size_t i = 0; i < count; i++)
        sentence(&reports[i], ll_report_machine(reports, count, &reports[i]), width, out);
    for (size_t i = 0; i < count; i++)
        report_lanes_for_type(reports[i].result, ll_report_machine(reports, count, &reports[i]), width, out);
    software_line(reports, count, width, out);
}

void ll_report_ops(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    const struct ll_prepared *prepared = result->prepared;
    struct ll_table *table = ll_table_new(">op|kind|scope|?phase|unit|?>start|>time|?>utilization|bound by");
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
        const struct ll_op_signature *signature =
            &prepared->trace->signatures[prepared->trace->ops[seq].signature];
        double utilization = ll_replay_detail(result, seq).utilization;
        struct ll_human start, time, percent;
        ll_table_row(table, "%u|%s|%s|%s|%s|%s|%s|%s|%s", seq, prepared->trace->strings[signature->kind_name],
                     prepared->trace->strings[signature->scope], ll_phase_name(signature->phase),
                     op->unit == LL_NO_UNIT ? "" : result->machine->units[op->unit].name,
                     ll_format_si(&start, op->start_s, "s"), ll_format_si(&time, op->time_s, "s"),
                     ll_format_percent(&percent, utilization), ll_bound_name(result->machine, op->bound));
    }
    ll_table_top(table, report->top);
    ll_table_print(table, width, out);
    ll_table_free(table);
}
