/* SPDX-License-Identifier: Apache-2.0 */
/* What rules ask of the node at work, and what they make: values, their layouts, their elements. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/str.h"
#include "tracer/convert/onnx/onnx.h"

bool onnx_refuse(struct onnx *o, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    ll_vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ll_complain(o->import->diags, (struct ll_place){.file = o->file.path}, "%.60s `%.100s`: %s (%s)",
                       o->node->type, o->node->name, text, onnx_place(o, o->node));
}

void onnx_note(struct onnx *o, const char *words)
{
    if (o->import->notes)
        ll_complain(o->import->notes, (struct ll_place){.file = o->file.path}, "%.60s `%.100s`: %s (%s)",
                    o->node->type, o->node->name, words, onnx_place(o, o->node));
}

const char *onnx_place(struct onnx *o, const struct onnx_node *node)
{
    const struct onnx_function *f = node->call ? node->call->function : NULL;
    int64_t version = onnx_version(&o->file, node, node->domain);
    const char *in = f ? ll_format(&o->import->arena, " of function %.60s.%.60s", f->domain, f->name) : "";
    const char *opset =
        version ? ll_format(&o->import->arena, "opset %lld", (long long)version) : "of no opset";
    const char *place = in && opset ? ll_format(&o->import->arena, "node %llu%s, domain %.60s, %s",
                                                (unsigned long long)node->number, in,
                                                *node->domain ? node->domain : "ai.onnx", opset)
                                    : NULL;
    return place ? place : "memory ran out";
}

struct onnx_value *onnx_input(struct onnx *o, uint32_t i)
{
    assert(o->node);
    if (i >= o->node->input_count || o->node->inputs[i] == LL_NO_ID)
        return NULL;
    return &o->values[o->node->inputs[i]];
}

struct onnx_value *onnx_need(struct onnx *o, uint32_t i)
{
    struct onnx_value *value = onnx_input(o, i);
    if (value && !value->list && !value->absent)
        return value;
    if (value)
        onnx_refuse(o, "input %u is %s", i, value->list ? "a list of tensors" : "not there");
    else
        onnx_refuse(o, "input %u is missing", i);
    return NULL;
}

double *onnx_room(struct onnx *o, uint64_t count)
{
    if (count > ONNX_MOST_NUMBERS || count > o->numbers_left)
        return NULL;
    o->numbers_left -= count;
    return ll_alloc(&o->import->arena, count, sizeof(double));
}

/* From the file where the value is an initializer, else what a fold rule computed; kept once read. */
const double *onnx_numbers(struct onnx *o, struct onnx_value *value)
{
    assert(value->shape.rank <= LL_MAX_RANK);
    if (value->numbers || !value->tensor || !value->tensor->supported)
        return value->numbers;
    uint64_t count = ll_elements(&value->tensor->shape);
    bool here = value->tensor->data_field != 0;
    double *numbers = here || value->tensor->location.at ? onnx_room(o, count) : NULL;
    if (numbers && (here ? onnx_tensor_numbers(value->tensor, numbers, count)
                         : onnx_external_numbers(&o->file, value->tensor, numbers, count)))
        value->numbers = numbers;
    return value->numbers;
}

int64_t onnx_integer(double number)
{
    if (isnan(number))
        return 0;
    if (number >= 0x1p63)
        return INT64_MAX;
    return number < -0x1p63 ? INT64_MIN : (int64_t)number;
}

static const char *text_of(struct onnx *o, struct ll_wire bytes)
{
    const char *text = ll_wire_text(bytes, &o->import->arena);
    return text ? text : "";
}

bool onnx_knows(struct onnx *o, uint32_t i)
{
    struct onnx_value *value = onnx_input(o, i);
    return value && onnx_numbers(o, value) != NULL;
}

bool onnx_told(struct onnx *o, uint32_t i, struct ll_shape *shape)
{
    uint32_t id = i < o->node->output_count ? o->node->outputs[i] : LL_NO_ID;
    const struct onnx_info *info = id == LL_NO_ID || o->resized ? NULL : o->told[id];
    if (!info)
        return false;
    *shape = info->shape;
    for (unsigned d = 0; d < shape->rank; d++)
        if (info->open[d] && (!*info->open[d] ||
                              !ll_import_count(o->import, info->open[d], 1, UINT32_MAX, 0, &shape->dim[d]) ||
                              shape->dim[d] == 0))
            return false;
    return ll_fits(ll_size_bytes(shape));
}

