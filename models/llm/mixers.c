/* SPDX-License-Identifier: Apache-2.0 */
/* Mixers: what lets the tokens of a sequence see one another (decoder.h). Attention with a cache of keys and
 * values, or of latent vectors; recurrences whose state is a matrix a head. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "models/llm/decoder.h"

static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};

/* A variable that outlives the step, no weight: a cache, a state. */
struct ll_value *ll_llm_kept(struct ll_llm_decoder *d, const char *name, uint32_t group, enum ll_dtype dtype,
                             unsigned rank, const uint64_t *dims, const enum ll_role *roles)
{
    char numbered[32];
    struct ll_shape shape = ll_nn_shape(d->nn, rank, dims, roles);
    shape.dtype = (uint8_t)dtype;
    snprintf(numbered, sizeof numbered, d->group_count > 1 ? "%s%u" : "%s", name, (unsigned)group);
    return ll_nn_variable(d->nn, numbered, &shape, LL_ACTIVATION, zero);
}

/* Tokens of a sequence that an attention has at hand: those that a query of its new tokens may see. */
uint64_t ll_llm_keys_of(const struct ll_llm_layer *l, const struct ll_llm_group *g)
{
    uint64_t past = l->chunk > 0 ? g->past % l->chunk : g->past;
    past = l->window > 0 ? ll_min(past, l->window - 1) : past;
    return past + g->tokens;
}

/* x, [batch, ..., tokens, ...] with tokens along `axis`, put behind what was in a memory of so many; the
 * memory. */
struct ll_value *ll_llm_remembered(struct ll_llm_decoder *d, const char *name, uint32_t group,
                                   struct ll_value *x, unsigned axis, uint64_t keys)
{
    if (!d->remembers || d->nn->trouble)
        return x;
    struct ll_shape shape = x->shape;
    enum ll_role roles[LL_MAX_RANK];
    const uint64_t tokens = shape.dim[axis];
    shape.dim[axis] = keys;
    for (unsigned i = 0; i < shape.rank; i++)
        roles[i] = (enum ll_role)shape.role[i];
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis),
                                    ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)(keys - tokens))};
    struct ll_value *memory = ll_llm_kept(d, name, group, d->cache, shape.rank, shape.dim, roles);
    x = shape.dtype == d->cache ? x : ll_cast_to(d->nn, x, d->cache);
    return ll_llm_op(d, LL_OP_KV_CACHE_UPDATE, 2, (struct ll_value *[]){memory, x}, attrs, 2);
}

/* Rows of a group. */
struct ll_value *ll_llm_rows_of(struct ll_llm_decoder *d, struct ll_value *x, const struct ll_llm_group *g)
{
    return d->group_count > 1 ? ll_llm_part(d, x, 0, g->first, g->count * g->tokens) : x;
}

/* What the groups gave, rows of all. */
struct ll_value *ll_llm_all_rows(struct ll_llm_decoder *d, struct ll_value *const *of_groups,
                                 uint64_t features, enum ll_role role)
{
    const enum ll_role roles[] = {LL_ROLE_BATCH, role};
    return ll_llm_seen(d, of_groups, d->group_count, 2, (uint64_t[]){d->rows, features}, roles);
}

/* Rows [rows, heads features] with each head turned by its token's place. */
struct ll_value *ll_llm_turned(struct ll_llm_decoder *d, struct ll_value *x, uint64_t heads,
                               uint64_t features)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_AXIS, 0);
    struct ll_value *y = ll_llm_seen(d, &x, 1, 3, (uint64_t[]){d->rows, heads, features}, apart);
    y = ll_llm_op(d, LL_OP_ROTARY, 1, &y, &attr, 1);
    return ll_llm_seen(d, &y, 1, 2, (uint64_t[]){d->rows, heads * features}, together);
}

/* A norm over each head, or over all of them. */
static struct ll_value *head_norm(struct ll_llm_decoder *d, const struct ll_llm_layer *l, const char *name,
                                  struct ll_value *x, uint64_t heads)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    if (l->qk_norm == LL_QK_PLAIN || l->qk_norm == LL_QK_FREE)
        return x; /* without scales it goes with the rotation */
    if (l->qk_norm == LL_QK_WHOLE)
        return ll_llm_norm(d, name, x);
    struct ll_value *y = ll_llm_seen(d, &x, 1, 3, (uint64_t[]){d->rows, heads, l->head}, apart);
    y = ll_llm_norm(d, name, y);
    return ll_llm_seen(d, &y, 1, 2, (uint64_t[]){d->rows, heads * l->head}, together);
}

/* Softmax of scores times values for one piece of sequences. Query heads that share a key head are rows of
 * one matrix. */
