/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a pipeline on devices of two kinds, layers assigned by what they cost there, and the ends of a
 * model as stages of their own. */
#include "check.h"

#include "dry_model.h"
#include "scene.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"

#include <math.h>

enum { NODE = 4 };

#define NETWORK(cable)                                                                                       \
    "network:\n"                                                                                             \
    "  - {name: inside, topology: switch, devices: 4, bandwidth: 20GB/s, latency: 1us}\n"                    \
    "  - {name: cable, topology: switch, devices: 8, bandwidth: " cable ", latency: 5us}\n"
#define DEVICE(clock, count, memory, bandwidth)                                                              \
    "name: cluster\nclock: " clock "\nunits:\n"                                                              \
    "  - {name: array, model: matrix, count: " count ", macs: {f32: 64}}\n"                                  \
    "  - {name: simd, model: vector, lanes: 256, count: " count ", flops: {f32: 2, i32: 2}}\n"               \
    "memory:\n  - {name: dram, size: " memory ", bandwidth: " bandwidth "}\n"                                \
    "energy: {mac_pj: {f32: 2}, off_chip_pj: 10, static_w: 5}\n"
static const char slow[] = DEVICE("1GHz", "4", "16GiB", "100GB/s") NETWORK("2GB/s");
/* Everything on a device takes half as long. */
static const char fast[] = DEVICE("2GHz", "4", "32GiB", "200GB/s") NETWORK("5GB/s");

static const struct ll_setting settings[] = {
    {"layers", "12"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "200"}, {"seq", "16"}};

static struct ll_trace *gpt(void)
{
    return dry_model("gpt", true, 2, settings, sizeof settings / sizeof *settings);
}

static struct ll_parallel stages(uint64_t pipeline)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = NODE;
    plan.pipeline = pipeline;
    plan.batch = 8 * NODE;
    plan.micro_batch = 1;
    return plan;
}

static struct ll_machine *machine_of(const char *yaml)
{
    static const char *const no_folders[] = {NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_parse(yaml, strlen(yaml), "pool.yaml", no_folders, NULL, 0, &diags);
    assert_non_null(machine);
    ll_diags_release(&diags);
    return machine;
}

static struct scene open_pools(const char *first, const char *second)
{
    struct scene scene = open_scene(gpt(), first);
    if (second)
        assert_true(ll_machine_add_pool(scene.machine, machine_of(second)));
    return scene;
}

static void die(const struct scene *scene)
{
    fail_msg("%s", scene->diags.kept_count ? scene->diags.kept[0].message : "memory ran out");
}

/* The result lives as long as the spread, which is to be freed. */
static const struct ll_parallel_result *run(struct scene *scene, struct ll_parallel *plan,
                                            struct ll_spread **spread)
{
    if (!ll_assign_layers(scene->trace, scene->machine, &scene->remembered, plan, &scene->diags))
        die(scene);
    *spread = ll_spread_trace(scene->trace, plan, ll_machine_devices(scene->machine), &scene->diags);
    const struct ll_parallel_result *result =
        *spread ? ll_parallel_run(*spread, scene->machine, &scene->remembered, &scene->arena, &scene->diags)
                : NULL;
    if (!result)
        die(scene);
    return result;
}

static double step_s(const char *first, const char *second, struct ll_parallel plan)
{
    struct scene scene = open_pools(first, second);
    struct ll_spread *spread;
    const double time_s = run(&scene, &plan, &spread)->step_s;
    ll_spread_free(spread);
    close_scene(&scene);
    return time_s;
}

/* To the bit: times, memory and energy. */
static void two_equal_pools_are_one_machine(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct ll_parallel plan = stages(4), other;
        plan.split.evenly = true;
        plan.zero = k % 2;
        plan.schedule = k == 2   ? LL_SCHEDULE_INTERLEAVED
                        : k == 3 ? LL_SCHEDULE_ZB_V
                                 : LL_SCHEDULE_ONE_F_ONE_B;
        plan.chunks = k >= 2 ? 2 : 1;
        other = plan;
        struct scene one = open_pools(slow, NULL), two = open_pools(slow, slow);
        struct ll_spread *spreads[2];
        const struct ll_parallel_result *a = run(&one, &plan, &spreads[0]),
                                        *b = run(&two, &other, &spreads[1]);
        assert_int_equal(b->pool_count, 2);
        assert_true(a->step_s == b->step_s && a->bubble == b->bubble && a->flops == b->flops);
        assert_true(a->energy_j == b->energy_j && a->slowest == b->slowest && a->fullest == b->fullest);
        for (uint64_t s = 0; s < 4; s++) {
            assert_true(a->stages[s].busy_s == b->stages[s].busy_s);
            assert_int_equal(a->stages[s].memory_bytes, b->stages[s].memory_bytes);
        }
        for (int t = 0; t < LL_TRAFFIC_COUNT; t++)
            assert_true(a->exposed_s[t] == b->exposed_s[t]);
        assert_int_equal(b->pools[0].devices, 2 * NODE);
        assert_int_equal(b->pools[1].first_stage, 2);
        assert_near(b->pools[0].energy_j + b->pools[1].energy_j, b->energy_j, 1e-12);
        ll_spread_free(spreads[0]);
        ll_spread_free(spreads[1]);
        close_scene(&one);
        close_scene(&two);
    }
}

