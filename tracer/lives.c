/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/lives.h"

/* Tensors are numbered in the order of recording, so the first of a storage comes first. */
static void meet_tensors(const struct ll_trace *trace, struct ll_life *lives)
{
    uint32_t start = ll_trace_has_holes(trace) ? LL_NONE : 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        const struct ll_desc *desc = &trace->descs[tensor->desc];
        struct ll_life *life = &lives[tensor->storage];
        bool brought = tensor->producer == LL_NONE;
        if (life->first == LL_NONE) {
            life->first = brought ? start : tensor->producer;
            life->memory = desc->memory;
        }
        life->last = brought ? 0 : tensor->producer;
        life->bytes = ll_max(life->bytes, ll_size_bytes(&desc->shape));
    }
}

static void meet_readers(const struct ll_trace *trace, struct ll_life *lives)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_form *form = &trace->forms[trace->ops[op].form];
        for (uint32_t i = 0; i < form->view.input_count; i++) {
            struct ll_life *life = &lives[trace->tensors[ll_op_input(trace, op, i)].storage];
            life->updates |= form->phase == LL_PHASE_UPDATE;
            if (life->first > op)
                life->first = op;
            if (life->last < op)
                life->last = op;
        }
    }
}

/* Weights and optimizer state outlive the trace on both sides. */
static void keep_model(const struct ll_trace *trace, struct ll_life *lives)
{
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        bool kept = lives[s].memory == LL_WEIGHT || lives[s].memory == LL_OPTIMIZER;
        if (kept && lives[s].first != LL_NONE) {
            lives[s].first = 0;
            lives[s].last = (uint32_t)(trace->op_count - 1);
        }
    }
}

struct ll_life *ll_lives(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct ll_life *lives = ll_alloc(arena, trace->storage_count, sizeof *lives);
    for (uint64_t s = 0; lives && s < trace->storage_count; s++)
        lives[s].first = LL_NONE;
    if (!lives)
        return NULL;
    meet_tensors(trace, lives);
    meet_readers(trace, lives);
    if (!ll_trace_has_holes(trace))
        keep_model(trace, lives);
    return lives;
}
