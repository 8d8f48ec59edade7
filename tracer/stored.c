/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/stored.h"

#include "tracer/form.h"
#include "tracer/retype.h"

#include <stdlib.h>

/* How a desc is used. */
enum use { UNUSED, MULTIPLIED, OTHERWISE };

/* Whether input 1 is the right operand of a product, all of it. */
static bool multiplies(const struct ll_op_view *view)
{
    struct ll_work work;
    return view->kind != LL_OP_COUNT && view->input_count > 1 && ll_op_lower(view, &work) &&
           ll_is_product(&work) && work.b_bytes == ll_size_bytes(&view->in[1]);
}

static void look_at(const struct ll_form *form, uint8_t *uses)
{
    bool product = multiplies(&form->view);
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        uint8_t *use = &uses[form->inputs[i]];
        *use = product && i == 1 && *use != OTHERWISE ? MULTIPLIED : OTHERWISE;
    }
    for (uint32_t i = 0; i < form->view.output_count; i++)
        uses[form->outputs[i]] = OTHERWISE;
}

bool ll_trace_store_weights(struct ll_trace *trace, enum ll_dtype dtype, uint64_t *weights,
                            const char **trouble)
{
    uint8_t *uses = calloc(trace->desc_count + 1, sizeof *uses);
    bool right = uses != NULL;
    *weights = 0;
    *trouble = NULL;
    for (uint64_t i = 0; right && i < trace->form_count; i++)
        look_at(&trace->forms[i], uses);
    for (uint64_t i = 0; right && i < trace->desc_count; i++) {
        struct ll_shape *shape = &trace->descs[i].shape;
        if (trace->descs[i].memory != LL_WEIGHT || uses[i] != MULTIPLIED ||
            !ll_dtype_is_floating((enum ll_dtype)shape->dtype))
            continue;
        shape->dtype = (uint8_t)dtype;
        (*weights)++;
    }
    for (uint64_t i = 0; right && i < trace->form_count; i++)
        right = ll_form_renew(trace, &trace->forms[i], trouble);
    free(uses);
    return right && ll_trace_note(trace, "weights", ll_dtype_name(dtype));
}
