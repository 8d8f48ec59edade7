/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of steps on many devices, on random traces and plans. A law that fails prints its seed. */
#include "check.h"

#include "scene.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"
#include "tracer/transform/rescale.h"

enum { CASES = 60, DEVICES = 64 };

static const char yaml[] =
    "name: cluster\nclock: 1GHz\nunits:\n"
    "  - {name: array, model: matrix, count: 4, macs: {f32: 64}}\n"
    "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 2}}\n"
    "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n"
    "software: {op_overhead: 1us}\nhost: {bandwidth: 10GB/s}\n"
    "network:\n"
    "  - {name: inside, topology: switch, devices: 8, bandwidth: 20GB/s, latency: 1us, units_taken: 0.3}\n"
    "  - {name: outside, topology: switch, devices: 8, bandwidth: 5GB/s, latency: 5us, units_taken: 0.1}\n";

static struct ll_spread *spread(struct scene *scene, const struct ll_parallel *plan)
{
    struct ll_spread *spread = ll_spread_trace(scene->trace, plan, DEVICES, &scene->diags);
    if (!spread)
        fail_msg("%s", scene->diags.kept_count ? scene->diags.kept[0].message : "memory ran out");
    return spread;
}

static const struct ll_parallel_result *run(struct scene *scene, const struct ll_spread *spread)
{
    const struct ll_parallel_result *result =
        ll_parallel_run(spread, scene->machine, &scene->remembered, &scene->arena, &scene->diags);
    assert_non_null(result);
    return result;
}

/* As toy_trace draws them. */
static uint64_t toy_layers(uint64_t seed)
{
    return 1 + ll_random_below(&seed, TOY_LAYERS);
}

/* Replicas, stages and micro-batches, but never more stages than layers. */
static struct ll_parallel random_plan(uint64_t *random, uint64_t seed)
{
    struct ll_parallel plan = ll_plan_of_one();
    uint64_t layers = toy_layers(seed), micro_batches = 1 + ll_random_below(random, 4);
    plan.data = (uint64_t)1 << ll_random_below(random, 4);
    plan.pipeline = 1 + ll_random_below(random, ll_min(layers, 4));
    plan.schedule = (enum ll_schedule)ll_random_below(random, LL_SCHEDULE_INTERLEAVED);
    plan.zero = plan.data > 1 ? ll_random_below(random, 3) : 0;
    plan.overlap = ll_random_below(random, 2);
    plan.bucket_bytes = ll_random_below(random, 1 << 22);
    plan.micro_batch = 1;
    plan.batch = plan.data * micro_batches;
    return plan;
}

/* --- laws --- */

static void a_plan_of_one_is_the_replay_itself(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(51);
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        const struct ll_parallel plan = ll_plan_of_one();
        struct ll_spread *one = spread(&scene, &plan);
        const struct ll_parallel_result *many = run(&scene, one);
        const struct ll_prepared *prepared = ll_prepare(scene.trace, &scene.arena, &scene.diags);
        const struct ll_result *plain = ll_replay(prepared, scene.machine, &scene.arena, &scene.diags);
        assert_true(many->step_s == plain->time_s && many->result->time_s == plain->time_s);
        assert_memory_equal(many->result->shares, plain->shares, sizeof plain->shares);
        assert_memory_equal(many->result->ops, plain->ops,
                            (prepared->end_op - prepared->first_op) * sizeof *plain->ops);
        assert_int_equal(many->stages[0].memory_bytes, prepared->footprint.peak_bytes);
        ll_spread_free(one);
        close_scene(&scene);
    }
}

