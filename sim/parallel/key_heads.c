/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the forms, as tracer/rescale.c: what no op makes goes by the roles of its dimensions, what an
 * op makes follows from what it reads. A view of queries has so many heads more, and leaves so many of the
 * group that one of them answers. What copies of a head add to the gradient of a weight is summed before the
 * update. */
#include "sim/parallel/key_heads.h"

#include "tracer/transform/rewrite.h"
#include "tracer/ir/trace.h"

#include <stdlib.h>
#include <string.h>

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
