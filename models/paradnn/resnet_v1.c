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
    struct ll_resnet net = {.channels = (uint64_t)build->params[CHANNELS],
                            .norm = {.train = build->train, .epsilon = 1e-5, .decay = 0.9}};
    if (!ll_resnet_plan(nn, build->params[DEPTH], &net.plan))
        return &nn->nothing;
    x = ll_resnet_original(nn, &net, x);
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
