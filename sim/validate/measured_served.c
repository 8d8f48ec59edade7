/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of inference servers' fused kernels as work: attention and latent attention, one call of a layer
 * with the write of the KV cache. Dims: b sequences, q new tokens of each, kv tokens after them, heads on
 * this device. */
#include <math.h>
#include <string.h>

#include "sim/validate/row.h"
#include "tracer/base/str.h"
#include "tracer/ir/experts.h"

/* DeepSeek-AI, DeepSeek-V2, 2024: heads of 128 and 64 that are rotated. */
enum { LATENT_QK = 192, LATENT_V = 128 };

static bool notes_begin(const struct ll_row_works *r, const char *software)
{
    return r->row->notes && strncmp(r->row->notes, software, strlen(software)) == 0;
}

static bool notes_name(const struct ll_row_works *r, const char *kernel)
{
    return r->row->notes && strstr(r->row->notes, kernel);
}

/* The kernel stands behind the software. FlashInfer also hands on to trtllm-gen's kernels. */
static enum ll_attention_backend backend_of(const struct ll_row_works *r)
{
    if (notes_name(r, "triton"))
        return LL_BACKEND_TRITON;
    bool flashinfer = notes_name(r, "flashinfer") && !notes_name(r, "trtllm");
    return flashinfer ? LL_BACKEND_FLASHINFER : LL_BACKEND_ANY;
}

static enum ll_dtype cache_of(struct ll_row_works *r)
{
    if (ll_row_says(r, "kv_dtype", "fp8"))
        return LL_F8;
    if (!ll_row_says(r, "kv_dtype", "bfloat16") && !ll_row_says(r, "kv_dtype", "bf16"))
        ll_row_refuse(r, "the cache's kv_dtype is neither bf16 nor fp8");
    return LL_BF16;
}

static uint64_t bytes_of(enum ll_dtype dtype, uint64_t tokens, uint64_t each)
{
    return ll_dtype_size(dtype, ll_mul(tokens, each));
}

static void add(struct ll_row_works *r, const struct ll_attention *a, uint64_t cached_each,
                const char *family)
{
    struct ll_work *work = ll_row_add(r, LL_WORK_ATTENTION, r->kind);
    uint64_t tokens = ll_mul(a->batch, a->queries), seen = a->keys;
    if (a->window > 0)
        seen = ll_min(seen, ll_add(a->window, a->queries));
    work->attention = *a;
    work->flops = ll_attention_flops(a);
    work->a_bytes = bytes_of(r->arithmetic, tokens, ll_mul(a->heads, a->head_qk));
    work->b_bytes = bytes_of((enum ll_dtype)a->cache, ll_mul(a->batch, seen), cached_each);
    work->c_bytes = bytes_of(LL_BF16, tokens, ll_mul(a->heads, a->head_v));
    r->out->family = family;
}

/* Servers mask what comes later: a row that says nothing of it is causal. */
static bool is_causal(struct ll_row_works *r)
{
    bool all = ll_row_says(r, "causal", "0");
    if (ll_row_text(r, "causal") && !all && !ll_row_says(r, "causal", "1"))
        ll_row_refuse(r, "causal is neither 0 nor 1");
    return !all;
}

void ll_row_attention(struct ll_row_works *r)
{
    bool causal = is_causal(r);
    struct ll_attention a = {.batch = ll_row_dim(r, "b"),
                             .queries = ll_row_dim(r, "q"),
                             .keys = ll_row_dim(r, "kv"),
                             .heads = ll_row_dim(r, "heads"),
                             .kv_heads = ll_row_dim(r, "kv_heads"),
                             .head_qk = ll_row_dim(r, "d"),
                             .causal = causal,
                             .backend = (uint8_t)backend_of(r),
                             .cache = (uint8_t)cache_of(r),
                             .cached = 1};
    bool all = !ll_row_text(r, "window") || ll_row_says(r, "window", "0") ||
               ll_row_says(r, "window", "nan") || ll_row_says(r, "window", "NaN");
    a.window = all ? 0 : ll_row_dim(r, "window");
    /* SGLang keeps values of 128 beside keys of 192, as the models with such heads have them. */
    a.head_v = a.head_qk == 192 && notes_begin(r, "SGLang") ? 128 : a.head_qk;
    bool decodes = a.queries == 1 && a.keys > 1;
    a.pass = decodes ? LL_ATTENTION_DECODE : LL_ATTENTION_PREFILL;
    if (a.heads % a.kv_heads != 0 || a.keys < a.queries) {
        ll_row_refuse(r, "heads are no multiple of kv_heads, or there are fewer keys than queries");
        return;
    }
    add(r, &a, ll_mul(a.kv_heads, a.head_qk + a.head_v), decodes ? "attention_decode" : "attention_prefill");
}