/* Of 12 layers and what comes before and behind them. */
static void a_pool_of_twice_as_fast_devices_has_about_twice_the_layers(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        struct ll_parallel plan = stages(2);
        struct scene scene = turned ? open_pools(slow, fast) : open_pools(fast, slow);
        struct ll_spread *spread;
        const struct ll_parallel_result *result = run(&scene, &plan, &spread);
        assert_true(plan.split.layout[0] != '\0');
        const uint32_t of_fast = spread->layers_of[turned], of_slow = spread->layers_of[!turned];
        assert_int_equal(of_fast + of_slow, 14);
        assert_true(of_fast >= 8 && of_fast <= 11);
        const double busy_s[] = {result->stages[turned].busy_s, result->stages[!turned].busy_s};
        assert_true(fmin(busy_s[0], busy_s[1]) > 0.7 * fmax(busy_s[0], busy_s[1]));
        ll_spread_free(spread);
        close_scene(&scene);
    }
}

static void two_pools_are_no_faster_than_the_better_and_no_slower_than_the_worse(void **state)
{
    (void)state;
    for (uint64_t pipeline = 2; pipeline <= 6; pipeline += 2)
        for (int zero = 0; zero < 2; zero++) {
            struct ll_parallel plan = stages(pipeline), even = plan;
            plan.zero = even.zero = (uint64_t)zero;
            even.split.evenly = true;
            const double best_s = step_s(fast, NULL, even), worst_s = step_s(slow, NULL, even);
            const double mixed_s = step_s(fast, slow, even), turned_s = step_s(slow, fast, even);
            assert_true(mixed_s >= best_s && mixed_s <= worst_s);
            assert_true(turned_s >= best_s && turned_s <= worst_s);
            /* and what layers cost is worth knowing */
            assert_true(step_s(fast, slow, plan) <= mixed_s * 1.02);
            strcpy(plan.split.layout, "auto");
            assert_true(step_s(fast, slow, plan) >= step_s(fast, NULL, plan) * 0.999);
        }
}

/* What no network joins, or no node holds, is refused; so are stages that there are not. */
static void expect_refusal(const char *second, struct ll_parallel plan, const char *words)
{
    struct scene scene = open_pools(slow, second);
    struct ll_spread *spread =
        ll_assign_layers(scene.trace, scene.machine, &scene.remembered, &plan, &scene.diags)
            ? ll_spread_trace(scene.trace, &plan, ll_machine_devices(scene.machine), &scene.diags)
            : NULL;
    if (spread)
        assert_null(ll_parallel_run(spread, scene.machine, &scene.remembered, &scene.arena, &scene.diags));
    assert_int_equal(scene.diags.count, 1);
    if (!strstr(scene.diags.kept[0].message, words))
        fail_msg("expected `%s` in `%s`", words, scene.diags.kept[0].message);
    ll_spread_free(spread);
    close_scene(&scene);
}

static void pools_have_stages_of_whole_nodes(void **state)
{
    (void)state;
    struct ll_parallel plan = stages(2);
    plan.split.evenly = true;
    plan.data = 2;
    expect_refusal(slow, plan, "pool 1 has the devices of its stages, 2; expected whole nodes");
    plan = stages(1);
    expect_refusal(slow, plan, "expected at least a stage for each of the machine's 2 pools");
    plan = stages(4);
    plan.split.evenly = true;
    plan.pool_stages[0] = 1;
    plan.pool_stages[1] = 2;
    expect_refusal(slow, plan, "pool_stages: 3 stages on 2 pools; expected pp 4");
    plan.pool_stages[1] = 3;
    expect_refusal(NULL, plan, "expected pp 4 stages on the machine's 1");
    expect_refusal(DEVICE("1GHz", "4", "16GiB", "100GB/s") "network:\n  - {name: inside, topology: switch, "
                                                           "devices: 64, bandwidth: 20GB/s, latency: 1us}\n",
                   plan, "and a network between them, which it does not have");
}