static struct ll_value *attended(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *q,
                                 struct ll_value *k, struct ll_value *v, struct ll_value *sinks)
{
    struct ll_value *inputs[] = {q, k, v, sinks};
    struct ll_attr attrs[3] = {
        ll_attr_of_real(LL_ATTR_SCALE, 1 / sqrt((double)(l->head + l->nope + l->rope))),
        ll_attr_of_count(LL_ATTR_GROUPS, (int64_t)(l->heads / l->kv_heads))};
    uint32_t count = 2;
    if (d->nn->trouble)
        return q;
    uint64_t most = l->index_topk > 0 ? l->index_topk : l->window;
    if (most > 0 && k->shape.dim[2] > most)
        attrs[count++] = ll_attr_of_count(LL_ATTR_WINDOW, (int64_t)(most - 1));
    return ll_llm_op(d, LL_OP_CAUSAL_ATTENTION, sinks ? 4 : 3, inputs, attrs, count);
}

/* Rows as [count, heads, tokens x each, features]. */
static struct ll_value *by_heads(struct ll_llm_decoder *d, struct ll_value *x, const struct ll_llm_group *g,
                                 uint64_t heads, uint64_t each, uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    return ll_llm_seen(d, &x, 1, 4, (uint64_t[]){g->count, heads, g->tokens * each, features}, roles);
}

/* Attention of a group whose sequences fall into pieces that do not see one another: the first piece goes on
 * with what was cached of it, whole ones follow, and a rest. Each piece is an op; all write the group's rows.
 */
