/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/diag.h"

static void a_complaint_outlives_what_it_was_made_of(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    char file[] = "mine.yaml", line[] = "  rosw: 256", word[] = "rosw";
    struct ll_place place = {.file = file, .line = 4, .column = 3, .source_line = line, .width = 4};
    assert_false(ll_complain(&diags, place, "unknown key '%s'; did you mean '%s'?", word, "rows"));
    memset(file, 'x', sizeof file);
    memset(line, 'x', sizeof line);
    memset(word, 'x', sizeof word);
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, "unknown key 'rosw'; did you mean 'rows'?");
    assert_string_equal(diags.kept[0].place.file, "mine.yaml");
    assert_string_equal(diags.kept[0].place.source_line, "  rosw: 256");
    assert_int_equal(diags.kept[0].place.line, 4);
    assert_int_equal(diags.kept[0].place.column, 3);
    assert_int_equal(diags.kept[0].place.width, 4);
    ll_diags_release(&diags);
    assert_int_equal(diags.count, 0);
}

static void past_the_limit_complaints_are_counted_not_kept(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    for (int i = 0; i < 3 * LL_DIAG_LIMIT; i++)
        ll_complain(&diags, (struct ll_place){0}, "complaint %d", i);
    assert_int_equal(diags.count, 3 * LL_DIAG_LIMIT);
    assert_int_equal(diags.kept_count, LL_DIAG_LIMIT);
    assert_string_equal(diags.kept[LL_DIAG_LIMIT - 1].message, "complaint 49");
    assert_null(diags.kept[0].place.file);
    ll_diags_release(&diags);
}

static void a_very_long_complaint_is_cut(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    ll_complain(&diags, (struct ll_place){0}, "%05000d", 1);
    assert_int_equal(strlen(diags.kept[0].message), LL_DIAG_MESSAGE_BYTES);
    assert_string_equal(diags.kept[0].message + LL_DIAG_MESSAGE_BYTES - 4, "0...");
    ll_complain(&diags, (struct ll_place){0}, "%0*d", LL_DIAG_MESSAGE_BYTES, 1);
    assert_int_equal(diags.kept[1].message[LL_DIAG_MESSAGE_BYTES - 1], '1');
    ll_diags_release(&diags);
}

/* The euro sign has three bytes. */
static void a_complaint_is_cut_between_characters(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    for (int before = 0; before < 3; before++) {
        ll_complain(&diags, (struct ll_place){0}, "%0*d\u20ac%0300d", LL_DIAG_MESSAGE_BYTES - 6 + before, 0,
                    0);
        const char *end = diags.kept[before].message + LL_DIAG_MESSAGE_BYTES - 6 + before;
        assert_string_equal(end, before == 0 ? "\u20ac..." : "...");
    }
    ll_diags_release(&diags);
}

static void every_status_has_a_sentence_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(ll_status_text(LL_OK), "done");
    for (int i = LL_OK; i <= LL_STRAY_INDEX; i++) {
        assert_true(strlen(ll_status_text((enum ll_status)i)) > 3);
        for (int k = LL_OK; k < i; k++)
            assert_string_not_equal(ll_status_text((enum ll_status)i), ll_status_text((enum ll_status)k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complaint_outlives_what_it_was_made_of),
        cmocka_unit_test(past_the_limit_complaints_are_counted_not_kept),
        cmocka_unit_test(a_very_long_complaint_is_cut),
        cmocka_unit_test(a_complaint_is_cut_between_characters),
        cmocka_unit_test(every_status_has_a_sentence_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
