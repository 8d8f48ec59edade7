/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "toy_machine.h"

#include "sim/machine/path.h"

static const char text[] = LL_TOY_MACHINE "software: {op_overhead: 4us, kernels: [{name: wide, ops: "
                                          "[matmul], compute_efficiency: 0.5, launch_overhead: 2us}]}\n";

/* So that what a fit writes into a file is what it computed with. */
static void every_number_is_what_set_would_make_it(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_machine *machine = ll_toy_machine(text);
    size_t count;
    const struct ll_machine_number *numbers = ll_machine_numbers(machine, &arena, &count);
    assert_non_null(numbers);
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++) {
        double value = ll_number_get(machine, &numbers[i]) * 0.75;
        if (value == 0 || value < numbers[i].min)
            continue;
        struct ll_quantity_text words = ll_number_words(&numbers[i], value);
        const struct ll_override override = {numbers[i].path, words.text};
        struct ll_diags diags = {0};
        struct ll_machine *set = ll_toy_parse(text, &override, 1, &diags);
        if (!set)
            fail_msg("%s=%s: %s", override.path, override.value, diags.kept[0].message);
        assert_true(ll_number_get(set, &numbers[i]) == value);
        ll_diags_release(&diags);
        ll_machine_free(set);
    }
    ll_machine_free(machine);
    ll_arena_release(&arena);
}

static void paths_name_items_and_kernels(void **state)
{
    (void)state;
    static const char *const wanted[] = {"units.array.efficiency", "units.simd.flops.f32",
                                         "memory.ram.bandwidth", "software.op_overhead",
                                         "software.kernels.wide.compute_efficiency"};
    struct ll_arena arena = {0};
    struct ll_machine *machine = ll_toy_machine(text);
    size_t count, found = 0;
    const struct ll_machine_number *numbers = ll_machine_numbers(machine, &arena, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
            found += strcmp(numbers[i].path, wanted[w]) == 0;
    assert_int_equal(found, sizeof wanted / sizeof *wanted);
    ll_machine_free(machine);
    ll_arena_release(&arena);
}

/* As many as a calibration makes. */
static void numbers_behind_many_kernels_are_found(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_str made = {0};
    ll_str_addf(&made, "%ssoftware:\n  kernels:\n", LL_TOY_MACHINE);
    for (int i = 0; i < 120; i++)
        ll_str_addf(&made, "    - {name: kernel_%d, ops: [matmul], compute_efficiency: 0.5}\n", i);
    ll_str_addf(&made, "host: {bandwidth: 1GB/s}\n");
    struct ll_machine *machine = ll_toy_machine(made.text);
    size_t count, found = 0;
    const struct ll_machine_number *numbers = ll_machine_numbers(machine, &arena, &count);
    for (size_t i = 0; i < count; i++)
        found += strcmp(numbers[i].path, "host.bandwidth") == 0;
    assert_int_equal(found, 1);
    ll_str_release(&made);
    ll_machine_free(machine);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_what_set_would_make_it),
        cmocka_unit_test(paths_name_items_and_kernels),
        cmocka_unit_test(numbers_behind_many_kernels_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
