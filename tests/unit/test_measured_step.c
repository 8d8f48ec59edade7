/* SPDX-License-Identifier: Apache-2.0 */
/* Measured rows that speak of whole steps: what is to be recorded, and by which plan it ran. */
#include "check.h"

#include "sim/validate/step.h"
#include "sim/validate/validate.h"

#include <string.h>

static struct ll_measured row_of(const char *op, const char *dtype, const char *dims)
{
    return (struct ll_measured){
        .source = "s", .hardware = "h", .op = op, .dtype = dtype, .dims = dims, .notes = "", .time_s = 1};
}

static struct ll_measured_step step_of(const char *dtype, const char *dims)
{
    struct ll_measured row = row_of("e2e_train", dtype, dims);
    struct ll_measured_step step;
    const char *trouble;
    assert_true(ll_measured_step(&row, &step, &trouble));
    if (trouble)
        fail_msg("%s", trouble);
    return step;
}

static void check_setting(const struct ll_measured_step *step, const char *key, const char *value)
{
    for (size_t i = 0; i < LL_MOST_DRY_SETTINGS && step->wanted.settings[i].key[0]; i++)
        if (strcmp(step->wanted.settings[i].key, key) == 0) {
            assert_string_equal(step->wanted.settings[i].value, value);
            return;
        }
    fail_msg("no %s is set", key);
}

static void megatron_runs_pipelines_of_tensor_parallel_stages(void **state)
{
    (void)state;
    struct ll_measured_step step =
        step_of("fp16", "model=gpt3-175B;batch=64;microbatch=1;tp=8;pp=8;dp=1;recompute=attn_only;seqpar=1;"
                        "interleave=3;mode=train");
    assert_string_equal(step.wanted.model, "gpt");
    assert_int_equal(step.wanted.batch, 1);
    assert_int_equal(step.wanted.train, 1);
    check_setting(&step, "preset", "gpt3-175b");
    check_setting(&step, "dtype", "f16");
    assert_int_equal(step.plan.tensor, 8);
    assert_int_equal(step.plan.pipeline, 8);
    assert_int_equal(step.plan.data, 1);
    assert_int_equal(step.plan.chunks, 3);
    assert_int_equal(step.plan.schedule, LL_SCHEDULE_INTERLEAVED);
    assert_int_equal(step.plan.recompute, LL_RECOMPUTE_SELECTIVE);
    assert_true(step.plan.sequence);
    assert_int_equal(step.plan.batch, 64);
    assert_int_equal(step.devices, 64);
}

static void deepspeed_computes_layers_again(void **state)
{
    (void)state;
    struct ll_measured_step step = step_of(
        "fp16",
        "model=gpt;batch=32;microbatch=4;hidden=1024;heads=16;layers=24;seq=1024;tp=2;dp=2;pp=2;mode=train");
    assert_int_equal(step.plan.recompute, LL_RECOMPUTE_FULL);
    assert_int_equal(step.plan.schedule, LL_SCHEDULE_ONE_F_ONE_B);
    assert_int_equal(step.plan.chunks, 1);
    assert_int_equal(step.devices, 8);
    assert_int_equal(step.wanted.batch, 4);
    check_setting(&step, "hidden", "1024");
    check_setting(&step, "layers", "24");
    check_setting(&step, "seq", "1024");
}

static void sharded_weights_are_those_of_zero_3(void **state)
{
    (void)state;
    struct ll_measured_step step =
        step_of("bf16", "model=mpt-7b;params=1;seq=8192;batch=128;microbatch=8;grad_accum=2;devices=8;"
                        "sharding=FULL_SHARD;act_ckpt=1;mode=train");
    assert_int_equal(step.plan.data, 8);
    assert_int_equal(step.plan.zero, 3);
    assert_int_equal(step.plan.recompute, LL_RECOMPUTE_FULL);
    assert_int_equal(step.plan.micro_batch, 8);
    check_setting(&step, "preset", "mpt-7b");
    check_setting(&step, "seq", "8192");
    check_setting(&step, "fused", "1");
}

