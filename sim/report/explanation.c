/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind a result: why an op takes its time (the lines of sim/cost/cost.h), where ops lie under a
 * roofline, and the warnings that must come first. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/machine/quantity.h"
#include "sim/replay/communication.h"
#include "sim/report/figure/figure.h"
#include "sim/report/sim_report.h"
#include "sim/report/table.h"
#include "tracer/base/str.h"

static const struct ll_op_signature *signature_of(const struct ll_report *report, uint32_t seq)
{
    const struct ll_prepared *prepared = report->result->prepared;
    const struct ll_trace *trace = prepared->trace;
    assert(seq >= prepared->first_op && seq < prepared->end_op);
    return &trace->signatures[trace->ops[seq].signature];
}

/* Behind so many shapes, only how many more there are. */
enum { MOST_SHAPES = 6 };

/* "f32 8x9216, f32 9216x4096"; a scalar is "f32 1". */
static void add_shapes(const struct ll_shape *shapes, uint32_t count, struct ll_str *out)
{
    assert(count == 0 || shapes);
    if (count == 0)
        ll_str_add(out, "nothing");
    for (uint32_t i = 0; i < count && i < MOST_SHAPES; i++) {
        const struct ll_pattern zeros = {shapes[i].kept, shapes[i].of, shapes[i].unstructured};
        ll_str_addf(out, "%s%s%s", i > 0 ? ", " : "", ll_dtype_name((enum ll_dtype)shapes[i].dtype),
                    shapes[i].rank == 0 ? " 1" : "");
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(out, "%c%" PRIu64, d > 0 ? 'x' : ' ', shapes[i].dim[d]);
        char pattern[LL_PATTERN_TEXT];
        if (zeros.of > 0) {
            ll_pattern_print(&zeros, pattern);
            ll_str_addf(out, " (%s)", pattern);
        }
    }
    if (count > MOST_SHAPES)
        ll_str_addf(out, " and %" PRIu32 " more", count - MOST_SHAPES);
}

void ll_report_shapes(const struct ll_op_signature *signature, struct ll_str *out)
{
    ll_str_add(out, "reads ");
    add_shapes(signature->view.in, signature->view.input_count, out);
    ll_str_add(out, "; writes ");
    add_shapes(signature->view.out, signature->view.output_count, out);
}

/* What the sizes in the lines below come from. */
static void explain_operands(const struct ll_op_signature *signature, struct ll_explain *why)
{
    struct ll_str text = {0};
    ll_explain_group(why, "shape");
    ll_report_shapes(signature, &text);
    why->failed |= text.failed;
    if (!text.failed)
        ll_say(why, "%s", text.text);
    ll_str_release(&text);
}

/* Of an exchange: why its messages take their time. */
static void explain_messages(const struct ll_report *report, uint32_t seq, const struct ll_price *price,
                             struct ll_explain *why)
{
    struct ll_asked asked = ll_asked_by(&signature_of(report, seq)->view);
    asked.first = price->first;
    asked.span = price->span;
    struct ll_prices prices = {0};
    const uint32_t ranks = ll_trace_ranks(report->result->prepared->trace);
    const uint64_t devices = report->parallel ? report->parallel->spread->sizes.devices
                             : ranks > 1      ? ranks
                                              : 0;
    struct ll_exchanges *exchanges = ll_exchanges_new(report->result->machine, devices, &prices);
    why->failed |= !exchanges;
    if (exchanges)
        ll_exchanges_tell(exchanges, &asked, price, why);
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
}

/* The lines; of a collective the last one adds the launch overhead to the time of its messages. */
static bool explain(const struct ll_report *report, uint32_t seq, struct ll_explain *why)
{
    const struct ll_result *result = report->result;
    const struct ll_price *price = ll_replay_detail(result, seq).price;
    explain_operands(signature_of(report, seq), why);
    uint64_t before = why->line_count;
    bool right = ll_replay_explain(result, seq, why);
    if (!right || !price || why->line_count == before)
        return right && !why->failed;
    const char *last = why->lines[--why->line_count];
    explain_messages(report, seq, price, why);
    ll_explain_group(why, "total");
    ll_say(why, "%s", last);
    return !why->failed;
}

