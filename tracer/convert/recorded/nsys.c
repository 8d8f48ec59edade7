/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems, exported as SQLite (nsys export --type sqlite): kernels, copies, fills and calls of the
 * driver. Tables are there where they have rows, and columns differ from version to version: they are found
 * by name. Processes are ranks; a kernel and the call that launched it share process and correlationId. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/recorded/recorded.h"
#include "tracer/convert/recorded/sqlite.h"

/* Times may lie before the session's begin: they are moved where all are positive. */
#define FIRST_NS (INT64_C(1) << 60)

/* Columns that tables share; where a table lacks one it is LL_SQLITE_COLUMNS. */
#define COLUMN_LIST(X)                                                                                       \
    X(START, "start")                                                                                        \
    X(END, "end")                                                                                            \
    X(DEVICE, "deviceId")                                                                                    \
    X(STREAM, "streamId")                                                                                    \
    X(CORRELATION, "correlationId")                                                                          \
    X(PROCESS, "globalPid")                                                                                  \
    X(THREAD, "globalTid")                                                                                   \
    X(NAME, "demangledName")                                                                                 \
    X(SHORT_NAME, "shortName")                                                                               \
    X(CALL_NAME, "nameId")                                                                                   \
    X(BYTES, "bytes")                                                                                        \
    X(COPY_KIND, "copyKind")                                                                                 \
    X(SYNC_TYPE, "syncType")                                                                                 \
    X(EVENT, "eventId")                                                                                      \
    X(ID, "id")                                                                                              \
    X(VALUE, "value")                                                                                        \
    X(TEXT, "name")

enum column {
#define X(word, name) word,
    COLUMN_LIST(X)
#undef X
        COLUMNS
};

/* An event of CUDA that was recorded last: its stream, and the call that did it. */
struct cuda_event {
    int64_t process, event;
};

struct nsys {
    struct ll_recorded *recorded;
    struct ll_import *import;
    struct ll_sqlite database;
    size_t places[COLUMNS]; /* of the table that is read */
    size_t count;
    struct ll_map texts; /* ids of StringIds */
    uint32_t *names;     /* by place in the map: name of the timeline */
    uint64_t name_capacity;
    struct ll_map processes, events; /* of CUDA */
    struct ll_stream_wait *records;  /* by event: its stream in `after`, the number of the call in `record` */
    uint64_t record_capacity;
    const char *device; /* the first one's name; NULL: not told */
    bool one_process;   /* kernels do not say of which process they are */
};

static int64_t integer_at(const struct nsys *n, const struct ll_sqlite_value *values, enum column column)
{
    size_t at = n->places[column];
    return at < n->count && values[at].type == LL_SQLITE_INTEGER ? values[at].integer : 0;
}

static bool take_text(const struct ll_sqlite_value *values, size_t count, void *context)
{
    struct nsys *n = context;
    size_t at = n->places[VALUE];
    int64_t id = integer_at(n, values, ID);
    bool is_new = false;
    if (at >= count || values[at].type != LL_SQLITE_TEXT || memchr(values[at].text, '\0', values[at].length))
        return true;
    uint32_t place = ll_map_intern(&n->texts, &id, sizeof id, &is_new);
    if (place == LL_NO_ID || !ll_grow(&n->names, &n->name_capacity, (uint64_t)place + 1, sizeof *n->names))
        return ll_import_no_memory(n->import);
    n->names[place] = ll_recorded_name(n->recorded, values[at].text, values[at].length);
    return n->import->status == LL_OK;
}

/* The name of the timeline for an id of a text. */
static uint32_t name_of(const struct nsys *n, int64_t id, const char *otherwise)
{
    uint32_t place = ll_map_find(&n->texts, &id, sizeof id);
    return place == LL_NO_ID ? ll_recorded_name(n->recorded, otherwise, strlen(otherwise)) : n->names[place];
}

/* The rank is that of the process: bits 24 and up of a global number of it, or of its threads. */
static bool find_rank(struct nsys *n, const struct ll_sqlite_value *values)
{
    uint64_t process =
        (uint64_t)integer_at(n, values, n->places[PROCESS] < n->count ? PROCESS : THREAD) >> 24;
    if (n->one_process)
        process = 0;
    uint32_t rank = ll_map_intern(&n->processes, &process, sizeof process, NULL);
    n->recorded->rank = rank == LL_NO_ID ? 0 : rank;
    return rank != LL_NO_ID || ll_import_no_memory(n->import);
}

