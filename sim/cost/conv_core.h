/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution core (unit_conv_core.c) makes of its operands in memory. */
#ifndef LL_SIM_COST_CONV_CORE_H
#define LL_SIM_COST_CONV_CORE_H

#include "sim/cost/cost_parts.h"

/* Where the unit is a convolution core and the task is a GEMM: operands have the bytes that memory has of
 * them, with channels rounded up, zeros in filters that a stride does not divide, weights transformed by
 * Winograd; and a convolution that the core does image by image becomes a batch of GEMMs, each with weights
 * of its own. Otherwise nothing changes. */
void ll_conv_core_pack(const struct ll_unit *unit, struct ll_task *task);

#endif
