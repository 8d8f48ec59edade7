/* SPDX-License-Identifier: Apache-2.0 */
/* What is done element by element, drawn, moved, or viewed; then what works on rows: softmax, losses,
 * lookups. */
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/torch/torch.h"

static bool same_dims(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Whether a tensor is held as an image, and not as it is seen. */
static bool held_as_image(struct ll_aten *call, const struct ll_torch_tensor *tensor)
{
    struct ll_shape image;
    const struct ll_storage *slot = ll_storage_of(call, tensor);
    return slot && slot->live && tensor->shape.rank == 4 && !ll_image_shape(&tensor->shape, &image) &&
           same_dims(&slot->held.shape, &image) && !same_dims(&slot->held.shape, &tensor->shape);
}

/* Whether the operands can all be seen as images, as one of them is held. */
static bool all_images(struct ll_aten *call, const struct ll_torch_tensor *const *tensors, uint32_t count)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (tensors[i] && tensors[i]->shape.rank != 4 && ll_elements(&tensors[i]->shape) != 1)
            return false;
        any = any || (tensors[i] && held_as_image(call, tensors[i]));
    }
    return any;
}

/* An operand of this type: a number where there is no tensor. */
static const char *operand(struct ll_aten *call, const struct ll_torch_tensor *tensor, bool image,
                           enum ll_dtype dtype, struct ll_imported *held)
{
    struct ll_shape shape;
    if (!tensor) {
        *held = ll_aten_constant(call, dtype);
        return NULL;
    }
    shape = tensor->shape;
    if (image && shape.rank == 4)
        ll_image_shape(&tensor->shape, &shape);
    if (shape.dtype != dtype && ll_elements(&shape) == 1)
        shape.dtype = (uint8_t)dtype;
    *held = ll_aten_hold(call, tensor, &shape);
    return shape.dtype == dtype ? NULL : ll_aten_cast(call, *held, dtype, held);
}

static bool compares(enum ll_op_kind kind)
{
    return kind == LL_OP_EQUAL || kind == LL_OP_LESS || kind == LL_OP_GREATER;
}

/* The op on these operands; the result goes to a tensor, and over the first operand where they share memory.
 */
static const char *element_wise(struct ll_aten *call, enum ll_op_kind kind,
                                const struct ll_torch_tensor *const *tensors, uint32_t count,
                                const struct ll_torch_tensor *result)
{
    const struct ll_attr over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    const struct ll_torch_tensor *model = result && !compares(kind) ? result : tensors[0];
    struct ll_imported in[3], out[LL_MAX_OUTPUTS] = {{0}};
    const char *trouble = model ? NULL : LL_ATEN_WANTS_TENSORS;
    bool image = all_images(call, tensors, count);
    for (uint32_t i = 0; !trouble && i < count; i++)
        trouble = operand(call, tensors[i], image, (enum ll_dtype)model->shape.dtype, &in[i]);
    if (trouble)
        return trouble;
    bool same = result && tensors[0] && result->storage == tensors[0]->storage &&
                same_dims(&result->shape, &tensors[0]->shape) &&
                result->shape.dtype == tensors[0]->shape.dtype;
    struct ll_storage *slot = same ? ll_storage_of(call, result) : NULL;
    enum ll_memory_class memory = call->memory;
    call->memory = slot ? slot->memory : memory;
    trouble = ll_aten_do(
        call,
        &(struct ll_import_op){.kind = kind, .in = in, .in_count = count, .attrs = &over, .attr_count = same},
        out);
    if (!trouble)
        ll_aten_give(call, result, out[0]);
    call->memory = memory;
    return trouble;
}

const char *ll_aten_ELEMENTS(struct ll_aten *call)
{
    const struct ll_torch_tensor *tensors[3];
    for (uint32_t i = 0; i < call->row->tensors; i++)
        tensors[i] = ll_aten_tensor(call, i);
    return element_wise(call, call->row->kind, tensors, call->row->tensors, ll_aten_result(call, 0));
}

