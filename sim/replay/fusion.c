/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion of element-wise ops, as compilers and hand-written epilogues do it: an element-wise op that reads
 * what the op right before it has just made takes it from registers and needs no start of its own; when
 * nobody else reads it, the result in between never goes to memory, but for what outlives the trace: an
 * updated weight is stored, whoever reads it next. What computes is counted as before. In chains the op
 * before is no product, which a library does alone.
 *
 * A few ops that move next to nothing may stand between the two, as the running averages of a normalisation
 * do between it and its activation. */
#include "sim/replay/replay_parts.h"

#include "sim/cost/cost_parts.h"

enum {
    MOST_OPERANDS = 64,   /* bits of ll_fused.held */
    MOST_BETWEEN = 4,     /* ops: two moving averages, each written as one op or as two */
    NEXT_TO_NOTHING = 16, /* that often the bytes of each go into those that are passed on: assumed; what
                             belongs to channels is smaller than images by far more */
};

/* How many ops read each tensor; saturates at 255. NULL when memory ran out. */
static uint8_t *count_readers(const struct ll_trace *trace, struct ll_arena *arena)
{
    uint8_t *readers = ll_alloc(arena, trace->tensor_count, sizeof *readers);
    for (uint32_t seq = 0; readers && seq < trace->op_count; seq++) {
        const struct ll_op_view *view = &trace->forms[trace->ops[seq].form].view;
        for (uint32_t i = 0; i < view->input_count; i++) {
            uint32_t tensor = ll_op_input(trace, seq, i);
            readers[tensor] = (uint8_t)(readers[tensor] + (readers[tensor] < UINT8_MAX));
        }
    }
    return readers;
}

bool ll_fusion_leads(enum ll_fusion fusion, const struct ll_work *work)
{
    uint64_t kind = work->kind;
    if (fusion == LL_FUSION_NONE || (fusion == LL_FUSION_CHAINS && ll_is_product(work)))
        return false;
    return kind != LL_WORK_NOTHING && kind != LL_WORK_HOST && kind != LL_WORK_SWAP && kind != LL_WORK_WAIT &&
           kind != LL_WORK_COLLECTIVE;
}

/* Whether all ops between the leader and seq, which it would start with, move little beside its bytes. */
static bool stands_near(const struct ll_prepared *prepared, uint32_t leader, uint32_t seq,
                        double passed_bytes)
{
    bool near = seq - leader <= MOST_BETWEEN + 1;
    for (uint32_t between = leader + 1; near && between < seq; between++) {
        const struct ll_work *work = &prepared->works[prepared->trace->ops[between].form];
        near = ll_work_bytes(work) * NEXT_TO_NOTHING <= passed_bytes;
    }
    return near;
}

/* The operand of op seq that was made last, by an op that it can start with; LL_NONE when there is none. */
static uint32_t fused_operand(const struct ll_prepared *prepared, enum ll_fusion fusion, uint32_t seq)
{
    const struct ll_trace *trace = prepared->trace;
    const struct ll_op_view *view = &trace->forms[trace->ops[seq].form].view;
    uint32_t last = LL_NONE, leader = 0;
    if (ll_op_class(view->kind) != LL_CLASS_ELEMENTWISE)
        return LL_NONE;
    for (uint32_t i = 0; i < view->input_count && i < MOST_OPERANDS; i++) {
        uint32_t producer = trace->tensors[ll_op_input(trace, seq, i)].producer;
        if (producer == LL_NONE || producer < prepared->first_op || (last != LL_NONE && producer <= leader))
            continue;
        last = i;
        leader = producer;
    }
    bool leads = last != LL_NONE && ll_fusion_leads(fusion, &prepared->works[trace->ops[leader].form]);
    return leads && stands_near(prepared, leader, seq, (double)ll_size_bytes(&view->in[last])) ? last
                                                                                               : LL_NONE;
}

static bool writes_over(const struct ll_trace *trace, uint32_t seq, uint32_t storage)
{
    bool writes = false;
    for (uint32_t i = 0; i < trace->forms[trace->ops[seq].form].view.output_count; i++)
        writes |= trace->tensors[ll_op_output(trace, seq, i)].storage == storage;
    return writes;
}

/* Whether the tensor is of no use once op seq, which alone reads it, is done. */
static bool ends_with(const struct ll_trace *trace, uint32_t tensor, uint32_t seq)
{
    const struct ll_tensor *made = &trace->tensors[tensor];
    enum ll_memory_class memory = (enum ll_memory_class)trace->descs[made->desc].memory;
    bool lasts = memory == LL_WEIGHT || memory == LL_OPTIMIZER;
    return !lasts || writes_over(trace, seq, made->storage);
}

const struct ll_fused *ll_find_fusion(const struct ll_prepared *prepared, enum ll_fusion fusion,
                                      struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_arena scratch = {0};
    uint8_t *readers = count_readers(trace, &scratch);
    struct ll_fused *fused = ll_alloc(arena, trace->op_count, sizeof *fused);
    for (uint32_t seq = prepared->first_op + 1; readers && fused && seq < prepared->end_op; seq++) {
        uint32_t operand = fused_operand(prepared, fusion, seq);
        if (operand == LL_NONE)
            continue;
        uint32_t tensor = ll_op_input(trace, seq, operand);
        uint32_t leader = trace->tensors[tensor].producer;
        fused[seq].follows = true;
        fused[seq].leader = leader;
        fused[seq].held |= (uint64_t)1 << operand;
        uint32_t output = trace->forms[trace->ops[leader].form].view.input_count +
                          (tensor - trace->ops[leader].first_output);
        if (readers[tensor] == 1 && output < MOST_OPERANDS && ends_with(trace, tensor, seq))
            fused[leader].held |= (uint64_t)1 << output;
    }
    bool whole = readers && fused;
    ll_arena_release(&scratch);
    return whole ? fused : NULL;
}
