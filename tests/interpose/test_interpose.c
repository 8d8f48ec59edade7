/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of calls of small foreign programs. test_interpose PRELOAD FOLDER, where the programs are. */
#define _GNU_SOURCE
#include "check.h"
#include "interpose/recording.h"

#include "tracer/base/clock.h"

#include <poll.h>
#include <signal.h>

static const char *preload, *folder;

/* Everything that one run of a program left behind. */
struct seen {
    struct recording recording;
    struct ll_event *events;
    uint64_t count, capacity;
};

static void collect(struct seen *seen)
{
    struct ll_event event;
    while (ll_ring_next(seen->recording.reader, &event)) {
        assert_true(ll_grow(&seen->events, &seen->capacity, seen->count + 1, sizeof event));
        seen->events[seen->count++] = event;
    }
}

static void finish(struct seen *seen)
{
    free(seen->events);
    recording_end(&seen->recording);
}

static void run(struct seen *seen, const char *program, const char *what, uint64_t ring_bytes)
{
    char path[4096];
    int out;
    *seen = (struct seen){0};
    snprintf(path, sizeof path, "%s/%s", folder, program);
    bool opens = strcmp(program, "opening_program") == 0;
    char *const arguments[] = {path, (char *)(opens ? folder : what), opens ? (char *)what : NULL, NULL};
    recording_begin(&seen->recording, ring_bytes, false);
    pid_t child = recording_start(&seen->recording, preload, arguments, &out);
    recording_wait(&seen->recording, child, out);
    collect(seen);
}

/* The same, while somebody reads who is slow for so small a ring. */
static void run_reading(struct seen *seen, const char *what)
{
    char path[4096];
    int out;
    *seen = (struct seen){0};
    snprintf(path, sizeof path, "%s/linked_program", folder);
    recording_begin(&seen->recording, LL_RING_LEAST_BYTES, true);
    pid_t child = recording_start(&seen->recording, preload, (char *const[]){path, (char *)what, NULL}, &out);
    struct pollfd end = {.fd = out, .events = POLLIN};
    do {
        collect(seen);
        ll_ring_wait(seen->recording.reader, 1000000);
    } while (poll(&end, 1, 0) == 0);
    recording_wait(&seen->recording, child, out);
    collect(seen);
}

static uint64_t count_calls(const struct seen *seen, enum ll_symbol symbol, uint32_t depth)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < seen->count; i++)
        count += seen->events[i].kind == LL_EVENT_CALL && seen->events[i].call.symbol == symbol &&
                 seen->events[i].call.depth == depth;
    return count;
}

static uint64_t count_kind(const struct seen *seen, enum ll_event_kind kind)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < seen->count; i++)
        count += seen->events[i].kind == kind;
    return count;
}

/* The program ran as it would have alone, made so many products, and all of them were seen. */
static void expect_products(const char *program, const char *what, uint64_t count)
{
    struct seen seen;
    run(&seen, program, what, 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), count);
    for (size_t i = 0; i < ll_ring_process_count(seen.recording.reader); i++) {
        struct ll_ring_process_info info = ll_ring_process_info(seen.recording.reader, i);
        assert_int_equal(info.lost + info.damaged + info.unresolved + info.ringless + info.unsaid, 0);
    }
    finish(&seen);
}

static void expect_operand(const struct ll_call *call, unsigned i, enum ll_argument role,
                           enum ll_access access, uint64_t rows, uint64_t row_bytes, uint64_t stride_bytes)
{
    assert_true(i < call->operand_count);
    const struct ll_call_operand *operand = &call->operand[i];
    assert_int_equal(operand->role, role);
    assert_int_equal(operand->access, access);
    assert_int_equal(operand->rows, rows);
    assert_int_equal(operand->row_bytes, row_bytes);
    assert_int_equal(operand->stride_bytes, stride_bytes);
    assert_true(operand->address != 0);
}

