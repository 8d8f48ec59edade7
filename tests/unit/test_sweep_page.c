/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/findings.h"
#include "toy_frame.h"

static struct ll_arena arena;

static char *page_of(uint64_t rows, const char *title)
{
    struct ll_str text = {0};
    const struct ll_findings *findings = ll_findings_new(toy_frame(&arena, rows, 1), false, &arena);
    const struct ll_page_origin origin = {title, "leadline pareto toy.db --html toy.html", "0.1.0",
                                          "leadline sweep toy.yaml"};
    assert_non_null(findings);
    assert_true(ll_sweep_page(findings, &origin, &text));
    char *copy = ll_copy_text(&arena, text.text, text.length);
    ll_str_release(&text);
    return copy;
}

static void text_of_a_user_is_no_markup(void **state)
{
    (void)state;
    const char *page = page_of(500, "A <sweep> & more");
    assert_non_null(strstr(page, "<title>A &lt;sweep> &amp; more</title>"));
    assert_non_null(strstr(page, "ddr4 &lt;2ch>"));
    assert_null(strstr(page, "<2ch>"));
    assert_string_equal(page + strlen(page) - 8, "</html>\n");
}

static void the_page_fetches_nothing(void **state)
{
    (void)state;
    const char *page = page_of(500, "toy");
    static const char *const fetching[] = {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("};
    for (size_t i = 0; i < sizeof fetching / sizeof *fetching; i++)
        assert_null(strstr(page, fetching[i]));
}

static void the_same_sweep_is_the_same_page(void **state)
{
    (void)state;
    assert_string_equal(page_of(300, "toy"), page_of(300, "toy"));
}

static void the_front_is_there_without_scripts(void **state)
{
    (void)state;
    const struct ll_findings *findings = ll_findings_new(toy_frame(&arena, 500, 1), false, &arena);
    const char *plain = strstr(page_of(500, "toy"), "<noscript>"),
               *end = plain ? strstr(plain, "</noscript>") : NULL;
    uint64_t lines = 0;
    assert_non_null(end);
    for (const char *p = strstr(plain, "\npoint"); p && p < end; p = strchr(p + 1, '\n'))
        lines++;
    assert_int_equal(lines, 1 + findings->front_count); /* the head too */
}

static void a_hundred_thousand_designs_make_a_page_of_a_few_megabytes(void **state)
{
    (void)state;
    const char *page = page_of(100000, "toy");
    print_message("%.2f MB\n", (double)strlen(page) / 1e6);
    assert_true(strlen(page) < 8000000);
    const char *path = getenv("LL_PAGE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fputs(page, file);
        fclose(file);
    }
}

static int tear_down(void **state)
{
    (void)state;
    ll_arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_a_user_is_no_markup),
        cmocka_unit_test(the_page_fetches_nothing),
        cmocka_unit_test(the_same_sweep_is_the_same_page),
        cmocka_unit_test(the_front_is_there_without_scripts),
        cmocka_unit_test(a_hundred_thousand_designs_make_a_page_of_a_few_megabytes),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
