/* SPDX-License-Identifier: Apache-2.0 */
/* What a page says beside its numbers, where there is something to say: waiting for input, products that no
 * unit for products takes. */
#ifndef LL_SIM_REPORT_REMARKS_H
#define LL_SIM_REPORT_REMARKS_H

#include "sim/report/sim_report.h"

/* A line for each, of so many characters at most. */
void ll_report_remarks(const struct ll_report *report, unsigned width, struct ll_str *out);

#endif
