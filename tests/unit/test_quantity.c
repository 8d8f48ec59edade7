/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "random.h"
#include "sim/machine/quantity.h"

#include <locale.h>
#include <string.h>

static double value_of(const char *text)
{
    struct ll_quantity quantity;
    const char *unit;
    assert_int_equal(ll_quantity_parse(text, &quantity, &unit), LL_QUANTITY_FINE);
    return quantity.value;
}

static void a_text_means_the_double_nearest_to_it(void **state)
{
    (void)state;
    assert_true(value_of("1GHz") == 1e9);
    assert_true(value_of("900GB/s") == 900e9);
    assert_true(value_of("20PB/s") == 20e15);
    assert_true(value_of("512B/cycle") == 512);
    assert_true(value_of("4MiB") == 4.0 * 1024 * 1024);
    assert_true(value_of("32kB") == 32000);
    assert_true(value_of("32KiB") == 32768);
    assert_true(value_of("3us") == 3e-6);
    assert_true(value_of("120ns") == 120e-9);
    assert_true(value_of("120 ns") == 120e-9);
    assert_true(value_of("0.45mm2") == 0.45e-6);
    assert_true(value_of("4.6pJ") == 4.6e-12); /* 4.6 * 1e-12 would be one bit away */
    assert_true(value_of("0.1ns") == 0.1e-9);
    assert_true(value_of("20W") == 20);
    assert_true(value_of("0.85") == 0.85);
    assert_true(value_of("1e3kB") == 1e6);
    assert_true(value_of("2.5e-1GiB") == 268435456);
}

static void what_is_no_quantity_is_refused_for_its_reason(void **state)
{
    static const struct {
        const char *text;
        enum ll_quantity_status status;
    } cases[] = {
        {"", LL_QUANTITY_NO_NUMBER},
        {"fast", LL_QUANTITY_NO_NUMBER},
        {"nan", LL_QUANTITY_NO_NUMBER},
        {"inf", LL_QUANTITY_NO_NUMBER},
        {".5s", LL_QUANTITY_NO_NUMBER},
        {"5.s", LL_QUANTITY_NO_NUMBER},
        {"+1s", LL_QUANTITY_NO_NUMBER},
        {"-1s", LL_QUANTITY_NEGATIVE},
        {" 1s", LL_QUANTITY_NO_NUMBER},
        {"0x10B", LL_QUANTITY_NO_UNIT},
        {"1,5GB", LL_QUANTITY_NO_UNIT},
        {"1e", LL_QUANTITY_NO_UNIT},
        {"1e+", LL_QUANTITY_NO_UNIT},
        {"1Gb", LL_QUANTITY_NO_UNIT},
        {"1KB", LL_QUANTITY_NO_UNIT},
        {"1ghz", LL_QUANTITY_NO_UNIT},
        {"1s ", LL_QUANTITY_NO_UNIT},
        {"1s s", LL_QUANTITY_NO_UNIT},
        {"1e400GB", LL_QUANTITY_TOO_LARGE},
        {"1e999999999999s", LL_QUANTITY_TOO_LARGE},
        {"11111111111111111111111111111111111111111s", LL_QUANTITY_NO_NUMBER}, /* 41 digits */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_quantity quantity;
        const char *unit;
        if (ll_quantity_parse(cases[i].text, &quantity, &unit) != cases[i].status)
            fail_msg("'%s'", cases[i].text);
    }
}

static void a_tiny_number_is_zero_and_leading_zeros_do_not_count(void **state)
{
    (void)state;
    assert_true(value_of("1e-999s") == 0);
    assert_true(value_of("0.0000000000000000000000000000000000000000000000001s") == 1e-49);
    assert_true(value_of("00000000000000000000000000000000000000000000000001s") == 1);
}

static void a_count_has_digits_only_and_fits_in_64_bits(void **state)
{
    uint64_t count;
    (void)state;
    assert_true(ll_count_parse("18446744073709551615", &count));
    assert_true(count == UINT64_MAX);
    assert_false(ll_count_parse("18446744073709551616", &count));
    assert_false(ll_count_parse("", &count));
    assert_false(ll_count_parse("-1", &count));
    assert_false(ll_count_parse("1.0", &count));
    assert_false(ll_count_parse("1 ", &count));
}

static void a_bare_number_is_meant_in_the_unit_of_its_key(void **state)
{
    double value;
    (void)state;
    assert_true(ll_number_parse("4.6", "pJ", &value));
    assert_true(value == 4.6e-12);
    assert_true(ll_number_parse("0.45", "mm2/MiB", &value));
    assert_true(value == 0.45e-6 / 1048576);
    assert_true(ll_number_parse("0.85", "", &value));
    assert_true(value == 0.85);
    assert_false(ll_number_parse("4.6pJ", "pJ", &value));
    assert_false(ll_number_parse("1e400", "", &value));
    assert_string_equal(ll_number_in(4.6e-12, "pJ").text, "4.6");
    assert_string_equal(ll_number_in(0.45e-6 / 1048576, "mm2/MiB").text, "0.45");
}

