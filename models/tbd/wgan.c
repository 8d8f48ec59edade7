/* SPDX-License-Identifier: Apache-2.0 */
/* The two networks of a WGAN with gradient penalty (Gulrajani et al., 2017), residual ones for images of 64 x
 * 64, as TBD takes them from its authors' code, and the loss of the critic.
 *
 *   generator    z[128] -> dense 4x4x512 -> up 512 -> up 256 -> up 128 -> up 64 -> norm, ReLU, 3x3 conv 3,
 *                tanh: 8,540,483 parameters, 3.573 GFLOP an image
 *   critic       3x3 conv 64 -> down 128 -> down 256 -> down 512 -> down 512 -> 4x4x512 -> dense 1:
 *                7,491,841 parameters, 3.395 GFLOP an image
 *
 * A block is norm, ReLU, 3x3, norm, ReLU, 3x3 beside a shortcut of 1x1; up doubles and down halves height and
 * width. The generator's norm is over the batch and always that of the batch, the critic's over each image.
 * Code and paper have channels first; here they are last, which changes no number. */
#include "models/tbd/wgan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/data/images.h"
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "tracer/base/map.h"
#include "tracer/base/random.h"

enum { NOISE = 128, COLOURS = 3, BLOCKS = 4 };
static const double penalty_weight = 10; /* the weight of the gradient penalty */

struct wgan {
    uint64_t batch, image, channels; /* image: a multiple of 16; channels: at the images' size, 64 */
};

/* What the critic minimises, and what it thereby estimates: the distance of the two distributions that the
 * images come from, E D(real) - E D(fake), both scalars. The network shares its variables (ll_nn_share). */
struct verdict {
    struct ll_value *loss, *distance;
};

static const double epsilon = 1e-5; /* of both norms */
static const enum ll_role image_roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};

/* The same numbers as so many rows of so many columns, and so on. */
static struct ll_value *seen_as(struct ll_nn *nn, struct ll_value *x, uint64_t a, uint64_t b, uint64_t c,
                                uint64_t d)
{
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){a, b, c, d}, image_roles);
    return ll_nn_reshape(nn, x, &shape);
}

static struct ll_value *conv(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                             uint64_t filters, enum ll_bias bias)
{
    return ll_conv_layer(nn, name, x,
                         &(struct ll_conv_options){
                             .kernel = kernel,
                             .stride = 1,
                             .filters = filters,
                             .padding = LL_SAME,
                             .bias = bias,
                             .init = ll_init_fan_in(kernel * kernel * x->shape.dim[3], 2),
                         });
}

/* A factor and an offset for each channel. */
struct affine {
    struct ll_value *gamma, *beta;
};

static struct affine affine_of(struct ll_nn *nn, const struct ll_value *x)
{
    struct ll_shape shape = ll_nn_shape(nn, 1, &x->shape.dim[3], (enum ll_role[]){LL_ROLE_CHANNEL});
    return (struct affine){
        ll_nn_variable(nn, "gamma", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL}),
        ll_nn_variable(nn, "beta", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 0, NULL})};
}

typedef struct ll_value *norm_layer(struct ll_nn *nn, const char *name, struct ll_value *x);

/* By mean and variance of the batch, at inference as well: nobody keeps averages. */
static struct ll_value *batch_norm(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, epsilon);
    ll_nn_push(nn, name);
    struct affine affine = affine_of(nn, x);
    struct ll_value *inputs[] = {x, affine.gamma, affine.beta};
    struct ll_value *y = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_BATCH_NORM, .input_count = 3, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    ll_nn_pop(nn);
    return y;
}

/* The mean of each image, over all but the first dimension, which alone stays: [batch, 1, 1, 1]. */
static struct ll_value *mean_of_image(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 3)};
    struct ll_value *mean = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_MEAN, .input_count = 1, .inputs = &x, .attr_count = 2, .attrs = attrs});
    return seen_as(nn, mean, x->shape.dim[0], 1, 1, 1);
}

/* By mean and variance of each image: op by op, as TensorFlow's moments and batch_normalization are, all of
 * which can be derived twice. */
