/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of formats.def, and the ways in and out that all of them go. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/convert/convert.h"

#include "tracer/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    return choose(import->choices, import->choice_count, key);
}

bool ll_import_count(struct ll_import *import, const char *key, uint64_t least, uint64_t most,
                     uint64_t otherwise, uint64_t *count)
{
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

bool ll_import_begin(struct ll_import *import)
{
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

bool ll_import_run(ll_importer *importer, struct ll_import *import)
{
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

static const char *see_and_record(struct ll_import *import, const struct ll_import_op *op, bool recording,
                                  struct ll_imported *out)
{
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

const struct ll_op_schedule *ll_export_schedule(struct ll_export *export)
{
    bool timed = true;
    if (export->schedule)
        return export->schedule;
    const struct ll_op_schedule *recorded = ll_schedule_recorded(export->trace, &export->arena, &timed);
    if (!recorded)
        export->status = LL_NO_MEMORY;
    else if (!timed)
        ll_complain(export->diags, (struct ll_place){0},
                    "the trace has no times; -c MACHINE writes those of a simulation");
    return timed ? recorded : NULL;
}

const char *ll_export_choice(struct ll_export *export, const char *key)
{
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
