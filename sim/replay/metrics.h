/* SPDX-License-Identifier: Apache-2.0 */
/* What people who train networks ask of a machine, as Zhu et al. define it ("Benchmarking and Analyzing Deep
 * Neural Network Training", IISWC 2018, section 3.4):
 *
 *     throughput           samples a second; of speech, seconds of audio a second
 *     device utilization   time in which the device works, over time
 *     FP32 utilization     FLOPs over (peak rate x the time in which the device works)
 *     CPU utilization      time in which cores work, summed up, over (cores x time)
 *
 * From which follows: throughput x FLOPs of a sample = device utilization x FP32 utilization x peak rate.
 * Of the host nothing is simulated but that one core starts the device's ops and waits meanwhile. */
#ifndef LL_SIM_REPLAY_METRICS_H
#define LL_SIM_REPLAY_METRICS_H

#include "sim/replay/replay.h"

struct ll_metrics {
    double samples; /* in a step, in units of throughput */
    double throughput_Hz;
    const char *unit;       /* "samples", "audio seconds": the trace's or static */
    double peak_flops;      /* a second, in the element type in which most FLOPs are computed: that of the
                               utilization */
    enum ll_dtype computed; /* that type */
    double device_utilization, fp32_utilization;
    double cpu_utilization; /* NaN where the machine does not know its host's cores */
};

/* FLOPs over what the machine's peak in this type could do in that time; 0 where there is no peak or no time.
 * More than 1 only where fewer operations do (Winograd's way), not by rounding. Pure. */
double ll_flop_utilization(const struct ll_machine *machine, enum ll_dtype dtype, double flops,
                           double time_s);

/* Pure. A trace that does not say its batch counts steps. */
struct ll_metrics ll_metrics_of(const struct ll_result *result);

#endif