/* Whether its ops are those of one stage of several. */
static bool is_of_stage(const struct ll_report *report)
{
    return report->parallel && report->parallel->spread->plan.pipeline > 1;
}

void ll_report_whose_ops(const struct ll_report *reports, size_t count, const struct ll_report *one,
                         struct ll_str *out)
{
    if (is_of_stage(one))
        ll_str_addf(out, "stage %" PRIu64 " of ", one->parallel->slowest);
    ll_str_add(out, ll_report_machine(reports, count, one));
}

/* Numbers of five digits and more, with separators; those behind a point or an `e` are left alone, and the
 * sizes of shapes. */
static void add_separated(const char *text, struct ll_str *out)
{
    for (bool in_shape = false; *text;) {
        size_t digits = strspn(text, "0123456789");
        for (size_t i = 0; i < digits; i++)
            ll_str_addf(out, "%s%c", i > 0 && digits > 4 && !in_shape && (digits - i) % 3 == 0 ? "," : "",
                        text[i]);
        text += digits;
        if (*text == '.' || ((*text == 'e' || *text == '^') && digits > 0)) {
            size_t rest = 1 + strspn(text + 1, "0123456789+-e");
            ll_str_addf(out, "%.*s", (int)rest, text);
            text += rest;
        } else if (*text) {
            in_shape = *text == 'x';
            ll_str_addf(out, "%c", *text++);
        }
    }
}

/* The result of a formula: whole numbers as they are, others with some of their digits, and with a prefix
 * where the unit takes one: "295 us". */
static void add_result(double value, const char *unit, struct ll_str *out)
{
    static const char prefixes[] = "pnum kMGTP";
    bool takes_prefix = !strcmp(unit, "s") || !strcmp(unit, "B") || !strcmp(unit, "J") || !strcmp(unit, "W");
    int power = takes_prefix && value > 0 ? (int)floor(log10(value) / 3 + 1e-12) : 0;
    bool whole = !takes_prefix && value == floor(value) && value < 1e15;
    struct ll_str separated = {0};
    char number[32], prefix[2] = "";
    if (power < (strcmp(unit, "B") ? -4 : 0) || power > 5)
        power = 0;
    ll_snprintf(number, sizeof number,
                whole          ? "%.0f"
                : takes_prefix ? "%.4g"
                               : "%.7g",
                value * pow(1000, -power));
    add_separated(number, &separated);
    if (power != 0)
        prefix[0] = prefixes[power + 4];
    ll_str_addf(out, "%12s %s%-*s", separated.failed ? number : separated.text, prefix, power ? 5 : 6, unit);
    ll_str_release(&separated);
}

/* A line behind its result, if it is a formula; `*` marks what was taken of several ways. */
static void add_line(const char *line, bool wins, struct ll_str *out)
{
    const char *formula = strstr(line, ": "), *equals = formula ? strstr(formula, " = ") : NULL;
    ll_str_add(out, "  ");
    if (equals) {
        char *unit;
        double value = ll_strtod(equals + 3, &unit);
        add_result(value, unit + strspn(unit, " "), out);
    } else {
        ll_str_addf(out, "%19s", "");
    }
    ll_str_addf(out, " %c ", wins && equals ? '*' : ' ');
    if (equals)
        ll_str_addf(out, "%.*s", (int)(formula - line), line);
    add_separated(equals ? formula : line, out);
    ll_str_add(out, "\n");
}

/* All lines, each group under its name. */
static void add_groups(const struct ll_explain *why, struct ll_str *out)
{
    const char *group = NULL;
    for (uint64_t line = 0; line < why->line_count; line++) {
        const struct ll_line_mark *mark = &why->marks[line];
        if (mark->group && (!group || strcmp(group, mark->group) != 0))
            ll_str_addf(out, "  %s\n", mark->group);
        group = mark->group;
        add_line(why->lines[line], mark->wins, out);
    }
}

void ll_report_explanations(const struct ll_report *reports, size_t count, uint32_t seq, struct ll_str *out)
{
    assert(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct ll_report *report = &reports[i];
        const char *const *strings = report->result->prepared->trace->strings;
        const struct ll_op_signature *signature = signature_of(report, seq);
        const char *scope = strings[signature->scope];
        struct ll_explain why = {0};
        ll_str_addf(out, "op %" PRIu32 ", %s%s%s, on ", seq, strings[signature->kind_name],
                    *scope ? " in " : "", scope);
        ll_report_whose_ops(reports, count, report, out);
        ll_str_add(out, "\n");
        out->failed |= !explain(report, seq, &why);
        add_groups(&why, out);
        ll_explain_release(&why);
    }
}

