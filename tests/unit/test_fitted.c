/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "toy_machine.h"

#include "sim/validate/validate.h"

#include <math.h>
#include <stdio.h>

enum { PRODUCTS = 40, RELUS = 7, ROWS = PRODUCTS + RELUS };

struct data {
    struct ll_measured rows[ROWS];
    char dims[ROWS][64];
};

/* Products of which some take 5 us, some 4 TFLOP/s and some 50 GB/s most of their time. */
static void make_rows(struct data *data)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        bool product = i < PRODUCTS;
        uint64_t m = UINT64_C(8) << i % 10, k = 16 + 100 * (i / 10);
        double flops = 2.0 * (double)m * (double)m * (double)k,
               bytes = 2 * (2.0 * (double)m * (double)k + (double)m * (double)m);
        snprintf(data->dims[i], sizeof data->dims[i], product ? "m=%d;n=%d;k=%d" : "n=%d", (int)m, (int)m,
                 (int)k);
        data->rows[i] = (struct ll_measured){.source = "test",
                                             .hardware = "toy",
                                             .op = product ? "gemm" : "relu",
                                             .dtype = "bf16",
                                             .dims = data->dims[i],
                                             .notes = "",
                                             .time_s = product ? 5e-6 + fmax(flops / 4e12, bytes / 50e9) : 1};
    }
}

struct trial {
    struct data data;
    struct ll_arena arena;
    struct ll_machine *machine;
    const struct ll_validation *validation;
};

/* The first rows, every second product `factor` times as long. */
static const struct ll_fitted_rooflines *fit(struct trial *t, size_t count, double factor)
{
    *t = (struct trial){.machine = ll_toy_machine(LL_TOY_MACHINE)};
    const struct ll_machine *machines[] = {t->machine};
    make_rows(&t->data);
    for (uint64_t i = 1; i < PRODUCTS; i += 2)
        t->data.rows[i].time_s *= factor;
    t->validation = ll_validate(t->data.rows, count, machines, 1, NULL, NULL, NULL, &t->arena);
    assert_non_null(t->validation);
    const struct ll_fitted_rooflines *fitted = ll_fit_rooflines(t->validation, &t->arena);
    assert_non_null(fitted);
    return fitted;
}

static void end(struct trial *t)
{
    ll_machine_free(t->machine);
    ll_arena_release(&t->arena);
}

static void a_roofline_finds_the_figures_of_times_that_one_made(void **state)
{
    (void)state;
    struct trial t;
    const struct ll_fitted_rooflines *fitted = fit(&t, ROWS, 1);
    assert_int_equal(fitted->machine_count, 1);
    assert_int_equal(fitted->family_count, 1);
    assert_int_equal(fitted->left_out, RELUS);
    assert_string_equal(fitted->machines[0].family, "gemm");
    assert_ptr_equal(fitted->machines[0].machine, t.machine);
    assert_int_equal(fitted->overall.fitted.points, PRODUCTS / 2);
    assert_true(fitted->overall.fitted.mape < 0.005);
    double sum = 0;
    for (uint64_t i = 1; i < PRODUCTS; i += 2)
        sum += fabs(t.validation->predictions[i].time_s / t.data.rows[i].time_s - 1);
    assert_near(fitted->overall.ours.mape, sum / (PRODUCTS / 2), 1e-12);
    end(&t);
}

/* Every second row of another time: a fit to the rest knows nothing of it. */
static void rows_to_be_predicted_are_not_looked_at(void **state)
{
    (void)state;
    struct trial t;
    assert_true(fabs(fit(&t, PRODUCTS, 2)->overall.fitted.bias + 0.5) < 0.005);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roofline_finds_the_figures_of_times_that_one_made),
        cmocka_unit_test(rows_to_be_predicted_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
