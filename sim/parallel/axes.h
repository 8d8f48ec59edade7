/* SPDX-License-Identifier: Apache-2.0 */
/* Which dimensions of an op's inputs and results are one and the same index. Private to sim/parallel.
 *
 * A product c[m, n] = a[m, k] b[k, n] has three such axes: m lies in a and c, n in b and c, k in a and b.
 * What may be divided among devices follows: along m or n each device makes its part of c, along k each makes
 * a part of every sum in c. An op along whose dimension nothing can be divided (softmax along its rows) has
 * no axis there. */
#ifndef LL_SIM_PARALLEL_AXES_H
#define LL_SIM_PARALLEL_AXES_H

#include "tracer/base/arena.h"
#include "tracer/ir/ops.h"

enum { LL_MOST_AXES = 3 * LL_MAX_RANK };

/* Where a tensor lies divided: which dimension, and what it means (a dimension of rows may be divided by the
 * steps of time in it). */
struct ll_divided {
    int dim; /* -1: nowhere */
    uint8_t role;
};

struct ll_axes {
    uint32_t count;                 /* axes are 1 to count; a dimension of axis 0 must be whole */
    bool summed[LL_MOST_AXES + 1];  /* of a divided axis, results without it are parts of sums */
    bool settled[LL_MOST_AXES + 1]; /* devices must first agree on the maximum of each row along it */
    uint8_t *in, *out;              /* of each tensor LL_MAX_RANK axes, by dimension */
    struct ll_divided held;         /* where the first input lies divided, for ops that regroup dimensions */
    bool by_position; /* devices have positions of a sequence each and know which: what counts or compares
                         them may be divided, and indices are of rows that a device has */
};

/* Fills count, summed, settled and the lists, which live in the arena; `held` and `by_position` are the
 * caller's. False when memory ran out. Pure otherwise. */
bool ll_axes_of(const struct ll_op_view *op, struct ll_arena *arena, struct ll_axes *axes);

/* The axis of a dimension of an input. */
static inline uint8_t ll_axis_in(const struct ll_axes *axes, uint32_t input, unsigned dim)
{
    return axes->in[input * LL_MAX_RANK + dim];
}
static inline uint8_t ll_axis_out(const struct ll_axes *axes, uint32_t output, unsigned dim)
{
    return axes->out[output * LL_MAX_RANK + dim];
}

/* The dimension of an input or a result that is of this axis, -1 for none. */
int ll_dim_in(const struct ll_axes *axes, uint32_t input, uint8_t axis);
int ll_dim_out(const struct ll_axes *axes, uint32_t output, uint8_t axis);

#endif
