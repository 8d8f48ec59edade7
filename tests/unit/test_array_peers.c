/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of the machine files against what Timeloop and ZigZag have for the same mappings
 * (tests/peers/timeloop_*.csv, zigzag_layers.csv, whose first lines name sources and tolerances). */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array/machine.h"
#include "sim/array/notation.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

enum { MOST_BYTES = 1 << 20, MOST_COLUMNS = 16 };

/* A table of tests/peers, row by row. */
struct table {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_csv csv;
    const char *head[MOST_COLUMNS];
    size_t columns, count;
    const struct ll_csv_field *row;
};

static bool next_row(struct table *t)
{
    t->row = ll_csv_next(&t->csv, &t->count);
    return t->row != NULL;
}

static void open_table(const char *path, struct table *t)
{
    struct ll_contents contents;
    *t = (struct table){0};
    assert_int_equal(ll_read_whole(path, MOST_BYTES, &t->arena, &contents), LL_OK);
    t->csv = (struct ll_csv){.file = path,
                             .at = contents.bytes,
                             .end = contents.bytes + contents.length,
                             .arena = &t->arena,
                             .diags = &t->diags};
    do
        assert_true(next_row(t));
    while (t->row[0].text[0] == '#');
    for (size_t i = 0; i < t->count && i < MOST_COLUMNS; i++)
        t->head[t->columns++] = t->row[i].text;
}

static void close_table(struct table *t)
{
    ll_diags_release(&t->diags);
    ll_arena_release(&t->arena);
}

static const char *text_of(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->columns && i < t->count; i++)
        if (!strcmp(t->head[i], name))
            return t->row[i].text;
    fail_msg("no column %s", name);
    return NULL;
}

static double number_of(const struct table *t, const char *name)
{
    return ll_strtod(text_of(t, name), NULL);
}

/* A machine of hwconfigs and its array. */
static struct ll_machine *read_array(const char *stem, enum ll_dtype *dtype, struct ll_array *array)
{
    char path[128];
    struct ll_diags diags = {0};
    snprintf(path, sizeof path, "hwconfigs/accelerators/%s.yaml", stem);
    struct ll_machine *machine = ll_machine_read(path, NULL, NULL, 0, &diags);
    if (!machine)
        fail_msg("%s cannot be read", path);
    ll_diags_release(&diags);
    uint64_t unit = ll_array_find(machine);
    assert_true(unit < machine->unit_count);
    for (*dtype = 0; machine->units[unit].array.macs[*dtype] == 0;)
        ++*dtype;
    *array = ll_array_of(machine, unit, *dtype);
    return machine;
}

static void parse(const struct ll_array *array, const char *problem_text, const char *mapping_text,
                  struct ll_array_problem *problem, struct ll_array_mapping *mapping)
{
    struct ll_str complaint = {0};
    if (!ll_array_problem_parse(problem_text, problem, &complaint) ||
        !ll_array_mapping_parse(array, problem, mapping_text, mapping, &complaint))
        fail_msg("%s: %s", mapping_text, complaint.text);
}

/* Torchvision pads so that a stride times the result's side is the image's; ZigZag does not move padding. */
static void leave_out_padding(struct ll_array_problem *problem)
{
    struct ll_array_operand *image = &problem->operand[LL_OPERAND_A];
    for (int r = 0; r < image->ranks; r++)
        if (image->rank[r].terms == 2 && problem->of[image->rank[r].dim[1]] > 1)
            image->rank[r].extent = image->rank[r].step[0] * problem->of[image->rank[r].dim[0]];
}

/* What a layer of ZigZag's costs by the mapping beside it. */
static void cost_layer(const struct table *t, struct ll_array_cost *cost)
{
    char stem[64], problem_text[400], mapping_text[600];
    struct ll_array array;
    struct ll_array_problem problem;
    struct ll_array_mapping mapping;
    enum ll_dtype dtype;
    snprintf(stem, sizeof stem, "zigzag_%s", text_of(t, "machine"));
    snprintf(problem_text, sizeof problem_text, "%s bits=%s ; %s", text_of(t, "loops"),
             text_of(t, "bits_W_I_O_Ofinal"), text_of(t, "stride_relations"));
    snprintf(mapping_text, sizeof mapping_text, "%s ; %s", text_of(t, "temporal_inner_to_outer"),
             text_of(t, "spatial"));
    struct ll_machine *machine = read_array(stem, &dtype, &array);
    parse(&array, problem_text, mapping_text, &problem, &mapping);
    leave_out_padding(&problem);
    ll_array_evaluate(&array, &problem, &mapping, cost);
    assert_true(cost->fits && cost->utilization <= 1);
    ll_machine_free(machine);
}

