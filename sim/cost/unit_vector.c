/* SPDX-License-Identifier: Apache-2.0 */
/* Vector units: lanes that do one operation per element and cycle, for element-wise ops, reductions and
 * gathers.
 *
 * The later sections are row reductions (softmax, norms), which keep their rows in registers or read them
 * again, and gather access, which fetches whole lines or bursts for parts of them. */
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"
#include "sim/machine/dram.h"

/* Whether the kernel keeps the rows of this work in registers. */
static bool in_registers(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR && work->vector.row > 0 &&
           work->vector.row <= kernel->max_register_row;
}

double ll_rows_compute(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return in_registers(kernel, work) ? 1 : kernel->compute_efficiency;
}

double ll_rows_begin_s(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units)
{
    if (ll_is_gemm(work) || in_registers(kernel, work))
        return 0;
    return (double)work->lines * kernel->row_overhead_s / (double)units;
}

/* Operands of GEMMs move as their blocking says. */
static double passes_of(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return ll_is_gemm(work) || in_registers(kernel, work) ? 1 : kernel->passes;
}

/* Whether the work is rows that the kernel cannot keep in registers. */
static bool has_long_rows(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR && work->vector.row > kernel->max_register_row &&
           work->vector.elements > 0;
}

double ll_rows_bytes(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return ll_work_bytes(work) + (passes_of(kernel, work) - 1) * (double)work->a_bytes;
}

static double rows_of(const struct ll_work *work)
{
    return fmax(1, (double)work->vector.elements / (double)work->vector.row);
}

/* Long rows dealt whole to units, in waves. */
struct row_waves {
    double rows, at_once, waves; /* at_once: of all units */
    double elements, lanes;
    double imbalance; /* the time over that of an even share, at least 1 */
};

/* False where the kernel does not say how many rows a unit works on, or the work is none of its long rows. */
static bool find_row_waves(const struct ll_kernel *kernel, const struct ll_work *work,
                           const struct ll_unit *unit, struct row_waves *w)
{
    if (kernel->rows_in_flight == 0 || unit->model != LL_UNIT_VECTOR || !has_long_rows(kernel, work))
        return false;
    w->lanes = (double)unit->count * (double)unit->vector.lanes;
    w->elements = (double)work->vector.elements;
    w->rows = rows_of(work);
    w->at_once = (double)unit->count * (double)kernel->rows_in_flight;
    w->waves = ceil(w->rows / w->at_once);
    double evenly = ceil(w->elements / w->lanes) * w->lanes;
    w->imbalance = fmax(1, w->waves * w->at_once * (double)work->vector.row / evenly);
    return true;
}

double ll_rows_imbalance(const struct ll_kernel *kernel, const struct ll_work *work,
                         const struct ll_unit *unit)
{
    struct row_waves w;
    return find_row_waves(kernel, work, unit, &w) ? w.imbalance : 1;
}

/* A cache keeps three halves of what it would if rows in progress, results and rows to come shared it evenly:
 * nothing is lost while three times the rows in progress fit. */
static const double retention = 1.5;

/* What of rows in progress is kept in front of the outermost memory until it is read again. */
struct kept_rows {
    const struct ll_level *level; /* that keeps them; NULL: none does */
    double rows, at_once;         /* all of them; how many are in progress in all units */
    double progress, room;        /* in bytes */
    double share;                 /* of what is read again */
};

