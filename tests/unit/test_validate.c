/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "toy_machine.h"

#include "sim/validate/validate.h"

#include <inttypes.h>
#include <math.h>

struct trial {
    struct ll_machine *machine;
    struct ll_arena arena;
};

static const struct ll_validation *validate(struct trial *t, const struct ll_measured *rows, size_t count)
{
    const struct ll_machine *machines[] = {t->machine};
    const struct ll_validation *v = ll_validate(rows, count, machines, 1, NULL, NULL, NULL, &t->arena);
    assert_non_null(v);
    return v;
}

static void begin(struct trial *t, const char *alias)
{
    char text[2048];
    snprintf(text, sizeof text, "%saliases: [%s]\n", LL_TOY_MACHINE, alias);
    *t = (struct trial){.machine = ll_toy_machine(text)};
    assert_non_null(t->machine);
}

static void end(struct trial *t)
{
    ll_arena_release(&t->arena);
    ll_machine_free(t->machine);
}

static struct ll_measured row(const char *hardware, const char *op, const char *dims, double time_s)
{
    return (struct ll_measured){.source = "test",
                                .hardware = hardware,
                                .op = op,
                                .dtype = "bf16",
                                .dims = dims,
                                .notes = "",
                                .time_s = time_s};
}

/* Measured so that the predictions are 50 % too long, 10 % too short and right. */
static void errors_are_relative_to_what_was_measured(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, "Toy One");
    struct ll_measured rows[] = {row("toy one", "gemm", "m=64;n=64;k=64", 1),
                                 row("Toy", "gemm", "m=64;n=64;k=64", 1),
                                 row("toy", "gemm", "m=64;n=64;k=64", 1)};
    double predicted_s = validate(&t, rows, 1)->predictions[0].time_s;
    assert_true(predicted_s > 0);
    rows[0].time_s = predicted_s / 1.5;
    rows[1].time_s = predicted_s / 0.9;
    rows[2].time_s = predicted_s;
    const struct ll_validation *v = validate(&t, rows, 3);
    assert_int_equal(v->overall.ours.points, 3);
    assert_float_equal(v->overall.ours.mape, (0.5 + 0.1) / 3, 1e-9);
    assert_float_equal(v->overall.ours.median_ape, 0.1, 1e-9);
    assert_float_equal(v->overall.ours.within_20pct, 2.0 / 3, 1e-9);
    assert_float_equal(v->overall.ours.bias, (0.5 - 0.1) / 3, 1e-9);
    assert_int_equal(v->family_count, 3); /* three ways to name the hardware */
    assert_string_equal(v->families[0].family, "gemm");
    assert_int_equal(v->families[0].errors.ours.points, 1);
    end(&t);
}

/* 2 x 64^3 FLOP on 128 PEs at 1 GHz, two a cycle: 2048 ns; 3 x 64^2 x 2 bytes at 10 GB/s: 2457.6 ns. */
static void the_roofline_is_the_datasheets(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, "x");
    struct ll_measured rows[] = {row("toy", "gemm", "m=64;n=64;k=64", 2457.6e-9)};
    const struct ll_validation *v = validate(&t, rows, 1);
    assert_float_equal(v->predictions[0].roofline_s, 2457.6e-9, 1e-15);
    assert_float_equal(v->overall.roofline.mape, 0, 1e-9);
    assert_false(v->predictions[0].launch_bound);
    end(&t);
}

/* Of f8, which the toy computes as bf16: 2 x 512^3 FLOP take 1048.576 us, the bytes 79 us. */
static void the_roofline_is_of_the_type_computed(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, "x");
    struct ll_measured rows[] = {row("toy", "gemm", "m=512;n=512;k=512", 1e-3)};
    rows[0].dtype = "fp8";
    assert_float_equal(validate(&t, rows, 1)->predictions[0].roofline_s, 1048.576e-6, 1e-12);
    end(&t);
}

