/* SPDX-License-Identifier: Apache-2.0 */
/* What a call means as an op: the looks of operands, the fixes for what rows of meanings.def cannot say,
 * oneDNN's primitives, and ll_meaning_of, which applies a row. */
#include "tracer/capture/meaning.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/capture/memory.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"
#include "tracer/ir/dnnl.h"
#include "tracer/ir/trace.h"
#include "tracer/record/host.h"
#include "tracer/record/recorder.h"

enum { LL_MEANING_OPERANDS = 14, LL_MEANING_ATTRS = 16 };

/* How an operand takes part. */
enum ll_operand_part { LL_PART_ADDS, LL_PART_BOTH, LL_PART_IN, LL_PART_OUT, LL_PART_BEHIND };

/* How an operand's shape is seen; a function look_NAME each. */
#define LL_LOOK_LIST(X)                                                                                      \
    X(PLAIN, "as it is")                                                                                     \
    X(PARTS, "complex numbers are two real ones each")                                                       \
    X(COLUMN, "a vector is a matrix of one column")                                                          \
    X(LAPACK, "a matrix stored by columns is rows and columns")                                              \
    X(ROWS, "all dimensions but the first are one")                                                          \
    X(IMAGE, "channels come last; a line is an image one high, a volume one image for each depth")           \
    X(FILTER, "height, width, channels in, channels out")                                                    \
    X(TURNED, "the filter of the convolution that this is the way back of")

enum ll_look {
#define X(word, doc) LL_LOOK_##word,
    LL_LOOK_LIST(X)
#undef X
        LL_LOOK_COUNT
};

struct ll_meaning_row {
    const char *routine;
    /* what the routine is; the same where it adds to its result (beta is not 0) */
    enum ll_op_kind kind, adding;
    enum ll_phase phase;
    uint64_t operand_count, attr_count; /* of the two lists below */
    struct {
        uint8_t argument; /* enum ll_argument */
        uint8_t part, look;
    } operands[LL_MEANING_OPERANDS];
    struct {
        uint8_t attr, number;
    } attrs[LL_MEANING_ATTRS];
    /* what words of the row cannot say; NULL: nothing */
    void (*fix)(const struct ll_call *call, struct ll_meant *meant);
};

/* What rows cannot say. */
typedef void ll_meaning_fix(const struct ll_call *call, struct ll_meant *meant);
ll_meaning_fix ll_fix_SIDES, ll_fix_TURNED, ll_fix_VECTORS, ll_fix_LEFT_RIGHT, ll_fix_TRANSPOSED,
    ll_fix_REFLECTORS, ll_fix_ONE_FOR_ALL, ll_fix_FACTORS, ll_fix_BATCH;
/* Of primitives. */
ll_meaning_fix ll_fix_DEPTH, ll_fix_FIRST_TURNED, ll_fix_SECOND_TURNED, ll_fix_STACK, ll_fix_AXIS,
    ll_fix_PLACES, ll_fix_FUNCTION, ll_fix_CHANNELS, ll_fix_CHANNELS_BACK, ll_fix_RADIUS, ll_fix_RESAMPLING;

/* Shapes as the op table wants them. Images are [batch, height, width, channel] here and [batch, channel,
 * (depth,) (height,) width] in oneDNN; filters [height, width, in / groups, out] and [(groups,) out, in,
 * (depth,) (height,) width]. */

/* The operand's shape as a tensor of a trace, complex numbers as such. */
static struct ll_shape plain_shape(const struct ll_call *call, const struct ll_call_operand *operand)
{
    struct ll_shape shape = operand->shape;
    const struct ll_symbol_row *symbol = ll_symbol_row(call->symbol);
    bool blas = call->routine < LL_ROUTINE_DNN_CONVOLUTION;
    if (!blas || !symbol || !symbol->complex || shape.rank == 0 || shape.dim[shape.rank - 1] != 2)
        return shape;
    shape.dim[--shape.rank] = 0; /* the two parts of each number */
    shape.dtype = shape.dtype == LL_F64 ? LL_C128 : LL_C64;
    return shape;
}

static struct ll_shape with_dims(const struct ll_shape *like, uint8_t rank, const uint64_t *dims)
{
    struct ll_shape shape = {.dtype = like->dtype, .rank = rank};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    return shape;
}

static struct ll_shape look_PLAIN(const struct ll_call *call, const struct ll_shape *shape)
{
    (void)call;
    return *shape;
}

static struct ll_shape look_PARTS(const struct ll_call *call, const struct ll_shape *shape)
{
    struct ll_shape parts = *shape;
    parts.dtype = call->dtype;
    parts.dim[parts.rank++] = 2;
    return parts;
}

static struct ll_shape look_COLUMN(const struct ll_call *call, const struct ll_shape *shape)
{
    (void)call;
    return shape->rank == 1 ? with_dims(shape, 2, (const uint64_t[]){shape->dim[0], 1}) : *shape;
}

