/* SPDX-License-Identifier: Apache-2.0 */
/* Language models by their configurations: parameters as published, FLOPs and caches by closed forms whose
 * numbers were worked out apart from this program; what cannot be read. */
#include "check.h"
#include "dry_model.h"

#include "models/llm/config.h"
#include "models/model.h"
#include "sim/parallel/shard.h"
#include "tracer/ir/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FLOPs of a step, those of GEMMs, attention, states and short convolutions alone. */
static double product_flops(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    const struct ll_profile *profile = ll_profile(trace, &arena);
    double flops = 0;
    for (uint64_t i = 0; i < profile->kind_count; i++)
        if (ll_class_is_gemm(ll_op_class(profile->kinds[i].op_kind)))
            flops += profile->kinds[i].flops;
    ll_arena_release(&arena);
    return flops;
}

static double parameters(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    double count = (double)ll_profile(trace, &arena)->parameters;
    ll_arena_release(&arena);
    return count;
}

enum { MOST = 8 };
static struct ll_trace *dry(const struct ll_setting *settings, size_t count, bool train)
{
    return dry_run("llm", (struct ll_run_options){
                              .steps = 1, .train = train, .settings = settings, .setting_count = count});
}

/* Of a token that is decoded, `fixed` FLOPs with all weights that it meets (2 (W + h V)), and `seen` at 4096
 * tokens with itself. Parameters: Meta, Qwen, Mistral AI, DeepSeek-AI, OpenAI, Google, NVIDIA, of the
 * language model without layers for multi-token prediction and without towers; their sum over the layers by
 * hand. */
static const struct {
    const char *config;
    double parameters, fixed, seen;
} known[] = {
    {"llama3-8b", 8030261248, 15009316864, 2147483648},
    {"llama3.1-8b", 8030261248, 15009316864, 2147483648},
    {"llama3.1-70b", 70553706496, 139003428864, 10737418240},
    {"qwen3-8b", 8190735360, 15136194560, 2415919104},
    {"qwen3-32b", 32762123264, 63967068160, 8589934592},
    {"qwen3-30b-a3b", 30532122624, 6083313664, 3221225472},
    {"mixtral-8x7b", 46702792704, 25497174016, 2147483648},
    {"deepseek-v3", 671026419200, 73249193984, 69591891968},
    {"gpt-oss-20b", 20914757184, 7214284800, 830472192},
    {"llama4-scout", 107769861120, 32275824640, 4026531840},
    {"gemma-4-26b-a4b", 25233141760, 7643660288, 1090519040},
    {"qwen3.5-35b-a3b", 34660610688, 5890539520, 767426560},
    {"nemotron-h-56b", 56324350464, 110486355968, 2709979136},
};

static void test_sizes_are_those_that_are_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct ll_setting settings[] = {
            {"config", known[i].config}, {"pass", "decode"}, {"context", "4095"}};
        struct ll_trace *trace = dry(settings, 3, false);
        if (parameters(trace) != known[i].parameters ||
            product_flops(trace) != known[i].fixed + known[i].seen)
            fail_msg("%s: %.0f parameters, %.0f FLOPs; expected %.0f and %.0f", known[i].config,
                     parameters(trace), product_flops(trace), known[i].parameters,
                     known[i].fixed + known[i].seen);
        ll_trace_free(trace);
    }
}

/* 2 W S + 2 h V + 4 h S (S + 1) / 2 a layer: each of 4096 tokens sees those before and itself, the last one
 * is asked for the next. */
