/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/metrics.h"

#include "sim/cost/cost_parts.h"

#include <math.h>

static const char *unit_of(const struct ll_trace *trace)
{
    const char *unit = ll_trace_fact(trace, "sample.unit");
    return unit ? unit : ll_trace_fact(trace, "batch") ? "samples" : "steps";
}

static double over(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* A share of a whole that rounding leaves a little above 1. */
static double rounded(double share)
{
    return share > 1 && share < 1 + 1e-10 ? 1 : share;
}

double ll_flop_utilization(const struct ll_machine *machine, enum ll_dtype dtype, double flops, double time_s)
{
    enum ll_dtype computed;
    return rounded(over(flops, ll_computed_peak_flops(machine, dtype, &computed) * time_s));
}

struct ll_metrics ll_metrics_of(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    enum ll_dtype computed;
    double peak = ll_computed_peak_flops(machine, prepared->dtype, &computed);
    double active_s = result->device_active_s;
    struct ll_metrics metrics = {
        .samples = ll_trace_number(prepared->trace, "batch", 1) *
                   ll_trace_number(prepared->trace, "sample.amount", 1),
        .unit = unit_of(prepared->trace),
        .peak_flops = peak,
        .computed = computed,
        .device_utilization = rounded(over(active_s, result->time_s)),
        .fp32_utilization = ll_flop_utilization(machine, prepared->dtype, prepared->flops, active_s),
        .cpu_utilization = NAN,
    };
    metrics.throughput_Hz = over(metrics.samples, result->time_s);
    if (machine->host.cores > 0) /* who starts ops takes no longer than there is time: it would be late */
        metrics.cpu_utilization =
            over(fmin(result->starting_s, result->time_s), (double)machine->host.cores * result->time_s);
    return metrics;
}
