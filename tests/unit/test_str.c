/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "random.h"

#include "tracer/base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void a_text_grows_by_what_is_added(void **state)
{
    (void)state;
    struct ll_str str = {0};
    ll_str_add(&str, "deep ");
    ll_str_add_bytes(&str, "six!", 3);
    ll_str_addf(&str, ", %d of %s", 6, "them");
    assert_string_equal(str.text, "deep six, 6 of them");
    assert_int_equal(str.length, strlen(str.text));
    assert_false(str.failed);
    ll_str_release(&str);
    assert_null(str.text);
}

static void a_base_name_is_what_stands_behind_the_last_slash(void **state)
{
    (void)state;
    assert_string_equal(ll_base_name("/usr/lib/libm.so.6"), "libm.so.6");
    assert_string_equal(ll_base_name("libm.so.6"), "libm.so.6");
    assert_string_equal(ll_base_name("lib/"), "");
    assert_string_equal(ll_base_name(""), "");
}

static void adding_nothing_still_makes_a_text(void **state)
{
    (void)state;
    struct ll_str str = {0};
    ll_str_add(&str, "");
    assert_string_equal(str.text, "");
    ll_str_add_bytes(&str, NULL, 0);
    assert_int_equal(str.length, 0);
    ll_str_release(&str);
}

static void a_long_text_is_the_sum_of_its_pieces(void **state)
{
    (void)state;
    struct ll_str str = {0};
    for (int i = 0; i < 5000; i++)
        i % 2 ? ll_str_addf(&str, "%04d", i) : ll_str_add_bytes(&str, "0000", 4);
    assert_int_equal(str.length, 20000);
    for (int i = 1; i < 5000; i += 2)
        assert_int_equal(strtol((char[]){str.text[4 * i], str.text[4 * i + 1], str.text[4 * i + 2],
                                         str.text[4 * i + 3], '\0'},
                                NULL, 10),
                         i);
    ll_str_release(&str);
}

static void a_text_that_cannot_grow_keeps_what_it_has(void **state)
{
    (void)state;
    struct ll_str str = {0};
    ll_str_add(&str, "anchor");
    ll_str_add_bytes(&str, "x", SIZE_MAX - 6);
    assert_true(str.failed);
    ll_str_add(&str, " more");
    assert_string_equal(str.text, "anchor");
    ll_str_release(&str);
}

static const char *const keys[] = {"rows", "cols", "dataflow", "overlap_folds", "macs", "bandwidth", "m"};

static const char *near(const char *word)
{
    return ll_nearest(word, keys, sizeof keys / sizeof keys[0]);
}

static void each_kind_of_mistake_is_forgiven(void **state)
{
    (void)state;
    assert_string_equal(near("rosw"), "rows");                  /* two swapped */
    assert_string_equal(near("colss"), "cols");                 /* one too many */
    assert_string_equal(near("bandwith"), "bandwidth");         /* one missing */
    assert_string_equal(near("dataflaw"), "dataflow");          /* one wrong */
    assert_string_equal(near("overlap-fold"), "overlap_folds"); /* two of these in a long word */
    assert_string_equal(near("macs"), "macs");
    assert_string_equal(near("MACS"), "macs"); /* not in its place, but all there */
    assert_string_equal(near("M"), "m");
}

static void a_far_word_is_not_suggested(void **state)
{
    (void)state;
    assert_null(near("clock"));
    assert_null(near("swor")); /* rows backwards: three from it */
    assert_null(near(""));
    assert_null(near("x")); /* one letter has nothing left to be recognised by */
    assert_null(near("an_unreasonably_long_word_that_nobody_would_ever_type_as_a_key_in_yaml"));
    assert_null(ll_nearest("rows", NULL, 0));
}

static void the_first_of_equals_is_suggested(void **state)
{
    (void)state;
    const char *const twins[] = {"rats", "cats", "bats"};
    assert_string_equal(ll_nearest("hats", twins, 3), "rats");
}

/* As the C library reads it: what is short, by a way of its own, and what is not. */
static void decimals_are_read_to_the_last_bit(void **state)
{
    (void)state;
    static const char *const odd[] = {"0",
                                      "-0",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "-1e-5x",
                                      "0x10",
                                      "1e22",
                                      "1e23",
                                      "inf",
                                      "nan",
                                      "-",
                                      "",
                                      " 7",
                                      "00012.5",
                                      "9007199254740993",
                                      "4.9e-324",
                                      "1e-400",
                                      "1.7976931348623157e308",
                                      "123456789012345678901234567890",
                                      "0.1e1.5",
                                      "1e999999999999"};
    uint64_t random = 5;
    char text[64];
    for (int i = 0; i < 20000; i++) {
        if ((size_t)i < sizeof odd / sizeof *odd)
            snprintf(text, sizeof text, "%s", odd[i]);
        else
            snprintf(text, sizeof text, "%s%" PRIu64 ".%0*" PRIu64 "%s%d", i % 3 ? "" : "-",
                     ll_random(&random) >> (i % 64), i % 5, ll_random(&random) % 10000, i % 2 ? "e" : ";",
                     (int)(ll_random(&random) % 60) - 30);
        char *ends[2];
        double read = ll_strtod(text, &ends[0]), expected = strtod(text, &ends[1]);
        assert_ptr_equal(ends[0], ends[1]);
        assert_true(memcmp(&read, &expected, sizeof read) == 0 || (isnan(read) && isnan(expected)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_grows_by_what_is_added),
        cmocka_unit_test(a_base_name_is_what_stands_behind_the_last_slash),
        cmocka_unit_test(adding_nothing_still_makes_a_text),
        cmocka_unit_test(a_long_text_is_the_sum_of_its_pieces),
        cmocka_unit_test(a_text_that_cannot_grow_keeps_what_it_has),
        cmocka_unit_test(each_kind_of_mistake_is_forgiven),
        cmocka_unit_test(decimals_are_read_to_the_last_bit),
        cmocka_unit_test(a_far_word_is_not_suggested),
        cmocka_unit_test(the_first_of_equals_is_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
