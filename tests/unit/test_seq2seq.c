/* SPDX-License-Identifier: Apache-2.0 */
/* The translating workload, beside what test_model.c asks of every model. */
#define _GNU_SOURCE
#include "check.h"

#include "models/model.h"
#include "models/nn/nn.h"

#include <unistd.h>

enum { BUCKET, VOCABULARY, HIDDEN, LAYERS, SAMPLES, LETTERS, PARAMS }; /* the model's order */

static struct ll_nn *build_with(const int64_t *values, struct ll_build build)
{
    struct ll_nn *nn = ll_nn_new(LL_F32);
    build.seed = 1;
    build.params = values;
    ll_model_find("seq2seq")->build(nn, &build);
    if (ll_nn_trouble(nn))
        fail_msg("%s", ll_nn_trouble(nn));
    return nn;
}

/* With the paper's sizes, one sentence, from one bucket. */
static struct ll_nn *build_bucket(int64_t bucket, struct ll_build build)
{
    const struct ll_model *model = ll_model_find("seq2seq");
    int64_t values[PARAMS];
    assert_int_equal(model->param_count, PARAMS);
    for (int i = 0; i < PARAMS; i++)
        values[i] = model->params[i].standard;
    values[BUCKET] = bucket;
    build.batch = 1;
    return build_with(values, build);
}

/* Products, convolutions, and the attention's two contractions, which are a product and a sum each. */
static double forward_gflop(int64_t bucket, struct ll_build build)
{
    struct ll_nn *nn = build_bucket(bucket, build);
    uint64_t flops = ll_nn_forward_flops(nn);
    for (uint64_t i = 0; i < nn->op_count; i++) {
        const struct ll_nn_op *op = nn->ops[i];
        bool contracts = op->view.kind == LL_OP_MUL || op->view.kind == LL_OP_SUM;
        if (contracts && op->phase == LL_PHASE_FORWARD && strcmp(op->scope, "decoder/attention") == 0)
            flops += ll_op_flops(&op->view);
    }
    ll_nn_free(nn);
    return (double)flops * 1e-9;
}

/* Computed from the dimensions of Fathom's code, independently of ours: columns are a forward pass without
 * loss, with the sampled loss, and greedy with projections and loss. */
static void forward_passes_cost_what_they_should(void **state)
{
    (void)state;
    static const double expected[][3] = {{0.0610, 0.0636, 0.4527},
                                         {0.0998, 0.1037, 0.6976},
                                         {0.1775, 0.1840, 1.1875},
                                         {0.3559, 0.3691, 2.3966}};
    for (int bucket = 0; bucket < 4; bucket++) {
        assert_near(forward_gflop(bucket + 1, (struct ll_build){.measure = true}), expected[bucket][0],
                    0.005);
        assert_near(forward_gflop(bucket + 1, (struct ll_build){.train = true}), expected[bucket][1], 0.005);
        assert_near(forward_gflop(bucket + 1, (struct ll_build){0}), expected[bucket][2], 0.005);
    }
}

/* All buckets share the weights of the first one. */
static void every_bucket_has_the_same_weights(void **state)
{
    (void)state;
    for (int bucket = 0; bucket <= 4; bucket++) {
        struct ll_nn *nn = build_bucket(bucket, (struct ll_build){.train = true, .evaluate = true});
        assert_int_equal(ll_nn_parameters(nn), 34633792);
        assert_int_equal(nn->program_count,
                         bucket ? 2 : 8); /* training, and translating what was held back */
        ll_nn_free(nn);
    }
}

static struct ll_run_report run(size_t count, const struct ll_setting *settings,
                                struct ll_run_options options)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    options.settings = settings;
    options.setting_count = count;
    options.seed = 5;
    if (!ll_model_run(ll_model_find("seq2seq"), &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    return report;
}

/* Sentences of up to four words of eight letters; half of those it never saw. */
static void it_learns_to_read_backwards(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {{"bucket", "1"},          {"vocabulary", "12"},
                                                 {"task_vocabulary", "8"}, {"hidden", "32"},
                                                 {"layers", "1"},          {"samples", "8"}};
    struct ll_run_report report =
        run(sizeof settings / sizeof *settings, settings,
            (struct ll_run_options){.train = true, .evaluate = true, .batch = 32, .steps = 600});
    assert_true(report.before.at[0].value < 0.05);
    assert_true(report.after.at[0].value > 0.5);
    assert_true(report.after.at[1].value >= report.after.at[0].value);
}

/* The steps of different buckets have different numbers of ops. */
static void each_step_is_of_the_bucket_of_its_data(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {
        {"vocabulary", "30"}, {"hidden", "4"}, {"layers", "1"}, {"samples", "8"}, {"bucket", "1"}};
    struct ll_run_options options = {.train = true, .batch = 2, .dry_run = true, .steps = 20};
    struct ll_run_report all = run(4, settings, options), first = run(5, settings, options);
    options.dry_run = false;
    struct ll_run_report native = run(4, settings, options);
    assert_true(all.ops > first.ops);
    assert_int_equal(native.ops, all.ops);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

/* A made-up phrase book: what was held back is written into the folder. */
static void it_learns_from_files(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {
        {"vocabulary", "30"}, {"hidden", "4"}, {"layers", "1"}, {"samples", "4"}, {"bucket", "1"}};
    char folder[] = "test_seq2seq.XXXXXX", here[200], text[4000] = "";
    assert_non_null(mkdtemp(folder));
    assert_non_null(getcwd(here, sizeof here));
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%c %c\n", 'a' + i / 10, 'a' + i % 10);
    assert_int_equal(chdir(folder), 0);
    write_file("source.txt", text);
    write_file("target.txt", text);
    struct ll_run_report report =
        run(5, settings,
            (struct ll_run_options){
                .train = true, .evaluate = true, .batch = 4, .steps = 2, .data = ".", .samples = "."});
    assert_true(isfinite(report.last_loss));
    assert_int_equal(access("translations.txt", R_OK), 0);
    assert_true(unlink("translations.txt") == 0 && unlink("source.txt") == 0 && unlink("target.txt") == 0);
    assert_true(chdir(here) == 0 && rmdir(folder) == 0);
}

static void expect_complaint(size_t count, const struct ll_setting *settings, const char *data,
                             const char *expected)
{
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true,
                                     .steps = 1,
                                     .dry_run = true,
                                     .settings = settings,
                                     .setting_count = count,
                                     .data = data};
    assert_false(ll_model_run(ll_model_find("seq2seq"), &options, &report, &diags));
    assert_string_equal(diags.kept[diags.kept_count - 1].message, expected);
    ll_diags_release(&diags);
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    expect_complaint(2, (struct ll_setting[]){{"vocabulary", "20"}, {"samples", "8"}}, NULL,
                     "seq2seq: 26 letters; expected at most 16, four less than the vocabulary");
    expect_complaint(1, (struct ll_setting[]){{"vocabulary", "100"}}, NULL,
                     "seq2seq: 512 samples; expected at most 100, as many as the vocabulary has words");
    expect_complaint(0, NULL, "no/such/folder", "there is no such file or folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_passes_cost_what_they_should),
        cmocka_unit_test(every_bucket_has_the_same_weights),
        cmocka_unit_test(it_learns_to_read_backwards),
        cmocka_unit_test(each_step_is_of_the_bucket_of_its_data),
        cmocka_unit_test(it_learns_from_files),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
