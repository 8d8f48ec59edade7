/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/serving_timeline.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tracer/base/num.h"
#include "tracer/convert/timeline/timeline.h"

/* --- the log --- */

void ll_serving_log_step(struct ll_serving_log *log, const struct ll_step_seen *step)
{
    if (!ll_grow(&log->steps, &log->step_capacity, log->step_count + 1, sizeof *log->steps))
        log->failed = true;
    else
        log->steps[log->step_count++] = *step;
}

void ll_serving_log_request(struct ll_serving_log *log, const struct ll_served *served)
{
    if (!ll_grow(&log->requests, &log->request_capacity, log->request_count + 1, sizeof *log->requests))
        log->failed = true;
    else
        log->requests[log->request_count++] = *served;
}

void ll_serving_log_release(struct ll_serving_log *log)
{
    free(log->steps);
    free(log->requests);
    *log = (struct ll_serving_log){0};
}

/* By pool, instance and begin. An instance's steps end in the order in which they begin. */
static int by_instance(const void *left, const void *right)
{
    const struct ll_step_seen *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    if (a->instance != b->instance)
        return a->instance < b->instance ? -1 : 1;
    return (a->start_s > b->start_s) - (a->start_s < b->start_s);
}

static int by_number(const void *left, const void *right)
{
    const struct ll_served *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* --- flows --- */

/* One end of a flow, at a step. */
struct end {
    uint64_t step;
    struct ll_timeline_flow flow;
};

struct drawing {
    struct ll_timeline_file *timeline;
    const struct ll_serving_log *log;
    struct end *ends; /* by step */
    uint64_t end_count;
    struct ll_timeline_flow *flows; /* of the step at hand */
    struct ll_arena arena;
};

/* Flows of a request: into its first batch, to that of its first token, into the first batch behind a
 * transfer, to that of its last token. */
enum { TO_FIRST, TO_TOKEN, TO_DECODE, TO_LAST, FLOWS };

static uint64_t flow_id(const struct ll_served *request, int which)
{
    return 1 + request->number * FLOWS + (uint64_t)which;
}

/* The first step of an instance that begins (or ends) at this time or later. */
static uint64_t step_at(const struct ll_serving_log *log, uint64_t pool, uint64_t instance, double at_s,
                        bool ends)
{
    uint64_t low = 0, high = log->step_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct ll_step_seen *s = &log->steps[middle];
        const bool before = s->pool != pool           ? s->pool < pool
                            : s->instance != instance ? s->instance < instance
                                                      : (ends ? s->end_s : s->start_s) < at_s;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    assert(low < log->step_count);
    return low;
}

static uint64_t begin_ns(const struct drawing *d, uint64_t step)
{
    return ll_timeline_ns(d->log->steps[step].start_s);
}

/* A flow between two steps; none where they are the same. */
static void link(struct drawing *d, uint64_t id, uint64_t from, uint64_t to)
{
    if (from == to)
        return;
    d->ends[d->end_count++] = (struct end){from, {id, "request", true, begin_ns(d, to)}};
    d->ends[d->end_count++] = (struct end){to, {id, "request", false, 0}};
}

static int by_step(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->flow.id > b->flow.id) - (a->flow.id < b->flow.id);
}

static uint64_t first_step(const struct drawing *d, const struct ll_served *q)
{
    const bool apart = d->log->steps[0].pool != 0; /* pools are apart, or there is one */
    const bool handed = q->handed_s > 0;
    return step_at(d->log, apart, handed ? q->prefill_instance : q->instance, q->scheduled_s, false);
}

