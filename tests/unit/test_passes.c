/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on between the passes of a step: messages and memory. */
#include "check.h"

#include "dry_model.h"
#include "scene.h"
#include "sim/parallel/parallel.h"

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

static const struct ll_setting four_layers[] = {{"layers", "4"},     {"hidden", "64"},     {"heads", "4"},
                                                {"kv_heads", "4"},   {"ffn_hidden", "64"}, {"seq", "16"},
                                                {"vocabulary", "48"}};

/* A step of a language model in a pipeline. */
struct step {
    struct scene scene;
    struct ll_spread *spread;
    const struct ll_parallel_result *result;
    const struct ll_pass *passes;
    uint64_t per_stage, stages;
};

static struct step open_step(uint64_t stages, enum ll_schedule schedule, uint64_t chunks)
{
    struct step step = {
        .scene = open_scene(
            dry_model("llama", true, 1, four_layers, sizeof four_layers / sizeof *four_layers), yaml),
        .stages = stages};
    struct scene *scene = &step.scene;
    struct ll_parallel plan = ll_plan_of_one();
    plan.pipeline = stages;
    plan.schedule = schedule;
    plan.chunks = chunks;
    plan.micro_batch = 1;
    plan.batch = 8;
    step.spread = ll_spread_trace(scene->trace, &plan, stages, &scene->diags);
    assert_non_null(step.spread);
    step.result =
        ll_parallel_run(step.spread, scene->machine, &scene->remembered, &scene->arena, &scene->diags);
    assert_non_null(step.result);
    step.passes = ll_parallel_passes(step.result, &scene->arena, &step.per_stage);
    assert_non_null(step.passes);
    return step;
}

static void close_step(struct step *step)
{
    ll_spread_free(step->spread);
    close_scene(&step->scene);
}

static const struct {
    uint64_t stages, chunks;
    enum ll_schedule schedule;
} plans[] = {{1, 1, LL_SCHEDULE_ONE_F_ONE_B}, {2, 1, LL_SCHEDULE_ONE_F_ONE_B},
             {4, 1, LL_SCHEDULE_ONE_F_ONE_B}, {2, 1, LL_SCHEDULE_GPIPE},
             {4, 1, LL_SCHEDULE_GPIPE},       {2, 2, LL_SCHEDULE_INTERLEAVED}};
enum { PLANS = sizeof plans / sizeof *plans };

/* A message leaves when its pass has ended and is there before the pass that needs it; each pass but those of
 * the first virtual stage, and of the last one on the way back, gets one. */
static void messages_join_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLANS; i++) {
        struct step step = open_step(plans[i].stages, plans[i].schedule, plans[i].chunks);
        uint64_t count;
        const struct ll_pass_message *messages =
            ll_parallel_messages(step.result, step.passes, step.per_stage, &step.scene.arena, &count);
        assert_non_null(messages);
        assert_int_equal(count, 2 * 8 * (plans[i].stages * plans[i].chunks - 1));
        for (uint64_t m = 0; m < count; m++) {
            const struct ll_pass *from = &step.passes[messages[m].from], *to = &step.passes[messages[m].to];
            assert_true(messages[m].start_s >= from->end_s && messages[m].end_s > messages[m].start_s);
            assert_true(messages[m].end_s <= to->start_s * (1 + 1e-12));
            assert_int_equal(from->micro_batch, to->micro_batch);
            assert_true(from->backward == messages[m].backward && to->backward == messages[m].backward);
        }
        close_step(&step);
    }
}

/* What plan and sim say of a stage's memory is the most that any of its passes has. */
static void the_peak_of_a_stage_is_that_of_a_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLANS; i++) {
        struct step step = open_step(plans[i].stages, plans[i].schedule, plans[i].chunks);
        const struct ll_pass_bytes *bytes =
            ll_parallel_pass_bytes(step.result, step.passes, step.per_stage, &step.scene.arena);
        assert_non_null(bytes);
        for (uint64_t s = 0; s < step.stages; s++) {
            uint64_t most = 0;
            for (uint64_t k = s * step.per_stage; k < (s + 1) * step.per_stage; k++) {
                assert_true(bytes[k].after <= bytes[k].most);
                most = bytes[k].most > most ? bytes[k].most : most;
            }
            assert_int_equal(most, step.result->stages[s].memory_bytes);
        }
        close_step(&step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_join_passes),
        cmocka_unit_test(the_peak_of_a_stage_is_that_of_a_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