static void test_prefill_sees_what_came_before(void **state)
{
    (void)state;
    const double s = 4096, w = 6979321856, head = 525336576;
    const struct ll_setting settings[] = {{"config", "llama3.1-8b"}, {"tokens", "4096"}};
    struct ll_trace *trace = dry(settings, 2, false);
    assert_true(product_flops(trace) == 2 * w * s + 2 * head + 524288 * s * (s + 1) / 2);
    ll_trace_free(trace);
    /* The second half behind a first one that was cached: together the same, but for the head. */
    const struct ll_setting behind[] = {{"config", "llama3.1-8b"}, {"tokens", "2048"}, {"context", "2048"}};
    struct ll_trace *first = dry((const struct ll_setting[]){{"config", "llama3.1-8b"}, {"tokens", "2048"}},
                                 2, false),
                    *second = dry(behind, 3, false);
    assert_true(product_flops(first) + product_flops(second) ==
                2 * w * s + 4 * head + 524288 * s * (s + 1) / 2);
    ll_trace_free(first);
    ll_trace_free(second);
}

/* A window of 128 in every other layer of gpt-oss: min(i, 128) keys for token i, 196,608 FLOPs a key and half
 * of the layers; pieces of 8192 tokens in three of four layers of Llama 4. */
static void test_windows_and_pieces(void **state)
{
    (void)state;
    const struct ll_setting oss[] = {{"config", "gpt-oss-20b"}, {"tokens", "1000"}};
    struct ll_trace *trace = dry(oss, 2, false);
    double w = 3028008960, head = 579133440, full = 1000. * 1001 / 2, slid = 128. * 129 / 2 + 872. * 128;
    assert_true(product_flops(trace) == 2 * w * 1000 + 2 * head + 196608 * (full + slid));
    ll_trace_free(trace);
    const struct ll_setting scout[] = {{"config", "llama4-scout"}, {"tokens", "10000"}, {"context", "8000"}};
    trace = dry(scout, 3, false);
    double keys = 0, pieces = 0;
    for (int i = 0; i < 10000; i++) {
        keys += 8000 + i + 1;
        pieces += (8000 + i) % 8192 + 1;
    }
    assert_true(product_flops(trace) ==
                2 * 15103426560. * 10000 + 2 * 1034485760. + 20480 * (12 * keys + 36 * pieces));
    ll_trace_free(trace);
}

/* Sequences of unequal lengths attend to their own; all else is of all tokens together. */
static void test_lengths_of_a_batch(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {
        {"config", "qwen3-8b"}, {"pass", "decode"}, {"batch", "4"}, {"context", "99,999,99,4999"}};
    struct ll_trace *trace = dry(settings, 4, false);
    assert_true(product_flops(trace) == 4 * 15136194560. + 589824. * (100 + 1000 + 100 + 5000));
    ll_trace_free(trace);
    const struct ll_setting guessed[] = {
        {"config", "qwen3-8b"}, {"pass", "decode"}, {"context", "999"}, {"speculate", "3"}};
    trace = dry(guessed, 4, false);
    assert_true(product_flops(trace) == 4 * 15136194560. + 589824. * (1000 + 1001 + 1002 + 1003));
    ll_trace_free(trace);
}

/* Bytes of what outlives a step and is no weight: keys and values, latent vectors, states. */
static double kept_bytes(const struct ll_setting *settings, size_t count)
{
    struct ll_trace *trace = dry(settings, count, false);
    double bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer == LL_NONE && desc->memory == LL_ACTIVATION)
            bytes += (double)ll_size_bytes(&desc->shape);
    }
    ll_trace_free(trace);
    return bytes;
}

static void test_caches(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        double bytes;
    } caches[] = {
        {"llama3.1-8b", 131072. * 4096},
        {"deepseek-v3", 70272. * 4096},
        {"gpt-oss-20b", 24576. * 4096 + 24576. * 128},
        {"gemma-4-26b-a4b", 293601280},
        {"qwen3.5-35b-a3b", 20480. * 4096 + 62914560 + 1474560},
        {"nemotron-h-56b", 40960. * 4096 + 905969664 + 6635520},
    };
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        const struct ll_setting settings[] = {
            {"config", caches[i].config}, {"pass", "decode"}, {"context", "4095"}};
        double bytes = kept_bytes(settings, 3);
        if (bytes != caches[i].bytes)
            fail_msg("%s: %.0f bytes, expected %.0f", caches[i].config, bytes, caches[i].bytes);
    }
    const struct ll_setting narrow[] = {
        {"config", "llama3.1-8b"}, {"pass", "decode"}, {"context", "4095"}, {"kv_dtype", "fp8"}};
    assert_true(kept_bytes(narrow, 4) == 131072. * 4096 / 2);
}

