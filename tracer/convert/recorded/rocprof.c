/* SPDX-License-Identifier: Apache-2.0 */
/* rocprofv3 (ROCprofiler-SDK): its JSON, one element a process, and its CSV files, one a kind of record.
 *
 *   {"rocprofiler-sdk-tool": [{"agents": [{"id": {"handle"}, "type", "product_name"}],
 *      "strings": {"buffer_records": [{"kind", "operations": [names]}]},
 *      "kernel_symbols": [{"kernel_id", "formatted_kernel_name"}],
 *      "buffer_records": {"kernel_dispatch": [{"start_timestamp", "end_timestamp", "thread_id",
 *         "correlation_id": {"internal"}, "stream_id": {"handle"},
 *         "dispatch_info": {"agent_id", "queue_id", "kernel_id"}}],
 *         "memory_copy": [...], "hip_api": [...]}}]}
 *
 * The names of kernels and calls are needed by the records, wherever they stand: an element is gone
 * through twice. Times are nanoseconds of one clock. Streams order what is on them; a record without one
 * is on its queue. Several CSV files are of one process; their columns are found by name, for they move
 * from version to version. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/json.h"
#include "tracer/convert/recorded/recorded.h"

/* Names by a number: of kernels, and of calls by kind and operation. */
struct names {
    struct ll_map numbers;
    uint32_t *at; /* name of the timeline */
    uint64_t capacity;
};

struct rocprof {
    struct ll_recorded *recorded;
    struct ll_import *import;
    struct ll_json_reader json;
    struct names kernels, operations;
    const char *device;
    uint64_t kind_count; /* kinds of records whose operations were read */
    bool found;          /* the element of a process */
};

/* A record as it is read; numbers that are not told are 0. */
struct row {
    uint64_t start_ns, end_ns, thread, correlation, agent, queue, stream, kernel, bytes, kind, operation;
};

static bool set_name(struct rocprof *r, struct names *names, const uint64_t key[2], uint32_t name)
{
    uint32_t at = ll_map_intern(&names->numbers, key, 2 * sizeof *key, NULL);
    if (at == LL_NO_ID || !ll_grow(&names->at, &names->capacity, (uint64_t)at + 1, sizeof *names->at))
        return ll_import_no_memory(r->import);
    names->at[at] = name;
    return true;
}

static uint32_t get_name(const struct rocprof *r, const struct names *names, uint64_t first, uint64_t second,
                         const char *otherwise)
{
    const uint64_t key[] = {first, second};
    uint32_t at = ll_map_find(&names->numbers, key, sizeof key);
    return at == LL_NO_ID ? ll_recorded_name(r->recorded, otherwise, strlen(otherwise)) : names->at[at];
}

static void release(struct names *names)
{
    ll_map_release(&names->numbers);
    free(names->at);
    *names = (struct names){.at = NULL};
}

static uint64_t count_of(const struct ll_json_reader *json)
{
    int64_t number = json->token == LL_JSON_NUMBER ? ll_json_as_integer(json) : 0;
    return number > 0 ? (uint64_t)number : 0;
}

/* --- what both forms share --- */

static bool add_event(struct rocprof *r, const struct row *row, uint32_t name, enum ll_device_event_kind kind)
{
    char label[96];
    if (row->stream)
        snprintf(label, sizeof label, "agent %" PRIu64 ", stream %" PRIu64, row->agent, row->stream);
    else
        snprintf(label, sizeof label, "agent %" PRIu64 ", queue %" PRIu64, row->agent, row->queue);
    struct ll_timeline_event event = {.start_ns = row->start_ns,
                                      .duration_ns =
                                          row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0,
                                      .bytes = ll_min(row->bytes, INT64_MAX),
                                      .name = name,
                                      .caller = LL_NO_PART,
                                      .call = LL_NO_PART,
                                      .kind = kind,
                                      .group = LL_NO_PART,
                                      .order = LL_NO_PART};
    event.track = ll_recorded_track(r->recorded, false, row->agent,
                                    row->stream ? 2 * row->stream : 2 * row->queue + 1, label);
    return r->import->status == LL_OK && ll_recorded_event(r->recorded, &event, row->correlation);
}

