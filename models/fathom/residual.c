/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom's residual network (Adolf et al., 2016), as its paper says and as its code does, both with 1001
 * classes (one for background) and trained by Adam.
 *
 * residual: ResNet-34 (He et al., 2016, table 1). 21,798,185 parameters, 7.328 GFLOP forward a sample.
 *
 *   images 224x224x3
 *   conv 7/2 64, normalise, ReLU     112x112    pool 3/2    56x56
 *   3 units  64    56x56      unit: relu(x + normalise(conv 3(relu(normalise(conv 3(x))))))
 *   4 units 128    28x28      the first of a group has stride 2 and, where x goes by,
 *   6 units 256    14x14      a conv 1/2 and normalisation
 *   3 units 512     7x7       mean over the image, dense 1001
 *
 * residual_code: github.com/rdadolf/fathom, fathom/nets/residual. Bottlenecks without normalisation that
 * never shrink the image: 6,178,624 parameters, but 32.447 GFLOP. Biases are added by an elementwise sum.
 *
 *   conv 7/2 64, ReLU    112x112    pool 3/2    conv 1 128    56x56
 *   4 groups of 3 units, channels 128, 256, 512, 1024, a conv 1 without bias between groups:
 *       unit: x + relu(conv 1(relu(conv 3(relu(conv 1(x)))))), a quarter of the channels inside
 *   mean over the image, dense 1001 without bias */
#include "models/classifier.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"

enum { IMAGE, CLASSES, CHANNELS };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
};

/* Fills in what all convolutions share. */
static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x,
                                 struct ll_conv_options options)
{
    uint64_t inputs = options.kernel * options.kernel * x->shape.dim[3];
    bool relu = options.activation == LL_RELU;
    options.padding = LL_HALF;
    if (options.stride == 0)
        options.stride = 1;
    if (options.init.scale == 0)
        options.init = ll_init_keeping_size(inputs, relu ? 2 : 1);
    return ll_conv_layer(nn, name, x, &options);
}

static struct ll_value *dense(struct ll_nn *nn, struct ll_value *x, uint64_t units, enum ll_bias bias)
{
    return ll_dense_layer(nn, "fc", x,
                          &(struct ll_dense_options){.units = units,
                                                     .init = ll_init_keeping_size(x->shape.dim[1], 1),
                                                     .bias = bias});
}

