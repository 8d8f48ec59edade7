/* SPDX-License-Identifier: Apache-2.0 */
/* ResNet-50 of ParaDnn's real models (Wang et al., 2020), "version 1.5" (He et al., 2015, with the stride in
 * the unit's second convolution), on ImageNet, trained by momentum. Depths 18, 34, 101 and 152 by -p depth.
 *
 *   images 224x224x3
 *   conv 7/2 64, normalise, ReLU, pool 3/2       56x56
 *   stages of 3, 4, 6, 3 units                   56, 28, 14, 7 pixels; 256, 512, 1024, 2048 channels
 *       unit: relu(x + convs 1, 3, 1, each normalised, a ReLU behind the first two); where x has another
 *       shape, a conv 1 and normalisation take its place
 *   mean over the image, dense 1000
 *
 * 25,557,032 parameters, 8.178 GFLOP forward a sample. */
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/vision/vision.h"

enum { IMAGE, CLASSES, CHANNELS, DEPTH, RATE };

static const struct ll_model_param resnet_params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1000, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
    [DEPTH] = {"depth", 50, 18, 152, "layers with weights: 18, 34, 50, 101 or 152"},
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    struct ll_resnet net = {.channels = (uint64_t)build->params[CHANNELS],
                            .norm = {.train = build->train, .epsilon = 1e-5, .decay = 0.9}};
    if (!ll_resnet_plan(nn, build->params[DEPTH], &net.plan))
        return &nn->nothing;
    x = ll_resnet_original(nn, &net, x);
    return ll_class_logits(nn, x, (uint64_t)build->params[CLASSES]);
}

static struct ll_value *build_resnet(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_classifier_build(nn, build,
                               &(struct ll_classifier){
                                   .image = (uint64_t)build->params[IMAGE],
                                   .classes = (uint64_t)build->params[CLASSES],
                                   .optimizer = ll_classifier_momentum((double)build->params[RATE] / 1000),
                                   .logits = forward,
                               });
}

