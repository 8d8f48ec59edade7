/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/alike.h"

#include "sim/parallel/same.h"
#include "tracer/transform/rewrite.h"

enum { KEPT = 2 }; /* layers at either end of a run that stay */

/* Lists the ops of each layer: counted, then put in their places. */
static bool list_ops(const struct ll_trace *trace, struct ll_arena *arena, struct ll_alike *alike)
{
    uint32_t layers = alike->layers.count;
    uint64_t *begin = ll_alloc(arena, layers + 2u, sizeof *begin);
    alike->place = ll_alloc(arena, trace->op_count + 1, sizeof *alike->place);
    alike->ops = ll_alloc(arena, trace->op_count + 1, sizeof *alike->ops);
    if (!begin || !alike->place || !alike->ops)
        return false;
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (alike->layers.owner[op] != LL_NONE)
            alike->place[op] = (uint32_t)begin[alike->layers.owner[op] + 1]++;
        else
            alike->place[op] = LL_NONE;
    for (uint32_t layer = 0; layer < layers; layer++)
        begin[layer + 1] += begin[layer];
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (alike->place[op] != LL_NONE)
            alike->ops[begin[alike->layers.owner[op]] + alike->place[op]] = op;
    alike->begin = begin;
    return true;
}

static uint32_t producer_of(const struct ll_trace *trace, uint32_t op, uint32_t input)
{
    return trace->tensors[ll_op_input(trace, op, input)].producer;
}

/* Whether an input comes from the same place, as far as it comes from the op's own layer. */
static bool reads_alike(const struct ll_trace *trace, const struct ll_alike *alike, uint32_t a, uint32_t b,
                        uint32_t input)
{
    uint32_t x = producer_of(trace, a, input), y = producer_of(trace, b, input);
    bool own_x = x != LL_NONE && alike->layers.owner[x] == alike->layers.owner[a],
         own_y = y != LL_NONE && alike->layers.owner[y] == alike->layers.owner[b];
    return own_x == own_y && (!own_x || alike->place[x] == alike->place[y]);
}

static bool ops_alike(const struct ll_trace *trace, const struct ll_alike *alike, uint32_t a, uint32_t b)
{
    const struct ll_form *x = &trace->forms[trace->ops[a].form], *y = &trace->forms[trace->ops[b].form];
    if (!ll_same_form(trace, x, trace, y))
        return false;
    for (uint32_t i = 0; i < x->view.input_count; i++)
        if (!reads_alike(trace, alike, a, b, i))
            return false;
    return true;
}

static bool layers_alike(const struct ll_trace *trace, const struct ll_alike *alike, uint32_t a, uint32_t b)
{
    uint64_t count = alike->begin[a + 1] - alike->begin[a];
    if (alike->begin[b + 1] - alike->begin[b] != count)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!ops_alike(trace, alike, alike->ops[alike->begin[a] + i], alike->ops[alike->begin[b] + i]))
            return false;
    return true;
}

bool ll_alike_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_alike *alike)
{
    *alike = (struct ll_alike){0};
    if (!ll_layers_find(trace, arena, &alike->layers) || !list_ops(trace, arena, alike))
        return false;
    for (uint32_t first = 0, next; first < alike->layers.count; first = next) {
        for (next = first + 1; next < alike->layers.count && layers_alike(trace, alike, first, next);)
            next++;
        if (next - first > 1 && next - first > alike->count) {
            alike->first = first;
            alike->count = next - first;
        }
    }
    return true;
}

uint32_t ll_thinned(const struct ll_alike *alike)
{
    return alike->count > 2 * KEPT ? alike->count - 2 * KEPT : 0;
}

static bool is_left_out(const struct ll_alike *alike, uint32_t op)
{
    uint32_t layer = op == LL_NONE ? LL_NONE : alike->layers.owner[op];
    return layer != LL_NONE && layer >= alike->first + KEPT && layer < alike->first + alike->count - KEPT;
}

/* What a tensor of a layer that is left out becomes: going forward that of the last layer before, going
 * backward that of the first one behind. */
static void stand_in(struct ll_rewrite *rewrite, const struct ll_alike *alike, uint32_t op)
{
    const struct ll_form *form = &rewrite->old->forms[rewrite->old->ops[op].form];
    bool forward = form->phase == LL_PHASE_FORWARD || form->phase == LL_PHASE_INPUT;
    uint32_t layer = forward ? alike->first + KEPT - 1 : alike->first + alike->count - KEPT;
    uint32_t other = alike->ops[alike->begin[layer] + alike->place[op]];
    for (uint32_t i = 0; i < form->view.output_count; i++) {
        uint32_t now = ll_rewrite_tensor(rewrite, ll_op_output(rewrite->old, other, i));
        if (now != LL_NONE)
            ll_rewrite_redirect(rewrite, ll_op_output(rewrite->old, op, i), now);
    }
}

struct ll_trace *ll_thin(const struct ll_trace *trace, const struct ll_alike *alike, const char **trouble)
{
    struct ll_rewrite rewrite;
    *trouble = NULL;
    if (ll_thinned(alike) == 0)
        return NULL;
    ll_rewrite_begin(&rewrite, trace, NULL, 0);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (is_left_out(alike, op))
            stand_in(&rewrite, alike, op);
        else
            ll_rewrite_keep(&rewrite, op);
    return ll_rewrite_end(&rewrite, trouble);
}
