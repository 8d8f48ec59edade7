/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Nsight Systems, rocprofv3, XLA and ONNX Runtime as timelines. Databases are written by
 * SQLite itself. */
#include <sqlite3.h>

#include "check.h"
#include "convert.h"
#include "tracer/convert/wire.h"
#include "tracer/ir/timeline.h"

static struct conversion import_bytes(ll_importer *importer, const char *name, const void *bytes, size_t size)
{
    struct conversion c = {.importer = importer};
    struct ll_str text = {0};
    ll_str_add_bytes(&text, bytes, size);
    add_file(&c, name, &text);
    convert(&c);
    ll_str_release(&text);
    return c;
}

static struct conversion import_text(ll_importer *importer, const char *name, const char *text)
{
    struct conversion c = import_bytes(importer, name, text, strlen(text));
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    return c;
}

static const char *name_of(const struct ll_device_timeline *t, uint64_t event)
{
    return t->names[t->events[event].name];
}

/* --- Nsight Systems --- */

static void run_sql(sqlite3 *db, const char *sql)
{
    char *trouble = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &trouble) != SQLITE_OK)
        fail_msg("%s: %s", sql, trouble);
}

static sqlite3 *new_database(const char *path, const char *page)
{
    sqlite3 *db;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, page);
    return db;
}

static struct conversion import_database(const char *path)
{
    struct ll_arena arena = {0};
    struct ll_input_file file;
    assert_int_equal(ll_input_open(path, &arena, &file), LL_OK);
    struct conversion c = import_bytes(ll_import_NSYS, "a.sqlite", file.bytes, file.size);
    ll_arena_release(&arena);
    unlink(path);
    return c;
}

/* 3000 kernels of 40 ns, 100 ns apart, each launched 60 ns before, and one that was launched earlier;
 * pages of 512 bytes make trees of several levels, and a name goes over many of them. The second process
 * has one copy. */
static void tables_are_read_whatever_their_trees_are(void **state)
{
    (void)state;
    char path[64], name[5000];
    snprintf(path, sizeof path, "/tmp/ll_nsys_%d.sqlite", (int)getpid());
    sqlite3 *db = new_database(path, "PRAGMA page_size = 512");
    memset(name, 'k', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    run_sql(db, "BEGIN; CREATE TABLE StringIds (-- texts, (each once)\n id INTEGER NOT NULL PRIMARY KEY, "
                "value TEXT NOT NULL);"
                "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);"
                "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid INTEGER,"
                " correlationId INTEGER, nameId INTEGER, CHECK (start > -1000000));"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, [end] INTEGER, deviceId INTEGER, "
                "streamId INTEGER,"
                " correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, "
                "streamId INTEGER,"
                " correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);"
                "INSERT INTO StringIds VALUES (7, 'cudaLaunchKernel');");
    char sql[sizeof name + 200];
    snprintf(sql, sizeof sql, "INSERT INTO StringIds VALUES (9000000000, '%s')", name);
    run_sql(db, sql);
    for (int i = 0; i < 3000; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 7, %d, 16777216, 9000000000)",
                 100 * i, 100 * i + 40, i + 1);
        run_sql(db, sql);
        snprintf(sql, sizeof sql, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d, %d, 16777300, %d, 7)",
                 100 * i - 60, 100 * i - 50, i + 1);
        run_sql(db, sql);
    }
    run_sql(db, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 15, 0, 8, 99999, 16777216, 9000000000);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50, 90, 1, 7, 1, 33554432, 4096, 1);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 33554500, 1, 7); COMMIT");
    sqlite3_close(db);
    struct conversion c = import_database(path);
    assert_non_null(c.trace);
    const struct ll_device_timeline *t = c.trace->timeline;
    uint64_t counted = 0, time_ns = 0;
    for (uint64_t i = 0; i < t->event_count; i++) {
        counted += ll_event_counts(t, &t->events[i]);
        time_ns += ll_event_counts(t, &t->events[i]) ? t->events[i].duration_ns : 0;
    }
    assert_int_equal(t->rank_count, 2);
    assert_int_equal(t->event_count, 3002);
    assert_int_equal(t->call_count, 3001);
    assert_int_equal(counted, 3001);
    assert_int_equal(time_ns, 3000 * 40 + 40);
    assert_int_equal(c.trace->op_count, 3000); /* of the first process */
    assert_string_equal(name_of(t, t->event_count - 1), name);
    assert_string_equal(ll_trace_fact(c.trace, "device"), "NVIDIA H100 80GB HBM3");
    end_conversion(&c);
}

