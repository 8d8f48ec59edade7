/* SPDX-License-Identifier: Apache-2.0 */
/* Expert parallelism. A tensor is in one of three places: here (the replica's samples, for all experts), away
 * (all samples, for the replica's experts), or the replica's own (of its experts, such as their weights).
 * GEMMs that read tensors which are own or away, or were sent there, happen away. Element-wise ops happen
 * where all their inputs are. All other ops happen here. A tensor that was sent from one place to the other
 * is in both from then on. */
#include "sim/parallel/experts.h"

#include "tracer/transform/rewrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum where { HERE, AWAY, OWN };

struct spreading {
    struct ll_rewrite rewrite;
    const struct ll_trace *trace;
    uint64_t replicas, stride;
    uint8_t *where;    /* by old tensor: enum where */
    uint32_t *fetched; /* by old tensor: the new one that is here though it is away, or the other way */
    struct ll_arena scratch;
    uint32_t op;
    const struct ll_form *form;
    uint32_t *inputs; /* tensors of the new trace */
    bool divides;     /* all numbers of experts are multiples */
    bool found;
};

bool ll_is_of_experts(const struct ll_desc *desc)
{
    bool kept = desc->memory == LL_WEIGHT || desc->memory == LL_OPTIMIZER || desc->memory == LL_GRADIENT;
    return kept && desc->shape.rank > 1 && desc->shape.role[0] == LL_ROLE_EXPERTS;
}

bool ll_has_experts(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (ll_is_of_experts(&trace->descs[i]))
            return true;
    return false;
}

static const struct ll_desc *desc_of(const struct spreading *s, uint32_t tensor)
{
    return &s->trace->descs[s->trace->tensors[tensor].desc];
}

/* The dimension that counts experts, -1 for none: the first one of what goes away. */
static bool counts_experts(const struct ll_shape *shape)
{
    return shape->rank > 1 && shape->role[0] == LL_ROLE_EXPERTS;
}

static struct ll_shape shape_there(const struct spreading *s, struct ll_shape shape, enum where where)
{
    if (where != HERE)
        shape.dim[0] /= s->replicas;
    if (where == AWAY)
        shape.dim[1] = ll_mul(shape.dim[1], s->replicas);
    return shape;
}

/* Going there and back. */

static uint32_t see_as(struct spreading *s, uint32_t tensor, uint32_t desc, uint32_t scope)
{
    return ll_rewrite_add(&s->rewrite, &(struct ll_record){.kind = LL_OP_RESHAPE,
                                                           .phase = s->form->phase,
                                                           .scope = scope,
                                                           .inputs = &tensor,
                                                           .input_count = 1,
                                                           .outputs = &desc,
                                                           .output_count = 1});
}

/* The tensor in the other place: here it has a row of places for each expert, away one for each replica, too.
 */
static uint32_t fetch(struct spreading *s, uint32_t tensor)
{
    const uint32_t old_desc = s->trace->tensors[tensor].desc;
    const struct ll_shape *shape = &desc_of(s, tensor)->shape, there = shape_there(s, *shape, AWAY);
    uint32_t scope = ll_rewrite_string(&s->rewrite, s->form->scope);
    uint32_t now = ll_rewrite_tensor(&s->rewrite, tensor);
    uint32_t here = ll_rewrite_desc(&s->rewrite, old_desc),
             away = ll_rewrite_reshaped(&s->rewrite, old_desc, &there);
    const struct ll_exchange_place place = {scope, s->form->phase, s->replicas, s->stride};
    if (s->fetched[tensor] != LL_NONE)
        return s->fetched[tensor];
    if (s->where[tensor] == HERE) {
        now = ll_rewrite_exchange(&s->rewrite, LL_OP_ALL_TO_ALL, now, here, &place);
        now = see_as(s, now, away, scope);
    } else {
        now = see_as(s, now, here, scope);
        now = ll_rewrite_exchange(&s->rewrite, LL_OP_ALL_TO_ALL, now, here, &place);
    }
    s->fetched[tensor] = now;
    return now;
}

/* Weights and states that nobody has read yet are brought as the replica's own. */
static void bring_own(struct spreading *s, uint32_t tensor)
{
    const struct ll_desc *desc = desc_of(s, tensor);
    if (s->trace->tensors[tensor].producer != LL_NONE || s->where[tensor] != HERE || !ll_is_of_experts(desc))
        return;
    s->found = true;
    s->divides &= desc->shape.dim[0] % s->replicas == 0;
    struct ll_shape own = shape_there(s, desc->shape, OWN);
    uint32_t brought =
        ll_rewrite_bring(&s->rewrite, ll_rewrite_reshaped(&s->rewrite, s->trace->tensors[tensor].desc, &own));
    ll_rewrite_redirect(&s->rewrite, tensor, brought);
    s->where[tensor] = OWN;
}

