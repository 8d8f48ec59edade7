/* SPDX-License-Identifier: Apache-2.0 */
/* RetinaNet (Lin et al., 2017) of ParaDnn's real models (Wang et al., 2020; TensorFlow's code for TPUs):
 * objects of 90 classes are found on five maps of an image, from fine to coarse.
 *
 *   images 640x640x3
 *   ResNet-50 that normalises first, nothing before its first unit (vision/vision.h): maps C3, C4, C5 of
 *     80, 40, 20 pixels; normalisation does not follow the batch
 *   P5 = conv 1 256(C5), P4 = conv 1 256(C4) + P5 upsampled, P3 = conv 1 256(C3) + P4 upsampled
 *   P6 = conv 3/2 256(C5), P7 = conv 3/2 256(relu(P6)): 10, 5 pixels
 *   on each P, with the same filters: 4 times conv 3 256 and ReLU, conv 3 to a score for each anchor and
 *     class; the same again to four numbers for each anchor
 *
 * An anchor is a box at a pixel of a map, four pixels wide there, in two sizes and three shapes each: 51,150
 * in all. Loss: the focal loss of the scores, and 50 times the Huber loss (0.1) of the boxes of those anchors
 * that lie on an object, both by the number of these.
 *
 * 35,744,116 parameters, 173.2 GFLOP forward a sample; with three sizes 36,394,126 and 184.3. */
#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "models/vision/vision.h"

#include <math.h>
#include <stdlib.h>

enum { IMAGE, CLASSES, SIZES, CHANNELS, FEATURES, DEPTH, SHAPES, FROZEN, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 640, 32, 4096, "height and width of an image, in pixels; a multiple of 32"},
    [CLASSES] = {"classes", 90, 1, 10000, "classes of objects"},
    [SIZES] = {"sizes", 2, 1, 3, "sizes of the anchors at a pixel, each in three shapes"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the trunk's first convolution; the others follow"},
    [FEATURES] = {"features", 256, 1, 4096, "channels of the five maps and of the heads"},
    [DEPTH] = {"depth", 50, 18, 152, "layers of the trunk: 18, 34, 50, 101 or 152"},
    [SHAPES] = {"shapes", 8, 1, LL_MOST_SHAPES, "most objects on an image"},
    [FROZEN] = {"frozen", 1, 0, 1, "normalisation is what it was (1), or follows the batch (0)"},
    [RATE] = {"rate", 80, 1, 100000, "learning rate, in thousandths"},
};

enum { LEVELS = 5, FIRST_STRIDE = 8, RATIOS = 3, HEAD_LAYERS = 4 };
enum { EVALUATION = 1 };
static const double huber = 0.1, box_weight = 50, rare = 0.01;
static const struct ll_match_rule rule = {0.5f, 0.5f};

/* What the feeds and the evaluation are told. */
struct task {
    struct ll_drawings drawings;
    uint64_t batch, classes, anchor_count;
    struct ll_box *anchors;
    struct ll_value *scores, *boxes; /* of the evaluation */
};

static uint64_t level_side(const struct ll_build *build, unsigned level)
{
    uint64_t side = (uint64_t)build->params[IMAGE] / FIRST_STRIDE;
    for (unsigned i = 0; i < level; i++)
        side = ll_ceil_div(side, 2);
    return side;
}

/* Two sizes are a whole octave apart in as many steps, three likewise. */
static struct ll_anchor_grid grid_of(const struct ll_build *build, unsigned level, double sides[3])
{
    static const double ratios[RATIOS] = {1, 0.5, 2};
    uint64_t stride = (uint64_t)FIRST_STRIDE << level, sizes = (uint64_t)build->params[SIZES];
    for (uint64_t i = 0; i < sizes; i++)
        sides[i] = 4 * (double)stride * exp2((double)i / (double)sizes);
    return (struct ll_anchor_grid){.height = level_side(build, level),
                                   .width = level_side(build, level),
                                   .stride = stride,
                                   .sides = sides,
                                   .ratios = ratios,
                                   .side_count = sizes,
                                   .ratio_count = RATIOS};
}

/* Anchors of all levels of the pyramid, the finest first, in the order in which the heads' results are
 * joined. */
