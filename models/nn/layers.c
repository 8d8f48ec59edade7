/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/layers.h"

#include "models/nn/formula.h"
#include "models/nn/init.h"

static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL}, one = {LL_INIT_CONSTANT, 1, NULL};

/* Attributes of a window that slides over an image. */
struct sliding {
    struct ll_attr attrs[9];
    uint32_t count;
};

static void add_count(struct sliding *sliding, enum ll_attr_key key, uint64_t value)
{
    sliding->attrs[sliding->count++] = ll_attr_of_count(key, (int64_t)value);
}

/* Of both sides together. */
static uint64_t padding_of(uint64_t size, uint64_t kernel, uint64_t stride, enum ll_padding padding)
{
    if (padding != LL_SAME || size == 0)
        return padding == LL_HALF ? kernel / 2 * 2 : 0;
    uint64_t reach = (ll_ceil_div(size, stride) - 1) * stride + kernel;
    return reach > size ? reach - size : 0;
}

static struct sliding slide(const struct ll_shape *image, uint64_t kernel_h, uint64_t kernel_w,
                            uint64_t stride, enum ll_padding padding)
{
    struct sliding sliding = {.count = 0};
    uint64_t high = padding_of(image->dim[1], kernel_h, stride, padding);
    uint64_t wide = padding_of(image->dim[2], kernel_w, stride, padding);
    add_count(&sliding, LL_ATTR_STRIDE_H, stride);
    add_count(&sliding, LL_ATTR_STRIDE_W, stride);
    add_count(&sliding, LL_ATTR_PAD_TOP, high / 2);
    add_count(&sliding, LL_ATTR_PAD_LEFT, wide / 2);
    add_count(&sliding, LL_ATTR_PAD_BOTTOM, high - high / 2);
    add_count(&sliding, LL_ATTR_PAD_RIGHT, wide - wide / 2);
    return sliding;
}

static struct ll_value *activate(struct ll_nn *nn, enum ll_activation activation, struct ll_value *x)
{
    if (activation == LL_RELU6)
        return ll_relu_clipped(nn, x, 6);
    return activation == LL_RELU ? ll_nn_do1(nn, LL_OP_RELU, x) : x;
}

/* As long as the last dimension of what it is added to; NULL for none. */
static struct ll_value *biases(struct ll_nn *nn, enum ll_bias bias, uint64_t length, enum ll_role role,
                               double start)
{
    struct ll_shape shape = ll_nn_shape(nn, 1, &length, &role);
    struct ll_init init = {LL_INIT_CONSTANT, start, NULL};
    return bias == LL_NO_BIAS ? NULL : ll_nn_weight(nn, "biases", &shape, init);
}

static struct ll_value *add_biases(struct ll_nn *nn, enum ll_bias bias, struct ll_value *x,
                                   struct ll_value *values)
{
    return values ? ll_nn_do2(nn, bias == LL_BIAS ? LL_OP_BIAS_ADD : LL_OP_ADD, x, values) : x;
}

static uint64_t groups_of(uint64_t channels, const struct ll_conv_options *options)
{
    return ll_max(1, options->filters == 0 ? channels : options->groups);
}

struct ll_conv_weights ll_conv_weights(struct ll_nn *nn, uint64_t channels,
                                       const struct ll_conv_options *options)
{
    static const enum ll_role roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL, LL_ROLE_CHANNEL};
    uint64_t filters = options->filters ? options->filters : channels;
    uint64_t dims[] = {options->kernel, options->kernel_w ? options->kernel_w : options->kernel,
                       channels / groups_of(channels, options), filters};
    struct ll_shape shape = ll_nn_shape(nn, 4, dims, roles);
    struct ll_value *filter = ll_nn_weight(nn, "weights", &shape, options->init);
    return (struct ll_conv_weights){filter,
                                    biases(nn, options->bias, filters, LL_ROLE_CHANNEL, options->bias_start)};
}

struct ll_value *ll_conv_apply(struct ll_nn *nn, struct ll_value *x, struct ll_conv_weights weights,
                               const struct ll_conv_options *options)
{
    const uint64_t *filter = weights.filter->shape.dim, groups = groups_of(x->shape.dim[3], options);
    struct sliding sliding =
        slide(&x->shape, filter[0], filter[1], options->stride ? options->stride : 1, options->padding);
    if (groups > 1)
        add_count(&sliding, LL_ATTR_GROUPS, groups);
    struct ll_value *inputs[] = {x, weights.filter};
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CONV2D,
                                                           .input_count = 2,
                                                           .inputs = inputs,
                                                           .attr_count = sliding.count,
                                                           .attrs = sliding.attrs});
    return activate(nn, options->activation, add_biases(nn, options->bias, y, weights.biases));
}

struct ll_value *ll_conv_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                               const struct ll_conv_options *options)
{
    ll_nn_push(nn, name);
    struct ll_value *y = ll_conv_apply(nn, x, ll_conv_weights(nn, x->shape.dim[3], options), options);
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_dense_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                const struct ll_dense_options *options)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    uint64_t dims[] = {x->shape.dim[1], options->units};
    struct ll_shape shape = ll_nn_shape(nn, 2, dims, roles);
    ll_nn_push(nn, name);
    struct ll_shape narrow_shape = shape;
    narrow_shape.dtype = LL_F8;
    struct ll_value *weights = options->held
                                   ? ll_nn_variable(nn, "weights", &narrow_shape, LL_WEIGHT, options->init)
                                   : ll_nn_weight(nn, "weights", &shape, options->init);
    struct ll_value *inputs[] = {x, weights};
    struct ll_value *y = ll_weight_product(
        nn, &(struct ll_nn_call){.kind = LL_OP_MATMUL, .input_count = 2, .inputs = inputs}, options->narrow);
    y = add_biases(nn, options->bias, y,
                   biases(nn, options->bias, options->units, LL_ROLE_HIDDEN, options->bias_start));
    y = activate(nn, options->activation, y);
    ll_nn_pop(nn);
    return y;
}