static struct ll_shape look_LAPACK(const struct ll_call *call, const struct ll_shape *shape)
{
    (void)call;
    return shape->rank == 2 ? with_dims(shape, 2, (const uint64_t[]){shape->dim[1], shape->dim[0]}) : *shape;
}

static struct ll_shape look_ROWS(const struct ll_call *call, const struct ll_shape *shape)
{
    uint64_t rest = 1;
    (void)call;
    for (unsigned i = 1; i < shape->rank; i++)
        rest = ll_mul(rest, shape->dim[i]);
    return shape->rank ? with_dims(shape, 2, (const uint64_t[]){shape->dim[0], rest}) : *shape;
}

static struct ll_shape look_IMAGE(const struct ll_call *call, const struct ll_shape *shape)
{
    unsigned spatial = shape->rank - 2u;
    (void)call;
    if (shape->rank < 3 || shape->rank > 5)
        return *shape;
    uint64_t width = shape->dim[shape->rank - 1], height = spatial > 1 ? shape->dim[shape->rank - 2] : 1;
    uint64_t depth = spatial > 2 ? shape->dim[2] : 1;
    return with_dims(shape, 4,
                     (const uint64_t[]){ll_mul(shape->dim[0], depth), height, width, shape->dim[1]});
}

/* Groups come first where there are any: the spatial dimensions tell, of which the kernel has as many
 * numbers. */
static struct ll_shape filter(const struct ll_call *call, const struct ll_shape *shape, bool turned)
{
    unsigned spatial = ll_call_number(call, LL_NUMBER_kernel_d)   ? 3
                       : ll_call_number(call, LL_NUMBER_kernel_h) ? 2
                                                                  : 1;
    bool grouped = shape->rank == spatial + 3;
    if (shape->rank < spatial + 2)
        return *shape;
    const uint64_t *dims = shape->dim + grouped;
    uint64_t groups = grouped ? shape->dim[0] : 1, out = dims[turned], in = dims[!turned];
    uint64_t width = shape->dim[shape->rank - 1], height = spatial > 1 ? shape->dim[shape->rank - 2] : 1;
    uint64_t depth = spatial > 2 ? shape->dim[shape->rank - 3] : 1;
    return with_dims(shape, 4, (const uint64_t[]){height, width, ll_mul(in, depth), ll_mul(out, groups)});
}

static struct ll_shape look_FILTER(const struct ll_call *call, const struct ll_shape *shape)
{
    return filter(call, shape, false);
}

static struct ll_shape look_TURNED(const struct ll_call *call, const struct ll_shape *shape)
{
    return filter(call, shape, true);
}

/* The same, looked at in one of these ways. */
static struct ll_shape operand_look(const struct ll_call *call, const struct ll_call_operand *operand,
                                    enum ll_look look)
{
    static struct ll_shape (*const looks[])(const struct ll_call *, const struct ll_shape *) = {
#define X(word, doc) look_##word,
        LL_LOOK_LIST(X)
#undef X
    };
    struct ll_shape shape = plain_shape(call, operand);
    return looks[look](call, &shape);
}

static void exchange(struct ll_meant *meant, uint32_t a, uint32_t b)
{
    uint8_t operand = meant->inputs[a];
    struct ll_shape shape = meant->in[a];
    meant->inputs[a] = meant->inputs[b];
    meant->in[a] = meant->in[b];
    meant->inputs[b] = operand;
    meant->in[b] = shape;
}

/* A matrix with a triangle on the right is the second factor. */
void ll_fix_SIDES(const struct ll_call *call, struct ll_meant *meant)
{
    uint32_t count = meant->view.input_count;
    if (count > 1 && ll_call_number(call, LL_NUMBER_side) != 0)
        exchange(meant, count - 2, count - 1);
}

/* A factorization of rows is one of the columns of the transpose. */
void ll_fix_TURNED(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    uint64_t rows = meant->in[0].dim[0];
    meant->in[0].dim[0] = meant->out[0].dim[0] = meant->in[0].dim[1];
    meant->in[0].dim[1] = meant->out[0].dim[1] = rows;
}

/* So many reflectors make the matrix, or none. */
void ll_fix_REFLECTORS(const struct ll_call *call, struct ll_meant *meant)
{
    meant->attrs[meant->view.attr_count++] =
        (struct ll_attr){.key = LL_ATTR_SIZE, .count = ll_call_number(call, LL_NUMBER_k)};
}

/* LAPACK's letters: V, S and O ask for vectors, A for all that there are. */
void ll_fix_VECTORS(const struct ll_call *call, struct ll_meant *meant)
{
    int64_t u = ll_call_number(call, LL_NUMBER_jobu) | 0x20, v = ll_call_number(call, LL_NUMBER_jobv) | 0x20;
    bool all = u == 'a' || v == 'a';
    bool some = all || u == 'v' || u == 's' || u == 'o' || v == 'v' || v == 's' || v == 'o';
    meant->attrs[meant->view.attr_count++] =
        (struct ll_attr){.key = LL_ATTR_VECTORS, .count = all ? 2 : some};
}

