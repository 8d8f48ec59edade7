/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration's keys (keys.h). */
#include "models/llm/keys.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/base/str.h"

/* --- the tree --- */

static struct ll_key *read_value(struct ll_json_reader *r, struct ll_arena *arena, const char *key);

static bool read_children(struct ll_json_reader *r, struct ll_arena *arena, struct ll_key *node)
{
    struct ll_key **end = &node->child;
    for (enum ll_json_token token = ll_json_read(r); token != LL_JSON_OBJECT_END && token != LL_JSON_LIST_END;
         token = ll_json_read(r)) {
        const char *key = NULL;
        if (token == LL_JSON_END)
            return false;
        if (token == LL_JSON_KEY) {
            key = ll_json_copy(r, arena);
            ll_json_read(r);
        }
        struct ll_key *child = read_value(r, arena, key);
        if (!child)
            return false;
        *end = child;
        end = &child->next;
    }
    return true;
}

/* The value that the token read last begins. NULL after complaints, or without memory. */
static struct ll_key *read_value(struct ll_json_reader *r, struct ll_arena *arena, const char *key)
{
    struct ll_key *node = ll_alloc(arena, 1, sizeof *node);
    if (!node)
        return NULL;
    *node = (struct ll_key){.token = r->token, .key = key, .line = ll_json_place(r).line};
    if (r->token == LL_JSON_OBJECT || r->token == LL_JSON_LIST)
        return read_children(r, arena, node) ? node : NULL;
    if (r->token == LL_JSON_NUMBER)
        node->number = ll_json_as_real(r);
    else if (r->token == LL_JSON_TEXT && !(node->text = ll_json_copy(r, arena)))
        return NULL;
    node->number = r->token == LL_JSON_TRUE ? 1 : node->number;
    return r->token == LL_JSON_END ? NULL : node;
}

bool ll_keys_read(struct ll_keys *keys, const char *text, size_t length, const char *const *inner_keys)
{
    struct ll_json_reader json = {
        .file = keys->file, .begin = text, .at = text, .end = text + length, .diags = keys->diags};
    keys->whole = ll_json_read(&json) == LL_JSON_OBJECT ? read_value(&json, keys->arena, NULL) : NULL;
    if (!keys->whole && json.failed)
        return false;
    if (!keys->whole)
        return ll_complain(keys->diags, (struct ll_place){.file = keys->file},
                           "expected an object of JSON, as a model's config.json");
    keys->inner = keys->whole;
    for (; keys->inner == keys->whole && *inner_keys; inner_keys++)
        if (ll_key_in(keys->whole, *inner_keys))
            keys->inner = ll_key_in(keys->whole, *inner_keys);
    return true;
}

struct ll_key *ll_key_in(struct ll_key *object, const char *key)
{
    struct ll_key *child = object ? object->child : NULL;
    while (child && !(child->key && child->key[0] == key[0] && strcmp(child->key, key) == 0))
        child = child->next;
    if (child)
        child->asked = true;
    return child && child->token != LL_JSON_NULL ? child : NULL;
}

struct ll_key *ll_key_item(struct ll_key *list, uint64_t i)
{
    struct ll_key *item = list && list->token == LL_JSON_LIST ? list->child : NULL;
    while (item && i-- > 0)
        item = item->next;
    return item;
}

/* --- values --- */

struct ll_key *ll_key_find(const struct ll_keys *keys, const char *key)
{
    struct ll_key *value = ll_key_in(keys->inner, key);
    return value || keys->whole == keys->inner ? value : ll_key_in(keys->whole, key);
}

struct ll_key *ll_key_find_any(const struct ll_keys *keys, const char *const *spellings)
{
    struct ll_key *value = NULL;
    for (; !value && *spellings; spellings++)
        value = ll_key_find(keys, *spellings);
    return value;
}

bool ll_keys_complain(struct ll_keys *keys, const struct ll_key *at, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!keys->failed)
        ll_complain(keys->diags, (struct ll_place){.file = keys->file, .line = at ? at->line : 0}, "%s",
                    text);
    keys->failed = true;
    return false;
}

uint64_t ll_key_as_count(struct ll_keys *keys, const struct ll_key *value, const char *key)
{
    bool good = (value->token == LL_JSON_NUMBER || value->token == LL_JSON_FALSE) && value->number >= 0 &&
                value->number <= 0x1p40 && value->number == (double)(uint64_t)value->number;
    if (!good)
        ll_keys_complain(keys, value, "`%s`: expected a whole number of at most 2^40", key);
    return good ? (uint64_t)value->number : 0;
}

uint64_t ll_key_count(struct ll_keys *keys, uint64_t otherwise, const char *const *spellings)
{
    const struct ll_key *value = ll_key_find_any(keys, spellings);
    return value ? ll_key_as_count(keys, value, value->key) : otherwise;
}

uint64_t ll_key_needed(struct ll_keys *keys, const char *const *spellings)
{
    uint64_t count = ll_key_count(keys, 0, spellings);
    if (count == 0)
        ll_keys_complain(keys, NULL, "`%s` is missing or 0; a %s has it", spellings[0], keys->family);
    return ll_max(1, count);
}

