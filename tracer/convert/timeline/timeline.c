/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline on its way to a file, whatever the format: lanes, order of time, counters.
 *
 * What lies ahead of the slice that was added last (ends of slices, changes of counters) waits in a heap by
 * its time. A new slice lets go of what comes before it. */
#include "tracer/convert/timeline/timeline.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/convert/timeline/writers.h"

/* The end of the slice on a lane, or a change of a counter. */
struct ahead {
    uint64_t at_ns, order; /* order: of two at one time, the one added first comes first */
    uint32_t index;        /* of a lane, or a gauge */
    bool is_change;
    int64_t steps; /* of a change */
};

struct ll_timeline_file {
    struct ll_timeline_sink sink;
    const struct ll_timeline_writer *writer;
    uint64_t next_id, now_ns;
    /* Of the process under way. */
    struct ll_arena arena;
    struct ll_timeline_lane *lanes;
    uint32_t *more_lanes; /* by lane: the next one of its track, NO_LANE behind the last */
    uint32_t *first_lane; /* by track; NO_LANE: nothing lies on it so far */
    const char **track_names;
    struct ll_timeline_gauge *gauges;
    uint32_t lane_count, track_count, gauge_count;
    uint64_t lane_capacity, more_capacity, first_capacity, name_capacity, gauge_capacity;
    struct ahead *heap;
    uint64_t heap_count, heap_capacity, order;
    bool changed; /* some gauge has */
};

enum { NO_LANE = UINT32_MAX };

uint64_t ll_timeline_ns(double time_s)
{
    assert(!isnan(time_s));
    double ns = round(time_s * 1e9);
    return ns <= 0 ? 0 : ns >= 0x1p63 ? UINT64_C(1) << 63 : (uint64_t)ns;
}

static bool is_over(const struct ll_timeline_file *t)
{
    return t->sink.export->status != LL_OK;
}

static void fail(struct ll_timeline_file *t)
{
    t->sink.export->status = LL_NO_MEMORY;
}

/* --- the heap --- */

static bool is_before(const struct ahead *a, const struct ahead *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void push(struct ll_timeline_file *t, struct ahead item)
{
    if (!ll_grow(&t->heap, &t->heap_capacity, t->heap_count + 1, sizeof *t->heap)) {
        fail(t);
        return;
    }
    uint64_t at = t->heap_count++;
    item.order = t->order++;
    for (; at > 0 && is_before(&item, &t->heap[(at - 1) / 2]); at = (at - 1) / 2)
        t->heap[at] = t->heap[(at - 1) / 2];
    t->heap[at] = item;
}

static struct ahead pop(struct ll_timeline_file *t)
{
    assert(t->heap_count > 0);
    struct ahead top = t->heap[0], last = t->heap[--t->heap_count];
    uint64_t at = 0;
    for (uint64_t child; (child = 2 * at + 1) < t->heap_count; at = child) {
        if (child + 1 < t->heap_count && is_before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!is_before(&t->heap[child], &last))
            break;
        t->heap[at] = t->heap[child];
    }
    t->heap[at] = last;
    return top;
}

/* --- time goes on --- */

/* The gauges from `first` on that stand in its group, itself alone without one. */
static uint32_t group_length(const struct ll_timeline_file *t, uint32_t first)
{
    uint32_t end = first + 1;
    while (t->gauges[first].group_id && end < t->gauge_count &&
           t->gauges[end].group_id == t->gauges[first].group_id)
        end++;
    return end - first;
}

/* Writes the values of a group's counters, and before the first ones what these counters are. */
static void write_group(struct ll_timeline_file *t, struct ll_timeline_gauge *gauges, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!gauges[k].is_written)
            t->writer->gauge(&t->sink, &gauges[k], gauges[k].group_id && k == 0);
    t->writer->values(&t->sink, gauges, count, t->now_ns);
    for (uint32_t k = 0; k < count; k++) {
        gauges[k].written = gauges[k].steps;
        gauges[k].is_written = true;
    }
}