static void what_is_sharded_is_told_by_the_row(void **state)
{
    (void)state;
    static const struct {
        const char *sharding;
        uint64_t zero;
    } cases[] = {{"FULL_SHARD", 3}, {"SHARD_GRAD_OP", 2}, {"NO_SHARD", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dims[128];
        snprintf(dims, sizeof dims, "model=mpt-7b;batch=8;devices=8;sharding=%s;mode=train",
                 cases[i].sharding);
        assert_int_equal(step_of("bf16", dims).plan.zero, cases[i].zero);
    }
}

static void replicas_have_a_share_of_the_batch_each(void **state)
{
    (void)state;
    struct ll_measured_step step =
        step_of("fp16", "model=bert_large_pretrain;batch=32;devices=4;seq=128;mode=train");
    assert_int_equal(step.plan.data, 4);
    assert_int_equal(step.devices, 4);
    assert_int_equal(step.wanted.batch, 8);
    assert_int_equal(step.plan.micro_batch, 8);
    assert_int_equal(step.plan.zero, 0);
    check_setting(&step, "seq", "128");
}

/* Two devices to a sequence and four to a product, of which four stages take five pieces each. */
static void sequences_may_be_shared(void **state)
{
    (void)state;
    struct ll_measured_step step =
        step_of("fp8", "model=nemo-llama3-70b;seq=8192;batch=128;microbatch=1;dp=2;tp=4;pp=4;cp=2;"
                       "interleave=5;mode=train");
    assert_int_equal(step.plan.context, 2);
    assert_int_equal(step.plan.chunks, 5);
    assert_int_equal(step.plan.zero, 1);
    assert_true(step.plan.sequence && step.plan.overlap);
    assert_int_equal(step.devices, 64);
    check_setting(&step, "seq", "8192");
}

/* Of 8 bits is what products of weights read; all else is of bf16, as without. */
static void products_alone_are_of_8_bits(void **state)
{
    (void)state;
    static const char dims[] = "model=mpt-7b;params=1;seq=8192;batch=128;microbatch=8;devices=8;mode=train";
    struct ll_measured_step narrow = step_of("fp8", dims), wide = step_of("bf16", dims);
    check_setting(&narrow, "dtype", "bf16");
    check_setting(&wide, "dtype", "bf16");
    assert_string_equal(narrow.wanted.products, "f8");
    assert_string_equal(wide.wanted.products, "");
}

static void a_compiler_joins_what_models_write_out(void **state)
{
    (void)state;
    struct ll_measured_step eager = step_of("fp32", "model=gpt2_large;batch=4;seq=1024;mode=train"),
                            joined = step_of("fp32", "model=gpt2_large;batch=4;seq=1024;mode=train;"
                                                     "fusion=torch.compile");
    check_setting(&eager, "eager", "1");
    check_setting(&eager, "gelu", "tanh");
    check_setting(&joined, "eager", "0");
    check_setting(&joined, "gelu", "one");
}

/* 128 sentences of 32 words are a batch; of four replicas the slowest has nine eighths of it. */
static void replicas_wait_for_the_fullest_batch(void **state)
{
    (void)state;
    assert_int_equal(
        step_of("fp16", "model=transformer_big_ende;batch_tokens=4096;devices=1;mode=train").wanted.batch,
        128);
    assert_int_equal(
        step_of("fp16", "model=transformer_big_ende;batch_tokens=16384;devices=4;mode=train").wanted.batch,
        128 * 9 / 8);
}

static void what_is_missing_is_told(void **state)
{
    (void)state;
    struct ll_measured row = row_of("e2e_train", "fp16", "model=gpt3-175B;tp=8");
    struct ll_measured_step step;
    const char *trouble;
    assert_true(ll_measured_step(&row, &step, &trouble));
    assert_non_null(trouble);
    row = row_of("e2e_train", "int8", "model=mpt-7b;batch=8;devices=8");
    assert_true(ll_measured_step(&row, &step, &trouble));
    assert_non_null(trouble);
}

/* What is missing or misspelt would be a guess: a model's sizes, a decoding step, another way to shard. */
static void words_and_sizes_are_not_guessed(void **state)
{
    (void)state;
    static const struct {
        const char *op, *dims;
        bool good;
    } rows[] = {
        {"e2e_train", "model=gpt;batch=8;hidden=1024;heads=16;layers=24;seq=1024;mode=train", true},
        {"e2e_train", "model=gpt;batch=8;heads=16;layers=24;seq=1024;mode=train", false},
        {"e2e_train", "model=megatron-22B;batch=4;microbatch=4;tp=8;recompute=selective;seqpar=1", true},
        {"e2e_train", "model=megatron-22B;batch=4;microbatch=4;tp=8;recompute=Full", false},
        {"e2e_train", "model=megatron-22B;batch=4;microbatch=4;tp=8;recompute=full;seqpar=yes", false},
        {"e2e_train", "model=mpt-7b;batch=8;devices=8;sharding=HYBRID_SHARD", false},
        {"e2e_train", "model=mpt-7b;batch=8;devices=8;act_ckpt=true", false},
        {"e2e_train", "model=mpt-7b;batch=8;devices=8;tp=1;pp=1;dp=8", true},
        {"e2e_train", "model=mpt-7b;batch=8;devices=8;tp=4", false},
        {"e2e_train", "model=ncf_ml20m;batch=8;dp=8", false},
        {"e2e_infer", "model=gpt2_large;batch=4;seq=1024;mode=prefill", true},
        {"e2e_infer", "model=gpt2_large;batch=4;seq=1024;mode=decode", false},
        {"e2e_infer", "model=gpt2_large;batch=4;seq=1024;fusion=xla", false},
        {"e2e_infer", "model=gpt2_large;batch=4;seq=1024;layers=3", false},
        {"e2e_train", "model=gpt2_large;batch=4;seq=1024;tp=2;dp=2;devices=4", true},
        {"e2e_train", "model=gpt2_large;batch=4;seq=1024;tp=2;devices=4", false},
        {"e2e_train", "model=megatron-22B;batch=4;microbatch=4;tp=8;hidden=64", false},
        {"e2e_train", "model=megatron-22B;batch=4;microbatch=4;tp=8;devices=4", false},
        {"e2e_train", "model=mpt-7b;batch=8;devices=8;recompute=full", false},
        {"e2e_train", "model=mpt-7b;batch=64;devices=8;microbatch=2;grad_accum=4", true},
        {"e2e_train", "model=mpt-7b;batch=64;devices=8;microbatch=2;grad_accum=3", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_measured row = row_of(rows[i].op, "fp16", rows[i].dims);
        struct ll_measured_step step;
        const char *trouble;
        assert_true(ll_measured_step(&row, &step, &trouble));
        if (!trouble != rows[i].good)
            fail_msg("%s: %s", rows[i].dims, trouble ? trouble : "scored");
    }
}

static void other_rows_are_no_steps(void **state)
{
    (void)state;
    struct ll_measured rows[] = {row_of("gemm", "fp16", "m=1;n=1;k=1"),
                                 row_of("e2e_train", "fp32", "model=resnet50;batch=8"),
                                 row_of("e2e_bwd", "fp32", "model=gpt;batch=8")};
    for (size_t i = 0; i < 3; i++) {
        struct ll_measured_step step;
        const char *trouble;
        assert_false(ll_measured_step(&rows[i], &step, &trouble));
        assert_null(trouble);
    }
}

/* Nobody records: the row is not scored, and the reason says so. */
static void without_a_recording_there_is_no_score(void **state)
{
    (void)state;
    static const char text[] = "name: h\n"
                               "units:\n"
                               "  - {name: u, model: vector, count: 1, lanes: 1, flops: {f32: 1, f16: 1}}\n"
                               "memory:\n"
                               "  - {name: m, size: 1GiB, bandwidth: 1B/cycle}\n"
                               "clock: 1Hz\n";
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_machine *machine = ll_machine_parse(text, strlen(text), "h", NULL, NULL, 0, &diags);
    if (!machine)
        fail_msg("%s", diags.kept[0].message);
    struct ll_measured row = row_of("e2e_train", "fp16", "model=megatron-22B;batch=1;tp=1");
    row.hardware = "1x h";
    const struct ll_validation *v =
        ll_validate(&row, 1, (const struct ll_machine *const[]){machine}, 1, NULL, NULL, NULL, &arena);
    assert_non_null(v);
    assert_int_equal(v->unscored_count, 1);
    assert_string_equal(v->unscored[0].reason, "its workload cannot be recorded");
    ll_machine_free(machine);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_runs_pipelines_of_tensor_parallel_stages),
        cmocka_unit_test(deepspeed_computes_layers_again),
        cmocka_unit_test(sharded_weights_are_those_of_zero_3),
        cmocka_unit_test(what_is_sharded_is_told_by_the_row),
        cmocka_unit_test(replicas_have_a_share_of_the_batch_each),
        cmocka_unit_test(sequences_may_be_shared),
        cmocka_unit_test(products_alone_are_of_8_bits),
        cmocka_unit_test(a_compiler_joins_what_models_write_out),
        cmocka_unit_test(replicas_wait_for_the_fullest_batch),
        cmocka_unit_test(what_is_missing_is_told),
        cmocka_unit_test(words_and_sizes_are_not_guessed),
        cmocka_unit_test(other_rows_are_no_steps),
        cmocka_unit_test(without_a_recording_there_is_no_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