/* The published checkpoint of gpt-oss: 19,110,297,600 weights of experts in mxfp4, 1,804,459,584 others of 16
 * bits; of DeepSeek-V3 all but embedding, head, norms and routers in FP8 with a scale for 128 x 128. */
static void test_bytes_of_quantized_weights(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"config", "gpt-oss-20b"}, {"weights", "mxfp4_experts"}};
    struct ll_trace *trace = dry(settings, 2, false);
    double bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer == LL_NONE && desc->memory == LL_WEIGHT)
            bytes += (double)ll_size_bytes(&desc->shape);
    }
    ll_trace_free(trace);
    assert_true(bytes == 13761264768);
}

/* Backward twice as much as forward, scans and short convolutions too, but for attention, whose scores are
 * computed again: five products for two. */
static void test_a_training_step(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        double token, key; /* FLOPs of a token with weights and states; of a key that it sees */
    } learned[] = {
        {"qwen3-30b-a3b", 2 * (2730491904. + 311164928.), 786432},
        {"qwen3.5-35b-a3b", 5890539520. + 94371840 + 1966080, 163840},
        {"nemotron-h-56b", 110486355968. + 1358954496 + 8847360, 327680},
    };
    for (size_t i = 0; i < sizeof learned / sizeof *learned; i++) {
        const double tokens = 512, keys = tokens * (tokens + 1) / 2;
        const struct ll_setting settings[] = {{"config", learned[i].config}, {"tokens", "512"}};
        struct ll_trace *trace = dry(settings, 2, true);
        const double flops = 3 * learned[i].token * tokens + 3.5 * learned[i].key * keys;
        if (product_flops(trace) != flops)
            fail_msg("%s: %.0f FLOPs; expected %.0f", learned[i].config, product_flops(trace), flops);
        ll_trace_free(trace);
    }
}

/* The loss behind so many steps of the smallest model, whose weights are stored so. */
static double learned(const char *weights, uint64_t steps)
{
    const struct ll_setting settings[] = {{"config", "tiny"}, {"ops", "computed"}, {"dtype", "f32"},
                                          {"tokens", "32"},   {"rate", "10000"},   {"weights", weights}};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_run_options options = {.train = true,
                                     .batch = 8,
                                     .steps = steps,
                                     .threads = 1,
                                     .seed = 3,
                                     .settings = settings,
                                     .setting_count = sizeof settings / sizeof *settings};
    struct ll_run_report report;
    assert_non_null(diags);
    if (!ll_model_run(ll_model_find("llm"), &options, &report, diags))
        fail_msg("%s", diags->kept[0].message);
    ll_diags_release(diags);
    free(diags);
    return report.last_loss;
}

/* Weights that are rounded to 4 bits while they are learned give another loss at first, and learn. */
static void test_rounded_weights_learn(void **state)
{
    (void)state;
    const double first = learned("mxfp4", 1), last = learned("mxfp4", 60);
    assert_true(first != learned("16bit", 1));
    if (!(last < 0.9 * first))
        fail_msg("loss %g to %g", first, last);
}

