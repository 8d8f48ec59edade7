/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/from_host.h"

#include <inttypes.h>

/* What the workers of the host take to prepare an op's result. */
static double prepare_s(const struct ll_host *host, enum ll_op_kind kind, uint64_t bytes,
                        struct ll_explain *why)
{
    double rate_Bps = kind == LL_OP_HOST_INPUT ? host->prepare_Bps : host->encode_Bps;
    double workers = (double)ll_max(1, host->workers), time_s = 0;
    if (rate_Bps > 0) {
        time_s = (double)bytes / (rate_Bps * workers);
        ll_say(why, "prepared by the host: %" PRIu64 " / (%.10g * %.10g) = %.10g s", bytes, rate_Bps, workers,
               time_s);
    }
    return time_s;
}

void ll_host_sends(const struct ll_host *host, enum ll_op_kind kind, const struct ll_work *work,
                   struct ll_cost *cost, struct ll_explain *why)
{
    if (host->bandwidth_Bps == 0) {
        ll_say(why, "inputs are there already: 0 = 0 s");
        return;
    }
    double latency_s = kind == LL_OP_HOST_INPUT ? host->latency_s : 0;
    cost->prepare_s = prepare_s(host, kind, work->c_bytes, why);
    cost->host_s = latency_s + (double)work->c_bytes / host->bandwidth_Bps;
    ll_say(why, "from the host: %.10g + %" PRIu64 " / %.10g = %.10g s", latency_s, work->c_bytes,
           host->bandwidth_Bps, cost->host_s);
    if (cost->prepare_s > 0)
        ll_say(why, "both: %.10g + %.10g = %.10g s", cost->prepare_s, cost->host_s,
               cost->prepare_s + cost->host_s);
    cost->host_s += cost->prepare_s;
}

void ll_host_swaps(const struct ll_host *host, const struct ll_work *work, struct ll_cost *cost,
                   struct ll_explain *why)
{
    uint64_t bytes = ll_max(work->a_bytes, work->c_bytes);
    if (host->bandwidth_Bps == 0) {
        ll_say(why, "nothing is known of the way to the host: 0 = 0 s");
        return;
    }
    cost->host_s = host->latency_s + (double)bytes / host->bandwidth_Bps;
    ll_say(why, "between host and device: %.10g + %" PRIu64 " / %.10g = %.10g s", host->latency_s, bytes,
           host->bandwidth_Bps, cost->host_s);
}
