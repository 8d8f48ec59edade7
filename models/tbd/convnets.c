/* SPDX-License-Identifier: Apache-2.0 */
/* ResNet-50 of the TBD suite (Zhu et al., 2018; its MXNet version): residual units that normalise first, on
 * ImageNet, trained by momentum 0.9 with a decay of 1e-4, rate 0.1. Depths 18, 34, 101 and 152 by -p depth.
 *
 *   images 224x224x3, normalised (shifted only)
 *   stem of vision/vision.h                               56x56    64 channels
 *   stages of 3, 4, 6, 3 bottlenecks                     56, 28, 14, 7 pixels; 256, 512, 1024, 2048 channels
 *   normalise, ReLU, mean over the image, dense 1000
 *
 * 25,549,483 parameters, 8.178 GFLOP forward a sample. */
#include <stdio.h>

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
    struct ll_resnet net = {
        .channels = (uint64_t)build->params[CHANNELS],
        .norm = {.train = build->train, .epsilon = 2e-5, .decay = 0.9},
    };
    if (!ll_resnet_plan(nn, build->params[DEPTH], &net.plan))
        return &nn->nothing;
    x = ll_resnet_stem(nn, &net, x);
    for (unsigned stage = 0; stage < LL_RESNET_STAGES; stage++)
        x = ll_resnet_stage(nn, &net, stage, x);
    x = ll_global_average_pool(nn, "pool_all", ll_resnet_activated(nn, &net, "norm", x));
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

