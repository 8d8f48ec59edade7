/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/layers.h"

static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};

/* Attributes of a window that slides over an image. */
struct sliding {
    struct ll_attr attrs[8];
    uint32_t count;
};

static void add_count(struct sliding *sliding, enum ll_attr_key key, uint64_t value)
{
    sliding->attrs[sliding->count++] = ll_attr_of_count(key, (int64_t)value);
}

static uint64_t same_padding(uint64_t size, uint64_t kernel, uint64_t stride)
{
    uint64_t reach = (ll_ceil_div(size, stride) - 1) * stride + kernel;
    return reach > size ? reach - size : 0;
}

static struct sliding slide(const struct ll_shape *image, uint64_t kernel, uint64_t stride,
                            enum ll_padding padding)
{
    struct sliding sliding = {.count = 0};
    bool same = padding == LL_SAME && image->dim[1] > 0 && image->dim[2] > 0;
    uint64_t high = same ? same_padding(image->dim[1], kernel, stride) : 0;
    uint64_t wide = same ? same_padding(image->dim[2], kernel, stride) : 0;
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
    return activation == LL_RELU ? ll_nn_do1(nn, LL_OP_RELU, x) : x;
}

/* x + bias, the bias being as long as x's last dimension. */
static struct ll_value *add_bias(struct ll_nn *nn, struct ll_value *x, uint64_t length, enum ll_role role)
{
    struct ll_shape shape = ll_nn_shape(nn, 1, &length, &role);
    return ll_nn_do2(nn, LL_OP_BIAS_ADD, x, ll_nn_variable(nn, "biases", &shape, LL_WEIGHT, zero));
}

struct ll_value *ll_conv_layer(struct ll_nn *nn, const char *name, struct ll_value *x,
                               const struct ll_conv_options *options)
{
    static const enum ll_role roles[] = {LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL, LL_ROLE_CHANNEL};
    uint64_t dims[] = {options->kernel, options->kernel, x->shape.dim[3], options->filters};
    struct ll_shape shape = ll_nn_shape(nn, 4, dims, roles);
    struct sliding sliding = slide(&x->shape, options->kernel, options->stride, options->padding);
    ll_nn_push(nn, name);
    struct ll_value *inputs[] = {x, ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, options->init)};
    struct ll_value *y = ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_CONV2D,
                                                        .input_count = 2,
                                                        .inputs = inputs,
                                                        .attr_count = sliding.count,
                                                        .attrs = sliding.attrs});
    y = activate(nn, options->activation, add_bias(nn, y, options->filters, LL_ROLE_CHANNEL));
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
    struct ll_value *weights = ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, options->init);
    struct ll_value *y = ll_nn_do2(nn, LL_OP_MATMUL, x, weights);
    y = activate(nn, options->activation, add_bias(nn, y, options->units, LL_ROLE_HIDDEN));
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_max_pool_layer(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                   uint64_t stride, enum ll_padding padding)
{
    struct sliding sliding = slide(&x->shape, kernel, stride, padding);
    add_count(&sliding, LL_ATTR_KERNEL_H, kernel);
    add_count(&sliding, LL_ATTR_KERNEL_W, kernel);
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_MAX_POOL,
                                                        .input_count = 1,
                                                        .inputs = &x,
                                                        .attr_count = sliding.count,
                                                        .attrs = sliding.attrs});
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
    struct ll_value *y = ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_LRN,
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
        nn, &(struct ll_call){
                .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &x, .given_count = 1, .given = &flat});
}
