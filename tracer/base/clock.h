/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time. Thread-safe. */
#ifndef LL_BASE_CLOCK_H
#define LL_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment; never goes back. */
uint64_t ll_now_ns(void);

/* The smallest step between two different readings, measured now over about a thousand readings. */
uint64_t ll_clock_resolution_ns(void);

#endif
