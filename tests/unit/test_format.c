/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/format/format.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

static void the_header_is_the_bytes_that_the_readme_shows(void **state)
{
    (void)state;
    const uint8_t expected[20] = {0x50, 0x2A, 0x4D, 0x18, 16,  0, 0, 0, 'L', 'L',
                                  'T',  'R',  'A',  'C',  'E', 0, 1, 0, 5,   0};
    struct ll_bytes out = {0};
    ll_put_header(&out);
    assert_int_equal(out.size, LL_HEADER_BYTES);
    assert_memory_equal(out.data, expected, sizeof expected);
    struct ll_view in = view_of(&out);
    struct ll_version version;
    assert_true(ll_take_header(&in, &version));
    assert_int_equal(version.major, LL_FORMAT_MAJOR);
    assert_ptr_equal(in.at, in.end);
    ll_bytes_release(&out);
}

static const struct ll_head head = {
    .version = {1, 2}, .number = 7, .stored_bytes = 100, .content_bytes = 200, .stored_crc = 0xDEADBEEF};

static void a_head_is_taken_as_it_was_put(void **state)
{
    (void)state;
    struct ll_bytes out = {0};
    struct ll_head taken;
    ll_put_head(&out, &head);
    assert_int_equal(out.size, LL_HEAD_BYTES);
    struct ll_view in = view_of(&out);
    assert_true(ll_take_head(&in, &taken));
    assert_memory_equal(&taken, &head, sizeof head);
    assert_ptr_equal(in.at, in.end);
    ll_bytes_release(&out);
}

static void a_head_with_any_bit_flipped_or_byte_missing_is_none(void **state)
{
    (void)state;
    struct ll_bytes out = {0};
    struct ll_head taken;
    ll_put_head(&out, &head);
    for (uint64_t bit = 0; bit < 8 * out.size; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct ll_view in = view_of(&out);
        assert_false(ll_take_head(&in, &taken));
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (uint64_t size = 0; size < out.size; size++) {
        struct ll_view in = {out.data, out.data + size};
        assert_false(ll_take_head(&in, &taken));
    }
    ll_bytes_release(&out);
}

static void padding_is_all_zeros_or_none(void **state)
{
    (void)state;
    struct ll_bytes out = {0};
    ll_put_padding(&out, 1000);
    assert_int_equal(out.size, 1008);
    struct ll_view in = view_of(&out);
    assert_true(ll_take_padding(&in));
    assert_ptr_equal(in.at, in.end);
    out.data[700] = 1;
    in = view_of(&out);
    assert_false(ll_take_padding(&in));
    ll_bytes_release(&out);
}

static void an_index_is_found_at_the_end_and_taken_as_it_was_put(void **state)
{
    (void)state;
    const struct ll_index_entry entries[] = {{1, 24, 0}, {3, 1000, 128}, {3, 70000, 99}};
    struct ll_index_entry *taken;
    uint64_t count;
    struct ll_bytes out = {0};
    ll_put_bytes(&out, "what stands before", 18);
    ll_put_index(&out, entries, 3);
    assert_int_equal(ll_index_bytes(view_of(&out)), out.size - 18);
    struct ll_view in = {out.data + 18, out.data + out.size};
    assert_true(ll_take_index(in, &taken, &count));
    assert_int_equal(count, 3);
    assert_memory_equal(taken, entries, sizeof entries);
    free(taken);
    for (uint64_t bit = 18 * 8; bit < 8 * out.size; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(ll_take_index(in, &taken, &count));
        out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ll_bytes_release(&out);
}

static void a_file_may_grow_only_in_proportion(void **state)
{
    (void)state;
    assert_int_equal(ll_growth_limit(0), 64 << 20);
    assert_int_equal(ll_growth_limit(1000) - ll_growth_limit(0), 256000);
    assert_false(ll_fits(ll_growth_limit(UINT64_MAX / 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_is_the_bytes_that_the_readme_shows),
        cmocka_unit_test(a_head_is_taken_as_it_was_put),
        cmocka_unit_test(a_head_with_any_bit_flipped_or_byte_missing_is_none),
        cmocka_unit_test(padding_is_all_zeros_or_none),
        cmocka_unit_test(an_index_is_found_at_the_end_and_taken_as_it_was_put),
        cmocka_unit_test(a_file_may_grow_only_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
