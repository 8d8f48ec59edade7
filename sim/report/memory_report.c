/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `--memory`, as text, JSON and a figure: the peak and what is alive then, live bytes over
 * time, allocators, memory mitigations. */
#include "sim/report/sim_report.h"

#include "sim/report/figure/figure.h"
#include "sim/report/table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 400, LARGEST = 10, LARGEST_IN_JSON = 100 };
enum { COLUMNS = 2, WIDTH = 640, HEIGHT = 400 };

static struct ll_memory_report *look(const char *name, const struct ll_trace *trace, struct ll_arena *arena)
{
    struct ll_memory_report *report = ll_alloc(arena, 1, sizeof *report);
    if (!report || !ll_footprint(trace, &report->footprint))
        return NULL;
    report->name = name;
    report->trace = trace;
    report->course = ll_over_time(trace, POINTS, arena);
    report->alive = ll_alive_at(trace, report->footprint.peak_op, arena);
    bool done = report->course && report->alive;
    for (unsigned i = 0; i < LL_ALLOCATOR_COUNT && done; i++)
        done = ll_allocate(trace, (enum ll_allocator)i, &report->allocated[i]);
    return done ? report : NULL;
}

const struct ll_memory_report *ll_memory_report_of(const char *name, const struct ll_trace *trace,
                                                   struct ll_arena *arena)
{
    return look(name, trace, arena);
}

static uint64_t capacity_bytes(const struct ll_result *result)
{
    return result->machine->levels[result->machine->level_count - 1].size_bytes;
}

const struct ll_memory_report *ll_memory_report(const char *name, const struct ll_result *result,
                                                struct ll_arena *arena)
{
    struct ll_memory_report *report = look(name, result->prepared->trace, arena);
    if (!report)
        return NULL;
    report->footprint = *result->footprint;
    report->capacity_bytes = capacity_bytes(result);
    report->cures = ll_memory_mitigations(result, arena);
    report->cure_count = LL_MITIGATION_COUNT;
    return report->cures ? report : NULL;
}

const struct ll_memory_report *ll_memory_report_of_plan(const char *name, const struct ll_trace *trace,
                                                        const struct ll_parallel_result *parallel,
                                                        struct ll_arena *arena)
{
    const struct ll_footprint *footprint = parallel->result->footprint;
    const struct ll_stage_use *stage = &parallel->stages[parallel->fullest];
    struct ll_memory_report *report = look(name, ll_parallel_peak_program(parallel), arena);
    if (!report || !(report->alive = ll_alive_at(report->trace, stage->peak.op, arena)))
        return NULL;
    uint64_t known_bytes =
        ll_add(ll_add(stage->peak.waiting_bytes, stage->peak.others_bytes), stage->peak.passing_bytes);
    for (uint64_t i = 0; i < report->alive->count; i++)
        known_bytes = ll_add(known_bytes, report->alive->at[i].bytes);
    for (int i = 0; i < LL_FRAMEWORK_PARTS; i++)
        known_bytes = ll_add(known_bytes, stage->framework_bytes[i]);
    report->staying_bytes = footprint->peak_bytes - ll_min(known_bytes, footprint->peak_bytes);
    report->beside_bytes =
        footprint->peak_bytes - ll_min(report->footprint.peak_bytes, footprint->peak_bytes);
    report->footprint = *footprint;
    report->footprint.peak_op = stage->peak.op;
    report->parallel = parallel;
    report->capacity_bytes = stage->capacity_bytes;
    report->cures = ll_plan_mitigations(trace, parallel, arena);
    report->cure_count = LL_PLAN_MITIGATION_COUNT;
    return report->cures ? report : NULL;
}

/* Of the op at the peak; NULL without ops. */
static const struct ll_op_signature *peak_signature(const struct ll_memory_report *report)
{
    const uint32_t op = report->footprint.peak_op;
    return op == LL_NONE ? NULL : &report->trace->signatures[report->trace->ops[op].signature];
}

static uint64_t over_bytes(const struct ll_memory_report *report)
{
    uint64_t peak = ll_add(report->footprint.peak_bytes, report->footprint.outside_bytes);
    return peak > report->capacity_bytes ? peak - report->capacity_bytes : 0;
}

