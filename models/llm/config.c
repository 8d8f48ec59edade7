/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of language models (config.h): a small tree of the JSON, then one layer after the other as
 * the family of the model has them. */
#include "models/llm/config.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

/* The JSON as a tree: a list of children for objects and lists. */
struct node {
    enum ll_json_token token;
    const char *key, *text; /* text: of texts */
    double number;          /* of numbers, truth values */
    uint64_t line;
    const struct node *child, *next;
};

static struct node *read_value(struct ll_json_reader *r, struct ll_arena *arena, const char *key);

static bool read_children(struct ll_json_reader *r, struct ll_arena *arena, struct node *node)
{
    const struct node **end = &node->child;
    for (enum ll_json_token token = ll_json_read(r); token != LL_JSON_OBJECT_END && token != LL_JSON_LIST_END;
         token = ll_json_read(r)) {
        const char *key = NULL;
        if (token == LL_JSON_END)
            return false;
        if (token == LL_JSON_KEY) {
            key = ll_json_copy(r, arena);
            ll_json_read(r);
        }
        struct node *child = read_value(r, arena, key);
        if (!child)
            return false;
        *end = child;
        end = &child->next;
    }
    return true;
}

/* The value that the token read last begins. NULL after complaints, or without memory. */
static struct node *read_value(struct ll_json_reader *r, struct ll_arena *arena, const char *key)
{
    struct node *node = ll_alloc(arena, 1, sizeof *node);
    if (!node)
        return NULL;
    *node = (struct node){.token = r->token, .key = key, .line = ll_json_place(r).line};
    if (r->token == LL_JSON_OBJECT || r->token == LL_JSON_LIST)
        return read_children(r, arena, node) ? node : NULL;
    if (r->token == LL_JSON_NUMBER)
        node->number = ll_json_as_real(r);
    else if (r->token == LL_JSON_TEXT && !(node->text = ll_json_copy(r, arena)))
        return NULL;
    node->number = r->token == LL_JSON_TRUE ? 1 : node->number;
    return r->token == LL_JSON_END ? NULL : node;
}

static const struct node *child_of(const struct node *node, const char *key)
{
    const struct node *child = node ? node->child : NULL;
    while (child && !(child->key && strcmp(child->key, key) == 0))
        child = child->next;
    return child && child->token != LL_JSON_NULL ? child : NULL;
}

static const struct node *item_of(const struct node *list, uint64_t i)
{
    const struct node *item = list && list->token == LL_JSON_LIST ? list->child : NULL;
    while (item && i-- > 0)
        item = item->next;
    return item;
}

/* What goes without saying in a family. */
enum trait {
    QKV_BIAS = 1 << 0,      /* queries, keys and values have biases */
    QK_HEAD = 1 << 1,       /* norms of queries and keys, over a head */
    QK_WHOLE = 1 << 2,      /* over all heads */
    GATED = 1 << 3,         /* attention's results are gated */
    LATENT = 1 << 4,        /* latent attention */
    TIED = 1 << 5,          /* tied embeddings where nothing is said */
    SANDWICH = 1 << 6,      /* norms behind each part, too */
    EXPERT_IS_FFN = 1 << 7, /* the width of experts is intermediate_size */
    SINKS = 1 << 8,         /* an attention sink a head */
    EXPERT_BIAS = 1 << 9,   /* experts and router have biases */
    INDEXED = 1 << 10,      /* sparse attention */
    ROUTER_BIAS = 1 << 11,  /* a bias of each expert for the choice */
    WINDOWED = 1 << 12      /* a window goes for all layers where no list says otherwise */
};

