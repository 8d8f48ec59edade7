/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/stored.h"

#include "tracer/form.h"
#include "tracer/ops_rules.h"
#include "tracer/retype.h"

/* How a desc is used. */
enum use { UNUSED, MULTIPLIED, OTHERWISE };

struct usage {
    const bool *views; /* by form */
    uint8_t *uses;     /* enum use, by desc */
    bool *of_weight;   /* a weight, or one seen otherwise; by desc */
};

/* What a product reads of its right operand: all, or the matrices of a stack that it computes. */
static uint64_t read_of(const struct ll_op_view *view)
{
    bool stack = view->kind == LL_OP_BATCH_MATMUL;
    return stack ? ll_stack_bytes(view, &view->in[1]) : ll_size_bytes(&view->in[1]);
}

/* Whether input 1 is the right operand of a product. */
static bool multiplies(const struct ll_op_view *view)
{
    struct ll_work work;
    return view->kind != LL_OP_COUNT && view->input_count > 1 && ll_op_lower(view, &work) &&
           ll_is_product(&work) && work.b_bytes == read_of(view);
}

static void look_at(const struct ll_form *form, uint8_t *uses)
{
    bool product = multiplies(&form->view);
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint8_t *use = &uses[form->inputs[i]];
        *use = product && i == 1 && *use != OTHERWISE ? MULTIPLIED : OTHERWISE;
    }
    for (uint32_t i = 0; i < form->view.output_count; i++)
        uses[form->outputs[i]] = OTHERWISE;
}

/* A look at a weight is one. Whether anything is new. */
static bool pass_weight(const struct ll_form *form, struct usage *usage)
{
    bool from = usage->of_weight[form->inputs[0]], *to = &usage->of_weight[form->outputs[0]];
    bool new = from && !*to;
    *to |= from;
    return new;
}

/* A tensor and a look at it are used alike, and otherwise where the same desc is a look at something else,
 * too. Whether anything is new. */
static bool pass_use(const struct ll_form *form, struct usage *usage)
{
    uint32_t in = form->inputs[0], out = form->outputs[0];
    uint8_t *of = &usage->uses[in], *as = &usage->uses[out], was_of = *of, was_as = *as;
    bool alike = usage->of_weight[in] == usage->of_weight[out];
    *of = *as = alike ? (uint8_t)ll_max(*of, *as) : OTHERWISE;
    return *of != was_of || *as != was_as;
}

static void pass_on(const struct ll_trace *trace, struct usage *usage,
                    bool (*pass)(const struct ll_form *form, struct usage *usage))
{
    for (bool new = true; new;) {
        new = false;
        for (uint64_t i = 0; i < trace->form_count; i++)
            if (usage->views[i])
                new |= pass(&trace->forms[i], usage);
    }
}

static void find_uses(const struct ll_trace *trace, struct usage *usage)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        usage->of_weight[i] = trace->descs[i].memory == LL_WEIGHT;
    for (uint64_t i = 0; i < trace->form_count; i++)
        if (!usage->views[i])
            look_at(&trace->forms[i], usage->uses);
    pass_on(trace, usage, pass_weight);
    pass_on(trace, usage, pass_use);
}

static void retype(struct ll_trace *trace, const struct usage *usage, enum ll_dtype dtype, uint64_t *weights)
{
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        if (!usage->of_weight[i] || usage->uses[i] != MULTIPLIED ||
            !ll_dtype_is_multiplied((enum ll_dtype)shape->dtype))
            continue;
        shape->dtype = (uint8_t)dtype;
        *weights += trace->descs[i].memory == LL_WEIGHT;
    }
}

bool ll_trace_store_weights(struct ll_trace *trace, enum ll_dtype dtype, uint64_t *weights,
                            const char **trouble)
{
    struct ll_arena arena = {0};
    struct usage usage = {ll_views(trace, &arena),
                          ll_alloc(&arena, trace->desc_count + 1, sizeof *usage.uses),
                          ll_alloc(&arena, trace->desc_count + 1, sizeof *usage.of_weight)};
    bool right = usage.views && usage.uses && usage.of_weight;
    *weights = 0;
    *trouble = NULL;
    if (right) {
        find_uses(trace, &usage);
        retype(trace, &usage, dtype, weights);
    }
    for (uint64_t i = 0; right && i < trace->form_count; i++)
        right = ll_form_renew(trace, &trace->forms[i], trouble);
    ll_arena_release(&arena);
    return right && ll_trace_note(trace, "weights", ll_dtype_name(dtype));
}
