/* SPDX-License-Identifier: Apache-2.0 */
/* The diffusion transformer (Peebles and Xie, 2023, table 1): noise is taken out of the latent image of an
 * autoencoder, c channels of i pixels, step by step; squares of p pixels are tokens, and the time of the
 * step and the class that is wanted set how each layer normalises and how much it adds. With h features, L
 * layers, feed-forward layers of 4 h, k classes and one for none, t = (i / p)^2 tokens:
 *
 *     parameters       c p^2 h + h   t h   256 h + h + h^2 + h   (k + 1) h  (t h: sines, not trained)
 *                      L (18 h^2 + 15 h)   2 h^2 + 2 h   2 c p^2 h + 2 c p^2
 *     forward FLOPs    2 t c p^2 h + 2 (256 h + h^2) + L (24 t h^2 + 4 t^2 h + 12 h^2) + 4 h^2 + 4 t c p^2 h
 *
 * 675,129,632 and 237,242,843,136 of XL/2 at 256 x 256 pixels, whose latent image has 32 x 32. What comes
 * out is the noise and, not trained here, its variance. Here latent images are patterns of their classes
 * under noise.
 *
 * Presets sd3 and flux are transformers of two streams (Esser et al., Stable Diffusion 3, 2024, section 4;
 * Black Forest Labs, FLUX.1, 2024): joint.c. */
#include <math.h>

#include "models/feed.h"
#include "models/frontier/joint.h"
#include "models/frontier/tower.h"
#include "models/nn/layers.h"
#include "models/nn/runner.h"
#include "models/nn/training.h"
#include "tracer/base/random.h"

enum { PRESET, IMAGE, CHANNELS, PATCH, LAYERS, HIDDEN, HEADS, CLASSES, DTYPE, RATE, TEXT, PARAMS };
enum { UNSEEN_BATCHES = 4, TIMES = 1000, SINES = 256 };

static const struct preset {
    uint64_t layers, hidden, heads;
} presets[] = {{28, 1152, 16}, {24, 1024, 16}, {12, 768, 12}, {12, 384, 6}};
enum { PLAIN_PRESETS = sizeof presets / sizeof *presets };
static const char *const preset_words[] = {
    "xl", "l", "b", "s", "sd3-medium", "sd3.5-large", "flux-dev", "flux-schnell", NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, PLAIN_PRESETS + LL_JOINT_PRESETS - 1,
                "whose sizes are taken where none is set"},
    [IMAGE] =
        {"image", 0, 0, 1 << 12,
         "pixels of the latent image in height and width, a multiple of patch; 0: 32, of sd3 and flux 128"},
    [CHANNELS] = {"channels", 0, 0, 1 << 10, "of the latent image; 0: 4, of sd3 and flux 16"},
    [PATCH] = {"patch", 2, 1, 1 << 10, "pixels of a square, a token"},
    [LAYERS] = {"layers", 0, 0, 1 << 12, "0: the preset's"},
    [HIDDEN] = {"hidden", 0, 0, 1 << 20, "features of each token, an even number; 0: the preset's"},
    [HEADS] = {"heads", 0, 0, 1 << 12, "of each attention; 0: the preset's"},
    [CLASSES] = {"classes", 1000, 2, 1 << 20, "that images belong to"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [RATE] = {"rate", 1000, 1, 1000000, "of learning, in millionths"},
    [TEXT] = {"text", 0, 0, 1 << 16, "tokens of a text, of sd3 and flux; 0: 154 and 512"},
};
static const char *const *const words[PARAMS] = {[PRESET] = preset_words, [DTYPE] = ll_decoder_dtypes};

struct dit {
    struct ll_nn *nn;
    struct ll_decoder decoder;
    struct ll_images images; /* of the part at hand */
    uint64_t patch;
    struct ll_value *unit, *nothing; /* what norms without weights multiply by and add */
    struct ll_value *left; /* of the program that is evaluated: the mean square of what is not taken out */
    uint32_t program;
};

/* --- noise --- */

/* When sample n is, and the noise of its element i: the sum of twelve uniform numbers, less six. */
static uint64_t time_of(const struct ll_images *images, uint64_t n)
{
    return ll_random_bits(ll_random_key(ll_random_key(images->seed, 3 + images->part), n), 0) % TIMES;
}

static float noise_of(const struct ll_images *images, uint64_t n, uint64_t i)
{
    const uint64_t key = ll_random_key(ll_random_key(images->seed, 5 + images->part), n);
    double sum = -6;
    for (unsigned k = 0; k < 12; k++)
        sum += (double)(ll_random_bits(key, 12 * i + k) % 4096) / 4096;
    return (float)sum;
}