/* Families, by model_type without the suffix `_text`. */
static const struct family {
    const char *name;
    unsigned traits;
} families[] = {
    {"llama", 0},
    {"mistral", WINDOWED},
    {"ministral3", 0},
    {"mistral3", 0},
    {"phi3", 0},
    {"granite", 0},
    {"mimo", QKV_BIAS},
    {"qwen2", QKV_BIAS},
    {"qwen2_moe", QKV_BIAS},
    {"qwen3", QK_HEAD},
    {"qwen3_moe", QK_HEAD},
    {"qwen3_vl", QK_HEAD},
    {"qwen3_vl_moe", QK_HEAD},
    {"qwen3_next", QK_HEAD | GATED},
    {"qwen3_5", QK_HEAD | GATED},
    {"qwen3_5_moe", QK_HEAD | GATED},
    {"mixtral", EXPERT_IS_FFN},
    {"deepseek_v2", LATENT},
    {"deepseek_v3", LATENT},
    {"kimi_k2", LATENT},
    {"kimi_k25", LATENT},
    {"glm4_moe_lite", LATENT | ROUTER_BIAS},
    {"deepseek_v32", LATENT | INDEXED},
    {"deepseek_v4", 0},
    {"glm_moe_dsa", LATENT | INDEXED | ROUTER_BIAS},
    {"glm4_moe", ROUTER_BIAS},
    {"gpt_oss", EXPERT_IS_FFN | SINKS | EXPERT_BIAS},
    {"llama4", EXPERT_IS_FFN},
    {"gemma2", TIED | SANDWICH},
    {"gemma3", TIED | SANDWICH | QK_HEAD},
    {"gemma4", TIED | SANDWICH | QK_HEAD},
    {"olmo2", QK_WHOLE},
    {"olmo3", QK_WHOLE},
    {"nemotron_h", 0},
    {"mamba2", 0},
    {"nemotron-nas", 0},
    {"kimi_linear", LATENT | ROUTER_BIAS},
    {"minimax_m2", QK_WHOLE | EXPERT_IS_FFN | ROUTER_BIAS},
    {"minimax_m3", QK_HEAD | EXPERT_IS_FFN | ROUTER_BIAS},
    {"mimo_v2_flash", ROUTER_BIAS},
};

struct reading {
    const char *file;
    const struct node *whole, *inner; /* inner: what describes the decoder, perhaps the whole */
    const struct family *family;
    struct ll_diags *diags;
    struct ll_arena *arena;
    bool failed;
};

static const struct node *find(const struct reading *r, const char *key)
{
    const struct node *node = child_of(r->inner, key);
    return node ? node : child_of(r->whole, key);
}

/* The first of several spellings, ended by NULL. */
static const struct node *find_any(const struct reading *r, const char *const *keys)
{
    const struct node *node = NULL;
    for (; !node && *keys; keys++)
        node = find(r, *keys);
    return node;
}

static uint64_t as_count(struct reading *r, const struct node *node, const char *key)
{
    bool good = (node->token == LL_JSON_NUMBER || node->token == LL_JSON_FALSE) && node->number >= 0 &&
                node->number <= 0x1p40 && node->number == (double)(uint64_t)node->number;
    if (!good && !r->failed) {
        r->failed = true;
        ll_complain(r->diags, (struct ll_place){.file = r->file, .line = node->line},
                    "`%s`: expected a whole number of at most 2^40", key);
    }
    return good ? (uint64_t)node->number : 0;
}

/* A whole number under the first of the keys that is there. */
#define COUNT(r, otherwise, ...) count_of((r), (otherwise), (const char *const[]){__VA_ARGS__, NULL})

static uint64_t count_of(struct reading *r, uint64_t otherwise, const char *const *keys)
{
    const struct node *node = find_any(r, keys);
    return node ? as_count(r, node, keys[0]) : otherwise;
}

/* The same where the model cannot do without. */
#define NEEDED(r, ...) needed_of((r), (const char *const[]){__VA_ARGS__, NULL})

static uint64_t needed_of(struct reading *r, const char *const *keys)
{
    uint64_t count = count_of(r, 0, keys);
    if (count == 0 && !r->failed) {
        r->failed = true;
        ll_complain(r->diags, (struct ll_place){.file = r->file}, "`%s` is missing or 0; a %s has it",
                    keys[0], r->family->name);
    }
    return ll_max(1, count);
}

static bool says(const struct reading *r, const char *key, bool otherwise)
{
    const struct node *node = find(r, key);
    return node ? node->number != 0 : otherwise;
}

static const char *text_of(const struct reading *r, const char *key, const char *otherwise)
{
    const struct node *node = find(r, key);
    return node && node->text ? node->text : otherwise;
}

static bool is_of(const struct reading *r, enum trait trait)
{
    return (r->family->traits & (unsigned)trait) != 0;
}

static bool is_family(const struct reading *r, const char *name)
{
    return strcmp(r->family->name, name) == 0;
}

/* Whether item i of a list is this text. */
static bool item_says(const struct reading *r, const char *key, uint64_t i, const char *text)
{
    const struct node *item = item_of(find(r, key), i);
    return item && item->text && strcmp(item->text, text) == 0;
}

/* The number in item i of a list; otherwise where there is no such. */
static double item_number(const struct reading *r, const char *key, uint64_t i, double otherwise)
{
    const struct node *item = item_of(find(r, key), i);
    return item ? item->number : otherwise;
}

/* --- mixers --- */

