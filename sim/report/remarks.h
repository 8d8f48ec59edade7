/* SPDX-License-Identifier: Apache-2.0 */
/* What a page says beside its numbers, where there is something to say: waiting for input, products that no
 * unit for products takes, because of their kind or of their type, a step that loads what further ones find
 * on the chip. */
#ifndef LL_SIM_REPORT_REMARKS_H
#define LL_SIM_REPORT_REMARKS_H

#include "sim/report/sim_report.h"

/* The sentence that the line below has, without end; false, and nothing, where there is none to say. */
bool ll_say_lanes_for_type(const struct ll_result *result, struct ll_str *out);

/* A line where units for products compute in no type that serves the one of most FLOPs, so that lanes do. It
 * begins with the machine, unless NULL. */
void ll_report_lanes_for_type(const struct ll_result *result, const char *machine, unsigned width,
                              struct ll_str *out);

/* A line for each, of so many characters at most. */
void ll_report_remarks(const struct ll_report *report, unsigned width, struct ll_str *out);

#endif
