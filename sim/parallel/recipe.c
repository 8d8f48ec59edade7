/* SPDX-License-Identifier: Apache-2.0 */
/* Training in 8 and 4 bits: which GEMMs are narrow, and what their casts are in a recipe. The first section
 * says what stays as it is and casts the rest; the second puts in what a cast of the recipe has beside it:
 * the largest element, and a second copy for the other direction. */
#include "sim/parallel/framework.h"

#include <assert.h>
#include <string.h>

#include "sim/parallel/exchange.h"
#include "sim/parallel/pipeline.h"
#include "tracer/ir/experts.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rewrite.h"

/* What a recipe does (Transformer Engine, common/recipe; NVIDIA, Pretraining large language models with
 * NVFP4, 2025): the format; whether a pass over the tensor finds its largest element before the cast, or all
 * casts' are agreed upon once a pass; whether each direction has scales, and so a copy, of its own. */
static const struct recipe {
    enum ll_numeric numeric;
    enum ll_expert_format experts;
    bool first, later, both;
} recipes[LL_RECIPE_COUNT] = {
    [LL_RECIPE_NONE] = {.numeric = LL_NUMERIC_NONE},
    [LL_RECIPE_DELAYED] = {(enum ll_numeric)LL_F8, LL_EXPERTS_FP8, false, true, false},
    [LL_RECIPE_TENSORWISE] = {(enum ll_numeric)LL_F8, LL_EXPERTS_FP8, true, false, false},
    [LL_RECIPE_BLOCKWISE] = {LL_NUMERIC_FP8_BLOCK, LL_EXPERTS_FP8_BLOCK, false, false, true},
    [LL_RECIPE_MXFP8] = {LL_NUMERIC_MXFP8, LL_EXPERTS_FP8_BLOCK, false, false, true},
    [LL_RECIPE_NVFP4] = {LL_NUMERIC_NVFP4, LL_EXPERTS_NVFP4, true, false, true},
};

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

/* --- which are narrow --- */

/* The choice of experts, a matrix with a column for each. */
static bool chooses(const struct ll_op_view *view)
{
    for (uint32_t i = 0; i < view->input_count && view->input_count == 2; i++)
        for (unsigned dim = 0; view->in[i].rank == 2 && dim < 2; dim++)
            if (view->in[i].role[dim] == LL_ROLE_EXPERTS)
                return true;
    return false;
}

/* By op: it is of a layer at either end that stays, or chooses experts. False when memory ran out. */
static bool find_kept(const struct ll_trace *trace, const struct ll_low_precision *low,
                      struct ll_arena *arena, bool *kept)
{
    struct ll_layers layers = {0};
    const bool some = low->first_kept > 0 || low->last_kept > 0;
    if (some && !ll_layers_find(trace, arena, &layers))
        return false;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const uint32_t layer = some && layers.count ? layers.owner[op] : LL_NONE;
        kept[op] = chooses(&signature_of(trace, op)->view) ||
                   (layer != LL_NONE && (layer < low->first_kept || layer + low->last_kept >= layers.count));
    }
    return true;
}

struct ll_trace *ll_narrow_training(const struct ll_trace *trace, const struct ll_low_precision *low,
                                    const char **trouble)
{
    assert(low->recipe != LL_RECIPE_NONE);
    const struct ll_gemms gemms = {low->gemms.fprop, low->gemms.dgrad, low->gemms.wgrad};
    struct ll_arena arena = {0};
    bool *kept = ll_alloc(&arena, trace->op_count + 1, sizeof *kept);
    uint64_t count = 0;
    *trouble = ll_status_text(LL_NO_MEMORY);
    struct ll_trace *made =
        kept && find_kept(trace, low, &arena, kept)
            ? ll_trace_change_some_gemms(trace, recipes[low->recipe].numeric, gemms, kept, &count, trouble)
            : NULL;
    ll_arena_release(&arena);
    return made;
}

