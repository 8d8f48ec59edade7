/* SPDX-License-Identifier: Apache-2.0 */
/* What looks at rows: normalisation, softmax, losses, sums, tables, what is picked of them and put there. */
#include "tracer/convert/aten.h"

#include <string.h>

static const char wants_tensors[] = "its arguments are not the tensors that it takes";

ll_aten_rule ll_aten_LAYER_NORM, ll_aten_LAYER_BACKWARD, ll_aten_SOFTMAX, ll_aten_NLL_LOSS,
    ll_aten_NLL_BACKWARD, ll_aten_SQUARED_LOSS, ll_aten_SQUARED_BACKWARD, ll_aten_EMBEDDING,
    ll_aten_INDEX_SELECT, ll_aten_INDEX, ll_aten_GATHER, ll_aten_INDEX_PUT, ll_aten_SCATTER, ll_aten_TOP_K,
    ll_aten_SORT, ll_aten_EMBEDDING_BACKWARD, ll_aten_REDUCE;

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

/* Argument i says what becomes of the losses: 0 nothing, 1 their mean, 2 their sum. */
static const char *reduce_loss(struct ll_aten *call, uint32_t i, struct ll_imported *loss)
{
    int64_t reduction = ll_aten_integer(call, i, 0, 1);
    const struct ll_import_op op = {
        .kind = reduction == 1 ? LL_OP_MEAN : LL_OP_SUM, .in = loss, .in_count = 1};
    return reduction == 0 ? NULL : ll_aten_do(call, &op, loss);
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
    if (!trouble)
        trouble = reduce_loss(call, 3, &out);
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

/* Argument i less the one behind it. */
static const char *difference(struct ll_aten *call, uint32_t i, struct ll_imported *out)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, i), *target = ll_aten_tensor(call, i + 1);
    if (!x || !target)
        return wants_tensors;
    const struct ll_imported in[] = {ll_aten_hold(call, x, NULL), ll_aten_hold(call, target, NULL)};
    return ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_SUB, .in = in, .in_count = 2}, out);
}

/* mse_loss(x, target, reduction) */
const char *ll_aten_SQUARED_LOSS(struct ll_aten *call)
{
    struct ll_imported out = {0};
    const char *trouble = difference(call, 0, &out);
    if (!trouble)
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_SQUARE, .in = &out, .in_count = 1}, &out);
    if (!trouble)
        trouble = reduce_loss(call, 2, &out);
    if (!trouble)
        ll_aten_give(call, ll_aten_result(call, 0), out);
    return trouble;
}

/* mse_loss_backward(dloss, x, target, ...): dloss (x - target), times a number. */
const char *ll_aten_SQUARED_BACKWARD(struct ll_aten *call)
{
    struct ll_imported both[2] = {{0}};
    const char *trouble = ll_aten_tensor(call, 0) ? difference(call, 1, &both[0]) : wants_tensors;
    if (trouble)
        return trouble;
    both[1] = ll_aten_hold(call, ll_aten_tensor(call, 0), NULL);
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

/* Rows of x, whose dimension `axis` comes first. */
static const char *pick(struct ll_aten *call, const struct ll_torch_tensor *x, uint32_t axis,
                        struct ll_imported numbers)
{
    const struct ll_shape table = axis < x->shape.rank ? moved_back(&x->shape, ~(1u << axis)) : x->shape;
    const struct ll_imported in[] = {ll_aten_hold(call, x, &table), numbers};
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_GATHER, .in = in, .in_count = 2});
}

/* index_select(x, dimension, numbers) */
const char *ll_aten_INDEX_SELECT(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 2);
    if (!x || !numbers || x->shape.rank == 0)
        return wants_tensors;
    return pick(call, x, axis_of(ll_aten_integer(call, 1, 0, 0), x->shape.rank),
                indices(call, numbers, true));
}

/* The one tensor of numbers in argument 1, a list with a place for each dimension; those behind it may
 * lack. */
static const char *find_numbers(const struct ll_aten *call, const struct ll_torch_tensor **numbers,
                                uint32_t *axis)
{
    const struct ll_torch_value *list = call->node->input_count > 1 ? &call->node->inputs[1] : NULL;
    *numbers = NULL;
    for (uint32_t i = 0; list && list->kind == LL_TORCH_TENSORS && i < list->count; i++) {
        if (list->tensors[i].absent)
            continue;
        if (*numbers)
            return "it picks by several tensors of numbers at a time";
        if (list->tensors[i].shape.dtype == LL_BOOL || list->tensors[i].shape.dtype == LL_U8)
            return "it picks by a mask: nobody knows how much";
        *numbers = &list->tensors[i];
        *axis = i;
    }
    return *numbers ? NULL : wants_tensors;
}

