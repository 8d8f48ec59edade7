/* SPDX-License-Identifier: Apache-2.0 */
/* What networks that classify images have in common: labelled images come in, logits for each class go out;
 * when training, the mean softmax loss, the accuracy, and an optimizer. */
#ifndef LL_MODELS_CLASSIFIER_H
#define LL_MODELS_CLASSIFIER_H

#include "models/model.h"
#include "models/nn/optim.h"

struct ll_classifier {
    uint64_t image, classes; /* pixels in height and width; 3 channels */
    struct ll_optimizer optimizer;
    struct ll_value *(*logits)(struct ll_nn *nn, struct ll_value *images, const struct ll_build *build);
};

/* Adam with the other constants of its paper, as Fathom trains; momentum 0.9 and a decay of 1e-4, as most
 * others do. */
struct ll_optimizer ll_classifier_adam(double rate);
struct ll_optimizer ll_classifier_momentum(double rate);

/* The last layer of most: "fc", dense, from [batch, features] to a logit for each class. */
struct ll_value *ll_class_logits(struct ll_nn *nn, struct ll_value *features, uint64_t classes);

/* The model's evaluate function: the share of images that it has not seen and puts into the right class. */
bool ll_classifier_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores);

/* What --data names for such a model. */
#define LL_CLASSIFIER_DATA                                                                                   \
    "a folder with images.idx, bytes [images, height, width, 3], and labels.idx, or MNIST's files; larger "  \
    "images are cropped, one of sixteen is held back"

/* The build function of such a model: the loss when training, else the logits. */
struct ll_value *ll_classifier_build(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_classifier *classifier);

#endif
