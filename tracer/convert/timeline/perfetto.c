/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines in Perfetto's protocol buffers (google/perfetto, protos/perfetto/trace): a Trace is a run of
 * TracePackets.
 *
 *   clock_snapshot     once: times are those of the trace's own clock, from 0
 *   track_descriptor   a process, a lane, a counter, a group of counters, before anything lies on it
 *   track_event        begin or end of a slice, or a value
 *
 * The packets of a process are one sequence. Names, categories and texts are written once in a sequence and
 * referred to by number (interned); the first packet of a sequence says that no numbers are known yet. A flow
 * leaves a slice by `flow_ids` and ends at another by `terminating_flow_ids`. */
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/convert/timeline/writers.h"
#include "tracer/convert/wire.h"

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, CLOCK_BOOTTIME = 6 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDERING = 11,
    TRACK_RANK = 12
};
enum { ORDERING_EXPLICIT = 3, PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_BYTES = 3 };
enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_TERMINATING_FLOW = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum { ANNOTATION_NAME = 1, ANNOTATION_COUNT = 3, ANNOTATION_NUMBER = 5, ANNOTATION_TEXT = 17 };
enum { INTERNED_ID = 1, INTERNED_NAME = 2 };

/* What is interned, each with the number of its field in InternedData. */
enum interned { CATEGORIES, NAMES, ARG_NAMES, TEXTS, INTERNED_COUNT };
static const uint8_t interned_field[INTERNED_COUNT] = {
    [CATEGORIES] = 1, [NAMES] = 2, [ARG_NAMES] = 3, [TEXTS] = 29};

struct ll_perfetto {
    struct ll_map maps[INTERNED_COUNT]; /* of the sequence under way */
    bool begun;                         /* the sequence under way has a packet */
    /* Messages that are being put together, from the outside inward. */
    struct ll_str packet, body, inner, innermost, interned;
};

static void clear(struct ll_str *text)
{
    text->length = 0;
}

static void put_message(struct ll_str *out, uint64_t number, const struct ll_str *message)
{
    out->failed |= message->failed;
    ll_wire_put_bytes(out, number, message->length ? message->text : "", message->length);
}

static void put_double(struct ll_str *out, uint64_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ll_wire_put_fixed64(out, number, bits);
}

/* Appends the packet with p->body as this field to the trace; at_ns NULL: it has no time. */
static void put_packet(struct ll_timeline_sink *sink, uint64_t field, const uint64_t *at_ns)
{
    struct ll_perfetto *p = sink->perfetto;
    clear(&p->packet);
    if (at_ns)
        ll_wire_put_integer(&p->packet, PACKET_TIMESTAMP, *at_ns);
    ll_wire_put_integer(&p->packet, PACKET_SEQUENCE_ID, sink->process);
    if (p->interned.length > 0)
        put_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    ll_wire_put_integer(&p->packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE | (p->begun ? 0 : FLAG_CLEARED));
    put_message(&p->packet, field, &p->body);
    put_message(&sink->export->out, TRACE_PACKET, &p->packet);
    clear(&p->interned);
    p->begun = true;
}

/* A text field; what is no UTF-8 becomes U+FFFD, as in JSON. */
static void put_text(struct ll_str *out, uint64_t number, const char *text)
{
    struct ll_str clean = {0};
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = ll_utf8_length(at);
        ll_str_add_bytes(&clean, length ? (const char *)at : "\xEF\xBF\xBD", length ? length : 3);
        at += length ? length : 1;
    }
    put_message(out, number, &clean);
    ll_str_release(&clean);
}