double ll_key_real(const struct ll_keys *keys, const char *key, double otherwise)
{
    const struct ll_key *value = ll_key_find(keys, key);
    return value && value->token == LL_JSON_NUMBER ? value->number : otherwise;
}

bool ll_key_says(const struct ll_keys *keys, const char *key, bool otherwise)
{
    const struct ll_key *value = ll_key_find(keys, key);
    return value ? value->number != 0 : otherwise;
}

const char *ll_key_text(const struct ll_keys *keys, const char *key, const char *otherwise)
{
    const struct ll_key *value = ll_key_find(keys, key);
    return value && value->text ? value->text : otherwise;
}

bool ll_key_item_says(const struct ll_keys *keys, const char *key, uint64_t i, const char *text)
{
    const struct ll_key *item = ll_key_item(ll_key_find(keys, key), i);
    return item && item->text && strcmp(item->text, text) == 0;
}

double ll_key_item_number(const struct ll_keys *keys, const char *key, uint64_t i, double otherwise)
{
    const struct ll_key *item = ll_key_item(ll_key_find(keys, key), i);
    return item ? item->number : otherwise;
}

/* --- keys that nobody asked for --- */

/* Keys that say how a model is trained, run, stored or written about, by a part of their names. */
static const char *const harmless[] = {"dropout",
                                       "token_id",
                                       "token_index",
                                       "eps",
                                       "rope",
                                       "rotary",
                                       "init",
                                       "loss",
                                       "coef",
                                       "version",
                                       "cache",
                                       "dtype",
                                       "scaling",
                                       "softcap",
                                       "template",
                                       "label",
                                       "return",
                                       "output_",
                                       "max_",
                                       "tokenizer",
                                       "pretraining",
                                       "auto_map",
                                       "jitter",
                                       "beam",
                                       "problem",
                                       "task",
                                       "temperature",
                                       "alpha",
                                       "router_z",
                                       "multiplier",
                                       "scale",
                                       "residual_in",
                                       "rescale",
                                       "time_step",
                                       "_kernels",
                                       "_impl",
                                       "flash",
                                       "logits_to",
                                       "swiglu",
                                       "limit",
                                       "group_score",
                                       "norm_topk",
                                       "scoring",
                                       "topk_group",
                                       "n_group",
                                       "ep_size",
                                       "sinkhorn",
                                       "bidirectional",
                                       "tokens_per_image",
                                       "mup",
                                       "transformers",
                                       "use_mamba",
                                       "truncat",
                                       "seq_length",
                                       "seq_len",
                                       "context_length",
                                       "n_ctx",
                                       "n_positions",
                                       "chunk_size",
                                       "clamp",
                                       "clip",
                                       "fused",
                                       "unk",
                                       "vision",
                                       "image",
                                       "video",
                                       "audio",
                                       "mrope",
                                       "aux",
                                       "theta",
                                       "yarn",
                                       "attn_pdrop",
                                       "pdrop",
                                       "z_loss",
                                       "freeze",
                                       "training",
                                       "noise",
                                       "seed",
                                       "name",
                                       "license",
                                       "remat",
                                       "quant",
                                       "sep_token",
                                       "fp32",
                                       "router_act",
                                       "routing",
                                       "score",
                                       "gradient",
                                       "parallel_size",
                                       "tensor_parallel",
                                       "interleaved",
                                       "logn",
                                       "alibi",
                                       "safe",
                                       "memory",
                                       "scalar",
                                       "spatial",
                                       "projector",
                                       "mm_",
                                       "multimodal",
                                       "boi_",
                                       "eoi_",
                                       "pixel",
                                       "_token",
                                       "lambda",
                                       "router_",
                                       "layernorm_",
                                       "swa_",
                                       "capacity",
                                       "anyres",
                                       "_hub",
                                       "framework",
                                       "summary",
                                       "prefix",
                                       "is_decoder",
                                       "is_encoder",
                                       "cross_attention",
                                       "use_cache"};

/* Keys that say something of layers, but nothing that is not known already: what means nothing in the
 * family, or is so in all models. */
