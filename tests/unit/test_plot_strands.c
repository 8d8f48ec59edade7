/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/figure/figure.h"

/* Where words begin that end at a tick. */
static double begin_of(const char *svg, const char *words)
{
    const char *text = strstr(svg, words);
    assert_non_null(text);
    while (strncmp(text, "<text ", 6) != 0)
        text--;
    return strtod(strstr(text, " x=\"") + 4, NULL) - ll_text_width(words, LL_TEXT_SMALL);
}

static void words_at_the_first_axis_stay_in_the_box(void **state)
{
    (void)state;
    static const char *const names[] = {"one of them",
                                        "words that are longer than half of a slot of this box"};
    const struct ll_upright axes[] = {
        {.name = "words", .values = (double[]){0, 1}, .names = names, .name_count = 2},
        {.name = "numbers", .values = (double[]){1, 2}},
        {.name = "others", .values = (double[]){3, 4}}};
    static const struct ll_rect box = {20, 20, 640, 400};
    struct ll_str out = {0};
    struct ll_svg svg = {.out = &out};
    ll_svg_open(&svg, 680, 440, "test", "test");
    ll_draw_strands(&svg, box,
                    &(struct ll_strands){.title = "strands",
                                         .axes = axes,
                                         .axis_count = 3,
                                         .series = (size_t[]){0, 0},
                                         .strand_count = 2});
    ll_svg_close(&svg);
    assert_false(out.failed);
    assert_true(begin_of(out.text, names[0]) >= box.x);
    assert_true(begin_of(out.text, names[1]) >= box.x);
    ll_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_at_the_first_axis_stay_in_the_box)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