/* How much of an image is left at a time (Nichol and Dhariwal, 2021, equation 17). */
static double share_left(uint64_t time)
{
    const double quarter = 1.5707963267948966, angle = ((double)time / TIMES + 0.008) / 1.008 * quarter;
    return cos(angle) * cos(angle);
}

struct feed {
    const struct dit *model;
    struct ll_images images;
};

static uint64_t elements(const struct ll_images *images)
{
    return images->height * images->width * images->channels;
}

static void fill_noised(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    const uint64_t batch = feed->model->decoder.batch, each = elements(&feed->images);
    ll_image_pixels(&feed->images, step * batch, batch, data);
    for (uint64_t i = 0; i < batch * each; i++) {
        const uint64_t n = step * batch + i / each;
        const double left = share_left(time_of(&feed->images, n));
        data[i] = (float)(sqrt(left) * (double)data[i] +
                          sqrt(1 - left) * (double)noise_of(&feed->images, n, i % each));
    }
}

static void fill_noise(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    const uint64_t batch = feed->model->decoder.batch, each = elements(&feed->images);
    for (uint64_t i = 0; i < batch * each; i++)
        data[i] = noise_of(&feed->images, step * batch + i / each, i % each);
}

/* Cosines and sines of a time, as of positions (Vaswani et al., 2017). */
static void fill_times(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->model->decoder.batch * SINES; i++) {
        const uint64_t half = SINES / 2, column = i % SINES;
        const double time = (double)time_of(&feed->images, step * feed->model->decoder.batch + i / SINES);
        const double angle = time * pow(10000, -(double)(column % half) / (double)half);
        data[i] = (float)(column < half ? cos(angle) : sin(angle));
    }
}

static void fill_classes(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const uint64_t batch = feed->model->decoder.batch;
    ll_image_labels(&feed->images, step * batch, batch, data);
}

static struct feed *feed_of(struct dit *m)
{
    const struct feed feed = {m, m->images};
    struct feed *copy = ll_copy(&m->nn->arena, &feed, sizeof feed);
    if (!copy)
        ll_nn_fail(m->nn, "memory ran out");
    return copy;
}

static struct ll_value *pixels(struct dit *m, const char *name, ll_fill_floats *fill)
{
    const struct ll_images *images = &m->images;
    struct ll_shape shape =
        ll_nn_shape(m->nn, 4, (uint64_t[]){m->decoder.batch, images->height, images->width, images->channels},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    struct feed *feed = feed_of(m);
    return feed ? ll_feed_floats(m->nn, name, &shape, fill, feed) : &m->nn->nothing;
}

/* --- the network --- */

static struct ll_value *dense(struct dit *m, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_role from, enum ll_role to, double deviation)
{
    return ll_decoder_dense(&m->decoder, name, x,
                            &(struct ll_decoder_dense){units, from, to, true, deviation});
}

static struct ll_value *silu(struct ll_nn *nn, struct ll_value *x)
{
    return ll_mul_of(nn, x, ll_nn_do1(nn, LL_OP_SIGMOID, x));
}

/* [batch, hidden], the condition of all layers: silu of the time and the class. */
static struct ll_value *condition(struct dit *m)
{
    struct ll_nn *nn = m->nn;
    struct ll_decoder *d = &m->decoder;
    const uint64_t hidden = d->sizes.hidden;
    struct feed *feed = feed_of(m);
    struct ll_shape sines = ll_nn_shape(nn, 2, (uint64_t[]){d->batch, SINES},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN}),
                    line = ll_nn_shape(nn, 1, &d->batch, (enum ll_role[]){LL_ROLE_BATCH});
    if (!feed)
        return &nn->nothing;
    struct ll_value *time = ll_feed_floats(nn, "times", &sines, fill_times, feed);
    struct ll_value *class = ll_feed_indices(nn, "classes", &line, fill_classes, feed);
    ll_nn_push(nn, "time");
    time = silu(nn, dense(m, "input", time, hidden, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN, 0.02));
    time = dense(m, "output", time, hidden, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN, 0.02);
    ll_nn_pop(nn);
    class = ll_nn_gather(nn, ll_tower_table(d, "classes", m->images.classes + 1, LL_ROLE_VOCABULARY), class);
    return silu(nn, ll_add_of(nn, time, class));
}

/* So many vectors [batch, 1, hidden] that a condition sets; they start at zero. */
static void set(struct dit *m, struct ll_value *condition, unsigned count, struct ll_value **vectors)
{
    struct ll_nn *nn = m->nn;
    const uint64_t hidden = m->decoder.sizes.hidden;
    struct ll_value *all =
        dense(m, "modulation", condition, count * hidden, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN, 0);
    struct ll_shape each = ll_nn_shape(nn, 3, (uint64_t[]){m->decoder.batch, 1, hidden},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN});
    for (unsigned i = 0; i < count; i++)
        vectors[i] = ll_nn_reshape(nn, ll_nn_slice(nn, all, 1, i * hidden, hidden), &each);
}

