/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules: outputs from inputs and attributes, or the sentence that says why there are none.
 *
 * Roles travel with the dimensions: the rows of a product keep the role they had on the left, its columns
 * the role they had on the right. */
#include <string.h>

#include "tracer/ir/ops_rules.h"

static const char wants_inputs[] = "the number of inputs is not what this op takes";
static const char wants_same[] = "the inputs must have the same dimensions";

bool ll_same_dims(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

const char *ll_give(struct ll_op_view *op, uint32_t count, const struct ll_shape *first)
{
    op->output_count = count;
    for (uint32_t i = 0; i < count; i++)
        op->out[i] = first[i];
    return NULL;
}

const char *ll_shape_GIVEN(struct ll_op_view *op)
{
    if (op->output_count == 0)
        return "the outputs of this op must be given";
    ll_give_batch(op);
    return NULL;
}

const char *ll_shape_SEEN_AS(struct ll_op_view *op)
{
    if (op->input_count == 0 || op->output_count != 1)
        return "there must be something to see, and what it is seen as";
    struct ll_shape *out = &op->out[0];
    ll_give_batch(op);
    if (out->rank == 2 && op->in[0].rank == 2 && out->role[0] != LL_ROLE_BATCH &&
        out->dim[0] == op->in[0].dim[1]) /* turned */
        ll_take_role(out, 1, &op->in[0], 0);
    return NULL;
}

const char *ll_shape_CAST(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    if (!ll_same_dims(&op->in[0], &op->out[0]))
        return "a cast keeps the dimensions";
    ll_take_roles(&op->out[0], &op->in[0]);
    return NULL;
}

const char *ll_shape_CAST_BOTH(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 2)
        return wants_inputs;
    for (uint32_t i = 0; i < 2; i++) {
        if (!ll_same_dims(&op->in[0], &op->out[i]))
            return "a cast keeps the dimensions";
        ll_take_roles(&op->out[i], &op->in[0]);
    }
    return NULL;
}

const char *ll_shape_RESHAPE(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    uint64_t elements = ll_elements(&op->in[0]);
    if (!ll_fits(elements) || elements != ll_elements(&op->out[0]) || op->in[0].dtype != op->out[0].dtype)
        return "a reshape keeps the number of elements and their type";
    ll_take_roles_reshaped(&op->out[0], &op->in[0]);
    return NULL;
}

/* What is left of a shape without the dimensions that the attributes name: `axes` of them (all that follow),
 * `axis` (0) being the first. False when there are none such. */
static bool reduce(const struct ll_op_view *op, const struct ll_shape *wide, struct ll_shape *narrow)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0);
    if (axis < 0 || axis > wide->rank)
        return false;
    int64_t axes = ll_attr_count(op, LL_ATTR_AXES, wide->rank - axis);
    if (axes < 0 || axes > wide->rank - axis)
        return false;
    *narrow = (struct ll_shape){.dtype = wide->dtype};
    for (int64_t i = 0; i < wide->rank; i++)
        if (i < axis || i >= axis + axes) {
            narrow->dim[narrow->rank] = wide->dim[i];
            narrow->role[narrow->rank++] = wide->role[i];
        }
    return true;
}

const char *ll_shape_REDUCED(struct ll_op_view *op)
{
    struct ll_shape out;
    if (op->input_count != 1)
        return wants_inputs;
    if (!reduce(op, &op->in[0], &out))
        return "there are no such dimensions to reduce";
    return ll_give(op, 1, &out);
}

/* The dimensions of the result along which the input does not repeat are the input's. */
static void take_back_roles(struct ll_op_view *op)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0), axes = op->out[0].rank - op->in[0].rank;
    for (unsigned i = 0; i < op->in[0].rank; i++)
        ll_take_role(&op->out[0], i < axis ? i : i + (unsigned)axes, &op->in[0], i);
}

/* The way back: the result is what reduces to the input. */
const char *ll_shape_EXPAND(struct ll_op_view *op)
{
    struct ll_shape narrow;
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    if (!reduce(op, &op->out[0], &narrow) || !ll_same_dims(&narrow, &op->in[0]))
        return "the result must have the dimensions of the input, and those along which it repeats";
    take_back_roles(op);
    return NULL;
}

