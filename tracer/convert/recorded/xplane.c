/* SPDX-License-Identifier: Apache-2.0 */
/* XPlane: profiles of XLA (JAX, TensorFlow, PyTorch/XLA), a protocol buffer.
 *
 *   XSpace {planes 1}     XPlane {name 2, lines 3, event_metadata 4, stat_metadata 5}
 *   XLine  {id 1, name 2, timestamp_ns 3, events 4, display_name 11}
 *   XEvent {metadata_id 1, offset_ps 2, duration_ps 3, stats 4}
 *   XStat  {metadata_id 1, uint64 3, int64 4, str 5, ref 7}      map entries {key 1, value 2}
 *
 * A plane /device:GPU:0 has a line for each stream; beside them may stand lines that were derived ("XLA
 * Ops", "Steps"), which are passed over. A plane /device:TPU:0 has such lines alone: of "XLA Ops" the
 * innermost ops count. Calls of the driver are on threads of /host:CPU; the stat `correlation_id` ties a
 * kernel to its call. A device is a rank, whose calls are those that launched something on it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/recorded/recorded.h"
#include "tracer/convert/wire.h"

enum { PLANES = 1 };
enum plane_field { PLANE_NAME = 2, PLANE_LINES, PLANE_EVENTS, PLANE_STATS };
enum line_field { LINE_ID = 1, LINE_NAME, LINE_START, LINE_EVENTS };
enum event_field { EVENT_ID = 1, EVENT_OFFSET, EVENT_DURATION, EVENT_STATS };
enum stat_field { STAT_ID = 1, STAT_DOUBLE, STAT_COUNT, STAT_INTEGER };
enum entry_field { ENTRY_KEY = 1, ENTRY_VALUE };

struct xplane {
    struct ll_recorded *recorded;
    struct ll_import *import;
    /* Of the plane that is read. */
    struct ll_map ids; /* of its kinds of events */
    uint32_t *names;   /* by place in the map: name of the timeline */
    uint64_t name_capacity;
    uint64_t correlation;   /* id of that stat; 0: there is none */
    struct ll_map launched; /* correlations of events on devices, to their ranks */
    uint32_t *ranks;
    uint64_t rank_capacity;
    uint32_t device_count; /* planes of devices on which something ran */
};

/* What is read of an event. */
struct event {
    uint64_t id, offset_ps, duration_ps, correlation;
};

static bool broken(const struct xplane *x)
{
    return ll_complain(x->import->diags, (struct ll_place){.file = x->import->inputs[0].path},
                       "this is no XSpace, or it is damaged: a message ends within a field");
}

/* The first field of this number that holds bytes; empty where there is none. */
static struct ll_wire bytes_of(struct ll_wire wire, uint64_t number)
{
    struct ll_wire_field field;
    while (ll_wire_next(&wire, &field) == LL_WIRE_FIELD)
        if (field.number == number && field.type == LL_WIRE_BYTES)
            return field.bytes;
    return (struct ll_wire){NULL, NULL};
}

static uint64_t number_of(struct ll_wire wire, uint64_t number)
{
    struct ll_wire_field field;
    while (ll_wire_next(&wire, &field) == LL_WIRE_FIELD)
        if (field.number == number && field.type == LL_WIRE_VARINT)
            return field.value;
    return 0;
}

static bool is_text(struct ll_wire bytes, const char *text)
{
    size_t length = (size_t)(bytes.end - bytes.at);
    return length == strlen(text) && (length == 0 || memcmp(bytes.at, text, length) == 0);
}

static bool begins(struct ll_wire bytes, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(bytes.end - bytes.at) >= length && memcmp(bytes.at, text, length) == 0;
}

/* A name of the file; what would do something to a terminal becomes `?`. */
static uint32_t name_of(struct xplane *x, struct ll_wire bytes)
{
    const char *text = ll_wire_text(bytes, &x->import->arena);
    if (!text) {
        ll_import_no_memory(x->import);
        return LL_NO_PART;
    }
    return ll_recorded_name(x->recorded, text, strlen(text));
}

/* Kinds of events and of stats, which may stand behind the lines that use them. */
static bool read_kinds(struct xplane *x, struct ll_wire plane)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    ll_map_release(&x->ids);
    x->correlation = 0;
    while ((step = ll_wire_next(&plane, &field)) == LL_WIRE_FIELD) {
        if (field.type != LL_WIRE_BYTES || (field.number != PLANE_EVENTS && field.number != PLANE_STATS))
            continue;
        uint64_t id = number_of(field.bytes, ENTRY_KEY);
        struct ll_wire name = bytes_of(bytes_of(field.bytes, ENTRY_VALUE), 2);
        if (field.number == PLANE_STATS) {
            x->correlation = is_text(name, "correlation_id") ? id : x->correlation;
            continue;
        }
        uint32_t at = ll_map_intern(&x->ids, &id, sizeof id, NULL);
        if (at == LL_NO_ID || !ll_grow(&x->names, &x->name_capacity, (uint64_t)at + 1, sizeof *x->names))
            return ll_import_no_memory(x->import);
        x->names[at] = name_of(x, name);
        if (x->import->status != LL_OK)
            return false;
    }
    return step == LL_WIRE_END || broken(x);
}

