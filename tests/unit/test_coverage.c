/* SPDX-License-Identifier: Apache-2.0 */
/* Closures made by hand: what binaries ask for and offer decides what is reported and chosen. */
#include "check.h"

#include "tracer/binary/coverage.h"

static struct ll_arena arena;
static const char *const names[] = {"dgemm_", "cblas_dgemm", "dgesv_"};

static struct ll_elf_symbol import(const char *name, unsigned slots)
{
    return (struct ll_elf_symbol){.name = name, .function = true, .slots = (uint8_t)slots};
}

static struct ll_elf_symbol export(const char *name, unsigned slots)
{
    return (struct ll_elf_symbol){.name = name, .function = true, .defined = true, .slots = (uint8_t)slots};
}

/* A dynamic binary of these symbols. */
#define BINARY(...)                                                                                          \
    &(struct ll_elf)                                                                                         \
    {                                                                                                        \
        .dynamic = true, .symbols = (struct ll_elf_symbol[]){__VA_ARGS__},                                   \
        .symbol_count = sizeof((struct ll_elf_symbol[]){__VA_ARGS__}) / sizeof(struct ll_elf_symbol),        \
    }

static struct ll_format_binary binaries[3];
static struct ll_closure closure = {.binaries = binaries};

static struct ll_coverage cover(const struct ll_elf *program, const struct ll_elf *first,
                                const struct ll_elf *second)
{
    struct ll_coverage coverage;
    binaries[0] = (struct ll_format_binary){"folder/program", program, 0};
    binaries[1] = (struct ll_format_binary){"folder/first.so", first, 0};
    binaries[2] = (struct ll_format_binary){"folder/second.so", second, 0};
    closure.count = second ? 3 : first ? 2 : 1;
    assert_int_equal(ll_coverage_find(&arena, &closure, names, 3, &coverage), LL_OK);
    return coverage;
}

static void a_program_that_asks_for_a_routine_is_preloaded(void **state)
{
    (void)state;
    struct ll_coverage coverage = cover(BINARY(import("dgemm_", LL_SLOT_CALL), import("puts", LL_SLOT_CALL)),
                                        BINARY(export("dgemm_", 0), export("dgesv_", 0)), NULL);
    assert_int_equal(coverage.route_count, 1);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_CALL_SLOT);
    assert_int_equal(coverage.routes[0].symbol, 0);
    assert_int_equal(coverage.offer_count, 2);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_PRELOAD);
    assert_int_equal(ll_coverage_seen(&coverage, LL_MECHANISM_PRELOAD), 1);
}

static void each_kind_of_slot_is_a_way_of_its_own(void **state)
{
    (void)state;
    struct ll_coverage coverage =
        cover(BINARY(import("dgemm_", LL_SLOT_CALL | LL_SLOT_ADDRESS | LL_SLOT_DATA)), NULL, NULL);
    assert_int_equal(coverage.route_count, 3);
    assert_int_equal(coverage.routes[1].reach, LL_REACH_ADDRESS_SLOT);
    assert_int_equal(coverage.routes[2].reach, LL_REACH_DATA_SLOT);
}

static void a_library_that_nobody_asks_for_routines_is_left_alone(void **state)
{
    (void)state;
    struct ll_coverage coverage =
        cover(BINARY(import("puts", LL_SLOT_CALL)), BINARY(export("dgemm_", 0)), NULL);
    assert_int_equal(coverage.route_count, 0);
    assert_int_equal(coverage.offer_count, 1);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_PRELOAD);
}

static void a_library_that_has_routines_for_itself_needs_entries(void **state)
{
    (void)state;
    struct ll_coverage coverage =
        cover(BINARY(import("solve", LL_SLOT_CALL)), BINARY(export("solve", 0), export("dgemm_", 0)), NULL);
    assert_int_equal(coverage.route_count, 1);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_INTERNAL_BOUND);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_ENTRY);
}

static void one_that_calls_itself_through_slots_does_not(void **state)
{
    (void)state;
    struct ll_elf *first = BINARY(export("solve", 0), export("dgemm_", LL_SLOT_CALL));
    struct ll_coverage coverage = cover(BINARY(import("solve", LL_SLOT_CALL)), first, NULL);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_INTERNAL);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_PRELOAD);
    first->symbolic = true;
    coverage = cover(BINARY(import("solve", LL_SLOT_CALL)), first, NULL);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_INTERNAL_BOUND);
}