static void set_window(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const struct node *types = find(r, "layer_types");
    uint64_t pattern = COUNT(r, 0, "sliding_window_pattern"), window = COUNT(r, 0, "sliding_window");
    bool slides = item_says(r, "layer_types", i, "sliding_attention");
    if (!types && pattern > 0)
        slides = (i + 1) % pattern != 0;
    else if (!types && is_family(r, "gemma2"))
        slides = i % 2 == 0;
    else if (!types)
        slides = is_of(r, WINDOWED) ||
                 (says(r, "use_sliding_window", false) && i >= COUNT(r, 0, "max_window_layers"));
    l->window = slides ? window : 0;
    if (item_says(r, "layer_types", i, "chunked_attention"))
        l->chunk = COUNT(r, 0, "attention_chunk_size");
}

static void set_attention(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    l->mixer = LL_MIXER_ATTENTION;
    l->heads = NEEDED(r, "num_attention_heads");
    l->kv_heads = COUNT(r, l->heads, "num_key_value_heads");
    l->head = COUNT(r, hidden / l->heads, "head_dim", "attention_head_dim", "kv_channels");
    l->rotary = !is_family(r, "nemotron_h");
    l->qk_norm = is_of(r, QK_HEAD) ? LL_QK_HEAD : is_of(r, QK_WHOLE) ? LL_QK_WHOLE : LL_QK_PLAIN;
    if (is_family(r, "glm4_moe") && says(r, "use_qk_norm", false))
        l->qk_norm = LL_QK_HEAD;
    bool biased = says(r, "attention_bias", false);
    l->qkv_biased = biased || is_of(r, QKV_BIAS) || says(r, "qkv_bias", false);
    l->out_biased = biased && !is_family(r, "glm4_moe");
    l->sinks = is_of(r, SINKS);
    l->gated = is_of(r, GATED) && says(r, "attn_output_gate", true);
    set_window(r, i, l);
    l->head_v = l->head;
}

static void set_latent(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    l->mixer = LL_MIXER_LATENT;
    l->heads = NEEDED(r, "num_attention_heads");
    l->q_rank = COUNT(r, 0, "q_lora_rank");
    l->kv_rank = NEEDED(r, "kv_lora_rank");
    l->nope = NEEDED(r, "qk_nope_head_dim");
    l->rope = COUNT(r, 0, "qk_rope_head_dim");
    l->head_v = NEEDED(r, "v_head_dim");
    l->rotary = !says(r, "mla_use_nope", false);
    l->gated = says(r, "mla_use_output_gate", false);
    if (!is_of(r, INDEXED))
        return;
    l->index_heads = NEEDED(r, "index_n_heads");
    l->index_head = NEEDED(r, "index_head_dim");
    l->index_topk = NEEDED(r, "index_topk");
    l->index_shared = item_says(r, "indexer_types", i, "shared");
}

/* Compressed attention (DeepSeek-AI, DeepSeek-V4, 2026, section 2.3): layers see a window alone, or also
 * chosen entries of few tokens each, or all entries of many tokens each. */
static void set_compressed(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const bool sparse = item_says(r, "layer_types", i, "compressed_sparse_attention"),
               heavy = item_says(r, "layer_types", i, "heavily_compressed_attention");
    const struct node *ratio = item_of(find(r, "compress_ratios"), i);
    l->mixer = LL_MIXER_COMPRESSED;
    l->heads = NEEDED(r, "num_attention_heads");
    l->kv_heads = 1;
    l->head = l->head_v = NEEDED(r, "head_dim");
    l->q_rank = NEEDED(r, "q_lora_rank");
    l->window = NEEDED(r, "sliding_window");
    l->out_groups = NEEDED(r, "o_groups");
    l->out_rank = NEEDED(r, "o_lora_rank");
    l->sinks = l->rotary = true;
    l->ratio = ratio    ? as_count(r, ratio, "compress_ratios")
               : sparse ? COUNT(r, 4, "compress_rate_csa")
               : heavy  ? COUNT(r, 128, "compress_rate_hca")
                        : 0;
    enum { CHOSEN_BELOW = 16 }; /* entries of fewer tokens than these are chosen from, by an indexer */
    if (l->ratio > 0 && l->ratio < CHOSEN_BELOW) {
        l->index_heads = NEEDED(r, "index_n_heads");
        l->index_head = NEEDED(r, "index_head_dim");
        l->index_topk = NEEDED(r, "index_topk");
    }
    if (l->heads % l->out_groups != 0 && !r->failed) {
        r->failed = true;
        ll_complain(r->diags, (struct ll_place){.file = r->file},
                    "`o_groups`: expected a divisor of `num_attention_heads`");
    }
}

/* MiniMax-M3: a query sees the best blocks of keys. What chooses them is left out (check_parts). */
static void set_blocks(struct reading *r, struct ll_llm_layer *l)
{
    l->index_topk = ll_mul(COUNT(r, 0, "sparse_topk_blocks"), COUNT(r, 128, "sparse_block_size"));
}

