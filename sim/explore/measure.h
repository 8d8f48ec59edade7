/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured of a workload on a design. Plain data. */
#ifndef LL_SIM_EXPLORE_MEASURE_H
#define LL_SIM_EXPLORE_MEASURE_H

#include "sim/cost/cost.h"
#include "sim/machine/quantity.h"

#include <stdbool.h>
#include <stddef.h>

/* Word, name, dimension, what it is. All are doubles, NaN where the machine does not say (energy, area,
 * price). Expressions and databases know them by name. */
#define LL_MEASURE_LIST(X)                                                                                   \
    X(TIME, "time_s", TIME, "of a step")                                                                     \
    X(ENERGY, "energy_j", ENERGY, "of a step, all devices together")                                         \
    X(EDP, "edp", NUMBER, "energy of a step times its time")                                                 \
    X(POWER, "power_w", POWER, "energy over time")                                                           \
    X(THROUGHPUT, "throughput", FREQUENCY, "samples a second; of speech, seconds of audio a second")         \
    X(THROUGHPUT_PER_W, "throughput_per_w", NUMBER, "samples for a joule")                                   \
    X(UTILIZATION, "flop_utilization", NUMBER, "FLOPs over what the peak rate would allow")                  \
    X(ACTIVE, "device_utilization", NUMBER, "share of the step in which the device works")                   \
    X(AREA, "area_mm2", AREA, "of a device, whatever the workload")                                          \
    X(PEAK, "memory.peak_bytes", SIZE, "the footprint at its worst moment")                                  \
    X(CAPACITY, "memory.capacity_bytes", SIZE, "of the outermost level")                                     \
    X(DEVICES, "devices", NUMBER,                                                                            \
      "that the step is spread over; energy, power and price are of all, area and memory of one")            \
    X(FITS, "memory.fits", NUMBER, "1 when the footprint fits the outermost level, else 0")                  \
    X(PRICE, "price_usd", NUMBER, "of making all devices of the design, whatever the workload")

enum ll_measure {
#define X(word, ...) LL_MEASURE_##word,
    LL_MEASURE_LIST(X)
#undef X
        LL_MEASURE_COUNT
};
/* As in the list. Static storage. */
const char *ll_measure_name(enum ll_measure measure);
/* Its dimension; LL_DIMENSION_NUMBER where there is no word for it. */
enum ll_dimension ll_measure_dimension(enum ll_measure measure);

struct ll_readings {
    double of[LL_MEASURE_COUNT];
    double shares[LL_BOUND_COUNT]; /* of the time, by what bound it; sum to 1 */
};

/* The mean of one measure over workloads, at least one: the geometric mean; the plain one where that is
 * wanted or a value is not above 0. Equal values have themselves as their mean, to the last bit. Pure. */
double ll_workload_mean(const double *values, size_t count, bool plain);

/* The share of the time that was bound by something is called share.compute, share.hbm, ...: this is what
 * stands before the name of the bound. */
#define LL_SHARE_PREFIX "share."

#endif
