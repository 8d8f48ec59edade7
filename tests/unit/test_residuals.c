/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/validate/residuals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 21 };

static const char table[] = "machine,family,size,points,p10,p50,p90\n"
                            "toy,gemm,all,30,-0.1,0,0.2\n"
                            "toy,elementwise,all,40,-0.3,0.01,0.1\n"
                            "toy,sendrecv,all,20,-0.2,0,0.4\n"
                            "other,conv,all,50,-1,0,1\n";

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
 * nothing is known here: these err as the widest of the others. Medians are 0 and 0.01. */
static void ops_err_together_and_families_apart(void **state)
{
    (void)state;
    const struct ll_kind_result kinds[] = {
        {.kind = "matmul", .op_kind = LL_OP_MATMUL, .op_class = LL_CLASS_MATRIX, .share = 0.6},
        {.kind = "relu", .op_kind = LL_OP_RELU, .op_class = LL_CLASS_ELEMENTWISE, .share = 0.2},
        {.kind = "transpose", .op_kind = LL_OP_TRANSPOSE, .op_class = LL_CLASS_MOVEMENT, .share = 0.1},
        {.kind = "conv2d", .op_kind = LL_OP_CONV2D, .op_class = LL_CLASS_CONV, .share = 0.1},
    };
    double low_s, high_s;
    assert_true(bar(kinds, 4, &low_s, &high_s));
    double below = sqrt(0.06 * 0.06 + 0.093 * 0.093 + 0.031 * 0.031);
    double above = sqrt(0.12 * 0.12 + 0.027 * 0.027 + 0.02 * 0.02);
    assert_true(fabs(low_s - 2 * exp(0.003 - below)) < 1e-12);
    assert_true(fabs(high_s - 2 * exp(0.003 + above)) < 1e-12);
}

/* Messages between stages err as those between two devices that were measured. */
static void messages_have_a_family_of_their_own(void **state)
{
    (void)state;
    const struct ll_kind_result kinds[] = {
        {.kind = "matmul", .op_kind = LL_OP_MATMUL, .op_class = LL_CLASS_MATRIX, .share = 0.5},
        {.kind = "send", .op_kind = LL_OP_SEND, .op_class = LL_CLASS_COMMUNICATION, .share = 0.5},
    };
    double low_s, high_s;
    assert_true(bar(kinds, 2, &low_s, &high_s));
    assert_true(fabs(low_s - 2 * exp(-sqrt(0.05 * 0.05 + 0.1 * 0.1))) < 1e-12);
    assert_true(fabs(high_s - 2 * exp(sqrt(0.1 * 0.1 + 0.2 * 0.2))) < 1e-12);
}

static void too_little_known_is_no_bar(void **state)
{
    (void)state;
    const struct ll_kind_result kinds[] = {
        {.kind = "matmul", .op_kind = LL_OP_MATMUL, .op_class = LL_CLASS_MATRIX, .share = 0.79},
        {.kind = "conv2d", .op_kind = LL_OP_CONV2D, .op_class = LL_CLASS_CONV, .share = 0.21},
    };
    double low_s = 0, high_s = 0;
    assert_false(bar(kinds, 2, &low_s, &high_s));
    assert_true(low_s == 0 && high_s == 0);
}

/* A machine whose steps were measured takes their quantiles; one that was not takes the wider, at either
 * end, of what its ops and the steps of others say. */
static void steps_err_more_than_their_ops(void **state)
{
    (void)state;
    const struct ll_residual rows[] = {{"toy", "gemm", LL_RESIDUAL_ALL, 30, -0.1, 0, 0.2},
                                       {"any gpu", "end_to_end", LL_RESIDUAL_ALL, 40, -0.05, 0.1, 0.5},
                                       {"seen", "end_to_end", LL_RESIDUAL_ALL, 40, -0.02, 0, 0.03}};
    const struct ll_residuals residuals = {rows, 3};
    const struct ll_kind_result kind = {
        .kind = "matmul", .op_kind = LL_OP_MATMUL, .op_class = LL_CLASS_MATRIX, .share = 1};
    struct ll_machine machine = {.stem = "toy", .kind = "gpu"};
    const struct ll_result result = {.machine = &machine, .time_s = 1, .kinds = &kind, .kind_count = 1};
    double low_s, high_s;
    assert_true(ll_residuals_bar(&residuals, &result, &low_s, &high_s));
    assert_true(fabs(low_s - exp(-0.1)) < 1e-12 && fabs(high_s - exp(0.5)) < 1e-12);
    machine.stem = "seen";
    assert_true(ll_residuals_bar(&residuals, &result, &low_s, &high_s));
    assert_true(fabs(low_s - exp(-0.02)) < 1e-12 && fabs(high_s - exp(0.03)) < 1e-12);
}

