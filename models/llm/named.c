/* SPDX-License-Identifier: Apache-2.0 */
/* Language models by name: rows of the table of layers (config.h), all alike, in ops that are computed here
 * (computed.h). Each has its settings, the sizes of presets.def, and a function that fills in a row. */
#include "models/frontier/decoder.h"
#include "models/llm/computed.h"
#include "models/nn/nn.h"

static struct ll_value *build_row(struct ll_nn *nn, const struct ll_build *build,
                                  struct ll_decoder_options *options, const struct ll_llm_layer *layer,
                                  struct ll_llm *llm)
{
    llm->hidden = options->sizes.hidden;
    llm->vocabulary = options->sizes.vocabulary;
    llm->epsilon = 1e-5;
    if (!ll_llm_repeat(nn, options->sizes.layers, layer, llm))
        return &nn->nothing;
    options->net = ll_copy(&nn->arena, llm, sizeof *llm);
    if (!options->net)
        ll_nn_fail(nn, "memory ran out");
    return nn->trouble ? &nn->nothing : ll_decoder_build(nn, build, options, ll_llm_computed);
}

/* GPT (Radford et al., 2019; Brown et al., 2020; Shoeybi et al., Megatron-LM, 2019): what a layer reads is
 * normalised, positions are learned, one table serves tokens that come in and tokens that go out. With h
 * features, L layers, an FFN width of f (4 h unless set), s tokens a sequence and V in the vocabulary:
 *
 *     parameters       V h + s h + L (4 h^2 + 2 h f + 9 h + f) + 2 h          L (12 h^2 + 13 h) at f = 4 h
 *     forward FLOPs    s (L (8 h^2 + 4 h f) + 2 h V) + 4 s^2 h L      of a sequence, all pairs of tokens
 *
 * Presets are GPT-2's and GPT-3's sizes, those of Megatron-LM (Korthikanti et al., 2022, table 3) and of
 * MosaicML's MPT. Trained by Adam as in the GPT-3 paper, without its clipping and schedule. */

enum { GPT_DROPOUT = LL_DECODER_PARAMS, GPT_GELU, GPT_PARAMS };

