/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"
#include "toy_machine.h"

#include "sim/cost/memo.h"
#include "sim/machine/path.h"

#include <string.h>

static void a_remembered_cost_is_the_computed_one(void **state)
{
    (void)state;
    struct dice dice = {30};
    for (int round = 0; round < 50; round++) {
        struct ll_machine machine = random_machine(&dice);
        struct ll_memo memo = {.machine = &machine};
        struct ll_work works[20];
        for (int i = 0; i < 60; i++) {
            struct ll_cost fresh = {0};
            const char *trouble;
            if (i < 20)
                works[i] = random_work(&dice);
            const struct ll_cost *kept = ll_memo_cost(&memo, LL_OP_ADD, &works[i % 20], &trouble);
            assert_true(ll_cost_op(&machine, LL_OP_ADD, &works[i % 20], &fresh, &trouble));
            assert_memory_equal(kept, &fresh, sizeof fresh);
        }
        assert_true(memo.keys.count <= 20);
        ll_memo_release(&memo);
    }
}

static void a_refusal_is_remembered_with_its_reason(void **state)
{
    (void)state;
    struct dice dice = {31};
    struct ll_machine machine = random_machine(&dice);
    struct ll_memo memo = {.machine = &machine};
    struct ll_work work = {.kind = LL_WORK_COLLECTIVE};
    for (int i = 0; i < 2; i++) {
        const char *trouble = NULL;
        assert_null(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble));
        assert_non_null(trouble);
    }
    assert_int_equal(memo.keys.count, 1);
    ll_memo_release(&memo);
}

static void what_is_remembered_is_not_computed_again(void **state)
{
    (void)state;
    struct dice dice = {33};
    struct ll_machine machine = random_machine(&dice);
    struct ll_memo memo = {.machine = &machine};
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    const char *trouble;
    double before_s = ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s;
    machine.units[0].clock_hz *= 2; /* nobody may do this; it shows who computes */
    assert_near(ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s, before_s, 0);
    ll_memo_release(&memo);
}

/* A convolution of 3 x 3. */
static const struct ll_work convolution = {.kind = LL_WORK_CONV,
                                           .dtype = LL_BF16,
                                           .flops = UINT64_C(2) * 2 * 64 * 9 * 16 * 32,
                                           .a_bytes = 2 * 100 * 16 * 2,
                                           .b_bytes = 9 * 16 * 32 * 2,
                                           .c_bytes = 2 * 64 * 32 * 2,
                                           .conv = {.batch = 2,
                                                    .in_h = 10,
                                                    .in_w = 10,
                                                    .in_c = 16,
                                                    .out_h = 8,
                                                    .out_w = 8,
                                                    .out_c = 32,
                                                    .kernel_h = 3,
                                                    .kernel_w = 3,
                                                    .stride_h = 1,
                                                    .stride_w = 1,
                                                    .groups = 1}};