static void what_is_no_database_is_refused(void **state)
{
    (void)state;
    struct conversion c = import_bytes(ll_import_NSYS, "a.sqlite", "SQLite format 3", 16);
    assert_null(c.trace);
    assert_string_equal(c.diags.kept[0].message, "this is no SQLite database");
    end_conversion(&c);
    char path[64];
    snprintf(path, sizeof path, "/tmp/ll_nsys_%d.sqlite", (int)getpid());
    sqlite3 *db = new_database(
        path, "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, \"end\") WITHOUT ROWID");
    sqlite3_close(db);
    c = import_database(path);
    assert_null(c.trace);
    assert_true(strstr(c.diags.kept[0].message, "WITHOUT ROWID") != NULL);
    end_conversion(&c);
}

/* --- rocprofv3 --- */

/* A kernel that its call launched 1000 ns before, on a stream, and a copy to the host; names stand behind
 * them. */
static void rocprofv3s_json_is_read(void **state)
{
    (void)state;
    struct conversion c = import_text(
        ll_import_ROCPROF, "a.json",
        "{\"rocprofiler-sdk-tool\": [{\"buffer_records\": {"
        "\"kernel_dispatch\": [{\"start_timestamp\": 5000, \"end_timestamp\": 5600, \"thread_id\": 3,"
        " \"correlation_id\": {\"internal\": 4, \"external\": 0}, \"dispatch_info\": {\"agent_id\": "
        "{\"handle\": 2},"
        " \"queue_id\": {\"handle\": 1}, \"kernel_id\": 8}, \"stream_id\": {\"handle\": 6}}],"
        "\"memory_copy\": [{\"kind\": 1, \"operation\": 1, \"start_timestamp\": 6000, \"end_timestamp\": "
        "6100,"
        " \"correlation_id\": {\"internal\": 5}, \"dst_agent_id\": {\"handle\": 1}, \"bytes\": 64}],"
        "\"hip_api\": [{\"kind\": 0, \"operation\": 1, \"start_timestamp\": 4000, \"end_timestamp\": 4100, "
        "\"thread_id\": 3,"
        " \"correlation_id\": {\"internal\": 4}}, {\"kind\": 0, \"operation\": 0, \"start_timestamp\": 4500,"
        " \"end_timestamp\": 6200, \"thread_id\": 3, \"correlation_id\": {\"internal\": 5}}]},"
        "\"agents\": [{\"type\": 2, \"product_name\": \"AMD Instinct MI300X\"}],"
        "\"strings\": {\"buffer_records\": [{\"kind\": \"HIP\", \"operations\": [\"hipMemcpy\", "
        "\"hipLaunchKernel\"]},"
        " {\"kind\": \"COPY\", \"operations\": [\"NONE\", \"MEMORY_COPY_DEVICE_TO_HOST\"]}]},"
        "\"kernel_symbols\": [{\"kernel_id\": 8, \"formatted_kernel_name\": \"gemm<float>\"}]}]}");
    const struct ll_device_timeline *t = c.trace->timeline;
    assert_int_equal(t->event_count, 2);
    assert_string_equal(name_of(t, 0), "gemm<float>");
    assert_int_equal(t->events[0].duration_ns, 600);
    assert_string_equal(t->names[t->calls[t->events[0].call].name], "hipLaunchKernel");
    assert_string_equal(name_of(t, 1), "Memcpy DtoH");
    assert_int_equal(t->events[1].bytes, 64);
    assert_int_equal(t->wait_count, 1); /* hipMemcpy returned behind its copy */
    assert_int_equal(t->waits[0].after, 1);
    assert_string_equal(ll_trace_fact(c.trace, "device"), "AMD Instinct MI300X");
    end_conversion(&c);
}

