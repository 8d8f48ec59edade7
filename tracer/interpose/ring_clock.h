/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of the recorded program as nanoseconds of ll_now_ns. Inner to this room.
 *
 * Where the processor counts cycles of a constant rate from one start on all its cores, programs read that
 * counter; else they read the same clock as we do. The rate is measured against ll_now_ns, over an ever
 * longer time. */
#ifndef LL_INTERPOSE_RING_CLOCK_H
#define LL_INTERPOSE_RING_CLOCK_H

#include "tracer/interpose/ring.h"

struct ll_ring_clock_line {
    enum ll_ring_clock clock;
    uint64_t base_ticks, base_ns; /* two readings of the same moment */
    double ns_per_tick;
    uint64_t measured_ns; /* over so long a time */
};

/* The clock that programs of this machine should read, its two readings now, and its rate over some ten
 * milliseconds, which this takes. */
void ll_ring_clock_choose(struct ll_ring_clock_line *line);

/* From a control file: takes at least ten milliseconds from the time that the file was made. */
void ll_ring_clock_begin(struct ll_ring_clock_line *line, const struct ll_ring_control *control);

/* Measures the rate again when twice as much time has passed as at the last measurement. */
void ll_ring_clock_refine(struct ll_ring_clock_line *line);

/* Ticks of that clock, now. */
uint64_t ll_ring_clock_now(const struct ll_ring_clock_line *line);

/* Pure; ticks before the base are moments before base_ns, never below 0. */
uint64_t ll_ring_clock_ns(const struct ll_ring_clock_line *line, uint64_t ticks);
uint64_t ll_ring_clock_duration_ns(const struct ll_ring_clock_line *line, uint64_t ticks);

#endif
