/* SPDX-License-Identifier: Apache-2.0 */
#include "models/vision/vision.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/feed.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/runner.h"

/* The second program: inference on labelled images. */
enum { EVALUATION = 1, EVALUATED_BATCHES = 16 };
enum { COLOURS = 3 };

struct evaluation {
    struct ll_value *accuracy;
};

/* The images of a part: of the set that --data names, else made up. False after trouble. */
static bool find_images(struct ll_nn *nn, const struct ll_build *build, const struct ll_classifier *c,
                        struct ll_images *images)
{
    *images = (struct ll_images){c->image, c->image, COLOURS, c->classes, build->seed, LL_LEARNED, NULL};
    if (!build->data || build->measure)
        return true;
    const struct ll_image_need need = {c->image, c->image, COLOURS, c->classes};
    struct ll_image_set *set = ll_alloc(&nn->arena, 1, sizeof *set);
    images->taken = set;
    if (!set)
        ll_nn_fail(nn, "memory ran out");
    else if (!ll_image_set_read(set, build->data, &nn->arena, build->diags))
        ll_nn_fail(nn, "its data cannot be used");
    else if (!ll_image_set_suits(set, &need, build->diags))
        ll_nn_fail(nn, "its data does not suit -p image=%d -p classes=%d", (int)c->image, (int)c->classes);
    return !nn->trouble;
}

static void add_evaluation(struct ll_nn *nn, const struct ll_build *build, const struct ll_classifier *c,
                           const struct ll_images *learned)
{
    struct ll_images unseen = *learned;
    struct ll_build inference = *build;
    struct evaluation *evaluation = ll_alloc(&nn->arena, 1, sizeof *evaluation);
    if (!evaluation) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    inference.train = false;
    unseen.part = LL_HELD_BACK;
    ll_nn_begin_program(nn);
    struct ll_value *images = ll_feed_images(nn, build->batch, &unseen);
    struct ll_value *labels = ll_feed_labels(nn, build->batch, &unseen);
    evaluation->accuracy = ll_accuracy(nn, c->logits(nn, images, &inference), labels);
    ll_nn_drive(nn, &(struct ll_driver){.context = evaluation});
}

struct ll_optimizer ll_classifier_adam(double rate)
{
    return (struct ll_optimizer){
        .kind = LL_ADAM, .rate = rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

struct ll_optimizer ll_classifier_momentum(double rate)
{
    return (struct ll_optimizer){.kind = LL_MOMENTUM, .rate = rate, .momentum = 0.9, .weight_decay = 1e-4};
}

struct ll_value *ll_class_logits(struct ll_nn *nn, struct ll_value *features, uint64_t classes)
{
    assert(classes > 1);
    return ll_dense_layer(
        nn, "fc", features,
        &(struct ll_dense_options){.units = classes, .init = ll_init_fan_in(features->shape.dim[1], 1)});
}

/* The batches are those of the program that ll_classifier_build added; each is inference, with the weights
 * as they are. */
bool ll_classifier_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct evaluation *evaluation = context;
    double sum = 0;
    for (uint64_t i = 0; i < EVALUATED_BATCHES; i++) {
        ll_runner_run(runner, EVALUATION, i);
        sum += ll_runner_scalar(runner, evaluation->accuracy);
    }
    ll_scores_add(scores, (struct ll_score){"accuracy", "share of unseen images put into the right class",
                                            sum / EVALUATED_BATCHES, false});
    return true;
}

struct ll_value *ll_classifier_build(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_classifier *c)
{
    assert(c->image > 0 && c->classes > 1);
    struct ll_images source;
    if (!find_images(nn, build, c, &source))
        return &nn->nothing;
    struct ll_value *images = ll_feed_images(nn, build->batch, &source);
    if (!build->train)
        return c->logits(nn, images, build);
    struct ll_value *labels = ll_feed_labels(nn, build->batch, &source);
    struct ll_value *logits = c->logits(nn, images, build);
    struct ll_value *loss = ll_softmax_loss(nn, logits, labels);
    ll_accuracy(nn, logits, labels);
    ll_minimise(nn, loss, &c->optimizer);
    if (build->evaluate)
        add_evaluation(nn, build, c, &source);
    return loss;
}

/* He et al., 2015, table 1. */
bool ll_resnet_plan(struct ll_nn *nn, int64_t depth, struct ll_resnet_plan *plan)
{
    static const struct {
        int64_t depth;
        struct ll_resnet_plan plan;
    } known[] = {
        {18, {{2, 2, 2, 2}, false}},  {34, {{3, 4, 6, 3}, false}},  {50, {{3, 4, 6, 3}, true}},
        {101, {{3, 4, 23, 3}, true}}, {152, {{3, 8, 36, 3}, true}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].depth == depth) {
            *plan = known[i].plan;
            return true;
        }
    ll_nn_fail(nn, "there is no residual network of %d layers; there are those of 18, 34, 50, 101 and 152",
               (int)depth);
    return false;
}

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t stride, uint64_t filters)
{
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, stride, filters, 2);
    options.padding = LL_HALF;
    options.bias = LL_NO_BIAS;
    return ll_conv_layer(nn, name, x, &options);
}

