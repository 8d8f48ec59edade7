/* SPDX-License-Identifier: Apache-2.0 */
/* Recording ops. The first section takes notes of ops as they come, the second measures what recording costs,
 * the third digests the notes between steps: it interns, encodes and writes. */
#include "tracer/record/recorder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "tracer/format/format.h"
#include "tracer/format/timeline_parts.h"
#include "tracer/record/encode.h"

enum { FIRST_CAPACITY = 1 << 16 };

bool ll_notes_grow(struct ll_notes *notes, uint64_t bytes)
{
    assert(notes->size <= notes->capacity);
    return ll_grow(&notes->bytes, &notes->capacity, ll_max(ll_add(notes->size, bytes), FIRST_CAPACITY), 1);
}

/* Before the first note: room for some, which the system has really given, as that takes longer than a small
 * op. False when memory ran out. */
static bool prepare_notes(struct ll_notes *notes)
{
    if (notes->capacity)
        return true;
    if (!ll_notes_grow(notes, FIRST_CAPACITY))
        return false;
    memset(notes->bytes, 0, FIRST_CAPACITY);
    return true;
}

static unsigned char *put(unsigned char *to, const void *items, uint64_t size)
{
    if (size)
        memcpy(to, items, size);
    return to + size;
}

bool ll_notes_copy(struct ll_notes *notes, const struct ll_record *record)
{
    uint64_t bytes = ll_note_bytes(record);
    if (notes->capacity - notes->size < bytes && !ll_notes_grow(notes, bytes))
        return false;
    unsigned char *to = put(notes->bytes + notes->size, record, sizeof *record);
    to = put(to, record->attrs, sizeof(struct ll_attr) * record->attr_count);
    to = put(to, record->inputs, sizeof(uint32_t) * record->input_count);
    to = put(to, record->outputs, sizeof(uint32_t) * record->output_count);
    put(to, record->controls, sizeof(uint32_t) * record->control_count);
    notes->size += bytes;
    return true;
}

bool ll_notes_next(const struct ll_notes *notes, uint64_t *place, struct ll_record *record, uint32_t *step)
{
    assert(*place <= notes->size);
    if (*place >= notes->size)
        return false;
    const struct ll_note *note = (const void *)(notes->bytes + *place);
    *step = (uint32_t)note->step;
    *place += sizeof *note;
    const struct ll_record *copy = (const void *)(note + 1);
    *record = note->lasting ? *note->lasting : *copy;
    record->start_ns -= ll_min(note->paused_ns, record->start_ns);
    if (note->lasting)
        return true;
    record->attrs = (const void *)(copy + 1);
    record->inputs = (const void *)(record->attrs + record->attr_count);
    record->outputs = record->inputs + record->input_count;
    record->controls = record->outputs + record->output_count;
    *place += ll_note_bytes(record);
    return true;
}

void ll_notes_clear(struct ll_notes *notes)
{
    notes->size = notes->count = notes->lasting = 0;
}

void ll_notes_release(struct ll_notes *notes)
{
    free(notes->bytes);
    *notes = (struct ll_notes){0};
}

enum { SAMPLE_SPREAD = 8 };

/* No short call takes so long: the thread was interrupted, which is no cost of recording. */
#define INTERRUPTED_NS 20000u

/* 4 to 11 calls: a linear congruential generator (Knuth's MMIX), of which the high bits are good. */
static uint64_t next_distance(struct ll_meter *meter)
{
    meter->dice = meter->dice * 6364136223846793005u + 1442695040888963407u;
    return SAMPLE_SPREAD / 2 + (meter->dice >> 32) % SAMPLE_SPREAD;
}

/* What reading the clock takes, measured by whoever comes first: the mean of many readings but for those that
 * were interrupted, since clocks count in steps of ten nanoseconds and more. */
static uint64_t clock_ns;
static once_flag clock_measured = ONCE_FLAG_INIT;

static void measure_clock(void)
{
    enum { READINGS = 200 };
    uint64_t spent_ns[READINGS], smallest = UINT64_MAX, sum = 0, count = 0;
    for (int i = 0; i < READINGS; i++) {
        uint64_t begin_ns = ll_now_ns();
        spent_ns[i] = ll_now_ns() - begin_ns;
        smallest = ll_min(smallest, spent_ns[i]);
    }
    for (int i = 0; i < READINGS; i++)
        if (spent_ns[i] <= 2 * smallest) {
            sum += spent_ns[i];
            count++;
        }
    assert(count > 0);
    clock_ns = sum / count;
}

