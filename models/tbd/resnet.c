/* SPDX-License-Identifier: Apache-2.0 */
/* ResNet-50 of the TBD suite (Zhu et al., 2018; its MXNet version): residual units that normalise first, on
 * ImageNet, trained by momentum 0.9 with a decay of 1e-4, rate 0.1. Depths 18, 34, 101 and 152 by -p depth.
 *
 *   images 224x224x3, normalised (shifted only)
 *   stem of vision/resnet.h                               56x56    64 channels
 *   stages of 3, 4, 6, 3 bottlenecks                     56, 28, 14, 7 pixels; 256, 512, 1024, 2048 channels
 *   normalise, ReLU, mean over the image, dense 1000
 *
 * 25,549,483 parameters, 8.178 GFLOP forward a sample. */
#include "models/classifier.h"
#include "models/vision/resnet.h"

enum { IMAGE, CLASSES, CHANNELS, DEPTH, RATE };

static const struct ll_model_param params[] = {
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

const struct ll_model ll_model_resnet = {
    .name = "resnet",
    .suite = "tbd",
    .doc = "image classification by 50 layers with shortcuts, normalised before each convolution "
           "(pre-activation ResNet-50)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 32,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson =
        {.steps = 150,
         .batch = 16,
         .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "4"}, {"depth", "18"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
