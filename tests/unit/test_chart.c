/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/findings.h"
#include "toy_frame.h"

static struct ll_arena arena;
static const struct ll_findings *findings;

static int set_up(void **state)
{
    (void)state;
    findings = ll_findings_new(toy_frame(&arena, 3000, ll_seed(1)), false, &arena);
    return findings ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ll_arena_release(&arena);
    return 0;
}

/* The chart, or the first complaint. */
static char *drawn(enum ll_chart chart, struct ll_chart_options options)
{
    struct ll_str text = {0};
    struct ll_diags diags = {0};
    bool done = ll_chart_draw(chart, findings, &options, &text, &diags);
    assert_int_equal(done, diags.count == 0);
    char *copy = ll_format(&arena, "%s", done ? text.text : diags.kept[0].message);
    ll_diags_release(&diags);
    ll_str_release(&text);
    return copy;
}

static void every_kind_draws_whole_svg_and_the_same_again(void **state)
{
    (void)state;
    for (unsigned p = 0; p < LL_CHART_COUNT; p++) {
        const char *once = drawn(p, (struct ll_chart_options){0}),
                   *again = drawn(p, (struct ll_chart_options){0});
        assert_string_equal(once, again);
        assert_ptr_equal(strstr(once, "<svg"), once);
        assert_string_equal(once + strlen(once) - 7, "</svg>\n");
        assert_null(strstr(once, "nan"));
        if (getenv("LL_CHARTS")) {
            FILE *file = fopen(ll_format(&arena, "%s/%s.svg", getenv("LL_CHARTS"), ll_chart_name(p)), "w");
            fputs(once, file);
            fclose(file);
        }
    }
}

static void the_front_goes_from_one_winner_to_the_other(void **state)
{
    (void)state;
    assert_true(findings->front_count > 3);
    const double *time_s = findings->objectives[0]->numbers, *area = findings->objectives[1]->numbers;
    uint64_t first = findings->front[0], last = findings->front[findings->front_count - 1];
    assert_int_equal(first, findings->winners[0]);
    assert_true(area[last] == area[findings->winners[1]] && time_s[last] == time_s[findings->winners[1]]);
    for (uint64_t i = 1; i < findings->front_count; i++) {
        uint64_t before = findings->front[i - 1], here = findings->front[i];
        assert_true(time_s[here] > time_s[before] ||
                    (time_s[here] == time_s[before] && area[here] == area[before]));
        assert_true(area[here] < area[before] || time_s[here] == time_s[before]);
    }
    for (uint64_t v = 0; v < findings->valid_count; v++)
        assert_int_equal(findings->frame->verdicts[findings->valid[v]], LL_VERDICT_VALID);
}

/* In toy_measure the area is the array's, the buffer's and the memory's; the clock does not matter to it. */
static void what_does_not_matter_weighs_little(void **state)
{
    (void)state;
    const double *area = &findings->weights[TOY_AXES];
    assert_true(area[0] > 0.3 && area[1] > 0.3 && area[3] > 0.3);
    assert_true(fabs(area[4]) < 0.05);
    assert_true(findings->weights[2] < 0); /* a larger buffer, less time */
    const size_t *axes = ll_findings_axes(findings, &arena);
    assert_non_null(axes);
    assert_true(axes[0] != 4);
}

/* Time is nearly a product of powers of the parameters, so its logarithm nearly a sum. */
static void logarithms_explain_products_better(void **state)
{
    (void)state;
    const struct ll_findings *logs = ll_findings_new(findings->frame, true, &arena);
    assert_true(logs->r2[0] > 0.75 && logs->r2[0] > findings->r2[0] + 0.3);
}

static void names_that_are_none_are_complained_about(void **state)
{
    (void)state;
    assert_string_equal(drawn(LL_CHART_HEAT, (struct ll_chart_options){.x = "units.array.row"}),
                        "no parameter `units.array.row` here; did you mean `units.array.rows`?");
    assert_string_equal(drawn(LL_CHART_HEAT, (struct ll_chart_options){.objective = "speed"}),
                        "no objective `speed` here; the first is `time_s`");
    assert_string_equal(drawn(LL_CHART_FRONT, (struct ll_chart_options){.x = "time_s", .y = "time_s"}),
                        "`time_s` on both axes: expected two different objectives");
    assert_string_equal(drawn(LL_CHART_HEAT, (struct ll_chart_options){.x = "clock", .y = "clock"}),
                        "`clock` on both axes: expected two different parameters");
}

static void a_sweep_without_valid_designs_is_drawn_empty(void **state)
{
    (void)state;
    const struct ll_findings *usual = findings;
    struct ll_data_frame *none = ll_copy(&arena, usual->frame, sizeof *none);
    uint8_t *verdicts = ll_alloc(&arena, none->row_count, 1);
    memset(verdicts, LL_VERDICT_INFEASIBLE, none->row_count);
    none->verdicts = verdicts;
    findings = ll_findings_new(none, false, &arena);
    assert_int_equal(findings->valid_count, 0);
    assert_true(findings->winners[0] == LL_NO_ROW);
    for (unsigned p = 0; p < LL_CHART_COUNT; p++)
        assert_non_null(strstr(drawn(p, (struct ll_chart_options){0}), "</svg>"));
    findings = usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_draws_whole_svg_and_the_same_again),
        cmocka_unit_test(the_front_goes_from_one_winner_to_the_other),
        cmocka_unit_test(what_does_not_matter_weighs_little),
        cmocka_unit_test(logarithms_explain_products_better),
        cmocka_unit_test(names_that_are_none_are_complained_about),
        cmocka_unit_test(a_sweep_without_valid_designs_is_drawn_empty),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
