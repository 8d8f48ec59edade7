/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that work element by element, and of GEMMs, einsum and recurrent layers. */
#include <assert.h>
#include <string.h>

#include "tracer/convert/onnx/onnx.h"

/* One op on each element of a value. */
static bool apply(struct onnx *o, enum ll_op_kind kind, struct onnx_value *x, struct ll_imported *y,
                  enum onnx_layout *layout)
{
    *layout = onnx_layout_of(o, x);
    struct ll_imported in = onnx_take(o, x, *layout);
    return onnx_emit_simple(o, kind, &in, 1, NULL, y);
}

/* Operators that are one element-wise op of the row's kind: Relu, Exp, Tanh, ... */
bool onnx_rule_UNARY(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    enum onnx_layout layout;
    if (!x || !apply(o, o->row->kind, x, &y, &layout))
        return false;
    const struct ll_shape shape = x->shape;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

/* The same with a truth of each element. */
bool onnx_rule_TEST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    const enum ll_dtype truth = LL_BOOL;
    struct ll_imported y[LL_MAX_OUTPUTS];
    if (!x)
        return false;
    enum onnx_layout layout = onnx_layout_of(o, x);
    const struct ll_imported in = onnx_take(o, x, layout);
    const struct ll_shape shape = x->shape;
    const struct ll_import_op op = {.kind = o->row->kind, .in = &in, .in_count = 1, .dtype = &truth};
    if (!onnx_emit(o, &op, y))
        return false;
    onnx_put(o, 0, y[0], layout, &shape);
    return true;
}

