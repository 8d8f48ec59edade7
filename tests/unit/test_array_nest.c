/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings on arrays, counted as Timeloop counts them in the reference outputs of its exercises
 * (timeloop-accelergy-exercises 2d55108, MIT: 03-model-conv1d+oc-3level, 04-model-conv1d+oc-3levelspatial,
 * 06-mapper-convlayer-eyeriss, intmac) and as ZigZag 3.8.5 (MIT) counts gemm_l1 of its tests. Machines by
 * hand. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "sim/array/nest.h"
#include "sim/array/notation.h"

enum { A = LL_OPERAND_A, B = LL_OPERAND_B, C = LL_OPERAND_C };

static struct ll_array_store store(const char *name, const char *holds, uint32_t serves, double words,
                                   double block)
{
    struct ll_array_store s = {.name = name,
                               .size_bits = 8 * words,
                               .serves = serves,
                               .instances = 1,
                               .width_bits = 8 * block,
                               .min_bits = 8 * block,
                               .coalesces = true,
                               .read_j = 1,
                               .write_j = 1,
                               .update_j = 1};
    s.holds[A] = strchr(holds, 'I') != NULL;
    s.holds[B] = strchr(holds, 'W') != NULL;
    s.holds[C] = strchr(holds, 'O') != NULL;
    return s;
}

static struct ll_array_cost evaluate(const struct ll_array *array, const char *problem_text,
                                     const char *mapping_text)
{
    struct ll_array_problem problem;
    struct ll_array_mapping mapping;
    struct ll_str complaint = {0};
    struct ll_array_cost cost = {.cycles = 0};
    if (!ll_array_problem_parse(problem_text, &problem, &complaint) ||
        !ll_array_mapping_parse(array, &problem, mapping_text, &mapping, &complaint))
        fail_msg("%s", complaint.text);
    ll_array_evaluate(array, &problem, &mapping, &cost);
    return cost;
}

struct row {
    int store, operand;
    double reads, fills, updates;
};

static void check_rows(const struct ll_array_cost *cost, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct ll_array_moves *m = cost->moves[rows[i].operand][rows[i].store];
        double got[] = {m[LL_ARRAY_READ].words, m[LL_ARRAY_FILL].words, m[LL_ARRAY_UPDATE].words};
        double expected[] = {rows[i].reads, rows[i].fills, rows[i].updates};
        for (int k = 0; k < 3; k++)
            if (fabs(got[k] - expected[k]) > 1e-9 * expected[k])
                fail_msg("row %zu, store %d, operand %d: %g, %g, %g", i, rows[i].store, rows[i].operand,
                         got[0], got[1], got[2]);
    }
}

static void three_levels_are_counted_as_timeloop_does(void **state)
{
    (void)state;
    struct ll_array array = {.stores = 3, .rules = ll_array_rules_timeloop, .mac_j = 1};
    array.store[0] = store("RegisterFile", "IWO", 0, 64, 1);
    array.store[1] = store("GlobalBuffer", "IWO", 0, 262144, 8);
    array.store[2] = store("MainMemory", "IWO", 0, INFINITY, 32);
    struct ll_array_cost cost =
        evaluate(&array, "K=32 R=3 P=16",
                 "@MainMemory[Weights:96 (96) Inputs:18 (18) Outputs:512 (512)] "
                 "@GlobalBuffer[Weights:96 (96) Inputs:18 (18) Outputs:512 (512)] K16 P16 "
                 "@RegisterFile[Weights:6 (6) Inputs:3 (3) Outputs:2 (2)] K2 R3");
    static const struct row rows[] = {{0, B, 1536, 96, 0}, {0, A, 1536, 288, 0}, {0, C, 1024, 0, 1536},
                                      {1, B, 96, 96, 0},   {1, A, 288, 18, 0},   {1, C, 0, 0, 512},
                                      {2, B, 96, 0, 0},    {2, A, 18, 0, 0},     {2, C, 0, 0, 512}};
    check_rows(&cost, rows, sizeof rows / sizeof *rows);
    assert_near(cost.cycles, 1536, 0);
    /* Lines of eight words: 96 and 288 reads are 12 and 36 of them, 18 words that come in at once three. */
    assert_near(cost.moves[B][1][LL_ARRAY_READ].accesses, 12, 0);
    assert_near(cost.moves[A][1][LL_ARRAY_READ].accesses, 36, 0);
    assert_near(cost.moves[A][1][LL_ARRAY_FILL].accesses, 3, 0);
    assert_near(cost.moves[A][2][LL_ARRAY_READ].accesses, 1, 0);
    /* Nothing is kept inside: each multiplication reads, and 1,024 updates meet a sum. */
    cost = evaluate(&array, "K=32 R=3 P=16",
                    "@MainMemory[Weights Inputs Outputs] @GlobalBuffer[] @RegisterFile[] P16 R3 K32");
    static const struct row none[] = {{2, B, 1536, 0, 0}, {2, A, 1536, 0, 0}, {2, C, 1024, 0, 1536}};
    check_rows(&cost, none, sizeof none / sizeof *none);
}

