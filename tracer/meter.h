/* SPDX-License-Identifier: Apache-2.0 */
/* What recording costs, measured while it happens and without costing much itself.
 *
 * Rare and long work (a new form, writing a frame) is timed whole. The frequent short calls are sampled:
 * about one in 8, at uneven distances so that a loop cannot fall in step with them, is timed, less what
 * reading the clock takes; the others are taken to cost the same on average. One thread at a time. */
#ifndef LL_TRACER_METER_H
#define LL_TRACER_METER_H

#include "tracer/base/clock.h"

#include <stdbool.h>

struct ll_meter {
    uint64_t clock_ns;            /* between two readings with nothing in between */
    uint64_t calls, samples;      /* of the short calls */
    uint64_t sampled_ns, long_ns; /* spent in the sampled ones; in long work */
    uint64_t until_sample, dice;
    double usual_ns; /* mean before the samples began anew */
};

/* At the beginning of a short call, and at its end with what the beginning gave. Long work inside is not
 * counted twice. */
struct ll_meter_mark {
    bool timed;
    uint64_t begin_ns, long_ns;
};

/* Measures the clock and starts from zero; adds a timed call, as ll_meter_leave does. */
void ll_meter_start(struct ll_meter *meter);
__attribute__((cold)) void ll_meter_sample(struct ll_meter *meter, const struct ll_meter_mark *mark);

/* The beginning of a short call. */
static inline struct ll_meter_mark ll_meter_enter(struct ll_meter *meter)
{
    struct ll_meter_mark mark = {.timed = --meter->until_sample == 0};
    if (mark.timed) {
        mark.long_ns = meter->long_ns;
        mark.begin_ns = ll_now_ns();
    }
    return mark;
}

/* Its end. */
static inline void ll_meter_leave(struct ll_meter *meter, const struct ll_meter_mark *mark)
{
    meter->calls++;
    if (mark->timed)
        ll_meter_sample(meter, mark);
}

/* Long work that began at begin_ns ends now. */
void ll_meter_long(struct ll_meter *meter, uint64_t begin_ns);

/* Begins the samples anew, for the mean of what follows. */
void ll_meter_renew(struct ll_meter *meter);

/* Mean cost of a short call since the samples began, or before when none was taken since; 0 before the first.
 */
double ll_meter_mean_ns(const struct ll_meter *meter);

#endif
