/* SPDX-License-Identifier: Apache-2.0 */
/* What networks that classify images have in common: labelled images come in, logits for each class go out;
 * when training, the mean softmax loss, the accuracy, and an optimizer.
 *
 * Trouble (a shape that does not fit, data that cannot be used) is the network's, as everywhere in nn.h;
 * about data there is a complaint as well. */
#ifndef LL_MODELS_CLASSIFIER_H
#define LL_MODELS_CLASSIFIER_H

#include "models/model.h"
#include "models/nn/optim.h"

struct ll_classifier {
    uint64_t image, classes;       /* pixels in height and width; 3 channels */
    struct ll_optimizer optimizer; /* read while building alone */
    /* From images [batch, image, image, 3], -1 to 1, to logits [batch, classes]. Called once for each
     * program that is built, with build->train as that program has it: dropout and the like depend on it. */
    struct ll_value *(*logits)(struct ll_nn *nn, struct ll_value *images, const struct ll_build *build);
};

/* Adam with the other constants of its paper (Kingma and Ba, 2015: 0.9, 0.999, 1e-8), as Fathom trains;
 * momentum 0.9 and a weight decay of 1e-4, as residual networks do (He et al., 2016, section 3.4) and most
 * since. Pure. */
struct ll_optimizer ll_classifier_adam(double rate);
struct ll_optimizer ll_classifier_momentum(double rate);

/* The last layer of most: "fc", dense, from [batch, features] to [batch, classes]. Its weights start so that
 * sizes stay as they are, its biases at zero. */
struct ll_value *ll_class_logits(struct ll_nn *nn, struct ll_value *features, uint64_t classes);

/* The model's evaluate function: the share, 0 to 1, of sixteen batches of images that it has not seen and
 * puts into the right class. The context is what ll_classifier_build gave the network's driver. Never false.
 */
bool ll_classifier_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores);

/* What --data names for such a model. */
#define LL_CLASSIFIER_DATA                                                                                   \
    "a folder with images.idx, bytes [images, height, width, 3], and labels.idx, or MNIST's files; larger "  \
    "images are cropped, one of sixteen is held back"

/* The build function of such a model: the loss when training, else the logits. Its programs are the step
 * and, where build->evaluate asks for it, the evaluation. Images are made up unless build->data names a
 * folder; they are read here, into the network's arena. The classifier need not outlive the call. */
struct ll_value *ll_classifier_build(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_classifier *classifier);

#endif
