/* SPDX-License-Identifier: Apache-2.0 */
/* Faster R-CNN (Ren et al., 2015) of the TBD suite (Zhu et al., 2018; its MXNet version): objects of VOC's 20
 * classes, found by a network that proposes regions and one that looks at them again.
 *
 *   images 600x1000x3
 *   ResNet-101 that normalises first (vision/vision.h), stages of 3, 4, 23 units          38x63x1024
 *   proposals: conv 3 512, ReLU; conv 1 to two scores for each of nine anchors, conv 1 to four numbers
 *       of the best 12,000 the best 2,000 after NMS (6,000 and 300 when not training)
 *   128 of them are learned from, a quarter of them objects; each pooled to 14x14x1024
 *   the last stage, 3 units, 7x7x2048; normalise, ReLU, mean; dense 21, dense 84
 *
 * Normalisation does not follow the batch; its weights, the stem and the first stage stay as they are
 * (frozen). Loss: cross entropy of 256 anchors, at most half of them on objects, and of the 128 regions;
 * smooth L1 of the boxes of those that are objects, over 256 and 128. Momentum 0.9, rate 0.001, decay 5e-4,
 * elements of gradients at most 5.
 *
 * 47,454,562 parameters, 399.7 GFLOP forward an image. */
#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "models/vision/vision.h"
#include "tracer/base/random.h"

#include <stdlib.h>

enum { HEIGHT, WIDTH, CLASSES, CHANNELS, DEPTH, SHAPES, SCALE, REGIONS, FROZEN, RATE };

static const struct ll_model_param params[] = {
    [HEIGHT] = {"height", 600, 32, 4096, "of an image, in pixels"},
    [WIDTH] = {"width", 1000, 32, 4096, "of an image, in pixels"},
    [CLASSES] = {"classes", 20, 1, 10000, "classes of objects"},
    [CHANNELS] = {"channels", 64, 4, 4096, "filters of the first convolution; the others follow"},
    [DEPTH] = {"depth", 101, 18, 152, "layers of the trunk: 18, 34, 50, 101 or 152"},
    [SHAPES] = {"shapes", 8, 1, LL_MOST_SHAPES, "most objects on an image"},
    [SCALE] = {"scale", 8, 1, 64, "side of the smallest anchors, in pixels of the map"},
    [REGIONS] = {"regions", 128, 1, 100000, "of an image that are learned from"},
    [FROZEN] = {"frozen", 1, 0, 1,
                "normalisation, stem and first stage stay (1), or all is trained and follows the batch (0)"},
    [RATE] = {"rate", 1, 1, 100000, "learning rate, in thousandths"},
};

enum { STRIDE = 16, KINDS = 9, LEARNED_ANCHORS = 256, BINS = 14 };
enum { EVALUATION = 1 };
static const struct ll_match_rule rule = {0.7f, 0.3f};

/* What the feeds and the evaluation are told. */
struct task {
    struct ll_drawings drawings;
    uint64_t batch, classes, anchor_count; /* classes: without the background */
    struct ll_box *anchors;
    struct ll_value *regions, *likely, *deltas; /* of the evaluation */
};

static struct ll_anchor_grid grid_of(const struct ll_build *build, const struct ll_value *map,
                                     double sides[3])
{
    static const double ratios[] = {0.5, 1, 2};
    for (unsigned i = 0; i < 3; i++)
        sides[i] = STRIDE * (double)((uint64_t)build->params[SCALE] << i);
    return (struct ll_anchor_grid){.height = map->shape.dim[1],
                                   .width = map->shape.dim[2],
                                   .stride = STRIDE,
                                   .sides = sides,
                                   .ratios = ratios,
                                   .side_count = 3,
                                   .ratio_count = 3};
}

static struct ll_drawings drawings_of(const struct ll_build *build, enum ll_data_part part)
{
    return (struct ll_drawings){(uint64_t)build->params[HEIGHT],  (uint64_t)build->params[WIDTH],
                                (uint64_t)build->params[CLASSES], build->seed,
                                (uint64_t)build->params[SHAPES],  part};
}