/* --- what casts have beside them --- */

struct completing {
    struct ll_rewrite rewrite;
    const struct ll_parallel *plan;
    const struct recipe *recipe;
    bool both;           /* directions have copies of their own */
    bool *kept;          /* by op */
    bool *row, *turned;  /* by old tensor: somebody reads it as it is, or turned */
    bool *gathered;      /* by old tensor: devices have shares of it, which are put together */
    uint32_t *turned_as; /* by old tensor: its turned copy; LL_NONE: there is none yet */
    uint32_t *expert;    /* by old tensor: a weight of experts in the type, whose turned copy follows */
    uint32_t casts, all; /* of the pass at work; of all */
};

static bool is_narrow(const struct completing *c, const struct ll_shape *shape)
{
    return shape->dtype == ll_numeric_dtype(c->recipe->numeric);
}

static bool is_cast(const struct completing *c, const struct ll_op_view *view)
{
    return view->kind == LL_OP_CAST && is_narrow(c, &view->out[0]) && !is_narrow(c, &view->in[0]);
}

static bool is_weight(const struct completing *c, uint32_t tensor)
{
    const struct ll_trace *trace = c->rewrite.old;
    const uint32_t memory = trace->descs[trace->tensors[tensor].desc].memory;
    return memory == LL_WEIGHT || memory == LL_WORKSPACE;
}

static bool multiplies(const struct ll_op_view *view)
{
    return ll_kind_is_gemm(view->kind) && view->input_count == 2;
}

static bool moves(const struct ll_op_view *view)
{
    return view->kind < LL_OP_NONE && view->input_count == 1 && view->output_count == 1 &&
           (view->kind == LL_OP_ALL_GATHER || ll_op_class(view->kind) == LL_CLASS_MOVEMENT);
}

/* Whether a GEMM sums over the other dimension of this input than the forward pass does, or its maker: of a
 * weight in the gradient of what was read, of both in the gradient of a weight. */
static bool reads_turned(const struct completing *c, uint32_t op, uint32_t input)
{
    const struct ll_trace *trace = c->rewrite.old;
    const bool weight = is_weight(c, ll_op_input(trace, op, 0)) || is_weight(c, ll_op_input(trace, op, 1));
    return c->both && signature_of(trace, op)->phase == LL_PHASE_BACKWARD &&
           (!weight || is_weight(c, ll_op_input(trace, op, input)));
}

static void find_wants(struct completing *c)
{
    const struct ll_trace *trace = c->rewrite.old;
    for (uint32_t op = (uint32_t)trace->op_count; op-- > 0;) {
        const struct ll_op_view *view = &signature_of(trace, op)->view;
        for (uint32_t i = 0; i < view->input_count; i++) {
            const uint32_t tensor = ll_op_input(trace, op, i);
            if (!is_narrow(c, &view->in[i]))
                continue;
            if (moves(view)) {
                c->row[tensor] |= c->row[ll_op_output(trace, op, 0)];
                c->turned[tensor] |= c->turned[ll_op_output(trace, op, 0)];
                c->gathered[tensor] |= view->kind == LL_OP_ALL_GATHER;
            } else if (multiplies(view) && reads_turned(c, op, i)) {
                c->turned[tensor] = true;
            } else {
                c->row[tensor] = true;
            }
        }
    }
}

/* The largest element of a tensor, of which other devices may have shares: the op that has found it. */
static uint32_t find_largest(struct completing *c, const struct ll_record *cast, bool agree)
{
    const struct ll_shape number = {.dtype = LL_F32};
    struct ll_record record = *cast;
    uint32_t desc = ll_rewrite_new_desc(&c->rewrite, "largest", &number, LL_ACTIVATION);
    record.kind = LL_OP_REDUCTION;
    record.outputs = &desc;
    record.output_count = 1;
    uint32_t largest = ll_rewrite_add(&c->rewrite, &record);
    const struct ll_exchange_place place = {cast->scope, cast->phase, c->plan->tensor, 1};
    if (agree && largest != LL_NONE)
        ll_rewrite_exchange(&c->rewrite, LL_OP_ALL_REDUCE, largest, desc, &place);
    return c->rewrite.op_count - 1;
}