bool onnx_told_instead(struct onnx *o, uint32_t from, struct ll_shape *shape)
{
    return onnx_input(o, from) && !onnx_knows(o, from) && onnx_told(o, 0, shape);
}

bool onnx_need_integers(struct onnx *o, uint32_t i, int64_t *values, uint64_t most, uint64_t *count)
{
    assert(values && count);
    struct onnx_value *value = onnx_need(o, i);
    const double *numbers = value ? onnx_numbers(o, value) : NULL;
    if (!value)
        return false;
    *count = ll_elements(&value->shape);
    if (!numbers && value->tensor && value->tensor->location.at)
        return onnx_refuse(
            o,
            "input %u decides about sizes, but its elements cannot be read from `%.100s`, which "
            "should be a file beside the model",
            i, text_of(o, value->tensor->location));
    if (!numbers || *count > most)
        return onnx_refuse(o, "input %u decides about sizes, but its elements are not known before it runs",
                           i);
    for (uint64_t k = 0; k < *count; k++)
        values[k] = onnx_integer(numbers[k]);
    return true;
}

int64_t onnx_attr_integer(struct onnx *o, const char *name, int64_t otherwise)
{
    assert(o->node);
    struct onnx_attr attr;
    return onnx_attr_find(o->node, name, &attr) ? attr.integer : otherwise;
}

double onnx_attr_real(struct onnx *o, const char *name, double otherwise)
{
    assert(o->node);
    struct onnx_attr attr;
    return onnx_attr_find(o->node, name, &attr) ? attr.real : otherwise;
}

bool onnx_attr_has(struct onnx *o, const char *name)
{
    assert(o->node);
    struct onnx_attr attr;
    return onnx_attr_find(o->node, name, &attr);
}

uint64_t onnx_attr_list(struct onnx *o, const char *name, int64_t *values, uint64_t most)
{
    assert(values || most == 0);
    struct onnx_attr attr;
    return onnx_attr_find(o->node, name, &attr) ? onnx_attr_integers(&attr, values, most) : 0;
}

bool onnx_attr_is(struct onnx *o, const char *name, const char *text)
{
    struct onnx_attr attr;
    return onnx_attr_find(o->node, name, &attr) && (size_t)(attr.text.end - attr.text.at) == strlen(text) &&
           memcmp(attr.text.at, text, strlen(text)) == 0;
}

bool onnx_axis(struct onnx *o, int64_t axis, unsigned rank, unsigned *result)
{
    assert(rank <= LL_MAX_RANK);
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return onnx_refuse(o, "there is no axis %lld of %u", (long long)axis, rank);
    *result = (unsigned)(axis < 0 ? axis + rank : axis);
    return true;
}

bool onnx_is_image(const struct onnx *o, const struct onnx_value *value)
{
    const struct onnx_value *base = &o->values[value->base];
    return base == value && value->has[ONNX_IMAGE] && !value->has[ONNX_PLAIN];
}

static struct ll_shape image_of(const struct ll_shape *shape)
{
    static const uint8_t roles[4] = {LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL};
    struct ll_shape image = {.rank = 4, .dtype = shape->dtype, .dim = {shape->dim[0], 1, 1, shape->dim[1]}};
    memcpy(image.role, roles, sizeof roles);
    for (unsigned i = 2; i < shape->rank; i++) {
        image.dim[1] = ll_mul(image.dim[1], image.dim[2]);
        image.dim[2] = shape->dim[i];
    }
    return image;
}

static struct ll_shape filter_of(const struct ll_shape *shape)
{
    struct ll_shape filter = {.rank = 4, .dtype = shape->dtype};
    filter.dim[0] = shape->rank >= 4 ? shape->dim[shape->rank - 2u] : 1;
    filter.dim[1] = shape->dim[shape->rank - 1u];
    filter.dim[2] = shape->rank == 5 ? ll_mul(shape->dim[1], shape->dim[2]) : shape->dim[1];
    filter.dim[3] = shape->dim[0];
    return filter;
}

struct ll_shape onnx_lay_out(const struct ll_shape *shape, enum onnx_layout layout)
{
    assert(layout < ONNX_LAYOUTS);
    if (layout == ONNX_IMAGE)
        return image_of(shape);
    return layout == ONNX_FILTER ? filter_of(shape) : *shape;
}

