/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded timelines as a page and as JSON: how long devices worked, waited and exchanged, the changes of a
 * what-if, kernels by time, the critical path. */
#ifndef LL_SIM_REPORT_RECORDED_REPORT_H
#define LL_SIM_REPORT_RECORDED_REPORT_H

#include "sim/replay/recorded.h"
#include "sim/report/sim_report.h"
#include "tracer/base/json.h"

struct ll_recorded_report {
    const char *trace_name;
    const struct ll_trace *trace;
    const struct ll_timeline_replay *replay;
    const struct ll_timeline_change *changes; /* as the replay filled them */
    uint64_t change_count;
    size_t top; /* rows of tables */
};

/* A page on one of them. width in characters. */
void ll_recorded_page(const struct ll_recorded_report *report, unsigned width, struct ll_str *out);

/* {"schema": "sim_recorded", "version": 1, "warnings": [...], "results": [...]}. */
void ll_recorded_json(const struct ll_recorded_report *reports, size_t count,
                      const struct ll_warnings *warnings, struct ll_json *json);

#endif
