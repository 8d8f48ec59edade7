/* SPDX-License-Identifier: Apache-2.0 */
/* Attention to what came before as one op (Dao et al., FlashAttention, 2022): scores never leave the chip,
 * and those of keys that a position cannot see are not computed.
 *
 *     forward    q[..., rows, d], k and v[..., keys, d] -> y[..., rows, d], logs [..., rows]
 *     backward   dy, q, k, v, y, logs -> dq, dk, dv
 *
 * where logs are those of each row's sum of exponentials.
 *
 * `groups` rows (default 1) belong to one position, of which the last is that of the last key. With `parts`
 * (default 1) above 1 they are one of so many equal shares of all positions, cut so that each sees as many
 * keys as any other: of 2 parts pieces of the sequence the i-th from the front and the i-th from behind.
 *
 * Products alone are counted: of each score that is seen two of d terms forward, and five backward, since
 * scores are computed again. They lower to one product of depth 2 d, or 5 d, for all rows and as many keys as
 * a row sees on average, with the bytes of what is truly read and written, and the softmax beside it. */
#include "tracer/attended.h"
#include "tracer/ops_rules.h"

#include <string.h>

enum { FORWARD_PRODUCTS = 2, BACKWARD_PRODUCTS = 5 };

/* Operations on a score beside its products. Forward those of a causal softmax: it is scaled, compared with
 * the largest, which is taken off, its exponential added up and divided. Backward it is scaled, the row's
 * log taken off and the exponential taken; its gradient is less the row's mean, times the score, scaled. */
enum { FORWARD_OPERATIONS = 6, BACKWARD_OPERATIONS = 6 }; /* one of which is an exponential */

static const char wants_inputs[] = "the number of inputs is not what this op takes";

static const char *check(const struct ll_op_view *op, const struct ll_shape *q, const struct ll_shape *k,
                         const struct ll_shape *v)
{
    int64_t groups = ll_attr_count(op, LL_ATTR_GROUPS, 1), parts = ll_attr_count(op, LL_ATTR_PARTS, 1);
    if (q->rank < 3 || q->rank != k->rank || !ll_same_dims(k, v) || q->dtype != k->dtype ||
        memcmp(q->dim, k->dim, (q->rank - 2u) * sizeof *q->dim) != 0 ||
        q->dim[q->rank - 1] != k->dim[k->rank - 1])
        return "queries, keys and values are stacks of matrices with the same features";
    uint64_t rows = q->dim[q->rank - 2];
    if (groups < 1 || parts < 1 || rows % (uint64_t)groups != 0 ||
        ll_mul(rows / (uint64_t)groups, (uint64_t)parts) > k->dim[k->rank - 2])
        return "there must be at least as many keys as positions";
    return NULL;
}

const char *ll_shape_ATTENTION(struct ll_op_view *op)
{
    const char *trouble = op->input_count == 3 ? check(op, op->in, op->in + 1, op->in + 2) : wants_inputs;
    if (trouble)
        return trouble;
    struct ll_shape sums = op->in[0];
    sums.rank--;
    sums.dim[sums.rank] = 0;
    sums.role[sums.rank] = LL_ROLE_PLAIN;
    sums.dtype = (uint8_t)(ll_dtype_bytes((enum ll_dtype)sums.dtype) < 4 ? LL_F32 : sums.dtype);
    return ll_give(op, 2, (const struct ll_shape[]){op->in[0], sums});
}

const char *ll_shape_ATTENTION_GRAD(struct ll_op_view *op)
{
    const char *trouble = op->input_count == 6 ? check(op, op->in + 1, op->in + 2, op->in + 3) : wants_inputs;
    if (!trouble && (!ll_same_dims(&op->in[0], &op->in[1]) || !ll_same_dims(&op->in[4], &op->in[1])))
        trouble = "what flows in and the result look like the queries";
    return trouble ? trouble : ll_give(op, 3, op->in + 1);
}

static struct ll_attended attended_of(const struct ll_op_view *op, const struct ll_shape *q,
                                      const struct ll_shape *k, bool backward)
{
    struct ll_attended a = {1, q->dim[q->rank - 2], 0, q->dim[q->rank - 1], backward};
    uint64_t groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1), keys = k->dim[k->rank - 2];
    uint64_t positions = ll_mul(a.rows / groups, (uint64_t)ll_attr_count(op, LL_ATTR_PARTS, 1));
    for (unsigned i = 0; i + 2 < q->rank; i++)
        a.stacks = ll_mul(a.stacks, q->dim[i]);
    a.seen = positions > 0 ? keys - (positions - 1) / 2 : keys;
    return a;
}

static struct ll_attended forward(const struct ll_op_view *op)
{
    return attended_of(op, op->in, op->in + 1, false);
}

static struct ll_attended backward(const struct ll_op_view *op)
{
    return attended_of(op, op->in + 1, op->in + 2, true);
}

static uint64_t products_of(const struct ll_attended *a)
{
    return a->backward ? BACKWARD_PRODUCTS : FORWARD_PRODUCTS;
}

static uint64_t scores_of(const struct ll_attended *a)
{
    return ll_mul(ll_mul(a->stacks, a->rows), a->seen);
}

uint64_t ll_attended_flops(const struct ll_attended *a)
{
    return ll_mul(ll_mul(2 * products_of(a), a->features), scores_of(a));
}

bool ll_attended_lower(const struct ll_attended *a, struct ll_work *work)
{
    work->kind = LL_WORK_GEMM;
    work->gemm = (struct ll_gemm){a->stacks, a->rows, a->seen, ll_mul(products_of(a), a->features)};
    work->along_k = LL_LINES_ELSEWHERE;
    work->between = ll_mul(a->backward ? BACKWARD_OPERATIONS : FORWARD_OPERATIONS, scores_of(a));
    work->specials = scores_of(a);
    return ll_fits(a->stacks) && ll_fits(work->gemm.k) && ll_fits(work->between);
}

uint64_t ll_flops_ATTENTION(const struct ll_op_view *op)
{
    const struct ll_attended a = forward(op);
    return ll_attended_flops(&a);
}

uint64_t ll_flops_ATTENTION_GRAD(const struct ll_op_view *op)
{
    const struct ll_attended a = backward(op);
    return ll_attended_flops(&a);
}

/* Keys and values are the right operand; all else that is read goes with the rows. */
static bool lower(const struct ll_attended *a, uint64_t key_bytes, struct ll_work *work)
{
    work->a_bytes = ll_sub(work->a_bytes, key_bytes);
    work->b_bytes = key_bytes;
    return ll_attended_lower(a, work) && ll_fits(work->a_bytes);
}

bool ll_work_ATTENTION(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_attended a = forward(op);
    return lower(&a, ll_mul(2, ll_size_bytes(&op->in[1])), work);
}

bool ll_work_ATTENTION_GRAD(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_attended a = backward(op);
    return lower(&a, ll_mul(2, ll_size_bytes(&op->in[2])), work);
}