static void what_only_symtab_knows_is_hidden(void **state)
{
    (void)state;
    struct ll_elf *program = BINARY(import("puts", LL_SLOT_CALL));
    program->functions = (struct ll_elf_symbol[]){export("cblas_dgemm", 0), export("main", 0)};
    program->function_count = 2;
    struct ll_coverage coverage = cover(program, NULL, NULL);
    assert_int_equal(coverage.route_count, 1);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_HIDDEN);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_ENTRY);
}

static void a_static_program_needs_its_symbols(void **state)
{
    (void)state;
    struct ll_elf program = {.program = true};
    struct ll_coverage coverage = cover(&program, NULL, NULL);
    assert_false(coverage.possible);
    program.functions = (struct ll_elf_symbol[]){export("cblas_dgemm", 0)};
    program.function_count = 1;
    coverage = cover(&program, NULL, NULL);
    assert_true(coverage.possible);
    assert_int_equal(coverage.mechanism, LL_MECHANISM_PROBE);
    assert_int_equal(coverage.routes[0].reach, LL_REACH_STATIC_NAMED);
}

static bool tells(const struct ll_coverage *coverage, enum ll_mechanism mechanism, const char *words)
{
    struct ll_str out = {0};
    ll_coverage_text(&out, coverage, mechanism);
    bool found = strstr(out.text, words) != NULL;
    if (!found)
        print_error("not told: %s\n%s", words, out.text);
    ll_str_release(&out);
    return found;
}

static void the_report_says_what_is_not_seen_and_the_remedy(void **state)
{
    (void)state;
    struct ll_coverage coverage = cover(BINARY(import("solve", LL_SLOT_CALL), import("dlopen", LL_SLOT_CALL)),
                                        BINARY(export("solve", 0), export("dgemm_", 0)), NULL);
    assert_true(tells(&coverage, LL_MECHANISM_ENTRY, "    seen     dgemm_\n"));
    assert_true(tells(&coverage, LL_MECHANISM_PRELOAD, "    NOT SEEN dgemm_\n"));
    assert_true(tells(&coverage, LL_MECHANISM_PRELOAD, "remedy: --mech=entry"));
    assert_true(tells(&coverage, LL_MECHANISM_PRELOAD, "sees 0 of 1 ways"));
    assert_true(tells(&coverage, LL_MECHANISM_PRELOAD, "RTLD_DEEPBIND; remedy: --mech=audit"));
    closure.missing = &(struct ll_missing){"libgone.so", 0};
    closure.missing_count = 1;
    assert_true(tells(&coverage, LL_MECHANISM_PRELOAD, "libgone.so, which program needs, is nowhere"));
    closure.missing_count = 0;
    struct ll_elf program = {.program = true};
    coverage = cover(&program, NULL, NULL);
    assert_true(tells(&coverage, coverage.mechanism, "Refused: the program is static and has no symbols"));
}

static void every_mechanism_answers_to_its_name(void **state)
{
    (void)state;
    enum ll_mechanism found;
    for (enum ll_mechanism m = 0; m < LL_MECHANISM_COUNT; m++) {
        assert_true(ll_mechanism_find(ll_mechanism_name(m), &found));
        assert_int_equal(found, m);
    }
    assert_false(ll_mechanism_find("magic", &found));
}

/* What a stronger mechanism adds it adds to what preloading sees. */
static void no_mechanism_that_preloads_sees_less_than_preloading(void **state)
{
    (void)state;
    for (enum ll_reach reach = 0; reach < LL_REACH_COUNT; reach++)
        for (enum ll_mechanism m = 0; m < LL_MECHANISM_PROBE; m++)
            assert_true(ll_reach_seen(reach, m) >= ll_reach_seen(reach, LL_MECHANISM_PRELOAD));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_asks_for_a_routine_is_preloaded),
        cmocka_unit_test(each_kind_of_slot_is_a_way_of_its_own),
        cmocka_unit_test(a_library_that_nobody_asks_for_routines_is_left_alone),
        cmocka_unit_test(a_library_that_has_routines_for_itself_needs_entries),
        cmocka_unit_test(one_that_calls_itself_through_slots_does_not),
        cmocka_unit_test(what_only_symtab_knows_is_hidden),
        cmocka_unit_test(a_static_program_needs_its_symbols),
        cmocka_unit_test(the_report_says_what_is_not_seen_and_the_remedy),
        cmocka_unit_test(every_mechanism_answers_to_its_name),
        cmocka_unit_test(no_mechanism_that_preloads_sees_less_than_preloading),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ll_arena_release(&arena);
    return failed;
}
