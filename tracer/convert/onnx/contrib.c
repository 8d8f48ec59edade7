/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of com.microsoft's operators for language models, as ONNX Runtime's exporters and optimizers write
 * them: attention with its projection, with caches, with shared key heads; weights of few bits; experts.
 * Their inputs and attributes are those of its ContribOperators. */
#include <string.h>

#include "tracer/convert/onnx/attention.h"

/* A part of a tensor that lies in it with strides of its own, in these dimensions. */
static bool see_part(struct onnx *o, struct ll_imported whole, const struct ll_shape *shape,
                     struct ll_imported *out)
{
    struct ll_shape seen = *shape;
    seen.dtype = whole.shape.dtype;
    return onnx_emit_simple(o, LL_OP_SEEN_AS, &whole, 1, &seen, out);
}

/* Keys and values of one tensor [2, batch, heads, tokens, features] behind those of a cache: output 1, and
 * what is attended to. */
static bool append_both(struct onnx *o, struct onnx_value *past, struct ll_imported now,
                        struct onnx_attention *a)
{
    const struct ll_shape fresh = {.rank = 5, .dim = {2, a->batch, a->kv_heads, a->keys, a->size}};
    const struct ll_attr axis = {.key = LL_ATTR_AXIS, .count = 3};
    struct ll_imported in[2], out[LL_MAX_OUTPUTS];
    if (past && (past->shape.rank != 5 || past->shape.dim[2] != a->kv_heads))
        return onnx_refuse(o, "a cache has the dimensions 2, batch, heads, tokens and features");
    if (!see_part(o, now, &fresh, &in[1]))
        return false;
    out[0] = in[1];
    if (past && past->shape.dim[3] > 0) {
        in[0] = onnx_take(o, past, ONNX_PLAIN);
        const struct ll_import_op op = {
            .kind = LL_OP_CONCAT, .in = in, .in_count = 2, .attrs = &axis, .attr_count = 1};
        if (!onnx_emit(o, &op, out))
            return false;
        a->keys = out[0].shape.dim[3];
    }
    const struct ll_shape each = {.rank = 4, .dim = {a->batch, a->kv_heads, a->keys, a->size}},
                          whole = out[0].shape;
    onnx_put(o, 1, out[0], ONNX_PLAIN, &whole);
    return see_part(o, out[0], &each, &a->k) && see_part(o, out[0], &each, &a->v);
}

/* x[tokens, features] W + b, W[features, all]; of bytes the result is of the type of a scale. */
static bool project(struct onnx *o, struct ll_imported x, struct onnx_value *w, struct onnx_value *bias,
                    uint64_t rows, struct ll_imported *out)
{
    const struct ll_gemm gemm = {1, rows, w->shape.dim[1], w->shape.dim[0]};
    struct ll_imported in[2];
    if (ll_elements(&x.shape) != ll_mul(rows, w->shape.dim[0]))
        return onnx_refuse(o, "its weights do not belong to its input");
    if (!onnx_product(o, x, onnx_take(o, w, ONNX_PLAIN), &gemm, false, out))
        return false;
    if (!bias)
        return true;
    in[0] = *out;
    in[1] = onnx_take(o, bias, ONNX_PLAIN);
    return onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, out);
}

/* Attention, QAttention and PackedAttention: input, weights of queries, keys and values side by side, their
 * biases; a cache in one piece. Padding inside sequences counts. */
