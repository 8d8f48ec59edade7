/* SPDX-License-Identifier: Apache-2.0 */
/* What data sheets and papers print of the machines that the program ships with, beside their peaks: caches
 * and memories, links, latencies, energy and power. */
#include "check.h"

#include "shipped_machine.h"
#include "toy_machine.h"

#include "sim/cost/cost.h"

static const struct ll_level *level_named(const struct ll_machine *machine, const char *name)
{
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (strcmp(machine->levels[l].name, name) == 0)
            return &machine->levels[l];
    return NULL;
}

/* Sizes and rates of single instances; 0 where no rate is printed. AMD's white paper on CDNA 3: 16 channels
 * of 128 bytes a cycle for each of eight dies, 34.4 TB/s, before 256 MB for all; channels of 64 bytes before
 * MI200, 16 on Vega 10 (Linux, gfx_v9_0.c), 32 on MI100 and MI200 (rocm.docs.amd.com). Xeons of these
 * generations have 2.5 MiB of cache a core. Of TPU v5e JAX has 17.2e9 bytes, of later ones Google's pages
 * have GiB; of B200 and later what nvidia-smi shows. */
static void caches_and_memories_are_those_of_the_documents(void **state)
{
    const struct {
        const char *stem, *level;
        double size_bytes, bandwidth_Bps;
        uint64_t instances;
    } printed[] = {
        {"mi25", "l2", 0x1p22, 16 * 64 * 1.5e9, 1},
        {"vega_fe", "l2", 0x1p22, 16 * 64 * 1.6e9, 1},
        {"b200_sxm", "l2", 126 * 0x1p20, 0, 1},
        {"b200_sxm", "hbm3e", 180 * 0x1p30, 8e12, 1},
        {"gb200", "hbm3e", 189471 * 0x1p20, 8e12, 1},
        {"b300_sxm", "hbm3e", 275040 * 0x1p20, 8e12, 1},
        {"gb300", "hbm3e", 284208 * 0x1p20, 8e12, 1},
        {"h20", "hbm3", 96 * 0x1p30, 4e12, 1},
        {"l40s", "l2", 96 * 0x1p20, 5.2e12 * 2.52 / 2.49, 1},
        {"rtx_4090", "l2", 72 * 0x1p20, 0, 1},
        {"rtx_pro_6000", "gddr7", 97887 * 0x1p20, 1792e9, 1},
        {"jetson_orin", "lpddr5", 64 * 0x1p30, 204.8e9, 1},
        {"jetson_thor", "lpddr5x", 128 * 0x1p30, 273e9, 1},
        {"mi100", "l2", 0x1p23, 32 * 64 * 1.502e9, 1},
        {"mi210", "l2", 0x1p23, 32 * 128 * 1.7e9, 1},
        {"mi250_gcd", "l2", 0x1p23, 32 * 128 * 1.7e9, 1},
        {"mi300x", "l2", 0x1p22, 34.4e12 / 8, 8},
        {"mi300x", "infinity", 0x1p28, 17.2e12, 1},
        {"mi250", "l2", 0x1p23, 32 * 128 * 1.7e9, 2},
        {"arc_b60", "l2", 18 * 0x1p20, 0, 1},
        {"max_1550", "l2", 408 * 0x1p20, 0, 1},
        {"wse_3", "sram", 44e9, 21e15, 1},
        {"groq_lpu", "sram", 230e6, 80e12, 1},
        {"mi325x", "l2", 0x1p22, 34.4e12 / 8, 8},
        {"mi325x", "hbm3e", 256 * 0x1p30, 6e12, 1},
        {"mi355x", "l2", 0x1p22, 0, 8},
        {"mi355x", "hbm3e", 288 * 0x1p30, 8e12, 1},
        {"xeon_e5_2680v4", "l3", 14 * 2.5 * 0x1p20, 0, 1},
        {"e5_2630v3_2s", "l3", 16 * 2.5 * 0x1p20, 0, 1},
        {"xeon_phi_3120a", "gddr5", 6 * 0x1p30, 240e9, 1},
        {"tpu_v5e", "hbm", 0x1p34, 819e9, 1},
        {"tpu_v5p", "vmem", 2 * 0x1p26, 0, 1},
        {"tpu_v5p", "hbm", 95 * 0x1p30, 2765e9, 1},
        {"tpu_v6e", "hbm", 0x1p35, 1638e9, 1},
        {"tpu_v7_chiplet", "vmem", 0x1p26, 0, 1},
        {"tpu_v7_chiplet", "hbm", 96 * 0x1p30, 3690e9, 1},
        {"tpu_v7", "hbm", 192 * 0x1p30, 7380e9, 1},
        {"gaudi_2", "sram", 48 * 0x1p20, 0, 1},
        {"gaudi_3", "sram", 96 * 0x1p20, 12.8e12, 1},
        {"gaudi_3", "hbm2e", 128 * 0x1p30, 3670e9, 1},
        {"trainium_1", "sbuf", 24 * 0x1p20, 0, 2},
        {"trainium_2", "sbuf", 28 * 0x1p20, 0, 8},
        {"trainium_2", "hbm", 96 * 0x1p30, 2900e9, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        struct ll_machine *machine = ll_shipped_machine(printed[i].stem);
        const struct ll_level *level = level_named(machine, printed[i].level);
        if (!level || (double)level->size_bytes != printed[i].size_bytes)
            fail_msg("%s: %s is not of %g bytes", printed[i].stem, printed[i].level, printed[i].size_bytes);
        if (printed[i].bandwidth_Bps > 0)
            assert_near(level->bandwidth_Bps, printed[i].bandwidth_Bps, 0.01);
        assert_int_equal(ll_machine_instances(machine, (uint64_t)(level - machine->levels)),
                         printed[i].instances);
        ll_machine_free(machine);
    }
}

/* Of a multiply-add: 5 cycles on Zen and Zen 2, 4 on Zen 3 (anandtech.com), 5 on Broadwell, 4 on Skylake. */
static void products_on_processors_fill_for_two_latencies(void **state)
{
    static const struct {
        const char *stem;
        double cycles;
    } latencies[] = {{"ryzen_v1605b", 5},  {"epyc_7742", 5},      {"ryzen_9_5950x", 4},
                     {"ryzen_7_5700g", 4}, {"xeon_e5_2680v4", 5}, {"i7_6700k", 4}};
    (void)state;
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++) {
        struct ll_machine *machine = ll_shipped_machine(latencies[i].stem);
        assert_near(machine->units[0].matrix.fill_cycles, 2 * latencies[i].cycles, 1e-9);
        ll_machine_free(machine);
    }
}

