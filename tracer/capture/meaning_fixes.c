/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/meaning_rows.h"

#include "tracer/interpose/ring.h"

#include <string.h>

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
            (struct ll_meant_behind){LL_OP_COUNT, meant->inputs[0], meant->in[0]};
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
