/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/classifier.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"

#include <stdio.h>

enum { IMAGE, CLASSES, CHANNELS, HIDDEN };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 1, 4096,
                  "filters of the first block; the others have 2, 4, 8, 8 times as many"},
    [HIDDEN] = {"hidden", 4096, 1, 1000000, "units of the two hidden dense layers"},
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
                              .init = ll_init_keeping_size(9 * x->shape.dim[3], 2),
                          });
    }
    snprintf(name, sizeof name, "pool%u", number);
    return ll_max_pool_layer(nn, name, x, 2, 2, LL_VALID);
}

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_activation activation)
{
    struct ll_init init = ll_init_keeping_size(x->shape.dim[1], activation == LL_RELU ? 2 : 1);
    return ll_dense_layer(nn, name, x,
                          &(struct ll_dense_options){.units = units, .activation = activation, .init = init});
}

static struct ll_value *hidden_layers(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const char *const dense_names[] = {"fc6", "fc7"}, *const drop_names[] = {"drop6", "drop7"};
    struct ll_chance chance = {0};
    if (build->train)
        chance = ll_chance_begin(nn, build->seed);
    for (int i = 0; i < 2; i++) {
        x = dense(nn, dense_names[i], x, (uint64_t)build->params[HIDDEN], LL_RELU);
        if (build->train)
            x = ll_dropout_layer(nn, drop_names[i], x, 0.8, &chance);
    }
    return x;
}

static struct ll_value *forward_with(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build,
                                     const unsigned convolutions[BLOCKS], enum ll_activation last)
{
    static const uint64_t factors[BLOCKS] = {1, 2, 4, 8, 8};
    for (unsigned i = 0; i < BLOCKS; i++)
        x = block(nn, x, i + 1, convolutions[i], factors[i] * (uint64_t)build->params[CHANNELS]);
    x = hidden_layers(nn, ll_flatten(nn, x), build);
    return dense(nn, "fc8", x, (uint64_t)build->params[CLASSES], last);
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
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
        .image = (uint64_t)build->params[IMAGE],
        .classes = (uint64_t)build->params[CLASSES],
        .optimizer = ll_classifier_adam(1e-4),
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

const struct ll_model ll_model_vgg = {
    .name = "vgg",
    .suite = "fathom",
    .doc = "image classification by 16 small convolutions and three dense layers (VGG-19)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 8,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 300,
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
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build_code,
    .lesson = {.steps = 300,
               .batch = 16,
               .settings = {{"image", "32"}, {"classes", "3"}, {"channels", "8"}, {"hidden", "128"}}},
    .evaluate = ll_classifier_evaluate,
};