static uint32_t stream_of(struct nsys *n, int64_t device, int64_t stream)
{
    char label[96];
    snprintf(label, sizeof label, "device %" PRId64 ", stream %" PRId64, device, stream);
    return ll_recorded_track(n->recorded, false, (uint64_t)device, (uint64_t)stream, label);
}

static void set_times(const struct nsys *n, const struct ll_sqlite_value *values, uint64_t *start_ns,
                      uint64_t *duration_ns)
{
    int64_t start = integer_at(n, values, START), end = integer_at(n, values, END);
    start = start < -FIRST_NS ? -FIRST_NS : start > FIRST_NS ? FIRST_NS : start;
    end = end < start ? start : end > FIRST_NS ? FIRST_NS : end;
    *start_ns = (uint64_t)(FIRST_NS + start);
    *duration_ns = (uint64_t)(end - start);
}

static bool add_event(struct nsys *n, const struct ll_sqlite_value *values, uint32_t name,
                      enum ll_device_event_kind kind)
{
    int64_t bytes = integer_at(n, values, BYTES);
    struct ll_timeline_event event = {.bytes = bytes > 0 ? (uint64_t)bytes : 0,
                                      .name = name,
                                      .caller = LL_NO_PART,
                                      .call = LL_NO_PART,
                                      .kind = kind,
                                      .group = LL_NO_PART,
                                      .order = LL_NO_PART};
    set_times(n, values, &event.start_ns, &event.duration_ns);
    event.track = stream_of(n, integer_at(n, values, DEVICE), integer_at(n, values, STREAM));
    return n->import->status == LL_OK &&
           ll_recorded_event(n->recorded, &event, (uint64_t)integer_at(n, values, CORRELATION));
}

static bool take_kernel(const struct ll_sqlite_value *values, size_t count, void *context)
{
    struct nsys *n = context;
    (void)count;
    n->one_process = n->places[PROCESS] >= n->count;
    if (!find_rank(n, values))
        return false;
    uint32_t name =
        name_of(n, integer_at(n, values, n->places[NAME] < n->count ? NAME : SHORT_NAME), "kernel");
    if (n->import->status != LL_OK)
        return false;
    bool exchanges = ll_recorded_exchanges(n->recorded->timeline.names[name]);
    return add_event(n, values, name, exchanges ? LL_EVENT_EXCHANGE : LL_EVENT_KERNEL);
}

static bool take_copy(const struct ll_sqlite_value *values, size_t count, void *context)
{
    static const char *const kinds[] = {
        [1] = "Memcpy HtoD", [2] = "Memcpy DtoH", [3] = "Memcpy HtoA", [4] = "Memcpy AtoH",
        [5] = "Memcpy AtoA", [6] = "Memcpy AtoD", [7] = "Memcpy DtoA", [8] = "Memcpy DtoD",
        [9] = "Memcpy HtoH", [10] = "Memcpy PtoP"};
    struct nsys *n = context;
    int64_t kind = integer_at(n, values, COPY_KIND);
    const char *name = kind > 0 && kind <= 10 ? kinds[kind] : "Memcpy";
    (void)count;
    return find_rank(n, values) &&
           add_event(n, values, ll_recorded_name(n->recorded, name, strlen(name)), LL_EVENT_COPY);
}

static bool take_fill(const struct ll_sqlite_value *values, size_t count, void *context)
{
    struct nsys *n = context;
    (void)count;
    return find_rank(n, values) &&
           add_event(n, values, ll_recorded_name(n->recorded, "Memset", strlen("Memset")), LL_EVENT_FILL);
}

static bool take_call(const struct ll_sqlite_value *values, size_t count, void *context)
{
    struct nsys *n = context;
    char label[48];
    int64_t thread = integer_at(n, values, THREAD);
    struct ll_timeline_call call = {.kind = LL_CALL_OTHER};
    (void)count;
    if (!find_rank(n, values))
        return false;
    snprintf(label, sizeof label, "thread %" PRId64, thread & 0xffffff);
    set_times(n, values, &call.start_ns, &call.duration_ns);
    call.name = name_of(n, integer_at(n, values, CALL_NAME), "call");
    call.track = ll_recorded_track(n->recorded, true, (uint64_t)thread, 0, label);
    return n->import->status == LL_OK &&
           ll_recorded_call(n->recorded, &call, (uint64_t)integer_at(n, values, CORRELATION));
}

