/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/data/images.h"
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/formula.h"
#include "models/nn/runner.h"
#include "models/tbd/wgan_net.h"
#include "models/tbd/wgan_score.h"
#include "tracer/base/map.h"
#include "tracer/base/random.h"

enum { DIRECTIONS = 64 };

/* Element i of a random direction, before it has length one: near enough to normal, the sum of four uniform
 * numbers. */
static double component(uint64_t key, uint64_t i)
{
    double sum = -2;
    for (uint64_t part = 0; part < 4; part++)
        sum += ll_random_fine_unit(ll_random_bits(key, 4 * i + part));
    return sum;
}

static void draw_direction(uint64_t key, double *direction, uint64_t length)
{
    double squares = 0;
    for (uint64_t i = 0; i < length; i++) {
        direction[i] = component(key, i);
        squares += direction[i] * direction[i];
    }
    for (uint64_t i = 0; i < length; i++)
        direction[i] /= sqrt(squares);
}

/* Every row along the direction, sorted. */
static void project(const float *rows, uint64_t count, const double *direction, uint64_t length,
                    double *along)
{
    for (uint64_t row = 0; row < count; row++) {
        along[row] = 0;
        for (uint64_t i = 0; i < length; i++)
            along[row] += direction[i] * (double)rows[row * length + i];
    }
    ll_sort_numbers(along, count);
}

double ll_sliced_distance(const float *a, const float *b, uint64_t count, uint64_t length)
{
    double *scratch = malloc((length + 2 * count) * sizeof *scratch), sum = 0;
    if (!scratch)
        return -1;
    double *along_a = scratch + length, *along_b = along_a + count;
    for (uint64_t i = 0; i < DIRECTIONS; i++) {
        draw_direction(ll_random_key(0, i), scratch, length);
        project(a, count, scratch, length, along_a);
        project(b, count, scratch, length, along_b);
        for (uint64_t row = 0; row < count; row++)
            sum += fabs(along_a[row] - along_b[row]);
    }
    free(scratch);
    return sum / (double)(count * DIRECTIONS);
}

/* TBD's WGAN (Zhu et al., 2018): a generator that learns to draw from a critic that learns to tell its
 * drawings from real ones, by the distance of the two distributions (Gulrajani et al., 2017). The networks
 * and their numbers: wgan_net.h.
 *
 * A step of training is an update of the generator and then five of the critic, each on new images and new
 * noise, as one list of ops; what it reports is the critic's last estimate of the distance, which falls as
 * the drawings get better. The loss it returns is the generator's, -E D(G(z)). Parameters and forward FLOPs
 * are the generator's, which is what infers: it draws. The critic's are those of wgan_critic.c. */

enum { IMAGE, CHANNELS, CRITIC_STEPS, RATE };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 64, 16, 1024, "height and width of an image, in pixels; a multiple of 16"},
    [CHANNELS] = {"channels", 64, 1, 4096,
                  "of both networks at the images' size; eight times as many inside"},
    [CRITIC_STEPS] = {"critic_steps", 5, 1, 100, "updates of the critic for each of the generator"},
    [RATE] = {"rate", 100, 1, 1000000, "learning rate, in millionths"},
};

enum { EVALUATION = 1, EVALUATED_BATCHES = 8, PICTURE_ROWS = 4 };

/* Where images come from and where drawings are found. The driver's context, in the network's arena. */
struct studio {
    struct ll_wgan wgan;
    uint64_t seed, critic_steps;
    struct ll_value *real, *drawn; /* of the evaluation, kept */
};

/* Real images for one of the critic's updates. */
struct easel {
    const struct studio *studio;
    uint64_t update;
};

enum { LEARNED, UNSEEN }; /* streams of the seed */

static void fill(const struct studio *studio, uint64_t stream, uint64_t first, float *pixels)
{
    uint64_t image = studio->wgan.image, elements = image * image * LL_DISC_CHANNELS;
    for (uint64_t i = 0; i < studio->wgan.batch; i++)
        ll_disc_draw(2 * studio->seed + stream, first + i, image, pixels + i * elements);
}

static void fill_learned(void *context, uint64_t step, float *pixels)
{
    const struct easel *easel = context;
    const struct studio *studio = easel->studio;
    fill(studio, LEARNED, (step * studio->critic_steps + easel->update) * studio->wgan.batch, pixels);
}

static void fill_unseen(void *context, uint64_t step, float *pixels)
{
    const struct studio *studio = context;
    fill(studio, UNSEEN, step * studio->wgan.batch, pixels);
}

static struct ll_value *real_images(struct ll_nn *nn, const struct studio *studio, uint64_t update)
{
    struct ll_shape shape = ll_wgan_shape(nn, &studio->wgan);
    struct easel *easel = ll_alloc(&nn->arena, 1, sizeof *easel);
    if (!easel) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *easel = (struct easel){studio, update};
    return ll_feed_floats(nn, "real", &shape, fill_learned, easel);
}

static struct ll_value *update_generator(struct ll_nn *nn, const struct studio *studio,
                                         struct ll_chance *chance, double rate)
{
    struct ll_value *drawn = ll_wgan_generate(nn, &studio->wgan, chance);
    struct ll_value *score = ll_nn_do1(nn, LL_OP_MEAN, ll_wgan_criticise(nn, &studio->wgan, drawn));
    struct ll_value *loss = ll_neg(nn, score);
    ll_wgan_learn(nn, loss, "generator", rate);
    return loss;
}

