/* SPDX-License-Identifier: Apache-2.0 */
/* A machine description from measurements: samples of op times, kernels fitted to them, the machine.
 *
 * The first section: what a trace of models/micro says of a kind of op, how long it took, and what was on
 * chip. */
#ifndef LL_SIM_CALIBRATE_CALIBRATE_H
#define LL_SIM_CALIBRATE_CALIBRATE_H

#include "sim/machine/machine.h"
#include "sim/memory/residency.h"
#include "tracer/base/clock.h"
#include "tracer/ir/trace.h"
#include "tracer/ir/work.h"

struct ll_sample {
    enum ll_op_kind kind;
    struct ll_work work;
    bool own;       /* its kernel is one of ours, whose partition the header gives; else the library's */
    uint64_t slice; /* lines of the result that this kernel gives a thread at a time; 0: unknown */
    uint32_t op;    /* its index in the trace */
    double time_s;  /* mean over the steps without a tenth at either end, above 0 */
    double spread;  /* distance of the quartiles over the median */
    struct ll_warm_bytes found; /* what the ops before it left on chip (ll_residency_saved) */
};

/* Input that came from the host: how large, how long it took. */
struct ll_arrival {
    double bytes, time_s;
};

struct ll_samples {
    /* By kind, then in the order of the trace. */
    struct ll_sample *at;
    uint64_t count;              /* length of `at` */
    struct ll_arrival *arrivals; /* inputs from the host */
    uint64_t arrival_count;      /* length of `arrivals` */
    double library_share;        /* share of a unit's peak that a large GEMM of the library reached */
    double gap_s;                /* idle time between two ops, where little is in between */
};

/* Of all complete steps, which repeat the same ops, on a machine with these levels of memory. NULL when
 * memory ran out, or after complaining that there are none. Lives in the arena. */
const struct ll_samples *ll_samples_of(const struct ll_trace *micro, const struct ll_machine *machine,
                                       struct ll_arena *arena, struct ll_diags *diags);

/* A machine description out of measurements of a machine.
 *
 * The measurements are a trace of models/micro: its header says what memories and cores reach at best
 * (models/micro/probe.h), its ops how long each kind takes at several sizes, with cold and warm caches. The
 * first gives units and levels. Then every kind of op gets a kernel (software.kernels) whose few figures make
 * the cost model repeat those times as well as it can. Other workloads are never looked at. */

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

/* The kernel that makes the cost model repeat measured times of a kind of op as well as it can. */

/* Samples of one kind, at least one. The base machine's kernels are not asked. Fills *kernel, its ops
 * included and its name the kind's, and its residual table (in the arena), and what the fit is worth. False
 * when memory ran out. Pure. */
bool ll_fit_kernel(const struct ll_machine *base, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena, struct ll_kernel *kernel,
                   struct ll_overlay *overlay, struct ll_fit *fit);

/* What a sample would take, alone, with what was on chip; 0 when no unit can do it. Pure. */
double ll_sample_predicted_s(const struct ll_machine *machine, const struct ll_sample *sample);

/* The last step of the fit: what the machine's only kernel leaves unexplained of each shape becomes its
 * residual table, in the arena. Changes the machine's overlays. False when memory ran out. */
bool ll_fit_shapes(struct ll_machine *machine, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena, struct ll_overlay *overlay);

/* How input comes from the host: latency + bytes / bandwidth, by least squares of the relative error over
 * what arrived. *host stays as it was when that does not tell both. Pure. */
void ll_fit_host(const struct ll_samples *samples, struct ll_host *host);

#endif