/* A cast of a recipe: to one copy, or to one for each direction by the same kernel. The first of its
 * outputs. */
static uint32_t put_cast(struct completing *c, struct ll_record *record, bool both, bool agree)
{
    const uint32_t descs[] = {record->outputs[0], record->outputs[0]};
    uint32_t after = LL_NONE;
    if (c->recipe->first)
        after = find_largest(c, record, agree && c->plan->tensor > 1);
    record->kind = both ? LL_OP_CAST_BOTH : LL_OP_CAST;
    record->outputs = descs;
    record->output_count = both ? 2 : 1;
    if (after != LL_NONE) {
        record->controls = &after;
        record->control_count = 1;
        record->storage_count = record->gap_count = 0;
    }
    c->casts++;
    c->all++;
    return ll_rewrite_add(&c->rewrite, record);
}

static void rewrite_cast(struct completing *c, uint32_t op)
{
    const uint32_t tensor = ll_op_output(c->rewrite.old, op, 0);
    const bool both = c->row[tensor] && c->turned[tensor];
    struct ll_record record;
    ll_rewrite_step(&c->rewrite, op);
    if (!ll_rewrite_record(&c->rewrite, op, &record))
        return;
    uint32_t made = put_cast(c, &record, both, c->gathered[tensor]);
    if (made == LL_NONE)
        return;
    c->rewrite.ops[op] = c->rewrite.op_count - 1;
    ll_rewrite_redirect(&c->rewrite, tensor, made);
    c->turned_as[tensor] = both ? made + 1 : made;
}

/* What is done with a tensor is done with its turned copy, too. */
static void rewrite_move(struct completing *c, uint32_t op)
{
    const uint32_t from = ll_op_input(c->rewrite.old, op, 0), to = ll_op_output(c->rewrite.old, op, 0);
    struct ll_record record;
    ll_rewrite_keep(&c->rewrite, op);
    c->turned_as[to] = ll_rewrite_tensor(&c->rewrite, to);
    if (!c->turned[to] || !c->row[to] || !ll_rewrite_record(&c->rewrite, op, &record))
        return;
    record.inputs = &c->turned_as[from];
    c->turned_as[to] = ll_rewrite_add(&c->rewrite, &record);
}

static void rewrite_gemm(struct completing *c, uint32_t op)
{
    const struct ll_trace *trace = c->rewrite.old;
    const struct ll_op_view *view = &signature_of(trace, op)->view;
    struct ll_record record;
    if (!ll_rewrite_record(&c->rewrite, op, &record))
        return;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t tensor = ll_op_input(trace, op, i);
        if (is_narrow(c, &view->in[i]) && reads_turned(c, op, i) && c->turned_as[tensor] != LL_NONE)
            c->rewrite.refs[i] = c->turned_as[tensor];
    }
    ll_rewrite_put(&c->rewrite, op, &record);
}

/* A weight of experts in the type, once a step, for both directions where both read it. */
static uint32_t cast_expert(struct completing *c, uint32_t op, uint32_t tensor)
{
    const struct ll_trace *trace = c->rewrite.old;
    const struct ll_tensor_desc *old = &trace->descs[trace->tensors[tensor].desc];
    struct ll_shape shape = old->shape;
    if (c->expert[tensor] != LL_NONE)
        return c->expert[tensor];
    shape.dtype = (uint8_t)ll_numeric_dtype(c->recipe->numeric);
    shape.scales = (uint8_t)ll_numeric_scales(c->recipe->numeric, true);
    uint32_t from = ll_rewrite_tensor(&c->rewrite, tensor),
             desc = ll_rewrite_new_desc(&c->rewrite, trace->strings[old->name], &shape, LL_WORKSPACE);
    struct ll_record record = {.phase = signature_of(trace, op)->phase,
                               .scope = ll_rewrite_string(&c->rewrite, signature_of(trace, op)->scope),
                               .inputs = &from,
                               .input_count = 1,
                               .outputs = &desc,
                               .output_count = 1};
    const struct ll_low_precision *low = &c->plan->low_precision;
    return c->expert[tensor] = put_cast(c, &record, c->both && low->gemms.fprop && low->gemms.dgrad, false);
}

