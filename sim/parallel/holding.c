/* SPDX-License-Identifier: Apache-2.0 */
/* In which state a rank holds each tensor (whole, a share along a dimension, a term of a sum), and the
 * collectives that convert one state to another. The last section repeats key heads for grouped queries on
 * more ranks than there are key heads.
 *
 * whole          share along a      share along b         term of a sum
 *  to whole    -              all_gather         all_gather            all_reduce
 *  to share    a slice        -                  all_gather, a slice   reduce_scatter along time; else
 *                                                                      all_reduce, a slice
 *
 * The sum of a term replaces it for good; that of a gradient which an update reads is made once a step, with
 * the update, unless it is scattered. What was gathered or cut out is a copy that lives as long as the phase:
 * going backward it is made anew rather than kept. Gradients that updates read otherwise than they are made
 * change going backward. */
#include "sim/parallel/holding.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

bool ll_is_look(const struct ll_op_view *op)
{
    bool looks = op->kind == LL_OP_RESHAPE || op->kind == LL_OP_SEEN_AS || op->kind == LL_OP_TRANSPOSE ||
                 op->kind == LL_OP_CAST || op->kind == LL_OP_REORDER;
    return looks && op->input_count == 1 && op->output_count == 1;
}

/* Weights and states stay where they are, and so does what is only another look at them, as weights cast to
 * the type of products. */
static void find_what_stays(struct ll_holding *holding, const struct ll_trace *trace)
{
    for (uint32_t i = 0; i < trace->tensor_count; i++) {
        uint32_t memory = trace->descs[trace->tensors[i].desc].memory;
        holding->stays[i] = memory == LL_WEIGHT || memory == LL_OPTIMIZER;
    }
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (ll_is_look(&trace->forms[trace->ops[op].form].view))
            holding->stays[ll_op_output(trace, op, 0)] |= holding->stays[ll_op_input(trace, op, 0)];
}

bool ll_holding_begin(struct ll_holding *holding, const struct ll_trace *trace)
{
    holding->states = calloc(trace->tensor_count + 1, sizeof *holding->states);
    holding->copies_of = calloc(trace->tensor_count + 1, sizeof *holding->copies_of);
    holding->readers = calloc(trace->tensor_count + 1, sizeof *holding->readers);
    holding->stays = calloc(trace->tensor_count + 1, sizeof *holding->stays);
    if (!holding->states || !holding->copies_of || !holding->readers || !holding->stays)
        return false;
    find_what_stays(holding, trace);
    for (uint32_t i = 0; i < trace->tensor_count; i++) {
        holding->copies_of[i] = LL_NONE;
        holding->states[i].free = trace->tensors[i].producer == LL_NONE;
    }
    for (uint32_t op = 0; op < trace->op_count; op++)
        for (uint32_t i = 0; i < trace->forms[trace->ops[op].form].view.input_count; i++)
            holding->readers[ll_op_input(trace, op, i)]++;
    return true;
}

void ll_holding_release(struct ll_holding *holding)
{
    free(holding->states);
    free(holding->copies_of);
    free(holding->readers);
    free(holding->stays);
    free(holding->copies);
}

bool ll_divides(const struct ll_holding *holding, const struct ll_shape *shape, unsigned dim)
{
    uint64_t extent = shape->dim[dim];
    return extent % holding->ranks == 0 ? extent > 0 : shape->role[dim] == LL_ROLE_VOCABULARY;
}

struct ll_shape ll_share_of(const struct ll_holding *holding, struct ll_shape shape, struct ll_state state)
{
    if (state.held == LL_HELD_SHARE)
        shape.dim[state.dim] = ll_ceil_div(shape.dim[state.dim], holding->ranks);
    return shape;
}

/* Rows of words: of all of them, or at the places of each expert. */
static bool holds_time(const struct ll_holding *holding, const struct ll_shape *shape, unsigned dim)
{
    bool places = holding->routes_own && dim == 1 && shape->role[0] == LL_ROLE_EXPERTS;
    return shape->role[dim] == LL_ROLE_BATCH && (shape->rank == 2 || places);
}

