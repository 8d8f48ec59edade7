/* SPDX-License-Identifier: Apache-2.0 */
/* Activation recomputation. Ops that are recomputed together are a group: a layer, or the middle of an
 * attention. A tensor that a group makes and that only the group reads in the forward pass is inside the
 * group; the first backward op that reads a tensor inside triggers the recomputation. Tensors outside do not
 * change, so groups may be recomputed in any order. */
#include "sim/parallel/recompute.h"

#include "sim/parallel/holding.h"
#include "sim/parallel/layers.h"
#include "sim/parallel/spread.h"
#include "tracer/transform/rewrite.h"

#include <string.h>

/* Ops of a group within a step, as a chain. */
struct group {
    uint32_t first;
    bool repeated;
};

struct recomputing {
    const struct ll_trace *trace;
    struct ll_rewrite rewrite;
    uint32_t *group_of; /* by op, LL_NONE for most with SELECTIVE */
    uint32_t *next;     /* by op: the next of its group */
    bool *outside;      /* by tensor: forward ops outside of its group read it */
    struct group *groups;
    uint32_t group_count;
};

static const struct ll_form *form_of(const struct recomputing *r, uint32_t op)
{
    return &r->trace->forms[r->trace->ops[op].form];
}

static bool is_forward(const struct recomputing *r, uint32_t op)
{
    return form_of(r, op)->phase == LL_PHASE_FORWARD;
}

/* A layer going forward is a group, each time that the trace goes forward anew. */
static bool group_layers(struct recomputing *r)
{
    struct ll_layers layers;
    uint32_t times = 0;
    bool backward = false;
    if (!ll_layers_find(r->trace, &r->rewrite.arena, &layers))
        return false;
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        backward |= form_of(r, op)->phase == LL_PHASE_BACKWARD;
        if (layers.named[op] == LL_NONE || !is_forward(r, op))
            continue;
        times += backward;
        backward = false;
        r->group_of[op] = times * layers.count + layers.named[op];
    }
    r->group_count = (times + 1) * layers.count;
    return true;
}

static bool is_product(const struct recomputing *r, uint32_t op)
{
    enum ll_op_kind kind = form_of(r, op)->view.kind;
    return kind != LL_OP_COUNT && ll_op_class(kind) == LL_CLASS_MATRIX;
}

/* Whether it is a weight, or another look at one. */
static bool is_of_weight(const struct recomputing *r, uint32_t tensor)
{
    uint32_t from = r->trace->tensors[tensor].producer;
    while (from != LL_NONE && ll_is_look(&form_of(r, from)->view)) {
        tensor = ll_op_input(r->trace, from, 0);
        from = r->trace->tensors[tensor].producer;
    }
    return r->trace->descs[r->trace->tensors[tensor].desc].memory == LL_WEIGHT;
}

/* Both products of attention are of activations. One that reads a weight is a layer: the softmax behind it is
 * of a router or a classifier. */
static bool is_between_activations(const struct recomputing *r, uint32_t product)
{
    for (uint32_t i = 0; i < form_of(r, product)->view.input_count; i++)
        if (is_of_weight(r, ll_op_input(r->trace, product, i)))
            return false;
    return true;
}

/* Whether the op reads something of a group's. */
static bool reads_group(const struct recomputing *r, uint32_t op, uint32_t group)
{
    for (uint32_t i = 0; i < form_of(r, op)->view.input_count; i++) {
        uint32_t from = r->trace->tensors[ll_op_input(r->trace, op, i)].producer;
        if (from != LL_NONE && r->group_of[from] == group)
            return true;
    }
    return false;
}

/* From the softmax back to the product of queries and keys; what else flows in (a mask) stays outside. */
static bool take_scores(struct recomputing *r, uint32_t softmax, uint32_t group)
{
    uint32_t op = softmax;
    r->group_of[op] = group;
    while (!is_product(r, op)) {
        uint32_t from = form_of(r, op)->view.input_count
                            ? r->trace->tensors[ll_op_input(r->trace, op, 0)].producer
                            : LL_NONE;
        if (from == LL_NONE || !is_forward(r, from) || r->group_of[from] != LL_NONE)
            return false;
        op = from;
        r->group_of[op] = group;
    }
    return is_between_activations(r, op);
}

enum { AHEAD_MOST = 64 }; /* ops between a softmax and the product with the values */

/* From the softmax on to the product with the values. */
static bool take_values(struct recomputing *r, uint32_t softmax, uint32_t group)
{
    for (uint32_t op = softmax + 1; op < r->trace->op_count && op - softmax < AHEAD_MOST; op++) {
        if (!is_forward(r, op) || r->group_of[op] != LL_NONE || !reads_group(r, op, group))
            continue;
        r->group_of[op] = group;
        if (is_product(r, op))
            return is_between_activations(r, op);
    }
    return false;
}

static void give_up(struct recomputing *r, uint32_t softmax, uint32_t group)
{
    for (uint32_t op = 0; op < softmax + AHEAD_MOST && op < r->trace->op_count; op++)
        if (r->group_of[op] == group)
            r->group_of[op] = LL_NONE;
}

