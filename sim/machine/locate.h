/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a machine by their paths: for whoever reads them many times. Pure. */
#ifndef LL_SIM_MACHINE_LOCATE_H
#define LL_SIM_MACHINE_LOCATE_H

#include "sim/machine/machine.h"
#include "sim/machine/quantity.h"

/* Where a number of a machine stands. */
struct ll_location {
    size_t offset; /* in struct ll_machine */
    bool whole;    /* uint64_t, else double */
    enum ll_dimension dimension;
};

/* Finds the number at a path; false when there is none. Machines of one file have them at the same place. */
bool ll_machine_locate(const struct ll_machine *machine, const char *path, struct ll_location *location);

/* Its value in the base unit. */
double ll_located(const struct ll_machine *machine, const struct ll_location *location);

#endif
