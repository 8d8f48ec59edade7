/* SPDX-License-Identifier: Apache-2.0 */
/* A trace once more: what begins as the same and is then changed, or written as a file. */
#ifndef LL_TRACER_COPY_H
#define LL_TRACER_COPY_H

#include "tracer/base/diag.h"
#include "tracer/trace.h"

/* Equal in all and sharing no memory; its descs, forms and their views may be written to until it is shared.
 * The caller frees it with ll_trace_free. NULL when memory ran out. */
struct ll_trace *ll_trace_copy(const struct ll_trace *trace);

/* Writes ops and steps of a trace, of kinds that the op table knows, as a file with these facts. What was
 * there stays where that fails. */
enum ll_status ll_trace_write(const struct ll_trace *trace, const struct ll_fact *facts, size_t fact_count,
                              const char *path);

#endif
