/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: the hinge between what models do and what machines are asked for. ll_op_lower has filled
 * dtype, flops and the bytes read and written; a rule adds the shape of the work. */
#include <assert.h>
#include <math.h>

#include "tracer/ir/experts.h"
#include "tracer/ir/ops_rules.h"

const char *ll_work_name(enum ll_work_kind kind)
{
    static const char *const names[] = {
#define X(word, name, doc) name,
        LL_WORK_LIST(X)
#undef X
    };
    assert(kind < LL_WORK_COUNT);
    return names[kind];
}

struct ll_gemm ll_matmul_dims(const struct ll_op_view *op)
{
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    const struct ll_shape *a = &op->in[0], *b = &op->in[1];
    return (struct ll_gemm){.batch = 1, .m = a->dim[ta], .n = b->dim[!tb], .k = a->dim[!ta]};
}

/* Balls into bins: a matrix is missed by all with (1 - chance)^filled. To the nearest whole number, of which
 * there is at least one. */
static uint64_t expected_of(uint64_t matrices, uint64_t filled, double chance)
{
    double expected = (double)matrices * (1 - pow(1 - chance, (double)filled));
    return ll_max(1, (uint64_t)llround(expected));
}

/* Of a batch_matmul: how many products of its stack are computed; bytes of as many matrices of an operand. */
static uint64_t stack_of(const struct ll_op_view *op)
{
    const struct ll_shape *a = &op->in[0];
    uint64_t matrices = 1;
    for (unsigned i = 0; i + 2 < a->rank; i++)
        matrices = ll_mul(matrices, a->dim[i]);
    int64_t filled = ll_attr_count(op, LL_ATTR_FILLED, -1);
    double chance = ll_attr_real(op, LL_ATTR_CHANCE, 0);
    if (filled < 0 || !ll_fits(matrices))
        return matrices;
    return chance > 0 ? expected_of(matrices, (uint64_t)filled, chance) : ll_min(matrices, (uint64_t)filled);
}

uint64_t ll_stack_bytes(const struct ll_op_view *op, const struct ll_shape *shape)
{
    struct ll_shape part = *shape;
    part.dim[0] = stack_of(op);
    for (unsigned i = 1; i + 2 < shape->rank; i++)
        part.dim[i] = 1;
    return ll_size_bytes(&part);
}

struct ll_gemm ll_batch_matmul_dims(const struct ll_op_view *op)
{
    const struct ll_shape *a = &op->in[0], *out = &op->out[0];
    unsigned first = a->rank - 2u;
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0;
    return (struct ll_gemm){
        .batch = stack_of(op), .m = out->dim[first], .n = out->dim[first + 1], .k = a->dim[first + !ta]};
}

struct ll_conv ll_conv_dims(const struct ll_op_view *op, enum ll_conv_pass pass)
{
    const struct ll_shape *image = pass == LL_CONV_DATA ? &op->out[0] : &op->in[0];
    const struct ll_shape *filter = pass == LL_CONV_FILTER ? &op->out[0] : &op->in[1];
    const struct ll_shape *result = pass == LL_CONV_FORWARD ? &op->out[0]
                                    : pass == LL_CONV_DATA  ? &op->in[0]
                                                            : &op->in[1];
    return (struct ll_conv){
        .batch = image->dim[0],
        .in_h = image->dim[1],
        .in_w = image->dim[2],
        .in_c = image->dim[3],
        .kernel_h = filter->dim[0],
        .kernel_w = filter->dim[1],
        .out_h = result->dim[1],
        .out_w = result->dim[2],
        .out_c = result->dim[3],
        .stride_h = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_H, 1),
        .stride_w = (uint64_t)ll_attr_count(op, LL_ATTR_STRIDE_W, 1),
        .groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1),
        .pass = pass,
        .dilation_h = (uint64_t)ll_attr_count(op, LL_ATTR_DILATION_H, 1),
        .dilation_w = (uint64_t)ll_attr_count(op, LL_ATTR_DILATION_W, 1),
    };
}

