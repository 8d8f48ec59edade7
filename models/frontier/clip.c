/* SPDX-License-Identifier: Apache-2.0 */
/* CLIP (Radford et al., 2021, table 20): an image goes through a vision transformer, a text through a
 * decoder; what both say, projected and of length one, is compared. Each image of a batch is to find its
 * own text, each text its image. With h features, L layers, squares of p pixels, n tokens of an image, h',
 * L', c tokens and V in the vocabulary of the text, and e features in common:
 *
 *     parameters       3 p^2 h + h + n h   L (12 h^2 + 13 h)   4 h   h e
 *                      V h' + c h'   L' (12 h'^2 + 13 h')   2 h'   h' e   1 (the scale)
 *     forward FLOPs    6 (n - 1) p^2 h + L (24 n h^2 + 4 n^2 h) + 2 h e
 *                      L' (24 c h'^2 + 4 c^2 h') + 2 h' e + 2 b e            of a pair in a batch of b
 *
 * 151,277,313 and 14,777,164,800 of the base one with squares of 32. Here a text has the tokens of its
 * image's class, and ends somewhere: what is said of it is said by its last token. */
#include <math.h>

#include "models/feed.h"
#include "models/frontier/tower.h"
#include "models/nn/layers.h"
#include "models/nn/runner.h"
#include "models/nn/training.h"
#include "tracer/base/random.h"

enum {
    PRESET,
    IMAGE,
    PATCH,
    LAYERS,
    HIDDEN,
    HEADS,
    TEXT_LAYERS,
    TEXT_HIDDEN,
    TEXT_HEADS,
    EMBEDDING,
    CONTEXT,
    VOCABULARY,
    CLASSES,
    DTYPE,
    RATE,
    PARAMS
};
enum { UNSEEN_BATCHES = 4, COLOURS = 3, LEAST_TOKENS = 3 };

/* Layers, features, pixels of a square and of an image; features of a text; in common. Heads have 64
 * features, and texts twelve layers. */
static const struct preset {
    uint64_t layers, hidden, patch, image, text_hidden, embedding;
} presets[] = {{12, 768, 32, 224, 512, 512},
               {12, 768, 16, 224, 512, 512},
               {24, 1024, 14, 224, 768, 768},
               {24, 1024, 14, 336, 768, 768}};