static bool asks(int64_t job)
{
    return job != 0 && (job | 0x20) != 'n' && (job | 0x20) != 'w';
}

/* Where left and right vectors are computed apart. */
void ll_fix_LEFT_RIGHT(const struct ll_call *call, struct ll_meant *meant)
{
    int64_t sides = asks(ll_call_number(call, LL_NUMBER_jobu)) ? LL_VECTORS_LEFT : 0;
    sides += asks(ll_call_number(call, LL_NUMBER_jobv)) ? LL_VECTORS_RIGHT : 0;
    meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = LL_ATTR_VECTORS, .count = sides};
}

/* A copy may be one of the transpose, a copy onto itself as well. */
void ll_fix_TRANSPOSED(const struct ll_call *call, struct ll_meant *meant)
{
    if (ll_call_number(call, LL_NUMBER_transa) == 0)
        return;
    const struct ll_shape *in = &meant->in[0];
    if (meant->inputs[0] == meant->outputs[0])
        meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = LL_ATTR_IN_PLACE, .count = 0};
    meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = LL_ATTR_PERMUTATION, .count = 10};
    meant->out[0].dim[0] = in->dim[1];
    meant->out[0].dim[1] = in->dim[0];
    meant->view.kind = LL_OP_TRANSPOSE;
}

/* With an increment of zero all elements are copies of one. */
void ll_fix_ONE_FOR_ALL(const struct ll_call *call, struct ll_meant *meant)
{
    if (ll_call_number(call, LL_NUMBER_incx) != 0 || ll_elements(&meant->out[0]) == 1)
        return;
    meant->in[0].dim[0] = 1;
    meant->view.kind = LL_OP_EXPAND;
}

/* What the result held is multiplied as well, unless by one. */
void ll_fix_FACTORS(const struct ll_call *call, struct ll_meant *meant)
{
    if (meant->view.kind == LL_OP_AXPBY && ll_call_number(call, LL_NUMBER_beta) == LL_RING_ONE)
        meant->view.kind = LL_OP_AXPY;
}

/* Matrices of a batch side by side: one of as many rows or columns. */
static void join(struct ll_shape *batch, unsigned along)
{
    uint64_t count = batch->dim[0];
    batch->dim[0] = ll_mul(batch->dim[1], along == 0 ? count : 1);
    batch->dim[1] = ll_mul(batch->dim[2], along == 1 ? count : 1);
    batch->dim[2] = 0;
    batch->rank = 2;
}

/* Where all matrices of a batch meet the same one it is a product of more columns or rows (which they are
 * only seen as: nothing says how they lie), and that one is read once. What the results held is added behind.
 */
void ll_fix_BATCH(const struct ll_call *call, struct ll_meant *meant)
{
    uint32_t last = meant->view.input_count - 1;
    meant->view.kind = LL_OP_BATCH_MATMUL;
    if (meant->inputs[0] == meant->outputs[0]) {
        meant->behind[meant->behind_count++] =
            (struct ll_meant_behind){LL_OP_NONE, meant->inputs[0], meant->in[0]};
        memmove(meant->in, meant->in + 1, last * sizeof *meant->in);
        memmove(meant->inputs, meant->inputs + 1, last);
        meant->view.input_count = last;
    }
    uint64_t count = meant->out[0].dim[0];
    struct ll_shape *a = &meant->in[0], *b = &meant->in[1];
    if (meant->view.input_count != 2 || count < 2 || (a->dim[0] == count && b->dim[0] == count))
        return;
    bool turned_a = ll_call_number(call, LL_NUMBER_transa) != 0;
    bool turned_b = ll_call_number(call, LL_NUMBER_transb) != 0;
    bool same_a = b->dim[0] == count;
    a->dim[0] = same_a ? 1 : count; /* where both are the same, one of them counts each time */
    join(a, same_a ? 0 : turned_a);
    join(b, turned_b ? 0 : 1);
    join(&meant->out[0], same_a ? 1 : 0);
    meant->view.kind = LL_OP_MATMUL;
}

/* What rows cannot say of oneDNN's primitives. Algorithms are numbered as in dnnl_types.h of version 2.6. */

/* The depth of what the call reads or writes under this name; 0 when it has none. */
static uint64_t depth_of(const struct ll_call *call, enum ll_argument argument, enum ll_argument gradient)
{
    for (uint32_t i = 0; i < call->operand_count; i++)
        if ((call->operand[i].role == argument || call->operand[i].role == gradient) &&
            call->operand[i].shape.rank == 5)
            return call->operand[i].shape.dim[2];
    return 0;
}

/* A volume's convolution is that of an image as high as the volume is deep, whose lines are the volume's
 * planes: so many taps as a filter has in a plane lie side by side, and as many places are met as the
 * result has. */
static void flatten(struct ll_shape *image, uint64_t depth)
{
    image->dim[0] /= depth;
    image->dim[2] = ll_mul(image->dim[1], image->dim[2]);
    image->dim[1] = depth;
}

