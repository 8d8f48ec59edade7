/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory of finding tokens' places with experts. */
#ifndef LL_NN_KERNEL_ROUTE_H
#define LL_NN_KERNEL_ROUTE_H

#include "tracer/ops.h"

/* Bytes: how many have come to each expert. */
uint64_t ll_route_workspace(const struct ll_op_view *op, unsigned threads);

#endif