static struct ll_value *attend_pieces(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                      const struct ll_llm_group *g, uint32_t number, struct ll_value *q,
                                      struct ll_value *k, struct ll_value *v)
{
    const uint64_t each = l->heads / l->kv_heads, at = g->past % l->chunk,
                   head_tokens = ll_min(g->tokens, l->chunk - at), left = g->tokens - head_tokens;
    const struct ll_llm_group pieces[] = {{g->count, head_tokens, at, 0},
                                          {g->count * (left / l->chunk), l->chunk, 0, 0},
                                          {g->count, left % l->chunk, 0, 0}};
    struct ll_value *y[3];
    uint32_t count = 0;
    uint64_t row = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const struct ll_llm_group *p = &pieces[i];
        if (p->count * p->tokens == 0)
            continue;
        struct ll_value *part[3] = {q, k, v};
        for (int j = 0; j < 3; j++)
            part[j] = ll_llm_part(d, part[j], 0, row, p->count * p->tokens);
        row += p->count * p->tokens;
        struct ll_value *keys = by_heads(d, part[1], p, l->kv_heads, 1, l->head),
                        *values = by_heads(d, part[2], p, l->kv_heads, 1, l->head_v);
        bool last = row == g->count * g->tokens;
        if (i == 0 || last) { /* what comes after may see these */
            keys = ll_llm_remembered(d, last ? "keys" : "keys_before", number, keys, 2, p->past + p->tokens);
            values = ll_llm_remembered(d, last ? "values" : "values_before", number, values, 2,
                                       p->past + p->tokens);
        }
        struct ll_value *result =
            attended(d, l, by_heads(d, part[0], p, l->kv_heads, each, l->head), keys, values, NULL);
        y[count++] = ll_llm_seen(d, &result, 1, 2, (uint64_t[]){p->count * p->tokens, l->heads * l->head_v},
                                 (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    }
    return ll_llm_seen(d, y, count, 2, (uint64_t[]){g->count * g->tokens, l->heads * l->head_v},
                       (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
}

static struct ll_value *attend_group(struct ll_llm_decoder *d, const struct ll_llm_layer *l, uint32_t number,
                                     struct ll_value *const qkv[3], struct ll_value *sinks)
{
    const struct ll_llm_group *g = &d->groups[number];
    const uint64_t each = l->heads / l->kv_heads, keys = ll_llm_keys_of(l, g);
    struct ll_value *q = ll_llm_rows_of(d, qkv[0], g), *k = ll_llm_rows_of(d, qkv[1], g),
                    *v = ll_llm_rows_of(d, qkv[2], g);
    if (l->chunk > 0 && g->past % l->chunk + g->tokens > l->chunk) {
        if (d->train)
            ll_nn_fail(d->nn, "a sequence to learn from is one piece; expected -p tokens=N of at most %d",
                       (int)l->chunk);
        return attend_pieces(d, l, g, number, q, k, v);
    }
    struct ll_value **kv = d->kv[l->window > 0][number];
    if (!l->kv_shared) {
        kv[0] = ll_llm_remembered(d, "keys", number, by_heads(d, k, g, l->kv_heads, 1, l->head), 2, keys);
        kv[1] = ll_llm_remembered(d, "values", number, by_heads(d, v, g, l->kv_heads, 1, l->head_v), 2, keys);
    }
    struct ll_value *y = attended(d, l, by_heads(d, q, g, l->kv_heads, each, l->head), kv[0], kv[1], sinks);
    return ll_llm_seen(d, &y, 1, 2, (uint64_t[]){g->count * g->tokens, l->heads * l->head_v},
                       (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
}

static struct ll_value *out_of(struct ll_llm_decoder *d, struct ll_value *y, bool biased)
{
    return ll_llm_dense(d, y,
                        &(struct ll_llm_matrix){.name = "output",
                                                .units = d->llm->hidden,
                                                .from = LL_ROLE_HEADS,
                                                .to = LL_ROLE_HIDDEN,
                                                .biased = biased});
}

/* Each head's results times a number of its own, a logistic function of n. */
static struct ll_value *gated_heads(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                    struct ll_value *y, struct ll_value *n)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    struct ll_value *gate = ll_llm_dense(
        d, n, &(struct ll_llm_matrix){"head_gate", l->heads, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false});
    gate = ll_nn_do1(d->nn, LL_OP_SIGMOID, gate);
    gate = ll_llm_seen(d, &gate, 1, 3, (uint64_t[]){d->rows, l->heads, 1}, apart);
    y = ll_llm_seen(d, &y, 1, 3, (uint64_t[]){d->rows, l->heads, l->head_v}, apart);
    y = ll_mul_of(d->nn, y, gate);
    return ll_llm_seen(d, &y, 1, 2, (uint64_t[]){d->rows, l->heads * l->head_v}, together);
}

/* A part of a GEMM's result that a backward pass reads: a copy, so that the rest need not be kept with it. */
static struct ll_value *kept_apart(struct ll_llm_decoder *d, struct ll_value *part)
{
    return d->train ? ll_nn_do1(d->nn, LL_OP_COPY, part) : part;
}

/* Attention of many, grouped or single key heads. */
static struct ll_value *attention(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    const uint64_t of_query = l->heads * l->head, of_key = l->kv_heads * l->head,
                   of_value = l->kv_heads * l->head_v;
    struct ll_llm_matrix matrices[4] = {
        {"query", of_query, LL_ROLE_HIDDEN, LL_ROLE_HEADS, l->qkv_biased, false},
        {"key", of_key, LL_ROLE_HIDDEN, LL_ROLE_HEADS, l->qkv_biased, false}};
    uint32_t count = l->kv_shared ? 1 : 2;
    if (!l->value_is_key && !l->kv_shared)
        matrices[count++] =
            (struct ll_llm_matrix){"value", of_value, LL_ROLE_HIDDEN, LL_ROLE_HEADS, l->qkv_biased, false};
    if (l->gated)
        matrices[count++] =
            (struct ll_llm_matrix){"gate", of_query, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false};
    struct ll_value *parts[4], *qkv[3], *y[LL_LLM_MOST_GROUPS];
    ll_llm_dense_parts(d, "query_key_value", n, matrices, count, parts);
    qkv[0] = head_norm(d, l, "query_norm", parts[0], l->heads);
    qkv[0] = l->rotary ? ll_llm_turned(d, qkv[0], l->heads, l->head) : qkv[0];
    qkv[1] = qkv[2] = qkv[0]; /* of a layer that takes those of another nobody reads them */
    if (!l->kv_shared) {
        qkv[2] = l->value_is_key ? parts[1] : kept_apart(d, parts[2]);
        qkv[1] = head_norm(d, l, "key_norm", parts[1], l->kv_heads);
        qkv[1] = l->rotary ? ll_llm_turned(d, qkv[1], l->kv_heads, l->head) : qkv[1];
    }
    struct ll_value *sinks = NULL;
    if (l->sinks) {
        static const enum ll_role roles[] = {LL_ROLE_HEADS, LL_ROLE_PLAIN};
        struct ll_shape shape =
            ll_nn_shape(d->nn, 2, (uint64_t[]){l->kv_heads, l->heads / l->kv_heads}, roles);
        sinks = ll_nn_variable(d->nn, "sinks", &shape, LL_WEIGHT, zero);
    }
    for (uint32_t i = 0; i < d->group_count; i++)
        y[i] = attend_group(d, l, i, qkv, sinks);
    struct ll_value *all = ll_llm_all_rows(d, y, l->heads * l->head_v, LL_ROLE_HEADS);
    if (l->gated)
        all = ll_mul_of(d->nn, all, ll_nn_do1(d->nn, LL_OP_SIGMOID, parts[count - 1]));
    if (l->head_gated)
        all = gated_heads(d, l, all, n);
    return out_of(d, all, l->out_biased);
}

/* --- latent attention (DeepSeek-AI, DeepSeek-V2, 2024, section 2.1) --- */

/* What a layer's attention works on: rows of all sequences. */
struct latent {
    struct ll_value *query_rank;        /* [rows, q_rank], normed; without a rank n itself */
    struct ll_value *nope, *rope;       /* of queries, [rows, heads features] */
    struct ll_value *vector, *key_rope; /* of keys: [rows, kv_rank], normed; [rows, rope], turned */
    struct ll_value *gate;
};

/* Queries and latent vectors. Query projections that are one matrix are columns of it. */
static struct latent latent_parts(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    struct latent p = {.query_rank = n};
    struct ll_llm_matrix down[3] = {{"latent", l->kv_rank, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false},
                                    {"key_rotated", l->rope, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false},
                                    {"query_latent", l->q_rank, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false}};
    struct ll_value *parts[3], *queries[2];
    ll_llm_dense_parts(d, "down", n, down, l->q_rank > 0 && !d->train ? 3 : 2, parts);
    if (l->q_rank > 0 && d->train) /* as Megatron-LM has it; servers have one GEMM */
        parts[2] = ll_llm_dense(d, n, &down[2]);
    if (l->q_rank > 0)
        p.query_rank = ll_llm_norm(d, "query_norm", parts[2]);
    enum ll_role from = l->q_rank > 0 ? LL_ROLE_PLAIN : LL_ROLE_HIDDEN;
    const struct ll_llm_matrix up[] = {
        {"query", l->heads * l->nope, from, LL_ROLE_HEADS, false, false},
        {"query_rotated", l->heads * l->rope, from, LL_ROLE_HEADS, false, false}};
    ll_llm_dense_parts(d, "query", p.query_rank, up, 2, queries);
    p.nope = queries[0];
    p.rope = l->rotary ? ll_llm_turned(d, queries[1], l->heads, l->rope) : queries[1];
    p.vector = ll_llm_norm(d, "latent_norm", parts[0]);
    p.key_rope = l->rotary ? ll_llm_turned(d, parts[1], 1, l->rope) : parts[1];
    return p;
}

/* Latent vectors with their rotated end, put into the cache: [count, keys, kv_rank + rope]. */
static struct ll_value *latent_cache(struct ll_llm_decoder *d, const struct ll_llm_layer *l, uint32_t number,
                                     const struct latent *p)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    const struct ll_llm_group *g = &d->groups[number];
    struct ll_value *pieces[] = {ll_llm_rows_of(d, p->vector, g), ll_llm_rows_of(d, p->key_rope, g)};
    struct ll_value *x =
        ll_llm_seen(d, pieces, 2, 3, (uint64_t[]){g->count, g->tokens, l->kv_rank + l->rope}, roles);
    return ll_llm_remembered(d, "latents", number, x, 1, g->past + g->tokens);
}

/* A stack of matrices, one a head. */
struct ll_value *ll_llm_by_head(struct ll_llm_decoder *d, const char *name, struct ll_value *x,
                                uint64_t heads, uint64_t from, uint64_t to)
{
    static const enum ll_role stack[] = {LL_ROLE_HEADS, LL_ROLE_BATCH, LL_ROLE_PLAIN},
                              roles[] = {LL_ROLE_HEADS, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    struct ll_shape shape = ll_nn_shape(d->nn, 3, (uint64_t[]){heads, from, to}, roles);
    struct ll_value *inputs[2] = {ll_llm_seen(d, &x, 1, 3, (uint64_t[]){heads, d->rows, from}, stack)};
    ll_nn_push(d->nn, name);
    inputs[1] =
        ll_nn_variable(d->nn, "weights", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
    struct ll_value *y = ll_llm_op(d, LL_OP_BATCH_MATMUL, 2, inputs, NULL, 0);
    ll_nn_pop(d->nn);
    return y;
}

/* The indexer's choice of keys (DeepSeek-AI, DeepSeek-V3.2, 2025). */
static void choose_keys(struct ll_llm_decoder *d, const struct ll_llm_layer *l, const struct latent *p,
                        struct ll_value *n)
{
    static const enum ll_role keys_roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN},
                              query_roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    if (l->index_topk == 0 || l->index_shared)
        return;
    ll_nn_push(d->nn, "indexer");
    struct ll_value *q = ll_llm_dense(d, p->query_rank,
                                      &(struct ll_llm_matrix){"query", l->index_heads * l->index_head,
                                                              LL_ROLE_PLAIN, LL_ROLE_PLAIN, false, false});
    struct ll_value *k = ll_llm_dense(
        d, n, &(struct ll_llm_matrix){"key", l->index_head, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false});
    struct ll_value *weights = ll_llm_dense(
        d, n, &(struct ll_llm_matrix){"weights", l->index_heads, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, true});
    struct ll_value *norm[] = {k, ll_llm_line(d, "key_norm/scale", l->index_head, LL_ROLE_PLAIN),
                               ll_llm_line(d, "key_norm/bias", l->index_head, LL_ROLE_PLAIN)};
    k = ll_llm_op(d, LL_OP_LAYER_NORM, 3, norm, NULL, 0);
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct ll_llm_group *g = &d->groups[i];
        struct ll_value *rows = ll_llm_rows_of(d, k, g), *queries = ll_llm_rows_of(d, q, g);
        struct ll_value *keys =
            ll_llm_seen(d, &rows, 1, 3, (uint64_t[]){g->count, g->tokens, l->index_head}, keys_roles);
        keys = ll_llm_remembered(d, "index_keys", i, keys, 1, g->past + g->tokens);
        const struct ll_attr attr = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->index_topk);
        struct ll_value *inputs[] = {
            ll_llm_seen(d, &queries, 1, 4, (uint64_t[]){g->count, l->index_heads, g->tokens, l->index_head},
                        query_roles),
            keys, ll_llm_rows_of(d, weights, g)};
        if (g->past + g->tokens > l->index_topk)
            ll_llm_op(d, LL_OP_SPARSE_INDEX, 3, inputs, &attr, 1);
    }
    ll_nn_pop(d->nn);
}

/* Few new tokens: queries and results are taken into the space of the latent vectors, which are read once for
 * all heads. */
static struct ll_value *absorbed(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                 const struct latent *p)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN},
                              rows[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    const uint64_t width = l->kv_rank + l->rope;
    struct ll_value *queries = ll_llm_by_head(d, "key_up", p->nope, l->heads, l->nope, l->kv_rank);
    struct ll_value *y[LL_LLM_MOST_GROUPS];
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->kv_rank);
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct ll_llm_group *g = &d->groups[i];
        struct ll_value *cache = latent_cache(d, l, i, p), *pieces[] = {queries, p->rope};
        if (l->index_topk > 0 && g->past + g->tokens > l->index_topk)
            cache = ll_llm_part(d, cache, 1, 0, l->index_topk);
        struct ll_value *inputs[] = {
            ll_llm_seen(d, pieces, 2, 4, (uint64_t[]){g->count, l->heads, g->tokens, width}, roles), cache};
        y[i] = ll_llm_op(d, LL_OP_LATENT_ATTENTION, 2, inputs, &attr, 1);
    }
    struct ll_value *all = ll_llm_all_rows(d, y, l->heads * l->kv_rank, LL_ROLE_HEADS);
    all = ll_llm_by_head(d, "value_up", all, l->heads, l->kv_rank, l->head_v);
    return ll_llm_seen(d, &all, 1, 2, (uint64_t[]){d->rows, l->heads * l->head_v}, rows);
}

