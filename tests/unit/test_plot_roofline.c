/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/figure/figure.h"

/* The baseline of a text of the figure. */
static double baseline_of(const char *svg, const char *words)
{
    const char *text = strstr(svg, words);
    assert_non_null(text);
    while (strncmp(text, "<text ", 6) != 0)
        text--;
    return strtod(strstr(text, " y=\"") + 4, NULL);
}

/* 10 % apart on an axis of several decades: a few pixels. */
static void no_line_goes_through_the_name_of_the_unit_below_it(void **state)
{
    (void)state;
    const struct ll_roof memory = {"store", 100}, units[] = {{"upper", 1000}, {"lower", 900}};
    const struct ll_work_point point = {0.1, 1, 1, 0, "op"};
    struct ll_str out = {0};
    struct ll_svg svg = {.out = &out};
    double upper_y, lower_y;
    ll_draw_roofline(&svg, (struct ll_rect){0, 0, 560, 460},
                     &(struct ll_roofline){.title = "roofline",
                                           .memories = &memory,
                                           .memory_count = 1,
                                           .units = units,
                                           .unit_count = 2,
                                           .points = &point,
                                           .point_count = 1});
    assert_false(out.failed);
    const char *line = strstr(out.text, "<line class=\"ll-stroke\""); /* the memory's, then the units' */
    line = strstr(line + 1, "<line class=\"ll-stroke\"");
    upper_y = strtod(strstr(line, "y1=\"") + 4, NULL);
    line = strstr(line + 1, "<line class=\"ll-stroke\"");
    lower_y = strtod(strstr(line, "y1=\"") + 4, NULL);
    assert_true(upper_y < lower_y && lower_y < upper_y + LL_TEXT_SMALL);
    assert_true(baseline_of(out.text, ">upper<") < upper_y);
    assert_true(baseline_of(out.text, ">lower<") - LL_TEXT_SMALL + 2 > lower_y);
    ll_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_line_goes_through_the_name_of_the_unit_below_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
