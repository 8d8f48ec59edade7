/* SPDX-License-Identifier: Apache-2.0 */
/* What words for machines mean: devices, stacks, systems, aliases. */
#include "check.h"

#include "sim/machine/machine.h"

static const char *const hwconfigs[] = {"hwconfigs", NULL};

static struct ll_machine *named(const char *which, struct ll_diags *diags)
{
    *diags = (struct ll_diags){0};
    return ll_machine_read(which, hwconfigs, NULL, 0, diags);
}

static double overhead_of(const char *which)
{
    struct ll_diags diags;
    struct ll_machine *machine = named(which, &diags);
    assert_non_null(machine);
    assert_int_equal(diags.kept_count, 0);
    double overhead_s = machine->software.op_overhead_s;
    ll_machine_free(machine);
    ll_diags_release(&diags);
    return overhead_s;
}

static void the_default_stack_is_kernels_alone(void **state)
{
    (void)state;
    assert_true(overhead_of("h100_sxm") == overhead_of("h100_sxm+kernels"));
    assert_true(overhead_of("h100_sxm") < overhead_of("h100_sxm+pytorch"));
    assert_true(overhead_of("dgx_h100") == overhead_of("h100_sxm"));
    assert_true(overhead_of("dgx_h100+pytorch") == overhead_of("h100_sxm+pytorch"));
    assert_true(overhead_of("mi300x") < overhead_of("mi300x+pytorch"));
}

/* A device's name leaves the default stack out. */
static void stems_are_what_one_would_write(void **state)
{
    static const char *const stems[][2] = {
        {"h100_sxm+kernels", "h100_sxm"},
        {"h100_sxm+kernels+archive/channels_last", "h100_sxm+kernels+archive/channels_last"},
        {"hwconfigs/devices/h100_sxm.yaml+pytorch", "h100_sxm+pytorch"},
        {"archive/vidur_a100", "archive/vidur_a100"},
        {"h100+pytorch", "h100_sxm+pytorch"},
        {"v100_sxm2_16gb", "v100_sxm_16gb+archive/deepbench"},
        {"v100_sxm2_16gb+pytorch", "v100_sxm_16gb+pytorch"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        struct ll_diags diags;
        struct ll_machine *machine = named(stems[i][0], &diags);
        assert_non_null(machine);
        assert_string_equal(machine->stem, stems[i][1]);
        ll_machine_free(machine);
        ll_diags_release(&diags);
    }
}

static void what_an_alias_stands_for_is_remarked_and_no_mistake(void **state)
{
    static const char *const remarks[][2] = {
        {"h100", "`h100`: taken as `h100_sxm`"},
        {"a100_dgx",
         "`a100_dgx` is now called `archive/vidur_a100`; the old name is read for one more minor version"}};
    (void)state;
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        struct ll_diags diags;
        struct ll_machine *machine = named(remarks[i][0], &diags);
        assert_non_null(machine);
        assert_int_equal(diags.count, 0);
        assert_int_equal(diags.kept_count, 1);
        assert_true(diags.kept[0].remark);
        assert_string_equal(diags.kept[0].message, remarks[i][1]);
        ll_machine_free(machine);
        ll_diags_release(&diags);
    }
}

static void a_wrong_word_is_complained_of_once_with_the_right_ones(void **state)
{
    static const char *const complaints[][2] = {
        {"h100_sxn", "no file and no known machine `h100_sxn`; did you mean `h100_sxm`?"},
        {"h100_sxm+pytroch", "no stack `pytroch`; did you mean `pytorch`?"},
        {"xeon_e5_2680v4+xla",
         "the stack `xla` has nothing for devices of the family cpu; expected blas, kernels or ncnn"},
        {"h100_sxm+", "`h100_sxm+`: expected the name of a stack behind `+`"},
        {"custom_example+pytorch", "`custom_example` is of no family that stacks are for: what software "
                                   "costs on it, its own file says"}};
    (void)state;
    for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++) {
        struct ll_diags diags;
        assert_null(named(complaints[i][0], &diags));
        assert_int_equal(diags.count, 1);
        assert_string_equal(diags.kept[0].message, complaints[i][1]);
        ll_diags_release(&diags);
    }
}

/* What a variant says itself is said last; a stack that is asked for changes what the variant inherits. */
static void a_variant_wins_over_the_stack_below_it(void **state)
{
    static const char text[] = "inherits: h100_sxm+pytorch\nname: Mine\nsoftware: {op_overhead: 3us}\n";
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_parse(text, sizeof text - 1, "mine.yaml", hwconfigs, NULL, 0, &diags);
    (void)state;
    assert_non_null(machine);
    assert_true(machine->software.op_overhead_s == 3e-6);
    assert_string_equal(machine->base, "h100_sxm+pytorch");
    assert_string_equal(machine->family, "nvidia_hopper");
    ll_machine_free(machine);
    ll_diags_release(&diags);
}

static void stacks_are_listed_for_whom_they_serve(void **state)
{
    static const char *const wanted[] = {
        "cntk_2018",       "deepep", "kernels",         "megatron", "mxnet_2018", "pytorch",
        "pytorch_compile", "sglang", "tensorflow_2018", "trtllm",   "vllm"};
    struct ll_arena arena = {0};
    const char **stacks;
    size_t count;
    (void)state;
    assert_true(ll_stack_list(hwconfigs, NULL, "nvidia_hopper", &arena, &stacks, &count));
    assert_int_equal(count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(stacks[i], wanted[i]);
    assert_true(ll_machine_is_known("h100+pytorch", hwconfigs));
    assert_false(ll_machine_is_known("NVIDIA H100", hwconfigs));
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_stack_is_kernels_alone),
        cmocka_unit_test(stems_are_what_one_would_write),
        cmocka_unit_test(what_an_alias_stands_for_is_remarked_and_no_mistake),
        cmocka_unit_test(a_wrong_word_is_complained_of_once_with_the_right_ones),
        cmocka_unit_test(a_variant_wins_over_the_stack_below_it),
        cmocka_unit_test(stacks_are_listed_for_whom_they_serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
