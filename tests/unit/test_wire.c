/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of protocol buffers; the bytes expected are the examples of its documentation
 * (protobuf.dev, "Encoding"): 150 as 96 01, the text "testing", 3, 270 and 86942 packed. */
#include "check.h"

#include "tracer/convert/wire.h"

static void the_documents_examples_are_written_and_read(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g'};
    struct ll_str out = {0};
    ll_wire_put_integer(&out, 1, 150);
    ll_wire_put_text(&out, 2, "testing");
    assert_int_equal(out.length, sizeof expected);
    assert_memory_equal(out.text, expected, sizeof expected);
    struct ll_wire wire = {expected, expected + sizeof expected};
    struct ll_wire_field field;
    struct ll_arena arena = {0};
    assert_int_equal(ll_wire_next(&wire, &field), LL_WIRE_FIELD);
    assert_int_equal(field.number, 1);
    assert_int_equal(field.value, 150);
    assert_int_equal(ll_wire_next(&wire, &field), LL_WIRE_FIELD);
    assert_string_equal(ll_wire_text(field.bytes, &arena), "testing");
    assert_int_equal(ll_wire_next(&wire, &field), LL_WIRE_END);
    ll_arena_release(&arena);
    ll_str_release(&out);
}

static void packed_integers_are_counted_and_read(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05};
    struct ll_wire wire = {bytes, bytes + sizeof bytes};
    struct ll_wire_field field;
    uint64_t count;
    int64_t values[3];
    assert_int_equal(ll_wire_next(&wire, &field), LL_WIRE_FIELD);
    assert_int_equal(field.number, 6);
    assert_true(ll_wire_count(&field, &count));
    assert_int_equal(count, 3);
    assert_int_equal(ll_wire_integers(&field, values, 3), 3);
    assert_int_equal(values[0], 3);
    assert_int_equal(values[1], 270);
    assert_int_equal(values[2], 86942);
    assert_int_equal(ll_wire_integers(&field, values, 2), 2); /* no more than there is room for */
}

/* Random fields come back; cut anywhere, what is left is fields, then an end or something broken. */
static void what_was_written_comes_back_whole_or_not_at_all(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int round = 0; round < 200; round++) {
        struct ll_str out = {0};
        uint64_t written[8], ends[8];
        for (int i = 0; i < 8; i++) {
            written[i] = ll_random(&random) >> ll_random_below(&random, 64);
            double value = (double)written[i];
            if (i % 2) {
                ll_wire_put_varint(&out, 1000 << 3 | LL_WIRE_FIXED64);
                ll_str_add_bytes(&out, (const char *)&value, sizeof value);
            } else
                ll_wire_put_integer(&out, (uint64_t)i + 1, written[i]);
            ends[i] = out.length;
        }
        for (size_t cut = 0; cut <= out.length; cut++) {
            struct ll_wire wire = {(const uint8_t *)out.text, (const uint8_t *)out.text + cut};
            struct ll_wire_field field;
            enum ll_wire_step step;
            int read = 0;
            while ((step = ll_wire_next(&wire, &field)) == LL_WIRE_FIELD) {
                if (read % 2)
                    assert_near(ll_wire_double(&field), (double)written[read], 0);
                else
                    assert_int_equal(field.value, written[read]);
                read++;
            }
            bool at_end = cut == 0 || (read > 0 && ends[read - 1] == cut);
            assert_int_equal(step, at_end ? LL_WIRE_END : LL_WIRE_BROKEN);
        }
        ll_str_release(&out);
    }
}

static void what_is_no_field_is_broken(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } wrongs[] = {
        {{0x00, 0x01}, 2},      /* field 0 */
        {{0x0b}, 1},            /* a group */
        {{0x0e, 0x01}, 2},      /* type 6 */
        {{0x0a, 0x05, 'a'}, 3}, /* longer than there is */
        {{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 12}, /* eleven bytes */
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct ll_wire wire = {wrongs[i].bytes, wrongs[i].bytes + wrongs[i].size};
        struct ll_wire_field field;
        assert_int_equal(ll_wire_next(&wire, &field), LL_WIRE_BROKEN);
    }
}

static void names_do_nothing_to_a_terminal(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {'a', 0x1b, '[', '2', 'J', 0, 0x7f, 'z'};
    struct ll_arena arena = {0};
    assert_string_equal(ll_wire_text((struct ll_wire){bytes, bytes + sizeof bytes}, &arena), "a?[2J??z");
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documents_examples_are_written_and_read),
        cmocka_unit_test(packed_integers_are_counted_and_read),
        cmocka_unit_test(what_was_written_comes_back_whole_or_not_at_all),
        cmocka_unit_test(what_is_no_field_is_broken),
        cmocka_unit_test(names_do_nothing_to_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
