/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices. */
#include "tracer/convert/aten.h"

static const char wants_tensors[] = "its arguments are not the tensors that it takes";

ll_aten_rule ll_aten_MM, ll_aten_ADDMM, ll_aten_LINEAR, ll_aten_QKV, ll_aten_MV, ll_aten_ADDMV,
    ll_aten_ATTENTION, ll_aten_ATTENTION_BACKWARD;

/* The product of arguments a and b. */
static const char *product(struct ll_aten *call, enum ll_op_kind kind, uint32_t a, uint32_t b,
                           struct ll_imported *out)
{
    if (!ll_aten_tensor(call, a) || !ll_aten_tensor(call, b))
        return wants_tensors;
    const struct ll_imported in[] = {ll_aten_hold(call, ll_aten_tensor(call, a), NULL),
                                     ll_aten_hold(call, ll_aten_tensor(call, b), NULL)};
    return ll_aten_do(call, &(struct ll_import_op){.kind = kind, .in = in, .in_count = 2}, out);
}

const char *ll_aten_MM(struct ll_aten *call)
{
    struct ll_imported out = {0};
    const char *trouble = product(call, call->row->kind, 0, 1, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* What is added is a bias where it has one dimension, as long as a row; one number may stand for a row. */
static const char *add(struct ll_aten *call, const struct ll_torch_tensor *c, struct ll_imported *sum)
{
    const struct ll_imported in[] = {*sum, ll_aten_hold(call, c, NULL)};
    bool bias = c->shape.rank == 1 && c->shape.dim[0] == sum->shape.dim[sum->shape.rank - 1u];
    return ll_aten_do(
        call, &(struct ll_import_op){.kind = bias ? LL_OP_BIAS_ADD : LL_OP_ADD, .in = in, .in_count = 2},
        sum);
}

/* addmm(c, a, b, beta, alpha): beta c + alpha a b. _addmm_activation goes on with a ReLU, or GELU when its
 * last argument says so. */
const char *ll_aten_ADDMM(struct ll_aten *call)
{
    bool activated = call->row->kind == LL_OP_RELU, gelu = ll_aten_integer(call, 5, 0, 0) != 0;
    const struct ll_torch_tensor *c = ll_aten_tensor(call, 0);
    struct ll_imported out = {0};
    const char *trouble = product(call, activated ? LL_OP_MATMUL : call->row->kind, 1, 2, &out);
    if (!trouble && c && ll_aten_number(call, 3, 0, 1) != 0)
        trouble = add(call, c, &out);
    if (!trouble && activated)
        trouble = ll_aten_do(
            call, &(struct ll_import_op){.kind = gelu ? LL_OP_GELU : LL_OP_RELU, .in = &out, .in_count = 1},
            &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* x[..., k] w[n, k]^T + b[n] */
const char *ll_aten_LINEAR(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *w = ll_aten_tensor(call, 1),
                                 *b = ll_aten_tensor(call, 2);
    const struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    struct ll_imported out = {0};
    if (!x || !w || x->shape.rank == 0)
        return wants_tensors;
    struct ll_shape flat = {.rank = 2, .dtype = x->shape.dtype, .dim = {1, x->shape.dim[x->shape.rank - 1u]}};
    for (unsigned i = 0; i + 1u < x->shape.rank; i++)
        flat.dim[0] = ll_mul(flat.dim[0], x->shape.dim[i]);
    const struct ll_imported in[] = {ll_aten_hold(call, x, &flat), ll_aten_hold(call, w, NULL)};
    const char *trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = LL_OP_MATMUL, .in = in, .in_count = 2, .attrs = &turned, .attr_count = 1},
                   &out);
    if (!trouble && b)
        trouble = add(call, b, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* _transform_bias_rescale_qkv(x w, bias, heads): queries, keys and values are parts of one tensor; that the
 * queries are scaled is left out. */
const char *ll_aten_QKV(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *b = ll_aten_tensor(call, 1);
    if (!x || !b || x->shape.rank == 0)
        return wants_tensors;
    struct ll_imported out = ll_aten_hold(call, x, NULL);
    const char *trouble = add(call, b, &out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out);
    return trouble;
}

/* A matrix, or a vector that lies, times a vector that stands: argument a and the one behind it. */
static const char *vector_product(struct ll_aten *call, uint32_t i, struct ll_imported *out)
{
    const struct ll_torch_tensor *a = ll_aten_tensor(call, i), *x = ll_aten_tensor(call, i + 1);
    if (!a || !x || x->shape.rank != 1 || a->shape.rank == 0 || a->shape.rank > 2)
        return wants_tensors;
    struct ll_shape standing = {.rank = 2, .dtype = x->shape.dtype, .dim = {x->shape.dim[0], 1}};
    struct ll_shape lying =
        a->shape.rank == 2
            ? a->shape
            : (struct ll_shape){.rank = 2, .dtype = a->shape.dtype, .dim = {1, a->shape.dim[0]}};
    const struct ll_imported in[] = {ll_aten_hold(call, a, &lying), ll_aten_hold(call, x, &standing)};
    return ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_MATMUL, .in = in, .in_count = 2}, out);
}

const char *ll_aten_MV(struct ll_aten *call)
{
    struct ll_imported out = {0};
    const char *trouble = vector_product(call, 0, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* addmv(c, a, x, beta, alpha): beta c + alpha a x */
const char *ll_aten_ADDMV(struct ll_aten *call)
{
    const struct ll_torch_tensor *c = ll_aten_tensor(call, 0);
    struct ll_imported both[2] = {{0}};
    const char *trouble = vector_product(call, 1, &both[0]);
    if (!trouble && c && ll_aten_number(call, 3, 0, 1) != 0) {
        const struct ll_shape standing = {
            .rank = 2, .dtype = c->shape.dtype, .dim = {ll_elements(&c->shape), 1}};
        both[1] = ll_aten_hold(call, c, &standing);
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_ADD, .in = both, .in_count = 2}, both);
    }
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), both[0]);
    return trouble;
}