static struct kept_rows find_kept(const struct ll_machine *machine, const struct ll_kernel *kernel,
                                  const struct ll_work *work, uint64_t units)
{
    uint64_t outermost = machine->level_count - 1;
    if (outermost == 0 || !has_long_rows(kernel, work))
        return (struct kept_rows){0};
    const struct ll_level *level = &machine->levels[outermost - 1];
    double instances = (double)ll_machine_instances(machine, outermost - 1);
    if (!ll_level_holds(level, LL_OPERAND_A))
        return (struct kept_rows){0};
    struct kept_rows kept = {.level = level,
                             .rows = rows_of(work),
                             .at_once = (double)units * (double)ll_max(1, kernel->rows_in_flight)};
    kept.progress = fmin(kept.rows, kept.at_once) * (double)work->a_bytes / kept.rows;
    if (level->cache_given) {
        kept.room = (double)level->size_bytes * instances;
        kept.share = fmin(1, fmax(0, retention * (1 - kept.progress / kept.room)));
    } else {
        kept.room = ll_level_room(level) * instances;
        kept.share = (double)work->a_bytes <= kept.room;
    }
    return kept;
}

static void move(const struct ll_level *level, uint64_t l, double bytes, double written, struct ll_cost *cost)
{
    struct ll_port_cost toll = ll_level_port_cost(level);
    cost->level_bytes[l] = bytes;
    cost->level_written[l] = written;
    cost->level_price[l] = ll_port_cost_price(&toll, bytes, written);
}

void ll_rows_reread(const struct ll_machine *machine, const struct ll_kernel *kernel,
                    const struct ll_work *work, uint64_t units, struct ll_cost *cost)
{
    double passes = passes_of(kernel, work);
    if (passes <= 1)
        return;
    double kept = find_kept(machine, kernel, work, units).share;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double lost = l + 1 == machine->level_count ? 1 - kept : 1, written = cost->level_written[l];
        double read = cost->level_bytes[l] - written, again = (passes - 1) * lost * read;
        move(&machine->levels[l], l, cost->level_bytes[l] + again, written, cost);
    }
}

struct scattered {
    double rows, row_bytes; /* rows that are read or written, each as often as that happens */
    double write_share;
};

/* A gather reads its rows; what changes rows of a table reads and writes them. */
static struct scattered gathered_rows(const struct ll_work *work)
{
    if (work->kind == LL_WORK_GATHER)
        return (struct scattered){(double)work->gather.rows, (double)work->gather.row_bytes, 0};
    if (work->kind == LL_WORK_VECTOR)
        return (struct scattered){2 * (double)work->vector.picked, (double)work->vector.picked_bytes, 0.5};
    return (struct scattered){0};
}

static double gathered_bytes(const struct ll_work *work)
{
    return (double)work->gather.rows * (double)work->gather.row_bytes;
}

/* A shared memory inside of level l that has room for the table from which more is picked than it has, so
 * that it passes once; NULL: there is none. */
static const struct ll_level *keeps_table(const struct ll_machine *machine, const struct ll_work *work,
                                          uint64_t l)
{
    if (work->kind != LL_WORK_GATHER || work->gather.table_bytes == 0 ||
        !ll_level_holds(&machine->levels[l], LL_OPERAND_A))
        return NULL;
    double table = (double)work->gather.table_bytes;
    for (uint64_t inside = 0; inside < l && gathered_bytes(work) > table; inside++) {
        const struct ll_level *memory = &machine->levels[inside];
        if (memory->scope == LL_SCOPE_DEVICE && ll_level_holds(memory, LL_OPERAND_A) &&
            table <= ll_level_room(memory))
            return memory;
    }
    return NULL;
}

double ll_gather_reused_bytes(const struct ll_machine *machine, const struct ll_work *work, uint64_t l)
{
    return keeps_table(machine, work, l) ? gathered_bytes(work) - (double)work->gather.table_bytes : 0;
}

/* Rows that come out of a level. */
static struct scattered rows_out_of(const struct ll_machine *machine, const struct ll_work *work, uint64_t l)
{
    struct scattered s = gathered_rows(work);
    if (s.row_bytes > 0)
        s.rows -= ll_gather_reused_bytes(machine, work, l) / s.row_bytes;
    return s;
}