/* As many inputs, all of the same dimensions and type. */
static const char *same(struct ll_op_view *op, uint32_t inputs)
{
    if (op->input_count != inputs)
        return wants_inputs;
    for (uint32_t i = 1; i < inputs; i++) {
        if (!ll_same_dims(&op->in[0], &op->in[i]))
            return wants_same;
        if (op->in[0].dtype != op->in[i].dtype)
            return "the inputs must have the same type of elements";
    }
    struct ll_shape out = op->in[0];
    for (uint32_t i = 1; i < inputs; i++)
        ll_take_roles(&out, &op->in[i]);
    return ll_give(op, 1, &out);
}

const char *ll_shape_SAME_1(struct ll_op_view *op)
{
    return same(op, 1);
}

const char *ll_shape_SAME_2(struct ll_op_view *op)
{
    return same(op, 2);
}

/* One input or more. */
const char *ll_shape_SAME_N(struct ll_op_view *op)
{
    return op->input_count == 0 ? wants_inputs : same(op, op->input_count);
}

/* Everything becomes one number. */
const char *ll_shape_SCALAR(struct ll_op_view *op)
{
    if (op->input_count != 1)
        return wants_inputs;
    return ll_give(op, 1, &(struct ll_shape){.dtype = op->in[0].dtype});
}

/* The step is a scalar; what is drawn has the shape that was asked for. */
const char *ll_shape_DRAWN(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->output_count != 1)
        return wants_inputs;
    if (op->in[0].rank != 0)
        return "the number of the step must be a scalar";
    return op->out[0].dtype == op->in[0].dtype ? NULL : "what is drawn must have the type of the step";
}

/* The window of local response normalisation spans 2 radius + 1 channels. */
static const char *normalise(struct ll_op_view *op, uint32_t inputs)
{
    int64_t radius = ll_attr_count(op, LL_ATTR_RADIUS, 0);
    if (op->input_count != inputs)
        return wants_inputs;
    if (radius < 0 || radius > UINT16_MAX)
        return "the radius of a normalisation must be from 0 to 65535";
    return same(op, inputs);
}

const char *ll_shape_LRN(struct ll_op_view *op)
{
    return normalise(op, 1);
}

const char *ll_shape_LRN_GRAD(struct ll_op_view *op)
{
    return normalise(op, 3);
}

/* x[..., c] + bias[c] */
const char *ll_shape_BIAS(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    const struct ll_shape *x = &op->in[0], *bias = &op->in[1];
    if (x->rank == 0 || bias->rank != 1 || bias->dim[0] != x->dim[x->rank - 1])
        return "a bias must have one dimension, as long as the last one of what it is added to";
    return ll_give(op, 1, x);
}

/* x[rows, ...] times scale[rows] */
const char *ll_shape_ROW_SCALE(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[0].rank == 0 || op->in[1].rank != 1 || op->in[1].dim[0] != op->in[0].dim[0])
        return "there must be one factor for each row";
    return ll_give(op, 1, op->in);
}

const char *ll_shape_LAST_DIM(struct ll_op_view *op)
{
    if (op->input_count != 1 || op->in[0].rank == 0)
        return wants_inputs;
    unsigned last = op->in[0].rank - 1u;
    struct ll_shape out = {.rank = 1, .dtype = op->in[0].dtype};
    out.dim[0] = op->in[0].dim[last];
    out.role[0] = op->in[0].role[last];
    return ll_give(op, 1, &out);
}

const char *ll_shape_MATMUL(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[0].rank != 2 || op->in[1].rank != 2)
        return "a product takes two matrices";
    int64_t ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0), tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0);
    if (op->in[0].dim[ta ? 0 : 1] != op->in[1].dim[tb ? 1 : 0])
        return "the columns of the left matrix must be as many as the rows of the right one";
    struct ll_shape out = {.rank = 2, .dtype = op->in[0].dtype};
    out.dim[0] = op->in[0].dim[ta ? 1 : 0];
    out.role[0] = op->in[0].role[ta ? 1 : 0];
    out.dim[1] = op->in[1].dim[tb ? 0 : 1];
    out.role[1] = op->in[1].role[tb ? 0 : 1];
    return ll_give(op, 1, &out);
}