/* x tanh(log(1 + exp x)) (Misra, 2019) */
bool onnx_rule_MISH(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    enum onnx_layout layout;
    if (!x || !apply(o, LL_OP_SOFTPLUS, x, &y, &layout) || !onnx_emit_simple(o, LL_OP_TANH, &y, 1, NULL, &y))
        return false;
    const struct ll_imported pair[2] = {onnx_take(o, x, layout), y};
    const struct ll_shape shape = x->shape;
    if (!onnx_emit_simple(o, LL_OP_MUL, pair, 2, NULL, &y))
        return false;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

bool onnx_swish(struct onnx *o, struct ll_imported x, struct ll_imported *out)
{
    struct ll_imported pair[2] = {x};
    return onnx_emit_simple(o, LL_OP_SIGMOID, &x, 1, NULL, &pair[1]) &&
           onnx_emit_simple(o, LL_OP_MUL, pair, 2, NULL, out);
}

/* Its factor within the sigmoid costs nothing. */
bool onnx_rule_SWISH(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    struct ll_imported y;
    if (!x)
        return false;
    enum onnx_layout layout = onnx_layout_of(o, x);
    const struct ll_shape shape = x->shape;
    if (!onnx_swish(o, onnx_take(o, x, layout), &y))
        return false;
    onnx_put(o, 0, y, layout, &shape);
    return true;
}

/* Where input 2 says that it trains, elements are drawn and left out; else nothing happens to them, nor where
 * only a run knows, for what is imported is an inference. */
bool onnx_rule_DROPOUT(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *trains = onnx_input(o, 2), *ratio = onnx_input(o, 1);
    const double *training = trains ? onnx_numbers(o, trains) : NULL,
                 *share = ratio ? onnx_numbers(o, ratio) : NULL;
    if (!x)
        return false;
    if (trains && !training)
        onnx_note(o, "whether it trains is not known before it runs; as in an inference, it does not");
    if (!training || *training == 0 || (share && *share == 0))
        return onnx_rule_IDENTITY(o);
    const struct ll_attr keep = {.key = LL_ATTR_KEEP, .real = 1 - (share ? *share : 0.5)};
    const struct ll_shape scalar = {.dtype = LL_F32}, shape = x->shape;
    enum onnx_layout layout = onnx_layout_of(o, x);
    struct ll_imported in[2] = {onnx_take(o, x, layout), {LL_NONE, scalar}}, out[LL_MAX_OUTPUTS];
    if (!o->folding)
        in[1] = ll_import_tensor(o->import, "step", &scalar, LL_WORKSPACE);
    const struct ll_import_op op = {
        .kind = LL_OP_DROPOUT, .in = in, .in_count = 2, .attrs = &keep, .attr_count = 1};
    if (!onnx_emit(o, &op, out))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        onnx_put(o, i, out[i], layout, &shape);
    return true;
}

/* A value as one of two that are joined: dimensions of 1 in front until it has `rank`, then laid out. */
static struct ll_imported take_padded(struct onnx *o, struct onnx_value *value, unsigned rank,
                                      enum onnx_layout layout)
{
    if (layout == ONNX_PLAIN || value->shape.rank == rank || value->shape.rank == 0)
        return onnx_take(o, value, value->shape.rank == 0 ? ONNX_PLAIN : layout);
    struct ll_shape padded = {.rank = (uint8_t)rank, .dtype = value->shape.dtype};
    unsigned before = rank - value->shape.rank;
    for (unsigned i = 0; i < rank; i++)
        padded.dim[i] = i < before ? 1 : value->shape.dim[i - before];
    padded = onnx_lay_out(&padded, layout);
    return onnx_view(o, onnx_take(o, value, ONNX_PLAIN), &padded);
}

/* Values to be joined element by element: in which layout, and the shape that comes out. */
static bool join(struct onnx *o, struct onnx_value *const *values, uint32_t count, struct ll_shape *shape,
                 enum onnx_layout *layout)
{
    *shape = values[0]->shape;
    *layout = onnx_layout_of(o, values[0]);
    for (uint32_t i = 1; i < count; i++) {
        struct ll_shape joined;
        if (!onnx_broadcast(shape, &values[i]->shape, &joined))
            return onnx_refuse(o, "the dimensions of its inputs do not fit together");
        *shape = joined;
        if (onnx_is_image(o, values[i]))
            *layout = ONNX_IMAGE;
    }
    if (shape->rank < 3 || shape->rank > 4)
        *layout = ONNX_PLAIN;
    return true;
}

/* Both of the same type: the second as the first. */
static bool alike(struct onnx *o, const struct ll_imported *first, struct ll_imported *second)
{
    if (first->shape.dtype == second->shape.dtype)
        return true;
    struct ll_shape shape = second->shape;
    shape.dtype = first->shape.dtype;
    const struct ll_imported in = *second;
    return onnx_emit_simple(o, LL_OP_CAST, &in, 1, &shape, second);
}

/* Up to version 6 the dimensions of the second lie at those of the first from `axis` on; the slopes of PRelu
 * are those of channels. *seen: its dimensions as NumPy wants them; false where they are so already. */
static bool lies_at_axis(struct onnx *o, const struct ll_shape *a, const struct ll_shape *b,
                         struct ll_shape *seen)
{
    bool slopes = o->row->kind == LL_OP_PRELU, old = o->file.opset > 0 && o->file.opset < 7;
    int64_t axis = onnx_attr_integer(o, "axis", slopes ? 1 : -1);
    if (!old || b->rank == 0 || ll_elements(b) == 1 || axis < 0 || axis + b->rank >= a->rank)
        return false;
    *seen = (struct ll_shape){.rank = a->rank, .dtype = b->dtype};
    for (unsigned i = 0; i < a->rank; i++)
        seen->dim[i] = i >= axis && i - axis < b->rank ? b->dim[i - axis] : 1;
    return true;
}

/* The first input and this one. */
static bool join_two(struct onnx *o, uint32_t second)
{
    struct onnx_value *values[2] = {onnx_need(o, 0), onnx_need(o, second)};
    struct ll_shape shape, seen;
    enum onnx_layout layout;
    if (!values[0] || !values[1])
        return false;
    bool at_axis = lies_at_axis(o, &values[0]->shape, &values[1]->shape, &seen);
    if (!join(o, values, at_axis ? 1 : 2, &shape, &layout))
        return false;
    struct ll_shape fits;
    if (at_axis && (!onnx_broadcast(&shape, &seen, &fits) || fits.rank != shape.rank))
        return onnx_refuse(o, "the dimensions of its inputs do not fit together");
    struct ll_imported in[2], out;
    for (unsigned i = 0; i < 2; i++)
        in[i] = take_padded(o, values[i], shape.rank, i == 1 && at_axis ? ONNX_PLAIN : layout);
    if (at_axis) {
        seen = onnx_lay_out(&seen, layout);
        in[1] = onnx_view(o, in[1], &seen);
    }
    if (!alike(o, &in[0], &in[1]) || !onnx_emit_simple(o, o->row->kind, in, 2, NULL, &out))
        return false;
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

bool onnx_rule_BINARY(struct onnx *o)
{
    return join_two(o, 1);
}

/* com.microsoft: of bytes, each behind which its scale and zero point stand. */
bool onnx_rule_QLINEAR_BINARY(struct onnx *o)
{
    return join_two(o, 3);
}

/* BiasGelu of ONNX Runtime: gelu(x + bias), an add and a gelu here. */
bool onnx_rule_BIAS_GELU(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *bias = onnx_need(o, 1);
    if (!x || !bias)
        return false;
    struct ll_imported in[2] = {onnx_take(o, x, ONNX_PLAIN), onnx_take(o, bias, ONNX_PLAIN)}, out;
    const struct ll_shape shape = x->shape;
    if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, &out) ||
        !onnx_emit_simple(o, LL_OP_GELU, &out, 1, NULL, &out))
        return false;
    onnx_put(o, 0, out, ONNX_PLAIN, &shape);
    return true;
}

