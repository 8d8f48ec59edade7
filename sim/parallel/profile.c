/* SPDX-License-Identifier: Apache-2.0 */
/* Time is what the end of all moves on with each op, so that the layers' times add up to the step's. */
#include "sim/parallel/profile.h"

#include "sim/parallel/layers.h"
#include "sim/parallel/stage_memory.h"
#include "tracer/lives.h"

#include <math.h>
#include <string.h>

/* What belongs to no layer counts for the first. */
static struct ll_layer_cost *cost_of(const struct ll_layer_costs *costs, const struct ll_layers *layers,
                                     uint32_t op)
{
    uint32_t layer = op == LL_NONE || layers->owner[op] == LL_NONE ? 0 : layers->owner[op];
    return &costs->at[layer];
}

static void sum_times(const struct ll_result *result, const struct ll_layers *layers,
                      const struct ll_layer_costs *costs)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double end_s = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
        enum ll_phase phase = trace->forms[trace->ops[seq].form].phase;
        double more_s = fmax(0, op->start_s + op->time_s - end_s) / (double)prepared->steps;
        struct ll_layer_cost *cost = cost_of(costs, layers, seq);
        end_s = fmax(end_s, op->start_s + op->time_s);
        if (phase == LL_PHASE_BACKWARD)
            cost->backward_s += more_s;
        else if (phase == LL_PHASE_UPDATE || phase == LL_PHASE_COMM) {
            cost->update_s += more_s;
            cost->update_start_s +=
                fmin(more_s, result->machine->software.op_overhead_s / (double)prepared->steps);
        } else
            cost->forward_s += more_s;
    }
}

/* By storage the first op that reads it. */
static void sum_brought(const struct ll_trace *trace, const struct ll_life *lives, const uint32_t *reader,
                        const struct ll_layers *layers, const struct ll_layer_costs *costs)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        if (lives[s].first == LL_NONE || reader[s] == LL_NONE)
            continue;
        struct ll_layer_cost *cost = cost_of(costs, layers, reader[s]);
        if (lives[s].memory == LL_WEIGHT)
            cost->weight_bytes += (double)lives[s].bytes;
        else if (lives[s].memory == LL_OPTIMIZER)
            cost->optimizer_bytes += (double)lives[s].bytes;
        else if (lives[s].memory == LL_GRADIENT && lives[s].updates)
            cost->gradient_bytes += (double)lives[s].bytes;
    }
}

/* What the ops of each layer read of weights, going forward and going backward; a weight that several layers
 * read counts for each. reader: by storage which of these passes read it last. */
static void sum_read(const struct ll_trace *trace, const struct ll_life *lives,
                     const struct ll_layers *layers, const struct ll_layer_costs *costs, uint32_t *reader)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        bool backward = form->phase == LL_PHASE_BACKWARD;
        struct ll_layer_cost *cost = cost_of(costs, layers, op);
        uint32_t pass = 2 * (uint32_t)(cost - costs->at) + backward;
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            uint32_t storage = trace->tensors[ll_op_input(trace, op, i)].storage;
            if (form->phase == LL_PHASE_UPDATE || lives[storage].memory != LL_WEIGHT ||
                reader[storage] == pass)
                continue;
            reader[storage] = pass;
            *(backward ? &cost->backward_read_bytes : &cost->forward_read_bytes) +=
                (double)lives[storage].bytes;
        }
    }
}

/* The last forward op of the first step, and of each storage what it is kept for. */
static void sum_kept(const struct ll_trace *trace, const struct ll_life *lives, const uint32_t *reader,
                     const struct ll_layers *layers, const struct ll_layer_costs *costs)
{
    uint32_t boundary = ll_end_of_forward(trace);
    for (uint64_t s = 0; s < trace->storage_count && boundary != LL_NONE; s++) {
        bool lasts = lives[s].memory == LL_WEIGHT || lives[s].memory == LL_OPTIMIZER;
        if (lives[s].first != LL_NONE && reader[s] != LL_NONE && !lasts && lives[s].first <= boundary &&
            lives[s].last > boundary)
            cost_of(costs, layers, reader[s])->kept_bytes += (double)lives[s].bytes;
    }
}

/* Each tensor once, whoever reads it later. */
static void sum_handed(const struct ll_trace *trace, const struct ll_layers *layers,
                       const struct ll_layer_costs *costs, bool *handed)
{
    uint32_t boundary = ll_end_of_forward(trace);
    for (uint32_t op = 0; boundary != LL_NONE && op <= boundary; op++) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            uint32_t tensor = ll_op_input(trace, op, i), maker = trace->tensors[tensor].producer;
            if (maker == LL_NONE || layers->owner[maker] == LL_NONE || layers->owner[op] == LL_NONE ||
                layers->owner[maker] >= layers->owner[op] || handed[tensor])
                continue;
            handed[tensor] = true;
            costs->at[layers->owner[maker]].handed_bytes +=
                (double)ll_size_bytes(&trace->descs[trace->tensors[tensor].desc].shape);
        }
    }
}

/* By storage the op that first reads it or makes it. */
static uint32_t *first_users(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint32_t *user = ll_alloc(arena, trace->storage_count + 1, sizeof *user);
    for (uint64_t s = 0; user && s < trace->storage_count; s++)
        user[s] = LL_NONE;
    for (uint64_t op = trace->op_count; user && op-- > 0;) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        for (uint32_t i = 0; i < form->view.input_count; i++)
            user[trace->tensors[ll_op_input(trace, (uint32_t)op, i)].storage] = (uint32_t)op;
        for (uint32_t i = 0; i < form->view.output_count; i++)
            user[trace->tensors[ll_op_output(trace, (uint32_t)op, i)].storage] = (uint32_t)op;
    }
    return user;
}

bool ll_layer_costs(const struct ll_result *result, struct ll_arena *arena, struct ll_layer_costs *costs)
{
    const struct ll_trace *trace = result->prepared->trace;
    struct ll_arena scratch = {0};
    struct ll_layers layers = {0};
    struct ll_piece_memory memory;
    const struct ll_life *lives = ll_lives(trace, &scratch);
    uint32_t *user = first_users(trace, &scratch);
    bool *handed = ll_alloc(&scratch, trace->tensor_count + 1, sizeof *handed);
    bool done = lives && user && handed && ll_layers_find(trace, &scratch, &layers) &&
                ll_piece_memory(trace, false, &memory);
    *costs = (struct ll_layer_costs){.count = layers.count};
    costs->at = done ? ll_alloc(arena, layers.count + 1u, sizeof *costs->at) : NULL;
    if (costs->at) {
        for (uint32_t i = 0; i < layers.count; i++) {
            costs->at[i].flops = layers.flops[i];
            costs->at[i].named_flops = layers.named_flops[i];
        }
        sum_times(result, &layers, costs);
        sum_brought(trace, lives, user, &layers, costs);
        sum_kept(trace, lives, user, &layers, costs);
        sum_handed(trace, &layers, costs, handed);
        memset(user, 0xff, trace->storage_count * sizeof *user);
        sum_read(trace, lives, &layers, costs, user);
        costs->passing_bytes = (double)ll_passing_bytes(&memory);
    }
    ll_arena_release(&scratch);
    return costs->at;
}
