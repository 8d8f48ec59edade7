/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a timeline in Chrome's JSON. The first section finds the times, recorded or simulated. */
#include <math.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/convert/convert.h"
#include "tracer/ir/trace.h"

/* The names of threads, by place in the map. */
static const char **name_threads(const struct ll_map *threads, struct ll_arena *arena)
{
    const char **names = ll_alloc(arena, threads->count, sizeof *names);
    for (uint32_t i = 0; names && i < threads->count; i++) {
        const uint32_t *thread = threads->entries[i].bytes;
        names[i] = ll_format(arena, "thread %u", *thread);
        if (!names[i])
            return NULL;
    }
    return names;
}

static bool place_ops(const struct ll_trace *trace, struct ll_map *threads, struct ll_scheduled *ops,
                      double *bytes, bool *timed)
{
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op *op = &trace->ops[i];
        const struct ll_form *form = &trace->forms[op->form];
        uint32_t track = ll_map_intern(threads, &op->thread, sizeof op->thread, NULL);
        if (track == LL_NO_ID)
            return false;
        ops[i] = (struct ll_scheduled){
            .start_s = (double)op->start_ns * 1e-9, .time_s = (double)op->duration_ns * 1e-9, .track = track};
        bytes[i] = (double)form->bytes_read + (double)form->bytes_written;
        *timed = *timed || op->duration_ns > 0;
    }
    return true;
}

const struct ll_op_schedule *ll_schedule_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                  bool *timed)
{
    static const char *const levels[] = {"memory"};
    struct ll_map threads = {0};
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    struct ll_scheduled *ops = ll_alloc(arena, trace->op_count, sizeof *ops);
    double *bytes = ll_alloc(arena, trace->op_count, sizeof *bytes);
    *timed = false;
    bool done = schedule && ops && bytes && place_ops(trace, &threads, ops, bytes, timed);
    const char **tracks = done ? name_threads(&threads, arena) : NULL;
    uint32_t track_count = threads.count;
    ll_map_release(&threads);
    if (!tracks)
        return NULL;
    *schedule = (struct ll_op_schedule){.tracks = tracks,
                                        .track_count = track_count,
                                        .op_count = (uint32_t)trace->op_count,
                                        .ops = ops,
                                        .level_count = 1,
                                        .levels = levels,
                                        .level_bytes = bytes};
    return schedule;
}

/* Timelines in Chrome's JSON, which chrome://tracing, Perfetto and TensorBoard open.
 *
 *   M     names of the process and of the tracks
 *   X     an op, on the track it ran on
 *   s f   a dependency: from one op's end to another's start, its category says why
 *   C     memory by class, and bandwidths
 *
 * Times are microseconds. -p flows=all|cross|none chooses which dependencies are shown: all of them, those
 * between tracks, or none. */

enum flows { FLOWS_ALL, FLOWS_CROSS, FLOWS_NONE };

struct timeline {
    struct ll_export *export;
    const struct ll_trace *trace;
    const struct ll_op_schedule *schedule;
    const struct ll_deps *deps;
    uint64_t (*born)[LL_MEMORY_COUNT], (*dead)[LL_MEMORY_COUNT]; /* bytes, by op: with it, after it */
    uint64_t live[LL_MEMORY_COUNT];
    enum flows flows;
    uint64_t flow_count;
    bool first; /* no event is written yet */
};

static const struct ll_scheduled *placed(const struct timeline *t, uint32_t op)
{
    return &t->schedule->ops[op - t->schedule->first_op];
}

static bool is_placed(const struct timeline *t, uint32_t op)
{
    return op >= t->schedule->first_op && op - t->schedule->first_op < t->schedule->op_count;
}

/* Times are written in whole nanoseconds. What follows at once must begin where the one before ends: both
 * ends are rounded, and a length is what lies between them. */
static double in_ns(double time_s)
{
    return round(time_s * 1e9);
}

/* Begins an event; the caller adds what is particular and closes it. */
static struct ll_json begin(struct timeline *t, const char *phase, const char *name, uint32_t track,
                            double time_s)
{
    ll_str_add(&t->export->out, t->first ? "\n" : ",\n");
    t->first = false;
    struct ll_json json = {.out = &t->export->out};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "ph", phase);
    ll_json_put_text(&json, "name", name);
    ll_json_put_count(&json, "pid", 1);
    ll_json_put_count(&json, "tid", track + 1u);
    if (!isnan(time_s))
        ll_json_put_number(&json, "ts", in_ns(time_s) / 1e3);
    return json;
}