static struct task *task_of(struct ll_nn *nn, const struct ll_build *build, enum ll_data_part part)
{
    uint64_t image = (uint64_t)build->params[IMAGE], at = 0;
    double sides[3];
    struct task *task = ll_alloc(&nn->arena, 1, sizeof *task);
    for (unsigned level = 0; task && level < LEVELS; level++) {
        struct ll_anchor_grid grid = grid_of(build, level, sides);
        task->anchor_count += ll_anchor_count(&grid);
    }
    if (task)
        task->anchors = ll_alloc(&nn->arena, task->anchor_count, sizeof *task->anchors);
    if (!task || !task->anchors) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    for (unsigned level = 0; level < LEVELS; level++) {
        struct ll_anchor_grid grid = grid_of(build, level, sides);
        ll_anchors_fill(&grid, task->anchors + at);
        at += ll_anchor_count(&grid);
    }
    task->batch = build->batch;
    task->classes = (uint64_t)build->params[CLASSES];
    task->drawings =
        (struct ll_drawings){image, image, task->classes, build->seed, (uint64_t)build->params[SHAPES], part};
    return task;
}

/* What the anchors of one image are to find. Returns how many find something; NULL fields are not wanted. */
struct targets {
    int32_t *labels;
    struct ll_box_delta *deltas;
    float *counts;
};

/* Class labels, counts (1 for an anchor that has an object) and box encodings of one drawing; each list may
 * be NULL. Returns how many anchors have an object. */
static uint64_t assign_targets(const struct task *task, uint64_t sample, struct targets targets)
{
    struct ll_box boxes[LL_MOST_SHAPES];
    uint32_t classes[LL_MOST_SHAPES];
    uint64_t drawn = ll_drawn_boxes(&task->drawings, sample, boxes, classes), found = 0;
    int32_t *matches = calloc(task->anchor_count, sizeof *matches);
    if (!matches)
        return 0;
    ll_anchors_assign(task->anchors, task->anchor_count, boxes, drawn, rule, matches);
    for (uint64_t i = 0; i < task->anchor_count; i++) {
        bool good = matches[i] >= 0;
        found += good;
        if (targets.labels)
            targets.labels[i] = good ? (int32_t)classes[matches[i]] : 0;
        if (targets.counts)
            targets.counts[i] = good;
        if (targets.deltas)
            targets.deltas[i] =
                good ? ll_box_encode(task->anchors[i], boxes[matches[i]]) : (struct ll_box_delta){0, 0, 0, 0};
    }
    free(matches);
    return found;
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct task *task = context;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.labels = data + i * task->anchor_count});
}

static void fill_deltas(void *context, uint64_t step, float *data)
{
    const struct task *task = context;
    struct ll_box_delta *deltas = (struct ll_box_delta *)(void *)data;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.deltas = deltas + i * task->anchor_count});
}

static void fill_counts(void *context, uint64_t step, float *data)
{
    const struct task *task = context;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.counts = data + i * task->anchor_count});
}

/* One by the number of anchors that find something, and one more. */
static void fill_share(void *context, uint64_t step, float *data)
{
    const struct task *task = context;
    uint64_t found = 1;
    for (uint64_t i = 0; i < task->batch; i++)
        found += assign_targets(task, step * task->batch + i, (struct targets){.labels = NULL});
    *data = 1 / (float)found;
}

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t stride, uint64_t filters)
{
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, stride, filters, 1);
    return ll_conv_layer(nn, name, x, &options);
}

/* P3 to P7 from C3 to C5. */
static void add_pyramid(struct ll_nn *nn, struct ll_value *const maps[3], uint64_t features,
                        struct ll_value *levels[LEVELS])
{
    static const char *const names[] = {"p3", "p4", "p5"};
    for (unsigned i = 3; i-- > 0;) {
        levels[i] = convolve(nn, names[i], maps[i], 1, 1, features);
        if (i < 2)
            levels[i] = ll_add_of(nn, levels[i], ll_nn_upsample(nn, levels[i + 1], 2));
    }
    levels[3] = convolve(nn, "p6", maps[2], 3, 2, features);
    levels[4] = convolve(nn, "p7", ll_nn_do1(nn, LL_OP_RELU, levels[3]), 3, 2, features);
}