static void a_call_is_seen_with_its_sizes_and_operands(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "calls", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(seen.count, 3);
    const struct ll_call *call = &seen.events[0].call;
    assert_int_equal(call->symbol, LL_SYMBOL_cblas_sgemm); /* rows first: as it was called */
    assert_int_equal(call->routine, LL_ROUTINE_GEMM);
    assert_int_equal(call->dtype, LL_F32);
    assert_int_equal(ll_call_number(call, LL_NUMBER_m), 3);
    assert_int_equal(ll_call_number(call, LL_NUMBER_n), 2);
    assert_int_equal(ll_call_number(call, LL_NUMBER_k), 2);
    assert_int_equal(ll_call_number(call, LL_NUMBER_transb), 1);
    assert_int_equal(ll_call_number(call, LL_NUMBER_beta), 1);
    expect_operand(call, 0, LL_ARGUMENT_A, LL_ACCESS_READ, 1, 24, 24);
    expect_operand(call, 1, LL_ARGUMENT_B, LL_ACCESS_READ, 1, 16, 16);
    expect_operand(call, 2, LL_ARGUMENT_C, LL_ACCESS_BOTH, 1, 24, 24);
    call = &seen.events[1].call; /* columns first: 3 x 4 by columns is 4 x 3 by rows */
    assert_int_equal(call->symbol, LL_SYMBOL_dgemm_);
    assert_int_equal(ll_call_number(call, LL_NUMBER_m), 4);
    assert_int_equal(ll_call_number(call, LL_NUMBER_n), 3);
    assert_int_equal(ll_call_number(call, LL_NUMBER_k), 5);
    assert_int_equal(ll_call_number(call, LL_NUMBER_transa), 1);
    assert_int_equal(ll_call_number(call, LL_NUMBER_transb), 0);
    expect_operand(call, 0, LL_ARGUMENT_A, LL_ACCESS_READ, 1, 160, 160);
    expect_operand(call, 1, LL_ARGUMENT_B, LL_ACCESS_READ, 1, 120, 120);
    expect_operand(call, 2, LL_ARGUMENT_C, LL_ACCESS_WRITE, 1, 96, 96);
    call = &seen.events[2].call;
    assert_int_equal(call->symbol, LL_SYMBOL_ddot_);
    expect_operand(call, 0, LL_ARGUMENT_X, LL_ACCESS_READ, 3, 8, 32);
    expect_operand(call, 1, LL_ARGUMENT_Y, LL_ACCESS_READ, 1, 24, 24);
    finish(&seen);
}

static void integers_of_64_bits_arrive_whole(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "wide", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.events[0].call.symbol, LL_SYMBOL_scipy_cblas_dgemm64_);
    assert_int_equal(ll_call_number(&seen.events[0].call, LL_NUMBER_m), 5000000000);
    assert_int_equal(seen.events[1].call.symbol, LL_SYMBOL_ddot_64_);
    assert_int_equal(ll_call_number(&seen.events[1].call, LL_NUMBER_n), 5000000000);
    finish(&seen);
}

static void the_program_and_where_its_code_lies_are_known(void **state)
{
    (void)state;
    struct seen seen;
    uint64_t before_ns = ll_now_ns(), tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    run(&seen, "linked_program", "calls", 0);
    assert_int_equal(ll_ring_process_count(seen.recording.reader), 1);
    struct ll_ring_process_info info = ll_ring_process_info(seen.recording.reader, 0);
    assert_int_equal(info.parent_pid, getpid());
    assert_in_range(info.started_ns, before_ns - tick_ns, seen.events[0].start_ns);
    assert_true(info.ended_ns > seen.events[0].start_ns);
    bool named = false, placed = false;
    for (size_t i = 0; i < info.fact_count; i++)
        named |= strcmp(info.facts[i].key, "program") == 0 && strstr(info.facts[i].value, "/linked_program");
    for (size_t i = 0; i < info.library_count; i++)
        placed |= seen.events[0].call.caller >= info.libraries[i].begin &&
                  seen.events[0].call.caller < info.libraries[i].end;
    assert_true(named && placed);
    finish(&seen);
}

static void results_come_as_the_library_gives_them(void **state)
{
    (void)state;
    expect_products("linked_program", "returns", 1);
}

static void a_routine_that_nobody_has_stays_missing(void **state)
{
    (void)state;
    expect_products("linked_program", "weak", 1);
}

static void a_library_that_was_opened_for_one_alone_is_found(void **state)
{
    (void)state;
    expect_products("opening_program", "opens", 1);
}

static void each_caller_gets_the_library_it_would_have_got(void **state)
{
    (void)state;
    expect_products("opening_program", "two", 6);
}