/* As it is and by Winograd's F(4, 3). */
static void each_way_is_remembered_until_the_machine_is_another(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(
        LL_TOY_MACHINE
        "software: {transforms: [{name: winograd, size: 6, most_filter: 3, rate: {bf16: 0.5}}]}\n");
    assert_non_null(machine);
    struct ll_memo memo = {.machine = machine};
    const char *trouble;
    for (int turn = 0; turn < 2; turn++, machine->units[0].clock_hz *= 2) {
        ll_memo_turn(&memo, machine);
        const struct ll_cost *ways = ll_memo_cost(&memo, LL_OP_CONV2D, &convolution, &trouble);
        assert_ptr_equal(ll_memo_cost(&memo, LL_OP_CONV2D, &convolution, &trouble), ways);
        assert_int_equal(ways->ways, 2);
        struct ll_cost fastest;
        assert_true(ll_cost_op(machine, LL_OP_CONV2D, &convolution, &fastest, &trouble));
        assert_int_equal(ways[0].way, fastest.way);
        assert_int_equal(ways[1].way, 1 - fastest.way);
        for (uint32_t i = 0; i < 2; i++) {
            struct ll_cost way;
            ll_cost_algorithm(machine, LL_OP_CONV2D, &convolution, ways[i].way, NULL, &way);
            assert_near(ways[i].compute_s, way.compute_s, 0);
        }
        assert_true(ways[0].compute_s != ways[1].compute_s);
    }
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

/* What starting ops takes decides which way is the faster, and nothing is computed again for it. */
static void what_starting_takes_is_put_into_costs_in_place(void **state)
{
    (void)state;
    static const double overheads_s[] = {0, 1, 0};
    struct ll_machine *machine =
        ll_toy_machine(LL_TOY_MACHINE "software: {op_overhead: 1us, transforms: [{name: winograd, size: 6, "
                                      "most_filter: 3, fused: true, rate: {bf16: 1}}]}\n");
    assert_non_null(machine);
    struct ll_memo memo = {.machine = machine};
    struct ll_work work = convolution;
    const char *trouble;
    work.conv.in_c = work.conv.out_c = 1024;
    work.flops *= 64 * 32;
    work.a_bytes *= 64;
    work.b_bytes *= 64 * 32;
    work.c_bytes *= 32;
    machine->software.transforms[0].rate[LL_BF16] = 100; /* the faster one, but for what starting it takes */
    for (uint64_t l = 0; l < machine->level_count; l++)
        machine->levels[l].bandwidth_Bps = 1e18;
    ll_memo_turn(&memo, machine);
    const struct ll_cost *ways = ll_memo_cost(&memo, LL_OP_CONV2D, &work, &trouble);
    const uint32_t first = ways[0].way;
    for (int turn = 0; turn < 3; turn++) {
        struct ll_cost fresh[LL_MOST_ALGORITHMS];
        machine->software.transforms[0].overhead_s = overheads_s[turn];
        machine->software.op_overhead_s = 1e-6 * (turn + 2);
        ll_memo_turn(&memo, machine);
        assert_false(ll_memo_keeps(&memo, LL_OP_CONV2D, &work));
        assert_ptr_equal(ll_memo_cost(&memo, LL_OP_CONV2D, &work, &trouble), ways);
        assert_true(ll_memo_keeps(&memo, LL_OP_CONV2D, &work));
        assert_int_equal(ll_cost_algorithms(machine, LL_OP_CONV2D, &work, fresh, &trouble), 2);
        assert_memory_equal(ways, fresh, 2 * sizeof *fresh);
        assert_true((ways[0].way == first) == (turn != 1));
    }
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

static void kinds_are_kept_apart(void **state)
{
    (void)state;
    struct dice dice = {32};
    struct ll_machine machine = random_machine(&dice);
    struct ll_memo memo = {.machine = &machine};
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    const char *trouble;
    ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble);
    ll_memo_cost(&memo, LL_OP_CONV2D, &work, &trouble);
    assert_int_equal(memo.keys.count, 2);
    ll_memo_release(&memo);
}

/* One number of the machine, or a count or size that no list of numbers has, becomes another. */
static void change(struct ll_machine *machine, const struct ll_machine_number *numbers, size_t count,
                   struct dice *dice)
{
    struct ll_unit *unit = &machine->units[roll_between(dice, 0, machine->unit_count - 1)];
    struct ll_level *level = &machine->levels[roll_between(dice, 0, machine->level_count - 1)];
    const struct ll_machine_number *number = &numbers[roll_between(dice, 0, count - 1)];
    switch (roll_between(dice, 0, 5)) {
    case 0:
        unit->count += 1;
        break;
    case 1:
        level->size_bytes += 4096;
        break;
    case 2:
        if (unit->model == LL_UNIT_SYSTOLIC)
            unit->systolic.rows += 8;
        else if (unit->model == LL_UNIT_VECTOR)
            unit->vector.lanes += 16;
        break;
    case 3:
        machine->software.fusion = LL_FUSION_ELEMENTWISE;
        break;
    default:
        ll_number_set(machine, number, ll_number_get(machine, number) * 1.25);
    }
}

/* The array multiplies in f32 what is stored in f16, and the lanes turn one into the other. */
static void who_casts_for_others_is_part_of_their_cost(void **state)
{
    (void)state;
    struct ll_machine *machine =
        ll_toy_machine("name: casting\nclock: 1GHz\nunits:\n"
                       "  - {name: array, model: matrix, macs: {f32: 64}, runs: [matmul]}\n"
                       "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2}, casts: {f16: 2}}\n"
                       "memory:\n  - {name: dram, size: 16GiB, bandwidth: 1000GB/s}\n");
    struct ll_memo memo = {.machine = machine};
    struct ll_work work = gemm_work(LL_F16, 1, 64, 64, 64);
    const char *trouble;
    assert_non_null(machine);
    ll_memo_turn(&memo, machine);
    double before_s = ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s;
    for (int turn = 0; turn < 2; turn++) {
        struct ll_cost fresh;
        *(turn ? &machine->units[1].clock_hz : &machine->units[1].vector.casts[LL_F16]) *= 2;
        ll_memo_turn(&memo, machine);
        assert_true(ll_cost_op(machine, LL_OP_MATMUL, &work, &fresh, &trouble));
        assert_near(ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s, fresh.compute_s, 0);
        assert_true(fresh.compute_s < before_s);
        before_s = fresh.compute_s;
    }
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

/* GEMMs of attention run on the tensor cores, and the exponentials beside them on the lanes. */
static void who_takes_exponentials_is_part_of_what_attention_costs(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_machine_read("h100_sxm+pytorch", folders, NULL, 0, &diags);
    struct ll_memo memo = {.machine = machine};
    struct ll_work work = {.kind = LL_WORK_ATTENTION,
                           .dtype = LL_BF16,
                           .attention = {.batch = 1,
                                         .queries = 4096,
                                         .keys = 4096,
                                         .heads = 32,
                                         .kv_heads = 8,
                                         .head_qk = 128,
                                         .head_v = 128,
                                         .causal = 1,
                                         .pass = LL_ATTENTION_PREFILL,
                                         .cache = LL_BF16}};
    work.flops = ll_attention_flops(&work.attention);
    struct ll_cost fresh;
    const char *trouble;
    uint64_t lanes = 0;
    assert_non_null(machine);
    while (machine->units[lanes].vector.specials == 0 || machine->units[lanes].model != LL_UNIT_VECTOR)
        lanes++;
    ll_memo_turn(&memo, machine);
    const double before_s = ll_memo_cost(&memo, LL_OP_CAUSAL_ATTENTION, &work, &trouble)->compute_s;
    machine->units[lanes].vector.specials /= 8;
    ll_memo_turn(&memo, machine);
    assert_true(ll_cost_op(machine, LL_OP_CAUSAL_ATTENTION, &work, &fresh, &trouble));
    assert_true(fresh.compute_s > 1.5 * before_s);
    assert_near(ll_memo_cost(&memo, LL_OP_CAUSAL_ATTENTION, &work, &trouble)->compute_s, fresh.compute_s, 0);
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

/* Costs out of the memo are those of the machine that it serves. */
static void check_kept(struct ll_memo *memo, const struct ll_work *works, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ll_cost fresh;
        const char *trouble, *remembered;
        bool right = ll_cost_op(memo->machine, LL_OP_ADD, &works[i], &fresh, &trouble);
        const struct ll_cost *kept = ll_memo_cost(memo, LL_OP_ADD, &works[i], &remembered);
        assert_true(right == (kept != NULL) && trouble == remembered);
        if (right)
            assert_memory_equal(kept, &fresh, sizeof fresh);
    }
}

static void try_changes(const char *stem, uint64_t seed)
{
    enum { WORKS = 40, CHANGES = 60 };
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct dice dice = {seed};
    struct ll_machine *machine = ll_machine_read(stem, folders, NULL, 0, &diags);
    size_t count;
    const struct ll_machine_number *numbers = ll_machine_numbers(machine, &arena, &count);
    struct ll_memo memo = {.machine = machine};
    struct ll_work works[WORKS];
    for (int i = 0; i < WORKS; i++)
        works[i] = random_work(&dice);
    for (int round = 0; round < CHANGES; round++) {
        change(machine, numbers, count, &dice);
        ll_memo_turn(&memo, machine);
        check_kept(&memo, works, WORKS);
    }
    ll_memo_release(&memo);
    ll_machine_free(machine);
    ll_arena_release(&arena);
}

static const char *const stems[] = {"custom_example", "tpu_v2_core",  "v100_sxm_16gb+archive/deepbench",
                                    "gemmini_like",   "eyeriss_like", "i7_6700k",
                                    "tpu_v1",         "nvdla_large"};
enum { STEMS = sizeof stems / sizeof *stems };

static void what_is_remembered_of_another_machine_is_right_for_this_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < STEMS; i++)
        try_changes(stems[i], 40 + i);
}