static void layers_take_the_cycles_and_energy_that_zigzag_counts(void **state)
{
    struct table t;
    unsigned rows = 0;
    (void)state;
    for (open_table("tests/peers/zigzag_layers.csv", &t); next_row(&t); rows++) {
        struct ll_array_cost cost;
        cost_layer(&t, &cost);
        double cycles[] = {cost.compute_cycles + cost.stall_cycles, cost.load_cycles, cost.drain_cycles,
                           cost.cycles};
        static const char *const of[] = {"cycles_compute_incl_stall", "cycles_onload", "cycles_offload",
                                         "cycles_total"};
        for (int i = 0; i < 4; i++)
            if (fabs(cycles[i] - number_of(&t, of[i])) > 0.5)
                fail_msg("%s, %s: %s %.10g", text_of(&t, "machine"), text_of(&t, "layer"), of[i], cycles[i]);
        assert_near(cost.energy_j * 1e12, number_of(&t, "energy_pj"), 1e-4);
    }
    assert_int_equal(rows, 26);
    close_table(&t);
}

/* Within the limits of ZigZag's search an array in memory takes ZigZag's energy of ResNet-18. Its cycles
 * differ by what docs/accuracy.md has. */
static void an_array_in_memory_takes_the_energy_of_zigzag_by_its_limits(void **state)
{
    struct table t;
    double layers = 0, cycles = 0, energy_j = 0;
    (void)state;
    for (open_table("tests/peers/zigzag_dimc.csv", &t); next_row(&t);) {
        struct ll_array_cost cost;
        double many = number_of(&t, "layers");
        cost_layer(&t, &cost);
        layers += many;
        cycles += many * cost.cycles;
        energy_j += many * cost.energy_j;
    }
    close_table(&t);
    print_message("cycles %+.2f %%, energy %+.3f %%\n", 100 * (cycles / 5681000 - 1),
                  100 * (energy_j * 1e12 / 4726170712.83 - 1));
    assert_int_equal(layers, 21);
    assert_near(energy_j * 1e12, 4726170712.83, 1e-3);
    assert_near(cycles, 5681000, 0.125);
}

/* Which machine a case of the exercises is on. */
static const struct {
    const char *name, *stem;
} cases[] = {{"ex_simba_like", "timeloop_simba_like"},
             {"ex_simple_output_stationary", "timeloop_simple_output_stationary"},
             {"tut_timeloop+accelergy_intmac", "timeloop_eyeriss_intmac"},
             {"tut_00-model-conv1d-1level", "timeloop_conv1d_1level"},
             {"tut_01-model-conv1d-2level_os", "timeloop_conv1d_2level"},
             {"tut_02-model-conv1d+oc-2level_no-tiling", "timeloop_conv1d_2level"},
             {"tut_02-model-conv1d+oc-2level_tiling", "timeloop_conv1d_2level"},
             {"tut_03-model-conv1d+oc-3level_no-bypass", "timeloop_conv1d_3level"},
             {"tut_04-model-conv1d+oc-3levelspatial_cp", "timeloop_conv1d_3level_spatial"},
             {"tut_05-mapper-conv1d+oc-3level_baked", "timeloop_conv1d_3level"},
             {"tut_05-mapper-conv1d+oc-3level_null", "timeloop_conv1d_3level"},
             {"tut_06-mapper-convlayer-eyeriss", "timeloop_eyeriss"},
             {"tut_02_interface_and_design_space_exploration_2024", "timeloop_design_space_2024"}};

static int store_of(const struct ll_array *array, const char *name)
{
    for (int s = 0; s < array->stores; s++)
        if (!strcmp(array->store[s].name, name))
            return s;
    fail_msg("no store %s", name);
    return -1;
}

/* Each row of the levels of a case. */
static void check_levels(const char *name, const struct ll_array *array, const struct ll_array_cost *cost)
{
    struct table t;
    unsigned rows = 0;
    for (open_table("tests/peers/timeloop_levels.csv", &t); next_row(&t);) {
        if (strcmp(text_of(&t, "case"), name) != 0)
            continue;
        int s = store_of(array, text_of(&t, "component"));
        char letter = text_of(&t, "operand")[0];
        enum ll_operand o = letter == 'I' ? LL_OPERAND_A : letter == 'W' ? LL_OPERAND_B : LL_OPERAND_C;
        const struct ll_array_moves *m = cost->moves[o][s];
        double energy_j = 0;
        for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++)
            energy_j += m[way].energy_j;
        assert_near(m[LL_ARRAY_READ].words, number_of(&t, "reads_or_computes"), 1e-12);
        assert_near(m[LL_ARRAY_FILL].words, number_of(&t, "fills"), 1e-12);
        assert_near(m[LL_ARRAY_UPDATE].words, number_of(&t, "updates"), 1e-12);
        assert_near(energy_j * 1e12, number_of(&t, "energy_pj"), 3e-3);
        assert_near(array->store[s].instances, number_of(&t, "instances"), 0);
        assert_near(cost->used[s], number_of(&t, "used_instances"), 0);
        rows++;
    }
    assert_in_range(rows, 3, 9);
    close_table(&t);
}

