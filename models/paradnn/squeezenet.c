/* SPDX-License-Identifier: Apache-2.0 */
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
#include "models/classifier.h"
#include "models/nn/init.h"
#include "models/nn/formula.h"
#include "models/nn/layers.h"

enum { IMAGE, CLASSES, CHANNELS, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1001, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 16, 1, 4096, "filters that the first fire squeezes into; the others follow"},
    [RATE] = {"rate", 10, 1, 100000, "learning rate, in thousandths"},
};

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t stride, uint64_t filters)
{
    struct ll_init init = ll_init_keeping_size(kernel * kernel * ll_max(1, x->shape.dim[3]), 2);
    return ll_conv_layer(
        nn, name, x,
        &(struct ll_conv_options){
            .kernel = kernel, .stride = stride, .filters = filters, .activation = LL_RELU, .init = init});
}

static struct ll_value *fire(struct ll_nn *nn, unsigned number, struct ll_value *x, uint64_t squeezed)
{
    ll_nn_push_numbered(nn, "fire", number);
    x = convolve(nn, "squeeze", x, 1, 1, squeezed);
    struct ll_value *parts[] = {convolve(nn, "expand1", x, 1, 1, 4 * squeezed),
                                convolve(nn, "expand3", x, 3, 1, 4 * squeezed)};
    x = ll_joined(nn, parts, 2, 3);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    static const struct {
        uint64_t factor; /* of what is squeezed into */
        const char *pool;
    } fires[] = {{1, NULL}, {1, NULL}, {2, "pool4"}, {2, NULL},
                 {3, NULL}, {3, NULL}, {4, "pool8"}, {4, NULL}};
    uint64_t channels = (uint64_t)build->params[CHANNELS];
    x = convolve(nn, "conv1", x, 7, 2, 6 * channels);
    x = ll_max_pool_layer(nn, "pool1", x, 3, 2, LL_VALID);
    for (unsigned i = 0; i < sizeof fires / sizeof *fires; i++) {
        x = fire(nn, i + 2, x, fires[i].factor * channels);
        if (fires[i].pool)
            x = ll_max_pool_layer(nn, fires[i].pool, x, 3, 2, LL_VALID);
    }
    if (build->train) {
        struct ll_chance chance = ll_chance_begin(nn, build->seed);
        x = ll_dropout_layer(nn, "drop9", x, 0.5, &chance);
    }
    x = convolve(nn, "conv10", x, 1, 1, (uint64_t)build->params[CLASSES]);
    return ll_global_average_pool(nn, "pool10", x);
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

const struct ll_model ll_model_squeezenet = {
    .name = "squeezenet",
    .suite = "paradnn-real",
    .doc = "image classification by few parameters (SqueezeNet 1.0)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 1024,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 300,
               .batch = 16,
               .settings = {{"image", "48"}, {"classes", "3"}, {"channels", "8"}, {"rate", "1"}}},
    .evaluate = ll_classifier_evaluate,
};
