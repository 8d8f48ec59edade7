/* SPDX-License-Identifier: Apache-2.0 */
#include "models/vision/detector.h"

#include "models/feed.h"

#include <stdlib.h>
#include <string.h>

static const float most_overlap = 0.5f; /* of two detections of one class */

struct source {
    struct ll_drawings drawings;
    uint64_t batch;
};

static struct source *source_of(struct ll_nn *nn, uint64_t batch, const struct ll_drawings *drawings)
{
    struct source *source = ll_copy(&nn->arena, &(struct source){*drawings, batch}, sizeof *source);
    if (!source)
        ll_nn_fail(nn, "memory ran out");
    return source;
}

static void fill_pixels(void *context, uint64_t step, float *data)
{
    const struct source *s = context;
    for (uint64_t i = 0; i < s->batch; i++)
        ll_drawing_pixels(&s->drawings, step * s->batch + i,
                          data + i * s->drawings.height * s->drawings.width * 3);
}

struct ll_value *ll_feed_drawings(struct ll_nn *nn, uint64_t batch, const struct ll_drawings *drawings)
{
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){batch, drawings->height, drawings->width, 3},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    return ll_feed_floats(nn, "images", &shape, fill_pixels, source_of(nn, batch, drawings));
}

static void fill_shapes(void *context, uint64_t step, float *data)
{
    const struct source *s = context;
    struct ll_shape_box boxes[LL_MOST_SHAPES];
    for (uint64_t i = 0; i < s->batch; i++) {
        ll_drawing_boxes(&s->drawings, step * s->batch + i, boxes);
        memcpy(data + i * s->drawings.most * 5, boxes, s->drawings.most * sizeof *boxes);
    }
}

struct ll_value *ll_feed_shapes(struct ll_nn *nn, uint64_t batch, const struct ll_drawings *drawings)
{
    _Static_assert(sizeof(struct ll_shape_box) == 5 * sizeof(float), "five numbers");
    struct ll_shape shape =
        ll_nn_shape(nn, 3, (uint64_t[]){batch, drawings->most, 5}, (enum ll_role[]){LL_ROLE_BATCH, 0, 0});
    return ll_feed_floats(nn, "shapes", &shape, fill_shapes, source_of(nn, batch, drawings));
}

struct ll_value *ll_anchors_of(struct ll_nn *nn, const struct ll_box *anchors, uint64_t count)
{
    double *list = ll_alloc(&nn->arena, count, 4 * sizeof *list);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){count, 4}, NULL);
    if (!list) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < count; i++) {
        list[4 * i] = (double)anchors[i].left;
        list[4 * i + 1] = (double)anchors[i].top;
        list[4 * i + 2] = (double)anchors[i].right;
        list[4 * i + 3] = (double)anchors[i].bottom;
    }
    return ll_nn_variable(nn, "anchors", &shape, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, list});
}

uint64_t ll_drawn_boxes(const struct ll_drawings *drawings, uint64_t sample, struct ll_box *boxes,
                        uint32_t *classes)
{
    struct ll_shape_box shapes[LL_MOST_SHAPES];
    uint64_t count = 0;
    ll_drawing_boxes(drawings, sample, shapes);
    for (; count < drawings->most && shapes[count].class > 0; count++) {
        const struct ll_shape_box *shape = &shapes[count];
        boxes[count] = (struct ll_box){shape->left, shape->top, shape->right, shape->bottom};
        classes[count] = (uint32_t)shape->class;
    }
    return count;
}

static uint64_t truths_of(const struct ll_drawings *drawings, uint64_t images, struct ll_detection *truths)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < images; i++) {
        struct ll_box boxes[LL_MOST_SHAPES];
        uint32_t classes[LL_MOST_SHAPES];
        uint64_t drawn = ll_drawn_boxes(drawings, i, boxes, classes);
        for (uint64_t k = 0; k < drawn; k++)
            truths[count++] = (struct ll_detection){boxes[k], (uint32_t)i, classes[k], 1};
    }
    return count;
}

/* Judges detections on the first so many drawings. False when memory runs out. */
static bool score(const struct ll_drawings *drawings, uint64_t images, struct ll_detection *found,
                  uint64_t count, struct ll_scores *scores)
{
    struct ll_detection *truths = calloc(images * LL_MOST_SHAPES, sizeof *truths);
    bool *scratch = calloc(images * LL_MOST_SHAPES + count, sizeof *scratch);
    if (truths && scratch) {
        uint64_t truth_count = truths_of(drawings, images, truths);
        count = ll_detections_thin(found, count, most_overlap);
        struct ll_detector_scores judged = ll_detections_judge(found, count, truths, truth_count, scratch);
        ll_scores_add(scores, (struct ll_score){"average_precision",
                                                "mean over classes, on unseen drawings, boxes half right",
                                                judged.precision, false});
        ll_scores_add(scores, (struct ll_score){"recall", "share of unseen shapes that were found",
                                                judged.recall, false});
    }
    bool done = truths && scratch;
    free(truths);
    free(scratch);
    return done;
}

bool ll_detector_evaluate(const struct ll_detector *detector, struct ll_runner *runner,
                          struct ll_scores *scores)
{
    enum { BATCHES = 16, ROOM = 1 << 14 /* of a batch */ };
    struct ll_detection *found = calloc(BATCHES * ROOM, sizeof *found);
    uint64_t count = 0;
    for (uint64_t i = 0; found && i < BATCHES; i++) {
        ll_runner_run(runner, detector->program, i);
        uint64_t here = detector->read(detector->task, runner, i * detector->batch, found + count, ROOM);
        count += ll_detections_thin(found + count, here, most_overlap);
    }
    bool done = found && score(detector->drawings, BATCHES * detector->batch, found, count, scores);
    free(found);
    return done || ll_complain(scores->diags, (struct ll_place){0}, "memory ran out");
}
