/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a cost: which unit, which variant of the work, which of the unit's ways; the rest follows
 * (sized.c). */
#include "sim/cost/cost.h"

#include "sim/cost/choice.h"
#include "sim/cost/from_host.h"
#include "sim/cost/layout.h"
#include "sim/cost/sized.h"
#include "sim/cost/skip.h"
#include "sim/cost/start.h"
#include "sim/cost/unit_model.h"
#include "sim/cost/variants.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* What dependent steps cost beside their work: the device waits for each, however far ahead the host is. */
static double steps_s(const struct ll_sized *s, struct ll_explain *why)
{
    double each_s = s->machine->software.step_overhead_s, all_s = (double)s->task.steps * each_s;
    if (s->task.work->kind != LL_WORK_SEQUENCE || each_s == 0)
        return 0;
    ll_say(why, "between steps: %" PRIu64 " * %.10g = %.10g s", s->task.steps, each_s, all_s);
    return all_s;
}

/* Who does it: the unit, the kernel that drives it, the type in which it computes. */
struct doer {
    const struct ll_machine *machine;
    const struct ll_kernel *kernel;
    const struct ll_work *work; /* of the op */
    const struct ll_leftovers *found;
    const struct ll_cost *alone; /* what was chosen without them; NULL: not asked for */
    uint32_t unit;
    enum ll_dtype dtype;
};

static bool is_strided(const struct ll_work *work)
{
    return work->kind == LL_WORK_CONV && (work->conv.stride_h > 1 || work->conv.stride_w > 1);
}

/* The kernel of a variant. Strides leave a share of its rate; products between passes are those of a library,
 * which do not pay for windows. */
static struct ll_kernel kernel_of(const struct doer *doer, const struct ll_variant *variant,
                                  struct ll_explain *why)
{
    struct ll_kernel kernel = *doer->kernel;
    if (is_strided(&variant->work) && kernel.strided > 0) {
        kernel.compute *= kernel.strided;
        ll_say(why, "kernel %s, with a stride above one: %.10g * %.10g = %.10g", kernel.name,
               doer->kernel->compute, kernel.strided, kernel.compute);
    }
    if (variant->transform && !variant->transform->fused)
        kernel.serial = kernel.rewrites = 0;
    return kernel;
}

/* What is moved before and behind the work proper, by kernels that do nothing else; the seconds it takes. */
static double pass_apart(const struct doer *doer, const struct ll_variant *variant, struct ll_cost *cost,
                         struct ll_explain *why)
{
    if (variant->apart_bytes == 0)
        return 0;
    const struct ll_level *outermost = &doer->machine->levels[doer->machine->level_count - 1];
    double of_kernel = doer->kernel->memory, of_pass = variant->apart_share > 0 ? variant->apart_share : 1;
    double memory_Bps = ll_machine_memory_Bps(doer->machine) * (of_kernel * of_pass);
    double start_s = variant->apart_start_s, passes_s = variant->apart_bytes / memory_Bps + start_s;
    ll_say(why, "passes apart: %.10g / (%.10g * %.10g * %.10g * %.10g) + %.10g = %.10g s",
           variant->apart_bytes, outermost->bandwidth_Bps, outermost->efficiency, of_kernel, of_pass, start_s,
           passes_s);
    cost->apart_bytes = variant->apart_bytes;
    cost->apart_s += passes_s;
    return passes_s;
}

/* The share of the peak rate by the way, before the kernel's. */
static void tell_rate(const struct ll_unit *unit, double rate, double windows, struct ll_explain *why)
{
    if (rate != 1 || windows != 1)
        ll_say(why,
               "%s, share of its rate by this way, and what finding windows leaves: %.10g * %.10g * %.10g = "
               "%.10g",
               unit->name, unit->efficiency, rate, windows, unit->efficiency * rate * windows);
}

