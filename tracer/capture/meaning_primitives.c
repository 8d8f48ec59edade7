/* SPDX-License-Identifier: Apache-2.0 */
/* What rows cannot say of oneDNN's primitives. Algorithms are numbered as in dnnl_types.h of version 2.6. */
#include "tracer/capture/meaning_rows.h"
#include "tracer/ir/dnnl.h"

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