static void a_library_that_is_gone_is_not_called(void **state)
{
    (void)state;
    struct seen seen;
    expect_products("opening_program", "reopens", 6);
    run(&seen, "opening_program", "reopens", 0);
    for (uint64_t i = 0; i < seen.count; i++) {
        const struct ll_event *event = &seen.events[i];
        struct ll_ring_process_info info = ll_ring_process_info(seen.recording.reader, 0);
        const struct ll_ring_library *from =
            ll_ring_library_at(&info, event->call.caller, event->call.mapping);
        assert_non_null(from);
        assert_non_null(strstr(from->path, i % 2 ? "/libsecond_" : "/libfirst_"));
    }
    finish(&seen);
}

static void a_constructor_amid_dlopen_may_call(void **state)
{
    (void)state;
    expect_products("opening_program", "early", 1);
}

static void a_jump_instead_of_a_call_arrives(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "opening_program", "jumps", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_ddot_, 0), 1);
    finish(&seen);
}

static void inner_calls_say_how_deep_they_are(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "nested", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.events[0].call.symbol, LL_SYMBOL_dgesv_); /* it began first, though it ended last */
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgesv_, 0), 1);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 1), 2);
    finish(&seen);
}

static void a_question_for_workspace_is_no_call(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "question", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgeqrf_, 0), 1);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).queries, 2);
    finish(&seen);
}

static void a_child_writes_a_file_of_its_own(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "forks", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(ll_ring_process_count(seen.recording.reader), 2);
    uint64_t calls[2] = {0};
    for (uint64_t i = 0; i < seen.count; i++)
        calls[ll_ring_thread_process(seen.recording.reader, seen.events[i].thread)]++;
    uint64_t first = ll_ring_process_info(seen.recording.reader, 0).parent_pid == (uint64_t)getpid();
    assert_int_equal(calls[!first], 4);
    assert_int_equal(calls[first], 2);
    finish(&seen);
}

static void what_was_recorded_before_an_early_exit_is_there(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "exits", 0);
    assert_int_equal(WEXITSTATUS(seen.recording.status), 7);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 5);
    assert_true(ll_ring_process_info(seen.recording.reader, 0).ended_ns > seen.events[4].start_ns);
    finish(&seen);
}

static void what_a_killed_program_recorded_is_there(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "killed", 0);
    assert_int_equal(WTERMSIG(seen.recording.status), SIGKILL);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 5);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).ended_ns, 0);
    finish(&seen);
}

static void a_call_that_a_program_died_in_is_known(void **state)
{
    (void)state;
    struct seen seen;
    struct ll_unreturned_call call;
    uint64_t at = 0, begun_ns = ll_now_ns();
    run(&seen, "linked_program", "within", 0);
    assert_int_equal(WTERMSIG(seen.recording.status), SIGKILL);
    assert_int_equal(seen.count, 0);
    assert_true(ll_ring_next_unreturned(seen.recording.reader, &at, &call));
    assert_int_equal(call.symbol, LL_SYMBOL_dscal_);
    assert_int_equal(call.process, 0);
    assert_in_range(call.start_ns, begun_ns, ll_now_ns());
    assert_false(ll_ring_next_unreturned(seen.recording.reader, &at, &call));
    finish(&seen);
}

static void threads_write_at_once_and_are_told_apart(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "threads", 0);
    uint64_t calls[8] = {0};
    assert_int_equal(seen.recording.status, 0);
    for (uint64_t i = 0; i < seen.count; i++) {
        assert_true(seen.events[i].thread < 8);
        calls[seen.events[i].thread]++;
        assert_true(i == 0 || seen.events[i].start_ns >= seen.events[i - 1].start_ns);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(calls[i], 1000);
    finish(&seen);
}

static void a_thread_that_ends_leaves_its_ring_to_the_next(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "short", 4 << 20);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 100);
    assert_int_equal(seen.events[99].thread, 49);
    struct ll_contents file;
    struct ll_arena arena = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/%llu.0", seen.recording.folder,
             (unsigned long long)ll_ring_process_info(seen.recording.reader, 0).pid);
    assert_int_equal(ll_read_whole(path, UINT32_MAX, &arena, &file), LL_OK);
    assert_true(file.length <
                LL_RING_RINGS_AT + (8 << 20)); /* the first ring and seven of an eighth, no more */
    ll_arena_release(&arena);
    finish(&seen);
}