static void is_bounded(uint64_t seed)
{
    uint64_t random = seed;
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = random_plan(&random, seed + i);
        struct ll_spread *programs = spread(&scene, &plan);
        const struct ll_parallel_result *result = run(&scene, programs);
        double sum = 0, peak = ll_machine_peak_flops(scene.machine, LL_F32);
        for (unsigned b = 0; b < LL_BOUND_COUNT; b++)
            sum += result->result->shares[b];
        assert_near(sum, 1, 1e-9);
        assert_true(result->step_s >= result->flops / (double)programs->sizes.devices / peak);
        assert_true(result->bubble >= 0 && result->bubble < 1);
        for (uint64_t s = 0; s < plan.pipeline; s++)
            assert_true(result->step_s >= result->stages[s].busy_s * (1 - 1e-12));
        for (int t = 0; t < LL_TRAFFIC_COUNT; t++)
            assert_true(result->exposed_s[t] >= 0 && result->exposed_s[t] < result->step_s);
        assert_near(result->result->time_s, result->step_s, 0);
        double exposed_s = result->exposed_s[LL_TRAFFIC_TENSOR] + result->exposed_s[LL_TRAFFIC_DATA] +
                           result->exposed_s[LL_TRAFFIC_EXPERT];
        double shown_s = result->result->network.exposed_s; /* with what stages hand one another */
        assert_true(exposed_s <= shown_s * (1 + 1e-9));
        assert_true(shown_s <= (exposed_s + result->exposed_s[LL_TRAFFIC_PIPELINE]) * (1 + 1e-9));
        assert_true(shown_s <= result->result->network.busy_s * (1 + 1e-12));
        ll_spread_free(programs);
        close_scene(&scene);
    }
}

static void a_step_is_bounded_and_its_shares_sum_to_one(void **state)
{
    enum { ADDING_TAKES_LONGER_THAN_THE_TAIL = 25402 };
    (void)state;
    is_bounded(ll_seed(52));
    is_bounded(ADDING_TAKES_LONGER_THAN_THE_TAIL);
}

/* A kind of memory is never more than all, and all never more than the kinds, each at its worst. */
static void kinds_of_memory_have_their_own_peaks(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(56), random = seed;
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = random_plan(&random, seed + i);
        struct ll_spread *programs = spread(&scene, &plan);
        const struct ll_footprint *footprint = &run(&scene, programs)->result->prepared->footprint;
        uint64_t sum_bytes = 0;
        for (int kind = 0; kind < LL_HOLDS_COUNT; kind++) {
            assert_true(footprint->most_bytes[kind] <= footprint->peak_bytes);
            sum_bytes += footprint->most_bytes[kind];
        }
        assert_true(sum_bytes >= footprint->peak_bytes);
        assert_int_equal(footprint->most_bytes[LL_HOLDS_WEIGHTS], footprint->class_bytes[LL_WEIGHT]);
        ll_spread_free(programs);
        close_scene(&scene);
    }
}

/* Without sharded optimizers every op that counts is done once for each sample, updates on every replica. */
static void flops_are_conserved(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(53), random = seed;
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = random_plan(&random, seed + i);
        plan.zero = 0;
        struct ll_spread *programs = spread(&scene, &plan);
        const struct ll_prepared *whole = ll_prepare(scene.trace, &scene.arena, &scene.diags);
        double per_batch = 0, per_step = 0, steps = (double)whole->steps,
               m = (double)programs->sizes.micro_batches;
        for (uint32_t op = whole->first_op; op < whole->end_op; op++) {
            const struct ll_op_signature *signature =
                &scene.trace->signatures[scene.trace->ops[op].signature];
            *(signature->phase == LL_PHASE_UPDATE ? &per_step : &per_batch) +=
                (double)signature->flops / steps;
        }
        assert_near(run(&scene, programs)->flops, (double)plan.data * (m * per_batch + per_step), 1e-9);
        ll_spread_free(programs);
        close_scene(&scene);
    }
}

static void a_faster_network_is_never_slower(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(54), random = seed;
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = random_plan(&random, seed + i);
        struct ll_spread *programs = spread(&scene, &plan);
        double before_s = ll_parallel_time_s(programs, scene.machine, &scene.remembered, &scene.diags);
        scene.machine->networks[ll_random_below(&random, 2)].bandwidth_Bps *= 4;
        assert_true(ll_parallel_time_s(programs, scene.machine, &scene.remembered, &scene.diags) <=
                    before_s * (1 + 1e-12));
        ll_spread_free(programs);
        close_scene(&scene);
    }
}

