/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/table.h"
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
    ll_criterion_info(&result, "a sketch", "0.43", "about 0.4", "d");
    return result;
}

/* An explanation whose arithmetic gives this, where 12 and its rounding are printed. */
static struct ll_explanation explanation_of(double reached)
{
    return (struct ll_explanation){LL_ASSUMPTION, "a batch of 3", {reached, 1, " s"}, 11.5, 12.5};
}

static void a_miss_is_explained_only_while_its_arithmetic_gives_the_paper_s_figure(void **state)
{
    static const struct {
        double found, reached;
        enum ll_verdict verdict;
    } rows[] = {{5, 12, LL_EXPLAINED}, {5, 11.4, LL_FAIL}, {5, 12.6, LL_FAIL}, {5, NAN, LL_FAIL},
                {12, 12, LL_PASS},     {12, 3, LL_PASS},   {NAN, 12, LL_FAIL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_study_result result = {.failed = false};
        const struct ll_explanation explanation = explanation_of(rows[i].reached);
        ll_criterion_between(&result, (struct ll_measured_value){rows[i].found, 1, " s"}, 11.5, 12.5, "x");
        ll_criterion_explain(&result, &explanation, "%d x 3 s", 4);
        assert_int_equal(result.criteria[0].verdict, rows[i].verdict);
        bool explained = rows[i].verdict == LL_EXPLAINED;
        assert_true((result.criteria[0].arithmetic != NULL) == explained);
        assert_true((result.criteria[0].needed != NULL) == explained);
        ll_study_result_release(&result);
    }
}

static void the_explanation_is_shown_and_no_failure(void **state)
{
    struct ll_study_result result = {.failed = false};
    struct ll_study_plan plan = {.failed = false};
    struct ll_str text = {0}, lines = {0};
    struct ll_json json = {.out = &text};
    const struct ll_explanation explanation = explanation_of(12);
    (void)state;
    ll_criterion_holds(&result, false, "a", "b", "x");
    ll_criterion_explain(&result, &explanation, "%d x 3 s", 4);
    ll_criterion_info(&result, "no figure is printed", "c", "", "y");
    ll_criterion_skipped(&result, "it records", "z");
    ll_present_json(&study, &plan, &result, &json);
    assert_non_null(strstr(text.text, "\"failed\":0,\"explained\":1,\"inconclusive\":0,\"skipped\":1"));
    assert_non_null(strstr(text.text, "\"cause\":\"assumption\",\"arithmetic\":\"4 x 3 s\",\"needed\":\"a "
                                      "batch of 3, which gives 12.0 s (11.5 s to 12.5 s wanted)\"}"));
    assert_non_null(strstr(text.text, "\"why_no_criterion\":\"no figure is printed\"}"));
    assert_non_null(strstr(text.text, "\"why_skipped\":\"it records\"}"));
    ll_present_text(&study, &plan, &result, 200, &lines);
    assert_non_null(strstr(lines.text,
                           "  EXPLAINED, x: the paper's figure rests on another assumption: 4 x 3 s. "
                           "Needed: a batch of 3, which gives 12.0 s"));
    ll_str_release(&lines);
    ll_str_release(&text);
    ll_study_result_release(&result);
}

/* The verdict of five seconds against at most six, whose repetitions lie between two values. */
static enum ll_verdict repeated(double value, double low, double high, bool quiet)
{
    struct ll_study_result result = {.failed = false};
    ll_criterion_at_most(&result, (struct ll_measured_value){value, 1, " s"}, 6, "x");
    ll_criterion_repeated(&result, low, high, quiet);
    const enum ll_verdict verdict = result.criteria[0].verdict;
    if (verdict == LL_INCONCLUSIVE)
        assert_near(result.criteria[0].spread, high - low, 1e-12);
    ll_study_result_release(&result);
    return verdict;
}

static void repetitions_on_both_sides_of_a_bound_judge_nothing(void **state)
{
    (void)state;
    assert_int_equal(repeated(5, 4, 6, true), LL_PASS);
    assert_int_equal(repeated(5, 4, 6, false), LL_PASS);
    assert_int_equal(repeated(5, 4, 6.1, true), LL_INCONCLUSIVE);
    assert_int_equal(repeated(7, 5.9, 8, true), LL_INCONCLUSIVE);
    assert_int_equal(repeated(7, 6.5, 8, true), LL_FAIL);
    assert_int_equal(repeated(7, 6.5, 8, false), LL_INCONCLUSIVE);
    assert_int_equal(repeated(NAN, NAN, NAN, false), LL_FAIL);
}

/* Three results of one study: a number, words, and a number that rests on no clock. */
static void measured_thrice(struct ll_study_result of[3], const double numbers[3], const bool holds[3])
{
    for (size_t i = 0; i < 3; i++) {
        of[i] = (struct ll_study_result){.failed = false};
        ll_criterion_at_most(&of[i], (struct ll_measured_value){numbers[i], 1, " s"}, 6, "x");
        ll_criterion_holds(&of[i], holds[i], holds[i] ? "yes" : "no", "yes", "y");
        ll_criterion_at_most(&of[i], (struct ll_measured_value){9, 1, ""}, 6, "z");
    }
}

static void joined(const double numbers[3], const bool holds[3], bool quiet, const enum ll_verdict wanted[3])
{
    struct ll_study_result of[3];
    measured_thrice(of, numbers, holds);
    ll_study_join(&of[0], &of[1], 2, quiet);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(of[0].criteria[i].verdict, wanted[i]);
    for (size_t i = 0; i < 3; i++)
        ll_study_result_release(&of[i]);
}

/* Fails twice; what failed in between lay within what the machine itself varied by. */
static void joined_noisy(void)
{
    struct ll_study_result of[3];
    measured_thrice(of, (double[3]){7, 8, 9}, (bool[3]){false});
    ll_criterion_at_most(&of[0], (struct ll_measured_value){7, 1, " s"}, 6, "w");
    ll_criterion_at_most(&of[1], (struct ll_measured_value){8, 1, " s"}, 6, "w");
    ll_criterion_repeated(&of[1], 5, 8, true);
    ll_criterion_at_most(&of[2], (struct ll_measured_value){9, 1, " s"}, 6, "w");
    ll_study_join(&of[0], &of[1], 2, true);
    assert_int_equal(of[0].criteria[0].verdict, LL_FAIL);
    assert_int_equal(of[0].criteria[3].verdict, LL_INCONCLUSIVE);
    for (size_t i = 0; i < 3; i++)
        ll_study_result_release(&of[i]);
}

static void only_what_fails_each_time_on_a_quiet_machine_fails(void **state)
{
    static const double slow[] = {7, 8, 9}, mixed[] = {7, 5, 9};
    static const bool never[3] = {false}, once[] = {false, true, false};
    static const enum ll_verdict fails[] = {LL_FAIL, LL_FAIL, LL_FAIL},
                                 unsure[] = {LL_INCONCLUSIVE, LL_INCONCLUSIVE, LL_FAIL},
                                 busy[] = {LL_INCONCLUSIVE, LL_FAIL, LL_FAIL};
    (void)state;
    joined(slow, never, true, fails);
    joined(mixed, once, true, unsure);
    joined(slow, once, false, unsure);
    joined(slow, never, false, busy); /* words that never differ rest on no clock */
    joined_noisy();
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
    struct ll_str text = {0}, marked = {0};
    ll_present_text(&study, &plan, &result, 120, &marked);
    ll_add_painted(marked.text, false, &text);
    ll_str_release(&marked);
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
                                   "  INFO         0.43  about 0.4     d\n"
                                   "  INFO, d: a sketch.\n");
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

static void pages_get_figures_and_decimals(void **state)
{
    (void)state;
    struct ll_study_result result = sample();
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    ll_present_more_json(&study, &result, "F1.html", &json);
    assert_non_null(strstr(text.text, "{\"doc\":\"It shows & tells.\",\"page\":\"F1.html\",\"figures\":["));
    assert_non_null(strstr(text.text, ":2"));
    ll_str_release(&text);
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
        cmocka_unit_test(a_miss_is_explained_only_while_its_arithmetic_gives_the_paper_s_figure),
        cmocka_unit_test(the_explanation_is_shown_and_no_failure),
        cmocka_unit_test(repetitions_on_both_sides_of_a_bound_judge_nothing),
        cmocka_unit_test(only_what_fails_each_time_on_a_quiet_machine_fails),
        cmocka_unit_test(measured_and_bound_are_shown_alike),
        cmocka_unit_test(values_with_commas_are_quoted_and_numbers_are_whole),
        cmocka_unit_test(the_screen_shows_table_and_verdicts),
        cmocka_unit_test(the_screen_says_what_was_run),
        cmocka_unit_test(pages_get_figures_and_decimals),
        cmocka_unit_test(programs_get_every_number_in_full),
        cmocka_unit_test(too_many_sheets_are_a_failure_and_no_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
