/* SPDX-License-Identifier: Apache-2.0 */
/* Layers as ops: convolutions, pools, norms, dense layers, attention, recurrent cells, losses. */
#include "models/nn/layers.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "models/nn/nn.h"

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
    assert(kernel_h > 0 && kernel_w > 0 && stride > 0);
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

struct ll_conv_options ll_conv_of(uint64_t channels, uint64_t kernel, uint64_t stride, uint64_t filters,
                                  double gain)
{
    assert(kernel > 0 && stride > 0 && gain > 0);
    return (struct ll_conv_options){.kernel = kernel,
                                    .stride = stride,
                                    .filters = filters,
                                    .init = ll_init_fan_in(kernel * kernel * ll_max(1, channels), gain)};
}

struct ll_conv_weights ll_conv_weights(struct ll_nn *nn, uint64_t channels,
                                       const struct ll_conv_options *options)
{
    assert(options->kernel > 0);
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
    assert(nn->trouble || weights.filter->shape.rank == 4);
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
    struct ll_value *y = ll_weight_gemm(
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
    assert(kernel > 0);
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

uint64_t ll_depth_positions(uint64_t slices, const struct ll_depth_window *window)
{
    assert(window->size > 0 && window->stride > 0);
    uint64_t all = ll_add(slices, ll_add(window->before, window->after));
    return all < window->size ? 0 : (all - window->size) / window->stride + 1;
}

/* x [batch, slices, ...] with slices before and after it. */
static struct ll_value *with_slices(struct ll_nn *nn, struct ll_value *x, uint64_t before, uint64_t after,
                                    double outside)
{
    if (nn->trouble || (before == 0 && after == 0))
        return x;
    struct ll_value *parts[3] = {NULL, x, NULL};
    struct ll_shape more = x->shape;
    more.dim[1] = before;
    parts[0] = ll_filled(nn, "before", &more, outside);
    more.dim[1] = after;
    parts[2] = ll_filled(nn, "after", &more, outside);
    return ll_nn_concat(nn, before > 0 ? parts : parts + 1, 1 + (before > 0) + (after > 0), 1);
}

/* What each slice of a window meets, position by position, side by side: [batch positions, lines, size ...],
 * where lines are a part of a slice's elements. NULL after trouble. */
static struct ll_value *met(struct ll_nn *nn, struct ll_value *x, const struct ll_depth_window *w,
                            double outside, uint64_t lines)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    const uint64_t *dim = x->shape.dim, batch = dim[0], positions = ll_depth_positions(dim[1], w),
                   elements = dim[2] * dim[3] * dim[4], step = w->stride, all = positions * step;
    struct ll_value **parts = ll_alloc(&nn->arena, w->size, sizeof *parts);
    assert(nn->trouble || x->shape.rank == 5);
    if (positions == 0 || !parts)
        ll_nn_fail(nn, parts ? "a window does not fit into the depth of a volume" : "memory ran out");
    if (nn->trouble)
        return NULL;
    const uint64_t needed = w->size - 1 + all, there = dim[1] + w->before;
    struct ll_shape flat = ll_nn_shape(nn, 3, (uint64_t[]){batch, dim[1], elements}, roles),
                    steps = ll_nn_shape(nn, 4, (uint64_t[]){batch, positions, step, elements}, roles),
                    part =
                        ll_nn_shape(nn, 3, (uint64_t[]){batch * positions, lines, elements / lines}, roles);
    x = with_slices(nn, ll_nn_reshape(nn, x, &flat), w->before, needed > there ? needed - there : 0, outside);
    for (uint64_t i = 0; i < w->size; i++) {
        parts[i] = ll_nn_slice(nn, x, 1, i, all);
        if (step > 1)
            parts[i] = ll_nn_slice(nn, ll_nn_reshape(nn, parts[i], &steps), 2, 0, 1);
        parts[i] = ll_nn_reshape(nn, parts[i], &part);
    }
    x = w->size > 1 ? ll_nn_concat(nn, parts, (uint32_t)w->size, 2) : parts[0];
    return nn->trouble ? NULL : x;
}

struct ll_value *ll_volume_to_convolve(struct ll_nn *nn, struct ll_value *volume,
                                       const struct ll_depth_window *window, uint64_t groups)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    assert(groups > 0 && volume->shape.dim[4] % groups == 0);
    const uint64_t *dim = volume->shape.dim;
    struct ll_value *all = met(nn, volume, window, 0, dim[2] * dim[3] * groups);
    if (!all)
        return &nn->nothing;
    const uint64_t dims[] = {all->shape.dim[0], dim[2], dim[3], window->size * dim[4]};
    const struct ll_shape shape = ll_nn_shape(nn, 4, dims, roles);
    return ll_nn_reshape(nn, all, &shape);
}

