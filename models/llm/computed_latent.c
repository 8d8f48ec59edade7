/* SPDX-License-Identifier: Apache-2.0 */
/* Latent attention in ops that are computed here (computed.h; DeepSeek-AI, DeepSeek-V2, 2024, section 2.1).
 *
 *     latent vector   c = norm(n W_c)                    remembered with the end k_r, one for all heads
 *     keys, values    k = [c W_k, k_r turned], v = c W_v
 *     queries         q = [m W_q, m W_r turned]          m = norm(n W_m), or n
 *
 * Many tokens are asked with keys and values of all heads; few, while others are remembered, in the space of
 * the latent vectors, where q W_k^T meets c and what comes out meets W_v: as many products, but a memory that
 * is read once for all heads. */
#include "models/llm/computed.h"

#include <assert.h>
#include <math.h>

#include "models/nn/layers.h"

enum { FEW_TOKENS = 16, FIRST_BY_SECOND = 1023, MATRIX_BY_MATRIX = 102 };

static struct ll_value *seen(struct ll_decoder *d, struct ll_value *x, unsigned rank, const uint64_t *dims,
                             const enum ll_role *roles)
{
    struct ll_shape shape = ll_nn_shape(d->nn, rank, dims, roles);
    return d->nn->trouble ? x : ll_nn_reshape(d->nn, x, &shape);
}

/* Rows of heads, [rows, heads features] as [rows, heads, features]. */
static struct ll_value *apart(struct ll_decoder *d, struct ll_value *x, uint64_t heads, uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN};
    return seen(d, x, 3, (uint64_t[]){x->shape.dim[0], heads, features}, roles);
}

/* What a layer's attention works on, rows of all tokens that are read. */
struct latent {
    struct ll_value *nope, *rope;       /* of queries, [rows, heads features] */
    struct ll_value *vector, *key_rope; /* of keys: [rows, kv_rank]; [rows, rope], turned */
};

static struct latent latent_of(struct ll_decoder *d, const struct ll_llm *llm, const struct ll_llm_layer *l,
                               struct ll_value *n)
{
    const enum ll_role from = l->q_rank > 0 ? LL_ROLE_PLAIN : LL_ROLE_HIDDEN;
    struct latent p = {0};
    p.vector = ll_llm_computed_dense(d, "latent", n, l->kv_rank, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false);
    p.vector = ll_llm_computed_rms_norm(d, "latent_norm", p.vector, llm->epsilon, LL_ROLE_PLAIN);
    if (l->rope > 0)
        p.key_rope =
            ll_llm_computed_dense(d, "key_rotated", n, l->rope, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false);
    if (l->q_rank > 0) {
        n = ll_llm_computed_dense(d, "query_latent", n, l->q_rank, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false);
        n = ll_llm_computed_rms_norm(d, "query_norm", n, llm->epsilon, LL_ROLE_PLAIN);
    }
    p.nope = ll_llm_computed_dense(d, "query", n, l->heads * l->nope, from, LL_ROLE_HEADS, false);
    if (l->rope > 0)
        p.rope = ll_llm_computed_dense(d, "query_rotated", n, l->heads * l->rope, from, LL_ROLE_HEADS, false);
    d->rotary_base = l->rotary ? llm->rotary_base : 0;
    if (l->rope > 0) {
        p.rope = ll_decoder_placed(d, p.rope, l->heads, l->rope);
        p.key_rope = ll_decoder_placed(d, p.key_rope, 1, l->rope);
    }
    return p;
}

/* Latent vectors with their ends, [batch, context, kv_rank + rope]: of all tokens, or of those that are read
 * where none is remembered. */
static struct ll_value *vectors_of(struct ll_decoder *d, const struct ll_llm_layer *l, const struct latent *p)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    struct ll_value *pieces[] = {p->vector, p->key_rope},
                    *x = l->rope > 0 ? ll_nn_concat(d->nn, pieces, 2, 1) : p->vector;
    x = seen(d, x, 3, (uint64_t[]){d->batch, d->steps, l->kv_rank + l->rope}, roles);
    return ll_decoder_remembers(d) ? ll_decoder_remembered(d, "latents", x, 1) : x;
}

