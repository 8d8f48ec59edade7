/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's verbose logs: shapes and types of a problem (first section), lines, steps, and the import. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/hash.h"
#include "tracer/base/str.h"
#include "tracer/convert/convert.h"
#include "tracer/convert/onednn/onednn.h"

/* What the problem of a line says of shapes: 64x128:128x32:64x32, or extents by name, as in
 * mb1_ic3oc64_ih224. */

/* Names stand directly before their numbers; a name that is the end of a longer one (ic in dic) does not
 * count. */
uint64_t ll_dnnl_extent(const char *problem, const char *name, uint64_t otherwise)
{
    assert(problem && name);
    size_t length = strlen(name);
    while (*problem) {
        size_t letters = strcspn(problem, "0123456789_");
        size_t digits = strspn(problem + letters, "0123456789");
        if (letters == length && digits > 0 && strncmp(problem, name, length) == 0)
            return ll_min(strtoull(problem + letters, NULL, 10), UINT64_C(1) << 40);
        problem += letters + digits;
        problem += *problem == '_';
    }
    return otherwise;
}

/* The shape that stands here, as 64x128; of no elements' type. *end: behind it. False when there is none.
 * Pure. */
static bool dnnl_dims(const char *at, const char **end, struct ll_shape *shape)
{
    *shape = (struct ll_shape){0};
    while (*at >= '0' && *at <= '9' && shape->rank < LL_MAX_RANK) {
        char *behind;
        shape->dim[shape->rank++] = strtoull(at, &behind, 10);
        at = *behind == 'x' ? behind + 1 : behind;
    }
    *end = at;
    return shape->rank > 0;
}

static enum ll_dtype dnnl_dtype_at(const char *memory, size_t length);

bool ll_dnnl_logical(const struct ll_dnnl_line *line, bool out, unsigned i, struct ll_shape *shape)
{
    assert(line->memory);
    enum { DIMS = 4 }; /* in0_f32:0:strided:undef:1x16x384x64:393216s24576s64s1 */
    const char *at = line->memory, *end = NULL;
    for (unsigned left = i; *at; at += strspn(at, " ")) {
        bool wanted = strncmp(at, out ? "out" : "in", out ? 3 : 2) == 0;
        if (wanted && left-- == 0)
            break;
        at += strcspn(at, " ");
    }
    const enum ll_dtype dtype = *at ? dnnl_dtype_at(at, strcspn(at, " ")) : LL_DTYPE_COUNT;
    for (unsigned field = 0; field < DIMS && *at && *at != ' '; field++) {
        at += strcspn(at, ": ");
        at += *at == ':';
    }
    bool known = dtype != LL_DTYPE_COUNT && dnnl_dims(at, &end, shape);
    shape->dtype = (uint8_t)dtype;
    return known && (*end == ':' || *end == ' ' || *end == '\0') && ll_fits(ll_size_bytes(shape));
}

bool ll_dnnl_shape(const struct ll_dnnl_line *line, unsigned i, struct ll_shape *shape)
{
    const char *at = line->problem;
    if (line->dtype >= LL_DTYPE_COUNT)
        return false;
    for (; i > 0 && at; i--) {
        at = strchr(at, ':');
        at = at ? at + 1 : NULL;
    }
    bool known = at && dnnl_dims(at, &at, shape);
    shape->dtype = (uint8_t)line->dtype;
    return known && ll_fits(ll_size_bytes(shape));
}

/* Batch, channels and sides, of what comes in or goes out. */
static uint64_t image_elements(const char *problem, bool out)
{
    static const char *const sides[2][3] = {{"id", "ih", "iw"}, {"od", "oh", "ow"}};
    uint64_t channels = ll_dnnl_extent(problem, "ic", 1);
    uint64_t elements =
        ll_mul(ll_dnnl_extent(problem, "mb", 1), out ? ll_dnnl_extent(problem, "oc", channels) : channels);
    for (int i = 0; i < 3; i++)
        elements = ll_mul(elements, ll_dnnl_extent(problem, sides[out][i], 1));
    return elements;
}

/* Steps, samples and the width of what comes in, or of what the cells make. */
static uint64_t sequence_elements(const char *problem, bool out)
{
    uint64_t rows = ll_mul(ll_dnnl_extent(problem, "t", 1), ll_dnnl_extent(problem, "mb", 1));
    uint64_t made = ll_dnnl_extent(problem, "dhc", ll_dnnl_extent(problem, "dic", 1));
    return ll_mul(rows, out ? made : ll_dnnl_extent(problem, "slc", made));
}

