/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of language models (config.h): one layer after the other, as its family has it by the keys
 * that the file has (keys.h). */
#include "models/llm/config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/llm/keys.h"
#include "models/llm/tower.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

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
    WINDOWED = 1 << 12,     /* a window goes for all layers where no list says otherwise */
    OUT_BIAS = 1 << 13,     /* attention's last matrix has a bias */
    FFN_BIAS = 1 << 14,     /* the feed-forward part has biases */
    LAYER_NORM = 1 << 15,   /* norms subtract the mean, and shift */
    UNSHIFTED = 1 << 16,    /* norms subtract the mean, and do not shift */
    BARE = 1 << 17,         /* norms subtract the mean, and have no weights */
    PLAIN = 1 << 18,        /* the feed-forward part has no gate, whatever its activation */
    PARALLEL = 1 << 19,     /* both parts of a layer read the same x */
    ONE_NORM = 1 << 20,     /* through one norm */
    LEARNED = 1 << 21,      /* places have embeddings */
    EMBED_NORM = 1 << 22,   /* embeddings are normalised */
    HEAD_BIAS = 1 << 23,    /* the head has biases */
    HEAD_GATE = 1 << 24,    /* a gate of each head's results */
    QKV_ONLY = 1 << 25,     /* attention_bias means queries, keys and values alone */
    HALF_FFN = 1 << 26,     /* intermediate_size is that of gate and up together */
    MIXED_MAMBA = 1 << 27,  /* layer_types has layers of Mamba-2 beside those of attention */
    SELECTIVE = 1 << 28,    /* layers that are not attention are Mamba's */
    MIXERS = 1 << 29        /* layers have no feed-forward part */
};
enum { ALL_BIASES = QKV_BIAS | OUT_BIAS | FFN_BIAS, GPT = ALL_BIASES | LAYER_NORM | PLAIN };

/* Families, by model_type without the suffix `_text`. */
static const struct family {
    const char *name;
    unsigned traits;
} families[] = {
#define LL_FAMILY(name, traits) {name, traits},
#include "models/llm/families.def"
#undef LL_FAMILY
};

struct reading {
    struct ll_keys keys;
    const struct family *family;
};

/* A whole number under the first of the keys that is there; the same where the model cannot do without. */
#define COUNT(r, otherwise, ...)                                                                             \
    ll_key_count(&(r)->keys, (otherwise), (const char *const[]){__VA_ARGS__, NULL})
#define NEEDED(r, ...) ll_key_needed(&(r)->keys, (const char *const[]){__VA_ARGS__, NULL})

static struct ll_key *find(const struct reading *r, const char *key)
{
    return ll_key_find(&r->keys, key);
}

static bool says(const struct reading *r, const char *key, bool otherwise)
{
    return ll_key_says(&r->keys, key, otherwise);
}

static bool item_says(const struct reading *r, const char *key, uint64_t i, const char *text)
{
    return ll_key_item_says(&r->keys, key, i, text);
}

static bool is_of(const struct reading *r, enum trait trait)
{
    return (r->family->traits & (unsigned)trait) != 0;
}

static bool is_family(const struct reading *r, const char *name)
{
    return strcmp(r->family->name, name) == 0;
}

/* --- mixers --- */

/* Whether layer i slides by a text that is repeated, as LLLG: L slides, G does not. */
static bool slides_by(const char *pattern, uint64_t i)
{
    const size_t length = strlen(pattern);
    return length > 0 && pattern[i % length] == 'L';
}

