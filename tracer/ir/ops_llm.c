/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the ops that language models are made of: attention as one op, on keys or on latent vectors;
 * experts; recurrences whose state is a matrix; short convolutions along a sequence. Each has its shape, its
 * FLOPs, where they are special its bytes, and the work that it lowers to. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/ir/experts.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/ops_rules.h"

/* Attention to what came before as one op (Dao et al., FlashAttention, 2022): scores never leave the chip,
 * and those of keys that a position cannot see are not computed.
 *
 *     forward    q[..., rows, d], k[..., keys, d], v[..., keys, e], perhaps sinks
 *                -> y[..., rows, e], logs [..., rows]
 *     backward   dy, q, k, v, y, logs, perhaps sinks -> dq, dk, dv, perhaps the sinks' gradient
 *
 * where logs are those of each row's sum of exponentials, to which each head's sink adds one (Xiao et al.,
 * 2024). Keys and values may be of a narrower type than queries, as a KV cache is. Of `window` keys (default
 * 0: all) before its own sees a position the last.
 *
 * `groups` rows (default 1) belong to one position, of which the last is that of the last key. With
 * `parts` (default 1) above 1 they are one of so many equal shares of all positions, cut so that each sees
 * as many keys as any other: of 2 parts pieces of the sequence the i-th from the front and the i-th from
 * behind.
 *
 * They lower to work of kind attention (work.h). Its GEMMs alone are counted as FLOPs: of each score that
 * is seen two of d terms forward, and five backward, since scores are computed again. */

static const char wants_inputs[] = "the number of inputs is not what this op takes";

static const char *check(const struct ll_op_view *op, const struct ll_shape *q, const struct ll_shape *k,
                         const struct ll_shape *v)
{
    int64_t groups = ll_attr_count(op, LL_ATTR_GROUPS, 1), parts = ll_attr_count(op, LL_ATTR_PARTS, 1);
    if (q->rank < 3 || q->rank != k->rank || v->rank != k->rank || k->dtype != v->dtype ||
        ll_dtype_bits((enum ll_dtype)k->dtype) > ll_dtype_bits((enum ll_dtype)q->dtype) ||
        memcmp(q->dim, k->dim, (q->rank - 2u) * sizeof *q->dim) != 0 ||
        memcmp(k->dim, v->dim, (k->rank - 1u) * sizeof *k->dim) != 0 ||
        q->dim[q->rank - 1] != k->dim[k->rank - 1])
        return "queries, keys and values are stacks of matrices, queries and keys with the same features";
    uint64_t rows = q->dim[q->rank - 2];
    if (groups < 1 || parts < 1 || rows % (uint64_t)groups != 0 ||
        ll_mul(rows / (uint64_t)groups, (uint64_t)parts) > k->dim[k->rank - 2])
        return "there must be at least as many keys as positions";
    return ll_attr_count(op, LL_ATTR_WINDOW, 0) < 0 ? "a window has a size" : NULL;
}

/* What an attention gives: the queries' rows with the features of values. */
static struct ll_shape result_of(const struct ll_shape *q, const struct ll_shape *v)
{
    struct ll_shape y = *q;
    y.dim[y.rank - 1] = v->dim[v->rank - 1];
    return y;
}

const char *ll_shape_ATTENTION(struct ll_op_view *op)
{
    bool takes = op->input_count == 3 || op->input_count == 4;
    const char *trouble = takes ? check(op, op->in, op->in + 1, op->in + 2) : wants_inputs;
    if (trouble)
        return trouble;
    struct ll_shape sums = op->in[0];
    sums.rank--;
    sums.dim[sums.rank] = 0;
    sums.role[sums.rank] = LL_ROLE_PLAIN;
    sums.dtype = (uint8_t)(ll_dtype_bytes((enum ll_dtype)sums.dtype) < 4 ? LL_F32 : sums.dtype);
    return ll_give(op, 2, (const struct ll_shape[]){result_of(&op->in[0], &op->in[2]), sums});
}