/* The number of a text, which the packet under way defines where it is new. */
static uint64_t intern(struct ll_timeline_sink *sink, enum interned kind, const char *text)
{
    struct ll_perfetto *p = sink->perfetto;
    bool is_new;
    uint32_t id = ll_map_intern(&p->maps[kind], text, strlen(text), &is_new);
    if (id == LL_NO_ID) {
        sink->export->out.failed = true;
        return 0;
    }
    if (is_new) {
        clear(&p->innermost);
        ll_wire_put_integer(&p->innermost, INTERNED_ID, id + UINT64_C(1));
        put_text(&p->innermost, INTERNED_NAME, text);
        put_message(&p->interned, interned_field[kind], &p->innermost);
    }
    return id + UINT64_C(1);
}

/* Times are those of the clock of the whole trace, which begins at 0. */
static bool open_file(struct ll_timeline_sink *sink)
{
    struct ll_perfetto *p = sink->perfetto = calloc(1, sizeof *sink->perfetto);
    const uint64_t begin_ns = 0;
    if (!p)
        return false;
    sink->process = 1; /* the sequence of the first process has it, too */
    ll_wire_put_integer(&p->inner, CLOCK_ID, CLOCK_BOOTTIME);
    ll_wire_put_integer(&p->inner, CLOCK_TIMESTAMP, 0);
    put_message(&p->body, SNAPSHOT_CLOCK, &p->inner);
    ll_wire_put_integer(&p->body, SNAPSHOT_PRIMARY, CLOCK_BOOTTIME);
    put_packet(sink, PACKET_CLOCK_SNAPSHOT, &begin_ns);
    return true;
}

static void put_process(struct ll_timeline_sink *sink, const char *name)
{
    struct ll_perfetto *p = sink->perfetto;
    for (int i = 0; i < INTERNED_COUNT && sink->process > 1; i++)
        ll_map_release(&p->maps[i]);
    p->begun = p->begun && sink->process == 1;
    clear(&p->body);
    clear(&p->inner);
    ll_wire_put_integer(&p->inner, PROCESS_PID, sink->process);
    put_text(&p->inner, PROCESS_NAME, name);
    ll_wire_put_integer(&p->body, TRACK_UUID, sink->process_id);
    put_message(&p->body, TRACK_PROCESS, &p->inner);
    ll_wire_put_integer(&p->body, TRACK_ORDERING, ORDERING_EXPLICIT);
    put_packet(sink, PACKET_TRACK_DESCRIPTOR, NULL);
}

/* Begins the descriptor of a track in p->body. */
static void begin_track(struct ll_timeline_sink *sink, uint64_t id, uint64_t parent, uint32_t rank,
                        const char *name)
{
    struct ll_perfetto *p = sink->perfetto;
    clear(&p->body);
    ll_wire_put_integer(&p->body, TRACK_UUID, id);
    put_text(&p->body, TRACK_NAME, name);
    ll_wire_put_integer(&p->body, TRACK_PARENT, parent);
    ll_wire_put_integer(&p->body, TRACK_RANK, rank);
}

static void put_lane(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane)
{
    begin_track(sink, lane->id, sink->process_id, lane->rank, lane->name);
    put_packet(sink, PACKET_TRACK_DESCRIPTOR, NULL);
}

static void put_gauge(struct ll_timeline_sink *sink, const struct ll_timeline_gauge *gauge, bool opens_group)
{
    struct ll_perfetto *p = sink->perfetto;
    uint64_t parent = gauge->group_id ? gauge->group_id : sink->process_id;
    if (opens_group) {
        begin_track(sink, gauge->group_id, sink->process_id, gauge->rank, gauge->counter.group);
        ll_wire_put_integer(&p->body, TRACK_ORDERING, ORDERING_EXPLICIT);
        put_packet(sink, PACKET_TRACK_DESCRIPTOR, NULL);
    }
    begin_track(sink, gauge->id, parent, gauge->rank, gauge->counter.name);
    clear(&p->inner);
    if (strcmp(gauge->counter.unit, "bytes") == 0)
        ll_wire_put_integer(&p->inner, COUNTER_UNIT, UNIT_BYTES);
    else
        put_text(&p->inner, COUNTER_UNIT_NAME, gauge->counter.unit);
    put_message(&p->body, TRACK_COUNTER, &p->inner);
    put_packet(sink, PACKET_TRACK_DESCRIPTOR, NULL);
}

