/* SPDX-License-Identifier: Apache-2.0 */
#include "models/fathom/classifier.h"

#include "models/data/idx.h"
#include "models/feed.h"
#include "models/nn/loss.h"
#include "models/nn/optim.h"
#include "models/nn/runner.h"

/* The second program: inference on labelled images. */
enum { EVALUATION = 1, EVALUATED_BATCHES = 16 };
static const uint64_t first_unseen = UINT64_C(1) << 32; /* steps from here on; no training has as many */

/* Real images, of which the last tenth is held back. Owned by the network. */
struct source {
    struct ll_idx images, labels;
    uint64_t batch, seen;
};

struct evaluation {
    struct ll_value *accuracy;
};

static bool labels_fit(const struct ll_idx *labels, uint64_t count, uint64_t classes)
{
    bool fit = labels->rank == 1 && labels->dim[0] == count;
    for (uint64_t i = 0; fit && i < count; i++)
        fit = labels->bytes[i] < classes;
    return fit;
}

static bool load(struct source *source, struct ll_nn *nn, const struct ll_build *build,
                 const struct ll_classifier *c)
{
    struct ll_place place = {.file = build->data};
    if (!ll_idx_load(build->data, (const char *const[]){"images.idx", NULL}, &nn->arena, &source->images,
                     build->diags) ||
        !ll_idx_load(build->data, (const char *const[]){"labels.idx", NULL}, &nn->arena, &source->labels,
                     build->diags))
        return false;
    const uint64_t *dim = source->images.dim;
    if (source->images.rank != 4 || dim[0] < 10 || dim[1] != c->image || dim[2] != c->image || dim[3] != 3)
        return ll_complain(
            build->diags, place,
            "images.idx: expected ten images or more of %d x %d pixels (-p image=N) and 3 colours",
            (int)c->image, (int)c->image);
    if (!labels_fit(&source->labels, dim[0], c->classes))
        return ll_complain(build->diags, place,
                           "labels.idx: expected one label for each image, below %d (-p classes=N)",
                           (int)c->classes);
    source->batch = build->batch;
    source->seen = dim[0] - dim[0] / 10;
    return true;
}

/* Image number i of a step, the data set going round. */
static uint64_t image_of(const struct source *source, uint64_t step, uint64_t i)
{
    uint64_t held_back = source->images.dim[0] - source->seen;
    if (step < first_unseen)
        return (step * source->batch + i) % source->seen;
    return source->seen + ((step - first_unseen) * source->batch + i) % held_back;
}

static void fill_images(void *context, uint64_t step, float *data)
{
    const struct source *source = context;
    uint64_t each = source->images.dim[1] * source->images.dim[2] * source->images.dim[3];
    for (uint64_t i = 0; i < source->batch; i++) {
        const uint8_t *bytes = source->images.bytes + image_of(source, step, i) * each;
        for (uint64_t p = 0; p < each; p++)
            *data++ = (float)bytes[p] / 127.5f - 1;
    }
}

static void fill_labels(void *context, uint64_t step, int32_t *data)
{
    const struct source *source = context;
    for (uint64_t i = 0; i < source->batch; i++)
        data[i] = source->labels.bytes[image_of(source, step, i)];
}

/* Images and labels from the source, or made up where there is none. */
static struct ll_value *feed_images(struct ll_nn *nn, const struct ll_build *build,
                                    const struct ll_classifier *c, struct source *source)
{
    if (!source)
        return ll_feed_images(nn, build->batch, c->image, 3, c->classes, build->seed);
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){build->batch, c->image, c->image, 3},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    return ll_feed_floats(nn, "images", &shape, fill_images, source);
}

static struct ll_value *feed_labels(struct ll_nn *nn, const struct ll_build *build,
                                    const struct ll_classifier *c, struct source *source)
{
    if (!source)
        return ll_feed_labels(nn, build->batch, c->classes, build->seed);
    struct ll_shape shape = ll_nn_shape(nn, 1, &build->batch, (enum ll_role[]){LL_ROLE_BATCH});
    return ll_feed_indices(nn, "labels", &shape, fill_labels, source);
}

static void add_evaluation(struct ll_nn *nn, const struct ll_build *build, const struct ll_classifier *c,
                           struct source *source)
{
    struct ll_build inference = *build;
    struct evaluation *evaluation = ll_alloc(&nn->arena, 1, sizeof *evaluation);
    if (!evaluation) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    inference.train = false;
    ll_nn_begin_program(nn);
    struct ll_value *images = feed_images(nn, build, c, source);
    struct ll_value *labels = feed_labels(nn, build, c, source);
    evaluation->accuracy = ll_accuracy(nn, c->logits(nn, images, &inference), labels);
    ll_nn_drive(nn, &(struct ll_driver){.context = evaluation});
}

bool ll_classifier_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct evaluation *evaluation = context;
    double sum = 0;
    for (uint64_t i = 0; i < EVALUATED_BATCHES; i++) {
        ll_runner_run(runner, EVALUATION, first_unseen + i);
        sum += ll_runner_scalar(runner, evaluation->accuracy);
    }
    ll_scores_add(scores, (struct ll_score){"accuracy", "share of unseen images put into the right class",
                                            sum / EVALUATED_BATCHES, false});
    return true;
}

struct ll_value *ll_classifier_build(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_classifier *c)
{
    struct source *source = NULL;
    if (build->data && !build->measure) {
        source = ll_alloc(&nn->arena, 1, sizeof *source);
        if (!source || !load(source, nn, build, c)) {
            ll_nn_fail(nn, source ? "its data cannot be used" : "memory ran out");
            return &nn->nothing;
        }
    }
    struct ll_value *images = feed_images(nn, build, c, source);
    if (!build->train)
        return c->logits(nn, images, build);
    struct ll_value *labels = feed_labels(nn, build, c, source);
    struct ll_value *logits = c->logits(nn, images, build);
    struct ll_value *loss = ll_softmax_loss(nn, logits, labels);
    ll_accuracy(nn, logits, labels);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){
                    .kind = LL_ADAM, .rate = c->rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8});
    if (build->evaluate)
        add_evaluation(nn, build, c, source);
    return loss;
}
