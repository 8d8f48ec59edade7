/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/wgan_net.h"

#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/nn/optim.h"

#include <string.h>

static const double epsilon = 1e-5; /* of both norms */
static const enum ll_role image_roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};

/* The same numbers as so many rows of so many columns, and so on. */
static struct ll_value *seen_as(struct ll_nn *nn, struct ll_value *x, uint64_t a, uint64_t b, uint64_t c,
                                uint64_t d)
{
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){a, b, c, d}, image_roles);
    return ll_seen_as(nn, x, &shape);
}

static struct ll_value *conv(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                             uint64_t filters, enum ll_bias bias)
{
    return ll_conv_layer(nn, name, x,
                         &(struct ll_conv_options){
                             .kernel = kernel,
                             .stride = 1,
                             .filters = filters,
                             .padding = LL_SAME,
                             .bias = bias,
                             .init = ll_init_keeping_size(kernel * kernel * x->shape.dim[3], 2),
                         });
}

/* A factor and an offset for each channel. */
struct affine {
    struct ll_value *gamma, *beta;
};

static struct affine affine_of(struct ll_nn *nn, const struct ll_value *x)
{
    struct ll_shape shape = ll_nn_shape(nn, 1, &x->shape.dim[3], (enum ll_role[]){LL_ROLE_CHANNEL});
    return (struct affine){
        ll_nn_variable(nn, "gamma", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL}),
        ll_nn_variable(nn, "beta", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 0, NULL})};
}

typedef struct ll_value *norm_layer(struct ll_nn *nn, const char *name, struct ll_value *x);

/* By mean and variance of the batch, at inference as well: nobody keeps averages. */
static struct ll_value *batch_norm(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, epsilon);
    ll_nn_push(nn, name);
    struct affine affine = affine_of(nn, x);
    struct ll_value *inputs[] = {x, affine.gamma, affine.beta};
    struct ll_value *y = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_BATCH_NORM, .input_count = 3, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    ll_nn_pop(nn);
    return y;
}

/* The mean of each image, over all but the first dimension, which alone stays: [batch, 1, 1, 1]. */
static struct ll_value *mean_of_image(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 3)};
    struct ll_value *mean = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_MEAN, .input_count = 1, .inputs = &x, .attr_count = 2, .attrs = attrs});
    return seen_as(nn, mean, x->shape.dim[0], 1, 1, 1);
}

/* By mean and variance of each image: op by op, as TensorFlow's moments and batch_normalization are, all of
 * which can be derived twice. */
static struct ll_value *layer_norm(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    ll_nn_push(nn, name);
    struct affine affine = affine_of(nn, x);
    struct ll_value *centred = ll_sub_of(nn, x, mean_of_image(nn, x));
    struct ll_value *variance = mean_of_image(nn, ll_nn_do1(nn, LL_OP_SQUARE, centred));
    struct ll_value *deviation =
        ll_nn_do1(nn, LL_OP_SQRT, ll_add_of(nn, variance, ll_constant(nn, "epsilon", epsilon)));
    struct ll_value *factor = ll_div_of(nn, affine.gamma, deviation);
    struct ll_value *y = ll_add_of(nn, ll_mul_of(nn, centred, factor), affine.beta);
    ll_nn_pop(nn);
    return y;
}

typedef struct ll_value *resampling(struct ll_nn *nn, struct ll_value *x);

static struct ll_value *unchanged(struct ll_nn *nn, struct ll_value *x)
{
    (void)nn;
    return x;
}

/* Each pixel four times: the channels fourfold, then depth to space. */
static struct ll_value *doubled(struct ll_nn *nn, struct ll_value *x)
{
    const uint64_t *dim = x->shape.dim;
    struct ll_value *deep = ll_joined(nn, (struct ll_value *[]){x, x, x, x}, 4, 3);
    struct ll_value *pairs = seen_as(nn, deep, dim[0] * dim[1], dim[2], 2, 2 * dim[3]);
    return seen_as(nn, ll_transposed(nn, pairs, 213), dim[0], 2 * dim[1], 2 * dim[2], dim[3]);
}

/* The mean of four pixels: the four pictures of every second row and column, added up. */
static struct ll_value *halved(struct ll_nn *nn, struct ll_value *x)
{
    const uint64_t *dim = x->shape.dim;
    struct ll_value *quarters[4];
    struct ll_value *pairs = seen_as(nn, x, dim[0] * dim[1] / 2, 2, dim[2] / 2, 2 * dim[3]);
    struct ll_value *const *rows = ll_parted(nn, pairs, 1, 2);
    for (int i = 0; i < 2; i++)
        memcpy(&quarters[2 * i], ll_parted(nn, rows[i], 3, 2), 2 * sizeof(struct ll_value *));
    struct ll_value *sum =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ADD_N, .input_count = 4, .inputs = quarters});
    return seen_as(nn, ll_scaled(nn, sum, "quarter", 0.25), dim[0], dim[1] / 2, dim[2] / 2, dim[3]);
}

/* A block: where it resamples, and through how many channels it passes on its way. */
struct block {
    norm_layer *norm;
    resampling *before, *after; /* of the first convolution and the shortcut; of the second one */
    resampling *shortcut;
    uint64_t middle, out;
};

static struct ll_value *block_of(struct ll_nn *nn, const char *name, struct ll_value *x,
                                 const struct block *block)
{
    ll_nn_push(nn, name);
    struct ll_value *shortcut = conv(nn, "shortcut", block->shortcut(nn, x), 1, block->out, LL_BIAS);
    struct ll_value *y = ll_nn_do1(nn, LL_OP_RELU, block->norm(nn, "norm1", x));
    y = conv(nn, "conv1", block->before(nn, y), 3, block->middle, LL_NO_BIAS);
    y = ll_nn_do1(nn, LL_OP_RELU, block->norm(nn, "norm2", y));
    y = block->after(nn, conv(nn, "conv2", y, 3, block->out, LL_BIAS));
    y = ll_add_of(nn, shortcut, y);
    ll_nn_pop(nn);
    return y;
}

