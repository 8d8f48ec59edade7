/* SPDX-License-Identifier: Apache-2.0 */
/* How quiet the machine is: how much other programs compute, which what records times waits for, and how
 * much the time of fixed work varies, which shows what no program of this machine does: clocks that
 * change, other machines on the same host that share caches and memory. The former Linux tells in
 * /proc/stat; where that cannot be read nothing is known, and nothing counts as quiet. One thread. */
#ifndef LL_SIM_CLI_QUIET_H
#define LL_SIM_CLI_QUIET_H

#include <stdbool.h>
#include <stddef.h>

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

/* Fixed work, timed again and again: arithmetic in the first cache, copies from beyond the second one, sums
 * of what lies beyond the last one. */
enum { LL_STEADY_LOOKS = 25 };
enum ll_steady_work { LL_STEADY_ARITHMETIC, LL_STEADY_COPY, LL_STEADY_MEMORY, LL_STEADY_WORKS };
struct ll_steady {
    double time_s[LL_STEADY_WORKS][LL_STEADY_LOOKS];
    size_t count; /* of each; looks beyond the room are left out */
    void *space;  /* what is worked on */
};

/* Takes 72 MiB to work on. Where there are none nothing is timed. To be released. */
void ll_steady_init(struct ll_steady *steady);
void ll_steady_release(struct ll_steady *steady);

/* Adds a time of each, which takes a hundredth of a second. */
void ll_steady_look(struct ll_steady *steady);

#endif