static const struct ll_decoder_sizes presets[] = {
#define LL_GPT(name, layers_, hidden_, heads_, seq_, vocabulary_)                                            \
    {.layers = layers_, .hidden = hidden_, .heads = heads_, .seq = seq_, .vocabulary = vocabulary_},
#include "models/llm/presets.def"
};
static const char *const preset_words[] = {
#define LL_GPT(name, layers, hidden, heads, seq, vocabulary) name,
#include "models/llm/presets.def"
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
    struct ll_llm_layer layer = ll_llm_layer_of(sizes);
    layer.qkv_biased = layer.out_biased = layer.biased = layer.plain = true;
    layer.act = build->params[GPT_GELU] == 1 ? LL_LLM_GELU_TANH : LL_LLM_GELU;
    return build_row(
        nn, build, &options, &layer,
        &(struct ll_llm){.norm = LL_LLM_LAYER_NORM, .joined = true, .tied = true, .positions = sizes->seq});
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

/* Llama (Touvron et al., 2023; Llama 3: Grattafiori et al., 2024): positions turn queries and keys, groups of
 * heads share keys and values, norms have no mean and layers no biases; feed-forward layers are gated. With h
 * features, L layers, g of the h features in keys (h kv_heads / heads), an FFN width of f and V tokens:
 *
 *     parameters       2 V h + L (2 h^2 + 2 h g + 3 h f + 2 h) + h
 *     forward FLOPs    s (L (4 h^2 + 4 h g + 6 h f) + 2 h V) + 4 s^2 h L      of a sequence of s tokens */

enum { LLAMA_KV_HEADS = LL_DECODER_PARAMS, LLAMA_BASE, LLAMA_PARAMS };

static const struct {
    struct ll_decoder_sizes sizes;
    uint64_t base;
} llama_presets[] = {
#define LL_LLAMA(name, layers_, hidden_, heads_, kv_heads_, ffn_hidden_, seq_, vocabulary_, base_)           \
    {{.layers = layers_,                                                                                     \
      .hidden = hidden_,                                                                                     \
      .heads = heads_,                                                                                       \
      .kv_heads = kv_heads_,                                                                                 \
      .ffn_hidden = ffn_hidden_,                                                                             \
      .seq = seq_,                                                                                           \
      .vocabulary = vocabulary_},                                                                            \
     base_},
#include "models/llm/presets.def"
};
static const char *const llama_preset_words[] = {
#define LL_LLAMA(name, layers, hidden, heads, kv_heads, ffn_hidden, seq, vocabulary, base) name,
#include "models/llm/presets.def"
    NULL};

static const struct ll_model_param llama_params[LLAMA_PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [LLAMA_KV_HEADS] = {"kv_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [LLAMA_BASE] = {"base", 0, 0, 1 << 30, "of the angles that positions turn by; 0: the preset's"},
};
static const char *const *const llama_words[LLAMA_PARAMS] = {[LL_DECODER_PRESET] = llama_preset_words,
                                                             [LL_DECODER_PASS] = ll_decoder_passes,
                                                             [LL_DECODER_DTYPE] = ll_decoder_dtypes};

static struct ll_value *build_llama(struct ll_nn *nn, const struct ll_build *build)
{
    int64_t preset = build->params[LL_DECODER_PRESET];
    struct ll_decoder_options options = ll_decoder_options_of(build, &llama_presets[preset].sizes);
    options.sizes.kv_heads = ll_decoder_size(build, LLAMA_KV_HEADS, options.sizes.kv_heads);
    struct ll_llm_layer layer = ll_llm_layer_of(&options.sizes);
    layer.rotary = true;
    const uint64_t base = ll_decoder_size(build, LLAMA_BASE, llama_presets[preset].base);
    return build_row(nn, build, &options, &layer, &(struct ll_llm){.rotary_base = (double)base});
}

const struct ll_model ll_model_llama = {
    .name = "llama",
    .suite = "frontier",
    .doc = "decoder-only language model with rotary positions, grouped-query attention and gated layers "
           "(Llama 1 to 3)",
    .default_batch = 4,
    .inference_batch = 1,
    .params = llama_params,
    .param_count = LLAMA_PARAMS,
    .words = llama_words,
    .build = build_llama,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"kv_heads", "2"},
                            {"ffn_hidden", "128"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"task_vocabulary", "12"},
                            {"base", "100"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};

/* A mixture of experts with a capacity for each (computed.c), as Mixtral has it (Jiang et al., 2024): as
 * Llama's but for
 *
 *     parameters       L (h E + 3 E h f) in place of L 3 h f
 *     forward FLOPs    L (2 n h E + 6 E c h f) of n tokens with c places an expert, of capacity k n / E */

enum { MOE_KV_HEADS = LL_DECODER_PARAMS, MOE_EXPERTS, MOE_TOP_K, MOE_CAPACITY, MOE_PARAMS };

static const struct {
    struct ll_decoder_sizes sizes;
    uint64_t experts, top_k;
} moe_presets[] = {
#define LL_MOE(name, layers_, hidden_, heads_, kv_heads_, ffn_hidden_, seq_, vocabulary_, experts_, top_k_)  \
    {{.layers = layers_,                                                                                     \
      .hidden = hidden_,                                                                                     \
      .heads = heads_,                                                                                       \
      .kv_heads = kv_heads_,                                                                                 \
      .ffn_hidden = ffn_hidden_,                                                                             \
      .seq = seq_,                                                                                           \
      .vocabulary = vocabulary_},                                                                            \
     experts_,                                                                                               \
     top_k_},
#include "models/llm/presets.def"
};
static const char *const moe_preset_words[] = {
#define LL_MOE(name, layers, hidden, heads, kv_heads, ffn_hidden, seq, vocabulary, experts, top_k) name,
#include "models/llm/presets.def"
    NULL};

static const struct ll_model_param moe_params[MOE_PARAMS] = {
#define LL_DECODER_PARAM(word, name, otherwise, least, most, help)                                           \
    [LL_DECODER_##word] = {name, otherwise, least, most, help},
#include "models/frontier/decoder_params.def"
#undef LL_DECODER_PARAM
    [MOE_KV_HEADS] = {"kv_heads", 0, 0, 1 << 12, "that answer, a divisor of heads; 0: the preset's"},
    [MOE_EXPERTS] = {"experts", 0, 0, 1 << 14, "of a layer; 0: the preset's"},
    [MOE_TOP_K] = {"top_k", 0, 0, 1 << 8, "experts that a token goes through; 0: the preset's"},
    [MOE_CAPACITY] = {"capacity", 125, 1, 100000, "percent of an even share that an expert has room for"},
};
static const char *const *const moe_words[MOE_PARAMS] = {[LL_DECODER_PRESET] = moe_preset_words,
                                                         [LL_DECODER_PASS] = ll_decoder_passes,
                                                         [LL_DECODER_DTYPE] = ll_decoder_dtypes};

static struct ll_value *build_moe(struct ll_nn *nn, const struct ll_build *build)
{
    int64_t preset = build->params[LL_DECODER_PRESET];
    struct ll_decoder_options options = ll_decoder_options_of(build, &moe_presets[preset].sizes);
    struct ll_llm_layer layer;
    options.sizes.kv_heads = ll_decoder_size(build, MOE_KV_HEADS, options.sizes.kv_heads);
    layer = ll_llm_layer_of(&options.sizes);
    layer.rotary = true;
    layer.dense = 0;
    layer.expert = options.sizes.ffn_hidden;
    layer.experts = ll_decoder_size(build, MOE_EXPERTS, moe_presets[preset].experts);
    layer.top_k = ll_decoder_size(build, MOE_TOP_K, moe_presets[preset].top_k);
    layer.capacity = (uint64_t)build->params[MOE_CAPACITY];
    if (layer.top_k > layer.experts)
        ll_nn_fail(nn, "a token cannot go through more experts than there are");
    return build_row(nn, build, &options, &layer, &(struct ll_llm){.rotary_base = 1e6 /* Mixtral's */});
}

const struct ll_model ll_model_moe = {
    .name = "moe",
    .suite = "frontier",
    .doc = "decoder-only language model with mixtures of experts (Mixtral)",
    .default_batch = 4,
    .inference_batch = 1,
    .params = moe_params,
    .param_count = MOE_PARAMS,
    .words = moe_words,
    .build = build_moe,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"layers", "2"},
                            {"hidden", "64"},
                            {"heads", "4"},
                            {"kv_heads", "2"},
                            {"ffn_hidden", "64"},
                            {"seq", "32"},
                            {"vocabulary", "16"},
                            {"task_vocabulary", "12"},
                            {"experts", "4"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