void ll_meter_start(struct ll_meter *meter)
{
    call_once(&clock_measured, measure_clock);
    *meter = (struct ll_meter){.clock_ns = clock_ns};
    meter->until_sample = next_distance(meter);
}

static uint64_t since(const struct ll_meter *meter, uint64_t begin_ns)
{
    uint64_t spent_ns = ll_now_ns() - begin_ns;
    return spent_ns > meter->clock_ns ? spent_ns - meter->clock_ns : 0;
}

void ll_meter_sample(struct ll_meter *meter, const struct ll_meter_mark *mark)
{
    uint64_t spent_ns = since(meter, mark->begin_ns), long_ns = meter->long_ns - mark->long_ns;
    uint64_t short_ns = spent_ns > long_ns ? spent_ns - long_ns : 0;
    meter->until_sample = next_distance(meter);
    if (short_ns > INTERRUPTED_NS)
        return;
    meter->sampled_ns += short_ns;
    meter->samples++;
}

void ll_meter_long(struct ll_meter *meter, uint64_t begin_ns)
{
    assert(begin_ns <= ll_now_ns());
    meter->long_ns += since(meter, begin_ns);
}

double ll_meter_mean_ns(const struct ll_meter *meter)
{
    return meter->samples ? (double)meter->sampled_ns / (double)meter->samples : meter->usual_ns;
}

/* Begins the samples anew, for the mean of what follows. */
static void meter_renew(struct ll_meter *meter)
{
    meter->usual_ns = ll_meter_mean_ns(meter);
    meter->sampled_ns = meter->samples = 0;
}

/* An op is first noted as it came (tracer/record/recorder.h) and made sense of later, between steps or when
 * there are many: then the tables are warm, and the op that was recorded does not wait for them.
 *
 * A training loop repeats itself, hence the guess: the op after the one that came last is probably the op
 * that came after it the time before. A ring remembers the signature and links of the last 64 Ki ops; a
 * cursor moves along with the recording. A right guess costs two comparisons; a wrong one two look-ups by
 * hash, after which the cursor jumps to where that signature was seen last with these links, or else with
 * any. */

enum {
    FLUSH_OPS = 16384,
    NOTES_MOST = 4096,
    NOTES_MOST_BYTES = 1 << 20,
    FLUSH_DEFINITIONS = 16384,
    FLUSH_REFS = 1 << 20,
    FLUSH_TEXT_BYTES = 1 << 20,
    HISTORY = 65536,
    CLOCK_EVERY = 1024 /* ops between looks at the clock when ops carry no times */
};
#define FLUSH_STEP_NS 100000000u
#define FLUSH_OP_NS 1000000000u

/* What an op was: enough to say it again. */
struct seen {
    uint32_t signature, edges;
};

struct ll_recorder {
    /* What taking a note touches, side by side: a computed op leaves all of it cold. */
    enum ll_status status;
    uint32_t step_number;
    bool in_step, timed;             /* whether any op of the present step has a time */
    bool foreign_clock;              /* the ops' times are not those of ll_now_ns */
    bool reads_clock;                /* the caller reads ll_now_ns twice an op */
    uint64_t op_count, tensor_count; /* noted ones included */
    uint64_t origin_ns, last_write_ns, first_start_ns, last_end_ns;
    struct ll_notes notes;
    struct ll_meter meter;

    struct ll_writer *writer; /* NULL: into memory */
    struct ll_trace *made;    /* in memory: the trace, of which there are but facts before the end */
    uint64_t fact_capacity;   /* of it */
    struct ll_tables tables;
    struct ll_waiting_ops rows;
    struct ll_written written;
    uint64_t waiting_text_bytes; /* of strings that are not written */
    struct ll_bytes content;

    struct seen *history; /* of the last HISTORY ops, as far as there were so many */
    uint64_t history_capacity, cursor;
    uint64_t *signature_at, *links_at; /* the op that had this signature last; these links */
    uint64_t signature_capacity, links_capacity;

    struct ll_step *steps; /* those that are not written */
    uint64_t waiting_steps, step_capacity, written_steps, weighed_steps;
    struct ll_step step;
    uint64_t step_begin_ns;
    uint64_t calls_before, long_ns_before; /* the meter at the beginning of the step */
};