const struct ll_model ll_model_resnet_v1 = {
    .name = "resnet_v1",
    .suite = "paradnn-real",
    .doc = "image classification by 50 layers with shortcuts (ResNet-50, version 1.5)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 64,
    .params = resnet_params,
    .param_count = sizeof resnet_params / sizeof *resnet_params,
    .build = build_resnet,
    .recipe =
        {.steps = 150,
         .batch = 16,
         .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};

/* DenseNet-121 (Huang et al., 2017) of ParaDnn's real models (Wang et al., 2020; TensorFlow's code for TPUs),
 * on ImageNet with a class for background: every layer reads what all layers before it in its block have
 * written, and adds a few channels.
 *
 *   images 224x224x3
 *   conv 7/2 64, normalise, ReLU, pool 3/2                  56x56
 *   blocks of 6, 12, 24, 16 layers of 32 channels each      56, 28, 14, 7 pixels
 *       layer: join x and conv 3 32(relu(normalise(x)))
 *       densenet_bottleneck, as the paper: conv 1 128 and relu(normalise()) before the conv 3
 *   between blocks normalise, ReLU, conv 1 to half the channels, mean over windows of 2
 *   mean over the image, dense 1001
 *
 * densenet: 10,868,073 parameters, 6.093 GFLOP forward a sample; densenet_bottleneck: 7,977,833 and 5.668. */

enum { DENSENET_IMAGE, DENSENET_CLASSES, GROWTH, DENSENET_DEPTH, DENSENET_RATE };

static const struct ll_model_param densenet_params[] = {
    [DENSENET_IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [DENSENET_CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [GROWTH] = {"growth", 32, 2, 4096, "channels that a layer adds; the first convolution has twice as many"},
    [DENSENET_DEPTH] = {"depth", 121, 121, 201, "layers with weights: 121, 169 or 201"},
    [DENSENET_RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

enum { BLOCKS = 4 };

struct net {
    unsigned layers[BLOCKS];
    uint64_t growth; /* channels that each layer adds */
    bool bottleneck; /* a 1x1 convolution to 4 growth channels stands before each 3x3 */
    struct ll_batch_norm_options norm;
};

/* Huang et al., table 1. */
static bool plan(struct ll_nn *nn, int64_t depth, struct net *net)
{
    static const struct {
        int64_t depth;
        unsigned layers[BLOCKS];
    } known[] = {{121, {6, 12, 24, 16}}, {169, {6, 12, 32, 32}}, {201, {6, 12, 48, 32}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (unsigned k = 0; known[i].depth == depth && k < BLOCKS; k++)
            net->layers[k] = known[i].layers[k];
    if (net->layers[0] == 0)
        ll_nn_fail(nn, "there is no dense network of %d layers; there are those of 121, 169 and 201",
                   (int)depth);
    return net->layers[0] != 0;
}

/* Normalise, ReLU, convolve: DenseNet normalises before it convolves. */
static struct ll_value *norm_conv(struct ll_nn *nn, const struct net *net, const char *name,
                                  struct ll_value *x, uint64_t kernel, uint64_t filters)
{
    struct ll_conv_options options = {
        .kernel = kernel,
        .filters = filters,
        .bias = LL_NO_BIAS,
        .init = ll_init_fan_in(kernel * kernel * ll_max(1, x->shape.dim[3]), 2),
    };
    ll_nn_push(nn, name);
    x = ll_nn_do1(nn, LL_OP_RELU, ll_batch_norm_layer(nn, "norm", x, &net->norm));
    x = ll_conv_layer(nn, "conv", x, &options);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *block(struct ll_nn *nn, const struct net *net, unsigned number, struct ll_value *x)
{
    ll_nn_push_numbered(nn, "block", number + 1);
    for (unsigned i = 0; i < net->layers[number]; i++) {
        ll_nn_push_numbered(nn, "layer", i + 1);
        struct ll_value *y = x;
        if (net->bottleneck)
            y = norm_conv(nn, net, "narrow", y, 1, 4 * net->growth);
        y = norm_conv(nn, net, "grow", y, 3, net->growth);
        x = ll_nn_concat(nn, (struct ll_value *[]){x, y}, 2, 3);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *between(struct ll_nn *nn, const struct net *net, unsigned number, struct ll_value *x)
{
    ll_nn_push_numbered(nn, "between", number + 1);
    x = norm_conv(nn, net, "halve", x, 1, x->shape.dim[3] / 2);
    x = ll_avg_pool_layer(nn, "pool", x, 2, 2, LL_VALID);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *forward_with(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build,
                                     bool bottleneck)
{
    struct net net = {.growth = (uint64_t)build->params[GROWTH],
                      .bottleneck = bottleneck,
                      .norm = {.train = build->train, .epsilon = 1e-5, .decay = 0.99}};
    struct ll_conv_options stem = {
        .kernel = 7, .stride = 2, .filters = 2 * net.growth, .activation = LL_RELU};
    if (!plan(nn, build->params[DENSENET_DEPTH], &net))
        return &nn->nothing;
    x = ll_conv_norm_layer(nn, "stem", x, &stem, &net.norm);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_SAME);
    for (unsigned i = 0; i < BLOCKS; i++) {
        x = block(nn, &net, i, x);
        if (i + 1 < BLOCKS)
            x = between(nn, &net, i, x);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return ll_class_logits(nn, x, (uint64_t)build->params[DENSENET_CLASSES]);
}

static struct ll_value *densenet_forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    return forward_with(nn, x, build, false);
}

static struct ll_value *forward_bottleneck(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    return forward_with(nn, x, build, true);
}

static struct ll_classifier classifier_of(const struct ll_build *build)
{
    return (struct ll_classifier){
        .image = (uint64_t)build->params[DENSENET_IMAGE],
        .classes = (uint64_t)build->params[DENSENET_CLASSES],
        .optimizer = ll_classifier_momentum((double)build->params[DENSENET_RATE] / 1000),
    };
}

static struct ll_value *build_densenet(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = densenet_forward;
    return ll_classifier_build(nn, build, &classifier);
}

static struct ll_value *build_bottleneck(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = forward_bottleneck;
    return ll_classifier_build(nn, build, &classifier);
}

const struct ll_model ll_model_densenet = {
    .name = "densenet",
    .suite = "paradnn-real",
    .doc = "image classification by densely connected layers (DenseNet-121)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 1024,
    .params = densenet_params,
    .param_count = sizeof densenet_params / sizeof *densenet_params,
    .build = build_densenet,
    .recipe = {.steps = 150,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "7"}, {"growth", "4"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};

const struct ll_model ll_model_densenet_bottleneck = {
    .name = "densenet_bottleneck",
    .suite = "paradnn-real",
    .doc = "densenet as its paper has it: narrow before each 3x3 convolution",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 1024,
    .params = densenet_params,
    .param_count = sizeof densenet_params / sizeof *densenet_params,
    .build = build_bottleneck,
    .recipe = {.steps = 150,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "7"}, {"growth", "4"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};

/* SqueezeNet 1.0 (Iandola et al., 2016) of ParaDnn's real models (Wang et al., 2020; TensorFlow's code for
 * TPUs), on ImageNet with a class for background: few channels are squeezed out of many before 3x3 filters
 * read them.
 *
 *   images 224x224x3
 *   conv 7/2 96, pool 3/2                               55x55
 *   fire 16 64, fire 16 64, fire 32 128, pool           27x27
 *   fire 32 128, fire 48 192 twice, fire 64 256, pool   13x13
 *   fire 64 256, dropout of a half, conv 1 1001, mean over the image
 *       fire s e: conv 1 s; conv 1 e and conv 3 e of that, joined. All with bias and ReLU
 *
 * 1,248,937 parameters, 1.672 GFLOP forward a sample. */

enum { SQUEEZENET_IMAGE, SQUEEZENET_CLASSES, SQUEEZENET_CHANNELS, SQUEEZENET_RATE };

static const struct ll_model_param squeezenet_params[] = {
    [SQUEEZENET_IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [SQUEEZENET_CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [SQUEEZENET_CHANNELS] = {"channels", 16, 1, 4096,
                             "filters that the first fire squeezes into; the others follow"},
    [SQUEEZENET_RATE] = {"rate", 10, 1, 100000, "learning rate, in thousandths"},
};

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t stride, uint64_t filters)
{
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, stride, filters, 2);
    options.activation = LL_RELU;
    return ll_conv_layer(nn, name, x, &options);
}

static struct ll_value *fire(struct ll_nn *nn, unsigned number, struct ll_value *x, uint64_t squeezed)
{
    ll_nn_push_numbered(nn, "fire", number);
    x = convolve(nn, "squeeze", x, 1, 1, squeezed);
    struct ll_value *parts[] = {convolve(nn, "expand1", x, 1, 1, 4 * squeezed),
                                convolve(nn, "expand3", x, 3, 1, 4 * squeezed)};
    x = ll_nn_concat(nn, parts, 2, 3);
    ll_nn_pop(nn);
    return x;
}

/* Fire modules 2 to 9, whose widths follow a fixed row of factors, with three pools between them, and
 * dropout before the last convolution. */
static struct ll_value *squeezenet_forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const struct {
        uint64_t factor; /* of what is squeezed into */
        const char *pool;
    } fires[] = {{1, NULL}, {1, NULL}, {2, "pool4"}, {2, NULL},
                 {3, NULL}, {3, NULL}, {4, "pool8"}, {4, NULL}};
    uint64_t channels = (uint64_t)build->params[SQUEEZENET_CHANNELS];
    x = convolve(nn, "conv1", x, 7, 2, 6 * channels);
    x = ll_max_pool_layer(nn, "pool1", x, 3, 2, LL_VALID);
    for (unsigned i = 0; i < sizeof fires / sizeof *fires; i++) {
        x = fire(nn, i + 2, x, fires[i].factor * channels);
        if (fires[i].pool)
            x = ll_max_pool_layer(nn, fires[i].pool, x, 3, 2, LL_VALID);
    }
    if (build->train) {
        struct ll_rng rng = ll_rng_begin(nn, build->seed);
        x = ll_dropout_layer(nn, "drop9", x, 0.5, &rng);
    }
    x = convolve(nn, "conv10", x, 1, 1, (uint64_t)build->params[SQUEEZENET_CLASSES]);
    return ll_global_average_pool(nn, "pool10", x);
}

static struct ll_value *build_squeezenet(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_classifier_build(
        nn, build,
        &(struct ll_classifier){
            .image = (uint64_t)build->params[SQUEEZENET_IMAGE],
            .classes = (uint64_t)build->params[SQUEEZENET_CLASSES],
            .optimizer = ll_classifier_momentum((double)build->params[SQUEEZENET_RATE] / 1000),
            .logits = squeezenet_forward,
        });
}

const struct ll_model ll_model_squeezenet = {
    .name = "squeezenet",
    .suite = "paradnn-real",
    .doc = "image classification by few parameters (SqueezeNet 1.0)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 1024,
    .params = squeezenet_params,
    .param_count = sizeof squeezenet_params / sizeof *squeezenet_params,
    .build = build_squeezenet,
    .recipe = {.steps = 300,
               .batch = 16,
               .settings = {{"image", "48"}, {"classes", "3"}, {"channels", "8"}, {"rate", "1"}}},
    .evaluate = ll_classifier_evaluate,
};

/* MobileNet (Howard et al., 2017), version 1, of ParaDnn's real models (Wang et al., 2020; TensorFlow's code
 * for TPUs), on ImageNet with a class for background: convolutions that read a channel each, and 1x1 ones
 * between them. Trained by RMSProp, and the average of each weight is kept beside it.
 *
 *   images 224x224x3
 *   conv 3/2 32                                        112x112
 *   13 times a filter 3 for each channel, conv 1 to 64, 128/2, 128, 256/2, 256, 512/2, 5 times 512, 1024/2,
 *   1024 channels (/2: the filters have stride 2); all normalised, min(max(x, 0), 6)       7x7
 *   mean over the image, dense 1001
 *
 * 4,233,001 parameters, 1.137 GFLOP forward a sample. */

enum { MOBILENET_IMAGE, MOBILENET_CLASSES, MOBILENET_CHANNELS, MOBILENET_RATE };

static const struct ll_model_param mobilenet_params[] = {
    [MOBILENET_IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [MOBILENET_CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [MOBILENET_CHANNELS] = {"channels", 32, 4, 4096, "filters of the first convolution; the others follow"},
    [MOBILENET_RATE] = {"rate", 45, 1, 100000, "learning rate, in thousandths"},
};

static struct ll_value *conv_norm(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                  uint64_t stride, uint64_t filters, bool train)
{
    return ll_conv_norm_layer(
        nn, name, x,
        &(struct ll_conv_options){
            .kernel = kernel, .stride = stride, .filters = filters, .activation = LL_RELU6},
        &(struct ll_batch_norm_options){.train = train, .epsilon = 1e-3, .decay = 0.99});
}

/* Depthwise 3x3 and pointwise 1x1 in turns (Howard et al., 2017, table 1), each normalised and cut by a
 * ReLU. */
static struct ll_value *mobilenet_forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const struct {
        uint64_t factor, stride;
    } pairs[] = {{2, 1},  {4, 2},  {4, 1},  {8, 2},  {8, 1},  {16, 2}, {16, 1},
                 {16, 1}, {16, 1}, {16, 1}, {16, 1}, {32, 2}, {32, 1}};
    uint64_t channels = (uint64_t)build->params[MOBILENET_CHANNELS];
    x = conv_norm(nn, "conv1", x, 3, 2, channels, build->train);
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ll_nn_push_numbered(nn, "pair", i + 1);
        x = conv_norm(nn, "depthwise", x, 3, pairs[i].stride, 0, build->train);
        x = conv_norm(nn, "pointwise", x, 1, 1, pairs[i].factor * channels, build->train);
        ll_nn_pop(nn);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return ll_class_logits(nn, x, (uint64_t)build->params[MOBILENET_CLASSES]);
}

static struct ll_value *build_mobilenet(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_classifier_build(nn, build,
                               &(struct ll_classifier){
                                   .image = (uint64_t)build->params[MOBILENET_IMAGE],
                                   .classes = (uint64_t)build->params[MOBILENET_CLASSES],
                                   .optimizer = {.kind = LL_RMSPROP,
                                                 .rate = (double)build->params[MOBILENET_RATE] / 1000,
                                                 .decay = 0.9,
                                                 .momentum = 0.9,
                                                 .epsilon = 1,
                                                 .average = 0.9999},
                                   .logits = mobilenet_forward,
                               });
}

const struct ll_model ll_model_mobilenet = {
    .name = "mobilenet",
    .suite = "paradnn-real",
    .doc = "image classification by depthwise separable convolutions (MobileNet)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 1024,
    .params = mobilenet_params,
    .param_count = sizeof mobilenet_params / sizeof *mobilenet_params,
    .build = build_mobilenet,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "8"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
