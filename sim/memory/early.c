/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/early.h"

#include "tracer/ir/trace.h"

/* When a storage is touched first and last, ops being where they have moved to. */
struct span {
    uint32_t first, last;
    bool touched;
};

static void touch(struct span *span, uint32_t at)
{
    span->first = span->touched && span->first < at ? span->first : at;
    span->last = span->touched && span->last > at ? span->last : at;
    span->touched = true;
}

/* Where an op runs: updates as early as what they read allows. */
static uint32_t place_of(const struct ll_trace *trace, uint32_t op, const struct span *spans)
{
    const struct ll_form *form = &trace->forms[trace->ops[op].form];
    uint32_t at = 0;
    if (form->phase != LL_PHASE_UPDATE)
        return op;
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        const struct span *span = &spans[trace->tensors[ll_op_input(trace, op, i)].storage];
        at = span->touched && span->last > at ? span->last : at;
    }
    return at;
}

static void find_spans(const struct ll_trace *trace, struct span *spans)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
        uint32_t at = place_of(trace, op, spans);
        for (uint32_t i = 0; i < view->input_count; i++)
            touch(&spans[trace->tensors[ll_op_input(trace, op, i)].storage], at);
        for (uint32_t i = 0; i < view->output_count; i++)
            touch(&spans[trace->tensors[ll_op_output(trace, op, i)].storage], at);
    }
}

/* When it lives: what the model brought from the start on, what is kept throughout. */
static void move_life(struct ll_life *life, const struct span *span)
{
    if (life->first == LL_NONE || life->memory == LL_WEIGHT || life->memory == LL_OPTIMIZER || !span->touched)
        return;
    life->first = life->first == 0 ? 0 : span->first;
    life->last = span->last;
}

static bool footprint_moved(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    struct ll_arena arena = {0};
    *footprint = (struct ll_footprint){.peak_op = LL_NONE};
    if (trace->op_count == 0)
        return true;
    const struct ll_life *recorded = ll_lives(trace, &arena);
    struct ll_life *lives = recorded ? ll_copy(&arena, recorded, trace->storage_count * sizeof *lives) : NULL;
    struct span *spans = ll_alloc(&arena, trace->storage_count, sizeof *spans);
    bool done = lives && spans;
    if (done) {
        find_spans(trace, spans);
        for (uint64_t s = 0; s < trace->storage_count; s++)
            move_life(&lives[s], &spans[s]);
        done = ll_footprint_of_lives(trace, lives, footprint);
    }
    ll_arena_release(&arena);
    return done;
}

bool ll_footprint_early(const struct ll_trace *trace, struct ll_footprint *footprint)
{
    struct ll_footprint recorded;
    if (!ll_footprint(trace, &recorded) || !footprint_moved(trace, footprint))
        return false;
    if (recorded.peak_bytes < footprint->peak_bytes)
        *footprint = recorded;
    return true;
}
