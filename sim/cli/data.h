/* SPDX-License-Identifier: Apache-2.0 */
/* Measured data that a command line names. */
#ifndef LL_SIM_CLI_DATA_H
#define LL_SIM_CLI_DATA_H

#include "sim/validate/row.h"

/* The rows of all files, one file behind the other; texts live in the arena of the arguments. Starts zeroed.
 */
struct ll_measured_rows {
    struct ll_measured *at; /* to be freed */
    uint64_t count, capacity;
};

/* Adds files; false after printing all that is wrong with them. */
bool ll_read_rows(const char *const *paths, size_t path_count, struct ll_arena *arena,
                  struct ll_measured_rows *rows);

#endif
