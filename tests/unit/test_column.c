/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "random.h"
#include "tracer/format/format.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 300 };

static uint64_t random_state;

static uint64_t draw(void)
{
    return ll_random(&random_state);
}

/* Values of all magnitudes, in the patterns that columns have: noise, ramps, long runs. */
static uint64_t make_values(uint64_t *values)
{
    uint64_t count = draw() % MOST, pattern = draw() % 4, value = draw() >> draw() % 64;
    for (uint64_t i = 0; i < count; i++) {
        if (pattern == 0)
            value = draw() >> draw() % 64;
        else if (pattern == 1)
            value += 3;
        else if (draw() % 40 == 0)
            value = draw() >> (pattern == 2 ? 57 : 0);
        values[i] = value;
    }
    return count;
}

static void any_column_is_read_as_it_was_put(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint64_t values[MOST], read[MOST];
        uint64_t count = make_values(values), tag = draw() % 1000;
        struct ll_bytes out = {0};
        ll_put_column(&out, tag, round % 2 ? LL_DELTA : LL_PLAIN, values, count);
        struct ll_view in = view_of(&out);
        struct ll_column column;
        assert_false(out.failed);
        if (count == 0) {
            assert_int_equal(out.size, 0);
            continue;
        }
        assert_true(ll_take_column(&in, &column));
        assert_ptr_equal(in.at, in.end);
        assert_int_equal(column.tag, tag);
        assert_int_equal(column.count, count);
        assert_true(ll_column_values(&column, read));
        assert_memory_equal(values, read, count * sizeof *values);
        ll_bytes_release(&out);
    }
}

/* A copy without a byte to spare, so that AddressSanitizer sees a read past the end. */
static uint8_t *exactly(const uint8_t *bytes, uint64_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static void a_column_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        uint64_t values[MOST], read[MOST], count = make_values(values);
        struct ll_bytes out = {0};
        ll_put_column(&out, 5, round % 2 ? LL_DELTA : LL_PLAIN, values, count);
        for (uint64_t size = 0; size < out.size; size++) {
            uint8_t *cut = exactly(out.data, size);
            struct ll_view in = {cut, cut + size};
            struct ll_column column;
            assert_false(ll_take_column(&in, &column));
            free(cut);
        }
        struct ll_view in = view_of(&out);
        struct ll_column column;
        if (count > 0 && ll_take_column(&in, &column)) {
            column.bytes.end--;
            assert_false(ll_column_values(&column, read));
        }
        ll_bytes_release(&out);
    }
}

/* Whatever the bytes are: no read past their end, no write past the count, and a decision. */
static void random_bytes_are_decoded_or_refused(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[64];
        uint64_t size = draw() % sizeof bytes, read[1000];
        for (uint64_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(draw() % 3 ? draw() : draw() % 8);
        uint8_t *copy = exactly(bytes, size);
        struct ll_view in = {copy, copy + size};
        struct ll_column column;
        while (ll_take_column(&in, &column))
            if (column.count <= 1000 && column.encoding != LL_RAW)
                ll_column_values(&column, read);
        struct ll_column whole = {
            .count = draw() % 100, .encoding = draw() % 4, .bytes = {copy, copy + size}};
        ll_column_values(&whole, read);
        free(copy);
    }
}

static void a_varint_has_at_most_sixty_four_bits(void **state)
{
    (void)state;
    const uint8_t most[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01};
    const uint8_t more[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02};
    const uint8_t longer[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    uint64_t value;
    struct ll_view in = {most, most + sizeof most};
    assert_true(ll_take_varint(&in, &value));
    assert_true(value == UINT64_MAX);
    in = (struct ll_view){more, more + sizeof more};
    assert_false(ll_take_varint(&in, &value));
    in = (struct ll_view){longer, longer + sizeof longer};
    assert_false(ll_take_varint(&in, &value));
}

static void small_differences_of_either_sign_are_small_zigzags(void **state)
{
    (void)state;
    const int64_t differences[] = {0, -1, 1, -2, 2};
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(ll_zigzag((uint64_t)differences[i]), i);
    for (int round = 0; round < 1000; round++) {
        uint64_t value = draw();
        assert_true(ll_unzigzag(ll_zigzag(value)) == value);
    }
}

static void equal_values_take_a_few_bytes_however_many(void **state)
{
    (void)state;
    uint64_t *values = calloc(100000, sizeof *values);
    assert_non_null(values);
    struct ll_bytes out = {0};
    ll_put_column(&out, 1, LL_PLAIN, values, 100000);
    for (uint64_t i = 0; i < 100000; i++)
        values[i] = 7 * i;
    ll_put_column(&out, 2, LL_DELTA, values, 100000);
    assert_in_range(out.size, 1, 40);
    ll_bytes_release(&out);
    free(values);
}

int main(void)
{
    random_state = ll_seed(20240607);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_column_is_read_as_it_was_put),
        cmocka_unit_test(a_column_that_is_cut_off_is_refused),
        cmocka_unit_test(random_bytes_are_decoded_or_refused),
        cmocka_unit_test(a_varint_has_at_most_sixty_four_bits),
        cmocka_unit_test(small_differences_of_either_sign_are_small_zigzags),
        cmocka_unit_test(equal_values_take_a_few_bytes_however_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
