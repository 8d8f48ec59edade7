/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of whole models on many devices. */
#include "check.h"

#include "dry_model.h"
#include "scene.h"
#include "sim/parallel/parallel.h"

#include <inttypes.h>
#include <math.h>

static const char yaml[] =
    "name: cluster\nclock: 1GHz\nunits:\n"
    "  - {name: array, model: matrix, count: 4, macs: {f32: 64, bf16: 128}}\n"
    "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, bf16: 2, i32: 2}}\n"
    "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n"
    "software: {op_overhead: 1us}\nhost: {bandwidth: 10GB/s}\n"
    "energy: {mac_pj: {f32: 2}, off_chip_pj: 10, static_w: 5}\n"
    "network:\n"
    "  - {name: inside, topology: switch, devices: 8, bandwidth: 20GB/s, latency: 1us, pj_per_byte: 10}\n"
    "  - {name: outside, topology: switch, devices: 8, bandwidth: 5GB/s, latency: 5us}\n";

/* Bytes of the fullest stage, and the gradients of them. */
static uint64_t held_bytes(struct scene *scene, const struct ll_parallel *plan, uint64_t *gradients)
{
    struct ll_spread *spread =
        ll_spread_trace(scene->trace, plan, ll_machine_devices(scene->machine), &scene->diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, scene->machine, &scene->remembered, &scene->arena, &scene->diags)
               : NULL;
    if (!result)
        fail_msg("%s", scene->diags.kept_count ? scene->diags.kept[0].message : "memory ran out");
    uint64_t bytes = result->stages[result->fullest].memory_bytes;
    *gradients = result->result->prepared->footprint.class_bytes[LL_GRADIENT];
    ll_spread_free(spread);
    return bytes;
}

/* How long the device's own ops take in a step with replicas on a network, sums of buckets beside them. */
static double computed_s(struct scene *scene, double bandwidth_Bps)
{
    struct ll_parallel plan = ll_plan_of_one();
    double sum_s = 0;
    plan.data = 2;
    plan.bucket_bytes = 0;
    for (int l = 0; l < 2; l++)
        scene->machine->networks[l].bandwidth_Bps = bandwidth_Bps;
    scene->machine->software.queue = 64;
    struct ll_spread *spread = ll_spread_trace(scene->trace, &plan, 2, &scene->diags);
    assert_non_null(spread);
    const struct ll_result *result =
        ll_parallel_run(spread, scene->machine, &scene->remembered, &scene->arena, &scene->diags)->result;
    for (uint32_t i = 0; i < result->prepared->end_op - result->prepared->first_op; i++)
        sum_s += result->ops[i].unit != LL_NO_UNIT ? result->ops[i].time_s : 0;
    ll_spread_free(spread);
    return sum_s;
}

/* The queue of ops to start is the device's: exchanges have their own, so that slow ones do not hold up what
 * does not wait for them. Starting an op then hides at least as well. */
static void slow_exchanges_do_not_hold_up_the_queue(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 1, settings, sizeof settings / sizeof *settings), yaml);
    double fast_s = computed_s(&scene, 1e15), slow_s = computed_s(&scene, 1e6);
    assert_true(slow_s <= fast_s * (1 + 1e-12));
    close_scene(&scene);
}

/* Replicas do the same: the energy of all is that of one, so many times. */
static void replicas_need_the_energy_of_one_each(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 1, settings, sizeof settings / sizeof *settings), yaml);
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = 4;
    plan.micro_batch = 1;
    plan.batch = 12;
    struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 4, &scene.diags);
    const struct ll_parallel_result *result =
        ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
    assert_true(result->result->energy_j > 0);
    assert_near(result->energy_j, 4 * result->result->energy_j, 1e-12);
    ll_spread_free(spread);
    close_scene(&scene);
}

static double time_of(struct scene *scene, const struct ll_spread *spread)
{
    return ll_parallel_time_s(spread, scene->machine, &scene->remembered, &scene->diags);
}

/* Programs that were made for one batch do for another of the same micro-batches, and for no other plan. */
static void programs_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 2, settings, sizeof settings / sizeof *settings), yaml);
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = plan.pipeline = 2;
    plan.micro_batch = 2;
    plan.batch = 8;
    struct ll_spread *taken = ll_spread_trace(scene.trace, &plan, 4, &scene.diags);
    double before_s = time_of(&scene, taken);
    plan.batch = 24;
    struct ll_spread *anew = ll_spread_trace(scene.trace, &plan, 4, &scene.diags);
    assert_true(ll_spread_take_batch(taken, &plan, 4));
    assert_true(time_of(&scene, taken) == time_of(&scene, anew));
    assert_true(time_of(&scene, taken) > before_s);
    assert_false(ll_spread_take_batch(taken, &plan, 2)); /* devices that there are */
    struct ll_parallel others[] = {plan, plan, plan, plan};
    others[0].batch = 25;
    others[1].zero = 1;
    others[2].micro_batch = 0;
    others[3].overlap = !plan.overlap;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(ll_spread_take_batch(taken, &others[i], 4));
    assert_int_equal(taken->plan.batch, 24);
    ll_spread_free(taken);
    ll_spread_free(anew);
    close_scene(&scene);
}