/* Of a product in version 1, m64n32k128, rows of what comes in or goes out. */
static uint64_t product_elements(const char *problem, bool out)
{
    uint64_t rows = ll_mul(ll_dnnl_extent(problem, "b", 1), ll_dnnl_extent(problem, "m", 1));
    return ll_mul(rows, ll_dnnl_extent(problem, out ? "n" : "k", 1));
}

/* How many elements come in, weights aside, or go out, as far as the problem tells. Pure. */
static uint64_t dnnl_elements(const struct ll_dnnl_line *line, bool out)
{
    const char *problem = line->problem;
    struct ll_shape first, next;
    if (line->graph)
        return ll_dnnl_logical(line, out, 0, &first) ? ll_elements(&first) : 0;
    bool product = strcmp(line->primitive, "matmul") == 0;
    if (!ll_dnnl_shape(line, 0, &first)) {
        if (product)
            return product_elements(problem, out);
        return strcmp(line->primitive, "rnn") == 0 ? sequence_elements(problem, out)
                                                   : image_elements(problem, out);
    }
    uint64_t elements = ll_elements(&first);
    if (!out || !ll_dnnl_shape(line, 1, &next))
        return elements;
    if (product)
        return ll_mul(elements / ll_max(first.dim[first.rank - 1u], 1), next.dim[next.rank - 1u]);
    if (strcmp(line->primitive, "reduction") == 0)
        return ll_elements(&next);
    for (unsigned i = 1; ll_dnnl_shape(line, i, &next); i++)
        elements = ll_max(elements, ll_elements(&next));
    return elements;
}

/* oneDNN's verbose logs, versions 1 to 3: a line for each primitive that ran,
 *
 *   onednn_verbose,[v1,][time stamp,][primitive,]exec,cpu,convolution,jit:avx512_core,forward_training,
 *   src_f32::blocked:abcd:f0 wei_f32::...
 * ,attributes,alg:convolution_direct,mb1_ic3oc64_ih224oh112kh7...,8.7771
 *
 * the last field being milliseconds. A partition of a graph has a line, too,
 *
 *   onednn_verbose,v1,graph,exec,cpu,100002,sdp,names,in0_f32:0:strided:undef:1x16x384x64:... out0_f32:...
 * ,fpm:strict,kernel,dnnl_backend,1.2
 *
 * behind the lines of the primitives that it consists of, where its kernel has such. Other lines are
 * information, or the output of the program around it, and passed over. A log knows no tensors: weights are
 * those of the same line in each step, and every op waits for the one before it. */

enum { MOST_FIELDS = 24 };

/* What oneDNN calls a type of elements: the first one that some memory is of, as in src_f32::blocked:ab:f0,
 * before the end. */
static enum ll_dtype dtype_within(const char *memory, const char *end)
{
    static const struct {
        const char *name;
        enum ll_dtype dtype;
    } types[] = {{"f32", LL_F32},     {"f16", LL_F16},    {"bf16", LL_BF16},  {"f64", LL_F64},
                 {"s8", LL_INT8},     {"u8", LL_U8},      {"s32", LL_I32},    {"tf32", LL_TF32},
                 {"f8_e4m3", LL_F8},  {"f8_e5m2", LL_F8}, {"e8m0", LL_F8},    {"s4", LL_INT4},
                 {"u4", LL_INT4},     {"f4_e2m1", LL_F4}, {"f4_e3m0", LL_F4}, {"s64", LL_I64},
                 {"boolean", LL_BOOL}};
    for (const char *at = memory; at < end && *at; at += *at != '\0') {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            size_t length = strlen(types[i].name);
            if (strncmp(types[i].name, at, length) == 0 && strchr(": ", at[length]))
                return types[i].dtype;
        }
        at += strcspn(at, "_: ");
    }
    return LL_DTYPE_COUNT;
}

static enum ll_dtype dtype_of(const char *memory)
{
    return dtype_within(memory, memory + strlen(memory));
}

/* The type that the text of a memory, so long, begins with: src_f32::blocked:ab:f0. Pure. */
static enum ll_dtype dnnl_dtype_at(const char *memory, size_t length)
{
    return dtype_within(memory, memory + length);
}

