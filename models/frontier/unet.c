/* SPDX-License-Identifier: Apache-2.0 */
/* The network that takes noise out of Stable Diffusion's latent images (Rombach et al., 2022; XL: Podell
 * et al., 2023), as diffusers has it: convolutions and attention go down to coarser images and up again,
 * where they read what they left on the way down; attention also reads the tokens of a text of c features.
 * Parts, with i and o channels:
 *
 *   residual      norm, SiLU, conv 3, + time (1280 to o), norm, SiLU, conv 3; + x, by a conv 1 if i is not o
 *                 9 i o + 9 o^2 + 1283 o + 2 (i + o), perhaps i o + o, of weights
 *   transformer   norm, conv 1, layers of attention to itself, to the text, and 8 o gated to 4 o, conv 1; + x
 *                 2 o^2 + 4 o + d (20 o^2 + 2 c o + 17 o) with d layers
 *
 * 859,520,964 parameters of 1.5, 2,567,463,684 of XL. The norms are of 32 groups of channels, whose
 * gradients nobody has said here: nothing is trained. Text and noise are numbers at random, which only a
 * run that computes would see. */
#include <assert.h>

#include "models/feed.h"
#include "models/frontier/decoder.h"
#include "models/nn/layers.h"

enum { PRESET, IMAGE, TOKENS, DTYPE, PARAMS };
enum { MOST_STAGES = 4, LATENT = 4, GROUPS = 32, SINES = 320, TIME = 1280, POOLED = 2816, UNITS = 2 };

/* Channels of each stage; layers of its transformers, 0: it has none; of those in the middle; features of
 * a text's token and of a head (0: eight heads); whether what is known of the image besides is added to
 * the time. */
static const struct preset {
    uint64_t stages, channels[MOST_STAGES], depth[MOST_STAGES], middle, text, head, image;
    bool pooled;
} presets[] = {
    {4, {320, 640, 1280, 1280}, {1, 1, 1, 0}, 1, 768, 0, 64, false},
    {3, {320, 640, 1280}, {0, 2, 10}, 10, 2048, 64, 128, true},
};
static const char *const preset_words[] = {"sd15", "sdxl", NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, sizeof presets / sizeof *presets - 1, "Stable Diffusion 1.5 or XL"},
    [IMAGE] = {"image", 0, 0, 1 << 12,
               "pixels of the latent image in height and width, a multiple of 8; 0: the preset's"},
    [TOKENS] = {"tokens", 77, 1, 1 << 16, "of a text"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
};
static const char *const *const words[PARAMS] = {[PRESET] = preset_words, [DTYPE] = ll_decoder_dtypes};

struct unet {
    struct ll_nn *nn;
    const struct preset *preset;
    struct ll_decoder decoder;    /* sizes and steps are those of the transformer at hand */
    struct ll_value *time, *text; /* [batch, TIME], behind a SiLU; rows [batch tokens, features] */
};

static void fill_numbers(void *context, uint64_t step, float *data)
{
    const uint64_t *count = context;
    for (uint64_t i = 0; i < *count; i++)
        data[i] = (float)((i * 37 + step * 11) % 101) / 50 - 1;
}

static struct ll_value *numbers(struct unet *u, const char *name, const struct ll_shape *shape)
{
    const uint64_t count = ll_elements(shape);
    uint64_t *copy = ll_copy(&u->nn->arena, &count, sizeof count);
    if (copy)
        return ll_feed_floats(u->nn, name, shape, fill_numbers, copy);
    ll_nn_fail(u->nn, "memory ran out");
    return &u->nn->nothing;
}

static struct ll_value *silu(struct ll_nn *nn, struct ll_value *x)
{
    return ll_mul_of(nn, x, ll_nn_do1(nn, LL_OP_SIGMOID, x));
}

static struct ll_value *conv(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                             uint64_t stride, uint64_t filters)
{
    if (nn->trouble)
        return &nn->nothing;
    struct ll_conv_options options = ll_conv_of(x->shape.dim[3], kernel, stride, filters, 1);
    options.padding = LL_HALF;
    return ll_conv_layer(nn, name, x, &options);
}

static struct ll_value *dense(struct unet *u, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_role from, enum ll_role to, bool biased)
{
    return ll_decoder_dense(&u->decoder, name, x, &(struct ll_decoder_dense){units, from, to, biased, 0.02});
}

