/* SPDX-License-Identifier: Apache-2.0 */
/* AlexNet as Fathom has it (Adolf et al., 2016; Krizhevsky et al., 2012): one tower, 1001 classes (one for
 * background), Adam, dropout declared but never applied, so left out.
 *
 *   images 224x224x3
 *   conv 11/4 SAME 64    56x56    pool 3/2 VALID, normalise    27x27
 *   conv  5/1 SAME 192   27x27    pool 3/2 VALID, normalise    13x13
 *   conv  3/1 SAME 384   13x13
 *   conv  3/1 SAME 256   13x13
 *   conv  3/1 SAME 256   13x13    pool 3/2 VALID                6x6
 *   dense 4096, dense 4096, dense 1001
 *
 * 61,104,937 parameters, 1.4335 GFLOP forward a sample in convolutions and GEMMs. ReLU after all but the
 * last layer. Filters start within two deviations of 0.1, dense weights at N(0, 1), so the first losses are
 * in the tens of millions. */
#include <stdio.h>

#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/vision/vision.h"

enum { IMAGE, CLASSES, CHANNELS, HIDDEN };

static const struct ll_model_param alexnet_params[] = {
    [IMAGE] = {"image", 224, 67, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 1, 4096,
                  "filters of the first convolution; the others have 3, 6, 4, 4 times as many"},
    [HIDDEN] = {"hidden", 4096, 1, 1000000, "units of the two hidden dense layers"},
};

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t stride, uint64_t filters)
{
    return ll_conv_layer(nn, name, x,
                         &(struct ll_conv_options){
                             .kernel = kernel,
                             .stride = stride,
                             .filters = filters,
                             .padding = LL_SAME,
                             .activation = LL_RELU,
                             .init = {LL_INIT_TRUNCATED_NORMAL, 0.1, NULL},
                         });
}

static struct ll_value *pool(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    return ll_max_pool_layer(nn, name, x, 3, 2, LL_VALID);
}

static struct ll_value *normalise(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    return ll_lrn_layer(nn, name, x,
                        &(struct ll_lrn_options){.radius = 4, .bias = 1, .alpha = 1.11e-4, .beta = 0.75});
}

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_activation activation)
{
    return ll_dense_layer(nn, name, x,
                          &(struct ll_dense_options){
                              .units = units, .activation = activation, .init = {LL_INIT_NORMAL, 1, NULL}});
}

/* Five convolutions, three of them with pools behind, then three dense layers. */
static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    uint64_t channels = (uint64_t)build->params[CHANNELS], hidden = (uint64_t)build->params[HIDDEN];
    x = convolve(nn, "conv1", x, 11, 4, channels);
    x = normalise(nn, "norm1", pool(nn, "pool1", x));
    x = convolve(nn, "conv2", x, 5, 1, 3 * channels);
    x = normalise(nn, "norm2", pool(nn, "pool2", x));
    x = convolve(nn, "conv3", x, 3, 1, 6 * channels);
    x = convolve(nn, "conv4", x, 3, 1, 4 * channels);
    x = convolve(nn, "conv5", x, 3, 1, 4 * channels);
    x = ll_flatten(nn, pool(nn, "pool5", x));
    x = dense(nn, "fc6", x, hidden, LL_RELU);
    x = dense(nn, "fc7", x, hidden, LL_RELU);
    return dense(nn, "fc8", x, (uint64_t)build->params[CLASSES], LL_LINEAR);
}

static struct ll_value *build_alexnet(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_classifier_build(nn, build,
                               &(struct ll_classifier){
                                   .image = (uint64_t)build->params[IMAGE],
                                   .classes = (uint64_t)build->params[CLASSES],
                                   .optimizer = ll_classifier_adam(1e-3),
                                   .logits = forward,
                               });
}

const struct ll_model ll_model_alexnet = {
    .name = "alexnet",
    .suite = "fathom",
    .doc = "image classification by five convolutions and three dense layers",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 64,
    .params = alexnet_params,
    .param_count = sizeof alexnet_params / sizeof *alexnet_params,
    .build = build_alexnet,
    .recipe = {.steps = 150,
               .batch = 16,
               .settings = {{"image", "67"}, {"classes", "7"}, {"channels", "4"}, {"hidden", "24"}}},
    .evaluate = ll_classifier_evaluate,
};

/* Fathom's VGG (Adolf et al., 2016; Simonyan and Zisserman, 2015), as its paper says and as its code does,
 * both with 1001 classes (one for background), trained by Adam, with dropout behind the hidden dense layers
 * when training.
 *
 *   images 224x224x3
 *   blocks of convolutions 3/1 SAME with bias and ReLU, each block with a pool 2/2 behind it:
 *        filters       64   128   256   512   512
 *        vgg            2     2     4     4     4      VGG-19, the paper's configuration E
 *        vgg_code       2     2     2     3     3      github.com/rdadolf/fathom, fathom/nets/vgg
 *   dense 4096, dense 4096, each with ReLU and dropout; dense 1001, in vgg_code with ReLU too
 *
 * vgg: 143,671,337 parameters, 39.264 GFLOP forward a sample; vgg_code: 137,771,561 and 27.241. */