/* Writes the counters that have changed by now. */
static void write_changes(struct ll_timeline_file *t)
{
    for (uint32_t i = 0, count; t->changed && i < t->gauge_count; i += count) {
        struct ll_timeline_gauge *gauges = &t->gauges[i];
        bool any = false;
        count = group_length(t, i);
        for (uint32_t k = 0; k < count; k++) {
            gauges[k].changed = !gauges[k].is_written || gauges[k].steps != gauges[k].written;
            any = any || (gauges[k].changed && (gauges[k].is_written || gauges[k].steps != 0));
        }
        if (any)
            write_group(t, gauges, count);
    }
    t->changed = false;
}

static void change(struct ll_timeline_file *t, uint32_t gauge, int64_t steps)
{
    assert(gauge < t->gauge_count);
    t->gauges[gauge].steps =
        (int64_t)((uint64_t)t->gauges[gauge].steps + (uint64_t)steps); /* may wrap round */
    t->changed = true;
}

/* Lets go of all that comes up to a time. */
static void advance(struct ll_timeline_file *t, uint64_t to_ns)
{
    assert(to_ns >= t->now_ns);
    while (!is_over(t) && t->heap_count > 0 && t->heap[0].at_ns <= to_ns) {
        struct ahead next = pop(t);
        if (next.at_ns > t->now_ns)
            write_changes(t);
        t->now_ns = next.at_ns;
        if (next.is_change)
            change(t, next.index, next.steps);
        else
            t->writer->end(&t->sink, &t->lanes[next.index], next.at_ns);
        ll_export_spill(t->sink.export);
    }
    if (to_ns > t->now_ns)
        write_changes(t);
    t->now_ns = to_ns;
}

/* --- processes, tracks, counters --- */

static void end_process(struct ll_timeline_file *t)
{
    advance(t, UINT64_MAX);
    ll_arena_release(&t->arena);
    t->lane_count = t->track_count = t->gauge_count = 0;
    t->heap_count = t->order = t->now_ns = 0;
    t->changed = false;
}

void ll_timeline_process(struct ll_timeline_file *t, const char *name)
{
    end_process(t);
    if (is_over(t))
        return;
    if (t->sink.process++ == 0 && !t->writer->open(&t->sink)) {
        fail(t);
        return;
    }
    t->sink.process_id = ++t->next_id;
    t->writer->process(&t->sink, name);
}

static uint32_t add_lane(struct ll_timeline_file *t, uint32_t track, const char *name)
{
    uint64_t count = t->lane_count + 1u;
    if (is_over(t) || !name || !ll_grow(&t->lanes, &t->lane_capacity, count, sizeof *t->lanes) ||
        !ll_grow(&t->more_lanes, &t->more_capacity, count, sizeof *t->more_lanes)) {
        fail(t);
        return NO_LANE;
    }
    uint32_t lane = t->lane_count++;
    t->lanes[lane] =
        (struct ll_timeline_lane){.id = ++t->next_id, .number = lane, .rank = track, .name = name};
    t->more_lanes[lane] = NO_LANE;
    t->writer->lane(&t->sink, &t->lanes[lane]);
    return lane;
}

uint32_t ll_timeline_track(struct ll_timeline_file *t, const char *name)
{
    uint32_t track = t->track_count;
    assert(t->sink.process > 0 || is_over(t));
    const char *copy = ll_copy_text(&t->arena, name, strlen(name));
    if (!copy || !ll_grow(&t->first_lane, &t->first_capacity, track + 1u, sizeof *t->first_lane) ||
        !ll_grow(&t->track_names, &t->name_capacity, track + 1u, sizeof *t->track_names)) {
        fail(t);
        return track;
    }
    t->first_lane[track] = NO_LANE;
    t->track_names[track] = copy;
    t->track_count++;
    return track;
}

