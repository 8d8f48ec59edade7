/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM by a library's kernels is never slower for more of any resource, nor for more of its operands left
 * on the chip, nor is a larger GEMM faster. A failure prints the seed that shows it. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

enum { ROUNDS = 20000 / ONE_IN };

static void random_gemm_kernels(struct dice *dice, struct ll_gemm_kernels *gemm)
{
    *gemm =
        (struct ll_gemm_kernels){.tile_count = roll_between(dice, 1, 6),
                                 .pair_tile_count = roll_between(dice, 0, 4),
                                 .boost = roll_real(dice, 1, 1.2),
                                 .efficiency = roll_real(dice, 0.2, 1),
                                 .min_step_cycles = (double)roll_size(dice, 1000),
                                 .tile_cycles = (double)roll_size(dice, 1000),
                                 .operand_bandwidth = roll_between(dice, 0, 2) ? 128 : 0,
                                 .epilogue_bandwidth = roll_between(dice, 0, 2) ? roll_real(dice, 1, 50) : 0,
                                 .bandwidth_efficiency = roll_real(dice, 0.3, 1),
                                 .dram_efficiency = roll_real(dice, 0.3, 1),
                                 .write_cost = roll_real(dice, 0.5, 2),
                                 .start_s = roll_real(dice, 0, 2e-6),
                                 .split_k_reduce_s = roll_real(dice, 0, 4e-6),
                                 .occupancy = roll_between(dice, 1, 3),
                                 .multicast = roll_between(dice, 1, 4),
                                 .full_rate_side = roll_between(dice, 0, 1) ? 128 : 0};
    for (uint64_t i = 0; i < gemm->tile_count; i++)
        gemm->tiles[i] = (struct ll_tile){16 * roll_between(dice, 1, 16), 16 * roll_between(dice, 1, 16), 64};
    for (uint64_t i = 0; i < gemm->pair_tile_count; i++)
        gemm->pair_tiles[i] = (struct ll_tile){256, 32 * roll_between(dice, 1, 8), 64};
}

/* Units before a cache that all share, and a memory. */
static struct ll_machine random_gpu(struct dice *dice)
{
    struct ll_machine machine = {.name = "gpu", .unit_count = 1, .clock_hz = 1e9, .level_count = 2};
    struct ll_unit *unit = &machine.units[0];
    *unit = (struct ll_unit){.name = "tensor",
                             .model = LL_UNIT_MATRIX,
                             .count = roll_size(dice, 200),
                             .clock_hz = roll_real(dice, 5e8, 3e9),
                             .efficiency = roll_real(dice, 0.3, 1)};
    unit->matrix.macs[LL_F16] = (double)(UINT64_C(256) << roll_between(dice, 0, 5));
    unit->matrix.macs[LL_F8] = 2 * unit->matrix.macs[LL_F16];
    unit->matrix.gemm_given = true;
    random_gemm_kernels(dice, &unit->matrix.gemm);
    machine.levels[0] = (struct ll_level){.name = "l2",
                                          .size_bytes = roll_size(dice, 1 << 27),
                                          .bandwidth_Bps = roll_real(dice, 1e11, 2e13),
                                          .efficiency = roll_real(dice, 0.3, 1)};
    machine.levels[1] = (struct ll_level){.name = "memory",
                                          .size_bytes = UINT64_C(1) << 36,
                                          .bandwidth_Bps = roll_real(dice, 1e11, 8e12),
                                          .efficiency = roll_real(dice, 0.3, 1)};
    if (roll_between(dice, 0, 1)) {
        machine.energy = (struct ll_energy){.mac_j[LL_F16] = roll_real(dice, 1e-13, 3e-12),
                                            .off_chip_j_per_byte = roll_real(dice, 1e-12, 1e-10),
                                            .power_per_clock = roll_real(dice, 1, 3)};
        machine.energy.limit_w = pow(10, roll_real(dice, 1, 3));
        machine.energy.static_w = machine.energy.limit_w * roll_real(dice, 0, 0.5);
    }
    return machine;
}

