/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of an image that are worth a second look (Ren et al., 2015), as ops. Boxes are left, top, right and
 * bottom in pixels of the image; nothing flows back through them. */
#ifndef LL_VISION_PROPOSALS_H
#define LL_VISION_PROPOSALS_H

#include "models/nn/chance.h"
#include "models/nn/nn.h"

struct ll_proposal_options {
    uint64_t height, width; /* of the image */
    double least;           /* what is less high or wide than this comes last */
    uint64_t sorted, kept;  /* so many of the best are looked at; so many that do not overlap are kept */
    double overlap;         /* by more than this share of what either has */
};

/* Of anchors[n, 4] with scores[batch, n] and deltas[batch, n, 4] the best: [batch, kept, 4]. At most n are
 * sorted, and kept. */
struct ll_value *ll_proposals(struct ll_nn *nn, struct ll_value *anchors, struct ll_value *scores,
                              struct ll_value *deltas, const struct ll_proposal_options *options);

/* What a step learns from them; see kernel_box_sample.c. */
struct ll_box_lesson {
    struct ll_value *boxes;          /* [batch, size, 4] */
    struct ll_value *labels;         /* [batch size], 0 being the background */
    struct ll_value *deltas, *count; /* [batch size, 4 classes] */
};
struct ll_box_sampling {
    uint64_t size, classes; /* with the background */
    double good;            /* overlap from which a box is taken for an object */
    double share;           /* of them, at most */
};
struct ll_box_lesson ll_sampled_boxes(struct ll_nn *nn, struct ll_value *boxes, struct ll_value *truth,
                                      const struct ll_box_sampling *sampling, struct ll_chance *chance);

/* The largest elements of size x size bins of each box, on a map that is `scale` as large as the image:
 * [batch n, size, size, channels]. */
struct ll_value *ll_pooled_regions(struct ll_nn *nn, struct ll_value *map, struct ll_value *boxes,
                                   uint64_t size, double scale);

#endif
