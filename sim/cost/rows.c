/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/rows.h"

#include "sim/cost/task.h"
#include "sim/cost/traffic.h"

#include <inttypes.h>
#include <math.h>

bool ll_rows_at_hand(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR && work->vector.row > 0 && work->vector.row <= kernel->row;
}

/* Operands of products move as their blocking says. */
double ll_rows_passes(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return ll_is_product(work) || ll_rows_at_hand(kernel, work) ? 1 : kernel->passes;
}

double ll_rows_work(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return ll_is_product(work) || ll_rows_at_hand(kernel, work) ? 1 : kernel->work;
}

/* Whether the work is rows that the kernel cannot keep at hand. */
static bool has_long_rows(const struct ll_kernel *kernel, const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR && work->vector.row > kernel->row && work->vector.elements > 0;
}

double ll_rows_bytes(const struct ll_kernel *kernel, const struct ll_work *work, struct ll_explain *why)
{
    double once = ll_work_bytes(work), passes = ll_rows_passes(kernel, work);
    double reads = has_long_rows(kernel, work) ? kernel->reads : 1;
    double bytes = passes * (once + (reads - 1) * (double)work->a_bytes);
    if (bytes > once)
        ll_say(why,
               "through a unit, by passes and reads of the kernel: %.10g * (%.10g + (%.10g - 1) * %" PRIu64
               ") = %.10g B",
               passes, once, reads, work->a_bytes, bytes);
    return bytes;
}

static double rows_of(const struct ll_work *work)
{
    return fmax(1, (double)work->vector.elements / (double)work->vector.row);
}

double ll_rows_imbalance(const struct ll_kernel *kernel, const struct ll_work *work,
                         const struct ll_unit *unit, struct ll_explain *why)
{
    if (kernel->side == 0 || unit->model != LL_UNIT_VECTOR || !has_long_rows(kernel, work))
        return 1;
    double lanes = (double)unit->count * (double)unit->vector.lanes, elements = (double)work->vector.elements;
    double evenly = ceil(elements / lanes) * lanes, rows = rows_of(work);
    double at_once = (double)unit->count * (kernel->rounds ? (double)kernel->side : 1);
    double rounds = kernel->rounds ? ceil(rows / at_once) : fmax(1, rows / at_once);
    double imbalance = fmax(1, rounds * at_once * (double)work->vector.row / evenly);
    ll_say(why, "rows in rounds of so many at once: %s%.10g / %.10g) = %.10g",
           kernel->rounds ? "ceil(" : "max(1, ", rows, at_once, rounds);
    ll_say(why,
           "rows are dealt whole, rounds over an even share: "
           "max(1, %.10g * %.10g * %" PRIu64 " / (ceil(%.10g / %.10g) * %.10g)) = %.10g",
           rounds, at_once, work->vector.row, elements, lanes, lanes, imbalance);
    return imbalance;
}

/* The share of rows in progress that the cache in front of the outermost memory keeps until they are read
 * again. */
static double kept_in_cache(const struct ll_level *cache, double capacity, const struct ll_kernel *kernel,
                            const struct ll_work *work, uint64_t units, struct ll_explain *why)
{
    double at_once = (double)units * (double)ll_max(1, kernel->side), rows = rows_of(work);
    double progress = fmin(rows, at_once) * (double)work->a_bytes / rows;
    double kept = fmin(1, fmax(0, kernel->kept * (1 - progress / capacity)));
    ll_say(why, "rows in progress: min(%.10g, %.10g) * %" PRIu64 " / %.10g = %.10g B", rows, at_once,
           work->a_bytes, rows, progress);
    ll_say(why, "kept in %s until it is read again: min(1, max(0, %.10g * (1 - %.10g / %.10g))) = %.10g",
           cache->name, kernel->kept, progress, capacity, kept);
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
    double passes = ll_rows_passes(kernel, work);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        if (passes > 1)
            ll_say(why, "out of %s, by passes of the kernel: %.10g * %.10g = %.10g B",
                   machine->levels[l].name, cost->level_bytes[l], passes, cost->level_bytes[l] * passes);
        cost->level_bytes[l] *= passes;
        cost->level_written[l] *= passes;
        cost->level_price[l] *= passes;
    }
    if (!has_long_rows(kernel, work) || kernel->reads <= 1)
        return;
    double kept = share_kept(machine, kernel, work, units, why);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        double lost = l + 1 == machine->level_count ? 1 - kept : 1, written = cost->level_written[l];
        double read = cost->level_bytes[l] - written, again = (kernel->reads - 1) * lost * read;
        move(level, l, cost->level_bytes[l] + again, written, cost);
        if (again > 0)
            ll_say(why, "out of %s, rows read again: %.10g + (%.10g - 1) * %.10g * %.10g = %.10g B",
                   level->name, read + written, kernel->reads, lost, read, cost->level_bytes[l]);
    }
}
