/* SPDX-License-Identifier: Apache-2.0 */
/* Diffusion transformers of two streams, of images and of texts (joint.c), which `dit` has as presets. */
#ifndef LL_FRONTIER_JOINT_H
#define LL_FRONTIER_JOINT_H

#include "models/model.h"
#include "models/nn/training.h"

enum { LL_JOINT_PRESETS = 4 }; /* sd3-medium, sd3.5-large, flux-dev, flux-schnell */

/* Sizes in pixels of the latent image, in channels, layers, features, heads, tokens; 0 from layers on: the
 * preset's. dtype: number of a word of ll_decoder_dtypes. */
struct ll_joint_settings {
    size_t preset;
    uint64_t image, channels, patch, layers, hidden, heads, text;
    int64_t dtype;
};

/* A model's build function: what a step takes out of the noise, [batch squares, patch patch channels], or,
 * training, the mean square of what is left. Trouble is the network's. */
struct ll_value *ll_joint_build(struct ll_nn *nn, const struct ll_build *build,
                                const struct ll_joint_settings *settings,
                                const struct ll_optimizer *optimizer);

#endif