__attribute__((cold)) static uint32_t stop(struct ll_recorder *recorder, enum ll_status status)
{
    recorder->status = status;
    return LL_NONE;
}

/* Frames. */

static void add_frame(struct ll_recorder *recorder, uint64_t op_count_in_frame, uint64_t weight)
{
    ll_writer_add(recorder->writer, &recorder->content, op_count_in_frame, weight);
    recorder->content.size = 0;
}

static bool has_definitions(const struct ll_recorder *recorder)
{
    const struct ll_tables *tables = &recorder->tables;
    const struct ll_written *written = &recorder->written;
    return tables->strings.count > written->strings || tables->descs.count > written->descs ||
           tables->signatures.count > written->signatures || tables->edges.count > written->edges;
}

static void add_definitions(struct ll_recorder *recorder)
{
    struct ll_tables *tables = &recorder->tables;
    uint64_t weight = ll_encode_definitions(&recorder->content, tables, &recorder->written);
    add_frame(recorder, 0, weight);
    recorder->written = (struct ll_written){tables->strings.count, tables->descs.count,
                                            tables->signatures.count, tables->edges.count};
    recorder->waiting_text_bytes = 0;
}

/* A step counts with the frame that first names it, be that of an op. */
static uint64_t weigh_steps(struct ll_recorder *recorder, uint64_t reached)
{
    uint64_t more = ll_max(reached, recorder->weighed_steps) - recorder->weighed_steps;
    recorder->weighed_steps += more;
    return more * LL_WEIGHT_STEP;
}

static void add_ops(struct ll_recorder *recorder)
{
    struct ll_waiting_ops *rows = &recorder->rows;
    uint64_t weight = ll_encode_ops(&recorder->content, &recorder->tables, rows);
    weight += rows->count ? weigh_steps(recorder, rows->ops[rows->count - 1].step + UINT64_C(1)) : 0;
    add_frame(recorder, rows->count, weight);
    rows->first_op += rows->count;
    rows->first_tensor = recorder->tables.tensor_count;
    rows->count = rows->refs = rows->brought_before.count = rows->brought_desc.count = 0;
}

/* Steps all of whose ops have been encoded. */
static void add_steps(struct ll_recorder *recorder)
{
    uint64_t count = 0;
    while (count < recorder->waiting_steps &&
           recorder->steps[count].first_op + (uint64_t)recorder->steps[count].op_count <=
               recorder->rows.first_op)
        count++;
    if (count == 0)
        return;
    ll_encode_steps(&recorder->content, LL_FRAME_STEPS, recorder->steps, recorder->written_steps, count);
    recorder->written_steps += count;
    add_frame(recorder, 0, weigh_steps(recorder, recorder->written_steps));
    recorder->waiting_steps -= count;
    memmove(recorder->steps, recorder->steps + count, recorder->waiting_steps * sizeof *recorder->steps);
}

/* What is made sense of already: ops, what they need before them, steps behind them. */
static void add_digested(struct ll_recorder *recorder)
{
    if (has_definitions(recorder))
        add_definitions(recorder);
    if (recorder->rows.count || recorder->rows.brought_desc.count)
        add_ops(recorder);
    add_steps(recorder);
}

static void write_frames(struct ll_recorder *recorder)
{
    recorder->status = ll_writer_flush(recorder->writer);
    recorder->last_write_ns = ll_now_ns();
}

/* Making sense of notes. */

static struct seen look_up(struct ll_recorder *recorder, const struct ll_record *record,
                           uint32_t first_output, uint32_t op)
{
    enum ll_status status;
    struct ll_tables *tables = &recorder->tables;
    struct seen seen = {ll_tables_signature(tables, record, &status), LL_NO_ID};
    if (seen.signature != LL_NO_ID)
        seen.edges = ll_tables_links(tables, record, first_output, op, &status);
    if (seen.edges != LL_NO_ID && !(ll_grow(&recorder->signature_at, &recorder->signature_capacity,
                                            tables->signatures.count, sizeof *recorder->signature_at) &&
                                    ll_grow(&recorder->links_at, &recorder->links_capacity,
                                            tables->edges.count, sizeof *recorder->links_at))) {
        status = LL_NO_MEMORY;
        seen.edges = LL_NO_ID;
    }
    if (seen.edges == LL_NO_ID)
        stop(recorder, status);
    return seen;
}

