/* SPDX-License-Identifier: Apache-2.0 */
/* A trace at another batch size, and finding the batch where the trace does not name it. */
#ifndef LL_TRACER_TRANSFORM_RESCALE_H
#define LL_TRACER_TRANSFORM_RESCALE_H

#include "tracer/ir/trace.h"

/* Finding the batch in a trace whose maker did not say which dimensions it is: one that was imported, or
 * recorded from an external program. */

/* Whether a dimension of what comes in has the role of the batch. */
bool ll_trace_knows_batch(const struct ll_trace *trace);

/* Gives the role of the batch to the dimensions that can only be it, if a step takes so many samples: the
 * first one of that length of each input (of any tensor that no op makes and that is neither weight nor state
 * of an optimizer; the second where the first is none, as with steps of time), and of all that follows from
 * these by the op table. Notes the batch in the header. To be called before the trace is shared. False when
 * memory ran out (*trouble is NULL) or *trouble, a static sentence, says that no input has such a dimension;
 * the trace is then as it was. */
bool ll_trace_find_batch(struct ll_trace *trace, uint64_t batch, const char **trouble);

/* A trace as if its workload had run at another batch: what a step of 64 samples would be with 16.
 *
 * Dimensions of the role LL_ROLE_BATCH become longer or shorter in proportion, whatever else they merge with
 * the batch (the rows of a product are samples times steps); all others stay. What attributes say of such
 * dimensions follows, and flops and bytes are counted anew. Order, edges and storages stay as they are. */

/* The batch in the trace's header, 0 when it says none. */
uint64_t ll_trace_batch(const struct ll_trace *trace);

/* A new trace with that batch (at least 1), freed by the caller with ll_trace_free; its header has the new
 * batch, its ops no times, but for those that only wait (ll_op_waits). NULL when memory ran out (*trouble is
 * NULL then) or *trouble, a static sentence, says what does not work out: no batch in the header, no
 * dimension of that role, one that is no multiple of the batch, an op that this would make impossible.
 * Thread-safe on different or shared traces. */
struct ll_trace *ll_trace_rescale(const struct ll_trace *trace, uint64_t batch, const char **trouble);

/* Changes that scale a trace in place: recorded time that no machine makes shorter. */

/* What becomes of recorded time that no machine makes shorter: gaps, in which a program did something that
 * was not recorded, and opaque calls. */

#define LL_GAPS_WANTED "keep, drop, or a factor such as 0.1"

/* By what such time is multiplied: keep is 1, drop 0, else a number from 0 to a million. False for other
 * texts. */
bool ll_gaps_parse(const char *text, double *factor);

/* Multiplies the recorded time of such ops, and says so in the header (gaps). To be called before the trace
 * is shared. False when memory ran out. */
bool ll_gaps_scale(struct ll_trace *trace, double factor);

#endif
