/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that makes the cost model repeat measured times of a kind of op as well as it can. */
#ifndef LL_SIM_CALIBRATE_FIT_H
#define LL_SIM_CALIBRATE_FIT_H

#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/samples.h"

/* Samples of one kind, at least one. The base machine's kernels are not asked. Fills *kernel, its ops
 * included and its name the kind's, and what the fit is worth; the shapes measured are in the arena. False
 * when memory ran out. Pure. */
bool ll_fit_kernel(const struct ll_machine *base, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena, struct ll_kernel *kernel, struct ll_fit *fit);

/* What a sample would take, alone, with what was on chip; 0 when no unit can do it. Pure. */
double ll_sample_predicted_s(const struct ll_machine *machine, const struct ll_sample *sample);

/* The last step of the fit: what the machine's only kernel leaves unexplained of each shape becomes its
 * `seen`, in the arena. False when memory ran out. */
bool ll_fit_shapes(struct ll_machine *machine, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena);

/* How input comes from the host: latency + bytes / bandwidth, by least squares of the relative error over
 * what arrived. *host stays as it was when that does not tell both. Pure. */
void ll_fit_host(const struct ll_samples *samples, struct ll_host *host);

#endif