struct ll_gemm ll_conv_as_gemm(const struct ll_conv *conv)
{
    uint64_t pixels = ll_mul(conv->batch, ll_mul(conv->out_h, conv->out_w));
    uint64_t taps = ll_mul(ll_mul(conv->kernel_h, conv->kernel_w), conv->in_c / conv->groups);
    uint64_t filters = conv->out_c / conv->groups;
    if (conv->pass == LL_CONV_DATA)
        return (struct ll_gemm){.batch = conv->groups, .m = pixels, .n = taps, .k = filters};
    if (conv->pass == LL_CONV_FILTER)
        return (struct ll_gemm){.batch = conv->groups, .m = taps, .n = filters, .k = pixels};
    return (struct ll_gemm){.batch = conv->groups, .m = pixels, .n = filters, .k = taps};
}

static bool set_kind(struct ll_work *work, enum ll_work_kind kind)
{
    work->kind = kind;
    return true;
}

bool ll_work_NOTHING(const struct ll_op_view *op, struct ll_work *work)
{
    (void)op;
    return set_kind(work, LL_WORK_NOTHING);
}

/* a is the first input, b the second. */
static void split_operands(const struct ll_op_view *op, struct ll_work *work)
{
    work->a_bytes = ll_size_bytes(&op->in[0]);
    work->b_bytes = ll_size_bytes(&op->in[1]);
}

/* Of row-major matrices: the left one's rows are lines along k, the right one's are where it is transposed.
 */
static uint64_t lines_along_k(const struct ll_op_view *op)
{
    bool ta = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0;
    return (ta ? 0 : LL_LINES_OF_A) | (tb ? LL_LINES_OF_B : 0);
}

/* A complex product is a real one of twice the columns and twice the depth: each number of b becomes the
 * matrix of two rows and columns that multiplies as it does. */
static bool set_gemm(const struct ll_op_view *op, struct ll_gemm gemm, struct ll_work *work)
{
    bool complex_parts = ll_product_factor(op) > 1;
    gemm.n = complex_parts ? ll_mul(2, gemm.n) : gemm.n;
    gemm.k = complex_parts ? ll_mul(2, gemm.k) : gemm.k;
    work->gemm = gemm;
    work->along_k = lines_along_k(op);
    return set_kind(work, LL_WORK_GEMM) && ll_fits(gemm.batch) && ll_fits(gemm.n) && ll_fits(gemm.k);
}

/* Zeros of b, where they lie along the dimension that is summed over, or anywhere; of a, anywhere. */
static void note_zeros(const struct ll_op_view *op, int summed, struct ll_work *work)
{
    const struct ll_shape *b = &op->in[1];
    int64_t nonzero = ll_attr_count(op, LL_ATTR_INPUT_NONZERO, 0);
    work->a_nonzero = nonzero > 0 && nonzero < 100 ? (uint64_t)nonzero : 0;
    if (b->of == 0 || (!b->unstructured && b->along != summed))
        return;
    work->kept = b->kept;
    work->of = b->of;
    work->unstructured = b->unstructured;
}

/* Of b, rows; columns where it is transposed. */
static int summed_of_product(const struct ll_op_view *op)
{
    return op->in[1].rank - 2 + (ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0);
}

/* Of a quantized linear layer (attribute `format`: 1 + enum ll_linear_format; default 0: it is none): what
 * its GEMM reads has scales, and is multiplied in the format's type. */
