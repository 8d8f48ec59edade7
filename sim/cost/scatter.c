/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/scatter.h"

#include "sim/cost/task.h"
#include "sim/cost/traffic.h"
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

double ll_scatter_again(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                        struct ll_explain *why)
{
    if (work->kind != LL_WORK_GATHER || work->gather.table_bytes == 0 ||
        !ll_level_holds(&machine->levels[l], LL_OPERAND_A))
        return 0;
    double table = (double)work->gather.table_bytes;
    double picked = (double)work->gather.rows * (double)work->gather.row_bytes;
    for (uint64_t inside = 0; inside < l && picked > table; inside++) {
        const struct ll_level *memory = &machine->levels[inside];
        if (memory->scope != LL_SCOPE_DEVICE || !ll_level_holds(memory, LL_OPERAND_A) ||
            table > ll_level_room(memory))
            continue;
        ll_say(why, "%s has room for the table, so that of %.10g B of rows %.10g come out of %s",
               memory->name, picked, table, machine->levels[l].name);
        return picked - table;
    }
    return 0;
}

/* Rows that come out of a level. */
static struct scattered rows_out_of(const struct ll_machine *machine, const struct ll_work *work, uint64_t l)
{
    struct scattered s = rows_of(work);
    if (s.row_bytes > 0)
        s.rows -= ll_scatter_again(machine, work, l, NULL) / s.row_bytes;
    return s;
}

/* In whole bursts of a DRAM. */
static uint64_t access_bytes(const struct ll_level *level)
{
    const struct ll_dram *dram = level->dram ? ll_dram_find(level->dram) : NULL;
    uint64_t burst = dram ? ll_dram_burst_bytes(dram) : 1;
    return ll_ceil_div(ll_max(level->access_bytes, 1), burst) * burst;
}

