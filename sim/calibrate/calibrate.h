/* SPDX-License-Identifier: Apache-2.0 */
/* A machine description out of measurements of a machine.
 *
 * The measurements are a trace of models/micro: its header says what memories and cores reach at best
 * (models/micro/probe.h), its ops how long each kind takes at several sizes, with cold and warm caches. The
 * first gives units and levels. Then every kind of op gets a kernel (software.kernels) whose few figures make
 * the cost model repeat those times as well as it can. Other workloads are never looked at. */
#ifndef LL_SIM_CALIBRATE_CALIBRATE_H
#define LL_SIM_CALIBRATE_CALIBRATE_H

#include "sim/machine/machine.h"
#include "tracer/base/listener.h"
#include "tracer/ir/trace.h"

/* How well a kind's kernel repeats what was measured. */
struct ll_fit {
    enum ll_op_kind kind;
    uint64_t samples;
    double error;  /* mean of |predicted - measured| / measured */
    double spread; /* of the measurements themselves: between the quartiles over the median, in the mean */
};

struct ll_calibration {
    struct ll_machine *machine; /* free with ll_machine_free */
    const struct ll_fit *fits;  /* in the order of the machine's kernels */
    uint64_t fit_count;
};

/* False after complaints: the trace is not of models/micro, memory ran out, or the listener ended it. All but
 * the machine lives in the arena. Pure, but for what the listener does. */
bool ll_calibrate(const struct ll_trace *micro, const struct ll_listener *listener, struct ll_arena *arena,
                  struct ll_diags *diags, struct ll_calibration *calibration);

/* The machine as a file that reads back to it, with a line that says where it comes from. */
void ll_calibration_yaml(const struct ll_calibration *calibration, struct ll_str *out);

/* Units and memory levels from the probes of a trace's header. */

/* A machine without kernels; NULL after complaining about what the header lacks. Free with ll_machine_free.
 */
struct ll_machine *ll_calibrate_base(const struct ll_trace *micro, struct ll_diags *diags);

/* How much of a cache is there for one who shares it, and how it replaces. */

struct ll_cache_share {
    uint64_t bytes;
    enum ll_cache_policy policy; /* LL_CACHE_LRU or LL_CACHE_RANDOM */
    double admission;            /* share of new lines that it lets in, in 16ths */
    double corunners_Bps;        /* what others bring into it */
    double Bps;                  /* of the fastest round; 0 without rounds */
};

/* Rates at which bytes are read through a cache, in bytes a second; each a text of "X=RATE X=RATE ...", NULL:
 * not measured. Of more than 32 pairs, and from the first one that is none on, the rest is not looked at. */
struct ll_cache_rates {
    /* X: so many bytes over and over, from rounds that fit for certain to rounds of which nothing stays */
    const char *rounds;
    /* X: the first, second and further times that so many bytes come around of which nothing was there */
    const char *times;
    /* X: one time more, after so many seconds of rest */
    const char *rests;
};

/* Of a cache of size_bytes: the size, in parts of a 64th, the policy and, with times, the admission and, with
 * rests, what others bring into it, under which ll_level_keeps and ll_cache_finds come nearest to these
 * rates, by the sum of relative errors. The whole, by age, with all let in and nobody else there, when there
 * are no rounds or when the longest is not the slower. Pure. */
struct ll_cache_share ll_held_of(uint64_t size_bytes, const struct ll_cache_rates *rates);

#endif
