/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/recast.h"

#include "sim/parallel/holding.h"
#include "sim/parallel/once.h"
#include "tracer/transform/rewrite.h"

struct recasting {
    const struct ll_trace *program;
    struct ll_rewrite rewrite;
    bool *of_cast; /* by op: it casts a weight, or looks at what does */
    bool *again;   /* by op: it has been made again */
};

static const struct ll_form *form_of(const struct recasting *r, uint32_t op)
{
    return &r->program->forms[r->program->ops[op].form];
}

/* The op that made an input and has to do with casts; LL_NONE: another, or none. */
static uint32_t cast_behind(const struct recasting *r, uint32_t op, uint32_t input)
{
    uint32_t from = r->program->tensors[ll_op_input(r->program, op, input)].producer;
    return from != LL_NONE && r->of_cast[from] ? from : LL_NONE;
}

static bool find_casts(struct recasting *r)
{
    uint64_t ops = r->program->op_count;
    r->of_cast = ll_alloc(&r->rewrite.arena, ops + 1, sizeof *r->of_cast);
    r->again = ll_alloc(&r->rewrite.arena, ops + 1, sizeof *r->again);
    for (uint32_t op = 0; r->of_cast && op < ops; op++) {
        const struct ll_form *form = form_of(r, op);
        r->of_cast[op] = ll_is_lasting_cast(r->program, form) ||
                         (ll_is_look(&form->view) && cast_behind(r, op, 0) != LL_NONE);
    }
    return r->of_cast && r->again;
}

/* What it makes is an activation now, free behind the last reader of the pass. */
static void put_cast(struct recasting *r, uint32_t op, enum ll_phase phase)
{
    struct ll_record record;
    if (!ll_rewrite_record(&r->rewrite, op, &record))
        return;
    const struct ll_desc *old = &r->program->descs[form_of(r, op)->outputs[0]];
    uint32_t desc =
        ll_rewrite_new_desc(&r->rewrite, r->program->strings[old->name], &old->shape, LL_ACTIVATION);
    record.phase = phase;
    record.outputs = &desc;
    ll_rewrite_put(&r->rewrite, op, &record);
}

static void make_again(struct recasting *r, uint32_t op)
{
    if (r->again[op])
        return;
    r->again[op] = true;
    for (uint32_t i = 0; i < form_of(r, op)->view.input_count; i++)
        if (cast_behind(r, op, i) != LL_NONE)
            make_again(r, cast_behind(r, op, i));
    put_cast(r, op, LL_PHASE_BACKWARD);
}

static void put(struct recasting *r, uint32_t op)
{
    enum ll_phase phase = form_of(r, op)->phase;
    if (r->of_cast[op]) {
        r->again[op] = phase == LL_PHASE_BACKWARD;
        put_cast(r, op, phase);
        return;
    }
    for (uint32_t i = 0; phase == LL_PHASE_BACKWARD && i < form_of(r, op)->view.input_count; i++)
        if (cast_behind(r, op, i) != LL_NONE)
            make_again(r, cast_behind(r, op, i));
    ll_rewrite_keep(&r->rewrite, op);
}

bool ll_has_lasting_casts(const struct ll_trace *program)
{
    for (uint64_t i = 0; i < program->form_count; i++)
        if (ll_is_lasting_cast(program, &program->forms[i]))
            return true;
    return false;
}

struct ll_trace *ll_recast(const struct ll_trace *program, const char **trouble)
{
    struct recasting r = {.program = program};
    ll_rewrite_begin(&r.rewrite, program, NULL, 0);
    if (!find_casts(&r))
        ll_rewrite_trouble(&r.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < program->op_count && !r.rewrite.trouble; op++) {
        ll_rewrite_step(&r.rewrite, op);
        put(&r, op);
    }
    return ll_rewrite_end(&r.rewrite, trouble);
}
