/* SPDX-License-Identifier: Apache-2.0 */
/* In which tiles a product passes into the level before the outermost: the block that sim/cost/cost_parts.h
 * found, and pieces of what streams past it, grown here one line at a time until the level is full. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost_parts.h"

enum { CASES = 400 };

static struct ll_machine machine_of(uint64_t room_bytes)
{
    struct ll_machine machine = {.name = "two levels", .unit_count = 1, .level_count = 2};
    machine.units[0].count = 1;
    machine.levels[0] = (struct ll_level){
        .name = "near", .size_bytes = room_bytes, .scope = LL_SCOPE_DEVICE, .buffering = LL_BUFFER_SINGLE};
    machine.levels[1] = (struct ll_level){.name = "far", .size_bytes = UINT64_C(1) << 40};
    return machine;
}

static double rounds(const struct ll_tile_nest *nest, int d)
{
    return (double)nest->whole[d] + nest->edge[d];
}

/* The three of a product, and of a tile of it, in the order of the loops: what streams is the innermost. */
struct order {
    uint64_t whole[3], tile[3];
};

static struct order order_of(const struct ll_gemm *d, const struct ll_tiling *t)
{
    const struct ll_gemm *b = &t->block;
    switch (t->stays) {
    case LL_OPERAND_A:
        return (struct order){{d->m, d->k, d->n}, {b->m, b->k, b->n}};
    case LL_OPERAND_B:
        return (struct order){{d->k, d->n, d->m}, {b->k, b->n, b->m}};
    default:
        return (struct order){{d->m, d->n, d->k}, {b->m, b->n, b->k}};
    }
}

/* The same for any two of three that stay: a b + a c + b c. */
static uint64_t order_elements(const struct order *o)
{
    return o->tile[0] * o->tile[1] + (o->tile[0] + o->tile[1]) * o->tile[2];
}

static void pieces_fill_the_room_beside_the_block(void **state)
{
    (void)state;
    struct dice dice = {ll_seed(81)};
    unsigned stayed[LL_OPERAND_COUNT] = {0};
    for (int i = 0; i < CASES; i++) {
        uint64_t batch = roll_between(&dice, 1, 3), m = roll_size(&dice, 60), n = roll_size(&dice, 60),
                 k = roll_size(&dice, 60), room = 3 + roll_size(&dice, 6000);
        struct ll_work work = gemm_work(LL_F32, batch, m, n, k);
        struct ll_task task = ll_task_of(&work, LL_F32);
        struct ll_machine machine = machine_of(4 * room);
        const struct ll_kernel_config way = {.units_used = 1, .share = work.gemm, .shares = 1};
        struct ll_tile_nest nest;
        assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
        struct ll_tiling t = ll_tile(&task.problem, 4 * (double)room);
        struct order o = order_of(&work.gemm, &t);
        if (order_elements(&o) > room)
            continue; /* nothing fits */
        while (o.tile[2] < o.whole[2] && order_elements(&o) + o.tile[0] + o.tile[1] <= room)
            o.tile[2]++;
        assert_near(rounds(&nest, 0), (double)batch, 0);
        for (int d = 0; d < 3; d++)
            assert_near(rounds(&nest, d + 1), (double)o.whole[d] / (double)o.tile[d], 1e-12);
        assert_int_equal(nest.gathers, t.stays == LL_OPERAND_C);
        stayed[t.stays]++;
    }
    for (int i = 0; i < LL_OPERAND_COUNT; i++)
        assert_true(stayed[i] > CASES / 20);
}

/* 2000 x 1 x 40 beside 64 elements: keeping 31 results reads B 65 times, 2600 elements beside A, and moves
 * 4600 in all; keeping 31 of B reads C once more and B once, 2040, and moves 6040. Where reads are dear that
 * is better, and what the traffic is counted for. */
static void tiles_are_those_that_the_ports_make_cheapest(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 1, 2000, 1, 40);
    struct ll_task task = ll_task_of(&work, LL_F32);
    struct ll_machine machine = machine_of(UINT64_C(4) * 64);
    const struct ll_kernel_config way = {.units_used = 1, .share = work.gemm, .shares = 1};
    struct ll_tile_nest nest;
    assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
    assert_true(nest.gathers);
    machine.levels[1].bandwidth_Bps = 1e9;
    machine.levels[1].read_Bps = 1e7;
    assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
    assert_false(nest.gathers);
}

/* A passes by a level of 1040 elements to a unit that multiplies one by one. Whole columns of results, 64 x
 * 16 of them, then let B pass once, whatever A would rather have, and leave room for one line of B. */
static void what_passes_by_the_level_has_no_say_in_its_tiles(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 1, 64, 64, 64);
    struct ll_task task = ll_task_of(&work, LL_F32);
    struct ll_machine machine = machine_of(UINT64_C(4) * 1040);
    struct ll_level *near = &machine.levels[0];
    near->holds_given = near->holds[LL_OPERAND_B] = near->holds[LL_OPERAND_C] = true;
    const double once = 4 * 64 * 64;
    const struct ll_kernel_config way = {
        .units_used = 1, .share = work.gemm, .shares = 1, .asked_bytes = {64 * once, 64 * once, once}};
    struct ll_tile_nest nest;
    assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
    static const double expected[] = {1, 1, 4, 64}; /* rounds over products, m, n, k */
    for (int d = 0; d < LL_TILE_LOOPS; d++)
        assert_near(rounds(&nest, d), expected[d], 0);
}

/* 1000 bytes in all pass through a level of 64, or of two halves of 32, or two of 64 that belong to units. */
static void what_is_no_product_passes_in_tiles_as_large_as_the_level(void **state)
{
    (void)state;
    const struct ll_work work = {.kind = LL_WORK_VECTOR,
                                 .dtype = LL_INT8,
                                 .flops = 500,
                                 .a_bytes = 500,
                                 .c_bytes = 500,
                                 .vector = {.elements = 500}};
    struct ll_task task = ll_task_of(&work, LL_INT8);
    struct ll_machine machine = machine_of(64);
    struct ll_kernel_config way = {.units_used = 2, .shares = 2};
    struct ll_tile_nest nest;
    assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
    assert_near(ll_tile_volume(&nest), 1000.0 / 64, 1e-12);
    machine.levels[0].buffering = LL_BUFFER_DOUBLE;
    assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
    assert_near(ll_tile_volume(&nest), 1000.0 / 32, 1e-12);
    machine.levels[0].scope = LL_SCOPE_UNIT;
    assert_true(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
    assert_near(ll_tile_volume(&nest), 1000.0 / 64, 1e-12);
    machine.level_count = 1;
    assert_false(ll_outer_tiles(&machine, &task, &way, NULL, &nest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_fill_the_room_beside_the_block),
        cmocka_unit_test(tiles_are_those_that_the_ports_make_cheapest),
        cmocka_unit_test(what_passes_by_the_level_has_no_say_in_its_tiles),
        cmocka_unit_test(what_is_no_product_passes_in_tiles_as_large_as_the_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