struct ll_value *ll_resnet_activated(struct ll_nn *nn, const struct ll_resnet *net, const char *name,
                                     struct ll_value *x)
{
    return ll_nn_do1(nn, LL_OP_RELU, ll_batch_norm_layer(nn, name, x, &net->norm));
}

/* Images normalised, conv 7/2, normalise, ReLU, pool 3/2; a plain stem normalises nothing. */
struct ll_value *ll_resnet_stem(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images)
{
    struct ll_batch_norm_options data = net->norm;
    data.unscaled = true;
    ll_nn_push(nn, "stem");
    if (!net->plain_stem)
        images = ll_batch_norm_layer(nn, "data", images, &data);
    struct ll_value *x = convolve(nn, "conv", images, 7, 2, net->channels);
    if (!net->plain_stem)
        x = ll_resnet_activated(nn, net, "norm", x);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *unit(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *x,
                             uint64_t channels, uint64_t stride, bool first)
{
    bool bottleneck = net->plan.bottleneck;
    uint64_t result = bottleneck ? 4 * channels : channels;
    struct ll_value *a = ll_resnet_activated(nn, net, "norm1", x), *y = a;
    y = convolve(nn, "conv1", y, bottleneck ? 1 : 3, bottleneck ? 1 : stride, channels);
    y = ll_resnet_activated(nn, net, "norm2", y);
    y = convolve(nn, "conv2", y, 3, bottleneck ? stride : 1, channels);
    if (bottleneck)
        y = convolve(nn, "conv3", ll_resnet_activated(nn, net, "norm3", y), 1, 1, result);
    struct ll_value *by = first ? convolve(nn, "shortcut", a, 1, stride, result) : x;
    return ll_add_of(nn, y, by);
}

/* The first unit halves height and width, but in stage 0, and widens; the others keep the shape. */
struct ll_value *ll_resnet_stage(struct ll_nn *nn, const struct ll_resnet *net, unsigned stage,
                                 struct ll_value *x)
{
    assert(stage < LL_RESNET_STAGES);
    ll_nn_push_numbered(nn, "stage", stage + 1);
    for (unsigned i = 0; i < net->plan.units[stage]; i++) {
        ll_nn_push_numbered(nn, "unit", i + 1);
        x = unit(nn, net, x, net->channels << stage, stage > 0 && i == 0 ? 2 : 1, i == 0);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *conv_norm(struct ll_nn *nn, const struct ll_resnet *net, const char *name,
                                  struct ll_value *x, uint64_t kernel, uint64_t stride, uint64_t filters,
                                  enum ll_activation activation)
{
    return ll_conv_norm_layer(nn, name, x,
                              &(struct ll_conv_options){.kernel = kernel,
                                                        .stride = stride,
                                                        .filters = filters,
                                                        .padding = LL_HALF,
                                                        .activation = activation},
                              &net->norm);
}

static struct ll_value *resnet_original_unit(struct ll_nn *nn, const struct ll_resnet *net,
                                             struct ll_value *x, uint64_t channels, uint64_t stride)
{
    bool bottleneck = net->plan.bottleneck;
    uint64_t result = bottleneck ? 4 * channels : channels;
    struct ll_value *y = x, *by = x;
    if (bottleneck)
        y = conv_norm(nn, net, "conv1", y, 1, 1, channels, LL_RELU);
    y = conv_norm(nn, net, bottleneck ? "conv2" : "conv1", y, 3, stride, channels, LL_RELU);
    y = conv_norm(nn, net, bottleneck ? "conv3" : "conv2", y, bottleneck ? 1 : 3, 1, result, LL_LINEAR);
    if (stride > 1 || x->shape.dim[3] != result)
        by = conv_norm(nn, net, "shortcut", x, 1, stride, result, LL_LINEAR);
    return ll_nn_do1(nn, LL_OP_RELU, ll_add_of(nn, y, by));
}

static struct ll_value *stages(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *x)
{
    for (unsigned stage = 0; stage < LL_RESNET_STAGES; stage++) {
        ll_nn_push_numbered(nn, "stage", stage + 1);
        for (unsigned i = 0; i < net->plan.units[stage]; i++) {
            ll_nn_push_numbered(nn, "unit", i + 1);
            x = resnet_original_unit(nn, net, x, net->channels << stage, stage > 0 && i == 0 ? 2 : 1);
            ll_nn_pop(nn);
        }
        ll_nn_pop(nn);
    }
    return x;
}

struct ll_value *ll_resnet_original(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images)
{
    struct ll_value *x = conv_norm(nn, net, "stem", images, 7, 2, net->channels, LL_RELU);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF);
    return ll_global_average_pool(nn, "pool_all", stages(nn, net, x));
}

static float area(struct ll_box box)
{
    float wide = box.right - box.left, high = box.bottom - box.top;
    return wide > 0 && high > 0 ? wide * high : 0;
}

float ll_box_iou(struct ll_box a, struct ll_box b)
{
    float common = area((struct ll_box){fmaxf(a.left, b.left), fmaxf(a.top, b.top), fminf(a.right, b.right),
                                        fminf(a.bottom, b.bottom)});
    float either = area(a) + area(b) - common;
    return either > 0 ? common / either : 0;
}

/* Ren et al., 2015, equation 2: ((x - xa) / wa, (y - ya) / ha, log(w / wa), log(h / ha)). */
struct ll_box_delta ll_box_encode(struct ll_box anchor, struct ll_box box)
{
    assert(anchor.right > anchor.left && anchor.bottom > anchor.top);
    float wide = fmaxf(anchor.right - anchor.left, 1), high = fmaxf(anchor.bottom - anchor.top, 1);
    return (struct ll_box_delta){
        (box.left + box.right - anchor.left - anchor.right) / 2 / wide,
        (box.top + box.bottom - anchor.top - anchor.bottom) / 2 / high,
        logf(fmaxf(box.right - box.left, 1) / wide),
        logf(fmaxf(box.bottom - box.top, 1) / high),
    };
}

struct ll_box ll_box_decode(struct ll_box anchor, struct ll_box_delta delta)
{
    float wide = anchor.right - anchor.left, high = anchor.bottom - anchor.top;
    float x = (anchor.left + anchor.right) / 2 + delta.x * wide;
    float y = (anchor.top + anchor.bottom) / 2 + delta.y * high;
    wide *= expf(fminf(delta.width, 4));
    high *= expf(fminf(delta.height, 4));
    return (struct ll_box){x - wide / 2, y - high / 2, x + wide / 2, y + high / 2};
}

uint64_t ll_anchor_count(const struct ll_anchor_grid *grid)
{
    assert(grid->side_count > 0 && grid->ratio_count > 0);
    return grid->height * grid->width * grid->side_count * grid->ratio_count;
}

/* Pixel by pixel in rows, in each all sides, of each side all ratios, so that anchor i of the map is number
 * i of what the heads say. With a ratio r of height to width the area stays: height side sqrt(r), width side
 * / sqrt(r). */
void ll_anchors_fill(const struct ll_anchor_grid *grid, struct ll_box *boxes)
{
    uint64_t kinds = grid->side_count * grid->ratio_count;
    for (uint64_t i = 0; i < ll_anchor_count(grid); i++) {
        double side = grid->sides[i % kinds / grid->ratio_count];
        double root = sqrt(grid->ratios[i % grid->ratio_count]);
        float half_w = (float)(side / root / 2), half_h = (float)(side * root / 2);
        float x = ((float)(i / kinds % grid->width) + 0.5f) * (float)grid->stride;
        float y = ((float)(i / kinds / grid->width) + 0.5f) * (float)grid->stride;
        boxes[i] = (struct ll_box){x - half_w, y - half_h, x + half_w, y + half_h};
    }
}

/* Two passes: each anchor takes its best ground-truth box; then each such box takes its best anchor,
 * whatever that had been assigned, so that none is without. */
void ll_anchors_assign(const struct ll_box *boxes, uint64_t count, const struct ll_box *truths,
                       uint64_t truth_count, struct ll_match_rule rule, int32_t *matches)
{
    assert(rule.bad <= rule.good && rule.good <= 1);
    for (uint64_t i = 0; i < count; i++) {
        float best = 0;
        matches[i] = LL_UNMATCHED;
        for (uint64_t t = 0; t < truth_count; t++) {
            float overlap = ll_box_iou(boxes[i], truths[t]);
            if (overlap <= best)
                continue;
            best = overlap;
            matches[i] = overlap >= rule.good  ? (int32_t)t
                         : overlap >= rule.bad ? LL_UNDECIDED
                                               : LL_UNMATCHED;
        }
    }
    for (uint64_t t = 0; t < truth_count; t++) {
        uint64_t nearest = count;
        float best = 0;
        for (uint64_t i = 0; i < count; i++) {
            float overlap = ll_box_iou(boxes[i], truths[t]);
            if (overlap > best) {
                best = overlap;
                nearest = i;
            }
        }
        if (nearest < count)
            matches[nearest] = (int32_t)t;
    }
}

/* The best first; what is equal in the order of images, classes and places, so that sorting repeats. */
static int by_score(const void *a, const void *b)
{
    const struct ll_detection *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return memcmp(&x->box, &y->box, sizeof x->box);
}

/* Quadratic in what is left; detectors give some hundreds. Detections of other images and classes never
 * suppress each other. */
uint64_t ll_detections_nms(struct ll_detection *found, uint64_t count, float overlap)
{
    assert(overlap >= 0 && overlap <= 1);
    uint64_t kept = 0;
    qsort(found, count, sizeof *found, by_score);
    for (uint64_t i = 0; i < count; i++) {
        bool alone = true;
        for (uint64_t k = 0; k < kept && alone; k++)
            alone = found[k].image != found[i].image || found[k].class != found[i].class ||
                    ll_box_iou(found[k].box, found[i].box) <= overlap;
        if (alone)
            found[kept++] = found[i];
    }
    return kept;
}

/* The truth that a detection hits, or truth_count. */
static uint64_t hits(const struct ll_detection *found, const struct ll_detection *truths,
                     uint64_t truth_count)
{
    uint64_t best = truth_count;
    float most = 0;
    for (uint64_t t = 0; t < truth_count; t++) {
        if (truths[t].image != found->image || truths[t].class != found->class)
            continue;
        float overlap = ll_box_iou(truths[t].box, found->box);
        if (overlap >= 0.5f && overlap > most) {
            most = overlap;
            best = t;
        }
    }
    return best;
}

/* Going from the worst detection to the best, the best precision so far is that at this recall or more: each
 * hit adds it once, over a step of recall. */
static double precision_of(const struct ll_detection *found, uint64_t count, const bool *is_hit,
                           uint32_t class, uint64_t truths)
{
    uint64_t right = 0, all = 0;
    double best = 0, sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        all += found[i].class == class;
        right += found[i].class == class && is_hit[i];
    }
    for (uint64_t i = count; i-- > 0;) {
        if (found[i].class != class)
            continue;
        best = fmax(best, (double)right / (double)all);
        sum += is_hit[i] ? best : 0;
        right -= is_hit[i];
        all--;
    }
    return sum / (double)truths;
}

/* Averages precision over the classes that occur, each counted where its first ground-truth box stands;
 * recall is over all classes. */
static struct ll_detector_scores judge(const struct ll_detection *found, uint64_t count, const bool *is_hit,
                                       const struct ll_detection *truths, uint64_t truth_count)
{
    struct ll_detector_scores scores = {0, 0};
    uint64_t classes = 0, right = 0;
    for (uint64_t t = 0; t < truth_count; t++) {
        uint64_t of_class = 0, before = 0;
        for (uint64_t u = 0; u < truth_count; u++) {
            of_class += truths[u].class == truths[t].class;
            before += u < t && truths[u].class == truths[t].class;
        }
        if (before > 0)
            continue; /* a class is judged where its first truth stands */
        classes++;
        scores.precision += precision_of(found, count, is_hit, truths[t].class, of_class);
    }
    for (uint64_t i = 0; i < count; i++)
        right += is_hit[i];
    if (classes > 0)
        scores = (struct ll_detector_scores){scores.precision / (double)classes,
                                             (double)right / (double)truth_count};
    return scores;
}

/* Detections come best first, so a ground-truth box is hit by the best one that finds it, and later ones on
 * it count as false. */
struct ll_detector_scores ll_detections_map(const struct ll_detection *found, uint64_t count,
                                            const struct ll_detection *truths, uint64_t truth_count,
                                            bool *hit)
{
    bool *taken = hit, *is_hit = hit + truth_count;
    memset(hit, 0, (truth_count + count) * sizeof *hit);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t t = hits(&found[i], truths, truth_count);
        is_hit[i] = t < truth_count && !taken[t];
        if (t < truth_count)
            taken[t] = true;
    }
    return judge(found, count, is_hit, truths, truth_count);
}

