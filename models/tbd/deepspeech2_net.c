/* SPDX-License-Identifier: Apache-2.0 */
/* Two convolutions over time and frequency, each with ReLU and then normalised; two stacks of recurrent
 * layers, one from the first step to the last and one back, that meet at the top; a layer on each step, and
 * one that names characters.
 *
 * What a recurrent layer makes of its input does not depend on its state: one product for the whole sequence,
 * normalised over steps and batch together (Amodei et al., 2016, section 3.2). Stepwise, each step has its
 * own product and is normalised by itself, with weights and averages shared, as the suite's code unrolls it.
 */
#include "models/tbd/deepspeech2.h"

#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/nn/recurrent.h"

enum { FIRST_HEIGHT = 11, FIRST_WIDTH = 41, SECOND_HEIGHT = 11, SECOND_WIDTH = 21, STRIDE = 2 };

struct net {
    struct ll_nn *nn;
    const struct ll_deepspeech2_sizes *sizes;
    uint64_t steps, batch;
};

uint64_t ll_deepspeech2_steps(uint64_t frames)
{
    return (frames - FIRST_HEIGHT) / STRIDE + 1 - (SECOND_HEIGHT - 1);
}

static struct ll_value *normalised(struct net *net, const char *name, struct ll_value *x)
{
    struct ll_batch_norm_options options = {.train = net->sizes->train, .epsilon = 1e-3, .decay = 0.9};
    return ll_batch_norm_layer(net->nn, name, x, &options);
}

/* A convolution without padding, of this size and these strides, ReLU, and a normalisation. */
static struct ll_value *convolved(struct net *net, const char *name, struct ll_value *x,
                                  const uint64_t size[2], uint64_t time_stride)
{
    static const enum ll_role roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL, LL_ROLE_CHANNEL};
    struct ll_nn *nn = net->nn;
    const uint64_t in = x->shape.dim[3];
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){size[0], size[1], in, net->sizes->channels}, roles);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_STRIDE_H, (int64_t)time_stride),
                              ll_attr_of_count(LL_ATTR_STRIDE_W, STRIDE)};
    ll_nn_push(nn, name);
    struct ll_init init = ll_init_keeping_size(size[0] * size[1] * in, 2);
    struct ll_value *inputs[] = {x, ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, init)};
    struct ll_value *y = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_CONV2D, .input_count = 2, .inputs = inputs, .attr_count = 2, .attrs = attrs});
    y = normalised(net, "norm", ll_nn_do1(nn, LL_OP_RELU, y));
    ll_nn_pop(nn);
    return y;
}

/* Rows [steps batch, n] as [steps, batch, n], and back. */
static struct ll_value *as_steps(struct net *net, struct ll_value *rows)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_shape shape =
        ll_nn_shape(net->nn, 3, (uint64_t[]){net->steps, net->batch, rows->shape.dim[1]}, roles);
    return ll_seen_as(net->nn, rows, &shape);
}

static struct ll_value *as_rows(struct net *net, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_shape shape =
        ll_nn_shape(net->nn, 2, (uint64_t[]){net->steps * net->batch, x->shape.dim[2]}, roles);
    return ll_seen_as(net->nn, x, &shape);
}

/* The same of each step by itself: one normalisation, applied often. NULL after trouble. */
static struct ll_value **heard_stepwise(struct net *net, const struct ll_linear *linear, struct ll_value *x,
                                        bool norm)
{
    struct ll_nn *nn = net->nn;
    struct ll_value **inputs = ll_unstacked(nn, x);
    struct ll_value **steps = ll_alloc(&nn->arena, net->steps, sizeof(struct ll_value *));
    if (!inputs || !steps)
        return NULL;
    ll_nn_share(nn, true);
    for (uint64_t t = 0; t < net->steps; t++) {
        struct ll_value *y = ll_linear_apply(nn, linear, 1, &inputs[t]);
        steps[t] = norm ? normalised(net, "norm", y) : y;
    }
    ll_nn_share(nn, false);
    return steps;
}

/* What the input has to say to a recurrent layer, a matrix a step: x W + b, normalised where that is done. */
static struct ll_value **heard(struct net *net, const char *name, struct ll_value *x, uint64_t units,
                               bool norm)
{
    struct ll_nn *nn = net->nn;
    const uint64_t inputs = x->shape.dim[2];
    struct ll_linear linear = ll_linear_begin(nn, name, inputs, units, ll_init_keeping_size(inputs, 1));
    struct ll_value **steps;
    ll_nn_push(nn, name);
    if (net->sizes->stepwise) {
        steps = heard_stepwise(net, &linear, x, norm);
    } else {
        struct ll_value *rows = as_rows(net, x), *y = ll_linear_apply(nn, &linear, 1, &rows);
        steps = ll_unstacked(nn, as_steps(net, norm ? normalised(net, "norm", y) : y));
    }
    ll_nn_pop(nn);
    return steps;
}

