/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and memory of two layers, put together by hand: four replicas, or two stages. */
#include "check.h"
#include "toy_machine.h"

#include "sim/parallel/estimate.h"

/* Rings of n = 4, links of B, latency a: n - 1 messages of M / n gather or sum M, twice as many do both. */
static const char four[] =
    LL_TOY_MACHINE "network:\n"
                   "  - {name: r, topology: full, devices: 4, bandwidth: 1GB/s, latency: 1us}\n"
                   "software: {collectives: ring}\n"
                   "host: {bandwidth: 2GB/s}\n";
static const double memory_Bps = 10e9, host_Bps = 2e9,
                    M = 4e6; /* M: of a layer's weights, and of its gradient */

static double one_way_s(double bytes)
{
    return 3 * (1e-6 + bytes / 4 / 1e9);
}

/* Of both layers: 30 and 80 ms a pass, of which 20 ms come again; 10 ms of update, of which 2 start ops. */
static const double pass_s = 0.110, again_s = 0.020, update_s = 0.010, update_start_s = 0.002;

static const struct ll_layer_cost layers[2] = {
    {.forward_s = 0.010,
     .backward_s = 0.030,
     .again_s = 0.005,
     .update_s = 0.004,
     .update_start_s = 0.001,
     .state = {M, 2 * M, M},
     .forward_read_bytes = M,
     .backward_read_bytes = M,
     .kept_bytes = 100e6,
     .held_bytes = 10e6,
     .carried_bytes = 1e6,
     .peak_bytes = 150e6,
     .again_peak_bytes = 160e6,
     .handed_bytes = 1e6,
     .flops = 1,
     .named_flops = 1},
    {.forward_s = 0.020,
     .backward_s = 0.050,
     .again_s = 0.015,
     .update_s = 0.006,
     .update_start_s = 0.001,
     .state = {M, 2 * M, M},
     .forward_read_bytes = M,
     .backward_read_bytes = M,
     .kept_bytes = 200e6,
     .held_bytes = 20e6,
     .carried_bytes = 2e6,
     .peak_bytes = 230e6,
     .again_peak_bytes = 240e6,
     .flops = 1,
     .named_flops = 1},
};

struct estimated {
    double time_s, bytes;
};

/* Of so many replicas, each with so many micro-batches. */
static struct estimated estimate(struct ll_parallel plan, uint64_t replicas, uint64_t micro_batches,
                                 struct ll_layer_cost first, struct ll_layer_cost second)
{
    struct ll_layer_cost at[2] = {first, second};
    const struct ll_layer_costs costs = {.at = at, .count = 2};
    struct ll_arena arena = {0};
    struct ll_prices prices = {0};
    struct ll_machine *machine = ll_toy_machine(four);
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &prices);
    struct ll_estimator e;
    plan.data = replicas;
    plan.micro_batch = 1;
    plan.batch = replicas * micro_batches;
    assert_true(exchanges && ll_estimator_open(&e, machine, exchanges, 2, 2, &arena));
    ll_estimate_divide(&e, &costs, plan.pipeline);
    ll_estimate_count(&e, &costs, &plan);
    struct estimated estimated = {ll_estimate_s(&e, &costs, &plan), ll_estimate_bytes(&e, &costs, &plan)};
    assert_false(e.failed);
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    ll_machine_free(machine);
    ll_arena_release(&arena);
    return estimated;
}

static struct ll_parallel plain(void)
{
    return (struct ll_parallel){.tensor = 1,
                                .context = 1,
                                .pipeline = 1,
                                .expert = 1,
                                .schedule = LL_SCHEDULE_ONE_F_ONE_B,
                                .chunks = 1};
}