struct ll_value *ll_volume_to_pool(struct ll_nn *nn, struct ll_value *volume,
                                   const struct ll_depth_window *window, double outside)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    const uint64_t *dim = volume->shape.dim;
    struct ll_value *all = met(nn, volume, window, outside, dim[2]);
    if (!all)
        return &nn->nothing;
    const uint64_t dims[] = {all->shape.dim[0], dim[2] * window->size, dim[3], dim[4]};
    const struct ll_shape shape = ll_nn_shape(nn, 4, dims, roles);
    return ll_nn_reshape(nn, all, &shape);
}

struct ll_value *ll_as_volume(struct ll_nn *nn, struct ll_value *images, uint64_t slices)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL,
                                         LL_ROLE_CHANNEL};
    if (nn->trouble)
        return images;
    assert(slices > 0 && images->shape.rank == 4 && images->shape.dim[0] % slices == 0);
    const uint64_t *dim = images->shape.dim;
    struct ll_shape shape =
        ll_nn_shape(nn, 5, (uint64_t[]){dim[0] / slices, slices, dim[1], dim[2], dim[3]}, roles);
    return ll_nn_reshape(nn, images, &shape);
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
    assert(options->epsilon >= 0);
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
        plain.init = ll_init_fan_in(ll_max(1, inputs), conv->activation == LL_LINEAR ? 1 : 2);
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

const double ll_hidden_score = -1e9;

/* [batch, length, features] as [batch, heads, length, features / heads]. */
static struct ll_value *split_heads(struct ll_nn *nn, struct ll_value *x, uint64_t heads)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HEADS, LL_ROLE_HIDDEN};
    const uint64_t *dim = x->shape.dim;
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){dim[0], dim[1], heads, dim[2] / heads}, roles);
    return ll_nn_transpose(nn, ll_nn_reshape(nn, x, &shape), 213);
}

/* And back. */
static struct ll_value *join_heads(struct ll_nn *nn, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t *dim = x->shape.dim;
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){dim[0], dim[2], dim[1] * dim[3]}, roles);
    return ll_nn_reshape(nn, ll_nn_transpose(nn, x, 213), &shape);
}

struct ll_value *ll_attention(struct ll_nn *nn, struct ll_value *queries, struct ll_value *keys,
                              struct ll_value *values, const struct ll_attention_options *options)
{
    uint64_t heads = options->heads, features = queries->shape.dim[2];
    if (nn->trouble)
        return &nn->nothing;
    if (heads == 0 || features % heads != 0) {
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
        return &nn->nothing;
    }
    struct ll_value *q = ll_nn_mul_scalar(nn, queries, "head_scale", 1 / sqrt((double)(features / heads)));
    struct ll_value *k = split_heads(nn, keys, heads), *v = split_heads(nn, values, heads);
    struct ll_value *share = ll_matmul_transposed(nn, split_heads(nn, q, heads), k);
    if (options->bias)
        share = ll_add_of(nn, share, options->bias);
    share = ll_nn_do1(nn, LL_OP_SOFTMAX, share);
    if (options->rng)
        share = ll_dropout_layer(nn, "dropout", share, options->keep, options->rng);
    return join_heads(nn, ll_nn_do2(nn, LL_OP_BATCH_MATMUL, share, v));
}