/* Of an op's inputs, how many are where; single numbers are everywhere. */
struct counted {
    uint32_t at[OWN + 1];
};

static struct counted count_inputs(const struct spreading *s)
{
    struct counted counted = {{0}};
    for (uint32_t i = 0; i < s->form->view.input_count; i++)
        counted.at[s->where[ll_op_input(s->trace, s->op, i)]] += s->form->view.in[i].rank > 0;
    return counted;
}

/* Rows of words at the places of experts, of which each device of a product has a share: they are brought
 * together where the experts are. */
static bool gathers_rows(const struct ll_op_view *op)
{
    return op->kind == LL_OP_ALL_GATHER && op->input_count == 1 && op->in[0].rank > 2 &&
           counts_experts(&op->in[0]) && op->in[0].role[1] == LL_ROLE_BATCH;
}

static bool all_results_count_experts(const struct spreading *s)
{
    for (uint32_t i = 0; i < s->form->view.output_count; i++)
        if (!counts_experts(&s->form->view.out[i]))
            return false;
    return s->form->view.output_count > 0;
}

/* Gradients of weights are products of what went away and what comes back: both are here, too. */
static bool is_product_there(const struct spreading *s)
{
    bool there = false;
    for (uint32_t i = 0; i < s->form->view.input_count; i++) {
        uint32_t tensor = ll_op_input(s->trace, s->op, i);
        there |= s->where[tensor] != HERE || s->fetched[tensor] != LL_NONE;
    }
    return there && s->form->view.kind == LL_OP_BATCH_MATMUL;
}

/* Whether the op happens away. */
static bool happens_away(const struct spreading *s, struct counted counted)
{
    return (is_product_there(s) || gathers_rows(&s->form->view) ||
            (counted.at[AWAY] > 0 && counted.at[HERE] == 0)) &&
           all_results_count_experts(s);
}

/* Inputs where the op happens; what is the replica's own is as it is. */
static bool gather_inputs(struct spreading *s, bool away)
{
    uint32_t count = s->form->view.input_count;
    s->inputs = ll_alloc(&s->scratch, count, sizeof *s->inputs);
    for (uint32_t i = 0; s->inputs && i < count; i++) {
        uint32_t tensor = ll_op_input(s->trace, s->op, i);
        bool elsewhere = s->form->view.in[i].rank > 0 && s->where[tensor] == (away ? HERE : AWAY);
        s->inputs[i] = elsewhere ? fetch(s, tensor) : ll_rewrite_tensor(&s->rewrite, tensor);
    }
    return s->inputs != NULL;
}

/* Shapes of the results as the op table has them; where it takes them as given, as the replica would. Types
 * stay: a product may write a wider one than it reads. */
static const char *infer(struct spreading *s, enum where where, struct ll_shape **results)
{
    struct ll_op_view view = s->form->view;
    struct ll_shape *in = ll_alloc(&s->scratch, view.input_count, sizeof *in);
    uint32_t room = view.output_count > LL_MAX_OUTPUTS ? view.output_count : LL_MAX_OUTPUTS;
    *results = view.out = ll_alloc(&s->scratch, room, sizeof *view.out);
    if (!in || !view.out)
        return "memory ran out";
    for (uint32_t i = 0; i < view.input_count; i++)
        in[i] = *ll_rewrite_shape(&s->rewrite, s->inputs[i]);
    for (uint32_t i = 0; i < view.output_count; i++)
        view.out[i] = shape_there(s, s->form->view.out[i], where);
    view.in = in;
    const char *trouble = view.kind == LL_OP_COUNT ? NULL : ll_op_infer(&view);
    for (uint32_t i = 0; !trouble && i < s->form->view.output_count; i++)
        view.out[i].dtype = s->form->view.out[i].dtype;
    return trouble;
}

static enum where where_made(const struct spreading *s, uint32_t i, const struct ll_shape *result)
{
    const struct ll_shape *was = &s->form->view.out[i];
    if (!counts_experts(was) || result->dim[0] == was->dim[0])
        return HERE;
    return ll_elements(result) == ll_elements(was) ? AWAY : OWN;
}

