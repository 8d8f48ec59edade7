/* SPDX-License-Identifier: Apache-2.0 */
/* How much other programs compute: what records times waits until they do not, and says so where they did.
 * Linux tells it in /proc/stat; where that cannot be read nothing is known, and nothing counts as quiet.
 * One thread. */
#ifndef LL_SIM_CLI_QUIET_H
#define LL_SIM_CLI_QUIET_H

#include <stdbool.h>

/* CPUs that others may keep busy, on average, while a machine counts as quiet. */
#define LL_QUIET_CPUS 0.15

/* A moment: the wall clock, the CPU time of all programs since the system began, that of this process. */
struct ll_quiet_mark {
    double at_s, all_s, own_s;
};

/* This moment. */
struct ll_quiet_mark ll_quiet_mark(void);

/* How many CPUs others kept busy on average from a moment until now; NaN where nothing is known. */
double ll_quiet_others(const struct ll_quiet_mark *since);

/* Waits until others keep fewer than LL_QUIET_CPUS busy for half a second, limit_s seconds at most (0: looks
 * once). False when they did not stop by then. */
bool ll_quiet_wait(double limit_s);

#endif