static struct ll_value *layer_norm(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    ll_nn_push(nn, name);
    struct affine affine = affine_of(nn, x);
    struct ll_value *centred = ll_sub_of(nn, x, mean_of_image(nn, x));
    struct ll_value *variance = mean_of_image(nn, ll_nn_do1(nn, LL_OP_SQUARE, centred));
    struct ll_value *deviation =
        ll_nn_do1(nn, LL_OP_SQRT, ll_add_of(nn, variance, ll_constant(nn, "epsilon", epsilon)));
    struct ll_value *factor = ll_div_of(nn, affine.gamma, deviation);
    struct ll_value *y = ll_add_of(nn, ll_mul_of(nn, centred, factor), affine.beta);
    ll_nn_pop(nn);
    return y;
}

typedef struct ll_value *resampling(struct ll_nn *nn, struct ll_value *x);

static struct ll_value *unchanged(struct ll_nn *nn, struct ll_value *x)
{
    (void)nn;
    return x;
}

/* Each pixel four times: the channels fourfold, then depth to space. */
static struct ll_value *doubled(struct ll_nn *nn, struct ll_value *x)
{
    const uint64_t *dim = x->shape.dim;
    struct ll_value *deep = ll_nn_concat(nn, (struct ll_value *[]){x, x, x, x}, 4, 3);
    struct ll_value *pairs = seen_as(nn, deep, dim[0] * dim[1], dim[2], 2, 2 * dim[3]);
    return seen_as(nn, ll_nn_transpose(nn, pairs, 213), dim[0], 2 * dim[1], 2 * dim[2], dim[3]);
}

/* The mean of four pixels: the four pictures of every second row and column, added up. */
static struct ll_value *halved(struct ll_nn *nn, struct ll_value *x)
{
    const uint64_t *dim = x->shape.dim;
    struct ll_value *quarters[4];
    struct ll_value *pairs = seen_as(nn, x, dim[0] * dim[1] / 2, 2, dim[2] / 2, 2 * dim[3]);
    struct ll_value *const *rows = ll_nn_split(nn, pairs, 1, 2);
    for (int i = 0; i < 2; i++)
        memcpy(&quarters[2 * i], ll_nn_split(nn, rows[i], 3, 2), 2 * sizeof(struct ll_value *));
    struct ll_value *sum =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ADD_N, .input_count = 4, .inputs = quarters});
    return seen_as(nn, ll_nn_mul_scalar(nn, sum, "quarter", 0.25), dim[0], dim[1] / 2, dim[2] / 2, dim[3]);
}

/* A block: where it resamples, and through how many channels it passes on its way. */
struct block {
    norm_layer *norm;
    resampling *before, *after; /* of the first convolution and the shortcut; of the second one */
    resampling *shortcut;
    uint64_t middle, out;
};

/* Shortcut and two convolutions, each behind norm and ReLU; where the block resamples depends on its
 * direction (struct block). */
static struct ll_value *block_of(struct ll_nn *nn, const char *name, struct ll_value *x,
                                 const struct block *block)
{
    ll_nn_push(nn, name);
    struct ll_value *shortcut = conv(nn, "shortcut", block->shortcut(nn, x), 1, block->out, LL_BIAS);
    struct ll_value *y = ll_nn_do1(nn, LL_OP_RELU, block->norm(nn, "norm1", x));
    y = conv(nn, "conv1", block->before(nn, y), 3, block->middle, LL_NO_BIAS);
    y = ll_nn_do1(nn, LL_OP_RELU, block->norm(nn, "norm2", y));
    y = block->after(nn, conv(nn, "conv2", y, 3, block->out, LL_BIAS));
    y = ll_add_of(nn, shortcut, y);
    ll_nn_pop(nn);
    return y;
}

static struct ll_value *up(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t out)
{
    const struct block block = {batch_norm, doubled, unchanged, doubled, out, out};
    return block_of(nn, name, x, &block);
}

static struct ll_value *down(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t out)
{
    const struct block block = {layer_norm, unchanged, halved, halved, x->shape.dim[3], out};
    return block_of(nn, name, x, &block);
}

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units)
{
    return ll_dense_layer(
        nn, name, x, &(struct ll_dense_options){.units = units, .init = ll_init_fan_in(x->shape.dim[1], 1)});
}

/* [batch, image, image, 3]. */
static struct ll_shape wgan_shape(const struct ll_nn *nn, const struct wgan *wgan)
{
    return ll_nn_shape(nn, 4, (uint64_t[]){wgan->batch, wgan->image, wgan->image, COLOURS}, image_roles);
}

static const char *const block_names[BLOCKS] = {"block1", "block2", "block3", "block4"};

