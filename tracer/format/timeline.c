/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines in the file: columns of numbers, written and read back part by part.
 *
 * What a row of a list consists of stands in one table for both ways: the column and the member. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/format/timeline_parts.h"
#include "tracer/format/walk.h"

enum { MOST_ROWS = LL_MAX_FRAME_OPS, MOST_TEXT = 8 << 20 /* bytes of names in a frame */ };

/* A column and the member of a row that it holds. */
enum width { WIDE, NARROW, OPTIONAL, FLAG }; /* uint64_t, uint32_t, uint32_t that may be LL_NO_PART, bool */
struct field {
    unsigned tag;
    enum width width;
    size_t place;
    enum ll_encoding encoding;
};

#define TRACK(member) offsetof(struct ll_timeline_track, member)
#define CALL(member) offsetof(struct ll_timeline_call, member)
#define EVENT(member) offsetof(struct ll_timeline_event, member)
#define WAITS(member) offsetof(struct ll_timeline_wait, member)
static const struct field track_fields[] = {{LL_TIMELINE_TRACK_NAME, NARROW, TRACK(name), LL_PLAIN},
                                            {LL_TIMELINE_TRACK_RANK, NARROW, TRACK(rank), LL_PLAIN},
                                            {LL_TIMELINE_TRACK_HOST, FLAG, TRACK(host), LL_PLAIN},
                                            {0}},
                          call_fields[] = {{LL_TIMELINE_CALL_START, WIDE, CALL(start_ns), LL_DELTA},
                                           {LL_TIMELINE_CALL_DURATION, WIDE, CALL(duration_ns), LL_PLAIN},
                                           {LL_TIMELINE_CALL_NAME, NARROW, CALL(name), LL_PLAIN},
                                           {LL_TIMELINE_CALL_TRACK, NARROW, CALL(track), LL_PLAIN},
                                           {LL_TIMELINE_CALL_KIND, NARROW, CALL(kind), LL_PLAIN},
                                           {0}},
                          event_fields[] = {{LL_TIMELINE_EVENT_START, WIDE, EVENT(start_ns), LL_DELTA},
                                            {LL_TIMELINE_EVENT_DURATION, WIDE, EVENT(duration_ns), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_BYTES, WIDE, EVENT(bytes), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_NAME, NARROW, EVENT(name), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_TRACK, NARROW, EVENT(track), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_CALLER, OPTIONAL, EVENT(caller), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_CALL, OPTIONAL, EVENT(call), LL_DELTA},
                                            {LL_TIMELINE_EVENT_KIND, NARROW, EVENT(kind), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_GROUP, OPTIONAL, EVENT(group), LL_PLAIN},
                                            {LL_TIMELINE_EVENT_ORDER, OPTIONAL, EVENT(order), LL_DELTA},
                                            {0}},
                          wait_fields[] = {{LL_TIMELINE_WAIT_EVENT, OPTIONAL, WAITS(event), LL_DELTA},
                                           {LL_TIMELINE_WAIT_CALL, OPTIONAL, WAITS(call), LL_DELTA},
                                           {LL_TIMELINE_WAIT_AFTER, NARROW, WAITS(after), LL_DELTA},
                                           {0}};

/* --- writing --- */

static uint64_t value_of(const char *row, const struct field *field)
{
    uint64_t wide;
    uint32_t narrow;
    bool flag;
    switch (field->width) {
    case WIDE:
        memcpy(&wide, row + field->place, sizeof wide);
        return wide;
    case FLAG:
        memcpy(&flag, row + field->place, sizeof flag);
        return flag;
    default:
        memcpy(&narrow, row + field->place, sizeof narrow);
        return field->width == OPTIONAL ? (uint32_t)(narrow + 1u) : narrow;
    }
}