/* Any number of inputs, joined two by two. */
bool onnx_rule_MANY(struct onnx *o)
{
    uint32_t count = o->node->input_count;
    struct onnx_value **values = ll_alloc(&o->import->arena, (size_t)count + 1, sizeof *values);
    struct ll_shape shape;
    enum onnx_layout layout;
    if (!values)
        return ll_import_no_memory(o->import);
    for (uint32_t i = 0; i < count; i++)
        if (!(values[i] = onnx_need(o, i)))
            return false;
    if (count == 0 || !join(o, values, count, &shape, &layout))
        return count == 0 ? onnx_refuse(o, "there is nothing to join") : false;
    struct ll_imported out = take_padded(o, values[0], shape.rank, layout);
    for (uint32_t i = 1; i < count; i++) {
        struct ll_imported in[2] = {out, take_padded(o, values[i], shape.rank, layout)};
        if (!alike(o, &in[0], &in[1]) || !onnx_emit_simple(o, o->row->kind, in, 2, NULL, &out))
            return false;
    }
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

/* Where(condition, x, y): the three shapes are joined by broadcasting, and each operand is expanded where it
 * is smaller. */
bool onnx_rule_WHERE(struct onnx *o)
{
    struct onnx_value *values[3] = {onnx_need(o, 0), onnx_need(o, 1), onnx_need(o, 2)};
    struct ll_shape shape;
    enum onnx_layout layout;
    if (!values[0] || !values[1] || !values[2] || !join(o, values, 3, &shape, &layout))
        return false;
    struct ll_imported in[3], out;
    for (unsigned i = 0; i < 3; i++)
        in[i] = take_padded(o, values[i], shape.rank, layout);
    if (!alike(o, &in[1], &in[2]) || !onnx_emit_simple(o, LL_OP_WHERE, in, 3, NULL, &out))
        return false;
    onnx_put(o, 0, out, layout, &shape);
    return true;
}

static bool convert(struct onnx *o, struct onnx_value *x, enum ll_op_kind kind, uint8_t dtype)
{
    enum onnx_layout layout = onnx_layout_of(o, x);
    struct ll_imported in = onnx_take(o, x, layout), out;
    struct ll_shape shape = in.shape;
    const struct ll_shape seen = x->shape;
    shape.dtype = dtype;
    if (!onnx_emit_simple(o, kind, &in, 1, &shape, &out))
        return false;
    onnx_put(o, 0, out, layout, &seen);
    return true;
}

/* To the type that it has already is no op. */
static bool cast(struct onnx *o, struct onnx_value *x, uint8_t dtype)
{
    const struct ll_shape seen = x->shape;
    if (dtype != seen.dtype)
        return convert(o, x, LL_OP_CAST, dtype);
    onnx_put_view(o, 0, x, &seen);
    return true;
}

/* To the type of the zero point, u8 when there is none. */
bool onnx_rule_QUANTIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *zero = onnx_input(o, 2);
    return x && convert(o, x, LL_OP_QUANTIZE, zero ? zero->shape.dtype : LL_U8);
}

/* To bytes between the least and the largest: all are looked at for either. */
bool onnx_rule_DYNAMIC_QUANTIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 0}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported ends[2][LL_MAX_OUTPUTS], zero;
    if (!x)
        return false;
    const struct ll_shape list = {.rank = 1, .dtype = x->shape.dtype, .dim = {ll_elements(&x->shape)}};
    const struct ll_imported in = onnx_view(o, onnx_take(o, x, onnx_layout_of(o, x)), &list);
    const struct ll_import_op op = {
        .kind = LL_OP_MAX, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    for (unsigned i = 0; i < 2; i++)
        if (!onnx_emit(o, &op, ends[i]))
            return false;
    const struct ll_shape scalar = {.dtype = LL_F32};
    struct ll_shape byte = ends[1][0].shape;
    byte.dtype = LL_U8;
    if (!onnx_emit_simple(o, LL_OP_CAST, ends[1], 1, &byte, &zero) || !convert(o, x, LL_OP_QUANTIZE, LL_U8))
        return false;
    onnx_put(o, 1, onnx_view(o, ends[0][0], &scalar), ONNX_PLAIN, &scalar);
    onnx_put(o, 2, onnx_view(o, zero, &scalar), ONNX_PLAIN, &scalar);
    return true;
}

/* To the type of the scale. */
bool onnx_rule_DEQUANTIZE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *scale = onnx_need(o, 1);
    return x && scale && convert(o, x, LL_OP_DEQUANTIZE, scale->shape.dtype);
}

bool onnx_rule_CAST(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0);
    uint8_t dtype = onnx_dtype(onnx_attr_integer(o, "to", 0));
    if (x && dtype == LL_DTYPE_COUNT)
        return onnx_refuse(o, "elements of such a type are not supported");
    return x && cast(o, x, dtype);
}

bool onnx_rule_CAST_LIKE(struct onnx *o)
{
    struct onnx_value *x = onnx_need(o, 0), *like = onnx_need(o, 1);
    return x && like && cast(o, x, like->shape.dtype);
}

/* Reductions. Along whichever dimensions, the elements that become one are seen side by side: what is
 * [kept, reduced] becomes [kept]. */

/* Rules of operators that are products of matrices: what they multiply is seen as a[batch, m, k] and
 * b[batch, k, n], in whatever order a library would read it. */

static struct ll_shape stack(uint64_t batch, uint64_t rows, uint64_t columns, uint8_t dtype)
{
    if (batch == 1)
        return (struct ll_shape){.rank = 2, .dtype = dtype, .dim = {rows, columns}};
    return (struct ll_shape){.rank = 3, .dtype = dtype, .dim = {batch, rows, columns}};
}

