/* SPDX-License-Identifier: Apache-2.0 */
/* What detectors have in common: drawings come in, with boxes around what they show; what a detector finds on
 * drawings that it has not seen is compared with what is there. */
#ifndef LL_VISION_DETECTOR_H
#define LL_VISION_DETECTOR_H

#include "models/data/drawings.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"
#include "models/vision/boxes.h"

/* Images [batch, height, width, 3] from -1 to 1; those of the step are new. */
struct ll_value *ll_feed_drawings(struct ll_nn *nn, uint64_t batch, const struct ll_drawings *drawings);

/* The boxes around their shapes: left, top, right, bottom and class [batch, most, 5]; class 0 is none. */
struct ll_value *ll_feed_shapes(struct ll_nn *nn, uint64_t batch, const struct ll_drawings *drawings);

/* Anchors as a variable of the network that no step changes, [count, 4]. */
struct ll_value *ll_anchors_of(struct ll_nn *nn, const struct ll_box *anchors, uint64_t count);

/* The boxes and classes of one drawing; returns how many there are. Room for LL_MOST_SHAPES. */
uint64_t ll_drawn_boxes(const struct ll_drawings *drawings, uint64_t sample, struct ll_box *boxes,
                        uint32_t *classes);

/* How a detector is judged: `program`, run batch after batch on drawings that it has not seen, and `read`,
 * which adds what is likely enough of the batch that was just run, image numbers counting on from `image`, at
 * most `room` detections, and returns how many. */
struct ll_detector {
    const struct ll_drawings *drawings;
    uint64_t batch;
    uint32_t program;
    uint64_t (*read)(const void *task, struct ll_runner *runner, uint64_t image, struct ll_detection *found,
                     uint64_t room);
    const void *task;
};

/* Adds the scores "average_precision" and "recall". False after a complaint. */
bool ll_detector_evaluate(const struct ll_detector *detector, struct ll_runner *runner,
                          struct ll_scores *scores);

#endif
