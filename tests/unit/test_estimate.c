/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and memory of two layers, put together by hand: four replicas, or two stages. */
#include "check.h"
#include "toy_machine.h"

#include "sim/parallel/pipeline.h"

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

/* Of so many layers on so many replicas, each with so many micro-batches. */
static struct estimated estimate_layers(const char *yaml, struct ll_parallel plan, uint64_t replicas,
                                        uint64_t micro_batches, struct ll_layer_cost *at, uint32_t count)
{
    const struct ll_layer_costs costs = {.at = at, .count = count};
    struct ll_arena arena = {0};
    struct ll_prices prices = {0};
    struct ll_machine *machine = ll_toy_machine(yaml);
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &prices);
    struct ll_estimator e;
    plan.data = replicas;
    plan.micro_batch = 1;
    plan.batch = replicas * micro_batches;
    assert_true(exchanges && ll_estimator_open(&e, machine, exchanges, count, 2, &arena));
    assert_true(ll_estimate_divide(&e, &costs, &plan));
    ll_estimate_count(&e, &costs, &plan);
    ll_estimate_share(&e, &costs, &plan);
    struct estimated estimated = {ll_estimate_s(&e, &costs, &plan), ll_estimate_bytes(&e, &plan)};
    ll_estimate_count(&e, &costs, &plan); /* again, with what the time before has left */
    ll_estimate_share(&e, &costs, &plan);
    assert_true(estimated.time_s == ll_estimate_s(&e, &costs, &plan));
    assert_true(estimated.bytes == ll_estimate_bytes(&e, &plan));
    assert_true(ll_estimate_bound_s(&e, &plan) <= estimated.time_s);
    assert_false(e.failed);
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    ll_machine_free(machine);
    ll_arena_release(&arena);
    return estimated;
}

