/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of norms, of losses, and of optimizers, whose steps are part of a network that trains. */
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* Norms. */

/* Inputs from `first` on are numbers for each channel, of images or of rows. */
static bool take_channels(struct onnx *o, uint32_t first, uint32_t count, struct ll_imported *in)
{
    for (uint32_t i = first; i < first + count; i++) {
        struct onnx_value *value = onnx_need(o, i);
        if (!value)
            return false;
        const struct ll_shape list = {
            .rank = 1, .dtype = value->shape.dtype, .dim = {ll_elements(&value->shape)}};
        in[i] = onnx_view(o, onnx_take(o, value, ONNX_PLAIN), &list);
    }
    return true;
}

/* A norm of an image along its channels, or of anything along its last dimension. */
static bool normalise(struct onnx *o, struct onnx_value *x, uint32_t factors)
{
    enum onnx_layout layout = x->shape.rank >= 3 && x->shape.rank <= 5 ? ONNX_IMAGE : ONNX_PLAIN;
    struct ll_imported in[5], out[LL_MAX_OUTPUTS];
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, x, layout);
    if (!take_channels(o, 1, factors, in))
        return false;
    const struct ll_import_op op = {.kind = o->row->kind, .in = in, .in_count = 1 + factors};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], layout, &shape);
    return true;
}

/* In training by the statistics of the batch, which its running averages then follow: a mean and a variance
 * for each channel. Up to version 13 who asks for them trains. */
bool onnx_rule_BATCH_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *averages[2] = {onnx_need(o, 3), onnx_need(o, 4)};
    struct ll_imported in[3], out[LL_MAX_OUTPUTS];
    uint32_t asked = 0;
    for (uint32_t i = 1; i < o->node->output_count; i++)
        asked += o->node->outputs[i] != LL_NO_ID;
    bool old = o->file.opset > 0 && o->file.opset < 14;
    bool trains = onnx_attr_integer(o, "training_mode", 0) != 0 || (old && asked > 0);
    if (!x || !averages[0] || !averages[1] || !trains)
        return x && averages[0] && averages[1] && normalise(o, x, 4);
    bool image = x->shape.rank >= 3 && x->shape.rank <= 5;
    enum onnx_layout layout = image ? ONNX_IMAGE : ONNX_PLAIN;
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, x, layout);
    if (!take_channels(o, 1, 2, in))
        return false;
    const struct ll_import_op op = {.kind = LL_OP_BATCH_NORM, .in = in, .in_count = 3};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], layout, &shape);
    for (uint32_t i = 3; i < 5; i++) { /* what old versions keep for the way back */
        const struct ll_shape list = out[i - 2].shape;
        onnx_put(o, i, out[i - 2], ONNX_PLAIN, &list);
    }
    for (uint32_t i = 1; i < 3 && i < o->node->output_count; i++) {
        const struct ll_imported both[2] = {onnx_take(o, averages[i - 1], ONNX_PLAIN), out[i]};
        struct ll_imported average;
        if (o->node->outputs[i] == LL_NO_ID)
            continue;
        if (!onnx_emit_simple(o, LL_OP_MOVING_AVERAGE, both, 2, NULL, &average))
            return false;
        const struct ll_shape list = average.shape;
        onnx_put(o, i, average, ONNX_PLAIN, &list);
    }
    return true;
}

/* By instance, or by groups of channels: one factor and one number to add for each channel. */
bool onnx_rule_GROUP_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *scale = onnx_need(o, 1);
    if (!x || !scale)
        return false;
    if (x->shape.rank < 3 || x->shape.rank > 5 || ll_elements(&scale->shape) != x->shape.dim[1])
        return onnx_refuse(o, "there must be an image, and one factor for each of its channels");
    return normalise(o, x, 2);
}

/* com.microsoft: images whose channels are the last dimension unless it says otherwise, perhaps a swish
 * behind. */
bool onnx_rule_GROUP_NORM_LAST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    bool last = onnx_attr_integer(o, "channels_last", 1) != 0;
    struct ll_imported in[3], out[LL_MAX_OUTPUTS];
    if (!x || x->shape.rank < 3 || x->shape.rank > 5)
        return x && onnx_refuse(o, "there must be an image");
    enum onnx_layout layout = last ? ONNX_PLAIN : ONNX_IMAGE;
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, x, layout);
    if (!take_channels(o, 1, 2, in))
        return false;
    const struct ll_import_op op = {.kind = o->row->kind, .in = in, .in_count = 3};
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_imported y = out[0];
    if (onnx_attr_integer(o, "activation", 0) != 0 && !onnx_swish(o, y, &out[0]))
        return false;
    onnx_put(o, 0, out[0], layout, &shape);
    return true;
}