/* Gradients are read and written once for each micro-batch but the first. */
static void a_device_alone_passes_and_updates(void **state)
{
    const double added_s = 2 * 2 * M / memory_Bps;
    struct ll_parallel plan = plain();
    (void)state;
    assert_near(estimate(plan, 1, 1, layers[0], layers[1]).time_s, pass_s + update_s, 1e-12);
    assert_near(estimate(plan, 1, 4, layers[0], layers[1]).time_s, 4 * pass_s + 3 * added_s + update_s,
                1e-12);
    plan.recompute = LL_RECOMPUTE_FULL;
    assert_near(estimate(plan, 1, 4, layers[0], layers[1]).time_s,
                4 * (pass_s + again_s) + 3 * added_s + update_s, 1e-12);
    plan.offload.optimizer = true;
    assert_near(estimate(plan, 1, 1, layers[0], layers[1]).time_s,
                pass_s + again_s + update_s + 2 * 4 * M / host_Bps, 1e-12);
}

/* Of the sums only the last one shows, once a step or, where parts are summed, with each micro-batch; a
 * quarter of the update's work is left, and of the gradients that are added up. The gathering of new weights
 * begins when the first half of them, which is a bucket, is there. */
static void replicas_wait_for_the_last_sum(void **state)
{
    const double added_s = 2 * 2 * M / memory_Bps, part_s = update_start_s + (update_s - update_start_s) / 4,
                 last_s = part_s / 2 + one_way_s(2 * M);
    struct ll_parallel plan = plain();
    (void)state;
    plan.overlap = true;
    plan.bucket_bytes = (uint64_t)M;
    assert_near(estimate(plan, 4, 2, layers[0], layers[1]).time_s,
                2 * pass_s + added_s + 2 * one_way_s(M) + update_s, 1e-12);
    plan.zero = 1;
    assert_near(estimate(plan, 4, 2, layers[0], layers[1]).time_s,
                2 * pass_s + added_s + one_way_s(M) + last_s, 1e-12);
    plan.zero = 2;
    assert_near(estimate(plan, 4, 2, layers[0], layers[1]).time_s,
                2 * (pass_s + one_way_s(M)) + added_s / 4 + last_s, 1e-12);
    plan.bucket_bytes = UINT64_C(1) << 40; /* all at the end, one after the other */
    assert_near(estimate(plan, 4, 1, layers[0], layers[1]).time_s,
                pass_s + one_way_s(2 * M) + part_s + one_way_s(2 * M), 1e-12);
}

/* One micro-batch: there and back again, and both stages' update at once. The table of words that both have
 * is summed by two messages of half of it. */
static void stages_hand_on_what_they_make(void **state)
{
    const double there_s = 1e-6 + 1e6 / 1e9, tied_s = 2 * (1e-6 + M / 2 / 1e9);
    struct ll_layer_cost tied = layers[1];
    struct ll_parallel plan = plain();
    (void)state;
    tied.forward_read_bytes += M;
    plan.pipeline = 2;
    assert_near(estimate(plan, 1, 1, layers[0], layers[1]).time_s, pass_s + 2 * there_s + layers[0].update_s,
                1e-12);
    assert_near(estimate(plan, 1, 1, layers[0], tied).time_s,
                pass_s + 2 * there_s + layers[0].update_s + tied_s, 1e-12);
}

/* Two micro-batches, of which the first stage takes long to go back: it waits for the first one to pass the
 * other stage, and not for the second. What comes again comes with the way back, and half of what it takes to
 * add up gradients of two with each of them. */
static void a_stage_waits_for_the_first_gradient(void **state)
{
    const double there_s = 1e-6 + 1e6 / 1e9, half_added_s = M / memory_Bps, back_s = 0.100 + 0.005;
    struct ll_layer_cost slow = layers[0];
    struct ll_parallel plan = plain();
    (void)state;
    slow.backward_s = 0.100;
    plan.pipeline = 2;
    plan.recompute = LL_RECOMPUTE_FULL;
    assert_near(estimate(plan, 1, 2, slow, layers[1]).time_s,
                0.010 + there_s + (0.020 + 0.050 + 0.015 + half_added_s) + there_s +
                    2 * (back_s + half_added_s) + layers[0].update_s,
                1e-12);
}