/* Whether it comes out even or not. */
static int find_time(const struct ll_holding *holding, const struct ll_shape *shape)
{
    int found = -1;
    for (unsigned i = shape->rank; holding->by_time && shape->rank > 1 && i-- > 0;)
        if (shape->role[i] == LL_ROLE_SEQUENCE || (found < 0 && holds_time(holding, shape, i)))
            found = (int)i;
    return found;
}

int ll_time_dim(const struct ll_holding *holding, const struct ll_shape *shape)
{
    int found = find_time(holding, shape);
    return found >= 0 && ll_divides(holding, shape, (unsigned)found) ? found : -1;
}

uint64_t ll_uneven_time(const struct ll_holding *holding, const struct ll_trace *trace)
{
    uint64_t uneven = 0;
    for (uint64_t i = 0; i < trace->desc_count; i++) {
        const struct ll_shape *shape = &trace->descs[i].shape;
        int dim = trace->descs[i].memory == LL_ACTIVATION ? find_time(holding, shape) : -1;
        if (dim < 0 || shape->dim[dim] < 2)
            continue;
        if (ll_divides(holding, shape, (unsigned)dim))
            return 0;
        uneven = uneven ? uneven : shape->dim[dim];
    }
    return uneven;
}

static const struct ll_desc *desc_of(const struct ll_holding *holding, uint32_t tensor)
{
    const struct ll_trace *trace = holding->rewrite.old;
    return &trace->descs[trace->tensors[tensor].desc];
}

static bool same_state(struct ll_state a, struct ll_state b)
{
    return a.held == b.held && (a.held != LL_HELD_SHARE || a.dim == b.dim);
}

static const struct ll_copy_of *find_copy(const struct ll_holding *holding, uint32_t tensor,
                                          struct ll_state wanted, enum ll_phase phase)
{
    for (uint32_t i = holding->copies_of[tensor]; i != LL_NONE; i = holding->copies[i].next)
        if (holding->copies[i].phase == phase && same_state(holding->copies[i].state, wanted))
            return &holding->copies[i];
    return NULL;
}

/* Whether a sum is scattered at once: along time, or as the weight whose gradient it is. */
static bool scatters(const struct ll_holding *holding, uint32_t tensor, struct ll_state wanted,
                     enum ll_phase phase)
{
    return wanted.held == LL_HELD_SHARE &&
           (phase == LL_PHASE_UPDATE || ll_time_dim(holding, &desc_of(holding, tensor)->shape) == wanted.dim);
}

double ll_cost_of_state(const struct ll_holding *holding, uint32_t tensor, struct ll_state wanted,
                        enum ll_phase phase)
{
    struct ll_state now = holding->states[tensor];
    const struct ll_desc *desc = desc_of(holding, tensor);
    double bytes = (double)ll_size_bytes(&desc->shape);
    if (wanted.held == LL_HELD_TERM && now.held != LL_HELD_TERM)
        return LL_NEVER_BYTES;
    if (now.free || same_state(now, wanted) || find_copy(holding, tensor, wanted, phase))
        return 0;
    if (now.held == LL_HELD_TERM)
        return scatters(holding, tensor, wanted, phase) ? bytes : 2 * bytes;
    if (now.held == LL_HELD_WHOLE)
        return 0;
    return holding->stays[tensor] ? LL_STAYS_TIMES * bytes : bytes;
}

/* Conversions, each from a new tensor to a new one. */

struct work_place {
    uint32_t scope;
    enum ll_phase phase;
};