/* Rows from *done on, as many as go into a frame. */
static uint64_t put_rows(struct ll_bytes *out, const void *rows, size_t size, const struct field *fields,
                         uint64_t count, uint64_t *done)
{
    uint64_t taken = ll_min(count - *done, MOST_ROWS);
    uint64_t *column = taken ? malloc(taken * sizeof *column) : NULL;
    if (taken && !column) {
        out->failed = true;
        return 0;
    }
    for (const struct field *field = fields; taken && field->tag; field++) {
        for (uint64_t i = 0; i < taken; i++)
            column[i] = value_of((const char *)rows + (*done + i) * size, field);
        ll_put_column(out, field->tag, field->encoding, column, taken);
    }
    free(column);
    *done += taken;
    return taken * LL_WEIGHT_PART;
}

static uint64_t put_names(struct ll_bytes *out, const struct ll_device_timeline *timeline, uint64_t *done)
{
    uint64_t taken = 0, bytes = 0;
    while (*done + taken < timeline->name_count && taken < MOST_ROWS && bytes < MOST_TEXT)
        bytes += strlen(timeline->names[*done + taken++]);
    uint64_t *sizes = taken ? malloc(taken * sizeof *sizes) : NULL;
    char *text = bytes ? malloc(bytes) : NULL, *at = text;
    if ((taken && !sizes) || (bytes && !text)) {
        out->failed = true;
        taken = bytes = 0;
    }
    for (uint64_t i = 0; i < taken; i++) {
        sizes[i] = strlen(timeline->names[*done + i]);
        if (sizes[i])
            memcpy(at, timeline->names[*done + i], sizes[i]);
        at += sizes[i];
    }
    if (taken)
        ll_put_column(out, LL_TIMELINE_NAME_SIZE, LL_PLAIN, sizes, taken);
    if (bytes)
        ll_put_raw(out, LL_TIMELINE_TEXT, text, bytes);
    free(sizes);
    free(text);
    *done += taken;
    return taken * LL_WEIGHT_PART + bytes;
}

bool ll_timeline_is_done(const struct ll_device_timeline *timeline, const struct ll_timeline_done *done)
{
    return done->names == timeline->name_count && done->tracks == timeline->track_count &&
           done->calls == timeline->call_count && done->events == timeline->event_count &&
           done->waits == timeline->wait_count;
}

uint64_t ll_encode_timeline(struct ll_bytes *out, const struct ll_device_timeline *t,
                            struct ll_timeline_done *done)
{
    const uint64_t first[] = {done->names, done->tracks,  done->calls, done->events,
                              done->waits, t->rank_count, t->launches};
    assert(!ll_timeline_is_done(t, done));
    ll_put_varint(out, LL_FRAME_TIMELINE);
    ll_put_column(out, LL_TIMELINE_FIRST, LL_PLAIN, first, sizeof first / sizeof *first);
    uint64_t weight = put_names(out, t, &done->names);
    weight += put_rows(out, t->tracks, sizeof *t->tracks, track_fields, t->track_count, &done->tracks);
    weight += put_rows(out, t->calls, sizeof *t->calls, call_fields, t->call_count, &done->calls);
    weight += put_rows(out, t->events, sizeof *t->events, event_fields, t->event_count, &done->events);
    weight += put_rows(out, t->waits, sizeof *t->waits, wait_fields, t->wait_count, &done->waits);
    if (out->failed) /* nothing more comes of it */
        *done = (struct ll_timeline_done){t->name_count, t->track_count, t->call_count, t->event_count,
                                          t->wait_count};
    return weight;
}

/* --- reading --- */

static bool set_value(char *row, const struct field *field, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    bool flag = value != 0;
    if (field->width != WIDE && value > (field->width == FLAG ? 1 : UINT32_MAX))
        return false;
    if (field->width == OPTIONAL)
        narrow--;
    if (field->width == WIDE)
        memcpy(row + field->place, &value, sizeof value);
    else if (field->width == FLAG)
        memcpy(row + field->place, &flag, sizeof flag);
    else
        memcpy(row + field->place, &narrow, sizeof narrow);
    return true;
}