static void flatten_filter(struct ll_shape *filter, uint64_t depth)
{
    filter->dim[1] = ll_mul(filter->dim[0], filter->dim[1]);
    filter->dim[0] = depth;
    filter->dim[2] /= depth;
}

static void set_attr(struct ll_meant *meant, enum ll_attr_key key, int64_t count)
{
    uint32_t i = 0;
    while (i < meant->view.attr_count && meant->attrs[i].key != key)
        i++;
    meant->attrs[i] = (struct ll_attr){.key = key, .count = count};
    meant->view.attr_count += i == meant->view.attr_count;
}

/* A stride and what is padded so that windows of so many taps stop at so many places of a line. */
static void set_places(struct ll_meant *meant, uint64_t line, uint64_t taps, uint64_t places)
{
    uint64_t beyond = line > taps ? line - taps : 0, steps = places > 1 ? places - 1 : 1;
    uint64_t stride = ll_max(1, places > 1 ? (beyond + steps - 1) / steps : beyond + 1);
    uint64_t padded = ll_sub(ll_add(ll_mul(places - 1, stride), taps), line);
    padded = places > 1 || taps > line ? padded : 0;
    set_attr(meant, LL_ATTR_STRIDE_W, (int64_t)stride);
    set_attr(meant, LL_ATTR_PAD_LEFT, (int64_t)(padded / 2));
    set_attr(meant, LL_ATTR_PAD_RIGHT, (int64_t)(padded - padded / 2));
    set_attr(meant, LL_ATTR_DILATION_W, 1);
}

/* A convolution over volumes as one over images (see above): shapes are flattened, stride, padding and
 * dilation of the depth become those of the height, and those of the width follow from the places that are
 * met. */
void ll_fix_DEPTH(const struct ll_call *call, struct ll_meant *meant)
{
    uint64_t in_depth = depth_of(call, LL_ARGUMENT_SRC, LL_ARGUMENT_DIFF_SRC);
    uint64_t out_depth = depth_of(call, LL_ARGUMENT_DST, LL_ARGUMENT_DIFF_DST);
    uint64_t taps = (uint64_t)ll_call_number(call, LL_NUMBER_kernel_d);
    bool turned = call->routine >= LL_ROUTINE_DNN_DECONVOLUTION &&
                  call->routine <= LL_ROUTINE_DNN_DECONVOLUTION_BACKWARD_WEIGHTS;
    enum ll_op_kind kind = meant->view.kind;
    if (in_depth == 0 || out_depth == 0 || taps == 0)
        return;
    struct ll_shape *image = kind == LL_OP_CONV2D_DATA ? &meant->out[0] : &meant->in[0];
    struct ll_shape *filter = kind == LL_OP_CONV2D_FILTER ? &meant->out[0] : &meant->in[1];
    struct ll_shape *result = kind == LL_OP_CONV2D        ? &meant->out[0]
                              : kind == LL_OP_CONV2D_DATA ? &meant->in[0]
                                                          : &meant->in[1];
    flatten(image, turned ? out_depth : in_depth);
    flatten(result, turned ? in_depth : out_depth);
    flatten_filter(filter, taps);
    set_attr(meant, LL_ATTR_STRIDE_H, ll_call_number(call, LL_NUMBER_stride_d));
    set_attr(meant, LL_ATTR_PAD_TOP, ll_call_number(call, LL_NUMBER_before_d));
    set_attr(meant, LL_ATTR_PAD_BOTTOM, ll_call_number(call, LL_NUMBER_behind_d));
    set_attr(meant, LL_ATTR_DILATION_H, ll_call_number(call, LL_NUMBER_dilation_d));
    set_places(meant, image->dim[2], filter->dim[1], result->dim[2]);
}

/* Which factor is stored the other way. */
static void turn(struct ll_meant *meant, enum ll_attr_key key)
{
    meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = key, .count = 1};
}

void ll_fix_FIRST_TURNED(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    turn(meant, LL_ATTR_TRANSPOSE_A);
}

void ll_fix_SECOND_TURNED(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    turn(meant, LL_ATTR_TRANSPOSE_B);
}

void ll_fix_STACK(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    if (meant->view.input_count != 2 || meant->in[0].rank < 3)
        return;
    enum ll_op_kind kind = ll_dnnl_stack(&meant->in[0], &meant->in[1], &meant->out[0]);
    meant->view.kind = kind != LL_OP_NONE ? kind : meant->view.kind;
}

/* Along which dimension the parts are joined: that in which the whole is longer. */
void ll_fix_AXIS(const struct ll_call *call, struct ll_meant *meant)
{
    int64_t axis = 0;
    (void)call;
    for (unsigned i = 0; i < meant->out[0].rank && meant->view.input_count; i++)
        axis = meant->out[0].dim[i] != meant->in[0].dim[i] ? (int64_t)i : axis;
    meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = LL_ATTR_AXIS, .count = axis};
}

/* In training the largest elements' places are kept for the way back. */
void ll_fix_PLACES(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    if (meant->view.output_count > 1)
        meant->view.kind = LL_OP_MAX_POOL_PLACES;
}