/* One memory goes along from knob to knob, each of which frees its machine; the other begins anew. A knob
 * that is none of the network's brings no new price. */
static void what_is_remembered_changes_no_result(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(56), random = seed;
    for (uint64_t i = 0; i < CASES / 4; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = random_plan(&random, seed + i);
        struct ll_spread *programs = spread(&scene, &plan);
        run(&scene, programs);
        size_t count;
        const struct ll_knob *knobs = ll_machine_knobs(scene.machine, &scene.arena, &count);
        for (size_t k = 0; k < count; k++) {
            struct ll_machine *turned = ll_machine_turn(scene.machine, k);
            struct ll_remembered nothing = {0};
            uint32_t prices = scene.remembered.prices.keys.count;
            double kept_s = ll_parallel_time_s(programs, turned, &scene.remembered, &scene.diags);
            assert_true(kept_s == ll_parallel_time_s(programs, turned, &nothing, &scene.diags));
            if (strncmp(knobs[k].path, "network.", strlen("network.")) != 0)
                assert_int_equal(scene.remembered.prices.keys.count, prices);
            ll_remembered_release(&nothing);
            ll_machine_free(turned);
        }
        ll_spread_free(programs);
        close_scene(&scene);
    }
}

/* Replicas that tell one another everything in no time take as long as one of them alone. */
static void on_a_perfect_network_replicas_cost_nothing(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(55);
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = ll_plan_of_one();
        struct ll_spread *one = spread(&scene, &plan);
        plan.data = 16;
        struct ll_spread *replicas = spread(&scene, &plan);
        for (int l = 0; l < 2; l++) {
            scene.machine->networks[l].bandwidth_Bps = 1e30;
            scene.machine->networks[l].latency_s = 0;
        }
        assert_near(ll_parallel_time_s(replicas, scene.machine, &scene.remembered, &scene.diags),
                    ll_parallel_time_s(one, scene.machine, &scene.remembered, &scene.diags), 1e-9);
        ll_spread_free(one);
        ll_spread_free(replicas);
        close_scene(&scene);
    }
}

/* Nothing is faster where more devices are slower, nor slower than where all are; a factor of 1 changes not a
 * bit. */
static void slow_devices_only_lengthen_a_step(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(57), random = seed;
    for (uint64_t i = 0; i < CASES; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), yaml);
        struct ll_parallel plan = random_plan(&random, seed + i);
        struct ll_spread *programs = spread(&scene, &plan);
        double even_s = run(&scene, programs)->step_s, before_s = even_s;
        const struct ll_slow_share none = {0, 1}, no_slower = {0.5, 1};
        struct ll_slow_share *slow = i % 2 ? &programs->plan.stragglers : &programs->plan.slow_links;
        programs->plan.seed = seed + i;
        programs->plan.stragglers = programs->plan.slow_links = no_slower;
        assert_true(run(&scene, programs)->step_s == even_s);
        programs->plan.stragglers = programs->plan.slow_links = none;
        for (double share = 0.2; share < 1.1; share += 0.4) {
            *slow = (struct ll_slow_share){share, 2};
            const struct ll_parallel_result *result = run(&scene, programs);
            assert_true(result->even_s == even_s);
            assert_true(result->step_s >= before_s * (1 - 1e-12));
            assert_true(result->step_s <= 2 * even_s * (1 + 1e-9));
            before_s = result->step_s;
        }
        ll_spread_free(programs);
        close_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_of_one_is_the_replay_itself),
        cmocka_unit_test(a_step_is_bounded_and_its_shares_sum_to_one),
        cmocka_unit_test(kinds_of_memory_have_their_own_peaks),
        cmocka_unit_test(flops_are_conserved),
        cmocka_unit_test(a_faster_network_is_never_slower),
        cmocka_unit_test(what_is_remembered_changes_no_result),
        cmocka_unit_test(on_a_perfect_network_replicas_cost_nothing),
        cmocka_unit_test(slow_devices_only_lengthen_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
