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

#endif
