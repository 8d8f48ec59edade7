/* SPDX-License-Identifier: Apache-2.0 */
#include "models/vision/proposals.h"

#include "models/nn/formula.h"

/* A list of boxes as the table that indices count in. */
static struct ll_value *table_of(struct ll_nn *nn, struct ll_value *boxes)
{
    struct ll_shape table =
        ll_nn_shape(nn, 2, (uint64_t[]){ll_mul(boxes->shape.dim[0], boxes->shape.dim[1]), 4},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    return ll_seen_as(nn, boxes, &table);
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

static struct ll_value *apart(struct ll_nn *nn, struct ll_value *boxes, uint64_t kept, double overlap)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)kept),
                              ll_attr_of_real(LL_ATTR_OVERLAP, overlap)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_NMS, .input_count = 1, .inputs = &boxes, .attr_count = 2, .attrs = attrs});
}

struct ll_value *ll_proposals(struct ll_nn *nn, struct ll_value *anchors, struct ll_value *scores,
                              struct ll_value *deltas, const struct ll_proposal_options *options)
{
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
    boxes = ll_gathered(nn, table_of(nn, boxes), order);
    struct ll_value *chosen = apart(nn, boxes, kept, options->overlap);
    boxes = ll_gathered(nn, table_of(nn, boxes), chosen);
    ll_nn_pop(nn);
    return boxes;
}

struct ll_box_lesson ll_sampled_boxes(struct ll_nn *nn, struct ll_value *boxes, struct ll_value *truth,
                                      const struct ll_box_sampling *sampling, struct ll_chance *chance)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SIZE, (int64_t)sampling->size),
        ll_attr_of_count(LL_ATTR_CLASSES, (int64_t)sampling->classes),
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)chance->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)chance->streams++),
        ll_attr_of_real(LL_ATTR_OVERLAP, sampling->good),
        ll_attr_of_real(LL_ATTR_KEEP, sampling->share),
    };
    uint64_t rows = ll_mul(boxes->shape.dim[0], sampling->size);
    enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    struct ll_shape of_labels = ll_nn_shape(nn, 1, &rows, roles);
    struct ll_shape of_deltas = ll_nn_shape(nn, 2, (uint64_t[]){rows, 4 * sampling->classes}, roles);
    ll_nn_push(nn, "sample");
    struct ll_value *inputs[] = {boxes, truth, chance->step};
    const struct ll_value *drawn =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_BOX_SAMPLE,
                                          .input_count = 3,
                                          .inputs = inputs,
                                          .attr_count = sizeof attrs / sizeof *attrs,
                                          .attrs = attrs});
    struct ll_value *nothing = &nn->nothing;
    struct ll_box_lesson lesson = {nothing, nothing, nothing, nothing};
    if (drawn->producer) {
        struct ll_value **results = drawn->producer->outputs;
        of_labels.dtype = LL_I32;
        lesson = (struct ll_box_lesson){results[0], ll_seen_as(nn, results[1], &of_labels),
                                        ll_seen_as(nn, results[2], &of_deltas),
                                        ll_seen_as(nn, results[3], &of_deltas)};
    }
    ll_nn_pop(nn);
    return lesson;
}

struct ll_value *ll_pooled_regions(struct ll_nn *nn, struct ll_value *map, struct ll_value *boxes,
                                   uint64_t size, double scale)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size),
                              ll_attr_of_real(LL_ATTR_SCALE, scale)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ROI_POOL,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){map, boxes},
                                             .attr_count = 2,
                                             .attrs = attrs});
}
