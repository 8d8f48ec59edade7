/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of layers of experts (but for kernels that multiply rows of experts elsewhere, of which there are
 * fewer where there are more here): tokens are neither lost nor doubled by their spread, more rows are
 * never faster, and more of a resource is never slower, on random grouped GEMMs. */
#include "check.h"
#include "samples.h"

#include "sim/cost/experts.h"
#include "tracer/ir/experts.h"

enum { CASES = 2000, MOST = 64 };

static void random_gpu(struct dice *dice, struct ll_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->unit_count = machine->level_count = machine->software.expert_count = 1;
    machine->units[0] = (struct ll_unit){.name = "tensor",
                                         .model = LL_UNIT_MATRIX,
                                         .count = roll_between(dice, 1, 160),
                                         .clock_hz = 1e9,
                                         .efficiency = 1,
                                         .matrix = {.macs = {[LL_BF16] = 1024, [LL_F8] = 2048}}};
    machine->levels[0] =
        (struct ll_level){.name = "dram", .bandwidth_Bps = roll_real(dice, 1e11, 8e12), .efficiency = 1};
    machine->software.experts[0] =
        (struct ll_expert_kernel){.name = "kernel",
                                  .formats = UINT64_MAX,
                                  .traits = roll_between(dice, 0, (1 << LL_EXPERT_BIT_READS_ALL << 1) - 1) &
                                            ~(uint64_t)LL_EXPERT_WHOLE_TOKENS,
                                  .tiles = {8u << roll_between(dice, 0, 5), 64},
                                  .tile_count = roll_between(dice, 1, 2),
                                  .least_rows = 8 * roll_between(dice, 1, 8),
                                  .launch_s = 1e-5,
                                  .block_s = roll_real(dice, 0, 2e-6),
                                  .compute_efficiency = roll_real(dice, 0.2, 1),
                                  .step_cycles = roll_real(dice, 100, 500),
                                  .unit_Bps = roll_between(dice, 0, 1) ? roll_real(dice, 1e10, 1e11) : 0,
                                  .dram_efficiency = roll_real(dice, 0.5, 1),
                                  .pass_efficiency = roll_real(dice, 0.1, 1)};
}

static struct ll_experts random_layer(struct dice *dice, uint64_t rows[MOST])
{
    struct ll_experts e = {.tokens = roll_size(dice, 10000),
                           .hidden = 128 * roll_between(dice, 1, 64),
                           .inter = 64 * roll_between(dice, 1, 64),
                           .local = roll_between(dice, 1, MOST),
                           .gated = (uint8_t)roll_between(dice, 0, 1),
                           .format = (uint8_t)(roll_between(dice, 0, 1) ? LL_EXPERTS_BF16 : LL_EXPERTS_FP8)};
    e.experts = e.local * roll_between(dice, 1, 4);
    e.top_k = roll_between(dice, 1, e.local < 8 ? e.local : 8);
    for (uint64_t i = 0; i < e.local; i++)
        rows[i] = roll_between(dice, 0, e.tokens);
    rows[0] = rows[0] ? rows[0] : 1;
    ll_experts_of_counts(rows, e.local, &e);
    return e;
}

static struct ll_cost cost_of(const struct ll_machine *machine, const struct ll_experts *e)
{
    struct ll_work work = {.kind = LL_WORK_EXPERTS, .dtype = LL_BF16, .flops = 1, .experts = *e};
    struct ll_cost cost;
    const char *trouble;
    bool launches;
    assert_true(ll_experts_cost(machine, LL_OP_MATMUL, &work, &cost, &launches, &trouble));
    return cost;
}

static double compute_s(const struct ll_machine *machine, const struct ll_experts *e)
{
    return cost_of(machine, e).compute_s;
}

static double time_of(const struct ll_machine *machine, const struct ll_experts *e)
{
    const struct ll_cost cost = cost_of(machine, e);
    return cost.gap_s + cost.apart_s + fmax(cost.compute_s, cost.level_s[0]);
}

static void more_rows_are_never_faster(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        uint64_t rows[MOST], expert;
        random_gpu(&dice, &machine);
        struct ll_experts e = random_layer(&dice, rows), more = e;
        expert = roll_between(&dice, 0, e.local - 1);
        rows[expert] = roll_between(&dice, rows[expert], e.tokens);
        ll_experts_of_counts(rows, e.local, &more);
        claim(time_of(&machine, &e) <= time_of(&machine, &more) * (1 + 1e-12), seed, "more rows are faster");
    }
}

static void more_of_a_resource_is_never_slower(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        uint64_t rows[MOST];
        random_gpu(&dice, &machine);
        const struct ll_experts e = random_layer(&dice, rows);
        double before_s = time_of(&machine, &e);
        switch (roll_between(&dice, 0, 3)) {
        case 0:
            machine.units[0].count += roll_size(&dice, 100);
            break;
        case 1:
            machine.units[0].clock_hz *= 1.5;
            break;
        case 2:
            machine.levels[0].bandwidth_Bps *= 1.5;
            break;
        default:
            machine.units[0].matrix.macs[LL_BF16] *= 2;
            machine.units[0].matrix.macs[LL_F8] *= 2;
        }
        claim(time_of(&machine, &e) <= before_s * (1 + 1e-12), seed, "more of it is slower");
    }
}