/* x + value a b, or a / b, as the row says. */
static const char *add_product(struct ll_aten *call, const struct ll_torch_tensor *x,
                               const struct ll_torch_tensor *const *factors,
                               const struct ll_torch_tensor *result)
{
    struct ll_imported in[2], out[LL_MAX_OUTPUTS] = {{0}};
    const char *trouble = NULL;
    for (uint32_t i = 0; !trouble && i < 2; i++)
        trouble = operand(call, factors[i], false, (enum ll_dtype)x->shape.dtype, &in[i]);
    if (!trouble)
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = call->row->kind, .in = in, .in_count = 2}, out);
    if (trouble)
        return trouble;
    const struct ll_torch_tensor product = {.shape = out[0].shape};
    struct ll_imported both[] = {ll_aten_hold(call, x, NULL), out[0]};
    const struct ll_attr over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    bool same = result && result->storage == x->storage && same_dims(&x->shape, &product.shape);
    struct ll_storage *slot = same ? ll_storage_of(call, x) : NULL;
    enum ll_memory_class memory = call->memory;
    call->memory = slot ? slot->memory : memory;
    trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = LL_OP_ADD, .in = both, .in_count = 2, .attrs = &over, .attr_count = same},
                   out);
    if (!trouble)
        ll_aten_give(call, result, out[0]);
    call->memory = memory;
    return trouble;
}

/* addcmul(x, a, b, value): x + value a b; addcdiv: x + value a / b. */
const char *ll_aten_PRODUCT_ADDED(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    const struct ll_torch_tensor *const factors[] = {ll_aten_tensor(call, 1), ll_aten_tensor(call, 2)};
    return x ? add_product(call, x, factors, ll_aten_result(call, 0)) : LL_ATEN_WANTS_TENSORS;
}

/* Of a call of _foreach_: the tensors of its arguments at place i of their lists, those of a number NULL;
 * where the result goes. */
static const struct ll_torch_tensor *one_of(const struct ll_aten *call, uint32_t i,
                                            const struct ll_torch_tensor *tensors[3])
{
    const size_t length = strlen(call->node->name);
    for (uint32_t a = 0; a < 3; a++) {
        const struct ll_torch_value *list = ll_aten_tensor(call, a) ? &call->node->inputs[a] : NULL;
        tensors[a] = list && i < list->count && !list->tensors[i].absent ? &list->tensors[i] : NULL;
    }
    return length > 0 && call->node->name[length - 1] == '_' ? tensors[0] : ll_aten_result(call, i);
}

/* The same over and over: the first argument is a list of tensors, further ones are lists or numbers. */
const char *ll_aten_FOREACH(struct ll_aten *call)
{
    const char *trouble = ll_aten_tensor(call, 0) ? NULL : LL_ATEN_WANTS_TENSORS;
    for (uint32_t i = 0; !trouble && i < call->node->inputs[0].count; i++) {
        const struct ll_torch_tensor *tensors[3], *result = one_of(call, i, tensors);
        if (tensors[0])
            trouble = element_wise(call, call->row->kind, tensors, call->row->tensors, result);
    }
    return trouble;
}

/* _foreach_addcmul_(list, a, b, value) and _foreach_addcdiv_: a product or quotient of lists is added. */
const char *ll_aten_FOREACH_PRODUCT(struct ll_aten *call)
{
    const char *trouble = ll_aten_tensor(call, 0) ? NULL : LL_ATEN_WANTS_TENSORS;
    for (uint32_t i = 0; !trouble && i < call->node->inputs[0].count; i++) {
        const struct ll_torch_tensor *tensors[3], *result = one_of(call, i, tensors);
        if (tensors[0])
            trouble = add_product(call, tensors[0], tensors + 1, result);
    }
    return trouble;
}

/* A choice element by element; all is seen in the shape of what comes out. */
static const char *choose(struct ll_aten *call, const struct ll_torch_tensor *condition,
                          const struct ll_torch_tensor *a, const struct ll_torch_tensor *b)
{
    const struct ll_torch_tensor *result = ll_aten_result(call, 0), *model = result ? result : a ? a : b;
    if (!condition || !model)
        return LL_ATEN_WANTS_TENSORS;
    struct ll_shape shape = model->shape, truth = shape;
    truth.dtype = LL_BOOL;
    struct ll_imported number = {0};
    if (!a || !b)
        number = ll_aten_see(call, ll_aten_constant(call, (enum ll_dtype)shape.dtype), &shape);
    const struct ll_imported in[] = {ll_aten_hold(call, condition, &truth),
                                     a ? ll_aten_hold(call, a, &shape) : number,
                                     b ? ll_aten_hold(call, b, &shape) : number};
    return ll_aten_do_to(call, &(struct ll_import_op){.kind = LL_OP_SELECT, .in = in, .in_count = 3});
}