/* Tokens in the type, from which rows are taken. */
static uint32_t cast_tokens(struct completing *c, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(c->rewrite.old, op);
    struct ll_shape shape = signature->view.in[0];
    uint32_t from = ll_rewrite_tensor(&c->rewrite, ll_op_input(c->rewrite.old, op, 0));
    shape.dtype = (uint8_t)ll_numeric_dtype(c->recipe->numeric);
    shape.scales = (uint8_t)ll_numeric_scales(c->recipe->numeric, false);
    uint32_t desc = ll_rewrite_new_desc(&c->rewrite, "tokens of experts", &shape, LL_ACTIVATION);
    struct ll_record record = {.phase = signature->phase,
                               .scope = ll_rewrite_string(&c->rewrite, signature->scope),
                               .inputs = &from,
                               .input_count = 1,
                               .outputs = &desc,
                               .output_count = 1};
    return put_cast(c, &record, false, false);
}

/* Experts multiply in the format, with weights cast once a step. */
static void rewrite_experts(struct completing *c, uint32_t op)
{
    const struct ll_op_signature *signature = signature_of(c->rewrite.old, op);
    const bool backward = signature->view.kind == LL_OP_EXPERTS_GRAD;
    uint32_t weights[2];
    struct ll_record record;
    ll_rewrite_step(&c->rewrite, op);
    const uint32_t tokens = backward ? LL_NONE : cast_tokens(c, op);
    for (uint32_t i = 0; i < 2; i++) {
        weights[i] = cast_expert(c, op, ll_op_input(c->rewrite.old, op, 3 + backward + i));
        if (backward && c->both && c->plan->low_precision.gemms.fprop && weights[i] != LL_NONE)
            weights[i]++; /* the turned copy */
    }
    if (c->rewrite.trouble || !ll_rewrite_record(&c->rewrite, op, &record))
        return;
    if (!backward)
        c->rewrite.refs[0] = tokens;
    for (uint32_t i = 0; i < 2; i++)
        c->rewrite.refs[3 + backward + i] = weights[i];
    struct ll_attr *attrs = c->rewrite.attrs;
    uint32_t at = 0;
    while (at < record.attr_count && attrs[at].key != LL_ATTR_FORMAT)
        at++;
    if (at == LL_MAX_ATTRS) {
        ll_rewrite_trouble(&c->rewrite, "experts have no room for another attribute");
        return;
    }
    attrs[at] = (struct ll_attr){.key = LL_ATTR_FORMAT, .count = c->recipe->experts};
    record.attr_count += at == record.attr_count;
    ll_rewrite_put(&c->rewrite, op, &record);
}

/* Experts are one op a pass, whose GEMMs all go the same way. */
static bool narrows_experts(const struct completing *c, uint32_t op)
{
    const struct ll_low_precision *low = &c->plan->low_precision;
    const enum ll_op_kind kind = signature_of(c->rewrite.old, op)->view.kind;
    return !c->kept[op] && ((kind == LL_OP_EXPERTS && low->gemms.fprop) ||
                            (kind == LL_OP_EXPERTS_GRAD && low->gemms.dgrad && low->gemms.wgrad));
}

/* Behind a pass the largest elements of all its casts are agreed upon, in one exchange of a number each, for
 * the scales of the next pass; nobody waits for it. */
