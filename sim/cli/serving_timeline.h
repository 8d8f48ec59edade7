/* SPDX-License-Identifier: Apache-2.0 */
/* A serving as a timeline: requests, batches of each instance, and who waits, runs, fills the KV cache. One
 * thread. */
#ifndef LL_SIM_CLI_SERVING_TIMELINE_H
#define LL_SIM_CLI_SERVING_TIMELINE_H

#include "sim/cli/serving.h"
#include "tracer/convert/convert.h"

/* All steps and requests of a serving. {0} to begin with; to be released. */
struct ll_serving_log {
    struct ll_step_seen *steps; /* in the order in which they ended */
    struct ll_served *requests; /* likewise */
    uint64_t step_count, step_capacity, request_count, request_capacity;
    bool failed; /* memory ran out: the rest is missing */
};
void ll_serving_log_step(struct ll_serving_log *log, const struct ll_step_seen *step);
void ll_serving_log_request(struct ll_serving_log *log, const struct ll_served *served);
void ll_serving_log_release(struct ll_serving_log *log);

/* A serving to export. */
struct ll_serving_export {
    struct ll_export export;
    struct ll_serving_log *log; /* its steps and requests are brought into another order */
};

/* An exporter: `export` is that of a struct ll_serving_export. A process of requests, from arrival to last
 * token; one for each instance with its batches and the counters running, waiting and KV cache. Flows lead
 * from each request to the first batch that it is in, to that of its first token and to that of its last. */
bool ll_export_serving(struct ll_export *export);

#endif