static void sums_of_elements_side_by_side_are_reduced_on_their_way(void **state)
{
    (void)state;
    struct ll_array array = {.stores = 3, .axes = 1, .axis = {16}, .rules = ll_array_rules_timeloop};
    array.store[0] = store("RegisterFile", "IWO", 0, 64, 1);
    array.store[1] = store("GlobalBuffer", "IWO", 0, 262144, 8);
    array.store[2] = store("MainMemory", "IWO", 1, INFINITY, 32);
    struct ll_array_cost cost = evaluate(
        &array, "C=32 K=32 R=3 P=16",
        "@MainMemory[Weights:3072 (3072) Inputs:576 (576) Outputs:512 (512)] @inter_PE_spatial[] C16x "
        "@GlobalBuffer[Weights:192 (192) Inputs:36 (36) Outputs:512 (512)] C2 K32 R3 "
        "@RegisterFile[Weights:1 (1) Inputs:16 (16) Outputs:16 (16)] P16");
    static const struct row rows[] = {{0, B, 3072, 192, 0}, {0, A, 3072, 1152, 0}, {0, C, 2560, 512, 3072},
                                      {1, B, 192, 192, 0},  {1, A, 1152, 36, 0},   {1, C, 512, 0, 1024},
                                      {2, B, 3072, 0, 0},   {2, A, 576, 0, 0},     {2, C, 0, 0, 512}};
    check_rows(&cost, rows, sizeof rows / sizeof *rows);
    assert_near(cost.cycles, 3072, 0);
    assert_near(cost.moves[A][1][LL_ARRAY_FILL].accesses, 16 * 5, 0);
}

static void eyeriss_is_counted_as_timeloop_does(void **state)
{
    (void)state;
    struct ll_array array = {.stores = 5, .axes = 2, .axis = {14, 12}, .rules = ll_array_rules_timeloop};
    array.store[0] = store("psum_spad", "O", 0, 16, 1);
    array.store[1] = store("weights_spad", "W", 0, 384, 2);
    array.store[2] = store("ifmap_spad", "I", 0, 24, 2);
    array.store[3] = store("shared_glb", "IO", 3, 131072, 8);
    array.store[4] = store("DRAM", "IWO", 3, INFINITY, 8);
    struct ll_array_cost cost = evaluate(
        &array, "C=128 Hdilation=1 Hstride=1 M=256 N=1 P=56 Q=56 R=3 S=3 Wdilation=1 Wstride=1",
        "@DRAM[Weights:294912 (294912) Inputs:430592 (430592) Outputs:802816 (802816)] Q4 C4 P7 M4 "
        "@shared_glb[Inputs:5120 (5120) Outputs:7168 (7168)] M2 C4 P8 @inter_PE_column_spatial[] Q14x "
        "@inter_PE_spatial[] M4y S3y @ifmap_spad[Inputs:24 (24)] @weights_spad[Weights:192 (192)] R3 C8 "
        "@psum_spad[Outputs:8 (8)] M8");
    static const struct row rows[] = {{0, C, 5490688, 215040, 5505024},
                                      {1, B, 5505024, 688128, 0},
                                      {2, A, 5505024, 286720, 0},
                                      {3, A, 12042240, 573440, 0},
                                      {3, C, 12042240, 2408448, 12845056},
                                      {4, B, 8257536, 0, 0},
                                      {4, A, 573440, 0, 0},
                                      {4, C, 2408448, 0, 3211264}};
    check_rows(&cost, rows, sizeof rows / sizeof *rows);
    assert_near(cost.cycles, 5505024, 0);
    assert_near(cost.utilization, 1, 1e-12);
}