/* index(x, [numbers, ...]) */
const char *ll_aten_INDEX(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = NULL;
    uint32_t axis = 0;
    const char *trouble = x ? find_numbers(call, &numbers, &axis) : wants_tensors;
    return trouble ? trouble : pick(call, x, axis, indices(call, numbers, false));
}

/* gather(x, dimension, numbers, ...): single elements */
const char *ll_aten_GATHER(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 2);
    if (!x || !numbers)
        return wants_tensors;
    const struct ll_shape list = {.rank = 1, .dtype = x->shape.dtype, .dim = {ll_elements(&x->shape)}};
    const struct ll_imported in[] = {ll_aten_hold(call, x, &list), indices(call, numbers, false)};
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_GATHER, .in = in, .in_count = 2});
}

/* Argument `from`, or a number, goes to where the numbers say, so many elements of this shape: into x, or
 * into a copy of it. */
static const char *put(struct ll_aten *call, const struct ll_torch_tensor *numbers, uint32_t from,
                       struct ll_shape written)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *updates = ll_aten_tensor(call, from);
    const struct ll_torch_tensor *result = ll_aten_result(call, 0);
    const struct ll_attr over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    bool same = result && result->storage == x->storage;
    struct ll_imported value =
        updates ? ll_aten_hold(call, updates, NULL) : ll_aten_constant(call, (enum ll_dtype)x->shape.dtype);
    written.dtype = value.shape.dtype;
    const struct ll_imported in[] = {ll_aten_hold(call, x, NULL), indices(call, numbers, false),
                                     ll_aten_see(call, value, &written)};
    const struct ll_storage *slot = same ? ll_storage_of(call, x) : NULL;
    call->memory = slot ? slot->memory : call->memory;
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = LL_OP_SCATTER, .in = in, .in_count = 3, .attrs = &over, .attr_count = same});
}

/* index_put(x, [numbers, ...], what comes there, whether it is added): whole rows of the dimension */
const char *ll_aten_INDEX_PUT(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = NULL;
    uint32_t axis = 0;
    const char *trouble = x ? find_numbers(call, &numbers, &axis) : wants_tensors;
    if (trouble)
        return trouble;
    if (axis >= x->shape.rank || ll_aten_integer(call, 3, 0, 0) != 0)
        return axis >= x->shape.rank ? wants_tensors : "it adds up what comes to the same place";
    uint64_t rows = ll_max(1, x->shape.dim[axis]);
    const struct ll_shape written = {.rank = 2,
                                     .dim = {ll_elements(&numbers->shape), ll_elements(&x->shape) / rows}};
    return put(call, numbers, 2, written);
}

/* scatter(x, dimension, numbers, what comes there): single elements */
const char *ll_aten_SCATTER(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 2);
    if (!x || !numbers)
        return wants_tensors;
    if (call->node->input_count > 4 && call->node->inputs[4].kind != LL_TORCH_NONE)
        return "it combines what comes with what is there";
    return put(call, numbers, 3, numbers->shape);
}

/* The largest of a dimension, or all of it in order, and where they were. */
static const char *order(struct ll_aten *call, int64_t dim, int64_t size)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    if (!x || x->shape.rank == 0)
        return wants_tensors;
    uint32_t axis = axis_of(dim, x->shape.rank);
    if (axis == x->shape.rank || x->shape.dim[axis] > LL_ATEN_MOST)
        return wants_tensors;
    const struct ll_shape last = moved_back(&x->shape, 1u << axis);
    const struct ll_attr kept = {.key = LL_ATTR_SIZE, .count = size < 0 ? (int64_t)x->shape.dim[axis] : size};
    const struct ll_imported in = ll_aten_hold(call, x, &last);
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    const char *trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = LL_OP_TOP_K, .in = &in, .in_count = 1, .attrs = &kept, .attr_count = 1},
                   out);
    for (uint32_t i = 0; !trouble && i < 2; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[i]);
    return trouble;
}

/* topk(x, how many, dimension, ...) */
const char *ll_aten_TOP_K(struct ll_aten *call)
{
    int64_t size = ll_aten_integer(call, 1, 0, 1);
    return size < 1 ? wants_tensors : order(call, ll_aten_integer(call, 2, 0, -1), size);
}

/* sort(x, dimension, descending), or with `stable` before the dimension */
const char *ll_aten_SORT(struct ll_aten *call)
{
    return order(call, ll_aten_integer(call, call->node->input_count > 3 ? 2 : 1, 0, -1), -1);
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
