/* SPDX-License-Identifier: Apache-2.0 */
/* The critic of TBD's WGAN alone (wgan_net.h), set a task with a known answer: how far pictures are from the
 * same pictures moved by a vector of length d. That is d, exactly: moving each by it is the cheapest way.
 *
 * The critic that minimises E D(moved) - E D(picture) + p E (|slope| - 1)^2 has slope s = 1 + d / 2p along
 * the vector, so that E D(picture) - E D(moved), its estimate, comes to d s; p = 10. */
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/formula.h"
#include "models/nn/runner.h"
#include "models/tbd/wgan_net.h"

#include "models/data/images.h"

#include <math.h>

enum { IMAGE, CHANNELS, DISTANCE, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 64, 16, 1024, "height and width of an image, in pixels; a multiple of 16"},
    [CHANNELS] = {"channels", 64, 1, 4096, "at the images' size; eight times as many inside"},
    [DISTANCE] = {"distance", 100, 1, 10000, "how far the pictures are moved, in hundredths"},
    [RATE] = {"rate", 100, 1, 1000000, "learning rate, in millionths"},
};

enum { EVALUATION = 1, EVALUATED_BATCHES = 16 };
enum { LEARNED, UNSEEN }; /* streams of the seed */

/* The driver's context, in the network's arena. */
struct task {
    struct ll_wgan wgan;
    uint64_t seed;
    double distance;
    struct ll_value *estimate; /* of the evaluation, kept */
};

static void draw(const struct task *task, uint64_t stream, uint64_t step, float *pixels)
{
    uint64_t image = task->wgan.image, elements = image * image * LL_DISC_CHANNELS;
    for (uint64_t i = 0; i < task->wgan.batch; i++)
        ll_disc_draw(2 * task->seed + stream, step * task->wgan.batch + i, image, pixels + i * elements);
}

static void fill_learned(void *context, uint64_t step, float *pixels)
{
    draw(context, LEARNED, step, pixels);
}

static void fill_unseen(void *context, uint64_t step, float *pixels)
{
    draw(context, UNSEEN, step, pixels);
}

static struct ll_value *pictures(struct ll_nn *nn, struct task *task, const char *name, ll_fill_floats *fill)
{
    struct ll_shape shape = ll_wgan_shape(nn, &task->wgan);
    return ll_feed_floats(nn, name, &shape, fill, task);
}

/* Darker by the same everywhere. */
static struct ll_value *moved(struct ll_nn *nn, const struct task *task, struct ll_value *pictures)
{
    double elements = (double)(task->wgan.image * task->wgan.image * LL_WGAN_COLOURS);
    return ll_sub_of(nn, pictures, ll_constant(nn, "shift", task->distance / sqrt(elements)));
}

static void add_evaluation(struct ll_nn *nn, struct task *task)
{
    ll_nn_begin_program(nn);
    ll_nn_share(nn, true);
    struct ll_value *unseen = pictures(nn, task, "unseen", fill_unseen);
    struct ll_value *here = ll_nn_do1(nn, LL_OP_MEAN, ll_wgan_criticise(nn, &task->wgan, unseen));
    struct ll_value *there =
        ll_nn_do1(nn, LL_OP_MEAN, ll_wgan_criticise(nn, &task->wgan, moved(nn, task, unseen)));
    task->estimate = ll_sub_of(nn, here, there);
    ll_nn_keep(task->estimate);
    ll_nn_share(nn, false);
}

static struct ll_value *learn(struct ll_nn *nn, struct task *task, double rate)
{
    struct ll_value *seen = pictures(nn, task, "pictures", fill_learned);
    struct ll_chance chance = ll_chance_begin(nn, task->seed);
    ll_nn_share(nn, true);
    struct ll_wgan_verdict verdict = ll_wgan_judge(nn, &task->wgan, seen, moved(nn, task, seen), &chance);
    ll_wgan_learn(nn, verdict.loss, "critic", rate);
    ll_nn_share(nn, false);
    return verdict.loss;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct task *task = ll_alloc(&nn->arena, 1, sizeof *task);
    uint64_t image = (uint64_t)build->params[IMAGE];
    if (image % 16 != 0 || !task) {
        ll_nn_fail(nn, task ? "image: expected a multiple of 16" : "memory ran out");
        return &nn->nothing;
    }
    task->wgan = (struct ll_wgan){build->batch, image, (uint64_t)build->params[CHANNELS]};
    task->seed = build->seed;
    task->distance = 0.01 * (double)build->params[DISTANCE];
    ll_nn_drive(nn, &(struct ll_driver){.context = task});
    if (!build->train)
        return ll_wgan_criticise(nn, &task->wgan, pictures(nn, task, "pictures", fill_learned));
    struct ll_value *loss = learn(nn, task, 1e-6 * (double)build->params[RATE]);
    if (build->evaluate)
        add_evaluation(nn, task);
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct task *task = context;
    double sum = 0;
    for (uint64_t i = 0; i < EVALUATED_BATCHES; i++) {
        ll_runner_run(runner, EVALUATION, i);
        sum += ll_runner_scalar(runner, task->estimate);
    }
    double expected = task->distance * (1 + task->distance / (2 * ll_wgan_penalty));
    ll_scores_add(scores, (struct ll_score){"estimate", "distance of unseen pictures from their moved copies",
                                            sum / EVALUATED_BATCHES, false});
    ll_scores_add(
        scores, (struct ll_score){"expected", "what the best critic says: d (1 + d / 20)", expected, false});
    return true;
}

const struct ll_model ll_model_wgan_critic = {
    .name = "wgan_critic",
    .suite = "tbd",
    .doc = "the critic of wgan, which estimates how far two distributions of images are apart",
    .default_batch = 64,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 400, .batch = 16, .settings = {{"image", "16"}, {"channels", "8"}, {"rate", "1000"}}},
    .evaluate = evaluate,
};
