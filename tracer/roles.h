/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the batch in a trace whose maker did not say which dimensions it is: one that was imported, or
 * recorded from a foreign program. */
#ifndef LL_TRACER_ROLES_H
#define LL_TRACER_ROLES_H

#include "tracer/trace.h"

/* Whether a dimension of what comes in has the role of the batch. */
bool ll_trace_knows_batch(const struct ll_trace *trace);

/* Gives the role of the batch to the dimensions that can only be it, if a step takes so many samples: the
 * first one of that length of each input (of any tensor that no op makes and that is neither weight nor state
 * of an optimizer; the second where the first is none, as with steps of time), and of all that follows from
 * these by the op table. Notes the batch in the header. To be called before the trace is shared. False when
 * memory ran out (*trouble is NULL) or *trouble, a static sentence, says that no input has such a dimension;
 * the trace is then as it was. */
bool ll_trace_find_batch(struct ll_trace *trace, uint64_t batch, const char **trouble);

#endif