static void what_cannot_be_scored_is_counted_by_reason(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, "x");
    struct ll_measured rows[] = {row("toy", "fft", "", 1), row("other", "gemm", "m=1;n=1;k=1", 1),
                                 row("toy", "fft", "", 1), row("toy", "gemm", "m=1", 1)};
    const struct ll_validation *v = validate(&t, rows, 4);
    assert_int_equal(v->overall.ours.points, 0);
    assert_true(isnan(v->overall.ours.mape));
    assert_int_equal(v->family_count, 0);
    assert_int_equal(v->unscored_count, 3);
    assert_string_equal(v->unscored[0].reason, "no rule turns this op into work");
    assert_int_equal(v->unscored[0].points, 2);
    assert_string_equal(v->unscored[1].reason, "no machine answers to other");
    assert_string_equal(v->unscored[2].reason, "a dimension is missing or impossible");
    end(&t);
}

/* Of four devices some may stand idle. */
static void a_row_has_no_more_devices_than_its_hardware_says(void **state)
{
    (void)state;
    static const char more[] = "the row has more devices than its hardware: tp, pp, cp, dp or devices";
    struct trial t;
    begin(&t, "Toy]\nnetwork: [{name: net, topology: switch, devices: 8, bandwidth: 1GB/s}");
    struct ll_measured rows[] = {
        row("4x toy", "allreduce", "bytes=1000000;devices=4;nodes=1", 1),
        row("4x toy", "allreduce", "bytes=1000000;devices=2;nodes=1", 1),
        row("4x toy", "e2e_train", "model=resnet18;batch=8;devices=4", 1),
        row("4x toy", "e2e_train", "model=resnet18;batch=8;devices=2", 1),
        row("4x toy", "allreduce", "bytes=1000000;devices=8;nodes=1", 1),
        row("4x toy", "e2e_train", "model=gpt3-175B;batch=8;tp=8;dp=1", 1),
        row("4x toy", "e2e_train", "model=mpt-7b;batch=8;devices=8", 1),
    };
    const struct ll_validation *v = validate(&t, rows, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (i < 4)
            assert_null(v->predictions[i].unscored);
        else
            assert_string_equal(v->predictions[i].unscored, more);
    end(&t);
}

/* On one network a device may be a node of its own, and there are no more of them than it joins. */
static void a_device_may_be_a_node_itself(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, "Toy]\nnetwork: [{name: net, topology: switch, devices: 4, bandwidth: 1GB/s}");
    struct ll_measured rows[] = {row("toy", "allreduce", "bytes=1000000;devices=4;nodes=1", 1),
                                 row("toy", "allreduce", "bytes=1000000;devices=4;nodes=4", 1),
                                 row("toy", "allreduce", "bytes=1000000;devices=8;nodes=8", 1)};
    const struct ll_validation *v = validate(&t, rows, 3);
    assert_true(v->predictions[0].time_s > 0);
    assert_float_equal(v->predictions[1].time_s, v->predictions[0].time_s, 1e-15);
    assert_int_equal(v->overall.ours.points, 2);
    end(&t);
}

/* Two pairs in one box: four of its devices are a node, whose wires join the pairs, one a device. */
static void a_node_may_be_several_groups(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, "Toy]\nnetwork: [{name: pair, topology: full, devices: 2, bandwidth: 8GB/s},"
              " {name: bus, topology: switch, devices: 2, bandwidth: 1GB/s}");
    struct ll_measured rows[] = {
        row("toy", "allreduce", "bytes=1000000;devices=4;devices_per_node=4", 1),
        row("toy", "allreduce", "bytes=1000000;devices=4;devices_per_node=2", 1),
        row("toy", "allreduce", "bytes=1000000;devices=2;devices_per_node=2", 1),
        row("toy", "allreduce", "bytes=1000000;devices=8;devices_per_node=4", 1),
    };
    const struct ll_validation *v = validate(&t, rows, 4);
    assert_int_equal(v->overall.ours.points, 3);
    assert_true(v->predictions[0].time_s > v->predictions[2].time_s);
    assert_float_equal(v->predictions[1].time_s, v->predictions[0].time_s, 1e-15);
    assert_near(v->predictions[0].roofline_s, 0.75e-3, 1e-12);
    assert_near(v->predictions[1].roofline_s, 0.75e-3, 1e-12);
    assert_near(v->predictions[2].roofline_s, 1.25e-4, 1e-12);
    end(&t);
}

/* One device under three stacks: as anybody drives it, as this source does, as the software of its notes
 * does. */