/* A device of two: half of all products but those of routers, which each computes. */
static void test_shares_of_devices(void **state)
{
    (void)state;
    static const char *const configs[] = {"qwen3-8b", "qwen3-30b-a3b", "gpt-oss-20b", "gemma-4-26b-a4b"};
    static const double routers[] = {0, 2. * 2048 * 128 * 48, 2. * 2880 * 32 * 24, 2. * 2816 * 128 * 30};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const struct ll_setting settings[] = {
            {"config", configs[i]}, {"pass", "decode"}, {"context", "4095"}};
        struct ll_parallel plan = ll_plan_of_one();
        struct ll_diags diags = {0};
        plan.tensor = 2;
        struct ll_trace *trace = dry(settings, 3, false), *share = ll_shard(trace, &plan, &diags);
        assert_non_null(share);
        double all = product_flops(trace), each = product_flops(share);
        if (fabs(each - (all + routers[i]) / 2) > 1e-6 * all)
            fail_msg("%s: %.0f of %.0f FLOPs on one of two devices", configs[i], each, all);
        ll_trace_free(share);
        ll_trace_free(trace);
        ll_diags_release(&diags);
    }
}

/* A step of a configuration that is a text: `tokens` new ones behind `context`. */
static struct ll_trace *dry_of_text(const char *text, const char *pass, const char *tokens,
                                    const char *context)
{
    char path[] = "/tmp/test_llm_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) > 0);
    close(file);
    struct ll_trace *trace = dry(
        (const struct ll_setting[]){
            {"config", path}, {"pass", pass}, {"tokens", tokens}, {"context", context}},
        4, false);
    unlink(path);
    return trace;
}

#define LAYERS_0_4_128                                                                                       \
    "0,0,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,"                                       \
    "4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0"
#define FIVE_LAYERS                                                                                          \
    "\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"full_"        \
    "attention\""

static const char compressed[] =
    "{\"model_type\": \"deepseek_v4\", \"hidden_size\": 4096, \"num_hidden_layers\": 43, \"vocab_size\": "
    "129280,"
    " \"num_attention_heads\": 64, \"head_dim\": 512, \"q_lora_rank\": 1024, \"o_lora_rank\": 1024,"
    " \"o_groups\": 8, \"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_experts_per_tok\": 6,"
    " \"moe_intermediate_size\": 2048, \"sliding_window\": 128, \"num_hash_layers\": 3, \"hc_mult\": 4,"
    " \"index_head_dim\": 128, \"index_n_heads\": 64, \"index_topk\": 512, \"topk_method\": \"noaux_tc\","
    " \"compress_ratios\": [" LAYERS_0_4_128 "]}";

/* DeepSeek-V4-Flash (published as 284 B): a layer's queries h 1024 + 1024 H d, key h d, outputs H d 1024 + 8
 * 1024 h; compressors and indexer as the reference model has them; streams 24 x 4 h twice a layer and 4 x 4 h
 * at the end. */
static void test_compressed_attention(void **state)
{
    (void)state;
    const double h = 4096, heads = 64, d = 512, latent = 1024, expert = 3 * h * 2048;
    double weights = 4 * 4 * h + 129280 * h, rest = 4 + 1 + h, kept = 129280 * h, seen = 0, prefill = 0;
    const double s = 4096;
    for (int i = 0; i < 43; i++) {
        const int ratio = i < 2 ? 0 : i % 2 == 0 ? 4 : 128;
        double w = h * latent + latent * heads * d + h * d + heads * d * latent + 8 * latent * h +
                   2 * 24 * 4 * h + 7 * expert + 256 * h;
        rest += latent + d + heads + 2 * (24 + 3) + 2 * h + (i < 3 ? 0 : 256);
        kept += 249 * expert + expert; /* experts that a token does not go to */
        if (ratio == 4) {
            w += 2 * h * 2 * d + 2 * h * 2 * 128 + latent * 64 * 128 + h * 64;
            rest += 4 * 2 * d + d + 4 * 2 * 128 + 128;
        } else if (ratio == 128) {
            w += 2 * h * d;
            rest += 128 * d + d;
        }
        weights += w;
        for (double t = 1; t <= s; t++) {
            double entries = ratio > 0 ? floor(t / ratio) : 0;
            double flops = 4 * heads * d * (fmin(t, 128) + (ratio == 4 ? fmin(entries, 512) : entries));
            if (ratio == 4)
                flops += 2 * 64 * 129 * entries;
            seen = t == s ? seen + flops : seen;
            prefill += flops;
        }
    }
    struct ll_trace *trace = dry_of_text(compressed, "decode", "1", "4095");
    assert_true(parameters(trace) == weights + rest + kept);
    assert_true(product_flops(trace) == 2 * weights + seen);
    ll_trace_free(trace);
    trace = dry_of_text(compressed, "prefill", "4096", "0");
    prefill += 2 * (weights - 129280 * h - 16 * h) * s + 2 * (129280 + 16) * h;
    assert_true(fabs(product_flops(trace) / prefill - 1) < 1e-3);
    ll_trace_free(trace);
}

