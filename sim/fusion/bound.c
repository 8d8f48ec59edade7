/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a program whatever its schedule: whether it fits the memories, and how long it takes at
 * least.
 *
 * A piece lies in a memory from its first use there to its last in the order of the tiles. Where at no tile
 * more lies in a memory than it holds, no schedule that makes room in this order comes to a stop. No schedule
 * is shorter than its busiest core or its busiest link. */
#include <math.h>
#include <stdlib.h>

#include "sim/fusion/fusion_parts.h"

bool program_fits(struct program *program)
{
    const struct chip *chip = program->chip;
    double *held = calloc(chip->pool_count + 1, sizeof *held);
    uint32_t *first = malloc((program->task_count + 1) * sizeof *first);
    uint32_t *next = malloc((program->copy_count + 1) * sizeof *next);
    bool good = held && first && next;
    program->failed = program->failed || !good;
    for (uint64_t t = 0; good && t < program->task_count; t++)
        first[t] = LL_NONE;
    for (uint32_t c = 0; good && c < program->copy_count; c++) {
        next[c] = first[program->copies[c].last_task];
        first[program->copies[c].last_task] = c;
    }
    for (uint64_t t = 0; good && t < program->task_count; t++) {
        const struct task *task = &program->tasks[t];
        for (uint32_t a = 0; good && a < task->alloc_count; a++) {
            const struct copy *copy = &program->copies[program->allocs[task->first_alloc + a]];
            held[copy->pool] += copy->bytes;
            good = held[copy->pool] <= chip->pools[copy->pool].capacity_bytes;
        }
        for (uint32_t c = first[t]; c != LL_NONE; c = next[c])
            held[program->copies[c].pool] -= program->copies[c].bytes;
    }
    free(held);
    free(first);
    free(next);
    return good;
}

/* Marks each link that a transfer takes; the ways out of one end part as late as they can, so each is
 * taken once. */
static void add_loads(const struct program *program, const struct transfer *transfer, double *loads,
                      uint32_t *seen, uint32_t stamp)
{
    const struct chip *chip = program->chip;
    uint32_t copy = transfer->first_there;
    do {
        uint16_t to = copy == LL_NONE ? chip_memory(chip) : program->copies[copy].end;
        const struct route *route = &chip->routes[(size_t)transfer->from * chip->ends + to];
        for (uint16_t i = 0; i < route->count; i++)
            if (seen[route->links[i]] != stamp) {
                seen[route->links[i]] = stamp;
                loads[route->links[i]] += transfer->bytes;
            }
        copy = copy == LL_NONE ? LL_NONE : program->copies[copy].next_there;
    } while (copy != LL_NONE);
}

bool program_bound(struct program *program)
{
    const struct chip *chip = program->chip;
    double *loads = calloc(chip->link_count + chip->core_count + 1, sizeof *loads);
    uint32_t *seen = calloc(chip->link_count + 1, sizeof *seen);
    bool good = loads && seen;
    program->bound_s = 0;
    for (uint64_t t = 0; good && t < program->transfer_count; t++)
        add_loads(program, &program->transfers[t], loads, seen, (uint32_t)t + 1);
    for (uint64_t t = 0; good && t < program->task_count; t++)
        loads[chip->link_count + program->tasks[t].core] += program->tasks[t].time_s;
    for (uint32_t l = 0; good && l < chip->link_count; l++)
        program->bound_s = fmax(program->bound_s, loads[l] / chip->links[l].Bps);
    for (uint32_t c = 0; good && c < chip->core_count; c++)
        program->bound_s = fmax(program->bound_s, loads[chip->link_count + c]);
    program->failed = program->failed || !good;
    free(loads);
    free(seen);
    return good;
}
