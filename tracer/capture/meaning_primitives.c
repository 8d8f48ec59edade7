/* SPDX-License-Identifier: Apache-2.0 */
/* What rows cannot say of oneDNN's primitives. Algorithms are numbered as in dnnl_types.h of version 2.6. */
#include "tracer/capture/meaning_rows.h"
#include "tracer/dnnl.h"

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

void ll_fix_STACK(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    if (meant->view.input_count != 2 || meant->in[0].rank < 3)
        return;
    enum ll_op_kind kind = ll_dnnl_stack(&meant->in[0], &meant->in[1], &meant->out[0]);
    meant->view.kind = kind != LL_OP_COUNT ? kind : meant->view.kind;
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