static bool read_event(const struct xplane *x, struct ll_wire wire, struct event *event)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    *event = (struct event){.id = 0};
    while ((step = ll_wire_next(&wire, &field)) == LL_WIRE_FIELD) {
        if (field.number == EVENT_ID && field.type == LL_WIRE_VARINT)
            event->id = field.value;
        else if (field.number == EVENT_OFFSET && field.type == LL_WIRE_VARINT)
            event->offset_ps = field.value;
        else if (field.number == EVENT_DURATION && field.type == LL_WIRE_VARINT)
            event->duration_ps = field.value;
        else if (field.number == EVENT_STATS && field.type == LL_WIRE_BYTES && x->correlation &&
                 number_of(field.bytes, STAT_ID) == x->correlation)
            event->correlation =
                ll_max(number_of(field.bytes, STAT_COUNT), number_of(field.bytes, STAT_INTEGER));
    }
    return step == LL_WIRE_END || broken(x);
}

static uint32_t event_name(struct xplane *x, const struct event *event)
{
    uint32_t at = ll_map_find(&x->ids, &event->id, sizeof event->id);
    return at == LL_NO_ID ? ll_recorded_name(x->recorded, "unknown", strlen("unknown")) : x->names[at];
}

static enum ll_device_event_kind kind_of(const char *name)
{
    if (strncmp(name, "Memcpy", 6) == 0 || strncmp(name, "MemCpy", 6) == 0)
        return LL_EVENT_COPY;
    if (strncmp(name, "Memset", 6) == 0)
        return LL_EVENT_FILL;
    return ll_recorded_exchanges(name) ? LL_EVENT_EXCHANGE : LL_EVENT_KERNEL;
}

/* Nanoseconds, rounded, of a begin in a line. */
static uint64_t start_of(uint64_t line_ns, const struct event *event)
{
    return ll_add(line_ns, (event->offset_ps + 500) / 1000);
}

static uint64_t duration_of(uint64_t line_ns, const struct event *event)
{
    uint64_t end_ns = ll_add(line_ns, ll_add(ll_add(event->offset_ps, event->duration_ps), 500) / 1000);
    return ll_fits(end_ns) ? end_ns - ll_min(end_ns, start_of(line_ns, event)) : 0;
}

static bool note_launch(struct xplane *x, uint64_t correlation)
{
    bool is_new = false;
    uint32_t at = ll_map_intern(&x->launched, &correlation, sizeof correlation, &is_new);
    if (at == LL_NO_ID || !ll_grow(&x->ranks, &x->rank_capacity, (uint64_t)at + 1, sizeof *x->ranks))
        return ll_import_no_memory(x->import);
    if (is_new)
        x->ranks[at] = x->recorded->rank;
    return true;
}

static bool add_event(struct xplane *x, uint32_t track, uint64_t line_ns, const struct event *event)
{
    struct ll_timeline_event row = {.start_ns = start_of(line_ns, event),
                                    .duration_ns = duration_of(line_ns, event),
                                    .name = event_name(x, event),
                                    .track = track,
                                    .caller = LL_NO_PART,
                                    .call = LL_NO_PART,
                                    .group = LL_NO_PART,
                                    .order = LL_NO_PART};
    if (x->import->status != LL_OK)
        return false;
    row.kind = kind_of(x->recorded->timeline.names[row.name]);
    return ll_recorded_event(x->recorded, &row, event->correlation) &&
           (event->correlation == 0 || note_launch(x, event->correlation));
}

/* A line of a device: its events; of "XLA Ops" those within which no other lies. Such a line is in the
 * order of begins, with what is around before what is within. */
static bool read_stream(struct xplane *x, struct ll_wire line, uint64_t device, bool leaves)
{
    char label[64];
    const uint64_t line_ns = number_of(line, LINE_START), id = number_of(line, LINE_ID);
    struct ll_wire_field field;
    struct event event, before = {.id = 0};
    enum ll_wire_step step;
    bool waits = false;
    uint32_t track = LL_NO_PART;
    snprintf(label, sizeof label, "device %" PRIu64 ", line %" PRIu64, device, id);
    while ((step = ll_wire_next(&line, &field)) == LL_WIRE_FIELD) {
        if (field.number != LINE_EVENTS || field.type != LL_WIRE_BYTES)
            continue;
        if (track == LL_NO_PART &&
            (track = ll_recorded_track(x->recorded, false, device, id, label)) == LL_NO_PART)
            return false;
        if (!read_event(x, field.bytes, &event))
            return false;
        bool within = leaves && waits && event.offset_ps < ll_add(before.offset_ps, before.duration_ps);
        if (waits && !within && !add_event(x, track, line_ns, &before))
            return false;
        before = event;
        waits = true;
    }
    if (step != LL_WIRE_END)
        return broken(x);
    return !waits || add_event(x, track, line_ns, &before);
}