static void note_format(const struct ll_op_view *op, struct ll_work *work)
{
    static const struct {
        double weight, activation;
        enum ll_dtype dtype;
    } formats[] = {
#define X(word, name, weight_bytes, activation_bytes, arithmetic, quantized)                                 \
    {weight_bytes, activation_bytes, LL_##arithmetic},
        LL_LINEAR_FORMAT_LIST(X)
#undef X
    };
    int64_t format = ll_attr_count(op, LL_ATTR_FORMAT, 0);
    if (format <= 0 || format > LL_LINEAR_FORMAT_COUNT)
        return;
    work->linear = (uint32_t)format;
    work->quantized = false;
    work->dtype = formats[format - 1].dtype;
    work->a_bytes = (uint64_t)((double)ll_elements(&op->in[0]) * formats[format - 1].activation);
    work->b_bytes = (uint64_t)((double)ll_elements(&op->in[1]) * formats[format - 1].weight);
}

/* The format of a quantized linear layer by what it reads: activations of 16 bits mean that weights are
 * expanded. A type without scales stands for the usual format. 1 + enum ll_linear_format; 0: none. */
static uint32_t linear_of(const struct ll_shape *activations, const struct ll_shape *weights)
{
    static const struct {
        enum ll_linear_format format;
        uint8_t dtype, scales;
    } same[] = {
        {LL_LINEAR_FP8, LL_F8, LL_SCALES_NONE},          {LL_LINEAR_FP8_BLOCK, LL_F8, LL_SCALES_F32_SQUARE},
        {LL_LINEAR_FP8_BLOCK, LL_F8, LL_SCALES_F32_ROW}, {LL_LINEAR_MXFP8, LL_F8, LL_SCALES_E8M0},
        {LL_LINEAR_NVFP4, LL_F4, LL_SCALES_NONE},        {LL_LINEAR_NVFP4, LL_F4, LL_SCALES_E4M3},
        {LL_LINEAR_MXFP4, LL_F4, LL_SCALES_E8M0},        {LL_LINEAR_INT8, LL_INT8, LL_SCALES_NONE},
    };
    bool half = activations->dtype == LL_BF16 || activations->dtype == LL_F16;
    if (half && weights->dtype == LL_INT8)
        return 1 + LL_LINEAR_INT8_WO;
    if (half && weights->dtype == LL_INT4)
        return 1 + LL_LINEAR_INT4_WO;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (activations->dtype == weights->dtype && weights->dtype == same[i].dtype &&
            weights->scales == same[i].scales)
            return 1 + same[i].format;
    return 0;
}

bool ll_work_GEMM(const struct ll_op_view *op, struct ll_work *work)
{
    work->linear = linear_of(&op->in[0], &op->in[1]);
    work->quantized = work->linear > 0;
    split_operands(op, work);
    note_zeros(op, summed_of_product(op), work);
    note_format(op, work);
    return set_gemm(op, ll_matmul_dims(op), work);
}

/* What is added to comes and goes as the result does. */
bool ll_work_GEMM_ADD(const struct ll_op_view *op, struct ll_work *work)
{
    struct ll_op_view product = *op;
    product.in++;
    product.input_count--;
    split_operands(&product, work);
    work->c_bytes = ll_add(work->c_bytes, ll_size_bytes(&op->in[0]));
    return set_gemm(op, ll_matmul_dims(&product), work);
}

/* A product with a matrix of one column; what is added to, if anything, comes and goes as the result does. */
bool ll_work_GEMM_OF_1(const struct ll_op_view *op, struct ll_work *work)
{
    bool adds = op->input_count == 3, transposed = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0;
    const struct ll_shape *a = &op->in[adds];
    work->a_bytes = ll_size_bytes(a);
    work->b_bytes = ll_size_bytes(&op->in[adds + 1]);
    work->c_bytes = ll_mul(adds ? 2 : 1, work->c_bytes);
    return set_gemm(op, (struct ll_gemm){1, a->dim[transposed], 1, a->dim[!transposed]}, work);
}

/* A product of a column and a row. */
bool ll_work_GER(const struct ll_op_view *op, struct ll_work *work)
{
    work->a_bytes = ll_size_bytes(&op->in[1]);
    work->b_bytes = ll_size_bytes(&op->in[2]);
    work->c_bytes = ll_mul(2, work->c_bytes);
    return set_gemm(op, (struct ll_gemm){1, op->in[0].dim[0], op->in[0].dim[1], 1}, work);
}

/* Whether the right operands are weights of experts, stored in a format that kernels of experts know; not in
 * the gradient of the weights, whose left operands are transposed. */
static bool are_experts(const struct ll_op_view *op, enum ll_expert_format *format)
{
    static const struct {
        enum ll_expert_format format;
        uint8_t rows, weights, scales;
    } stored[] = {
        {LL_EXPERTS_BF16, LL_BF16, LL_BF16, LL_SCALES_NONE},
        {LL_EXPERTS_BF16, LL_F16, LL_F16, LL_SCALES_NONE},
        {LL_EXPERTS_FP8, LL_F8, LL_F8, LL_SCALES_NONE},
        {LL_EXPERTS_FP8_BLOCK, LL_F8, LL_F8, LL_SCALES_F32_SQUARE},
        {LL_EXPERTS_NVFP4, LL_F4, LL_F4, LL_SCALES_NONE},
        {LL_EXPERTS_NVFP4, LL_F4, LL_F4, LL_SCALES_E4M3},
        {LL_EXPERTS_W4A16_MXFP4, LL_BF16, LL_F4, LL_SCALES_E8M0},
        {LL_EXPERTS_W4A8_MXFP4_MXFP8, LL_F8, LL_F4, LL_SCALES_E8M0},
        {LL_EXPERTS_INT4_WO, LL_BF16, LL_INT4, LL_SCALES_NONE},
        {LL_EXPERTS_INT4_WO, LL_BF16, LL_INT4, LL_SCALES_F16},
    };
    const struct ll_shape *rows = &op->in[0], *weights = &op->in[1];
    if (weights->rank != 3 || weights->role[0] != LL_ROLE_EXPERTS || rows->rank != 3 ||
        ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0)
        return false;
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
        if (rows->dtype == stored[i].rows && weights->dtype == stored[i].weights &&
            weights->scales == stored[i].scales) {
            *format = stored[i].format;
            return true;
        }
    return false;
}

/* The same GEMMs as experts; without rows they stay a batch. */
static bool group_gemms(const struct ll_op_view *op, enum ll_expert_format format, struct ll_work *work)
{
    const struct ll_gemm g = work->gemm;
    if (g.batch == 0 || g.m == 0)
        return true;
    work->gemm = (struct ll_gemm){0};
    work->experts = (struct ll_experts){.hidden = g.k, .inter = g.n, .format = (uint8_t)format};
    ll_experts_of_gemm(op->in[1].dim[0], g.batch, g.m, &work->experts);
    return set_kind(work, LL_WORK_EXPERTS) && ll_fits(work->experts.rows);
}

bool ll_work_BATCH_GEMM(const struct ll_op_view *op, struct ll_work *work)
{
    work->a_bytes = ll_stack_bytes(op, &op->in[0]);
    work->b_bytes = ll_stack_bytes(op, &op->in[1]);
    note_zeros(op, summed_of_product(op), work);
    enum ll_expert_format format;
    return set_gemm(op, ll_batch_matmul_dims(op), work) &&
           (!are_experts(op, &format) || work->of > 0 || group_gemms(op, format, work));
}

static bool lower_conv(const struct ll_op_view *op, enum ll_conv_pass pass, struct ll_work *work)
{
    split_operands(op, work);
    work->conv = ll_conv_dims(op, pass);
    return set_kind(work, LL_WORK_CONV);
}

/* Channels in; the gradient of the image sums over channels out. */
bool ll_work_CONV_FORWARD(const struct ll_op_view *op, struct ll_work *work)
{
    note_zeros(op, 2, work);
    return lower_conv(op, LL_CONV_FORWARD, work);
}

bool ll_work_CONV_DATA(const struct ll_op_view *op, struct ll_work *work)
{
    note_zeros(op, 3, work);
    return lower_conv(op, LL_CONV_DATA, work);
}

bool ll_work_CONV_FILTER(const struct ll_op_view *op, struct ll_work *work)
{
    return lower_conv(op, LL_CONV_FILTER, work);
}

static uint64_t op_lines(const struct ll_op_view *op, uint64_t elements);

/* As many elements as the largest output has: a loss that also writes its gradient works on the latter. */
bool ll_work_VECTOR(const struct ll_op_view *op, struct ll_work *work)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        work->vector.elements = ll_max(work->vector.elements, ll_elements(&op->out[i]));
    work->lines = op_lines(op, work->vector.elements);
    return set_kind(work, LL_WORK_VECTOR) && ll_fits(work->vector.elements);
}

