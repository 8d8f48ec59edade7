/* SPDX-License-Identifier: Apache-2.0 */
/* What components take by their description, held against published figures of such components. */
#include "check.h"

#include "sim/machine/components.h"
#include "toy_machine.h"

/* The formula of the paper evaluated by hand (in Python), and what ISAAC says of its converter of 8 bits,
 * 1.67 pJ (Shafiee et al., ISCA 2016, as Accelergy's library has it), which the survey does not have. */
static void a_conversion_follows_the_survey(void **state)
{
    static const struct {
        double bits, rate_hz, nm, pj, um2;
    } points[] = {{8, 1.2e9, 32, 1.84613, 6310.56},
                  {8, 1e8, 28, 1.33143, 3198.77},
                  {6, 1e9, 32, 1.06395, 5178.05},
                  {10, 1e7, 65, 12.5221, 9521.82},
                  {4, 2e8, 7, 0.0530015, 348.808}};
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        assert_near(ll_adc_conversion_j(points[i].bits, points[i].rate_hz, points[i].nm),
                    points[i].pj * 1e-12, 1e-4);
        assert_near(ll_adc_area_m2(points[i].bits, points[i].rate_hz, points[i].nm), points[i].um2 * 1e-12,
                    1e-4);
    }
    assert_near(ll_adc_conversion_j(8, 1.28e9, 32), 1.667e-12, 0.16);
    assert_true(ll_adc_conversion_j(3, 1e8, 28) == ll_adc_conversion_j(4, 1e8, 28));
}

/* Brahms has a DAC of 8 bits at 40 nm that takes 0.291 pJ, and a register of Aladdin's has 5.98 um^2 (both as
 * Accelergy's library has them). */
static void a_dac_takes_by_its_bits(void **state)
{
    (void)state;
    assert_near(ll_dac_drive_j(8, 40), 0.291e-12, 0.3);
    assert_near(ll_dac_drive_j(8, 28) / ll_dac_drive_j(2, 28), 4, 1e-12);
    assert_near(ll_register_m2(45), 5.98e-12, 1e-12);
}

/* CACTI's cell of 10 F x 14.6 F and two wires of 2.5 F to each side for a second port. */
static void a_second_port_doubles_a_memory_cell(void **state)
{
    (void)state;
    assert_near(ll_memory_port_growth(0), 1, 1e-12);
    assert_near(ll_memory_port_growth(1), 1, 1e-12);
    assert_near(ll_memory_port_growth(2), 15 * 19.6 / 146, 1e-12);
    assert_near(ll_memory_port_growth(3), 20 * 24.6 / 146, 1e-12);
}

/* Scaled from 45 nm to 32, which has a file of its own. */
static void figures_of_one_node_scale_to_those_of_another(void **state)
{
    (void)state;
    struct ll_machine *scaled = ll_toy_inheriting("technology/n45"),
                      *listed = ll_toy_inheriting("technology/n32_cacti");
    struct ll_register file = {.size_bytes = 64};
    assert_near(scaled->energy.figures_nm, 45, 1e-12);
    scaled->energy.node_nm = 32;
    assert_near(ll_machine_mac_j(scaled, LL_I16), ll_machine_mac_j(listed, LL_I16), 2e-3);
    assert_near(ll_machine_level_j(scaled, 0), ll_machine_level_j(listed, 0), 3e-3);
    assert_near(ll_machine_register_j(scaled, &file, 16), ll_machine_register_j(listed, &file, 16), 2e-3);
    scaled->energy.node_nm = 45;
    assert_true(ll_machine_mac_j(scaled, LL_F32) == scaled->energy.mac_j[LL_F32]);
    for (double nm = 200; nm > 2; nm -= 1) { /* smaller never takes more */
        struct ll_node_scaling s = ll_node_scaling(nm, nm - 1);
        assert_true(s.logic <= 1 && s.memory <= 1 && s.logic_area <= 1 && s.memory_area <= 1);
    }
    ll_machine_free(scaled);
    ll_machine_free(listed);
}

/* By the root of what cells of two ports grow. */
static void memory_takes_by_size_and_ports(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_inheriting("technology/n45");
    struct ll_level *level = &machine->levels[0];
    level->size_bytes = 64 << 10;
    double whole_j = ll_machine_level_j(machine, 0);
    assert_near(whole_j, machine->energy.on_chip_j_per_byte * 8, 1e-12);
    level->accesses.cell_ports = 2;
    assert_near(ll_machine_level_j(machine, 0), whole_j * sqrt(15 * 19.6 / 146), 1e-12);
    machine->area_given = true;
    machine->area.sram_m2_per_byte = 1e-12;
    assert_near(ll_machine_level_area_m2(machine, 0), 64 * 1024 * 1e-12 * 15 * 19.6 / 146, 1e-12);
    ll_machine_free(machine);
}

/* 20 % of 1.627 fF/um switched at 1 V over 270 um, as wide as an element of Eyeriss is: 0.088 pJ; and a
 * router of ISAAC, 20.74 pJ for 256 bits at 32 nm, behind 2 mm of wire. */
