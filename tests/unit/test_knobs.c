/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "toy_machine.h"

#include <stdlib.h>

#define WITH_ALL                                                                                             \
    LL_TOY_MACHINE "host: {bandwidth: 16GB/s}\nsoftware: {op_overhead: 3us}\nsources: {clock: here}\n"       \
                   "aliases: [toy]\n"                                                                        \
                   "network: [{name: link, topology: ring, devices: 8, bandwidth: 56GB/s}]\n"

static void what_can_be_turned_is_listed_in_a_fixed_order(void **state)
{
    static const struct ll_knob expected[] = {
        {"units.array.clock", "array rate", 2},
        {"units.simd.clock", "simd rate", 2},
        {"memory.sram.bandwidth", "sram bandwidth", 2},
        {"memory.ram.bandwidth", "ram bandwidth", 2},
        {"memory.sram.size", "sram size", 2}, /* of what is on chip: not of ram */
        {"network.link.bandwidth", "link bandwidth", 2},
        {"host.bandwidth", "host bandwidth", 2},
        {"software.op_overhead (kernels, steps, barriers too)", "zero launch overhead", 0},
    };
    struct ll_arena arena = {0};
    size_t count;
    (void)state;
    struct ll_machine *machine = ll_toy_machine(WITH_ALL);
    const struct ll_knob *knobs = ll_machine_knobs(machine, &arena, &count);
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(knobs[i].path, expected[i].path);
        assert_string_equal(knobs[i].label, expected[i].label);
        assert_true(knobs[i].factor == expected[i].factor);
    }
    ll_arena_release(&arena);
    ll_machine_free(machine);
}

static void what_a_machine_has_not_cannot_be_turned(void **state)
{
    struct ll_arena arena = {0};
    size_t count;
    (void)state;
    struct ll_machine *machine = ll_toy_machine(LL_TOY_MACHINE);
    assert_non_null(ll_machine_knobs(machine, &arena, &count));
    assert_int_equal(count, 5);
    ll_arena_release(&arena);
    ll_machine_free(machine);
}

static char *yaml_of(const struct ll_machine *machine)
{
    struct ll_str text = {0};
    ll_machine_yaml(machine, &text);
    assert_false(text.failed);
    return text.text;
}

static size_t lines_that_differ(const char *a, const char *b)
{
    size_t count = 0;
    while (*a && *b) {
        size_t length_a = strcspn(a, "\n") + 1, length_b = strcspn(b, "\n") + 1;
        count += length_a != length_b || memcmp(a, b, length_a) != 0;
        a += length_a;
        b += length_b;
    }
    return count + (*a || *b);
}

static void a_turned_knob_changes_one_value_and_the_hash(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(WITH_ALL);
    char *before = yaml_of(machine);
    for (size_t knob = 0; knob < 8; knob++) {
        struct ll_machine *turned = ll_machine_turn(machine, knob);
        char *after = yaml_of(turned);
        assert_int_equal(lines_that_differ(before, after), 1);
        free(after);
        ll_machine_free(turned);
    }
    free(before);
    ll_machine_free(machine);
}

static void without_cost_of_starting_there_is_none(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(WITH_ALL);
    struct ll_machine *turned = ll_machine_turn(machine, 7);
    assert_true(turned->software.op_overhead_s == 0);
    ll_machine_free(turned);
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_turned_is_listed_in_a_fixed_order),
        cmocka_unit_test(what_a_machine_has_not_cannot_be_turned),
        cmocka_unit_test(a_turned_knob_changes_one_value_and_the_hash),
        cmocka_unit_test(without_cost_of_starting_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