/* Returns the distance that it estimates. */
static struct ll_value *update_critic(struct ll_nn *nn, const struct studio *studio, uint64_t update,
                                      struct ll_chance *chance, double rate)
{
    struct ll_value *real = real_images(nn, studio, update);
    struct ll_value *drawn = ll_wgan_generate(nn, &studio->wgan, chance);
    struct ll_wgan_verdict verdict = ll_wgan_judge(nn, &studio->wgan, real, drawn, chance);
    ll_wgan_learn(nn, verdict.loss, "critic", rate);
    return verdict.distance;
}

static struct ll_value *learn(struct ll_nn *nn, const struct studio *studio, double rate)
{
    struct ll_chance chance = ll_chance_begin(nn, studio->seed);
    struct ll_value *distance = &nn->nothing;
    ll_nn_share(nn, true);
    struct ll_value *loss = update_generator(nn, studio, &chance, rate);
    for (uint64_t i = 0; i < studio->critic_steps; i++)
        distance = update_critic(nn, studio, i, &chance, rate);
    ll_nn_share(nn, false);
    ll_nn_keep(distance);
    nn->programs[0].result = distance;
    return loss;
}

/* Draws with chance of its own, so that being looked at changes nothing. */
static struct ll_value *draw(struct ll_nn *nn, const struct studio *studio, const char *name)
{
    ll_nn_push(nn, name);
    struct ll_chance chance = ll_chance_begin(nn, studio->seed + 1);
    ll_nn_pop(nn);
    return ll_wgan_generate(nn, &studio->wgan, &chance);
}

static void add_evaluation(struct ll_nn *nn, struct studio *studio)
{
    struct ll_shape shape = ll_wgan_shape(nn, &studio->wgan);
    ll_nn_begin_program(nn);
    studio->real = ll_feed_floats(nn, "unseen", &shape, fill_unseen, studio);
    studio->drawn = draw(nn, studio, "looked_at");
    ll_nn_keep(studio->real);
    ll_nn_keep(studio->drawn);
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct studio *studio = ll_alloc(&nn->arena, 1, sizeof *studio);
    uint64_t image = (uint64_t)build->params[IMAGE];
    if (image % 16 != 0 || !studio) {
        ll_nn_fail(nn, studio ? "image: expected a multiple of 16" : "memory ran out");
        return &nn->nothing;
    }
    studio->wgan = (struct ll_wgan){build->batch, image, (uint64_t)build->params[CHANNELS]};
    studio->seed = build->seed;
    studio->critic_steps = (uint64_t)build->params[CRITIC_STEPS];
    ll_nn_drive(nn, &(struct ll_driver){.context = studio});
    if (!build->train)
        return draw(nn, studio, "drawn");
    struct ll_value *loss = learn(nn, studio, 1e-6 * (double)build->params[RATE]);
    if (build->evaluate)
        add_evaluation(nn, studio);
    return loss;
}

/* The greys of the first drawings, in rows of as many; of a few drawings each row has one. */
static bool write_drawings(const struct studio *studio, const struct ll_runner *runner,
                           struct ll_scores *scores)
{
    struct ll_arena arena = {0};
    uint64_t image = studio->wgan.image, rows = ll_min(PICTURE_ROWS, studio->wgan.batch);
    uint64_t columns = studio->wgan.batch / rows;
    const float *drawn = ll_runner_data(runner, studio->drawn);
    float *greys = ll_alloc(&arena, rows * columns * image * image, sizeof *greys);
    const char *path = ll_format(&arena, "%s/drawn.pgm", scores->folder);
    for (uint64_t i = 0; greys && i < rows * columns * image * image; i++)
        for (uint64_t c = 0; c < LL_WGAN_COLOURS; c++)
            greys[i] += (drawn[i * LL_WGAN_COLOURS + c] + 1) / (2 * LL_WGAN_COLOURS);
    enum ll_status status =
        greys && path ? ll_picture_write_grid(path, greys, image, columns, rows) : LL_NO_MEMORY;
    if (status != LL_OK)
        ll_complain(scores->diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    ll_arena_release(&arena);
    return status == LL_OK;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct studio *studio = context;
    uint64_t elements = ll_elements(&studio->real->shape), length = elements / studio->wgan.batch;
    float *pictures = malloc(2 * EVALUATED_BATCHES * elements * sizeof *pictures);
    float *real = pictures, *drawn = pictures ? pictures + EVALUATED_BATCHES * elements : NULL;
    double distance = -1;
    for (uint64_t i = 0; pictures && i < EVALUATED_BATCHES; i++) {
        ll_runner_run(runner, EVALUATION, i);
        memcpy(real + i * elements, ll_runner_data(runner, studio->real), elements * sizeof *real);
        memcpy(drawn + i * elements, ll_runner_data(runner, studio->drawn), elements * sizeof *drawn);
    }
    if (pictures)
        distance = ll_sliced_distance(real, drawn, EVALUATED_BATCHES * studio->wgan.batch, length);
    free(pictures);
    if (distance < 0)
        return ll_complain(scores->diags, (struct ll_place){0}, "%s", ll_status_text(LL_NO_MEMORY));
    ll_scores_add(scores,
                  (struct ll_score){"distance", "of drawings from unseen images, along random directions",
                                    distance, true});
    return !scores->folder || write_drawings(studio, runner, scores);
}

const struct ll_model ll_model_wgan = {
    .name = "wgan",
    .suite = "tbd",
    .doc = "image generator trained against a critic (Wasserstein GAN with gradient penalty)",
    .default_batch = 64,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .lesson = {.steps = 300, .batch = 16, .settings = {{"image", "16"}, {"channels", "8"}, {"rate", "1000"}}},
    .shows = true,
    .evaluate = evaluate,
};