/* Each group of channels of each image (Wu and He, 2018). */
static struct ll_value *normed(struct ll_nn *nn, const char *name, struct ll_value *x)
{
    static const enum ll_role role = LL_ROLE_CHANNEL;
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape line = ll_nn_shape(nn, 1, &x->shape.dim[3], &role);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_GROUPS, GROUPS),
                                    ll_attr_of_real(LL_ATTR_EPSILON, 1e-5)};
    ll_nn_push(nn, name);
    struct ll_value *inputs[] = {
        x, ll_nn_variable(nn, "scale", &line, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL}),
        ll_nn_variable(nn, "bias", &line, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 0, NULL})};
    x = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_GROUP_NORM, .input_count = 3, .inputs = inputs, .attr_count = 2, .attrs = attrs});
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *residual(struct unet *u, const char *name, unsigned number, struct ll_value *x,
                                 uint64_t channels)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    struct ll_nn *nn = u->nn;
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape each = ll_nn_shape(nn, 4, (uint64_t[]){u->decoder.batch, 1, 1, channels}, roles);
    ll_nn_push_numbered(nn, name, number);
    struct ll_value *y = conv(nn, "conv1", silu(nn, normed(nn, "norm1", x)), 3, 1, channels);
    struct ll_value *time = dense(u, "time", u->time, channels, LL_ROLE_HIDDEN, LL_ROLE_CHANNEL, true);
    y = ll_add_of(nn, y, ll_nn_reshape(nn, time, &each));
    y = conv(nn, "conv2", silu(nn, normed(nn, "norm2", y)), 3, 1, channels);
    x = x->shape.dim[3] == channels ? x : conv(nn, "shortcut", x, 1, 1, channels);
    x = ll_add_of(nn, x, y);
    ll_nn_pop(nn);
    return x;
}

/* x + attention of its norm to rows of a memory, or to itself. */
static struct ll_value *attended(struct unet *u, const char *name, struct ll_value *x,
                                 struct ll_value *memory)
{
    const uint64_t hidden = u->decoder.sizes.hidden;
    struct ll_nn *nn = u->nn;
    ll_nn_push(nn, name);
    struct ll_value *asks = ll_layer_norm(nn, "norm", x, 1e-5), *seen = memory ? memory : asks;
    struct ll_value *q = dense(u, "query", asks, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false);
    struct ll_value *k = dense(u, "key", seen, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false);
    struct ll_value *v = dense(u, "value", seen, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false);
    struct ll_value *y = ll_decoder_attend(&u->decoder, q, k, v);
    x = ll_add_of(nn, x, dense(u, "output", y, hidden, LL_ROLE_HEADS, LL_ROLE_HIDDEN, true));
    ll_nn_pop(nn);
    return x;
}

/* x + (a gelu(b)) W + c, of a and b that are made together (Shazeer, 2020, GEGLU). */
static struct ll_value *fed_forward(struct unet *u, struct ll_value *x)
{
    const uint64_t hidden = u->decoder.sizes.hidden;
    struct ll_nn *nn = u->nn;
    ll_nn_push(nn, "feed_forward");
    struct ll_value *both = dense(u, "input", ll_layer_norm(nn, "norm", x, 1e-5), 8 * hidden, LL_ROLE_HIDDEN,
                                  LL_ROLE_FFN_HIDDEN, true);
    struct ll_value *const *parts = ll_nn_split(nn, both, 1, 2);
    struct ll_value *y = ll_mul_of(nn, parts[0], ll_nn_do1(nn, LL_OP_GELU, parts[1]));
    x = ll_add_of(nn, x, dense(u, "output", y, hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN, true));
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *transformer(struct unet *u, unsigned number, struct ll_value *image, uint64_t depth)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    enum { HEADS = 8 };
    struct ll_nn *nn = u->nn;
    struct ll_decoder *d = &u->decoder;
    if (nn->trouble || depth == 0)
        return image;
    const uint64_t *dim = image->shape.dim, hidden = dim[3];
    d->steps = d->context = dim[1] * dim[2];
    d->sizes.hidden = hidden;
    d->sizes.heads = d->sizes.kv_heads = u->preset->head ? hidden / u->preset->head : HEADS;
    d->sizes.head = hidden / d->sizes.heads;
    struct ll_shape whole = image->shape,
                    rows = ll_nn_shape(nn, 2, (uint64_t[]){d->batch * d->steps, hidden}, roles);
    ll_nn_push_numbered(nn, "transformer", number);
    struct ll_value *x = ll_nn_reshape(nn, normed(nn, "norm", image), &rows);
    x = dense(u, "input", x, hidden, LL_ROLE_CHANNEL, LL_ROLE_HIDDEN, true);
    for (unsigned i = 0; i < depth && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", i);
        x = attended(u, "attention", x, NULL);
        x = attended(u, "text_attention", x, u->text);
        x = fed_forward(u, x);
        ll_nn_pop(nn);
    }
    x = dense(u, "output", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_CHANNEL, true);
    x = ll_add_of(nn, image, ll_nn_reshape(nn, x, &whole));
    ll_nn_pop(nn);
    return x;
}

