/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled images for classifiers, sample after sample without end. Sample i of a seed and a part is always
 * the same. Functions are pure, thread-safe, and do not fail.
 *
 * Images that nobody took: every class has a coarse pattern of its own, every image is its class's pattern
 * under noise. So a network can learn them, and no data set has to be there.
 *
 * Images that somebody took are drawn from a set. Larger ones are cropped: anywhere when they are learned,
 * in the middle when they are held back; grey ones are as grey in all channels. The set suits the images
 * (ll_image_set_suits) and outlives them. */
#ifndef LL_DATA_IMAGES_H
#define LL_DATA_IMAGES_H

#include "models/data/image_set.h"
#include "models/data/part.h"

struct ll_images {
    uint64_t height, width, channels, classes, seed; /* in pixels; all but the seed at least 1 */
    enum ll_data_part part;
    /* Photographs of this size and number of classes; NULL: images are generated. */
    const struct ll_image_set *taken;
};

/* Writes the class of samples first..first + count - 1, each from 0 to classes - 1: labels[count]. */
void ll_image_labels(const struct ll_images *images, uint64_t first, uint64_t count, int32_t *labels);

/* Writes their pixels, from -1 to 1: pixels[count, height, width, channels]. */
void ll_image_pixels(const struct ll_images *images, uint64_t first, uint64_t count, float *pixels);

#endif
