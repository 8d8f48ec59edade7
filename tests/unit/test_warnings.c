/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/sim_report.h"
#include "sim/report/table.h"

static void each_sentence_stands_once_in_the_order_of_coming(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_warnings warnings = {.arena = &arena};
    struct ll_str lines = {0}, plain = {0}, document = {0};
    struct ll_json json = {.out = &document};
    for (unsigned i = 0; i < 40; i++)
        ll_warn(&warnings, "half of %u \"ops\"", i % 20);
    assert_int_equal(warnings.count, 20);
    warnings.count = 2;
    ll_warnings_text(&warnings, &lines);
    ll_add_painted(lines.text, false, &plain);
    assert_string_equal(plain.text, "warning: half of 0 \"ops\"\nwarning: half of 1 \"ops\"\n");
    ll_json_open_object(&json);
    ll_warnings_json(&warnings, &json);
    ll_json_close_object(&json);
    assert_string_equal(document.text,
                        "{\"warnings\":[\"half of 0 \\\"ops\\\"\",\"half of 1 \\\"ops\\\"\"]}");
    ll_str_release(&lines);
    ll_str_release(&plain);
    ll_str_release(&document);
    ll_arena_release(&arena);
}

static void whoever_makes_a_trace_may_warn_of_it(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_warnings warnings = {.arena = &arena};
    struct ll_fact facts[] = {
        {"model", "net"}, {"warning.half", "half of it"}, {"warnings", "no fact of these"}};
    const struct ll_trace trace = {.facts = facts, .fact_count = 3};
    ll_warn_of_trace(&warnings, &trace, "net.llt: ");
    assert_int_equal(warnings.count, 1);
    assert_string_equal(warnings.texts[0], "net.llt: half of it");
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sentence_stands_once_in_the_order_of_coming),
        cmocka_unit_test(whoever_makes_a_trace_may_warn_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