/* Inputs from `first` on are vectors, as long as x's last dimension. */
static const char *check_channels(const struct ll_op_view *op, const struct ll_shape *x, uint32_t first)
{
    for (uint32_t i = first; i < op->input_count; i++)
        if (x->rank == 0 || op->in[i].rank != 1 || op->in[i].dim[0] != x->dim[x->rank - 1])
            return "there must be one number for each channel";
    return NULL;
}

/* x, gamma, beta -> y, mean, variance */
const char *ll_shape_BATCH_NORM(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return wants_inputs;
    const char *trouble = check_channels(op, &op->in[0], 1);
    return trouble ? trouble : ll_give(op, 3, op->in);
}

/* dy, x, gamma, mean, variance -> dx, dgamma, dbeta */
const char *ll_shape_NORM_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 5)
        return wants_inputs;
    if (!ll_same_dims(&op->in[0], &op->in[1]))
        return wants_same;
    const char *trouble = check_channels(op, &op->in[1], 2);
    return trouble ? trouble : ll_give(op, 3, &op->in[1]);
}

/* x, gamma, beta, mean, variance -> y */
const char *ll_shape_NORM_FIXED(struct ll_op_view *op)
{
    if (op->input_count != 5)
        return wants_inputs;
    const char *trouble = check_channels(op, &op->in[0], 1);
    return trouble ? trouble : ll_give(op, 1, op->in);
}

/* x, gamma and perhaps beta of its last dimension -> y */
const char *ll_shape_LAYER_NORM(struct ll_op_view *op)
{
    if (op->input_count != 2 && op->input_count != 3)
        return wants_inputs;
    const char *trouble = check_channels(op, &op->in[0], 1);
    return trouble ? trouble : ll_give(op, 1, op->in);
}

/* x and gamma of its last dimension -> y */
const char *ll_shape_RMS_NORM(struct ll_op_view *op)
{
    return op->input_count == 2 ? ll_shape_LAYER_NORM(op) : wants_inputs;
}

/* dy, x, gamma -> dx, dgamma and, where there is one, dbeta */
static const char *layer_norm_grad(struct ll_op_view *op, uint32_t outputs)
{
    if (op->input_count != 3)
        return wants_inputs;
    if (!ll_same_dims(&op->in[0], &op->in[1]))
        return wants_same;
    const char *trouble = check_channels(op, &op->in[1], 2);
    return trouble ? trouble
                   : ll_give(op, outputs, (const struct ll_shape[]){op->in[1], op->in[2], op->in[2]});
}

const char *ll_shape_LAYER_NORM_GRAD(struct ll_op_view *op)
{
    return layer_norm_grad(op, 3);
}

const char *ll_shape_RMS_NORM_GRAD(struct ll_op_view *op)
{
    return layer_norm_grad(op, 2);
}

static bool keeps_a_share(const struct ll_op_view *op)
{
    double keep = ll_attr_real(op, LL_ATTR_KEEP, 1);
    return keep > 0 && keep <= 1;
}

static const char wants_share[] = "the share that is kept must be above 0 and at most 1";

/* x, the number of the step -> y, which elements were kept: a byte each, as PyTorch's native_dropout and
 * Korthikanti et al. (Reducing activation recomputation in large transformer models, 2022, 4.1) have it */
const char *ll_shape_DROPOUT(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[1].rank != 0)
        return "the number of the step must be a scalar";
    if (!keeps_a_share(op))
        return wants_share;
    struct ll_shape kept = op->in[0];
    kept.dtype = LL_BOOL;
    return ll_give(op, 2, (const struct ll_shape[]){op->in[0], kept});
}