/* Rows of all dimensions from the axis on. */
static bool normalise_rows(struct onnx *o, enum ll_op_kind kind, struct ll_imported x,
                           const struct ll_shape *shape, unsigned axis, uint32_t first)
{
    struct ll_shape rows = {.rank = 2, .dtype = shape->dtype, .dim = {1, 1}};
    for (unsigned i = 0; i < shape->rank; i++)
        rows.dim[i >= axis] = ll_mul(rows.dim[i >= axis], shape->dim[i]);
    if (axis + 1u == shape->rank)
        rows = *shape;
    struct ll_imported in[5], out[LL_MAX_OUTPUTS];
    uint32_t factors = onnx_input(o, first + 1) && kind == LL_OP_LAYER_NORM ? 2 : 1;
    if (!take_channels(o, first, factors, in))
        return false;
    in[first - 1] = onnx_view(o, x, &rows);
    const struct ll_import_op op = {.kind = kind, .in = in + first - 1, .in_count = 1 + factors};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, onnx_view(o, out[0], shape), ONNX_PLAIN, shape);
    return true;
}

bool onnx_rule_LAYER_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    unsigned axis;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", -1), x->shape.rank, &axis))
        return false;
    const struct ll_shape shape = x->shape;
    return normalise_rows(o, o->row->kind, onnx_take(o, x, ONNX_PLAIN), &shape, axis, 1);
}

/* com.microsoft: a sum of two, then a norm. */
bool onnx_rule_SKIP_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *skip = onnx_need(o, 1);
    if (!x || !skip || x->shape.rank == 0)
        return x && skip && onnx_refuse(o, "there is no row");
    const struct ll_imported in[2] = {onnx_take(o, x, ONNX_PLAIN), onnx_take(o, skip, ONNX_PLAIN)};
    const struct ll_shape shape = x->shape;
    struct ll_imported sum[2];
    struct onnx_value *bias = onnx_input(o, o->row->kind == LL_OP_LAYER_NORM ? 4 : 3);
    if (!onnx_emit_simple(o, LL_OP_ADD, in, 2, NULL, &sum[0]))
        return false;
    if (bias) {
        sum[1] = onnx_take(o, bias, ONNX_PLAIN);
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, sum, 2, NULL, &sum[0]))
            return false;
    }
    onnx_put(o, 3, sum[0], ONNX_PLAIN, &shape);
    return normalise_rows(o, o->row->kind, sum[0], &shape, shape.rank - 1u, 2);
}

/* LRN: local response normalisation over `size` channels. */
bool onnx_rule_LRN(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    int64_t size = onnx_attr_integer(o, "size", 1);
    if (!x || size < 1 || x->shape.rank < 3 || x->shape.rank > 5)
        return x && onnx_refuse(o, "its window has no size, or its input is no image");
    const struct ll_attr attr = {.key = LL_ATTR_RADIUS, .count = (size - 1) / 2};
    const struct ll_imported in = onnx_take(o, x, ONNX_IMAGE);
    const struct ll_shape shape = x->shape;
    const struct ll_import_op op = {
        .kind = LL_OP_LRN, .in = &in, .in_count = 1, .attrs = &attr, .attr_count = 1};
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], ONNX_IMAGE, &shape);
    return true;
}

/* Over all but the channels, by their own mean and variance. */
bool onnx_rule_MEAN_VARIANCE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    if (!x)
        return false;
    enum onnx_layout layout = onnx_layout_of(o, x);
    const struct ll_imported in = onnx_take(o, x, layout);
    const struct ll_shape shape = x->shape;
    if (!onnx_emit_simple(o, LL_OP_NORMALIZE_CHANNELS, &in, 1, &in.shape, &y))
        return false;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