/* The keys `lines` and `groups`. */
static void lines_json(const struct ll_explain *why, struct ll_json *json)
{
    ll_json_key(json, "lines");
    ll_json_open_list(json);
    for (uint64_t line = 0; line < why->line_count; line++)
        ll_json_text(json, why->lines[line]);
    ll_json_close_list(json);
    ll_json_key(json, "groups");
    ll_json_open_list(json);
    for (uint64_t line = 0; line < why->line_count; line++)
        ll_json_text(json, why->marks[line].group ? why->marks[line].group : "");
    ll_json_close_list(json);
}

void ll_report_derivation_json(const struct ll_report *report, uint32_t seq, struct ll_json *json)
{
    struct ll_explain why = {0};
    json->out->failed |= !explain(report, seq, &why);
    lines_json(&why, json);
    ll_explain_release(&why);
}

static void one_explanation(const struct ll_report *report, const char *machine, uint32_t seq,
                            struct ll_json *json)
{
    const char *const *strings = report->result->prepared->trace->strings;
    const struct ll_op_signature *signature = signature_of(report, seq);
    struct ll_explain why = {0};
    json->out->failed |= !explain(report, seq, &why);
    ll_json_open_object(json);
    ll_json_put_text(json, "trace", report->trace_name);
    ll_json_put_text(json, "machine", machine);
    if (is_of_stage(report))
        ll_json_put_count(json, "stage", report->parallel->slowest);
    ll_json_put_count(json, "seq", seq);
    ll_json_put_text(json, "kind", strings[signature->kind_name]);
    ll_json_put_text(json, "scope", strings[signature->scope]);
    lines_json(&why, json);
    ll_json_close_object(json);
    ll_explain_release(&why);
}

void ll_report_explanations_json(const struct ll_report *reports, size_t count, uint32_t seq,
                                 struct ll_json *json)
{
    assert(count > 0);
    ll_json_open_document(json, "sim_explain", 1);
    ll_json_key(json, "explanations");
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        one_explanation(&reports[i], ll_report_machine(reports, count, &reports[i]), seq, json);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* Rooflines of results: a panel for each trace and machine. Ops of the same kind and shape are one point; an
 * op that runs on in the kernel of the one before it belongs to that one's point. Bytes are the algorithmic
 * ones, so that a point above the line of the outermost memory lives on what lies further in. */

enum { COLUMNS = 2, WIDTH = 560, HEIGHT = 460 };

/* Ops of one signature, summed. */
struct sum {
    uint32_t signature;
    double flops, bytes, time_s;
};

/* What an op adds when it runs on in the kernel before: its result takes the place of that kernel's, one of
 * its operands never goes to memory. */
static double bytes_of(const struct ll_work *work, bool follows)
{
    double all = (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
    return follows ? fmax(0, all - 2 * (double)work->c_bytes) : all;
}

/* The op that it starts with, itself when it starts alone. */
static uint32_t leader_of(const struct ll_result *result, uint32_t seq)
{
    enum ll_fusion fusion = result->machine->software.fusion;
    while (ll_fused_as(result->prepared, fusion, seq).follows)
        seq = ll_fused_as(result->prepared, fusion, seq).leader;
    return seq;
}

static void sum_ops(const struct ll_result *result, struct sum *sums)
{
    const struct ll_prepared *prepared = result->prepared;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        uint32_t signature = prepared->trace->ops[seq].signature;
        const struct ll_work *work = &prepared->works[signature];
        uint32_t first = leader_of(result, seq), leader = prepared->trace->ops[first].signature;
        struct sum *sum = &sums[leader];
        sum->signature = leader;
        sum->flops += (double)work->flops;
        sum->bytes += bytes_of(work, first != seq);
        sum->time_s += result->ops[seq - prepared->first_op].time_s;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? 1 : -1;
    return (x->signature > y->signature) - (x->signature < y->signature);
}

static bool is_work(const struct sum *sum)
{
    return sum->flops > 0 && sum->bytes > 0 && sum->time_s > 0;
}

/* A roofline with what it points to. */
struct drawing {
    const struct ll_result *result;
    struct ll_arena *arena;
    struct ll_work_point *points;
    size_t point_count;
    struct ll_roof memories[LL_MAX_LEVELS], units[LL_MAX_UNITS * LL_DTYPE_COUNT];
    size_t unit_count;
    const char *series[LL_CLASS_COUNT];
};

static bool make_points(struct drawing *d)
{
    const struct ll_trace *trace = d->result->prepared->trace;
    struct sum *sums = ll_alloc(d->arena, trace->signature_count, sizeof *sums);
    double all_s = 0;
    d->points = ll_alloc(d->arena, trace->signature_count, sizeof *d->points);
    if (!sums || !d->points)
        return false;
    sum_ops(d->result, sums);
    qsort(sums, trace->signature_count, sizeof *sums, by_time);
    for (uint64_t i = 0; i < trace->signature_count; i++)
        all_s += sums[i].time_s;
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        enum ll_op_kind kind = trace->signatures[sums[i].signature].view.kind;
        if (!is_work(&sums[i]))
            continue;
        d->points[d->point_count++] =
            (struct ll_work_point){sums[i].flops / sums[i].bytes, sums[i].flops / sums[i].time_s,
                                   sums[i].time_s / all_s, (size_t)ll_op_class(kind), ll_op_name(kind)};
        d->series[ll_op_class(kind)] = ll_class_name(ll_op_class(kind));
    }
    return true;
}

static bool make_memories(struct drawing *d)
{
    assert(d->result->machine->level_count <= sizeof d->memories / sizeof *d->memories);
    const struct ll_machine *machine = d->result->machine;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        double instances = (double)ll_machine_instances(machine, l);
        struct ll_human rate;
        struct ll_roof *roof = &d->memories[l];
        roof->height = instances * level->bandwidth_Bps * level->efficiency;
        roof->name = ll_format(d->arena, "%s %s", level->name, ll_format_si(&rate, roof->height, "B/s"));
        if (!roof->name)
            return false;
    }
    return true;
}