/* False where nothing is faster than what was chosen for an empty machine; then that is the cost. */
static bool cost_variant(const struct doer *doer, const struct ll_variant *variant, struct ll_cost *cost,
                         struct ll_bounds *bounds, struct ll_explain *why)
{
    const struct ll_machine *machine = doer->machine;
    const struct ll_unit *unit = &machine->units[doer->unit];
    const struct ll_work *work = &variant->work;
    const struct ll_kernel kernel = kernel_of(doer, variant, why);
    struct ll_sized s = {machine,
                         &kernel,
                         *unit,
                         unit->count,
                         ll_task_of(work, doer->dtype),
                         doer->work,
                         doer->found,
                         doer->unit,
                         doer->work->flops > 0 ? (double)work->flops / (double)doer->work->flops : 1};
    const struct ll_software *software = &machine->software;
    s.task.instances = unit->count;
    if (unit->sum_bytes > 0 && s.task.is_product)
        ll_sum_in(&s.task, unit->sum_bytes);
    s.unit.efficiency *= s.kernel->compute * variant->rate;
    tell_rate(unit, variant->rate, ll_variant_lends(variant, &s.unit, &s.task, why), why);
    ll_say(why, "%s of %s runs on %s, computed in %s", ll_work_name((enum ll_work_kind)work->kind),
           ll_dtype_name((enum ll_dtype)work->dtype), s.unit.name, ll_dtype_name(doer->dtype));
    ll_lay_in_tiles(&s.task, software->layout_rows, software->layout_columns, why);
    if (variant->skips)
        ll_skip_zeros(&s.task, unit, why);
    ll_tell_elements(&s.task, why);
    ll_sized_tell(&s, why);
    *cost = (struct ll_cost){.unit = doer->unit,
                             .clock_hz = s.unit.clock_hz,
                             .serial = kernel.serial,
                             .made = s.made,
                             .zeros = s.task.zeros};
    ll_cost_start(machine, &kernel, variant->overhead_s, cost, why);
    cost->apart_s = steps_s(&s, why);
    cost->gap_s = software->gap_s;
    s.unit.count = ll_sized_employed(&s, why);
    cost->overhead_s += ll_layout_barrier_s(machine->software.barrier_s, s.unit.count, why);
    if (doer->alone && ll_sized_keeps(&s, doer->alone)) {
        *cost = *doer->alone;
        return false;
    }
    ll_sized_follow(&s, cost, bounds, why);
    double passes_s = pass_apart(doer, variant, cost, why);
    if (bounds) {
        bounds->bound_s += passes_s;
        bounds->pipelined_s += passes_s;
    }
    return true;
}

/* The best, with what earlier ops left; of equals that which leaves the device sooner, the first of these. */
static uint32_t best_variant(const struct doer *doer, const struct ll_variant *variants, uint32_t count)
{
    uint32_t best = 0;
    struct ll_merit most = {INFINITY, INFINITY};
    double device_s = INFINITY;
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        struct ll_cost cost;
        struct ll_timing timing;
        cost_variant(doer, &variants[i], &cost, NULL, NULL);
        ll_cost_time(doer->machine, &cost, doer->found, &timing, NULL);
        double alone_s = ll_timing_alone_s(&timing);
        struct ll_merit merit = ll_cost_merit(doer->machine, doer->work, &cost, doer->found, alone_s);
        bool sooner = merit.first == most.first && timing.time_s != device_s;
        if (sooner ? timing.time_s >= device_s : !ll_is_better(merit, most))
            continue;
        most = merit;
        device_s = timing.time_s;
        best = i;
    }
    return best;
}

/* What is asked: of an op's work on a machine, one way or whichever is the fastest. */
struct question {
    const struct ll_machine *machine;
    enum ll_op_kind kind;
    const struct ll_work *work;
    uint32_t way;
    const struct ll_next_to *beside; /* NULL: on an empty machine */
};
static const uint32_t fastest = UINT32_MAX;

