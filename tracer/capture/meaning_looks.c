/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as the op table wants them. Images are [batch, height, width, channel] here and [batch, channel,
 * (depth,) (height,) width] in oneDNN; filters [height, width, in / groups, out] and [(groups,) out, in,
 * (depth,) (height,) width]. */
#include "tracer/capture/meaning_rows.h"

struct ll_shape ll_plain_shape(const struct ll_call *call, const struct ll_call_operand *operand)
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

struct ll_shape ll_operand_look(const struct ll_call *call, const struct ll_call_operand *operand,
                                enum ll_look look)
{
    static struct ll_shape (*const looks[])(const struct ll_call *, const struct ll_shape *) = {
#define X(word, doc) look_##word,
        LL_LOOK_LIST(X)
#undef X
    };
    struct ll_shape shape = ll_plain_shape(call, operand);
    return looks[look](call, &shape);
}
