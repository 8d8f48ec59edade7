/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled images that somebody took, from IDX files (idx.h), in two parts (part.h). A set is made by one
 * thread; then any may read it. */
#ifndef LL_DATA_IMAGE_SET_H
#define LL_DATA_IMAGE_SET_H

#include "models/data/idx.h"

struct ll_image_set {
    const char *name;               /* of the folder, for complaints; the caller's */
    const uint8_t *pixels, *labels; /* [count, height, width, channels], 0 to 255; [count] */
    uint64_t count, height, width, channels;
};

/* From images.idx and labels.idx of a folder, or, where these are not, from the files of MNIST's training
 * set. What the set points to lives in the arena, but for the folder's name. False after complaints about
 * what is missing, is no IDX file, or does not belong together. */
bool ll_image_set_read(struct ll_image_set *set, const char *folder, struct ll_arena *arena,
                       struct ll_diags *diags);

/* Images (images x height x width, behind it perhaps channels) and their labels, which stay the caller's. At
 * least sixteen of them, none without pixels. False after complaints. */
bool ll_image_set_join(struct ll_image_set *set, const struct ll_idx *images, const struct ll_idx *labels,
                       const char *name, struct ll_diags *diags);

/* What a network asks of images: that they be as large or larger, grey or of as many channels, and labelled
 * from 0 to classes - 1. False after complaints. */
struct ll_image_need {
    uint64_t height, width, channels, classes; /* in pixels */
};
bool ll_image_set_suits(const struct ll_image_set *set, const struct ll_image_need *need,
                        struct ll_diags *diags);

/* The first pixel of an image, whose number is below the count. */
const uint8_t *ll_image_set_at(const struct ll_image_set *set, uint64_t image);

#endif
