/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a step for people and for programs: its course, what is alive at the peak, what allocators
 * make of it, and what would make it fit. */
#ifndef LL_SIM_REPORT_MEMORY_REPORT_H
#define LL_SIM_REPORT_MEMORY_REPORT_H

#include "sim/memory/allocators.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "tracer/base/json.h"

struct ll_memory_report {
    const char *name; /* of the trace, as the user named it */
    const struct ll_trace *trace;
    struct ll_footprint footprint;
    const struct ll_over_time *course;
    const struct ll_all_alive *alive; /* at the peak */
    struct ll_allocated allocated[LL_ALLOCATOR_COUNT];
    uint64_t capacity_bytes;           /* of the machine; 0: none was asked about */
    const struct ll_mitigation *cures; /* NULL when they were not tried */
    size_t cure_count;
    const struct ll_parallel_result *parallel; /* whose fullest stage this is; NULL: one device, no plan */
    uint64_t beside_bytes; /* what that holds beside the one micro-batch whose trace this is */
};

/* Of a trace alone; of what was replayed on a machine, with cures; of the fullest stage of a plan that
 * `trace` was spread for, with cures. Live in the arena; NULL when memory ran out. */
const struct ll_memory_report *ll_memory_report_of(const char *name, const struct ll_trace *trace,
                                                   struct ll_arena *arena);
const struct ll_memory_report *ll_memory_report(const char *name, const struct ll_result *result,
                                                struct ll_arena *arena);
const struct ll_memory_report *ll_memory_report_of_plan(const char *name, const struct ll_trace *trace,
                                                        const struct ll_parallel_result *parallel,
                                                        struct ll_arena *arena);

/* Keys `alive`, `over_time`, `allocators` and, with a machine, `over_bytes` and `cures`, into the open
 * object; with a plan also `stage`, `in_flight` and `beside_bytes`. */
void ll_memory_json(const struct ll_memory_report *report, struct ll_json *json);

/* Tables of the same. width in characters. */
void ll_memory_text(const struct ll_memory_report *report, unsigned width, struct ll_str *out);

/* The course of memory by class as SVG, a panel each; of a plan its fullest stage, with what other passes
 * hold. False when memory ran out. */
bool ll_memory_figure(const struct ll_memory_report *const *reports, size_t count, struct ll_str *out);

#endif
