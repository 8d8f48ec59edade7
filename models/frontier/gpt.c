/* SPDX-License-Identifier: Apache-2.0 */
/* GPT (Radford et al., 2019; Brown et al., 2020; Shoeybi et al., Megatron-LM, 2019): what a layer reads is
 * normalised, positions are learned, one table serves tokens that come in and tokens that go out. With h
 * features, L layers, an FFN width of f (4 h unless set), s tokens a sequence and V in the vocabulary:
 *
 *     parameters       V h + s h + L (4 h^2 + 2 h f + 9 h + f) + 2 h          L (12 h^2 + 13 h) at f = 4 h
 *     forward FLOPs    s (L (8 h^2 + 4 h f) + 2 h V) + 4 s^2 h L      of a sequence, all pairs of tokens
 *
 * Presets are GPT-2's and GPT-3's sizes, those of Megatron-LM (Korthikanti et al., 2022, table 3) and of
 * MosaicML's MPT. Trained by Adam as in the GPT-3 paper, without its clipping and schedule. */
#include <math.h>

#include "models/feed.h"
#include "models/frontier/decoder.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"

enum { GPT_DROPOUT = LL_DECODER_PARAMS, GPT_GELU, GPT_PARAMS };

static const struct ll_decoder_sizes presets[] = {
#define LL_GPT(name, layers_, hidden_, heads_, seq_, vocabulary_)                                            \
    {.layers = layers_, .hidden = hidden_, .heads = heads_, .seq = seq_, .vocabulary = vocabulary_},
#include "models/frontier/presets.def"
};
static const char *const preset_words[] = {
#define LL_GPT(name, layers, hidden, heads, seq, vocabulary) name,
#include "models/frontier/presets.def"
    NULL};

static const struct ll_model_param gpt_params[GPT_PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [GPT_DROPOUT] = {"dropout", 10, 0, 90, "percent that is dropped when training"},
    [GPT_GELU] = {"gelu", 0, 0, 1, "one op, or made of plain ops by tanh, as Hugging Face's GPT-2 has it"},
};
static const char *const gelus[] = {"one", "tanh", NULL};
static const char *const *const gpt_words[GPT_PARAMS] = {[LL_DECODER_PRESET] = preset_words,
                                                         [LL_DECODER_PASS] = ll_decoder_passes,
                                                         [LL_DECODER_DTYPE] = ll_decoder_dtypes,
                                                         [GPT_GELU] = gelus};

/* What the net is told besides. */
struct besides {
    bool plain_gelu;
};

static struct ll_value *normed(struct ll_decoder *d, struct ll_value *x)
{
    return ll_layer_norm(d->nn, "norm", x, 1e-5);
}

/* What goes back to the features of a token, with weights that are the smaller the more layers add to it. */
static struct ll_value *projected(struct ll_decoder *d, struct ll_value *x, enum ll_role from)
{
    const struct ll_decoder_dense back = {.units = d->sizes.hidden,
                                          .from = from,
                                          .to = LL_ROLE_HIDDEN,
                                          .biased = true,
                                          .deviation = 0.02 / sqrt(2 * (double)d->sizes.layers)};
    return ll_decoder_dropped(d, ll_decoder_dense(d, "output", x, &back));
}

