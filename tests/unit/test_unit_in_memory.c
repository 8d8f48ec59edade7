/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"
#include "shipped_machine.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

/* Tera-operations a second and a watt of a GEMM that fills the arrays of a shipped machine, its unit
 * changed. */
struct rates {
    double tops, tops_per_w;
};

typedef void change(struct ll_in_memory *array);

static void nothing(struct ll_in_memory *array)
{
    (void)array;
}

/* vectors: as many as make the edges of the step not matter. */
static struct rates rates_of(const char *stem, enum ll_dtype dtype, change *changed, uint64_t n, uint64_t k)
{
    enum { VECTORS = 1 << 14 };
    struct ll_machine *machine = ll_shipped_machine(stem);
    struct ll_in_memory *array = &machine->units[0].in_memory;
    struct ll_work work = gemm_work(dtype, 1, VECTORS, n, k);
    work.a_bytes = work.b_bytes = work.c_bytes = 1; /* the macro alone */
    struct ll_cost cost;
    const char *trouble;
    changed(array);
    struct ll_in_memory_steps full = ll_in_memory_steps(array, dtype, (double)array->rows, 1);
    full = ll_in_memory_steps(array, dtype, (double)array->rows, full.weights);
    array->macs[dtype] = (double)array->rows * full.weights / full.cycles;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, &work, &cost, &trouble));
    double joules = ll_cost_compute_j(machine, &work, &cost);
    struct rates rates = {(double)work.flops / cost.compute_s * 1e-12, (double)work.flops / joules * 1e-12};
    ll_machine_free(machine);
    return rates;
}

static void without_data_path(struct ll_in_memory *array)
{
    array->add_j = 0;
}

static void at_higher_voltage(struct ll_in_memory *array)
{
    array->add_j = 0;
    array->cell_j = 20.4e-12 / 2304;
    array->convert_j = 3.56e-12;
    array->slice_cycles *= 0.874 / 2.185;
}

static void inputs_of_2(struct ll_in_memory *array)
{
    array->input_bits[LL_BOOL] = 2;
}

static void inputs_of_4(struct ll_in_memory *array)
{
    array->input_bits[LL_BOOL] = 4;
}

/* Jia et al., JSSC 2020, tables I and II and figure 10: 0.874 TOPS and 400 TOPS/W of single bits, 192 at
 * 1.2 V by the energies of that voltage, both without the data path behind the array; 0.437 and 0.2185 TOPS
 * of inputs of 2 and 4 bits. */
static void the_macro_of_jia_is_as_published(void **state)
{
    (void)state;
    assert_near(rates_of("cim_jia_2020", LL_BOOL, nothing, 256, 2304).tops, 0.874, 0.01);
    assert_near(rates_of("cim_jia_2020", LL_BOOL, inputs_of_2, 256, 2304).tops, 0.437, 0.01);
    assert_near(rates_of("cim_jia_2020", LL_BOOL, inputs_of_4, 256, 2304).tops, 0.2185, 0.01);
    assert_near(rates_of("cim_jia_2020", LL_BOOL, without_data_path, 256, 2304).tops_per_w, 400, 0.01);
    assert_near(rates_of("cim_jia_2020", LL_BOOL, at_higher_voltage, 256, 2304).tops_per_w, 192, 0.01);
}

static void at_6(struct ll_in_memory *array)
{
    array->slice_j = 5.8376e-12; /* figure 13a, results of 6 */
}

/* Sinangil et al., JSSC 2021, table I: 0.3724 TOPS (64 x 16 in 5.5 ns); 262.3 TOPS/W of results of 15, 351
 * of 6, by the energies of figure 13. */
static void the_macro_of_sinangil_is_as_published(void **state)
{
    (void)state;
    struct rates rates = rates_of("cim_sinangil_2021", LL_INT4, nothing, 16, 64);
    assert_near(rates.tops, 0.3724, 0.01);
    assert_near(rates.tops_per_w, 262.3, 0.01);
    assert_near(rates_of("cim_sinangil_2021", LL_INT4, at_6, 16, 64).tops_per_w, 351.0, 0.01);
}

/* Wang et al., VLSI 2022, table III and figure 23: 0.3 TOPS and 32.0 TOPS/W at 0.7 V, where the energies
 * are those of 1.0 V by the square of the voltage. */
static void the_macro_of_wang_is_as_published(void **state)
{
    (void)state;
    struct rates rates = rates_of("cim_wang_2022", LL_INT8, nothing, 16, 64);
    assert_near(rates.tops, 0.3, 0.02);
    assert_near(rates.tops_per_w, 31.998, 0.05);
}

static uint64_t pulses, result_bits;

/* An input of 2^(bits - 1) - 1 pulses, a result of so many bits: a step of 0.3 us for the sign and each. */
static void neurons(struct ll_in_memory *array)
{
    array->dac_bits = 1;
    array->input_bits[LL_INT4] = (double)pulses;
    array->conversion_cycles = 30 * (double)(result_bits + 1);
}

/* Wan et al., Nature 2022, figure 12c, digitised by CiMLoop's authors: TOPS of 48 cores, by bits of inputs
 * and results. */
static void the_cores_of_neurram_are_as_published(void **state)
{
    static const struct {
        uint64_t pulses, bits;
        double tops;
    } points[] = {{1, 3, 2.12231}, {1, 4, 1.79},   {3, 5, 1.1654},
                  {7, 6, 0.74387}, {15, 7, 0.452}, {31, 8, 0.2608}};
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        pulses = points[i].pulses;
        result_bits = points[i].bits;
        assert_near(rates_of("cim_neurram_2022", LL_INT4, neurons, 128, 256).tops, points[i].tops, 0.1);
    }
    assert_near(rates_of("cim_neurram_2022", LL_INT4, nothing, 128, 256).tops, 0.74387, 0.07);
}

