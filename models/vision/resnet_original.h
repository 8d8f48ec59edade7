/* SPDX-License-Identifier: Apache-2.0 */
/* Residual networks whose units normalise behind each convolution (He et al., 2015, "Deep Residual Learning
 * for Image Recognition"), with the stride in the unit's 3x3 convolution ("version 1.5").
 *
 *   stem     conv 7/2, normalise, ReLU, pool 3/2
 *   unit     relu(x + convs 1, 3, 1 or 3, 3, each normalised, a ReLU behind all but the last); where x has
 *            another shape, a conv 1 and normalisation take its place
 *   top      the mean over the image */
#ifndef LL_VISION_RESNET_ORIGINAL_H
#define LL_VISION_RESNET_ORIGINAL_H

#include "models/vision/resnet_trunk.h"

/* Images [batch, height, width, 3] to [batch, features]; of the plan only its stages and norm are read.
 * Scopes "stem", "stage<s + 1>/unit<i + 1>", "pool_all". */
struct ll_value *ll_resnet_original(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images);

#endif
