/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in a transformed domain (Winograd: Lavin and Gray 2016; Fourier: Mathieu, Henaff, LeCun 2014).
 *
 * The image is cut into tiles that give o x o outputs each, o = size - kernel + 1. A tile of size x size
 * inputs and the filter are transformed to size x size points; there the convolution is one product a point,
 * summed over the channels, and the sums are transformed back:
 *
 *       P = batch * ceil(out_h / o) * ceil(out_w / o) tiles
 *       products = size^2 * products a point * P * in_c * out_c       (direct: o^2 kernel^2 P in_c out_c)
 *
 * Apart from others, one after the other, all points' products are a batch of them, [P x in_c] [in_c x
 * out_c]. Transforms then are passes over memory of their own. A fused kernel transforms tiles on their way
 * in and out and holds all points of a few of them: its tile of the menu covers size times fewer tiles and
 * filters, so it counts as one product of (size P) x (size out_c) x in_c. It takes blocks of tiles that lie
 * together in one image (block_rows x block_columns), of which the last in a row or column are whole too.
 * Filters are transformed beforehand in both.
 *
 * The gradient of the input is such a convolution itself. The gradient of the filter sums over the tiles
 * instead, [in_c x P] [P x out_c]; no fused kernel does. */
#ifndef LL_SIM_COST_TRANSFORM_H
#define LL_SIM_COST_TRANSFORM_H

#include "sim/cost/explain.h"
#include "sim/machine/machine.h"
#include "tracer/ir/work.h"

#include <stdbool.h>

struct ll_transformed {
    struct ll_work product; /* what stands for the convolution */
    double apart_bytes;     /* that the passes before and after it move */
};

/* False when the transform does not serve this convolution: strided, grouped, of a type or with a
 * filter that it is not for. Pure. */
bool ll_transform(const struct ll_transform *transform, const struct ll_work *convolution,
                  struct ll_transformed *out);

/* Says how many tiles there are, and what the passes move. */
void ll_transform_tell(const struct ll_transform *transform, const struct ll_work *convolution,
                       struct ll_explain *why);

#endif
