/* SPDX-License-Identifier: Apache-2.0 */
/* What an op finds in a machine's memories of the ops before it: sim/memory/residency.h tells, and
 * sim/cost/cost.h says what it is worth. */
#ifndef LL_SIM_MACHINE_WARM_BYTES_H
#define LL_SIM_MACHINE_WARM_BYTES_H

#include "sim/machine/machine.h"

struct ll_warm_bytes {
    double saved_bytes[LL_MAX_LEVELS];  /* that need not pass between the level and those further in */
    double shared_bytes[LL_MAX_LEVELS]; /* that it overwrites, in the level, while other units have copies */
};

#endif
