/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tracer/binary/reach.def against programs that make TINY_CALLS calls in the manner of each row:
 * a cell that says SEEN must see all of them, one that says NOT must see none, and none may change the
 * program's result. test_mechanisms TOOLS PROGRAMS: the folders of our libraries and of the tiny programs. */
#define _GNU_SOURCE
#include "check.h"

#include "mechanisms/family.h"
#include "mechanisms/tiny.h"
#include "tracer/binary/callsite.h"
#include "tracer/binary/coverage.h"
#include "tracer/interpose/ring_reader.h"
#include "tracer/interpose/call.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RIGHT_SUM = 3, CANNOT_RUN = 77, NAMES = LL_SYMBOL_COUNT };

static struct ll_arena arena;
static const char *tools, *programs;
static const char *names[NAMES];

/* A program that calls in this manner; words from the second on are arguments, those with a dot are files. */
struct situation {
    enum ll_reach reach;
    const char *words[4];
};

static const struct situation situations[] = {
    {LL_REACH_CALL_SLOT, {"caller_lazy"}},
    {LL_REACH_CALL_SLOT, {"caller_now"}},
    {LL_REACH_CALL_SLOT, {"caller_jumping"}},
    {LL_REACH_ADDRESS_SLOT, {"caller_noplt"}},
    {LL_REACH_DATA_SLOT, {"caller_table"}},
    {LL_REACH_OPENED, {"opener", "local", "libuser.so", "user_add"}},
    {LL_REACH_OPENED, {"opener", "local", "libuser_noplt.so", "user_add"}},
    {LL_REACH_OPENED_DEEP, {"opener", "deep", "libuser.so", "user_add"}},
    {LL_REACH_OPENED_DEEP, {"opener", "again", "libuser.so", "user_add"}},
    {LL_REACH_OPENED_DEEP_ADDRESS, {"opener", "deep", "libuser_noplt.so", "user_add"}},
    {LL_REACH_OPENED_DEEP_ADDRESS, {"opener", "again", "libuser_noplt.so", "user_add"}},
    {LL_REACH_POINTER, {"opener", "local", "libtiny.so", "cblas_daxpy"}},
    {LL_REACH_POINTER, {"opener", "version", "libtiny_versioned.so", "cblas_daxpy"}},
    {LL_REACH_POINTER, {"caller_next"}},
    {LL_REACH_INTERNAL, {"inner"}},
    {LL_REACH_INTERNAL, {"inner_weak"}},
    {LL_REACH_INTERNAL_BOUND, {"inner_symbolic"}},
    {LL_REACH_INTERNAL_BOUND, {"inner_direct"}},
    {LL_REACH_HIDDEN, {"caller_hidden"}},
    {LL_REACH_STATIC_NAMED, {"caller_static"}},
    {LL_REACH_STATIC_STRIPPED, {"caller_stripped"}},
};

static const char *file_of(const char *word)
{
    return ll_format(&arena, "%s/%s", programs, word);
}

static struct ll_coverage cover(const char *program, struct ll_closure *closure)
{
    struct ll_file_search search = {0};
    struct ll_coverage coverage;
    uint32_t count = 0;
    for (const struct ll_symbol_row *row; (row = ll_symbol_row(count)) && count < NAMES; count++)
        names[count] = row->name;
    assert_int_equal(ll_closure_read(&arena, program, &search, closure), LL_OK);
    assert_int_equal(ll_coverage_find(&arena, closure, names, count, &coverage), LL_OK);
    return coverage;
}

/* Becomes the program. */
static _Noreturn void become(const struct situation *situation, const struct ll_launch *launch)
{
    const char *words[LL_LAUNCH_PREFIX + 5] = {0};
    size_t count = 0;
    for (size_t i = 0; launch->prefix[i]; i++)
        words[count++] = launch->prefix[i];
    for (size_t i = 0; i < 4 && situation->words[i]; i++)
        words[count++] =
            i == 0 || strchr(situation->words[i], '.') ? file_of(situation->words[i]) : situation->words[i];
    for (size_t i = 0; launch->settings[i]; i++)
        putenv((char *)(uintptr_t)launch->settings[i]);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(CANNOT_RUN);
}

