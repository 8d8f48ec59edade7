/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/early.h"

#include "tracer/lives.h"

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
static struct span life_of(const struct ll_life *life, const struct span *span)
{
    if (life->memory == LL_WEIGHT || life->memory == LL_OPTIMIZER || !span->touched)
        return (struct span){life->first, life->last, true};
    return (struct span){life->first == 0 ? 0 : span->first, span->last, true};
}

/* Births and deaths by op, as sim/memory/footprint.c has them; both zero before. */
static uint64_t peak_of(const struct ll_trace *trace, const struct ll_life *lives, const struct span *spans,
                        uint64_t *born_bytes, uint64_t *dead_bytes)
{
    uint64_t live_bytes = 0, peak_bytes = 0;
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        if (lives[s].first == LL_NONE)
            continue;
        struct span life = life_of(&lives[s], &spans[s]);
        born_bytes[life.first] = ll_add(born_bytes[life.first], lives[s].bytes);
        dead_bytes[life.last] = ll_add(dead_bytes[life.last], lives[s].bytes);
    }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        live_bytes = ll_add(live_bytes, born_bytes[op]);
        peak_bytes = ll_max(peak_bytes, live_bytes);
        live_bytes = ll_sub(live_bytes, dead_bytes[op]);
    }
    return peak_bytes;
}

bool ll_footprint_early(const struct ll_trace *trace, uint64_t *peak_bytes)
{
    struct ll_arena arena = {0};
    uint64_t ops = trace->op_count;
    *peak_bytes = 0;
    if (ops == 0)
        return true;
    const struct ll_life *lives = ll_lives(trace, &arena);
    struct span *spans = ll_alloc(&arena, trace->storage_count, sizeof *spans);
    uint64_t *born_bytes = ll_alloc(&arena, ops, sizeof *born_bytes);
    uint64_t *dead_bytes = ll_alloc(&arena, ops, sizeof *dead_bytes);
    bool done = lives && spans && born_bytes && dead_bytes;
    if (done) {
        find_spans(trace, spans);
        *peak_bytes = peak_of(trace, lives, spans, born_bytes, dead_bytes);
    }
    ll_arena_release(&arena);
    return done;
}
