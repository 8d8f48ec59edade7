/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one command: each gets a trace; facts of the header and summaries follow at the end. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/capture/capture.h"

#include "tracer/base/clock.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"
#include "tracer/record/elf.h"
#include "tracer/record/host.h"
#include "tracer/interpose/call.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_NS 1000000000u
enum { EVENTS_A_LOOK = 1 << 16 }; /* at the clock */

/* A process as it is recorded. */
struct recorded {
    struct ll_session *session;
    size_t number; /* of the reader */
    const char *path;
    struct ll_recorder *recorder; /* NULL when it could not be opened */
    struct ll_capture *capture;
    uint64_t started_ns, flushed_ns;
    size_t facts_written; /* of what the process said */
    struct {
        uint64_t count, first_ns;
        const char *routine; /* of the first */
    } unreturned;
    enum ll_status status;
};

struct ll_session {
    struct ll_arena arena;
    const struct ll_session_settings *settings;
    struct ll_ring_reader *reader;
    struct recorded **processes; /* by number of the reader; NULL before the first call */
    uint64_t capacity, process_count;
    uint64_t recorded_count; /* processes that have called something */
    char site[512];          /* scratch: the text of a call site */
};

struct ll_session *ll_session_open(const struct ll_session_settings *settings, enum ll_status *status)
{
    struct ll_session *session = calloc(1, sizeof *session);
    *status = LL_NO_MEMORY;
    if (!session)
        return NULL;
    session->settings = settings;
    session->reader = ll_ring_open(settings->folder, status);
    if (session->reader)
        return session;
    free(session);
    return NULL;
}

/* What the process said, as facts of the header. */

/* What an OpenBLAS core of this CPU should be, where it took the CPU for an older one; else NULL. Static. */
static const char *better_core_than(const char *core)
{
#if defined(__x86_64__)
    static const char *const lesser[] = {"Prescott", "Core2",     "Nehalem",     "Sandybridge", "Haswell",
                                         "Zen",      "Excavator", "Steamroller", "Piledriver",  "Bulldozer"};
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    for (size_t i = 0; i < sizeof lesser / sizeof lesser[0] && core && wide; i++)
        if (strcmp(core, lesser[i]) == 0)
            return "SkylakeX";
#else
    (void)core;
#endif
    return NULL;
}

/* How facts of the log are called in a header; what is not here is a variable of the environment. */
static const char *header_key(struct ll_arena *arena, const char *key)
{
    static const char *const keys[][2] = {{"openblas_get_corename", "blas.core"},
                                          {"openblas_get_config", "blas.config"},
                                          {"openblas_get_num_threads", "blas.threads"},
                                          {"openblas_get_parallel", "blas.parallel"},
                                          {"program", "program"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i][0]) == 0)
            return keys[i][1];
    return ll_format(arena, "environment.%s", key);
}

static void add_said(struct recorded *process, const struct ll_ring_process_info *info,
                     struct ll_facts *facts)
{
    for (; process->facts_written < info->fact_count; process->facts_written++) {
        const struct ll_ring_fact *fact = &info->facts[process->facts_written];
        const char *key = header_key(facts->arena, fact->key);
        facts->failed |= !key;
        if (key)
            ll_facts_add(facts, key, "%s", fact->value);
        if (key && strcmp(key, "blas.core") == 0 && better_core_than(fact->value))
            ll_facts_add(facts, "blas.better_core", "%s", better_core_than(fact->value));
    }
}

static const char *said(const struct ll_ring_process_info *info, const char *key)
{
    for (size_t i = 0; i < info->fact_count; i++)
        if (strcmp(info->facts[i].key, key) == 0)
            return info->facts[i].value;
    return NULL;
}

static void add_libraries(const struct ll_ring_process_info *info, struct ll_facts *facts)
{
    for (size_t i = 0; i < info->library_count; i++) {
        const char *path = info->libraries[i].path;
        const char *file = *path ? path : said(info, "program");
        const char *id = file ? ll_elf_build_id(facts->arena, file) : NULL;
        const char *key =
            *path ? ll_format(facts->arena, "library.%s", ll_base_name(path)) : "program.build_id";
        if (id && key)
            ll_facts_add(facts, key, "%s", id);
    }
}