static void put_arg(struct ll_timeline_sink *sink, const struct ll_timeline_arg *arg)
{
    struct ll_perfetto *p = sink->perfetto;
    uint64_t name = intern(sink, ARG_NAMES, arg->name);
    uint64_t text = arg->kind == LL_TIMELINE_TEXT ? intern(sink, TEXTS, arg->text) : 0;
    clear(&p->inner);
    ll_wire_put_integer(&p->inner, ANNOTATION_NAME, name);
    if (arg->kind == LL_TIMELINE_TEXT)
        ll_wire_put_integer(&p->inner, ANNOTATION_TEXT, text);
    else if (arg->kind == LL_TIMELINE_COUNT)
        ll_wire_put_integer(&p->inner, ANNOTATION_COUNT, arg->count);
    else
        put_double(&p->inner, ANNOTATION_NUMBER, arg->number);
    put_message(&p->body, EVENT_ANNOTATION, &p->inner);
}

static void begin_event(struct ll_perfetto *p, unsigned type, uint64_t track)
{
    clear(&p->body);
    ll_wire_put_integer(&p->body, EVENT_TYPE, type);
    ll_wire_put_integer(&p->body, EVENT_TRACK, track);
}

static void put_slice(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane,
                      const struct ll_timeline_slice *slice)
{
    struct ll_perfetto *p = sink->perfetto;
    begin_event(p, TYPE_BEGIN, lane->id);
    ll_wire_put_integer(&p->body, EVENT_CATEGORY, intern(sink, CATEGORIES, slice->category));
    ll_wire_put_integer(&p->body, EVENT_NAME, intern(sink, NAMES, slice->name));
    for (uint32_t i = 0; i < slice->arg_count; i++)
        put_arg(sink, &slice->args[i]);
    for (uint32_t i = 0; i < slice->flow_count; i++)
        ll_wire_put_fixed64(&p->body, slice->flows[i].leaves ? EVENT_FLOW : EVENT_TERMINATING_FLOW,
                            slice->flows[i].id);
    put_packet(sink, PACKET_TRACK_EVENT, &slice->begin_ns);
}

static void put_end(struct ll_timeline_sink *sink, const struct ll_timeline_lane *lane, uint64_t at_ns)
{
    begin_event(sink->perfetto, TYPE_END, lane->id);
    put_packet(sink, PACKET_TRACK_EVENT, &at_ns);
}

static void put_values(struct ll_timeline_sink *sink, const struct ll_timeline_gauge *gauges, uint32_t count,
                       uint64_t at_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!gauges[i].changed)
            continue;
        begin_event(sink->perfetto, TYPE_COUNTER, gauges[i].id);
        put_double(&sink->perfetto->body, EVENT_DOUBLE_VALUE,
                   (double)gauges[i].steps * gauges[i].counter.scale);
        put_packet(sink, PACKET_TRACK_EVENT, &at_ns);
    }
}

static void close_file(struct ll_timeline_sink *sink)
{
    struct ll_perfetto *p = sink->perfetto;
    if (!p)
        return;
    for (int i = 0; i < INTERNED_COUNT; i++)
        ll_map_release(&p->maps[i]);
    struct ll_str *messages[] = {&p->packet, &p->body, &p->inner, &p->innermost, &p->interned};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        ll_str_release(messages[i]);
    free(p);
    sink->perfetto = NULL;
}

const struct ll_timeline_writer ll_timeline_perfetto = {.open = open_file,
                                                        .process = put_process,
                                                        .lane = put_lane,
                                                        .gauge = put_gauge,
                                                        .begin = put_slice,
                                                        .end = put_end,
                                                        .values = put_values,
                                                        .close = close_file};