const char *ll_shape_ATTENTION_GRAD(struct ll_op_view *op)
{
    bool takes = op->input_count == 6 || op->input_count == 7;
    const char *trouble = takes ? check(op, op->in + 1, op->in + 2, op->in + 3) : wants_inputs;
    if (trouble)
        return trouble;
    const struct ll_shape y = result_of(&op->in[1], &op->in[3]);
    if (!ll_same_dims(&op->in[0], &y) || !ll_same_dims(&op->in[4], &y))
        return "what flows in looks like the result";
    struct ll_shape gradients[4] = {op->in[1], op->in[2], op->in[3]};
    if (op->input_count == 7)
        gradients[3] = op->in[6];
    return ll_give(op, op->input_count - 3, gradients);
}

/* Stacks of matrices are sequences, and of four and more dimensions key heads within them. */
static struct ll_attention attention_of(const struct ll_op_view *op, const struct ll_shape *q, bool backward)
{
    const struct ll_shape *k = q + 1, *v = q + 2;
    uint64_t groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1), rows = q->dim[q->rank - 2];
    struct ll_attention a = {.batch = 1,
                             .queries = rows / groups,
                             .keys = k->dim[k->rank - 2],
                             .kv_heads = q->rank > 3 ? q->dim[q->rank - 3] : 1,
                             .head_qk = q->dim[q->rank - 1],
                             .head_v = v->dim[v->rank - 1],
                             .window = (uint64_t)ll_attr_count(op, LL_ATTR_WINDOW, 0),
                             .parts = (uint64_t)ll_attr_count(op, LL_ATTR_PARTS, 1),
                             .causal = 1,
                             .cache = k->dtype};
    for (unsigned i = 0; i + (q->rank > 3 ? 3 : 2) < q->rank; i++)
        a.batch = ll_mul(a.batch, q->dim[i]);
    a.heads = ll_mul(a.kv_heads, groups);
    bool decodes = a.queries == 1 && a.parts == 1 && a.keys > 1;
    a.pass = backward ? LL_ATTENTION_BACKWARD : decodes ? LL_ATTENTION_DECODE : LL_ATTENTION_PREFILL;
    return a;
}

static struct ll_attention forward(const struct ll_op_view *op)
{
    return attention_of(op, op->in, false);
}

static struct ll_attention backward(const struct ll_op_view *op)
{
    return attention_of(op, op->in + 1, true);
}

uint64_t ll_flops_ATTENTION(const struct ll_op_view *op)
{
    const struct ll_attention a = forward(op);
    return ll_attention_flops(&a);
}

uint64_t ll_flops_ATTENTION_GRAD(const struct ll_op_view *op)
{
    const struct ll_attention a = backward(op);
    return ll_attention_flops(&a);
}

uint64_t ll_op_flops_of_1_3(const struct ll_op_view *op)
{
    if (op->kind != LL_OP_CAUSAL_ATTENTION && op->kind != LL_OP_CAUSAL_ATTENTION_GRAD)
        return 0;
    const struct ll_attention a = op->kind == LL_OP_CAUSAL_ATTENTION ? forward(op) : backward(op);
    const uint64_t products = a.pass == LL_ATTENTION_BACKWARD ? 5 : 2;
    return ll_mul(ll_mul(2 * products, a.head_qk),
                  ll_mul(ll_mul(ll_mul(a.batch, a.heads), a.queries), ll_attention_seen(&a)));
}

/* Keys and values are the right operand; all else that is read goes with the rows. */
static bool lower(const struct ll_attention *a, uint64_t key_bytes, struct ll_work *work)
{
    work->kind = LL_WORK_ATTENTION;
    work->attention = *a;
    work->a_bytes = ll_sub(work->a_bytes, key_bytes);
    work->b_bytes = key_bytes;
    return ll_fits(ll_attention_as_gemm(work).between) && ll_fits(work->a_bytes);
}

bool ll_work_ATTENTION(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_attention a = forward(op);
    return lower(&a, ll_add(ll_size_bytes(&op->in[1]), ll_size_bytes(&op->in[2])), work);
}

bool ll_work_ATTENTION_GRAD(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_attention a = backward(op);
    return lower(&a, ll_add(ll_size_bytes(&op->in[2]), ll_size_bytes(&op->in[3])), work);
}