const char *ll_aten_WHERE(struct ll_aten *call)
{
    return choose(call, ll_aten_tensor(call, 0), ll_aten_tensor(call, 1), ll_aten_tensor(call, 2));
}

/* masked_fill(x, mask, value) */
const char *ll_aten_MASKED_FILL(struct ll_aten *call)
{
    return choose(call, ll_aten_tensor(call, 1), ll_aten_tensor(call, 2), ll_aten_tensor(call, 0));
}

/* copy_(target, source): what is there already is overwritten; of what nobody has written yet, and of another
 * type, a copy takes the place. */
const char *ll_aten_ASSIGN(struct ll_aten *call)
{
    const struct ll_torch_tensor *to = ll_aten_tensor(call, 0), *from = ll_aten_tensor(call, 1);
    struct ll_storage *slot = to && from ? ll_storage_of(call, to) : NULL;
    struct ll_imported out = {0};
    if (!slot)
        return LL_ATEN_WANTS_TENSORS;
    bool live = slot->live && from->shape.dtype == to->shape.dtype;
    enum ll_memory_class memory = call->memory;
    struct ll_shape shape = to->shape;
    shape.dtype = from->shape.dtype;
    const char *trouble;
    if (live) {
        call->memory = slot->memory;
        const struct ll_imported in[] = {ll_aten_hold(call, to, NULL), ll_aten_hold(call, from, &shape)};
        trouble =
            ll_aten_do(call, &(struct ll_import_op){.kind = LL_OP_ASSIGN, .in = in, .in_count = 2}, &out);
    } else {
        trouble = ll_aten_cast(call, ll_aten_hold(call, from, &shape), (enum ll_dtype)to->shape.dtype, &out);
    }
    if (!trouble)
        ll_aten_give(call, to, out);
    call->memory = memory;
    return trouble;
}

/* A copy of its own, unless the result is the argument; of this shape where nobody knows the result. Elements
 * that are added or repeated are written, too. */
static const char *copy_as(struct ll_aten *call, const struct ll_torch_tensor *x, const struct ll_shape *made)
{
    const struct ll_torch_tensor *result = ll_aten_result(call, 0);
    struct ll_imported out = {0};
    if (result && result->storage == x->storage)
        return NULL;
    struct ll_shape shape = result ? result->shape : *made;
    enum ll_dtype dtype = (enum ll_dtype)shape.dtype;
    shape.dtype = x->shape.dtype;
    bool image = result && same_dims(&x->shape, &result->shape) && held_as_image(call, x);
    if (image)
        ll_image_shape(&x->shape, &shape);
    const char *trouble = ll_aten_cast(call, ll_aten_hold(call, x, &shape), dtype, &out);
    if (!trouble)
        ll_aten_give(call, result, out);
    return trouble;
}

const char *ll_aten_COPY(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    return x ? copy_as(call, x, &x->shape) : LL_ATEN_WANTS_TENSORS;
}

/* How many numbers an argument lists. */
static uint32_t listed(const struct ll_aten *call, uint32_t i)
{
    const struct ll_torch_value *value = i < call->node->input_count ? &call->node->inputs[i] : NULL;
    return value && value->kind == LL_TORCH_NUMBERS ? value->count : 0;
}

/* repeat(x, [times]), of the last dimensions; those in front of x's are new. */
const char *ll_aten_REPEAT(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    const uint32_t rank = listed(call, 1);
    if (!x)
        return LL_ATEN_WANTS_TENSORS;
    if (ll_aten_result(call, 0))
        return copy_as(call, x, NULL);
    if (rank < x->shape.rank || rank > LL_MAX_RANK)
        return "it does not say how often it repeats each dimension";
    struct ll_shape made = {.rank = (uint8_t)rank, .dtype = x->shape.dtype};
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t added = rank - x->shape.rank;
        int64_t times = ll_aten_integer(call, 1, i, 1);
        made.dim[i] = ll_mul(i < added ? 1 : x->shape.dim[i - added], times < 0 ? 0 : (uint64_t)times);
    }
    return copy_as(call, x, &made);
}

/* constant_pad_nd(x, [before, behind, ...], value), from the last dimension on; what is negative is cut
 * off. */