/* One layer of one direction: what it heard at each step is replaced by the state after it. */
struct layer {
    struct ll_gru gru;
    struct ll_linear plain;
    struct ll_value **gates, **candidates; /* of plain layers the latter alone */
};

static struct ll_value *step(struct net *net, const struct layer *layer, uint64_t t, struct ll_value *h)
{
    if (net->sizes->gated)
        return ll_gru_step(net->nn, &layer->gru, layer->gates[t], layer->candidates[t], h);
    struct ll_value *again = ll_linear_apply(net->nn, &layer->plain, 1, &h);
    return ll_relu_clipped(net->nn, ll_add_of(net->nn, layer->candidates[t], again), 20);
}

static bool begin_layer(struct net *net, struct ll_value *x, struct layer *layer)
{
    const uint64_t units = net->sizes->hidden;
    struct ll_init init = ll_init_keeping_size(units, 1);
    bool gated = net->sizes->gated;
    if (gated) {
        layer->gates = heard(net, "gates_i2h", x, 2 * units, true);
        layer->gru = ll_gru_begin(net->nn, "cell", units, init);
    } else
        layer->plain = ll_linear_begin(net->nn, "h2h", units, units, init);
    layer->candidates = heard(net, gated ? "candidate_i2h" : "i2h", x, units, !gated);
    return layer->candidates && (!gated || layer->gates);
}

/* [steps, batch, n] to [steps, batch, hidden]. */
static struct ll_value *recurrent(struct net *net, struct ll_value *x, bool backward)
{
    struct layer layer = {.gates = NULL};
    struct ll_value **states = ll_alloc(&net->nn->arena, net->steps, sizeof(struct ll_value *));
    if (!begin_layer(net, x, &layer) || !states) {
        ll_nn_fail(net->nn, "memory ran out");
        return &net->nn->nothing;
    }
    struct ll_value *h = ll_zeros(net->nn, &layer.candidates[0]->shape);
    for (uint64_t i = 0; i < net->steps; i++) {
        uint64_t t = backward ? net->steps - 1 - i : i;
        states[t] = h = step(net, &layer, t, h);
    }
    return ll_stacked(net->nn, states, (uint32_t)net->steps);
}

static struct ll_value *stack(struct net *net, const char *name, struct ll_value *x, bool backward)
{
    struct ll_nn *nn = net->nn;
    ll_nn_push(nn, name);
    for (uint64_t i = 0; i < net->sizes->layers && !nn->trouble; i++) {
        const char *layer = ll_format(&nn->arena, "layer%llu", (unsigned long long)i);
        ll_nn_push(nn, layer ? layer : "layer");
        x = recurrent(net, x, backward);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return x;
}

/* The image [batch, steps, frequencies, channels] as [steps, batch, frequencies channels]. */
static struct ll_value *listened(struct net *net, struct ll_value *image)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t *dim = image->shape.dim;
    net->batch = dim[0];
    net->steps = dim[1];
    struct ll_shape shape = ll_nn_shape(net->nn, 3, (uint64_t[]){dim[0], dim[1], dim[2] * dim[3]}, roles);
    return ll_transposed(net->nn, ll_seen_as(net->nn, image, &shape), 102);
}

static struct ll_value *named(struct net *net, struct ll_value *rows)
{
    struct ll_nn *nn = net->nn;
    const uint64_t hidden = net->sizes->hidden;
    struct ll_dense_options top = {
        .units = hidden, .init = ll_init_keeping_size(rows->shape.dim[1], 2), .bias = LL_NO_BIAS};
    struct ll_dense_options last = {.units = net->sizes->classes, .init = ll_init_keeping_size(hidden, 1)};
    rows = normalised(net, "top_norm", ll_dense_layer(nn, "top", rows, &top));
    return ll_dense_layer(nn, "characters", ll_nn_do1(nn, LL_OP_RELU, rows), &last);
}

struct ll_value *ll_deepspeech2_forward(struct ll_nn *nn, const struct ll_deepspeech2_sizes *sizes,
                                        struct ll_value *spectrograms)
{
    struct net net = {.nn = nn, .sizes = sizes};
    const uint64_t first[] = {FIRST_HEIGHT, FIRST_WIDTH}, second[] = {SECOND_HEIGHT, SECOND_WIDTH};
    struct ll_value *x = convolved(&net, "conv1", spectrograms, first, STRIDE);
    x = convolved(&net, "conv2", x, second, 1);
    if (nn->trouble)
        return &nn->nothing;
    x = listened(&net, x);
    struct ll_value *both[] = {stack(&net, "forward", x, false), stack(&net, "backward", x, true)};
    if (nn->trouble)
        return &nn->nothing;
    x = ll_joined(nn, both, 2, 2);
    return as_steps(&net, named(&net, as_rows(&net, x)));
}