/* Ends of all flows at steps, in the order of steps. False when memory ran out. */
static bool find_ends(struct drawing *d)
{
    const struct ll_serving_log *log = d->log;
    const bool apart = log->steps[0].pool != 0;
    d->ends = ll_alloc(&d->arena, 2 * FLOWS * log->request_count, sizeof *d->ends);
    d->flows = ll_alloc(&d->arena, 2 * FLOWS * log->request_count, sizeof *d->flows);
    if (!d->ends || !d->flows)
        return false;
    for (uint64_t i = 0; i < log->request_count; i++) {
        const struct ll_served *q = &log->requests[i];
        const bool handed = q->handed_s > 0;
        const uint64_t prompt = handed ? q->prefill_instance : q->instance, first = first_step(d, q);
        /* Batches of a pipeline may end together: that of the request is none before the last known one. */
        const uint64_t token = ll_max(first, step_at(log, apart, prompt, q->first_token_s, true)),
                       resumed = handed ? step_at(log, 2, q->instance, q->resumed_s, false) : token,
                       last = ll_max(resumed,
                                     step_at(log, handed ? 2 : apart, q->instance, q->last_token_s, true));
        d->ends[d->end_count++] = (struct end){first, {flow_id(q, TO_FIRST), "request", false, 0}};
        link(d, flow_id(q, TO_TOKEN), first, token);
        link(d, flow_id(q, TO_DECODE), token, resumed);
        link(d, flow_id(q, TO_LAST), resumed, last);
    }
    qsort(d->ends, d->end_count, sizeof *d->ends, by_step);
    return true;
}

/* --- slices --- */

static void add_count(struct ll_timeline_slice *slice, const char *name, uint64_t count)
{
    slice->args[slice->arg_count++] =
        (struct ll_timeline_arg){.name = name, .kind = LL_TIMELINE_COUNT, .count = count};
}

static void add_number(struct ll_timeline_slice *slice, const char *name, double number)
{
    slice->args[slice->arg_count++] =
        (struct ll_timeline_arg){.name = name, .kind = LL_TIMELINE_NUMBER, .number = number};
}

static bool add_requests(struct drawing *d)
{
    ll_timeline_process(d->timeline, "requests");
    const uint32_t track = ll_timeline_track(d->timeline, "requests");
    bool good = true;
    for (uint64_t i = 0; good && i < d->log->request_count; i++) {
        const struct ll_served *q = &d->log->requests[i];
        char name[40];
        ll_snprintf(name, sizeof name, "request %" PRIu64, q->number);
        struct ll_timeline_flow flow = {flow_id(q, TO_FIRST), "request", true, begin_ns(d, first_step(d, q))};
        struct ll_timeline_slice slice = {.track = track,
                                          .begin_ns = ll_timeline_ns(q->request.arrival_s),
                                          .end_ns = ll_timeline_ns(q->last_token_s),
                                          .name = name,
                                          .category = "request",
                                          .flows = &flow,
                                          .flow_count = 1};
        add_count(&slice, "input tokens", q->request.input);
        add_count(&slice, "output tokens", q->request.output);
        add_number(&slice, "queued s", q->scheduled_s - q->request.arrival_s);
        add_number(&slice, "TTFT s", q->first_token_s - q->request.arrival_s);
        if (q->request.output > 1)
            add_number(&slice, "TPOT s",
                       (q->last_token_s - q->first_token_s) / (double)(q->request.output - 1));
        add_count(&slice, "preemptions", q->preemptions);
        add_count(&slice, "tokens found", q->hit_tokens);
        good = ll_timeline_slice(d->timeline, &slice);
    }
    return good;
}

/* Counters of an instance, in the order in which they are added. */
enum { RUNNING, WAITING, KV, COUNTERS };

static void set_counters(struct drawing *d, uint64_t at_ns, const int64_t values[COUNTERS],
                         int64_t last[COUNTERS])
{
    for (uint32_t c = 0; c < COUNTERS; c++) {
        ll_timeline_add(d->timeline, c, at_ns, values[c] - last[c]);
        last[c] = values[c];
    }
}