struct function {
    int64_t algorithm;
    enum ll_op_kind kind;
};

/* The kind beside this algorithm, or what the row says. */
static void take_function(const struct ll_call *call, const struct function *functions, size_t count,
                          struct ll_meant *meant)
{
    int64_t algorithm = ll_call_number(call, LL_NUMBER_algorithm);
    for (size_t i = 0; i < count; i++)
        if (functions[i].algorithm == algorithm)
            meant->view.kind = functions[i].kind;
}

void ll_fix_FUNCTION(const struct ll_call *call, struct ll_meant *meant)
{
    const struct ll_dnnl_function *function =
        ll_dnnl_function_numbered(ll_call_number(call, LL_NUMBER_algorithm));
    if (function)
        meant->view.kind = meant->view.kind == LL_OP_ELTWISE_GRAD ? function->backward : function->forward;
}

/* With scales and shifts apart, and statistics that are computed or given, it is what networks have. */
void ll_fix_CHANNELS(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    if (meant->view.input_count == 3 && meant->view.output_count == 3)
        meant->view.kind = LL_OP_BATCH_NORM;
    if (meant->view.input_count == 5 && meant->view.output_count == 1)
        meant->view.kind = LL_OP_BATCH_NORM_FIXED;
}

void ll_fix_CHANNELS_BACK(const struct ll_call *call, struct ll_meant *meant)
{
    bool given = ll_call_number(call, LL_NUMBER_parameter) & 1;
    if (meant->view.input_count == 5 && meant->view.output_count == 3)
        meant->view.kind = given ? LL_OP_BATCH_NORM_FIXED_GRAD : LL_OP_BATCH_NORM_GRAD;
}

void ll_fix_RADIUS(const struct ll_call *call, struct ll_meant *meant)
{
    int64_t radius = ll_call_number(call, LL_NUMBER_parameter) / 2;
    meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = LL_ATTR_RADIUS, .count = radius};
}

void ll_fix_RESAMPLING(const struct ll_call *call, struct ll_meant *meant)
{
    static const struct function forward = {0x2fff0, LL_OP_RESIZE_NEAREST},
                                 backward = {0x2fff0, LL_OP_RESIZE_NEAREST_GRAD};
    bool is_back = meant->view.kind == LL_OP_RESIZE_LINEAR_GRAD;
    take_function(call, is_back ? &backward : &forward, 1, meant);
}

#define ll_fix_NONE NULL
#define ADDS(a) {LL_ARGUMENT_##a, LL_PART_ADDS, LL_LOOK_PLAIN},
#define AS(a, look) {LL_ARGUMENT_##a, LL_PART_ADDS, LL_LOOK_##look},
#define BOTH(a, look) {LL_ARGUMENT_##a, LL_PART_BOTH, LL_LOOK_##look},
#define IN(a, look) {LL_ARGUMENT_##a, LL_PART_IN, LL_LOOK_##look},
#define BEHIND(a, look) {LL_ARGUMENT_##a, LL_PART_BEHIND, LL_LOOK_##look},
#define OUT(a, look) {LL_ARGUMENT_##a, LL_PART_OUT, LL_LOOK_##look},
#define ATTR(attr, number) {LL_ATTR_##attr, LL_NUMBER_##number},
#define CONVOLVES ATTR(GROUPS, groups) WINDOW ATTR(DILATION_H, dilation_h) ATTR(DILATION_W, dilation_w)
#define POOLS ATTR(KERNEL_H, kernel_h) ATTR(KERNEL_W, kernel_w) WINDOW
#define WINDOW                                                                                               \
    ATTR(STRIDE_H, stride_h)                                                                                 \
    ATTR(STRIDE_W, stride_w)                                                                                 \
    ATTR(PAD_TOP, before_h) ATTR(PAD_LEFT, before_w) ATTR(PAD_BOTTOM, behind_h) ATTR(PAD_RIGHT, behind_w)
#define POSTS ATTR(POST_OPS, post_ops)
#define MAKES(look) OUT(DST, look) BEHIND(BIAS, PLAIN) BEHIND(DST, look)
#define NORMALIZES(look)                                                                                     \
    IN(SRC, look)                                                                                            \
    IN(WEIGHTS, PLAIN) IN(SCALE, PLAIN) IN(SHIFT, PLAIN) OUT(DST, look) AS(MEAN, PLAIN) AS(VARIANCE, PLAIN)
#define NORMALIZES_BACK(look)                                                                                \
    IN(DIFF_DST, look)                                                                                       \
    IN(SRC, look)                                                                                            \
    IN(WEIGHTS, PLAIN)                                                                                       \
    IN(SCALE, PLAIN)                                                                                         \
    IN(MEAN, PLAIN)                                                                                          \
    IN(VARIANCE, PLAIN)                                                                                      \
    OUT(DIFF_SRC, look) OUT(DIFF_WEIGHTS, PLAIN) OUT(DIFF_SCALE, PLAIN) OUT(DIFF_SHIFT, PLAIN)