/* Shafiee et al., ISCA 2016: 479 GOPS/mm2 of 85.4 mm2 in 16 bits (recalled, not re-checked); ISSCC 2022
 * 15.5: 1.20 TOPS. */
static void rates_of_isaac_and_a_digital_macro_are_as_published(void **state)
{
    (void)state;
    assert_near(rates_of("cim_isaac_2016", LL_I16, nothing, 16 * 128, 128 * 126).tops, 0.479 * 85.4, 0.02);
    assert_near(rates_of("cim_digital_2022", LL_INT8, nothing, 6 * 8, 32 * 8).tops, 1.20, 0.01);
}

/* An array of 8 rows and 8 columns of single bits: weights of 4 bits in 4 columns, two of them side by
 * side. */
static struct ll_unit small(void)
{
    struct ll_unit unit = {
        .name = "array", .model = LL_UNIT_IN_MEMORY, .count = 2, .clock_hz = 1e9, .efficiency = 1};
    unit.in_memory = (struct ll_in_memory){.rows = 8,
                                           .columns = 8,
                                           .sets = 1,
                                           .cell_bits = 1,
                                           .cells = 1,
                                           .dac_bits = 2,
                                           .columns_per_adc = 4,
                                           .slice_cycles = 3,
                                           .conversion_cycles = 5,
                                           .write_cycles = 7};
    unit.in_memory.weight_bits[LL_INT4] = 4;
    return unit;
}

static struct ll_kernel_config config(const struct ll_unit *unit, uint64_t m, uint64_t n, uint64_t k)
{
    struct ll_kernel_config way;
    struct ll_work work = gemm_work(LL_INT4, 1, m, n, k);
    struct ll_task task = ll_task_of(&work, LL_INT4);
    assert_true(ll_unit_model(LL_UNIT_IN_MEMORY)->way(unit, &task, 0, &way));
    return way;
}

/* By hand. Two slices of 3 cycles, each with 4 conversions in turn: 2 * 3 + 2 * 4 * 5. */
static void cycles_are_those_counted_by_hand(void **state)
{
    (void)state;
    struct ll_unit unit = small();
    assert_near(config(&unit, 6, 2, 8).cycles, 8 * 7 + 3 * 46, 1e-12); /* two arrays, three vectors each */
    assert_near(config(&unit, 6, 4, 8).cycles, 8 * 7 + 6 * 46, 1e-12); /* a tile each */
    assert_near(config(&unit, 6, 4, 24).cycles, 3 * (8 * 7 + 6 * 46), 1e-12); /* three tiles each */
    unit.in_memory.rows_at_once = 4;
    assert_near(config(&unit, 6, 4, 8).cycles, 8 * 7 + 6 * 92, 1e-12);
    unit.in_memory.rows_at_once = 0;
    unit.in_memory.pipelined = true;
    assert_near(config(&unit, 6, 4, 8).cycles, 8 * 7 + 6 * 40, 1e-12);
    unit.in_memory.converts = LL_CONVERTS_SUMS;
    assert_near(config(&unit, 6, 4, 8).cycles, 8 * 7 + 6 * 20, 1e-12);
    unit.in_memory.columns_per_adc = 0;
    assert_near(config(&unit, 6, 4, 8).cycles, 8 * 7 + 6 * 6, 1e-12);
}

/* 6 vectors of 8 inputs, two slices each, on 4 weights of 4 cells in two tiles. */
static void energy_is_that_counted_by_hand(void **state)
{
    (void)state;
    struct ll_unit unit = small();
    struct ll_in_memory *array = &unit.in_memory;
    array->cell_j = 1;
    assert_near(config(&unit, 6, 4, 8).array_j, 6 * 2 * 8 * 16, 1e-12);
    array->cell_j = 0, array->drive_j = 1;
    assert_near(config(&unit, 6, 4, 8).array_j, 6 * 2 * 8 * 2, 1e-12);
    array->drive_j = 0, array->convert_j = 1;
    assert_near(config(&unit, 6, 4, 8).array_j, 6 * 2 * 16, 1e-12);
    assert_near(config(&unit, 6, 4, 12).array_j, 2 * 6 * 2 * 16,
                1e-12); /* the second tile of k has sums of its own */
    array->convert_j = 0, array->add_j = 1;
    assert_near(config(&unit, 6, 4, 8).array_j, 6 * 2 * 4, 1e-12);
    array->add_j = 0, array->slice_j = 1;
    assert_near(config(&unit, 6, 4, 8).array_j, 6 * 2 * 2, 1e-12);
    array->slice_j = 0, array->write_j = 1;
    assert_near(config(&unit, 6, 4, 8).array_j, 8 * 16, 1e-12);
    assert_near(config(&unit, 6, 2, 8).array_j, 2 * 8 * 8, 1e-12); /* two arrays have the same weights */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_macro_of_jia_is_as_published),
        cmocka_unit_test(the_macro_of_sinangil_is_as_published),
        cmocka_unit_test(the_macro_of_wang_is_as_published),
        cmocka_unit_test(the_cores_of_neurram_are_as_published),
        cmocka_unit_test(rates_of_isaac_and_a_digital_macro_are_as_published),
        cmocka_unit_test(cycles_are_those_counted_by_hand),
        cmocka_unit_test(energy_is_that_counted_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
