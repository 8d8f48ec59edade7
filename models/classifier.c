/* SPDX-License-Identifier: Apache-2.0 */
#include "models/classifier.h"

#include "models/feed.h"
#include "models/nn/init.h"
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
    return ll_dense_layer(nn, "fc", features,
                          &(struct ll_dense_options){
                              .units = classes, .init = ll_init_keeping_size(features->shape.dim[1], 1)});
}

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