/* Some machine with more of something. */
static struct ll_machine improved(struct dice *dice, const struct ll_machine *machine)
{
    struct ll_machine better = *machine;
    struct ll_unit *unit = &better.units[0];
    struct ll_gemm_kernels *gemm = &unit->matrix.gemm;
    double more = roll_real(dice, 1, 3);
    double *const grow[] = {&unit->clock_hz,
                            &unit->matrix.macs[LL_F16],
                            &better.levels[0].bandwidth_Bps,
                            &better.levels[1].bandwidth_Bps,
                            &better.energy.limit_w,
                            &gemm->epilogue_bandwidth,
                            &gemm->operand_bandwidth,
                            &gemm->boost};
    double *const shrink[] = {&gemm->min_step_cycles, &gemm->tile_cycles, &gemm->write_cost, &gemm->start_s,
                              &gemm->split_k_reduce_s};
    enum { GROW = sizeof grow / sizeof *grow, SHRINK = sizeof shrink / sizeof *shrink };
    uint64_t which = roll_between(dice, 0, GROW + SHRINK + 3);
    if (which < GROW)
        *grow[which] *= more;
    else if (which < GROW + SHRINK)
        *shrink[which - GROW] /= more;
    else if (which == GROW + SHRINK)
        unit->count += roll_size(dice, 100);
    else if (which == GROW + SHRINK + 1)
        better.levels[0].size_bytes *= 2;
    else if (which == GROW + SHRINK + 2)
        gemm->multicast++;
    else if (gemm->tile_count < LL_MAX_TILES)
        gemm->tiles[gemm->tile_count++] = (struct ll_tile){128, 128, 64};
    return better;
}

/* As a replay does: chosen again where what is found may decide on another kernel. */
static double time_of(const struct ll_machine *machine, const struct ll_work *work,
                      const struct ll_warm_bytes *found)
{
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    const struct ll_cost alone = cost;
    if (ll_cost_is_reuse_sensitive(machine, &cost, found))
        ll_cost_algorithm(machine, LL_OP_MATMUL, work, alone.way, &(struct ll_cache_context){found, &alone},
                          &cost);
    ll_cost_time(machine, &cost, found, &timing);
    return timing.time_s;
}

static void check_no_slower(uint64_t seed, const char *what, double time_s, double than_s)
{
    if (time_s > than_s * (1 + 1e-12))
        fail_msg("seed %llu, %s: %.17g s, before %.17g s", (unsigned long long)seed, what, time_s, than_s);
}

static void nothing_better_makes_a_gemm_slower(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + ROUNDS; seed++) {
        struct dice dice = {seed};
        struct ll_machine machine = random_gpu(&dice);
        struct ll_work work =
            gemm_work(roll_between(&dice, 0, 1) ? LL_F16 : LL_F8, roll_size(&dice, 8), roll_size(&dice, 8192),
                      roll_size(&dice, 8192), roll_size(&dice, 16384));
        struct ll_warm_bytes none = {0}, some = {0}, more = {0};
        some.saved_bytes[1] = (double)roll_size(&dice, work.a_bytes);
        more.saved_bytes[1] = some.saved_bytes[1] + (double)roll_size(&dice, work.b_bytes);
        struct ll_machine better = improved(&dice, &machine);
        double time_s = time_of(&machine, &work, &none), some_s = time_of(&machine, &work, &some);
        check_no_slower(seed, "better machine", time_of(&better, &work, &none), time_s);
        check_no_slower(seed, "better machine, warm", time_of(&better, &work, &some), some_s);
        check_no_slower(seed, "warm", some_s, time_s);
        check_no_slower(seed, "warmer", time_of(&machine, &work, &more), some_s);
        const struct ll_gemm d = work.gemm;
        struct ll_work larger = gemm_work((enum ll_dtype)work.dtype, d.batch, d.m + roll_size(&dice, 100),
                                          d.n + roll_size(&dice, 100), d.k + roll_size(&dice, 100));
        check_no_slower(seed, "smaller", time_s, time_of(&machine, &larger, &none));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_better_makes_a_gemm_slower)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