/* Llama 4: layers with positions look at their own piece of a sequence, others at all. */
static void set_llama4(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    l->rotary = item_number(r, "no_rope_layers", i, (i + 1) % 4 != 0) != 0;
    l->chunk = l->rotary ? COUNT(r, 0, "attention_chunk_size") : 0;
    l->qk_norm = says(r, "use_qk_norm", true) && l->rotary ? LL_QK_FREE : LL_QK_PLAIN;
}

/* Gemma 4: layers that see everything have heads of their own; the last ones take keys and values of layers
 * before. */
static void set_gemma4(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const uint64_t layers = COUNT(r, 0, "num_hidden_layers"), sharing = COUNT(r, 0, "num_kv_shared_layers");
    l->kv_shared = sharing < layers && i >= layers - sharing;
    l->layer_input = COUNT(r, 0, "hidden_size_per_layer_input");
    if (!item_says(r, "layer_types", i, "full_attention"))
        return;
    l->head = l->head_v = COUNT(r, l->head, "global_head_dim");
    l->kv_heads = COUNT(r, l->kv_heads, "num_global_key_value_heads");
    l->value_is_key = says(r, "attention_k_eq_v", false);
}

/* MiMo-V2: layers with a window have heads of their own. */
static void set_mimo(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    bool slides = item_number(r, "hybrid_layer_pattern", i, 0) == 1;
    l->head_v = COUNT(r, l->head, "v_head_dim");
    l->window = slides ? COUNT(r, 0, "sliding_window", "sliding_window_size") : 0;
    l->sinks = says(r, slides ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias", slides);
    if (!slides)
        return;
    l->heads = COUNT(r, l->heads, "swa_num_attention_heads");
    l->kv_heads = COUNT(r, l->kv_heads, "swa_num_key_value_heads");
    l->head = COUNT(r, l->head, "swa_head_dim");
    l->head_v = COUNT(r, l->head_v, "swa_v_head_dim");
}

static void set_delta(struct reading *r, struct ll_llm_layer *l)
{
    l->mixer = LL_MIXER_DELTA;
    l->key_heads = NEEDED(r, "linear_num_key_heads");
    l->key = NEEDED(r, "linear_key_head_dim");
    l->value_heads = NEEDED(r, "linear_num_value_heads");
    l->value = NEEDED(r, "linear_value_head_dim");
    l->taps = NEEDED(r, "linear_conv_kernel_dim");
}

static void set_mamba2(struct reading *r, struct ll_llm_layer *l)
{
    const bool alone = is_family(r, "mamba2");
    l->mixer = LL_MIXER_MAMBA2;
    l->key_heads = NEEDED(r, "n_groups");
    l->key = NEEDED(r, alone ? "state_size" : "ssm_state_size");
    l->value_heads = NEEDED(r, alone ? "num_heads" : "mamba_num_heads");
    l->value = NEEDED(r, alone ? "head_dim" : "mamba_head_dim");
    l->taps = NEEDED(r, "conv_kernel");
    l->qkv_biased = says(r, "use_conv_bias", true);
}

/* Of a list of layers that are numbered from 1, whether layer i, numbered from 0, is one. */
static bool is_listed(const struct node *list, uint64_t i)
{
    for (const struct node *item = list ? list->child : NULL; item; item = item->next)
        if (item->number == (double)(i + 1))
            return true;
    return false;
}

static void set_kimi_linear(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const struct node *linear = find(r, "linear_attn_config"), *heads = child_of(linear, "num_heads"),
                      *head = child_of(linear, "head_dim"),
                      *taps = child_of(linear, "short_conv_kernel_size");
    if (!is_listed(child_of(linear, "kda_layers"), i))
        return;
    *l = (struct ll_llm_layer){.mixer = LL_MIXER_KDA};
    l->key_heads = l->value_heads =
        heads ? as_count(r, heads, "num_heads") : NEEDED(r, "num_attention_heads");
    l->key = l->value = head ? as_count(r, head, "head_dim") : NEEDED(r, "head_dim");
    l->taps = taps ? as_count(r, taps, "short_conv_kernel_size") : 4;
    l->gated = says(r, "use_full_rank_gate", false);
}

/* A pruned model (Bercovich et al., Puzzle, 2024): what each block has in place of its attention. */
static void set_pruned(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const struct node *block = item_of(find(r, "block_configs"), i),
                      *attention = child_of(block, "attention"),
                      *group = child_of(attention, "n_heads_in_group"), *none = child_of(attention, "no_op"),
                      *linear = child_of(attention, "replace_with_linear");
    if (none && none->number != 0)
        l->mixer = LL_MIXER_NONE;
    else if (linear && linear->number != 0)
        l->mixer = LL_MIXER_LINEAR;
    else if (group)
        l->kv_heads = l->heads / ll_max(1, as_count(r, group, "n_heads_in_group"));
}

static void set_mixer(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    uint64_t interval = COUNT(r, 0, "full_attention_interval");
    bool linear = item_says(r, "layer_types", i, "linear_attention") ||
                  (!find(r, "layer_types") && interval > 0 && (i + 1) % interval != 0);
    if (is_of(r, GATED) && linear)
        set_delta(r, l);
    else if (is_of(r, LATENT))
        set_latent(r, i, l);
    else if (is_family(r, "deepseek_v4"))
        set_compressed(r, i, l);
    else
        set_attention(r, hidden, i, l);
    if (is_family(r, "llama4"))
        set_llama4(r, i, l);
    else if (is_family(r, "gemma4"))
        set_gemma4(r, i, l);
    else if (is_family(r, "mimo_v2_flash"))
        set_mimo(r, i, l);
    else if (is_family(r, "kimi_linear"))
        set_kimi_linear(r, i, l);
    else if (is_family(r, "nemotron-nas"))
        set_pruned(r, i, l);
    else if (is_family(r, "minimax_m3"))
        set_blocks(r, l);
}

/* --- feed-forward parts --- */

static uint64_t expert_count(struct reading *r)
{
    return COUNT(r, 0, "n_routed_experts", "num_local_experts", "num_experts");
}

/* Whether layer i has experts. */
static bool has_experts(struct reading *r, uint64_t i)
{
    const struct node *frequency = find(r, "moe_layer_freq");
    if (expert_count(r) == 0)
        return false;
    if (is_family(r, "gemma4"))
        return says(r, "enable_moe_block", false);
    if (is_family(r, "llama4"))
        return (i + 1) % ll_max(1, COUNT(r, 1, "interleave_moe_layer_step")) == 0;
    if (find(r, "mlp_layer_types"))
        return !item_says(r, "mlp_layer_types", i, "dense");
    for (const struct node *item = find(r, "mlp_only_layers") ? find(r, "mlp_only_layers")->child : NULL;
         item; item = item->next)
        if (item->number == (double)i)
            return false;
    if (frequency && frequency->token == LL_JSON_LIST)
        return item_number(r, "moe_layer_freq", i, 0) != 0;
    uint64_t each = COUNT(r, 1, "decoder_sparse_step", "moe_layer_freq");
    bool from_1 = find(r, "decoder_sparse_step") != NULL;
    return i >= COUNT(r, 0, "first_k_dense_replace") && (i + from_1) % ll_max(1, each) == 0;
}

static void set_experts(struct reading *r, struct ll_llm_layer *l)
{
    l->experts = expert_count(r);
    l->top_k = NEEDED(r, "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts",
                      "moe_topk");
    l->expert = is_of(r, EXPERT_IS_FFN) ? NEEDED(r, "intermediate_size")
                                        : NEEDED(r, "moe_intermediate_size", "intermediate_size");
    l->shared = COUNT(r, 0, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                      "share_expert_dim", "shared_intermediate_size");
    l->shared_gate = find(r, "shared_expert_intermediate_size") != NULL;
    if (l->shared == 0)
        l->shared = COUNT(r, 0, "n_shared_experts", "num_shared_experts") * l->expert;
    if (is_family(r, "llama4"))
        l->shared = l->expert;
    l->expert_biased = is_of(r, EXPERT_BIAS);
    l->router_bias = is_of(r, EXPERT_BIAS) || is_of(r, ROUTER_BIAS) ||
                     strcmp(text_of(r, "topk_method", ""), "noaux_tc") == 0;
    l->latent = COUNT(r, 0, "moe_latent_size", "routed_expert_hidden_size");
    if (l->top_k > l->experts && !r->failed) {
        r->failed = true;
        ll_complain(r->diags, (struct ll_place){.file = r->file},
                    "a token cannot go to %" PRIu64 " of %" PRIu64 " experts", l->top_k, l->experts);
    }
}

/* The features of a pruned block's feed-forward part: two thirds of twice the multiple, rounded up to 256. */
static void set_pruned_ffn(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    const struct node *block = item_of(find(r, "block_configs"), i), *ffn = child_of(block, "ffn"),
                      *mult = child_of(ffn, "ffn_mult"), *none = child_of(ffn, "no_op"),
                      *linear = child_of(ffn, "replace_with_linear");
    l->dense = 0;
    if (none && none->number != 0)
        return;
    l->dense_linear = linear && linear->number != 0;
    if (!l->dense_linear && mult && mult->number > 0 && mult->number < 1000)
        l->dense = ll_ceil_div((uint64_t)(2 * mult->number * (double)hidden / 3), 256) * 256;
}

static void set_ffn(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    static const char *const acts[] = {"mlp_hidden_act", "hidden_act", "hidden_activation", NULL};
    const struct node *act = find_any(r, acts);
    l->plain = act && act->text && strncmp(act->text, "relu", 4) == 0;
    l->biased = says(r, "mlp_bias", false);
    bool experts = has_experts(r, i);
    if (experts)
        set_experts(r, l);
    if ((!experts && !is_family(r, "nemotron-nas")) || is_family(r, "gemma4"))
        l->dense = is_family(r, "llama4")       ? NEEDED(r, "intermediate_size_mlp")
                   : is_family(r, "minimax_m3") ? NEEDED(r, "dense_intermediate_size", "intermediate_size")
                                                : NEEDED(r, "intermediate_size");
    if (l->kv_shared && says(r, "use_double_wide_mlp", false))
        l->dense = ll_mul(l->dense, 2);
    if (i < COUNT(r, 0, "num_hash_layers")) /* a table says which experts a token goes to */
        l->router_bias = false;
    if (is_family(r, "nemotron-nas"))
        set_pruned_ffn(r, hidden, i, l);
    l->norms = is_of(r, SANDWICH) ? (experts ? 5 : 2) : 0;
    l->router_scales = is_family(r, "gemma4");
}

/* A layer of Nemotron-H has one part: M, *, - or E of a pattern. */
static void set_one_part(struct reading *r, uint64_t hidden, uint64_t i, char part, struct ll_llm_layer *l)
{
    static const char *const acts[] = {"mlp_hidden_act", "hidden_act", NULL};
    const struct node *act = find_any(r, acts);
    l->plain = !act || (act->text && strncmp(act->text, "relu", 4) == 0);
    if (!strchr("M*E-", part) && !r->failed) {
        r->failed = true;
        ll_complain(r->diags, (struct ll_place){.file = r->file},
                    "`hybrid_override_pattern`: layer %" PRIu64 " is `%c`; expected M, *, E or -", i, part);
    }
    if (part == 'M')
        set_mamba2(r, l);
    else if (part == '*')
        set_attention(r, hidden, i, l);
    else if (part == 'E')
        set_experts(r, l);
    else
        l->dense = NEEDED(r, "intermediate_size");
    if (part == 'E')
        l->router_bias = true;
}

/* --- formats of weights --- */

/* A number of an object that is somewhere in the configuration's groups. */
static const struct node *weights_of_groups(const struct node *quantization)
{
    const struct node *groups = child_of(quantization, "config_groups");
    return groups && groups->child ? child_of(groups->child, "weights") : NULL;
}

static struct ll_llm_formats formats_of_bits(uint64_t bits, bool is_float)
{
    if (bits == 8)
        return is_float ? (struct ll_llm_formats){1 + LL_LINEAR_FP8, LL_EXPERTS_FP8}
                        : (struct ll_llm_formats){1 + LL_LINEAR_INT8, LL_EXPERTS_FP8};
    if (bits == 4)
        return is_float ? (struct ll_llm_formats){1 + LL_LINEAR_NVFP4, LL_EXPERTS_NVFP4}
                        : (struct ll_llm_formats){1 + LL_LINEAR_INT4_WO, LL_EXPERTS_INT4_WO};
    return (struct ll_llm_formats){0, LL_EXPERTS_BF16};
}

static struct ll_llm_formats unknown_format(struct reading *r, const char *key, const struct node *node)
{
    ll_remark(
        r->diags, (struct ll_place){.file = r->file, .line = node->line},
        "`%s`: `%s` is not known; weights are taken to have 16 bits (-p weights=... stores them otherwise)",
        key, node->text ? node->text : "");
    return (struct ll_llm_formats){0, LL_EXPERTS_BF16};
}

static struct ll_llm_formats formats_of(struct reading *r)
{
    const struct node *q = find(r, "quantization_config"), *method = child_of(q, "quant_method"),
                      *algorithm = child_of(q, "quant_algo"), *bits = child_of(q, "bits");
    const char *name = method && method->text ? method->text : "";
    if (strcmp(name, "fp8") == 0 && strcmp(text_of(r, "expert_dtype", ""), "fp4") == 0)
        return (struct ll_llm_formats){1 + LL_LINEAR_FP8_BLOCK, LL_EXPERTS_W4A8_MXFP4_MXFP8};
    if (strcmp(name, "fp8") == 0)
        return child_of(q, "weight_block_size")
                   ? (struct ll_llm_formats){1 + LL_LINEAR_FP8_BLOCK, LL_EXPERTS_FP8_BLOCK}
                   : (struct ll_llm_formats){1 + LL_LINEAR_FP8, LL_EXPERTS_FP8};
    if (strcmp(name, "mxfp4") == 0)
        return (struct ll_llm_formats){0, LL_EXPERTS_W4A16_MXFP4};
    if (strcmp(name, "gptq") == 0 || strcmp(name, "awq") == 0)
        return formats_of_bits(bits ? as_count(r, bits, "bits") : 4, false);
    if (strcmp(name, "compressed-tensors") == 0 || strcmp(name, "modelopt") == 0) {
        const struct node *weights = weights_of_groups(q), *each = child_of(weights, "num_bits"),
                          *type = child_of(weights, "type");
        if (algorithm && algorithm->text && strcmp(algorithm->text, "NVFP4") == 0)
            return formats_of_bits(4, true);
        if (algorithm && algorithm->text && strcmp(algorithm->text, "FP8") == 0)
            return formats_of_bits(8, true);
        if (algorithm && algorithm->text)
            return unknown_format(r, "quant_algo", algorithm);
        return formats_of_bits(each ? as_count(r, each, "num_bits") : 16,
                               type && type->text && strcmp(type->text, "float") == 0);
    }
    return method ? unknown_format(r, "quant_method", method) : (struct ll_llm_formats){0, LL_EXPERTS_BF16};
}

/* --- the whole --- */

static const struct family *family_of(const char *type)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t length = strlen(families[i].name);
        if (strncmp(type, families[i].name, length) == 0 &&
            (type[length] == '\0' || strcmp(type + length, "_text") == 0))
            return &families[i];
    }
    return NULL;
}