const char *ll_aten_PADDED(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    const uint32_t count = listed(call, 1);
    if (!x)
        return LL_ATEN_WANTS_TENSORS;
    if (ll_aten_result(call, 0))
        return copy_as(call, x, NULL);
    if (count == 0 || count % 2 || count / 2 > x->shape.rank)
        return "it does not say how much it adds to which dimension";
    struct ll_shape made = x->shape;
    for (uint32_t i = 0; i < count / 2; i++) {
        uint64_t *dim = &made.dim[x->shape.rank - 1u - i];
        int64_t wide = (int64_t)ll_min(*dim, UINT64_C(1) << 40) + ll_aten_integer(call, 1, 2 * i, 0) +
                       ll_aten_integer(call, 1, 2 * i + 1, 0);
        *dim = wide < 0 ? 0 : (uint64_t)wide;
    }
    return copy_as(call, x, &made);
}

/* What zeros(size), arange(end) and the like make where nobody knows their result: what they call fills it,
 * or a list of numbers says its size. */
static const char *fill_unseen(struct ll_aten *call)
{
    struct ll_shape made = {.dtype = LL_F32};
    const struct ll_torch_tensor *filled = NULL;
    for (uint64_t i = 1; !filled && i <= call->below_count; i++) {
        const struct ll_aten inner = {.node = call->node + i};
        filled = inner.node->thread == call->node->thread ? ll_aten_tensor(&inner, 0) : NULL;
    }
    uint32_t rank = listed(call, 0);
    bool list = rank > 0 && call->node->inputs[0].list && rank <= LL_MAX_RANK;
    if (!filled && rank == 0)
        return "the file does not say of what size";
    made.rank = (uint8_t)(list ? rank : 1);
    for (uint32_t i = 0; i < made.rank; i++)
        made.dim[i] = (uint64_t)llabs(ll_aten_integer(call, 0, i, 1));
    if (filled)
        made = filled->shape;
    return ll_aten_do_to(call,
                         &(struct ll_import_op){.kind = LL_OP_CONSTANT, .given = &made, .given_count = 1});
}

/* The same number everywhere: over what is there, or as something new. */
const char *ll_aten_FILL(struct ll_aten *call)
{
    const struct ll_torch_tensor *result = ll_aten_result(call, 0), *x = ll_aten_tensor(call, 0);
    const struct ll_torch_tensor *tensor = result ? result : x;
    struct ll_storage *slot = tensor ? ll_storage_of(call, tensor) : NULL;
    struct ll_imported out = {0};
    if (!tensor && !call->node->outputs_known)
        return fill_unseen(call);
    if (!slot)
        return LL_ATEN_WANTS_TENSORS;
    bool there = slot->live && x && call->row->kind == LL_OP_FILL;
    bool brought = !slot->live && slot->brought != LL_INPUT;
    enum ll_memory_class memory = call->memory;
    struct ll_imported in = {0};
    if (there || brought) {
        in = ll_aten_hold(call, tensor, held_as_image(call, tensor) ? &slot->held.shape : NULL);
        call->memory = slot->memory;
    }
    const struct ll_import_op fill = {.kind = LL_OP_FILL, .in = &in, .in_count = 1};
    const struct ll_import_op make = {.kind = LL_OP_CONSTANT, .given = &tensor->shape, .given_count = 1};
    const char *trouble = ll_aten_do(call, there || brought ? &fill : &make, &out);
    if (!trouble)
        ll_aten_give(call, tensor, out);
    call->memory = memory;
    return trouble;
}

/* Whoever reads the result asks its storage, so there is nothing to record; what is no view is a copy. */
const char *ll_aten_VIEW(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *result = ll_aten_result(call, 0);
    if (x && result && result->storage != x->storage)
        return ll_aten_COPY(call);
    return NULL;
}

const char *ll_aten_ALLOCATE(struct ll_aten *call)
{
    (void)call;
    return NULL;
}

const char *ll_aten_NOTHING(struct ll_aten *call)
{
    (void)call;
    return NULL;
}

