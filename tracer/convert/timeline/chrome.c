/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines in Chrome's JSON ("Trace Event Format", Google), which chrome://tracing, Perfetto and TensorBoard
 * open.
 *
 *   M     names of processes and tracks, and the order of tracks
 *   X     a slice
 *   s f   a flow: from within one slice to the start of another, its category says why
 *   C     counters: those of a group in one event, which viewers stack; the unit stands in the name
 *
 * Times are microseconds. A flow's end belongs to the slice around it, so both lie within theirs; a flow
 * leaves as late as it can. */
#include "tracer/base/json.h"
#include "tracer/base/num.h"
#include "tracer/convert/timeline/writers.h"

/* Begins an event; the caller adds what is particular and closes it. */
static struct ll_json begin_event(struct ll_timeline_sink *sink, const char *phase, const char *name,
                                  uint32_t track)
{
    struct ll_json json = {.out = &sink->export->out};
    ll_str_add(json.out, sink->goes_on ? ",\n" : "\n");
    sink->goes_on = true;
    ll_json_open_object(&json);
    ll_json_put_text(&json, "ph", phase);
    ll_json_put_text(&json, "name", name);
    ll_json_put_count(&json, "pid", sink->process);
    ll_json_put_count(&json, "tid", track + 1u);
    return json;
}

static void put_us(struct ll_json *json, const char *key, uint64_t ns)
{
    ll_json_put_number(json, key, (double)ns / 1e3);
}

static bool open_file(struct ll_timeline_sink *sink)
{
    ll_str_add(&sink->export->out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    return true;
}

static void put_name(struct ll_timeline_sink *sink, const char *what, uint32_t track, const char *name)
{
    struct ll_json json = begin_event(sink, "M", what, track);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    ll_json_put_text(&json, "name", name);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
}

static void put_process(struct ll_timeline_sink *sink, const char *name)
{
    put_name(sink, "process_name", 0, name);
}

static void put_lane(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane)
{
    put_name(sink, "thread_name", lane->number, lane->name);
    struct ll_json json = begin_event(sink, "M", "thread_sort_index", lane->number);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    ll_json_put_count(&json, "sort_index", lane->rank);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
}

/* A counter is there with its first value. */
static void put_gauge(struct ll_timeline_sink *sink, const struct ll_timeline_gauge *gauge, bool opens_group)
{
    (void)sink;
    (void)gauge;
    (void)opens_group;
}

static void put_arg(struct ll_json *json, const struct ll_timeline_arg *arg)
{
    if (arg->kind == LL_TIMELINE_COUNT)
        ll_json_put_count(json, arg->name, arg->count);
    else if (arg->kind == LL_TIMELINE_NUMBER)
        ll_json_put_number(json, arg->name, arg->number);
    else
        ll_json_put_text(json, arg->name, arg->text);
}

static void put_flow(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane,
                     const struct ll_timeline_slice *slice, const struct ll_timeline_flow *flow)
{
    struct ll_json json = begin_event(sink, flow->leaves ? "s" : "f", flow->name, lane->number);
    uint64_t last_ns = slice->end_ns - (slice->end_ns > slice->begin_ns); /* that lies within the slice */
    put_us(&json, "ts", flow->leaves ? ll_min(last_ns, flow->to_ns) : slice->begin_ns);
    ll_json_put_text(&json, "cat", flow->name);
    ll_json_put_count(&json, "id", flow->id);
    if (!flow->leaves)
        ll_json_put_text(&json, "bp", "e");
    ll_json_close_object(&json);
}

static void put_slice(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane,
                      const struct ll_timeline_slice *slice)
{
    struct ll_json json = begin_event(sink, "X", slice->name, lane->number);
    put_us(&json, "ts", slice->begin_ns);
    put_us(&json, "dur", slice->end_ns - slice->begin_ns);
    ll_json_put_text(&json, "cat", slice->category);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    for (uint32_t i = 0; i < slice->arg_count; i++)
        put_arg(&json, &slice->args[i]);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
    for (uint32_t i = 0; i < slice->flow_count; i++)
        put_flow(sink, lane, slice, &slice->flows[i]);
}

/* A slice has told its length where it began. */
static void put_end(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane, uint64_t at_ns)
{
    (void)sink;
    (void)lane;
    (void)at_ns;
}

static void put_values(struct ll_timeline_sink *sink, const struct ll_timeline_gauge *gauges, uint32_t count,
                       uint64_t at_ns)
{
    const struct ll_timeline_counter *first = &gauges->counter;
    const char *name =
        ll_format(&sink->export->arena, "%s (%s)", first->group ? first->group : first->name, first->unit);
    struct ll_json json = begin_event(sink, "C", name ? name : "", 0);
    put_us(&json, "ts", at_ns);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    for (uint32_t i = 0; i < count; i++)
        ll_json_put_number(&json, first->group ? gauges[i].counter.name : first->unit,
                           (double)gauges[i].steps * gauges[i].counter.scale);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
}

static void close_file(struct ll_timeline_sink *sink)
{
    ll_str_add(&sink->export->out, "\n]}\n");
}

const struct ll_timeline_writer ll_timeline_chrome = {.open = open_file,
                                                      .process = put_process,
                                                      .lane = put_lane,
                                                      .gauge = put_gauge,
                                                      .begin = put_slice,
                                                      .end = put_end,
                                                      .values = put_values,
                                                      .close = close_file};