/* In whole bursts of a DRAM. */
static uint64_t access_bytes(const struct ll_level *level)
{
    const struct ll_dram *dram = level->dram ? ll_dram_find(level->dram) : NULL;
    uint64_t burst = dram ? ll_dram_burst_bytes(dram) : 1;
    return ll_ceil_div(ll_max(level->access_bytes, 1), burst) * burst;
}

double ll_gather_over_fetch(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                            double *written)
{
    struct scattered s = rows_out_of(machine, work, l);
    double access = (double)access_bytes(&machine->levels[l]);
    *written = 0;
    if (s.rows * s.row_bytes == 0 || access == 1)
        return 0;
    double waste = s.rows * (ceil(s.row_bytes / access) * access - s.row_bytes);
    *written = waste * s.write_share;
    return waste;
}

/* Rows in a memory of DRAM, and how many times as long as a stream all that is moved takes. */
struct row_accesses {
    const struct ll_dram *dram;
    uint64_t moved; /* bytes of an access */
    double write_share;
    struct ll_dram_estimate e;
    double stream;         /* efficiency of a stream */
    double scattered, all; /* bytes of rows, as whole accesses; all bytes that the work moves */
    double slowdown;
};

/* False for other work and other memories. */
static bool find_accesses(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                          struct row_accesses *a)
{
    const struct ll_level *level = &machine->levels[l];
    if (!level->dram)
        return false;
    struct scattered s = rows_out_of(machine, work, l);
    if (s.rows * s.row_bytes == 0)
        return false;
    uint64_t access = access_bytes(level), moved = ll_ceil_div((uint64_t)s.row_bytes, access) * access;
    struct ll_dram_pattern pattern = {.bytes = moved, .write_share = s.write_share};
    double others = ll_work_bytes(work) - gathered_rows(work).rows * s.row_bytes;
    *a = (struct row_accesses){.dram = ll_dram_find(level->dram),
                               .moved = moved,
                               .write_share = s.write_share,
                               .scattered = s.rows * (double)moved,
                               .all = others + s.rows * (double)moved};
    ll_dram_estimate(a->dram, level->channels, &pattern, &a->e);
    a->stream = ll_dram_stream_efficiency(a->dram);
    a->slowdown = 1 + a->scattered / a->all * fmax(0, a->stream / a->e.efficiency - 1);
    return true;
}

double ll_gather_slowdown(const struct ll_machine *machine, const struct ll_work *work, uint64_t l)
{
    struct row_accesses a;
    return find_accesses(machine, work, l, &a) ? a.slowdown : 1;
}

/* Vector lanes: the same operation on many elements at once. The last, partial vector takes as long as a
 * full one:
 *
 *       cycles = ceil(elements / (lanes * count)) * (operations per element) / (operations per cycle)
 *
 * A reduction to fewer results than there are lanes ends with a tree: lanes that worked for the same result
 * add up in pairs, ceil(log2(lanes per result)) steps. More lanes shorten the first part and deepen the
 * tree, so for a short reduction it can pay to leave lanes idle; the best power of two of them a result is
 * taken when it beats all lanes, and so more lanes never make it slower.
 *
 * Bytes that only move (MOVE, GATHER) occupy no lane. A GEMM that no other unit takes is done one
 * multiply-accumulate a lane: a row of outputs lies on the lanes, each scalar of A is broadcast to them and
 * each row of B is read again for each row of A, on as many units as pays. */

/* Steps in which lanes that share a result add up in pairs. */
static double tree_steps(double results, double lanes)
{
    double sharing = lanes / results;
    return sharing > 1 ? ceil(log2(sharing)) : 0;
}

/* Steps of the whole machine for `elements` that become `results`. */
static double steps_with(double elements, double results, double lanes)
{
    return ceil(elements / lanes) + tree_steps(results, lanes);
}

/* How many of the lanes are best. */
static double lanes_to_use(double elements, double results, double lanes)
{
    double best = lanes;
    for (double fewer = results; fewer < lanes && fewer <= elements; fewer *= 2)
        if (steps_with(elements, results, fewer) < steps_with(elements, results, best))
            best = fewer;
    return best;
}