uint32_t ll_timeline_counter(struct ll_timeline_file *t, const struct ll_timeline_counter *counter)
{
    uint32_t number = t->gauge_count;
    const struct ll_timeline_gauge *before = number > 0 ? &t->gauges[number - 1] : NULL;
    assert(counter->name && counter->unit && counter->scale > 0);
    bool joins = before && counter->group && before->counter.group &&
                 strcmp(counter->group, before->counter.group) == 0;
    uint64_t group = joins ? before->group_id : counter->group ? ++t->next_id : 0;
    struct ll_timeline_gauge gauge = {
        .counter = *counter, .group_id = group, .rank = t->track_count + number};
    gauge.counter.name = ll_copy_text(&t->arena, counter->name, strlen(counter->name));
    gauge.counter.unit = ll_copy_text(&t->arena, counter->unit, strlen(counter->unit));
    gauge.counter.group =
        counter->group ? ll_copy_text(&t->arena, counter->group, strlen(counter->group)) : NULL;
    gauge.id = ++t->next_id;
    if (is_over(t) || !gauge.counter.name || !gauge.counter.unit ||
        (counter->group && !gauge.counter.group) ||
        !ll_grow(&t->gauges, &t->gauge_capacity, number + 1u, sizeof *t->gauges)) {
        fail(t);
        return number;
    }
    t->gauges[t->gauge_count++] = gauge;
    return number;
}

/* --- slices --- */

/* The first lane of a track that is free, or on which the slice, which has no length, lies within another. */
static uint32_t free_lane(struct ll_timeline_file *t, const struct ll_timeline_slice *slice)
{
    uint32_t last = NO_LANE, number = 1;
    for (uint32_t lane = t->first_lane[slice->track]; lane != NO_LANE; lane = t->more_lanes[lane], number++) {
        if (t->lanes[lane].end_ns <= slice->begin_ns || slice->begin_ns == slice->end_ns)
            return lane;
        last = lane;
    }
    const char *name = t->track_names[slice->track];
    uint32_t lane =
        add_lane(t, slice->track, number > 1 ? ll_format(&t->arena, "%s (%u)", name, number) : name);
    if (lane != NO_LANE)
        *(last == NO_LANE ? &t->first_lane[slice->track] : &t->more_lanes[last]) = lane;
    return lane;
}

bool ll_timeline_slice(struct ll_timeline_file *t, const struct ll_timeline_slice *slice)
{
    if (is_over(t))
        return false;
    assert(slice->track < t->track_count && slice->begin_ns <= slice->end_ns);
    assert(slice->arg_count <= LL_TIMELINE_ARGS && slice->name && slice->category);
    for (uint32_t i = 0; i < slice->flow_count; i++)
        assert(slice->flows[i].id > 0 &&
               (!slice->flows[i].leaves || slice->flows[i].to_ns >= slice->begin_ns));
    advance(t, slice->begin_ns);
    uint32_t lane = is_over(t) ? NO_LANE : free_lane(t, slice);
    if (lane == NO_LANE)
        return false;
    t->writer->begin(&t->sink, &t->lanes[lane], slice);
    t->lanes[lane].end_ns = ll_max(t->lanes[lane].end_ns, slice->end_ns);
    push(t, (struct ahead){.at_ns = slice->end_ns, .index = lane});
    ll_export_spill(t->sink.export);
    return !is_over(t);
}

void ll_timeline_add(struct ll_timeline_file *t, uint32_t counter, uint64_t at_ns, int64_t steps)
{
    assert(is_over(t) || (counter < t->gauge_count && at_ns >= t->now_ns));
    if (!is_over(t) && steps != 0)
        push(t, (struct ahead){.at_ns = at_ns, .index = counter, .is_change = true, .steps = steps});
}

/* --- the whole --- */

