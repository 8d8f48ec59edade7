/* SPDX-License-Identifier: Apache-2.0 */
/* Input is copied from where it was made ready; on a processor that is its own host, by its own threads. */
#include "sim/calibrate/fit.h"

#include <math.h>

void ll_fit_host(const struct ll_samples *samples, struct ll_host *host)
{
    /* Sums of the normal equations for latency and seconds a byte: the relative error is
     * latency / t + bytes / t * s - 1. Each counts as long as it took: what is small comes to nothing in a
     * step, and one thread copies it, where many share what is large. */
    double ones = 0, mixed = 0, squares = 0, to_ones = 0, to_bytes = 0;
    for (uint64_t i = 0; i < samples->arrival_count; i++) {
        double time_s = samples->arrivals[i].time_s, weight = time_s;
        double one = 1 / time_s, bytes = samples->arrivals[i].bytes * one;
        ones += weight * one * one;
        mixed += weight * one * bytes;
        squares += weight * bytes * bytes;
        to_ones += weight * one;
        to_bytes += weight * bytes;
    }
    double least = 1e-9 * ones * squares, det = ones * squares - mixed * mixed;
    double latency_s = (to_ones * squares - to_bytes * mixed) / det;
    double s_a_byte = (to_bytes * ones - to_ones * mixed) / det;
    if (!(det > least && s_a_byte > 0))
        return;
    host->bandwidth_Bps = 1 / s_a_byte;
    host->latency_s = fmax(0, latency_s);
    host->fills_caches = true;
}