/* A row, which is the last dimension, is looked at whole before any of it is done. */
bool ll_work_ROWS(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_shape *x = &op->in[0];
    bool fits = ll_work_VECTOR(op, work);
    work->vector.row = x->rank > 0 ? x->dim[x->rank - 1] : 1;
    work->lines = work->vector.row > 0 ? ll_elements(x) / work->vector.row : 0;
    return fits;
}

/* All elements of a channel, of which there are as many as the second output has, are looked at before any of
 * them is done. */
bool ll_work_CHANNELS(const struct ll_op_view *op, struct ll_work *work)
{
    uint64_t channels = ll_elements(&op->out[1]);
    bool fits = ll_work_VECTOR(op, work);
    work->vector.row = channels > 0 ? work->vector.elements / channels : 0;
    return fits;
}

/* Rows of a table are changed: the table, what changes them, their indices. */
bool ll_work_PICKED(const struct ll_op_view *op, struct ll_work *work)
{
    bool fits = ll_work_VECTOR(op, work);
    work->lines = work->vector.picked = ll_elements(&op->in[2]);
    work->vector.picked_bytes = work->vector.picked ? ll_size_bytes(&op->in[1]) / work->vector.picked : 0;
    return fits && ll_fits(work->vector.picked);
}

static bool op_folds(const struct ll_op_view *op);

