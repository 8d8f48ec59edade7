/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/classifier.h"
#include "models/nn/layers.h"

enum { IMAGE, CLASSES, CHANNELS, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 32, 4, 4096, "filters of the first convolution; the others follow"},
    [RATE] = {"rate", 45, 1, 100000, "learning rate, in thousandths"},
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

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const struct {
        uint64_t factor, stride;
    } pairs[] = {{2, 1},  {4, 2},  {4, 1},  {8, 2},  {8, 1},  {16, 2}, {16, 1},
                 {16, 1}, {16, 1}, {16, 1}, {16, 1}, {32, 2}, {32, 1}};
    uint64_t channels = (uint64_t)build->params[CHANNELS];
    x = conv_norm(nn, "conv1", x, 3, 2, channels, build->train);
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ll_nn_push_numbered(nn, "pair", i + 1);
        x = conv_norm(nn, "depthwise", x, 3, pairs[i].stride, 0, build->train);
        x = conv_norm(nn, "pointwise", x, 1, 1, pairs[i].factor * channels, build->train);
        ll_nn_pop(nn);
    }
    x = ll_global_average_pool(nn, "pool_all", x);
    return ll_class_logits(nn, x, (uint64_t)build->params[CLASSES]);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    return ll_classifier_build(nn, build,
                               &(struct ll_classifier){
                                   .image = (uint64_t)build->params[IMAGE],
                                   .classes = (uint64_t)build->params[CLASSES],
                                   .optimizer = {.kind = LL_RMSPROP,
                                                 .rate = (double)build->params[RATE] / 1000,
                                                 .decay = 0.9,
                                                 .momentum = 0.9,
                                                 .epsilon = 1,
                                                 .average = 0.9999},
                                   .logits = forward,
                               });
}

const struct ll_model ll_model_mobilenet = {
    .name = "mobilenet",
    .suite = "paradnn-real",
    .doc = "image classification by depthwise separable convolutions (MobileNet)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 1024,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 600,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "7"}, {"channels", "8"}, {"rate", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