static const char *const settled[] = {"architectures",
                                      "hidden_act",
                                      "hidden_activation",
                                      "activation_function",
                                      "model_type",
                                      "head_dim",
                                      "num_key_value_heads",
                                      "intermediate_size",
                                      "moe_intermediate_size",
                                      "sliding_window",
                                      "sliding_window_pattern",
                                      "max_window_layers",
                                      "use_sliding_window",
                                      "expand",
                                      "time_step_rank",
                                      "mamba_hidden_act",
                                      "qk_head_dim",
                                      "moe_layer_freq",
                                      "mlp_only_layers",
                                      "decoder_sparse_step",
                                      "vocab_size_per_layer_input",
                                      "use_double_wide_mlp",
                                      "num_global_key_value_heads",
                                      "global_head_dim",
                                      "experts_per_token",
                                      "num_experts_per_tok",
                                      "attention_bias",
                                      "mlp_bias",
                                      "use_bias",
                                      "qk_rope_head_dim",
                                      "index_topk_freq",
                                      "indexer_types",
                                      "dense_intermediate_size",
                                      "layer_types",
                                      "topk_method",
                                      "use_qk_norm",
                                      "layer_norm_type",
                                      "norm_type",
                                      "hidden_size",
                                      "num_hidden_layers",
                                      "num_attention_heads",
                                      "first_k_dense_replace",
                                      "n_shared_experts",
                                      "num_nextn_predict_layers",
                                      "mtp_use_dedicated_embeddings",
                                      "mtp_hybrid_override_pattern",
                                      "mtp_loss_scaling_factor",
                                      "num_mtp_modules",
                                      "no_rope_layer_interval",
                                      "no_rope_layers",
                                      "shared_expert_intermediate_size",
                                      "full_attention_interval",
                                      "hybrid_override_pattern",
                                      "intermediate_size_mlp",
                                      "moe_topk",
                                      "moe_gate",
                                      "moe_use_aux_free",
                                      "norm_head",
                                      "norm_softmax",
                                      "use_mixed_mlp_moe",
                                      "qk_norm",
                                      "conv_dim",
                                      "block_dim",
                                      "position_embedding_type",
                                      "mlp_type",
                                      "rmsnorm",
                                      "post_layer_norm",
                                      "normalization_function",
                                      "mamba_expand",
                                      "use_moe",
                                      "moe_every_n_layer",
                                      "need_fp32_gate",
                                      "norm_expert_weight",
                                      "attn_type_list",
                                      "qk_norm_type",
                                      "use_mtp",
                                      "mtp_transformer_layers",
                                      "moe_renormalize",
                                      "moe_shared_expert_overlap",
                                      "num_media_embeds",
                                      "org_vocab_size",
                                      "moe_group",
                                      "moe_gate_act",
                                      "index_share_for_mtp_iteration",
                                      "index_skip_topk_offset",
                                      "learned_pos_emb",
                                      "multi_query",
                                      "layers_block_type",
                                      "num_expert_group",
                                      "torch_dtype",
                                      "expert_dtype",
                                      "tie_word_embeddings",
                                      "n_groups",
                                      "state_size",
                                      "conv_kernel",
                                      "use_mamba_kernels",
                                      "use_mambapy",
                                      "use_falcon_mambapy",
                                      "mixer_rms_eps"};

/* Parts of names of keys that give layers heads, experts, ranks, states, biases, norms or further parts.
 * What is only another size has its spellings where it is read. */
static const char *const structural[] = {
    "experts",         "expert_",    "lora_rank", "_heads",    "heads_",  "_bias",
    "layernorm",       "_norm",      "ssm",       "mamba",     "linear_", "sparse",
    "compress",        "latent",     "altup",     "laurel",    "hc_",     "attn_res",
    "per_layer",       "_layers",    "n_layer",   "layer_num", "conv_",   "gate",
    "state_",          "block_conf", "index_",    "recurrent", "lru_",    "num_attention",
    "attention_other", "qk_",        "cla_",      "use_mla",   "use_cla", "cross_",
    "encoder",         "mixer",      "stack"};

#define HAS(name, words) has_part((name), (words), sizeof(words) / sizeof *(words))

static bool has_part(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

static bool is_settled(const char *name)
{
    for (size_t i = 0; i < sizeof settled / sizeof *settled; i++)
        if (strcmp(name, settled[i]) == 0)
            return true;
    return false;
}

/* Whether a value says that nothing is there, or is the one that changes nothing. */
static bool is_nothing(const struct ll_key *value)
{
    switch (value->token) {
    case LL_JSON_NULL:
    case LL_JSON_FALSE:
        return true;
    case LL_JSON_NUMBER:
        return value->number == 0 || value->number == 1;
    case LL_JSON_TEXT:
        return value->text[0] == '\0';
    case LL_JSON_TRUE:
        return false;
    default: /* objects and lists */
        return !value->child;
    }
}

static bool check_object(struct ll_keys *keys, const struct ll_key *object, struct ll_str *others)
{
    for (const struct ll_key *value = object->child; value && !keys->failed; value = value->next) {
        if (!value->key || value->asked || is_nothing(value) || is_settled(value->key) ||
            value->key[0] == '_' || HAS(value->key, harmless))
            continue;
        if (HAS(value->key, structural))
            return ll_keys_complain(
                keys, value,
                "`%s`: not known here of a %s, and layers may differ by it; expected keys "
                "of this family, or no such key",
                value->key, keys->family);
        ll_str_addf(others, "%s`%s`", others->length > 0 ? ", " : "", value->key);
    }
    return !keys->failed;
}

bool ll_keys_check_unasked(struct ll_keys *keys)
{
    struct ll_str others = {0};
    bool good = check_object(keys, keys->inner, &others);
    if (good && keys->whole != keys->inner)
        good = check_object(keys, keys->whole, &others);
    if (good && others.length > 0 && !others.failed)
        ll_remark(keys->diags, (struct ll_place){.file = keys->file},
                  "%s: not known here, and taken to change no layer", others.text);
    ll_str_release(&others);
    return good;
}
