/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over tensors and inputs finds for each storage its size, class, first and last op. Sizes are
 * then added at births and taken off after deaths on a walk over the ops, and the classes collected at the
 * peak that was found. */
#include "sim/memory/footprint.h"

#include <stdlib.h>
#include <string.h>

struct life {
    uint64_t bytes;
    uint32_t first, last; /* ops, both inclusive; first is LL_NONE until a tensor is met */
    uint32_t memory;      /* enum ll_memory_class */
    bool updates;         /* an op of the update reads it */
};

/* Tensors are numbered in the order of recording, so the first of a storage comes first. */
static void meet_tensors(const struct ll_trace *trace, struct life *lives)
{
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        const struct ll_desc *desc = &trace->descs[tensor->desc];
        struct life *life = &lives[tensor->storage];
        uint32_t op = tensor->producer == LL_NONE ? 0 : tensor->producer;
        if (life->first == LL_NONE)
            *life = (struct life){.first = op, .memory = desc->memory};
        life->last = op;
        life->bytes = ll_max(life->bytes, ll_size_bytes(&desc->shape));
    }
}

static void meet_readers(const struct ll_trace *trace, struct life *lives)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            struct life *life = &lives[trace->tensors[ll_op_input(trace, op, i)].storage];
            life->updates |= form->phase == LL_PHASE_UPDATE;
            if (life->last < op)
                life->last = op;
        }
    }
}

/* Weights and optimizer state outlive the trace on both sides. */
static void keep_model(const struct ll_trace *trace, struct life *lives)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        bool kept = lives[s].memory == LL_WEIGHT || lives[s].memory == LL_OPTIMIZER;
        if (kept && lives[s].first != LL_NONE) {
            lives[s].first = 0;
            lives[s].last = (uint32_t)(trace->op_count - 1);
        }
    }
}

/* Per op, what is born with it and what dies after it. */
struct flow {
    uint64_t born_bytes, dead_bytes;
};

static void find_peak(const struct ll_trace *trace, const struct life *lives, struct flow *flows,
                      struct ll_footprint *footprint)
{
    uint64_t live_bytes = 0;
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        if (lives[s].first == LL_NONE)
            continue;
        flows[lives[s].first].born_bytes = ll_add(flows[lives[s].first].born_bytes, lives[s].bytes);
        flows[lives[s].last].dead_bytes = ll_add(flows[lives[s].last].dead_bytes, lives[s].bytes);
    }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        live_bytes = ll_add(live_bytes, flows[op].born_bytes);
        if (footprint->peak_op == LL_NONE || live_bytes > footprint->peak_bytes) {
            footprint->peak_op = op;
            footprint->peak_bytes = live_bytes;
        }
        live_bytes = ll_sub(live_bytes, flows[op].dead_bytes);
    }
}

static enum ll_training_memory holds(const struct life *life)
{
    static const enum ll_training_memory of[LL_MEMORY_COUNT] = {
        [LL_WEIGHT] = LL_HOLDS_WEIGHTS,          [LL_GRADIENT] = LL_HOLDS_FEATURE_MAPS,
        [LL_ACTIVATION] = LL_HOLDS_FEATURE_MAPS, [LL_OPTIMIZER] = LL_HOLDS_DYNAMIC,
        [LL_WORKSPACE] = LL_HOLDS_WORKSPACE,     [LL_INPUT] = LL_HOLDS_DYNAMIC,
    };
    return life->memory == LL_GRADIENT && life->updates ? LL_HOLDS_WEIGHT_GRADIENTS : of[life->memory];
}

/* The peak of one kind of memory alone; flows are scratch. */
static uint64_t find_most(const struct ll_trace *trace, const struct life *lives,
                          enum ll_training_memory which, struct flow *flows)
{
    uint64_t live_bytes = 0, most_bytes = 0;
    memset(flows, 0, trace->op_count * sizeof *flows);
    for (uint64_t s = 0; s < trace->storage_count; s++)
        if (lives[s].first != LL_NONE && holds(&lives[s]) == which) {
            flows[lives[s].first].born_bytes = ll_add(flows[lives[s].first].born_bytes, lives[s].bytes);
            flows[lives[s].last].dead_bytes = ll_add(flows[lives[s].last].dead_bytes, lives[s].bytes);
        }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        live_bytes = ll_add(live_bytes, flows[op].born_bytes);
        most_bytes = ll_max(most_bytes, live_bytes);
        live_bytes = ll_sub(live_bytes, flows[op].dead_bytes);
    }
    return most_bytes;
}

const char *ll_training_memory_name(enum ll_training_memory memory)
{
    static const char *const names[LL_HOLDS_COUNT] = {
#define X(word, name) [LL_HOLDS_##word] = name,
        LL_TRAINING_MEMORY_LIST(X)
#undef X
    };
    return names[memory];
}

static void sum_classes(const struct ll_trace *trace, const struct life *lives,
                        struct ll_footprint *footprint)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        const struct life *life = &lives[s];
        if (life->first != LL_NONE && life->first <= footprint->peak_op && life->last >= footprint->peak_op)
            footprint->class_bytes[life->memory] = ll_add(footprint->class_bytes[life->memory], life->bytes);
    }
}

bool ll_footprint(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    if (trace->op_count == 0)
        return true;
    struct life *lives = calloc(trace->storage_count + 1, sizeof *lives);
    struct flow *flows = calloc(trace->op_count, sizeof *flows);
    if (lives && flows) {
        for (uint64_t s = 0; s < trace->storage_count; s++)
            lives[s].first = LL_NONE;
        meet_tensors(trace, lives);
        meet_readers(trace, lives);
        keep_model(trace, lives);
        find_peak(trace, lives, flows, footprint);
        sum_classes(trace, lives, footprint);
        for (int i = 0; i < LL_HOLDS_COUNT; i++)
            footprint->most_bytes[i] = find_most(trace, lives, (enum ll_training_memory)i, flows);
    }
    bool done = lives && flows;
    free(lives);
    free(flows);
    return done;
}