static uint32_t exchange(struct ll_holding *holding, enum ll_op_kind kind, uint32_t tensor, uint32_t from,
                         struct ll_state to, struct work_place place)
{
    struct ll_shape shape = ll_share_of(holding, desc_of(holding, tensor)->shape, to);
    uint32_t desc =
        ll_rewrite_reshaped(&holding->rewrite, holding->rewrite.old->tensors[tensor].desc, &shape);
    const struct ll_exchange_place group = {place.scope, place.phase, holding->ranks, holding->stride};
    return ll_rewrite_exchange(&holding->rewrite, kind, from, desc, &group);
}

/* Each device cuts out its own. */
static uint32_t slice(struct ll_holding *holding, uint32_t tensor, uint32_t from, struct ll_state to,
                      struct work_place place)
{
    struct ll_shape shape = ll_share_of(holding, desc_of(holding, tensor)->shape, to);
    uint32_t desc =
        ll_rewrite_reshaped(&holding->rewrite, holding->rewrite.old->tensors[tensor].desc, &shape);
    const struct ll_attr attrs[] = {{.key = LL_ATTR_AXIS, .count = to.dim},
                                    {.key = LL_ATTR_SIZE, .count = (int64_t)shape.dim[to.dim]},
                                    {.key = LL_ATTR_DEVICES, .count = (int64_t)holding->ranks}};
    return ll_rewrite_add(&holding->rewrite, &(struct ll_record){.kind = LL_OP_SLICE,
                                                                 .phase = place.phase,
                                                                 .scope = place.scope,
                                                                 .inputs = &from,
                                                                 .input_count = 1,
                                                                 .outputs = &desc,
                                                                 .output_count = 1,
                                                                 .attrs = attrs,
                                                                 .attr_count = 3});
}

static uint32_t keep_copy(struct ll_holding *holding, uint32_t tensor, struct ll_state state, uint32_t copy,
                          enum ll_phase phase)
{
    if (!ll_grow(&holding->copies, &holding->copy_capacity, holding->copy_count + 1,
                 sizeof *holding->copies)) {
        ll_rewrite_trouble(&holding->rewrite, "memory ran out");
        return LL_NONE;
    }
    holding->copies[holding->copy_count] =
        (struct ll_copy_of){state, copy, holding->copies_of[tensor], (uint8_t)phase};
    holding->copies_of[tensor] = (uint32_t)holding->copy_count++;
    return copy;
}

/* Gradients that a backward pass makes are shared out with it, though an update is the first to ask. */
static bool is_of_pass(const struct ll_holding *holding, uint32_t tensor)
{
    const struct ll_trace *old = holding->rewrite.old;
    uint32_t maker = old->tensors[tensor].producer;
    return desc_of(holding, tensor)->memory == LL_GRADIENT && maker != LL_NONE &&
           old->forms[old->ops[maker].form].phase != LL_PHASE_UPDATE;
}

/* The sum, whole or scattered, which the tensor is from now on. */
static uint32_t sum_up(struct ll_holding *holding, uint32_t tensor, struct ll_state wanted,
                       struct work_place place)
{
    bool scattered = scatters(holding, tensor, wanted, place.phase);
    bool gradient = place.phase == LL_PHASE_UPDATE && desc_of(holding, tensor)->memory == LL_GRADIENT;
    struct ll_state state = {.held = LL_HELD_WHOLE};
    if (scattered)
        state =
            (struct ll_state){LL_HELD_SHARE, wanted.dim, gradient ? wanted.role : LL_ROLE_SEQUENCE, false};
    if (scattered && gradient && is_of_pass(holding, tensor))
        place.phase = LL_PHASE_BACKWARD;
    uint32_t sum = exchange(holding, scattered ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE, tensor,
                            ll_rewrite_tensor(&holding->rewrite, tensor), state, place);
    ll_rewrite_redirect(&holding->rewrite, tensor, sum);
    holding->states[tensor] = state;
    return sum;
}

