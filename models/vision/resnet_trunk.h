/* SPDX-License-Identifier: Apache-2.0 */
/* Residual networks whose units normalise before they convolve (He et al., 2016, "Identity Mappings in Deep
 * Residual Networks"), as MXNet has them: what classifiers and detectors share.
 *
 *   stem     conv 7/2, normalise, ReLU, pool 3/2                                1/4 of the image
 *   stage s  units of channels 64 2^s (times 4 with bottlenecks), the first with stride 2 but in stage 0
 *   unit     a = relu(normalise(x)); a convolved twice (3, 3) or thrice (1, 3, 1), normalisation and ReLU
 *            between; + x, or in the first unit of a stage + conv 1(a)                                  */
#ifndef LL_VISION_RESNET_TRUNK_H
#define LL_VISION_RESNET_TRUNK_H

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

#endif
