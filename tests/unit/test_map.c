/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/map.h"

static void equal_bytes_have_one_number_in_order_of_first_sight(void **state)
{
    (void)state;
    struct ll_map map = {0};
    bool is_new;
    assert_int_equal(ll_map_find(&map, "conv1", 5), LL_NO_ID);
    assert_int_equal(ll_map_intern(&map, "conv1", 5, &is_new), 0);
    assert_true(is_new);
    assert_int_equal(ll_map_intern(&map, "conv2", 5, NULL), 1);
    assert_int_equal(ll_map_intern(&map, "conv1", 5, &is_new), 0);
    assert_false(is_new);
    assert_int_equal(ll_map_find(&map, "conv2", 5), 1);
    assert_int_equal(ll_map_find(&map, "conv3", 5), LL_NO_ID);
    assert_int_equal(map.count, 2);
    assert_string_equal(map.entries[0].bytes, "conv1"); /* a NUL is added */
    ll_map_release(&map);
    assert_int_equal(ll_map_find(&map, "conv1", 5), LL_NO_ID);
}

static void length_and_inner_zeros_count(void **state)
{
    (void)state;
    struct ll_map map = {0};
    assert_int_equal(ll_map_intern(&map, "\0\0\0\0\0\0\0\0\0", 9, NULL), 0);
    assert_int_equal(ll_map_intern(&map, "\0\0\0\0\0\0\0\0", 8, NULL), 1);
    assert_int_equal(ll_map_intern(&map, NULL, 0, NULL), 2);
    assert_int_equal(ll_map_intern(&map, "", 0, NULL), 2);
    assert_int_equal(ll_map_intern(&map, "\0", 1, NULL), 3);
    ll_map_release(&map);
}

static void a_copy_is_kept_not_the_callers_bytes(void **state)
{
    (void)state;
    struct ll_map map = {0};
    char name[] = "mast";
    ll_map_intern(&map, name, 4, NULL);
    name[0] = 'f';
    assert_int_equal(ll_map_find(&map, "mast", 4), 0);
    assert_int_equal(ll_map_find(&map, name, 4), LL_NO_ID);
    ll_map_release(&map);
}

enum { ROUNDS = 6000, LONGEST = 20 };

/* The dumb twin is a list that is searched from its beginning. */
static void a_map_agrees_with_a_list(void **state)
{
    (void)state;
    static struct {
        unsigned char bytes[LONGEST];
        size_t length;
    } list[ROUNDS];
    uint32_t count = 0;
    struct ll_map map = {0};
    uint64_t random = ll_seed(4);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char bytes[LONGEST];
        size_t length = ll_random_below(&random, LONGEST);
        for (size_t i = 0; i < length; i++)
            bytes[i] =
                (unsigned char)ll_random_below(&random, 1 + length % 3 * 2); /* few letters: many equal */
        uint32_t twin = 0;
        while (twin < count && (list[twin].length != length || memcmp(list[twin].bytes, bytes, length) != 0))
            twin++;
        assert_int_equal(ll_map_find(&map, bytes, length), twin < count ? twin : LL_NO_ID);
        bool is_new;
        assert_int_equal(ll_map_intern(&map, bytes, length, &is_new), twin);
        assert_int_equal(is_new, twin == count);
        if (twin == count) {
            memcpy(list[count].bytes, bytes, length);
            list[count++].length = length;
        }
    }
    assert_true(count > 1000);
    assert_int_equal(map.count, count);
    for (uint32_t id = 0; id < count; id++) {
        assert_int_equal(map.entries[id].length, list[id].length);
        assert_memory_equal(map.entries[id].bytes, list[id].bytes, list[id].length);
    }
    ll_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_bytes_have_one_number_in_order_of_first_sight),
        cmocka_unit_test(length_and_inner_zeros_count),
        cmocka_unit_test(a_copy_is_kept_not_the_callers_bytes),
        cmocka_unit_test(a_map_agrees_with_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