static struct ll_array_port port(double bits, double least, unsigned a, unsigned b, unsigned c)
{
    return (struct ll_array_port){bits, least, {(uint8_t)a, (uint8_t)b, (uint8_t)c}};
}

/* 8,191 cycles and 511,350 pJ: the shared port of sums stalls every other cycle. */
static void a_gemm_takes_the_cycles_and_energy_of_zigzag(void **state)
{
    (void)state;
    const unsigned read = 1u << LL_ARRAY_READ, fill = 1u << LL_ARRAY_FILL, update = 1u << LL_ARRAY_UPDATE,
                   drain = 1u << LL_ARRAY_DRAIN;
    struct ll_array array = {
        .stores = 2, .axes = 3, .axis = {8, 8, 8}, .rules = ll_array_rules_zigzag, .mac_j = 0.04};
    array.store[0] = (struct ll_array_store){.name = "reg_O",
                                             .size_bits = 32,
                                             .holds = {[C] = true},
                                             .serves = 2,
                                             .instances = 64,
                                             .port = {port(32, 32, 0, 0, read), port(32, 32, 0, 0, drain),
                                                      port(32, 32, 0, 0, fill), port(32, 32, 0, 0, update)},
                                             .ports = 4,
                                             .read_j = 0.02,
                                             .write_j = 0.02,
                                             .update_j = 0.02};
    array.store[1] = (struct ll_array_store){
        .name = "l1",
        .size_bits = 4194304,
        .holds = {true, true, true},
        .serves = 7,
        .instances = 1,
        .port = {port(512, 64, read, 0, 0), port(512, 64, 0, read, 0), port(2048, 64, 0, 0, read | update)},
        .ports = 3,
        .read_j = 22.9,
        .write_j = 52.01,
        .update_j = 52.01};
    struct ll_array_cost cost =
        evaluate(&array, "D0=128 D1=128 D2=128 bits=8/8/32/8",
                 "O: - / D1=16 D2=16 D0=16 | I: D1=16 D2=16 D0=16 | W: D1=16 D2=16 D0=16 ; "
                 "D1:D0=8; D2:D2=8; D3:D1=8");
    for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++)
        assert_near(cost.moves[C][0][way].accesses, 262144, 0);
    assert_near(cost.moves[C][1][LL_ARRAY_READ].accesses, 4096, 0);
    assert_near(cost.moves[C][1][LL_ARRAY_UPDATE].accesses, 4096, 0);
    assert_near(cost.moves[B][1][LL_ARRAY_READ].accesses, 4096, 0);
    assert_near(cost.moves[A][1][LL_ARRAY_READ].accesses, 256, 0);
    assert_near(cost.compute_cycles + cost.stall_cycles, 8190, 0);
    assert_near(cost.cycles, 8191, 0);
    assert_near(cost.energy_j, 511349.76, 1e-9);
}

/* 64 multiplications of 4 cycles; a port that takes 2 cycles for the word of each. Where transfers go on
 * in all cycles of a multiplication, nothing waits; ZigZag lets each but the first wait for a cycle. */
static void transfers_hide_behind_multiplications_of_several_cycles(void **state)
{
    (void)state;
    struct ll_array array = {.stores = 2, .macs_per_cycle = 0.25, .rules = ll_array_rules_leadline};
    array.store[0] = store("rf", "W", 0, 4, 1);
    array.store[1] = store("dram", "IWO", 0, INFINITY, 1);
    array.store[1].port[0] = port(4, 4, 0, 1u << LL_ARRAY_READ, 0);
    array.store[1].ports = 1;
    const char *const mapping = "@dram N64 @rf[weight]";
    struct ll_array_cost cost = evaluate(&array, "M=1 N=64 K=1", mapping);
    assert_near(cost.compute_cycles, 256, 0);
    assert_near(cost.stall_cycles, 0, 0);
    array.rules = ll_array_rules_zigzag;
    cost = evaluate(&array, "M=1 N=64 K=1", mapping);
    assert_near(cost.compute_cycles, 256, 0);
    assert_near(cost.stall_cycles, 63, 0);
    /* A word that takes 8 cycles is waited for. */
    array.rules = ll_array_rules_leadline;
    array.store[1].port[0] = port(1, 1, 0, 1u << LL_ARRAY_READ, 0);
    cost = evaluate(&array, "M=1 N=64 K=1", mapping);
    assert_near(cost.stall_cycles, 4 * 63, 0);
}