/* Where the results are that an op takes as given: those of what is the replica's own, as casts of weights,
 * are its own. */
static enum where where_given(const struct spreading *s, bool away)
{
    struct counted counted = count_inputs(s);
    bool own = counted.at[HERE] + counted.at[AWAY] == 0 && all_results_count_experts(s);
    return away ? AWAY : own ? OWN : HERE;
}

/* The words of all replicas come to where the experts are. */
static void count_words(struct spreading *s, const struct ll_record *record)
{
    for (uint32_t i = 0; i < record->attr_count; i++)
        if (s->rewrite.attrs[i].key == LL_ATTR_FILLED)
            s->rewrite.attrs[i].count *= (int64_t)s->replicas;
}

static bool write_op(struct spreading *s, bool away)
{
    struct ll_rewrite *rewrite = &s->rewrite;
    struct ll_record record;
    struct ll_shape *results;
    if (!gather_inputs(s, away))
        return ll_rewrite_trouble(rewrite, "memory ran out");
    const char *trouble = rewrite->trouble ? rewrite->trouble : infer(s, where_given(s, away), &results);
    if (trouble || !ll_rewrite_record(rewrite, s->op, &record))
        return ll_rewrite_trouble(rewrite, trouble);
    uint32_t *outputs = ll_alloc(&s->scratch, record.output_count, sizeof *outputs);
    if (!outputs)
        return ll_rewrite_trouble(rewrite, "memory ran out");
    for (uint32_t i = 0; i < record.output_count; i++) {
        outputs[i] = ll_rewrite_reshaped(rewrite, s->form->outputs[i], &results[i]);
        s->where[ll_op_output(s->trace, s->op, i)] = (uint8_t)where_made(s, i, &results[i]);
    }
    if (away)
        count_words(s, &record);
    record.inputs = s->inputs;
    record.outputs = outputs;
    return ll_rewrite_put(rewrite, s->op, &record) != LL_NONE || record.output_count == 0;
}

static bool spread_op(struct spreading *s, uint32_t op)
{
    s->op = op;
    s->form = &s->trace->forms[s->trace->ops[op].form];
    for (uint32_t i = 0; i < s->form->view.input_count; i++)
        bring_own(s, ll_op_input(s->trace, op, i));
    struct counted counted = count_inputs(s);
    bool away = happens_away(s, counted), written = true;
    if (counted.at[AWAY] + counted.at[OWN] == 0 && !away)
        ll_rewrite_keep(&s->rewrite, op);
    else
        written = write_op(s, away);
    ll_arena_release(&s->scratch);
    return written && !s->rewrite.trouble;
}

static bool spread_all(struct spreading *s)
{
    const struct ll_trace *trace = s->trace;
    s->where = calloc(trace->tensor_count + 1, sizeof *s->where);
    s->fetched = calloc(trace->tensor_count + 1, sizeof *s->fetched);
    if (!s->where || !s->fetched)
        return ll_rewrite_trouble(&s->rewrite, "memory ran out");
    for (uint64_t i = 0; i < trace->tensor_count; i++)
        s->fetched[i] = LL_NONE;
    for (uint32_t op = 0; op < trace->op_count && s->divides; op++)
        if (!spread_op(s, op))
            return false;
    return true;
}

struct ll_trace *ll_spread_experts(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   struct ll_diags *diags)
{
    struct spreading s = {.trace = trace, .replicas = plan->expert, .stride = plan->tensor, .divides = true};
    const char *trouble = "memory ran out";
    char replicas[24];
    snprintf(replicas, sizeof replicas, "%" PRIu64, plan->expert);
    const struct ll_fact fact = {"parallel.expert", replicas};
    struct ll_trace *share = plan->expert <= 1 ? ll_trace_copy(trace) : NULL;
    if (plan->expert > 1) {
        ll_rewrite_begin(&s.rewrite, trace, &fact, 1);
        spread_all(&s);
        share = ll_rewrite_end(&s.rewrite, &trouble);
        free(s.where);
        free(s.fetched);
    }
    if (share && (plan->expert <= 1 || (s.found && s.divides)))
        return share;
    if (share && !s.found)
        trouble = "this workload has no experts";
    else if (!s.divides)
        trouble = "the experts of a layer are no multiple of them";
    ll_complain(diags, (struct ll_place){0}, "ep %" PRIu64 ": %s", plan->expert, trouble);
    ll_trace_free(share);
    return NULL;
}
