/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/between.h"

#include "sim/cost/choice.h"
#include "sim/cost/cost.h"
#include "sim/cost/task.h"

#include <inttypes.h>
#include <math.h>

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

static bool has_specials(const struct ll_unit *unit)
{
    return unit->model == LL_UNIT_VECTOR && unit->vector.specials > 0;
}

/* So many of something of which a unit does so many a cycle. */
static double seconds_on(const struct lanes *lanes, const char *what, double operations, double each,
                         struct ll_explain *why)
{
    const struct ll_unit *unit = lanes->unit;
    double time_s = operations / (each * (double)lanes->count * unit->clock_hz * unit->efficiency);
    ll_say(why, "between products, %s %s: %.10g / (%.10g * %" PRIu64 " * %.10g * %.10g) = %.10g s", what,
           unit->name, operations, each, lanes->count, unit->clock_hz, unit->efficiency, time_s);
    return time_s;
}

/* So many operations of the work's, with all of its special functions. */
static double lanes_s(const struct lanes *lanes, const struct ll_work *work, double operations,
                      struct ll_explain *why)
{
    const struct ll_unit *unit = lanes->unit;
    double time_s = seconds_on(lanes, "on", operations, ll_unit_flops_per_cycle(unit, lanes->dtype), why);
    if (work->specials == 0 || !has_specials(unit))
        return time_s;
    double each = unit->vector.specials * (double)unit->vector.lanes;
    double special_s = seconds_on(lanes, "special functions of", (double)work->specials, each, why);
    ll_say(why, "at the same time: max(%.10g, %.10g) = %.10g s", time_s, special_s, fmax(time_s, special_s));
    return fmax(time_s, special_s);
}

/* Elements lane by lane; the last, partial vector takes as long as a full one. */
static double elements_s(const struct ll_unit *unit, const struct ll_work *work, struct ll_explain *why)
{
    double elements = (double)work->vector.elements, lanes = (double)unit->vector.lanes * (double)unit->count;
    double each = (double)work->specials / elements, vectors = ceil(elements / lanes);
    double time_s = vectors * each / (unit->vector.specials * unit->clock_hz * unit->efficiency);
    ll_say(why,
           "special functions of %s: ceil(%.10g / %.10g) * (%" PRIu64
           " / %.10g) / (%.10g * %.10g * %.10g) = %.10g s",
           unit->name, elements, lanes, work->specials, elements, unit->vector.specials, unit->clock_hz,
           unit->efficiency, time_s);
    return time_s;
}

struct ll_between ll_between_of(const struct ll_machine *machine, const struct ll_task *task,
                                const struct ll_unit *unit, bool dealt, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    struct lanes products = {unit, unit->count, task->dtype};
    struct ll_between between = {0};
    if (work->kind == LL_WORK_VECTOR && work->specials > 0 && has_specials(unit))
        between.meanwhile_s = elements_s(unit, work, why);
    if (!task->is_product)
        return between;
    double multiplying = 2 * (double)task->steps * ll_gemm_macs(&task->problem.dims);
    double gates = (double)work->flops - multiplying, softmax = (double)work->between;
    if (gates > 0) {
        struct lanes lanes = products;
        if (work->kind == LL_WORK_SEQUENCE)
            lanes = lanes_for(machine, task, &products, LL_OP_SIGMOID, dealt);
        between.after_s = lanes_s(&lanes, work, gates, why);
        between.flops = lanes.unit == unit ? 0 : gates;
    }
    if (softmax > 0) {
        struct lanes lanes = lanes_for(machine, task, &products, LL_OP_CAUSAL_SOFTMAX, dealt);
        double time_s = lanes_s(&lanes, work, softmax, why);
        if (unit->model == LL_UNIT_VECTOR || lanes.unit == unit)
            between.after_s += time_s;
        else
            between.meanwhile_s = time_s;
    }
    return between;
}