struct ll_value *ll_causal_bias(struct ll_nn *nn, uint64_t length)
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){length, length}, NULL);
    double *list = ll_alloc(&nn->arena, ll_elements(&shape), sizeof *list);
    if (!list) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < length; i++)
        for (uint64_t j = i + 1; j < length; j++)
            list[i * length + j] = ll_hidden_score;
    return ll_nn_variable(nn, "causal_bias", &shape, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, list});
}

struct ll_value *ll_layer_norm(struct ll_nn *nn, const char *name, struct ll_value *x, double epsilon)
{
    assert(epsilon >= 0);
    static const enum ll_role role = LL_ROLE_HIDDEN;
    struct ll_shape shape = ll_nn_shape(nn, 1, &x->shape.dim[x->shape.rank ? x->shape.rank - 1 : 0], &role);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, epsilon);
    ll_nn_push(nn, name);
    struct ll_value *inputs[] = {x, ll_nn_variable(nn, "scale", &shape, LL_WEIGHT, one),
                                 ll_nn_variable(nn, "bias", &shape, LL_WEIGHT, zero)};
    struct ll_value *y = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_LAYER_NORM, .input_count = 3, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    ll_nn_pop(nn);
    return y;
}

struct ll_linear ll_linear_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                 struct ll_init init)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    struct ll_shape weights = ll_nn_shape(nn, 2, (uint64_t[]){inputs, units}, roles);
    struct ll_shape biases = ll_nn_shape(nn, 1, &units, roles);
    ll_nn_push(nn, name);
    struct ll_linear linear = {ll_nn_weight(nn, "weights", &weights, init),
                               ll_nn_weight(nn, "biases", &biases, zero)};
    ll_nn_pop(nn);
    return linear;
}

struct ll_value *ll_linear_apply(struct ll_nn *nn, const struct ll_linear *linear, uint32_t count,
                                 struct ll_value *const *inputs)
{
    assert(count > 0);
    struct ll_value *x = count == 1 ? inputs[0] : ll_nn_concat(nn, inputs, count, 1);
    return ll_nn_do2(nn, LL_OP_BIAS_ADD, ll_nn_do2(nn, LL_OP_MATMUL, x, linear->weights), linear->biases);
}

struct ll_lstm ll_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                             struct ll_init init)
{
    return (struct ll_lstm){name, ll_linear_begin(nn, name, inputs + units, 4 * units, init), false};
}

/* What a step's gates and content are made of. */
struct gates {
    struct ll_value *in, *forget, *content, *out;
};

/* c = c sigmoid(forget) + sigmoid(in) tanh(content) and h = tanh(c) sigmoid(out). */
static struct ll_lstm_state passed(struct ll_nn *nn, struct ll_lstm_state state, struct gates gates)
{
    struct ll_value *kept = ll_mul_of(nn, state.c, ll_nn_do1(nn, LL_OP_SIGMOID, gates.forget));
    struct ll_value *content = ll_nn_do1(nn, LL_OP_TANH, gates.content);
    struct ll_value *new = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_SIGMOID, gates.in), content);
    state.c = ll_add_of(nn, kept, new);
    struct ll_value *shown = ll_nn_do1(nn, LL_OP_SIGMOID, gates.out);
    state.h = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_TANH, state.c), shown);
    return state;
}

struct ll_lstm_state ll_lstm_step(struct ll_nn *nn, const struct ll_lstm *lstm, struct ll_value *x,
                                  struct ll_lstm_state state)
{
    ll_nn_push(nn, lstm->name);
    struct ll_value *all = ll_linear_apply(nn, &lstm->gates, 2, (struct ll_value *[]){x, state.h});
    struct ll_value *const *part = ll_nn_split(nn, all, 1, 4);
    struct ll_value *forget = lstm->unbiased ? part[2] : ll_add_of(nn, part[2], ll_constant(nn, "one", 1));
    state = passed(nn, state,
                   (struct gates){.in = part[0], .content = part[1], .forget = forget, .out = part[3]});
    ll_nn_pop(nn);
    return state;
}

