/* SPDX-License-Identifier: Apache-2.0 */
/* A validation as a picture. */
#ifndef LL_SIM_CLI_VALIDATE_FIGURE_H
#define LL_SIM_CLI_VALIDATE_FIGURE_H

#include "sim/validate/validate.h"
#include "tracer/base/str.h"

/* Adds a page of scatter plots, one for each hardware, predicted over measured time, a colour for each
 * family. False when memory ran out. */
bool ll_draw_validation(const struct ll_validation *validation, struct ll_arena *arena, struct ll_str *svg);

#endif