static const struct {
    const char *name, *ending;
    const struct ll_timeline_writer *writer;
} formats[] = {{"json", ".json", &ll_timeline_chrome}, {"pftrace", ".pftrace", &ll_timeline_perfetto}};

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* NULL after a complaint. */
static const struct ll_timeline_writer *choose(struct ll_export *export)
{
    const char *given = ll_export_choice(export, "format");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (given ? strcmp(given, formats[i].name) == 0
                  : !export->path || ends_with(export->path, formats[i].ending))
            return formats[i].writer;
    if (given)
        ll_complain(export->diags, (struct ll_place){0}, "-p format=%s: expected `json` or `pftrace`", given);
    else
        ll_complain(export->diags, (struct ll_place){.file = export->path},
                    "a timeline's file ends in .pftrace (Perfetto) or .json (Chrome); -p format=pftrace or "
                    "-p format=json writes it under any name");
    return NULL;
}

struct ll_timeline_file *ll_timeline_open(struct ll_export *export)
{
    const struct ll_timeline_writer *writer = choose(export);
    struct ll_timeline_file *t = writer ? calloc(1, sizeof *t) : NULL;
    if (writer && !t)
        export->status = LL_NO_MEMORY;
    if (t)
        *t = (struct ll_timeline_file){.sink = {.export = export}, .writer = writer};
    return t;
}

bool ll_timeline_close(struct ll_timeline_file *t)
{
    if (!t)
        return false;
    end_process(t);
    if (t->sink.process > 0)
        t->writer->close(&t->sink);
    bool done = !is_over(t);
    ll_arena_release(&t->arena);
    free(t->lanes);
    free(t->more_lanes);
    free(t->first_lane);
    free(t->track_names);
    free(t->gauges);
    free(t->heap);
    free(t);
    return done;
}

/* --- ops --- */

static const char *shapes_text(struct ll_timeline_ops *ops, const struct ll_shape *shapes, uint32_t count)
{
    struct ll_str text = {0};
    ll_shapes_text(shapes, count, &text);
    const char *copy = text.failed ? NULL : ll_copy_text(ops->arena, text.text ? text.text : "", text.length);
    ll_str_release(&text);
    return copy;
}

static bool make_text(struct ll_timeline_ops *ops, const struct ll_op_signature *signature,
                      struct ll_timeline_op_text *text)
{
    const char *kind = ops->trace->strings[signature->kind_name],
               *scope = ops->trace->strings[signature->scope];
    text->inputs = shapes_text(ops, signature->view.in, signature->view.input_count);
    text->outputs = shapes_text(ops, signature->view.out, signature->view.output_count);
    text->name = *scope ? ll_format(ops->arena, "%s %s", kind, scope) : kind;
    return text->inputs && text->outputs && text->name;
}

bool ll_timeline_describe(struct ll_timeline_ops *ops, uint32_t op, const char *bound,
                          struct ll_timeline_slice *slice)
{
    uint32_t number = ops->trace->ops[op].signature;
    const struct ll_op_signature *signature = &ops->trace->signatures[number];
    if (!ops->texts)
        ops->texts = ll_alloc(ops->arena, ops->trace->signature_count, sizeof *ops->texts);
    struct ll_timeline_op_text *text = ops->texts ? &ops->texts[number] : NULL;
    if (!text || (!text->name && !make_text(ops, signature, text)))
        return false;
    slice->name = text->name;
    slice->category = ll_phase_name(signature->phase);
    const struct ll_timeline_arg args[] = {
        {.name = "seq", .kind = LL_TIMELINE_COUNT, .count = op},
        {.name = "kind", .text = ops->trace->strings[signature->kind_name]},
        {.name = "scope", .text = ops->trace->strings[signature->scope]},
        {.name = "inputs", .text = text->inputs},
        {.name = "outputs", .text = text->outputs},
        {.name = "flops", .kind = LL_TIMELINE_COUNT, .count = signature->flops},
        {.name = "bytes",
         .kind = LL_TIMELINE_COUNT,
         .count = ll_add(signature->bytes_read, signature->bytes_written)},
        {.name = "bound", .text = bound},
    };
    slice->arg_count = sizeof args / sizeof *args - !bound;
    memcpy(slice->args, args, sizeof args);
    return true;
}