static bool is_softmax(const struct recomputing *r, uint32_t op)
{
    enum ll_op_kind kind = form_of(r, op)->view.kind;
    return kind == LL_OP_SOFTMAX || kind == LL_OP_CAUSAL_SOFTMAX;
}

static void group_attentions(struct recomputing *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++) {
        if (!is_forward(r, op) || !is_softmax(r, op) || r->group_of[op] != LL_NONE)
            continue;
        if (take_scores(r, op, r->group_count) && take_values(r, op, r->group_count))
            r->group_count++;
        else
            give_up(r, op, r->group_count);
    }
}

static bool chain_groups(struct recomputing *r)
{
    struct ll_arena *arena = &r->rewrite.arena;
    r->groups = ll_alloc(arena, r->group_count + 1u, sizeof *r->groups);
    r->next = ll_alloc(arena, r->trace->op_count + 1, sizeof *r->next);
    if (!r->groups || !r->next)
        return false;
    for (uint32_t g = 0; g < r->group_count; g++)
        r->groups[g].first = LL_NONE;
    for (uint64_t i = r->trace->op_count; i-- > 0;) {
        uint32_t op = (uint32_t)i;
        if (r->group_of[op] == LL_NONE)
            continue;
        struct group *group = &r->groups[r->group_of[op]];
        r->next[op] = group->first;
        group->first = op;
    }
    return true;
}

static bool mark_outside(struct recomputing *r)
{
    r->outside = ll_alloc(&r->rewrite.arena, r->trace->tensor_count + 1, sizeof *r->outside);
    for (uint32_t op = 0; r->outside && op < r->trace->op_count; op++)
        for (uint32_t i = 0; is_forward(r, op) && i < form_of(r, op)->view.input_count; i++) {
            uint32_t tensor = ll_op_input(r->trace, op, i), from = r->trace->tensors[tensor].producer;
            r->outside[tensor] |= from != LL_NONE && r->group_of[from] != r->group_of[op];
        }
    return r->outside;
}

static void repeat(struct recomputing *r, struct group *group)
{
    struct ll_record record;
    group->repeated = true;
    for (uint32_t op = group->first; op != LL_NONE; op = r->next[op])
        if (ll_rewrite_record(&r->rewrite, op, &record)) {
            record.phase = LL_PHASE_BACKWARD;
            ll_rewrite_put(&r->rewrite, op, &record);
        }
}

/* Whatever a backward op reads from inside of groups is made again first. */
static void repeat_for(struct recomputing *r, uint32_t op)
{
    const struct ll_form *form = form_of(r, op);
    for (uint32_t i = 0; form->phase == LL_PHASE_BACKWARD && i < form->view.input_count; i++) {
        uint32_t tensor = ll_op_input(r->trace, op, i), from = r->trace->tensors[tensor].producer;
        uint32_t group = from == LL_NONE ? LL_NONE : r->group_of[from];
        if (group != LL_NONE && !r->outside[tensor] && !r->groups[group].repeated)
            repeat(r, &r->groups[group]);
    }
}

/* What is there for the whole step is not made again. */
static void leave_casts(struct recomputing *r)
{
    for (uint32_t op = 0; op < r->trace->op_count; op++)
        if (ll_is_lasting_cast(r->trace, form_of(r, op)))
            r->group_of[op] = LL_NONE;
}

static bool find_groups(struct recomputing *r, enum ll_recompute recompute)
{
    r->group_of = ll_alloc(&r->rewrite.arena, r->trace->op_count + 1, sizeof *r->group_of);
    if (!r->group_of)
        return false;
    memset(r->group_of, 0xff, r->trace->op_count * sizeof *r->group_of);
    if (recompute == LL_RECOMPUTE_FULL && !group_layers(r))
        return false;
    if (recompute == LL_RECOMPUTE_SELECTIVE)
        group_attentions(r);
    leave_casts(r);
    return chain_groups(r) && mark_outside(r);
}

struct ll_trace *ll_recompute(const struct ll_trace *trace, enum ll_recompute recompute, const char **trouble)
{
    static const char *const names[] = {
#define X(word, name, help) name,
        LL_RECOMPUTE_LIST(X)
#undef X
    };
    struct recomputing r = {.trace = trace};
    ll_rewrite_begin(&r.rewrite, trace, &(struct ll_fact){"recompute", names[recompute]}, 1);
    if (!find_groups(&r, recompute))
        ll_rewrite_trouble(&r.rewrite, ll_status_text(LL_NO_MEMORY));
    for (uint32_t op = 0; op < trace->op_count && !r.rewrite.trouble; op++) {
        repeat_for(&r, op);
        ll_rewrite_keep(&r.rewrite, op);
    }
    return ll_rewrite_end(&r.rewrite, trouble);
}

bool ll_learns(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->form_count; i++)
        if (trace->forms[i].phase == LL_PHASE_BACKWARD || trace->forms[i].phase == LL_PHASE_UPDATE)
            return true;
    return false;
}