static struct ll_value *up(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t out)
{
    const struct block block = {batch_norm, doubled, unchanged, doubled, out, out};
    return block_of(nn, name, x, &block);
}

static struct ll_value *down(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t out)
{
    const struct block block = {layer_norm, unchanged, halved, halved, x->shape.dim[3], out};
    return block_of(nn, name, x, &block);
}

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units)
{
    return ll_dense_layer(
        nn, name, x,
        &(struct ll_dense_options){.units = units, .init = ll_init_keeping_size(x->shape.dim[1], 1)});
}

struct ll_shape ll_wgan_shape(const struct ll_nn *nn, const struct ll_wgan *wgan)
{
    return ll_nn_shape(nn, 4, (uint64_t[]){wgan->batch, wgan->image, wgan->image, LL_WGAN_COLOURS},
                       image_roles);
}

static const char *const block_names[LL_WGAN_BLOCKS] = {"block1", "block2", "block3", "block4"};

struct ll_value *ll_wgan_generate(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_chance *chance)
{
    uint64_t small = wgan->image >> LL_WGAN_BLOCKS, deep = 8 * wgan->channels;
    struct ll_shape z = ll_nn_shape(nn, 2, (uint64_t[]){wgan->batch, LL_WGAN_NOISE},
                                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    ll_nn_push(nn, "generator");
    struct ll_value *x = dense(nn, "dense", ll_random_normal(nn, chance, &z), small * small * deep);
    x = seen_as(nn, x, wgan->batch, small, small, deep);
    for (int i = 0; i < LL_WGAN_BLOCKS; i++)
        x = up(nn, block_names[i], x, deep >> i);
    x = ll_nn_do1(nn, LL_OP_RELU, batch_norm(nn, "norm", x));
    x = ll_nn_do1(nn, LL_OP_TANH, conv(nn, "conv", x, 3, LL_WGAN_COLOURS, LL_BIAS));
    ll_nn_pop(nn);
    return x;
}

struct ll_value *ll_wgan_criticise(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_value *images)
{
    struct ll_shape scores = ll_nn_shape(nn, 1, &wgan->batch, (enum ll_role[]){LL_ROLE_BATCH});
    ll_nn_push(nn, "critic");
    struct ll_value *x = conv(nn, "conv", images, 3, wgan->channels, LL_BIAS);
    for (int i = 0; i < LL_WGAN_BLOCKS; i++)
        x = down(nn, block_names[i], x, wgan->channels << (i < 3 ? i + 1 : 3));
    x = ll_seen_as(nn, dense(nn, "dense", ll_flatten(nn, x), 1), &scores);
    ll_nn_pop(nn);
    return x;
}

/* Somewhere between a real image and a fake one, elsewhere for each pair. */
static struct ll_value *between(struct ll_nn *nn, struct ll_value *real, struct ll_value *fake,
                                struct ll_chance *chance)
{
    struct ll_shape shares = ll_nn_shape(nn, 4, (uint64_t[]){real->shape.dim[0], 1, 1, 1}, image_roles);
    struct ll_value *share = ll_random_uniform(nn, chance, &shares);
    return ll_add_of(nn, real, ll_mul_of(nn, share, ll_sub_of(nn, fake, real)));
}

/* The mean of (|dD/dx| - 1)^2, x between real and fake: the best critic is that steep there. */
static struct ll_value *penalty(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_value *x)
{
    struct ll_value *slope = &nn->nothing;
    struct ll_value *score = ll_nn_do1(nn, LL_OP_SUM, ll_wgan_criticise(nn, wgan, x));
    ll_nn_gradients(nn, score, &x, 1, &slope);
    if (nn->trouble)
        return &nn->nothing;
    struct ll_value *squares = ll_sum_over(nn, ll_nn_do1(nn, LL_OP_SQUARE, slope), 1, 3);
    struct ll_value *one = ll_constant(nn, "one", 1);
    struct ll_value *excess = ll_sub_of(nn, ll_nn_do1(nn, LL_OP_SQRT, squares), one);
    return ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do1(nn, LL_OP_SQUARE, excess));
}

struct ll_wgan_verdict ll_wgan_judge(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_value *real,
                                     struct ll_value *fake, struct ll_chance *chance)
{
    struct ll_value *of_real = ll_nn_do1(nn, LL_OP_MEAN, ll_wgan_criticise(nn, wgan, real));
    struct ll_value *of_fake = ll_nn_do1(nn, LL_OP_MEAN, ll_wgan_criticise(nn, wgan, fake));
    struct ll_value *steep = penalty(nn, wgan, between(nn, real, fake, chance));
    struct ll_value *distance = ll_sub_of(nn, of_real, of_fake);
    struct ll_value *loss = ll_sub_of(nn, ll_scaled(nn, steep, "penalty", ll_wgan_penalty), distance);
    return (struct ll_wgan_verdict){loss, distance};
}

void ll_wgan_learn(struct ll_nn *nn, struct ll_value *loss, const char *network, double rate)
{
    ll_nn_push(nn, network);
    ll_minimise(
        nn, loss,
        &(struct ll_optimizer){
            .kind = LL_ADAM, .rate = rate, .beta1 = 0, .beta2 = 0.9, .epsilon = 1e-8, .only = network});
    ll_nn_pop(nn);
}
