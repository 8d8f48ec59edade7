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
#include "models/classifier.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/vision/resnet_trunk.h"

enum { IMAGE, CLASSES, CHANNELS, DEPTH, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1000, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
    [DEPTH] = {"depth", 50, 18, 152, "layers with weights: 18, 34, 50, 101 or 152"},
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

struct net {
    struct ll_resnet_plan plan;
    struct ll_batch_norm_options norm;
    uint64_t channels;
};

static struct ll_value *conv_norm(struct ll_nn *nn, const struct net *net, const char *name,
                                  struct ll_value *x, uint64_t kernel, uint64_t stride, uint64_t filters,
                                  enum ll_activation activation)
{
    return ll_conv_norm_layer(nn, name, x,
                              &(struct ll_conv_options){.kernel = kernel,
                                                        .stride = stride,
                                                        .filters = filters,
                                                        .padding = LL_HALF,
                                                        .activation = activation},
                              &net->norm);
}

static struct ll_value *unit(struct ll_nn *nn, const struct net *net, struct ll_value *x, uint64_t channels,
                             uint64_t stride)
{
    bool bottleneck = net->plan.bottleneck;
    uint64_t result = bottleneck ? 4 * channels : channels;
    struct ll_value *y = x, *by = x;
    if (bottleneck)
        y = conv_norm(nn, net, "conv1", y, 1, 1, channels, LL_RELU);
    y = conv_norm(nn, net, bottleneck ? "conv2" : "conv1", y, 3, stride, channels, LL_RELU);
    y = conv_norm(nn, net, bottleneck ? "conv3" : "conv2", y, bottleneck ? 1 : 3, 1, result, LL_LINEAR);
    if (stride > 1 || x->shape.dim[3] != result)
        by = conv_norm(nn, net, "shortcut", x, 1, stride, result, LL_LINEAR);
    return ll_nn_do1(nn, LL_OP_RELU, ll_add_of(nn, y, by));
}

static struct ll_value *stages(struct ll_nn *nn, const struct net *net, struct ll_value *x)
{
    for (unsigned stage = 0; stage < LL_RESNET_STAGES; stage++) {
        ll_nn_push_numbered(nn, "stage", stage + 1);
        for (unsigned i = 0; i < net->plan.units[stage]; i++) {
            ll_nn_push_numbered(nn, "unit", i + 1);
            x = unit(nn, net, x, net->channels << stage, stage > 0 && i == 0 ? 2 : 1);
            ll_nn_pop(nn);
        }
        ll_nn_pop(nn);
    }
    return x;
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    struct net net = {.channels = (uint64_t)build->params[CHANNELS],
                      .norm = {.train = build->train, .epsilon = 1e-5, .decay = 0.9}};
    if (!ll_resnet_plan(nn, build->params[DEPTH], &net.plan))
        return &nn->nothing;
    x = conv_norm(nn, &net, "stem", x, 7, 2, net.channels, LL_RELU);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF);
    x = ll_global_average_pool(nn, "pool_all", stages(nn, &net, x));
    return ll_dense_layer(nn, "fc", x,
                          &(struct ll_dense_options){.units = (uint64_t)build->params[CLASSES],
                                                     .init = ll_init_keeping_size(x->shape.dim[1], 1)});
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
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
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson =
        {.steps = 150,
         .batch = 16,
         .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
