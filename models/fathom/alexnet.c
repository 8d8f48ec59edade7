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
 * 61,104,937 parameters, 1.4335 GFLOP forward a sample in convolutions and products. ReLU after all but the
 * last layer. Filters start within two deviations of 0.1, dense weights at N(0, 1), so the first losses are
 * in the tens of millions. */
#include "models/classifier.h"
#include "models/nn/layers.h"

enum { IMAGE, CLASSES, CHANNELS, HIDDEN };

static const struct ll_model_param params[] = {
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

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
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
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 150,
               .batch = 16,
               .settings = {{"image", "67"}, {"classes", "7"}, {"channels", "4"}, {"hidden", "24"}}},
    .evaluate = ll_classifier_evaluate,
};