/* dy, which elements were kept -> dx */
const char *ll_shape_DROPOUT_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (!ll_same_dims(&op->in[0], &op->in[1]))
        return wants_same;
    if (op->in[1].dtype != LL_BOOL)
        return "what was kept must be a bool for each element";
    return keeps_a_share(op) ? ll_give(op, 1, op->in) : wants_share;
}

/* step, classes[rows] -> samples different classes below range, and how often each of the rows' classes and
 * each sample was to be expected among them */
const char *ll_shape_SAMPLE(struct ll_op_view *op)
{
    int64_t samples = ll_attr_count(op, LL_ATTR_SAMPLES, 0), range = ll_attr_count(op, LL_ATTR_RANGE, 0);
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[0].rank != 0)
        return "the number of the step must be a scalar";
    if (op->in[1].rank != 1 || op->in[1].dtype != LL_I32)
        return "classes must be one list of i32";
    if (samples < 1 || samples > range || range > INT32_MAX)
        return "there must be a sample, a class for each of them, and at most 2^31 - 1 classes";
    struct ll_shape sampled = {.rank = 1, .dtype = LL_I32, .dim = {(uint64_t)samples}};
    struct ll_shape expected = sampled, of_classes = op->in[1];
    expected.dtype = of_classes.dtype = op->in[0].dtype;
    return ll_give(op, 3, (const struct ll_shape[]){sampled, of_classes, expected});
}

/* logits[rows, classes], targets[rows, classes] -> loss[rows], dlogits[rows, classes] */
const char *ll_shape_XENT_DENSE(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[0].rank != 2 || !ll_same_dims(&op->in[0], &op->in[1]) || op->in[0].dtype != op->in[1].dtype)
        return "cross entropy takes a matrix of logits and one of targets";
    struct ll_shape outs[2] = {op->in[0], op->in[0]};
    outs[0].rank = 1;
    outs[0].dim[1] = 0;
    outs[0].role[1] = LL_ROLE_PLAIN;
    return ll_give(op, 2, outs);
}

/* logits[rows, classes], labels[rows] -> loss[rows], dlogits[rows, classes] */
const char *ll_shape_XENT(struct ll_op_view *op)
{
    if (op->input_count != 2)
        return wants_inputs;
    if (op->in[0].rank != 2 || op->in[1].rank != 1 || op->in[1].dim[0] != op->in[0].dim[0])
        return "cross entropy takes a matrix of logits and one label for each row";
    struct ll_shape outs[2] = {op->in[0], op->in[0]};
    outs[0].rank = 1;
    outs[0].dim[1] = 0;
    outs[0].role[1] = LL_ROLE_PLAIN;
    return ll_give(op, 2, outs);
}

/* The same; the share that all other classes have together must leave something for the right one. */
const char *ll_shape_XENT_SMOOTH(struct ll_op_view *op)
{
    double smoothing = ll_attr_real(op, LL_ATTR_SMOOTHING, 0);
    if (!(smoothing >= 0 && smoothing < 1))
        return "labels must be smoothed by a share from 0 to less than 1";
    if (op->input_count > 0 && op->in[0].rank == 2 && op->in[0].dim[1] < 2)
        return "labels of a single class cannot be smoothed";
    return ll_shape_XENT(op);
}

/* logits[frames, batch, classes], labels[batch, most], lengths[batch], times[batch] -> loss[batch],
 * dlogits[frames, batch, classes] */
const char *ll_shape_CTC(struct ll_op_view *op)
{
    if (op->input_count != 4)
        return wants_inputs;
    const struct ll_shape *logits = &op->in[0];
    bool fits = logits->rank == 3 && logits->dim[2] >= 2;
    for (uint32_t i = 1; i < 4; i++)
        fits &= op->in[i].rank == (i == 1 ? 2 : 1) && op->in[i].dtype == LL_I32 &&
                op->in[i].dim[0] == logits->dim[1];
    if (!fits)
        return "a CTC loss takes logits of frames, batch and two classes or more, and i32 for each of the "
               "batch: labels, how many of them count, how many frames do";
    struct ll_shape loss = {.rank = 1, .dtype = logits->dtype, .dim = {logits->dim[1]}};
    loss.role[0] = logits->role[1];
    return ll_give(op, 2, (const struct ll_shape[]){loss, *logits});
}

