/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of what transformers are made of: attention in its forms, rotary positions, caches of keys and
 * values, experts' and linear recurrences' operators.
 *
 * Attention that only looks back, without a mask, is one op whose scores never leave the chip, and only
 * those that are seen are counted. Elsewhere it is what its definition says: a GEMM of queries with keys, a
 * mask, a softmax, a GEMM with values. Heads lie wherever the file has them: operands are views, [sequences
 * and heads, tokens, features], as libraries read them through strides. */
#include <assert.h>
#include <string.h>

#include "tracer/convert/onnx/attention.h"

/* The op for attention that looks back. `y` has the heads behind the sequences. */
static bool look_back(struct onnx *o, const struct onnx_attention *a, struct ll_imported *y)
{
    uint64_t groups = a->heads / a->kv_heads;
    const struct ll_shape q = {.rank = 4,
                               .dim = {a->batch, a->kv_heads, ll_mul(a->queries, groups), a->size}},
                          k = {.rank = 4, .dim = {a->batch, a->kv_heads, a->keys, a->size}},
                          v = {.rank = 4, .dim = {a->batch, a->kv_heads, a->keys, a->value_size}};
    const struct ll_imported in[3] = {onnx_view(o, a->q, &q), onnx_view(o, a->k, &k), onnx_view(o, a->v, &v)};
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_GROUPS, .count = (int64_t)groups},
                                     {.key = LL_ATTR_WINDOW, .count = (int64_t)a->window}};
    const struct ll_import_op op = {.kind = LL_OP_CAUSAL_ATTENTION,
                                    .in = in,
                                    .in_count = 3,
                                    .attrs = attrs,
                                    .attr_count = a->window ? 2 : 1};
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, out))
        return false;
    *y = out[0];
    return true;
}

/* A mask of truths chooses, any other is added. */
static bool mask_scores(struct onnx *o, const struct onnx_attention *a, struct ll_imported *scores)
{
    struct ll_imported in[2] = {*scores, onnx_take(o, a->mask, ONNX_PLAIN)};
    if (in[1].shape.dtype == LL_BOOL || in[1].shape.dtype != scores->shape.dtype) {
        struct ll_shape as = in[1].shape;
        as.dtype = scores->shape.dtype;
        const struct ll_imported truths = in[1];
        if (!onnx_emit_simple(o, LL_OP_CAST, &truths, 1, &as, &in[1]))
            return false;
    }
    unsigned last = in[1].shape.rank ? in[1].shape.rank - 1u : 0; /* keys behind its end are not seen */
    uint64_t masked = in[1].shape.rank ? in[1].shape.dim[last] : 1;
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = last},
                                     {.key = LL_ATTR_AFTER, .count = (int64_t)(a->keys - masked)}};
    const struct ll_import_op pad = {
        .kind = LL_OP_PAD, .in = &in[1], .in_count = 1, .attrs = attrs, .attr_count = 2};
    struct ll_imported padded[LL_MAX_OUTPUTS];
    if (masked > 1 && masked < a->keys) {
        if (!onnx_emit(o, &pad, padded))
            return false;
        in[1] = padded[0];
    }
    return onnx_emit_simple(o, LL_OP_ADD, in, 2, NULL, scores);
}

/* Scores as the definition has them, and what comes of them. */
static bool look_at_all(struct onnx *o, const struct onnx_attention *a, struct ll_imported *y)
{
    uint64_t stacks = ll_mul(a->batch, a->kv_heads), rows = ll_mul(a->queries, a->heads / a->kv_heads);
    const struct ll_gemm first = {stacks, rows, a->keys, a->size},
                         second = {stacks, rows, a->value_size, a->keys};
    const struct ll_shape whole = {.rank = 4, .dim = {a->batch, a->heads, a->queries, a->keys}};
    struct ll_imported scores;
    if (!onnx_product(o, a->q, a->k, &first, true, &scores))
        return false;
    scores = onnx_view(o, scores, &whole);
    if (a->capped && !onnx_emit_simple(o, LL_OP_TANH, &scores, 1, NULL, &scores))
        return false;
    if ((a->mask && !mask_scores(o, a, &scores)) ||
        (a->causal && !onnx_emit_simple(o, LL_OP_TRIANGLE, &scores, 1, NULL, &scores)) ||
        !onnx_emit_simple(o, LL_OP_SOFTMAX, &scores, 1, NULL, &scores))
        return false;
    if (a->scores >= 0)
        onnx_put(o, (uint32_t)a->scores, scores, ONNX_PLAIN, &whole);
    return onnx_product(o, scores, a->v, &second, false, y);
}