/* Going back, the second layer has its peak beside what the first one keeps, and no gradients yet: 300 +
 * 30 MB. Those of a micro-batch before are there all along. */
static void the_peak_is_where_the_way_back_begins(void **state)
{
    const double lasting = 3 * 2 * M, gradients = 2 * M, carried = 3e6;
    struct ll_layer_cost large = layers[0];
    struct ll_parallel plan = plain();
    (void)state;
    assert_near(estimate(plan, 1, 1, layers[0], layers[1]).bytes, lasting + carried + 330e6, 1e-12);
    assert_near(estimate(plan, 1, 2, layers[0], layers[1]).bytes, lasting + 2 * carried + 330e6 + gradients,
                1e-12);
    large.peak_bytes = 400e6; /* by then there are the second layer's gradients */
    assert_near(estimate(plan, 1, 1, large, layers[1]).bytes, lasting + carried + 400e6 + M, 1e-12);
    plan.recompute = LL_RECOMPUTE_FULL; /* the first layer keeps 10 MB, of 240 that the second one needs */
    assert_near(estimate(plan, 1, 1, layers[0], layers[1]).bytes, lasting + carried + 250e6, 1e-12);
}

/* Three quarters of what is shared out lie with others: of the optimizer's state, of the gradients too, of
 * the weights too, of which those of a layer, or of two, are whole while they are used. The second layer's
 * gradients are whole when the first one's turn comes, but then less is kept. */
static void what_is_shared_out_lies_elsewhere(void **state)
{
    const double at_peak = 330e6 + 3e6;
    const double bytes[] = {3 * 2 * M, 2 * M + 4 * M / 4, 2 * M + 4 * M / 4, 6 * M / 4 + 2 * (M - M / 4)};
    struct ll_parallel plan = plain();
    (void)state;
    plan.overlap = true;
    for (plan.zero = 0; plan.zero <= 3; plan.zero++)
        assert_near(estimate(plan, 4, 1, layers[0], layers[1]).bytes, at_peak + bytes[plan.zero], 1e-12);
    plan.zero = 2;
    assert_near(estimate(plan, 4, 2, layers[0], layers[1]).bytes, at_peak + 3e6 + bytes[2] + 2 * M / 4,
                1e-12);
    plan.zero = 3;
    plan.overlap = false;
    assert_near(estimate(plan, 4, 1, layers[0], layers[1]).bytes, at_peak + bytes[3] - (M - M / 4), 1e-12);
    plan.zero = 0;
    plan.offload.optimizer = true;
    assert_near(estimate(plan, 4, 1, layers[0], layers[1]).bytes, at_peak + 2 * M, 1e-12);
}

/* The first of two stages keeps two micro-batches: 200 MB, 50 more at its peak. The second keeps one, of
 * 230 MB at its peak; with half of a table of words that is the first's, with the state of that, too. */
static void the_first_stage_keeps_two_passes(void **state)
{
    const double state_bytes = 4 * M;
    struct ll_layer_cost tied = layers[1];
    struct ll_parallel plan = plain();
    (void)state;
    tied.forward_read_bytes += M / 2;
    plan.pipeline = 2;
    assert_near(estimate(plan, 1, 2, layers[0], layers[1]).bytes, 250e6 + 2 * 1e6 + state_bytes, 1e-12);
    assert_near(estimate(plan, 1, 1, layers[0], layers[1]).bytes, 230e6 + 2e6 + state_bytes - M, 1e-12);
    assert_near(estimate(plan, 1, 1, layers[0], tied).bytes, 230e6 + 2e6 + state_bytes - M + 3 * M / 2,
                1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_alone_passes_and_updates),
        cmocka_unit_test(replicas_wait_for_the_last_sum),
        cmocka_unit_test(stages_hand_on_what_they_make),
        cmocka_unit_test(a_stage_waits_for_the_first_gradient),
        cmocka_unit_test(the_peak_is_where_the_way_back_begins),
        cmocka_unit_test(what_is_shared_out_lies_elsewhere),
        cmocka_unit_test(the_first_stage_keeps_two_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