static struct task *task_of(struct ll_nn *nn, const struct ll_build *build, const struct ll_value *map,
                            enum ll_data_part part)
{
    double sides[3];
    struct ll_anchor_grid grid = grid_of(build, map, sides);
    struct task *task = ll_alloc(&nn->arena, 1, sizeof *task);
    if (task)
        task->anchors = ll_alloc(&nn->arena, ll_anchor_count(&grid), sizeof *task->anchors);
    if (!task || !task->anchors || nn->trouble) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    ll_anchors_fill(&grid, task->anchors);
    task->anchor_count = ll_anchor_count(&grid);
    task->batch = build->batch;
    task->classes = (uint64_t)build->params[CLASSES];
    task->drawings = drawings_of(build, part);
    return task;
}

/* What the anchors of one image are to say; NULL fields are not wanted. A weight is what an anchor's cross
 * entropy counts, a count the same for its box. */
struct targets {
    int32_t *labels;
    float *weights, *counts;
    struct ll_box_delta *deltas;
};

/* Up to so many of the anchors that match as asked stay, the others become undecided. Returns how many. */
static uint64_t thin(int32_t *matches, uint64_t count, bool objects, uint64_t most, uint64_t key)
{
    uint64_t left = 0, kept = 0;
    for (uint64_t i = 0; i < count; i++)
        left += objects ? matches[i] >= 0 : matches[i] == LL_UNMATCHED;
    for (uint64_t i = 0; i < count; i++) {
        if (objects ? matches[i] < 0 : matches[i] != LL_UNMATCHED)
            continue;
        /* Of those left, as many as are still wanted have the same chance. */
        bool taken = ll_random_bits(key, i) % left < most - kept;
        left--;
        kept += taken;
        matches[i] = taken ? matches[i] : LL_UNDECIDED;
    }
    return kept;
}

/* Targets of the proposal network for one drawing: labels (object or not), their weights in the loss (0 for
 * anchors whose IoU is neither high nor low), and box encodings; each list may be NULL. */
static void assign_targets(const struct task *task, uint64_t sample, struct targets targets)
{
    struct ll_box boxes[LL_MOST_SHAPES];
    uint32_t classes[LL_MOST_SHAPES];
    uint64_t drawn = ll_drawn_boxes(&task->drawings, sample, boxes, classes), count = task->anchor_count;
    uint64_t key = ll_random_key(ll_random_key(task->drawings.seed, sample), 17);
    int32_t *matches = calloc(count, sizeof *matches);
    if (!matches)
        return;
    ll_anchors_assign(task->anchors, count, boxes, drawn, rule, matches);
    uint64_t objects = thin(matches, count, true, LEARNED_ANCHORS / 2, key);
    uint64_t all = objects + thin(matches, count, false, LEARNED_ANCHORS - objects, ll_random_key(key, 1));
    for (uint64_t i = 0; i < count; i++) {
        bool object = matches[i] >= 0;
        if (targets.labels)
            targets.labels[i] = object;
        if (targets.weights)
            targets.weights[i] = matches[i] == LL_UNDECIDED ? 0 : 1 / (float)(all * task->batch);
        if (targets.counts)
            targets.counts[i] = object ? 1 / (float)(LEARNED_ANCHORS * task->batch) : 0;
        if (targets.deltas)
            targets.deltas[i] = object ? ll_box_encode(task->anchors[i], boxes[matches[i]])
                                       : (struct ll_box_delta){0, 0, 0, 0};
    }
    free(matches);
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct task *task = context;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.labels = data + i * task->anchor_count});
}

static void fill_weights(void *context, uint64_t step, float *data)
{
    const struct task *task = context;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.weights = data + i * task->anchor_count});
}

static void fill_counts(void *context, uint64_t step, float *data)
{
    const struct task *task = context;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.counts = data + i * task->anchor_count});
}

static void fill_deltas(void *context, uint64_t step, float *data)
{
    const struct task *task = context;
    struct ll_box_delta *deltas = (struct ll_box_delta *)(void *)data;
    for (uint64_t i = 0; i < task->batch; i++)
        assign_targets(task, step * task->batch + i,
                       (struct targets){.deltas = deltas + i * task->anchor_count});
}

