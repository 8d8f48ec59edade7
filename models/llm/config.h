/* SPDX-License-Identifier: Apache-2.0 */
/* Language models by their configuration files, as the hub of Hugging Face has them (`config.json`).
 *
 * A configuration becomes a list of layers, each with its mixer (what lets tokens see one another) and its
 * feed-forward part, and two ends. Families differ in the keys that they have and in what goes without
 * saying; what a layer is made of is one set of fields. Keys and structure follow the reference models of the
 * transformers library. Pure data; it lies in the caller's arena. */
#ifndef LL_MODELS_LLM_CONFIG_H
#define LL_MODELS_LLM_CONFIG_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/ir/work.h"

enum ll_llm_mixer {
    LL_MIXER_NONE,
    LL_MIXER_ATTENTION, /* of many, grouped or single key heads */
    LL_MIXER_LATENT,    /* keys and values from one latent vector a token (DeepSeek-V2, 2024) */
    LL_MIXER_COMPRESSED, /* one vector a token within a window, one for several tokens before (DeepSeek-V4, 2026) */
    LL_MIXER_DELTA,  /* gated delta rule (Yang et al., 2024) */
    LL_MIXER_KDA,    /* the same with a decay for each key feature (Kimi Linear, 2025) */
    LL_MIXER_MAMBA2, /* state-space scan (Dao and Gu, 2024) */
    LL_MIXER_MAMBA,  /* the same with a decay for each channel and state (Gu and Dao, 2023) */
    LL_MIXER_CONV,   /* a gated short convolution (LFM2, 2025) */
    LL_MIXER_LINEAR  /* one matrix, in place of an attention that was pruned */
};

/* What norms queries and keys have: none; over a head, with a scale for its features; over all heads at once;
 * without scales. */
enum ll_llm_qk_norm { LL_QK_PLAIN, LL_QK_HEAD, LL_QK_WHOLE, LL_QK_FREE };

/* What norms of hidden features do: divide by the root of the mean square and scale; subtract the mean,
 * divide by the deviation, scale and shift; the same without the shift; without scale and shift. */
enum ll_llm_norm { LL_LLM_RMS_NORM, LL_LLM_LAYER_NORM, LL_LLM_LAYER_NORM_UNSHIFTED, LL_LLM_LAYER_NORM_BARE };

/* What a feed-forward part without a gate does to the features inside it: max(x, 0)^2; max(x, 0); GELU as one
 * op, or as the plain ops that Hugging Face's GPT-2 makes it of by tanh. */
enum ll_llm_act { LL_LLM_RELU_SQUARED, LL_LLM_RELU, LL_LLM_GELU, LL_LLM_GELU_TANH };

/* Sizes in elements. Fields that the layer's kinds do not use are zero. */
struct ll_llm_layer {
    enum ll_llm_mixer mixer;
    /* attention */
    uint64_t heads, kv_heads, head, head_v;
    uint64_t window; /* tokens that one sees, itself included; 0: all */
    uint64_t chunk;  /* tokens of a piece beyond which none is seen; 0: no pieces */
    enum ll_llm_qk_norm qk_norm;
    bool rotary, gated, head_gated, value_is_key, qkv_biased, out_biased, sinks;
    /* latent attention; heads and head_v (of expanded values) are above */
    uint64_t q_rank, kv_rank; /* q_rank 0: queries are projected at once */
    uint64_t nope, rope;      /* of a head's query and key: features without and with position */
    uint64_t index_heads, index_head, index_topk; /* sparse attention's indexer; 0: attention is dense */
    bool index_shared;                            /* it takes the choice of a layer before */
    /* compressed attention: tokens that share an entry (0: none beyond the window), and the groups of heads
     * that results are projected in, to so many features each */
    uint64_t ratio, out_groups, out_rank;
    bool kv_shared; /* keys and values are those of the last layer before of its kind (window or none) */
    /* recurrent mixers: heads of keys and of values, their features, taps of the short convolution */
    uint64_t key_heads, key, value_heads, value, taps;
    uint64_t step_rank; /* features that a scan's steps are made of; 0: they are made of hidden ones */
    bool step_normed;   /* these, and what reads and writes states, have norms */
    /* feed-forward part: dense, experts, or both side by side */
    uint64_t dense;                          /* features inside; 0: none */
    bool dense_linear;                       /* one square matrix in its place */
    bool plain, biased;                      /* no gate: two matrices in place of three; biases */
    enum ll_llm_act act;                     /* without a gate */
    uint64_t act_weights;                    /* learned numbers of the activation */
    uint64_t experts, top_k, expert, shared; /* features inside of an expert, and of the shared one */
    uint64_t latent;                         /* features in which experts work; 0: hidden */
    bool router_bias, shared_gate, expert_biased, router_scales;
    uint64_t capacity; /* percent of an even share of tokens that an expert has room for; 0: room for all */
    /* Both parts read x as it was before the layer, each through a norm of its own, or through the same
     * one. */
    bool parallel, one_norm;
    unsigned norms;       /* of hidden features, with weights, beyond the one before each part */
    uint64_t layer_input; /* features of an embedding of the layer's own (Gemma 3n, 2025); 0: none */
};

/* How a quantized checkpoint stores weights; 0: 16 bits. */
struct ll_llm_formats {
    unsigned linear;              /* 1 + enum ll_linear_format, of all projections but router and head */
    enum ll_expert_format expert; /* of experts */
};

struct ll_llm {
    uint64_t hidden, vocabulary, layer_count;
    const struct ll_llm_layer *layers;
    bool tied;             /* the head's weights are those of the embedding */
    enum ll_llm_norm norm; /* of hidden features */
    double epsilon;        /* of these norms */
    bool norms_behind;     /* a part's norm is of the sum that it was added to (BERT); none is at the end */
    bool joined;           /* queries, keys and values are columns of one matrix */
    bool embedding_norm, head_biased;
    uint64_t positions; /* places that have an embedding, which is added to the token's; 0: none have */
    double rotary_base; /* of the angles by which places turn queries and keys */
    uint64_t layer_vocabulary; /* tokens of the layers' own embeddings */
    uint64_t streams;          /* hyper-connections: residual streams (Xie et al., 2025); 0: the usual one */
    struct ll_llm_formats formats;
};

/* Reads a configuration's text. `file` names it in complaints. False after complaints: it is no JSON, a
 * family or a part of a layer that is not known, a key that is missing or out of range. What is left out of a
 * model is remarked on: layers for multi-token prediction, towers that look or listen, a quantization that is
 * not known. The text may be freed after. */
bool ll_llm_read(const char *file, const char *text, size_t length, struct ll_arena *arena,
                 struct ll_llm *llm, struct ll_diags *diags);

/* Configurations that come with the program: name, and text, ended by a NUL. */
size_t ll_llm_known_count(void);
const char *ll_llm_known_name(size_t i);

/* One of them by a name of it, or NULL. */
const char *ll_llm_known(const char *name);

#endif
