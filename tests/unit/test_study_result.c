/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/study/study.h"

static const struct ll_study study = {
    .id = "X1", .paper = "A paper, figure 1", .title = "A <title>", .doc = "It shows & tells."};
static const struct ll_study_column columns[] = {{"name", LL_TEXT_COLUMN}, {"time (ms)", 2}};

static struct ll_study_result sample(void)
{
    struct ll_study_result result = {.failed = false};
    struct ll_study_table *table = ll_study_table_new(&result, NULL, "A table.", columns, 2);
    ll_table_put_text(table, "a, \"b\"");
    ll_table_put_number(table, 1.0 / 3);
    ll_table_put_text(table, "c");
    ll_table_put_number(table, NAN);
    ll_criterion_at_most(&result, (struct ll_measured_value){1.26, 1, " %"}, 1.3, "%s is small", "a");
    ll_criterion_at_least(&result, (struct ll_measured_value){2, 0, ""}, 3, "b is large");
    ll_criterion_between(&result, (struct ll_measured_value){NAN, 2, ""}, 1, 4, "c is known");
    ll_criterion_info(&result, "0.43", "about 0.4", "d");
    return result;
}

static void a_criterion_holds_at_its_bound_and_never_for_what_is_no_number(void **state)
{
    (void)state;
    struct ll_study_result result = {.failed = false};
    struct ll_measured_value two = {2, 0, ""}, none = {NAN, 0, ""};
    ll_criterion_at_most(&result, two, 2, "x");
    ll_criterion_at_least(&result, two, 2, "x");
    ll_criterion_between(&result, two, 2, 2, "x");
    assert_int_equal(ll_count_verdicts(&result, LL_PASS), 3);
    ll_criterion_at_most(&result, two, 1.99, "x");
    ll_criterion_at_least(&result, two, 2.01, "x");
    ll_criterion_between(&result, two, 3, 4, "x");
    ll_criterion_at_most(&result, none, 1, "x");
    ll_criterion_at_least(&result, none, 1, "x");
    ll_criterion_between(&result, none, 0, 1, "x");
    assert_int_equal(ll_count_verdicts(&result, LL_FAIL), 6);
    assert_false(result.failed);
    ll_study_result_release(&result);
}

static void measured_and_bound_are_shown_alike(void **state)
{
    (void)state;
    struct ll_study_result result = sample();
    assert_string_equal(result.criteria[0].measured, "1.3 %");
    assert_string_equal(result.criteria[0].bound, "<= 1.3 %");
    assert_string_equal(result.criteria[0].claim, "a is small");
    assert_string_equal(result.criteria[2].bound, "1.00 to 4.00");
    assert_string_equal(ll_verdict_name(result.criteria[3].verdict), "INFO");
    ll_study_result_release(&result);
}

static void values_with_commas_are_quoted_and_numbers_are_whole(void **state)
{
    (void)state;
    struct ll_study_result result = sample();
    struct ll_str text = {0};
    ll_present_csv(&result.tables[0], &text);
    assert_string_equal(text.text, "name,time (ms)\n\"a, \"\"b\"\"\",0.3333333333333333\nc,\n");
    ll_str_release(&text);
    ll_study_result_release(&result);
}

static void the_screen_shows_table_and_verdicts(void **state)
{
    (void)state;
    struct ll_study_result result = sample();
    struct ll_study_plan plan = {.failed = false};
    struct ll_str text = {0};
    ll_present_text(&study, &plan, &result, 120, &text);
    assert_string_equal(text.text, "X1  A paper, figure 1: A <title>\n"
                                   "\n"
                                   "A table.\n"
                                   "  name    time (ms)\n"
                                   "  a, \"b\"       0.33\n"
                                   "  c\n"
                                   "\n"
                                   "  verdict  measured  wanted        claim\n"
                                   "  PASS        1.3 %  <= 1.3 %      a is small\n"
                                   "  FAIL            2  >= 3          b is large\n"
                                   "  FAIL          nan  1.00 to 4.00  c is known\n"
                                   "  INFO         0.43  about 0.4     d\n");
    ll_str_release(&text);
    ll_study_result_release(&result);
}