/* The element types in which each unit computed something. */
static void find_used(const struct ll_result *result, bool used[LL_MAX_UNITS][LL_DTYPE_COUNT])
{
    const struct ll_prepared *prepared = result->prepared;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_work *work = &prepared->works[prepared->trace->ops[seq].signature];
        uint32_t unit = result->ops[seq - prepared->first_op].unit;
        if (unit != LL_NO_UNIT && work->flops > 0)
            used[unit][ll_computed_on(&result->machine->units[unit], (enum ll_dtype)work->dtype)] = true;
    }
}

static bool make_units(struct drawing *d)
{
    const struct ll_machine *machine = d->result->machine;
    bool used[LL_MAX_UNITS][LL_DTYPE_COUNT] = {{false}};
    find_used(d->result, used);
    for (uint64_t u = 0; u < machine->unit_count; u++)
        for (unsigned dtype = 0; dtype < LL_DTYPE_COUNT; dtype++) {
            const struct ll_unit *unit = &machine->units[u];
            double cycle = ll_unit_flops_per_cycle(unit, (enum ll_dtype)dtype);
            struct ll_roof *roof = &d->units[d->unit_count];
            assert(d->unit_count < sizeof d->units / sizeof *d->units);
            struct ll_human rate;
            if (!used[u][dtype] || cycle == 0)
                continue;
            roof->height = cycle * (double)unit->count * unit->clock_hz * unit->efficiency;
            roof->name = ll_format(d->arena, "%s %s %s", unit->name, ll_dtype_name((enum ll_dtype)dtype),
                                   ll_format_si(&rate, roof->height, "FLOP/s"));
            if (!roof->name)
                return false;
            d->unit_count++;
        }
    return true;
}

static void roofs_json(const char *key, const struct ll_roof *roofs, size_t count, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "name", roofs[i].name);
        ll_json_put_number(json, "height", roofs[i].height);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* Signatures with work, the longest first, each as [signature, FLOP, bytes, seconds], of all replayed
 * steps. */