static const char own_embeddings[] =
    "{\"model_type\": \"gemma4\", \"text_config\": {\"model_type\": \"gemma4_text\", \"hidden_size\": 1536,"
    " \"num_hidden_layers\": 35, \"num_attention_heads\": 8, \"num_key_value_heads\": 1, \"head_dim\": 256,"
    " \"global_head_dim\": 512, \"intermediate_size\": 6144, \"vocab_size\": 262144,"
    " \"hidden_size_per_layer_input\": 256, \"num_kv_shared_layers\": 20, \"use_double_wide_mlp\": true,"
    " \"sliding_window\": 512, \"layer_types\": [" FIVE_LAYERS "," FIVE_LAYERS "," FIVE_LAYERS "," FIVE_LAYERS
    "," FIVE_LAYERS "," FIVE_LAYERS "," FIVE_LAYERS "]}}";

/* Gemma 4 E2B: the last 20 of 35 layers have no keys and values, and a part twice as wide; each has 256
 * features of its own for every token of the vocabulary. */
static void test_shared_keys_and_embeddings_of_layers(void **state)
{
    (void)state;
    const double h = 1536, vocabulary = 262144;
    double weights = vocabulary * h + h * 35 * 256, rest = vocabulary * 35 * 256 + 256 + h, seen = 0;
    for (int i = 0; i < 35; i++) {
        const double d = i % 5 == 4 ? 512 : 256;
        const int shares = i >= 15;
        weights += 2 * h * 8 * d + (shares ? 0 : 2 * h * d) + 3 * h * 6144 * (1 + shares) + 2 * h * 256;
        rest += (shares ? d : 2 * d) + 5 * h;
        seen += 4 * 8 * d * (i % 5 == 4 ? 4096 : 512);
    }
    struct ll_trace *trace = dry_of_text(own_embeddings, "decode", "1", "4095");
    assert_true(parameters(trace) == weights + rest);
    assert_true(product_flops(trace) == 2 * weights + seen);
    ll_trace_free(trace);
}

