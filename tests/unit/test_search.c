/* SPDX-License-Identifier: Apache-2.0 */
/* Searches small enough to be done by hand as well: every plan simulated. */
#include "check.h"

#include "dry_model.h"
#include "scene.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/parallel.h"
#include "toy_trace.h"
#include "tracer/transform/rescale.h"

enum { DEVICES = 8, BATCH = 32 };

#define MACHINE                                                                                              \
    "name: cluster\nclock: 1GHz\nunits:\n"                                                                   \
    "  - {name: array, model: matrix, count: 4, macs: {f32: 64}}\n"                                          \
    "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 2}}\n"                                  \
    "host: {bandwidth: 10GB/s}\n"                                                                            \
    "network:\n  - {name: link, topology: switch, devices: 8, bandwidth: 5GB/s, latency: 5us}\n"
static const char large[] = MACHINE "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n";
static const char small[] = MACHINE "memory:\n  - {name: dram, size: 64KiB, bandwidth: 100GB/s}\n";

static const struct ll_search_result *search(struct scene *scene)
{
    const struct ll_plan_search wanted = {.devices = DEVICES, .batch = BATCH, .simulated = 10};
    const struct ll_search_result *result =
        ll_search_plans(scene->trace, scene->machine, &wanted, &scene->arena, &scene->diags);
    assert_non_null(result);
    return result;
}

/* INFINITY where there is no such plan. */
static double simulated_s(struct scene *scene, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    struct ll_spread *spread = ll_spread_trace(scene->trace, plan, DEVICES, &diags);
    double time_s =
        spread ? ll_parallel_time_s(spread, scene->machine, &scene->remembered, &diags) : INFINITY;
    ll_spread_free(spread);
    ll_diags_release(&diags);
    return time_s;
}

/* All replicas, stages and micro-batches, one after the other. */
static double best_by_hand_s(struct scene *scene)
{
    double best_s = INFINITY;
    for (uint64_t stages = 1; stages <= DEVICES; stages *= 2)
        for (uint64_t tensor = 1; tensor * stages <= DEVICES; tensor *= 2)
            for (uint64_t micro = 1; micro <= BATCH; micro *= 2) {
                struct ll_parallel plan = ll_plan_of_one();
                plan.pipeline = stages;
                plan.tensor = tensor;
                plan.data = DEVICES / stages / tensor;
                plan.batch = BATCH;
                plan.micro_batch = micro;
                best_s = fmin(best_s, simulated_s(scene, &plan));
            }
    return best_s;
}

static void the_best_is_as_good_as_the_best_by_hand(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(61);
    for (uint64_t i = 0; i < 12 / ONE_IN; i++) {
        struct scene scene = open_scene(toy_trace(seed + i), large);
        const struct ll_search_result *result = search(&scene);
        const struct ll_found_plan *best = &result->found[0];
        assert_true(result->found_count > 0 && best->step_s > 0);
        double by_hand_s = best_by_hand_s(&scene);
        if (best->step_s > by_hand_s * 1.02)
            fail_msg("%g s, by hand %g s", best->step_s, by_hand_s);
        assert_true(best->step_s == simulated_s(&scene, &best->plan));
        close_scene(&scene);
    }
}

static void what_is_found_is_in_order_and_all_is_counted(void **state)
{
    (void)state;
    struct scene scene = open_scene(toy_trace(ll_seed(62)), large);
    const struct ll_search_result *r = search(&scene);
    assert_int_equal(r->considered, r->too_large + r->estimated);
    for (uint64_t i = 1; i < r->found_count; i++) {
        const struct ll_found_plan *a = &r->found[i - 1], *b = &r->found[i];
        assert_true(a->step_s > 0 || b->step_s == 0);
        assert_true(a->step_s > 0 && b->step_s > 0
                        ? a->step_s <= b->step_s
                        : b->step_s == 0 && (a->step_s > 0 || a->estimate_s <= b->estimate_s));
        assert_int_equal(ll_replicas(&b->plan) * b->plan.tensor * b->plan.pipeline, DEVICES);
    }
    close_scene(&scene);
}