#define RECURS                                                                                               \
    IN(SRC, PLAIN)                                                                                           \
    IN(WEIGHTS, PLAIN)                                                                                       \
    IN(WEIGHTS_ITER, PLAIN)                                                                                  \
    IN(BIAS, PLAIN)                                                                                          \
    IN(SRC_ITER, PLAIN)                                                                                      \
    IN(SRC_ITER_C, PLAIN)                                                                                    \
    OUT(DST, PLAIN) OUT(DST_ITER, PLAIN) OUT(DST_ITER_C, PLAIN) OUT(WORKSPACE, PLAIN)
#define RECURS_BACK                                                                                          \
    IN(SRC, PLAIN)                                                                                           \
    IN(WEIGHTS, PLAIN)                                                                                       \
    IN(WEIGHTS_ITER, PLAIN)                                                                                  \
    IN(WORKSPACE, PLAIN)                                                                                     \
    IN(DIFF_DST, PLAIN)                                                                                      \
    IN(DIFF_DST_ITER, PLAIN)                                                                                 \
    IN(DIFF_DST_ITER_C, PLAIN)                                                                               \
    OUT(DIFF_SRC, PLAIN)                                                                                     \
    OUT(DIFF_SRC_ITER, PLAIN)                                                                                \
    OUT(DIFF_SRC_ITER_C, PLAIN)                                                                              \
    OUT(DIFF_WEIGHTS, PLAIN) OUT(DIFF_WEIGHTS_ITER, PLAIN) OUT(DIFF_BIAS, PLAIN)
#define LL_MEANING(routine_, kind_, adding_, phase_, operands_, attrs_, how)                                 \
    {.routine = routine_,                                                                                    \
     .kind = LL_OP_##kind_,                                                                                  \
     .adding = LL_OP_##adding_,                                                                              \
     .phase = LL_PHASE_##phase_,                                                                             \
     .operand_count = sizeof((const uint8_t[][3]){operands_{0}}) / sizeof(uint8_t[3]) - 1,                   \
     .attr_count = sizeof((const uint8_t[][2]){attrs_{0}}) / sizeof(uint8_t[2]) - 1,                         \
     .operands = {operands_{0}},                                                                             \
     .attrs = {attrs_{0}},                                                                                   \
     .fix = ll_fix_##how},
static const struct ll_meaning_row rows[] = {
#include "tracer/capture/meanings.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Building. */

static void add_input(struct ll_meant *meant, uint8_t operand, const struct ll_shape *shape)
{
    meant->inputs[meant->view.input_count] = operand;
    meant->in[meant->view.input_count++] = *shape;
}

static void add_output(struct ll_meant *meant, uint8_t operand, const struct ll_shape *shape)
{
    meant->outputs[meant->view.output_count] = operand;
    meant->out[meant->view.output_count++] = *shape;
}

static void add_behind(struct ll_meant *meant, uint8_t operand, const struct ll_shape *shape)
{
    if (meant->behind_count < LL_MEANT_BEHIND)
        meant->behind[meant->behind_count++] = (struct ll_meant_behind){LL_OP_NONE, operand, *shape};
}

/* All operands of that name: a sum has many sources. */
static void take_operands(const struct ll_call *call, const struct ll_meaning_row *row, uint64_t which,
                          struct ll_meant *meant)
{
    enum ll_operand_part part = row->operands[which].part;
    for (uint8_t i = 0; i < call->operand_count; i++) {
        const struct ll_call_operand *operand = &call->operand[i];
        if (operand->role != row->operands[which].argument)
            continue;
        struct ll_shape shape = operand_look(call, operand, (enum ll_look)row->operands[which].look);
        unsigned access = part == LL_PART_ADDS   ? operand->access
                          : part == LL_PART_BOTH ? LL_ACCESS_BOTH
                          : part == LL_PART_IN   ? LL_ACCESS_READ
                                                 : LL_ACCESS_WRITE;
        if (part == LL_PART_BEHIND && operand->access & LL_ACCESS_READ)
            add_behind(meant, i, &shape);
        if (part == LL_PART_BEHIND)
            continue;
        if (access & LL_ACCESS_READ)
            add_input(meant, i, &shape);
        if (access & LL_ACCESS_WRITE)
            add_output(meant, i, &shape);
    }
}

/* What is zero is what a rule takes for granted: no padding, no dilation, one group. */
static void take_attrs(const struct ll_call *call, const struct ll_meaning_row *row, struct ll_meant *meant)
{
    for (uint64_t i = 0; i < row->attr_count; i++) {
        int64_t number = ll_call_number(call, (enum ll_number)row->attrs[i].number);
        uint8_t key = row->attrs[i].attr;
        bool flag = key == LL_ATTR_TRANSPOSE_A || key == LL_ATTR_TRANSPOSE_B;
        if (number != 0)
            meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = key, .count = flag ? 1 : number};
    }
}

static void begin(struct ll_meant *meant)
{
    memset(meant, 0, sizeof *meant);
    meant->view = (struct ll_op_view){.in = meant->in, .out = meant->out, .attrs = meant->attrs};
}

/* Whether the op adds to what its first output holds. */
static bool adds(const struct ll_meaning_row *row, const struct ll_meant *meant)
{
    return row->kind == LL_OP_NONE ||
           (meant->view.input_count && meant->view.output_count && meant->inputs[0] == meant->outputs[0]);
}

/* Whether the op's rule takes the inputs and gives outputs as large as what the call wrote, whose types are
 * what the call made of them: a product of bytes may be one of floats. */
static bool holds(struct ll_meant *meant)
{
    struct ll_shape told[LL_MAX_OPERANDS];
    meant->placed = meant->view.output_count;
    memcpy(told, meant->out, sizeof told);
    if (ll_op_infer(&meant->view) != NULL || meant->view.output_count < meant->placed)
        return false;
    for (uint32_t i = 0; i < meant->placed; i++) {
        if (memcmp(told[i].dim, meant->out[i].dim, sizeof told[i].dim) != 0)
            return false;
        meant->out[i].dtype = told[i].dtype;
    }
    return true;
}

/* The result's own operand is seen as the result is. Anything else is a bias for each of the last dimension,
 * or as large as the result. */
static bool settle(const struct ll_meant *meant, struct ll_meant_behind *behind)
{
    const struct ll_shape *result = &meant->out[0];
    uint64_t last = result->rank ? result->dim[result->rank - 1] : 0;
    struct ll_shape like = *result;
    like.dtype = behind->shape.dtype;
    bool is_bias = behind->operand != meant->outputs[0] && ll_elements(&behind->shape) == last;
    behind->kind = is_bias ? LL_OP_BIAS_ADD : LL_OP_ADD;
    bool fits = is_bias || ll_elements(&behind->shape) == ll_elements(result);
    behind->shape = is_bias ? (struct ll_shape){.dtype = like.dtype, .rank = 1, .dim = {last}} : like;
    return fits;
}

/* Of what is added behind, that of which it is known how. */
static void settle_all(struct ll_meant *meant)
{
    uint32_t count = meant->view.output_count == 1 ? meant->behind_count : 0;
    meant->behind_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ll_meant_behind behind = meant->behind[i];
        if (settle(meant, &behind))
            meant->behind[meant->behind_count++] = behind;
    }
}

