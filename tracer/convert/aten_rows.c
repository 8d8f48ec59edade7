/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at rows: normalisation, softmax, losses, sums, tables. */
#include "tracer/convert/aten.h"

#include <string.h>

static const char wants_tensors[] = "its arguments are not the tensors that it takes";

ll_aten_rule ll_aten_LAYER_NORM, ll_aten_LAYER_BACKWARD, ll_aten_SOFTMAX, ll_aten_NLL_LOSS,
    ll_aten_NLL_BACKWARD, ll_aten_EMBEDDING, ll_aten_INDEX_SELECT, ll_aten_EMBEDDING_BACKWARD, ll_aten_REDUCE;

/* Rows of as many elements as the last `count` dimensions have; the shape itself where that is one. */
static struct ll_shape rows_of(const struct ll_shape *shape, uint32_t count)
{
    if (count == 1 || count > shape->rank)
        return *shape;
    struct ll_shape rows = {.rank = 2, .dtype = shape->dtype, .dim = {1, 1}};
    for (unsigned i = 0; i < shape->rank; i++) {
        uint64_t *dim = &rows.dim[i + count >= shape->rank];
        *dim = ll_mul(*dim, shape->dim[i]);
    }
    return rows;
}

/* native_layer_norm(x, normalised shape, weight, bias, epsilon) -> y, mean, 1 / deviation. Who asks for the
 * latter two asks for y. */
const char *ll_aten_LAYER_NORM(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    if (!x || x->shape.rank == 0 || call->node->input_count < 2)
        return wants_tensors;
    struct ll_shape shape = rows_of(&x->shape, call->node->inputs[1].count);
    uint64_t columns = shape.dim[shape.rank - 1u];
    enum ll_dtype dtype = (enum ll_dtype)shape.dtype;
    const struct ll_imported in[] = {ll_aten_hold(call, x, &shape), ll_aten_vector(call, 2, columns, dtype),
                                     ll_aten_vector(call, 3, columns, dtype)};
    const char *trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_LAYER_NORM, .in = in, .in_count = 3}, out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[0]);
    return trouble;
}

/* native_layer_norm_backward(dy, x, normalised shape, mean, 1 / deviation, weight, bias, mask) */
const char *ll_aten_LAYER_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, 0), *x = ll_aten_tensor(call, 1);
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    if (!dy || !x || x->shape.rank == 0)
        return wants_tensors;
    struct ll_shape shape = rows_of(&x->shape, call->node->inputs[2].count);
    const struct ll_imported in[] = {
        ll_aten_hold(call, dy, &shape), ll_aten_hold(call, x, &shape),
        ll_aten_vector(call, 5, shape.dim[shape.rank - 1u], (enum ll_dtype)shape.dtype)};
    const char *trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_LAYER_NORM_GRAD, .in = in, .in_count = 3}, out);
    for (uint32_t i = 0; !trouble && i < 3; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[i]);
    return trouble;
}

/* A dimension counted from the front; the rank when there is none such. */
static uint32_t axis_of(int64_t dim, uint32_t rank)
{
    int64_t axis = dim < 0 ? dim + (int64_t)rank : dim;
    return axis >= 0 && axis < (int64_t)rank ? (uint32_t)axis : rank;
}

/* The shape with the marked dimensions behind the others. */
static struct ll_shape moved_back(const struct ll_shape *shape, uint32_t marked)
{
    struct ll_shape moved = *shape;
    unsigned at = 0;
    for (unsigned back = 0; back < 2; back++)
        for (unsigned i = 0; i < shape->rank; i++)
            if ((marked >> i & 1) == back)
                moved.dim[at++] = shape->dim[i];
    return moved;
}

/* _softmax(x, dimension, ...), _softmax_backward_data(dy, y, dimension, ...) and their logarithms. */
const char *ll_aten_SOFTMAX(struct ll_aten *call)
{
    uint32_t count = call->row->tensors;
    struct ll_imported in[2];
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_torch_tensor *tensor = ll_aten_tensor(call, i);
        if (!tensor)
            return wants_tensors;
        uint32_t rank = tensor->shape.rank, axis = axis_of(ll_aten_integer(call, count, 0, -1), rank);
        struct ll_shape last = axis < rank ? moved_back(&tensor->shape, 1u << axis) : tensor->shape;
        in[i] = ll_aten_hold(call, tensor, &last);
    }
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = call->row->kind, .in = in, .in_count = count});
}

/* Numbers of rows as they are counted here, whatever integers they are. */
static struct ll_imported indices(struct ll_aten *call, const struct ll_torch_tensor *tensor, bool flat)
{
    struct ll_shape shape = tensor->shape;
    if (flat)
        shape = (struct ll_shape){.rank = 1, .dim = {ll_elements(&tensor->shape)}};
    shape.dtype = LL_I32;
    return ll_aten_hold(call, tensor, &shape);
}

/* nll_loss_forward(x, target, weight, reduction, ignored): an element of each row, then their mean or sum. */
const char *ll_aten_NLL_LOSS(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *target = ll_aten_tensor(call, 1);
    struct ll_imported out = {0};
    if (!x || !target)
        return wants_tensors;
    const struct ll_shape list = {.rank = 1, .dtype = x->shape.dtype, .dim = {ll_elements(&x->shape)}};
    const struct ll_imported in[] = {ll_aten_hold(call, x, &list), indices(call, target, true)};
    const char *trouble =
        ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_GATHER, .in = in, .in_count = 2}, &out);
    int64_t reduction = ll_aten_integer(call, 3, 0, 1);
    if (!trouble && reduction != 0)
        trouble = ll_aten_do(call,
                             &(struct ll_import_op){
                                 .kind = reduction == 1 ? LL_OP_MEAN : LL_OP_SUM, .in = &out, .in_count = 1},
                             &out);
    if (!trouble) {
        ll_aten_give(call, ll_aten_result(call, 0), out);
        ll_aten_give(call, ll_aten_result(call, 1), out);
    }
    return trouble;
}