/* Where such an op was last; this op when it never was. */
static uint64_t place_of(const struct ll_recorder *recorder, struct seen seen, bool old_signature,
                         bool old_links, uint64_t op)
{
    uint64_t at = old_links ? recorder->links_at[seen.edges] : op;
    if (at != op && recorder->history[at % HISTORY].signature == seen.signature)
        return at;
    return old_signature ? recorder->signature_at[seen.signature] : op;
}

/* The guess, or the look-up. Leaves the cursor where the next op is guessed. */
static struct seen recognise(struct ll_recorder *recorder, const struct ll_record *record,
                             uint32_t first_output, uint32_t op)
{
    const struct ll_tables *tables = &recorder->tables;
    const uint64_t guessed = recorder->cursor++ % HISTORY;
    struct seen guess = {0, 0};
    if (guessed < op)
        guess = recorder->history[guessed];
    if (tables->edges.count > 0 && ll_tables_has_signature(tables, guess.signature, record) &&
        ll_tables_has_links(tables, guess.edges, record, first_output, op))
        return guess;
    uint32_t signatures = tables->signatures.count, edges = tables->edges.count;
    struct seen seen = look_up(recorder, record, first_output, op);
    if (seen.edges != LL_NO_ID)
        recorder->cursor = place_of(recorder, seen, seen.signature < signatures, seen.edges < edges, op) + 1;
    return seen;
}

static bool add_row(struct ll_recorder *recorder, const struct ll_record *record, uint32_t step,
                    struct seen seen)
{
    struct ll_waiting_ops *rows = &recorder->rows;
    if (!ll_tables_add_tensors(&recorder->tables, record->outputs, record->output_count, 0) ||
        (rows->count == rows->capacity &&
         !ll_grow(&rows->ops, &rows->capacity, rows->count + 1, sizeof *rows->ops)))
        return false;
    uint64_t start_ns = record->start_ns > recorder->origin_ns ? record->start_ns - recorder->origin_ns : 0;
    rows->ops[rows->count++] = (struct ll_waiting_op){.signature = seen.signature,
                                                      .edges = seen.edges,
                                                      .step = step,
                                                      .thread = record->thread,
                                                      .start_ns = start_ns,
                                                      .duration_ns = record->duration_ns};
    rows->refs += (uint64_t)record->input_count + record->output_count + record->control_count;
    return true;
}

/* In memory all waits until the end. */
static bool rows_are_due(const struct ll_recorder *recorder)
{
    if (recorder->made)
        return false;
    const struct ll_waiting_ops *rows = &recorder->rows;
    const struct ll_tables *tables = &recorder->tables;
    uint64_t new_definitions = (uint64_t)(tables->signatures.count - recorder->written.signatures) +
                               (tables->edges.count - recorder->written.edges) +
                               (tables->descs.count - recorder->written.descs);
    return rows->count == FLUSH_OPS || new_definitions >= FLUSH_DEFINITIONS || rows->refs >= FLUSH_REFS;
}

static void digest_one(struct ll_recorder *recorder, const struct ll_record *record, uint32_t step)
{
    uint64_t op = recorder->rows.first_op + recorder->rows.count;
    struct seen seen = recognise(recorder, record, (uint32_t)recorder->tables.tensor_count, (uint32_t)op);
    if (seen.edges == LL_NO_ID)
        return;
    const uint64_t known = ll_min(op + 1, HISTORY);
    bool room = known <= recorder->history_capacity ||
                ll_grow(&recorder->history, &recorder->history_capacity, known, sizeof *recorder->history);
    if (!room || !add_row(recorder, record, step, seen)) {
        stop(recorder, LL_NO_MEMORY);
        return;
    }
    recorder->history[op % HISTORY] = seen;
    recorder->signature_at[seen.signature] = op;
    recorder->links_at[seen.edges] = op;
    if (!rows_are_due(recorder))
        return;
    add_digested(recorder);
    write_frames(recorder);
}

__attribute__((cold)) static void digest(struct ll_recorder *recorder)
{
    struct ll_record record;
    uint32_t step;
    for (uint64_t place = 0;
         recorder->status == LL_OK && ll_notes_next(&recorder->notes, &place, &record, &step);)
        digest_one(recorder, &record, step);
    ll_notes_clear(&recorder->notes);
}

__attribute__((cold)) static void digest_timed(struct ll_recorder *recorder)
{
    uint64_t begin_ns = ll_now_ns();
    digest(recorder);
    ll_meter_long(&recorder->meter, begin_ns);
}

