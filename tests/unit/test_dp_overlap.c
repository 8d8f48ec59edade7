/* SPDX-License-Identifier: Apache-2.0 */
/* Two layers of a stage and their exchanges among four replicas on a ring, drawn on paper. */
#include "check.h"
#include "toy_machine.h"

#include "sim/parallel/pipeline.h"

/* A ring of n = 4, links of B, latency a: n - 1 messages of M / n gather or sum M, twice as many do both. */
static const char ring[] = LL_TOY_MACHINE
    "network:\n"
    "  - {name: r, topology: ring, devices: 4, bandwidth: 1GB/s, latency: 1us, units_taken: 0.2}\n"
    "software: {collectives: ring}\n";
static const double one_way = 3, M = 4e6;

static double exchange_s(double ways)
{
    return ways * one_way * (1e-6 + M / 4 / 1e9); /* 3.003 ms one way, 6.006 ms both */
}

/* Seconds that layers compute; of these, the share that units hold back. */
struct passes {
    double forward_s[2], backward_s[2], units;
};
static const struct passes slow = {{0.010, 0.020}, {0.030, 0.050}, 0},
                           fast = {{0.001, 0.002}, {0.002, 0.001}, 0};

/* A micro-batch of the stage. */
static double beside_s(const struct passes *passes, const struct ll_parallel *plan, const uint32_t part_of[2],
                       bool gathers, bool sums)
{
    struct ll_layer_cost at[2] = {{0}};
    for (int i = 0; i < 2; i++)
        at[i] = (struct ll_layer_cost){.forward_s = passes->forward_s[i],
                                       .backward_s = passes->backward_s[i],
                                       .forward_units_s = passes->units * passes->forward_s[i],
                                       .backward_units_s = passes->units * passes->backward_s[i],
                                       .again_s = passes->forward_s[i],
                                       .state.gradient = M,
                                       .forward_read_bytes = M,
                                       .backward_read_bytes = M};
    const struct ll_layer_costs costs = {.at = at, .count = 2};
    struct ll_prices prices = {0};
    struct ll_machine *machine = ll_toy_machine(ring);
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &prices);
    const struct ll_dp_overlap overlap = {&costs, part_of, plan, exchanges, gathers, sums, machine};
    double time_s;
    assert_non_null(exchanges);
    assert_true(ll_dp_overlap_s(&overlap, 0, &time_s));
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    ll_machine_free(machine);
    return time_s;
}

static struct ll_parallel four_replicas(void)
{
    return (struct ll_parallel){
        .data = 4, .tensor = 1, .context = 1, .pipeline = 1, .expert = 1, .chunks = 1};
}

static const uint32_t one_piece[] = {0, 0};

static void alone_there_is_nobody_to_exchange_with(void **state)
{
    (void)state;
    struct ll_parallel plan = four_replicas();
    plan.data = 1;
    assert_near(beside_s(&slow, &plan, one_piece, true, true), 0.110, 1e-12);
    plan.data = 4;
    assert_near(beside_s(&slow, &plan, one_piece, false, false), 0.110, 1e-12);
    plan.recompute = LL_RECOMPUTE_SELECTIVE; /* which the program has seen to */
    assert_near(beside_s(&slow, &plan, one_piece, false, false), 0.110, 1e-12);
    plan.recompute = LL_RECOMPUTE_FULL;
    assert_near(beside_s(&slow, &plan, one_piece, false, false), 0.140, 1e-12);
}

/* The first layer's gradients come last: nothing hides their exchange. The second's hides behind the first
 * layer's backward pass, or is waited for. */
static void gradients_go_while_earlier_layers_are_busy(void **state)
{
    (void)state;
    struct ll_parallel plan = four_replicas();
    plan.bucket_bytes = 1;
    assert_near(beside_s(&slow, &plan, one_piece, false, true), 0.110 + exchange_s(2), 1e-12);
    assert_near(beside_s(&fast, &plan, one_piece, false, true), 0.004 + 2 * exchange_s(2), 1e-12);
    plan.zero = 1; /* each keeps its part of the sum */
    assert_near(beside_s(&slow, &plan, one_piece, false, true), 0.110 + exchange_s(1), 1e-12);
    plan.bucket_bytes = (uint64_t)M; /* full */
    assert_near(beside_s(&fast, &plan, one_piece, false, true), 0.004 + 2 * exchange_s(1), 1e-12);
}

/* Of the first layer's backward pass, what goes by beside the second's exchange is slowed: for ops of the
 * units alone by 1 / (1 - 0.2), where they are half of it by 1 + 0.5 * 0.25. */
static void exchanges_take_units_from_layers_beside_them(void **state)
{
    (void)state;
    struct ll_parallel plan = four_replicas();
    struct passes computed = slow;
    plan.bucket_bytes = 1;
    computed.units = 1;
    assert_near(beside_s(&computed, &plan, one_piece, false, true), 0.110 + 1.2 * exchange_s(2), 1e-12);
    computed.units = 0.5;
    assert_near(beside_s(&computed, &plan, one_piece, false, true),
                0.110 + (1 + (1 - 1 / 1.125)) * exchange_s(2), 1e-12);
    plan.recompute = LL_RECOMPUTE_FULL; /* what is computed again is half of it, too */
    assert_near(beside_s(&computed, &plan, one_piece, false, true),
                0.140 + (1 + (1 - 1 / 1.125)) * exchange_s(2), 1e-12);
}

/* Six messages of twice the bytes. */
static void a_bucket_waits_for_more(void **state)
{
    (void)state;
    struct ll_parallel plan = four_replicas();
    plan.bucket_bytes = (uint64_t)M + 1;
    assert_near(beside_s(&fast, &plan, one_piece, false, true), 0.006 + 6 * (1e-6 + 2 * M / 4 / 1e9), 1e-12);
}

/* A layer's weights are asked for when the layer before it begins; those of the first that a pass meets, when
 * the pass begins. */
static void weights_come_while_the_layer_before_is_busy(void **state)
{
    (void)state;
    struct ll_parallel plan = four_replicas();
    double g = exchange_s(1);
    assert_near(beside_s(&slow, &plan, one_piece, true, false), g + 0.030 + g + 0.080, 1e-12);
    /* forward g, g behind which the first is hidden, the second; backward alike */
    assert_near(beside_s(&fast, &plan, one_piece, true, false), 2 * g + 0.002 + 2 * g + 0.002, 1e-12);
}

/* Of two pieces of a stage, other stages come between: neither asks for the other's weights. */
static void each_piece_asks_for_itself(void **state)
{
    (void)state;
    struct ll_parallel plan = four_replicas();
    static const uint32_t first_and_third[] = {0, 2}, first_and_second[] = {0, 1};
    plan.pipeline = 2;
    plan.chunks = 2;
    assert_near(beside_s(&slow, &plan, first_and_third, true, false), 0.110 + 4 * exchange_s(1), 1e-12);
    assert_near(beside_s(&slow, &plan, first_and_second, true, false), 0.040 + 2 * exchange_s(1), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_there_is_nobody_to_exchange_with),
        cmocka_unit_test(gradients_go_while_earlier_layers_are_busy),
        cmocka_unit_test(exchanges_take_units_from_layers_beside_them),
        cmocka_unit_test(a_bucket_waits_for_more),
        cmocka_unit_test(weights_come_while_the_layer_before_is_busy),
        cmocka_unit_test(each_piece_asks_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