bool ll_work_REDUCE(const struct ll_op_view *op, struct ll_work *work)
{
    work->reduce.in_elements = ll_elements(&op->in[0]);
    work->reduce.out_elements = ll_elements(&op->out[0]);
    work->lines = op_lines(op, work->reduce.in_elements);
    work->reduce.folds = op_folds(op);
    return set_kind(work, LL_WORK_REDUCE) && ll_fits(work->reduce.in_elements);
}

static uint64_t op_lines_moved(const struct ll_op_view *op);

bool ll_work_MOVE(const struct ll_op_view *op, struct ll_work *work)
{
    work->lines = op_lines_moved(op);
    return set_kind(work, LL_WORK_MOVE);
}

/* To fewer bits than 16: activations, a scale for each block or row. */
bool ll_work_CAST(const struct ll_op_view *op, struct ll_work *work)
{
    const struct ll_shape *out = &op->out[0];
    bool narrows = ll_dtype_bits((enum ll_dtype)op->in[0].dtype) >= 16 && out->rank > 0;
    work->linear = narrows ? linear_of(out, out) : 0;
    if (work->linear > 0) {
        uint64_t columns = out->dim[out->rank - 1];
        work->quantize.columns = columns;
        work->quantize.rows = columns > 0 ? ll_elements(out) / columns : 0;
    }
    return ll_work_MOVE(op, work);
}

/* A gather's indices are its second input; so many rows, each as long as what they leave of the result. */
bool ll_work_GATHER(const struct ll_op_view *op, struct ll_work *work)
{
    work->lines = work->gather.rows = ll_elements(&op->in[1]);
    work->gather.row_bytes = work->gather.rows ? ll_size_bytes(&op->out[0]) / work->gather.rows : 0;
    work->gather.table_bytes = ll_size_bytes(&op->in[0]);
    return set_kind(work, LL_WORK_GATHER) && ll_fits(work->gather.rows);
}

/* Among how many devices is the op's attribute. */
bool ll_work_COLLECTIVE(const struct ll_op_view *op, struct ll_work *work)
{
    (void)op;
    return set_kind(work, LL_WORK_COLLECTIVE);
}

bool ll_work_HOST(const struct ll_op_view *op, struct ll_work *work)
{
    (void)op;
    return set_kind(work, LL_WORK_HOST);
}

bool ll_work_SWAP(const struct ll_op_view *op, struct ll_work *work)
{
    (void)op;
    return set_kind(work, LL_WORK_SWAP);
}

/* Lines: unbroken runs of elements that a loop goes along without looking where it stands.
 *
 * Of the tensors of an op the widest is gone through in its order. Each other one either runs with it along
 * a dimension, or stands still there (it has length 1, lies before the tensor's first dimension, or the
 * dimension is one that it lacks from AXIS on). A line goes on, from the last dimension outwards, while each
 * tensor does what it did before:
 *
 *       x[8,50,20] * y[8,1,20]    x runs, y runs along 20, then stands still: 8 * 50 lines of 20
 *
 * Where a part is shorter than the whole (concat, slice), the line is the shorter of both, and what moves
 * goes part by part. */

/* What a tensor does along a dimension of the widest. */
enum stride { RUNS, STANDS, BREAKS };

struct reader {
    const struct ll_shape *wide;
    int64_t axis; /* where narrower tensors lack dimensions; < 0: before their first */
};

/* The dimension of `shape` that meets dimension i of the widest, 1 where it has none. */
static uint64_t met(const struct reader *r, const struct ll_shape *shape, int64_t i)
{
    int64_t missing = r->wide->rank - shape->rank, axis = r->axis < 0 ? 0 : r->axis;
    if (i >= axis && i < axis + missing)
        return 1;
    return shape->dim[i < axis ? i : i - missing];
}

static enum stride stride_of(const struct reader *r, const struct ll_shape *shape, int64_t i)
{
    uint64_t dim = met(r, shape, i);
    return dim == r->wide->dim[i] ? RUNS : dim == 1 ? STANDS : BREAKS;
}