static void add_waiting(struct ll_recorder *recorder)
{
    digest(recorder);
    if (recorder->status == LL_OK && recorder->writer)
        add_digested(recorder);
}

__attribute__((cold)) static void flush(struct ll_recorder *recorder)
{
    uint64_t begin_ns = ll_now_ns();
    if (recorder->status == LL_OK)
        add_waiting(recorder);
    if (recorder->status == LL_OK && recorder->writer)
        write_frames(recorder);
    else
        recorder->last_write_ns = begin_ns;
    ll_meter_long(&recorder->meter, begin_ns);
}

void ll_recorder_flush(struct ll_recorder *recorder)
{
    if (recorder->status == LL_OK)
        flush(recorder);
}

/* The trace in memory has them at once. */
static void keep_facts(struct ll_recorder *recorder, const struct ll_fact *facts, size_t count)
{
    struct ll_trace *made = recorder->made;
    bool room =
        ll_grow(&made->facts, &recorder->fact_capacity, made->fact_count + count, sizeof *made->facts);
    for (size_t i = 0; room && i < count; i++) {
        const struct ll_fact fact = {ll_copy_text(&made->arena, facts[i].key, strlen(facts[i].key)),
                                     ll_copy_text(&made->arena, facts[i].value, strlen(facts[i].value))};
        room = fact.key && fact.value;
        made->facts[made->fact_count] = fact;
        made->fact_count += room;
    }
    if (!room)
        stop(recorder, LL_NO_MEMORY);
}

void ll_recorder_facts(struct ll_recorder *recorder, const struct ll_fact *facts, size_t fact_count)
{
    if (recorder->status != LL_OK)
        return;
    if (recorder->made) {
        keep_facts(recorder, facts, fact_count);
        return;
    }
    add_waiting(recorder);
    uint64_t weight = ll_encode_facts(&recorder->content, facts, fact_count);
    add_frame(recorder, 0, weight);
}

void ll_recorder_timeline(struct ll_recorder *recorder, const struct ll_device_timeline *timeline)
{
    struct ll_timeline_done done = {0};
    assert(recorder->writer);
    assert(!ll_timeline_check(timeline));
    if (recorder->status == LL_OK)
        add_waiting(recorder);
    while (recorder->status == LL_OK && !ll_timeline_is_done(timeline, &done)) {
        uint64_t weight = ll_encode_timeline(&recorder->content, timeline, &done);
        add_frame(recorder, 0, weight);
    }
}

/* Opening and closing. */

static void free_recorder(struct ll_recorder *recorder)
{
    ll_notes_release(&recorder->notes);
    ll_tables_release(&recorder->tables);
    ll_waiting_ops_release(&recorder->rows);
    ll_bytes_release(&recorder->content);
    free(recorder->history);
    free(recorder->signature_at);
    free(recorder->links_at);
    free(recorder->steps);
    ll_trace_free(recorder->made);
    free(recorder);
}

/* With facts, which are written at once. */
static struct ll_recorder *begin(struct ll_recorder *recorder, const struct ll_fact *facts, size_t fact_count,
                                 enum ll_status *status)
{
    ll_meter_start(&recorder->meter);
    recorder->origin_ns = ll_now_ns();
    ll_recorder_facts(recorder, facts, fact_count);
    flush(recorder);
    *status = recorder->status;
    if (*status == LL_OK)
        return recorder;
    ll_recorder_close(recorder);
    return NULL;
}

struct ll_recorder *ll_recorder_open(const char *path, const struct ll_fact *facts, size_t fact_count,
                                     enum ll_status *status)
{
    struct ll_writer *writer = ll_writer_open(path, status);
    if (!writer)
        return NULL;
    struct ll_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder) {
        ll_writer_close(writer, false);
        *status = LL_NO_MEMORY;
        return NULL;
    }
    recorder->writer = writer;
    return begin(recorder, facts, fact_count, status);
}

struct ll_recorder *ll_recorder_open_memory(const struct ll_fact *facts, size_t fact_count,
                                            enum ll_status *status)
{
    struct ll_recorder *recorder = calloc(1, sizeof *recorder);
    struct ll_trace *made = calloc(1, sizeof *made);
    if (recorder && made) {
        recorder->made = made;
        return begin(recorder, facts, fact_count, status);
    }
    free(recorder);
    free(made);
    *status = LL_NO_MEMORY;
    return NULL;
}

