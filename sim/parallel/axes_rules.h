/* SPDX-License-Identifier: Apache-2.0 */
/* The rules behind the shape words of tracer/ir/op_table.def, one function per word, and the functions that
 * make axes. Private to axes.c and context.c. A new word in the table needs a line in axes.c. */
#ifndef LL_SIM_PARALLEL_AXES_RULES_H
#define LL_SIM_PARALLEL_AXES_RULES_H

#include "sim/parallel/axes.h"

typedef void ll_axes_rule(const struct ll_op_view *op, struct ll_axes *axes);

/* One more axis; 0 when there are too many, which is whole. */
uint8_t ll_new_axis(struct ll_axes *axes, bool summed);

/* A dimension of an input, or of a result, is of this axis. */
void ll_set_axis_in(struct ll_axes *axes, uint32_t input, int dim, uint8_t axis);
void ll_set_axis_out(struct ll_axes *axes, uint32_t output, int dim, uint8_t axis);

/* A new axis for a dimension of an input and one of a result. */
void ll_tie(struct ll_axes *axes, uint32_t input, int in_dim, uint32_t output, int out_dim);

/* The rule of a kind that may be divided otherwise where devices have positions each; NULL: it may not. */
ll_axes_rule *ll_axes_by_position(enum ll_op_kind kind);

ll_axes_rule ll_axes_RESHAPE, ll_axes_TRANSPOSE, ll_axes_CONCAT, ll_axes_SPLIT, ll_axes_SLICE, ll_axes_PAD,
    ll_axes_STACK, ll_axes_UNSTACK, ll_axes_ONE_HOT, ll_axes_GATHER, ll_axes_SEGMENT_SUM, ll_axes_PICKED,
    ll_axes_REPEATED, ll_axes_PUT;

#endif