/* Among them machines that have fewer units than those before. */
static void one_memo_serves_machines_that_have_nothing_in_common(void **state)
{
    (void)state;
    enum { WORKS = 40 };
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct dice dice = {60};
    struct ll_memo memo = {0};
    struct ll_work works[WORKS];
    for (int i = 0; i < WORKS; i++)
        works[i] = random_work(&dice);
    for (size_t i = 0; i < 2 * STEMS; i++) {
        struct ll_machine *machine = ll_machine_read(stems[i * 3 % STEMS], folders, NULL, 0, &diags);
        ll_memo_turn(&memo, machine);
        check_kept(&memo, works, WORKS);
        ll_machine_free(machine);
    }
    ll_memo_release(&memo);
}

/* Only the array is another: what runs on the vector unit is not computed again. */
static void what_another_unit_costs_is_kept(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_machine_read("custom_example", folders, NULL, 0, &diags);
    struct ll_memo memo = {.machine = machine};
    struct ll_work work = {.kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = 1000, .a_bytes = 4000};
    const char *trouble;
    ll_memo_turn(&memo, machine);
    assert_non_null(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble));
    const struct ll_cost *kept = ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble);
    machine->units[0].systolic.rows *= 2;
    ll_memo_turn(&memo, machine);
    assert_ptr_equal(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble), kept);
    for (int turn = 0; turn < 3; turn++) { /* the first version stays, whatever comes in between */
        machine->levels[0].size_bytes *= 2;
        ll_memo_turn(&memo, machine);
        assert_ptr_not_equal(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble), kept);
    }
    machine->levels[0].size_bytes /= 8;
    ll_memo_turn(&memo, machine);
    assert_ptr_equal(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble), kept);
    machine->levels[0].size_bytes *= 2;
    ll_memo_turn(&memo, machine);
    const struct ll_cost *other = ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble);
    ll_memo_settle(&memo); /* unless another one is to stay */
    machine->levels[0].size_bytes *= 2;
    ll_memo_turn(&memo, machine);
    assert_non_null(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble));
    machine->levels[0].size_bytes /= 2;
    ll_memo_turn(&memo, machine);
    assert_ptr_equal(ll_memo_cost(&memo, LL_OP_ADD, &work, &trouble), other);
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