struct ll_split_lstm ll_split_lstm_begin(struct ll_nn *nn, const char *name, uint64_t inputs, uint64_t units,
                                         struct ll_init init)
{
    ll_nn_push(nn, name);
    struct ll_split_lstm lstm = {name, ll_linear_begin(nn, "i2h", inputs, 4 * units, init),
                                 ll_linear_begin(nn, "h2h", units, 4 * units, init)};
    ll_nn_pop(nn);
    return lstm;
}

struct ll_lstm_state ll_split_lstm_step(struct ll_nn *nn, const struct ll_split_lstm *lstm,
                                        struct ll_value *x, struct ll_lstm_state state)
{
    ll_nn_push(nn, lstm->name);
    struct ll_value *from_state = ll_linear_apply(nn, &lstm->state, 1, &state.h);
    struct ll_value *all = ll_add_of(nn, ll_linear_apply(nn, &lstm->input, 1, &x), from_state);
    struct ll_value *const *part = ll_nn_split(nn, all, 1, 4);
    state = passed(nn, state,
                   (struct gates){.in = part[0], .forget = part[1], .content = part[2], .out = part[3]});
    ll_nn_pop(nn);
    return state;
}

struct ll_gru ll_gru_begin(struct ll_nn *nn, const char *name, uint64_t units, struct ll_init init)
{
    ll_nn_push(nn, name);
    struct ll_gru gru = {name, ll_linear_begin(nn, "gates_h2h", units, 2 * units, init),
                         ll_linear_begin(nn, "candidate_h2h", units, units, init)};
    ll_nn_pop(nn);
    return gru;
}

struct ll_value *ll_gru_step(struct ll_nn *nn, const struct ll_gru *gru, struct ll_value *input_gates,
                             struct ll_value *input_candidate, struct ll_value *h)
{
    ll_nn_push(nn, gru->name);
    struct ll_value *both = ll_add_of(nn, input_gates, ll_linear_apply(nn, &gru->gates, 1, &h));
    struct ll_value *const *gates = ll_nn_split(nn, ll_nn_do1(nn, LL_OP_SIGMOID, both), 1, 2);
    struct ll_value *reset = ll_mul_of(nn, gates[0], h);
    struct ll_value *candidate = ll_nn_do1(
        nn, LL_OP_TANH, ll_add_of(nn, input_candidate, ll_linear_apply(nn, &gru->candidate, 1, &reset)));
    h = ll_add_of(nn, h, ll_mul_of(nn, gates[1], ll_sub_of(nn, candidate, h)));
    ll_nn_pop(nn);
    return h;
}

struct ll_value *ll_softmax_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels)
{
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, logits, labels);
    struct ll_value *mean = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return mean;
}

struct ll_value *ll_ctc_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                             struct ll_value *lengths, struct ll_value *times)
{
    struct ll_value *inputs[] = {logits, labels, lengths, times};
    ll_nn_push(nn, "loss");
    struct ll_value *each =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CTC_LOSS, .input_count = 4, .inputs = inputs});
    struct ll_value *mean = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return mean;
}

struct ll_value *ll_accuracy(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels)
{
    ll_nn_push(nn, "accuracy");
    struct ll_value *hit = ll_nn_do2(nn, LL_OP_EQUAL, ll_nn_do1(nn, LL_OP_ARGMAX, logits), labels);
    struct ll_value *one_or_zero = ll_as_real(nn, hit);
    struct ll_value *share = ll_nn_do1(nn, LL_OP_MEAN, one_or_zero);
    ll_nn_keep(share);
    ll_nn_pop(nn);
    return share;
}

struct ll_value *ll_focal_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                               double alpha, double gamma)
{
    assert(alpha >= 0 && gamma >= 0);
    struct ll_attr attrs[] = {ll_attr_of_real(LL_ATTR_ALPHA, alpha), ll_attr_of_real(LL_ATTR_GAMMA, gamma)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_FOCAL_LOSS,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){logits, labels},
                                             .attr_count = 2,
                                             .attrs = attrs});
}

struct ll_value *ll_smooth_l1(struct ll_nn *nn, struct ll_value *x, double limit)
{
    assert(limit > 0);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_LIMIT, limit);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SMOOTH_L1, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
}