static bool attend_projected(struct onnx *o, struct onnx_value *past, struct onnx_value *mask, uint64_t batch,
                             uint64_t tokens)
{
    struct onnx_value *x = onnx_need(o, 0), *w = onnx_need(o, 1), *bias = onnx_input(o, 2);
    uint64_t heads = (uint64_t)onnx_attr_integer(o, "num_heads", 0);
    int64_t sizes[3];
    struct ll_imported all, y;
    if (!x || !w)
        return false;
    bool unequal = onnx_attr_list(o, "qkv_hidden_sizes", sizes, 3) == 3;
    if (w->shape.rank != 2 || x->shape.rank < 2 || heads == 0 || (!unequal && w->shape.dim[1] % 3 != 0))
        return onnx_refuse(o, "its weights are a matrix for queries, keys and values of so many heads");
    uint64_t hidden = unequal ? (uint64_t)sizes[0] : w->shape.dim[1] / 3,
             values = unequal ? (uint64_t)sizes[2] : hidden;
    struct onnx_attention a = {.batch = batch,
                               .heads = heads,
                               .kv_heads = heads,
                               .queries = tokens,
                               .keys = tokens,
                               .size = hidden / heads,
                               .value_size = values / heads,
                               .causal = onnx_attr_integer(o, "unidirectional", 0) != 0,
                               .last = true,
                               .mask = mask,
                               .scores = -1};
    if (!project(o, onnx_take(o, x, ONNX_PLAIN), w, bias, ll_elements(&x->shape) / ll_max(1, w->shape.dim[0]),
                 &all))
        return false;
    const struct ll_shape q = {.rank = 3, .dim = {batch, tokens, hidden}},
                          v = {.rank = 3, .dim = {batch, tokens, values}};
    if (!see_part(o, all, &q, &a.q) || !see_part(o, all, &q, &a.k) || !see_part(o, all, &v, &a.v))
        return false;
    if ((past || o->node->output_count > 1) && !unequal && !append_both(o, past, all, &a))
        return false;
    if (!onnx_attend(o, &a, &y))
        return false;
    struct ll_shape shape = x->shape;
    shape.dim[shape.rank - 1] = values;
    if (ll_elements(&shape) != ll_elements(&y.shape)) { /* tokens without padding */
        if (!see_part(o, y, &shape, &y))
            return false;
    }
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

static bool of_sequences(struct onnx *o, uint32_t past, uint32_t bias)
{
    struct onnx_value *x = onnx_need(o, 0);
    if (!x || x->shape.rank != 3)
        return x && onnx_refuse(o, "its input has the dimensions batch, tokens and features");
    return attend_projected(o, onnx_input(o, past), bias ? onnx_input(o, bias) : NULL, x->shape.dim[0],
                            x->shape.dim[1]);
}

bool onnx_rule_MS_ATTENTION(struct onnx *o)
{
    return of_sequences(o, 4, 5);
}

bool onnx_rule_MS_Q_ATTENTION(struct onnx *o)
{
    return of_sequences(o, 8, 0);
}

/* Tokens of all sequences without their padding; where each belongs, [batch, tokens], is input 3. */
bool onnx_rule_MS_PACKED_ATTENTION(struct onnx *o)
{
    struct onnx_value *offsets = onnx_need(o, 3);
    if (!offsets || offsets->shape.rank != 2)
        return offsets && onnx_refuse(o, "where tokens belong has the dimensions batch and tokens");
    return attend_projected(o, NULL, onnx_input(o, 5), offsets->shape.dim[0], offsets->shape.dim[1]);
}

/* Adds a part of a bias to what stands for queries, keys or values. */
static bool add_part(struct onnx *o, struct onnx_value *bias, uint64_t begin, uint64_t size,
                     struct ll_imported *x)
{
    const struct ll_shape before = x->shape,
                          rows = {.rank = 2, .dim = {ll_elements(&x->shape) / ll_max(1, size), size}};
    struct ll_imported in[2];
    if (!bias)
        return true;
    if (!onnx_cut(o, onnx_take(o, bias, ONNX_PLAIN), 0, begin, size, &in[1]))
        return false;
    in[0] = onnx_view(o, *x, &rows);
    if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, x))
        return false;
    *x = onnx_view(o, *x, &before);
    return true;
}

/* MultiHeadAttention: queries, keys and values apart, or packed into one of them: [batch, tokens, heads, 3
 * or 2, features]. */
