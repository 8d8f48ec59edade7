/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/table.h"

/* What a table prints on a screen of this width, without marks. */
static void print_plain(struct ll_table *table, unsigned width, struct ll_str *out)
{
    struct ll_str marked = {0};
    ll_table_print(table, width, &marked);
    ll_add_painted(marked.text, false, out);
    ll_str_release(&marked);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("name|>time");
    ll_table_row(table, "%s|%d", "conv2d", 7);
    ll_table_row(table, "%s|%d", "x", 1234567);
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_string_equal(out.text, "name       time\n"
                                  "conv2d        7\n"
                                  "x       1234567\n");
    ll_str_release(&out);
    ll_table_free(table);
}

static void a_line_end_in_a_cell_does_not_break_the_row(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("a|b");
    ll_table_row(table, "%s|%s", "one\ntwo", "three");
    ll_table_row(table, "%s|%s", "\x1b[2J\x7f", "\xC3\xA9\t\xC2\x9B");
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_string_equal(out.text, "a        b\none two  three\n?[2J?    \xC3\xA9 ??\n");
    ll_str_release(&out);
    ll_table_free(table);
}

static void a_bar_within_a_cell_is_no_other_cell(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("a|b|c");
    ll_table_row(table, "%s|x|%s", "1|2", "||");
    ll_table_cell(table, "%s", "");
    ll_table_cell(table, "%d|%d", 3, 4);
    ll_table_cell(table, "\x1b");
    ll_table_end_row(table);
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_string_equal(out.text, "a    b    c\n1|2  x    ||\n     3|4  ?\n");
    ll_str_release(&out);
    ll_table_free(table);
}

static void a_row_may_be_long(void **state)
{
    (void)state;
    char name[3000] = {0};
    memset(name, 'x', sizeof name - 1);
    struct ll_table *table = ll_table_new("a|b");
    ll_table_row(table, "%s|%s", name, "behind");
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_non_null(strstr(out.text, "  behind\n"));
    ll_str_release(&out);
    ll_table_free(table);
}

static void letters_of_several_bytes_are_one_wide(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("a|b");
    ll_table_row(table, "\xC3\xA9|x");
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_string_equal(out.text, "a  b\n\xC3\xA9  x\n");
    ll_str_release(&out);
    ll_table_free(table);
}

static void a_column_may_have_no_heading(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("rate|");
    ll_table_row(table, "%s|%s", "fast", "the best");
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_string_equal(out.text, "rate\nfast  the best\n");
    ll_str_release(&out);
    ll_table_free(table);
}

static void expect_at(unsigned width, const char *expected)
{
    struct ll_table *table = ll_table_new("name|?>cycles|?>share|meaning of it all");
    ll_table_row(table, "conv2d|100|50 %%|windows times filters");
    struct ll_str out = {0};
    print_plain(table, width, &out);
    assert_string_equal(out.text, expected);
    ll_str_release(&out);
    ll_table_free(table);
}

static void a_narrow_screen_loses_what_is_spare_and_then_wraps_the_last_column(void **state)
{
    (void)state;
    expect_at(44, "name    cycles  share  meaning of it all\n"
                  "conv2d     100   50 %  windows times filters\n");
    expect_at(43, "name    cycles  meaning of it all\n"
                  "conv2d     100  windows times filters\n"
                  "hidden for want of room: share\n");
    expect_at(30, "name    meaning of it all\n"
                  "conv2d  windows times filters\n"
                  "hidden for want of room:\n"
                  "cycles, share\n");
    expect_at(27, "name    meaning of it all\n"
                  "conv2d  windows times\n"
                  "        filters\n"
                  "hidden for want of room:\n"
                  "cycles, share\n");
    expect_at(20, "name    meani... all\n" /* no room to wrap into */
                  "conv2d  windo...ters\n"
                  "hidden for want of\n"
                  "room: cycles, share\n");
}

static void expect_of(const char *headings, const char *row, unsigned width, const char *expected)
{
    struct ll_table *table = ll_table_new(headings);
    struct ll_str out = {0};
    ll_table_cell(table, "%s", "a_machine_with_a_long_name");
    for (; *row; row++)
        ll_table_cell(table, "%c", *row);
    ll_table_end_row(table);
    print_plain(table, width, &out);
    assert_string_equal(out.text, expected);
    ll_str_release(&out);
    ll_table_free(table);
}