/* The network that proposes regions, and the one that looks at them. */
struct first_look {
    struct ll_value *scores, *deltas; /* [batch anchors, 2] and [batch anchors, 4] */
};
struct second_look {
    struct ll_value *scores, *deltas; /* [batch regions, classes] and [batch regions, 4 classes] */
};

static bool is_frozen(const struct ll_build *build)
{
    return build->params[FROZEN] != 0;
}

static bool plan(struct ll_nn *nn, const struct ll_build *build, struct ll_resnet *net)
{
    *net = (struct ll_resnet){
        .channels = (uint64_t)build->params[CHANNELS],
        .norm = {.train = build->train && !is_frozen(build),
                 .frozen = is_frozen(build),
                 .epsilon = 2e-5,
                 .decay = 0.9},
    };
    return ll_resnet_plan(nn, build->params[DEPTH], &net->plan);
}

static struct ll_value *trunk(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *x)
{
    nn->frozen = net->norm.frozen;
    x = ll_resnet_stage(nn, net, 0, ll_resnet_stem(nn, net, x));
    nn->frozen = false;
    x = ll_resnet_stage(nn, net, 1, x);
    return ll_resnet_stage(nn, net, 2, x);
}

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t filters, enum ll_activation activation, double gain)
{
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, 1, filters, gain);
    options.activation = activation;
    return ll_conv_layer(nn, name, x, &options);
}

static struct ll_value *rows_of(struct ll_nn *nn, struct ll_value *x, uint64_t rows, uint64_t each)
{
    struct ll_shape shape =
        ll_nn_shape(nn, 2, (uint64_t[]){rows, each}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_CLASSES});
    return ll_nn_reshape(nn, x, &shape);
}

/* The proposal network: a shared convolution, then scores (object or not) and box encodings for each
 * anchor. */
static struct first_look look_first(struct ll_nn *nn, const struct ll_build *build, struct ll_value *map)
{
    uint64_t anchors = ll_mul(ll_mul(build->batch, KINDS), map->shape.dim[1] * map->shape.dim[2]);
    ll_nn_push(nn, "rpn");
    struct ll_value *x = convolve(nn, "conv", map, 3, 8 * (uint64_t)build->params[CHANNELS], LL_RELU, 2);
    struct first_look look = {
        rows_of(nn, convolve(nn, "scores", x, 1, 2 * KINDS, LL_LINEAR, 0.01), anchors, 2),
        rows_of(nn, convolve(nn, "boxes", x, 1, 4 * KINDS, LL_LINEAR, 0.01), anchors, 4)};
    ll_nn_pop(nn);
    return look;
}

/* Paper's numbers: of the best so many, so many. What papers count is the training's. */
static struct ll_value *propose(struct ll_nn *nn, const struct ll_build *build, const struct task *task,
                                struct first_look look)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_PLAIN};
    struct ll_shape of_scores = ll_nn_shape(nn, 2, (uint64_t[]){build->batch, task->anchor_count}, roles);
    struct ll_shape of_deltas = ll_nn_shape(nn, 3, (uint64_t[]){build->batch, task->anchor_count, 4}, roles);
    struct ll_value *likely = ll_nn_slice(nn, ll_nn_do1(nn, LL_OP_SOFTMAX, look.scores), 1, 1, 1);
    struct ll_value *deltas = ll_nn_reshape(nn, look.deltas, &of_deltas);
    struct ll_value *scores = ll_nn_reshape(nn, likely, &of_scores);
    return ll_proposals(nn, ll_anchors_of(nn, task->anchors, task->anchor_count), scores, deltas,
                        &(struct ll_proposal_options){
                            .height = task->drawings.height,
                            .width = task->drawings.width,
                            .least = 2 * (double)build->params[SCALE],
                            .sorted = build->train ? 12000 : 6000,
                            .kept = build->train     ? 2000
                                    : build->measure ? (uint64_t)build->params[REGIONS]
                                                     : 300,
                            .overlap = 0.7,
                        });
}

/* The second stage: regions are pooled to BINS x BINS, the last stage of the backbone runs on each, and two
 * dense layers give class scores and boxes. */