bool onnx_attend(struct onnx *o, const struct onnx_attention *a, struct ll_imported *y)
{
    if (a->batch == 0 || a->kv_heads == 0 || a->heads % a->kv_heads != 0)
        return onnx_refuse(o, "its heads cannot be told: each of keys must serve as many of queries");
    if (ll_elements(&a->q.shape) != ll_mul(ll_mul(a->batch, a->heads), ll_mul(a->queries, a->size)) ||
        ll_elements(&a->k.shape) != ll_mul(ll_mul(a->batch, a->kv_heads), ll_mul(a->keys, a->size)) ||
        ll_elements(&a->v.shape) != ll_mul(ll_mul(a->batch, a->kv_heads), ll_mul(a->keys, a->value_size)))
        return onnx_refuse(o, "its queries, keys and values do not belong together");
    bool plain = !a->mask && !a->capped && a->scores < 0;
    return a->causal && a->last && plain ? look_back(o, a, y) : look_at_all(o, a, y);
}

bool onnx_append(struct onnx *o, struct onnx_value *past, struct ll_imported *now,
                 const struct onnx_attention *a, uint64_t size, uint32_t at)
{
    const struct ll_shape fresh = {
        .rank = 4, .dtype = now->shape.dtype, .dim = {a->batch, a->kv_heads, a->keys, size}};
    struct ll_shape whole = fresh;
    struct ll_imported in[2], out[LL_MAX_OUTPUTS];
    const struct ll_attr axis = {.key = LL_ATTR_AXIS, .count = 2};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = in, .in_count = 2, .attrs = &axis, .attr_count = 1};
    in[1] = onnx_view(o, *now, &fresh);
    if (past && past->shape.rank != 4)
        return onnx_refuse(o, "a cache has the dimensions batch, heads, tokens and features");
    if (!past || past->shape.dim[2] == 0) {
        onnx_put(o, at, in[1], ONNX_PLAIN, &fresh);
        return true;
    }
    in[0] = onnx_take(o, past, ONNX_PLAIN);
    if (!onnx_emit(o, &op, out))
        return false;
    whole.dim[2] = out[0].shape.dim[2];
    onnx_put(o, at, out[0], ONNX_PLAIN, &whole);
    *now = out[0];
    return true;
}

/* Sizes of q and k, v as they stand in a file: [batch, heads, tokens, features], or [batch, tokens, all
 * features] of so many heads. */
static bool read_heads(struct onnx *o, struct onnx_value *const x[3], uint64_t heads, uint64_t kv_heads,
                       struct onnx_attention *a)
{
    const struct ll_shape *q = &x[0]->shape, *k = &x[1]->shape, *v = &x[2]->shape;
    bool apart = q->rank == 4;
    if ((q->rank != 3 && q->rank != 4) || k->rank < 3 || v->rank != k->rank || k->rank > 4)
        return onnx_refuse(o, "queries, keys and values have three or four dimensions");
    a->batch = q->dim[0];
    a->heads = apart ? q->dim[1] : heads;
    a->kv_heads = k->rank == 4 ? k->dim[1] : kv_heads ? kv_heads : a->heads;
    if (a->heads == 0 || a->kv_heads == 0)
        return onnx_refuse(o, "it must say how many heads there are");
    a->queries = q->dim[apart ? 2 : 1];
    a->keys = k->dim[k->rank == 4 ? 2 : 1];
    a->size = apart ? q->dim[3] : q->dim[2] / a->heads;
    a->value_size = v->rank == 4 ? v->dim[3] : v->dim[2] / a->kv_heads;
    return true;
}