/* Its exit status. */
static int run(const struct situation *situation, const struct ll_launch *launch)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        become(situation, launch);
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Each call stands in a source file of ours, in a line that has the call's arguments. */
static bool stands_in_source(const struct ll_callsite *site)
{
    char line[256] = "";
    const char *name = site->file ? strrchr(site->file, '/') : NULL;
    FILE *source = name ? fopen(ll_format(&arena, "tests/mechanisms%s", name), "r") : NULL;
    for (uint32_t i = 0; source && i < site->line && fgets(line, sizeof line, source);)
        i++;
    if (source)
        fclose(source);
    return strstr(line, "1, 1, &one, 1, ") != NULL;
}

/* The program is over; where it called from is known all the same. Of what lay at an address the last counts.
 */
static void check_site(const struct ll_ring_reader *reader, const char *program, uint64_t caller)
{
    struct ll_ring_process_info info = ll_ring_process_info(reader, 0);
    struct ll_module module = {0};
    struct ll_callsites *sites;
    for (size_t i = 0; i < info.library_count; i++) {
        const struct ll_ring_library *library = &info.libraries[i];
        if (caller >= library->begin && caller < library->end)
            module = (struct ll_module){*library->path ? library->path : program, library->base};
    }
    assert_non_null(module.path);
    assert_int_equal(ll_callsites_open(&module, 1, &sites), LL_OK);
    const struct ll_callsite *site = ll_callsite_find(sites, caller);
    if (!stands_in_source(site))
        fail_msg("%s: called from %s", program, ll_callsite_text(&arena, site));
    ll_callsites_release(sites);
}

