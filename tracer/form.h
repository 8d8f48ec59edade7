/* SPDX-License-Identifier: Apache-2.0 */
/* What the op table says of a form. Pure. */
#ifndef LL_TRACER_FORM_H
#define LL_TRACER_FORM_H

#include "tracer/tables.h"

/* The counts of an op of a known kind whose outputs are there already. NULL on success; otherwise what is
 * wrong: shapes that the rule refuses, or outputs that it does not give, as a static sentence. Counts past
 * 64 bits are LL_NO_FIT. */
const char *ll_form_count(const struct ll_op_view *view, struct ll_form_counts *counts);

#endif
