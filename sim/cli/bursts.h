/* SPDX-License-Identifier: Apache-2.0 */
/* What a timed DRAM did with its bursts, as the commands that play one tell it. */
#ifndef LL_SIM_CLI_BURSTS_H
#define LL_SIM_CLI_BURSTS_H

#include "sim/memory/dram.h"
#include "tracer/base/json.h"

/* So many of its bursts as a share of all; 0 where there are none. */
double ll_share_of_bursts(const struct ll_dram_result *timed, uint64_t part);

/* The keys bursts, row_hits, row_misses, row_conflicts and refreshes of an open object. */
void ll_bursts_json(const struct ll_dram_result *timed, struct ll_json *json);

#endif
