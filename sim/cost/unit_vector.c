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
    if (ll_is_product(work) || in_registers(kernel, work))
        return 0;
    return (double)work->lines * kernel->row_overhead_s / (double)units;
}

/* Operands of GEMMs move as their blocking says. */
static double passes_of(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return ll_is_product(work) || in_registers(kernel, work) ? 1 : kernel->passes;
}

/* Whether the work is rows that the kernel cannot keep in registers. */
static bool has_long_rows(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR && work->vector.row > kernel->max_register_row &&
           work->vector.elements > 0;
}

double ll_rows_bytes(const struct ll_kernel *kernel, const struct ll_work *work, struct ll_explain *why)
{
    double once = ll_work_bytes(work), passes = passes_of(kernel, work);
    double bytes = once + (passes - 1) * (double)work->a_bytes;
    if (bytes > once)
        ll_say(why, "through a unit, by passes of the kernel: %.10g + (%.10g - 1) * %" PRIu64 " = %.10g B",
               once, passes, work->a_bytes, bytes);
    return bytes;
}

static double rows_of(const struct ll_work *work)
{
    return fmax(1, (double)work->vector.elements / (double)work->vector.row);
}

double ll_rows_imbalance(const struct ll_kernel *kernel, const struct ll_work *work,
                         const struct ll_unit *unit, struct ll_explain *why)
{
    if (kernel->rows_in_flight == 0 || unit->model != LL_UNIT_VECTOR || !has_long_rows(kernel, work))
        return 1;
    double lanes = (double)unit->count * (double)unit->vector.lanes, elements = (double)work->vector.elements;
    double evenly = ceil(elements / lanes) * lanes, rows = rows_of(work);
    double at_once = (double)unit->count * (double)kernel->rows_in_flight;
    double waves = ceil(rows / at_once);
    double imbalance = fmax(1, waves * at_once * (double)work->vector.row / evenly);
    ll_say(why, "waves of rows: ceil(%.10g / %.10g) = %.10g", rows, at_once, waves);
    ll_say(why,
           "rows are dealt whole, waves over an even share: "
           "max(1, %.10g * %.10g * %" PRIu64 " / (ceil(%.10g / %.10g) * %.10g)) = %.10g",
           waves, at_once, work->vector.row, elements, lanes, lanes, imbalance);
    return imbalance;
}

/* A cache keeps three halves of what it would if rows in progress, results and rows to come shared it evenly:
 * nothing is lost while three times the rows in progress fit. */
static const double retention = 1.5;

/* The share of rows in progress that the cache in front of the outermost memory keeps until they are read
 * again. */
static double kept_in_cache(const struct ll_level *cache, double capacity, const struct ll_kernel *kernel,
                            const struct ll_work *work, uint64_t units, struct ll_explain *why)
{
    double at_once = (double)units * (double)ll_max(1, kernel->rows_in_flight), rows = rows_of(work);
    double progress = fmin(rows, at_once) * (double)work->a_bytes / rows;
    double kept = fmin(1, fmax(0, retention * (1 - progress / capacity)));
    ll_say(why, "rows in progress: min(%.10g, %.10g) * %" PRIu64 " / %.10g = %.10g B", rows, at_once,
           work->a_bytes, rows, progress);
    ll_say(why, "kept in %s until it is read again: min(1, max(0, %.10g * (1 - %.10g / %.10g))) = %.10g",
           cache->name, retention, progress, capacity, kept);
    return kept;
}

/* What is read again and need not come from the outermost memory again, as a share of it. */
static double share_kept(const struct ll_machine *machine, const struct ll_kernel *kernel,
                         const struct ll_work *work, uint64_t units, struct ll_explain *why)
{
    uint64_t outermost = machine->level_count - 1;
    if (outermost == 0)
        return 0;
    const struct ll_level *level = &machine->levels[outermost - 1];
    double instances = (double)ll_machine_instances(machine, outermost - 1);
    if (!ll_level_holds(level, LL_OPERAND_A))
        return 0;
    if (level->cache_given)
        return kept_in_cache(level, (double)level->size_bytes * instances, kernel, work, units, why);
    double room = ll_level_room(level) * instances;
    bool fits = (double)work->a_bytes <= room;
    ll_say(why, "rows, all of which software keeps in %s where they fit: %" PRIu64 " B of %.10g B, %s",
           level->name, work->a_bytes, room, fits ? "kept" : "none kept");
    return fits;
}

static void move(const struct ll_level *level, uint64_t l, double bytes, double written, struct ll_cost *cost)
{
    struct ll_toll toll = ll_level_toll(level);
    cost->level_bytes[l] = bytes;
    cost->level_written[l] = written;
    cost->level_price[l] = ll_toll_price(&toll, bytes, written);
}

