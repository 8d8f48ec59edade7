/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/infeed.h"

#include "sim/cost/memo.h"

#include <math.h>

struct ll_machine ll_machine_with_input(const struct ll_machine *machine)
{
    struct ll_machine with_input = *machine;
    with_input.host = (struct ll_host){.cores = machine->host.cores};
    return with_input;
}

void ll_infeed_host(const struct ll_prepared *prepared, const struct ll_machine *machine,
                    struct ll_infeed *infeed)
{
    const struct ll_trace *trace = prepared->trace;
    double prepare_s = 0, transfer_s = 0;
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++) {
        uint32_t form = trace->ops[i].form;
        struct ll_cost cost;
        const char *trouble;
        if (prepared->works[form].kind == LL_WORK_HOST &&
            ll_cost_op(machine, trace->forms[form].view.kind, &prepared->works[form], &cost, NULL,
                       &trouble)) {
            prepare_s += cost.prepare_s;
            transfer_s += cost.host_s - cost.prepare_s;
        }
    }
    infeed->prepare_s = prepare_s / (double)prepared->steps;
    infeed->transfer_s = transfer_s / (double)prepared->steps;
}

void ll_infeed_share(const struct ll_machine *machine, struct ll_infeed *infeed)
{
    double host_s = infeed->prepare_s + infeed->transfer_s;
    bool beside = machine->host.buffered_steps > 1;
    infeed->step_s = beside ? fmax(infeed->device_s, host_s) : infeed->device_s + host_s;
    infeed->share = infeed->step_s > 0 ? 1 - infeed->device_s / infeed->step_s : 0;
}

/* By form: what brings input. */
static const bool *inputs_of(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    bool *inputs = ll_alloc(arena, prepared->trace->form_count, sizeof *inputs);
    for (uint64_t form = 0; inputs && form < prepared->trace->form_count; form++)
        inputs[form] = prepared->works[form].kind == LL_WORK_HOST;
    return inputs;
}

/* The step without them. Other devices are as many as they were, and what they exchange takes as long. */
static const struct ll_result *replay_fed(const struct ll_result *result, struct ll_arena *arena,
                                          struct ll_diags *diags)
{
    struct ll_memo memo = {.machine = result->machine};
    const struct ll_among among = {
        .prices = result->prices, .memo = &memo, .idle = inputs_of(result->prepared, arena)};
    const struct ll_result *fed =
        among.idle ? ll_replay_among(result->prepared, result->machine, &among, arena, diags) : NULL;
    ll_memo_release(&memo);
    return fed;
}

bool ll_infeed_of(const struct ll_result *result, struct ll_infeed *infeed)
{
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    ll_infeed_host(result->prepared, result->machine, infeed);
    bool brings = infeed->prepare_s + infeed->transfer_s > 0;
    const struct ll_result *fed = brings ? replay_fed(result, &scratch, &diags) : result;
    if (fed) {
        infeed->device_s = fed->time_s;
        ll_infeed_share(result->machine, infeed);
    }
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return fed != NULL;
}
