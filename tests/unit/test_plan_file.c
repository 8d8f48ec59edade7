/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/parallel/plan.h"
#include "tracer/base/str.h"

struct scene {
    struct ll_parallel plan;
    struct ll_diags diags;
};

static bool parse(struct scene *scene, const char *text)
{
    *scene = (struct scene){.plan = ll_plan_of_one()};
    return ll_plan_parse(&scene->plan, text, strlen(text), "plan.yaml", &scene->diags);
}

static void expect_words(const struct ll_parallel *plan, const char *expected)
{
    struct ll_str words = {0};
    ll_plan_words(plan, &words);
    assert_string_equal(words.text ? words.text : "", expected);
    ll_str_release(&words);
}

static void a_plan_is_read_and_written(void **state)
{
    (void)state;
    struct scene scene;
    assert_true(parse(&scene, "dp: 16\ntp: 8\nmicro_batch: 4\nschedule: interleaved\nchunks: 2\nzero: 1\n"
                              "recompute: full\nrecompute_except: [qkv, out]\nsequence_parallel: true\n"
                              "overlap: false\nscatter_waits: true\nbucket: 1MiB\n"
                              "offload: [optimizer, weights]\n"));
    assert_int_equal(scene.plan.data, 16);
    assert_int_equal(scene.plan.bucket_bytes, 1 << 20);
    assert_true(scene.plan.offload.optimizer && scene.plan.offload.weights &&
                !scene.plan.offload.activations);
    expect_words(&scene.plan, "--dp 16 --tp 8 --micro-batch 4 --schedule interleaved --chunks 2 --zero 1 "
                              "--recompute full --recompute-except qkv,out --sequence-parallel --no-overlap "
                              "--scatter-waits --bucket 1MiB "
                              "--offload optimizer,weights");
    const struct ll_parallel one = ll_plan_of_one();
    expect_words(&one, "");
    ll_diags_release(&scene.diags);
}

/* Every key, in the order of the rows; bytes are a number. */
static void a_plan_is_one_object_of_json(void **state)
{
    (void)state;
    struct scene scene;
    struct ll_str text = {0};
    assert_true(parse(
        &scene, "dp: 16\ntp: 8\ncp: 2\npp: 4\nep: 2\nbatch: 640\nmicro_batch: 5\nschedule: interleaved\n"
                "chunks: 3\nzero: 1\nzero_within: 4\nrecompute: selective\nsequence_parallel: true\n"
                "overlap: false\nbucket: 3MiB\noffload: [activations, weights]\n"
                "stragglers: 0.01:1.5\nseed: 7\npipeline_model_parallel_layout: E(t|)*3tL\n"
                "pool_stages: [1, 3]\n"));
    ll_plan_json(&scene.plan, &(struct ll_json){.out = &text});
    assert_string_equal(
        text.text,
        "{\"dp\":16,\"tp\":8,\"cp\":2,\"cp_comm\":\"all_gather\",\"pp\":4,\"even_stages\":false,\"first_"
        "stage_layers\":0,\"last_stage_layers\":0,\"account_for_embedding_in_pipeline_split\":false,"
        "\"account_for_loss_in_pipeline_split\":false,\"pipeline_model_parallel_layout\":\"E(t|)*3tL\","
        "\"ep\":2,\"batch\":640,\"micro_batch\":5,\"schedule\":"
        "\"interleaved\","
        "\"chunks\":3,\"zero\":1,\"zero_within\":4,\"recompute\":\"selective\",\"recompute_except\":[],"
        "\"grads_in_fp32\":false,"
        "\"fused_loss\":false,\"low_precision\":\"none\",\"low_precision_gemms\":[\"fprop\",\"dgrad\","
        "\"wgrad\"],\"first_layers_kept\":0,\"last_layers_kept\":0,\"turned_copies\":false,"
        "\"sequence_parallel\":true,"
        "\"whole_experts\":false,"
        "\"overlap\":false,\"scatter_waits\":false,\"prefetch\":1,\"pass_overlap\":true,\"tp_overlap\":false,"
        "\"bucket\":3145728,"
        "\"grad_compression\":\"none\",\"offload\":[\"activations\",\"weights\"]"
        ",\"micro_batches_"
        "overlapped\":1,\"pool_stages\":[1,3],\"stragglers\":\"0.01:1.5\",\"slow_links\":\"none\",\"seed\":"
        "7}");
    ll_str_release(&text);
    ll_diags_release(&scene.diags);
}