/* Small models of other families, with parameters by hand. */
static void test_other_families(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double parameters;
    } small[] = {
        /* 2 V h + h + 2 layers of 4 h^2 + 3 h f + 2 h, biases of queries, keys and values 3 h */
        {"{\"model_type\": \"qwen2\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"vocab_size\": 100,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 160, \"tie_word_embeddings\": false}",
         2 * 100 * 64 + 64 + 2 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64 + 3 * 64)},
        /* norms of queries and keys over all heads, experts everywhere, their biases for the choice */
        {"{\"model_type\": \"minimax_m2\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"vocab_size\": "
         "100,"
         " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 32, \"intermediate_size\": "
         "48,"
         " \"num_local_experts\": 8, \"num_experts_per_tok\": 2}",
         2 * 100 * 64 + 64 +
             3 * (64 * (2 * 128 + 2 * 64) + 128 + 64 + 2 * 64 + 8 * 3 * 64 * 48 + 64 * 8 + 8)},
        /* the indexer of sparse attention: q_l Hi di + h di + 2 di + h Hi */
        {"{\"model_type\": \"deepseek_v32\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"vocab_size\": "
         "100,"
         " \"num_attention_heads\": 4, \"q_lora_rank\": 24, \"kv_lora_rank\": 16, \"qk_nope_head_dim\": 12,"
         " \"qk_rope_head_dim\": 4, \"v_head_dim\": 8, \"index_n_heads\": 2, \"index_head_dim\": 8,"
         " \"index_topk\": 16, \"intermediate_size\": 96, \"moe_intermediate_size\": 32, "
         "\"n_routed_experts\": 4,"
         " \"num_experts_per_tok\": 2, \"n_shared_experts\": 1, \"first_k_dense_replace\": 1,"
         " \"topk_method\": \"noaux_tc\"}",
         2 * 100 * 64 + 64 +
             2 * (64 * 24 + 24 + 24 * 4 * 16 + 64 * 20 + 16 + 16 * 4 * 20 + 4 * 8 * 64 + 24 * 2 * 8 + 64 * 8 +
                  2 * 8 + 64 * 2 + 2 * 64) +
             3 * 64 * 96 + 5 * 3 * 64 * 32 + 64 * 4 + 4},
        /* of two blocks the first has no attention and a narrow feed-forward part, the second a matrix and
         * none */
        {"{\"architectures\": [\"DeciLMForCausalLM\"], \"model_type\": \"nemotron-nas\", \"hidden_size\": 96,"
         " \"num_hidden_layers\": 2, \"vocab_size\": 100, \"num_attention_heads\": 4, \"block_configs\": ["
         "{\"attention\": {\"no_op\": true}, \"ffn\": {\"ffn_mult\": 4}},"
         "{\"attention\": {\"replace_with_linear\": true}, \"ffn\": {\"no_op\": true}}]}",
         2 * 100 * 96 + 96 + 96 + 3 * 96 * 256 + 96 + 96 * 96},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct ll_trace *trace = dry_of_text(small[i].text, "prefill", "64", "0");
        if (parameters(trace) != small[i].parameters)
            fail_msg("%.40s: %.0f parameters, expected %.0f", small[i].text, parameters(trace),
                     small[i].parameters);
        ll_trace_free(trace);
    }
}

static const struct {
    const char *name;
    double parameters;
    const char *text;
} published[] = {
#define PUBLISHED(name, parameters, ...) {name, parameters, #__VA_ARGS__},
#include "published_llms.def"
};

static void test_published_models_of_many_families(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct ll_trace *trace = dry_of_text(published[i].text, "decode", "1", "64");
        if (parameters(trace) != published[i].parameters)
            fail_msg("%s: %.0f parameters, expected %.0f", published[i].name, parameters(trace),
                     published[i].parameters);
        ll_trace_free(trace);
    }
}

static void test_what_cannot_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *complaint;
    } wrong[] = {
        {"[1]", "expected an object of JSON"},
        {"{\"model_type\": \"t5\"}", "not a family"},
        {"{\"model_type\": \"llama\"}", "`hidden_size` is missing"},
        {"{\"model_type\": \"llama\", \"hidden_size\": \"big\"}", "`hidden_size`: expected a whole number"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1e9}",
         "at most"},
        {"{\"model_type\": \"mixtral\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 8, \"num_local_experts\": 2, "
         "\"num_experts_per_tok\": 3}",
         "cannot go to 3 of 2"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1,"
         " \"num_attention_heads\": 4, \"num_key_value_heads\": 3, \"intermediate_size\": 8}",
         "expected a divisor"},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 8, \"altup_num_inputs\": 4}",
         "`altup_num_inputs`: not known here of a llama"},
        {"{\"model_type\": \"opt\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1,"
         " \"num_attention_heads\": 4, \"max_position_embeddings\": 8, \"word_embed_proj_dim\": 32}",
         "expected as `hidden_size`"},
        {"{\"model_type\": \"gemma4_text\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 2,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 8, \"sliding_window\": 4,"
         " \"num_kv_shared_layers\": 1, \"layer_types\": [\"sliding_attention\", \"full_attention\"]}",
         "no layer of its kind before it"},
        {"{\"model_type\": \"jamba\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 8, \"attn_layer_period\": 0}",
         "expected a period from 1 on"},
        {"{\"model_type\": \"jamba\", \"hidden_size\": 64, \"vocab_size\": 9, \"num_hidden_layers\": 1,"
         " \"num_attention_heads\": 4, \"intermediate_size\": 8, \"attn_layer_offset\": 8}",
         "a smaller offset"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        struct ll_llm llm;
        assert_false(ll_llm_read("config.json", wrong[i].text, strlen(wrong[i].text), &arena, &llm, &diags));
        assert_true(diags.count == 1);
        if (!strstr(diags.kept[0].message, wrong[i].complaint))
            fail_msg("%s: expected %s", diags.kept[0].message, wrong[i].complaint);
        ll_diags_release(&diags);
        ll_arena_release(&arena);
    }
}

