/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/table.h"

static void three_digits_and_a_prefix(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_si(&human, 0.00925, "s"), "9.25 ms");
    assert_string_equal(ll_format_si(&human, 75.66e9, "FLOP"), "75.7 GFLOP");
    assert_string_equal(ll_format_si(&human, 1, "B"), "1.00 B");
    assert_string_equal(ll_format_si(&human, 125e12, "FLOP/s"), "125 TFLOP/s");
    assert_string_equal(ll_format_si(&human, 0, "J"), "0.00 J");
}

static void rounding_up_to_a_thousand_takes_the_next_prefix(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_si(&human, 999.4, "B"), "999 B");
    assert_string_equal(ll_format_si(&human, 999.6, "B"), "1.00 kB");
    assert_string_equal(ll_format_si(&human, 9.996e-7, "s"), "1.00 us");
    assert_string_equal(ll_format_binary(&human, 1023.6), "1.00 KiB");
}

static void what_is_counted_has_no_thousandths(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_count(&human, 0.18345, "samples/s"), "0.183 samples/s");
    assert_string_equal(ll_format_count(&human, 0.09, ""), "0.09");
    assert_string_equal(ll_format_count(&human, 1433, "samples/s"), "1,433 samples/s");
}

/* Digits before the last prefix would not fit, and tell nobody anything. */
static void what_is_past_the_last_prefix_has_an_exponent(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_si(&human, 999.4e18, "s"), "999 Es");
    assert_string_equal(ll_format_si(&human, 999.6e18, "s"), "1e+21 s");
    assert_string_equal(ll_format_si(&human, 1.0596190476e40, "s"), "1.06e+40 s");
    assert_string_equal(ll_format_si(&human, 1e308, "FLOP/s"), "1e+308 FLOP/s");
    assert_string_equal(ll_format_binary(&human, 1e30), "1e+30 B");
}

static void what_is_no_number_is_a_dash(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_si(&human, NAN, "s"), "-");
    assert_string_equal(ll_format_si(&human, INFINITY, "s"), "-");
}

static void a_loss_is_seen_however_small(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_times(&human, 1.3642), "1.36x");
    assert_string_equal(ll_format_times(&human, 1.0004), "1.00x");
    assert_string_equal(ll_format_times(&human, 1), "1.00x");
    assert_string_equal(ll_format_times(&human, 0.8312), "0.83x");
    assert_string_equal(ll_format_times(&human, 0.9949), "0.99x");
    assert_string_equal(ll_format_times(&human, 0.9951), "0.995x");
    assert_string_equal(ll_format_times(&human, 0.99996), "0.99996x");
    assert_string_equal(ll_format_times(&human, 0.999999), "0.999999x");
    assert_string_equal(ll_format_times(&human, 0.9999999), "1.00x"); /* rounding */
}

static void capacities_count_in_powers_of_1024(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_binary(&human, 512), "512 B");
    assert_string_equal(ll_format_binary(&human, -48.0 * 1024 * 1024), "-48.0 MiB");
    assert_string_equal(ll_format_binary(&human, 1.9 * 1024 * 1024 * 1024), "1.90 GiB");
}

static void thousands_are_grouped(void **state)
{
    (void)state;
    struct ll_human human;
    assert_string_equal(ll_format_grouped(&human, 61104937), "61,104,937");
    assert_string_equal(ll_format_grouped(&human, 999), "999");
    assert_string_equal(ll_format_grouped(&human, 0), "0");
}

static void a_bar_stays_within_its_brackets(void **state)
{
    (void)state;
    struct ll_str out = {0};
    ll_bar(&out, 0.5, 4, LL_BAR_ASCII);
    ll_bar(&out, 7, 4, LL_BAR_ASCII);
    ll_bar(&out, -1, 4, LL_BAR_ASCII);
    assert_string_equal(out.text, "[##--][####][----]");
    ll_str_release(&out);
    ll_bar(&out, 0.5 + 3 / 32.0, 4, LL_BAR_BLOCKS); /* two characters and three eighths */
    ll_bar(&out, 7, 4, LL_BAR_BLOCKS);
    ll_bar(&out, -1, 4, LL_BAR_BLOCKS);
    assert_string_equal(out.text, "\u2588\u2588\u258D   \u2588\u2588\u2588\u2588        ");
    ll_str_release(&out);
}

static void a_text_breaks_at_spaces_before_the_width(void **state)
{
    (void)state;
    struct ll_str out = {0};
    ll_wrap(&out, "one two three four", 11);
    assert_string_equal(out.text, "  one two\n  three\n  four\n");
    ll_str_release(&out);
    ll_wrap(&out, "unbreakable", 4);
    assert_string_equal(out.text, "  unbreakable\n");
    ll_str_release(&out);
}

static void what_a_terminal_would_obey_is_hidden(void **state)
{
    (void)state;
    char text[] = "a\x1b[31mb\r\t\xC3\x9B\xC2\xA0\x7f\n\xC2\x9B\xC2";
    ll_hide_controls(text, sizeof text - 1);
    assert_string_equal(text, "a?[31mb?\t\xC3\x9B\xC2\xA0?\n??\xC2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_digits_and_a_prefix),
        cmocka_unit_test(rounding_up_to_a_thousand_takes_the_next_prefix),
        cmocka_unit_test(what_is_counted_has_no_thousandths),
        cmocka_unit_test(what_is_past_the_last_prefix_has_an_exponent),
        cmocka_unit_test(what_is_no_number_is_a_dash),
        cmocka_unit_test(a_loss_is_seen_however_small),
        cmocka_unit_test(capacities_count_in_powers_of_1024),
        cmocka_unit_test(thousands_are_grouped),
        cmocka_unit_test(a_bar_stays_within_its_brackets),
        cmocka_unit_test(a_text_breaks_at_spaces_before_the_width),
        cmocka_unit_test(what_a_terminal_would_obey_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
