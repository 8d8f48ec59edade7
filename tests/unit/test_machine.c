/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "toy_machine.h"

#include <stdlib.h>

static const char *const hwconfigs[] = {"hwconfigs", NULL};

static void a_file_becomes_a_machine_in_base_units(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(LL_TOY_MACHINE);
    assert_non_null(machine);
    assert_string_equal(machine->name, "Toy");
    assert_string_equal(machine->stem, "toy");
    assert_string_equal(machine->path, "toy.yaml");
    assert_string_equal(machine->kind, "custom");
    assert_true(machine->clock_hz == 1e9);
    assert_int_equal(machine->unit_count, 2);
    const struct ll_unit *array = &machine->units[0];
    assert_int_equal(array->model, LL_UNIT_SYSTOLIC);
    assert_int_equal(array->count, 1);
    assert_true(array->clock_hz == 1e9);
    assert_true(array->efficiency == 1);
    assert_int_equal(array->systolic.rows, 8);
    assert_int_equal(array->systolic.cols, 16);
    assert_int_equal(array->systolic.dataflow, LL_WEIGHT_STATIONARY);
    assert_true(array->systolic.macs[LL_INT8] == 2 && array->systolic.macs[LL_F32] == 0);
    assert_true(array->runs_listed && array->runs[LL_OP_MATMUL] && array->runs[LL_OP_CONV2D_FILTER]);
    assert_false(array->runs[LL_OP_RELU]);
    assert_int_equal(machine->levels[0].size_bytes, 1 << 20);
    assert_true(machine->levels[0].bandwidth_Bps == 64e9); /* 64 B in each cycle of 1 ns */
    assert_int_equal(machine->levels[0].scope, LL_SCOPE_UNIT);
    assert_int_equal(machine->levels[1].scope, LL_SCOPE_DEVICE);
    assert_true(machine->levels[1].latency_s == 100e-9);
    assert_true(machine->host.bandwidth_Bps == 0 && machine->software.op_overhead_s == 0);
    assert_false(machine->energy_given || machine->area_given);
    ll_machine_free(machine);
    ll_machine_free(NULL);
}

static void two_ports_give_no_less_than_a_level_has(void **state)
{
    (void)state;
    static const char *const levels[] = {"read_bandwidth: 3GB/s, write_bandwidth: 1GB/s",
                                         "read_bandwidth: 3GB/s, write_bandwidth: 1GB/s, bandwidth: 10GB/s",
                                         "read_bandwidth: 3GB/s, write_bandwidth: 3GB/s, bandwidth: 4GB/s",
                                         "read_bandwidth: 3GB/s, bandwidth: 4GB/s"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "name: Toy\nclock: 1GHz\nunits: [{name: simd, model: vector, lanes: 8, flops: {f32: 1}}]\n"
                 "memory: [{name: ram, size: 1GiB, %s}]\n",
                 levels[i]);
        struct ll_machine *machine = ll_toy_machine(text);
        assert_non_null(machine);
        assert_true(machine->levels[0].bandwidth_Bps == 4e9);
        ll_machine_free(machine);
    }
}

/* Also `reduction`, which is the name of a kind of op as well. */
static void the_name_of_a_class_means_all_its_kinds(void **state)
{
    (void)state;
    for (int c = 0; c < LL_CLASS_COUNT; c++) {
        char text[2048];
        snprintf(text, sizeof text, "%ssoftware: {kernels: [{name: some, ops: [%s]}]}\n", LL_TOY_MACHINE,
                 ll_class_name((enum ll_op_class)c));
        struct ll_machine *machine = ll_toy_machine(text);
        assert_non_null(machine);
        for (int k = 0; k < ll_op_count(); k++)
            assert_true(machine->software.kernels[0].ops[k] ==
                        (ll_op_class((enum ll_op_kind)k) == (enum ll_op_class)c));
        ll_machine_free(machine);
    }
}

