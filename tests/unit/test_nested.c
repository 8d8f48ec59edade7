/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"

/* A core that keeps 4 x 4 sums, with memories of its own around it. */
static struct ll_machine core(uint64_t private_levels, enum ll_objective objective)
{
    static const char *const names[] = {"registers", "scratch", "outer"};
    struct ll_machine machine = {.unit_count = 1, .level_count = private_levels + 1};
    machine.units[0] = (struct ll_unit){
        .name = "core", .model = LL_UNIT_MATRIX, .count = 1, .clock_hz = 1e9, .efficiency = 1};
    machine.units[0].matrix.macs[LL_F32] = 1e6;
    machine.units[0].matrix.tiles[0] = (struct ll_tile){4, 4, 1};
    machine.units[0].matrix.tile_count = 1;
    for (uint64_t l = 0; l <= private_levels; l++)
        machine.levels[l] =
            (struct ll_level){.name = names[l],
                              .size_bytes = l == private_levels ? 1 << 30 : UINT64_C(4096) << 4 * l,
                              .bandwidth_Bps = 1e9,
                              .efficiency = 1,
                              .scope = l == private_levels ? LL_SCOPE_DEVICE : LL_SCOPE_UNIT};
    machine.software.mapping = LL_MAPPED_SEARCH;
    machine.software.objective = objective;
    return machine;
}

static struct ll_cost cost_of(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_cost cost;
    const char *trouble;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    return cost;
}

static struct ll_work random_product(struct dice *dice)
{
    return gemm_work(LL_F32, roll_between(dice, 1, 3), roll_size(dice, 9000), roll_size(dice, 9000),
                     roll_size(dice, 9000));
}

/* With one memory to fill nothing nests: the search finds the closed form's optimum. */
static void one_memory_is_blocked_as_in_closed_form(void **state)
{
    (void)state;
    struct dice dice = {61};
    for (int i = 0; i < 300; i++) {
        struct ll_work work = random_product(&dice);
        struct ll_machine searched = core(1, LL_OBJECTIVE_TIME), closed = searched;
        closed.software.mapping = LL_MAPPED_CLOSED_FORM;
        assert_near(cost_of(&searched, &work).level_bytes[1], cost_of(&closed, &work).level_bytes[1], 1e-12);
    }
}

/* 10 steps of 1 x 20 x 10 in f32: 800 bytes of weights fit in half of the registers and are moved once. */
static void the_search_leaves_weights_that_fit_inside(void **state)
{
    (void)state;
    struct ll_machine machine = core(1, LL_OBJECTIVE_TIME);
    struct ll_work work = gemm_work(LL_F32, 1, 1, 20, 10);
    work.kind = LL_WORK_SEQUENCE;
    struct ll_gemm step = work.gemm; /* which shares its room with what it becomes a part of */
    work.sequence.step = step;
    work.sequence.steps = 10;
    work.a_bytes *= 10;
    work.c_bytes *= 10;
    work.flops *= 10;
    assert_near(cost_of(&machine, &work).level_bytes[1], 4 * (20 * 10 + 10 * (10 + 20)), 0);
}

/* Tiles that nest move no less out of any level than what is best for each memory alone. */
static void nesting_costs_traffic_and_never_saves_any(void **state)
{
    (void)state;
    struct dice dice = {62};
    int dearer = 0;
    for (int i = 0; i < 300; i++) {
        struct ll_work work = random_product(&dice);
        struct ll_machine searched = core(2, LL_OBJECTIVE_ENERGY);
        searched.energy.level_j_per_byte[1] = searched.energy.level_j_per_byte[2] = 1e-12;
        struct ll_machine closed = searched;
        closed.software.mapping = LL_MAPPED_CLOSED_FORM;
        struct ll_cost nested = cost_of(&searched, &work), alone = cost_of(&closed, &work);
        for (uint64_t l = 1; l < 3; l++)
            assert_true(nested.level_bytes[l] >= alone.level_bytes[l] * (1 - 1e-12));
        dearer +=
            nested.level_bytes[1] > alone.level_bytes[1] || nested.level_bytes[2] > alone.level_bytes[2];
    }
    assert_true(dearer > 0);
}

static double energy_of(const struct ll_machine *machine, const struct ll_cost *cost)
{
    double energy_j = 0;
    for (uint64_t l = 1; l < machine->level_count; l++)
        energy_j += cost->level_bytes[l] * ll_machine_level_j(machine, l);
    return energy_j;
}

/* Each objective is served best by its own search. */
static void the_search_makes_the_least_of_what_is_asked(void **state)
{
    (void)state;
    struct dice dice = {63};
    for (int i = 0; i < 200; i++) {
        struct ll_work work = random_product(&dice);
        struct ll_machine fast = core(2, LL_OBJECTIVE_TIME), frugal = core(2, LL_OBJECTIVE_ENERGY);
        fast.levels[1].bandwidth_Bps = frugal.levels[1].bandwidth_Bps = 1e11;
        fast.energy.level_j_per_byte[1] = frugal.energy.level_j_per_byte[1] = 100e-12;
        fast.energy.level_j_per_byte[2] = frugal.energy.level_j_per_byte[2] = 1e-12;
        struct ll_cost quick = cost_of(&fast, &work), spared = cost_of(&frugal, &work);
        assert_true(energy_of(&fast, &spared) <= energy_of(&fast, &quick) * (1 + 1e-12));
        assert_true(fmax(quick.level_s[1], quick.level_s[2]) <=
                    fmax(spared.level_s[1], spared.level_s[2]) * (1 + 1e-12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_memory_is_blocked_as_in_closed_form),
        cmocka_unit_test(the_search_leaves_weights_that_fit_inside),
        cmocka_unit_test(nesting_costs_traffic_and_never_saves_any),
        cmocka_unit_test(the_search_makes_the_least_of_what_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