bool onnx_rule_MS_MULTI_HEAD(struct onnx *o)
{
    struct onnx_value *q = onnx_need(o, 0), *k = onnx_input(o, 1), *v = onnx_input(o, 2),
                      *bias = onnx_input(o, 3), *past[2] = {onnx_input(o, 6), onnx_input(o, 7)};
    uint64_t heads = (uint64_t)onnx_attr_integer(o, "num_heads", 0);
    struct ll_imported y;
    if (!q)
        return false;
    bool packed = q->shape.rank == 5, pair = k && k->shape.rank == 5;
    if ((!packed && (q->shape.rank != 3 || !k)) || (k && k->shape.rank < 3) || heads == 0 ||
        (k && !pair && !v))
        return onnx_refuse(o, "it takes queries, keys and values of so many heads");
    uint64_t hidden = packed ? ll_mul(heads, q->shape.dim[4]) : q->shape.dim[2];
    struct onnx_attention a = {.batch = q->shape.dim[0],
                               .heads = heads,
                               .kv_heads = heads,
                               .queries = q->shape.dim[1],
                               .keys = packed               ? q->shape.dim[1]
                                       : k->shape.rank == 4 ? k->shape.dim[2]
                                                            : k->shape.dim[1],
                               .size = hidden / heads,
                               .causal = onnx_attr_integer(o, "unidirectional", 0) != 0,
                               .last = true,
                               .mask = onnx_input(o, 5),
                               .scores =
                                   o->node->output_count > 3 && o->node->outputs[3] != LL_NO_ID ? 3 : -1};
    a.value_size = packed || pair ? a.size : v->shape.rank == 4 ? v->shape.dim[3] : v->shape.dim[2] / heads;
    const struct ll_shape one = {.rank = 3, .dim = {a.batch, a.queries, hidden}},
                          other = {.rank = 3, .dim = {a.batch, a.keys, hidden}},
                          shape = {.rank = 3, .dim = {a.batch, a.queries, ll_mul(heads, a.value_size)}};
    a.q = onnx_take(o, q, ONNX_PLAIN);
    a.k = packed ? a.q : onnx_take(o, k, ONNX_PLAIN);
    a.v = packed || pair ? a.k : onnx_take(o, v, ONNX_PLAIN);
    if (packed && !see_part(o, a.q, &one, &a.q))
        return false;
    if ((packed || pair) && (!see_part(o, a.k, &other, &a.k) || !see_part(o, a.v, &other, &a.v)))
        return false;
    if (!add_part(o, bias, 0, hidden, &a.q) || !add_part(o, bias, hidden, hidden, &a.k) ||
        !add_part(o, bias, 2 * hidden, ll_mul(heads, a.value_size), &a.v) ||
        !onnx_append(o, past[0], &a.k, &a, a.size, 1) || !onnx_append(o, past[1], &a.v, &a, a.value_size, 2))
        return false;
    a.keys = past[0] && past[0]->shape.rank == 4 ? ll_add(a.keys, past[0]->shape.dim[2]) : a.keys;
    if (!onnx_attend(o, &a, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* How many tokens are attended to: as a constant says, as the cache that comes out is told to be, or those
 * that were there and the new ones. */
static uint64_t attended(struct onnx *o, uint64_t past, uint64_t now)
{
    struct ll_shape told;
    struct onnx_value *total = onnx_input(o, 6);
    const double *number = total ? onnx_numbers(o, total) : NULL;
    if (number && *number >= (double)now && *number < 0x1p40)
        return (uint64_t)*number;
    if (onnx_told(o, 1, &told) && told.rank == 4 && told.dim[2] > past)
        return told.dim[2];
    return ll_add(past, now);
}

/* Keys or values take their place in a cache that has room for them, or come behind one that has not. */
static bool keep(struct onnx *o, struct onnx_value *past, struct ll_imported *now,
                 const struct onnx_attention *a, uint64_t total, uint32_t at)
{
    const struct ll_shape fresh = {.rank = 4, .dim = {a->batch, a->kv_heads, a->keys, a->size}},
                          seen = {.rank = 4, .dim = {a->batch, a->kv_heads, total, a->size}};
    struct ll_imported in[2], out[LL_MAX_OUTPUTS];
    if (!past || past->shape.rank != 4 || past->shape.dim[2] < total)
        return onnx_append(o, past, now, a, a->size, at);
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 2},
                                     {.key = LL_ATTR_BEGIN, .count = (int64_t)(total - a->keys)}};
    const struct ll_import_op op = {
        .kind = LL_OP_KV_CACHE_UPDATE, .in = in, .in_count = 2, .attrs = attrs, .attr_count = 2};
    in[0] = onnx_take(o, past, ONNX_PLAIN);
    in[1] = onnx_view(o, *now, &fresh);
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_shape whole = out[0].shape;
    onnx_put(o, at, out[0], ONNX_PLAIN, &whole);
    return see_part(o, out[0], &seen, now);
}

/* GroupQueryAttention: heads of queries share heads of keys, behind a cache that holds those before (one
 * buffer for what comes in and out where it has room). It always looks back. */
bool onnx_rule_MS_GROUP_QUERY(struct onnx *o)
{
    struct onnx_value *q = onnx_need(o, 0), *k = onnx_input(o, 1), *v = onnx_input(o, 2),
                      *past[2] = {onnx_input(o, 3), onnx_input(o, 4)};
    uint64_t heads = (uint64_t)onnx_attr_integer(o, "num_heads", 0),
             kv_heads = (uint64_t)onnx_attr_integer(o, "kv_num_heads", 0);
    int64_t window = onnx_attr_integer(o, "local_window_size", -1);
    struct ll_imported y;
    if (!q)
        return false;
    if (q->shape.rank != 3 || heads == 0 || kv_heads == 0 || (k && (!v || k->shape.rank != 3)))
        return onnx_refuse(o, "queries are [batch, tokens, features] of so many heads");
    uint64_t size = q->shape.dim[2] / (k ? heads : ll_add(heads, ll_mul(2, kv_heads)));
    struct onnx_attention a = {.batch = q->shape.dim[0],
                               .heads = heads,
                               .kv_heads = kv_heads,
                               .queries = q->shape.dim[1],
                               .keys = q->shape.dim[1],
                               .size = size,
                               .value_size = size,
                               .causal = true,
                               .last = true,
                               .window = window > 0 ? (uint64_t)window : 0,
                               .capped = onnx_attr_real(o, "softcap", 0) != 0,
                               .scores = -1};
    const struct ll_shape one = {.rank = 4, .dim = {a.batch, a.queries, heads, size}},
                          other = {.rank = 4, .dim = {a.batch, a.keys, kv_heads, size}},
                          shape = {.rank = 3, .dim = {a.batch, a.queries, ll_mul(heads, size)}};
    uint64_t total = attended(o, past[0] && past[0]->shape.rank == 4 ? past[0]->shape.dim[2] : 0, a.keys);
    a.q = onnx_take(o, q, ONNX_PLAIN);
    a.k = k ? onnx_take(o, k, ONNX_PLAIN) : a.q;
    a.v = k ? onnx_take(o, v, ONNX_PLAIN) : a.q;
    if (!see_part(o, a.q, &one, &a.q) || !see_part(o, a.k, &other, &a.k) || !see_part(o, a.v, &other, &a.v))
        return false;
    if (onnx_attr_integer(o, "do_rotary", 0) != 0 &&
        (!onnx_rotate(o, a.q, size, 1, &a.q) || !onnx_rotate(o, a.k, size, 1, &a.k)))
        return false;
    if (!keep(o, past[0], &a.k, &a, total, 1) || !keep(o, past[1], &a.v, &a, total, 2))
        return false;
    a.keys = total;
    if (!onnx_attend(o, &a, &y))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* The type of weights that are packed, so many bits each; LL_DTYPE_COUNT for none. */
static uint8_t type_of_bits(int64_t bits)
{
    return bits == 2 ? LL_INT2 : bits == 4 ? LL_INT4 : bits == 8 ? LL_INT8 : LL_DTYPE_COUNT;
}

/* Bytes that hold weights, as those weights. */
static bool unpacked(struct onnx *o, struct onnx_value *w, uint8_t dtype, const struct ll_shape *shape,
                     struct ll_imported *out)
{
    struct ll_shape typed = *shape;
    typed.dtype = dtype;
    const struct ll_imported bytes = onnx_take(o, w, ONNX_PLAIN);
    if (ll_size_bytes(&typed) > ll_size_bytes(&bytes.shape))
        return onnx_refuse(o, "its weights hold fewer elements than it says");
    return onnx_emit_simple(o, LL_OP_SEEN_AS, &bytes, 1, &typed, out);
}

/* A weight in the type and the dimensions that its op has for it. */
static bool see_typed(struct onnx *o, struct onnx_value *w, const struct ll_shape *shape,
                      struct ll_imported *out)
{
    const struct ll_imported held = onnx_take(o, w, ONNX_PLAIN);
    return onnx_emit_simple(o, LL_OP_SEEN_AS, &held, 1, shape, out);
}

/* MatMulNBits and MatMulBnb4: a[..., k] with n rows of k weights in few bits, in blocks that share scales. */
bool onnx_rule_MS_MATMUL_BITS(struct onnx *o)
{
    struct onnx_value *a = onnx_need(o, 0), *w = onnx_need(o, 1), *bias = onnx_input(o, 5);
    uint64_t k = (uint64_t)onnx_attr_integer(o, "K", 0), n = (uint64_t)onnx_attr_integer(o, "N", 0);
    uint8_t dtype = type_of_bits(onnx_attr_integer(o, "bits", 4));
    struct ll_imported in[2], y;
    if (!a || !w)
        return false;
    if (k == 0 || n == 0 || dtype == LL_DTYPE_COUNT || a->shape.rank == 0 ||
        a->shape.dim[a->shape.rank - 1] != k)
        return onnx_refuse(o, "it multiplies rows of K elements with N of weights in 2, 4 or 8 bits");
    struct ll_shape shape = a->shape;
    const struct ll_shape weights = {.rank = 2, .dim = {n, k}};
    const struct ll_gemm gemm = {1, ll_elements(&shape) / k, n, k};
    shape.dim[shape.rank - 1] = n;
    in[0] = onnx_take(o, a, ONNX_PLAIN);
    if (!unpacked(o, w, dtype, &weights, &in[1]))
        return false;
    in[1].shape.scales = LL_SCALES_F16;
    if (!onnx_product(o, in[0], in[1], &gemm, true, &y))
        return false;
    if (bias) {
        in[0] = y;
        in[1] = onnx_take(o, bias, ONNX_PLAIN);
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, &y))
            return false;
    }
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* GatherBlockQuantized: rows of weights in few bits by their indices, made numbers of the scales' type. */
bool onnx_rule_MS_GATHER_BITS(struct onnx *o)
{
    struct onnx_value *w = onnx_need(o, 0), *indices = onnx_need(o, 1), *scales = onnx_need(o, 2);
    uint8_t dtype = type_of_bits(onnx_attr_integer(o, "bits", 4));
    struct ll_imported in[2], y;
    if (!w || !indices || !scales)
        return false;
    bool bytes = ll_dtype_bits((enum ll_dtype)w->shape.dtype) == 8;
    if (w->shape.rank != 2 || dtype == LL_DTYPE_COUNT || onnx_attr_integer(o, "gather_axis", 0) != 0 ||
        indices->shape.rank + 1u > LL_MAX_RANK)
        return onnx_refuse(o, "it takes rows of a matrix of weights in 2, 4 or 8 bits");
    const struct ll_shape table = {
        .rank = 2, .dim = {w->shape.dim[0], ll_mul(w->shape.dim[1], bytes ? 8 / ll_dtype_bits(dtype) : 1)}};
    struct ll_shape shape = indices->shape;
    shape.dim[shape.rank++] = table.dim[1];
    shape.dtype = scales->shape.dtype;
    in[1] = onnx_take(o, indices, ONNX_PLAIN);
    if (!unpacked(o, w, dtype, &table, &in[0]) || !onnx_emit_simple(o, LL_OP_GATHER, in, 2, NULL, &y))
        return false;
    in[0] = y;
    if (!onnx_emit_simple(o, LL_OP_DEQUANTIZE, in, 1, &shape, &y))
        return false;
    onnx_put(o, 0, y, ONNX_PLAIN, &shape);
    return true;
}

/* EmbedLayerNormalization: rows of up to three tables, added up, and a norm; behind which their sum may be
 * asked for. */
bool onnx_rule_MS_EMBED(struct onnx *o)
{
    struct onnx_value *tokens = onnx_need(o, 0), *gamma = onnx_need(o, 5), *beta = onnx_need(o, 6);
    struct ll_imported sum = {.tensor = LL_NONE}, out[LL_MAX_OUTPUTS];
    bool first = true;
    if (!tokens || !gamma || !beta)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        struct onnx_value *table = onnx_input(o, 2 + i);
        struct onnx_value *rows = i == 0 ? tokens : i == 1 ? onnx_input(o, 8) : onnx_input(o, 1);
        struct ll_imported in[2], y;
        if (!table || (i == 2 && !rows))
            continue;
        in[0] = onnx_take(o, table, ONNX_PLAIN);
        in[1] = onnx_take(o, rows ? rows : tokens, ONNX_PLAIN); /* positions count as many as tokens */
        if (!onnx_emit_simple(o, LL_OP_GATHER, in, 2, NULL, &y))
            return false;
        in[0] = sum;
        in[1] = y;
        if (!first && !onnx_emit_simple(o, LL_OP_ADD, in, 2, NULL, &y))
            return false;
        sum = y;
        first = false;
    }
    if (first)
        return onnx_refuse(o, "there is no table");
    const struct ll_shape shape = sum.shape;
    const struct ll_imported in[3] = {sum, onnx_take(o, gamma, ONNX_PLAIN), onnx_take(o, beta, ONNX_PLAIN)};
    const struct ll_import_op op = {.kind = LL_OP_LAYER_NORM, .in = in, .in_count = 3};
    if (!onnx_emit(o, &op, out))
        return false;
    onnx_put(o, 0, out[0], ONNX_PLAIN, &shape);
    onnx_put(o, 2, sum, ONNX_PLAIN, &shape);
    return true;
}

