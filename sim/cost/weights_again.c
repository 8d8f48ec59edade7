/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/weights_again.h"

#include "sim/cost/traffic.h"

#include <inttypes.h>

static bool loses_some(const struct ll_level *memory)
{
    return memory->cache_given && memory->cache.ways > 0 && memory->cache.policy != LL_CACHE_RANDOM;
}

double ll_weights_again(const struct ll_task *task, const struct ll_problem *problem,
                        const struct ll_level *memory)
{
    double m = (double)problem->dims.m, n = (double)problem->dims.n, k = (double)problem->dims.k,
           batch = (double)problem->dims.batch;
    if (!task->b_stays || problem->toll.roomless[LL_OPERAND_B])
        return 1;
    double weights = batch * k * n * problem->element[LL_OPERAND_B],
           line = k * problem->element[LL_OPERAND_A] + n * problem->element[LL_OPERAND_C];
    if (loses_some(memory))
        return 1 - ll_cache_left(&memory->cache, memory->size_bytes,
                                 (weights + batch * m * line) / (double)memory->size_bytes);
    return weights + line <= ll_level_room(memory) ? 0 : 1;
}

void ll_tell_weights_again(double again, double b, uint64_t steps, double weights, struct ll_explain *why)
{
    if (again > 0)
        ll_say(why,
               "of the weights %.10g come again each step: %.10g + (%" PRIu64
               " - 1) * %.10g * %.10g = %.10g B",
               again, b, steps, again, b, weights);
}
