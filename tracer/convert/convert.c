/* SPDX-License-Identifier: Apache-2.0 */
/* What all formats share: inputs as bytes, ops without tensors, options, and the ways in and out; and traces
 * as JSON lines. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/convert/convert.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/file.h"
#include "tracer/base/hash.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/format/format.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/dtype.h"

const char *ll_series_record(struct ll_series *series, const struct ll_import_op *op, struct ll_imported *out)
{
    assert(op->kind < LL_OP_NONE);
    const uint32_t before = series->ops - 1;
    struct ll_import_op whole = *op;
    whole.phase = series->phase;
    whole.scope = series->scope;
    whole.memory = series->phase == LL_PHASE_BACKWARD ? LL_GRADIENT : LL_ACTIVATION;
    whole.controls = &before;
    whole.control_count = series->ops > 0;
    whole.start_ns = series->clock_ns;
    whole.duration_ns = series->duration_ns;
    const char *trouble = ll_import_record(series->import, &whole, out);
    if (trouble)
        return trouble;
    series->ops++;
    series->clock_ns = ll_add(series->clock_ns, series->duration_ns);
    series->duration_ns = 0;
    return NULL;
}

uint64_t ll_series_ns(double time_ns)
{
    return !(time_ns > 0) ? 0 : time_ns < 0x1p64 ? (uint64_t)round(time_ns) : LL_NO_FIT;
}

struct ll_imported ll_series_tensor(struct ll_series *series, enum ll_memory_class memory,
                                    enum ll_dtype dtype, unsigned rank, const uint64_t *dims)
{
    assert(rank <= LL_MAX_RANK && dtype < LL_DTYPE_COUNT && memory < LL_MEMORY_COUNT);
    struct ll_shape shape = {.rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = dims[i];
    return ll_import_tensor(series->import, ll_memory_name(memory), &shape, memory);
}

bool ll_series_dtype(struct ll_import *import, enum ll_dtype otherwise, enum ll_dtype *dtype)
{
    assert(otherwise < LL_DTYPE_COUNT);
    const char *name = ll_import_choice(import, "dtype");
    *dtype = name ? ll_dtype_find(name) : otherwise;
    return *dtype != LL_DTYPE_COUNT ||
           ll_complain(import->diags, (struct ll_place){0},
                       "-p dtype=%s: expected a type of elements, as f32, f16, bf16 or int8", name);
}

const char *ll_import_stem(struct ll_import *import, const char *otherwise)
{
    assert(import->input_count > 0);
    const char *base = ll_base_name(import->inputs[0].path);
    const char *stem = ll_copy_text(&import->arena, base, strcspn(base, "."));
    return stem && stem[0] ? stem : otherwise;
}

#define MOST_BYTES (UINT64_C(1) << 34)
#define MOST_STREAM_BYTES (UINT64_C(1) << 30) /* of pipes, some of which never end */

/* Devices are refused, for some never end. A regular file may be larger than what comes through a pipe,
 * whose length nobody knows before it is in memory. */
enum ll_status ll_input_open(const char *path, struct ll_arena *arena, struct ll_input_file *input)
{
    struct ll_contents whole = {0};
    struct stat there = {0};
    bool known = stat(path, &there) == 0, file = known && S_ISREG(there.st_mode) && there.st_size > 0;
    *input = (struct ll_input_file){.path = path};
    if (known && (S_ISCHR(there.st_mode) || S_ISBLK(there.st_mode)))
        return LL_IS_DEVICE;
    enum ll_status status = ll_read_whole(path, file ? MOST_BYTES : MOST_STREAM_BYTES, arena, &whole);
    if (status == LL_FILE_TOO_LONG && !file)
        status = LL_STREAM_TOO_LONG;
    if (status == LL_OK && ll_is_packed(whole.bytes, whole.length))
        status = ll_unpack_file(whole.bytes, whole.length, MOST_BYTES, arena, &whole);
    input->bytes = (const uint8_t *)whole.bytes;
    input->size = whole.length;
    return status;
}

/* Every op of a trace as an object of JSON, a line each: what `leadline dump` prints. */

