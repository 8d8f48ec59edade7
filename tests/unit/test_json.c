/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/json.h"

#include <float.h>

static void expect_text(const char *text, const char *expected)
{
    struct ll_str out = {0};
    ll_json_text(&(struct ll_json){.out = &out}, text);
    assert_string_equal(out.text, expected);
    ll_str_release(&out);
}

static void expect_number(double value, const char *expected)
{
    char text[32];
    ll_number_text(value, text);
    assert_string_equal(text, expected);
}

static void write_sample(struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_key(json, "name");
    ll_json_text(json, "alexnet");
    ll_json_key(json, "dims");
    ll_json_open_list(json);
    ll_json_count(json, UINT64_MAX - 1);
    ll_json_integer(json, INT64_MIN);
    ll_json_number(json, 0.1);
    ll_json_close_list(json);
    ll_json_key(json, "empty");
    ll_json_open_object(json);
    ll_json_close_object(json);
    ll_json_key(json, "fits");
    ll_json_bool(json, true);
    ll_json_key(json, "why");
    ll_json_null(json);
    ll_json_close_object(json);
}

static void nested_things_are_separated_by_commas(void **state)
{
    (void)state;
    struct ll_str out = {0};
    write_sample(&(struct ll_json){.out = &out});
    assert_string_equal(out.text,
                        "{\"name\":\"alexnet\",\"dims\":[18446744073709551614,-9223372036854775808,0.1],"
                        "\"empty\":{},\"fits\":true,\"why\":null}");
    ll_str_release(&out);
}

static void indented_things_stand_on_their_own_lines(void **state)
{
    (void)state;
    struct ll_str out = {0};
    write_sample(&(struct ll_json){.out = &out, .indent = true});
    assert_string_equal(out.text, "{\n  \"name\": \"alexnet\",\n  \"dims\": [\n    18446744073709551614,\n"
                                  "    -9223372036854775808,\n    0.1\n  ],\n  \"empty\": {},\n"
                                  "  \"fits\": true,\n  \"why\": null\n}\n");
    ll_str_release(&out);
}

/* Unicode's category Cc: beside the first 32, DEL and U+0080 to U+009F. */
static void what_terminals_obey_is_escaped_too(void **state)
{
    (void)state;
    expect_text("\x7f", "\"\\u007f\"");
    expect_text("\xC2\x80\xC2\x9B\xC2\x9F", "\"\\u0080\\u009b\\u009f\"");
    expect_text("\xC2\xA0\xC3\x9B", "\"\xC2\xA0\xC3\x9B\"");
}

/* RFC 8259, section 7: quotation mark, reverse solidus and the control characters must be escaped. */
static void what_must_be_escaped_is(void **state)
{
    (void)state;
    expect_text("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    expect_text("\x01\x1f\n\t", "\"\\u0001\\u001f\\u000a\\u0009\"");
    expect_text("", "\"\"");
    expect_text(NULL, "null");
}

/* RFC 3629, section 4: the first and the last sequence of each length. */
static void utf8_passes_unchanged(void **state)
{
    (void)state;
    static const char *const whole[] = {"\xC2\xA0",         "\xDF\xBF",         "\xE0\xA0\x80",
                                        "\xED\x9F\xBF",     "\xEE\x80\x80",     "\xEF\xBF\xBF",
                                        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xC3\xA4\xE2\x82\xAC"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\"", whole[i]);
        expect_text(whole[i], quoted);
    }
}

#define U_FFFD "\xEF\xBF\xBD"

static void bytes_that_are_not_utf8_are_replaced_one_by_one(void **state)
{
    (void)state;
    expect_text("\x80", "\"" U_FFFD "\"");                       /* a continuation without a start */
    expect_text("a\xC3", "\"a" U_FFFD "\"");                     /* cut off by the end */
    expect_text("\xE2\x82z", "\"" U_FFFD U_FFFD "z\"");          /* cut off by another */
    expect_text("\xC0\xAF", "\"" U_FFFD U_FFFD "\"");            /* overlong */
    expect_text("\xE0\x9F\xBF", "\"" U_FFFD U_FFFD U_FFFD "\""); /* overlong */
    expect_text("\xED\xA0\x80", "\"" U_FFFD U_FFFD U_FFFD "\""); /* a surrogate */
    expect_text("\xF4\x90\x80\x80", "\"" U_FFFD U_FFFD U_FFFD U_FFFD "\""); /* beyond U+10FFFF */
    expect_text("\xF5\x80\x80\x80", "\"" U_FFFD U_FFFD U_FFFD U_FFFD "\""); /* beyond it by its first byte */
    expect_text("\xF0\x8F\xBF\xBF", "\"" U_FFFD U_FFFD U_FFFD U_FFFD "\""); /* overlong */
    expect_text("\xFF", "\"" U_FFFD "\"");
}

static void a_number_is_as_short_as_it_can_be(void **state)
{
    (void)state;
    expect_number(0, "0");
    expect_number(-0.0, "-0");
    expect_number(0.1, "0.1");
    expect_number(0.1 + 0.2, "0.30000000000000004");
    expect_number(1.0 / 3, "0.3333333333333333");
    expect_number(-2.5, "-2.5");
    expect_number(1e-9, "1e-09");
    expect_number(DBL_MAX, "1.7976931348623157e+308");
    expect_number(DBL_TRUE_MIN, "5e-324");
}

static void whole_numbers_have_no_exponent_below_a_quadrillion(void **state)
{
    (void)state;
    expect_number(150, "150");
    expect_number(900e9, "900000000000");
    expect_number(-1e14, "-100000000000000");
    expect_number(1e15, "1e+15");
}

static void what_is_not_finite_is_null(void **state)
{
    (void)state;
    expect_number(NAN, "null");
    expect_number(INFINITY, "null");
    expect_number(-INFINITY, "null");
}

static void random_doubles_read_back_to_the_same_bits(void **state)
{
    (void)state;
    uint64_t random = ll_seed(3);
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = ll_random(&random);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        char text[32];
        ll_number_text(value, text);
        back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof value);
    }
}

static void a_key_and_its_value_are_put_at_once(void **state)
{
    (void)state;
    struct ll_str out = {0};
    struct ll_json json = {.out = &out};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "t", "x");
    ll_json_put_number(&json, "n", 0.5);
    ll_json_put_count(&json, "c", 7);
    ll_json_put_integer(&json, "i", -7);
    ll_json_put_bool(&json, "b", true);
    ll_json_close_object(&json);
    assert_string_equal(out.text, "{\"t\":\"x\",\"n\":0.5,\"c\":7,\"i\":-7,\"b\":true}");
    ll_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_things_are_separated_by_commas),
        cmocka_unit_test(indented_things_stand_on_their_own_lines),
        cmocka_unit_test(what_must_be_escaped_is),
        cmocka_unit_test(what_terminals_obey_is_escaped_too),
        cmocka_unit_test(utf8_passes_unchanged),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced_one_by_one),
        cmocka_unit_test(a_number_is_as_short_as_it_can_be),
        cmocka_unit_test(whole_numbers_have_no_exponent_below_a_quadrillion),
        cmocka_unit_test(what_is_not_finite_is_null),
        cmocka_unit_test(a_key_and_its_value_are_put_at_once),
        cmocka_unit_test(random_doubles_read_back_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