/* The fullest stage is that with the largest share of its own memory. */
static void memory_is_that_of_each_pool(void **state)
{
    (void)state;
    struct scene scene = open_pools(fast, DEVICE("1GHz", "4", "1MiB", "100GB/s") NETWORK("2GB/s"));
    struct ll_parallel plan = stages(4);
    plan.split.evenly = true;
    struct ll_spread *spread;
    const struct ll_parallel_result *result = run(&scene, &plan, &spread);
    assert_true(result->fullest >= 2);
    assert_false(result->result->fits);
    assert_true(result->stages[0].fits && result->stages[1].fits);
    assert_int_equal(result->stages[0].capacity_bytes, UINT64_C(32) << 30);
    assert_int_equal(result->stages[3].capacity_bytes, 1 << 20);
    ll_spread_free(spread);
    close_scene(&scene);
}

/* --- ends of a model --- */

static double weights_of(const struct ll_trace *trace)
{
    double bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++)
        if (trace->tensors[i].producer == LL_NONE && trace->descs[trace->tensors[i].desc].memory == LL_WEIGHT)
            bytes += (double)ll_size_bytes(&trace->descs[trace->tensors[i].desc].shape);
    return bytes;
}

/* Of its passes. */
static double flops_of(const struct ll_trace *trace)
{
    double flops = 0;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        flops += signature->phase == LL_PHASE_UPDATE ? 0 : (double)signature->flops;
    }
    return flops;
}

static bool has_scope(const struct ll_trace *trace, const char *part)
{
    bool has = false;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        const bool passes = signature->phase == LL_PHASE_FORWARD || signature->phase == LL_PHASE_BACKWARD;
        const bool moves = ll_op_class(signature->view.kind) == LL_CLASS_COMMUNICATION;
        has |= passes && !moves && strstr(trace->strings[signature->scope], part);
    }
    return has;
}