/* Rajbhandari et al., ZeRO, 2020, figure 1: what a stage leaves to other replicas is no longer here. That
 * holds too where the gradients of several micro-batches are added up. */
static void the_more_is_sharded_the_less_is_held(void **state)
{
    (void)state;
    static const struct {
        uint64_t data, tensor, pipeline, micro_batches;
        bool serial;
    } plans[] = {{2, 1, 1, 1, false}, {2, 1, 1, 4, false}, {4, 2, 1, 4, true},
                 {8, 1, 1, 2, true},  {2, 2, 2, 4, false}, {4, 1, 4, 8, false}};
    const struct ll_setting settings[] = {{"layers", "12"}, {"hidden", "256"},     {"heads", "4"},
                                          {"seq", "32"},    {"vocabulary", "512"}, {"dtype", "bf16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 1, settings, sizeof settings / sizeof *settings), yaml);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct ll_parallel plan = ll_plan_of_one();
        uint64_t before = UINT64_MAX, gradients[4];
        plan.data = plans[i].data;
        plan.tensor = plans[i].tensor;
        plan.pipeline = plans[i].pipeline;
        plan.overlap = !plans[i].serial;
        plan.bucket_bytes = 1 << 18;
        plan.micro_batch = 1;
        plan.batch = plan.data * plans[i].micro_batches;
        for (plan.zero = 0; plan.zero <= 3; plan.zero++) {
            uint64_t bytes = held_bytes(&scene, &plan, &gradients[plan.zero]);
            if (bytes >= before)
                fail_msg("plan %zu: ZeRO %" PRIu64 " holds %" PRIu64 " B, less sharded %" PRIu64 " B", i,
                         plan.zero, bytes, before);
            before = bytes;
        }
        assert_in_range(gradients[2], 0, gradients[1] / plan.data + gradients[1] / 4);
    }
    close_scene(&scene);
}

/* Between two stages that have the table of words both, its gradients are added: there are no replicas. */
static void shared_weights_are_the_pipelines_business(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 1, settings, sizeof settings / sizeof *settings), yaml);
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 2;
    struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 2, &scene.diags);
    const struct ll_parallel_result *result =
        ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
    assert_true(result->exposed_s[LL_TRAFFIC_DATA] == 0);
    assert_true(result->exposed_s[LL_TRAFFIC_PIPELINE] >= result->result->network.exposed_s);
    assert_true(result->result->network.exposed_s > 0);
    ll_spread_free(spread);
    close_scene(&scene);
}

static const struct ll_setting four_layers[] = {{"layers", "4"},     {"hidden", "64"},     {"heads", "4"},
                                                {"kv_heads", "4"},   {"ffn_hidden", "64"}, {"seq", "16"},
                                                {"vocabulary", "48"}};

/* Two stages of a device each: the one activation there, its gradient back, each over a switch, two links of
 * 1 us, at 20 GB/s. */
static void a_message_between_single_devices_takes_its_time(void **state)
{
    (void)state;
    struct scene scene =
        open_scene(dry_model("llama", true, 1, four_layers, sizeof four_layers / sizeof *four_layers), yaml);
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 2;
    struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 2, &scene.diags);
    const struct ll_parallel_result *result =
        ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
    assert_non_null(result);
    double both_s = 2 * (2e-6 + 16 * 64 * 4 / 20e9);
    assert_near(result->exposed_s[LL_TRAFFIC_PIPELINE], both_s, 1e-9);
    const struct ll_exposure *network = &result->result->network;
    assert_int_equal(network->count, 2);
    assert_near(network->busy_s, both_s, 1e-9);
    assert_near(network->exposed_s, both_s, 1e-9);
    assert_near(network->levels[0].busy_s, both_s, 1e-9);
    assert_near(network->levels[0].exposed_s, both_s, 1e-9);
    assert_near(network->levels[0].sent_bytes, 16 * 64 * 4, 1e-12); /* a device sends one of the two */
    ll_spread_free(spread);
    close_scene(&scene);
}

/* With each micro-batch a stage in the middle is handed two messages and hands two on. Three times in all two
 * stages tell each other something, both ways, and each time over both links of the switch. */