/* Which a sweep's designs do: their lists lie where the last design's were. */
static void what_lies_at_the_same_address_may_be_another_list(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(
        LL_TOY_MACHINE "software: {kernels: [{name: wide, ops: [matmul], compute_efficiency: 0.5}]}\n"
                       "overlay: [{name: wide, shapes: [64x64x64=1/1]}]\n");
    struct ll_memo memo = {.machine = machine};
    struct ll_work work = gemm_work(LL_BF16, 1, 64, 64, 64);
    const char *trouble;
    ll_memo_turn(&memo, machine);
    double before = ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->overlay.near;
    ((struct ll_shape_ratio *)(uintptr_t)machine->overlays[0].shapes)->near = 4;
    ll_memo_turn(&memo, machine);
    assert_true(ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->overlay.near > 3.9 * before);
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

static void a_limit_of_power_is_looked_at(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_machine_read("t4+pytorch", folders, NULL, 0, &diags);
    struct ll_memo memo = {.machine = machine};
    struct ll_work work = gemm_work(LL_F32, 1, 4096, 4096, 4096);
    const char *trouble;
    ll_memo_turn(&memo, machine);
    double before_s = ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s;
    machine->energy.limit_w /= 2;
    ll_memo_turn(&memo, machine);
    assert_true(ll_memo_cost(&memo, LL_OP_MATMUL, &work, &trouble)->compute_s > 1.5 * before_s);
    ll_memo_release(&memo);
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remembered_cost_is_the_computed_one),
        cmocka_unit_test(a_refusal_is_remembered_with_its_reason),
        cmocka_unit_test(what_is_remembered_is_not_computed_again),
        cmocka_unit_test(each_way_is_remembered_until_the_machine_is_another),
        cmocka_unit_test(what_starting_takes_is_put_into_costs_in_place),
        cmocka_unit_test(kinds_are_kept_apart),
        cmocka_unit_test(who_casts_for_others_is_part_of_their_cost),
        cmocka_unit_test(who_takes_exponentials_is_part_of_what_attention_costs),
        cmocka_unit_test(what_is_remembered_of_another_machine_is_right_for_this_one),
        cmocka_unit_test(one_memo_serves_machines_that_have_nothing_in_common),
        cmocka_unit_test(what_another_unit_costs_is_kept),
        cmocka_unit_test(what_lies_at_the_same_address_may_be_another_list),
        cmocka_unit_test(a_limit_of_power_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