static struct second_look look_again(struct ll_nn *nn, const struct ll_resnet *net, const struct task *task,
                                     struct ll_value *map, struct ll_value *regions)
{
    uint64_t classes = task->classes + 1;
    ll_nn_push(nn, "head");
    struct ll_value *x = ll_pooled_regions(nn, map, regions, BINS, 1.0 / STRIDE);
    x = ll_resnet_activated(nn, net, "norm", ll_resnet_stage(nn, net, 3, x));
    x = ll_global_average_pool(nn, "pool", x);
    struct ll_init small = ll_init_fan_in(x->shape.dim[1], 0.1), smaller = small;
    smaller.scale /= 10;
    struct second_look look = {
        ll_dense_layer(nn, "scores", x, &(struct ll_dense_options){.units = classes, .init = small}),
        ll_dense_layer(nn, "boxes", x, &(struct ll_dense_options){.units = 4 * classes, .init = smaller})};
    ll_nn_pop(nn);
    return look;
}

/* Both losses of the first look. */
static struct ll_value *loss_first(struct ll_nn *nn, struct task *task, struct first_look look)
{
    uint64_t rows = task->batch * task->anchor_count;
    enum ll_role role = LL_ROLE_BATCH;
    struct ll_shape each = ll_nn_shape(nn, 1, &rows, &role);
    struct ll_shape column = ll_nn_shape(nn, 2, (uint64_t[]){rows, 1}, (enum ll_role[]){LL_ROLE_BATCH, 0});
    struct ll_value *labels = ll_feed_indices(nn, "labels", &each, fill_labels, task);
    struct ll_value *weights = ll_feed_floats(nn, "weights", &each, fill_weights, task);
    struct ll_value *deltas = ll_feed_floats(nn, "deltas", &look.deltas->shape, fill_deltas, task);
    struct ll_value *counts = ll_feed_floats(nn, "counts", &column, fill_counts, task);
    ll_nn_push(nn, "loss_first");
    struct ll_value *scores = ll_nn_do1(
        nn, LL_OP_SUM, ll_mul_of(nn, ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, look.scores, labels), weights));
    struct ll_value *away = ll_smooth_l1(nn, ll_sub_of(nn, look.deltas, deltas), 1.0 / 9);
    struct ll_value *loss = ll_add_of(nn, scores, ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, away, counts)));
    ll_nn_pop(nn);
    return loss;
}

/* And of the second. */
static struct ll_value *loss_second(struct ll_nn *nn, struct second_look look, struct ll_box_targets targets)
{
    ll_nn_push(nn, "loss_second");
    struct ll_value *scores =
        ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, look.scores, targets.labels));
    struct ll_value *away = ll_smooth_l1(nn, ll_sub_of(nn, look.deltas, targets.deltas), 1);
    struct ll_value *boxes = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, away, targets.count));
    double share = 1 / (double)ll_max(1, look.scores->shape.dim[0]);
    struct ll_value *loss = ll_add_of(nn, scores, ll_nn_mul_scalar(nn, boxes, "share", share));
    ll_nn_pop(nn);
    return loss;
}

/* Four losses: object or not and box of the proposals, class and box of the sampled regions; their sum
 * trains all weights that are not frozen. */
static struct ll_value *train(struct ll_nn *nn, const struct ll_build *build, const struct ll_resnet *net,
                              struct ll_value *map, struct task *task)
{
    struct ll_rng rng = ll_rng_begin(nn, build->seed);
    struct first_look first = look_first(nn, build, map);
    struct ll_value *truth = ll_feed_shapes(nn, build->batch, &task->drawings);
    struct ll_box_targets targets =
        ll_box_targets_sample(nn, propose(nn, build, task, first), truth,
                              &(struct ll_box_sampling){.size = (uint64_t)build->params[REGIONS],
                                                        .classes = task->classes + 1,
                                                        .good = 0.5,
                                                        .share = 0.25},
                              &rng);
    struct second_look second = look_again(nn, net, task, map, targets.boxes);
    struct ll_value *later = loss_second(nn, second, targets);
    struct ll_value *loss = ll_add_of(nn, loss_first(nn, task, first), later);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){.kind = LL_MOMENTUM,
                                       .rate = (double)build->params[RATE] / 1000,
                                       .momentum = 0.9,
                                       .weight_decay = 5e-4,
                                       .clip = LL_CLIP_VALUE,
                                       .clip_norm = 5});
    return loss;
}