static void set_window(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const struct ll_key *types = find(r, "layer_types"), *by = find(r, "sliding_window_pattern");
    const uint64_t otherwise = is_family(r, "gemma3") ? 6 : 0, window = COUNT(r, 0, "sliding_window"),
                   pattern = by && by->text
                                 ? 0
                                 : COUNT(r, otherwise, "sliding_window_pattern", "_sliding_window_pattern");
    bool slides = item_says(r, "layer_types", i, "sliding_attention");
    if (!types && by && by->text)
        slides = slides_by(by->text, i);
    else if (!types && pattern > 0)
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

/* Heads of keys, where no number of them is given or it does not count. */
static uint64_t key_heads(struct reading *r, uint64_t heads)
{
    const bool falcon = is_family(r, "falcon"), groups = says(r, "new_decoder_architecture", false);
    if (falcon && !groups)
        return says(r, "multi_query", true) ? 1 : heads;
    if (is_family(r, "gpt_bigcode"))
        return says(r, "multi_query", true) ? 1 : heads;
    if (is_family(r, "chatglm"))
        return says(r, "multi_query_attention", false) ? NEEDED(r, "multi_query_group_num") : heads;
    const struct ll_key *of_mpt = ll_key_in(find(r, "attn_config"), "kv_n_heads");
    if (of_mpt)
        return ll_key_as_count(&r->keys, of_mpt, "kv_n_heads");
    return COUNT(r, heads, "num_key_value_heads", "num_kv_heads", "num_attention_groups");
}

/* Biases of an attention's matrices: of all as one key says, which families spell in many ways, or as goes
 * without saying; of queries, keys and values, and of the last one, as keys of their own say. */
static void set_biases(struct reading *r, struct ll_llm_layer *l)
{
    static const char *const spellings[] = {"attention_bias", "use_bias", "bias", "add_bias_linear", NULL},
                             *const of_scans[] = {"attention_bias", NULL}, /* use_bias is that of scans */
                                 *const of_qkv[] = {"qkv_bias", "use_qkv_bias", "add_qkv_bias", NULL};
    const bool scans = is_family(r, "nemotron_h") || is_of(r, MIXED_MAMBA);
    const struct ll_key *all = ll_key_find_any(&r->keys, scans ? of_scans : spellings),
                        *qkv = ll_key_find_any(&r->keys, of_qkv), *none = find(r, "no_bias");
    bool qkv_biased = is_of(r, QKV_BIAS), out_biased = is_of(r, OUT_BIAS);
    if (is_family(r, "gpt_neox"))
        qkv_biased = out_biased = says(r, "attention_bias", true);
    else if (all)
        out_biased = all->number != 0;
    if (all)
        qkv_biased = all->number != 0 || (is_of(r, QKV_BIAS) && !is_of(r, OUT_BIAS));
    if (is_family(r, "mpt"))
        qkv_biased = out_biased = none && none->number == 0;
    l->qkv_biased = qkv ? qkv->number != 0 : qkv_biased;
    l->out_biased = says(r, "attention_out_bias", out_biased && !is_of(r, QKV_ONLY));
}

/* Whether keys and queries are normalised, over a head or over all at once. */
static enum ll_llm_qk_norm qk_norm_of(const struct reading *r)
{
    const bool whole = is_of(r, QK_WHOLE) || is_of(r, UNSHIFTED) || is_family(r, "stablelm"),
               goes_without_saying = is_of(r, QK_HEAD) || is_of(r, QK_WHOLE);
    if (is_of(r, QK_HEAD) || is_family(r, "glm4_moe"))
        return says(r, "use_qk_norm", goes_without_saying) ? LL_QK_HEAD : LL_QK_PLAIN;
    if (whole)
        return says(r, is_family(r, "stablelm") ? "qk_layernorm" : "use_qk_norm", goes_without_saying)
                   ? LL_QK_WHOLE
                   : LL_QK_PLAIN;
    return LL_QK_PLAIN;
}

static void set_attention(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    l->mixer = LL_MIXER_ATTENTION;
    l->heads = NEEDED(r, "num_attention_heads", "n_head", "n_heads", "num_heads");
    l->kv_heads = key_heads(r, l->heads);
    l->head = COUNT(r, hidden / l->heads, "head_dim", "attention_head_dim", "kv_channels");
    l->rotary = !is_family(r, "nemotron_h") && !is_of(r, SELECTIVE) && !is_of(r, LEARNED) &&
                !is_of(r, EMBED_NORM) && !is_family(r, "mpt") && !says(r, "alibi", false);
    l->qk_norm = qk_norm_of(r);
    set_biases(r, l);
    l->sinks = is_of(r, SINKS);
    l->gated = is_of(r, GATED) && says(r, "attn_output_gate", true);
    l->head_gated = is_of(r, HEAD_GATE) && says(r, "use_head_wise_attn_gate", true);
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
    l->index_heads = COUNT(r, is_family(r, "glm_moe_dsa") ? 32 : 64, "index_n_heads");
    l->index_head = COUNT(r, 128, "index_head_dim");
    l->index_topk = COUNT(r, 2048, "index_topk");
    l->index_shared = item_says(r, "indexer_types", i, "shared");
}

/* Compressed attention (DeepSeek-AI, DeepSeek-V4, 2026, section 2.3): layers see a window alone, or also
 * chosen entries of few tokens each, or all entries of many tokens each. */
static void set_compressed(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    const bool sparse = item_says(r, "layer_types", i, "compressed_sparse_attention"),
               heavy = item_says(r, "layer_types", i, "heavily_compressed_attention");
    struct ll_key *ratio = ll_key_item(find(r, "compress_ratios"), i);
    l->mixer = LL_MIXER_COMPRESSED;
    l->heads = NEEDED(r, "num_attention_heads");
    l->kv_heads = 1;
    l->head = l->head_v = NEEDED(r, "head_dim");
    l->q_rank = NEEDED(r, "q_lora_rank");
    l->window = NEEDED(r, "sliding_window");
    l->out_groups = NEEDED(r, "o_groups");
    l->out_rank = NEEDED(r, "o_lora_rank");
    l->sinks = l->rotary = true;
    l->ratio = ratio    ? ll_key_as_count(&r->keys, ratio, "compress_ratios")
               : sparse ? COUNT(r, 4, "compress_rate_csa")
               : heavy  ? COUNT(r, 128, "compress_rate_hca")
                        : 0;
    enum { CHOSEN_BELOW = 16 }; /* entries of fewer tokens than these are chosen from, by an indexer */
    if (l->ratio > 0 && l->ratio < CHOSEN_BELOW) {
        l->index_heads = NEEDED(r, "index_n_heads");
        l->index_head = NEEDED(r, "index_head_dim");
        l->index_topk = NEEDED(r, "index_topk");
    }
    if (l->heads % l->out_groups != 0)
        ll_keys_complain(&r->keys, find(r, "o_groups"),
                         "`o_groups`: expected a divisor of `num_attention_heads`");
}

/* MiniMax-M3: a query sees the best blocks of keys. What chooses them is left out (check_parts). */
static void set_blocks(struct reading *r, struct ll_llm_layer *l)
{
    l->index_topk = ll_mul(COUNT(r, 0, "sparse_topk_blocks"), COUNT(r, 128, "sparse_block_size"));
}

/* Llama 4: layers with positions look at their own piece of a sequence, others at all. */
static void set_llama4(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    l->rotary = ll_key_item_number(&r->keys, "no_rope_layers", i, (i + 1) % 4 != 0) != 0;
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

/* Step 3.5: layers with a window have heads of their own. */
static void set_step(struct reading *r, struct ll_llm_layer *l)
{
    struct ll_key *other = find(r, "attention_other_setting");
    const struct ll_key *heads = ll_key_in(other, "num_attention_heads"),
                        *groups = ll_key_in(other, "num_attention_groups"),
                        *head = ll_key_in(other, "head_dim");
    if (l->window == 0)
        return;
    l->heads = heads ? ll_key_as_count(&r->keys, heads, "num_attention_heads") : l->heads;
    l->kv_heads = groups ? ll_key_as_count(&r->keys, groups, "num_attention_groups") : l->kv_heads;
    l->head = l->head_v = head ? ll_key_as_count(&r->keys, head, "head_dim") : l->head;
}

/* MiMo-V2: layers with a window have heads of their own. */
static void set_mimo(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    bool slides = ll_key_item_number(&r->keys, "hybrid_layer_pattern", i, 0) == 1;
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

static void set_mamba2(struct reading *r, uint64_t hidden, struct ll_llm_layer *l)
{
    const struct ll_key *features = find(r, "mamba_d_head");
    const bool alone = is_family(r, "mamba2");
    l->mixer = LL_MIXER_MAMBA2;
    l->key_heads = NEEDED(r, "n_groups", "mamba_n_groups");
    l->key = alone ? NEEDED(r, "state_size") : NEEDED(r, "ssm_state_size", "mamba_d_state");
    l->value_heads = alone ? NEEDED(r, "num_heads") : NEEDED(r, "mamba_num_heads", "mamba_n_heads");
    if (features && features->text) /* "auto" */
        l->value = ll_mul(COUNT(r, 2, "mamba_expand"), hidden) / l->value_heads;
    else
        l->value = alone ? NEEDED(r, "head_dim") : NEEDED(r, "mamba_head_dim", "mamba_d_head");
    l->taps = NEEDED(r, "conv_kernel", "mamba_d_conv");
    l->qkv_biased = says(r, "use_conv_bias", says(r, "mamba_conv_bias", true));
    if (says(r, "use_bias", false) || says(r, "mamba_proj_bias", false))
        ll_keys_complain(&r->keys, find(r, "mamba_proj_bias"),
                         "biases of the matrices around a scan are not known here; expected none");
}

/* Layers of a kind come in a period, and layer i is one of them: by the keys or, where there are none, as
 * usual; a usual period of 0 is that all layers are of the kind. */
static bool is_of_period(struct reading *r, const char *period, const char *offset, uint64_t i,
                         uint64_t usual_period, uint64_t usual_offset)
{
    const uint64_t each = COUNT(r, usual_period, period);
    if (each == 0 && !find(r, period))
        return true;
    const uint64_t at = COUNT(r, usual_offset, offset);
    if (at >= each)
        ll_keys_complain(&r->keys, find(r, each == 0 ? period : offset),
                         "of layers in a period the first has a number below it; expected a period from 1 on "
                         "and a smaller offset");
    return each > 0 && i % each == at;
}

/* Mamba (Gu and Dao, 2023, section 3.4), as it stands alone or in Jamba (Lieber et al., 2024), where what the
 * scan reads has norms. */
static void set_selective(struct reading *r, uint64_t hidden, struct ll_llm_layer *l)
{
    enum { FEATURES_A_RANK = 16 };
    const struct ll_key *rank =
        ll_key_find_any(&r->keys, (const char *const[]){"time_step_rank", "mamba_dt_rank", NULL});
    const bool within = !is_of(r, MIXERS); /* intermediate_size is that of the feed-forward part */
    const uint64_t expanded = ll_mul(COUNT(r, 2, "expand", "mamba_expand"), hidden);
    l->mixer = LL_MIXER_MAMBA;
    l->key_heads = l->value = 1;
    l->key = COUNT(r, 16, "state_size", "mamba_d_state");
    l->value_heads = within ? expanded : COUNT(r, expanded, "intermediate_size");
    l->taps = COUNT(r, 4, "conv_kernel", "mamba_d_conv");
    l->step_rank = rank && !rank->text ? ll_key_as_count(&r->keys, rank, "time_step_rank")
                                       : ll_ceil_div(hidden, FEATURES_A_RANK);
    l->step_normed = within;
    l->qkv_biased = says(r, "use_conv_bias", says(r, "mamba_conv_bias", true));
    if (l->value_heads == 0 || l->taps == 0 || l->key == 0 || l->step_rank == 0)
        ll_keys_complain(&r->keys, NULL,
                         "a scan has channels, states, taps and steps; expected none of them 0");
    if (says(r, "use_bias", false) || says(r, "mamba_proj_bias", false))
        ll_keys_complain(&r->keys, find(r, "mamba_proj_bias"),
                         "biases of the matrices around a scan are not known here; expected none");
}

/* A gated short convolution (LFM2, Liquid AI, 2025). */
static void set_short_conv(struct reading *r, uint64_t hidden, struct ll_llm_layer *l)
{
    l->mixer = LL_MIXER_CONV;
    l->value_heads = 1;
    l->value = hidden;
    l->taps = COUNT(r, 3, "conv_L_cache");
    l->qkv_biased = says(r, "conv_bias", false);
}

/* Whether a list has this number. */
static bool has_number(struct ll_key *list, uint64_t number)
{
    for (const struct ll_key *item = list ? list->child : NULL; item; item = item->next)
        if (item->number == (double)number && item->token == LL_JSON_NUMBER)
            return true;
    return false;
}

/* Layers of Mamba-2 or of short convolutions among those of attention: by a list of kinds, or of those that
 * are attention. */
static bool is_mixed(const struct reading *r, uint64_t i, const char *kind)
{
    struct ll_key *attends = find(r, kind[0] == 'm' ? "attn_layer_indices" : "full_attn_idxs");
    if (find(r, "layer_types"))
        return item_says(r, "layer_types", i, kind);
    return attends && !has_number(attends, i);
}

static void set_kimi_linear(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    struct ll_key *linear = find(r, "linear_attn_config"), *heads = ll_key_in(linear, "num_heads"),
                  *head = ll_key_in(linear, "head_dim"), *taps = ll_key_in(linear, "short_conv_kernel_size");
    if (!has_number(ll_key_in(linear, "kda_layers"), i + 1)) /* layers are numbered from 1 */
        return;
    *l = (struct ll_llm_layer){.mixer = LL_MIXER_KDA};
    l->key_heads = l->value_heads =
        heads ? ll_key_as_count(&r->keys, heads, "num_heads") : NEEDED(r, "num_attention_heads");
    l->key = l->value = head ? ll_key_as_count(&r->keys, head, "head_dim") : NEEDED(r, "head_dim");
    l->taps = taps ? ll_key_as_count(&r->keys, taps, "short_conv_kernel_size") : 4;
    l->gated = says(r, "use_full_rank_gate", false);
}

/* A pruned model (Bercovich et al., Puzzle, 2024): what each block has in place of its attention. */
static void set_pruned(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    struct ll_key *block = ll_key_item(find(r, "block_configs"), i),
                  *attention = ll_key_in(block, "attention"),
                  *group = ll_key_in(attention, "n_heads_in_group"), *none = ll_key_in(attention, "no_op"),
                  *linear = ll_key_in(attention, "replace_with_linear");
    if (none && none->number != 0)
        l->mixer = LL_MIXER_NONE;
    else if (linear && linear->number != 0)
        l->mixer = LL_MIXER_LINEAR;
    else if (group)
        l->kv_heads = l->heads / ll_max(1, ll_key_as_count(&r->keys, group, "n_heads_in_group"));
}

static void set_mixer(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    uint64_t interval = COUNT(r, 0, "full_attention_interval");
    bool linear = item_says(r, "layer_types", i, "linear_attention") ||
                  (!find(r, "layer_types") && interval > 0 && (i + 1) % interval != 0);
    if (is_of(r, GATED) && linear)
        set_delta(r, l);
    else if (is_of(r, MIXED_MAMBA) && is_mixed(r, i, "mamba"))
        set_mamba2(r, hidden, l);
    else if (is_of(r, MIXERS) ||
             (is_of(r, SELECTIVE) && !is_of_period(r, "attn_layer_period", "attn_layer_offset", i, 8, 4)))
        set_selective(r, hidden, l);
    else if (strncmp(r->family->name, "lfm2", 4) == 0 && is_mixed(r, i, "conv"))
        set_short_conv(r, hidden, l);
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
    else if (is_of(r, HEAD_GATE))
        set_step(r, l);
}

/* --- feed-forward parts --- */

/* A number of layer i: an item of a list, or one number for all layers. */
#define COUNT_AT(r, i, otherwise, ...)                                                                       \
    count_at((r), (i), (otherwise), (const char *const[]){__VA_ARGS__, NULL})

static uint64_t count_at(struct reading *r, uint64_t i, uint64_t otherwise, const char *const *spellings)
{
    struct ll_key *value = ll_key_find_any(&r->keys, spellings);
    if (value && value->token == LL_JSON_LIST)
        value = ll_key_item(value, i);
    return value ? ll_key_as_count(&r->keys, value, spellings[0]) : otherwise;
}

static uint64_t expert_count(struct reading *r)
{
    return COUNT(r, 0, "n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts");
}

/* Whether a text with numbers between commas has this one. */
static bool text_has(const char *text, uint64_t number)
{
    for (char *end; *text; text = *end ? end + 1 : end) {
        if (strtoull(text, &end, 10) == number && end != text)
            return true;
        if (*end && *end != ',')
            return false;
    }
    return false;
}

/* Whether layer i has experts. */
static bool has_experts(struct reading *r, uint64_t i)
{
    const struct ll_key *frequency = find(r, "moe_layer_freq"), *chosen = find(r, "moe_layers_enum");
    if (expert_count(r) == 0)
        return false;
    if (is_family(r, "gemma4"))
        return says(r, "enable_moe_block", false);
    if (is_family(r, "llama4") && find(r, "moe_layers"))
        return has_number(find(r, "moe_layers"), i);
    if (is_family(r, "llama4"))
        return (i + 1) % ll_max(1, COUNT(r, 1, "interleave_moe_layer_step")) == 0;
    if (chosen && chosen->text)
        return text_has(chosen->text, i);
    if (find(r, "mlp_layer_types"))
        return !item_says(r, "mlp_layer_types", i, "dense");
    const bool jamba = is_family(r, "jamba");
    if (has_number(find(r, "mlp_only_layers"), i) ||
        !is_of_period(r, "expert_layer_period", "expert_layer_offset", i, jamba ? 2 : 0, jamba ? 1 : 0))
        return false;
    if (frequency && frequency->token == LL_JSON_LIST)
        return ll_key_item_number(&r->keys, "moe_layer_freq", i, 0) != 0;
    uint64_t each = COUNT(r, 1, "decoder_sparse_step", "moe_layer_freq", "moe_layer_interval"),
             first = COUNT(r, 0, "first_k_dense_replace", "moe_layer_start_index", "num_dense_layers",
                           "moe_layer_num_skipped");
    bool from_1 = find(r, "decoder_sparse_step") || find(r, "moe_layer_interval");
    return i >= first && i <= COUNT(r, UINT32_MAX, "moe_layer_end_index") &&
           (i + from_1) % ll_max(1, each) == 0;
}

static void set_experts(struct reading *r, uint64_t i, struct ll_llm_layer *l)
{
    l->experts = expert_count(r);
    l->top_k = COUNT_AT(r, i, 0, "num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                        "top_k_experts", "moe_topk", "moe_k", "moe_top_k");
    if (l->top_k == 0)
        l->top_k = NEEDED(r, "num_experts_per_tok");
    l->expert = is_of(r, EXPERT_IS_FFN) ? NEEDED(r, "intermediate_size")
                                        : COUNT_AT(r, i, 0, "moe_intermediate_size", "expert_ffn_hidden_size",
                                                   "intermediate_size");
    l->shared = COUNT(r, 0, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                      "share_expert_dim", "share_expert_dims", "shared_intermediate_size");
    l->shared_gate = find(r, "shared_expert_intermediate_size") != NULL;
    const uint64_t count = COUNT_AT(r, i, 0, "n_shared_experts", "num_shared_experts", "num_shared_expert",
                                    "moe_num_shared_experts");
    if (l->shared == 0)
        l->shared = ll_mul(count, l->expert);
    if (is_family(r, "llama4"))
        l->shared = l->expert;
    l->expert_biased = is_of(r, EXPERT_BIAS);
    l->router_bias = is_of(r, EXPERT_BIAS) || says(r, "use_expert_bias", is_of(r, ROUTER_BIAS)) ||
                     strcmp(ll_key_text(&r->keys, "topk_method", ""), "noaux_tc") == 0;
    l->latent = COUNT(r, 0, "moe_latent_size", "routed_expert_hidden_size");
    if (l->expert == 0)
        ll_keys_complain(&r->keys, NULL, "`moe_intermediate_size` is missing or 0; a %s has it",
                         r->family->name);
    if (l->top_k > l->experts)
        ll_keys_complain(&r->keys, NULL, "a token cannot go to %" PRIu64 " of %" PRIu64 " experts", l->top_k,
                         l->experts);
}

/* Features inside a dense part. */
static uint64_t dense_size(struct reading *r, uint64_t hidden)
{
    static const char *const ratio[] = {"expansion_ratio", NULL};
    const bool adjusts =
        says(r, "block_auto_adjust_ff_dim", false) && strncmp(r->family->name, "lfm2", 4) == 0;
    uint64_t size = COUNT(r, 0, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "block_ff_dim");
    if (is_family(r, "llama4"))
        return NEEDED(r, "intermediate_size_mlp");
    if (is_family(r, "minimax_m3"))
        return NEEDED(r, "dense_intermediate_size", "intermediate_size");
    if (is_of(r, PLAIN) && size == 0) /* four times the features, unless another ratio is given */
        return ll_mul(ll_key_count(&r->keys, 4, ratio), hidden);
    if (size == 0)
        return NEEDED(r, "intermediate_size");
    if (is_of(r, HALF_FFN))
        return size / 2;
    if (!adjusts)
        return size;
    /* LFM2: two thirds, times a factor, rounded up */
    const uint64_t multiple = ll_max(1, COUNT(r, 256, "block_multiple_of"));
    size = (uint64_t)(ll_key_real(&r->keys, "block_ffn_dim_multiplier", 1) * (double)(2 * size / 3));
    return ll_mul(ll_ceil_div(size, multiple), multiple);
}

/* The features of a pruned block's feed-forward part: two thirds of twice the multiple, rounded up to 256. */
static void set_pruned_ffn(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    struct ll_key *block = ll_key_item(find(r, "block_configs"), i), *ffn = ll_key_in(block, "ffn"),
                  *mult = ll_key_in(ffn, "ffn_mult"), *none = ll_key_in(ffn, "no_op"),
                  *linear = ll_key_in(ffn, "replace_with_linear");
    l->dense = 0;
    if (none && none->number != 0)
        return;
    l->dense_linear = linear && linear->number != 0;
    if (!l->dense_linear && mult && mult->number > 0 && mult->number < 1000)
        l->dense = ll_ceil_div((uint64_t)(2 * mult->number * (double)hidden / 3), 256) * 256;
}

static void set_activation(struct reading *r, struct ll_llm_layer *l)
{
    static const char *const acts[] = {"mlp_hidden_act",      "hidden_act", "hidden_activation",
                                       "activation_function", "activation", NULL};
    const struct ll_key *act = ll_key_find_any(&r->keys, acts);
    const char *name = act && act->text ? act->text : "gelu";
    l->plain = is_of(r, PLAIN) || strncmp(name, "relu", 4) == 0;
    l->act = strcmp(name, "relu2") == 0  ? LL_LLM_RELU_SQUARED
             : strcmp(name, "relu") == 0 ? LL_LLM_RELU
                                         : LL_LLM_GELU;
    l->act_weights = is_family(r, "apertus") ? 2 : 0; /* of xIELU (Huang and Schlag, 2024) */
}

static void set_ffn(struct reading *r, uint64_t hidden, uint64_t i, struct ll_llm_layer *l)
{
    static const char *const biases[] = {"mlp_bias", "use_bias", "bias", NULL};
    const struct ll_key *biased = ll_key_find_any(&r->keys, biases);
    const bool has_key = is_of(r, FFN_BIAS) || is_family(r, "falcon") || is_family(r, "internlm3") ||
                         is_family(r, "ernie4_5") || find(r, "mlp_bias");
    set_activation(r, l);
    l->biased = has_key && biased ? biased->number != 0
                                  : is_of(r, FFN_BIAS) || (is_family(r, "mpt") && !says(r, "no_bias", true));
    bool experts = has_experts(r, i);
    if (experts)
        set_experts(r, i, l);
    if (is_family(r, "granitemoehybrid") && !experts)
        l->dense = NEEDED(r, "shared_intermediate_size");
    else if ((!experts && !is_family(r, "nemotron-nas")) || is_family(r, "gemma4"))
        l->dense = dense_size(r, hidden);
    if (l->kv_shared && says(r, "use_double_wide_mlp", false))
        l->dense = ll_mul(l->dense, 2);
    if (i < COUNT(r, 0, "num_hash_layers")) /* a table says which experts a token goes to */
        l->router_bias = false;
    if (is_family(r, "nemotron-nas"))
        set_pruned_ffn(r, hidden, i, l);
    l->norms = is_of(r, SANDWICH) ? (experts ? 5 : 2) : 0;
    l->router_scales = is_family(r, "gemma4");
    if (is_family(r, "falcon")) {
        const bool groups = says(r, "new_decoder_architecture", false), said = says(r, "parallel_attn", true);
        l->parallel = groups || said;
        l->one_norm = !groups || COUNT(r, 2, "num_ln_in_parallel_attn") == 1;
    } else if (is_family(r, "gpt_neox") || is_family(r, "stablelm")) {
        l->parallel = says(r, "use_parallel_residual", is_family(r, "gpt_neox"));
        l->one_norm = l->parallel && is_family(r, "stablelm");
    } else {
        l->parallel = is_of(r, PARALLEL);
        l->one_norm = is_of(r, ONE_NORM);
    }
}

/* A layer of Nemotron-H has one part: M, *, - or E of a pattern. */
static void set_one_part(struct reading *r, uint64_t hidden, uint64_t i, char part, struct ll_llm_layer *l)
{
    set_activation(r, l);
    l->plain = l->plain || !(find(r, "mlp_hidden_act") || find(r, "hidden_act"));
    l->act = l->plain && l->act == LL_LLM_GELU ? LL_LLM_RELU_SQUARED : l->act;
    if (!strchr("M*E-", part))
        ll_keys_complain(&r->keys, find(r, "hybrid_override_pattern"),
                         "`hybrid_override_pattern`: layer %" PRIu64 " is `%c`; expected M, *, E or -", i,
                         part);
    if (part == 'M')
        set_mamba2(r, hidden, l);
    else if (part == '*')
        set_attention(r, hidden, i, l);
    else if (part == 'E')
        set_experts(r, i, l);
    else
        l->dense = NEEDED(r, "intermediate_size");
    if (part == 'E')
        l->router_bias = true;
}

/* --- formats of weights --- */

/* A number of an object that is somewhere in the configuration's groups. */
static struct ll_key *weights_of_groups(struct ll_key *quantization)
{
    struct ll_key *groups = ll_key_in(quantization, "config_groups");
    return groups && groups->child ? ll_key_in(groups->child, "weights") : NULL;
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

static struct ll_llm_formats unknown_format(struct reading *r, const char *key, struct ll_key *node)
{
    ll_remark(
        r->keys.diags, (struct ll_place){.file = r->keys.file, .line = node->line},
        "`%s`: `%s` is not known; weights are taken to have 16 bits (-p weights=... stores them otherwise)",
        key, node->text ? node->text : "");
    return (struct ll_llm_formats){0, LL_EXPERTS_BF16};
}

static struct ll_llm_formats formats_of(struct reading *r)
{
    struct ll_key *q = find(r, "quantization_config"), *method = ll_key_in(q, "quant_method"),
                  *algorithm = ll_key_in(q, "quant_algo"), *bits = ll_key_in(q, "bits");
    const char *name = method && method->text ? method->text : "";
    if (strcmp(name, "fp8") == 0 && strcmp(ll_key_text(&r->keys, "expert_dtype", ""), "fp4") == 0)
        return (struct ll_llm_formats){1 + LL_LINEAR_FP8_BLOCK, LL_EXPERTS_W4A8_MXFP4_MXFP8};
    if (strcmp(name, "fp8") == 0)
        return ll_key_in(q, "weight_block_size")
                   ? (struct ll_llm_formats){1 + LL_LINEAR_FP8_BLOCK, LL_EXPERTS_FP8_BLOCK}
                   : (struct ll_llm_formats){1 + LL_LINEAR_FP8, LL_EXPERTS_FP8};
    if (strcmp(name, "mxfp4") == 0)
        return (struct ll_llm_formats){0, LL_EXPERTS_W4A16_MXFP4};
    if (strcmp(name, "gptq") == 0 || strcmp(name, "awq") == 0)
        return formats_of_bits(bits ? ll_key_as_count(&r->keys, bits, "bits") : 4, false);
    if (strcmp(name, "compressed-tensors") == 0 || strcmp(name, "modelopt") == 0) {
        struct ll_key *weights = weights_of_groups(q), *each = ll_key_in(weights, "num_bits"),
                      *type = ll_key_in(weights, "type");
        if (algorithm && algorithm->text && strcmp(algorithm->text, "NVFP4") == 0)
            return formats_of_bits(4, true);
        if (algorithm && algorithm->text && strcmp(algorithm->text, "FP8") == 0)
            return formats_of_bits(8, true);
        if (algorithm && algorithm->text)
            return unknown_format(r, "quant_algo", algorithm);
        return formats_of_bits(each ? ll_key_as_count(&r->keys, each, "num_bits") : 16,
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
    ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file, .line = line},
                "model_type `%s`: not a family of language models that is known here; expected one of %s",
                type, all.failed ? "others" : all.text);
    ll_str_release(&all);
    return false;
}

/* Families that say so in `architectures` alone. */
static const char *type_of(const struct reading *r)
{
    struct ll_key *named = ll_key_item(find(r, "architectures"), 0);
    const char *architecture = named && named->text ? named->text : "";
    if (strcmp(architecture, "DeciLMForCausalLM") == 0)
        return "nemotron-nas";
    return ll_key_text(&r->keys, "model_type", architecture);
}

/* A tower is left out; of one that is known it is said how large it is. */
static void remark_on_tower(struct reading *r, const char *key, uint64_t hidden)
{
    struct ll_key *tower = find(r, key);
    const uint64_t size = key[0] == 'v' ? ll_llm_tower_parameters(r->family->name, tower, hidden) : LL_NO_FIT;
    const struct ll_place place = {.file = r->keys.file, .line = tower->line};
    if (ll_fits(size))
        ll_remark(r->keys.diags, place,
                  "`%s`: the tower, of %" PRIu64
                  " parameters, is left out; the language model alone is recorded",
                  key, size);
    else
        ll_remark(r->keys.diags, place, "`%s`: the tower is left out; the language model alone is recorded",
                  key);
}

/* Remarks on parts that are left out of the model; refuses keys that change its layers in a way that is not
 * known here. */
static bool check_parts(struct reading *r, uint64_t hidden)
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
            remark_on_tower(r, towers[i], hidden);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (find(r, more[i]) && find(r, more[i])->number > 0)
            ll_remark(r->keys.diags, (struct ll_place){.file = r->keys.file, .line = find(r, more[i])->line},
                      "`%s`: layers for multi-token prediction are left out", more[i]);
    if (is_family(r, "minimax_m3") && find(r, "sparse_topk_blocks"))
        ll_remark(r->keys.diags,
                  (struct ll_place){.file = r->keys.file, .line = find(r, "sparse_topk_blocks")->line},
                  "`sparse_topk_blocks`: the indexer that chooses blocks of keys is left out");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct ll_key *node = find(r, unknown[i]);
        if (node && (node->number != 0 || node->child) && !is_family(r, families_of[i]))
            return ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file, .line = node->line},
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
            return ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file},
                               "`num_kv_shared_layers`: layer %" PRIu64
                               " has no layer of its kind before it whose keys it could take",
                               i);
    }
    return true;
}