static void nothing_is_found_where_nothing_fits(void **state)
{
    (void)state;
    struct scene scene = open_scene(toy_trace(ll_seed(63)), small);
    const struct ll_search_result *result = search(&scene);
    assert_int_equal(result->found_count, 0);
    assert_true(result->too_large > 0);
    assert_true(result->least_bytes > 64 * 1024 && result->least_bytes < INFINITY);
    close_scene(&scene);
}

/* Plans that differ in it alone would be as fast and as large as one another. */
static void an_inference_has_no_state_to_share_out_and_keeps_nothing(void **state)
{
    const struct ll_setting sizes[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "8"}, {"vocabulary", "100"}, {"seq", "16"}};
    (void)state;
    struct scene scene = open_scene(dry_model("gpt", false, 2, sizes, 5), large);
    const struct ll_search_result *result = search(&scene);
    assert_true(result->found_count > 0);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_parallel *plan = &result->found[i].plan;
        assert_true(plan->zero == 0 || plan->zero == 3);
        assert_int_equal(plan->recompute, LL_RECOMPUTE_NONE);
        assert_false(plan->offload.optimizer);
    }
    close_scene(&scene);
}

/* In the least memory, by steps of a sixteenth, in which there is a plan, the optimizer's state is on the
 * host. */
static void where_little_fits_the_host_keeps_the_state(void **state)
{
    const struct ll_setting sizes[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "8"}, {"vocabulary", "100"}, {"seq", "16"}};
    bool found = false;
    (void)state;
    for (double kibibytes = 64; !found; kibibytes *= 17.0 / 16) {
        char yaml[1024];
        snprintf(yaml, sizeof yaml, "%smemory:\n  - {name: dram, size: %.0fKiB, bandwidth: 100GB/s}\n",
                 MACHINE, kibibytes);
        struct scene scene = open_scene(dry_model("gpt", true, 2, sizes, 5), yaml);
        const struct ll_search_result *result = search(&scene);
        const struct ll_found_plan *best = &result->found[0];
        found = result->found_count > 0 && best->step_s > 0;
        assert_int_equal(result->considered, result->too_large + result->estimated);
        assert_true(!found || best->plan.offload.optimizer);
        assert_true(!found || (double)best->memory_bytes <= kibibytes * 1024);
        close_scene(&scene);
        assert_true(kibibytes < 1 << 20);
    }
}

/* All ways of stages, products and sequences for a sample or two. */
static double best_with_sequences_s(struct scene *scene, uint64_t batch)
{
    double best_s = INFINITY;
    for (uint64_t stages = 1; stages <= 2; stages++)
        for (uint64_t tensor = 1; tensor <= 2; tensor++)
            for (uint64_t context = 1; context <= DEVICES / stages / tensor; context *= 2) {
                struct ll_parallel plan = ll_plan_of_one();
                plan.pipeline = stages;
                plan.tensor = tensor;
                plan.context = context;
                plan.data = DEVICES / stages / tensor / context;
                plan.batch = batch;
                plan.micro_batch = 1;
                best_s = fmin(best_s, simulated_s(scene, &plan));
            }
    return best_s;
}

/* Two layers of two heads: four devices at most share a sample otherwise. */
static void sequences_are_shared_where_samples_are_few(void **state)
{
    const struct ll_setting sizes[] = {{"layers", "2"},       {"hidden", "128"},    {"heads", "2"},
                                       {"ffn_hidden", "256"}, {"seq", "1024"},      {"kv_heads", "2"},
                                       {"fused", "1"},        {"vocabulary", "128"}};
    (void)state;
    for (uint64_t batch = 1; batch <= 2; batch++) {
        struct scene scene = open_scene(dry_model("llama", true, 1, sizes, 8), large);
        const struct ll_plan_search wanted = {.devices = DEVICES, .batch = batch, .simulated = 10};
        const struct ll_search_result *result =
            ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
        assert_non_null(result);
        assert_true(result->found_count > 0);
        const struct ll_found_plan *best = &result->found[0];
        assert_true(best->plan.context > 1);
        assert_int_equal(ll_replicas(&best->plan) * best->plan.tensor * best->plan.pipeline, DEVICES);
        assert_true(best->step_s == simulated_s(&scene, &best->plan));
        double by_hand_s = best_with_sequences_s(&scene, batch);
        if (best->step_s > by_hand_s * 1.02)
            fail_msg("%g s, by hand %g s", best->step_s, by_hand_s);
        close_scene(&scene);
    }
}

