/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines of results: a panel for each trace and machine. Ops of the same kind and shape are one point; an
 * op that runs on in the kernel of the one before it belongs to that one's point. Bytes are the algorithmic
 * ones, so that a point above the line of the outermost memory lives on what lies further in. */
#include "sim/cost/cost_parts.h"
#include "sim/report/figure/figure.h"
#include "sim/report/table.h"
#include "sim/report/sim_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        HEIGHT};
    bool done = true;
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < count && done; i++)
        done = draw(&reports[i], ll_report_machine(reports, count, &reports[i]), &arena, &svg,
                    ll_page_panel(&page, i));
    ll_svg_close(&svg);
    ll_arena_release(&arena);
    return done && !out->failed;
}
