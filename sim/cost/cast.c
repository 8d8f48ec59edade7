/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/cast.h"

#include "sim/cost/task.h"

#include <inttypes.h>

static const struct ll_unit *caster(const struct ll_machine *machine, enum ll_dtype dtype)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].model == LL_UNIT_VECTOR && machine->units[i].vector.casts[dtype] > 0)
            return &machine->units[i];
    return NULL;
}

double ll_cast_s(const struct ll_machine *machine, const struct ll_work *work, enum ll_dtype computed,
                 struct ll_explain *why)
{
    enum ll_dtype stored = (enum ll_dtype)work->dtype;
    const struct ll_unit *unit = stored == computed || work->flops == 0 ? NULL : caster(machine, stored);
    if (!unit)
        return 0;
    double each = unit->vector.casts[stored], elements = ll_work_bytes(work) / (double)ll_dtype_bytes(stored);
    double time_s = elements / (each * (double)unit->count * unit->clock_hz);
    ll_say(why, "%s, %s to %s and back: %.10g / (%.10g * %" PRIu64 " * %.10g) = %.10g s", unit->name,
           ll_dtype_name(stored), ll_dtype_name(computed), elements, each, unit->count, unit->clock_hz,
           time_s);
    return time_s;
}