/* Of single GPUs, in one direction: half of what data sheets print. Of a TPU one of its four or six links,
 * which the two chiplets of v7 share. */
static void links_are_those_of_the_documents(void **state)
{
    static const struct {
        const char *stem, *link;
        double both_ways_Bps;
    } printed[] = {{"dgx_2", "nvlink", 300e9},
                   {"hgx_a100", "nvlink", 600e9},
                   {"archive/vidur_h100", "nvlink", 900e9},
                   {"hgx_h800", "nvlink", 400e9},
                   {"dgx_b200", "nvlink", 1800e9},
                   {"dgx_b200", "infiniband", 2 * 50e9},
                   {"dgx_b300", "infiniband", 2 * 100e9},
                   {"gb200_nvl72", "nvlink", 1800e9},
                   {"gb200_nvl72", "infiniband", 2 * 50e9},
                   {"gb300_nvl72", "infiniband", 2 * 100e9},
                   {"l40s_8", "pcie", 64e9},
                   {"rtx_5090_8", "pcie", 128e9},
                   {"mi300x_8", "xgmi", 128e9},
                   {"mi325x_8", "xgmi", 128e9},
                   {"mi355x_8", "xgmi", 153e9},
                   {"a100_pcie_pairs", "nvlink", 600e9},
                   {"a100_pcie_pairs", "pcie", 64e9},
                   {"a40_pairs", "nvlink", 112.5e9},
                   {"h100_pcie_pairs", "nvlink", 600e9},
                   {"h100_pcie_pairs", "pcie", 128e9},
                   {"tpu_v4", "ici", 100e9},
                   {"tpu_v5e", "ici", 400e9 / 4},
                   {"tpu_v5p", "ici", 1200e9 / 6},
                   {"tpu_v6e", "ici", 800e9 / 4},
                   {"tpu_v7_chiplet", "ici", 1200e9 / 6 / 2},
                   {"tpu_v7", "ici", 1200e9 / 6},
                   {"trainium_1_16", "neuronlink", 384e9 / 4},
                   {"trainium_2_16", "neuronlink", 1024e9 / 4},
                   {"gaudi_2_8", "roce", 600e9 / 8},
                   {"gaudi_3_8", "roce", 1200e9 / 8},
                   {"tpu_v7_chiplet", "d2d", 6 * 1200e9 / 6}};
    (void)state;
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        struct ll_machine *machine = ll_shipped_machine(printed[i].stem);
        uint64_t n = 0;
        while (n < machine->network_count && strcmp(machine->networks[n].name, printed[i].link) != 0)
            n++;
        if (n == machine->network_count)
            fail_msg("%s has no link %s", printed[i].stem, printed[i].link);
        assert_near(machine->networks[n].bandwidth_Bps, printed[i].both_ways_Bps / 2, 0.02);
        ll_machine_free(machine);
    }
}