static struct ll_value *pool(struct ll_nn *nn, enum ll_op_kind kind, const char *name, struct ll_value *x,
                             uint64_t kernel, struct sliding sliding)
{
    add_count(&sliding, LL_ATTR_KERNEL_H, kernel);
    add_count(&sliding, LL_ATTR_KERNEL_W, kernel);
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = kind,
                                                           .input_count = 1,
                                                           .inputs = &x,
                                                           .attr_count = sliding.count,
                                                           .attrs = sliding.attrs});
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_max_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding)
{
    return pool(nn, LL_OP_MAX_POOL, name, x, kernel, slide(&x->shape, kernel, kernel, stride, padding));
}

struct ll_value *ll_avg_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding)
{
    return pool(nn, LL_OP_AVG_POOL, name, x, kernel, slide(&x->shape, kernel, kernel, stride, padding));
}

/* What follows into the moving average: an op of the update, though it stands with the forward ops. */
static void follow(struct ll_nn *nn, struct ll_value *average, struct ll_value *x, double decay)
{
    enum ll_phase phase = nn->phase;
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_DECAY, decay);
    nn->phase = LL_PHASE_UPDATE;
    ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_MOVING_AVERAGE,
                                      .input_count = 2,
                                      .inputs = (struct ll_value *[]){average, x},
                                      .attr_count = 1,
                                      .attrs = &attr});
    nn->phase = phase;
}

static struct ll_value *scale(struct ll_nn *nn, const struct ll_shape *channels,
                              const struct ll_batch_norm_options *options)
{
    return options->unscaled ? ll_nn_variable(nn, "gamma", channels, LL_WORKSPACE, one)
                             : ll_nn_weight(nn, "gamma", channels, options->silent ? zero : one);
}

/* The averages are no parameters, so they count as state of the training. */
struct ll_value *ll_batch_norm_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                     const struct ll_batch_norm_options *options)
{
    static const enum ll_role role = LL_ROLE_CHANNEL;
    struct ll_shape shape = ll_nn_shape(nn, 1, &x->shape.dim[x->shape.rank ? x->shape.rank - 1 : 0], &role);
    struct ll_attr epsilon = ll_attr_of_real(LL_ATTR_EPSILON, options->epsilon);
    ll_nn_push(nn, name);
    bool frozen = nn->frozen;
    nn->frozen |= options->frozen;
    struct ll_value *inputs[] = {x, scale(nn, &shape, options), ll_nn_weight(nn, "beta", &shape, zero),
                                 ll_nn_variable(nn, "mean", &shape, LL_OPTIMIZER, zero),
                                 ll_nn_variable(nn, "variance", &shape, LL_OPTIMIZER, one)};
    nn->frozen = frozen;
    struct ll_value *y =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = options->train ? LL_OP_BATCH_NORM : LL_OP_BATCH_NORM_FIXED,
                                          .input_count = options->train ? 3 : 5,
                                          .inputs = inputs,
                                          .attr_count = 1,
                                          .attrs = &epsilon});
    for (int i = 0; y->producer && options->train && !options->still && i < 2; i++)
        follow(nn, inputs[3 + i], y->producer->outputs[1 + i], options->decay);
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_conv_norm_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                                    const struct ll_conv_options *conv,
                                    const struct ll_batch_norm_options *norm)
{
    struct ll_conv_options plain = *conv;
    uint64_t channels = conv->filters == 0 ? 1 : x->shape.dim[3] / ll_max(1, conv->groups);
    uint64_t inputs = conv->kernel * (conv->kernel_w ? conv->kernel_w : conv->kernel) * channels;
    plain.bias = LL_NO_BIAS;
    plain.activation = LL_LINEAR;
    if (plain.init.scale == 0)
        plain.init = ll_init_keeping_size(ll_max(1, inputs), conv->activation == LL_LINEAR ? 1 : 2);
    ll_nn_push(nn, name);
    x = ll_conv_layer(nn, "conv", x, &plain);
    x = activate(nn, conv->activation, ll_batch_norm_layer(nn, "norm", x, norm));
    ll_nn_pop(nn);
    return x;
}

struct ll_value *ll_global_average_pool(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 2)};
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_MEAN, .input_count = 1, .inputs = &x, .attr_count = 2, .attrs = attrs});
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_lrn_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                              const struct ll_lrn_options *options)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_RADIUS, options->radius),
        ll_attr_of_real(LL_ATTR_BIAS, options->bias),
        ll_attr_of_real(LL_ATTR_ALPHA, options->alpha),
        ll_attr_of_real(LL_ATTR_BETA, options->beta),
    };
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_LRN,
                                                           .input_count = 1,
                                                           .inputs = &x,
                                                           .attr_count = sizeof attrs / sizeof *attrs,
                                                           .attrs = attrs});
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_flatten(struct ll_nn *nn, struct ll_value *x)
{
    uint64_t features = 1;
    for (unsigned i = 1; i < x->shape.rank; i++)
        features = ll_mul(features, x->shape.dim[i]);
    struct ll_shape flat = ll_nn_shape(nn, 2, (uint64_t[]){x->shape.dim[0], features},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &x, .given_count = 1, .given = &flat});
}