/* Images from normal noise. Weights: "generator/...". */
static struct ll_value *wgan_generate(struct ll_nn *nn, const struct wgan *wgan, struct ll_rng *rng)
{
    uint64_t small = wgan->image >> BLOCKS, deep = 8 * wgan->channels;
    struct ll_shape z =
        ll_nn_shape(nn, 2, (uint64_t[]){wgan->batch, NOISE}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    ll_nn_push(nn, "generator");
    struct ll_value *x = dense(nn, "dense", ll_random_normal(nn, rng, &z), small * small * deep);
    x = seen_as(nn, x, wgan->batch, small, small, deep);
    for (int i = 0; i < BLOCKS; i++)
        x = up(nn, block_names[i], x, deep >> i);
    x = ll_nn_do1(nn, LL_OP_RELU, batch_norm(nn, "norm", x));
    x = ll_nn_do1(nn, LL_OP_TANH, conv(nn, "conv", x, 3, COLOURS, LL_BIAS));
    ll_nn_pop(nn);
    return x;
}

/* How real each image is: [batch]. Weights: "critic/...". */
static struct ll_value *wgan_criticise(struct ll_nn *nn, const struct wgan *wgan, struct ll_value *images)
{
    struct ll_shape scores = ll_nn_shape(nn, 1, &wgan->batch, (enum ll_role[]){LL_ROLE_BATCH});
    ll_nn_push(nn, "critic");
    struct ll_value *x = conv(nn, "conv", images, 3, wgan->channels, LL_BIAS);
    for (int i = 0; i < BLOCKS; i++)
        x = down(nn, block_names[i], x, wgan->channels << (i < 3 ? i + 1 : 3));
    x = ll_nn_reshape(nn, dense(nn, "dense", ll_flatten(nn, x), 1), &scores);
    ll_nn_pop(nn);
    return x;
}

/* Somewhere between a real image and a fake one, elsewhere for each pair. */
static struct ll_value *between(struct ll_nn *nn, struct ll_value *real, struct ll_value *fake,
                                struct ll_rng *rng)
{
    struct ll_shape shares = ll_nn_shape(nn, 4, (uint64_t[]){real->shape.dim[0], 1, 1, 1}, image_roles);
    struct ll_value *share = ll_random_uniform(nn, rng, &shares);
    return ll_add_of(nn, real, ll_mul_of(nn, share, ll_sub_of(nn, fake, real)));
}

/* The mean of (|dD/dx| - 1)^2, x between real and fake: the best critic is that steep there. */
static struct ll_value *penalty(struct ll_nn *nn, const struct wgan *wgan, struct ll_value *x)
{
    struct ll_value *slope = &nn->nothing;
    struct ll_value *score = ll_nn_do1(nn, LL_OP_SUM, wgan_criticise(nn, wgan, x));
    ll_nn_gradients(nn, score, &x, 1, &slope);
    if (nn->trouble)
        return &nn->nothing;
    struct ll_value *squares = ll_sum_over(nn, ll_nn_do1(nn, LL_OP_SQUARE, slope), 1, 3);
    struct ll_value *one = ll_constant(nn, "one", 1);
    struct ll_value *excess = ll_sub_of(nn, ll_nn_do1(nn, LL_OP_SQRT, squares), one);
    return ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do1(nn, LL_OP_SQUARE, excess));
}

static struct verdict wgan_judge(struct ll_nn *nn, const struct wgan *wgan, struct ll_value *real,
                                 struct ll_value *fake, struct ll_rng *rng)
{
    struct ll_value *of_real = ll_nn_do1(nn, LL_OP_MEAN, wgan_criticise(nn, wgan, real));
    struct ll_value *of_fake = ll_nn_do1(nn, LL_OP_MEAN, wgan_criticise(nn, wgan, fake));
    struct ll_value *steep = penalty(nn, wgan, between(nn, real, fake, rng));
    struct ll_value *distance = ll_sub_of(nn, of_real, of_fake);
    struct ll_value *loss = ll_sub_of(nn, ll_nn_mul_scalar(nn, steep, "penalty", penalty_weight), distance);
    return (struct verdict){loss, distance};
}

/* An update by Adam as the paper has it, of the weights whose names begin with the network's, "critic". */
static void wgan_learn(struct ll_nn *nn, struct ll_value *loss, const char *network, double rate)
{
    ll_nn_push(nn, network);
    ll_minimise(
        nn, loss,
        &(struct ll_optimizer){
            .kind = LL_ADAM, .rate = rate, .beta1 = 0, .beta2 = 0.9, .epsilon = 1e-8, .only = network});
    ll_nn_pop(nn);
}