/* A multiplication of 8 bits takes 0.2 pJ at 45 nm (Horowitz, ISSCC 2014) and 0.07 at 7 (Jouppi et al., ISCA
 * 2021), other nodes by their tables' factors; one of 16 bits four times that. Each with a sum of 32 bits. */
static void products_of_integers_are_summed_in_32_bits(void **state)
{
    static const struct {
        const char *node;
        double multiply_pj;
    } nodes[] = {{"technology/n65", 1.23 * 0.2},  {"technology/n45", 0.2}, {"technology/n28", 0.762 * 0.2},
                 {"technology/n16", 0.553 * 0.2}, {"technology/n7", 0.07}, {"technology/n5", 0.82 * 0.07}};
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct ll_machine *machine = ll_toy_inheriting(nodes[i].node);
        assert_non_null(machine);
        double multiply_j = 1e-12 * nodes[i].multiply_pj, sum_j = machine->energy.op_j[LL_I32];
        assert_near(machine->energy.mac_j[LL_INT8], multiply_j + sum_j, 0.01);
        assert_near(machine->energy.mac_j[LL_I16], 4 * multiply_j + sum_j, 0.01);
        ll_machine_free(machine);
    }
}

static double multiply_add_j(const char *inherited)
{
    struct ll_machine *machine = ll_toy_inheriting(inherited);
    assert_non_null(machine);
    double energy_j = machine->energy.mac_j[LL_F32];
    ll_machine_free(machine);
    return energy_j;
}

/* A40's die is made in 8 nm of a 10 nm class: its lanes take the geometric mean of their tables' figures. */
static void lanes_of_8_nm_take_what_lies_between_16_and_7(void **state)
{
    double mean_j = sqrt(multiply_add_j("technology/n16, technology/simt_n16") *
                         multiply_add_j("technology/n7, technology/simt_n7"));
    struct ll_machine *machine = ll_shipped_machine("a40");
    (void)state;
    assert_near(machine->energy.mac_j[LL_F32], mean_j, 0.005);
    ll_machine_free(machine);
}

/* Matrix units that take f64 spare its instructions: 1.22 times the node's bare arithmetic, as for f16. */
static void products_of_f64_cost_what_the_unit_takes_that_computes_them(void **state)
{
    static const struct {
        const char *stem, *node;
    } machines[] = {{"a100_sxm_80gb", "technology/n7"},
                    {"h100_sxm", "technology/n5"},
                    {"mi210", "technology/n7"},
                    {"mi250_gcd", "technology/n7"},
                    {"mi300x", "technology/n5"}};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct ll_machine *toy = ll_toy_inheriting(machines[i].node);
        struct ll_machine *machine = ll_shipped_machine(machines[i].stem);
        assert_non_null(toy);
        assert_near(machine->energy.mac_j[LL_F64], 1.22 * toy->energy.mac_j[LL_F64], 0.005);
        ll_machine_free(toy);
        ll_machine_free(machine);
    }
}

/* What an H100 was seen to take for a product in bf16, all that moves with it included, over what bare
 * arithmetic takes at its node, others take at theirs; int8 takes half of that. */
static void matrix_units_of_gpus_take_what_one_was_seen_to_take(void **state)
{
    static const char *const nodes[] = {"16", "7", "5"};
    const double seen = 1.25 / 0.484;
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        char bare[40], tensor[80];
        snprintf(bare, sizeof bare, "technology/n%s", nodes[i]);
        snprintf(tensor, sizeof tensor, "technology/n%s, technology/tensor_n%s", nodes[i], nodes[i]);
        struct ll_machine *toy = ll_toy_inheriting(bare), *machine = ll_toy_inheriting(tensor);
        assert_non_null(toy);
        assert_non_null(machine);
        double product_j = seen * toy->energy.mac_j[LL_BF16];
        assert_near(machine->energy.mac_j[LL_F16], product_j, 0.005);
        assert_near(machine->energy.mac_j[LL_INT8], product_j / 2, 0.03);
        ll_machine_free(toy);
        ll_machine_free(machine);
    }
}

/* Volta's and Turing's tensor cores take no bf16, so lanes compute it. */
static void products_of_bf16_cost_an_instruction_where_lanes_compute_them(void **state)
{
    static const char *const stems[] = {"v100_sxm_16gb", "titan_v", "t4", "rtx_2080ti"};
    (void)state;
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        struct ll_machine *machine = ll_shipped_machine(stems[i]);
        assert_near(machine->energy.mac_j[LL_BF16], machine->energy.mac_j[LL_F32], 1e-9);
        ll_machine_free(machine);
    }
}

static double share_of_the_lanes(const char *stem, const char *name)
{
    struct ll_machine *machine = ll_shipped_machine(stem);
    uint64_t u = 0;
    while (u + 1 < machine->unit_count && strcmp(machine->units[u].name, name) != 0)
        u++;
    double share = machine->units[u].efficiency;
    ll_machine_free(machine);
    return share;
}