enum ll_status ll_recorder_status(const struct ll_recorder *recorder)
{
    return recorder->status;
}

/* All that waits becomes frames, and the end too. */
static void end(struct ll_recorder *recorder)
{
    ll_recorder_step_end(recorder);
    if (recorder->status == LL_OK)
        add_waiting(recorder);
    if (recorder->status != LL_OK || recorder->made)
        return;
    uint64_t weight = ll_encode_end(&recorder->content, recorder->op_count, recorder->tables.tensor_count,
                                    recorder->written_steps);
    add_frame(recorder, 0, weight);
}

enum ll_status ll_recorder_close(struct ll_recorder *recorder)
{
    end(recorder);
    enum ll_status written = LL_OK;
    if (recorder->writer)
        written = ll_writer_close(recorder->writer, recorder->status == LL_OK);
    enum ll_status status = recorder->status != LL_OK ? recorder->status : written;
    free_recorder(recorder);
    return status;
}

/* The trace in memory gets its steps and all else. */
static bool complete(struct ll_recorder *recorder)
{
    struct ll_trace *made = recorder->made;
    made->steps = recorder->steps;
    made->step_count = recorder->waiting_steps;
    made->closed = true;
    recorder->steps = NULL;
    return ll_tables_take(&recorder->tables, &recorder->rows, made);
}

struct ll_trace *ll_recorder_take(struct ll_recorder *recorder, enum ll_status *status)
{
    assert(recorder->made);
    struct ll_trace *trace = NULL;
    end(recorder);
    if (recorder->status == LL_OK && complete(recorder)) {
        trace = recorder->made;
        recorder->made = NULL;
    } else if (recorder->status == LL_OK) {
        stop(recorder, LL_NO_MEMORY);
    }
    *status = recorder->status;
    free_recorder(recorder);
    return trace;
}

/* What repeats. */

uint32_t ll_recorder_string(struct ll_recorder *recorder, const char *text)
{
    assert(text);
    size_t length = strlen(text);
    if (recorder->status != LL_OK)
        return LL_NONE;
    if (length > LL_MAX_TEXT_BYTES)
        return stop(recorder, LL_TOO_LARGE);
    struct ll_meter_mark mark = ll_meter_enter(&recorder->meter);
    bool is_new;
    uint32_t string = ll_map_intern(&recorder->tables.strings, text, length, &is_new);
    recorder->waiting_text_bytes += is_new ? length : 0;
    if (recorder->writer && recorder->waiting_text_bytes >= FLUSH_TEXT_BYTES)
        flush(recorder);
    ll_meter_leave(&recorder->meter, &mark);
    return string == LL_NO_ID ? stop(recorder, LL_NO_MEMORY) : string;
}

uint32_t ll_recorder_desc(struct ll_recorder *recorder, const char *name, const struct ll_shape *shape,
                          enum ll_memory_class memory)
{
    assert(shape->rank <= LL_MAX_RANK && shape->dtype < LL_DTYPE_COUNT);
    assert(memory < LL_MEMORY_COUNT);
    struct ll_tensor_desc desc = {
        .name = ll_recorder_string(recorder, name), .memory = memory, .shape = *shape};
    if (recorder->status != LL_OK)
        return LL_NONE;
    if (!ll_fits(ll_size_bytes(shape)))
        return stop(recorder, LL_TOO_LARGE);
    struct ll_meter_mark mark = ll_meter_enter(&recorder->meter);
    uint32_t number = ll_map_intern(&recorder->tables.descs, &desc, sizeof desc, NULL);
    ll_meter_leave(&recorder->meter, &mark);
    assert(number < LL_BROUGHT || number == LL_NO_ID);
    return number == LL_NO_ID ? stop(recorder, LL_NO_MEMORY) : number;
}

uint32_t ll_recorder_named_desc(struct ll_recorder *recorder, uint32_t name, const struct ll_shape *shape,
                                enum ll_memory_class memory)
{
    assert(name < recorder->tables.strings.count && ll_fits(ll_size_bytes(shape)));
    const struct ll_tensor_desc desc = {.name = name, .memory = memory, .shape = *shape};
    uint32_t number = ll_map_intern(&recorder->tables.descs, &desc, sizeof desc, NULL);
    return number == LL_NO_ID ? stop(recorder, LL_NO_MEMORY) : number;
}