struct head {
    struct ll_conv_options inner, last;
    struct ll_conv_weights weights[HEAD_LAYERS + 1];
};

static struct head head_of(struct ll_nn *nn, uint64_t features, uint64_t results, double start)
{
    struct head head = {.inner = ll_conv_of(features, 3, 1, features, 2),
                        .last = ll_conv_of(features, 3, 1, results, 1)};
    head.inner.activation = LL_RELU;
    head.last.bias_start = start;
    head.last.init.scale *= 0.1; /* what a head says at first is its bias */
    for (unsigned i = 0; i <= HEAD_LAYERS; i++) {
        ll_nn_push_numbered(nn, "conv", i + 1);
        head.weights[i] = ll_conv_weights(nn, features, i < HEAD_LAYERS ? &head.inner : &head.last);
        ll_nn_pop(nn);
    }
    return head;
}

/* What the head says about every anchor: [batch anchors, each]. */
static struct ll_value *all_levels(struct ll_nn *nn, const char *name, struct ll_value *const levels[LEVELS],
                                   uint64_t kinds, uint64_t each, double start)
{
    struct ll_value *parts[LEVELS];
    uint64_t batch = levels[0]->shape.dim[0], anchors = 0;
    ll_nn_push(nn, name);
    struct head head = head_of(nn, levels[0]->shape.dim[3], kinds * each, start);
    for (unsigned i = 0; i < LEVELS; i++) {
        struct ll_value *x = levels[i];
        uint64_t here = x->shape.dim[1] * x->shape.dim[2] * kinds;
        for (unsigned k = 0; k <= HEAD_LAYERS; k++)
            x = ll_conv_apply(nn, x, head.weights[k], k < HEAD_LAYERS ? &head.inner : &head.last);
        struct ll_shape shape =
            ll_nn_shape(nn, 3, (uint64_t[]){batch, here, each},
                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_CLASSES});
        parts[i] = ll_nn_reshape(nn, x, &shape);
        anchors += here;
    }
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){batch * anchors, each},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_CLASSES});
    struct ll_value *all = ll_nn_reshape(nn, ll_nn_concat(nn, parts, LEVELS, 1), &rows);
    ll_nn_pop(nn);
    return all;
}

struct heads {
    struct ll_value *scores, *boxes;
};

/* Backbone, feature pyramid, then the two heads with shared filters on all levels. The bias of the class
 * head starts at the logit of a rare object (Lin et al., 2017, section 3.3). */
static struct heads forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    uint64_t features = (uint64_t)build->params[FEATURES], kinds = RATIOS * (uint64_t)build->params[SIZES];
    bool follows = build->train && !build->params[FROZEN];
    struct ll_value *maps[3], *levels[LEVELS], *nothing = &nn->nothing;
    struct ll_resnet net = {
        .channels = (uint64_t)build->params[CHANNELS],
        .norm = {.train = follows, .epsilon = 1e-4, .decay = 0.9},
        .plain_stem = true,
    };
    if (!ll_resnet_plan(nn, build->params[DEPTH], &net.plan))
        return (struct heads){nothing, nothing};
    x = ll_resnet_stage(nn, &net, 0, ll_resnet_stem(nn, &net, x));
    for (unsigned i = 0; i < 3; i++)
        maps[i] = x = ll_resnet_stage(nn, &net, i + 1, x);
    ll_nn_push(nn, "pyramid");
    add_pyramid(nn, maps, features, levels);
    ll_nn_pop(nn);
    return (struct heads){
        all_levels(nn, "classes", levels, kinds, (uint64_t)build->params[CLASSES], log(rare / (1 - rare))),
        all_levels(nn, "boxes", levels, kinds, 4, 0)};
}