/* Attention on latent vectors (DeepSeek-AI, DeepSeek-V2, 2024, section 2.1, with the projections of keys and
 * values taken into those of queries and results): all heads of a sequence share one vector a token, which is
 * key and, but for its rotated end, value.
 *
 *     q[batch, heads, positions, key], cache[batch, tokens, key] -> y[batch, heads, positions, size]
 *
 * with the attributes `size`, elements of the vector that are values, and `scale` (default 1) of scores;
 * positions are the last of the tokens. Of
 * each score that is seen two of key + size terms are counted. */

const char *ll_shape_LATENT(struct ll_op_view *op)
{
    int64_t size = ll_attr_count(op, LL_ATTR_SIZE, 0);
    const struct ll_shape *q = &op->in[0], *cache = &op->in[1];
    if (op->input_count != 2)
        return wants_inputs;
    if (q->rank != 4 || cache->rank != 3 || q->dim[0] != cache->dim[0] || q->dim[3] != cache->dim[2] ||
        q->dim[1] == 0)
        return "queries are [batch, heads, positions, key], the cache is [batch, tokens, key]";
    if (size < 1 || (uint64_t)size > q->dim[3] || q->dim[2] > cache->dim[1])
        return "values are a part of keys, and positions are among the tokens";
    struct ll_shape y = *q;
    y.dim[3] = (uint64_t)size;
    return ll_give(op, 1, &y);
}

static struct ll_attention latent(const struct ll_op_view *op)
{
    const struct ll_shape *q = &op->in[0];
    return (struct ll_attention){.batch = q->dim[0],
                                 .queries = q->dim[2],
                                 .keys = op->in[1].dim[1],
                                 .heads = q->dim[1],
                                 .kv_heads = q->dim[1],
                                 .head_qk = q->dim[3],
                                 .head_v = op->out[0].dim[3],
                                 .causal = 1,
                                 .pass = LL_ATTENTION_LATENT_DECODE,
                                 .cache = op->in[1].dtype};
}

uint64_t ll_flops_LATENT(const struct ll_op_view *op)
{
    const struct ll_attention a = latent(op);
    return ll_attention_flops(&a);
}

bool ll_work_LATENT(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_attention a = latent(op);
    return lower(&a, ll_size_bytes(&op->in[1]), work);
}

/* A layer of experts (Shazeer et al., 2017): each token goes to a few of them, and what they give is added up
 * by shares.
 *
 *     forward    x[tokens, hidden], shares[tokens, k], chosen[tokens, k],
 *                up[experts, hidden, n inner], down[experts, inner, hidden], perhaps their biases -> y like x
 *     backward   dy and the same -> dx, dshares, dup, ddown, perhaps the biases' gradients
 *
 * where n is 2 when one half gates the other. `format` (default 0: as activations) is how weights are stored
 * (enum ll_expert_format, work.h). `devices` (default 1) share the experts: x has the tokens of one, weights
 * are those of one. Tokens are spread evenly. Counted are the GEMMs of k experts a token: forward two of each
 * weight, backward four. */

static const struct ll_shape *up_of(const struct ll_op_view *op, bool backward)
{
    return &op->in[3 + backward];
}

static const char *check_experts(const struct ll_op_view *op, bool backward)
{
    if (op->input_count != 5u + backward && op->input_count != 7u + backward)
        return wants_inputs;
    const struct ll_shape *x = &op->in[backward], *chosen = &op->in[2 + backward], *up = up_of(op, backward),
                          *down = up + 1;
    int64_t devices = ll_attr_count(op, LL_ATTR_DEVICES, 1), format = ll_attr_count(op, LL_ATTR_FORMAT, 0);
    if (x->rank != 2 || chosen->rank != 2 || up->rank != 3 || down->rank != 3 ||
        !ll_same_dims(chosen, chosen - 1) || chosen->dim[0] != x->dim[0])
        return "tokens are rows, each with its shares and choices, and an expert has two matrices";
    if (up->dim[0] != down->dim[0] || up->dim[1] != x->dim[1] || down->dim[2] != x->dim[1] ||
        (up->dim[2] != down->dim[1] && up->dim[2] != ll_mul(2, down->dim[1])))
        return "an expert's matrices lead from the features of a token to inner ones and back";
    if (devices < 1 || format < 0 || format >= LL_EXPERT_FORMAT_COUNT || chosen->dim[1] == 0 ||
        x->dim[0] == 0 || chosen->dim[1] > ll_mul(up->dim[0], (uint64_t)devices) ||
        ll_mul(up->dim[0], (uint64_t)devices) > LL_MOST_EXPERTS)
        return "a token goes to one expert or more, of those that there are";
    return NULL;
}

