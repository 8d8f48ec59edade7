/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/arena.h"

#ifdef LL_ASAN
#include <sanitizer/asan_interface.h>
#endif

enum { THINGS = 3000 };

/* Sizes from nothing to several blocks; each thing is filled with its own byte and looked at in the end. */
static void things_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    unsigned char *things[THINGS];
    size_t sizes[THINGS];
    uint64_t random = ll_seed(2);
    for (size_t i = 0; i < THINGS; i++) {
        sizes[i] = ll_random_below(&random, i % 100 == 0 ? 200000 : 300);
        things[i] = ll_alloc(&arena, sizes[i], 1);
        assert_non_null(things[i]);
        assert_int_equal((uintptr_t)things[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(things[i][k], 0);
        memset(things[i], (int)(i % 255 + 1), sizes[i]);
    }
    for (size_t i = 0; i < THINGS; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(things[i][k], i % 255 + 1);
    ll_arena_release(&arena);
}

static void a_size_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    assert_null(ll_alloc(&arena, SIZE_MAX / 2, 3));
    assert_null(ll_alloc(&arena, SIZE_MAX, 1));
    assert_null(ll_alloc(&arena, SIZE_MAX - 32, 1));
    assert_null(ll_copy_text(&arena, "", SIZE_MAX));
    assert_non_null(ll_alloc(&arena, 1, 1));
    ll_arena_release(&arena);
}

static void nothing_has_an_address(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    assert_non_null(ll_alloc(&arena, 0, 8));
    assert_non_null(ll_copy(&arena, NULL, 0));
    assert_string_equal(ll_copy_text(&arena, NULL, 0), "");
    ll_arena_release(&arena);
}

static void a_released_arena_can_be_used_again(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    for (int round = 0; round < 3; round++) {
        assert_string_equal(ll_copy_text(&arena, "hawser", 4), "haws");
        assert_string_equal(ll_format(&arena, "%s-%03d", "fathom", 7), "fathom-007");
        assert_memory_equal(ll_copy(&arena, "a\0b", 3), "a\0b", 3);
        ll_arena_release(&arena);
        assert_null(arena.newest);
    }
}

static void a_format_may_be_longer_than_a_block(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    const char *text = ll_format(&arena, "%0100000d", 5);
    assert_int_equal(strlen(text), 100000);
    assert_int_equal(text[99999], '5');
    ll_arena_release(&arena);
}

/* Only AddressSanitizer can tell: the byte behind a thing is poisoned although the block goes on. */
static void running_over_the_end_is_seen(void **state)
{
    (void)state;
#ifdef LL_ASAN
    struct ll_arena arena = {0};
    for (size_t size = 0; size < 70; size++) {
        unsigned char *thing = ll_alloc(&arena, size, 1);
        ll_alloc(&arena, 8, 1);
        for (size_t k = 0; k < size; k++)
            assert_false(__asan_address_is_poisoned(thing + k));
        assert_true(__asan_address_is_poisoned(thing + size));
    }
    ll_arena_release(&arena);
#else
    skip();
#endif
}

static void growing_keeps_what_was_there(void **state)
{
    (void)state;
    uint64_t *items = NULL, capacity = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        assert_true(ll_grow(&items, &capacity, i + 1, sizeof *items));
        assert_true(capacity > i);
        items[i] = i * i;
    }
    assert_int_equal(capacity, 16384); /* doubled from 16 */
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(items[i], i * i);
    free(items);
}

static void growing_past_the_address_space_changes_nothing(void **state)
{
    (void)state;
    uint64_t *items = NULL, capacity = 0;
    assert_true(ll_grow(&items, &capacity, 1, sizeof *items));
    uint64_t *before = items;
    assert_false(ll_grow(&items, &capacity, UINT64_MAX, sizeof *items));
    assert_false(ll_grow(&items, &capacity, UINT64_MAX / 8 + 1, sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, 16);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_are_zeroed_aligned_and_apart),
        cmocka_unit_test(a_size_that_does_not_fit_is_refused),
        cmocka_unit_test(nothing_has_an_address),
        cmocka_unit_test(a_released_arena_can_be_used_again),
        cmocka_unit_test(a_format_may_be_longer_than_a_block),
        cmocka_unit_test(running_over_the_end_is_seen),
        cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(growing_past_the_address_space_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