/* A rank's share at this batch, recomputing what attention makes. */
static struct ll_trace *share_of(const struct ll_trace *trace, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    const char *trouble;
    struct ll_trace *share = ll_shard(trace, plan, &diags);
    assert_non_null(share);
    struct ll_trace *of_sequences = ll_share_context(share, plan, &diags);
    assert_non_null(of_sequences);
    struct ll_trace *again = ll_recompute(of_sequences, plan->recompute, &trouble);
    assert_non_null(again);
    ll_trace_free(share);
    ll_trace_free(of_sequences);
    ll_diags_release(&diags);
    return again;
}

/* A search makes a program once and takes it to all micro-batches. */
static void sharing_products_and_another_batch_go_in_any_order(void **state)
{
    (void)state;
    const struct ll_setting sizes[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "8"}, {"vocabulary", "100"}, {"seq", "16"}};
    struct ll_trace *gpt = dry_model("gpt", true, 2, sizes, 5);
    for (int i = 0; i < 24; i++) {
        struct ll_parallel plan = ll_plan_of_one();
        const char *trouble;
        plan.context = i % 2 ? 4 : 1;
        plan.tensor = (uint64_t)1 << i / 2 % 3;
        plan.sequence = i / 6 % 2 && plan.tensor > 1;
        plan.recompute = i / 12 ? LL_RECOMPUTE_SELECTIVE : LL_RECOMPUTE_NONE;
        struct ll_trace *larger = ll_trace_rescale(gpt, 6, &trouble);
        struct ll_trace *a = share_of(larger, &plan), *share = share_of(gpt, &plan);
        struct ll_trace *b = ll_trace_rescale(share, 6, &trouble);
        assert_non_null(b);
        assert_true(ll_same_program(a, b));
        ll_trace_free(larger);
        ll_trace_free(share);
        ll_trace_free(a);
        ll_trace_free(b);
    }
    ll_trace_free(gpt);
}

/* Else plans of a stage whose estimate is low take the places of better ones. The table of words, which is
 * most of the weights, is gathered whole for the first layer and for the last. */
static void estimates_err_alike_for_all_stages_of_zero(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {
        {"layers", "3"}, {"hidden", "256"}, {"heads", "2"}, {"vocabulary", "20000"}, {"seq", "64"}};
    const struct ll_plan_search wanted = {.devices = DEVICES, .batch = BATCH, .simulated = LL_MOST_FOUND};
    struct scene scene = open_scene(dry_model("gpt", true, 2, sizes, 5), large);
    const struct ll_search_result *result =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    bool seen[4] = {false};
    assert_non_null(result);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *found = &result->found[i];
        if (found->step_s == 0 || found->plan.pipeline > 1 || found->plan.tensor > 1 ||
            found->plan.bucket_bytes != ll_plan_of_one().bucket_bytes)
            continue;
        seen[found->plan.zero] = true;
        if (!(fabs(found->estimate_s / found->step_s - 1) < 0.16))
            fail_msg("zero %d: %g s, estimated %g s", (int)found->plan.zero, found->step_s,
                     found->estimate_s);
    }
    for (size_t zero = 0; zero < 4; zero++)
        assert_true(seen[zero]);
    close_scene(&scene);
}

/* Else what is simulated are not the best: messages, and gradients of the table of words, which the first and
 * the last stage have in common, take their time on a slow network. */