/* Rows of heads [.., heads, nope] and of one rotated end, or one for each head, as [.., heads, nope + rope].
 */
static struct ll_value *with_end(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                 struct ll_value *nope, struct ll_value *rope, uint64_t rows, bool each)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    struct ll_shape ends = ll_nn_shape(d->nn, 3, (uint64_t[]){rows, l->heads, l->rope}, roles);
    struct ll_value *parts[2] = {ll_llm_seen(d, &nope, 1, 3, (uint64_t[]){rows, l->heads, l->nope}, roles)};
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 1)};
    if (each)
        parts[1] = ll_llm_seen(d, &rope, 1, 3, ends.dim, roles);
    else
        parts[1] = ll_nn_do(d->nn, &(struct ll_nn_call){.kind = LL_OP_TILE,
                                                        .input_count = 1,
                                                        .inputs = &rope,
                                                        .attr_count = 2,
                                                        .attrs = attrs,
                                                        .given_count = 1,
                                                        .given = &ends});
    struct ll_value *y = ll_nn_concat(d->nn, parts, 2, 2);
    return ll_llm_seen(d, &y, 1, 2, (uint64_t[]){rows, l->heads * (l->nope + l->rope)}, together);
}

/* Many new tokens: keys and values of all heads are made of the latent vectors, also of those that were
 * cached. */