/* What is left out is said: towers with their size (of Llama 4, 811,115,008 that look, 39,845,888 that
 * shuffle and 20,971,520 that lead to tokens; of Qwen3.5 446,571,248), keys that mean nothing here. */
static void test_what_is_left_out_is_said(void **state)
{
    (void)state;
    static const char llama[] = "{\"model_type\": \"llama4\", \"text_config\": {\"hidden_size\": 5120,"
                                " \"vocab_size\": 9, \"num_hidden_layers\": 1, \"num_attention_heads\": 40,"
                                " \"intermediate_size\": 8, \"intermediate_size_mlp\": 8, \"shuffled\": 7},"
                                " \"vision_config\": {\"hidden_size\": 1408, \"intermediate_size\": 5632,"
                                " \"num_hidden_layers\": 34, \"patch_size\": 14, \"image_size\": 336,"
                                " \"projector_input_dim\": 4096, \"projector_output_dim\": 4096,"
                                " \"vision_output_dim\": 4096}}",
                      qwen[] = "{\"model_type\": \"qwen3_5\", \"text_config\": {\"hidden_size\": 2048,"
                               " \"vocab_size\": 9, \"num_hidden_layers\": 1, \"num_attention_heads\": 16,"
                               " \"intermediate_size\": 8}, \"vision_config\": {\"hidden_size\": 1152,"
                               " \"intermediate_size\": 4304, \"depth\": 27, \"patch_size\": 16,"
                               " \"temporal_patch_size\": 2, \"num_position_embeddings\": 2304,"
                               " \"spatial_merge_size\": 2, \"out_hidden_size\": 2048,"
                               " \"deepstack_visual_indexes\": []}}";
    static const struct {
        const char *text, *remarks[2];
    } told[] = {{llama, {"of 871932416 parameters", "`shuffled`: not known here"}},
                {qwen, {"of 446571248 parameters", "of 446571248 parameters"}}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        struct ll_llm llm;
        assert_true(ll_llm_read("config.json", told[i].text, strlen(told[i].text), &arena, &llm, &diags));
        for (int k = 0; k < 2; k++) {
            bool said = false;
            for (size_t n = 0; n < diags.kept_count; n++)
                said |= strstr(diags.kept[n].message, told[i].remarks[k]) != NULL;
            if (!said)
                fail_msg("expected to be told: %s", told[i].remarks[k]);
        }
        ll_diags_release(&diags);
        ll_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_those_that_are_published),
        cmocka_unit_test(test_prefill_sees_what_came_before),
        cmocka_unit_test(test_windows_and_pieces),
        cmocka_unit_test(test_lengths_of_a_batch),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_bytes_of_quantized_weights),
        cmocka_unit_test(test_a_training_step),
        cmocka_unit_test(test_rounded_weights_learn),
        cmocka_unit_test(test_shares_of_devices),
        cmocka_unit_test(test_compressed_attention),
        cmocka_unit_test(test_shared_keys_and_embeddings_of_layers),
        cmocka_unit_test(test_other_families),
        cmocka_unit_test(test_published_models_of_many_families),
        cmocka_unit_test(test_what_is_left_out_is_said),
        cmocka_unit_test(test_what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
