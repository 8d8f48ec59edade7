/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of leadline validate: predicted over measured times. */
#ifndef LL_SIM_CLI_VALIDATE_FIGURE_H
#define LL_SIM_CLI_VALIDATE_FIGURE_H

#include "sim/validate/validate.h"
#include "tracer/base/arena.h"
#include "tracer/base/str.h"

/* Adds a page of scatter plots, one for each hardware, predicted over measured time, a colour for each
 * family. The arena is for scratch. False when memory ran out. */
bool ll_validation_figure(const struct ll_validation *validation, struct ll_arena *arena, struct ll_str *svg);

#endif
