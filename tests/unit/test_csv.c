/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/file.h"

#include <string.h>

struct reading {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_csv csv;
};

static void begin_bytes(struct reading *r, const char *text, size_t size)
{
    *r = (struct reading){.csv = {.file = "t.csv", .at = text, .end = text + size}};
    r->csv.arena = &r->arena;
    r->csv.diags = &r->diags;
}

static void begin(struct reading *r, const char *text)
{
    begin_bytes(r, text, strlen(text));
}

static void end(struct reading *r)
{
    ll_arena_release(&r->arena);
    ll_diags_release(&r->diags);
}

/* Fields are given with | between them, which no field here holds. */
static void expect_row(struct reading *r, uint64_t line, const char *expected)
{
    size_t count;
    char got[256] = "";
    const struct ll_csv_field *fields = ll_csv_next(&r->csv, &count);
    assert_non_null(fields);
    for (size_t i = 0; i < count; i++) {
        strcat(got, i ? "|" : "");
        strcat(got, fields[i].text);
    }
    assert_string_equal(got, expected);
    assert_int_equal(r->csv.line, line);
}

static void expect_end(struct reading *r)
{
    size_t count;
    assert_null(ll_csv_next(&r->csv, &count));
    assert_false(r->csv.failed);
    assert_null(ll_csv_next(&r->csv, &count));
}

static void rows_are_lines_and_fields_lie_between_commas(void **state)
{
    (void)state;
    struct reading r;
    begin(&r, "a,b,c\n\n1,,3\r\n\r\nlast");
    expect_row(&r, 1, "a|b|c");
    expect_row(&r, 3, "1||3");
    expect_row(&r, 5, "last");
    expect_end(&r);
    end(&r);
}

static void a_line_may_end_in_a_carriage_return_alone(void **state)
{
    (void)state;
    struct reading r;
    begin(&r, "a,b\r1,2\r\r\n\"x\",\"y\"\rz\n\r4,\r");
    expect_row(&r, 1, "a|b");
    expect_row(&r, 2, "1|2");
    expect_row(&r, 4, "x|y");
    expect_row(&r, 5, "z");
    expect_row(&r, 7, "4|");
    expect_end(&r);
    end(&r);
}

static void an_empty_field_at_either_end_is_one(void **state)
{
    (void)state;
    struct reading r;
    begin(&r, ",x\nx,\n,\n\"\"");
    expect_row(&r, 1, "|x");
    expect_row(&r, 2, "x|");
    expect_row(&r, 3, "|");
    expect_row(&r, 4, "");
    expect_end(&r);
    end(&r);
}

static void quotes_keep_commas_and_doubled_quotes(void **state)
{
    (void)state;
    struct reading r;
    begin(&r, "\"a,b\",\"say \"\"so\"\"\",\"\"\"\",c\"d\n");
    expect_row(&r, 1, "a,b|say \"so\"|\"|c\"d");
    expect_end(&r);
    end(&r);
}

static void expect_complaint_of(const char *text, size_t size, uint64_t column, const char *message)
{
    size_t count;
    struct reading r;
    begin_bytes(&r, text, size);
    expect_row(&r, 1, "good");
    assert_null(ll_csv_next(&r.csv, &count));
    assert_true(r.csv.failed);
    assert_int_equal(r.diags.count, 1);
    assert_string_equal(r.diags.kept[0].message, message);
    assert_int_equal(r.diags.kept[0].place.line, 2);
    assert_int_equal(r.diags.kept[0].place.column, column);
    end(&r);
}

static void expect_complaint(const char *text, uint64_t column, const char *message)
{
    expect_complaint_of(text, strlen(text), column, message);
}

/* Or else what stands behind it would be lost. */
static void a_byte_of_zero_is_no_text(void **state)
{
    (void)state;
    static const char text[] = "good\na,1\0"
                               "024,b\n";
    expect_complaint_of(text, sizeof text - 1, 4,
                        "here stands a byte of value 0, which no text has; lines of text were expected");
}

static void a_quote_must_end_where_its_field_does(void **state)
{
    (void)state;
    expect_complaint("good\na,\"b\nc\"", 3, "a quote begins here and does not end in this line");
    expect_complaint("good\n\"", 1, "a quote begins here and does not end in this line");
    expect_complaint("good\na,b,\"c\"d", 5,
                     "behind the quote that ends a field there must be a comma or the end of the line");
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    static const char *const fields[] = {"plain", "a,b", "say \"so\"", "", "\"", "two\nlines"};
    struct ll_str out = {0};
    struct reading r;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ll_str_add(&out, i ? "," : "");
        ll_csv_put(&out, fields[i]);
    }
    begin(&r, out.text);
    expect_row(&r, 1, "plain|a,b|say \"so\"||\"|two lines");
    expect_end(&r);
    end(&r);
    ll_str_release(&out);
}

/* The apostrophe stands before what a spreadsheet would compute, and only there; numbers stay numbers. */
static void what_a_spreadsheet_takes_for_a_formula_is_guarded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
    } fields[] = {{"=1+1", "\"'=1+1\""},
                  {"+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""},
                  {"-2+3", "\"'-2+3\""},
                  {"@SUM(A1)", "\"'@SUM(A1)\""},
                  {"\t=1", "\"'\t=1\""},
                  {"=HYPERLINK(\"http://e\",\"x\")", "\"'=HYPERLINK(\"\"http://e\"\",\"\"x\"\")\""},
                  {"-", "\"'-\""},
                  {"-inf", "\"'-inf\""},
                  {"'=1", "\"''=1\""},
                  {"-1.5e-9", "-1.5e-9"},
                  {"+5", "+5"},
                  {"a=1", "a=1"},
                  {"'quoted", "'quoted"}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct ll_str out = {0};
        struct reading r;
        ll_csv_put(&out, fields[i].text);
        assert_string_equal(out.text, fields[i].written);
        begin(&r, out.text);
        expect_row(&r, 1, fields[i].text);
        expect_end(&r);
        end(&r);
        ll_str_release(&out);
    }
    struct ll_str out = {0};
    ll_csv_put(&out, "\r=1"); /* an end of line, which a row does not hold */
    assert_string_equal(out.text, "\"' =1\"");
    ll_str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_lines_and_fields_lie_between_commas),
        cmocka_unit_test(a_line_may_end_in_a_carriage_return_alone),
        cmocka_unit_test(an_empty_field_at_either_end_is_one),
        cmocka_unit_test(quotes_keep_commas_and_doubled_quotes),
        cmocka_unit_test(a_byte_of_zero_is_no_text),
        cmocka_unit_test(a_quote_must_end_where_its_field_does),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(what_a_spreadsheet_takes_for_a_formula_is_guarded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