enum { VGG_IMAGE, VGG_CLASSES, VGG_CHANNELS, VGG_HIDDEN };

static const struct ll_model_param vgg_params[] = {
    [VGG_IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [VGG_CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [VGG_CHANNELS] = {"channels", 64, 1, 4096,
                      "filters of the first block; the others have 2, 4, 8, 8 times as many"},
    [VGG_HIDDEN] = {"hidden", 4096, 1, 1000000, "units of the two hidden dense layers"},
};

enum { BLOCKS = 5 };

/* A block's convolutions are named after the block and their place in it: conv3_1, conv3_2, ... */
static struct ll_value *block(struct ll_nn *nn, struct ll_value *x, unsigned number, unsigned convolutions,
                              uint64_t filters)
{
    char name[32];
    for (unsigned i = 1; i <= convolutions; i++) {
        snprintf(name, sizeof name, "conv%u_%u", number, i);
        x = ll_conv_layer(nn, name, x,
                          &(struct ll_conv_options){
                              .kernel = 3,
                              .stride = 1,
                              .filters = filters,
                              .activation = LL_RELU,
                              .init = ll_init_fan_in(9 * x->shape.dim[3], 2),
                          });
    }
    snprintf(name, sizeof name, "pool%u", number);
    return ll_max_pool_layer(nn, name, x, 2, 2, LL_VALID);
}

static struct ll_value *vgg_dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units,
                                  enum ll_activation activation)
{
    struct ll_init init = ll_init_fan_in(x->shape.dim[1], activation == LL_RELU ? 2 : 1);
    return ll_dense_layer(nn, name, x,
                          &(struct ll_dense_options){.units = units, .activation = activation, .init = init});
}

static struct ll_value *hidden_layers(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const char *const dense_names[] = {"fc6", "fc7"}, *const drop_names[] = {"drop6", "drop7"};
    struct ll_rng rng = {0};
    if (build->train)
        rng = ll_rng_begin(nn, build->seed);
    for (int i = 0; i < 2; i++) {
        x = vgg_dense(nn, dense_names[i], x, (uint64_t)build->params[VGG_HIDDEN], LL_RELU);
        if (build->train)
            x = ll_dropout_layer(nn, drop_names[i], x, 0.8, &rng);
    }
    return x;
}

static struct ll_value *forward_with(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build,
                                     const unsigned convolutions[BLOCKS], enum ll_activation last)
{
    static const uint64_t factors[BLOCKS] = {1, 2, 4, 8, 8};
    for (unsigned i = 0; i < BLOCKS; i++)
        x = block(nn, x, i + 1, convolutions[i], factors[i] * (uint64_t)build->params[VGG_CHANNELS]);
    x = hidden_layers(nn, ll_flatten(nn, x), build);
    return vgg_dense(nn, "fc8", x, (uint64_t)build->params[VGG_CLASSES], last);
}

static struct ll_value *vgg_forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    return forward_with(nn, x, build, (const unsigned[]){2, 2, 4, 4, 4}, LL_LINEAR);
}

static struct ll_value *forward_code(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    return forward_with(nn, x, build, (const unsigned[]){2, 2, 2, 3, 3}, LL_RELU);
}

static struct ll_classifier classifier_of(const struct ll_build *build)
{
    return (struct ll_classifier){
        .image = (uint64_t)build->params[VGG_IMAGE],
        .classes = (uint64_t)build->params[VGG_CLASSES],
        .optimizer = ll_classifier_adam(1e-4),
    };
}

static struct ll_value *build_vgg(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = vgg_forward;
    return ll_classifier_build(nn, build, &classifier);
}

static struct ll_value *build_code(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = forward_code;
    return ll_classifier_build(nn, build, &classifier);
}

const struct ll_model ll_model_vgg = {
    .name = "vgg",
    .suite = "fathom",
    .doc = "image classification by 16 small convolutions and three dense layers (VGG-19)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 8,
    .params = vgg_params,
    .param_count = sizeof vgg_params / sizeof *vgg_params,
    .build = build_vgg,
    .recipe = {.steps = 300,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}}},
    .evaluate = ll_classifier_evaluate,
};

const struct ll_model ll_model_vgg_code = {
    .name = "vgg_code",
    .suite = "fathom",
    .doc = "vgg as Fathom's code has it: 12 convolutions",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 8,
    .params = vgg_params,
    .param_count = sizeof vgg_params / sizeof *vgg_params,
    .build = build_code,
    .recipe = {.steps = 300,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}}},
    .evaluate = ll_classifier_evaluate,
};

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

enum { RESIDUAL_IMAGE, RESIDUAL_CLASSES, RESIDUAL_CHANNELS };

