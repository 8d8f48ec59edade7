/* SPDX-License-Identifier: Apache-2.0 */
/* What networks that classify images have in common: labelled images come in, logits for each class go out;
 * when training, the mean softmax loss, the accuracy, and an optimizer.
 *
 * Trouble (a shape that does not fit, data that cannot be used) is the network's, as everywhere in nn.h;
 * about data there is a complaint as well. */
#ifndef LL_MODELS_VISION_VISION_H
#define LL_MODELS_VISION_VISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/data/images.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"

struct ll_classifier {
    uint64_t image, classes;       /* pixels in height and width; 3 channels */
    struct ll_optimizer optimizer; /* read while building alone */
    /* From images [batch, image, image, 3], -1 to 1, to logits [batch, classes]. Called once for each
     * program that is built, with build->train as that program has it: dropout and the like depend on it. */
    struct ll_value *(*logits)(struct ll_nn *nn, struct ll_value *images, const struct ll_build *build);
};

/* Adam with the other constants of its paper (Kingma and Ba, 2015: 0.9, 0.999, 1e-8), as Fathom trains;
 * momentum 0.9 and a weight decay of 1e-4, as residual networks do (He et al., 2016, section 3.4) and most
 * since. Pure. */
struct ll_optimizer ll_classifier_adam(double rate);
struct ll_optimizer ll_classifier_momentum(double rate);

/* The last layer of most: "fc", dense, from [batch, features] to [batch, classes]. Its weights start so that
 * sizes stay as they are, its biases at zero. */
struct ll_value *ll_class_logits(struct ll_nn *nn, struct ll_value *features, uint64_t classes);

/* The model's evaluate function: the share, 0 to 1, of sixteen batches of images that it has not seen and
 * puts into the right class. The context is what ll_classifier_build gave the network's driver. Never false.
 */
bool ll_classifier_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores);

/* What --data names for such a model. */
#define LL_CLASSIFIER_DATA                                                                                   \
    "a folder with images.idx, bytes [images, height, width, 3], and labels.idx, or MNIST's files; larger "  \
    "images are cropped, one of sixteen is held back"

/* The build function of such a model: the loss when training, else the logits. Its programs are the step
 * and, where build->evaluate asks for it, the evaluation. Images are made up unless build->data names a
 * folder; they are read here, into the network's arena. The classifier need not outlive the call. */
struct ll_value *ll_classifier_build(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_classifier *classifier);

/* Residual networks whose units normalise before they convolve (He et al., 2016, "Identity Mappings in Deep
 * Residual Networks"), as MXNet has them: what classifiers and detectors share.
 *
 *   stem     conv 7/2, normalise, ReLU, pool 3/2                                1/4 of the image
 *   stage s  units of channels 64 2^s (times 4 with bottlenecks), the first with stride 2 but in stage 0
 *   unit     a = relu(normalise(x)); a convolved twice (3, 3) or thrice (1, 3, 1), normalisation and ReLU
 *            between; + x, or in the first unit of a stage + conv 1(a)                                  */

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

/* Boxes, anchors and what a detector is told and asked about them; in pixels of the image. Pure functions. */

struct ll_box {
    float left, top, right, bottom;
};

/* Intersection over union (IoU) of two boxes: 0 to 1. */
float ll_box_iou(struct ll_box a, struct ll_box b);

/* Encoding a box relative to an anchor, and decoding it: the distance of the centres in sizes of the anchor,
 * the logarithm of the quotient of the sizes. */
struct ll_box_delta {
    float x, y, width, height;
};
struct ll_box_delta ll_box_encode(struct ll_box anchor, struct ll_box box);
struct ll_box ll_box_decode(struct ll_box anchor, struct ll_box_delta delta);

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

/* Assigns each anchor to a ground-truth box: to that of the largest IoU, if it is at least `good`; to none
 * (LL_UNMATCHED) if it is less than `bad`; else LL_UNDECIDED. Every ground-truth box keeps the anchor of its
 * largest IoU, the first of several. */
struct ll_match_rule {
    float good, bad;
};
void ll_anchors_assign(const struct ll_box *boxes, uint64_t count, const struct ll_box *truths,
                       uint64_t truth_count, struct ll_match_rule rule, int32_t *matches);

/* A detection, or a ground-truth box (its score does not count then). */
struct ll_detection {
    struct ll_box box;
    uint32_t image, class;
    float score;
};

/* Non-maximum suppression (NMS): sorts by score, the best first, and drops those whose IoU with a better one
 * of their image and class is above `overlap`. Returns how many are left. */
uint64_t ll_detections_nms(struct ll_detection *found, uint64_t count, float overlap);

/* Mean average precision (mAP) of `found`, which has been through NMS. A detection hits the ground-truth box
 * of its image and class of the largest IoU, if that is at least one half and no better detection has hit it.
 * `precision` is the mean over the classes that occur of the area under precision over recall, the precision
 * being the best at that recall or more (VOC 2010); `recall` is the share of ground-truth boxes that were
 * hit. `hit` is scratch memory for all ground-truth boxes and detections. */
struct ll_detector_scores {
    double precision, recall;
};
struct ll_detector_scores ll_detections_map(const struct ll_detection *found, uint64_t count,
                                            const struct ll_detection *truths, uint64_t truth_count,
                                            bool *hit);

/* Regions of an image that are worth a second look (Ren et al., 2015), as ops. Boxes are left, top, right and
 * bottom in pixels of the image; nothing flows back through them. */

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

/* Training targets of proposals: what their classes and boxes should be; see kernel_detect.c. */
struct ll_box_targets {
    struct ll_value *boxes;          /* [batch, size, 4] */
    struct ll_value *labels;         /* [batch size], 0 being the background */
    struct ll_value *deltas, *count; /* [batch size, 4 classes] */
};
struct ll_box_sampling {
    uint64_t size, classes; /* with the background */
    double good;            /* overlap from which a box is taken for an object */
    double share;           /* of them, at most */
};
struct ll_box_targets ll_box_targets_sample(struct ll_nn *nn, struct ll_value *boxes, struct ll_value *truth,
                                            const struct ll_box_sampling *sampling, struct ll_rng *rng);

/* The largest elements of size x size bins of each box, on a map that is `scale` as large as the image:
 * [batch n, size, size, channels]. */
struct ll_value *ll_pooled_regions(struct ll_nn *nn, struct ll_value *map, struct ll_value *boxes,
                                   uint64_t size, double scale);

/* What detectors have in common: drawings come in, with boxes around what they show; what a detector finds on
 * drawings that it has not seen is compared with what is there. */

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
