/* SPDX-License-Identifier: Apache-2.0 */
/* A step on cores for people: a table of stacks, and a drawing of what each core and each memory does over
 * time. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/fusion_report.h"
#include "sim/report/table.h"

/* Columns of the drawing; cores and memories that are drawn. */
enum { MOST_COLUMNS = 100, MOST_ROWS = 24 };

/* From nothing to all of a column. */
static const char shades[] = " .:-=+*#%@";

static char shade_of(double share)
{
    int last = (int)sizeof shades - 2;
    int at = share <= 0 ? 0 : 1 + (int)(share * last - 1e-9);
    return shades[at > last ? last : at];
}

/* Adds to each column how much of a span from one time to another lies in it, times a weight. */
static void spread_over(double *columns, unsigned count, double total_s, double from_s, double until_s,
                        double weight)
{
    double wide_s = total_s / count;
    unsigned first = (unsigned)fmin(count - 1, fmax(0, floor(from_s / wide_s)));
    unsigned last = (unsigned)fmin(count - 1, fmax(0, floor(until_s / wide_s)));
    for (unsigned c = first; c <= last; c++) {
        double lo = fmax(from_s, c * wide_s), hi = fmin(until_s, (c + 1) * wide_s);
        if (hi > lo)
            columns[c] += weight * (hi - lo) / wide_s;
    }
}

static void add_row(const char *name, const char *what, const double *columns, unsigned count, double peak,
                    struct ll_str *out)
{
    struct ll_human share;
    ll_str_addf(out, "  %-12.12s %-9.9s |", name, what);
    for (unsigned c = 0; c < count; c++) {
        char shade = shade_of(columns[c]);
        ll_str_add_bytes(out, &shade, 1);
    }
    ll_str_addf(out, "| %6s\n", ll_format_percent(&share, peak));
}

static void draw_cores(const struct ll_fused_step *fusion, unsigned count, struct ll_str *out)
{
    double columns[MOST_COLUMNS];
    for (uint32_t core = 0; core < fusion->core_count && core < MOST_ROWS; core++) {
        memset(columns, 0, sizeof columns);
        for (uint64_t t = 0; t < fusion->task_count; t++)
            if (fusion->tasks[t].core == core)
                spread_over(columns, count, fusion->time_s, fusion->tasks[t].start_s, fusion->tasks[t].end_s,
                            1);
        add_row(fusion->core_names[core], "computes", columns, count,
                fusion->core_busy_s[core] / fusion->time_s, out);
    }
}

static void draw_pools(const struct ll_fused_step *fusion, unsigned count, struct ll_str *out)
{
    double columns[MOST_COLUMNS];
    for (uint64_t pool = 0; pool < fusion->pool_count && pool < MOST_ROWS; pool++) {
        const struct ll_fusion_pool *it = &fusion->pools[pool];
        memset(columns, 0, sizeof columns);
        for (uint64_t c = 0; c < fusion->copy_count; c++) {
            const struct ll_fusion_copy *copy = &fusion->copies[c];
            if (copy->pool == pool)
                spread_over(columns, count, fusion->time_s, copy->from_s, copy->until_s,
                            copy->bytes / it->capacity_bytes);
        }
        add_row(fusion->core_names[it->core], it->name, columns, count, it->peak_bytes / it->capacity_bytes,
                out);
    }
}

static void draw_links(const struct ll_fused_step *fusion, unsigned count, struct ll_str *out)
{
    double columns[MOST_COLUMNS] = {0};
    double Bps = fusion->links[0].Bps, bytes = 0;
    for (uint64_t t = 0; t < fusion->transfer_count; t++) {
        const struct ll_fusion_transfer *it = &fusion->transfers[t];
        if (it->from != fusion->core_count && it->there_count > 0)
            continue;
        for (uint32_t r = 0; r < it->rate_count; r++) {
            const struct ll_fusion_rate *rate = &fusion->rates[it->first_rate + r];
            spread_over(columns, count, fusion->time_s, rate->from_s, rate->until_s, rate->Bps / Bps);
            bytes += rate->Bps * (rate->until_s - rate->from_s);
        }
    }
    add_row(fusion->links[0].name, "moves", columns, count, bytes / Bps / fusion->time_s, out);
}