static void dump_shape(struct ll_json *json, const struct ll_shape *shape)
{
    ll_json_put_text(json, "dtype", ll_dtype_name((enum ll_dtype)shape->dtype));
    ll_json_key(json, "dims");
    ll_json_open_list(json);
    for (unsigned i = 0; i < shape->rank; i++)
        ll_json_count(json, shape->dim[i]);
    ll_json_close_list(json);
    ll_json_key(json, "roles");
    ll_json_open_list(json);
    for (unsigned i = 0; i < shape->rank; i++)
        ll_json_text(json, ll_role_name((enum ll_role)shape->role[i]));
    ll_json_close_list(json);
}

static void dump_tensor(struct ll_json *json, const struct ll_trace *trace, uint32_t id)
{
    const struct ll_tensor_desc *desc = &trace->descs[trace->tensors[id].desc];
    ll_json_open_object(json);
    ll_json_put_count(json, "id", id);
    ll_json_put_text(json, "name", trace->strings[desc->name]);
    dump_shape(json, &desc->shape);
    ll_json_put_text(json, "class", ll_memory_name((enum ll_memory_class)desc->memory));
    ll_json_put_count(json, "storage", trace->tensors[id].storage);
    ll_json_close_object(json);
}

static void dump_attrs(struct ll_json *json, const struct ll_op_view *view)
{
    ll_json_key(json, "attrs");
    ll_json_open_object(json);
    for (uint32_t i = 0; i < view->attr_count; i++) {
        enum ll_attr_key key = (enum ll_attr_key)view->attrs[i].key;
        ll_json_key(json, ll_attr_name(key));
        if (ll_attr_is_real(key))
            ll_json_number(json, view->attrs[i].real);
        else
            ll_json_integer(json, view->attrs[i].count);
    }
    ll_json_close_object(json);
}

static void dump_tensors(struct ll_json *json, const struct ll_trace *trace, uint32_t op)
{
    const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
    ll_json_key(json, "inputs");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < view->input_count; i++)
        dump_tensor(json, trace, ll_op_input(trace, op, i));
    ll_json_close_list(json);
    ll_json_key(json, "outputs");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < view->output_count; i++)
        dump_tensor(json, trace, ll_op_output(trace, op, i));
    ll_json_close_list(json);
}

static void dump_counts(struct ll_json *json, const struct ll_op_signature *signature, const struct ll_op *op)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"flops", signature->flops},
                  {"bytes_read", signature->bytes_read},
                  {"bytes_written", signature->bytes_written},
                  {"start_ns", op->start_ns},
                  {"duration_ns", op->duration_ns},
                  {"thread", op->thread}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ll_json_put_count(json, counts[i].key, counts[i].count);
    }
}

/* One op as one JSON object on one line; `edges` tells for each of `deps` why the op waits for it. */
static void dump_op(struct ll_str *out, const struct ll_trace *trace, const struct ll_deps *deps,
                    uint32_t seq)
{
    const struct ll_op *op = &trace->ops[seq];
    const struct ll_op_signature *signature = &trace->signatures[op->signature];
    struct ll_json json = {.out = out};
    ll_json_open_object(&json);
    ll_json_put_count(&json, "seq", seq);
    ll_json_put_text(&json, "kind", trace->strings[signature->kind_name]);
    ll_json_put_text(&json, "phase", ll_phase_name(signature->phase));
    ll_json_put_text(&json, "scope", trace->strings[signature->scope]);
    ll_json_put_count(&json, "step", op->step);
    dump_tensors(&json, trace, seq);
    dump_attrs(&json, &signature->view);
    dump_counts(&json, signature, op);
    ll_json_key(&json, "deps");
    ll_json_open_list(&json);
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++)
        ll_json_count(&json, deps->ops[i]);
    ll_json_close_list(&json);
    ll_json_key(&json, "edges");
    ll_json_open_list(&json);
    for (uint64_t i = deps->first[seq]; i < deps->first[seq + 1]; i++)
        ll_json_text(&json, ll_edge_name(ll_edge_of(trace, seq, deps->ops[i])));
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    ll_str_add(out, "\n");
}

bool ll_export_JSONL(struct ll_export *export)
{
    const struct ll_trace *trace = export->trace;
    const struct ll_deps *deps = ll_trace_deps(trace, &export->arena);
    if (!deps)
        export->status = LL_NO_MEMORY;
    bool goes_on = deps && ll_export_ready(export);
    for (uint32_t seq = 0; goes_on && seq < trace->op_count; seq++) {
        dump_op(&export->out, trace, deps, seq);
        goes_on = ll_export_spill(export);
    }
    return goes_on;
}