static const char *const preset_words[] = {"b32", "b16", "l14", "l14-336", NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, sizeof presets / sizeof *presets - 1,
                "whose sizes are taken where none is set"},
    [IMAGE] = {"image", 0, 0, 1 << 14, "pixels in height and width, a multiple of patch; 0: the preset's"},
    [PATCH] = {"patch", 0, 0, 1 << 10, "pixels of a square, a token; 0: the preset's"},
    [LAYERS] = {"layers", 0, 0, 1 << 12, "of the image's tower; 0: the preset's"},
    [HIDDEN] = {"hidden", 0, 0, 1 << 20, "features of the image's tokens; 0: the preset's"},
    [HEADS] = {"heads", 0, 0, 1 << 12, "of the image's attentions; 0: of 64 features each"},
    [TEXT_LAYERS] = {"text_layers", 12, 1, 1 << 12, "of the text's tower"},
    [TEXT_HIDDEN] = {"text_hidden", 0, 0, 1 << 20, "features of the text's tokens; 0: the preset's"},
    [TEXT_HEADS] = {"text_heads", 0, 0, 1 << 12, "of the text's attentions; 0: of 64 features each"},
    [EMBEDDING] = {"embedding", 0, 0, 1 << 20, "features that both have in common; 0: the preset's"},
    [CONTEXT] = {"context", 77, LEAST_TOKENS, 1 << 16, "tokens of a text, at most"},
    [VOCABULARY] = {"vocabulary", 49408, 4, 1 << 24, "tokens there are; the last two begin and end a text"},
    [CLASSES] = {"classes", 1000, 2, 1 << 20, "of images and texts that are made up"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [RATE] = {"rate", 500, 1, 1000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {[PRESET] = preset_words, [DTYPE] = ll_decoder_dtypes};

struct clip {
    struct ll_nn *nn;
    struct ll_decoder looker, reader;
    struct ll_images images; /* of the part at hand */
    uint64_t patch, embedding;
    struct ll_value *guesses; /* of the program that is evaluated: the text of each image */
    uint32_t program;
};

/* --- texts --- */

static int32_t class_of(const struct ll_images *images, uint64_t n)
{
    int32_t class;
    ll_image_labels(images, n, 1, &class);
    return class;
}

/* Where text n of a batch ends. */
static uint64_t end_of(const struct clip *c, const struct ll_images *images, uint64_t n)
{
    const uint64_t key = ll_random_key(ll_random_key(images->seed, 5 + images->part), n);
    return LEAST_TOKENS - 1 + ll_random_bits(key, 0) % (c->reader.steps - LEAST_TOKENS + 1);
}

struct feed {
    const struct clip *model;
    struct ll_images images;
};

static void fill_tokens(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_decoder *d = &feed->model->reader;
    const int32_t first = (int32_t)d->sizes.vocabulary - 2, last = first + 1;
    for (uint64_t i = 0; i < d->batch * d->steps; i++) {
        const uint64_t n = step * d->batch + i / d->steps, at = i % d->steps,
                       end = end_of(feed->model, &feed->images, n);
        const uint64_t key = ll_random_key(feed->images.seed, 9 + (uint64_t)class_of(&feed->images, n));
        data[i] = at == 0    ? first
                  : at < end ? (int32_t)(ll_random_bits(key, at) % (uint64_t)first)
                  : at > end ? 0
                             : last;
    }
}

/* The row of each text's last token. */
static void fill_ends(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const struct ll_decoder *d = &feed->model->reader;
    for (uint64_t i = 0; i < d->batch; i++)
        data[i] = (int32_t)(i * d->steps + end_of(feed->model, &feed->images, step * d->batch + i));
}

/* Each image's text is that of its number, each text's image too. */
static void fill_pairs(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    (void)step;
    for (uint64_t i = 0; i < 2 * feed->model->reader.batch; i++)
        data[i] = (int32_t)(i % feed->model->reader.batch);
}

static struct ll_value *numbers(struct clip *c, const char *name, uint64_t each, ll_fill_indices *fill)
{
    const struct feed feed = {c, c->images};
    const uint64_t count = c->reader.batch * each;
    struct ll_shape shape = ll_nn_shape(c->nn, 1, &count, (enum ll_role[]){LL_ROLE_BATCH});
    struct feed *copy = ll_copy(&c->nn->arena, &feed, sizeof feed);
    if (copy)
        return ll_feed_indices(c->nn, name, &shape, fill, copy);
    ll_nn_fail(c->nn, "memory ran out");
    return &c->nn->nothing;
}

/* --- the network --- */

static const struct ll_tower tower = {.epsilon = 1e-5, .quick_gelu = true, .bias_of_keys = true};

/* Rows projected to what both have in common, each over its length. */
static struct ll_value *projected(struct clip *c, struct ll_decoder *d, struct ll_value *rows)
{
    struct ll_nn *nn = c->nn;
    rows = ll_decoder_dense(d, "projection", rows,
                            &(struct ll_decoder_dense){c->embedding, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false,
                                                       1 / sqrt((double)d->sizes.hidden)});
    struct ll_shape column =
        ll_nn_shape(nn, 2, (uint64_t[]){d->batch, 1}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    struct ll_value *squares = ll_sum_over(nn, ll_nn_do1(nn, LL_OP_SQUARE, rows), 1, 1);
    struct ll_value *length = ll_nn_do1(nn, LL_OP_SQRT, ll_nn_reshape(nn, squares, &column));
    return ll_div_of(nn, rows, length);
}

static struct ll_value *looked(struct clip *c)
{
    struct ll_decoder *d = &c->looker;
    struct ll_nn *nn = c->nn;
    struct ll_value *images = ll_feed_images(nn, d->batch, &c->images);
    ll_nn_push(nn, "image");
    ll_nn_push(nn, "embedding");
    struct ll_value *x = ll_tower_patches(d, images, c->patch, false);
    x = ll_layer_norm(nn, "norm", x, tower.epsilon);
    ll_nn_pop(nn);
    x = ll_tower_first(d, ll_tower_layers(d, &tower, x, NULL));
    x = projected(c, d, ll_layer_norm(nn, "norm", x, tower.epsilon));
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *read(struct clip *c)
{
    struct ll_decoder *d = &c->reader;
    struct ll_nn *nn = c->nn;
    struct ll_value *tokens = numbers(c, "tokens", d->steps, fill_tokens);
    struct ll_value *ends = numbers(c, "ends", 1, fill_ends);
    ll_nn_push(nn, "text");
    struct ll_value *x = ll_decoder_sequences(d, ll_nn_gather(nn, ll_decoder_table(d), tokens));
    x = ll_add_of(nn, x, ll_tower_table(d, "positions", d->steps, LL_ROLE_SEQUENCE));
    x = ll_tower_layers(d, &tower, ll_decoder_rows(d, x), NULL);
    x = projected(c, d, ll_nn_gather(nn, ll_layer_norm(nn, "norm", x, tower.epsilon), ends));
    ll_nn_pop(nn);
    return x;
}

/* How well each image of the batch goes with each text, [batch, batch]; the scale starts at 1 / 0.07. */
static struct ll_value *compared(struct clip *c)
{
    struct ll_nn *nn = c->nn;
    struct ll_value *images = looked(c), *texts = read(c);
    struct ll_shape shape = ll_nn_shape(nn, 0, NULL, NULL);
    ll_nn_push(nn, "head");
    struct ll_value *scale =
        ll_nn_do1(nn, LL_OP_EXP,
                  ll_nn_variable(nn, "scale", &shape, LL_WEIGHT,
                                 (struct ll_init){LL_INIT_CONSTANT, log(1 / 0.07), NULL}));
    struct ll_value *x = ll_mul_of(nn, ll_matmul_transposed(nn, images, texts), scale);
    ll_nn_pop(nn);
    return x;
}

/* The mean cross entropy of texts given images and of images given texts. */
static struct ll_value *loss_of(struct clip *c, struct ll_value *logits)
{
    struct ll_value *both[] = {logits, ll_nn_transpose(c->nn, logits, 10)};
    struct ll_value *pairs = numbers(c, "pairs", 2, fill_pairs);
    return ll_decoder_loss(c->nn, ll_nn_concat(c->nn, both, 2, 0), pairs);
}

static struct ll_decoder tower_of(struct ll_nn *nn, const struct ll_build *build, uint64_t layers,
                                  uint64_t hidden, uint64_t heads, uint64_t tokens)
{
    enum { HEAD = 64 };
    struct ll_decoder_sizes sizes = {.layers = layers,
                                     .hidden = hidden,
                                     .ffn_hidden = 4 * hidden,
                                     .heads = heads ? heads : (hidden + HEAD - 1) / HEAD,
                                     .seq = tokens,
                                     .vocabulary = (uint64_t)build->params[VOCABULARY]};
    sizes.kv_heads = sizes.heads;
    sizes.head = hidden / sizes.heads;
    if (hidden % sizes.heads != 0)
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
    return ll_decoder_begin(nn, build,
                            &(struct ll_decoder_options){.sizes = sizes, .dtype = build->params[DTYPE]});
}

static struct clip *begin(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const struct preset *preset = &presets[values[PRESET]];
    struct clip *c = ll_alloc(&nn->arena, 1, sizeof *c);
    if (!c) {
        ll_nn_fail(nn, "memory ran out");
        return NULL;
    }
    const uint64_t image = ll_decoder_size(build, IMAGE, preset->image),
                   patch = ll_decoder_size(build, PATCH, preset->patch);
    *c = (struct clip){
        .nn = nn,
        .looker = tower_of(nn, build, ll_decoder_size(build, LAYERS, preset->layers),
                           ll_decoder_size(build, HIDDEN, preset->hidden), (uint64_t)values[HEADS],
                           image / patch * (image / patch) + 1),
        .reader = tower_of(nn, build, (uint64_t)values[TEXT_LAYERS],
                           ll_decoder_size(build, TEXT_HIDDEN, preset->text_hidden),
                           (uint64_t)values[TEXT_HEADS], (uint64_t)values[CONTEXT]),
        .images = {image, image, COLOURS, (uint64_t)values[CLASSES], build->seed, LL_LEARNED, NULL},
        .patch = patch,
        .embedding = ll_decoder_size(build, EMBEDDING, preset->embedding),
    };
    c->looker.sees_all = true;
    if (image % patch != 0)
        ll_nn_fail(nn, "-p image=N is no multiple of -p patch=N");
    ll_nn_drive(nn, &(struct ll_driver){.context = c});
    return nn->trouble ? NULL : c;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = (double)build->params[RATE] * 1e-6,
                                      .beta1 = 0.9,
                                      .beta2 = 0.98,
                                      .epsilon = 1e-6};
    struct clip *c = begin(nn, build);
    if (!c)
        return &nn->nothing;
    struct ll_value *logits = compared(c);
    if (!build->train)
        return logits;
    struct ll_value *loss = loss_of(c, logits);
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
    if (build->evaluate && !nn->trouble) {
        c->program = ll_nn_begin_program(nn);
        c->images.part = LL_HELD_BACK;
        c->guesses = ll_nn_do1(nn, LL_OP_ARGMAX, compared(c));
        ll_nn_keep(c->guesses);
    }
    return loss;
}

/* A text of the image's class is as right as its own. */
static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct clip *c = context;
    const uint64_t batch = c->looker.batch;
    uint64_t right = 0;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, c->program, step);
        const int32_t *guesses = ll_runner_data(runner, c->guesses);
        for (uint64_t i = 0; i < batch; i++)
            right += class_of(&c->images, step * batch + i) ==
                     class_of(&c->images, step * batch + (uint64_t)guesses[i]);
    }
    ll_scores_add(scores, (struct ll_score){"texts", "share of unseen images that find a text of their class",
                                            (double)right / (double)(batch * UNSEEN_BATCHES), false});
    return true;
}

const struct ll_model ll_model_clip = {
    .name = "clip",
    .suite = "frontier",
    .doc = "images and texts in one space (CLIP)",
    .default_batch = 256,
    .inference_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 2000,
               .batch = 16,
               .settings = {{"image", "16"},
                            {"patch", "8"},
                            {"layers", "1"},
                            {"hidden", "48"},
                            {"heads", "4"},
                            {"text_layers", "1"},
                            {"text_hidden", "32"},
                            {"text_heads", "4"},
                            {"embedding", "32"},
                            {"context", "6"},
                            {"vocabulary", "64"},
                            {"classes", "64"}}},
    .evaluate = evaluate,
};