/* A thread of the host: calls that launched something. */
static bool read_thread(struct xplane *x, struct ll_wire line)
{
    char label[48];
    const uint64_t line_ns = number_of(line, LINE_START), id = number_of(line, LINE_ID);
    struct ll_wire_field field;
    struct event event;
    enum ll_wire_step step;
    snprintf(label, sizeof label, "thread %" PRIu64, id);
    while ((step = ll_wire_next(&line, &field)) == LL_WIRE_FIELD) {
        if (field.number != LINE_EVENTS || field.type != LL_WIRE_BYTES)
            continue;
        if (!read_event(x, field.bytes, &event))
            return false;
        uint32_t at = event.correlation
                          ? ll_map_find(&x->launched, &event.correlation, sizeof event.correlation)
                          : LL_NO_ID;
        if (at == LL_NO_ID)
            continue;
        x->recorded->rank = x->ranks[at];
        struct ll_timeline_call call = {.start_ns = start_of(line_ns, &event),
                                        .duration_ns = duration_of(line_ns, &event),
                                        .name = event_name(x, &event)};
        call.track = ll_recorded_track(x->recorded, true, id, 0, label);
        if (x->import->status != LL_OK || !ll_recorded_call(x->recorded, &call, event.correlation))
            return false;
    }
    return step == LL_WIRE_END || broken(x);
}

/* "Stream #17(Kernel)" are streams; where a device has none, "XLA Ops" is what it did. */
static bool has_streams(struct ll_wire plane)
{
    struct ll_wire_field field;
    while (ll_wire_next(&plane, &field) == LL_WIRE_FIELD)
        if (field.number == PLANE_LINES && field.type == LL_WIRE_BYTES &&
            begins(bytes_of(field.bytes, LINE_NAME), "Stream #"))
            return true;
    return false;
}

static bool read_device(struct xplane *x, struct ll_wire plane, uint64_t device)
{
    const bool streams = has_streams(plane);
    uint64_t before = x->recorded->timeline.event_count;
    struct ll_wire_field field;
    enum ll_wire_step step;
    if (!read_kinds(x, plane))
        return false;
    x->recorded->rank = x->device_count;
    while ((step = ll_wire_next(&plane, &field)) == LL_WIRE_FIELD) {
        struct ll_wire name = field.type == LL_WIRE_BYTES && field.number == PLANE_LINES
                                  ? bytes_of(field.bytes, LINE_NAME)
                                  : (struct ll_wire){NULL, NULL};
        bool wanted = streams ? begins(name, "Stream #") : is_text(name, "XLA Ops");
        if (field.number == PLANE_LINES && field.type == LL_WIRE_BYTES && name.at && wanted &&
            !read_stream(x, field.bytes, device, !streams))
            return false;
    }
    x->device_count += x->recorded->timeline.event_count > before;
    return step == LL_WIRE_END || broken(x);
}

static bool read_host(struct xplane *x, struct ll_wire plane)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    if (!read_kinds(x, plane))
        return false;
    while ((step = ll_wire_next(&plane, &field)) == LL_WIRE_FIELD)
        if (field.number == PLANE_LINES && field.type == LL_WIRE_BYTES && !read_thread(x, field.bytes))
            return false;
    return step == LL_WIRE_END || broken(x);
}

/* Planes of devices first, then those of hosts: a call is of the device on which it launched something. */
static bool read_planes(struct xplane *x, struct ll_wire space, bool hosts)
{
    struct ll_wire_field field;
    enum ll_wire_step step;
    uint64_t device = 0;
    while ((step = ll_wire_next(&space, &field)) == LL_WIRE_FIELD) {
        if (field.number != PLANES || field.type != LL_WIRE_BYTES)
            continue;
        struct ll_wire name = bytes_of(field.bytes, PLANE_NAME);
        bool of_device = name.at && (begins(name, "/device:GPU:") || begins(name, "/device:TPU:"));
        bool of_host = name.at && begins(name, "/host:CPU");
        if (!hosts && of_device && !read_device(x, field.bytes, device++))
            return false;
        if (hosts && of_host && !read_host(x, field.bytes))
            return false;
    }
    return step == LL_WIRE_END || broken(x);
}

bool ll_import_XPLANE(struct ll_import *import)
{
    struct ll_recorded recorded = {.import = import};
    struct xplane x = {.recorded = &recorded, .import = import};
    const struct ll_input_file *input = &import->inputs[0];
    struct ll_wire space = {input->bytes, input->bytes + input->size};
    bool done = import->input_count == 1 ||
                ll_complain(import->diags, (struct ll_place){0}, "expected one XSpace: it holds all devices");
    done = done && read_planes(&x, space, false) && read_planes(&x, space, true) &&
           ll_recorded_finish(&recorded) && ll_recorded_ops(&recorded, "XPlane");
    ll_recorded_release(&recorded);
    ll_map_release(&x.ids);
    ll_map_release(&x.launched);
    free(x.names);
    free(x.ranks);
    return done && import->status == LL_OK;
}
