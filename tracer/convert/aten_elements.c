/* SPDX-License-Identifier: Apache-2.0 */
/* What is done element by element, drawn, moved, or only seen otherwise. */
#include "tracer/convert/aten.h"

#include <stdlib.h>
#include <string.h>

static const char wants_tensors[] = "its arguments are not the tensors that it takes";

ll_aten_rule ll_aten_ELEMENTS, ll_aten_PRODUCT_ADDED, ll_aten_FOREACH, ll_aten_WHERE, ll_aten_MASKED_FILL,
    ll_aten_ASSIGN, ll_aten_COPY, ll_aten_REPEAT, ll_aten_PADDED, ll_aten_FILL, ll_aten_VIEW,
    ll_aten_ALLOCATE, ll_aten_NOTHING, ll_aten_JOIN, ll_aten_DROPOUT, ll_aten_DRAW;

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
    const char *trouble = model ? NULL : wants_tensors;
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

/* addcmul(x, a, b, value): x + value a b; addcdiv: x + value a / b. */
const char *ll_aten_PRODUCT_ADDED(struct ll_aten *call)
{
    const struct ll_torch_tensor *x = ll_aten_tensor(call, 0), *result = ll_aten_result(call, 0);
    struct ll_imported in[2], out[LL_MAX_OUTPUTS] = {{0}};
    if (!x)
        return wants_tensors;
    const char *trouble = NULL;
    for (uint32_t i = 0; !trouble && i < 2; i++)
        trouble = operand(call, ll_aten_tensor(call, 1 + i), false, (enum ll_dtype)x->shape.dtype, &in[i]);
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

/* The same over and over: the first argument is a list of tensors that change, the second one of others, or a
 * number. */
const char *ll_aten_FOREACH(struct ll_aten *call)
{
    if (!ll_aten_tensor(call, 0))
        return wants_tensors;
    const struct ll_torch_value *list = &call->node->inputs[0];
    const struct ll_torch_value *others = ll_aten_tensor(call, 1) ? &call->node->inputs[1] : NULL;
    const char *trouble = NULL;
    for (uint32_t i = 0; !trouble && i < list->count; i++) {
        if (list->tensors[i].absent)
            continue;
        const struct ll_torch_tensor *tensors[] = {&list->tensors[i],
                                                   others && i < others->count ? &others->tensors[i] : NULL};
        trouble = element_wise(call, call->row->kind, tensors, 2, tensors[0]);
    }
    return trouble;
}

/* A choice element by element; all is seen in the shape of what comes out. */
static const char *choose(struct ll_aten *call, const struct ll_torch_tensor *condition,
                          const struct ll_torch_tensor *a, const struct ll_torch_tensor *b)
{
    const struct ll_torch_tensor *result = ll_aten_result(call, 0), *model = result ? result : a ? a : b;
    if (!condition || !model)
        return wants_tensors;
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
        return wants_tensors;
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
    return x ? copy_as(call, x, &x->shape) : wants_tensors;
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
        return wants_tensors;
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
        return wants_tensors;
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
        return wants_tensors;
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
        return wants_tensors;
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
        return wants_tensors;
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
        return wants_tensors;
    const struct ll_shape *drawn = result ? &result->shape : &x->shape;
    const struct ll_imported step = ll_aten_constant(call, (enum ll_dtype)drawn->dtype);
    return ll_aten_do_to(
        call, &(struct ll_import_op){
                  .kind = call->row->kind, .in = &step, .in_count = 1, .given = drawn, .given_count = 1});
}
