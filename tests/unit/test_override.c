/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "toy_machine.h"

static struct ll_machine *set(const char *path, const char *value, struct ll_diags *diags)
{
    struct ll_override override = {path, value};
    return ll_toy_parse(LL_TOY_MACHINE, &override, 1, diags);
}

static struct ll_machine *set_right(const char *path, const char *value)
{
    struct ll_diags diags = {0};
    struct ll_machine *machine = set(path, value, &diags);
    if (!machine)
        fail_msg("--set %s=%s: %s", path, value, diags.kept[0].message);
    ll_diags_release(&diags);
    return machine;
}

static void a_value_is_set_by_its_path(void **state)
{
    (void)state;
    struct ll_machine *machine = set_right("units.array.rows", "128");
    assert_int_equal(machine->units[0].systolic.rows, 128);
    ll_machine_free(machine);
    machine = set_right("memory.ram.bandwidth", "1TB/s");
    assert_true(machine->levels[1].bandwidth_Bps == 1e12);
    ll_machine_free(machine);
    machine = set_right("array.macs.f32", "0.5");
    assert_true(machine->units[0].systolic.macs[LL_F32] == 0.5);
    assert_true(machine->units[0].systolic.macs[LL_BF16] == 1);
    ll_machine_free(machine);
    machine = set_right("array.runs", "[matrix, conv]");
    assert_true(machine->units[0].runs[LL_OP_MATMUL]);
    ll_machine_free(machine);
    machine = set_right("clock", "2GHz");
    assert_true(machine->units[0].clock_hz == 2e9);
    assert_true(machine->levels[0].bandwidth_Bps == 128e9); /* 64B/cycle */
    ll_machine_free(machine);
}

static void what_the_file_leaves_out_can_be_set_too(void **state)
{
    (void)state;
    struct ll_machine *machine = set_right("software.op_overhead", "3us");
    assert_true(machine->software.op_overhead_s == 3e-6);
    ll_machine_free(machine);
    machine = set_right("simd.flops.f16", "4");
    assert_true(machine->units[1].vector.flops[LL_F16] == 4);
    ll_machine_free(machine);
    machine = set_right("energy.ram_pj_per_byte", "31");
    assert_true(machine->energy_given);
    assert_true(machine->energy.level_j_per_byte[1] == 31e-12);
    ll_machine_free(machine);
    machine = set_right("network", "[{name: link, topology: ring, devices: 8, bandwidth: 56GB/s}]");
    assert_int_equal(machine->network_count, 1);
    ll_machine_free(machine);
}

static void the_last_of_two_overrides_wins(void **state)
{
    struct ll_override overrides[] = {{"array.rows", "16"}, {"units.array.rows", "32"}};
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *machine = ll_toy_parse(LL_TOY_MACHINE, overrides, 2, &diags);
    assert_int_equal(machine->units[0].systolic.rows, 32);
    assert_int_equal(machine->source_count, 1);
    assert_string_equal(machine->sources[0].path, "units.array.rows");
    assert_string_equal(machine->sources[0].text, "given by --set");
    ll_machine_free(machine);
    ll_diags_release(&diags);
}

static void other_values_keep_their_sources(void **state)
{
    struct ll_override override = {"simd.count", "4"};
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *machine =
        ll_toy_parse(LL_TOY_MACHINE "sources: {array.count: here, units.simd.count: there, simd: all}\n",
                     &override, 1, &diags);
    assert_int_equal(machine->source_count, 3);
    assert_string_equal(machine->sources[0].text, "here");
    assert_string_equal(machine->sources[1].path, "simd");
    assert_string_equal(machine->sources[2].path, "simd.count");
    ll_machine_free(machine);
    ll_diags_release(&diags);
}