enum { LEARNED, UNSEEN }; /* streams of the seed: images to train on, images to be scored on */

/* Real images: the batch of this number, of a stream. */
static void draw_discs(const struct wgan *wgan, uint64_t seed, uint64_t stream, uint64_t batch, float *pixels)
{
    uint64_t elements = wgan->image * wgan->image * LL_DISC_CHANNELS;
    for (uint64_t i = 0; i < wgan->batch; i++)
        ll_disc_draw(2 * seed + stream, batch * wgan->batch + i, wgan->image, pixels + i * elements);
}

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

/* Both sets are projected onto each direction and sorted: in one dimension matching in order is the cheapest
 * transport. */
double ll_sliced_distance(const float *a, const float *b, uint64_t count, uint64_t length)
{
    assert(count > 0 && length > 0);
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
 * drawings from real ones, by the distance of the two distributions (Gulrajani et al., 2017).
 *
 * A step of training is an update of the generator and then five of the critic, each on new images and new
 * noise, as one list of ops; what it reports is the critic's last estimate of the distance, which falls as
 * the drawings get better. The loss it returns is the generator's, -E D(G(z)). Parameters and forward FLOPs
 * are the generator's, which is what infers: it draws. The critic's are those of wgan_critic below. */

enum { IMAGE, CHANNELS, CRITIC_STEPS, RATE };

static const struct ll_model_param wgan_params[] = {
    [IMAGE] = {"image", 64, 16, 1024, "height and width of an image, in pixels; a multiple of 16"},
    [CHANNELS] = {"channels", 64, 1, 4096,
                  "of both networks at the images' size; eight times as many inside"},
    [CRITIC_STEPS] = {"critic_steps", 5, 1, 100, "updates of the critic for each of the generator"},
    [RATE] = {"rate", 100, 1, 1000000, "learning rate, in millionths"},
};

enum { EVALUATION = 1, EVALUATED_BATCHES = 8, PICTURE_ROWS = 4 };

/* Where images come from and where drawings are found. The driver's context, in the network's arena. */
struct studio {
    struct wgan wgan;
    uint64_t seed, critic_steps;
    struct ll_value *real, *drawn; /* of the evaluation, kept */
};

/* Real images for one of the critic's updates. */
struct easel {
    const struct studio *studio;
    uint64_t update;
};

static void fill_learned(void *context, uint64_t step, float *pixels)
{
    const struct easel *easel = context;
    const struct studio *studio = easel->studio;
    uint64_t batches = step * studio->critic_steps + easel->update;
    draw_discs(&studio->wgan, studio->seed, LEARNED, batches, pixels);
}

static void fill_unseen(void *context, uint64_t step, float *pixels)
{
    const struct studio *studio = context;
    draw_discs(&studio->wgan, studio->seed, UNSEEN, step, pixels);
}

static struct ll_value *real_images(struct ll_nn *nn, const struct studio *studio, uint64_t update)
{
    struct ll_shape shape = wgan_shape(nn, &studio->wgan);
    struct easel *easel = ll_alloc(&nn->arena, 1, sizeof *easel);
    if (!easel) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *easel = (struct easel){studio, update};
    return ll_feed_floats(nn, "real", &shape, fill_learned, easel);
}

static struct ll_value *update_generator(struct ll_nn *nn, const struct studio *studio, struct ll_rng *rng,
                                         double rate)
{
    struct ll_value *drawn = wgan_generate(nn, &studio->wgan, rng);
    struct ll_value *score = ll_nn_do1(nn, LL_OP_MEAN, wgan_criticise(nn, &studio->wgan, drawn));
    struct ll_value *loss = ll_neg(nn, score);
    wgan_learn(nn, loss, "generator", rate);
    return loss;
}

/* Returns the distance that it estimates. */
static struct ll_value *update_critic(struct ll_nn *nn, const struct studio *studio, uint64_t update,
                                      struct ll_rng *rng, double rate)
{
    struct ll_value *real = real_images(nn, studio, update);
    struct ll_value *drawn = wgan_generate(nn, &studio->wgan, rng);
    struct verdict verdict = wgan_judge(nn, &studio->wgan, real, drawn, rng);
    wgan_learn(nn, verdict.loss, "critic", rate);
    return verdict.distance;
}

/* The generator's update, then those of the critic, all on one set of variables; the result that is reported
 * is the last estimate of the distance. */
static struct ll_value *learn(struct ll_nn *nn, const struct studio *studio, double rate)
{
    struct ll_rng rng = ll_rng_begin(nn, studio->seed);
    struct ll_value *distance = &nn->nothing;
    ll_nn_share(nn, true);
    struct ll_value *loss = update_generator(nn, studio, &rng, rate);
    for (uint64_t i = 0; i < studio->critic_steps; i++)
        distance = update_critic(nn, studio, i, &rng, rate);
    ll_nn_share(nn, false);
    ll_nn_keep(distance);
    nn->programs[0].result = distance;
    return loss;
}

/* Draws with chance of its own, so that being looked at changes nothing. */
static struct ll_value *draw(struct ll_nn *nn, const struct studio *studio, const char *name)
{
    ll_nn_push(nn, name);
    struct ll_rng rng = ll_rng_begin(nn, studio->seed + 1);
    ll_nn_pop(nn);
    return wgan_generate(nn, &studio->wgan, &rng);
}

static void add_evaluation(struct ll_nn *nn, struct studio *studio)
{
    struct ll_shape shape = wgan_shape(nn, &studio->wgan);
    ll_nn_begin_program(nn);
    studio->real = ll_feed_floats(nn, "unseen", &shape, fill_unseen, studio);
    studio->drawn = draw(nn, studio, "looked_at");
    ll_nn_keep(studio->real);
    ll_nn_keep(studio->drawn);
}

static struct ll_value *build_wgan(struct ll_nn *nn, const struct ll_build *build)
{
    struct studio *studio = ll_alloc(&nn->arena, 1, sizeof *studio);
    uint64_t image = (uint64_t)build->params[IMAGE];
    if (image % 16 != 0 || !studio) {
        ll_nn_fail(nn, studio ? "image: expected a multiple of 16" : "memory ran out");
        return &nn->nothing;
    }
    studio->wgan = (struct wgan){build->batch, image, (uint64_t)build->params[CHANNELS]};
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
        for (uint64_t c = 0; c < COLOURS; c++)
            greys[i] += (drawn[i * COLOURS + c] + 1) / (2 * COLOURS);
    enum ll_status status =
        greys && path ? ll_picture_write_grid(path, greys, image, columns, rows) : LL_NO_MEMORY;
    if (status != LL_OK)
        ll_complain(scores->diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    ll_arena_release(&arena);
    return status == LL_OK;
}

/* Compares as many drawings with as many unseen images, batch by batch, by the sliced distance. */
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
    .params = wgan_params,
    .param_count = sizeof wgan_params / sizeof *wgan_params,
    .build = build_wgan,
    .recipe = {.steps = 300, .batch = 16, .settings = {{"image", "16"}, {"channels", "8"}, {"rate", "1000"}}},
    .shows = true,
    .evaluate = evaluate,
};

/* The critic of TBD's WGAN alone, set a task with a known answer: how far pictures are from the
 * same pictures moved by a vector of length d. That is d, exactly: moving each by it is the cheapest way.
 *
 * The critic that minimises E D(moved) - E D(picture) + p E (|slope| - 1)^2 has slope s = 1 + d / 2p along
 * the vector, so that E D(picture) - E D(moved), its estimate, comes to d s; p = 10. */

enum { CRITIC_IMAGE, CRITIC_CHANNELS, DISTANCE, CRITIC_RATE };

static const struct ll_model_param critic_params[] = {
    [CRITIC_IMAGE] = {"image", 64, 16, 1024, "height and width of an image, in pixels; a multiple of 16"},
    [CRITIC_CHANNELS] = {"channels", 64, 1, 4096, "at the images' size; eight times as many inside"},
    [DISTANCE] = {"distance", 100, 1, 10000, "how far the pictures are moved, in hundredths"},
    [CRITIC_RATE] = {"rate", 100, 1, 1000000, "learning rate, in millionths"},
};

enum { CRITIC_EVALUATION = 1, CRITIC_EVALUATED_BATCHES = 16 };

/* The driver's context, in the network's arena. */
struct task {
    struct wgan wgan;
    uint64_t seed;
    double distance;
    struct ll_value *estimate; /* of the evaluation, kept */
};

static void critic_fill_learned(void *context, uint64_t step, float *pixels)
{
    const struct task *task = context;
    draw_discs(&task->wgan, task->seed, LEARNED, step, pixels);
}

static void critic_fill_unseen(void *context, uint64_t step, float *pixels)
{
    const struct task *task = context;
    draw_discs(&task->wgan, task->seed, UNSEEN, step, pixels);
}

static struct ll_value *pictures(struct ll_nn *nn, struct task *task, const char *name, ll_fill_floats *fill)
{
    struct ll_shape shape = wgan_shape(nn, &task->wgan);
    return ll_feed_floats(nn, name, &shape, fill, task);
}

/* Darker by the same everywhere. */
static struct ll_value *moved(struct ll_nn *nn, const struct task *task, struct ll_value *pictures)
{
    double elements = (double)(task->wgan.image * task->wgan.image * COLOURS);
    return ll_sub_of(nn, pictures, ll_constant(nn, "shift", task->distance / sqrt(elements)));
}

static void critic_add_evaluation(struct ll_nn *nn, struct task *task)
{
    ll_nn_begin_program(nn);
    ll_nn_share(nn, true);
    struct ll_value *unseen = pictures(nn, task, "unseen", critic_fill_unseen);
    struct ll_value *here = ll_nn_do1(nn, LL_OP_MEAN, wgan_criticise(nn, &task->wgan, unseen));
    struct ll_value *there =
        ll_nn_do1(nn, LL_OP_MEAN, wgan_criticise(nn, &task->wgan, moved(nn, task, unseen)));
    task->estimate = ll_sub_of(nn, here, there);
    ll_nn_keep(task->estimate);
    ll_nn_share(nn, false);
}

static struct ll_value *critic_learn(struct ll_nn *nn, struct task *task, double rate)
{
    struct ll_value *seen = pictures(nn, task, "pictures", critic_fill_learned);
    struct ll_rng rng = ll_rng_begin(nn, task->seed);
    ll_nn_share(nn, true);
    struct verdict verdict = wgan_judge(nn, &task->wgan, seen, moved(nn, task, seen), &rng);
    wgan_learn(nn, verdict.loss, "critic", rate);
    ll_nn_share(nn, false);
    return verdict.loss;
}

static struct ll_value *build_critic(struct ll_nn *nn, const struct ll_build *build)
{
    struct task *task = ll_alloc(&nn->arena, 1, sizeof *task);
    uint64_t image = (uint64_t)build->params[CRITIC_IMAGE];
    if (image % 16 != 0 || !task) {
        ll_nn_fail(nn, task ? "image: expected a multiple of 16" : "memory ran out");
        return &nn->nothing;
    }
    task->wgan = (struct wgan){build->batch, image, (uint64_t)build->params[CRITIC_CHANNELS]};
    task->seed = build->seed;
    task->distance = 0.01 * (double)build->params[DISTANCE];
    ll_nn_drive(nn, &(struct ll_driver){.context = task});
    if (!build->train)
        return wgan_criticise(nn, &task->wgan, pictures(nn, task, "pictures", critic_fill_learned));
    struct ll_value *loss = critic_learn(nn, task, 1e-6 * (double)build->params[CRITIC_RATE]);
    if (build->evaluate)
        critic_add_evaluation(nn, task);
    return loss;
}

/* Adds the mean estimate and what the best critic would say, so that a user sees how near it is. */
static bool critic_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct task *task = context;
    double sum = 0;
    for (uint64_t i = 0; i < CRITIC_EVALUATED_BATCHES; i++) {
        ll_runner_run(runner, CRITIC_EVALUATION, i);
        sum += ll_runner_scalar(runner, task->estimate);
    }
    double expected = task->distance * (1 + task->distance / (2 * penalty_weight));
    ll_scores_add(scores, (struct ll_score){"estimate", "distance of unseen pictures from their moved copies",
                                            sum / CRITIC_EVALUATED_BATCHES, false});
    ll_scores_add(
        scores, (struct ll_score){"expected", "what the best critic says: d (1 + d / 20)", expected, false});
    return true;
}

const struct ll_model ll_model_wgan_critic = {
    .name = "wgan_critic",
    .suite = "tbd",
    .doc = "the critic of wgan, which estimates how far two distributions of images are apart",
    .default_batch = 64,
    .params = critic_params,
    .param_count = sizeof critic_params / sizeof *critic_params,
    .build = build_critic,
    .recipe = {.steps = 400, .batch = 16, .settings = {{"image", "16"}, {"channels", "8"}, {"rate", "1000"}}},
    .evaluate = critic_evaluate,
};
