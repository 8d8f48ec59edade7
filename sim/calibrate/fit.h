/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that makes the cost model repeat measured times of a kind of op as well as it can. */
#ifndef LL_SIM_CALIBRATE_FIT_H
#define LL_SIM_CALIBRATE_FIT_H

#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/samples.h"

/* Samples of one kind, at least one. The base machine's kernels are not asked. Fills *kernel, its ops
 * included and its name the kind's, and what the fit is worth. False when memory ran out. Pure. */
bool ll_fit_kernel(const struct ll_machine *base, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_kernel *kernel, struct ll_fit *fit);

#endif