static void peaks_count_a_multiply_accumulate_as_two(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(LL_TOY_MACHINE);
    assert_true(ll_machine_peak_flops(machine, LL_BF16) == 2 * 8 * 16 * 1e9);
    assert_true(ll_machine_peak_flops(machine, LL_INT8) == 2 * 2 * 8 * 16 * 1e9);
    assert_true(ll_machine_peak_flops(machine, LL_F32) == 16 * 2 * 1e9);
    assert_true(ll_machine_peak_flops(machine, LL_F64) == 0);
    assert_true(ll_machine_memory_Bps(machine) == 10e9);
    ll_machine_free(machine);
}

static void energy_and_area_are_in_joules_and_square_metres(void **state)
{
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine(LL_TOY_MACHINE "energy: {mac_pj: {bf16: 0.5}, sram_pj_per_byte: 1.2, static_w: 20}\n"
                                      "area: {pe_um2: {bf16: 450}, sram_mm2_per_MiB: 0.45}\n");
    assert_true(machine->energy_given && machine->area_given);
    assert_true(machine->energy.mac_j[LL_BF16] == 0.5e-12);
    assert_true(machine->energy.level_j_per_byte[0] == 1.2e-12);
    assert_true(machine->energy.level_j_per_byte[1] == 0);
    assert_true(machine->energy.static_w == 20);
    assert_true(machine->area.pe_m2[LL_BF16] == 450e-12);
    assert_true(machine->area.sram_m2_per_byte == 0.45e-6 / (1 << 20));
    assert_true(machine->area.fixed_m2 == 0);
    ll_machine_free(machine);
}