static void write_name(struct timeline *t, const char *what, uint32_t track, const char *name)
{
    struct ll_json json = begin(t, "M", what, track, NAN);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    ll_json_put_text(&json, "name", name);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
}

static void write_names(struct timeline *t)
{
    const char *model = ll_trace_fact(t->trace, "model");
    struct ll_str process = {0};
    ll_str_addf(&process, "%s%s%s", model ? model : "trace", t->schedule->name ? " on " : ", as recorded",
                t->schedule->name ? t->schedule->name : "");
    write_name(t, "process_name", 0, process.failed ? "trace" : process.text);
    for (uint32_t i = 0; i < t->schedule->track_count; i++)
        write_name(t, "thread_name", i, t->schedule->tracks[i]);
    t->export->out.failed |= process.failed;
    ll_str_release(&process);
}

/* "f32[64,224,224,3]" of all tensors. */
static void add_shapes(struct ll_str *text, const struct ll_shape *shapes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ll_str_addf(text, "%s%s[", i ? " " : "", ll_dtype_name((enum ll_dtype)shapes[i].dtype));
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(text, "%s%llu", d ? "," : "", (unsigned long long)shapes[i].dim[d]);
        ll_str_add(text, "]");
    }
}

static void put_shapes(struct ll_json *json, const char *key, const struct ll_shape *shapes, uint32_t count)
{
    struct ll_str text = {0};
    add_shapes(&text, shapes, count);
    ll_json_put_text(json, key, text.text ? text.text : "");
    ll_str_release(&text);
}

static void write_op(struct timeline *t, uint32_t op)
{
    const struct ll_scheduled *at = placed(t, op);
    const struct ll_form *form = &t->trace->forms[t->trace->ops[op].form];
    struct ll_json json = begin(t, "X", t->trace->strings[form->kind_name], at->track, at->start_s);
    ll_json_put_number(&json, "dur", (in_ns(at->start_s + at->time_s) - in_ns(at->start_s)) / 1e3);
    ll_json_put_text(&json, "cat", ll_phase_name(form->phase));
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    ll_json_put_count(&json, "seq", op);
    ll_json_put_text(&json, "scope", t->trace->strings[form->scope]);
    put_shapes(&json, "inputs", form->view.in, form->view.input_count);
    put_shapes(&json, "outputs", form->view.out, form->view.output_count);
    ll_json_put_count(&json, "flops", form->flops);
    ll_json_put_count(&json, "bytes", ll_add(form->bytes_read, form->bytes_written));
    if (at->bound)
        ll_json_put_text(&json, "bound", at->bound);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
}

/* One end of a dependency; each has a number of its own, since a flow cannot fork. An end lies within its op.
 */
static void write_end(struct timeline *t, const char *phase, uint32_t op, const char *why)
{
    const double inside = 0.999;
    const struct ll_scheduled *at = placed(t, op);
    bool from = phase[0] == 's';
    struct ll_json json = begin(t, phase, why, at->track, at->start_s + (from ? inside * at->time_s : 0));
    ll_json_put_text(&json, "cat", why);
    ll_json_put_count(&json, "id", t->flow_count);
    if (!from)
        ll_json_put_text(&json, "bp", "e");
    ll_json_close_object(&json);
}

static void write_flows(struct timeline *t, uint32_t op)
{
    for (uint64_t i = t->deps->first[op]; t->flows != FLOWS_NONE && i < t->deps->first[op + 1]; i++) {
        uint32_t from = t->deps->ops[i];
        if (!is_placed(t, from) ||
            (t->flows == FLOWS_CROSS && placed(t, from)->track == placed(t, op)->track))
            continue;
        const char *why = ll_edge_name(ll_edge_of(t->trace, op, from));
        t->flow_count++;
        write_end(t, "s", from, why);
        write_end(t, "f", op, why);
    }
}

static void write_memory(struct timeline *t, double time_s)
{
    struct ll_json json = begin(t, "C", "memory", 0, time_s);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    for (int i = 0; i < LL_MEMORY_COUNT; i++)
        ll_json_put_count(&json, ll_memory_name((enum ll_memory_class)i), t->live[i]);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
}