/* A convolution without bias, normalised. */
static struct ll_value *conv_norm(struct ll_nn *nn, const char *name, struct ll_value *x,
                                  struct ll_conv_options options, bool train)
{
    options.bias = LL_NO_BIAS;
    ll_nn_push(nn, name);
    x = convolve(nn, "conv", x, options);
    x = ll_batch_norm_layer(nn, "norm", x,
                            &(struct ll_batch_norm_options){.train = train, .epsilon = 1e-5, .decay = 0.9});
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *unit(struct ll_nn *nn, struct ll_value *x, uint64_t stride, uint64_t channels,
                             bool train)
{
    struct ll_conv_options first = {.kernel = 3, .stride = stride, .filters = channels};
    struct ll_conv_options second = {.kernel = 3, .filters = channels};
    struct ll_conv_options shortcut = {.kernel = 1, .stride = stride, .filters = channels};
    struct ll_value *by = x;
    x = ll_nn_do1(nn, LL_OP_RELU, conv_norm(nn, "conv1", x, first, train));
    x = conv_norm(nn, "conv2", x, second, train);
    if (stride > 1)
        by = conv_norm(nn, "shortcut", by, shortcut, train);
    return ll_nn_do1(nn, LL_OP_RELU, ll_nn_do2(nn, LL_OP_ADD, x, by));
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const unsigned units[] = {3, 4, 6, 3};
    uint64_t channels = (uint64_t)build->params[CHANNELS];
    struct ll_conv_options stem = {.kernel = 7, .stride = 2, .filters = channels};
    x = ll_nn_do1(nn, LL_OP_RELU, conv_norm(nn, "stem", x, stem, build->train));
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF);
    for (unsigned group = 0; group < 4; group++) {
        ll_nn_push_numbered(nn, "group", group + 1);
        for (unsigned i = 0; i < units[group]; i++) {
            ll_nn_push_numbered(nn, "unit", i + 1);
            x = unit(nn, x, group > 0 && i == 0 ? 2 : 1, channels << group, build->train);
            ll_nn_pop(nn);
        }
        ll_nn_pop(nn);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return dense(nn, x, (uint64_t)build->params[CLASSES], LL_BIAS);
}

static struct ll_value *conv_add(struct ll_nn *nn, const char *name, struct ll_value *x,
                                 struct ll_conv_options options)
{
    options.bias = LL_BIAS_BY_ADD;
    return convolve(nn, name, x, options);
}

/* Nothing is normalised, and the sum grows with each of the twelve units: they start small. */
static struct ll_value *bottleneck(struct ll_nn *nn, struct ll_value *x, uint64_t channels)
{
    struct ll_conv_options first = {.kernel = 1, .filters = channels / 4, .activation = LL_RELU};
    struct ll_conv_options second = {.kernel = 3, .filters = channels / 4, .activation = LL_RELU};
    struct ll_conv_options third = {.kernel = 1, .filters = channels, .activation = LL_RELU};
    struct ll_value *by = x;
    x = conv_add(nn, "conv1", x, first);
    x = conv_add(nn, "conv2", x, second);
    third.init = ll_init_keeping_size(x->shape.dim[3], 1.0 / 12);
    return ll_nn_do2(nn, LL_OP_ADD, conv_add(nn, "conv3", x, third), by);
}

static struct ll_value *forward_code(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    uint64_t channels = (uint64_t)build->params[CHANNELS];
    x = conv_add(
        nn, "stem", x,
        (struct ll_conv_options){.kernel = 7, .stride = 2, .filters = channels, .activation = LL_RELU});
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_SAME);
    x = conv_add(nn, "widen", x, (struct ll_conv_options){.kernel = 1, .filters = channels *= 2});
    for (unsigned group = 0; group < 4; group++) {
        ll_nn_push_numbered(nn, "group", group + 1);
        if (group > 0)
            x = convolve(nn, "double", x,
                         (struct ll_conv_options){.kernel = 1, .filters = channels *= 2, .bias = LL_NO_BIAS});
        for (unsigned i = 0; i < 3; i++) {
            ll_nn_push_numbered(nn, "unit", i + 1);
            x = bottleneck(nn, x, channels);
            ll_nn_pop(nn);
        }
        ll_nn_pop(nn);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return dense(nn, x, (uint64_t)build->params[CLASSES], LL_NO_BIAS);
}

static struct ll_classifier classifier_of(const struct ll_build *build)
{
    return (struct ll_classifier){
        .image = (uint64_t)build->params[IMAGE],
        .classes = (uint64_t)build->params[CLASSES],
        .optimizer = ll_classifier_adam(1e-2),
    };
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = forward;
    return ll_classifier_build(nn, build, &classifier);
}

static struct ll_value *build_code(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = forward_code;
    return ll_classifier_build(nn, build, &classifier);
}

const struct ll_model ll_model_residual = {
    .name = "residual",
    .suite = "fathom",
    .doc = "image classification by 34 layers with shortcuts (ResNet-34)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 16,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 150, .batch = 16, .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}}},
    .evaluate = ll_classifier_evaluate,
};

const struct ll_model ll_model_residual_code = {
    .name = "residual_code",
    .suite = "fathom",
    .doc = "residual as Fathom's code has it: bottlenecks on 56x56 images, no normalisation",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 16,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build_code,
    .lesson = {.steps = 150, .batch = 16, .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}}},
    .evaluate = ll_classifier_evaluate,
};