/* An event of CUDA is recorded: what waits for it waits for the stream. */
static bool take_record(const struct ll_sqlite_value *values, size_t count, void *context)
{
    struct nsys *n = context;
    (void)count;
    if (!find_rank(n, values))
        return false;
    struct cuda_event key = {n->recorded->rank, integer_at(n, values, EVENT)};
    uint32_t at = ll_map_intern(&n->events, &key, sizeof key, NULL);
    if (at == LL_NO_ID || !ll_grow(&n->records, &n->record_capacity, (uint64_t)at + 1, sizeof *n->records))
        return ll_import_no_memory(n->import);
    n->records[at] = (struct ll_stream_wait){
        .after = stream_of(n, integer_at(n, values, DEVICE), integer_at(n, values, STREAM)),
        .record = (uint64_t)integer_at(n, values, CORRELATION),
        .rank = n->recorded->rank};
    return n->import->status == LL_OK;
}

/* Type 2: a stream waits for an event. The others, of the host, are calls by themselves. */
static bool take_wait(const struct ll_sqlite_value *values, size_t count, void *context)
{
    enum { STREAM_WAITS = 2 };
    struct nsys *n = context;
    (void)count;
    if (!find_rank(n, values))
        return false;
    struct cuda_event key = {n->recorded->rank, integer_at(n, values, EVENT)};
    uint32_t at = ll_map_find(&n->events, &key, sizeof key);
    if (at == LL_NO_ID || integer_at(n, values, SYNC_TYPE) != STREAM_WAITS)
        return true;
    struct ll_stream_wait wait = n->records[at];
    wait.track = stream_of(n, integer_at(n, values, DEVICE), integer_at(n, values, STREAM));
    wait.wait = (uint64_t)integer_at(n, values, CORRELATION);
    return n->import->status == LL_OK && ll_recorded_stream_wait(n->recorded, &wait);
}

static bool take_device(const struct ll_sqlite_value *values, size_t count, void *context)
{
    struct nsys *n = context;
    size_t at = n->places[TEXT];
    if (n->device || at >= count || values[at].type != LL_SQLITE_TEXT)
        return true;
    n->device = ll_copy_text(&n->import->arena, values[at].text, values[at].length);
    return n->device || ll_import_no_memory(n->import);
}

/* Goes through a table, where it is there. */
static bool read_table(struct nsys *n, const char *name, ll_sqlite_row *row)
{
    static const char *const columns[] = {
#define X(word, column_name) column_name,
        COLUMN_LIST(X)
#undef X
    };
    struct ll_sqlite_table table;
    if (!ll_sqlite_find(&n->database, name, &n->import->arena, &table))
        return false;
    for (enum column i = 0; i < COLUMNS; i++) {
        n->places[i] = ll_sqlite_column(&table, columns[i]);
        n->places[i] = n->places[i] < table.column_count ? n->places[i] : LL_SQLITE_COLUMNS;
    }
    n->count = table.column_count;
    return ll_sqlite_read(&n->database, &table, row, n);
}

static bool read_all(struct nsys *n)
{
    return read_table(n, "StringIds", take_text) && read_table(n, "TARGET_INFO_GPU", take_device) &&
           read_table(n, "CUPTI_ACTIVITY_KIND_KERNEL", take_kernel) &&
           read_table(n, "CUPTI_ACTIVITY_KIND_MEMCPY", take_copy) &&
           read_table(n, "CUPTI_ACTIVITY_KIND_MEMSET", take_fill) &&
           read_table(n, "CUPTI_ACTIVITY_KIND_RUNTIME", take_call) &&
           read_table(n, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", take_record) &&
           read_table(n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", take_wait);
}

bool ll_import_NSYS(struct ll_import *import)
{
    struct ll_recorded recorded = {.import = import};
    struct nsys n = {.recorded = &recorded, .import = import};
    const struct ll_input_file *input = &import->inputs[0];
    bool done = import->input_count == 1 || ll_complain(import->diags, (struct ll_place){0},
                                                        "expected one database: it holds all processes");
    done = done && ll_sqlite_open(&n.database, input->bytes, input->size, input->path, import->diags) &&
           read_all(&n) && ll_recorded_finish(&recorded);
    if (done && n.device)
        ll_facts_add(&import->facts, "device", "%s", n.device);
    done = done && ll_recorded_ops(&recorded, "Nsight Systems");
    ll_recorded_release(&recorded);
    ll_map_release(&n.texts);
    ll_map_release(&n.processes);
    ll_map_release(&n.events);
    free(n.names);
    free(n.records);
    return done && import->status == LL_OK;
}