static bool points_json(const struct ll_result *result, struct ll_arena *arena, struct ll_json *json)
{
    uint64_t count = result->prepared->trace->signature_count;
    struct sum *sums = ll_alloc(arena, count, sizeof *sums);
    if (!sums)
        return false;
    sum_ops(result, sums);
    qsort(sums, count, sizeof *sums, by_time);
    ll_json_key(json, "points");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < count; i++) {
        if (!is_work(&sums[i]))
            continue;
        ll_json_open_list(json);
        ll_json_count(json, sums[i].signature);
        ll_json_number(json, sums[i].flops);
        ll_json_number(json, sums[i].bytes);
        ll_json_number(json, sums[i].time_s);
        ll_json_close_list(json);
    }
    ll_json_close_list(json);
    return true;
}

void ll_report_roofline_json(const struct ll_report *report, struct ll_json *json)
{
    struct ll_arena arena = {0};
    struct drawing *d = ll_alloc(&arena, 1, sizeof *d);
    if (d) {
        d->result = report->result;
        d->arena = &arena;
    }
    bool done = d && make_memories(d) && make_units(d);
    ll_json_key(json, "roofline");
    ll_json_open_object(json);
    if (done) {
        roofs_json("memories", d->memories, report->result->machine->level_count, json);
        roofs_json("units", d->units, d->unit_count, json);
        done = points_json(report->result, &arena, json);
    }
    ll_json_close_object(json);
    json->out->failed |= !done;
    ll_arena_release(&arena);
}

static bool draw(const struct ll_report *report, const char *machine, struct ll_arena *arena,
                 struct ll_svg *svg, struct ll_rect box)
{
    struct drawing *d = ll_alloc(arena, 1, sizeof *d);
    struct ll_human time, share;
    if (!d)
        return false;
    d->result = report->result;
    d->arena = arena;
    if (!make_points(d) || !make_memories(d) || !make_units(d))
        return false;
    struct ll_roofline roofline = {
        .title = ll_format(arena, "%s on %s", ll_base_name(report->trace_name), machine),
        .memories = d->memories,
        .memory_count = report->result->machine->level_count,
        .units = d->units,
        .unit_count = d->unit_count,
        .points = d->points,
        .point_count = d->point_count,
        .series = d->series,
        .series_count = LL_CLASS_COUNT,
    };
    roofline.about = ll_format(arena, "%s per step%s; ops with %s of their time are shown",
                               ll_format_si(&time, report->result->time_s, "s"),
                               report->result->prepared->as_recorded ? ", ops as recorded" : "",
                               ll_format_percent(&share, ll_roofline_shown(&roofline)));
    if (!roofline.title || !roofline.about)
        return false;
    ll_draw_roofline(svg, box, &roofline);
    return true;
}

bool ll_report_rooflines(const struct ll_report *reports, size_t count, struct ll_str *out)
{
    struct ll_svg svg = {out};
    struct ll_arena arena = {0};
    const struct ll_page page = {
        "Rooflines",
        "Ops of a step, those of the same kind and shape as one disc whose area is their share of the time, "
        "by "
        "FLOPs a byte and FLOPs a second, under what each memory and each unit allows.",
        count,
        count < COLUMNS ? count : COLUMNS,
        WIDTH,
        HEIGHT,
        NULL};
    bool done = true;
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < count && done; i++)
        done = draw(&reports[i], ll_report_machine(reports, count, &reports[i]), &arena, &svg,
                    ll_page_panel(&page, i));
    ll_svg_close(&svg);
    ll_arena_release(&arena);
    return done && !out->failed;
}

/* The breakdown: what bound the time of a step. Machines call their memory levels as they like: the outermost
 * is one cause, the others are another. */

enum { COMPUTE, OUTERMOST, ON_CHIP, NETWORK, HOST, OVERHEAD, DEPENDENCY, CAUSES };
enum { BREAKDOWN_WIDTH = 520, BREAKDOWN_HEIGHT = 400, BAR_WIDTH = 36 };

static unsigned cause_of(const struct ll_machine *machine, unsigned bound)
{
    static const unsigned causes[LL_BOUND_LEVEL] = {[LL_BOUND_COMPUTE] = COMPUTE,
                                                    [LL_BOUND_NETWORK] = NETWORK,
                                                    [LL_BOUND_HOST] = HOST,
                                                    [LL_BOUND_OVERHEAD] = OVERHEAD,
                                                    [LL_BOUND_DEPENDENCY] = DEPENDENCY};
    if (bound < LL_BOUND_LEVEL)
        return causes[bound];
    return bound == LL_BOUND_LEVEL + machine->level_count - 1 ? OUTERMOST : ON_CHIP;
}