/* Each row over the root of the sum of its squares, or of its absolute values (p = 1). */
bool onnx_rule_LP_NORM(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    bool squares = onnx_attr_integer(o, "p", 2) != 1;
    unsigned axis;
    if (!x || !onnx_axis(o, onnx_attr_integer(o, "axis", -1), x->shape.rank, &axis))
        return false;
    const struct ll_shape shape = x->shape, rows = onnx_rows(&shape, axis);
    struct ll_shape factors = rows;
    factors.dim[1] = 1;
    struct ll_imported pair[2] = {onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &rows)}, y;
    if (!onnx_emit_simple(o, squares ? LL_OP_SQUARE : LL_OP_ABS, pair, 1, NULL, &y) ||
        !onnx_reduce_rows(o, LL_OP_SUM, y, &y) ||
        (squares && !onnx_emit_simple(o, LL_OP_SQRT, &y, 1, NULL, &y)))
        return false;
    pair[1] = onnx_view(o, y, &factors);
    if (!onnx_emit_simple(o, LL_OP_DIV, pair, 2, NULL, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* Losses. */

/* The elements of a table[rows] that so many labels name, seen as a list. */
static bool pick_labels(struct onnx *o, struct ll_imported table, struct onnx_value *labels,
                        struct ll_imported *out)
{
    const struct ll_shape column = {
        .rank = 2, .dtype = table.shape.dtype, .dim = {ll_elements(&table.shape), 1}};
    const struct ll_shape list = {
        .rank = 1, .dtype = labels->shape.dtype, .dim = {ll_elements(&labels->shape)}};
    const struct ll_imported in[2] = {onnx_view(o, table, &column),
                                      onnx_view(o, onnx_take(o, labels, ONNX_PLAIN), &list)};
    if (!onnx_emit_simple(o, LL_OP_GATHER, in, 2, NULL, out))
        return false;
    *out = onnx_view(o, *out, &(struct ll_shape){.rank = 1, .dim = {list.dim[0]}});
    return true;
}

/* All of a list becomes a scalar. */
static bool reduce_all(struct onnx *o, enum ll_op_kind kind, struct ll_imported list, struct ll_imported *out)
{
    const struct ll_shape row = {.rank = 2, .dim = {1, ll_elements(&list.shape)}}, scalar = {.rank = 0};
    if (!onnx_reduce_rows(o, kind, onnx_view(o, list, &row), out))
        return false;
    *out = onnx_view(o, *out, &scalar);
    return true;
}

/* Of each sample the negative logarithm of its class's share, times the weight of the class; all of them,
 * their sum, or their mean, which is over the sum of weights. The standard's definition, step by step. */
static bool likelihood(struct onnx *o, struct ll_imported logs, struct onnx_value *labels,
                       struct onnx_value *weights)
{
    struct ll_imported pair[2], loss, ends[2];
    const struct ll_shape shape = labels->shape;
    if (shape.dtype != LL_I32 && shape.dtype != LL_I64)
        return onnx_refuse(o, "labels must be integers of 32 or 64 bits");
    if (!pick_labels(o, logs, labels, &pair[0]) || !onnx_emit_simple(o, LL_OP_NEG, pair, 1, NULL, &loss))
        return false;
    if (weights) {
        pair[0] = loss;
        if (!pick_labels(o, onnx_take(o, weights, ONNX_PLAIN), labels, &pair[1]) ||
            !onnx_emit_simple(o, LL_OP_MUL, pair, 2, NULL, &loss))
            return false;
    }
    if (onnx_attr_is(o, "reduction", "none")) {
        onnx_put(o, 0, onnx_view(o, loss, &shape), ONNX_PLAIN, &shape);
        return true;
    }
    bool mean = !onnx_attr_is(o, "reduction", "sum");
    if (!reduce_all(o, mean && !weights ? LL_OP_MEAN : LL_OP_SUM, loss, &ends[0]))
        return false;
    if (mean && weights &&
        (!reduce_all(o, LL_OP_SUM, pair[1], &ends[1]) ||
         !onnx_emit_simple(o, LL_OP_DIV, ends, 2, NULL, &ends[0])))
        return false;
    const struct ll_shape scalar = {.rank = 0};
    onnx_put(o, 0, ends[0], ONNX_PLAIN, &scalar);
    return true;
}

/* NegativeLogLikelihoodLoss: x[samples, classes, ...], a label for each sample and place, perhaps a weight
 * for each class. */
bool onnx_rule_LIKELIHOOD(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *labels = onnx_need(o, 1);
    return x && labels && likelihood(o, onnx_take(o, x, ONNX_PLAIN), labels, onnx_input(o, 2));
}

/* SoftmaxCrossEntropyLoss: the same of the logarithms of a softmax along the classes, which are output 1. */
bool onnx_rule_CROSS_ENTROPY(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *labels = onnx_need(o, 1);
    struct ll_imported logs;
    if (!x || !labels)
        return false;
    if (x->shape.rank < 2)
        return onnx_refuse(o, "classes are its second dimension");
    const struct ll_shape shape = x->shape, rows = onnx_rows(&shape, 1);
    const struct ll_imported in = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &rows);
    if (!onnx_emit_simple(o, LL_OP_SOFTMAX, &in, 1, NULL, &logs))
        return false;
    onnx_put(o, 1, onnx_view(o, logs, &shape), ONNX_PLAIN, &shape);
    return likelihood(o, logs, labels, onnx_input(o, 2));
}

/* Optimizers of ai.onnx.preview.training: a rate, how many steps there were, then all weights, all gradients,
 * and all of each state of them; all weights and states come out anew. */

/* Weight w with states s1, ... becomes what an op of such a kind makes of it. */
static bool update(struct onnx *o, uint32_t weight, uint32_t weights, uint32_t states)
{
    struct ll_imported in[5], out[LL_MAX_OUTPUTS];
    struct onnx_value *values[5] = {onnx_need(o, 2 + weight)};
    for (uint32_t i = 0; i < states; i++)
        values[1 + i] = onnx_need(o, 2 + weight + (2 + i) * weights);
    values[1 + states] = onnx_need(o, 2 + weight + weights); /* the gradient comes last */
    for (uint32_t i = 0; i < 2 + states; i++) {
        if (!values[i])
            return false;
        in[i] = onnx_take(o, values[i], ONNX_PLAIN);
    }
    const struct ll_shape shape = values[0]->shape;
    const struct ll_import_op op = {
        .kind = o->row->kind, .phase = LL_PHASE_UPDATE, .in = in, .in_count = 2 + states};
    if (!onnx_emit(o, &op, out))
        return false;
    for (uint32_t i = 0; i <= states; i++)
        onnx_put(o, weight + i * weights, out[i], ONNX_PLAIN, &shape);
    return true;
}

static bool update_all(struct onnx *o, uint32_t states)
{
    uint32_t each = 2 + states, count = o->node->input_count;
    if (count < 2 + each || (count - 2) % each != 0)
        return onnx_refuse(o, "weights, gradients and states must be as many");
    for (uint32_t i = 0; i < (count - 2) / each; i++)
        if (!update(o, i, (count - 2) / each, states))
            return false;
    return true;
}

bool onnx_rule_MOMENTUM(struct onnx *o)
{
    return update_all(o, 1);
}

bool onnx_rule_ADAM(struct onnx *o)
{
    return update_all(o, 2);
}

/* Of one weight: the sum of squares h + g g, then w - r g / (root of it + epsilon); 5 operations an element
 * (Duchi et al., 2011). */
static bool adagrad(struct onnx *o, uint32_t weight, uint32_t weights)
{
    struct onnx_value *w = onnx_need(o, 2 + weight), *g = onnx_need(o, 2 + weight + weights),
                      *h = onnx_need(o, 2 + weight + 2 * weights);
    struct ll_imported pair[2], sum, step;
    if (!w || !g || !h)
        return false;
    const struct ll_shape shape = w->shape;
    const struct ll_imported gradient = onnx_take(o, g, ONNX_PLAIN), before = onnx_take(o, w, ONNX_PLAIN);
    pair[0] = onnx_take(o, h, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_SQUARE, &gradient, 1, NULL, &pair[1]) ||
        !onnx_emit_simple(o, LL_OP_ADD, pair, 2, NULL, &sum))
        return false;
    pair[0] = gradient;
    if (!onnx_emit_simple(o, LL_OP_SQRT, &sum, 1, NULL, &pair[1]) ||
        !onnx_emit_simple(o, LL_OP_DIV, pair, 2, NULL, &step))
        return false;
    pair[0] = before;
    pair[1] = step;
    if (!onnx_emit_simple(o, LL_OP_SUB, pair, 2, NULL, &step))
        return false;
    onnx_put(o, weight, step, ONNX_PLAIN, &shape);
    onnx_put(o, weight + weights, sum, ONNX_PLAIN, &shape);
    return true;
}

bool onnx_rule_ADAGRAD(struct onnx *o)
{
    uint32_t count = o->node->input_count;
    if (count < 5 || (count - 2) % 3 != 0)
        return onnx_refuse(o, "weights, gradients and states must be as many");
    for (uint32_t i = 0; i < (count - 2) / 3; i++)
        if (!adagrad(o, i, (count - 2) / 3))
            return false;
    return true;
}