static void cases_have_the_accesses_and_cycles_of_timeloop(void **state)
{
    struct table t;
    unsigned rows = 0;
    (void)state;
    for (open_table("tests/peers/timeloop_cases.csv", &t); next_row(&t); rows++) {
        struct ll_array array;
        struct ll_array_problem problem;
        struct ll_array_mapping mapping;
        struct ll_array_cost cost;
        enum ll_dtype dtype;
        size_t c = 0;
        while (c < sizeof cases / sizeof *cases && strcmp(cases[c].name, text_of(&t, "case")) != 0)
            c++;
        assert_in_range(c, 0, sizeof cases / sizeof *cases - 1);
        struct ll_machine *machine = read_array(cases[c].stem, &dtype, &array);
        parse(&array, text_of(&t, "problem"), text_of(&t, "mapping"), &problem, &mapping);
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            problem.operand[o].bits = problem.operand[o].sum_bits = (double)ll_dtype_bits(dtype);
        ll_array_evaluate(&array, &problem, &mapping, &cost);
        assert_near(cost.cycles, number_of(&t, "cycles"), 0);
        assert_near((cost.energy_j - cost.leak_j) * 1e12, number_of(&t, "energy_pj_sum_of_levels"), 3e-3);
        assert_true(cost.fits && cost.utilization <= 1);
        check_levels(cases[c].name, &array, &cost);
        ll_machine_free(machine);
    }
    assert_int_equal(rows, 13);
    close_table(&t);
}

/* A case's machine without its own figures of energy, by those of a technology and LPDDR4 instead. */
static struct ll_machine *by_components(const char *stem, const char *node)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    char text[256], path[LL_MAX_REGISTERS + LL_MAX_LEVELS][2][96];
    struct ll_override set[2 * (LL_MAX_REGISTERS + LL_MAX_LEVELS)];
    struct ll_diags diags = {0};
    size_t count = 0;
    struct ll_array array;
    enum ll_dtype dtype;
    struct ll_machine *own = read_array(stem, &dtype, &array);
    const struct ll_array_unit *unit = &own->units[ll_array_find(own)].array;
    for (uint64_t i = 0; i < unit->register_count + own->level_count; i++)
        for (int way = 0; way < 2; way++) {
            bool inside = i < unit->register_count;
            const char *name = inside ? unit->registers[i].name : own->levels[i - unit->register_count].name;
            if (!inside && !own->levels[i - unit->register_count].accesses_given)
                continue;
            snprintf(path[i][way], sizeof path[i][way], "%s.%s.accesses.%s_pj",
                     inside ? "units.array.registers" : "memory", name, way ? "write" : "read");
            set[count++] = (struct ll_override){path[i][way], "0"};
        }
    int length = snprintf(text, sizeof text,
                          "inherits: [accelerators/%s, technology/%s, technology/lpddr4]\n", stem, node);
    struct ll_machine *machine =
        ll_machine_parse(text, (size_t)length, "components.yaml", folders, set, count, &diags);
    if (!machine)
        fail_msg("%s: %s", stem, diags.kept_count ? diags.kept[0].message : "");
    ll_diags_release(&diags);
    ll_machine_free(own);
    return machine;
}

/* The same mappings with energies that follow from sizes, widths and a technology. Printed for each case;
 * docs/accuracy.md has them. */
static void components_of_our_own_come_near_to_the_energy_of_timeloop(void **state)
{
    static const struct {
        const char *name, *stem, *node;
        double most; /* of the error, as docs/accuracy.md has it */
    } rows[] = {
        {"ex_simba_like", "timeloop_simba_like", "n45", 0.01},
        {"ex_simple_output_stationary", "timeloop_simple_output_stationary", "n45", 0.155},
        {"tut_timeloop+accelergy_intmac", "timeloop_eyeriss_intmac", "n45", 0.095},
        {"tut_06-mapper-convlayer-eyeriss", "timeloop_eyeriss", "n32_cacti", 0.085},
        {"tut_02_interface_and_design_space_exploration_2024", "timeloop_design_space_2024", "n45", 0.285}};
    struct table t;
    size_t checked = 0;
    (void)state;
    for (open_table("tests/peers/timeloop_cases.csv", &t); next_row(&t);) {
        size_t r = 0;
        while (r < sizeof rows / sizeof *rows && strcmp(rows[r].name, text_of(&t, "case")) != 0)
            r++;
        if (r == sizeof rows / sizeof *rows)
            continue;
        struct ll_array_problem problem;
        struct ll_array_mapping mapping;
        struct ll_array_cost cost;
        struct ll_machine *machine = by_components(rows[r].stem, rows[r].node);
        uint64_t u = ll_array_find(machine);
        enum ll_dtype dtype = 0;
        while (machine->units[u].array.macs[dtype] == 0)
            ++dtype;
        const struct ll_array array = ll_array_of(machine, u, dtype);
        parse(&array, text_of(&t, "problem"), text_of(&t, "mapping"), &problem, &mapping);
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            problem.operand[o].bits = problem.operand[o].sum_bits = (double)ll_dtype_bits(dtype);
        ll_array_evaluate(&array, &problem, &mapping, &cost);
        double theirs = number_of(&t, "energy_pj_sum_of_levels"), ours = (cost.energy_j - cost.leak_j) * 1e12;
        print_message("%s: %+.0f %%\n", rows[r].name, 100 * (ours / theirs - 1));
        assert_true(fabs(ours / theirs - 1) <= rows[r].most);
        checked++;
        ll_machine_free(machine);
    }
    assert_int_equal(checked, sizeof rows / sizeof *rows);
    close_table(&t);
}

