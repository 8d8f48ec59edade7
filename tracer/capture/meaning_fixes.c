/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/meaning_rows.h"

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

/* Stacks of matrices are a batch; where all of them meet one matrix they are one taller matrix. */
void ll_fix_STACK(const struct ll_call *call, struct ll_meant *meant)
{
    struct ll_shape *a = &meant->in[0], *b = &meant->in[1], *c = &meant->out[0];
    uint64_t stack = 1;
    (void)call;
    if (meant->view.input_count != 2 || a->rank != b->rank || a->rank < 3)
        return;
    for (unsigned i = 0; i + 2 < b->rank; i++)
        stack = ll_mul(stack, b->dim[i]);
    meant->view.kind = LL_OP_BATCH_MATMUL;
    if (stack != 1)
        return;
    meant->view.kind = LL_OP_MATMUL;
    struct ll_shape *const shapes[] = {a, b, c};
    for (unsigned s = 0; s < 3; s++) {
        struct ll_shape flat = {
            .dtype = shapes[s]->dtype, .rank = 2, .dim = {1, shapes[s]->dim[a->rank - 1]}};
        for (unsigned i = 0; i + 1 < a->rank; i++)
            flat.dim[0] = ll_mul(flat.dim[0], shapes[s]->dim[i]);
        *shapes[s] = flat;
    }
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