static void a_call_that_was_jumped_out_of_is_given_up(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "jumps", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 2);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).abandoned, 1);
    finish(&seen);
}

static void after_a_jump_calls_from_deeper_frames_are_not_within_the_lost_one(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "deeper", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 10);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).abandoned, 1);
    finish(&seen);
}

static void a_record_that_was_jumped_out_of_is_lost_alone(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "handlers", 64 << 20);
    assert_int_equal(seen.recording.status, 0);
    uint64_t mark = 0, behind = 0;
    while (mark < seen.count && seen.events[mark].kind != LL_EVENT_STEP)
        mark++;
    for (uint64_t i = mark; i < seen.count; i++)
        behind += seen.events[i].kind == LL_EVENT_CALL && seen.events[i].call.depth == 0;
    assert_int_equal(behind, 10);
    finish(&seen);
}

static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "floods", LL_RING_LEAST_BYTES);
    uint64_t lost = 0, calls = count_calls(&seen, LL_SYMBOL_dgemm_, 0);
    assert_int_equal(seen.recording.status, 0);
    for (uint64_t i = 0; i < seen.count; i++)
        lost += seen.events[i].kind == LL_EVENT_LOST ? seen.events[i].lost : 0;
    assert_int_equal(lost + calls, 20000);
    assert_true(calls > 300 && lost > 0);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).lost, lost);
    finish(&seen);
}

static void a_thread_waits_for_room_while_somebody_reads(void **state)
{
    (void)state;
    struct seen seen;
    run_reading(&seen, "floods");
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 20000);
    assert_int_equal(count_kind(&seen, LL_EVENT_LOST), 0);
    assert_true(count_kind(&seen, LL_EVENT_WAIT) > 0);
    for (uint64_t i = 1; i < seen.count; i++)
        assert_true(seen.events[i].start_ns >= seen.events[i - 1].start_ns);
    finish(&seen);
}

/* Two seconds for the first record that finds no room, none for the others. */
static void nobody_waits_for_long_when_nobody_reads(void **state)
{
    (void)state;
    struct seen seen = {0};
    char path[4096];
    int out;
    snprintf(path, sizeof path, "%s/linked_program", folder);
    recording_begin(&seen.recording, LL_RING_LEAST_BYTES, true);
    uint64_t begin = ll_now_ns();
    pid_t child = recording_start(&seen.recording, preload, (char *const[]){path, "floods", NULL}, &out);
    recording_wait(&seen.recording, child, out);
    assert_true(ll_now_ns() - begin < UINT64_C(20000000000));
    collect(&seen);
    assert_int_equal(seen.recording.status, 0);
    uint64_t lost = ll_ring_process_info(seen.recording.reader, 0).lost;
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0) + lost, 20000);
    assert_true(lost > 0);
    finish(&seen);
}

static void a_program_that_forbids_system_calls_lives(void **state)
{
    (void)state;
    struct seen seen;
    run_reading(&seen, "forbids");
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 6001);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_ddot_, 0), 3);
    assert_true(ll_ring_process_info(seen.recording.reader, 0).ended_ns > 0);
    finish(&seen);
}

/* What was in them is lost, and the program goes on in another file. */
static void a_program_that_cuts_its_rings_off_lives(void **state)
{
    (void)state;
    struct seen seen;
    run_reading(&seen, "cuts");
    assert_int_equal(seen.recording.status, 0);
    assert_true(count_calls(&seen, LL_SYMBOL_dgemm_, 0) >= 99);
    uint64_t damaged = ll_ring_unreadable(seen.recording.reader);
    for (size_t i = 0; i < ll_ring_process_count(seen.recording.reader); i++)
        damaged += ll_ring_process_info(seen.recording.reader, i).damaged;
    assert_true(damaged > 0);
    finish(&seen);
}