/* A list of boxes as the table that indices count in. */
static struct ll_value *table_of(struct ll_nn *nn, struct ll_value *boxes)
{
    struct ll_shape table =
        ll_nn_shape(nn, 2, (uint64_t[]){ll_mul(boxes->shape.dim[0], boxes->shape.dim[1]), 4},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    return ll_nn_reshape(nn, boxes, &table);
}

/* Where in the table the best of each row are. */
static struct ll_value *best(struct ll_nn *nn, struct ll_value *scores, uint64_t count)
{
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)count);
    struct ll_attr row[] = {ll_attr_of_count(LL_ATTR_SIZE, 1),
                            ll_attr_of_count(LL_ATTR_RANGE, (int64_t)scores->shape.dim[1])};
    struct ll_value *values = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_TOP_K, .input_count = 1, .inputs = &scores, .attr_count = 1, .attrs = &size});
    struct ll_value *places = values->producer ? values->producer->outputs[1] : values;
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_UNRAVEL, .input_count = 1, .inputs = &places, .attr_count = 2, .attrs = row});
}

/* Scores as they are where boxes are large enough, below all others elsewhere. */
static struct ll_value *of_large(struct ll_nn *nn, struct ll_value *scores, struct ll_value *large)
{
    return ll_select(nn, large, scores, ll_filled(nn, "too_small", &scores->shape, -1));
}

