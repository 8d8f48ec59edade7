/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of what networks do that write one word after the other. */
#include "tracer/ops_rules.h"

static const char wants_inputs[] = "the number of inputs is not what this op takes";

/* Scores [..., rows, keys]: `groups` rows (default 1) belong to one position. The last position is that of
 * the last key; each sees its own key and those before it. The attribute `scale` (default 1) multiplies
 * scores. */
const char *ll_shape_CAUSAL(struct ll_op_view *op)
{
    int64_t groups = ll_attr_count(op, LL_ATTR_GROUPS, 1);
    if (op->input_count != 1)
        return wants_inputs;
    const struct ll_shape *x = &op->in[0];
    if (x->rank < 2 || groups < 1 || x->dim[x->rank - 2] % (uint64_t)groups != 0)
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
