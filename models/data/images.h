/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled images that nobody took: every class has a coarse pattern of its own, every image is its class's
 * pattern under noise. So a network can learn them, and no data set has to be there. Sample i of a seed is
 * always the same. Thread-safe. */
#ifndef LL_DATA_IMAGES_H
#define LL_DATA_IMAGES_H

#include <stdint.h>

struct ll_images {
    uint64_t height, width, channels, classes, seed;
};

/* The class of samples first..first + count - 1, each from 0 to classes - 1. */
void ll_image_labels(const struct ll_images *images, uint64_t first, uint64_t count, int32_t *labels);

/* Their pixels, from -1 to 1: count x height x width x channels. */
void ll_image_pixels(const struct ll_images *images, uint64_t first, uint64_t count, float *pixels);

#endif