bool onnx_emit(struct onnx *o, const struct ll_import_op *op, struct ll_imported *out)
{
    assert(o->node && o->row);
    struct ll_import_op whole = *op;
    whole.scope = o->node->name[0] == '/' ? o->node->name + 1 : o->node->name;
    whole.memory = LL_ACTIVATION;
    const char *trouble = (o->folding ? ll_import_look : ll_import_record)(o->import, &whole, out);
    return trouble ? onnx_refuse(o, "%s", trouble) : true;
}

/* One output; classes, scope and times are those of the node. */
bool onnx_emit_simple(struct onnx *o, enum ll_op_kind kind, const struct ll_imported *in, uint32_t in_count,
                      const struct ll_shape *given, struct ll_imported *out)
{
    assert(kind < LL_OP_NONE && (in || in_count == 0));
    struct ll_imported outs[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {
        .kind = kind, .in = in, .in_count = in_count, .given = given, .given_count = given ? 1 : 0};
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

static bool same_shape(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Where dimensions stay, what they mean stays. */
struct ll_imported onnx_view(struct onnx *o, struct ll_imported held, const struct ll_shape *shape)
{
    assert(shape->rank <= LL_MAX_RANK);
    struct ll_shape seen = *shape;
    struct ll_imported out = {LL_NONE, seen};
    seen.dtype = held.shape.dtype;
    if (same_shape(&held.shape, &seen))
        return held;
    out.shape = seen;
    onnx_emit_simple(o, LL_OP_RESHAPE, &held, 1, &seen, &out);
    return out;
}

/* The name of a value; where it is none of its own, of another that has it. */
static const char *name_of(struct onnx *o, uint32_t id)
{
    const struct ll_map_entry *entry = &o->file.names.entries[id];
    const uint8_t *bytes = entry->bytes;
    return text_of(o, (struct ll_wire){bytes, bytes + entry->length});
}

/* A constant or an input comes into the trace in the layout in which it is first asked for. */
static struct ll_imported bring(struct onnx *o, const struct onnx_value *value, const struct ll_shape *shape)
{
    const char *name = name_of(o, (uint32_t)(value - o->values));
    struct ll_imported out = {LL_NONE, *shape};
    if (o->folding)
        return out;
    if (value->constant)
        return ll_import_tensor(o->import, name, shape, value->memory);
    const struct ll_import_op op = {.kind = LL_OP_HOST_INPUT,
                                    .phase = LL_PHASE_INPUT,
                                    .scope = name,
                                    .given = shape,
                                    .given_count = 1,
                                    .names = &name,
                                    .memory = LL_INPUT};
    const char *trouble = ll_import_record(o->import, &op, &out);
    if (trouble)
        onnx_refuse(o, "%s", trouble);
    return out;
}

/* The layout in which a value is in the trace already; ONNX_LAYOUTS if in none. */
static enum onnx_layout present(const struct onnx_value *value)
{
    unsigned layout = 0;
    while (layout < ONNX_LAYOUTS && !value->has[layout])
        layout++;
    return (enum onnx_layout)layout;
}

/* A value may be held in several layouts, which name the dimensions of the same elements. What is asked for
 * and not held yet is a view of another layout or of the value that this one is a view of; a constant that
 * nobody has used is brought. */
struct ll_imported onnx_take(struct onnx *o, struct onnx_value *value, enum onnx_layout layout)
{
    assert(layout < ONNX_LAYOUTS);
    struct ll_shape shape = onnx_lay_out(&value->shape, layout);
    struct onnx_value *base = &o->values[value->base];
    if (value->has[layout])
        return value->held[layout];
    if (o->folding)
        return (struct ll_imported){LL_NONE, shape};
    enum onnx_layout there = present(value), base_there = present(base);
    if (there != ONNX_LAYOUTS)
        value->held[layout] = onnx_view(o, value->held[there], &shape);
    else if (base == value)
        value->held[layout] = bring(o, value, &shape);
    else
        value->held[layout] =
            onnx_view(o, onnx_take(o, base, base_there == ONNX_LAYOUTS ? ONNX_PLAIN : base_there), &shape);
    value->has[layout] = true;
    return value->held[layout];
}

struct ll_imported onnx_take_part(struct onnx *o, struct onnx_value *value, const struct ll_shape *shape)
{
    assert(shape->rank <= LL_MAX_RANK);
    struct ll_imported out = {LL_NONE, *shape};
    out.shape.dtype = value->shape.dtype;
    if (value->constant) {
        o->values[value->base].read = true; /* it is there as its parts */
        return bring(o, value, &out.shape);
    }
    const struct ll_imported whole = onnx_take(o, value, ONNX_PLAIN);
    onnx_emit_simple(o, LL_OP_SEEN_AS, &whole, 1, &out.shape, &out);
    return out;
}

/* Output i as a value that nothing is known of; NULL when nobody asked for it. */
static struct onnx_value *output(struct onnx *o, uint32_t i)
{
    if (i >= o->node->output_count || o->node->outputs[i] == LL_NO_ID)
        return NULL;
    uint32_t id = o->node->outputs[i];
    o->values[id] = (struct onnx_value){
        .known = true, .made = true, .constant = o->folding, .base = id, .memory = LL_WORKSPACE};
    return &o->values[id];
}

/* What is computed from weights alone is a weight. */
static enum ll_memory_class constant_memory(struct onnx *o)
{
    for (uint32_t i = 0; i < o->node->input_count; i++) {
        const struct onnx_value *in = onnx_input(o, i);
        if (in && in->constant && in->memory == LL_WEIGHT)
            return LL_WEIGHT;
    }
    return LL_WORKSPACE;
}

void onnx_put(struct onnx *o, uint32_t i, struct ll_imported held, enum onnx_layout layout,
              const struct ll_shape *shape)
{
    assert(layout < ONNX_LAYOUTS && shape->rank <= LL_MAX_RANK);
    struct onnx_value *value = output(o, i);
    if (!value)
        return;
    value->shape = *shape;
    value->shape.dtype = held.shape.dtype;
    value->has[layout] = !o->folding;
    value->held[layout] = held;
    if (o->folding)
        value->memory = constant_memory(o);
}

void onnx_put_view(struct onnx *o, uint32_t i, const struct onnx_value *value, const struct ll_shape *shape)
{
    assert(shape->rank <= LL_MAX_RANK);
    const struct onnx_value from = *value;
    struct onnx_value *out = output(o, i);
    if (!out)
        return;
    out->shape = *shape;
    out->shape.dtype = from.shape.dtype;
    out->constant = from.constant;
    out->base = from.base;
    out->memory = from.memory;
}

void onnx_put_constant(struct onnx *o, uint32_t i, const struct ll_shape *shape, const double *numbers)
{
    assert(shape->rank <= LL_MAX_RANK);
    struct onnx_value *value = output(o, i);
    if (!value)
        return;
    value->constant = true;
    value->shape = *shape;
    value->numbers = numbers;
}

/* From the last dimension on, 1 stretches to the other's extent; missing dimensions count as 1. */
bool onnx_broadcast(const struct ll_shape *a, const struct ll_shape *b, struct ll_shape *out)
{
    const struct ll_shape *longer = a->rank >= b->rank ? a : b, *other = longer == a ? b : a;
    *out = *longer;
    for (unsigned i = 0; i < other->rank; i++) {
        unsigned at = longer->rank - 1u - i, from = other->rank - 1u - i;
        if (out->dim[at] == 1)
            out->dim[at] = other->dim[from];
        else if (other->dim[from] != 1 && other->dim[from] != out->dim[at])
            return false;
    }
    assert(out->rank >= a->rank && out->rank >= b->rank);
    assert(out->rank >= a->rank && out->rank >= b->rank);
    return true;
}

/* The elements of what is computed from constants, where they are few: exporters leave much arithmetic about
 * sizes in a network, and reshapes, slices and loops depend on it. A rule has told the shapes before. */

/* Functions of one number and of two. */
#define UNARY_LIST(X)                                                                                        \
    X(SQRT, sqrt(a))                                                                                         \
    X(NEG, -a)                                                                                               \
    X(ABS, fabs(a))                                                                                          \
    X(FLOOR, floor(a))                                                                                       \
    X(CEIL, ceil(a))                                                                                         \
    X(NOT, a == 0)
#define BINARY_LIST(X)                                                                                       \
    X(ADD, a + b)                                                                                            \
    X(SUB, a - b)                                                                                            \
    X(MUL, a *b)                                                                                             \
    X(MOD, b == 0 ? 0 : a - floor(a / b) * b)                                                                \
    X(POW, pow(a, b))                                                                                        \
    X(AND, a != 0 && b != 0)                                                                                 \
    X(OR, a != 0 || b != 0)                                                                                  \
    X(EQUAL, a == b)                                                                                         \
    X(LESS, a < b)                                                                                           \
    X(LESS_EQUAL, a <= b)                                                                                    \
    X(GREATER, a > b)                                                                                        \
    X(GREATER_EQUAL, a >= b)                                                                                 \
    X(MAX, a > b ? a : b)                                                                                    \
    X(MIN, a < b ? a : b)

static const double *numbers_of(struct onnx *o, uint32_t i)
{
    struct onnx_value *value = onnx_input(o, i);
    return value ? onnx_numbers(o, value) : NULL;
}

static bool map(struct onnx *o, double (*function)(double), double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    for (uint64_t i = 0; in && i < count; i++)
        out[i] = function(in[i]);
    return in != NULL;
}

/* Place i of a shape in another one that is repeated to it; counted in elements. */
static uint64_t repeated_place(const struct ll_shape *wide, uint64_t i, const struct ll_shape *narrow)
{
    uint64_t place = 0, stride = 1;
    for (unsigned d = 0; d < narrow->rank && d < wide->rank; d++) {
        uint64_t extent = narrow->dim[narrow->rank - 1u - d], whole = wide->dim[wide->rank - 1u - d];
        uint64_t at = whole ? i % whole : 0;
        place += (extent == 1 ? 0 : at) * stride;
        stride *= extent;
        i = whole ? i / whole : 0;
    }
    return place;
}

static bool map_pairs(struct onnx *o, double (*function)(double, double), double *out, uint64_t count)
{
    const double *a = numbers_of(o, 0), *b = numbers_of(o, 1);
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    for (uint64_t i = 0; a && b && i < count; i++)
        out[i] = function(a[repeated_place(shape, i, &onnx_input(o, 0)->shape)],
                          b[repeated_place(shape, i, &onnx_input(o, 1)->shape)]);
    return a && b && o->node->input_count == 2;
}

#define X(word, expression)                                                                                  \
    static double number_##word(double a)                                                                    \
    {                                                                                                        \
        return expression;                                                                                   \
    }                                                                                                        \
    bool onnx_fold_##word(struct onnx *o, double *out, uint64_t count)                                       \
    {                                                                                                        \
        return map(o, number_##word, out, count);                                                            \
    }
UNARY_LIST(X)
#undef X

#define X(word, expression)                                                                                  \
    static double number_##word(double a, double b)                                                          \
    {                                                                                                        \
        return expression;                                                                                   \
    }                                                                                                        \
    bool onnx_fold_##word(struct onnx *o, double *out, uint64_t count)                                       \
    {                                                                                                        \
        return map_pairs(o, number_##word, out, count);                                                      \
    }
BINARY_LIST(X)
#undef X

static double divide_whole(double a, double b)
{
    return b == 0 ? 0 : trunc(a / b);
}

static double divide(double a, double b)
{
    return a / b;
}

static bool is_whole(const struct ll_shape *shape)
{
    return shape->dtype >= LL_I64;
}

bool onnx_fold_DIV(struct onnx *o, double *out, uint64_t count)
{
    return map_pairs(o, is_whole(&onnx_input(o, 0)->shape) ? divide_whole : divide, out, count);
}

bool onnx_fold_WHERE(struct onnx *o, double *out, uint64_t count)
{
    const double *in[3] = {numbers_of(o, 0), numbers_of(o, 1), numbers_of(o, 2)};
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    if (!in[0] || !in[1] || !in[2])
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t which = in[0][repeated_place(shape, i, &onnx_input(o, 0)->shape)] != 0 ? 1 : 2;
        out[i] = in[which][repeated_place(shape, i, &onnx_input(o, which)->shape)];
    }
    return true;
}

bool onnx_fold_EXPAND(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    for (uint64_t i = 0; in && i < count; i++)
        out[i] = in[repeated_place(shape, i, &onnx_input(o, 0)->shape)];
    return in != NULL;
}

bool onnx_fold_SAME(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    if (in && ll_elements(&onnx_input(o, 0)->shape) == count)
        memcpy(out, in, count * sizeof *out);
    return in && ll_elements(&onnx_input(o, 0)->shape) == count;
}

/* What has become whole has lost its fraction. */
bool onnx_fold_CAST(struct onnx *o, double *out, uint64_t count)
{
    const struct ll_shape *shape = &o->values[o->node->outputs[0]].shape;
    if (!onnx_fold_SAME(o, out, count))
        return false;
    for (uint64_t i = 0; i < count; i++)
        out[i] = shape->dtype == LL_BOOL ? out[i] != 0 : is_whole(shape) ? trunc(out[i]) : out[i];
    return true;
}

/* Lists one after the other. */
bool onnx_fold_CONCAT(struct onnx *o, double *out, uint64_t count)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < o->node->input_count; i++) {
        const double *in = numbers_of(o, i);
        uint64_t size = in ? ll_elements(&onnx_input(o, i)->shape) : 0;
        if (!in || onnx_input(o, i)->shape.rank != 1 || size > count - done)
            return false;
        memcpy(out + done, in, size * sizeof *out);
        done += size;
    }
    return done == count;
}

/* Element i of a shape, in elements of another tensor whose dimension d has a stride of its own. */
static uint64_t strided_place(const struct ll_shape *shape, uint64_t i, const uint64_t *stride)
{
    uint64_t place = 0;
    for (unsigned d = shape->rank; d-- > 0;) {
        uint64_t extent = shape->dim[d] ? shape->dim[d] : 1;
        place += i % extent * stride[d];
        i /= extent;
    }
    return place;
}

/* Strides of a tensor whose last dimension is contiguous. */
static void find_strides(const struct ll_shape *shape, uint64_t *stride)
{
    uint64_t elements = 1;
    for (unsigned d = shape->rank; d-- > 0;) {
        stride[d] = elements;
        elements *= shape->dim[d];
    }
}

bool onnx_fold_SLICE(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    const struct ll_shape *x = &onnx_input(o, 0)->shape, *y = &o->values[o->node->outputs[0]].shape;
    struct onnx_cuts cuts = {0};
    uint64_t stride[LL_MAX_RANK], first = 0, elements = ll_elements(x);
    if (!in || !onnx_read_cuts(o, x, &cuts))
        return false;
    find_strides(x, stride);
    for (unsigned d = 0; d < x->rank; d++) {
        first += cuts.begin[d] * stride[d];
        stride[d] *= (uint64_t)cuts.step[d]; /* a step back is one modulo 2^64 */
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = first + strided_place(y, i, stride);
        if (at >= elements)
            return false;
        out[i] = in[at];
    }
    return true;
}

bool onnx_fold_TRANSPOSE(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    const struct ll_shape *x = &onnx_input(o, 0)->shape, *y = &o->values[o->node->outputs[0]].shape;
    uint64_t stride[LL_MAX_RANK], from[LL_MAX_RANK];
    int64_t order[LL_MAX_RANK];
    uint64_t given = onnx_attr_list(o, "perm", order, LL_MAX_RANK);
    if (!in)
        return false;
    find_strides(x, stride);
    for (unsigned d = 0; d < x->rank; d++)
        from[d] = stride[given ? (uint64_t)order[d] : x->rank - 1u - d];
    for (uint64_t i = 0; i < count; i++)
        out[i] = in[strided_place(y, i, from)];
    return true;
}

/* Along the first axis. */
bool onnx_fold_GATHER(struct onnx *o, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0), *indices = numbers_of(o, 1);
    int64_t axis = onnx_attr_integer(o, "axis", 0);
    if (!in || !indices || (axis != 0 && axis != -(int64_t)onnx_input(o, 0)->shape.rank))
        return false;
    int64_t rows = (int64_t)onnx_input(o, 0)->shape.dim[0];
    uint64_t picked = ll_elements(&onnx_input(o, 1)->shape);
    uint64_t row = rows ? ll_elements(&onnx_input(o, 0)->shape) / (uint64_t)rows : 0;
    for (uint64_t i = 0; i < picked; i++) {
        int64_t at = onnx_integer(indices[i]);
        at = at < 0 && at >= -rows ? at + rows : at;
        if (at < 0 || at >= rows || ll_mul(i + 1, row) > count)
            return false;
        memcpy(out + i * row, in + (uint64_t)at * row, row * sizeof *out);
    }
    return ll_mul(picked, row) == count;
}

/* All of a list. */
static bool reduce(struct onnx *o, bool product, double *out, uint64_t count)
{
    const double *in = numbers_of(o, 0);
    double result = product;
    if (!in || count != 1)
        return false;
    for (uint64_t i = 0; i < ll_elements(&onnx_input(o, 0)->shape); i++)
        result = product ? result * in[i] : result + in[i];
    *out = result;
    return true;
}

bool onnx_fold_SUM(struct onnx *o, double *out, uint64_t count)
{
    return reduce(o, false, out, count);
}

bool onnx_fold_PROD(struct onnx *o, double *out, uint64_t count)
{
    return reduce(o, true, out, count);
}