const char *ll_shape_EXPERTS(struct ll_op_view *op)
{
    const char *trouble = check_experts(op, false);
    return trouble ? trouble : ll_give(op, 1, op->in);
}

const char *ll_shape_EXPERTS_GRAD(struct ll_op_view *op)
{
    const char *trouble = check_experts(op, true);
    if (trouble)
        return trouble;
    struct ll_shape gradients[6] = {op->in[1], op->in[2], op->in[4], op->in[5]};
    uint32_t count = 4;
    for (uint32_t i = 6; i < op->input_count; i++)
        gradients[count++] = op->in[i];
    return ll_give(op, count, gradients);
}

static struct ll_experts experts_of(const struct ll_op_view *op, bool backward)
{
    const struct ll_shape *x = &op->in[backward], *chosen = &op->in[2 + backward], *up = up_of(op, backward),
                          *down = up + 1;
    uint64_t devices = (uint64_t)ll_attr_count(op, LL_ATTR_DEVICES, 1);
    struct ll_experts e = {.tokens = ll_mul(x->dim[0], devices),
                           .hidden = x->dim[1],
                           .inter = down->dim[1],
                           .top_k = chosen->dim[1],
                           .experts = ll_mul(up->dim[0], devices),
                           .gated = up->dim[2] != down->dim[1],
                           .format = (uint8_t)ll_attr_count(op, LL_ATTR_FORMAT, 0)};
    if (!ll_experts_spread(0, devices, &e)) {
        e.rows = LL_NO_FIT;
    } else if (devices > 1) { /* those that have an expert here were sent here, with what is routed here */
        e.tokens = e.local_tokens;
        e.experts = e.local;
        e.top_k = ll_max(1, ll_ceil_div(e.rows, ll_max(1, e.local_tokens)));
    }
    return e;
}

uint64_t ll_flops_EXPERTS(const struct ll_op_view *op)
{
    const struct ll_experts e = experts_of(op, false);
    return ll_fits(e.rows) ? ll_experts_flops(&e) : LL_NO_FIT;
}

uint64_t ll_flops_EXPERTS_GRAD(const struct ll_op_view *op)
{
    const struct ll_experts e = experts_of(op, true);
    return ll_fits(e.rows) ? ll_mul(2, ll_experts_flops(&e)) : LL_NO_FIT;
}

/* Of weights and biases those of experts that have a token. */
uint64_t ll_read_EXPERTS(const struct ll_op_view *op)
{
    const struct ll_experts e = experts_of(op, false);
    uint64_t bytes = ll_add(ll_size_bytes(&op->in[0]), ll_mul(2, ll_size_bytes(&op->in[1])));
    for (uint32_t i = 3; ll_fits(e.rows) && i < op->input_count; i++) {
        struct ll_shape touched = op->in[i];
        touched.dim[0] = e.touched;
        bytes = ll_add(bytes, ll_size_bytes(&touched));
    }
    return ll_fits(e.rows) ? bytes : LL_NO_FIT;
}

uint64_t ll_written_EXPERTS(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->out[0]);
}

static bool lower_experts(const struct ll_op_view *op, bool backward, struct ll_work *work)
{
    work->kind = LL_WORK_EXPERTS;
    work->experts = experts_of(op, backward);
    if (!ll_fits(work->experts.rows))
        return false;
    work->b_bytes = ll_min(ll_experts_weight_bytes(&work->experts), work->a_bytes);
    work->a_bytes = ll_sub(work->a_bytes, work->b_bytes);
    return ll_fits(work->b_bytes);
}

bool ll_work_EXPERTS(const struct ll_op_view *op, struct ll_work *work)
{
    return lower_experts(op, false, work);
}