/* Files of kernels and of calls, columns in any order, agents as "Agent 1". */
static void rocprofv3s_tables_are_read_by_their_columns(void **state)
{
    (void)state;
    struct ll_str kernels = {0}, calls = {0};
    struct conversion c = {.importer = ll_import_ROCPROF};
    ll_str_add(&kernels,
               "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_"
               "Timestamp\","
               "\"End_Timestamp\"\r\n\"KERNEL_DISPATCH\",\"Agent 1\",1,3,\"f(int, \"\"x\"\")\",9,100,350\n");
    ll_str_add(&calls, "Domain,Function,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
                       "HIP_RUNTIME_API,hipLaunchKernel,1,9,50,60\n\n");
    add_file(&c, "a.csv", &kernels);
    add_file(&c, "b.csv", &calls);
    convert(&c);
    assert_non_null(c.trace);
    const struct ll_device_timeline *t = c.trace->timeline;
    assert_int_equal(t->event_count, 1);
    assert_int_equal(t->call_count, 1);
    assert_int_equal(t->events[0].call, 0);
    assert_int_equal(t->events[0].duration_ns, 250);
    assert_true(strncmp(name_of(t, 0), "f(int, ", 7) == 0);
    ll_str_release(&kernels);
    ll_str_release(&calls);
    end_conversion(&c);
}

/* --- XPlane --- */

static void put_message(struct ll_str *out, uint64_t number, struct ll_str *message)
{
    ll_wire_put_bytes(out, number, message->length ? message->text : "", message->length);
    ll_str_release(message);
}

static void put_entry(struct ll_str *plane, uint64_t number, uint64_t id, const char *name)
{
    struct ll_str entry = {0}, value = {0};
    ll_wire_put_integer(&value, 1, id);
    ll_wire_put_text(&value, 2, name);
    ll_wire_put_integer(&entry, 1, id);
    put_message(&entry, 2, &value);
    put_message(plane, number, &entry);
}

/* An event of a kind that begins so many nanoseconds behind its line's begin. */
static void put_event(struct ll_str *line, uint64_t kind, uint64_t offset_ns, uint64_t duration_ns,
                      uint64_t correlation)
{
    struct ll_str event = {0}, stat = {0};
    ll_wire_put_integer(&event, 1, kind);
    ll_wire_put_integer(&event, 2, 1000 * offset_ns);
    ll_wire_put_integer(&event, 3, 1000 * duration_ns);
    ll_wire_put_integer(&stat, 1, 4);
    ll_wire_put_integer(&stat, 3, correlation);
    if (correlation)
        put_message(&event, 4, &stat);
    ll_str_release(&stat);
    put_message(line, 4, &event);
}

static void begin_line(struct ll_str *line, uint64_t id, const char *name, uint64_t begin_ns)
{
    ll_wire_put_integer(line, 1, id);
    ll_wire_put_text(line, 2, name);
    ll_wire_put_integer(line, 3, begin_ns);
}

/* A GPU with a stream, beside it the same ops once more, which do not count; a TPU whose ops nest: of a
 * loop of 100 ns the two ops within it count; a thread that launched the kernel 300 ns before. Names stand
 * behind lines. */