static void alive_json(const struct ll_memory_report *report, struct ll_json *json)
{
    ll_json_key(json, "alive");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < report->alive->count && i < LARGEST_IN_JSON; i++) {
        const struct ll_alive *alive = &report->alive->at[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "name", alive->name);
        ll_json_put_text(json, "class", ll_memory_name(alive->memory));
        ll_json_put_count(json, "bytes", alive->bytes);
        ll_json_put_count(json, "first", alive->first);
        ll_json_put_count(json, "last", alive->last);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void course_json(const struct ll_memory_report *report, struct ll_json *json)
{
    ll_json_key(json, "over_time");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < report->course->count; i++) {
        const struct ll_memory_held *held = &report->course->at[i];
        ll_json_open_object(json);
        ll_json_put_count(json, "seq", held->op);
        ll_json_put_count(json, "bytes", held->bytes);
        for (unsigned m = 0; m < LL_MEMORY_COUNT; m++)
            ll_json_put_count(json, ll_memory_name((enum ll_memory_class)m), held->class_bytes[m]);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void allocators_json(const struct ll_memory_report *report, struct ll_json *json)
{
    ll_json_key(json, "allocators");
    ll_json_open_list(json);
    for (unsigned i = 0; i < LL_ALLOCATOR_COUNT; i++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "allocator", ll_allocator_name((enum ll_allocator)i));
        ll_json_put_count(json, "peak_bytes", report->allocated[i].taken_bytes);
        ll_json_put_number(json, "fragmentation", report->allocated[i].fragmentation);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void cures_json(const struct ll_memory_report *report, struct ll_json *json)
{
    ll_json_key(json, "mitigations");
    ll_json_open_list(json);
    for (unsigned i = 0; i < report->cure_count; i++) {
        const struct ll_mitigation *cure = &report->cures[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "mitigation", cure->name);
        ll_json_put_text(json, "with", *cure->with ? cure->with : NULL);
        if (cure->done) {
            ll_json_put_count(json, "peak_bytes", cure->peak_bytes);
            ll_json_put_number(json, "freed_bytes",
                               (double)report->footprint.peak_bytes - (double)cure->peak_bytes);
            ll_json_put_bool(json, "fits", cure->fits);
            ll_json_put_number(json, "time_s", cure->time_s);
            ll_json_put_number(json, "slowdown", cure->slowdown);
        }
        ll_json_put_text(json, "trouble", cure->trouble);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* What no tensor of the trace has, by part. */
static void framework_json(const struct ll_memory_report *report, struct ll_json *json)
{
    ll_json_key(json, "framework");
    ll_json_open_list(json);
    for (int i = 0; i < LL_FRAMEWORK_PARTS; i++) {
        uint64_t bytes = report->parallel->stages[report->parallel->fullest].framework_bytes[i];
        if (bytes == 0)
            continue;
        ll_json_open_object(json);
        ll_json_put_text(json, "part", ll_framework_part_name((enum ll_framework_part)i));
        ll_json_put_count(json, "bytes", bytes);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* The op at the peak and what no tensor of its pass has. */
static void plan_json(const struct ll_memory_report *report, struct ll_json *json)
{
    const struct ll_stage_use *stage = &report->parallel->stages[report->parallel->fullest];
    const struct ll_op_signature *signature = peak_signature(report);
    if (signature) {
        ll_json_put_text(json, "peak_kind", report->trace->strings[signature->kind_name]);
        ll_json_put_text(json, "peak_scope", report->trace->strings[signature->scope]);
        ll_json_put_text(json, "peak_phase", ll_phase_name((enum ll_phase)signature->phase));
    }
    ll_json_put_count(json, "other_passes_bytes", stage->peak.waiting_bytes);
    ll_json_put_count(json, "other_vstages_bytes", stage->peak.others_bytes);
    ll_json_put_count(json, "passing_bytes", stage->peak.passing_bytes);
    ll_json_put_count(json, "staying_bytes", report->staying_bytes);
    ll_json_put_count(json, "communicators", stage->communicators);
    ll_json_put_count(json, "communicators_bytes", stage->communicator_bytes);
    ll_json_put_count(json, "context_bytes", stage->context_bytes);
}

void ll_memory_json(const struct ll_memory_report *report, struct ll_json *json)
{
    if (report->capacity_bytes)
        ll_json_put_count(json, "over_bytes", over_bytes(report));
    if (report->parallel) {
        ll_json_put_count(json, "stage", report->parallel->fullest);
        ll_json_put_count(json, "in_flight", report->parallel->stages[report->parallel->fullest].in_flight);
        plan_json(report, json);
        framework_json(report, json);
    }
    ll_json_put_count(json, "peak_seq", report->footprint.peak_op);
    alive_json(report, json);
    course_json(report, json);
    allocators_json(report, json);
    if (report->cures)
        cures_json(report, json);
}

/* Text. */

/* ", a device of stage 0 of 8 with 8 passes in flight". */
static void stage_words(const struct ll_parallel_result *parallel, struct ll_str *line)
{
    uint64_t passes = parallel->stages[parallel->fullest].in_flight;
    if (parallel->spread->plan.pipeline > 1)
        ll_str_addf(line, ", a device of stage %" PRIu64 " of %" PRIu64 " with %" PRIu64 " pass%s in flight",
                    parallel->fullest, parallel->spread->plan.pipeline, passes, passes == 1 ? "" : "es");
    else
        ll_str_add(line, ", a device");
}

/* ", matmul in decoder/head, backward". */
static void peak_words(const struct ll_memory_report *report, struct ll_str *line)
{
    const struct ll_op_signature *signature = peak_signature(report);
    if (!signature)
        return;
    const char *scope = report->trace->strings[signature->scope];
    ll_str_addf(line, ", %s%s%s, %s", report->trace->strings[signature->kind_name], *scope ? " in " : "",
                scope, ll_phase_name((enum ll_phase)signature->phase));
}

static void headline(const struct ll_memory_report *report, unsigned width, struct ll_str *out)
{
    struct ll_human peak, capacity, over;
    struct ll_str line = {0};
    ll_str_addf(&line, "memory of %s", report->name);
    if (report->parallel)
        stage_words(report->parallel, &line);
    ll_str_addf(&line, ": peak %s at op %" PRIu32,
                ll_format_binary(&peak, (double)report->footprint.peak_bytes), report->footprint.peak_op);
    if (report->parallel)
        peak_words(report, &line);
    if (report->capacity_bytes && over_bytes(report))
        ll_str_addf(&line, "; does not fit: %s more than the capacity of %s",
                    ll_format_binary(&over, (double)over_bytes(report)),
                    ll_format_binary(&capacity, (double)report->capacity_bytes));
    else if (report->capacity_bytes)
        ll_str_addf(&line, "; fits into %s", ll_format_binary(&capacity, (double)report->capacity_bytes));
    ll_end_line(&line, width, out);
}

static void row_of_bytes(struct ll_table *table, const char *what, const char *class, uint64_t bytes)
{
    struct ll_human size;
    if (bytes > 0)
        ll_table_row(table, "  %s|%s|%s||", what, class, ll_format_binary(&size, (double)bytes));
}

/* What no tensor of the pass at work has; the last two are no part of the peak. */
static void plan_rows(const struct ll_memory_report *report, struct ll_table *table)
{
    const struct ll_stage_use *stage = &report->parallel->stages[report->parallel->fullest];
    for (int i = 0; i < LL_FRAMEWORK_PARTS; i++)
        row_of_bytes(table, ll_framework_part_name((enum ll_framework_part)i), "framework",
                     stage->framework_bytes[i]);
    row_of_bytes(table, "while this op runs", "framework", stage->peak.passing_bytes);
    row_of_bytes(table, "gradients and casts that stay", "", report->staying_bytes);
    row_of_bytes(table, "of other virtual stages", "", stage->peak.others_bytes);
    row_of_bytes(table, "of other passes in flight", "", stage->peak.waiting_bytes);
    row_of_bytes(table, "beside the peak: buffers of communicators", "", stage->communicator_bytes);
    row_of_bytes(table, "beside the peak: context of the process", "", stage->context_bytes);
}

static void alive_table(const struct ll_memory_report *report, unsigned width, uint64_t top,
                        struct ll_str *out)
{
    const struct ll_all_alive *alive = report->alive;
    struct ll_table *table = ll_table_new("  alive at the peak|class|>size|?>from op|?>to op");
    const uint64_t most = top ? top : LARGEST;
    uint64_t rest_bytes = 0;
    for (uint64_t i = 0; i < alive->count; i++) {
        const struct ll_alive *a = &alive->at[i];
        struct ll_human size;
        if (i >= most)
            rest_bytes = ll_add(rest_bytes, a->bytes);
        else
            ll_table_row(table, "  %s|%s|%s|%" PRIu32 "|%" PRIu32, a->name, ll_memory_name(a->memory),
                         ll_format_binary(&size, (double)a->bytes), a->first, a->last);
    }
    struct ll_human rest;
    if (alive->count > most)
        ll_table_row(table, "  %" PRIu64 " smaller ones||%s||", alive->count - most,
                     ll_format_binary(&rest, (double)rest_bytes));
    if (report->parallel)
        plan_rows(report, table);
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
}

static void allocators_table(const struct ll_memory_report *report, unsigned width, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("  allocator|>reserves|>of peak|?how");
    for (unsigned i = 0; i < LL_ALLOCATOR_COUNT; i++) {
        struct ll_human takes;
        ll_table_row(table, "  %s|%s|%.3f|%s", ll_allocator_name((enum ll_allocator)i),
                     ll_format_binary(&takes, (double)report->allocated[i].taken_bytes),
                     report->allocated[i].fragmentation, ll_allocator_help((enum ll_allocator)i));
    }
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
}

static void cure_row(const struct ll_memory_report *report, const struct ll_mitigation *cure,
                     struct ll_table *table)
{
    struct ll_human peak, freed, time;
    const char *comma = *cure->with ? ", " : "";
    double freed_bytes = (double)report->footprint.peak_bytes - (double)cure->peak_bytes;
    if (!cure->done)
        return;
    if (isfinite(cure->time_s))
        ll_table_row(table, "  %s%s%s|%s|%s|%s|%s|%+.1f %%", cure->name, comma, cure->with,
                     ll_format_binary(&peak, (double)cure->peak_bytes), ll_format_binary(&freed, freed_bytes),
                     cure->fits ? "yes" : "no", ll_format_si(&time, cure->time_s, "s"),
                     100 * (cure->slowdown - 1));
    else
        ll_table_row(table, "  %s%s%s|%s|%s|%s||", cure->name, comma, cure->with,
                     ll_format_binary(&peak, (double)cure->peak_bytes), ll_format_binary(&freed, freed_bytes),
                     cure->fits ? "yes" : "no");
}

/* Why times are missing, each reason once. */
static void troubles(const struct ll_memory_report *report, unsigned width, struct ll_str *out)
{
    const char *last = NULL;
    for (unsigned i = 0; i < report->cure_count; i++) {
        const struct ll_mitigation *cure = &report->cures[i];
        struct ll_str line = {0};
        if (!cure->done || !cure->trouble || (last && strcmp(cure->trouble, last) == 0))
            continue;
        last = cure->trouble;
        ll_str_addf(&line, "%s: %s", cure->name, cure->trouble);
        ll_end_line(&line, width, out);
    }
}

static void cures_table(const struct ll_memory_report *report, unsigned width, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("  memory mitigations|>peak|>frees|fits|>step|>per sample");
    for (unsigned i = 0; i < report->cure_count; i++)
        cure_row(report, &report->cures[i], table);
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
    troubles(report, width, out);
}

void ll_memory_text(const struct ll_memory_report *report, unsigned width, uint64_t top, struct ll_str *out)
{
    headline(report, width, out);
    alive_table(report, width, top, out);
    allocators_table(report, width, out);
    if (report->cures)
        cures_table(report, width, out);
}

/* The figure: each class on top of those before it, and on all of them what the device holds beside the
 * pass. */

static const struct scale {
    const char *label;
    double bytes;
} scales[] = {{"KiB, stacked by class", 1 << 10},
              {"MiB, stacked by class", 1 << 20},
              {"GiB, stacked by class", 1 << 30}};

static const struct scale *scale_of(double peak_bytes)
{
    const struct scale *scale = scales;
    while (scale + 1 < scales + sizeof scales / sizeof *scales && peak_bytes >= scale[1].bytes)
        scale++;
    return scale;
}

/* Where little of a large memory is used, its size presses all curves to the ground: the title tells it. */
static double capacity_line(const struct ll_memory_report *report)
{
    return report->footprint.peak_bytes >= report->capacity_bytes / 4 ? (double)report->capacity_bytes : 0;
}

static const char *figure_title(const struct ll_memory_report *report, const char *machine, char *text,
                                size_t size)
{
    struct ll_human peak, capacity;
    char stage[64] = "";
    if (report->parallel && report->parallel->spread->plan.pipeline > 1)
        snprintf(stage, sizeof stage, ", stage %" PRIu64 " of %" PRIu64, report->parallel->fullest,
                 report->parallel->spread->plan.pipeline);
    int length = snprintf(text, size, "%s on %s%s: peak %s", ll_base_name(report->name), machine, stage,
                          ll_format_binary(&peak, (double)report->footprint.peak_bytes));
    if (report->capacity_bytes && length >= 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " of %s",
                 ll_format_binary(&capacity, (double)report->capacity_bytes));
    return text;
}

/* By a class of memory, or, behind them all, beside the pass. */
static uint64_t held_bytes(const struct ll_memory_report *report, size_t point, unsigned which)
{
    return which < LL_MEMORY_COUNT ? report->course->at[point].class_bytes[which] : report->beside_bytes;
}

/* When the ops of the points begin, and the last one ends, in ms, where these ops were replayed; input of a
 * step is sent early and stays where its op stands. Else the numbers of the ops: the fullest stage of a plan
 * need not be the one that is reported. Fills one more than there are points; returns what the axis says. */
static const char *place_points(const struct ll_report *whole, double *x)
{
    const struct ll_over_time *course = whole->memory->course;
    const struct ll_prepared *prepared = whole->result->prepared;
    bool replayed = !whole->parallel;
    double last = 0;
    for (size_t i = 0; i < course->count; i++)
        replayed = replayed && course->at[i].op >= prepared->first_op && course->at[i].op < prepared->end_op;
    for (size_t i = 0; i <= course->count; i++) {
        uint32_t op = i < course->count ? course->at[i].op : course->at[i - 1].op + 1;
        if (replayed && i < course->count) {
            const struct ll_op_result *run = &whole->result->ops[op - prepared->first_op];
            x[i] = fmax(1e3 * run->start_s, i ? x[i - 1] : 0);
            last = fmax(last, 1e3 * (run->start_s + run->time_s));
        } else {
            x[i] = replayed ? last : op;
        }
    }
    return replayed ? "ms" : "op";
}

static bool draw(const struct ll_report *whole, const char *machine, struct ll_rect box, struct ll_svg *svg)
{
    const struct ll_memory_report *report = whole->memory;
    size_t last = report->course->count - 1, points = last + 2, used = 0;
    double *x = malloc((points * (LL_MEMORY_COUNT + 2) + 1) * sizeof *x);
    struct ll_curve curves[LL_MEMORY_COUNT + 1];
    const struct scale *scale = scale_of((double)report->footprint.peak_bytes);
    char title[200];
    assert(report->course->count > 0); /* what was replayed has ops */
    if (!x)
        return false;
    const char *x_label = place_points(whole, x);
    const double *below = NULL;
    for (unsigned m = 0; m <= LL_MEMORY_COUNT; m++) {
        double *y = x + (used + 1) * points, most = 0;
        for (size_t i = 0; i < points; i++) {
            double held = (double)held_bytes(report, i < last ? i : last, m) / scale->bytes;
            y[i] = held + (below ? below[i] : 0);
            most = fmax(most, held);
        }
        if (most == 0)
            continue;
        const char *name = m < LL_MEMORY_COUNT ? ll_memory_name((enum ll_memory_class)m) : "beside this pass";
        curves[used++] = (struct ll_curve){name, x, y, points};
        below = y;
    }
    const struct ll_lines lines = {.title = figure_title(report, machine, title, sizeof title),
                                   .x_label = x_label,
                                   .y_label = scale->label,
                                   .curves = curves,
                                   .curve_count = used,
                                   .joined = true,
                                   .areas = true,
                                   .line = capacity_line(report) / scale->bytes,
                                   .line_name = "capacity"};
    ll_draw_lines(svg, box, &lines);
    free(x);
    return true;
}

bool ll_report_memory_figure(const struct ll_report *reports, size_t count, struct ll_str *out)
{
    struct ll_svg svg = {.out = out};
    const struct ll_page page = {.title = "Memory over time",
                                 .about = "Live memory while each op runs, stacked by class",
                                 .panels = count,
                                 .columns = count < COLUMNS ? 1 : COLUMNS,
                                 .width = WIDTH,
                                 .height = HEIGHT};
    bool drawn = true;
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < count && drawn; i++)
        drawn =
            draw(&reports[i], ll_report_machine(reports, count, &reports[i]), ll_page_panel(&page, i), &svg);
    ll_svg_close(&svg);
    return drawn && !out->failed;
}