/* MoE and QMoE: a router's shares of rows; of so many experts each row goes to `k`. Weights of two layers, of
 * three where one gates, perhaps in few bits. */
bool onnx_rule_MS_EXPERTS(struct onnx *o)
{
    bool packed = o->node->type[0] == 'Q';
    struct onnx_value *x = onnx_need(o, 0), *router = onnx_need(o, 1), *up = onnx_need(o, 2),
                      *down = onnx_need(o, packed ? 5 : 4), *gate = onnx_input(o, packed ? 8 : 6);
    int64_t k = onnx_attr_integer(o, "k", 1);
    uint8_t dtype = packed ? type_of_bits(onnx_attr_integer(o, "expert_weight_bits", 4)) : LL_DTYPE_COUNT;
    struct ll_imported in[5], shares, out[LL_MAX_OUTPUTS];
    if (!x || !router || !up || !down)
        return false;
    if (x->shape.rank < 2 || router->shape.rank != 2 || up->shape.rank != 3 || down->shape.rank != 3 ||
        (packed && dtype == LL_DTYPE_COUNT))
        return onnx_refuse(
            o, "it takes rows, shares of experts, and the experts' weights in 4 or 8 bits or more");
    uint64_t hidden = x->shape.dim[x->shape.rank - 1], rows = ll_elements(&x->shape) / ll_max(1, hidden),
             experts = up->shape.dim[0], each = packed ? 8 / ll_dtype_bits(dtype) : 1;
    uint64_t both = ll_mul(experts, hidden);
    uint64_t inner = both ? ll_mul(ll_elements(&down->shape), each) / both : 0,
             wide = both ? ll_mul(ll_elements(&up->shape), each) / both : 0;
    wide = gate ? ll_mul(2, inner) : wide;
    const struct ll_shape tokens = {.rank = 2, .dim = {rows, hidden}};
    const struct ll_shape first = {.rank = 3,
                                   .dtype = packed ? dtype : up->shape.dtype,
                                   .dim = {experts, hidden, wide}},
                          second = {.rank = 3,
                                    .dtype = packed ? dtype : down->shape.dtype,
                                    .dim = {experts, inner, hidden}};
    const struct ll_attr chosen = {.key = LL_ATTR_SIZE, .count = k},
                         format = {.key = LL_ATTR_FORMAT, .count = LL_EXPERTS_INT4_WO};
    in[0] = onnx_view(o, onnx_take(o, x, ONNX_PLAIN), &tokens);
    in[1] = onnx_take(o, router, ONNX_PLAIN);
    if (!onnx_emit_simple(o, LL_OP_SOFTMAX, &in[1], 1, NULL, &shares))
        return false;
    const struct ll_import_op top = {
        .kind = LL_OP_TOP_K, .in = &shares, .in_count = 1, .attrs = &chosen, .attr_count = 1};
    if (!onnx_emit(o, &top, out))
        return false;
    in[1] = out[0];
    in[2] = out[1];
    if (!see_typed(o, up, &first, &in[3]) || !see_typed(o, down, &second, &in[4]))
        return false;
    const struct ll_import_op op = {.kind = LL_OP_EXPERTS,
                                    .in = in,
                                    .in_count = 5,
                                    .attrs = &format,
                                    .attr_count = packed && dtype == LL_INT4 ? 1 : 0};
    if (!onnx_emit(o, &op, out))
        return false;
    const struct ll_shape shape = x->shape;
    onnx_put(o, 0, onnx_view(o, out[0], &shape), ONNX_PLAIN, &shape);
    return true;
}