/* One die on two boards, of which one was measured. */
static void products_sustain_the_same_on_both_vega_boards(void **state)
{
    static const char *const lanes[] = {"fma", "fma_batched"};
    (void)state;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        assert_near(share_of_the_lanes("mi25", lanes[i]), share_of_the_lanes("vega_fe", lanes[i]), 1e-9);
}

/* The name of the unit that a large product of f32 is computed by, and the share of its rate. */
static double share_of_products(const char *stem, char *name, size_t size)
{
    struct ll_machine *machine = ll_shipped_machine(stem);
    const struct ll_work work = {.kind = LL_WORK_GEMM,
                                 .dtype = LL_F32,
                                 .flops = UINT64_C(1) << 37,
                                 .a_bytes = UINT64_C(1) << 26,
                                 .b_bytes = UINT64_C(1) << 26,
                                 .c_bytes = UINT64_C(1) << 26,
                                 .gemm = {1, 4096, 4096, 4096}};
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, &work, &cost, &trouble));
    snprintf(name, size, "%s", machine->units[cost.unit].name);
    double share = machine->units[cost.unit].efficiency;
    ll_machine_free(machine);
    return share;
}

/* GTX 1080 was measured in whole networks alone: products of its library are those of GTX 1080 Ti. */
static void products_of_two_dies_of_a_generation_are_the_same_librarys(void **state)
{
    (void)state;
    char one[32], other[32];
    assert_near(share_of_products("gtx_1080", one, sizeof one),
                share_of_products("gtx_1080ti", other, sizeof other), 1e-9);
    assert_string_equal(one, other);
}

/* The board's power, of variants of a chip that of the variant whose clock the file has. */
static void power_is_limited_to_the_thermal_design(void **state)
{
    static const struct {
        const char *stem;
        double design_w;
    } designs[] = {{"m40", 250},
                   {"titan_x_maxwell", 250},
                   {"titan_x_pascal", 250},
                   {"titan_xp", 250},
                   {"gtx_960", 120},
                   {"gtx_1080", 180},
                   {"gtx_1080ti", 250},
                   {"quadro_p4000", 105},
                   {"p4", 75},
                   {"p100_pcie_16gb", 250},
                   {"v100_pcie_32gb", 250},
                   {"v100_sxm_32gb", 300},
                   {"titan_v", 250},
                   {"t4", 70},
                   {"rtx_2080ti", 260},
                   {"a100_pcie_40gb", 250},
                   {"a100_pcie_80gb", 300},
                   {"a100_sxm_80gb", 400},
                   {"a40", 300},
                   {"l4", 72},
                   {"h100_sxm", 700},
                   {"h100_pcie", 350},
                   {"h200_sxm", 700},
                   {"h800", 700},
                   {"h20", 400},
                   {"b200_sxm", 1000},
                   {"b300_sxm", 1100},
                   {"gb200", 1200},
                   {"gb300", 1400},
                   {"a10", 150},
                   {"a30", 165},
                   {"rtx_3090", 350},
                   {"l40s", 350},
                   {"rtx_4090", 450},
                   {"rtx_5090", 575},
                   {"rtx_pro_6000", 600},
                   {"mi25", 300},
                   {"vega_fe", 300},
                   {"mi100", 300},
                   {"mi210", 300},
                   {"mi250_gcd", 560 / 2},
                   {"mi250", 560},
                   {"arc_b60", 200},
                   {"max_1550", 600},
                   {"mi325x", 1000},
                   {"mi355x", 1400},
                   {"gaudi_2", 600},
                   {"gaudi_3", 900},
                   {"mi300x", 750}};
    (void)state;
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        struct ll_machine *machine = ll_shipped_machine(designs[i].stem);
        if (machine->energy.limit_w != designs[i].design_w)
            fail_msg("%s: %g W, designed for %g", designs[i].stem, machine->energy.limit_w,
                     designs[i].design_w);
        ll_machine_free(machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_and_memories_are_those_of_the_documents),
        cmocka_unit_test(products_on_processors_fill_for_two_latencies),
        cmocka_unit_test(links_are_those_of_the_documents),
        cmocka_unit_test(products_of_integers_are_summed_in_32_bits),
        cmocka_unit_test(lanes_of_8_nm_take_what_lies_between_16_and_7),
        cmocka_unit_test(products_of_f64_cost_what_the_unit_takes_that_computes_them),
        cmocka_unit_test(matrix_units_of_gpus_take_what_one_was_seen_to_take),
        cmocka_unit_test(products_of_bf16_cost_an_instruction_where_lanes_compute_them),
        cmocka_unit_test(products_sustain_the_same_on_both_vega_boards),
        cmocka_unit_test(products_of_two_dies_of_a_generation_are_the_same_librarys),
        cmocka_unit_test(power_is_limited_to_the_thermal_design),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