static void memory_that_comes_and_goes_leaves_room_for_calls(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "churns", LL_RING_LEAST_BYTES);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 100);
    assert_true(count_kind(&seen, LL_EVENT_ALLOCATE) > 100);
    uint64_t told = count_kind(&seen, LL_EVENT_ALLOCATE) + count_kind(&seen, LL_EVENT_RELEASE);
    struct ll_ring_process_info info = ll_ring_process_info(seen.recording.reader, 0);
    assert_int_equal(told + info.unfollowed, 20000);
    assert_int_equal(info.lost, 0);
    finish(&seen);
}

static void a_signal_amid_a_record_does_no_harm(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "signals", 64 << 20);
    assert_int_equal(seen.recording.status, 0);
    struct ll_ring_process_info info = ll_ring_process_info(seen.recording.reader, 0);
    assert_int_equal(info.damaged, 0);
    uint64_t calls = 0, done = strtoull(seen.recording.output, NULL, 10);
    for (uint64_t i = 0; i < seen.count; i++)
        calls += seen.events[i].kind == LL_EVENT_CALL;
    assert_int_equal(calls + info.lost + info.nested + info.ringless, done);
    assert_int_equal(info.abandoned, 0); /* by a handler for a while, but they came back */
    finish(&seen);
}

static void marks_stand_between_calls(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "steps", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(count_kind(&seen, LL_EVENT_STEP), 3);
    for (size_t step = 0; step < 3; step++) /* of two calls each */
        assert_int_equal(seen.events[3 * step].kind, LL_EVENT_STEP);
    finish(&seen);
}

static void a_variable_makes_a_symbol_a_mark(void **state)
{
    (void)state;
    struct seen seen;
    setenv("LEADLINE_STEP", "dgemm_:2", 1);
    run(&seen, "linked_program", "exits", 0);
    unsetenv("LEADLINE_STEP");
    assert_int_equal(count_kind(&seen, LL_EVENT_STEP), 3); /* before the calls 1, 3 and 5 */
    assert_int_equal(seen.events[0].kind, LL_EVENT_STEP);
    assert_int_equal(seen.events[3].kind, LL_EVENT_STEP);
    finish(&seen);
}

/* The program takes pieces of these sizes, or gives one back: 0. */
static void expect_pieces(const char *what, const uint64_t *sizes, uint64_t count)
{
    struct seen seen;
    run(&seen, "linked_program", what, 0);
    assert_int_equal(seen.recording.status, 0);
    uint64_t at = 0, place = 0, released = 0;
    for (uint64_t i = 0; i < seen.count; i++) {
        const struct ll_event *event = &seen.events[i];
        if (event->kind != LL_EVENT_ALLOCATE && event->kind != LL_EVENT_RELEASE)
            continue;
        assert_true(at < count);
        assert_int_equal(event->kind, sizes[at] ? LL_EVENT_ALLOCATE : LL_EVENT_RELEASE);
        if (sizes[at])
            assert_int_equal(event->memory.size_bytes, sizes[at]);
        if (at == 0)
            place = event->memory.address;
        if (!sizes[at] && released++ == 0) /* the first is given back first */
            assert_int_equal(event->memory.address, place);
        at++;
    }
    assert_int_equal(at, count);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).ringless, 0);
    finish(&seen);
}

static void memory_is_seen_from_a_size_on(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {100000, 0, 200000, 100000, 50000, 0, 0, 0};
    expect_pieces("memory", sizes, sizeof sizes / sizeof *sizes);
}

static void memory_is_seen_however_a_program_asks_for_it(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {300000, 400000, 499712, 600000, 0, 0, 0};
    expect_pieces("pages", sizes, sizeof sizes / sizeof *sizes);
}

static void a_small_stack_is_large_enough(void **state)
{
    (void)state;
    expect_products("linked_program", "small", 1);
}

static void an_allocator_that_does_not_tell_sizes_is_not_asked(void **state)
{
    (void)state;
    static char both[8192];
    const char *kept = preload;
    snprintf(both, sizeof both, "%s:%s/libpages.so", preload, folder);
    preload = both;
    expect_products("linked_program", "memory", 1);
    preload = kept;
}

static void a_program_that_closes_all_files_is_recorded_on(void **state)
{
    (void)state;
    expect_products("linked_program", "closes", 7);
}

static void a_program_that_may_write_no_large_file_runs_on(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "limited", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(seen.count, 0);
    assert_int_equal(ll_ring_refused(seen.recording.reader), 1);
    finish(&seen);
}