static bool add_kernel(struct rocprof *r, const struct row *row, uint32_t name)
{
    if (r->import->status != LL_OK)
        return false;
    bool exchanges = ll_recorded_exchanges(r->recorded->timeline.names[name]);
    return add_event(r, row, name, exchanges ? LL_EVENT_EXCHANGE : LL_EVENT_KERNEL);
}

static bool add_call(struct rocprof *r, const struct row *row, uint32_t name)
{
    char label[48];
    snprintf(label, sizeof label, "thread %" PRIu64, row->thread);
    struct ll_timeline_call call = {.start_ns = row->start_ns,
                                    .duration_ns =
                                        row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0,
                                    .name = name};
    call.track = ll_recorded_track(r->recorded, true, row->thread, 0, label);
    return r->import->status == LL_OK && ll_recorded_call(r->recorded, &call, row->correlation);
}

/* "MEMORY_COPY_HOST_TO_DEVICE" and the like, as the other tools say it. */
static uint32_t copy_name(struct rocprof *r, const char *operation)
{
    const char *name = strstr(operation, "HOST_TO_DEVICE")     ? "Memcpy HtoD"
                       : strstr(operation, "DEVICE_TO_HOST")   ? "Memcpy DtoH"
                       : strstr(operation, "DEVICE_TO_DEVICE") ? "Memcpy DtoD"
                       : strstr(operation, "HOST_TO_HOST")     ? "Memcpy HtoH"
                                                               : "Memcpy";
    return ll_recorded_name(r->recorded, name, strlen(name));
}

/* --- JSON --- */

/* The value of a member "handle" or "internal" of the object that the reader stands at, or a bare number. */
static uint64_t read_handle(struct rocprof *r)
{
    struct ll_json_reader *json = &r->json;
    uint64_t number = count_of(json);
    if (json->token != LL_JSON_OBJECT)
        return number;
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool right = ll_json_says(json, "handle") || ll_json_says(json, "internal");
        ll_json_read(json);
        number = right ? count_of(json) : number;
        ll_json_pass(json);
    }
    return number;
}

/* A record, or the part of it that has members of its own. */
static void read_row(struct rocprof *r, struct row *row)
{
    struct ll_json_reader *json = &r->json;
    while (ll_json_read(json) == LL_JSON_KEY) {
        const struct ll_json_reader key = *json;
        const struct {
            const char *key;
            uint64_t *place;
        } members[] = {{"start_timestamp", &row->start_ns},
                       {"end_timestamp", &row->end_ns},
                       {"thread_id", &row->thread},
                       {"correlation_id", &row->correlation},
                       {"agent_id", &row->agent},
                       {"dst_agent_id", &row->agent},
                       {"queue_id", &row->queue},
                       {"stream_id", &row->stream},
                       {"kernel_id", &row->kernel},
                       {"bytes", &row->bytes},
                       {"kind", &row->kind},
                       {"operation", &row->operation}};
        ll_json_read(json);
        if (ll_json_says(&key, "dispatch_info") && json->token == LL_JSON_OBJECT) {
            read_row(r, row);
            continue;
        }
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            if (ll_json_says(&key, members[i].key)) {
                *members[i].place = read_handle(r);
                break;
            }
        if (json->token != LL_JSON_OBJECT_END && json->token != LL_JSON_END)
            ll_json_pass(json);
    }
}

/* Goes through a list of objects; what the reader stands at. */
static bool each(struct rocprof *r, bool (*take)(struct rocprof *r))
{
    struct ll_json_reader *json = &r->json;
    if (ll_json_read(json) != LL_JSON_LIST) {
        ll_json_pass(json);
        return !json->failed;
    }
    while (ll_json_read(json) == LL_JSON_OBJECT)
        if (!take(r))
            return false;
    return json->token == LL_JSON_LIST_END || ll_json_expected(json, "an object");
}

