/* SPDX-License-Identifier: Apache-2.0 */
/* A workload that tries every kind of op at several sizes, recorded like any other.
 *
 * Each op stands in the list a few times in a row: at first its operands have been displaced from the caches
 * by the ops before, then it finds them there. Steps repeat the whole list, so each op is measured at times
 * far apart, and what disturbs one step does not disturb all. The scope of an op tells why it is there:
 * "cold/KIND", "warm/KIND" or "handed/KIND", of operands that another op has just written; ops in scopes
 * below that, or of other kinds, only prepare. */
#ifndef LL_MICRO_MICRO_H
#define LL_MICRO_MICRO_H

#include "tracer/base/listener.h"
#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stdint.h>

struct ll_micro_options {
    unsigned threads;            /* 0: one for each CPU */
    double seconds;              /* about how long to repeat steps; there are three at least */
    uint64_t steps;              /* 0: as many as fit the time */
    bool quick;                  /* the smallest sizes alone and no probes: to see that it works */
    const char *path;            /* the trace to write */
    struct ll_listener listener; /* who ends it early gets what was measured until then */
};

/* Records the workload. LL_NO_MEMORY, LL_NO_LIBRARY without OpenBLAS, or a trouble with the file. */
enum ll_status ll_micro_record(const struct ll_micro_options *options);

#endif
