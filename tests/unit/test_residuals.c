/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/validate/residuals.h"

#include <math.h>
#include <string.h>

enum { ROWS = 21 };

static const char table[] = "machine,family,points,p10,p50,p90\n"
                            "toy,gemm,30,-0.1,0,0.2\n"
                            "toy,elementwise,40,-0.3,0.01,0.1\n"
                            "toy,sendrecv,20,-0.2,0,0.4\n"
                            "other,conv,50,-1,0,1\n";

static bool read_table(const char *text, struct ll_arena *arena, struct ll_diags *diags,
                       struct ll_residuals *residuals)
{
    return ll_residuals_read(text, strlen(text), "r.csv", arena, diags, residuals);
}

static bool bar(const struct ll_kind_result *kinds, size_t count, double *low_s, double *high_s)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_residuals residuals;
    const struct ll_machine machine = {.stem = "toy"};
    const struct ll_result result = {.machine = &machine, .time_s = 2, .kinds = kinds, .kind_count = count};
    assert_true(read_table(table, &arena, &diags, &residuals));
    assert_int_equal(residuals.count, 4);
    bool there = ll_residuals_bar(&residuals, &result, low_s, high_s);
    ll_arena_release(&arena);
    return there;
}

/* 2 s, of which 0.6 in products, 0.3 in element-wise ops by kind and by class, 0.1 in convolutions, of which
 * nothing is known here: these err as the widest of the others. */
static void families_err_together(void **state)
{
    (void)state;
    const struct ll_kind_result kinds[] = {
        {.kind = "matmul", .op_class = LL_CLASS_MATRIX, .share = 0.6},
        {.kind = "relu", .op_class = LL_CLASS_ELEMENTWISE, .share = 0.2},
        {.kind = "transpose", .op_class = LL_CLASS_MOVEMENT, .share = 0.1},
        {.kind = "conv2d", .op_class = LL_CLASS_CONV, .share = 0.1},
    };
    double low_s, high_s;
    assert_true(bar(kinds, 4, &low_s, &high_s));
    assert_true(fabs(low_s - 2 * (0.6 * exp(-0.1) + 0.4 * exp(-0.3))) < 1e-12);
    assert_true(fabs(high_s - 2 * (0.6 * exp(0.2) + 0.3 * exp(0.1) + 0.1 * exp(0.2))) < 1e-12);
}

/* Messages between stages err as those between two devices that were measured. */
static void messages_have_a_family_of_their_own(void **state)
{
    (void)state;
    const struct ll_kind_result kinds[] = {
        {.kind = "matmul", .op_class = LL_CLASS_MATRIX, .share = 0.5},
        {.kind = "send", .op_class = LL_CLASS_COMMUNICATION, .share = 0.5},
    };
    double low_s, high_s;
    assert_true(bar(kinds, 2, &low_s, &high_s));
    assert_true(fabs(low_s - (exp(-0.1) + exp(-0.2))) < 1e-12);
    assert_true(fabs(high_s - (exp(0.2) + exp(0.4))) < 1e-12);
}

static void too_little_known_is_no_bar(void **state)
{
    (void)state;
    const struct ll_kind_result kinds[] = {
        {.kind = "matmul", .op_class = LL_CLASS_MATRIX, .share = 0.79},
        {.kind = "conv2d", .op_class = LL_CLASS_CONV, .share = 0.21},
    };
    double low_s = 0, high_s = 0;
    assert_false(bar(kinds, 2, &low_s, &high_s));
    assert_true(low_s == 0 && high_s == 0);
}

/* Measured is e^(i / 10) times predicted, i from -10 to 10: quantiles -0.8, 0 and 0.8. */
static void quantiles_are_of_measured_over_predicted(void **state)
{
    (void)state;
    const struct ll_machine machine = {.stem = "toy"};
    struct ll_measured rows[ROWS] = {{0}};
    struct ll_prediction predictions[ROWS] = {{0}};
    for (int i = 0; i < ROWS; i++) {
        rows[i].time_s = exp((i - 10) / 10.0);
        predictions[i] =
            (struct ll_prediction){.row = &rows[i], .machine = &machine, .family = "gemm", .time_s = 1};
    }
    const struct ll_family_errors families[] = {{.family = "gemm", .machine = &machine},
                                                {.family = "conv", .machine = &machine},
                                                {.family = "gemm", .machine = &machine}};
    const struct ll_validation v = {
        .predictions = predictions, .count = ROWS, .machines = families, .machine_count = 3};
    struct ll_str csv = {0};
    assert_true(ll_residuals_csv(&v, &csv));
    assert_string_equal(csv.text, "machine,family,points,p10,p50,p90\ntoy,gemm,21,-0.8000,0.0000,0.8000\n");
    ll_str_release(&csv);
}

static void a_wrong_table_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"a,b\n", "expected the header machine,family,points,p10,p50,p90"},
        {"machine,family,points,p10,p50,p90\nt,gemm,1,2\n", "expected 6 fields, not 4"},
        {"machine,family,points,p10,p50,p90\nt,gemm,1,x,0,0\n", "`x`: expected a number"},
        {"machine,family,points,p10,p50,p90\nt,gemm,1,0,0,inf\n", "`inf`: expected a number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        struct ll_residuals residuals;
        assert_false(read_table(wrong[i][0], &arena, &diags, &residuals));
        assert_int_equal(diags.count, 1);
        assert_string_equal(diags.kept[0].message, wrong[i][1]);
        ll_diags_release(&diags);
        ll_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_err_together),
        cmocka_unit_test(messages_have_a_family_of_their_own),
        cmocka_unit_test(too_little_known_is_no_bar),
        cmocka_unit_test(quantiles_are_of_measured_over_predicted),
        cmocka_unit_test(a_wrong_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