/* Heads with their turned end, one each or one for all, [rows, heads (nope + rope)]. */
static struct ll_value *with_end(struct ll_decoder *d, const struct ll_llm_layer *l, struct ll_value *nope,
                                 struct ll_value *rope, bool each)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN};
    const uint64_t rows = nope->shape.dim[0];
    if (l->rope == 0 || d->nn->trouble)
        return nope;
    struct ll_value *parts[] = {apart(d, nope, l->heads, l->nope), NULL};
    if (each) {
        parts[1] = apart(d, rope, l->heads, l->rope);
    } else {
        const struct ll_shape ends = ll_nn_shape(d->nn, 3, (uint64_t[]){rows, l->heads, l->rope}, roles);
        const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 1)};
        parts[1] = ll_nn_do(d->nn, &(struct ll_nn_call){.kind = LL_OP_TILE,
                                                        .input_count = 1,
                                                        .inputs = &rope,
                                                        .attr_count = 2,
                                                        .attrs = attrs,
                                                        .given_count = 1,
                                                        .given = &ends});
    }
    return seen(d, ll_nn_concat(d->nn, parts, 2, 2), 2, (uint64_t[]){rows, l->heads * (l->nope + l->rope)},
                (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
}

static struct ll_value *expanded(struct ll_decoder *d, const struct ll_llm_layer *l, struct latent *p)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    if (ll_decoder_remembers(d)) {
        struct ll_value *all =
            seen(d, vectors_of(d, l, p), 2, (uint64_t[]){d->batch * d->context, l->kv_rank + l->rope}, roles);
        p->vector = ll_nn_slice(d->nn, all, 1, 0, l->kv_rank);
        p->key_rope = l->rope > 0 ? ll_nn_slice(d->nn, all, 1, l->kv_rank, l->rope) : NULL;
    }
    struct ll_value *k = ll_llm_computed_dense(d, "key_up", p->vector, l->heads * l->nope, LL_ROLE_PLAIN,
                                               LL_ROLE_HEADS, false),
                    *v = ll_llm_computed_dense(d, "value_up", p->vector, l->heads * l->head_v, LL_ROLE_PLAIN,
                                               LL_ROLE_HEADS, false);
    d->sizes.heads = d->sizes.kv_heads = l->heads;
    d->sizes.head = l->nope + l->rope;
    d->window = 0;
    return ll_decoder_attend_to(d, with_end(d, l, p->nope, p->rope, true),
                                with_end(d, l, k, p->key_rope, false), v);
}

/* x [heads, rows, from] times a matrix for each head. */
static struct ll_value *by_matrix(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t from,
                                  uint64_t to)
{
    static const enum ll_role roles[] = {LL_ROLE_HEADS, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    if (d->nn->trouble)
        return x;
    struct ll_shape shape = ll_nn_shape(d->nn, 3, (uint64_t[]){x->shape.dim[0], from, to}, roles);
    shape.dtype = (uint8_t)d->held;
    ll_nn_push(d->nn, name);
    struct ll_value *weights = ll_nn_variable(d->nn, "weights", &shape, LL_WEIGHT, ll_init_fan_in(from, 1));
    struct ll_value *inputs[] = {x, ll_decoder_rounded(d, weights)};
    struct ll_value *y = ll_weight_gemm(
        d->nn, &(struct ll_nn_call){.kind = LL_OP_BATCH_MATMUL, .input_count = 2, .inputs = inputs},
        d->narrow);
    ll_nn_pop(d->nn);
    return y;
}

static struct ll_value *absorbed(struct ll_decoder *d, const struct ll_llm_layer *l, const struct latent *p)
{
    static const enum ll_role by_head[] = {LL_ROLE_HEADS, LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN},
                              by_step[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HEADS, LL_ROLE_PLAIN},
                              rows[] = {LL_ROLE_HEADS, LL_ROLE_BATCH, LL_ROLE_PLAIN},
                              flat[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    enum { SECOND_BY_THIRD = 213 }; /* 0, 2, 1, 3 */
    struct ll_nn *nn = d->nn;
    const uint64_t count = d->batch * d->steps;
    struct ll_value *q = ll_nn_transpose(nn, apart(d, p->nope, l->heads, l->nope), MATRIX_BY_MATRIX);
    q = by_matrix(d, "key_up", q, l->nope, l->kv_rank);
    q = seen(d, q, 4, (uint64_t[]){l->heads, d->batch, d->steps, l->kv_rank}, by_head);
    q = ll_nn_transpose(nn, q, FIRST_BY_SECOND);
    if (l->rope > 0) {
        struct ll_value *ends =
            seen(d, p->rope, 4, (uint64_t[]){d->batch, d->steps, l->heads, l->rope}, by_step);
        q = ll_nn_concat(nn, (struct ll_value *[]){q, ll_nn_transpose(nn, ends, SECOND_BY_THIRD)}, 2, 3);
    }
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->kv_rank),
                                    ll_attr_of_real(LL_ATTR_SCALE, 1 / sqrt((double)(l->nope + l->rope)))};
    struct ll_value *inputs[] = {q, vectors_of(d, l, p)};
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_LATENT_ATTENTION,
                                                           .input_count = 2,
                                                           .inputs = inputs,
                                                           .attr_count = 2,
                                                           .attrs = attrs});
    y = seen(d, ll_nn_transpose(nn, y, FIRST_BY_SECOND), 3, (uint64_t[]){l->heads, count, l->kv_rank}, rows);
    y = by_matrix(d, "value_up", y, l->kv_rank, l->head_v);
    return seen(d, ll_nn_transpose(nn, y, MATRIX_BY_MATRIX), 2, (uint64_t[]){count, l->heads * l->head_v},
                flat);
}

struct ll_value *ll_llm_computed_latent(struct ll_decoder *d, const struct ll_llm *llm,
                                        const struct ll_llm_layer *l, struct ll_value *n)
{
    struct latent p = latent_of(d, llm, l, n);
    struct ll_value *y =
        ll_decoder_remembers(d) && d->steps <= FEW_TOKENS ? absorbed(d, l, &p) : expanded(d, l, &p);
    if (!l->gated)
        return y;
    struct ll_value *gate =
        ll_llm_computed_dense(d, "gate", n, l->heads * l->head_v, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false);
    return ll_mul_of(d->nn, y, ll_nn_do1(d->nn, LL_OP_SIGMOID, gate));
}