static void add_latent(struct ll_row_works *r, enum ll_attention_pass pass, const char *family)
{
    struct ll_attention a = {.batch = ll_row_dim(r, "b"),
                             .queries = ll_row_dim(r, "q"),
                             .keys = ll_row_dim(r, "kv"),
                             .heads = ll_row_dim(r, "heads"),
                             .head_qk = LATENT_QK,
                             .head_v = LATENT_V,
                             .causal = 1,
                             .pass = (uint8_t)pass,
                             .cache = (uint8_t)cache_of(r),
                             .cached = 1};
    a.kv_heads = a.heads;
    if (a.keys < a.queries) {
        ll_row_refuse(r, "there are fewer keys than queries");
        return;
    }
    add(r, &a, LL_LATENT_KEY, family);
}

void ll_row_latent_context(struct ll_row_works *r)
{
    add_latent(r, LL_ATTENTION_LATENT_PREFILL, "mla_context");
}

void ll_row_latent_generation(struct ll_row_works *r)
{
    add_latent(r, LL_ATTENTION_LATENT_DECODE, "mla_generation");
}

/* The kernel's name has the backend's in it. */
static enum ll_expert_backend experts_backend(const struct ll_row_works *r)
{
    static const struct {
        const char *part;
        enum ll_expert_backend backend;
    } parts[] = {{"marlin", LL_GROUPED_MARLIN},
                 {"triton", LL_GROUPED_TRITON},
                 {"cutlass", LL_GROUPED_CUTLASS},
                 {"trtllm", LL_GROUPED_TRTLLM}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (notes_name(r, parts[i].part))
            return parts[i].backend;
    return LL_GROUPED_ANY;
}

/* A row's dtype is the format of its experts. */
static enum ll_expert_format experts_format(struct ll_row_works *r)
{
    for (unsigned i = 0; i < LL_EXPERT_FORMAT_COUNT; i++)
        if (strcmp(ll_expert_format_name((enum ll_expert_format)i), r->row->dtype) == 0)
            return (enum ll_expert_format)i;
    ll_row_refuse(r, "no format of experts has the name of its dtype");
    return LL_EXPERTS_BF16;
}

/* Nemotron's experts square what is above zero and have no gate. Newer collections measure them so, and
 * TensorRT-LLM's say so; what ran under older ones was gated. */
static bool has_gate(const struct ll_row_works *r, const struct ll_experts *e, uint64_t inter)
{
    bool nemotron = inter == 1856 || inter == 2688 || (inter == 5120 && e->top_k == 22);
    bool older = notes_begin(r, "VLLM 0.14");
    return !(notes_name(r, "nongated") || (nemotron && notes_begin(r, "VLLM") && !older));
}

/* 0: balanced; NAN: no known distribution. */
static double skew_of(const struct ll_row_works *r)
{
    static const char power_law[] = "power_law_";
    const char *dist = ll_row_text(r, "dist");
    char *end;
    if (ll_row_says(r, "dist", "balanced"))
        return 0;
    if (!dist || strncmp(dist, power_law, strlen(power_law)) != 0)
        return NAN;
    double skew = ll_strtod(dist + strlen(power_law), &end);
    return (*end == ';' || *end == '\0') && skew > 0 && skew < 10 ? skew : NAN;
}

void ll_row_experts(struct ll_row_works *r)
{
    struct ll_experts e = {.tokens = ll_row_dim(r, "tokens"),
                           .hidden = ll_row_dim(r, "hidden"),
                           .top_k = ll_row_dim(r, "topk"),
                           .experts = ll_row_dim(r, "experts"),
                           .format = (uint8_t)experts_format(r),
                           .backend = (uint8_t)experts_backend(r)};
    uint64_t inter = ll_row_dim(r, "inter"), tensor = ll_row_dim(r, "tp"), devices = ll_row_dim(r, "ep");
    double skew = skew_of(r);
    e.inter = ll_max(1, inter / tensor);
    e.gated = has_gate(r, &e, inter);
    if (isnan(skew))
        ll_row_refuse(r, "dist, how tokens spread over experts, is neither balanced nor power_law_A");
    else if (inter % tensor != 0 || (devices > 0 && e.experts % devices != 0))
        ll_row_refuse(r, "experts that ep devices, or an inner size that tp devices cannot share evenly");
    if (r->trouble || !ll_experts_spread(skew, devices, &e)) {
        ll_row_refuse(r, "fewer experts than devices or than a token has, or more than 4096");
        return;
    }
    struct ll_work *work = ll_row_add(r, LL_WORK_EXPERTS, r->kind);
    work->dtype = ll_expert_dtype((enum ll_expert_format)e.format);
    work->experts = e;
    work->flops = ll_experts_flops(&e);
    work->a_bytes = work->c_bytes = bytes_of(LL_BF16, e.tokens, e.hidden);
    work->b_bytes = ll_experts_weight_bytes(&e);
}