static struct ll_value *expanded(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                 const struct latent *p)
{
    static const enum ll_role rows_roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN},
                              roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    struct ll_value *y[LL_LLM_MOST_GROUPS];
    struct ll_value *queries = with_end(d, l, p->nope, p->rope, d->rows, true);
    struct ll_value *vectors[LL_LLM_MOST_GROUPS], *ends[LL_LLM_MOST_GROUPS];
    uint64_t rows = 0, row = 0;
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct ll_llm_group *g = &d->groups[i];
        uint64_t of_group = g->count * (g->past + g->tokens);
        vectors[i] = p->vector;
        ends[i] = p->key_rope;
        if (d->remembers) {
            struct ll_value *cache = latent_cache(d, l, i, p);
            vectors[i] = ll_llm_seen(d, &cache, 1, 2, (uint64_t[]){of_group, l->kv_rank}, rows_roles);
            ends[i] = ll_llm_seen(d, &cache, 1, 2, (uint64_t[]){of_group, l->rope}, rows_roles);
            if (d->cache != d->nn->real) {
                vectors[i] = ll_cast_to(d->nn, vectors[i], d->nn->real);
                ends[i] = ll_cast_to(d->nn, ends[i], d->nn->real);
            }
        }
        rows += of_group;
    }
    if (d->group_count > 1) {
        vectors[0] = ll_llm_seen(d, vectors, d->group_count, 2, (uint64_t[]){rows, l->kv_rank}, rows_roles);
        ends[0] = ll_llm_seen(d, ends, d->group_count, 2, (uint64_t[]){rows, l->rope}, rows_roles);
    }
    const struct ll_llm_matrix up[] = {
        {"key_up", l->heads * l->nope, LL_ROLE_PLAIN, LL_ROLE_HEADS, false, false},
        {"value_up", l->heads * l->head_v, LL_ROLE_PLAIN, LL_ROLE_HEADS, false, false}};
    struct ll_value *kv[2];
    ll_llm_dense_parts(d, "key_value_up", vectors[0], up, 2, kv);
    kv[1] = kept_apart(d, kv[1]);
    struct ll_value *keys = with_end(d, l, kv[0], ends[0], rows, false);
    struct ll_llm_layer whole = *l; /* all heads have keys of their own now */
    whole.kv_heads = l->heads;
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct ll_llm_group *g = &d->groups[i];
        const uint64_t tokens = g->past + g->tokens;
        struct ll_value *k = keys, *v = kv[1], *q = ll_llm_rows_of(d, queries, g);
        if (d->group_count > 1) {
            k = ll_llm_part(d, k, 0, row, g->count * tokens);
            v = ll_llm_part(d, v, 0, row, g->count * tokens);
        }
        row += g->count * tokens;
        k = ll_llm_seen(d, &k, 1, 4, (uint64_t[]){g->count, l->heads, tokens, l->nope + l->rope}, roles);
        v = ll_llm_seen(d, &v, 1, 4, (uint64_t[]){g->count, l->heads, tokens, l->head_v}, roles);
        struct ll_value *result =
            attended(d, &whole, by_heads(d, q, g, l->heads, 1, l->nope + l->rope), k, v, NULL);
        y[i] = ll_llm_seen(d, &result, 1, 2, (uint64_t[]){g->count * g->tokens, l->heads * l->head_v},
                           (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    }
    return ll_llm_all_rows(d, y, l->heads * l->head_v, LL_ROLE_HEADS);
}