static uint64_t count_calls(const char *rings, const char *program)
{
    struct ll_ring_reader *reader = ll_ring_open(rings, NULL);
    struct ll_event event;
    uint64_t calls = 0;
    assert_non_null(reader);
    ll_ring_finish(reader);
    while (ll_ring_next(reader, &event)) {
        if (event.kind != LL_EVENT_CALL)
            continue;
        assert_string_equal(ll_symbol_row(event.call.symbol)->name, "cblas_daxpy");
        assert_int_equal(event.call.depth, 0);
        assert_int_equal(ll_call_number(&event.call, LL_NUMBER_n), 1);
        if (calls++ == 0)
            check_site(reader, program, event.call.caller);
    }
    if (calls)
        assert_int_equal(ll_ring_process_info(reader, 0).unresolved, 0);
    ll_ring_close(reader);
    return calls;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

/* Runs the program under the mechanism, which fills a new folder of rings; its exit status. */
static int start(const struct situation *situation, enum ll_mechanism mechanism, char *rings)
{
    const struct ll_ring_settings settings = {0};
    struct ll_closure closure;
    struct ll_launch launch;
    struct ll_coverage coverage = cover(file_of(situation->words[0]), &closure);
    assert_non_null(mkdtemp(rings));
    assert_int_equal(ll_ring_create(rings, &settings), LL_OK);
    assert_int_equal(ll_launch_prepare(&arena, &coverage, mechanism, tools, rings, &launch), LL_OK);
    return run(situation, &launch);
}

/* Records the program by the mechanism; how many calls were seen. False: this machine does not permit it. */
static bool record(const struct situation *situation, enum ll_mechanism mechanism, uint64_t *calls)
{
    char rings[] = "/tmp/mechanisms.XXXXXX";
    int status = start(situation, mechanism, rings);
    *calls = status == RIGHT_SUM ? count_calls(rings, file_of(situation->words[0])) : 0;
    remove_folder(rings);
    if (status != CANNOT_RUN && status != RIGHT_SUM)
        fail_msg("%s by %s: exit status %d", situation->words[0], ll_mechanism_name(mechanism), status);
    return status == RIGHT_SUM;
}

static void hold_column(enum ll_mechanism mechanism)
{
    bool failed = false;
    for (size_t i = 0; i < sizeof situations / sizeof situations[0]; i++) {
        const struct situation *situation = &situations[i];
        uint64_t calls, expected = ll_reach_seen(situation->reach, mechanism) ? TINY_CALLS : 0;
        if (!record(situation, mechanism, &calls))
            skip();
        print_message("%-8s %-22s %s %3llu/%d\n", ll_mechanism_name(mechanism), situation->words[0],
                      ll_reach_word(situation->reach), (unsigned long long)calls, TINY_CALLS);
        failed |= calls != expected;
    }
    assert_false(failed);
}

static void preloading_sees_what_the_table_says(void **state)
{
    (void)state;
    hold_column(LL_MECHANISM_PRELOAD);
}

static void auditing_sees_what_the_table_says(void **state)
{
    (void)state;
    hold_column(LL_MECHANISM_AUDIT);
}

static void patched_slots_see_what_the_table_says(void **state)
{
    (void)state;
    hold_column(LL_MECHANISM_PATCH);
}

static void patched_entries_see_what_the_table_says(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    hold_column(LL_MECHANISM_ENTRY);
}

/* What stood there before is no longer what is called. */
static void a_pointer_that_the_program_has_changed_is_left_to_it(void **state)
{
    (void)state;
    static const struct situation own = {LL_REACH_DATA_SLOT,
                                         {"opener", "local", "libuser_own.so", "user_add"}};
    uint64_t calls;
    for (enum ll_mechanism mechanism = LL_MECHANISM_PRELOAD; mechanism < LL_MECHANISM_PROBE; mechanism++) {
        assert_true(record(&own, mechanism, &calls));
        assert_int_equal(calls, 0);
    }
}

/* In the folder of who asks, and before that in those of the environment, where one makes no call. */
static void what_is_opened_by_name_is_what_its_caller_would_find(void **state)
{
    (void)state;
    static const struct situation named = {LL_REACH_OPENED,
                                           {"opener_runpath", "local", "user_named", "user_add"}};
    for (enum ll_mechanism mechanism = LL_MECHANISM_PRELOAD; mechanism < LL_MECHANISM_PROBE; mechanism++) {
        uint64_t calls, others;
        bool found = record(&named, mechanism, &calls);
        setenv("LD_LIBRARY_PATH", file_of("other"), 1);
        found &= record(&named, mechanism, &others);
        unsetenv("LD_LIBRARY_PATH");
        assert_true(found);
        assert_int_equal(calls, TINY_CALLS);
        assert_int_equal(others, 0);
    }
}

/* Places for what is patched are given to another library when one is closed. */
static void a_library_that_was_opened_often_is_seen(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    static const struct situation often = {LL_REACH_POINTER,
                                           {"opener", "often", "libtiny.so", "cblas_daxpy"}};
    uint64_t calls;
    assert_true(record(&often, LL_MECHANISM_ENTRY, &calls));
    assert_int_equal(calls, TINY_CALLS);
}

/* Whether one process here may look into another that it has started: leadline-probe knows. */
static bool may_trace(void)
{
    int status = system(ll_format(&arena, "'%s/leadline-probe'", tools));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void probing_sees_what_the_table_says(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    if (!may_trace())
        skip();
    hold_column(LL_MECHANISM_PROBE);
}

/* All that the program did, in the order in which it did it; how many calls. */
static size_t record_calls(enum ll_mechanism mechanism, struct ll_call *calls, size_t most)
{
    static const struct situation many = {LL_REACH_CALL_SLOT, {"caller_many"}};
    char rings[] = "/tmp/mechanisms.XXXXXX";
    struct ll_event event;
    size_t count = 0;
    start(&many, mechanism, rings);
    struct ll_ring_reader *reader = ll_ring_open(rings, NULL);
    assert_non_null(reader);
    ll_ring_finish(reader);
    while (ll_ring_next(reader, &event))
        if (event.kind == LL_EVENT_CALL && count < most)
            calls[count++] = event.call;
    ll_ring_close(reader);
    remove_folder(rings);
    return count;
}

static void assert_same_call(const struct ll_call *a, const struct ll_call *b)
{
    assert_int_equal(a->symbol, b->symbol);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->number_count, b->number_count);
    assert_memory_equal(a->number, b->number, a->number_count * sizeof a->number[0]);
    assert_int_equal(a->operand_count, b->operand_count);
    for (uint32_t i = 0; i < a->operand_count; i++) {
        const struct ll_call_operand *x = &a->operand[i], *y = &b->operand[i];
        assert_true(x->rows == y->rows && x->row_bytes == y->row_bytes && x->stride_bytes == y->stride_bytes);
        assert_true(x->access == y->access && x->role == y->role);
        assert_int_equal(x->address - a->operand[0].address, y->address - b->operand[0].address);
    }
}

/* Two readers of arguments: compiled wrappers, and registers and stack seen from outside. */
static void a_probe_reads_the_arguments_that_a_wrapper_is_given(void **state)
{
    (void)state;
    enum { CALLS = 7 }; /* of eight, one asks for the size of a workspace */
    struct ll_call wrapped[CALLS + 1], probed[CALLS + 1];
    if (!may_trace())
        skip();
    assert_int_equal(record_calls(LL_MECHANISM_PRELOAD, wrapped, CALLS + 1), CALLS);
    assert_int_equal(record_calls(LL_MECHANISM_PROBE, probed, CALLS + 1), CALLS);
    for (int i = 0; i < CALLS; i++)
        assert_same_call(&wrapped[i], &probed[i]);
}

/* Calls of each process of the program, in the order of their files; the number of these. */
static size_t count_by_process(struct ll_ring_reader *reader, uint64_t calls[static FAMILY_PROCESSES])
{
    struct ll_event event;
    while (ll_ring_next(reader, &event)) {
        size_t process = ll_ring_thread_process(reader, event.thread);
        if (event.kind == LL_EVENT_CALL && process < FAMILY_PROCESSES)
            calls[process]++;
    }
    return ll_ring_process_count(reader);
}

/* Threads and children of a static program, theirs, and what they become; how each ended. */
static void a_probe_follows_threads_and_children(void **state)
{
    (void)state;
    static const struct situation family = {LL_REACH_STATIC_NAMED, {"family"}};
    char rings[] = "/tmp/mechanisms.XXXXXX";
    uint64_t calls[FAMILY_PROCESSES] = {0}, first = 0, killed = 0;
    if (!may_trace())
        skip();
    assert_int_equal(start(&family, LL_MECHANISM_PROBE, rings), RIGHT_SUM);
    struct ll_ring_reader *reader = ll_ring_open(rings, NULL);
    assert_non_null(reader);
    ll_ring_finish(reader);
    assert_int_equal(count_by_process(reader, calls), FAMILY_PROCESSES);
    for (size_t i = 0; i < FAMILY_PROCESSES; i++) {
        struct ll_ring_process_info info = ll_ring_process_info(reader, i);
        assert_int_equal(info.lost + info.ringless + info.damaged + info.unsaid, 0);
        first += calls[i] == FAMILY_CALLS * (1 + FAMILY_THREADS + FAMILY_SHORT);
        killed += info.ended_ns == 0;
        assert_true(calls[i] == FAMILY_CALLS || calls[i] > FAMILY_CALLS * FAMILY_SHORT);
    }
    assert_int_equal(first, 1);
    assert_int_equal(killed, 1);
    assert_int_equal(ll_ring_refused(reader), 0);
    ll_ring_close(reader);
    remove_folder(rings);
}

/* What runs before main is chosen from the files alone. */
static void the_coverage_of_each_program_chooses_a_mechanism_that_sees_it(void **state)
{
    (void)state;
    static const struct {
        const char *program;
        enum ll_mechanism mechanism;
        enum ll_reach reach;
    } rows[] = {
        {"caller_lazy", LL_MECHANISM_PRELOAD, LL_REACH_CALL_SLOT},
        {"caller_now", LL_MECHANISM_PRELOAD, LL_REACH_CALL_SLOT},
        {"caller_noplt", LL_MECHANISM_PRELOAD, LL_REACH_ADDRESS_SLOT},
        {"caller_table", LL_MECHANISM_PRELOAD, LL_REACH_DATA_SLOT},
        {"inner", LL_MECHANISM_PRELOAD, LL_REACH_INTERNAL},
        {"inner_symbolic", LL_MECHANISM_ENTRY, LL_REACH_INTERNAL_BOUND},
        {"inner_direct", LL_MECHANISM_ENTRY, LL_REACH_INTERNAL_BOUND},
        {"caller_hidden", LL_MECHANISM_ENTRY, LL_REACH_HIDDEN},
        {"caller_static", LL_MECHANISM_PROBE, LL_REACH_STATIC_NAMED},
        {"opener", LL_MECHANISM_PRELOAD, LL_REACH_POINTER},
        {"caller_rpath", LL_MECHANISM_PRELOAD, LL_REACH_CALL_SLOT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ll_closure closure;
        struct ll_coverage coverage = cover(file_of(rows[i].program), &closure);
        assert_true(coverage.possible);
        assert_int_equal(closure.missing_count, 0);
        assert_int_equal(coverage.route_count, 1);
        assert_int_equal(coverage.routes[0].reach, rows[i].reach);
        assert_int_equal(coverage.mechanism, rows[i].mechanism);
    }
}

/* It imports the routine, whose name therefore is among its symbols, and gives the name to dlsym as well. */
static void a_routine_that_is_asked_for_twice_is_seen_both_ways(void **state)
{
    (void)state;
    struct ll_closure closure;
    struct ll_coverage coverage = cover(file_of("opener_and_caller"), &closure);
    assert_int_equal(coverage.route_count, 2);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_CALL_SLOT);
    assert_int_equal(coverage.routes[1].reach, LL_REACH_POINTER);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_PRELOAD);
}