/* The rows of formats.def, and the ways in and out that all of them go. */

#define READ_IN(word) ll_import_##word
#define READ_OUT(word) NULL
#define WRITE_IN(word) NULL
#define WRITE_OUT(word) ll_export_##word
#define BOTH_IN(word) ll_import_##word
#define BOTH_OUT(word) ll_export_##word
#define TIMED_IN(word) NULL
#define TIMED_OUT(word) ll_export_##word
#define READ_TIMES(word) false
#define WRITE_TIMES(word) false
#define BOTH_TIMES(word) false
#define TIMED_TIMES(word) true
#define TIMED_BOTH_IN(word) ll_import_##word
#define TIMED_BOTH_OUT(word) ll_export_##word
#define TIMED_BOTH_TIMES(word) true

const struct ll_format ll_formats[] = {
#define LL_FORMAT(word, name, ways, doc) {name, doc, ways##_IN(word), ways##_OUT(word), ways##_TIMES(word)},
#include "tracer/convert/formats.def"
#undef LL_FORMAT
    {0},
};

static const char *choose(struct ll_choice *choices, uint64_t count, const char *key)
{
    const char *value = NULL;
    for (uint64_t i = 0; i < count; i++)
        if (strcmp(choices[i].key, key) == 0) {
            choices[i].taken = true;
            value = choices[i].value;
        }
    return value;
}

static bool refuse_choices(const struct ll_choice *choices, uint64_t count, struct ll_diags *diags)
{
    bool known = true;
    for (uint64_t i = 0; i < count; i++)
        if (!choices[i].taken)
            known = ll_complain(diags, (struct ll_place){0},
                                "-p %s=%s: there is no such parameter of this format, or nothing of that "
                                "name that the file leaves open",
                                choices[i].key, choices[i].value);
    return known;
}

const char *ll_import_choice(struct ll_import *import, const char *key)
{
    assert(key && *key);
    return choose(import->choices, import->choice_count, key);
}

bool ll_import_count(struct ll_import *import, const char *key, uint64_t least, uint64_t most,
                     uint64_t otherwise, uint64_t *count)
{
    assert(least <= most);
    const char *text = ll_import_choice(import, key);
    *count = otherwise;
    if (!text)
        return true;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < least || value > most)
        return ll_complain(import->diags, (struct ll_place){0},
                           "-p %s=%s: expected a whole number from %" PRIu64 " to %" PRIu64, key, text, least,
                           most);
    *count = value;
    return true;
}

bool ll_import_no_memory(struct ll_import *import)
{
    import->status = LL_NO_MEMORY;
    return false;
}

/* Choices that no importer has asked for by now are refused: nobody would read them. */
bool ll_import_begin(struct ll_import *import)
{
    assert(!import->recorder && import->op_count == 0); /* once in an import */
    if (!refuse_choices(import->choices, import->choice_count, import->diags))
        return false;
    ll_facts_add(&import->facts, "native", "no");
    ll_facts_add(&import->facts, "leadline", "%s", LL_VERSION);
    if (import->facts.failed)
        return ll_import_no_memory(import);
    import->recorder =
        ll_recorder_open(import->output, import->facts.items, import->facts.count, &import->status);
    return import->recorder != NULL;
}

/* The trace is written beside its place and moved there only when the import is whole, so a failed one
 * leaves no file and keeps the one of before. */
bool ll_import_run(ll_importer *importer, struct ll_import *import)
{
    assert(import->output);
    const char *output = import->output, *part = ll_path_beside(&import->arena, output);
    import->facts = (struct ll_facts){.arena = &import->arena};
    import->output = part;
    bool done = part ? importer(import) : ll_import_no_memory(import);
    if (done && import->op_count == 0)
        done = ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                           "there is no op in it: nothing is computed or moved");
    if (import->recorder) {
        enum ll_status status = ll_recorder_close(import->recorder);
        import->status = import->status == LL_OK ? status : import->status;
        done = done && import->status == LL_OK;
    }
    if (part) {
        enum ll_status status = ll_path_keep(part, output, done && !ll_memory_ran_out());
        import->status = import->status == LL_OK ? status : import->status;
    }
    import->recorder = NULL;
    import->output = output;
    ll_arena_release(&import->arena);
    return done && import->status == LL_OK;
}