static void a_program_that_becomes_another_has_two_files(void **state)
{
    (void)state;
    struct seen seen;
    run(&seen, "linked_program", "execs", 0);
    assert_int_equal(seen.recording.status, 0);
    assert_int_equal(ll_ring_process_count(seen.recording.reader), 2);
    assert_int_equal(ll_ring_process_info(seen.recording.reader, 0).pid,
                     ll_ring_process_info(seen.recording.reader, 1).pid);
    assert_int_equal(count_calls(&seen, LL_SYMBOL_dgemm_, 0), 2);
    finish(&seen);
}

static void without_a_folder_nothing_changes(void **state)
{
    (void)state;
    struct recording recording;
    char path[4096];
    int out;
    recording_begin(&recording, 0, false);
    snprintf(path, sizeof path, "%s/linked_program", folder);
    char *const arguments[] = {path, "calls", NULL};
    char kept[sizeof recording.folder];
    memcpy(kept, recording.folder, sizeof kept);
    strcpy(recording.folder, "no/such/folder");
    pid_t child = recording_start(&recording, preload, arguments, &out);
    memcpy(recording.folder, kept, sizeof kept);
    recording_wait(&recording, child, out);
    assert_int_equal(recording.status, 0);
    assert_string_equal(recording.output, "");
    recording_end(&recording);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_seen_with_its_sizes_and_operands),
        cmocka_unit_test(integers_of_64_bits_arrive_whole),
        cmocka_unit_test(the_program_and_where_its_code_lies_are_known),
        cmocka_unit_test(results_come_as_the_library_gives_them),
        cmocka_unit_test(a_routine_that_nobody_has_stays_missing),
        cmocka_unit_test(a_library_that_was_opened_for_one_alone_is_found),
        cmocka_unit_test(each_caller_gets_the_library_it_would_have_got),
        cmocka_unit_test(a_library_that_is_gone_is_not_called),
        cmocka_unit_test(a_constructor_amid_dlopen_may_call),
        cmocka_unit_test(a_jump_instead_of_a_call_arrives),
        cmocka_unit_test(inner_calls_say_how_deep_they_are),
        cmocka_unit_test(a_question_for_workspace_is_no_call),
        cmocka_unit_test(a_child_writes_a_file_of_its_own),
        cmocka_unit_test(what_was_recorded_before_an_early_exit_is_there),
        cmocka_unit_test(what_a_killed_program_recorded_is_there),
        cmocka_unit_test(a_call_that_a_program_died_in_is_known),
        cmocka_unit_test(threads_write_at_once_and_are_told_apart),
        cmocka_unit_test(a_thread_that_ends_leaves_its_ring_to_the_next),
        cmocka_unit_test(a_call_that_was_jumped_out_of_is_given_up),
        cmocka_unit_test(after_a_jump_calls_from_deeper_frames_are_not_within_the_lost_one),
        cmocka_unit_test(a_record_that_was_jumped_out_of_is_lost_alone),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(a_thread_waits_for_room_while_somebody_reads),
        cmocka_unit_test(nobody_waits_for_long_when_nobody_reads),
        cmocka_unit_test(a_program_that_forbids_system_calls_lives),
        cmocka_unit_test(a_program_that_cuts_its_rings_off_lives),
        cmocka_unit_test(memory_that_comes_and_goes_leaves_room_for_calls),
        cmocka_unit_test(a_signal_amid_a_record_does_no_harm),
        cmocka_unit_test(marks_stand_between_calls),
        cmocka_unit_test(a_variable_makes_a_symbol_a_mark),
        cmocka_unit_test(memory_is_seen_from_a_size_on),
        cmocka_unit_test(memory_is_seen_however_a_program_asks_for_it),
        cmocka_unit_test(a_small_stack_is_large_enough),
        cmocka_unit_test(an_allocator_that_does_not_tell_sizes_is_not_asked),
        cmocka_unit_test(a_program_that_closes_all_files_is_recorded_on),
        cmocka_unit_test(a_program_that_may_write_no_large_file_runs_on),
        cmocka_unit_test(a_program_that_becomes_another_has_two_files),
        cmocka_unit_test(without_a_folder_nothing_changes),
    };
    if (count != 3)
        return 2;
    preload = arguments[1];
    folder = arguments[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