/* The result in the dimensions in which the queries came. */
static void put_result(struct onnx *o, const struct onnx_attention *a, struct ll_imported y, bool apart)
{
    const struct ll_shape heads = {.rank = 4, .dim = {a->batch, a->heads, a->queries, a->value_size}};
    const struct ll_shape joined = {.rank = 3,
                                    .dim = {a->batch, a->queries, ll_mul(a->heads, a->value_size)}};
    const struct ll_shape *shape = apart ? &heads : &joined;
    onnx_put(o, 0, onnx_view(o, y, shape), ONNX_PLAIN, shape);
}

/* Attention-23 and later: queries, keys, values, perhaps a mask, caches of keys and values. */
bool onnx_rule_ATTENTION(struct onnx *o)
{
    struct onnx_value *x[3] = {onnx_need(o, 0), onnx_need(o, 1), onnx_need(o, 2)};
    struct onnx_value *past[2] = {onnx_input(o, 4), onnx_input(o, 5)};
    bool asks = o->node->output_count > 3 && o->node->outputs[3] != LL_NO_ID;
    struct onnx_attention a = {.mask = onnx_input(o, 3),
                               .causal = onnx_attr_integer(o, "is_causal", 0) != 0,
                               .capped = onnx_attr_real(o, "softcap", 0) != 0,
                               .scores = asks ? 3 : -1};
    struct ll_imported y;
    if (!x[0] || !x[1] || !x[2] ||
        !read_heads(o, x, (uint64_t)onnx_attr_integer(o, "q_num_heads", 0),
                    (uint64_t)onnx_attr_integer(o, "kv_num_heads", 0), &a))
        return false;
    int64_t window = onnx_attr_integer(o, "left_window_size", -1);
    a.window = a.causal && window >= 0 ? (uint64_t)window + 1 : 0;
    bool apart = x[0]->shape.rank == 4;
    a.q = onnx_take(o, x[0], ONNX_PLAIN);
    a.k = onnx_take(o, x[1], ONNX_PLAIN);
    a.v = onnx_take(o, x[2], ONNX_PLAIN);
    if (!onnx_append(o, past[0], &a.k, &a, a.size, 1) || !onnx_append(o, past[1], &a.v, &a, a.value_size, 2))
        return false;
    a.keys = past[0] ? ll_add(a.keys, past[0]->shape.dim[2]) : a.keys;
    a.last = a.keys == a.queries || (past[0] && a.keys >= a.queries);
    if (!onnx_attend(o, &a, &y))
        return false;
    put_result(o, &a, y, apart);
    return true;
}

/* ai.onnx.preview.FlexAttention-1: the same on inputs of four dimensions; what scores go through may be a
 * graph that the kernel computes on the way. */
bool onnx_rule_FLEX_ATTENTION(struct onnx *o)
{
    struct onnx_attr graph;
    if (onnx_attr_find(o->node, "score_mod", &graph) || onnx_attr_find(o->node, "prob_mod", &graph))
        return onnx_refuse(o, "its scores go through a graph (score_mod, prob_mod), which is not supported");
    return onnx_rule_ATTENTION(o);
}

bool onnx_rotate(struct onnx *o, struct ll_imported x, uint64_t turned, int64_t axis, struct ll_imported *out)
{
    unsigned last = x.shape.rank - 1u;
    uint64_t size = x.shape.dim[last];
    struct ll_imported parts[2], outs[LL_MAX_OUTPUTS];
    const struct ll_attr positions = {.key = LL_ATTR_AXIS, .count = axis},
                         features = {.key = LL_ATTR_AXIS, .count = last};
    parts[0] = x;
    if (turned > size || (turned < size && (!onnx_cut(o, x, last, 0, turned, &parts[0]) ||
                                            !onnx_cut(o, x, last, turned, size - turned, &parts[1]))))
        return turned > size ? onnx_refuse(o, "more features are turned than there are") : false;
    const struct ll_import_op op = {
        .kind = LL_OP_ROTARY, .in = parts, .in_count = 1, .attrs = &positions, .attr_count = 1};
    if (!onnx_emit(o, &op, outs))
        return false;
    parts[0] = outs[0];
    const struct ll_import_op join = {
        .kind = LL_OP_CONCAT, .in = parts, .in_count = 2, .attrs = &features, .attr_count = 1};
    if (turned < size && !onnx_emit(o, &join, outs))
        return false;
    *out = outs[0];
    return true;
}