/* AccelForge's own test of hops (tests/network/test_network.py): 4 elements of 2 multipliers. */
static void copies_hop_from_element_to_element(void **state)
{
    (void)state;
    struct ll_array array = {
        .stores = 2, .axes = 2, .axis = {2, 4}, .rules = ll_array_rules_leadline, .hop_j = 1};
    array.rules.latches = false;
    array.store[0] = store("element", "IWO", 1, INFINITY, 1);
    array.store[1] = store("memory", "IWO", 3, INFINITY, 1);
    struct ll_array_cost cost = evaluate(&array, "M=4 K=4 N=2", "@memory M4 K4:D2 @element N2:D1");
    /* Inputs M x K: distinct along D2, 8 bits each of 4 transfers: 4 * (0 + 1 + 2 + 3) * 8, and copies along D1:
     * 4 * 4 * 8; weights K x N once: 2 * 6 * 8 along D2, read each cycle of 4 along D1: 4 * 4 * 1 * 8; results
     * along D1 4 * 4 * 8 * 1, reduced along D2: 2 words, 3 hops, 4 times. */
    double inputs = 4 * 6 * 8 + 4 * 4 * 8, weights = 2 * 6 * 8 + 4 * 4 * 8,
           results = 4 * 4 * 8 + 4 * 2 * 3 * 8;
    assert_near(cost.network_j, inputs + weights + results, 1e-12);
}

static void mappings_read_back_as_they_were_written(void **state)
{
    (void)state;
    struct ll_array array = {.stores = 2, .axes = 2, .axis = {16, 16}, .rules = ll_array_rules_leadline};
    array.store[0] = store("rf", "IWO", 0, 64, 1);
    array.store[1] = store("dram", "IWO", 3, INFINITY, 1);
    static const char text[] =
        "@dram[input weight output] K4 OX8 OY4 K16:D1 C8:D2 @rf[weight output] FY3 FX3";
    static const char lists[] =
        "O: FX=3 FY=3 / OY=4 OX=8 K=4 | W: FX=3 FY=3 OY=4 / OX=8 K=4 | I: FX=3 FY=3 / OY=4 OX=8 K=4 "
        "; D1:K=16 ; D2:C=8";
    static const char *const both[] = {text, lists};
    struct ll_array_problem problem;
    struct ll_str complaint = {0};
    assert_true(ll_array_problem_parse("K=64 C=8 OX=8 OY=4 FX=3 FY=3", &problem, &complaint));
    for (int i = 0; i < 2; i++) {
        struct ll_array_mapping mapping, again;
        struct ll_str written = {0};
        if (!ll_array_mapping_parse(&array, &problem, both[i], &mapping, &complaint))
            fail_msg("%s", complaint.text);
        ll_array_mapping_print(&array, &problem, &mapping, &written);
        if (!ll_array_mapping_parse(&array, &problem, written.text, &again, &complaint))
            fail_msg("%s: %s", written.text, complaint.text);
        assert_string_equal(written.text, both[i]);
        assert_int_equal(mapping.loops, again.loops);
        for (int l = 0; l < mapping.loops; l++)
            assert_true(mapping.loop[l].dim == again.loop[l].dim && mapping.loop[l].by == again.loop[l].by);
        assert_memory_equal(mapping.keeps, again.keeps, sizeof mapping.keeps);
        ll_str_release(&written);
    }
    struct ll_array_mapping mapping;
    assert_false(ll_array_mapping_parse(&array, &problem, "@dram K4 @rf FY3", &mapping, &complaint));
    assert_string_equal(complaint.text, "loops of a dimension do not make up its size");
    ll_str_release(&complaint);
    assert_false(ll_array_mapping_parse(&array, &problem, "@disk K4", &mapping, &complaint));
    assert_string_equal(complaint.text, "`disk`: the array has no store of this name");
    ll_str_release(&complaint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_levels_are_counted_as_timeloop_does),
        cmocka_unit_test(sums_of_elements_side_by_side_are_reduced_on_their_way),
        cmocka_unit_test(eyeriss_is_counted_as_timeloop_does),
        cmocka_unit_test(a_gemm_takes_the_cycles_and_energy_of_zigzag),
        cmocka_unit_test(transfers_hide_behind_multiplications_of_several_cycles),
        cmocka_unit_test(copies_hop_from_element_to_element),
        cmocka_unit_test(mappings_read_back_as_they_were_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