/* 0.33 pJ a byte of 1 KiB, half of it at a quarter of the size: a technology's figure, by hand. */
static void registers_without_figures_cost_what_the_technology_says(void **state)
{
    static const char text[] =
        "name: plain\nclock: 1GHz\nunits:\n"
        "  - {name: pe, model: array, axes: 4x4, macs: {int8: 1}, runs: [matrix, conv], registers: [{name: "
        "large, size: 1KiB},"
        " {name: small, size: 256B, accesses: {width: 16}}]}\n"
        "  - {name: simd, model: vector, lanes: 4, flops: {int8: 1, i16: 1, i32: 1, f32: 1, bool: 1}}\n"
        "memory: [{name: dram, size: 1GiB, bandwidth: 8B/cycle}]\n"
        "energy: {mac_pj: {int8: 0.3}, on_chip_pj: 0.33, off_chip_pj: 64}\n";
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *machine = ll_machine_parse(text, sizeof text - 1, "plain", NULL, NULL, 0, &diags);
    assert_non_null(machine);
    const struct ll_array array = ll_array_of(machine, 0, LL_INT8);
    assert_int_equal(array.stores, 3);
    assert_near(array.store[0].read_j, 0.33e-12, 1e-12);
    assert_near(array.store[1].read_j, 0.33e-12 * 0.5 * 2, 1e-12);
    assert_near(array.store[2].read_j, 64e-12, 1e-12);
    assert_near(array.store[0].instances, 16, 0);
    /* DRAM moves 64 bits a cycle, in both directions together. */
    assert_int_equal(array.store[2].ports, 1);
    assert_near(array.store[2].port[0].width_bits, 64, 1e-12);
    ll_machine_free(machine);
    ll_diags_release(&diags);
}

/* Sixteen lines of 32 bits: 32 registers of 0.01 pJ, and at each line 4 bits of address, or those that are
 * given, of 0.001 pJ. */
static void register_files_compare_the_bits_of_address_that_they_say(void **state)
{
    static const char text[] =
        "name: files\nclock: 1GHz\nunits:\n"
        "  - {name: pe, model: array, axes: 4, macs: {int8: 1}, runs: [matrix, conv], registers: [{name: "
        "needed, size: 64B, accesses: {width: 32}},"
        " {name: all, size: 64B, decode_bits: 32, accesses: {width: 32}}]}\n"
        "  - {name: simd, model: vector, lanes: 4, flops: {int8: 1, i16: 1, i32: 1, f32: 1, bool: 1}}\n"
        "memory: [{name: dram, size: 1GiB, bandwidth: 8B/cycle}]\n"
        "energy: {mac_pj: {int8: 0.3}, register_pj_per_bit: 0.01, decode_pj_per_bit: 0.001, off_chip_pj: "
        "64}\n";
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *machine = ll_machine_parse(text, sizeof text - 1, "files", NULL, NULL, 0, &diags);
    assert_non_null(machine);
    const struct ll_array array = ll_array_of(machine, 0, LL_INT8);
    assert_near(array.store[0].read_j, 0.32e-12 + 16 * 4 * 0.001e-12, 1e-12);
    assert_near(array.store[1].read_j, 0.32e-12 + 16 * 32 * 0.001e-12, 1e-12);
    ll_machine_free(machine);
    ll_diags_release(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_take_the_cycles_and_energy_that_zigzag_counts),
        cmocka_unit_test(an_array_in_memory_takes_the_energy_of_zigzag_by_its_limits),
        cmocka_unit_test(cases_have_the_accesses_and_cycles_of_timeloop),
        cmocka_unit_test(components_of_our_own_come_near_to_the_energy_of_timeloop),
        cmocka_unit_test(registers_without_figures_cost_what_the_technology_says),
        cmocka_unit_test(register_files_compare_the_bits_of_address_that_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