struct ll_imported ll_import_tensor(struct ll_import *import, const char *name, const struct ll_shape *shape,
                                    enum ll_memory_class memory)
{
    assert(import->recorder);
    assert(memory < LL_MEMORY_COUNT && shape->rank <= LL_MAX_RANK);
    uint32_t desc = ll_recorder_desc(import->recorder, name, shape, memory);
    return (struct ll_imported){desc == LL_NONE ? LL_NONE : ll_recorder_tensor(import->recorder, desc),
                                *shape};
}

/* Shapes side by side, as the rules want them: inputs, then room for outputs. */
struct sight {
    struct ll_op_view view;
    struct ll_shape *shapes;
    uint32_t *numbers; /* of inputs, then descs of outputs */
};

/* Lays the shapes of inputs and given outputs side by side in scratch memory, which the caller frees. While
 * recording, an input without a number means that an earlier tensor found no memory. */
static bool see(struct ll_import *import, const struct ll_import_op *op, bool recording, struct sight *sight)
{
    uint32_t outputs = op->given_count > LL_MAX_OUTPUTS ? op->given_count : LL_MAX_OUTPUTS;
    sight->shapes = calloc((size_t)op->in_count + outputs, sizeof *sight->shapes);
    sight->numbers = calloc((size_t)op->in_count + outputs, sizeof *sight->numbers);
    if (!sight->shapes || !sight->numbers)
        return ll_import_no_memory(import);
    for (uint32_t i = 0; i < op->in_count; i++) {
        sight->shapes[i] = op->in[i].shape;
        sight->numbers[i] = op->in[i].tensor;
        if (op->in[i].tensor == LL_NONE && recording) /* who was to make it found no memory */
            return ll_import_no_memory(import);
    }
    for (uint32_t i = 0; i < op->given_count; i++)
        sight->shapes[op->in_count + i] = op->given[i];
    sight->view = (struct ll_op_view){
        .kind = op->kind,
        .input_count = op->in_count,
        .output_count = op->given_count,
        .attr_count = op->attr_count,
        .in = sight->shapes,
        .out = sight->shapes + op->in_count,
        .attrs = op->attrs,
    };
    return true;
}

/* Asks the rules; what they refuse, or cannot count, is no op. */
static const char *judge(const struct ll_import_op *op, struct ll_op_view *view)
{
    const char *trouble = ll_op_infer(view);
    if (!trouble && op->dtype && view->output_count)
        view->out[0].dtype = (uint8_t)*op->dtype;
    if (!trouble && !ll_op_counts_fit(view))
        trouble = ll_status_text(LL_TOO_LARGE);
    return trouble;
}

/* Hands an op that the rules accepted to the recorder, and numbers its outputs. */
static void record(struct ll_import *import, const struct ll_import_op *op, const struct sight *sight,
                   struct ll_imported *out)
{
    const struct ll_op_view *view = &sight->view;
    uint32_t *descs = sight->numbers + op->in_count;
    for (uint32_t i = 0; i < view->output_count; i++)
        descs[i] = ll_recorder_desc(import->recorder, op->names && op->names[i] ? op->names[i] : "",
                                    &view->out[i], op->memory);
    const struct ll_record row = {
        .kind = op->kind,
        .phase = op->phase,
        .scope = ll_recorder_string(import->recorder, op->scope ? op->scope : ""),
        .thread = op->thread,
        .inputs = sight->numbers,
        .input_count = op->in_count,
        .outputs = descs,
        .output_count = view->output_count,
        .attrs = op->attrs,
        .attr_count = op->attr_count,
        .controls = op->controls,
        .control_count = op->control_count,
        .start_ns = op->start_ns,
        .duration_ns = op->duration_ns,
    };
    uint32_t first = ll_recorder_op(import->recorder, &row);
    import->op_count++;
    for (uint32_t i = 0; out && i < view->output_count; i++)
        out[i].tensor = first == LL_NONE ? LL_NONE : first + i;
}