static enum ll_llm_norm norm_of(struct reading *r)
{
    if (is_family(r, "mpt") && !says(r, "no_bias", true))
        return LL_LLM_LAYER_NORM;
    return is_of(r, LAYER_NORM)  ? LL_LLM_LAYER_NORM
           : is_of(r, UNSHIFTED) ? LL_LLM_LAYER_NORM_UNSHIFTED
           : is_of(r, BARE)      ? LL_LLM_LAYER_NORM_BARE
                                 : LL_LLM_RMS_NORM;
}

static double epsilon_of(const struct reading *r)
{
    static const char *const spellings[] = {"rms_norm_eps",
                                            "layer_norm_eps",
                                            "norm_epsilon",
                                            "layer_norm_epsilon",
                                            "layernorm_epsilon",
                                            "norm_eps",
                                            NULL};
    const struct ll_key *value = ll_key_find_any(&r->keys, spellings);
    return value && value->token == LL_JSON_NUMBER && value->number >= 0 ? value->number : 1e-6;
}

static double base_of(const struct reading *r)
{
    struct ll_key *all = find(r, "rope_parameters");
    const struct ll_key *value = ll_key_in(all, "rope_theta");
    const double base = ll_key_real(&r->keys, "rope_theta", 10000);
    return value && value->number > 0 ? value->number : base > 0 ? base : 10000;
}