/* Leaves in the task what was found. */
static struct ll_value *infer(struct ll_nn *nn, const struct ll_build *build, const struct ll_resnet *net,
                              struct ll_value *map, struct task *task)
{
    task->regions = propose(nn, build, task, look_first(nn, build, map));
    struct second_look look = look_again(nn, net, task, map, task->regions);
    task->likely = ll_nn_do1(nn, LL_OP_SOFTMAX, look.scores);
    task->deltas = look.deltas;
    return task->likely;
}

static void add_evaluation(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_build inference = *build;
    struct ll_drawings drawings = drawings_of(build, LL_HELD_BACK);
    struct ll_resnet net;
    inference.train = false;
    ll_nn_begin_program(nn);
    if (!plan(nn, &inference, &net))
        return;
    struct ll_value *map = trunk(nn, &net, ll_feed_drawings(nn, build->batch, &drawings));
    struct task *task = task_of(nn, &inference, map, LL_HELD_BACK);
    if (!task)
        return;
    infer(nn, &inference, &net, map, task);
    ll_nn_keep(task->regions);
    ll_nn_keep(task->likely);
    ll_nn_keep(task->deltas);
    ll_nn_drive(nn, &(struct ll_driver){.context = task});
}

/* A region moved as the second look has it, for this class; deltas are in tenths and fifths. */
static struct ll_box moved(const float *region, const float *deltas, uint64_t class)
{
    const float *d = deltas + 4 * class;
    return ll_box_decode((struct ll_box){region[0], region[1], region[2], region[3]},
                         (struct ll_box_delta){d[0] / 10, d[1] / 10, d[2] / 5, d[3] / 5});
}

/* Adds what is likely enough of one batch, image numbers counting on from `image`. */
static uint64_t read_batch(const void *context, struct ll_runner *runner, uint64_t image,
                           struct ll_detection *found, uint64_t room)
{
    const struct task *task = context;
    const float least = 0.05f, *regions = ll_runner_data(runner, task->regions);
    const float *likely = ll_runner_data(runner, task->likely),
                *deltas = ll_runner_data(runner, task->deltas);
    uint64_t each = task->regions->shape.dim[1], classes = task->classes + 1, count = 0;
    for (uint64_t i = 0; i < task->batch * each; i++)
        for (uint64_t c = 1; c < classes && count < room; c++)
            if (likely[i * classes + c] > least)
                found[count++] =
                    (struct ll_detection){moved(regions + 4 * i, deltas + 4 * i * classes, c),
                                          (uint32_t)(image + i / each), (uint32_t)c, likely[i * classes + c]};
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
    struct ll_drawings drawings = drawings_of(build, LL_LEARNED);
    struct ll_resnet net;
    if (!plan(nn, build, &net))
        return &nn->nothing;
    struct ll_value *map = trunk(nn, &net, ll_feed_drawings(nn, build->batch, &drawings));
    struct task *task = task_of(nn, build, map, LL_LEARNED);
    if (!task)
        return &nn->nothing;
    if (!build->train)
        return infer(nn, build, &net, map, task);
    struct ll_value *loss = train(nn, build, &net, map, task);
    if (build->evaluate)
        add_evaluation(nn, build);
    return loss;
}

const struct ll_model ll_model_faster_rcnn = {
    .name = "faster_rcnn",
    .suite = "tbd",
    .doc = "object detection in two stages, region proposals and their classification (Faster R-CNN)",
    .default_batch = 1,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .recipe = {.steps = 1000,
               .batch = 4,
               .settings = {{"height", "64"},
                            {"width", "64"},
                            {"classes", "2"},
                            {"channels", "8"},
                            {"depth", "18"},
                            {"shapes", "2"},
                            {"scale", "1"},
                            {"regions", "32"},
                            {"frozen", "0"},
                            {"rate", "20"}}},
    .evaluate = evaluate,
};
