/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of what devices exchange. An exchange takes one tensor or several at once, as libraries do with
 * gradients; each gives one. Outputs that are not given are like the inputs. */
#include "tracer/ops_rules.h"

static const char wants_given[] = "outputs of an exchange of several tensors must be given, one for each";

/* Whether outputs are there, one for each input; else those of a few are made like the inputs. */
static const char *pair_up(struct ll_op_view *op)
{
    if (op->input_count == 0)
        return "an exchange wants something to exchange";
    if (op->output_count == 0 && op->input_count <= LL_MAX_OUTPUTS)
        return ll_give(op, op->input_count, op->in);
    if (op->output_count != op->input_count)
        return wants_given;
    for (uint32_t i = 0; i < op->input_count; i++)
        if (op->in[i].dtype != op->out[i].dtype)
            return "an exchange keeps the type of the elements";
    return NULL;
}

/* Each device has as much after it as before. */
const char *ll_shape_ALIKE(struct ll_op_view *op)
{
    const char *trouble = pair_up(op);
    for (uint32_t i = 0; !trouble && i < op->input_count; i++)
        if (!ll_same_dims(&op->in[i], &op->out[i]))
            trouble = "what comes out of this exchange has the dimensions of what goes in";
    return trouble;
}

/* A device has all after it: not less than its own part. */
const char *ll_shape_GATHERED(struct ll_op_view *op)
{
    const char *trouble = pair_up(op);
    for (uint32_t i = 0; !trouble && i < op->input_count; i++)
        if (ll_elements(&op->out[i]) < ll_elements(&op->in[i]))
            trouble = "what is gathered is not less than a part of it";
    return trouble;
}

/* A device has a part after it: not more than all. */
const char *ll_shape_SCATTERED(struct ll_op_view *op)
{
    const char *trouble = pair_up(op);
    for (uint32_t i = 0; !trouble && i < op->input_count; i++)
        if (ll_elements(&op->out[i]) > ll_elements(&op->in[i]))
            trouble = "what is scattered is not more than all of it";
    return trouble;
}

/* Only the sender knows what comes; an input is the memory into which it does. */
const char *ll_shape_RECEIVED(struct ll_op_view *op)
{
    if (op->input_count == 0)
        return op->output_count > 0 ? NULL : "what is received must be given";
    return ll_shape_ALIKE(op);
}

/* What is on the host is still a tensor here, but an empty one. */
const char *ll_shape_TOKEN(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return "one thing at a time goes to the host";
    return ll_give(op, 1, &(struct ll_shape){.dtype = op->in[0].dtype, .rank = 1});
}