static struct ll_value *nms(struct ll_nn *nn, struct ll_value *boxes, uint64_t kept, double overlap)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)kept),
                              ll_attr_of_real(LL_ATTR_OVERLAP, overlap)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_NMS, .input_count = 1, .inputs = &boxes, .attr_count = 2, .attrs = attrs});
}

/* Decodes the deltas, clips to the image, ranks by score, keeps the best `sorted`, then NMS keeps the best
 * `kept`. */
struct ll_value *ll_proposals(struct ll_nn *nn, struct ll_value *anchors, struct ll_value *scores,
                              struct ll_value *deltas, const struct ll_proposal_options *options)
{
    assert(options->overlap >= 0 && options->overlap <= 1);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_HEIGHT, (int64_t)options->height),
                              ll_attr_of_count(LL_ATTR_WIDTH, (int64_t)options->width),
                              ll_attr_of_real(LL_ATTR_LEAST, options->least)};
    uint64_t sorted = ll_min(options->sorted, anchors->shape.dim[0]), kept = ll_min(options->kept, sorted);
    ll_nn_push(nn, "proposals");
    struct ll_value *boxes =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_BOX_DECODE,
                                          .input_count = 2,
                                          .inputs = (struct ll_value *[]){anchors, deltas},
                                          .attr_count = 3,
                                          .attrs = attrs});
    struct ll_value *large = boxes->producer ? boxes->producer->outputs[1] : boxes;
    struct ll_value *order = best(nn, of_large(nn, scores, large), sorted);
    boxes = ll_nn_gather(nn, table_of(nn, boxes), order);
    struct ll_value *chosen = nms(nn, boxes, kept, options->overlap);
    boxes = ll_nn_gather(nn, table_of(nn, boxes), chosen);
    ll_nn_pop(nn);
    return boxes;
}