static void table_of_stacks(const struct ll_fused_step *fusion, unsigned width, uint64_t top,
                            struct ll_str *out)
{
    struct ll_table *table = ll_table_new(
        "stack|>ops|first op|>time|>of bound|cores|>?row tiles|>?column blocks|>?tiles|>?outermost memory");
    for (uint64_t s = 0; s < fusion->stack_count; s++) {
        const struct ll_fusion_stack *stack = &fusion->stacks[s];
        struct ll_human time, share, bytes;
        ll_table_cell(table, "%" PRIu64, s);
        ll_table_cell(table, "%" PRIu32, stack->op_count);
        ll_table_cell(table, "%" PRIu32, stack->first_op);
        ll_table_cell(table, "%s", ll_format_si(&time, stack->time_s, "s"));
        ll_table_cell(table, "%s",
                      ll_format_percent(&share, stack->time_s > 0 ? stack->bound_s / stack->time_s : 1));
        if (stack->pipeline)
            ll_table_cell(table, "one after another");
        else
            ll_table_cell(table, "%" PRIu32 " x %" PRIu32, stack->bands, stack->columns);
        ll_table_cell(table, "%" PRIu32, stack->steps);
        ll_table_cell(table, "%" PRIu32, stack->column_blocks ? stack->column_blocks : 1);
        ll_table_cell(table, "%" PRIu32, stack->tiles);
        ll_table_cell(table, "%s", ll_format_si(&bytes, stack->memory_bytes, "B"));
        ll_table_end_row(table);
    }
    ll_table_top(table, top ? top : 12);
    ll_table_print(table, width, out);
    ll_table_free(table);
}

void ll_fusion_text(const struct ll_fused_step *fusion, unsigned width, uint64_t top, struct ll_str *out)
{
    struct ll_human time, gain, energy;
    if (!fusion)
        return;
    unsigned count = width > 38 + 20 ? width - 38 : 20;
    count = count > MOST_COLUMNS ? MOST_COLUMNS : count;
    ll_str_addf(out, "\n" LL_MARK_KEY "cores" LL_MARK_END "  %" PRIu64 " stack%s in %s", fusion->stack_count,
                ll_plural(fusion->stack_count), ll_format_si(&time, fusion->time_s, "s"));
    if (fusion->time_s > 0)
        ll_str_addf(out, ", %s of layer by layer",
                    ll_format_times(&gain, fusion->layer_by_layer_s / fusion->time_s));
    if (isfinite(fusion->energy_j))
        ll_str_addf(out, ", %s", ll_format_si(&energy, fusion->energy_j, "J"));
    ll_str_addf(out, "\n  %" PRIu64 " plan%s tried, a part of all: no schedule takes less than %s\n\n",
                fusion->plans_tried, ll_plural(fusion->plans_tried),
                ll_format_si(&time, fusion->bound_s, "s"));
    table_of_stacks(fusion, width, top, out);
    if (!(fusion->time_s > 0))
        return;
    ll_str_addf(out, "\n  %-12s %-9s  %-*s   share\n", "over time", "", (int)count,
                "of a column: \" .:-=+*#%@\"");
    draw_cores(fusion, count, out);
    draw_links(fusion, count, out);
    draw_pools(fusion, count, out);
    if (fusion->core_count > MOST_ROWS || fusion->pool_count > MOST_ROWS)
        ll_str_addf(out, "  of %" PRIu32 " cores and %" PRIu64 " memories the first %d each\n",
                    fusion->core_count, fusion->pool_count, MOST_ROWS);
}