/* Looks at the op, asks the rules, and records it if that is wanted and nothing is wrong. */
static const char *see_and_record(struct ll_import *import, const struct ll_import_op *op, bool recording,
                                  struct ll_imported *out)
{
    assert(op->kind < LL_OP_NONE && op->phase < LL_PHASE_COUNT);
    assert(op->attr_count <= LL_MAX_ATTRS);
    assert(!recording || import->recorder);
    struct sight sight = {0};
    const char *trouble = ll_status_text(LL_NO_MEMORY);
    if (see(import, op, recording, &sight))
        trouble = judge(op, &sight.view);
    if (!trouble && !ll_fits(ll_add(op->start_ns, op->duration_ns)))
        trouble = "its time does not fit in 64 bits";
    for (uint32_t i = 0; !trouble && out && i < sight.view.output_count; i++)
        out[i] = (struct ll_imported){LL_NONE, sight.view.out[i]};
    if (!trouble && recording && ll_recorder_status(import->recorder) == LL_OK)
        record(import, op, &sight, out);
    free(sight.shapes);
    free(sight.numbers);
    return trouble;
}

const char *ll_import_record(struct ll_import *import, const struct ll_import_op *op, struct ll_imported *out)
{
    return see_and_record(import, op, true, out);
}

const char *ll_import_look(struct ll_import *import, const struct ll_import_op *op, struct ll_imported *out)
{
    return see_and_record(import, op, false, out);
}

static const struct ll_op_schedule *schedule_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                      bool *timed);

const struct ll_op_schedule *ll_export_schedule(struct ll_export *export)
{
    bool timed = true;
    if (export->schedule)
        return export->schedule;
    const struct ll_op_schedule *recorded = schedule_recorded(export->trace, &export->arena, &timed);
    if (!recorded)
        export->status = LL_NO_MEMORY;
    else if (!timed)
        ll_complain(export->diags, (struct ll_place){0},
                    "the trace has no times; -c MACHINE writes those of a simulation");
    return timed ? recorded : NULL;
}

const char *ll_export_choice(struct ll_export *export, const char *key)
{
    assert(key && *key);
    return choose(export->choices, export->choice_count, key);
}

bool ll_export_ready(struct ll_export *export)
{
    return refuse_choices(export->choices, export->choice_count, export->diags);
}

static bool write_out(struct ll_export *export)
{
    for (size_t done = 0; done < export->out.length && export->status == LL_OK;) {
        errno = 0;
        ssize_t written = write(export->file, export->out.text + done, export->out.length - done);
        if (written > 0)
            done += (size_t)written;
        else if (errno != EINTR)
            export->status = ll_status_of(errno, LL_CANNOT_WRITE);
    }
    if (export->out.failed)
        export->status = LL_NO_MEMORY;
    ll_str_release(&export->out);
    return export->status == LL_OK;
}

bool ll_export_spill(struct ll_export *export)
{
    enum { LONG_BYTES = 1 << 20 };
    return export->out.length < LONG_BYTES && !export->out.failed ? export->status == LL_OK
                                                                  : write_out(export);
}

bool ll_export_run(ll_exporter *exporter, struct ll_export *export)
{
    assert(export->trace);
    bool done = exporter(export) && write_out(export);
    ll_str_release(&export->out);
    ll_arena_release(&export->arena);
    return done;
}

/* Steps of a file that marks none: what it repeats from its beginning to its end. */

/* border[i]: how long the longest beginning is that also ends at i, and is not all of it. */
uint64_t ll_period(const uint64_t *looks, uint64_t count)
{
    uint64_t *border = calloc(count + 1, sizeof *border), length = 0, period = count;
    if (!border)
        return count;
    for (uint64_t i = 1; i < count; i++) {
        while (length > 0 && looks[i] != looks[length])
            length = border[length - 1];
        assert(length < i + 1);
        length += looks[i] == looks[length];
        border[i] = length;
    }
    if (count > 0)
        period = count - border[count - 1];
    free(border);
    assert(period <= count); /* no border is longer than what it belongs to */
    assert(period <= count);
    return period <= count / 2 ? period : count;
}

static bool repeats(const uint64_t *looks, uint64_t count, uint64_t period)
{
    assert(period > 0);
    for (uint64_t i = period; i < count; i++)
        if (looks[i] != looks[i - period])
            return false;
    return true;
}