static bool take_symbol(struct rocprof *r)
{
    struct ll_json_reader *json = &r->json;
    struct ll_json_reader name = {.text = ""};
    uint64_t key[2] = {0, 0};
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool id = ll_json_says(json, "kernel_id"), formatted = ll_json_says(json, "formatted_kernel_name"),
             plain = ll_json_says(json, "kernel_name") && name.length == 0;
        ll_json_read(json);
        key[0] = id ? count_of(json) : key[0];
        if ((formatted || plain) && json->token == LL_JSON_TEXT)
            name = *json;
        ll_json_pass(json);
    }
    const char *text = json->failed ? NULL : ll_json_copy(&name, &r->import->arena);
    if (!text)
        return json->failed ? false : ll_import_no_memory(r->import);
    uint32_t at = ll_recorded_name(r->recorded, text, strlen(text));
    return r->import->status == LL_OK && set_name(r, &r->kernels, key, at);
}

/* Agents of type 2 are GPUs; the first one names the device. */
static bool take_agent(struct rocprof *r)
{
    struct ll_json_reader *json = &r->json;
    struct ll_json_reader name = {.text = ""};
    uint64_t type = 0;
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool is_type = ll_json_says(json, "type"), is_name = ll_json_says(json, "product_name");
        ll_json_read(json);
        type = is_type ? count_of(json) : type;
        if (is_name && json->token == LL_JSON_TEXT)
            name = *json;
        ll_json_pass(json);
    }
    if (type == 2 && !r->device && name.length && !json->failed)
        r->device = ll_json_copy(&name, &r->import->arena);
    return !json->failed;
}

/* {"kind": "HIP_RUNTIME_API", "operations": ["hipInit", ...]}: its place in the list is its number. */
static bool take_kind(struct rocprof *r)
{
    struct ll_json_reader *json = &r->json;
    uint64_t key[2] = {r->kind_count++, 0};
    while (ll_json_read(json) == LL_JSON_KEY) {
        bool operations = ll_json_says(json, "operations");
        if (ll_json_read(json) != LL_JSON_LIST || !operations) {
            ll_json_pass(json);
            continue;
        }
        for (; ll_json_read(json) == LL_JSON_TEXT; key[1]++) {
            const char *text = ll_json_copy(json, &r->import->arena);
            if (!text)
                return ll_import_no_memory(r->import);
            uint32_t name = ll_recorded_name(r->recorded, text, strlen(text));
            if (r->import->status != LL_OK || !set_name(r, &r->operations, key, name))
                return false;
        }
        if (json->token != LL_JSON_LIST_END)
            return ll_json_expected(json, "the name of an operation");
    }
    return !json->failed;
}

static bool take_dispatch(struct rocprof *r)
{
    struct row row = {0};
    read_row(r, &row);
    return !r->json.failed && add_kernel(r, &row, get_name(r, &r->kernels, row.kernel, 0, "kernel"));
}

static bool take_copy(struct rocprof *r)
{
    struct row row = {0};
    read_row(r, &row);
    uint32_t operation = get_name(r, &r->operations, row.kind, row.operation, "MEMORY_COPY");
    if (r->json.failed || r->import->status != LL_OK)
        return false;
    return add_event(r, &row, copy_name(r, r->recorded->timeline.names[operation]), LL_EVENT_COPY);
}

static bool take_api(struct rocprof *r)
{
    struct row row = {0};
    read_row(r, &row);
    return !r->json.failed && add_call(r, &row, get_name(r, &r->operations, row.kind, row.operation, "call"));
}

/* The members of an object that have these keys are gone through, the others passed. */
struct member {
    const char *key;
    bool (*take)(struct rocprof *r); /* each object of the list */
    const struct member *members;    /* or of the object */
};

/* The reader stands at the opening brace. */
static bool read_members(struct rocprof *r, const struct member *members)
{
    struct ll_json_reader *json = &r->json;
    while (ll_json_read(json) == LL_JSON_KEY) {
        const struct member *member = members;
        while (member->key && !ll_json_says(json, member->key))
            member++;
        if (member->take) {
            if (!each(r, member->take))
                return false;
        } else if (member->members && ll_json_read(json) == LL_JSON_OBJECT) {
            if (!read_members(r, member->members))
                return false;
        } else {
            ll_json_pass(json);
        }
    }
    return !json->failed;
}