/* All at once, each with its place. */
static void all_mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        unsigned line;
        const char *words;
    } expected[] = {{1, "no key `dq` here; did you mean `dp`?"},
                    {2, "`zero: 4`: expected a whole number from 0 to 3"},
                    {3, "`schedule: 2f2b`: expected gpipe, 1f1b, interleaved, breadth_first, zb_h1, zb_h2, "
                        "zb_v, dualpipe or dualpipe_v"},
                    {4, "`overlap: maybe`: expected true or false"},
                    {5, "`offload: all`: expected some of optimizer, activations, weights"}};
    struct scene scene;
    assert_false(parse(&scene, "dq: 16\nzero: 4\nschedule: 2f2b\noverlap: maybe\noffload: all\n"));
    assert_int_equal(scene.diags.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(scene.diags.kept[i].place.line, expected[i].line);
        assert_string_equal(scene.diags.kept[i].message, expected[i].words);
    }
    ll_diags_release(&scene.diags);
}

static void expect_trouble(struct ll_parallel plan, uint64_t batch, const char *words)
{
    struct ll_diags diags = {0};
    struct ll_plan_sizes sizes;
    assert_false(ll_plan_resolve(&plan, batch, 64, &diags, &sizes));
    assert_int_equal(diags.count, 1);
    if (!strstr(diags.kept[0].message, words))
        fail_msg("expected `%s` in `%s`", words, diags.kept[0].message);
    ll_diags_release(&diags);
}

static void numbers_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = 65;
    expect_trouble(plan, 1, "the machine's network joins 64 devices");
    plan.data = 8;
    plan.expert = 3;
    expect_trouble(plan, 1, "ep 3: expected a divisor of dp 8");
    plan.context = 2;
    expect_trouble(plan, 1, "ep 3: expected a divisor of dp 8 x cp 2");
    plan.expert = 1;
    plan.context = 9;
    expect_trouble(plan, 1, "dp 8 x cp 9 x tp 1 x pp 1: the machine's network joins 64 devices");
    plan.context = 1;
    plan.batch = 12;
    expect_trouble(plan, 1, "batch 12: expected a multiple of dp 8");
    plan.batch = 80;
    plan.micro_batch = 4;
    expect_trouble(plan, 1, "expected a divisor of a replica's 10 samples");
    plan.micro_batch = 2;
    plan.chunks = 2;
    expect_trouble(plan, 1, "only the schedules interleaved");
    plan.schedule = LL_SCHEDULE_INTERLEAVED;
    expect_trouble(plan, 1, "schedule interleaved: expected several stages, there is pp 1");
    plan.pipeline = 4;
    expect_trouble(plan, 1, "expected a multiple of pp 4 micro-batches, there are 5");
    plan.batch = 0;
    expect_trouble(plan, 0, "the trace does not say how many samples a step has");
}

static void sizes_follow_from_the_plan(void **state)
{
    (void)state;
    struct ll_parallel plan = ll_plan_of_one();
    struct ll_diags diags = {0};
    struct ll_plan_sizes sizes;
    plan.data = 4;
    plan.tensor = 2;
    plan.pipeline = 8;
    assert_true(ll_plan_resolve(&plan, 32, 64, &diags, &sizes));
    assert_int_equal(sizes.devices, 64);
    assert_int_equal(sizes.batch, 128);
    assert_int_equal(sizes.micro_batches, 1);
    plan.batch = 64;
    plan.micro_batch = 2;
    assert_true(ll_plan_resolve(&plan, 32, 64, &diags, &sizes));
    assert_int_equal(sizes.micro_batches, 8);
    plan.data = 2; /* those that share a sequence are no replicas to samples */
    plan.context = 2;
    assert_true(ll_plan_resolve(&plan, 32, 64, &diags, &sizes));
    assert_int_equal(sizes.devices, 64);
    assert_int_equal(sizes.micro_batches, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_read_and_written),
        cmocka_unit_test(a_plan_is_one_object_of_json),
        cmocka_unit_test(all_mistakes_are_named),
        cmocka_unit_test(numbers_that_do_not_go_together_are_refused),
        cmocka_unit_test(sizes_follow_from_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