static bool unknown_family(const struct reading *r, const char *type, uint64_t line)
{
    struct ll_str all = {0};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        ll_str_addf(&all, "%s%s", i ? ", " : "", families[i].name);
    ll_complain(r->diags, (struct ll_place){.file = r->file, .line = line},
                "model_type `%s`: not a family of language models that is known here; expected one of %s",
                type, all.failed ? "others" : all.text);
    ll_str_release(&all);
    return false;
}

/* Families that say so in `architectures` alone. */
static const char *type_of(const struct reading *r)
{
    const struct node *named = item_of(find(r, "architectures"), 0);
    const char *architecture = named && named->text ? named->text : "";
    if (strcmp(architecture, "DeciLMForCausalLM") == 0)
        return "nemotron-nas";
    return text_of(r, "model_type", architecture);
}

static const struct node *inner_of(const struct node *whole)
{
    static const char *const keys[] = {"text_config", "language_config", "llm_config"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (child_of(whole, keys[i]))
            return child_of(whole, keys[i]);
    return whole;
}

/* Remarks on parts that are left out of the model; refuses keys that change its layers in a way that is not
 * known here. */
static bool check_parts(struct reading *r)
{
    static const char *const towers[] = {"vision_config", "audio_config"},
                             *const more[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers",
                                              "num_mtp_modules"},
                             *const unknown[] = {"hidden_size_per_layer_input", "num_kv_shared_layers",
                                                 "compress_ratios", "attn_res_block_size",
                                                 "sparse_topk_blocks"},
                             *const families_of[] = {"gemma4", "gemma4", "deepseek_v4", "", "minimax_m3"};
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (find(r, towers[i]))
            ll_remark(r->diags, (struct ll_place){.file = r->file, .line = find(r, towers[i])->line},
                      "`%s`: the tower is left out; the language model alone is recorded", towers[i]);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (find(r, more[i]) && find(r, more[i])->number > 0)
            ll_remark(r->diags, (struct ll_place){.file = r->file, .line = find(r, more[i])->line},
                      "`%s`: layers for multi-token prediction are left out", more[i]);
    if (is_family(r, "minimax_m3") && find(r, "sparse_topk_blocks"))
        ll_remark(r->diags, (struct ll_place){.file = r->file, .line = find(r, "sparse_topk_blocks")->line},
                  "`sparse_topk_blocks`: the indexer that chooses blocks of keys is left out");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const struct node *node = find(r, unknown[i]);
        if (node && (node->number != 0 || node->child) && !is_family(r, families_of[i]))
            return ll_complain(r->diags, (struct ll_place){.file = r->file, .line = node->line},
                               "`%s`: layers that have this are not known here; expected none", unknown[i]);
    }
    return true;
}

