/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/cast.h"

#include "sim/cost/rows.h"

#include <inttypes.h>

static const struct ll_unit *caster(const struct ll_machine *machine, enum ll_dtype dtype)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].model == LL_UNIT_VECTOR && machine->units[i].vector.casts[dtype] > 0)
            return &machine->units[i];
    return NULL;
}

double ll_cast_s(const struct ll_machine *machine, const struct ll_kernel *kernel, const struct ll_task *task,
                 struct ll_explain *why)
{
    enum ll_dtype stored = (enum ll_dtype)task->work->dtype;
    bool needed = stored != task->dtype && task->work->flops > 0;
    const struct ll_unit *unit = needed ? caster(machine, stored) : NULL;
    if (!unit)
        return 0;
    bool plain_product = task->is_product && task->work->kind == LL_WORK_GEMM;
    double bytes =
        plain_product ? ll_compulsory_bytes(&task->problem) : ll_rows_bytes(kernel, task->work, why);
    double each = unit->vector.casts[stored], size = ll_dtype_spread(stored), elements = bytes / size;
    double time_s = elements / (each * (double)unit->count * unit->clock_hz);
    ll_say(why, "%s, %s to %s and back: %.10g / %.10g / (%.10g * %" PRIu64 " * %.10g) = %.10g s", unit->name,
           ll_dtype_name(stored), ll_dtype_name(task->dtype), bytes, size, each, unit->count, unit->clock_hz,
           time_s);
    return time_s;
}