uint32_t ll_recorder_tensor(struct ll_recorder *recorder, uint32_t desc)
{
    struct ll_waiting_ops *rows = &recorder->rows;
    digest(recorder);
    if (recorder->status != LL_OK)
        return LL_NONE;
    assert(desc < recorder->tables.descs.count);
    uint32_t tensor = (uint32_t)recorder->tensor_count;
    if (!ll_tables_add_tensors(&recorder->tables, &desc, 1, LL_BROUGHT) ||
        !ll_numbers_add(&rows->brought_before, rows->count) || !ll_numbers_add(&rows->brought_desc, desc))
        return stop(recorder, LL_NO_MEMORY);
    recorder->tensor_count++;
    if (recorder->writer && rows->brought_desc.count >= FLUSH_REFS)
        flush(recorder);
    return tensor;
}

/* Steps. */

void ll_recorder_afterwards(struct ll_recorder *recorder, uint64_t origin_ns)
{
    assert(recorder->op_count == 0);
    recorder->origin_ns = origin_ns;
    recorder->foreign_clock = true;
}

void ll_recorder_cut(struct ll_recorder *recorder, const struct ll_step *steps, size_t step_count)
{
    assert(recorder->writer);
    ll_recorder_step_end(recorder);
    if (recorder->status != LL_OK || step_count == 0)
        return;
    assert(steps[0].first_op == 0);
    for (size_t i = 1; i < step_count; i++)
        assert(steps[i].first_op >= steps[i - 1].first_op + steps[i - 1].op_count);
    add_waiting(recorder);
    uint64_t weight = ll_encode_steps(&recorder->content, LL_FRAME_CUTS, steps, 0, step_count);
    add_frame(recorder, 0, weight);
}

void ll_recorder_step_begin(struct ll_recorder *recorder)
{
    ll_recorder_step_end(recorder);
    recorder->in_step = true;
    recorder->timed = false;
    recorder->step_number = (uint32_t)(recorder->written_steps + recorder->waiting_steps);
    recorder->step = (struct ll_step){.first_op = (uint32_t)recorder->op_count, .complete = true};
    if (!recorder->foreign_clock && !prepare_notes(&recorder->notes))
        stop(recorder, LL_NO_MEMORY);
    recorder->step_begin_ns = ll_now_ns() - recorder->notes.paused_ns;
    meter_renew(&recorder->meter);
    recorder->calls_before = recorder->meter.calls;
    recorder->long_ns_before = recorder->meter.long_ns;
}

void ll_recorder_pause(struct ll_recorder *recorder, uint64_t paused_ns)
{
    recorder->notes.paused_ns += paused_ns;
}

void ll_recorder_reads_clock(struct ll_recorder *recorder)
{
    assert(!recorder->foreign_clock);
    recorder->reads_clock = true;
}

/* Times by our clock include what lies between the ops; by another clock only the ops tell the time.
 * Reading the clock is recording, too: twice for each sample of the meter, once between two ops that the
 * caller times. */
static void time_step(struct ll_recorder *recorder, struct ll_step *step, uint64_t now_ns)
{
    const struct ll_meter *meter = &recorder->meter;
    bool foreign = recorder->foreign_clock;
    uint64_t begin_ns = foreign ? recorder->first_start_ns : recorder->step_begin_ns;
    uint64_t end_ns = foreign ? recorder->last_end_ns : now_ns - recorder->notes.paused_ns;
    double calls = (double)(meter->calls - recorder->calls_before);
    step->start_ns = begin_ns > recorder->origin_ns ? begin_ns - recorder->origin_ns : 0;
    step->wall_ns = end_ns - begin_ns;
    if (!foreign)
        step->recording_ns =
            meter->long_ns - recorder->long_ns_before + (uint64_t)(calls * ll_meter_mean_ns(meter)) +
            (2 * meter->samples + (recorder->reads_clock ? step->op_count : 0)) * meter->clock_ns;
}

void ll_recorder_step_end(struct ll_recorder *recorder)
{
    if (recorder->status != LL_OK || !recorder->in_step)
        return;
    uint64_t now_ns = ll_now_ns();
    struct ll_step *step = &recorder->step;
    recorder->in_step = false;
    assert(recorder->op_count >= step->first_op);
    step->op_count = (uint32_t)recorder->op_count - step->first_op;
    if (recorder->timed)
        time_step(recorder, step, now_ns);
    if (!ll_grow(&recorder->steps, &recorder->step_capacity, recorder->waiting_steps + 1,
                 sizeof *recorder->steps)) {
        stop(recorder, LL_NO_MEMORY);
        return;
    }
    recorder->steps[recorder->waiting_steps++] = *step;
    if (now_ns - recorder->last_write_ns >= FLUSH_STEP_NS)
        flush(recorder);
    if (recorder->notes.lasting)
        digest_timed(recorder);
}