/* What nobody has read yet is brought as it is wanted. */
static uint32_t bring(struct ll_holding *holding, uint32_t tensor, struct ll_state wanted)
{
    struct ll_shape shape = ll_share_of(holding, desc_of(holding, tensor)->shape, wanted);
    uint32_t desc =
        ll_rewrite_reshaped(&holding->rewrite, holding->rewrite.old->tensors[tensor].desc, &shape);
    uint32_t brought = ll_rewrite_bring(&holding->rewrite, desc);
    ll_rewrite_redirect(&holding->rewrite, tensor, brought);
    wanted.free = false;
    holding->states[tensor] = wanted;
    return brought;
}

uint32_t ll_have_state(struct ll_holding *holding, uint32_t tensor, struct ll_state wanted,
                       enum ll_phase phase, uint32_t scope)
{
    static const struct ll_state whole = {.held = LL_HELD_WHOLE};
    struct work_place place = {scope, phase};
    const struct ll_copy_of *copy = find_copy(holding, tensor, wanted, phase);
    if (holding->states[tensor].free)
        return bring(holding, tensor, wanted);
    if (holding->states[tensor].held == LL_HELD_TERM && wanted.held != LL_HELD_TERM)
        sum_up(holding, tensor, wanted, place);
    uint32_t now = ll_rewrite_tensor(&holding->rewrite, tensor);
    if (same_state(holding->states[tensor], wanted))
        return now;
    if (copy)
        return copy->tensor;
    if (phase == LL_PHASE_UPDATE && is_of_pass(holding, tensor))
        place.phase = LL_PHASE_BACKWARD;
    if (wanted.held == LL_HELD_WHOLE)
        return keep_copy(holding, tensor, wanted,
                         exchange(holding, LL_OP_ALL_GATHER, tensor, now, whole, place), phase);
    if (holding->states[tensor].held == LL_HELD_SHARE)
        now = ll_have_state(holding, tensor, whole, phase, scope);
    return keep_copy(holding, tensor, wanted, slice(holding, tensor, now, wanted, place), phase);
}

/* One walk over the forms, as tracer/transform/rescale.c: what no op makes goes by the roles of its
 * dimensions, what an op makes follows from what it reads. A view of queries has so many heads more, and
 * leaves so many of the group that one of them answers. What copies of a head add to the gradient of a weight
 * is summed before the update. */

struct copying {
    struct ll_trace *trace; /* the copy; its descs and forms are new as far as `known` and the walk are */
    const struct ll_desc *was;
    bool *known;                            /* by desc */
    uint64_t key_heads, group, head, times; /* so often each key head is there */
};

/* Attention in which several rows of scores, or of queries, belong to a position: [..., key heads, rows, n].
 */
static bool find_group(const struct ll_form *form, struct copying *c)
{
    const struct ll_op_view *view = &form->view;
    const struct ll_shape *rows = view->input_count ? &view->in[0] : NULL;
    int64_t group = ll_attr_count(view, LL_ATTR_GROUPS, 1);
    if (!rows || rows->rank < 3 || rows->role[rows->rank - 3] != LL_ROLE_HEADS || group < 2)
        return false;
    c->key_heads = rows->dim[rows->rank - 3];
    c->group = (uint64_t)group;
    return c->key_heads > 0;
}

/* A view of one head after the other says how long they are. */
static bool find_head(const struct ll_form *form, struct copying *c)
{
    const struct ll_shape *shape = form->view.output_count ? &form->view.out[0] : NULL;
    for (unsigned i = 0; form->view.kind == LL_OP_RESHAPE && i + 1 < shape->rank; i++)
        if (shape->role[i] == LL_ROLE_HEADS && shape->dim[i] == c->key_heads)
            c->head = shape->dim[shape->rank - 1];
    return c->head > 0;
}

/* How queries are grouped; false where they are not, or ranks have heads enough, or ones that come out
 * uneven.
 */
static bool find_groups(const struct ll_trace *trace, uint64_t ranks, struct copying *c)
{
    bool found = false;
    for (uint64_t i = 0; i < trace->form_count && !found; i++)
        found = find_group(&trace->forms[i], c);
    if (!found || ranks <= c->key_heads || ranks % c->key_heads != 0)
        return false;
    c->times = ranks / c->key_heads;
    found = false;
    for (uint64_t i = 0; i < trace->form_count && !found; i++)
        found = find_head(&trace->forms[i], c);
    return found && c->group % c->times == 0;
}