static void what_stages_hand_on_is_counted_with_each_micro_batch(void **state)
{
    (void)state;
    struct scene scene =
        open_scene(dry_model("llama", true, 1, four_layers, sizeof four_layers / sizeof *four_layers), yaml);
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 4;
    plan.micro_batch = 1;
    plan.batch = 6;
    struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 4, &scene.diags);
    const struct ll_parallel_result *result =
        ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
    assert_non_null(result);
    bool inner = result->slowest == 1 || result->slowest == 2;
    const struct ll_exposure *network = &result->result->network;
    assert_near(network->busy_s, 6 * (inner ? 4 : 2) * (2e-6 + 16 * 64 * 4 / 20e9), 1e-9);
    assert_near(network->levels[0].sent_bytes, 6 * (inner ? 2 : 1) * 16 * 64 * 4, 1e-12);
    assert_true(network->exposed_s > 0 && network->exposed_s <= network->busy_s);
    assert_near(result->energy.network_j, 6 * 3 * 2 * (16 * 64 * 4) * 2 * 10e-12, 1e-12);
    assert_near(result->result->energy.network_j, result->energy.network_j * (inner ? 2 : 1) / 6, 1e-12);
    assert_near(result->energy_j, ll_energy_sum(&result->energy), 1e-12);
    ll_spread_free(spread);
    close_scene(&scene);
}

/* Of four devices the middle two have no way to each other. */
/* Passes of a stage follow one another, the last of all and what comes after it end the step, and a stage's
 * memory is the sum of its classes. */
static void passes_are_those_of_the_step(void **state)
{
    (void)state;
    static const uint64_t chunks[] = {1, 2};
    for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
        struct scene scene = open_scene(
            dry_model("llama", true, 1, four_layers, sizeof four_layers / sizeof *four_layers), yaml);
        struct ll_parallel plan = ll_plan_of_one();
        plan.pipeline = 2;
        plan.chunks = chunks[k];
        plan.schedule = chunks[k] > 1 ? LL_SCHEDULE_INTERLEAVED : LL_SCHEDULE_ONE_F_ONE_B;
        plan.micro_batch = 1;
        plan.batch = 8;
        struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 2, &scene.diags);
        assert_non_null(spread);
        const struct ll_parallel_result *result =
            ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
        assert_non_null(result);
        uint64_t count;
        double end_s = 0;
        const struct ll_pass *passes = ll_parallel_passes(result, &scene.arena, &count);
        assert_int_equal(count, 2 * 8 * chunks[k]);
        for (uint64_t stage = 0; stage < 2; stage++) {
            const struct ll_pass *own = passes + stage * count;
            uint64_t bytes = 0;
            for (uint64_t i = 0; i < count; i++)
                assert_true(own[i].start_s >= (i ? own[i - 1].end_s * (1 - 1e-12) : 0));
            for (unsigned c = 0; c < LL_MEMORY_COUNT; c++)
                bytes += result->stages[stage].class_bytes[c];
            assert_int_equal(bytes, result->stages[stage].memory_bytes);
            assert_true(result->stages[stage].update_s > 0 &&
                        result->stages[stage].update_s <= result->stages[stage].tail_s);
            end_s = fmax(end_s, own[count - 1].end_s + result->stages[stage].tail_s);
        }
        assert_near(end_s, result->step_s, 1e-12);
        ll_spread_free(spread);
        close_scene(&scene);
    }
}

static void stages_that_cannot_reach_one_another_are_complained_about(void **state)
{
    (void)state;
    static const char apart[] =
        "name: pairs\nclock: 1GHz\nunits:\n"
        "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 2}}\n"
        "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n"
        "network:\n  - {name: wires, topology: edges, devices: 4, bandwidth: 1GB/s, edges: [0-1, 2-3]}\n";
    struct scene scene =
        open_scene(dry_model("llama", true, 1, four_layers, sizeof four_layers / sizeof *four_layers), apart);
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 4;
    struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 4, &scene.diags);
    assert_non_null(spread);
    assert_null(ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags));
    assert_true(scene.diags.kept_count > 0);
    assert_non_null(strstr(scene.diags.kept[0].message, "a message from device 0 to device 1"));
    ll_spread_free(spread);
    close_scene(&scene);
}

/* What all devices do is the whole, and once more for each further one what could not be divided: norms and
 * additions, which a share of the steps of time each make nothing of. */
static void what_could_not_be_divided_is_counted(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 1, settings, sizeof settings / sizeof *settings), yaml);
    double undivided_flops[2];
    for (int sequence = 0; sequence < 2; sequence++) {
        struct ll_parallel plan = ll_plan_of_one();
        plan.tensor = 4;
        plan.sequence = sequence;
        struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 4, &scene.diags);
        const struct ll_parallel_result *result =
            ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
        undivided_flops[sequence] = spread->undivided_flops;
        assert_near(result->flops, spread->whole_flops + 3 * spread->undivided_flops, 1e-12);
        ll_spread_free(spread);
    }
    assert_true(undivided_flops[0] > 0 && undivided_flops[1] < undivided_flops[0]);
    close_scene(&scene);
}