/* x + (attention of norm(x)) W_o; queries, keys and values come from one GEMM, whose result is split. */
static struct ll_value *attended(struct ll_decoder *d, struct ll_value *x)
{
    const struct ll_decoder_dense all = {.units = 3 * d->sizes.hidden,
                                         .from = LL_ROLE_HIDDEN,
                                         .to = LL_ROLE_HEADS,
                                         .biased = true,
                                         .deviation = 0.02};
    ll_nn_push(d->nn, "attention");
    struct ll_value *asked = ll_decoder_dense(d, "query_key_value", normed(d, x), &all);
    struct ll_value *const *parts = ll_nn_split(d->nn, asked, 1, 3);
    struct ll_value *y = ll_decoder_attend(d, parts[0], parts[1], parts[2]);
    y = ll_add_of(d->nn, x, projected(d, y, LL_ROLE_HEADS));
    ll_nn_pop(d->nn);
    return y;
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
static struct ll_value *plain_gelu(struct ll_nn *nn, struct ll_value *x)
{
    static const double root = 0.79788456080286535588, share = 0.044715;
    struct ll_value *cube = ll_nn_do2(nn, LL_OP_POW, x, ll_constant(nn, "three", 3));
    struct ll_value *sum = ll_add_of(nn, x, ll_nn_mul_scalar(nn, cube, "share", share));
    struct ll_value *turned = ll_nn_do1(nn, LL_OP_TANH, ll_nn_mul_scalar(nn, sum, "root", root));
    turned = ll_add_of(nn, turned, ll_constant(nn, "one", 1));
    return ll_mul_of(nn, ll_nn_mul_scalar(nn, x, "half", 0.5), turned);
}

static struct ll_value *rectified(struct ll_decoder *d, struct ll_value *x)
{
    const struct besides *besides = d->net;
    return besides->plain_gelu ? plain_gelu(d->nn, x) : ll_nn_do1(d->nn, LL_OP_GELU, x);
}

/* x + gelu(norm(x) W_in + b) W_out. */
static struct ll_value *fed_forward(struct ll_decoder *d, struct ll_value *x)
{
    const struct ll_decoder_dense wide = {.units = d->sizes.ffn_hidden,
                                          .from = LL_ROLE_HIDDEN,
                                          .to = LL_ROLE_FFN_HIDDEN,
                                          .biased = true,
                                          .deviation = 0.02};
    ll_nn_push(d->nn, "feed_forward");
    struct ll_value *inner = rectified(d, ll_decoder_dense(d, "input", normed(d, x), &wide));
    struct ll_value *y = ll_add_of(d->nn, x, projected(d, inner, LL_ROLE_FFN_HIDDEN));
    ll_nn_pop(d->nn);
    return y;
}

/* The rows of tokens that are read, positions added. */
static struct ll_value *embedded(struct ll_decoder *d, struct ll_value *table, struct ll_value *numbers)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_nn *nn = d->nn;
    uint64_t known = ll_max(d->sizes.seq, d->context), first = d->context - d->steps;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){known, d->sizes.hidden}, roles);
    struct ll_value *positions =
        ll_nn_variable(nn, "positions", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
    if (known != d->steps)
        positions = ll_nn_slice(nn, positions, 0, first, d->steps);
    struct ll_value *rows = ll_decoder_sequences(d, ll_nn_gather(nn, table, numbers));
    return ll_decoder_dropped(d, ll_decoder_rows(d, ll_add_of(nn, rows, positions)));
}

static struct ll_value *net(struct ll_decoder *d, struct ll_value *numbers)
{
    struct ll_nn *nn = d->nn;
    ll_nn_push(nn, "embedding");
    struct ll_value *table = ll_decoder_table(d), *x = embedded(d, table, numbers);
    ll_nn_pop(nn);
    for (unsigned i = 0; i < d->sizes.layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", i);
        x = fed_forward(d, attended(d, x));
        ll_nn_pop(nn);
    }
    ll_nn_push(nn, "head");
    struct ll_value *logits = ll_matmul_transposed(nn, normed(d, ll_decoder_asked(d, x)), table);
    ll_nn_pop(nn);
    return logits;
}

static struct ll_value *build_gpt(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_decoder_options options =
        ll_decoder_options_of(build, &presets[build->params[LL_DECODER_PRESET]]);
    struct ll_decoder_sizes *sizes = &options.sizes;
    if (sizes->hidden % sizes->heads != 0)
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
    if (sizes->ffn_hidden == 0)
        sizes->ffn_hidden = 4 * sizes->hidden;
    sizes->kv_heads = sizes->heads;
    options.dropout = (double)build->params[GPT_DROPOUT] / 100;
    const struct besides besides = {.plain_gelu = build->params[GPT_GELU] == 1};
    options.net = &besides;
    return ll_decoder_build(nn, build, &options, net);
}

const struct ll_model ll_model_gpt = {
    .name = "gpt",
    .suite = "frontier",
    .doc = "decoder-only language model (GPT-2, GPT-3, Megatron, MPT)",
    .default_batch = 8,
    .inference_batch = 1,
    .params = gpt_params,
    .param_count = GPT_PARAMS,
    .words = gpt_words,
    .build = build_gpt,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"task_vocabulary", "12"},
                            {"dropout", "0"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