/* Heads, and what they hold side by side. */
static void repeat_heads(const struct copying *c, struct ll_shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++) {
        bool last =
            i + 1 == shape->rank; /* what heads hold lies side by side there, one head does elsewhere */
        bool heads = shape->dim[i] == (last ? ll_mul(c->key_heads, c->head) : c->key_heads);
        if (shape->role[i] == LL_ROLE_HEADS && heads)
            shape->dim[i] = ll_mul(shape->dim[i], c->times);
    }
}

/* More heads leave each fewer of the group, which stands by itself or beside the words. */
static void divide_group(const struct copying *c, const struct ll_shape *in, struct ll_shape *out)
{
    if (ll_elements(out) != ll_mul(ll_elements(in), c->times))
        return;
    for (unsigned i = 0; i + 1 < out->rank; i++)
        if (out->role[i] == LL_ROLE_PLAIN && out->dim[i] == c->group) {
            out->dim[i] /= c->times;
            return;
        }
    for (unsigned i = 0; i + 1 < out->rank; i++)
        if (out->role[i] == LL_ROLE_SEQUENCE && out->dim[i] % c->group == 0) {
            out->dim[i] /= c->times;
            return;
        }
}

static bool settle_inputs(struct copying *c, struct ll_form *form, bool *grown)
{
    struct ll_shape *in = ll_alloc(&c->trace->arena, form->view.input_count, sizeof *in);
    for (uint32_t i = 0; in && i < form->view.input_count; i++) {
        struct ll_shape *shape = &c->trace->descs[form->inputs[i]].shape;
        if (!c->known[form->inputs[i]])
            repeat_heads(c, shape);
        c->known[form->inputs[i]] = true;
        in[i] = *shape;
        *grown |= memcmp(shape->dim, c->was[form->inputs[i]].shape.dim, sizeof shape->dim) != 0;
    }
    form->view.in = in;
    return in != NULL;
}

/* Rows that belong to one position. */
static bool settle_attributes(struct copying *c, struct ll_form *form)
{
    struct ll_attr *attrs =
        ll_copy(&c->trace->arena, form->view.attrs, form->view.attr_count * sizeof *attrs);
    for (uint32_t i = 0; attrs && i < form->view.attr_count; i++)
        if (attrs[i].key == LL_ATTR_GROUPS && attrs[i].count == (int64_t)c->group)
            attrs[i].count /= (int64_t)c->times;
    form->view.attrs = attrs;
    return attrs != NULL;
}

/* A look that other ops have made as well stays one look. */
static bool settle_result(struct copying *c, uint32_t desc, struct ll_shape *result)
{
    struct ll_shape *look = &c->trace->descs[desc].shape;
    memcpy(result->role, look->role, sizeof result->role);
    result->dtype = look->dtype; /* which need not be that of what a product reads */
    if (c->known[desc] && memcmp(result->dim, look->dim, sizeof result->dim) != 0)
        return false;
    *look = *result;
    c->known[desc] = true;
    return true;
}

static bool settle_results(struct copying *c, struct ll_form *form)
{
    struct ll_op_view *view = &form->view;
    uint32_t count = view->output_count;
    view->out =
        ll_alloc(&c->trace->arena, count > LL_MAX_OUTPUTS ? count : LL_MAX_OUTPUTS, sizeof *view->out);
    for (uint32_t i = 0; view->out && i < count; i++) {
        view->out[i] = c->was[form->outputs[i]].shape;
        repeat_heads(c, &view->out[i]);
    }
    if (view->out && view->kind == LL_OP_RESHAPE)
        divide_group(c, &view->in[0], &view->out[0]);
    if (!view->out || view->kind == LL_OP_COUNT || ll_op_infer(view) || view->output_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!settle_result(c, form->outputs[i], &view->out[i]))
            return false;
    return true;
}