/* cat(tensors, dimension); such as hold nothing are left out, and where all do, there is nothing to do. */
const char *ll_aten_JOIN(struct ll_aten *call)
{
    enum { MOST = 1024 };
    struct ll_imported in[MOST];
    if (!ll_aten_tensor(call, 0))
        return LL_ATEN_WANTS_TENSORS;
    const struct ll_torch_value *list = &call->node->inputs[0];
    uint32_t count = 0;
    int64_t dim = ll_aten_integer(call, 1, 0, 0);
    for (uint32_t i = 0; i < list->count; i++) {
        if (count == MOST)
            return "more than 1024 tensors are joined";
        if (!list->tensors[i].absent && ll_elements(&list->tensors[i].shape) > 0)
            in[count++] = ll_aten_hold(call, &list->tensors[i], NULL);
    }
    if (count == 0)
        return NULL;
    const struct ll_attr axis = {.key = LL_ATTR_AXIS, .count = dim < 0 ? dim + in[0].shape.rank : dim};
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = LL_OP_CONCAT, .in = in, .in_count = count, .attrs = &axis, .attr_count = 1});
}

/* native_dropout(x, share that goes, training) -> y, mask */
const char *ll_aten_DROPOUT(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    struct ll_imported out[LL_MAX_OUTPUTS] = {{0}};
    if (!x)
        return LL_ATEN_WANTS_TENSORS;
    const struct ll_attr keep = {.key = LL_ATTR_KEEP, .real = 1 - ll_aten_number(call, 1, 0, 0)};
    const struct ll_imported in[] = {ll_aten_hold(call, x, NULL), ll_aten_constant(call, LL_F32)};
    const char *trouble =
        ll_aten_do(call,
                   &(struct ll_import_op){
                       .kind = LL_OP_DROPOUT, .in = in, .in_count = 2, .attrs = &keep, .attr_count = 1},
                   out);
    for (uint32_t i = 0; !trouble && i < 2; i++)
        ll_aten_give(call, ll_aten_result(call, i), out[i]);
    return trouble;
}

/* Random numbers of the shape of the result, or of the argument that they go to. */
const char *ll_aten_DRAW(struct ll_aten *call)
{
    const struct ll_torch_tensor *result = ll_aten_result(call, 0), *x = ll_aten_tensor(call, 0);
    if (!result && !x)
        return LL_ATEN_WANTS_TENSORS;
    const struct ll_shape *drawn = result ? &result->shape : &x->shape;
    const struct ll_imported step = ll_aten_constant(call, (enum ll_dtype)drawn->dtype);
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = call->row->kind, .in = &step, .in_count = 1, .given = drawn, .given_count = 1});
}

/* What looks at rows: normalisation, softmax, losses, sums, tables, what is picked of them and put there. */

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
        return LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
            return LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
    const char *trouble = ll_aten_tensor(call, 0) ? difference(call, 1, &both[0]) : LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
    return *numbers ? NULL : LL_ATEN_WANTS_TENSORS;
}

/* index(x, [numbers, ...]) */
const char *ll_aten_INDEX(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = NULL;
    uint32_t axis = 0;
    const char *trouble = x ? find_numbers(call, &numbers, &axis) : LL_ATEN_WANTS_TENSORS;
    return trouble ? trouble : pick(call, x, axis, indices(call, numbers, false));
}

/* gather(x, dimension, numbers, ...): single elements */
const char *ll_aten_GATHER(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *numbers = ll_aten_tensor(call, 2);
    if (!x || !numbers)
        return LL_ATEN_WANTS_TENSORS;
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
    const char *trouble = x ? find_numbers(call, &numbers, &axis) : LL_ATEN_WANTS_TENSORS;
    if (trouble)
        return trouble;
    if (axis >= x->shape.rank || ll_aten_integer(call, 3, 0, 0) != 0)
        return axis >= x->shape.rank ? LL_ATEN_WANTS_TENSORS : "it adds up what comes to the same place";
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
        return LL_ATEN_WANTS_TENSORS;
    if (call->node->input_count > 4 && call->node->inputs[4].kind != LL_TORCH_NONE)
        return "it combines what comes with what is there";
    return put(call, numbers, 3, numbers->shape);
}

/* The largest of a dimension, or all of it in order, and where they were. */
static const char *order(struct ll_aten *call, int64_t dim, int64_t size)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0);
    if (!x || x->shape.rank == 0)
        return LL_ATEN_WANTS_TENSORS;
    uint32_t axis = axis_of(dim, x->shape.rank);
    if (axis == x->shape.rank || x->shape.dim[axis] > LL_ATEN_MOST)
        return LL_ATEN_WANTS_TENSORS;
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
    return size < 1 ? LL_ATEN_WANTS_TENSORS : order(call, ll_aten_integer(call, 2, 0, -1), size);
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
        return LL_ATEN_WANTS_TENSORS;
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
        return LL_ATEN_WANTS_TENSORS;
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