void ll_rows_again(const struct ll_machine *machine, const struct ll_kernel *kernel,
                   const struct ll_work *work, uint64_t units, struct ll_cost *cost, struct ll_explain *why)
{
    double passes = passes_of(kernel, work);
    if (passes <= 1)
        return;
    double kept = has_long_rows(kernel, work) ? share_kept(machine, kernel, work, units, why) : 0;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        double lost = l + 1 == machine->level_count ? 1 - kept : 1, written = cost->level_written[l];
        double read = cost->level_bytes[l] - written, again = (passes - 1) * lost * read;
        move(level, l, cost->level_bytes[l] + again, written, cost);
        if (again > 0)
            ll_say(why, "out of %s, rows read again: %.10g + (%.10g - 1) * %.10g * %.10g = %.10g B",
                   level->name, read + written, passes, lost, read, cost->level_bytes[l]);
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
    struct scattered s = gathered_rows(work);
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
    double others = ll_work_bytes(work) - gathered_rows(work).rows * s.row_bytes, all = others + scattered;
    double slowdown = 1 + scattered / all * fmax(0, stream / e.efficiency - 1);
    if (why)
        tell(&(struct told){level->name, dram, level->channels, moved, s.write_share, &e}, stream, why);
    ll_say(why, "%s, slower than a stream by: 1 + %.10g / %.10g * max(0, %.10g - 1) = %.10g", level->name,
           scattered, all, stream / e.efficiency, slowdown);
    return slowdown;
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
 * Bytes that only move (MOVE, GATHER) occupy no lane. A product that no other unit takes is done one
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

static bool reduce_way(const struct ll_unit *unit, const struct ll_work *work, double rate,
                       struct ll_way *way, struct ll_explain *why)
{
    double elements = (double)work->reduce.in_elements, results = fmax(1, (double)work->reduce.out_elements);
    double lanes = (double)unit->vector.lanes * (double)unit->count;
    double each = elements > 0 ? (double)work->flops / elements : 0;
    double used = lanes_to_use(elements, results, lanes);
    double steps = elements > 0 ? steps_with(elements, results, used) : 0;
    way->units_used = ll_min(unit->count, ll_max(1, work->reduce.in_elements));
    way->first_cycles = each / rate;
    way->cycles = steps * each / rate;
    ll_say(why,
           "%s, %.10g of %.10g lanes, of which those that share one of %.10g results add up in pairs: "
           "ceil(%.10g / %.10g) + %.10g = %.10g steps",
           unit->name, used, lanes, results, elements, used, steps > 0 ? tree_steps(results, used) : 0,
           steps);
    ll_say(why, "one step: (%" PRIu64 " / %.10g) / %.10g = %.10g cycles", work->flops, fmax(1, elements),
           rate, way->first_cycles);
    ll_say(why, "reduction: %.10g * %.10g = %.10g cycles", steps, way->first_cycles, way->cycles);
    return true;
}

/* What lanes do one by one. */
struct items {
    const char *what;
    double count, flops;
};

/* By so many of the units. */
static bool item_way(const struct ll_unit *unit, uint64_t units, const struct items *items, double rate,
                     struct ll_way *way, struct ll_explain *why)
{
    double each = items->count > 0 ? items->flops / items->count : 0;
    double vectors = ceil(items->count / ((double)unit->vector.lanes * (double)units));
    way->units_used = items->count < (double)units ? (uint64_t)fmax(1, items->count) : units;
    way->at_work = (double)way->units_used;
    way->cycles = vectors * each / rate;
    way->first_cycles = fmin(way->cycles, each / rate);
    ll_say(why, "one for each lane: (%.10g / %.10g) / %.10g = %.10g cycles", items->flops,
           fmax(1, items->count), rate, way->first_cycles);
    ll_say(why, "%s, %s: ceil(%.10g / (%" PRIu64 " * %" PRIu64 ")) * %.10g = %.10g cycles", unit->name,
           items->what, items->count, unit->vector.lanes, units, way->first_cycles, way->cycles);
    return true;
}

static bool product_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index, double rate,
                        struct ll_way *way, struct ll_explain *why)
{
    const struct ll_gemm *d = &task->problem.dims;
    double products = ll_gemm_macs(d);
    uint64_t count = ll_count_at_work(unit, task, index);
    struct ll_split split = ll_split_evenly(d, count);
    double passes[LL_OPERAND_COUNT] = {(double)ll_ceil_div(split.share.n, unit->vector.lanes),
                                       (double)split.share.m, 1};
    way->share = split.share;
    way->shares = (double)split.used;
    way->macs = products;
    way->unit_bytes = ll_unit_bytes(task, &split.share, way->shares, passes, way->asked_bytes);
    return item_way(unit, count, &(struct items){"products", products, 2 * products}, rate, way, why);
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    return task->is_product ? ll_counts_at_work(unit, task) : 1;
}

static bool vector_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                       struct ll_way *way, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    double rate = unit->vector.flops[task->dtype];
    *way = (struct ll_way){.units_used = unit->count, .shares = 1};
    if (task->is_product)
        return product_way(unit, task, index, rate, way, why);
    if (work->kind == LL_WORK_REDUCE)
        return reduce_way(unit, work, rate, way, why);
    if (work->kind == LL_WORK_VECTOR)
        return item_way(unit, unit->count,
                        &(struct items){"elements", (double)work->vector.elements, (double)work->flops}, rate,
                        way, why);
    ll_say(why, "%s: bytes only move, no lane computes", unit->name);
    return true;
}

const struct ll_unit_model ll_cost_VECTOR = {
    .products = true,
    .elements = true,
    .way_count = way_count,
    .way = vector_way,
};