/* Whether each layer that takes keys and values of a layer before has one of its kind there. */
static bool shares_known(const struct reading *r, const struct ll_llm *llm)
{
    const struct ll_llm_layer *last[2] = {NULL, NULL};
    for (uint64_t i = 0; i < llm->layer_count; i++) {
        const struct ll_llm_layer *l = &llm->layers[i], **before = &last[l->window > 0];
        if (!l->kv_shared)
            *before = l;
        else if (!*before || (*before)->head != l->head || (*before)->kv_heads != l->kv_heads)
            return ll_complain(r->diags, (struct ll_place){.file = r->file},
                               "`num_kv_shared_layers`: layer %" PRIu64
                               " has no layer of its kind before it whose keys it could take",
                               i);
    }
    return true;
}

static bool fill(struct reading *r, struct ll_llm *llm)
{
    const char *pattern = text_of(r, "hybrid_override_pattern", NULL);
    enum { MOST_LAYERS = 4096 };
    *llm = (struct ll_llm){.hidden = NEEDED(r, "hidden_size"),
                           .vocabulary = NEEDED(r, "vocab_size"),
                           .layer_count = pattern ? strlen(pattern) : NEEDED(r, "num_hidden_layers"),
                           .tied = says(r, "tie_word_embeddings", is_of(r, TIED)),
                           .layer_vocabulary = COUNT(r, 0, "vocab_size_per_layer_input", "vocab_size"),
                           .streams = is_family(r, "deepseek_v4") ? COUNT(r, 0, "hc_mult") : 0,
                           .formats = formats_of(r)};
    if (!check_parts(r))
        return false;
    if (llm->streams > 64)
        return ll_complain(r->diags, (struct ll_place){.file = r->file}, "`hc_mult`: expected at most 64");
    if (llm->layer_count > MOST_LAYERS)
        return ll_complain(r->diags, (struct ll_place){.file = r->file},
                           "`num_hidden_layers`: expected at most %d", MOST_LAYERS);
    struct ll_llm_layer *layers = ll_alloc(r->arena, llm->layer_count, sizeof *layers);
    if (!layers)
        return ll_complain(r->diags, (struct ll_place){.file = r->file}, "memory ran out");
    llm->layers = layers;
    for (uint64_t i = 0; i < llm->layer_count && !r->failed; i++) {
        if (is_family(r, "mamba2")) {
            set_mamba2(r, &layers[i]);
            continue;
        }
        if (is_family(r, "nemotron_h") && pattern) {
            set_one_part(r, llm->hidden, i, pattern[i], &layers[i]);
            continue;
        }
        set_mixer(r, llm->hidden, i, &layers[i]);
        set_ffn(r, llm->hidden, i, &layers[i]);
    }
    if (!r->failed && !shares_known(r, llm))
        return false;
    for (uint64_t i = 0; i < llm->layer_count && !r->failed; i++)
        if (layers[i].mixer == LL_MIXER_ATTENTION &&
            (layers[i].kv_heads == 0 || layers[i].heads % layers[i].kv_heads != 0 || layers[i].head == 0))
            return ll_complain(r->diags, (struct ll_place){.file = r->file},
                               "`num_key_value_heads`: expected a divisor of `num_attention_heads`");
    return !r->failed;
}