double ll_scatter_waste(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                        double *written, struct ll_explain *why)
{
    const struct ll_level *level = &machine->levels[l];
    struct scattered s = rows_out_of(machine, work, l);
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

/* What is told of: accesses of so many bytes to a level, and what they ask of its memory. */
struct told {
    const char *name;
    const struct ll_dram *dram;
    uint64_t channels, moved; /* moved: in an access */
    double write_share;
    const struct ll_dram_estimate *e;
};

/* An access begins at multiples of its size, in a piece of a power of two of bytes thus at multiples of the
 * power of two in that. */
static uint64_t begins_at(uint64_t moved, uint64_t piece)
{
    return ll_min(moved & -moved, piece);
}

/* The banks and rows that an access meets. */
static void tell_meeting(const struct told *t, struct ll_explain *why)
{
    const struct ll_dram *d = t->dram;
    const struct ll_dram_estimate *e = t->e;
    uint32_t burst_bytes = ll_dram_burst_bytes(d);
    ll_say(why, "%s, bursts of a row: %" PRIu64 " / %u = %.10g", t->name, t->moved, burst_bytes, e->bursts);
    ll_say(why, "%s, channels that it meets: min(%" PRIu64 ", (%" PRIu64 " - %" PRIu64 ") / %d + 1) = %.10g",
           t->name, t->channels, t->moved, begins_at(t->moved, LL_DRAM_BLOCK_BYTES), LL_DRAM_BLOCK_BYTES,
           e->channels_met);
    ll_say(why,
           "%s, bank groups that it meets in each: min(%u, ((%" PRIu64 " - %" PRIu64
           ") / %d + 1) / %.10g) = %.10g",
           t->name, d->groups, t->moved, begins_at(t->moved, LL_DRAM_ATOM_BYTES), LL_DRAM_ATOM_BYTES,
           e->channels_met, e->groups_met);
    ll_say(why, "%s, activations of a row: max(%.10g * %.10g, %.10g * %u / %u) = %.10g", t->name,
           e->groups_met, e->channels_met, e->bursts, burst_bytes, d->row_bytes, e->activates);
}

/* How long a bank is busy with a row, and how many are. */
static void tell_banks(const struct told *t, struct ll_explain *why)
{
    const struct ll_dram_cycles *c = &t->dram->cycles;
    const struct ll_dram_estimate *e = t->e;
    uint32_t banks = t->dram->groups * t->dram->banks;
    if (t->write_share > 0)
        ll_say(why,
               "%s, from row to row in a bank, where a share is written: (1 - %.10g) * max(%u, %u + %u) + "
               "%.10g * max(%u, %u + %u + %u + %u) + %u = "
               "%.10g cycles",
               t->name, t->write_share, c->ras, c->rcd, c->rtp, t->write_share, c->ras, c->rcd, c->cwl,
               t->dram->burst_cycles, c->wr, c->rp, e->row_cycles);
    else
        ll_say(why, "%s, from row to row in a bank: max(%u, %u + %u) + %u = %.10g cycles", t->name, c->ras,
               c->rcd, c->rtp, c->rp, e->row_cycles);
    ll_say(why, "%s, rows that wait in a window of accesses: max(%d * %.10g / %.10g, %.10g) = %.10g", t->name,
           LL_DRAM_WINDOW, e->activates, e->bursts, e->groups_met, e->waiting);
    ll_say(why,
           "%s, banks of %u that these keep busy: %u + %.10g - 0.5 - sqrt((%u + %.10g - 0.5)^2 - 2 * %u * "
           "%.10g) = %.10g",
           t->name, banks, banks, e->waiting, banks, e->waiting, banks, e->waiting, e->busy_banks);
}

/* Commands, turns and refresh. */
static void tell_rest(const struct told *t, struct ll_explain *why)
{
    const struct ll_dram *d = t->dram;
    const struct ll_dram_cycles *c = &d->cycles;
    const struct ll_dram_estimate *e = t->e;
    if (d->wires > 1)
        ll_say(why,
               "%s, a row's commands, on wires for each kind: max(%.10g, 2 * %.10g) / %" PRIu64
               " = %.10g cycles",
               t->name, e->bursts, e->activates, t->channels, e->command_cycles);
    else
        ll_say(why, "%s, a row's commands: (%.10g + 2 * %.10g) / %" PRIu64 " = %.10g cycles", t->name,
               e->bursts, e->activates, t->channels, e->command_cycles);
    if (e->turn_cycles > 0)
        ll_say(why,
               "%s, turns between reading and writing: %.10g * %.10g * (%u + %d + max(%u, %u - (%u - 1) * "
               "%u) + 2 * (%u + %u) * "
               "min(1, %.10g / %.10g)) / %d / %" PRIu64 " = %.10g cycles",
               t->name, e->bursts, t->write_share, c->cl, LL_DRAM_TURN_CYCLES, c->wtr_s, c->wtr_l, d->groups,
               c->ccd_s, c->rp, c->rcd, e->activates, e->bursts, LL_DRAM_WINDOW, t->channels, e->turn_cycles);
    ll_say(why, "%s, refresh takes of all time: (%u + %u + %u + %u - %u) / %u = %.10g", t->name, c->rfc,
           c->rtp, c->rp, c->rcd, d->burst_cycles, c->refi, e->refresh_share);
}

static void tell(const struct told *t, double stream, struct ll_explain *why)
{
    const struct ll_dram_cycles *c = &t->dram->cycles;
    const struct ll_dram_estimate *e = t->e;
    ll_say(why, "%s is %s, whose timings are cycles of its commands", t->name, t->dram->name);
    tell_meeting(t, why);
    ll_say(why, "%s, a row's data: %.10g * %u / %" PRIu64 " = %.10g cycles", t->name, e->bursts,
           t->dram->burst_cycles, t->channels, e->data_cycles);
    ll_say(why, "%s, a row's activations, so far apart: %.10g * max(%u, %u / 4) / %" PRIu64 " = %.10g cycles",
           t->name, e->activates, c->rrd_s, c->faw, t->channels, e->activate_cycles);
    tell_banks(t, why);
    ll_say(why, "%s, a row's banks, so many at a time: %.10g * %.10g / %.10g / %" PRIu64 " = %.10g cycles",
           t->name, e->activates, e->row_cycles, e->busy_banks, t->channels, e->bank_cycles);
    tell_rest(t, why);
    ll_say(why,
           "%s, efficiency of scattered rows, with commands, turns and refresh: "
           "%.10g / (max(max(%.10g, %.10g), max(%.10g, %.10g)) + %.10g) * (1 - %.10g) = %.10g",
           t->name, e->data_cycles, e->data_cycles, e->activate_cycles, e->bank_cycles, e->command_cycles,
           e->turn_cycles, e->refresh_share, e->efficiency);
    ll_say(why, "%s, a stream's efficiency, as of all %s, over theirs: %.10g / %.10g = %.10g", t->name,
           t->dram->name, stream, e->efficiency, stream / e->efficiency);
}

double ll_scatter_slowdown(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                           struct ll_explain *why)
{
    const struct ll_level *level = &machine->levels[l];
    struct scattered s = rows_out_of(machine, work, l);
    if (s.rows * s.row_bytes == 0 || !level->dram)
        return 1;
    const struct ll_dram *dram = ll_dram_find(level->dram);
    uint64_t access = access_bytes(level), moved = ll_ceil_div((uint64_t)s.row_bytes, access) * access;
    struct ll_dram_pattern pattern = {.bytes = moved, .write_share = s.write_share};
    struct ll_dram_estimate e;
    ll_dram_estimate(dram, level->channels, &pattern, &e);
    double stream = ll_dram_stream_efficiency(dram), scattered = s.rows * (double)moved;
    double others = ll_work_bytes(work) - rows_of(work).rows * s.row_bytes, all = others + scattered;
    double slowdown = 1 + scattered / all * fmax(0, stream / e.efficiency - 1);
    if (why)
        tell(&(struct told){level->name, dram, level->channels, moved, s.write_share, &e}, stream, why);
    ll_say(why, "%s, slower than a stream by: 1 + %.10g / %.10g * max(0, %.10g - 1) = %.10g", level->name,
           scattered, all, stream / e.efficiency, slowdown);
    return slowdown;
}