/* A panel of times, and one of shares, on which a fast machine is as high as a slow one. */
static void draw_breakdown(const char *const *names, size_t count, const double *ms, const double *percent,
                           struct ll_str *out)
{
    static const char *const causes[CAUSES] = {"compute", "outermost memory", "on-chip memory", "network",
                                               "host",    "overhead",         "dependency"};
    const double *const values[] = {ms, percent};
    static const char *const labels[] = {"ms/step", "% of the step"};
    struct ll_svg svg = {out};
    const struct ll_page page = {.title = "What binds the time of a step",
                                 .about = "A bar for each trace on each machine, stacked by cause",
                                 .panels = 2,
                                 .columns = 2,
                                 .width = fmax(BREAKDOWN_WIDTH, BAR_WIDTH * (double)count),
                                 .height = BREAKDOWN_HEIGHT};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < 2; i++)
        ll_draw_bars(&svg, ll_page_panel(&page, i),
                     &(struct ll_bars){.y_label = labels[i],
                                       .groups = names,
                                       .group_count = count,
                                       .series = causes,
                                       .series_count = CAUSES,
                                       .values = values[i],
                                       .stacked = true});
    ll_svg_close(&svg);
}

bool ll_report_breakdown(const struct ll_report *reports, size_t count, struct ll_str *out)
{
    struct ll_arena arena = {0};
    const char **names = ll_alloc(&arena, count, sizeof *names);
    double *ms = ll_alloc(&arena, count * CAUSES, sizeof *ms);
    double *percent = ll_alloc(&arena, count * CAUSES, sizeof *percent);
    bool done = names && ms && percent;
    for (size_t b = 0; b < count && done; b++) {
        const struct ll_result *result = reports[b].result;
        names[b] = ll_format(&arena, "%s on %s", ll_base_name(reports[b].trace_name),
                             ll_report_machine(reports, count, &reports[b]));
        done = names[b] != NULL;
        for (unsigned bound = 0; bound < LL_BOUND_LEVEL + result->machine->level_count; bound++) {
            size_t at = b * CAUSES + cause_of(result->machine, bound);
            ms[at] += 1e3 * result->time_s * result->shares[bound];
            percent[at] += 100 * result->shares[bound];
        }
    }
    if (done)
        draw_breakdown(names, count, ms, percent, out);
    ll_arena_release(&arena);
    return done && !out->failed;
}

/* An arena frees nothing alone: the list doubles, and what it outgrew stays until the end. */
static bool make_room(struct ll_warnings *warnings)
{
    if (warnings->count < warnings->capacity)
        return true;
    size_t capacity = warnings->capacity ? 2 * warnings->capacity : 8;
    const char **texts = ll_alloc(warnings->arena, capacity, sizeof *texts);
    if (!texts)
        return false;
    if (warnings->count)
        memcpy(texts, warnings->texts, warnings->count * sizeof *texts);
    warnings->texts = texts;
    warnings->capacity = capacity;
    return true;
}

void ll_warn(struct ll_warnings *warnings, const char *format, ...)
{
    assert(warnings->arena);
    struct ll_str line = {0};
    va_list arguments;
    va_start(arguments, format);
    ll_str_addv(&line, format, arguments);
    va_end(arguments);
    bool known = false;
    for (size_t i = 0; i < warnings->count && !line.failed; i++)
        known |= strcmp(warnings->texts[i], line.text) == 0;
    const char *text = line.failed ? NULL : ll_copy_text(warnings->arena, line.text, line.length);
    ll_str_release(&line);
    if (!text || (!known && !make_room(warnings)))
        warnings->failed = true;
    else if (!known)
        warnings->texts[warnings->count++] = text;
}

double ll_coverage_of(const struct ll_trace *trace)
{
    double share;
    const char *value = ll_trace_fact(trace, "coverage");
    return value && ll_number_parse(value, "", &share) ? share : NAN;
}

