/* SPDX-License-Identifier: Apache-2.0 */
/* What a dimension means travels with it. Where a rule knows which dimension of a result is which of an
 * input, it says so here; a role that a model has given stays. */
#include "tracer/ops_rules.h"

void ll_take_role(struct ll_shape *to, unsigned at, const struct ll_shape *from, unsigned dim)
{
    if (to->role[at] == LL_ROLE_PLAIN && to->dim[at] == from->dim[dim])
        to->role[at] = from->role[dim];
}

void ll_take_roles(struct ll_shape *to, const struct ll_shape *from)
{
    for (unsigned i = 0; i < to->rank && to->rank == from->rank; i++)
        ll_take_role(to, i, from, i);
}

/* A stretch of dimensions with as many elements on either side of a reshape, as short as can be but for
 * dimensions of 1 at its end. */
struct stretch {
    unsigned first, end;
};

static void take_in_ones(const struct ll_shape *shape, struct stretch *stretch)
{
    while (stretch->end < shape->rank && shape->dim[stretch->end] == 1)
        stretch->end++;
}

/* The stretches that begin here; false when one of the shapes is at its end. */
static bool next_stretch(const struct ll_shape *a, struct stretch *in_a, const struct ll_shape *b,
                         struct stretch *in_b)
{
    in_a->first = in_a->end, in_b->first = in_b->end;
    if (in_a->end == a->rank || in_b->end == b->rank)
        return false;
    uint64_t of_a = a->dim[in_a->end++], of_b = b->dim[in_b->end++];
    while (of_a != of_b) {
        if (of_a < of_b ? in_a->end == a->rank : in_b->end == b->rank)
            return false;
        if (of_a < of_b)
            of_a = ll_mul(of_a, a->dim[in_a->end++]);
        else
            of_b = ll_mul(of_b, b->dim[in_b->end++]);
    }
    take_in_ones(a, in_a);
    take_in_ones(b, in_b);
    return true;
}

static bool is_of(const struct ll_shape *shape, struct stretch stretch, enum ll_role role)
{
    for (unsigned i = stretch.first; i < stretch.end; i++)
        if (shape->role[i] == role)
            return true;
    return false;
}

/* The first dimension of a stretch that is longer than 1, its first when there is none. */
static unsigned longer_than_1(const struct ll_shape *shape, struct stretch stretch)
{
    for (unsigned i = stretch.first; i < stretch.end; i++)
        if (shape->dim[i] != 1)
            return i;
    return stretch.first;
}

/* What the merged dimensions are together: the batch if it is among them, else what the first one is. */
void ll_take_roles_reshaped(struct ll_shape *to, const struct ll_shape *from)
{
    const bool has_batch = is_of(to, (struct stretch){0, to->rank}, LL_ROLE_BATCH);
    struct stretch in_to = {0}, in_from = {0};
    while (next_stretch(to, &in_to, from, &in_from)) {
        bool batch = is_of(from, in_from, LL_ROLE_BATCH);
        unsigned first = longer_than_1(to, in_to);
        if (to->role[first] == LL_ROLE_PLAIN && !(batch && has_batch))
            to->role[first] = batch ? LL_ROLE_BATCH : from->role[longer_than_1(from, in_from)];
    }
}

void ll_give_roles_of_steps(struct ll_op_view *op)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        for (unsigned k = 0; k < 2 && op->out[i].rank >= 2; k++) {
            unsigned at = op->out[i].rank > 2 ? k : 0;
            ll_take_role(&op->out[i], at, &op->in[0], op->out[i].rank > 2 ? k : 1);
        }
}

void ll_give_batch(struct ll_op_view *op)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        for (uint32_t k = 0; k < op->input_count; k++)
            if (op->out[i].rank > 0 && op->in[k].rank > 0 && op->in[k].role[0] == LL_ROLE_BATCH)
                ll_take_role(&op->out[i], 0, &op->in[k], 0);
}