/* Processes. */

static const char *site_of(void *context, uint64_t address, uint32_t mapping)
{
    struct recorded *process = context;
    struct ll_session *session = process->session;
    struct ll_ring_process_info info = ll_ring_process_info(session->reader, process->number);
    const struct ll_ring_library *library = ll_ring_library_at(&info, address, mapping);
    if (!library)
        return NULL;
    struct ll_ring_library named = *library;
    const char *program = said(&info, "program");
    named.path = *named.path ? named.path : program ? program : "program";
    const char *text =
        session->settings->site ? session->settings->site(session->settings->context, &named, address) : NULL;
    if (text)
        return text;
    snprintf(session->site, sizeof session->site, "%s+0x%" PRIx64, ll_base_name(named.path),
             address - named.base);
    return session->site;
}

static bool is_taken(const struct ll_session *session, const char *path)
{
    for (uint64_t i = 0; i < session->process_count; i++)
        if (session->processes[i] && strcmp(session->processes[i]->path, path) == 0)
            return true;
    return false;
}

/* T.llt, or T.PID.llt; with a number behind it where a process became another program and is recorded again.
 */
static const char *path_for(struct ll_session *session, uint64_t pid)
{
    const char *output = session->settings->output, *path = output;
    size_t length = strlen(output);
    bool ends = length > 4 && strcmp(output + length - 4, ".llt") == 0;
    int stem = (int)(ends ? length - 4 : length);
    if (pid != session->settings->pid)
        path = ll_format(&session->arena, "%.*s.%" PRIu64 ".llt", stem, output, pid);
    for (unsigned again = 2; path && is_taken(session, path); again++)
        path = ll_format(&session->arena, "%.*s.%" PRIu64 "-%u.llt", stem, output, pid, again);
    return path;
}

static void open_trace(struct recorded *process, const struct ll_ring_process_info *info)
{
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    ll_facts_add(&facts, "model", "%s", process->session->settings->command);
    ll_facts_add(&facts, "mode", "program");
    ll_facts_add(&facts, "pid", "%" PRIu64, info->pid);
    ll_facts_add(&facts, "parent_pid", "%" PRIu64, info->parent_pid);
    ll_host_facts("", &facts);
    add_said(process, info, &facts);
    process->status = LL_NO_MEMORY;
    if (!facts.failed)
        process->recorder = ll_recorder_open(process->path, facts.items, facts.count, &process->status);
    ll_arena_release(&arena);
    if (!process->recorder)
        return;
    const struct ll_capture_settings settings = {
        .recorder = process->recorder, .origin_ns = process->started_ns, .site = site_of, .context = process};
    process->capture = ll_capture_open(&settings);
}

static struct recorded *new_process(struct ll_session *session, size_t number, uint64_t first_ns)
{
    struct ll_ring_process_info info = ll_ring_process_info(session->reader, number);
    struct recorded *process = ll_alloc(&session->arena, 1, sizeof *process);
    const char *path = process ? path_for(session, info.pid) : NULL;
    if (!path)
        return NULL;
    *process = (struct recorded){.session = session, .number = number, .path = path, .flushed_ns = first_ns};
    process->started_ns = ll_min(ll_max(info.started_ns, session->settings->started_ns), first_ns);
    session->processes[number] = process;
    session->recorded_count++;
    open_trace(process, &info);
    return process;
}

static struct recorded *process_of(struct ll_session *session, size_t number, uint64_t first_ns)
{
    uint64_t before = session->process_count;
    if (number >= before) {
        if (!ll_grow(&session->processes, &session->capacity, number + 1u, sizeof *session->processes))
            return NULL;
        memset(session->processes + before, 0, (number + 1 - before) * sizeof *session->processes);
        session->process_count = number + 1;
    }
    struct recorded *process = session->processes[number];
    return process ? process : new_process(session, number, first_ns);
}