static void agree(struct completing *c, enum ll_phase phase)
{
    const uint64_t devices = c->plan->tensor * ll_replicas(c->plan);
    if (c->recipe->later && c->casts > 0 && devices > 1) {
        const struct ll_shape numbers = {.dtype = LL_F32, .rank = 1, .dim = {c->casts}};
        const uint32_t desc = ll_rewrite_new_desc(&c->rewrite, "largest", &numbers, LL_OPTIMIZER);
        const struct ll_exchange_place place = {ll_recorder_string(c->rewrite.recorder, "scales"), phase,
                                                devices, 1};
        ll_rewrite_exchange(&c->rewrite, LL_OP_ALL_REDUCE, ll_rewrite_bring(&c->rewrite, desc), desc, &place);
    }
    c->casts = 0;
}

static bool ends_pass(const struct ll_trace *trace, uint32_t op)
{
    const enum ll_phase phase = signature_of(trace, op)->phase;
    return (phase == LL_PHASE_FORWARD || phase == LL_PHASE_BACKWARD) &&
           (op + 1 == trace->op_count || signature_of(trace, op + 1)->phase != phase ||
            trace->ops[op + 1].step != trace->ops[op].step);
}

static void complete(struct completing *c, uint32_t op)
{
    const struct ll_trace *trace = c->rewrite.old;
    const struct ll_op_view *view = &signature_of(trace, op)->view;
    const bool first = op == 0 || trace->ops[op].step != trace->ops[op - 1].step;
    for (uint64_t i = 0; first && i < trace->tensor_count; i++)
        c->expert[i] = LL_NONE;
    if (is_cast(c, view))
        rewrite_cast(c, op);
    else if (moves(view) && is_narrow(c, &view->in[0]))
        rewrite_move(c, op);
    else if (multiplies(view))
        rewrite_gemm(c, op);
    else if (narrows_experts(c, op))
        rewrite_experts(c, op);
    else
        ll_rewrite_keep(&c->rewrite, op);
    if (ends_pass(trace, op))
        agree(c, signature_of(trace, op)->phase);
}

static bool begin(struct completing *c)
{
    const struct ll_trace *trace = c->rewrite.old;
    struct ll_arena *arena = &c->rewrite.arena;
    const uint64_t tensors = trace->tensor_count + 1;
    c->kept = ll_alloc(arena, trace->op_count + 1, sizeof *c->kept);
    c->row = ll_alloc(arena, tensors, sizeof *c->row);
    c->turned = ll_alloc(arena, tensors, sizeof *c->turned);
    c->gathered = ll_alloc(arena, tensors, sizeof *c->gathered);
    c->turned_as = ll_alloc(arena, tensors, sizeof *c->turned_as);
    c->expert = ll_alloc(arena, tensors, sizeof *c->expert);
    if (!c->kept || !c->row || !c->turned || !c->gathered || !c->turned_as || !c->expert)
        return false;
    memset(c->turned_as, 0xff, tensors * sizeof *c->turned_as);
    memset(c->expert, 0xff, tensors * sizeof *c->expert);
    return find_kept(trace, &c->plan->low_precision, arena, c->kept);
}

struct ll_trace *ll_complete_casts(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   const char **trouble)
{
    const struct recipe *recipe = &recipes[plan->low_precision.recipe];
    struct completing c = {
        .plan = plan, .recipe = recipe, .both = recipe->both || plan->low_precision.turned_copies};
    assert(plan->low_precision.recipe != LL_RECIPE_NONE);
    ll_rewrite_begin(&c.rewrite, trace, NULL, 0);
    if (begin(&c))
        find_wants(&c);
    else
        ll_rewrite_trouble(&c.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !c.rewrite.trouble; op++)
        complete(&c, op);
    if (c.all == 0)
        ll_rewrite_trouble(&c.rewrite, "no GEMM of a weight is left to be narrow");
    return ll_rewrite_end(&c.rewrite, trouble);
}
