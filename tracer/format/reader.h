/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace file: everything that is whole, and an account of what is not.
 *
 * Nothing in a file can make the reader crash, hang or allocate more than a small multiple of the
 * file's size. */
#ifndef LL_TRACER_FORMAT_READER_H
#define LL_TRACER_FORMAT_READER_H

#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"

/* Reads a whole file. A damaged or cut-off file gives what is left of it (LL_OK, with lost_* set and a
 * complaint in diags for each hole: frame, offset, what was expected, what is lost). NULL with *status
 * when nothing can be used: not a trace, a newer major version, no memory. Free with ll_trace_free. */
struct ll_trace *ll_trace_read(const char *path, struct ll_diags *diags, enum ll_status *status);

/* The same from memory; name stands for the file in complaints. */
struct ll_trace *ll_trace_parse(const void *bytes, size_t size, const char *name, struct ll_diags *diags,
                                enum ll_status *status);

/* Whether bytes begin as a trace file does, whatever comes behind its header. Pure. */
bool ll_trace_begins(const void *bytes, size_t size);

#endif
