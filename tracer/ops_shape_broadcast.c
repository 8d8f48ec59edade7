/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of ops whose inputs repeat until they fit together, as NumPy broadcasts them. */
#include "tracer/ops_rules.h"

static const char wants_inputs[] = "the number of inputs is not what this op takes";
static const char no_spread[] =
    "counted from the last, dimensions must be equal, or 1 where an input repeats";

/* Whether a shape is another's, or the first dimensions of it. */
static bool leads(const struct ll_shape *rows, const struct ll_shape *shape)
{
    bool leads = rows->rank > 0 || shape->rank == 0;
    for (unsigned i = 0; i < rows->rank; i++)
        leads = leads && i < shape->rank && rows->dim[i] == shape->dim[i];
    return leads;
}

/* condition, what holds where it does, what holds elsewhere */
const char *ll_shape_SELECT(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return wants_inputs;
    if (op->in[0].dtype != LL_BOOL)
        return "a condition must be of type bool";
    if (!leads(&op->in[0], &op->in[1]) || !ll_same_dims(&op->in[1], &op->in[2]) ||
        op->in[1].dtype != op->in[2].dtype)
        return "the inputs must have the same dimensions, the condition these or the first of them";
    return ll_give(op, 1, &op->in[1]);
}

/* Dimensions are matched from the last one on; where one input has 1 or nothing, it repeats (as NumPy has
 * it). */
static bool spread(const struct ll_shape *a, const struct ll_shape *b, struct ll_shape *out)
{
    const struct ll_shape *longer = a->rank >= b->rank ? a : b, *other = longer == a ? b : a;
    *out = *longer;
    for (unsigned i = 0; i < other->rank; i++) {
        unsigned at = longer->rank - 1u - i, from = other->rank - 1u - i;
        if (out->dim[at] == 1 && other->dim[from] != 1) {
            out->dim[at] = other->dim[from];
            out->role[at] = other->role[from];
        } else if (other->dim[from] != 1 && other->dim[from] != out->dim[at]) {
            return false;
        } else {
            ll_take_role(out, at, other, from);
        }
    }
    return true;
}

static const char *broadcast(struct ll_op_view *op, struct ll_shape *out)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[0].dtype != op->in[1].dtype)
        return "the inputs must have the same type of elements";
    return spread(&op->in[0], &op->in[1], out) ? NULL : no_spread;
}

const char *ll_shape_BROADCAST(struct ll_op_view *op)
{
    struct ll_shape out;
    const char *trouble = broadcast(op, &out);
    return trouble ? trouble : ll_give(op, 1, &out);
}

const char *ll_shape_COMPARE(struct ll_op_view *op)
{
    struct ll_shape out;
    const char *trouble = broadcast(op, &out);
    out.dtype = LL_BOOL;
    return trouble ? trouble : ll_give(op, 1, &out);
}

/* As SELECT, but each of the three may repeat. */
const char *ll_shape_WHERE(struct ll_op_view *op)
{
    struct ll_shape pair, out;
    if (op->input_count != 3)
        return wants_inputs;
    if (op->in[0].dtype != LL_BOOL)
        return "a condition must be of type bool";
    if (op->in[1].dtype != op->in[2].dtype)
        return "the inputs must have the same type of elements";
    if (!spread(&op->in[1], &op->in[2], &pair) || !spread(&pair, &op->in[0], &out))
        return no_spread;
    out.dtype = op->in[1].dtype;
    return ll_give(op, 1, &out);
}

/* The result, which is given, has along each dimension (counted from the last) as often what the input has.
 */
const char *ll_shape_REPEATED(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    const struct ll_shape *in = &op->in[0], *out = &op->out[0];
    if (out->rank < in->rank || out->dtype != in->dtype)
        return "what is repeated keeps its type and its dimensions";
    for (unsigned i = 1; i <= in->rank; i++)
        if (in->dim[in->rank - i] == 0 || out->dim[out->rank - i] % in->dim[in->rank - i] != 0)
            return "a dimension must become a whole number of times as long";
    for (unsigned i = 1; i <= in->rank; i++)
        ll_take_role(&op->out[0], out->rank - i, in, in->rank - i);
    return NULL;
}
