/* SPDX-License-Identifier: Apache-2.0 */
/* The image classifiers of Catamount (Hestness et al., 2019): residual networks of five depths (He et al.,
 * 2015, the stride in the unit's 3x3 convolution) as tensorpack trains them, on bytes that are scaled and
 * normalised on the device, by momentum 0.9.
 *
 *     parameters 11,689,514 (18 layers), 21,797,674 (34), 25,557,034 (50), 44,549,162 (101), 60,192,810 (152)
 *
 * of which two are TensorFlow's counter of steps and learning rate. Catamount leaves nothing out that stands
 * in a graph: the gradient of the image is computed, which nothing reads. */
#include "models/classifier.h"
#include "models/feed.h"
#include "models/frontier/language.h"
#include "models/model.h"
#include "models/nn/formula.h"
#include "models/nn/layers.h"
#include "models/nn/optim.h"
#include "models/vision/resnet.h"

#include <stdlib.h>

enum { IMAGE, CLASSES, CHANNELS, DEPTH, RATE };
enum { COLOURS = 3 };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 224, 32, 4096, "height and width of an image, in pixels"},
    [CLASSES] = {"classes", 1000, 2, 1000000, "classes to tell apart"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
    [DEPTH] = {"depth", 50, 18, 152, "layers with weights: 18, 34, 50, 101 or 152"},
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

struct source {
    struct ll_images images;
    uint64_t batch;
};

/* From 0 to 255. */
static void fill_pixels(void *context, uint64_t step, uint8_t *data)
{
    const struct source *source = context;
    const uint64_t count = source->batch * source->images.height * source->images.width * COLOURS;
    float *pixels = calloc(count, sizeof *pixels);
    if (pixels)
        ll_image_pixels(&source->images, step * source->batch, source->batch, pixels);
    for (uint64_t i = 0; i < count; i++)
        data[i] = pixels ? (uint8_t)((pixels[i] + 1) * 127.5F) : 0;
    free(pixels);
}

static struct ll_value *feed_pixels(struct ll_nn *nn, const struct ll_images *images, uint64_t batch)
{
    const struct source source = {*images, batch};
    struct source *own = ll_copy(&nn->arena, &source, sizeof source);
    const struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){batch, images->height, images->width, COLOURS},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    if (!own)
        ll_nn_fail(nn, "memory ran out");
    return ll_feed_bytes(nn, "pixels", &shape, fill_pixels, own);
}

/* Of each colour what ImageNet has on average, and how far it strays. */
static struct ll_value *normalised(struct ll_nn *nn, struct ll_value *pixels)
{
    static const double means[] = {0.485, 0.456, 0.406}, deviations[] = {0.229, 0.224, 0.225};
    const struct ll_shape colours =
        ll_nn_shape(nn, 1, (uint64_t[]){COLOURS}, (enum ll_role[]){LL_ROLE_CHANNEL});
    ll_nn_push(nn, "normalise");
    struct ll_value *mean =
        ll_nn_variable(nn, "mean", &colours, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, means});
    struct ll_value *deviation = ll_nn_variable(nn, "deviation", &colours, LL_WORKSPACE,
                                                (struct ll_init){LL_INIT_LIST, 0, deviations});
    struct ll_value *x = ll_scaled(nn, ll_as_real(nn, pixels), "one_of_255", 1.0 / 255);
    x = ll_div_of(nn, ll_sub_of(nn, x, mean), deviation);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *logits(struct ll_nn *nn, struct ll_value *pixels, const struct ll_build *build)
{
    struct ll_resnet net = {.channels = (uint64_t)build->params[CHANNELS],
                            .norm = {.train = build->train, .epsilon = 1e-5, .decay = 0.9}};
    if (!ll_resnet_plan(nn, build->params[DEPTH], &net.plan))
        return &nn->nothing;
    struct ll_value *x = ll_resnet_original(nn, &net, normalised(nn, pixels));
    return ll_class_logits(nn, x, (uint64_t)build->params[CLASSES]);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const uint64_t image = (uint64_t)build->params[IMAGE];
    const struct ll_images images = {image,       image,      COLOURS, (uint64_t)build->params[CLASSES],
                                     build->seed, LL_LEARNED, NULL};
    nn->as_tensorflow = true;
    struct ll_value *pixels = feed_pixels(nn, &images, build->batch);
    struct ll_value *labels = build->train ? ll_feed_labels(nn, build->batch, &images) : NULL;
    struct ll_value *counter = ll_begin_counter(nn, true);
    struct ll_value *scores = logits(nn, pixels, build);
    if (!build->train)
        return scores;
    struct ll_value *loss = ll_softmax_loss(nn, scores, labels);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){
                    .kind = LL_MOMENTUM, .rate = (double)build->params[RATE] / 1000, .momentum = 0.9});
    ll_count_step(nn, counter);
    return loss;
}

const struct ll_model ll_model_image_resnet = {
    .name = "image_resnet",
    .suite = "frontier",
    .doc = "image classification by residual networks (Catamount's, 18 to 152 layers)",
    .default_batch = 32,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
};