void ll_covered_text(const struct ll_trace *trace, struct ll_str *out)
{
    struct ll_human share;
    if (!isnan(ll_coverage_of(trace)))
        ll_str_addf(out, "the trace covers %s of the recorded device time",
                    ll_format_percent(&share, ll_coverage_of(trace)));
}

void ll_warn_of_trace(struct ll_warnings *warnings, const struct ll_trace *trace, const char *whose)
{
    for (uint64_t i = 0; i < trace->fact_count; i++)
        if (strncmp(trace->facts[i].key, "warning.", strlen("warning.")) == 0)
            ll_warn(warnings, "%s%s", whose, trace->facts[i].value);
}

/* Time of a recorded program in which nobody saw what it did: no machine makes it shorter. */
static void warn_of_gaps(struct ll_warnings *warnings, const struct ll_report *report, const char *whose)
{
    const struct ll_result *result = report->result;
    const struct ll_trace *trace = result->prepared->trace;
    const char *cpu = ll_trace_fact(trace, "host.cpu");
    struct ll_human share;
    if (result->gap_share < 0.001 || !ll_trace_is_of_program(trace) || result->prepared->as_recorded)
        return;
    ll_warn(warnings,
            "%s%s of the step is CPU time outside of the recorded calls, copied from %s as it was recorded; "
            "--gaps "
            "drop leaves it out, --gaps FACTOR multiplies it",
            whose, ll_format_percent(&share, result->gap_share), cpu ? cpu : "the CPU");
}

/* Kernels of unknown meaning: how their recorded times became those of this machine. */
static void warn_of_kernels(struct ll_warnings *warnings, const struct ll_report *report, const char *whose)
{
    const struct ll_result *result = report->result;
    const struct ll_machine *there = result->prepared->recorded_on;
    struct ll_human share;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (kind->op_kind != LL_OP_KERNEL || kind->share < 0.001 || result->prepared->as_recorded)
            continue;
        ll_format_percent(&share, kind->share);
        if (there)
            ll_warn(
                warnings,
                "%s%s of the ops' time is of kernels of unknown meaning: their recorded times, times what "
                "bounds them by their names on %s (memory bandwidth, peak in bf16 or the link to the host) "
                "over "
                "the same on this machine; those under 4 us and exchanges as recorded",
                whose, share.text, there->stem);
        else
            ll_warn(
                warnings,
                "%s%s of the ops' time is of kernels of unknown meaning: their recorded times, whatever the "
                "machine, for nobody knows the device that they were recorded on",
                whose, share.text);
    }
}

void ll_warn_of_reports(struct ll_warnings *warnings, const struct ll_report *reports, size_t count)
{
    bool traces = count > 1 && strcmp(reports[0].trace_name, reports[count - 1].trace_name) != 0;
    for (size_t i = 0; i < count; i++) {
        struct ll_str whose = {0};
        if (traces)
            ll_str_addf(&whose, "%s: ", reports[i].trace_name);
        if (count > 1)
            ll_str_addf(&whose, "%s: ", ll_report_machine(reports, count, &reports[i]));
        warn_of_gaps(warnings, &reports[i], whose.text ? whose.text : "");
        warn_of_kernels(warnings, &reports[i], whose.text ? whose.text : "");
        warnings->failed |= whose.failed;
        ll_str_release(&whose);
    }
    for (size_t i = 0; i < count; i++) {
        struct ll_str whose = {0};
        if (traces)
            ll_str_addf(&whose, "%s: ", reports[i].trace_name);
        ll_warn_of_trace(warnings, reports[i].result->prepared->trace, whose.text ? whose.text : "");
        warnings->failed |= whose.failed;
        ll_str_release(&whose);
    }
}

void ll_warnings_text(const struct ll_warnings *warnings, struct ll_str *out)
{
    for (size_t i = 0; i < warnings->count; i++)
        ll_str_addf(out, LL_MARK_WARN "warning:" LL_MARK_END " %s\n", warnings->texts[i]);
    out->failed |= warnings->failed;
}

void ll_warnings_json(const struct ll_warnings *warnings, struct ll_json *json)
{
    ll_json_key(json, "warnings");
    ll_json_open_list(json);
    for (size_t i = 0; i < warnings->count; i++)
        ll_json_text(json, warnings->texts[i]);
    ll_json_close_list(json);
    json->out->failed |= warnings->failed;
}