/* A product of stacks, operands turned or not. */
static const char *stacked(struct ll_aten *call, struct ll_imported a, bool turn_a, struct ll_imported b,
                           bool turn_b, struct ll_imported *out)
{
    const struct ll_imported in[] = {a, b};
    const struct ll_attr turned[] = {{.key = LL_ATTR_TRANSPOSE_A, .count = turn_a},
                                     {.key = LL_ATTR_TRANSPOSE_B, .count = turn_b}};
    return ll_aten_do(
        call,
        &(struct ll_import_op){
            .kind = LL_OP_BATCH_MATMUL, .in = in, .in_count = 2, .attrs = turned, .attr_count = 2},
        out);
}

/* An argument of attention, [batch, heads, places, features]. Where several heads of queries share one of
 * keys, whatever belongs to queries is seen as of fewer heads with more places: the products are the same. */
static struct ll_imported heads(struct ll_aten *call, uint32_t argument, uint32_t k)
{
    const struct ll_torch_tensor *tensor = ll_aten_tensor(call, argument), *keys = ll_aten_tensor(call, k);
    struct ll_shape shape = tensor->shape;
    uint64_t of_keys = keys->shape.rank == 4 ? keys->shape.dim[1] : 0;
    if (shape.rank == 4 && of_keys > 0 && shape.dim[1] > of_keys && shape.dim[1] % of_keys == 0) {
        shape.dim[2] = ll_mul(shape.dim[2], shape.dim[1] / of_keys);
        shape.dim[1] = of_keys;
    }
    return ll_aten_hold(call, tensor, &shape);
}

/* softmax(q k^T), of the arguments q[batch, heads, asking, features] and k behind it. */
static const char *shares(struct ll_aten *call, uint32_t q, struct ll_imported *out)
{
    if (!ll_aten_tensor(call, q) || !ll_aten_tensor(call, q + 1) || !ll_aten_tensor(call, q + 2))
        return wants_tensors;
    const char *trouble = stacked(call, heads(call, q, q + 1), false, heads(call, q + 1, q + 1), true, out);
    return trouble ? trouble
                   : ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_SOFTMAX, .in = out, .in_count = 1},
                                out);
}

/* _scaled_dot_product_flash_attention(q, k, v, ...) and the like: as the ops that it stands for. Who asks for
 * what it keeps for the way back asks for its result. */
const char *ll_aten_ATTENTION(struct ll_aten *call)
{
    struct ll_imported p = {0}, out = {0};
    const char *trouble = shares(call, 0, &p);
    if (!trouble)
        trouble = stacked(call, p, false, heads(call, 2, 1), false, &out);
    for (uint32_t i = 0; !trouble && i < 2; i++)
        ll_aten_give(call, ll_aten_result(call, i), out);
    return trouble;
}

/* _scaled_dot_product_flash_attention_backward(dy, q, k, v, ...): the shares p are computed again, then
 * dv = p^T dy, ds = the softmax' gradient of dy v^T, dq = ds k, dk = ds^T q. */
const char *ll_aten_ATTENTION_BACKWARD(struct ll_aten *call)
{
    struct ll_imported p = {0}, dv = {0}, dp = {0}, ds = {0}, dq = {0}, dk = {0};
    const struct ll_torch_tensor *gradient = ll_aten_tensor(call, 0);
    const char *trouble = gradient ? shares(call, 1, &p) : wants_tensors;
    if (trouble)
        return trouble;
    const struct ll_imported dy = heads(call, 0, 2), q = heads(call, 1, 2), k = heads(call, 2, 2),
                             v = heads(call, 3, 2);
    trouble = stacked(call, p, true, dy, false, &dv);
    if (!trouble)
        trouble = stacked(call, dy, false, v, true, &dp);
    const struct ll_imported both[] = {dp, p};
    if (!trouble)
        trouble = ll_aten_do(
            call, &(struct ll_import_op){.kind = LL_OP_SOFTMAX_GRAD, .in = both, .in_count = 2}, &ds);
    if (!trouble)
        trouble = stacked(call, ds, false, k, false, &dq);
    if (!trouble)
        trouble = stacked(call, ds, true, q, false, &dk);
    const struct ll_imported results[] = {dq, dk, dv};
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), results[i]);
    return trouble;
}
