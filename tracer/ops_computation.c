/* SPDX-License-Identifier: Apache-2.0 */
/* A computation of which only the size is known: so many FLOPs (attribute `flops`, 0) on the bytes of its
 * inputs and outputs. Who tells no more usually means products, so it is costed as one of three equal
 * extents, m = n = k with 2 m n k as near to the FLOPs as whole numbers come. */
#include "tracer/ops_rules.h"

#include <math.h>

uint64_t ll_flops_COMPUTATION(const struct ll_op_view *op)
{
    int64_t flops = ll_attr_count(op, LL_ATTR_FLOPS, 0);
    return flops < 0 ? LL_NO_FIT : (uint64_t)flops;
}

bool ll_work_COMPUTATION(const struct ll_op_view *op, struct ll_work *work)
{
    uint64_t flops = ll_flops_COMPUTATION(op);
    uint64_t extent = (uint64_t)fmax(1, round(cbrt((double)flops / 2)));
    work->kind = flops ? LL_WORK_GEMM : LL_WORK_MOVE;
    if (flops)
        work->gemm = (struct ll_gemm){1, extent, extent, extent};
    return ll_fits(flops);
}