static bool add_batch(struct drawing *d, const struct ll_step_seen *s, uint32_t flow_count)
{
    char name[80];
    struct ll_timeline_slice slice = {.track = 0,
                                      .begin_ns = ll_timeline_ns(s->start_s),
                                      .end_ns = ll_timeline_ns(s->end_s),
                                      .name = name,
                                      .flows = d->flows,
                                      .flow_count = flow_count};
    if (s->prompt_tokens == 0)
        ll_snprintf(name, sizeof name, "decode %" PRIu64, s->sequences);
    else if (s->sequences == 0)
        ll_snprintf(name, sizeof name, "prefill %" PRIu64, s->prompt_tokens);
    else
        ll_snprintf(name, sizeof name, "decode %" PRIu64 ", prefill %" PRIu64, s->sequences,
                    s->prompt_tokens);
    slice.category = s->prompt_tokens == 0 ? "decode" : s->sequences == 0 ? "prefill" : "mixed";
    add_count(&slice, "sequences", s->sequences);
    add_count(&slice, "context tokens", s->context);
    add_count(&slice, "prompts", s->prompts);
    add_count(&slice, "prompt tokens", s->prompt_tokens);
    add_count(&slice, "tokens made", s->made);
    add_number(&slice, "device s", s->device_s);
    return ll_timeline_slice(d->timeline, &slice);
}

/* The process of an instance, whose first step this is; *step is then the first of the next one. */
static bool add_instance(struct drawing *d, uint64_t *step, uint64_t *end)
{
    static const char *const pools[] = {"instance", "prefill", "decode"};
    static const struct ll_timeline_counter counters[COUNTERS] = {
        [RUNNING] = {"running", "sequences", 1, NULL},
        [WAITING] = {"waiting", "sequences", 1, NULL},
        [KV] = {"KV cache", "%", 0.01, NULL}};
    const struct ll_step_seen *steps = d->log->steps, *first = &steps[*step];
    int64_t last[COUNTERS] = {0};
    char name[40];
    ll_snprintf(name, sizeof name, "%s %" PRIu64, pools[first->pool], first->instance);
    ll_timeline_process(d->timeline, name);
    ll_timeline_track(d->timeline, "batches");
    for (int c = 0; c < COUNTERS; c++)
        ll_timeline_counter(d->timeline, &counters[c]);
    for (; *step < d->log->step_count && steps[*step].pool == first->pool &&
           steps[*step].instance == first->instance;
         ++*step) {
        const struct ll_step_seen *s = &steps[*step];
        const bool goes_on = *step + 1 < d->log->step_count && s[1].pool == s->pool &&
                             s[1].instance == s->instance && s[1].start_s <= s->end_s;
        uint32_t flow_count = 0;
        for (; *end < d->end_count && d->ends[*end].step == *step; ++*end)
            d->flows[flow_count++] = d->ends[*end].flow;
        if (!add_batch(d, s, flow_count))
            return false;
        set_counters(
            d, ll_timeline_ns(s->start_s),
            (const int64_t[COUNTERS]){(int64_t)s->running, (int64_t)s->waiting, llround(s->kv_share * 1e4)},
            last);
        if (!goes_on)
            set_counters(d, ll_timeline_ns(s->end_s), (const int64_t[COUNTERS]){0}, last);
    }
    return true;
}

bool ll_export_serving(struct ll_export *export)
{
    const struct ll_serving_export *request = (const struct ll_serving_export *)export;
    struct ll_serving_log *log = request->log;
    struct drawing d = {.timeline = ll_timeline_open(export), .log = log};
    assert(log->step_count > 0 && log->request_count > 0);
    qsort(log->steps, log->step_count, sizeof *log->steps, by_instance);
    qsort(log->requests, log->request_count, sizeof *log->requests, by_number);
    bool done = d.timeline != NULL;
    if (done && (log->failed || !find_ends(&d))) {
        export->status = LL_NO_MEMORY;
        done = false;
    }
    done = done && add_requests(&d);
    for (uint64_t step = 0, end = 0; done && step < log->step_count;)
        done = add_instance(&d, &step, &end);
    done = ll_timeline_close(d.timeline) && done;
    ll_arena_release(&d.arena);
    return done;
}