/* Absorbed where a sequence has few new tokens: as many products, but a cache that is read once. */
bool ll_llm_absorbs(const struct ll_llm_decoder *d)
{
    enum { FEW = 16 };
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->group_count; i++)
        most = ll_max(most, d->groups[i].tokens);
    return d->remembers && most <= FEW;
}

static struct ll_value *latent_attention(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                         struct ll_value *n)
{
    struct latent p = latent_parts(d, l, n);
    choose_keys(d, l, &p, n);
    struct ll_value *y = ll_llm_absorbs(d) ? absorbed(d, l, &p) : expanded(d, l, &p);
    if (l->gated) {
        struct ll_value *gate =
            ll_llm_dense(d, n,
                         &(struct ll_llm_matrix){"gate", l->heads * l->head_v, LL_ROLE_HIDDEN, LL_ROLE_HEADS,
                                                 false, false});
        y = ll_mul_of(d->nn, y, ll_nn_do1(d->nn, LL_OP_SIGMOID, gate));
    }
    return out_of(d, y, false);
}

/* --- recurrences --- */

/* What a recurrence begins with: what the step before has left, or zeros where texts are learned from. */
static struct ll_value *state_of(struct ll_llm_decoder *d, enum ll_dtype dtype, unsigned rank,
                                 const uint64_t *dims, const enum ll_role *roles)
{
    if (!d->train)
        return ll_llm_kept(d, "state", 0, dtype, rank, dims, roles);
    struct ll_shape shape = ll_nn_shape(d->nn, rank, dims, roles);
    shape.dtype = (uint8_t)dtype;
    return ll_zeros(d->nn, &shape);
}

/* A short convolution along the sequence, behind the last tokens of what was before. */
static struct ll_value *convolved(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *x,
                                  uint64_t channels, bool biased)
{
    static const enum ll_role of_state[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HEADS},
                              of_filter[] = {LL_ROLE_PLAIN, LL_ROLE_HEADS};
    struct ll_shape filter = ll_nn_shape(d->nn, 2, (uint64_t[]){l->taps, channels}, of_filter);
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_IN_PLACE, 0);
    ll_nn_push(d->nn, "convolution");
    struct ll_value *inputs[4] = {
        state_of(d, d->nn->real, 3, (uint64_t[]){d->sequences, l->taps - 1, channels}, of_state), x,
        ll_nn_variable(d->nn, "filter", &filter, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL})};
    if (biased)
        inputs[3] = ll_llm_line(d, "biases", channels, LL_ROLE_HEADS);
    struct ll_value *state = ll_llm_op(d, LL_OP_CAUSAL_CONV, biased ? 4 : 3, inputs, &attr, d->train ? 0 : 1);
    ll_nn_pop(d->nn);
    return d->nn->trouble ? state : state->producer->outputs[1];
}

/* state, keys, queries, values, gates -> y [rows, heads value]. States are of 32 bits. */
static struct ll_value *recurred(struct ll_llm_decoder *d, const struct ll_llm_layer *l, enum ll_op_kind kind,
                                 struct ll_value *const of_rows[4])
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_IN_PLACE, 0);
    struct ll_value *inputs[] = {
        state_of(d, LL_F32, 4, (uint64_t[]){d->sequences, l->value_heads, l->key, l->value}, roles),
        of_rows[0], of_rows[1], of_rows[2], of_rows[3]};
    struct ll_value *state = ll_llm_op(d, kind, 5, inputs, &attr, d->train ? 0 : 1);
    return d->nn->trouble ? state : state->producer->outputs[1];
}