static void a_stripped_static_program_is_refused(void **state)
{
    (void)state;
    struct ll_closure closure;
    struct ll_coverage coverage = cover(file_of("caller_stripped"), &closure);
    assert_true(coverage.is_static && coverage.stripped);
    assert_false(coverage.possible);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_coverage_of_each_program_chooses_a_mechanism_that_sees_it),
        cmocka_unit_test(a_routine_that_is_asked_for_twice_is_seen_both_ways),
        cmocka_unit_test(a_stripped_static_program_is_refused),
        cmocka_unit_test(preloading_sees_what_the_table_says),
        cmocka_unit_test(auditing_sees_what_the_table_says),
        cmocka_unit_test(patched_slots_see_what_the_table_says),
        cmocka_unit_test(patched_entries_see_what_the_table_says),
        cmocka_unit_test(a_pointer_that_the_program_has_changed_is_left_to_it),
        cmocka_unit_test(what_is_opened_by_name_is_what_its_caller_would_find),
        cmocka_unit_test(a_library_that_was_opened_often_is_seen),
        cmocka_unit_test(probing_sees_what_the_table_says),
        cmocka_unit_test(a_probe_reads_the_arguments_that_a_wrapper_is_given),
        cmocka_unit_test(a_probe_follows_threads_and_children),
    };
    if (argc != 3)
        return 2;
    tools = argv[1];
    programs = argv[2];
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ll_arena_release(&arena);
    return failed;
}