/* The gradients are grouped GEMMs of the same sizes, twice as many. */
bool ll_work_EXPERTS_GRAD(const struct ll_op_view *op, struct ll_work *work)
{
    if (!lower_experts(op, true, work))
        return false;
    const enum ll_expert_format format = (enum ll_expert_format)work->experts.format;
    *work = ll_experts_as_gemm(work);
    if (format != LL_EXPERTS_BF16)
        work->dtype = ll_expert_dtype(format);
    work->gemm.n = ll_mul(2, work->gemm.n);
    return ll_fits(work->gemm.n);
}

/* Recurrences whose state is a matrix for each head: Mamba-2 (Dao and Gu, 2024, equation 2), S = a S + x b^T,
 * y = S c; the gated delta rule (Yang et al., 2024, equation 10), S = S (a (1 - b k k^T)) + b v k^T, y = S q.
 *
 *     state[batch, heads, d, e], keys[rows, h d], queries[rows, h d], values[rows, heads e], gates[rows, ...]
 *     -> the state after all rows, y[rows, heads e]
 *
 * where rows are batch x positions and h divides heads. Counted are three products with the state a position,
 * 6 d e a head: of Mamba-2 x b^T, its addition with decay, S c; of the delta rule S k, v k^T, S q; as if
 * position by position, whatever pieces a kernel computes at once. It lowers to one GEMM a head that stands
 * for these. */

const char *ll_shape_SCAN(struct ll_op_view *op)
{
    if (op->input_count != 5)
        return wants_inputs;
    const struct ll_shape *state = &op->in[0], *keys = &op->in[1], *values = &op->in[3];
    if (state->rank != 4 || keys->rank != 2 || values->rank != 2 || op->in[4].rank != 2 ||
        !ll_same_dims(keys, &op->in[2]) || keys->dim[0] != values->dim[0] || op->in[4].dim[0] != keys->dim[0])
        return "a state is [batch, heads, keys, values], all else are rows";
    if (state->dim[0] == 0 || state->dim[2] == 0 || values->dim[1] != ll_mul(state->dim[1], state->dim[3]) ||
        keys->dim[1] % state->dim[2] != 0 || keys->dim[1] > ll_mul(state->dim[1], state->dim[2]))
        return "values are of all heads, keys of heads or of groups of them";
    return ll_give(op, 2, (const struct ll_shape[]){*state, *values});
}

const char *ll_shape_SCAN_GRAD(struct ll_op_view *op)
{
    if (op->input_count != 6 || op->in[0].rank != 2 || op->in[1].rank != 4 ||
        !ll_same_dims(&op->in[0], &op->in[4]))
        return wants_inputs;
    return ll_give(op, 4, op->in + 2);
}

static uint64_t scan_products(const struct ll_op_view *op, const struct ll_shape *state)
{
    uint64_t rows = state[1].dim[0];
    (void)op;
    return ll_mul(ll_mul(6, rows), ll_mul(state->dim[1], ll_mul(state->dim[2], state->dim[3])));
}

uint64_t ll_flops_SCAN(const struct ll_op_view *op)
{
    return scan_products(op, op->in);
}

uint64_t ll_flops_SCAN_GRAD(const struct ll_op_view *op)
{
    return ll_mul(2, scan_products(op, op->in + 1));
}

static bool lower_scan(const struct ll_shape *state, uint64_t times, struct ll_work *work)
{
    uint64_t positions = ll_max(1, state[1].dim[0] / state->dim[0]);
    work->kind = LL_WORK_GEMM;
    work->gemm = (struct ll_gemm){ll_mul(state->dim[0], state->dim[1]), positions, state->dim[3],
                                  ll_mul(3 * times, state->dim[2])};
    work->along_k = LL_LINES_ELSEWHERE;
    work->b_bytes = ll_size_bytes(state);
    work->a_bytes = ll_sub(work->a_bytes, work->b_bytes);
    return ll_fits(work->gemm.batch) && ll_fits(work->gemm.k) && ll_fits(work->a_bytes);
}

/* Of values of one element, as Mamba's first scan has them, nothing is a product of matrices. */
bool ll_work_SCAN(const struct ll_op_view *op, struct ll_work *work)
{
    if (op->in[0].dim[3] == 1)
        return ll_work_VECTOR(op, work);
    return lower_scan(op->in, 1, work);
}

bool ll_work_SCAN_GRAD(const struct ll_op_view *op, struct ll_work *work)
{
    if (op->in[1].dim[3] == 1)
        return ll_work_VECTOR(op, work);
    return lower_scan(op->in + 1, 2, work);
}

