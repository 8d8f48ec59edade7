/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/between.h"

#include "sim/cost/choice.h"
#include "sim/cost/cost.h"
#include "sim/cost/task.h"

#include <inttypes.h>

/* So many of a unit's instances, and the type in which they compute. */
struct lanes {
    const struct ll_unit *unit;
    uint64_t count;
    enum ll_dtype dtype;
};

bool ll_between_any(const struct ll_work *work)
{
    return work->between > 0 || work->kind == LL_WORK_SEQUENCE;
}

/* The unit that would run this kind of op, or the one of the products where there is none. */
static struct lanes lanes_for(const struct ll_machine *machine, const struct ll_task *task,
                              const struct lanes *products, enum ll_op_kind kind, bool dealt)
{
    enum ll_dtype dtype = (enum ll_dtype)task->work->dtype;
    struct ll_work alone = {.kind = LL_WORK_VECTOR,
                            .dtype = ll_dtype_bytes(dtype) < LL_SUM_BYTES ? LL_F32 : dtype,
                            .flops = 1,
                            .vector = {.elements = 1}};
    uint32_t index = ll_choose_unit(machine, kind, &alone, &dtype);
    if (index == LL_NO_UNIT)
        return *products;
    const struct ll_unit *unit = &machine->units[index];
    return (struct lanes){unit, dealt ? ll_min(unit->count, products->count) : unit->count, dtype};
}

static double seconds_on(const struct lanes *lanes, double operations, struct ll_explain *why)
{
    const struct ll_unit *unit = lanes->unit;
    double each = ll_unit_flops_per_cycle(unit, lanes->dtype);
    double time_s = operations / (each * (double)lanes->count * unit->clock_hz * unit->efficiency);
    ll_say(why, "between products, on %s: %.10g / (%.10g * %" PRIu64 " * %.10g * %.10g) = %.10g s",
           unit->name, operations, each, lanes->count, unit->clock_hz, unit->efficiency, time_s);
    return time_s;
}

struct ll_between ll_between_of(const struct ll_machine *machine, const struct ll_task *task,
                                const struct ll_unit *unit, bool dealt, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    struct lanes products = {unit, unit->count, task->dtype};
    struct ll_between between = {0};
    if (!task->is_product)
        return between;
    double multiplying = 2 * (double)task->steps * ll_gemm_macs(&task->problem.dims);
    double gates = (double)work->flops - multiplying, softmax = (double)work->between;
    if (gates > 0) {
        struct lanes lanes = products;
        if (work->kind == LL_WORK_SEQUENCE)
            lanes = lanes_for(machine, task, &products, LL_OP_SIGMOID, dealt);
        between.after_s = seconds_on(&lanes, gates, why);
        between.flops = lanes.unit == unit ? 0 : gates;
    }
    if (softmax > 0) {
        struct lanes lanes = lanes_for(machine, task, &products, LL_OP_CAUSAL_SOFTMAX, dealt);
        double time_s = seconds_on(&lanes, softmax, why);
        if (unit->model == LL_UNIT_VECTOR || lanes.unit == unit)
            between.after_s += time_s;
        else
            between.meanwhile_s = time_s;
    }
    return between;
}
