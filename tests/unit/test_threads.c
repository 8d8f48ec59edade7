/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that say in how many threads they ran. */
#include "check.h"

#include "sim/validate/predict.h"

#include <math.h>

static struct ll_machine *machine_with(const struct ll_override *overrides, size_t count)
{
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_read("hwconfigs/devices/xeon_e5_2680v4.yaml", NULL, overrides, count, &diags);
    assert_non_null(machine);
    return machine;
}

static double row_s(const struct ll_machine *machine, const char *dtype, const char *dims)
{
    const struct ll_measured row = {.op = "e2e_infer", .dtype = dtype, .dims = dims};
    struct ll_measured_works works = {0};
    struct ll_predicted predicted;
    const char *trouble = ll_measured_works(&row, machine, &works);
    assert_null(trouble);
    assert_true(ll_predict(machine, &works, &predicted, &trouble));
    ll_measured_works_release(&works);
    return predicted.time_s;
}

static void more_threads_are_never_slower(void **state)
{
    struct ll_machine *machine = machine_with(NULL, 0);
    double before_s = INFINITY;
    (void)state;
    for (unsigned threads = 1; threads <= 14; threads++) {
        char dims[64];
        snprintf(dims, sizeof dims, "model=resnet18;batch=1;threads=%u", threads);
        double time_s = row_s(machine, "fp32", dims);
        assert_true(time_s <= before_s);
        before_s = time_s;
    }
    ll_machine_free(machine);
}

static void one_thread_has_a_machine_of_one_core(void **state)
{
    const struct ll_override one[] = {{"units.fma.count", "1"}, {"units.avx2.count", "1"}};
    struct ll_machine *all = machine_with(NULL, 0), *single = machine_with(one, 2);
    (void)state;
    double single_s = row_s(single, "fp32", "model=squeezenet;batch=1");
    assert_true(row_s(all, "fp32", "model=squeezenet;batch=1;threads=1") == single_s);
    assert_true(single_s > 2 * row_s(all, "fp32", "model=squeezenet;batch=1"));
    ll_machine_free(all);
    ll_machine_free(single);
}

static void threads_beyond_the_cores_change_nothing(void **state)
{
    struct ll_machine *machine = machine_with(NULL, 0);
    (void)state;
    assert_true(row_s(machine, "fp32", "model=alexnet;batch=1;threads=28") ==
                row_s(machine, "fp32", "model=alexnet;batch=1"));
    ll_machine_free(machine);
}

static double convolved_s(const char *key, const char *value)
{
    const struct ll_override shared = {key, value};
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_read("hwconfigs/devices/e5_2630v3_2s.yaml+archive/torch7_cpu", NULL, &shared, 1, &diags);
    const struct ll_measured row = {
        .op = "conv2d_fwd", .dtype = "fp32", .dims = "b=1;c=32;h=28;w=28;k=60;r=3;s=3"};
    struct ll_measured_works works = {0};
    struct ll_predicted predicted;
    const char *trouble = ll_measured_works(&row, NULL, &works);
    assert_true(machine && !trouble && ll_predict(machine, &works, &predicted, &trouble));
    ll_measured_works_release(&works);
    ll_machine_free(machine);
    return predicted.time_s;
}

/* 60 channels are four pieces of 16, for as many of 16 units. */
static void units_without_channels_do_not_work(void **state)
{
    (void)state;
    double pieces_s = convolved_s("software.kernels.convolve.partition", "16");
    assert_true(pieces_s == convolved_s("software.kernels.convolve.max_units", "4"));
    assert_true(pieces_s > 1.5 * convolved_s("software.kernels.convolve.partition", "1"));
}

/* Half the bytes, and twice the rate. */
static void the_type_is_the_best_that_the_cores_compute(void **state)
{
    const struct ll_override halves[] = {{"units.fma.macs.f16", "32"}, {"units.avx2.flops.f16", "8"}};
    struct ll_machine *wide = machine_with(NULL, 0), *both = machine_with(halves, 2);
    const char *dims = "model=alexnet;batch=1;threads=4";
    (void)state;
    assert_true(row_s(wide, "fp32|fp16", dims) == row_s(wide, "fp32", dims));
    assert_true(row_s(both, "fp32|fp16", dims) == row_s(both, "fp16", dims));
    assert_true(row_s(both, "fp16", dims) < 0.7 * row_s(both, "fp32", dims));
    ll_machine_free(wide);
    ll_machine_free(both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_threads_are_never_slower),
        cmocka_unit_test(one_thread_has_a_machine_of_one_core),
        cmocka_unit_test(threads_beyond_the_cores_change_nothing),
        cmocka_unit_test(units_without_channels_do_not_work),
        cmocka_unit_test(the_type_is_the_best_that_the_cores_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