/* A matrix that a product alone is added to is part of the product. */
static void take_in(struct ll_meant *meant)
{
    const struct ll_meant_behind behind = meant->behind[0];
    if (meant->view.kind != LL_OP_MATMUL || meant->behind_count != 1 || behind.kind != LL_OP_ADD)
        return;
    for (uint32_t i = 0; i < meant->view.input_count; i++)
        if (meant->in[i].dtype != behind.shape.dtype)
            return;
    memmove(meant->in + 1, meant->in, meant->view.input_count * sizeof *meant->in);
    memmove(meant->inputs + 1, meant->inputs, meant->view.input_count);
    meant->in[0] = behind.shape;
    meant->inputs[0] = behind.operand;
    meant->view.input_count++;
    meant->view.kind = LL_OP_MATMUL_ADD;
    meant->behind_count = 0;
}

/* A product of no elements, or times zero: all that is left is what it would have been added to, which is
 * scaled, or zeros. */
static bool only_scales(const struct ll_meaning_row *row, const struct ll_meant *meant)
{
    return row->operands[0].part == LL_PART_ADDS && meant->view.output_count == 1 &&
           (meant->view.input_count == 0 ||
            (meant->view.input_count == 1 && meant->inputs[0] == meant->outputs[0]));
}

/* A call of BLAS that reads nothing, as its factor is zero. */
static bool only_clears(const struct ll_call *call)
{
    return call->routine < LL_ROUTINE_DNN_CONVOLUTION && call->operand_count == 1 &&
           call->operand[0].access == LL_ACCESS_WRITE;
}

static bool build(const struct ll_call *call, const struct ll_meaning_row *row, struct ll_meant *meant)
{
    begin(meant);
    for (uint64_t i = 0; i < row->operand_count; i++)
        take_operands(call, row, i, meant);
    take_attrs(call, row, meant);
    meant->phase = row->phase;
    meant->view.kind = adds(row, meant) ? row->adding : row->kind;
    if (only_scales(row, meant)) {
        meant->view.kind = meant->view.input_count ? LL_OP_SCAL : LL_OP_CONSTANT;
        meant->view.attr_count = 0;
    } else if (only_clears(call)) {
        meant->view.kind = LL_OP_CONSTANT;
        meant->view.input_count = meant->view.attr_count = 0;
    } else if (row->fix && meant->view.input_count) {
        row->fix(call, meant);
    }
    if (meant->view.kind == LL_OP_NONE || !holds(meant))
        return false;
    settle_all(meant);
    take_in(meant);
    return true;
}