static const struct member string_members[] = {{"buffer_records", take_kind, NULL}, {NULL, NULL, NULL}},
                           name_members[] = {{"agents", take_agent, NULL},
                                             {"kernel_symbols", take_symbol, NULL},
                                             {"strings", NULL, string_members},
                                             {NULL, NULL, NULL}},
                           record_members[] = {{"kernel_dispatch", take_dispatch, NULL},
                                               {"memory_copy", take_copy, NULL},
                                               {"hip_api", take_api, NULL},
                                               {NULL, NULL, NULL}},
                           process_members[] = {{"buffer_records", NULL, record_members}, {NULL, NULL, NULL}};

/* An element of the list: first its names, then, from its beginning again, its records. */
static bool take_process(struct rocprof *r)
{
    const struct ll_json_reader begin = r->json;
    r->kind_count = 0;
    release(&r->kernels);
    release(&r->operations);
    if (!read_members(r, name_members))
        return false;
    r->json = begin;
    bool done = read_members(r, process_members);
    r->recorded->rank++;
    r->found = true;
    return done;
}

static bool read_json(struct rocprof *r, const struct ll_input_file *input)
{
    static const struct member file_members[] = {{"rocprofiler-sdk-tool", take_process, NULL},
                                                 {NULL, NULL, NULL}};
    const char *text = (const char *)input->bytes;
    r->json = (struct ll_json_reader){
        .file = input->path, .begin = text, .at = text, .end = text + input->size, .diags = r->import->diags};
    if (ll_json_read(&r->json) != LL_JSON_OBJECT)
        return ll_json_expected(&r->json, "an object with rocprofiler-sdk-tool");
    if (!read_members(r, file_members))
        return false;
    ll_json_read(&r->json);
    return !r->json.failed &&
           (r->found || ll_complain(r->import->diags, (struct ll_place){.file = input->path},
                                    "there is no rocprofiler-sdk-tool in it"));
}

/* --- CSV --- */

#define FIELD_LIST(X)                                                                                        \
    X(KIND, "Kind")                                                                                          \
    X(DOMAIN_NAME, "Domain")                                                                                 \
    X(FUNCTION, "Function")                                                                                  \
    X(KERNEL, "Kernel_Name")                                                                                 \
    X(AGENT, "Agent_Id")                                                                                     \
    X(DESTINATION, "Destination_Agent_Id")                                                                   \
    X(QUEUE, "Queue_Id")                                                                                     \
    X(STREAM, "Stream_Id")                                                                                   \
    X(THREAD, "Thread_Id")                                                                                   \
    X(CORRELATION, "Correlation_Id")                                                                         \
    X(DIRECTION, "Direction")                                                                                \
    X(START, "Start_Timestamp")                                                                              \
    X(END, "End_Timestamp")

enum field {
#define X(word, name) word,
    FIELD_LIST(X)
#undef X
        FIELDS
};

enum { MOST_CELLS = 64 };

/* A line of a table. */
struct line {
    const char *cells[MOST_CELLS];
    size_t lengths[MOST_CELLS], count;
};

/* Of two quotes behind each other neither ends the cell. */
static bool ends_quote(const char *at, const char *end)
{
    return *at == '"' && (end - at < 2 || at[1] != '"');
}

/* The next line: cells between commas, or between quotes, which are taken off. False at the end of the
 * file. */
static bool next_line(const char **at, const char *end, struct line *line)
{
    *line = (struct line){.count = 0};
    if (*at >= end)
        return false;
    for (;;) {
        bool quoted = *at < end && **at == '"';
        const char *begin = *at += quoted;
        while (*at < end && (quoted ? !ends_quote(*at, end) : **at != ',' && **at != '\n' && **at != '\r'))
            *at += quoted && **at == '"' ? 2 : 1;
        if (line->count < MOST_CELLS) {
            line->cells[line->count] = begin;
            line->lengths[line->count++] = (size_t)(*at - begin);
        }
        while (*at < end && **at != ',' && **at != '\n')
            ++*at;
        if (*at >= end || *(*at)++ == '\n')
            return true;
    }
}

struct table {
    size_t places[FIELDS]; /* of columns; MOST_CELLS: there is none */
    struct line line;
};

/* The number in a cell, of "Agent 1" too; 0 for none. */
static uint64_t number_at(const struct table *table, enum field field)
{
    size_t place = table->places[field];
    uint64_t value = 0;
    for (size_t i = 0; place < table->line.count && i < table->line.lengths[place]; i++) {
        char c = table->line.cells[place][i];
        if (c >= '0' && c <= '9')
            value = ll_add(ll_mul(value, 10), (uint64_t)(c - '0'));
    }
    return value;
}