/* What lanes do: so many items one by one, or a reduction of them to fewer results. */
struct lane_work {
    const char *what;     /* of the items, for people */
    double items, flops;  /* flops: of all items */
    double results, used; /* of a reduction; lanes that work on it */
    double steps;         /* of all units together, item by item on each lane */
};

static struct lane_work reduction_of(const struct ll_unit *unit, const struct ll_work *work)
{
    struct lane_work l = {.what = "elements",
                          .items = (double)work->reduce.in_elements,
                          .flops = (double)work->flops,
                          .results = fmax(1, (double)work->reduce.out_elements)};
    l.used = lanes_to_use(l.items, l.results, (double)unit->vector.lanes * (double)unit->count);
    l.steps = l.items > 0 ? steps_with(l.items, l.results, l.used) : 0;
    return l;
}

/* Of an op without GEMMs, or of a GEMM, on so many units. */
static struct lane_work lane_work_of(const struct ll_unit *unit, const struct ll_task *task, uint64_t units)
{
    const struct ll_work *work = task->work;
    if (!task->is_gemm && work->kind == LL_WORK_REDUCE)
        return reduction_of(unit, work);
    double macs = task->is_gemm ? ll_gemm_macs(&task->problem.dims) : 0;
    struct lane_work l = task->is_gemm
                             ? (struct lane_work){.what = "products", .items = macs, .flops = 2 * macs}
                             : (struct lane_work){.what = "elements",
                                                  .items = (double)work->vector.elements,
                                                  .flops = (double)work->flops};
    l.steps = ceil(l.items / ((double)unit->vector.lanes * (double)units));
    return l;
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    return task->is_gemm ? ll_counts_at_work(unit, task) : 1;
}

/* What a GEMM asks of the innermost level, on so many units. */
static void ask_product(const struct ll_unit *unit, const struct ll_task *task, uint64_t units,
                        struct ll_kernel_config *way)
{
    struct ll_split split = ll_split_evenly(&task->problem.dims, units);
    double passes[LL_OPERAND_COUNT] = {(double)ll_ceil_div(split.share.n, unit->vector.lanes),
                                       (double)split.share.m, 1};
    way->share = split.share;
    way->shares = (double)split.used;
    way->macs = ll_gemm_macs(&task->problem.dims);
    way->unit_bytes = ll_unit_bytes(task, &split.share, way->shares, passes, way->asked_bytes);
}

static bool moves_only(const struct ll_task *task)
{
    return !task->is_gemm && task->work->kind != LL_WORK_REDUCE && task->work->kind != LL_WORK_VECTOR;
}

static bool vector_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                       struct ll_kernel_config *way)
{
    uint64_t units = task->is_gemm ? ll_count_at_work(unit, task, index) : unit->count;
    *way = (struct ll_kernel_config){.units_used = unit->count, .shares = 1};
    if (moves_only(task))
        return true;
    bool reduces = !task->is_gemm && task->work->kind == LL_WORK_REDUCE;
    const struct lane_work l = lane_work_of(unit, task, units);
    double each = l.items > 0 ? l.flops / l.items : 0, rate = unit->vector.flops[task->dtype];
    way->cycles = l.steps * each / rate;
    way->first.cycles = reduces ? each / rate : fmin(way->cycles, each / rate);
    way->units_used = l.items < (double)units ? (uint64_t)fmax(1, l.items) : units;
    way->at_work = (double)way->units_used;
    if (task->is_gemm)
        ask_product(unit, task, units, way);
    return true;
}

/* --- explain --- */