/* What is there although nothing is known of its type: a guess would be another size. */
const char *ll_dnnl_unknown(const struct ll_dnnl_line *line)
{
    assert(line->memory);
    for (const char *at = line->memory; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        const char *undef = strstr(at, "undef");
        bool absent = undef && (size_t)(undef - at) < length && !line->graph;
        if (!absent && dtype_within(at, at + length) == LL_DTYPE_COUNT && memchr(at, ':', length))
            return at;
        at += length;
    }
    return NULL;
}

enum ll_dtype ll_dnnl_dtype(const struct ll_dnnl_line *line, const char *name, enum ll_dtype otherwise)
{
    assert(otherwise <= LL_DTYPE_COUNT);
    size_t length = strlen(name);
    for (const char *at = line->memory; *at; at += strspn(at, " ")) {
        size_t memory = strcspn(at, " ");
        enum ll_dtype dtype = LL_DTYPE_COUNT;
        if (strncmp(at, name, length) == 0 && (at[length] == '_' || at[length] == ':'))
            dtype = dtype_within(at, at + memory);
        if (dtype != LL_DTYPE_COUNT)
            return dtype;
        at += memory;
    }
    return otherwise;
}

/* Cuts the text of a line at its commas. */
static size_t cut(char *text, const char *fields[MOST_FIELDS])
{
    size_t count = 0;
    for (char *at = text; at && count < MOST_FIELDS; count++) {
        fields[count] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return count;
}

/* Whether the line is of a partition of a graph that ran: its logical tensors are the field that begins with
 * in0 or out0, behind its kind and names. */
static bool take_graph_apart(const char *const fields[MOST_FIELDS], size_t count, size_t exec,
                             struct ll_dnnl_line *line)
{
    enum { KIND = 3 };
    size_t tensors = exec + KIND + 1;
    while (tensors < count && strncmp(fields[tensors], "in0_", 4) != 0 &&
           strncmp(fields[tensors], "out0_", 5) != 0)
        tensors++;
    if (tensors + 1 >= count)
        return false;
    line->primitive = fields[exec + KIND];
    line->pass = line->attributes = line->extra = "";
    line->memory = line->problem = fields[tensors];
    line->dtype = dtype_of(line->memory);
    line->time = fields[count - 1];
    line->graph = true;
    return true;
}

/* Whether this is a line about a primitive that ran; then what it says. */
static bool take_apart(struct ll_dnnl_line *line)
{
    const char *fields[MOST_FIELDS];
    size_t count, exec = 1;
    if (strncmp(line->text, "onednn_verbose,", 15) != 0 && strncmp(line->text, "dnnl_verbose,", 13) != 0)
        return false;
    count = cut(line->text, fields);
    while (exec < count && strcmp(fields[exec], "exec") != 0)
        exec++;
    enum { ENGINE = 1, PRIMITIVE, IMPLEMENTATION, PASS, MEMORY, ATTRIBUTES };
    line->graph = false;
    if (exec < count && strcmp(fields[exec - 1], "graph") == 0)
        return take_graph_apart(fields, count, exec, line);
    if (exec + ATTRIBUTES + 3 >= count)
        return false;
    line->primitive = fields[exec + PRIMITIVE];
    line->pass = fields[exec + PASS];
    line->memory = fields[exec + MEMORY];
    line->attributes = fields[exec + ATTRIBUTES];
    line->extra = fields[count - 3];
    line->problem = fields[count - 2];
    line->dtype = dtype_of(line->memory);
    line->time = fields[count - 1];
    return true;
}

/* Whether the primitives before a partition's line are its own: products where it is one, as two are in an
 * attention, which took no more time than it did. Else it is the work itself. */
static bool was_told(const struct ll_dnnl_log *log)
{
    const char *kind = log->line.primitive;
    bool attends = strstr(kind, "sdp") || strstr(kind, "mha"), convolves = strstr(kind, "conv");
    uint64_t wanted = attends ? 2 : convolves || strstr(kind, "matmul") || strstr(kind, "mlp"), products = 0;
    double left_ms = ll_strtod(log->line.time, NULL);
    uint64_t i = log->ran_count;
    for (; i > 0 && log->ran[i - 1].time_ms <= left_ms; i--) {
        left_ms -= log->ran[i - 1].time_ms;
        products += log->ran[i - 1].product + 2 * (uint64_t)log->ran[i - 1].attention;
    }
    return i < log->ran_count && products >= wanted;
}

/* Keeps what ran, or forgets it behind a partition; whether the line is work of its own. */
static bool is_work(struct ll_dnnl_log *log)
{
    const struct ll_dnnl_line *line = &log->line;
    bool product = strstr(line->primitive, "conv") || strcmp(line->primitive, "matmul") == 0 ||
                   strcmp(line->primitive, "inner_product") == 0;
    if (line->graph) {
        bool told = was_told(log);
        log->ran_count = 0;
        log->passed_over += told;
        return !told;
    }
    if (ll_grow(&log->ran, &log->ran_capacity, log->ran_count + 1, sizeof *log->ran))
        log->ran[log->ran_count++] =
            (struct ll_dnnl_ran){ll_strtod(line->time, NULL), product, strcmp(line->primitive, "sdpa") == 0};
    return true;
}

/* The next line about work; false at the end. Lines that are too long are none. */
static bool next_line(struct ll_dnnl_log *log)
{
    const uint64_t size = log->import->inputs[0].size;
    while (log->at < log->end) {
        size_t left = (size_t)(log->end - log->at);
        const char *newline = memchr(log->at, '\n', left);
        size_t length = newline ? (size_t)(newline - log->at) : left;
        const char *text = log->at;
        log->at += length + (newline != NULL);
        log->line.number = ++log->lines;
        if (length > 0 && text[length - 1] == '\r')
            length--;
        if (length >= LL_DNNL_LONGEST_LINE || memchr(text, '\0', length))
            continue;
        memcpy(log->line.text, text, length);
        log->line.text[length] = '\0';
        ll_import_progress(log->import, log->import->recorder ? "recording" : "reading",
                           size - (uint64_t)(log->end - log->at), size);
        if (take_apart(&log->line) && is_work(log))
            return true;
    }
    return false;
}

static void rewind_log(struct ll_dnnl_log *log)
{
    log->at = (const char *)log->import->inputs[0].bytes;
    log->end = log->at + log->import->inputs[0].size;
    log->lines = log->ran_count = log->passed_over = 0;
}

/* Whether what a stretch makes could be what it begins with: equal layers of a network repeat as steps do,
 * and a log tells nothing of weights. What goes forwards and backwards is no layer by itself. */
static bool may_feed_itself(const struct ll_dnnl_look *looks, uint64_t period)
{
    bool forward = false, backward = false;
    uint64_t first = 0, last = period;
    for (uint64_t i = 0; i < period; i++) {
        forward = forward || !(looks[i].backward || looks[i].moves);
        backward = backward || looks[i].backward;
    }
    while (first < period && looks[first].moves)
        first++;
    while (last > first && looks[last - 1].moves)
        last--;
    return first == last || (!(forward && backward) && looks[first].in == looks[last - 1].out);
}

/* Looks at all lines: their hashes for what repeats, and their sizes. */
static bool look_around(struct ll_dnnl_log *log, uint64_t **hashes, struct ll_dnnl_look **looks,
                        uint64_t *count)
{
    uint64_t hash_capacity = 0, look_capacity = 0;
    rewind_log(log);
    for (*count = 0; next_line(log); ++*count) {
        const struct ll_dnnl_line *line = &log->line;
        if (!ll_grow(hashes, &hash_capacity, *count + 1, sizeof **hashes) ||
            !ll_grow(looks, &look_capacity, *count + 1, sizeof **looks))
            return ll_import_no_memory(log->import);
        uint64_t hash = ll_hash_text(ll_hash_text(LL_HASH_START, line->primitive), line->pass);
        (*hashes)[*count] = ll_hash_text(hash, line->problem);
        (*looks)[*count] = (struct ll_dnnl_look){.in = dnnl_elements(line, false),
                                                 .out = dnnl_elements(line, true),
                                                 .backward = ll_dnnl_backward(line),
                                                 .moves = strcmp(line->primitive, "reorder") == 0};
    }
    return *count > 0 ||
           ll_complain(log->import->diags, (struct ll_place){.file = log->import->inputs[0].path},
                       "no line of it is about a primitive that ran (onednn_verbose,...exec,...)");
}

/* How many primitives a step has: as the choice `steps` says, or what repeats and is no layer. */
static bool find_period(struct ll_dnnl_log *log, bool *trains)
{
    uint64_t *hashes = NULL, count = 0;
    struct ll_dnnl_look *looks = NULL;
    bool chosen = false, right = look_around(log, &hashes, &looks, &count) &&
                                 ll_period_of_steps(log->import, hashes, count, &log->period, &chosen);
    for (uint64_t i = 0; right && i < count; i++)
        *trains = *trains || looks[i].backward;
    if (right && !chosen && log->period < count && may_feed_itself(looks, log->period))
        log->period = count;
    free(hashes);
    free(looks);
    return right;
}

static const char *record_line(struct ll_dnnl_log *log)
{
    char *end;
    double time_ms = ll_strtod(log->line.time, &end);
    if (end == log->line.time || end[strspn(end, " \t")] != '\0' || !(time_ms >= 0))
        return "expected the time it took in the last field: a number of milliseconds";
    log->series.duration_ns = ll_series_ns(time_ms * 1e6);
    const char *trouble = ll_dnnl_record(log);
    if (trouble && log->import->allow_opaque)
        trouble = ll_series_record(&log->series, &(struct ll_import_op){.kind = LL_OP_OPAQUE}, NULL);
    return trouble;
}

static void record_all(struct ll_dnnl_log *log)
{
    rewind_log(log);
    for (log->primitives = 0; next_line(log); log->primitives++) {
        if (log->primitives > 0 && log->primitives % log->period == 0)
            ll_recorder_step_begin(log->import->recorder);
        log->series.scope = log->line.primitive;
        log->series.phase = ll_dnnl_backward(&log->line) ? LL_PHASE_BACKWARD : LL_PHASE_FORWARD;
        const char *trouble = record_line(log);
        struct ll_place place = {.file = log->import->inputs[0].path, .line = log->line.number};
        if (trouble)
            ll_complain(log->import->diags, place, "%s: %s", log->line.primitive, trouble);
    }
}

/* Samples a step: what the first convolution, inner product or network takes. */
static uint64_t find_batch(struct ll_dnnl_log *log)
{
    uint64_t batch = 0;
    rewind_log(log);
    while (batch == 0 && next_line(log))
        batch = ll_dnnl_extent(log->line.problem, "mb", 0);
    return ll_max(batch, 1);
}

/* Time that a partition took beside its primitives is in none of them. */
static void note_passed_over(struct ll_dnnl_log *log)
{
    if (log->passed_over > 0 && log->import->notes)
        ll_complain(log->import->notes, (struct ll_place){.file = log->import->inputs[0].path},
                    "%" PRIu64
                    " line%s of graphs passed over: the primitives before have told what is in them",
                    log->passed_over, log->passed_over == 1 ? "" : "s");
}

static bool begin(struct ll_dnnl_log *log, bool trains)
{
    struct ll_import *import = log->import;
    const char *model = ll_import_choice(import, "model");
    uint64_t batch;
    if (!ll_import_count(import, "batch", 1, UINT64_C(1) << 30, find_batch(log), &batch))
        return false;
    ll_facts_add(&import->facts, "model", "%s", model ? model : "onednn");
    ll_facts_add(&import->facts, "mode", "%s", trains ? "train" : "infer");
    ll_facts_add(&import->facts, "batch", "%" PRIu64, batch);
    ll_facts_add(&import->facts, "source", "oneDNN verbose log");
    return ll_import_begin(import);
}

/* Two passes: the first finds what repeats (steps), the second records. */
bool ll_import_ONEDNN(struct ll_import *import)
{
    struct ll_dnnl_log *log = ll_alloc(&import->arena, 1, sizeof *log);
    size_t before = import->diags->count;
    bool trains = false;
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one log");
    if (!log)
        return ll_import_no_memory(import);
    *log = (struct ll_dnnl_log){.import = import, .series = {.import = import, .clock_ns = 1}};
    bool right = find_period(log, &trains);
    log->weights = right ? ll_alloc(&import->arena, log->period, sizeof *log->weights) : NULL;
    if (right && !log->weights)
        right = ll_import_no_memory(import);
    if (right && (right = begin(log, trains))) {
        record_all(log);
        note_passed_over(log);
    }
    free(log->ran);
    return right && import->diags->count == before;
}