const struct ll_model ll_model_resnet = {
    .name = "resnet",
    .suite = "tbd",
    .doc = "image classification by 50 layers with shortcuts, normalised before each convolution "
           "(pre-activation ResNet-50)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 32,
    .params = resnet_params,
    .param_count = sizeof resnet_params / sizeof *resnet_params,
    .build = build_resnet,
    .recipe =
        {.steps = 150,
         .batch = 16,
         .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};

/* Inception-v3 (Szegedy et al., 2016) of the TBD suite (Zhu et al., 2018; its MXNet version), on ImageNet,
 * trained by momentum 0.9 with a decay of 1e-4, rate 0.1. A convolution has no bias; it is normalised,
 * shifted but not scaled, and cut by a ReLU.
 *
 *   images 299x299x3
 *   convs 3/2 32, 3 32, 3 padded 64, pool 3/2, convs 1 80, 3 192, pool 3/2            35x35
 *   3 blocks A, a block B                                                             17x17
 *   4 blocks C, a block D                                                             8x8
 *   2 blocks E, mean over the image, dense 1000
 *
 * A block is several chains of convolutions over the same x, their results joined:
 *
 *   A    1 64 | 1 48, 5 64 | 1 64, 3 96, 3 96 | mean 3, 1 p               p = 32, 64, 64
 *   B    3/2 384 | 1 64, 3 96, 3/2 96 | pool 3/2
 *   C    1 192 | 1 m, 1x7 m, 7x1 192 | 1 m, 7x1 m, 1x7 m, 7x1 m, 1x7 192 | mean 3, 1 192
 *                                                                         m = 128, 160, 160, 192
 *   D    1 192, 3/2 320 | 1 192, 1x7 192, 7x1 192, 3/2 192 | pool 3/2
 *   E    1 320 | 1 384, then 1x3 384 and 3x1 384 | 1 448, 3 384, then 1x3 384 and 3x1 384 | mean 3 (in the
 *        second block the largest), 1 192
 *
 * 23,817,352 parameters, 11.426 GFLOP forward a sample. */

enum { INCEPTION_IMAGE, INCEPTION_CLASSES, INCEPTION_CHANNELS, INCEPTION_RATE };

static const struct ll_model_param inception_params[] = {
    [INCEPTION_IMAGE] = {"image", 299, 75, 4096, "height and width of an image, in pixels"},
    [INCEPTION_CLASSES] = {"classes", 1000, 2, 1000000, "classes to tell apart"},
    [INCEPTION_CHANNELS] = {"channels", 32, 2, 4096, "filters of the first convolution; the others follow"},
    [INCEPTION_RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

struct net {
    struct ll_batch_norm_options norm;
    uint64_t channels;
};

/* A convolution of a chain: height, width and number of filters as for 32 channels, and stride. Where stride
 * is 2 there is no padding. */
struct conv {
    uint64_t kernel, kernel_w, filters, stride;
};
enum { MOST_CONVS = 5, MOST_CHAINS = 4 };

enum pool { NO_POOL, MEAN, LARGEST };

/* One after the other, behind a pool of stride 1 if there is one. */
struct chain {
    enum pool pool;
    struct conv convs[MOST_CONVS];
};

static struct ll_value *convolve(struct ll_nn *nn, const struct net *net, const char *name,
                                 struct ll_value *x, struct conv conv, enum ll_padding padding)
{
    return ll_conv_norm_layer(
        nn, name, x,
        &(struct ll_conv_options){.kernel = conv.kernel,
                                  .kernel_w = conv.kernel_w,
                                  .filters = ll_max(1, conv.filters * net->channels / 32),
                                  .stride = conv.stride,
                                  .padding = padding,
                                  .activation = LL_RELU},
        &net->norm);
}

static struct ll_value *run_chain(struct ll_nn *nn, const struct net *net, unsigned number,
                                  const struct chain *chain, struct ll_value *x)
{
    ll_nn_push_numbered(nn, "chain", number + 1);
    if (chain->pool == MEAN)
        x = ll_avg_pool_layer(nn, "pool", x, 3, 1, LL_HALF);
    if (chain->pool == LARGEST)
        x = ll_max_pool_layer(nn, "pool", x, 3, 1, LL_HALF);
    for (unsigned i = 0; i < MOST_CONVS && chain->convs[i].kernel; i++) {
        char name[16];
        snprintf(name, sizeof name, "conv%u", i + 1);
        x = convolve(nn, net, name, x, chain->convs[i], chain->convs[i].stride == 2 ? LL_VALID : LL_SAME);
    }
    ll_nn_pop(nn);
    return x;
}

/* The chains of a block, ended by one without convolutions; a block that shrinks the image has the largest of
 * windows 3/2 beside them. */
static struct ll_value *block(struct ll_nn *nn, const struct net *net, const char *name, struct ll_value *x,
                              const struct chain chains[MOST_CHAINS], bool shrinks)
{
    struct ll_value *parts[MOST_CHAINS + 1];
    uint32_t count = 0;
    ll_nn_push(nn, name);
    for (unsigned i = 0; i < MOST_CHAINS && chains[i].convs[0].kernel; i++)
        parts[count++] = run_chain(nn, net, i, &chains[i], x);
    if (shrinks)
        parts[count++] = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_VALID);
    x = ll_nn_concat(nn, parts, count, 3);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *block_a(struct ll_nn *nn, const struct net *net, const char *name, struct ll_value *x,
                                uint64_t pooled)
{
    const struct chain chains[MOST_CHAINS] = {
        {.convs = {{1, 1, 64, 1}}},
        {.convs = {{1, 1, 48, 1}, {5, 5, 64, 1}}},
        {.convs = {{1, 1, 64, 1}, {3, 3, 96, 1}, {3, 3, 96, 1}}},
        {MEAN, {{1, 1, pooled, 1}}},
    };
    return block(nn, net, name, x, chains, false);
}

static struct ll_value *block_b(struct ll_nn *nn, const struct net *net, struct ll_value *x)
{
    const struct chain chains[MOST_CHAINS] = {
        {.convs = {{3, 3, 384, 2}}},
        {.convs = {{1, 1, 64, 1}, {3, 3, 96, 1}, {3, 3, 96, 2}}},
    };
    return block(nn, net, "b", x, chains, true);
}

static struct ll_value *block_c(struct ll_nn *nn, const struct net *net, const char *name, struct ll_value *x,
                                uint64_t m)
{
    const struct chain chains[MOST_CHAINS] = {
        {.convs = {{1, 1, 192, 1}}},
        {.convs = {{1, 1, m, 1}, {1, 7, m, 1}, {7, 1, 192, 1}}},
        {.convs = {{1, 1, m, 1}, {7, 1, m, 1}, {1, 7, m, 1}, {7, 1, m, 1}, {1, 7, 192, 1}}},
        {MEAN, {{1, 1, 192, 1}}},
    };
    return block(nn, net, name, x, chains, false);
}

static struct ll_value *block_d(struct ll_nn *nn, const struct net *net, struct ll_value *x)
{
    const struct chain chains[MOST_CHAINS] = {
        {.convs = {{1, 1, 192, 1}, {3, 3, 320, 2}}},
        {.convs = {{1, 1, 192, 1}, {1, 7, 192, 1}, {7, 1, 192, 1}, {3, 3, 192, 2}}},
    };
    return block(nn, net, "d", x, chains, true);
}

/* Two of its chains end in a fork. */
static struct ll_value *block_e(struct ll_nn *nn, const struct net *net, const char *name, struct ll_value *x,
                                enum pool pool)
{
    const struct chain stems[] = {
        {.convs = {{1, 1, 320, 1}}},
        {.convs = {{1, 1, 384, 1}}},
        {.convs = {{1, 1, 448, 1}, {3, 3, 384, 1}}},
        {pool, {{1, 1, 192, 1}}},
    };
    struct ll_value *parts[6];
    uint32_t count = 0;
    ll_nn_push(nn, name);
    for (unsigned i = 0; i < 4; i++) {
        struct ll_value *y = run_chain(nn, net, i, &stems[i], x);
        if (i == 1 || i == 2) {
            ll_nn_push_numbered(nn, "chain", i + 1);
            parts[count++] = convolve(nn, net, "wide", y, (struct conv){1, 3, 384, 1}, LL_SAME);
            parts[count++] = convolve(nn, net, "high", y, (struct conv){3, 1, 384, 1}, LL_SAME);
            ll_nn_pop(nn);
        } else
            parts[count++] = y;
    }
    x = ll_nn_concat(nn, parts, count, 3);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *stem(struct ll_nn *nn, const struct net *net, struct ll_value *x)
{
    x = convolve(nn, net, "conv1", x, (struct conv){3, 3, 32, 2}, LL_VALID);
    x = convolve(nn, net, "conv2", x, (struct conv){3, 3, 32, 1}, LL_VALID);
    x = convolve(nn, net, "conv3", x, (struct conv){3, 3, 64, 1}, LL_HALF);
    x = ll_max_pool_layer(nn, "pool3", x, 3, 2, LL_VALID);
    x = convolve(nn, net, "conv4", x, (struct conv){1, 1, 80, 1}, LL_VALID);
    x = convolve(nn, net, "conv5", x, (struct conv){3, 3, 192, 1}, LL_VALID);
    return ll_max_pool_layer(nn, "pool5", x, 3, 2, LL_VALID);
}

static struct ll_value *inception_forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    const struct net net = {
        .norm = {.train = build->train, .unscaled = true, .epsilon = 2e-5, .decay = 0.9},
        .channels = (uint64_t)build->params[INCEPTION_CHANNELS],
    };
    x = stem(nn, &net, x);
    x = block_a(nn, &net, "a1", x, 32);
    x = block_a(nn, &net, "a2", x, 64);
    x = block_b(nn, &net, block_a(nn, &net, "a3", x, 64));
    x = block_c(nn, &net, "c1", x, 128);
    x = block_c(nn, &net, "c2", x, 160);
    x = block_c(nn, &net, "c3", x, 160);
    x = block_d(nn, &net, block_c(nn, &net, "c4", x, 192));
    x = block_e(nn, &net, "e1", x, MEAN);
    x = ll_global_average_pool(nn, "pool_all", block_e(nn, &net, "e2", x, LARGEST));
    return ll_class_logits(nn, x, (uint64_t)build->params[INCEPTION_CLASSES]);
}

static struct ll_value *build_inception(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_classifier_build(
        nn, build,
        &(struct ll_classifier){
            .image = (uint64_t)build->params[INCEPTION_IMAGE],
            .classes = (uint64_t)build->params[INCEPTION_CLASSES],
            .optimizer = ll_classifier_momentum((double)build->params[INCEPTION_RATE] / 1000),
            .logits = inception_forward,
        });
}

const struct ll_model ll_model_inception_v3 = {
    .name = "inception_v3",
    .suite = "tbd",
    .doc = "image classification by blocks of parallel chains of convolutions (Inception-v3)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 32,
    .params = inception_params,
    .param_count = sizeof inception_params / sizeof *inception_params,
    .build = build_inception,
    .recipe = {.steps = 150,
               .batch = 16,
               .settings = {{"image", "75"}, {"classes", "7"}, {"channels", "4"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