static void write_bandwidth(struct timeline *t, const char *level, double time_s, double Bps)
{
    struct ll_str name = {0};
    ll_str_addf(&name, "%s GB/s", level);
    struct ll_json json = begin(t, "C", name.text ? name.text : level, 0, time_s);
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    ll_json_put_number(&json, "GB/s", round(Bps * 1e-6) / 1e3);
    ll_json_close_object(&json);
    ll_json_close_object(&json);
    ll_str_release(&name);
}

/* What is born is there from the op's start on, what dies until its end; so is an op's traffic. */
static void write_counters(struct timeline *t, uint32_t op)
{
    const struct ll_op_schedule *schedule = t->schedule;
    const struct ll_scheduled *at = placed(t, op);
    uint32_t place = op - schedule->first_op;
    bool born = false, dead = false;
    for (int i = 0; i < LL_MEMORY_COUNT; i++) {
        t->live[i] = ll_add(t->live[i], t->born[op][i]);
        born = born || t->born[op][i] > 0;
        dead = dead || t->dead[op][i] > 0;
    }
    if (born || op == schedule->first_op)
        write_memory(t, at->start_s);
    for (int i = 0; i < LL_MEMORY_COUNT; i++)
        t->live[i] = ll_sub(t->live[i], t->dead[op][i]);
    if (dead)
        write_memory(t, at->start_s + at->time_s);
    for (uint32_t l = 0; at->time_s > 0 && l < schedule->level_count; l++) {
        double bytes = schedule->level_bytes[(uint64_t)place * schedule->level_count + l];
        write_bandwidth(t, schedule->levels[l], at->start_s, bytes / at->time_s);
        write_bandwidth(t, schedule->levels[l], at->start_s + at->time_s, 0);
    }
}

/* Births and deaths of storages, by op and class. */
static bool find_memory(struct timeline *t)
{
    const struct ll_trace *trace = t->trace;
    const struct ll_life *lives = ll_lives(trace, &t->export->arena);
    t->born = ll_alloc(&t->export->arena, trace->op_count, sizeof *t->born);
    t->dead = ll_alloc(&t->export->arena, trace->op_count, sizeof *t->dead);
    if (!lives || !t->born || !t->dead)
        return false;
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        const struct ll_life *life = &lives[s];
        if (life->first == LL_NONE)
            continue;
        t->born[life->first][life->memory] = ll_add(t->born[life->first][life->memory], life->bytes);
        t->dead[life->last][life->memory] = ll_add(t->dead[life->last][life->memory], life->bytes);
    }
    for (uint32_t op = 0; op < t->schedule->first_op; op++)
        for (int i = 0; i < LL_MEMORY_COUNT; i++)
            t->live[i] = ll_sub(ll_add(t->live[i], t->born[op][i]), t->dead[op][i]);
    return true;
}

static bool choose_flows(struct timeline *t)
{
    static const char *const names[] = {"all", "cross", "none"};
    const char *given = ll_export_choice(t->export, "flows");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!given || strcmp(given, names[i]) == 0) {
            t->flows = (enum flows)i;
            return true;
        }
    return ll_complain(t->export->diags, (struct ll_place){0},
                       "-p flows=%s: expected `all`, `cross` or `none`", given);
}

static bool write_all(struct timeline *t)
{
    bool goes_on = true;
    ll_str_add(&t->export->out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
    write_names(t);
    for (uint32_t i = 0; goes_on && i < t->schedule->op_count; i++) {
        uint32_t op = t->schedule->first_op + i;
        write_op(t, op);
        write_flows(t, op);
        write_counters(t, op);
        goes_on = ll_export_spill(t->export);
    }
    ll_str_add(&t->export->out, "\n]}\n");
    return goes_on;
}

bool ll_export_TIMELINE(struct ll_export *export)
{
    struct timeline t = {.export = export, .trace = export->trace, .first = true};
    if (!choose_flows(&t) || !ll_export_ready(export))
        return false;
    t.schedule = ll_export_schedule(export);
    if (!t.schedule)
        return false;
    t.deps = ll_trace_deps(t.trace, &export->arena);
    if (!t.deps || (t.trace->op_count > 0 && !find_memory(&t))) {
        export->status = LL_NO_MEMORY;
        return false;
    }
    return write_all(&t);
}
