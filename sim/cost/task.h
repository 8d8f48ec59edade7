/* SPDX-License-Identifier: Apache-2.0 */
/* From work to task: the product behind it, the bytes of its elements, the overlap of its windows. */
#ifndef LL_SIM_COST_TASK_H
#define LL_SIM_COST_TASK_H

#include "sim/cost/unit_model.h"

/* Narrow results are summed in 32 bits, integers as well as floats, and kept so until they are whole,
 * unless a unit has it otherwise. */
enum { LL_SUM_BYTES = 4 };

/* A product without a single multiplication is not treated as one. Pure; the task points to the work. */
struct ll_task ll_task_of(const struct ll_work *work, enum ll_dtype dtype);

/* Of the pixels of an image those that lie in some window: strides may leave pixels between. Pure. */
double ll_share_in_windows(const struct ll_conv *conv);

/* Partial sums of so many bytes. */
void ll_sum_in(struct ll_task *task, uint64_t bytes);

/* Makes the matrices of a plain product as large as tiles of rows x columns store them, the last ones whole;
 * says so. Products behind convolutions and sequences stay as they are. At least 1 each; 1 x 1 changes
 * nothing. */
void ll_lay_in_tiles(struct ll_task *task, uint64_t rows, uint64_t columns, struct ll_explain *why);

/* A convolution, but for the gradient of filters, whose kernels take so many channels of an element of a
 * window at once, the last ones whole: k grows by the rest. 1 changes nothing. */
void ll_take_whole_channels(struct ll_task *task, uint64_t channels, struct ll_explain *why);

/* Says what bytes an operand has for each element that a product takes of it, where these are not those of
 * its type: pixels are in several windows, zeros are not stored, padding is. */
void ll_tell_elements(const struct ll_task *task, struct ll_explain *why);

/* What is read and written at the very least, in bytes. */
double ll_work_bytes(const struct ll_work *work);

/* The types in which a unit that does not list `dtype` may compute it without losing a value: the type
 * itself first, then wider ones, nearest first; integers may use the lanes of floats as wide. Fills types
 * (LL_DTYPE_COUNT of them at most) and returns how many. */
size_t ll_computed_as(enum ll_dtype dtype, enum ll_dtype types[LL_DTYPE_COUNT]);

/* The type in which the unit computes what is of this type: the type itself, or the nearest wider one that it
 * lists; the type itself where it lists none. Pure. */
enum ll_dtype ll_computed_on(const struct ll_unit *unit, enum ll_dtype dtype);

/* The machine's peak rate for what is of this type, as ll_machine_peak_flops has it, and the type in which it
 * is reached: the type itself, or a wider one that the machine computes faster. A unit that lists the type
 * may be one for some ops alone; the others run in the wider one, and no op faster than this. Where some unit
 * takes every op in a type, nothing runs in wider ones, so their rates do not count. Pure. */
double ll_computed_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype, enum ll_dtype *computed);

#endif