/* Two dense layers, a SiLU between. */
static struct ll_value *embedded(struct unet *u, const char *name, uint64_t features)
{
    struct ll_nn *nn = u->nn;
    struct ll_shape line = ll_nn_shape(nn, 2, (uint64_t[]){u->decoder.batch, features},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *x = numbers(u, name, &line);
    ll_nn_push(nn, name);
    x = silu(nn, dense(u, "input", x, TIME, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN, true));
    x = dense(u, "output", x, TIME, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN, true);
    ll_nn_pop(nn);
    return x;
}

/* What all parts read. */
static void told(struct unet *u, uint64_t tokens)
{
    struct ll_nn *nn = u->nn;
    struct ll_shape text = ll_nn_shape(nn, 2, (uint64_t[]){u->decoder.batch * tokens, u->preset->text},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    u->text = numbers(u, "text", &text);
    u->time = embedded(u, "time", SINES);
    if (u->preset->pooled)
        u->time = ll_add_of(nn, u->time, embedded(u, "pooled", POOLED));
    u->time = silu(nn, u->time);
}

/* Noise of a latent image, [batch, image, image, LATENT]. */
static struct ll_value *net(struct unet *u, struct ll_value *x)
{
    const struct preset *p = u->preset;
    struct ll_value *left[MOST_STAGES * (UNITS + 1) + 1];
    struct ll_nn *nn = u->nn;
    size_t count = 0;
    x = left[count++] = conv(nn, "stem", x, 3, 1, p->channels[0]);
    for (unsigned s = 0; s < p->stages; s++) {
        ll_nn_push_numbered(nn, "down", s);
        for (unsigned i = 0; i < UNITS; i++) {
            x = residual(u, "residual", i, x, p->channels[s]);
            x = left[count++] = transformer(u, i, x, p->depth[s]);
        }
        if (s + 1 < p->stages)
            x = left[count++] = conv(nn, "coarser", x, 3, 2, p->channels[s]);
        ll_nn_pop(nn);
    }
    ll_nn_push(nn, "middle");
    x = residual(u, "residual", 0, x, p->channels[p->stages - 1]);
    x = transformer(u, 0, x, p->middle);
    x = residual(u, "residual", 1, x, p->channels[p->stages - 1]);
    ll_nn_pop(nn);
    for (unsigned s = (unsigned)p->stages; s-- > 0;) {
        ll_nn_push_numbered(nn, "up", s);
        for (unsigned i = 0; i <= UNITS; i++) {
            x = ll_nn_concat(nn, (struct ll_value *[]){x, left[--count]}, 2, 3);
            x = transformer(u, i, residual(u, "residual", i, x, p->channels[s]), p->depth[s]);
        }
        if (s > 0)
            x = conv(nn, "finer", ll_nn_upsample(nn, x, 2), 3, 1, p->channels[s]);
        ll_nn_pop(nn);
    }
    assert(count == 0);
    ll_nn_push(nn, "head");
    x = conv(nn, "conv", silu(nn, normed(nn, "norm", x)), 3, 1, LATENT);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const struct preset *preset = &presets[values[PRESET]];
    const uint64_t image = ll_decoder_size(build, IMAGE, preset->image);
    const struct ll_decoder_options options = {.sizes = {.hidden = 1, .heads = 1, .kv_heads = 1, .seq = 1},
                                               .dtype = values[DTYPE]};
    struct unet u = {.nn = nn, .preset = preset, .decoder = ll_decoder_begin(nn, build, &options)};
    u.decoder.sees_all = true;
    if (image % 8 != 0)
        ll_nn_fail(nn, "-p image=N is no multiple of 8");
    if (build->train)
        ll_nn_fail(nn, "norms of groups of channels have no gradient here; expected --infer");
    struct ll_shape pixels =
        ll_nn_shape(nn, 4, (uint64_t[]){build->batch, image, image, LATENT},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    if (nn->trouble)
        return &nn->nothing;
    struct ll_value *x = numbers(&u, "noised", &pixels);
    told(&u, (uint64_t)values[TOKENS]);
    return net(&u, x);
}

const struct ll_model ll_model_unet = {
    .name = "unet",
    .suite = "frontier",
    .doc = "image generation: the U-Net of Stable Diffusion 1.5 and XL",
    .default_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .infers = true,
    .build = build,
};