/* The logits of the right class and of the samples, each less the logarithm of how often its class was to be
 * expected among the samples; then softmax over 1 + samples classes, of which the first is the right one. */

struct candidates {
    struct ll_value *classes, *expected_labels, *expected;
};

static struct candidates draw(struct ll_nn *nn, const struct ll_sampled_softmax *softmax,
                              struct ll_value *labels)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)softmax->rng->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)softmax->rng->streams++),
        ll_attr_of_count(LL_ATTR_SAMPLES, (int64_t)softmax->samples),
        ll_attr_of_count(LL_ATTR_RANGE, (int64_t)softmax->biases->shape.dim[0]),
    };
    struct ll_value *classes =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_LOG_UNIFORM_SAMPLE,
                                          .input_count = 2,
                                          .inputs = (struct ll_value *[]){softmax->rng->step, labels},
                                          .attr_count = sizeof attrs / sizeof *attrs,
                                          .attrs = attrs});
    if (!classes->producer)
        return (struct candidates){classes, classes, classes};
    struct ll_value **outputs = classes->producer->outputs;
    return (struct candidates){outputs[0], outputs[1], outputs[2]};
}

/* [n] seen as [n, 1]. */
static struct ll_value *as_column(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape column = x->shape;
    column.dim[column.rank++] = 1;
    return ll_nn_reshape(nn, x, &column);
}

/* Rows without a chance where the sample is the right class: as far below all others as floats go. */
static struct ll_value *remove_hits(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                                    struct ll_value *samples)
{
    struct ll_value *hits = ll_as_real(nn, ll_nn_do2(nn, LL_OP_EQUAL, as_column(nn, labels), samples));
    return ll_add_of(nn, logits, ll_nn_mul_scalar(nn, hits, "lowest", -(double)FLT_MAX));
}

/* The targets of a batch: the first class is right, the samples behind it are not. */
static struct ll_value *first_class(struct ll_nn *nn, uint64_t batch, uint64_t samples)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    struct ll_shape right = ll_nn_shape(nn, 2, (uint64_t[]){batch, 1}, roles);
    struct ll_shape others = ll_nn_shape(nn, 2, (uint64_t[]){batch, samples}, roles);
    return ll_nn_concat(nn, (struct ll_value *[]){ll_filled(nn, "ones", &right, 1), ll_zeros(nn, &others)}, 2,
                        1);
}

struct ll_value *ll_sampled_softmax_loss(struct ll_nn *nn, const struct ll_sampled_softmax *softmax,
                                         struct ll_value *x, struct ll_value *labels)
{
    const uint64_t batch = labels->shape.dim[0], samples = softmax->samples;
    ll_nn_push(nn, "sampled_softmax");
    struct candidates drawn = draw(nn, softmax, labels);
    struct ll_value *all = ll_nn_concat(nn, (struct ll_value *[]){labels, drawn.classes}, 2, 0);
    struct ll_value *weights = ll_nn_gather(nn, softmax->weights, all);
    struct ll_value *biases = ll_nn_gather(nn, softmax->biases, all);
    struct ll_value *right = ll_sum_over(nn, ll_mul_of(nn, x, ll_nn_slice(nn, weights, 0, 0, batch)), 1, 1);
    right = ll_add_of(nn, right, ll_nn_slice(nn, biases, 0, 0, batch));
    right = ll_sub_of(nn, right, ll_nn_do1(nn, LL_OP_LOG, drawn.expected_labels));
    struct ll_value *others = ll_matmul_transposed(nn, x, ll_nn_slice(nn, weights, 0, batch, samples));
    others = ll_nn_do2(nn, LL_OP_BIAS_ADD, others, ll_nn_slice(nn, biases, 0, batch, samples));
    others = remove_hits(nn, others, labels, drawn.classes);
    others = ll_sub_of(nn, others, ll_nn_do1(nn, LL_OP_LOG, drawn.expected));
    struct ll_value *logits = ll_nn_concat(nn, (struct ll_value *[]){as_column(nn, right), others}, 2, 1);
    struct ll_value *loss = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT_DENSE, logits, first_class(nn, batch, samples));
    ll_nn_pop(nn);
    return loss;
}