static bool multiply(struct onnx *o, struct ll_imported a, struct ll_imported b, const struct ll_gemm *gemm,
                     bool transposed, const enum ll_dtype *dtype, struct ll_imported *out)
{
    const struct ll_shape left = stack(gemm->batch, gemm->m, gemm->k, a.shape.dtype);
    const struct ll_shape right = transposed ? stack(gemm->batch, gemm->n, gemm->k, b.shape.dtype)
                                             : stack(gemm->batch, gemm->k, gemm->n, b.shape.dtype);
    const struct ll_attr attr = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    const struct ll_imported in[2] = {onnx_view(o, a, &left), onnx_view(o, b, &right)};
    const struct ll_import_op op = {.kind = gemm->batch == 1 ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL,
                                    .in = in,
                                    .in_count = 2,
                                    .attrs = &attr,
                                    .attr_count = transposed,
                                    .dtype = dtype};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

bool onnx_product(struct onnx *o, struct ll_imported a, struct ll_imported b, const struct ll_gemm *gemm,
                  bool transposed, struct ll_imported *out)
{
    return multiply(o, a, b, gemm, transposed, NULL, out);
}

/* C has to be added to the product, as a bias where it is a row. */
static bool add_to_product(struct onnx *o, struct ll_imported *y)
{
    struct onnx_value *c = onnx_input(o, 2);
    if (!c)
        return true;
    struct ll_imported in[2] = {*y, onnx_take(o, c, ONNX_PLAIN)};
    const struct ll_shape row = {.rank = 1, .dtype = c->shape.dtype, .dim = {y->shape.dim[1]}};
    bool bias = c->shape.rank > 0 && ll_elements(&c->shape) == row.dim[0] &&
                c->shape.dim[c->shape.rank - 1] == row.dim[0];
    if (bias)
        in[1] = onnx_view(o, in[1], &row);
    return onnx_emit_simple(o, bias ? LL_OP_BIAS_ADD : LL_OP_ADD, in, 2, NULL, y);
}

/* Gemm: alpha A' B' + beta C, where transA and transB say which operand is transposed. The factors are
 * applied by the kernel on the way and count for nothing; C is added unless beta is 0. */
bool onnx_rule_GEMM(struct onnx *o)
{
    struct onnx_value *a = onnx_need(o, 0), *b = onnx_need(o, 1);
    struct ll_attr attrs[2];
    uint32_t count = 0;
    struct ll_imported out[LL_MAX_OUTPUTS];
    if (!a || !b)
        return false;
    if (onnx_attr_integer(o, "transA", 0) != 0)
        attrs[count++] = (struct ll_attr){.key = LL_ATTR_TRANSPOSE_A, .count = 1};
    if (onnx_attr_integer(o, "transB", 0) != 0)
        attrs[count++] = (struct ll_attr){.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    const struct ll_imported in[2] = {onnx_take(o, a, ONNX_PLAIN), onnx_take(o, b, ONNX_PLAIN)};
    const struct ll_import_op op = {
        .kind = LL_OP_MATMUL, .in = in, .in_count = 2, .attrs = attrs, .attr_count = count};
    bool adds = onnx_attr_real(o, "beta", 1) != 0;
    if (!onnx_emit(o, &op, out) || (adds && !add_to_product(o, &out[0])))
        return false;
    const struct ll_shape shape = out[0].shape;
    onnx_put(o, 0, out[0], ONNX_PLAIN, &shape);
    return true;
}

/* A vector is a row on the left, a column on the right. */
static struct ll_shape as_matrix(const struct ll_shape *shape, bool left)
{
    if (shape->rank != 1)
        return *shape;
    struct ll_shape matrix = {.rank = 2, .dtype = shape->dtype, .dim = {1, 1}};
    matrix.dim[left] = shape->dim[0];
    return matrix;
}

/* The shape of a product of stacks, and of a side without its matrices' dimensions repeated to fit. */
static bool matmul_shape(struct onnx *o, const struct ll_shape *a, const struct ll_shape *b,
                         struct ll_shape *out)
{
    struct ll_shape left = *a, right = *b;
    if (a->rank < 2 || b->rank < 2)
        return onnx_refuse(o, "a scalar cannot be multiplied so");
    if (a->dim[a->rank - 1u] != b->dim[b->rank - 2u])
        return onnx_refuse(o, "the columns of the left matrix must be as many as the rows of the right one");
    uint64_t n = b->dim[b->rank - 1u], m = a->dim[a->rank - 2u];
    left.dim[left.rank - 1u] = left.dim[left.rank - 2u] = 1;
    right.dim[right.rank - 1u] = right.dim[right.rank - 2u] = 1;
    if (!onnx_broadcast(&left, &right, out))
        return onnx_refuse(o, "the stacks of matrices do not fit together");
    out->dim[out->rank - 2u] = m;
    out->dim[out->rank - 1u] = n;
    return true;
}

/* Dimension i of a stack of matrices, seen with as many dimensions as the result has. */
static uint64_t stacked(const struct ll_shape *side, const struct ll_shape *shape, unsigned i)
{
    unsigned missing = shape->rank - (unsigned)side->rank;
    return i < missing ? 1 : side->dim[i - missing];
}

/* Matrices that one side has once for many of the other are read once: the rows of all left ones that meet
 * the same right one are one matrix, and so are the columns of right ones. */
static struct ll_gemm joined(const struct ll_shape *left, const struct ll_shape *right,
                             const struct ll_shape *shape)
{
    struct ll_gemm gemm = {.batch = 1,
                           .m = shape->dim[shape->rank - 2u],
                           .n = shape->dim[shape->rank - 1u],
                           .k = left->dim[left->rank - 1u]};
    for (unsigned i = 0; i + 2 < shape->rank; i++) {
        uint64_t *which = stacked(right, shape, i) != shape->dim[i]  ? &gemm.m
                          : stacked(left, shape, i) != shape->dim[i] ? &gemm.n
                                                                     : &gemm.batch;
        *which = ll_mul(*which, shape->dim[i]);
    }
    return gemm;
}

/* By the right side that is this input; what comes out is of this type, NULL: of the left side's. */
static bool multiply_by(struct onnx *o, uint32_t right, const enum ll_dtype *dtype)
{
    struct onnx_value *a = onnx_need(o, 0), *b = onnx_need(o, right);
    struct ll_shape shape;
    struct ll_imported y;
    if (!a || !b)
        return false;
    struct ll_shape sides[2] = {as_matrix(&a->shape, true), as_matrix(&b->shape, false)};
    const char *const turned[2] = {"transA", "transB"};
    for (unsigned i = 0; i < 2; i++) { /* of the fused one of com.microsoft */
        struct ll_shape *side = &sides[i];
        if (onnx_attr_integer(o, turned[i], 0) != 0 && side->rank >= 2) {
            uint64_t rows = side->dim[side->rank - 2u];
            side->dim[side->rank - 2u] = side->dim[side->rank - 1u];
            side->dim[side->rank - 1u] = rows;
        }
    }
    if (!matmul_shape(o, &sides[0], &sides[1], &shape))
        return false;
    const struct ll_gemm gemm = joined(&sides[0], &sides[1], &shape);
    if (!multiply(o, onnx_take(o, a, ONNX_PLAIN), onnx_take(o, b, ONNX_PLAIN), &gemm, false, dtype, &y))
        return false;
    if (b->shape.rank == 1)
        shape.dim[--shape.rank] = 0;
    if (a->shape.rank == 1) {
        unsigned at = shape.rank - 1u - (b->shape.rank != 1);
        memmove(shape.dim + at, shape.dim + at + 1, (shape.rank - 1u - at) * sizeof *shape.dim);
        shape.dim[--shape.rank] = 0;
    }
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

bool onnx_rule_MATMUL(struct onnx *o)
{
    return multiply_by(o, 1, NULL);
}

/* Bytes in, bytes out: its scales and zero points are part of it. */
bool onnx_rule_QLINEAR_MATMUL(struct onnx *o)
{
    struct onnx_value *a = onnx_need(o, 0), *zero = onnx_input(o, 7);
    if (!a)
        return false;
    const enum ll_dtype dtype = (enum ll_dtype)(zero ? zero : a)->shape.dtype;
    return multiply_by(o, 3, &dtype);
}

bool onnx_rule_MATMUL_INTEGER(struct onnx *o)
{
    const enum ll_dtype dtype = LL_I32;
    return multiply_by(o, 1, &dtype);
}

/* com.microsoft: the same with a bias, either turned; without a zero point of the result a real one. */
bool onnx_rule_QGEMM(struct onnx *o)
{
    struct onnx_value *zero = onnx_input(o, 8);
    const enum ll_dtype dtype = zero ? (enum ll_dtype)zero->shape.dtype : LL_F32;
    return multiply_by(o, 3, &dtype);
}

/* com.microsoft: bytes in, a product times its scales out. */
bool onnx_rule_MATMUL_TO_FLOAT(struct onnx *o)
{
    struct onnx_value *scale = onnx_need(o, 2);
    const enum ll_dtype dtype = scale ? (enum ll_dtype)scale->shape.dtype : LL_F32;
    return scale && multiply_by(o, 1, &dtype);
}

/* Einsum. A letter that both sides and the result have is a stack, one that the result lacks is summed over,
 * one that only one side has is a row or a column. One side alone is moved, and summed over what the result
 * lacks. What is more (diagonals, sums of one of two sides) is refused. */
struct terms {
    char text[128];
    const char *letters[3]; /* of the two sides and of the result; of one side alone the second is empty */
};

/* Without a result it has each letter that occurs once, in the order of the alphabet. */
static void imply_result(struct terms *terms, char *out)
{
    terms->letters[2] = out;
    for (char letter = '0'; letter <= 'z'; letter++) {
        unsigned occurs = 0;
        for (unsigned side = 0; side < 2; side++)
            for (const char *at = terms->letters[side]; *at; at++)
                occurs += *at == letter;
        if (occurs == 1)
            *out++ = letter;
    }
    *out = '\0';
}

/* The letters that stand for an ellipsis of so many dimensions, the last of which all sides share. */
static const char *ellipsis(unsigned dims)
{
    static const char letters[] = "01234567"; /* which no equation has */
    return letters + (LL_MAX_RANK - dims);
}

/* How many dimensions the ellipsis of a side has: those without a letter. */
static unsigned unnamed_dims(const struct onnx *o, unsigned side, const uint8_t *at, const uint8_t *end)
{
    const struct onnx_value *value = &o->values[o->node->inputs[side]];
    unsigned letters = 0;
    for (; at < end && *at != ',' && *at != '-'; at++)
        letters += *at != ' ' && *at != '.';
    return value->shape.rank > letters ? value->shape.rank - letters : 0;
}

static bool read_equation(struct onnx *o, struct terms *terms)
{
    struct onnx_attr attr;
    size_t length = 0;
    unsigned sides = 1, dims = 0, most = 0; /* of an ellipsis */
    bool told = false;
    for (uint32_t i = 0; i < o->node->input_count; i++)
        if (!onnx_need(o, i))
            return false;
    if (!onnx_attr_find(o->node, "equation", &attr) || o->node->input_count < 1 || o->node->input_count > 2)
        return onnx_refuse(o, "only contractions of two tensors are supported");
    terms->letters[0] = terms->text;
    dims = unnamed_dims(o, 0, attr.text.at, attr.text.end);
    for (const uint8_t *at = attr.text.at; at < attr.text.end; at++) {
        if (*at == ' ' || *at == '>')
            continue;
        if (attr.text.end - at >= 3 && memcmp(at, "...", 3) == 0 && length + 64 < sizeof terms->text) {
            most = dims > most ? dims : most;
            const char *letters = ellipsis(told ? most : dims);
            memcpy(terms->text + length, letters, strlen(letters));
            length += strlen(letters);
            at += 2;
            continue;
        }
        if (2 * length + 64 > sizeof terms->text)
            return onnx_refuse(o, "its equation is too long");
        bool ends = *at == ',' || *at == '-';
        if (ends && (told || (*at == ',' && sides++ == 2)))
            return onnx_refuse(o, "its equation must have one or two sides and a result");
        terms->text[length++] = ends ? '\0' : (char)*at;
        if (ends)
            terms->letters[*at == '-' ? 2 : 1] = terms->text + length;
        if (*at == ',' && o->node->input_count > 1)
            dims = unnamed_dims(o, 1, at + 1, attr.text.end);
        told |= *at == '-';
    }
    terms->text[length] = '\0';
    terms->letters[1] = terms->letters[1] ? terms->letters[1] : "";
    if (!told)
        imply_result(terms, terms->text + length + 1);
    return sides == o->node->input_count || onnx_refuse(o, "its equation must have a side for each input");
}

/* The extent of a letter on a side; 0 where it does not occur once. */
static uint64_t extent(const char *letters, char letter, const struct ll_shape *shape)
{
    const char *at = strchr(letters, letter);
    return at && !strchr(at + 1, letter) ? shape->dim[at - letters] : 0;
}

static bool count_letters(struct onnx *o, const struct terms *terms, const struct ll_shape *const sides[2],
                          struct ll_gemm *gemm)
{
    *gemm = (struct ll_gemm){1, 1, 1, 1};
    for (unsigned side = 0; side < 2; side++)
        for (const char *at = terms->letters[side]; *at; at++) {
            uint64_t size = extent(terms->letters[side], *at, sides[side]);
            uint64_t other = extent(terms->letters[!side], *at, sides[!side]);
            bool kept = strchr(terms->letters[2], *at) != NULL;
            if (size == 0 || *at == '.' || (other != 0 && other != size) || (!kept && other == 0))
                return onnx_refuse(o, "its equation is no GEMM");
            uint64_t *which = other == 0 ? (side == 0 ? &gemm->m : &gemm->n) : kept ? &gemm->batch : &gemm->k;
            if (other == 0 || side == 0)
                *which = ll_mul(*which, size);
        }
    return true;
}

bool onnx_reduce_rows(struct onnx *o, enum ll_op_kind kind, struct ll_imported x, struct ll_imported *out)
{
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {.kind = kind, .in = &x, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

/* A letter that stands twice is the diagonal: it is seen once, with both strides. */
static bool see_diagonals(struct onnx *o, char *letters, struct ll_imported *y)
{
    for (char *at = letters; *at; at++)
        for (char *again; (again = strchr(at + 1, *at)) != NULL;) {
            struct ll_shape shape = y->shape;
            unsigned gone = (unsigned)(again - letters);
            if (shape.dim[gone] != shape.dim[at - letters])
                return onnx_refuse(o, "its equation has a letter twice, for dimensions that differ");
            for (unsigned d = gone; d + 1u < shape.rank; d++)
                shape.dim[d] = shape.dim[d + 1];
            shape.dim[--shape.rank] = 0;
            memset(shape.role, 0, sizeof shape.role);
            memmove(again, again + 1, strlen(again));
            if (!onnx_emit_simple(o, LL_OP_SEEN_AS, y, 1, &shape, y))
                return false;
        }
    return true;
}

/* One side: what the result has comes first, in its order; the others are summed over. */
static bool move_and_sum(struct onnx *o, struct terms *terms)
{
    struct onnx_value *x = onnx_need(o, 0);
    char letters[sizeof terms->text];
    const char *result = terms->letters[2];
    int64_t from[LL_MAX_RANK];
    unsigned kept = (unsigned)strlen(result), rank = 0;
    bool moved = false;
    memcpy(letters, terms->letters[0], strlen(terms->letters[0]) + 1);
    if (!x || strlen(letters) != x->shape.rank)
        return x && onnx_refuse(o, "its equation must have a letter for each dimension");
    struct ll_imported y = onnx_take(o, x, ONNX_PLAIN);
    if (!see_diagonals(o, letters, &y))
        return false;
    if (kept > y.shape.rank)
        return onnx_refuse(o, "its equation must have a letter for each dimension");
    const struct ll_shape in = y.shape;
    struct ll_shape shape = {.rank = (uint8_t)kept, .dtype = in.dtype};
    struct ll_shape sides = {.rank = 2, .dtype = in.dtype, .dim = {1, 1}};
    for (unsigned pass = 0; pass < 2; pass++)
        for (const char *at = pass == 0 ? result : letters; *at; at++) {
            const char *there = strchr(letters, *at);
            if (!there || *at == '.' || (pass == 0 && strchr(at + 1, *at)))
                return onnx_refuse(o, "its equation neither moves nor sums whole dimensions");
            if (pass == 1 && strchr(result, *at))
                continue;
            moved |= rank != (unsigned)(there - letters);
            from[rank] = there - letters;
            sides.dim[pass] = ll_mul(sides.dim[pass], in.dim[from[rank]]);
            if (pass == 0)
                shape.dim[rank] = in.dim[from[rank]];
            rank++;
        }
    if ((moved && !onnx_transpose(o, y, from, &y)) ||
        (kept < rank && !onnx_reduce_rows(o, LL_OP_SUM, onnx_view(o, y, &sides), &y)))
        return false;
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* An equation of two operands becomes a batched GEMM: letters of both sides and the result are the batch,
 * those of both sides alone are k, those of one side m or n (count_letters). One operand is a transposition
 * and a sum. What is no matrix multiplication under any order of dimensions is refused. */
bool onnx_rule_EINSUM(struct onnx *o)
{
    struct terms terms = {0};
    struct ll_gemm gemm;
    if (!read_equation(o, &terms))
        return false;
    if (o->node->input_count == 1)
        return move_and_sum(o, &terms);
    struct onnx_value *a = onnx_need(o, 0), *b = onnx_need(o, 1);
    if (!a || !b)
        return false;
    if (strlen(terms.letters[0]) != a->shape.rank || strlen(terms.letters[1]) != b->shape.rank ||
        strlen(terms.letters[2]) > LL_MAX_RANK)
        return onnx_refuse(o, "its equation must have a letter for each dimension");
    const struct ll_shape *const sides[2] = {&a->shape, &b->shape};
    if (!count_letters(o, &terms, sides, &gemm))
        return false;
    struct ll_shape shape = {.dtype = a->shape.dtype};
    for (const char *at = terms.letters[2]; *at; at++) {
        uint64_t size = extent(terms.letters[0], *at, &a->shape);
        shape.dim[shape.rank++] = size ? size : extent(terms.letters[1], *at, &b->shape);
    }
    struct ll_imported y;
    if (!onnx_product(o, onnx_take(o, a, ONNX_PLAIN), onnx_take(o, b, ONNX_PLAIN), &gemm, false, &y))
        return false;
    if (ll_elements(&shape) != ll_elements(&y.shape))
        return onnx_refuse(o, "its equation is no GEMM");
    onnx_put(o, 0, onnx_view(o, y, &shape), ONNX_PLAIN, &shape);
    return true;
}

/* LSTM, GRU and RNN: for each direction one product of all steps with the input's weights, the bias, and the
 * steps themselves, each of which waits for the one before.
 *
 * ONNX stacks directions: X[steps, batch, in], W[directions, gates hidden, in], R[directions, gates hidden,
 * hidden], B[directions, 2 gates hidden], h and c[directions, batch, hidden]; results Y[steps, directions,
 * batch, hidden], h and c. With layout 1 the batch of X, Y, h and c comes first. */

struct recurrent {
    struct onnx_value *x, *w, *r, *bias, *state[2]; /* inputs of the node; bias and states may be NULL */
    /* gates: 1 RNN, 3 GRU, 4 LSTM; directions: 1 or 2 */
    uint64_t steps, batch, in, hidden, gates, directions;
    bool batch_first; /* layout 1: x is [batch, steps, in], else [steps, batch, in] */
};

/* Whether the weights of an RNN, GRU or LSTM fit together, and the sizes that follow: W [directions, gates
 * hidden, in], R [directions, gates hidden, hidden], B [directions, 2 gates hidden], states [directions,
 * batch, hidden]. */
static bool check(struct onnx *o, struct recurrent *n)
{
    const struct ll_shape *x = &n->x->shape, *w = &n->w->shape, *r = &n->r->shape;
    if (x->rank != 3 || w->rank != 3 || r->rank != 3)
        return onnx_refuse(o, "its inputs must have three dimensions");
    n->batch_first = onnx_attr_integer(o, "layout", 0) != 0;
    n->steps = x->dim[n->batch_first];
    n->batch = x->dim[!n->batch_first];
    n->in = x->dim[2];
    n->hidden = r->dim[2];
    n->directions = w->dim[0];
    n->gates = n->hidden ? w->dim[1] / n->hidden : 0;
    uint64_t gates = o->row->type[0] == 'L' ? 4 : o->row->type[0] == 'G' ? 3 : 1;
    if (n->gates != gates || ll_mul(gates, n->hidden) != w->dim[1] || r->dim[1] != w->dim[1] ||
        w->dim[2] != n->in || r->dim[0] != n->directions || n->directions < 1 || n->directions > 2)
        return onnx_refuse(o, "its weights do not belong together");
    if (n->bias && ll_elements(&n->bias->shape) != ll_mul(2 * n->directions, w->dim[1]))
        return onnx_refuse(o, "its bias does not belong to its weights");
    for (unsigned i = 0; i < 2; i++)
        if (n->state[i] &&
            ll_elements(&n->state[i]->shape) != ll_mul(n->directions, ll_mul(n->batch, n->hidden)))
            return onnx_refuse(o, "its states do not belong to its weights");
    return true;
}

/* The part of a stack that belongs to one direction, in these dimensions. */
static struct ll_imported part(struct onnx *o, struct onnx_value *value, const struct recurrent *n,
                               const struct ll_shape *shape)
{
    return n->directions == 1 ? onnx_view(o, onnx_take(o, value, ONNX_PLAIN), shape)
                              : onnx_take_part(o, value, shape);
}

/* x W + b for all steps: [steps, batch, gates hidden]. Of the bias's two halves libraries make one. */
static bool project(struct onnx *o, const struct recurrent *n, struct ll_imported *out)
{
    uint64_t all = ll_mul(n->gates, n->hidden);
    const struct ll_gemm gemm = {1, ll_mul(n->steps, n->batch), all, n->in};
    const struct ll_shape matrix = {.rank = 2, .dtype = n->w->shape.dtype, .dim = {all, n->in}};
    const struct ll_shape steps = {.rank = 3, .dtype = n->x->shape.dtype, .dim = {n->steps, n->batch, all}};
    const struct ll_shape both = {.rank = 2, .dtype = n->x->shape.dtype, .dim = {2, all}};
    struct ll_imported in[2];
    if (!onnx_product(o, onnx_take(o, n->x, ONNX_PLAIN), part(o, n->w, n, &matrix), &gemm, true, out))
        return false;
    if (n->bias) {
        const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 0},
                                         {.key = LL_ATTR_AXES, .count = 1}};
        struct ll_imported halves = part(o, n->bias, n, &both), sum[LL_MAX_OUTPUTS];
        const struct ll_import_op op = {
            .kind = LL_OP_SUM, .in = &halves, .in_count = 1, .attrs = attrs, .attr_count = 2};
        if (!onnx_emit(o, &op, sum))
            return false;
        in[0] = *out;
        in[1] = sum[0];
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, out))
            return false;
    }
    *out = onnx_view(o, *out, &steps);
    return true;
}

/* All steps of one direction: what comes out of each, and the states at the end. */
static bool run(struct onnx *o, const struct recurrent *n, struct ll_imported out[3])
{
    assert(n->gates == 1 || n->gates == 3 || n->gates == 4);
    uint8_t dtype = n->x->shape.dtype;
    uint32_t states = n->gates == 4 ? 2 : 1, count = 2;
    const struct ll_shape weights = {
        .rank = 2, .dtype = dtype, .dim = {ll_mul(n->gates, n->hidden), n->hidden}};
    const struct ll_shape state = {.rank = 2, .dtype = dtype, .dim = {n->batch, n->hidden}};
    const struct ll_shape given[3] = {
        {.rank = 3, .dtype = dtype, .dim = {n->steps, n->batch, n->hidden}}, state, state};
    struct ll_imported in[4], outs[LL_MAX_OUTPUTS];
    if (!project(o, n, &in[0]))
        return false;
    in[1] = part(o, n->r, n, &weights);
    for (uint32_t i = 0; i < states; i++)
        if (n->state[i])
            in[count++] = part(o, n->state[i], n, &state);
    const struct ll_import_op op = {.kind = LL_OP_RECURRENT_STEPS,
                                    .in = in,
                                    .in_count = count,
                                    .given = given,
                                    .given_count = 1 + states};
    if (!onnx_emit(o, &op, outs))
        return false;
    for (uint32_t i = 0; i < 1 + states; i++)
        out[i] = outs[i];
    return true;
}

/* Both directions' results side by side. */
static bool join_directions(struct onnx *o, const struct recurrent *n, const struct ll_imported parts[2],
                            struct ll_imported *out)
{
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = 0};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = parts, .in_count = 2, .attrs = &attr, .attr_count = 1};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    *out = parts[0];
    if (n->directions == 1)
        return true;
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

/* RNN, GRU or LSTM, each direction as an op of its own over the whole sequence. Outputs are Y of all steps,
 * Y_h and, of an LSTM, Y_c of the last one, with the directions joined as ONNX has them. */
bool onnx_rule_RECURRENT(struct onnx *o)
{
    struct recurrent n = {.x = onnx_need(o, 0),
                          .w = onnx_need(o, 1),
                          .r = onnx_need(o, 2),
                          .bias = onnx_input(o, 3),
                          .state = {onnx_input(o, 5), onnx_input(o, 6)}};
    struct ll_imported all[3][2] = {{{0}}}, one[3], out;
    if (!n.x || !n.w || !n.r || !check(o, &n))
        return false;
    for (uint64_t direction = 0; direction < n.directions; direction++) {
        if (!run(o, &n, one))
            return false;
        for (unsigned i = 0; i < 3; i++)
            all[i][direction] = one[i];
    }
    const struct ll_shape steps = {.rank = 4, .dim = {n.steps, n.directions, n.batch, n.hidden}};
    const struct ll_shape turned = {.rank = 4, .dim = {n.batch, n.steps, n.directions, n.hidden}};
    const struct ll_shape state = {.rank = 3, .dim = {n.directions, n.batch, n.hidden}};
    const struct ll_shape *const shapes[3] = {n.batch_first ? &turned : &steps, &state, &state};
    for (uint32_t i = 0; i < (n.gates == 4 ? 3u : 2u); i++) {
        if (!join_directions(o, &n, all[i], &out))
            return false;
        onnx_put(o, i, onnx_view(o, out, shapes[i]), ONNX_PLAIN, shapes[i]);
    }
    return true;
}