/* Events. */

static void flush_when_due(struct recorded *process, uint64_t now_ns)
{
    if (!process->recorder || now_ns - process->flushed_ns < FLUSH_NS)
        return;
    ll_recorder_flush(process->recorder);
    process->flushed_ns = now_ns;
}

static void flush_all(struct ll_session *session)
{
    uint64_t now_ns = ll_now_ns();
    for (uint64_t i = 0; i < session->process_count; i++)
        if (session->processes[i])
            flush_when_due(session->processes[i], now_ns);
}

void ll_session_drain(struct ll_session *session)
{
    struct ll_event event;
    for (uint64_t taken = 1; ll_ring_next(session->reader, &event); taken++) {
        size_t number = ll_ring_thread_process(session->reader, event.thread);
        struct recorded *process = process_of(session, number, event.start_ns);
        if (process && process->capture)
            ll_capture_event(process->capture, &event);
        if (taken % EVENTS_A_LOOK == 0) /* a busy program may never let us come to an end */
            flush_all(session);
    }
    flush_all(session);
}

void ll_session_wait(struct ll_session *session, uint64_t timeout_ns)
{
    ll_ring_wait(session->reader, timeout_ns);
}

uint64_t ll_session_refused(const struct ll_session *session)
{
    return ll_ring_refused(session->reader);
}

uint64_t ll_session_unreadable(struct ll_session *session)
{
    ll_ring_finish(session->reader);
    ll_session_drain(session);
    uint64_t count = ll_ring_unreadable(session->reader);
    for (size_t i = 0; i < ll_ring_process_count(session->reader); i++) {
        bool is_recorded = i < session->process_count && session->processes[i];
        count += !is_recorded && ll_ring_process_info(session->reader, i).damaged > 0;
    }
    return count;
}

/* The end. */

/* As what the process went on; NULL when it did not. */
static const struct recorded *successor(const struct recorded *process,
                                        const struct ll_ring_process_info *info)
{
    const struct ll_session *session = process->session;
    const struct recorded *next = NULL;
    for (uint64_t i = 0; i < session->process_count; i++) {
        const struct recorded *other = session->processes[i];
        if (other->started_ns > process->started_ns && (!next || other->started_ns < next->started_ns) &&
            ll_ring_process_info(session->reader, other->number).pid == info->pid)
            next = other;
    }
    return next;
}

static bool runs(const struct ll_ring_process_info *info)
{
    return kill((pid_t)info->pid, 0) == 0 || errno == EPERM;
}

/* How a process ended; *end_ns is when, 0 where nobody saw it. */
static const char *end_of(const struct recorded *process, const struct ll_ring_process_info *info,
                          uint64_t *end_ns)
{
    const struct ll_session_settings *settings = process->session->settings;
    const struct recorded *next = successor(process, info);
    *end_ns = info->ended_ns;
    if (info->ended_ns)
        return "in peace";
    *end_ns = next ? next->started_ns : 0;
    if (next)
        return "became another program";
    bool seen = info->pid == settings->pid && settings->ended_ns;
    *end_ns = seen ? settings->ended_ns : 0;
    if (seen)
        return settings->killed ? "killed" : "without a word, or as another program";
    if (!runs(info))
        return "killed, or as another program";
    *end_ns = ll_now_ns();
    return "still running";
}

/* Calls that had not returned. Where the process ended in peace that may be because something had jumped out
 * of one long before: then it is only told, else it is an op up to the end. */
static void take_unreturned(struct recorded *process, const struct ll_ring_process_info *info,
                            uint64_t end_ns)
{
    const struct ll_ring_reader *reader = process->session->reader;
    struct ll_unreturned_call call;
    for (uint64_t at = 0; ll_ring_next_unreturned(reader, &at, &call);) {
        if (call.process != process->number)
            continue;
        const struct ll_unreturned last = {ll_symbol_row(call.symbol)->name, call.thread, call.start_ns,
                                           ll_max(end_ns, call.start_ns)};
        if (process->unreturned.count++ == 0 || call.start_ns < process->unreturned.first_ns) {
            process->unreturned.first_ns = call.start_ns;
            process->unreturned.routine = last.routine;
        }
        if (process->capture && !info->ended_ns)
            ll_capture_unreturned(process->capture, &last);
    }
}

