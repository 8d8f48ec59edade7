/* SPDX-License-Identifier: Apache-2.0 */
/* The two networks of a WGAN with gradient penalty (Gulrajani et al., 2017), residual ones for images of 64 x
 * 64, as TBD takes them from its authors' code, and the loss of the critic.
 *
 *   generator    z[128] -> dense 4x4x512 -> up 512 -> up 256 -> up 128 -> up 64 -> norm, ReLU, 3x3 conv 3,
 *                tanh: 8,540,483 parameters, 3.573 GFLOP an image
 *   critic       3x3 conv 64 -> down 128 -> down 256 -> down 512 -> down 512 -> 4x4x512 -> dense 1:
 *                7,491,841 parameters, 3.395 GFLOP an image
 *
 * A block is norm, ReLU, 3x3, norm, ReLU, 3x3 beside a shortcut of 1x1; up doubles and down halves height and
 * width. The generator's norm is over the batch and always that of the batch, the critic's over each image.
 * Code and paper have channels first; here they are last, which changes no number. */
#ifndef LL_TBD_WGAN_NET_H
#define LL_TBD_WGAN_NET_H

#include "models/nn/init.h"
#include "models/nn/nn.h"

enum { LL_WGAN_NOISE = 128, LL_WGAN_COLOURS = 3, LL_WGAN_BLOCKS = 4 };
static const double ll_wgan_penalty = 10; /* the weight of the gradient penalty */

struct ll_wgan {
    uint64_t batch, image, channels; /* image: a multiple of 16; channels: at the images' size, 64 */
};

/* [batch, image, image, 3]. */
struct ll_shape ll_wgan_shape(const struct ll_nn *nn, const struct ll_wgan *wgan);

/* Images from normal noise. Weights: "generator/...". */
struct ll_value *ll_wgan_generate(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_chance *chance);

/* How real each image is: [batch]. Weights: "critic/...". */
struct ll_value *ll_wgan_criticise(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_value *images);

/* What the critic minimises, and what it thereby estimates: the distance of the two distributions that the
 * images come from, E D(real) - E D(fake), both scalars. The network shares its variables (ll_nn_share). */
struct ll_wgan_verdict {
    struct ll_value *loss, *distance;
};
struct ll_wgan_verdict ll_wgan_judge(struct ll_nn *nn, const struct ll_wgan *wgan, struct ll_value *real,
                                     struct ll_value *fake, struct ll_chance *chance);

/* An update by Adam as the paper has it, of the weights whose names begin with the network's, "critic". */
void ll_wgan_learn(struct ll_nn *nn, struct ll_value *loss, const char *network, double rate);

#endif