/* Accesses of so many bytes to a level, and what they ask of its memory. */
struct dram_access {
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
static void explain_meeting(const struct dram_access *t, struct ll_explain *why)
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
static void explain_banks(const struct dram_access *t, struct ll_explain *why)
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
static void explain_rest(const struct dram_access *t, struct ll_explain *why)
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

static void explain_dram(const struct dram_access *t, double stream, struct ll_explain *why)
{
    const struct ll_dram_cycles *c = &t->dram->cycles;
    const struct ll_dram_estimate *e = t->e;
    ll_say(why, "%s is %s, whose timings are cycles of its commands", t->name, t->dram->name);
    explain_meeting(t, why);
    ll_say(why, "%s, a row's data: %.10g * %u / %" PRIu64 " = %.10g cycles", t->name, e->bursts,
           t->dram->burst_cycles, t->channels, e->data_cycles);
    ll_say(why, "%s, a row's activations, so far apart: %.10g * max(%u, %u / 4) / %" PRIu64 " = %.10g cycles",
           t->name, e->activates, c->rrd_s, c->faw, t->channels, e->activate_cycles);
    explain_banks(t, why);
    ll_say(why, "%s, a row's banks, so many at a time: %.10g * %.10g / %.10g / %" PRIu64 " = %.10g cycles",
           t->name, e->activates, e->row_cycles, e->busy_banks, t->channels, e->bank_cycles);
    explain_rest(t, why);
    ll_say(why,
           "%s, efficiency of scattered rows, with commands, turns and refresh: "
           "%.10g / (max(max(%.10g, %.10g), max(%.10g, %.10g)) + %.10g) * (1 - %.10g) = %.10g",
           t->name, e->data_cycles, e->data_cycles, e->activate_cycles, e->bank_cycles, e->command_cycles,
           e->turn_cycles, e->refresh_share, e->efficiency);
    ll_say(why, "%s, a stream's efficiency, as of all %s, over theirs: %.10g / %.10g = %.10g", t->name,
           t->dram->name, stream, e->efficiency, stream / e->efficiency);
}

void ll_gather_explain(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                       struct ll_explain *why)
{
    const struct ll_level *level = &machine->levels[l];
    struct row_accesses a;
    if (!find_accesses(machine, work, l, &a))
        return;
    explain_dram(&(struct dram_access){level->name, a.dram, level->channels, a.moved, a.write_share, &a.e},
                 a.stream, why);
    ll_say(why, "%s, slower than a stream by: 1 + %.10g / %.10g * max(0, %.10g - 1) = %.10g", level->name,
           a.scattered, a.all, a.stream / a.e.efficiency, a.slowdown);
}

void ll_gather_bytes_explain(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                             struct ll_explain *why)
{
    const struct ll_level *level = &machine->levels[l];
    struct scattered s = rows_out_of(machine, work, l);
    double access = (double)access_bytes(level), written,
           waste = ll_gather_over_fetch(machine, work, l, &written);
    if (waste > 0)
        ll_say(
            why,
            "%s, rows in whole accesses move more: %.10g * (ceil(%.10g / %.10g) * %.10g - %.10g) = %.10g B",
            level->name, s.rows, s.row_bytes, access, access, s.row_bytes, waste);
}

void ll_gather_table_explain(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                             struct ll_explain *why)
{
    const struct ll_level *keeps = keeps_table(machine, work, l);
    if (keeps)
        ll_say(why, "%s has room for the table, so that of %.10g B of rows %.10g come out of %s", keeps->name,
               gathered_bytes(work), (double)work->gather.table_bytes, machine->levels[l].name);
}

void ll_rows_bytes_explain(const struct ll_kernel *kernel, const struct ll_work *work, struct ll_explain *why)
{
    double once = ll_work_bytes(work), bytes = ll_rows_bytes(kernel, work);
    if (bytes > once)
        ll_say(why, "through a unit, by passes of the kernel: %.10g + (%.10g - 1) * %" PRIu64 " = %.10g B",
               once, passes_of(kernel, work), work->a_bytes, bytes);
}

void ll_rows_imbalance_explain(const struct ll_kernel *kernel, const struct ll_work *work,
                               const struct ll_unit *unit, struct ll_explain *why)
{
    struct row_waves w;
    if (!find_row_waves(kernel, work, unit, &w))
        return;
    ll_say(why, "waves of rows: ceil(%.10g / %.10g) = %.10g", w.rows, w.at_once, w.waves);
    ll_say(why,
           "rows are dealt whole, waves over an even share: "
           "max(1, %.10g * %.10g * %" PRIu64 " / (ceil(%.10g / %.10g) * %.10g)) = %.10g",
           w.waves, w.at_once, work->vector.row, w.elements, w.lanes, w.lanes, w.imbalance);
}

void ll_rows_reread_explain(const struct ll_machine *machine, const struct ll_kernel *kernel,
                            const struct ll_work *work, uint64_t units, const struct ll_traffic *once,
                            uint64_t l, struct ll_explain *why)
{
    const struct ll_level *level = &machine->levels[l];
    const struct kept_rows kept = find_kept(machine, kernel, work, units);
    bool outermost = l + 1 == machine->level_count;
    double passes = passes_of(kernel, work), lost = outermost ? 1 - kept.share : 1;
    double written = once->written[l], read = once->bytes[l] - written, again = (passes - 1) * lost * read;
    if (passes <= 1)
        return;
    if (outermost && kept.level && kept.level->cache_given) {
        ll_say(why, "rows in progress: min(%.10g, %.10g) * %" PRIu64 " / %.10g = %.10g B", kept.rows,
               kept.at_once, work->a_bytes, kept.rows, kept.progress);
        ll_say(why, "kept in %s until it is read again: min(1, max(0, %.10g * (1 - %.10g / %.10g))) = %.10g",
               kept.level->name, retention, kept.progress, kept.room, kept.share);
    } else if (outermost && kept.level) {
        ll_say(why, "rows, all of which software keeps in %s where they fit: %" PRIu64 " B of %.10g B, %s",
               kept.level->name, work->a_bytes, kept.room, kept.share > 0 ? "kept" : "none kept");
    }
    if (again > 0)
        ll_say(why, "out of %s, rows read again: %.10g + (%.10g - 1) * %.10g * %.10g = %.10g B", level->name,
               read + written, passes, lost, read, once->bytes[l] + again);
}

static void vector_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                           const struct ll_kernel_config *way, struct ll_explain *why)
{
    uint64_t units = task->is_gemm ? ll_count_at_work(unit, task, index) : unit->count;
    double rate = unit->vector.flops[task->dtype];
    if (moves_only(task)) {
        ll_say(why, "%s: bytes only move, no lane computes", unit->name);
        return;
    }
    const struct lane_work l = lane_work_of(unit, task, units);
    if (l.used > 0)
        ll_say(why,
               "%s, %.10g of %.10g lanes, of which those that share one of %.10g results add up in pairs: "
               "ceil(%.10g / %.10g) + %.10g = %.10g steps",
               unit->name, l.used, (double)unit->vector.lanes * (double)unit->count, l.results, l.items,
               l.used, l.steps > 0 ? tree_steps(l.results, l.used) : 0, l.steps);
    ll_say(why, "%s: (%.10g / %.10g) / %.10g = %.10g cycles", l.used > 0 ? "one step" : "one for each lane",
           l.flops, fmax(1, l.items), rate, way->first.cycles);
    if (l.used > 0)
        ll_say(why, "reduction: %.10g * %.10g = %.10g cycles", l.steps, way->first.cycles, way->cycles);
    else
        ll_say(why, "%s, %s: ceil(%.10g / (%" PRIu64 " * %" PRIu64 ")) * %.10g = %.10g cycles", unit->name,
               l.what, l.items, unit->vector.lanes, units, way->first.cycles, way->cycles);
}

const struct ll_unit_model ll_cost_VECTOR = {
    .products = true,
    .elements = true,
    .way_count = way_count,
    .way = vector_way,
    .explain = vector_explain,
};