/* A model whose head has a weight of its own, and one whose head is the embedding's. */
static void ends_of_a_model_are_stages_of_their_own(void **state)
{
    (void)state;
    static const struct ll_setting llama[] = {{"layers", "4"},      {"hidden", "64"}, {"heads", "2"},
                                              {"ffn_hidden", "64"}, {"seq", "16"},    {"kv_heads", "2"},
                                              {"vocabulary", "300"}};
    static const struct ll_setting tied[] = {
        {"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "300"}, {"seq", "16"}};
    for (int model = 0; model < 2; model++) {
        struct scene scene = open_scene(
            model ? dry_model("gpt", true, 2, tied, 5) : dry_model("llama", true, 2, llama, 7), slow);
        struct ll_parallel plan = ll_plan_of_one();
        plan.pipeline = 4;
        plan.batch = 8;
        plan.micro_batch = 1;
        strcpy(plan.split.layout, "E|t*2|t*2|L");
        struct ll_spread *spread;
        const struct ll_parallel_result *result = run(&scene, &plan, &spread);
        const struct ll_trace *first = spread->programs[spread->program_of[0]].trace,
                              *second = spread->programs[spread->program_of[1]].trace,
                              *last = spread->programs[spread->program_of[3]].trace;
        assert_false(has_scope(first, "layer") || has_scope(last, "layer"));
        assert_true(has_scope(second, "layer0") && has_scope(second, "layer1"));
        assert_false(has_scope(second, "layer2"));
        assert_true(flops_of(last) > 10 * flops_of(first)); /* which looks words up */
        const double words = 300 * 64 * 4;
        assert_true(weights_of(first) >= words && weights_of(first) <= words + 64 * 64 * 4);
        assert_true(weights_of(last) >= words && weights_of(last) <= words + 4 * 64 * 4);
        double whole = 0;
        for (uint64_t s = 0; s < 4; s++)
            whole += result->stages[s].flops;
        plan.pipeline = 1;
        plan.split = (struct ll_layer_split){0};
        struct ll_spread *alone;
        assert_near(run(&scene, &plan, &alone)->flops, whole, 0.02);
        assert_true(result->stages[0].busy_s < result->stages[1].busy_s);
        struct ll_str text = {0};
        for (uint64_t s = 0; s < 4; s++, ll_str_add(&text, " "))
            ll_stage_layers(spread, s, &text);
        assert_string_equal(text.text, "E t*2 t*2 L ");
        ll_str_release(&text);
        ll_spread_free(alone);
        ll_spread_free(spread);
        close_scene(&scene);
    }
}

/* As Megatron-LM divides them: with 4 layers and both ends three stages have two each. */
static void ends_that_count_as_layers_are_divided_with_them(void **state)
{
    (void)state;
    static const struct ll_setting four[] = {
        {"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "300"}, {"seq", "16"}};
    struct ll_trace *trace = dry_model("gpt", true, 2, four, 5);
    const char *const expected[] = {"t*2 t t ", "Et t*2 t ", "t*2 t*2 L ", "Et t*2 tL "};
    for (int which = 0; which < 4; which++) {
        struct ll_parallel plan = ll_plan_of_one();
        struct ll_diags diags = {0};
        plan.pipeline = 3;
        plan.split = (struct ll_layer_split){.embedding = which & 1, .loss = which & 2};
        struct ll_spread *spread = ll_spread_trace(trace, &plan, 4, &diags);
        struct ll_str text = {0};
        assert_non_null(spread);
        for (uint64_t s = 0; s < 3; s++, ll_str_add(&text, " "))
            ll_stage_layers(spread, s, &text);
        assert_string_equal(text.text, expected[which]);
        ll_str_release(&text);
        ll_spread_free(spread);
        ll_diags_release(&diags);
    }
    ll_trace_free(trace);
}

/* --- layouts --- */

static void a_layout_is_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *written;
        uint32_t parts, layers, first, last;
    } right[] = {{"E|t*4|t*4|L", "E|t*4|t*4|L", 4, 8, 1, 1},
                 {"Et*3|(tt|)*29,t|L", "Et*3|(t*2|)*28t*2|t|L", 32, 62, 4, 1},
                 {"t|t", "t|t", 2, 2, 1, 1},
                 {"E(t|)*2t*2L", "Et|t|t*2L", 3, 4, 2, 3},
                 {"(t*2|)*3t*2", "(t*2|)*3t*2", 4, 8, 2, 2},
                 {"((t*2)*2|)*2tL", "t*4|t*4|tL", 3, 9, 4, 2}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct ll_layout layout;
        uint32_t counts[64];
        char text[LL_LAYOUT_ROOM];
        if (!ll_layout_read(right[i].text, &layout, counts, 64))
            fail_msg("%s is no layout", right[i].text);
        assert_int_equal(layout.parts, right[i].parts);
        assert_int_equal(layout.layers, right[i].layers);
        assert_int_equal(counts[0], right[i].first);
        assert_int_equal(counts[layout.parts - 1], right[i].last);
        assert_true(ll_layout_write(counts, layout.parts, layout.embedding, layout.loss, text));
        assert_string_equal(text, right[i].written);
        struct ll_layout again;
        uint32_t same[64];
        assert_true(ll_layout_read(text, &again, same, 64) && again.parts == layout.parts);
        assert_memory_equal(counts, same, layout.parts * sizeof *counts);
    }
    static const char *const wrong[] = {
        "",     "|",  "t||t", "tE|t", "E|L|t",         "t*0",      "t*",
        "(t|t", "t)", "x",    "E|L",  "t*99999999999", "(,)*9t|t", "((((((((((((((((((t))))))))))))))))))",
        "t|t|"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_layout layout;
        if (ll_layout_read(wrong[i], &layout, NULL, 0))
            fail_msg("%s is a layout", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_equal_pools_are_one_machine),
        cmocka_unit_test(a_pool_of_twice_as_fast_devices_has_about_twice_the_layers),
        cmocka_unit_test(two_pools_are_no_faster_than_the_better_and_no_slower_than_the_worse),
        cmocka_unit_test(pools_have_stages_of_whole_nodes),
        cmocka_unit_test(memory_is_that_of_each_pool),
        cmocka_unit_test(ends_of_a_model_are_stages_of_their_own),
        cmocka_unit_test(ends_that_count_as_layers_are_divided_with_them),
        cmocka_unit_test(a_layout_is_read_and_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
