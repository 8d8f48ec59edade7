/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on results, for continuous integration: `leadline sim --check 'time_s <= 5ms'`. */
#ifndef LL_SIM_CLI_CHECK_H
#define LL_SIM_CLI_CHECK_H

#include "sim/cli/command.h"
#include "sim/report/sim_report.h"

/* Whether every --check of the arguments holds of each report. A check is an expression of
 * sim/explore/space.h; its names are the paths of numbers in a result of `leadline sim --json`
 * (memory.peak_bytes, by_kind.matmul.time_s: an element of a list goes by its first text), and share.compute
 * for bottlenecks.compute. LL_FAILED after a sentence for each that does not hold or has no value, LL_WRONG
 * after complaints about one that cannot be read. */
int ll_check_reports(const struct ll_args *args, const struct ll_report *reports, size_t count);

#endif