/* Rows of the tables of cosines and sines. */
static bool look_up_angles(struct onnx *o, struct onnx_value *const tables[2], struct onnx_value *positions)
{
    for (unsigned i = 0; i < 2 && positions; i++) {
        struct ll_imported out, in[2];
        if (!tables[i] || tables[i]->shape.rank != 2)
            continue;
        in[0] = onnx_take(o, tables[i], ONNX_PLAIN);
        in[1] = onnx_take(o, positions, ONNX_PLAIN);
        if (!onnx_emit_simple(o, LL_OP_GATHER, in, 2, NULL, &out))
            return false;
    }
    return true;
}

static bool turn(struct onnx *o, uint32_t cosines, uint32_t positions)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct onnx_value *const tables[2] = {onnx_need(o, cosines), onnx_need(o, cosines + 1)};
    uint64_t turned = (uint64_t)onnx_attr_integer(o, "rotary_embedding_dim", 0),
             heads = (uint64_t)onnx_attr_integer(o, "num_heads", 0);
    if (!x || !tables[0] || !tables[1])
        return false;
    const struct ll_shape shape = x->shape, *table = &tables[0]->shape;
    uint64_t pairs = table->rank ? table->dim[table->rank - 1] : 0,
             size = shape.rank ? shape.dim[shape.rank - 1] : 0;
    if (shape.rank == 3 && heads == 0 && pairs > 0)
        heads = size / ll_mul(2, pairs);
    if ((shape.rank != 3 && shape.rank != 4) || (shape.rank == 3 && (heads == 0 || size % heads != 0)))
        return onnx_refuse(o, "features must be told apart by heads");
    const struct ll_shape apart = {.rank = 4,
                                   .dim = {shape.dim[0], shape.dim[1], shape.rank == 4 ? shape.dim[2] : heads,
                                           shape.rank == 4 ? size : size / heads}};
    struct ll_imported y = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &apart);
    if (!look_up_angles(o, tables, onnx_input(o, positions)) ||
        !onnx_rotate(o, y, turned ? turned : apart.dim[3], shape.rank == 4 ? 2 : 1, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* RotaryEmbedding-23: x, cosines, sines, perhaps positions. */
bool onnx_rule_ROTARY(struct onnx *o)
{
    return turn(o, 1, 3);
}

/* com.microsoft: x, positions, cosines, sines. */
bool onnx_rule_ROTARY_POSITIONS(struct onnx *o)
{
    return turn(o, 2, 1);
}

/* TensorScatter-24: an update takes its place in a cache, along an axis (default: the last but one). */
bool onnx_rule_CACHE_UPDATE(struct onnx *o)
{
    struct onnx_value *cache = onnx_need(o, 0), *part = onnx_need(o, 1);
    unsigned axis;
    if (!cache || !part || !onnx_axis(o, onnx_attr_integer(o, "axis", -2), cache->shape.rank, &axis))
        return false;
    const struct ll_imported in[2] = {onnx_take(o, cache, ONNX_PLAIN), onnx_take(o, part, ONNX_PLAIN)};
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = axis};
    const struct ll_import_op op = {
        .kind = LL_OP_KV_CACHE_UPDATE, .in = in, .in_count = 2, .attrs = &attr, .attr_count = 1};
    const struct ll_shape shape = cache->shape;
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], ONNX_PLAIN, &shape);
    return true;
}

