/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of what networks do that write one word after the other. */
#include "tracer/ops_rules.h"

static const char wants_inputs[] = "the number of inputs is not what this op takes";

/* Scores [..., rows, keys]: `groups` rows (default 1) belong to one position. The last position is that of
 * the last key; each sees its own key, those before it and `after` (default 0) behind it. The attribute
 * `scale` (default 1) multiplies scores. */
const char *ll_shape_CAUSAL(struct ll_op_view *op)
{
    int64_t groups = ll_attr_count(op, LL_ATTR_GROUPS, 1);
    if (op->input_count != 1)
        return wants_inputs;
    const struct ll_shape *x = &op->in[0];
    if (x->rank < 2 || groups < 1 || ll_attr_count(op, LL_ATTR_AFTER, 0) < 0 ||
        x->dim[x->rank - 2] % (uint64_t)groups != 0)
        return "scores must be lines of keys, as many for each position as there are groups";
    if (x->dim[x->rank - 2] / (uint64_t)groups > x->dim[x->rank - 1])
        return "there must be at least as many keys as positions";
    return ll_give(op, 1, x);
}

/* A tensor and what comes into it from `begin` (default 0) on along `axis` (default 0) -> the tensor */
const char *ll_shape_PUT(struct ll_op_view *op)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0), begin = ll_attr_count(op, LL_ATTR_BEGIN, 0);
    if (op->input_count != 2)
        return wants_inputs;
    const struct ll_shape *all = &op->in[0], *part = &op->in[1];
    if (axis < 0 || axis >= all->rank || part->rank != all->rank || part->dtype != all->dtype)
        return "a part has the dimensions and the type of the whole";
    for (unsigned i = 0; i < all->rank; i++)
        if (i != (unsigned)axis && part->dim[i] != all->dim[i])
            return "a part is as large as the whole but along one dimension";
    if (begin < 0 || !(ll_add((uint64_t)begin, part->dim[axis]) <= all->dim[axis]))
        return "a part must lie within the whole";
    return ll_give(op, 1, all);
}

/* x[..., positions, ..., features]: positions along `axis` (default 0), the first of them `begin` (default 0)
 */
const char *ll_shape_ROTARY(struct ll_op_view *op)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0);
    if (op->input_count != 1)
        return wants_inputs;
    const struct ll_shape *x = &op->in[0];
    if (axis < 0 || axis + 1 >= x->rank || x->dim[x->rank - 1] % 2 != 0)
        return "features are the last dimension, an even number of them, and positions lie before them";
    return ll_give(op, 1, x);
}

/* dy, gate, x -> what flows into gate and x */
const char *ll_shape_GATED_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return wants_inputs;
    if (!ll_same_dims(&op->in[0], &op->in[1]) || !ll_same_dims(&op->in[0], &op->in[2]))
        return "the inputs must have the same shape";
    return ll_give(op, 2, op->in + 1);
}

/* Which of `classes` experts each token chose -> for each of the `size` places of an expert the token that
 * lies there, the number of its choice among all tokens' choices, and whether anybody does, [experts,
 * places]. `capacity`, where it is told, says how places were counted: percent of an even share of
 * the choices. */
const char *ll_shape_ROUTE(struct ll_op_view *op)
{
    int64_t experts = ll_attr_count(op, LL_ATTR_CLASSES, 0), places = ll_attr_count(op, LL_ATTR_SIZE, 0);
    if (op->input_count != 1)
        return wants_inputs;
    if (op->in[0].rank != 2 || op->in[0].dtype != LL_I32 || experts < 1 || places < 1)
        return "tokens' choices are a matrix of i32; there are experts, and each has places";
    struct ll_shape out = {.rank = 2, .dtype = LL_I32};
    out.dim[0] = (uint64_t)experts;
    out.role[0] = LL_ROLE_EXPERTS;
    out.dim[1] = (uint64_t)places;
    out.role[1] = op->in[0].role[0];
    struct ll_shape taken = out;
    taken.dtype = LL_BOOL;
    return ll_give(op, 3, (const struct ll_shape[]){out, out, taken});
}