/* Of work that no unit does; true where it is such, and *cost is filled. */
static bool needs_no_unit(const struct question *q, struct ll_cost *cost, struct ll_explain *why)
{
    switch (q->work->kind) {
    case LL_WORK_WAIT: /* only the recording knows how long */
        return true;
    case LL_WORK_NOTHING:
        cost->overhead_s = q->machine->software.view_overhead_s;
        ll_say(why, "a view, which moves and computes nothing: 0 = 0 s");
        return true;
    case LL_WORK_SWAP:
        ll_host_swaps(&q->machine->host, q->work, cost, why);
        return true;
    case LL_WORK_HOST:
        ll_host_sends(&q->machine->host, q->kind, q->work, cost, why);
        return true;
    default:
        return false;
    }
}

/* The kernel, the unit and the type of number; false when no unit takes the work. */
static bool find_doer(const struct question *q, struct doer *doer)
{
    *doer = (struct doer){
        .machine = q->machine, .kernel = ll_machine_kernel(q->machine, q->kind, q->work), .work = q->work};
    if (q->beside) {
        doer->found = q->beside->found;
        doer->alone = q->beside->alone;
    }
    doer->unit = ll_choose_unit(q->machine, q->kind, q->work, &doer->dtype);
    return doer->unit != LL_NO_UNIT;
}

static void cost_on_unit(const struct question *q, const struct doer *doer, struct ll_cost *cost,
                         struct ll_bounds *bounds, struct ll_explain *why)
{
    struct ll_variant variants[LL_MOST_VARIANTS];
    uint32_t count = (uint32_t)ll_variants(&q->machine->software, q->work, variants);
    uint32_t taken = q->way == fastest ? best_variant(doer, variants, count) : q->way;
    const struct ll_variant *variant = &variants[taken];
    ll_variant_tell(variant, q->work, why);
    if (!cost_variant(doer, variant, cost, bounds, why))
        return;
    cost->next_to_found = q->beside != NULL;
    cost->way = taken;
    cost->ways = count;
    if (variant->name && variant->work.flops > 0)
        cost->utilization *= (double)q->work->flops / (double)variant->work.flops;
}

static bool cost_op(const struct question *q, struct ll_cost *cost, struct ll_bounds *bounds,
                    struct ll_explain *why, const char **trouble)
{
    struct doer doer;
    assert(q->kind < LL_OP_COUNT && q->work->kind < LL_WORK_COUNT && q->machine->level_count > 0);
    *cost = (struct ll_cost){.unit = LL_NO_UNIT, .ways = 1};
    *trouble = NULL;
    if (needs_no_unit(q, cost, why))
        return true;
    if (q->work->kind == LL_WORK_COLLECTIVE)
        *trouble = "devices exchange data here, which one device alone cannot be asked about";
    else if (!find_doer(q, &doer))
        *trouble = "no unit of this machine runs such work in this dtype or a wider one";
    else
        cost_on_unit(q, &doer, cost, bounds, why);
    return *trouble == NULL;
}

bool ll_cost_op(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                struct ll_cost *cost, struct ll_explain *why, const char **trouble)
{
    const struct question question = {machine, kind, work, fastest, NULL};
    struct ll_bounds bounds; /* an explanation tells of them too */
    return cost_op(&question, cost, why ? &bounds : NULL, why, trouble);
}

void ll_cost_way(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                 uint32_t way, const struct ll_next_to *beside, struct ll_cost *cost, struct ll_explain *why)
{
    const struct question question = {machine, kind, work, way, beside};
    struct ll_bounds bounds;
    const char *trouble;
    cost_op(&question, cost, why ? &bounds : NULL, why, &trouble);
}

struct ll_bounds ll_cost_bounds(const struct ll_machine *machine, enum ll_op_kind kind,
                                const struct ll_work *work)
{
    const struct question question = {machine, kind, work, fastest, NULL};
    struct ll_bounds bounds = {0};
    struct ll_cost cost;
    const char *trouble;
    cost_op(&question, &cost, &bounds, NULL, &trouble);
    return bounds;
}