/* In how many pieces a step is done does not matter: what is computed takes its energy, once. */
static void each_op_takes_energy_as_often_as_it_is_done(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct scene scene =
        open_scene(dry_model("gpt", true, 1, settings, sizeof settings / sizeof *settings), yaml);
    for (uint64_t micro = 1; micro <= 8; micro *= 2) {
        struct ll_parallel plan = ll_plan_of_one();
        plan.pipeline = 2;
        plan.batch = 8;
        plan.micro_batch = micro;
        struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, 2, &scene.diags);
        const struct ll_parallel_result *result =
            ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags);
        assert_near(result->energy.compute_j, 1e-12 * result->flops, 1e-9); /* 2 pJ for two FLOPs */
        ll_spread_free(spread);
    }
    close_scene(&scene);
}

static double slowed_s(struct scene *scene, struct ll_parallel plan, double slow_devices, double slow_links)
{
    plan.stragglers = (struct ll_slow_share){slow_devices, 1.5};
    plan.slow_links = (struct ll_slow_share){slow_links, 3};
    struct ll_spread *spread =
        ll_spread_trace(scene->trace, &plan, ll_machine_devices(scene->machine), &scene->diags);
    double time_s = time_of(scene, spread);
    ll_spread_free(spread);
    return time_s;
}

/* Where all wait for all in each step, or all are slow, computing takes as many times as long as it does on a
 * slow device. Messages and input take no time here, nor does the software. */
static void one_slow_device_of_a_group_slows_all_of_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t data, tensor, pipeline, zero;
        double share; /* of 8 devices */
    } cases[] = {{1, 1, 1, 0, 1},    {8, 1, 1, 0, 0.125}, {1, 8, 1, 0, 0.125},
                 {2, 4, 1, 2, 0.01}, {2, 2, 2, 0, 1},     {2, 1, 4, 2, 1}};
    const struct ll_setting settings[] = {{"layers", "4"}, {"hidden", "64"}, {"heads", "8"}, {"seq", "16"}};
    struct scene scene =
        open_scene_set(dry_model("gpt", true, 2, settings, sizeof settings / sizeof *settings), yaml,
                       "software.op_overhead", "0us");
    scene.machine->host.bandwidth_Bps = 1e30;
    for (int l = 0; l < 2; l++) {
        scene.machine->networks[l].bandwidth_Bps = 1e30;
        scene.machine->networks[l].latency_s = 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_parallel plan = ll_plan_of_one();
        plan.data = cases[i].data;
        plan.tensor = cases[i].tensor;
        plan.pipeline = cases[i].pipeline;
        plan.zero = cases[i].zero;
        plan.micro_batch = 1;
        assert_near(slowed_s(&scene, plan, cases[i].share, 0), 1.5 * slowed_s(&scene, plan, 0, 0), 1e-9);
    }
    close_scene(&scene);
}

/* A message goes over the links of both of its ends. Those of one device of two stages are as slow as those
 * of both. */
static void messages_over_slow_links_take_longer(void **state)
{
    (void)state;
    struct scene scene =
        open_scene(dry_model("llama", true, 1, four_layers, sizeof four_layers / sizeof *four_layers), yaml);
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = 2;
    double both_s = 2 * (2e-6 + 16 * 64 * 4 / 20e9), even_s = slowed_s(&scene, plan, 0, 0);
    assert_near(slowed_s(&scene, plan, 0, 1) - even_s, (3 - 1) * both_s, 1e-9);
    assert_near(slowed_s(&scene, plan, 0, 0.5) - even_s, (3 - 1) * both_s, 1e-9);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_exchanges_do_not_hold_up_the_queue),
        cmocka_unit_test(replicas_need_the_energy_of_one_each),
        cmocka_unit_test(each_op_takes_energy_as_often_as_it_is_done),
        cmocka_unit_test(shared_weights_are_the_pipelines_business),
        cmocka_unit_test(a_message_between_single_devices_takes_its_time),
        cmocka_unit_test(what_stages_hand_on_is_counted_with_each_micro_batch),
        cmocka_unit_test(passes_are_those_of_the_step),
        cmocka_unit_test(stages_that_cannot_reach_one_another_are_complained_about),
        cmocka_unit_test(what_could_not_be_divided_is_counted),
        cmocka_unit_test(programs_do_not_depend_on_the_batch),
        cmocka_unit_test(the_more_is_sharded_the_less_is_held),
        cmocka_unit_test(one_slow_device_of_a_group_slows_all_of_it),
        cmocka_unit_test(messages_over_slow_links_take_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
