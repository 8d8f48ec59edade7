/* SPDX-License-Identifier: Apache-2.0 */
/* The block of data of a sweep's page. Private to sim/explore/sweep_*.c. */
#ifndef LL_SIM_EXPLORE_SWEEP_DATA_H
#define LL_SIM_EXPLORE_SWEEP_DATA_H

#include "sim/explore/findings.h"

/* Appends the block, packed, as sweep_page.h lays it out; *left_out is how many columns would have made the
 * page too large. False when memory ran out. */
bool ll_sweep_data(const struct ll_findings *findings, struct ll_str *out, size_t *left_out);

#endif