static void a_type_without_a_figure_takes_that_of_another(void **state)
{
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine(LL_TOY_MACHINE "energy: {mac_pj: {int8: 1, bf16: 2, f32: 4}, static_w: 20}\n");
    const struct {
        enum ll_dtype dtype;
        double mac_j;
    } cases[] = {{LL_INT8, 1e-12}, {LL_U8, 1e-12},   {LL_I16, 2e-12}, {LL_I32, 4e-12}, {LL_F8, 2e-12},
                 {LL_F16, 2e-12},  {LL_TF32, 4e-12}, {LL_F64, 4e-12}, {LL_I64, 4e-12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(ll_machine_mac_j(machine, cases[i].dtype) == cases[i].mac_j);
    ll_machine_free(machine);
    machine = ll_toy_machine(LL_TOY_MACHINE "energy: {mac_pj: {int8: 1}, static_w: 20}\n");
    assert_true(ll_machine_mac_j(machine, LL_F8) == 1e-12 && ll_machine_mac_j(machine, LL_F32) == 1e-12);
    ll_machine_free(machine);
}

static void a_machine_is_found_by_its_file_or_its_stem(void **state)
{
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *by_stem = ll_machine_read("custom_example", hwconfigs, NULL, 0, &diags);
    struct ll_machine *by_path =
        ll_machine_read("hwconfigs/accelerators/custom_example.yaml", NULL, NULL, 0, &diags);
    assert_non_null(by_stem);
    assert_non_null(by_path);
    assert_string_equal(by_stem->stem, "custom_example");
    assert_string_equal(by_path->stem, "custom_example");
    assert_int_equal(by_stem->config_hash, by_path->config_hash);
    ll_machine_free(by_stem);
    ll_machine_free(by_path);
    assert_null(ll_machine_read("custom_exmple", hwconfigs, NULL, 0, &diags));
    assert_string_equal(diags.kept[0].message,
                        "no file and no known machine `custom_exmple`; did you mean `custom_example`?");
    ll_diags_release(&diags);
}

static void the_machines_of_a_folder_are_listed_by_name(void **state)
{
    static const char *const folders[] = {"hwconfigs", "no such folder", "hwconfigs", NULL};
    struct ll_arena arena = {0};
    const char **stems;
    size_t count;
    (void)state;
    assert_true(ll_machine_list(folders, NULL, &arena, &stems, &count));
    assert_true(count >= 5);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(stems[i - 1], stems[i]) < 0); /* sorted, and each once */
    assert_true(ll_machine_list(folders + 3, NULL, &arena, &stems, &count));
    assert_int_equal(count, 0);
    ll_arena_release(&arena);
}

static void names_and_sources_do_not_change_the_hash(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(LL_TOY_MACHINE);
    struct ll_machine *worded =
        ll_toy_machine(LL_TOY_MACHINE "kind: gpu\nsources: {clock: here}\naliases: [a b]\n");
    struct ll_machine *faster = ll_toy_machine(LL_TOY_MACHINE "software: {op_overhead: 1us}\n");
    assert_int_equal(machine->config_hash, worded->config_hash);
    assert_int_not_equal(machine->config_hash, faster->config_hash);
    assert_string_equal(worded->aliases[0], "a b");
    assert_string_equal(worded->sources[0].path, "clock");
    assert_string_equal(worded->sources[0].text, "here");
    ll_machine_free(machine);
    ll_machine_free(worded);
    ll_machine_free(faster);
}

/* Expected text: the toy machine above, written down by hand. */
static void the_json_has_base_units_in_the_order_of_the_schema(void **state)
{
    static const char expected[] =
        "{\"name\":\"Toy\",\"kind\":\"custom\",\"clock\":1000000000,\"units\":[{\"name\":\"array\",\"model\":"
        "\"systolic\",\"count\":1,\"clock\":1000000000,\"rate_of_full\":1,\"efficiency\":1,\"runs\":["
        "\"matrix\",\"conv\"],"
        "\"line_align\":0,\"row_step\":1,\"column_step\":1,\"gates_zeros\":false,\"inputs_stored\":\"dense\","
        "\"place_bits\":4,\"rows\":8,"
        "\"cols\":16,\"dataflow\":\"ws\",\"overlap_folds\":false,\"accumulators\":0,\"tap_by_tap\":false,"
        "\"whole_tiles\":false,\"macs\":{\"bf16\":1,"
        "\"int8\":2}},{\"name\":"
        "\"simd\",\"model\":\"vector\",\"count\":1,\"clock\":1000000000,\"rate_of_full\":1,\"efficiency\":1,"
        "\"line_align\":0,\"row_step\":1,\"column_step\":1,\"gates_zeros\":false,\"inputs_stored\":\"dense\","
        "\"place_bits\":4,\"lanes\":16,"
        "\"flops\":"
        "{\"f32\":2},\"special_functions\":0}],\"memory\":[{\"name\":\"sram\",\"size\":1048576,\"bandwidth\":"
        "64000000000,"
        "\"efficiency\":1,\"rest\":\"standby\","
        "\"latency\":0,\"scope\":\"unit\",\"double_buffer\":\"true\",\"passing_overlaps\":false,\"keeps_"
        "weights\":false},{\"name\":"
        "\"ram\",\"size\":1073741824,"
        "\"bandwidth\":10000000000,"
        "\"efficiency\":1,\"rest\":\"standby\",\"latency\":1e-07,\"scope\":\"device\",\"double_buffer\":"
        "\"true\",\"passing_"
        "overlaps\":false,\"keeps_weights\":false}],\"software\":{"
        "\"op_overhead\":0,\"queue\":"
        "0,\"loop_overhead\":0,\"gap\":0,"
        "\"step_overhead\":0,\"grain\":0,\"fusion\":"
        "\"none\","
        "\"convolution\":\"direct\","
        "\"strided_data_gradient\":\"exact\",\"group_block\":0,\"depthwise_efficiency\":0,\"mapping\":"
        "\"closed_form\","
        "\"objective\":\"time\","
        "\"early_updates\":false,\"collectives\":"
        "\"fastest\",\"tuner\":\"none\",\"collective_overhead\":0,"
        "\"collective_dispatch\":0,\"eager_collective\":0,"
        "\"training\":{\"gradient_buffers\":false,\"unused_weight_gradients\":false,\"gather_buffer\":false,"
        "\"norm_statistics\":false,\"expert_rows\":false,\"gradient_passes\":0,"
        "\"averaging_passes\":0,\"workspace\":0,\"expert_workspace\":0,\"context\":0,\"collective_channels\":"
        "0,"
        "\"message_channels\":0,\"channel_buffer\":0}},\"host\":{"
        "\"latency\":0,\"cores\":0,\"buffered_steps\":2,\"fills_caches\":false},"
        "\"energy\":{\"mac_pj\":{\"bf16\":4.6},\"static_w\":"
        "20}}";
    struct ll_str text = {0};
    struct ll_json json = {.out = &text};
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine(LL_TOY_MACHINE "energy: {mac_pj: {bf16: 4.6}, static_w: 20}\n");
    ll_machine_json(machine, &json);
    assert_string_equal(text.text, expected);
    ll_str_release(&text);
    ll_machine_free(machine);
}

static void a_unit_without_a_clock_has_the_machines(void **state)
{
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine("name: Toy\n"
                       "units:\n"
                       "  - {name: simd, model: vector, lanes: 16, flops: {f32: 2}, clock: 3GHz}\n"
                       "memory:\n"
                       "  - {name: ram, size: 1GiB, bandwidth: 10GB/s}\n");
    assert_true(machine->units[0].clock_hz == 3e9);
    assert_true(machine->clock_hz == 0);
    ll_machine_free(machine);
    ll_diags_release(&diags);
}

static void levels_of_one_size_are_allowed(void **state)
{
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine("name: Toy\n"
                       "clock: 1GHz\n"
                       "units: [{name: simd, model: vector, lanes: 16, flops: {f32: 2}}]\n"
                       "memory:\n"
                       "  - {name: near, size: 1GiB, bandwidth: 20GB/s}\n"
                       "  - {name: far, size: 1GiB, bandwidth: 10GB/s}\n");
    assert_non_null(machine);
    ll_machine_free(machine);
}

static void an_op_goes_to_the_first_kernel_that_takes_it(void **state)
{
    (void)state;
    struct ll_machine machine = {.software = {.kernel_count = 3}};
    struct ll_kernel *kernels = machine.software.kernels;
    for (int i = 0; i < 3; i++)
        kernels[i].ops[LL_OP_MATMUL] = true;
    kernels[0].dtype = 1 + LL_BF16;
    struct ll_work narrow = {.kind = LL_WORK_GEMM, .dtype = LL_BF16},
                   wide = {.kind = LL_WORK_GEMM, .dtype = LL_F32};
    assert_ptr_equal(ll_machine_kernel(&machine, LL_OP_MATMUL, &narrow), &kernels[0]);
    assert_ptr_equal(ll_machine_kernel(&machine, LL_OP_MATMUL, &wide), &kernels[1]);
    assert_near(ll_machine_kernel(&machine, LL_OP_ADD, &wide)->compute_efficiency, 1, 0);
}

static void a_kernel_may_be_for_one_type(void **state)
{
    (void)state;
    struct ll_machine machine = {.software = {.kernel_count = 2}};
    struct ll_kernel *kernels = machine.software.kernels;
    kernels[0].ops[LL_OP_MATMUL] = kernels[1].ops[LL_OP_MATMUL] = true;
    kernels[0].dtype = 1 + LL_F32;
    struct ll_work floats = {.kind = LL_WORK_GEMM, .dtype = LL_F32, .gemm = {1, 4, 4, 4}}, bytes = floats;
    bytes.dtype = LL_INT8;
    assert_ptr_equal(ll_machine_kernel(&machine, LL_OP_MATMUL, &floats), &kernels[0]);
    assert_ptr_equal(ll_machine_kernel(&machine, LL_OP_MATMUL, &bytes), &kernels[1]);
}

static void no_more_complaints_are_kept_than_can_be_read(void **state)
{
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    (void)state;
    ll_str_add(&text, LL_TOY_MACHINE);
    for (int i = 0; i < 10000; i++)
        ll_str_addf(&text, "wrong_%d: 1\n", i);
    assert_null(ll_toy_parse(text.text, NULL, 0, &diags));
    assert_int_equal(diags.count, 10000);
    assert_int_equal(diags.kept_count, LL_DIAG_LIMIT);
    ll_str_release(&text);
    ll_diags_release(&diags);
}

static void the_reference_has_a_row_for_each_key(void **state)
{
    struct ll_str text = {0};
    (void)state;
    ll_machine_reference(&text);
    assert_non_null(
        strstr(text.text, "| `rows` | whole number, 1 to 65536 | required | rows of the array |\n"));
    assert_non_null(strstr(text.text, "| `scope` | `device`, `unit` or `cluster` | `device` |"));
    assert_non_null(strstr(text.text, "| `efficiency` | number, more than 0 to 1 | `1` |"));
    assert_non_null(strstr(text.text, "| `<level>_pj_per_byte` |"));
    assert_non_null(strstr(text.text, "- `systolic`: "));
    ll_str_release(&text);
}

/* Levels grow from the fed one to the one that feeds it; weights and results do not feed each other. */
static void a_tile_and_its_loops_are_written_as_they_are_read(void **state)
{
    (void)state;
    static const struct ll_override sets[] = {
        {"software.mapping", "search"}, {"memory.sram.tile", "64x512x100"}, {"memory.sram.loops", "nmk"}};
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_toy_parse(LL_TOY_MACHINE, sets, 3, &diags);
    struct ll_str text = {0};
    assert_non_null(machine);
    assert_int_equal(machine->levels[0].tile.n, 512);
    assert_string_equal(machine->levels[0].loops, "nmk");
    ll_machine_yaml(machine, &text);
    assert_non_null(strstr(text.text, "tile: 64x512x100"));
    struct ll_machine *again = ll_toy_machine(text.text);
    assert_int_equal(again->config_hash, machine->config_hash);
    assert_int_equal(again->levels[0].tile.k, 100);
    assert_string_equal(again->levels[0].loops, "nmk");
    ll_str_release(&text);
    ll_diags_release(&diags);
    ll_machine_free(machine);
    ll_machine_free(again);
}

static void buffers_of_different_operands_need_not_grow(void **state)
{
    static const char text[] =
        "name: Apart\nclock: 1GHz\nunits: [{name: lanes, model: vector, lanes: 8, flops: {f32: 2}}]\n"
        "memory:\n"
        "  - {name: weights, size: 8MiB, bandwidth: 1TB/s, holds: [weight]}\n"
        "  - {name: results, size: 512KiB, bandwidth: 1TB/s, holds: [input, output]}\n"
        "  - {name: dram, size: 1GiB, bandwidth: 10GB/s}\n";
    (void)state;
    struct ll_machine *machine = ll_toy_machine(text);
    assert_non_null(machine);
    assert_int_equal(machine->level_count, 3);
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_becomes_a_machine_in_base_units),
        cmocka_unit_test(two_ports_give_no_less_than_a_level_has),
        cmocka_unit_test(the_name_of_a_class_means_all_its_kinds),
        cmocka_unit_test(peaks_count_a_multiply_accumulate_as_two),
        cmocka_unit_test(energy_and_area_are_in_joules_and_square_metres),
        cmocka_unit_test(a_type_without_a_figure_takes_that_of_another),
        cmocka_unit_test(a_machine_is_found_by_its_file_or_its_stem),
        cmocka_unit_test(the_machines_of_a_folder_are_listed_by_name),
        cmocka_unit_test(names_and_sources_do_not_change_the_hash),
        cmocka_unit_test(the_json_has_base_units_in_the_order_of_the_schema),
        cmocka_unit_test(a_unit_without_a_clock_has_the_machines),
        cmocka_unit_test(levels_of_one_size_are_allowed),
        cmocka_unit_test(an_op_goes_to_the_first_kernel_that_takes_it),
        cmocka_unit_test(a_kernel_may_be_for_one_type),
        cmocka_unit_test(a_tile_and_its_loops_are_written_as_they_are_read),
        cmocka_unit_test(buffers_of_different_operands_need_not_grow),
        cmocka_unit_test(no_more_complaints_are_kept_than_can_be_read),
        cmocka_unit_test(the_reference_has_a_row_for_each_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