/* SwiGLU-28: a swish of the first times the second. */
bool onnx_rule_SWIGLU(struct onnx *o)
{
    struct onnx_value *gate = onnx_need(o, 0), *x = onnx_need(o, 1);
    struct ll_imported y;
    if (!gate || !x)
        return false;
    const struct ll_imported in[2] = {onnx_take(o, gate, ONNX_PLAIN), onnx_take(o, x, ONNX_PLAIN)};
    const struct ll_shape shape = x->shape;
    if (!onnx_emit_simple(o, LL_OP_SILU_MUL, in, 2, NULL, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* GeGLU-28: gelu(a) b. */
bool onnx_rule_GEGLU(struct onnx *o)
{
    struct onnx_value *gate = onnx_need(o, 0), *x = onnx_need(o, 1);
    struct ll_imported in[2], y;
    if (!gate || !x)
        return false;
    const struct ll_shape shape = x->shape;
    in[0] = onnx_take(o, gate, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_GELU, in, 1, NULL, &in[0]))
        return false;
    in[1] = onnx_take(o, x, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_MUL, in, 2, NULL, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* Recurrences whose state is a matrix, and short convolutions along a sequence, each with the state before.
 */

/* A state that is given, or zeros. */
static bool state_or_zeros(struct onnx *o, struct onnx_value *given, const struct ll_shape *shape,
                           struct ll_imported *state)
{
    if (!given)
        return onnx_emit_simple(o, LL_OP_CONSTANT, NULL, 0, shape, state);
    if (ll_elements(&given->shape) != ll_elements(shape))
        return onnx_refuse(o, "its state does not belong to its inputs");
    *state = onnx_view(o, onnx_take(o, given, ONNX_PLAIN), shape);
    return true;
}

/* Rows of a value, one for each token; of fewer heads than there are, each stands for several. */
static bool rows_of(struct onnx *o, struct onnx_value *x, uint64_t rows, uint64_t columns,
                    struct ll_imported *out)
{
    const struct ll_shape seen = {.rank = 2, .dtype = x->shape.dtype, .dim = {rows, columns}};
    *out = onnx_take(o, x, ONNX_PLAIN);
    if (ll_elements(&x->shape) == ll_mul(rows, columns)) {
        *out = onnx_view(o, *out, &seen);
        return true;
    }
    return onnx_emit_simple(o, LL_OP_SEEN_AS, out, 1, &seen, out);
}

/* LinearAttention-27: queries, keys, values[batch, tokens, heads' features], perhaps a state[batch, heads,
 * key, value], decays and shares of what is written. By its rule it is a scan or a delta rule. */
bool onnx_rule_LINEAR_ATTENTION(struct onnx *o)
{
    struct onnx_value *q = onnx_need(o, 0), *k = onnx_need(o, 1), *v = onnx_need(o, 2),
                      *past = onnx_input(o, 3);
    struct onnx_value *gates = onnx_input(o, 4) ? onnx_input(o, 4) : onnx_input(o, 5);
    uint64_t q_heads = (uint64_t)onnx_attr_integer(o, "q_num_heads", 1),
             kv_heads = (uint64_t)onnx_attr_integer(o, "kv_num_heads", 1);
    bool delta = onnx_attr_is(o, "update_rule", "delta") || onnx_attr_is(o, "update_rule", "gated_delta") ||
                 !onnx_attr_has(o, "update_rule");
    struct ll_imported in[5], out[LL_MAX_OUTPUTS];
    if (!q || !k || !v)
        return false;
    if (q->shape.rank != 3 || k->shape.rank != 3 || v->shape.rank != 3 || q_heads == 0 || kv_heads == 0 ||
        q->shape.dim[2] % q_heads != 0 || v->shape.dim[2] % kv_heads != 0)
        return onnx_refuse(o, "queries, keys and values are [batch, tokens, features of all heads]");
    uint64_t batch = q->shape.dim[0], rows = ll_mul(batch, q->shape.dim[1]),
             heads = ll_max(q_heads, kv_heads);
    uint64_t key = q->shape.dim[2] / q_heads, value = v->shape.dim[2] / kv_heads;
    const struct ll_shape state = {.rank = 4, .dtype = v->shape.dtype, .dim = {batch, heads, key, value}},
                          ones = {.rank = 2, .dtype = v->shape.dtype, .dim = {rows, heads}};
    struct ll_shape shape = v->shape, whole = state;
    shape.dim[2] = ll_mul(heads, value);
    if (past && past->shape.rank == 4 && past->shape.dim[1] < heads) {
        if (!onnx_emit_simple(o, LL_OP_SEEN_AS, (struct ll_imported[]){onnx_take(o, past, ONNX_PLAIN)}, 1,
                              &state, &in[0]))
            return false;
    } else if (!state_or_zeros(o, past, &state, &in[0])) {
        return false;
    }
    uint64_t keys = ll_mul(ll_max(q_heads, k->shape.dim[2] / ll_max(1, key)), key);
    if (!rows_of(o, k, rows, keys, &in[1]) || !rows_of(o, q, rows, keys, &in[2]) ||
        !rows_of(o, v, rows, ll_mul(heads, value), &in[3]))
        return false;
    if (gates ? !rows_of(o, gates, rows, ll_elements(&gates->shape) / ll_max(1, rows), &in[4])
              : !onnx_emit_simple(o, LL_OP_CONSTANT, NULL, 0, &ones, &in[4]))
        return false;
    const struct ll_import_op op = {
        .kind = delta ? LL_OP_GATED_DELTA_RULE : LL_OP_STATE_SPACE_SCAN, .in = in, .in_count = 5};
    if (!onnx_emit(o, &op, out))
        return false;
    whole.dtype = out[0].shape.dtype;
    onnx_put(o, 0, onnx_view(o, out[1], &shape), ONNX_PLAIN, &shape);
    onnx_put(o, 1, out[0], ONNX_PLAIN, &whole);
    return true;
}

/* CausalConvWithState-27: x[batch, channels, tokens] by a filter[channels, 1, k] along the tokens, the last
 * k - 1 of those before as a state; perhaps a swish behind. */
bool onnx_rule_CAUSAL_CONV(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *w = onnx_need(o, 1), *bias = onnx_input(o, 2),
                      *past = onnx_input(o, 3);
    struct ll_imported in[4], out[LL_MAX_OUTPUTS], y;
    if (!x || !w)
        return false;
    if (x->shape.rank != 3 || w->shape.rank != 3 || w->shape.dim[2] == 0 ||
        w->shape.dim[0] != x->shape.dim[1])
        return onnx_refuse(o, "it takes [batch, channels, tokens] and a filter for each channel");
    uint64_t batch = x->shape.dim[0], channels = x->shape.dim[1], k = w->shape.dim[2];
    const struct ll_shape shape = x->shape,
                          state = {.rank = 3, .dtype = shape.dtype, .dim = {batch, k - 1, channels}},
                          rows = {.rank = 2, .dim = {ll_mul(batch, shape.dim[2]), channels}},
                          filter = {.rank = 2, .dim = {k, channels}},
                          after = {.rank = 3, .dtype = shape.dtype, .dim = {batch, channels, k - 1}};
    if (!state_or_zeros(o, past, &state, &in[0]))
        return false;
    in[1] = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &rows);
    in[2] = onnx_view(o, onnx_take(o, w, ONNX_PLAIN), &filter);
    if (bias)
        in[3] = onnx_take(o, bias, ONNX_PLAIN);
    const struct ll_import_op op = {.kind = LL_OP_CAUSAL_CONV, .in = in, .in_count = bias ? 4 : 3};
    if (!onnx_emit(o, &op, out))
        return false;
    y = out[1];
    if ((onnx_attr_is(o, "activation", "silu") || onnx_attr_is(o, "activation", "swish")) &&
        !onnx_swish(o, y, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    onnx_put(o, 1, onnx_view(o, out[0], &after), ONNX_PLAIN, &after);
    return true;
}