/* One op draws the sample, since which boxes are drawn depends on their IoU with the truth and on rng;
 * its results are reshaped for the losses. */
struct ll_box_targets ll_box_targets_sample(struct ll_nn *nn, struct ll_value *boxes, struct ll_value *truth,
                                            const struct ll_box_sampling *sampling, struct ll_rng *rng)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SIZE, (int64_t)sampling->size),
        ll_attr_of_count(LL_ATTR_CLASSES, (int64_t)sampling->classes),
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)rng->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)rng->streams++),
        ll_attr_of_real(LL_ATTR_OVERLAP, sampling->good),
        ll_attr_of_real(LL_ATTR_KEEP, sampling->share),
    };
    uint64_t rows = ll_mul(boxes->shape.dim[0], sampling->size);
    enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    struct ll_shape of_labels = ll_nn_shape(nn, 1, &rows, roles);
    struct ll_shape of_deltas = ll_nn_shape(nn, 2, (uint64_t[]){rows, 4 * sampling->classes}, roles);
    ll_nn_push(nn, "sample");
    struct ll_value *inputs[] = {boxes, truth, rng->step};
    const struct ll_value *drawn =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_BOX_SAMPLE,
                                          .input_count = 3,
                                          .inputs = inputs,
                                          .attr_count = sizeof attrs / sizeof *attrs,
                                          .attrs = attrs});
    struct ll_value *nothing = &nn->nothing;
    struct ll_box_targets targets = {nothing, nothing, nothing, nothing};
    if (drawn->producer) {
        struct ll_value **results = drawn->producer->outputs;
        of_labels.dtype = LL_I32;
        targets = (struct ll_box_targets){results[0], ll_nn_reshape(nn, results[1], &of_labels),
                                          ll_nn_reshape(nn, results[2], &of_deltas),
                                          ll_nn_reshape(nn, results[3], &of_deltas)};
    }
    ll_nn_pop(nn);
    return targets;
}

/* RoI max pooling (Girshick, Fast R-CNN, 2015, section 2.1). */
struct ll_value *ll_pooled_regions(struct ll_nn *nn, struct ll_value *map, struct ll_value *boxes,
                                   uint64_t size, double scale)
{
    assert(size > 0 && scale > 0);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size),
                              ll_attr_of_real(LL_ATTR_SCALE, scale)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ROI_POOL,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){map, boxes},
                                             .attr_count = 2,
                                             .attrs = attrs});
}

static const float nms_iou = 0.5f; /* of two detections of one class */

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

static uint64_t ground_truths_of(const struct ll_drawings *drawings, uint64_t images,
                                 struct ll_detection *truths)
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
        uint64_t truth_count = ground_truths_of(drawings, images, truths);
        count = ll_detections_nms(found, count, nms_iou);
        struct ll_detector_scores judged = ll_detections_map(found, count, truths, truth_count, scratch);
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
        count += ll_detections_nms(found + count, here, nms_iou);
    }
    bool done = found && score(detector->drawings, BATCHES * detector->batch, found, count, scores);
    free(found);
    return done || ll_complain(scores->diags, (struct ll_place){0}, "memory ran out");
}
