/* SPDX-License-Identifier: Apache-2.0 */
/* What rows cannot say of oneDNN's primitives. Algorithms are numbered as in dnnl_types.h of version 2.6. */
#include "tracer/capture/meaning_rows.h"

/* The depth of what the call reads or writes under this name; 0 when it has none. */
static uint64_t depth_of(const struct ll_call *call, enum ll_argument argument, enum ll_argument gradient)
{
    for (uint32_t i = 0; i < call->operand_count; i++)
        if ((call->operand[i].role == argument || call->operand[i].role == gradient) &&
            call->operand[i].shape.rank == 5)
            return call->operand[i].shape.dim[2];
    return 0;
}

/* A volume's convolution is that of images, one for each depth of the result, whose channels are those of all
 * depths that a window reaches. */
static void unroll_depth(struct ll_shape *shape, bool result, uint64_t in_depth, uint64_t out_depth,
                         uint64_t taps)
{
    if (result || in_depth == 0)
        return;
    shape->dim[0] = ll_mul(shape->dim[0] / in_depth, out_depth);
    shape->dim[3] = ll_mul(shape->dim[3], taps);
}

void ll_fix_DEPTH(const struct ll_call *call, struct ll_meant *meant)
{
    uint64_t in_depth = depth_of(call, LL_ARGUMENT_SRC, LL_ARGUMENT_DIFF_SRC);
    uint64_t out_depth = depth_of(call, LL_ARGUMENT_DST, LL_ARGUMENT_DIFF_DST);
    uint64_t taps = (uint64_t)ll_call_number(call, LL_NUMBER_kernel_d);
    bool turned = call->routine >= LL_ROUTINE_DNN_DECONVOLUTION &&
                  call->routine <= LL_ROUTINE_DNN_DECONVOLUTION_BACKWARD_WEIGHTS;
    if (in_depth == 0 || out_depth == 0 || taps == 0)
        return;
    uint64_t image = turned ? out_depth : in_depth, result = turned ? in_depth : out_depth;
    enum ll_op_kind kind = meant->view.kind;
    if (kind != LL_OP_CONV2D_DATA)
        unroll_depth(&meant->in[0], false, image, result, taps);
    else
        unroll_depth(&meant->out[0], false, image, result, taps);
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

static void see_as_matrices(struct ll_shape *shape, uint64_t stack, uint64_t rows, uint64_t columns)
{
    *shape = (struct ll_shape){.dtype = shape->dtype, .rank = stack == 1 ? 2 : 3};
    uint64_t *dim = shape->dim;
    if (stack != 1)
        *dim++ = stack;
    dim[0] = rows;
    dim[1] = columns;
}

/* Stacks of matrices are a batch. Where many matrices meet the same one they are one of more rows, or of more
 * columns; only where both have as many is there a stack of products. */
void ll_fix_STACK(const struct ll_call *call, struct ll_meant *meant)
{
    struct ll_shape *a = &meant->in[0], *b = &meant->in[1], *c = &meant->out[0];
    unsigned rank = a->rank, last = rank - 1;
    uint64_t stack = 1, rows = 1, columns = 1;
    (void)call;
    if (meant->view.input_count != 2 || rank != b->rank || rank != c->rank || rank < 3)
        return;
    for (unsigned i = 0; i + 2 < rank; i++) {
        bool alike = a->dim[i] == b->dim[i];
        stack = ll_mul(stack, alike ? a->dim[i] : 1);
        rows = ll_mul(rows, alike ? 1 : a->dim[i]);
        columns = ll_mul(columns, alike ? 1 : b->dim[i]);
    }
    meant->view.kind = LL_OP_BATCH_MATMUL;
    if (rows == 1 && columns == 1 && stack != 1)
        return;
    rows = ll_mul(rows, a->dim[last - 1]);
    columns = ll_mul(columns, b->dim[last]);
    meant->view.kind = stack == 1 ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL;
    const uint64_t depth = a->dim[last];
    see_as_matrices(a, stack, rows, depth);
    see_as_matrices(b, stack, depth, columns);
    see_as_matrices(c, stack, rows, columns);
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

/* The op table's gelu is that of tanh; by the error function it is some function of each element. */
void ll_fix_FUNCTION(const struct ll_call *call, struct ll_meant *meant)
{
    static const struct function functions[] = {
        {0x1f, LL_OP_RELU},          {0x2f, LL_OP_TANH},        {0x3f, LL_OP_ELU},
        {0x4f, LL_OP_SQUARE},        {0x5f, LL_OP_ABS},         {0x6f, LL_OP_SQRT},
        {0x8f, LL_OP_RELU_CLIPPED},  {0x9f, LL_OP_SOFTPLUS},    {0xaf, LL_OP_SIGMOID},
        {0xbf, LL_OP_EXP},           {0xcf, LL_OP_GELU},        {0xef, LL_OP_LOG},
        {0xff, LL_OP_RELU_CLIPPED},  {0x40, LL_OP_ROUND},       {0x70, LL_OP_HARD_SWISH},
        {0x100, LL_OP_RELU},         {0x101, LL_OP_TANH},       {0x102, LL_OP_ELU},
        {0x103, LL_OP_SQRT},         {0x104, LL_OP_SIGMOID},    {0x105, LL_OP_EXP},
        {0x106, LL_OP_RELU_CLIPPED}, {0x10, LL_OP_RELU_CLIPPED}};
    take_function(call, functions, sizeof functions / sizeof functions[0], meant);
}

/* Those of the op table are derivatives from what the function gave, gelu's from what it took. */
void ll_fix_DERIVATIVE(const struct ll_call *call, struct ll_meant *meant)
{
    static const struct function functions[] = {{0x1f, LL_OP_RELU_GRAD},     {0x100, LL_OP_RELU_GRAD},
                                                {0x101, LL_OP_TANH_GRAD},    {0x103, LL_OP_SQRT_GRAD},
                                                {0x104, LL_OP_SIGMOID_GRAD}, {0xcf, LL_OP_GELU_GRAD}};
    take_function(call, functions, sizeof functions / sizeof functions[0], meant);
}

void ll_fix_FUNCTION_OF_2(const struct ll_call *call, struct ll_meant *meant)
{
    static const struct function functions[] = {
        {0x1fff1, LL_OP_MUL},     {0x1fff2, LL_OP_MAXIMUM}, {0x1fff3, LL_OP_MINIMUM},
        {0x1fff4, LL_OP_DIV},     {0x1fff5, LL_OP_SUB},     {0x1fff6, LL_OP_LOGICAL},
        {0x1fff7, LL_OP_LOGICAL}, {0x1fff8, LL_OP_LOGICAL}, {0x1fff9, LL_OP_LOGICAL},
        {0x1fffa, LL_OP_LOGICAL}, {0x1fffb, LL_OP_LOGICAL}};
    take_function(call, functions, sizeof functions / sizeof functions[0], meant);
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