static void columns_with_most_question_marks_are_hidden_first_of_equals_the_last(void **state)
{
    (void)state;
    const char *headings = "machine|>?first|>???third|>ms|>???fourth|>??second";
    expect_of(headings, "12345", 64,
              "machine                     first  third  ms  fourth  second\n"
              "a_machine_with_a_long_name      1      2   3       4       5\n");
    expect_of(headings, "12345", 55,
              "machine                     first  third  ms  second\n"
              "a_machine_with_a_long_name      1      2   3       5\n"
              "hidden for want of room: fourth\n");
    expect_of(headings, "12345", 48,
              "machine                     first  ms  second\n"
              "a_machine_with_a_long_name      1   3       5\n"
              "hidden for want of room: third, fourth\n");
}

static void what_no_hiding_makes_fit_is_cut_and_then_loses_columns_from_the_right(void **state)
{
    (void)state;
    expect_of("machine|>ms|?>x", "12", 24,
              "machine               ms\n"
              "a_machine...ong_name   1\n"
              "hidden for want of room:\n"
              "x\n");
    expect_of("machine|>milliseconds|>watts", "12", 28,
              "machine         milliseconds\n"
              "a_mach..._name             1\n"
              "hidden for want of room:\n"
              "watts\n");
}

static void expect_wrapped(const char *text, unsigned width, const char *expected)
{
    struct ll_str out = {0};
    ll_wrap_all(text, width, &out);
    assert_string_equal(out.text, expected);
    ll_str_release(&out);
}

static void lines_break_at_spaces_and_go_on_behind_their_label(void **state)
{
    (void)state;
    expect_wrapped("fits\n\nfits too\n", 10, "fits\n\nfits too\n");
    expect_wrapped("one two three four\n", 10, "one two\n  three\n  four\n");
    expect_wrapped("  label  what it is of all the things\n", 22,
                   "  label  what it is of\n         all the\n         things\n");
    expect_wrapped("a /path/that/is/longer/than/a/line b\n", 12,
                   "a\n  /path/that/is/longer/than/a/line\n  b\n");
}

static void what_is_spare_and_empty_is_left_out(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("machine|?>memory|?>samples|?>rest|>bound");
    ll_table_row(table, "a|10 %%||1|");
    ll_table_row(table, "b|||2|");
    struct ll_str out = {0};
    print_plain(table, 80, &out);
    assert_string_equal(out.text, "machine  memory  rest  bound\n"
                                  "a          10 %     1\n"
                                  "b                   2\n");
    ll_str_release(&out);
    ll_table_free(table);
}

static void marks_become_colours_or_nothing_and_end_with_the_line(void **state)
{
    (void)state;
    struct ll_str colour = {0}, plain = {0};
    char text[] = "a " LL_MARK_FIND "b" LL_MARK_END " \x1b[2J\n" LL_MARK_BAD "c\nd\n", again[sizeof text];
    memcpy(again, text, sizeof text);
    ll_add_painted(text, true, &colour);
    ll_add_painted(again, false, &plain);
    assert_string_equal(colour.text, "a \x1b[1;35mb\x1b[0m ?[2J\n\x1b[1;31mc\x1b[0m\nd\n");
    assert_string_equal(plain.text, "a b ?[2J\nc\nd\n");
    ll_str_release(&colour);
    ll_str_release(&plain);
}

static void a_marked_row_is_as_wide_as_others(void **state)
{
    (void)state;
    struct ll_table *table = ll_table_new("a|>b");
    struct ll_str out = {0}, painted = {0};
    ll_table_mark(table, LL_MARK_VALUE);
    ll_table_row(table, "one|1");
    ll_table_row(table, "two|2");
    ll_table_print(table, 80, &out);
    ll_add_painted(out.text, true, &painted);
    assert_string_equal(painted.text, "\x1b[2ma    b\x1b[0m\n\x1b[1mone  1\x1b[0m\ntwo  2\n");
    ll_str_release(&out);
    ll_str_release(&painted);
    ll_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(a_line_end_in_a_cell_does_not_break_the_row),
        cmocka_unit_test(a_column_may_have_no_heading),
        cmocka_unit_test(a_narrow_screen_loses_what_is_spare_and_then_wraps_the_last_column),
        cmocka_unit_test(columns_with_most_question_marks_are_hidden_first_of_equals_the_last),
        cmocka_unit_test(what_no_hiding_makes_fit_is_cut_and_then_loses_columns_from_the_right),
        cmocka_unit_test(lines_break_at_spaces_and_go_on_behind_their_label),
        cmocka_unit_test(marks_become_colours_or_nothing_and_end_with_the_line),
        cmocka_unit_test(a_marked_row_is_as_wide_as_others),
        cmocka_unit_test(what_is_spare_and_empty_is_left_out),
        cmocka_unit_test(a_bar_within_a_cell_is_no_other_cell),
        cmocka_unit_test(a_row_may_be_long),
        cmocka_unit_test(letters_of_several_bytes_are_one_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
