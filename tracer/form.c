/* SPDX-License-Identifier: Apache-2.0 */
/* The shape rule is the guard of the count rules, so it goes first, on a copy. */
#include "tracer/form.h"

#include <string.h>

const char *ll_form_count(const struct ll_op_view *view, struct ll_form_counts *counts)
{
    struct ll_shape outputs[LL_MAX_OUTPUTS] = {0};
    struct ll_op_view inferred = *view;
    if (view->output_count > LL_MAX_OUTPUTS || view->attr_count > LL_MAX_ATTRS)
        return "an op has more outputs or attributes than there may be";
    if (view->output_count)
        memcpy(outputs, view->out, view->output_count * sizeof *outputs);
    inferred.out = outputs;
    const char *trouble = ll_op_infer(&inferred);
    if (trouble)
        return trouble;
    if (inferred.output_count != view->output_count)
        return "the number of outputs is not what this op gives";
    for (uint32_t i = 0; i < view->output_count; i++)
        if (outputs[i].rank != view->out[i].rank ||
            memcmp(outputs[i].dim, view->out[i].dim, sizeof outputs[i].dim))
            return "the outputs do not have the shapes that this op gives";
    *counts = (struct ll_form_counts){ll_op_flops(view), ll_op_bytes_read(view), ll_op_bytes_written(view)};
    return NULL;
}