static void estimates_of_pipelines_are_near(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {
        {"layers", "8"}, {"hidden", "256"}, {"heads", "2"}, {"vocabulary", "2000"}, {"seq", "64"}};
    const struct ll_plan_search wanted = {.devices = DEVICES, .batch = BATCH, .simulated = 100};
    struct scene scene =
        open_scene_set(dry_model("gpt", true, 2, sizes, 5), large, "network.link.bandwidth", "1GB/s");
    const struct ll_search_result *result =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    uint64_t plain = 0, interleaved = 0, halves = 0;
    assert_non_null(result);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *found = &result->found[i];
        if (found->step_s == 0 || found->plan.pipeline == 1)
            continue;
        *(ll_schedule_splits(found->plan.schedule) ? &halves
          : found->plan.chunks > 1                 ? &interleaved
                                                   : &plain) += 1;
        if (fabs(found->estimate_s / found->step_s - 1) > 0.04)
            fail_msg("%s, %d stages of %d chunks: %g s, estimated %g s",
                     ll_schedule_name(found->plan.schedule), (int)found->plan.pipeline,
                     (int)found->plan.chunks, found->step_s, found->estimate_s);
    }
    assert_true(interleaved >= 10 && plain >= 5 && halves >= 20);
    close_scene(&scene);
}

/* Estimated memory over that of the simulation, of every plan that is simulated. */
static void check_memory(struct ll_trace *trace, double least, double most)
{
    const struct ll_plan_search wanted = {.devices = DEVICES, .batch = BATCH, .simulated = 150};
    struct scene scene = open_scene(trace, large);
    const struct ll_search_result *result =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    assert_non_null(result);
    assert_true(result->found_count > 100);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *found = &result->found[i];
        double share = found->estimate_bytes / (double)found->memory_bytes;
        if (found->memory_bytes > 0 && !(share > least && share < most))
            fail_msg("dp %d tp %d pp %d ep %d chunks %d micro-batch %d zero %d recompute %d: %g of %g MB",
                     (int)found->plan.data, (int)found->plan.tensor, (int)found->plan.pipeline,
                     (int)found->plan.expert, (int)found->plan.chunks, (int)found->plan.micro_batch,
                     (int)found->plan.zero, (int)found->plan.recompute, share,
                     (double)found->memory_bytes / 1e6);
    }
    close_scene(&scene);
}

/* Else plans that fit are left out, and others are simulated that do not. */
static void estimates_of_memory_are_near(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {
        {"layers", "4"}, {"hidden", "256"}, {"heads", "4"}, {"vocabulary", "1000"}, {"seq", "256"}};
    check_memory(dry_model("gpt", true, 2, sizes, 5), 0.8, 1.3);
}

/* Of a table of words that is most of what there is, the last stage has a copy. */
static void estimates_of_memory_are_near_where_stages_share_weights(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {
        {"layers", "4"}, {"hidden", "128"}, {"heads", "4"}, {"vocabulary", "20000"}, {"seq", "16"}};
    check_memory(dry_model("gpt", true, 2, sizes, 5), 0.75, INFINITY);
}

/* Replicas that have other experts have none of a replica's to share out. */
static void estimates_of_memory_are_near_with_experts_too(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {{"layers", "2"},       {"hidden", "256"},      {"heads", "4"},
                                       {"kv_heads", "4"},     {"ffn_hidden", "1024"}, {"seq", "64"},
                                       {"vocabulary", "500"}, {"experts", "8"},       {"top_k", "2"}};
    check_memory(dry_model("moe", true, 2, sizes, 9), 0.8, 1.3);
}

/* Each micro-batch has keys and values of its own, which are most of what there is. */
static void estimates_of_memory_are_near_where_sentences_are_carried(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {{"layers", "4"},      {"hidden", "128"},     {"heads", "8"},
                                       {"kv_heads", "8"},    {"ffn_hidden", "256"}, {"pass", "decode"},
                                       {"vocabulary", "64"}, {"context", "2048"},   {"seq", "16"}};
    check_memory(dry_model("llama", false, 2, sizes, 9), 0.9, 1.1);
}

/* Two nodes of four devices, with a slow network between them. */
static const char nodes[] =
    "name: nodes\nclock: 1GHz\nunits:\n"
    "  - {name: array, model: matrix, count: 4, macs: {f32: 64}}\n"
    "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 2}}\n"
    "network:\n  - {name: link, topology: switch, devices: 4, bandwidth: 20GB/s, latency: 5us}\n"
    "  - {name: cable, topology: switch, devices: 2, bandwidth: 1GB/s, latency: 20us}\n"
    "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n";

