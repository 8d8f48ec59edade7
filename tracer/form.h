/* SPDX-License-Identifier: Apache-2.0 */
/* What the op table says of a form. */
#ifndef LL_TRACER_FORM_H
#define LL_TRACER_FORM_H

#include "tracer/trace.h"

struct ll_form_counts {
    uint64_t flops, bytes_read, bytes_written;
};

/* The counts of an op of a known kind whose outputs are there already. NULL on success; otherwise what is
 * wrong: shapes that the rule refuses, or outputs that it does not give, as a static sentence. Counts past
 * 64 bits are LL_NO_FIT. Pure. */
const char *ll_form_count(const struct ll_op_view *view, struct ll_form_counts *counts);

/* What follows of the trace's descs, which have changed: shapes, flops and bytes of a form, whose lists are
 * those of the trace's arena; counts of kinds that this program does not know stay. False when memory ran out
 * or *trouble, a static sentence, says what does not work out. */
bool ll_form_renew(struct ll_trace *trace, struct ll_form *form, const char **trouble);

/* By form: whether it is another look at the same memory, which costs nothing. In the arena; NULL when memory
 * ran out. */
bool *ll_views(const struct ll_trace *trace, struct ll_arena *arena);

#endif