bool ll_llm_read(const char *file, const char *text, size_t length, struct ll_arena *arena,
                 struct ll_llm *llm, struct ll_diags *diags)
{
    struct ll_json_reader json = {
        .file = file, .begin = text, .at = text, .end = text + length, .diags = diags};
    struct node *whole = ll_json_read(&json) == LL_JSON_OBJECT ? read_value(&json, arena, NULL) : NULL;
    if (!whole)
        return json.failed ? false
                           : ll_complain(diags, (struct ll_place){.file = file},
                                         "expected an object of JSON, as a model's config.json");
    struct reading r = {
        .file = file, .whole = whole, .inner = inner_of(whole), .diags = diags, .arena = arena};
    const char *type = type_of(&r);
    r.family = family_of(type);
    if (!r.family)
        return unknown_family(&r, type, 0);
    return fill(&r, llm);
}

/* Configurations that come along. */

/* text NULL: that of `also`. */
static const struct {
    const char *name, *text, *also;
} known[] = {
#define LL_LLM(name, ...) {name, #__VA_ARGS__, NULL},
#define LL_LLM_ALSO(name, other) {name, NULL, other},
#include "models/llm/configs.def"
#undef LL_LLM
#undef LL_LLM_ALSO
};

size_t ll_llm_known_count(void)
{
    return sizeof known / sizeof *known;
}

const char *ll_llm_known_name(size_t i)
{
    assert(i < ll_llm_known_count());
    return known[i].name;
}

const char *ll_llm_known(const char *name)
{
    for (size_t i = 0; i < ll_llm_known_count(); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].text ? known[i].text : ll_llm_known(known[i].also);
    return NULL;
}