static void states_are_shared_within_nodes_too(void **state)
{
    (void)state;
    skip_under_sanitizer();
    const struct ll_setting sizes[] = {
        {"layers", "4"}, {"hidden", "256"}, {"heads", "2"}, {"vocabulary", "2000"}, {"seq", "64"}};
    const struct ll_plan_search wanted = {.devices = DEVICES, .batch = BATCH, .simulated = 60};
    struct scene scene = open_scene(dry_model("gpt", true, 2, sizes, 5), nodes);
    const struct ll_search_result *result =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    uint64_t within = 0;
    assert_non_null(result);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *found = &result->found[i];
        const struct ll_parallel *plan = &found->plan;
        assert_true(plan->within == 0 || (plan->zero > 0 && plan->within * plan->tensor == 4));
        if (plan->within > 0 && found->step_s > 0) {
            within++;
            assert_near(found->estimate_s, found->step_s, 0.15);
        }
    }
    assert_true(within >= 3);
    close_scene(&scene);
}

/* The fewer bytes a device writes the more of the time is productive: by no law, but by a large factor. */
static double productive_share(void *calls, const struct ll_checkpoint_bytes *checkpoint)
{
    ++*(int *)calls;
    assert_true(checkpoint->device > 0 && checkpoint->device <= checkpoint->all);
    return 1 / (1 + checkpoint->device / 1e5);
}

static void constraints_are_kept_and_productive_time_ranks(void **state)
{
    const struct ll_setting sizes[] = {
        {"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "100"}, {"seq", "16"}};
    int calls = 0;
    const struct ll_plan_search wanted = {.devices = DEVICES,
                                          .batch = BATCH,
                                          .simulated = 10,
                                          .margin = 0.9999,
                                          .whole_nodes = true,
                                          .divisible = true,
                                          .time_share = productive_share,
                                          .time_share_context = &calls};
    (void)state;
    struct scene scene = open_scene(dry_model("gpt", true, 2, sizes, 5), nodes);
    const struct ll_search_result *result =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    assert_non_null(result);
    assert_true(calls > 0 && result->found_count > 0);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *found = &result->found[i], *before = &result->found[i > 0 ? i - 1 : 0];
        const struct ll_parallel *plan = &found->plan;
        const uint64_t of_stage = DEVICES / plan->pipeline;
        assert_true(of_stage % 4 == 0 || 4 % of_stage == 0);
        assert_true(4 % plan->tensor == 0 && 4 % (plan->pipeline * plan->chunks) == 0);
        assert_true(found->estimate_bytes <= 0.0001 * 16 * (1 << 30));
        assert_true(found->step_s == 0 || (double)found->memory_bytes <= 0.0001 * 16 * (1 << 30));
        assert_near(found->time_share, productive_share(&calls, &found->checkpoint), 1e-12);
        assert_true(found->step_s == 0 ||
                    before->step_s / before->time_share <= found->step_s / found->time_share);
    }
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_as_good_as_the_best_by_hand),
        cmocka_unit_test(what_is_found_is_in_order_and_all_is_counted),
        cmocka_unit_test(nothing_is_found_where_nothing_fits),
        cmocka_unit_test(an_inference_has_no_state_to_share_out_and_keeps_nothing),
        cmocka_unit_test(sequences_are_shared_where_samples_are_few),
        cmocka_unit_test(where_little_fits_the_host_keeps_the_state),
        cmocka_unit_test(estimates_err_alike_for_all_stages_of_zero),
        cmocka_unit_test(estimates_of_pipelines_are_near),
        cmocka_unit_test(estimates_of_memory_are_near),
        cmocka_unit_test(estimates_of_memory_are_near_where_stages_share_weights),
        cmocka_unit_test(estimates_of_memory_are_near_with_experts_too),
        cmocka_unit_test(estimates_of_memory_are_near_where_sentences_are_carried),
        cmocka_unit_test(states_are_shared_within_nodes_too),
        cmocka_unit_test(sharing_products_and_another_batch_go_in_any_order),
        cmocka_unit_test(constraints_are_kept_and_productive_time_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
