/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/document.h"

static const char document[] =
    "{\"schema\":\"x\",\"version\":1,\"unit\":\"s\",\"count\":2,\"results\":["
    "{\"name\":\"a\",\"ops\":[{\"seq\":0,\"time_s\":1.5,\"traffic\":{\"l2\":3,\"hbm\":null},\"dims\":[2,3]},"
    "{\"seq\":1,\"done\":true,\"kept\":[{\"deep\":1}],\"config\":{\"left\":\"out\"}}]},"
    "{\"name\":\"b, c\",\"ops\":[{\"time_s\":2,\"seq\":7}],\"empty\":[]}],\"texts\":[\"one\",\"two\"]}";

static void expect(const char *paths, uint64_t most, const char *expected)
{
    struct ll_str out = {0};
    assert_true(ll_document_csv(document, sizeof document - 1, paths, most, &out));
    assert_string_equal(out.text ? out.text : "", expected);
    ll_str_release(&out);
}

static void rows_lie_along_a_path_and_begin_with_the_texts_around_them(void **state)
{
    (void)state;
    expect("nothing/here|results/ops", 0,
           "unit,name,seq,time_s,traffic.l2,traffic.hbm,dims,done\n"
           "s,a,0,1.5,3,,2 3,\n"
           "s,a,1,,,,,true\n"
           "s,\"b, c\",7,2,,,,\n");
    expect("texts", 0, "unit,texts\ns,one\ns,two\n");
}

static void rows_of_joined_lists_say_of_which_they_are(void **state)
{
    (void)state;
    expect("nothing|results/empty+texts", 0, "list,unit,texts\ntexts,s,one\ntexts,s,two\n");
    expect("nothing+texts+results|count", 2, "list,unit,texts\ntexts,s,one\ntexts,s,two\n");
    expect("texts+results", 3, "list,unit,texts,name\ntexts,s,one,\ntexts,s,two,\nresults,s,,a\n");
    expect("results/other+nothing|texts", 0, "unit,texts\ns,one\ns,two\n");
}

static void no_more_rows_than_asked_for(void **state)
{
    (void)state;
    expect("results/ops", 1, "unit,name,seq,time_s,traffic.l2,traffic.hbm,dims\ns,a,0,1.5,3,,2 3\n");
}

static void a_document_without_such_rows_is_one(void **state)
{
    (void)state;
    expect(NULL, 0, "unit,count,texts\ns,2,one two\n");
    expect("results/other", 0, "unit,count,texts\ns,2,one two\n");
}

static void an_empty_list_has_no_rows(void **state)
{
    (void)state;
    expect("results/empty", 0, "");
}

static void what_is_cut_off_is_no_document(void **state)
{
    (void)state;
    struct ll_str out = {0};
    for (size_t length = 0; length + 1 < sizeof document; length++)
        assert_false(ll_document_csv(document, length, "results/ops", 0, &out));
    assert_int_equal(out.length, 0);
    ll_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_lie_along_a_path_and_begin_with_the_texts_around_them),
        cmocka_unit_test(rows_of_joined_lists_say_of_which_they_are),
        cmocka_unit_test(no_more_rows_than_asked_for),
        cmocka_unit_test(a_document_without_such_rows_is_one),
        cmocka_unit_test(an_empty_list_has_no_rows),
        cmocka_unit_test(what_is_cut_off_is_no_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
