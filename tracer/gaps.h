/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of recorded time that no machine makes shorter: gaps, in which a program did something that
 * was not recorded, and opaque calls. */
#ifndef LL_TRACER_GAPS_H
#define LL_TRACER_GAPS_H

#include "tracer/trace.h"

#define LL_GAPS_WANTED "keep, drop, or a factor such as 0.1"

/* By what such time is multiplied: keep is 1, drop 0, else a number from 0 to a million. False for other
 * texts. */
bool ll_gaps_parse(const char *text, double *factor);

/* Multiplies the recorded time of such ops, and says so in the header (gaps). To be called before the trace
 * is shared. False when memory ran out. */
bool ll_gaps_scale(struct ll_trace *trace, double factor);

#endif
