/* SPDX-License-Identifier: Apache-2.0 */
/* As part of a program whose numbers have a comma. Its locale is made for the test, by localedef. */
#define _DEFAULT_SOURCE
#include "check.h"
#include "toy_machine.h"

#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/leadline-locale-XXXXXX";

static int begin(void **state)
{
    char command[200];
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/said 2>&1", folder,
             folder);
    if (system(command) == 0)
        setenv("LOCPATH", folder, 1);
    setlocale(LC_ALL, "de_DE.UTF-8");
    return 0;
}

static int end(void **state)
{
    char command[100];
    (void)state;
    setlocale(LC_ALL, "C");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Whether this test tells anything here. */
static bool has_commas(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

static void a_comma_of_the_program_is_none_of_ours(void **state)
{
    (void)state;
    if (!has_commas())
        skip();
    char text[40], *rest;
    assert_true(ll_strtod("0.5;", &rest) == 0.5);
    assert_string_equal(rest, ";");
    assert_true(ll_strtod("0.50000000000000000001;", &rest) == 0.5); /* too long for a way of our own */
    assert_string_equal(rest, ";");
    assert_int_equal(ll_snprintf(text, sizeof text, "%.2f", 1.25), 4);
    assert_string_equal(text, "1.25");
    ll_number_text(1.0 / 3, text);
    assert_string_equal(text, "0.3333333333333333");
    struct ll_human human;
    assert_string_equal(ll_format_si(&human, 1.5e9, "B/s"), "1.50 GB/s");
    struct ll_str out = {0};
    ll_str_addf(&out, "%.1f", 2.5);
    assert_string_equal(out.text, "2.5");
    ll_str_release(&out);
}

static void the_programs_locale_stays(void **state)
{
    (void)state;
    if (!has_commas())
        skip();
    char text[40];
    ll_snprintf(text, sizeof text, "%g", 0.5);
    ll_strtod("1.50000000000000000001", NULL);
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5");
}

static void documents_are_read_and_written_with_points(void **state)
{
    (void)state;
    if (!has_commas())
        skip();
    struct ll_diags diags = {0};
    const char *text = "[0.5, 1.25e-3]";
    struct ll_json_reader json = {
        .file = "t", .begin = text, .at = text, .end = text + strlen(text), .diags = &diags};
    assert_int_equal(ll_json_read(&json), LL_JSON_LIST);
    ll_json_read(&json);
    assert_true(ll_json_as_real(&json) == 0.5);
    ll_json_read(&json);
    assert_true(ll_json_as_real(&json) == 1.25e-3);
    struct ll_machine *machine = ll_toy_machine(LL_TOY_MACHINE "area: {pe_um2: {bf16: 0.5}}\n");
    assert_non_null(machine);
    struct ll_str out = {0};
    ll_machine_yaml(machine, &out);
    assert_non_null(strstr(out.text, "0.5"));
    struct ll_machine *again = ll_toy_machine(out.text);
    assert_non_null(again);
    assert_true(again->area.pe_m2[LL_BF16] == 0.5e-12);
    ll_str_release(&out);
    ll_machine_free(again);
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comma_of_the_program_is_none_of_ours),
        cmocka_unit_test(the_programs_locale_stays),
        cmocka_unit_test(documents_are_read_and_written_with_points),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