static double unreturned_s(const struct recorded *process, uint64_t end_ns)
{
    uint64_t first_ns = process->unreturned.first_ns;
    return process->unreturned.count && end_ns > first_ns ? (double)(end_ns - first_ns) * 1e-9 : 0;
}

/* PyTorch as Python has it; a program in C++ has its own ways to be asked. */
static bool has_torch(const struct ll_ring_process_info *info)
{
    size_t i = 0;
    while (i < info->library_count && !strstr(info->libraries[i].path, "/libtorch_python."))
        i++;
    return i < info->library_count;
}

/* What is only known when the process has ended: what it said late, the counters of its page, calls that
 * never returned, warnings. These facts follow behind the ops. */
static void count_late_facts(struct recorded *process, const struct ll_ring_process_info *info,
                             const char *ended, uint64_t end_ns)
{
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    add_said(process, info, &facts);
    add_libraries(info, &facts);
    ll_facts_add(&facts, "summary.unresolved", "%" PRIu64, info->unresolved);
    ll_facts_add(&facts, "summary.queries", "%" PRIu64, info->queries);
    ll_facts_add(&facts, "summary.abandoned", "%" PRIu64, info->abandoned);
    if (info->unfollowed)
        ll_facts_add(&facts, "summary.unfollowed", "%" PRIu64, info->unfollowed);
    if (info->damaged)
        ll_facts_add(&facts, "summary.damaged", "%" PRIu64, info->damaged);
    ll_facts_add(&facts, "summary.unplaced", "%" PRIu64, info->ringless);
    ll_facts_add(&facts, "summary.late", "%" PRIu64, info->late);
    if (process->unreturned.count) {
        ll_facts_add(&facts, "summary.unreturned", "%" PRIu64, process->unreturned.count);
        ll_facts_add(&facts, "summary.unreturned_longest", "%s", process->unreturned.routine);
        ll_facts_add(&facts, "summary.unreturned_s", "%.6f", unreturned_s(process, end_ns));
    }
    ll_facts_add(&facts, "summary.ended", "%s", ended);
    const struct ll_session_settings *settings = process->session->settings;
    const char *warning =
        settings->warning ? settings->warning(settings->warning_context, info->pid, has_torch(info)) : NULL;
    if (warning)
        ll_facts_add(&facts, "warning.pytorch", "%s", warning);
    if (!facts.failed)
        ll_recorder_facts(process->recorder, facts.items, facts.count);
    ll_arena_release(&arena);
}

static void describe(const struct recorded *process, const struct ll_ring_process_info *info, uint64_t end_ns,
                     struct ll_arena *arena, struct ll_session_trace *trace)
{
    const char *core = said(info, "openblas_get_corename");
    *trace = (struct ll_session_trace){.path = ll_copy_text(arena, process->path, strlen(process->path)),
                                       .pid = info->pid,
                                       .status = process->status,
                                       .unresolved = info->unresolved,
                                       .unplaced = info->ringless,
                                       .unfollowed = info->unfollowed,
                                       .damaged = info->damaged,
                                       .queries = info->queries,
                                       .late = info->late,
                                       .unreturned = process->unreturned.count,
                                       .longest = process->unreturned.routine,
                                       .longest_s = unreturned_s(process, end_ns),
                                       .blas_core = core ? ll_copy_text(arena, core, strlen(core)) : NULL,
                                       .better_core = better_core_than(core),
                                       .core_asked_for = said(info, "OPENBLAS_CORETYPE") != NULL};
    if (!process->capture)
        return;
    trace->summary = ll_capture_summary(process->capture);
    uint64_t busiest_ns = 0;
    for (uint32_t i = 0; i < trace->summary.thread_count; i++)
        busiest_ns = ll_max(busiest_ns, trace->summary.threads[i].in_calls_ns);
    trace->wall_s = (double)trace->summary.wall_ns * 1e-9;
    trace->covered = trace->wall_s > 0 ? (double)busiest_ns * 1e-9 / trace->wall_s : 0;
    trace->summary.threads = NULL;
}