/* A norm over each head's values, or over all, and a gate. */
static struct ll_value *gated_norm(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *y,
                                   struct ll_value *gate, bool by_head)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    const uint64_t width = l->value_heads * l->value;
    if (by_head)
        y = ll_llm_seen(d, &y, 1, 3, (uint64_t[]){d->rows, l->value_heads, l->value}, apart);
    y = ll_llm_norm(d, "norm", y);
    if (by_head)
        y = ll_llm_seen(d, &y, 1, 2, (uint64_t[]){d->rows, width}, together);
    return ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, y);
}

/* Gated delta rule (Yang et al., 2024), as Qwen3-Next and Qwen3.5 have it. */
static struct ll_value *delta(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    const uint64_t keys = l->key_heads * l->key, values = l->value_heads * l->value;
    const struct ll_llm_matrix in[] = {
        {"query_key_value", 2 * keys + values, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false},
        {"gate", values, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false}};
    struct ll_value *parts[2], *qkv[3];
    ll_llm_dense_parts(d, "in", n, in, 2, parts);
    struct ll_value *gates = ll_llm_dense(
        d, n,
        &(struct ll_llm_matrix){"decays", 2 * l->value_heads, LL_ROLE_HIDDEN, LL_ROLE_HEADS, true, true});
    struct ll_value *x = convolved(d, l, parts[0], 2 * keys + values, false);
    qkv[0] = ll_llm_part(d, x, 1, 0, keys);
    qkv[1] = ll_llm_part(d, x, 1, keys, keys);
    qkv[2] = ll_llm_part(d, x, 1, 2 * keys, values);
    struct ll_value *y =
        recurred(d, l, LL_OP_GATED_DELTA_RULE, (struct ll_value *[]){qkv[1], qkv[0], qkv[2], gates});
    return out_of(d, gated_norm(d, l, y, parts[1], true), false);
}

/* Two matrices with a narrow space between them. */
static struct ll_value *low_rank(struct ll_llm_decoder *d, const char *name, struct ll_value *x,
                                 uint64_t rank, uint64_t units)
{
    ll_nn_push(d->nn, name);
    x = ll_llm_dense(d, x,
                     &(struct ll_llm_matrix){"down", rank, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false});
    x = ll_llm_dense(d, x, &(struct ll_llm_matrix){"up", units, LL_ROLE_PLAIN, LL_ROLE_HEADS, false, false});
    ll_nn_pop(d->nn);
    return x;
}

