/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a step on cores as other rooms read one (result.c). Private to sim/fusion. */
#ifndef LL_SIM_FUSION_RESULT_H
#define LL_SIM_FUSION_RESULT_H

#include "sim/fusion/fusion_parts.h"
#include "sim/fusion/search.h"

/* Fills result; all else of the fusion is there. False when memory ran out or after complaints. */
bool fusion_result(struct ll_fused_step *fusion, struct search *search, struct ll_arena *arena,
                   struct ll_diags *diags);

#endif