/* Each size has residuals of its own: 0.1 where ops are short, 0.3 where they are long. */
static void long_ops_err_as_long_ops_did(void **state)
{
    (void)state;
    const struct ll_residual rows[] = {{"toy", "gemm", LL_RESIDUAL_SMALL, 30, -0.1, 0, 0.1},
                                       {"toy", "gemm", LL_RESIDUAL_LARGE, 30, -0.3, 0, 0.3}};
    const struct ll_residuals residuals = {rows, 2};
    struct ll_kind_result kind = {
        .kind = "matmul", .op_kind = LL_OP_MATMUL, .op_class = LL_CLASS_MATRIX, .share = 1};
    const struct ll_machine machine = {.stem = "toy"};
    const struct ll_result result = {.machine = &machine, .time_s = 1, .kinds = &kind, .kind_count = 1};
    double low_s, high_s;
    kind.count = 10, kind.time_s = 10 * 19e-6;
    assert_true(ll_residuals_bar(&residuals, &result, &low_s, &high_s));
    assert_true(fabs(high_s - exp(0.1)) < 1e-12);
    kind.time_s = 10 * 201e-6;
    assert_true(ll_residuals_bar(&residuals, &result, &low_s, &high_s));
    assert_true(fabs(high_s - exp(0.3)) < 1e-12);
}

/* Of residuals without any order in shapes four fifths lie within intervals made of other shapes; of another
 * device, whose times are e times as long, none within those of this one. */
static void intervals_hold_on_what_they_were_not_made_of(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    const struct ll_machine machines[] = {
        {.stem = "a", .kind = "gpu"}, {.stem = "b", .kind = "gpu"}, {.stem = "c", .kind = "gpu"}};
    static struct ll_measured rows[3 * MANY];
    static struct ll_prediction predictions[3 * MANY];
    static char dims[3 * MANY][24];
    const struct ll_family_errors cells[3] = {{.family = "gemm"}};
    for (int i = 0; i < 3 * MANY; i++) {
        const double x = ((double)(i * 7919 % MANY) + 0.5) / MANY - 0.5;
        snprintf(dims[i], sizeof dims[i], "m=%d;n=%d", 1 << i % 13, 1 << i % 7);
        rows[i] = (struct ll_measured){.dims = dims[i], .time_s = exp(x + (i >= 2 * MANY ? 3 : 0))};
        predictions[i] = (struct ll_prediction){
            .row = &rows[i], .machine = &machines[i / MANY], .family = "gemm", .time_s = 1};
    }
    const struct ll_validation v = {
        .predictions = predictions, .count = 3 * MANY, .machines = cells, .machine_count = 3};
    struct ll_arena arena = {0};
    const struct ll_intervals *intervals = ll_intervals_of(&v, NULL, &arena);
    assert_non_null(intervals);
    assert_int_equal(intervals->cell_count, 3);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(intervals->cells[i].shapes.within - 0.8) < 0.03);
    assert_int_equal(intervals->cells[2].devices.points, MANY);
    assert_true(intervals->cells[2].devices.within == 0);
    assert_int_equal(intervals->overall.table.points, 0);
    ll_arena_release(&arena);
}

/* Measured is e^(i / 10) times predicted, i from -10 to 10: places 2.2, 11 and 19.8 of 21 and one more. */
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
    assert_string_equal(csv.text, "machine,family,size,points,p10,p50,p90\n"
                                  "toy,gemm,all,21,-0.8800,0.0000,0.8800\n"
                                  "toy,gemm,large,21,-0.8800,0.0000,0.8800\n");
    ll_str_release(&csv);
}

static void a_wrong_table_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"a,b\n", "expected the header machine,family,size,points,p10,p50,p90"},
        {"machine,family,size,points,p10,p50,p90\nt,gemm,all,1\n", "expected 7 fields, not 4"},
        {"machine,family,size,points,p10,p50,p90\nt,gemm,all,1,x,0,0\n", "`x`: expected a number"},
        {"machine,family,size,points,p10,p50,p90\nt,gemm,all,1,0,0,inf\n", "`inf`: expected a number"},
        {"machine,family,size,points,p10,p50,p90\nt,gemm,tiny,1,0,0,1\n",
         "`tiny`: expected all, small, medium or large"},
        {"machine,family,size,points,p10,p50,p90\nt,gemm,all,1,0,2,1\n",
         "expected p10, p50 and p90 in ascending order"},
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
        cmocka_unit_test(ops_err_together_and_families_apart),
        cmocka_unit_test(messages_have_a_family_of_their_own),
        cmocka_unit_test(too_little_known_is_no_bar),
        cmocka_unit_test(steps_err_more_than_their_ops),
        cmocka_unit_test(long_ops_err_as_long_ops_did),
        cmocka_unit_test(intervals_hold_on_what_they_were_not_made_of),
        cmocka_unit_test(quantiles_are_of_measured_over_predicted),
        cmocka_unit_test(a_wrong_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