uint64_t ll_meant_flops(const struct ll_meant *meant)
{
    uint64_t flops = ll_op_flops(&meant->view);
    for (uint32_t i = 0; i < meant->behind_count; i++) {
        const struct ll_shape in[] = {meant->out[0], meant->behind[i].shape};
        struct ll_shape out = meant->out[0];
        const struct ll_op_view view = {
            .kind = meant->behind[i].kind, .in = in, .input_count = 2, .out = &out, .output_count = 1};
        flops = ll_add(flops, ll_op_flops(&view));
    }
    return flops;
}

static void build_opaque(const struct ll_call *call, struct ll_meant *meant)
{
    begin(meant);
    meant->view.kind = LL_OP_OPAQUE;
    for (uint8_t i = 0; i < call->operand_count; i++) {
        struct ll_shape shape = plain_shape(call, &call->operand[i]);
        if (call->operand[i].access & LL_ACCESS_READ)
            add_input(meant, i, &shape);
        if (call->operand[i].access & LL_ACCESS_WRITE)
            add_output(meant, i, &shape);
    }
    meant->placed = meant->view.output_count;
}

static const struct ll_meaning_row *find_row(const char *routine)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].routine, routine) == 0)
            return &rows[i];
    return NULL;
}

void ll_meanings(struct ll_meanings *meanings)
{
    for (uint32_t i = 0; i < LL_ROUTINE_COUNT; i++)
        meanings->rows[i] = find_row(ll_routine_name((enum ll_routine)i));
}

void ll_meaning_of(const struct ll_meanings *meanings, const struct ll_call *call, struct ll_meant *meant)
{
    assert(call->operand_count <= LL_MAX_OPERANDS && call->routine < LL_ROUTINE_COUNT);
    const struct ll_meaning_row *row =
        call->routine < LL_ROUTINE_COUNT ? meanings->rows[call->routine] : NULL;
    if (!row || !build(call, row, meant))
        build_opaque(call, meant);
    assert(meant->view.input_count <= LL_MAX_OPERANDS && meant->view.output_count <= LL_MAX_OPERANDS);
    assert(meant->behind_count <= LL_MEANT_BEHIND && meant->placed <= meant->view.output_count);
    assert(meant->view.attr_count <= LL_MAX_ATTRS);
}

/* Forms of calls: what repeats of them. */

/* An operand without its address. */
enum {
    OPERAND_FROM = offsetof(struct ll_call_operand, rows),
    OPERAND_BYTES = offsetof(struct ll_call_operand, role) + 1 - OPERAND_FROM
};

static const unsigned char *looks_of(const struct ll_call_operand *operand)
{
    return (const unsigned char *)operand + OPERAND_FROM;
}

/* All that makes a form, as bytes in a row. */
struct key {
    unsigned char bytes[40 + LL_MAX_CALL_NUMBERS * sizeof(int64_t) + LL_MAX_OPERANDS * OPERAND_BYTES];
    size_t size;
};

static void put(struct key *key, const void *bytes, size_t size)
{
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

static void make_key(const struct ll_call *call, struct key *key)
{
    const uint64_t head[] = {call->caller, call->mapping, call->routine, call->dtype,
                             (uint64_t)call->operand_count << 32 | call->number_count};
    key->size = 0;
    put(key, head, sizeof head);
    put(key, call->number, call->number_count * sizeof *call->number);
    for (uint32_t i = 0; i < call->operand_count; i++)
        put(key, looks_of(&call->operand[i]), OPERAND_BYTES);
}

static struct ll_call_form *look_up(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct key key;
    bool is_new;
    make_key(call, &key);
    if (!ll_grow(&forms->forms, &forms->capacity, forms->keys.count + 1u, sizeof *forms->forms))
        return NULL;
    uint32_t id = ll_map_intern(&forms->keys, key.bytes, key.size, &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (is_new)
        forms->forms[id] = ll_alloc(&forms->arena, 1, sizeof **forms->forms);
    return forms->forms[id];
}

/* From now on calls of this number have this form. */
static bool number_form(struct ll_call_forms *forms, uint32_t number, struct ll_call_form *form)
{
    if (!ll_grow(&forms->numbered, &forms->numbered_capacity, number + UINT64_C(1), sizeof *forms->numbered))
        return false;
    while (forms->numbered_count <= number)
        forms->numbered[forms->numbered_count++] = NULL;
    forms->numbered[number] = form;
    return true;
}

struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call)
{
    assert(call->operand_count <= LL_MAX_OPERANDS && call->number_count <= LL_MAX_CALL_NUMBERS);
    struct ll_call_form *form = call->form < forms->numbered_count ? forms->numbered[call->form] : NULL;
    if (form)
        return form;
    form = look_up(forms, call);
    return form && (!call->form || number_form(forms, call->form, form)) ? form : NULL;
}

void ll_call_forms_release(struct ll_call_forms *forms)
{
    ll_arena_release(&forms->arena);
    ll_map_release(&forms->keys);
    free(forms->forms);
    free(forms->numbered);
    *forms = (struct ll_call_forms){0};
}