static void a_device_answers_under_the_software_that_was_measured(void **state)
{
    (void)state;
    struct trial plain, source, noted;
    begin(&plain, "Device");
    begin(&source, "\"test: Device\"");
    begin(&noted, "\"test, Loop 7: Device\"");
    const struct ll_machine *machines[] = {plain.machine, source.machine, noted.machine};
    struct ll_measured rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = row("device", "gemm", "m=64;n=64;k=64", 1);
    rows[0].source = rows[1].source = "other";
    rows[1].notes = rows[3].notes = "Loop 7 (warm); mean of 10";
    const struct ll_validation *v = ll_validate(rows, 4, machines, 3, NULL, NULL, NULL, &plain.arena);
    assert_ptr_equal(v->predictions[0].machine, plain.machine);
    assert_ptr_equal(v->predictions[1].machine, plain.machine);
    assert_ptr_equal(v->predictions[2].machine, source.machine);
    assert_ptr_equal(v->predictions[3].machine, noted.machine);
    end(&plain);
    end(&source);
    end(&noted);
}

/* An op that was repeated finds its operands in a cache in front of the memory, and ever fewer of them the
 * larger they are: a tenth of the size more nowhere takes twice as long, though memory is ten times as
 * slow. */
static void what_is_repeated_fades_out_of_a_cache(void **state)
{
    (void)state;
    static const char text[] = "name: Cached\nclock: 1GHz\n"
                               "units: [{name: lanes, model: vector, lanes: 1024, flops: {bf16: 100}}]\n"
                               "memory:\n"
                               "  - {name: l2, size: 32MiB, bandwidth: 3TB/s, cache: {ways: 16}}\n"
                               "  - {name: ram, size: 16GiB, bandwidth: 300GB/s}\n";
    struct trial t = {.machine = ll_toy_machine(text)};
    assert_non_null(t.machine);
    double last_s = 0, last_bytes = 0;
    for (uint64_t n = 1 << 20; n < 64 << 20; n += n / 10) {
        char dims[32];
        snprintf(dims, sizeof dims, "n=%" PRIu64, n);
        struct ll_measured rows[] = {row("Cached", "relu", dims, 1)};
        double bytes = (double)n * 4;
        double time_s = validate(&t, rows, 1)->predictions[0].time_s;
        assert_true(last_s == 0 || (time_s > last_s && time_s < last_s * 2));
        assert_true(last_s > 0 || time_s < 1.05 * bytes / 3e12); /* 6 MiB, with another result */
        last_s = time_s;
        last_bytes = bytes;
    }
    assert_true(fabs(last_s - last_bytes / 300e9) < 0.05 * last_s);
    end(&t);
}

/* Of the device and its system, the system exchanges and the device computes; without it nobody exchanges. */
static void several_devices_are_their_system(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_arena arena = {0};
    struct ll_machine *machines[] = {ll_machine_read("h100_sxm", folders, NULL, 0, diags),
                                     ll_machine_read("dgx_h100", folders, NULL, 0, diags)};
    struct ll_measured rows[] = {row("h100_sxm", "allreduce", "bytes=4096;devices=8;nodes=1", 1),
                                 row("h100_sxm", "gemm", "m=64;n=64;k=64", 1)};
    for (size_t count = 1; count <= 2; count++) {
        const struct ll_validation *v =
            ll_validate(rows, 2, (const struct ll_machine *const *)machines, count, NULL, NULL, NULL, &arena);
        assert_non_null(v);
        assert_ptr_equal(v->predictions[0].machine, count == 2 ? machines[1] : NULL);
        assert_ptr_equal(v->predictions[1].machine, machines[0]);
    }
    ll_arena_release(&arena);
    ll_machine_free(machines[0]);
    ll_machine_free(machines[1]);
    ll_diags_release(diags);
    free(diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_relative_to_what_was_measured),
        cmocka_unit_test(the_roofline_is_the_datasheets),
        cmocka_unit_test(the_roofline_is_of_the_type_computed),
        cmocka_unit_test(what_cannot_be_scored_is_counted_by_reason),
        cmocka_unit_test(a_row_has_no_more_devices_than_its_hardware_says),
        cmocka_unit_test(a_device_may_be_a_node_itself),
        cmocka_unit_test(a_node_may_be_several_groups),
        cmocka_unit_test(a_device_answers_under_the_software_that_was_measured),
        cmocka_unit_test(what_is_repeated_fades_out_of_a_cache),
        cmocka_unit_test(several_devices_are_their_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