/* How long a line is, as far as this tensor is concerned. */
static uint64_t line_with(const struct reader *r, const struct ll_shape *shape)
{
    uint64_t line = 1;
    enum stride first = BREAKS;
    for (int64_t i = r->wide->rank; i-- > 0;) {
        if (r->wide->dim[i] == 1)
            continue;
        enum stride now = stride_of(r, shape, i);
        if (now == BREAKS)
            return line * ll_min(met(r, shape, i), r->wide->dim[i]);
        if (first != BREAKS && now != first)
            return line;
        first = now;
        line *= r->wide->dim[i];
    }
    return line;
}

/* A window of pixels: what lies together of it are the channels. */
static bool looks_through_windows(const struct ll_op_view *op)
{
    return ll_attr_count(op, LL_ATTR_KERNEL_H, 0) > 0;
}

/* What lies together before and after: trailing dimensions that stay where they are, not counting those of
 * length 1; a permutation is written as decimal digits. */
static uint64_t unmoved(const struct ll_shape *x, int64_t permutation)
{
    uint64_t line = 1;
    int64_t next = (int64_t)x->rank - 1;
    for (unsigned left = x->rank; left > 0; left--, permutation /= 10) {
        int64_t moved = permutation % 10;
        if (x->dim[moved] == 1)
            continue;
        while (next > 0 && x->dim[next] == 1)
            next--;
        if (moved != next--)
            return line;
        line *= x->dim[moved];
    }
    return line;
}

static const struct ll_shape *widest(const struct ll_op_view *op)
{
    const struct ll_shape *wide = &op->in[0];
    for (uint32_t i = 0; i < op->output_count; i++)
        if (ll_elements(&op->out[i]) > ll_elements(wide))
            wide = &op->out[i];
    return wide;
}

/* The longest line along which both the tensor and the widest go; the widest is not empty. */
static uint64_t line_of(const struct ll_op_view *op, const struct ll_shape *wide,
                        const struct ll_shape *shape)
{
    struct reader r = {wide, ll_attr_count(op, LL_ATTR_AXIS, -1)};
    int64_t permutation = ll_attr_count(op, LL_ATTR_PERMUTATION, 0);
    if (permutation > 0)
        return ll_max(1, unmoved(wide, permutation));
    if (looks_through_windows(op))
        return ll_max(1, wide->dim[wide->rank - 1]);
    bool told = shape->rank <= wide->rank && !ll_is_index(shape);
    return told ? ll_max(1, line_with(&r, shape)) : ll_elements(wide);
}

static bool is_one_line(const struct ll_shape *wide)
{
    return wide->rank == 0 || ll_elements(wide) == 0 || !ll_fits(ll_elements(wide));
}

/* In how many unbroken runs the op's loops go along so many elements (Lines, above). */
static uint64_t op_lines(const struct ll_op_view *op, uint64_t elements)
{
    if (op->input_count == 0 || is_one_line(widest(op)))
        return 1;
    const struct ll_shape *wide = widest(op);
    uint64_t line = ll_elements(wide);
    for (uint32_t i = 0; i < op->input_count; i++)
        line = ll_min(line, line_of(op, wide, &op->in[i]));
    for (uint32_t i = 0; i < op->output_count; i++)
        line = ll_min(line, line_of(op, wide, &op->out[i]));
    return ll_ceil_div(elements, line);
}

/* Whether the first output stands still while the op goes along a line: elements next to each other become
 * one, as in a sum along the last dimension. */
static bool op_folds(const struct ll_op_view *op)
{
    const struct ll_shape *wide = widest(op), *out = &op->out[0];
    struct reader r = {wide, ll_attr_count(op, LL_ATTR_AXIS, -1)};
    if (out->rank > wide->rank || ll_elements(out) == ll_elements(wide))
        return false;
    for (int64_t i = wide->rank; i-- > 0;)
        if (wide->dim[i] > 1)
            return stride_of(&r, out, i) == STANDS;
    return false;
}

/* The same for an op that only moves, which goes along its parts one after the other. */
static uint64_t op_lines_moved(const struct ll_op_view *op)
{
    if (op->input_count == 0 || is_one_line(widest(op)))
        return 1;
    bool joins = op->input_count > 1;
    const struct ll_shape *wide = widest(op), *parts = joins ? op->in : op->out;
    uint64_t lines = 0, count = joins ? op->input_count : op->output_count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t line = line_of(op, wide, &parts[i]);
        if (!joins)
            line = ll_min(line, line_of(op, wide, &op->in[0]));
        lines = ll_add(lines, ll_ceil_div(ll_elements(&parts[i]), line));
    }
    return lines;
}

