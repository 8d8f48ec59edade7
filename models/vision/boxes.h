/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes, anchors and what a detector is told and asked about them; in pixels of the image. Pure functions. */
#ifndef LL_VISION_BOXES_H
#define LL_VISION_BOXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_box {
    float left, top, right, bottom;
};

/* What two boxes have in common, as a share of what either has: 0 to 1. */
float ll_box_overlap(struct ll_box a, struct ll_box b);

/* How a box differs from an anchor: centre in sizes of the anchor, logarithm of the size; and the box that is
 * so different from it. */
struct ll_box_delta {
    float x, y, width, height;
};
struct ll_box_delta ll_box_delta(struct ll_box anchor, struct ll_box box);
struct ll_box ll_box_moved(struct ll_box anchor, struct ll_box_delta delta);

/* Anchors of a feature map: for each of its pixels, which lie `stride` pixels of the image apart, boxes
 * around the middle of it, of each area (side)^2 with each ratio of height to width; sides change slowest.
 * Writes height * width * side_count * ratio_count boxes. */
struct ll_anchor_grid {
    uint64_t height, width, stride;
    const double *sides, *ratios;
    size_t side_count, ratio_count;
};
uint64_t ll_anchor_count(const struct ll_anchor_grid *grid);
void ll_anchors_fill(const struct ll_anchor_grid *grid, struct ll_box *boxes);

enum { LL_UNMATCHED = -1, LL_UNDECIDED = -2 };

/* Which of the truths each box is to find: the one it overlaps with best, if by at least `good`; none
 * (LL_UNMATCHED) if by less than `bad`; else LL_UNDECIDED. Every truth is found by the box that overlaps with
 * it best, the first of several. */
struct ll_match_rule {
    float good, bad;
};
void ll_boxes_match(const struct ll_box *boxes, uint64_t count, const struct ll_box *truths,
                    uint64_t truth_count, struct ll_match_rule rule, int32_t *matches);

/* What a detector says, or what there is (its score does not count then). */
struct ll_detection {
    struct ll_box box;
    uint32_t image, class;
    float score;
};

/* Sorts, the best first, and drops those that overlap with a better one of their image and class by more than
 * `overlap`. Returns how many are left. */
uint64_t ll_detections_thin(struct ll_detection *found, uint64_t count, float overlap);

/* How well `found`, sorted and thinned, agrees with the truths. A detection hits the truth of its image and
 * class that it overlaps with best, if by at least a half and no better one has hit it. Precision is the mean
 * over classes, those that have truths, of the area under precision over recall, the precision being the best
 * at that recall or more (VOC 2010); recall is the share of truths that were hit. `hit` is scratch
 * memory for all truths and detections. */
struct ll_detector_scores {
    double precision, recall;
};
struct ll_detector_scores ll_detections_judge(const struct ll_detection *found, uint64_t count,
                                              const struct ll_detection *truths, uint64_t truth_count,
                                              bool *hit);

#endif