static void planes_of_devices_are_ranks(void **state)
{
    (void)state;
    struct ll_str space = {0}, plane = {0}, line = {0};
    ll_wire_put_text(&plane, 2, "/device:GPU:0");
    begin_line(&line, 17, "Stream #17(Kernel)", 5000);
    put_event(&line, 1, 400, 50, 33);
    put_event(&line, 2, 500, 20, 0);
    put_message(&plane, 3, &line);
    begin_line(&line, 18, "XLA Ops", 5000);
    put_event(&line, 1, 400, 50, 0);
    put_message(&plane, 3, &line);
    put_entry(&plane, 4, 1, "fusion_1");
    put_entry(&plane, 4, 2, "MemcpyD2H");
    put_entry(&plane, 5, 4, "correlation_id");
    put_message(&space, 1, &plane);
    ll_wire_put_text(&plane, 2, "/host:CPU");
    begin_line(&line, 3, "python3", 5000);
    put_event(&line, 9, 100, 10, 33);
    put_event(&line, 9, 120, 10, 0);
    put_message(&plane, 3, &line);
    put_entry(&plane, 4, 9, "cuLaunchKernel");
    put_entry(&plane, 5, 4, "correlation_id");
    put_message(&space, 1, &plane);
    ll_wire_put_text(&plane, 2, "/device:TPU:0");
    begin_line(&line, 1, "XLA Ops", 0);
    put_event(&line, 1, 0, 100, 0);
    put_event(&line, 2, 10, 30, 0);
    put_event(&line, 2, 50, 40, 0);
    put_event(&line, 3, 100, 5, 0);
    put_message(&plane, 3, &line);
    put_entry(&plane, 4, 1, "while");
    put_entry(&plane, 4, 2, "dot");
    put_entry(&plane, 4, 3, "copy");
    put_message(&space, 1, &plane);
    struct conversion c = import_bytes(ll_import_XPLANE, "a.xplane.pb", space.text, space.length);
    ll_str_release(&space);
    assert_non_null(c.trace);
    const struct ll_device_timeline *t = c.trace->timeline;
    assert_int_equal(t->rank_count, 2);
    assert_int_equal(t->event_count, 5);
    assert_int_equal(t->call_count, 1);
    uint64_t gpu_ns = 0, tpu_ns = 0, launched = 0;
    for (uint64_t i = 0; i < t->event_count; i++) {
        *(t->tracks[t->events[i].track].rank ? &tpu_ns : &gpu_ns) += t->events[i].duration_ns;
        launched += t->events[i].call != LL_NO_PART;
        assert_true(strcmp(name_of(t, i), "while") != 0);
    }
    assert_int_equal(gpu_ns, 50 + 20);
    assert_int_equal(tpu_ns, 30 + 40 + 5);
    assert_int_equal(launched, 1);
    end_conversion(&c);
}

/* --- ONNX Runtime --- */

#define NODE(name, op, time, duration, in, out)                                                              \
    "{\"cat\":\"Node\",\"tid\":1,\"ts\":" #time ",\"dur\":" #duration ",\"name\":\"" name                    \
    "_kernel_time\",\"args\":{\"op_name\":\"" op "\",\"input_type_shape\":[" in                              \
    "],\"output_type_shape\":[" out "]}}"
#define RUN(time, duration)                                                                                  \
    "{\"cat\":\"Session\",\"tid\":1,\"ts\":" #time ",\"dur\":" #duration                                     \
    ",\"name\":\"model_run\",\"args\":{}}"
#define TWO_NODES(time, later)                                                                               \
    NODE("dense", "MatMul", time, 20, "{\"float\":[2,3,8]},{\"float\":[8,16]}", "{\"float\":[2,3,16]}")      \
    "," NODE("norm", "LayerNormalization", later, 5, "{\"float\":[2,3,16]}", "{\"float\":[2,3,16]}")

/* Two runs, the second of which a crash cut off: 2 (6 x 16) 8 FLOP each; the branch's node lies within the
 * If. */
static void runs_of_onnx_runtime_are_steps(void **state)
{
    (void)state;
    static const char whole[] = "[" TWO_NODES(100, 130) "," RUN(95, 50) "," NODE(
        "if", "If", 200, 40, "{\"bool\":[]}",
        "{\"float\":[4]}") "," NODE("inner", "Relu", 210, 10, "{\"float\":[4]}",
                                    "{\"float\":[4]}") "," RUN(195, 60) "," TWO_NODES(300, 330);
    struct conversion c = import_text(ll_import_ORT_PROFILE, "a.json", whole);
    assert_int_equal(c.trace->step_count, 3);
    assert_int_equal(c.trace->op_count, 5);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].view.kind, LL_OP_MATMUL);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].flops, 2 * 6 * 16 * 8);
    assert_int_equal(c.trace->ops[0].duration_ns, 20000);
    assert_int_equal(c.trace->signatures[c.trace->ops[1].signature].view.kind, LL_OP_KERNEL);
    assert_int_equal(c.trace->signatures[c.trace->ops[2].signature].view.kind, LL_OP_RELU);
    assert_int_equal(c.trace->timeline->event_count, 5);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read_whatever_their_trees_are),
        cmocka_unit_test(what_is_no_database_is_refused),
        cmocka_unit_test(rocprofv3s_json_is_read),
        cmocka_unit_test(rocprofv3s_tables_are_read_by_their_columns),
        cmocka_unit_test(planes_of_devices_are_ranks),
        cmocka_unit_test(runs_of_onnx_runtime_are_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
