/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "scalesim_rows.h"

#include "sim/scalesim/scalesim.h"

#include <inttypes.h>

static int mismatches;

/* An empty field was not reported. */
static void compare(const struct scalesim_row *row, const char *name, const char *text)
{
    const char *expected = row_text(row, name);
    if (!*expected || strcmp(text, expected) == 0)
        return;
    print_error("case %s, %s: %s, expected %s\n", row_text(row, "case_id"), name, text, expected);
    mismatches++;
}

static void compare_count(const struct scalesim_row *row, const char *name, int64_t count)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, count);
    compare(row, name, text);
}

/* The standard output has fixed decimals. */
static void compare_float(const struct scalesim_row *row, const char *name, double value, int decimals)
{
    char text[32];
    ll_scalesim_float_text(value, text);
    if (strcmp(row_text(row, "status"), "ok_stdout_only") == 0)
        snprintf(text, sizeof text, "%.*f", decimals, value);
    compare(row, name, text);
}

static void compare_ports(const struct scalesim_row *row, const struct ll_scalesim_port *ports,
                          const char *side, const char *const verbs[2])
{
    static const char *const operands[] = {"ifmap", "filter", "ofmap"};
    char name[64];
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++) {
        snprintf(name, sizeof name, "%s_%s_%s", side, operands[i], verbs[i == 2]);
        compare_count(row, name, (int64_t)ports[i].words);
        snprintf(name, sizeof name, "avg_%s_%s_bw", operands[i], side);
        compare_float(row, name, ports[i].bandwidth, 3);
        snprintf(name, sizeof name, "%s_%s_start", side, operands[i]);
        compare_float(row, name, (double)ports[i].start_cycle, 1);
        snprintf(name, sizeof name, "%s_%s_stop", side, operands[i]);
        compare_float(row, name, (double)ports[i].stop_cycle, 1);
    }
}

static void every_field_of_every_reference_row_is_reproduced(void **state)
{
    (void)state;
    static const char *const verbs[] = {"reads", "writes"};
    struct scalesim_row *row = calloc(1, sizeof *row);
    FILE *file = fopen("tests/peers/scalesim_reference.csv", "r");
    assert_non_null(row);
    assert_non_null(file);
    int rows = 0;
    for (; next_row(file, row); rows++) {
        struct ll_scalesim_config config = row_config(row);
        struct ll_scalesim_layer layer = row_layer(row);
        struct ll_scalesim_folds folds = ll_scalesim_fold(&config, &layer);
        struct ll_scalesim_result result;
        assert_null(ll_scalesim_obstacle(&config, &layer));
        assert_true(ll_scalesim_run(&config, &layer, NULL, &result));
        compare_count(row, "M", (int64_t)folds.m);
        compare_count(row, "K", (int64_t)folds.k);
        compare_count(row, "demand_lines", (int64_t)folds.lines);
        compare_count(row, "total_cycles", result.total_cycles);
        compare_count(row, "stall_cycles", result.stall_cycles);
        compare_float(row, "overall_util_pct", result.overall_util_pct, 2);
        compare_float(row, "mapping_eff_pct", result.mapping_pct, 2);
        compare_float(row, "compute_util_pct", result.compute_util_pct, 2);
        compare_ports(row, result.sram, "sram", verbs);
        compare_ports(row, result.dram, "dram", verbs);
    }
    fclose(file);
    free(row);
    assert_int_equal(rows, 305);
    assert_int_equal(mismatches, 0);
}

/* Texts that CPython 3.11 prints for these values. */
static void a_float_reads_as_python_writes_it(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},
        {-256, "-256.0"},
        {100, "100.0"},
        {0.1, "0.1"},
        {-1.5, "-1.5"},
        {100.0 / 3, "33.333333333333336"},
        {0.0001, "0.0001"},
        {0.00001234, "1.234e-05"},
        {9999999999999998.0, "9999999999999998.0"},
        {1e16, "1e+16"},
        {-1.2345e20, "-1.2345e+20"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        ll_scalesim_float_text(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* Case 9: the files' lines as SCALE-Sim writes them, from its values. */
static void a_report_has_a_line_for_each_layer(void **state)
{
    (void)state;
    struct ll_scalesim_config config = {.rows = 64, .columns = 32, .buffer_kB = {4, 4, 4}};
    config.dataflow = LL_WEIGHT_STATIONARY;
    struct ll_scalesim_layer layer = {"g", 1, 255, 257, 1, 257, 1, 17, 1, 1, .line = 0};
    struct ll_scalesim_result result;
    assert_true(ll_scalesim_run(&config, &layer, NULL, &result));
    struct ll_str out = {0};
    assert_int_equal(ll_scalesim_report_count(&config), 3);
    for (int i = 0; i < ll_scalesim_report_count(&config); i++)
        ll_scalesim_reports[i].add_line(&config, &result, 7, &out);
    assert_string_equal(
        out.text, "7, 2064, 0, 26.356186977652616, 42.666015625, 24.50413059543919,\n"
                  "7, 31.751453488372093, 2.116763565891473, 10.501453488372093, 38.36943793911007, "
                  "2.9440700808625335, 11.745670995670995,\n"
                  "7, 65.0, 1971.0, 65535, 1.0, 1716.0, 4369, 127.0, 2049.0, 21675, -136.0, 1571.0, 65535, "
                  "-200.0, 1283.0, 4369, 255.0, 2102.0, 21706,\n");
    ll_str_release(&out);
}

/* Addresses of 32 bits with a sign: an ofmap of 46341 x 46341 alone passes them, 46340 x 46340 does not. */
static void a_layer_that_scale_sim_cannot_address_is_refused(void **state)
{
    (void)state;
    struct ll_scalesim_config config = {.rows = 8, .columns = 8, .buffer_kB = {1, 1, 1}};
    struct ll_scalesim_layer layer = {"", 1, 46341, 1, 1, 1, 1, 46341, 1, 1, .line = 0};
    assert_non_null(ll_scalesim_obstacle(&config, &layer));
    layer.in_h = layer.filters = 46340;
    assert_null(ll_scalesim_obstacle(&config, &layer));
    config.first_address[LL_SCALESIM_OFMAP] = 100000;
    assert_non_null(ll_scalesim_obstacle(&config, &layer));
}

/* 512 x 512 windows of 128 x 128 words are 2^32 words of one filter; with one row of windows less it runs. */
static void a_layer_of_too_many_windows_is_refused(void **state)
{
    (void)state;
    struct ll_scalesim_config config = {.rows = 8, .columns = 8, .buffer_kB = {1, 1, 1}};
    struct ll_scalesim_layer layer = {"", 1, 639, 639, 128, 128, 1, 1, 1, 1, .line = 0};
    assert_non_null(ll_scalesim_obstacle(&config, &layer));
    layer.in_h--;
    assert_null(ll_scalesim_obstacle(&config, &layer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_every_reference_row_is_reproduced),
        cmocka_unit_test(a_float_reads_as_python_writes_it),
        cmocka_unit_test(a_report_has_a_line_for_each_layer),
        cmocka_unit_test(a_layer_that_scale_sim_cannot_address_is_refused),
        cmocka_unit_test(a_layer_of_too_many_windows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