/* Places that have an embedding; OPT's begin at the third. */
static uint64_t positions_of(struct reading *r)
{
    const bool opt = is_family(r, "opt");
    if (!is_of(r, LEARNED))
        return 0;
    return NEEDED(r, "n_positions", "max_position_embeddings", "n_ctx") + (opt ? 2 : 0);
}

static bool fill(struct reading *r, struct ll_llm *llm)
{
    const char *pattern = ll_key_text(&r->keys, "hybrid_override_pattern", NULL);
    enum { MOST_LAYERS = 4096 };
    *llm = (struct ll_llm){.hidden = NEEDED(r, "hidden_size", "n_embd", "d_model", "n_embed"),
                           .vocabulary = NEEDED(r, "vocab_size", "padded_vocab_size"),
                           .layer_count =
                               pattern ? strlen(pattern)
                                       : NEEDED(r, "num_hidden_layers", "n_layer", "n_layers", "num_layers"),
                           .tied = says(r, "tie_word_embeddings", says(r, "tie_embedding", is_of(r, TIED))),
                           .norm = norm_of(r),
                           .epsilon = epsilon_of(r),
                           .rotary_base = base_of(r),
                           .embedding_norm = is_of(r, EMBED_NORM),
                           .head_biased = says(r, "lm_head_bias", is_of(r, HEAD_BIAS)),
                           .positions = positions_of(r),
                           .layer_vocabulary = COUNT(r, 0, "vocab_size_per_layer_input", "vocab_size"),
                           .streams = is_family(r, "deepseek_v4") ? COUNT(r, 0, "hc_mult") : 0,
                           .formats = formats_of(r)};
    if (!check_parts(r, llm->hidden))
        return false;
    if (llm->streams > 64)
        return ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file},
                           "`hc_mult`: expected at most 64");
    if (llm->layer_count > MOST_LAYERS)
        return ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file},
                           "`num_hidden_layers`: expected at most %d", MOST_LAYERS);
    struct ll_llm_layer *layers = ll_alloc(r->keys.arena, llm->layer_count, sizeof *layers);
    if (!layers)
        return ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file}, "memory ran out");
    llm->layers = layers;
    for (uint64_t i = 0; i < llm->layer_count && !r->keys.failed; i++) {
        if (is_family(r, "mamba2")) {
            set_mamba2(r, llm->hidden, &layers[i]);
            continue;
        }
        if (is_of(r, MIXERS)) {
            set_mixer(r, llm->hidden, i, &layers[i]);
            continue;
        }
        if (is_family(r, "nemotron_h") && pattern) {
            set_one_part(r, llm->hidden, i, pattern[i], &layers[i]);
            continue;
        }
        set_mixer(r, llm->hidden, i, &layers[i]);
        set_ffn(r, llm->hidden, i, &layers[i]);
    }
    if (!r->keys.failed && !shares_known(r, llm))
        return false;
    if (is_family(r, "opt") && COUNT(r, llm->hidden, "word_embed_proj_dim") != llm->hidden)
        return ll_keys_complain(
            &r->keys, find(r, "word_embed_proj_dim"),
            "`word_embed_proj_dim`: expected as `hidden_size`; matrices between embeddings "
            "and layers are not known here");
    if (is_family(r, "opt") && !says(r, "do_layer_norm_before", true))
        return ll_keys_complain(
            &r->keys, find(r, "do_layer_norm_before"),
            "`do_layer_norm_before`: norms behind sums are not known here; expected true");
    for (uint64_t i = 0; i < llm->layer_count && !r->keys.failed; i++)
        if (layers[i].mixer == LL_MIXER_ATTENTION &&
            (layers[i].kv_heads == 0 || layers[i].heads % layers[i].kv_heads != 0 || layers[i].head == 0))
            return ll_complain(r->keys.diags, (struct ll_place){.file = r->keys.file},
                               "`num_key_value_heads`: expected a divisor of `num_attention_heads`");
    return !r->keys.failed && ll_keys_check_unasked(&r->keys);
}

bool ll_llm_read(const char *file, const char *text, size_t length, struct ll_arena *arena,
                 struct ll_llm *llm, struct ll_diags *diags)
{
    static const char *const inner[] = {"text_config", "language_config", "llm_config", "thinker_config",
                                        NULL};
    struct reading r = {.keys = {.file = file, .diags = diags, .arena = arena}};
    if (!ll_keys_read(&r.keys, text, length, inner))
        return false;
    const char *type = type_of(&r);
    r.family = family_of(type);
    if (!r.family)
        return unknown_family(&r, type, 0);
    r.keys.family = r.family->name;
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