/* Of two layers. */
static struct estimated estimate(struct ll_parallel plan, uint64_t replicas, uint64_t micro_batches,
                                 struct ll_layer_cost first, struct ll_layer_cost second)
{
    struct ll_layer_cost at[2] = {first, second};
    return estimate_layers(four, plan, replicas, micro_batches, at, 2);
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
    plan.zero = 3; /* of the weights, only those that are gathered first show, either way */
    assert_near(estimate(plan, 4, 1, layers[0], layers[1]).time_s,
                pass_s + 2 * one_way_s(M) + one_way_s(M) + part_s, 1e-12);
    plan.zero = 1;
    struct ll_layer_cost slow = layers[1];
    slow.update_s = 0.100; /* longer than the gathering, of which half follows */
    assert_near(estimate(plan, 4, 1, layers[0], slow).time_s,
                pass_s + one_way_s(M) + update_start_s + (0.104 - update_start_s) / 4 + one_way_s(2 * M) / 2,
                1e-12);
    plan.zero = 2;
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

/* Layers that do not compute alike: the first is a stage by itself. The other stage, which has a weight of
 * the first, is at its updates still when that is done. */
static void a_stage_has_as_much_to_compute(void **state)
{
    const double there_s = 1e-6 + 1e6 / 1e9, tied_s = 2 * (1e-6 + M / 2 / 1e9);
    struct ll_layer_cost three[] = {layers[0], layers[1], layers[1]};
    struct ll_parallel plan = plain();
    (void)state;
    three[0].flops = three[0].named_flops = 2;
    three[1].update_s = three[2].update_s = 0.5;
    three[2].forward_read_bytes += M;
    plan.pipeline = 2;
    assert_near(estimate_layers(four, plan, 1, 1, three, 3).time_s,
                0.010 + there_s + 2 * (0.020 + 0.050) + 2 * 0.5 + tied_s, 1e-12);
}

/* Stages lie two devices apart, on the slow links outside. Of what they have in common each replica adds up
 * the half of which it has the state. */
static void stages_lie_farther_apart_than_replicas(void **state)
{
    static const char two_by_two[] =
        LL_TOY_MACHINE "network:\n"
                       "  - {name: in, topology: full, devices: 2, bandwidth: 1GB/s, latency: 1us}\n"
                       "  - {name: out, topology: full, devices: 2, bandwidth: 100MB/s, latency: 10us}\n"
                       "software: {collectives: ring}\n";
    const double there_s = 10e-6 + 1e6 / 100e6, tied_s = 2 * (10e-6 + M / 2 / 2 / 100e6),
                 one_way_s = 1e-6 + M / 2 / 1e9;
    struct ll_layer_cost two[] = {layers[0], layers[1]};
    struct ll_parallel plan = plain();
    (void)state;
    two[0].update_s = two[0].update_start_s = two[1].update_s = two[1].update_start_s = 0;
    two[1].forward_read_bytes += M;
    plan.pipeline = 2;
    plan.zero = 1;
    assert_near(estimate_layers(two_by_two, plan, 2, 1, two, 2).time_s,
                pass_s + 2 * there_s + 2 * one_way_s + tied_s, 1e-12);
    plan.zero = 0; /* a sum is gathered as well, and all of what is common is added up */
    assert_near(estimate_layers(two_by_two, plan, 2, 1, two, 2).time_s,
                pass_s + 2 * there_s + 2 * one_way_s + 2 * (10e-6 + M / 2 / 100e6), 1e-12);
}

/* Four layers alike on two stages of two pieces each: a step of m micro-batches takes as long as m + (p - 1)
 * / v of a stage (Narayanan et al., 2021), and the updates of a stage. Of its pieces the first stage keeps
 * four passes, and has the peak of its first layer beside; what a piece keeps is not of the other one's peak.
 * */
static void pieces_of_a_stage_take_turns(void **state)
{
    struct ll_layer_cost equal[] = {layers[0], layers[0], layers[0], layers[0]};
    struct ll_parallel plan = plain();
    (void)state;
    for (int i = 0; i < 4; i++)
        equal[i].handed_bytes = equal[i].state.gradient = 0;
    plan.pipeline = plan.chunks = 2;
    plan.schedule = LL_SCHEDULE_INTERLEAVED;
    assert_near(estimate_layers(four, plan, 1, 2, equal, 4).time_s,
                (2 + 1.0 / 2) * 2 * (0.010 + 0.030) + 2 * layers[0].update_s, 1e-12);
    equal[0].peak_bytes = 170e6;
    assert_near(estimate_layers(four, plan, 1, 2, equal, 4).bytes,
                2 * (M + 2 * M) + 2 * 2 * 1e6 + 4 * 100e6 + (170e6 - 100e6), 1e-12);
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
    plan.recompute = LL_RECOMPUTE_NONE;
    assert_near(estimate(plan, 1, 2, slow, layers[1]).time_s,
                0.010 + there_s + (0.020 + 0.050 + half_added_s) + there_s + 2 * (0.100 + half_added_s) +
                    layers[0].update_s,
                1e-12);
    struct ll_layer_cost split[] = {slow, slow, layers[1]}; /* two layers that are together as slow */
    split[0].forward_s = 0.004, split[1].forward_s = 0.006;
    split[0].backward_s = 0.070, split[1].backward_s = 0.030;
    split[0].update_s = split[1].update_s = layers[0].update_s / 2;
    split[0].state.gradient = split[1].state.gradient = M / 2;
    assert_near(estimate_layers(four, plan, 1, 2, split, 3).time_s,
                estimate(plan, 1, 2, slow, layers[1]).time_s, 1e-12);
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
    assert_near(estimate(plan, 1, 2, large, layers[1]).bytes, lasting + 2 * carried + 400e6 + gradients,
                1e-12);
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

/* What a layer has besides what it keeps is there until its end, when gradients are in the place of that. */
static void gradients_take_the_place_of_what_was_kept(void **state)
{
    struct ll_layer_cost small = layers[0], large = layers[1];
    (void)state;
    small.kept_bytes = small.peak_bytes = large.kept_bytes = 1e6;
    large.peak_bytes = 50e6;
    assert_near(estimate(plain(), 1, 1, small, large).bytes, 3 * 2 * M + 3e6 + 1e6 + (50e6 - 1e6) + M, 1e-12);
}

/* Three layers, of which the first has the peak and the second twice as large gradients; four replicas, which
 * share out the state. When the first one's turn comes the gradients of the others have been made: quarters
 * are there of both, and three quarters that wait for their exchange, of both in a large bucket, of the last
 * made in one that the other fills. */
static void gradients_wait_for_their_bucket(void **state)
{
    const double shared = 3 * M + 3 * 2 * M / 4 + 3 * M / 4, last = 3 * 2 * M / 4, other = 3 * M / 4;
    struct ll_layer_cost three[] = {layers[0], layers[0], layers[0]};
    struct ll_parallel plan = plain();
    (void)state;
    three[0].peak_bytes = 400e6;
    three[1].state.gradient = 2 * M;
    plan.zero = 2;
    plan.bucket_bytes = UINT64_C(1) << 40;
    assert_near(estimate_layers(four, plan, 4, 1, three, 3).bytes, 400e6 + 3e6 + shared + last + other,
                1e-12);
    plan.bucket_bytes = (uint64_t)other + 1;
    assert_near(estimate_layers(four, plan, 4, 1, three, 3).bytes, 400e6 + 3e6 + shared + last + other,
                1e-12);
    plan.bucket_bytes = (uint64_t)other;
    assert_near(estimate_layers(four, plan, 4, 1, three, 3).bytes, 400e6 + 3e6 + shared + last, 1e-12);
}

/* The last layer has twice the weights of the first, of which it reads half in one of its passes. */
static void weights_are_whole_where_a_pass_reads_them(void **state)
{
    struct ll_parallel plan = plain();
    (void)state;
    plan.zero = 3;
    for (int pass = 0; pass < 2; pass++) {
        struct ll_layer_cost twice = layers[1];
        twice.state = (struct ll_state_bytes){2 * M, 4 * M, 2 * M};
        twice.forward_read_bytes = pass == 0 ? 2 * M : M;
        twice.backward_read_bytes = pass == 0 ? M : 2 * M;
        const double shared = 9 * M / 4, gathered = 2 * M - 2 * M / 4, ahead = M - M / 4;
        plan.overlap = false;
        assert_near(estimate(plan, 4, 1, layers[0], twice).bytes, 330e6 + 3e6 + shared + gathered, 1e-12);
        plan.overlap = true;
        assert_near(estimate(plan, 4, 1, layers[0], twice).bytes, 330e6 + 3e6 + shared + gathered + ahead,
                    1e-12);
    }
}

/* Half of each layer is of experts, which lie on two replicas each pair: these two share it out, four the
 * rest, so that of the whole 1/2 x 1/4 + 1/2 x 1/2 lie on each. */
static void experts_are_shared_out_by_those_that_have_them(void **state)
{
    const double part = 3.0 / 8, at_peak = 330e6 + 3e6;
    struct ll_layer_cost two[] = {layers[0], layers[1]};
    struct ll_parallel plan = plain();
    (void)state;
    for (int i = 0; i < 2; i++)
        two[i].of_experts = (struct ll_state_bytes){M / 2, M, M / 2};
    plan.expert = 2;
    plan.zero = 1;
    assert_near(estimate(plan, 4, 1, two[0], two[1]).bytes, at_peak + 2 * M + part * 4 * M, 1e-12);
    plan.zero = 2;
    assert_near(estimate(plan, 4, 2, two[0], two[1]).bytes,
                at_peak + 3e6 + 2 * M + part * 4 * M + part * 2 * M, 1e-12);
    plan.zero = 3;
    assert_near(estimate(plan, 4, 1, two[0], two[1]).bytes, at_peak + part * 6 * M + (M - part * M), 1e-12);
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
    plan.pipeline = 1; /* where they are on one device there is one table */
    assert_near(estimate(plan, 1, 1, layers[0], tied).bytes, estimate(plan, 1, 1, layers[0], layers[1]).bytes,
                1e-12);
    plan.pipeline = 2;
    tied.forward_read_bytes += 5 * M; /* no more than the first has */
    assert_near(estimate(plan, 1, 1, layers[0], tied).bytes, 230e6 + 2e6 + state_bytes - M + 3 * M, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_alone_passes_and_updates),
        cmocka_unit_test(replicas_wait_for_the_last_sum),
        cmocka_unit_test(stages_hand_on_what_they_make),
        cmocka_unit_test(a_stage_has_as_much_to_compute),
        cmocka_unit_test(stages_lie_farther_apart_than_replicas),
        cmocka_unit_test(pieces_of_a_stage_take_turns),
        cmocka_unit_test(a_stage_waits_for_the_first_gradient),
        cmocka_unit_test(the_peak_is_where_the_way_back_begins),
        cmocka_unit_test(gradients_take_the_place_of_what_was_kept),
        cmocka_unit_test(gradients_wait_for_their_bucket),
        cmocka_unit_test(weights_are_whole_where_a_pass_reads_them),
        cmocka_unit_test(experts_are_shared_out_by_those_that_have_them),
        cmocka_unit_test(what_is_shared_out_lies_elsewhere),
        cmocka_unit_test(the_first_stage_keeps_two_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