/* nll_loss_backward(dloss, x, target, ...): dloss where the target is, zero elsewhere. */
const char *ll_aten_NLL_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dloss = ll_aten_tensor(call, 0), *x = ll_aten_tensor(call, 1),
                                 *target = ll_aten_tensor(call, 2);
    struct ll_imported out = {0};
    if (!dloss || !x || !target || x->shape.rank != 2 || x->shape.dim[1] > INT32_MAX ||
        dloss->shape.rank != 0)
        return wants_tensors;
    const struct ll_attr depth = {.key = LL_ATTR_DEPTH, .count = (int64_t)x->shape.dim[1]};
    const struct ll_imported in = indices(call, target, true);
    const char *trouble = ll_aten_do(call,
                                     &(struct ll_import_op){.kind = LL_OP_ONE_HOT,
                                                            .in = &in,
                                                            .in_count = 1,
                                                            .attrs = &depth,
                                                            .attr_count = 1,
                                                            .given = &x->shape,
                                                            .given_count = 1},
                                     &out);
    if (trouble)
        return trouble;
    const struct ll_imported both[] = {out, ll_aten_hold(call, dloss, NULL)};
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_MUL, .in = both, .in_count = 2});
}

/* embedding(table, numbers, ...) */
const char *ll_aten_EMBEDDING(struct ll_aten *call)
{
    const struct ll_torch_tensor *table = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 1);
    if (!table || !numbers)
        return wants_tensors;
    const struct ll_imported in[] = {ll_aten_hold(call, table, NULL), indices(call, numbers, false)};
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_GATHER, .in = in, .in_count = 2});
}

/* index_select(x, dimension, numbers): the dimension that is picked from comes first. */
const char *ll_aten_INDEX_SELECT(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 2);
    if (!x || !numbers || x->shape.rank == 0)
        return wants_tensors;
    uint32_t axis = axis_of(ll_aten_integer(call, 1, 0, 0), x->shape.rank), others = ~(1u << axis);
    struct ll_shape table = axis < x->shape.rank ? moved_back(&x->shape, others) : x->shape;
    const struct ll_imported in[] = {ll_aten_hold(call, x, &table), indices(call, numbers, true)};
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_GATHER, .in = in, .in_count = 2});
}

/* embedding_dense_backward(dy, numbers, rows of the table, ...) */
const char *ll_aten_EMBEDDING_BACKWARD(struct ll_aten *call)
{
    const struct ll_torch_tensor *dy = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 1);
    int64_t rows = ll_aten_integer(call, 2, 0, 0);
    if (!dy || !numbers || dy->shape.rank == 0 || rows < 1)
        return wants_tensors;
    uint64_t columns = dy->shape.dim[dy->shape.rank - 1u];
    const struct ll_shape table = {.rank = 2, .dtype = dy->shape.dtype, .dim = {(uint64_t)rows, columns}};
    const struct ll_shape list = {
        .rank = 2, .dtype = dy->shape.dtype, .dim = {ll_elements(&numbers->shape), columns}};
    const struct ll_imported in[] = {ll_aten_hold(call, dy, &list), indices(call, numbers, true)};
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = LL_OP_SEGMENT_SUM, .in = in, .in_count = 2, .given = &table, .given_count = 1});
}

/* The dimensions that argument 1 names, as bits; all of them when it names none. */
static uint32_t reduced_dims(const struct ll_aten *call, uint32_t argument, uint32_t rank)
{
    const struct ll_torch_value *dims =
        argument < call->node->input_count ? &call->node->inputs[argument] : NULL;
    uint32_t marked = 0;
    for (uint32_t i = 0; dims && dims->kind == LL_TORCH_NUMBERS && i < dims->count; i++)
        marked |= 1u << axis_of(ll_aten_integer(call, argument, i, 0), rank);
    return marked & ((1u << rank) - 1) ? marked & ((1u << rank) - 1) : (1u << rank) - 1;
}

/* sum(x, dimensions, ...) and the like; norm and linalg_vector_norm name the power first. */
const char *ll_aten_REDUCE(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    if (!x)
        return wants_tensors;
    enum ll_op_kind kind = call->row->kind;
    uint32_t rank = x->shape.rank, marked = reduced_dims(call, kind == LL_OP_L2_LOSS ? 2 : 1, rank);
    uint32_t count = (uint32_t)__builtin_popcount(marked), first = rank ? (uint32_t)__builtin_ctz(marked) : 0;
    bool together = rank == 0 || marked >> first == (1u << count) - 1;
    struct ll_shape shape = x->shape;
    if (!together || kind == LL_OP_ARGMAX) {
        shape = moved_back(&shape, marked);
        first = rank - count;
    }
    if (kind == LL_OP_ARGMAX && count != 1)
        shape = (struct ll_shape){.rank = 1, .dtype = shape.dtype, .dim = {ll_elements(&x->shape)}};
    const struct ll_attr attrs[] = {{.key = LL_ATTR_AXIS, .count = first},
                                    {.key = LL_ATTR_AXES, .count = count}};
    const struct ll_imported in = ll_aten_hold(call, x, &shape);
    struct ll_imported out = {0};
    bool ranged = kind != LL_OP_ARGMAX && kind != LL_OP_L2_LOSS;
    const char *trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = ranged ? 2 : 0},
                   &out);
    for (uint32_t i = 0; !trouble && i < 2; i++)
        ll_aten_give(call, ll_aten_result(call, i), out);
    return trouble;
}