/* A convolution of each channel along a sequence, of few taps, behind what the last positions were:
 *
 *     state[batch, taps - 1, channels], x[rows, channels], filter[taps, channels], perhaps biases
 *     -> the state after all rows, y like x */

const char *ll_shape_CAUSAL_CONV(struct ll_op_view *op)
{
    if (op->input_count != 3 && op->input_count != 4)
        return wants_inputs;
    const struct ll_shape *state = &op->in[0], *x = &op->in[1], *filter = &op->in[2];
    if (state->rank != 3 || x->rank != 2 || filter->rank != 2 || filter->dim[0] != state->dim[1] + 1 ||
        filter->dim[1] != x->dim[1] || state->dim[2] != x->dim[1])
        return "a state has a row of channels less than the filter, for each sequence";
    return ll_give(op, 2, op->in);
}

const char *ll_shape_CAUSAL_CONV_GRAD(struct ll_op_view *op)
{
    if ((op->input_count != 4 && op->input_count != 5) || !ll_same_dims(&op->in[0], &op->in[2]) ||
        op->in[3].rank != 2)
        return wants_inputs;
    return ll_give(op, op->input_count - 2, op->in + 2);
}

uint64_t ll_flops_CAUSAL_CONV(const struct ll_op_view *op)
{
    return ll_mul(2, ll_mul(op->in[1].dim[0], ll_elements(&op->in[2])));
}

uint64_t ll_flops_CAUSAL_CONV_GRAD(const struct ll_op_view *op)
{
    return ll_mul(4, ll_mul(op->in[2].dim[0], ll_elements(&op->in[3])));
}

/* The indexer of a sparse attention (DeepSeek-AI, DeepSeek-V3.2, 2025, equation 1): scores of all tokens that
 * a position sees, by few narrow heads, weighed and added up over the heads; the best `size` are chosen.
 *
 *     q[batch, heads, positions, d], keys[batch, tokens, d], weights[rows, heads] -> [batch, positions, size]
 *
 * Counted are products and weights: 2 heads (d + 1) of each token that is seen. */

const char *ll_shape_SPARSE_INDEX(struct ll_op_view *op)
{
    int64_t size = ll_attr_count(op, LL_ATTR_SIZE, 0);
    if (op->input_count != 3)
        return wants_inputs;
    const struct ll_shape *q = &op->in[0], *keys = &op->in[1];
    if (q->rank != 4 || keys->rank != 3 || q->dim[0] != keys->dim[0] || q->dim[3] != keys->dim[2] ||
        size < 1 || q->dim[2] > keys->dim[1] || q->dim[1] == 0)
        return "queries are [batch, heads, positions, d], keys are [batch, tokens, d]";
    struct ll_shape chosen = {.rank = 3, .dtype = LL_I32, .dim = {q->dim[0], q->dim[2], (uint64_t)size}};
    chosen.role[0] = q->role[0];
    return ll_give(op, 1, &chosen);
}

static struct ll_attention scored(const struct ll_op_view *op)
{
    const struct ll_shape *q = &op->in[0];
    return (struct ll_attention){.batch = q->dim[0],
                                 .queries = q->dim[2],
                                 .keys = op->in[1].dim[1],
                                 .heads = q->dim[1],
                                 .kv_heads = 1,
                                 .head_qk = q->dim[3],
                                 .head_v = 1,
                                 .causal = 1};
}

uint64_t ll_flops_SPARSE_INDEX(const struct ll_op_view *op)
{
    const struct ll_attention a = scored(op);
    return ll_attention_flops(&a);
}

bool ll_work_SPARSE_INDEX(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_attention a = scored(op);
    work->b_bytes = ll_size_bytes(&op->in[1]);
    work->a_bytes = ll_sub(work->a_bytes, work->b_bytes);
    work->kind = LL_WORK_GEMM;
    work->along_k = LL_LINES_ELSEWHERE;
    work->gemm = (struct ll_gemm){a.batch, ll_mul(a.heads, a.queries), ll_attention_seen(&a), a.head_qk + 1};
    return ll_fits(work->gemm.m) && ll_fits(work->a_bytes);
}
