/* SPDX-License-Identifier: Apache-2.0 */
/* What the three passes of a convolution share: the geometry, and gathering windows of an image as the rows
 * of a matrix. */
#ifndef LL_NN_KERNEL_CONV_H
#define LL_NN_KERNEL_CONV_H

#include "models/nn/kernel.h"

/* A window of `taps_h` x `taps_w` pixels of an image [height, width, channels], of which `used` channels from
 * `first` on are taken. As a row it has taps_h * taps_w * used columns. */
struct ll_window {
    uint64_t height, width, channels; /* of the image */
    uint64_t taps_h, taps_w, first, used;
};

/* Columns first_column..end_column - 1 of the row that a window gives whose top left pixel is (y, x), into
 * row[0] and on: its pixels line by line, the channels of each side by side, zero where it reaches outside of
 * the image. Of kernels in float, and in double. Pure. */
void ll_gather_f32(const struct ll_window *window, const float *image, int64_t y, int64_t x,
                   uint64_t first_column, uint64_t end_column, float *row);
void ll_gather_f64(const struct ll_window *window, const double *image, int64_t y, int64_t x,
                   uint64_t first_column, uint64_t end_column, double *row);

/* A block of gathered rows, in elements and in rows; rows of a filter's gradient that are one piece. */
enum { LL_CONV_ELEMENTS = 1 << 18, LL_CONV_LEAST_ROWS = 96, LL_CONV_MOST_ROWS = 384, LL_CONV_ROW_STEP = 32 };
enum { LL_CONV_FILTER_SLICE = 96 };

/* How many rows of so many columns are gathered and multiplied at a time: about what a second-level cache
 * holds (LL_CONV_ELEMENTS), and enough to pay for the packing of the other operand. Pure. */
uint64_t ll_conv_rows(uint64_t columns);

/* Whether every channel has one filter of its own: images [batch, height, width, channels], filters [height,
 * width, in of a group, out]. Such convolutions have kernels that gather nothing; the call is that of the op.
 */
bool ll_conv_is_depthwise(const struct ll_shape *image, const struct ll_shape *filter);
uint64_t ll_depthwise_filter_workspace(const struct ll_op_view *op);
ll_kernel ll_depthwise_forward_f32, ll_depthwise_forward_f64, ll_depthwise_data_f32, ll_depthwise_data_f64,
    ll_depthwise_filter_f32, ll_depthwise_filter_f64;

#endif