/* sum(focal) / n + 50 sum(huber) / 4 n; the Huber loss is 0.1 times smooth L1. */
static struct ll_value *loss_of(struct ll_nn *nn, struct heads heads, struct task *task)
{
    uint64_t rows = task->batch * task->anchor_count;
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    struct ll_shape of_labels = ll_nn_shape(nn, 1, &rows, roles), of_deltas = heads.boxes->shape;
    struct ll_shape of_counts = ll_nn_shape(nn, 2, (uint64_t[]){rows, 1}, roles);
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    struct ll_value *labels = ll_feed_indices(nn, "labels", &of_labels, fill_labels, task);
    struct ll_value *deltas = ll_feed_floats(nn, "deltas", &of_deltas, fill_deltas, task);
    struct ll_value *counts = ll_feed_floats(nn, "counts", &of_counts, fill_counts, task);
    struct ll_value *share = ll_feed_floats(nn, "share", &scalar, fill_share, task);
    ll_nn_push(nn, "loss");
    struct ll_value *focal = ll_nn_do1(nn, LL_OP_SUM, ll_focal_loss(nn, heads.scores, labels, 0.25, 2));
    struct ll_value *away = ll_smooth_l1(nn, ll_sub_of(nn, heads.boxes, deltas), huber);
    struct ll_value *boxes = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, away, counts));
    struct ll_value *both =
        ll_add_of(nn, focal, ll_nn_mul_scalar(nn, boxes, "weight", box_weight * huber / 4));
    struct ll_value *loss = ll_mul_of(nn, both, share);
    ll_nn_pop(nn);
    return loss;
}

static void add_evaluation(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_build inference = *build;
    struct task *task = task_of(nn, build, LL_HELD_BACK);
    if (!task)
        return;
    inference.train = false;
    ll_nn_begin_program(nn);
    struct heads heads = forward(nn, ll_feed_drawings(nn, build->batch, &task->drawings), &inference);
    task->scores = ll_nn_do1(nn, LL_OP_SIGMOID, heads.scores);
    task->boxes = heads.boxes;
    ll_nn_keep(task->scores);
    ll_nn_keep(task->boxes);
    ll_nn_drive(nn, &(struct ll_driver){.context = task});
}

/* Adds what is likely enough of one batch, image numbers counting on from `image`; `found` has room for all.
 */
static uint64_t read_batch(const void *context, struct ll_runner *runner, uint64_t image,
                           struct ll_detection *found, uint64_t room)
{
    const struct task *task = context;
    const float least = 0.05f, *scores = ll_runner_data(runner, task->scores);
    const struct ll_box_delta *deltas = ll_runner_data(runner, task->boxes);
    uint64_t count = 0;
    for (uint64_t i = 0; i < task->batch * task->anchor_count; i++)
        for (uint64_t c = 0; c < task->classes && count < room; c++)
            if (scores[i * task->classes + c] > least)
                found[count++] =
                    (struct ll_detection){ll_box_decode(task->anchors[i % task->anchor_count], deltas[i]),
                                          (uint32_t)(image + i / task->anchor_count), (uint32_t)c + 1,
                                          scores[i * task->classes + c]};
    return count;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct task *task = context;
    const struct ll_detector detector = {&task->drawings, task->batch, EVALUATION, read_batch, task};
    return ll_detector_evaluate(&detector, runner, scores);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct task *task = task_of(nn, build, LL_LEARNED);
    if (build->params[IMAGE] % 32 != 0)
        ll_nn_fail(nn, "-p image=%d: expected a multiple of 32", (int)build->params[IMAGE]);
    if (!task || nn->trouble)
        return &nn->nothing;
    struct heads heads = forward(nn, ll_feed_drawings(nn, build->batch, &task->drawings), build);
    if (!build->train)
        return build->measure ? heads.scores : ll_nn_do1(nn, LL_OP_SIGMOID, heads.scores);
    struct ll_value *loss = loss_of(nn, heads, task);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){.kind = LL_MOMENTUM,
                                       .rate = (double)build->params[RATE] / 1000,
                                       .momentum = 0.9,
                                       .weight_decay = 1e-4});
    if (build->evaluate)
        add_evaluation(nn, build);
    return loss;
}

const struct ll_model ll_model_retinanet = {
    .name = "retinanet",
    .suite = "paradnn-real",
    .doc = "object detection in one stage on a feature pyramid of five levels (RetinaNet)",
    .default_batch = 64,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .recipe = {.steps = 1000,
               .batch = 8,
               .settings = {{"image", "64"},
                            {"classes", "2"},
                            {"channels", "8"},
                            {"features", "16"},
                            {"depth", "18"},
                            {"shapes", "2"},
                            {"frozen", "0"},
                            {"rate", "5"}}},
    .evaluate = evaluate,
};
