/* SPDX-License-Identifier: Apache-2.0 */
/* What the chapters of the library share: how a call begins and ends, and traces as objects. */
#ifndef LL_SIM_API_CALL_H
#define LL_SIM_API_CALL_H

#include "sim/api/leadline.h"

#include <stdbool.h>

struct ll_trace;

/* A call takes the streams of this thread, and gives them back with an exit status of the program: whether it
 * is done, or interrupted with a result. What was said in between are its messages. */
void ll_call_begin(void);
bool ll_call_end(int status);

/* A call that is given NULL for `what`, and does nothing else. Where the call before it has failed, that
 * one's messages stay. Always NULL. */
void *ll_call_without(const char *what);

/* Inside a call: the trace as an object, named so in documents, which takes it over. NULL after saying why;
 * the trace is freed then. */
leadline_trace *ll_call_wrap_trace(struct ll_trace *trace, const char *name);

#endif
