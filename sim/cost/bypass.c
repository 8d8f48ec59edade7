/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/bypass.h"

#include "sim/cost/traffic.h"

#include <math.h>

/* The block that a unit's passes over the operands tell of: so many rows and columns. */
struct unit_block {
    double rows, columns;
};

static struct unit_block block_of_unit(const struct ll_task *task, const struct ll_way *way)
{
    const struct ll_gemm *dims = &task->problem.dims;
    double passes[LL_OPERAND_COUNT];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        passes[i] = task->unit_pass[i] > 0 ? fmax(1, way->asked_bytes[i] / task->unit_pass[i]) : 1;
    return (struct unit_block){(double)dims->m / passes[LL_OPERAND_B],
                               (double)dims->n / passes[LL_OPERAND_A]};
}

/* Of so many units together, those that share an instance of a level. */
static double sharing_units(const struct ll_level *level, double units)
{
    return level->scope == LL_SCOPE_DEVICE    ? units
           : level->scope == LL_SCOPE_CLUSTER ? (double)level->share
                                              : 1;
}

/* How many results are summed up at once within a memory that they pass by; 0: not known. */
static double most_sums(const struct ll_machine *machine, const struct ll_task *task,
                        const struct ll_way *way, uint64_t memory)
{
    int inside = ll_catcher(machine, memory, LL_OPERAND_C);
    if (inside == LL_CATCHER_UNIT && !way)
        return 0;
    double units = sharing_units(&machine->levels[memory], way ? (double)way->units_used : 1);
    if (inside == LL_CATCHER_UNIT) {
        struct unit_block block = block_of_unit(task, way);
        return units * fmax(1, block.rows) * fmax(1, block.columns);
    }
    double bytes = task->problem.element[LL_OPERAND_C] * fmax(1, task->problem.sum_width);
    double copies = units / sharing_units(&machine->levels[inside], units);
    return fmax(1, copies * ll_level_room(&machine->levels[inside]) / bytes);
}

void ll_bind_blocks(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                    uint64_t memory, struct ll_toll *toll)
{
    bool by_unit[LL_OPERAND_COUNT]; /* goes past all memories there, whose blocks are the unit's */
    const struct ll_level *level = &machine->levels[memory];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        toll->roomless[i] = !ll_level_holds(level, i);
        by_unit[i] = toll->roomless[i] && way && ll_catcher(machine, memory, i) == LL_CATCHER_UNIT;
    }
    if (by_unit[LL_OPERAND_A])
        toll->columns = block_of_unit(task, way).columns;
    if (by_unit[LL_OPERAND_B])
        toll->rows = block_of_unit(task, way).rows;
    if (toll->roomless[LL_OPERAND_C])
        toll->most_sums = most_sums(machine, task, way, memory);
}

void ll_tell_bounds(const struct ll_toll *toll, struct ll_explain *why)
{
    bool beside = false;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        beside |= toll->free[i] && !toll->roomless[i];
    if (beside)
        ll_say(why,
               "others come there out of another level, in blocks of their own: what goes out of this one is "
               "at least as much as follows");
    if (toll->most_sums > 0)
        ll_say(why, "results pass by, %.10g at once: blocks of them are no larger, or others have all of k",
               toll->most_sums);
    if (toll->columns > 0)
        ll_say(why, "a passes by, to %.10g columns at once", toll->columns);
    if (toll->rows > 0)
        ll_say(why, "b passes by, to %.10g rows at once", toll->rows);
}
