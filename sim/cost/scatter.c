/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/scatter.h"

#include "sim/cost/task.h"
#include "sim/machine/dram.h"

#include <inttypes.h>
#include <math.h>

struct scattered {
    double rows, row_bytes; /* rows that are read or written, each as often as that happens */
    double write_share;
};

/* A gather reads its rows; what changes rows of a table reads and writes them. */
static struct scattered rows_of(const struct ll_work *work)
{
    if (work->kind == LL_WORK_GATHER)
        return (struct scattered){(double)work->gather.rows, (double)work->gather.row_bytes, 0};
    if (work->kind == LL_WORK_VECTOR)
        return (struct scattered){2 * (double)work->vector.picked, (double)work->vector.picked_bytes, 0.5};
    return (struct scattered){0};
}

/* In whole bursts of a DRAM. */
static uint64_t access_bytes(const struct ll_level *level)
{
    const struct ll_dram *dram = level->dram ? ll_dram_find(level->dram) : NULL;
    uint64_t burst = dram ? ll_dram_burst_bytes(dram) : 1;
    return ll_ceil_div(ll_max(level->access_bytes, 1), burst) * burst;
}

double ll_scatter_waste(const struct ll_level *level, const struct ll_work *work, double *written,
                        struct ll_explain *why)
{
    struct scattered s = rows_of(work);
    double access = (double)access_bytes(level);
    *written = 0;
    if (s.rows * s.row_bytes == 0 || access == 1)
        return 0;
    double waste = s.rows * (ceil(s.row_bytes / access) * access - s.row_bytes);
    *written = waste * s.write_share;
    if (waste > 0)
        ll_say(
            why,
            "%s, rows in whole accesses move more: %.10g * (ceil(%.10g / %.10g) * %.10g - %.10g) = %.10g B",
            level->name, s.rows, s.row_bytes, access, access, s.row_bytes, waste);
    return waste;
}

static void tell(const struct ll_level *level, const struct ll_dram *dram, const struct ll_dram_estimate *e,
                 double stream, struct ll_explain *why)
{
    double channels = (double)level->channels, burst = dram->burst_cycles;
    ll_say(why, "%s, a row's data: %.10g * %.10g / %.10g = %.10g cycles", level->name, e->bursts, burst,
           channels, e->data_cycles);
    ll_say(why, "%s, a row's activations, so far apart: %.10g * %.10g / %.10g = %.10g cycles", level->name,
           e->activates, e->activate_apart, channels, e->activate_cycles);
    ll_say(why, "%s, a row's banks, so many at a time: %.10g * %.10g / %.10g / %.10g = %.10g cycles",
           level->name, e->activates, e->row_cycles, e->busy_banks, channels, e->bank_cycles);
    ll_say(why,
           "%s, efficiency of scattered rows, with commands, turns and refresh: "
           "%.10g / (max(max(%.10g, %.10g), max(%.10g, %.10g)) + %.10g) * (1 - %.10g) = %.10g",
           level->name, e->data_cycles, e->data_cycles, e->activate_cycles, e->bank_cycles, e->command_cycles,
           e->turn_cycles, e->refresh_share, e->efficiency);
    ll_say(why, "%s, a stream's efficiency over theirs: %.10g / %.10g = %.10g", level->name, stream,
           e->efficiency, stream / e->efficiency);
}

double ll_scatter_slowdown(const struct ll_level *level, const struct ll_work *work, struct ll_explain *why)
{
    struct scattered s = rows_of(work);
    if (s.rows * s.row_bytes == 0 || !level->dram)
        return 1;
    const struct ll_dram *dram = ll_dram_find(level->dram);
    uint64_t access = access_bytes(level), moved = ll_ceil_div((uint64_t)s.row_bytes, access) * access;
    struct ll_dram_pattern pattern = {.bytes = moved, .write_share = s.write_share};
    struct ll_dram_estimate e;
    ll_dram_estimate(dram, level->channels, &pattern, &e);
    double stream = ll_dram_stream_efficiency(dram), scattered = s.rows * (double)moved;
    double all = ll_work_bytes(work) + scattered - s.rows * s.row_bytes;
    double slowdown = 1 + scattered / all * fmax(0, stream / e.efficiency - 1);
    tell(level, dram, &e, stream, why);
    ll_say(why, "%s, slower than a stream by: 1 + %.10g / %.10g * max(0, %.10g - 1) = %.10g", level->name,
           scattered, all, stream / e.efficiency, slowdown);
    return slowdown;
}