static void close_process(struct recorded *process, struct ll_arena *arena, struct ll_session_trace *trace)
{
    struct ll_ring_process_info info = ll_ring_process_info(process->session->reader, process->number);
    uint64_t end_ns;
    const char *ended = end_of(process, &info, &end_ns);
    take_unreturned(process, &info, end_ns);
    if (process->capture)
        ll_capture_finish(process->capture, info.nested, end_ns);
    describe(process, &info, end_ns, arena, trace);
    if (process->recorder) {
        count_late_facts(process, &info, ended, end_ns);
        ll_capture_close(process->capture);
        trace->status = ll_recorder_close(process->recorder);
    }
}

/* The process that was started, what it started, the others; of these the first to be heard of. The one that
 * was started may only stand for the program (tracer/interpose/probe), which then is what it started. */
static unsigned distance_of(const struct recorded *process, const struct ll_ring_process_info *info)
{
    uint64_t started = process->session->settings->pid;
    return info->pid == started ? 0 : info->parent_pid == started ? 1 : 2;
}

static int compare_processes(const void *left, const void *right)
{
    const struct recorded *a = *(struct recorded *const *)left, *b = *(struct recorded *const *)right;
    struct ll_ring_process_info of_a = ll_ring_process_info(a->session->reader, a->number);
    struct ll_ring_process_info of_b = ll_ring_process_info(b->session->reader, b->number);
    unsigned distance_a = distance_of(a, &of_a), distance_b = distance_of(b, &of_b);
    if (distance_a != distance_b)
        return distance_a < distance_b ? -1 : 1;
    if (a->started_ns != b->started_ns)
        return a->started_ns < b->started_ns ? -1 : 1;
    return (of_a.pid > of_b.pid) - (of_a.pid < of_b.pid);
}

/* Leaves out processes that called nothing, and puts the others in the order in which they are told. */
static void put_in_order(struct ll_session *session)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < session->process_count; i++)
        if (session->processes[i])
            session->processes[kept++] = session->processes[i];
    session->process_count = kept;
    if (kept)
        qsort(session->processes, kept, sizeof *session->processes, compare_processes);
}

/* Where the process that was started called nothing, the first that is told has its name. */
static void name_first(struct ll_session *session, struct ll_session_trace *traces, size_t count)
{
    if (count == 0 || is_taken(session, session->settings->output) || traces[0].status != LL_OK)
        return;
    const char *target = ll_path_target(&session->arena, session->settings->output);
    if (target && rename(traces[0].path, target) == 0)
        traces[0].path = session->settings->output;
}

/* A process may have had no more than one call, which has not returned. */
static void follow_unreturned(struct ll_session *session)
{
    struct ll_unreturned_call call;
    for (uint64_t at = 0; ll_ring_next_unreturned(session->reader, &at, &call);)
        process_of(session, call.process, call.start_ns);
}

bool ll_session_close(struct ll_session *session, struct ll_arena *arena, struct ll_session_trace **traces,
                      size_t *count)
{
    ll_ring_finish(session->reader);
    ll_session_drain(session);
    follow_unreturned(session);
    put_in_order(session);
    *traces = ll_alloc(arena, session->recorded_count, sizeof **traces);
    *count = 0;
    struct ll_session_trace unread;
    for (uint64_t i = 0; i < session->process_count; i++)
        close_process(session->processes[i], arena, *traces ? &(*traces)[(*count)++] : &unread);
    if (*traces)
        name_first(session, *traces, *count);
    ll_ring_close(session->reader);
    free(session->processes);
    ll_arena_release(&session->arena);
    free(session);
    return *traces != NULL;
}