static bool settle(struct copying *c, struct ll_form *form)
{
    struct ll_form_counts counts;
    bool grown = false;
    if (!settle_inputs(c, form, &grown) || (grown && !settle_attributes(c, form)) ||
        !settle_results(c, form) || ll_form_count(&form->view, &counts))
        return false;
    form->flops = counts.flops;
    form->bytes_read = counts.bytes_read;
    form->bytes_written = counts.bytes_written;
    return true;
}

/* Whether an update reads, of a backward pass, the gradient of heads that several devices hold. */
static bool is_of_copies(const struct copying *c, uint32_t op, uint32_t tensor)
{
    const struct ll_trace *trace = c->trace;
    uint32_t desc = trace->tensors[tensor].desc, from = trace->tensors[tensor].producer;
    return trace->forms[trace->ops[op].form].phase == LL_PHASE_UPDATE && from != LL_NONE &&
           trace->forms[trace->ops[from].form].phase != LL_PHASE_UPDATE &&
           trace->descs[desc].memory == LL_GRADIENT &&
           memcmp(trace->descs[desc].shape.dim, c->was[desc].shape.dim, sizeof c->was[desc].shape.dim) != 0;
}

/* Devices with the same head are neighbours. */
static void sum_copies(const struct copying *c, struct ll_rewrite *rewrite, uint32_t op, uint32_t tensor)
{
    const struct ll_form *form = &c->trace->forms[c->trace->ops[op].form];
    const struct ll_exchange_place place = {.scope = ll_rewrite_string(rewrite, form->scope),
                                            .phase = LL_PHASE_UPDATE,
                                            .devices = c->times,
                                            .stride = 1};
    uint32_t desc = ll_rewrite_desc(rewrite, c->trace->tensors[tensor].desc);
    ll_rewrite_step(rewrite, op);
    uint32_t sum =
        ll_rewrite_exchange(rewrite, LL_OP_ALL_REDUCE, ll_rewrite_tensor(rewrite, tensor), desc, &place);
    ll_rewrite_redirect(rewrite, tensor, sum);
}

/* The copy with these sums; NULL when that cannot be. */
static struct ll_trace *with_sums(const struct copying *c)
{
    struct ll_rewrite rewrite;
    const char *trouble;
    ll_rewrite_begin(&rewrite, c->trace, NULL, 0);
    bool *summed = ll_alloc(&rewrite.arena, c->trace->tensor_count + 1, sizeof *summed);
    if (!summed)
        ll_rewrite_trouble(&rewrite, "memory ran out");
    for (uint32_t op = 0; op < c->trace->op_count && !rewrite.trouble; op++) {
        for (uint32_t i = 0; i < c->trace->forms[c->trace->ops[op].form].view.input_count; i++) {
            uint32_t tensor = ll_op_input(c->trace, op, i);
            if (!summed[tensor] && is_of_copies(c, op, tensor))
                sum_copies(c, &rewrite, op, tensor);
            summed[tensor] |= is_of_copies(c, op, tensor);
        }
        ll_rewrite_keep(&rewrite, op);
    }
    return ll_rewrite_end(&rewrite, &trouble);
}

struct ll_trace *ll_copy_key_heads(const struct ll_trace *trace, uint64_t ranks)
{
    struct copying c = {.was = trace->descs};
    if (!find_groups(trace, ranks, &c))
        return NULL;
    c.trace = ll_trace_copy(trace);
    c.known = calloc(trace->desc_count + 1, sizeof *c.known);
    bool right = c.trace && c.known;
    for (uint64_t i = 0; right && i < trace->form_count; i++)
        right = settle(&c, &c.trace->forms[i]);
    free(c.known);
    struct ll_trace *made = right ? with_sums(&c) : NULL;
    ll_trace_free(c.trace);
    return made;
}