/* Appends the rows of the frame to a list. */
static bool take_rows(struct ll_trace_build *build, const struct field *fields, size_t size, void *rows,
                      uint64_t *count, uint64_t *capacity)
{
    uint64_t more = ll_block_count(&build->block, fields->tag);
    char *first;
    if (more > MOST_ROWS || *count + more >= LL_NO_PART)
        return ll_build_refuse(build, "it holds more of a timeline than a frame may");
    if (!ll_build_charge(build, more, LL_WEIGHT_PART))
        return false;
    if (!ll_grow(rows, capacity, *count + more + 1, size))
        return ll_build_no_memory(build);
    memcpy(&first, rows, sizeof first);
    memset(first + *count * size, 0, more * size);
    for (const struct field *field = fields; more && field->tag; field++) {
        const uint64_t *values = ll_block_numbers(&build->block, field->tag, more);
        bool fine = values != NULL;
        for (uint64_t i = 0; fine && i < more; i++)
            fine = set_value(first + (*count + i) * size, field, values[i]);
        if (!fine)
            return ll_build_refuse(build, "its columns do not fit together");
    }
    *count += more;
    return true;
}

static bool take_names(struct ll_trace_build *build, struct ll_device_timeline *timeline)
{
    uint64_t more = ll_block_count(&build->block, LL_TIMELINE_NAME_SIZE);
    struct ll_view text;
    if (!ll_block_bytes(&build->block, LL_TIMELINE_TEXT, &text) || more > MOST_ROWS)
        return ll_build_refuse(build, "its names do not fit together");
    uint64_t bytes = (uint64_t)(text.end - text.at);
    if (!ll_build_charge(build, more, LL_WEIGHT_PART) || !ll_build_charge(build, bytes, 1))
        return false;
    const uint64_t *sizes = ll_block_numbers(&build->block, LL_TIMELINE_NAME_SIZE, more);
    if ((more && !sizes) || (more ? ll_build_sum(sizes, more) : 0) != bytes)
        return ll_build_refuse(build, "its names do not fit together");
    for (uint64_t i = 0; i < more; i++) {
        if (sizes[i] && memchr(text.at, '\0', sizes[i]))
            return ll_build_refuse(build, "a name of it holds a NUL");
        if (ll_timeline_add_name(timeline, (const char *)text.at, sizes[i]) == LL_NO_PART)
            return ll_build_no_memory(build);
        text.at += sizes[i];
    }
    return true;
}

static bool take_part(struct ll_trace_build *build, struct ll_device_timeline *t)
{
    enum { NAMES, TRACKS, CALLS, EVENTS, WAITS_BEFORE, RANKS, LAUNCHES, COUNT };
    const uint64_t *first = ll_block_numbers(&build->block, LL_TIMELINE_FIRST, COUNT);
    if (!first || first[NAMES] != t->name_count || first[TRACKS] != t->track_count ||
        first[CALLS] != t->call_count || first[EVENTS] != t->event_count ||
        first[WAITS_BEFORE] != t->wait_count || first[RANKS] > UINT32_MAX)
        return ll_build_refuse(build, "the part of the timeline before it is missing");
    t->rank_count = (uint32_t)first[RANKS];
    t->launches = first[LAUNCHES] != 0;
    return take_names(build, t) &&
           take_rows(build, track_fields, sizeof *t->tracks, &t->tracks, &t->track_count,
                     &t->track_capacity) &&
           take_rows(build, call_fields, sizeof *t->calls, &t->calls, &t->call_count, &t->call_capacity) &&
           take_rows(build, event_fields, sizeof *t->events, &t->events, &t->event_count,
                     &t->event_capacity) &&
           take_rows(build, wait_fields, sizeof *t->waits, &t->waits, &t->wait_count, &t->wait_capacity);
}

bool ll_build_timeline(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    if (!trace->timeline && !(trace->timeline = calloc(1, sizeof *trace->timeline)))
        return ll_build_no_memory(build);
    if (build->timeline_lost)
        return true;
    build->timeline_lost = !take_part(build, trace->timeline);
    return !build->timeline_lost;
}

void ll_build_finish_timeline(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    const char *trouble = NULL;
    if (trace->timeline && !build->timeline_lost && (trouble = ll_timeline_check(trace->timeline)))
        ll_walk_complain(build->walk, "its timeline is left out: %s", trouble);
    if (!trace->timeline || (!trouble && !build->timeline_lost))
        return;
    ll_timeline_release(trace->timeline);
    free(trace->timeline);
    trace->timeline = NULL;
}