static void wires_take_by_their_length(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_inheriting("technology/n45"),
                      *smaller = ll_toy_inheriting("technology/n32_cacti");
    struct ll_core_link link = {.length_mm = 2};
    machine->units[0] = (struct ll_unit){.model = LL_UNIT_ARRAY, .count = 2};
    struct ll_array_unit *array = &machine->units[0].array;
    array->axes = (struct ll_extents){.at = {12, 14}, .count = 2};
    array->macs[LL_I16] = 1;
    assert_true(ll_machine_hop_j(machine, 0) == 0);
    machine->area_given = true;
    machine->area.pe_m2[LL_I16] = 270e-6 * 270e-6;
    assert_near(ll_machine_hop_j(machine, 0), 0.0878e-12, 2e-3);
    array->hop_j = 1e-12;
    assert_near(ll_machine_hop_j(machine, 0), 1e-12, 1e-12);
    assert_near(ll_machine_core_link_j(smaller, &link), (8 * 2 * 0.2 * 1.627 * 0.81 + 20.74 / 32) * 1e-12,
                2e-3);
    link.j_per_byte = 1e-12;
    assert_near(ll_machine_core_link_j(smaller, &link), 1e-12, 1e-12);
    ll_machine_free(machine);
    ll_machine_free(smaller);
}

/* DDR4-2400 by hand: eight devices read at 1.2 V * (135 - 43) mA for four cycles of 1.2 GHz, for 64 bytes. A
 * stream of LPDDR4 takes 8 pJ a bit in Accelergy's table. */
static void dram_takes_by_its_currents_and_state(void **state)
{
    (void)state;
    struct ll_dram_energy energy;
    assert_true(ll_dram_energy(ll_dram_find("ddr4-2400"), &energy));
    assert_near(energy.read_j, 8 * 1.2 * 0.092 * 4 / 1.2e9 / 64, 1e-9);
    assert_near(energy.activate_j, 8 * 1.2 * (0.048 * 55 - 0.043 * 39 - 0.034 * 16) / 1.2e9, 1e-9);
    double refresh_w = 8 * 1.2 * (0.25 - 0.043) * 420 / 9364;
    assert_near(energy.active_w, 8 * 1.2 * 0.043 + refresh_w, 1e-9);
    assert_near(energy.rest_w[LL_DRAM_STANDBY], 8 * 1.2 * 0.034 + refresh_w, 1e-9);
    assert_near(energy.rest_w[LL_DRAM_SELF_REFRESH], 8 * 1.2 * 0.031, 1e-9);
    assert_near(ll_dram_stream_j(ll_dram_find("lpddr4x"), LL_DRAM_STANDBY), 64e-12, 0.1);
    assert_near(ll_dram_stream_j(ll_dram_find("hbm2"), LL_DRAM_POWER_DOWN), 31.4e-12, 1e-9);
    assert_false(ll_dram_energy(ll_dram_find("ddr5-4800"), &energy));
}

#define DEVICE(ram)                                                                                          \
    "name: Toy\nclock: 1GHz\nunits: [{name: simd, model: vector, lanes: 16, flops: {f32: 1}}]\n"             \
    "memory:\n  - {name: sram, size: 1MiB, bandwidth: 64B/cycle}\n  - {name: ram, size: 16GiB, " ram "}\n"   \
    "energy: {mac_pj: {f32: 1}}\n"

/* All that a memory that streams for a second takes is the same whatever it does at rest. */
static void a_level_of_dram_takes_what_its_kind_does(void **state)
{
    (void)state;
    struct ll_machine *standing = ll_toy_machine(DEVICE("dram: ddr4-2400, channels: 2")),
                      *asleep = ll_toy_machine(DEVICE("dram: ddr4-2400, channels: 2, rest: self_refresh"));
    assert_true(ll_machine_static_w(asleep) < ll_machine_static_w(standing));
    double Bps = ll_machine_memory_Bps(standing);
    assert_near(ll_machine_static_w(standing) + Bps * ll_machine_level_j(standing, 1),
                ll_machine_static_w(asleep) + Bps * ll_machine_level_j(asleep, 1), 1e-9);
    standing->energy.off_chip_j_per_byte = 1e-12;
    assert_near(ll_machine_level_j(standing, 1), 1e-12, 1e-12);
    assert_near(ll_machine_static_w(standing) + 1, 1, 1e-12);
    ll_machine_free(standing);
    ll_machine_free(asleep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversion_follows_the_survey),
        cmocka_unit_test(a_dac_takes_by_its_bits),
        cmocka_unit_test(a_second_port_doubles_a_memory_cell),
        cmocka_unit_test(figures_of_one_node_scale_to_those_of_another),
        cmocka_unit_test(memory_takes_by_size_and_ports),
        cmocka_unit_test(wires_take_by_their_length),
        cmocka_unit_test(dram_takes_by_its_currents_and_state),
        cmocka_unit_test(a_level_of_dram_takes_what_its_kind_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