/* What has no kernel runs in 16 bits, so it takes as long as experts of 16 bits; with neither it is refused
 * by its name. */
static void a_format_without_kernel_is_no_shortcut(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        uint64_t rows[MOST];
        random_gpu(&dice, &machine);
        struct ll_experts e = random_layer(&dice, rows), wide = e;
        e.format = (uint8_t)roll_between(&dice, 0, LL_EXPERT_FORMAT_COUNT - 1);
        wide.format = LL_EXPERTS_BF16;
        machine.software.experts[0].formats = 1 << LL_EXPERTS_BF16;
        claim(time_of(&machine, &e) == time_of(&machine, &wide), seed, "another time than that of 16 bits");
        struct ll_work work = {.kind = LL_WORK_EXPERTS, .dtype = LL_BF16, .flops = 1, .experts = e};
        machine.software.experts[0].formats = (1 << LL_EXPERT_FORMAT_COUNT) - 1 - (1 << e.format) - 1;
        machine.units[0].matrix.macs[LL_BF16] = 0;
        struct ll_cost cost;
        const char *trouble;
        bool launches;
        assert_false(ll_experts_cost(&machine, LL_OP_MATMUL, &work, &cost, &launches, &trouble));
        claim(trouble && strstr(trouble, ll_expert_format_name((enum ll_expert_format)e.format)), seed,
              "it is not refused by its name");
    }
}

/* The GEMMs of a layer one by one, each by the same tile, are the layer without what is beside them. */
static void gemms_one_by_one_are_the_layer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine;
        random_gpu(&dice, &machine);
        machine.software.experts[0].tile_count = 1;
        uint64_t experts = roll_between(&dice, 1, MOST), each = roll_size(&dice, 1000);
        struct ll_experts layer = {.hidden = 128 * roll_between(&dice, 1, 64),
                                   .inter = 128 * roll_between(&dice, 1, 64)};
        ll_experts_of_gemm(experts, experts, each, &layer);
        struct ll_experts up = layer, down = layer;
        down.hidden = layer.inter;
        down.inter = layer.hidden;
        layer.single = 0;
        double sum_s = compute_s(&machine, &up) + compute_s(&machine, &down);
        claim(fabs(sum_s - compute_s(&machine, &layer)) <= 1e-12 * sum_s, seed, "the sum is not the layer");
    }
}

/* Weights that a kernel expands come in 16 bits with activations, so a unit needs no arithmetic of their
 * type. */
static void a_kernel_that_expands_weights_needs_no_narrow_arithmetic(void **state)
{
    (void)state;
    struct dice dice = {1};
    struct ll_machine machine;
    uint64_t rows[MOST];
    random_gpu(&dice, &machine);
    struct ll_experts e = random_layer(&dice, rows);
    e.format = LL_EXPERTS_NVFP4;
    struct ll_expert_kernel *kernel = &machine.software.experts[0];
    kernel->formats = 1 << LL_EXPERTS_NVFP4 | 1 << LL_EXPERTS_W4A16_MXFP4;
    kernel->traits = LL_EXPERT_WEIGHT_ONLY;
    double nvfp4_s = time_of(&machine, &e);
    e.format = LL_EXPERTS_W4A16_MXFP4;
    assert_true(nvfp4_s >= time_of(&machine, &e)); /* a scale for 16 elements, not 32 */
    machine.units[0].matrix.macs[LL_F8] = 0;
    e.format = LL_EXPERTS_NVFP4;
    assert_true(nvfp4_s == time_of(&machine, &e));
}

/* One device has all rows; of several the hottest has at least its share, and none has more than all
 * tokens. */
static void a_spread_neither_loses_nor_doubles_tokens(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct dice dice = {seed};
        uint64_t devices = 1ull << roll_between(&dice, 0, 3);
        struct ll_experts e = {.tokens = roll_size(&dice, 20000),
                               .experts = devices * roll_between(&dice, 1, 48)};
        e.top_k = roll_between(&dice, 1, e.experts < 10 ? e.experts : 10);
        double skew = roll_between(&dice, 0, 1) ? roll_real(&dice, 0.5, 2) : 0;
        uint64_t all = e.tokens * e.top_k;
        assert_true(ll_experts_spread(skew, devices, &e));
        claim(devices > 1 || e.rows == all, seed, "rows are lost or doubled");
        claim(e.rows <= all && e.rows * devices >= all, seed, "the hottest device is no hottest device");
        claim(e.touched <= e.local && e.tiles[0] >= e.tiles[5] && e.tiles[5] >= e.touched, seed,
              "tiles do not hold their rows");
        claim(e.local_tokens <= e.tokens && e.local_tokens * e.top_k >= e.rows / e.local, seed,
              "rows without tokens");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_rows_are_never_faster),
        cmocka_unit_test(more_of_a_resource_is_never_slower),
        cmocka_unit_test(a_format_without_kernel_is_no_shortcut),
        cmocka_unit_test(gemms_one_by_one_are_the_layer),
        cmocka_unit_test(a_kernel_that_expands_weights_needs_no_narrow_arithmetic),
        cmocka_unit_test(a_spread_neither_loses_nor_doubles_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
