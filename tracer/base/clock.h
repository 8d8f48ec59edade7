/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time, and how far long work has come. Thread-safe. */
#ifndef LL_TRACER_BASE_CLOCK_H
#define LL_TRACER_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds since some fixed moment; never goes back. */
uint64_t ll_now_ns(void);

/* CPU time of this process so far, of all its threads, user and system. */
double ll_cpu_s(void);

/* The smallest step between two different readings, measured now over about a thousand readings. */
uint64_t ll_clock_resolution_ns(void);

/* Who wants to know how far long work has come, and may end it. */

struct ll_listener {
    /* What is being done and which share of it is; false: the work is to end early. NULL: nobody asks. */
    bool (*show)(void *context, const char *what, double done);
    void *context;
};

/* Whether to go on. */
static inline bool ll_tell(const struct ll_listener *listener, const char *what, double done)
{
    return !listener->show || listener->show(listener->context, what, done);
}

#endif