/* What was run, each row once; what was not, and other variants, are on the page. */
static void the_screen_says_what_was_run(void **state)
{
    static const struct ll_recording recordings[] = {
        {.row = "a", .variant = "dry", .model = "alexnet", .dry_run = true, .batch = 64, .steps = 2},
        {.row = "a",
         .variant = "one",
         .model = "alexnet",
         .settings = {{"image", "56"}, {"hidden", "8"}},
         .batch = 1,
         .steps = 20},
        {.row = "a", .variant = "two", .model = "alexnet", .batch = 1, .steps = 20, .threads = 2},
        {.row = "b", .variant = "one", .model = "vgg", .batch = 2, .steps = 3},
    };
    struct ll_study_result result = sample();
    struct ll_study_plan plan = {.failed = false};
    struct ll_str text = {0};
    (void)state;
    for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++)
        ll_study_plan_recording(&plan, &recordings[i]);
    ll_present_text(&study, &plan, &result, 120, &text);
    assert_non_null(strstr(text.text, "Recorded here: alexnet, batch 1, 20 steps, image=56, hidden=8; vgg, "
                                      "batch 2, 3 steps\n"));
    ll_str_release(&text);
    ll_study_plan_release(&plan);
    ll_study_result_release(&result);
}

static void pages_escape_what_they_show(void **state)
{
    (void)state;
    struct ll_study_result result = sample();
    struct ll_study_plan plan = {.failed = false};
    struct ll_str text = {0};
    ll_study_plan_recording(
        &plan, &(struct ll_recording){
                   .row = "<r>", .variant = "v", .model = "m", .steps = 3, .settings = {{"key", "1"}}});
    ll_present_html(&study, &plan, &result, &text);
    assert_non_null(strstr(text.text, "<h1>A &lt;title&gt;</h1>"));
    assert_non_null(strstr(text.text, "It shows &amp; tells."));
    assert_non_null(
        strstr(text.text, "&lt;r&gt;, v: <code>leadline record m --infer --steps 3 -p key=1</code>"));
    assert_non_null(strstr(text.text, "<td class=\"n\">0.33</td>"));
    assert_null(strstr(text.text, "<script"));
    ll_str_release(&text);
    ll_study_plan_release(&plan);
    ll_study_result_release(&result);
}

static void programs_get_every_number_in_full(void **state)
{
    (void)state;
    struct ll_study_result result = sample();
    struct ll_study_plan plan = {.failed = false};
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    ll_present_json(&study, &plan, &result, &json);
    assert_non_null(strstr(text.text, "\"passed\":1,\"failed\":2"));
    assert_non_null(strstr(text.text, "{\"name\":\"a, \\\"b\\\"\",\"time (ms)\":0.3333333333333333}"));
    assert_non_null(strstr(text.text, "{\"name\":\"c\",\"time (ms)\":null}"));
    assert_non_null(strstr(
        text.text,
        "\"verdict\":\"FAIL\",\"claim\":\"b is large\",\"measured\":\"2\",\"wanted\":\">= 3\",\"value\":2"));
    ll_str_release(&text);
    ll_study_plan_release(&plan);
    ll_study_result_release(&result);
}

static void too_many_sheets_are_a_failure_and_no_overflow(void **state)
{
    (void)state;
    struct ll_study_result result = {.failed = false};
    for (int i = 0; i < LL_MOST_STUDY_TABLES; i++)
        ll_study_table_new(&result, NULL, "x", columns, 2);
    assert_false(result.failed);
    ll_table_put_text(ll_study_table_new(&result, NULL, "x", columns, 2), "y");
    assert_true(result.failed);
    ll_study_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_criterion_holds_at_its_bound_and_never_for_what_is_no_number),
        cmocka_unit_test(measured_and_bound_are_shown_alike),
        cmocka_unit_test(values_with_commas_are_quoted_and_numbers_are_whole),
        cmocka_unit_test(the_screen_shows_table_and_verdicts),
        cmocka_unit_test(the_screen_says_what_was_run),
        cmocka_unit_test(pages_escape_what_they_show),
        cmocka_unit_test(programs_get_every_number_in_full),
        cmocka_unit_test(too_many_sheets_are_a_failure_and_no_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
