/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic out of a level depends on what fits further in:
 *
 *       unit | private levels (scope: unit) ... | first shared level ... | outermost
 *            |<----------- near: one unit's share, ------------>|<-- far: the whole work, -->|
 *              blocked for what one unit has                      blocked for the shared level
 *
 * Out of the innermost level goes what the unit asks for, by its own tiles. Out of any other goes what the
 * best blocking for the largest memory further in needs, with half of that memory, since the next block is
 * loaded while one is worked on. Near levels serve each unit's share on its own: what two units need is
 * moved twice. No near level passes more than the level inside asks for.
 *
 * Work that is not a product moves each operand once through all levels, rows picked by index in whole
 * accesses (scatter.h). */
#include "sim/cost/traffic.h"

#include "sim/cost/scatter.h"
#include "sim/cost/task.h"

#include <inttypes.h>
#include <math.h>

uint64_t ll_near_levels(const struct ll_machine *machine)
{
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (machine->levels[l].scope == LL_SCOPE_DEVICE)
            return l + 1;
    return machine->level_count;
}

/* The dependent steps of a sequence move b once if all of it stays inside, next to one line of a and c. */
static bool stays_resident(const struct ll_problem *p, double capacity)
{
    double n = (double)p->dims.n, k = (double)p->dims.k;
    return (double)p->dims.batch * k * n * p->element[LL_OPERAND_B] + k * p->element[LL_OPERAND_A] +
               n * p->element[LL_OPERAND_C] <=
           capacity;
}

/* `shares` times the traffic of a problem into a memory; says so. */
static double blocked(const struct ll_level *level, const struct ll_problem *p, uint64_t steps,
                      double capacity, double shares, struct ll_explain *why)
{
    double a = ll_operand_bytes(p, LL_OPERAND_A), b = ll_operand_bytes(p, LL_OPERAND_B),
           c = ll_operand_bytes(p, LL_OPERAND_C);
    if (steps > 1 && stays_resident(p, capacity)) {
        double once = shares * (b + (double)steps * (a + c));
        ll_say(why,
               "out of %s, weights stay inside: %.10g * (%.10g + %" PRIu64 " * (%.10g + %.10g)) = %.10g B",
               level->name, shares, b, steps, a, c, once);
        return once;
    }
    struct ll_tiling t = ll_tile(p, capacity);
    double bytes = shares * (double)steps * t.bytes;
    ll_say(why,
           "out of %s, %s stays in blocks of %" PRIu64 " x %" PRIu64 " x %" PRIu64 ": %.10g * %" PRIu64
           " * (%.10g * %.10g + %.10g * %.10g + %.10g * %.10g) = %.10g B",
           level->name, ll_stays_name(t.stays), t.block.m, t.block.n, t.block.k, shares, steps,
           t.passes[LL_OPERAND_A], a, t.passes[LL_OPERAND_B], b, t.passes[LL_OPERAND_C], c, bytes);
    return bytes;
}

static void once(const struct ll_machine *machine, const struct ll_task *task, uint64_t first, uint64_t end,
                 double bytes[LL_MAX_LEVELS], struct ll_explain *why)
{
    for (uint64_t l = first; l < end; l++) {
        bytes[l] = ll_work_bytes(task->work);
        ll_say(why, "out of %s, each operand once: %" PRIu64 " + %" PRIu64 " + %" PRIu64 " = %.10g B",
               machine->levels[l].name, task->work->a_bytes, task->work->b_bytes, task->work->c_bytes,
               bytes[l]);
        double waste = ll_scatter_waste(&machine->levels[l], task->work, why);
        if (waste > 0)
            ll_say(why, "out of %s, that too: %.10g + %.10g = %.10g B", machine->levels[l].name, bytes[l],
                   waste, bytes[l] + waste);
        bytes[l] += waste;
    }
}

/* Half of the largest level in [0, end) that lies on this side: private ones, or shared ones. */
static double room_inside(const struct ll_machine *machine, uint64_t end, enum ll_scope scope)
{
    double room = 0;
    for (uint64_t l = 0; l < end; l++)
        if (machine->levels[l].scope == scope)
            room = fmax(room, (double)machine->levels[l].size_bytes / 2);
    return room;
}

void ll_near_traffic(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                     double bytes[LL_MAX_LEVELS], struct ll_explain *why)
{
    uint64_t near = ll_near_levels(machine);
    if (!task->is_product) {
        once(machine, task, 0, near, bytes, why);
        return;
    }
    double asked = (double)task->steps * way->unit_bytes, least = ll_work_bytes(task->work);
    struct ll_problem share = task->problem;
    share.dims = way->share;
    for (uint64_t l = 0; l < near; l++) {
        if (l > 0)
            asked = fmin(asked, blocked(&machine->levels[l], &share, task->steps,
                                        room_inside(machine, l, LL_SCOPE_UNIT), way->shares, why));
        bytes[l] = fmax(least, asked) + (double)task->steps * way->joining_bytes;
        ll_say(why,
               "out of %s, what the unit asks for, at least each operand once, and joined sums: "
               "max(%.10g, %.10g) + %.10g = %.10g B",
               machine->levels[l].name, least, asked, (double)task->steps * way->joining_bytes, bytes[l]);
    }
}

void ll_far_traffic(const struct ll_machine *machine, const struct ll_task *task, double bytes[LL_MAX_LEVELS],
                    struct ll_explain *why)
{
    uint64_t near = ll_near_levels(machine);
    if (!task->is_product) {
        once(machine, task, near, machine->level_count, bytes, why);
        return;
    }
    for (uint64_t l = near; l < machine->level_count; l++)
        bytes[l] = blocked(&machine->levels[l], &task->problem, task->steps,
                           room_inside(machine, l, LL_SCOPE_DEVICE), 1, why);
}