/* norm(x) (1 + scale) + shift, rows; the norm has no weights. */
static struct ll_value *modulated(struct dit *m, struct ll_value *x, struct ll_value *shift,
                                  struct ll_value *scale)
{
    struct ll_nn *nn = m->nn;
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, 1e-6);
    struct ll_value *inputs[] = {x, m->unit, m->nothing};
    x = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_LAYER_NORM, .input_count = 3, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    struct ll_value *factor = ll_add_of(nn, scale, ll_constant(nn, "one", 1));
    x = ll_add_of(nn, ll_mul_of(nn, ll_decoder_sequences(&m->decoder, x), factor), shift);
    return ll_decoder_rows(&m->decoder, x);
}

/* x + gate y */
static struct ll_value *gated(struct dit *m, struct ll_value *x, struct ll_value *y, struct ll_value *gate)
{
    y = ll_mul_of(m->nn, ll_decoder_sequences(&m->decoder, y), gate);
    return ll_add_of(m->nn, x, ll_decoder_rows(&m->decoder, y));
}

static struct ll_value *layer(struct dit *m, struct ll_value *x, struct ll_value *condition)
{
    enum { SHIFT_1, SCALE_1, GATE_1, SHIFT_2, SCALE_2, GATE_2, VECTORS };
    struct ll_decoder *d = &m->decoder;
    struct ll_nn *nn = m->nn;
    const uint64_t hidden = d->sizes.hidden;
    struct ll_value *v[VECTORS];
    set(m, condition, VECTORS, v);
    ll_nn_push(nn, "attention");
    struct ll_value *all = dense(m, "query_key_value", modulated(m, x, v[SHIFT_1], v[SCALE_1]), 3 * hidden,
                                 LL_ROLE_HIDDEN, LL_ROLE_HEADS, 0.02);
    struct ll_value *const *parts = ll_nn_split(nn, all, 1, 3);
    struct ll_value *y = ll_decoder_attend(d, parts[0], parts[1], parts[2]);
    x = gated(m, x, dense(m, "output", y, hidden, LL_ROLE_HEADS, LL_ROLE_HIDDEN, 0.02), v[GATE_1]);
    ll_nn_pop(nn);
    ll_nn_push(nn, "feed_forward");
    y = dense(m, "input", modulated(m, x, v[SHIFT_2], v[SCALE_2]), d->sizes.ffn_hidden, LL_ROLE_HIDDEN,
              LL_ROLE_FFN_HIDDEN, 0.02);
    y = dense(m, "output", ll_nn_do1(nn, LL_OP_GELU, y), hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN, 0.02);
    x = gated(m, x, y, v[GATE_2]);
    ll_nn_pop(nn);
    return x;
}

/* Squares [batch tokens, p p channels] put together: [batch, image, image, channels]. */
static struct ll_value *put_together(struct dit *m, struct ll_value *squares, uint64_t channels)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH,   LL_ROLE_SPATIAL, LL_ROLE_SPATIAL,
                                         LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL},
                              whole[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    struct ll_nn *nn = m->nn;
    const uint64_t batch = m->decoder.batch, p = m->patch, side = m->images.height / p;
    struct ll_shape six = ll_nn_shape(nn, 6, (uint64_t[]){batch, side, side, p, p, channels}, apart),
                    four = ll_nn_shape(nn, 4, (uint64_t[]){batch, side * p, side * p, channels}, whole);
    return ll_nn_reshape(nn, ll_nn_transpose(nn, ll_nn_reshape(nn, squares, &six), 13245), &four);
}

/* The noise of latent images, and its variance behind it: [batch, image, image, 2 channels]. */
static struct ll_value *net(struct dit *m)
{
    struct ll_nn *nn = m->nn;
    struct ll_decoder *d = &m->decoder;
    const uint64_t hidden = d->sizes.hidden, channels = 2 * m->images.channels;
    struct ll_shape line = ll_nn_shape(nn, 1, &hidden, (enum ll_role[]){LL_ROLE_HIDDEN});
    struct ll_value *x = pixels(m, "noised", fill_noised), *v[2];
    m->unit = ll_filled(nn, "unit", &line, 1);
    m->nothing = ll_filled(nn, "nothing", &line, 0);
    ll_nn_push(nn, "embedding");
    x = ll_tower_squares(d, x, m->patch);
    struct ll_value *state = condition(m);
    ll_nn_pop(nn);
    for (unsigned i = 0; i < d->sizes.layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", i);
        x = layer(m, x, state);
        ll_nn_pop(nn);
    }
    ll_nn_push(nn, "head");
    set(m, state, 2, v);
    x = dense(m, "output", modulated(m, x, v[0], v[1]), m->patch * m->patch * channels, LL_ROLE_HIDDEN,
              LL_ROLE_PLAIN, 0);
    x = put_together(m, x, channels);
    ll_nn_pop(nn);
    return x;
}

