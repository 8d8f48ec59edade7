/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/parallel/once.h"

bool ll_is_lasting_cast(const struct ll_trace *program, const struct ll_form *form)
{
    return form->view.kind == LL_OP_CAST && program->descs[form->inputs[0]].memory == LL_WEIGHT &&
           program->descs[form->outputs[0]].memory == LL_WORKSPACE;
}

bool ll_is_once(const struct ll_trace *program, const struct ll_form *form)
{
    return form->phase == LL_PHASE_COMM || form->phase == LL_PHASE_UPDATE ||
           ll_is_lasting_cast(program, form);
}