static void a_value_is_written_in_the_unit_that_reads_best(void **state)
{
    static const struct {
        double value;
        enum ll_dimension dimension;
        const char *text;
    } cases[] = {
        {1e9, LL_DIMENSION_FREQUENCY, "1GHz"},     {1.53e9, LL_DIMENSION_FREQUENCY, "1.53GHz"},
        {7e8, LL_DIMENSION_FREQUENCY, "700MHz"},   {900e9, LL_DIMENSION_BANDWIDTH, "900GB/s"},
        {3e-6, LL_DIMENSION_TIME, "3us"},          {0, LL_DIMENSION_TIME, "0s"},
        {120e-9, LL_DIMENSION_TIME, "120ns"},      {1e-30, LL_DIMENSION_TIME, "1e-30s"},
        {16777216, LL_DIMENSION_SIZE, "16MiB"},    {32e9, LL_DIMENSION_SIZE, "32GB"},
        {6291456, LL_DIMENSION_SIZE, "6MiB"},      {1000, LL_DIMENSION_SIZE, "1kB"},
        {1001, LL_DIMENSION_SIZE, "1001B"},        {0.85, LL_DIMENSION_NUMBER, "0.85"},
        {1e22, LL_DIMENSION_BANDWIDTH, "1e22B/s"}, {0x1p50, LL_DIMENSION_NUMBER, "1125899906842624"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ll_quantity_text(cases[i].value, cases[i].dimension).text, cases[i].text);
}

/* Random bits make doubles of all sizes; short decimals are what people write. */
static double random_value(uint64_t *random)
{
    uint64_t bits = ll_random(random) >> 1;
    double value;
    if (ll_random_below(random, 2))
        return (double)ll_random_below(random, 100000) / 1000;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) && value < 1e290 && value > 1e-290 ? value : 1;
}

static void what_is_written_reads_back_to_the_same_bits(void **state)
{
    uint64_t random = ll_seed(20);
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double value = random_value(&random), again;
        enum ll_dimension dimension = (enum ll_dimension)ll_random_below(&random, LL_DIMENSION_COUNT);
        struct ll_quantity_text text = ll_quantity_text(value, dimension);
        struct ll_quantity quantity;
        const char *unit;
        if (ll_quantity_parse(text.text, &quantity, &unit) != LL_QUANTITY_FINE || quantity.value != value ||
            quantity.dimension != dimension)
            fail_msg("%.17g became %s", value, text.text);
        text = ll_number_in(value, "mm2/MiB");
        if (!ll_number_parse(text.text, "mm2/MiB", &again) || again != value)
            fail_msg("%.17g became %s", value, text.text);
    }
}

static void no_locale_changes_what_a_text_means(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        skip();
    double value = value_of("1.5GHz");
    setlocale(LC_ALL, "C");
    assert_true(value == 1.5e9);
}

static void the_nearest_unit_differs_in_case_or_a_letter(void **state)
{
    (void)state;
    assert_string_equal(ll_unit_nearest("ghz"), "GHz");
    assert_string_equal(ll_unit_nearest("Gb/s"), "GB/s");
    assert_string_equal(ll_unit_nearest("GB/sec"), "GB/s");
    assert_null(ll_unit_nearest("parsecs"));
}

static void every_dimension_has_words_and_an_example_that_it_reads(void **state)
{
    (void)state;
    for (int i = 0; i < LL_DIMENSION_COUNT; i++) {
        struct ll_quantity quantity;
        const char *unit, *example = ll_dimension_example((enum ll_dimension)i);
        char first[32];
        snprintf(first, sizeof first, "%.*s", (int)strcspn(example, " "), example);
        assert_int_equal(ll_quantity_parse(first, &quantity, &unit), LL_QUANTITY_FINE);
        assert_int_equal(quantity.dimension, i);
        assert_true(*ll_dimension_name((enum ll_dimension)i) != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_means_the_double_nearest_to_it),
        cmocka_unit_test(what_is_no_quantity_is_refused_for_its_reason),
        cmocka_unit_test(a_tiny_number_is_zero_and_leading_zeros_do_not_count),
        cmocka_unit_test(a_count_has_digits_only_and_fits_in_64_bits),
        cmocka_unit_test(a_bare_number_is_meant_in_the_unit_of_its_key),
        cmocka_unit_test(a_value_is_written_in_the_unit_that_reads_best),
        cmocka_unit_test(what_is_written_reads_back_to_the_same_bits),
        cmocka_unit_test(no_locale_changes_what_a_text_means),
        cmocka_unit_test(the_nearest_unit_differs_in_case_or_a_letter),
        cmocka_unit_test(every_dimension_has_words_and_an_example_that_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
