/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/classifier.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"

enum { IMAGE, CLASSES, GROWTH, DEPTH, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [GROWTH] = {"growth", 32, 2, 4096, "channels that a layer adds; the first convolution has twice as many"},
    [DEPTH] = {"depth", 121, 121, 201, "layers with weights: 121, 169 or 201"},
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

enum { BLOCKS = 4 };

struct net {
    unsigned layers[BLOCKS];
    uint64_t growth;
    bool bottleneck;
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

static struct ll_value *norm_conv(struct ll_nn *nn, const struct net *net, const char *name,
                                  struct ll_value *x, uint64_t kernel, uint64_t filters)
{
    struct ll_conv_options options = {
        .kernel = kernel,
        .filters = filters,
        .bias = LL_NO_BIAS,
        .init = ll_init_keeping_size(kernel * kernel * ll_max(1, x->shape.dim[3]), 2),
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
        x = ll_joined(nn, (struct ll_value *[]){x, y}, 2, 3);
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
    if (!plan(nn, build->params[DEPTH], &net))
        return &nn->nothing;
    x = ll_conv_norm_layer(nn, "stem", x, &stem, &net.norm);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_SAME);
    for (unsigned i = 0; i < BLOCKS; i++) {
        x = block(nn, &net, i, x);
        if (i + 1 < BLOCKS)
            x = between(nn, &net, i, x);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return ll_class_logits(nn, x, (uint64_t)build->params[CLASSES]);
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
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
        .image = (uint64_t)build->params[IMAGE],
        .classes = (uint64_t)build->params[CLASSES],
        .optimizer = ll_classifier_momentum((double)build->params[RATE] / 1000),
    };
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_classifier classifier = classifier_of(build);
    classifier.logits = forward;
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
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 150,
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
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build_bottleneck,
    .lesson = {.steps = 150,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "7"}, {"growth", "4"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