static void a_wrong_path_or_value_is_complained_of_where_it_was_typed(void **state)
{
    static const struct {
        const char *path, *value, *place, *message;
    } cases[] = {
        {"units.aray.rows", "1", "--set units.aray.rows=1",
         "`units.aray.rows`: no unit `aray`; did you mean `units.array.rows`?"},
        {"units.array.rosw", "1", "--set units.array.rosw=1",
         "`units.array.rosw`: no key `rosw`; did you mean `units.array.rows`?"},
        {"memery.ram.size", "1GiB", "--set memery.ram.size=1GiB",
         "`memery.ram.size`: no key `memery`; did you mean `memory.ram.size`?"},
        {"rma.size", "1GiB", "--set rma.size=1GiB", "`rma.size`: no key `rma`; did you mean `ram.size`?"},
        {"memory.disk.size", "1GiB", "--set memory.disk.size=1GiB",
         "`memory.disk.size`: no memory level `disk`; expected sram or ram"},
        {"array.macs.bf61", "1", "--set array.macs.bf61=1",
         "`array.macs.bf61`: no dtype `bf61`; did you mean `array.macs.bf16`?"},
        {"energy.rm_pj_per_byte", "1", "--set energy.rm_pj_per_byte=1",
         "`energy.rm_pj_per_byte`: no key `rm_pj_per_byte`; did you mean `energy.ram_pj_per_byte`?"},
        {"array.macs.bf16.x", "1", "--set array.macs.bf16.x=1",
         "`array.macs.bf16.x`: there is nothing below `bf16`"},
        {"clock.x", "1", "--set clock.x=1", "`clock.x`: there is nothing below `clock`"},
        {"array", "1", "--set array=1", "`array` is more than one value; set one of its keys"},
        {"array.rows", "8GB", "--set array.rows=8GB", "`rows: 8GB`: expected a number without unit"},
        {"array.lanes", "8", "--set array.lanes=8",
         "no key `lanes` in this systolic unit; it belongs in a vector unit"},
        {"ram.bandwidth", "900", "--set ram.bandwidth=900",
         "`bandwidth: 900`: expected a bandwidth, as 900GB/s or 512B/cycle; a unit is missing"},
        {"array.runs", "[conv", "--set array.runs=[conv", "not YAML: did not find expected ',' or ']'"},
        {"array.rows", "", "--set array.rows=", "there is no value"},
        {"inherits", "tpu_v2", "--set inherits=tpu_v2", "`inherits` can only stand in a file"},
        {"", "1", "--set =1",
         "``: no key ``; expected ram, name, kind, year, host, area, simd, sram, clock, units, cores, price, "
         "array, family, system, memory, energy, server, aliases, overlay or one of 8 more"},
        {"units..rows", "1", "--set units..rows=1", "`units..rows`: no unit ``; expected array or simd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_diags diags = {0};
        assert_null(set(cases[i].path, cases[i].value, &diags));
        assert_int_equal(diags.count, 1);
        assert_string_equal(diags.kept[0].message, cases[i].message);
        assert_string_equal(diags.kept[0].place.file, cases[i].place);
        assert_int_equal(diags.kept[0].place.line, 0);
        ll_diags_release(&diags);
    }
}

static void all_wrong_overrides_are_complained_of_at_once(void **state)
{
    struct ll_override overrides[] = {{"array.rosw", "1"}, {"clok", "1GHz"}, {"ram.size", "1"}};
    struct ll_diags diags = {0};
    (void)state;
    assert_null(ll_toy_parse(LL_TOY_MACHINE, overrides, 3, &diags));
    assert_int_equal(diags.count, 3);
    ll_diags_release(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_set_by_its_path),
        cmocka_unit_test(what_the_file_leaves_out_can_be_set_too),
        cmocka_unit_test(the_last_of_two_overrides_wins),
        cmocka_unit_test(other_values_keep_their_sources),
        cmocka_unit_test(a_wrong_path_or_value_is_complained_of_where_it_was_typed),
        cmocka_unit_test(all_wrong_overrides_are_complained_of_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