/* The mean square of what is left when the noise that was found is taken out. */
static struct ll_value *left_of(struct dit *m)
{
    struct ll_nn *nn = m->nn;
    struct ll_value *found = ll_nn_slice(nn, net(m), 3, 0, m->images.channels);
    struct ll_value *noise = pixels(m, "noise", fill_noise);
    ll_nn_push(nn, "loss");
    struct ll_value *left =
        ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do1(nn, LL_OP_SQUARE, ll_sub_of(nn, found, noise)));
    ll_nn_pop(nn);
    return left;
}

static struct dit *begin(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const struct preset *preset = &presets[values[PRESET]];
    const uint64_t image = ll_decoder_size(build, IMAGE, 32), patch = (uint64_t)values[PATCH];
    struct dit *m = ll_alloc(&nn->arena, 1, sizeof *m);
    if (!m) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    struct ll_decoder_sizes sizes = {.layers = ll_decoder_size(build, LAYERS, preset->layers),
                                     .hidden = ll_decoder_size(build, HIDDEN, preset->hidden),
                                     .heads = ll_decoder_size(build, HEADS, preset->heads),
                                     .seq = image / patch * (image / patch)};
    sizes.kv_heads = sizes.heads;
    sizes.head = sizes.hidden / sizes.heads;
    sizes.ffn_hidden = 4 * sizes.hidden;
    *m = (struct dit){
        .nn = nn,
        .decoder =
            ll_decoder_begin(nn, build, &(struct ll_decoder_options){.sizes = sizes, .dtype = values[DTYPE]}),
        .images = {image, image, ll_decoder_size(build, CHANNELS, 4), (uint64_t)values[CLASSES], build->seed,
                   LL_LEARNED, NULL},
        .patch = patch,
    };
    m->decoder.sees_all = true;
    if (image % patch != 0)
        ll_nn_fail(nn, "-p image=N is no multiple of -p patch=N");
    if (sizes.hidden % sizes.heads != 0 || sizes.hidden % 2 != 0)
        ll_nn_fail(nn,
                   "features cannot be shared out evenly among the heads of an attention, and two halves");
    ll_nn_drive(nn, &(struct ll_driver){.context = m});
    return nn->trouble ? NULL : m;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = (double)build->params[RATE] * 1e-6,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .epsilon = 1e-8};
    if (build->params[PRESET] >= PLAIN_PRESETS)
        return ll_joint_build(
            nn, build,
            &(struct ll_joint_settings){.preset = (size_t)(build->params[PRESET] - PLAIN_PRESETS),
                                        .image = ll_decoder_size(build, IMAGE, 128),
                                        .channels = ll_decoder_size(build, CHANNELS, 16),
                                        .patch = (uint64_t)build->params[PATCH],
                                        .layers = (uint64_t)build->params[LAYERS],
                                        .hidden = (uint64_t)build->params[HIDDEN],
                                        .heads = (uint64_t)build->params[HEADS],
                                        .text = (uint64_t)build->params[TEXT],
                                        .dtype = build->params[DTYPE]},
            &adam);
    struct dit *m = begin(nn, build);
    if (!m)
        return &nn->nothing;
    if (!build->train)
        return net(m);
    struct ll_value *loss = left_of(m);
    if (!nn->trouble) {
        ll_nn_keep(loss);
        ll_minimise(nn, loss, &adam);
    }
    if (build->evaluate && !nn->trouble) {
        m->program = ll_nn_begin_program(nn);
        m->images.part = LL_HELD_BACK;
        m->left = left_of(m);
        ll_nn_keep(m->left);
    }
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct dit *m = context;
    double sum = 0;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, m->program, step);
        sum += ll_runner_scalar(runner, m->left);
    }
    ll_scores_add(scores, (struct ll_score){"noise", "mean square of the noise of unseen images that is left",
                                            sum / UNSEEN_BATCHES, true});
    return true;
}

const struct ll_model ll_model_dit = {
    .name = "dit",
    .suite = "frontier",
    .doc = "image generation: a diffusion transformer (DiT; Stable Diffusion 3, FLUX.1)",
    .default_batch = 256,
    .inference_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 1500,
               .batch = 16,
               .settings = {{"image", "8"},
                            {"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"classes", "4"},
                            {"rate", "2000"}}},
    .evaluate = evaluate,
};