static uint32_t text_at(struct rocprof *r, const struct table *table, enum field field)
{
    size_t place = table->places[field];
    return place < table->line.count
               ? ll_recorded_name(r->recorded, table->line.cells[place], table->line.lengths[place])
               : ll_recorded_name(r->recorded, "", 0);
}

static void find_columns(struct table *table)
{
    static const char *const names[] = {
#define X(word, name) name,
        FIELD_LIST(X)
#undef X
    };
    for (enum field f = 0; f < FIELDS; f++) {
        table->places[f] = MOST_CELLS;
        for (size_t i = 0; i < table->line.count; i++)
            if (table->line.lengths[i] == strlen(names[f]) &&
                memcmp(table->line.cells[i], names[f], table->line.lengths[i]) == 0)
                table->places[f] = i;
    }
}

static bool take_line(struct rocprof *r, const struct table *table)
{
    struct row row = {.start_ns = number_at(table, START),
                      .end_ns = number_at(table, END),
                      .thread = number_at(table, THREAD),
                      .correlation = number_at(table, CORRELATION),
                      .agent = number_at(table, table->places[AGENT] < MOST_CELLS ? AGENT : DESTINATION),
                      .queue = number_at(table, QUEUE),
                      .stream = number_at(table, STREAM)};
    if (table->places[KERNEL] < MOST_CELLS)
        return add_kernel(r, &row, text_at(r, table, KERNEL));
    if (table->places[FUNCTION] < MOST_CELLS)
        return add_call(r, &row, text_at(r, table, FUNCTION));
    uint32_t direction = text_at(r, table, DIRECTION);
    return r->import->status == LL_OK &&
           add_event(r, &row, copy_name(r, r->recorded->timeline.names[direction]), LL_EVENT_COPY);
}

static bool read_csv(struct rocprof *r, const struct ll_input_file *input)
{
    const char *at = (const char *)input->bytes, *end = at + input->size;
    struct ll_place place = {.file = input->path, .line = 1};
    struct table table;
    next_line(&at, end, &table.line);
    find_columns(&table);
    if (table.places[START] == MOST_CELLS || table.places[END] == MOST_CELLS ||
        (table.places[KERNEL] == MOST_CELLS && table.places[FUNCTION] == MOST_CELLS &&
         table.places[DIRECTION] == MOST_CELLS))
        return ll_complain(r->import->diags, place,
                           "expected the columns Start_Timestamp, End_Timestamp and Kernel_Name, Function or "
                           "Direction, as rocprofv3 writes them");
    while (next_line(&at, end, &table.line)) {
        place.line++;
        if (table.line.count == 1 && table.line.lengths[0] == 0)
            continue;
        if (table.places[START] >= table.line.count || table.places[END] >= table.line.count)
            return ll_complain(r->import->diags, place,
                               "this line has fewer cells than the first one has columns");
        if (!take_line(r, &table))
            return false;
    }
    return true;
}

/* A brace begins JSON. */
static bool is_json(const struct ll_input_file *input)
{
    uint64_t i = 0;
    while (i < input->size && (input->bytes[i] == ' ' || input->bytes[i] == '\n' || input->bytes[i] == '\r' ||
                               input->bytes[i] == '\t'))
        i++;
    return i < input->size && input->bytes[i] == '{';
}

bool ll_import_ROCPROF(struct ll_import *import)
{
    struct ll_recorded recorded = {.import = import};
    struct rocprof r = {.recorded = &recorded, .import = import};
    bool done = true;
    for (uint64_t i = 0; done && i < import->input_count; i++)
        done = (is_json(&import->inputs[i]) ? read_json : read_csv)(&r, &import->inputs[i]);
    done = done && ll_recorded_finish(&recorded);
    if (done && r.device)
        ll_facts_add(&import->facts, "device", "%s", r.device);
    done = done && ll_recorded_ops(&recorded, "rocprofv3");
    ll_recorded_release(&recorded);
    release(&r.kernels);
    release(&r.operations);
    return done && import->status == LL_OK;
}
