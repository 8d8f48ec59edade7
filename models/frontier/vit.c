/* SPDX-License-Identifier: Apache-2.0 */
/* The vision transformer (Dosovitskiy et al., 2021, table 1; the smaller two: Touvron et al., 2021, table
 * 1): an image's squares of p pixels are the tokens of an encoder, in front of them one of its own, of
 * which the classes are told. With h features, L layers, feed-forward layers of f, images of i pixels and
 * c classes there are t = (i / p)^2 + 1 tokens:
 *
 *     parameters       3 p^2 h + h   h + t h   L (4 h^2 + 2 h f + 9 h + f)   2 h   c h + c
 *     forward FLOPs    6 (t - 1) p^2 h + L (t (8 h^2 + 4 h f) + 4 t^2 h) + 2 h c       of an image
 *
 * 86,567,656 and 35,127,656,448 of the base one with squares of 16. */
#include "models/frontier/tower.h"
#include "models/nn/layers.h"
#include "models/vision/vision.h"

enum { PRESET, IMAGE, PATCH, LAYERS, HIDDEN, HEADS, FFN_HIDDEN, CLASSES, DTYPE, RATE, PARAMS };

/* Layers, features, heads, features inside a feed-forward layer, pixels of a square. */
static const struct preset {
    uint64_t layers, hidden, heads, ffn_hidden, patch;
} presets[] = {{12, 768, 12, 3072, 16},  {12, 768, 12, 3072, 32},  {24, 1024, 16, 4096, 16},
               {24, 1024, 16, 4096, 32}, {32, 1280, 16, 5120, 14}, {12, 192, 3, 768, 16},
               {12, 384, 6, 1536, 16}};
static const char *const preset_words[] = {"b16", "b32", "l16", "l32", "h14", "ti16", "s16", NULL};

static const struct ll_model_param params[PARAMS] = {
    [PRESET] = {"preset", 0, 0, sizeof presets / sizeof *presets - 1,
                "whose sizes are taken where none is set"},
    [IMAGE] = {"image", 224, 1, 1 << 14, "pixels in height and width, a multiple of patch"},
    [PATCH] = {"patch", 0, 0, 1 << 10, "pixels of a square, a token; 0: the preset's"},
    [LAYERS] = {"layers", 0, 0, 1 << 12, "0: the preset's"},
    [HIDDEN] = {"hidden", 0, 0, 1 << 20, "features of each token; 0: the preset's"},
    [HEADS] = {"heads", 0, 0, 1 << 12, "of each attention; 0: the preset's"},
    [FFN_HIDDEN] = {"ffn_hidden", 0, 0, 1 << 22, "features inside a feed-forward layer; 0: the preset's"},
    [CLASSES] = {"classes", 1000, 2, 1 << 20, "that images belong to"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [RATE] = {"rate", 1000, 1, 1000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {[PRESET] = preset_words, [DTYPE] = ll_decoder_dtypes};

static struct ll_value *logits(struct ll_nn *nn, struct ll_value *images, const struct ll_build *build)
{
    const struct preset *preset = &presets[build->params[PRESET]];
    const struct ll_tower tower = {.epsilon = 1e-6, .bias_of_keys = true};
    const uint64_t image = (uint64_t)build->params[IMAGE],
                   patch = ll_decoder_size(build, PATCH, preset->patch);
    struct ll_decoder_sizes sizes = {.layers = ll_decoder_size(build, LAYERS, preset->layers),
                                     .hidden = ll_decoder_size(build, HIDDEN, preset->hidden),
                                     .ffn_hidden = ll_decoder_size(build, FFN_HIDDEN, preset->ffn_hidden),
                                     .heads = ll_decoder_size(build, HEADS, preset->heads),
                                     .seq = image / patch * (image / patch) + 1};
    sizes.kv_heads = sizes.heads;
    sizes.head = sizes.hidden / sizes.heads;
    if (image % patch != 0)
        ll_nn_fail(nn, "-p image=N is no multiple of -p patch=N");
    if (sizes.hidden % sizes.heads != 0)
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
    struct ll_decoder d = ll_decoder_begin(
        nn, build, &(struct ll_decoder_options){.sizes = sizes, .dtype = build->params[DTYPE]});
    d.sees_all = true;
    ll_nn_push(nn, "embedding");
    struct ll_value *x = ll_tower_patches(&d, images, patch, true);
    ll_nn_pop(nn);
    x = ll_layer_norm(nn, "norm", ll_tower_layers(&d, &tower, x, NULL), tower.epsilon);
    x = ll_decoder_dense(&d, "head", ll_tower_first(&d, x),
                         &(struct ll_decoder_dense){(uint64_t)build->params[CLASSES], LL_ROLE_HIDDEN,
                                                    LL_ROLE_PLAIN, true, 0.02});
    return ll_dtype_bytes(nn->real) < ll_dtype_bytes(LL_F32) ? ll_cast_to(nn, x, LL_F32) : x;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct ll_classifier classifier = {
        .image = (uint64_t)build->params[IMAGE],
        .classes = (uint64_t)build->params[CLASSES],
        .optimizer = ll_classifier_adam((double)build->params[RATE] * 1e-6),
        .logits = logits,
    };
    return ll_classifier_build(nn, build, &classifier);
}

const struct ll_model ll_model_vit = {
    .name = "vit",
    .suite = "frontier",
    .doc = "image classification by a transformer (ViT)",
    .data = LL_CLASSIFIER_DATA,
    .default_batch = 32,
    .inference_batch = 1,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 400,
               .batch = 16,
               .settings = {{"image", "32"},
                            {"patch", "8"},
                            {"layers", "2"},
                            {"hidden", "48"},
                            {"heads", "4"},
                            {"ffn_hidden", "96"},
                            {"classes", "10"}}},
    .evaluate = ll_classifier_evaluate,
};