/* Kimi Delta Attention (Kimi Team, 2025): a decay for each feature of keys. */
static struct ll_value *kimi_delta(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    const uint64_t width = l->value_heads * l->value;
    struct ll_value *x = ll_llm_dense(
        d, n,
        &(struct ll_llm_matrix){"query_key_value", 3 * width, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false});
    x = convolved(d, l, x, 3 * width, false);
    struct ll_value *decays = low_rank(d, "decays", n, l->key, width);
    struct ll_value *biases[] = {decays, ll_llm_line(d, "decay_bias", width, LL_ROLE_HEADS)};
    decays = ll_llm_op(d, LL_OP_BIAS_ADD, 2, biases, NULL, 0);
    struct ll_value *beta = ll_llm_dense(
        d, n, &(struct ll_llm_matrix){"beta", l->value_heads, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, true});
    struct ll_value *pieces[] = {decays, beta, ll_llm_line(d, "decay_scale", l->value_heads, LL_ROLE_HEADS)};
    struct ll_value *gates = ll_llm_seen(d, pieces, 3, 2, (uint64_t[]){d->rows, width + l->value_heads},
                                         (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    struct ll_value *y =
        recurred(d, l, LL_OP_GATED_DELTA_RULE,
                 (struct ll_value *[]){ll_llm_part(d, x, 1, width, width), ll_llm_part(d, x, 1, 0, width),
                                       ll_llm_part(d, x, 1, 2 * width, width), gates});
    struct ll_value *gate = l->gated ? ll_llm_dense(d, n,
                                                    &(struct ll_llm_matrix){"gate", width, LL_ROLE_HIDDEN,
                                                                            LL_ROLE_HEADS, false, false})
                                     : low_rank(d, "gate", n, l->value, width);
    return out_of(d, gated_norm(d, l, y, gate, true), false);
}

/* Mamba-2 (Dao and Gu, 2024, section 7): one matrix makes the gate, x, B and C of all groups, and the steps.
 */
static struct ll_value *mamba2(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    const uint64_t inner = l->value_heads * l->value, groups = l->key_heads * l->key;
    const struct ll_llm_matrix in[] = {
        {"gate", inner, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false},
        {"x_b_c", inner + 2 * groups, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false},
        {"steps", l->value_heads, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false}};
    struct ll_value *parts[3];
    ll_llm_dense_parts(d, "in", n, in, 3, parts);
    struct ll_value *x = convolved(d, l, parts[1], inner + 2 * groups, l->qkv_biased);
    struct ll_value *lines[] = {parts[2], ll_llm_line(d, "steps/bias", l->value_heads, LL_ROLE_HEADS)};
    struct ll_value *steps = ll_llm_op(d, LL_OP_BIAS_ADD, 2, lines, NULL, 0);
    struct ll_value *pieces[] = {steps, ll_llm_line(d, "decay", l->value_heads, LL_ROLE_HEADS),
                                 ll_llm_line(d, "through", l->value_heads, LL_ROLE_HEADS)};
    steps = ll_llm_seen(d, pieces, 3, 2, (uint64_t[]){d->rows, l->value_heads},
                        (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    struct ll_value *y = recurred(d, l, LL_OP_STATE_SPACE_SCAN,
                                  (struct ll_value *[]){ll_llm_part(d, x, 1, inner, groups),
                                                        ll_llm_part(d, x, 1, inner + groups, groups),
                                                        ll_llm_part(d, x, 1, 0, inner), steps});
    return out_of(d, gated_norm(d, l, y, parts[0], false), false);
}

/* Mamba (Gu and Dao, 2023, algorithm 2): steps, B and C are made of what the short convolution gives; each
 * channel has a decay for each of its states, which the scan has beside its steps. */
static struct ll_value *selective(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    static const char *const norms[] = {"steps_norm", "b_norm", "c_norm"};
    static const enum ll_role of_decay[] = {LL_ROLE_PLAIN, LL_ROLE_HEADS};
    const uint64_t inner = l->value_heads, sizes[] = {l->step_rank, l->key, l->key};
    const struct ll_llm_matrix in[] = {{"x", inner, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false},
                                       {"gate", inner, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false}};
    struct ll_value *parts[2], *made[3];
    ll_llm_dense_parts(d, "in", n, in, 2, parts);
    struct ll_value *x = convolved(d, l, parts[0], inner, l->qkv_biased);
    struct ll_value *all = ll_llm_dense(d, x,
                                        &(struct ll_llm_matrix){"steps_b_c", l->step_rank + 2 * l->key,
                                                                LL_ROLE_HEADS, LL_ROLE_PLAIN, false, false});
    for (uint64_t i = 0, begin = 0; i < 3; begin += sizes[i++]) {
        made[i] = ll_llm_part(d, all, 1, begin, sizes[i]);
        made[i] = l->step_normed ? ll_llm_norm(d, norms[i], made[i]) : made[i];
    }
    struct ll_value *steps = ll_llm_dense(
        d, made[0], &(struct ll_llm_matrix){"steps", inner, LL_ROLE_PLAIN, LL_ROLE_HEADS, true, false});
    const struct ll_shape decay = ll_nn_shape(d->nn, 2, (uint64_t[]){l->key, inner}, of_decay);
    struct ll_value *pieces[] = {steps, ll_nn_variable(d->nn, "decay", &decay, LL_WEIGHT, zero),
                                 ll_llm_line(d, "through", inner, LL_ROLE_HEADS)};
    steps = ll_llm_seen(d, pieces, 3, 2, (uint64_t[]){d->rows, inner},
                        (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    struct ll_value *y =
        recurred(d, l, LL_OP_STATE_SPACE_SCAN, (struct ll_value *[]){made[1], made[2], x, steps});
    return out_of(d, ll_nn_do2(d->nn, LL_OP_SILU_MUL, parts[1], y), false);
}

/* A gated short convolution (LFM2, Liquid AI, 2025): (taps * (b x)) c, with b, c and x columns of one
 * matrix. */
static struct ll_value *short_conv(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    const struct ll_llm_matrix in[] = {{"b", l->value, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false},
                                       {"c", l->value, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false},
                                       {"x", l->value, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false, false}};
    struct ll_value *parts[3];
    ll_llm_dense_parts(d, "in", n, in, 3, parts);
    struct ll_value *x = convolved(d, l, ll_mul_of(d->nn, parts[0], parts[2]), l->value, l->qkv_biased);
    return out_of(d, ll_mul_of(d->nn, x, parts[1]), false);
}

struct ll_value *ll_llm_mixed(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    assert(l->mixer != LL_MIXER_NONE);
    if (l->mixer == LL_MIXER_COMPRESSED && d->train)
        ll_nn_fail(d->nn, "the gradients of compressed attention are not known here; expected --infer");
    switch (l->mixer) {
    case LL_MIXER_LATENT:
        return latent_attention(d, l, n);
    case LL_MIXER_COMPRESSED:
        return ll_llm_compressed(d, l, n);
    case LL_MIXER_DELTA:
        return delta(d, l, n);
    case LL_MIXER_KDA:
        return kimi_delta(d, l, n);
    case LL_MIXER_MAMBA2:
        return mamba2(d, l, n);
    case LL_MIXER_MAMBA:
        return selective(d, l, n);
    case LL_MIXER_CONV:
        return short_conv(d, l, n);
    case LL_MIXER_LINEAR:
        return ll_llm_dense(
            d, n,
            &(struct ll_llm_matrix){"linear", d->llm->hidden, LL_ROLE_PLAIN, LL_ROLE_HIDDEN, false, false});
    default:
        return attention(d, l, n);
    }
}
