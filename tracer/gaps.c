/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/gaps.h"

#include "tracer/base/json.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <string.h>

bool ll_gaps_parse(const char *text, double *factor)
{
    static const double most = 1e6;
    char *end;
    *factor = strcmp(text, "keep") == 0 ? 1 : 0;
    if (strcmp(text, "keep") == 0 || strcmp(text, "drop") == 0)
        return true;
    *factor = ll_strtod(text, &end);
    return end != text && *end == '\0' && *factor >= 0 && *factor <= most;
}

bool ll_gaps_scale(struct ll_trace *trace, double factor)
{
    static const double most_ns = 9e18; /* fits, as long as centuries */
    char number[32];
    if (factor == 1)
        return true;
    for (uint64_t i = 0; i < trace->op_count; i++)
        if (ll_op_waits(trace->forms[trace->ops[i].form].view.kind))
            trace->ops[i].duration_ns =
                (uint64_t)llround(fmin((double)trace->ops[i].duration_ns * factor, most_ns));
    ll_number_text(factor, number);
    const char *said = ll_copy_text(&trace->arena, number, strlen(number));
    return said && ll_trace_note(trace, "gaps", said);
}