bool ll_period_of_steps(struct ll_import *import, const uint64_t *looks, uint64_t count, uint64_t *period,
                        bool *chosen)
{
    uint64_t steps;
    *chosen = ll_import_choice(import, "steps") != NULL;
    if (!ll_import_count(import, "steps", 1, UINT64_C(1) << 30, 1, &steps))
        return false;
    *period = *chosen ? count / steps : ll_period(looks, count);
    if (!*chosen || (count % steps == 0 && repeats(looks, count, *period)))
        return true;
    return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                       "-p steps=%" PRIu64 ": the %" PRIu64 " calls in it do not repeat themselves so often",
                       steps, count);
}

/* A trace as a timeline in Chrome's JSON. The first section finds the times, recorded or simulated. */

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

/* As recorded: a track for each thread, the op's own bytes as its traffic. */
static bool place_ops(const struct ll_trace *trace, struct ll_map *threads, struct ll_scheduled *ops,
                      double *bytes, bool *timed)
{
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op *op = &trace->ops[i];
        const struct ll_op_signature *signature = &trace->signatures[op->signature];
        uint32_t track = ll_map_intern(threads, &op->thread, sizeof op->thread, NULL);
        if (track == LL_NO_ID)
            return false;
        ops[i] = (struct ll_scheduled){
            .start_s = (double)op->start_ns * 1e-9, .time_s = (double)op->duration_ns * 1e-9, .track = track};
        bytes[i] = (double)signature->bytes_read + (double)signature->bytes_written;
        *timed = *timed || op->duration_ns > 0;
    }
    return true;
}

/* As recorded: a track for each thread, traffic as the ops' own bytes. NULL when memory ran out, or with
 * *timed false when nothing has a time. Lives in the arena. */
static const struct ll_op_schedule *schedule_recorded(const struct ll_trace *trace, struct ll_arena *arena,
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
    const struct ll_op_schedule *schedule; /* when ops run */
    const struct ll_deps *deps;
    uint64_t (*born)[LL_MEMORY_COUNT], (*dead)[LL_MEMORY_COUNT]; /* bytes, by op: with it, after it */
    uint64_t live[LL_MEMORY_COUNT];                              /* bytes alive now, by memory class */
    enum flows flows;
    uint64_t flow_count; /* arrows drawn so far: each has a number of its own */
    bool first;          /* no event is written yet */
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

static void put_shapes(struct ll_json *json, const char *key, const struct ll_shape *shapes, uint32_t count)
{
    struct ll_str text = {0};
    ll_shapes_text(shapes, count, &text);
    ll_json_put_text(json, key, text.text ? text.text : "");
    ll_str_release(&text);
}

static void write_op(struct timeline *t, uint32_t op)
{
    const struct ll_scheduled *at = placed(t, op);
    const struct ll_op_signature *signature = &t->trace->signatures[t->trace->ops[op].signature];
    struct ll_json json = begin(t, "X", t->trace->strings[signature->kind_name], at->track, at->start_s);
    ll_json_put_number(&json, "dur", (in_ns(at->start_s + at->time_s) - in_ns(at->start_s)) / 1e3);
    ll_json_put_text(&json, "cat", ll_phase_name(signature->phase));
    ll_json_key(&json, "args");
    ll_json_open_object(&json);
    ll_json_put_count(&json, "seq", op);
    ll_json_put_text(&json, "scope", t->trace->strings[signature->scope]);
    put_shapes(&json, "inputs", signature->view.in, signature->view.input_count);
    put_shapes(&json, "outputs", signature->view.out, signature->view.output_count);
    ll_json_put_count(&json, "flops", signature->flops);
    ll_json_put_count(&json, "bytes", ll_add(signature->bytes_read, signature->bytes_written));
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

/* Arrows to an op from those that it waits for; only between tracks unless all were asked for. */
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

/* Bytes alive by memory class, as counters that the viewer stacks. */
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
    const struct ll_liveness *lives = ll_trace_liveness(trace, &t->export->arena);
    t->born = ll_alloc(&t->export->arena, trace->op_count, sizeof *t->born);
    t->dead = ll_alloc(&t->export->arena, trace->op_count, sizeof *t->dead);
    if (!lives || !t->born || !t->dead)
        return false;
    for (uint64_t s = 0; s < trace->storage_count; s++) {
        const struct ll_liveness *life = &lives[s];
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
