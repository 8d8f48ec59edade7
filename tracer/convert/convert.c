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
           ll_complain(
               import->diags, (struct ll_place){0},
               "-p dtype=%s: expected a type of elements: f64, f32, tf32, f16, bf16, f8, f4, i64, i32, "
               "i16, int8, int4, int2, u8, bool, c64 or c128",
               name);
}

const char *ll_import_stem(struct ll_import *import, const char *otherwise)
{
    assert(import->input_count > 0);
    const char *base = ll_base_name(import->inputs[0].path);
    const char *stem = ll_copy_text(&import->arena, base, strcspn(base, "."));
    return stem && stem[0] ? stem : otherwise;
}

#define MOST_BYTES (UINT64_C(1) << 34)
#define ONNX_SPARSE (UINT64_C(1) << 20)       /* networks from here on are read without their weights */
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
    enum ll_status status;
    if (file && (uint64_t)there.st_size >= ONNX_SPARSE && (uint64_t)there.st_size <= MOST_BYTES &&
        ll_onnx_open(path, arena, input, &status))
        return status;
    status = ll_read_whole(path, file ? MOST_BYTES : MOST_STREAM_BYTES, arena, &whole);
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

void ll_import_progress(struct ll_import *import, const char *pass, uint64_t done, uint64_t count)
{
    enum { PARTS_A_LOOK = 256 }; /* a look at the clock takes as long as a small part */
    assert(done <= count && count > 0);
    if (import->progress && import->looks++ % PARTS_A_LOOK == 0)
        import->progress(import->context, pass, (double)done / (double)count);
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

/* When the ops of a trace ran. */

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

/* What is known of a recorded op: when it ran on which thread, and its own bytes. */
struct recorded {
    const struct ll_trace *trace;
    const uint32_t *tracks; /* by op */
};

static void recorded_at(const struct ll_op_schedule *schedule, uint32_t op, struct ll_scheduled *scheduled)
{
    const struct recorded *recorded = schedule->context;
    const struct ll_op *ran = &recorded->trace->ops[op];
    const struct ll_op_signature *signature = &recorded->trace->signatures[ran->signature];
    scheduled->start_s = (double)ran->start_ns * 1e-9;
    scheduled->time_s = scheduled->active_s = (double)ran->duration_ns * 1e-9;
    scheduled->track = recorded->tracks[op];
    scheduled->level_bytes[0] = (double)signature->bytes_read + (double)signature->bytes_written;
}

/* A track for each thread. NULL when memory ran out; *timed: some op has a time. */
static const uint32_t *find_threads(const struct ll_trace *trace, struct ll_map *threads,
                                    struct ll_arena *arena, bool *timed)
{
    uint32_t *tracks = ll_alloc(arena, trace->op_count, sizeof *tracks);
    for (uint64_t i = 0; tracks && i < trace->op_count; i++) {
        tracks[i] = ll_map_intern(threads, &trace->ops[i].thread, sizeof trace->ops[i].thread, NULL);
        if (tracks[i] == LL_NO_ID)
            return NULL;
        *timed = *timed || trace->ops[i].duration_ns > 0;
    }
    return tracks;
}

/* As recorded: a track for each thread, traffic as the ops' own bytes. NULL when memory ran out, or with
 * *timed false when nothing has a time. Lives in the arena. */
static const struct ll_op_schedule *schedule_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                      bool *timed)
{
    static const char *const levels[] = {"memory"};
    struct ll_map threads = {0};
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    struct recorded *recorded = ll_alloc(arena, 1, sizeof *recorded);
    *timed = false;
    const uint32_t *tracks = find_threads(trace, &threads, arena, timed);
    const char **names = tracks ? name_threads(&threads, arena) : NULL;
    uint32_t track_count = threads.count;
    ll_map_release(&threads);
    if (!schedule || !recorded || !names)
        return NULL;
    *recorded = (struct recorded){trace, tracks};
    *schedule = (struct ll_op_schedule){.process_count = 1,
                                        .tracks = names,
                                        .track_count = track_count,
                                        .op_count = (uint32_t)trace->op_count,
                                        .level_count = 1,
                                        .levels = levels,
                                        .static_w = NAN,
                                        .at = recorded_at,
                                        .context = recorded};
    return schedule;
}
