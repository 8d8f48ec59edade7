/* SPDX-License-Identifier: Apache-2.0 */
/* Residual networks whose units normalise before they convolve (He et al., 2016, "Identity Mappings in Deep
 * Residual Networks"), as MXNet has them: what classifiers and detectors share.
 *
 *   stem     conv 7/2, normalise, ReLU, pool 3/2                                1/4 of the image
 *   stage s  units of channels 64 2^s (times 4 with bottlenecks), the first with stride 2 but in stage 0
 *   unit     a = relu(normalise(x)); a convolved twice (3, 3) or thrice (1, 3, 1), normalisation and ReLU
 *            between; + x, or in the first unit of a stage + conv 1(a)                                  */
#ifndef LL_MODELS_VISION_RESNET_H
#define LL_MODELS_VISION_RESNET_H

#include "models/nn/layers.h"

enum { LL_RESNET_STAGES = 4 };

/* The units of each stage for a depth that He et al. name. */
struct ll_resnet_plan {
    unsigned units[LL_RESNET_STAGES];
    bool bottleneck;
};

/* False, with the network in trouble, for other depths. */
bool ll_resnet_plan(struct ll_nn *nn, int64_t depth, struct ll_resnet_plan *plan);

struct ll_resnet {
    struct ll_resnet_plan plan;
    uint64_t channels; /* of the stem: 64 */
    struct ll_batch_norm_options norm;
    bool plain_stem; /* nothing is normalised before the first unit */
};

/* Scope "stem". Images [batch, height, width, 3] shrink to a quarter. */
struct ll_value *ll_resnet_stem(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images);

/* Scope "stage<s + 1>". What comes out is a sum: neither normalised nor cut by a ReLU. */
struct ll_value *ll_resnet_stage(struct ll_nn *nn, const struct ll_resnet *net, unsigned stage,
                                 struct ll_value *x);

/* relu(normalise(x)), under a scope of this name. */
struct ll_value *ll_resnet_activated(struct ll_nn *nn, const struct ll_resnet *net, const char *name,
                                     struct ll_value *x);

/* Residual networks whose units normalise behind each convolution (He et al., 2015, "Deep Residual Learning
 * for Image Recognition"), with the stride in the unit's 3x3 convolution ("version 1.5").
 *
 *   stem     conv 7/2, normalise, ReLU, pool 3/2
 *   unit     relu(x + convs 1, 3, 1 or 3, 3, each normalised, a ReLU behind all but the last); where x has
 *            another shape, a conv 1 and normalisation take its place
 *   top      the mean over the image */

/* Images [batch, height, width, 3] to [batch, features]; of the plan only its stages and norm are read.
 * Scopes "stem", "stage<s + 1>/unit<i + 1>", "pool_all". */
struct ll_value *ll_resnet_original(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images);

#endif