/* The first `states` inputs are overwritten; the gradient, right behind them, has their shape. */
static const char *in_place(struct ll_op_view *op, uint32_t states)
{
    if (op->input_count < states + 1)
        return wants_inputs;
    for (uint32_t i = 1; i <= states; i++)
        if (!ll_same_dims(&op->in[0], &op->in[i]))
            return wants_same;
    return ll_give(op, states, op->in);
}

const char *ll_shape_IN_PLACE_1(struct ll_op_view *op)
{
    return in_place(op, 1);
}

const char *ll_shape_IN_PLACE_2(struct ll_op_view *op)
{
    return in_place(op, 2);
}

const char *ll_shape_IN_PLACE_3(struct ll_op_view *op)
{
    return in_place(op, 3);
}

/* A weight of few bits, its master copy, the two moments, the gradient, the powers -> the first four */
const char *ll_shape_ADAM_MIXED(struct ll_op_view *op)
{
    if (op->input_count < 6)
        return wants_inputs;
    for (uint32_t i = 1; i < 5; i++)
        if (!ll_same_dims(&op->in[0], &op->in[i]))
            return wants_same;
    return ll_give(op, 4, op->in);
}

/* Shape rules of ops whose inputs repeat until they fit together, as NumPy broadcasts them. */

static const char ops_shape_broadcast_wants_inputs[] = "the number of inputs is not what this op takes";
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
        return ops_shape_broadcast_wants_inputs;
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
        return ops_shape_broadcast_wants_inputs;
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
        return ops_shape_broadcast_wants_inputs;
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
        return ops_shape_broadcast_wants_inputs;
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

/* Shapes of what devices exchange. An exchange takes one tensor or several at once, as libraries do with
 * gradients; each gives one. Outputs that are not given are like the inputs. */

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

/* Shape rules of what networks do that write one word after the other. */

static const char ops_shape_decoder_wants_inputs[] = "the number of inputs is not what this op takes";

/* Scores [..., rows, keys]: `groups` rows (default 1) belong to one position. The last position is that of
 * the last key; each sees its own key, those before it and `after` (default 0) behind it. The attribute
 * `scale` (default 1) multiplies scores. */
const char *ll_shape_CAUSAL(struct ll_op_view *op)
{
    int64_t groups = ll_attr_count(op, LL_ATTR_GROUPS, 1);
    if (op->input_count != 1)
        return ops_shape_decoder_wants_inputs;
    const struct ll_shape *x = &op->in[0];
    if (x->rank < 2 || groups < 1 || ll_attr_count(op, LL_ATTR_AFTER, 0) < 0 ||
        x->dim[x->rank - 2] % (uint64_t)groups != 0)
        return "scores must be lines of keys, as many for each position as there are groups";
    if (x->dim[x->rank - 2] / (uint64_t)groups > x->dim[x->rank - 1])
        return "there must be at least as many keys as positions";
    return ll_give(op, 1, x);
}

/* A tensor and what comes into it from `begin` (default 0) on along `axis` (default 0) -> the tensor */
const char *ll_shape_CACHE_UPDATE(struct ll_op_view *op)
{
    int64_t axis = ll_attr_count(op, LL_ATTR_AXIS, 0), begin = ll_attr_count(op, LL_ATTR_BEGIN, 0);
    if (op->input_count != 2)
        return ops_shape_decoder_wants_inputs;
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
        return ops_shape_decoder_wants_inputs;
    const struct ll_shape *x = &op->in[0];
    if (axis < 0 || axis + 1 >= x->rank || x->dim[x->rank - 1] % 2 != 0)
        return "features are the last dimension, an even number of them, and positions lie before them";
    return ll_give(op, 1, x);
}

/* dy, gate, x -> what flows into gate and x */
const char *ll_shape_GATED_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 3)
        return ops_shape_decoder_wants_inputs;
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
        return ops_shape_decoder_wants_inputs;
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