static const struct ll_model_param residual_params[] = {
    [RESIDUAL_IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [RESIDUAL_CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [RESIDUAL_CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
};

/* Fills in what all convolutions share. */
static struct ll_value *residual_convolve(struct ll_nn *nn, const char *name, struct ll_value *x,
                                          struct ll_conv_options options)
{
    uint64_t inputs = options.kernel * options.kernel * x->shape.dim[3];
    bool relu = options.activation == LL_RELU;
    options.padding = LL_HALF;
    if (options.stride == 0)
        options.stride = 1;
    if (options.init.scale == 0)
        options.init = ll_init_fan_in(inputs, relu ? 2 : 1);
    return ll_conv_layer(nn, name, x, &options);
}

static struct ll_value *residual_dense(struct ll_nn *nn, struct ll_value *x, uint64_t units,
                                       enum ll_bias bias)
{
    return ll_dense_layer(
        nn, "fc", x,
        &(struct ll_dense_options){.units = units, .init = ll_init_fan_in(x->shape.dim[1], 1), .bias = bias});
}

/* A convolution without bias, normalised. */
static struct ll_value *conv_norm(struct ll_nn *nn, const char *name, struct ll_value *x,
                                  struct ll_conv_options options, bool train)
{
    options.bias = LL_NO_BIAS;
    ll_nn_push(nn, name);
    x = residual_convolve(nn, "conv", x, options);
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

static struct ll_value *residual_forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const unsigned units[] = {3, 4, 6, 3};
    uint64_t channels = (uint64_t)build->params[RESIDUAL_CHANNELS];
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
    return residual_dense(nn, x, (uint64_t)build->params[RESIDUAL_CLASSES], LL_BIAS);
}

static struct ll_value *conv_add(struct ll_nn *nn, const char *name, struct ll_value *x,
                                 struct ll_conv_options options)
{
    options.bias = LL_BIAS_BY_ADD;
    return residual_convolve(nn, name, x, options);
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
    third.init = ll_init_fan_in(x->shape.dim[3], 1.0 / 12);
    return ll_nn_do2(nn, LL_OP_ADD, conv_add(nn, "conv3", x, third), by);
}

/* The network as the suite's code builds it: bottlenecks of one width a group, doubled by a 1x1 convolution
 * before each group but the first, no stride after the stem and no bias in the last layer. */
static struct ll_value *residual_forward_code(struct ll_nn *nn, struct ll_value *x,
                                              const struct ll_build *build)
{
    uint64_t channels = (uint64_t)build->params[RESIDUAL_CHANNELS];
    x = conv_add(
        nn, "stem", x,
        (struct ll_conv_options){.kernel = 7, .stride = 2, .filters = channels, .activation = LL_RELU});
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_SAME);
    x = conv_add(nn, "widen", x, (struct ll_conv_options){.kernel = 1, .filters = channels *= 2});
    for (unsigned group = 0; group < 4; group++) {
        ll_nn_push_numbered(nn, "group", group + 1);
        if (group > 0)
            x = residual_convolve(
                nn, "double", x,
                (struct ll_conv_options){.kernel = 1, .filters = channels *= 2, .bias = LL_NO_BIAS});
        for (unsigned i = 0; i < 3; i++) {
            ll_nn_push_numbered(nn, "unit", i + 1);
            x = bottleneck(nn, x, channels);
            ll_nn_pop(nn);
        }
        ll_nn_pop(nn);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return residual_dense(nn, x, (uint64_t)build->params[RESIDUAL_CLASSES], LL_NO_BIAS);
}

static struct ll_classifier residual_classifier_of(const struct ll_build *build)
{
    return (struct ll_classifier){
        .image = (uint64_t)build->params[RESIDUAL_IMAGE],
        .classes = (uint64_t)build->params[RESIDUAL_CLASSES],
        .optimizer = ll_classifier_adam(1e-2),
    };
}

static struct ll_value *build_residual(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = residual_classifier_of(build);
    classifier.logits = residual_forward;
    return ll_classifier_build(nn, build, &classifier);
}

static struct ll_value *residual_build_code(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = residual_classifier_of(build);
    classifier.logits = residual_forward_code;
    return ll_classifier_build(nn, build, &classifier);
}

const struct ll_model ll_model_residual = {
    .name = "residual",
    .suite = "fathom",
    .doc = "image classification by 34 layers with shortcuts (ResNet-34)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 16,
    .params = residual_params,
    .param_count = sizeof residual_params / sizeof *residual_params,
    .build = build_residual,
    .recipe = {.steps = 150, .batch = 16, .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}}},
    .evaluate = ll_classifier_evaluate,
};

const struct ll_model ll_model_residual_code = {
    .name = "residual_code",
    .suite = "fathom",
    .doc = "residual as Fathom's code has it: bottlenecks on 56x56 images, no normalisation",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 16,
    .params = residual_params,
    .param_count = sizeof residual_params / sizeof *residual_params,
    .build = residual_build_code,
    .recipe = {.steps = 150, .batch = 16, .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}}},
    .evaluate = ll_classifier_evaluate,
};
