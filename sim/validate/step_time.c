/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/step.h"
#include "sim/replay/remembered.h"
#include "sim/validate/predict.h"
#include "sim/validate/step.h"

#include <math.h>
#include <stdio.h>

/* Beside the time: a recorded step's ops one after the other, each micro-batch anew but for the update,
 * shared by the devices of a replica. What crosses between devices and what is computed again is not in it.
 */
static void add_roofline(const struct ll_measured_step *step, const struct ll_trace *trace,
                         const struct ll_machine *machine, struct ll_step_times *times)
{
    const struct ll_parallel *plan = &step->plan;
    double micro_batches = (double)plan->batch / ((double)plan->micro_batch * (double)plan->data);
    double devices = (double)plan->tensor * (double)plan->context * (double)plan->pipeline;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        struct ll_work work;
        if (form->view.kind == LL_OP_COUNT || !ll_op_lower(&form->view, &work) || work.kind == LL_WORK_HOST ||
            work.kind == LL_WORK_NOTHING)
            continue;
        double often = form->phase != LL_PHASE_UPDATE ? micro_batches : !step->without_update;
        times->flops += often * (double)work.flops / devices;
        times->bytes += often * ll_work_operand_bytes(&work) / devices;
        times->roofline_s += often * ll_work_roofline_s(machine, &work) / devices;
    }
}

void ll_last_spread_release(struct ll_last_spread *last)
{
    ll_spread_free(last->spread);
    *last = (struct ll_last_spread){0};
}

/* NULL after complaints. */
static const struct ll_spread *spread_by(const struct ll_parallel *plan, uint64_t devices,
                                         const struct ll_trace *trace, struct ll_last_spread *last,
                                         struct ll_diags *diags)
{
    if (last->spread && last->trace == trace && ll_spread_take_batch(last->spread, plan, devices))
        return last->spread;
    ll_last_spread_release(last);
    *last = (struct ll_last_spread){trace, ll_spread_trace(trace, plan, devices, diags)};
    return last->spread;
}

/* Negative after complaints. */
static double time_of(const struct ll_parallel *plan, uint64_t devices, const struct ll_trace *trace,
                      const struct ll_machine *machine, struct ll_last_spread *last, struct ll_diags *diags)
{
    const struct ll_spread *spread = spread_by(plan, devices, trace, last, diags);
    struct ll_remembered remembered = {0};
    double time_s = spread ? ll_parallel_time_s(spread, machine, &remembered, diags) : -1;
    ll_remembered_release(&remembered);
    return time_s;
}

/* A batch more takes as long as a step does without its update. */
static double without_update_s(const struct ll_measured_step *step, const struct ll_trace *trace,
                               const struct ll_machine *machine, struct ll_last_spread *last,
                               struct ll_diags *diags)
{
    struct ll_parallel twice = step->plan;
    twice.batch *= 2;
    double one_s = time_of(&step->plan, step->devices, trace, machine, last, diags);
    double two_s = one_s < 0 ? -1 : time_of(&twice, step->devices, trace, machine, last, diags);
    return two_s < 0 ? -1 : two_s - one_s;
}

bool ll_measured_step_times(const struct ll_measured_step *step, const struct ll_trace *trace,
                            const struct ll_machine *machine, struct ll_last_spread *last,
                            struct ll_step_times *times, char *trouble, size_t size)
{
    struct ll_diags diags = {0};
    double time_s = step->without_update && step->wanted.train
                        ? without_update_s(step, trace, machine, last, &diags)
                        : time_of(&step->plan, step->devices, trace, machine, last, &diags);
    if (time_s < 0)
        snprintf(trouble, size, "%s", diags.kept_count ? diags.kept[0].message : "memory ran out");
    *times = (struct ll_step_times){.time_s = time_s};
    if (time_s >= 0)
        add_roofline(step, trace, machine, times);
    ll_diags_release(&diags);
    return time_s >= 0;
}