/* Attention as work: how many keys a query sees, the FLOPs of its GEMMs, and the GEMM that stands for it
 * on machines that have no kernel for it.
 *
 * Of q queries the i-th, counted from 0, sees what came before it and itself, in a window of w the last w
 * + 1:
 *
 *       seen(i) = min(w + 1, keys - q + i + 1) */

enum { FORWARD_OPERATIONS = 6, BACKWARD_OPERATIONS = 6 }; /* on a score, one of which is an exponential */

static bool is_backward(const struct ll_attention *a)
{
    return a->pass == LL_ATTENTION_BACKWARD;
}

/* Each of `parts` equal shares sees as many keys as any other, so all positions stand for one share. */
uint64_t ll_attention_seen(const struct ll_attention *a)
{
    uint64_t positions = ll_mul(a->queries, ll_max(1, a->parts));
    if (!a->causal || positions == 0)
        return a->keys;
    assert(a->keys >= positions);
    uint64_t first = a->keys - positions + 1, most = a->window > 0 ? ll_add(a->window, 1) : a->keys;
    if (most >= a->keys)
        return a->keys - (positions - 1) / 2;
    /* Those that see fewer than `most`, one more each, then those that see as many. */
    uint64_t growing = first < most ? ll_min(positions, most - first) : 0;
    uint64_t short_of = ll_mul(growing, most - first) - growing * (growing - (growing > 0)) / 2;
    return growing > 0 ? most - short_of / positions : most;
}

/* Per score: Q K^T and P V forward; backward Q K^T again, dP = dY V^T, dV = P^T dY, dQ = dS K, dK = dS^T
 * Q. */
static uint64_t depth(const struct ll_attention *a)
{
    return is_backward(a) ? ll_add(ll_mul(3, a->head_qk), ll_mul(2, a->head_v))
                          : ll_add(a->head_qk, a->head_v);
}

/* Of all queries, each counted; of equal shares one of them, rounded up. */
static uint64_t scores(const struct ll_attention *a)
{
    const uint64_t parts = ll_max(1, a->parts), positions = ll_mul(a->queries, parts);
    uint64_t all = ll_mul(a->queries, a->keys);
    if (a->causal && positions > 0) {
        uint64_t first = a->keys - positions + 1, most = a->window > 0 ? ll_add(a->window, 1) : a->keys;
        uint64_t growing = first < most ? ll_min(positions, most - first) : 0;
        /* first, first + 1, ..., growing of them, then `most` each */
        uint64_t steps = ll_mul(growing, growing - (growing > 0)) / 2;
        all =
            ll_add(ll_add(ll_mul(growing, first), steps), ll_mul(positions - growing, ll_min(most, a->keys)));
        all = ll_ceil_div(all, parts);
    }
    return ll_mul(ll_mul(a->batch, a->heads), all);
}

uint64_t ll_attention_flops(const struct ll_attention *a)
{
    return ll_mul(ll_mul(2, depth(a)), scores(a));
}

/* Query heads that share a key are rows of one matrix: of a latent attention on the vectors themselves all
 * heads of a sequence. */
struct ll_work ll_attention_as_gemm(const struct ll_work *work)
{
    const struct ll_attention *a = &work->attention;
    assert(work->kind == LL_WORK_ATTENTION && a->kv_heads > 0 && a->heads % a->kv_heads == 0);
    struct ll_work gemm = *work;
    gemm.kind = LL_WORK_GEMM;
    gemm.along_k = LL_LINES_ELSEWHERE;
    gemm.between = ll_mul(is_backward(a) ? BACKWARD_OPERATIONS : FORWARD_OPERATIONS, scores(a));
    gemm.specials = scores(a);
    gemm.attention = (struct ll_attention){0};
    bool latent = a->pass == LL_ATTENTION_LATENT_DECODE;
    uint64_t kv_heads = latent ? 1 : a->kv_heads;
    gemm.gemm = (struct ll_gemm){ll_mul(a->batch, kv_heads), ll_mul(a->queries, a->heads / kv_heads),
                                 ll_attention_seen(a), latent ? LL_LATENT_KEY + LL_LATENT_VALUE : depth(a)};
    return gemm;
}

struct ll_work ll_work_as_gemm(const struct ll_work *work)
{
    return work->kind == LL_WORK_ATTENTION ? ll_attention_as_gemm(work)
           : work->kind == LL_WORK_EXPERTS ? ll_experts_as_gemm(work)
                                           : *work;
}