/* Ops. */

/* An imported trace has the times of another clock; the first op of a step tells. */
__attribute__((cold)) static void look_at_clock(struct ll_recorder *recorder, const struct ll_record *record,
                                                uint64_t end_ns)
{
    if (record->start_ns >= recorder->origin_ns && end_ns <= ll_now_ns())
        return;
    if (recorder->op_count == 0 && !recorder->foreign_clock)
        recorder->origin_ns = record->start_ns;
    recorder->foreign_clock = true;
}

static void note_times(struct ll_recorder *recorder, const struct ll_record *record)
{
    uint64_t end_ns = record->start_ns + record->duration_ns;
    if (!recorder->timed) {
        look_at_clock(recorder, record, end_ns);
        recorder->timed = true;
        recorder->first_start_ns = record->start_ns;
        recorder->last_end_ns = end_ns;
    }
    recorder->first_start_ns = ll_min(recorder->first_start_ns, record->start_ns);
    recorder->last_end_ns = ll_max(recorder->last_end_ns, end_ns);
}

/* Whether the last write is long ago; the op's own times spare a look at the clock. */
static bool flush_is_due(const struct ll_recorder *recorder, const struct ll_record *record)
{
    bool late = record->start_ns + record->duration_ns > recorder->last_write_ns + FLUSH_OP_NS;
    bool maybe = (late && !recorder->foreign_clock) || recorder->op_count % CLOCK_EVERY == 0;
    return maybe && ll_now_ns() - recorder->last_write_ns >= FLUSH_OP_NS;
}

static bool is_full(const struct ll_notes *notes)
{
    return notes->count >= NOTES_MOST || notes->size >= NOTES_MOST_BYTES;
}

/* A program that runs must not wait: of its op only a note is taken. An op that ran elsewhere or long ago is
 * made sense of at once. False when memory ran out. */
static bool take(struct ll_recorder *recorder, const struct ll_record *record)
{
    struct ll_notes *notes = &recorder->notes;
    if (!recorder->foreign_clock || notes->count)
        return ll_notes_take(notes, record, recorder->step_number);
    digest_one(recorder, record, recorder->step_number);
    return true;
}

/* The hot path of recording: a note of the op, two counters and, now and then, a look at the clock.
 * Everything else (interning, encoding, writing) is put off until a step ends or much waits. */
uint32_t ll_recorder_op(struct ll_recorder *recorder, const struct ll_record *record)
{
    if (recorder->status != LL_OK)
        return LL_NONE;
    if (!recorder->in_step)
        ll_recorder_step_begin(recorder);
    struct ll_meter_mark mark = {0};
    if (!recorder->foreign_clock)
        mark = ll_meter_enter(&recorder->meter);
    uint64_t first_output = recorder->tensor_count;
    assert(record->phase < LL_PHASE_COUNT && record->kind < LL_OP_NONE);
    assert(record->storage_count + record->gap_count <= record->control_count);
    if (recorder->op_count >= LL_NONE - 1 || first_output + record->output_count >= LL_NONE)
        return stop(recorder, LL_TOO_LARGE);
    if (record->start_ns || record->duration_ns)
        note_times(recorder, record);
    if (!take(recorder, record))
        return stop(recorder, LL_NO_MEMORY);
    recorder->op_count++;
    recorder->tensor_count += record->output_count;
    if (flush_is_due(recorder, record))
        flush(recorder);
    else if (is_full(&recorder->notes))
        digest_timed(recorder);
    ll_meter_leave(&recorder->meter, &mark);
    return recorder->status == LL_OK ? (uint32_t)first_output : LL_NONE;
}

uint32_t ll_recorder_counted_op(struct ll_recorder *recorder, const struct ll_record *record,
                                const struct ll_signature_counts *counts)
{
    assert(recorder->foreign_clock && !recorder->notes.count); /* it is made sense of before this returns */
    recorder->tables.known = counts;
    uint32_t first = ll_recorder_op(recorder, record);
    recorder->tables.known = NULL;
    return first;
}
